"""Exact parameters, ball arithmetic and certified searches: knows nothing of privacy."""
