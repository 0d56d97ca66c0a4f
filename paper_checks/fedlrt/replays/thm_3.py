"""Theorem 3, which is Theorem 10 of Appendix F.3: what the rounds with full correction converge to.

Setting: `shared.full_correction`.

Setting: `shared.descent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from types import MappingProxyType

import sympy

from paper_checks.fedlrt.replays.shared.descent import cost_of_truncation
from paper_checks.fedlrt.replays.shared.full_correction import full_correction_descends
from paper_checks.fedlrt.replays.shared.one_step import inner, minus, one_step
from paper_checks.fedlrt.replays.shared.slack import descends_as_a_bowl
from paper_checks.proof_steps import non_negative
from paper_checks.replay import Hypothesis, Violation, proof, replay, require
from paper_checks.stored_values import Values, fractions, square


@replay("fedlrt/thm-3")
def thm_3_as_printed(values: Values) -> Violation:
    """Run T = 1, one client, one step, L = 1, from rank 1; both singular values are above theta, and none is cut."""
    at, theta = one_step(values), Fraction(values["theta"])
    (a, b), (c, d) = at.star
    # The second singular value is at least the determinant over the norm.
    assumes = (
        *at.assumes,
        Hypothesis("theta", theta, ">", 0),
        Hypothesis(
            "theta times the norm of the model, against its determinant, squared",
            theta**2 * inner(at.star, at.star),
            "<",
            (a * d - b * c) ** 2,
        ),
    )
    after = minus(at.star, at.B)
    square = inner(at.F, at.F)
    return Violation(
        square,
        48 * (square - inner(after, after)) / 2 + 48 * theta,
        assumes=assumes,
        given=at.given,
        reads="with one client, one step and the loss |W - B|^2/2, the rank is 1 before the round and 2 after it, "
        "because nothing is truncated. We compare the squared gradient with the printed bound",
    )


@proof("fedlrt/thm-3")
def thm_3(
    limit: Fraction = Fraction(1, 2),
    steps: Sequence[int] = (1, 2, 3, 10, 16, 64, 300),
    constants: Mapping[str, Fraction] = MappingProxyType(
        {"1/24": Fraction("25.02"), "1/12": Fraction("13.03"), "213/10000": Fraction(48)}
    ),
) -> str:
    r"""A round descends by at least $|g|^2/K$ minus the cost of truncation; the least $|g|^2$ is below the mean.

    That share is the exact worst case of the local steps, which one quadratic for all clients attains (below), so
    K is the least for T = 1. As x tends to 0, K grows like $L/x$: no constant works for all small rates. For the
    comparison $1 - (1 - \lambda L)^{2s_*} \ge 2x(1 - x)$: with $w = (1 - \lambda L)^{s_*} \le e^{-x} \le 1 - x +
    \frac{x^2}2$ one has $1 - w^2 \ge 1 - (1 - x + \frac{x^2}2)^2 = 2x(1 - x) + x^3(1 - \frac x4)$. For the constants at
    single x: K falls as x grows, and it is below $\frac{2L}{1 - e^{-2x}}$ for every $s_*$, with $e^{-y} \le 1 - y +
    \frac{y^2}2 - \frac{y^3}6 + \frac{y^4}{24}$.
    """
    require(0 < limit <= 1 - limit, "dominance needs x <= 1 - x")
    require(len(steps) > 0, "no steps")
    for s in steps:
        step = limit / s
        require(descends_as_a_bowl(s, step), f"not dominant at {s} steps")
        w = Fraction(1)
        for _ in range(s):
            w -= step * w
        K = 2 / (1 - (1 - step) ** (2 * s))
        attained = K * (1 - w**2) / 2 == 1 and 1 / (limit * (1 - limit)) >= K
        require(attained, f"the quadratic does not attain K at {s} steps, or K is above 1/(x(1 - x))")
    require(len(constants) > 0, "no constants")
    for place, constant in constants.items():
        y = 2 * Fraction(place)
        fallen = y - y**2 / 2 + y**3 / 6 - y**4 / 24  # 1 - e^-y at least
        require(0 < y <= 2 * limit and constant * fallen >= 2, f"the constant at {place}")
    cost_of_truncation(Fraction(1, 2))
    return (
        "a quadratic attains the exact worst case of the local steps, smoothness bounds the cost of truncation, and "
        "the least squared gradient is at most the mean over the rounds"
    )


@replay("fedlrt/claim-thm3-text")
def claim_thm3_text_as_printed(values: Values) -> Violation:
    """W under |W - T|^2 / 2 from e1 e1', T = diag(matrix, 0, corner): the last rows and columns of W stay 0.

    While the first singular vector u is none of the matrix, in either of the spans, the gradients in U and V widen both
    bases to the first two coordinates and to nothing else; all matrices are symmetric. Decimals of 60 digits follow u.
    Every round is cut to rank 1, the least rank whose tail after it is within theta. T is the only stationary point.
    """
    (a, b), (c, d) = square(values["matrix"], 2)
    corner, rate, theta = fractions(values, "corner", "step", "theta")
    rounds = int(values["rounds"])
    assumes = [
        Hypothesis("upper right entry of the matrix", b, "=", c),
        Hypothesis("determinant of the matrix", a * d - b * c, "=", 0),
        Hypothesis("corner, the second direction of the solution", corner, ">", 0),
        Hypothesis("lambda L s", rate, ">", 0),
        Hypothesis("lambda L s", rate, "<=", Fraction(1, 12)),
        Hypothesis("rounds", rounds, ">=", 1),
    ]
    with localcontext(prec=60):
        T = [[Decimal(v.numerator) / v.denominator for v in row] for row in ((a, b), (c, d))]
        s, u, step = Decimal(1), (Decimal(1), Decimal(0)), Decimal(rate.numerator) / rate.denominator
        widened = lengths = kept = Decimal(1)
        cut = Decimal(0)
        for _ in range(rounds):
            gradient = (T[1][0] * u[0] + T[1][1] * u[1]) * u[0] - (T[0][0] * u[0] + T[0][1] * u[1]) * u[1]
            W = [[s * u[i] * u[j] for j in range(2)] for i in range(2)]
            W = [[W[i][j] - step * (W[i][j] - T[i][j]) for j in range(2)] for i in range(2)]
            middle, apart = (W[0][0] + W[1][1]) / 2, (((W[0][0] - W[1][1]) / 2) ** 2 + W[0][1] ** 2).sqrt()
            s, way = middle + apart, (W[0][1], middle + apart - W[0][0])  # the larger eigenvalue and its vector
            kept, cut = min(kept, s), max(cut, abs(middle - apart))
            length = (way[0] ** 2 + way[1] ** 2).sqrt()
            widened, lengths = min(widened, abs(gradient)), min(lengths, length)
            u = (way[0] / length, way[1] / length) if length else u
    # 60 digits of these numbers of order one are far more than 30 digits of their difference from 0.
    assumes.append(Hypothesis("least gradient across the basis", Fraction(widened), ">", Fraction(1, 10**30)))
    assumes.append(Hypothesis("least length of a singular vector", Fraction(lengths), ">", Fraction(1, 10**30)))
    assumes.append(Hypothesis("largest second singular value of a round, which is cut", Fraction(cut), "<", theta))
    assumes.append(Hypothesis("least first singular value of a round, which stays", Fraction(kept), ">", theta))
    return Violation(
        corner,
        theta,
        assumes=assumes,
        reads="with the loss |W - T|^2/2, T = diag(matrix, 0, corner) and the start e1 e1', every round truncates the "
        "weights to rank 1. Their distance from T, the only stationary point, is always at least the entry in the "
        "corner of T. We compare this entry with theta",
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
    The augmented bases hold all directions that leave a matrix in $\mathcal M_r$ (fedlrt/claim-gu-gv-choice).

    The example, $T = bb^\top + \frac12e_4e_4^\top$: while U and V are one u in the span of $e_1, e_2$, the gradient
    $W - T$ sends u into that span, and not along u, as u is neither along nor across b: both augmented bases are that
    span. The entry (4, 4) of the gradient is $-\frac12$ in every round. Within the span a round takes $s\,uu^\top$ to
    the leading part of $p\,uu^\top + q\,\hat b\hat b^\top$, with $\hat b = b/|b|$, $p = (1-x)s$ and $q = x|b|^2$. Let u
    be at the angle $\varphi$ from b: the new one is at $\psi$ with $\tan2\psi = p\sin2\varphi/(q + p\cos2\varphi)$.
    From $e_1$ on $2\varphi < \frac\pi2$ and $s \le |b|^2$, and both stay so, as the leading value is at most $p + q$.
    So $\tan2\psi \le (1-x)\tan2\varphi$, and u tends to b. With $\frac\lambda4 < \vartheta < \frac12$ every round is
    cut to rank one: the smaller value is at most the form at the vector across u, $q\sin^2\varphi \le
    x|b|^2\cdot\frac15 = \frac x4$, and the leading one at least the form at u, $p + q\cos^2\varphi \ge (1-x)s +
    x|b|^2\cdot\frac45 = (1-x)s + x$, so s is never below 1. The leading value is at least $p\cos^2\varphi + q$ and
    at most $p + q$, so s tends to $|b|^2$, and W to $bb^\top$.
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
        "every round lowers the loss by a fraction of the squared gradient, minus the cost of its truncation; in the "
        r"example, with $\phi$ the angle between the singular vector of the weights and b, a round multiplies "
        r"$\tan 2\phi$ by at most $1 - \lambda$ and truncates the weights to rank one, and the entry (4, 4) of the "
        r"gradient does not change"
    )
