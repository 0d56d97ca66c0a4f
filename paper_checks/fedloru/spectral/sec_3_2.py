"""Section 3.2: the overlap of an outlier's eigenvector (eq. (5)), and the eigenvectors of the bulk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paper_checks.claim import Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.spectra import UNIT_LAW, Spectra, limiting_overlap, measure_overlaps
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.dense import draw_dense
from rmt.spiked import SpikedModel


@claim(
    "fedloru-v2/eq-5",
    where="Section 3.2, eq. (5)",
    says=r"""For $i \in \mathcal{P}_N \cup \mathcal{Q}_N$, $u_i$ the unit eigenvector of $H_N$ that corresponds to
    $v_i$, and $j \in \mathcal{P}_N \cup \mathcal{Q}_N$ with $j \ne i$: $|\langle v_i, u_i\rangle|^2 \to 1 -
    \frac{\sigma^2 s_N^2}{\theta_i^2}$ and $|\langle v_j, u_i\rangle|^2 \to 0$.""",
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
        r"""Almost surely for Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, the limits
        hold for $|\theta_i| > \sigma s_N$. For $|\theta_i| < \sigma s_N$, which the printed sets contain as well, the
        overlap of the extreme eigenvector tends to 0 (the printed limit would be negative).""",
        {"everywhere": False},
        mutants=({"coefficient": 1.05}, {"power": 1.0}, {"squared": False}),
    ),
    uses=("fedloru-v2/prop-3.1",),
    importance="result",
    because=r"The condition $g_N^{-1}(\theta) > U_N$ puts spikes below $\sigma s_N$ into the sets, for which the "
    "printed limit is negative.",
    hypotheses=(Dropped(r"$|\theta_i| > \sigma s_N$", {"supercritical_only": False}),),
    expect=("holds", "proof"),
    intended=Intended(
        "sets by limit",
        "A.4 sets $P_N$ = “{i ≤ p : g_N^{-1}(θ_i) > U_N} = {i ≤ p : λ_i(H_N^R) → g_N^{-1}(θ_i)}”; (5) is about "
        "outliers, after benaych2011; the two sets differ",
    ),
    print="inconsistent",
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
class Pairs:
    """Ladders of the difference of server and client overlap, with spike, server noise and client noise of each.

    For the spike below both thresholds, where eq. (5) has no root, they are of the difference of the squared overlaps.
    """

    ladders: dict[str, Ladder]
    settings: dict[str, tuple[float, float, float]]


BELOW = 0.25  # a spike below the threshold of the server's noise, 1/2


def measure_pairs(context: Context) -> Pairs:
    """Measure overlaps of one spike at two sample sizes; the client may have lost its outlier."""
    ladders, settings = {}, {}
    server_noise = 0.5
    for theta in (0.6, 1.0, -2.5, BELOW):
        for client_noise in (0.55, 0.95, 2.0) if theta != BELOW else (0.95,):
            name = f"theta = {theta:g}, sigma s_N = {server_noise:g}, sigma s_M = {client_noise:g}"
            rng, rungs = context.rng(name), []
            for R in (10**5, 10**7):  # an overlap that is lost vanishes like the inverse root of R
                found = []
                for _ in range(context.size(40, 80)):
                    overlaps = []
                    for noise in (server_noise, client_noise):
                        model = SpikedModel((theta,), Semicircle(4.0), noise / 4.0)
                        draw = draw_banded(model, R, rng, top=int(theta > 0), bottom=int(theta < 0))
                        overlaps.append((draw.top_overlaps(1) if theta > 0 else draw.bottom_overlaps(1))[1][0, 0])
                    found.append(np.subtract(*(overlaps if theta == BELOW else np.sqrt(overlaps))))
                rungs.append((R, np.array(found)))
            ladders[name] = Ladder(tuple(rungs))
            settings[name] = (theta, server_noise, client_noise)
    return Pairs(ladders, settings)


@claim(
    "fedloru-v2/claim-overlap-mono",
    where="Section 3.2, after eq. (5)",
    says=r"""In (5), for $i \in \mathcal{P}_N \cup \mathcal{Q}_N$: when N is small, $\langle v_i, u_i\rangle$
    remains farther from unity, and for a client with $M < N$ samples it becomes smaller than for one with the
    larger data set.""",
    measure=measure_pairs,
    readings=(
        Reading(
            "sets by limit",
            r"For noise for which (5) holds the limit of $|\langle v_i, u_i\rangle|$ is smaller at M than at N for "
            r"every i whose eigenvalue $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ leaves the bulk, $|\theta_i| > \sigma "
            "s_N$, whether or not it leaves that of M.",
            why="$u_i$ is the eigenvector that corresponds to $v_i$, and the paper says that the limiting eigenvectors "
            "lie in a cone around the true ones. We prove eq. (5), on which it depends, for Gaussian noise and Wigner "
            "matrices.",
        ),
        Reading(
            "sets by condition",
            r"The same for every i with $g_N^{-1}(\theta_i) > U_N$, or $< L_N$.",
            {"below": True},
            "Theorem 3.2 defines the sets so.",
        ),
    ),
    because=r"The printed condition also holds for spikes below $\sigma s_N$, but their overlaps all tend to 0.",
    mutants=[{"sign": -1}, {"coefficient": 1.1}, {"lost": 0.2}],
    uses=("fedloru-v2/eq-5",),
    expect=("holds", "proof"),
    intended=Intended(
        "sets by limit",
        "“each limiting eigenvector … lies in a cone around the corresponding eigenvector” (Section 3.2): "
        "eigenvectors of outliers, as in (5); A.4 has P_N = “{i ≤ p : g_N^{-1}(θ_i) > U_N} = {i ≤ p : λ_i(H_N^R) → "
        "g_N^{-1}(θ_i)}”, and the two sets differ",
    ),
    print="inconsistent",
    seen_in=("hessian/fmnist-exact", "hessian/alignment"),
)
def claim_overlap_mono(
    data: Pairs, coefficient: float = 1.0, sign: int = 1, lost: float = 0.0, below: bool = False
) -> Evidence:
    """The difference of the two overlaps, which must be positive, against what eq. (5) gives for it.

    ``lost`` is the limit of a client's overlap that has no outlier left. For a spike that is one at neither size
    (``below``) the difference is between the squares, for which eq. (5) gives a number that is not 0.
    """
    kept = {name: ladder for name, ladder in data.ladders.items() if below or data.settings[name][0] != BELOW}

    def predict(coefficient: float, sign: float, lost: float) -> Predictions:
        found = {}
        for name in kept:
            theta, *noises = data.settings[name]
            squares = [1.0 - coefficient * (noise / theta) ** 2 for noise in noises]
            server, client = (square**0.5 if square > 0 else lost for square in squares)
            found[name] = sign * (server - client if theta != BELOW else squares[0] - squares[1])
        return found

    predicted = predict(coefficient, sign, lost)
    return judge_limit(
        kept,
        predicted,
        share=0.05,
        scope="differences of the overlaps at N and M for outliers at N, sigma s_M up to four times sigma s_N; the "
        f"smallest is {min(predicted.values()):.2g}"
        + ("; for the spike below both thresholds difference of the squared overlaps" if below else ""),
        settings={
            name: {"theta": str(theta), "sigma": "4", "s_N": str(server / 4), "s_M": str(client / 4)}
            for name, (theta, server, client) in data.settings.items()
        },
    )


THETA = 2.0  # in units of sigma s

MOMENTS = ("weighted mean of bulk eigenvalues", "weighted mean square of bulk eigenvalues")


def measure_bulk_weights(context: Context) -> dict[str, Ladder]:
    r"""Measure mean and mean square of the bulk eigenvalues, weighted by $|\langle w, v\rangle|^2$, at unit noise.

    The spike's direction v has the spectral moments $\langle v, Hv\rangle$ and $|Hv|^2$; without the part of its
    outlier they are the moments of the bulk.
    """
    model, ladders = SpikedModel((THETA,)), {}
    for law, R, draws in (("gaussian", 10**7, context.size(40, 120)), ("rademacher", 300, context.size(160, 400))):
        rng, found = context.rng(law), []
        for _ in range(draws):
            if law == "gaussian":
                draw = draw_banded(model, R, rng)
                values, overlaps = draw.top_overlaps(1)
                moments = draw.band[0, 0], draw.band[0, 0] ** 2 + draw.band[1, 0] ** 2
            else:
                dense = draw_dense(model, R, rng, entries=law, directions="spread")
                values, overlaps = dense.top_overlaps(1)
                image = dense.matrix @ dense.directions[:, 0]
                moments = float(dense.directions[:, 0] @ image), float(image @ image)
            outlier, weight = values[0], overlaps[0, 0]
            found.append([(m - weight * outlier**k) / (1.0 - weight) for k, m in enumerate(moments, start=1)])
        for index, name in enumerate(MOMENTS if law == "gaussian" else MOMENTS[:1]):
            ladders[f"{law}: {name}"] = Ladder(((R, np.array(found)[:, index]),), "moments of the band lack 1/R")
    return ladders


@claim(
    "fedloru-v2/assump-bulk",
    where="Section 3.2, before the gradient alignment, and Appendix A.5, proof of Lemma A.6",
    says="""The bulk eigenvectors are assumed to be random vectors residing in the subspace orthogonal to that spanned
    by the edge eigenvectors; the proof of Lemma A.6 takes them as uniformly distributed there.""",
    measure=measure_bulk_weights,
    control=Form(
        r"""Along a spike with $|\theta| > \sigma s_N$, Gaussian noise: uniform weights up to an error of
        $\sigma^4s_N^4/\theta^2$ in the weighted mean square, relative to $\sigma^2s_N^2$ one of
        $\sigma^2s_N^2/\theta^2$.""",
        {"lean": 1.0, "moments": MOMENTS[1:]},
    ),
    correction=Form(
        r"""They are random, and orthogonal to the eigenvectors of the outliers. For Gaussian noise with twice the
        variance on the diagonal, whose law no rotation changes, their component orthogonal to the spikes is uniform.
        Along the direction v of a spike with $|\theta| > \sigma s_N$ they are not: $|\langle w, v\rangle|^2$ leans
        towards the outlier, with density $\frac1R\frac{\sigma^2s_N^2}{\sigma^2s_N^2 + \theta^2 - \theta\lambda}$ at the
        eigenvalue $\lambda$ instead of $\frac1R\frac{\sigma^2s_N^2}{\theta^2}$, so the bulk eigenvalues weighted by it
        have the mean $\sigma^2s_N^2/\theta$ instead of 0 and the mean square $\sigma^2s_N^2(1 +
        \sigma^2s_N^2/\theta^2)$ instead of $\sigma^2s_N^2$.""",
        {"lean": 1.0},
        mutants=({"lean": 0.5}, {"lean": 1.5}, {"lean": -1.0}),
    ),
    uses=("fedloru-v2/eq-5",),
    kind="assumption",
    because="Along a spike's direction, the weights of the bulk eigenvectors are not uniform but lean towards the "
    "outlier.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "A.5: “chosen uniformly on the sphere in (U^(k₁))^⊥ and (U^(k₂))^⊥”; the model (1) itself gives another law "
        "along v_i",
    ),
)
def assump_bulk(ladders: dict[str, Ladder], lean: float = 0.0, moments: tuple[str, ...] = MOMENTS) -> Evidence:
    """How the weights of a spike's direction lean over the bulk: 0 for uniform ones, 1 for the spectral measure."""
    shares = (np.arange(4000) + 0.5) / 4000
    eigenvalues = UNIT_LAW.quantile(shares)
    density = THETA**2 / (1.0 + THETA**2 - THETA * eigenvalues)  # relative to uniform weights
    limits = dict(zip(MOMENTS, (float(np.mean(density * eigenvalues**k)) for k in (1, 2)), strict=True))
    uniform = dict(zip(MOMENTS, (0.0, 1.0), strict=True))

    def predict(lean: float, **_: Any) -> Predictions:
        return {
            f"{law}: {name}": (1.0 - lean) * uniform[name] + lean * limits[name]
            for law in ("gaussian", "rademacher")
            for name in moments
            if f"{law}: {name}" in ladders
        }

    predicted = predict(lean)
    return judge_limit(
        {name: ladders[name] for name in predicted},
        predicted,
        resolution=0.1,
        scope=f"one spike at {THETA:g} sigma s; Gaussian entries on a coordinate, and Rademacher entries, spread",
        settings={name: {"theta": THETA, "power": 1 + MOMENTS.index(name.split(": ")[1])} for name in predicted},
    )
