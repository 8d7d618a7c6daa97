"""The page of a ledger rounds what is spent and promised up, what remains down, and mixes no two numbers up."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from zcdp.report.ledger_report import account_section, evidence, render_ledger


def exact(value: float) -> dict[str, Any]:
    return {"exact": repr(value), "value": value}


def spend(n: int) -> dict[str, Any]:
    return {
        "seq": n, "at": f"2026-03-{n:02}T10:00:00.000000Z", "key": f"key {n}", "mechanism": f"Laplace({n})",
        "why": f"why {n}", "who": f"who {n}" if n % 2 else "", "login": f"login {n}", "cost": exact(0.001000000123 * n),
    }  # fmt: skip


def account(**changes: Any) -> dict[str, Any]:
    """Numbers of which the sixth digit tells how they were rounded."""
    return {
        "name": "census <1>", "unit": "person", "neighbours": "add-remove", "measure": "rho", "order": None,
        "budget": exact(2.00000123), "spent": exact(0.50000123), "remaining": exact(1.50000987), "share": 0.25012,
        "spends": 1234, "sealed": 77, "delivered": 56, "raises": [], "months": [
            {"month": "2026-02", "spends": 1000, "cost": exact(0.40000123)},
            {"month": "2026-04", "spends": 234, "cost": exact(0.10000987)},
        ],
        "budgets": [["2026-02-01T00:00:00.000000Z", 2.00000123]], "points": [["2026-02-03T00:00:00.000000Z", 0.5]],
        "people": [
            {"login": "ana", "who": "job", "spends": 1200, "cost": exact(0.30000123)},
            {"others": 12, "spends": 34, "cost": exact(0.20000987)},
        ],
        "purposes": [{"why": "tables & more", "spends": 1234, "cost": exact(0.50000123)}],
        "largest": [spend(9), spend(7)], "recent": [spend(12), spend(11)],
        "guarantee": {"rho": 2.00000123, "epsilon": 12.3400012, "delta": 1e-7},
        "information": {"epsilon": 3.21000012, "delta": 1e-6, "route": "profile"},
    } | changes  # fmt: skip


def plain(html: str) -> str:
    """What a person reads."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "|", html)))


def section(**changes: Any) -> str:
    return account_section(account(**changes), 3, "2026-05-01T00:00:00.000000Z")


def test_the_cards_say_budget_spent_and_remaining() -> None:
    told = re.findall(r"<dt>(\w+)</dt><dd>(.*?)<small>(.*?)</small>", section())
    assert [(name, plain(text).strip("|"), note) for name, text, note in told] == [
        ("Budget", "2.00001", "\u03c1 (zCDP)"),
        ("Spent", "0.500002", "25.1% of the budget"),
        ("Remains", "1.50000", "exact to the last digit"),
        ("Spends", "1,234", "56 delivered"),
    ]
    values = re.findall(r'<dd><data value="([^"]*)">', section())
    assert values == ["2.00000123", "0.50000123", "1.50000987"]
    assert 'class="verdict good">1.50000 of 2.00001 remain. 25.1% of the budget is spent.' in section()
    assert '<div class="meter"><span style="width:25.0%">' in section()
    assert '<article id="account-3"><h2>census &lt;1&gt;</h2>' in section()


@pytest.mark.parametrize("rest", [0.0, -0.25])
def test_a_budget_that_is_used_up_says_so(rest: float) -> None:
    text = section(remaining=exact(rest), share=1.125)
    assert 'class="verdict bad">The budget is used up. 112.5% of the budget is spent.' in text
    assert "width:100.0%" in text
    assert 'class="verdict good"' in section(remaining=exact(1e-9), share=0.9999)


def test_the_currency_is_named() -> None:
    text = section(measure="renyi", order=exact(12.5))
    assert "<small>R\u00e9nyi divergence of order 12.5</small>" in text
    assert "\u03c1 (zCDP)</small>" not in text


@pytest.mark.parametrize(
    ("neighbours", "said"),
    [("add-remove", "added or removed"), ("replace", "replaced by another"), ("local", "given any other answer")],
)
def test_the_promise_is_rounded_up_and_says_for_which_neighbours(neighbours: str, said: str) -> None:
    text = plain(section(neighbours=neighbours, unit="device"))
    assert (
        "together satisfy \u03c1 = 2.00001 (zCDP), and so (\u03b5, \u03b4)-differential privacy with "
        f"\u03b5 = 12.3401 at \u03b4 = 10\u207b\u2077, when one device is {said}."
    ) in text
    assert "fixed in advance, \u03b5 would be 3.21001 at \u03b4 = 10\u207b\u2076." in text
    assert "was raised" not in text


def test_what_does_not_hold_is_not_said() -> None:
    text = plain(section(guarantee={"rho": None, "epsilon": 4.0, "delta": 1e-8}, information=None))
    assert "together satisfy (\u03b5, \u03b4)-differential privacy with \u03b5 = 4 at \u03b4 = 10\u207b\u2078" in text
    assert "fixed in advance" not in text


def test_a_raise_is_told_with_its_reason() -> None:
    one = {"at": "2026-03-09T00:00:00Z", "to": exact(2.00000123), "why": "the <board>", "who": "DPO", "login": "ana"}
    text = plain(section(raises=[one, one | {"who": "", "login": "ben"}]))
    assert "2026-03-09|: to 2.00001, by ana (DPO): the <board>" in text
    assert "2026-03-09|: to 2.00001, by ben: the <board>" in text
    assert "only if the raise was not decided by looking at results" in text


