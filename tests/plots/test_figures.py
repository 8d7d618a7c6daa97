"""Figures show what the library computes, no text overlaps another, and the files are what their names say."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from itertools import combinations
from math import exp, sqrt
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.text import Text
from mpmath import mp, mpf

from zcdp import RAPPOR, Laplace, RandomizedResponse, SubsetSelection, choose
from zcdp.errors import BadType, BadValue
from zcdp.plots import NAMES, build, figure, plot
from zcdp.plots.krr_figure import k_star, papers_bound
from zcdp.plots.noise_figure import staircase_deviation

OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
drawn = cache(build)


def lines(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_label()): line for line in axes.get_lines()}


def data(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]


def texts(axes: Axes) -> list[Text]:
    """Titles, labels, and the numbers at ticks, without those that lie outside and are not drawn."""
    found = [child for child in axes.get_children() if isinstance(child, Text)]
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        slack = (high - low) * 1e-9
        found += [tick.label1 for tick in axis.get_major_ticks() if low - slack <= tick.get_loc() <= high + slack]
        found.append(axis.label)
    return [text for text in found if text.get_text()]


@pytest.mark.parametrize("name", NAMES)
def test_no_text_overlaps_another_or_leaves_the_page(name: str) -> None:
    one = drawn(name)
    canvas = FigureCanvasAgg(one)
    canvas.draw()
    renderer = canvas.get_renderer()
    # Text's own extent: an annotation's would count its leader line too
    boxes = [(text.get_text(), Text.get_window_extent(text, renderer)) for axes in one.axes for text in texts(axes)]
    assert len(boxes) > 25
    for label, box in boxes:
        assert box.x0 >= 0, label
        assert box.y0 >= 0, label
        assert box.x1 <= one.bbox.width, label
        assert box.y1 <= one.bbox.height, label
    for (label, box), (other, second) in combinations(boxes, 2):
        assert not box.padded(-0.5).overlaps(second.padded(-0.5)), (label, other)


@pytest.mark.parametrize("name", NAMES)
def test_every_line_has_its_name_beside_it_in_its_colour(name: str) -> None:
    one = drawn(name)
    assert all(axes.get_legend() is None for axes in one.axes)
    for axes in one.axes:
        beside = {text.get_text(): text.get_color() for text in axes.texts}
        for label, line in lines(axes).items():
            if label == "k*" or label.endswith(", paper"):
                continue
            assert beside[label] == line.get_color()
            assert str(line.get_color()).upper() in OKABE_ITO | {"#777777"}


def test_mechanisms_shows_the_tight_values() -> None:
    shown = lines(drawn("mechanisms").axes[0])
    assert len(shown) == 6
    assert dict(data(shown["Laplace"]))[1.0] == Laplace(epsilon=1).rho
    assert dict(data(shown["RAPPOR"]))[4.0] == RAPPOR(epsilon=4).rho
    assert dict(data(shown["4-RR"]))[2.5] == RandomizedResponse(epsilon=2.5, k=4).rho
    for label, line in shown.items():
        assert all(y <= dict(data(shown["any ε-DP"]))[x] for x, y in data(line)), label


def test_krr_shows_the_exact_rho_below_the_papers_bound() -> None:
    shown = lines(drawn("krr").axes[0])
    exact, bound = dict(data(shown["ε = 0.5"])), dict(data(shown["ε = 0.5, paper"]))
    assert exact[2] == RandomizedResponse(epsilon="0.5", k=2).rho
    assert exact[10**6] == RandomizedResponse(epsilon="0.5", k=10**6).rho
    assert all(exact[k] <= bound[k] * (1 + 1e-12) for k in exact)
    assert all(bound[k] == pytest.approx(exact[k], rel=1e-12) for k in exact if k <= 6)
    # 0.5 x 0.6487213/6.6487213 from the corollary, 0.25/log(2000.0003) from the theorem
    assert papers_bound(0.5, 1000) == pytest.approx(0.0487854, rel=1e-5)
    assert papers_bound(0.5, 10**6) == pytest.approx(0.0328908, rel=1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_the_boundary_is_where_the_order_leaves_one(epsilon: float) -> None:
    k = int(k_star(epsilon))
    assert RandomizedResponse(epsilon=epsilon, k=k).rho_order == 1
    assert RandomizedResponse(epsilon=epsilon, k=k + 1).rho_order > 1


def test_composition_has_the_exact_profile_lowest() -> None:
    shown = {label: dict(data(line)) for label, line in lines(drawn("composition").axes[0]).items()}
    assert len(shown) == 5
    count = min(shown["exact profile"], key=lambda n: abs(n - 1000))
    plan = int(count) * RandomizedResponse(epsilon=1, k=100)
    assert shown["exact profile"][count] == plan.epsilon_at(delta="1e-6")
    assert shown["pure ε added up"][count] == count
    for label, epsilons in shown.items():
        assert all(epsilons[n] >= shown["exact profile"][n] for n in epsilons), label


def test_noise_is_what_each_budget_buys() -> None:
    shown = {label: data(line) for label, line in lines(drawn("noise").axes[0]).items()}
    for rho, deviation in shown["Gaussian"]:
        assert deviation == pytest.approx(1 / sqrt(2 * rho), rel=1e-12)
    for rho, deviation in shown["Laplace"]:
        epsilon = sqrt(2) / deviation
        assert epsilon + exp(-epsilon) - 1 == pytest.approx(rho, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_deviation_of_staircase_noise(epsilon: float) -> None:
    """From its density, integrated step by step."""
    gamma, ratio = 1 / (1 + mp.exp(mpf(epsilon) / 2)), mp.exp(-mpf(epsilon))
    mass = second = mpf(0)
    for n in range(400):
        for low, high, height in ((n, n + gamma, ratio**n), (n + gamma, n + 1, ratio ** (n + 1))):
            mass += height * (high - low)
            second += height * (high**3 - low**3) / 3
    assert staircase_deviation(epsilon) == pytest.approx(float(mp.sqrt(second / mass)), rel=1e-12)


@pytest.mark.parametrize(("suffix", "start"), [(".pdf", b"%PDF"), (".svg", b"<?xml"), (".png", b"\x89PNG")])
def test_files_are_what_their_names_say_and_always_the_same(tmp_path: Path, suffix: str, start: bytes) -> None:
    [path] = figure("mechanisms", tmp_path / f"one{suffix}")
    [again] = figure("mechanisms", tmp_path / f"two{suffix}")
    assert path.read_bytes().startswith(start)
    assert path.read_bytes() == again.read_bytes()
    if suffix == ".svg":
        assert "<image" not in path.read_text()  # vectors only


def test_all_writes_one_file_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.plots.build", drawn)  # they take a while, and other tests have built them
    paths = figure("all", tmp_path / "fig.svg")
    assert [path.name for path in paths] == [f"fig-{name}.svg" for name in NAMES]
    assert all(path.stat().st_size > 10_000 for path in paths)


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.plots.build", drawn)
    (tmp_path / "fig.png").mkdir()
    with pytest.raises(OSError, match=r"fig\.png"):
        figure("krr", tmp_path / "fig.png")
    assert [path.name for path in tmp_path.iterdir()] == ["fig.png"]
    with pytest.raises(FileNotFoundError):
        figure("krr", tmp_path / "missing" / "fig.png")


def test_bad_input_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"figure \(kr\) must be one of mechanisms, krr, .*, designs, or all"):
        figure("kr", tmp_path / "fig.pdf")
    with pytest.raises(ValueError, match=r"must end in \.pdf, \.svg or \.png"):
        figure("krr", tmp_path / "fig")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['matplotlib'] = None\nfrom zcdp.plots import figure\nfigure('krr', 'x.pdf')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(
        "figures need matplotlib: pip install 'matplotlib>=3.8' (the extra plots)"
    )


def test_designs_are_those_that_are_chosen() -> None:
    shown = {label: dict(data(line)) for label, line in lines(drawn("designs").axes[1]).items()}
    choice = choose(k=256, rounds=30, clients=10**6, epsilon=8, delta="1e-6", every_round=True)
    assert shown["subsets"][30] == pytest.approx(1000 * choice.of(SubsetSelection).standard_error, rel=1e-4)
    assert shown["textbook"][30] == pytest.approx(1000 * choice.textbook.standard_error, rel=1e-6)
    assert min(shown["k-RR"].values()) == shown["k-RR"][1] < shown["textbook"][1] / 20


@pytest.mark.parametrize("kind", ["curve", "loss", "composition"])
def test_a_plan_of_ones_own_is_plotted(kind: str) -> None:
    plan = 10 * Laplace(epsilon="0.3")
    made = plot(plan, kind, delta="1e-5", uses=20)
    [ax] = made.axes
    assert ax.get_xlabel()
    made.canvas.draw()
    if kind == "composition":
        exact = next(line for line in ax.get_lines() if line.get_label() == "exact profile")
        assert exact.get_ydata()[-1] == (20 * plan).epsilon_at(delta="1e-5")
    if kind == "curve":
        for epsilon, delta in zip(*ax.get_lines()[0].get_data(), strict=True):
            assert delta >= plan.delta_bounds(epsilon=float(epsilon))[0]


def test_plots_of_nothing() -> None:
    with pytest.raises(BadValue, match="must be one of curve, loss, composition"):
        plot(Laplace(epsilon=1), "pie")
    with pytest.raises(BadType, match="must be a mechanism or a plan"):
        plot("Laplace(epsilon=1)")  # type: ignore[arg-type]
