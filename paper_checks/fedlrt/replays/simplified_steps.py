"""Replays of the claims in ``simplified_steps``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedlrt.replays.simplified import LOSSES, entries, inner, opposite
from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedlrt/eq-39b")
def eq_39b(values: Values) -> Violation:
    """Upper left entry for the first client: gradient minus own gradient, against F - F_c with F = -gradient."""
    at = opposite(values)
    (P,) = fractions(values, "apart_inside")
    inside = at.slope[0]
    correction, printed = inside - (P + inside), -inside + (P + inside)
    return Violation(abs(correction - printed), Fraction(0), unmet=at.unmet,
                     reads=f"{LOSSES}: correction minus first expression")  # fmt: skip


@replay("fedlrt/eq-40")
def eq_40(values: Values) -> Violation:
    """Entry (1, 1) of the first client after one step: Algorithm 5 against the nearer of the printed expressions."""
    at = opposite(values)
    (P,) = fractions(values, "apart_inside")
    inside = at.slope[0]
    own = P + inside
    correction = inside - own
    after = -at.rate * (own + correction)
    printed = (at.rate * (-own + (-own + inside)), -at.rate * own + correction)
    return Violation(min(abs(after - one) for one in printed), Fraction(0), unmet=at.unmet,
                     reads=f"{LOSSES}: step minus either printed expression")  # fmt: skip


@replay("fedlrt/eq-43-44")
def eq_43_44(values: Values) -> Violation:
    """Change of the loss against the printed right side, F = -gradient, L = 1."""
    at = opposite(values)
    right = -at.change + inner(at.moved, at.moved) / 2
    return Violation(at.change, right, unmet=at.unmet,
                     reads=f"{LOSSES}: change of the loss, against the printed right side")  # fmt: skip


@replay("fedlrt/eq-46")
def eq_46(values: Values) -> Violation:
    """The block alone, L = 1, with the sign that the statement needs: with the printed one it fails as well."""
    at = opposite(values)
    p, inside = at.moved[0], at.slope[0]
    right = -at.whole * (1 - 12 * at.whole) * inside**2
    unmet = at.unmet or ("" if -p * inside + p**2 / 2 > right else "the printed sign fails as well")
    return Violation(p * inside + p**2 / 2, right, unmet=unmet,
                     reads=f"{LOSSES}: left side of (46), against the right one, with either sign")  # fmt: skip


def _linear(values: Values) -> tuple[Fraction, Fraction, Fraction, Fraction, str]:
    """Squared gradient outside the block, squared gradient, delta, rate, and what is not met; L = 1, s = 1.

    One client with the loss ``<slope, w>``: its gradients are the global ones, the same everywhere.
    """
    slope = entries(values["slope"])
    size, delta, rate = fractions(values, "norm", "delta", "step")
    met = inner(slope, slope) == size**2 and size - abs(slope[0]) < delta * size and 0 < delta <= Fraction(1, 10)
    unmet = "" if met and 0 < 12 * rate <= 1 and slope[1] and slope[2] else (
        "Assumption 1 with a small delta, 0 < lambda <= 1/(12 L s), wider bases"
    )  # fmt: skip
    return size**2 - slope[0] ** 2, size**2, delta, rate, unmet


@replay("fedlrt/thm-11-hat-first")
def thm_11_hat_first(values: Values) -> Violation:
    """One client, one step, with the printed sign; two opposite clients, two steps of 1/48, with the other one."""
    outside, square, delta, rate, unmet = _linear(values)
    P, Q = fractions(values, "apart_inside", "apart_outside")
    slope, step, ends = entries(values["slope"]), Fraction(1, 48), []
    for sign in (1, -1):
        w = [Fraction(0)] * 4
        for _ in range(2):
            own = [sign * P + slope[0], slope[1], slope[2], sign * (Q + w[3]) + slope[3]]
            if not inner(own, own) < (abs(own[0]) + delta * Fraction(values["norm"])) ** 2:
                unmet = unmet or "(14) for one of two opposite clients"
            w = [a - step * (slope[0] if i == 0 else b) for i, (a, b) in enumerate(zip(w, own, strict=True))]
        ends.append(w)
    moved = [(a + b) / 2 for a, b in zip(*ends, strict=True)]
    if not inner(slope[1:], moved[1:]) > delta**2 * 2 * step * square:
        unmet = unmet or "the other sign fails at two opposite clients"
    return Violation(
        rate * outside, delta**2 * rate * square, unmet=unmet,
        reads="one client, one step, loss <slope, w>: inner product against its bound (with the other "
        "sign: two clients, two steps of 1/48, losses ±(P w11 + Q w22 + w22^2/2) + <slope, w>)",
    )  # fmt: skip


@replay("fedlrt/thm-11-hat-second")
def thm_11_hat_second(values: Values) -> Violation:
    """One step."""
    outside, square, delta, rate, unmet = _linear(values)
    return Violation(rate**2 * outside / 2, delta**2 * rate**2 * square / 2, unmet=unmet,
                     reads="one client, one step, loss <slope, w>: square against its bound")  # fmt: skip


@replay("fedlrt/thm-11-combine")
def thm_11_combine(values: Values) -> Violation:
    """Step (I), in units of the squared gradient; the block has less than all of it."""
    L, x, delta, share = fractions(values, "L", "x", "delta", "share")
    met = L > 0 and 0 < 12 * x * L <= 1 and 0 < delta <= Fraction(1, 10) and 1 - delta**2 <= share <= 1
    rest = delta * x + delta * x**2
    first = -x * (1 - 12 * x * L)
    unmet = "" if met else "0 < lambda <= 1/(12 L s), delta << 1, a share of the block"
    return Violation(first * share + rest, first + rest, unmet=unmet, reads="first line against the second")
