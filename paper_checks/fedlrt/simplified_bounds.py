"""Appendix G.1, proof of Theorem 11 after eq. (46): what lies outside the block, and the last lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedlrt.convergence import LIMIT
from paper_checks.fedlrt.simplified import SMALL
from paper_checks.fedlrt.simplified_steps import SIMPLIFIED_ROUNDS, THEOREM, magnitude, measure_traces, rounding
from paper_checks.fedlrt.traces import Trace, norm, tried_rates
from paper_checks.methods.domain import POSITIVE, Stated
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.promises import Promise, Promises, promises

LINEAR = {"slope": [["10", "1"], ["2", "4"]], "norm": "11", "delta": "1/10", "step": "1/12"}
"""One client, one step, loss <slope, w>."""
CURVED = {"apart_inside": "170000", "apart_outside": "600"}
"""Two clients with the losses sign (170000 w11 + 600 w22 + w22^2 / 2) + <slope, w> and two steps of 1/48."""


STRONGER = {"outside": "outer_throughout", "in mean": "outer_in_mean"}
"""Assumptions in place of (14), with which no rate is asked for, and the numbers of a round that meet them."""


def is_linear(one: Trace) -> bool:
    """Whether it is the round of `LINEAR`."""
    return one.name == "hand" and one.steps == 1 and not one.mean.H.any()


def _hats(rounds: list[Trace], assumption: str) -> list[tuple[Trace, float]]:
    """Rounds and a delta that meets (14), if small, or a stronger assumption at all points, or in their mean."""
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
) -> Evidence:
    return judge_inequality(
        np.array(left),
        np.array(right),
        np.array([rounding(one) * 1e-3 for one, _ in pairs]),
        size=np.array([magnitude(one) for one, _ in pairs]),
        case=lambda index: witness if is_linear(pairs[index][0]) else {"instance": pairs[index][0].name},
        readable=[is_linear(one) for one, _ in pairs],
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
    where="Appendix G.1, bound of the first term of eq. (44): from its first to its last expression (the lines between "
    "them that do without Assumption 1: fedlrt/thm-11-hat-lines)",
    says=THEOREM + r"$\langle\hat S^* - \hat S, -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle \le \frac\lambda "
    r"C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\|\|\nabla_{\hat S}\mathcal{L}(\tilde W_r)\| \le "
    r"\frac\lambda C\sum_{c,s}\delta^2\|\nabla_{\hat S}\mathcal{L}(\tilde W_r)\|\|\nabla_{\hat S}\mathcal{L}(\tilde "
    r"W_r)\| = \delta^2s_*\lambda\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|^2 = \delta^2s_*\lambda\|\tilde U^\top "
    r"F(\tilde W_r)\tilde V\|^2$, by Assumption 1.",
    measure=measure_traces,
    control=Form(_STRONGER + r", with $\delta$ instead of $\delta^2$.", {"assumption": "outside", "power": 1}),
    correction=Form(
        _STRONGER + ", for either sign of the inner product; one client and one step attain it. Under (14) both signs "
        "fail, the printed one at one client with a linear loss, the other one at two opposite clients. Of the two "
        "inequalities the second, by Assumption 1, is the one that fails.",
        {"assumption": "outside", "signs": (-1.0, 1.0)},
        mutants=({"share": 0.99}, {"power": 3}, {"assumption": "printed"}, {"assumption": "printed", "signs": (1.0,)}),
    ),
    uses=("fedlrt/assumption-1",),
    because="Assumption 1 bounds a difference of norms, not what lies outside the block.",
    expect=("corrected", "proof"),
)
def thm_11_hat_first(
    rounds: list[Trace],
    power: int = 2,
    share: float = 1.0,
    assumption: str = "printed",
    signs: tuple[float, ...] = (-1.0,),
) -> Evidence:
    """Inner products outside the block."""
    pairs = _hats(rounds, assumption)
    left = [max(s * float((one.outside(one.aggregate) * one.gradient).sum()) for s in signs) for one, _ in pairs]
    right = [share * delta**power * one.whole * norm(one.gradient) ** 2 for one, delta in pairs]
    text = f"<= {share:g} delta^{power} s lambda |g|^2"
    return _judge_hats(pairs, left, right, text, assumption, {**LINEAR, **CURVED})


@claim(
    "fedlrt/thm-11-hat-second",
    where="Appendix G.1, bound of the second term of eq. (44): from its first to its last expression (the lines "
    "between them that do without Assumption 1: fedlrt/thm-11-hat-lines)",
    says=THEOREM + r"$\frac L2\|\hat S^* - \hat S\|^2 \le s_*\frac L2\delta^2\lambda^2\frac1C\sum_{c,s}\|\nabla_{\hat "
    r"S}\mathcal{L}(\tilde W_r)\|^2 \le \frac L2\delta^2(s_*\lambda)^2\|\nabla_{\tilde S}\mathcal{L}(\tilde "
    r"W_r)\|^2 = \frac L2\delta^2(s_*\lambda)^2\|\tilde U^\top F(\tilde W_r)\tilde V\|^2$, by Jensen's inequality and "
    r"Assumption 1.",
    measure=measure_traces,
    control=Form(_STRONGER + r", with $\delta$ instead of $\delta^2$.", {"assumption": "outside", "power": 1}),
    correction=Form(
        r"With $\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\|$ at most $\delta\|\nabla_{\tilde "
        r"S}\mathcal{L}(\tilde W_r)\|$ in root mean square over clients and steps, instead of (14), the first "
        r"expression is at most the last one. In the one between, $\nabla_{\tilde S}$ has to stand for $\nabla_{\hat "
        "S}$: it then is the last one.",
        {"assumption": "in mean"},
        mutants=({"half": 0.49}, {"power": 3}, {"assumption": "printed"}),
    ),
    uses=("fedlrt/assumption-1", "fedlrt/lemma-6"),
    because="Assumption 1 bounds a difference of norms, not what lies outside the block.",
    expect=("corrected", "proof"),
)
def thm_11_hat_second(rounds: list[Trace], power: int = 2, half: float = 0.5, assumption: str = "printed") -> Evidence:
    """Squares outside the block."""
    pairs = _hats(rounds, assumption)
    left = [0.5 * norm(one.outside(one.aggregate)) ** 2 for one, _ in pairs]
    right = [half * delta**power * one.whole**2 * norm(one.gradient) ** 2 for one, delta in pairs]
    return _judge_hats(pairs, left, right, f"<= {half:g} delta^{power} (s lambda)^2 |g|^2", assumption)


def measure_combined(context: Context) -> list[tuple[Fraction, ...]]:
    r"""L, $s_*\lambda$, delta and the block's share of the squared gradient, at least 1 - delta^2."""
    parts, deltas = (Fraction(1, 24), Fraction(1, 12), Fraction(1, 1000)), (Fraction(1, 10), Fraction(1, 2))
    shares = (Fraction(1), Fraction(1, 2), Fraction(0))
    return [
        (L, part / L, delta, 1 - outside * delta**2)
        for L, part, delta, outside in product(map(Fraction, ("1", "1/10", "7")), parts, deltas, shares)
    ]


