r"""The trace of a matrix that changes slowly: that of an earlier matrix, plus the trace of the difference.

Let W be approximate eigenvectors of the earlier matrix $H_0$, and z random vectors of their complement, uniform on the
sphere of radius $\sqrt d$, whose products $H_0 z$ are kept. With one product for each row of W and for each z,

$$\operatorname{tr} H = \operatorname{tr} H_0 + \operatorname{tr} W(H - H_0)W^T + \operatorname{tr} C,\qquad
\mathbb E\, z^T (H - H_0) z = \operatorname{tr} C,$$

with C the compression of the difference to the complement. The variance of one form is $2\|C - c\|_F^2$ with c the mean
eigenvalue (`hessian.quantities.random_forms`), and falls with the square of the change. The vectors z are not those
that gave the estimate of $\operatorname{tr} H_0$, so the variances of the two add up. The degrees of freedom of the sum
are Satterthwaite's. For the squares of the difference they are one for each z, as if C had a single direction, which is
the skewest law.

The interval holds for the change that is there, large or small, because the variance is estimated from this change. If
it is too wide, the matrix is measured in full, and one of two intervals is reported. So each has half of the error
probability. All matrices after $H_0$ use the same z. So their errors are alike, and the matrices must not depend on z:
a training that is steered by these traces is not covered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import torch
from scipy.stats import t as student
from torch import Tensor

from hessian.lanczos.basis_rows import project_on
from hessian.lanczos.probes import project_out
from hessian.numerics.symmetric import SymmetricOperator, draw_normal, empty_rows, multiply, not_finite, rounding_of
from hessian.quantities.estimates import Estimate
from hessian.quantities.names import Quantity
from hessian.quantities.random_forms import shifted_squares, variance_of_form
from hessian.quantities.warm_search import WarmStart

VECTORS = 8
"""Largest number of vectors W."""
FEW_UNITS = 8.0
"""Least rounding of a product, in units of the type."""


@dataclass(frozen=True, eq=False)
class TraceChange:
    """The trace by the difference from an earlier matrix.

    Attributes:
        trace: The trace with its interval.
        variance: Variance of the form of one probe of the difference.
    """

    trace: Estimate
    variance: float


@dataclass(frozen=True, eq=False)
class TraceAnchor:
    """A matrix whose trace has been measured, with what is needed to follow it.

    Attributes:
        vectors: W, orthonormal rows ``(k, P)``.
        probes: z ``(n, P)``, in the complement of W.
        images: Their products with the matrix.
        inside: Trace of the compression to W.
        trace: Estimate of the trace.
        variance: Its variance.
        degrees: Degrees of freedom of that variance.
        slack: Largest effect of rounding on the trace and on the differences.
    """

    vectors: Tensor
    probes: Tensor
    images: Tensor
    inside: float
    trace: float
    variance: float
    degrees: float
    slack: float

    @staticmethod
    def of(
        operator: SymmetricOperator, start: WarmStart, trace: Estimate, count: int, rng: np.random.Generator
    ) -> TraceAnchor:
        """Multiply new probes by a matrix that has been measured.

        Args:
            operator: The matrix.
            start: Findings about it.
            trace: Its trace.
            count: Number of probes, with one product each.
            rng: A random stream that was not used for the trace.

        Raises:
            CurvatureError: A product is not finite.
        """
        kept = min(VECTORS, len(start.vectors), operator.P - 1)
        vectors = start.vectors[:kept].to(operator.device, operator.dtype)
        probes = project_out(draw_normal(empty_rows(operator, count), rng), vectors)
        probes *= sqrt(operator.P - kept) / torch.linalg.vector_norm(probes, dim=1, keepdim=True)
        images = _images(operator, probes)
        inside, largest = float(start.values[:kept].sum()), float(np.abs(start.values).max())
        slack = trace.uncertain / 2.0 + _rounding(operator, kept * largest, images)
        return TraceAnchor(vectors, probes, images, inside, trace.value, start.variance, start.degrees, slack)

    @property
    def cost(self) -> int:
        """Products that a later matrix takes."""
        return len(self.vectors) + len(self.probes)

    def half_width(self, variance: float, confidence: float) -> float:
        """Return half of the width of a later trace's interval, given the variance of one form of the difference."""
        count = len(self.probes)
        return half_of_sum([(self.variance, self.degrees), (variance / count, count)], confidence) + self.slack

    def follow(self, operator: SymmetricOperator, width: float, confidence: float) -> TraceChange:
        """Measure the trace of a later matrix.

        Args:
            operator: The matrix.
            width: Relative width asked for.
            confidence: Confidence level of the interval.

        Raises:
            CurvatureError: A product is not finite.
        """
        turned = _images(operator, self.vectors)
        along = (turned.double() * self.vectors.double()).sum(dim=1).cpu().numpy()
        images = _images(operator, self.probes)
        slack = _rounding(operator, float(np.abs(along).sum()), images)
        images -= self.images
        forms = np.array([float(z.double() @ y.double()) for z, y in zip(self.probes, images, strict=True)])
        whole = np.array([float(torch.linalg.vector_norm(y.double())) ** 2 for y in images])
        squares = np.maximum(whole - project_on(images, self.vectors).double().square().sum(dim=1).cpu().numpy(), 0.0)
        directions = float(operator.P - len(self.vectors))
        square = variance_of_form(float(shifted_squares(forms, squares, directions)[1].mean()), directions)
        value = self.trace + float(along.sum()) - self.inside + float(forms.mean())
        half = self.half_width(square, confidence) + slack
        reached = 2.0 * half <= width * abs(value)
        limit = "" if reached else "the matrix has changed"
        ends, uncertain = (value - half, value + half), 2.0 * (self.slack + slack)
        found = Estimate(Quantity("trace"), value, *ends, confidence, len(forms), reached, limit, uncertain)
        return TraceChange(found, square)


def half_of_sum(parts: list[tuple[float, float]], confidence: float) -> float:
    """Return half of the width of an interval of a sum of independent estimates.

    Args:
        parts: Variance of each, and its degrees of freedom.
        confidence: Confidence level.
    """
    variance = sum(one for one, _ in parts)
    if variance <= 0.0:
        return 0.0
    uncertain = sum(one**2 / degrees for one, degrees in parts)
    degrees = variance**2 / uncertain if uncertain > 0.0 else inf
    return float(student.ppf((1.0 + confidence) / 2.0, max(degrees, 0.5))) * sqrt(variance)


def _images(operator: SymmetricOperator, rows: Tensor) -> Tensor:
    images = multiply(operator, rows.clone())
    if not bool(torch.isfinite(images).all()):
        raise not_finite(operator)
    return images


def _rounding(operator: SymmetricOperator, inside: float, images: Tensor) -> float:
    """Return what rounding may change of a trace in vectors and in probes."""
    unit = max(rounding_of(operator), FEW_UNITS * torch.finfo(operator.dtype).eps)
    size = float(torch.linalg.vector_norm(images, dim=1).double().square().mean())
    return unit * (inside + sqrt(images.shape[1] * size))
