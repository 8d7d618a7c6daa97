"""Hints in errors: the old text of each beside the new one, and what covers words of the field."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import zcdp
from zcdp import RAPPOR, Channel, Gaussian, Laplace, Plan, account, audit, calibrate
from zcdp.cli import main
from zcdp.mechanisms import MECHANISMS, WRAPPERS
from zcdp.text.suggestions import WORDS, covered, thing

CHANGED: dict[str, tuple[Callable[[], Any], str, str]] = {
    "a value without a name": (
        lambda: Laplace(1),  # type: ignore[misc]
        "Laplace.__init__() takes 1 positional argument but 2 were given",
        "Laplace takes its parameters by name, as in Laplace(epsilon=1): epsilon, scale, sensitivity",
    ),
    "a value without a name, and a private class": (
        lambda: Gaussian(1),  # type: ignore[misc]
        "_Gaussian.__init__() takes 1 positional argument but 2 were given",
        "Gaussian takes its parameters by name, as in Gaussian(sigma=1): sigma, rho, sensitivity",
    ),
    "a short name": (
        lambda: Laplace(eps=1),  # type: ignore[call-arg]
        "Laplace.__init__() got an unexpected keyword argument 'eps'",
        "Laplace has no parameter 'eps': did you mean 'epsilon'?",
    ),
    "a name in another spelling": (
        lambda: zcdp.L0Linf(2, 1),  # type: ignore[attr-defined]
        "module 'zcdp' has no attribute 'L0Linf'",
        "zcdp has no 'L0Linf': did you mean 'L0LInf'?",
    ),
    "the same in a plan": (
        lambda: Plan.parse("Laplace(epsilon=1, sensitivity=L0Linf(2, 1))"),
        "expected a number, or an exact one in quotes such as '1/3', found 'L0Linf', at position 31",
        "there is no sensitivity 'L0Linf': did you mean 'L0LInf'? at position 31",
    ),
    "a function that builds no mechanism": (
        lambda: calibrate(lambda _: 3, rho=1),  # type: ignore[arg-type, return-value]
        "'int' object has no attribute 'rho'",
        "build must return a mechanism or a plan, as lambda e: Laplace(epsilon=e), not 3",
    ),
    "a class to be calibrated": (
        lambda: calibrate(Laplace, rho=1),  # type: ignore[arg-type]
        "Laplace.__init__() takes 1 positional argument but 2 were given",
        "build (the class Laplace) must be a function of the free parameter, as lambda e: Laplace(epsilon=e)",
    ),
    "a class to be audited": (
        lambda: audit(Channel),  # type: ignore[arg-type]
        "type object 'Channel' has no attribute 'neighbouring_outputs'",
        "mechanism (Channel) is a class: give one with its parameters",
    ),
    "a person's bits": (
        lambda: RAPPOR(epsilon=1).release([[1, 0, 1, 0]], d=4),
        "(no error: four reports instead of one)",
        "values must be whole numbers from 0 to 3, one a person, and not rows of 4 bits: a person who has the bits "
        "0, 0, 1, 0 has the value 2",
    ),
    "a parameter left out of a method": (
        lambda: RAPPOR(epsilon=1).release([1]),  # type: ignore[call-arg]
        "ReportsBits.release() missing 1 required keyword-only argument: 'd'",
        "RAPPOR.release needs d: RAPPOR.release(values, d=...)",
    ),
    "a fraction without quotes": (
        lambda: Plan.parse("Laplace(epsilon=1/3)"),
        "unexpected '/' at position 17",
        "a fraction needs quotes: '1/3' at position 16",
    ),
    "a delta that no float holds": (
        lambda: account("Laplace(epsilon=1)", delta="1e-400"),
        "delta (1e-400) must be at least 5e-324 in an account, which states floats",
        "delta ('1e-400') must be at least 1e-300",
    ),
    "a delta of zero": (
        lambda: account("Laplace(epsilon=1)", delta=0),
        "delta (0) must lie strictly between 0 and 1",
        "delta (0) must be above 0 in an account: the guarantee at delta = 0 is its pure_epsilon",
    ),
    "a word of the field": (
        lambda: Plan.parse("SVT(epsilon=1)"),
        "there is no mechanism 'SVT' (there are PureDP, PureGroup, Laplace, DiscreteLaplace, Logistic, Gaussian,",
        "there is no mechanism 'SVT': it is SparseVector(epsilon_threshold=..., epsilon_queries=...) at position 0",
    ),
    "a word of the field, from Python": (
        lambda: zcdp.DPSGD,  # type: ignore[attr-defined]
        "module 'zcdp' has no attribute 'DPSGD'",
        "zcdp has no 'DPSGD': it is steps * Subsampled(Gaussian(sigma=...), rate=...), and zcdp sgd on the "
        "command line",
    ),
    "a query's parameter": (
        lambda: zcdp.Query(Laplace, wieght=2),
        "(no error: weight stayed 1)",
        "Query: there is no parameter 'wieght': did you mean 'weight'?",
    ),
}


@pytest.mark.parametrize("case", CHANGED)
def test_the_new_text(case: str) -> None:
    call, old, new = CHANGED[case]
    with pytest.raises((TypeError, ValueError, AttributeError)) as caught:
        call()
    said = str(caught.value).split("\n")[0]
    assert said == new
    assert said != old


def test_the_command_line_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    for plan, delta, text in (
        ("Laplace(epsilon=1)", "1e-400", "delta ('1e-400') must be at least 1e-300"),
        ("Laplace(epsilon=1/3)", "1e-6", "a fraction needs quotes: '1/3' (character 17)"),
        (
            "OUE(epsilon=1)",
            "1e-6",
            "there is no mechanism 'OUE': it is OptimizedUnaryEncoding(epsilon=...) (character 1)",
        ),
    ):
        assert main(["account", plan, "--delta", delta]) == 2
        assert capsys.readouterr().err == f"zcdp: {text}\n"


def test_words_of_the_field_lead_to_what_is_there() -> None:
    known = {one.__name__ for one in (*MECHANISMS, *WRAPPERS)} | {"L0LInf"}
    for word, text in WORDS.items():
        assert word not in {name.lower() for name in known}
        called = set(re.findall(r"\b([A-Z]\w+)\(", text))
        assert called <= known, word
        assert called or "not covered" in text or "RandomizedResponse" in text
    for word in ("SVT", "DPSGD", "DP_SGD", "Tree", "Binomial", "Poisson", "Exponential", "k-RR", "GeometricMechanism"):
        assert covered(word), word


def test_a_long_text_is_quoted_by_its_beginning() -> None:
    assert thing("a" * 200) == "'" + "a" * 39 + "..."
    assert (thing("a" * 50), thing([1] * 100), thing(10**5000)) == (
        "'" + "a" * 50 + "'",
        "a list",
        "a number of thousands of digits",
    )
