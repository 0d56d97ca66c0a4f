"""Theorem 3.3 of v1, which is Theorem 3.2 of iclr."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, claim
from paper_checks.context import LEVEL, Context
from paper_checks.fedloru.spectral.measurements.general_noise import (
    MARCHENKO_PASTUR,
    SEMICIRCLE,
    SKEWED,
    UNIFORM,
    Noise,
)
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit, mean_interval
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.probability import Counted, judge_probability
from rmt.general_laws import RTransformLaw
from rmt.secular import draw_rotated
from rmt.spiked import SpikedModel


def _left_skewed(w: Any) -> Any:
    return 1.0 - 1.0 / (1.0 + 0.25 * w)


LEFT_SKEWED = Noise("mirrored Marchenko-Pastur, centred", RTransformLaw(_left_skewed), _left_skewed)


@dataclass(frozen=True)
class Case:
    """Client and server with one spike and the same law of the noise."""

    noise: Noise
    theta: float
    s_M: float  # noqa: N815
    s_N: float  # noqa: N815

    @property
    def name(self) -> str:
        """Return a readable name."""
        return f"{self.noise.name}, theta = {self.theta:g}, s_M = {self.s_M:g}, s_N = {self.s_N:g}"

    @cached_property
    def models(self) -> dict[str, SpikedModel]:
        """Return the models of client (M) and server (N)."""
        scales = {"M": self.s_M, "N": self.s_N}
        return {which: SpikedModel((self.theta,), self.noise.law, s) for which, s in scales.items()}

    def numbers(self) -> dict[str, float]:
        """Return plain numbers for witnesses."""
        return {"theta": self.theta, "s_M": self.s_M, "s_N": self.s_N, **dict(self.noise.numbers)}

    def spike_decides(self, which: str) -> bool:
        """Return whether the spike, not the bulk, determines the limit of the norm."""
        model = self.models[which]
        return model.spectral_norm > max(map(abs, model.bulk_edges))


NEGATIVE = Case(LEFT_SKEWED, 0.15, 0.8, 0.2)


@dataclass(frozen=True)
class Gaps:
    """Gaps over R of every case, and the gaps themselves of the case in which the bulk decides."""

    ladders: dict[Case, Ladder]
    negative: NDArray[np.float64]


# The spike decides both norms, or only the server's, or the bulk decides both.
CASES = (
    Case(UNIFORM, 1.0, 0.8, 0.1),
    Case(SEMICIRCLE, 1.0, 0.6, 0.3),
    Case(MARCHENKO_PASTUR, 2.0, 0.8, 0.4),
    Case(MARCHENKO_PASTUR, -3.0, 0.6, 0.3),
    Case(SKEWED, 2.0, 0.9, 0.3),
    Case(SEMICIRCLE, 0.5, 0.8, 0.15),
    Case(SEMICIRCLE, 0.2, 0.8, 0.4),
    Case(LEFT_SKEWED, 0.15, 0.8, 0.2),
)


def measure_gaps(context: Context) -> Gaps:
    """Draw client and server independently."""

    def gaps(case: Case, R: int, draws: int) -> NDArray[np.float64]:
        rng, spectrum = context.rng(f"{case.name}, R = {R}"), case.noise.spectrum(R)
        ranks = [
            [draw_rotated(case.models[which], R, rng, spectrum=spectrum).stable_rank().value for which in "MN"]
            for _ in range(draws)
        ]
        return -np.diff(np.array(ranks), axis=1)[:, 0]

    ladders = {
        case: Ladder(tuple((R, gaps(case, R, context.size(24, 100)) / R) for R in (10**3, 20_000))) for case in CASES
    }
    return Gaps(ladders, gaps(NEGATIVE, 10**4, context.size(60, 300)))


@cache
def _rank_over_dimension(case: Case, which: str, moment: str, norm: str) -> float:
    model, law = case.models[which], case.models[which].noise_law
    top = model.spectral_norm
    if norm == "g":
        top = case.theta + model.scale * float(case.noise.transform(model.scale / case.theta))
    return (law.moment(2) if moment == "second" else law.variance) / top**2


def limiting_gap(case: Case, second_moment: float, moment: str, norm: str, **_: Any) -> float:
    """Return the limit of the gap over R; ``norm`` g takes the spike's outlier as norm even where the bulk decides."""
    client, server = (_rank_over_dimension(case, which, moment, norm) for which in "MN")
    return second_moment * (client - server)


def _judge_positive(ladders: dict[Case, Ladder], scope: str) -> Evidence:
    """Judge that the gap is positive in every case, at its largest dimension."""
    intervals = {case: mean_interval(ladder.rungs[-1][1], LEVEL / len(ladders)) for case, ladder in ladders.items()}
    case, worst = min(intervals.items(), key=lambda item: item[1].low)
    ok = True if worst.low > 0 else False if worst.high <= 0 else None
    return Evidence(
        ok,
        scope,
        f"{case.name}: gap/R positive",
        f"{worst.middle:.3g}",
        worst.low,
        cases=len(ladders),
        level=LEVEL,
        reason="" if ok is not None else "an interval contains 0",
    )


