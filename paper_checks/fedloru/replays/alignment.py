"""Replays of the claims in ``alignment``, and the dense pair of clients that those of ``alignment_steps`` draw too."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.fedloru.replays.dense_draws import DENSE, Draw, hessian, limit_of_mean
from paper_checks.replay import Hypothesis, Violation, assuming, replay
from paper_checks.stored_values import Values


def cosines(values: Values, *ranks: int) -> Draw:
    """One draw: the mean cosine of two clients' gradients at a rank, minus that at a second one if there is one."""
    spikes, along = [float(x) for x in values["spikes"]], [float(x) for x in values["gradient"]]
    noise, spread, samples = float(values["noise"]), float(values["noise_square"]) ** 0.5, 100

    def draw(R: int, rng: np.random.Generator) -> float:
        common = np.zeros(R)
        common[: len(along)] = along
        kept = []
        for _ in range(2):
            eigenvalues, vectors = np.linalg.eigh(hessian(R, spikes, noise, rng))
            leading = vectors[:, np.argsort(-np.abs(eigenvalues))]
            gradients = common + spread * rng.normal(size=(samples, R))
            kept.append([(gradients @ leading[:, :r]) @ leading[:, :r].T for r in ranks])
        means = []
        for first, second in zip(*kept, strict=True):
            norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
            means.append(float(np.mean((first * second).sum(axis=1) / norms)))
        return means[0] - sum(means[1:])

    return draw


def printed_quotient(values: Values, rank: int) -> float:
    r"""The quotient of (54) and (57) with $\beta = 0$: $\alpha_i = \phi_i\gamma_i$ along eigenvectors by modulus."""
    noise = float(values["noise"])
    order = sorted(range(len(values["spikes"])), key=lambda i: -abs(values["spikes"][i]))
    overlaps = [1.0 - (noise / float(values["spikes"][i])) ** 2 for i in order]
    squares = [overlap * float(values["gradient"][i]) ** 2 for overlap, i in zip(overlaps, order, strict=True)]
    kept = min(rank, len(order))
    return sum(a * p for a, p in zip(squares[:kept], overlaps[:kept], strict=True)) / sum(squares[:kept])


def two_clients(values: Values) -> list[Hypothesis]:
    """Spikes that are all outliers, and a slope along each."""
    noise, spikes = Fraction(values["noise"]), [Fraction(spike) for spike in values["spikes"]]
    return [
        Hypothesis("sigma s_N", noise, ">", 0),
        Hypothesis("least |theta|, against sigma s_N", min(map(abs, spikes)), ">", noise),
        Hypothesis("slopes, against the number of spikes", len(values["gradient"]), "=", len(spikes)),
        Hypothesis("variance of the own errors", Fraction(values["noise_square"]), ">=", 0),
        Hypothesis("r", int(values["rank"]), ">=", 1),
    ]


@replay("fedloru-v2/thm-3.3")
def thm_3_3(values: Values) -> Violation:
    """The difference of cosines at two ranks for dense clients, against the printed g(r)."""
    rank = int(values["rank"])
    assumes = assuming(*two_clients(values), Hypothesis("r, against the outliers", rank, "<", len(values["spikes"])))
    mean, error = limit_of_mean(cosines(values, rank, rank + 1), 60, 3000, 33)
    printed = printed_quotient(values, rank) - printed_quotient(values, rank + 1)
    reads = f"|E(C_r - C_r+1) - g(r)|, r = {rank}, measured {mean:.3g} against {printed:.3g}"
    return Violation(abs(mean - printed), 0.0, error, sampled=DENSE, assumes=assumes,
                     reads=reads)  # fmt: skip
