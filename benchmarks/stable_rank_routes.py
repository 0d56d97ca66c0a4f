"""Estimates of a stable rank from each library's public functions: openers, routes to the norm and to the squares.

A session is a library's operator on one problem; building it is part of every timed run. No peer has a stable rank, so
each is given the best combination of its pieces: its eigenvalue solvers, its plain Frobenius probes, and, where it has
one, a sketched trace of the squared matrix (XTrace, Hutch++).
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from math import inf
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hessian import Curvature, Krylov, PassedChecks, stable_rank
from hessian.lanczos.basis_rows import Store
from hessian.lanczos.bounds import known_square
from hessian.lanczos.probes import draw_probes
from hessian.loss.batches import Loss
from hessian.pyhessian.guards import supplying_torch

Route = Callable[[float, int], float]
"""Maps (parameter, seed) to an estimate."""
RESERVED = 40
"""Rows of a basis that have memory from the start; while it grows, old and new rows are side by side."""


@dataclass(frozen=True)
class Network:
    """A model in evaluation mode and its loss over one resident batch."""

    model: nn.Module
    loss: Loss
    inputs: Tensor
    targets: Tensor

    @property
    def P(self) -> int:
        """Number of parameters that are not frozen."""
        return sum(p.numel() for p in self.model.parameters() if p.requires_grad)

    @property
    def data(self) -> tuple[Tensor, Tensor]:
        """The batch."""
        return self.inputs, self.targets

    def gradient(self) -> None:
        """Compute one gradient over the batch."""
        value = self.loss(self.model(self.inputs), self.targets)
        torch.autograd.grad(value, list(self.model.parameters()))


@dataclass(frozen=True)
class Problem(Network):
    """A network whose stable rank is known.

    Attributes:
        truth: The stable rank.
        top: The eigenvalue of largest modulus.
        square: The squared Frobenius norm.
        variance: Relative variance of one Rademacher probe of the squared Frobenius norm.
        facts: Further numbers, and how the truth was found.
    """

    truth: float
    top: float
    square: float
    variance: float
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Session:
    """One library on one problem.

    Attributes:
        product: The Hessian times a vector (P,).
        norms: Routes to the largest modulus of an eigenvalue, each with parameters from loose to tight.
        probes: (number, seed) to the mean of squared norms of products with Rademacher vectors.
        sketch: (products, seed) to the squared Frobenius norm by a sketch, if there is one.
        close: Undoes what the library left on the model.
        traces: (products, seed) to the trace, by plain probes or a sketch.
        moment: The same as `probes` by its documented density, at two products a probe.
    """

    product: Callable[[Tensor], Any]
    norms: dict[str, tuple[Route, tuple[float, ...]]]
    probes: Route
    sketch: Route | None
    traces: dict[str, Route]
    close: Callable[[], None]
    moment: Route | None = None


Opener = Callable[[Network], Session]


def version_of(package: str) -> str | None:
    """Return the version of a distribution; None if it is absent."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def open_pyhessian(problem: Network) -> Session:
    """Open PyHessian 0.1: power iteration or the top node of its Lanczos; plain probes by its product."""
    pyhessian = importlib.import_module("pyhessian")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = pyhessian.hessian(problem.model, problem.loss, data=problem.data, cuda=problem.inputs.is_cuda)
    shapes = [p.shape for p in own.params]

    def product(vector: Tensor) -> Any:
        parts = [
            part.view(shape) for part, shape in zip(vector.split([s.numel() for s in shapes]), shapes, strict=True)
        ]
        return pyhessian.hessian_vector_product(own.gradsH, own.params, parts)

    def power(tolerance: float, seed: int) -> float:
        torch.manual_seed(seed)
        return abs(own.eigenvalues(maxIter=2000, tol=tolerance)[0][0])

    def lanczos(steps: float, seed: int) -> float:
        torch.manual_seed(seed)
        with supplying_torch(torch.float32):
            return float(np.abs(own.density(iter=int(steps), n_v=1)[0]).max())

    def probes(count: float, seed: int) -> float:
        torch.manual_seed(seed)
        total = 0.0
        for _ in range(int(count)):
            signs = [torch.randint_like(p, high=2) * 2 - 1 for p in own.params]
            image = pyhessian.hessian_vector_product(own.gradsH, own.params, signs)
            total += pyhessian.group_product(image, image).item()
        return total / count

    def moment(count: float, seed: int) -> float:
        torch.manual_seed(seed)
        with supplying_torch(torch.float32):
            nodes, weights = own.density(iter=2, n_v=int(count))
        return problem.P * sum(float(np.dot(w, np.square(x))) for x, w in zip(nodes, weights, strict=True)) / count

    def trace(count: float, seed: int) -> float:
        torch.manual_seed(seed)
        return float(np.mean(own.trace(maxIter=int(count), tol=-inf)))

    norms = {"eigenvalues": (power, (1e-2, 1e-3, 1e-4, 1e-5)), "density": (lanczos, (10, 20, 40, 80))}
    traces = {"plain": trace}
    return Session(product, norms, probes, None, traces, lambda: problem.model.zero_grad(set_to_none=True), moment)


