"""Section 5.1: the linear model (eqs. (5) to (7)), Assumption 5.1, Definition 5.2 and the notation of Table 3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
import torch
from torch import Tensor

from paper_checks.claim import Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, POSITIVE, UNIT, Axis, Searched
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations, same
from paper_checks.rolora.measurements.watched_rounds import Iteration, exact_iterations
from toymodels.problem import Problem
from toymodels.regression import Regressor, regression


@dataclass(frozen=True)
class Sample:
    """One client's data in full, and the toolkit's client, which keeps only the Gram matrix.

    Attributes:
        X: ``(m, d)``.
        a: a rank-1 direction, not normalised, ``(d, 1)``.
        b: ``(1, k)``.
        truth: $a^*$, a unit vector.
        own_b: $b^*$.
        client: the same client in the toolkit.
    """

    X: Tensor
    a: Tensor
    b: Tensor
    truth: Tensor
    own_b: Tensor
    client: Regressor


def draw_samples(context: Context) -> list[Sample]:
    """Draw clients of every size, fewer samples than dimensions included."""
    found = []
    for number, (m, d) in enumerate([(1, 2), (3, 2), (2, 5), (8, 8), (40, 10)] * context.size(2, 6)):
        rng = context.rng(f"{number}")
        X, a, truth = (torch.from_numpy(rng.standard_normal(size)) for size in ((m, d), (d, 1), (d, 1)))
        b, own = (torch.from_numpy(rng.standard_normal((1, d))) for _ in range(2))
        truth = truth / torch.linalg.vector_norm(truth)
        found.append(Sample(X, a, b, truth, own, Regressor(X.mT @ X / m, truth @ own, float(m))))
    return found


SIZES = "d from 2 to 10, m from 1 to 40"


@relations(
    "rolora/eq-5",
    where="Section 5.1, eq. (5)",
    says=r"""$f_i(X_i) = X_iab^\top$ with $X_i, Y_i \in \mathbb R^{m \times d}$, sample size m, a unit vector $a \in
    \mathbb R^d$ and $b \in \mathbb R^d$, the LoRA weights of rank $r = 1$.""",
    measure=draw_samples,
    mutants=[{"power": 0.0}, {"power": 2.0}],
    kind="setting",
    expect=("holds", "search"),
)
def eq_5(samples: list[Sample], power: float = 1.0) -> Relations:
    """Every update of rank 1 has this form with a unit vector a, because its length can be moved into b."""
    for one in samples:
        length = torch.linalg.vector_norm(one.a)
        unit, b = one.a / length, length**power * one.b
        yield same("any update of rank 1 is ab^T with a unit a", one.X @ unit @ b, one.X @ (one.a @ one.b))
        yield Relation("f has the shape of Y", (one.X @ unit @ b).numel(), len(one.X) * len(one.a))
    return SIZES


def make_problems(context: Context) -> list[Problem]:
    """Return equal clients of the toolkit, with samples and in expectation."""
    return [
        regression(d, d, N, context.rng(f"{d} {m} {N}"), samples=m)
        for d, m, N in ((2, 3, 1), (3, 5, 4), (6, 4, 3), (10, None, 2))
    ]


@relations(
    "rolora/eq-6",
    where="Section 5.1, eq. (6)",
    says=r"""$Y_i = X_ia^*b^{*\top}$ for some unit vector $a^* \in \mathbb R^d$ and $b^* \in \mathbb R^d$, the same for
    all clients.""",
    measure=make_problems,
    mutants=[{"scale": 1.01}, {"power": 1}],
    kind="setting",
    expect=("holds", "search"),
)
def eq_6(problems: list[Problem], scale: float = 1.0, power: int = 0) -> Relations:
    r"""The targets of the toolkit's clients are $a^*b^{*\top}$, where every loss is zero."""
    for problem in problems:
        truth, own = problem.facts["truth"], problem.facts["own_B"]
        for client, b in zip(problem.clients, own, strict=True):
            labels = scale * truth @ b * torch.linalg.vector_norm(b) ** power
            yield same("all targets are a* b*^T", labels, client.target)
            yield same("one b* for all clients", b, own[0])
            yield Relation("no loss at the truth", float(client.loss({"W": labels})), 0.0, 1e-20)
        yield Relation("a* is a unit vector", float((truth**2).sum()), 1.0, 1e-12)
    return "d from 2 to 10, 1 to 4 clients, with samples and in expectation"


