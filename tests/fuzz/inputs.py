"""Random inputs: plans of every mechanism with parameters from everyday to extreme, and what mutation makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from inspect import signature
from random import Random

import rows

from zcdp import Mechanism, Plan
from zcdp.mechanisms import MECHANISMS, WRAPPERS

NUMBERS = (
    "1", "0.1", "'0.1'", "'1/3'", "3", "0.5", "2.5", "10", "1e-3", "1e-6", "0.001", "40", "100", "1e4",
)  # fmt: skip
EXTREME = (
    "5e-324", "1e-300", "'1e-400'", "'1e-4000'", "1e-9", "1e9", "1e300", "1.7976931348623157e308", "'1e400'",
    "'1e4000'", "'log(3)'", "'log(1.0000001)'", "'log(1e300)'", "Fraction(1, 3)", "0.30000000000000004",
)  # fmt: skip
WHOLE = ("1", "2", "3", "5", "7", "20")
LARGE = ("100", "1000", "2925", "1000000", "1000000000", "9223372036854775808", "'1e400'")
CHANCES = ("0.5", "'1/3'", "0.25", "0.75", "0.999", "'1e-9'", "1e-300", "'0.6678'", "0.9999999999", "5e-324", "0", "1")
COUNTS = ("1", "1", "1", "2", "3", "10", "64", "1000", "1000000", "1000000000000")
DELTAS = ("1e-6", "1e-6", "0.1", "0.5", "0.999999", "1e-12", "1e-30", "1e-300", "5e-324", "1e-4000", "0", "0.03")
EPSILONS = ("1", "0", "0.1", "2", "10", "100", "1e-9", "1e-300", "1e4", "1e300", "1e-4000", "1e4000")
WORDS = (
    "Laplace", "RAPPOR", "Fraction", "L2", "epsilon", "sigma", "inf", "nan", "'1/0'", "''", "?", "1e999", "-1", "None",
    "True", "[", "]", "(", ")", "+", "*", ",", "=", "\n", "\t", "\x00", "\u202e", "\u0663", "0x", "9" * 500, "'", '"',
    "\ud800", "\U0001f600", "'1e99999999'", "[[query]]", "count", "budget", "{", "}", ".", ".a.a.a.a.a.a.a.a.a", "#",
)  # fmt: skip


class Inputs:
    """A source of inputs that depend on the seed alone."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)

    def pick(self, *choices: tuple[str, ...]) -> str:
        return self.draw.choice(self.draw.choice(choices))

    def number(self) -> str:
        return self.pick(NUMBERS, NUMBERS, EXTREME)

    def whole(self) -> str:
        return self.pick(WHOLE, WHOLE, LARGE)

    def sensitivity(self) -> str:
        a, b = self.number(), self.number()
        vector = self.draw.choice((f"L2({a})", f"L1({a})", f"L0LInf({self.whole()}, {b})", f"L1LInf({a}, {b})"))
        return self.draw.choice(("", f"sensitivity={self.whole()}", f"sensitivity={a}", f"sensitivity={vector}"))

    def rows(self, count: int) -> str:
        """Rows of chances that sum to 1, some of them with zeros."""
        width = self.draw.randint(2, 4)
        made = []
        for _ in range(count):
            weights = [self.draw.choice((0, 1, 1, 2, 3, 10**6, 10**12)) for _ in range(width - 1)] + [1]
            made.append("[" + ", ".join(f"'{weight}/{sum(weights)}'" for weight in weights) + "]")
        return ", ".join(made)

    def of_type(self, name: str, kind: str) -> str:
        """A value for a field of this type."""
        if kind.startswith("int"):
            return self.whole()
        if kind == "bool":
            return self.draw.choice(("True", "False"))
        if "Exact" in kind or name.startswith("epsilon") or name == "sensitivity":
            return self.number()
        if kind.startswith("Fraction"):
            return self.pick(CHANCES)
        raise TypeError(f"no rule how to draw {name}: {kind}; say so in TEXTS of the mechanism's file in tests/rows")

    def named(self, names: Iterable[str]) -> str:
        """One of the names, by a rank of each that the others do not change: a new one leaves most inputs alone."""
        draw = self.draw.random()
        return min(names, key=lambda name: Random(f"{draw} {name}").random())

    def mechanism(self, name: str | None = None) -> str:
        """One mechanism as text, not always a valid one."""
        name = name or self.named(NAMES)
        return f"{name}({PARAMETERS[name](self)})"

    def local(self) -> str:
        """What clients may run, and what they may not."""
        return self.mechanism(self.named({"Laplace", *(name for name, one in EVERY.items() if one.local)}))

    def base(self) -> str:
        """What may be sampled: mostly noise, of which there is the most to get wrong."""
        noise = ("Gaussian", "Gaussian", "DiscreteLaplace", "Laplace", "DiscreteGaussian")
        if self.draw.random() < 0.2:
            return self.mechanism(self.draw.choice(noise))
        return self.mechanism(self.named(one.__name__ for one in MECHANISMS))

    def sample(self) -> str:
        """How it is drawn."""
        fixed = f"size={self.whole()}, of={self.pick(WHOLE, LARGE, LARGE)}"
        return self.draw.choice((f"rate={self.pick(CHANCES)}", f"rate={self.pick(CHANCES)}", fixed))

    def valid(self) -> str:
        """One mechanism that its own rules admit."""
        while True:
            text = self.mechanism()
            try:
                Plan.parse(text)
            except ValueError:
                continue
            return text

    def plan(self) -> str:
        """One to eight kinds that there are, each with a count; those that do not compose are left out, mostly."""
        whole, strict = f"{self.pick(COUNTS)} * {self.valid()}", self.draw.random() < 0.95
        for _ in range(self.draw.randint(0, 7)):
            longer = f"{whole} + {self.pick(COUNTS)} * {self.valid()}"
            try:
                Plan.parse(longer)
            except ValueError:
                whole = whole if strict else longer
            else:
                whole = longer
        return whole

    def plan_file(self) -> str:
        """The text of a plan file."""
        lines = [f'title = "{self.draw.choice(WORDS[:10])}"'] if self.draw.random() < 0.5 else []
        if self.draw.random() < 0.3:
            lines.append(f'delta = "{self.pick(DELTAS)}"')
        budget = self.draw.choice(("", f'rho = "{self.pick(EPSILONS)}"', "rho = 0.1", "epsilon = 1\ndelta = 1e-9"))
        lines += ["[budget]", budget] if budget else []
        for n in range(self.draw.randint(1, 4)):
            count = self.draw.choice(("", "count = 3", 'count = "1e3"', "count = 1000000"))
            lines += ["[[query]]", f'name = "q{n}"', f"mechanism = {json.dumps(self.mechanism())}", count]
        return "\n".join(lines)

    def json(self) -> str:
        """A plan as JSON."""
        return json.dumps([{"count": int(self.pick(COUNTS)), "mechanism": self.mechanism()} for _ in range(2)])

    def mutated(self, text: str) -> str:
        """The text after a few cuts, doublings, exchanges and strange words."""
        for _ in range(self.draw.randint(1, 4)):
            start = self.draw.randrange(len(text) + 1)
            end = min(start + self.draw.choice((0, 0, 1, 3, 20)), len(text))
            piece = self.draw.choice(("", self.draw.choice(WORDS), text[start:end] * 2, chr(self.draw.randrange(256))))
            text = text[:start] + piece + text[end:]
        return text


