"""From a table to noisy tables: what is accounted is what is run."""

from zcdp.release.archive import Release
from zcdp.release.run import ReleaseFailed, release
from zcdp.release.table_noise import Table

__all__ = ["Release", "ReleaseFailed", "Table", "release"]
