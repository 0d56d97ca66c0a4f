"""Lemma 3 (Appendix F) and the update in augmented bases (eq. (26)).

Setting: `shared.chains`.

Setting: `shared.update_symbols`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.singular_values import symbols_of
from paper_checks.fedlrt.replays.shared.update_symbols import RATE, S_c, chain_rule, corrected, g, g_c, g_s, same, wide
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, assuming, proof, replay, require
from paper_checks.stored_values import Values, square


@proof("fedlrt/eq-26")
def eq_26(sign: Fraction = Fraction(1), stale: Fraction = Fraction(1), whole: Fraction = Fraction(1)) -> str:
    r"""All three gradients of (8) are $\tilde U^\top(\cdot)\tilde V$ of gradients in W, by the chain rule."""
    printed = S_c + sign * RATE * wide(-g_s - stale * (-g_c) + whole * (-g))
    chain_rule()
    same(printed, corrected(S_c, wide(g) - wide(g_c)), "not the step of (8)")
    return "the chain rule turns (8) into (26), with F as the negative gradient"


@replay("fedlrt/eq-26-gradients")
def eq_26_gradients_as_printed(values: Values) -> Violation:
    """Losses |W - A|^2 / 2 at W = S e1 e1^T, r = 1: the augmented bases are the axes of the plane, where 2r = n."""
    targets, S = [square(target, 2) for target in values["targets"]], Fraction(values["S"])
    slopes = [[S - a, -b, -c, -d] for (a, b), (c, d) in targets]
    assumes = assuming(
        Hypothesis("S", S, "!=", 0),
        Hypothesis("gradient of U across U", sum(slope[2] for slope in slopes) * S, "!=", 0),
        Hypothesis("gradient of V across V", sum(slope[1] for slope in slopes) * S, "!=", 0),
    )
    forces = [[-entry for entry in slope] for slope in slopes]
    apart = [max(abs(f - g) for f, g in zip(*pair, strict=True)) for pair in zip(forces, slopes, strict=True)]
    means = [sum(entries) / len(forces) for entries in zip(*forces, strict=True)]
    third = min(max(abs(f - g) for f, g in zip(force, means, strict=True)) for force in forces)
    name = "third equation with the other sign, largest entry of F_c - F for the client where it is smallest"
    return Violation(
        min(apart),
        0,
        assumes=(*assumes, Hypothesis(name, third, ">", 0)),
        given={"gradients by rows": slopes, "F": forces},
        reads="the losses are |W - A|^2 / 2 with a target A, and at W = S e1 e1^T the augmented bases are the axes. "
        "We compute the largest entry of the left side minus the right side, for the client where it is smallest",
    )


@proof("fedlrt/eq-26-gradients")
def eq_26_gradients(sign: Fraction = Fraction(-1)) -> str:
    r"""The chain rule with $F_c = -\nabla_W\mathcal{L}_c$ and, for the mean loss, with $F = -\nabla_W\mathcal{L}$."""
    chain_rule(-sign)
    return r"$\tilde U^\top F\tilde V = -\nabla_{\tilde S}\mathcal{L}$ for every loss"


@replay("fedlrt/lemma-3")
def lemma_3_as_printed(values: Values) -> Violation:
    """Compare columns of U with rows of F in the printed product of (25)."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(
        abs(n - r),
        0,
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("r", r, "<=", n)],
        reads="we compute the difference between the number of rows of F and the number of columns of U",
    )


@proof("fedlrt/lemma-3")
def lemma_3(constant: Fraction = Fraction(1), sizes: Sequence[tuple[int, int]] = ((2, 1), (3, 2), (4, 4))) -> str:
    r"""Projection loses norm, and $\|USV^\top\| = \|S\|$.

    Complete U and V to orthogonal matrices. They leave the Frobenius norm of $A = F(US_1V^\top) - F(US_2V^\top)$ as it
    is; the entries of $U^\top AV$, and of $P_UAP_V$ in these bases, are some of the entries, so the square of
    their norm is less by a sum of squares. Then $\|A\| \le L\|U(S_1 - S_2)V^\top\| = L\|S_1 - S_2\|$, by
    $U^\top U = V^\top V = I$ in the trace. F(W) = LW attains it.
    """
    require(len(sizes) > 0, "no sizes")
    for n, r in sizes:
        A = symbols_of("A", n, n)
        whole = sum(a**2 for a in A)
        part = sum(a**2 for a in A[:r, :r])
        require(r <= n and non_negative(constant**2 * whole - part), f"more than {constant} at {n}, {r}")
        # Attained: a matrix that lives in the corner.
        corner = whole.subs({A[i, j]: 0 for i in range(n) for j in range(n) if i >= r or j >= r})
        require(sympy.expand(constant**2 * corner - part) == 0, "not the least constant")
    return "in completed bases the projection drops entries; F(W) = LW attains the bound"


@proof("fedlrt/lemma-3-proof@operator-norms-of-the-bases")
def lemma_3_proof(constant: Fraction = Fraction(1), sizes: Sequence[tuple[int, int]] = ((2, 1), (3, 2), (4, 4))) -> str:
    r"""Orthonormal bases and their transposes have the operator norm 1, so steps (II) are equalities.

    Step (I): a product has at most the Frobenius norm of one factor times the operator norms of the others. Here it can
    be seen at once: in U and V, completed to orthogonal matrices, $P_UDP_V$ has some of the entries of D, and
    $U(S_1 - S_2)V^\top$ the entries of $S_1 - S_2$ and zeros. (III) is L-continuity.
    """
    require(len(sizes) > 0, "no sizes")
    for n, r in sizes:
        D = sympy.Matrix(n, n, lambda i, j: sympy.Symbol(f"d_{i}_{j}", positive=True))
        change = D[:r, :r]
        placed = sympy.diag(change, sympy.zeros(n - r, n - r))
        whole, part = (sum(entry**2 for entry in one) for one in (D, change))
        require(r <= n and non_negative(whole - part), f"step (I) at {n}, {r}")
        last = constant**2 * part - sum(entry**2 for entry in placed)
        require(non_negative(last), f"the last steps at {n}, {r}")
    return "the bases have operator norm 1, and we compare entries in completed bases"


@replay("fedlrt/lemma-3-proof")
def lemma_3_proof_as_printed(values: Values) -> Violation:
    """U and V of the first r columns of I, D with one entry 1: squares of both sides of step (II)."""
    r = int(values["r"])
    basis = Fraction(r)  # the square of the Frobenius norm of r columns of I
    return Violation(
        basis**4,
        1,
        assumes=[Hypothesis("r", r, ">=", 1)],
        reads="U and V consist of r columns of I, and D has one entry 1. We compare |U|^2|U'|^2|D|^2|V|^2|V'|^2 "
        "with |D|^2",
    )
