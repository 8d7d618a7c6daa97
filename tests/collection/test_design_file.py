"""The design file of a client: one for each family, read back, and refused where its parts disagree."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import zcdp
from zcdp.collection.design_file import client_design, read_client_design, report_form
from zcdp.samplers.source import secure

MADE = [
    (zcdp.MemoizedRAPPOR(f="1/2", p="1/2", q="3/4", collections=30), 20, (3, 1, 256)),
    (zcdp.RandomizedResponse(epsilon="8.00000108", k=300), 300, (1, 2, 300)),
    (zcdp.SubsetSelection(epsilon=1, k=20, size=4), 20, (4, 1, 20)),
    (zcdp.UnaryEncoding("3/4", "1/3"), 20, (3, 1, 256)),
    (zcdp.HadamardResponse(epsilon="log(9)"), 100, (1, 1, 128)),
    (zcdp.LinearHashing(epsilon=1, g=17, k=20), 20, (1, 2, 4913)),
]


@pytest.mark.parametrize(("mechanism", "k", "form"), MADE)
def test_a_design_says_what_reports_look_like(mechanism: Any, k: int, form: tuple[int, int, int]) -> None:
    """The largest report that is drawn fits its bytes, and the parameters make the same mechanism again."""
    made = client_design(mechanism, k, rounds=90, answered=2, budget={"epsilon": 1, "delta": "1e-6"})
    assert read_client_design(json.dumps(made)) == made
    report = report_form(mechanism, k)
    assert (report["numbers"], report["bytes_each"], report["outcomes"]) == form
    own = {"k": k} if "k" not in made["parameters"] else {}
    drawn = mechanism.count(mechanism._drawn(np.arange(k), k, secure), **own)
    assert drawn.reports == k
    assert type(mechanism)(**made["parameters"]) == mechanism
    assert made["days"] == {"of": 90, "answered": 2, "drawn": "uniform subset"}


def test_a_shuffled_design_names_the_local_randomizer_and_the_least_reports() -> None:
    local = zcdp.RandomizedResponse(epsilon=4, k=20)
    made = client_design(zcdp.Shuffled(local, clients=900), 20, rounds=4, names=[str(n) for n in range(20)])
    assert made["mechanism"] == repr(local)
    assert made["shuffled"] == {"least_reports": 900}
    assert read_client_design(json.dumps(made)) == made


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"format": "zcdp client design 9"}, "is of the format 'zcdp client design 9'"),
        ({"parameters": {"epsilon": "2", "k": 3}}, "its parameters does not agree with its mechanism"),
        ({"report": {"numbers": 2}}, "its report does not agree"),
        ({"randomness": "seed 1"}, "its randomness does not agree"),
        ({"mechanism": "Laplace(epsilon=1)"}, "is no local randomizer that a client runs"),
        ({"days": 3}, "is no design file of a client"),
    ],
)
def test_a_design_that_disagrees_with_itself_is_refused(change: dict[str, Any], error: str) -> None:
    made = client_design(zcdp.RandomizedResponse(epsilon=1, k=3), 3)
    with pytest.raises(ValueError, match=error):
        read_client_design(json.dumps(made | change))
