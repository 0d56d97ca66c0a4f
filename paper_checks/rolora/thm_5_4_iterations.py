"""Appendix A.4, proof of Theorem 5.4: later iterations (eqs. (167) to (181))."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import sympy
import torch

from algorithms.adapter import AB
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import combine, identity
from paper_checks.methods.identity import rational
from paper_checks.methods.relations import Relation, Relations, relations
from paper_checks.rolora.measurements.failures import judge_near_one
from paper_checks.rolora.measurements.iteration_counts import Count, judge_equivalence, judge_order, search_counts
from paper_checks.rolora.measurements.rates import Rates, search_rates
from paper_checks.rolora.thm_5_4 import a4_c
from toymodels.regression import regression
from toymodels.regression_rates import population_map


def draw_unions(context: Context) -> list[tuple[int, Fraction]]:
    """Draw numbers of iterations and values of q."""
    return [(T, Fraction(q)) for T in (1, 2, 3, 10, 100, 1000) for q in ("1.3", "1.5", "2", "5", "100", "10000")]


@claim(
    "rolora/eq-167",
    where="Appendix A.4, eq. (167)",
    says=r"""With $C = \sqrt{1 - c(1-(\delta^0)^2)}$ and $q = \max\{\log N, d\}$: by $\delta^1 \le \delta^0C$, which is
    proved, $\delta^t \le \delta^{t-1}C \le \cdots \le \delta^1C^{t-1}$, which is assumed, and $\delta^{t+1} \le
    \delta^tC$, which is proved, $\delta^t \le \delta^{t-1}C$ holds for all $t \in [T]$, and a union bound gives
    $P\{\bigcap_{t=0}^{T-1}\delta^{t+1} \le \delta^t\sqrt{1 - c(1-(\delta^0)^2)}\} \ge 1 - 2Tq^{-10}$.""",
    measure=lambda context: (draw_unions(context), search_rates(context)),
    readings=(
        LITERAL,
        Reading(
            "as a union bound",
            "If each of the T contractions holds with probability at least $1 - 2q^{-10}$, given those before it: "
            "(167).",
            {"given": True},
            "The paper calls it a union bound over the contractions, whose probabilities it shows before.",
            ({"factor": 1.99}, {"per_step": False}, {"power": 11}),
        ),
        Reading(
            "c of the step",
            r"For a proper step size (every one up to $\frac1{2L_{max}^2}$ will do), $c = \eta\|b^*\|^2$, thresholds "
            "as in Lemma 5.3 and at least K times its q samples (K = 100 is enough), fresh ones in each iteration or "
            r"the same in all: (167) with $q = \max\{\log N, d\}$.",
            {"given": True, "step": True},
            "The paper says that the contractions are proved, and Lemma 5.3 proves them for this c.",
            ({"factor": 1.99}, {"cap": 1.0}),
        ),
    ),
    because="For c near 1 and a small first angle, one iteration misses the factor more often than that, for every "
    "step size.",
    vary=("factor",),
    uses=("rolora/a4-first-step", "rolora/a4-c"),
    expect=("holds", "proof"),
    intended=Intended(
        "c of the step",
        r"“for $q = \max\{\log(N), d\}$ ... with proper choice of step size $\eta$” (A.4): c is the $\eta\|b^*\|^2$ of "
        "(123), and the step is chosen",
    ),
    print="unstated",
)
def eq_167(
    found: tuple[list[tuple[int, Fraction]], Rates],
    factor: float = 2.0,
    power: int = 10,
    per_step: bool = True,
    given: bool = False,
    step: bool = False,
    cap: float = 0.5,
) -> Evidence:
    """Exact probabilities: failures that exclude one another (the worst case), independent ones, always the same.

    Args:
        found: numbers of iterations and values of q; and single contractions.
        factor: printed as 2.
        power: printed as 10.
        per_step: whether the bound has T.
        given: whether the probability of each contraction is given; else T = 1 and a c near 1 are judged.
        step: whether each contraction is judged as well, for the c of the step.
        cap: the longest step.
    """
    if not given:
        return judge_near_one()
    each = a4_c.judge(found[1], each=False, cap=cap) if step else None
    if each is not None and not each.ok:
        return each
    worst, tried = None, 0
    for T, q in found[0]:
        fails = 2 / q**10
        if T * fails > 1:
            continue
        bound = 1 - Fraction(factor) * (T if per_step else 1) / q**power
        for name, probability in (("exclusive", 1 - T * fails), ("independent", (1 - fails) ** T), ("same", 1 - fails)):
            tried += 1
            margin = (probability - bound) / fails
            if worst is None or margin < worst[0]:
                worst = (margin, name, T, q)
    assert worst is not None
    margin, name, T, q = worst
    # No failures are worse than those that exclude one another (Boole), and for them the bound is an equality.
    many, threshold = sympy.symbols("T q")
    stated = rational(factor) * (many if per_step else 1) / threshold**power
    shown = identity("exclusive failures and the bound", 2 * many / threshold**10 - stated) if margin >= 0 else None
    return Evidence(
        bool(margin >= 0),
        f"{tried} laws: T from 1 to 1000, q from 1.3 to 10,000 with 2Tq^-10 <= 1"
        + (f"; each contraction: {each.scope}" if each is not None else ""),
        "P(all hold) >= 1 - 2Tq^-10",
        f"closest: {name} failures, T = {T}, q = {float(q):g}",
        float(margin),
        cases=tried,
        witness={"T": T, "q": str(q), "law": name},
        facts=combine(shown),
    )


def judge_need(counts: Sequence[Count]) -> Evidence:
    r"""Judge whether (168) holds wherever $\delta_T \le \epsilon$, unlimited samples, $c = \eta\|b^*\|^2 \le 1/2$."""
    tried, broken = 0, []
    for count in counts:
        delta, c = float(count.delta_0), float(count.c)
        wanted, reached, T = float(count.quotient) * delta, delta, 0
        if wanted >= delta or c > 0.5 or count.rate < 1e-4:
            continue
        while reached > wanted:
            reached, T = population_map(reached, c), T + 1
        bound = delta * math.exp(0.5 * T * math.log1p(-count.rate))
        tried += 1
        if bound > wanted * (1.0 + 1e-9):
            broken.append((bound, wanted, {**count.numbers(), "T": T}))
    scope = (
        f"{tried} cases: unlimited samples, delta_0 from 0.001 to 0.999, c = eta |b*|^2 up to 0.5, c(1 - delta_0^2) at "
        "least 1e-4, epsilon/delta_0 from 0.001 to 0.999, T the least number of iterations with delta_T <= epsilon"
    )
    if not broken:
        return Evidence(True, scope, "(168) wherever delta_T <= epsilon", f"in {tried} cases", cases=tried)
    # The first that can be followed by hand and is plain.
    plain = (one for one in broken if one[2]["T"] <= 6 and one[0] > 1.1 * one[1])
    bound, wanted, example = next(plain, broken[0])
    return Evidence(
        False,
        scope,
        f"delta_0 (1 - c(1 - delta_0^2))^(T/2) <= {wanted:.6g}, the epsilon that T = {example['T']} recovers",
        f"{bound:.6g}; not in {len(broken)} cases",
        margin=-len(broken) / tried,
        cases=tried,
        witness=example,
    )


@claim(
    "rolora/eq-168",
    where="Appendix A.4, eqs. (168) to (171); the last one is empty",
    says=r"""In order to achieve $\epsilon$-recovery of $a^*$ we need $\delta^0(1 - c(1-(\delta^0)^2))^{T/2} \le
    \epsilon$, which is $(1 - c(1-(\delta^0)^2))^{T/2} \le \frac\epsilon{\delta^0}$ and $\frac T2\log(1 -
    c(1-(\delta^0)^2)) \le \log(\frac\epsilon{\delta^0})$.""",
    measure=search_counts,
    because=r"(168) bounds $\delta^T$ from above: with unlimited samples fewer iterations are enough.",
    readings=(
        Reading(
            "needed",
            r"$\epsilon$-recovery of $a^*$ is achieved only if $\delta^0(1 - c(1-(\delta^0)^2))^{T/2} \le \epsilon$, "
            "and the three lines say the same about T.",
            why="“we need” can mean a necessary condition.",
        ),
        Reading(
            "enough",
            r"Where $\delta^T \le \delta^0(1 - c(1-(\delta^0)^2))^{T/2}$, $\epsilon$-recovery of $a^*$ needs no more "
            r"than $\delta^0(1 - c(1-(\delta^0)^2))^{T/2} \le \epsilon$, which is $(1 - c(1-(\delta^0)^2))^{T/2} \le "
            r"\frac\epsilon{\delta^0}$ and $\frac T2\log(1 - c(1-(\delta^0)^2)) \le \log(\frac\epsilon{\delta^0})$.",
            {"needed": False},
            r"It follows from upper bounds on $\delta^t$, and the paper concludes from it which T is large enough.",
            ({"root_log": 1.0}, {"power": 1.0}, {"flip": -1}),
        ),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "enough",
        r"“In order to achieve $\epsilon$-recovery of $a^*$, we need” (before (168)) is followed "
        "by a choice of T: it is enough",
    ),
)
def eq_168(
    counts: list[Count], root_log: float = 2.0, power: float = 2.0, flip: int = 1, needed: bool = True
) -> Evidence:
    """Whether the lines, and T against the quotient of the logarithms, say the same; and whether (168) is necessary."""
    return judge_need(counts) if needed else judge_equivalence(counts, 2.0, root_log, power, flip)


@claim(
    "rolora/eq-172",
    where="Appendix A.4, eqs. (172) to (174)",
    says=r"""$T \ge \frac{2\log(\epsilon/\delta^0)}{\log(1 - c(1-(\delta^0)^2))} >
    \frac{2\log(\epsilon/\delta^0)}{-c(1-(\delta^0)^2)} = \frac2{c(1-(\delta^0)^2)}\log(\frac{\delta^0}\epsilon)$, by
    $\log(1 - x) < -x$ for $|x| < 1$.""",
    measure=search_counts,
    control=Form(r"The statement for $\epsilon > \delta^0$, where no iteration is needed.", {"beyond": True}),
    correction=Form(
        r"""For $\epsilon < \delta^0$ and $y = c(1 - (\delta^0)^2)$ the order is reversed,
        $\frac{2\log(\epsilon/\delta^0)}{\log(1 - y)} < \frac2y\log\frac{\delta^0}\epsilon$: both sides of $\log(1 - y)
        < -y$ are negative. Therefore the theorem's number of iterations is enough for (168). ($\log(1 - x) < -x$ needs
        $x \ne 0$, and y is positive.)""",
        {"sense": -1},
        mutants=({"sense": 1}, {"size": 0.99}),
        asks="neither",
    ),
    uses=("rolora/eq-168",),
    because=r"(173) prints > for <, because $\log(\epsilon/\delta^0)$ and both denominators are negative.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        r"“(173) follows by using $\log(1-x) < -x$”, which gives <, and the T of the theorem is "
        "used as enough",
    ),
    print="misprint",
)
def eq_172(counts: list[Count], sense: int = 1, beyond: bool = False, size: float = 1.0) -> Evidence:
    """The order of the two quotients."""
    return judge_order(counts, sense, beyond, 2.0, size)


@dataclass(frozen=True)
class Ending:
    r"""A unit vector a and the mean of the clients' minimisers for it, on samples.

    Attributes:
        apart: $\|ab^\top - a^*b^{*\top}\|$.
        summed: $\|ab^\top - ag^\top + ag^\top - a^*b^{*\top}\|$.
        first: $\|ab^\top - ag^\top\|$.
        second: $\|ag^\top - a^*b^{*\top}\|$.
        eps: The least $\epsilon'$ of Lemma A.9.
        delta: Angle distance.
        size: $\|b^*\|$.
    """

    apart: float
    summed: float
    first: float
    second: float
    eps: float
    delta: float
    size: float


ENDING = {"first": "3/5", "delta": "2/5", "level": "1/50", "target": "1/2"}
"""Within the thresholds of Theorem 5.4: angle distances at first and in the end, eps', and eps."""


