"""The client in JavaScript, run by Node: it reproduces every vector, keeps what it drew, and has the laws."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from collection.client_laws import CASES, rounds
from collection.test_heavy_hitters import SMALL, by_definition
from mpmath import mp, mpf
from report.browser import Browser, chromium

import zcdp
from zcdp.collection import client_coins
from zcdp.collection.client_reports import ClientRandomizer
from zcdp.collection.design_file import client_design
from zcdp.errors import BadValue

FOLDER = Path(__file__).parent.parent.parent / "clients" / "js"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not on the path")


def node(*arguments: str, folder: Path = FOLDER, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(NODE), *arguments], cwd=folder, input=given, capture_output=True, text=True, check=False)


def test_vectors_and_what_a_client_keeps() -> None:
    done = node("--test", "test/")
    assert done.returncode == 0, done.stdout
    for name in ("digits", "below", "rounds", "reports", "strings", "grid", "memory"):
        assert f"ok {name}: " in done.stdout.replace(" - ", " ") or f"- {name}: " in done.stdout


def p_value(counts: dict[str, int], law: dict[str, Any]) -> float:
    """Pearson's chi-square; an outcome that the law does not have is impossible."""
    draws = sum(counts.values())
    if not set(counts) <= set(law):
        return 0.0
    cells = [(counts.get(name, 0), mpf(p.numerator) / p.denominator * draws) for name, p in law.items()]
    rare = [cell for cell in cells if cell[1] < 10]
    cells = [cell for cell in cells if cell[1] >= 10]
    if rare:
        cells.append((sum(seen for seen, _ in rare), mp.fsum(expected for _, expected in rare)))
    statistic = mp.fsum((seen - expected) ** 2 / expected for seen, expected in cells)
    return float(mp.gammainc(mpf(len(cells) - 1) / 2, statistic / 2, mp.inf, regularized=True))


def p_values(draws: int, folder: Path = FOLDER) -> dict[str, float]:
    asked: list[dict[str, Any]] = [
        {"mechanism": text, "k": k, "value": value, "collections": collections, "draws": draws}
        for text, k, value, _, collections in CASES
    ]
    asked += [{"design": SMALL.design(), "value": "ba", "draws": draws}]
    asked += [{"rounds": 12, "answered": 2, "draws": draws}, {"rounds": 9, "answered": 7, "draws": draws}]
    done = node("laws/draw.js", folder=folder, given=json.dumps(asked))
    assert done.returncode == 0, done.stderr
    laws = [*(case[3]() for case in CASES), by_definition("ba"), rounds(12, 2), rounds(9, 7)]
    names = [*(f"{case[0]} of {case[2]}" for case in CASES), "a string", "2 of 12 rounds", "7 of 9 rounds"]
    found = json.loads(done.stdout)
    return {name: p_value(one, law) for name, one, law in zip(names, found, laws, strict=True)}


LEAST = 1e-6 / (len(CASES) + 3)
"""All tests together fail by chance once in a million runs."""


def test_the_laws_by_few_draws() -> None:
    assert min(p_values(3000).values()) > LEAST


@pytest.mark.deep
@pytest.mark.fresh
def test_the_laws_by_a_million_draws_each() -> None:
    found = p_values(1_000_000)
    assert min(found.values()) > LEAST, found


REPLAY = """
import { readFileSync } from "node:fs";
import { Randomizer, readMechanism } from "./src/index.js";
const replayed = ({ mechanism, k, value, bytes }) => {
  let at = 0;
  const stream = { next: () => parseInt(bytes.slice(2 * at, 2 * ++at), 16) };
  return Buffer.from(new Randomizer(readMechanism(mechanism), k).report(value, stream)).toString("hex") + ":" + at;
};
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(replayed)));
"""


def any_design(rng: np.random.Generator) -> tuple[Any, int]:
    """A mechanism and its number of values, with parameters as people and programs write them."""
    pick: Any = rng.choice
    draw = int(rng.integers(1, 60)), int(rng.integers(1, 60))
    epsilon = [
        *(f"log({draw[0] + draw[1]}/{draw[1]})", draw[0], f"{draw[0]}/{draw[1]}", 10.0 ** rng.integers(-12, 3)),
        *(float(rng.uniform(1e-6, 20)), f"{rng.uniform(0.001, 12):.9f}", f"{rng.uniform(1e-9, 1):.3e}"),
    ][rng.integers(7)]
    p, q = (pick([float(rng.uniform(1e-9, 1)), f"{rng.uniform(0.001, 0.999):.9f}", "1e-30", "1/3"]) for _ in range(2))
    k = int(pick([2, 3, 9, 256, 257, 65_536, 65_537, 2**24 + 1, 2**31]))
    few, steps, g = int(pick([2, 3, 8, 9, 64])), int(pick([1, 2, 7, 256, 1000])), int(pick([2, 5, 53, 257, 65_537]))
    made = [
        (lambda: zcdp.RandomizedResponse(epsilon=epsilon, k=k), k),
        (lambda: zcdp.BinaryRandomizedResponse(p, q), 2),
        (lambda: zcdp.RAPPOR(epsilon=epsilon), few),
        (lambda: zcdp.UnaryEncoding(p, q), few),
        (lambda: zcdp.OptimizedUnaryEncoding(epsilon=epsilon), few),
        (lambda: zcdp.SubsetSelection(epsilon=epsilon, k=few, size=int(rng.integers(1, few))), few),
        (lambda: zcdp.HadamardResponse(epsilon=epsilon, blocks=int(rng.integers(1, 8))), min(k, 2**20)),
        (lambda: zcdp.LinearHashing(epsilon=epsilon, g=g, k=k), k),
        (lambda: zcdp.SquareWave(epsilon=epsilon, steps=steps, width=int(rng.integers(1, 2 * steps + 1))), steps + 1),
        (
            lambda: zcdp.HybridResponse(
                epsilon=epsilon, steps=steps, width=int(rng.integers(1, steps + 1)), share=str(p)
            ),
            steps + 1,
        ),
    ]
    build, values = made[rng.integers(len(made))]
    return build(), values


