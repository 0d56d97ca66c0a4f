"""Proofs of the end of Theorem 5.4's proof: the number of iterations, and the product of both factors."""

from __future__ import annotations

import sympy

from paper_checks.proof_steps import first_flaw, non_negative, rational
from paper_checks.replay import Proof, proof
from paper_checks.rolora.replays.minimiser_proofs import flaw_of_rank_one
from paper_checks.rolora.replays.rank_one import COSINE, MEAN, TRUTH, A, B, frobenius, plus, same
from paper_checks.rolora.replays.rate_proofs import flaw_of_logarithms, weaker
from paper_checks.stored_values import Values

T, y, c, delta = sympy.symbols("T y c delta", positive=True)
level, more = sympy.symbols("level more", nonnegative=True)


@proof("rolora/eq-168", root_log="2", power="2")
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
