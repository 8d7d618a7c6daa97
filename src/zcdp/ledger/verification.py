"""Verification of a ledger by replaying its entries, and export and import as JSON lines."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import IO, Any

from zcdp.accounting.filter import units
from zcdp.errors import BadType, BadValue
from zcdp.ledger.chain import START, Entry, Head, digest, name_commitment, sealed_digest
from zcdp.ledger.model import Account, Cost, amount, check_depth, row_of
from zcdp.ledger.periods import check_period, near
from zcdp.ledger.spend_text import cost_of
from zcdp.ledger.store import CHANGED, Kept, LedgerError, Row, Store
from zcdp.ledger.terms import Terms

__all__ = ["Replay", "Verification", "check_head", "export", "load", "verify"]


BEFORE: dict[str, tuple[str | None, ...]] = {
    "reserve": (None,),
    "release": ("reserve",),
    "expire": ("reserve",),
    "spend": (None, "reserve", "release", "expire"),
    "seal": ("spend",),
    "deliver": ("seal",),
}
"""The kinds of entries with a key, and which kind may stand before each under the same key; None for none."""
ENTRY_KINDS = ("ledger", "upgrade", "forget", "open", "raise", "lower", "close", "period", *BEFORE)
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"
MOST_FINDINGS = 100
"""Findings beyond this many are only counted."""


@dataclass
class Replay:
    """Replays entries from the first: checks the hash chain and each entry, and rebuilds the accounts.

    `findings` are sentences on what is wrong and where, `more` counts those not listed. `accounts` are the rebuilt
    ones, `states` the kind of the last entry under each (account, key), `kept` the open reservations, `seals` the
    recorded digests. With `recompute` the cost of every plan is computed again.
    """

    recompute: bool = True
    head: Head = field(default_factory=lambda: Head(0, START))
    findings: list[str] = field(default_factory=list)
    more: int = 0
    accounts: dict[str, Account] = field(default_factory=dict)
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    kept: dict[tuple[str, str], tuple[Cost, str, str]] = field(default_factory=dict)
    """The cost, the end and the spend (`what`) of each open reservation."""
    seals: dict[tuple[str, str], str] = field(default_factory=dict)
    _costs: dict[tuple[Terms, str], Cost | str] = field(default_factory=dict)

    def reservations(self) -> list[Kept]:
        """The open reservations as a store keeps them."""
        return [
            Kept(*place, str(units(cost.size)), str(units(cost.delta)), until)
            for place, (cost, until, _) in sorted(self.kept.items())
        ]

    def find(self, text: str) -> None:
        """Add a finding to the list, or count it if the list is full."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(text)
        else:
            self.more += 1

    def read(self, entries: Iterable[Entry]) -> None:
        """Check all entries and discard them."""
        for _ in self.checked(entries):
            pass

    def checked(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Check entries and pass each on to the caller."""
        for entry in entries:
            self._link(entry)
            try:
                if not all(type(value) is str for value in entry[1:]):
                    raise LedgerError("has a field that is not text")
                self._apply(entry)
            except LedgerError as error:
                self.find(f"entry {entry.seq}: {error}")
            yield entry

    def _link(self, entry: Entry) -> None:
        if entry.seq != self.head.seq + 1:
            gap = (
                f"entries {self.head.seq + 1} to {entry.seq - 1} are missing" if entry.seq > self.head.seq else "order"
            )
            self.find(f"entry {entry.seq}: does not follow entry {self.head.seq}: {gap}")
        try:
            expected = digest(self.head.hash, entry)
        except (AttributeError, UnicodeEncodeError):  # a field is not text, or not Unicode
            expected = ""
        if entry.hash != expected:
            self.find(f"entry {entry.seq}: was changed, or one before it was: its hash does not fit")
        self.head = Head(entry.seq, entry.hash)

    def _apply(self, entry: Entry) -> None:
        if entry.kind not in ENTRY_KINDS or (entry.kind == "ledger") != (entry.seq == 1):
            raise LedgerError(f"is of a kind ({str(entry.kind)[:20]!r}) that does not belong here")
        if entry.kind in ("ledger", "upgrade", "forget"):
            return
        if entry.kind == "open":
            self._open(entry)
        elif entry.account not in self.accounts:
            raise LedgerError("belongs to an account that was not opened")
        elif entry.kind in CHANGED:
            self._change(entry)
        elif entry.kind == "close":
            self._close(entry)
        elif entry.kind == "period":
            self._period(entry)
        else:
            self._keyed(entry)

    def _open(self, entry: Entry) -> None:
        if entry.account in self.accounts:
            raise LedgerError("opens an account that is open")
        terms = Terms.from_json(entry.what)
        upper = None if terms.under is None else self.accounts.get(terms.under)
        above = () if upper is None else (upper.name, *upper.above)
        account = Account(entry.account, terms, amount(entry.amount), Fraction(0), above=above)
        self.accounts[entry.account] = account
        if terms.under is not None:
            if upper is None:
                raise LedgerError("is under an account that was not opened")
            if upper.closed:
                raise LedgerError("is opened under an account that is closed")
            check_depth(above)
            try:
                terms.check_above(upper.terms)
            except ValueError:
                raise LedgerError("does not count what the account above it counts") from None
        self._promise(account)

    def _promise(self, account: Account) -> None:
        """Raise `LedgerError` if the budget is larger than its epsilon and delta allow."""
        if not self.recompute or account.terms.epsilon is None:
            return
        try:
            allowed = account.terms.budget()
        except (ValueError, ArithmeticError):
            raise LedgerError("has an epsilon, delta or order that makes no sense") from None
        if account.budget > allowed:
            raise LedgerError("has a budget larger than its epsilon and delta allow")

    def _change(self, entry: Entry) -> None:
        before = self.accounts[entry.account]
        account = replace(before, terms=Terms.from_json(entry.what), budget=amount(entry.amount))
        self.accounts[entry.account] = account
        if before.closed:
            raise LedgerError("changes the budget of a closed account")
        raised = account.budget > before.budget
        if account.budget == before.budget or raised != (entry.kind == "raise") or not entry.why.strip():
            raise LedgerError(f"is no {entry.kind} of the budget with a reason")
        if account.remaining < 0:
            raise LedgerError("lowers the budget below what is spent and reserved")
        if replace(account.terms, epsilon=None) != replace(before.terms, epsilon=None):
            raise LedgerError("changes terms that are fixed at opening")
        self._promise(account)

    def _close(self, entry: Entry) -> None:
        account = self.accounts[entry.account]
        if account.closed or not entry.why.strip():
            raise LedgerError("is no close of an open account with a reason")
        self.accounts[entry.account] = replace(account, closed=True)

    def _period(self, entry: Entry) -> None:
        account = self.accounts[entry.account]
        terms, last = account.terms, account.period
        self.accounts[entry.account] = replace(account, period=entry.what, spent=Fraction(0), delta_spent=Fraction(0))
        if terms.every is None or terms.zone is None:
            raise LedgerError("opens a period of an account that does not renew")
        try:
            check_period(terms.every, terms.zone)
        except BadValue:
            raise LedgerError(
                "opens a period in a time zone that this machine does not know: its data is older, or it was edited"
            ) from None
        if entry.what <= last or not near(entry.what, entry.at, terms.every, terms.zone):
            raise LedgerError("opens a period that was over, or had not begun")

    def _keyed(self, entry: Entry) -> None:
        place = (entry.account, entry.key)
        if not entry.key or self.states.get(place) not in BEFORE[entry.kind]:
            raise LedgerError(f"a {entry.kind} of key {str(entry.key)[:60]!r} that does not fit what was done before")
        self.states[place] = entry.kind
        if entry.kind == "seal":
            self.seals[place] = entry.what
        elif entry.kind == "reserve":
            self._reserve(entry)
        elif entry.kind == "spend":
            until, what = self._free(place)
            self._take(entry, entry.what, Cost.parse(entry.amount), "spent")
            if until and (entry.at >= until or entry.what != what):
                raise LedgerError("commits a reservation that was over, or of something else")
        elif entry.kind in ("release", "expire"):
            until, _ = self._free(place)
            if entry.kind == "expire" and entry.at < until:
                raise LedgerError("ends a reservation before its time")

    def _reserve(self, entry: Entry) -> None:
        until, _, what = entry.what.partition(" ")
        cost = Cost.parse(entry.amount)
        self.kept[entry.account, entry.key] = cost, until, what
        self._take(entry, what, cost, "reserved")
        if not re.fullmatch(TIME, until, re.ASCII) or until <= entry.at:
            raise LedgerError("reserves until a time that is over, or is none")

    def _free(self, place: tuple[str, str]) -> tuple[str, str]:
        """Take an open reservation out of the sums, if there is one; its end and its spend."""
        cost, until, what = self.kept.pop(place, (None, "", ""))
        if cost is not None:
            self._add(place[0], "reserved", Cost(-cost.size, -cost.delta))
        return until, what

    def _add(self, name: str, column: str, cost: Cost) -> list[Account]:
        """Add to a sum of the account and of all above it; returns them."""
        mine = self.accounts[name]
        levels = [mine, *(self.accounts[one] for one in mine.above)]
        for level in levels:
            # Changes the frozen account in place: a new object for each spend would take most of the time of a replay.
            object.__setattr__(level, column, getattr(level, column) + cost.size)
            if cost.delta:
                object.__setattr__(level, f"delta_{column}", getattr(level, f"delta_{column}") + cost.delta)
        return levels

    def _take(self, entry: Entry, what: str, cost: Cost, column: str) -> None:
        """Charge a spend or a reservation to all levels, and raise `LedgerError` if it should have been refused."""
        for level in self._add(entry.account, column, cost):
            where = "" if level.name == entry.account else f" of {level.name!r}, above it"
            if (level.spent + level.reserved if level.reserved else level.spent) > level.budget:
                raise LedgerError(f"spends more than the budget{where}")
            if cost.delta and level.delta_remaining < 0:
                raise LedgerError(f"has more delta than the budget{where}")
            if level.closed:
                raise LedgerError(f"spends from an account that is closed{where}")
            if level.terms.every is not None and not level.period:
                raise LedgerError(f"spends before a period was opened{where}")
        if not cost.size:
            raise LedgerError("spends nothing")
        if self.recompute:
            known = (self.accounts[entry.account].terms, what)
            if known not in self._costs:
                self._costs[known] = cost_of(*known)
            least = self._costs[known]
            if isinstance(least, str):
                raise LedgerError(least)
            if cost.size < least.size:
                charged = f"was charged {float(cost.size):.6g}"
                raise LedgerError(f"{charged}, less than what its plan costs ({float(least.size):.6g})")
            if cost.delta < least.delta:
                raise LedgerError("was charged less delta than it states, or than its found keys cost")


# Verification compares the chain with itself, the stored totals with the chain, and sealed bytes with their digests.


@dataclass(frozen=True)
class Verification:
    """The result of a verification. Without findings there is no sign of tampering."""

    head: Head
    entries: int
    accounts: int
    findings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.passed


def check_head(store: Store, expected: Head) -> str | None:
    """None if the chain contains the expected head, else what is wrong. It takes one look-up, not a replay."""
    found = store.at(expected.seq)
    if found is None:
        last = store.state()[0].seq
        return f"the chain ends at entry {last}, before the expected entry {expected.seq}: a restored backup, or a cut"
    if found.hash != expected.hash:
        return f"entry {expected.seq} is not the expected one: a copy went its own way, or history was rewritten"
    return None


def verify(store: Store, *, expected: Head | None = None, recompute: bool = True) -> Verification:
    """Replay the whole chain and compare it with the totals and the sealed bytes.

    Someone who can write to the whole database can also rewrite the whole chain; only an expected head, kept
    elsewhere, reveals that.
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
    for row in rows:
        _total(replay, row)
    for name in sorted(set(replay.accounts) - {row[0] for row in rows}):
        replay.find(f"account {name!r}: is on the record, but its row is missing")
    _kept(store, replay)
    for person in store.people():
        if name_commitment(person.salt, person.name) != person.commitment:
            replay.find(f"a name beside the record is not the one that {person.commitment[:24]}... stands for")
    _seals(store, replay)
    if expected is not None and (wrong := check_head(store, expected)):
        replay.find(wrong)
    rest = [f"and {replay.more} more findings"] if replay.more else []
    return Verification(head, replay.head.seq, len(rows), (*damage, *replay.findings, *rest))


COMPARED = {
    "above": "place under others",
    "budget": "budget",
    "spent": "sum",
    "reserved": "reserved sum",
    "delta": "delta",
    "delta_spent": "sum of delta",
    "delta_reserved": "reserved delta",
    "period": "period",
    "closed": "state",
}
"""The fields of a row that follow from the record, with their names in findings."""


def _total(replay: Replay, row: Row) -> None:
    account = replay.accounts.get(row.name)
    if account is None:
        return replay.find(f"account {row.name!r}: has a row, but was never opened")
    try:
        if Terms.from_json(row.terms) != account.terms:
            replay.find(f"account {row.name!r}: its terms are not those on the record")
        true = row_of(account)
        for field_name, what in COMPARED.items():
            if getattr(row, field_name) != getattr(true, field_name):
                replay.find(f"account {row.name!r}: its {what} is not what the record adds up to")
    except LedgerError as error:
        replay.find(f"account {row.name!r}: {error}")
    return None


def _kept(store: Store, replay: Replay) -> None:
    there, true = set(store.reservations()), set(replay.reservations())
    for one in sorted(there ^ true):
        said = "is open on the record" if one in true else "is not so on the record"
        replay.find(f"account {one.account!r}, key {one.key!r}: a reservation that {said}, and is stored otherwise")


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


# Export and import: a ledger as JSON lines, one for each entry; sealed bytes are on the line of their "seal" entry.

FIELDS = Entry._fields


def export(store: Store, file: IO[str]) -> int:
    """Write every entry as a JSON line; returns their number."""
    encode, count = json.JSONEncoder(ensure_ascii=True).encode, 0
    for entry in store.entries():
        line: dict[str, Any] = dict(zip(FIELDS, entry, strict=True))
        if entry.kind == "seal":
            data = store.sealed(entry.account, entry.key)
            if data is None:
                raise LedgerError(f"entry {entry.seq}: the sealed bytes are missing: zcdp ledger verify says more")
            line["sealed"] = b64encode(data).decode()
        file.write(encode(line) + "\n")
        count += 1
    return count


def load(store: Store, lines: Iterable[str]) -> int:
    """Create a ledger from exported lines; returns their number. One finding refuses the whole import."""
    replay, sealed = Replay(), []

    def entries() -> Iterator[Entry]:
        for number, line in enumerate(lines, 1):
            entry, data = _line(number, line)
            if data is not None:
                if sealed_digest(data) != entry.what:
                    raise LedgerError(f"line {number}: the sealed bytes are not those on the record")
                sealed.append((entry.account, entry.key, data))
            yield entry

    def checked() -> Iterator[Entry]:
        for entry in replay.checked(entries()):
            if replay.findings:
                raise LedgerError(replay.findings[0])
            yield entry
        if replay.head.seq == 0:
            raise LedgerError("there is nothing to import")

    held = list(checked())
    rows = [row_of(account) for account in replay.accounts.values()]
    store.load(held, rows, replay.reservations(), sealed)
    return len(held)


def _line(number: int, line: str) -> tuple[Entry, bytes | None]:
    try:
        data = json.loads(line)
        sealed = data.pop("sealed", None)
        entry = Entry(**data)
        if type(entry.seq) is not int or not all(type(value) is str for value in entry[1:]):
            raise BadType(line)
        if (sealed is not None) != (entry.kind == "seal"):
            raise BadType(line)
        return entry, None if sealed is None else b64decode(sealed, validate=True)
    except (ValueError, TypeError, AttributeError, RecursionError, Error):
        raise LedgerError(f"line {number}: not an entry of a ledger") from None
