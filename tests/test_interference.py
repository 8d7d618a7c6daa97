"""Forks, threads, a foreign precision and interrupts: answers are right or a documented error, and nothing is left."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from math import inf
from threading import Event, Thread

import pytest
from flint import ctx

from zcdp import (
    BudgetExceeded,
    Filter,
    Gaussian,
    Laplace,
    NotCertified,
    Odometer,
    Plan,
    RandomizedResponse,
    TruncatedGeometric,
)
from zcdp.accounting.filter import units
from zcdp.numeric import work
from zcdp.numeric.balls import _setting, at_precision, growing_precision

PATIENCE = 20  # seconds, after which a child or a thread counts as hanging


def mixed(n: int = 0) -> Plan:
    """A plan that was not asked anything yet, and that takes each of the routes some time."""
    return 20 * Laplace(epsilon=Fraction(10 + n, 100)) + 5 * RandomizedResponse(epsilon=1, k=9) + Gaussian(sigma=20)


ASKED: tuple[Callable[[Plan], object], ...] = (
    lambda plan: plan.epsilon_bounds(delta=1e-6),
    lambda plan: plan.delta_bounds(epsilon=2),
    lambda plan: plan.routes(delta=1e-6),
    lambda plan: plan.rho_bounds,
    lambda plan: plan.rdp([1, 3, 100]).tolist(),
)


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """While another thread works, over and over, switching as often as can be."""
    stop = Event()

    def run() -> None:
        while not stop.is_set():
            work()

    before = sys.getswitchinterval()
    thread = Thread(target=run, daemon=True)
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        yield
    finally:
        stop.set()
        thread.join(PATIENCE)
        sys.setswitchinterval(before)
    assert not thread.is_alive()


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
def test_a_child_that_is_forked_in_the_middle_answers() -> None:
    before, expected = (ctx.prec, ctx.cap), [ask(mixed()) for ask in ASKED]
    with meanwhile(lambda: [ask(mixed(random.randrange(1, 90))) for ask in ASKED]):
        for _ in range(8):
            time.sleep(random.uniform(0, 0.01))
            assert in_child(lambda: (ctx.prec, ctx.cap) == before and [ask(mixed()) for ask in ASKED] == expected)


@forks
@warned
@pytest.mark.parametrize("bits", [60, 777])
def test_a_child_finds_the_precision_of_the_caller(bits: int) -> None:
    """The thread that set another one does not exist in the child: nobody would restore it."""
    inside, leave, before = Event(), Event(), (ctx.prec, ctx.cap)
    expected = Laplace(epsilon=1).rho
    holder = Thread(target=lambda: at_precision(bits, lambda: (inside.set(), leave.wait(PATIENCE)), terms=3))
    holder.start()
    try:
        assert inside.wait(PATIENCE)
        assert in_child(lambda: (ctx.prec, ctx.cap) == before and Laplace(epsilon=1).rho == expected)
    finally:
        leave.set()
        holder.join()
    assert (ctx.prec, ctx.cap) == before


@forks
def test_a_fork_within_keeps_its_own_precision() -> None:
    """The thread that forks goes on in the child: in the middle of what it computed."""

    def inside() -> bool:
        return at_precision(99, lambda: ctx.prec) == 99 and ctx.prec == 777

    assert at_precision(777, lambda: in_child(inside))


@pytest.mark.filterwarnings("ignore:the .* failed")  # a ball that is none may lead an engine astray
def test_a_foreign_precision_gives_the_answer_or_none() -> None:
    """Another thread sets flint's precision as it likes: never a number on the wrong side, and only one error."""
    truth = [ask(mixed()) for ask in ASKED]
    epsilon, delta, _, rho, _ = truth
    found = 0

    def disturb() -> None:
        ctx.prec = random.choice((2, 3, 5, 10, 30, 53, 1000))

    before = ctx.prec
    try:
        with meanwhile(disturb):
            for _ in range(12):
                for ask, right in zip(ASKED, truth, strict=True):
                    try:
                        answer = ask(mixed())
                    except NotCertified:
                        continue
                    found += 1
                    if right in (epsilon, delta, rho):
                        assert answer[0] <= right[1]
                        assert right[0] <= answer[1]
                    elif isinstance(right, dict):
                        assert all(value >= epsilon[0] for value in answer.values())
                    else:
                        assert all(one >= other * (1 - 1e-12) for one, other in zip(answer, right, strict=True))
    finally:
        ctx.prec = before
    assert [ask(mixed()) for ask in ASKED] == truth


Interrupted = Callable[[float, Callable[[], object]], bool]
LOST = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one inside of a `__del__`


@pytest.fixture
def interrupted() -> Iterator[Interrupted]:
    """Acts, with a KeyboardInterrupt after so many seconds; whether it came.

    Python cannot raise inside a callback of its collector, so none runs: the interrupt would be lost, and a warning.
    """

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def interrupted(seconds: float, act: Callable[[], object]) -> bool:
        try:  # The outer one is for an interrupt between the end of the act and that of the timer.
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                act()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            return True
        return False

    handler = signal.signal(signal.SIGALRM, stop)
    gc.disable()
    try:
        yield interrupted
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, handler)


@LOST
def test_an_interrupt_leaves_no_precision_behind(interrupted: Interrupted) -> None:
    """Hardly anything is done but to set the precision and to restore it, so most interrupts come there."""
    before, came = (ctx.prec, ctx.cap), 0

    def act() -> None:
        while True:
            for bits in growing_precision(77):
                if bits == 154:
                    break
            for _ in growing_precision(99):
                with suppress(ArithmeticError):
                    at_precision(60, lambda: 1 // 0)

    for n in range(300):
        came += interrupted(1e-5 * (1 + n % 30), act)
        assert (ctx.prec, ctx.cap) == before
        assert not _setting.lock._is_owned()
        assert _setting.found is None
    assert came == 300  # None of them got lost.


@LOST
@pytest.mark.parametrize("ask", ASKED, ids=["epsilon", "delta", "routes", "rho", "rdp"])
def test_an_interrupt_leaves_nothing_behind(ask: Callable[[Plan], object], interrupted: Interrupted) -> None:
    """At any time in the middle: precision and limits are restored, and the same plan then gives the right answer."""
    expected, before, came = ask(mixed()), (ctx.prec, ctx.cap), 0
    for n in range(40):
        plan = mixed()
        came += interrupted(1e-4 * 1.2**n, partial(ask, plan))
        assert (ctx.prec, ctx.cap) == before
        assert work._meter.last == inf
        if n % 8 == 0:
            assert ask(plan) == expected
    assert came


@LOST
def test_an_interrupted_spend_is_charged_or_not(interrupted: Interrupted) -> None:
    budget, odometer, released = Filter(rho=10**6), Odometer(), 0
    part = TruncatedGeometric(epsilon=1, n=3)

    def spend() -> None:
        nonlocal released
        with suppress(BudgetExceeded):
            while True:
                budget.spend(rho=1)
                released += 1
                odometer.spend(part)

    for n in range(60):
        interrupted(1e-5 * 1.1**n, spend)
        assert budget.spent >= released
        assert budget.spent.denominator == 1
        count = odometer.plan.parts[0][1] if odometer._plan is not None else 0
        assert odometer._used == count * units(part.rho_fraction)
        with budget._lock, odometer._lock:  # both are free
            pass
    assert released
