"""Section 3.2 and Appendix A.5: what is assumed and shown about eigenvectors (Assumption A.5, Lemma A.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paper_checks.claim import Best, Dropped, Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.eigenvalues import Spectra, limiting_overlap, measure_overlaps
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit
from rmt.alignment import ClientGradients, TwoClients, draw_two_clients
from rmt.banded import draw_banded
from rmt.closed_laws import Semicircle
from rmt.dense import draw_dense
from rmt.spiked import SpikedModel


def outlier_overlaps(context: Context) -> Spectra:
    """Own overlaps of the spikes that leave the bulk, not squared."""
    measured = measure_overlaps(context)
    kept = {name: pair for name, pair in measured.spikes.items() if abs(pair[1]) > pair[0].noise}
    ladders = {name: Ladder(tuple((R, np.sqrt(draws)) for R, draws in measured.ladders[name].rungs)) for name in kept}
    return Spectra(ladders, kept)


@claim(
    "fedloru-v2/def-phi",
    where="Appendix A.5, after Assumption A.5",
    says=r"Define $\phi_i = \sqrt{1 - \frac{\sigma^2s_N^2}{\theta_i^2}}$, and note that $|\langle v_i, "
    r"u_i^{(k)}\rangle| \to \phi_i^2$ by (5).",
    measure=outlier_overlaps,
    control=Form(
        r"Eq. (5) itself for Gaussian noise and $|\theta_i| > \sigma s_N$: the square tends to $\phi_i^2$.",
        {"power": 1.0},
    ),
    correction=Form(
        r"$|\langle v_i, u_i^{(k)}\rangle| \to \phi_i$, so that $|\langle v_i, u_i^{(k)}\rangle|^2 \to \phi_i^2$: what "
        r"eq. (5) says and the proof of Lemma A.6 uses. For $|\theta_i| > \sigma s_N$ and noise for which (5) holds.",
        {"power": 1.0},
        mutants=({"power": 1.5}, {"coefficient": 1.05}),
    ),
    kind="definition",
    uses=("fedloru-v2/eq-5",),
    importance="detail",
    because=r"Eq. (5) gives $\phi_i^2$ as the limit of the square of the overlap, not of the overlap.",
    expect=("corrected", "proof"),
)
def def_phi(data: Spectra, power: float = 2.0, coefficient: float = 1.0) -> Evidence:
    """Overlaps of outliers of either sign, near the threshold and far from it, alone and together."""

    def predict(power: float, coefficient: float) -> Predictions:
        return {
            name: limiting_overlap(setting, theta, False, coefficient, 2.0, True) ** (power / 2.0)
            for name, (setting, theta) in data.spikes.items()
        }

    return judge_limit(
        data.ladders,
        predict(power, coefficient),
        scope="spikes above the threshold, of either sign, Gaussian noise",
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
    """Overlaps of one spike at two sample sizes; the client may have lost its outlier."""
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
    says=r"In (5), for $i \in \mathcal{P}_N \cup \mathcal{Q}_N$: when N is small, $\langle v_i, u_i\rangle$ remains "
    "farther from unity, and for a client with $M < N$ samples it becomes smaller than for one with the larger data "
    "set.",
    measure=measure_pairs,
    readings=(
        Reading(
            "sets by limit",
            r"For noise for which (5) holds the limit of $|\langle v_i, u_i\rangle|$ is smaller at M than at N for "
            r"every i whose eigenvalue $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$ leaves the bulk, $|\theta_i| > \sigma "
            "s_N$, whether or not it leaves that of M.",
            why="$u_i$ is the eigenvector that corresponds to $v_i$, and the limiting eigenvectors are said to lie in "
            "a cone around theirs. Eq. (5), on which it rests, is proved for Gaussian noise and Wigner matrices.",
        ),
        Reading(
            "sets by condition",
            r"The same for every i with $g_N^{-1}(\theta_i) > U_N$, or $< L_N$.",
            {"below": True},
            "Theorem 3.2 defines the sets so.",
        ),
    ),
    because=r"The printed condition holds for spikes below $\sigma s_N$ as well, whose overlaps all tend to 0.",
    mutants=[{"sign": -1}, {"coefficient": 1.1}, {"lost": 0.2}],
    uses=("fedloru-v2/eq-5",),
    expect=("depends on the reading", "proof"),
    seen_in=("hessian/fmnist-exact", "hessian/alignment"),
)
def claim_overlap_mono(
    data: Pairs, coefficient: float = 1.0, sign: int = 1, lost: float = 0.0, below: bool = False
) -> Evidence:
    """The difference of the two overlaps, which must be positive, against what eq. (5) gives for it.

    ``lost`` is the limit of a client's overlap that has no outlier left. For a spike that is one at neither size
    (``below``) the difference is that of the squares, for which eq. (5) gives a number that is not 0.
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
_UNIT = Semicircle(1.0)


