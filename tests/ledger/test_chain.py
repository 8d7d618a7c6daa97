"""Heads are read strictly, hashes are those of the written-out fields, and amounts are what a grid can hold."""

from __future__ import annotations

from hashlib import sha256

import pytest

from zcdp.ledger.chain import START, Entry, Head, digest, sealed_digest

CODE = "0123456789abcdef" * 4
ENTRY = Entry(12, "at", "spend", "census", "k\u00e9y", "what", "1/10", "why", "who", "login", "1.0", "")


def test_a_hash_is_that_of_lengths_and_fields_in_their_order() -> None:
    fields = [
        "zcdp-ledger-1",
        CODE,
        "12",
        "at",
        "spend",
        "census",
        "k\u00e9y",
        "what",
        "1/10",
        "why",
        "who",
        "login",
        "1.0",
    ]
    text = "".join(f"{len(one.encode())}:{one}," for one in fields)
    assert digest(CODE, ENTRY) == sha256(text.encode()).hexdigest()
    assert digest(CODE, ENTRY._replace(hash=CODE)) == digest(CODE, ENTRY)  # an entry's own hash is no part of it
    others = {digest(CODE, ENTRY._replace(**{name: "other"})) for name in Entry._fields[1:-1]}
    others |= {digest(START, ENTRY), digest(CODE, ENTRY._replace(seq=13)), digest(CODE, ENTRY)}
    assert len(others) == 13
    assert sealed_digest(b"noisy") == "sha256:" + sha256(b"noisy").hexdigest()


@pytest.mark.parametrize("text", [f"17:{CODE}", f" 17:{CODE}\n", f"0:{CODE}", f"{'9' * 18}:{CODE}"])
def test_heads_that_can_be_read(text: str) -> None:
    head = Head.parse(text)
    assert str(head) == text.strip()
    assert head.hash == CODE


@pytest.mark.parametrize(
    "text",
    ["", "17", f"17{CODE}", f":{CODE}", f"17:{CODE[1:]}", f"17:{CODE}0", f"17:{CODE.upper()}", f"-1:{CODE}",
     f"1 7:{CODE}", f"\u0661:{CODE}", f"{'9' * 19}:{CODE}", f"17:{'g' * 64}", f"17:{CODE}:1", f"1.0:{CODE}"],
)  # fmt: skip
def test_heads_that_cannot(text: str) -> None:
    with pytest.raises(ValueError, match="must be a number, a colon and 64 hexadecimal digits"):
        Head.parse(text)
