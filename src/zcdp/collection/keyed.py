"""Keyed noise: the random bits of a report are AES of its id under a secret, so that a retry repeats the same report.

Its assumptions, and what must never be done with it, are in docs/theorems/keyed-noise.md.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from zcdp.collection.parquet import package
from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import Value

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.source import Source

__all__ = ["KeyedNoise"]

LEAST_SECRET_BYTES = 16
PURPOSE = b"zcdp keyed noise 1\n"  # separates these keys from others derived from the same secret


@dataclass(frozen=True)
class KeyedNoise:
    """Draws reports that depend on the secret, the mechanism, k, the report's id and the value, and on nothing else.

    An id must never be used for two values: two reports of different values under one id share their random bits, and
    together can reveal both values. Theorem: docs/theorems/keyed-noise.md.

    >>> from zcdp import RandomizedResponse
    >>> noise, m = KeyedNoise(b"an example, so no secret"), RandomizedResponse(epsilon=1, k=4)
    >>> first = noise.release(m, values=[0, 1, 2], ids=[7, 8, 9])
    >>> again = noise.release(m, values=[2, 0], ids=[9, 7])
    >>> first[[2, 0]].tolist() == again.tolist()
    True
    """

    secret: bytes = field(repr=False)
    """At least 16 random bytes, such as `secrets.token_bytes(32)`; whoever knows it can undo the noise."""

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes):
            raise BadType(f"secret must be bytes, not {type(self.secret).__name__}")
        if len(self.secret) < LEAST_SECRET_BYTES:
            raise BadValue(f"secret must have at least {LEAST_SECRET_BYTES} bytes, not {len(self.secret)}")

    def release(self, mechanism: Any, values: ArrayLike, ids: ArrayLike, *, k: Value | None = None) -> NDArray[Any]:
        """A report for each value; `ids` are distinct integers from 0 to 2^64 - 1, one for each report."""
        from zcdp.samplers.run_samplers import integer_array

        if not hasattr(mechanism, "_drawn") or hasattr(mechanism, "remember"):
            raise BadValue(f"{mechanism!r} is not a local randomizer of values that can be keyed")
        if not mechanism.local:
            raise BadValue(f"{mechanism!r} cannot be keyed: only some of its inputs are neighbours")
        size = mechanism._values(k)
        held, numbers = integer_array(values, "values").reshape(-1), integer_array(ids, "ids").reshape(-1)
        if held.size != numbers.size:
            raise BadValue(f"each value needs its own id: there are {held.size} values and {numbers.size} ids")
        if held.size and (int(held.min()) < 0 or int(held.max()) >= size):
            raise BadValue(f"values must lie in 0 .. {size - 1}")
        if numbers.size and int(numbers.min()) < 0:
            raise BadValue("ids must lie in 0 .. 2^64 - 1")
        if np.unique(numbers).size != numbers.size:
            raise BadValue("ids must be distinct: two values under one id share their noise, which reveals them")
        stream, whole = self._streams(mechanism, size), held.astype(np.int64)
        # each report is drawn by its own call, so that the bits it uses do not depend on the other reports
        drawn = [mechanism._drawn(whole[n : n + 1], size, stream(int(numbers[n]))) for n in range(whole.size)]
        return np.concatenate(drawn) if drawn else np.empty(0, dtype=np.int64)

    def _streams(self, mechanism: Any, k: int) -> Any:
        """A function from an id to its stream of bits: AES-256 in counter mode, starting at the block (id, 0)."""
        package("cryptography", "keyed noise needs", "keyed")
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES256
        from cryptography.hazmat.primitives.ciphers.modes import CTR

        key = hmac.digest(self.secret, PURPOSE + f"{mechanism!r}\n{k}".encode(), "sha256")
        block = AES256(key)

        def stream(number: int) -> Source:
            encrypt = Cipher(block, CTR(number.to_bytes(8, "big") + bytes(8))).encryptor().update
            return lambda count: encrypt(bytes(count))

        return stream
