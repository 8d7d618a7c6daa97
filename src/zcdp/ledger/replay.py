"""The chain read from its start: whether it is whole, and what accounts it adds up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from zcdp.ledger.chain import START, Entry, Head, digest
from zcdp.ledger.errors import LedgerError
from zcdp.ledger.model import Account, amount
from zcdp.ledger.plans import cost_of
from zcdp.ledger.terms import Terms

__all__ = ["Replay"]

KINDS = ("ledger", "open", "spend", "raise", "seal", "deliver", "upgrade")
MOST = 100
"""Findings beyond this many are counted, not listed."""


@dataclass
class Replay:
    """Feed it entries in their order; `findings` says in words what is wrong, and where."""

    recompute: bool = True
    head: Head = field(default_factory=lambda: Head(0, START))
    findings: list[str] = field(default_factory=list)
    more: int = 0
    accounts: dict[str, Account] = field(default_factory=dict)
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    seals: dict[tuple[str, str], str] = field(default_factory=dict)
    _costs: dict[tuple[Terms, str], Fraction | str] = field(default_factory=dict)

    def find(self, text: str) -> None:
        """Put a finding on the list."""
        if len(self.findings) < MOST:
            self.findings.append(text)
        else:
            self.more += 1

    def read(self, entries: Iterable[Entry]) -> None:
        """Check all entries."""
        for _ in self.checked(entries):
            pass

    def checked(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Check entries on their way to someone else."""
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
        except (AttributeError, UnicodeEncodeError):  # a field that is not text
            expected = ""
        if entry.hash != expected:
            self.find(f"entry {entry.seq}: was changed, or one before it was: its hash does not fit")
        self.head = Head(entry.seq, entry.hash)

    def _apply(self, entry: Entry) -> None:
        if entry.kind not in KINDS or (entry.kind == "ledger") != (entry.seq == 1):
            raise LedgerError(f"is of a kind ({str(entry.kind)[:20]!r}) that does not belong here")
        if entry.kind in ("ledger", "upgrade"):
            return
        if entry.kind == "open":
            self._open(entry)
        elif entry.account not in self.accounts:
            raise LedgerError("belongs to an account that was not opened")
        elif entry.kind == "raise":
            self._raise(entry)
        else:
            self._keyed(entry)

    def _open(self, entry: Entry) -> None:
        if entry.account in self.accounts:
            raise LedgerError("opens an account that is open")
        account = Account(entry.account, Terms.from_json(entry.what), amount(entry.amount), Fraction(0))
        self.accounts[entry.account] = account
        self._promise(account)

    def _promise(self, account: Account) -> None:
        """The budget must not be larger than its epsilon and delta allow."""
        if not self.recompute or account.terms.epsilon is None:
            return
        try:
            allowed = account.terms.budget()
        except (ValueError, ArithmeticError):
            raise LedgerError("has an epsilon, delta or order that makes no sense") from None
        if account.budget > allowed:
            raise LedgerError("has a budget larger than its epsilon and delta allow")

    def _raise(self, entry: Entry) -> None:
        before = self.accounts[entry.account]
        account = replace(before, terms=Terms.from_json(entry.what), budget=amount(entry.amount))
        self.accounts[entry.account] = account
        if account.budget <= before.budget or not entry.why.strip():
            raise LedgerError("is no raise of the budget with a reason")
        if replace(account.terms, epsilon=None) != replace(before.terms, epsilon=None):
            raise LedgerError("changes terms that are fixed at opening")
        self._promise(account)

    def _keyed(self, entry: Entry) -> None:
        place = (entry.account, entry.key)
        before = {"spend": None, "seal": "spend", "deliver": "seal"}[entry.kind]
        if not entry.key or self.states.get(place) != before:
            raise LedgerError(f"a {entry.kind} of key {str(entry.key)[:60]!r} that does not fit what was done before")
        self.states[place] = entry.kind
        if entry.kind == "seal":
            self.seals[place] = entry.what
        if entry.kind == "spend":
            self._spend(entry)

    def _spend(self, entry: Entry) -> None:
        account, cost = self.accounts[entry.account], amount(entry.amount)
        total = account.spent + cost
        # one object a spend would be most of the time that reading takes
        object.__setattr__(account, "spent", total)
        if total > account.budget:
            raise LedgerError("spends more than the budget")
        if not cost:
            raise LedgerError("spends nothing")
        if self.recompute:
            known = (account.terms, entry.what)
            if known not in self._costs:
                self._costs[known] = cost_of(*known)
            least = self._costs[known]
            if isinstance(least, str):
                raise LedgerError(least)
            if cost < least:
                raise LedgerError(f"was charged {float(cost):.6g}, less than what its plan costs ({float(least):.6g})")
