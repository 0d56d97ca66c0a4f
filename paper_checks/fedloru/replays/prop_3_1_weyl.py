"""Appendix A.3, proof of Proposition 3.1: eigenvalues by Weyl's inequalities.

Setting: `shared.dimension_counts`.
"""

from __future__ import annotations

from paper_checks.fedloru.replays.shared.dimension_counts import between, i, j, lower, n, upper
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedloru-v2/eq-21-25")
def eq_21_25(p_shift: int = 0, q_shift: int = 0) -> str:
    r"""Weyl's inequalities (Lemma A.3) for every R (n below), p, q and i.

    They are used at $\lambda_{p+1}(H_{\mathrm{true}}) \le 0 \le \lambda_{R-q}(H_{\mathrm{true}})$.
    """
    require(upper(i + j - 1), "Weyl's upper inequality")
    require(lower(i + j - n), "Weyl's lower inequality")
    between(p_shift, q_shift)
    return "we follow the indices of Weyl's inequalities, with n, i, p and q as symbols"


@replay("fedloru-v1/eq-20-22")
def eq_20_22(values: Values) -> Violation:
    """Diagonal matrices: the eigenvalues are the sorted entries."""
    true, errors = [int(v) for v in values["H_true"]], [int(v) for v in values["epsilon"]]
    j, k, R = int(values["j"]), int(values["k"]), len(true)
    both = [a + b for a, b in zip(true, errors, strict=True)]
    p, q = sum(v > 0 for v in true), sum(v < 0 for v in true)
    i = j + k - R
    assumes = (
        Hypothesis("j", j, ">=", 1),
        Hypothesis("j", j, "<=", R),
        Hypothesis("k", k, ">=", 1),
        Hypothesis("k", k, "<=", R),
        Hypothesis("i = j + k - R, against the number p of positive eigenvalues", i, ">", p),
        Hypothesis("i, against R - q, q the number of negative ones", i, "<", R - q),
    )
    left = sorted(both, reverse=True)[(i - 1) % R]
    right = sorted(true, reverse=True)[(i - j - 1) % R] + sorted(errors, reverse=True)[(i - k - 1) % R]
    return Violation(
        left, right, assumes=assumes, reads="we compare lambda_i(H_N), in the second line, with the printed upper bound"
    )


@proof("fedloru-v1/eq-20-22")
def v1_eq_20_22(
    first: int = 1, second: int = -1, first_shift: int = 0, second_shift: int = 0, p_shift: int = 0, q_shift: int = 0
) -> str:
    r"""The two lines are Weyl's inequalities with $1 + i - j = k$ and $R + i - j = k$: at most, and at least.

    The conclusion follows from the first at $\lambda_{p+1}(H_{\mathrm{true}}) \le 0$ and from the second, in that
    direction, at $\lambda_{R-q}(H_{\mathrm{true}}) \ge 0$.
    """
    require(first == 1 and upper(i + j - 1 + first_shift), "the first line, at most")
    require(second == -1 and lower(i + j - n + second_shift), "the second line, at least")
    between(p_shift, q_shift)
    return "we follow the indices of Weyl's inequalities, with n, i, j, p and q as symbols"
