"""PyHessian 0.1 (Yao et al., 2020) as a wrapped backend: what it returns, without what it leaves behind.

It is here for comparison with figures that were made with it. Without the guards, it counts the gradient twice where
one is left on the model, weighs sums over batches wrongly, leaves the model in evaluation mode with a graph in `.grad`,
and its `density` calls `torch.eig`, which PyTorch has removed. The adapter refuses requests that would give silently
wrong results and restores what was changed; `tests/hessian/pyhessian/test_pyhessian_backend.py` pins these faults.
Limits that remain: the model is always taken in evaluation mode (running batch statistics, no dropout); `eigenvalues`
returns the largest in modulus, by power iteration whose stopping rule does not bound the error; 1e-6 is added to norms;
Lanczos orthogonalises once. Its `trace` is not offered, since its stopping rule watches the running mean.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import metadata
from math import inf
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from hessian.fits.density_reading import AS_PLOTTED, PrintedStableRank, Reading, printed_stable_rank
from hessian.lanczos.krylov import Array
from hessian.lanczos.quadrature import SpectralMeasure
from hessian.loss.batches import Batches, Loss, reduction_of
from hessian.loss.model_state import one_at_a_time, select_parameters
from hessian.numerics.differentiation import exact_evaluation
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import norm_of
from hessian.pyhessian.guards import PlainBatches, require_fit, restoring, seeding, supplying_torch

SHIFT = 1e-6
"""Added by PyHessian to what it divides by: to norms, and to the eigenvalue in its stopping rule."""


@dataclass(frozen=True)
class PyHessianSettings:
    """PyHessian's own arguments, with its defaults, and a seed.

    Attributes:
        iterations: Lanczos steps of a run, or power iterations of an eigenvalue at most (`iter`, `maxIter`).
        runs: Quadrature runs (`n_v`).
        top_n: Eigenvalues.
        tolerance: Relative change of an eigenvalue at which its iteration stops (`tol`), no error bound. A quadrature
            is refused where what is added to norms exceeds it.
        seed: Seed of all random vectors.

    Raises:
        CurvatureError: A value out of its range.
    """

    iterations: int = 100
    runs: int = 1
    top_n: int = 1
    tolerance: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.iterations, self.runs, self.top_n) < 1 or not self.tolerance > 0.0:
            raise CurvatureError(
                "iterations, runs and top_n must be at least 1 and tolerance positive, got "
                f"{self.iterations}, {self.runs}, {self.top_n} and {self.tolerance}"
            )


@dataclass(frozen=True, eq=False)
class TopEigenvalues:
    r"""Eigenvalues of largest modulus, as PyHessian returns them.

    Attributes:
        values: Eigenvalues in the order found, shape ``(top_n,)``.
        vectors: Unit rows, one power step past the values, shape ``(top_n, P)``.
        residuals: $\|Hu - \theta u\|_2$ of these, by one more product each; PyHessian itself gives none.
        settings: Settings of the computation.
        version: Version of PyHessian.
    """

    values: Array
    vectors: Tensor
    residuals: Array
    settings: PyHessianSettings
    version: str

    def __post_init__(self) -> None:
        fix_arrays(self)


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Nodes and weights of `density`, raw.

    Attributes:
        P: Dimension.
        nodes: Ritz values of each run, increasing, shape ``(iterations,)`` each.
        weights: Weights of the nodes, each run's of sum 1.
        settings: Settings of the computation.
        version: Version of PyHessian.
    """

    P: int
    nodes: tuple[Array, ...]
    weights: tuple[Array, ...]
    settings: PyHessianSettings
    version: str

    def __post_init__(self) -> None:
        fix_arrays(self)

    @property
    def measure(self) -> SpectralMeasure:
        """The same as a spectral measure without atoms, for densities and the moments that m iterations give."""
        least = min(map(len, self.nodes))
        degree = inf if least >= self.P else 2 * least - 1
        return SpectralMeasure(self.P, self.nodes, self.weights, np.empty(0), degree=degree)


def top_eigenvalues(
    model: nn.Module, loss: Loss, data: Any, settings: PyHessianSettings | None = None
) -> TopEigenvalues:
    """Return the Hessian's eigenvalues of largest modulus, by PyHessian's power iteration with deflation.

    Args:
        model: Taken in evaluation mode and left as it was.
        loss: Maps (outputs, targets) to a mean over samples.
        data: ``(inputs, targets)``, or an unshuffled iterable of such that can be read repeatedly.
        settings: Default: PyHessian's.

    Raises:
        CurvatureError: PyHessian would fail or give a wrong number; the message names cause and remedy.
    """
    settings = settings or PyHessianSettings()
    with _open_backend(model, loss, data, settings.seed) as opened:
        opened.require_at_most("top_n", settings.top_n)
        values, vectors = opened.backend.eigenvalues(
            maxIter=settings.iterations, tol=settings.tolerance, top_n=settings.top_n
        )
        found = np.array(values, dtype=float)
        _require_visible(found, SHIFT)  # below it, the tolerance is absolute
        rows, residuals = [], []
        for value, vector in zip(values, vectors, strict=True):
            norm = float(torch.sqrt(sum((part**2).sum() for part in vector)))
            unit = [part.detach() / norm for part in vector]
            rows.append(torch.cat([part.reshape(-1) for part in unit]))
            image = torch.cat([part.reshape(-1) for part in opened.product(unit)])
            residuals.append(norm_of(image - value * rows[-1]))
    return TopEigenvalues(found, torch.stack(rows), np.array(residuals), settings, opened.version)


