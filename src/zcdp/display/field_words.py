"""Words that people bring from the field, and what covers them here, or plainly that nothing does."""

from __future__ import annotations

import re

__all__ = ["WORDS", "covered"]

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
    """What to use for a word of the field that is no name here.

    >>> covered("DP-SGD")
    'it is steps * Subsampled(Gaussian(sigma=...), rate=...), and zcdp sgd on the command line'
    """
    return WORDS.get(re.sub(r"[\W_]+|mechanism$", "", word.lower())) or WORDS.get(re.sub(r"[\W_]+", "", word.lower()))
