"""Theorem 4, which is Theorem 11 of Appendix G.1: the descent with simplified correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from paper_checks.claim import LITERAL, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.convergence_runs import LIMIT, Run
from paper_checks.fedlrt.measurements.simplified_traces import SCOPE, SIMPLIFIED_ROUNDING, SMALL, measure_simplified
from paper_checks.fedlrt.measurements.traces import CHAIN_ROUNDING, Trace, descent_constant, inner, norm, tried_rates
from paper_checks.fedlrt.thm_4_equations import SIMPLIFIED_ROUNDS, THEOREM, magnitude, measure_traces, rounding
from paper_checks.methods.domain import POSITIVE, Stated
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations


@claim(
    "fedlrt/thm-4",
    where="Section 3.2, Theorem 4; Appendix G.1, Theorem 11, eq. (41)",
    says=r"""Let $\mathcal{L}_c$ and $\mathcal{L}$ be L-smooth with constant L (the general assumption of Section 3.2).
    Under Assumption 1, if $0 < \lambda \le \frac1{12Ls_*}$, Algorithm 5 leads to
    $\mathcal{L}(U^{t+1}S^{t+1}V^{t+1,\top}) - \mathcal{L}(U^tS^tV^{t,\top}) \le -C\|\nabla_{\tilde S}\mathcal{L}(\tilde
    W_r)\|^2 + L\vartheta$ with $C = s_*\lambda(1 - \delta^2 - 12s_*\lambda L + \delta^2s_*\lambda)$ (not the number C
    of clients); (41) writes $\|\tilde U^\top F(\tilde W_r)\tilde V\|$ for the norm of the gradient.""",
    measure=measure_simplified,
    control=Form(
        r"""With $\|\nabla_{\hat S}\mathcal{L}_c\| \le \delta\|\nabla_{\tilde S}\mathcal{L}\|$ instead of (14),
        $-2\delta^2$ instead of the two terms in $\delta$, and $\vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac
        L2\vartheta^2$.""",
        {"assumption": "outside", "first": 2.0, "second": 0.0, "loss": "gradient", "most": 1.0},
    ),
    correction=Form(
        r"""If at the start of the round $\frac1C\sum_c\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_r)\|^2 \le
        \delta^2\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|^2$, $\delta \le 1$ and $s_*\lambda L \le 1$, then
        $\mathcal{L}(W_r^{t+1}) - \mathcal{L}(W_r^t) \le -s_*\lambda(1 - \kappa s_*\lambda L)\|\nabla_{\tilde
        S}\mathcal{L}\|^2 + \vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac L2\vartheta^2$ with $\kappa = \frac12(1
        + (1 - \frac1{s_*})\sqrt{1+\delta^2})$. For $\delta \le 1/5$ and $L < \delta^2/12$ the printed term
        $\delta^2s_*\lambda$ promises too much descent: with $\delta = 1/10$, $L = 1/2400$, one client, one step,
        $s_*\lambda = 200$ and a gradient of norm 1, the loss falls by 191.7, but the printed bound promises 398.
        Truncation can cost more than stated (fedlrt/eq-36). Unlike the printed bound, this one needs no condition on
        later steps, and its factor has no term $-\delta^2$. For $\delta = 0$, when no client's gradient has a part
        outside the block, the bound is Theorem 2 with its best constant. For two clients or more, no smaller $\kappa$
        works for all small learning rates. Under (14) the loss can increase, however small $\delta > 0$ is.""",
        {"assumption": "outside", "form": "root", "loss": "gradient", "most": 1.0, "limit": 1.0},
        mutants=({"constant": 0.9}, {"assumption": "printed"}, {"loss": "none"}),
    ),
    vary=("constant",),
    hypotheses=(
        Dropped(
            r"$\frac1C\sum_c\|\nabla_{\hat S}\mathcal{L}_c\|^2 \le \delta^2\|\nabla_{\tilde S}\mathcal{L}\|^2$, with "
            "(14) instead",
            {"assumption": "printed"},
        ),
        Dropped(r"a bound on $\delta$, here $\delta \le 1$", {"most": 1e6}),
    ),
    also=("fedlrt/thm-11",),
    uses=("fedlrt/assumption-1", "fedlrt/eq-36"),
    importance="result",
    because="Assumption 1 bounds the neglected part only by the client's gradient. The factor C is too large for "
    r"$\delta \le 1/5$ and $L < \delta^2/12$.",
    expect=("corrected", "kernel"),
    intended=Intended(
        "literal",
        "“Under Assumption 1 ... Algorithm 5 leads to the global loss descent”: (14) as printed "
        "is the only hypothesis beyond smoothness.",
    ),
)
def thm_4(
    runs: list[Run],
    twelve: float = 12.0,
    first: float = 1.0,
    second: float = 1.0,
    form: str = "printed",
    constant: float = 1.0,
    assumption: str = "printed",
    loss: str = "L theta",
    most: float = SMALL,
    limit: float = LIMIT,
) -> Evidence:
    """Single rounds; the first has clients whose huge opposite gradients inside the block make (14) say nothing."""
    kept = [run for run in runs if len(run.slopes) == 1 and run.whole <= limit * (1.0 + 1e-12)]
    deltas = [run.outer if assumption == "outside" else run.delta for run in kept]
    pairs = [(run, delta) for run, delta in zip(kept, deltas, strict=True) if delta <= most * (1.0 + 1e-12)]
    if not pairs:
        return Evidence(True, "no case", cases=0)
    left, right = [], []
    for run, delta in pairs:
        x = run.whole
        if form == "root":
            bracket = 1.0 - constant * descent_constant(run.steps, delta) * x
        else:
            bracket = 1.0 - first * delta**2 - twelve * x + second * delta**2 * x
        cost = {"L theta": run.theta, "gradient": run.cost, "none": 0.0}[loss]
        left.append(-run.descent)
        right.append(-x * bracket * run.least + cost)

    sizes = np.array([run.size for run, _ in pairs])
    # Large gradients cancel between the two clients; what is left has their rounding.
    error = SIMPLIFIED_ROUNDING * (sizes + np.abs(right) + np.array([3e5 if run.witness else 0.0 for run, _ in pairs]))
    return judge_inequality(
        np.array(left),
        np.array(right),
        error,
        case=lambda index: pairs[index][0].shown,
        readable=[run.witness is not None for run, _ in pairs],
        scope=f"{len(pairs)} rounds of {SCOPE}",
        domain=tried_rates([run for run, _ in pairs], Stated(0.0, limit, "(]"), [delta for _, delta in pairs]),
        printed=f"{form} bracket, {loss}, assumption {assumption}, delta up to {most:g}, sλL up to {limit:.3g}",
    )


LINEAR = {"slope": [["10", "1"], ["2", "4"]], "norm": "11", "delta": "1/10", "step": "1/12"}
"""One client, one step, loss <slope, w>."""

CURVED = {"apart_inside": "170000", "apart_outside": "600"}
"""Two clients with the losses sign (170000 w11 + 600 w22 + w22^2 / 2) + <slope, w> and two steps of 1/48."""


def is_linear(one: Trace) -> bool:
    """Return whether it is the round of `LINEAR`."""
    return one.name == "hand" and one.steps == 1 and not one.mean.H.any()


@relations(
    "fedlrt/thm-11-hat-lines",
    where=r"Appendix G.1, bounds on both terms of eq. (44): the lines without Assumption 1 (with "
    r"it: fedlrt/thm-11-hat-first and fedlrt/thm-11-hat-second), with $\tilde S$ instead of the $\hat S$ after it, and "
    r"a small s instead of the capital one at $\tilde W_{r,c}$ in the second term, in our copy of the paper",
    says=THEOREM
    + r"First term: $\langle\hat S^* - \hat S, -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle = \langle\hat "
    r"S^* - 0, -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle = \langle-\frac\lambda C\sum_{c,s}\nabla_{\hat "
    r"S}\mathcal{L}_c(\tilde W_{r,c}^s), -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle = \frac\lambda "
    r"C\sum_{c,s}\langle\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s), \nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle "
    r"\le \frac\lambda C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\|\|\nabla_{\hat "
    r"S}\mathcal{L}(\tilde "
    r"W_r)\|$, and after Assumption 1 $\frac\lambda C\sum_{c,s}\delta^2\|\nabla_{\tilde S}\mathcal{L}(\tilde "
    r"W_r)\|\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\| = \delta^2s_*\lambda\|\nabla_{\tilde S}\mathcal{L}(\tilde "
    r"W_r)\|^2$. Second term: $\frac L2\|\hat S^* - \hat S\|^2 = \frac L2\|-\frac\lambda C\sum_{c,s}\nabla_{\hat "
    r"S}\mathcal{L}(\tilde W_{r,c}^s)\|^2 \le \frac L2\lambda^2\frac1C\sum_c\|\sum_s\nabla_{\hat S}\mathcal{L}(\tilde "
    r"W_{r,c}^s)\|^2 \le \frac L2s_*\lambda^2\frac1C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}(\tilde W_{r,c}^s)\|^2$, and "
    r"after Assumption 1 $s_*\frac L2\delta^2\lambda^2\frac1C\sum_{c,s}\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|^2 "
    r"\le \frac L2\delta^2(s_*\lambda)^2\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|^2$.",
    measure=measure_traces,
    control=Form("All but the first equality of the second term.", {"keep": ("lines", "last", "bounds")}),
    correction=Form(
        r"""The gradients at $\tilde W_{r,c}^s$ in the second term are those of $\mathcal{L}_c$, printed without the
        index c.""",
        {"index": True},
        mutants=({"index": False}, {"index": True, "jensen": 0.9}),
    ),
    uses=("fedlrt/eq-42", "fedlrt/lemma-6"),
    importance="detail",
    because=r"The second term, at $\tilde W_{r,c}^s$, has $\mathcal{L}$ instead of $\mathcal{L}_c$.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“we used Jensen's inequality in (I)”, over the clients: the second term is a mean over c, so its gradients at "
        r"$\widetilde W_{r,c}^s$ are gradients of $\mathcal{L}_c$, as in the first term.",
    ),
    print="misprint",
)
def thm_11_hat_lines(
    rounds: list[Trace],
    index: bool = False,
    jensen: float = 1.0,
    keep: tuple[str, ...] = ("lines", "bounds", "last", "second"),
) -> Relations:
    """Each member against the one before it; delta is left out of both sides."""
    for one in rounds:
        rate, C, steps = one.step, len(one.clients), one.steps
        own = np.array([[one.outside(one.wide(slope)) for slope in slopes] for slopes in one.local_slopes])
        models = [[one.model(S) for S in walk[:-1]] for walk in one.coefficients]
        shown = own if index else np.array([[one.outside(one.wide(one.slope(W))) for W in walk] for walk in models])
        g, end, first = one.outside(one.gradient), one.outside(one.aggregate), one.outside(one.start)
        term, of_sum = inner(end - first, -g), norm(rate / C * shown.sum(axis=(0, 1))) ** 2 / 2
        largest = steps * rate * float(np.sqrt((own**2).sum(axis=(2, 3)).max()))
        size = 1.0 + (largest + norm(end)) ** 2 + (largest + norm(g)) * norm(one.gradient)

        def near(name: str, left: float, right: float, size: float = size, **rest: Any) -> Relation:
            return Relation(name, left, right, CHAIN_ROUNDING * size, size=size, **rest)

        if "lines" in keep:
            yield near("the rest is zero at the start", term, inner(end, -g))
            yield near("the steps of the rest", term, inner(-rate / C * own.sum(axis=(0, 1)), -g))
            yield near("the sum of products", term, rate / C * sum(inner(A, g) for walk in own for A in walk))
            norms = rate / C * sum(norm(A) for walk in own for A in walk) * norm(g)
            yield near("Cauchy and Schwarz", term, norms, at_most=True)
        if "last" in keep:
            yield near(
                "the last line of the first term",
                sum(rate / C * norm(one.gradient) ** 2 for _ in range(C * steps)),
                steps * rate * norm(one.gradient) ** 2,
            )
        if "second" in keep:
            case = {**LINEAR, **CURVED} if one.name == "curved" else None
            yield near("the square of the steps", norm(end - first) ** 2 / 2, of_sum, case=case)
        if "bounds" in keep:
            by_client = rate**2 / C / 2 * sum(norm(walk.sum(axis=0)) ** 2 for walk in shown)
            yield near("Jensen", of_sum, jensen * by_client, at_most=True)
            by_step = steps * rate**2 / C / 2 * float((shown**2).sum())
            yield near("the sum over the steps", by_client, by_step, at_most=True)
            ends = (steps * (rate * norm(one.gradient)) ** 2 * steps / 2, (steps * rate * norm(one.gradient)) ** 2 / 2)
            yield near("the last line of the second term", *ends, at_most=True)
    return SIMPLIFIED_ROUNDS


STRONGER = {"outside": "outer_throughout", "in mean": "outer_in_mean"}
"""Assumptions instead of (14), under which no rate is required, and the numbers of a round that meet them."""


def _rounds_with_delta(rounds: list[Trace], assumption: str) -> list[tuple[Trace, float]]:
    """Return rounds and a delta that meets (14), if small, or a stronger assumption at all points, or in their mean."""
    if assumption not in STRONGER:
        rounds = [one for one in rounds if one.whole <= LIMIT * (1.0 + 1e-12)]  # the rates of the theorem
    deltas = [getattr(one, STRONGER[assumption]) if assumption in STRONGER else one.needed * 1.0001 for one in rounds]
    most = 1.0 if assumption in STRONGER else SMALL
    return [(one, delta) for one, delta in zip(rounds, deltas, strict=True) if delta <= most * (1.0 + 1e-12)]


def _judge_hats(
    pairs: list[tuple[Trace, float]],
    left: Sequence[float],
    right: Sequence[float],
    text: str,
    assumption: str,
    witness: Mapping[str, object] = LINEAR,
    named: str = "",
) -> Evidence:
    """Compare the sides; the witness is the round of `LINEAR`, or another one by its name."""
    shown = [one.name == named if named else is_linear(one) for one, _ in pairs]
    return judge_inequality(
        np.array(left),
        np.array(right),
        np.array([rounding(one) * 1e-3 for one, _ in pairs]),
        size=np.array([magnitude(one) for one, _ in pairs]),
        case=lambda index: witness if shown[index] else {"instance": pairs[index][0].name},
        readable=shown,
        scope=f"{len(pairs)} {SIMPLIFIED_ROUNDS}",
        printed=f"{text}, assumption {assumption}",
        domain=tried_rates(
            [one for one, _ in pairs],
            POSITIVE if assumption in STRONGER else Stated(0.0, LIMIT, "(]"),
            [delta for _, delta in pairs],
        ),
    )


_STRONGER = (
    r"With $\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\| \le \delta\|\nabla_{\tilde S}\mathcal{L}(\tilde "
    r"W_r)\|$ instead of (14) the bound holds"
)


@claim(
    "fedlrt/thm-11-hat-first",
    where=r"Appendix G.1, bound on the first term of eq. (44): from its first to its last expression (the lines "
    r"between them that do without Assumption 1: fedlrt/thm-11-hat-lines), with $\tilde S$ instead of the $\hat S$ "
    "after (II) in our copy of the paper",
    says=THEOREM + r"$\langle\hat S^* - \hat S, -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle \le \frac\lambda "
    r"C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\|\|\nabla_{\hat S}\mathcal{L}(\tilde W_r)\| \le "
    r"\frac\lambda C\sum_{c,s}\delta^2\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|\|\nabla_{\tilde "
    r"S}\mathcal{L}(\tilde W_r)\| = \delta^2s_*\lambda\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|^2 = "
    r"\delta^2s_*\lambda\|\tilde U^\top F(\tilde W_r)\tilde V\|^2$, by Assumption 1.",
    measure=measure_traces,
    control=Form(_STRONGER + r", with $\delta$ instead of $\delta^2$.", {"assumption": "outside", "power": 1}),
    correction=Form(
        _STRONGER + ", for either sign of the inner product; one client and one step attain it. Under (14) both signs "
        "fail, the printed one at one client with a linear loss, the other one at two opposite clients. Of the two "
        "inequalities the second, by Assumption 1, is the one that fails.",
        {"assumption": "outside", "signs": (-1.0, 1.0)},
        mutants=({"share": 0.99}, {"power": 3}, {"assumption": "printed"}, {"assumption": "printed", "signs": (1.0,)}),
    ),
    readings=(
        LITERAL,
        Reading(
            "F as the negative gradient",
            THEOREM + r"$\langle\hat S^* - \hat S, \nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle \le \frac\lambda "
            r"C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\|\|\nabla_{\hat S}\mathcal{L}(\tilde "
            r"W_r)\| \le \delta^2s_*\lambda\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|^2 = "
            r"\delta^2s_*\lambda\|\tilde U^\top F(\tilde W_r)\tilde V\|^2$, by Assumption 1.",
            {"signs": (1.0,)},
            "Appendix C defines F as the negative gradient, and Lemma 4 has this sign of the inner product "
            "(fedlrt/eq-43-44).",
            ({"signs": (1.0,), "power": 3},),
        ),
    ),
    uses=("fedlrt/assumption-1",),
    because="Assumption 1 bounds a difference of norms, so it bounds a client's gradient outside the S block only by "
    "the client's whole gradient.",
    expect=("corrected", "proof"),
    intended=Intended(
        "F as the negative gradient",
        r"“Assumption 1 in (II)” bounds both norms by $\delta\|\nabla_{\widetilde S}\mathcal{L}\|$, hence "
        r"$\delta^2$, which (14) does not give; the sign of (44) is that of Lemma 4.",
    ),
    print="misprint",
)
def thm_11_hat_first(
    rounds: list[Trace],
    power: int = 2,
    share: float = 1.0,
    assumption: str = "printed",
    signs: tuple[float, ...] = (-1.0,),
) -> Evidence:
    """Inner products outside the block."""
    pairs = _rounds_with_delta(rounds, assumption)
    left = [max(s * float((one.outside(one.aggregate) * one.gradient).sum()) for s in signs) for one, _ in pairs]
    right = [share * delta**power * one.whole * norm(one.gradient) ** 2 for one, delta in pairs]
    text = f"<= {share:g} delta^{power} s lambda |g|^2"
    return _judge_hats(pairs, left, right, text, assumption, {**LINEAR, **CURVED}, "curved" if signs == (1.0,) else "")


@claim(
    "fedlrt/thm-11-hat-second",
    where=r"Appendix G.1, bound on the second term of eq. (44): from its first to its last expression (the lines "
    r"between them that do without Assumption 1: fedlrt/thm-11-hat-lines), with $\tilde S$ instead of the $\hat S$ in "
    "the middle in our copy of the paper",
    says=THEOREM
    + r"$\frac L2\|\hat S^* - \hat S\|^2 \le s_*\frac L2\delta^2\lambda^2\frac1C\sum_{c,s}\|\nabla_{\tilde "
    r"S}\mathcal{L}(\tilde W_r)\|^2 \le \frac L2\delta^2(s_*\lambda)^2\|\nabla_{\tilde S}\mathcal{L}(\tilde "
    r"W_r)\|^2 = \frac L2\delta^2(s_*\lambda)^2\|\tilde U^\top F(\tilde W_r)\tilde V\|^2$, by Jensen's inequality and "
    r"Assumption 1.",
    measure=measure_traces,
    control=Form(_STRONGER + r", with $\delta$ instead of $\delta^2$.", {"assumption": "outside", "power": 1}),
    correction=Form(
        r"""With $\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\|$ at most $\delta\|\nabla_{\tilde
        S}\mathcal{L}(\tilde W_r)\|$ in root mean square over clients and steps, instead of (14), the first expression
        is at most the last one.""",
        {"assumption": "in mean"},
        mutants=({"half": 0.49}, {"power": 3}, {"assumption": "printed"}),
    ),
    uses=("fedlrt/assumption-1", "fedlrt/lemma-6"),
    because="Assumption 1 bounds a difference of norms, so it bounds a client's gradient outside the S block only by "
    "the client's whole gradient.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"“we used Jensen's inequality in (I) again Assumption 1”: (14), with $\delta\|\nabla_{\widetilde "
        r"S}\mathcal{L}\|$ on its right, bounds $\|\nabla_{\widehat S}\mathcal{L}_c\|$ only by the client's own "
        "gradient.",
    ),
)
def thm_11_hat_second(rounds: list[Trace], power: int = 2, half: float = 0.5, assumption: str = "printed") -> Evidence:
    """Squares outside the block."""
    pairs = _rounds_with_delta(rounds, assumption)
    left = [0.5 * norm(one.outside(one.aggregate)) ** 2 for one, _ in pairs]
    right = [half * delta**power * one.whole**2 * norm(one.gradient) ** 2 for one, delta in pairs]
    return _judge_hats(pairs, left, right, f"<= {half:g} delta^{power} (s lambda)^2 |g|^2", assumption)


def measure_combined(context: Context) -> list[tuple[Fraction, ...]]:
    r"""Draw L, $s_*\lambda$, delta and the block's share of the squared gradient, at least 1 - delta^2."""
    parts, deltas = (Fraction(1, 24), Fraction(1, 12), Fraction(1, 1000)), (Fraction(1, 10), Fraction(1, 2))
    shares = (Fraction(1), Fraction(1, 2), Fraction(0))
    return [
        (L, part / L, delta, 1 - outside * delta**2)
        for L, part, delta, outside in product(map(Fraction, ("1", "1/10", "7")), parts, deltas, shares)
    ]


