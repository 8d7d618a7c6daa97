"""Plants small slips, one at a time, and runs the tests that reach each: what stays green is a place nobody looks at.

    python tools/plant.py list ledger/chain.py                   the slips an operator can make there, numbered
    python tools/plant.py run ledger/chain.py 3 17 40            plant these
    python tools/plant.py run ledger/chain.py --some 20 --seed 5 plant a sample of them
    python tools/plant.py text ledger/chain.py OLD NEW           plant one by hand: OLD stands in the file once
    python tools/plant.py hunt LIST.toml                         plant each [[bug]] (file, old, new) of a list

It needs the map that `make reach` writes (build/reach, tools/reach.py). A slip runs the tests that reach its function,
the quickest first, at most `--seconds` of them (60), as they took when the map was made.
The working tree is never touched: a copy of it is. Survivors are places to look: a proposal that only costs time, or
a test that is missing, to be written against true neighbours or an independent derivation.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import reach

ROOT = reach.ROOT
LEFT_OUT = ".git", ".venv*", "build", "dist", ".*_cache", ".hypothesis", "__pycache__"
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Pow: "*", ast.Mod: "//",
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.And: "or", ast.Or: "and",
    ast.LShift: ">>", ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "|",
}  # fmt: skip
NAMES = {
    "min": "max", "max": "min", "above": "below", "below": "above", "upper": "lower", "lower": "upper",
    "ceil": "floor", "floor": "ceil", "any": "all", "all": "any", "float_above": "float_below",
    "float_below": "float_above", "expm1": "exp", "log1p": "log", "sinh": "cosh", "cosh": "sinh",
}  # fmt: skip


class Slip(NamedTuple):
    """A piece of a file, by its offsets in characters, and what stands there instead."""

    start: int
    end: int
    new: str
    line: int

    def planted(self, source: str) -> str:
        """The file with the slip in it."""
        return source[: self.start] + self.new + source[self.end :]


def slips(source: str) -> Iterator[Slip]:  # noqa: PLR0912
    """All that an operator can do to a file, but for annotations, docstrings and messages."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line.encode()))
    raw = source.encode()

    def offset(line: int, column: int) -> int:
        return len(raw[: lines[line - 1] + column].decode())

    def piece(node: ast.AST) -> tuple[int, int]:
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)  # type: ignore

    def between(left: ast.AST, right: ast.AST, new: str) -> Slip:
        start, end = piece(left)[1], piece(right)[0]
        closing, opening = source[start:end], 0
        while closing[opening : opening + 1] in {")", " ", "\n"}:
            opening += 1
        last = len(closing)
        while closing[last - 1 : last] in {"(", " ", "\n"}:
            last -= 1
        return Slip(start + opening, start + last, new, left.lineno)  # type: ignore

    for node in _code(ast.parse(source)):
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
            yield between(node.left, node.right, OPERATORS[type(node.op)])
        elif isinstance(node, ast.Compare):
            for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield between(left, right, OPERATORS[type(op)])
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield between(left, right, OPERATORS[type(node.op)])
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            start, _ = piece(node)
            yield Slip(start, piece(node.operand)[0], " " if isinstance(node.op, ast.Not) else "", node.lineno)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            for new in {node.value + 1, node.value - 1} if node.value > 1 else {node.value + 1}:
                yield Slip(*piece(node), str(new), node.lineno)
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            yield Slip(*piece(node), str(not node.value), node.lineno)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            end = piece(node.func)[1]
            if name in NAMES:
                yield Slip(end - len(name), end, NAMES[name], node.lineno)
            if len(node.args) == 2 and not any(isinstance(arg, ast.Starred) for arg in node.args):
                first, second = (source[slice(*piece(arg))] for arg in node.args)
                if first != second:
                    yield Slip(piece(node.args[0])[0], piece(node.args[1])[1], f"{second}, {first}", node.lineno)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            for new in ("True", "False") if not isinstance(node, ast.While) else ("False",):
                yield Slip(*piece(node.test), new, node.lineno)
        elif isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue | ast.Break):
            yield Slip(*piece(node), "pass", node.lineno)


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
               for side in (node.left, node.right))  # fmt: skip


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run and decide something."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield node.value
                yield from _code(node.value)
            continue
        if isinstance(node, ast.FunctionDef):
            for inner in (*node.body, node.args):
                if not (isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant)):
                    if not isinstance(inner, ast.arguments):
                        yield inner
                    yield from _code(inner)
            continue
        if isinstance(node, ast.arg):
            continue
        yield node
        yield from _code(node)


def function_at(source: str, line: int) -> str | None:
    """The qualified name of the innermost function around a line, as code objects call it."""
    best: str | None = None

    def visit(node: ast.AST, path: str) -> None:
        nonlocal best
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                if first <= line <= (child.end_lineno or 0):
                    name = f"{path}{child.name}"
                    if isinstance(child, ast.FunctionDef):
                        best = name
                    visit(child, name + (".<locals>." if isinstance(child, ast.FunctionDef) else "."))
            else:
                visit(child, path)

    visit(ast.parse(source), "")
    return best


def tests_of(reached: dict[str, dict[str, float]], file: str, function: str | None) -> list[tuple[str, float]]:
    """Those that reach a function, or the file where it is none, the quickest first."""
    found: dict[str, float] = {}
    for place, tests in reached.items():
        name, _, where = place.partition("::")
        if name == file and (function is None or where == function or where.startswith(f"{function}.<locals>")):
            found |= tests
    return sorted(found.items(), key=lambda item: item[1])


