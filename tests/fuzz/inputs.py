"""Random inputs: plans of every mechanism with parameters from everyday to extreme, and what mutation makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from zcdp import Plan

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

    def mechanism(self, name: str | None = None) -> str:
        """One mechanism as text, not always a valid one."""
        name = name or self.draw.choice(NAMES)
        return f"{name}({PARAMETERS[name](self)})"

    def base(self) -> str:
        """What may be sampled: mostly noise, of which there is the most to get wrong."""
        noise = ("Gaussian", "Gaussian", "DiscreteLaplace", "Laplace", "DiscreteGaussian")
        return self.mechanism(
            self.draw.choice((*noise, *(name for name in NAMES if name not in {"Shuffled", "Subsampled"})))
        )

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


def _noise(inputs: Inputs) -> str:
    given = inputs.draw.choice(("epsilon", "epsilon", "scale"))
    return f"{given}={inputs.number()}, {inputs.sensitivity()}"


def _normal(inputs: Inputs) -> str:
    given, distance = inputs.draw.choice(("sigma", "rho")), inputs.draw.choice(("", f"sensitivity={inputs.whole()}"))
    return f"{given}={inputs.number()}, {distance}"


def _local(*others: str) -> Callable[[Inputs], str]:
    return lambda inputs: ", ".join([f"epsilon={inputs.number()}", *(f"{name}={inputs.whole()}" for name in others)])


PARAMETERS: dict[str, Callable[[Inputs], str]] = {
    "PureDP": lambda i: f"epsilon={i.number()}, {i.draw.choice(('', 'total_variation=' + i.pick(CHANCES)))}",
    "PureGroup": _local("size"),
    "Laplace": _noise,
    "DiscreteLaplace": _noise,
    "Logistic": lambda i: f"epsilon={i.number()}, {i.draw.choice(('', 'sensitivity=' + i.number()))}",
    "Gaussian": _normal,
    "DiscreteGaussian": _normal,
    "Staircase": lambda i: (
        f"epsilon={i.number()}, {i.draw.choice(('', 'gamma=' + i.pick(CHANCES) + ', '))}"
        f"{i.draw.choice(('', 'sensitivity=' + i.number()))}"
    ),
    "DiscreteStaircase": _local("sensitivity", "r"),
    "TruncatedGeometric": _local("n", "sensitivity"),
    "RandomizedResponse": _local("k"),
    "BinaryRandomizedResponse": lambda i: f"{i.pick(CHANCES)}, {i.pick(CHANCES)}",
    "RAPPOR": _local(),
    "UnaryEncoding": lambda i: f"{i.pick(CHANCES)}, {i.pick(CHANCES)}",
    "OptimizedUnaryEncoding": _local(),
    "SubsetSelection": _local("k", "size"),
    "HadamardResponse": _local("blocks"),
    "LocalHashing": lambda i: f"epsilon={i.number()}, g={i.whole()}, random_hash={i.draw.choice(('True', 'False'))}",
    "LinearHashing": _local("g", "k"),
    "MemoizedRAPPOR": lambda i: (
        f"f={i.pick(CHANCES)}, p={i.pick(CHANCES)}, q={i.pick(CHANCES)}, collections={i.whole()}"
    ),
    "BoundedRange": lambda i: f"eta={i.number()}",
    "ExponentialMechanism": _local(),
    "PermuteAndFlip": _local(),
    "ReportNoisyMax": lambda i: f"epsilon={i.number()}, noise='{i.draw.choice(('gumbel', 'exponential', 'laplace'))}'",
    "TopK": lambda i: (
        f"epsilon={i.number()}, k={i.whole()}, noise='{i.draw.choice(('gumbel', 'exponential', 'laplace'))}'"
    ),
    "SparseVector": lambda i: f"epsilon_threshold={i.number()}, epsilon_queries={i.number()}, positives={i.whole()}",
    "Channel": lambda i: f"[{i.rows(i.draw.randint(2, 4))}]",
    "LossPair": lambda i: i.rows(2),
    "Subsampled": lambda i: f"{i.base()}, {i.sample()}",
    "Shuffled": lambda i: f"{i.mechanism(i.draw.choice(LOCAL))}, clients={i.whole()}",
}
"""Each mechanism's parameters; a test requires that none is missing."""
NAMES = sorted(PARAMETERS)
LOCAL = sorted(
    {"RandomizedResponse", "RAPPOR", "SubsetSelection", "LocalHashing", "Channel", "UnaryEncoding", "Laplace"}
)
