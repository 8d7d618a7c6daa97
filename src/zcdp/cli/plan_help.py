"""What a plan file may hold, in the help of every command that reads one."""

from __future__ import annotations

__all__ = ["PLAN_FILE"]

PLAN_FILE = """

A plan file is TOML:
  title, description, delta           all optional
  [budget]   rho, or epsilon and delta
  [collection]  k, rounds, answered, clients, values = ["tea", "none"] (names),
                beside one local randomizer
  [[query]]  name, mechanism = "Laplace(epsilon=0.1)", count, note, weight,
             sd or half_width (with level): what allocate is to reach

A plan of tables, for zcdp release, has
  [data]     unit = "person_id", neighbours, account
  [domain]   region = ["R01", "R02"], age = { from = 0, to = 100, step = 5 }
  [[query]]  name, measure = "count", by, where, max_cells, mechanism,
             adds_up = "population" (tables that are adjusted to add up) ..."""
