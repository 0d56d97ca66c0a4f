r"""Random probes of a symmetric matrix, and the interval that their spread gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil, inf, sqrt

import numpy as np
import torch
from scipy.stats import t as student
from torch import Tensor

from hessian.lanczos.basis_rows import COLUMNS, Span, project_on, project_out_of, span_size
from hessian.lanczos.bounds import MISSED, Interval
from hessian.lanczos.krylov import Array, Krylov
from hessian.numerics.symmetric import (
    SymmetricOperator,
    draw_normal,
    draw_signs,
    empty_rows,
    multiply,
    normal_rows,
    not_finite,
)

PILOT = 10
"""Number of probes from which the spread of all is estimated."""
FEW = 12
"""Directions fewer than which make the law of a probe skew."""
FEW_LARGE = 6
"""Directions fewer than which, where they are large, make it so skew that ten probes often show too little spread."""
SKEW = 2.5
"""Factor of the pilot's spread with which the mean of a chi-square of one degree, the skewest law, is covered as often
as said by ten probes: with 96.5, 98.0 and 99.3 % at nominal 90, 95 and 99 %."""
HELD = 0.2
"""Residual, relative to the distance from the next Ritz value, up to which an eigenvector is said to be in a basis."""
MANY = 4 * FEW
"""Directions more than which show their spread in ten probes."""
SHORT = 1.2
"""Factor by which a variance that a basis predicts may fall short: it rests on the weights of one starting vector."""
FEW_AXES = 2
"""Directions of the largest eigenvalue whose spread is the least that is assumed for signs: with at least this spread,
ten signs cover the mean even if a single direction varies."""
NEARLY_ALL = 0.99
"""Share of a vector's norm that one pass of Gram and Schmidt has to leave for a second to be left out."""
FEW_INSIDE = 0.5
"""Share of the square of an image along the rows of a basis up to which the rest is computed by subtraction."""


@dataclass(frozen=True)
class Prediction:
    r"""The probes' mean and spread as predicted by the Krylov basis; the default explains any spread.

    Attributes:
        square: Mean of a probe, $\|C\|_F^2$.
        spread: Relative standard deviation of one probe.
        largest: Square of the largest eigenvalue that the basis holds, of which the complement may have copies.
        degrees: Degrees of freedom of the chi-square that is as skew as one probe; infinite for none.
    """

    square: float = inf
    spread: float = inf
    largest: float = inf
    degrees: float = inf

    @property
    def few(self) -> bool:
        """Whether so few large directions cause the spread that ten probes often show too little of it."""
        return self.degrees < FEW_LARGE

    @property
    def cautious_spread(self) -> float:
        """Spread that is assumed for the probes."""
        return inflate_spread_for_copies(self.spread, self.spread if self.few else 0.0, inf)


