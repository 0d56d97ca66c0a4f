"""Appendix A.5: different clients (eqs. (245) and (246)), Assumption A.12 and Definition A.13."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import ceil, log
from typing import Any

import torch

from algorithms.adapter import AB
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import go_on, one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.relations import Relation, Relations, relations
from paper_checks.rolora.measurements.heterogeneous_contraction import Slopes, judge_contraction, search_contraction
from paper_checks.rolora.measurements.population import FEDERATIONS, SCOPE, close, draw_problems, iterations
from toymodels.problem import Problem
from toymodels.regression import Regressor
from toymodels.regression_rates import population_map


@dataclass(frozen=True)
class Model:
    """A model of one federation: its loss, that on samples in expectation, and its distances from the clients'."""

    loss: float
    sampled: float | None
    apart: tuple[float, ...]


SIGNS = [torch.tensor(signs, dtype=torch.float64).reshape(2, 2) for signs in product((-1.0, 1.0), repeat=4)]
"""All sign matrices of two samples in two dimensions: their entries have the first two moments of normal ones."""


def measure_losses(context: Context) -> list[Model]:
    """Measure losses of three models of every federation, by the toolkit."""
    found = []
    for one in iterations(context):
        for a, b in ((one.a, one.b_after), (one.truth, one.mean_b), (2.0 * one.a, one.own_b[0])):
            sampled = None
            if len(one.truth) == 2:
                losses = [
                    Regressor(X.mT @ X / 2, one.truth @ own).loss({"W": a @ b}) for X in SIGNS for own in one.own_b
                ]
                sampled = float(torch.stack(losses).mean())
            apart = tuple(float(torch.linalg.matrix_norm(one.truth @ own - a @ b)) for own in one.own_b)
            found.append(Model(one.loss(a, b), sampled, apart))
    return found


@relations(
    "rolora/eq-245",
    where="Appendix A.5, eqs. (245) and (246), with the law of the samples of Section 5.1, as A.5 names none; a is "
    "called a unit vector, and the minimum is printed over all of R^d: its value is the same, the minimisers are not "
    "(rolora/a5-minimiser)",
    says=r"""$f_i(X_i) = X_iab^\top$ with unit vectors a and $a^*$, local data $Y_i = X_ia^*b_i^{*\top}$, and $\min_{a
    \in \mathbb R^d, b \in \mathbb R^d}\frac1N\sum_il_i(a, b)$ with the local population loss $l_i(a, b) =
    \|a^*b_i^{*\top} - ab^\top\|^2$.""",
    measure=measure_losses,
    mutants=[{"over": "sum"}, {"scale": 1.01}, {"norm_power": 1}],
    kind="setting",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        r"“local population loss” (after (246)): over the samples of Section 5.1, whose entries are independent and "
        r"standard normal, so $E[X^\top X] = mI$",
    ),
)
def eq_245(models: list[Model], over: str = "mean", scale: float = 1.0, norm_power: int = 2) -> Relations:
    """The toolkit's population loss is as in the formula, and is the mean of the loss over samples of random signs."""
    for one in models:
        formula = scale * sum(apart**norm_power for apart in one.apart) / (len(one.apart) if over == "mean" else 1)
        yield close("the objective is the mean of the population losses", one.loss, formula)
        if one.sampled is not None:
            yield close("it is the expectation of the loss on samples with E[X^T X] = m I", one.sampled, formula)
    return f"{SCOPE}; the expectation exactly, for two samples in two dimensions"


@dataclass(frozen=True)
class Pair:
    r"""A pair (a', b') of one federation.

    Attributes:
        loss: Global loss of the pair.
        least: Least global loss, by Definition A.13.
        off: Square distance of its product from the minimiser's.
        sign: The pair is this times $(a^*, \bar b^*)$, or 0 if it is none of these or no unit vector.
        apart: Squared distance from $(a^*, \bar b^*)$.
        case: Case for the witness.
    """

    loss: float
    least: float
    off: float
    sign: int
    apart: float
    case: Mapping[str, Any] | None


