"""Page, list of theorems, pages of theorems and program agree with the proofs; Coq is not needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import check_proofs as proofs
import mpmath
import pytest
from coq_reals import argument, defined, value

from zcdp import (
    RAPPOR,
    BoundedRange,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    OptimizedUnaryEncoding,
    PureDP,
    PureGroup,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)

ROOT = Path(__file__).parent.parent
PAGE = proofs.PAGE.read_text(encoding="utf-8")
FILES = [*proofs.core(), *(one.name for one in proofs.OPTIONAL)]


def source(name: str) -> str:
    return (proofs.SOURCES / f"{name}.v").read_text(encoding="utf-8")


def test_the_page_quotes_the_proofs_word_for_word() -> None:
    assert proofs.fill(PAGE) == PAGE, "stale: run python3 tools/check_proofs.py --page"
    for name, file in proofs.quoted(PAGE).items():
        indented = "\n".join(f"    {line}".rstrip() for line in proofs.statement(file, name).split("\n"))
        assert indented in PAGE


def test_the_page_and_main_name_the_same_theorems() -> None:
    quoted = [name for name, file in proofs.quoted(PAGE).items() if f"Theorem {name}" in source(file)]
    assert sorted(quoted) == sorted(
        name for file in ("Main", "PaperErratum", "AnyMeasure") for name in proofs.listed(source(file))
    )


def test_main_lists_every_theorem_and_nothing_is_unfinished() -> None:
    proofs.refuse_unlisted(proofs.SOURCES, proofs.core())
    proofs.refuse_words(proofs.SOURCES, FILES)
    assert sorted(FILES) == sorted(path.stem for path in proofs.SOURCES.glob("*.v"))


def test_what_is_unfinished_or_unlisted_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Main.v").write_text("Definition theorems := (@one).\nPrint Assumptions theorems.\n")
    for text in ("Theorem one : True.\nProof. admit. Admitted.", "Axiom one : False.", "Unset Guard Checking."):
        (tmp_path / "File.v").write_text(text)
        with pytest.raises(proofs.Refused, match=r"File\.v says"):
            proofs.refuse_words(tmp_path, ["File"])
    (tmp_path / "File.v").write_text("(* Admitted *) Theorem one : True.\nProof. easy. Qed.\n")
    proofs.refuse_words(tmp_path, ["File"])
    (tmp_path / "File.v").write_text("Theorem one : True.\nProof. easy. Qed.\nTheorem two : True.\nProof. easy. Qed.\n")
    with pytest.raises(proofs.Refused, match="disagree on two"):
        proofs.refuse_unlisted(tmp_path, ["File"])
    printed = "Axioms:\n" + "".join(f"{name} : Prop\n" for name in proofs.CLASSICAL_REALS)
    assert proofs.refuse_axioms(printed) == proofs.CLASSICAL_REALS
    for unexpected in (
        printed + "shortcut : False\n",
        "Closed under the global context\n",
        printed.split("\n", 2)[0] + "\n",
    ):
        with pytest.raises(proofs.Refused):
            proofs.refuse_axioms(unexpected)


@pytest.mark.parametrize("bug", proofs.BUGS, ids=lambda bug: bug.what)
def test_a_bug_can_be_planted(bug: proofs.Bug) -> None:
    assert bug.old in source(bug.file)
    assert bug.old != bug.new


def sections() -> Iterator[tuple[str, list[str]]]:
    """Each theorem that the page quotes, with the pages of its section."""
    for part in PAGE.split("\n### ")[1:]:
        pages = re.findall(r"\]\(theorems/([\w-]+)\.md\)", part)
        for _, file, names, _ in proofs.QUOTED.findall(part):
            for name in names.split():
                if f"Theorem {name}" in source(file):
                    yield name, pages


@pytest.mark.parametrize(("name", "pages"), [*sections()])
def test_a_theorem_is_cited_from_its_page(name: str, pages: list[str]) -> None:
    texts = [(ROOT / "docs" / "theorems" / f"{page}.md").read_text() for page in pages]
    assert any(f"`{name}`" in text and "(../machine-checked.md)" in text for text in texts)


def test_every_numbered_statement_of_the_paper_has_its_row() -> None:
    rows = re.findall(
        r"^\| (\w+) (\d+) \| (.*?) \| (.*?) \| \[([\w-]+)\]\(theorems/\5\.md\) \| `(.*?)` \|$", PAGE, re.M
    )
    assert [int(number) for _, number, *_ in rows] == list(range(1, 27))
    paper = (ROOT / "docs" / "paper.md").read_text()
    every = "\n".join(source(file) for file in FILES)
    for kind, number, label, coq, page, code in rows:
        assert f"| {kind} {number} | {label} |" in paper
        assert (ROOT / "docs" / "theorems" / f"{page}.md").is_file()
        assert (ROOT / code).is_file()
        names = re.findall(r"`(\w+)`", coq)
        assert names or coq == "not needed"
        for name in names:
            assert re.search(rf"^(Theorem|Lemma|Definition) {name}\b", every, re.M), name


EPSILONS = [Fraction(round(10**6 * 1.25 ** (i - 30)), 10**6) for i in range(50)]  # 0.001 to 69


def value_of(file: str, theorem: str, predicate: str = "tightly_zCDP", **names: mpmath.mpf) -> mpmath.mpf:
    return value(argument(proofs.statement(file, theorem), predicate), **names)


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def peak(kappa: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """The only zero beyond epsilon/2 of the equation that Coq calls overshoot: positive before, negative after."""
    c, half, overshoot = defined("three_point_c")(kappa, epsilon), epsilon / 2, defined("overshoot")
    low = high = half * (1 + mpmath.mpf(10) ** -9)
    while overshoot(c, half, high) > 0:
        high *= 2
    assert high > low
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if overshoot(c, half, middle) > 0 else (low, middle)
    return low


def three_point(
    kappa: mpmath.mpf, loss: mpmath.mpf, file: str, below: str, beyond: str, **names: mpmath.mpf
) -> mpmath.mpf:
    """rho by the theorem whose condition on kappa holds, where the losses are 0 and plus and minus `loss`."""
    if kappa <= defined("k_star")(loss):
        return value_of(file, below, **names)
    return value_of(file, beyond, x=peak(kappa, loss), **names)


def laplace(e: Fraction, _: int) -> tuple[Mechanism, mpmath.mpf]:
    return Laplace(epsilon=e), value_of("Laplace", "laplace_tight", epsilon=real(e))


def discrete_laplace(e: Fraction, i: int) -> tuple[Mechanism, mpmath.mpf]:
    delta = 1 + i % 9
    rho = value_of("DiscreteLaplace", "discrete_laplace_tight", epsilon=real(e), Delta=mpmath.mpf(delta))
    return DiscreteLaplace(epsilon=e, sensitivity=delta), rho


def pure_dp(e: Fraction, _: int) -> tuple[Mechanism, mpmath.mpf]:
    return PureDP(epsilon=e), value_of("PureDP", "pure_DP_zCDP", "zCDP", epsilon=real(e))


def pure_group(e: Fraction, i: int) -> tuple[Mechanism, mpmath.mpf]:
    k = 1 + i % 9
    names = {"epsilon": real(e), "k": mpmath.mpf(k)}
    return PureGroup(epsilon=k * e, size=k), value_of("GroupOfPureDP", "group_privacy_pure_DP_zCDP", "zCDP", **names)


def few_categories(e: Fraction, i: int) -> tuple[Mechanism, mpmath.mpf]:
    k = 2 + i % 5
    rho = value_of("RandomizedResponse", "randomized_response_tight", epsilon=real(e), k=mpmath.mpf(k))
    return RandomizedResponse(epsilon=e, k=k), rho


def many_categories(e: Fraction, i: int) -> tuple[Mechanism, mpmath.mpf]:
    k = 7 + i**4 % 5000
    rho = three_point(
        mpmath.mpf(k),
        real(e),
        "RandomizedResponse",
        "randomized_response_tight_up_to_k_star",
        "randomized_response_tight_beyond_k_star",
        epsilon=real(e),
        k=mpmath.mpf(k),
    )
    return RandomizedResponse(epsilon=e, k=k), rho


def rappor(e: Fraction, _: int) -> tuple[Mechanism, mpmath.mpf]:
    return RAPPOR(epsilon=e), value_of("UnaryEncoding", "rappor_tight", epsilon=real(e))


def unary_encoding(_: Fraction, i: int) -> tuple[Mechanism, mpmath.mpf]:
    q = Fraction(1 + i % 7, 64 * (1 + i))
    p = q + (1 - q) * Fraction(1 + i, 64)
    names = {"p": real(p), "q": real(q)}
    kappa, epsilon = (defined(f"unary_{what}")(real(p), real(q)) for what in ("kappa", "epsilon"))
    rho = three_point(kappa, epsilon, "UnaryEncoding", "unary_encoding_tight", "unary_encoding_tight_beyond", **names)
    return UnaryEncoding(p=p, q=q), rho


def optimized(e: Fraction, _: int) -> tuple[Mechanism, mpmath.mpf]:
    theorems = "optimized_unary_encoding_tight", "optimized_unary_encoding_tight_beyond"
    rho = three_point(mpmath.exp(real(e)) + 3, real(e), "UnaryEncoding", *theorems, epsilon=real(e))
    return OptimizedUnaryEncoding(epsilon=e), rho


def subset_selection(e: Fraction, i: int) -> tuple[Mechanism, mpmath.mpf]:
    k = 3 + i % 40
    w = 1 + 7 * i % (k - 1)
    names = {"epsilon": real(e), "k": mpmath.mpf(k), "w": mpmath.mpf(w)}
    kappa = defined("subset_kappa")(mpmath.mpf(k), mpmath.mpf(w), real(e))
    theorems = "subset_selection_tight", "subset_selection_tight_beyond"
    rho = three_point(kappa, real(e), "SubsetSelection", *theorems, **names)
    return SubsetSelection(epsilon=e, k=k, size=w), rho


def bounded_range(e: Fraction, _: int) -> tuple[Mechanism, mpmath.mpf]:
    return BoundedRange(eta=e), value_of("BoundedRange", "bounded_range_zCDP", "zCDP", eta=real(e))


def exponential_mechanism(e: Fraction, _: int) -> tuple[Mechanism, mpmath.mpf]:
    return ExponentialMechanism(epsilon=e), value_of(
        "ExponentialMechanism", "exponential_mechanism_tight", epsilon=real(e)
    )


CURVES: dict[str, tuple[str, str, Callable[[Fraction, int], Mechanism]]] = {
    "laplace_RDP": ("Laplace", "tightly_RDP", lambda e, _: Laplace(epsilon=e)),
    "discrete_laplace_RDP": ("DiscreteLaplace", "tightly_RDP", lambda e, k: DiscreteLaplace(epsilon=e, sensitivity=k)),
    "pure_DP_RDP": ("PureDP", "RDP", lambda e, _: PureDP(epsilon=e)),
    "randomized_response_RDP": ("RandomizedResponse", "tightly_RDP", lambda e, k: RandomizedResponse(epsilon=e, k=k)),
    "rappor_RDP": ("UnaryEncoding", "tightly_RDP", lambda e, _: RAPPOR(epsilon=e)),
    "bounded_range_RDP": ("BoundedRange", "RDP", lambda e, _: BoundedRange(eta=e)),
    "exponential_mechanism_RDP_tight": (
        "ExponentialMechanism",
        "tightly_RDP",
        lambda e, _: ExponentialMechanism(epsilon=e),
    ),
}


@pytest.mark.parametrize("theorem", CURVES)
def test_the_program_computes_the_curve_of_the_proof(theorem: str) -> None:
    file, predicate, mechanism = CURVES[theorem]
    with mpmath.workdps(60):
        for i, epsilon in enumerate(EPSILONS):
            k, order = 2 + i % 7, 1 + Fraction(1 + i**3 % 600, 20)
            names = {name: real(epsilon) for name in ("epsilon", "eta")}
            names |= {name: mpmath.mpf(k) for name in ("k", "Delta")}
            truth = value_of(file, theorem, predicate, alpha=real(order), **names)
            assert truth <= mechanism(epsilon, k).rdp(order) <= truth * (1 + mpmath.mpf(10) ** -14), (epsilon, order)


MECHANISMS = [
    laplace,
    discrete_laplace,
    pure_dp,
    pure_group,
    few_categories,
    many_categories,
    rappor,
    unary_encoding,
    optimized,
    subset_selection,
    bounded_range,
    exponential_mechanism,
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.__name__)
def test_the_program_computes_the_rho_of_the_proof(
    mechanism: Callable[[Fraction, int], tuple[Mechanism, mpmath.mpf]],
) -> None:
    with mpmath.workdps(60):
        for i, epsilon in enumerate(EPSILONS):
            program, truth = mechanism(epsilon, i)
            assert truth <= program.rho <= truth * (1 + mpmath.mpf(10) ** -14), program
