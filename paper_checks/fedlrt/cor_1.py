"""Corollary 1, which is Corollary 2 of Appendix G.2: convergence with simplified correction."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np

from paper_checks.claim import Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.convergence_runs import LIMIT, Run
from paper_checks.fedlrt.measurements.simplified_traces import SCOPE, SIMPLIFIED_ROUNDING, SMALL, measure_simplified
from paper_checks.fedlrt.measurements.traces import descent_constant, tried_rates
from paper_checks.methods.domain import Stated, tried
from paper_checks.methods.inequality import judge_inequality


@claim(
    "fedlrt/cor-1",
    where="Section 3.2, Corollary 1; Appendix G.2, Corollary 2, eq. (47)",
    says=r"""Let $\mathcal{L}_c$ and $\mathcal{L}$ be L-smooth with constant L (the general assumption of Section 3.2).
    Under Assumption 1 Algorithm 5 guarantees for $0 < \lambda \le \frac1{s_*(12L+\delta^2)}$:
    $\min_{t=1,\ldots,T}\|\nabla_{\tilde S}\mathcal{L}(U^tS^tV^{t,\top})\|^2 \le
    \frac{96L}T(\mathcal{L}(U^1S^1V^{1,\top}) - \mathcal{L}(U^{T+1}S^{T+1}V^{T+1,\top})) + 96L^2\vartheta$. Corollary 2
    has $\lambda \le \frac1{s_*(12L+\delta^2)}$ alone, and its proof $\frac1T\sum_t\|\tilde U^\top F(\tilde W_r)\tilde
    V\|^2$ between the two sides.""",
    measure=measure_simplified,
    control=Form(
        r"""With $\|\nabla_{\hat S}\mathcal{L}_c\| \le \delta\|\nabla_{\tilde S}\mathcal{L}\|$ at the start of each
        round, $\delta \le 1$, $1/48 \le s_*\lambda L \le 1/12$, and the cost of truncation as in the correction.""",
        {"assumption": "outside", "loss": "gradient", "least": 1.0 / 48.0, "most": 1.0},
    ),
    correction=Form(
        r"""If every round starts as in the corrected Theorem 4, with $\|\nabla_{\hat S}\mathcal{L}_c\| \le
        \delta\|\nabla_{\tilde S}\mathcal{L}\|$ for all clients, $\delta \le 1$, $\kappa = \frac12(1 + (1 -
        \frac1{s_*})\sqrt{1 + \delta^2})$ and $0 < x = s_*\lambda L \le \frac12$: $\min_{t \le T}\|\nabla_{\tilde
        S}\mathcal{L}\|^2 \le \frac{L}{x(1 - \kappa x)}\cdot\frac1T(\mathcal{L}(W_r^1) - \mathcal{L}(W_r^{T+1}) +
        \sum_t(\vartheta_t\|\nabla\mathcal{L}(\tilde W_r^{*,t})\| + \frac L2\vartheta_t^2))$, with $\vartheta_t$ the
        norm of what round t removes. As $\kappa < 1.2072$, the constant is at most $13.35L$ at $x = 1/12$ and $25.28L$
        at 1/24; 96 is enough for x from 1/94 to 1/2.""",
        {"assumption": "outside", "loss": "gradient", "best": True, "most": 1.0, "limit": 0.5},
        mutants=({"factor": 0.95}, {"assumption": "printed"}, {"loss": "none"}),
    ),
    vary=("factor",),
    hypotheses=(
        Dropped("rounds that start as in the corrected Theorem 4, with (14) instead", {"assumption": "printed"}),
    ),
    also=("fedlrt/cor-2",),
    uses=("fedlrt/thm-4",),
    importance="result",
    because="It depends on Theorem 4, which fails. At small learning rates the loss falls too little for a bound "
    r"without $1/\lambda$.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"“for the local learning rate $0 < \lambda \leq \frac{1}{s_*(12L+\delta^2)}$”, “analogous "
        "to the one for Theorem 3”: all rates up to it.",
    ),
)
def cor_1(
    runs: list[Run],
    constant: float = 96.0,
    factor: float = 1.0,
    assumption: str = "printed",
    least: float = 0.0,
    loss: str = "L theta",
    best: bool = False,
    most: float = SMALL,
    limit: float = LIMIT,
) -> Evidence:
    """Whole runs; printed, also small rates break it."""
    kept = []
    for run in runs:
        delta = run.outer if assumption == "outside" else run.delta
        inside = best or run.whole * (12.0 + delta**2) <= 1.0 + 1e-9 or run.whole >= least > 0
        if delta <= most * (1.0 + 1e-12) and limit * (1.0 + 1e-12) >= run.whole >= least and inside:
            kept.append((run, delta))
    if not kept:
        return Evidence(True, "no case", cases=0)
    left = np.array([run.least for run, _ in kept])
    K = np.array(
        [
            factor * (1.0 / (run.whole * (1.0 - descent_constant(run.steps, delta) * run.whole)) if best else constant)
            for run, delta in kept
        ]
    )
    costs = np.array([{"L theta": run.theta, "gradient": run.cost, "none": 0.0}[loss] for run, _ in kept])
    per_round = np.array([run.descent / len(run.slopes) for run, _ in kept])
    rough = np.array([3e5 if run.witness else 0.0 for run, _ in kept])
    error = SIMPLIFIED_ROUNDING * K * (np.array([run.size for run, _ in kept]) + costs + rough)

    return judge_inequality(
        left,
        K * (per_round + costs),
        error,
        case=lambda index: kept[index][0].shown,
        readable=[run.witness is not None for run, _ in kept],
        scope=f"{len(kept)} {SCOPE}",
        domain=tried_rates(
            [run for run, _ in kept], Stated(least, limit, "[]" if least else "(]"), [delta for _, delta in kept]
        ),
        printed=f"K = {factor * constant:g}" if not best else f"K = {factor:g} / (x (1 - kappa x))",
    )


def measure_brackets(context: Context) -> Sequence[tuple[Fraction, Fraction]]:
    """Return values of L and delta, also where L is about as small as the correction allows."""
    deltas = [Fraction(1, 10), Fraction(1, 20), Fraction(1, 100), Fraction(1, 3), Fraction(1, 2), Fraction(1)]
    shares = (Fraction(1, 82), Fraction(1, 90), Fraction(10**5))
    return [
        (L, delta)
        for delta in deltas
        for L in (Fraction(1), Fraction(10), Fraction(1, 2), Fraction(1, 100), *(delta**2 * share for share in shares))
    ]


PLUGGED = (
    r"gives $\|\nabla_{\tilde S}\mathcal{L}(W_r^t)\|^2 \le 96L(\mathcal{L}(W_r^t) - \mathcal{L}(W_r^{t+1}) + "
    r"L\vartheta)$ for all $\delta \ll 1$."
)


@claim(
    "fedlrt/cor-2-proof",
    where="Appendix G.2, proof of Corollary 2, up to the inequality of one round (its mean over t, as in "
    "fedlrt/thm-10-proof with 96 for 48: fedlrt/cor-1)",
    says=r"""After the inequality of Theorem 4: with $\lambda s_* = \frac1{12L+\delta^2}$, that is $\lambda =
    \frac1{s_*(12L+\delta^2)} \le \frac1{Ls_*}$, which obeys the learning rate requirement of Theorem 2, plugging this
    learning rate into (38) gives $\|\nabla_{\tilde S}\mathcal{L}(W_r^t)\|^2 \le 96L(\mathcal{L}(W_r^t) -
    \mathcal{L}(W_r^{t+1}) + L\vartheta)$, where $\frac14 - \delta^2 \le \frac14$ and $\frac1{12L+\delta^2} \le
    \frac1{12L}$ are used.""",
    measure=measure_brackets,
    readings=(
        Reading(
            "the inequality of Theorem 4",
            r"Plugging $\lambda s_* = \frac1{12L+\delta^2}$ into the inequality of "
            "Theorem 4 " + PLUGGED,
            why="The proof begins with the inequality of Theorem 4, which has no number. Only this one has the "
            r"$\delta^2$ that the proof uses. The paper prints (38), the inequality of Theorem 2.",
        ),
    ),
    control=Form(
        r"With $\lambda s_* = 1/(24L)$, $\delta \le 1/2$ and no last term in the bracket of Theorem 4.",
        {"rate": "24 L", "last": 0.0, "most": 0.5},
    ),
    correction=Form(
        r"""At the printed rate the corrected Theorem 4, with its hypothesis at the start of the round
        ($\frac1C\sum_c\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_r)\|^2 \le \delta^2\|\nabla_{\tilde S}\mathcal{L}(\tilde
        W_r)\|^2$, $\delta \le 1$), gives $\|\nabla_{\tilde S}\mathcal{L}(W_r^t)\|^2 \le 96L(\mathcal{L}(W_r^t) -
        \mathcal{L}(W_r^{t+1}) + \vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + \frac L2\vartheta^2)$ where $L \ge
        \delta^2/82$. (12L is one over a learning rate and $\delta^2$ a number: which L are meant depends on the unit in
        which the loss is measured.)""",
        {"form": "root", "least": 1 / 82},
        mutants=({"constant": 95.0}, {"least": 1 / 90}, {"root": 3.0}),
    ),
    vary=("constant",),
    hypotheses=(Dropped(r"$L \ge \delta^2/82$", {"least": 0.0}),),
    uses=("fedlrt/thm-4",),
    because="At the proof's rate Theorem 4's bracket is negative for $L \\ge 1/6$. The printed bracket of (38) is too "
    "small.",
    expect=("corrected", "proof"),
    intended=Intended(
        "the inequality of Theorem 4",
        "The proof begins “Consider Theorem 4” and repeats its inequality; “(38)” is a slip for that line.",
    ),
    print="misprint",
)
def cor_2_proof(
    cases: Sequence[tuple[Fraction, Fraction]],
    constant: float = 96.0,
    rate: str = "12 L + delta^2",
    form: str = "Theorem 4",
    last: float = 1.0,
    root: float = 1.0,
    most: float = 1.0,
    least: float = 0.0,
) -> Evidence:
    """The rate times the bracket must be at least 1/(96 L); ``least`` is L over the square of delta."""
    left, right = [], []
    kept = [(L, delta) for L, delta in cases if delta <= most and float(L / delta**2) >= least * (1.0 - 1e-12)]
    for L, delta in kept:
        whole = float(1 / (24 * L) if rate == "24 L" else 1 / (12 * L + delta**2))
        x, square = whole * float(L), float(delta) ** 2
        bracket = {
            "Theorem 4": 1.0 - square - 12.0 * x + last * square * whole,
            "root": 1.0 - root * descent_constant(None, float(delta)) * x,
        }[form]
        left.append(1.0)
        right.append(constant * x * bracket)
    return judge_inequality(
        np.array(left),
        np.array(right),
        1e-12,
        case=lambda index: {"L": str(kept[0][0]), "delta": str(kept[0][1])},
        scope=f"{len(kept)} values of L and delta at the learning rate 1/({rate})",
        domain=tried(
            ("δ", [float(delta) for _, delta in kept], Stated(0.0, most, "(]")),
            ("L/δ^2", [float(L / delta**2) for L, delta in kept], Stated(least, inf, "[)" if least else "()")),
        ),
        printed=f"1 <= {constant:g} s lambda L times the bracket, {form}",
    )
