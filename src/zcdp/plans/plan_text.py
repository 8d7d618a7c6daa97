"""Plans as text: sums of counted mechanisms, read by Python's own `ast` and a walker; nothing is evaluated.

Python never sees what a person wrote. Each token becomes a cell of the same width that holds one of `_ ( ) [ ] , := and
or`, so that no string, number, name or character of the text reaches Python's parser, and the column of a node is the
index of its token. The text ends at the first token that no plan could have there, with its brackets closed: the walker
reads what stands before, and says at that token what it expected.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from inspect import signature
from typing import Any, ClassVar, NamedTuple, NoReturn

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import L1, L2, MECHANISMS, WRAPPERS, L0LInf, L1LInf, Mechanism
from zcdp.mechanisms.subsampled import READING
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import MOST_DIGITS, Value, rational
from zcdp.numeric.parameter_domains import switched_on
from zcdp.privacy.curve import Curve, Plan
from zcdp.text.names import printable
from zcdp.text.suggestions import thing, unknown

__all__ = [
    "FREE",
    "LONGEST_PLAN",
    "WORDS",
    "PlanError",
    "Token",
    "Word",
    "parse",
    "parse_open",
    "parse_written",
    "split",
]


LONGEST_PLAN = 500_000  # characters of an expression
SPACE = " \t\r\n"

_TOKEN = re.compile(
    r"""(?P<name>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<number>-?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))
      | (?P<string>'[^'\\\n]*'|"[^"\\\n]*")
      | (?P<sign>[-+*(),=\[\]?])""",
    re.VERBOSE,
)


class PlanError(BadValue):
    """The text is not a plan: `reason` says why, and `position` where (characters from 0)."""

    def __init__(self, message: str, text: str, position: int) -> None:
        start, end = max(position - 30, 0), position + 30
        line = printable(text[start:end])
        super().__init__(f"{message} at position {position}\n  {line}\n  {' ' * (position - start)}^")
        self.reason, self.position = message.rstrip(",;"), position


class Token(NamedTuple):
    """A token: its kind (name, number, string, sign or end), its text, and the position where it begins."""

    kind: str
    text: str
    position: int

    @property
    def end(self) -> int:
        """The position after its last character."""
        return self.position + len(self.text)


def split(text: str) -> list[Token]:
    """The tokens of the text, followed by one of the kind "end"."""
    if not isinstance(text, str):
        raise BadType(f"a plan must be text, not {thing(text)}")
    if len(text) > LONGEST_PLAN:
        raise PlanError(f"a plan has at most {LONGEST_PLAN} characters; more", text, LONGEST_PLAN)
    tokens: list[Token] = []
    position = 0
    while True:
        while position < len(text) and text[position] in SPACE:
            position += 1
        if position == len(text):
            return [*tokens, Token("end", "the end", position)]
        match = _TOKEN.match(text, position)
        if match is None and text[position] == "/" and tokens and tokens[-1].kind == "number":
            below = re.match(r"/\s*([0-9]+)", text[position:])
            ratio = f"{tokens[-1].text}/{below[1] if below else '...'}"
            raise PlanError(f"a fraction needs quotes: '{ratio}'", text, tokens[-1].position)
        if match is None:
            raise PlanError(f"unexpected {text[position]!r}", text, position)
        tokens.append(Token(match.lastgroup or "", match[0], position))
        position = match.end()


FREE = object()
"""The value of a parameter written as `?`, which allocation has to find."""

DEEPEST_NESTING = 50  # brackets inside one another


def _fraction(numerator: Value = 0, denominator: Value = 1) -> Fraction:
    """`Fraction(numerator, denominator)` in plan text, within the limits on exact numbers."""
    below = rational(denominator, "denominator")
    if below == 0:
        raise BadValue("denominator (0) must not be 0")
    return rational(numerator, "numerator") / below


CONSTANTS = {"True": True, "False": False, "None": None}
VALUES: dict[str, Callable[..., Any]] = {v.__name__: v for v in (L1, L2, L0LInf, L1LInf)} | {"Fraction": _fraction}


class Word(NamedTuple):
    """A word that spells a whole plan, as `Training(...)`, and what the values of one of its parameters may be."""

    make: type[Plan]
    parameter: str
    values: Mapping[str, Callable[..., Any]]
    """The words with which that parameter is written; elsewhere they may mean something else."""


WORDS: dict[str, Callable[[], Word]] = {}
"""Words that spell whole plans, each with a function that loads it: packages above this one enter theirs."""

ONLY_IN_PYTHON = {
    "MatrixMechanism": "its matrix is given in Python; `print(run.to_json())` there writes the plan that it stands for",
}


@cache
def _parameter_names(mechanism: type[Curve]) -> tuple[str, ...]:
    return tuple(signature(mechanism).parameters)


def parse(text: str) -> Plan:
    """The plan that the text spells.

    plan = term {"+" term};  term = [count "*"] item | item "*" count;  item = "(" plan ")" | Name "(" parameters ")".
    A parameter may be a mechanism or a plan: Subsampled(2 * Gaussian(sigma=1), rate='0.01'). A name may also be that of
    a training: Training(noise_multiplier='1.1', steps=14063, sampling=Poisson('256/60000')).
    A number without quotes is what Python reads: 0.1 is a binary float, '0.1' the decimal.

    >>> parse("100 * Laplace(epsilon=0.1) + RAPPOR(epsilon='1/3')")
    100 * Laplace(epsilon=0.1) + RAPPOR(epsilon='1/3')
    """
    return _Walker(text).whole()


def parse_written(text: str) -> tuple[Plan, dict[tuple[Curve, object], str]]:
    """The plan, and the text in which each of its mechanisms was first written, by mechanism and sensitivity.

    >>> plan, written = parse_written("3 * Laplace(scale=10)")
    >>> plan, written
    (3 * Laplace(epsilon='0.1'), {(Laplace(epsilon='0.1'), Fraction(1, 1)): 'Laplace(scale=10)'})
    """
    walker = _Walker(text)
    return walker.whole(), walker.written


def parse_open(text: str) -> tuple[type[Mechanism], dict[str, Any]]:
    """The class and the parameters of one mechanism whose noise is to be found: parameters written `?` are `FREE`.

    >>> mechanism, parameters = parse_open("Laplace(epsilon=?, sensitivity=3)")
    >>> mechanism.__name__, parameters["epsilon"] is FREE
    ('Laplace', True)
    """
    return _Walker(text, is_open=True).alone()


CELL = 8  # columns that each token has in the text for Python
_WRITTEN = {"+": "or", "*": "and", "=": ":="}
"""Python keeps the operands of `or` and `and` in one list; a + b + c would nest as deep as there are terms."""


def _tree(tokens: list[Token]) -> tuple[ast.expr, int | None]:
    """The tokens as Python's syntax tree, whose only nodes are names, calls, lists, `:=`, `or` and `and`.

    Brackets around a plan are a call of the name in their own cell. If the tokens cannot go on as they do, the last
    node stands for the first one that does not fit; its index is returned if an operand stands before it, which is
    complete, and None if an operand was due.
    """
    cells: list[str] = []
    opened = [""]  # brackets, each closed by its last letter
    complete = False  # whether an operand has just ended
    previous = token = tokens[-1]
    for token in tokens:
        sign = "_" if token.kind in ("name", "number", "string") or token.text == "?" else token.text
        is_call = sign == "(" and previous.kind == "name"
        is_argument = opened[-1] == "call)" and previous.kind == "name" and cells[-2] in ("(", ",")
        fits = {
            "_": not complete,
            "[": not complete,
            "(": is_call or not complete,
            ")": opened[-1].endswith(")") and (complete or cells[-1] in ("(", ",")),
            "]": opened[-1].endswith("]") and (complete or cells[-1] in ("[", ",")),
            ",": complete and opened[-1] in ("call)", "list]"),
            "=": is_argument,
            "+": complete,
            "*": complete,
        }
        if (
            not fits.get(sign) or len(opened) > 2 * DEEPEST_NESTING
        ):  # a minus that is no number's, or the end, never fits
            break
        if sign in ("(", "["):
            opened.append("list]" if sign == "[" else "call)" if is_call else "plan)")
        elif sign in (")", "]"):
            opened.pop()
        cells.append("_(" if sign == "(" and not is_call else _WRITTEN.get(sign, sign))
        complete = sign in ("_", ")", "]")
        previous = token
    cut = len(cells) if complete and (token.kind != "end" or opened[1:]) else None
    if cut is not None:
        cells[-1] += " or"
    if cut is not None or not complete:
        cells.append("_" + "".join(bracket[-1:] for bracket in reversed(opened)))
    return ast.parse("".join(f"{cell:{CELL}}" for cell in cells), mode="eval").body, cut


def _start(node: ast.expr) -> int:
    """The index of a node's first token."""
    return node.col_offset // CELL


