"""Plans as text: a tokenizer and a recursive-descent parser for sums of counted mechanisms; nothing is evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from inspect import signature
from typing import Any, ClassVar, NamedTuple, NoReturn

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import L1, L2, MECHANISMS, WRAPPERS, L0LInf, L1LInf, Mechanism
from zcdp.mechanisms.subsampled import READING
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import MOST_DIGITS, Value, rational
from zcdp.privacy.curve import Curve
from zcdp.privacy.plan import Plan
from zcdp.text.names import printable
from zcdp.text.suggestions import thing, unknown

__all__ = ["FREE", "LONGEST_PLAN", "PlanError", "Token", "parse", "parse_open", "parse_written", "split"]


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


# The parser. It builds mechanisms from a fixed list of names and never evaluates the text as Python.

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


@cache
def _parameter_names(mechanism: type[Mechanism]) -> tuple[str, ...]:
    return tuple(signature(mechanism).parameters)


def parse(text: str) -> Plan:
    """The plan that the text spells.

    plan = term {"+" term};  term = [count "*"] item | item "*" count;  item = "(" plan ")" | Name "(" parameters ")".
    A parameter may be a mechanism or a plan: Subsampled(2 * Gaussian(sigma=1), rate='0.01').
    A number without quotes is what Python reads: 0.1 is a binary float, '0.1' the decimal.

    >>> parse("100 * Laplace(epsilon=0.1) + RAPPOR(epsilon='1/3')")
    100 * Laplace(epsilon=0.1) + RAPPOR(epsilon='1/3')
    """
    return _Parser(text).whole()


def parse_written(text: str) -> tuple[Plan, dict[tuple[Curve, object], str]]:
    """The plan, and the text in which each of its mechanisms was first written, by mechanism and sensitivity.

    >>> plan, written = parse_written("3 * Laplace(scale=10)")
    >>> plan, written
    (3 * Laplace(epsilon='0.1'), {(Laplace(epsilon='0.1'), Fraction(1, 1)): 'Laplace(scale=10)'})
    """
    parser = _Parser(text)
    return parser.whole(), parser.written


def parse_open(text: str) -> tuple[type[Mechanism], dict[str, Any]]:
    """The class and the parameters of one mechanism whose noise is to be found: parameters written `?` are `FREE`.

    >>> mechanism, parameters = parse_open("Laplace(epsilon=?, sensitivity=3)")
    >>> mechanism.__name__, parameters["epsilon"] is FREE
    ('Laplace', True)
    """
    return _Parser(text).alone()


class _Parser:
    """Reads one text: `whole` as a plan, `alone` as one mechanism that may have parameters `?`."""

    names: ClassVar[Mapping[str, type[Mechanism]]] = {m.__name__: m for m in (*MECHANISMS, *WRAPPERS)}

    def __init__(self, text: str) -> None:
        self.text = text
        self.open = False
        self.tokens = split(text)
        self.next = 0
        self.depth = 0
        self.written: dict[tuple[Curve, object], str] = {}

    def whole(self) -> Plan:
        plan = self._plan()
        if self._peek().kind != "end":
            self._fail("expected '+' or the end")
        return plan

    def alone(self) -> tuple[type[Mechanism], dict[str, Any]]:
        self.open = True
        mechanism, values, parameters = self._call()
        if values or self._peek().kind != "end":
            self._fail("expected one mechanism, its parameters with their names")
        return mechanism, parameters

    def _plan(self) -> Plan:
        terms = [self._term()]
        while self._take("+"):
            terms.append(self._term())
        return Plan.sum_of(*terms)

    def _term(self) -> Curve:
        if self._peek().kind == "number":
            where = self._peek()
            count = self._number()
            self._expect("*")
            return self._times(self._item(), count, where)
        item = self._item()
        while self._take("*"):
            where = self._peek()
            if where.kind != "number":
                self._fail("expected a count")
            item = self._times(item, self._number(), where)
        return item

    def _times(self, item: Curve, count: int | float, where: Token) -> Curve:
        try:
            return Plan.repeated(item, count)  # type: ignore[arg-type] # it says what is wrong with a float
        except (ValueError, TypeError) as error:
            raise PlanError(str(error), self.text, where.position) from None

    def _item(self) -> Curve:
        if self._take("("):
            plan: Curve = self._nested(self._plan)
            self._expect(")")
            return plan
        name = self._peek()
        mechanism, values, parameters = self._call()
        before = READING.set(True)
        try:
            made = mechanism(*values, **parameters)
        except (ValueError, TypeError, NotCertified) as error:
            raise PlanError(f"{name.text}: {error}", self.text, name.position) from None
        finally:
            READING.reset(before)
        # equal mechanisms have equal privacy cost, but their noise differs if their sensitivities do
        key = made, getattr(made, "sensitivity", None)
        self.written.setdefault(key, self.text[name.position : self.tokens[self.next - 1].end])
        return made

    def _call(self) -> tuple[type[Mechanism], list[Any], dict[str, Any]]:
        """The class that a name stands for, with its positional and its named arguments."""
        name = self._peek()
        if name.kind != "name":
            self._fail("expected a mechanism")
        if name.text not in self.names:
            self._fail(unknown("mechanism", name.text, self.names))
        self.next += 1
        mechanism = self.names[name.text]
        values, parameters = self._parameters()
        known = _parameter_names(mechanism)
        for given in parameters:
            if given not in known:
                raise PlanError(f"{name.text}: {unknown('parameter', given, known)}", self.text, name.position)
        return mechanism, values, parameters

    def _parameters(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments in brackets: positional values, then values with a name."""
        self._expect("(")
        values: list[Any] = []
        parameters: dict[str, Any] = {}
        while not self._take(")"):
            if values or parameters:
                if self._peek().text != ",":
                    self._fail("expected ',' or ')'")
                self._expect(",")
                if self._take(")"):
                    break
            name, after = self._peek(), self.tokens[min(self.next + 1, len(self.tokens) - 1)]
            if name.kind != "name" or after.text != "=":
                if parameters:
                    self._fail("expected a parameter")
                values.append(self._value())
                continue
            if name.text in parameters:
                self._fail(f"{name.text} is given twice")
            self.next += 2
            parameters[name.text] = self._value()
        return values, parameters

    def _value(self) -> Any:
        """One argument: a number, an exact one in quotes, True, False or None, a list, a sensitivity, or a plan."""
        token = self._peek()
        if token.kind == "string":
            self.next += 1
            return token.text[1:-1]
        if token.kind == "number":
            return self._nested(self._inner) if self.tokens[self.next + 1].text == "*" else self._number()
        if self._take("["):
            return self._list()
        if token.text == "?" and self.open:
            self.next += 1
            return FREE
        if token.text == "?":
            self._fail("'?' is a value to be found, by calibrate or allocate: here one is needed")
        if token.text in CONSTANTS:
            self.next += 1
            return CONSTANTS[token.text]
        if token.text in VALUES:
            self.next += 1
            values, named = self._nested(self._parameters)
            try:
                return VALUES[token.text](*values, **named)
            except (ValueError, TypeError) as error:
                raise PlanError(f"{token.text}: {error}", self.text, token.position) from None
        if token.text == "(" or (token.text in self.names and self.tokens[self.next + 1].text == "("):
            return self._nested(self._inner)
        if token.text in ("sqrt", "log"):
            self._fail(f"an exact number that is no decimal needs quotes: '{token.text}(2)'")
        if token.text in ("true", "false"):
            self._fail(f"it is written {token.text.capitalize()}")
        if token.kind == "name" and self.tokens[self.next + 1].text == "(":
            self._fail(unknown("sensitivity" if token.text[:1] in "lL" else "value", token.text, VALUES))
        return self._fail("expected a number, or an exact one in quotes such as '1/3'")

    def _inner(self) -> Curve:
        """An argument that is a plan; a plan of one use of one mechanism becomes the mechanism itself."""
        plan = self._plan()
        [(only, count), *others] = plan.parts
        return plan if others or count > 1 else only

    def _list(self) -> list[Any]:
        values: list[Any] = []
        while not self._take("]"):
            if values:
                self._expect(",")
                if self._take("]"):
                    break
            values.append(self._nested(self._value))
        return values

    def _nested(self, read: Callable[[], Any]) -> Any:
        """What `read` returns, one level of brackets deeper."""
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            self._fail(f"more than {DEEPEST_NESTING} brackets inside one another")
        answer = read()
        self.depth -= 1
        return answer

    def _number(self) -> int | float:
        token = self._peek()
        if len(token.text) > MOST_DIGITS:
            self._fail(f"a number of more than {MOST_DIGITS} characters")
        self.next += 1
        if "x" in token.text or "X" in token.text:
            return int(token.text, 16)
        return int(token.text) if token.text.lstrip("-").isdigit() else float(token.text)

    def _peek(self) -> Token:
        return self.tokens[self.next]

    def _take(self, sign: str) -> bool:
        token = self._peek()
        if token.kind == "sign" and token.text == sign:
            self.next += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            self._fail(f"expected {sign!r}")

    def _fail(self, message: str) -> NoReturn:
        token = self._peek()
        found = token.text if token.kind == "end" else repr(token.text[:40])
        where = f"{message}, found {found}," if message.startswith("expected") else message
        raise PlanError(where, self.text, token.position)
