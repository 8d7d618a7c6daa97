"""The exact privacy profile (hockey-stick divergence) of a composition: engines, one per file, and their choice."""