def draw_pairs(context: Context) -> list[Pair]:
    """Draw pairs with the product of the minimiser, and others."""
    found = []
    for one in iterations(context):
        truth, mean = one.truth, one.mean_b
        signed = [(sign, sign * truth, sign * mean) for sign in (1, -1)]
        others = [(2.0 * truth, mean / 2.0), (one.a, one.b_after), (one.a, one.own_b[0]), (truth, 1.1 * mean)]
        for sign, a, b in [*signed, *((0, a, b) for a, b in [*others, (one.a, 0.0 * mean)])]:
            off = float(((a @ b - truth @ mean) ** 2).sum())
            apart = float(((a - truth) ** 2).sum() + ((b - mean) ** 2).sum())
            # By hand with clients that differ, so that the least loss is not 0.
            case = None if one.case is None or not one.gamma_squared else {**one.case, "sign": str(sign)}
            found.append(Pair(one.loss(a, b), one.gamma_squared, off, sign, apart, case))
    return found


@relations(
    "rolora/a5-minimiser",
    where=r"Appendix A.5, after eq. (246); the transpose of $\bar b^*$ is missing in our copy of the paper",
    says=r"""$(a', b')$ is a global minimiser if and only if $a'b'^\top = a^*\bar b^*$, $\bar b^* = \frac1N\sum_ib_i^*$;
    the solution is unique, with $a' = a^*$ and $b' = \bar b^*$; the minimum global error is $\frac1N\sum_i\|a^*(b_i^* -
    \bar b^*)^\top\|^2$.""",
    measure=draw_pairs,
    control=Form("The statement without the uniqueness.", {"unique": "nothing"}),
    correction=Form(
        r"""The loss is $\frac1N\sum_i\|a^*(b_i^* - \bar b^*)^\top\|^2 + \|a'b'^\top - a^*\bar b^{*\top}\|^2$: the
        product is unique. If $\bar b^* \ne 0$ the minimisers are $(ca^*, \bar b^*/c)$, $c \ne 0$, among unit $a'$
        $\pm(a^*, \bar b^*)$; if $\bar b^* = 0$, all pairs with $a' = 0$ or $b' = 0$.""",
        {"unique": "product"},
        mutants=({"excess": 1.01}, {"least": 0.99}, {"unique": "pair"}),
    ),
    readings=(
        LITERAL,
        Reading(
            "unit vectors, up to a common sign",
            r"If $a'$ is a unit vector and $\bar b^* \ne 0$, then $(a', b')$ is a global minimiser if and only if "
            r"$a'b'^\top = a^*\bar b^{*\top}$; the solution is unique up to a common sign, $a' = \pm a^*$ and $b' = "
            r"\pm\bar b^*$; the minimum global error is $\frac1N\sum_i\|a^*(b_i^* - \bar b^*)^\top\|^2$.",
            {"unique": "product"},
            r"a is a unit vector after (245), and the angle of (8) does not see the sign.",
            ({"excess": 1.01}, {"least": 0.99}, {"unique": "pair"}),
        ),
    ),
    because=r"$(-a^*, -\bar b^*)$ and $(ca^*, \bar b^*/c)$ have the same product, so the minimiser is not unique.",
    expect=("holds", "proof"),
    intended=Intended(
        "unit vectors, up to a common sign",
        r"$a$ “is a unit vector” (after (245)), and the angle $|\sin\theta|$ of (8) ignores the "
        "sign: unique up to the common sign",
    ),
    print="unstated",
)
def a5_minimiser(pairs: list[Pair], unique: str = "pair", excess: float = 1.0, least: float = 1.0) -> Relations:
    """The loss at all pairs; minimisers with a unit a are compared with the stated one."""
    name = "the loss is the least value plus the square distance of the products"
    for one in pairs:
        yield close(name, one.loss, least * one.least + excess * one.off)
        if one.sign and unique == "pair":
            yield Relation("a minimiser with a unit a is the stated one", one.apart, 0.0, 1e-10, case=one.case)
    return f"{SCOPE}; pairs with the product of the minimiser, and others"


