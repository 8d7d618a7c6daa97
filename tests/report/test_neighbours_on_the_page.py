"""The page of a release says for which neighbours its guarantee holds. (bug P1)"""

from __future__ import annotations

import pytest

from zcdp import account
from zcdp.report.release_report import render_release


@pytest.mark.parametrize(("neighbours", "said"), [("add-remove", "added or removed"), ("replace", "replaced")])
def test_the_page_says_who_comes_and_goes(neighbours: str, said: str) -> None:
    facts = {"unit": "who", "protects": "person", "neighbours": neighbours}
    page = render_release(account("DiscreteGaussian(sigma=20)", curve=False), [], facts)
    assert f"Neighbours differ in all rows of one who, {said}; that is one person." in page
