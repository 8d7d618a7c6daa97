"""What the words of a plan of tables mean: what is drawn, what it costs, and what the tables hold without noise.

Written from docs/how-to/release.md and the theorem pages on tables, totals and selection by counts; it knows no zcdp.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log, prod
from typing import Any

Words = Mapping[str, Any]
"""A plan file as TOML."""
MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True)
class Noise:
    """Noise of the law exp(-x^2/(2 number)), or exp(-number |x|)."""

    law: str
    number: Fraction


@dataclass(frozen=True)
class Selection:
    """A candidate by exp(rate score)."""

    rate: Fraction
    candidates: int


@dataclass(frozen=True)
class Charge:
    """So many uses of a mechanism on answers that move by so much; two numbers are a sum of moves, and the largest."""

    law: str
    number: Fraction
    sensitivity: tuple[Fraction, ...]


@dataclass
class Meaning:
    """What a query draws how often, each time independently, and what it costs."""

    draws: Counter[Noise | Selection]
    charges: list[tuple[Charge, int]]


def parsed(text: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a mechanism as it is written: numbers, words, and L1LInf(a, c) as a pair."""
    name, inside = re.fullmatch(r"(\w+)\((.*)\)", text).groups()  # type: ignore[union-attr]
    found: dict[str, Any] = {}
    for key, value in re.findall(r"(\w+)=('[^']*'|L1LInf\([^)]*\)|[^,()]+)", inside):
        if value.startswith("L1LInf"):
            found[key] = tuple(Fraction(one.strip(" '")) for one in value[7:-1].split(","))
        elif value in ("True", "False"):
            found[key] = value == "True"
        else:
            found[key] = Fraction(value.strip("'"))
    return name, found


def charge_of(text: str, sensitivity: tuple[Fraction, ...] | None = None) -> Charge:
    """A mechanism with its sensitivity, as it stands in a ledger, or with one that follows from the plan."""
    name, given = parsed(text)
    said = given.get("sensitivity", Fraction(1))
    moves = sensitivity or (said if isinstance(said, tuple) else (said,))
    if len(set(moves)) == 1:  # where one cell may take the whole sum, that is the worst
        moves = moves[:1]
    if name == "ExponentialMechanism":
        return Charge("selection", given["epsilon"], ())
    if name == "DiscreteGaussian":
        variance = given["sigma"] ** 2 if "sigma" in given else squares(moves) / (2 * given["rho"])
        return Charge("gaussian", variance, moves)
    assert name == "DiscreteLaplace"
    rate = 1 / given["scale"] if "scale" in given else given["epsilon"] / moves[0]
    return Charge("laplace", rate, moves)


def squares(moves: tuple[Fraction, ...]) -> Fraction:
    """The largest sum of squares of moves: as many of the largest size as their sum allows, and one of what is left."""
    whole, rest = divmod(moves[0], moves[-1])
    return whole * moves[-1] ** 2 + rest**2


def size(domain: Any) -> int:
    """How many keys a domain has."""
    if isinstance(domain, list):
        return len(domain)
    if "within" in domain:
        return len(_nested(domain))
    if "values" in domain:
        return len(domain["values"]) + ("other" in domain)
    if domain.get("step") in MONTHS:
        first, last = domain["from"], domain["to"]
        return (12 * (last.year - first.year) + last.month - first.month) // MONTHS[domain["step"]]
    if "bins" in domain:
        return int(domain["bins"])
    whole = Fraction(str(domain["to"])) - Fraction(str(domain["from"]))
    return int(whole / Fraction(str(domain["step"])))


def _nested(domain: Words) -> list[tuple[str | None, str | None]]:
    """The cells (coarser key, key) of a list within another, as they are published; None stands for other."""
    made: list[tuple[str | None, str | None]] = []
    for above, listed in domain["values"].items():
        made += [(above, one) for one in listed]
        made += [(above, "unknown")] if "unknown" in domain else []
    return [*made, (None, None)] if "other" in domain else made


def keys(query: Words) -> list[str]:
    """The domains of a table: a histogram is a table by its bins too, and candidates are keys.

    The region of a town is told by the town.
    """
    found = [*query.get("by", []), *([query["of"]] if query["measure"] in ("histogram", "top") else [])]
    return [one for one in found if one != "region" or "town" not in found]


def cells(words: Words, query: Words) -> int:
    return prod(size(words["domain"][name]) for name in keys(query))


def ends(query: Words) -> tuple[int, int]:
    """What a person may have in a cell: at least, and at most, in steps."""
    if query["measure"] in AMOUNTS:
        return _clip(query, "clip", "grid")
    return 1, query.get("max_rows", 1)


AMOUNTS = ("sum", "mean", "ratio", "variance")


def _clip(query: Words, clip: str, grid: str) -> tuple[int, int]:
    low, high = (int(Fraction(str(end)) / Fraction(str(query[grid]))) for end in query[clip])
    return low, high


