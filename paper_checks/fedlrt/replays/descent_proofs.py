r"""Proofs of the corrected descent and convergence statements, L = 1, for all clients, steps and learning rates.

The effect of the local steps is proved in `local_steps`; here are truncation, the sum of the parts and the constants
that follow. A polynomial is shown to be non-negative by writing every quantity that is known to be non-negative as a
symbol: then no coefficient may be negative.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import sympy

from paper_checks.fedlrt.replays.local_steps import flaw_of_bracket, flaw_of_least, flaw_of_rise, flaw_of_series
from paper_checks.fedlrt.replays.simplified_rounds import flaw_of_certificates
from paper_checks.fedlrt.replays.worst_cases import descends_as_a_bowl
from paper_checks.proof_steps import first_flaw, non_negative, rational
from paper_checks.replay import Proof, proof
from paper_checks.stored_values import Values

x, G, h, f, d = sympy.symbols("x G h f d", positive=True)
SQUARE_OF_ROOT = Fraction(2)
"""1 + delta^2 at most, for delta <= 1."""


def _flaw_of_local_steps(values: Values, square: Fraction) -> str:
    """The descent of the local steps, with the clients' gradients at most the root of ``square`` times the mean one."""
    largest, limit = Fraction(values["largest"]), Fraction(values["limit"])
    enough = "" if largest**2 >= square else "the largest R is below what the assumption allows"
    steps = [flaw_of_series(int(s)) for s in values["steps"]] or ["no steps"]
    return first_flaw(flaw_of_bracket(largest, limit), enough, *steps)


def _flaw_of_truncation(share: Fraction) -> str:
    r"""The cost of a truncation of norm $d \le \vartheta$: at most $\vartheta a + s\vartheta^2$, a the gradient's norm.

    Let D be what is cut, of norm d. Smoothness gives a change of at most $\langle\nabla\mathcal{L}, D\rangle +
    \frac12d^2$, and the product is $ad(1 - f)$ for some $f \ge 0$ by Cauchy and Schwarz. With $\vartheta = d + h$, $h
    \ge 0$, the bound minus that is a polynomial in a, d, f and h without a negative coefficient.
    """
    a, theta = sympy.Symbol("a", positive=True), d + h
    left = a * d * (1 - f) + d**2 / 2
    return "" if non_negative(theta * a + rational(share) * theta**2 - left) else "the cost of the truncation"


@proof("fedlrt/lemma-4", half="1/2")
def lemma_4(values: Values) -> Proof:
    r"""The loss along the segment from $Y_2$ to $Y_1$, integrated.

    $\phi(t) = \mathcal{L}(Y_2 + t(Y_1 - Y_2))$ has the derivative $\langle\nabla\mathcal{L}(Y_2 + t(Y_1 - Y_2)), Y_1 -
    Y_2\rangle$, which by the Lipschitz bound of the gradient is at most $\phi'(0) + tL\|Y_1 - Y_2\|^2$. The integral
    over t from 0 to 1 is $\phi'(0) + \frac L2\|Y_1 - Y_2\|^2$.
    """
    half, t = rational(values["half"]), sympy.Symbol("t", positive=True)
    rest = sympy.integrate(t * G, (t, 0, 1))  # G stands for L times the squared distance
    flaw = "" if non_negative(half * G - rest) else "the integral of the Lipschitz bound"
    return Proof(not flaw, flaw or "the Lipschitz bound of the gradient, integrated along the segment")


@proof("fedlrt/lemma-6", factor="1", clients=[1, 2, 3, 7])
def lemma_6(values: Values) -> Proof:
    r"""$C\sum_c\|x_c\|^2 - \|\sum_cx_c\|^2 = \sum_{c<k}\|x_c - x_k\|^2$: entry by entry, for any C.

    On the left $x_c^2$ has the factor C - 1 and $x_cx_k$ the factor -2; on the right each c is in C - 1 pairs.
    """
    factor, flaw = rational(values["factor"]), "" if values["clients"] else "no numbers of clients"
    for C in map(int, values["clients"]):
        xs = sympy.symbols(f"x_0:{C}")
        pairs = sum(((a - b) ** 2 for i, a in enumerate(xs) for b in xs[:i]), sympy.Integer(0))
        left = factor * C * sum(a**2 for a in xs) - sum(xs) ** 2
        flaw = flaw or ("" if sympy.expand(left - pairs) == 0 else f"not the sum over pairs at {C} clients")
    return Proof(not flaw, flaw or "the difference is the sum of the squares of all differences, for any C")


