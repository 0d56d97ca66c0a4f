r"""The diagonal, unbiased, with standard errors.

With a basis V, $H = PH + HP - PHP + C$ for $P = V^TV$. The diagonal of all but C is known from the basis. The
diagonal of C is the mean of $x \odot C x$ over vectors x of random signs, whose i-th entry varies with the off-diagonal
part of C's i-th row (Bekas, Kokiopoulou and Saad, 2007).
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
import torch
from scipy.stats import t as student
from torch import Tensor

from hessian.lanczos.krylov import Array, Krylov, Progress
from hessian.lanczos.probes import PILOT, project_out
from hessian.numerics.symmetric import SymmetricOperator, draw_signs, empty_rows, multiply, not_finite
from hessian.quantities.estimates import Profile
from hessian.quantities.names import Quantity


def measure_diagonal(
    operator: SymmetricOperator,
    krylov: Krylov,
    *,
    rng: np.random.Generator,
    width: float,
    confidence: float,
    products: int,
    chunk: int,
    progress: Progress | None = None,
) -> Profile:
    """Estimate the diagonal until its root mean square error is small compared with its root mean square.

    Args:
        operator: The matrix.
        krylov: Its basis.
        rng: Source of the signs.
        width: Width of all intervals together, in the norm of vectors, relative to the norm of the diagonal.
        confidence: Confidence level of each interval.
        products: Largest number of products.
        chunk: Vectors multiplied together.
        progress: Called with a description of the current step.

    Raises:
        CurvatureError: A product is not finite.
    """
    known = _known_diagonal(operator, krylov)
    slack = (krylov.rounding + sqrt(krylov.lost_square)) * (1.0 if krylov.largest else 0.0)
    P, total, squares, count = operator.P, torch.zeros_like(known), torch.zeros_like(known), 0
    wanted = 0 if krylov.size == P else min(PILOT, max(products, 2))
    rows = empty_rows(operator, max(min(chunk, wanted), 1))
    while count < wanted:
        size = min(chunk, wanted - count)
        for form in _forms(operator, krylov, rows[:size], rng):
            count += 1
            before = form - total
            total += before / count
            squares += before * (form - total)
        if progress is not None:
            progress(f"diagonal, vector {count} of {wanted}")
        if count == wanted == PILOT:
            error = float(torch.linalg.vector_norm((squares / (count - 1)).sqrt()))
            size_of_all = float(torch.linalg.vector_norm(known + total))
            quantile = float(student.ppf((1.0 + confidence) / 2.0, PILOT - 1))
            aim = 0.85 * width * size_of_all
            needed = (2.0 * quantile * error / aim) ** 2 if aim > 0.0 else (0.0 if error == 0.0 else 1e9)
            wanted = max(PILOT, min(ceil(min(needed, 1e9)), products))
    value = _to_array(known + total)
    sd = _to_array((squares / (count * (count - 1))).sqrt()) if count > 1 else np.zeros(P)
    half = sd * (float(student.ppf((1.0 + confidence) / 2.0, count - 1)) if count > 1 else 0.0) + slack
    reached = bool(2.0 * np.linalg.norm(half) <= width * np.linalg.norm(value))
    return Profile(
        Quantity("diagonal"),
        np.arange(float(P)),
        value,
        value - half,
        value + half,
        sd,
        confidence,
        count,
        reached,
        "" if reached else "raise products",
    )


def _known_diagonal(operator: SymmetricOperator, krylov: Krylov) -> Tensor:
    """Return the diagonal of the part of the matrix that the basis contains, in double precision."""
    V, T, B = krylov.basis, krylov.compression, krylov.coupling
    found = torch.zeros(operator.P, dtype=torch.float64, device=operator.device)
    for coefficients, row in zip(T, V, strict=True):
        found += (_combine(coefficients, V) * row).double()
    for coefficients, row in zip(B, krylov.waiting, strict=False):
        found += 2.0 * (_combine(coefficients, V) * row).double()
    return found


def _combine(coefficients: Array, rows: Tensor) -> Tensor:
    return torch.from_numpy(coefficients.copy()).to(rows.device, rows.dtype) @ rows


def _forms(operator: SymmetricOperator, krylov: Krylov, rows: Tensor, rng: np.random.Generator) -> Tensor:
    """Return x * (C x) for fresh signs x, ``(k, P)``, in double precision."""
    signs = draw_signs(rows, rng).clone()
    images = project_out(multiply(operator, project_out(rows, krylov.span)), krylov.span)
    if not bool(torch.isfinite(images).all()):
        raise not_finite(operator)
    return signs.double() * images.double()


def _to_array(vector: Tensor) -> Array:
    found: Array = vector.cpu().numpy().astype(float)
    return found
