"""Mechanisms that add noise to numeric answers: one file for each, and files for their common parts."""
