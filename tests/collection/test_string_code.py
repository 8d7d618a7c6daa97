"""Strings as digits: each string has its own, and strings with a common beginning share the first."""

from __future__ import annotations

from itertools import product

import pytest

from zcdp.collection.string_code import StringCode
from zcdp.errors import BadType, BadValue


def strings(alphabet: str, length: int) -> list[str]:
    return ["".join(one) for size in range(length + 1) for one in product(alphabet, repeat=size)]


@pytest.mark.parametrize(("alphabet", "length", "g"), [("ab", 3, 3), ("abc", 3, 5), ("xyz-", 2, 7), ("a", 4, 2)])
def test_every_string_comes_back_from_its_digits_and_no_two_share_them(alphabet: str, length: int, g: int) -> None:
    code, every = StringCode(alphabet, length), strings(alphabet, length)
    rows = code.digits(every, g)
    assert rows.shape == (len(every), code.digit_count(g))
    assert len({tuple(row) for row in rows.tolist()}) == len(every)
    assert [code.text_of_digits(row, g) for row in rows] == every
    told = {code.text_of_digits(row, g) for row in product(range(g), repeat=rows.shape[1])}
    assert told - {None} == set(every)


def test_digits_of_a_number_are_its_own() -> None:
    code = StringCode("abc", 3)
    assert [int("".join(map(str, code.digits_of(n, 5))), 5) for n in range(code.size)] == [*range(64)]


def test_strings_that_are_none_are_refused_and_not_quoted() -> None:
    code = StringCode("abc", 3)
    for one in ("abca", "abd", "ab c"):
        with pytest.raises(BadValue, match=r"^strings must have at most 3 characters, all of them in the alphabet$"):
            code.number(one)
    with pytest.raises(BadType, match=r"values must be strings, not int"):
        code.digits([3], 5)  # type: ignore[list-item]
    with pytest.raises(BadValue, match=r"alphabet must name each character once"):
        StringCode("aa", 3)
    with pytest.raises(BadValue, match=r"length .65. must be from 1 to 64"):
        StringCode("a", 65)
