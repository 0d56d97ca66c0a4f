"""Proposition 3.1 of v1, which is Proposition A.4 of iclr, and its proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import sympy

from paper_checks.claim import Evidence, Form, Intended, claim
from paper_checks.context import Context
from paper_checks.facts import vanishes
from paper_checks.fedloru.spectral.measurements.quadratic_model import MODEL, OUTPUTS, WEIGHTS
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity

G_NAMES = ("value", "slope", "curvature", "third")

LOSS_FLAT = "Hessian of the loss of g"


@dataclass(frozen=True)
class Added:
    """A function g added to the model, by which of its derivatives at the point are not zero.

    Attributes:
        orders: non-zero orders, among value, slope, curvature and third.
        of_loss: Hessian at the point of the loss of g.
        of_sum: the same for the loss of h + g.
    """

    orders: tuple[str, ...]
    of_loss: sympy.Matrix
    of_sum: sympy.Matrix


POINT = WEIGHTS[2]  # the new weight z, at 0 like the others


def measure_added(context: Context) -> tuple[list[Added], sympy.Matrix, list[Point]]:
    r"""Return any h to second order and any cubic loss, all combinations of orders in g, and the Hessian for h only."""
    y = OUTPUTS[0]
    slope, square, cube = sympy.symbols("l_1 l_11 l_111")
    loss = slope * y + square * y**2 / 2 + cube * y**3 / 6
    h = MODEL[0]
    parts = {
        "value": sympy.Integer(1),
        "slope": WEIGHTS[0] + POINT,
        "curvature": POINT * (WEIGHTS[0] + POINT / 2),
        "third": POINT**3,
    }

    def at_point(model: sympy.Expr) -> sympy.Matrix:
        return sympy.hessian(loss.subs(y, model), WEIGHTS).subs(dict.fromkeys(WEIGHTS, 0))

    found = []
    for chosen in product((False, True), repeat=len(G_NAMES)):
        orders = tuple(name for name, there in zip(G_NAMES, chosen, strict=True) if there)
        g = sum((parts[name] for name in orders), start=sympy.Integer(0))
        found.append(Added(orders, at_point(g), at_point(h + g)))
    symbols = {slope, square, cube, *h.free_symbols} - {*WEIGHTS}
    return found, at_point(h), generic_points(context, sorted(symbols, key=str), 4)


def _admitted(added: list[Added], conditions: tuple[str, ...]) -> Iterator[Added]:
    for one in added:
        flat = all(map(vanishes, one.of_loss))
        if (flat or LOSS_FLAT not in conditions) and {*conditions}.isdisjoint(one.orders):
            yield one


@claim(
    "fedloru-v1/prop-3.1",
    where="v1 Proposition 3.1; iclr Proposition A.4 (a line of its proof, which fails: fedloru-v1/eq-18-19)",
    says=r"""If $\Omega^{\tilde R}(\theta_1, \ldots, \theta_k)$ is non-empty for some $\tilde R > k$, then $\Omega^R$ is
    non-empty for infinitely many R, in particular for all $R \ge \tilde R$.""",
    measure=measure_added,
    mutants=[{"orders": ("value",)}, {"orders": ("slope",)}, {"orders": ("curvature",)}],
    uses=("fedloru-v2/prop-A.4", "fedloru-v2/eq-17"),
    also=("fedloru-iclr/prop-A.4",),
    importance="result",
    expect=("holds", "proof"),
)
def v1_prop_3_1(data: tuple[list[Added], sympy.Matrix, list[Point]], orders: tuple[str, ...] = ()) -> Evidence:
    """One larger model with the same non-zero eigenvalues is enough: the one that ignores the new weight, g = 0."""
    added, alone, points = data
    (one,) = (one for one in added if one.orders == orders)
    entries = [
        Equation(f"entry {i + 1}{j + 1}", one.of_sum[i, j], alone[i, j] if j < 2 else sympy.Integer(0))
        for i in range(3)
        for j in range(i, 3)
    ]
    return judge_identity(
        entries,
        points,
        "h to second order and cubic loss, all coefficients symbolic, and a third weight that the larger model "
        "ignores; enough, since by (17) the Hessian depends on h and the loss at the point by derivatives up to the "
        "second alone; by induction all R",
    )


@claim(
    "fedloru-v1/eq-18-19",
    where="v1 proof of Proposition 3.1, eqs. (18) and (19); iclr proof of Proposition A.4, eqs. (14) and (15)",
    says=r"""$h^{\tilde R+1}(\omega^{\tilde R}, z) = h^{\tilde R}(\omega^{\tilde R}) + g^{\tilde R+1}(\omega^{\tilde R},
    z)$ (18) at $\omega^{\tilde R+1} = (\omega^{\tilde R}, z)$ (19) has the same true Hessian as $h^{\tilde R}$ (iclr:
    up to a zero row and column) for any $g$ with $\nabla^2\int\ell(g^{\tilde R+1}(x; (\omega^{\tilde R}, z)),
    y)\,d\psi = 0$.""",
    measure=measure_added,
    control=Form(r"The construction with $g = 0$: the larger model ignores the new weight.", {"conditions": G_NAMES}),
    correction=Form(
        r"""The Hessian is the same for every $g$ that vanishes at the point together with its first two derivatives,
        for almost every $x$, for every loss and $h$. That the loss of $g$ has zero Hessian does not suffice: with
        $\ell = \hat y^2$, $h = \omega^2$ and $g = 1$, $\nabla^2\ell(g) = 0$, but $\ell(h+g)'' = 12\omega^2 + 4$ and
        $\ell(h)'' = 12\omega^2$.""",
        {"conditions": G_NAMES[:3]},
        mutants=(
            {"conditions": ("slope", "curvature")},
            {"conditions": ("value", "curvature")},
            {"conditions": ("value", "slope")},
        ),
    ),
    uses=("fedloru-v2/prop-A.4", "fedloru-v2/eq-17"),
    because=r"The loss of a sum is not the sum of the losses: adding $g = 1$, for $\ell = \hat y^2$ and $h = "
    r"\omega^2$, changes the Hessian by 4.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“ensures that the second derivative with respect to the new function … vanishes”: the only condition on g",
    ),
)
def v1_eq_18_19(
    data: tuple[list[Added], sympy.Matrix, list[Point]], conditions: tuple[str, ...] = (LOSS_FLAT,)
) -> Evidence:
    """By the chain rule the Hessian for h + g is that for h with a zero row and column, for every such g."""
    added, alone, points = data
    evidence, shown = None, []
    for one in _admitted(added, conditions):
        shown.append(" + ".join(one.orders) or "zero")
        evidence = judge_identity(
            [
                Equation(f"entry {i + 1}{j + 1}, g with {shown[-1]}", one.of_sum[i, j], alone[i, j])
                for i in range(3)
                for j in range(i, 3)
            ],
            points,
            f"h to second order and cubic loss, all coefficients symbolic; g with {', '.join(shown)}; enough, since by "
            "(17) the Hessian depends on h and the loss at the point by derivatives up to the second alone",
        )
        if not evidence.ok:
            return replace(evidence, witness={**(evidence.witness or {}), "g": list(one.orders)})
    assert evidence is not None
    return evidence
