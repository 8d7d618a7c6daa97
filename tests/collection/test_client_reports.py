"""The reference client: the exact law of every report, bytes that do not depend on the value, and the vectors."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import client_vectors
import numpy as np
import pytest
from collection.client_laws import CASES, bits, packed, rounds
from collection.exact_tree import Tree, planted

import zcdp
from zcdp.collection import client_coins
from zcdp.collection.client_reports import ClientRandomizer, answered_rounds, grid_point, reports_from_wire
from zcdp.errors import BadType, BadValue
from zcdp.plans.plan_text import parse


def mechanism_of(text: str) -> Any:
    return parse(text).parts[0][0]


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> Tree:
    return planted(monkeypatch)


ONE_REPORT = [case[:4] for case in CASES if not case[4]]


@pytest.mark.parametrize(("text", "k", "value", "law"), ONE_REPORT, ids=[case[0] for case in ONE_REPORT])
def test_the_law_of_a_report_is_exactly_that_of_the_mechanism(
    tree: Tree, text: str, k: int, value: int, law: Callable[[], dict[str, Fraction]]
) -> None:
    client = ClientRandomizer(mechanism_of(text), k)
    expected = {name: chance for name, chance in law().items() if chance}
    assert tree.law(lambda: client.report(value).hex()) == expected


def test_memory_and_one_collection_have_their_laws_exactly(tree: Tree) -> None:
    m = zcdp.MemoizedRAPPOR(f="1/2", p="1/5", q="2/3", collections=2)
    client = ClientRandomizer(m, 3)
    remembered = {packed(row): p for row, p in bits([Fraction(1, 4), Fraction(3, 4), Fraction(1, 4)])}
    assert tree.law(lambda: client.remember(1).hex()) == remembered
    told = {packed(row): p for row, p in bits([Fraction(1, 5), Fraction(2, 3), Fraction(1, 5)])}
    assert tree.law(lambda: client.repeat(bytes([0b01000000])).hex()) == told


def test_numbers_are_rounded_without_bias_to_the_grid() -> None:
    ends = Fraction(-1), Fraction(2)
    for number in (-1.0, 0.0, 0.5, 2.0, Fraction(1, 3)):
        place = (Fraction(number) + 1) / 3 * 5
        first, up = divmod(place, 1)

        def point(u: int, number: Any = number) -> int:
            return grid_point(number, *ends, 5, lambda count: u.to_bytes(count, "big"))

        edge = int(up * 2**64)  # so many of the 2^64 numbers round up
        assert point(0) == first + (edge > 0)
        assert point(2**64 - 1) == first
        if edge:
            assert (point(edge - 1), point(edge)) == (first + 1, first)
    with pytest.raises(BadValue, match="numbers must lie between -1 and 2"):
        grid_point(2.1, *ends, 5)


def test_rounds_are_a_uniform_set(tree: Tree) -> None:
    assert tree.law(lambda: " ".join(map(str, answered_rounds(5, 2)))) == rounds(5, 2)


@pytest.mark.parametrize(("mechanism", "k"), client_vectors.CASES, ids=repr)
def test_what_is_read_of_the_stream_does_not_depend_on_the_value(
    mechanism: Any, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On streams of digits of the coins themselves, so that ties, after which a coin reads on, come often."""
    client, asked, digit = ClientRandomizer(mechanism, k), {0, 255}, client_coins.Chance.digit

    def noted(self: client_coins.Chance, n: int) -> int:
        asked.add(digit(self, n))
        return digit(self, n)

    monkeypatch.setattr(client_coins.Chance, "digit", noted)

    def read(value: int, stream: client_vectors.Stream) -> int:
        if isinstance(mechanism, zcdp.MemoizedRAPPOR):
            client.repeat(client.remember(value, stream), stream)
        else:
            client.report(value, stream)
        return stream.read

    read(0, client_vectors.Stream("first"))
    monkeypatch.undo()
    for n in range(20):
        whole, some = client_vectors.Stream(f"{n}"), sorted(asked)
        often = bytes(some[one % len(some)] if one % 2 else one for one in whole.bytes)
        counts = set()
        for value in {0, 1, k // 2, k - 1}:
            stream = client_vectors.Stream(f"{n}")
            stream.bytes = often
            counts.add(read(value, stream))
        assert len(counts) == 1


def test_the_vectors_are_what_the_library_makes() -> None:
    assert client_vectors.VECTORS.read_text() == client_vectors.text(), "write them: python tools/client_vectors.py"


@pytest.mark.parametrize(("mechanism", "k"), client_vectors.CASES, ids=repr)
def test_reports_from_the_wire_are_counted(mechanism: Any, k: int) -> None:
    """What a client sent is a report to the server: it is taken by `count`, and supports what it should."""
    if k > 10_000 and not isinstance(mechanism, zcdp.RandomizedResponse):
        return
    client, values = ClientRandomizer(mechanism, k), [0, k - 1, k // 2]
    if isinstance(mechanism, zcdp.MemoizedRAPPOR):
        sent = [client.repeat(client.remember(v)) for v in values]
    else:
        sent = [client.report(v) for v in values]
    reports = reports_from_wire(mechanism, k, b"".join(sent))
    counts = mechanism.count(reports, k=k)
    assert counts.reports == 3
    assert len({len(one) for one in sent}) == 1


def test_sure_reports_arrive_as_they_are() -> None:
    for m, k in ((zcdp.RandomizedResponse(epsilon=1000, k=70_000), 70_000), (zcdp.RAPPOR(epsilon=1000), 21)):
        values = [0, 13, k - 1]
        sent = b"".join(ClientRandomizer(m, k).report(v) for v in values)
        supports = m.count(reports_from_wire(m, k, sent), k=k).supports
        assert np.flatnonzero(supports).tolist() == values


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(BadType, match=r"must be one that the wire format specifies"):
        ClientRandomizer(zcdp.Laplace(epsilon=1), 4)
    client = ClientRandomizer(zcdp.RandomizedResponse(epsilon=1, k=4), 4)
    with pytest.raises(BadValue, match=r"values must lie in 0 .. 3"):
        client.report(4)
    with pytest.raises(BadType, match=r"has nothing to remember"):
        client.remember(1)
    with pytest.raises(BadValue, match=r"k .5. must be the 4 of the mechanism"):
        ClientRandomizer(zcdp.RandomizedResponse(epsilon=1, k=4), 5)
    with pytest.raises(BadValue, match=r"a fixed hash does not tell"):
        ClientRandomizer(zcdp.LocalHashing(epsilon=1, g=5), 10)
    with pytest.raises(BadValue, match=r"2 bytes each: 3 are no multiple"):
        reports_from_wire(zcdp.RandomizedResponse(epsilon=1, k=300), 300, b"abc")
    memory = ClientRandomizer(zcdp.MemoizedRAPPOR(f="1/2", p="1/5", q="2/3", collections=2), 11)
    with pytest.raises(BadType, match=r"call `repeat`"):
        memory.report(1)
    with pytest.raises(BadValue, match=r"memory must have 2 bytes"):
        memory.repeat(b"a")