@proof("fedlrt/eq-36", square="1/2")
def eq_36(values: Values) -> Proof:
    r"""Smoothness between the model before and after truncation, then Cauchy and Schwarz.

    The part that is cut has a norm of at most $\vartheta$, so that $\mathcal{L}(W + D) - \mathcal{L}(W) \le
    \langle\nabla\mathcal{L}(W), D\rangle + \frac L2 \|D\|^2 \le \vartheta\|\nabla\mathcal{L}(W)\| + \frac
    L2\vartheta^2$. With a bound G on the gradient along the way the mean value gives $\mathcal{L}(W + D) -
    \mathcal{L}(W) = \langle\nabla\mathcal{L}(W + hD), D\rangle \le \|\nabla\mathcal{L}(W + hD)\|\,\|D\| \le
    G\vartheta$.
    """
    flaw = _flaw_of_truncation(Fraction(values["square"]))
    return Proof(
        not flaw,
        flaw
        or r"in units with L = 1, $\vartheta\|\nabla\mathcal{L}\| + \frac12\vartheta^2$ minus what smoothness gives is "
        "a sum of products of non-negative quantities",
    )


@proof("fedlrt/thm-2", largest="1", limit="1", steps=[1, 2, 3, 10, 100, 1000], square="1/2")
def thm_2(values: Values) -> Proof:
    r"""The local steps, then the truncation; the two bounds are added.

    With full correction every client's first step is along g, so that $\rho = 1$ and $R = 1 - \frac1s < 1$ in
    `local_steps`: for $x = s_*\lambda L \le 1$ the loss changes by at most $-s_*\lambda(1 - \frac{1+R}2x)\|g\|^2$
    before truncation, with $\frac{1+R}2 = 1 - \frac1{2s_*}$. The truncation adds at most
    $\vartheta\|\nabla\mathcal{L}\| + \frac L2 \vartheta^2$. No smaller constant serves all small learning rates: $\frac
    L2\|W - B\|^2$ for every client changes without truncation by $-\frac{1 - (1 - \lambda L)^{2s_*}}{2L}\|g\|^2$, which
    is $-s_*\lambda(1 - (1 - \frac1{2s_*})x)\|g\|^2$ up to terms of third order in $\lambda$.
    """
    least = [
        "" if Fraction(comb(2 * s, 2), 2) == (1 - Fraction(1, 2 * s)) * s**2 else f"another constant at {s} steps"
        for s in map(int, values["steps"])
    ]
    flaw = first_flaw(
        _flaw_of_local_steps(values, Fraction(1)), _flaw_of_truncation(Fraction(values["square"])), *least
    )
    return Proof(
        not flaw,
        flaw
        or r"the constant $1 - \frac1{2s_*}$ for all clients, steps and $s_*\lambda L \le 1$ "
        "(a client's drift by induction, then a rational inequality in one variable), the least one by a "
        "bowl, and smoothness along the truncation",
    )


