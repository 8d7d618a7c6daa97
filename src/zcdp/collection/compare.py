"""A design that was used, beside those that `choose` finds for the same collection and budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from zcdp.collection.choose import Choice, Design, choose, error_of
from zcdp.collection.label import Label
from zcdp.samplers.source import secure

__all__ = ["compare", "design_of"]


def design_of(mechanism: Any, k: int, *, rounds: int, answered: int, clients: int) -> Design:
    """What the mechanism gives where clients answer some of the rounds: its error at the frequency 1/k, its bytes.

    >>> from zcdp import RandomizedResponse
    >>> design_of(RandomizedResponse(epsilon=8, k=256), 256, rounds=30, answered=1, clients=10**6).standard_error
    0.0003657...
    """
    frequency = 1 / k
    variance = mechanism.standard_error(clients=1, frequency=frequency) ** 2
    error = error_of(variance, frequency, answered / rounds, clients)
    label = Label.of(mechanism, k, mechanism._drawn(np.zeros(1, dtype=np.int64), k, secure), rows=False)
    size = float(label.numbers.itemsize * (label.width or 1))
    spent = (answered * mechanism).rho
    return Design(mechanism, k, answered, rounds, clients, frequency, error, size, spent)


def compare(design: Design, **budget: Any) -> Choice:
    """The designs within a budget, for the same values, rounds and clients."""
    return choose(k=design.k, clients=design.clients, rounds=design.of, **budget)