@dataclass(frozen=True, eq=False)
class Probes:
    r"""Squares of the norms of C z, whose mean is $\|C\|_F^2$.

    Attributes:
        squares: One for each probe; if exact, those of an orthonormal basis of the complement, possibly empty.
        exact: Whether their sum is the squared norm itself.
        directions: d, the dimension of the complement.
        predicted: Prediction by the basis.
        looks: Number of bases of which the probes might have been the last.
        least: Least standard deviation that is assumed for one probe.
        forms: $z^T C z$ of each probe, where asked for; their mean is the trace of C, or if exact their sum.
    """

    squares: Array
    exact: bool = False
    directions: float = inf
    predicted: Prediction = Prediction()
    looks: int = 1
    least: float = 0.0
    forms: Array = field(default_factory=lambda: np.empty(0))

    @property
    def mean(self) -> float:
        """Estimate of the squared norm."""
        return float(self.squares.sum()) if self.exact else float(self.squares.mean())

    @property
    def pilot_spread(self) -> float:
        """Relative standard deviation of one probe, from the pilot, with a margin if few directions cause it."""
        spread, copies, mean = self._seen
        if mean <= 0.0:
            return 0.0
        of_copies = inflate_spread_for_copies(spread, copies, self.predicted.largest / mean)
        return max(inflate_spread(spread, self.directions), of_copies, self.least / mean)

    @property
    def copies(self) -> float:
        """Part of the pilot's relative standard deviation that is attributed to copies of eigenvalues."""
        return self._seen[1]

    @property
    def copies_show(self) -> bool:
        """Whether most of the pilot's variance is not predicted, which in ten probes is unlikely by chance."""
        return 2.0 * self.copies**2 > self._seen[0] ** 2

    @property
    def _seen(self) -> tuple[float, float, float]:
        """The pilot's relative deviation, the part of it that the prediction does not explain, and its mean."""
        pilot = self.squares[:PILOT]
        if self.exact or not (mean := float(pilot.mean())) > 0.0:
            return 0.0, 0.0, 0.0
        spread = float(pilot.std(ddof=1)) / mean
        explained = 0.0 if self.predicted.few else self.predicted.spread * min(self.predicted.square / mean, 1.0)
        return spread, sqrt(max(spread**2 - SHORT * explained**2, 0.0)), mean

    def interval(self, confidence: float) -> Interval:
        """Return the interval of the mean."""
        if self.exact:
            return Interval(self.mean, self.mean, self.mean)
        half = self._quantile(confidence) * self.pilot_spread / sqrt(len(self.squares)) / 2.0
        # Symmetric for the inverse root of the mean, on which sums of squares are hardly skew.
        return Interval(self.mean, self.mean / (1.0 + half) ** 2, self.mean / max(1.0 - half, 0.05) ** 2)

    def needed(self, width: float, confidence: float) -> int:
        """Return the number of probes for an interval of this relative width, by the pilot."""
        # Half the error, h, gives the width 4 h/(1 - h^2)^2; where the mean hardly counts, as wide as intervals get.
        half, above = 0.0, 0.95
        for _ in range(50):
            middle = (half + above) / 2.0
            half, above = (middle, above) if 4.0 * middle < width * (1.0 - middle**2) ** 2 else (half, middle)
        return max(PILOT, ceil(min((self._quantile(confidence) * self.pilot_spread / 2.0 / half) ** 2, 1e9)))

    def _quantile(self, confidence: float) -> float:
        # Probes that end the search too early miss with a chance of their own; those of later bases leave it room.
        return quantile(1.0 - (1.0 - confidence) / self.looks)

    def merge(self, other: Probes) -> Probes:
        """Return both together, or only the exact one if there is one."""
        if other.exact:
            return other
        both = np.concatenate([self.squares, other.squares]), np.concatenate([self.forms, other.forms])
        return replace(self, squares=both[0], forms=both[1])


def inflate_spread(spread: float, directions: float) -> float:
    r"""Return a cautious relative spread of probes, given an estimate of it.

    A probe is $\|C\|_F^2 + z^T M z$ with $M = C^2 - \|C\|_F^2/d$, which has no eigenvalue below $-\|C\|_F^2/d$.
    Where C has nearly all eigenvalues of one modulus and k smaller ones, the spread is therefore at most
    $\sqrt{2k}/d$, and the law is that of minus a $\chi^2_k$: few probes often show too little spread, just when they
    are all too large. So a spread that `FEW` such directions could make is taken `SKEW` times, but no larger than they
    could make it.

    Args:
        spread: Estimated from probes.
        directions: d.
    """
    return max(spread, min(SKEW * spread, sqrt(2.0 * FEW) / directions))


def inflate_spread_for_copies(spread: float, copies: float, largest: float) -> float:
    r"""Return a cautious relative spread of probes, part of whose estimate may be due to copies of eigenvalues.

    A starting vector sees one direction of every eigenspace. Further copies of an eigenvalue $\theta$ stay in C, where
    k of them add $\theta^2\chi^2_k$ to a probe: few probes often show too little spread, just when they are all too
    small. The directions that the start does see are in the prediction, which explains the spread where they are many.
    So what it does not explain is taken `SKEW` times, but for no more than `FEW` copies of the largest
    eigenvalue could make, and in all for no more than $\sqrt 2$, the spread of a single direction: no sum of squares
    has a larger one, or heavier tails (Szekely and Bakirov, 2003).

    Args:
        spread: Estimated from probes.
        copies: The part of it that the basis does not predict; the squares of the parts add up.
        largest: Square of the largest eigenvalue that may have copies, over the mean of a probe.
    """
    likely = max(copies, min(SKEW * copies, sqrt(2.0 * FEW) * largest))
    return max(spread, min(sqrt(spread**2 - copies**2 + likely**2), sqrt(2.0)))


@lru_cache
def quantile(confidence: float) -> float:
    """Return the quantile of the t law for the pilot's spread, with three degrees of freedom less than it has.

    A share `MISSED` of what may go wrong is left to the starting vector.
    """
    return float(student.ppf(1.0 - (1.0 - confidence) * (1.0 - MISSED) / 2.0, PILOT - 4))


