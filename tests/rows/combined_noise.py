"""Rows of `Truncated` and `Mixture`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import exp
from random import Random

from neighbours import densities
from neighbours.case import Case, Row
from neighbours.density_cases import density_case
from samplers.hits import far

from rows import made

LAPLACE = made("AsymmetricLaplace", left=1, right=1)
EXAMPLES = (
    made("Truncated", LAPLACE, low=-9, high=9),
    made("Mixture", [["0.9", LAPLACE], ["0.1", made("AsymmetricLaplace", left=3, right=3)]]),
)


def _truncated(kind: str, rng: Random, effort: int) -> Case:
    """With one end or two, around the mode or far out on one side of it."""
    degrees = rng.randint(1, 6)
    low, high = -rng.randint(3, 9), rng.randint(3, 9)
    some: list[dict[str, int]] = [{"low": low, "high": high}, {"low": low}, {"high": high}]
    some += [{"low": high}, {"high": 9 * low}, {"low": 40 * high}]
    ends = rng.choice(some)
    law = partial(densities.cut, float(degrees), float(ends.get("low", "-inf")), float(ends.get("high", "inf")))
    inside = made("StudentT", degrees=degrees, scale=1)
    return density_case(lambda d: made("Truncated", inside, **ends, sensitivity=d), law, kind, rng, effort)


def _mixture(kind: str, rng: Random, effort: int) -> Case:
    share, degrees, wide = Fraction(rng.randint(5, 50), 100), rng.randint(1, 6), rng.randint(2, 5)
    law = partial(densities.mixture, float(share), float(degrees), float(wide))
    parts = [
        [1 - share, made("StudentT", degrees=degrees, scale=1)],
        [share, made("StudentT", degrees=degrees, scale=wide)],
    ]
    return density_case(lambda d: made("Mixture", parts, sensitivity=d), law, kind, rng, effort)


def _two_kinds(kind: str, rng: Random, effort: int) -> Case:
    """Of tails of two kinds the heavier decides, far out; they are as rare as one in a million draws."""
    share, power, degrees = Fraction(rng.choice((1, 10**3, 10**5)), 10**6), rng.choice((1, 2)), rng.randint(1, 6)
    law = partial(densities.contaminated, float(share), float(power), float(degrees))
    parts = [
        [1 - share, made("GeneralizedGaussian", power=power, scale=1)],
        [share, made("StudentT", degrees=degrees, scale=2)],
    ]
    return density_case(lambda d: made("Mixture", parts, sensitivity=d), law, kind, rng, effort)


NEIGHBOURS = (
    Row("Truncated", partial(_truncated, "scalar"), "scalar", "zero", slow=True),
    Row("Truncated", partial(_truncated, "L0LInf"), "L0LInf", "zero", deep=True, slow=True),
    Row("Mixture", partial(_mixture, "scalar"), "scalar", deep=True, slow=True),
    Row("Mixture", partial(_mixture, "L0LInf"), "L0LInf", deep=True, slow=True),
    Row("Mixture", partial(_two_kinds, "scalar"), "scalar", "two kinds", deep=True, slow=True),
)
DRAWN = {
    "Truncated": (made("Truncated", LAPLACE, low=-3, high=3), far(2), (exp(-2) - exp(-3)) / (1 - exp(-3))),
    "Mixture": (EXAMPLES[1], far(2), 0.9 * exp(-2) + 0.1 * exp(-2 / 3)),
}


def _inside(inputs: object) -> str:
    draw = inputs.draw  # type: ignore[attr-defined]
    some = ("Noise('exp(-abs(x))')", "AsymmetricLaplace(left=1, right='1/3')", "Cauchy(scale=2)", "PureDP(epsilon=1)")
    return str(draw.choice(some))


def _cut_text(inputs: object) -> str:
    draw = inputs.draw  # type: ignore[attr-defined]
    return f"{_inside(inputs)}, low={draw.choice(('-3', 'None', '5', '-1e30'))}, high={draw.choice(('4', 'None'))}"


def _mixed_text(inputs: object) -> str:
    return f"[['1/2', {_inside(inputs)}], ['1/2', {_inside(inputs)}]]"


TEXTS = {"Truncated": _cut_text, "Mixture": _mixed_text}
