"""A run of one client with one weight, in fractions.

The loss is L w^2/2 up to |w| = z and linear beyond: L-smooth, with gradients of norm at most G = Lz and least value 0.
Without noise every sigma^2 > 0 is admissible.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from paper_checks.replay import Hypothesis, assuming
from paper_checks.stored_values import Values, followed, fractions

ONE_WEIGHT = (
    "the model is one weight w = W + AB with the loss L w^2/2, continued linearly for |w| > zone; E = steps, T = "
    "rounds and sigma^2 = share G^2. "
)


@dataclass
class Run:
    """A run of one client, with all local iterates.

    Attributes:
        L: Curvature.
        z: Zone.
        W: Frozen weight.
        rate: Step size.
        E: Local steps.
        T: Rounds.
        sigma2: Bound on the variance, positive.
        path: A and B, from the start on, after every local step.
        assumes: Assumptions of the statement, at this run.
    """

    L: Fraction
    z: Fraction
    W: Fraction
    rate: Fraction
    E: int
    T: int
    sigma2: Fraction
    path: list[tuple[Fraction, Fraction]]
    assumes: tuple[Hypothesis, ...]

    @property
    def G(self) -> Fraction:
        """Return the largest slope."""
        return self.L * self.z

    @property
    def C_A(self) -> Fraction:
        """Return the largest A."""
        return max(abs(A) for A, _ in self.path)

    @property
    def C_B(self) -> Fraction:
        """Return the largest B."""
        return max(abs(B) for _, B in self.path)

    @property
    def s2(self) -> Fraction:
        """Return sigma^2 + G^2."""
        return self.sigma2 + self.G**2

    @property
    def D(self) -> Fraction:
        """Return D of Lemma B.8."""
        inner = 1 + self.rate**2 * self.E**2 * self.s2
        return self.E**2 * self.s2 * (6 * self.C_A**2 * self.C_B**2 * inner + self.G**2)

    @property
    def brace(self) -> Fraction:
        """Return the brace of eq. (76)."""
        L, G, C_A, C_B = self.L, self.G, self.C_A, self.C_B
        return (L * C_B**2 + L**2 * C_A**2 * C_B**2 + G**2) / 2 + (1 + L * C_A**2 / 2) * C_A**2

    def slope(self, step: int) -> Fraction:
        """Return the gradient in W after some local steps."""
        A, B = self.path[step]
        return self.L * min(max(self.W + A * B, -self.z), self.z)

    def loss(self, step: int) -> Fraction:
        """Return the loss after some local steps."""
        A, B = self.path[step]
        w = abs(self.W + A * B)
        return self.L * w**2 / 2 if w <= self.z else self.L * self.z * (w - self.z / 2)

    def in_factors(self, step: int) -> Fraction:
        """Return the squared gradient in A and B after some local steps."""
        A, B = self.path[step]
        return self.slope(step) ** 2 * (A**2 + B**2)


def run(values: Values) -> Run:
    """Follow eq. (7)."""
    L, z, W, A, B, rate, share = fractions(values, "L", "zone", "W", "A", "B", "rate", "share")
    E, T = followed(values, "steps"), followed(values, "rounds")
    positive = {"L": L, "zone z": z, "learning rate": rate, "sigma^2, as a share of G^2": share}
    assumes = assuming(
        *(Hypothesis(name, value, ">", 0) for name, value in positive.items()),
        Hypothesis("steps E", E, ">=", 1),
        Hypothesis("rounds T", T, ">=", 1),
    )
    made = Run(L, z, W, rate, E, T, share * (L * z) ** 2, [(A, B)], assumes)
    for step in range(E * T):
        slope, (A, B) = made.slope(step), made.path[step]
        made.path.append((A - rate * slope * B, B - rate * slope * A))
    return made
