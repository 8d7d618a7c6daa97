"""What an audit from outside found wrong in 0.1.0, item by item: each test is red on that version and green since.

It uses nothing but what both versions have, and imports it where it is used, so that it runs on either source:

    git worktree add ../before 529467b
    PYTHONPATH=../before/src python -m pytest -c /dev/null --rootdir . -p no:cacheprovider tests/test_what_was_wrong.py

What may take forever or eat the memory there runs in a child of its own. What time or a race decides is told here by
what can be counted: calls instead of seconds, and a precision that is disturbed at every line instead of a thread that
does so at some.
"""

from __future__ import annotations

import contextlib
import copy
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pytest

SECONDS, BYTES = 15, 3 * 10**9  # of the processor and of memory, for what once had no end
QUERY = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'


def limit(used: int = 0) -> None:
    """To so much of the processor and of memory, beside what is used already."""
    for kind, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, used + BYTES)):
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def in_child(work: Callable[[], object]) -> str:
    """Empty where the work ends by itself and is not false; else how it ended."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions of Python warn of threads, of which the child needs none
        child = os.fork()
    if not child:
        signal.alarm(4 * SECONDS)
        limit(int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize())
        try:
            told = "" if work() else "false"
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"[:1000]
        os.write(write, told.encode(errors="replace"))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as output:
        told = output.read().decode()
    status = os.waitpid(child, 0)[1]
    return told or (f"ended by signal {os.WTERMSIG(status)}" if status else "")


def disturbed(work: Callable[[], Any], bits: int) -> Any:
    """As if another thread set flint's precision before every line that this package runs."""
    import flint

    import zcdp

    home = str(Path(zcdp.__file__).parent)

    def trace(frame: FrameType, event: str, value: object) -> Any:
        if not frame.f_code.co_filename.startswith(home):
            return None
        flint.ctx.prec = bits
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return work()
    finally:
        sys.settrace(before)
        flint.ctx.prec = 53


