"""Randomizers given by their probabilities: `Channel`, a matrix with one row for each input, and `LossPair`.

The first part of the file draws reports of a channel and estimates frequencies of the inputs from them; the second
part checks the probabilities and certifies the privacy of all pairs of rows that are neighbours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any, ClassVar

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.local.local_randomizer import CollectsNumbers, FractionOrBall
from zcdp.mechanisms.neighbour_graph import Graph, apart, distances_within, is_star, read_graph, written_graph
from zcdp.numeric.balls import lift
from zcdp.numeric.doubles import product
from zcdp.numeric.exact import Exact, Log, Value, integer, literal, rational
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve
from zcdp.privacy.envelope import FiniteEnvelope, FinitePair
from zcdp.privacy.loss import Claim, directed_law, envelope_of_rows
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.estimator import Estimator
    from zcdp.estimation.frequency_estimates import Counts, Histogram
    from zcdp.estimation.support import Support
    from zcdp.samplers.lazy_inversion import LazyTable
    from zcdp.samplers.source import Source

__all__ = ["Channel", "LossPair", "Weighed", "has_graph"]


# Drawing reports, and estimating frequencies: each output has a weight for each input.

Row = tuple[Fraction, ...]


class Weighed(CollectsNumbers):
    """A local randomizer given by a matrix: row x is the distribution of the report of a client with the value x.

    Theorem: docs/theorems/estimator.md.
    """

    rows: tuple[Row, ...]

    @property
    def k(self) -> int:
        """The number of inputs."""
        return len(self.rows)

    @cached_property
    def _laws(self) -> tuple[Row, ...]:
        """The rows divided by their exact sums: the distributions that are certified and drawn from."""
        return tuple(tuple(entry / sum(row) for entry in row) for row in self.rows)

    def release(self, values: ArrayLike) -> Any:
        """One random output for each input, as int64."""
        import numpy as np

        from zcdp.samplers.run_samplers import each
        from zcdp.samplers.source import secure

        def many(inputs: NDArray[Any]) -> NDArray[Any]:
            return self._drawn(inputs, self.k, secure)

        return each(lambda x: int(many(np.array([x]))[0]), many, values, self.k)

    @cached_property
    def _tables(self) -> tuple[LazyTable, ...]:
        from zcdp.samplers.lazy_inversion import Law, LazyTable

        def table(row: Row) -> LazyTable:
            last = max(y for y, entry in enumerate(row) if entry)
            steps = list(accumulate(row))
            return LazyTable(Law(lambda y: lift(steps[min(max(y, 0), last)]), range(last + 1), 0, last))

        return tuple(map(table, self._laws))

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        import numpy as np

        out = np.empty(values.size, dtype=np.int64)
        for x in range(k):
            places = np.flatnonzero(values == x)
            if places.size:
                out[places] = self._tables[x].draw(places.size, source)
        return out

    def _outputs(self, k: int) -> int:  # noqa: ARG002 - a channel knows its number of outputs
        return len(self.rows[0])

    def _support(self, x: FractionOrBall) -> tuple[FractionOrBall, FractionOrBall, FractionOrBall]:  # noqa: ARG002
        raise BadType("reports of a channel support no values: they are weighed")

    @property
    def support(self) -> Support:
        """Not available: a channel has a weight for each pair of output and input instead of a support."""
        raise BadType("reports of a channel support no values: they are weighed")

    @cached_property
    def weights(self) -> list[list[Fraction]]:
        """The number that each output adds to the estimate of each input: exact weights of an unbiased estimator.

        Theorem: docs/theorems/estimator.md.
        """
        from zcdp.estimation.estimator import unbiased_weights

        return unbiased_weights(self._laws)

    @cached_property
    def _estimator(self) -> Estimator:
        import numpy as np

        from zcdp.estimation.estimator import ByWeights

        return ByWeights(
            *(np.array([list(map(float, row)) for row in matrix]) for matrix in (self._laws, self.weights))
        )

    def estimate(self, counts: Counts) -> Histogram:
        """Estimated frequencies of the inputs, with standard errors and intervals, from the counts of the outputs."""
        from zcdp.estimation.frequency_estimates import Histogram

        self._own(counts)
        if counts.k != self._outputs(self.k):
            raise BadValue(f"counts must be of the {self._outputs(self.k)} outputs, not of {counts.k}")
        return Histogram(counts, self._estimator)


# Any randomizer with finitely many inputs and outputs, given by its probabilities, and its privacy.

ROUNDING = Fraction(1, 2**53)
"""The rounding error of one float: a row of n floats may sum to 1 up to n + 8 such errors, 8 of them for a division by
a sum of floats. The certificate is about the row divided by its exact sum."""


def _row(values: Iterable[Value], name: str) -> Row:
    """The probabilities as exact numbers, not normalised; `BadValue` unless they sum to 1.

    Rows with floats may be off by rounding errors, other rows must sum to 1 exactly.
    """
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise BadType(f"{name} ({thing(values)}) must be a list of probabilities")
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    row = tuple(rational(value, f"{name}[{n}]") for n, value in enumerate(values))
    for n, entry in enumerate(row):
        if entry < 0:
            raise BadValue(f"{name}[{n}] ({values[n]}) must not be negative")
    total = sum(row, Fraction(0))
    if total != 1 and not any(map(_is_float, values)):
        raise BadValue(f"{name} must sum to 1, not {_shown(total)} (exact rows may not be off at all)")
    if abs(total - 1) > (len(row) + 8) * ROUNDING:
        hint = "more than floats explain: normalise the row, or give fractions such as '1/3'"
        raise BadValue(f"{name} must sum to 1, not {_shown(total)}, which is off by {_shown(abs(total - 1))} ({hint})")
    return row


def _shown(number: Fraction) -> str:
    try:
        return repr(float(number))
    except OverflowError:
        return "a number beyond floats"


def _is_float(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, Rational)


class _Finite(FiniteEnvelope, Mechanism):
    """Distributions on finitely many outcomes, of which those joined by the graph belong to neighbours, either way."""

    theorem: ClassVar[str] = "supremum"
    budget = None

    @property
    @abstractmethod
    def _rows(self) -> Sequence[Row]:
        """The rows as given."""

    @property
    def _graph(self) -> Graph:
        """Which rows, as given, are neighbours; None if any two are."""
        return None

    @cached_property
    def _distinct(self) -> tuple[tuple[Row, ...], tuple[int, ...]]:
        """The different rows, normalised and without impossible outcomes, and the index at which each first occurs."""
        first: dict[Row, int] = {}
        for index, row in enumerate(self._normalised):
            first.setdefault(row, index)
        return tuple(first), tuple(first.values())

    @cached_property
    def _normalised(self) -> list[Row]:
        """All rows, divided by their sums, without outcomes that none of them has."""
        columns = [n for n in range(len(self._rows[0])) if any(row[n] for row in self._rows)]
        totals = [sum(row, Fraction(0)) for row in self._rows]
        return [tuple(row[n] / total for n in columns) for row, total in zip(self._rows, totals, strict=True)]

    @cached_property
    def _joined(self) -> list[tuple[int, int]]:
        """Both orders of each pair of different rows that are neighbours, as indices of `_distinct`, sorted."""
        rows, _ = self._distinct
        if self._graph is None:
            return [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
        place = {row: n for n, row in enumerate(rows)}
        named = [place[row] for row in self._normalised]
        edges = {(named[i], named[j]) for i, j in self._graph if named[i] != named[j]}
        return sorted(edges | {(j, i) for i, j in edges})

    @cached_property
    def _revealing(self) -> tuple[int, int] | None:
        """Two neighbours, as indices of `_distinct`, of which only the first has some outcome; None if there are none.

        Of several the likeliest outcome, of the first such column.
        """
        rows, _ = self._distinct
        for n in range(len(rows[0])):
            found = [(i, j) for i, j in self._joined if rows[i][n] and not rows[j][n]]
            if found:
                return max(found, key=lambda pair: (rows[pair[0]][n], -pair[0], -pair[1]))
        return None

    @property
    def unbounded(self) -> bool:
        return self._revealing is not None

    @property
    def largest_loss(self) -> Exact | None:
        if self.unbounded:
            return None
        rows, _ = self._distinct
        if self._graph is None:  # then it is quicker column by column
            ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
        else:
            ratios = (a / b for i, j in self._joined for a, b in zip(rows[i], rows[j], strict=True) if b)
            ratio = max(ratios, default=Fraction(1))
        return Log(ratio) if ratio > 1 else Fraction(0)

    @cached_property
    def _indices(self) -> list[tuple[int, int]]:
        """Indices (row of P, row of Q), one for each kind of pair: relabelling the outcomes makes no new kind."""
        names: dict[Fraction, int] = {}
        coded = [[names.setdefault(entry, len(names)) for entry in row] for row in self._distinct[0]]
        kinds: dict[tuple[tuple[int, int], ...], tuple[int, int]] = {}
        for i, j in self._joined:
            kinds.setdefault(tuple(sorted(zip(coded[i], coded[j], strict=True))), (i, j))
        return list(kinds.values())

    def pairs(self) -> Sequence[FinitePair]:
        rows, _ = self._distinct
        masses = [[lift(entry) for entry in row] for row in rows]
        logs = [[mass.log() for mass in row] for row in masses]
        found = []
        for i, j in self._indices:  # outcomes that neither of the two has are left out
            kept = [n for n, entry in enumerate(rows[i]) if entry]
            found.append(FinitePair([masses[i][n] for n in kept], [logs[i][n] - logs[j][n] for n in kept]))
        return found

    def pair(self) -> Claim | None:
        """The envelope of all pairs of neighbouring rows; if they are too many, the pair of binary randomized response.

        Theorem: docs/theorems/envelope.md.
        """
        rows, _ = self._distinct
        pure = super().pair()
        if not self._indices:
            return pure
        return envelope_of_rows([_possible(rows[i], rows[j]) for i, j in self._indices], coarser=pure) or pure

    @property
    def worst_pair(self) -> tuple[int, int]:
        """The two neighbouring rows that are easiest to tell apart: indices (row of P, row of Q)."""
        _, where = self._distinct
        if self._revealing is not None:
            i, j = self._revealing
        elif self._indices:
            i, j = self._indices[self.supremum.curve]
        else:
            return (0, 0) if self._graph is None else self._graph[0]
        return self._given(where, i, j)

    def _given(self, where: Sequence[int], i: int, j: int) -> tuple[int, int]:
        """Rows as given that are neighbours, and equal to the different rows i and j: the first such pair."""
        if self._graph is None:
            return where[i], where[j]
        rows, _ = self._distinct
        both = (pair for one, other in self._graph for pair in ((one, other), (other, one)))
        return next(
            (one, other)
            for one, other in both
            if (self._normalised[one], self._normalised[other]) == (rows[i], rows[j])
        )

    def candidates(self) -> Sequence[int] | None:
        rows, _ = self._distinct
        if len(rows) < 4 or min(map(min, rows)) < Fraction(1, 10**300):  # few rows, or beyond the range of floats
            return None
        return _steepest_in_floats(rows, self._indices)


def _possible(p: Row, q: Row) -> tuple[Row, Row]:
    """Two rows without the outcomes that neither has."""
    kept = [(a, b) for a, b in zip(p, q, strict=True) if a or b]
    return tuple(a for a, _ in kept), tuple(b for _, b in kept)


def _steepest_in_floats(rows: Sequence[Row], indices: Sequence[tuple[int, int]]) -> list[int]:
    """The pair of rows with the largest D(alpha)/alpha on a grid of orders, in floats: a heuristic for the search."""
    import numpy as np

    logs = np.log(np.array([[float(entry) for entry in row] for row in rows]).clip(1e-300))
    largest = max(float((logs.max(axis=0) - logs.min(axis=0)).max()), 1e-9)
    centre = (logs.max(axis=0) + logs.min(axis=0)) / 2  # It is subtracted from each column, lest powers overflow.
    scores = np.full((len(rows), len(rows)), -np.inf)
    for s in np.geomspace(1e-3, 300 / largest, 40):
        moments = product(np.exp((1 + s) * (logs - centre) + centre), np.exp(-s * (logs - centre)).T)
        scores = np.maximum(scores, np.log(moments) / (s * (1 + s)))
    return [max(range(len(indices)), key=lambda n: float(scores[indices[n]]))]


@dataclass(frozen=True, init=False, repr=False)
class Channel(Weighed, _Finite):
    """A row-stochastic matrix: row x is the law of the output on input x. Certified over all orders and pairs of rows.

    Any two inputs are neighbours, unless `neighbours` says which are: a list of pairs, "adjacent" for x and x + 1, or a
    whole number, the largest distance. Inputs of a group of k are then at most k edges apart, and inputs that no path
    joins are never compared. Rows of Fractions, ints or strings must sum to 1 exactly. Rows with floats may be off by
    rounding errors; the certificate is then about the row divided by its exact sum. If one input can produce an outcome
    that a neighbour cannot, rho is infinite, and `worst_pair` names the two rows. Theorems: docs/theorems/supremum.md,
    docs/theorems/neighbour-graph.md.

    >>> m = Channel([[0.75, 0.25], [0.4, 0.6]])
    >>> m.rho, m.worst_pair
    (0.2738377786707741, (1, 0))
    >>> counts = Channel([["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]], neighbours="adjacent")
    >>> counts.pure_epsilon, counts.group(2).pure_epsilon
    (0.6931471805599454, 1.3862943611198908)
    """

    rows: tuple[Row, ...]
    """The matrix of probabilities: one row for each input."""
    neighbours: Graph = None
    """Which inputs are neighbours: pairs of rows, "adjacent", or a largest distance; any two if it is left out."""

    def __init__(
        self,
        rows: Iterable[Iterable[Value]],
        *,
        neighbours: Iterable[tuple[int, int]] | str | int | None = None,
    ) -> None:
        if not isinstance(rows, Iterable):
            raise BadType(f"rows ({thing(rows)}) must be a matrix: a list of rows of probabilities")
        matrix = tuple(_row(row, f"rows[{n}]") for n, row in enumerate(rows))
        if len(matrix) < 2:
            raise BadValue(f"rows must be at least 2, one for each input, not {len(matrix)}")
        if len({len(row) for row in matrix}) > 1:
            raise BadValue(f"rows must all have the same length, not {sorted({len(row) for row in matrix})}")
        self._set(rows=matrix, neighbours=read_graph(neighbours, len(matrix)))

    @property
    def _rows(self) -> Sequence[Row]:
        return self.rows

    @property
    def _graph(self) -> Graph:
        return self.neighbours

    @property
    def local(self) -> bool:  # type: ignore[override]
        """Whether any two inputs are neighbours."""
        return self.neighbours is None

    @property
    def takes_absence(self) -> bool:
        """Whether any two inputs are neighbours, or all of one alone, which an absent record may send."""
        return self.neighbours is None or is_star(self.neighbours, len(self.rows))

    @property
    def relation(self) -> Relation:
        return Relation.REPLACE

    @property
    def theorems(self) -> tuple[str, ...]:
        return (self.theorem,) if self.neighbours is None else (self.theorem, "neighbour-graph")

    @property
    def note(self) -> str:
        """What a statement of its cost must say: that it is about neighbours of the graph alone; empty if it is not."""
        if self.neighbours is None:
            return ""
        parts = apart(self.neighbours, len(self.rows))
        return "its cost is about inputs that its `neighbours` join, no others" + (f"; {parts}" if parts else "")

    def group(self, size: Value) -> Mechanism:
        """The same channel, with inputs as neighbours that are at most `size` edges apart.

        Theorem: docs/theorems/neighbour-graph.md.
        """
        steps = integer(size, "size", 1)
        if self.neighbours is None or steps == 1:
            return self
        return Channel(self.rows, neighbours=distances_within(self.neighbours, len(self.rows), steps))

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        one, other = self.worst_pair
        return self.release(np.full(size, one)), self.release(np.full(size, other))

    def __repr__(self) -> str:
        graph = "" if self.neighbours is None else f", neighbours={written_graph(self.neighbours, len(self.rows))}"
        return f"Channel([{', '.join(_list(row) for row in self.rows)}]{graph})"


@dataclass(frozen=True, init=False, repr=False)
class LossPair(_Finite):
    """One pair of distributions on the same outcomes, in both directions: the law on an input and on its neighbour.

    With `ordered`, p is in every use the distribution with the person and q the one without; the neighbours are then
    add_remove. For inputs further apart only the bound of `group` is known, from the largest loss.
    Theorem: docs/theorems/supremum.md.

    >>> LossPair(p=["1/2", "1/2"], q=["1/4", "3/4"]).rho
    0.1455643760001538
    """

    p: Row
    q: Row
    ordered: bool = False

    def __init__(self, p: Iterable[Value], q: Iterable[Value], *, ordered: bool = False) -> None:
        left, right = _row(p, "p"), _row(q, "q")
        if len(left) != len(right):
            raise BadValue(f"p and q must have the same length, not {len(left)} and {len(right)}")
        self._set(p=left, q=right, ordered=ordered)

    @property
    def _rows(self) -> Sequence[Row]:
        return self.p, self.q

    @property
    def relation(self) -> Relation:
        return Relation.ADD_REMOVE if self.ordered else Relation.EITHER

    def pair(self) -> Claim | None:
        rows, _ = self._distinct
        return Claim.exactly(directed_law(*rows)) if self.ordered and len(rows) == 2 else super().pair()

    def __repr__(self) -> str:
        return f"LossPair(p={_list(self.p)}, q={_list(self.q)}{', ordered=True' if self.ordered else ''})"


def has_graph(part: Curve) -> bool:
    """Whether it is a channel of which only some inputs are neighbours."""
    return isinstance(part, Channel) and part.neighbours is not None


def _list(row: Row) -> str:
    """A row as Python source."""
    return f"[{', '.join(literal(entry) for entry in row)}]"
