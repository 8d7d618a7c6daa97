"""Entries of a ledger and their hash chain: each entry's hash covers its own fields and the hash before it."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from zcdp.errors import BadValue

__all__ = ["START", "Entry", "Head", "digest", "name_commitment", "sealed_digest"]

START = "0" * 64
"""The previous hash of the first entry."""
MAGIC = b"zcdp-ledger-1"


class Entry(NamedTuple):
    """One line of the ledger as it is stored. All fields but `seq` are text, empty if they do not apply to the kind.

    `what` is the plan of a spend, the terms of an account, or the digest of sealed bytes. `amount` is a cost or a
    budget as an exact fraction. `who` is the name the caller gave, `login` the user reported by the operating system
    or database; `version` is zcdp's.
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
    """Number and hash of the last entry, which together commit to the whole history; keep a copy elsewhere.

    >>> Head.parse("17:" + "ab" * 32).seq
    17
    """

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Read "number:hash", the inverse of `str`."""
        seq, colon, code = str(text).strip().partition(":")
        known = (
            colon and seq.isascii() and seq.isdigit() and len(code) == 64 and not set(code) - set("0123456789abcdef")
        )
        if not known or len(seq) > 18:
            raise BadValue(f"head ({str(text)[:80]!r}) must be a number, a colon and 64 hexadecimal digits")
        return cls(int(seq), code)


def digest(previous: str, entry: Entry) -> str:
    """SHA-256, in hex, of the previous hash and the entry's fields, each prefixed by its length in bytes.

    >>> digest(START, Entry(1, "", "ledger", "", "", "", "", "", "", "", "", ""))[:16]
    'e4879e16520348c0'
    """
    parts = [MAGIC, previous.encode(), str(entry[0]).encode(), *(field.encode() for field in entry[1:-1])]
    return sha256(b"".join([b"%d:%b," % (len(part), part) for part in parts])).hexdigest()


def name_commitment(salt: str, name: str) -> str:
    """What an entry records of a name that may be erased: it says nothing of the name without the salt.

    >>> name_commitment("00" * 16, "Anna")[:20]
    'name:sha256:df0dc2f1'
    """
    parts = (salt.encode(), name.encode())
    return f"name:sha256:{sha256(b''.join([b'%d:%b,' % (len(part), part) for part in parts])).hexdigest()}"


def sealed_digest(data: bytes) -> str:
    """The digest that an entry of kind "seal" records of the sealed bytes."""
    return f"sha256:{sha256(data).hexdigest()}"