def work_of(release: Callable[[], object]) -> int:
    """How many calls of functions, of Python or of C, it makes."""
    calls = 0

    def count(frame: FrameType, event: str, value: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        release()
    finally:
        sys.setprofile(None)
    return calls


def refused(work: Callable[[], object], *errors: type[Exception]) -> bool:
    with pytest.raises(errors or (ValueError, TypeError)):
        work()
    return True


def geometric(rate: float, far: int) -> tuple[list[float], list[float]]:
    """Two-sided geometric noise around 0 and around `far`, all beyond either in one outcome: losses are equal there."""
    tail = -1 / expm1(-rate)
    weights = [tail, *(exp(-rate * i) for i in range(1, far)), exp(-rate * far) * tail]
    masses = [weight / sum(weights) for weight in weights]
    return masses, masses[::-1]


def delta_of(p: list[float], q: list[float], epsilon: float) -> float:
    return sum(max(a - exp(epsilon) * b, 0.0) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize(("scale", "b", "delta"), [(1000, 100, "0.03"), (50, 5, "0.02")])
def test_item_1_a_bound_on_the_euclidean_length_covers_one_far_move(scale: int, b: int, delta: str) -> None:
    from zcdp import L2, DiscreteLaplace, Plan

    mechanism = DiscreteLaplace(scale=scale, sensitivity=L2(b))
    p, q = geometric(1 / scale, b)
    assert delta_of(p, q, mechanism.epsilon_at(delta=delta)) <= float(delta)
    assert mechanism.delta_at(epsilon="0.03") >= delta_of(p, q, 0.03)
    assert "L2" in repr(mechanism)
    assert "L2" in repr(Plan.from_json((2 * mechanism).to_json()))


def test_item_2_one_pair_of_neighbours_says_little_about_groups() -> None:
    from zcdp import LossPair

    masses = [[exp(-abs(x - y)) * (1 if 0 < y < 3 else 1 / (1 - exp(-1))) for y in range(4)] for x in (1, 2)]
    rows = [[Fraction(mass / sum(row)).limit_denominator(10**6) for mass in row] for row in masses]
    first, second = ([*row[:-1], 1 - sum(row[:-1])] for row in rows)
    try:
        far = LossPair(first, second).group(3)
    except ValueError:
        return
    assert far.rho >= 1.9853  # of the truncated geometric mechanism's own inputs at distance three


def test_item_3_a_disturbed_precision_never_becomes_a_table() -> None:
    """Of two scores the worse one is chosen with 0.2689; a table that was filled meanwhile made it 0.3136."""

    def worse() -> bool:
        from zcdp import ExponentialMechanism, NotCertified

        chooser = ExponentialMechanism(epsilon=2)
        with contextlib.suppress(NotCertified):
            disturbed(lambda: chooser.release([0, 1], sensitivity=1), 4)
        draws = 8_000
        share = sum(chooser.release([0, 1], sensitivity=1) == 0 for _ in range(draws)) / draws
        return abs(share - 1 / (1 + exp(1))) < 0.025  # five standard deviations

    assert in_child(worse) == ""


def test_item_4_narrow_integers_are_refused() -> None:
    from zcdp import RandomizedResponse, SubsetSelection

    for mechanism in (RandomizedResponse(epsilon=1, k=1000), SubsetSelection(epsilon=1, k=1000, size=2)):
        refused(lambda mechanism=mechanism: mechanism.release(np.zeros(8, dtype=np.int8)))


def test_item_5_whatever_an_engine_meets_the_others_answer() -> None:
    from zcdp import BoundedRange, ExponentialMechanism, LocalHashing, TruncatedGeometric

    plan = (
        2 * ExponentialMechanism(epsilon=2)
        + LocalHashing(epsilon=5, g=2)
        + 3 * BoundedRange(eta=0.4)
        + TruncatedGeometric(epsilon=0.25, n=8, sensitivity=4)
    )
    assert 0 < plan.epsilon_at(delta="1e-6") <= 11.5
    assert 0 < plan.delta_at(epsilon=1) < 1


def test_item_6_a_child_that_is_forked_in_the_middle_of_a_computation_answers() -> None:
    def forks() -> bool:
        from zcdp import RAPPOR, Laplace

        stop = threading.Event()

        def work() -> None:
            n = 7
            while not stop.is_set():
                n += 1
                (50 * Laplace(epsilon=Fraction(1, n))).epsilon_at(delta="1e-6")

        threading.Thread(target=work, daemon=True).start()
        stop.wait(0.2)
        ended = [in_child(lambda: RAPPOR(epsilon=1).epsilon_at(delta="1e-6") > 0) for _ in range(3)]
        stop.set()
        return ended == [""] * 3

    assert in_child(forks) == ""


@pytest.mark.parametrize(("n", "far"), [(300, 300), (10**9, 1)])
def test_item_7_truncated_geometric_noise_of_any_size_answers_or_refuses(n: int, far: int) -> None:
    from zcdp import TruncatedGeometric

    def rho() -> bool:
        try:
            return 0 < TruncatedGeometric(epsilon=1, n=n, sensitivity=far).rho <= 0.5
        except ValueError as error:
            return "at most" in str(error)

    assert in_child(rho) == ""


def test_item_8_an_early_end_of_the_output_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "over.toml").write_text('[budget]\nrho = "0.001"\n' + QUERY)
    command = [sys.executable, "-m", "zcdp", "account", str(tmp_path / "over.toml")]
    read, write = os.pipe()
    os.close(read)  # nobody reads, from the first byte
    try:
        assert subprocess.run(command, stdout=write, stderr=subprocess.DEVNULL, check=False, timeout=60).returncode
    finally:
        os.close(write)


def test_item_9_ends_are_ends() -> None:
    from zcdp import DiscreteStaircase, Laplace, PureDP, RandomizedResponse, SparseVector, Staircase

    assert not Staircase(epsilon=1).group(2).is_tight
    assert not DiscreteStaircase(epsilon=1, sensitivity=2, r=1).group(2).is_tight
    assert not PureDP(epsilon=1, total_variation="0.3").group(2).is_tight
    stream = SparseVector(epsilon_threshold=1, epsilon_queries="1/2")
    assert (1 * stream).rdp(1e9) <= stream.pure_epsilon
    many, noise = 1000 * RandomizedResponse(epsilon="0.1", k=100), 10**9 * Laplace(epsilon="0.001")
    assert 0 < (many + noise).rho <= (many.rho + noise.rho) * (1 + 1e-15)


def test_item_9_a_filter_agrees_with_itself() -> None:
    from zcdp import Filter, Gaussian

    assert Filter(rho="0.3").would_fit(3 * Gaussian(rho="0.1"))


def test_item_9_rows_are_not_repaired_in_silence() -> None:
    from zcdp import Channel

    refused(lambda: Channel([[0.5, 0.5 + 1e-9], [0.4, 0.6]]))


def test_item_9_a_disturbed_precision_is_not_the_callers_mistake() -> None:
    """It was `ValueError: grid (1/10) must be within reach of the scale, which is nan grid steps`."""

    def release() -> bool:
        from zcdp import Laplace, NotCertified

        with contextlib.suppress(NotCertified):
            disturbed(lambda: Laplace(epsilon="1.7").release(3.0, grid="0.1"), 2)
        return True

    assert in_child(release) == ""


def test_item_10_values_beyond_32_bits_of_grid_steps_stay_where_they_are() -> None:
    """Wrong with numpy 1.26 only, where `make versions` runs it."""
    from zcdp import Laplace

    values = np.array([4194303.9, 4194304.0, 9000000.3, 123456789.1])
    assert np.abs(Laplace(epsilon=1).release(values, grid="0.1") - values).max() < 60


def test_item_11_sizes_end_at_the_door(tmp_path: Path) -> None:
    from zcdp import Plan

    for text in ("Laplace(epsilon=Fraction('1e99999999'))", "Laplace(epsilon='0." + "1" * 400_000 + "')"):
        assert in_child(lambda text=text: refused(lambda: Plan.parse(text), ValueError)) == ""
    (tmp_path / "deep.toml").write_text("a." * 24_000 + "b = 1\n")
    from zcdp.cli import main

    for file in ("/dev/zero", str(tmp_path / "deep.toml")):
        assert in_child(lambda file=file: main(["account", file]) == 2) == ""


def test_item_12_a_plan_does_not_write_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('title = "\\u001b[2Jx\\u202ey\\u009b"\n' + QUERY)
    from zcdp.cli import main

    main(["account", str(plan)])
    shown = capsys.readouterr().out
    main(["account", str(plan), "--json"])
    stored = capsys.readouterr().out
    assert "Laplace" in shown
    assert not set(shown) & set("\x1b\u202e\x9b")
    assert not set(stored) & set("\x1b\u202e\x9b")


def test_item_13_a_text_opens_no_file(tmp_path: Path) -> None:
    from zcdp import account

    (tmp_path / "evil.toml").write_text(QUERY)
    refused(lambda: account(str(tmp_path / "evil.toml")))
    assert account(tmp_path / "evil.toml")


def test_item_14_careless_input_is_refused() -> None:
    from zcdp import Filter, Gaussian, Laplace

    refused(lambda: Laplace(epsilon=1).release(np.ma.array([1e6], mask=[True]), grid=1))
    refused(lambda: copy.copy(Filter(rho=1)))
    refused(lambda: Laplace(epsilon="\u0663"))
    Gaussian(sigma=1, sensitivity=1)  # which is equal to True, and then known
    refused(lambda: Gaussian(sigma=1, sensitivity=True))


def test_item_14_of_two_equal_keys_none_counts() -> None:
    from zcdp import Laplace, Plan

    text = (3 * Laplace(epsilon=1)).to_json()
    assert '"count": 3' in text
    refused(lambda: Plan.from_json(text.replace('"count": 3', '"count": 3, "count": 1')))


def test_item_14_a_page_does_not_replace_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(QUERY)
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    from zcdp.cli import main

    main(["account", str(tmp_path / "plan.toml"), "--html", str(pipe)])
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_item_15_what_a_filter_remembers_does_not_grow() -> None:
    def spends() -> bool:
        from zcdp import Filter

        budget, draw, before = Filter(rho=1000), Random(1), Fraction(1000)
        for _ in range(150):
            cost = Fraction(draw.getrandbits(62), 2**62 + draw.getrandbits(62))
            budget.spend(rho=cost)
            left = Fraction(budget.remaining)
            assert before - left >= cost
            before = left
        return left.denominator.bit_length() < 5000  # 150 denominators of 62 bits have 9300

    assert in_child(spends) == ""


def test_item_16_the_work_of_a_release_does_not_depend_on_the_value() -> None:
    from zcdp import Laplace

    mechanism = Laplace(epsilon=1)
    near, far = (np.full(500, value) for value in (0.001, 1.0))
    mechanism.release(far, grid="0.1")
    work = [
        [work_of(lambda values=values: mechanism.release(values, grid="0.1")) for _ in range(9)]
        for values in (near, far)
    ]
    low, high = sorted(sorted(calls)[4] for calls in work)
    assert high < 1.5 * low + 50


def test_item_17_only_our_own_errors_leave() -> None:
    from zcdp import BudgetExceeded, Filter, Laplace, Plan

    refused(lambda: Plan.parse("Laplace(epsilon=Fraction(1e999))"))
    refused(lambda: Filter(rho=1).spend(rho="1e4000"), ValueError, BudgetExceeded)
    refused(lambda: Laplace(scale=1, sensitivity="1e4000"))
    refused(lambda: Laplace(scale=1e308))


def test_item_17_errors_do_not_tell_the_data() -> None:
    from zcdp import Laplace

    texts = set()
    for value in (2.0**80, 2.0**90):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - the text is what is asked for
            Laplace(epsilon=1).release(np.array([1.0, value]), grid="0.1")
        texts.add(str(error.value))
    assert len(texts) == 1


def test_item_17_a_large_subset_is_drawn() -> None:
    from zcdp import SubsetSelection

    assert in_child(lambda: len(SubsetSelection(epsilon=1, k=100_000, size=10_000).release(5)) == 10_000) == ""


def test_item_17_a_count_is_read_or_named(tmp_path: Path) -> None:
    from zcdp import account

    (tmp_path / "count.toml").write_text(QUERY + 'count = "1e3"\n')
    try:
        account(tmp_path / "count.toml", curve=False)
    except ValueError as error:
        assert "count" in str(error)  # noqa: PT017 - to answer is as good


def test_item_17_what_is_accepted_can_be_stored() -> None:
    from zcdp import Laplace, Plan

    try:
        plan = Laplace(epsilon=1) * 10**12 * 1000
    except ValueError:
        pass
    else:
        assert Plan.from_json(plan.to_json()) == plan


def test_beside_the_items_a_budget_that_is_filled_exactly_is_not_over(tmp_path: Path) -> None:
    (tmp_path / "exact.toml").write_text(
        '[budget]\nrho = "0.1"\n[[query]]\nname = "a"\nmechanism = "Gaussian(rho=\'0.1\')"\n'
    )
    from zcdp.cli import main

    assert main(["account", str(tmp_path / "exact.toml")]) == 0


WALLS_OF_0_2_0 = {
    "sigma counts 2C on batches of a fixed size": "mechanisms/test_subsampled_fixed_size.py::"
    "test_sigma_without_a_sensitivity_warns_once_that_a_replaced_gradient_moves_by_two_norms",
    "quantiles come from empty bins beside an atom": "release/test_quantile_tables.py::"
    "test_a_quantile_within_an_atom_is_its_bin",
    "a repeated key says that it spent": "release/test_release_tables.py::"
    "test_a_repeated_key_says_first_that_nothing_was_read_or_spent",
    "a plan by its name, or loaded, is no plan": "release/test_release_tables.py::"
    "test_a_plan_may_be_named_as_everywhere_else",
    "a digest that was not given is another one": "release/test_release_tables.py::"
    "test_a_list_in_a_file_says_which_digest_is_missing",
    "pages install from an index that has no zcdp": "test_docs.py::"
    "test_what_is_to_be_installed_is_in_the_clone_or_elsewhere_known",
    "one order that leaves nothing refuses a filter": "accounting/test_filter.py::"
    "test_orders_that_leave_nothing_have_no_share",
    "fractions are no scores": "samplers/test_selection_draws.py::test_fractions_are_scores_with_their_exact_value",
    "a math domain error is to be reported": "mechanisms/test_subsampled_few_uses.py::"
    "test_a_report_beside_sampled_noise_next_to_the_largest_loss",
    "products of large primes are primes": "estimation/test_estimator.py::test_primes_are_those_that_nothing_divides",
    "chords are below their curve on wide balls": "mechanisms/test_chord_bounds.py::"
    "test_a_wide_ball_of_orders_has_a_bound_for_all_of_them",
    "lower ends of truncated noise are erratic": "mechanisms/test_truncated_geometric.py::"
    "test_several_uses_of_truncated_noise_are_at_least_those_at_its_end",
    "falls_behind of top-k covers one selection": "mechanisms/test_top_k.py::"
    "test_all_of_several_selections_are_as_near_as_is_told",
    "two uses at a tiny rate have delta 6e-6": "mechanisms/test_subsampled_few_uses.py::test_two_uses_at_a_tiny_rate",
}
"""What first-time users of 0.2.0 met with, and the test of it: each is red on 987887f."""


@pytest.mark.parametrize("where", WALLS_OF_0_2_0.values(), ids=WALLS_OF_0_2_0.keys())
def test_what_users_of_0_2_0_met_with_has_its_test(where: str) -> None:
    file, _, name = where.partition("::")
    assert f"\ndef {name}(" in (Path(__file__).parent / file).read_text()
