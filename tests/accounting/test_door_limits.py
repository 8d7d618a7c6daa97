"""Limits at the door: of numbers, expressions, files, TOML and JSON, each with a sentence that names it."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from zcdp import DiscreteLaplace, Gaussian, Laplace, Log, Plan, PlanError, PureDP, Query, account, allocate, calibrate
from zcdp.numeric.exact import rational, real
from zcdp.plans.plan_file import LARGEST_PLAN, PlanFileError, check_structure, read_plan
from zcdp.plans.plan_text import parse_open

GOOD = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'
LONG = "1" * 400_000


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        ("1e99999999", "exponent of at most 4000"),
        ("1e-99999999", "exponent of at most 4000"),
        ("1e99999999999999999999", "exponent of at most 4000"),
        (Decimal("1e99999999"), "exponent of at most 4000"),
        (LONG, "at most 4300 digits"),
        (f"0.{LONG}", "at most 4300 digits"),
        (f"1/{LONG}", "at most 4300 digits"),
        (f"1/{LONG[:5000]}", "at most 4300 digits above and below the line"),
        (f"0.{'1' * 5000}", "at most 4300 digits"),
        (Decimal(f"0.{LONG}"), "at most 4300 digits"),
        (10**4300, "at most 4300 digits"),
        (Fraction(1, 10**4300), "at most 4300 digits"),
        (f"1.{'1' * 4000}e-4000", "at most 4300 digits"),
        ("1" * 400_000 + "x", "at most 4300 digits"),
        ("\u0663", "not a number"),
        ("\uff11", "not a number"),
        ("1/\u0663", "not a number"),
        ("1_000", "not a number"),
        ("\x1f1", "not a number"),
        ("\u00a01", "not a number"),
        ("1/0", "not a number"),
        ("infinity", "must be finite"),
        ("-nan", "must be finite"),
        (float("inf"), "must be finite"),
        (np.float64("nan"), "must be finite"),
    ],
    ids=lambda value: str(value)[:20] if not isinstance(value, int | Fraction) else "big",
)
def test_numbers(value: object, limit: str) -> None:
    for read in (rational, real):
        with pytest.raises(ValueError, match=limit) as caught:
            read(value, "epsilon")  # type: ignore[arg-type]
        assert str(caught.value).startswith("epsilon (")
        assert len(str(caught.value)) < 300


def test_numbers_within_the_limits_read_back() -> None:
    for number in (
        Fraction(10**4299 + 1, 3),
        Fraction(3, 10**4299 + 1),
        Fraction("1e-4000"),
        Fraction(5e-324),
        10**4000,
    ):
        m = PureDP(epsilon=number)
        assert Plan.parse(repr(m)) == 1 * m
        assert Plan.from_json((1 * m).to_json()) == 1 * m
    assert rational(" 1/3\n", "x") == Fraction(1, 3)
    assert rational("+.5e1", "x") == 5
    assert rational(" -7 / 2 ", "x") == Fraction(-7, 2)


def test_logarithms_keep_to_the_limit() -> None:
    near = Log(Fraction(10**2000 + 1, 10**2000))
    with pytest.raises(ValueError, match="more than 4300 digits"):
        Laplace(epsilon=near).group(3)
    assert repr(Laplace(epsilon=near).group(2))
    with pytest.raises(ValueError, match="more than 4300 digits"):
        Laplace(epsilon="log(3)").group(10**5)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("Laplace(epsilon=Fraction('1e99999999'))", "exponent of at most 4000"),
        ("Laplace(epsilon=Fraction(1e999))", "must be finite"),
        ("Laplace(epsilon=Fraction(1, 0))", "denominator"),
        (f"Laplace(epsilon='0.{LONG}')", "at most 4300 digits"),
        (f"Laplace(epsilon={LONG})", "more than 4300 characters"),
        (f"Laplace(epsilon=0x{LONG})", "more than 4300 characters"),
        ("Laplace(epsilon=\u0663)", "unexpected"),
        ("Laplace(epsilon='\u0663')", "not a number"),
        ("\u00a0Laplace(epsilon=1)", "unexpected"),
        ("\u0663 * Laplace(epsilon=1)", "unexpected"),
        (" " * 500_001, "at most 500000 characters"),
        ("(" * 51, "more than 50 brackets"),
        ("10000000000000 * Laplace(epsilon=1)", "at most 10\\^12"),
        ("1000000 * (1000001 * Laplace(epsilon=1))", "at most 10\\^12"),
        ("1000000000000 * Laplace(epsilon=1) + Laplace(epsilon=1)", "at most 10\\^12"),
    ],
    ids=range(15),
)
def test_expressions(text: str, limit: str) -> None:
    with pytest.raises(ValueError, match=limit):
        Plan.parse(text).parts  # noqa: B018
    with pytest.raises(ValueError, match=limit):
        account(text)


def test_open_expressions_have_the_same_limit() -> None:
    with pytest.raises(PlanError, match="at most 500000"):
        parse_open("Laplace(epsilon=?" + " " * 500_000)


def test_hexadecimal_is_what_fractions_of_many_digits_are_written_in() -> None:
    assert Plan.parse("Laplace(epsilon=Fraction(0x10, 0X3))") == 1 * Laplace(epsilon="16/3")


def test_counts_that_a_plan_accepts_are_those_that_its_json_has() -> None:
    most = 10**6 * (10**6 * Laplace(epsilon=1))
    assert Plan.from_json(most.to_json()) == most
    with pytest.raises(ValueError, match="at most 10\\^12"):
        Laplace(epsilon=1) * 10**12 * 1000
    with pytest.raises(ValueError, match="at most 10\\^12"):
        (most + Laplace(epsilon=1)).to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"count": 1, "count": 2, "mechanism": "Laplace(epsilon=1)"}]', "each key once, and has 'count' twice"),
        ('[{"count": 1, "mechanism": "RAPPOR(epsilon=9)", "mechanism": "Laplace(epsilon=1)"}]', "'mechanism' twice"),
        ('[{"count": ' + "9" * 5000 + ', "mechanism": "Laplace(epsilon=1)"}]', "at most 4300 digits, not 5000"),
        ('[{"count": NaN, "mechanism": "Laplace(epsilon=1)"}]', "finite"),
        ('[{"count": 1e999, "mechanism": "Laplace(epsilon=1)"}]', "finite"),
        ("[1", "must be valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        (" " * 5_000_001, "at most 5000000 characters"),
    ],
    ids=range(8),
)
def test_json(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.from_json(text)


def test_json_is_text() -> None:
    with pytest.raises(TypeError, match="must be text, not b"):
        Plan.from_json(b"[]")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" + ".a" * 2_000 + " = 1\n" + GOOD, "line 1: a key has at most 8 parts"),
        ("\n[" + " . ".join(["'a'"] * 9) + "]\n" + GOOD, "line 2: a key has at most 8 parts"),
        ('t = """\n\\""""\n' + "a" + ".a" * 9 + " = 1\n", "line 3: a key has at most 8 parts"),
        ("t = '''\n''''\nx = {" + "a" + ".a" * 9 + " = 1}\n", "line 3: a key has at most 8 parts"),
        ("a = " + "[" * 100_000, "line 1: more than 20 brackets"),
        ("a = " + "{b = " * 21, "line 1: more than 20 brackets"),
        ("count = " + "9" * 5000, "not valid TOML"),
        ("delta = 0x" + "f" * 5000 + "\n" + GOOD, "delta"),
        (GOOD.replace('"a"', "0x" + "f" * 5000), "must be text in quotes, not a int"),
        ("#" * (LARGEST_PLAN + 1), "at most 10 MB"),
        (GOOD + 'count = "1e99999"\n', "exponent"),
        (GOOD + f"count = '{LONG}'\n", "at most 4300 digits"),
        ('[budget]\nrho = "1e-4000"\n' + GOOD, "rho .* at least 5e-324"),
        ('delta = "1e-4000"\n' + GOOD, "delta .* at least 5e-324"),
    ],
    ids=range(14),
)
def test_plan_files(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        account(read_plan("x.toml", text), curve=False)
    assert len(str(caught.value)) < 300


def test_structure_is_seen_through_strings_and_comments() -> None:
    harmless = "a.a.a.a.a.a.a.a.a.a [[[[[[[[[[[[[[[[[[[[[[[["
    for text in (
        f'title = "{harmless}"',
        f"title = '{harmless}'",
        f'title = """\n{harmless} "" \\""" \n{harmless}"""""',
        f"title = '''\n{harmless} '' \n'''''",
        f"# {harmless} ' \"",
        f'title = "\\" {harmless}"  # {harmless}',
        "weights = [" + "0.1, " * 100 + "]",
    ):
        check_structure(f"{text}\n{GOOD}" * 3)


