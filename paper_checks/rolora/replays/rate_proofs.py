r"""The angle under the population loss, one iteration and many: the same map for equal and for different clients.

Let u be the squared sine between a and $a^*$, c the cosine, $s = \eta\|\bar b^*\|^2$ (for equal clients $\|b^*\|^2$).
At $b = c\bar b^*$ the step $a - 2\eta(a\|b\|^2 - a^*\langle\bar b^*, b\rangle)$ has the component $c(1 + 2su)$ along
$a^*$ and $1 - 2s + 2su$ times that of a across. So the tangent is multiplied by $1 - Y$, exactly, with
$Y = \frac{2s}{1 + 2su}$, and the cosine keeps its sign. For $0 < s < 1$ and u > 0, $|1 - Y| < 1$: the sine never grows.
"""

from __future__ import annotations

from typing import Any

import sympy

from paper_checks.proof_steps import positive, rational
from paper_checks.replay import Proof, proof
from paper_checks.rolora.replays.logarithms import flaw_of_logarithms, w, z
from paper_checks.stored_values import Values

u, h, s = sympy.symbols("u h s", positive=True)
"""Positive: a squared sine, what is added to it, and a step."""


def not_negative(expression: Any) -> bool:
    """The same, or identically 0."""
    return bool(sympy.simplify(expression) == 0) or positive(expression)


def weaker(values: Values, least: str = "", most: str = "") -> str:
    """Which constant of a file is weaker than the statement's, given as name=number pairs; empty if none is.

    A proof of less than what stands would be no proof of it.
    """
    for pairs, sign in ((least, 1), (most, -1)):
        for name, number in (pair.split("=") for pair in pairs.split()):
            if sign * (rational(values[name]) - rational(number)) < 0:
                return f"{name} = {values[name]} is weaker than the statement's {number}"
    return ""


def ratio(step: Any, square: Any) -> Any:
    """Factor of the tangent in one iteration."""
    return 1 - 2 * step / (1 + 2 * step * square)


def flaw_of_map() -> str:
    """The components of the step, with the cosine c and the sine d of a: c^2 + d^2 = 1."""
    c, d = sympy.symbols("c d", positive=True)
    along, across = c * (1 - 2 * s * c**2) + 2 * s * c, d * (1 - 2 * s * c**2)
    there = sympy.simplify((along - c * (1 + 2 * s * d**2)).subs(d, sympy.sqrt(1 - c**2)))
    quotient = (across / along / (d / c) - ratio(s, d**2)).subs(d, sympy.sqrt(1 - c**2))
    return "" if there == 0 == sympy.simplify(quotient) else "the map of the tangent"


def flaw_of_tangents(lead: Any, pull: Any, longest: Any) -> str:
    r"""Whether each iteration lowers the log of the tangent by at least $2s/(1 - s + 2su_0)$, for $u \le u_0$.

    $1 - Y > 0$ for $s \le \frac12$, and $-\log(1 - Y) = 2\operatorname{artanh}\frac{Y}{2 - Y} \ge \frac{2Y}{2 - Y}$.
    """
    shorter = longest / (1 + w)
    Y = 1 - ratio(s, u)
    argument = sympy.simplify(Y / (2 - Y))
    lowered = (2 * argument - lead * s / (1 - pull * s + 2 * s * (u + h))).subs(s, shorter)
    checks = {
        "1 - Y is not positive": positive(ratio(shorter, u)) and positive(ratio(longest, u)),
        "the logarithm of 1 - Y": sympy.simplify((1 + argument) / (1 - argument) * (1 - Y) - 1) == 0,
        "the decrease of the tangent": not_negative(lowered),
        "the count is not positive": positive((1 - pull * s + 2 * s * u).subs(s, shorter)),
    }
    return flaw_of_map() or flaw_of_logarithms() or next((name for name, passed in checks.items() if not passed), "")


def flaw_of_sines(factor: Any, longest: Any) -> str:
    r"""Whether the sine is multiplied by at most $1 - 2s(1 - u_0)$, which is not negative, for $u \le u_0 < 1$.

    The square of its factor is $(1 - 2sx)^2/(1 + 4s^2ux)$, $x = 1 - u$, from the two components; s(1 - u_0) <= s x.
    At u = 0, u = u_0 and the longest step the inequalities, none of them strict, hold by continuity.
    """
    square, largest = u / (u + h + z), (u + h) / (u + h + z)
    shorter, x = longest / (1 + w), 1 - square
    components = (1 + 2 * s * u) ** 2 * (1 - u) + (1 - 2 * s + 2 * s * u) ** 2 * u
    middle, last = 1 - 2 * shorter * x, 1 - factor * shorter * (1 - largest)
    checks = {
        "the squared length of the step": sympy.expand(components - 1 - 4 * s**2 * u * (1 - u)) == 0,
        "1 - 2s(1 - u) is not positive": positive(middle),
        "the bound is below it": not_negative(last - middle),
        "the bound is not positive": positive(last),
    }
    return flaw_of_map() or next((name for name, passed in checks.items() if not passed), "")


