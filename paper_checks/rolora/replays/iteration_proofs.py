"""Proofs of the ends of Theorems 5.4's and A.14's proofs: the number of iterations, and the product of both factors."""

from __future__ import annotations

from itertools import product

import sympy

from paper_checks.proof_steps import first_flaw, non_negative, rational
from paper_checks.replay import Proof, proof
from paper_checks.rolora.replays.contraction_proofs import FIXED_WORDS, a4_c
from paper_checks.rolora.replays.logarithms import flaw_of_logarithms
from paper_checks.rolora.replays.minimiser_proofs import flaw_of_rank_one
from paper_checks.rolora.replays.rank_one import COSINE, MEAN, TRUTH, A, B, frobenius, plus, same
from paper_checks.rolora.replays.rate_proofs import weaker
from paper_checks.stored_values import Values

T, y, c, delta = sympy.symbols("T y c delta", positive=True)
level, more = sympy.symbols("level more", nonnegative=True)


@proof("rolora/a4-first-step", bound="3")
def a4_first_step(values: Values) -> Proof:
    r"""In the plane, $a = (\sqrt x, \delta_0)$ and $a^* = (1, 0)$, in units in which $\|b^*\| = 1$: $\eta$ is s.

    With unlimited samples $\bar b = \sqrt xb^*$. The step $a - 2s(ax - a^*\sqrt x)$ has the components $\sqrt x(1 +
    2s(1 - x))$ along $a^*$ and $\delta_0(1 - 2sx)$ across it, and the square length $1 + 4s^2x(1 - x)$. So $(\delta_1 /
    \delta_0)^2 = \frac{(1 - 2sx)^2}{1 + 4s^2x(1 - x)}$, and $(1 - sx)(1 + 4s^2x(1 - x)) - (1 - 2sx)^2 = sx(3 - f)$ with
    $f = 4s^2x(1 - x) + 4s(2x - 1)$: (166) holds if and only if $f \le 3$. For $0 < s \le 1$ f grows with x in (0, 1),
    as its slope is $4s^2(1 - 2x) + 8s > 0$, towards 4s at x = 1: so $f \le 3$ for all $\delta_0$ if and only if $s \le
    \frac34$. With samples of each client the first sentence is the case t = 0 of [the constant of the
    rate](rolora--a4-c--c-of-the-step.md).
    """
    s, x = sympy.symbols("s x", positive=True)
    bound = rational(values["bound"])
    f = 4 * s**2 * x * (1 - x) + 4 * s * (2 * x - 1)
    along, across = x * (1 - 2 * s * x + 2 * s) ** 2, (1 - 2 * s * x) ** 2  # squares, the second over delta_0^2
    length = along + (1 - x) * across
    room = (1 - s * x) * length - across - s * x * (bound - f)
    # The slope is at least 8 s - 4 s^2: s = 1/(1 + c), x = 1/(1 + y).
    slope = (f.diff(x)).subs({s: 1 / (1 + c), x: 1 / (1 + y)})
    flaw = first_flaw(
        "" if sympy.expand(length - 1 - 4 * s**2 * x * (1 - x)) == 0 else "the length of the step",
        "" if sympy.expand(room) == 0 else "the bound",
        "" if non_negative(sympy.cancel(slope * (1 + c) ** 2 * (1 + y))) and f.subs(x, 1) == 4 * s else "f grows",
    )
    return Proof(not flaw, flaw or "the step in coordinates, and its bound as an identity")


@proof("rolora/eq-167@as-a-union-bound", factor="2", power=10)
def eq_167(values: Values) -> Proof:
    r"""Let $F_t$ be the event that contraction t fails. Where some $F_t$ occur, they number at least 1.

    So the indicator of their union is at most the sum of their indicators, and $P(\bigcup F_t) \le \sum_tP(F_t) \le T
    \cdot 2q^{-10}$, whatever their joint law is; there is equality for failures that exclude one another. Where the
    bound of a contraction is only known given that those before it hold (Lemma 5.3 assumes $\delta^t \le \cdots \le
    \delta^0$), the same sum bounds it: $P(\bigcup F_t)$ is the sum over t of the probabilities that the first failure
    is at t.
    """
    q = sympy.Symbol("q", positive=True)
    outcomes = [outcome for T in (1, 2, 3, 4) for outcome in product((0, 1), repeat=T)]
    stated = rational(values["factor"]) * T / q ** values["power"]
    flaw = first_flaw(
        "" if all(max(outcome) <= sum(outcome) for outcome in outcomes) else "the union",
        "" if sympy.simplify(T * (2 / q**10) - stated) == 0 else "failures that exclude one another",
    )
    return Proof(not flaw, flaw or "the indicator of a union against a sum, and failures that exclude one another")


