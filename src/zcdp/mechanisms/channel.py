"""Randomizers given by their probabilities: `Channel`, a matrix with one row for each input, and `LossPair`.

The first part of the file draws reports of a channel and estimates frequencies of the inputs from them; the second
part checks the probabilities and certifies the privacy of all pairs of rows.
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
from zcdp.numeric.balls import lift
from zcdp.numeric.doubles import product
from zcdp.numeric.exact import Exact, Log, Value, literal, rational
from zcdp.numeric.threads import cached_property
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

__all__ = ["Channel", "LossPair", "Weighed"]


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
    """Distributions on finitely many outcomes, any two of which, in both directions, belong to neighbours."""

    theorem: ClassVar[str] = "supremum"
    budget = None

    @property
    @abstractmethod
    def _rows(self) -> Sequence[Row]:
        """The rows as given."""

    @cached_property
    def _distinct(self) -> tuple[tuple[Row, ...], tuple[int, ...]]:
        """The different rows, normalised and without impossible outcomes, and the index at which each first occurs."""
        columns = [n for n in range(len(self._rows[0])) if any(row[n] for row in self._rows)]
        first: dict[Row, int] = {}
        for index, row in enumerate(self._rows):
            total = sum(row, Fraction(0))
            first.setdefault(tuple(row[n] / total for n in columns), index)
        return tuple(first), tuple(first.values())

    @property
    def unbounded(self) -> bool:
        rows, _ = self._distinct
        return any(entry == 0 for row in rows for entry in row)

    @property
    def largest_loss(self) -> Exact | None:
        if self.unbounded:
            return None
        rows, _ = self._distinct
        ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
        return Log(ratio) if ratio > 1 else Fraction(0)

    @cached_property
    def _indices(self) -> list[tuple[int, int]]:
        """Indices (row of P, row of Q), one for each kind of pair: relabelling the outcomes makes no new kind."""
        names: dict[Fraction, int] = {}
        coded = [[names.setdefault(entry, len(names)) for entry in row] for row in self._distinct[0]]
        kinds: dict[tuple[tuple[int, int], ...], tuple[int, int]] = {}
        for i, left in enumerate(coded):
            for j, right in enumerate(coded):
                if i != j:
                    kinds.setdefault(tuple(sorted(zip(left, right, strict=True))), (i, j))
        return list(kinds.values())

    def pairs(self) -> Sequence[FinitePair]:
        rows, _ = self._distinct
        masses = [[lift(entry) for entry in row] for row in rows]
        logs = [[mass.log() for mass in row] for row in masses]
        return [FinitePair(masses[i], [a - b for a, b in zip(logs[i], logs[j], strict=True)]) for i, j in self._indices]

    def pair(self) -> Claim | None:
        """The envelope of all pairs of rows; if they are too many, the pair of binary randomized response.

        Theorem: docs/theorems/envelope.md.
        """
        rows, _ = self._distinct
        if len(rows) == 1:
            return super().pair()
        pure = super().pair()
        return envelope_of_rows([(rows[i], rows[j]) for i, j in self._indices], coarser=pure) or pure

    @property
    def worst_pair(self) -> tuple[int, int]:
        """The two rows that are easiest to tell apart: indices (row of P, row of Q)."""
        rows, where = self._distinct
        if self.unbounded:
            column = next(column for column in zip(*rows, strict=True) if 0 in column)
            return where[column.index(max(column))], where[column.index(0)]
        if len(rows) == 1:
            return 0, 0
        i, j = self._indices[self.supremum.curve]
        return where[i], where[j]

    def candidates(self) -> Sequence[int] | None:
        rows, _ = self._distinct
        if len(rows) < 4 or min(map(min, rows)) < Fraction(1, 10**300):  # few rows, or beyond the range of floats
            return None
        return _steepest_in_floats(rows, self._indices)


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

    Rows of Fractions, ints or strings must sum to 1 exactly. Rows with floats may be off by rounding errors; the
    certificate is then about the row divided by its exact sum. If one input can produce an outcome that another
    cannot, rho is infinite, and `worst_pair` names the two rows. Theorem: docs/theorems/supremum.md.

    >>> m = Channel([[0.75, 0.25], [0.4, 0.6]])
    >>> m.rho, m.worst_pair
    (0.2738377786707741, (1, 0))
    """

    local = True

    rows: tuple[Row, ...]
    """The matrix of probabilities: one row for each input."""

    def __init__(self, rows: Iterable[Iterable[Value]]) -> None:
        if not isinstance(rows, Iterable):
            raise BadType(f"rows ({thing(rows)}) must be a matrix: a list of rows of probabilities")
        matrix = tuple(_row(row, f"rows[{n}]") for n, row in enumerate(rows))
        if len(matrix) < 2:
            raise BadValue(f"rows must be at least 2, one for each input, not {len(matrix)}")
        if len({len(row) for row in matrix}) > 1:
            raise BadValue(f"rows must all have the same length, not {sorted({len(row) for row in matrix})}")
        self._set(rows=matrix)

    @property
    def _rows(self) -> Sequence[Row]:
        return self.rows

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        one, other = self.worst_pair
        return self.release(np.full(size, one)), self.release(np.full(size, other))

    def __repr__(self) -> str:
        return f"Channel([{', '.join(_list(row) for row in self.rows)}])"


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


def _list(row: Row) -> str:
    """A row as Python source."""
    return f"[{', '.join(literal(entry) for entry in row)}]"
