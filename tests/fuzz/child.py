"""Runs inputs one after another under hard limits, and prints what became of each: started by `test_fuzz.py`.

A call that takes more than ten seconds of the processor is ended by the system, in the middle of whatever it does; one
on densities that a person writes, whose integrals the library does not know, after a minute.
"""

from __future__ import annotations

import json
import linecache
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import zcdp
from zcdp.plans.plan_file import read_plan
from zcdp.plans.plan_text import FREE, parse_open
from zcdp.report import render

SECONDS, BYTES = 10, 2 * 10**9
DENSITIES = ("Noise(", "StudentT(", "Cauchy(", "GeneralizedGaussian(", "AsymmetricLaplace(", "Truncated(", "Mixture(")
MORE_FOR_DENSITIES = 6
DOCUMENTED = (ValueError, TypeError, zcdp.NotCertified, zcdp.BudgetExceeded)
HOME = str(Path(zcdp.__file__).parent)


def calls(job: dict[str, str]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is asked of one input."""
    text, delta, epsilon = job["text"], job["delta"], job["epsilon"]
    if job["kind"] == "file":
        yield "account", lambda: page(zcdp.account(read_plan("x.toml", text), curve=False))
        return
    if job["kind"] == "calibrate":
        yield "calibrate rho", lambda: zcdp.calibrate(fill(text), rho=epsilon)
        yield "calibrate delta", lambda: zcdp.calibrate(fill(text), epsilon=epsilon, delta=delta)
        return
    if job["kind"] == "allocate":
        yield "allocate", lambda: zcdp.allocate([query(one) for one in text.split(" + ")], rho=epsilon)
        return
    read = zcdp.Plan.from_json if job["kind"] == "json" else zcdp.Plan.parse
    made: list[zcdp.Plan] = []
    yield "read", lambda: made.append(read(text))
    if not made:
        return
    [plan] = made
    yield "rho", lambda: check(*plan.rho_bounds, plan.rho)
    yield "rdp", lambda: check(plan.rdp(Random(text).choice((1, 1.5, 2, 64, "1e6", "1e-9", "inf"))))
    yield "epsilon_at", lambda: check(plan.epsilon_at(delta=delta))
    yield "epsilon_bounds", lambda: check(*plan.epsilon_bounds(delta=delta))
    yield "delta_at", lambda: check(plan.delta_at(epsilon=epsilon), 1.0)
    yield "delta_bounds", lambda: check(*plan.delta_bounds(epsilon=epsilon), 1.0)
    yield "routes", lambda: check(min(plan.routes(delta=delta).values()))
    yield "filter", lambda: zcdp.Filter(rho=1).spend(plan)
    yield "json", lambda: same(zcdp.Plan.from_json(plan.to_json()), plan)
    yield "text", lambda: same(zcdp.Plan.parse(repr(plan)), plan)
    if job["kind"] == "account":
        yield "account", lambda: page(zcdp.account(text, delta=delta, curve=False))


def fill(text: str) -> Callable[[float], zcdp.Plan]:
    return lambda value: zcdp.Plan.parse(text.replace("?", repr(value)))


def query(text: str) -> zcdp.Query:
    mechanism, parameters = parse_open(text)
    return zcdp.Query(mechanism, **{name: value for name, value in parameters.items() if value is not FREE})


def check(*rising: float) -> None:
    """Numbers, not NaN, from 0 and in order."""
    assert all(isinstance(value, float) for value in rising), rising
    assert all(low <= high for low, high in zip((0.0, *rising), rising, strict=False)), rising


def same(one: zcdp.Plan, other: zcdp.Plan) -> None:
    assert one == other, (one, other)


def page(facts: zcdp.Account) -> None:
    json.dumps(facts.to_dict(), allow_nan=False)
    render(facts)


def run(call: Callable[[], Any]) -> str:
    """Empty where the call answers, or fails in a documented way: by a sentence of this package."""
    try:
        call()
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        assert trace is not None
        file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        source = linecache.getline(file, line).strip()
        if isinstance(error, DOCUMENTED) and file.startswith(HOME) and source.startswith(("raise ", "self._fail(")):
            return ""
        return f"{type(error).__name__}: {str(error)[:200]} ({Path(file).name}:{line}: {source[:80]})"
    return ""


def main() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    warnings.filterwarnings("error", message=".*please report it")  # Others may answer, but it is a bug.
    for line in sys.stdin:
        job = json.loads(line)
        seconds = SECONDS * (MORE_FOR_DENSITIES if any(name in job["text"] for name in DENSITIES) else 1)
        for name, call in calls(job):
            print(json.dumps({"n": job["n"], "call": name}), flush=True)  # noqa: T201 - the parent reads it
            signal.setitimer(signal.ITIMER_PROF, seconds)
            failure = run(call)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if failure:
                print(json.dumps({"n": job["n"], "call": name, "failure": failure}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
