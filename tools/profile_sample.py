"""A stored sample of questions with their answers, bit by bit: what a change of `zcdp.privacy` must not change unseen.

`python tools/profile_sample.py record FILE` asks and writes; `check FILE` asks again and lists every answer that
differs: tighter (its interval lies inside the old one), looser, or apart. Only the public interface is used, so that
two checkouts can be compared.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from math import exp, log
from pathlib import Path
from typing import Any

import zcdp
from zcdp import NotCertified, Plan

Question = tuple[str, str, str]
"""An expression, what is asked of it, and at what: rho; rdp at an order; delta at an epsilon; epsilon at a delta."""

SINGLE = [
    "PureDP(epsilon={e})",
    "PureDP(epsilon={e}, total_variation='0.05')",
    "Laplace(epsilon={e})",
    "Laplace(epsilon={e}, sensitivity=L0LInf(20, 1))",
    "Laplace(epsilon={e}, sensitivity=L1LInf(7, '2.5'))",
    "Laplace(epsilon={e}, sensitivity=L2(2))",
    "DiscreteLaplace(epsilon={e})",
    "DiscreteLaplace(epsilon={e}, sensitivity=7)",
    "DiscreteLaplace(epsilon={e}, sensitivity=60)",
    "DiscreteLaplace(epsilon={e}, sensitivity=900)",
    "DiscreteLaplace(epsilon={e}, sensitivity=100000)",
    "Logistic(epsilon={e})",
    "Staircase(epsilon={e})",
    "DiscreteStaircase(epsilon={e}, sensitivity=5, r=2)",
    "RandomizedResponse(epsilon={e}, k=2)",
    "RandomizedResponse(epsilon={e}, k=50)",
    "RAPPOR(epsilon={e})",
    "OptimizedUnaryEncoding(epsilon={e})",
    "SubsetSelection(epsilon={e}, k=100, size=27)",
    "HadamardResponse(epsilon={e})",
    "LocalHashing(epsilon={e}, g=4)",
    "BoundedRange(eta={e})",
    "ExponentialMechanism(epsilon={e})",
    "PermuteAndFlip(epsilon={e})",
    "ReportNoisyMax(epsilon={e}, noise='gumbel')",
    "ReportNoisyMax(epsilon={e}, noise='exponential')",
    "SparseVector(epsilon_threshold={e}, epsilon_queries={e})",
    "TruncatedGeometric(epsilon={e}, n=5)",
]
FIXED = [
    "UnaryEncoding(p='3/4', q='1/4')",
    "BinaryRandomizedResponse(p='1/2', q='1/4')",
    "BinaryRandomizedResponse(p='0.6678', q='0.0138')",
    "BinaryRandomizedResponse(p='0.6', q='0.3')",
    "BinaryRandomizedResponse(p='2e-6', q='1e-6')",
    "Gaussian(sigma=10)",
    "Gaussian(rho=3, sensitivity=7)",
    "Gaussian(sigma='0.3')",
    "DiscreteGaussian(sigma='1/2')",
    "DiscreteGaussian(sigma=2, sensitivity=3)",
    "DiscreteGaussian(sigma=50)",
    "Channel([['3/4', '1/4'], ['2/5', '3/5']])",
    "Channel([['1/2', '1/3', '1/6'], ['1/6', '1/2', '1/3'], ['1/3', '1/6', '1/2']])",
    "LossPair(p=['1/1000', '999/1000'], q=['1/1000000', '999999/1000000'])",
    "TruncatedGeometric(epsilon='0.1', n=6, sensitivity=2)",
]
EPSILONS = ("1e-6", "'0.01'", "0.1", "'1/3'", "1", "3.5", "20")
COUNTS = (2, 3, 7, 16, 40, 120, 1000, 30_000, 10**6)
DELTAS = ("0.3", "1e-3", "1e-6", "1e-12", "1e-40")


def questions() -> Iterator[Question]:
    """Over all mechanisms, all engines, and mixtures; the same on every machine."""
    rng = random.Random(12)
    for form in SINGLE:
        for epsilon in EPSILONS:
            yield from _of_one(form.format(e=epsilon), rng, 2)
    for text in FIXED:
        yield from _of_one(text, rng, 3)
    for form in SINGLE:
        for count in rng.sample(COUNTS, 5):
            epsilon = rng.choice(EPSILONS[:5] if count > 100 else EPSILONS)
            yield from _of_many(f"{count} * {form.format(e=epsilon)}", rng, 2)
    for text in FIXED:
        for count in rng.sample(COUNTS[:7], 3):
            yield from _of_many(f"{count} * {text}", rng, 2)
    atoms = [SINGLE[n] for n in (0, 6, 7, 14, 15, 16, 17, 20)]
    noise = [SINGLE[n] for n in (2, 11, 21, 23)]
    for _ in range(70):  # decimals: one lattice
        forms = rng.choices(rng.choice((atoms, noise, atoms + noise)), k=rng.choice((2, 2, 3, 5)))
        parts = [f"{rng.choice(COUNTS[:6])} * {form.format(e=_decimal(rng))}" for form in forms]
        yield from _of_many(" + ".join(parts), rng, 2)
    for _ in range(45):  # floats: on no lattice
        forms = rng.choices(rng.choice((atoms, noise, atoms + noise)), k=rng.choice((2, 3, 5, 12, 30)))
        parts = [f"{rng.choice((1, 2, 5, 30))} * {form.format(e=repr(_float(rng)))}" for form in forms]
        yield from _of_many(" + ".join(parts), rng, 1)
    for _ in range(30):  # logarithms
        forms = rng.choices(atoms[:1] + atoms[3:6], k=rng.choice((1, 2, 3)))
        parts = [f"{rng.choice(COUNTS[:5])} * {form.format(e=rng.choice(LOGS))}" for form in forms]
        yield from _of_many(" + ".join(parts), rng, 1)
    for _ in range(40):  # unbounded losses among others
        normal = rng.choice(FIXED[5:11])
        forms = rng.choices(atoms + noise, k=rng.choice((0, 1, 2)))
        parts = [f"{rng.choice(COUNTS[:6])} * {form.format(e=_decimal(rng))}" for form in forms]
        yield from _of_many(" + ".join([f"{rng.choice(COUNTS[:7])} * {normal}", *parts]), rng, 1)


LOGS = ("'log(3)'", "'log(2)'", "'log(3/2)'", "1")


def _decimal(rng: random.Random) -> str:
    digits = f"{exp(rng.uniform(log(0.01), log(3))):.{rng.choice((0, 1))}e}"
    return rng.choice((f"'{digits}'", f"{float(digits)!r}"))


def _float(rng: random.Random) -> float:
    return exp(rng.uniform(log(0.01), log(2)))


def _of_one(text: str, rng: random.Random, often: int) -> Iterator[Question]:
    yield text, "rho", ""
    yield text, "rdp", rng.choice(("1", "1.5", "2", "17", "inf"))
    yield from _of_many(text, rng, often)


def _of_many(text: str, rng: random.Random, often: int) -> Iterator[Question]:
    for _ in range(often):
        yield text, "epsilon", rng.choice(DELTAS)
        yield text, "delta", f"share {rng.choice((0, 0.01, 0.1, 0.3, 0.7, 0.99))}"
    if rng.random() < 0.1:
        yield text, "routes", rng.choice(DELTAS[1:4])


def answer(question: Question) -> list[str]:
    """Floats as they are, bit by bit; the name of the error where there is none."""
    text, what, at = question
    plan = Plan.parse(text)
    try:
        found = _ask(plan, what, at)
    except (NotCertified, ValueError) as error:
        return ["NotCertified" if isinstance(error, NotCertified) else "ValueError"]
    return [value if isinstance(value, str) else float(value).hex() for value in found]


def _ask(plan: Plan, what: str, at: str) -> list[Any]:
    if what == "rho":
        return list(plan.rho_bounds)
    if what == "rdp":
        return [plan.rdp(at)]
    if what == "epsilon":
        return list(plan.epsilon_bounds(delta=at))
    if what == "routes":
        return [part for pair in plan.routes(delta=at).items() for part in pair]
    if at.startswith("share "):  # of what rho alone gives at 1e-6, which is the same in every version
        usual = zcdp.Gaussian(rho=plan.rho).epsilon_at(delta=1e-6) if plan.rho < 1e6 else 1.0
        at = repr(float(f"{usual * float(at.split()[1]):.3g}"))
    return list(plan.delta_bounds(epsilon=at))


def record(path: Path) -> None:
    """Ask all, write questions and answers."""
    rows, start = [], time.time()
    for question in dict.fromkeys(questions()):
        rows.append([*question, answer(question)])
        if len(rows) % 100 == 0:
            print(len(rows), round(time.time() - start), "s", flush=True)
    path.write_bytes(gzip.compress(json.dumps(rows, indent=0).encode(), mtime=0))
    print(len(rows), "answers", path.stat().st_size, "bytes")


def check(path: Path, stride: int = 1) -> bool:
    """Ask all again, or every `stride`-th; whether nothing differs but what became tighter."""
    verdicts: Counter[str] = Counter()
    for text, what, at, before in json.loads(gzip.decompress(path.read_bytes()))[::stride]:
        after = answer((text, what, at))
        verdict = "same" if after == before else _compare(what, before, after)
        verdicts[verdict] += 1
        if verdict != "same":
            print(verdict, what, at, text, *map(_shown, (before, after)), sep=" | ", flush=True)
    print(dict(verdicts))
    return set(verdicts) <= {"same", "tighter"}


def _compare(what: str, before: list[str], after: list[str]) -> str:
    if what not in ("rho", "epsilon", "delta") or len(before) != 2 or len(after) != 2:
        return "other"
    (a, b), (c, d) = (map(float.fromhex, one) for one in (before, after))
    if a <= c and d <= b:
        return "tighter"
    return "looser" if c <= a and b <= d else "apart" if d < a or b < c else "shifted"


def _shown(values: list[str]) -> str:
    return ", ".join(repr(float.fromhex(v)) if "0x" in v or v in ("inf", "nan") else v for v in values)


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "record":
        record(place)
    else:
        sys.exit(0 if check(place, int(sys.argv[3]) if len(sys.argv) > 3 else 1) else 1)
