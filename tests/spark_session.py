"""One local Spark session for all tests that need one; a test module takes it by importing the fixture `spark`.

`make spark` installs it (the extra `zcdp[spark]`; Java 17 comes from the distribution) and runs these tests. Where it
is missing they are skipped, and say that nothing was checked.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
missing += ["java"] if shutil.which("java") is None else []

pytestmark = [
    pytest.mark.deep,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.skipif(bool(missing), reason=f"NOT CHECKED: Spark needs {', '.join(missing)}: `make spark` sets it up"),
]
"""Marks for a module of such tests: `from spark_session import pytestmark, spark`."""

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two cores of this machine, with its own folder for what it writes."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # the workers see the packages that the tests see
        warnings.simplefilter("ignore")  # those of its own start are not ours
        builder = SparkSession.builder.master("local[2]").appName("zcdp")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark"))).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
