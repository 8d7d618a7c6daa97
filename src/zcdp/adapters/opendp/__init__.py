"""OpenDP: its own measurements and samplers, with tight privacy maps.

>>> import opendp.prelude as dp
>>> from zcdp.adapters import opendp as zo
>>> dp.enable_features("contrib", "honest-but-curious")
>>> space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
>>> zo.tighten(dp.m.make_laplace(*space, scale=1.0)).map(1.0)
0.36787944117144233
"""

from zcdp.adapters.common import installed, warn_unless

TESTED = ("0.16.0",)
installed("opendp", "opendp")

from zcdp.adapters.opendp.measurements import Approximate, approximate, plan, register, renyi, tighten  # noqa: E402
from zcdp.adapters.opendp.opendp_distributions import Refused  # noqa: E402

__all__ = ["TESTED", "Approximate", "Refused", "approximate", "plan", "register", "renyi", "tighten"]

warn_unless("opendp", "opendp", TESTED)
