"""Accounts as values: what a notebook shows is on the safe side, and nothing but an account is read back as one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from math import exp, inf
from typing import Any

import pytest

from zcdp import Account, account


@pytest.fixture(scope="module")
def made() -> Account:
    return account("4 * Gaussian(sigma=3) + 2 * Laplace(epsilon=1)", delta=1e-6)


def test_a_notebook_shows_each_query_with_all_its_uses(made: Account) -> None:
    """rho = 4/18 and 2/e, rounded up."""
    page = made._repr_html_()
    assert "<td>Gaussian(sigma=3)</td><td>4</td><td>0.222223</td><td>23.2%</td>" in page
    assert "<td>Laplace(epsilon=1)</td><td>2</td><td>0.735759</td><td>76.8%</td>" in page
    [whole] = re.findall(r"<td></td><td>([\d.]+)</td><td>100%</td>", page)
    assert 0 <= float(whole) - (2 / 9 + 2 / exp(1)) < 1e-6


def test_a_notebook_shows_the_upper_end_where_the_ends_differ(made: Account) -> None:
    high = made.total.epsilon
    apart = replace(made, total=replace(made.total, epsilon_bounds=(high / 2, high)))
    [shown] = re.findall(r"\u03b5 = ([\d.]+) at \u03b4 = 10\u207b\u2076", apart._repr_html_())
    assert Fraction(high) <= Fraction(shown) <= Fraction(high) * (1 + Fraction(1, 10**5))


def test_an_account_reads_back_from_its_json(made: Account) -> None:
    text = json.dumps(made.to_dict(), allow_nan=False)
    back = Account.from_dict(json.loads(text))
    assert back == made
    assert back.total.pure_epsilon == inf
    assert (back.queries[0].pure_epsilon_one, back.queries[1].pure_epsilon_one) == (inf, 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("total", "rho"), float("nan")),
        (("total", "epsilon"), -inf),
        (("total", "rho"), "0.1"),
        (("total", "rho"), True),
        (("total", "rho_bounds"), [0.1]),
        (("total", "rho_bounds"), [0.1, 0.2, 0.3]),
        (("total", "full"), 1),
        (("queries", 0, "count"), True),
        (("queries", 0, "count"), 4.0),
        (("queries", 0, "count"), "4"),
        (("queries", 0, "is_tight"), "yes"),
        (("queries", 0, "rho"), None),
        (("queries",), {"0": 1}),
        (("total", "routes"), [1.0]),
        (("delta",), None),
        (("source",), 3),
    ],
)
def test_what_no_account_says_is_refused(made: Account, path: tuple[Any, ...], value: object) -> None:
    facts: Any = json.loads(json.dumps(made.to_dict()))
    *above, last = path
    inside = facts
    for step in above:
        inside = inside[step]
    inside[last] = value
    with pytest.raises(ValueError, match=r"is not what an account has there|must be a table of fields"):
        Account.from_dict(facts)
    del inside[last]
    if isinstance(last, str):
        with pytest.raises(ValueError, match=f"has no '{last}'"):
            Account.from_dict(facts)
