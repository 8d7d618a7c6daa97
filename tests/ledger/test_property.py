"""Any sequence of spends, retries, crashes, raises and seals, against a model in exact rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from ledger.server import Server

from zcdp import Laplace
from zcdp.ledger import BudgetExceeded, KeyConflict, Ledger, LedgerError

COSTS = st.one_of(
    st.sampled_from(["0.1", "1/3", "1e-100", "0.25", "1/7", "1e-40", 0.1, 2.0**-60]).map(Fraction),
    st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=100),
)
KEYS = st.sampled_from(["a", "b", "c", "d", "ключ", "e'; --", "日本"])
ACCOUNTS = st.sampled_from(["census", "survey"])
NUMBERS = count()


class Machine(RuleBasedStateMachine):
    """The model: budgets, debits by key, sealed bytes; a crash may come before or after the write."""

    address = ""

    def __init__(self) -> None:
        super().__init__()
        self.here = self.place()
        self.ledger = Ledger(self.here)
        self.budgets = {"census": Fraction(1), "survey": Fraction(1, 2)}
        for name, budget in self.budgets.items():
            self.ledger.open_account(name, unit="person", rho=budget)
        self.debits: dict[tuple[str, str], tuple[str, Fraction]] = {}
        self.sealed: dict[tuple[str, str], bytes] = {}
        self.entries = 3

    def place(self) -> str:
        raise NotImplementedError

    def _spent(self, account: str) -> Fraction:
        return sum((cost for (name, _), (_, cost) in self.debits.items() if name == account), Fraction(0))

    def _restart(self) -> None:
        self.ledger.close()
        self.ledger = Ledger(self.here)

    @rule(account=ACCOUNTS, key=KEYS, cost=COSTS, crash=st.sampled_from(["", "", "", "before", "after"]))
    def spend(self, account: str, key: str, cost: Fraction, crash: str) -> None:
        self._spend(account, key, f"rho {cost}", cost, crash, lambda: self.ledger.spend(account, rho=cost, key=key))

    @rule(account=ACCOUNTS, key=KEYS, tenths=st.integers(1, 9), crash=st.sampled_from(["", "", "after"]))
    def spend_mechanism(self, account: str, key: str, tenths: int, crash: str) -> None:
        mechanism = Laplace(epsilon=Fraction(tenths, 10))
        cost = mechanism.rho_fraction
        self._spend(account, key, repr(mechanism), cost, crash, lambda: self.ledger.spend(account, mechanism, key=key))

    def _spend(self, account, key, what, cost, crash, call) -> None:
        before = self.debits.get((account, key))
        if crash == "before":
            self._restart()
            return
        if before is not None and before[0] != what:
            with pytest.raises(KeyConflict):
                call()
        elif before is not None:
            assert call().repeated
        elif self._spent(account) + cost > self.budgets[account]:
            with pytest.raises(BudgetExceeded):
                call()
        else:
            assert not call().repeated
            self.debits[account, key] = (what, cost)
            self.entries += 1
        if crash == "after":  # the answer never arrived: the program comes back and asks again
            self._restart()
            if (account, key) in self.debits and self.debits[account, key][0] == what:
                assert call().repeated

    @rule(
        account=ACCOUNTS, costs=st.lists(st.tuples(KEYS, st.integers(1, 5)), max_size=4, unique_by=lambda one: one[0])
    )
    def spend_all(self, account: str, costs: list[tuple[str, int]]) -> None:
        if not costs:
            return
        wanted = {key: Laplace(epsilon=Fraction(n, 10)) for key, n in costs}
        new = {key: one for key, one in wanted.items() if (account, key) not in self.debits}
        conflict = any(self.debits.get((account, k), (repr(m),))[0] != repr(m) for k, m in wanted.items())
        total = self._spent(account) + sum((m.rho_fraction for m in new.values()), Fraction(0))
        if conflict or total > self.budgets[account]:
            with pytest.raises((KeyConflict, BudgetExceeded)):
                self.ledger.spend_all(account, wanted)
            return
        made = self.ledger.spend_all(account, wanted)
        assert [one.repeated for one in made] == [key not in new for key in wanted]
        for key, mechanism in new.items():
            self.debits[account, key] = (repr(mechanism), mechanism.rho_fraction)
        self.entries += len(new)

    @rule(account=ACCOUNTS, to=st.fractions(Fraction(1, 10), 3, max_denominator=50))
    def raise_budget(self, account: str, to: Fraction) -> None:
        if to <= self.budgets[account]:
            with pytest.raises(ValueError, match="larger"):
                self.ledger.raise_budget(account, rho=to, why="more")
        else:
            self.ledger.raise_budget(account, rho=to, why="more")
            self.budgets[account] = to
            self.entries += 1

    @rule(account=ACCOUNTS, key=KEYS, data=st.binary(max_size=20))
    def seal(self, account: str, key: str, data: bytes) -> None:
        place = (account, key)
        if place not in self.debits:
            with pytest.raises(LedgerError):
                self.ledger.seal(account, key, data)
            return
        self.entries += place not in self.sealed
        assert self.ledger.seal(account, key, data) == self.sealed.setdefault(place, data)

    @rule()
    def restart(self) -> None:
        self._restart()

    @invariant()
    def adds_up(self) -> None:
        for name, budget in self.budgets.items():
            account = self.ledger.account(name)
            assert (account.budget, account.spent) == (budget, self._spent(name))
            assert account.remaining >= 0
        assert self.ledger.head.startswith(f"{self.entries}:")

    def teardown(self) -> None:
        assert self.ledger.verify().findings == ()
        for (account, key), data in self.sealed.items():
            assert self.ledger.sealed(account, key) == data
        self.ledger.close()


def run(machine: type[Machine], examples: int, steps: int) -> None:
    checks = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=checks)


def on_sqlite(folder: Path) -> type[Machine]:
    class OnSQLite(Machine):
        def place(self) -> str:
            return str(folder / f"{next(NUMBERS)}.db")

    return OnSQLite


def on_postgres(server: Server) -> type[Machine]:
    class OnPostgres(Machine):
        def place(self) -> str:
            return server.fresh()

    return OnPostgres


def test_on_sqlite(quick: Path) -> None:
    run(on_sqlite(quick), 40, 25)


def test_on_postgres(server: Server) -> None:
    run(on_postgres(server), 6, 15)


@pytest.mark.deep
def test_long_on_sqlite(quick: Path) -> None:
    run(on_sqlite(quick), 600, 60)


@pytest.mark.deep
def test_long_on_postgres(server: Server) -> None:
    run(on_postgres(server), 40, 30)
