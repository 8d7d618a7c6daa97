"""The tests mirror the source: src/zcdp/<room>/<module>.py has tests/<room>/test_<module>.py, sub-rooms left out."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "zcdp"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__"))
ELSEWHERE = {
    # a bridge of several files has one test file, which runs in the environment of the system that it is for
    "adapters/dp_accounting": "adapters/test_dp_accounting.py",
    "adapters/opendp": "adapters/test_opendp.py",
    "adapters/tumult": "adapters/test_tumult.py",
    # all figures are drawn and looked at together
    "plots": "plots/test_figures.py",
    # what an area draws is seen in the answers that it is part of, and its frame in the server's pages
    **{
        f"explore/{name}.py": "explore/test_questions.py"
        for name in ("budget_view", "pictures", "plan_view", "train_view", "understand_view")
    },
    "explore/frame.py": "explore/test_server.py",
    "explore/theorem_view.py": "explore/test_server.py",
    "explore/worker.py": "explore/test_desk.py",
    # it keeps one function, which the room above gives it
    "text/notebook.py": "report/test_notebook.py",
    # an abstract class: what it gives is seen in its two subclasses
    "mechanisms/wrapper.py": "mechanisms/test_subsampled.py",
}
"""Modules and rooms whose tests stand in a file of another name, each with the reason."""


def homes(module: Path) -> list[Path]:
    """Where the tests of a module may stand; rows for all laws are tests of a mechanism too."""
    room = ROOT / "tests" / (module.parts[0] if len(module.parts) > 1 else "")
    found = [room / f"test_{module.stem}.py"]
    if module.parts[0] == "mechanisms" and len(module.parts) == 3:
        found.append(ROOT / "tests" / "rows" / module.name)
    elsewhere = [where for place, where in ELSEWHERE.items() if module.as_posix().startswith(place)]
    return [*found, *(ROOT / "tests" / where for where in elsewhere)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.as_posix())
def test_every_module_has_its_tests(module: Path) -> None:
    assert any(home.is_file() for home in homes(module)), f"write {homes(module)[0].relative_to(ROOT)}"


@pytest.mark.parametrize("place", ELSEWHERE)
def test_what_has_its_tests_elsewhere_is_there(place: str) -> None:
    assert (PACKAGE / place).exists()
    assert (ROOT / "tests" / ELSEWHERE[place]).is_file()


def test_no_two_test_modules_are_one_to_python() -> None:
    """Of equal names outside of packages Python would import the first for both."""
    bare = [path.name for path in (ROOT / "tests").rglob("test_*.py") if not (path.parent / "__init__.py").exists()]
    assert len(bare) == len(set(bare))
