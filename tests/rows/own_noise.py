"""Rows of `Noise`: densities written as formulas."""

from __future__ import annotations

from functools import partial
from math import erfc
from random import Random

from neighbours import densities
from neighbours.case import Case, Row
from neighbours.density_cases import density_case
from samplers.hits import far

from rows import made

EXAMPLES = (made("Noise", "exp(-abs(x)/2)"),)


def _written(kind: str, rng: Random, effort: int) -> Case:
    degrees = rng.randint(1, 8)
    law = partial(densities.student, float(degrees))
    text = f"7*(1 + x^2/{degrees})^-({degrees + 1}/2)"
    return density_case(lambda d: made("Noise", text, sensitivity=d), law, kind, rng, effort)


def _stated(rng: Random, effort: int) -> Case:
    """What the formula would show is stated instead; one mode is proven all the same."""
    law = partial(densities.student, 3.0)
    build = lambda d: made("Noise", "(1 + x^2/3)^-2", sensitivity=d, tail=["power", 3, 4, 1000])  # noqa: E731
    return density_case(build, law, "scalar", rng, effort)


def _told(rng: Random, effort: int) -> Case:
    """That there is one mode is stated: the slope of 1/f is x (x^2 - 2)^2, whose sign balls around sqrt(2) hide."""
    build = lambda d: made("Noise", "1/(1 + 2*x^2 - x^4 + x^6/6)", sensitivity=d, unimodal=True)  # noqa: E731
    return density_case(build, densities.resting, "scalar", rng, effort)


def _two_modes(rng: Random, effort: int) -> Case:
    apart = rng.randint(1, 3)
    text = f"exp(-abs(x - {apart})) + exp(-abs(x + {apart}))"
    law = partial(densities.two_modes, float(apart))
    build = lambda d: made("Noise", text, sensitivity=d)  # noqa: E731
    return density_case(build, law, "scalar", rng, effort + 3, most=5.0, modes=2)


NEIGHBOURS = (
    Row("Noise", partial(_written, "scalar"), "scalar", deep=True, slow=True),
    Row("Noise", partial(_written, "L0LInf"), "L0LInf", deep=True, slow=True),
    Row("Noise", _stated, "scalar", "tail", deep=True, slow=True),
    Row("Noise", _told, "scalar", "unimodal", deep=True, slow=True),
    Row("Noise", _two_modes, "scalar", "modes", deep=True, slow=True),
)


def _text(inputs: object) -> str:
    draw = inputs.draw  # type: ignore[attr-defined]
    some = ("exp(-abs(x))", "(1 + x^2)^-2", "exp(-x^2/3)", "exp(-max(x, -2*x))", "1/x", "exp(x)", "sin(x)", "x +")
    return repr(draw.choice(some))


TEXTS = {"Noise": _text}
DRAWN = {"Noise": (made("Noise", "exp(-x^2/2)"), far(2), erfc(2**0.5))}
