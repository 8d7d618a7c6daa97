"""From a plan's words to what is drawn and what is debited: both are what the words mean, and cover true neighbours."""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from endtoend.plans import WIDE, plan, rows
from endtoend.recorded import ENGINES, Recorder, debited, recorded, released
from independent.divergences import ORDERS, chosen, gaussian, laplace, rho_between
from independent.tables import Charge, Noise, Selection, Words, cells, exact, meaning, total

from zcdp.errors import BadValue
from zcdp.ledger import Ledger
from zcdp.release.table_noise import Table

NEIGHBOURS = ("add-remove", "replace")
CLOSE = 1e-4
"""How far the floats of the derivation are from the true rho."""


@pytest.fixture(scope="module")
def ledgers() -> Iterator[dict[str, Ledger]]:
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        made = {one: Ledger(f"{folder}/{one}.db") for one in NEIGHBOURS}
        for relation, ledger in made.items():
            ledger.open_account("all", unit="person", neighbours=relation, rho=10**9)
        yield made
        for ledger in made.values():
            ledger.close()


def check(ledgers: dict[str, Ledger], seed: int, *, engine: str = "polars", neighbours: bool = True) -> Counter[str]:
    """One random plan; which measures it had."""
    rng = random.Random(seed)
    text, data = plan(rng), rows(rng)
    words = tomllib.loads(text)
    ledger, key = ledgers[words["data"]["neighbours"]], f"{engine} {seed}"
    with recorded(told_apart=True) as drawn:
        tables = released(text, data, ledger, key, engine)
    debit, amount = debited(ledger, key)
    meant = [meaning(words, query) for query in words["query"]]
    assert drawn.draws == sum((one.draws for one in meant), Counter()), text
    assert debit == total(meant), text
    least, most = rho_between(debit)
    assert least * (1 - CLOSE) <= amount <= most * (1 + CLOSE), text
    assert told_apart(words, drawn, tables, data) == "", text
    if neighbours:
        both = [
            without_noise(text, one, ledger, f"{key} {n}", engine)
            for n, one in enumerate((data, other(rng, words, data)))
        ]
        assert moved_too_far(words, *both) == "", text
        assert (divergence(*both) / ORDERS).max() <= amount * Fraction(1 + 1e-6), text
    return Counter(map(kind, words["query"])) + Counter("adds_up" in q for q in words["query"])


def kind(query: Words) -> str:
    """The measure; quantiles from cumulated counts are one of their own."""
    return "cumulated" if query["measure"] == "quantiles" and not selects(query) else query["measure"]


def selects(query: Words) -> bool:
    return query["mechanism"].startswith("Exponential")


PUBLISHED = {"mean": "persons", "variance": "persons", "ratio": "over"}
"""The column that shows a noisy number as it was drawn, where it is not `value`."""


def told_apart(words: Words, drawn: Recorder, tables: dict[str, Table], data: list[dict[str, Any]]) -> str:
    """What is wrong with published figures: each is exact but for a draw that is in no other; "" if nothing."""
    seen: list[int] = []
    scores = iter(drawn.scores)
    members = [query["name"] for query in words["query"] if "adds_up" in query]
    for query in words["query"]:
        measure, name = query["measure"], query["name"]
        if selects(query):
            many = sum(n for one, n in meaning(words, query).draws.items() if isinstance(one, Selection))
            mine = [next(scores)[1] for _ in range(many)]
            if measure == "top" and mine[0] != exact(words, query, data)["counts"]:  # type: ignore[index]
                return f"{name}: candidates are not scored by their counts"
        if measure == "quantiles" or (measure == "top" and "count_mechanism" not in query):
            continue
        column = PUBLISHED.get(measure, "value")
        grid = Fraction(str({"sum": query.get("grid"), "ratio": query.get("over_grid")}.get(measure, 1)))
        if name in members:
            figures = drawn.sets[0][members.index(name)]
        else:
            figures = [int(Fraction(value) / grid) for value in tables[name].columns[column]]
        law = meaning(words, query).charges[-1][0]  # of a mean that of its count
        true = exact(words, query, data)
        for n, figure in enumerate(figures):
            draw, noise, rest = drawn.law_of(figure)
            seen.append(draw)
            if (noise.law, noise.number) != (law.law, law.number):
                return f"{name}: noise of another law in cell {n}"
            if true is not None and rest != true[{"sum": "sums", "ratio": "others"}.get(measure, "counts")][n]:
                return f"{name}: cell {n} holds {rest}"
        if len(figures) != (query["k"] if measure == "top" else cells(words, query)):
            return f"{name}: {len(figures)} cells"
    return "" if len(set(seen)) == len(seen) else "a draw is in two cells"


