"""Replays of the claims in ``alignment``, and the dense pair of clients that those of ``alignment_steps`` draw too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


def dense_clients(values: Values, ranks: int, draws: int, seed: int) -> NDArray[np.float64]:
    """Cosine and product of norms at each rank, shape ``(draws, 2, ranks)``: dense matrices, gradients as vectors."""
    spikes, gradient = [float(x) for x in values["spikes"]], [float(x) for x in values["gradient"]]
    noise, spread = float(values["noise"]), float(values["noise_square"]) ** 0.5
    R, samples, rng = 120, 100, np.random.default_rng(seed)
    common = np.zeros(R)
    common[: len(gradient)] = gradient
    found = []
    for _ in range(draws):
        kept = []
        for _ in range(2):
            square = rng.normal(0.0, noise, (R, R))
            hessian = (square + square.T) / np.sqrt(2.0 * R)
            hessian[range(len(spikes)), range(len(spikes))] += spikes
            eigenvalues, vectors = np.linalg.eigh(hessian)
            leading = vectors[:, np.argsort(-np.abs(eigenvalues))[:ranks]]
            gradients = common + spread * rng.normal(size=(samples, R))
            kept.append([(gradients @ leading[:, :r]) @ leading[:, :r].T for r in range(1, ranks + 1)])
        row = []
        for first, second in zip(*kept, strict=True):
            norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
            row.append((np.mean((first * second).sum(axis=1) / norms), np.mean(norms)))
        found.append(row)
    return np.array(found).transpose(0, 2, 1)


def printed_quotient(values: Values, rank: int) -> float:
    r"""The quotient of (54) and (57) with $\beta = 0$: $\alpha_i = \phi_i\gamma_i$ along eigenvectors by modulus."""
    noise = float(values["noise"])
    order = sorted(range(len(values["spikes"])), key=lambda i: -abs(values["spikes"][i]))
    overlaps = [1.0 - (noise / float(values["spikes"][i])) ** 2 for i in order]
    squares = [overlap * float(values["gradient"][i]) ** 2 for overlap, i in zip(overlaps, order, strict=True)]
    kept = min(rank, len(order))
    return sum(a * p for a, p in zip(squares[:kept], overlaps[:kept], strict=True)) / sum(squares[:kept])


def unmet(values: Values) -> str:
    """Spikes that are all outliers, as r below their number asks."""
    above = all(abs(float(spike)) > float(values["noise"]) > 0 for spike in values["spikes"])
    return "" if above and float(values["noise_square"]) >= 0 else "spikes above the threshold"


def mean_and_error(draws: NDArray[np.float64], bias: float) -> tuple[float, float]:
    """Mean, and seven standard errors plus a bound on the bias of the small dimension."""
    return float(np.mean(draws)), 7.0 * float(np.std(draws, ddof=1)) / len(draws) ** 0.5 + bias


@replay("fedloru-v2/thm-3.3")
def thm_3_3(values: Values) -> Violation:
    """The difference of cosines at two ranks for dense clients, against the printed g(r)."""
    rank = int(values["rank"])
    cosines = dense_clients(values, rank + 1, 300, 33)[:, 0]
    mean, error = mean_and_error(cosines[:, rank - 1] - cosines[:, rank], 0.05)
    printed = printed_quotient(values, rank) - printed_quotient(values, rank + 1)
    reads = f"|E(C_r - C_r+1) - g(r)|, r = {rank}, measured {mean:.3g} against {printed:.3g}"
    return Violation(abs(mean - printed), 0.0, error, exact=False, unmet=unmet(values), reads=reads)