def _after(node: ast.expr) -> int:
    """The index of the token after a node's last one."""
    return ((node.end_col_offset or 0) - 1) // CELL + 1


def _operands(node: ast.expr, operator: type[ast.boolop]) -> list[ast.expr]:
    """The terms (`ast.Or`) or the factors (`ast.And`) of a node: one, if it has no such operator."""
    return node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, operator) else [node]


def _first(node: ast.expr) -> ast.expr:
    """The first operand of a node."""
    return _operands(_operands(node, ast.Or)[0], ast.And)[0]


class _Walker:
    """Walks the tree of one text from left to right: `whole` as a plan, `alone` as one mechanism that may have `?`."""

    names: ClassVar[Mapping[str, type[Mechanism]]] = {m.__name__: m for m in (*MECHANISMS, *WRAPPERS)}

    def __init__(self, text: str, *, is_open: bool = False) -> None:
        self.text, self.is_open = text, is_open
        self.tokens = split(text)
        self.tree, self.cut = _tree(self.tokens)
        self.depth = 0
        self.written: dict[tuple[Curve, object], str] = {}

    def whole(self) -> Plan:
        return self._plan(self.tree, "expected '+' or the end")

    def alone(self) -> tuple[type[Mechanism], dict[str, Any]]:
        node = _first(self.tree)
        mechanism, values, parameters = self._call(node)
        if values or self.tokens[_after(node)].kind != "end":
            self._fail("expected one mechanism, its parameters with their names", _after(node))
        return mechanism, parameters

    def _plan(self, node: ast.expr, due: str) -> Plan:
        """A sum of counted mechanisms; `due` says what was expected after it, if something else stands there."""
        terms, end = [], _start(node)
        for operand in _operands(node, ast.Or):
            if _start(operand) == self.cut:
                break
            term, end = self._term(operand)
            terms.append(term)
            if end < _after(operand):
                break
        plan = Plan.sum_of(*terms)
        if end < _after(node):
            self._fail(due, end)
        return plan

    def _term(self, node: ast.expr) -> tuple[Curve, int]:
        """Count times item, or item times counts; and the index of the token after it."""
        first, *others = _operands(node, ast.And)
        if self._token(first).kind == "number":
            self._number(first)
            if not others:
                self._fail("expected '*'", _after(first))
            return self._times(self._item(others[0]), first), _after(others[0])
        item = self._item(first)
        for count in others:
            if self._token(count).kind != "number":
                self._fail("expected a count", _start(count))
            item = self._times(item, count)
        return item, _after(node)

    def _times(self, item: Curve, count: ast.expr) -> Curve:
        number = self._number(count)
        try:
            return Plan.repeated(item, number)  # type: ignore[arg-type] # it says what is wrong with a float
        except (ValueError, TypeError) as error:
            raise PlanError(str(error), self.text, self._token(count).position) from None

    def _item(self, node: ast.expr) -> Curve:
        name = self._token(node)
        if isinstance(node, ast.Call) and name.text == "(":
            with self._deeper(_start(node) + 1):
                return self._plan(node.args[0], "expected ')'")
        mechanism, values, parameters = self._call(node)
        try:
            made: Curve = switched_on(READING, mechanism)(*values, **parameters)
        except (ValueError, TypeError, NotCertified) as error:
            raise PlanError(f"{name.text}: {error}", self.text, name.position) from None
        # equal mechanisms have equal privacy cost, but their noise differs if their sensitivities do
        key = made, getattr(made, "sensitivity", None)
        self.written.setdefault(key, self.text[name.position : self.tokens[_after(node) - 1].end])
        return made

    def _call(self, node: ast.expr) -> tuple[type[Any], list[Any], dict[str, Any]]:
        """The class that a name stands for, with its positional and its named arguments."""
        name = self._token(node)
        if name.kind != "name":
            self._fail("expected a mechanism", _start(node))
        word = WORDS[name.text]() if name.text in WORDS else None
        if word is not None and self.is_open:
            self._fail(
                f"expected one mechanism: {name.text} is a whole plan, whose noise zcdp calibrate finds", _start(node)
            )
        if word is None and name.text in ONLY_IN_PYTHON:
            self._fail(f"{name.text} is no plan text: {ONLY_IN_PYTHON[name.text]}", _start(node))
        if word is None and name.text not in self.names:
            self._fail(unknown("mechanism", name.text, [*self.names, *WORDS]), _start(node))
        mechanism = self.names[name.text] if word is None else word.make
        values, parameters = self._parameters(node, word)
        known = _parameter_names(mechanism)
        for given in parameters:
            if given not in known:
                raise PlanError(f"{name.text}: {unknown('parameter', given, known)}", self.text, name.position)
        return mechanism, values, parameters

    def _parameters(self, node: ast.expr, word: Word | None = None) -> tuple[list[Any], dict[str, Any]]:
        """The arguments in brackets: positional values, then those with a name; for one `word` has words of its own."""
        if not isinstance(node, ast.Call):
            self._fail("expected '('", _after(node))
        values: list[Any] = []
        parameters: dict[str, Any] = {}
        for argument in node.args:
            if not isinstance(argument, ast.NamedExpr):
                if parameters:
                    self._fail("expected a parameter", _start(argument))
                values.append(self._value(argument, "expected ',' or ')'"))
                continue
            name = self._token(argument).text
            if name in parameters:
                self._fail(f"{name} is given twice", _start(argument))
            if word is not None and name == word.parameter:
                parameters[name] = self._worded(argument.value, word)
            else:
                parameters[name] = self._value(argument.value, "expected ',' or ')'")
        return values, parameters

    def _worded(self, node: ast.expr, word: Word) -> Any:
        """The value of the parameter that has words of its own."""
        token = self._token(node)
        if not isinstance(node, ast.Call) or token.text not in word.values:
            known = ", ".join(f"{name}(...)" for name in word.values)
            self._fail(f"{word.parameter} must be one of {known}", _start(node))
        return self._made(node, word.values)

    def _value(self, node: ast.expr, due: str) -> Any:
        """One argument: a number, an exact one in quotes, True, False or None, a list, a sensitivity, or a plan."""
        first = _first(node)
        token, start = self._token(first), _start(first)
        is_call, is_count = isinstance(first, ast.Call), token.kind == "number" and self.tokens[start + 1].text == "*"
        if is_count or token.text == "(" or (is_call and (token.text in self.names or token.text in WORDS)):
            with self._deeper(start):
                plan = self._plan(node, due)
            [(only, count), *others] = plan.parts
            return plan if others or count > 1 else only
        end = start + 1
        if token.kind == "string":
            value: Any = token.text[1:-1]
        elif token.kind == "number":
            value = self._number(first)
        elif isinstance(first, ast.List):
            value, end = [self._element(one) for one in first.elts], _after(first)
        elif token.text == "?" and self.is_open:
            value = FREE
        elif token.text in CONSTANTS:
            value = CONSTANTS[token.text]
        elif token.text in VALUES:
            value, end = self._made(first), _after(first)
        else:
            self._refuse(token, start, is_call=is_call)
        if end < _after(node):
            self._fail(due, end)
        return value

    def _element(self, node: ast.expr) -> Any:
        with self._deeper(_start(node)):
            return self._value(node, "expected ','")

    def _made(self, node: ast.expr, words: Mapping[str, Callable[..., Any]] = VALUES) -> Any:
        """A sensitivity or a fraction, or what another word stands for."""
        token = self._token(node)
        with self._deeper(_start(node) + 1):
            values, named = self._parameters(node)
        try:
            return words[token.text](*values, **named)
        except (ValueError, TypeError) as error:
            raise PlanError(f"{token.text}: {error}", self.text, token.position) from None

    def _refuse(self, token: Token, index: int, *, is_call: bool) -> NoReturn:
        """Say why a token is no value."""
        if token.text == "?":
            self._fail("'?' is a value to be found, by calibrate or allocate: here one is needed", index)
        if token.text in ("sqrt", "log"):
            self._fail(f"an exact number that is no decimal needs quotes: '{token.text}(2)'", index)
        if token.text in ("true", "false"):
            self._fail(f"it is written {token.text.capitalize()}", index)
        if is_call:
            self._fail(unknown("sensitivity" if token.text[:1] in "lL" else "value", token.text, VALUES), index)
        self._fail("expected a number, or an exact one in quotes such as '1/3'", index)

    @contextmanager
    def _deeper(self, index: int) -> Iterator[None]:
        """One level of brackets deeper, which begins at a token."""
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            self._fail(f"more than {DEEPEST_NESTING} brackets inside one another", index)
        yield
        self.depth -= 1

    def _number(self, node: ast.expr) -> int | float:
        text = self._token(node).text
        if len(text) > MOST_DIGITS:
            self._fail(f"a number of more than {MOST_DIGITS} characters", _start(node))
        if "x" in text or "X" in text:
            return int(text, 16)
        return int(text) if text.lstrip("-").isdigit() else float(text)

    def _token(self, node: ast.expr) -> Token:
        return self.tokens[_start(node)]

    def _fail(self, message: str, index: int) -> NoReturn:
        token = self.tokens[index]
        found = token.text if token.kind == "end" else repr(token.text[:40])
        where = f"{message}, found {found}," if message.startswith("expected") else message
        raise PlanError(where, self.text, token.position)
