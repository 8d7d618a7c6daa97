"""Threads and forks: locks are free in a forked child, and attributes that are computed once hold none."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from threading import Event, Thread

import pytest

from zcdp import BudgetExceeded, Filter, Laplace, Odometer, PureDP
from zcdp.numeric.balls import at_precision

PATIENCE = 20  # seconds, after which a child or a thread counts as hanging


def in_child(work: Callable[[], bool]) -> bool:
    """Whether `work` holds in a forked child; a child that hangs is ended, and counts as not."""
    child = os.fork()
    if not child:
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
warned = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@forks
@warned
def test_a_child_does_not_wait_for_a_filter_or_an_odometer_that_was_busy() -> None:
    """The filter refuses, as its budget is the parent's; the odometer adds up what the child spends."""
    budget, odometer = Filter(rho=1), Odometer()
    busy, leave = Event(), Event()

    def hold() -> None:
        with budget._lock, odometer._lock:
            busy.set()
            leave.wait(PATIENCE)

    def spend() -> bool:
        odometer.spend(Laplace(epsilon=1))
        with budget._lock, pytest.raises(BudgetExceeded):
            budget.spend(rho="0.25")
        return budget.remaining == 1 and odometer.plan.parts == ((Laplace(epsilon=1), 1),)

    holder = Thread(target=hold)
    holder.start()
    try:
        assert busy.wait(PATIENCE)
        assert in_child(spend)
    finally:
        leave.set()
        holder.join()
    assert budget.remaining == 1


def test_attributes_that_are_computed_once_hold_no_lock() -> None:
    """One thread computes the pure epsilon of a plan, and needs the balls; another has them, and needs its own."""
    first, second, answers = Event(), Event(), []

    class Slow(PureDP):
        @property
        def largest_loss(self) -> Fraction:
            first.set()
            second.wait(1)
            return Fraction(1)

    def other() -> float:
        second.set()
        return PureDP(epsilon=2).pure_epsilon

    threads = [
        Thread(target=lambda: answers.append(Slow(epsilon=1).pure_epsilon), daemon=True),
        Thread(target=lambda: (first.wait(PATIENCE), answers.append(at_precision(64, other))), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(answers) == [1, 2]