def test_shares_of_people_and_purposes_are_of_what_was_spent() -> None:
    rows = re.findall(r'<tr><th scope="row">((?:(?!</tr>).)*?%)', section(), re.DOTALL)
    read = [plain(row).replace("||", "|").split("|") for row in rows]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in read]
    assert cells == [
        ["ana", "job", "1,200", "0.300002", "60.1%"],
        ["12 others", "34", "0.200010", "40.1%"],
        ["tables & more", "1,234", "0.500002", "100.0%"],
    ]
    assert "width:60.0%" in section()
    assert "By whom" not in section(spends=0)


def test_periods_stand_in_a_table() -> None:
    text = section()
    body = text[text.index('<table class="narrow">') :]
    rows = re.findall(r'<th scope="row">([^<]*)</th><td class="number">([^<]*)</td><td class="number">([^<]*)<', body)
    assert rows[:3] == [("2026-02", "1,000", "0.400002"), ("2026-03", "0", "0"), ("2026-04", "234", "0.100010")]
    assert "Nothing was spent yet" in section(months=[])


def test_the_costliest_and_the_latest_are_listed_and_only_once_where_they_are_all() -> None:
    text = section()
    first, second = text.index("The costliest spends"), text.index("The latest spends")
    assert re.findall(r"<br><code>(.*?)</code>", text[first:second]) == ["Laplace(9)", "Laplace(7)"]
    assert re.findall(r"<br><code>(.*?)</code>", text[second:]) == ["Laplace(12)", "Laplace(11)"]
    row = plain(text[second:]).split("key 11")[1]
    assert [cell.strip() for cell in row.split("|") if cell.strip()][:5] == [
        "Laplace(11)", "why 11", "2026-03-11", "login 11 (who 11)", "0.0110001",
    ]  # fmt: skip
    assert "login 12|" in plain(text)
    assert "All spends" not in text
    for spends, alone in ((2, True), (3, False)):
        assert ("All spends" in section(spends=spends)) == alone
        assert ("The costliest spends" in section(spends=spends)) != alone


def facts(**changes: Any) -> dict[str, Any]:
    accounts = [account(), account(name="other", share=1.5, remaining=exact(-0.5), neighbours="local")]
    return {
        "head": "17:" + "ab" * 32, "entries": 12345, "passed": True, "findings": [], "made": "2026-05-01T12:34:56Z",
        "source": "/data/my ledger's.db", "zcdp": "9.8.7", "accounts": accounts,
    } | changes  # fmt: skip


def test_several_accounts_are_compared_first() -> None:
    page = render_ledger(facts())
    table = page[page.index("<tbody>") : page.index("</tbody>")]
    rows = [[cell for cell in plain(row).split("|") if cell.strip()] for row in table.split("</tr>")[:2]]
    assert rows == [
        ["census <1>", "2.00001", "0.500002", "25.1%", "1.50000"],
        ["other", "2.00001", "0.500002", "150.0%", "-0.5"],
    ]
    assert re.findall(r'href="#account-(\d)"', table) == ["0", "1"]
    assert re.findall(r'class="share" style="width:([\d.]+)%', table) == ["25.0", "100.0"]
    assert re.findall(r'<article id="account-(\d)"', page) == ["0", "1"]
    assert "tampered with" not in page
    alone = render_ledger(facts(accounts=[account()]))
    assert 'href="#account-0"' not in alone
    assert "There are no accounts yet" not in alone
    assert "There are no accounts yet" in render_ledger(facts(accounts=[]))


@pytest.mark.parametrize("accounts", [0, 1, 2])
def test_a_record_that_does_not_hold_says_so_first_and_why(accounts: int) -> None:
    page = render_ledger(
        facts(passed=False, findings=["entry 3: <was> changed"], accounts=facts()["accounts"][:accounts])
    )
    assert page.index("This record was tampered with or is damaged") < page.index('id="evidence"')
    assert "<li>entry 3: &lt;was&gt; changed</li>" in page
    assert "entries are as they were written" not in page


def test_the_evidence_names_the_head_and_the_command_to_check_it() -> None:
    text = unescape(evidence(facts()))
    assert "All 12,345 entries are as they were written." in text
    assert f"verify '/data/my ledger'\\''s.db' --expect-head 17:{'ab' * 32}<" in text
    assert "Made 2026-05-01 12:34 UTC by zcdp 9.8.7, from /data/my ledger's.db." in text
    for bare in ("budget.db", "/var/lib/a_b-c.db", "postgresql://host:5432/x"):
        assert f"zcdp ledger verify {bare} --expect-head" in evidence(facts(source=bare))
    for quoted in ("a b", "a;b", "$(x)", "\u00e9", ""):
        assert f"zcdp ledger verify '{quoted}' --expect-head" in unescape(evidence(facts(source=quoted)))


@pytest.mark.parametrize("field", ["head", "entries", "passed", "findings", "made", "source", "zcdp", "accounts"])
def test_a_statement_that_lacks_a_part_is_refused(field: str) -> None:
    given = facts()
    del given[field]
    with pytest.raises(ValueError, match=f"the statement has no '{field}'"):
        render_ledger(given)
