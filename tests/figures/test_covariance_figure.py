"""Covariance predictions on a tiny invented image set, under a name of its own."""

import numpy as np
import pytest
from stripes import stripes

from figures.figure import Settings
from figures.hessian_covariance import (
    COVARIANCE,
    NETWORKS,
    CovarianceSizes,
    covariance_found,
    covariance_sizes,
    covariance_table,
    errors,
    measured,
    stages,
)
from figures.hessian_covariance_picture import draw_covariance_figure

SIZES = CovarianceSizes(60, (0, 2), 24, (6, 12), 2, 1)


@pytest.fixture(scope="module")
def table():
    return covariance_table(stripes(), SIZES, Settings())


def test_subsets_of_all_samples_are_the_matrix():
    stage = next(stages(stripes(), SIZES, Settings()))
    whole = measured(stage, 24, np.arange(24))
    assert whole.eigenvalues == pytest.approx(stage.eigenvalues[:5])
    assert whole.overlaps == pytest.approx(np.ones(5))
    assert whole.stable_rank == pytest.approx((stage.eigenvalues**2).sum() / stage.eigenvalues[0] ** 2)


def test_table(table):
    assert tuple(dict.fromkeys(table.network)) == NETWORKS
    assert len(table) == 3 * 2 * 2 * (3 * 11 + 1)
    known = table[table.quantity != "intervals that hold"]
    assert np.isfinite(known[["measured", "predicted", "low", "high"]]).all(axis=None)
    assert (known.low <= known.measured * (1 + 1e-12)).all()
    assert (known.measured <= known.high * (1 + 1e-12)).all()
    overlaps = known[known.quantity.str.startswith("overlap")]
    assert overlaps.predicted.between(0.0, 1.0 + 1e-12).all()
    assert np.median(errors(table, "eigenvalue", "covariance")) < 0.5


def test_picture_and_sentences(table):
    assert len(draw_covariance_figure(table).axes) == 12
    assert covariance_found(table).startswith("Stated: sampled Hessians")
    assert "of 6 networks" in covariance_found(table)
    assert "$N=24$, $M=6, 12$, 2 subsets each, 1 seeds" in covariance_sizes(table)
    assert COVARIANCE.datasets == ("fashion-mnist",)
