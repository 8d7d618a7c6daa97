"""Names and text of others: neighbours in words, and characters that hide."""

from __future__ import annotations

import unicodedata

from zcdp.text.names import is_hidden, neighbours, printable, route


def test_neighbours_are_said_by_what_a_record_stands_for() -> None:
    assert neighbours("add_remove", None) == "one record more or less (add or remove)"
    assert neighbours("replace", "household") == "one household replaced by another (sums clipped to C move 2C)"
    assert "or one replaced" in neighbours("either", None)
    assert (route("profile"), route("pure")) == ("privacy profile", "pure epsilons added up")


DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def acts(one: str) -> bool:
    turns = unicodedata.bidirectional(one) in DIRECTIONS or one in "\u200e\u200f\u061c"
    return turns or ord(one) < 0x20 or 0x7F <= ord(one) < 0xA0 or 0xE0020 <= ord(one) < 0xE0080


def test_which_characters_hide() -> None:
    assert all(
        is_hidden(one)
        for one in "\x00\x1b\x7f\x80\x9f\u061c\u200b\u200e\u200f\u202a\u202e\u2066\u2069\u2028\ufeff\ud800"
    )
    assert not any(is_hidden(one) for one in "aZ \u00e9\u4e2d\u0627\u200c\u200d\U0001f600\u00a0")
    assert printable("a\tb\r\nc") == "a b  c"
    assert all(is_hidden(chr(number)) for number in range(0x110000) if acts(chr(number)))
