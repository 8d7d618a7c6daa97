"""Exact samplers from cryptographically secure bits: every draw has exactly the stated law, without rounding error.

Nothing here depends on a mechanism. A parameter is a `Real`: a function that returns a ball around the exact number at
the working precision, so that any comparison can be decided with more random bits and more precision.
"""
