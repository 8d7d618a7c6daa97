"""The independent privacy profile of a composition, by the method that suits it."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import exp, prod

from gmpy2 import mpfr

from independent.profile_atoms import LARGEST_WINDOW, MOST_POINTS, Profile, lattices
from independent.profile_integral import Draws, Integral
from independent.profile_laws import Laws, number, spread, tilt

MOST_DRAWS = 40  # Laplace mechanisms that draw from their density, in the mean, for a sum over draws


class Truth:
    """delta(epsilon) of a composition near a given epsilon, by the reference that suits it; None if none does."""

    def __init__(self, laws: Laws, epsilon: float) -> None:
        self.method: str | None = None
        self.laws, self.epsilon = laws, epsilon
        self.atoms = [(one, n) for one, n in laws if one.family == "atoms"]
        self.noise = [(one, n) for one, n in laws if one.family != "atoms"]
        self.c = tilt(laws, epsilon)
        draws = sum(n for _, n in self.noise)
        gaussian = any(one.family == "gaussian" for one, _ in self.noise)
        sizes = sorted(self._window(step, members) for step, members in lattices(self.atoms))
        if not self.noise:
            if prod(sizes[:-1]) <= MOST_POINTS and sizes[-1] <= LARGEST_WINDOW:
                self.method = "lattice"
        elif draws <= 3 and not gaussian and prod(sizes) <= MOST_POINTS / 4**draws and max(sizes, default=0) <= 9000:
            self.method = "lattice and noise"
        elif len(self.noise) == 1 and self.noise[0][0].family == "laplace" and prod(sizes) <= 9:
            [(one, count)] = self.noise
            x = float(one.top) * (self.c + 0.5)
            share = 1 / (1 + 2 * (self.c + 0.5) / max(1 - 2 / (exp(min(2 * x, 600)) + 1), 1e-300))
            if count * share * prod(sizes) <= MOST_DRAWS:
                self.method = "draws"
        if self.noise and self.method is None and not any(one.rho for one, _ in laws):  # its atoms are too many
            self.integral = Integral(laws, epsilon)
            if self.integral.possible:
                self.method = "integral"

    def _window(self, step: Fraction, members: Laws) -> int:
        unit = float(members[0][0].step) / float(members[0][0].lattice[1])
        whole = sum(one.span * n for one, n in members) / (float(step) * unit) + 1
        return int(min(whole, 34 * spread(members, self.c) / (float(step) * unit) + 60))

    def delta(self, epsilon: Fraction) -> object:
        if self.method == "integral":
            return self.integral.delta(epsilon)
        if self.method == "draws":
            [(one, count)] = self.noise
            points = [(mpfr(0), mpfr(1))]
            for atom, n in self.atoms:
                for _ in range(n):
                    masses = [(atom.top - atom.step * i, mass) for i, mass in enumerate(atom.masses)]
                    points = [(a + b, m * k) for a, m in points for b, k in masses]
            noise = Draws(one.top, count)
            return sum(mass * noise.delta(number(epsilon) - loss) for loss, mass in points)
        assert self.method is not None
        return self._profile.delta(epsilon)

    @cached_property
    def _profile(self) -> Profile:
        return Profile(self.atoms, mpfr(self.c), self.noise)