def draw_endings(context: Context) -> list[Ending]:
    """Draw the toolkit's Algorithm 2 on samples: few and many, square and not."""
    rng = context.rng("samples")
    found = []
    for d, k, clients, m in [(2, 2, 1, 5), (3, 3, 2, 20), (5, 4, 3, 50), (10, 10, 5, 400)] * context.size(3, 12):
        problem = regression(d, k, clients, rng, samples=m, sine=float(rng.uniform(0.05, 0.95)), constants=False)
        truth, a, b_star = (problem.facts[name] for name in ("truth", "first", "mean_B"))
        fed = Federation(problem.clients, shares=problem.shares)
        state = AB(Tree(W=a), Tree(W=torch.zeros_like(b_star)))
        b = one_round(ExactRoLoRA(1.0).refit, fed, state).B["W"]
        g = (truth.mT @ a) * b_star
        target = truth @ b_star
        apart, summed, first, second = (
            float(torch.linalg.matrix_norm(W))
            for W in (a @ b - target, a @ b - a @ g + a @ g - target, a @ (b - g), a @ g - target)
        )
        delta = float(torch.linalg.vector_norm(a - truth @ (truth.mT @ a)))
        size = float(torch.linalg.vector_norm(b_star))
        eps = float(torch.linalg.vector_norm(b - g)) / (delta * size)
        found.append(Ending(apart, summed, first, second, eps, delta, size))
    delta, level = (float(Fraction(ENDING[name])) for name in ("delta", "level"))
    whole = delta * (1 + level**2) ** 0.5
    found.append(Ending(whole, whole, level * delta, delta, level, delta, 1.0))
    return found


