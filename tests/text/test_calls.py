"""Twenty typical mistakes with every public constructor and function: messages name the argument, none our insides."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import rows

import zcdp
from zcdp import DiscreteLaplace, Gaussian, Laplace, Plan, Query, RandomizedResponse
from zcdp.privacy.curve import AUTHORS_ONLY
from zcdp.training import Poisson

RESULTS = {
    *("Account", "Accuracy", "Audit", "Choice", "Counts", "Design", "FoundStrings", "Histogram", "NumberEstimate"),
    "TrainingAudit",
}
"""What functions return: nobody makes one, and only the form of the call is checked."""
NOT_CALLED = {"MECHANISMS", "__version__", "Curve", "Mechanism", "Sensitivity", "Plan", "Ledger"}
"""No functions, abstract, or (a ledger) with tests of its own."""

RIGHT: dict[str, dict[str, Any]] = {
    "PureDP": {"epsilon": 1},
    "PureGroup": {"epsilon": 2, "size": 2},
    "Laplace": {"epsilon": 1, "sensitivity": 2},
    "DiscreteLaplace": {"epsilon": 1, "sensitivity": 2},
    "Logistic": {"epsilon": 1, "sensitivity": 2},
    "Gaussian": {"sigma": 1, "sensitivity": 2},
    "DiscreteGaussian": {"sigma": 1, "sensitivity": 2},
    "Staircase": {"epsilon": 1, "gamma": "0.3"},
    "DiscreteStaircase": {"epsilon": 1, "sensitivity": 5, "r": 2},
    "TruncatedGeometric": {"epsilon": 1, "n": 5},
    "RandomizedResponse": {"epsilon": 1, "k": 4},
    "BinaryRandomizedResponse": {"p": "0.7", "q": "0.2"},
    "RAPPOR": {"epsilon": 1},
    "UnaryEncoding": {"p": "0.7", "q": "0.2"},
    "OptimizedUnaryEncoding": {"epsilon": 1},
    "SubsetSelection": {"epsilon": 1, "k": 9, "size": 3},
    "HadamardResponse": {"epsilon": 1},
    "LocalHashing": {"epsilon": 1, "g": 3},
    "LinearHashing": {"epsilon": 1, "g": 3, "k": 9},
    "MemoizedRAPPOR": {"f": "1/2", "p": "0.3", "q": "0.7", "collections": 3},
    "BoundedRange": {"eta": 1},
    "ExponentialMechanism": {"epsilon": 1},
    "PermuteAndFlip": {"epsilon": 1},
    "ReportNoisyMax": {"epsilon": 1, "noise": "gumbel"},
    "TopK": {"epsilon": 1, "k": 3},
    "SparseVector": {"epsilon_threshold": 1, "epsilon_queries": 1},
    "Channel": {"rows": [["3/4", "1/4"], ["2/5", "3/5"]]},
    "LossPair": {"p": ["3/4", "1/4"], "q": ["1/4", "3/4"]},
    "Subsampled": {"mechanism": Gaussian(sigma=1), "rate": "0.1"},
    "Shuffled": {"mechanism": RandomizedResponse(epsilon=1, k=4), "clients": 1000},
    "Allocation": {"mechanism": Gaussian(sigma=1), "batches": 10},
    "ReplacedSample": {"mechanism": Gaussian(sigma=1), "rate": "0.1"},
    "TruncatedSample": {"mechanism": Gaussian(sigma=1), "rate": "0.1", "most": 20, "of": 100},
    "Training": {"noise_multiplier": 1, "steps": 10, "sampling": Poisson("0.1")},
    "L1": {"d": 2},
    "L2": {"b": 2},
    "L0LInf": {"m": 2, "c": 1},
    "L1LInf": {"a": 3, "c": 2},
    "Log": {"argument": 3},
    "Filter": {"rho": 1},
    "Odometer": {},
    "Query": {"mechanism": DiscreteLaplace, "weight": 2, "count": 3, "sensitivity": 2},
    "account": {"source": "Laplace(epsilon=1)", "delta": 1e-6, "curve": False},
    "allocate": {"queries": [Query(Laplace)], "rho": 1},
    "calibrate": {"build": lambda e: Laplace(epsilon=e), "rho": 1},
    "audit": {"mechanism": RandomizedResponse(epsilon=1, k=2), "draws": 100, "confidence": 0.9},
    "audit_training": {"canaries": 100, "guesses": 50, "correct": 40, "delta": 1e-6, "confidence": 0.9},
    "HeavyHitters": {"epsilon": 4, "alphabet": "a-z", "length": 6},
    "choose": {"k": 8, "clients": 1000, "epsilon": 1, "delta": "1e-6"},
    "choose_number": {"low": 0, "high": 9, "clients": 1000, "epsilon": 1, "delta": "1e-6"},
    "zcdp_to_epsilon": {"rho": 1, "delta": 1e-6},
    "zcdp_to_delta": {"rho": 1, "epsilon": 2},
    "load": {"path": "examples/census.toml"},
}
for _kind in rows.every("KINDS"):  # mechanisms that are not listed are tried as tests/rows has them
    RIGHT.setdefault(_kind.name, {getattr(zcdp, _kind.name).budget: 1, **_kind.fixed[-1]})
for _example in rows.every("EXAMPLES"):
    _call = inspect.signature(getattr(zcdp, _example.name)).bind(*_example.given, **dict(_example.named))
    RIGHT.setdefault(_example.name, {name: rows.built(value) for name, value in _call.arguments.items()})
METHODS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "rdp": (Laplace(epsilon=1).rdp, {"order": 2}),
    "epsilon_at": (Laplace(epsilon=1).epsilon_at, {"delta": 1e-6}),
    "delta_at": (Laplace(epsilon=1).delta_at, {"epsilon": "0.5"}),
    "routes": (Laplace(epsilon=1).routes, {"delta": 1e-6}),
    "group": (Laplace(epsilon=1).group, {"size": 2}),
    "Laplace.calibrate": (Laplace.calibrate, {"rho": 1}),
    "release": (DiscreteLaplace(epsilon=1).release, {"values": [1, 2]}),
    "grid release": (Laplace(epsilon=1).release, {"values": [1.0, 2.0], "grid": "0.5"}),
    "bits": (zcdp.RAPPOR(epsilon=1).release, {"values": [1, 2], "d": 4}),
    "choice": (zcdp.ExponentialMechanism(epsilon=1).release, {"scores": [1, 2], "sensitivity": 1}),
    "sample": (DiscreteLaplace(epsilon=1).sample, {"size": 3}),
    "parse": (Plan.parse, {"text": "Laplace(epsilon=1)"}),
    "from_json": (Plan.from_json, {"text": '[{"count": 2, "mechanism": "Laplace(epsilon=1)"}]'}),
}
VALUES: tuple[tuple[str, Any], ...] = (
    ("nothing", None),
    ("a word", "many"),
    ("empty text", ""),
    ("negative", -1),
    ("zero", 0),
    ("not a number", float("nan")),
    ("infinite", float("inf")),
    ("a truth value", True),
    ("a list", [1, "x"]),
    ("a table", {"a": 1}),
    ("bytes", b"1"),
    ("an object", object()),
    ("complex", 1 + 2j),
    ("an array", np.ones((2, 3))),
    ("absurdly large", "1e999999"),
    ("a function", lambda: 1),
)
FORMS = ("by place", "a letter missing", "an extra parameter", "one left out")
ALSO = {"text": "plan|position|JSON", "source": "position|mechanism", "path": "file"}
"""A plan as text is pointed into: there is no need to say which argument it was."""
INSIDE = re.compile(
    r"(?<![\w.])_[a-z]\w*|__|\w+\.\w+\(\)|positional|keyword argument|NoneType|lambda>|object at 0x|object has no|"
    r"not subscriptable|not iterable|unsupported operand|not supported between|ndarray|\barb\b|dtype|unhashable|"
    r"truth value of an"
)


def public() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    made = {name: (getattr(zcdp, name), given) for name, given in RIGHT.items() if hasattr(zcdp, name)}
    return made | METHODS


def mistakes(
    function: Callable[..., Any], right: dict[str, Any]
) -> Iterator[tuple[str, str, tuple[Any, ...], dict[str, Any]]]:
    """What is wrong, the argument it is about, and the call."""
    form = inspect.signature(function).parameters
    for name in right:
        for kind, value in VALUES:
            yield kind, name, (), right | {name: value}
        if len(name) > 3:
            renamed = {(name[:-1] if one == name else one): value for one, value in right.items()}
            yield FORMS[1], name, (), renamed
        if name in form and form[name].default is inspect.Parameter.empty:
            yield FORMS[3], name, (), {one: value for one, value in right.items() if one != name}
    places = sum(one.kind == one.POSITIONAL_OR_KEYWORD for one in form.values())
    yield FORMS[0], "", (1,) * (places + 1), {}
    yield FORMS[2], "nonsense", (), right | {"nonsense": 1}


def test_there_are_twenty_kinds_and_every_public_name_is_tried() -> None:
    assert len(VALUES) + len(FORMS) == 20
    exceptions = {
        name for name in zcdp.__all__ if inspect.isclass(one := getattr(zcdp, name)) and issubclass(one, Exception)
    }
    untried = set(zcdp.__all__) - set(RIGHT) - RESULTS - NOT_CALLED - exceptions
    assert untried == set()


@pytest.mark.parametrize("name", public())
def test_a_mistake_is_answered_in_the_callers_words(name: str) -> None:
    function, right = public()[name]
    function(**right)
    bad: list[str] = []
    for kind, about, args, named in mistakes(function, right):
        try:
            function(*args, **named)
        except (ValueError, TypeError, OverflowError, zcdp.NotCertified) as error:
            text = str(error)
            known = [about] if about else list(inspect.signature(function).parameters) or ["no values"]
            if not any(re.search(rf"\b({one}|{ALSO.get(one, one)})\b", text) for one in known) or INSIDE.search(text):
                bad.append(f"{kind} for {about}: {type(error).__name__}: {text}")
        except Exception as error:
            bad.append(f"{kind} for {about}: {type(error).__name__}: {error}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_what_functions_return_says_in_words_that_it_is_not_made_so(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} ") as caught:
        getattr(zcdp, name)(nonsense=1)
    assert not INSIDE.search(str(caught.value))


OF_ALLOCATION = {"at", "rounded", "times", "with_error"}
"""Of `Query`: what an allocation asks."""


def called() -> list[tuple[type, str]]:
    """What people call on what they have made, on each class by its own name."""
    found = []
    for name in zcdp.__all__:
        kind = getattr(zcdp, name)
        if isinstance(kind, type) and not issubclass(kind, Exception) and not inspect.isabstract(kind):
            for method in sorted({*dir(kind)} - AUTHORS_ONLY - OF_ALLOCATION):
                raw = inspect.getattr_static(kind, method)
                plain = raw.__func__ if isinstance(raw, classmethod) else raw
                if (
                    not method.startswith("_")
                    and inspect.isfunction(plain)
                    and len(inspect.signature(plain).parameters) > 1
                ):
                    found.append((kind, method))
    return found


@pytest.mark.parametrize(("kind", "method"), called(), ids=lambda one: getattr(one, "__name__", one))
def test_every_method_complains_in_the_words_of_the_one_who_calls(kind: type, method: str) -> None:
    """A parameter that there is not: the class by its public name, and no `_Gaussian.release()` or `Selects`."""
    whom = kind if isinstance(inspect.getattr_static(kind, method), classmethod) else object.__new__(kind)
    with pytest.raises(TypeError) as caught:
        getattr(whom, method)(nonsense=1)
    assert str(caught.value).startswith(f"{kind.__name__}.{method} "), caught.value
    assert "()" not in str(caught.value)
