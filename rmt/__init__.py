"""Random matrix theory of spiked models: laws, predictions, simulation and comparison.

A module is loaded when one of its names is asked for, so `rmt.results` costs no SciPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rmt.alignment import ClientGradients, TwoClients, alignment_by_rank, draw_two_clients
    from rmt.banded import BandedDraw, draw_banded, rows_needed
    from rmt.closed_laws import AtomicLaw, MarchenkoPastur, PointMass, Semicircle
    from rmt.comparison import Comparison, distribution_distance
    from rmt.covariance import SpikedCovariance
    from rmt.covariance_draws import CovarianceDraw, draw_covariance, draw_covariance_matrix_free
    from rmt.covariance_sum import CovarianceSum
    from rmt.dense import ENTRY_LAWS, DenseDraw, EntryLaw, draw_dense
    from rmt.free import FreeSum
    from rmt.general_laws import DensityLaw, RTransformLaw
    from rmt.joint_population import JointPopulation
    from rmt.laws import Law
    from rmt.matrix_free import MatrixFreeDraw, draw_matrix_free
    from rmt.sample_size import stable_rank_gap
    from rmt.separable import SeparableLaw
    from rmt.spiked import Outlier, SpikedModel, StableRank
    from rmt.spiked_sum import SpikedSum, SumOutlier
    from rmt.sum_draws import SumDraw, draw_sum
    from rmt.tracy_widom import TracyWidom1

_NAMES = {
    "alignment": "ClientGradients TwoClients alignment_by_rank draw_two_clients",
    "banded": "BandedDraw draw_banded rows_needed",
    "closed_laws": "AtomicLaw MarchenkoPastur PointMass Semicircle",
    "comparison": "Comparison distribution_distance",
    "covariance": "SpikedCovariance",
    "covariance_draws": "CovarianceDraw draw_covariance draw_covariance_matrix_free",
    "covariance_sum": "CovarianceSum",
    "dense": "ENTRY_LAWS DenseDraw EntryLaw draw_dense",
    "free": "FreeSum",
    "general_laws": "DensityLaw RTransformLaw",
    "joint_population": "JointPopulation",
    "laws": "Law",
    "matrix_free": "MatrixFreeDraw draw_matrix_free",
    "sample_size": "stable_rank_gap",
    "separable": "SeparableLaw",
    "spiked": "Outlier SpikedModel StableRank",
    "spiked_sum": "SpikedSum SumOutlier",
    "sum_draws": "SumDraw draw_sum",
    "tracy_widom": "TracyWidom1",
}
"""The public names of each module."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Return a public name, or a module that has one."""
    if name in _HOMES:
        globals()[name] = getattr(import_module(f"rmt.{_HOMES[name]}"), name)
        return globals()[name]
    if name in _NAMES:
        return import_module(f"rmt.{name}")
    raise AttributeError(f"module 'rmt' has no attribute {name!r}")


__all__ = [
    "ENTRY_LAWS",
    "AtomicLaw",
    "BandedDraw",
    "ClientGradients",
    "Comparison",
    "CovarianceDraw",
    "CovarianceSum",
    "DenseDraw",
    "DensityLaw",
    "EntryLaw",
    "FreeSum",
    "JointPopulation",
    "Law",
    "MarchenkoPastur",
    "MatrixFreeDraw",
    "Outlier",
    "PointMass",
    "RTransformLaw",
    "Semicircle",
    "SeparableLaw",
    "SpikedCovariance",
    "SpikedModel",
    "SpikedSum",
    "StableRank",
    "SumDraw",
    "SumOutlier",
    "TracyWidom1",
    "TwoClients",
    "alignment_by_rank",
    "distribution_distance",
    "draw_banded",
    "draw_covariance",
    "draw_covariance_matrix_free",
    "draw_dense",
    "draw_matrix_free",
    "draw_sum",
    "draw_two_clients",
    "rows_needed",
    "stable_rank_gap",
]