def measure_bulk_weights(context: Context) -> dict[str, Ladder]:
    r"""Mean and mean square of the bulk eigenvalues, weighted by $|\langle w, v\rangle|^2$, at unit noise.

    The spike's direction v has the spectral moments $\langle v, Hv\rangle$ and $|Hv|^2$; without the part of its
    outlier they are those of the bulk.
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
    says="The bulk eigenvectors are assumed to be random vectors residing in the subspace orthogonal to that "
    "spanned by the edge eigenvectors; the proof of Lemma A.6 takes them as uniformly distributed there.",
    measure=measure_bulk_weights,
    control=Form(
        r"Along a spike with $|\theta| > \sigma s_N$, Gaussian noise: uniform weights up to an error of "
        r"$\sigma^4s_N^4/\theta^2$ in the weighted mean square, relative to $\sigma^2s_N^2$ one of "
        r"$\sigma^2s_N^2/\theta^2$.",
        {"lean": 1.0, "moments": MOMENTS[1:]},
    ),
    correction=Form(
        "They are random, and orthogonal to the eigenvectors of the outliers. For Gaussian noise with twice the "
        "variance on the diagonal, whose law no rotation changes, their component orthogonal to the spikes is "
        r"uniform. Along the direction v of a spike with $|\theta| > \sigma s_N$ they are not: $|\langle w, "
        r"v\rangle|^2$ leans towards the outlier, with density $\frac1R\frac{\sigma^2s_N^2}{\sigma^2s_N^2 + \theta^2 - "
        r"\theta\lambda}$ at the eigenvalue $\lambda$ instead of $\frac1R\frac{\sigma^2s_N^2}{\theta^2}$, so that the "
        r"bulk eigenvalues weighted by it have the mean $\sigma^2s_N^2/\theta$ instead of 0 and the mean square "
        r"$\sigma^2s_N^2(1 + \sigma^2s_N^2/\theta^2)$ instead of $\sigma^2s_N^2$.",
        {"lean": 1.0},
        mutants=({"lean": 0.5}, {"lean": 1.5}, {"lean": -1.0}),
    ),
    uses=("fedloru-v2/eq-5",),
    kind="assumption",
    because="Along the direction of a spike the weights of bulk eigenvectors are not uniform: they lean towards the "
    "outlier.",
    expect=("corrected", "proof"),
)
def assump_bulk(ladders: dict[str, Ladder], lean: float = 0.0, moments: tuple[str, ...] = MOMENTS) -> Evidence:
    """How the weights of a spike's direction lean over the bulk: 0 for uniform ones, 1 for the spectral measure."""
    shares = (np.arange(4000) + 0.5) / 4000
    eigenvalues = _UNIT.quantile(shares)
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


NOISE = 0.5  # sigma s of both clients below
CLIENTS = SpikedModel((1.5, 1.0, -0.75), Semicircle(2.0), NOISE / 2.0)
GRADIENTS = ClientGradients((1.0, 0.5, 2.0), elsewhere=0.3, noise_square=1.0)
OUTLIERS, KEPT = 3, 5  # eigenvectors u_1..u_3, and the first two of the bulk


