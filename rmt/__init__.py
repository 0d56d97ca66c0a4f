"""Random matrix theory of spiked models: laws, predictions, simulation and comparison."""

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
