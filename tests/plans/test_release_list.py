"""Lists of releases as CSV: taken exactly, counted, and refused with the line that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.program import called as program

import zcdp
from zcdp.plans.plan_file import PlanFileError, read_plan


def read(text: str) -> zcdp.Plan:
    entries = read_plan("list.csv", text).entries
    return zcdp.Plan.sum_of(*(entry.count * entry.plan for entry in entries if entry.plan is not None))


def test_a_list_is_the_plan_that_it_says() -> None:
    text = (
        "\ufeffname,mechanism,epsilon,sensitivity,k,count,note\n"
        'hourly,Laplace,0.1,,,20,"a note, with a comma"\n'
        "\n"
        "hourly,Laplace,1/3,,,,\n"
        'cells,Laplace,0.5,"L0LInf(20, 1)",,,\n'
        "survey,RandomizedResponse,log(3),,4, 2 ,\n"
        "training,\"Subsampled(Gaussian(sigma=1), rate='0.01')\",,,,5,\n"
    )
    entries = read_plan("list.csv", text).entries
    assert [entry.name for entry in entries] == ["hourly", "hourly (line 4)", "cells", "survey", "training"]
    assert [entry.count for entry in entries] == [20, 1, 1, 2, 5]
    assert entries[0].note == "a note, with a comma"
    assert entries[0].plan == zcdp.Plan.sum_of(zcdp.Laplace(epsilon="0.1"))  # the decimal, not the float
    assert entries[1].plan == zcdp.Plan.sum_of(zcdp.Laplace(epsilon="1/3"))
    assert entries[2].plan == zcdp.Plan.sum_of(zcdp.Laplace(epsilon="0.5", sensitivity=zcdp.L0LInf(20, 1)))
    assert entries[3].plan == zcdp.Plan.sum_of(zcdp.RandomizedResponse(epsilon="log(3)", k=4))


def test_counts_are_multiplied() -> None:
    assert read("mechanism,epsilon,count\nLaplace,0.1,1000\n") == 1000 * zcdp.Laplace(epsilon="0.1")
    assert read("mechanism,epsilon\n" + "Laplace,0.1\n" * 1000) == 1000 * zcdp.Laplace(epsilon="0.1")


BAD = {
    "": ":1: a list of releases begins with a line",
    "mechanism,epsilon\n": ":1: there is no release",
    "epsilon,count\n1,2\n": ":1: the columns must have different names",
    "mechanism,epsilon,epsilon\nLaplace,1,1\n": ":1: the columns must have different names",
    "mechanism,Epsilon!\nLaplace,1\n": ":1: column ('Epsilon!') must be",
    "mechanism,epsilon\nLaplace,1,2\n": ":2: 3 cells, and there are 2 columns",
    "mechanism,epsilon\n,1\n": ":2: mechanism must not be empty",
    "mechanism,epsilon\nLaplac,1\n": ":2: there is no mechanism 'Laplac': did you mean 'Laplace'?",
    "mechanism,epsilon\nLaplace,1\nLaplace,-1\n": ":3: Laplace: epsilon ('-1') must be positive",
    "mechanism,epsilon\nLaplace,\n": ":2: ",
    "mechanism,epsilon,count\nLaplace,1,0\n": ":2: count ('0') must be at least 1",
    "mechanism,epsilon,count\nLaplace,1,1.5\n": ":2: count ('1.5') must be a whole number",
    "mechanism,epsilon\nLaplace,\"0.1') + Laplace(epsilon='9\"\n": ":2: epsilon (0.1') + Laplace(epsilon='9) must",
    "mechanism,epsilon\nLaplace(epsilon=1),2\n": ":2: mechanism has its parameters already",
    "mechanism,epsilon\n2 * Laplace(epsilon=1),\n": ":2: 2 * Laplace(epsilon=1) must be one mechanism",
    "mechanism,sigma\nGaussian,Laplace(epsilon=1)\n": ":2: ",
    'mechanism,epsilon\nLaplace,"1\n': ":2: not valid CSV",
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_is_said_with_its_line(text: str) -> None:
    with pytest.raises(PlanFileError) as error:
        read_plan("list.csv", text)
    assert str(error.value).startswith("list.csv" + BAD[text])


def test_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("mechanism,epsilon,count\nLaplace,0.1,1000\n")
    done = program("account", "list.csv", "--delta", "1e-6", cwd=tmp_path)
    assert done.returncode == 0
    assert "18.9503 at delta = 1e-06" in done.stdout
    with pytest.raises(zcdp.PlanError, match="only a Path opens"):
        zcdp.account("list.csv")
