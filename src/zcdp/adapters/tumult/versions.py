"""The versions of Tumult that the bridge was tested with."""

__all__ = ["TESTED"]

TESTED = {"tmlt.core": ("0.19.1",), "tmlt.analytics": ("0.21.0",)}
