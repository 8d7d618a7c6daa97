"""Formulas that the tests of reading, values and derivatives share."""

from __future__ import annotations

TEXTS = (
    "(1 + x^2/12)^-2",
    "exp(-abs(x/2)^1.5)",
    "1/cosh(x/2)^2",
    "exp(-max(x, -x/2)) + 0.25*exp(-x^2)",
    "2^-abs(x) * (2 + tanh(x)) / (3 + atan(x))",
    "sqrt(1 + x^2)^-3 - (x - 1)/(x + 20) + 2",
    "exp(-x)/(1 + exp(-x))^2",
    "(1 + x^2/5)^(-9/4) + (2 + x^2)^(-5/2) + (3 + x^2)^(3/2) + (1 + abs(x))^(1/3)",
    "(3 + erf(x))*exp(-min(x^2, abs(x)))/sqrt(2*pi)",
)
