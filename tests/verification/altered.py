"""Mechanisms that are a little wrong, to see that a check of them fails."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from zcdp import mechanisms
from zcdp.privacy.curve import Curve
from zcdp.verification import run


class Altered:
    """A mechanism or plan of which some answers are multiplied by a factor."""

    def __init__(self, curve: Curve, factors: dict[str, float]) -> None:
        self._curve, self._factors = curve, factors

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._curve, name)
        if name not in self._factors:
            return found
        if callable(found):
            return lambda *given, **named: self._times(found(*given, **named), self._factors[name])
        return self._times(found, self._factors[name])

    def _times(self, value: Any, factor: float) -> Any:
        if isinstance(value, tuple):
            return tuple(one * factor for one in value)
        return value * factor

    def __rmul__(self, count: int) -> Altered:
        return Altered(count * self._curve, self._factors)

    def __add__(self, other: Any) -> Altered:
        return Altered(self._curve + getattr(other, "_curve", other), self._factors)

    def __radd__(self, other: Any) -> Altered:
        return Altered(other + self._curve, self._factors)


def altered(kind: Callable[..., Curve], **factors: float) -> Callable[..., Altered]:
    """What makes such mechanisms in place of a class."""
    return lambda *given, **named: Altered(kind(*given, **named), factors)


def assert_seen(
    module: ModuleType, words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every check of the module with these words in its statement fails where the mechanism is wrong by the factors."""
    monkeypatch.setattr(module, name, altered(getattr(mechanisms, name), **factors))
    asked = [check for check in module.checks(deep=False) if words in check.statement]
    assert asked
    for found in run(asked):
        assert not found.passed
        assert found.error is None
