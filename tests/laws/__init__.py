"""Laws: each holds for every row of tests/table.py."""
