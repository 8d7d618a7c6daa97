"""Every text that a page publishes is text there: each field by itself holds markup, and none becomes markup."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report.ledger_sample import year
from report.sample import account
from report.sample import page as account_page
from report.test_estimates_report import facts as estimates

from zcdp import Account
from zcdp.errors import ZcdpError
from zcdp.report.estimates_report import render_estimates
from zcdp.report.ledger_report import render_ledger
from zcdp.report.release_report import Paid, render_release
from zcdp.report.table_charts import Axes, Shown

EVIL = "a\" onzz=\"1' onzz='1 onzz=1><zz onzz=1></style></title></pre>&copy;zz <!-- \x1b \u202e"
Place = tuple[Any, ...]


class Marks(HTMLParser):
    """Tags, attributes and comments that the text above would make."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag] * ("zz" in tag) + [name for name, _ in attrs if "zz" in name]

    def handle_comment(self, data: str) -> None:
        self.found.append(data)


def leaves(facts: Any, at: Place = ()) -> Iterator[Place]:
    """The places of all texts."""
    if isinstance(facts, str):
        yield at
    elif isinstance(facts, dict):
        for name, value in facts.items():
            yield from leaves(value, (*at, name))
    elif isinstance(facts, list | tuple):
        for n, value in enumerate(facts):
            yield from leaves(value, (*at, n))


def replaced(facts: Any, at: Place, text: str) -> Any:
    """A copy in which one text is another."""
    if not at:
        return text
    made = list(facts) if isinstance(facts, tuple) else copy.copy(facts)
    made[at[0]] = replaced(made[at[0]], at[1:], text)
    return made


def check(facts: Any, render: Callable[[Any], str]) -> int:
    """How many texts are published; what must be one of a few words, or a number, may be refused."""
    shown = 0
    for at in leaves(facts):
        try:
            page = render(replaced(facts, at, EVIL))
        except (ZcdpError, KeyError, ValueError, TypeError):
            continue
        assert Marks(page).found == [], at
        assert not [one for one in ("<zz", "&copy;zz", "\x1b", "\u202e") if one in page], at
        shown += "&lt;zz" in page or "zz onzz" in page
    return shown


def test_the_page_of_an_account() -> None:
    given = account()
    given["queries"], given["curve"] = given["queries"][:2], given["curve"][:3]
    assert check(given, account_page) >= 15
    assert check(given, lambda one: Account.from_dict(one)._repr_html_()) >= 3


def test_the_page_of_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = year(tmp_path / "a.db", monkeypatch)
    given["findings"], given["passed"] = ["a finding"], False
    for one in given["accounts"]:
        for name in ("people", "purposes", "largest", "recent", "raises", "months"):
            one[name] = one[name][:1]
        one["points"], one["budgets"] = one["points"][:3], one["budgets"][:2]
    assert check(given, render_ledger) >= 25


def test_the_page_of_a_release() -> None:
    made = Account.from_dict({**account(), "author": None})
    table = {"name": "t", "about": "about", "measure": "count", "rules": ["a rule"], "file": "t.csv"}
    table["columns"] = {"key": ["a", "b"], "sex": ["F", "M"], "value": [1, 2.5], "flag": [True, False]}
    facts = {"unit": "person_id", "protects": "person", "neighbours": "replace", "vintage": "2026"}
    paid = {"who": "anna", "account": "year", "key": "q1", "head": "3:ab", "currency": "rho", "period": "2026"}
    given = {"tables": [table], "facts": facts, "paid": paid}

    def page(one: Any) -> str:
        keys = (Axes(("key",)), Axes(("sex",)))
        tables = [Shown(keys=keys, **{**each, "columns": each["columns"]}) for each in one["tables"]]
        return render_release(made, tables, one["facts"], Paid(**one["paid"]))

    assert check(given, page) == 16
    many = [str(n) for n in range(13)]
    named = Shown("t", "", "count", {EVIL: many, "value": [1] * 13}, (Axes((EVIL,)),), (), EVIL)
    assert Marks(render_release(made, [named], facts, Paid())).found == []
    assert "&lt;zz" in render_release(made, [named], facts, Paid())


def test_the_page_of_estimates() -> None:
    given = estimates()
    given["estimates"] = [{**row, "value": f"value {n}"} for n, row in enumerate(given["estimates"][:4])]
    given["over_rounds"] = {name: list(points) for name, points in given["over_rounds"].items()}
    assert check(given, render_estimates) >= 10
    named = {**given, "over_rounds": {EVIL: given["over_rounds"]["RandomizedResponse"], **given["over_rounds"]}}
    assert Marks(render_estimates(named)).found == []
