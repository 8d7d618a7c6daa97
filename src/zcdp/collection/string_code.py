"""Strings as digits: one whole number for each string over an alphabet, and its digits in a prime base g.

The leading digits of the number are told by the leading characters, so that strings with a common beginning share
digits, and a search can go from the first digits to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadType, BadValue

__all__ = ["StringCode"]


@dataclass(frozen=True)
class StringCode:
    """The strings of at most `length` characters of an alphabet, and no others.

    A string is padded with an end mark to the full length and read as a number in base 1 + the size of the alphabet.

    >>> code = StringCode("abc", 3)
    >>> code.number("ab"), code.text(code.number("ab")), code.size
    (24, 'ab', 64)
    """

    alphabet: str
    length: int

    def __post_init__(self) -> None:
        if not isinstance(self.alphabet, str) or not self.alphabet:
            raise BadType("alphabet must be a text of the characters that strings may have")
        if len(set(self.alphabet)) != len(self.alphabet):
            raise BadValue("alphabet must name each character once")
        if not 1 <= self.length <= 64:
            raise BadValue(f"length ({self.length}) must be from 1 to 64")

    @cached_property
    def _places(self) -> dict[str, int]:
        return {one: n + 1 for n, one in enumerate(self.alphabet)}

    @property
    def base(self) -> int:
        """The characters and the end mark."""
        return len(self.alphabet) + 1

    @property
    def size(self) -> int:
        """How many numbers there are; not all of them are strings, as nothing follows an end mark."""
        return int(self.base**self.length)

    def number(self, string: str) -> int:
        """The number of a string; a string that is too long or has another character is refused, and not quoted."""
        if not isinstance(string, str):
            raise BadType(f"values must be strings, not {type(string).__name__}")
        if len(string) > self.length or not set(string) <= self._places.keys():
            raise BadValue(f"strings must have at most {self.length} characters, all of them in the alphabet")
        whole = 0
        for one in string:
            whole = whole * self.base + self._places[one]
        return whole * int(self.base ** (self.length - len(string)))

    def text(self, number: int) -> str | None:
        """The string of a number; None if the number is that of no string."""
        if not 0 <= number < self.size:
            return None
        places = []
        for _ in range(self.length):
            number, place = divmod(number, self.base)
            places.append(place)
        used = [*reversed(places)]
        while used and used[-1] == 0:
            used.pop()
        return None if 0 in used else "".join(self.alphabet[place - 1] for place in used)

    def digit_count(self, g: int) -> int:
        """How many digits in base g every number has."""
        count = 1
        while g**count < self.size:
            count += 1
        return count

    def digits(self, strings: Sequence[str], g: int) -> NDArray[np.int64]:
        """A row of digits in base g for each string, the leading digit first."""
        known: dict[str, NDArray[np.int64]] = {}
        for one in strings:
            if one not in known:
                known[one] = self.digits_of(self.number(one), g)
        return np.array([known[one] for one in strings], dtype=np.int64).reshape(-1, self.digit_count(g))

    def digits_of(self, number: int, g: int) -> NDArray[np.int64]:
        """The digits of a number below `size`, the leading digit first.

        >>> StringCode("abc", 3).digits_of(63, 5).tolist()
        [2, 2, 3]
        """
        row = []
        for _ in range(self.digit_count(g)):
            number, digit = divmod(number, g)
            row.append(digit)
        return np.array(row[::-1], dtype=np.int64)

    def text_of_digits(self, digits: Sequence[int], g: int) -> str | None:
        """The string of a row of digits; None if it is that of no string."""
        number = 0
        for digit in digits:
            number = number * g + int(digit)
        return self.text(number)
