"""Spectra of networks: Hessians and their relatives; stable ranks with intervals; the spiked model fitted."""

from hessian.covariance_fit import CovarianceFit, SamplePrediction, bootstrap_eigenvalues, fit_covariance
from hessian.cross_blocks import CrossBlock
from hessian.curvature import Cost, Curvature
from hessian.difference_fit import HessianFit, HessianPrediction, fit_difference
from hessian.eigenpairs import extreme_eigenpairs
from hessian.elsewhere import Workers
from hessian.exact import exact_hessian
from hessian.intervals import Interval, StableRankInterval
from hessian.krylov import Krylov, RitzPairs
from hessian.measured_fit import MeasuredFit, fit_measured
from hessian.memory import Budget
from hessian.network_rank import stable_rank
from hessian.per_sample import SampleSpectra, sample_factors, sample_spectra, spectra_of
from hessian.quadrature import Moment, SpectralMeasure, spectral_measure
from hessian.rank_change import RankChange, rank_change
from hessian.rank_search import stable_rank_of
from hessian.routes import RouteWarning
from hessian.sample_hessians import SampleHessians, sample_hessian_parts, sample_hessians
from hessian.spectrum import SpectrumReport, SpectrumSettings, measure_spectrum
from hessian.spiked_fit import SpikedFit, fit_spiked, predict
from hessian.symmetric import CurvatureError, DenseOperator, SymmetricOperator, as_scipy

__all__ = [
    "Budget",
    "Cost",
    "CovarianceFit",
    "CrossBlock",
    "Curvature",
    "CurvatureError",
    "DenseOperator",
    "HessianFit",
    "HessianPrediction",
    "Interval",
    "Krylov",
    "MeasuredFit",
    "Moment",
    "RankChange",
    "RitzPairs",
    "RouteWarning",
    "SampleHessians",
    "SamplePrediction",
    "SampleSpectra",
    "SpectralMeasure",
    "SpectrumReport",
    "SpectrumSettings",
    "SpikedFit",
    "StableRankInterval",
    "SymmetricOperator",
    "Workers",
    "as_scipy",
    "bootstrap_eigenvalues",
    "exact_hessian",
    "extreme_eigenpairs",
    "fit_covariance",
    "fit_difference",
    "fit_measured",
    "fit_spiked",
    "measure_spectrum",
    "predict",
    "rank_change",
    "sample_factors",
    "sample_hessian_parts",
    "sample_hessians",
    "sample_spectra",
    "spectra_of",
    "spectral_measure",
    "stable_rank",
    "stable_rank_of",
]
