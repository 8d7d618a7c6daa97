"""Keyed noise: the exact samplers on a stream that is AES of the report's number, the same for ever."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import numpy as np
import pytest
from collection.test_files import CASES

import zcdp
from zcdp.collection.keyed import KeyedNoise

ciphers = pytest.importorskip("cryptography.hazmat.primitives.ciphers")

SECRET = bytes(range(32))
NOISE = KeyedNoise(SECRET)


def stream(mechanism: Any, k: int, number: int) -> Any:
    """The definition, block by block: no counter mode."""
    key = hmac.new(SECRET, f"zcdp keyed noise 1\n{mechanism!r}\n{k}".encode(), hashlib.sha256).digest()
    encrypt = ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.ECB()).encryptor()
    blocks = b"".join(encrypt.update(number.to_bytes(8, "big") + block.to_bytes(8, "big")) for block in range(1000))
    at = 0

    def source(count: int) -> bytes:
        nonlocal at
        at += count
        assert at <= len(blocks)
        return blocks[at - count : at]

    return source


@pytest.mark.parametrize(("mechanism", "k"), CASES, ids=repr)
def test_it_is_the_exact_sampler_on_that_stream(mechanism: Any, k: int) -> None:
    values, ids = np.arange(12) % k, np.arange(12) * 10**15 + 3
    got = NOISE.release(mechanism, values, ids, k=k)
    for n in range(12):
        one = mechanism._drawn(values[n : n + 1], k, stream(mechanism, k, int(ids[n])))
        assert np.array_equal(got[n : n + 1], one)
    order = np.random.default_rng(1).permutation(12)
    assert np.array_equal(NOISE.release(mechanism, values[order], ids[order], k=k), got[order])


KEPT = {
    "HadamardResponse(epsilon=1)": [4, 9, 26],
    "HadamardResponse(epsilon=1, blocks=3)": [0, 10, 22],
    "LinearHashing(epsilon=1, g=3, k=20)": [9, 49, 63],
    "RAPPOR(epsilon=1)": [[88], [8], [112]],
    "RandomizedResponse(epsilon=1, k=300)": [174, 108, 280],
    "SubsetSelection(epsilon=1, k=300, size=3)": [[165, 209, 225], [19, 32, 33], [193, 199, 251]],
    "SubsetSelection(epsilon=1, k=6, size=1)": [[0], [1], [3]],
    "UnaryEncoding(p='0.6', q='0.2')": [[20, 160], [64, 0], [43, 40]],
}


@pytest.mark.parametrize(("mechanism", "k"), CASES, ids=repr)
def test_reports_stay_what_they_were_in_every_version(mechanism: Any, k: int) -> None:
    """If this fails, whoever sends a report again after an upgrade sends a second one."""
    assert NOISE.release(mechanism, np.arange(3), np.arange(3) + 5, k=k).tolist() == KEPT[repr(mechanism)]


def test_the_law_over_many_numbers_is_that_of_the_mechanism() -> None:
    """The secret is fixed, and so is what comes out: each share within 4 standard errors."""
    m, n = zcdp.RandomizedResponse(epsilon=1, k=4), 4000
    found = m.count(NOISE.release(m, np.full(n, 2), np.arange(n))).supports / n
    p, q = m.support.p, m.support.q
    expected = np.array([q, q, p, q])
    assert (np.abs(found - expected) < 4 * np.sqrt(expected * (1 - expected) / n)).all()


def test_another_secret_design_or_number_is_other_noise() -> None:
    m, values, ids = zcdp.RAPPOR(epsilon=1), np.zeros(4, int), np.arange(4)
    first = NOISE.release(m, values, ids, k=64)
    assert not np.array_equal(first, KeyedNoise(SECRET[::-1]).release(m, values, ids, k=64))
    assert not np.array_equal(first, NOISE.release(m, values, ids + 4, k=64))
    assert not np.array_equal(first[:, :7], NOISE.release(m, values, ids, k=63)[:, :7])
    assert not np.array_equal(first, NOISE.release(zcdp.RAPPOR(epsilon="1.0001"), values, ids, k=64))
    assert "SECRET" not in repr(NOISE)
    assert repr(NOISE) == "KeyedNoise()"


def test_one_id_for_two_values_tells_both() -> None:
    """Why ids must never be used again: where the answers differ, both are the truth."""
    m = zcdp.RandomizedResponse(epsilon=1, k=50)
    one, other = (NOISE.release(m, np.full(300, value), np.arange(300)) for value in (7, 33))
    differ = one != other
    assert differ.any()
    assert (one[differ] == 7).all()
    assert (other[differ] == 33).all()


@pytest.mark.parametrize(
    ("values", "ids", "error"),
    [
        ([0, 1], [5, 5], "ids must be distinct: two values under one id share their noise, which reveals them"),
        ([0, 1], [5], "each value needs its own id: there are 2 values and 1 ids"),
        ([0, 4], [5, 6], "values must lie in 0 .. 3"),
        ([-1], [5], "values must lie in 0 .. 3"),
        ([1], [-5], "ids must lie in 0 .. 2^64 - 1"),
    ],
)
def test_what_would_leak_or_makes_no_sense_is_refused(values: list[int], ids: list[int], error: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        NOISE.release(zcdp.RandomizedResponse(epsilon=1, k=4), values, ids)
    assert str(caught.value) == error


def test_secrets_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="secret must have at least 16 bytes, not 5"):
        KeyedNoise(b"short")
    with pytest.raises(TypeError, match="secret must be bytes, not str"):
        KeyedNoise("a" * 32)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is not a local randomizer of values that can be keyed"):
        NOISE.release(zcdp.Laplace(epsilon=1), [1], [1], k=3)
