"""Mechanisms that select candidates by their scores, or queries above a threshold; one file for each mechanism."""
