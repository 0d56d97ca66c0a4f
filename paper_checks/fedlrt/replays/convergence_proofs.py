r"""Proofs of what rounds lead to: FedLin's limit, Theorem 3 in words, steps of any size, bounds of Appendix G.

L = 1 where nothing else is said: a learning rate is then in units of 1/L.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from paper_checks.fedlrt.replays.boxes import trips
from paper_checks.fedlrt.replays.local_steps import coefficients_of_the_power, local_steps_descend
from paper_checks.proof_steps import non_negative, rational
from paper_checks.replay import proof, require


def full_correction_descends(limit: Fraction, steps: Sequence[int]) -> None:
    r"""A round with full correction lowers the loss by a share of $|g|^2$, for $x = s\lambda L$ up to the limit.

    By `local_steps` with $\rho = 1$, $R = 1 - \frac1s$ the loss falls by at least $s\lambda(1 - \frac{1+R}2x)|g|^2$,
    and for $x \le 1$ the bracket is at least $\frac1{2s}$.
    """
    local_steps_descend(Fraction(1), limit)
    require(steps, "no steps")
    for s in steps:
        coefficients_of_the_power(s)
        bracket = 1 - (1 + (1 - Fraction(1, s))) / 2 * limit
        require(bracket >= Fraction(1, 2 * s), f"the bracket at {s} steps")


@proof("fedlrt/claim-fedlin")
def claim_fedlin(limit: Fraction = Fraction(1), steps: Sequence[int] = (1, 2, 3, 10, 100, 1000), more: int = 1) -> str:
    r"""L-smooth clients, L bounded below, any constant $0 < \lambda \le 1/(Ls_*)$; the clients need not be convex.

    FedLin, where each client descends by $\nabla\mathcal{L}_c - V_c$, is the full correction with $U = V = I$, so that
    each round lowers the loss by at least $\frac\lambda2\|\nabla\mathcal{L}(w^t)\|^2$, by what `local_steps` proves and
    $1 - (1 - \frac1{2s_*})x \ge \frac1{2s_*}$. The sum over all rounds is at most $\mathcal{L}(w^1) - \inf\mathcal{L}$:
    the gradients tend to 0, and every limit of iterates is a stationary point. If $\mathcal{L}$ is convex and has one
    minimiser, the set where $\mathcal{L} \le \mathcal{L}(w^1)$ is bounded; the iterates stay in it, all of their limits
    are stationary, hence the minimiser, and they converge to it. The correction needs the mean gradient at the start,
    one more trip than FedAvg's weights and their mean.
    """
    full_correction_descends(limit, steps)
    rounds = len(trips("FedAvg")) + more
    require(len(trips("FedLin")) == rounds, "another number of communication rounds")
    return (
        "every round descends by a share of the squared gradient; then the sum over the rounds, and bounded level "
        "sets of a convex loss with one minimiser"
    )


@proof("fedlrt/claim-thm3-text")
def claim_thm3_text(
    limit: Fraction = Fraction(1),
    steps: Sequence[int] = (1, 2, 3, 10, 100, 1000),
    beyond: Fraction = Fraction(1, 2),
    slope: Fraction = Fraction(1, 2),
    rate: Fraction = Fraction(1, 12),
    theta: Fraction = Fraction(1, 40),
) -> str:
    r"""Theorem 2 as corrected, summed over the rounds; then the example, one client, one step of $0 < x = \lambda < 1$.

    With $\vartheta_t$ for the norm of what round t cuts, a round changes the loss by at most
    $-\frac\lambda2\|\nabla_{\tilde S}\mathcal{L}\|^2$ and the cost of its truncation, since $1 - (1 - \frac1{2s_*})x
    \ge \frac1{2s_*}$. As the costs have a finite sum and $\mathcal{L}$ is bounded below, so do the squared gradients.
    The wide bases hold all directions that leave a matrix in $\mathcal M_r$ (fedlrt/claim-gu-gv-choice).

    The example, $T = bb^\top + \frac12e_4e_4^\top$: while U and V are one u in the span of $e_1, e_2$, the gradient
    $W - T$ sends u into that span, and not along u, as u is neither along nor across b: both wide bases are that span.
    The entry (4, 4) of the gradient is $-\frac12$ in every round. Within the span a round takes $s\,uu^\top$ to the
    leading part of $p\,uu^\top + q\,\hat b\hat b^\top$, with $\hat b = b/|b|$, $p = (1-x)s$ and $q = x|b|^2$. Let u be
    at the angle $\varphi$ from b: the new one is at $\psi$ with $\tan2\psi = p\sin2\varphi/(q + p\cos2\varphi)$. From
    $e_1$ on $2\varphi < \frac\pi2$ and $s \le |b|^2$, and both stay so, as the leading value is at most $p + q$. So
    $\tan2\psi \le (1-x)\tan2\varphi$, and u tends to b. With $\frac\lambda4 < \vartheta < \frac12$ every round is cut
    to rank one: the smaller value is at most the form at the vector across u, $q\sin^2\varphi \le x|b|^2\cdot\frac15 =
    \frac x4$, and the leading one at least the form at u, $p + q\cos^2\varphi \ge (1-x)s +
    x|b|^2\cdot\frac45 = (1-x)s + x$, so that s is never below 1. The leading value is at least $p\cos^2\varphi + q$ and
    at most $p + q$, so that s tends to $|b|^2$, and W to $bb^\top$.
    """
    full_correction_descends(limit, steps)
    b, axis = sympy.Matrix([1, beyond, 0, 0]), sympy.Matrix([0, 0, 0, 1])
    corner = sympy.Rational(1, 2)
    T = b * b.T + corner * axis * axis.T
    u = sympy.Matrix([*sympy.symbols("u_1 u_2"), 0, 0])
    s = sympy.Symbol("s", positive=True)
    gradient = s * u * u.T - T
    require(not any((gradient * u)[2:]), "the bases leave the plane")
    require(gradient[3, 3] == -corner, "the gradient outside changes")
    end = b * b.T - T
    require(sum(entry**2 for entry in end) == slope**2 and slope >= 0, "another gradient at the end")
    # The vector of a symmetric 2 by 2 matrix is at half the angle of (difference of the diagonal, twice the rest).
    p, q, phi = sympy.symbols("p q varphi", positive=True)
    at = [sympy.Matrix([sympy.cos(angle), sympy.sin(angle)]) for angle in (phi, sympy.Integer(0))]
    M = p * at[0] * at[0].T + q * at[1] * at[1].T
    sides = (M[0, 0] - M[1, 1] - (q + p * sympy.cos(2 * phi)), 2 * M[0, 1] - p * sympy.sin(2 * phi))
    require(all(sympy.simplify(side) == 0 for side in sides), "the angle of the leading vector")
    # tan 2psi / tan 2phi = p c / (q + p c) for c = cos 2phi = 1/(1 + d), against 1 - x at s = |b|^2/(1 + a): not more.
    a, d, y = sympy.symbols("a d y", positive=True)
    x, c = 1 / (1 + y), 1 / (1 + d)
    small, large = (1 - x) / (1 + a), x  # p and q over |b|^2
    room = sympy.fraction(sympy.together((1 - x) * (large + small * c) - small * c))
    require(all(map(non_negative, room)), "the angle does not shrink by 1 - x")
    low, high = small * (1 + c) / 2 + large, small + large  # cos^2 phi = (1 + cos 2phi)/2
    stays = sympy.fraction(sympy.together(1 - high))
    require(all(map(non_negative, stays)), "the leading value exceeds that of b")
    # At the start tan phi is the second entry of b over the first; phi never grows.
    across, share = sympy.Matrix([-sympy.sin(phi), sympy.cos(phi)]), b[1] ** 2 / b.dot(b)
    forms = ((across, q * sympy.sin(phi) ** 2), (at[0], p + q * sympy.cos(phi) ** 2))
    for v, value in forms:
        require(sympy.simplify((v.T * M * v)[0] - value) == 0, "a form at a vector")
    rank_one = 0 < rate * b.dot(b) * share < theta < 1 <= b.dot(b) * (1 - share)
    require(rank_one, "the threshold does not cut to rank one")
    require(4 * b.dot(b) * share == 1, "another share of the rate is cut")
    require(theta < corner, "the limit is within the threshold of the stationary point")
    settled = sympy.simplify(low.subs(d, 0) - high) == 0 and sympy.simplify(high.subs(a, 0) - 1) == 0
    require(settled, "another limit of the leading value")
    # From e_1: tan phi is the second entry of b over the first, below tan(pi/4); and s = 1 is at most |b|^2.
    require(0 < b[1] < b[0] and b.dot(b) >= 1, "another start")
    return (
        "every round descends by a share of the squared gradient, minus its truncation; in the example the tangent "
        r"of twice the angle to b shrinks at least by the factor $1 - \lambda$ in a round, every round is cut to rank "
        "one, and the entry (4, 4) stays"
    )


@proof("fedlrt/claim-robust")
def claim_robust(share: Fraction = Fraction(1), largest: Fraction = Fraction(30)) -> str:
    r"""A step of FeDLRT from any S, small or singular; one client, one step of $\lambda$, no truncation.

    With $P(\cdot) = P_{\tilde U}(\cdot)P_{\tilde V}$ and $P(W) = W$ (Lemma 1) it leads to $P(W - \lambda G) = W -
    \lambda P(G)$, which is $\lambda\|G - P(G)\|$ from the full-rank step $W - \lambda G$. Complete $\tilde U$ and
    $\tilde V$ to orthonormal bases of the whole space, and write G in them as a matrix: $P(G)$ keeps the entries that
    belong to $\tilde U$ and $\tilde V$ and sets the others to zero. So $\|G - P(G)\| \le \|G\|$, with equality where
    $\tilde U^\top G\tilde V = 0$. By smoothness the loss changes by at most $-\lambda(1 - \frac12\lambda L)\|P(G)\|^2$,
    which is not positive for $\lambda L \le 2$, as for descent at full rank. Neither bound contains S. Further steps in
    the same bases are steps on a loss of $\tilde S$ with the same L (Lemma 3), and S limits none of them. Theorem 5 is
    not used: it is about exact integration. As a contrast, L = 1 and $\lambda$ 1 and $\frac1{10}$: descent in U, S and
    V in turn from $usv^\top$ with u, v = 1 and s = 30 raises the loss $\frac12(usv)^2$; and (5) by Euler from $W =
    se_1e_1^\top$ with $s = \frac{\lambda^2}4$ leads, for the loss $\frac12\|W - T\|^2$ with $T = se_1e_1^\top +
    e_1e_2^\top + e_2e_1^\top$, to $s(e_1 + \frac\lambda se_2)(e_1 + \frac\lambda se_2)^\top$. This is
    $\frac{\lambda^2}s = 4$ from the full-rank step, more than $\lambda\|\nabla\mathcal{L}\| = \lambda\sqrt2$, and
    raises the loss from 1 to at least 8.
    """
    rate, dropped, kept = sympy.symbols("lambda dropped kept", positive=True)  # squares of the two parts of G
    whole = dropped + kept
    room = share**2 * rate**2 * whole - rate**2 * dropped
    require(non_negative(room), "the error is longer than the step")
    require(sympy.expand(room.subs(kept, 0)) == 0, "not the least bound")
    spare = sympy.Symbol("h", positive=True)  # lambda = 2/(1 + h), of all up to 2
    fall = sympy.fraction(sympy.together((rate - rate**2 / 2).subs(rate, 2 / (1 + spare)) * kept))
    require(all(map(non_negative, fall)), "the loss may rise")
    for step in (Fraction(1), Fraction(1, 10)):
        u, s, v = Fraction(1), largest, Fraction(1)
        u -= step * (u * s * v) * v * s
        s -= step * (u * s * v) * u * v
        v -= step * (u * s * v) * u * s
        require(abs(u * s * v) > largest, "descent in turn does not rise")
        euler_goes_astray(rational(step))
    return (
        r"the step is $W - \lambda P(G)$, whatever S is; descent in turn from s = 30, and (5) by Euler from a small s, "
        "rise"
    )


def euler_goes_astray(step: sympy.Rational) -> None:
    """Require that a step of (5) by Euler from a small S ends far from the full-rank step, and raises the loss."""
    s, e = step**2 / 4, sympy.Matrix([1, 0])
    start = s * e * e.T
    slope = -sympy.Matrix([[0, 1], [1, 0]])  # W - T
    across = sympy.eye(2) - e * e.T
    U, V = (e - step * across * G * e / s for G in (slope, slope.T))
    end = U * (s - step * (e.T * slope * e)[0]) * V.T
    astray, loss = end - (start - step * slope), (end - start + slope).norm() ** 2 / 2
    require(astray.norm() ** 2 > step**2 * slope.norm() ** 2, "a step by Euler ends near that of full rank")
    require(loss > slope.norm() ** 2 / 2, "a step by Euler does not raise the loss")


def product_outside_the_block(share: Fraction, power: int) -> None:
    r"""A product of two norms $a, b \le \delta g$ is at most share times $\delta$ to the power, times $g^2$.

    With $p = \delta g - a$, $q = \delta g - b$, all of them and a not negative, and $\delta = 1/(1 + A)$. Equality
    is at p = q = 0, for any A at the power 2.
    """
    a, p, q, A = sympy.symbols("a p q A", positive=True)
    D = a + p  # delta g
    product = D**2 - q * D - p * (D - q)  # (D - p)(D - q), with b = D - q
    bound = share * D**2 * (1 + A) ** (2 - power)
    difference = sympy.fraction(sympy.together(bound - product))
    require(all(map(non_negative, difference)), "a product of the two norms exceeds the bound")


@proof("fedlrt/thm-11-hat-first")
def thm_11_hat_first(share: Fraction = Fraction(1), power: int = 2) -> str:
    r"""Outside the block nothing corrects: $\hat S^* - \hat S = -\frac\lambda C\sum_{c,s}\nabla_{\hat S}\mathcal{L}_c$.

    Each term is at most $\delta g$ long, $g = \|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|$, hence the sum at most
    $s_*\lambda\,\delta g$; so is the mean of the terms at the start, $\nabla_{\hat S}\mathcal{L}(\tilde W_r)$, at most
    $\delta g$. By Cauchy and Schwarz the product is at most $s_*\lambda\,\delta^2g^2$ in size. For one client, one step
    and $\|\nabla_{\hat S}\mathcal{L}\| = \delta g$ it is that.
    """
    product_outside_the_block(share, power)
    return "the triangle inequality over steps and clients, then Cauchy and Schwarz"


@proof("fedlrt/thm-11-hat-second")
def thm_11_hat_second(half: Fraction = Fraction(1, 2), power: int = 2) -> str:
    r"""The way outside the block is at most $s_*\lambda\,\delta g$, $g = \|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|$.

    It is $s_*\lambda$ times the mean, over clients and steps, of the clients' gradients there. By Jensen's inequality a
    mean is at most as long as the root mean square of its terms, here $\delta g$. Half of the square follows, with
    L = 1.
    """
    product_outside_the_block(2 * half, power)
    return "Jensen's inequality over steps and clients"


@proof("fedlrt/claim-drift@what-can-happen")
def claim_drift(limit: Fraction = Fraction(1), power: int = 1, steps: Sequence[int] = (1, 2, 5)) -> str:
    r"""Losses $\frac{h_c}2(w - m_c)^2$, $m_1 \ne m_2$, $h_1 < h_2$; $a = 1 - \lambda h_1 > b = 1 - \lambda h_2 > 0$.

    s local steps take w to $m_c + a^s(w - m_c)$, and likewise with b. A round contracts by $\frac12(a^s + b^s) < 1$ and
    stays at $m_2 + \rho_s(m_1 - m_2)$ with $\rho_s = \frac{1 - a^s}{(1 - a^s) + (1 - b^s)}$. $\rho_1 = \frac{h_1}{h_1 +
    h_2}$ is the global minimiser and $\rho_s \to \frac12$ the mean of both. $\rho_s$ grows with s, as the quotient of
    $A_s = \sum_{k<s}a^k$ and $B_s = \sum_{k<s}b^k$ does: $A_{s+1}B_s - A_sB_{s+1} = \sum_{k<s}a^kb^k(a^{s-k} -
    b^{s-k}) > 0$. The distance from the minimiser is $(\rho_s - \rho_1)|m_1 - m_2|$.
    """
    require(steps, "no steps")
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
    return "the quotient of two geometric sums grows with every step, by positive terms; its ends"
