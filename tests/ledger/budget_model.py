"""The rules of budgets in memory, in exact fractions, and random histories that a ledger is held against.

Written from the rules, not from the code: accounts under accounts, reservations, periods, closed accounts, spends with
a delta, and a clock that does what it likes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from zcdp.ledger import AccountClosed, BudgetExceeded, KeyConflict, Ledger, LedgerError, NothingReserved
from zcdp.ledger.model import account_of
from zcdp.ledger.postgres import ROW, Postgres
from zcdp.ledger.store import Row

FORM = "%Y-%m-%dT%H:%M:%S.%fZ"
COSTS = [Fraction(n, 20) for n in range(1, 9)] + [Fraction(1, 3), Fraction(1, 7), Fraction(1, 10**9)]
DELTAS = [Fraction(0)] * 4 + [Fraction(1, 1000), Fraction(1, 3000)]
NAMES = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "year": "%Y"}


@dataclass
class Budget:
    """One account: sums are of (rho, delta)."""

    above: list[str]
    budget: Fraction
    delta: Fraction
    every: str | None
    zone: str
    closed: bool = False
    period: str = ""
    spent: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * 2)
    reserved: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * 2)
    most: Fraction = Fraction(0)
    """The largest budget there ever was."""
    paid: dict[str, Fraction] = field(default_factory=dict)
    """What was spent in each period, added up on its own."""


@dataclass
class Key:
    state: str
    cost: tuple[Fraction, Fraction]
    until: datetime | None = None
    kept: tuple[Fraction, Fraction] | None = None
    """What was reserved under it once, if anything was."""


class Refused(Exception):
    """(class of the error, the level that refuses or None)"""


@dataclass
class Model:
    now: datetime
    accounts: dict[str, Budget] = field(default_factory=dict)
    keys: dict[tuple[str, str], Key] = field(default_factory=dict)

    def levels(self, name: str) -> list[tuple[str, Budget]]:
        return [(one, self.accounts[one]) for one in (name, *self.accounts[name].above)]

    def open(
        self, name: str, under: str | None, sizes: tuple[Fraction, Fraction], every: str | None, zone: str
    ) -> None:
        above = []
        if under is not None:
            if self.accounts[under].closed:
                raise Refused(AccountClosed, None)
            above = [under, *self.accounts[under].above]
        self.accounts[name] = Budget(above, *sizes, every, zone, most=sizes[0])

    def pass_time(self, name: str | None) -> None:
        """Reservations run out and periods begin; a refusal that follows undoes it."""
        for (account, _), key in self.keys.items():
            if key.state == "reserve" and key.until is not None and key.until <= self.now:
                key.state = "expire"
                self.add(account, "reserved", (-key.cost[0], -key.cost[1]))
        for _, one in self.levels(name) if name else []:
            if one.every:
                label = self.now.replace(tzinfo=UTC).astimezone(ZoneInfo(one.zone)).strftime(NAMES[one.every])
                if label > one.period:
                    one.period, one.spent = label, [Fraction(0)] * 2

    def add(self, name: str, column: str, cost: tuple[Fraction, Fraction]) -> None:
        for _, one in self.levels(name):
            sums = getattr(one, column)
            sums[0] += cost[0]
            sums[1] += cost[1]

    def admit(self, name: str, cost: tuple[Fraction, Fraction]) -> None:
        for level, one in self.levels(name):
            if one.closed:
                raise Refused(AccountClosed, None)
            if (
                one.spent[0] + one.reserved[0] + cost[0] > one.budget
                or one.spent[1] + one.reserved[1] + cost[1] > one.delta
            ):
                raise Refused(BudgetExceeded, level)

    def spend(self, name: str, key: str, cost: tuple[Fraction, Fraction], *, commit: bool = False) -> bool:
        known = self.keys.get((name, key))
        if known and known.state == "spend":
            if known.cost != cost:
                raise Refused(KeyConflict, None)
            return True
        self.pass_time(name)
        known = self.keys.get((name, key))
        if known and known.state == "reserve":
            if known.cost != cost:
                raise Refused(KeyConflict, None)
            self.add(name, "reserved", (-cost[0], -cost[1]))
        elif commit:
            raise Refused(NothingReserved, None)
        self.admit(name, cost)
        self.add(name, "spent", cost)
        for _, one in self.levels(name):
            one.paid[one.period] = one.paid.get(one.period, Fraction(0)) + cost[0]
        self.keys[name, key] = Key("spend", cost, kept=known.kept if known else None)
        return False

    def commit(self, name: str, key: str) -> bool:
        known = self.keys.get((name, key))
        if known is None or known.kept is None:
            raise Refused(NothingReserved, None)
        return self.spend(name, key, known.kept, commit=True)

    def reserve(self, name: str, key: str, cost: tuple[Fraction, Fraction], until: datetime) -> bool:
        self.pass_time(name)
        known = self.keys.get((name, key))
        if known is not None:
            if known.state == "reserve" and known.cost == cost:
                return True
            raise Refused(KeyConflict, None)
        if until <= self.now:
            raise Refused(LedgerError, None)
        self.admit(name, cost)
        self.add(name, "reserved", cost)
        self.keys[name, key] = Key("reserve", cost, until, kept=cost)
        return False

    def give_back(self, name: str, key: str) -> None:
        self.pass_time(None)
        known = self.keys.get((name, key))
        if known is None:
            raise Refused(NothingReserved, None)
        if known.state == "spend":
            raise Refused(LedgerError, None)
        if known.state == "reserve":
            known.state = "release"
            self.add(name, "reserved", (-known.cost[0], -known.cost[1]))

    def change(self, name: str, budget: Fraction) -> None:
        self.pass_time(None)
        one = self.accounts[name]
        if one.closed:
            raise Refused(AccountClosed, None)
        if budget == one.budget or budget < one.spent[0] + one.reserved[0]:
            raise Refused(ValueError, None)
        one.budget = budget
        one.most = max(one.most, budget)

    def check(self) -> None:
        """Nothing above any level's budget, ever."""
        for name, one in self.accounts.items():
            assert min(*one.spent, *one.reserved) >= 0, name
            assert one.spent[0] + one.reserved[0] <= one.budget, name
            assert one.spent[1] + one.reserved[1] <= one.delta, name
            assert all(paid <= one.most for paid in one.paid.values()), name


