"""Plans as JSON: what is read is what was written, and what is no plan is refused."""

from __future__ import annotations

import json

import pytest

from zcdp import Laplace, Plan


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        [1],
        [{"count": 1}],
        [{"count": 1, "mechanism": "os"}],
        [{"count": 1, "mechanism": ["Laplace(epsilon=1)"]}],
        [{"count": 0, "mechanism": "Laplace(epsilon=1)"}],
        [{"count": True, "mechanism": "Laplace(epsilon=1)"}],
        [{"count": 1, "mechanism": "Laplace(epsilon=1)", "more": 1}],
    ],
)
def test_bad_json_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match=r"part|plan"):
        Plan.from_json(json.dumps(data))


def test_deep_json_is_refused() -> None:
    with pytest.raises(ValueError, match="nested"):
        Plan.from_json("[" * 100_000)


def test_counts_that_a_plan_accepts_are_those_that_its_json_has() -> None:
    most = 10**6 * (10**6 * Laplace(epsilon=1))
    assert Plan.from_json(most.to_json()) == most
    with pytest.raises(ValueError, match="at most 10\\^12"):
        Laplace(epsilon=1) * 10**12 * 1000
    with pytest.raises(ValueError, match="at most 10\\^12"):
        (most + Laplace(epsilon=1)).to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"count": 1, "count": 2, "mechanism": "Laplace(epsilon=1)"}]', "each key once, and has 'count' twice"),
        ('[{"count": 1, "mechanism": "RAPPOR(epsilon=9)", "mechanism": "Laplace(epsilon=1)"}]', "'mechanism' twice"),
        ('[{"count": ' + "9" * 5000 + ', "mechanism": "Laplace(epsilon=1)"}]', "at most 4300 digits, not 5000"),
        ('[{"count": NaN, "mechanism": "Laplace(epsilon=1)"}]', "finite"),
        ('[{"count": 1e999, "mechanism": "Laplace(epsilon=1)"}]', "finite"),
        ("[1", "must be valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        (" " * 5_000_001, "at most 5000000 characters"),
    ],
    ids=range(8),
)
def test_json(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Plan.from_json(text)


def test_json_is_text() -> None:
    with pytest.raises(TypeError, match="must be text, not b"):
        Plan.from_json(b"[]")  # type: ignore[arg-type]
