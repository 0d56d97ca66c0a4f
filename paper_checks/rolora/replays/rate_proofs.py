r"""The angle under the population loss, one iteration and many: the same map for equal and for different clients.

Let u be the squared sine between a and $a^*$, c the cosine, $s = \eta\|\bar b^*\|^2$ (for equal clients $\|b^*\|^2$).
At $b = c\bar b^*$ the step $a - 2\eta(a\|b\|^2 - a^*\langle\bar b^*, b\rangle)$ has the component $c(1 + 2su)$ along
$a^*$ and $1 - 2s + 2su$ times that of a across. So the tangent is multiplied by $1 - Y$, exactly, with
$Y = \frac{2s}{1 + 2su}$, and the cosine keeps its sign. For $0 < s < 1$ and u > 0, $|1 - Y| < 1$: the sine never grows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from paper_checks.proof_steps import positive
from paper_checks.replay import proof, require
from paper_checks.rolora.replays.logarithms import bounds_of_logarithms, w, z

u, h, s = sympy.symbols("u h s", positive=True)
"""Positive: a squared sine, what is added to it, and a step."""


def not_negative(expression: Any) -> bool:
    """The same, or identically 0."""
    return bool(sympy.simplify(expression) == 0) or positive(expression)


def at_least(stated: Fraction | int, **constants: Fraction) -> None:
    """Require that no constant is less than the statement's, which would prove less than it."""
    for name, value in constants.items():
        require(value >= stated, f"{name} = {value} is weaker than the statement's {stated}")


def at_most(stated: Fraction | int, **constants: Fraction) -> None:
    """Require that no constant is more than the statement's, which would prove less than it."""
    for name, value in constants.items():
        require(value <= stated, f"{name} = {value} is weaker than the statement's {stated}")


def ratio(step: Any, square: Any) -> Any:
    """Factor of the tangent in one iteration."""
    return 1 - 2 * step / (1 + 2 * step * square)


def map_of_the_tangent() -> None:
    """The components of the step, with the cosine c and the sine d of a: c^2 + d^2 = 1."""
    c, d = sympy.symbols("c d", positive=True)
    along, across = c * (1 - 2 * s * c**2) + 2 * s * c, d * (1 - 2 * s * c**2)
    there = sympy.simplify((along - c * (1 + 2 * s * d**2)).subs(d, sympy.sqrt(1 - c**2)))
    quotient = (across / along / (d / c) - ratio(s, d**2)).subs(d, sympy.sqrt(1 - c**2))
    require(there == 0 == sympy.simplify(quotient), "the map of the tangent")


def tangents_decrease(lead: Fraction | int, pull: Fraction | int, longest: Fraction) -> None:
    r"""Each iteration lowers the log of the tangent by at least $2s/(1 - s + 2su_0)$, for $u \le u_0$.

    $1 - Y > 0$ for $s \le \frac12$, and $-\log(1 - Y) = 2\operatorname{artanh}\frac{Y}{2 - Y} \ge \frac{2Y}{2 - Y}$.
    """
    map_of_the_tangent()
    bounds_of_logarithms()
    shorter = longest / (1 + w)
    Y = 1 - ratio(s, u)
    require(positive(ratio(shorter, u)) and positive(ratio(longest, u)), "1 - Y is not positive")
    argument = sympy.simplify(Y / (2 - Y))
    require(sympy.simplify((1 + argument) / (1 - argument) * (1 - Y) - 1) == 0, "the logarithm of 1 - Y")
    lowered = (2 * argument - lead * s / (1 - pull * s + 2 * s * (u + h))).subs(s, shorter)
    require(not_negative(lowered), "the decrease of the tangent")
    require(positive((1 - pull * s + 2 * s * u).subs(s, shorter)), "the count is not positive")


def sines_decrease(factor: Fraction | int, longest: Fraction) -> None:
    r"""The sine is multiplied by at most $1 - 2s(1 - u_0)$, which is not negative, for $u \le u_0 < 1$.

    The square of its factor is $(1 - 2sx)^2/(1 + 4s^2ux)$, $x = 1 - u$, from the two components, and $s(1 - u_0) \le
    sx$. At u = 0, $u = u_0$ and the longest step the inequalities, none of them strict, hold by continuity.
    """
    map_of_the_tangent()
    square, largest = u / (u + h + z), (u + h) / (u + h + z)
    shorter, x = longest / (1 + w), 1 - square
    components = (1 + 2 * s * u) ** 2 * (1 - u) + (1 - 2 * s + 2 * s * u) ** 2 * u
    require(sympy.expand(components - 1 - 4 * s**2 * u * (1 - u)) == 0, "the squared length of the step")
    middle, last = 1 - 2 * shorter * x, 1 - factor * shorter * (1 - largest)
    require(positive(middle), "1 - 2s(1 - u) is not positive")
    require(not_negative(last - middle), "the bound is below it")
    require(positive(last), "the bound is not positive")


