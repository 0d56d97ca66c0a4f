"""Proposition A.17 and its proof (eqs. (274) to (285))."""

from __future__ import annotations

import torch

from algorithms.adapter import AB
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import go_on
from algorithms.tree import Tree
from paper_checks.claim import Dropped, Evidence, Intended, claim
from paper_checks.methods.relations import Relation, Relations, judge_relations, relations
from paper_checks.rolora.measurements.population import FEDERATIONS, SCOPE, Iteration, close, draw_problems, iterations
from toymodels.problem import Problem


@relations(
    "rolora/prop-A.17",
    where="Appendix A.5, Proposition A.17, eq. (274)",
    says=r"""For any $(a^*, \{b_i^*\})$, $a^0$ and $\delta_0 \in (0, 1)$ the Freezing-A scheme with $b^{FFA} = \bar
    b^*a^{*\top}a^0$ has the global loss $\frac1N\sum_il_i(a^0, b^{FFA}) = \gamma^2 + \|\bar b^*\|^2\delta_0^2$.""",
    measure=draw_problems,
    mutants=[{"power": 1}, {"share": 1.01}, {"spread": 0.99}],
    uses=("rolora/def-A.13",),
    importance="result",
    hypotheses=(Dropped(r"$\delta_0 \in (0, 1)$", {}, r"(274) to (285) are identities for every unit vector $a^0$"),),
    expect=("holds", "proof"),
)
def prop_A_17(problems: list[Problem], power: int = 2, share: float = 1.0, spread: float = 1.0) -> Relations:
    """The toolkit's Algorithm 2 with a frozen, run for two iterations, of which the second changes nothing."""
    for problem in problems:
        truth, first, mean = (problem.facts[name] for name in ("truth", "first", "mean_B"))
        delta = float(torch.linalg.vector_norm(first - truth @ (truth.mT @ first)))
        formula = spread * problem.facts["gamma_squared"] + share * float((mean**2).sum()) * delta**power
        algorithm, fed = ExactRoLoRA(1.0, rounds_of_b_only=True), Federation(problem.clients, shares=problem.shares)
        start = AB(Tree(W=first), Tree(W=torch.zeros_like(mean)))
        for state in go_on(algorithm.round, fed, start, 2):
            loss = float(problem.loss(algorithm.weights(state)))
            yield close("the loss of FFA-LoRA", loss, formula)
        apart = float(torch.linalg.vector_norm(state.B["W"] - mean * (truth.mT @ first)))
        yield close("b is the mean times the cosine", apart, 0.0)
    return FEDERATIONS


@claim(
    "rolora/eq-274",
    where="Appendix A.5, proof of Proposition A.17, eqs. (274) to (285); (282) has a instead of $a^*$ in the text read "
    "here, both of length 1",
    says=r"""With $b_i = \frac{b_i^*a^{*\top}a^0}{a^{0\top}a^0} = b_i^*a^{*\top}a^0$ and $b^{FFA} = \frac1N\sum_ib_i =
    \bar b^*a^{*\top}a^0$: $\frac1N\sum_il_i(a^0, b^{FFA}) = \frac1N\sum_i\|a^*(b_i^*)^\top - a^0(b^{FFA})^\top\|^2 =
    \frac1N\sum_i\|a^*(b_i^*)^\top - a^*(\bar b^*)^\top + a^*(\bar b^*)^\top - a^0(b^{FFA})^\top\|^2 =
    \frac1N\sum_i(\|a^*(b_i^*)^\top - a^*(\bar b^*)^\top\|^2 + \|a^*(\bar b^*)^\top - a^0(b^{FFA})^\top\|^2 +
    2\mathrm{Tr}((a^*(b_i^*)^\top - a^*(\bar b^*)^\top)^\top(a^*(\bar b^*)^\top - a^0(b^{FFA})^\top))) =
    \frac1N\sum_i(\|a^*(b_i^*)^\top - a^*(\bar b^*)^\top\|^2 + \|a^*(\bar b^*)^\top - a^0(b^{FFA})^\top\|^2 +
    2\mathrm{Tr}((a^*\frac1N\sum_i(b_i^*)^\top - a^*(\bar b^*)^\top)^\top(a^*(\bar b^*)^\top - a^0(b^{FFA})^\top))) =
    \frac1N\sum_i(\|a(b_i^* - \bar b^*)^\top\|^2 + \|a^*(\bar b^*)^\top - a^0a^{0\top}a^*(\bar b^*)^\top\|^2)$, since
    the last term is 0, $= \frac1N\sum_i\|b_i^* - \bar b^*\|^2 + \frac1N\sum_i\|(I_d - a^0a^{0\top})a^*(\bar
    b^*)^\top\|^2 = \frac1N\sum_i\|b_i^* - \bar b^*\|^2 + \frac1N\sum_i\|(I_d - a^0a^{0\top})a^*\|^2\|\bar b^*\|^2 =
    \gamma^2 + \|\bar b^*\|^2\delta_0^2$.""",
    measure=iterations,
    mutants=[{"cross": 1}, {"split": 1.01}, {"projected": False}, {"last": 0.99}],
    uses=("rolora/def-A.13",),
    expect=("holds", "proof"),
    intended=Intended(
        "literal",
        r"(282) follows from (281) where “the last term is 0”, with $a^*$ in the first norm; both vectors are unit",
    ),
)
def eq_274(
    found: list[Iteration], cross: int = 0, split: float = 1.0, projected: bool = True, last: float = 1.0
) -> Evidence:
    """Every line in numbers; the loss is the toolkit's."""
    promises = []

    def line(name: str, left: float, right: float) -> None:
        promises.append(Relation(name, left, right, 1e-10 * (1.0 + abs(left) + abs(right))))

    for one in found:
        a, mean, N = one.a, one.mean_b, len(one.own_b)
        b = mean * (one.truth.mT @ a)
        line(
            "(275), (276): b is the mean of the minimisers", float((b - torch.stack(one.minimisers).mean(0)).norm()), 0
        )
        loss = one.loss(a, b)
        spread = [one.truth @ (mine - mean) for mine in one.own_b]
        off = one.truth @ mean - a @ b
        trace = sum(float((part * off).sum()) for part in spread) / N
        mean_spread = one.truth @ (torch.stack(one.own_b).mean(dim=0) - mean)
        line("(278), (279): the loss", loss, sum(float(((part + off) ** 2).sum()) for part in spread) / N)
        line("(281): the mean in the trace", trace, float((mean_spread * off).sum()))
        line(
            "(283): the first sum", sum(float(((mine - mean) ** 2).sum()) for mine in one.own_b) / N, one.gamma_squared
        )
        own, common = sum(float((part**2).sum()) for part in spread) / N, float((off**2).sum())
        line("(278) to (281): the split", loss, own + split * common + 2.0 * trace)
        line("(281): the trace is 0", trace, cross)
        with_a = sum(float(((a @ (mine - mean)) ** 2).sum()) for mine in one.own_b) / N
        line("(282), (283): any unit vector", own, with_a)
        side = one.truth - a @ (a.mT @ one.truth) if projected else one.truth - a
        line("(283), (284): the projection", common, float((side**2).sum() * (mean**2).sum()))
        bound = one.gamma_squared + last * float((mean**2).sum()) * one.sine_squared(a)
        line("(285)", loss, bound)
    return judge_relations(promises, SCOPE)
