"""What was given where something else is needed: the value itself where it is short, else what kind of thing it is."""

from __future__ import annotations

from typing import Any

__all__ = ["kind", "thing"]

KINDS = {
    "NoneType": "None",
    "builtin_function_or_method": "a function",
    "dict": "a table",
    "function": "a function",
    "ndarray": "an array",
    "str": "text",
}


def thing(value: Any) -> str:
    """The value in words that anybody reads.

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
    """What kind of thing it is, for values that must not be quoted, as data.

    >>> kind(None), kind("Ann"), kind(3.5), kind([1])
    ('None', 'text', 'a float', 'a list')
    """
    name = type(value).__name__
    return KINDS.get(name) or f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
