"""Exact samplers over secure bits: each block draws from the law it names, and from no other.

Nothing here knows a mechanism. A parameter is a `Real`: a function that gives a ball around the exact number at the
working precision, so that any draw can be decided by asking for more bits.
"""