def test_long_strings_take_no_time() -> None:
    """Each of these was a search from every quotation mark to the end, if the marks are read without care."""
    for text in ('"' + '\\"' * 2_000_000, '"""' + '\\"""' * 1_000_000, "'''" + "''x" * 1_000_000, '"' * 3_000_001):
        check_structure(text)


def test_a_count_in_quotes_is_a_number() -> None:
    assert read_plan("x.toml", GOOD + 'count = "1e3"\n').entries[0].count == 1000
    with pytest.raises(PlanFileError, match=r"x\.toml:4: count \('1e-3'\) must be a whole number"):
        read_plan("x.toml", GOOD + 'count = "1e-3"\n')


def test_only_a_path_opens_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("plan.toml", "plan"):
        Path(name).write_text(GOOD)
        assert account(Path(name), curve=False).to_dict()["queries"][0]["name"] == "a"
        with pytest.raises(PlanError):
            account(name)
        with pytest.raises(TypeError, match="as a Path"):
            read_plan(name)
    with pytest.raises(PlanError, match=r"only a Path opens a plan file: Path\("):
        account("plan.toml")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", Path("/dev/zero"), Path(os.devnull)):
        with pytest.raises(PlanFileError, match="not a regular file"):
            read_plan(path)
    with pytest.raises(PlanFileError, match="Is a directory"):
        read_plan(tmp_path)
    with pytest.raises(PlanFileError, match="null character"):
        read_plan(Path("a\0b"))
    (tmp_path / "large").write_bytes(b"#" * (LARGEST_PLAN + 1))
    with pytest.raises(PlanFileError, match="at most 10 MB"):
        read_plan(tmp_path / "large")
    (tmp_path / "latin").write_bytes(b"\xe9")
    with pytest.raises(PlanFileError, match="UTF-8"):
        read_plan(tmp_path / "latin")
    (tmp_path / "windows.toml").write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert read_plan(tmp_path / "windows.toml").entries[0].line == 3


