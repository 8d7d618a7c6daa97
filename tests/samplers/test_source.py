"""Bits are secure, never repeated after a fork, and no seed can be had from the package."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import scripted, seeded
from samplers.output_laws import real
from samplers.scripted import then

import zcdp
from zcdp import DiscreteLaplace, Laplace
from zcdp.samplers import source
from zcdp.samplers import source as uniform
from zcdp.samplers.geometric import DiscreteLaplaceNoise
from zcdp.samplers.source import bits, each_below, integers, one_below, secure


@pytest.mark.fresh
def test_bits_come_from_openssl() -> None:
    import ssl

    assert source._fill is ssl.RAND_bytes


def test_without_openssl_they_come_from_the_system() -> None:
    code = (
        "import sys; sys.modules['ssl'] = None\n"
        "import os; from zcdp.samplers import source\n"
        "assert source._fill is os.urandom; assert len(source.secure(5)) == 5"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_parent_and_children_of_a_fork_draw_apart() -> None:
    mechanism = DiscreteLaplace(scale=2**40, sensitivity=1000)
    mechanism.sample(10)
    mechanism.sample()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def child() -> None:
        queue.put(([mechanism.sample() for _ in range(4)], mechanism.sample(8).tolist(), source.secure(16)))

    children = [context.Process(target=child) for _ in range(4)]
    for process in children:
        process.start()
    drawn = [queue.get() for _ in children]
    for process in children:
        process.join()
    drawn.append(([mechanism.sample() for _ in range(4)], mechanism.sample(8).tolist(), source.secure(16)))
    for part in range(3):
        assert len({str(one[part]) for one in drawn}) == 5


def test_threads_draw_apart() -> None:
    mechanism = Laplace(scale=1)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: tuple(mechanism.sample(50).tolist()), range(40)))
    assert len(set(drawn)) == 40


def test_no_seed_in_the_package() -> None:
    """Neither a parameter nor a name; and no use of a generator that has one."""
    for path in Path(zcdp.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for word in ("seed=", "seed:", "import random\n", "np.random", "default_rng", "RandomState"):
            assert word not in text, path


def test_uniform_words() -> None:
    words = source.words(1 << 16, np.uint16, source.secure)
    assert words.dtype == np.uint16
    assert not words.flags.writeable
    assert abs(int(words.astype(np.int64).sum()) - 32767.5 * 65536) < 6 * 18919 * 256
    assert 0 <= source.bits(3, source.secure) < 8
    assert source.bits(0, source.secure) == 0


NOISE = DiscreteLaplaceNoise(real(Fraction(1, 2)))


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 1000, 1024, 32769, 65535, 65536])
def test_every_word_of_a_uniform_integer(n: int) -> None:
    """Of all 65536 words, each outcome keeps the same number; the others are drawn again."""
    calls: list[int] = []

    def source(count: int) -> bytes:
        calls.append(count // 2)
        if len(calls) == 1:
            return np.arange(65536, dtype=np.uint16).tobytes()
        return np.full(count // 2, 65535, dtype=np.uint16).tobytes()  # the last word is always kept

    counts = np.bincount(integers(n, 65536, source), minlength=n)
    again = 65536 % n
    assert calls == ([65536, again] if again else [65536])
    counts[-1] -= again
    assert set(counts.tolist()) == {65536 // n}


def test_a_seed_repeats_the_draws() -> None:
    one, two = (NOISE.draw(1000, seeded(7)) for _ in range(2))
    assert np.array_equal(one, two)


@given(n=st.integers(2, 2**32), k=st.integers(0, 2**32), near=st.integers(-2, 2))
def test_words_at_the_edges_of_uniform_integers(n: int, k: int, near: int) -> None:
    """A word u is kept if u n mod 2^w is at least 2^w mod n, and stands for floor(u n/2^w)."""

    def expected(u: int, width: int) -> int | None:
        return u * n >> width if u * n % 2**width >= 2**width % n else None

    for width, draw in (
        (64, lambda source: uniform.one_below_from(int.from_bytes(source(8), "little"), n, source)),
        (64, lambda source: uniform.one_below(n, source)),
        (32, lambda source: int(uniform.each_below(np.array([n]), source)[0]) if n < 2**32 else None),
        (16 if n <= 2**16 else 32, lambda source: int(uniform.integers(n, 1, source)[0])),
    ):
        u = ((k % n << width) // n + near) % 2**width
        last = (2**width - 1).to_bytes(width // 8, "little")  # the last word is always kept
        found = draw(then(u.to_bytes(width // 8, "little"), rest=last[:1]))
        if found is not None and not (n & (n - 1) == 0 and width < 64):
            wanted = expected(u, width)
            assert found == (wanted if wanted is not None else n - 1)


@pytest.mark.parametrize("n", [2**32 + 1, 2**40 - 1, 2**62, 2**63 + 1, 2**64 - 1, 2**64])
def test_wide_uniform_integers_are_masked_words(n: int) -> None:
    shift = 64 - (n - 1).bit_length()
    for value in (0, 1, n - 2, n - 1, n, n + 1):
        if value << shift < 2**64:
            word = (value << shift).to_bytes(8, "little")
            assert int(uniform.integers(n, 1, then(word))[0]) == (value if value < n else 0)


Source = Callable[[int], bytes]


def spelled(*numbers: tuple[int, int]) -> Source:
    """Answers of so many bits each, as `bits` reads them: in the highest bits of a little-endian number of bytes."""
    answers: Iterator[bytes] = iter([(n << (-size % 8)).to_bytes((size + 7) // 8, "little") for n, size in numbers])
    return lambda count: next(answers)


def test_bits_are_read_as_they_are_spelled() -> None:
    for number, size in ((5, 3), (0, 9), (2**70 - 1, 70), (2**64, 65), (1, 64)):
        assert bits(size, spelled((number, size))) == number


@pytest.mark.parametrize("n", [2**32 + 1, 2**33, 2**63 + 5, 2**64, 2**64 + 1, 3 * 2**70 + 1, 10**30, 2**200 - 1])
def test_a_uniform_integer_of_any_size_is_the_first_word_below_its_bound(n: int) -> None:
    """Of all words of ceil(log2 n) bits one stands for each number, and those from n on are drawn again."""
    size = (n - 1).bit_length()
    for value in (0, 1, 2**32, 2**64 - 1, 2**64, n // 2, n - 2, n - 1):
        if value < n:
            assert uniform.one_below(n, spelled((value, size))) == value
    for beyond in {n, n + 1, 2**size - 1}:
        if n <= beyond < 2**size:
            assert uniform.one_below(n, spelled((beyond, size), (2**size - 1, size), (7, size))) == 7


def test_uniform_below_each_of_many_bounds() -> None:
    bounds = np.arange(600_000) % 6 + 1
    drawn = each_below(bounds, secure)
    for bound in range(1, 7):
        counts = np.bincount(drawn[bounds == bound], minlength=bound)
        assert counts.size == bound
        assert (abs(counts - 100_000 / bound) < 6 * np.sqrt(100_000 / bound)).all()
    large = each_below(np.full(300_000, 3 << 30), secure)  # a quarter of the words is drawn again
    assert (abs(np.bincount(large % 3, minlength=3) - 100_000) < 6 * np.sqrt(100_000)).all()


def test_a_word_in_the_surplus_is_drawn_again() -> None:
    assert one_below(3, scripted(1, 64 + 64)) == 0
    assert one_below(3, scripted((1 << 64) - 1, 64 + 64)) == 2
    assert one_below(3, scripted((1 << 128) - 1, 64 + 64)) == 2