@claim(
    "rolora/asm-A.12",
    where="Appendix A.5, Assumption A.12; that it can be met is plain, and the grade is of what it is for, the "
    "contraction of Lemma A.16",
    says=r"There is $L_{max} < \infty$, known beforehand, with $\|\bar b^*\| \le L_{max}$.",
    measure=search_contraction,
    mutants=[{"reach": 1.1}, {"reach": 1.02}],
    kind="assumption",
    expect=("holds", "proof"),
)
def asm_A_12(data: Slopes, reach: float = 1.0) -> Evidence:
    r"""The contraction for all means with $\|\bar b^*\| \le$ ``reach`` times $L_{max}$; beyond 1 it is lost."""
    return judge_contraction(data, 2.0, 2, 0.5 * reach**2, True)


@relations(
    "rolora/def-A.13",
    where="Appendix A.5, Definition A.13",
    says=r"""For $\gamma > 0$, $\gamma^2 := \frac1N\sum_{i=1}^N\|b_i^* - \bar b^*\|^2$ with $\bar b^* =
    \frac1N\sum_{i=1}^Nb_i^*$.""",
    measure=draw_problems,
    mutants=[{"fewer": 1.0}, {"power": 1}, {"centre": "first"}],
    kind="definition",
    expect=("holds", "search"),
)
def def_A_13(problems: list[Problem], fewer: float = 0.0, power: int = 2, centre: str = "mean") -> Relations:
    """The toolkit's value is the stated one: half the mean square distance of all pairs, and the least global loss."""
    for problem in problems:
        own = problem.facts["own_B"][:, 0]
        middle = own.mean(dim=0) if centre == "mean" else own[0]
        gamma_squared = float(torch.linalg.vector_norm(own - middle, dim=1).pow(power).sum())
        gamma_squared /= max(len(own) - fewer, 1.0)
        pairs = float(((own[:, None] - own[None]) ** 2).sum(dim=-1).mean()) / 2.0
        yield from [
            close("gamma^2 of the federation as run", problem.facts["gamma_squared"], gamma_squared),
            close("half the mean square distance of all pairs", pairs, gamma_squared),
            close("the least global loss", float(problem.least or 0.0), gamma_squared),
        ]
    return f"{FEDERATIONS}; gamma = 0 (equal clients), which it leaves out, as well"


@dataclass(frozen=True)
class Reached:
    """A run of Algorithm 2 under the population loss, to its end."""

    problem: Problem
    angles: tuple[float, ...]
    loss: float
    loss_of_last: float


def run_to_the_end(context: Context) -> list[Reached]:
    """Run 3 and 40 iterations at different steps, within the bound of Theorem A.14."""
    found = []
    for number, problem in enumerate(draw_problems(context)):
        truth, first, mean = (problem.facts[name] for name in ("truth", "first", "mean_B"))
        eta = (0.5, 0.25, 0.4)[number % 3] / float((mean**2).sum())
        algorithm, fed = ExactRoLoRA(eta), Federation(problem.clients, shares=problem.shares)
        start, angles = AB(Tree(W=first), Tree(W=torch.zeros_like(mean))), []
        for state in go_on(algorithm.round, fed, start, (3, 40)[number % 2]):
            angles.append(float(torch.linalg.vector_norm(state.A["W"] - truth @ (truth.mT @ state.A["W"]))))
        refitted = one_round(algorithm.refit, fed, state)
        losses = [float(problem.loss(algorithm.weights(model))) for model in (refitted, state)]
        found.append(Reached(problem, tuple(angles), *losses))
    return found


SHORT = (0.01, 0.6, 0.5, 0.5)
"""A run of Theorem A.14: step, first angle distance, c, accuracy over that distance."""


