"""Bad input is refused by an error that names parameter, value and rule; an unbounded loss is said, not numbered."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from zcdp import (
    L1,
    L2,
    BinaryRandomizedResponse,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Gaussian,
    HadamardResponse,
    L0LInf,
    L1LInf,
    Laplace,
    LocalHashing,
    Logistic,
    LossPair,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    PureDP,
    ReportNoisyMax,
    SparseVector,
    Staircase,
    SubsetSelection,
    TruncatedGeometric,
    UnaryEncoding,
)

HALF = Fraction(1, 2)
GOOD = [HALF, HALF]

REFUSED: tuple[tuple[str, Callable[[], Any], str], ...] = (
    ("negative entry", lambda: Channel([[1.5, -0.5], GOOD]), r"rows\[0\]\[1\] \(-0.5\) must not be negative"),
    ("negative exact entry", lambda: LossPair(p=["3/2", "-1/2"], q=GOOD), r"p\[1\] \(-1/2\) must not be negative"),
    ("nan", lambda: Channel([GOOD, [nan, 0.5]]), r"rows\[1\]\[0\] \(nan\) must be finite"),
    ("infinite", lambda: LossPair(p=GOOD, q=[inf, 0.5]), r"q\[0\] \(inf\) must be finite"),
    ("numpy nan", lambda: Channel(np.array([[nan, 1.0], [0.5, 0.5]])), r"rows\[0\]\[0\] \(nan\) must be finite"),
    ("decimal nan", lambda: LossPair(p=[Decimal("nan"), 1], q=GOOD), r"p\[0\] \(Decimal\('NaN'\)\) must be finite"),
    ("text", lambda: LossPair(p=["one", 0], q=GOOD), r"p\[0\] \('one'\) is not a number"),
    ("exact sum", lambda: Channel([["1/3", "1/3"], GOOD]), r"rows\[0\] must sum to 1, not 0.66"),
    ("nearly, but exact", lambda: LossPair(p=["0.5", "0.5000000001"], q=GOOD), r"p must sum to 1, not 1.0000000001"),
    ("float sum", lambda: Channel([GOOD, [0.5, 0.50000001]]), r"rows\[1\] must sum to 1, not 1.00000001"),
    ("ints that are counts", lambda: Channel([[3, 1], [1, 3]]), r"rows\[0\] must sum to 1, not 4"),
    ("ragged", lambda: Channel([GOOD, ["1/3", "1/3", "1/3"]]), r"rows must all have the same length, not \[2, 3\]"),
    ("lengths", lambda: LossPair(p=GOOD, q=[1]), r"p and q must have the same length, not 2 and 1"),
    ("one row", lambda: Channel([GOOD]), r"rows must be at least 2, .* not 1"),
    ("no rows", lambda: Channel([]), r"rows must be at least 2, .* not 0"),
    ("empty rows", lambda: Channel([[], []]), r"rows\[0\] must sum to 1, not 0"),
    ("empty pair", lambda: LossPair(p=[], q=[]), r"p must sum to 1, not 0"),
    ("p = q", lambda: UnaryEncoding(p=0.3, q=0.3), r"p \(0.3\) must be above q \(0.3\)"),
    ("q > p", lambda: UnaryEncoding(p="1/4", q="3/4"), r"p \(1/4\) must be above q \(3/4\)"),
    ("binary p = q", lambda: BinaryRandomizedResponse(p=0.3, q=0.3), r"p \(0.3\) must be above q \(0.3\)"),
    ("binary q > p", lambda: BinaryRandomizedResponse(p=0.2, q=0.3), r"p \(0.2\) must be above q \(0.3\)"),
    ("p = 1", lambda: UnaryEncoding(p=1, q=0.5), r"p \(1\) must lie strictly between 0 and 1"),
    ("q = 0", lambda: BinaryRandomizedResponse(p=0.5, q=0), r"q \(0\) must lie strictly between 0 and 1"),
    ("p > 1", lambda: BinaryRandomizedResponse(p=1.5, q=0.5), r"p \(1.5\) must lie strictly between 0 and 1"),
    ("q nan", lambda: UnaryEncoding(p=0.5, q=nan), r"q \(nan\) must be finite"),
    ("gamma < 0", lambda: Staircase(epsilon=1, gamma=-0.1), r"gamma \(-0.1\) must lie in \[0, 1\]"),
    ("gamma > 1", lambda: Staircase(epsilon=1, gamma="3/2"), r"gamma \(3/2\) must lie in \[0, 1\]"),
    ("gamma nan", lambda: Staircase(epsilon=1, gamma=nan), r"gamma \(nan\) must be finite"),
    ("size 0", lambda: SubsetSelection(epsilon=1, k=4, size=0), r"size \(0\) must be at least 1"),
    ("size k", lambda: SubsetSelection(epsilon=1, k=4, size=4), r"size \(4\) must be below k \(4\)"),
    ("size > k", lambda: SubsetSelection(epsilon=1, k=4, size=7), r"size \(7\) must be below k \(4\)"),
    ("size broken", lambda: SubsetSelection(epsilon=1, k=4, size=1.5), r"size \(1.5\) must be a whole number"),
    ("k 1", lambda: SubsetSelection(epsilon=1, k=1, size=1), r"k \(1\) must be at least 2"),
    (
        "r > d",
        lambda: DiscreteStaircase(epsilon=1, sensitivity=3, r=4),
        r"r \(4\) must be at most the sensitivity \(3\)",
    ),
    ("r 0", lambda: DiscreteStaircase(epsilon=1, sensitivity=3, r=0), r"r \(0\) must be at least 1"),
    ("d 0", lambda: DiscreteStaircase(epsilon=1, sensitivity=0, r=1), r"sensitivity \(0\) must be at least 1"),
    ("blocks 0", lambda: HadamardResponse(epsilon=1, blocks=0), r"blocks \(0\) must be at least 1"),
    ("blocks broken", lambda: HadamardResponse(epsilon=1, blocks=2.5), r"blocks \(2.5\) must be a whole number"),
    ("g 1", lambda: LocalHashing(epsilon=1, g=1), r"g \(1\) must be at least 2"),
    ("n < d", lambda: TruncatedGeometric(epsilon=1, n=2, sensitivity=3), r"sensitivity \(3\) must be at most n \(2\)"),
    ("n 0", lambda: TruncatedGeometric(epsilon=1, n=0), r"n \(0\) must be at least 1"),
    ("tv 0", lambda: PureDP(epsilon=1, total_variation=0), r"total_variation \(0\) must lie in \(0, 1\]"),
    ("tv > 1", lambda: PureDP(epsilon=1, total_variation=1.5), r"total_variation \(1.5\) must lie in \(0, 1\]"),
    (
        "noise",
        lambda: ReportNoisyMax(epsilon=1, noise="gauss"),
        r"noise \('gauss'\) must be one of 'laplace', 'gumbel'",
    ),
    ("noise case", lambda: ReportNoisyMax(epsilon=1, noise="Laplace"), r"noise \('Laplace'\) must be one of"),
    ("sigma and rho", lambda: Gaussian(sigma=1, rho=2), r"give sigma \(1\) or rho \(2\), not both"),
    ("sigma 0", lambda: Gaussian(sigma=0), r"sigma \(0\) must be positive"),
    ("sigma inf", lambda: Gaussian(sigma=inf), r"sigma \(inf\) must be finite"),
    ("rho < 0", lambda: DiscreteGaussian(rho=-1), r"rho \(-1\) must be positive"),
    ("gaussian d", lambda: Gaussian(sigma=1, sensitivity=0), r"sensitivity \(0\) must be positive"),
    (
        "discrete d",
        lambda: DiscreteGaussian(sigma=1, sensitivity="3/2"),
        r"sensitivity \('3/2'\) must be a whole number",
    ),
    (
        "positives 0",
        lambda: SparseVector(epsilon_threshold=1, epsilon_queries=1, positives=0),
        r"positives \(0\) must be at",
    ),
    (
        "threshold 0",
        lambda: SparseVector(epsilon_threshold=0, epsilon_queries=1),
        r"epsilon_threshold \(0\) must be positive",
    ),
    (
        "queries < 0",
        lambda: SparseVector(epsilon_threshold=1, epsilon_queries=-1),
        r"epsilon_queries \(-1\) must be positive",
    ),
    ("logistic d", lambda: Logistic(epsilon=1, sensitivity=-1), r"sensitivity \(-1\) must be positive"),
    ("logistic both", lambda: Logistic(epsilon=1, scale=2), r"give epsilon \(1\) or scale \(2\), not both"),
    ("L1(0)", lambda: L1(0), r"d \(0\) must be positive"),
    ("L2(-1)", lambda: L2(-1), r"b \(-1\) must be positive"),
    ("L0LInf(0, 1)", lambda: L0LInf(0, 1), r"m \(0\) must be at least 1"),
    ("L0LInf(1.5, 1)", lambda: L0LInf(1.5, 1), r"m \(1.5\) must be a whole number"),
    ("L0LInf(1, 0)", lambda: L0LInf(1, 0), r"c \(0\) must be positive"),
    ("L1LInf(0, 1)", lambda: L1LInf(0, 1), r"a \(0\) must be positive"),
    ("L1LInf(1, nan)", lambda: L1LInf(1, nan), r"c \(nan\) must be finite"),
    (
        "no whole move",
        lambda: DiscreteLaplace(scale=1, sensitivity=L1("1/2")),
        r"d \(1/2\) must be at least 1 for integer",
    ),
    (
        "no whole c",
        lambda: DiscreteLaplace(scale=1, sensitivity=L0LInf(3, 0.5)),
        r"c \(1/2\) must be at least 1 for integer",
    ),
    ("no whole b", lambda: DiscreteLaplace(scale=1, sensitivity=L2(0.5)), r"b \(0.5\) must be at least 1 for integer"),
    ("sensitivity < 0", lambda: Laplace(scale=1, sensitivity=-1), r"sensitivity \(-1\) must be positive"),
    ("epsilon 0", lambda: PermuteAndFlip(epsilon=0), r"epsilon \(0\) must be positive"),
    ("epsilon inf", lambda: OptimizedUnaryEncoding(epsilon=inf), r"epsilon \(inf\) must be finite"),
    ("group 0", lambda: PureDP(epsilon=1).group(0), r"size \(0\) must be at least 1"),
    ("order < 1", lambda: Channel([GOOD, [0.25, 0.75]]).rdp(0.5), r"order \(0.5\) must be at least 1"),
)

MISTYPED: tuple[tuple[str, Callable[[], Any], str], ...] = (
    ("no sigma", Gaussian, "give sigma, or rho"),
    ("no scale", Logistic, "give epsilon, or scale"),
    ("complex entry", lambda: LossPair(p=[1j, 1], q=GOOD), r"p\[0\] \(1j\) must be a number"),
    ("bool entry", lambda: LossPair(p=[True, 0], q=GOOD), r"p\[0\] \(True\) must be a number, not a bool"),
    ("None", lambda: Channel([[None, 1], GOOD]), r"rows\[0\]\[0\] \(None\) must be a number"),
    ("gamma", lambda: Staircase(epsilon=1, gamma=[1]), r"gamma \(\[1\]\) must be a number"),
    ("sensitivity", lambda: Staircase(epsilon=1, sensitivity=L2(1)), r"sensitivity \(L2\(1\)\) must be a number"),
    ("calibrate", lambda: Channel.calibrate(rho=1), "Channel has no one parameter to calibrate"),
)


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_wrong_value_is_refused_with_name_value_and_rule(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in MISTYPED], ids=[case[0] for case in MISTYPED])
def test_a_wrong_type_is_refused_with_its_name(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_noise_without_a_pure_epsilon_says_so() -> None:
    for m in (Gaussian(sigma=1), DiscreteGaussian(sigma=1), Laplace(scale=1, sensitivity=L2(1))):
        assert m.pure_epsilon == m.rdp(inf) == inf
