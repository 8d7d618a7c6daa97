"""Frequent strings that nobody listed: recall and precision of the top 50, coverage, and the same for other methods.

10^6 clients hold strings of a Zipf law over 10^5 strings that were made up by letters of English, at epsilon = 4.
`python benchmarks/heavy_hitters.py [--runs 3] [--first 0] [--length 6] [--exponent 1]`. Beside it, on the same clients:

- "with a list": every client reports its whole string by linear hashing, and the server knows the 10^5 strings. No
  method without a list can be expected to do better.
- "equal groups, own level alone" is the prefix extending method (Wang, Li and Jha 2019) with linear in place of other
  local hashing: groups of equal size, and the best prefixes by the estimates of a level alone; the last group decides.
- "one bit" is the prefix tree of Bassily, Nissim, Stemmer and Thakurta (2017) in its privacy: one random sign of a
  Hadamard transform a report. The noise of its estimates is drawn as it is, and its hashing is taken for perfect.
- "fragments" hashes the string and reports hash and one fragment together (as Apple's sequence fragments do): the
  fragments of a string are found each alone, and put together by the hash.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from math import exp, sqrt
from typing import Any

import numpy as np

from zcdp import HeavyHitters
from zcdp.estimation.prefix_search import _continued
from zcdp.samplers.source import secure

LETTERS = "abcdefghijklmnopqrstuvwxyz"
IN_ENGLISH = "82 15 28 43 127 22 20 61 70 1.5 7.7 40 24 67 75 19 1 60 63 91 28 10 24 1.5 20 0.7"
ENGLISH = np.array([float(one) for one in IN_ENGLISH.split()])
TOP, STRINGS, CLIENTS, EPSILON = 50, 100_000, 1_000_000, 4


def made_up(length: int, rng: np.random.Generator) -> list[str]:
    """Different strings of 4 to `length` letters, as frequent in them as in English."""
    found: set[str] = set()
    while len(found) < STRINGS:
        drawn = rng.choice(list(LETTERS), size=(STRINGS, length), p=ENGLISH / ENGLISH.sum())
        sizes = rng.integers(min(4, length), length + 1, size=STRINGS)
        found.update("".join(row[:size]) for row, size in zip(drawn, sizes, strict=True))
    strings = sorted(found)
    return [strings[n] for n in rng.permutation(len(strings))[:STRINGS]]


class Clients:
    """What 10^6 clients hold, and the true top."""

    def __init__(self, length: int, exponent: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.strings = made_up(length, rng)
        law = np.arange(1, STRINGS + 1) ** -exponent
        self.law = law / law.sum()
        self.held = rng.choice(STRINGS, CLIENTS, p=self.law)
        self.counts = np.bincount(self.held, minlength=STRINGS)
        self.place = {one: n for n, one in enumerate(self.strings)}
        self.best = {self.strings[n] for n in np.argsort(-self.counts, kind="stable")[:TOP]}
        self.rng = rng

    def shares(self, named: Sequence[str]) -> np.ndarray[Any, Any]:
        """The frequency of each string in the population."""
        return np.array([self.law[self.place[one]] if one in self.place else 0.0 for one in named])

    def recall(self, named: Sequence[str]) -> float:
        """The part of the true top that is named; with TOP names it is the precision, too."""
        return len({*named} & self.best) / TOP


def ours(clients: Clients, design: HeavyHitters, digits: Any) -> dict[str, float]:
    began = time.process_time()
    reports = design._drawn(digits[clients.held], secure)
    drawn = time.process_time()
    found = design.find(reports, top=TOP)
    spent = time.process_time()
    truth, sure = clients.shares(found.strings), found.heavy()
    held = sum(one in clients.place and clients.counts[clients.place[one]] > 0 for one in sure.strings)
    inside = bool(((found.lower <= truth) & (truth <= found.upper)).all())
    hits = len(set(sure.strings) & clients.best)
    return {
        "zcdp": clients.recall(found.top(TOP).strings),
        "zcdp, surely held alone": hits / TOP,
        "  their precision": hits / max(len(sure), 1),
        "  held by nobody": len(sure) - held,
        "all intervals hold": inside,
        "seconds to draw": drawn - began,
        "seconds to find": spent - drawn,
    }


def with_a_list(clients: Clients, design: HeavyHitters) -> float:
    support = design.mechanism.support
    noise = sqrt(CLIENTS * support.q * support.not_q) / support.gain
    own = clients.rng.normal(clients.counts, noise)
    return clients.recall([clients.strings[n] for n in np.argsort(-own)[:TOP]])


def equal_groups(clients: Clients, design: HeavyHitters, digits: Any) -> float:
    """The levels of the design without judges, each an equal group; prefixes by their own level alone.

    2 TOP prefixes are kept, of those that strings may have: with 4 TOP or 8 TOP it finds no more.
    """
    g, levels, code = design.g, design.levels[:-1], design.code
    even = HeavyHitters(
        epsilon=design.epsilon, alphabet=design.alphabet, length=design.length, weights=(10**6,) * len(levels) + (1,)
    )
    rows = even._drawn(digits[clients.held], secure)
    prefixes = np.empty((1, 0), dtype=np.int64)
    for n in range(len(levels)):
        supports = np.concatenate([*_continued(even._of_level(rows, n), prefixes, g)])
        added = levels[n] - prefixes.shape[1]
        order, whole = np.argsort(-supports, kind="stable"), levels[n] == levels[-1]
        kept: list[list[int]] = []
        for place in order.tolist():
            parent, end = divmod(place, g**added)
            row = [*prefixes[parent].tolist(), *(end // g**j % g for j in range(added))]
            number = sum(digit * g ** (levels[-1] - 1 - j) for j, digit in enumerate(row))
            if code.text(number) is not None if whole else number < code.size:
                kept.append(row)
            if len(kept) == 2 * TOP:
                break
        prefixes = np.array(kept)
    return clients.recall([str(code.text_of_digits(row, g)) for row in prefixes.tolist()][:TOP])


def one_bit(clients: Clients, design: HeavyHitters) -> float:
    """A tree over letters: each level, of an equal group, keeps the best 4 TOP continuations by one letter."""
    length, epsilon = design.length, EPSILON
    group = CLIENTS // length
    noise = sqrt(group) * (exp(epsilon) + 1) / (exp(epsilon) - 1)
    groups = clients.rng.permutation(clients.held)[: group * length].reshape(length, group)
    kept = [""]
    for depth in range(1, length + 1):
        counts: dict[str, int] = {}
        for n, count in enumerate(np.bincount(groups[depth - 1], minlength=STRINGS).tolist()):
            if count:
                begin = clients.strings[n].ljust(length)[:depth]
                counts[begin] = counts.get(begin, 0) + count
        tried = [one + letter for one in kept for letter in (LETTERS + " " if one[-1:] != " " else " ")]
        estimates = clients.rng.normal([counts.get(one, 0) for one in tried], noise)
        kept = [tried[n] for n in np.argsort(-estimates)[: 4 * TOP]]
    return clients.recall([one.strip() for one in kept[:TOP]])


def fragments(clients: Clients, design: HeavyHitters) -> float:
    """Hash of 12 bits with each fragment of two letters, in equal groups; estimates as exact as linear hashing has."""
    size, length = 4096, design.length
    pieces = -(-length // 2)
    group = CLIENTS // pieces
    support = design.mechanism.support
    noise = sqrt(group * support.q * support.not_q) / support.gain
    padded = [one.ljust(2 * pieces) for one in clients.strings]
    letters = {one: n for n, one in enumerate(LETTERS + " ")}
    hashes = np.random.default_rng(9).integers(0, size, STRINGS)
    found: list[np.ndarray[Any, Any]] = []
    groups = clients.rng.permutation(clients.held)[: group * pieces].reshape(pieces, group)
    for n in range(pieces):
        own = np.array([27 * letters[one[2 * n]] + letters[one[2 * n + 1]] for one in padded])
        table = np.bincount(hashes[groups[n]] * 729 + own[groups[n]], minlength=size * 729).astype(float)
        found.append((table + clients.rng.normal(0, noise, table.size)).reshape(size, 729))
    table = np.stack([one.max(axis=1) for one in found])
    best = np.argsort(-table.min(axis=0))[:TOP]
    spelled = []
    for cell in best:
        text = "".join((LETTERS + " ")[k] for one in found for k in divmod(int(one[cell].argmax()), 27))
        spelled.append(text.strip())
    return clients.recall(spelled)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first run; the next has the next")
    parser.add_argument("--length", type=int, default=6)
    parser.add_argument("--exponent", type=float, default=1.0)
    options = parser.parse_args()
    design = HeavyHitters(epsilon=EPSILON, alphabet=LETTERS, length=options.length)
    print(f"{design!r}: {design.report_bytes} bytes a report, rho = {design.plan.rho:.4g}")
    runs = []
    for seed in range(options.first, options.first + options.runs):
        clients = Clients(options.length, options.exponent, seed)
        digits = design.code.digits(clients.strings, design.g)
        others = {
            "with a list of all strings": with_a_list(clients, design),
            "equal groups, own level alone": equal_groups(clients, design, digits),
            "one bit a report, a tree": one_bit(clients, design),
            "hash and fragments": fragments(clients, design),
        }
        runs.append(ours(clients, design, digits) | others)
        print(seed, ", ".join(f"{name.strip()} {value:.3g}" for name, value in runs[-1].items()), flush=True)
    print(f"\nmeans of {len(runs)} runs; recall, and so precision, of the top {TOP} unless it says otherwise")
    for name in runs[0]:
        seen = [one[name] for one in runs]
        error = f" +- {np.std(seen, ddof=1) / sqrt(len(seen)):.3f}" if len(seen) > 1 else ""
        print(f"{name:32}{np.mean(seen):8.3f}{error}")


if __name__ == "__main__":
    main()
