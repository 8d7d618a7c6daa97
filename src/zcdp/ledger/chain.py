"""The chain: each entry carries a hash of itself and of all entries before it."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from zcdp.errors import BadValue

__all__ = ["START", "Entry", "Head", "digest", "sealed_digest"]

START = "0" * 64
"""What stands before the first entry."""
MAGIC = b"zcdp-ledger-1"


class Entry(NamedTuple):
    """One line of the ledger, as it is stored; every field but the number is text, and empty where it has no meaning.

    `what` is the plan of a spend, the terms of an account, or the digest of sealed bytes; `amount` a cost or a budget,
    as an exact fraction; `who` what the caller said, `login` what the system knew; `version` that of zcdp.
    """

    seq: int
    at: str
    kind: str
    account: str
    key: str
    what: str
    amount: str
    why: str
    who: str
    login: str
    version: str
    hash: str


class Head(NamedTuple):
    """The number of the last entry, and its hash: what to write down elsewhere.

    >>> Head.parse("17:" + "ab" * 32).seq
    17
    """

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """The inverse of `str`."""
        seq, colon, code = str(text).strip().partition(":")
        known = (
            colon and seq.isascii() and seq.isdigit() and len(code) == 64 and not set(code) - set("0123456789abcdef")
        )
        if not known or len(seq) > 18:
            raise BadValue(f"head ({str(text)[:80]!r}) must be a number, a colon and 64 hexadecimal digits")
        return cls(int(seq), code)


def digest(previous: str, entry: Entry) -> str:
    """SHA-256 of the hash before it and of the fields in their order, each with its length in bytes before it.

    >>> digest(START, Entry(1, "", "ledger", "", "", "", "", "", "", "", "", ""))[:16]
    'e4879e16520348c0'
    """
    parts = [MAGIC, previous.encode(), str(entry[0]).encode(), *(field.encode() for field in entry[1:-1])]
    return sha256(b"".join([b"%d:%b," % (len(part), part) for part in parts])).hexdigest()


def sealed_digest(data: bytes) -> str:
    """How sealed bytes are named in the chain."""
    return f"sha256:{sha256(data).hexdigest()}"