def groups(bins: int) -> list[int]:
    """How many groups of bins are counted on each level, as the page on cumulated counts says."""
    levels = max(round(log(bins / 2) / log(3.6)), 0)
    fan = round((bins / 2) ** (1 / levels)) if levels else 1
    return [*(2 * fan**n for n in range(levels)), bins]


def finest(words: Words, query: Words) -> Words:
    """The table by all keys of a set: of each column by those that divide it furthest."""
    by: dict[str, str] = {}
    for other in words["query"]:
        if other.get("adds_up") == query["adds_up"]:
            for name in keys(other):
                column = _column(words, name)
                if column not in by or size(words["domain"][name]) > size(words["domain"][by[column]]):
                    by[column] = name
    return {"measure": "count", "by": list(by.values())}


def _column(words: Words, name: str) -> str:
    domain = words["domain"][name]
    if isinstance(domain, dict) and "within" in domain:
        return str(domain["within"])
    return str(domain.get("column", name)) if isinstance(domain, dict) else name


def meaning(words: Words, query: Words) -> Meaning:
    """Of one query of a plan."""
    replaced = words["data"].get("neighbours") == "replace"
    measure, here = query["measure"], cells(words, query)
    uses = (2 if replaced else 1) * min(query.get("max_cells", 1), here)
    if measure == "top":
        _, given = parsed(query["mechanism"])
        rate = given["epsilon"] / ((2 if replaced else 1) * query.get("max_rows", 1))
        among = size(words["domain"][query["of"]])
        draws: Counter[Noise | Selection] = Counter(Selection(rate, among - n) for n in range(query["k"]))
        made = Meaning(draws, [(charge_of(query["mechanism"]), query["k"])])
        if "count_mechanism" in query:  # a person may be in each of the k keys
            _noise(made, query["count_mechanism"], (Fraction(query.get("max_rows", 1)),), query["k"], query["k"])
        return made
    rows = query.get("max_rows", 1)
    if measure == "quantiles" and not query["mechanism"].startswith("Exponential"):
        made = Meaning(Counter(), [])
        for size_ in groups(size(words["domain"][query["of"]])):
            # of several rows of a person all may be in one group, or each in another
            moves, often = ((Fraction(1),), uses) if rows == 1 else ((Fraction(uses * rows), Fraction(rows)), 1)
            _noise(made, query["mechanism"], moves, often, here * size_)
        return made
    if measure == "quantiles":
        _, given = parsed(query["mechanism"])
        bins, draws, levels = size(words["domain"][query["of"]]), Counter(), query["quantiles"]
        for q in map(Fraction, map(str, levels)):
            a, c = q.numerator, q.denominator
            far = rows * (c if replaced else max(a, c - a))
            draws[Selection(given["epsilon"] / (2 * far), bins)] += here
        return Meaning(draws, [(charge_of(query["mechanism"]), uses * len(levels))])
    low, high = ends(query)
    if measure in ("mean", "variance"):
        middle = (low + high) // 2
        low, high = low - middle, high - middle
    made = Meaning(Counter(), [])
    _noise(made, query["mechanism"], *_moves(words, query, low, high, replaced=replaced), here)
    if measure == "ratio":
        both = _clip(query, "over_clip", "over_grid")
        _noise(made, query["over_mechanism"], *_moves(words, query, *both, replaced=replaced), here)
    if measure == "variance":  # squares are from 0 to the largest, less half of it
        most, half = high**2, high**2 // 2
        moves = _moves(words, query, -half, most - half, replaced=replaced)
        _noise(made, query["square_mechanism"], *moves, here)
    if measure in ("mean", "variance"):
        _noise(made, query["count_mechanism"], (Fraction(1),), uses, here)
    return made


