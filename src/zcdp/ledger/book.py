"""`Ledger`, the public class: accounts with budgets, spends, sealed results, verification and export.

This file checks arguments and prices mechanisms; the transactions are those of a `Store` (SQLite or PostgreSQL).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import islice
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import IO, Self
from unicodedata import normalize

from zcdp.accounting import Plan
from zcdp.accounting.filter import GRID, charge_down
from zcdp.errors import BadType, BadValue
from zcdp.ledger import verification as exchange
from zcdp.ledger import writing as text
from zcdp.ledger.chain import Entry, Head, name_commitment
from zcdp.ledger.model import Account, Cost, Reservation, Spend, account_of, levels_of, whole
from zcdp.ledger.periods import period_at
from zcdp.ledger.spend_text import composed, priced, said
from zcdp.ledger.store import (
    CHANGED,
    LARGEST_SEAL,
    AccountClosed,
    KeyConflict,
    KeyTaken,
    LedgerError,
    NothingReserved,
    Person,
    Request,
    Row,
    UnknownAccount,
    store_at,
)
from zcdp.ledger.terms import Terms, small, terms_of
from zcdp.ledger.verification import Verification, check_head, verify
from zcdp.numeric.exact import Value, positive_rational
from zcdp.privacy.curve import Curve
from zcdp.text.calls import spoken_class

__all__ = ["Ledger"]

NOTHING = Cost(Fraction(0))


@spoken_class
class Ledger:
    """Accounts and their history, in a SQLite file or on a PostgreSQL server.

    Every spend is checked and charged in one transaction, which is on the disk before `spend` returns. Costs and sums
    are rational numbers. Entries form a hash chain: keep a copy of `head` elsewhere and pass it as `expect_head` later,
    and a history that was rewritten or cut off is noticed.

    With `private_names` entries have a salted commitment in place of the name given as `who`, and the name is kept
    beside the record, where `forget` can erase it.

    >>> from tempfile import TemporaryDirectory
    >>> from zcdp import Laplace
    >>> folder = TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/budget.db")
    >>> _ = ledger.open_account("census-2026", unit="person", rho="0.01")
    >>> ledger.spend("census-2026", Laplace(epsilon="0.1"), key="q1/table-3", why="the table of ages").repeated
    False
    >>> ledger.spend("census-2026", Laplace(epsilon="0.1"), key="q1/table-3").repeated
    True
    >>> float(ledger.remaining("census-2026"))
    0.00516...
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(
        self,
        where: str | Path,
        *,
        expect_head: str | None = None,
        timeout: float = 30,
        private_names: bool = False,
    ) -> None:
        self._private_names = private_names
        expected = None if expect_head is None else Head.parse(expect_head)
        self._store = store_at(where, timeout)
        if expected is not None and (wrong := check_head(self._store, expected)):
            self.close()
            raise LedgerError(f"{self._store.name}: {wrong}")

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection to the database; the next call opens it again."""
        self._store.close()

    def open_account(
        self,
        name: str,
        *,
        unit: str,
        neighbours: str = "add-remove",
        rho: Value | None = None,
        epsilon: Value | None = None,
        delta: Value | None = None,
        order: Value | None = None,
        workload: Curve | None = None,
        approximate: Value | None = None,
        under: str | None = None,
        every: str | None = None,
        zone: str | None = None,
        why: str = "",
        who: str = "",
    ) -> Account:
        """Open an account with a budget of rho, or of epsilon and delta; creates the ledger if it does not exist.

        A budget of (epsilon, delta) is converted once: to rho, or, if `order` is given (or `workload`, for which the
        best order is found), to a budget of Renyi divergence at that order. Either way each spend may depend on all
        results before it. Opening an account again on the same terms changes nothing; one that is closed, or stands
        under a closed one, is not opened again: `AccountClosed`.

        With `under` the account is a cap within another one: each spend is charged to both, and to all above, or to
        none. With `approximate` spends may have a delta, up to this sum; of an (epsilon, delta) it is a part of delta.
        With `every` (day, week, month, quarter or year, in the time zone `zone`) the budget is there anew in each
        period. Theorems: docs/theorems/renyi-filter.md, docs/theorems/approximate-filter.md,
        docs/theorems/budget-levels.md.
        """
        terms, budget = terms_of(
            unit=text.name(unit, "unit"),
            neighbours=neighbours,
            rho=rho,
            epsilon=epsilon,
            delta=delta,
            order=order,
            workload=workload,
            approximate=approximate,
            under=None if under is None else text.name(under, "under"),
            every=every,
            zone=zone,
        )
        self._store.create()
        asked = self._request(text.name(name, "account"), what=terms.to_json(), amount=str(budget), why=why, who=who)
        if terms.under is not None:
            terms.check_above(self.account(terms.under).terms)
        if self._store.open_account(asked) is None:
            first = next(entry for entry in self._store.entries(asked.account) if entry.kind == "open")
            if (first.what, first.amount) != (asked.what, asked.amount):
                raise KeyConflict(f"there is an account {asked.account!r} on other terms: nothing was changed")
            for level in self.levels(asked.account):
                if level.closed:
                    raise AccountClosed(level.name)
        return self.account(asked.account)

    def account(self, name: str) -> Account:
        """One account as it is now: its terms, its budget and the sum of its spends."""
        row = self._row(name)
        if row.reserved == row.delta_reserved == "0":
            return _at(row, text.now())
        return next(one for one in self.accounts() if one.name == row.name)

    def accounts(self) -> list[Account]:
        """All accounts as they are now, sorted by name.

        Time has passed since the last write: a reservation that is overdue counts no more, and if the next period of an
        account has begun, it is shown as the first spend will find it.
        """
        at = text.now()
        rows, overdue = self._store.present(at)
        levels = {row.name: levels_of(row) for row in rows}
        freed = dict.fromkeys(levels, NOTHING)
        for kept in overdue:
            for name in levels.get(kept.account, ()):
                size, delta = freed[name]
                freed[name] = Cost(size + Fraction(whole(kept.size), GRID), delta + Fraction(whole(kept.delta), GRID))
        return [_at(row, at, freed[row.name]) for row in rows]

    def _row(self, account: str) -> Row:
        normal = text.name(account, "account")
        row = self._store.account(normal)
        if row is None:
            raise self._unknown(normal)
        return row

    def _terms(self, account: str) -> tuple[str, Terms]:
        """The name and the terms of an account: all that the price of a spend needs, without its sums."""
        row = self._row(account)
        return row.name, Terms.from_json(row.terms)

    def levels(self, account: str) -> list[Account]:
        """An account and all above it, the nearest first: what each spend is charged to."""
        mine = self.account(account)
        return [mine, *(self.account(name) for name in mine.above)]

    def remaining(self, account: str) -> Fraction:
        """What may still be spent from an account: exact, in the account's currency (rho or a Renyi divergence).

        It is the least of what remains in the account and in those above it; 0 if one of them is closed.
        """
        return min(Fraction(0) if level.closed else level.remaining for level in self.levels(account))

    def would_fit(
        self, account: str, mechanism: Curve | None = None, *, rho: Value | None = None, delta: Value | None = None
    ) -> bool:
        """Whether a spend of this mechanism, plan or rho would be admitted now; nothing is spent."""
        levels = self.levels(account)
        cost = priced(levels[0].terms, mechanism, rho, delta)[1]
        return all(
            not level.closed and cost.size <= level.remaining and cost.delta <= level.delta_remaining
            for level in levels
        )

    def cost(self, account: str, mechanism: Curve | None = None, *, rho: Value | None = None) -> Fraction:
        """What a mechanism or plan would be charged, in the account's currency; nothing is spent."""
        return priced(self._terms(account)[1], mechanism, rho)[1].size

    def spend(
        self,
        account: str,
        mechanism: Curve | None = None,
        *,
        key: str,
        why: str = "",
        rho: Value | None = None,
        delta: Value | None = None,
        who: str = "",
        unit: str | None = None,
        neighbours: str | None = None,
    ) -> Spend:
        """Charge a mechanism or plan, or a rho that is known otherwise; raises `BudgetExceeded` if it does not fit.

        Repeating a spend under its key charges nothing; using the key for something else raises `KeyConflict`. A
        mechanism stated for other neighbours than the account's is refused; a bare rho must hold for the account's
        neighbours. What is reserved under the key becomes the spend. With `delta` it is delta-approximate zCDP: what
        is stated holds but for an event of this probability, which may give everything away.
        Spend first, then look at the data. There is no refund.
        """
        name, terms = self._terms(account)
        terms.agree(unit=unit, neighbours=neighbours)
        return self._spend([self._debit(name, key, priced(terms, mechanism, rho, delta), why, who)])[0]

    def spend_all(self, account: str, mechanisms: Mapping[str, Curve], *, why: str = "", who: str = "") -> list[Spend]:
        """Charge several mechanisms, each under its own key, in one transaction: all of them, or none.

        The transaction waits for the disk once, so that a thousand spends take about as long as one.
        """
        name, terms = self._terms(account)
        once = {id(one): one for one in mechanisms.values()}  # often one mechanism under many keys
        prices = {place: priced(terms, one, None) for place, one in once.items()}
        return self._spend([self._debit(name, key, prices[id(one)], why, who) for key, one in mechanisms.items()])

    def _debit(self, account: str, key: str, price: tuple[str, Cost], why: str, who: str) -> Request:
        what, cost = price
        return self._request(account, text.name(key, "key"), what, str(cost), why, who)

    def _spend(self, asked: list[Request], *, reserved: bool = False) -> list[Spend]:
        same: set[str] = set()
        while True:
            try:
                made = self._store.spend(asked, reserved=reserved)
                break
            except KeyTaken as conflict:
                request = conflict.request
                if (stored := self._same(request)) is None or request.key in same:
                    raise KeyConflict(str(conflict)) from None
                same.add(request.key)
                asked = [replace(one, what=stored) if one is request else one for one in asked]
            except UnknownAccount as unknown:
                raise self._unknown(str(unknown)) from None
        return [
            Spend(entry.account, entry.key, Cost.parse(entry.amount).size, repeated, entry) for entry, repeated in made
        ]

    def _same(self, request: Request) -> str | None:
        """The stored text of the spend or reservation under a key, if it differs but states the same; else None."""
        before = self._store.find(request.account, request.key, "spend")
        if before is None:
            before = self._store.find(request.account, request.key, "reserve")
        if before is None:
            return None
        stored = before.what if before.kind == "spend" else before.what.partition(" ")[2]
        meant = said(stored)
        return stored if meant is not None and meant.plan is not None and meant == said(request.what) else None

    def reserve(
        self,
        account: str,
        mechanism: Curve | None = None,
        *,
        key: str,
        expires: timedelta | datetime | float,
        why: str = "",
        rho: Value | None = None,
        delta: Value | None = None,
        who: str = "",
    ) -> Reservation:
        """Take the cost of a mechanism, plan or rho out of what others can have, until it is spent or given back.

        `commit` makes it a spend, as does `spend` or `release` of the same under this key; `give_back` ends it. It ends
        by itself when it expires: at a time, or after a duration or so many seconds. Nothing may be drawn under a
        reservation: only a spend can be sealed. Repeating it under its key changes nothing.
        """
        mine, terms = self._terms(account)
        asked = self._debit(mine, key, priced(terms, mechanism, rho, delta), why, who)
        until = text.until(expires)
        try:
            made, repeated = self._store.reserve(asked, until)
        except KeyTaken as conflict:
            if (stored := self._same(asked)) is None:
                raise KeyConflict(str(conflict)) from None
            made, repeated = self._store.reserve(replace(asked, what=stored), until)
        return _reservation(made, repeated=repeated)

    def commit(self, account: str, key: str, *, why: str = "", who: str = "") -> Spend:
        """Make a reservation a spend. Raises if there is none under the key, as it was given back or has expired."""
        asked = self._keyed(account, key, who)
        kept = self._store.find(asked.account, asked.key, "reserve")
        if kept is None:
            self.account(asked.account)
            raise NothingReserved(asked.key)
        debit = replace(
            asked, what=kept.what.partition(" ")[2], amount=kept.amount, why=text.free(why or kept.why, "why")
        )
        return self._spend([debit], reserved=True)[0]

    def give_back(self, account: str, key: str, *, why: str = "", who: str = "") -> Entry:
        """End a reservation; what was spent is not given back. Returns the entry that ended it, this or an earlier."""
        asked = self._keyed(account, key, who)
        self.account(asked.account)
        return self._store.give_back(replace(asked, why=text.free(why, "why")))

    def reservations(self, account: str | None = None) -> list[Reservation]:
        """The open reservations, of one account or of all, without those that are overdue."""
        name, at = None if account is None else self._row(account).name, text.now()
        kept = [one for one in self._store.reservations() if name in (None, one.account) and one.until > at]
        found = (self._store.find(one.account, one.key, "reserve") for one in kept)
        return [_reservation(entry, repeated=True) for entry in found if entry is not None]

    def raise_budget(
        self, account: str, *, rho: Value | None = None, epsilon: Value | None = None, why: str, who: str = ""
    ) -> Account:
        """Set a larger budget and record the reason; give rho or epsilon, whichever the account was opened with."""
        return self._change("raise", account, rho, epsilon, why, who)

    def lower_budget(
        self, account: str, *, rho: Value | None = None, epsilon: Value | None = None, why: str, who: str = ""
    ) -> Account:
        """Set a smaller budget, which must cover what is spent and reserved, and record the reason."""
        return self._change("lower", account, rho, epsilon, why, who)

    def _change(self, kind: str, account: str, rho: Value | None, epsilon: Value | None, why: str, who: str) -> Account:
        mine = self.account(account)
        if (rho is None) == (epsilon is None) or (rho is None) != (mine.terms.epsilon is not None):
            given = "rho" if mine.terms.epsilon is None else "epsilon"
            raise BadType(f"the budget of {mine.name!r} is given as {given}: {kind} that")
        if not text.free(why, "why").strip():
            raise BadValue(f"why must say why the budget is {CHANGED[kind]}")
        terms: Terms = mine.terms
        if rho is not None:
            budget = small(charge_down(positive_rational(rho, "rho")), rho, "rho")
        else:
            assert epsilon is not None
            terms = replace(terms, epsilon=small(positive_rational(epsilon, "epsilon"), epsilon, "epsilon"))
            budget = terms.budget()
        asked = self._request(mine.name, "", terms.to_json(), str(budget), why, who)
        try:
            self._store.change_budget(kind, asked)
        except ValueError:
            given = f"rho ({rho})" if rho is not None else f"epsilon ({epsilon})"
            if kind == "raise":
                raise BadValue(f"{given} must be larger than the present budget: budgets are only raised") from None
            taken = f"what is spent and reserved ({float(mine.spent + mine.reserved):.6g})"
            if terms.every is not None:
                taken += (
                    f", and what was spent in the {terms.every} of the last spend, until the next one begins another"
                )
            raise BadValue(f"{given} must be smaller than the present budget, and cover {taken}") from None
        return self.account(mine.name)

    def close_account(self, account: str, *, why: str, who: str = "") -> Account:
        """Close an account, and all under it, to further spends; open reservations can no longer be committed.

        What was spent stays spent and what is sealed can be delivered. A closed account is not opened again.
        """
        mine = self.account(account)
        if not text.free(why, "why").strip():
            raise BadValue("why must say why the account is closed")
        self._store.close_account(self._request(mine.name, why=why, who=who))
        return self.account(mine.name)

    def seal(self, account: str, key: str, data: bytes, *, who: str = "") -> bytes:
        """Store a noisy result beside its spend; returns the bytes sealed first under this key, by whichever caller."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise BadType(f"what is sealed must be bytes, not {type(data).__name__}")
        if memoryview(data).nbytes > LARGEST_SEAL:
            raise BadValue(f"what is sealed must have at most {LARGEST_SEAL // 2**20} MB")
        return self._store.seal(self._keyed(account, key, who), bytes(data))

    def sealed(self, account: str, key: str) -> bytes | None:
        """The bytes sealed under a key; None if there are none."""
        asked = self._keyed(account, key, "")
        return self._store.sealed(asked.account, asked.key)

    def sealing(self, account: str, key: str) -> Entry:
        """The entry that records when and by whom a key was sealed."""
        asked = self._keyed(account, key, "")
        found = self._store.find(asked.account, asked.key, "seal")
        if found is None:
            raise LedgerError(f"nothing is sealed under the key {key!r}")
        return found

    def deliver(self, account: str, key: str, *, who: str = "") -> bytes:
        """The sealed bytes, for publication; the first delivery is recorded. Raises if nothing is sealed."""
        return self._store.deliver(self._keyed(account, key, who))

    def release(
        self, account: str, mechanism: Curve, draw: Callable[[], bytes], *, key: str, why: str = "", who: str = ""
    ) -> bytes:
        """Spend, draw, seal, deliver. A retry with the same key returns the same bytes and spends nothing.

        `draw` is called after the spend, and only if nothing is sealed yet. If the program is killed between drawing
        and sealing, a retry draws again, which is safe because the first result was never published.
        """
        debit = self.spend(account, mechanism, key=key, why=why, who=who)
        if not debit.repeated or self.sealed(account, key) is None:
            self.seal(account, key, draw(), who=who)
        return self.deliver(account, key, who=who)

    def history(self, account: str | None = None, *, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries, oldest first, of one account or of the whole ledger.

        By page: at most `limit` of those whose number is above `after`. The number of the last entry of a page is the
        `after` of the next one; as entries are only added, no page changes.
        """
        name = None if account is None else self.account(account).name
        if limit is None:
            return self._store.entries(name, after=after)
        if limit < 0:
            raise BadValue(f"limit ({limit}) must not be negative")
        return islice(self._store.entries(name, after=after), limit)

    def plan(self, account: str) -> Plan:
        """All spends of an account, and of those under it, as one plan: to ask for `epsilon_at`, or for a report.

        Its epsilon is a guarantee only if the mechanisms were not chosen by looking at earlier results. If they were,
        the guarantee is the account's budget (a privacy filter's).
        """
        mine = self.account(account).name
        below = [row.name for row in self._store.state()[1] if mine in levels_of(row)]
        return composed(account, [one for name in below for one in self._store.grouped(name)])

    @property
    def head(self) -> str:
        """Number and hash of the last entry. Keep a copy where nobody who can write to the ledger can change it."""
        return str(self._store.state()[0])

    def verify(self, *, expect_head: str | None = None, recompute: bool = True) -> Verification:
        """Check the whole ledger: hash chain, sums, sealed bytes, the cost of every plan, and an expected head."""
        expected = None if expect_head is None else Head.parse(expect_head)
        return verify(self._store, expected=expected, recompute=recompute)

    def export(self, file: IO[str]) -> int:
        """Write all entries as JSON lines; returns their number."""
        return exchange.export(self._store, file)

    def load(self, lines: Iterable[str]) -> int:
        """Create this ledger, which must not exist yet, from exported lines, verified first; returns their number."""
        return exchange.load(self._store, lines)

    def upgrade(self, *, dry_run: bool = False) -> int:
        """Bring the database schema up to date, forwards only; returns the version it had before.

        With `dry_run` all of it is done and then undone, to see that it can be done. An older version of zcdp refuses
        a ledger that was brought up.
        """
        return self._store.upgrade(dry_run=dry_run)

    def _request(
        self, account: str, key: str = "", what: str = "", amount: str = "", why: str = "", who: str = ""
    ) -> Request:
        from zcdp import __version__

        return Request(account, key, what, amount, text.free(why, "why"), self._who(who), __version__)

    def _who(self, who: str) -> str:
        """The name as entries have it: as it is, or as a commitment to it, with a salt of its own."""
        name = text.free(who, "who")
        if not name or not self._private_names:
            return name
        salt = token_hex(16)
        person = Person(name_commitment(salt, name), salt, name)
        self._store.remember(person)
        return person.commitment

    def names(self) -> dict[str, str]:
        """The names that are kept beside the record, by the commitments that entries have as `who`."""
        return {person.commitment: person.name for person in self._store.people()}

    def forget(self, name: str, *, why: str) -> int:
        """Erase a person's name, kept by `private_names`, for good; returns under how many commitments it stood.

        The chain stays whole: entries keep their commitments, which say nothing of the name any more. That so many
        were erased is recorded, with the reason, which must not name the person. Backups and exports of the database
        may still have the name, and so may the log beside an SQLite file while another program has it open.
        """
        if not text.free(why, "why").strip():
            raise BadValue("why must say why the name is erased")
        asked, same = self._request("", why=why), normalize("NFC", text.free(name, "name"))
        spellings = {one.name for one in self._store.people() if normalize("NFC", one.name) == same}
        return sum(self._store.forget(spelling, asked) for spelling in sorted(spellings))

    def _keyed(self, account: str, key: str, who: str) -> Request:
        return self._request(text.name(account, "account"), text.name(key, "key"), who=who)

    def _unknown(self, name: str) -> UnknownAccount:
        from zcdp.text.suggestions import unknown

        known = [row[0] for row in self._store.state()[1]]
        if not known:
            return UnknownAccount(f"there is no account {name!r}, nor any other: zcdp ledger open makes one")
        return UnknownAccount(unknown("account", name, known))


def _at(row: Row, at: str, freed: Cost = NOTHING) -> Account:
    """The account at a time: without the reservations that are overdue (`freed`), and in the period of that time.

    A clock that was set back leaves it in the last period that was opened.
    """
    found = account_of(row)
    if freed.size:
        less = (found.reserved - freed.size, found.delta_reserved - freed.delta)
        found = replace(found, reserved=less[0], delta_reserved=less[1])
    if found.terms.every is not None and found.terms.zone is not None:
        label = period_at(at, found.terms.every, found.terms.zone)
        if label > found.period:
            return replace(found, period=label, spent=Fraction(0), delta_spent=Fraction(0))
    return found


def _reservation(entry: Entry, *, repeated: bool) -> Reservation:
    until = entry.what.partition(" ")[0]
    return Reservation(entry.account, entry.key, Cost.parse(entry.amount).size, until, repeated, entry)
