"""`Training`: noise in clip norms whatever the neighbours, held against explicit gradients and another method."""

from __future__ import annotations

import json
import pickle
import runpy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.program import called as zcdp
from independent.loss_grid import Line, Losses, binned, normals
from mpmath import mp

from zcdp import Allocation as AllocatedEpoch
from zcdp import Gaussian, Laplace, MixtureOfGaussians, Plan, Subsampled, ZcdpError, calibrate
from zcdp.training import Allocation, FixedSize, Poisson, Training

MNIST = ("--examples", "60000", "--batch", "256", "--epochs", "60", "--delta", "1e-5")


def replaced_delta(noise: float, rate: float, steps: int, epsilon: float, step: float = 2e-4) -> float:
    """delta of batches of one size, of gradients that are all C in one direction but one, which is opposite.

    With probability `rate` the sum, of noise sd `noise` C, has mean C and not -C: a lower bound.
    """
    line = Line(normals([(1.0, rate), (-1.0, 1 - rate)], noise), normals([(-1.0, 1.0)], noise), -14 * noise, 14 * noise)
    p, q, _ = binned(line, 20_000)
    places = np.log(p / q) / step
    low = np.floor(places)
    parts = [p * (1 - (places - low)), p * (places - low)]
    one = Losses.at(np.concatenate(parts), np.concatenate([low, low + 1]), step)
    return one.power(steps).delta(epsilon)


def moment_epsilon(noise: float, rate: float, steps: int, delta: float) -> float:
    """epsilon by the bound on moments of any three gradients of norm C (docs/theorems/fixed-size.md, 8), an upper end.

    The moment of gradients that are alike but one, by a trapezoidal sum, and what others may have more; the conversion
    of Canonne, Kamath and Steinke (2020), at the best real order.
    """
    q, square = mp.mpf(rate), (2 / mp.mpf(noise)) ** 2

    def epsilon(s: mp.mpf) -> mp.mpf:
        mu, step = mp.sqrt(square), mp.mpf(1) / 4  # The sum is the integral to e^{-2 pi^2/step^2}.
        places = [step * n for n in range(-40, 41 + int(4 * (1 + s) * mu))]
        moment = step * sum((1 - q + q * mp.exp(mu * z - square / 2)) ** (1 + s) * mp.npdf(z) for z in places)
        moment += q**3 * (mp.expm1(square) * s * (1 + s) / 2 + (s**3 - s) / 6) / (1 - q)
        return (steps * mp.log(moment) - mp.log(delta) + s * mp.log(s) - (1 + s) * mp.log(1 + s)) / s

    low, high = mp.mpf(1), mp.mpf(30)
    while high - low > 1e-3:
        third = (high - low) / 3
        low, high = (low, high - third) if epsilon(low + third) < epsilon(high - third) else (low + third, high)
    return float(epsilon(low))


def renyi_epsilon(noise: float, rate: float, steps: int, delta: float) -> float:
    """epsilon by the moments of whole orders, for the worst of several places of three gradients on a circle.

    The batch has the gradient y, or with probability `rate` the replaced one, at 1 and in the other data set at the
    angle `turn`. Densities on the plane; the conversion of Canonne, Kamath and Steinke (2020).
    """
    line = np.linspace(-9.0 - 8 / noise, 9.0 + 8 / noise, 300)
    u, v = np.meshgrid(line, line)
    log_moments = dict.fromkeys(range(2, 13), 0.0)
    for turn, place in [(np.pi, np.pi), (np.pi, 0.0), (np.pi, 1.5), (np.pi, 3.0), (2.1, -2.1), (2.8, 3.1), (2.8, 2.5)]:
        logs = [-((u - np.cos(t) / noise) ** 2 + (v - np.sin(t) / noise) ** 2) / 2 for t in (0.0, turn, place)]
        p, q = (np.logaddexp(np.log(rate) + one, np.log(1 - rate) + logs[2]) for one in logs[:2])
        for order, known in log_moments.items():
            found = (np.exp(order * p - (order - 1) * q) - np.exp(q)).sum() * (line[1] - line[0]) ** 2 / (2 * np.pi)
            log_moments[order] = max(known, float(np.log1p(found)))
    return min(
        float(steps * k - np.log(delta) + (a - 1) * np.log(a - 1) - a * np.log(a)) / (a - 1)
        for a, k in log_moments.items()
    )


