r"""Two clients of one spiked model: how well their rank-r gradients agree, predicted and drawn at any dimension.

Both clients see the same true Hessian under independent Gaussian noise. Client k has the gradient
$\nabla f^{(k)} = \sum_j \gamma_j v_j + \rho\,e + \zeta^{(k)}$: common components along the spikes and along one other
direction, and an own error of mean square b in every direction. Its rank-r approximation keeps the components along the
r eigenvectors of its Hessian with the largest absolute eigenvalues.

Source: FedLoRU v2, Section 3.2, Theorem 3.3 and Lemma A.6, in the form that holds for every b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, isfinite, isinf

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, hyp1f1

from rmt.banded import BandedDraw, draw_banded
from rmt.checks import require, require_number, require_numbers, require_order
from rmt.spiked import SpikedModel, check_dimension, power_of_two

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClientGradients:
    r"""Gradients of the clients at one common point.

    Attributes:
        along: components $\gamma_j$ of the common gradient along the spikes, in the order of the model (decreasing).
        elsewhere: norm $\rho$ of the common gradient orthogonal to the spikes.
        noise_square: mean square b of the own error of a client in each direction.

    Raises:
        ValueError: a number that is not finite, or a negative ``noise_square``.
    """

    along: tuple[float, ...]
    elsewhere: float = 0.0
    noise_square: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "along", require_numbers("along", self.along))
        for name in ("elsewhere", "noise_square"):
            object.__setattr__(self, name, require_number(name, getattr(self, name)))
        if not all(map(isfinite, (*self.along, self.elsewhere, self.noise_square))) or self.noise_square < 0:
            raise ValueError(f"gradients need finite components and a noise square of at least 0, got {self}")


def outlier_slopes(model: SpikedModel, gradients: ClientGradients) -> tuple[Array, Array]:
    r"""Return limits $\phi_i|\gamma_i|$ of the expected slopes along the outlier eigenvectors, and overlaps $\phi_i^2$.

    Ordered by decreasing modulus of the outlier; eigenvectors are oriented towards their spikes. An outlier of smaller
    modulus than an edge of the bulk (noise that is not centred) is left out: bulk eigenvectors come before it.

    Raises:
        ValueError: not one component per spike.
    """
    if len(gradients.along) != len(model.spikes):
        raise ValueError(f"expected {len(model.spikes)} components, one per spike, got {len(gradients.along)}")
    leading = _leading_outliers(model)
    overlaps = np.array([model.outliers[index].overlap for index in leading])
    return np.sqrt(overlaps) * np.abs([gradients.along[index] for index in leading]), overlaps


def _leading_outliers(model: SpikedModel) -> list[int]:
    """Return indices of the outliers beyond the modulus of the bulk, by decreasing modulus."""
    bulk = max(map(abs, model.bulk_edges))
    found = [index for index, o in enumerate(model.outliers) if o.separated and abs(o.location) >= bulk]
    return sorted(found, key=lambda index: -abs(model.outliers[index].location))


_HIGH_RANK = 1e4
"""Rank above which the series in 1 / rank has more digits than the closed form."""


def mean_cosine(rank: int, signal: float) -> float:
    r"""Return the expected cosine between $x \sim N(m, I_r)$ and its mean, $|m| =$ ``signal``: 1 at infinity, 0 at 0.

    $\frac{|m|}{\sqrt 2}\frac{\Gamma((r+1)/2)}{\Gamma((r+2)/2)}\,{}_1F_1(\tfrac12; \tfrac{r+2}2; -\tfrac{|m|^2}2)$.

    Raises:
        ValueError: a rank that is not a whole number of at least 1, or a negative signal.

    >>> round(mean_cosine(1, 1.0), 6)  # P(|N(0,1)| < 1)
    0.682689
    """
    require(require_number("rank", rank) >= 1, f"rank must be at least 1, got {rank}")
    rank, signal = require_order("rank", rank), require_number("signal", signal)
    require(signal >= 0.0, f"signal, the norm of a mean, must be at least 0, got {signal}")
    if isinf(signal):
        return 1.0
    if rank > _HIGH_RANK:
        return _mean_cosine_of_high_rank(rank, signal)
    if signal > 1e3 * rank**0.5:  # the series of 1F1 has no digits left; the angle is small
        return 1.0 - 0.5 * (rank - 1) / signal / signal
    ratio = np.exp(gammaln(0.5 * (rank + 1)) - gammaln(0.5 * (rank + 2)))
    return float(signal / np.sqrt(2.0) * ratio * hyp1f1(0.5, 0.5 * (rank + 2), -0.5 * signal**2))


def _mean_cosine_of_high_rank(rank: int, signal: float) -> float:
    r"""Return ``mean_cosine`` to the third order of 1 / rank, where differences of logarithms of Gamma lose digits.

    It is $\sqrt{2/\pi}\int_0^{|m|} e^{-x^2/2}(1 - x^2/|m|^2)^n dx$ with $n = (r-1)/2$, a Gaussian integral once all but
    the first power of $x^2$ in the logarithm is expanded.
    """
    length = np.hypot(signal, np.sqrt(rank - 1.0))
    q = 1.0 / length / length
    p = 0.5 * (rank - 1.0) * q
    first = -1.5 * p
    second = p * (-5.0 + 13.125 * p)
    third = p * (-26.25 + p * (157.5 - 216.5625 * p))
    return float(signal / length * (1.0 + q * (first + q * (second + q * third))))


def alignment_by_rank(model: SpikedModel, gradients: ClientGradients, ranks: Sequence[int]) -> tuple[float, ...]:
    r"""Return the limit of the expected cosine between the rank-r gradients of two clients, for each rank.

    With slopes $m_i$ and overlaps $\phi_i^2$ of the outliers, and b the noise square, it is
    $A_r^2 \sum_{i \le r} m_i^2\phi_i^2 / \sum_{i \le r} m_i^2$, where $A_r$ is the ``mean_cosine`` of rank r at
    $(\sum_{i \le r} m_i^2/b)^{1/2}$ (1 without noise). Bulk eigenvectors add noise and nothing that clients share.

    Args:
        model: the spiked model of both clients.
        gradients: their gradients.
        ranks: ranks r of at least 1.

    Raises:
        ValueError: not one component per spike, a rank below 1 or between two outliers of equal modulus (the clients
            may then keep different ones), or no gradient at all within a rank.
    """
    slopes, overlaps = outlier_slopes(model, gradients)
    moduli = [abs(model.outliers[index].location) for index in _leading_outliers(model)]
    unit = power_of_two(slopes)
    slopes, noise = slopes / unit, gradients.noise_square**0.5 / unit
    cosines = []
    for given in require_numbers("ranks", ranks):
        if given < 1:
            raise ValueError(f"a rank must be at least 1, got {given:g}")
        rank = require_order("a rank", given)
        if rank < len(moduli) and isclose(moduli[rank], moduli[rank - 1], rel_tol=1e-12):
            raise ValueError(f"rank {rank} lies between two outliers of equal modulus")
        squares = slopes[:rank] ** 2
        total = float(squares.sum())
        if total == 0.0:
            if gradients.noise_square == 0.0:
                raise ValueError(f"the gradient has no component within rank {rank}")
            cosines.append(0.0)
            continue
        shrink = mean_cosine(rank, total**0.5 / noise) if noise > 0.0 else 1.0
        cosines.append(shrink**2 * float(squares @ overlaps[:rank]) / total)
    return tuple(cosines)


@dataclass(frozen=True, eq=False)
class TwoClients:
    r"""Leading eigenvectors of two independent clients of one model, relative to what they share.

    Attributes:
        model: the spiked model.
        R: dimension.
        values: eigenvalues of each client by decreasing modulus, shape ``(2, rank)``.
        towards: $\langle u_i, v_j\rangle$ of each client, shape ``(2, rank, spikes)``.
        elsewhere: $\langle u_i, e\rangle$ with one fixed direction orthogonal to the spikes, shape ``(2, rank)``.
        inner: $\langle u_i^{(1)}, u_j^{(2)}\rangle$, shape ``(rank, rank)``.
    """

    model: SpikedModel
    R: int
    values: Array
    towards: Array
    elsewhere: Array
    inner: Array

    def oriented(self) -> TwoClients:
        r"""Return the same clients with eigenvectors turned towards their spikes.

        Each $u_i$ has $\langle u_i, v_j\rangle \ge 0$ with the spike $v_j$ that is nearest to it.
        """
        nearest = np.abs(self.towards).argmax(axis=2)[..., None]
        signs = np.where(np.take_along_axis(self.towards, nearest, axis=2)[..., 0] < 0, -1.0, 1.0)
        return TwoClients(
            self.model,
            self.R,
            self.values,
            self.towards * signs[..., None],
            self.elsewhere * signs,
            self.inner * signs[0][:, None] * signs[1],
        )

    def slopes(self, gradients: ClientGradients, rng: np.random.Generator, samples: int = 1) -> Array:
        """Draw the components of each client's gradient along its eigenvectors, ``(2, samples, rank)``.

        Raises:
            ValueError: not one component per spike.
        """
        if len(gradients.along) != len(self.model.spikes):
            raise ValueError(f"expected {len(self.model.spikes)} components, one per spike, got {len(gradients.along)}")
        common = self.towards @ np.array(gradients.along) + gradients.elsewhere * self.elsewhere
        samples = require_order("samples", samples)
        require(samples >= 1, f"samples must be at least 1, got {samples}")
        noise = rng.standard_normal((2, samples, common.shape[1]))
        return common[:, None, :] + np.sqrt(gradients.noise_square) * noise

    def products(self, slopes: Array) -> tuple[Array, Array]:
        """Return the inner product of the clients' rank-r gradients, shape ``(rank,)``: its parts i = j and i != j.

        Mean over all pairs of a sample of one client and a sample of the other, which are independent.
        """
        first, second = slopes.mean(axis=1)
        table = first[:, None] * self.inner * second
        own = np.cumsum(np.diag(table))
        return own, np.array([table[:r, :r].sum() for r in range(1, len(own) + 1)]) - own

    def norms(self, slopes: Array) -> Array:
        """Return the product of norms of the clients' rank-r gradients, averaged over pairs of samples, ``(rank,)``."""
        first, second = np.sqrt(np.cumsum(slopes**2, axis=2)).mean(axis=1)
        return first * second

    def cosines(self, slopes: Array) -> Array:
        """Return the cosine between the clients' rank-r gradients, mean over all pairs of samples, shape ``(rank,)``.

        A gradient that vanishes on the first r eigenvectors counts as 0.
        """
        found = []
        for rank in range(1, self.inner.shape[0] + 1):
            kept = slopes[:, :, :rank]
            norms = np.linalg.norm(kept, axis=2, keepdims=True)
            first, second = np.divide(kept, norms, out=np.zeros_like(kept), where=norms > 0).mean(axis=1)
            found.append(first @ self.inner[:rank, :rank] @ second)
        return np.array(found)