def draw_probes(
    operator: SymmetricOperator,
    V: Span,
    count: int,
    rng: np.random.Generator,
    chunk: int = 1,
    report: Callable[[int], None] | None = None,
    complement: int | None = None,
    forms: bool = False,
) -> Probes:
    """Draw probes uniform on a sphere in the complement of V, or use a whole basis of it if that costs no more.

    Args:
        operator: The matrix.
        V: Orthonormal rows ``(m, P)``, as they are or as a basis stores them.
        count: Number of probes.
        rng: Source of the probes.
        chunk: Probes multiplied together.
        report: Called with the number of probes done.
        complement: Rows of a complement for which there is room; nothing: any number.
        forms: Keep $z^T C z$ too, which takes a copy of the probes that are multiplied together.

    Raises:
        CurvatureError: A product is not finite.
    """
    left = operator.P - span_size(V)
    if left <= count and (complement is None or left <= complement):
        whole = _squares(operator, V, _complement(operator, V, rng), forms) if left else (np.empty(0), np.empty(0))
        return Probes(whole[0], exact=True, forms=whole[1])
    squares, rows = [], empty_rows(operator, min(chunk, count))
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        drawn = project_out(draw_normal(rows[:size], rng), V)
        drawn *= sqrt(left) / torch.linalg.vector_norm(drawn, dim=1, keepdim=True)
        squares.append(_squares(operator, V, drawn, forms))
        if report is not None:
            report(start + size)
    return Probes(
        np.concatenate([one for one, _ in squares]),
        directions=left,
        forms=np.concatenate([form for _, form in squares]),
    )


def sign_probes(
    operator: SymmetricOperator,
    count: int,
    rng: np.random.Generator,
    norm: float,
    chunk: int = 1,
    report: Callable[[int], None] | None = None,
) -> Probes:
    r"""Draw probes of random signs, whose mean is the squared Frobenius norm of the whole matrix.

    No eigenvalue of $H^2$ less its diagonal is beyond $\|H\|_2^2$ in modulus. So a spread smaller than `FEW_AXES` such
    directions make is taken for theirs.

    Args:
        operator: The matrix.
        count: Number of probes.
        rng: Source of the signs.
        norm: Upper bound of the spectral norm.
        chunk: Probes multiplied together.
        report: Called with the number of probes done.

    Raises:
        CurvatureError: A product is not finite.
    """
    squares, rows = [], empty_rows(operator, min(chunk, count))
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        squares.append(_require_finite(_square_sums(multiply(operator, draw_signs(rows[:size], rng))), operator))
        if report is not None:
            report(start + size)
    return Probes(np.concatenate(squares), least=_least_of_signs(norm))


def predict_signs(krylov: Krylov, norm: float) -> float:
    r"""Predict the relative standard deviation of one probe of signs, without a product.

    The start q is uniform on the sphere: the mean of $\sum_i (Hq)_i^4$ over that of $\sum_i (H^2q)_i^2 q_i^2$ is
    $3S/(1 + 2S)$, where S is the share of $\|H^2\|_F^2$ on the diagonal of $H^2$. For a diagonal H the two are
    equal for every q, so chance matters little where the share is large.

    Args:
        krylov: The basis, whose first row was drawn at random.
        norm: Upper bound of the spectral norm.
    """
    if krylov.size < 3:
        return inf  # no room to see H^2 q
    fourth = float(torch.linalg.vector_norm(krylov.power_of_start(1).square_())) ** 2
    diagonal = float(torch.linalg.vector_norm(krylov.power_of_start(2).mul_(krylov.power_of_start(0)))) ** 2
    if not 0.0 < fourth < 1.5 * diagonal:
        return inf
    off = max(1.0 - fourth / (3.0 * diagonal - 2.0 * fourth), 0.0)
    first = krylov.compression[:, :2]
    once, twice = float(np.linalg.norm(first[:, 0])), float(np.linalg.norm(first @ first[:2, 0]))
    return max(sqrt(2.0 * off * krylov.P) * twice, _least_of_signs(norm)) / (krylov.P * once**2)


def _least_of_signs(norm: float) -> float:
    return sqrt(2.0 * FEW_AXES) * norm**2


def measure_unconverged(krylov: Krylov) -> tuple[Array, Array]:
    """Return the Ritz values that have not converged, and the number of directions that each represents.

    That number is P times its weight in the spectral measure of the first starting vector. Eigenvectors are held where
    the residual is far below the distance from other Ritz values; or far below the value, where copies are held too.
    Values much nearer to each other than to others count together: nearly copies, of which a start sees as little.
    Where there are many directions, they are not held, and ten probes show their spread.
    """
    values, coefficients, residuals = krylov.ritz()
    counts = krylov.P * coefficients[0] ** 2
    # From the value of a row to that of a column: distance from others, size of the residuals, extent, directions.
    apart = np.minimum(np.diff(values, prepend=-inf)[:, None], np.diff(values, append=inf))
    apart[0, -1] = 0.0  # all of them have no others
    size, extent, directions = np.sqrt(_sums(residuals**2)), values - values[:, None], _sums(counts)
    one = np.triu((np.maximum(size, extent) <= HELD * apart) & (directions <= MANY))
    last = np.where(one, np.arange(len(values)), -1).max(axis=1)
    held = np.maximum.accumulate(last) >= np.arange(len(values))
    left = ~held & ((residuals > 1e-3 * np.abs(values)) | (counts > MANY))
    return values[left], counts[left]


