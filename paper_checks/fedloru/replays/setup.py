"""Replays of the claims in ``setup``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedloru-v2/claim-srank-robust")
def claim_srank_robust(values: Values) -> Violation:
    """Stable ranks of A = diag(1, a, .., a, 0, .., 0) and of A + E, E = diag(x, y, .., y, z, .., z), from the sums."""
    a, x, y, z = fractions(values, "a", "x", "y", "z")
    copies, kernel = int(values["copies"]), int(values["kernel"])
    size = max(abs(x), abs(y), abs(z))
    unmet = "" if 0 < a <= 1 and size <= Fraction(0.01) and copies >= 0 and kernel >= 0 else "||A|| = 1, ||E|| <= 0.01"

    def stable_rank(spectrum: list[tuple[Fraction, int]]) -> Fraction:
        return sum(v**2 * count for v, count in spectrum) / max(v**2 for v, count in spectrum if count)

    before = stable_rank([(Fraction(1), 1), (a, copies), (Fraction(0), kernel)])
    after = stable_rank([(1 + x, 1), (a + y, copies), (z, kernel)])
    return Violation(max(after / before, before / after), ((1 + size) / (1 - size)) ** 2, unmet=unmet,
                     reads="factor by which the stable rank changes against ((1 + eps)/(1 - eps))^2")  # fmt: skip