def draw_pairs_of_clients(context: Context) -> list[TwoClients]:
    """Independent pairs of clients at R = 20,000."""
    rng = context.rng("clients")
    return [draw_two_clients(CLIENTS, 20_000, rng, KEPT) for _ in range(context.size(32, 120))]


def measure_inner_products(context: Context) -> dict[str, Ladder]:
    """Inner products of leading eigenvectors of two clients, each oriented towards its nearest spike."""
    clients = draw_pairs_of_clients(context)
    table = np.array([pair.oriented().inner for pair in clients])
    return {
        f"<{_name(i)}, {_name(j)}'>": Ladder(((clients[0].R, table[:, i, j]),), "spikes are far from their thresholds")
        for i in range(KEPT)
        for j in range(i, KEPT)
    }


def _name(index: int) -> str:
    return f"u_{index + 1}" if index < OUTLIERS else f"w_{index + 1 - OUTLIERS}"


def inner_products(power: float, cross: float, agreement: float) -> Predictions:
    r"""Limits $\phi_i\phi_j 1\{i = j\}$ of Lemma A.6 for all pairs of leading eigenvectors.

    ``cross`` stands for the limit at different or bulk eigenvectors, ``agreement`` for the expected product of the two
    clients' orientations: 1 towards the spike, 0 where signs are arbitrary.
    """
    found = {}
    for i in range(KEPT):
        for j in range(i, KEPT):
            own = i == j and i < OUTLIERS
            overlap = sorted(CLIENTS.outliers, key=lambda o: -abs(o.location))[i].overlap if own else 0.0
            found[f"<{_name(i)}, {_name(j)}'>"] = agreement * overlap ** (power / 2.0) if own else cross
    return found


@claim(
    "fedloru-v2/lem-A.6",
    where="Appendix A.5, Lemma A.6, eqs. (46) to (48)",
    says=r"Let $\phi_i^{(k)}$ be the angle between $v_i$ and $u_i^{(k)}$; by (5), $\phi_i^{(k)} \to \phi_i$. Using "
    r"this, $u_i^{(k)} = \phi_i^{(k)}v_i + \sqrt{1 - (\phi_i^{(k)})^2}\,r_i^{(k)}$, $r_i^{(k)}$ random and orthogonal "
    r"to $v_i$ ((46), and (47) for j), $\langle u_i^{(k_1)}, u_j^{(k_2)}\rangle = \langle\phi_i^{(k_1)}v_i, "
    r"\phi_j^{(k_2)}v_j\rangle + \langle\phi_i^{(k_1)}v_i, \sqrt{1 - (\phi_j^{(k_2)})^2}\,r_j^{(k_2)}\rangle + "
    r"\langle\sqrt{1 - (\phi_i^{(k_1)})^2}\,r_i^{(k_1)}, \phi_j^{(k_2)}v_j\rangle + \langle\sqrt{1 - "
    r"(\phi_i^{(k_1)})^2}\,r_i^{(k_1)}, \sqrt{1 - (\phi_j^{(k_2)})^2}\,r_j^{(k_2)}\rangle$ (48), where the parts with "
    r"an r average to zero: for any $k_1 \ne k_2$, i, j, $E\langle u_i^{(k_1)}, u_j^{(k_2)}\rangle \to \phi_i\phi_j "
    r"1\{i=j\}$, $E\langle w_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$, $E\langle u_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$.",
    measure=measure_inner_products,
    readings=(
        Reading(
            "the angle itself",
            r"The angle between $v_i$ and $u_i^{(k)}$, in radians, tends to $\phi_i$, so that its cosine, the "
            r"coefficient of $v_i$ in $u_i^{(k)}$, tends to $\cos(\phi_i)$ and $E\langle u_i^{(k_1)}, "
            r"u_i^{(k_2)}\rangle$ to $\cos^2(\phi_i)$; the other limits are 0.",
            why="The proof calls it the angle.",
        ),
        Reading(
            "its cosine, with Gaussian noise",
            r"With $\phi_i^{(k)}$ the cosine of that angle, the three limits for independent clients, Gaussian noise "
            "(for the $w_i$ of the model with twice the variance on the diagonal; for $w_i$ that are uniform, as the "
            "proof takes them, any Gaussian noise) and $u_i$ of outliers; for other noise see prop-3.1-dist and eq-5.",
            {"angle": "its cosine"},
            "(46) has it as the coefficient of $v_i$, and (5) the limit of its square. The proof takes the $r_i$ and "
            "$w_i$ as uniformly distributed and speaks of rotational symmetry, which of all Wigner matrices the "
            "Gaussian ones have.",
            ({"power": 1.0}, {"power": 4.0}, {"cross": 0.1}),
        ),
    ),
    mutants=[],
    hypotheses=(Dropped(r"$u_i^{(k)}$ oriented towards $v_i$ (eqs. 46 and 47)", {"agreement": 0}),),
    uses=("fedloru-v2/eq-5", "fedloru-v2/def-phi"),
    best={"power": Best(2.0, r"proved: the limit is $\phi_i^2$ for $i = j$, 0 else")},
    because=r"Eq. (5) gives $\phi_i$ as the limit of the cosine, and (46) needs the cosine: the angle tends to "
    r"$\arccos(\phi_i)$.",
    expect=("depends on the reading", "proof"),
)
def lem_A_6(
    ladders: dict[str, Ladder], angle: str = "itself", power: float = 2.0, cross: float = 0.0, agreement: int = 1
) -> Evidence:
    """All pairs of three outliers and two bulk eigenvectors."""
    predicted = dict(inner_products(power, cross, agreement))
    if angle == "itself":
        predicted |= {f"<u_{i}, u_{i}'>": float(np.cos(predicted[f"<u_{i}, u_{i}'>"] ** 0.5) ** 2) for i in (1, 2, 3)}
    return judge_limit(
        ladders,
        predicted,
        resolution=0.02,
        scope="two independent clients, spikes at 3, 2 and -1.5 sigma s, the two leading bulk eigenvectors; each "
        "eigenvector oriented towards its nearest spike, since with arbitrary signs every expectation is 0",
    )