def _sums(terms: Array) -> Array:
    """Return the sums from the term of a row to the term of a column, 0 where there are none."""
    until = np.r_[0.0, np.cumsum(terms)]
    return np.maximum(until[1:] - until[:-1, None], 0.0)


def predict_rest(krylov: Krylov, shift: float = 0.0) -> Prediction:
    """Predict the probes of the complement: its directions are taken to be like those that have not converged.

    Args:
        krylov: The basis.
        shift: Multiple of the identity that is subtracted from the matrix.
    """
    return krylov.remember(("predicted rest", shift), lambda: _predict_rest(krylov, shift))


def predict_trace(krylov: Krylov) -> float:
    """Predict the trace of the complement, in the same way."""
    values, counts = measure_unconverged(krylov)
    total = float(counts.sum())
    return min(krylov.P - krylov.size, total) * float(counts @ values) / total if total > 0.0 else 0.0


def _predict_rest(krylov: Krylov, shift: float) -> Prediction:
    values, counts = measure_unconverged(krylov)
    values, largest = values - shift, (krylov.largest + abs(shift)) ** 2
    square, total = float(counts @ values**2), float(counts.sum())
    if square <= 0.0:
        return Prediction(0.0, 0.0, largest)
    d = min(krylov.P - krylov.size, total)  # copies of what is held are not predicted
    # Over the sphere of radius sqrt(d), a probe varies with the eigenvalues' squares about their mean.
    excess = values**2 / (square / total) - 1.0
    second, third = (max(float(counts @ excess**power), 0.0) / total for power in (2, 3))
    degrees = d * second**3 / third**2 if third > 0.0 else inf
    return Prediction(d * square / total, sqrt(2.0 * second / (d + 2.0)), largest, degrees)


def project_out(vectors: Tensor, V: Span) -> Tensor:
    """Subtract from vectors ``(k, P)``, in place, their projection on rows, and return them.

    A second pass removes what rounding left of the first. It is skipped if the first took little, because then next to
    nothing is left (with rows in half precision about 1e-6 of a vector). Each pass reads V twice; in a large network
    this is most of a probe's cost apart from its product.
    """
    for _ in range(2):
        before = torch.linalg.vector_norm(vectors, dim=1)
        project_out_of(vectors, V)
        if bool((torch.linalg.vector_norm(vectors, dim=1) >= NEARLY_ALL * before).all()):
            break
    return vectors


def _squares(operator: SymmetricOperator, V: Span, rows: Tensor, forms: bool) -> tuple[Array, Array]:
    """Return the squared norms of the matrix's products with rows, outside of V, and their products with the rows.

    The rows are overwritten. The second array is empty unless the forms are asked for.
    """
    before = rows.clone() if forms else rows[:0]
    images = multiply(operator, rows)
    inner = _inner_products(before, images) if forms else np.empty(0)
    whole, inside = (
        _require_finite(_square_sums(images), operator),
        project_on(images, V).double().square().sum(dim=1).cpu().numpy(),
    )
    if (inside <= FEW_INSIDE * whole).all():
        return whole - inside, inner
    return _square_sums(project_out(images, V)), inner


def _require_finite(squares: Array, operator: SymmetricOperator) -> Array:
    if not np.isfinite(squares).all():
        raise not_finite(operator)
    return squares


def _inner_products(rows: Tensor, others: Tensor) -> Array:
    width = max(COLUMNS // len(rows), 1)
    parts = zip(rows.split(width, dim=1), others.split(width, dim=1), strict=True)
    return sum((one.double() * other.double()).sum(dim=1) for one, other in parts).cpu().numpy()


def _square_sums(rows: Tensor) -> Array:
    width = max(min(COLUMNS, rows.shape[1] // 2) // len(rows), 1)
    sums = sum(torch.linalg.vector_norm(part.double(), dim=1) ** 2 for part in rows.split(width, dim=1))
    return sums.cpu().numpy()


def _complement(operator: SymmetricOperator, V: Span, rng: np.random.Generator) -> Tensor:
    """Return orthonormal rows that complete V."""
    rows = normal_rows(operator, rng, operator.P - span_size(V))
    for _ in range(2):
        rows = torch.linalg.qr(project_out(rows, V).T)[0].T.contiguous()
    return rows
