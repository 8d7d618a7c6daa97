"""Linear hashing: the vector is uniform, and the product goes through randomized response on its g values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from independent.bits import seeded
from samplers.laws import real

from zcdp.samplers.reports import LinearHashReports, digit_count, hashed


@pytest.mark.parametrize("g", [2, 3, 10])
def test_as_many_digits_as_tell_the_values_apart(g: int) -> None:
    for k in range(2, 150):
        digits = digit_count(k, g)
        assert g**digits >= k
        assert digits == 1 or g ** (digits - 1) < k


@pytest.mark.parametrize(("g", "digits"), [(2, 3), (3, 2), (5, 2), (7, 1)])
def test_a_hash_is_the_product_of_digits(g: int, digits: int) -> None:
    """Over all vectors and values; two values that differ have equal hashes for one vector in g."""
    every = np.arange(g**digits)
    table = hashed(every[:, None], every[None, :], g, digits)
    for a, v in product(range(g**digits), repeat=2):
        assert table[a, v] == sum(a // g**n % g * (v // g**n % g) for n in range(digits)) % g
    for v in range(1, g**digits):
        assert (table[:, v] == table[:, 0]).sum() == g ** (digits - 1)


@pytest.mark.parametrize(("g", "k"), [(2, 8), (3, 9), (5, 20), (3, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)], ids=str)
def test_a_report_is_a_uniform_vector_and_a_response_to_the_hash(g: int, k: int, epsilon: Fraction) -> None:
    """z is the hash with probability e/(e + g - 1), and each of the others with 1/(e + g - 1), e = exp(epsilon)."""
    count, value, digits = 20_000, k - 2, digit_count(k, g)
    reports = LinearHashReports(real(epsilon), g, k).report(np.full(count, value), seeded(g + k))
    vector, z = np.divmod(reports, g)
    assert vector.min() >= 0
    assert vector.max() < g**digits
    seen = np.bincount(vector, minlength=g**digits)
    assert np.abs(seen - count / g**digits).max() < 5 * (count / g**digits) ** 0.5
    away = np.bincount((z - hashed(vector, np.full(count, value), g, digits)) % g, minlength=g)
    e = exp(epsilon)
    for distance in range(g):
        chance = (1 if distance else e) / (e + g - 1)
        assert abs(away[distance] - count * chance) < 5 * (count * chance * (1 - chance)) ** 0.5
