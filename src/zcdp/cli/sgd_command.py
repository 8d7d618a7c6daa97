"""`zcdp sgd`: epsilon of DP-SGD on Poisson samples, or the least noise for a given epsilon."""

from __future__ import annotations

from argparse import Namespace
from fractions import Fraction
from math import ceil
from typing import Any

from zcdp.accounting.calibration import calibrate
from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, columns, dim, line, print_json, width
from zcdp.mechanisms import Gaussian, Subsampled
from zcdp.numeric.exact import Value, integer, positive_rational, probability
from zcdp.privacy.curve import Plan
from zcdp.text.numbers import cost

__all__ = ["run"]


ROUTES = {"profile": "privacy profile, exact", "rdp": "Renyi curve", "zcdp": "rho alone: blind to sampling"}
ASSUMED = (
    "Each example is drawn by itself with this probability in every step, and gradients are clipped to norm 1.",
    "Neighbours differ by one example, added or removed. Shuffled batches of one size are not covered.",
    "Batches of one size that are drawn anew: Subsampled(Gaussian(sigma=..., sensitivity=2), size=..., of=...).",
)


def run(options: Namespace) -> int:
    """Print the certified epsilon for --sigma, or the least sigma for --epsilon."""
    if (options.sigma is None) == (options.epsilon is None):
        raise BadUsage("give --sigma to learn epsilon, or --epsilon to learn sigma")
    examples, batch = integer(options.examples, "examples", 1), integer(options.batch, "batch", 1)
    if batch > examples:
        raise BadUsage(f"batch ({batch}) must be at most the number of examples ({examples})")
    rate, delta = Fraction(batch, examples), probability(options.delta, "delta")
    steps = ceil(positive_rational(options.epochs, "epochs") / rate)

    def plan(sigma: Value) -> Plan:
        return steps * Subsampled(Gaussian(sigma=sigma), rate=rate)

    with Progress() as progress:
        progress(0.2, "accounting")
        sigma: Value = options.sigma
        if options.sigma is None:
            budget = positive_rational(options.epsilon, "epsilon")
            sigma = calibrate(plan, epsilon=budget, delta=delta)
        whole, noise = plan(sigma), float(positive_rational(sigma, "sigma"))
        routes = whole.routes(delta=delta)
        bounds = whole.epsilon_bounds(delta=delta)
    if options.json:
        facts: dict[str, Any] = {"plan": repr(whole), "relation": whole.relation.value}
        facts |= {"examples": examples, "batch": batch}
        facts |= {"rate": str(rate), "steps": steps, "sigma": noise, "delta": float(delta)}
        print_json({**facts, "epsilon": bounds[1], "epsilon_bounds": list(bounds), "routes": routes, "rho": whole.rho})
        return 0
    if options.sigma is None:
        line(f"{bold('sigma')}    {bold(repr(sigma))}: the least noise for epsilon = {options.epsilon}")
    line(f"{bold('epsilon')}  {bold(cost(bounds[1], 9))} at delta = {float(delta):g}")
    line(dim("         certified: never below the truth"))
    line()
    line(f"{steps} steps, rate {batch}/{examples}, noise of {cost(noise, 9)} times the clipping norm")
    for text in ASSUMED:
        line(dim(text))
    line()
    rows = [["the same training, accounted by", "epsilon"]]
    rows += [[ROUTES[name], cost(value, 9)] for name, value in routes.items()]
    for text in columns(rows, "<>", width=width()):
        line(text)
    return 0
