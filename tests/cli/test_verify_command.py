"""`zcdp verify`: every theorem page is covered, and what fails is said to have failed."""

from __future__ import annotations

import json
from functools import partial

import pytest
from cli.program import ROOT, zcdp

from zcdp import DiscreteLaplace
from zcdp.cli import main
from zcdp.verification import Check, checks
from zcdp.verification.proofs import PROOFS, ProofOf, cover, prove, three_point


def test_verify_covers_every_theorem_page() -> None:
    done = zcdp("verify", "--json")
    assert done.returncode == 0, done.stdout
    facts = json.loads(done.stdout)
    assert facts["passed"]
    assert {check["theorem"] for check in facts["checks"]} >= {
        page.stem for page in (ROOT / "docs" / "theorems").glob("*.md")
    }


@pytest.mark.parametrize("results", [(True, False), (False, True), (True, True), (False, False)])
def test_checks_have_passed_where_all_have(
    results: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [Check("pure-dp", "a check", lambda passed=passed: passed) for passed in results]
    monkeypatch.setattr("zcdp.cli.verify_command.checks", lambda *, deep: checks)
    assert main(["verify", "--json"]) == (0 if all(results) else 1)
    facts = json.loads(capsys.readouterr().out)
    assert facts["passed"] == all(results)
    assert [check["passed"] for check in facts["checks"]] == list(results)
    assert main(["verify"]) == (0 if all(results) else 1)
    text = capsys.readouterr().out
    assert ("All 2 spot checks" in text) == all(results)
    assert all(results) or f"{results.count(False)} of 2 checks failed." in text


def test_the_command_says_what_is_a_proof_and_what_a_spot_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("zcdp.verification.proofs.PROOFS", (PROOFS[0],))
    assert main(["verify", "--prove"]) == 0
    assert "1 claims are proved, on 1," in capsys.readouterr().out
    assert main(["verify", "--prove", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kind"] == "proofs by subdivision"
    assert facts["proofs"][0]["proved"]
    false = ProofOf("three-point", "seven values", lambda: prove(partial(three_point, k=7), cover(), most=5000))
    monkeypatch.setattr("zcdp.verification.proofs.PROOFS", (false,))
    assert main(["verify", "--prove"]) == 1
    assert "1 of 1 claims could not be proved" in capsys.readouterr().out


def test_noise_of_a_wrong_scale(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    right = DiscreteLaplace.sample
    wider = DiscreteLaplace(scale="2.1")
    monkeypatch.setattr(DiscreteLaplace, "sample", lambda self, size: right(wider, size))
    draws = [check for check in checks() if check.theorem == "lazy-inversion"]
    monkeypatch.setattr("zcdp.cli.verify_command.checks", lambda *, deep: draws)
    assert main(["verify"]) == 1
    assert "FAILED  lazy-inversion: discrete Laplace noise has its law" in capsys.readouterr().out
