"""Results keep their numbers when the arrays that they were made of change later."""

import numpy as np
import pytest
import torch

from hessian import CovarianceFit, RitzPairs, SampleHessians, SampleSpectra, SpectralMeasure
from hessian.fits.bulk_laws import Bulk
from rmt import PointMass


def array(*shape):
    return np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)


MADE = {
    "spectra": lambda a: SampleSpectra(a, array(2, 3, 1)),
    "hessians": lambda a: SampleHessians(a, array(2, 2), array(2, 2), 7, 0.5),
    "pairs": lambda a: RitzPairs(a, torch.zeros(3, 4), array(2)),
    "measure": lambda a: SpectralMeasure(9, (a, array(3)), (a, array(3)), array(2)),
    "bulk": lambda a: Bulk(9, (a,), (a,), array(2)),
    "fit": lambda a: CovarianceFit(a, PointMass(1.0), 5.0, PointMass(1.0), SampleSpectra(a, a[..., None]), 2.0),
}


def inside(value):
    """All arrays of a result."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = value if isinstance(value, tuple) else vars(value).values() if hasattr(value, "__dict__") else ()
    return [found for part in parts if not isinstance(part, torch.Tensor) for found in inside(part)]


@pytest.mark.parametrize("name", MADE)
def test_the_arrays_of_a_result_are_its_own_and_fixed(name):
    given = array(2, 3)
    result = MADE[name](given)
    before = [found.copy() for found in inside(result)]
    given[:] = -5.0
    assert given.flags.writeable
    assert len(before) >= 2
    for found, kept in zip(inside(result), before, strict=True):
        np.testing.assert_array_equal(found, kept)
        with pytest.raises(ValueError, match="read-only"):
            found[...] = 0.0
