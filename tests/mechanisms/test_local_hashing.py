"""Local hashing: a random hash is charged for how often values collide."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from mechanisms import explicit

from zcdp import Channel, LocalHashing, Log


def test_a_universal_hash_family_is_not_enough_for_the_random_hash_reading() -> None:
    """(a x + b mod 5) mod 2 collides less than half the time: 1/g would charge too little, a fixed hash enough."""
    hashes = [[(a * x + b) % 5 % 2 for x in range(5)] for a in range(1, 5) for b in range(5)]
    for x, y in combinations(range(5), 2):
        assert sum(h[x] == h[y] for h in hashes) < len(hashes) / 2
    grown = Fraction(739, 100)
    channel = Channel(explicit.hashing(grown, 2, hashes))
    assert LocalHashing(epsilon=Log(grown), g=2, random_hash=True).rho < channel.rho_bounds[0]
    assert channel.rho_bounds[0] < LocalHashing(epsilon=Log(grown), g=2).rho


def test_two_values_that_collide_more_often_are_covered_by_the_random_hash_reading() -> None:
    hashes = [*explicit.all_functions(3, 2), (0, 0, 0), (1, 1, 1)]
    channel = Channel(explicit.hashing(Fraction(3), 2, hashes))
    assert channel.rho <= LocalHashing(epsilon=Log(3), g=2, random_hash=True).rho
