"""Tumult Core and Tumult Analytics: their own noise on Spark, at the tight rho, valid under parallel composition."""

from zcdp.adapters.common import installed, warn_unless

TESTED = {"tmlt.core": ("0.19.1",), "tmlt.analytics": ("0.21.0",)}
"""The versions of Tumult that this adapter was tested with."""

for _package in TESTED:
    installed(_package, "tumult")

from zcdp.adapters.tumult.measurement import Refused, Tight, tighten  # noqa: E402
from zcdp.adapters.tumult.session import NotTested, enable  # noqa: E402

__all__ = ["TESTED", "NotTested", "Refused", "Tight", "enable", "tighten"]

for _package, _versions in TESTED.items():
    warn_unless(_package, "tumult", _versions)
