"""Releases: noisy tables from a data set, drawn by the very mechanisms that the plan accounts for."""

from zcdp.release.archive import Release
from zcdp.release.release_tables import ReleaseFailed, release
from zcdp.release.table_noise import Table

__all__ = ["Release", "ReleaseFailed", "Table", "release"]