@proof(
    "rolora/eq-167@c-of-the-step",
    FIXED_WORDS,
    factor="2",
    power=10,
    limit="1/2",
    share="3/10",
    printed="1/16",
    samples="100",
)
def eq_167_step(values: Values) -> Proof:
    """Each contraction by rolora/a4-c, the same samples in all iterations at once; the union bound for fresh ones."""
    each, union = a4_c.evaluate(values), eq_167.evaluate(values)
    assert isinstance(each, Proof)
    assert isinstance(union, Proof)
    first = next((one for one in (each, union) if not one.verified), None)
    return first or Proof(True, f"{each.steps}; {union.steps}")


@proof("rolora/eq-168@enough", root_log="2", power="2")
def eq_168(values: Values) -> Proof:
    r"""Division by $\delta^0 > 0$, and the logarithm, which is increasing, of both sides.

    $y = c(1 - (\delta^0)^2)$ lies in (0, 1), so that both sides of (169) are positive; and $\log(1 - y) < 0$ turns the
    inequality round where (170) is divided by it.
    """
    root_log, power = rational(values["root_log"]), rational(values["power"])
    rate = c * (1 - delta**2)
    taken = T / 2 * sympy.log(1 - rate)  # of (1 - y)^(T/2)
    printed = T / root_log * sympy.log(1 - c * (1 - delta**power))
    power_of = sympy.expand_log(sympy.log((1 - y) ** (T / 2)), force=True) - T / 2 * sympy.log(1 - y)
    equal = sympy.simplify(power_of) == 0 and sympy.simplify(taken - printed) == 0
    flaw = flaw_of_logarithms() or ("" if equal else "the logarithm of the power")
    return Proof(not flaw, flaw or "the logarithm of a power, and its sign")


@proof("rolora/eq-172", size="1", sense=-1)
def eq_172(values: Values) -> Proof:
    r"""$\log(1 - y) < -y < 0$, so that $-1/\log(1 - y) < 1/y$; times $2\log(\delta_0/\epsilon) > 0$."""
    flaw = weaker(values, most="size=1") or flaw_of_logarithms()
    flaw = flaw or ("" if rational(values["size"]) >= 1 and values["sense"] == -1 else "near y = 0 both agree")
    return Proof(not flaw, flaw or r"$-\log(1-y) - y$ vanishes at 0 and has the derivative $y/(1-y)$")


@proof("rolora/eq-286", size="1")
def eq_286(values: Values) -> Proof:
    r"""$\log(1-y) < -y < 0$, so that $-1/\log(1-y) < 1/y$; times $-\log(\epsilon/\delta_0) > 0$.

    The lines before it: the logarithm is increasing, and division by $\log(1-y) < 0$ turns the inequality round.
    """
    size = rational(values["size"])
    flaw = weaker(values, most="size=1") or flaw_of_logarithms()
    flaw = flaw or ("" if size >= 1 else "near y = 0 the quotients agree, so that the size is needed")
    return Proof(not flaw, flaw or r"$-\log(1-y) - y$ vanishes at 0 and has the derivative $y/(1-y)$")


@proof("rolora/eq-175", second="1", sharp="1")
def eq_175(values: Values) -> Proof:
    r"""(176) is the triangle inequality, (178) the norm of rank one, (179) the event, (180) $\delta^T \le \epsilon$.

    The two parts are orthogonal because $a^\top(I_d - aa^\top) = 0$, so that the square of their sum is the sum of
    their squares, at most $((\epsilon')^2 + 1)(\delta^T)^2\|b^*\|^2$.
    """
    second, sharp = rational(values["second"]), rational(values["sharp"])
    gap = level * delta  # the largest |b - g|, in units of b*, which MEAN stands for
    parts = [(A, plus((1, B), (-COSINE, MEAN)))], [(plus((COSINE, A), (-1, TRUTH)), MEAN)]
    flaw = first_flaw(
        flaw_of_rank_one(),
        "" if same(frobenius(*parts), 0) else "the parts are not orthogonal",
        "" if non_negative((level + second) * delta - gap - delta) else "(179)",
        "" if non_negative((1 + level) * (delta + more) - (level + 1) * delta) else "(180)",
        "" if non_negative(sharp**2 * (1 + level**2) * delta**2 - gap**2 - delta**2) else "the sum of squares",
    )
    return Proof(not flaw, flaw or "norms of rank one, orthogonal parts, and signs of coefficients")
