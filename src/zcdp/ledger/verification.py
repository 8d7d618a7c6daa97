"""Verification: the chain against itself, the totals against the chain, the sealed bytes against their digests."""

from __future__ import annotations

from dataclasses import dataclass

from zcdp.ledger.chain import START, Head, sealed_digest
from zcdp.ledger.errors import LedgerError
from zcdp.ledger.model import amount
from zcdp.ledger.replay import Replay
from zcdp.ledger.store import Store
from zcdp.ledger.terms import Terms

__all__ = ["Verification", "check_head", "verify"]


@dataclass(frozen=True)
class Verification:
    """What was checked, and what was found: no findings, no sign of tampering."""

    head: Head
    entries: int
    accounts: int
    findings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all is as it should be."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.passed


def check_head(store: Store, expected: Head) -> str | None:
    """What is wrong if the chain does not go through the expected head; None where it does. It takes one look-up."""
    found = store.at(expected.seq)
    if found is None:
        last = store.state()[0].seq
        return f"the chain ends at entry {last}, before the expected entry {expected.seq}: a restored backup, or a cut"
    if found.hash != expected.hash:
        return f"entry {expected.seq} is not the expected one: a copy went its own way, or history was rewritten"
    return None


def verify(store: Store, *, expected: Head | None = None, recompute: bool = True) -> Verification:
    """Read everything once.

    Whoever may write the whole database can rewrite the whole chain as well: against that only a head helps that was
    written down elsewhere.
    """
    damage = [f"the database: {text}" for text in store.damage()]
    try:
        head, rows = store.state()
    except LedgerError as error:
        return Verification(Head(0, START), 0, 0, (*damage, str(error)))
    replay = Replay(recompute)
    replay.read(store.entries(up_to=head.seq))
    if replay.head != head:
        replay.find(
            f"the chain ends at entry {replay.head.seq}, the ledger says at {head.seq}: entries are missing or added"
        )
    beyond = store.batch(head.seq, 2**62, None)
    if beyond and store.state()[0].seq < beyond[-1].seq:
        replay.find(f"there are entries beyond the head, from {beyond[0].seq} on")
    for name, terms, budget, spent in rows:
        _total(replay, name, terms, (budget, spent))
    for name in sorted(set(replay.accounts) - {row[0] for row in rows}):
        replay.find(f"account {name!r}: is on the record, but its row is missing")
    _seals(store, replay)
    if expected is not None and (wrong := check_head(store, expected)):
        replay.find(wrong)
    rest = [f"and {replay.more} more findings"] if replay.more else []
    return Verification(head, replay.head.seq, len(rows), (*damage, *replay.findings, *rest))


def _total(replay: Replay, name: str, terms: str, sums: tuple[str, str]) -> None:
    account = replay.accounts.get(name)
    if account is None:
        return replay.find(f"account {name!r}: has a row, but was never opened")
    try:
        if Terms.from_json(terms) != account.terms:
            replay.find(f"account {name!r}: its terms are not those on the record")
        for what, said, true in zip(("budget", "sum"), sums, (account.budget, account.spent), strict=True):
            if amount(said) != true:
                replay.find(f"account {name!r}: its {what} is not what the record adds up to")
    except LedgerError as error:
        replay.find(f"account {name!r}: {error}")
    return None


def _seals(store: Store, replay: Replay) -> None:
    there = set(store.seals())
    for place, said in replay.seals.items():
        data = store.sealed(*place)
        if data is None:
            replay.find(f"account {place[0]!r}, key {place[1]!r}: the sealed bytes are missing")
        elif sealed_digest(data) != said:
            replay.find(f"account {place[0]!r}, key {place[1]!r}: the sealed bytes are not those on the record")
    for account, key in sorted(there - set(replay.seals)):
        if store.find(account, key, "seal") is None:
            replay.find(f"account {account!r}, key {key!r}: bytes that were never sealed on the record")