def draw_two_clients(model: SpikedModel, R: int, rng: np.random.Generator, rank: int) -> TwoClients:
    """Draw two independent clients with Gaussian noise, exactly in law, without any matrix of dimension R.

    Given its components along the spikes, the rest of an eigenvector frame is uniform in their complement, and two
    uniform frames meet in a corner of a uniform orthogonal matrix.

    Args:
        model: spiked model with semicircular noise.
        R: dimension, at least ``2 * rank + spikes + 2``.
        rng: random generator.
        rank: number of leading eigenvectors kept.

    Raises:
        ValueError: non-semicircular noise, or a rank that does not fit.
    """
    spikes = len(model.spikes)
    require_number("rank", rank)
    if rank < 1 or 2 * rank + spikes + 2 > R:
        raise ValueError(f"need 1 <= rank and 2 rank + spikes + 2 <= R, got rank {rank}, {spikes} spikes, R = {R}")
    rank, R = require_order("rank", rank), check_dimension(R)
    leading = [_leading(draw_banded(model, R, rng, top=rank, bottom=rank), rank) for _ in range(2)]
    values, towards = np.array([pair[0] for pair in leading]), np.array([pair[1] for pair in leading])
    complement = R - spikes
    rests = [_root(np.eye(rank) - components @ components.T) for components in towards]
    fixed = [_uniform_row(complement, rank, rng) for _ in range(2)]
    corner = _corner(complement - 1, rank, rng)
    left, right = (_root(np.eye(rank) - np.outer(row, row)) for row in fixed)
    frames = np.outer(fixed[0], fixed[1]) + left @ corner @ right
    inner = towards[0] @ towards[1].T + rests[0] @ frames @ rests[1]
    elsewhere = np.array([rest @ row for rest, row in zip(rests, fixed, strict=True)])
    return TwoClients(model, R, values, towards, elsewhere, inner)


