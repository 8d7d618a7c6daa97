"""Amplification by shuffling: the reports of many clients, whose senders are not known, as one mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.channel import has_graph
from zcdp.mechanisms.wrapper import Wrapper
from zcdp.numeric.balls import NotCertified, lift
from zcdp.numeric.exact import Exact, Value, integer
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss import Claim, LossLaw, ShuffledProfile, profile_law
from zcdp.privacy.relation import Relation
from zcdp.privacy.sampled_curve import SampledFinite, finite_curve
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.estimation.frequency_estimates import Counts

__all__ = ["Shuffled"]


@dataclass(frozen=True, init=False, repr=False)
class Shuffled(Wrapper):
    """One report from each of so many clients, made with the same local randomizer and shuffled at random.

    Neighbours are two sets of clients of which one client holds another value. The shuffler sees the senders and must
    not collude. `clients` is the number of reports that really arrived, and no report may depend on another.

    The upper bound is the blanket argument of Balle et al. (2019): the others' uniform reports hide the one. For k-ary
    randomized response it uses that k, and the lower bound of one use is the case that all other clients hold one
    value. For any other randomizer it is the bound for all randomizers of the same epsilon. `is_tight` is False.
    Theorem: docs/theorems/shuffling.md.

    >>> from zcdp import RandomizedResponse
    >>> Shuffled(RandomizedResponse(epsilon=2, k=16), clients=100_000).epsilon_at(delta=1e-6)
    0.01952...
    """

    theorem: ClassVar[str] = "shuffling"
    _no_group = "its pair is of one client"

    mechanism: Mechanism
    clients: int
    """How many clients reported."""

    def __init__(self, mechanism: Mechanism, *, clients: Value) -> None:
        if not isinstance(mechanism, Mechanism):
            raise BadType(
                f"mechanism ({thing(mechanism)}) must be a local randomizer, as RandomizedResponse(epsilon=1, k=4)"
            )
        if has_graph(mechanism):
            raise BadValue(f"{mechanism!r} cannot be shuffled: a client may hold any input, and few are neighbours")
        if not mechanism.local:
            raise BadValue(f"{mechanism!r} is no local randomizer: there are no reports of single clients to shuffle")
        try:
            loss = mechanism.largest_loss
        except AttributeError as reason:  # some have one that is too long to write down
            raise BadValue(f"{mechanism!r} cannot be shuffled: {reason}") from None
        if loss is None:
            raise BadValue(f"{mechanism!r} has unbounded losses: no shuffling hides a report that gives its input away")
        self._set(mechanism=mechanism, clients=integer(clients, "clients", 1))

    def __repr__(self) -> str:
        return f"Shuffled({self.mechanism!r}, clients={self.clients})"

    # What is run and estimated: the reports of the local randomizer, in random order.

    def release(
        self,
        values: ArrayLike,
        *,
        d: Value | None = None,
        k: Value | None = None,
        low: Value | None = None,
        high: Value | None = None,
    ) -> NDArray[Any]:
        """The reports of all clients in random order, every order equally likely; there must be `clients` or more.

        What the local randomizer's `release` needs is passed on to it.
        """
        import numpy as np

        from zcdp.samplers.reports import distinct
        from zcdp.samplers.source import secure

        local: Any = self.mechanism
        reports = np.asarray(local.release(values, **_given(d=d, k=k, low=low, high=high)))
        self._enough(len(reports))
        return np.asarray(reports[distinct(len(reports), len(reports), 1, secure)[0]])

    def count(self, reports: ArrayLike, *, k: Value | None = None) -> Counts:
        """How many reports support each value, as the local randomizer counts them."""
        local: Any = self.mechanism
        found: Counts = local.count(reports, k=k)
        return found

    def estimate(self, counts: Counts, *, low: Value | None = None, high: Value | None = None) -> Any:
        """What the local randomizer estimates from counts of its reports; fewer than `clients` are refused."""
        self._enough(counts.reports)
        local: Any = self.mechanism
        return local.estimate(counts, **_given(low=low, high=high))

    def standard_error(
        self, *, clients: Value, frequency: Value | None = None, mean: Value | None = None, of: str | None = None
    ) -> float:
        """The standard error of the local randomizer's estimate."""
        local: Any = self.mechanism
        return float(local.standard_error(clients=clients, **_given(frequency=frequency, mean=mean, of=of)))

    def _enough(self, reports: int) -> None:
        if reports < self.clients:
            raise BadValue(
                f"reports ({reports}) must be at least clients ({self.clients}): fewer do not hide each other as told"
            )

    @cached_property
    def _claim(self) -> Claim:
        loss = self.mechanism.largest_loss
        assert loss is not None
        return _claim(loss, self.mechanism.blanket(), self.clients, self.mechanism.is_its_blanket)

    @cached_property
    def _curve(self) -> SampledFinite:
        return _curve(self._claim.upper)

    @property
    def relation(self) -> Relation:
        return Relation.REPLACE

    def pair(self) -> Claim:
        return self._claim

    curve_of_pair = True

    @property
    def is_tight(self) -> bool:
        """False: the pair dominates, and need not be attained."""
        return False

    @property
    def largest_loss(self) -> Exact | None:
        return self.mechanism.largest_loss

    @property
    def rho_bounds(self) -> tuple[float, float]:
        return 0.0, self._peak_bounds[1]

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """Bounds on rho: from the pair, and from the local randomizer, since shuffling is post-processing."""
        alone = self.mechanism.rho
        try:
            lower, upper = self._curve._peak_bounds
        except NotCertified:
            return 0.0, alone
        return min(lower, alone), min(upper, alone)


def _given(**options: Any) -> dict[str, Any]:
    """The options that are given."""
    return {name: value for name, value in options.items() if value is not None}


@lru_cache(maxsize=64)
def _claim(loss: Exact, values: int, clients: int, own: bool) -> Claim:
    """The claim of n = `clients` shuffled reports, cached: a calibration makes equal ones often, and they are slow.

    `values` is the k of the blanket; `own` says whether the randomizer is that k-ary randomized response.
    """

    def known(ask: Callable[[ShuffledProfile], tuple[arb, arb]]) -> tuple[arb, arb]:
        try:
            return ask(ShuffledProfile(lift(loss), values, clients))
        except (ValueError, OverflowError, ZeroDivisionError):  # from the floats that choose the contour
            raise NotCertified("the losses are too extreme for the profile of shuffled reports") from None

    def top() -> arb:
        return lift(loss)

    def all_true() -> arb:
        """The probability that all clients, who hold the same value, report it: the outcome with the largest loss."""
        return (1 / (1 + (values - 1) * (-lift(loss)).exp())) ** clients

    upper = profile_law(lambda epsilon: known(lambda one: (arb(0), one.above(epsilon))), top)
    if not own:
        return Claim(upper)
    attained = profile_law(lambda epsilon: known(lambda one: one.attained(epsilon)), top, at_top=all_true)
    return Claim(upper, lower_alone=Claim.laws(attained))


@lru_cache(maxsize=64)
def _curve(law: LossLaw) -> SampledFinite:
    return finite_curve(law)