class Bed:
    """A copy of the tree in which slips are planted."""

    def __init__(self, folder: Path, reached: dict[str, dict[str, float]], seconds: float, first: list[str]) -> None:
        self.tree, self.reached, self.seconds, self.first = folder / "tree", reached, seconds, first
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns(*LEFT_OUT))

    def outcome(self, file: str, broken: str, line: int) -> str:
        """`red`, or what else became of it."""
        place = self.tree / "src" / "zcdp" / file
        source = place.read_text(encoding="utf-8")
        try:
            compile(broken, file, "exec")
        except SyntaxError:
            return "no Python"
        tests = tests_of(self.reached, file, function_at(source, line))
        chosen, total = [], 0.0
        for test, seconds in tests:
            total += seconds + 0.003
            if total > self.seconds:
                break
            chosen.append(test)
        if not chosen and not self.first:
            return (
                f"SURVIVES (its quickest test takes {tests[0][1]:.0f} s)" if tests else "SURVIVES (no test reaches it)"
            )
        place.write_text(broken, encoding="utf-8")
        try:
            # a shuffled part of the quick ones first: neighbours in the list are often one parametrized test
            for some in [self.first] * bool(self.first) + list(_rounds(chosen)):
                code, output = self._pytest(some)
                if code != 0:
                    word = {1: "red", None: "red, without an end"}.get(code, f"red (pytest {code})")
                    failed = [row for row in output.splitlines() if row.startswith(("FAILED", "ERROR"))]
                    return f"{word}  {failed[0][:110] if failed else ''}"
        finally:
            place.write_text(source, encoding="utf-8")
        return f"SURVIVES ({len(chosen)} of {len(tests)} tests)"

    def _pytest(self, tests: list[str]) -> tuple[int | None, str]:
        listed = self.tree / "chosen.txt"
        listed.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not deep", "-p", "no:cacheprovider", f"@{listed}"]
        environment = {**os.environ, "PYTHONPATH": str(self.tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            with subprocess.Popen(
                command, cwd=self.tree, env=environment, stdout=output, stderr=output, start_new_session=True
            ) as child:
                try:
                    code: int | None = child.wait(60 + 6 * self.seconds)
                except subprocess.TimeoutExpired:
                    code = None
                    os.killpg(child.pid, signal.SIGKILL)
            output.seek(0)
            return code, output.read()


def _rounds(tests: list[str]) -> Iterator[list[str]]:
    mixed = random.Random(1).sample(tests, len(tests))
    size = 12
    while mixed:
        yield mixed[:size]
        mixed, size = mixed[size:], 8 * size


def main() -> int:
    """0; survivors are no failure of this program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["list", "run", "text", "hunt"])
    parser.add_argument("file")
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--some", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--tests", nargs="*", default=[], help="run these first: new ones, which the map lacks")
    parser.add_argument("--reach", type=Path, default=ROOT / "build" / "reach")
    asked = parser.parse_args()
    jobs: list[tuple[str, str, int, str]] = []  # file, broken source, line, what is shown
    if asked.what == "hunt":
        for bug in tomllib.loads(Path(asked.file).read_text(encoding="utf-8"))["bug"]:
            source = (ROOT / "src" / "zcdp" / bug["file"]).read_text(encoding="utf-8")
            if source.count(bug["old"]) != 1:
                print(f"NOT PLANTED: {bug['file']}: {bug['old']!r} stands there {source.count(bug['old'])} times")
                continue
            line = source[: source.index(bug["old"])].count("\n") + 1
            shown = f"{bug['file']}:{line} {bug['old'].strip()!r} -> {bug['new'].strip()!r}"
            jobs.append((bug["file"], source.replace(bug["old"], bug["new"]), line, shown))
    else:
        file = asked.file.rpartition(reach.MARK)[2]
        source = (ROOT / "src" / "zcdp" / file).read_text(encoding="utf-8")
        if asked.what == "text":
            old, new = asked.rest
            if source.count(old) != 1:
                sys.exit(f"{old!r} stands there {source.count(old)} times, not once")
            line = source[: source.index(old)].count("\n") + 1
            jobs.append((file, source.replace(old, new), line, f"{file}:{line} {old!r} -> {new!r}"))
        else:
            found = list(slips(source))
            numbers = [int(one) for one in asked.rest] or list(range(len(found)))
            if asked.some:
                numbers = sorted(random.Random(asked.seed).sample(numbers, min(asked.some, len(numbers))))
            for n in numbers:
                slip = found[n]
                text = source.splitlines()[slip.line - 1].strip()[:70]
                shown = f"{n:4} {file}:{slip.line} {source[slip.start : slip.end]!r} -> {slip.new!r}   in {text}"
                jobs.append((file, slip.planted(source), slip.line, shown))
    if asked.what == "list":
        print(*(shown for *_, shown in jobs), sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        bed, survived = Bed(Path(folder), reach.load(asked.reach), asked.seconds, asked.tests), 0
        for file, broken, line, shown in jobs:
            outcome = bed.outcome(file, broken, line)
            survived += outcome.startswith("SURVIVES")
            print(f"{shown}\n        {outcome}", flush=True)
    print(f"{len(jobs)} planted, {survived} survive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