def test_budgets_beyond_floats() -> None:
    for rho in ("1e-4000", "1e4000"):
        with pytest.raises(ValueError, match="the budget is so"):
            calibrate(lambda e: Laplace(epsilon=e), rho=rho)
        with pytest.raises(ValueError, match=r"rho \(1e.*\) must be between 1e-100 and 1e100"):
            allocate([Query(Laplace)], rho=rho)
    assert calibrate(lambda e: Laplace(epsilon=e), epsilon=1, delta="1e-4000") == pytest.approx(1)
    with pytest.raises(ValueError, match="every parameter fits"):
        calibrate(lambda e: Laplace(epsilon=e), epsilon="1e4000", delta="1e-6")
    with pytest.raises(ValueError, match="weight"):
        Query(Laplace, weight="1e-4000")
    [far] = allocate([Query(Laplace, sensitivity="1e4000")], rho=1)  # relative errors have no unit
    assert 1 - 1e-7 <= far.rho <= 1
    with pytest.raises(ValueError, match="an error too extreme to be allocated"):
        allocate([Query(DiscreteLaplace, sensitivity="1e400", free="scale")], rho=1)


def test_accounts_of_the_extreme_are_json() -> None:
    for text in (
        "Laplace(epsilon='1e-4000')",
        "Laplace(epsilon=1e308)",
        "Gaussian(rho='1e-4000')",
        "PureDP(epsilon=1e300)",
    ):
        json.dumps(account(text).to_dict(), allow_nan=False)


def test_exact_plans_are_compared_exactly() -> None:
    """No float is 1/10, and the least above it is more than a budget of 1/10."""
    for budget, mechanism, fits in (
        ("rho = '0.1'", "Gaussian(rho='0.1')", True),
        ("rho = 0.1", "Gaussian(rho='0.1')", True),
        ("rho = '0.3'", "3 * Gaussian(rho='0.1')", True),
        ("rho = '0.1'", "Gaussian(rho=0.1)", False),
        ("rho = '0.1'", "Gaussian(rho='0.1000000000000000000000000001')", False),
        ("epsilon = '0.1'\ndelta = 1e-300", "PureDP(epsilon='0.1')", True),
        ("epsilon = '0.1'\ndelta = 1e-300", "PureDP(epsilon='0.1000000000000000000000000001')", False),
    ):
        text = f'[budget]\n{budget}\n[[query]]\nname = "a"\nmechanism = "{mechanism}"\n'
        facts = account(read_plan("x.toml", text), curve=False).to_dict()["budget"]
        assert facts["exceeded"] is not fits, (budget, mechanism)
        assert (facts["left"] >= 0) is fits
    assert Gaussian(rho="0.1").rho > Fraction(1, 10)
