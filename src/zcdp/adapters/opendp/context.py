"""Tight measurements in OpenDP's Context API, which finds their noise for a budget in rho."""

from __future__ import annotations

from typing import Any

import opendp.prelude as dp
from opendp.context import constructors

from zcdp.adapters.opendp.measurements import tighten

__all__ = ["register"]


def make_tight_laplace(input_domain: Any, input_metric: Any, scale: float, k: int | None = None) -> Any:
    """`make_laplace`, measured in rho by the tight map."""
    return tighten(dp.m.make_laplace(input_domain, input_metric, scale, k))


def make_tight_geometric(input_domain: Any, input_metric: Any, scale: float) -> Any:
    """`make_geometric`, measured in rho by the tight map."""
    return tighten(dp.m.make_geometric(input_domain, input_metric, scale))


def make_tight_noisy_max(input_domain: Any, input_metric: Any, scale: float, negate: bool = False) -> Any:
    """`make_noisy_max` with Gumbel noise, measured in rho by the tight map."""
    measure = dp.zero_concentrated_divergence()
    return tighten(dp.m.make_noisy_max(input_domain, input_metric, measure, scale, negate))


def register() -> None:
    """Let queries say `.tight_laplace()`, `.tight_geometric()` and `.tight_noisy_max()`; once is enough."""
    for constructor in (make_tight_laplace, make_tight_geometric, make_tight_noisy_max):
        if constructor.__name__.removeprefix("make_") not in constructors:
            dp.register(constructor)
