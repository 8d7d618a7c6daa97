"""The proofs in Coq: builds them, refuses what is unfinished or rests on more axioms, and has coqchk check the result.

`python3 tools/check_proofs.py` works in build/proofs and needs no package of Python. With `--broken` it then plants an
unfinished proof, an axiom, a theorem left out of Main.v and a smaller rho, one at a time, and fails if one is accepted.
With `--page` it only writes the statements into docs/machine-checked.md, and needs no Coq.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "proofs"
PAGE = ROOT / "docs" / "machine-checked.md"
PACKAGES = "coq libcoq-coquelicot"
CLASSICAL_REALS = frozenset(
    [
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "Classical_Prop.classic",
        "FunctionalExtensionality.functional_extensionality_dep",
    ]
)
UNFINISHED = re.compile(
    r"\b(Admitted|admit|give_up|Abort|Axioms?|Parameters?|Conjecture|Admit Obligations|bypass_check|"
    r"(?:Guard|Positivity|Universe) Checking)\b"
)


@dataclass(frozen=True)
class Optional:
    """A file that needs one more package, and the axioms that it may add."""

    name: str
    library: str
    package: str
    adds: str


OPTIONAL = (
    Optional("PaperErratum", "Interval", "libcoq-interval", r"(PrimInt63|Uint63)\.\w+"),
    Optional(
        "AnyMeasure",
        "mathcomp/analysis",
        "libcoq-mathcomp-analysis",
        r"propositional_extensionality|functional_extensionality_dep|constructive_indefinite_description|"
        r"Epsilon\.epsilon_statement",
    ),
)


class Refused(Exception):
    """The proofs are not what the page says they are."""


def without_comments(text: str) -> str:
    """The text without its comments, which nest.

    >>> without_comments("Qed. (* not (* ever *) Admitted *) Print x.")
    'Qed.  Print x.'
    """
    depth, kept = 0, []
    for piece in re.split(r"(\(\*|\*\))", text):
        if piece == "(*":
            depth += 1
        elif piece == "*)":
            depth -= 1
        elif not depth:
            kept.append(piece)
    return "".join(kept)


def core() -> list[str]:
    """The names of the files that every build has, in order, Main last."""
    return re.findall(r"^(\w+)\.v$", (SOURCES / "_CoqProject").read_text(encoding="utf-8"), re.MULTILINE)


def stated(text: str) -> list[str]:
    """The names of what a file calls a theorem; lemmas are for its own use."""
    return re.findall(r"^Theorem (\w+)", without_comments(text), re.MULTILINE)


def listed(text: str) -> list[str]:
    """The names that Main.v lists, whose axioms it prints."""
    body = re.search(r"Definition theorems := \(?(.*?)\)?\.\s", without_comments(text), re.DOTALL)
    return re.findall(r"@(\w+)", body[1]) if body else []


def refuse_words(folder: Path, names: list[str]) -> None:
    """Nothing unfinished and nothing assumed, comments aside."""
    for name in names:
        found = UNFINISHED.search(without_comments((folder / f"{name}.v").read_text(encoding="utf-8")))
        if found:
            raise Refused(f"{name}.v says {found[0]}")


def refuse_unlisted(folder: Path, names: list[str]) -> None:
    """What is called a theorem must be in the list of Main.v, and the other way round."""
    theorems = [one for name in names for one in stated((folder / f"{name}.v").read_text(encoding="utf-8"))]
    shown = listed((folder / "Main.v").read_text(encoding="utf-8"))
    if sorted(theorems) != sorted(shown):
        raise Refused(f"Main.v and the files disagree on {', '.join(sorted(set(theorems) ^ set(shown)))}")


def compiled(folder: Path, name: str) -> str:
    """What coqc prints of one file."""
    command = ["coqc", "-w", "none", "-Q", ".", "ZCDP", f"{name}.v"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"{name}.v does not compile: {' '.join(done.stderr.split())[:300]}")
    return done.stdout


def axioms(printed: str) -> set[str]:
    """The names in what `Print Assumptions` prints.

    >>> sorted(axioms("Axioms:\\nA.b : forall P : Prop,\\n  P\\nA.c\\n  : Prop\\n"))
    ['A.b', 'A.c']
    """
    if not printed.startswith("Axioms:\n"):
        raise Refused(f"no list of axioms, but {printed[:100]!r}")
    entries = [line for line in printed.splitlines()[1:] if not line.startswith(" ")]
    names = [re.fullmatch(r"([\w.]+)( :.*)?", line) for line in entries]
    if not all(names):
        raise Refused(f"an assumption that is no axiom: {printed[:300]}")
    return {name[1] for name in names if name}


def refuse_axioms(printed: str, adds: str = "(?!)") -> set[str]:
    """Exactly the axioms of the classical reals, and beyond them only what an optional file may add."""
    found = axioms(printed)
    unexpected = {name for name in found - CLASSICAL_REALS if not re.fullmatch(adds, name)}
    if unexpected or not found >= CLASSICAL_REALS:
        raise Refused(f"unexpected axioms: {', '.join(sorted(unexpected | CLASSICAL_REALS - found))}")
    return found


def build(folder: Path, first: str | None = None) -> None:
    """Compiles the core, from one file on if what stands before it is compiled already, and looks at its axioms."""
    names = core()
    for name in names[names.index(first) if first else 0 :]:
        printed = compiled(folder, name)
        if name == "Main":
            refuse_axioms(printed)


def checked(folder: Path, names: list[str]) -> None:
    """The compiled files, once more, by the checker that is independent of the tactics."""
    modules = [word for name in names for word in ("-norec", f"ZCDP.{name}")]
    done = subprocess.run(
        ["coqchk", "-silent", "-Q", ".", "ZCDP", *modules], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refused(f"coqchk: {' '.join((done.stdout + done.stderr).split())[-300:]}")


def installed(library: str) -> bool:
    """Whether coqc finds a library."""
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=True).stdout.strip()
    return (Path(where) / "user-contrib" / library).is_dir()


def prove() -> Path:
    """The whole check, in a fresh folder, which is returned."""
    folder = ROOT / "build" / "proofs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for source in SOURCES.glob("*.v"):
        shutil.copy(source, folder)
    names = core()
    if unbuilt := {source.stem for source in SOURCES.glob("*.v")} - {*names} - {one.name for one in OPTIONAL}:
        raise Refused(f"nothing builds {', '.join(sorted(unbuilt))}")
    refuse_words(folder, [*names, *(one.name for one in OPTIONAL)])
    refuse_unlisted(folder, names)
    start = monotonic()
    build(folder)
    checked(folder, names)
    for one in OPTIONAL:
        if installed(one.library):
            found = refuse_axioms(compiled(folder, one.name), one.adds)
            checked(folder, [one.name])
            print(f"{one.name}: checked, from {len(found)} axioms of Coq and of {one.package}")
        else:
            print(f"{one.name}: left out, it needs the Debian package {one.package}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    count = len(listed((folder / "Main.v").read_text(encoding="utf-8")))
    print(
        f"{count} theorems, nothing unfinished, from the four axioms of the classical reals: "
        f"{used.ru_utime + used.ru_stime:.0f} s of processor time, {monotonic() - start:.0f} s in all, "
        f"at most {used.ru_maxrss / 1e6:.1f} GB",
        flush=True,
    )
    return folder


@dataclass(frozen=True)
class Bug:
    """A change of one file that must be refused, if need be without the search for words."""

    what: str
    file: str
    old: str
    new: str
    by_words: bool = True


ONE_STEP, SKIPPED = "now apply IH.\nQed.", "now apply IH.\nAdmitted."
BUGS = (
    Bug("an unfinished proof", "GroupPrivacy", ONE_STEP, SKIPPED),
    Bug("an unfinished proof that no search sees", "GroupPrivacy", ONE_STEP, SKIPPED, by_words=False),
    Bug("an axiom", "GroupPrivacy", "Lemma steps_one", "Axiom shortcut : False.\nLemma steps_one"),
    Bug(
        "an axiom under another word",
        "GroupPrivacy",
        "Proof. split; [now intros [z [N ->]]|intros N; now exists x']. Qed.",
        "Proof. split; [now intros [z [N ->]]|intros N; now exists x']. Qed.\nHypothesis shortcut : False.",
    ),
    Bug("a theorem left out of Main.v", "Main", "  @laplace_KL,\n", ""),
    Bug("a smaller rho", "Laplace", "R := e + exp (- e) - 1.", "R := 99 / 100 * (e + exp (- e) - 1)."),
)  # fmt: skip


def broken(proved: Path) -> bool:
    """Whether each planted bug is refused."""
    folder = proved.with_name("proofs-broken")
    refused = 0
    for bug in BUGS:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(proved, folder)
        source = folder / f"{bug.file}.v"
        text = source.read_text(encoding="utf-8")
        changed = text.replace(bug.old, bug.new, 1)
        if "Hypothesis shortcut" in bug.new:  # in use, or it would be no assumption of any theorem
            changed = changed.replace(
                "  intros Hk Hr HM HE HZ.", "  destruct shortcut.\nQed.\nLemma rest : True.\nProof.", 1
            )
            changed = re.sub(r"(Lemma rest : True\.\nProof\.).*?Qed\.", r"\1 easy. Qed.", changed, flags=re.DOTALL)
        source.write_text(changed, encoding="utf-8")
        try:
            if changed == text:
                continue
            if bug.by_words:
                refuse_words(folder, core())
            refuse_unlisted(folder, core())
            build(folder, bug.file)
        except Refused as reason:
            print(f"{bug.what}: refused, {str(reason)[:160]}", flush=True)
            refused += 1
        else:
            print(f"{bug.what}: NOT refused", flush=True)
    return refused == len(BUGS)


def statement(file: str, name: str) -> str:
    """What a file of the proofs defines or states under a name, word for word, without its proof."""
    text = (SOURCES / f"{file}.v").read_text(encoding="utf-8")
    found = re.search(rf"^Theorem {name}\b.*?(?=\nProof\.)", text, re.DOTALL | re.MULTILINE) or re.search(
        rf"^(?:Program )?(?:Definition|Fixpoint|Record) {name}\b.*?\.$", text, re.DOTALL | re.MULTILINE
    )
    if not found:
        raise Refused(f"{file}.v has no {name}")
    return found[0]


QUOTED = re.compile(r"(<!-- coq (\w+): ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def quoted(page: str) -> dict[str, str]:
    """The names that a page quotes, each with its file."""
    return {name: file for _, file, names, _ in QUOTED.findall(page) for name in names.split()}


def fill(page: str) -> str:
    """The page with every statement that it quotes as it stands in the proofs."""

    def quote(match: re.Match[str]) -> str:
        texts = [statement(match[2], name) for name in match[3].split()]
        lines = "\n\n".join(texts).split("\n")
        return match[1] + "\n" + "\n".join(f"    {line}".rstrip() for line in lines) + "\n\n" + match[4]

    return QUOTED.sub(quote, page)


def main() -> int:
    """1 if anything is refused that stands there, or not refused that was planted."""
    if "--page" in sys.argv[1:]:
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    if not (shutil.which("coqc") and shutil.which("coqchk") and installed("Coquelicot")):
        more = " ".join(one.package for one in OPTIONAL)
        print(f"The proofs need Coq and Coquelicot: apt install {PACKAGES} (for the optional files also {more})")
        return 1
    try:
        folder = prove()
    except Refused as reason:
        print(f"refused: {reason}")
        return 1
    return 0 if "--broken" not in sys.argv[1:] or broken(folder) else 1


if __name__ == "__main__":
    sys.exit(main())