def density_quadrature(
    model: nn.Module, loss: Loss, data: Any, settings: PyHessianSettings | None = None
) -> Quadrature:
    """Return the raw quadrature of the Hessian's spectral density by PyHessian's `density`.

    Args:
        model: Taken in evaluation mode and left as it was.
        loss: Maps (outputs, targets) to a mean over samples.
        data: ``(inputs, targets)``, or an unshuffled iterable of such that can be read repeatedly.
        settings: Default: PyHessian's.

    Raises:
        CurvatureError: PyHessian would fail or give a wrong number; the message names cause and remedy.
    """
    settings = settings or PyHessianSettings()
    with _open_backend(model, loss, data, settings.seed) as opened:
        opened.require_at_most("iterations", settings.iterations)
        with supplying_torch(opened.dtype):
            nodes, weights = opened.backend.density(iter=settings.iterations, n_v=settings.runs)
    pairs = [_sorted_rule(x, w) for x, w in zip(nodes, weights, strict=True)]
    largest = np.array([np.abs(x).max() for x, _ in pairs])
    _require_visible(largest, 2.0 * SHIFT / settings.tolerance)  # Lanczos vectors are too short by SHIFT over residual
    return Quadrature(opened.P, tuple(x for x, _ in pairs), tuple(w for _, w in pairs), settings, opened.version)


def printed_estimate(
    model: nn.Module, loss: Loss, data: Any, settings: PyHessianSettings | None = None, reading: Reading = AS_PLOTTED
) -> PrintedStableRank:
    """Return the papers' estimate of the stable rank, FedLoRU v2 eq. (87), from PyHessian's spectral density.

    Args:
        model: Taken in evaluation mode and left as it was.
        loss: Maps (outputs, targets) to a mean over samples.
        data: ``(inputs, targets)``, or an unshuffled iterable of such that can be read repeatedly.
        settings: Settings of PyHessian; the papers name none, so its defaults: one run of 100 steps.
        reading: Reading of the formula: grid, kernel, and which density is taken at the largest singular value.

    Raises:
        CurvatureError: PyHessian would give a wrong number, or the density is 0 at the largest singular value.
    """
    quadrature = density_quadrature(model, loss, data, settings)
    top = None
    if reading.sigma_1 == "eigenvalue":
        top = float(top_eigenvalues(model, loss, data, settings).values[0])
    return printed_stable_rank(quadrature.measure, reading, eigenvalue=top)


@dataclass(frozen=True, eq=False)
class _Opened:
    """PyHessian on a model, valid inside the context."""

    backend: Any
    P: int
    dtype: torch.dtype
    version: str

    def product(self, parts: list[Tensor]) -> list[Tensor]:
        if self.backend.full_dataset:
            return list(self.backend.dataloader_hv_product(parts)[1])
        return list(torch.autograd.grad(self.backend.gradsH, self.backend.params, parts, retain_graph=True))

    def require_at_most(self, name: str, number: int) -> None:
        if number > self.P:
            raise CurvatureError(f"{name} must be at most the number of parameters {self.P}, got {number}")


@contextmanager
def _open_backend(model: nn.Module, loss: Loss, data: Any, seed: int) -> Iterator[_Opened]:
    """Check the request and build a PyHessian object; on exit restore everything and free the graph."""
    try:
        constructor, version = importlib.import_module("pyhessian").hessian, metadata.version("pyhessian")
    except ImportError as error:
        raise CurvatureError("PyHessian is not installed: pip install pyhessian==0.1") from error
    with one_at_a_time():
        chosen = select_parameters(model, None)
    first = next(iter(chosen.values()))
    if first.device.type not in ("cpu", "cuda"):
        raise CurvatureError(f"PyHessian supports cpu and cuda, not {first.device}; move the model to one of these")
    if reduction_of(loss, None) == "sum":
        raise CurvatureError(
            "PyHessian averages over batches, but the loss has reduction='sum'; use reduction='mean'",
            keywords=("reduction",),
        )
    batches = PlainBatches(Batches.of(data), first.device, first.dtype)
    # The random state and PyHessian's name `torch` belong to the process.
    with one_at_a_time(), ExitStack() as stack:
        stack.enter_context(restoring(model, loss))
        stack.enter_context(seeding(first.device, seed))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(exact_evaluation())
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))  # fused attention has no second derivative
        model.eval()
        require_fit(model, loss, batches)
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message=".*create_graph=True.*")  # the cycle it warns of is undone here
        source = {"data": next(iter(batches))} if batches.source.resident else {"dataloader": batches}
        backend = constructor(model, loss, cuda=first.device.type == "cuda", **source)
        P = sum(parameter.numel() for parameter in chosen.values())
        yield _Opened(backend, P, first.dtype, version)


def _sorted_rule(nodes: Any, weights: Any) -> tuple[Array, Array]:
    x, w = np.array(nodes), np.array(weights)
    if not (np.isfinite(x).all() and np.isfinite(w).all()):
        raise CurvatureError("PyHessian's density is not finite: the weights or the loss overflow")
    if max(np.abs(np.imag(x)).max(), np.abs(np.imag(w)).max()) > 1e-6 * max(1.0, np.abs(x).max()):
        raise CurvatureError("PyHessian's density has complex nodes or weights: its Lanczos matrix is not symmetric")
    order = np.argsort(np.real(x))
    return np.real(x)[order].astype(float), np.real(w)[order].astype(float)


def _require_visible(values: Array, least: float) -> None:
    if not np.isfinite(values).all():
        raise CurvatureError("PyHessian's eigenvalues are not finite: the weights or the loss overflow")
    smallest = float(np.abs(values).min())
    if smallest < least:
        raise CurvatureError(
            f"PyHessian adds {SHIFT:g} to its divisor, so an eigenvalue of modulus {smallest:.2g} "
            f"cannot reach this tolerance, only those from {least:.2g} on; multiply the loss by a constant, or "
            f"request fewer"
        )
