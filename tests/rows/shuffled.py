"""Rows of `Shuffled`."""

from __future__ import annotations

from random import Random

from neighbours import reports
from neighbours.case import Case, Row, some_epsilon
from neighbours.law import Pair

from rows import made


def _case(rng: Random, effort: int) -> Case:
    """One to four clients; one of them holds another value, and which reports came is all that is seen."""
    epsilon, k, clients = some_epsilon(rng), rng.randint(2, 4), rng.randint(1, 4)
    size = rng.randint(1, k - 1)
    if rng.random() < 0.5:
        rows, base = reports.response(epsilon, k), made("RandomizedResponse", epsilon=epsilon, k=k)
    else:
        rows, base = reports.subsets(epsilon, k, size), made("SubsetSelection", epsilon=epsilon, k=k, size=size)
    pairs = []
    for n in range(effort + 2):
        one, other, *rest = rng.sample(range(k), k)
        alike = [other, *rest[:1]]  # all others alike are the worst that are known: as the second value, or as a third
        others = [alike[n]] * (clients - 1) if n < len(alike) else [rng.randrange(k) for _ in range(clients - 1)]
        laws = [reports.shuffled(rows, [value, *others]) for value in (one, other)]
        pairs.append(Pair.exactly(*([law[key] for key in laws[0]] for law in laws)))
    return Case(made("Shuffled", base, clients=clients), pairs)


NEIGHBOURS = (Row("Shuffled", _case),)
TEXTS = {"Shuffled": lambda i: f"{i.local()}, clients={i.whole()}"}