def test_the_multiplier_for_fixed_batches_has_the_epsilon_by_another_method() -> None:
    """As `zcdp sgd --fixed --epsilon 3` finds it; read as a multiple of 2 C it would be half of it."""
    facts = json.loads(zcdp("sgd", *MNIST, "--epsilon", "3", "--fixed", "--json").stdout)
    assert facts["moves"] == "2 C"
    assert facts["relation"] == "replace"
    rate = 256 / 60000
    assert 0.1e-5 < replaced_delta(facts["sigma"], rate, facts["steps"], 3.0) < 1e-5
    assert renyi_epsilon(facts["sigma"], rate, facts["steps"], 1e-5) == pytest.approx(3, rel=1e-2)
    assert moment_epsilon(facts["sigma"], rate, facts["steps"], 1e-5) == pytest.approx(3, rel=1e-7)
    assert replaced_delta(facts["sigma"] / 2, rate, facts["steps"], 3.0) > 0.1
    run = Training(noise_multiplier=facts["sigma"], steps=facts["steps"], sampling=FixedSize(256, of=60_000))
    assert run.epsilon_at(delta="1e-5") == facts["epsilon"] <= 3
    assert "2 C" in zcdp("sgd", *MNIST, "--sigma", "2", "--fixed").stdout


def test_only_the_ratio_of_noise_and_clip_norm_counts() -> None:
    """Doubling C with the noise fixed is halving the multiplier, for which one example moves as far as before."""
    run = Training(noise_multiplier=1, steps=1, sampling=FixedSize(600, of=60_000))
    same = 1 * Subsampled(Gaussian(sigma=2, sensitivity=4), size=600, of=60_000)
    assert run.epsilon_bounds(delta="1e-5") == same.epsilon_bounds(delta="1e-5")
    assert run.moves == "2 C"
    assert "by up to 2 C; the noise on it has standard deviation 1 C" in str(run)


def test_it_is_the_plan_that_it_builds() -> None:
    run = Training(noise_multiplier="1.1", steps=14063, sampling=Poisson("256/60000"))
    plain = 14063 * Subsampled(Gaussian(sigma="1.1"), rate="256/60000")
    assert run == plain
    assert run.epsilon_at(delta="1e-5") == plain.epsilon_at(delta="1e-5")
    assert Plan.from_json(run.to_json()) == plain
    assert run + Laplace(epsilon=1) == plain + Laplace(epsilon=1)
    assert 2 * run == 2 * plain
    assert run.moves == "C"
    assert isinstance(pickle.loads(pickle.dumps(run)), Training)
    assert repr(pickle.loads(pickle.dumps(run))) == repr(run)


def test_a_run_written_out_is_itself() -> None:
    for run in (
        Training(noise_multiplier="1.1", steps=100, sampling=Poisson("0.01")),
        Training(noise_multiplier=2, sampling=FixedSize(6, of=60), schedule=[(10, "1.5"), (20, 1)]),
        Training(noise_multiplier=9, steps=3, sampling=Poisson("0.01"), unit="user", examples_per_user=4),
    ):
        again = eval(repr(run))
        assert repr(again) == repr(run)
        assert again == run


def test_schedules_multiply_the_noise() -> None:
    run = Training(noise_multiplier=2, sampling=Poisson("0.1"), schedule=[(10, "1.5"), (20, 1)])
    assert run == 10 * Subsampled(Gaussian(sigma=3), rate="0.1") + 20 * Subsampled(Gaussian(sigma=2), rate="0.1")
    assert run.steps == 30
    assert "standard deviation 2 C to 3 C" in str(run)


