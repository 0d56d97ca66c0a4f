"""Spectra of real networks: Hessians, exact and by products."""

from hessian.exact import exact_hessian
from hessian.spiked_fit import SpikedFit, fit_spiked, predict

__all__ = ["SpikedFit", "exact_hessian", "fit_spiked", "predict"]