@relations(
    "rolora/eq-7",
    where="Section 5.1, eq. (7) with the local loss and the law of the samples after it; that a is a unit vector is in "
    "(5), that the clients' samples are independent of one another in A.4.1 (“i.i.d. pairs”, before (187))",
    says=r"""$\min_{a \in \mathbb R^d, b \in \mathbb R^d}\frac1N\sum_{i=1}^Nl_i(a,b)$ with $l_i(a,b) =
    \frac1m\|X_ia^*b^{*\top} - X_iab^\top\|^2$, the Frobenius norm. Every $X_i$ is a Gaussian random matrix of
    independent standard normal entries.""",
    measure=draw_samples,
    mutants=[{"power": 0.0}, {"norm": "operator"}, {"factor": 1.01}],
    kind="setting",
    expect=("holds", "search"),
)
def eq_7(samples: list[Sample], power: float = 1.0, norm: str = "frobenius", factor: float = 1.0) -> Relations:
    """Loss and gradient of the toolkit's clients are the samples' own; the minimum is zero, at the truth."""
    for one in samples:
        W = (one.a @ one.b).requires_grad_()
        residual = one.X @ one.truth @ one.own_b - one.X @ W
        size = torch.linalg.matrix_norm(residual, "fro" if norm == "frobenius" else 2)
        loss = factor * size**2 / len(one.X) ** power
        (slope,) = torch.autograd.grad(loss, W)
        yield same("the loss", one.client.loss({"W": W.detach()}), loss.detach())
        yield same("its gradient", one.client.gradient({"W": W.detach()})["W"], slope)
        yield Relation("its minimum", float(one.client.loss({"W": one.truth @ one.own_b})), 0.0)
    return f"{SIZES}; every line for samples of any law: that they are normal is a hypothesis, not checked here"


def steps_of(case: Mapping[str, Any], power: int) -> tuple[Any, Any]:
    r"""Return $\eta\|b^*\|^2$ and 1, for $\|b^*\|$ = size, $L_{max}$ = size times excess, $\eta$ = share / L^power."""
    return case["share"] * case["size"] ** 2 / (case["size"] * case["excess"]) ** power, 1 + 0 * case["size"]


STEP_AXES = (
    Axis("size", 1e-6, 1e6, POSITIVE, words="norm |b*| of the target"),
    Axis("excess", 1.0, 1e3, FROM_ONE, words="bound over norm, L_max/|b*|"),
    Axis("share", 1e-6, 1.0, UNIT, words="step size over its bound, eta L_max^2"),
)


def search_steps(context: Context) -> Searched:
    """Search sizes of b* and bounds on them, the least bound included."""
    return collect_cases(
        context,
        STEP_AXES,
        lambda cases: np.ones(len(cases["size"]), bool),
        lambda cases: np.subtract(*steps_of(cases, 2)[::-1]),
        examples=context.size(80, 1000),
        restarts=0,
    )


@claim(
    "rolora/asm-5.1",
    where=r"Assumption 5.1. We judge the conclusion drawn from it after eq. (122), $\eta\|b^*\|^2 \le 1$ for $\eta \le "
    r"1/L_{max}^2$, by which $1 - \eta(1 - (\delta^0)^2)\|b^*\|^2 > 0$. Lemma 5.3, which needs it, has its own entry",
    says=r"There is $L_{max} < \infty$, known beforehand, with $\|b^*\| \le L_{max}$.",
    measure=search_steps,
    mutants=[{"power": 1}, {"power": 3}, {"limit": 0.99}],
    kind="assumption",
    expect=("holds", "proof"),
)
def asm_5_1(cases: Searched, power: int = 2, limit: float = 1.0) -> Evidence:
    """Any bound does, and the power of it is the one of the units; equality at the least bound."""

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        left, right = steps_of(case, power)
        return left, right * (Fraction(limit) if isinstance(left, Fraction) else limit)

    left, right = sides(cases)
    return judge_inequality(
        left,
        right,
        0.0,
        exact=sides,
        quotient=True,
        case=cases,
        domain=cases.domain,
        scope="|b*| from 1e-6 to 1e6, bounds up to a thousand times that, steps down to a millionth of the largest",
        printed=f"eta |b*|^2 <= {limit:g}",
    )