class Noted:
    """Bytes at random, which are kept; a coin is given its own digits mostly, so that it reads far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.read = rng, bytearray()

    def __call__(self, size: int) -> bytes:
        some = self.rng.bytes(size)
        self.read += some
        return some

    def flip(self, coin: client_coins.Chance) -> bool:
        for n in count():
            digit = coin.digit(n)
            byte = digit if self.rng.random() < 0.8 else int(self.rng.integers(256))
            self.read.append(byte)
            if byte != digit:
                return byte < digit
        raise AssertionError


@pytest.mark.deep
@pytest.mark.fresh
def test_designs_and_streams_at_random_give_the_report_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_coins.Chance, "flip", lambda self, source: source.flip(self))
    rng = np.random.default_rng()
    asked, expected = [], []
    while len(asked) < 1000:
        try:
            mechanism, k = any_design(rng)
        except BadValue:
            continue
        value, stream = int(rng.integers(k)), Noted(rng)
        report = ClientRandomizer(mechanism, k).report(value, stream)
        expected.append(f"{report.hex()}:{len(stream.read)}")
        asked.append({"mechanism": repr(mechanism), "k": k, "value": value, "bytes": stream.read.hex()})
    done = node("--input-type=module", "-e", REPLAY, given=json.dumps(asked))
    assert done.returncode == 0, done.stderr
    for one, report, found in zip(asked, expected, json.loads(done.stdout), strict=True):
        assert found == report, one


BUGS = {
    "modulo bias": ("coins.js", "if (drawn < n) return drawn;", "return drawn % n;"),
    "a coin of 8 bits": ("coins.js", "if (byte !== digit) return byte < digit;", "return byte < digit;"),
    "the epsilon of RAPPOR for each bit": ("randomizers.js", "{ half: true }", "{ half: false }"),
    "members in the order drawn": ("randomizers.js", "return others.sort((a, b) => a - b);", "return others;"),
    "a hash that repeats": (
        "randomizers.js",
        "vector.push(below(g, stream));",
        "vector.push(1 + 0 * below(g, stream));",
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_caught_by_a_million_draws(bug: str, tmp_path: Path) -> None:
    name, old, new = BUGS[bug]
    copy = tmp_path / "js"
    shutil.copytree(FOLDER, copy)
    source = copy / "src" / name
    assert source.read_text().count(old) == 1
    source.write_text(source.read_text().replace(old, new))
    assert min(p_values(1_000_000, copy).values()) < LEAST


# In a browser: what a client keeps is kept by IndexedDB.

IN_A_PAGE = """
import("/src/index.js").then(async ({ AlreadyDrawn, Client, IndexedDbStorage }) => {
  const text = TEXT;
  const tabs = await Promise.all(
    Array.from({ length: 8 }, () => Client.open(text, { storage: new IndexedDbStorage(), name: "drinks" })),
  );
  const ends = await Promise.allSettled(tabs.map((one) => one.report(1, 2)));
  const sent = ends.filter((one) => one.status === "fulfilled").map((one) => one.value);
  const refused = ends.filter((one) => one.reason instanceof AlreadyDrawn).length;
  return { sent, refused, again: await tabs[3].resend(1) };
})
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.deep
@pytest.mark.skipif(chromium() is None, reason="NOT CHECKED: the client in a browser needs chromium on the path")
def test_a_browser_draws_once_in_all_tabs_and_after_a_reload(tmp_path: Path) -> None:
    design = json.dumps(client_design(zcdp.RandomizedResponse(epsilon=1, k=4), 4))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=FOLDER))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Browser(tmp_path) as browser:
            found = []
            for _ in range(2):
                browser.events.clear()
                browser.ask("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/package.json")
                while not any(event.get("method") == "Page.loadEventFired" for event in browser.events):
                    browser.events.append(browser._message())
                script = IN_A_PAGE.replace("TEXT", json.dumps(design))
                said = browser.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
                found.append(said["result"]["value"])
    finally:
        server.shutdown()
        server.server_close()
    first, second = found
    assert (len(first["sent"]), first["refused"]) == (1, 7)
    assert (len(second["sent"]), second["refused"]) == (0, 8)
    assert first["again"] == second["again"] == first["sent"][0]