@relations(
    "rolora/a5-loss",
    where="Appendix A.5, after the proof of Theorem A.14",
    says=r"""By Theorem A.14 RoLoRA achieves $\epsilon$-accurate recovery of the global minimiser, with a global loss of
    at most $\gamma^2 + \|\bar b^*\|^2\epsilon^2$, against FFA-LoRA's $\gamma^2 + \|\bar b^*\|^2\delta_0^2$; more
    iterations make $\epsilon$ arbitrarily small.""",
    measure=run_to_the_end,
    uses=("rolora/thm-A.14", "rolora/prop-A.17", "rolora/eq-293"),
    importance="result",
    because="Only the iteration count of Theorem A.14 needs a c tied to the step (thm-A.14); the sentence gives no "
    "count.",
    readings=(
        Reading(
            "with the iterations of Theorem A.14 and a free c",
            r"After the $T \ge \frac1{c(1 - \delta_0^2)}\log(\frac{\delta_0}\epsilon)$ iterations of Theorem A.14, "
            r"with any $c \in (0, 1)$, RoLoRA's global loss is at most $\gamma^2 + \|\bar b^*\|^2\epsilon^2$.",
            why="“By Theorem A.14” can take over its number of iterations.",
        ),
        Reading(
            "at recovery",
            r"If $\delta^T \le \epsilon$, RoLoRA's global loss at $(a^T, b^{T+1})$ is at most $\gamma^2 + \|\bar "
            r"b^*\|^2\epsilon^2$ (at $(a^T, b^T)$, where Algorithm 2 ends, it can be larger), against FFA-LoRA's "
            r"$\gamma^2 + \|\bar b^*\|^2\delta_0^2$; for $\delta_0 < 1$, $0 < \eta \le \frac1{2L_{max}^2}$ and $\bar "
            r"b^* \ne 0$ more iterations make $\epsilon$ arbitrarily small.",
            {"given": True},
            r"The paper derives the loss from $\epsilon$-accurate recovery, which Theorem A.14 states for $(a^T, "
            "b^{T+1})$.",
            ({"share": 0.99}, {"spread": 0.99}, {"refitted": False}),
        ),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "at recovery",
        r"“By Theorem A.14, RoLoRA achieves $\epsilon$-accurate recovery” (A.5), so the loss where "
        r"$\delta^T \le \epsilon$, at its $b^{T+1}$; it sets “the step size $\eta \le \frac1{2L_{max}^2}$”; no "
        "count is named",
    ),
)
def a5_loss(
    found: list[Reached],
    given: bool = False,
    share: float = 1.0,
    spread: float = 1.0,
    refitted: bool = True,
    power: int = 2,
) -> Relations:
    r"""The loss at $(a^T, b^{T+1})$ with $\epsilon = \delta_T$, an equality; $b^T$ of the box is not enough."""
    if not given:
        s, delta_0, c, quotient = SHORT
        T, delta = ceil(log(1.0 / quotient) / (c * (1.0 - delta_0**2))), delta_0
        for _ in range(T):
            delta = population_map(delta, s)
        case = {"step": f"{s:g}", "delta_0": f"{delta_0:g}", "c": f"{c:g}", "quotient": f"{quotient:g}", "T": T}
        name = "the loss above gamma^2 after the iterations of the theorem, over |mean b*|^2"
        yield Relation(name, delta**2, (quotient * delta_0) ** 2, at_most=True, case=case)
    for one in found:
        delta, size = one.angles[-1], float((one.problem.facts["mean_B"] ** 2).sum())
        loss = one.loss if refitted else one.loss_of_last
        bound = spread * one.problem.facts["gamma_squared"] + share * size * delta**power
        yield Relation("the loss is at most the bound", loss, bound, 1e-10 * (1.0 + loss), at_most=True)
        if len(one.angles) > 3:
            yield Relation("epsilon becomes small", delta, 1e-6, at_most=True)
    first = "" if given else "; before these, by the exact map, the 3 iterations of the theorem at 0.01"
    return f"{FEDERATIONS}; 3 and 40 iterations at eta ||mean b*||^2 of 0.25, 0.4 and 0.5{first}"
