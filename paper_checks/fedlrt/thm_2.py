"""Theorem 2, which is Theorem 9 of Appendix F.2: the descent of a whole round, truncation included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from algorithms.descent import Descent
from paper_checks.claim import Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.convergence_runs import LIMIT
from paper_checks.fedlrt.measurements.random_rounds import ROUNDING, SCOPE, WITNESS, by_hand, measure_rounds
from paper_checks.fedlrt.measurements.traces import Trace, norm, trace, tried_rates
from paper_checks.methods.domain import Stated
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations
from paper_checks.methods.worst_case.closed_form import best_constant
from toymodels.quadratic import centred, random_quadratics


@dataclass(frozen=True)
class Truncated:
    """One round with the full correction, the threshold of its truncation, and the instance in short numbers if any."""

    trace: Trace
    theta: float
    witness: Mapping[str, object] | None = None


SMALL = [[0.5, 0.2], [0.3, 1.0]]

BY_HAND: tuple[tuple[str, list[list[float]], int, int, Descent], ...] = (
    ("integers", [[65.0, 48.0], [48.0, 136.0]], 1, 1, Descent(1, 0.01)),
    ("aligned", [[1.0, 1e-4], [1e-4, 0.1]], 1, 1, Descent(1, 1e-3)),
    ("nothing lost", SMALL, 1, 2, Descent(24, 1e-5)),
    ("nothing lost", SMALL, 2, 2, Descent(24, 1 / 288)),
    ("nothing lost", SMALL, 1, 2, Descent(1, 1.0)),
    ("long steps", SMALL, 1, 2, Descent(1, 3.0)),
    ("long steps", SMALL, 1, 1, Descent(4, 1.5)),
    ("too long steps", SMALL, 1, 2, Descent(2, 10.0)),
    *(("corner", SMALL, 1, 2, Descent(s, whole / s)) for s in (1, 100) for whole in (1e-4, 1.0 / 12.0, 1.0)),
)
"""Least squares from a start of rank one: the target, number of clients, rank after truncation, local steps."""


def measure_truncated(context: Context) -> list[Truncated]:
    """Run the integer instance, instances close to equality, and random indefinite quadratics of 1 and 3 clients."""
    start, traces = np.diag([1.0, 0.0]), []
    for name, B, clients, kept, local in BY_HAND:
        loss = centred(torch.eye(4, dtype=torch.float64), torch.tensor(B, dtype=torch.float64))
        traces.append(trace(name, [loss] * clients, start, 1, local, "full", kept))
    rng = context.rng("quadratics")
    for number in range(context.size(24, 200)):
        clients, steps, rank = (1, 3)[number % 2], (1, 2, 5)[number % 3], 1 + number // 2 % 2
        scale = (0.1, 3.0)[number // 4 % 2]
        given = random_quadratics((5, 4), clients, rng, curvatures=(-1.0, 1.0), target_rank=3, scale=scale)
        local = Descent(steps, float(rng.choice([12.0, 1.0, 0.3, 0.05])) / (12 * steps))
        traces.append(trace("random", given.clients, given.start["W"].numpy(), rank, local, "full", rank))
    integers, *others = traces
    return [Truncated(integers, 9 / 4, WITNESS), *(Truncated(one, one.lost) for one in others)]


@claim(
    "fedlrt/thm-2",
    where="Section 3.2, Theorem 2, eq. (12); Appendix F.2, Theorem 9, eqs. (35) and (38)",
    says=r"""Let $\mathcal{L}_c$ and $\mathcal{L}$ be L-smooth with constant L (the general assumption of Section 3.2,
    repeated in Theorem 9), $U^tS^tV^{t,\top}$ and $U^{t+1}S^{t+1}V^{t+1,\top}$ the factorisations before and after
    iteration t of Algorithm 1 with variance correction and truncation threshold $\vartheta$, and $0 < \lambda \le
    \frac1{12Ls_*}$ (Theorem 9: $0 \le \lambda$). Then $\mathcal{L}(U^{t+1}S^{t+1}V^{t+1,\top}) -
    \mathcal{L}(U^tS^tV^{t,\top}) \le -s_*\lambda(1 - 12s_*\lambda L)\|\nabla_{\tilde S}\mathcal{L}(\tilde U\tilde
    S\tilde V^\top)\|^2 + L\vartheta$. (35) writes $\|\tilde U^\top F(\tilde W_r)\tilde V\|$ for the norm of the
    gradient, and (38) writes $\|\nabla_{\tilde S}\mathcal{L}(U^tS^tV^{t,\top})\|$.""",
    measure=measure_truncated,
    control=Form(
        r"$\vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac L2\vartheta^2$ instead of $L\vartheta$.",
        {"loss": "gradient"},
    ),
    correction=Form(
        r"""$\mathcal{L}(W_r^{t+1}) - \mathcal{L}(W_r^t) \le -s_*\lambda(1 - (1 - \frac1{2s_*})s_*\lambda
        L)\|\nabla_{\tilde S}\mathcal{L}\|^2 + \vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac L2\vartheta^2$, for
        all $s_*\lambda L \le 1$ and any threshold; $1 - \frac1{2s_*}$ is the least constant that works for all small
        learning rates. The printed cost $L\vartheta$ is right if L also bounds the gradient along the truncation.""",
        {"loss": "gradient", "constant": 1.0, "best": True, "limit": 1.0},
        mutants=({"constant": 0.9}, {"share": 0.9}, {"leading": 1.05}),
    ),
    vary=("constant", "share", "leading"),
    hypotheses=(Dropped(r"a limit of $s_*\lambda L$, here 1", {"limit": 20.0}),),
    also=("fedlrt/thm-9", "fedlrt/eq-38"),
    uses=("fedlrt/thm-8",),
    importance="result",
    because=r"L does not bound the gradient. Truncation can cost $\vartheta\|\nabla\mathcal{L}\| + L\vartheta^2/2$, "
    r"more than $L\vartheta$.",
    expect=("corrected", "kernel"),
    intended=Intended(
        "literal",
        r"Section 3.2: “general assumption that $\mathcal{L}_c$ and $\mathcal{L}$ are L-smooth "
        "with constant L”; no bound on a gradient is assumed.",
    ),
)
def thm_2(
    cases: list[Truncated],
    constant: float = 12.0,
    leading: float = 1.0,
    loss: str = "L theta",
    share: float = 1.0,
    best: bool = False,
    limit: float = LIMIT,
) -> Evidence:
    """L is the constant of the gradient, not of the loss: it does not bound what a truncation of size theta costs.

    The best constant has a factor 1 - 1/(2s), and a greater limit of s lambda L.
    """
    cases = [case for case in cases if case.trace.whole <= limit * (1.0 + 1e-12)]
    traces = [case.trace for case in cases]
    wholes = np.array([one.whole for one in traces])
    factors = constant * np.array([float(best_constant(one.steps)) if best else 1.0 for one in traces])
    theta = np.array([case.theta for case in cases])
    before, slope, change = np.array([(t.before, norm(t.gradient), t.losses[2] - t.losses[0]) for t in traces]).T
    cost = share * (theta if loss == "L theta" else theta * before + theta**2 / 2.0)
    descent = leading * wholes * (1.0 - factors * wholes) * slope**2
    error = 1e-11 * (np.abs(cost) + np.abs(descent) + np.abs(change)) + 1e-13

    def case(index: int) -> Mapping[str, object]:
        return cases[index].witness or {"instance": traces[index].name}

    return judge_inequality(
        change,
        cost - descent,
        error,
        case=case,
        readable=[c.witness is not None for c in cases],
        scope=f"{len(cases)} rounds of the algorithm: least squares in 2 x 2, indefinite quadratics in 5 x 4 with one "
        f"and three clients, sλL up to {limit:.3g}",
        printed=f"change <= -{leading:g} sλ(1 - {constant:g}{' (1 - 1/(2s))' if best else ''} sλL)|g|^2 + {share:g} "
        f"({loss})",
        domain=tried_rates(traces, Stated(0.0, limit, "(]")),
    )


THETA = float(Fraction(str(WITNESS["theta"])))


@relations(
    "fedlrt/eq-36",
    where="Appendix F.2, proof of Theorem 9, eq. (36)",
    says=r"""For some $h \in [0,1]$: $\mathcal{L}(W_r^{t+1}) = \mathcal{L}(\tilde W_r^*) + \langle -F(hW_r^{t+1} +
    (1-h)\tilde W_r^*), W_r^{t+1} - \tilde W_r^*\rangle \le \mathcal{L}(\tilde W_r^*) + \|F(hW_r^{t+1} + (1-h)\tilde
    W_r^*)\|\,\|W_r^{t+1} - \tilde W_r^*\| \le \mathcal{L}(\tilde W_r^*) + L\vartheta$, by L-smoothness and $\vartheta
    \ge \|W_r^{t+1} - \tilde W_r^*\|$.""",
    measure=measure_rounds,
    control=Form("The equality and the first inequality.", {"keep": ("equal", "product")}),
    correction=Form(
        r"""$\mathcal{L}(W_r^{t+1}) \le \mathcal{L}(\tilde W_r^*) + \vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac
        L2\vartheta^2$; with a bound G on the gradient along the way, $\mathcal{L}(\tilde W_r^*) + G\vartheta$.
        Smoothness does not bound the gradient.""",
        {"cost": "gradient"},
        mutants=({"cost": "L theta"}, {"share": 0.99}, {"h": 0.45}, {"sign": 1.0}),
    ),
    vary=("share",),
    because="Smoothness bounds the change of the gradient, but the last step needs a bound on the gradient itself.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"(36) ends in “$\leq\mathcal{L}(\widetilde W_r^*) + L\vartheta$”, and “L-smoothness” is "
        "its reason: the step is meant as printed.",
    ),
)
def eq_36(
    rounds: list[Trace],
    cost: str = "L theta",
    share: float = 1.0,
    h: float = 0.5,
    sign: float = -1.0,
    keep: tuple[str, ...] = ("equal", "product", "last"),
) -> Relations:
    """For a quadratic loss the point of the mean value theorem is the middle; theta is what is lost, or just above."""
    for one in rounds:
        moved, theta = one.end - one.star, THETA if by_hand(one) else one.lost
        F = -one.slope(h * one.end + (1.0 - h) * one.star)
        rise = one.losses[2] - one.losses[1]
        least = theta if cost == "L theta" else theta * one.before + theta**2 / 2.0
        error = ROUNDING * (abs(one.losses[2]) + abs(one.losses[1]) + 1.0)
        lines = {
            "equal": Relation("the mean value", rise, sign * float((F * moved).sum()), error),
            "product": Relation("the product of norms", rise, norm(F) * norm(moved), error, at_most=True),
            "last": Relation(f"the rise against {cost}", rise, share * least, error, at_most=True, case=by_hand(one)),
        }
        yield from [lines[name] for name in keep]
    return SCOPE


@relations(
    "fedlrt/thm-9-proof",
    where="Appendix F.2, end of the proof of Theorem 9",
    says=r"""$\mathcal{L}(W_r^{t+1}) - \mathcal{L}(W_r^t) = (\mathcal{L}(W_r^{t+1}) - \mathcal{L}(\tilde W_r^*)) +
    (\mathcal{L}(\tilde W_r^*) - \mathcal{L}(\tilde W_r)) + (\mathcal{L}(\tilde W_r) - \mathcal{L}(W_r^t))$, and by
    (36), Theorem 8 and Lemma 7 this is at most $L\vartheta - (s_*\lambda)(1 - 12(s_*\lambda)L)\|\tilde U^\top F(\tilde
    W_r)\tilde V\|^2$.""",
    measure=measure_truncated,
    mutants=[{"truncation": 0.99}, {"steps": 0.99}, {"constant": 12.1}],
    readings=(
        Reading(
            "given the three bounds",
            r"The first equality holds always, and the bound in every round in which (36), $\mathcal{L}(W_r^{t+1}) \le "
            r"\mathcal{L}(\tilde W_r^*) + L\vartheta$, Theorem 8 and Lemma 7 hold.",
            why="The proof combines these three statements, which we judge separately (fedlrt/eq-36, which fails, "
            "fedlrt/thm-8 and fedlrt/lemma-7).",
        ),
    ),
    uses=("fedlrt/eq-36", "fedlrt/thm-8", "fedlrt/lemma-7"),
    expect=("holds", "proof"),
    intended=Intended(
        "given the three bounds",
        "“Combining the above arguments with Lemma 7 and Theorem 8 yields”: the step is from these to the last line.",
    ),
)
def thm_9_proof(
    cases: list[Truncated], truncation: float = 1.0, steps: float = 1.0, constant: float = 12.0
) -> Relations:
    """The parts of a round's change, their bounds, and the last line in the rounds in which all three bounds hold."""
    for case in cases:
        one = case.trace
        if one.whole > LIMIT * (1.0 + 1e-12):
            continue
        first, star, end = one.losses
        wide = one.loss(one.model(one.start))
        square = norm(one.gradient) ** 2
        descent = one.whole * (1.0 - 12.0 * one.whole) * square
        stated = case.theta - steps * one.whole * (1.0 - constant * one.whole) * square
        error = 1e-11 * (abs(first) + abs(star) + abs(end) + square + 1.0)
        parts = truncation * (end - star) + steps * (star - wide) + (wide - first)
        yield Relation("three differences", parts, end - first, error)
        yield Relation("the bounds add up", stated, case.theta - descent, error)
        bounded = end - star <= case.theta + error and star - wide <= error - descent and abs(wide - first) <= error
        if bounded:
            yield Relation("the last line", end - first, case.theta - descent, 3.0 * error, at_most=True)
    return "least squares in 2 x 2, indefinite quadratics in 5 x 4 with one and three clients, sλL up to 1/12"