@promises(
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
        r"With $x = s_*\lambda \le \frac1{12L}$, $\tilde g = \tilde U^\top F\tilde V$ and $\|U^\top FV\|^2 \ge (1 - "
        r"\delta^2)\|\tilde g\|^2$ in place of Assumption 1, which does not give it (fedlrt/assumption-1): $-x(1 - "
        r"12xL)\|U^\top FV\|^2 + \delta^2x\|\tilde g\|^2 + \frac L2\delta^2x^2\|\tilde g\|^2 \le -x(1 - 2\delta^2 - "
        r"12(1 - \delta^2)xL - \frac12\delta^2xL)\|\tilde g\|^2$. Step (I) needs the reverse inequality; (46) and the "
        r"bounds as corrected (fedlrt/eq-46, fedlrt/thm-11-hat-first, fedlrt/thm-11-hat-second) give $\delta^2$ and "
        r"$\frac L2\delta^2$, and the last term enters with the other sign.",
        {"form": "corrected", "keep": ("inequality",)},
        mutants=({"loss": 1.99}, {"half": 0.45}, {"reverse": False}),
    ),
    uses=("fedlrt/eq-46", "fedlrt/thm-11-hat-first", "fedlrt/thm-11-hat-second"),
    because=r"Step (I) needs the reverse inequality of norms; the last line has $\delta^2$ where the one before has "
    r"$\delta$, and a sign changes.",
    expect=("corrected", "proof"),
)
def thm_11_combine(
    cases: list[tuple[Fraction, ...]],
    form: str = "printed",
    loss: float = 2.0,
    half: float = 0.5,
    reverse: bool = True,
    keep: tuple[str, ...] = ("sum", "inequality", "equality"),
) -> Promises:
    """Lines in units of the squared gradient, exactly; ``reverse`` is the bound on the block from below."""
    for L, x, delta, share in cases:
        first = -x * (1 - 12 * x * L)
        shown = {"L": str(L), "x": str(x), "delta": str(delta), "share": str(share)} if share < 1 else None
        if form == "corrected":
            inside = share if reverse else share - delta**2
            line = first * inside + delta**2 * x + L / 2 * delta**2 * x**2
            least = 1 - Fraction(loss) * delta**2 - 12 * (1 - delta**2) * x * L - Fraction(half) * delta**2 * x * L
            yield Promise("the bound", float(line + x * least), 0.0, 1e-15, at_most=True)
            continue
        rest = delta * x + delta * x**2
        end = -x * (1 - delta**2 - 12 * x * L + delta**2 * x)
        added = delta**2 * x + L / 2 * delta**2 * x**2
        lines = {
            "sum": Promise("the bounds of (44) combine", float(added), float(rest), 1e-15, True),
            "inequality": Promise("step (I)", float(first * share + rest), float(first + rest), 1e-15, True, shown),
            "within": Promise("step (I) within the block", float(first + rest), float(first + rest), 1e-15, True),
            "equality": Promise("the last equality", float(first + rest), float(end), 1e-15),
        }
        yield from [lines[name] for name in keep]
    return f"{len(cases)} exact values of L, s lambda, delta and the block's share"
