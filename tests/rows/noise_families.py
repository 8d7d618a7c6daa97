"""Rows of `StudentT`, `Cauchy`, `GeneralizedGaussian` and `AsymmetricLaplace`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import exp, sqrt
from random import Random

from neighbours import densities
from neighbours.case import Case, Row
from neighbours.density_cases import density_case
from samplers.hits import far

from rows import made

EXAMPLES = (
    made("StudentT", degrees=3, scale=2),
    made("Cauchy", scale=2),
    made("GeneralizedGaussian", power=1, scale=2),
    made("AsymmetricLaplace", left=2, right=1),
)


def _student(kind: str, rng: Random, effort: int) -> Case:
    degrees = Fraction(rng.randint(1, 16), 2)
    law = partial(densities.student, float(degrees))
    return density_case(lambda d: made("StudentT", degrees=degrees, scale=1, sensitivity=d), law, kind, rng, effort)


def _cauchy(kind: str, rng: Random, effort: int) -> Case:
    law = partial(densities.student, 1.0)
    return density_case(lambda d: made("Cauchy", scale=1, sensitivity=d), law, kind, rng, effort)


def _generalized(powers: tuple[int, ...], kind: str, rng: Random, effort: int) -> Case:
    power = Fraction(rng.choice(powers), 4)
    law = partial(densities.generalized, float(power))
    build = lambda d: made("GeneralizedGaussian", power=power, scale=1, sensitivity=d)  # noqa: E731
    return density_case(build, law, kind, rng, effort, most=1.0)


def _asymmetric(kind: str, rng: Random, effort: int) -> Case:
    left, right = (Fraction(rng.randint(5, 30), 10) for _ in range(2))
    law = partial(densities.asymmetric, float(left), float(right))
    build = lambda d: made("AsymmetricLaplace", left=left, right=right, sensitivity=d)  # noqa: E731
    return density_case(build, law, kind, rng, effort)


NEIGHBOURS = (
    Row("StudentT", partial(_student, "scalar"), "scalar", deep=True, slow=True),
    Row("StudentT", partial(_student, "L0LInf"), "L0LInf", deep=True, slow=True),
    Row("Cauchy", partial(_cauchy, "scalar"), "scalar", deep=True, slow=True),
    Row("Cauchy", partial(_cauchy, "L0LInf"), "L0LInf", deep=True, slow=True),
    Row("GeneralizedGaussian", partial(_generalized, (2, 3, 4), "scalar"), "scalar", deep=True, slow=True),
    Row("GeneralizedGaussian", partial(_generalized, (5, 6, 7), "scalar"), "scalar", "no end", slow=True),
    Row("GeneralizedGaussian", partial(_generalized, (2, 4), "L0LInf"), "L0LInf", deep=True, slow=True),
    Row("AsymmetricLaplace", partial(_asymmetric, "scalar"), "scalar", slow=True),
    Row("AsymmetricLaplace", partial(_asymmetric, "L0LInf"), "L0LInf", deep=True, slow=True),
)
DRAWN = {
    "StudentT": (made("StudentT", degrees=2, scale=1), far(2), 1 - sqrt(2 / 3)),
    "Cauchy": (made("Cauchy", scale=2), far(2), 1 / 2),
    "GeneralizedGaussian": (made("GeneralizedGaussian", power="1/2", scale=1), far(4), 3 * exp(-2)),
    "AsymmetricLaplace": (made("AsymmetricLaplace", left=2, right=1), far(2), (2 * exp(-1) + exp(-2)) / 3),
}
