"""Replays of the claims in ``simplified_steps``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedlrt.replays.simplified import opposite
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedlrt/eq-39b")
def eq_39b(values: Values) -> Violation:
    """Upper left entry for the first client: gradient minus own gradient, against F - F_c with F = -gradient."""
    at = opposite(values)
    inside, P = fractions(values, "inside", "apart_inside")
    correction, printed = inside - (P + inside), -inside + (P + inside)
    return Violation(abs(correction - printed), Fraction(0), unmet=at.unmet, reads="correction minus first expression")


@replay("fedlrt/eq-40")
def eq_40(values: Values) -> Violation:
    """Entry (1, 1) of the first client after one step: Algorithm 5 against the nearer of the printed expressions."""
    at = opposite(values)
    inside, P = fractions(values, "inside", "apart_inside")
    own = P + inside
    correction = inside - own
    after = -at.rate * (own + correction)
    printed = (at.rate * (-own + (-own + inside)), -at.rate * own + correction)
    return Violation(min(abs(after - one) for one in printed), Fraction(0), unmet=at.unmet,
                     reads="step minus either printed expression")  # fmt: skip


@replay("fedlrt/eq-43-44")
def eq_43_44(values: Values) -> Violation:
    """Change of the loss against the printed right side, F = -gradient, L = 1."""
    at = opposite(values)
    p, q = sum(at.p, Fraction(0)) / 2, sum(at.q, Fraction(0)) / 2
    inside, outside = fractions(values, "inside", "outside")
    right = -inside * p - outside * q + (p**2 + q**2) / 2
    return Violation(at.change, right, unmet=at.unmet, reads="change of the loss, against the printed right side")


@replay("fedlrt/eq-46")
def eq_46(values: Values) -> Violation:
    """The block alone, L = 1."""
    at = opposite(values)
    p = sum(at.p, Fraction(0)) / 2
    (inside,) = fractions(values, "inside")
    return Violation(-p * inside + p**2 / 2, -at.whole * (1 - 12 * at.whole) * inside**2, unmet=at.unmet,
                     reads="left side of (46), against the right one")  # fmt: skip


def _linear(values: Values) -> tuple[Fraction, Fraction, Fraction, Fraction, str]:
    """Step outside the block, gradient outside, squared gradient, delta, and what is not met; L = 1, s = 1.

    One client with the loss ``inside p + outside q``: its gradients are the global ones, the same everywhere.
    """
    inside, outside, size, delta, rate = fractions(values, "inside", "outside", "norm", "delta", "step")
    met = inside**2 + outside**2 == size**2 and size - inside < delta * size and 0 < delta <= Fraction(1, 10)
    unmet = "" if met and 0 < 12 * rate <= 1 else "Assumption 1 with a small delta, 0 < lambda <= 1/(12 L s)"
    return -rate * outside, outside, size**2, delta, unmet


@replay("fedlrt/thm-11-hat-first")
def thm_11_hat_first(values: Values) -> Violation:
    """One step."""
    moved, slope, square, delta, unmet = _linear(values)
    (rate,) = fractions(values, "step")
    return Violation(-moved * slope, delta**2 * rate * square, unmet=unmet, reads="inner product against its bound")


@replay("fedlrt/thm-11-hat-second")
def thm_11_hat_second(values: Values) -> Violation:
    """One step."""
    moved, _, square, delta, unmet = _linear(values)
    (rate,) = fractions(values, "step")
    return Violation(moved**2 / 2, delta**2 * rate**2 * square / 2, unmet=unmet, reads="square against its bound")


@replay("fedlrt/thm-11-combine")
def thm_11_combine(values: Values) -> Violation:
    """Step (I), in units of the squared gradient; the block has less than all of it."""
    L, x, delta, share = fractions(values, "L", "x", "delta", "share")
    met = L > 0 and 0 < 12 * x * L <= 1 and 0 < delta <= Fraction(1, 10) and 1 - delta**2 <= share <= 1
    rest = delta * x + delta * x**2
    first = -x * (1 - 12 * x * L)
    unmet = "" if met else "0 < lambda <= 1/(12 L s), delta << 1, a share of the block"
    return Violation(first * share + rest, first + rest, unmet=unmet, reads="first line against the second")
