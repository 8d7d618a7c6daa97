"""Error messages for wrong calls: a `TypeError` of Python is reworded with the public name of what was called.

The decorator `spoken` does this for functions, `spoken_class` for constructors and public methods.
"""

from __future__ import annotations

from ast import arg, excepthandler, expr, parse, stmt, walk
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar

from zcdp.errors import BadType
from zcdp.text.suggestions import nearest

__all__ = ["spoken", "spoken_class"]


P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

ALIASES = {
    "eps": "epsilon",
    "e": "epsilon",
    "privacy_budget": "epsilon",
    "b": "scale",
    "lam": "scale",
    "std": "sigma",
    "sd": "sigma",
    "stddev": "sigma",
    "noise_multiplier": "sigma",
    "sens": "sensitivity",
    "l1": "sensitivity",
    "l2": "sensitivity",
    "sampling_probability": "rate",
    "sampling_rate": "rate",
    "alpha": "order",
    "d": "k",
    "n": "count",
}
"""Parameter names of other libraries, and ours for the same parameter."""

METHODS = (
    *("accuracy", "calibrate", "count", "delta_at", "delta_bounds", "epsilon_at", "epsilon_bounds", "estimate"),
    *("falls_behind", "from_json", "from_probability", "group", "neighbouring_outputs", "parse", "rdp", "release"),
    *("remember", "repeated", "routes", "run", "sample", "search_rho", "spend", "standard_error", "sum_of", "to_json"),
    *("would_fit", "anytime_epsilon", "from_dict", "find", "read", "report", "top"),
    *("gdp", "gdp_bounds", "success", "success_bounds", "tpr_at", "tpr_bounds", "tradeoff", "tradeoff_bounds"),
    *("consistent", "heavy", "interval", "of", "standard_error_of", "tally"),
    *("best", "distribution", "of_densities", "one_bit", "pick", "piecewise", "plot", "quantile", "share_below"),
    *("account", "cost", "deliver", "export", "history", "load", "open_account", "plan", "raise_budget", "remaining"),
    *(
        "close_account",
        "commit",
        "forget",
        "give_back",
        "levels",
        "lower_budget",
        "reservations",
        "reserve",
        "seal",
        "sealed",
    ),
    *("sealing", "spend_all", "upgrade", "verify", "found"),
)
"""The public methods whose wrong calls `spoken_class` rewords."""


def complaint(name: str, form: Signature, args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    """The message that says why these arguments do not fit the signature `form` of `name`; None if they fit.

    >>> complaint("Laplace", signature(lambda *, epsilon, sensitivity=1: 0), (1,), {})
    'Laplace takes its parameters by name, as in Laplace(epsilon=1): epsilon, sensitivity'
    """
    try:
        form.bind(*args, **named)
        return None
    except TypeError:
        pass
    by_place = [p.name for p in form.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in form.parameters.values() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for given in named:
        if given not in names:
            meant = ALIASES.get(given)
            meant = meant if meant in names else nearest(given, names)
            hint = f"did you mean {meant!r}?" if meant else f"it has {', '.join(names)}" if names else "it has none"
            return f"{name} has no parameter {given!r}: {hint}"
        if given in by_place[: len(args)]:
            return f"{name}: {given} is given twice"
    if len(args) > len(by_place):
        free = [one for one in names if one not in by_place]
        if not free:
            what = f"only {', '.join(by_place)}" if by_place else "no values"
            return f"{name} takes {what}, and {len(args)} values are given"
        shown = _short(args[len(by_place)])
        before = "".join(f"{one}, " for one in by_place)
        rest = " the rest of" if by_place else ""
        return f"{name} takes{rest} its parameters by name, as in {name}({before}{free[0]}={shown}): {', '.join(free)}"
    missing = [
        p.name
        for n, p in enumerate(form.parameters.values())
        if p.default is Parameter.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in named
        and not (p.name in by_place and n < len(args))
    ]
    return f"{name} needs {' and '.join(missing)}: {name}({', '.join(_asked(form, missing))})"


def _short(value: object) -> str:
    return repr(value) if isinstance(value, int | float | str) and len(repr(value)) <= 20 else "..."


def _asked(form: Signature, missing: Sequence[str]) -> list[str]:
    """The parameters without a default, as an example call shows them."""
    needed = [p for p in form.parameters.values() if p.default is Parameter.empty and p.kind != p.VAR_KEYWORD]
    return [f"{p.name}=..." if p.kind == p.KEYWORD_ONLY else p.name for p in needed if p.name in missing or p in needed]


def spoken(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that wrong arguments raise `BadType` with the message of `complaint`."""
    return _spoken(function, lambda _: function.__name__, skip=0)


def spoken_class(cls: type[C]) -> type[C]:
    """Decorate a class: its constructor, and its methods that are named in `METHODS`, are `spoken`.

    It goes above `@dataclass`, which writes the constructor. A base class calls it in `__init_subclass__`.
    """
    for method in ("__init__", *METHODS):
        raw: Any = next((vars(base)[method] for base in cls.__mro__ if method in vars(base)), None)
        bound = isinstance(raw, classmethod)
        plain = raw.__func__ if bound else raw
        if not callable(plain) or not hasattr(plain, "__code__") or getattr(plain, "spoken", False):
            continue
        made = _spoken(plain, _named(method), skip=1)
        setattr(cls, method, classmethod(made) if bound else made)
    return cls


def _spoken(function: Callable[..., Any], name: Callable[[Any], str], *, skip: int) -> Callable[..., Any]:
    """The function in a wrapper that stands, for debuggers and tracebacks, on the first line of the function itself.

    So whoever steps into `Laplace(epsilon=1)` is in laplace.py at once.
    """

    def refused(error: TypeError, args: tuple[Any, ...], named: dict[str, Any]) -> TypeError:
        form = _without_first(function) if skip else signature(function)
        text = complaint(name(args[0] if args else None), form, args[skip:], named)
        return error if text is None else BadType(text)

    made = FunctionType(
        _WRAPPER.replace(
            co_filename=function.__code__.co_filename,
            co_firstlineno=function.__code__.co_firstlineno,
            co_name=function.__name__,
            co_qualname=function.__qualname__,
        ),
        {"function": function, "refused": refused, "TypeError": TypeError},
    )
    made.__kwdefaults__ = None
    call = wraps(function)(made)
    call.__dict__["spoken"] = True
    return call


def _on_one_line() -> CodeType:
    """The code of a wrapper, all of it on its first line."""
    tree = parse(
        "def call(*args, **named):\n"
        "    try:\n"
        "        return function(*args, **named)\n"
        "    except TypeError as error:\n"
        "        found = refused(error, args, named)\n"
        "        if found is error:\n"
        "            raise\n"
        "    raise found\n"
    )
    for node in walk(tree):
        if isinstance(node, stmt | expr | excepthandler | arg):
            node.lineno = node.end_lineno = 1
    code: CodeType = next(one for one in compile(tree, __file__, "exec").co_consts if isinstance(one, CodeType))
    return code


_WRAPPER = _on_one_line()


def _without_first(method: Callable[..., Any]) -> Signature:
    """The signature as one calls it on an instance."""
    form = signature(method)
    return form.replace(parameters=list(form.parameters.values())[1:])


def _named(method: str) -> Callable[[Any], str]:
    """What a method is called in a complaint, for the object it is called on; a constructor is called as its class."""

    def name(it: Any) -> str:
        owner = it.__name__ if isinstance(it, type) else type(it).__name__
        return owner if method == "__init__" else f"{owner}.{method}"

    return name