def _parameters(mechanism: type[Mechanism]) -> Callable[[Inputs], str]:
    """How random parameters are spelled: by the types of the fields, unless the mechanism's file in tests/rows says."""
    known = {field.name: str(field.type) for field in fields(mechanism)}
    given = signature(mechanism).parameters.values()
    one_of = [one.name for one in given if one.default is None and one.name in BUDGETS]

    def spelled(inputs: Inputs) -> str:
        chosen = inputs.draw.choice(one_of) if one_of else None
        texts = []
        for one in given:
            kind = known.get(one.name, "")
            if one.name in one_of:
                text = f"{one.name}={inputs.number()}" if one.name == chosen else ""
            elif "Sensitivity" in kind:
                text = inputs.sensitivity()
            elif kind == "str" and one.default is not one.empty:
                text = ""
            else:
                text = f"{one.name}={inputs.of_type(one.name, kind)}"
                if one.default is not one.empty and inputs.draw.random() < 0.5:
                    text = ""
            texts += [text] if text else []
        return ", ".join(texts)

    return spelled


BUDGETS = ("epsilon", "scale", "sigma", "rho")
"""Where several of these may be left out, just one is given."""
EVERY = {mechanism.__name__: mechanism for mechanism in (*MECHANISMS, *WRAPPERS)}
PARAMETERS: dict[str, Callable[[Inputs], str]] = {name: _parameters(mechanism) for name, mechanism in EVERY.items()} | {
    name: text for file in rows.files() for name, text in getattr(file, "TEXTS", {}).items()
}
NAMES = sorted(EVERY)
