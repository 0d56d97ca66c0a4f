"""Replays of the claims in ``simplified_steps``, in fractions."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.fedlrt.replays.simplified import LOSSES, Opposite, entries, inner, opposite
from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedlrt/eq-39b")
def eq_39b_as_printed(values: Values) -> Violation:
    """Upper left entry for the first client: gradient minus own gradient, against F - F_c with F = -gradient."""
    at = opposite(values)
    (P,) = fractions(values, "apart_inside")
    inside = at.slope[0]
    correction, printed = inside - (P + inside), -inside + (P + inside)
    return Violation(
        abs(correction - printed),
        Fraction(0),
        assumes=at.assumes,
        given=at.given,
        reads=f"{LOSSES}: correction minus first expression",
    )


def _first_step(values: Values) -> tuple[Opposite, Fraction, list[Fraction]]:
    """Entry (1, 1) of the first client after one step: by Algorithm 5, or (45), and by both expressions of (40)."""
    at = opposite(values)
    (P,) = fractions(values, "apart_inside")
    inside = at.slope[0]
    own = P + inside
    correction = inside - own
    return at, -at.rate * (own + correction), [at.rate * (-own + (-own + inside)), -at.rate * own + correction]


STEPS = f"{LOSSES}: first step of client 1 by Algorithm 5 and (45), distance from the nearer expression of (40)"


@replay("fedlrt/eq-40")
def eq_40_as_printed(values: Values) -> Violation:
    """The nearer expression; and the second one with the sign of Algorithm 5, which lacks lambda."""
    at, after, printed = _first_step(values)
    name = "second expression with the sign put right, distance for want of lambda"
    lost = Hypothesis(name, abs((1 - at.rate) * at.P), ">", 0)
    return Violation(
        min(abs(after - one) for one in printed), Fraction(0), assumes=(*at.assumes, lost), given=at.given, reads=STEPS
    )


@replay("fedlrt/eq-45")
def eq_45_as_printed(values: Values) -> Violation:
    """The nearer expression."""
    at, after, printed = _first_step(values)
    return Violation(
        min(abs(after - one) for one in printed), Fraction(0), assumes=at.assumes, given=at.given, reads=STEPS
    )


@replay("fedlrt/eq-42")
def eq_42_as_printed(values: Values) -> Violation:
    """Blocks of two by two, other than the upper left one: how many of them have a row other than their column."""
    stated = int(values["stated"])
    others = [(row, column) for row in (1, 2) for column in (1, 2) if (row, column) != (1, 1)]
    return Violation(
        stated,
        sum(row != column for row, column in others),
        assumes=[Hypothesis("blocks off the diagonal, as stated", stated, "=", 3)],
        reads="three blocks off the diagonal, as stated, against those of two by two blocks without the upper left one",
    )


@replay("fedlrt/eq-43-44")
def eq_43_44_as_printed(values: Values) -> Violation:
    """Change of the loss against the printed right side, F = -gradient, L = 1."""
    at = opposite(values)
    right = -at.change + inner(at.moved, at.moved) / 2
    return Violation(
        at.change,
        right,
        assumes=at.assumes,
        given=at.given,
        reads=f"{LOSSES}: change of the loss, against the printed right side",
    )


@replay("fedlrt/eq-46")
def eq_46_as_printed(values: Values) -> Violation:
    """The block alone, L = 1, with the sign that the statement needs: with the printed one it fails as well."""
    at = opposite(values)
    p, inside = at.moved[0], at.slope[0]
    right = -at.whole * (1 - 12 * at.whole) * inside**2
    printed = -p * inside + p**2 / 2
    fails = Hypothesis("left side with the printed sign", printed, ">", right)
    return Violation(
        p * inside + p**2 / 2,
        right,
        assumes=(*at.assumes, fails),
        given=at.given,
        reads=f"{LOSSES}: left side of (46) with the opposite sign (with the printed one it is "
        f"{float(printed):.5g}), against the right one",
    )


def _linear(values: Values) -> tuple[Fraction, Fraction, Fraction, Fraction, list[Hypothesis]]:
    """Squared gradient outside the block, squared gradient, delta, rate, and what is assumed; L = 1, s = 1.

    One client with the loss ``<slope, w>``: its gradients are the global ones, the same everywhere.
    """
    slope = entries(values["slope"])
    size, delta, rate = fractions(values, "norm", "delta", "step")
    assumes = [
        Hypothesis("squared norm of the gradient", inner(slope, slope), "=", size**2),
        Hypothesis("norm of the gradient", size, ">", 0),
        Hypothesis("gradient of V across V", slope[1], "!=", 0),
        Hypothesis("gradient of U across U", slope[2], "!=", 0),
        Hypothesis("lambda", rate, ">", 0),
        Hypothesis("12 s lambda L", 12 * rate, "<=", 1),
        Hypothesis("delta", delta, ">", 0),
        Hypothesis("delta, for delta << 1", delta, "<=", Fraction(1, 10)),
        Hypothesis("(14): gradient minus its block", size - abs(slope[0]), "<", delta * size),
    ]
    return size**2 - slope[0] ** 2, size**2, delta, rate, assumes


def _two_opposite(values: Values, delta: Fraction) -> tuple[list[Fraction], list[Hypothesis]]:
    """Mean move of two opposite clients in two steps of 1/48, and (14) for their losses at each."""
    P, Q = fractions(values, "apart_inside", "apart_outside")
    slope, step, ends, assumes = entries(values["slope"]), Fraction(1, 48), [], []
    for sign in (1, -1):
        w = [Fraction(0)] * 4
        for _ in range(2):
            own = [sign * P + slope[0], slope[1], slope[2], sign * (Q + w[3]) + slope[3]]
            c = delta * Fraction(values["norm"])
            name = "(14), one of two opposite clients: squared gradient outside the block"
            assumes.append(Hypothesis(name, inner(own[1:], own[1:]), "<", 2 * abs(own[0]) * c + c**2))
            w = [a - step * (slope[0] if i == 0 else b) for i, (a, b) in enumerate(zip(w, own, strict=True))]
        ends.append(w)
    return [(a + b) / 2 for a, b in zip(*ends, strict=True)], assumes


@replay("fedlrt/thm-11-hat-first")
def thm_11_hat_first_as_printed(values: Values) -> Violation:
    """One client, one step, with the printed sign; two opposite clients, two steps of 1/48, with the other one."""
    outside, square, delta, rate, assumes = _linear(values)
    moved, more = _two_opposite(values, delta)
    bound = delta**2 * Fraction(1, 24) * square
    product = inner(entries(values["slope"])[1:], moved[1:])
    assumes += [*more, Hypothesis("inner product with the other sign, two clients", product, ">", bound)]
    return Violation(
        rate * outside,
        delta**2 * rate * square,
        assumes=assumes,
        reads="one client, one step, loss <slope, w>: inner product against its bound (with the other "
        "sign: two clients, two steps of 1/48, losses ±(P w11 + Q w22 + w22^2/2) + <slope, w>)",
    )


@replay("fedlrt/thm-11-hat-second")
def thm_11_hat_second_as_printed(values: Values) -> Violation:
    """One step."""
    outside, square, delta, rate, assumes = _linear(values)
    return Violation(
        rate**2 * outside / 2,
        delta**2 * rate**2 * square / 2,
        assumes=assumes,
        reads="one client, one step, loss <slope, w>: square against its bound",
    )


@replay("fedlrt/thm-11-hat-lines")
def thm_11_hat_lines_as_printed(values: Values) -> Violation:
    """The printed equality after Assumption 1, over delta^2; and the one in the second term, with the global loss.

    For that two opposite clients take two steps of 1/48; the global gradient is the slope everywhere.
    """
    outside, square, delta, rate, assumes = _linear(values)
    moved, more = _two_opposite(values, delta)
    slope, whole = entries(values["slope"]), Fraction(1, 24)
    stated, walked = (inner(one[1:], one[1:]) for one in ([whole * a for a in slope], moved))
    assumes += [
        *more,
        Hypothesis("squared steps outside the block by the global loss, two clients", stated, "!=", walked),
    ]
    return Violation(
        rate * (square - outside),
        Fraction(0),
        assumes=assumes,
        reads="one client, one step, loss <slope, w>: s lambda times the squared gradient, all of it, minus that "
        "outside the block, which are printed to be equal (in the second term, two clients, two steps of 1/48, losses "
        "±(P w11 + Q w22 + w22^2/2) + <slope, w>: the squared steps are not those by the global loss, "
        f"{float(walked):.4g} and {float(stated):.4g})",
    )


@replay("fedlrt/thm-11-combine")
def thm_11_combine_as_printed(values: Values) -> Violation:
    """Step (I), in units of the squared gradient; the block has less than all of it."""
    L, x, delta, share = fractions(values, "L", "x", "delta", "share")
    assumes = (
        Hypothesis("L", L, ">", 0),
        Hypothesis("x", x, ">", 0),
        Hypothesis("12 x L", 12 * x * L, "<=", 1),
        Hypothesis("delta", delta, ">", 0),
        Hypothesis("delta, for delta << 1", delta, "<=", Fraction(1, 10)),
        Hypothesis("share of the block in the squared gradient", share, ">=", 1 - delta**2),
        Hypothesis("share of the block in the squared gradient", share, "<=", 1),
    )
    rest = delta * x + delta * x**2
    first = -x * (1 - 12 * x * L)
    last = -x * (1 - delta**2 - 12 * x * L + delta**2 * x)
    unequal = Hypothesis("second line, which is printed to equal the third", first + rest, "!=", last)
    return Violation(
        first * share + rest,
        first + rest,
        assumes=(*assumes, unequal),
        reads="x = s_* lambda, share = |U'FV|^2 / |Ut'FVt|^2: first line against the second, both in "
        "units of |Ut'FVt|^2",
    )
