"""`zcdp sgd`: epsilon of training by noisy gradients, however batches are drawn, or the least noise for an epsilon."""

from __future__ import annotations

from argparse import Namespace
from fractions import Fraction
from math import ceil
from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, columns, dim, line, print_json, width
from zcdp.numeric.exact import integer, positive_rational, probability
from zcdp.privacy.curve import Plan
from zcdp.text.numbers import cost, lower
from zcdp.training import Allocation, Batches, FixedSize, Poisson, Training, Truncated

__all__ = ["run"]


ROUTES = {
    "profile": "privacy profile",
    "rdp": "Renyi curve",
    "zcdp": "rho alone: blind to sampling",
    "pure": "largest loss",
}
LEAST = 1e-2  # relative distance of epsilon from its budget up to which noise is called the least
EXACT = 1e-6  # relative gap of both ends below which the profile counts as exact
WHOLE_USERS = "whole"  # the value of --users without a number


def run(options: Namespace) -> int:
    """Print the certified epsilon for --sigma, or the least sigma for --epsilon."""
    if (options.sigma is None) == (options.epsilon is None):
        raise BadUsage("give --sigma to learn epsilon, or --epsilon to learn sigma")
    examples, batch, rate = _drawn(options)
    delta = probability(options.delta, "delta")
    how = _how(options, examples, batch, rate)
    with Progress() as progress:
        progress(0.2, "accounting")
        if options.sigma is None:
            training = Training.calibrate(epsilon=positive_rational(options.epsilon, "epsilon"), delta=delta, **how)
        else:
            training = Training(noise_multiplier=positive_rational(options.sigma, "sigma"), **how)
        noise = float(training.noise_multiplier)
        routes = training.routes(delta=delta)
        bounds = training.epsilon_bounds(delta=delta)
    if options.json:
        facts: dict[str, Any] = {"plan": Plan.__repr__(training), "relation": training.relation.value}
        facts |= {"training": repr(training), "moves": training.moves, "unit": training.unit}
        facts |= {"examples": examples, "batch": batch}
        facts |= {"rate": str(rate), "steps": training.steps, "sigma": noise, "delta": float(delta)}
        print_json(
            {**facts, "epsilon": bounds[1], "epsilon_bounds": list(bounds), "routes": routes, "rho": training.rho}
        )
        return 0
    if options.sigma is None:
        near = bounds[1] >= (1 - LEAST) * float(positive_rational(options.epsilon, "epsilon"))
        what = "the least noise for" if near else "enough noise, not shown to be the least, for"
        line(f"{bold('sigma')}    {bold(repr(noise))}: {what} epsilon = {options.epsilon}")
    line(f"{bold('epsilon')}  {bold(cost(bounds[1], 9))} at delta = {float(delta):g}")
    line(dim("         certified: never below the truth"))
    line()
    drawn = f"rate {options.rate or f'{batch}/{examples}'}"
    if options.fixed:
        drawn = f"batches of {batch} out of {examples}"
    if isinstance(training.sampling, Allocation):
        drawn = f"{training.sampling.batches} batches in each epoch"
    times = "times the clipping norm C" if options.schedule is None else "times C, times the factor of the schedule"
    line(f"{training.steps} steps, {drawn}, noise of {cost(noise, 9)} {times}")
    for text in training.assumed:
        line(dim(text))
    line()
    rows = [["the same training, accounted by", "epsilon"]]
    exact = bounds[1] - bounds[0] <= EXACT * bounds[1]
    rows += [
        [ROUTES.get(name, name) + ", exact" * (exact and name == "profile"), cost(value, 9)]
        for name, value in routes.items()
    ]
    rows += [] if exact else [["some data set has at least", lower(bounds[0], 9)]]
    for text in columns(rows, "<>", width=width()):
        line(text)
    return 0


def _drawn(options: Namespace) -> tuple[int | None, int | None, Fraction]:
    """How many examples there are and a batch has, where that was said, and the rate at which they are drawn."""
    examples = None if options.examples is None else integer(options.examples, "examples", 1)
    if (options.batch is None) == (options.rate is None):
        raise BadUsage("give --examples and --batch, or --rate")
    if options.rate is not None:
        return examples, None, Poisson(options.rate).rate
    batch = integer(options.batch, "batch", 1)
    if examples is None:
        raise BadUsage("give --examples and --batch, or --rate")
    if batch > examples:
        raise BadUsage(f"batch ({batch}) must be at most the number of examples ({examples})")
    return examples, batch, Fraction(batch, examples)


def _how(options: Namespace, examples: int | None, batch: int | None, rate: Fraction) -> dict[str, Any]:
    """What the options say of the training, but for its noise, as arguments of `Training`."""
    sampling = _sampling(options, examples, batch, rate)
    how: dict[str, Any] = {"sampling": sampling}
    if sum(one is not None for one in (options.epochs, options.steps, options.schedule)) != 1:
        raise BadUsage("give --epochs, or --schedule EPOCHS:FACTOR,..., or --steps")
    if options.steps is not None:
        how["steps"] = integer(options.steps, "steps", 1)
    elif options.epochs is not None:
        how["steps"] = _steps(options.epochs, sampling, 1 / rate)
    else:
        how["schedule"] = [
            (_steps(epochs, sampling, 1 / rate), positive_rational(factor, "factor"))
            for epochs, factor in _entries(options.schedule)
        ]
    if options.users is not None:
        how["unit"] = "user"
        if options.users != WHOLE_USERS:
            how["examples_per_user"] = integer(options.users, "users", 1)
    return how


def _steps(epochs: str, sampling: Batches, per_epoch: Fraction) -> int:
    """How many steps so many epochs have; of allocated ones there are whole epochs only."""
    if isinstance(sampling, Allocation):
        return integer(epochs, "epochs", 1) * sampling.batches
    return ceil(positive_rational(epochs, "epochs") * per_epoch)


def _sampling(options: Namespace, examples: int | None, batch: int | None, rate: Fraction) -> Batches:
    """How batches are drawn: by rate, unless one of the options says otherwise."""
    if bool(options.fixed) + bool(options.allocation) + (options.truncated is not None) > 1:
        raise BadUsage("give one of --fixed, --allocation and --truncated: batches are drawn in one way")
    if options.fixed:
        if examples is None or batch is None:
            raise BadUsage("--fixed needs --examples and --batch: batches of exactly so many")
        return FixedSize(batch, of=examples)
    if options.allocation:
        return Allocation(ceil(1 / rate))
    if options.truncated is not None:
        if examples is None:
            raise BadUsage("--truncated needs --examples: how often a batch is full depends on it")
        return Truncated(rate, integer(options.truncated, "truncated", 1), of=examples)
    return Poisson(rate)


def _entries(schedule: str) -> list[tuple[str, str]]:
    """The entries EPOCHS:FACTOR of a schedule."""
    entries = [entry.partition(":") for entry in schedule.split(",")]
    if not all(colon for _, colon, _ in entries):
        raise BadUsage(f"schedule ({schedule!r}) must be EPOCHS:FACTOR with commas between them, as 20:1.5,40:1")
    return [(epochs.strip(), factor.strip()) for epochs, _, factor in entries]