def other(rng: random.Random, words: Words, data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A neighbour: without a person, or with other rows of that person; of rows, without one or with another."""
    replaced = words["data"]["neighbours"] == "replace"
    new = [row for row in rows(rng) if row["who"] is not None]
    if words["data"]["unit"] == "row":
        n = rng.randrange(len(data) + 1)
        return [*data[:n], *(new[:1] if replaced and n < len(data) and new else []), *data[n + 1 :]]
    persons = Counter(row["who"] for row in data if row["who"] is not None)
    if not persons:
        return data
    who = persons.most_common(1)[0][0] if rng.random() < 0.7 else rng.choice(list(persons))
    left = [row for row in data if row["who"] != who]
    return left + ([{**row, "who": who} for row in new] if replaced else [])


def without_noise(text: str, data: list[Any], ledger: Ledger, key: str, engine: str) -> Recorder:
    """What a release draws from, and would publish without noise."""
    with recorded() as drawn:
        tables = released(text, data, ledger, key, engine)
    means(tomllib.loads(text), tables, data)
    return drawn


def moved_too_far(words: Words, first: Recorder, second: Recorder) -> str:
    """Which answers of two neighbours are further apart than their mechanism is charged for; "" if none is."""
    queries = sorted(words["query"], key=lambda query: "adds_up" not in query)  # the order in which they are drawn
    pairs = zip(first.scores, second.scores, strict=True)
    tables = zip(first.tables, second.tables, strict=True)
    for query in queries:
        meant = meaning(words, query)
        charges = meant.charges
        if selects(query):
            (charge, uses), *charges = meant.charges
            mine = [next(pairs) for _ in range(sum(n for one, n in meant.draws.items() if isinstance(one, Selection)))]
            moves = [[a - b for a, b in zip(one, two, strict=True)] for (_, one), (_, two) in mine]
            if sum(any(one) for one in moves) > uses:
                return f"{query['name']}: more selections move than are charged"
            if any(
                (max(one) - min(one)) * rate > charge.number for one, ((rate, _), _) in zip(moves, mine, strict=True)
            ):
                return f"{query['name']}: scores move too far"
        for charge, uses in charges:
            (_, values), (_, others) = next(tables)
            far = [abs(a - b) for a, b in zip(values, others, strict=True) if a != b]
            together = sum(far) > charge.sensitivity[0] if uses == 1 else len(far) > uses
            if max(far, default=0) > charge.sensitivity[-1] or together:
                return f"{query['name']}: cells move too far"
    return ""


def divergence(first: Recorder, second: Recorder) -> Any:
    """At every order the larger divergence, of both directions, between what is drawn from two data sets."""
    both = np.zeros_like(ORDERS)
    for (law, values), (_, others) in zip(first.tables, second.tables, strict=True):
        moves = [Fraction(abs(a - b)) for a, b in zip(values, others, strict=True) if a != b]
        if law.law == "gaussian":
            both = both + gaussian(law.number, sum((move**2 for move in moves), Fraction(0)))
        else:
            both = both + sum((laplace(law.number, move) for move in moves), np.zeros_like(ORDERS))
    there = back = np.zeros_like(ORDERS)
    for (rate, scores), (_, others) in zip(first.scores, second.scores, strict=True):
        if scores != others:
            there, back = there + chosen(rate, scores, others), back + chosen(rate, others, scores)
    return both + np.maximum(there, back)


def means(words: Words, tables: dict[str, Table], data: list[dict[str, Any]]) -> None:
    """Without noise a mean is that of the persons, and there is none of nobody."""
    for query in words["query"]:
        if query["measure"] == "mean" and (true := exact(words, query, data)) is not None:
            grid = Fraction(str(query["grid"]))
            columns = tables[query["name"]].columns
            if "publish" in query:
                assert [Fraction(one) for one in columns["sum"]] == [steps * grid for steps in true["sums"]], words
            for value, count, steps in zip(columns["value"], true["counts"], true["sums"], strict=True):
                assert (value is None) == (count == 0), words
                if count:
                    assert abs(Fraction(value) - Fraction(steps, count) * grid) < Fraction(1, 10**9), words


def test_what_is_drawn_and_debited_is_what_the_words_mean(ledgers: dict[str, Ledger]) -> None:
    seen: Counter[str] = Counter()
    for n in range(100):
        seen += check(ledgers, n, neighbours=n % 4 == 0)
    assert len(seen) == 12, "every measure, alone and in a set"
    assert min(seen.values()) >= 5


def check_filled(ledgers: dict[str, Ledger], seed: int) -> bool:
    """A random plan of which one number is to be found within a budget; whether it had one."""
    rng = random.Random(seed)
    text, data = plan(rng), rows(rng)
    found = list(re.finditer(r"mechanism = \"\w+\((\w+)=([^)]*)\)", text))
    if WIDE in text or not found:
        return False
    meant = total(meaning(words, query) for words in [tomllib.loads(text)] for query in words["query"])
    budget = Fraction(rho_between(meant)[1] * rng.choice((0.7, 1.3))).limit_denominator(1000)
    place = rng.choice(found)
    text = f"{text[: place.start(2)]}?{text[place.end(2) :]}\n[budget]\nrho = '{budget}'\n"
    ledger, key = ledgers[tomllib.loads(text)["data"]["neighbours"]], f"filled {seed}"
    try:
        with recorded() as drawn:
            released(text, data, ledger, key)
    except BadValue as refusal:
        if "costs" in str(refusal) and "already" in str(refusal):  # what stays as it is may cost the whole
            return False
        raise
    debit, amount = debited(ledger, key)
    assert amount <= budget, text
    assert _uses(debit) == _uses(meant), text
    # the noise is told in floats, so that it is close and not equal
    numbers = sorted({float(one.number) for one in drawn.draws if isinstance(one, Noise)})
    assert numbers == pytest.approx(sorted({float(one.number) for one in debit if one.law != "selection"}), rel=1e-5)
    return True


def _uses(charges: Mapping[Charge, int]) -> Counter[tuple[str, tuple[Fraction, ...]]]:
    """How often each kind of noise is used at each sensitivity, whatever its size."""
    found: Counter[tuple[str, tuple[Fraction, ...]]] = Counter()
    for one, uses in charges.items():
        found[one.law, one.sensitivity] += uses
    return found


def test_what_is_found_for_a_question_mark_is_drawn_and_debited(ledgers: dict[str, Ledger]) -> None:
    assert sum(check_filled(ledgers, seed) for seed in range(14)) >= 6


@pytest.mark.deep
def test_hundreds_of_question_marks(ledgers: dict[str, Ledger]) -> None:
    assert sum(check_filled(ledgers, seed) for seed in range(1000, 1300)) >= 150


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
def test_thousands_of_plans(engine: str, ledgers: dict[str, Ledger]) -> None:
    first, count = {"polars": (1000, 1400), "duckdb": (3000, 300), "pandas": (4000, 300)}[engine]
    for seed in range(first, first + count):
        check(ledgers, seed, engine=engine)