@relations(
    "fedlrt/thm-11-combine",
    where="Appendix G.1, end of the proof of Theorem 11, from the second line of the last chain on (its first line: "
    "fedlrt/eq-43-44; the last sentence, by (36): fedlrt/thm-4)",
    says=THEOREM + "The bound (46) and the two bounds of (44) combine to at most the line "
    r"$-(s_*\lambda)(1 - 12(s_*\lambda)L)\|U^\top FV\|^2 + \delta s_*\lambda\|\tilde U^\top F\tilde V\|^2 + "
    r"\delta(s_*\lambda)^2\|\tilde U^\top F\tilde V\|^2$, which is by $\|U^\top FV\| \le \|\tilde U^\top F\tilde "
    r"V\|$ at most $-(s_*\lambda)(1 - 12(s_*\lambda)L)\|\tilde U^\top F\tilde V\|^2$ with the same two terms, "
    r"which equals $-(s_*\lambda)(1 - \delta^2 - 12(s_*\lambda)L + \delta^2(s_*\lambda))\|\tilde U^\top "
    r"F\tilde V\|^2$.",
    measure=measure_combined,
    control=Form(r"Step (I) for $\|U^\top FV\| = \|\tilde U^\top F\tilde V\|$.", {"keep": ("within",)}),
    correction=Form(
        r"""With $x = s_*\lambda \le \frac1{12L}$, $\tilde g = \tilde U^\top F\tilde V$ and $\|U^\top FV\|^2 \ge (1 -
        \delta^2)\|\tilde g\|^2$ instead of Assumption 1, which does not imply it (fedlrt/assumption-1): $-x(1 -
        12xL)\|U^\top FV\|^2 + \delta^2x\|\tilde g\|^2 + \frac L2\delta^2x^2\|\tilde g\|^2 \le -x(1 - 2\delta^2 - 12(1 -
        \delta^2)xL - \frac12\delta^2xL)\|\tilde g\|^2$. Step (I) needs the reverse inequality; (46) and the bounds as
        corrected (fedlrt/eq-46, fedlrt/thm-11-hat-first, fedlrt/thm-11-hat-second) give $\delta^2$ and $\frac
        L2\delta^2$, and the last term enters with the other sign.""",
        {"form": "corrected", "keep": ("inequality",)},
        mutants=({"loss": 1.99}, {"half": 0.45}, {"reverse": False}),
    ),
    readings=(
        LITERAL,
        Reading(
            "squares of delta",
            THEOREM + r"The same with $\delta^2$ instead of $\delta$ in its second and third lines: with "
            r"$\delta^2s_*\lambda\|\tilde U^\top F\tilde V\|^2 + \delta^2(s_*\lambda)^2\|\tilde U^\top F\tilde "
            r"V\|^2$.",
            {"power": 2},
            r"The bounds of (44) before these lines, and the line after them, have $\delta^2$.",
            ({"power": 3},),
        ),
    ),
    uses=("fedlrt/eq-46", "fedlrt/thm-11-hat-first", "fedlrt/thm-11-hat-second"),
    because=r"Step (I) needs the reverse inequality of norms. The last term lacks L/2 and has the wrong sign. "
    r"$\delta$ should be $\delta^2$.",
    expect=("corrected", "proof"),
    intended=Intended(
        "squares of delta",
        r"“$= \delta^2 s_*\lambda$” in the bound of (44): $\delta$ is a slip. “where we use in (I) $\|U^\top "
        r"F(\widetilde W_r)V\| \leq \|\widetilde U^\top F(\widetilde W_r)\widetilde V\|$” in a term with a minus sign.",
    ),
    print="misprint",
)
def thm_11_combine(
    cases: list[tuple[Fraction, ...]],
    form: str = "printed",
    loss: float = 2.0,
    half: float = 0.5,
    reverse: bool = True,
    power: int = 1,
    keep: tuple[str, ...] = ("sum", "inequality", "equality"),
) -> Relations:
    """Lines in units of the squared gradient, exactly; ``reverse`` is the bound on the block from below."""
    for L, x, delta, share in cases:
        first = -x * (1 - 12 * x * L)
        shown = {"L": str(L), "x": str(x), "delta": str(delta), "share": str(share)} if share < 1 else None
        if form == "corrected":
            inside = share if reverse else share - delta**2
            line = first * inside + delta**2 * x + L / 2 * delta**2 * x**2
            least = 1 - Fraction(loss) * delta**2 - 12 * (1 - delta**2) * x * L - Fraction(half) * delta**2 * x * L
            yield Relation("the bound", float(line + x * least), 0.0, 1e-15, at_most=True)
            continue
        rest = delta**power * (x + x**2)
        end = -x * (1 - delta**2 - 12 * x * L + delta**2 * x)
        added = delta**2 * x + L / 2 * delta**2 * x**2
        lines = {
            "sum": Relation("the bounds of (44) combine", float(added), float(rest), 1e-15, True),
            "inequality": Relation("step (I)", float(first * share + rest), float(first + rest), 1e-15, True, shown),
            "within": Relation("step (I) within the block", float(first + rest), float(first + rest), 1e-15, True),
            "equality": Relation("the last equality", float(first + rest), float(end), 1e-15),
        }
        yield from [lines[name] for name in keep]
    return f"{len(cases)} exact values of L, s lambda, delta and the block's share"
