"""Environments for the libraries we measure against: each in a venv of its own, made on first use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SPARK = """
import json, os, sys, warnings
from time import perf_counter
arguments = json.loads(sys.argv[1])
folder = arguments[-1]
os.environ["PYSPARK_PYTHON"] = sys.executable
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4").config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.warehouse.dir", folder + "/warehouse").getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")

def used():
    "Processor time of this process and of all that it started, Java and its workers."
    parents, times = {}, {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(name)], times[int(name)] = int(fields[1]), sum(map(int, fields[11:15]))
    total, ours = 0, [os.getpid()]
    while ours:
        one = ours.pop()
        total += times.get(one, 0)
        ours += [child for child, parent in parents.items() if parent == one]
    return total / os.sysconf("SC_CLK_TCK")
"""
"""The beginning of code for a peer on Spark: a session, with its files in the last argument, and processor time."""


def peer_python(name: str, *requirements: str) -> Path:
    """The interpreter of the environment `.venv-peers/<name>` with these requirements."""
    home = ROOT / ".venv-peers" / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"setting up {home.relative_to(ROOT)} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        (home / "ready").touch()
    return python


def run_peer(python: Path, code: str, *arguments: object) -> Any:
    """Run code in the peer's environment; it gets `arguments` as JSON in sys.argv[1] and prints JSON last."""
    done = subprocess.run(
        [python, "-c", code, json.dumps(arguments)], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    return json.loads(done.stdout.strip().splitlines()[-1])
