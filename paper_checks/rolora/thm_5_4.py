"""Theorem 5.4: linear convergence of RoLoRA, its step and its constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, log, sqrt

import numpy as np

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import describe_draws
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations
from paper_checks.rolora.measurements.contraction_events import events
from paper_checks.rolora.measurements.failures import judge_near_one
from paper_checks.rolora.measurements.fixed_samples import FixedRun, excess, fixed_runs
from paper_checks.rolora.measurements.rates import Rates, quotient_squared, search_rates
from paper_checks.rolora.measurements.sampled_iterations import FIXED, after_iterations
from toymodels.regression_rates import ffa_correction, population_map


@dataclass(frozen=True)
class Course:
    """A run of as many iterations as the theorem asks for.

    Attributes:
        s: step, also c.
        sine: angle distance at the start.
        target: the accuracy wanted.
        samples: of each client; 0 for infinitely many.
        ends: number of iterations as a share of the theorem's (rounded up) with c = s, or FREE for c = 1/2, to angle
            distance, squared error of the product, loss on the samples.
    """

    s: float
    sine: float
    target: float
    samples: int
    ends: dict[float, tuple[float, ...]]


FREE = 0.0
"""Instead of a share: the iterations with c = 1/2, for any step."""


def run_courses(context: Context) -> list[Course]:
    """Run the whole range of steps without sampling, some of it with samples."""
    found = []
    short = ((0.99, 0.28, 0.18), (0.02, 0.28, 0.18))  # one iteration, and two with c = 1/2: to be followed by hand
    for s, sine, target in (*short, *product((0.95, 0.02, 0.25, 0.5), (0.28, 0.05, 0.8), (1e-3, 1e-8))):
        for m in (0, 1000) if 0.25 <= s <= 0.5 and target > 1e-4 and sine > 0.05 else (0,):
            asked = 2.0 / (s * (1.0 - sine**2)) * log(sine / target)
            ends = {}
            for share in (1.0,) if m else (1.0, 0.2):
                turns = ceil(share * asked)
                if m:
                    rng = context.rng(f"{s} {sine} {target}")
                    ends[share] = after_iterations(5, 3, m, s, sine, turns, rng)
                else:
                    delta = sine
                    for _ in range(turns):
                        delta = population_map(delta, s)
                    ends[share] = (delta, delta**2, delta**2)
            if not m:
                delta = sine
                for _ in range(ceil(4.0 / (1.0 - sine**2) * log(sine / target))):
                    delta = population_map(delta, s)
                ends[FREE] = (delta, delta**2, delta**2)
            found.append(Course(s, sine, target, m, ends))
    return found


def case_of(one: Course, tied: bool) -> dict[str, str] | None:
    """Return the run in short decimals, if it can be followed by hand."""
    return (
        None
        if one.samples
        else {
            "s": f"{one.s:g}",
            "sine": f"{one.sine:g}",
            "target": f"{one.target:g}",
            "c": f"{one.s:g}" if tied else "0.5",
        }
    )


def course_scope(kept: Sequence[Course], tied: bool) -> str:
    """Return the scope of the check, in words."""
    sampled = ", and with 3 clients of 1000 samples, d = 5, for eps = 1e-3" if any(one.samples for one in kept) else ""
    return (
        f"{len(kept)} runs: s = eta |b*|^2 from {min(one.s for one in kept):g} to {max(one.s for one in kept):g}, "
        f"delta_0 from 0.05 to 0.8, eps from 1e-8 to {max(one.target for one in kept):g}; by the exact map without "
        f"sampling{sampled}; c = {'s' if tied else '1/2'}"
    )


@relations(
    "rolora/thm-5.4",
    where="Section 5.1, Theorem 5.4",
    says=r"""In the setting of Section 5.1, with Algorithm 2, a random $a^0$ and $\delta_0 \in (0, 1)$: if $\eta \le
    \frac1{L_{max}^2}$, $T \ge \frac2{c(1-(\delta^0)^2)}\log\frac{\delta^0}\epsilon$ for $c \in (0, 1)$, $m = \Omega(q)$
    and $\epsilon', \tilde\epsilon < \frac{1-(\delta^0)^2}{16}$, $\epsilon'$, $\tilde\epsilon$ and q as in Lemma 5.3,
    then with probability at least $1 - 2Tq^{-10}$: $\sin\theta(a^T, a^*) \le \epsilon$, which is called
    $\epsilon$-accurate recovery, and $\|a^T(b^{T+1})^\top - a^*(b^*)^\top\| \le (1 +
    \epsilon')\epsilon\|a^*b^{*\top}\|$.""",
    measure=lambda context: (run_courses(context), fixed_runs(context)),
    control=Form(
        r"The theorem with infinitely many samples and $c = \eta\|b^*\|^2 \le 1/2$.",
        {"limit": 0.5, "sampled": False, "tied": True},
    ),
    correction=Form(
        r"For $\eta \le 1/(2L_{max}^2)$, $c = \eta\|b^*\|^2 > 0$ and T as stated, both inequalities hold if the events "
        "(13) and (76) of the corrected Lemmas A.9 and A.10 occur in each of the T iterations, for thresholds up to "
        r"$(1 - (\delta^0)^2)/10$; the second inequality also needs (13) at $a^T$, for $b^{T+1}$. With $m \ge 100q$ "
        r"fresh samples in each iteration, and $\epsilon_3 = \epsilon_2$, the events occur with probability at least "
        r"$1 - (2T + 1)\max\{\log N, d\}^{-10}$. "
        f"Also with certainty: if {FIXED}, both hold with the same samples in "
        r"all iterations, and with $\epsilon' = \rho/\sqrt{1 - \rho^2}$ for the largest distance $\rho$ of an "
        r"$X_i^\top X_i/m$ from I. For $\rho \le \frac3{10}$ and $m \ge 5(\sqrt d + \sqrt{2\log(2N/p)})^2/\rho^2$ "
        r"normal samples of each client all distances are at most $\rho$ with probability at least $1 - p$, once for "
        r"all iterations; for $m \ge 100q$ and the printed thresholds the condition is met with $p = 2\max\{\log N, "
        r"d\}^{-10}$ for every T. (c must be tied to the step: for $\eta \to 0$ nothing moves. For c near 1 and "
        r"infinitely many samples the rate near $a^*$ is $2c - 1$, and T is too small for small $\epsilon$: for all "
        "starts except those that reach $a^*$ exactly after finitely many steps, the least number of iterations that "
        r"is enough, over $\log\frac1\epsilon$, tends to $-1/\log(2c - 1)$, about $\frac1{2(1 - c)}$, as $\epsilon \to "
        "0$.)",
        {"limit": 0.5, "fixed": 0.3, "tied": True},
        mutants=({"limit": 1.0}, {"share": 0.2}, {"fixed": 0.95}),
    ),
    uses=("rolora/lem-5.3",),
    importance="result",
    because=r"With $c = \eta\|b^*\|^2$ T is too small for steps near $1/L_{max}^2$. A c that ignores the step also "
    "fails for short ones.",
    readings=(
        LITERAL,
        Reading(
            "c of the step",
            r"With $\eta \le \frac1{L_{max}^2}$, $c = \eta\|b^*\|^2$ in $(0, 1)$, $T \ge "
            r"\frac2{c(1-(\delta^0)^2)}\log\frac{\delta^0}\epsilon$, $m = \Omega(q)$ and $\epsilon', \tilde\epsilon < "
            r"\frac{1-(\delta^0)^2}{16}$, with probability at least $1 - 2Tq^{-10}$: $\sin\theta(a^T, a^*) \le "
            r"\epsilon$ and $\|a^T(b^{T+1})^\top - a^*(b^*)^\top\| \le (1 + \epsilon')\epsilon\|a^*b^{*\top}\|$.",
            {"tied": True},
            r"The factor of Lemma 5.3 is $\sqrt{1 - c(1-(\delta^0)^2)}$, as Appendix A.4 writes it, with this c.",
            ({"share": 0.2},),
        ),
    ),
    hypotheses=(
        Dropped(r"$\eta \le 1/(2L_{max}^2)$", {"limit": 1.0}),
        Dropped(r"$c = \eta\|b^*\|^2$", {"tied": False}),
        Dropped("T iterations (but a fifth of them)", {"share": 0.2}),
        Dropped(r"$\|X_i^\top X_i/m - I\|_{op} \le \frac3{10}\sqrt{1 - (\delta^0)^2}$", {"fixed": 0.95}),
    ),
    vary=(),
    expect=("corrected", "proof"),
    intended=Intended(
        "c of the step",
        r"“$C = \sqrt{1 - c(1 - (\delta^0)^2)}$ with proper choice of step size” (A.4) is (80) "
        r"with $c = \eta\|b^*\|^2$",
    ),
    print="unstated",
)
def thm_5_4(
    found: tuple[list[Course], list[FixedRun]],
    tied: bool = False,
    limit: float = 1.0,
    sampled: bool = True,
    share: float = 1.0,
    fixed: float = 0.0,
) -> Relations:
    r"""Ends of runs of T iterations.

    Args:
        found: runs, and runs on fixed samples.
        tied: whether c is given by the step; otherwise c = 1/2, without sampling.
        limit: largest step.
        sampled: whether runs on samples are judged.
        share: of the number of iterations in the theorem.
        fixed: of the first cosine, how far the Gram matrices of fixed samples may be from the identity.
    """
    courses, runs = found
    yield from [
        Relation("every iteration on fixed samples", excess(run), 0.0, 1e-9, at_most=True)
        for run in runs
        if run.share <= fixed
    ]
    ends = share if tied else FREE
    kept = [one for one in courses if one.s <= limit and ends in one.ends and (sampled or not one.samples)]
    for one in kept:
        sine, product_error, _ = one.ends[ends]
        case = case_of(one, tied)
        yield Relation("sine of the angle at most eps", sine, one.target, at_most=True, case=case)
        # On samples eps' = 0.1 for 3 x 1000 samples is generous; without sampling b is g and eps' may be 0.
        allowed = (1.1 if one.samples else 1.0) * one.target
        yield Relation("error of the product", sqrt(product_error), allowed, at_most=True, case=case)
    return course_scope(kept, tied)


