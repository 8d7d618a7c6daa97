"""Mechanisms that add noise to an answer, one file each, and what they share."""
