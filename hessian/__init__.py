"""Spectra of networks: Hessians and their relatives; stable ranks with intervals; the spiked model fitted."""

from hessian.fits.covariance_fit import CovarianceFit, SamplePrediction, bootstrap_eigenvalues, fit_covariance
from hessian.fits.difference_fit import HessianFit, HessianPrediction, fit_difference
from hessian.fits.measured_fit import MeasuredFit, fit_measured
from hessian.fits.rank_change import RankChange, rank_change
from hessian.fits.spiked_fit import SpikedFit, fit_spiked, predict
from hessian.lanczos.eigenpairs import extreme_eigenpairs
from hessian.lanczos.krylov import Krylov, RitzPairs
from hessian.lanczos.memory import Budget
from hessian.lanczos.quadrature import Moment, SpectralMeasure, spectral_measure
from hessian.lanczos.stable_rank import stable_rank_of
from hessian.loss.passed_checks import PassedChecks
from hessian.loss.routes import RouteWarning
from hessian.network_rank import stable_rank
from hessian.numerics.intervals import Interval, StableRankInterval
from hessian.numerics.symmetric import CurvatureError, DenseOperator, SymmetricOperator, as_scipy
from hessian.operators.cross_blocks import CrossBlock
from hessian.operators.curvature import Cost, Curvature
from hessian.operators.data_parallel import Workers
from hessian.operators.exact import exact_hessian
from hessian.operators.per_sample import SampleSpectra, sample_factors, sample_spectra, spectra_of
from hessian.operators.sample_hessians import SampleHessians, sample_hessian_parts, sample_hessians
from hessian.quantities.estimates import Estimate, Measurement, Profile
from hessian.quantities.measurement import measure
from hessian.quantities.names import Quantity
from hessian.spectrum import SpectrumReport, SpectrumSettings, measure_spectrum
from hessian.tracker import SpectrumTracker, TrackedState

__all__ = [
    "Budget",
    "Cost",
    "CovarianceFit",
    "CrossBlock",
    "Curvature",
    "CurvatureError",
    "DenseOperator",
    "Estimate",
    "HessianFit",
    "HessianPrediction",
    "Interval",
    "Krylov",
    "MeasuredFit",
    "Measurement",
    "Moment",
    "PassedChecks",
    "Profile",
    "Quantity",
    "RankChange",
    "RitzPairs",
    "RouteWarning",
    "SampleHessians",
    "SamplePrediction",
    "SampleSpectra",
    "SpectralMeasure",
    "SpectrumReport",
    "SpectrumSettings",
    "SpectrumTracker",
    "SpikedFit",
    "StableRankInterval",
    "SymmetricOperator",
    "TrackedState",
    "Workers",
    "as_scipy",
    "bootstrap_eigenvalues",
    "exact_hessian",
    "extreme_eigenpairs",
    "fit_covariance",
    "fit_difference",
    "fit_measured",
    "fit_spiked",
    "measure",
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
