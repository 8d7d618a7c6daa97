"""Real expressions as Coq writes them, read from the sources of the proofs and evaluated to many digits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import mpmath

SOURCES = Path(__file__).parent.parent / "proofs"
FUNCTIONS: dict[str, Callable[..., mpmath.mpf]] = {
    "exp": mpmath.exp,
    "ln": mpmath.log,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "INR": mpmath.mpf,
    "Rmin": min,
    "Rpower": mpmath.power,
}
Value = mpmath.mpf


@cache
def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[-+*/()]", text)


class Reader:
    """One expression: sums, products, inverses written `/ x`, and functions applied as in `exp (- x)`."""

    def __init__(self, text: str, names: Mapping[str, Value]) -> None:
        self.tokens = tokens(text)[::-1]  # the next one last
        self.names = names

    def next(self) -> str:
        return self.tokens[-1] if self.tokens else ""

    def sum(self) -> Value:
        value = self.product()
        while self.next() in ("+", "-"):
            value = value + self.product() if self.tokens.pop() == "+" else value - self.product()
        return value

    def product(self) -> Value:
        value = self.sign()
        while self.next() in ("*", "/"):
            value = value * self.sign() if self.tokens.pop() == "*" else value / self.sign()
        return value

    def sign(self) -> Value:
        if self.next() == "-":
            self.tokens.pop()
            return -self.sign()
        if self.next() == "/":
            self.tokens.pop()
            return 1 / self.sign()
        return self.applied()

    def applied(self) -> Value:
        head = self.next()
        if head in self.names or not re.fullmatch(r"[A-Za-z_]\w*", head):
            return self.atom()
        self.tokens.pop()
        arguments = []
        while re.fullmatch(r"\w+|\(", self.next()):
            arguments.append(self.atom())
        return FUNCTIONS[head](*arguments) if head in FUNCTIONS else defined(head)(*arguments)

    def atom(self) -> Value:
        token = self.tokens.pop()
        if token == "(":
            value = self.sum()
            assert self.tokens.pop() == ")"
            return value
        return self.names[token] if token in self.names else mpmath.mpf(int(token))


def value(text: str, **names: Value) -> Value:
    """The number that an expression stands for.

    >>> value("epsilon + exp (- epsilon) - / 2", epsilon=mpmath.mpf(0))
    mpf('0.5')
    """
    reader = Reader(text, names)
    found = reader.sum()
    assert not reader.tokens, reader.tokens
    return found


@cache
def defined(name: str) -> Callable[..., Value]:
    """A function that some file defines, as `Definition name (c x0 u : R) : R := body.`"""
    for source in SOURCES.glob("*.v"):
        found = re.search(rf"^Definition {name} \(([\w ]+) : R\) : R :=\s(.*?)\.$", source.read_text(), re.M | re.S)
        if found:
            return lambda *arguments: value(found[2], **dict(zip(found[1].split(), arguments, strict=True)))
    raise AssertionError(f"no file defines {name}")


def argument(statement: str, predicate: str) -> str:
    """The last argument of zCDP or RDP, or of either with "tightly", in a statement.

    >>> argument("forall e, 0 < e -> zCDP reals (close e) (M e) (e * (1 - e)).", "zCDP")
    'e * (1 - e)'
    """
    rest = re.split(rf"\b{predicate}\b", statement)[-1]
    count = (
        5 if predicate.endswith("RDP") else 4
    )  # base measure, neighbours, mechanism, for RDP the order, and the value
    groups: list[str] = []
    depth, start = 0, 0
    for place, sign in enumerate(rest):
        if not depth and (sign.isspace() or sign in ".)"):
            if rest[start:place].strip():
                groups.append(rest[start:place].strip())
            start = place
            if len(groups) == count or sign == ")":
                break
        depth += {"(": 1, ")": -1}.get(sign, 0)
    return groups[count - 1].removeprefix("(").removesuffix(")")
