"""Writes clients/vectors.json: bytes in, report out, for every randomizer of the wire format, made by the reference.

`python tools/client_vectors.py` writes it anew; tests compare it with the library and with the clients.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import zcdp
from zcdp.collection.client_coins import Chance, Power, below
from zcdp.collection.client_reports import ClientRandomizer, answered_rounds, grid_point
from zcdp.numeric.exact import positive

VECTORS = Path(__file__).parent.parent / "clients" / "vectors.json"

LONGEST = 4096  # bytes of a stream
TRIED = 100  # streams, of which the one that is read furthest is kept: it has ties of coins and numbers drawn again

CASES: tuple[tuple[Any, int], ...] = (
    (zcdp.RandomizedResponse(epsilon=1, k=4), 4),
    (zcdp.RandomizedResponse(epsilon="8.00000108", k=256), 256),
    (zcdp.RandomizedResponse(epsilon="log(3)", k=300), 300),
    (zcdp.RandomizedResponse(epsilon=0.1, k=100_000), 100_000),
    (zcdp.RandomizedResponse(epsilon="1e-12", k=2), 2),
    (zcdp.RandomizedResponse(epsilon="1e9", k=70_000), 70_000),
    (zcdp.BinaryRandomizedResponse("2/3", "1/7"), 2),
    (zcdp.BinaryRandomizedResponse("0.5", "1e-30"), 2),
    (zcdp.RAPPOR(epsilon=2), 20),
    (zcdp.RAPPOR(epsilon="log(9)"), 8),
    (zcdp.RAPPOR(epsilon="log(10)"), 9),
    (zcdp.UnaryEncoding("0.780818031", "0.00119363049"), 32),
    (zcdp.UnaryEncoding("3/4", "1/3"), 13),
    (zcdp.OptimizedUnaryEncoding(epsilon=4), 17),
    (zcdp.OptimizedUnaryEncoding(epsilon="1/3"), 5),
    (zcdp.SubsetSelection(epsilon=1, k=12, size=3), 12),
    (zcdp.SubsetSelection(epsilon="8.00000104", k=300, size=2), 300),
    (zcdp.SubsetSelection(epsilon="log(2)", k=9, size=8), 9),
    (zcdp.HadamardResponse(epsilon=1), 7),
    (zcdp.HadamardResponse(epsilon=2), 1000),
    (zcdp.HadamardResponse(epsilon="0.5", blocks=3), 20),
    (zcdp.LocalHashing(epsilon=2, g=7, random_hash=True), 100),
    (zcdp.LinearHashing(epsilon=1, g=3, k=100_000), 100_000),
    (zcdp.LinearHashing(epsilon=8, g=257, k=256), 256),
    (zcdp.LinearHashing(epsilon=4, g=2147483629, k=100_000), 100_000),
    (zcdp.SquareWave(epsilon="2.58229555", steps=256, width=100), 257),
    (zcdp.SquareWave.one_bit(epsilon=1), 2),
    (zcdp.HybridResponse(epsilon="2.61029017", steps=256, width=70, share="0.7289"), 257),
    (zcdp.HybridResponse(epsilon="log(3)", steps=7, width=3, share="1/3"), 8),
    (zcdp.MemoizedRAPPOR(f="1/2", p="1/2", q="3/4", collections=30), 11),
    (zcdp.MemoizedRAPPOR(f="0.3", p="0.01", q="0.99", collections=3), 16),
)

STRINGS = (
    (zcdp.HeavyHitters(epsilon=4, alphabet="abcdefghijklmnopqrstuvwxyz", length=6), ("", "z", "tea", "zzzzzz")),
    (
        zcdp.HeavyHitters(epsilon="log(3)", alphabet="0123456789.-é\U0001f375", length=12),
        ("192.168.0.1", "\U0001f375é"),
    ),
)

POWERS = ("1e-12", "0.1", "1/3", "1", "4", "8.00000108", "50", "1000", "1e9", "log(2)", "log(9)", "log(10)", "log(4/3)")
FORMS = ((1, -1, 1, 3), (1, 0, 1, 1), (0, 1, 1, 1), (3, 0, 3, 9))


class Stream:
    """Bytes that SHA-256 makes of a label, and how many of them were read."""

    def __init__(self, label: str, count: int = LONGEST) -> None:
        blocks = (hashlib.sha256(f"{label} {n}".encode()).digest() for n in range(-(-count // 32)))
        self.bytes, self.read = b"".join(blocks)[:count], 0

    def __call__(self, count: int) -> bytes:
        """The next bytes."""
        self.read += count
        assert self.read <= len(self.bytes), "the stream of a vector is too short"
        return self.bytes[self.read - count : self.read]

    @property
    def used(self) -> str:
        """What was read, in hexadecimal."""
        return self.bytes[: self.read].hex()


def drawn(label: str, draw: Callable[[Stream], Any]) -> Iterator[dict[str, Any]]:
    """The results of `draw` on two streams, and on the one of many that is read furthest."""
    found = []
    for n in range(TRIED):
        stream = Stream(f"{label} {n}")
        found.append((draw(stream), stream))
    furthest = max(range(2, TRIED), key=lambda n: found[n][1].read)
    for n in (0, 1, furthest):
        result, stream = found[n]
        yield {"bytes": stream.used, "result": result}


def vectors() -> dict[str, Any]:
    """All vectors, as JSON data."""
    digits = []
    for text in POWERS:
        for form in FORMS:
            for half in (False, True):
                a, b, c, d = form
                chance = Chance(a, c, b, d, Power(positive(text, "epsilon"), half=half))
                found = bytes(chance.digit(n) for n in range(24))
                digits.append({"epsilon": text, "half": half, "form": form, "digits": found.hex()})
    numbers = [
        {"n": n, **one}
        for n in (1, 2, 3, 200, 256, 257, 65537, 10**9 + 7, 2**40 + 15)
        for one in drawn(f"below {n}", lambda stream, n=n: below(n, stream))
    ]
    rounds = [
        {"rounds": n, "answered": s, **one}
        for n, s in ((90, 1), (30, 5), (30, 28), (7, 7))
        for one in drawn(f"rounds {n} {s}", lambda stream, n=n, s=s: answered_rounds(n, s, stream))
    ]
    reports, memories = [], []
    for mechanism, k in CASES:
        client = ClientRandomizer(mechanism, k)
        for value in sorted({0, k // 2, k - 1}):
            label = f"{mechanism!r} {k} {value}"
            facts = {"mechanism": repr(mechanism), "k": k, "value": value}
            if isinstance(mechanism, zcdp.MemoizedRAPPOR):
                for one in drawn(label, lambda stream, c=client, v=value: c.remember(v, stream).hex()):
                    memory = bytes.fromhex(one["result"])
                    again = next(drawn(label + " report", lambda s, c=client, m=memory: c.repeat(m, s).hex()))
                    memories.append({**facts, **one, "report_bytes": again["bytes"], "report": again["result"]})
                continue
            sent = drawn(label, lambda stream, c=client, v=value: c.report(v, stream).hex())
            reports += [{**facts, **one} for one in sent]
    strings = [
        {"design": design.design(), "value": value, **one}
        for design, values in STRINGS
        for value in values
        for one in drawn(f"{design!r} {value}", lambda stream, d=design, v=value: d.report(v, stream).hex())
    ]
    grid = [
        {"number": number, "low": low, "high": high, "steps": steps, **one}
        for number, low, high, steps in ((37.3, "0", "120", 256), (0.1, "-1/3", "1", 1), (120.0, "0", "120", 7))
        for one in drawn(
            f"grid {number}", lambda s, a=(number, Fraction(low), Fraction(high), steps): grid_point(*a, s)
        )
    ]
    parts = {"digits": digits, "below": numbers, "rounds": rounds, "reports": reports, "strings": strings, "grid": grid}
    return {"format": 1, **parts, "memory": memories}


def text() -> str:
    """The file."""
    parts = vectors()
    lines = []
    for name, part in parts.items():
        rows = part if isinstance(part, int) else "[\n" + ",\n".join(map(json.dumps, part)) + "\n]"
        lines.append(f'"{name}": {rows}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    VECTORS.write_text(text())
    print(f"{VECTORS}: {VECTORS.stat().st_size} bytes")
