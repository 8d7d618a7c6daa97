"""Keys that are not known beforehand: found in the data, and published where enough persons have them, noise included.

Each person is counted once in each of at most `max_cells` keys. A key whose noisy count reaches the threshold is
published with it; of other keys nothing is told. Theorem: docs/theorems/discovered-keys.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from zcdp.numeric.balls import enclose, upper_float
from zcdp.numeric.search import least_integer
from zcdp.numeric.theta import MOST_TERMS, mass_beyond
from zcdp.tables.domain import EXACT, DeclarationError, Key, Keys, known_fields, number, text, whole

__all__ = ["Discovered", "appears", "read_discovered", "threshold"]

FIELDS = ("discover", "column", "kind", "max_cells", "mechanism", "delta", "other", "most_keys")
MOST_CELLS, MOST_KEYS = 10_000, 100_000
LEAST_DELTA = Fraction(1, 10**300)  # stated deltas are doubles, rounded up
LONGEST_KEY = 200  # letters; a longer text is no key
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")  # no key has such a character
DIGITS = 6  # significant ones of a stated delta, which is rounded up


@dataclass(frozen=True)
class Discovered:
    """A domain whose keys are found in the data; until then its size is the largest number of keys it may have."""

    name: str
    column: str
    kind: str
    max_cells: int
    delta: Fraction
    """The most that the probability of a revealing event may be; the threshold follows from it."""
    other: Key
    most_keys: int

    @property
    def size(self) -> int:
        """The largest number of keys there can be, `other` among them: it is public."""
        return self.most_keys + 1

    @property
    def labels(self) -> range:
        """The number of each key that there may be; the keys are not known yet."""
        return range(self.size)

    def columns(self) -> dict[str, list[Any]]:
        """No columns: the keys are not known yet."""
        raise NotImplementedError(f"the keys of {self.name!r} are not known before the release")

    @property
    def lookups(self) -> tuple[Discovered]:
        """The columns that the keys are read from: one, by this domain itself."""
        return (self,)

    def found(self, keys: list[Key]) -> Keys:
        """The ordinary list of the published keys, with `other` for all the rest."""
        return Keys(self.name, self.column, tuple(keys), self.other)

    def is_key(self, value: Any) -> bool:
        """Whether a value may be published as a key: by a public rule, from the value alone."""
        if value == self.other:
            return False
        if self.kind == "integer":
            return isinstance(value, int) and abs(value) < EXACT
        return isinstance(value, str) and 0 < len(value) <= LONGEST_KEY and not CONTROL.search(value)


def appears(variance: Fraction, least: int, keys: int) -> Fraction:
    """The probability that a key of one person alone is published, for a person with so many keys; rounded up.

    The noisy count of a single person reaches `least` with p = P(X >= least - 1), X discrete Gaussian; of m keys at
    least one does with 1 - (1-p)^m. Rounded up to six digits, for plans that a person reads.

    >>> float(appears(Fraction(100), 66, 1))
    5.49445e-11
    """

    def chance() -> arb:
        p = mass_beyond(least - 2, variance) / 2
        return -((-p).log1p() * keys).expm1()

    # where the tail is known between two integrals alone the answer is up to a tenth too large
    return _few_digits(enclose(chance)[1] if least - 2 <= MOST_TERMS else upper_float(chance, bits=3))


def _few_digits(value: float) -> Fraction:
    """The value rounded up to DIGITS significant digits."""
    found = Fraction(f"{value:.{DIGITS - 1}e}")
    if found >= Fraction(value):
        return found
    exponent = int(f"{value:.{DIGITS - 1}e}".partition("e")[2])
    return found + Fraction(10) ** (exponent - DIGITS + 1)


@lru_cache(256)
def threshold(variance: Fraction, delta: Fraction, keys: int) -> int:
    """The least whole number of persons, noise included, for which `appears` is at most delta.

    >>> threshold(Fraction(100), Fraction(1, 10**10), 1)
    66
    """
    # from 1 on persons are published by noise of 0 or more, with more than 1/2, which no delta allows
    return least_integer(lambda least: appears(variance, least, keys) <= delta, 2, least=2)


def read_discovered(name: str, data: Mapping[str, Any], unit: str) -> Discovered:
    """A domain of keys to find, from its fields in a plan file."""
    known_fields(data, FIELDS, f"the domain {name!r}, whose keys are found,")
    if data["discover"] is not True:
        raise DeclarationError(name, "discover must be true; a list of keys is `values`, or a `file`")
    for needed, why in (
        ("mechanism", "the noise on the number of persons of a key, DiscreteGaussian(sigma=...)"),
        ("delta", "the probability that a person's own key is published, from which the threshold follows"),
        ("other", "the key for all who have none of the published keys"),
    ):
        if needed not in data:
            raise DeclarationError(name, f"{needed} is missing: {why}")
    kind = data.get("kind", "text")
    if kind not in ("text", "integer"):
        raise DeclarationError(name, f"kind must be text or integer, not {kind!r}")
    other: Any = data["other"]
    if not isinstance(other, str if kind == "text" else int) or isinstance(other, bool) or other == "":
        raise DeclarationError(name, f"other must be a key like the others: {kind}")
    delta = number(data["delta"], name)
    if not LEAST_DELTA <= delta < Fraction(1, 2):
        raise DeclarationError(name, f"delta ({data['delta']}) must be at least 1e-300, and below 1/2")
    return Discovered(
        name,
        text(data.get("column", name), name),
        kind,
        whole(data.get("max_cells", 1), name, 1, 1 if unit == "row" else MOST_CELLS),
        delta,
        other,
        whole(data.get("most_keys", 10_000), name, 1, MOST_KEYS),
    )