def no_larger_constant(factor: Fraction) -> None:
    r"""No larger constant than $2s$ is enough for short steps and $\epsilon$ near $\delta_0$.

    The logarithm of the tangent falls by $2s(1 + o(1))$ in an iteration as s tends to 0, and has to fall by
    $\ell/(1 - \delta_0^2)(1 + o(1))$ as $\ell = \log(\delta_0/\epsilon)$ tends to 0, its slope in $\log\epsilon$.
    """
    e = sympy.Symbol("e", positive=True)
    slope = e * (sympy.log(e) - sympy.log(1 - e**2) / 2).diff(e)
    falls = sympy.limit(-sympy.log(ratio(s, u)) / s, s, 0)
    require(sympy.simplify(slope - 1 / (1 - e**2)) == 0 == falls - factor, "the best constant")


@proof("rolora/lem-A.16")
def lem_A_16(factor: Fraction = Fraction(2), longest: Fraction = Fraction(1, 2)) -> str:
    r"""The sine is multiplied by at most $1 - 2s(1 - \delta_0^2)$ in an iteration; for $s = 0$ nothing moves.

    With $x = 1 - u$ the part of the step across $a^*$ is $1 - 2sx$ times that of a, and the squared length of the step
    is $1 + 4s^2ux \ge 1$. So the squared factor of the sine is $(1 - 2sx)^2$ over something that is at least 1, and $0
    \le 1 - 2sx \le 1 - 2s(1 - \delta_0^2)$ for $0 < s \le \frac12$ and $u \le \delta_0^2$.
    """
    at_least(2, factor=factor)
    at_least(Fraction(1, 2), longest=longest)
    sines_decrease(factor, longest)
    return (
        r"the squared length of the step is $1 + 4s^2u(1-u) \ge 1$, and $0 \le 1 - 2s(1-u) "
        r"\le 1 - 2s(1-\delta_0^2)$, by signs of coefficients"
    )


@proof("rolora/asm-A.12")
def asm_A_12(reach: Fraction = Fraction(1)) -> str:
    r"""Any bound does: for $\eta \le 1/(2L_{max}^2)$ it gives $s = \eta\|\bar b^*\|^2 \le \frac12$, then Lemma A.16."""
    at_least(1, reach=reach)
    sines_decrease(2, reach**2 / 2)
    return r"$\eta\|\bar b^*\|^2 \le \frac12$, and then Lemma A.16"


@proof("rolora/asm-5.1")
def asm_5_1(power: Fraction = Fraction(2), limit: Fraction = Fraction(1)) -> str:
    r"""Any bound does: $\eta\|b^*\|^2 \le \eta L_{max}^2 \le 1$ if $\eta \le 1/L_{max}^2$ and $\|b^*\| \le L_{max}$."""
    bound = u + h  # for |b*| = u
    require(power.denominator == 1 and not_negative(limit - u**2 / bound**power), "the step over the bound")
    return r"$\eta\|b^*\|^2 \le 1$ from $\eta \le 1/L_{max}^2$, by signs of coefficients"


@proof("rolora/eq-270")
def eq_270(factor: Fraction = Fraction(2), longest: Fraction = Fraction(1, 2)) -> str:
    r"""$\|\bar b\|^2 = c^2\|\bar b^*\|^2 \le L_{max}^2$, so that $2\eta\|\bar b\|^2 \le 2\eta L_{max}^2 \le 1$.

    Hence $C \le |1 - 2\eta\|\bar b\|^2| = 1 - 2\eta\|\bar b\|^2$ by (269), (270); $\bar b = c\bar b^*$ is (271), $c^2
    = 1 - (\delta^t)^2$ is (272), and $\delta^t \le \delta^0$ gives (273). With $s = \eta\|\bar b^*\|^2 \le \frac12$
    the whole is the statement on sines below.
    """
    at_least(2, factor=factor)
    at_least(Fraction(1, 2), longest=longest)
    sines_decrease(factor, longest)
    return "the three inequalities by signs of coefficients"