def flaw_of_best(factor: Any) -> str:
    r"""Whether no larger constant than $2s$ is enough for short steps and $\epsilon$ near $\delta_0$.

    The logarithm of the tangent falls by $2s(1 + o(1))$ in an iteration as s tends to 0, and has to fall by
    $\ell/(1 - \delta_0^2)(1 + o(1))$ as $\ell = \log(\delta_0/\epsilon)$ tends to 0, its slope in $\log\epsilon$.
    """
    e = sympy.Symbol("e", positive=True)
    slope = e * (sympy.log(e) - sympy.log(1 - e**2) / 2).diff(e)
    falls = sympy.limit(-sympy.log(ratio(s, u)) / s, s, 0)
    return "" if sympy.simplify(slope - 1 / (1 - e**2)) == 0 == falls - factor else "the best constant"


@proof("rolora/lem-A.16", factor="2", longest="1/2")
def lem_A_16(values: Values) -> Proof:
    r"""The sine is multiplied by at most $1 - 2s(1 - \delta_0^2)$ in an iteration; for $s = 0$ nothing moves.

    With $x = 1 - u$ the part of the step across $a^*$ is $1 - 2sx$ times that of a, and the squared length of the step
    is $1 + 4s^2ux \ge 1$. So the squared factor of the sine is $(1 - 2sx)^2$ over something that is at least 1, and $0
    \le 1 - 2sx \le 1 - 2s(1 - \delta_0^2)$ for $0 < s \le \frac12$ and $u \le \delta_0^2$.
    """
    flaw = weaker(values, "factor=2 longest=1/2")
    flaw = flaw or flaw_of_sines(rational(values["factor"]), rational(values["longest"]))
    return Proof(
        not flaw,
        flaw
        or r"the squared length of the step is $1 + 4s^2u(1-u) \ge 1$, and $0 \le 1 - 2s(1-u) "
        r"\le 1 - 2s(1-\delta_0^2)$, by signs of coefficients",
    )


@proof("rolora/asm-A.12", reach="1")
def asm_A_12(values: Values) -> Proof:
    r"""Any bound does: for $\eta \le 1/(2L_{max}^2)$ it gives $s = \eta\|\bar b^*\|^2 \le \frac12$, then Lemma A.16."""
    reach = rational(values["reach"])
    flaw = weaker(values, "reach=1") or flaw_of_sines(rational("2"), reach**2 / 2)
    return Proof(not flaw, flaw or r"$\eta\|\bar b^*\|^2 \le \frac12$, and then Lemma A.16")


@proof("rolora/asm-5.1", power="2", limit="1")
def asm_5_1(values: Values) -> Proof:
    r"""Any bound does: $\eta\|b^*\|^2 \le \eta L_{max}^2 \le 1$ if $\eta \le 1/L_{max}^2$ and $\|b^*\| \le L_{max}$."""
    power, limit = rational(values["power"]), rational(values["limit"])
    bound = u + h  # for |b*| = u
    met = power.is_integer and not_negative(limit - u**2 / bound**power)
    flaw = "" if met else "the step over the bound"
    return Proof(not flaw, flaw or r"$\eta\|b^*\|^2 \le 1$ from $\eta \le 1/L_{max}^2$, by signs of coefficients")


@proof("rolora/eq-270", factor="2", longest="1/2")
def eq_270(values: Values) -> Proof:
    r"""$\|\bar b\|^2 = c^2\|\bar b^*\|^2 \le L_{max}^2$, so that $2\eta\|\bar b\|^2 \le 2\eta L_{max}^2 \le 1$.

    Hence $C \le |1 - 2\eta\|\bar b\|^2| = 1 - 2\eta\|\bar b\|^2$ by (269), (270); $\bar b = c\bar b^*$ is (271), $c^2
    = 1 - (\delta^t)^2$ is (272), and $\delta^t \le \delta^0$ gives (273). With $s = \eta\|\bar b^*\|^2 \le \frac12$
    the whole is the statement on sines below.
    """
    flaw = weaker(values, "factor=2 longest=1/2")
    flaw = flaw or flaw_of_sines(rational(values["factor"]), rational(values["longest"]))
    return Proof(not flaw, flaw or "the three inequalities by signs of coefficients")


