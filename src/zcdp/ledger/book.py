"""`Ledger`, the public class: accounts with budgets, spends, sealed results, verification and export.

This file checks arguments and prices mechanisms; the transactions are those of a `Store` (SQLite or PostgreSQL).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from zcdp.accounting import Plan
from zcdp.accounting.filter import charge_down
from zcdp.errors import BadType, BadValue
from zcdp.ledger import verification as exchange
from zcdp.ledger import writing as text
from zcdp.ledger.chain import Entry, Head
from zcdp.ledger.model import Account, Spend, amount
from zcdp.ledger.spend_text import composed, plan_of, priced
from zcdp.ledger.store import LARGEST_SEAL, KeyConflict, KeyTaken, LedgerError, Request, Row, UnknownAccount, store_at
from zcdp.ledger.terms import Terms, small, terms_of
from zcdp.ledger.verification import Verification, check_head, verify
from zcdp.numeric.exact import Value, positive_rational
from zcdp.privacy.curve import Curve
from zcdp.text.calls import spoken_class

__all__ = ["Ledger"]


@spoken_class
class Ledger:
    """Accounts and their history, in a SQLite file or on a PostgreSQL server.

    Every spend is checked and charged in one transaction, which is on the disk before `spend` returns. Costs and sums
    are rational numbers. Entries form a hash chain: keep a copy of `head` elsewhere and pass it as `expect_head` later,
    and a history that was rewritten or cut off is noticed.

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

    def __init__(self, where: str | Path, *, expect_head: str | None = None, timeout: float = 30) -> None:
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
        why: str = "",
        who: str = "",
    ) -> Account:
        """Open an account with a budget of rho, or of epsilon and delta; creates the ledger if it does not exist.

        A budget of (epsilon, delta) is converted once: to rho, or, if `order` is given (or `workload`, for which the
        best order is found), to a budget of Renyi divergence at that order. Either way each spend may depend on all
        results before it. Opening an account again on the same terms changes nothing.
        Theorem: docs/theorems/renyi-filter.md.
        """
        terms, budget = terms_of(
            unit=text.name(unit, "unit"),
            neighbours=neighbours,
            rho=rho,
            epsilon=epsilon,
            delta=delta,
            order=order,
            workload=workload,
        )
        asked = self._request(text.name(name, "account"), what=terms.to_json(), amount=str(budget), why=why, who=who)
        self._store.create()
        if self._store.open_account(asked) is None:
            first = next(entry for entry in self._store.entries(asked.account) if entry.kind == "open")
            if (first.what, first.amount) != (asked.what, asked.amount):
                raise KeyConflict(f"there is an account {asked.account!r} on other terms: nothing was changed")
        return self.account(asked.account)

    def account(self, name: str) -> Account:
        """One account: its terms, its budget and the sum of its spends."""
        normal = text.name(name, "account")
        row = self._store.account(normal)
        if row is None:
            raise self._unknown(normal)
        return _account(row)

    def accounts(self) -> list[Account]:
        """All accounts, sorted by name."""
        return [_account(row) for row in self._store.state()[1]]

    def remaining(self, account: str) -> Fraction:
        """What may still be spent from an account: exact, in the account's currency (rho or a Renyi divergence)."""
        return self.account(account).remaining

    def would_fit(self, account: str, mechanism: Curve | None = None, *, rho: Value | None = None) -> bool:
        """Whether a spend of this mechanism, plan or rho would be admitted now; nothing is spent."""
        return self.cost(account, mechanism, rho=rho) <= self.remaining(account)

    def cost(self, account: str, mechanism: Curve | None = None, *, rho: Value | None = None) -> Fraction:
        """What a mechanism or plan would be charged, in the account's currency; nothing is spent."""
        return priced(self.account(account).terms, mechanism, rho)[1]

    def spend(
        self,
        account: str,
        mechanism: Curve | None = None,
        *,
        key: str,
        why: str = "",
        rho: Value | None = None,
        who: str = "",
        unit: str | None = None,
        neighbours: str | None = None,
    ) -> Spend:
        """Charge a mechanism or plan, or a rho that is known otherwise; raises `BudgetExceeded` if it does not fit.

        Repeating a spend under its key charges nothing; using the key for something else raises `KeyConflict`. A
        mechanism stated for other neighbours than the account's is refused; a bare rho must hold for the account's
        neighbours. Spend first, then look at the data. There is no refund.
        """
        mine = self.account(account)
        mine.terms.agree(unit=unit, neighbours=neighbours)
        return self._spend([self._debit(mine, key, mechanism, rho, why, who)])[0]

    def spend_all(self, account: str, mechanisms: Mapping[str, Curve], *, why: str = "", who: str = "") -> list[Spend]:
        """Charge several mechanisms, each under its own key, in one transaction: all of them, or none.

        The transaction waits for the disk once, so that a thousand spends take about as long as one.
        """
        mine = self.account(account)
        return self._spend([self._debit(mine, key, one, None, why, who) for key, one in mechanisms.items()])

    def _debit(
        self, mine: Account, key: str, mechanism: Curve | None, rho: Value | None, why: str, who: str
    ) -> Request:
        what, cost = priced(mine.terms, mechanism, rho)
        return self._request(mine.name, text.name(key, "key"), what, str(cost), why, who)

    def _spend(self, asked: list[Request]) -> list[Spend]:
        same: set[str] = set()
        while True:
            try:
                made = self._store.spend(asked)
                break
            except KeyTaken as conflict:
                # The stored JSON differs. The spend is still a repetition if both texts parse to equal plans: then
                # retry with the stored text.
                request = conflict.request
                before = self._store.find(request.account, request.key, "spend")
                plan = None if before is None else plan_of(before.what)
                if before is None or plan is None or plan != plan_of(request.what) or request.key in same:
                    raise KeyConflict(str(conflict)) from None
                same.add(request.key)
                asked = [replace(one, what=before.what) if one is request else one for one in asked]
            except UnknownAccount as unknown:
                raise self._unknown(str(unknown)) from None
        return [Spend(entry.account, entry.key, amount(entry.amount), repeated, entry) for entry, repeated in made]

    def raise_budget(
        self, account: str, *, rho: Value | None = None, epsilon: Value | None = None, why: str, who: str = ""
    ) -> Account:
        """Set a larger budget and record the reason; give rho or epsilon, whichever the account was opened with."""
        mine = self.account(account)
        if (rho is None) == (epsilon is None) or (rho is None) != (mine.terms.epsilon is not None):
            kind = "rho" if mine.terms.epsilon is None else "epsilon"
            raise BadType(f"the budget of {mine.name!r} is given as {kind}: raise that")
        if not text.free(why, "why").strip():
            raise BadValue("why must say why the budget is raised")
        terms: Terms = mine.terms
        if rho is not None:
            budget = small(charge_down(positive_rational(rho, "rho")), rho, "rho")
        else:
            assert epsilon is not None
            terms = replace(terms, epsilon=small(positive_rational(epsilon, "epsilon"), epsilon, "epsilon"))
            budget = terms.budget()
        asked = self._request(mine.name, "", terms.to_json(), str(budget), why, who)
        try:
            self._store.raise_budget(asked)
        except ValueError:
            given = f"rho ({rho})" if rho is not None else f"epsilon ({epsilon})"
            raise BadValue(f"{given} must be larger than the present budget: budgets are only raised") from None
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

    def history(self, account: str | None = None) -> Iterator[Entry]:
        """All entries, oldest first, of one account or of the whole ledger."""
        return self._store.entries(None if account is None else self.account(account).name)

    def plan(self, account: str) -> Plan:
        """All spends of an account as one plan: to ask for `epsilon_at`, or for a report.

        Its epsilon is a guarantee only if the mechanisms were not chosen by looking at earlier results. If they were,
        the guarantee is the account's budget (a privacy filter's).
        """
        return composed(account, self._store.grouped(self.account(account).name))

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

    def upgrade(self) -> int:
        """Bring the database schema up to date; returns the version it had before."""
        return self._store.upgrade()

    def _request(
        self, account: str, key: str = "", what: str = "", amount: str = "", why: str = "", who: str = ""
    ) -> Request:
        from zcdp import __version__

        return Request(account, key, what, amount, text.free(why, "why"), text.free(who, "who"), __version__)

    def _keyed(self, account: str, key: str, who: str) -> Request:
        return self._request(text.name(account, "account"), text.name(key, "key"), who=who)

    def _unknown(self, name: str) -> UnknownAccount:
        from zcdp.text.suggestions import unknown

        known = [row[0] for row in self._store.state()[1]]
        if not known:
            return UnknownAccount(f"there is no account {name!r}, nor any other: zcdp ledger open makes one")
        return UnknownAccount(unknown("account", name, known))


def _account(row: Row) -> Account:
    return Account(row[0], Terms.from_json(row[1]), amount(row[2]), amount(row[3]))
