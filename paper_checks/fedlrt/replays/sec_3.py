"""Section 3: low-rank dynamics (eq. (5)), and what clients and server compute and send.

Setting: `shared.wide_bases`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.boxes import VARIANTS, exchanges, r, steps
from paper_checks.fedlrt.replays.shared.singular_values import tail_is_what_the_best_rank_misses
from paper_checks.fedlrt.replays.shared.update_symbols import same
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, square


@replay("fedlrt/eq-5")
def eq_5(values: Values) -> Violation:
    """Compare (5) as printed with the projected gradient: two rows and columns, rank one, U = V = e1."""
    s, G = Fraction(values["S"]), square(values["G"], 2)
    S_dot = -G[0][0]
    inverse = 1 / s if s else Fraction(0)
    U_dot = [Fraction(0), -G[1][0] * inverse]  # -(I - e1 e1') G e1 / s
    V_dot = [Fraction(0), -G[1][0] * inverse]  # the same as printed, with G and not its transpose
    moved = [[S_dot, s * V_dot[1]], [s * U_dot[1], Fraction(0)]]
    projected = [[-G[0][0], -G[0][1]], [-G[1][0], Fraction(0)]]
    apart = max(abs(moved[i][j] - projected[i][j]) for i in range(2) for j in range(2))
    return Violation(
        apart,
        Fraction(0),
        assumes=[Hypothesis("S", s, "!=", 0)],
        given={"U": [1, 0], "V": [1, 0], "S": s, "gradient": G},
        reads="with U = V = e1 and gradient G, we compute the largest entry of the flow by (5) minus the projected "
        "flow",
    )


def admitted(sigma: list[Fraction], bound: Fraction) -> list[int]:
    """Return the ranks r1 with sigma_r1^2 + ... + sigma_2r^2 below the square of the threshold, as printed."""
    return [r for r in range(1, len(sigma) + 1) if sum((s * s for s in sigma[r - 1 :]), Fraction(0)) < bound]


@replay("fedlrt/claim-factors")
def claim_factors_as_printed(values: Values) -> Violation:
    """One step towards a multiple of the start e1 e1': both gradients are multiples of e1, S* is diag(s, 0)."""
    start, target, rate, tau = (Fraction(values[name]) for name in ("start", "target", "rate", "tau"))
    sigma = [abs(start - rate * (start - target)), Fraction(0)]
    ranks = admitted(sigma, (tau * sigma[0]) ** 2)
    smallest = sigma[min(ranks) - 1] if ranks else Fraction(1)
    assumes = (
        Hypothesis("start", start, "!=", 0),
        Hypothesis("tau", tau, ">", 0),
        Hypothesis("tau", tau, "<=", 1),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("largest singular value after the step", sigma[0], ">", 0),
        Hypothesis("n", int(values["size"]), ">=", 2),
    )
    return Violation(
        0,
        smallest,
        strict=True,
        assumes=assumes,
        reads="for the loss |W - target e1 e1'|^2 / 2 and one step from the weights start e1 e1', we compare "
        "0 with the smallest kept singular value, which should be greater",
    )


@proof("fedlrt/claim-factors@tail-from-the-first-value-that-is-cut")
def claim_factors(
    length: Fraction = Fraction(1), diagonal: Fraction = Fraction(1), after: int = 1, sizes: Sequence[int] = (2, 4, 6)
) -> str:
    r"""$U^{t+1} = \tilde UP_{r_1}$ with $\tilde S^* = P\Sigma Q^\top$, and $S^{t+1} = \Sigma_{r_1}$.

    $P_{r_1}^\top\tilde U^\top\tilde UP_{r_1} = P_{r_1}^\top P_{r_1} = I$, likewise V; $\Sigma_{r_1}$ is diagonal. The
    rule takes the first $r_1$ whose tail after it is below $\vartheta$; the tail from $r_1$ on is not, or is all of
    $\tilde S^*$ and at least $\vartheta$. So $\sigma_{r_1}^2$, the difference of the two squares, is positive, and so
    are the values before it.
    """
    wide, wide_t, P, P_t = sympy.symbols("W W^T P P^T", commutative=False)
    gram = sympy.expand(length**2 * P_t * wide_t * wide * P).subs(wide_t * wide, 1).subs(P_t * P, 1)
    kept = sympy.diag(*sympy.symbols("s_1:4"))
    same(gram, sympy.Integer(1), "the bases are not orthonormal")
    same(diagonal * kept, kept, "another diagonal")
    tail_is_what_the_best_rank_misses(after, sizes)
    return r"$\tilde UP_{r_1}$ is orthonormal, $\Sigma_{r_1}$ diagonal, and its last value positive"


@proof("fedlrt/claim-server-qr-svd@augmented-coefficients")
def claim_server_qr_svd(sides: Fraction = Fraction(2)) -> str:
    r"""The factorisations of Algorithms 1 and 5 are QR of $[U|G_U]$, $[V|G_V]$ and the SVD of $\tilde S^*$.

    All three are in lines of the server. What a client sends after its local steps is $\tilde S_c$, 2r by 2r.
    """
    side = sides * r
    factored = [one for one in steps() if one.does != "product"]
    require({one.place for one in factored} == {"server"}, "a factorisation on a client")
    require({one.does for one in factored} == {"QR", "SVD"}, "other factorisations")
    for one in VARIANTS:
        require(exchanges(one)[-1].back == {"St_c": (side, side)}, f"another upload, {one}")
    return "QR and SVD occur only in lines of the server, and what the clients send last has the stated shape"


@replay("fedlrt/claim-server-qr-svd")
def claim_server_qr_svd_as_printed(values: Values) -> Violation:
    """Compare the entries of what Algorithm 1's clients update and send in line 16 with those of an r by r matrix."""
    n, r = int(values["n"]), int(values["r"])
    return Violation(
        (2 * r) ** 2,
        r**2,
        assumes=[Hypothesis("r", r, ">=", 1), Hypothesis("2r", 2 * r, "<=", n)],
        reads="we compare the number of entries of the matrix that a client optimises in Algorithm 1 with r^2",
    )


@proof("fedlrt/claim-two-rounds")
def claim_two_rounds(rounds: Fraction = Fraction(2)) -> str:
    r"""A communication round is what the server sends and the answers: both methods have two.

    FedLin: weights and gradients, the mean gradient and weights. FeDLRT without and with the simplified correction:
    factors and their gradients, $\bar U$, $\bar V$ (and $G_S$) and coefficients.
    """
    for method, first, last in (
        ("FedLin", {"G_c"}, {"W_c"}),
        ("none", {"G_U", "G_V"}, {"St_c"}),
        ("simplified", {"G_U", "G_V", "G_S"}, {"St_c"}),
    ):
        sent = exchanges(method)
        require(len(sent) == rounds, f"another number of rounds, {method}")
        answers = set(sent[0].back), set(sent[-1].back)
        require(answers == (first, last), f"other answers, {method}")
    return "the first communication round carries gradients, the second the results of the local steps"
