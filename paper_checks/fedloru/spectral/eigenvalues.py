"""Section 3.1 and Appendix A.3: limits of eigenvalues and eigenvectors (Proposition 3.1, eq. 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paper_checks.claim import Dropped, Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.spiked import SpikedModel


@dataclass(frozen=True)
class Setting:
    """One instance of the noise model: spikes, entry scale and sample-size factor."""

    spikes: tuple[float, ...]
    sigma: float
    s: float

    @property
    def noise(self) -> float:
        r"""$\sigma s$, the threshold and half the edge."""
        return self.sigma * self.s

    def model(self) -> SpikedModel:
        """The setting as a spiked model."""
        return SpikedModel(self.spikes, Semicircle(self.sigma), self.s)


# Spikes in units of sigma s: deep inside the bulk, just below and just above the threshold, far outside; both signs.
ALONE = (0.05, 0.5, 0.9, 1.1, 1.5, 2.0, 5.0, -0.5, -1.1, -2.0)
NOISES = ((2.0, 0.5), (1.5, 0.4))
TOGETHER = (3.0, 1.5, 0.6, -0.3, -1.8, -2.5)


def single_spikes() -> list[tuple[str, Setting]]:
    """Return settings with one spike, from inside the noise to far outside, by name."""
    found = []
    for index, ratio in enumerate(ALONE):
        sigma, s = NOISES[index % len(NOISES)]
        found.append((f"theta = {ratio:g} sigma s", Setting((ratio * sigma * s,), sigma, s)))
    return found


@dataclass(frozen=True)
class Spectra:
    """Ladders of extreme eigenvalues or overlaps, with the setting and spike each belongs to."""

    ladders: dict[str, Ladder]
    spikes: dict[str, tuple[Setting, float]]

    def numbers(self) -> dict[str, dict[str, float]]:
        """Spike, sigma and s of each quantity, for witnesses."""
        return {name: {"theta": theta, "sigma": at.sigma, "s": at.s} for name, (at, theta) in self.spikes.items()}


def measure_extremes(context: Context) -> Spectra:
    """Extreme eigenvalue of one spike at growing R, then all six spikes of both signs together."""
    ladders, spikes = {}, {}
    dimensions = (10**6, 10**9)
    for name, setting in single_spikes():
        rng, theta = context.rng(name), setting.spikes[0]
        rungs = []
        for R in dimensions:
            draws = context.size(12, 60)
            at = {"top": int(theta > 0), "bottom": int(theta < 0)}
            found = [draw_banded(setting.model(), R, rng, **at) for _ in range(draws)]
            rungs.append((R, np.array([d.top(1)[0] if theta > 0 else d.bottom(1)[0] for d in found])))
        ladders[name], spikes[name] = Ladder(tuple(rungs)), (setting, theta)
    setting = Setting(TOGETHER, 2.0, 0.5)
    rungs = []
    for R in (10**4, 10**6):
        rng = context.rng(f"together, R = {R}")
        found = [draw_banded(setting.model(), R, rng, top=3, bottom=3) for _ in range(context.size(24, 100))]
        rungs.append((R, np.array([[*d.top(3), *d.bottom(3)[::-1]] for d in found])))
    for index, ratio in enumerate(TOGETHER):
        name = f"theta = {ratio:g} sigma s beside five others"
        ladders[name] = Ladder(tuple((R, values[:, index]) for R, values in rungs))
        spikes[name] = (setting, setting.spikes[index])
    return Spectra(ladders, spikes)


def limiting_eigenvalue(
    setting: Setting, theta: float, rule: str, coefficient: float, edge: float, threshold: float, s_power: float
) -> float:
    """The two branches of Proposition 3.1, by the printed rule or by the threshold."""
    g = theta + coefficient * setting.sigma**2 * setting.s**s_power / theta
    limit = float(np.copysign(edge * setting.noise, theta))
    outside = (g > limit if theta > 0 else g < limit) if rule == "printed" else abs(theta) > threshold * setting.noise
    return g if outside else limit


@claim(
    "fedloru-v2/prop-3.1",
    where="Section 3.1, Proposition 3.1, eqs. (2) and (3)",
    says=r"Let $H_N$ be as in (1), with i-th eigenvalue $\lambda_i(H_N)$. As $R \to \infty$: for $i = 1, \ldots, p$, "
    r"$\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $g_N^{-1}(\theta_i) > U_N$, and $\to U_N$ otherwise (2); for $i = 0, "
    r"\ldots, q-1$, $\lambda_{R-i}(H_N) \to g_N^{-1}(\theta_{p+q-i})$ if $g_N^{-1}(\theta_{p+q-i}) < L_N$, and $\to "
    r"L_N$ otherwise (3). Here $g_N^{-1}(\theta) = \theta + \frac{\sigma^2 s_N^2}{\theta}$, $U_N = 2\sigma s_N$ and "
    r"$L_N = -2\sigma s_N$; convergence is almost sure uniform convergence.",
    measure=measure_extremes,
    control=Form(
        r"The statement for Gaussian noise and spikes with $|\theta| > \sigma s_N$.", {"supercritical_only": True}
    ),
    correction=Form(
        r"$\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ if $\theta_i > \sigma s_N$, else $U_N$; mirrored for negative spikes "
        r"($\theta < -\sigma s_N$). The printed condition $g_N^{-1}(\theta) > U_N$ holds for every positive "
        r"$\theta \ne \sigma s_N$, since $\theta + \sigma^2s_N^2/\theta \ge 2\sigma s_N$. Almost surely, for "
        "Gaussian noise; for other entry laws see prop-3.1-dist.",
        {"rule": "threshold"},
        mutants=({"coefficient": 1.05}, {"edge": 2.02}, {"threshold": 1.15}, {"threshold": 0.85}, {"s_power": 1.0}),
    ),
    vary=("coefficient", "edge"),
    uses=("fedloru-v2/eq-29", "fedloru-v2/eq-32", "fedloru-v2/lem-A.2"),
    importance="result",
    because=r"$\theta + \sigma^2s_N^2/\theta > U_N$ also for $0 < \theta < \sigma s_N$, where the eigenvalue stays at "
    "$U_N$.",
    hypotheses=(Dropped(r"$|\theta_i| > \sigma s_N$ where the outlier is claimed", {"rule": "printed"}),),
    expect=("corrected", "proof"),
)
def prop_3_1(
    data: Spectra,
    rule: str = "printed",
    coefficient: float = 1.0,
    edge: float = 2.0,
    threshold: float = 1.0,
    s_power: float = 2.0,
    supercritical_only: bool = False,
) -> Evidence:
    """Every branch: spikes of both signs, below and above the threshold, alone and together."""

    def predict(rule: str, coefficient: float, edge: float, threshold: float, s_power: float, **_: Any) -> Predictions:
        return {
            name: limiting_eigenvalue(setting, theta, rule, coefficient, edge, threshold, s_power)
            for name, (setting, theta) in data.spikes.items()
            if not supercritical_only or abs(theta) > setting.noise
        }

    predicted = predict(rule, coefficient, edge, threshold, s_power)
    ratios = [theta / setting.noise for setting, theta in data.spikes.values()]
    return judge_limit(
        {name: data.ladders[name] for name in predicted},
        predicted,
        scope=f"spikes between {min(ratios):g} and {max(ratios):g} sigma s, alone with sigma s = "
        f"{' and '.join(f'{sigma * s:g}' for sigma, s in NOISES)} in turn, {len(TOGETHER)} together with sigma s = 1; "
        "Gaussian noise",
        settings=data.numbers(),
    )


def measure_overlaps(context: Context) -> Spectra:
    """Overlaps of the extreme eigenvector with the spike, alone at growing R; all pairs for three spikes together."""
    ladders, spikes = {}, {}
    for name, setting in single_spikes():
        rng, theta = context.rng(name), setting.spikes[0]
        rungs = []
        for R in (10**3, 10**5, 10**8):
            found = []
            for _ in range(context.size(12, 60)):
                draw = draw_banded(setting.model(), R, rng, top=int(theta > 0), bottom=int(theta < 0))
                found.append((draw.top_overlaps(1) if theta > 0 else draw.bottom_overlaps(1))[1][0, 0])
            rungs.append((R, np.array(found)))
        ladders[name], spikes[name] = Ladder(tuple(rungs)), (setting, theta)
    setting = Setting((3.0, 2.0, 1.4), 2.0, 0.5)
    tables = []
    for R in (10**5, 10**8):
        rng = context.rng(f"together, R = {R}")
        found = [draw_banded(setting.model(), R, rng, top=3).top_overlaps(3)[1] for _ in range(context.size(16, 80))]
        tables.append((R, np.array(found)))
    for i in range(3):
        for j in range(3):
            name = f"|<v_{j + 1}, u_{i + 1}>|^2 of three spikes"
            ladders[name] = Ladder(tuple((R, table[:, i, j]) for R, table in tables))
            spikes[name] = (setting, setting.spikes[i] if i == j else 0.0)
    return Spectra(ladders, spikes)


def limiting_overlap(
    setting: Setting, theta: float, everywhere: bool, coefficient: float, power: float, squared: bool
) -> float:
    """Eq. 5: the cone around a spike; 0 across spikes and, by the threshold, for spikes that stay inside."""
    if theta == 0.0 or (not everywhere and abs(theta) <= setting.noise):
        return 0.0
    overlap = 1.0 - coefficient * abs(setting.noise / theta) ** power
    return overlap if squared or overlap < 0 else overlap**0.5


@claim(
    "fedloru-v2/eq-5",
    where="Section 3.2, eq. (5)",
    says=r"For $i \in \mathcal{P}_N \cup \mathcal{Q}_N$, $u_i$ the unit eigenvector of $H_N$ that corresponds to "
    r"$v_i$, and $j \in \mathcal{P}_N \cup \mathcal{Q}_N$ with $j \ne i$: $|\langle v_i, u_i\rangle|^2 \to 1 - "
    r"\frac{\sigma^2 s_N^2}{\theta_i^2}$ and $|\langle v_j, u_i\rangle|^2 \to 0$.",
    measure=measure_overlaps,
    readings=(
        Reading(
            "sets by condition",
            r"The limits for $\mathcal{P}_N = \{i \le p : g_N^{-1}(\theta_i) > U_N\}$ and $\mathcal{Q}_N = \{i > p : "
            r"g_N^{-1}(\theta_i) < L_N\}$.",
            why="Theorem 3.2 defines the sets so.",
        ),
        Reading(
            "sets by limit",
            r"The limits for $\mathcal{P}_N = \{i \le p : \lambda_i(H_N) \to g_N^{-1}(\theta_i)\}$ and its like, "
            "almost surely for Gaussian noise, in probability for Wigner matrices as in prop-3.1-dist.",
            {"supercritical_only": True},
            "Appendix A.4 prints these sets as equal to those, and $u_i$ is the eigenvector that corresponds to $v_i$.",
            ({"coefficient": 1.1}, {"power": 1.0}, {"squared": False}),
        ),
    ),
    correction=Form(
        "Almost surely for Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, the limits "
        r"hold for $|\theta_i| > \sigma s_N$. For $|\theta_i| < \sigma s_N$, which the printed sets contain as well, "
        "the overlap of the extreme eigenvector tends to 0 (the printed limit would be negative).",
        {"everywhere": False},
        mutants=({"coefficient": 1.05}, {"power": 1.0}, {"squared": False}),
    ),
    uses=("fedloru-v2/prop-3.1",),
    importance="result",
    because=r"By the condition $g_N^{-1}(\theta) > U_N$ the sets contain spikes below $\sigma s_N$, for which the "
    "printed limit is negative.",
    hypotheses=(Dropped(r"$|\theta_i| > \sigma s_N$", {"supercritical_only": False}),),
    expect=("depends on the reading", "proof"),
)
def eq_5(
    data: Spectra,
    everywhere: bool = True,
    coefficient: float = 1.0,
    power: float = 2.0,
    squared: bool = True,
    supercritical_only: bool = False,
) -> Evidence:
    """Own and cross overlaps, spikes of both signs below and above the threshold."""

    def predict(everywhere: bool, coefficient: float, power: float, squared: bool, **_: Any) -> Predictions:
        return {
            name: limiting_overlap(setting, theta, everywhere, coefficient, power, squared)
            for name, (setting, theta) in data.spikes.items()
            if not supercritical_only or theta == 0.0 or abs(theta) > setting.noise
        }

    predicted = predict(everywhere, coefficient, power, squared)
    return judge_limit(
        {name: data.ladders[name] for name in predicted},
        predicted,
        resolution=0.01,
        scope="overlaps of single spikes of both signs and of all pairs of three spikes, Gaussian noise",
        settings=data.numbers(),
    )


@dataclass(frozen=True)
class Ordered:
    """Ladders of eigenvalues by index, the quantile predicted for those inside, and the nearer edge of each."""

    ladders: dict[str, Ladder]
    predicted_inside: dict[str, float]
    edges: dict[str, float]
    shares: dict[str, float]


BULK = Setting((2.0, -2.0), 2.0, 0.5)
_UNIT = Semicircle(1.0)
SLOW = "lambda_i at i = floor(log2 R)"


def measure_bulk(context: Context) -> Ordered:
    """Eigenvalues at a fixed index past the outliers, at one that grows slowly, and at shares of the spectrum."""
    ladders, inside, edges, shares = {}, {}, {}, {}
    positive, rungs = SpikedModel(BULK.spikes[:1], Semicircle(BULK.sigma), BULK.s), []
    for R in (10**6, 10**8):
        rng, top = context.rng(f"fixed index, R = {R}"), R.bit_length() - 1
        rungs.append(
            (R, np.array([draw_banded(positive, R, rng, top=top).top(top) for _ in range(context.size(12, 60))]))
        )
    for name, index in (("lambda_2, p = 1", 2), ("lambda_4, p = 1", 4), (SLOW, 0)):
        ladders[name] = Ladder(tuple((R, found[:, index - 1]) for R, found in rungs))  # the last one for index 0
        edges[name] = 2.0 * BULK.noise
    rng = context.rng("fixed share")
    for share in (0.1, 0.5, 0.8):
        name = f"lambda_i at i = {share:g} R"
        rungs = []
        for R in (10**3, 10**4):
            draws = [draw_banded(positive, R, rng, top=R, rows=R) for _ in range(context.size(12, 40))]
            rungs.append((R, np.array([draw.at(round(share * R)) for draw in draws])))
        ladders[name], shares[name] = Ladder(tuple(rungs)), share
        inside[name] = BULK.noise * float(_UNIT.quantile(1.0 - share))
        edges[name] = float(np.copysign(2.0 * BULK.noise, inside[name] or 1.0))
    return Ordered(ladders, inside, edges, shares)


@claim(
    "fedloru-v2/prop-3.1-bulk",
    where="Section 3.1, Proposition 3.1, last sentence",
    says=r"For $p < i \le P - q$ we have $\lambda_i(H_N) \to \{L_N, U_N\}$ as $R \to \infty$; convergence is "
    "almost sure uniform convergence.",
    measure=measure_bulk,
    readings=(
        Reading(
            "every index in the range",
            r"For every $i = i(R)$ with $p < i \le R - q$, also one that grows with R, $\lambda_i(H_N)$ comes "
            r"arbitrarily near to $\{L_N, U_N\}$ (R for the P of the print, which is defined nowhere).",
            why="The range grows with R, convergence is said to be uniform, and Theorem 3.2 counts all these indices.",
        ),
        Reading(
            "fixed index",
            r"$\lambda_i(H_N) \to U_N$ for every fixed $i > p$, and $\lambda_{R-i}(H_N) \to L_N$ for every fixed $i "
            r"\ge q$. Almost surely, for Wigner matrices as in eq-29 (one law of entries over $\sqrt R$, fourth "
            "moment finite, taken from one infinite matrix for all R); for other noise see there.",
            {"fixed_only": True},
            r"Its proof ends with eq. (29), for all $i > p$ (respectively, $i \ge q$) fixed.",
            ({"edge": 2.1},),
        ),
    ),
    correction=Form(
        r"Almost surely, for Wigner matrices as in eq-29 (one law of entries over $\sqrt R$, fourth moment finite, "
        r"taken from one infinite matrix for all R): if $p < i(R) \le R - q$ and $i(R)/R \to c$, then "
        r"$\lambda_{i(R)}(H_N)$ converges to the $(1-c)$-quantile of the semicircle on $[L_N, U_N]$: to $U_N$ for $c = "
        "0$, as for every fixed index, to $L_N$ for $c = 1$, and to a value inside the bulk for $0 < c < 1$.",
        {"interior": "quantile"},
        mutants=({"interior": "mirrored"}, {"edge": 2.02}),
    ),
    uses=("fedloru-v2/eq-29", "fedloru-v2/eq-21-25", "fedloru-v2/lem-A.2"),
    importance="result",
    because=r"An index that grows in proportion to R, $i = \lfloor cR\rfloor$ with $0 < c < 1$, has its limit inside "
    "the bulk.",
    hypotheses=(Dropped(r"$i(R)/R \to 0$ or 1", {"fixed_only": False}),),
    expect=("depends on the reading", "proof"),
)
def prop_3_1_bulk(data: Ordered, interior: str = "edges", edge: float = 2.0, fixed_only: bool = False) -> Evidence:
    """Indices at a fixed distance from the top or one that grows slowly, and at a fixed share of the spectrum."""

    def predict(interior: str, edge: float, **_: Any) -> Predictions:
        found = {}
        for name, limit in data.edges.items():
            value = data.predicted_inside.get(name)
            if value is None and (name != SLOW or not fixed_only):
                found[name] = limit * edge / 2.0
            elif value is not None and not fixed_only:
                # A limit "in {L, U}" is read as the nearer of the two.
                found[name] = {"edges": limit * edge / 2.0, "quantile": value, "mirrored": -value}[interior]
        return found

    predicted = predict(interior, edge)
    shares = ", ".join(f"{share:g}" for share in data.shares.values())
    others = "" if fixed_only else f", one that grows like log R, and shares {shares} of the spectrum"
    return judge_limit(
        {name: data.ladders[name] for name in predicted},
        predicted,
        resolution=0.01,
        scope=f"one spike at {BULK.spikes[0] / BULK.noise:g} sigma s; fixed indices{others}",
        settings={name: {"sigma": BULK.sigma, "s": BULK.s, "share": data.shares.get(name, 0.0)} for name in predicted},
    )