@proof("fedlrt/thm-9-proof@given-the-three-bounds", truncation="1", steps="1", constant="12")
def thm_9_proof(values: Values) -> Proof:
    r"""The three differences add up to the whole one, whatever the losses are; and so do their bounds.

    Every bound is its difference plus a rest that is not negative, for the first by (36), for the second by Theorem 8;
    the third is zero (Lemma 7). The last line minus the change of the loss is the sum of the two.
    """
    first, wide, star, end, theta = sympy.symbols("L_0 L_wide L_star L_end theta")
    cut, slow = sympy.symbols("f_36 f_8", positive=True)
    truncation, steps, constant = (rational(values[name]) for name in ("truncation", "steps", "constant"))
    parts = truncation * (end - star) + steps * (star - wide) + (wide - first)
    last = theta - x * (1 - 12 * x) * G**2  # L = 1, x = s lambda
    bounded = {end: star + theta - cut}, {star: wide - steps * x * (1 - constant * x) * G**2 - slow}, {wide: first}
    change = end - first
    for one in bounded:
        change = change.subs(one)
    flaw = first_flaw(
        "" if sympy.expand(parts - (end - first)) == 0 else "not the whole difference",
        "" if sympy.expand(last - change - cut - slow) == 0 else "another last line",
    )
    return Proof(not flaw, flaw or "a sum of three differences and of their bounds, two rests that are not negative")


@proof(
    "fedlrt/thm-3",
    limit="1/2",
    steps=[1, 2, 3, 10, 16, 64, 300],
    constants={"1/24": "25.02", "1/12": "13.03", "213/10000": "48"},
)
def thm_3(values: Values) -> Proof:
    r"""A round descends by at least $|g|^2/K$ minus the cost of truncation; the least $|g|^2$ is below the mean.

    That share is the exact worst case of the local steps, which one bowl for all clients attains (below), so that K is
    the least for T = 1. As x tends to 0, K grows like $L/x$: no constant serves all small rates. For the comparison $1
    - (1 - \lambda L)^{2s_*} \ge 2x(1 - x)$: with $w = (1 - \lambda L)^{s_*} \le e^{-x} \le 1 - x + \frac{x^2}2$ one has
    $1 - w^2 \ge 1 - (1 - x + \frac{x^2}2)^2 = 2x(1 - x) + x^3(1 - \frac x4)$. For the constants at single x: K falls
    as x grows, and it is below $\frac{2L}{1 - e^{-2x}}$ for every $s_*$, with $e^{-y} \le 1 - y + \frac{y^2}2 -
    \frac{y^3}6 + \frac{y^4}{24}$.
    """
    limit = Fraction(values["limit"])
    flaws = ["" if 0 < limit <= 1 - limit else "dominance needs x <= 1 - x"]
    for s in map(int, values["steps"]):
        step = limit / s
        flaws.append("" if descends_as_a_bowl(s, step) else f"not dominant at {s} steps")
        w = Fraction(1)
        for _ in range(s):
            w -= step * w
        K = 2 / (1 - (1 - step) ** (2 * s))
        if K * (1 - w**2) / 2 != 1 or 1 / (limit * (1 - limit)) < K:
            flaws.append(f"the bowl does not attain K at {s} steps, or K is above 1/(x(1 - x))")
    for place, constant in values["constants"].items():
        y = 2 * Fraction(place)
        fallen = y - y**2 / 2 + y**3 / 6 - y**4 / 24  # 1 - e^-y at least
        if not 0 < y <= 2 * limit or Fraction(constant) * fallen < 2:
            flaws.append(f"the constant at {place}")
    flaws.append("" if values["constants"] else "no constants")
    flaw = first_flaw(*flaws, "" if values["steps"] else "no steps", _flaw_of_truncation(Fraction(1, 2)))
    return Proof(
        not flaw,
        flaw
        or "the exact worst case of the local steps, attained by a bowl, smoothness along the "
        "truncation, and the mean over the rounds",
    )


