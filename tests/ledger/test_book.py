"""What a user gets, on both databases: exact sums, one debit a key, sealed answers, budgets raised on the record."""

from __future__ import annotations

import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from ledger.server import Server

from zcdp import DiscreteLaplace, Gaussian, KeyConflict, Laplace, Ledger, LossPair, RandomizedResponse
from zcdp.ledger import BudgetExceeded, LedgerError
from zcdp.ledger.chain import Entry
from zcdp.privacy.convert import zcdp_to_epsilon


def test_another_rho_under_a_used_key_is_a_conflict_and_costs_nothing(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.open_account("people", rho=10, unit="person")
        assert not ledger.spend("people", rho="0.01", key="a", why="first").repeated
        for other in ({"rho": "5"}, {"rho": "0.02"}, {"mechanism": Laplace(epsilon="0.1")}):
            with pytest.raises(KeyConflict):
                ledger.spend("people", **other, key="a", why="another")
        again = ledger.spend("people", rho="0.010", key="a", why="first")
        assert again.repeated
        assert float(ledger.account("people").spent) == 0.01
        ledger.spend("people", Laplace(epsilon="0.1"), key="b", why="a plan")
        with pytest.raises(KeyConflict):
            ledger.spend("people", rho="0.01", key="b", why="a number in place of a plan")


# What a user gets, on both databases: exact sums, one debit a key, sealed answers, budgets raised on the record.


TENTH = Laplace(epsilon="0.1")


def test_ten_tenths_fill_one_and_nothing_more_fits(ledger: Ledger) -> None:
    for n in range(10):
        ledger.spend("census", rho="0.1", key=f"table {n}")
    assert ledger.remaining("census") == 0
    for hair in ("1e-100", Fraction(1, 3**50), 1e-9):
        assert not ledger.would_fit("census", rho=hair)
        with pytest.raises(BudgetExceeded, match="nothing was spent"):
            ledger.spend("census", rho=hair, key="more")
    assert ledger.account("census").spent == 1
    assert ledger.verify()


def test_thirds_are_exact_and_a_hair_too_much_is_refused(ledger: Ledger) -> None:
    for n in range(3):
        ledger.spend("census", rho="1/3", key=f"{n}")
    assert ledger.remaining("census") == 0
    ledger.raise_budget("census", rho=2, why="more")
    with pytest.raises(BudgetExceeded):
        ledger.spend("census", rho=1 + Fraction(1, 10**900), key="4")
    ledger.spend("census", rho=1.0, key="5")


def test_denominators_do_not_grow(ledger: Ledger) -> None:
    exact = Fraction(0)
    for n in range(60):
        cost = Fraction(1, 10**6 + 2 * n + 1) / 3**n
        exact += cost
        ledger.spend("census", rho=cost, key=f"{n}")
    spent = ledger.account("census").spent
    assert exact <= spent < exact + Fraction(60, 10**1000)
    assert len(str(spent)) < 2200
    assert ledger.verify()


def test_a_mechanism_is_charged_its_certified_rho(ledger: Ledger) -> None:
    spend = ledger.spend("census", 3 * TENTH + Gaussian(sigma=10), key="a", why="ages", who="job 7")
    assert (
        3 * TENTH.rho_fraction + Fraction(1, 200)
        >= spend.cost
        >= Fraction((3 * TENTH + Gaussian(sigma=10)).rho_bounds[0])
    )
    assert (spend.repeated, spend.entry.why, spend.entry.who) == (False, "ages", "job 7")
    ledger.spend("census", TENTH, key="b")
    assert ledger.plan("census") == 4 * TENTH + Gaussian(sigma=10)
    assert ledger.plan("census").epsilon_at(delta=1e-6) == (4 * TENTH + Gaussian(sigma=10)).epsilon_at(delta=1e-6)


def test_a_mechanism_costs_the_same_alone_in_a_plan_and_read_back(ledger: Ledger) -> None:
    """rho of Gaussian(sigma=15) is 1/450, which no float is: alone it must not cost less than as a plan."""
    for n, one in enumerate((Gaussian(sigma=15), Gaussian(rho="1/7"), TENTH, DiscreteLaplace(scale=3))):
        alone = ledger.spend("census", one, key=f"{n}")
        assert ledger.cost("census", 1 * one) == ledger.cost("census", one) == alone.cost >= Fraction(one.rho_bounds[0])
    assert ledger.verify().findings == ()
    tenths = ledger.open_account("tenths", unit="person", rho=1)
    for n in range(10):
        ledger.spend(tenths.name, Gaussian(rho="0.1"), key=f"{n}")
    assert ledger.remaining(tenths.name) == 0


def test_the_same_key_is_the_same_spend(ledger: Ledger) -> None:
    first = ledger.spend("census", TENTH, key="a", why="first")
    again = ledger.spend("census", TENTH, key="a", why="second")
    assert again.repeated
    assert again.entry == first.entry
    same = ledger.spend("census", Laplace(scale=10), key="a")  # the same mechanism in other words
    assert same.repeated
    for other in (Laplace(epsilon="0.2"), 2 * TENTH):
        with pytest.raises(KeyConflict, match="'a' was used for something else"):
            ledger.spend("census", other, key="a")
    with pytest.raises(KeyConflict):
        ledger.spend("census", rho="0.001", key="a")
    assert ledger.account("census").spent == TENTH.rho_fraction
    ledger.open_account("other", unit="person", rho=1)
    assert not ledger.spend("other", TENTH, key="a").repeated  # keys belong to their account
    # even where nothing is left, what was paid for is paid for
    ledger.spend("census", rho=ledger.remaining("census"), key="rest")
    assert ledger.spend("census", TENTH, key="a").repeated


def test_many_at_once_are_each_charged_what_they_cost(ledger: Ledger) -> None:
    other = Laplace(epsilon="0.2")
    made = ledger.spend_all("census", {"a": TENTH, "b": other, "c": TENTH, "d": Laplace(epsilon="0.2")})
    assert [one.cost for one in made] == [ledger.cost("census", one) for one in (TENTH, other, TENTH, other)]
    assert ledger.verify()


def test_many_at_once_are_all_or_none(ledger: Ledger) -> None:
    made = ledger.spend_all("census", {f"q{n}": TENTH for n in range(5)}, why="a survey")
    assert [one.repeated for one in made] == [False] * 5
    before = ledger.head
    with pytest.raises(BudgetExceeded):
        ledger.spend_all("census", {"x": TENTH, "y": Laplace(epsilon=9), "z": TENTH})
    with pytest.raises(KeyConflict):
        ledger.spend_all("census", {"x": TENTH, "q1": Laplace(epsilon="0.2")})
    assert ledger.head == before
    again = ledger.spend_all("census", {"q1": Laplace(scale=10), "new": TENTH})
    assert [one.repeated for one in again] == [True, False]
    assert ledger.verify()


def test_an_owner_may_raise_and_nobody_may_lower(ledger: Ledger) -> None:
    ledger.spend("census", rho=1, key="all")
    with pytest.raises(ValueError, match="why must say why"):
        ledger.raise_budget("census", rho=2, why=" ")
    for less in (1, "0.5"):
        with pytest.raises(ValueError, match="must be larger than the present budget"):
            ledger.raise_budget("census", rho=less, why="a slip")
    with pytest.raises(TypeError, match="is given as rho"):
        ledger.raise_budget("census", epsilon=2, why="a slip")
    assert ledger.raise_budget("census", rho="1.5", why="board of 3 May").remaining == Fraction(1, 2)
    assert [(e.kind, e.why) for e in ledger.history("census")][-1] == ("raise", "board of 3 May")
    # to open it again on the terms of its opening is no change, and no way back
    assert ledger.open_account("census", unit="person", rho=1).budget == Fraction(3, 2)
    with pytest.raises(KeyConflict, match="on other terms"):
        ledger.open_account("census", unit="person", rho=3)
    with pytest.raises(KeyConflict, match="on other terms"):
        ledger.open_account("census", unit="household", rho=1)
    assert ledger.verify()


def test_only_what_is_sealed_leaves_and_it_stays_the_same(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="nothing was spent"):
        ledger.seal("census", "t", b"42")
    ledger.spend("census", TENTH, key="t")
    with pytest.raises(LedgerError, match="nothing is sealed"):
        ledger.deliver("census", "t")
    assert ledger.sealed("census", "t") is None
    noisy = bytes(range(256)) * 10
    assert ledger.seal("census", "t", noisy) == noisy
    assert ledger.seal("census", "t", b"a second draw") == noisy
    assert ledger.deliver("census", "t") == ledger.deliver("census", "t") == ledger.sealed("census", "t") == noisy
    assert [e.kind for e in ledger.history("census")] == ["open", "spend", "seal", "deliver"]
    assert ledger.verify()


def test_a_release_is_drawn_once(ledger: Ledger) -> None:
    draws = []

    def draw() -> bytes:
        draws.append(1)
        if len(draws) == 1:
            raise RuntimeError("killed after the debit")
        return str(DiscreteLaplace(scale=10).release(1000)).encode()

    with pytest.raises(RuntimeError):
        ledger.release("census", TENTH, draw, key="r")
    first = ledger.release("census", TENTH, draw, key="r")
    assert ledger.release("census", TENTH, draw, key="r") == first
    assert len(draws) == 2
    assert ledger.account("census").spent == TENTH.rho_fraction


def test_epsilon_and_delta_through_rho(ledger: Ledger) -> None:
    account = ledger.open_account("eps", unit="person", epsilon=1, delta="1e-6")
    assert (
        zcdp_to_epsilon(account.budget, "1e-6")
        <= 1
        < zcdp_to_epsilon(account.budget * (1 + Fraction(1, 10**12)), "1e-6")
    )
    raised = ledger.raise_budget("eps", epsilon=2, why="more")
    assert (raised.terms.epsilon, raised.terms.delta) == (2, Fraction(1, 10**6))
    assert zcdp_to_epsilon(raised.budget, "1e-6") <= 2
    assert ledger.verify()


def test_epsilon_and_delta_at_a_fixed_order(ledger: Ledger) -> None:
    """1000-randomized response at (10, 1e-6): 496 fit at the order chosen for it, 39 through rho."""
    response = RandomizedResponse(epsilon=1, k=1000)
    local = {"unit": "person", "neighbours": "local", "epsilon": 10, "delta": "1e-6"}
    by_order = ledger.open_account("order", workload=response, **local)
    by_rho = ledger.open_account("rho", **local)
    assert by_rho.budget // ledger.cost("rho", response) == 39
    assert by_order.budget // ledger.cost("order", response) >= 490
    assert ledger.open_account("forty", unit="person", epsilon=10, delta="1e-6", order=40).terms.order == 40
    ledger.spend_all("order", {f"{n}": response for n in range(20)})
    assert ledger.account("order").spent == 20 * ledger.cost("order", response)
    with pytest.raises(BudgetExceeded):
        ledger.spend("order", 477 * response, key="rest")
    ledger.spend("order", 476 * response, key="rest")
    with pytest.raises(ValueError, match="a bare rho does not tell it"):
        ledger.spend("order", rho="1e-9", key="x")
    with pytest.raises(ValueError, match="leaves nothing"):
        ledger.open_account("none", unit="person", epsilon=1, delta="1e-6", order="1.01")
    # an adversary who knew the mechanisms could not do better than their exact profile
    assert ledger.plan("order").epsilon_at(delta="1e-6") <= 10
    assert ledger.verify()


def test_spends_known_by_rho_alone_have_no_plan(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="nothing was spent"):
        ledger.plan("census")
    ledger.spend("census", TENTH, key="a")
    ledger.spend("census", rho="0.1", key="b")
    with pytest.raises(ValueError, match="known by rho alone"):
        ledger.plan("census")


def test_the_unit_of_the_account_is_the_unit_of_its_spends(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match=r"unit \('row'\) is not that of the account \('person'\)"):
        ledger.spend("census", TENTH, key="a", unit="row")
    with pytest.raises(ValueError, match="neighbours"):
        ledger.spend("census", TENTH, key="a", neighbours="replace")
    ledger.spend("census", TENTH, key="a", unit="person", neighbours="add-remove")


def test_unknown_accounts_and_wrong_arguments(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="there is no account 'cencus': did you mean 'census'"):
        ledger.spend("cencus", TENTH, key="a")
    with pytest.raises(TypeError, match="give a mechanism, or rho"):
        ledger.spend("census", key="a")
    with pytest.raises(TypeError, match=r"rho=0\.1"):
        ledger.spend("census", 0.1, key="a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="give a budget"):
        ledger.open_account("b", unit="person", epsilon=1)
    with pytest.raises(ValueError, match="not both"):
        ledger.open_account("b", unit="person", rho=1, epsilon=1, delta="1e-6")
    with pytest.raises(ValueError, match=r"neighbours \('twins'\) must be one of"):
        ledger.open_account("b", unit="person", neighbours="twins", rho=1)
    with pytest.raises(ValueError, match="at most 10"):
        ledger.open_account("b", unit="person", rho="1e10")
    with pytest.raises(ValueError, match="infinite"):
        ledger.spend("census", TENTH + _unbounded(), key="a")
    with pytest.raises(TypeError, match="must be bytes"):
        ledger.seal("census", "a", "text")  # type: ignore[arg-type]
    assert len(list(ledger.history())) == 2


def _unbounded() -> object:
    return LossPair(p=[1, 0], q=[0, 1])


def test_a_plan_too_long_to_write_down(ledger: Ledger) -> None:
    from zcdp import Plan

    many = Plan.sum_of(*(Laplace(epsilon=Fraction(1, 10**9 + n)) for n in range(200)))
    ledger.spend("census", many, key="many")  # more than 64 kinds: their rho are added
    with pytest.raises(ValueError, match="too long to be written down"):
        ledger.spend("census", Plan.sum_of(*(Laplace(epsilon=Fraction(1, 10**9 + n)) for n in range(16500))), key="x")
    assert ledger.verify()


def test_a_ledger_goes_to_another_place_and_back(ledger: Ledger, tmp_path: Path) -> None:
    ledger.release("census", TENTH, lambda: b"\0\xff noisy", key="r", why="\u202e")
    ledger.raise_budget("census", rho=3, why="more")
    text = io.StringIO()
    assert ledger.export(text) == len(list(ledger.history()))
    with Ledger(tmp_path / "copy.db") as copy:
        copy.load(io.StringIO(text.getvalue()))
        assert copy.head == ledger.head
        assert copy.account("census") == ledger.account("census")
        assert copy.sealed("census", "r") == b"\0\xff noisy"
        assert copy.verify(expect_head=ledger.head)
        assert copy.spend("census", TENTH, key="r").repeated
        with pytest.raises(LedgerError, match="is a ledger already"):
            copy.load(io.StringIO(text.getvalue()))


def test_into_postgres(server: Server, tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as small, Ledger(server.fresh()) as large:
        small.open_account("census", unit="person", rho=1)
        for n in range(50):
            small.release("census", rho_free(n), lambda n=n: b"%d" % n, key=f"{n}", why="tab\t, \\N and \n lines")
        text = io.StringIO()
        small.export(text)
        large.load(io.StringIO(text.getvalue()))
        assert large.verify(expect_head=small.head)
        large.spend("census", TENTH, key="more")
        assert large.verify()
        again = io.StringIO()
        large.export(again)
        assert again.getvalue().startswith(text.getvalue())


def rho_free(n: int) -> Laplace:
    return Laplace(epsilon=Fraction(1, 100 + n))


def lines(ledger: Ledger) -> list[str]:
    text = io.StringIO()
    ledger.export(text)
    return text.getvalue().splitlines()


def test_bad_imports_leave_nothing_behind(ledger: Ledger, tmp_path: Path) -> None:
    ledger.release("census", TENTH, lambda: b"x", key="r")
    good = lines(ledger)
    bad: Iterator[list[str]] = iter(
        [
            [],
            good[1:],
            good[:1] + good[2:],
            [good[0], good[2], good[1], *good[3:]],
            [line.replace('"person"', '"nobody"').replace('\\"person\\"', '\\"nobody\\"') for line in good],
            [line.replace("eA==", "eQ==") for line in good],
            [*good, "{}"],
            ["[" * 100000],
            [good[0].replace('"seq": 1', '"seq": true')],
            [good[0].replace('"why": ""', '"why": 7')],
            [good[0].replace('"why": ""', '"why": "", "sealed": "eA=="')],
        ]
    )
    for n, given in enumerate(bad):
        copy = Ledger(tmp_path / f"{n}.db")
        with pytest.raises(LedgerError):
            copy.load(given)
        assert not (tmp_path / f"{n}.db").exists(), n


def test_an_expected_head(ledger: Ledger, address: str) -> None:
    ledger.spend("census", TENTH, key="a")
    early = ledger.head
    ledger.spend("census", TENTH, key="b")
    for good in (early, ledger.head, f" {early}\n"):
        Ledger(address, expect_head=good).close()
        assert ledger.verify(expect_head=good)
    number, code = ledger.head.split(":")
    with pytest.raises(LedgerError, match="a restored backup"):
        Ledger(address, expect_head=f"{int(number) + 1}:{code}")
    with pytest.raises(LedgerError, match="went its own way"):
        Ledger(address, expect_head=f"{number}:{'0' * 64}")
    for bad in ("", "7", "x:y", f"{number}:{code[1:]}", f"-1:{code}", f"{'9' * 30}:{code}"):
        with pytest.raises(ValueError, match="must be a number, a colon"):
            Ledger(address, expect_head=bad)


def test_an_entry_reads_as_it_was_written(ledger: Ledger) -> None:
    ledger.spend("census", TENTH, key="a", why="w", who="me")
    entry = list(ledger.history())[-1]
    assert isinstance(entry, Entry)
    assert (entry.seq, entry.kind, entry.account, entry.key) == (3, "spend", "census", "a")
    assert entry.what == '[{"count": 1, "mechanism": "Laplace(epsilon=\'0.1\')"}]'
    assert Fraction(entry.amount) == TENTH.rho_fraction
    assert entry.at.endswith("Z")
    assert entry.login
    assert entry.version


def test_accounts_are_listed_by_name_however_they_were_opened(ledger: Ledger) -> None:
    """By code points, on every kind of store: capitals first, and after spends, which rewrite rows."""
    for name in ("zebra", "apple", "Zoo", "mango", "_", "10", "9", "\u00e9clair"):
        ledger.open_account(name, unit="person", rho=1)
    ledger.spend("apple", rho="1/4", key="first")
    ledger.spend("10", rho="1/8", key="second")
    found = ledger.accounts()
    names = [account.name for account in found]
    assert names == ["10", "9", "Zoo", "_", "apple", "census", "mango", "zebra", "\u00e9clair"]
    assert {account.name: account.spent for account in found if account.spent} == {
        "apple": Fraction(1, 4),
        "10": Fraction(1, 8),
    }


# A key belongs to one account and one plan, in SQLite and in PostgreSQL.


COST = Laplace(epsilon="0.1")


def test_one_key_in_two_accounts(ledger: Ledger) -> None:
    for name in ("one", "other"):
        ledger.open_account(name, unit="person", rho=1)
        ledger.spend(name, COST, key="q1")
    assert ledger.seal("one", "q1", b"of one") == b"of one"
    assert ledger.sealed("other", "q1") is None
    with pytest.raises(LedgerError, match="nothing is sealed"):
        ledger.deliver("other", "q1")
    drawn: list[bytes] = []

    def draw() -> bytes:
        drawn.append(b"of the other")
        return drawn[-1]

    assert ledger.release("other", COST, draw, key="q1") == b"of the other"
    assert drawn == [b"of the other"]
    assert ledger.deliver("one", "q1") == b"of one"
    assert ledger.verify()


def test_another_plan_of_the_same_cost_is_another_spend(ledger: Ledger) -> None:
    noise = Gaussian(rho="1/100")
    made = ledger.spend("census", noise, key="a")
    assert made.cost == noise.rho_fraction
    with pytest.raises(KeyConflict, match="'a' was used for something else"):
        ledger.spend("census", rho="1/100", key="a")
    assert ledger.spend("census", noise, key="a").repeated
