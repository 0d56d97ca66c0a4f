"""Replays of the claims in ``contraction``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


def numbers(values: Values) -> tuple[Fraction, ...]:
    """Step, 1 - delta_0^2, both thresholds, and where between its ends the free quantity lies."""
    share, D, level, tilde, place = (Fraction(str(values[name])) for name in ("share", "D", "level", "tilde", "place"))
    return share, D, level * D / 16, tilde * D / 16, place


def unmet(values: Values) -> str:
    """The hypotheses: a step up to 1, an angle, thresholds below D/16."""
    share, D, level, tilde, place = numbers(values)
    sound = 0 < share <= 1 and 0 < D < 1 and 0 < level < D / 16 and 0 < tilde < D / 16 and 0 <= place <= 1
    return "" if sound else "a step of at most 1/|b*|^2, an angle, thresholds up to D/16"


@replay("rolora/lem-A.11")
def lem_A_11(values: Values) -> Violation:
    """One step for infinitely many samples, in the plane of a and a*, from coordinates; squares of both sides."""
    s, D, _, _, place = numbers(values)
    u = D + (1 - D) * place  # squared cosine c^2 of the angle; a = c a* + d e with d^2 = 1 - u
    # a+ = a - 2 s c^2 a + 2 s c a*: along a* it is c (1 - 2 s u + 2 s), across d (1 - 2 s u).
    across = (1 - u) * (1 - 2 * s * u) ** 2
    along = u * (1 - 2 * s * u + 2 * s) ** 2
    return Violation(
        across / (along + across), (1 - u) * (1 - s * D), unmet=unmet(values),
        reads="share = eta |b*|^2, D = 1 - delta_0^2, squared cosine of the angle D + (1 - D) place, unlimited "
        "samples; squares of the next angle distance and of its bound",
    )  # fmt: skip


def length(values: Values) -> Fraction:
    """|b|^2 / |b*|^2 for b = g, the squared cosine of an angle up to the first one: the nearest to the case."""
    _, D, level, _, place = numbers(values)
    return min(max((D - level) * (1 - place) + (1 + level**2) * place, D), Fraction(1))


@replay("rolora/eq-100")
def eq_100(values: Values) -> Violation:
    """E_1 over delta at b = g."""
    s, D, level, _, _ = numbers(values)
    return Violation(
        abs(1 - 2 * s * length(values)), abs(1 - 2 * s * (D - level)), unmet=unmet(values),
        reads="share = eta |b*|^2, D = 1 - delta_0^2, eps' = level D / 16; b = g with |g|^2 / |b*|^2 as near as can "
        "be to (D - eps') (1 - place) + (1 + eps'^2) place; E_1 over delta against (101)",
    )  # fmt: skip


NUMERATORS = (
    "share = eta |b*|^2, D = 1 - delta_0^2, eps' = level D / 16, eps~ = tilde D / 16, b = g as for (100); E_1 over "
    "delta against the numerator of (117) over delta"
)


@replay("rolora/eq-117")
def eq_117(values: Values) -> Violation:
    """Numerators of (117) over delta, without E_2 on the left: even E_1 alone is larger."""
    s, D, level, tilde, _ = numbers(values)
    right = 1 - 2 * s * (D - level) + 2 * s * tilde * (1 + level) ** 2
    return Violation(abs(1 - 2 * s * length(values)), right, unmet=unmet(values), reads=NUMERATORS)
