"""Section 3.1, end: how far FeDLRT's solution is from a full-rank one."""

from __future__ import annotations

from fractions import Fraction

import sympy

from paper_checks.enclosures import enclose
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@replay("fedlrt/claim-close-to-full")
def claim_close_as_printed(values: Values) -> Violation:
    r"""Evaluate the loss (W_33 - 1)^2 / 2 + eta (W_12 + W_21) from e1 e1', r = 1, with one step in each round.

    The gradient (W_33 - 1) e3 e3' + eta (e1 e2' + e2 e1') is sqrt(2) eta away from rank one while 1 - W_33 > eta. It
    takes e1 to eta e2, so the augmented bases are those of e1, e2, and W_33 stays 0 in them. A step in them has the
    length sqrt(2) lambda eta and starts at rank one, so truncation to rank one cuts at most that.
    """
    rate, eta = Fraction(values["rate"]), Fraction(values["eta"])
    rounds, constant = int(values["rounds"]), int(values["constant"])
    left = (1 - rate) ** rounds
    assumes = (
        Hypothesis("eta", eta, ">", 0),
        Hypothesis("eta, against 1 - W_33", eta, "<", left),
        Hypothesis("lambda L", rate, ">", 0),
        Hypothesis("lambda L", rate, "<", 1),
        Hypothesis("rounds", rounds, ">=", 1),
    )
    near = enclose("sqrt", 2)[1] * eta
    return Violation(
        1 - left,
        constant * (near + rate + near),
        assumes=assumes,
        reads="the loss is (W_33 - 1)^2 / 2 + eta (W_12 + W_21), the start is e1 e1', r = 1 and h = lambda. The bound "
        "also fails for every other constant c, if lambda T is fixed and eta and lambda are small enough. We compare "
        "the distance from the full-rank weights in the entry W_33 with c (epsilon + h + theta / h)",
    )


@proof("fedlrt/claim-close-to-full@normal-to-the-manifold")
def claim_close(own: Fraction = Fraction(1), stale: Fraction = Fraction(2)) -> str:
    r"""Bound what the bases miss, then one client in one round, the mean, and rounds.

    **The bases.** Let G be the mean gradient at the start of a round. As S is invertible, the augmented bases contain U
    and GV, V and $G^\top U$. So they represent $UU^\top G + GVV^\top - UU^\top GVV^\top$, all of G but its normal part.
    Projection onto them is orthogonal, so it leaves out at most $\epsilon$ of G.

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
    \lambda^2LB + \vartheta$. Three losses by hand attain one term each, the others being 0.

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
        r"the augmented bases leave out at most $\epsilon$ of the mean gradient, and at most $((1 + \lambda L)^k - "
        "1)B$ more of a client's direction after k steps; the rest is an induction over steps and rounds"
    )