@relations(
    "rolora/s5-rolora-loss",
    where="Section 5.1, after Proposition 5.5",
    says=r"""By Theorem 5.4 RoLoRA achieves $\epsilon$-accurate recovery of the global minimiser; its expected global
    loss is at most $(1 + \epsilon)\|b^*\|^2\epsilon^2$. With the same $a^0$, $a^*$ and $b^*$ as FFA-LoRA its ability to
    update a reduces the loss caused by the angle from $\|b^*\|^2(\delta^0)^2$ to $\|b^*\|^2\epsilon^2$. By more
    iterations $\epsilon$ can be made arbitrarily small.""",
    measure=run_courses,
    correction=Form(
        r"""With $\eta \le 1/(2L_{max}^2)$ and $c = \eta\|b^*\|^2 > 0$, on the events of Theorem 5.4 as corrected,
        $\delta^T \le \epsilon$ for every $\epsilon$ and its T. Given that, at $(a^T, b^{T+1})$ the loss caused by the
        angle is at most $\|b^*\|^2\epsilon^2$, and on samples independent of $a^T$ the expected loss is, for $m \ge 3$,
        $(1 + \tilde c)\|b^*\|^2(\delta^T)^2$ with the $\tilde c$ of (242), and for $m \ge 4$ at most
        $\|b^*\|^2\epsilon^2$.""",
        {"limit": 0.5, "tied": True},
        mutants=({"limit": 1.0}, {"share": 0.2}),
    ),
    uses=("rolora/thm-5.4",),
    importance="result",
    because="Only the iteration count of Theorem 5.4 needs a c tied to the step and steps that are not too long "
    "(thm-5.4); the text gives no count.",
    readings=(
        Reading(
            "with the iterations of Theorem 5.4 and a free c",
            r"After the $T \ge \frac2{c(1 - (\delta^0)^2)}\log(\frac{\delta^0}\epsilon)$ iterations of Theorem 5.4, "
            r"with any $c \in (0, 1)$, the expected global loss of RoLoRA is at most $(1 + "
            r"\epsilon)\|b^*\|^2\epsilon^2$, and the loss caused by the angle at most $\|b^*\|^2\epsilon^2$, where "
            r"FFA-LoRA's is $\|b^*\|^2(\delta^0)^2$.",
            why="“By Theorem 5.4” can take over its number of iterations.",
        ),
        Reading(
            "c of the step",
            r"With $c = \eta\|b^*\|^2$ in Theorem 5.4 the expected global loss of RoLoRA is at most $(1 + "
            r"\epsilon)\|b^*\|^2\epsilon^2$; the loss caused by the angle is at most $\|b^*\|^2\epsilon^2$, where "
            r"FFA-LoRA's is $\|b^*\|^2(\delta^0)^2$; and $\epsilon$ can be made arbitrarily small.",
            {"tied": True},
            r"The factor of Lemma 5.3 is $\sqrt{1 - c(1-(\delta^0)^2)}$, as Appendix A.4 writes it, with this c.",
            ({"share": 0.2},),
        ),
        Reading(
            "at recovery",
            r"If $\delta^T \le \epsilon$, the expected global loss of RoLoRA at $(a^T, b^{T+1})$ over the $X_i$, with "
            r"$a^T$ fixed like $a^0$ in (11), is at most $(1 + \epsilon)\|b^*\|^2\epsilon^2$, and the loss caused by "
            r"the angle at most $\|b^*\|^2\epsilon^2$, where FFA-LoRA's is $\|b^*\|^2(\delta^0)^2$; and with a proper "
            r"step size, on the events of Theorem 5.4, more iterations make $\epsilon$ arbitrarily small.",
            {"given": True},
            r"The paper takes $\epsilon$-accurate recovery to mean this loss. This is right for $m \ge 4$, and Theorem "
            r"5.4 has $m = \Omega(q)$. Every step size with $0 < \eta \le \frac1{2L_{max}^2}$ is proper if $b^* \ne 0$ "
            "and the events are those of the corrected theorem.",
            ({"one": 0.9},),
        ),
    ),
    vary=(),
    expect=("holds", "proof"),
    intended=Intended(
        "at recovery",
        r"“achieves $\epsilon$-accurate recovery ... Specifically, the expected global loss” (5.1): the loss given "
        r"recovery, “over all the randomness in the $X_i$” (11); “with proper choice of step size $\eta$” (A.4)",
    ),
)
def s5_rolora_loss(
    courses: list[Course],
    tied: bool = False,
    limit: float = 1.0,
    given: bool = False,
    share: float = 1.0,
    one: float = 1.0,
) -> Relations:
    r"""Losses at the ends of the same runs, and the closed form of the expectation at a given angle.

    Args:
        courses: runs.
        tied: whether c is given by the step; otherwise c = 1/2, without sampling.
        limit: largest step.
        given: whether only runs that reach the accuracy are judged.
        share: of the number of iterations in the theorem.
        one: printed as 1 in $1 + \\epsilon$.
    """
    ends = share if tied or given else FREE
    kept = [run for run in courses if run.s <= limit and ends in run.ends]
    kept = [run for run in kept if not given or run.ends[ends][0] <= run.target]
    for run in kept:
        (sine, _, reached), allowed = run.ends[ends], (one + run.target) * run.target**2
        yield Relation("loss", reached, allowed, at_most=True, case=case_of(run, tied))
        yield Relation("loss caused by the angle", sine**2, run.target**2, at_most=True)
        yield Relation("below FFA-LoRA's", reached, run.sine**2, at_most=True)
    for (N, m), eps in product(product((1, 2, 10), (4, 5, 100)), (1e-3, 1e-8)):
        left = 1.0 + ffa_correction(N, m)
        yield Relation("expected loss at delta = eps", left, one + eps, 1e-12, at_most=True)
    return course_scope(kept, tied or given)


