"""`Check` and its `Result`, the list of all checks, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter

__all__ = ["Check", "Result", "checks", "run"]


@dataclass(frozen=True)
class Check:
    """A statement of one theorem, and a function that returns whether it holds in the computed cases."""

    theorem: str
    statement: str
    holds: Callable[[], bool]


@dataclass(frozen=True)
class Result:
    """The result of a check; `error` is the exception's text if the check raised one."""

    check: Check
    passed: bool
    seconds: float
    error: str | None = None


def checks(*, deep: bool = False) -> list[Check]:
    """All checks; `deep` computes many more cases of each. A mechanism whose theorem has none is checked by example."""
    from zcdp.verification import check_collection as collection
    from zcdp.verification import check_conversions as conversions
    from zcdp.verification import check_formulas as formulas
    from zcdp.verification import check_limits as limits
    from zcdp.verification import check_profiles as profiles
    from zcdp.verification import check_runs as runs
    from zcdp.verification import check_sampling as sampling
    from zcdp.verification import check_small_cases as small_cases
    from zcdp.verification import check_tables as tables

    modules = (formulas, limits, conversions, profiles, sampling, collection, tables, runs, small_cases)
    listed = [check for module in modules for check in module.checks(deep=deep)]
    return [*listed, *formulas.examples({check.theorem for check in listed})]


def run(which: list[Check]) -> Iterator[Result]:
    """Run the checks one by one, yielding each result."""
    for check in which:
        start = perf_counter()
        try:
            passed, error = bool(check.holds()), None
        except Exception as failure:  # a check that raises has failed; the next one still runs
            passed, error = False, f"{type(failure).__name__}: {failure}"
        yield Result(check, passed, perf_counter() - start, error)