def test_allocated_epochs() -> None:
    run = Training(noise_multiplier=2, sampling=Allocation(10), schedule=[(20, "1.5"), (30, 1)])
    assert run == 2 * AllocatedEpoch(Gaussian(sigma=3), batches=10) + 3 * AllocatedEpoch(Gaussian(sigma=2), batches=10)
    with pytest.raises(ZcdpError, match=r"steps \(15\) must be whole epochs of 10 batches"):
        Training(noise_multiplier=2, steps=15, sampling=Allocation(10))


def test_users() -> None:
    whole = Training(noise_multiplier=2, steps=10, sampling=Poisson("0.1"), unit="user")
    assert whole == 10 * Subsampled(Gaussian(sigma=2), rate="0.1")
    assert "one user, added or removed" in str(whole)
    several = Training(noise_multiplier=2, steps=10, sampling=Poisson("0.1"), unit="user", examples_per_user=4)
    assert several == 10 * MixtureOfGaussians(sigma=2, rate="0.1", examples=4)
    assert several.moves == "4 C"
    assert "one user with at most 4 examples" in str(several)
    assert several.assumed[2].startswith("Each example is drawn by itself")


def test_calibrated_runs_are_least() -> None:
    how: dict[str, Any] = {"steps": 1000, "sampling": Poisson("0.01")}
    run = Training.calibrate(epsilon=2, delta="1e-5", **how)
    assert run.epsilon_at(delta="1e-5") <= 2
    less = Training(noise_multiplier=run.noise_multiplier * Fraction(999, 1000), **how)
    assert less.epsilon_at(delta="1e-5") > 2
    with pytest.raises(ZcdpError, match=r"Training\.calibrate has no parameter 'noise_multiplier'"):
        Training.calibrate(epsilon=2, delta="1e-5", noise_multiplier=1, **how)


@pytest.mark.deep
def test_a_long_schedule_is_calibrated() -> None:
    """Sixty noise levels: the answer is certified, and nearly all of the budget is used."""
    schedule = [(234, Fraction(60 + n, 60)) for n in range(60)]
    z = calibrate(
        lambda z: Training(noise_multiplier=z, sampling=Poisson("256/60000"), schedule=schedule),
        epsilon=3,
        delta="1e-5",
    )
    run = Training(noise_multiplier=z, sampling=Poisson("256/60000"), schedule=schedule)
    assert 3 * (1 - 1e-4) < run.epsilon_at(delta="1e-5") <= 3


def test_the_loop_in_jax_plans_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Its account needs zcdp only; what other packages are asked is left out here."""
    loop = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "jax_loop.py"))
    loop["main"].__globals__["find_spec"] = lambda name: None
    loop["main"]()
    shown = capsys.readouterr().out
    assert "moves the sum of clipped gradients by up to C" in shown
    assert "epsilon 2.000000 at delta 1e-5" in shown
    assert "jax is not installed" in shown
    assert "jax-privacy is not installed" in shown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sampling": "0.1"}, "sampling .* must say how batches are drawn"),
        ({"unit": "household"}, "unit .* must be 'example' or 'user'"),
        ({"examples_per_user": 3}, r"examples_per_user \(3\) is for unit='user'"),
        ({"unit": "user", "examples_per_user": 0}, "examples_per_user"),
        ({"noise_multiplier": 0}, r"noise_multiplier \(0\) must be positive"),
        ({"steps": None}, "give steps, or a schedule"),
        ({"schedule": []}, "schedule must be pairs"),
        ({"schedule": [5]}, "schedule must be pairs"),
        ({"schedule": "5:1"}, "schedule must be pairs"),
        ({"schedule": [(5, 0)]}, r"factor \(0\) must be positive"),
        ({"schedule": [(5, 1)]}, r"steps \(10\) must be the sum of the schedule's \(5\)"),
        ({"unit": "user", "examples_per_user": 2, "sampling": FixedSize(6, of=60)}, "no bound is known"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    known: dict[str, Any] = {"noise_multiplier": 1, "steps": 10, "sampling": Poisson("0.1")}
    with pytest.raises(ZcdpError, match=message):
        Training(**{**known, **given})
