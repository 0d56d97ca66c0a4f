"""Section 3.1, end: how far FeDLRT's solution is from a full-rank one."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("fedlrt/claim-close-to-full")
def claim_close_as_printed(values: Values) -> Violation:
    """Evaluate the loss (W_33 - 1)^2 / 2 from e1 e1': where gradient descent ends, and where steps in the bases do.

    The gradient is a multiple of e3 e3', a matrix of rank one at every point but the minimisers. It takes e1 to 0, so
    that a QR decomposition of [e1|0] decides on the second column; any unit vector across e1 is one.
    """
    rate, rounds = Fraction(values["rate"]), int(values["rounds"])
    entry, completion = int(values["entry"]), int(values["completion"])
    free = low = Fraction(0)  # the third diagonal entry
    basis = {0, completion}
    for _ in range(rounds):
        free -= rate * (free - 1)
        low -= rate * (low - 1) if entry in basis else 0
    assumes = (
        Hypothesis("place of the second basis vector", completion, "!=", 0),
        Hypothesis("place of the target's entry", entry, "!=", 0),
        Hypothesis("lambda L", rate, ">", 0),
        Hypothesis("lambda L", rate, "<", 1),
        Hypothesis("rounds", rounds, ">=", 1),
    )
    return Violation(
        abs(free - low),
        0,
        assumes=assumes,
        reads="loss (W_33 - 1)^2 / 2 from e1 e1', second basis vectors e2: distance from the full-rank weights, "
        "where gradients have rank one and nothing is cut, against a constant times 0",
    )


@proof("fedlrt/claim-close-to-full@normal-to-the-manifold")
def claim_close(own: Fraction = Fraction(1), stale: Fraction = Fraction(2)) -> str:
    r"""What the bases miss, one client in one round, then the mean, then rounds.

    **The bases.** Let G be the mean gradient at the start of a round. The wide bases contain U and GV, V and
    $G^\top U$, so they represent $UU^\top G + GVV^\top - UU^\top GVV^\top$, all of G but its normal part. Projection
    onto them is orthogonal, so it leaves out at most $\epsilon$ of G.

    **Drift.** FeDLRT's local step follows the projection of $\nabla\mathcal{L}_c(x) - \nabla\mathcal{L}_c(x_0) + G$.
    Let $\delta_k$ be the distance of a client's weights from $x_0$. Then $\delta_{k+1} \le \delta_k + \lambda(L\delta_k
    + B)$, so $\delta_k \le ((1 + \lambda L)^k - 1)B/L$. The step leaves out at most $m_k = \epsilon + L\delta_k$, which
    is at most $\epsilon + ((1 + \lambda L)^k - 1)B$.

    **A round.** Let D be the distance of the servers' weights at the start and $d_k$ that of a client's weights after
    k steps, $d_0 = D$. FedLin's step follows the same expression without the projection, so $d_{k+1} \le d_k +
    \lambda(Ld_k + 2LD + m_k)$. Hence $d_k \le (3(1 + \lambda L)^k - 2)D + e_k$ with $e_0 = 0$ and $e_{k+1} = (1 +
    \lambda L)e_k + \lambda m_k$, which is $e_k = \frac{(1 + \lambda L)^k - 1}L(\epsilon - B) + \lambda k(1 + \lambda
    L)^{k - 1}B$. The mean over the clients is within the same, and truncation adds $\vartheta$.

    **Rounds.** With $e = e_{s_*} + \vartheta$, $D \mapsto (3a - 2)D + e$ from D = 0 gives the bound by induction. For
    one step of one round it is $\lambda\epsilon + \vartheta$, for two steps $(2\lambda + \lambda^2L)\epsilon +
    \lambda^2LB + \vartheta$. The three losses by hand attain them.

    **Order.** Let $h = \lambda s_*$ and $hL \le 1$. Then $a - 1 \le (e - 1)hL$, because $a \le e^{hL}$ and the
    exponential is convex. $e_{s_*} = \lambda\sum_k(1 + \lambda L)^{s_* - 1 - k}m_k$ is at most $\frac{a - 1}L(\epsilon
    + (a - 1)B) \le (e - 1)h(\epsilon + (e - 1)hLB)$, and $3(a - 1) \ge 3hL$, so the whole is at most $\frac{e^{3(e -
    1)LTh} - 1}{3L}\left((e - 1)\epsilon + (e - 1)^2hLB + \vartheta/h\right)$.
    """
    rate, L, eps, theta, D, B, a, q, k, p = sympy.symbols("lambda L epsilon theta D B a q k p", positive=True)
    grow = 1 + rate * L
    # p is (1 + lambda L)^k.
    away = (p - 1) * B / L
    require(sympy.expand(away + rate * (own * L * away + B) - (grow * p - 1) * B / L) == 0, "the drift")
    missed = eps + L * away
    error = (p - 1) / L * (eps - B) + rate * k * p / grow * B
    after = (grow * p - 1) / L * (eps - B) + rate * (k + 1) * p * B
    require(sympy.simplify(grow * error + rate * missed - after) == 0, "what the steps leave out, added up")
    apart = (3 * p - 2) * D
    step = apart + rate * (own * L * apart + stale * L * D)
    require(sympy.expand(step - (3 * grow * p - 2) * D) == 0, "what a round multiplies")
    # q is (3a - 2)^T, e what a round adds.
    e = sympy.Symbol("e", positive=True)
    summed = (q - 1) / (3 * (a - 1)) * e
    following = ((3 * a - 2) * q - 1) / (3 * (a - 1)) * e
    require(sympy.simplify((3 * a - 2) * summed + e - following) == 0, "the induction over the rounds")
    ends = [error.subs({p: grow**steps, k: steps}) + theta for steps in (1, 2)]
    require(sympy.simplify(ends[0] - (rate * eps + theta)) == 0, "one step of one round")
    two = (2 * rate + rate**2 * L) * eps + rate**2 * L * B + theta
    require(sympy.simplify(ends[1] - two) == 0, "two steps of one round")
    return (
        r"the wide bases miss $\epsilon$ of the mean gradient and $((1 + \lambda L)^k - 1)B$ after k steps; then "
        "induction over steps and rounds"
    )
