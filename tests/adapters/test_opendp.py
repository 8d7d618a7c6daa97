"""OpenDP's own measurements with tight maps: the figures, the combinators, its samplers audited, what is refused."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, permutations, product
from math import exp, log, sqrt
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest

import zcdp
from zcdp.adapters import opendp as zo
from zcdp.adapters.opendp.measurements import forward

dp.enable_features("contrib", "honest-but-curious")
REAL = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)
SCORES = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
RHO, PURE = dp.zero_concentrated_divergence(), dp.max_divergence()


def bits(weight: int | None = 1) -> Any:
    domain = dp.bitvector_domain(max_weight=weight)
    return dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=0.5)


TABLE = [
    ("Laplace", dp.m.make_laplace(*REAL, scale=1.0), 1.0, 0.5, 0.367879),
    ("geometric", dp.m.make_geometric(*WHOLE, scale=2.0), 4, 2.0, 1.170339),
    ("6-RR", dp.m.make_randomized_response(list("abcdef"), prob=0.5), 1, 1.295145, 0.643775),
    ("RAPPOR", bits(), 1, 2.413898, 1.098612),
    ("noisy max", dp.m.make_noisy_max(*SCORES, RHO, scale=0.5), 1, 2.0, 1.669850),
]


@pytest.mark.parametrize(("name", "measurement", "distance", "cast", "tight"), TABLE, ids=[row[0] for row in TABLE])
def test_the_table(name: str, measurement: Any, distance: Any, cast: float, tight: float) -> None:
    theirs = measurement if name == "noisy max" else dp.c.make_pureDP_to_zCDP(measurement)
    assert theirs.map(distance) == pytest.approx(cast, abs=5e-7)
    assert zo.tighten(measurement).map(distance) == pytest.approx(tight, abs=5e-7)
    assert zo.tighten(theirs).map(distance) == zo.tighten(measurement).map(distance)
    assert zo.tighten(zo.tighten(measurement)).map(distance) == zo.tighten(measurement).map(distance)


def test_the_map_is_that_of_the_lattice_that_is_drawn_from() -> None:
    """At 2^0, values move by one whole step more than they do before rounding; 0.3 may move by one."""
    coarse = zo.tighten(dp.m.make_laplace(*REAL, scale=8.0, k=0))
    for distance, steps in ((0.3, 1), (1.0, 2), (4.0, 5), (4.5, 5)):
        assert coarse.map(distance) == zcdp.DiscreteLaplace(scale=8, sensitivity=steps).rho
    fine, finest = (dp.m.make_laplace(*REAL, scale=8.0, k=k) for k in (-1074, None))
    for distance in (1.0, 0.1, 1e-9, 1e6):
        assert zo.tighten(fine).map(distance) == zo.tighten(finest).map(distance)
        assert zo.tighten(finest).map(distance) >= zcdp.Laplace(scale=8, sensitivity=distance).rho
    assert finest.map(1.0) == 1 / 8
    assert zo.tighten(finest).map(0.0) == 0
    one = zcdp.Laplace(scale=8, sensitivity=1).rho
    assert zo.tighten(finest).map(1.0) <= np.nextafter(one, 1)
    single = dp.atom_domain(T="f32", nan=False), dp.absolute_distance(T="f32")
    assert zo.tighten(dp.m.make_laplace(*single, scale=8.0)).map(1.0) == pytest.approx(one, rel=1e-15)
    vector = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    tight = zo.tighten(dp.m.make_laplace(*vector, scale=8.0))
    assert tight.map(1.0) == zo.tighten(finest).map(1.0)
    assert len(tight([1.0, 2.0, 3.0])) == 3
    mixed = dp.atom_domain(T=int), dp.absolute_distance(T=float)
    assert zo.tighten(dp.m.make_laplace(*mixed, scale=2.0)).map(1.5) == zcdp.DiscreteLaplace(epsilon="1/2").rho


def test_a_value_outside_of_the_set_costs_no_more() -> None:
    """It is answered uniformly, a mean of the rows: no divergence from a row exceeds that of two rows."""
    k, truth = 6, 0.5
    row = [truth] + [(1 - truth) / (k - 1)] * (k - 1)
    measurement = dp.m.make_randomized_response(list("abcdef"), prob=truth)
    answers = [measurement("z") for _ in range(6000)]
    assert all(abs(answers.count(one) - 1000) < 150 for one in "abcdef")
    outside = zcdp.LossPair(row, [1 / k] * k)
    tight = zo.tighten(measurement).map(1)
    assert outside.rho <= tight
    assert zo.tighten(measurement)("z") in "abcdef"


def test_composed_and_mixed_with_gaussian_noise() -> None:
    tight, gaussian = zo.tighten(dp.m.make_laplace(*REAL, scale=1.0)), dp.m.make_gaussian(*REAL, scale=2.0)
    both = dp.c.make_composition([tight, gaussian])
    assert both.map(1.0) == pytest.approx(0.367879 + 0.125, abs=1e-6)
    assert zo.tighten(dp.c.make_composition([dp.c.make_pureDP_to_zCDP(TABLE[0][1]), gaussian])).map(1.0) == both.map(
        1.0
    )
    assert len(both(5.0)) == 2
    assert 0.49 < zo.approximate(both).plan(1.0).rho < 0.493
    through_rho = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(both), 1e-6).map(1.0)[0]
    assert zo.approximate(both).epsilon(1.0, delta=1e-6) <= through_rho
    found = dp.binary_search_param(
        lambda s: zo.tighten(dp.m.make_laplace(*REAL, scale=s)), d_in=1.0, d_out=0.1, T=float
    )
    assert found == pytest.approx(1 / zcdp.Laplace.calibrate(rho="0.1").epsilon, rel=1e-6)
    assert found < sqrt(5)  # the noise of their cast


def test_chains_and_post_processing_keep_their_parts() -> None:
    rows = dp.vector_domain(dp.atom_domain(bounds=(0, 10))), dp.symmetric_distance()
    chain = rows >> dp.t.then_sum() >> dp.m.then_laplace(scale=20.0)
    assert zo.tighten(chain).map(2) == zcdp.DiscreteLaplace(scale=20, sensitivity=20).rho
    assert zo.plan(chain, 2) == zcdp.Plan.sum_of(zcdp.DiscreteLaplace(scale=20, sensitivity=20))
    doubled = zo.tighten(chain >> (lambda value: value * 2))
    assert doubled.map(2) == zo.tighten(chain).map(2)
    assert doubled([1, 2, 3]) % 2 == 0


def test_fifty_laplace_releases_as_epsilon_and_delta() -> None:
    fifty = dp.c.make_composition([dp.c.make_pureDP_to_zCDP(TABLE[0][1])] * 50)
    theirs = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(fifty), 1e-6).map(1.0)[0]
    assert theirs == pytest.approx(60.56, abs=5e-3)
    tight = zo.tighten(fifty)
    assert dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(tight), 1e-6).map(1.0)[0] <= 48.79  # rho alone
    ours = zo.approximate(tight)
    assert ours.plan(1.0).routes(delta=1e-6)["rdp"] == pytest.approx(42.75, abs=5e-3)
    assert ours.epsilon(1.0, delta=1e-6) == pytest.approx(41.6048, abs=1e-4)  # the exact profile
    assert ours.epsilon(0.0, delta=1e-6) == 0
    assert ours.fixed(1e-6).map(1.0) == (ours.epsilon(1.0, delta=1e-6), 1e-6)
    profile = ours.map(1.0)
    assert profile.delta(epsilon=41.61) <= 1e-6 < profile.delta(epsilon=41.6)
    assert len(ours(3.0)) == 50


def test_renyi_curves_become_epsilon_and_delta() -> None:
    """OpenDP adds curves up, and has no way from there to (epsilon, delta)."""
    ten = dp.c.make_composition([zo.renyi(TABLE[0][1])] * 10)
    exact = 10 * zcdp.Laplace(epsilon=1)
    assert ten.map(1.0)(3.0) == pytest.approx(exact.rdp(3), rel=1e-12)
    assert zo.approximate(ten).epsilon(1.0, delta=1e-6) == pytest.approx(exact.epsilon_at(delta=1e-6), rel=1e-9)
    known = zo.renyi(TABLE[0][1])
    mine = dp.m.make_user_measurement(
        *REAL, dp.renyi_divergence(), function=lambda x: x, privacy_map=lambda d: lambda order: order * d / 8, TO=float
    )
    mixed = zo.approximate(dp.c.make_composition([known, mine]))  # of which one part is known by its curve alone
    truth = zcdp.Laplace(epsilon=1) + zcdp.Gaussian(rho="1/8")
    bound = truth.routes(delta=1e-6)["rdp"]
    assert bound * (1 - 1e-9) <= mixed.epsilon(1.0, delta=1e-6) <= bound * (1 + 1e-4)
    assert mixed.delta(1.0, epsilon=bound * (1 + 1e-3)) <= 1e-6
    assert mixed.map(1.0).epsilon(1e-6) == pytest.approx(bound, rel=1e-3)
    with pytest.raises(zo.Refused, match="it is measured in RenyiDivergence"):
        zo.plan(mine, 1.0)


def test_an_odometer_adds_tight_costs() -> None:
    odometer = dp.c.make_fully_adaptive_composition(*REAL, RHO)(3.0)
    tight = zo.tighten(dp.m.make_laplace(*REAL, scale=1.0))
    for _ in range(3):
        odometer(tight)
    assert odometer.privacy_loss(1.0) == pytest.approx(3 * 0.36787944117144233, rel=1e-12)


def test_the_context_finds_less_noise() -> None:
    zo.register()
    zo.register()  # once more does no harm
    context = dp.Context.compositor(
        data=[1.0, 2.0, 3.0] * 10,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=0.5),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=float, nan=False)),
    )
    query = context.query().clamp((0.0, 10.0)).sum().tight_laplace()
    budget = zcdp.Laplace.calibrate(rho="0.25", sensitivity=10)
    assert query.param() == pytest.approx(float(budget.scale), rel=1e-6)
    assert query.param() < 14.14 * 0.9
    assert isinstance(query.release(), float)


def selected(measurement: Any, scores: list[int], draws: int) -> float:
    return sum(measurement(scores) == 0 for _ in range(draws)) / draws


def test_noisy_max_draws_from_the_law_that_is_charged() -> None:
    """Gumbel noise where it is measured in rho, exponential noise where it is measured in epsilon."""
    draws = 6000
    gumbel, flips = 1 / (1 + exp(2)), exp(-2) / 2
    for measure, truth, other in ((RHO, gumbel, flips), (PURE, flips, gumbel)):
        share = selected(dp.m.make_noisy_max(*SCORES, measure, scale=0.5), [0, 1], draws)
        noise = sqrt(truth * (1 - truth) / draws)
        assert abs(share - truth) < 5 * noise < abs(share - other)


AUDITED = [
    ("Laplace", dp.m.make_laplace(*REAL, scale=1.0), 0.0, 1.0, 1),
    ("Laplace on a lattice", dp.m.make_laplace(*REAL, scale=1.0, k=0), 0.4, 0.6, 1),
    ("geometric", dp.m.make_geometric(*WHOLE, scale=2.0), 0, 4, 4),
    ("randomized response", dp.m.make_randomized_response([0, 1, 2, 3], prob=0.7), 0, 1, 1),
    ("noisy max", dp.m.make_noisy_max(*SCORES, PURE, scale=1.0), [0, 0], [1, -1], 1),
    ("exponential mechanism", dp.m.make_noisy_max(*SCORES, RHO, scale=1.0), [0, 4], [1, 3], 1),
]


@pytest.mark.parametrize(("name", "measurement", "one", "other", "distance"), AUDITED, ids=[row[0] for row in AUDITED])
def test_their_samplers_do_not_spend_more_than_we_charge(
    name: str, measurement: Any, one: Any, other: Any, distance: Any
) -> None:
    def outputs(value: Any) -> Any:
        return lambda size: np.array([measurement(value) for _ in range(size)])

    move = float(abs(one - other)) if name == "Laplace on a lattice" else distance
    charged = zo.plan(measurement, move).pure_epsilon
    found = zcdp.audit((outputs(one), outputs(other)), epsilon=charged, draws=5000)
    assert not found.violated
    assert found.epsilon_lower > 0.25 * charged  # it can see: a quarter of it would be caught


def test_another_law_is_refused() -> None:
    flips = dp.m.make_noisy_max(*SCORES, PURE, scale=0.5)
    assert zo.tighten(flips, law=zcdp.PermuteAndFlip).map(1) == zcdp.PermuteAndFlip(epsilon=4).rho
    with pytest.raises(zo.Refused, match="draws from PermuteAndFlip, not from ExponentialMechanism"):
        zo.tighten(flips, law=zcdp.ExponentialMechanism)
    forged = dp.m.make_noisy_max(*SCORES, PURE, scale=0.5)
    forged.__opendp_dict__ = dp.m.make_noisy_max(*SCORES, RHO, scale=0.5).__opendp_dict__
    with pytest.raises(zo.Refused, match="its record is of another measurement"):
        zo.tighten(forged)
    forged = dp.m.make_laplace(*REAL, scale=1.0)
    forged.__opendp_dict__ = dp.m.make_laplace(*REAL, scale=0.5).__opendp_dict__
    with pytest.raises(zo.Refused, match=r"its map says 1\.0 at 1, its record 2\.0"):
        zo.tighten(forged)
    forged = dp.m.make_laplace(*REAL, scale=0.5)  # less noise than the record says
    forged.__opendp_dict__ = dp.m.make_laplace(*REAL, scale=1.0).__opendp_dict__
    with pytest.raises(zo.Refused, match="its map says"):
        zo.tighten(forged)


REFUSED = {
    "a function": lambda: dp.m.make_user_measurement(*REAL, RHO, function=lambda x: x, privacy_map=lambda d: d),
    "Gaussian noise": lambda: dp.m.make_gaussian(*REAL, scale=1.0),
    "truncated": lambda: dp.m.make_geometric(*WHOLE, scale=2.0, bounds=(0, 10)),
    "bits without a weight": lambda: bits(None),
    "a blind guess": lambda: dp.m.make_randomized_response([0, 1], prob=0.5),
    "its name": lambda: dp.m.make_report_noisy_max_gumbel(*SCORES, scale=1.0),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused(name: str) -> None:
    try:
        measurement = REFUSED[name]()
    except Exception as error:
        pytest.skip(f"OpenDP refuses it itself: {error!s:.60}")
    with pytest.raises(zo.Refused, match="is refused: "):
        zo.tighten(measurement)


def test_what_is_not_known_counts_by_their_own_map() -> None:
    mine = dp.m.make_user_measurement(*REAL, PURE, function=lambda x: 0.0, privacy_map=lambda d: d, TO=float)
    assert zo.plan(mine, 1.0) == zcdp.Plan.sum_of(zcdp.PureDP(epsilon=1))
    assert zo.approximate(mine).epsilon(1.0, delta=0.0) == 1
    with pytest.raises(ValueError, match="nothing is spent"):
        zo.plan(TABLE[0][1], 0.0)
    with pytest.raises(zo.Refused, match="it is measured in"):
        zo.approximate(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*REAL, scale=1.0)))
    assert zo.plan(bits(3), 1) == 3 * zcdp.RAPPOR(epsilon=zcdp.Log(9))
    assert log(9) == pytest.approx(bits(1).map(1))


INTEGERS = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)


@pytest.mark.parametrize(
    "without", [(), ("CallbackFnValue",), ("unwrap",)], ids=["as it is", "no callbacks", "no unwrap"]
)
def test_the_data_reach_the_sampler_as_they_are(without: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of a scale of 1/100 is zero nearly always, so what comes out is what went in, whichever way it takes."""
    for name in without:
        monkeypatch.delattr(f"opendp._lib.{name}")
    tight = zo.tighten(dp.m.make_geometric(*INTEGERS, scale=0.01))
    monkeypatch.undo()  # OpenDP needs them
    gc.collect()
    for data in ([], [7], list(range(-500, 500)), [2**31 - 1, -(2**31)]):
        assert tight(data) == data == tight.invoke(data)
    twice = dp.c.make_composition([tight, tight])
    assert twice([3, 4]) == [[3, 4], [3, 4]]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tight, [[n] * 100 for n in range(40)])) == [[n] * 100 for n in range(40)]