@proof("rolora/thm-A.14", factor="2", longest="1/2", lead="2", pull="1")
def thm_A_14(values: Values) -> Proof:
    r"""Both numbers of iterations are enough, for $0 < s \le \frac12$, $0 < \delta_0 < 1$, $0 < \epsilon \le \delta_0$.

    The sine never grows, so that Lemma A.16 applies at every iteration: $\delta_T \le \delta_0(1 - y)^T$ with
    $y = 2s(1 - \delta_0^2)$, and $(1 - y)^T \le e^{-yT} \le \epsilon/\delta_0$. The logarithm of the tangent falls in
    every iteration by at least $2s/(1 - s + 2s\delta_0^2)$, so that after as many as stated the tangent is at most
    that of $\epsilon$. For short steps and $\epsilon$ near $\delta_0$ no constant above 2 will do. The second
    inequality of the theorem is $\|\bar b^*\|$ times the first (eq. (293)).
    """
    longest = rational(values["longest"])
    flaw = (
        weaker(values, "factor=2 longest=1/2 lead=2 pull=1")
        or flaw_of_sines(rational(values["factor"]), longest)
        or flaw_of_tangents(rational(values["lead"]), rational(values["pull"]), longest)
        or flaw_of_best(rational(values["factor"]))
    )
    return Proof(
        not flaw,
        flaw
        or r"Lemma A.16 with $(1-y)^T \le e^{-yT}$; the exact factor of the tangent, "
        r"$1 - \frac{2s}{1 + 2su}$, with $\operatorname{artanh} z \ge z$; its limit "
        "for short steps",
    )


@proof("rolora/thm-A.14@c-of-lemma-a-16", factor="2", longest="1/2")
def thm_A_14_tied(values: Values) -> Proof:
    r"""For $c \le y/(1 - \delta_0^2)$, $y = 2s(1 - \delta_0^2)$: $(1 - y)^T \le e^{-yT} \le \epsilon/\delta_0$."""
    flaw = weaker(values, "factor=2 longest=1/2")
    flaw = flaw or flaw_of_sines(rational(values["factor"]), rational(values["longest"]))
    return Proof(not flaw, flaw or r"Lemma A.16 in every iteration, with $(1-y)^T \le e^{-yT}$")


@proof("rolora/txt-exponential", factor="2", reach="1")
def txt_exponential(values: Values) -> Proof:
    r"""The factor $1 - Y$ of the tangent lies between $1 - 2\kappa$ (u = 0) and its value at $u_0 \ge u$.

    Both are below 1 in size for $0 < \kappa < 1$, so that by induction $u \le u_0$ at every iteration. The loss at
    $(a^t, b^t)$, $b^t = c_{t-1}b^*$, is $\|b^*\|^2(1 - 2c_tc_{t-1} + c_{t-1}^2)$, which is below
    $\|b^*\|^2(1 - c_0^2)$ for cosines of one sign that grow in size, which they do. At $\kappa = 1$ the inverse square
    of the tangent grows by 8 in the limit.
    """
    factor, reach = rational(values["factor"]), rational(values["reach"])
    start, grown, more, t = sympy.symbols("start grown more t", positive=True)
    shorter = reach / (1 + w)
    share = factor * s
    least, largest = 1 - share, 1 - share / (1 + share * (u + h))
    loss = 1 - 2 * (start + grown + more) * (start + grown) + (start + grown) ** 2
    tangent = t * ratio(1, t**2 / (1 + t**2))
    checks = {
        "the factor is below its value at u = 0": positive(ratio(s, u) - least),
        "the factor is above its value at u_0": positive(largest - ratio(s, u)),
        "a factor is not above -1": positive((least + 1).subs(s, shorter)),
        "a factor is not below 1": positive(1 - largest),
        "the loss is not below FFA-LoRA's": positive(1 - start**2 - loss),
        "the limit at 1": sympy.limit(1 / tangent**2 - 1 / t**2, t, 0) == 8,
    }
    flaw = weaker(values, "reach=1") or flaw_of_map() or next((n for n, passed in checks.items() if not passed), "")
    return Proof(
        not flaw,
        flaw
        or r"the exact factor of the tangent, $1 - \frac{2\kappa}{1 + 2\kappa u}$, between its "
        "ends; the losses; the limit at the largest step",
    )


@proof("rolora/txt-exponential@for-a-suitable-step", factor="2", reach="1")
def at_some_step(values: Values) -> Proof:
    r"""The same for one step with $0 < \kappa < 1$."""
    found = txt_exponential.evaluate(values)
    assert isinstance(found, Proof)
    return found
