r"""What a smaller sample does to a spiked Hessian: the stable-rank gap and the alignment of low-rank gradients.

Source: FedLoRU v2, Theorems 3.2 and 3.3, in the forms that hold at finite dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from rmt.spiked import SpikedModel


def stable_rank_gap(client: SpikedModel, server: SpikedModel, R: int) -> float:
    r"""Difference of the stable ranks of client and server at dimension R.

    Both stable ranks grow like R, so the gap does: above the threshold
    $\mathrm{gap}/R \to \sigma^2 \left(s_M^2/\lambda_M^2 - s_N^2/\lambda_N^2\right)$ with $\lambda$ the top eigenvalues.

    Raises:
        ValueError: the two models differ in more than the noise scale.
    """
    if (client.spikes, client.noise) != (server.spikes, server.noise):
        raise ValueError("client and server must share spikes and noise law and differ only in scale")
    return client.stable_rank(R).value - server.stable_rank(R).value


def alignment_by_rank(
    model: SpikedModel, slope_squares: Sequence[float], bulk_slope_square: float, ranks: Sequence[int]
) -> tuple[float, ...]:
    r"""Limit cosine between the rank-r gradient approximations of two independent clients, for each rank.

    A client's gradient has mean square $a_i$ along its i-th outlier eigenvector and $b$ along each of the others.
    The outlier eigenvectors of two clients meet with $\langle u_i, u_i'\rangle = \phi_i^2$, all other inner products
    vanish, so the cosine is $\sum_{i \le r} a_i \phi_i^2 / (\sum_{i \le r} a_i + (r - \tilde r)^+ b)$.

    Args:
        model: the spiked model of both clients.
        slope_squares: $a_i \ge 0$, one per outlier, in order of decreasing $|\lambda|$.
        bulk_slope_square: $b \ge 0$.
        ranks: ranks r of at least 1.

    Raises:
        ValueError: a wrong number of slopes, a negative or non-finite one, a rank below 1, no gradient at all.
    """
    outliers = sorted((o for o in model.outliers if o.separated), key=lambda o: -abs(o.location))
    if len(slope_squares) != len(outliers):
        raise ValueError(f"expected {len(outliers)} slopes, one per outlier, got {len(slope_squares)}")
    if any(not (isfinite(a) and a >= 0) for a in (*slope_squares, bulk_slope_square)):
        raise ValueError(f"mean squares must be finite and non-negative, got {(*slope_squares, bulk_slope_square)}")
    cosines = []
    for rank in ranks:
        if rank < 1:
            raise ValueError(f"a rank must be at least 1, got {rank}")
        kept = min(rank, len(outliers))
        shared = sum(a * o.overlap for a, o in zip(slope_squares[:kept], outliers, strict=False))
        total = sum(slope_squares[:kept]) + (rank - kept) * bulk_slope_square
        if total == 0:
            raise ValueError(f"the gradient has no component within rank {rank}")
        cosines.append(shared / total)
    return tuple(cosines)