def test_what_goes_wrong_inside_comes_out_as_an_error() -> None:
    def fails(data: list[int]) -> list[int]:
        raise ArithmeticError("the sensor is off")

    inner = dp.m.make_user_measurement(*INTEGERS, PURE, function=fails, privacy_map=lambda d: 1.0, TO="Vec<i32>")
    outer = dp.m.make_user_measurement(
        *INTEGERS, RHO, function=forward(inner), privacy_map=lambda d: 1.0, TO="Vec<i32>"
    )
    with pytest.raises(dp.OpenDPException, match="the sensor is off"):
        outer([1])


ORDERS = np.array([1.0001, 1.01, 1.1, 1.3, 1.7, 2, 2.5, 3, 4, 6, 10, 20, 50, 200])


def worst_rho(*laws: Any) -> float:
    """The largest Renyi divergence of two of these laws, over its order: from the logarithms of their masses."""
    return max(
        float(np.max(logsumexp(ORDERS[:, None] * p - (ORDERS[:, None] - 1) * q) / (ORDERS - 1) / ORDERS))
        for p, q in permutations(laws, 2)
    )


def logsumexp(rows: Any) -> Any:
    top = rows.max(axis=1, keepdims=True)
    return np.log(np.exp(rows - top).sum(axis=1)) + top[:, 0]


