"""Appendix A.2: models of any larger dimension with the same true eigenvalues (Proposition A.4, eq. 14 to 20).

A Hessian at a point depends on the functions only through their values and first two derivatives there, so quadratic
functions with symbolic coefficients stand for all twice differentiable ones: an identity in these symbols is a proof.
"""

from __future__ import annotations

import sympy

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity

WEIGHTS = sympy.symbols("w1:4")
OUTPUTS = sympy.symbols("y1:3")
_HALF = sympy.Rational(1, 2)


def _quadratic(name: str, variables: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    """A general quadratic with symbolic coefficients."""
    n = len(variables)
    linear = sympy.symbols(f"{name}_1:{n + 1}")
    square = {(i, j): sympy.Symbol(f"{name}_{min(i, j) + 1}{max(i, j) + 1}") for i in range(n) for j in range(n)}
    value = sympy.Symbol(f"{name}_0") + sum(a * v for a, v in zip(linear, variables, strict=True))
    return value + _HALF * sum(square[i, j] * variables[i] * variables[j] for i in range(n) for j in range(n))


LOSS = _quadratic("l", OUTPUTS)
MODEL = tuple(_quadratic(f"h{i}", WEIGHTS[:2]) for i in (1, 2))


def draw_weights(context: Context) -> list[Point]:
    """Exact values for every symbol, to refute a false line."""
    symbols = {*LOSS.free_symbols, *(s for h in MODEL for s in h.free_symbols), *WEIGHTS, sympy.Symbol("t")}
    return generic_points(context, sorted(symbols, key=str), 4)


def _total_hessian(outputs: tuple[sympy.Expr, ...], weights: tuple[sympy.Symbol, ...]) -> sympy.Matrix:
    loss = LOSS.subs(dict(zip(OUTPUTS, outputs, strict=True)), simultaneous=True)
    return sympy.hessian(loss, weights)


@claim(
    "fedloru-v2/eq-17",
    where="Appendix A.2, eq. (17)",
    says=r"$\nabla_\omega^2 \ell(h(x;\omega),y) = J^T (\nabla_y^2 \ell) J + \sum_i \frac{\partial\ell}{\partial y_i} "
    r"\nabla_\omega^2 h_i$.",
    measure=draw_weights,
    mutants=[{"second": 0}, {"second": 2}, {"outer": -1}],
    vary=("second",),
    expect="holds",
    method="identity",
)
def eq_17(points: list[Point], second: float = 1, outer: int = 1) -> Evidence:
    """Every entry of the Hessian of a composition, all 2-jets symbolic."""
    weights = WEIGHTS[:2]
    at = dict(zip(OUTPUTS, MODEL, strict=True))
    jacobian = sympy.Matrix(MODEL).jacobian(weights)
    hessian_loss = sympy.hessian(LOSS, OUTPUTS)
    curvature = sympy.zeros(2, 2)
    for y, h in zip(OUTPUTS, MODEL, strict=True):
        curvature += sympy.diff(LOSS, y).subs(at, simultaneous=True) * sympy.hessian(h, weights)
    factor = sympy.Rational(second)
    printed = outer * jacobian.T * hessian_loss * jacobian + factor * curvature
    actual = _total_hessian(MODEL, weights)
    lines = [Equation(f"entry {i + 1}{j + 1}", actual[i, j], printed[i, j]) for i in range(2) for j in range(i, 2)]
    return judge_identity(lines, points, "all 2-jets of h: R^2 -> R^2 and of the loss, symbolic")


@claim(
    "fedloru-v2/prop-A.4",
    where="Appendix A.2, Proposition A.4, eqs. (14) to (20)",
    says=r"If some $\tilde R > k$ has $\Omega^{\tilde R}(\theta_1..\theta_k)$ non-empty, then $\Omega^R$ is non-empty "
    r"for all $R \ge \tilde R$: pad the model with a weight it does not depend on.",
    measure=draw_weights,
    mutants=[{"coupling": 1}, {"curvature": 1}],
    vary=("coupling", "curvature"),
    uses=("fedloru-v2/eq-17",),
    expect="holds",
    method="identity",
)
def prop_A_4(points: list[Point], coupling: float = 0, curvature: float = 0) -> Evidence:
    """The padded Hessian is the old one with a zero row and column, so the non-zero eigenvalues are the same."""
    z, t = WEIGHTS[2], sympy.Symbol("t")
    old = _total_hessian(MODEL, WEIGHTS[:2])
    padded = (MODEL[0] + sympy.Rational(coupling) * z * WEIGHTS[0] + sympy.Rational(curvature) * z**2, MODEL[1])
    new = _total_hessian(padded, WEIGHTS).subs(z, 0)
    lines = [Equation(f"entry {i + 1}3", new[i, 2], sympy.Integer(0)) for i in range(3)]
    lines += [Equation(f"entry {i + 1}{j + 1}", new[i, j], old[i, j]) for i in range(2) for j in range(i, 2)]
    block = sympy.Matrix(2, 2, sympy.symbols("a b b c"))
    bordered = sympy.diag(block, 0)
    lines.append(Equation("characteristic polynomial", bordered.charpoly(t).as_expr(), t * block.charpoly(t).as_expr()))
    return judge_identity(lines, points, "one weight added to any twice differentiable model; by induction all R")