@claim(
    "rolora/a4-c",
    where="Appendix A.4, opening of the proof",
    says=r"""With probability at least $1 - 2q^{-10}$ for $q = \max\{\log N, d\}$, $\delta^{t+1} \le \delta^tC$ for $c
    \in (0, 1)$, $C = \sqrt{1 - c(1 - (\delta^0)^2)}$, with proper choice of step size $\eta$.""",
    measure=search_rates,
    best={"rate": Best(1.98, "searched, for the largest step and thresholds")},
    uses=("rolora/lem-A.9", "rolora/lem-A.10"),
    because="For c near 1 and a small first angle, the bound is below the error that sampling noise leaves, for every "
    "step size.",
    readings=(
        Reading(
            "every c",
            r"For every $c \in (0, 1)$ there is a step size $\eta$ with which, for m of the order of the q of Lemma "
            r"5.3 and thresholds as there, $\delta^{t+1} \le \delta^t\sqrt{1 - c(1 - (\delta^0)^2)}$ with probability "
            r"at least $1 - 2\max\{\log N, d\}^{-10}$.",
            why="It is so by its letter: c is any number in (0, 1), and only the step is left to choose.",
        ),
        Reading(
            "c of the step",
            r"For a proper step size (every one up to $\frac1{2L_{max}^2}$ will do), $c = \eta\|b^*\|^2$, thresholds "
            "as in Lemma 5.3, and at least K times its q samples (K = 100 is enough), fresh ones in each iteration or "
            r"the same in all: with probability at least $1 - 2q^{-10}$, $q = \max\{\log N, d\}$, $\delta^{t+1} \le "
            r"\delta^t\sqrt{1 - c(1 - (\delta^0)^2)}$. (With unlimited samples this holds for every c, with the step "
            r"size $\min(c, \frac12)/\|b^*\|^2$.)",
            {"each": False},
            "The paper says that Lemma 5.3, whose factor has this c, shows it.",
            ({"cap": 1.0}, {"cap": 0.4}, {"strength": 1.1}, {"rate": 2.0}),
        ),
    ),
    hypotheses=(Dropped(r"steps up to $\frac1{2L_{max}^2}$", {"cap": 1.0}),),
    expect=("holds", "proof"),
    intended=Intended(
        "c of the step",
        r"“with proper choice of step size $\eta$” (A.4): c is the $\eta\|b^*\|^2$ of (123), and "
        "the step is chosen",
    ),
    print="unstated",
)
def a4_c(cases: Rates, each: bool = True, cap: float = 0.5, strength: float = 1.0, rate: float = 1.0) -> Evidence:
    r"""The exact map at the step min(c, cap) against C, for every $\delta_t \le \delta_0$; then c = s on the events.

    Args:
        cases: with unlimited samples, and on the events.
        each: whether every c is to have a step; judged at one near 1, for one client and the best step.
        cap: the longest step.
        strength: of the bound, times c.
        rate: of the bound on the events, times s.
    """
    free = cases.unlimited
    if each and not (near := judge_near_one()).ok:
        return near

    def exact(case: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
        step = min(case["c"], Fraction(cap))
        square = (case["ratio"] * case["delta_0"]) ** 2
        return quotient_squared(square, step), 1 - Fraction(strength) * case["c"] * (1 - case["delta_0"] ** 2)

    square = (free["ratio"] * free["delta_0"]) ** 2
    left = quotient_squared(square, np.minimum(free["c"], cap))
    right = 1 - strength * free["c"] * (1 - free["delta_0"] ** 2)
    unlimited = f"{len(left)} cases with unlimited samples: delta_0 and c in (0, 1), delta_t <= delta_0"
    first = judge_inequality(
        left,
        right,
        0.0,
        exact=exact,
        case=free,
        scope=unlimited,
        printed="(delta_{t+1}/delta_t)^2 <= C^2",
        domain=free.domain,
    )
    if not first.ok:
        return first
    left, right = events(cases.events, 0.5 * cases.events["share"], rate)
    return judge_inequality(
        left,
        right,
        1e-12,
        case=cases.events,
        scope=f"{len(left)} cases on the events: steps up to 1/2, thresholds up to their bounds, every angle up to the "
        "first one, five lengths of b, the gradient off in the worst direction",
        printed=f"(delta_(t+1)/delta_t)^2 <= 1 - {rate:g} s (1 - delta_0^2) on the events",
        domain=f"{describe_draws(len(left))}; before these {first.scope}",
    )