@claim(
    "fedloru-v2/eq-49-50",
    where="Appendix A.5, eqs. (49) and (50); that the $w_i$ are uniform, a premise here, is judged in "
    "fedloru-v2/assump-bulk",
    says=r"$w_i^{(k_1)}$ and $w_j^{(k_2)}$ are independent, uniform on the spheres in $(U^{(k_1)})^\perp$ and "
    r"$(U^{(k_2)})^\perp$; by rotational symmetry $E\langle w_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$ (49), and since "
    r"$w_i^{(k_1)} \perp U_N^{(k_1)}$, $u_j^{(k_2)} \in "
    r"U_N^{(k_2)}$, $E\langle u_i^{(k_1)}, w_j^{(k_2)}\rangle \to 0$ (50).",
    measure=measure_inner_products,
    readings=(
        Reading(
            "Gaussian noise",
            "With the premise, both limits for any noise. Without it, for the bulk eigenvectors of the model, which "
            "are not uniform, both limits for independent clients and Gaussian noise with twice the variance on the "
            "diagonal, whose law no rotation changes.",
            why="The lines appeal to rotational symmetry, which the premise states and of all Wigner matrices the "
            "Gaussian ones have.",
        ),
    ),
    mutants=[{"bulk": 0.05}, {"mixed": 0.05}, {"bulk": -0.05}],
    expect=("holds", "proof"),
)
def eq_49_50(ladders: dict[str, Ladder], bulk: float = 0.0, mixed: float = 0.0) -> Evidence:
    """Inner products with bulk eigenvectors."""
    kept = {name: ladder for name, ladder in ladders.items() if "w" in name}

    def predict(bulk: float, mixed: float) -> Predictions:
        return {name: mixed if "u" in name else bulk for name in kept}

    return judge_limit(
        kept,
        predict(bulk, mixed),
        resolution=0.02,
        scope="two independent clients, three outliers and the two leading bulk eigenvectors of each, oriented towards "
        "the spikes",
    )
