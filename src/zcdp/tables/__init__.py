"""Declarations of tables to publish: domains, bounds, queries, and the sensitivities that follow; no data is read."""
