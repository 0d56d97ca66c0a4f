"""Section 2: where many rounds of FedAvg and FedLin lead, client drift and its correction.

Setting: `shared.full_correction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.shared.boxes import exchanges
from paper_checks.fedlrt.replays.shared.full_correction import full_correction_descends
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values


@proof("fedlrt/claim-fedlin")
def claim_fedlin(limit: Fraction = Fraction(1), steps: Sequence[int] = (1, 2, 3, 10, 100, 1000), more: int = 1) -> str:
    r"""L-smooth clients, L bounded below, any constant $0 < \lambda \le 1/(Ls_*)$; the clients need not be convex.

    FedLin, where each client descends by $\nabla\mathcal{L}_c - V_c$, is the full correction with $U = V = I$, so each
    round lowers the loss by at least $\frac\lambda2\|\nabla\mathcal{L}(w^t)\|^2$, by what `shared.local_steps` proves
    and $1 - (1 - \frac1{2s_*})x \ge \frac1{2s_*}$. The sum over all rounds is at most $\mathcal{L}(w^1) -
    \inf\mathcal{L}$: the gradients tend to 0, and every limit of iterates is a stationary point. If $\mathcal{L}$ is
    convex and has one minimiser, the set where $\mathcal{L} \le \mathcal{L}(w^1)$ is bounded; the iterates stay in it,
    all of their limits are stationary, hence the minimiser, and they converge to it. The correction needs the mean
    gradient at the start, which takes one more exchange than FedAvg's weights and their mean.
    """
    full_correction_descends(limit, steps)
    rounds = len(exchanges("FedAvg")) + more
    require(len(exchanges("FedLin")) == rounds, "another number of communication rounds")
    return (
        "every round lowers the loss by a fraction of the squared gradient, so the sum over the rounds is finite; a "
        "convex loss with one minimiser has bounded level sets"
    )


@replay("fedlrt/claim-fedlin@any-constant-learning-rate")
def claim_fedlin_with_long_steps(values: Values) -> Violation:
    """Run one round of FedLin from 1, clients with losses h (w - c)^2 / 2 of one number whose mean is least at 0.

    A round is linear: it multiplies every distance from the minimiser by the same factor.
    """
    curvatures, centres = ([Fraction(one) for one in values[name]] for name in ("curvatures", "centres"))
    rate, steps = Fraction(values["rate"]), int(values["steps"])
    clients = list(zip(curvatures, centres, strict=True))
    slope = sum((-h * c for h, c in clients), Fraction(0)) / len(clients)
    assumes = (
        Hypothesis("gradient of the mean loss at 0", slope, "=", 0),
        *(Hypothesis(f"h of client {c}", h, ">", 0) for c, h in enumerate(curvatures, 1)),
        Hypothesis("learning rate", rate, ">", 0),
        Hypothesis("local steps", steps, ">=", 1),
    )
    start, ends = Fraction(1), []
    mean = sum((h * (start - c) for h, c in clients), Fraction(0)) / len(clients)
    for h, c in clients:
        w = start
        for _ in range(steps):
            w -= rate * (h * (w - c) - h * (start - c) + mean)
        ends.append(w)
    return Violation(
        abs(sum(ends, Fraction(0)) / len(ends)),
        start,
        assumes=assumes,
        reads="for FedLin and the losses h (w - c)^2 / 2 of one number, we compare the distance from the minimiser 0 "
        "after a round with the distance before it; every round multiplies the distance by the same factor",
    )


@proof("fedlrt/claim-drift")
def claim_drift(limit: Fraction = Fraction(1), power: int = 1, steps: Sequence[int] = (1, 2, 5)) -> str:
    r"""Losses $\frac{h_c}2(w - m_c)^2$, $m_1 \ne m_2$, $h_1 < h_2$; $a = 1 - \lambda h_1 > b = 1 - \lambda h_2 > 0$.

    s local steps take w to $m_c + a^s(w - m_c)$, and likewise with b. A round contracts by $\frac12(a^s + b^s) < 1$ and
    stays at $m_2 + \rho_s(m_1 - m_2)$ with $\rho_s = \frac{1 - a^s}{(1 - a^s) + (1 - b^s)}$. $\rho_1 = \frac{h_1}{h_1 +
    h_2}$ is the global minimiser and $\rho_s \to \frac12$ the mean of both. $\rho_s$ grows with s, as the quotient of
    $A_s = \sum_{k<s}a^k$ and $B_s = \sum_{k<s}b^k$ does: $A_{s+1}B_s - A_sB_{s+1} = \sum_{k<s}a^kb^k(a^{s-k} -
    b^{s-k}) > 0$. The distance from the minimiser is $(\rho_s - \rho_1)|m_1 - m_2|$.
    """
    require(len(steps) > 0, "no steps")
    b, e, rate, spread = sympy.symbols("b e lambda d", positive=True)
    a = b + e
    first = (1 - a) / (2 - a - b)
    for s in steps:
        A, B = (sum(x**k for k in range(s)) for x in (a, b))
        growth = sympy.expand((A + a**s) * B - A * (B + b**s))
        require(growth != 0 and non_negative(growth), f"the growth from {s} steps")
        same = sympy.simplify((1 - a) * A - (1 - a**s)) == 0 and sympy.simplify((1 - b) * B - (1 - b**s)) == 0
        require(same, f"the sums of {s} powers")
    h = sympy.symbols("h1:3", positive=True)
    global_share = first.subs(e, rate * (h[1] - h[0])).subs(b, 1 - rate * h[1])
    require(sympy.simplify(global_share - h[0] / sum(h)) == 0, "the minimiser at one step")
    distance = sympy.Rational(1, 2) - first
    stated = limit * distance * spread**power
    require(sympy.simplify(stated - distance * spread) == 0, "the distance in the limit")
    return (
        "the quotient of two geometric sums grows with every step, because its terms are positive, and its first and "
        "last values are as stated"
    )
