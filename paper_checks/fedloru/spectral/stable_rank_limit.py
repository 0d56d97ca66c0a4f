"""Section 3.1 and Appendix A.4: the stable rank as the dimension grows (Theorem 3.2, eq. 36, 37)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Best, Dropped, Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.spike_sets import Instance, draw_instances
from paper_checks.fedloru.spectral.spike_sets import SetReading as Sets
from paper_checks.fedloru.spectral.stable_rank_estimates import judge_estimates
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.sample_size import stable_rank_gap
from rmt.spiked import SpikedModel, wigner_outlier

NOISE_SIGMA = 2.0


@dataclass(frozen=True)
class Sizes:
    r"""Spikes at two sample sizes: $\sigma s_M$ of the client and $\sigma s_N$ of the server."""

    spikes: tuple[float, ...]
    client: float
    server: float

    @property
    def theta_0(self) -> float:
        """The spike of largest modulus."""
        return max(self.spikes, key=abs)

    def model(self, noise: float) -> SpikedModel:
        """The spiked model at one sample size."""
        return SpikedModel(self.spikes, Semicircle(NOISE_SIGMA), noise / NOISE_SIGMA)

    def numbers(self) -> dict[str, Any]:
        """Plain numbers for witnesses."""
        return {"spikes": list(self.spikes), "client": self.client, "server": self.server}


ABOVE = {
    "theta_0 = -6 sigma s_M": Sizes((-6.0, 2.0), 1.0, 0.8),
    "theta_0 = sigma s_M": Sizes((1.0,), 1.0, 0.5),
    "theta_0 = 1.2 sigma s_M": Sizes((1.2, -0.8), 1.0, 0.3),
    "five spikes, theta_0 = 3 sigma s_M": Sizes((3.0, 1.5, 0.7, -0.4, -2.0), 1.0, 0.5),
}
BETWEEN = {"theta_0 between": Sizes((0.7,), 1.0, 0.5)}
BELOW = {"theta_0 below both": Sizes((0.3,), 1.0, 0.5)}
R = 10**9
SETTLED = "R is 10^9: means over R eigenvalues, and edges that are off their limits by the order of R^(-2/3)"


@dataclass(frozen=True)
class Ranks:
    """Independent draws of client and server at R: squared Frobenius norms and spectral norms, shape ``(draws, 2)``."""

    squared: NDArray[np.float64]
    norms: NDArray[np.float64]

    def ranks(self) -> NDArray[np.float64]:
        """Stable ranks."""
        return self.squared / self.norms**2

    def gaps(self) -> NDArray[np.float64]:
        """Stable rank of the client minus that of the server."""
        client, server = self.ranks().T
        return client - server


def draw_ranks(sizes: Sizes, R: int, draws: int, rng: np.random.Generator) -> Ranks:
    """Draws clients and servers with independent noise."""
    found = []
    for _ in range(draws):
        pair = [
            draw_banded(sizes.model(noise), R, rng, top=1, bottom=1).stable_rank()
            for noise in (sizes.client, sizes.server)
        ]
        found.append([[rank.frobenius_squared for rank in pair], [rank.spectral_norm for rank in pair]])
    table = np.array(found)
    return Ranks(table[:, 0], table[:, 1])


def measure_ranks(context: Context) -> dict[str, Ranks]:
    """Draws at R = 10^9 wherever the server has an outlier."""
    return {
        name: draw_ranks(sizes, R, context.size(6, 40), context.rng(name)) for name, sizes in (ABOVE | BETWEEN).items()
    }


def expected_ratio(sizes: Sizes, noise: float, part: str, bulk: float) -> float:
    r"""Limit of the stable rank, of its numerator or of its denominator, the first two over R.

    Args:
        sizes: spikes.
        noise: $\sigma s$.
        part: ``stable rank``, ``numerator`` or ``norm``.
        bulk: mean square of the limits of the bulk eigenvalues, in units of $\sigma^2s^2$: 4 if all sit at the edges.
    """
    model = sizes.model(noise)
    rank = model.stable_rank(R)
    if part == "norm":
        return rank.spectral_norm
    squared = rank.frobenius_squared + (bulk - 1.0) * noise**2 * (R - len(sizes.spikes))
    return squared / R / (rank.spectral_norm**2 if part == "stable rank" else 1.0)


def _judge_ratio(data: dict[str, Ranks], part: str, bulk: float) -> Evidence:
    """Both sample sizes of every setting in which Theorem 3.2 speaks."""
    quantity = {"numerator": "||H||_F^2 / R", "norm": "||H||_2", "stable rank": "srank(H)/R"}[part]
    people = ("client", "server")
    columns = {f"{quantity}, {who}, {name}": (name, place) for name in ABOVE for place, who in enumerate(people)}

    def predict(bulk: float) -> Predictions:
        return {
            label: expected_ratio(ABOVE[name], (ABOVE[name].client, ABOVE[name].server)[place], part, bulk)
            for label, (name, place) in columns.items()
        }

    found = {
        name: {"numerator": ranks.squared / R, "norm": ranks.norms, "stable rank": ranks.ranks() / R}[part]
        for name, ranks in data.items()
    }
    return judge_limit(
        {label: Ladder(((R, found[name][:, place]),), SETTLED) for label, (name, place) in columns.items()},
        predict(bulk),
        scope="spikes of both signs, above and below the thresholds, theta_0^2 >= sigma^2 s_M^2"
        + ("; N_u + N_l = R less the outliers, all at the edges" if bulk == 4.0 and part != "norm" else ""),
        settings={label: {**ABOVE[name].numbers(), "place": place} for label, (name, place) in columns.items()},
    )


@claim(
    "fedloru-v2/eq-36",
    where="Appendix A.4, eq. (36)",
    says="From the limiting eigenvalues of $H_N$ the estimated stable rank is defined as "
    r"$\widehat{\mathrm{srank}}(H_N) = \sum_{j \in \mathcal{P}_N \cup \mathcal{Q}_N} "
    r"\frac{g_N^{-1}(\theta_j)^2}{g_N^{-1}(\theta_0)^2} + N_u\frac{U_N^2}{g_N^{-1}(\theta_0)^2} + "
    r"N_l\frac{L_N^2}{g_N^{-1}(\theta_0)^2}$ with $N_u = |\{i : \lambda_i(H_N) \to U_N\}|$, $N_l = |\{i : "
    r"\lambda_i(H_N) \to L_N\}|$.",
    measure=measure_ranks,
    control=Form(
        r"Its denominator, for Gaussian noise and $|\theta_0| \ge \sigma s_N$: $\|H_N\|_2 \to |g_N^{-1}(\theta_0)|$.",
        {"part": "norm"},
    ),
    correction=Form(
        r"For Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, the numerator of the stable "
        r"rank is $\|H_N\|_F^2 = \sigma^2s_N^2R\,(1 + o(1))$, beside which $\sum_j\theta_j^2$ stays as it is. $N_u$ "
        r"and $N_l$ are no finite numbers: every fixed $i > p$ counts in $N_u$, and counted from below every fixed $i "
        r"\ge q$ in $N_l$ (eq. 29), while the indices that make up the norm lie inside the bulk, with the mean square "
        r"$\sigma^2s_N^2$ of the semicircle and not $U_N^2 = 4\sigma^2s_N^2$.",
        {"bulk": 1.0},
        mutants=({"bulk": 0.0}, {"bulk": 1.05}, {"bulk": 0.95}),
    ),
    uses=("fedloru-v2/eq-29", "fedloru-v2/prop-3.1-bulk"),
    kind="definition",
    because="$N_u$, $N_l$ are infinite: every fixed index beyond the outliers tends to an edge; the rest has mean "
    r"square $\sigma^2s_N^2$.",
    expect=("corrected", "proof"),
)
def eq_36(data: dict[str, Ranks], bulk: float = 4.0, part: str = "numerator") -> Evidence:
    """The squared Frobenius norm over R."""
    return _judge_ratio(data, part, bulk)


@claim(
    "fedloru-v2/eq-36-conv",
    where="Appendix A.4, after eq. (36)",
    says=r"By Proposition 3.1, $|\mathrm{srank}(H_N) - \widehat{\mathrm{srank}}(H_N)| \to 0$ and "
    r"$|\mathrm{srank}(H_M) - \widehat{\mathrm{srank}}(H_M)| \to 0$.",
    measure=measure_ranks,
    control=Form(
        r"For Gaussian noise and $|\theta_0| \ge \sigma s_N$: $\|H_N\|_2 \to |g_N^{-1}(\theta_0)|$.", {"part": "norm"}
    ),
    correction=Form(
        "For Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, $\\mathrm{srank}(H_N)/R \\to "
        r"\sigma^2s_N^2/g_N^{-1}(\theta_0)^2$ for $|\theta_0| > \sigma s_N$ (and 1/4 otherwise): the stable rank grows "
        "in proportion to R.",
        {"bulk": 1.0},
        mutants=({"bulk": 0.0}, {"bulk": 1.05}, {"bulk": 0.95}),
    ),
    uses=("fedloru-v2/eq-36", "fedloru-v2/prop-3.1"),
    because="The stable rank grows in proportion to R, by the mean square of the bulk, which is a quarter of $U_N^2$.",
    expect=("corrected", "proof"),
)
def eq_36_conv(data: dict[str, Ranks], bulk: float = 4.0, part: str = "stable rank") -> Evidence:
    """The stable rank over R."""
    return _judge_ratio(data, part, bulk)


def printed_bound(sizes: Sizes) -> float:
    r"""Right side of eq. 4 over R, with $B_N$ = R minus the number of outliers (all spikes, by the printed sets)."""
    theta, client, server = sizes.theta_0, sizes.client, sizes.server
    below = (wigner_outlier(theta, client) * wigner_outlier(theta, server)) ** 2
    pairs = sum(8.0 * NOISE_SIGMA**2 * client * server * abs(theta / t - t / theta) for t in sizes.spikes)
    counted = 4.0 * NOISE_SIGMA**2 * (R - len(sizes.spikes)) * (theta**2 - (client * server / theta) ** 2)
    return (client**2 - server**2) / NOISE_SIGMA**2 / below * (pairs + counted) / R


def expected_gap(sizes: Sizes, bulk: float) -> float:
    """Difference of the stable ranks over R, for a mean square of the bulk as in ``expected_ratio``."""
    if bulk == 1.0:
        return stable_rank_gap(sizes.model(sizes.client), sizes.model(sizes.server), R) / R
    ratios = [expected_ratio(sizes, noise, "stable rank", bulk) for noise in (sizes.client, sizes.server)]
    return ratios[0] - ratios[1]


@claim(
    "fedloru-v2/eq-37",
    where="Appendix A.4, eq. (37)",
    says=r"$|(\mathrm{srank}(H_M) - \mathrm{srank}(H_N)) - (\widehat{\mathrm{srank}}(H_M) - "
    r"\widehat{\mathrm{srank}}(H_N))| \to 0$.",
    measure=measure_ranks,
    control=Form(
        r"The sign: for Gaussian noise, $\theta_0^2 \ge \sigma^2s_M^2$ and large R both differences are positive, the "
        "one of the estimates with all indices beside the spikes in its counts.",
        {"sign_only": True},
    ),
    correction=Form(
        r"For Gaussian noise, in probability for Wigner matrices as in prop-3.1-dist, and $\theta_0^2 \ge "
        r"\sigma^2s_M^2$: $(\mathrm{srank}(H_M) - \mathrm{srank}(H_N))/R \to \sigma^2\left(s_M^2/g_M^{-1}(\theta_0)^2 "
        r"- s_N^2/g_N^{-1}(\theta_0)^2\right)$: the difference grows in proportion to R.",
        {"bulk": 1.0},
        mutants=({"bulk": 0.0}, {"bulk": 1.1}, {"bulk": 0.9}),
    ),
    uses=("fedloru-v2/eq-36-conv",),
    because=r"For $\theta_0^2 \ge \sigma^2s_M^2$ both grow in proportion to R, the stable ranks' with a quarter of the "
    "printed factor.",
    expect=("corrected", "proof"),
)
def eq_37(data: dict[str, Ranks], bulk: float = 4.0, sign_only: bool = False) -> Evidence:
    """The difference of stable ranks over R."""
    predicted = {name: expected_gap(sizes, bulk) for name, sizes in ABOVE.items()}
    ladders = {name: data[name].gaps() / R for name in ABOVE}
    if sign_only:
        predicted = {name: float(np.sign(value)) for name, value in predicted.items()}
        ladders = {name: np.sign(gaps) for name, gaps in ladders.items()}
    return judge_limit(
        {name: Ladder(((R, gaps),), SETTLED) for name, gaps in ladders.items()},
        predicted,
        scope="spikes of both signs, above and below the thresholds, theta_0^2 >= sigma^2 s_M^2, independent noise",
        settings={name: sizes.numbers() for name, sizes in ABOVE.items()},
    )


@dataclass(frozen=True)
class Theorem:
    """Stable ranks of the Hessians themselves, and exact instances of the estimates of eq. (36)."""

    ranks: dict[str, Ranks]
    instances: list[Instance]


def measure_theorem(context: Context) -> Theorem:
    """Both."""
    return Theorem(measure_ranks(context), draw_instances(context))


@claim(
    "fedloru-v2/thm-3.2",
    where="Section 3.1, Theorem 3.2, eq. (4), and Appendix A.4, eq. (45); that the lower bound decreases with M, the "
    "last sentence of both, is fedloru-v2/thm-3.2-mono",
    says=r"With $\theta_0 = \theta_1 1\{|\theta_1| \ge |\theta_{p+q}|\} + \theta_{p+q} 1\{|\theta_1| < "
    r"|\theta_{p+q}|\}$ and $\theta_0^2 \ge \sigma^2s_M^2$, the difference in the limiting stable rank, as $R \to "
    r"\infty$, between $H_N$ and $H_M$ is positive and bounded below: $\widehat{\mathrm{srank}}(H_M) - "
    r"\widehat{\mathrm{srank}}(H_N) \ge \frac{s_M^2 - s_N^2}{g_M^{-1}(\theta_0)^2g_N^{-1}(\theta_0)^2}\left[\sum_{j "
    r"\in \mathcal{P}_N \cup \mathcal{Q}_N}8\sigma^4s_Ms_N\left|\frac{\theta_0}{\theta_j} - "
    r"\frac{\theta_j}{\theta_0}\right| + 4\sigma^2B_N\left(\theta_0^2 - "
    r"\frac{\sigma^4s_M^2s_N^2}{\theta_0^2}\right)\right]$, where $B_N = |\{i : \lambda_i(H_N) \to U_N \text{ or } "
    r"L_N\}|$, $\mathcal{P}_N = \{i \le p : g_N^{-1}(\theta_i) > U_N\}$ and $\mathcal{Q}_N = \{i > p : "
    r"g_N^{-1}(\theta_i) < L_N\}$.",
    measure=measure_theorem,
    mutants=[{"second": 4.05}, {"first": 16.0}],
    readings=(
        Reading(
            "stable ranks of the Hessians",
            r"For large R, $\mathrm{srank}(H_M) - \mathrm{srank}(H_N)$ is positive and at least the right side of "
            r"(4), with all indices in $B_N$ that are not in $\mathcal{P}_N \cup \mathcal{Q}_N$.",
            why="The theorem speaks of the difference in the limiting stable rank of the Hessians, (37) equates it "
            "with that of the estimates, and by Proposition 3.1 all other eigenvalues tend to $U_N$ or $L_N$.",
        ),
        Reading(
            "estimates, sets by condition",
            r"Between the estimates (36) with finite counts, $N_u + N_l = B_N \ge 1$ and as many indices at M as at "
            r"N: $\widehat{\mathrm{srank}}(H_M) - \widehat{\mathrm{srank}}(H_N)$ is positive and at least the right "
            r"side of (4), $\mathcal{P}_N = \{i \le p : g_N^{-1}(\theta_i) > U_N\}$ and its likes.",
            {"form": "estimates"},
            "The displayed inequality is one between the estimates, which (36) defines with counts; the proof matches "
            "the indices at M and at N, and the theorem prints these sets. Finite counts are taken as given here; "
            "the model has none, see (36).",
        ),
        Reading(
            "estimates, sets by limit",
            r"The same with $\mathcal{P}_N = \{i \le p : \lambda_i(H_N) \to g_N^{-1}(\theta_i)\}$ and its likes.",
            {"form": "estimates", "sets": "limit"},
            "Appendix A.4 prints these sets as equal to those of the theorem, and counts the others at the edges.",
        ),
    ),
    correction=Form(
        "For Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, the difference of the stable "
        r"ranks is positive for large R and grows in proportion to R, for every $|\theta_0| > \sigma s_N$ (also "
        r"between $\sigma s_N$ and $\sigma s_M$): over R it tends to $\sigma^2\left(\frac{s_M^2}{\lambda_M^2} - "
        r"\frac{s_N^2}{\lambda_N^2}\right) > 0$ with $\lambda = \theta_0 + \sigma^2s^2/\theta_0$ for $|\theta_0| > "
        r"\sigma s$, else $2\sigma s$ ($s/\lambda$ increases with s up to $\sigma s = |\theta_0|$, and stays). The "
        r"printed bound over R is four times that for $\theta_0^2 \ge \sigma^2s_M^2$; with any fixed finite number for "
        "$B_N$ it would hold for large R, since the left side is unbounded.",
        {"form": "limit"},
        mutants=({"bulk": 0.0}, {"bulk": 1.1}, {"bulk": 0.9}),
    ),
    vary=("first", "second"),
    best={
        "first": Best(8.0, r"proved: attained in the limit of $\theta_j, \theta_0 \to \sigma s_M$ and $s_N \to s_M$")
    },
    hypotheses=(Dropped(r"$\theta_0^2 \ge \sigma^2s_M^2$", {"assumption": False}),),
    uses=("fedloru-v2/eq-37", "fedloru-v2/eq-40", "fedloru-v2/eq-43"),
    also=("fedloru-v2/eq-45",),
    importance="result",
    because=r"Eigenvalues inside the bulk carry the stable rank, with mean square $\sigma^2s_N^2$; the bound counts "
    r"each with $4\sigma^2s_N^2$.",
    expect=("depends on the reading", "proof"),
    seen_in=("hessian/predictions", "fedloru/fig-1"),
)
def thm_3_2(
    data: Theorem,
    form: str = "bound",
    bulk: float = 1.0,
    sets: Sets = "condition",
    first: float = 8.0,
    second: float = 4.0,
    assumption: bool = True,
) -> Evidence:
    """The difference over R against the printed bound from below, or the limit; or that of the estimates (36)."""
    if form == "estimates":
        return judge_estimates(data.instances, sets, first, second, assumption)
    settings = ABOVE if form == "bound" else ABOVE | BETWEEN
    predicted = {
        name: printed_bound(sizes) if form == "bound" else expected_gap(sizes, bulk) for name, sizes in settings.items()
    }
    gaps = {name: data.ranks[name].gaps() / R for name in settings}
    smallest = min(float(np.mean(values)) for values in gaps.values())
    if form == "bound":  # what exceeds a lower bound satisfies it
        gaps = {name: np.minimum(values, predicted[name]) for name, values in gaps.items()}
    return judge_limit(
        {name: Ladder(((R, values),), SETTLED) for name, values in gaps.items()},
        predicted,
        scope=f"{', '.join(settings)}; spikes of both signs, independent noise; the smallest difference is "
        f"{smallest:.3g} R",
        settings={name: sizes.numbers() for name, sizes in settings.items()},
    )