@proof("rolora/thm-A.14")
def thm_A_14(
    factor: Fraction = Fraction(2),
    longest: Fraction = Fraction(1, 2),
    lead: Fraction = Fraction(2),
    pull: Fraction = Fraction(1),
) -> str:
    r"""Both numbers of iterations are enough, for $0 < s \le \frac12$, $0 < \delta_0 < 1$, $0 < \epsilon \le \delta_0$.

    The sine never grows, so that Lemma A.16 applies at every iteration: $\delta_T \le \delta_0(1 - y)^T$ with
    $y = 2s(1 - \delta_0^2)$, and $(1 - y)^T \le e^{-yT} \le \epsilon/\delta_0$. The logarithm of the tangent falls in
    every iteration by at least $2s/(1 - s + 2s\delta_0^2)$, so that after as many as stated the tangent is at most
    that of $\epsilon$. For short steps and $\epsilon$ near $\delta_0$ no constant above 2 will do. The second
    inequality of the theorem is $\|\bar b^*\|$ times the first (eq. (293)).
    """
    at_least(2, factor=factor, lead=lead)
    at_least(Fraction(1, 2), longest=longest)
    at_least(1, pull=pull)
    sines_decrease(factor, longest)
    tangents_decrease(lead, pull, longest)
    no_larger_constant(factor)
    return (
        r"Lemma A.16 with $(1-y)^T \le e^{-yT}$; the exact factor of the tangent, "
        r"$1 - \frac{2s}{1 + 2su}$, with $\operatorname{artanh} z \ge z$; its limit "
        "for short steps"
    )


@proof("rolora/thm-A.14@c-of-lemma-a-16")
def thm_A_14_tied(factor: Fraction = Fraction(2), longest: Fraction = Fraction(1, 2)) -> str:
    r"""For $c \le y/(1 - \delta_0^2)$, $y = 2s(1 - \delta_0^2)$: $(1 - y)^T \le e^{-yT} \le \epsilon/\delta_0$."""
    at_least(2, factor=factor)
    at_least(Fraction(1, 2), longest=longest)
    sines_decrease(factor, longest)
    return r"Lemma A.16 in every iteration, with $(1-y)^T \le e^{-yT}$"


@proof("rolora/txt-exponential")
def txt_exponential(factor: Fraction = Fraction(2), reach: Fraction = Fraction(1)) -> str:
    r"""The factor $1 - Y$ of the tangent lies between $1 - 2\kappa$ (u = 0) and its value at $u_0 \ge u$.

    Both are below 1 in size for $0 < \kappa < 1$, so that by induction $u \le u_0$ at every iteration. The loss at
    $(a^t, b^t)$, $b^t = c_{t-1}b^*$, is $\|b^*\|^2(1 - 2c_tc_{t-1} + c_{t-1}^2)$, which is below
    $\|b^*\|^2(1 - c_0^2)$ for cosines of one sign that grow in size, which they do. At $\kappa = 1$ the inverse square
    of the tangent grows by 8 in the limit.
    """
    at_least(1, reach=reach)
    map_of_the_tangent()
    start, grown, more, t = sympy.symbols("start grown more t", positive=True)
    shorter = reach / (1 + w)
    share = factor * s
    least, largest = 1 - share, 1 - share / (1 + share * (u + h))
    require(positive(ratio(s, u) - least), "the factor is below its value at u = 0")
    require(positive(largest - ratio(s, u)), "the factor is above its value at u_0")
    require(positive((least + 1).subs(s, shorter)), "a factor is not above -1")
    require(positive(1 - largest), "a factor is not below 1")
    loss = 1 - 2 * (start + grown + more) * (start + grown) + (start + grown) ** 2
    require(positive(1 - start**2 - loss), "the loss is not below FFA-LoRA's")
    tangent = t * ratio(1, t**2 / (1 + t**2))
    require(sympy.limit(1 / tangent**2 - 1 / t**2, t, 0) == 8, "the limit at 1")
    return (
        r"the exact factor of the tangent, $1 - \frac{2\kappa}{1 + 2\kappa u}$, between its "
        "ends; the losses; the limit at the largest step"
    )


@proof("rolora/txt-exponential@for-a-suitable-step")
def at_some_step(factor: Fraction = Fraction(2), reach: Fraction = Fraction(1)) -> str:
    r"""The same for one step with $0 < \kappa < 1$."""
    return str(txt_exponential.evaluate(factor, reach))