@proof("fedlrt/thm-4", largest="3/2", limit="1", steps=[1, 2, 3, 10, 100, 1000], square="1/2", least="1")
def thm_4(values: Values) -> Proof:
    r"""A client starts along $p_c$: g inside the block, its own gradient outside; the mean of the $p_c$ is g.

    $\frac1C\sum|p_c|^2 \le |g|^2 + \delta^2|g|^2$, so that $R = (1 - \frac1s)\sqrt{1+\delta^2}$. The certificates prove
    the same for some clients and steps with nothing but the inequalities of smooth functions. That (14) is not enough,
    however small $\delta$ is, an example shows (below).
    """
    flaw = first_flaw(
        _flaw_of_local_steps(values, SQUARE_OF_ROOT),
        _flaw_of_truncation(Fraction(values["square"])),
        flaw_of_certificates(values["certificates"]),
        flaw_of_least(rational(values["least"])),
        flaw_of_rise(),
    )
    return Proof(
        not flaw,
        flaw
        or "all clients, steps and learning rates by a client's drift and a rational inequality; "
        f"{len(values['certificates'])} certificates of its instances; smoothness along the truncation; clients "
        r"whose gradients leave no smaller $\kappa$, by the interpolation conditions of smooth functions; two that "
        r"raise the loss under (14), for every $\delta$ below 1/10. Of the constants, largest bounds $(1 - "
        r"\frac1{s_*})\sqrt{1+\delta^2}$, limit $s_*\lambda L$; square and least are factors of $L\vartheta^2$ and of "
        r"$\kappa$. In a certificate i,j weighs the inequality of smooth functions between a client's points i and j "
        r"(+: the mean after the local steps), and the bound is that of the change over $\|\nabla_{\tilde "
        r"S}\mathcal{L}\|^2/L$",
    )


@proof("fedlrt/eq-46", largest="3/2", limit="1", steps=[1, 2, 3, 10, 100, 1000])
def eq_46(values: Values) -> Proof:
    r"""The argument of `local_steps` for the block of S alone, with g its gradient there.

    The correction takes the block's part of every client's first step to g, and what lies outside the block stays the
    client's own: the client starts along $p_c$ with $\frac1C\sum_c|p_c|^2 \le (1 + \delta^2)|g|^2$, so that $\rho =
    \sqrt{1+\delta^2}$. The block's part of the mean step is $-s\lambda(g + u)$, and u, a part of the drift, is at most
    as long as it: $|u| \le R\beta|g|$ with $R = (1 - \frac1s)\rho$. The rest is as there.
    """
    flaw = _flaw_of_local_steps(values, SQUARE_OF_ROOT)
    return Proof(
        not flaw, flaw or "all clients, steps and learning rates, by a client's drift and a rational inequality"
    )


def _kappa_is_below(bound: Fraction) -> bool:
    """Whether (1 + sqrt(2))/2 is."""
    return 2 * bound > 1 and (2 * bound - 1) ** 2 > 2


@proof(
    "fedlrt/cor-1",
    largest="3/2",
    limit="1/2",
    steps=[1, 2, 3, 10, 100, 1000],
    kappa="1.2072",
    constants={"1/12": "13.35", "1/24": "25.28", "1/94": "96", "1/2": "96"},
)
def cor_1(values: Values) -> Proof:
    r"""The corrected Theorem 4, summed over the rounds, and what its constant comes to.

    Each round has $\frac xL(1 - \kappa x)\|\nabla_{\tilde S}\mathcal{L}\|^2 \le \mathcal{L}(W_r^t) -
    \mathcal{L}(W_r^{t+1})$ plus the cost of its truncation. The sum over T rounds telescopes, and the least squared
    gradient is at most their mean. The constant $\frac1{x(1 - \kappa x)}$ grows with $\kappa < \frac12(1 + \sqrt2) <
    1.2072$, so that its values at a few x are known; as $x(1 - \kappa x)$ is concave in x, a constant that serves at
    two places serves between them.
    """
    kappa = Fraction(values["kappa"])
    flaws = ["" if _kappa_is_below(kappa) else "kappa can be larger"]
    for place, constant in values["constants"].items():
        at = Fraction(place)
        if not 0 < at <= Fraction(1, 2) or Fraction(constant) * at * (1 - kappa * at) < 1:
            flaws.append(f"the constant at {place}")
    flaws.append("" if values["constants"] else "no constants")
    flaw = first_flaw(*flaws, _flaw_of_local_steps(values, SQUARE_OF_ROOT))
    shown = ", ".join(f"{constant} at {place}" for place, constant in values["constants"].items())
    return Proof(
        not flaw,
        flaw
        or rf"the corrected Theorem 4, its mean over the rounds, and the constants {shown} of "
        r"$s_*\lambda L$",
    )