@claim(
    "fedloru-v1/thm-3.3",
    where="v1, Section 3.1, Theorem 3.3, eq. (9); iclr, Section 3.1, Theorem 3.2, eq. (5)",
    says=r"""For any integers $N > M > \bar R$ and any pair in $\Omega^R(\theta_1, \ldots, \theta_{p+q})$:
    $\mathrm{srank}(H_M) - \mathrm{srank}(H_N) \to S(\theta_1, \dots, \theta_{p+q}, \mu) > 0$ weakly almost surely as $R
    \to \infty$, where $S$ does not depend on the sequence $(h^R, \omega^R)$.""",
    also=("fedloru-iclr/thm-3.2",),
    measure=measure_gaps,
    control=Form(
        """For noise whose extreme eigenvalues tend to the edges and whose eigenvectors are uniformly random the
        difference is positive for large $R$ if the spike determines the norm of $H_N$.""",
        {"control": True},
    ),
    correction=Form(
        r"""$(\mathrm{srank}(H_M) - \mathrm{srank}(H_N))/R \to m_2(\mu)\left(\frac{s(M)^2}{\lambda_M^2} -
        \frac{s(N)^2}{\lambda_N^2}\right) \ge 0$ with $m_2$ the second moment and $\lambda = \lim\|H\|_2$, for noise
        whose extreme eigenvalues tend to the edges. It is positive exactly if a spike determines $\lambda_N$
        ($\lambda_N$ exceeds $\max(|L_N|, |U_N|)$), because $s/\lambda(s)$ never decreases: $\lambda - s\lambda' =
        |\theta|(1 - x^2R_\mu'(x)) > 0$ at $x = s/\theta$ above the threshold. Then the difference itself grows like
        $R$. If the bulk determines both norms, the limit is 0 and the difference can be negative. Almost surely, if the
        extreme eigenvalues converge so and the eigenvectors are uniformly random; under QUE alone, in probability.""",
        {"growth": 1.0, "bulk_sign": "negative"},
        mutants=(
            {"second_moment": 1.25},
            {"second_moment": 0.8},
            {"moment": "variance"},
            {"norm": "g"},
            {"bulk_sign": "positive"},
        ),
    ),
    vary=("second_moment",),
    uses=("fedloru-v1/prop-3.2",),
    importance="result",
    because="The difference grows in proportion to R if a spike determines the norm, and can be negative if the bulk "
    "does.",
    best={"second_moment": Best(1.0, "proved: the squared Frobenius norm over R tends to the second moment")},
    hypotheses=(Dropped(r"a spike that decides the norm, for a positive difference", {"bulk_sign": "positive"}),),
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“weakly almost surely to positive value” S(θ_1, …, μ) > 0, for any spikes and any law "
        "with QUE; no condition on θ as in v2",
    ),
)
def v1_thm_3_3(
    data: Gaps,
    growth: float = 0.0,
    second_moment: float = 1.0,
    moment: str = "second",
    norm: str = "norm",
    bulk_sign: str = "positive",
    control: bool = False,
) -> Evidence:
    """A finite limit means 0 over R (``growth`` 0); then the sign of the gap where the bulk decides."""
    constants: dict[str, Any] = {"growth": growth, "second_moment": second_moment, "moment": moment, "norm": norm}

    def predict(growth: float, **form: Any) -> Predictions:
        return {case.name: growth * limiting_gap(case, **form) if growth else 0.0 for case in data.ladders}

    decided = sum(case.spike_decides("N") for case in data.ladders)
    scope = (
        f"{len(data.ladders)} laws and spikes; the spike decides the norm of H_N in {decided}, the bulk both norms in "
        f"{sum(not case.spike_decides('M') and not case.spike_decides('N') for case in data.ladders)}"
    )
    if control:
        cases = {case: ladder for case, ladder in data.ladders.items() if case.spike_decides("N")}
        return _judge_positive(cases, f"{decided} laws and spikes, in each the spike decides the norm of H_N")
    limits = judge_limit(
        {case.name: ladder for case, ladder in data.ladders.items()},
        predict(**constants),
        scope=scope,
        settings={case.name: case.numbers() for case in data.ladders},
        level=LEVEL / 2,
        resolution=0.02,
    )
    counted = Counted(int((data.negative < 0).sum()), len(data.negative))
    found = f"{limits.obtained}; {counted.happened} of {counted.draws} gaps negative where the bulk decides both norms"
    if not limits.ok:
        return replace(limits, obtained=found)
    low, high = (0.5, 1.0) if bulk_sign == "negative" else (0.0, 0.5)
    what = f"gap < 0, {NEGATIVE.name}"
    sign = judge_probability(counted, low, high, scope=limits.scope, what=what, level=LEVEL / 2)
    both = judge_parts([limits, sign])
    return replace(both, printed=limits.printed, obtained=found, cases=limits.cases) if both.ok else both