def _leading(draw: BandedDraw, rank: int) -> tuple[Array, Array]:
    """Return eigenvalues of largest modulus, and the components of their eigenvectors along the spikes."""
    ends = [draw.top_components(rank), draw.bottom_components(rank)]
    values = np.concatenate([end[0] for end in ends])
    components = np.concatenate([end[1] for end in ends])
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    return values[order], components[order]


def _uniform_row(dimension: int, rank: int, rng: np.random.Generator) -> Array:
    """Draw the first ``rank`` coordinates of a uniform unit vector."""
    head = rng.standard_normal(rank)
    return head / np.sqrt(head @ head + rng.chisquare(dimension - rank))


def _corner(dimension: int, rank: int, rng: np.random.Generator) -> Array:
    """Draw the corner of a uniform orthogonal matrix: the Gaussian corner over the root of its columns' Gram matrix."""
    head = rng.standard_normal((rank, rank))
    bartlett = np.tril(rng.standard_normal((rank, rank)), -1)
    bartlett[np.diag_indices(rank)] = np.sqrt(rng.chisquare(dimension - rank - np.arange(rank)))
    gram = head.T @ head + bartlett @ bartlett.T
    return head @ np.linalg.inv(_root(gram))


def _root(matrix: Array) -> Array:
    """Return the square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
