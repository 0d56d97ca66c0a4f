r"""Stable rank of a spiked Hessian as the sample gets smaller.

Source: FedLoRU v2, Theorem 3.2, in the form that holds at finite dimension.
"""

from __future__ import annotations

from rmt.spiked import SpikedModel


def stable_rank_gap(client: SpikedModel, server: SpikedModel, R: int) -> float:
    r"""Return the difference of the stable ranks of client and server at dimension R.

    Both stable ranks grow like R, so the gap does: above the threshold
    $\mathrm{gap}/R \to \sigma^2 \left(s_M^2/\lambda_M^2 - s_N^2/\lambda_N^2\right)$ with $\lambda$ the top eigenvalues.

    Raises:
        ValueError: the two models differ in more than the noise scale, or one is of another kind.
    """
    for model in (client, server):
        if not isinstance(model, SpikedModel):
            raise ValueError(f"client and server must both be a SpikedModel, got a {type(model).__name__}")
    if (client.spikes, client.noise) != (server.spikes, server.noise):
        raise ValueError("client and server must share spikes and noise law and differ only in scale")
    return client.stable_rank(R).value - server.stable_rank(R).value
