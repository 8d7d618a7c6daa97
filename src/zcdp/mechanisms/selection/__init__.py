"""Mechanisms that select a candidate by scores, one file each, and what they share."""
