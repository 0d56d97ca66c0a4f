"""Spiked models: outliers, edges and stable ranks of asymmetric laws, and what is refused."""

from records import refused

from rmt import Semicircle, SpikedModel

ONE_SIDED = SpikedModel((3.0, 1.5, -2.5), Semicircle(1.0, 0.25), scale=0.5)


def outliers():
    for spike in ONE_SIDED.spikes:
        yield ONE_SIDED.outlier(spike), refused(ONE_SIDED.outlier_sd, spike, 100)


def edges_and_norm():
    return ONE_SIDED.bulk_edges, ONE_SIDED.spectral_norm, refused(ONE_SIDED.stable_rank, 40)
