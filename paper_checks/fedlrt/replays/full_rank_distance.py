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


@proof("fedlrt/claim-close-to-full")
def claim_close(own: Fraction = Fraction(1), stale: Fraction = Fraction(2)) -> str:
    r"""One client in one round, then the mean, then rounds.

    Let D be the distance of the servers' weights at the start of a round and $d_k$ the distance of a client's weights
    after k steps, $d_0 = D$. FedLin's step is along $\nabla \mathcal{L}_c(x) - \nabla \mathcal{L}_c(x_0) +
    \nabla\mathcal{L}(x_0)$, FeDLRT's along the projection of the same expression, which differs from it by at most
    $\epsilon$. So $d_{k+1} \le d_k + \lambda(Ld_k + 2LD + \epsilon)$: $d_k + 2D + \epsilon/L$ grows by $1 + \lambda L$
    at most, and $d_{s_*} \le (3a - 2)D + (a - 1)\epsilon/L$. The mean over the clients is within the same, truncation
    adds $\vartheta$, and from D = 0 the bound stated follows by induction over T. For one step of one round it is
    $\lambda\epsilon + \vartheta$; then what the projection leaves out of the only direction, and what is cut, each by
    itself is the distance.
    """
    rate, L, eps, theta, D, d, a, q = sympy.symbols("lambda L epsilon theta D d a q", positive=True)
    step = d + rate * (own * L * d + stale * L * D + eps)
    kept = 2 * D + eps / L
    require(sympy.expand(step + kept - (1 + rate * L) * (d + kept)) == 0, "what a step multiplies")
    end = a * (D + kept) - kept
    require(sympy.expand(end - ((3 * a - 2) * D + (a - 1) * eps / L)) == 0, "the end of a round")
    per = eps / (3 * L) + theta / (3 * (a - 1))
    # q is (3a - 2)^T.
    after = (3 * a - 2) * (q - 1) * per + (a - 1) * eps / L + theta
    require(sympy.simplify(after - ((3 * a - 2) * q - 1) * per) == 0, "the induction over the rounds")
    single = ((3 * a - 3) * per).subs(a, 1 + rate * L)
    require(sympy.simplify(single - rate * eps - theta) == 0, "one step of one round")
    return r"$d_k + 2D + \epsilon/L$ grows by $1 + \lambda L$ in a step, then induction over the rounds"