@relations(
    "rolora/eq-175",
    where="Appendix A.4, eqs. (175) to (181)",
    says=r"""Where $\delta^T \le \epsilon$ and, by Lemma A.9, $\|b^{T+1} - g^T\| \le \epsilon'\delta^T\|b^*\|$ with
    $(g^T)^\top = (a^T)^\top a^*b^{*\top}$: $\|a^T(b^{T+1})^\top - a^*b^{*\top}\| = \|a^T(b^{T+1})^\top - a^T(g^T)^\top
    + a^T(g^T)^\top - a^*b^{*\top}\| \le \|a^T(b^{T+1})^\top - a^T(g^T)^\top\| + \|a^T(g^T)^\top - a^*b^{*\top}\| =
    \|a^T(b^{T+1} - g^T)^\top\| + \|(a^T(a^T)^\top - I_d)a^*b^{*\top}\| = \|a^T\|\|b^{T+1} - g^T\| + \|(I_d -
    a^T(a^T)^\top)a^*\|\|b^*\| \le \epsilon'\delta^T\|b^*\| + \delta^T\|b^*\| = (1 + \epsilon')\epsilon\|b^*\| = (1 +
    \epsilon')\epsilon\|a^*b^{*\top}\|$.""",
    measure=draw_endings,
    vary=("sharp", "second"),
    stands_in={"second": ("(179)",)},  # in (180) it is on the left side
    importance="detail",
    because=r"(180) prints an equality, which is false for $\delta^T < \epsilon$. A bound is meant, and it holds.",
    control=Form(
        r"With $\le$ in (180), and a tenth more than $\sqrt{1 + (\epsilon')^2}\delta^T\|b^*\|$ for orthogonal parts.",
        {"equal": False, "sharp": 1.1},
    ),
    correction=Form(
        r"""With $\le$ in (180), because only $\delta^T \le \epsilon$ is known. (The two parts are orthogonal, so the
        left side is at most $\sqrt{1 + (\epsilon')^2}\epsilon\|b^*\|$.)""",
        {"equal": False},
        mutants=({"equal": True}, {"second": 0.99}, {"sharp": 0.999}),
        asks="weaker",
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        r"the theorem asks for “$\le (1 + \epsilon')\epsilon\|a^*b^{*\top}\|$”, and $\delta^T \le "
        r"\epsilon$ is known: (180) is a bound",
    ),
    print="misprint",
)
def eq_175(
    endings: list[Ending], equal: bool = True, sharp: float = 1.0, second: float = 1.0, above: float = 5 / 4
) -> Relations:
    r"""Every line on samples, with the least $\epsilon'$ there, and $\epsilon$ of ``above`` times $\delta_T$."""
    for one in endings:
        error = 1e-9 * (1.0 + one.size)
        bound = (one.eps + second) * one.delta * one.size
        last = (1.0 + one.eps) * above * one.delta * one.size
        root = sharp * (1.0 + one.eps**2) ** 0.5 * one.delta * one.size
        yield from [
            Relation("(175)", one.apart, one.summed, error),
            Relation("(176)", one.apart, one.first + one.second, error, at_most=True),
            Relation("(177), (178): the second part", one.second, one.delta * one.size, error),
            Relation("(179)", one.first + one.second, bound, error, at_most=True),
            Relation("(180): at most", bound, last, error, at_most=True),
            Relation("the parts are orthogonal", one.apart, root, error, at_most=True),
        ]
        if equal:
            case = ENDING if one is endings[-1] else None
            yield Relation("(180): at least, as it prints an equality", last, bound, error, at_most=True, case=case)
    scope = (
        f"{len(endings)} means of minimisers, 1 to 5 clients in 2 to 10 dimensions with 5 to 400 samples; the two "
        "parts are orthogonal, so already sqrt(1 + eps'^2) delta_T |b*| bounds their sum"
    )
    return scope
