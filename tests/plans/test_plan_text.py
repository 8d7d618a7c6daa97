"""Plans as text: what is read is what was written, and hostile input gets an error with its place."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from table import EVERYDAY_ROWS

from zcdp import (
    L2,
    RAPPOR,
    Channel,
    ExponentialMechanism,
    Gaussian,
    L0LInf,
    Laplace,
    LossPair,
    Mechanism,
    Plan,
    PlanError,
    PureDP,
    RandomizedResponse,
    Subsampled,
    account,
)
from zcdp.plans.plan_text import parse, parse_open, parse_written
from zcdp.privacy.curve import Curve
from zcdp.training import Allocation as AllocatedBatches
from zcdp.training import FixedSize, Poisson, Training, Truncated


@pytest.mark.parametrize("m", EVERYDAY_ROWS[::3], ids=repr)
def test_every_mechanism_reads_back(m: Mechanism) -> None:
    plan = 3 * m + PureDP(epsilon="log(3)")
    assert Plan.parse(repr(plan)) == plan
    assert Plan.from_json(plan.to_json()) == plan


def test_brackets_counts_and_spaces() -> None:
    written = " 2*( Laplace( epsilon = 0.1 )*3 +RAPPOR(epsilon='1/3',) )\n + RandomizedResponse(epsilon=1,k=4)"
    expected = 6 * Laplace(epsilon=0.1) + 2 * RAPPOR(epsilon="1/3") + RandomizedResponse(epsilon=1, k=4)
    assert Plan.parse(written) == expected


def test_a_bare_number_is_a_float_and_a_quoted_one_exact() -> None:
    assert Plan.parse("Laplace(epsilon=0.1)") == 1 * Laplace(epsilon=0.1)
    assert Plan.parse("Laplace(epsilon='0.1')") == 1 * Laplace(epsilon="0.1")
    assert Plan.parse("Laplace(epsilon='0.1')") != Plan.parse("Laplace(epsilon=0.1)")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected a mechanism"),
        ("3 *", 3, "expected a mechanism"),
        ("Foo(epsilon=1)", 0, "no mechanism 'Foo'"),
        ("Laplace(epsilon=1", 17, "expected ','"),
        ("Laplace epsilon=1", 8, r"expected '\('"),
        ("RAPPOR(epsilon=1) + Laplace(epsilon=-1)", 20, r"epsilon \(-1\) must be positive"),
        ("2.5 * Laplace(epsilon=1)", 0, "whole number"),
        ("0 * Laplace(epsilon=1)", 0, "at least 1"),
        ("1000000000001 * Laplace(epsilon=1)", 0, "at most 10"),
        ("Laplace(epsilon=1) * RAPPOR(epsilon=1)", 21, "expected a count"),
        ("Gaussian(sigma=1, sensitivity=sqrt(2))", 30, r"needs quotes: 'sqrt\(2\)'"),
        ("PureDP(epsilon=log(3))", 15, r"needs quotes: 'log\(2\)'"),
        ("ExponentialMechanism(epsilon=1, monotone=true)", 41, "it is written True"),
        ("LInf(2)", 0, r"how many coordinates move must be known too: L0LInf\(m, c\)"),
        ("Laplace(epsilon=1) RAPPOR(epsilon=1)", 19, "expected '\\+' or the end"),
        ("Laplace(epsilon=1, epsilon=2)", 19, "given twice"),
        ("Laplace(sigma=1)", 0, "sigma"),
        ("Laplace(1)", 0, "by name"),
        ("Laplace(epsilon=Laplace)", 16, "expected a number"),
        ("Laplace(epsilon=" + "[" * 60, 67, "brackets"),
        ("Laplace(epsilon='1e99999')", 0, "exponent"),
        ("Laplace(epsilon=1e999)", 0, "finite"),
        ("__import__('os')", 0, "no mechanism"),
        ("Laplace(epsilon=1).rho", 18, "unexpected '.'"),
        ("Laplace(epsilon=1);", 18, "unexpected ';'"),
        ("Laplace(epsilon=1)\x00", 18, "unexpected"),
        ("(" * 60, 51, "brackets"),
        ("9" * 5000 + " * Laplace(epsilon=1)", 0, "more than 4300"),
    ],
)
def test_errors_have_a_position(text: str, position: int, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        Plan.parse(text)
    assert caught.value.position == position
    assert f"at position {position}" in str(caught.value)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet="0123456789.e+-*()=,'\" LaplceRAPOsion_/\n", max_size=60))
def test_any_text_is_a_plan_or_an_error(text: str) -> None:
    try:
        plan = Plan.parse(text)
    except PlanError as error:
        place = error.position
        assert 0 <= place <= len(text)
    else:
        assert Plan.parse(repr(plan)) == plan


def test_size_is_limited() -> None:
    with pytest.raises(PlanError, match="at most"):
        Plan.parse(" " * 1_000_001)
    with pytest.raises(TypeError, match="must be text"):
        Plan.parse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2", 2),
        ("0x10", 16),
        ("0XfF", 255),
        (".5", 0.5),
        ("3.", 3.0),
        ("1e-3", 1e-3),
        ("2.5E+1", 25.0),
        ("'1/3'", "1/3"),
        ('"0.1"', "0.1"),
        ("'1e-3'", "1e-3"),
        ("Fraction(3, 7)", Fraction(3, 7)),
        ("Fraction('1/3', 2)", Fraction(1, 6)),
        ("Fraction(denominator=7, numerator=3)", Fraction(3, 7)),
        ("Fraction(2)", Fraction(2)),
        ("Fraction('0.1')", Fraction(1, 10)),
    ],
)
def test_a_number_is_the_one_that_is_written(written: str, value: object) -> None:
    [(part, count)] = Plan.parse(f"3 * Laplace(epsilon={written})").parts
    assert (part, count) == (Laplace(epsilon=value), 3)
    assert part.epsilon == Fraction(value)  # type: ignore[attr-defined, arg-type]


def test_constants_lists_and_sensitivities_are_what_they_are_called() -> None:
    [(one, _)] = Plan.parse("Laplace(epsilon=1, sensitivity=L0LInf(5, '1/2'))").parts
    assert one.sensitivity == L0LInf(5, "1/2")  # type: ignore[attr-defined]
    assert Plan.parse("Laplace(epsilon=1, sensitivity=L2(3))") == 1 * Laplace(epsilon=1, sensitivity=L2(3))
    for word, value in (("True", True), ("False", False)):
        read = Plan.parse(f"ExponentialMechanism(epsilon=1, monotone={word})")
        assert read == 1 * ExponentialMechanism(epsilon=1, monotone=value)
    assert Plan.parse("Channel([['3/4', '1/4'], ['1/4', '3/4']])") == 1 * Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert Plan.parse("Subsampled(2 * Gaussian(sigma=3), rate='0.1')") != Plan.parse(
        "Subsampled(Gaussian(sigma=3), rate='0.1')"
    )


def test_brackets_beside_one_another_are_not_inside_one_another() -> None:
    assert Plan.parse(" + ".join(["(Laplace(epsilon=1))"] * 60)) == 60 * Laplace(epsilon=1)
    cells = Channel([["1/2", "1/2"]] * 2)
    assert Plan.parse(" + ".join([repr(cells)] * 40)) == 40 * cells


def test_mechanisms_of_equal_cost_keep_their_own_words() -> None:
    _, written = parse_written("Laplace(scale=1) + Laplace(scale=10, sensitivity=10) + Laplace(epsilon=1)")
    assert sorted(written.values()) == ["Laplace(scale=1)", "Laplace(scale=10, sensitivity=10)"]


def test_a_fraction_has_a_denominator() -> None:
    with pytest.raises(PlanError, match=r"denominator .* must not be 0"):
        Plan.parse("Laplace(epsilon=Fraction(1, 0))")


LONG = "1" * 400_000


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


F = Fraction


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def divergence(p: list[Fraction], q: list[Fraction], order: Fraction) -> mpf:
    """log of the sum of p^a q^{1-a}, over a - 1."""
    a = real(order)
    return mp.log(mp.fsum(real(x) ** a * real(y) ** (1 - a) for x, y in zip(p, q, strict=True))) / (a - 1)


ONE, OTHER = ([F(9, 10), F(1, 10)], [F(3, 5), F(2, 5)]), ([F(1, 5), F(4, 5)], [F(1, 20), F(19, 20)])
ORDERED: list[tuple[Curve | Fraction, object]] = [
    (LossPair(p=p, q=q, ordered=True), lambda order, p=p, q=q: (divergence(p, q, order), divergence(q, p, order)))
    for p, q in (ONE, OTHER)
]


ORDERED.append(
    (
        2 * ORDERED[0][0] + 3 * ORDERED[1][0],
        lambda order: tuple(2 * a + 3 * b for a, b in zip(*(cost(order) for _, cost in ORDERED[:2]), strict=True)),
    )
)


# Counts inside the text of a plan

NESTED = [
    ("Subsampled(20 * Gaussian(sigma=5), rate='1/10')", lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 20),
    ("Subsampled(Gaussian(sigma=5) * 20, rate='1/10')", lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 20),
    ("Subsampled(2 * (3 * Laplace(epsilon='1/4')), size=3, of=10)",
     lambda n: Subsampled(n * Laplace(epsilon="1/4"), size=3, of=10), 6),
    ("Subsampled(mechanism=(4 * Gaussian(sigma=5)) * 2, rate='1/10')",
     lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 8),
    ("Subsampled(Gaussian(sigma=5) + 3 * Gaussian(sigma=5), rate='1/10')",
     lambda n: Subsampled(n * Gaussian(sigma=5), rate="1/10"), 4),
    ("Subsampled((2 * Laplace(epsilon='1/4')), rate='1/2')",
     lambda n: Subsampled(n * Laplace(epsilon="1/4"), rate="1/2"), 2),
]  # fmt: skip


@pytest.mark.parametrize(("text", "make", "count"), NESTED, ids=[text for text, _, _ in NESTED])
@pytest.mark.parametrize("times", [1, 7])
def test_counts_inside_a_mechanism_are_read(text: str, make: object, count: int, times: int) -> None:
    """By parts, by its own text, through JSON, and by what it costs; outside and inside are different counts."""
    plan = parse(f"{times} * {text}" if times > 1 else text)
    [(part, outside)] = plan.parts
    assert outside == times
    assert part == make(count)
    assert [n for _, n in part.mechanism.parts] == [count]
    for again in (parse(repr(plan)), Plan.from_json(plan.to_json())):
        assert again == plan
        [(read, _)] = again.parts
        assert [n for _, n in read.mechanism.parts] == [count]
    for other in (make(1), make(count - 1), make(count + 1)):
        assert part != other
        assert parse(repr(other)).parts[0][0] != part
    assert part.rdp(3) == make(count).rdp(3)
    assert make(count - 1).rdp(3) < part.rdp(3) < make(count + 1).rdp(3)


def test_noise_that_is_drawn_so_often_in_a_sample_is_narrower_noise_in_it() -> None:
    """25 answers with sigma 10 are one with sigma 2: a fact of normal laws, not of the text."""
    many = parse("Subsampled(25 * Gaussian(sigma=10), rate='1/10')")
    one = Subsampled(Gaussian(sigma=2), rate="1/10")
    for epsilon in ("0.1", "1"):
        assert many.delta_at(epsilon=epsilon) == pytest.approx(one.delta_at(epsilon=epsilon), rel=1e-6)
    assert many.rdp(4) == pytest.approx(one.rdp(4), rel=1e-6)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("Laplace(epsilon:=1)", 15, "unexpected ':'"),
        ("Laplace(epsilon=f'{1}')", 16, "expected a number"),
        ("Laplace(epsilon='1' '2')", 20, "expected ','"),
        ("Laplace(epsilon='''1''')", 18, "expected ','"),
        ("Laplace(epsilon=1) # so", 19, "unexpected '#'"),
        ("Laplace(epsilon=1) \\\n + RAPPOR(epsilon=1)", 19, "unexpected"),
        ("Laplace(epsilon=1_000)", 17, "expected ','"),
        ("Laplace(epsilon=0b11)", 17, "expected ','"),
        ("Laplace(epsilon=1j)", 17, "expected ','"),
        ("Laplace(epsilon=\uff11)", 16, "unexpected"),
        ("Laplace\uff08epsilon=1)", 7, "unexpected"),
        ("\uff2caplace(epsilon=1)", 0, "unexpected"),
        ("Laplace(*[1])", 8, "expected a number"),
        ("Laplace(**1)", 8, "expected a number"),
        ("2 ** Laplace(epsilon=1)", 3, "expected a mechanism"),
        ("Laplace(epsilon=[1][0])", 19, "expected ','"),
        ("Laplace(epsilon=1)(2)", 18, "expected '\\+' or the end"),
        ("Laplace(epsilon=True(1))", 20, "expected ','"),
        ("Laplace(epsilon=(1))", 18, "expected '\\*'"),
        ("(Laplace(epsilon=1), RAPPOR(epsilon=1))", 19, "expected '\\)'"),
        ("[Laplace(epsilon=1)]", 0, "expected a mechanism"),
        ("Laplace(epsilon=1) - RAPPOR(epsilon=1)", 19, "expected '\\+' or the end"),
        ("Laplace(epsilon=-(1))", 16, "expected a number"),
        ("Laplace(epsilon=1, 2)", 19, "expected a parameter"),
        ("Laplace(epsilon=1 if 1 else 2)", 18, "expected ','"),
        ("2 * Laplace(epsilon=1) * 3", 23, "expected '\\+' or the end"),
        ("Laplace(epsilon=1) or RAPPOR(epsilon=1)", 19, "expected '\\+' or the end"),
        ("Laplace(epsilon=-1) RAPPOR(", 0, "must be positive"),
    ],
)
def test_what_only_python_reads_is_no_plan(text: str, position: int, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        Plan.parse(text)
    assert caught.value.position == position


def test_long_sums_and_products_are_not_deep() -> None:
    assert Plan.parse(" + ".join(["Laplace(epsilon=1)"] * 20_000)) == 20_000 * Laplace(epsilon=1)
    assert Plan.parse("Laplace(epsilon=1)" + " * 1" * 3_000) == Plan.parse("Laplace(epsilon=1)")
    for text in ("(" * 20_000, "-" * 20_000, "[" * 20_000, "Laplace(" * 20_000, "1," * 20_000):
        with pytest.raises(PlanError):
            Plan.parse(text)


TRAININGS = [
    Training(noise_multiplier="1.1", steps=14063, sampling=Poisson("256/60000")),
    Training(noise_multiplier=1, steps=10, sampling=FixedSize(6, of=60)),
    Training(noise_multiplier=2, sampling=AllocatedBatches(10), schedule=[(20, "1.5"), (30, 1)]),
    Training(noise_multiplier=2, steps=10, sampling=Truncated("0.1", 20, of=100), unit="user"),
    Training(noise_multiplier=2, steps=10, sampling=Poisson("0.1"), unit="user", examples_per_user=4),
]


@pytest.mark.parametrize("run", TRAININGS)
def test_a_training_is_plan_text(run: Training) -> None:
    """Its own words are read back as the same training; as JSON it is the mechanisms that it stands for."""
    read = Plan.parse(repr(run))
    assert isinstance(read, Training)
    assert (read, repr(read), read.assumed) == (run, repr(run), run.assumed)
    assert Plan.from_json(run.to_json()) == run
    beside = Plan.parse(f"2 * {run!r} + Gaussian(sigma=3)") if run.sampling.moves == 1 else Plan.parse(f"2 * {run!r}")
    assert beside.parts[: len(run.parts)] == tuple((part, 2 * count) for part, count in run.parts)


def test_batches_are_words_of_a_training_alone() -> None:
    """`Allocation` is a mechanism elsewhere, whose first parameter is the mechanism of a step."""
    inside = Plan.parse("Training(noise_multiplier=2, steps=20, sampling=Allocation(batches=10))")
    assert inside == Plan.parse("2 * Allocation(Gaussian(sigma=2), batches=10)")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("Training(noise_multiplier=2, steps=9, sampling='0.1')", 47, r"sampling must be one of Poisson\(...\), Fixed"),
        ("Training(noise_multiplier=2, steps=9, sampling=Gaussian(sigma=1))", 47, "sampling must be one of Poisson"),
        ("Training(noise_multiplier=2, steps=9, sampling=Poisson)", 47, "sampling must be one of Poisson"),
        ("Training(noise_multiplier=2, steps=9, sampling=Poisson(rate=2))", 47, r"Poisson: rate \(2\) must be above 0"),
        ("Training(noise_multiplier=2, steps=9, sampling=Poisson(size=2))", 47, "Poisson has no parameter 'size'"),
        ("Training(steps=9, sampling=Poisson(rate=0.1), noise=2)", 0, "Training: there is no parameter 'noise'"),
        ("Training(noise_multiplier=2, steps=15, sampling=Allocation(10))", 0, "must be whole epochs of 10 batches"),
        ("MatrixMechanism(toeplitz=[1], steps=3)", 0, "MatrixMechanism is no plan text: its matrix is given in Python"),
        ("Trainig(steps=3)", 0, "did you mean 'Training'"),
    ],
)
def test_what_no_training_is(text: str, position: int, message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        Plan.parse(text)
    assert caught.value.position == position


def test_a_training_is_no_single_mechanism() -> None:
    with pytest.raises(PlanError, match="Training is a whole plan"):
        parse_open("Training(noise_multiplier=?, steps=9, sampling=Poisson('0.1'))")
