"""Hints in error messages: the nearest known name, what covers a term of the field here, and what was given instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["WORDS", "absent", "covered", "kind", "nearest", "thing", "unknown"]


MOST_LISTED = 12
"""A message lists at most this many known names."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to this one, letter case aside; None if none is similar.

    >>> nearest("l0linf", ["L1", "L0LInf"]), nearest("xyz", ["L1"])
    ('L0LInf', None)
    """
    from difflib import get_close_matches

    names = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return names[near[0]] if near else None


def absent(name: str, public: Iterable[str]) -> str:
    """The message of the AttributeError for `zcdp.name` if there is no such name.

    >>> absent("L0Linf", ["L0LInf"]), absent("SUE", ["L0LInf"])
    ("zcdp has no 'L0Linf': did you mean 'L0LInf'?", "zcdp has no 'SUE': it is RAPPOR(epsilon=...)")
    """
    if name.startswith("_"):
        return f"module 'zcdp' has no attribute {name!r}"
    near = nearest(name, public)
    hint = covered(name) or (f"did you mean {near!r}?" if near else "dir(zcdp) lists its names")
    return f"zcdp has no {name!r}: {hint}"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown name: what covers a term of the field, else the nearest known name, else a list.

    >>> unknown("mechanism", "laplce", ["Laplace", "RAPPOR"])
    "there is no mechanism 'laplce': did you mean 'Laplace'?"
    >>> unknown("mechanism", "OUE", ["Laplace", "RAPPOR"])
    "there is no mechanism 'OUE': it is OptimizedUnaryEncoding(epsilon=...)"
    """
    known = list(known)
    said = f"there is no {kind} {name!r}"
    if kind == "mechanism" and (instead := covered(name)):
        return f"{said}: {instead}"
    if near := nearest(name, known):
        return f"{said}: did you mean {near!r}?"
    more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED + 1 else ""
    return f"{said} (there are {', '.join(known[:MOST_LISTED] if more else known)}{more})"


# Terms of the field that are no names of this library, each with what to use instead, or that nothing covers it.

_SAMPLED = "it is Subsampled(mechanism, rate=...): Poisson sampling, neighbours by one record added or removed"
_SGD = "it is steps * Subsampled(Gaussian(sigma=...), rate=...), and zcdp sgd on the command line"
_NOISY_MAX = "it is ReportNoisyMax(epsilon=..., noise='laplace', 'exponential' or 'gumbel')"
_EXPONENTIAL = "it is ExponentialMechanism(epsilon=...)"
_TOP = "it is TopK(epsilon=..., k=...), of epsilon in all"
_RESPONSE = "it is RandomizedResponse(epsilon=..., k=...)"
_TREE = (
    "a record moves one node on each level, so it is Laplace(scale=..., sensitivity=L0LInf(levels, 1)), "
    "or levels * Gaussian(sigma=...)"
)
_SYNTHETIC = "account for its steps: the sum of its Gaussian(sigma=...) and ExponentialMechanism(epsilon=...)"
_INTEGERS = "it is not covered; DiscreteLaplace(epsilon=...) and DiscreteGaussian(sigma=...) are noise on the integers"
_FIXED_SIZE = "it is Subsampled(mechanism, size=..., of=...): a sample of fixed size, neighbours by one record replaced"
_DATA = "noise that depends on the data is not covered; Laplace(scale=...) and Gaussian(sigma=...) have a fixed scale"

