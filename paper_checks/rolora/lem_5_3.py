"""Lemma 5.3, which is Lemma A.11: how an iteration contracts the angle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from paper_checks.claim import LITERAL, Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import LEVEL, Context
from paper_checks.methods.domain import Searched
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted
from paper_checks.methods.sides import UndefinedError
from paper_checks.rolora.measurements.contraction_events import events, search_steps
from paper_checks.rolora.measurements.fixed_samples import FixedRun, excess, fixed_runs
from paper_checks.rolora.measurements.sampled_iterations import FIXED, after_iterations
from paper_checks.rolora.measurements.settings import Setting

# eps' = 0.037 < (1 - 0.28^2)/16, and one client: q = 6657.2.
THRESHOLDS = Setting(1, 2, 0.1, 0.1, 0.03, 1.0)


@dataclass(frozen=True)
class FirstSteps:
    """First iterations on fresh samples, with one client in two dimensions.

    Attributes:
        s: step.
        sine: angle distance at the start.
        factor: C in m = C q samples.
        factors: quotients of the angle distances.
    """

    s: float
    sine: float
    factor: float
    factors: tuple[float, ...]


def first_steps(context: Context) -> list[FirstSteps]:
    """Run iterations with m = q samples, ten times as many, and the 100 times as many of the correction."""
    found = []
    for s, sine, C in ((1.0, 0.28, 10.0), (0.9, 0.1, 1.0), (0.5, 0.28, 1.0), (0.3, 0.1, 1.0), (0.5, 0.28, 100.0)):
        rng, factors, m = context.rng(f"{s} {sine} {C}"), [], ceil(C * THRESHOLDS.q)
        for _ in range(context.size(24, 200)):
            factors.append(after_iterations(2, 1, m, s, sine, 1, rng)[0] / sine)
        found.append(FirstSteps(s, sine, C, tuple(factors)))
    return found


def bound(reading: str, s: float, sine: float) -> float:
    r"""Return the square of the right side over $\delta^t$."""
    return 1.0 - s * (1.0 - sine**2 if reading == "appendix" else (1.0 - sine) ** 2)


def population(case: Mapping[str, Any], s: Any, rate: Any, ordered: bool = True) -> tuple[Any, Any]:
    """Return the squares of both sides for infinitely many samples, at any angle up to the first, or from there on."""
    u = case["D"] + (1 - case["D"]) * case["place"] if ordered else case["D"] * case["place"]  # squared cosine
    return (1 - 2 * s * u) ** 2 / (1 + 4 * s * s * u * (1 - u)), 1 - rate * s * case["D"]


def contraction_parts(
    cases: Searched, limit: float, sharp: float, rate: float, wide: float, ordered: bool
) -> Iterator[Evidence]:
    r"""Judge squares of both sides, with infinitely many samples and on the events of the lemmas.

    Args:
        cases: shares of the largest step, D, thresholds, and the place of the angle or of the length of b.
        limit: the largest step on the events.
        sharp: with infinitely many samples the largest step is this times $(4 - D)/4$.
        rate: factor of the step under the root.
        wide: largest thresholds, in units of the printed ones.
        ordered: whether the angle is at most the first one.
    """
    ideal = population(cases, cases["share"] * sharp * (4 - cases["D"]) / 4, min(rate, 1.0), ordered)
    widened = {**cases, **{name: wide * cases[name] for name in ("level", "tilde")}}
    real = events(widened, cases["share"] * limit, rate)
    for name, (left, right) in (("infinitely many samples", ideal), ("samples within the events", real)):
        yield judge_inequality(
            left,
            right,
            1e-12,
            quotient=True,
            case=cases,
            domain=cases.domain,
            lines=[name] * len(left),
            scope=f"{len(left)} cases: steps from 1e-6 of the largest on, 1 - delta_0^2 from 1e-6 to 1, every angle up "
            "to the first one, thresholds up to their bounds; infinitely many samples, and samples within the events",
            printed=f"{name}: squared quotient at most 1 - {rate:g} s (1 - delta_0^2)",
        )


CONTRACTS = r"$\delta^{t+1} \le \delta^t\sqrt{1 - \eta(1-(\delta^0)^2)\|b^*\|^2}$"
"""The conclusion, as (80) has it."""


@claim(
    "rolora/lem-5.3",
    where="Section 5.1, Lemma 5.3, eq. (9); Lemma A.11 of Appendix A.3 is the same lemma, with (80), which is (123), "
    r"for (9); the scan has $\epsilon_0^2$ in both logarithms there, read as the $\epsilon_0$ of Lemma 5.3",
    says=r"""Let $\|b^*\| \le L_{max}$, $\delta^t = \|(I_d - a^*a^{*\top})a^t\|$ and $\delta^t \le \delta^{t-1} \le
    \cdots \le \delta^0$, m the number of samples for each updating step, $\epsilon' =
    \frac{\epsilon_2}{(1-\epsilon_0)(1-\epsilon_1)}$ and $\tilde\epsilon = \frac{\epsilon_3}{1-\epsilon_0}$ for
    $\epsilon_0, \epsilon_1, \epsilon_2, \epsilon_3 \in (0, 1)$. If $m = \Omega(q)$ for $q = \max(\frac{\log
    N}{[\min(\epsilon_1,\epsilon_2)]^2}, \frac{d\log(2/\epsilon_0)}{\epsilon_2^2})$, $\epsilon', \tilde\epsilon <
    \frac{1-(\delta^0)^2}{16}$, for any t and $\eta \le \frac1{L_{max}^2}$: $\delta^{t+1} \le \delta^t\sqrt{1 -
    \eta(1-\delta^0)^2}\|b^*\|^2$ with probability at least $1 - 2q^{-10}$.""",
    measure=lambda context: (first_steps(context), fixed_runs(context), search_steps(context)),
    control=Form(
        r"""For $\eta \le 1/(2L_{max}^2)$, $\delta^t \le \delta^0$ and samples as in the correction the angle distance
        does not grow, with its probability.""",
        {"limit": 0.5, "rate": 0.0, "probability": "least"},
    ),
    correction=Form(
        rf"For $\eta \le 1/(2L_{{max}}^2)$ and $\delta^t \le \delta^0$, {CONTRACTS} on the events of "
        r"Lemmas A.9 and A.10 as corrected, (13) and "
        r"(76), for thresholds up to $(1 - (\delta^0)^2)/10$; for $m \ge 100q$ samples that $a^t$ is independent of, "
        r"and $\epsilon_3 = \epsilon_2$, they occur with probability at least $1 - 2\max\{\log N, d\}^{-10}$. "
        rf"Without any probability: if {FIXED}, that holds in every iteration of Algorithm 2, with the same samples in "
        r"all of them; and for $m \ge 100q$ and the printed thresholds normal samples are that near to the identity "
        r"with at least that probability, once for all iterations. (The proof stops at half the step, at (117); on the "
        r"events, for the printed thresholds, it was "
        r"found to hold up to $0.71/L_{max}^2$ and not at $0.72/L_{max}^2$.) With infinitely many samples, where the "
        r"thresholds are 0, the limit is exact: it holds at every angle $\delta^t \le \delta^0$ if and only if "
        r"$\eta\|b^*\|^2 \le (3 + (\delta^0)^2)/4$. Beyond that it fails near $a^*$, where $\delta$ is multiplied by "
        r"nearly $|1 - 2\eta\|b^*\|^2|$. "
        r"At $\eta = 1/\|b^*\|^2$ and $\delta^0 = 0.28$ the first step shrinks $\delta$ to 0.743 of itself for "
        r"infinitely many samples, where 0.28 is stated, and 0.694 if (9) is read with $(1 - \delta^0)^2$.",
        {"limit": 0.5, "fixed": True, "reading": "appendix", "probability": "least"},
        mutants=({"limit": 0.75}, {"rate": 3.0}, {"share": 0.95}, {"sharp": 1.02}),
        asks="neither",
    ),
    vary=("sharp", "limit", "rate"),
    best={
        "limit": Best(0.714, "searched, on the events, for thresholds up to the printed ones; 0.72 fails"),
        "rate": Best(
            1.8,
            "by the same proof; for the largest step and thresholds, a search on the events of one draw finds 1.98, "
            "and on others 1.89 fails; above 2 the root is not real, for the largest step and small angles",
        ),
    },
    also=("rolora/eq-9", "rolora/lem-A.11", "rolora/eq-80", "rolora/eq-123"),
    uses=("rolora/lem-A.9", "rolora/lem-A.10", "rolora/eq-117"),
    importance="result",
    because=r"Near $a^*$ the step multiplies the angle by $|1 - 2\eta\|b^*\|^2|$, which is 1 at the largest step. (9) "
    "misplaces brackets of (80).",
    readings=(
        LITERAL,
        Reading(
            "as in (80)",
            rf"Under the same hypotheses {CONTRACTS} with probability at least $1 - 2q^{{-10}}$.",
            {"reading": "appendix"},
            "Lemma A.11, the same lemma, has it so; in (9) the two sides have different units.",
            ({"rate": 3.0},),
        ),
    ),
    hypotheses=(
        Dropped(r"$\eta \le 1/(2L_{max}^2)$", {"limit": 1.0}),
        Dropped(r"$\|X_i^\top X_i/m - I\|_{op} \le \frac3{10}\sqrt{1 - (\delta^0)^2}$", {"share": 0.95}),
        Dropped(r"thresholds below $(1 - (\delta^0)^2)/16$ (but below $\frac25(1 - (\delta^0)^2)$)", {"wide": 6.4}),
        Dropped(r"$\delta^t \le \cdots \le \delta^0$", {"ordered": False}),
    ),
    expect=("corrected", "proof"),
    intended=Intended(
        "as in (80)",
        r"“for any t and $\eta \le 1/L_{max}^2$” (Lemma 5.3); (80), (123), (166) keep $\|b^*\|^2$ "
        "under the root, so (9) only misplaces brackets",
    ),
    print="misprint",
)
def lem_5_3(
    found: tuple[list[FirstSteps], list[FixedRun], Searched],
    limit: float = 1.0,
    rate: float = 1.0,
    reading: str = "literal",
    fixed: bool = False,
    share: float = 0.3,
    probability: str = "q",
    sharp: float = 1.0,
    wide: float = 1.0,
    ordered: bool = True,
) -> Evidence:
    r"""How often a first step is larger than stated; the confidence interval must reach the stated probability.

    With $\|b^*\| = 1$ the place of $\|b^*\|^2$ in (9) does not matter.

    Args:
        found: first steps, runs on fixed samples, and angles, steps and thresholds.
        limit: largest step.
        rate: factor of the step under the root.
        reading: of the bracket in (9).
        fixed: whether runs on fixed samples, samples on the events and infinitely many ones are judged.
        share: of the first cosine, how far their Gram matrices may be from the identity.
        probability: whether it contains q, or max{log N, d}.
        sharp: with infinitely many samples the largest step is this times $(4 - D)/4$.
        wide: largest thresholds on the events, in units of the printed ones.
        ordered: whether the angle is at most the first one.
    """
    allowed, worst, told = 2.0 * (THRESHOLDS.q if probability == "q" else THRESHOLDS.least) ** -10.0, None, []
    kept = [one for one in found[0] if one.s <= limit]
    for one in kept:
        both = {
            name: sum(f**2 > bound(name, rate * one.s, one.sine) for f in one.factors)
            for name in ("appendix", "literal")
        }
        low, high = Counted(both[reading], len(one.factors)).interval(LEVEL / len(kept))
        told.append(
            f"{one.s:g} with {one.factor:g} q samples: {both['appendix']} of {len(one.factors)} ({both['literal']} "
            "with (1 - delta)^2)"
        )
        if worst is None or low > worst[0]:
            worst = (low, high, one)
    if worst is None:
        raise UndefinedError(f"no step is at most {limit:g}")
    low, high, one = worst
    scope = (
        f"one client, d = 2, q = 6658, eps_0 = eps_1 = 0.1, eps_2 = 0.03; first steps that end above the bound, by "
        f"eta |b*|^2: {'; '.join(told)}"
    )
    witness = {"s": f"{one.s:g}", "sine": f"{one.sine:g}", **replace(THRESHOLDS, C=one.factor).numbers()}
    runs = [run for run in found[1] if fixed and run.share <= share and run.s <= limit]
    if runs:
        missed = max(excess(run, rate) for run in runs)
        iterations = sum(len(run.factors) for run in runs)
        scope += f"; {iterations} iterations on fixed samples in {len(runs)} runs, 1 to 5 clients, d up to 6"
        if missed > 1e-9:
            told_short = f"by {missed:.3g} less"
            return Evidence(False, scope, "every iteration on fixed samples contracts", told_short, -missed)
    ok = low <= allowed
    sampled = Evidence(
        ok,
        scope,
        f"probability of failure at most {allowed:.2g}",
        f"in [{low:.3g}, {high:.3g}]",
        allowed - low,
        cases=len(kept) + len(runs),
        level=LEVEL,
        witness=None if ok else witness,
    )
    if not fixed:
        return sampled
    parts = [sampled, *contraction_parts(found[2], limit, sharp, rate, wide, ordered)]
    whole = judge_parts(parts)
    if not whole.ok:
        return whole
    return replace(
        whole, scope=f"{sampled.scope}; {parts[-1].scope}", printed="; ".join(part.printed for part in parts)
    )
