r"""Whether fewer samples have the larger stable rank: to first order in 1/M, for any law of the samples.

For independent Hessians $h_i$ with mean H, whose eigenvalue of largest modulus $h_1$ is simple, with eigenvector $v_1$,

.. math:: \frac{E\|H_M\|_F^2}{E\|H_M\|_2^2} = \frac{\|H\|_F^2}{h_1^2}\Big[1 + \frac1M\Big(
          \frac{E\|h\|_F^2}{\|H\|_F^2} - 1 - \frac{\mathrm{Var}\,v_1^T h v_1}{h_1^2}
          - \frac2{h_1}\sum_{j>1}\frac{\mathrm{Var}\,v_1^T h v_j}{h_1 - h_j}\Big) + O(M^{-3/2})\Big],

proved in `docs/covariance-model.md`. It takes one product for each sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rmt.checks import freeze, require_number
from rmt.results import Result


@dataclass(frozen=True)
class RankChange(Result):
    """The bracket's coefficient of 1/M, by its terms.

    Attributes:
        scatter: of the Frobenius norm, never negative; it raises the rank of few samples.
        fluctuation: of the first eigenvalue, never negative; it lowers it.
        repulsion: by the other eigenvalues, never negative; it lowers it.
    """

    scatter: float
    fluctuation: float
    repulsion: float

    @property
    def coefficient(self) -> float:
        """Coefficient of 1/M: positive if fewer samples have the larger stable rank, to first order."""
        return self.scatter - self.fluctuation - self.repulsion


def rank_change(products: ArrayLike, eigenvalues: ArrayLike, square: float) -> RankChange:
    """Return the change, computed from the samples' products with the first eigenvector.

    Args:
        products: $v_j^T h_i v_1$, (N, P): each sample's Hessian times the first eigenvector, in the eigenvectors of H.
        eigenvalues: of H, in the same order, that of $v_1$ first, (P,).
        square: mean squared Frobenius norm of one sample's Hessian.

    Raises:
        ValueError: shapes that do not fit, numbers that are not finite, a square that is not positive, or a first
            eigenvalue that is not the only one of largest modulus.
    """
    rows, values = freeze("products", products), freeze("eigenvalues", eigenvalues)
    if rows.ndim != 2 or rows.shape[1:] != values.shape or len(rows) < 2:
        raise ValueError(
            f"need products (N, P) of at least 2 samples and P eigenvalues, got {rows.shape}, {values.shape}"
        )
    if not np.isfinite(rows).all() or not np.isfinite(values).all():
        raise ValueError("products and eigenvalues must be finite")
    if not 0.0 < require_number("square", square) < np.inf:
        raise ValueError(
            f"square must be positive and finite, got {square}: if it is not representable in double precision, "
            f"multiply the loss by a constant"
        )
    first, others = float(values[0]), values[1:]
    if not abs(first) > np.abs(others).max(initial=0.0):
        raise ValueError(f"the first eigenvalue, {first:.6g}, must be the only one of largest modulus")
    # In units of the first eigenvalue, because squares of small or large numbers are not representable.
    variances = (rows / first).var(axis=0)
    return RankChange(
        square / first / first / float(((values / first) ** 2).sum()) - 1.0,
        float(variances[0]),
        2.0 * float((variances[1:] / (1.0 - others / first)).sum()),
    )