WORDS = {
    "svt": "it is SparseVector(epsilon_threshold=..., epsilon_queries=...)",
    "sparsevectortechnique": "it is SparseVector(epsilon_threshold=..., epsilon_queries=...)",
    "abovethreshold": "it is SparseVector(epsilon_threshold=..., epsilon_queries=...)",
    "dpsgd": _SGD,
    "noisysgd": _SGD,
    "dpadam": _SGD,
    "momentsaccountant": _SGD,
    "subsampledgaussian": "it is Subsampled(Gaussian(sigma=...), rate=...)",
    "sampledgaussian": "it is Subsampled(Gaussian(sigma=...), rate=...)",
    "poisson": _SAMPLED,
    "poissonsampled": _SAMPLED,
    "poissonsampling": _SAMPLED,
    "poissonsubsampled": _SAMPLED,
    "sampled": _SAMPLED,
    "subsample": _SAMPLED,
    "amplified": _SAMPLED,
    "sampledwithoutreplacement": _FIXED_SIZE,
    "fixedsizesampled": _FIXED_SIZE,
    "shuffle": "it is Shuffled(mechanism, clients=...): reports of a local randomizer without their senders",
    "tree": _TREE,
    "treeaggregation": _TREE,
    "binarytree": _TREE,
    "binarymechanism": _TREE,
    "hierarchical": _TREE,
    "dpftrl": _TREE,
    "matrixmechanism": "it is Gaussian(sigma=..., sensitivity=...), which is the largest column norm of the strategy",
    "binomial": _INTEGERS,
    "skellam": _INTEGERS,
    "poissonnoise": _INTEGERS,
    "geometric": "it is DiscreteLaplace(epsilon=...), or TruncatedGeometric(epsilon=..., n=...) on 0 .. n",
    "twosidedgeometric": "it is DiscreteLaplace(epsilon=...)",
    "geometricmechanism": "it is DiscreteLaplace(epsilon=...)",
    "truncatedlaplace": "it is not covered; TruncatedGeometric(epsilon=..., n=...) is its cousin on 0 .. n",
    "boundedlaplace": "clamping the result of Laplace(epsilon=...) is free; noise drawn within bounds is not covered",
    "snapping": "Laplace(epsilon=...).release is exact on its grid already, and needs no snapping",
    "analyticgaussian": "it is Gaussian(sigma=...): every epsilon and delta here comes from the exact profile",
    "normal": "it is Gaussian(sigma=...)",
    "gauss": "it is Gaussian(sigma=...)",
    "exponential": _EXPONENTIAL,
    "expomech": _EXPONENTIAL,
    "median": "choose by ExponentialMechanism(epsilon=...) or PermuteAndFlip(epsilon=...), with ranks as scores",
    "quantile": "choose by ExponentialMechanism(epsilon=...) or PermuteAndFlip(epsilon=...), with ranks as scores",
    "gumbel": "it is ReportNoisyMax(epsilon=..., noise='gumbel')",
    "gumbelmax": "it is ReportNoisyMax(epsilon=..., noise='gumbel')",
    "noisymax": _NOISY_MAX,
    "rnm": _NOISY_MAX,
    "argmax": _NOISY_MAX,
    "linf": "how many coordinates move must be known too: L0LInf(m, c), as a sensitivity",
    "linfinity": "how many coordinates move must be known too: L0LInf(m, c), as a sensitivity",
    "l0": "how far each coordinate moves must be known too: L0LInf(m, c), as a sensitivity",
    "peeling": _TOP,
    "noisytopk": _TOP,
    "topn": _TOP,
    "oneshottopk": _TOP,
    "oneshotlaplace": "it is not covered; TopK(epsilon=..., k=...) has the law of Gumbel noise drawn once",
    "jointexponential": "it is not covered; TopK(epsilon=..., k=...) selects one after another",
    "krr": _RESPONSE,
    "grr": _RESPONSE,
    "directencoding": _RESPONSE,
    "generalizedrandomizedresponse": _RESPONSE,
    "warner": "it is RandomizedResponse(epsilon=..., k=2)",
    "olh": "it is LocalHashing(epsilon=..., g=...), or LinearHashing(epsilon=..., g=...), which can be run",
    "blh": "it is LocalHashing(epsilon=..., g=2)",
    "oue": "it is OptimizedUnaryEncoding(epsilon=...)",
    "sue": "it is RAPPOR(epsilon=...)",
    "ss": "it is SubsetSelection(epsilon=..., k=..., size=...)",
    "hr": "it is HadamardResponse(epsilon=...)",
    "privunit": "it is not covered; it is at most PureDP(epsilon=...)",
    "pate": "each vote is a count: ReportNoisyMax(epsilon=...) or Gaussian(sigma=...) for its noise",
    "proposetestrelease": _DATA,
    "ptr": _DATA,
    "smoothsensitivity": _DATA,
    "mwem": _SYNTHETIC,
    "mst": _SYNTHETIC,
    "aim": _SYNTHETIC,
    "privbayes": _SYNTHETIC,
    "composition": "mechanisms are added with +, and repeated with a count: 100 * Laplace(epsilon=...)",
    "compose": "mechanisms are added with +, and repeated with a count: 100 * Laplace(epsilon=...)",
    "count": "say which noise: DiscreteLaplace(epsilon=...) or DiscreteGaussian(sigma=...) for a count",
    "sum": "say which noise: Laplace(epsilon=..., sensitivity=...) or Gaussian(sigma=..., sensitivity=...) for a sum",
    "mean": "release a sum and a count: Laplace(epsilon=..., sensitivity=...) + DiscreteLaplace(epsilon=...)",
    "histogram": "it is DiscreteLaplace(epsilon=..., sensitivity=L0LInf(cells, 1)), for the cells that a person is in",
    "zcdp": "give a mechanism; Gaussian(rho=...) is what has exactly that rho at every order",
    "approximatedp": "an (epsilon, delta) alone is not covered: say which mechanism gives it",
}


def covered(word: str) -> str | None:
    """What to use for a term of the field that is no name of this library; None if the term is not known.

    >>> covered("DP-SGD")
    'it is steps * Subsampled(Gaussian(sigma=...), rate=...), and zcdp sgd on the command line'
    """
    return WORDS.get(re.sub(r"[\W_]+|mechanism$", "", word.lower())) or WORDS.get(re.sub(r"[\W_]+", "", word.lower()))


# A wrong argument in a message: its value if that is short and may be shown, else its type in words.

KINDS = {
    "NoneType": "None",
    "builtin_function_or_method": "a function",
    "dict": "a table",
    "function": "a function",
    "ndarray": "an array",
    "str": "text",
}


def thing(value: Any) -> str:
    """The value as a message shows it: its repr if that is short, else its type in words.

    >>> thing(None), thing("many"), thing([1, 2]), thing(object()), thing(len), thing(dict)
    ('None', "'many'", '[1, 2]', 'an object', 'a function', 'the class dict')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return "a number of thousands of digits"
    if isinstance(value, str | bytes):
        return text if len(text) <= 60 else f"{text[:40]}..."
    return text if len(text) <= 60 and "\n" not in text and not text.startswith("<") else kind(value)


def kind(value: Any) -> str:
    """The type of the value in words, for values that must not be quoted, such as data.

    >>> kind(None), kind("Ann"), kind(3.5), kind([1])
    ('None', 'text', 'a float', 'a list')
    """
    name = type(value).__name__
    return KINDS.get(name) or f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