@proof("fedlrt/cor-2-proof", kappa="1.2072", constant="96", share="82")
def cor_2_proof(values: Values) -> Proof:
    r"""The corrected Theorem 4 at the printed rate; and both printed brackets there.

    With $x = s_*\lambda L = L/(12L + \delta^2)$ it has $\frac xL(1 - \kappa x)\|\nabla_{\tilde S}\mathcal{L}\|^2 \le
    \mathcal{L}(W_r^t) - \mathcal{L}(W_r^{t+1})$ plus the cost of truncation, $\kappa \le \frac12(1 + \sqrt2) < 1.2072$
    for all $\delta \le 1$. Where $L \ge \delta^2/82$, x lies between $\frac1{94}$ and $\frac1{12}$. At both ends $96x(1
    - \kappa x) \ge 1$, and so between them, as the left side is concave in x. At $s_*\lambda = 1/(12L + \delta^2)$ the
    bracket of (38) is $\delta^2/(12L + \delta^2)$ and that of Theorem 4 is $\delta^2(2 - 12L - \delta^2)/(12L +
    \delta^2)$, identities.
    """
    L, delta = sympy.symbols("L delta", positive=True)
    rate = 1 / (12 * L + delta**2)
    of_38 = 1 - 12 * rate * L - delta**2 * rate
    of_theorem_4 = 1 - delta**2 - 12 * rate * L + delta**2 * rate - delta**2 * (2 - 12 * L - delta**2) * rate
    kappa, constant, share = Fraction(values["kappa"]), Fraction(values["constant"]), Fraction(values["share"])
    ends = [1 / (12 + share), Fraction(1, 12)]
    flaw = first_flaw(
        "" if sympy.simplify(of_38) == 0 and sympy.simplify(of_theorem_4) == 0 else "the printed brackets",
        "" if _kappa_is_below(kappa) else "kappa can be larger",
        "" if share > 0 and all(constant * x * (1 - kappa * x) >= 1 for x in ends) else "the constant",
    )
    return Proof(
        not flaw,
        flaw
        or "the constant for every learning rate and every kappa that the corrected Theorem 4 "
        "has; the printed brackets as identities",
    )


@proof("fedlrt/assumption-1", factor="2")
def assumption_1(values: Values) -> Proof:
    r"""With b inside and a in all: the square outside is $a^2 - b^2$, and (14) says $a - b \le \delta g$.

    For the global loss at the start a = g, so that $b = (1 - \delta)g + f$, and d stands for $1 - \delta$. For a client
    $a = b + h$ with $\delta g = h + f$.
    """
    b = sympy.Symbol("b", positive=True)
    factor, delta = rational(values["factor"]), 1 - d
    start = delta * (factor - delta) * G**2 - (G**2 - (d * G + f) ** 2)
    client = (h + f) * (factor * b + h + f) - ((b + h) ** 2 - b**2)
    proved = non_negative(start) and non_negative(client)
    return Proof(
        proved,
        r"$\delta(2-\delta)g^2$ and $\delta g(2b + \delta g)$ minus the square outside are sums "
        "of products of non-negative quantities",
    )


@proof("fedlrt/thm-11-combine", loss="2", half="1/2")
def thm_11_combine(values: Values) -> Proof:
    r"""With L = 1, $\|U^\top FV\|^2 = (1 - \delta^2)G + f$ and $1 - 12x = h \ge 0$ right minus left side is $xhf$.

    $G = \|\tilde U^\top F\tilde V\|^2$, and f is what the block has above its least share of it; all three factors are
    non-negative.
    """
    delta = sympy.Symbol("delta", positive=True)
    loss, half = rational(values["loss"]), rational(values["half"])
    block = (1 - delta**2) * G + f
    left = -x * (1 - 12 * x) * block + delta**2 * x * G + x**2 * delta**2 * G / 2
    right = -x * (1 - loss * delta**2 - 12 * (1 - delta**2) * x - half * delta**2 * x) * G
    proved = non_negative(sympy.expand(right - left - x * (1 - 12 * x) * f) + x * h * f)
    return Proof(proved, "the difference of the sides is a product of non-negative quantities")
