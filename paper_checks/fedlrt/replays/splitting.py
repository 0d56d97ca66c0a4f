"""Replays of the claims in ``splitting``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Hypothesis, Violation, replay
from paper_checks.stored_values import Values, fractions


@replay("fedlrt/thm-5")
def thm_5(values: Values) -> Violation:
    r"""A flat loss, both flows at rest, for any $d_2, d_3 > 0$: $\Delta t$ in units of $d_3$, the rest of $d_2d_3$.

    A flat loss has every L and every B, so that constants that depend on these are any numbers; a bound with $d_2$ or
    $d_3$ at most 0 implies the one with positive numbers in their place.
    """
    time, theta, cut = fractions(values, "time over d_3", "theta over d_2 d_3", "cut part over d_2 d_3")
    assumes = [
        Hypothesis("Delta t over d_3", time, ">", 0),
        Hypothesis("cut part over d_2 d_3", cut, ">", 0),
        Hypothesis("cut part over d_2 d_3", cut, "<", theta),
    ]
    # d_2 Delta t and d_3 theta / Delta t, over d_2 d_3.
    return Violation(
        cut,
        time + theta / time,
        assumes=assumes,
        reads="flat loss, epsilon = 0, any numbers d_2 > 0 and d_3 > 0: the cut part, against "
        "d_2 Delta t + d_3 theta / Delta t, both over d_2 d_3",
    )


def _cut_back(values: Values, added: str, reads: str) -> Violation:
    r"""From diag(a, 0) a round moves the entry (2, 2) alone, by at most $m\lambda$, and truncation takes it back.

    The gradient of $\frac12\|W - \mathrm{diag}(a, m)\|^2$ is -m there, and the second axis completes both bases.
    """
    largest, missing, rate, theta = fractions(values, "largest", "missing", "rate", "theta")
    assumes = [
        Hypothesis("lambda L, or L Delta t", rate, ">", 0),
        Hypothesis("lambda L, or L Delta t", rate, "<=", 1),
        Hypothesis("norm of the gradient", missing, ">", 0),
        Hypothesis(f"{added}, which is at least what a round adds, against theta", rate * missing, "<", theta),
        Hypothesis("the singular value that stays, against theta", largest, ">", theta),
        Hypothesis("the singular value that stays, against the entry to be reached", largest, ">=", missing),
    ]
    before = after = missing**2 / 2
    return Violation(
        after,
        before,
        strict=True,
        assumes=assumes,
        reads=reads,
        given={"start, and end of every round": [[largest, 0], [0, 0]]},
    )


@replay("fedlrt/claim-robust@no-limit-at-all-with-truncation")
def claim_robust(values: Values) -> Violation:
    """One explicit step."""
    return _cut_back(
        values,
        "lambda times the gradient",
        "n = 2, one client, loss |W - diag(largest, missing)|^2/2 from diag(largest, 0): loss after a "
        "round, which should be below that before",
    )


@replay("fedlrt/claim-robust@guaranteed-by-theorem-5")
def claim_robust_exact(values: Values) -> Violation:
    r"""Exact flows: K and L stay, and the entry comes to $m(1 - e^{-\Delta t})$, which is below $m\Delta t$."""
    return _cut_back(
        values,
        "Delta t times the gradient",
        "n = 2, loss |W - diag(largest, missing)|^2/2 from diag(largest, 0), K, L and S integrated "
        "exactly: loss after a round, which should be below that before",
    )


@replay("fedlrt/eq-17")
def eq_17(values: Values) -> Violation:
    """Columns of Ut' U_0, which is 2r by r, against the rows of the 2r by 2r matrix beside it."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(
        Fraction(abs(r - 2 * r)),
        Fraction(0),
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
        reads="columns of the first factor against rows of the second, difference",
    )
