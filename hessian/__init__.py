"""Spectra of real networks: Hessians, exact and by products."""

from hessian.exact import exact_hessian

__all__ = ["exact_hessian"]