def noise_law(at: int, scale: float) -> Any:
    places = np.arange(-4000, 4001)
    return log(np.tanh(0.5 / scale)) - np.abs(places - at) / scale


def response_law(value: int, k: int, truth: float) -> Any:
    return np.log(np.where(np.arange(k) == value, truth, (1 - truth) / (k - 1)))


def bits_law(bits_set: tuple[int, ...], flip: float, size: int) -> Any:
    reports = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    same = reports == np.isin(np.arange(size), bits_set)
    return np.log(np.where(same, 1 - flip / 2, flip / 2)).sum(axis=1)


def choice_law(scores: tuple[int, ...], scale: float) -> Any:
    raised = np.array(scores) / scale
    return raised - logsumexp(raised[None, :])[0]


def test_the_map_covers_the_laws_of_explicit_neighbours() -> None:
    """Inputs and the laws of their releases written out; the map lies above each divergence, and near the worst one.

    On a lattice of 2^0 a value goes to the nearest integer, so that 0.4 and 0.6 are a whole step apart.
    """
    near = 1 + 1e-9
    for scale, step in ((0.5, 1), (2.0, 4), (8.0, 3)):
        truth = worst_rho(noise_law(0, scale), noise_law(step, scale))
        tight = zo.tighten(dp.m.make_geometric(*WHOLE, scale=scale)).map(step)
        assert truth <= tight * near
        assert tight < 1.02 * truth
    coarse = dp.m.make_laplace(*REAL, scale=0.01, k=0)
    for one, other in ((0.4, 0.6), (0.0, 0.4), (0.4, 2.6), (-1.6, 1.4)):
        steps = int(coarse(one)), int(coarse(other))  # noise of a hundredth of a step: these are the rounded values
        truth = worst_rho(*(noise_law(step, 2.0) for step in steps)) if len(set(steps)) > 1 else 0
        assert truth <= zo.tighten(dp.m.make_laplace(*REAL, scale=2.0, k=0)).map(abs(one - other)) * near
    for k, prob in ((2, 0.6), (6, 0.5), (20, 0.9)):
        truth = worst_rho(*(response_law(value, k, prob) for value in (0, 1)), np.full(k, -log(k)))
        tight = zo.tighten(dp.m.make_randomized_response(list(range(k)), prob=prob)).map(1)
        assert truth <= tight * near
        assert tight < 1.02 * truth
    for weight in (1, 2):
        sets = [one for n in range(weight + 1) for one in combinations(range(5), n)]
        truth = worst_rho(*(bits_law(one, 0.5, 5) for one in sets))
        tight = zo.tighten(bits(weight)).map(1)
        assert truth <= tight * near
        assert tight < 1.02 * truth
    for monotonic, moves in ((False, (-1, 0, 1)), (True, (0, 1))):
        space = SCORES[0], dp.linf_distance(T=int, monotonic=monotonic)
        tight = zo.tighten(dp.m.make_noisy_max(*space, RHO, scale=0.5)).map(1)
        truth = max(
            worst_rho(choice_law(scores, 0.5), choice_law(tuple(np.add(scores, move)), 0.5))
            for scores in product(range(4), repeat=3)
            for move in product(moves, repeat=3)
            if any(move)
        )
        assert 0.5 * tight < truth <= tight * near