def open_curvlinops(problem: Network) -> Session:
    """Open curvlinops: SciPy's eigsh; `hutchinson_squared_fro` by 16 probes if vmap is fast; `xtrace` of H@H."""
    curvlinops = importlib.import_module("curvlinops")
    eigsh = importlib.import_module("scipy.sparse.linalg").eigsh
    parameters = [p for p in problem.model.parameters() if p.requires_grad]
    own = curvlinops.HessianLinearOperator(
        problem.model, problem.loss, parameters, [problem.data], check_deterministic=False
    )

    def norm(tolerance: float, seed: int) -> float:
        start = np.random.default_rng(seed).standard_normal(problem.P)
        found = eigsh(own.to_scipy(), k=1, which="LM", tol=tolerance, v0=start, return_eigenvectors=False)
        return float(abs(found[0]))

    def probes(count: float, seed: int) -> float:
        torch.manual_seed(seed)
        sizes = [min(16, int(count) - start) for start in range(0, int(count), 16)]
        return sum(curvlinops.hutchinson_squared_fro(own, size).item() * size for size in sizes) / count

    def sketch(products: float, seed: int) -> float:
        torch.manual_seed(seed)
        return curvlinops.xtrace(own @ own, 2 * (int(products) // 4)).item()  # two products each

    def plain(count: float, seed: int) -> float:
        torch.manual_seed(seed)
        sizes = [min(16, int(count) - start) for start in range(0, int(count), 16)]
        return sum(curvlinops.hutchinson_trace(own, size).item() * size for size in sizes) / count

    def by_sketch(method: str, multiple: int) -> Route:
        def trace(products: float, seed: int) -> float:
            torch.manual_seed(seed)
            return getattr(curvlinops, method)(own, multiple * (int(products) // multiple)).item()

        return trace

    norms = {"eigsh": (norm, (1e-1, 1e-2, 1e-3, 1e-4))}
    traces = {"plain": plain, "XTrace": by_sketch("xtrace", 2), "Hutch++": by_sketch("hutchpp_trace", 3)}
    return Session(lambda vector: own @ vector, norms, probes, sketch, traces, lambda: None)


def open_eigenthings(problem: Network) -> Session:
    """Open hessian-eigenthings: its Lanczos or power iteration; probes by its product; its Hutch++ of the square."""
    operators = importlib.import_module("hessian_eigenthings.operators")
    algorithms = importlib.import_module("hessian_eigenthings.algorithms")

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return problem.loss(model(batch[0]), batch[1])

    own = operators.HessianOperator(problem.model, [problem.data], loss)

    def lanczos(steps: float, seed: int) -> float:
        return abs(
            algorithms.lanczos(own, k=1, max_iter=int(steps), reorthogonalize=True, seed=seed).eigenvalues.item()
        )

    def power(tolerance: float, seed: int) -> float:
        found = algorithms.deflated_power_iteration(own, k=1, max_iter=2000, tol=tolerance, seed=seed)
        return abs(found.eigenvalues[0].item())

    def probes(count: float, seed: int) -> float:
        generator = torch.Generator().manual_seed(seed)
        total = 0.0
        for _ in range(int(count)):
            signs = torch.randint(2, (problem.P,), generator=generator).to(torch.float32) * 2 - 1
            total += (own.matvec(signs) ** 2).sum().item()
        return total / count

    squared = operators.LambdaOperator(
        lambda v: own.matvec(own.matvec(v)), size=own.size, device=own.device, dtype=own.dtype
    )

    def sketch(products: float, seed: int) -> float:
        return float(algorithms.hutch_plus_plus(squared, num_matvecs=3 * (int(products) // 6), seed=seed).estimate)

    def plain(count: float, seed: int) -> float:
        return float(algorithms.hutchinson(own, num_samples=int(count), seed=seed).estimate)

    def by_sketch(products: float, seed: int) -> float:
        return float(algorithms.hutch_plus_plus(own, num_matvecs=3 * (int(products) // 3), seed=seed).estimate)

    norms = {"lanczos": (lanczos, (10, 20, 40, 80)), "power": (power, (1e-2, 1e-3, 1e-4, 1e-5))}
    return Session(own.matvec, norms, probes, sketch, {"plain": plain, "Hutch++": by_sketch}, lambda: None)


PEERS: dict[str, tuple[str, str, Opener]] = {
    "PyHessian": ("pyhessian", "pyhessian", open_pyhessian),
    "curvlinops": ("curvlinops-for-pytorch", "curvlinops", open_curvlinops),
    "hessian-eigenthings": ("hessian-eigenthings", "hessian_eigenthings", open_eigenthings),
}
"""Distribution, module and opener of each peer. PyHessian is given the `torch.eig` that it lacks."""


def ours(problem: Problem, width: float, seed: int) -> Any:
    """Run the public call, including construction and its three timed gradients."""
    return stable_rank(problem.model, problem.loss, problem.data, relative_width=width, seed=seed)


def converged(krylov: Krylov, by_value: bool = False, tolerance: float = 1e-3) -> None:
    """Run Lanczos until the residual of the largest pair is relatively small, or the change of its value, if asked."""
    before = inf
    while True:
        krylov.extend(1)
        values, _, residuals = krylov.ritz()
        top = int(np.abs(values).argmax())
        miss = abs(abs(values[top]) - before) if by_value else residuals[top]
        if krylov.invariant or miss <= tolerance * abs(values[top]):
            return
        before = abs(values[top])


def known(krylov: Krylov) -> tuple[float, float]:
    """Return the part of the squared Frobenius norm that a basis gives, and its estimate of the squared norm."""
    return known_square(krylov), krylov.largest**2


def ours_by_budget(
    problem: Problem,
    probes: int,
    seed: int,
    steps: int | None = None,
    checks: PassedChecks | None = None,
    by_value: bool = False,
) -> float:
    """Run our public functions with a budget, not a width: Lanczos steps, default to 1e-3, and probes of the rest."""
    operator = Curvature(problem.model, problem.loss, problem.data, checks=checks)
    rng = np.random.default_rng(seed)
    krylov = Krylov(operator, rng, store=Store(reserve=min(RESERVED, operator.P)))
    if steps is None:
        converged(krylov, by_value)
    else:
        krylov.extend(steps)
    part, top = known(krylov)
    return (part + draw_probes(operator, krylov.span, probes, rng, operator.chunk).mean) / top