def _moves(words: Words, query: Words, low: int, high: int, *, replaced: bool) -> tuple[tuple[Fraction, ...], int]:
    """How far answers move, and how often the mechanism is used on them."""
    largest = Fraction(max(abs(low), abs(high)))
    apart = Fraction(max(high, 0) - min(low, 0)) if replaced else largest
    here, most = cells(words, query), query.get("max_cells", 1)
    fine = finest(words, query) if "adds_up" in query else query
    within = cells(words, fine) // here
    if "town" in keys(fine) and "town" not in keys(query):  # so many towns as the region has that has most
        others = cells(words, fine) // size(words["domain"]["town"])
        regions = Counter(region for region, _ in _nested(words["domain"]["town"]))
        mine = here // size(words["domain"]["region"]) if "region" in keys(query) else here
        within = (max(regions.values()) if "region" in keys(query) else regions.total()) * (others // mine)
    if (several := min(most, within)) > 1:
        total = (2 if replaced else 1) * min(most, cells(words, fine)) * largest
        return ((several * apart,) if here == 1 else (total, several * apart)), 1
    return (apart,), (2 if replaced else 1) * min(most, here)


def _noise(made: Meaning, text: str, moves: tuple[Fraction, ...], uses: int, here: int) -> None:
    one = charge_of(text, moves)
    made.draws[Noise(one.law, one.number)] += here
    made.charges.append((one, uses))


def total(meanings: Iterable[Meaning]) -> dict[Charge, int]:
    """All uses of each mechanism."""
    found: dict[Charge, int] = defaultdict(int)
    for one in meanings:
        for charge, uses in one.charges:
            found[charge] += uses
    return dict(found)


Row = Mapping[str, Any]


def exact(words: Words, query: Words, rows: Sequence[Row]) -> dict[str, list[int]] | None:
    """Counts and sums of all cells; None where a person has more cells than are kept, which a hash decides."""
    per_row = words["data"]["unit"] == "row"
    held: dict[Any, dict[int, list[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(list))
    names = keys(query)
    wide = query if "adds_up" not in query else finest(words, query)
    low, high = ends(query)
    for n, row in enumerate(rows):
        person = n if per_row else row[words["data"]["unit"]]
        if person is None or not all(_fulfils(row, *one) for one in query.get("where", [])):
            continue
        place = _cell(words, names, row)
        fine = _cell(words, keys(wide), row)
        if place is None or fine is None:
            continue
        steps: tuple[int, ...] = (1,)
        if query["measure"] in AMOUNTS:
            columns = [(query["of"], query["grid"], (low, high))]
            if query["measure"] == "ratio":
                columns.append((query["over"], query["over_grid"], _clip(query, "over_clip", "over_grid")))
            if any(row[column] is None for column, _, _ in columns):
                continue
            steps = tuple(_step(row[column], grid, *clip, per_row=per_row) for column, grid, clip in columns)
        held[person][fine * 10**6 + place].append(steps)
    if query["measure"] != "top" and any(len(found) > query.get("max_cells", 1) for found in held.values()):
        return None
    counts, sums, others = ([0] * cells(words, query) for _ in range(3))
    for found in held.values():
        for place, rows_ in found.items():
            if query["measure"] in AMOUNTS:
                counts[place % 10**6] += 1
                sums[place % 10**6] += min(max(sum(one[0] for one in rows_), low), high)
                if query["measure"] == "ratio":
                    least, most = _clip(query, "over_clip", "over_grid")
                    others[place % 10**6] += min(max(sum(one[1] for one in rows_), least), most)
            else:
                counts[place % 10**6] += 1 if query["measure"] == "persons" else min(len(rows_), high)
    return {"counts": counts, "sums": sums, "others": others}


def _step(value: Any, grid: Any, low: int, high: int, *, per_row: bool) -> int:
    """A value in steps of its grid, halves up, within the clip of a row, or the reach of a person's rows."""
    step = floor(Fraction(value) / Fraction(str(grid)) + Fraction(1, 2))
    reach = max(abs(low), abs(high))
    return min(max(step, low), high) if per_row else min(max(step, -reach), reach)


def _fulfils(row: Row, column: str, sign: str, value: Any) -> bool:
    if row[column] is None:
        return False
    if sign in ("==", "in"):
        return bool(row[column] in (value if sign == "in" else [value]))
    return bool(row[column] >= value if sign == ">=" else row[column] < value)


def _cell(words: Words, names: Sequence[str], row: Row) -> int | None:
    place = 0
    for name in names:
        domain = words["domain"][name]
        found = _place(words, name, row) if name in ("region", "town") else _key(domain, row[_column(words, name)])
        if found is None:
            return None
        place = place * size(domain) + found
    return place


def _place(words: Words, name: str, row: Row) -> int | None:
    """The place of a row in towns, or in regions: the list of towns says which region a town is in."""
    region, town = words["domain"]["region"], words["domain"]["town"]
    if name == "region" and "column" in region and "unknown" not in town:
        return _key(region, row["region"])
    cell = next((one for one in _nested(town) if one[1] == row["town"] is not None), None)
    if cell is None and "unknown" in town and row["region"] in region["values"]:
        cell = (row["region"], "unknown")
    if cell is None:
        return size(words["domain"][name]) - 1 if "other" in town else None
    return _nested(town).index(cell) if name == "town" else int(region["values"].index(cell[0]))


def _key(domain: Any, value: Any) -> int | None:
    listed = domain if isinstance(domain, list) else domain.get("values")
    if listed is not None:
        if value in listed and value is not None:
            return int(listed.index(value))
        return len(listed) if isinstance(domain, dict) and "other" in domain else None
    if value is None:
        return None
    if domain.get("step") in MONTHS:
        months = 12 * (value.year - domain["from"].year) + value.month - domain["from"].month
        place = months // MONTHS[domain["step"]]
    else:
        whole = Fraction(str(domain["to"])) - Fraction(str(domain["from"]))
        place = int((Fraction(value) - Fraction(str(domain["from"]))) // (whole / size(domain)))
    if domain.get("clip"):
        place = min(max(place, 0), size(domain) - 1)
    return place if 0 <= place < size(domain) else None
