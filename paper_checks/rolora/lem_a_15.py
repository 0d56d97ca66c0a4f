"""Lemma A.15 and its proof (eqs. (247) to (253))."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from paper_checks.claim import Form, Intended
from paper_checks.methods.relations import Relations, relations, same
from paper_checks.rolora.measurements.population import SCOPE, Iteration, iterations

TWICE = Form("The statement for a single client.", {"single": True})


def _of(found: Sequence[Iteration], single: bool) -> list[Iteration]:
    return [one for one in found if not single or len(one.own_b) == 1]


def _scope(found: Sequence[Iteration], single: bool) -> str:
    dimensions = sorted({len(one.truth) for one in _of(found, single)})
    told = f"{len(_of(found, single))} iterations of one client, d = {', '.join(map(str, dimensions))}"
    return told if single else SCOPE


@relations(
    "rolora/lem-A.15",
    where="Appendix A.5, Lemma A.15, eqs. (247) and (248)",
    says=r"""$b^{t+1} = \bar b = \bar b^*a^{*\top}a^t$ and $a^{t+1} = \hat a = \frac{a^t - 2\eta(a^t\bar b^\top\bar b -
    a^*\bar b^{*\top}\bar b)}{\|\hat a^+\|}$, where $\bar b^* = \sum_{i=1}^Nb_i^*$ and $\hat a^+$ is the numerator.""",
    measure=iterations,
    control=TWICE,
    correction=Form(
        r"With the mean, $\bar b^* = \frac1N\sum_ib_i^*$, as after eq. (246) and in Definition A.13.",
        {"mean_power": 1},
        mutants=({"mean_power": 2}, {"factor": 1.99}, {"unit": False}),
    ),
    also=("rolora/eq-247",),
    importance="detail",
    because=r"$\bar b^*$ is printed as the sum of the $b_i^*$, but elsewhere it is their mean.",
    expect=("holds", "kernel"),
    intended=Intended(
        "as corrected",
        r"“$\bar b^* = \frac1N\sum_{i=1}^Nb_i^*$” after (246) and in Definition A.13; Table 3 calls it "
        "“Average”",
    ),
    print="misprint",
)
def lem_A_15(
    found: list[Iteration], mean_power: int = 0, factor: float = 2.0, unit: bool = True, single: bool = False
) -> Relations:
    """One iteration of the toolkit's Algorithm 2 against the formulas."""
    for one in _of(found, single):
        mean = torch.stack(one.own_b).sum(dim=0) / float(len(one.own_b)) ** mean_power
        b = mean * (one.truth.mT @ one.a)
        yield same("b is the mean b* times the cosine", one.b_after, b, one.case)
        stepped = one.a - factor * one.eta * (one.a @ b - one.truth @ mean) @ b.mT
        stepped = stepped / torch.linalg.vector_norm(stepped) if unit else stepped
        yield same("a is the normalised step", one.a_after, stepped, one.case)
    return _scope(found, single)


@relations(
    "rolora/eq-249",
    where="Appendix A.5, proof of Lemma A.15, eqs. (249) to (253)",
    says=r"""$b_i = \frac{b_i^*a^{*\top}a}{a^\top a} = b_i^*a^{*\top}a$; the server computes the average $\bar b =
    \sum_ib_i = \sum_ib_i^*a^{*\top}a = \bar b^*a^{*\top}a$; $\nabla_al_i(a, \bar b) = 2(a\bar b^\top\bar b -
    a^*b_i^{*\top}\bar b)$; $\hat a^+ = a - \frac\eta N\sum_i\nabla_al_i(a, \bar b) = a - 2\frac\eta N\sum_i(a\bar
    b^\top\bar b - a^*b_i^{*\top}\bar b) = a - 2\eta(a\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)$, $\hat a = \frac{a -
    2\eta(a\bar b^\top\bar b - a^*\bar b^{*\top}\bar b)}{\|\hat a^+\|}$.""",
    measure=iterations,
    control=TWICE,
    correction=Form(
        r"""With $\frac1N$ before both sums of (250), $\bar b = \frac1N\sum_ib_i = \frac1N\sum_ib_i^*a^{*\top}a = \bar
        b^*a^{*\top}a$, which is what the text before it says, $\bar b^*$ being the mean of the $b_i^*$ as after (246);
        the other lines as printed. (With the sum $\bar b^* = \sum_ib_i^*$ that Lemma A.15 prints, the last two sides of
        (250) agree, but the last line of (252) lacks $\frac1N$ before its last term.)""",
        {"mean_power": 1},
        mutants=({"mean_power": 2}, {"factor": 1.99}, {"own": False}),
    ),
    uses=("rolora/lem-A.15",),
    importance="detail",
    because=r"(250) prints the sum of the $b_i$ instead of their average. The factor $\frac1N$ is missing.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", r"“The server simply computes the average” (before (250)): $\frac1N$ is left out"
    ),
    print="misprint",
)
def eq_249(
    found: list[Iteration], mean_power: int = 0, factor: float = 2.0, own: bool = True, single: bool = False
) -> Relations:
    """The uploads of the toolkit's clients in both halves, and what the server makes of them."""
    for one in _of(found, single):
        cosine, total = one.truth.mT @ one.a, torch.stack(one.minimisers).sum(dim=0)
        for b, mine in zip(one.minimisers, one.own_b, strict=True):
            yield same("(249): the client's minimiser", b, mine * cosine)
        server = total / float(len(one.own_b)) ** mean_power
        yield same("(250): what the server gets", one.b_after, server, one.case)
        b = one.b_after
        formulas = [factor * (one.a @ b - one.truth @ (mine if own else one.mean_b)) @ b.mT for mine in one.own_b]
        for slope, formula in zip(one.slopes, formulas, strict=True):
            yield same("(251): the client's gradient", slope, formula)
        stepped = one.a - factor * one.eta * (one.a @ b - one.truth @ one.mean_b) @ b.mT
        yield same("(252): the mean of the gradients", one.a - one.eta * torch.stack(formulas).mean(dim=0), stepped)
        yield same("(253): normalised", one.a_after, stepped / torch.linalg.vector_norm(stepped))
    return _scope(found, single)
