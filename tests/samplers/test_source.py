"""Bits are secure, never repeated after a fork, and no seed can be had from the package."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import zcdp
from zcdp import DiscreteLaplace, Laplace
from zcdp.samplers import source


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
    mechanism = DiscreteLaplace(scale=2**40)
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
