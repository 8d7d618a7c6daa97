"""The privacy loss distribution (PLD) of a mechanism, called its *law*: one file for each kind of law.

law.py has the interface `LossLaw` and says how to write one, claim.py what a mechanism claims of laws: which of them
dominates it, and which it attains. transform.py has the moment generating function of a law and of a composition,
decay.py bounds on how fast it decays along a vertical line; the engines of zcdp.privacy.profile invert it by Fourier
integrals.
"""

from zcdp.privacy.loss.allocated_law import allocated_claim
from zcdp.privacy.loss.claim import Claim, replaced_claim, sampled_claim
from zcdp.privacy.loss.discrete_gaussian_law import discrete_gaussian_pair
from zcdp.privacy.loss.discrete_laplace_law import discrete_laplace_claim, discrete_laplace_pair
from zcdp.privacy.loss.envelope_law import directed_law, envelope_of_balls, envelope_of_rows
from zcdp.privacy.loss.exponential_law import laplace_pair, logistic_pair, three_point_pair, three_point_pair_of_ball
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.privacy.loss.gaussian_law import gaussian_pair
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.profile_law import profile_law
from zcdp.privacy.loss.shuffled_law import ShuffledProfile
from zcdp.privacy.loss.transform import Factor

__all__ = [
    "Claim",
    "Factor",
    "LossLaw",
    "ShuffledProfile",
    "allocated_claim",
    "directed_law",
    "discrete_gaussian_pair",
    "discrete_laplace_claim",
    "discrete_laplace_pair",
    "envelope_of_balls",
    "envelope_of_rows",
    "finite_law",
    "gaussian_pair",
    "laplace_pair",
    "logistic_pair",
    "profile_law",
    "replaced_claim",
    "sampled_claim",
    "three_point_pair",
    "three_point_pair_of_ball",
]