def on_circle(p: sympy.Symbol) -> sympy.Matrix:
    """Return a unit vector of the plane of both vectors, in rational coordinates."""
    return sympy.Matrix([2 * p, 1 - p**2]) / (1 + p**2)


@identities(
    "rolora/def-5.2",
    where="Definition 5.2, eq. (8), and the paragraph on $\\delta^t$ after it",
    says=r"""For two unit vectors $|\sin\theta(a,a^*)| = \|(I_d - aa^\top)a^*\|$; and $\delta^t = \|(I_d -
    a^*a^{*\top})a^t\| = \|(I_d - a^ta^{t\top})a^*\|$.""",
    measure=lambda context: generic_points(context, sympy.symbols("p u"), 4),
    mutants=[{"share": 2.0}, {"power": 1}],
    also=("rolora/eq-8",),
    kind="definition",
    expect=("holds", "proof"),
)
def def_5_2(points: list[Point], share: float = 1.0, power: int = 2) -> Equations:
    """Both squared norms are the squared area between the vectors and 1 less the squared cosine, by expansion."""
    p, u = sympy.symbols("p u")
    a, truth, eye = on_circle(p), on_circle(u), sympy.eye(2)
    norms = {
        "|(I - a a^T) a*|^2": (eye - rational(share) * a * a.T) * truth,
        "|(I - a* a*^T) a|^2": (eye - rational(share) * truth * truth.T) * a,
    }
    for name, vector in norms.items():
        square = (vector.T * vector)[0]
        yield Equation(f"{name} = |a x a*|^2", square, sympy.Matrix.hstack(a, truth).det() ** 2)
        yield Equation(f"{name} = 1 - (a . a*)^2", square, 1 - (a.T * truth)[0] ** power)
    return points, "all pairs of unit vectors, in the plane that they span"


@relations(
    "rolora/table-3",
    where=r"Appendix A.1, Table 3; $\|\cdot\|$ of a matrix, which it leaves out, is the Frobenius norm (Section 1.2)",
    says=r"""Table 3: $a^*, b_i^*$ are the true parameters of client i, $\bar b^*$ the average of the $b_i^*$, $a^t,
    b^t$ the global parameters of iteration t, $\delta_t$ the angle distance $|\sin\theta(a^*, a^t)|$, $\eta$ the step
    size, $I_d$ the identity; $\|\cdot\|$ is the $l_2$ norm of a vector, $\|\cdot\|_{op}$ the operator norm ($l_2$ norm)
    of a matrix, $|\cdot|$ the absolute value, $\|\cdot\|_{\psi_2}$ and $\|\cdot\|_{\psi_1}$ the sub-Gaussian and the
    sub-exponential norm; N is the number of clients, $\hat a^+$ the a that gradient descent has updated, $\hat a$ the
    normalised $\hat a^+$, $\bar b$ the average of the $b_i$.""",
    measure=lambda context: exact_iterations(context, population=False),
    mutants=[{"weight": 1.01}, {"unit": False}, {"norm": "fro"}],
    uses=("rolora/alg-2", "rolora/def-5.2"),
    kind="definition",
    importance="detail",
    expect=("holds", "search"),
)
def table_3(found: list[Iteration], weight: float = 1.0, unit: bool = True, norm: str | int = 2) -> Relations:
    """In iterations of Algorithm 2 every entry that states a relation holds."""
    for one in found:
        yield same("b-bar is the average", weight * one.mean_of_minimisers(), one.b_after)
        after = one.a_after if unit else 2.0 * one.a_after
        yield Relation("a-hat has length 1", float((after**2).sum()), 1.0, 1e-12)
        sine = torch.linalg.vector_norm(after - one.truth * (one.truth * after).sum())
        other = torch.linalg.vector_norm(one.truth - after * (one.truth * after).sum())
        yield same("both forms of the angle distance", sine, other)
        both = torch.cat([one.a, one.truth], dim=1)
        largest = torch.linalg.eigvalsh(both.mT @ both)[-1].sqrt()
        yield same("operator norm", torch.linalg.matrix_norm(both, norm), largest)
    return "d from 2 to 8, 1 to 4 clients, alike and not"
