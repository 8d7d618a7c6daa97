"""Exact numbers, ball arithmetic, certified searches and quadrature. Nothing here depends on privacy."""
