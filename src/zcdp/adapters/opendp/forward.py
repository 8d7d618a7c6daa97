"""A function for a user measurement that hands OpenDP's own objects to another measurement, uncopied.

A Python function in OpenDP gets its data as Python lists and gives back lists: two conversions of every number, a fifth
of the time of a vector of integers. A callback gets the object itself, and so does the measurement that it passes
it on to. What this needs is private to OpenDP; where it is missing the plain function does it.
"""

from __future__ import annotations

import ctypes
import traceback
from functools import cache
from typing import Any

import opendp.prelude as dp

try:
    from opendp import _lib
except ImportError:  # pragma: no cover - a version that keeps them elsewhere
    _lib = None

__all__ = ["forward"]

NEEDED = "AnyObject", "AnyObjectPtr", "CallbackFn", "CallbackFnPtr", "CallbackFnValue", "ExtrinsicObject", "FfiResult"


def forward(measurement: Any) -> Any:
    """What `make_user_measurement` takes as its function to release what the measurement releases."""
    if any(not hasattr(_lib, name) for name in (*NEEDED, "lib", "unwrap")):
        return measurement
    callback = _lib.CallbackFn(_dispatch(), _lib.ExtrinsicObject(ctypes.py_object(measurement)))
    return _lib.CallbackFnPtr(callback)


@cache
def _dispatch() -> Any:
    """The callback of all forwarded measurements: one, and kept, since Rust holds its address."""
    return _lib.CallbackFnValue(_pass_on)


def _pass_on(given: Any, measurement: Any) -> int:
    try:
        invoke = _lib.lib.opendp_core__measurement_invoke
        invoke.argtypes, invoke.restype = [dp.Measurement, _lib.AnyObjectPtr], _lib.FfiResult
        released = _lib.unwrap(invoke(measurement, given), ctypes.c_void_p)
        done = _lib.lib.ffiresult_ok
        done.argtypes, done.restype = [ctypes.c_void_p], ctypes.c_void_p
        return int(done(released))
    except Exception:
        failed = _lib.lib.ffiresult_err
        failed.argtypes, failed.restype = [ctypes.c_char_p, ctypes.c_char_p], ctypes.c_void_p
        return int(failed(b"the measurement inside a tight one failed", traceback.format_exc().encode()))
    finally:
        given.__class__ = ctypes.POINTER(_lib.AnyObject)  # it belongs to Rust, which frees it