class History:
    """A random history, done in the model and in a ledger; every answer and every sum is compared."""

    def __init__(self, ledger: Ledger, clock: Any, seed: int) -> None:
        self.ledger, self.clock, self.chance, self.seed = ledger, clock, Random(seed), seed
        self.model = Model(datetime(2026, 11, 28, 12) + timedelta(hours=self.chance.randrange(24 * 40)))
        self.steps: list[str] = []
        self.outcomes: dict[str, int] = {}

    def name(self) -> str:
        return self.chance.choice(list(self.model.accounts))

    def key(self) -> str:
        return f"key {self.chance.randrange(7)}"

    def cost(self) -> tuple[Fraction, Fraction]:
        return self.chance.choice(COSTS), self.chance.choice(DELTAS)

    def both(self, what: str, model: Any, ledger: Any) -> None:
        """Do one step on both sides: the same answer, or the same refusal at the same level, which changes nothing."""
        from copy import deepcopy

        self.steps.append(f"{self.model.now:%m-%d %H:%M} {what}")
        before = deepcopy((self.model.accounts, self.model.keys))
        self.clock(self.ledger, self.model.now.strftime(FORM))
        try:
            expected: Any = model()
        except Refused as refusal:
            expected = refusal
            self.model.accounts, self.model.keys = before
        try:
            found: Any = ledger()
        except (LedgerError, BudgetExceeded, ValueError) as error:
            found = error
        self.outcomes[type(found).__name__] = self.outcomes.get(type(found).__name__, 0) + 1
        if isinstance(expected, Refused):
            assert isinstance(found, expected.args[0]), (self, expected.args, found)
            if expected.args[1] is not None:
                assert found.account == expected.args[1], (self, expected.args, found)
        else:
            assert not isinstance(found, Exception), (self, expected, found)
            assert expected is None or getattr(found, "repeated", None) == expected, (self, expected, found)
        self.model.check()
        self.compare()

    def rows(self) -> list[Row]:
        store, names = self.ledger._store, list(self.model.accounts)
        if isinstance(store, Postgres):  # one question to the server in place of one for each account
            found = store._rows(f"SELECT {ROW} FROM zcdp_ledger.account a WHERE a.name = ANY (%s)", (names,))
            return [Row(*row) for row in found]
        return [row for name in names if (row := store.account(name)) is not None]

    def asked(self, name: str, cost: tuple[Fraction, Fraction]) -> None:
        """What would be admitted now, though nothing was written since time passed."""
        from copy import deepcopy

        self.clock(self.ledger, self.model.now.strftime(FORM))
        now = deepcopy(self.model)
        now.pass_time(name)
        try:
            now.admit(name, cost)
            fits = True
        except Refused:
            fits = False
        assert self.ledger.would_fit(name, rho=cost[0], delta=cost[1] or None) == fits, (self, name, cost)
        left = [0 if one.closed else one.budget - one.spent[0] - one.reserved[0] for _, one in now.levels(name)]
        assert self.ledger.remaining(name) == min(left), (self, name)
        kept = {key for (account, key), one in now.keys.items() if account == name and one.state == "reserve"}
        assert {one.key for one in self.ledger.reservations(name)} == kept, (self, name)

    def __repr__(self) -> str:
        return f"seed {self.seed}: " + "; ".join(self.steps)

    def compare(self) -> None:
        """The stored sums of each account; those of other histories in the same ledger are held to the record later."""
        rows = {row.name: row for row in self.rows()}
        for name, one in self.model.accounts.items():
            row = rows[name]
            account = account_of(row)
            found = (account.budget, account.spent, account.reserved, account.period, account.closed)
            assert found == (one.budget, one.spent[0], one.reserved[0], one.period, one.closed), (self, row.name)
            assert (account.delta_spent, account.delta_reserved) == (one.spent[1], one.reserved[1]), (self, row.name)
            assert list(account.above) == one.above

    def run(self, steps: int, prefix: str) -> dict[str, int]:
        for n in range(3):
            self.open(f"{prefix}/{n}")
        for _ in range(steps):
            self.step(prefix)
        return self.outcomes

    def open(self, name: str) -> None:
        chance = self.chance
        under = chance.choice([None, *self.model.accounts]) if self.model.accounts else None
        budget, delta = Fraction(chance.randrange(1, 30), 15), chance.choice([Fraction(0), Fraction(1, 500)])
        every, zone = chance.choice([None, None, *NAMES]), chance.choice(["UTC", "Europe/Berlin", "Asia/Kolkata"])
        said: dict[str, Any] = {"every": every, "zone": zone} if every else {}
        said |= {"approximate": delta} if delta else {}
        self.both(
            f"open {name} under {under}: {budget}, {delta} {every} {zone}",
            lambda: self.model.open(name, under, [budget, delta], every, zone),
            lambda: self.ledger.open_account(name, unit="person", rho=budget, under=under, **said),
        )

    def step(self, prefix: str) -> None:
        chance, ledger, model = self.chance, self.ledger, self.model
        name, key, (rho, delta) = self.name(), self.key(), self.cost()
        if chance.random() < 0.5 and (name, key) in model.keys:
            rho, delta = model.keys[name, key].cost  # the same again
        given: dict[str, Any] = {"rho": rho, "delta": delta or None, "key": key}
        what = chance.random()
        if what < 0.36:
            self.both(
                f"spend {name} {key} {rho} {delta}",
                lambda: model.spend(name, key, (rho, delta)),
                lambda: ledger.spend(name, **given),
            )
        elif what < 0.54:
            until = model.now + timedelta(seconds=chance.choice([1, 60, 86400, 10**7]))
            self.both(
                f"reserve {name} {key} {rho} {delta} {until}",
                lambda: model.reserve(name, key, (rho, delta), until),
                lambda: ledger.reserve(name, **given, expires=until.replace(tzinfo=UTC)),
            )
        elif what < 0.64:
            self.both(f"commit {name} {key}", lambda: model.commit(name, key), lambda: ledger.commit(name, key))
        elif what < 0.72:
            self.both(f"release {name} {key}", lambda: model.give_back(name, key), lambda: ledger.give_back(name, key))
        elif what < 0.86:  # the clock: on, far on, or back
            days = chance.choice([0.0001, 0.2, 1, 9, 31, 200, -0.0001, -1, -40, -400])
            model.now += timedelta(days=days)
            self.steps.append(f"clock {days}")
            self.asked(name, (rho, delta))
        elif what < 0.93:
            to = Fraction(chance.randrange(1, 30), 15)
            change = ledger.raise_budget if to > model.accounts[name].budget else ledger.lower_budget
            self.both(f"budget {name} {to}", lambda: model.change(name, to), lambda: change(name, rho=to, why="so"))
        elif what < 0.95:

            def close() -> None:
                model.accounts[name].closed = True

            self.both(f"close {name}", close, lambda: ledger.close_account(name, why="over"))
        elif what < 0.97 and len(model.accounts) < 6:
            self.open(f"{prefix}/{len(model.accounts)}")
        else:
            paid = (name, key) in model.keys and model.keys[name, key].state == "spend"

            def seal() -> None:
                if not paid:
                    raise Refused(LedgerError, None)

            self.both(f"seal {name} {key}", seal, lambda: ledger.seal(name, key, b"noisy"))
