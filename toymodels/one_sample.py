r"""Least squares on one sample, $\frac12(p^TWq - f)^2$, for weights of any form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor


@dataclass(frozen=True, eq=False)
class OneSample:
    """A client with one sample.

    Attributes:
        p: Features of the rows, ``(1, m)``.
        q: Features of the columns, ``(1, n)``.
        f: Target, scalar.
    """

    p: Tensor
    q: Tensor
    f: Tensor
    samples: float = 1.0
    whole: ClassVar[bool] = True

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape of the weights, ``(m, n)``."""
        return self.p.shape[-1], self.q.shape[-1]

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss."""
        return 0.5 * ((self.p @ w["W"] @ self.q.mT).squeeze() - self.f) ** 2

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        r"""Return the gradient $(p^TWq - f)\,pq^T$, in the type of the weights."""
        return type(w)({"W": ((self.p @ w["W"] @ self.q.mT) - self.f) * self.p.mT @ self.q})

    def factored(self, U: Mapping[str, Tensor], S: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> Tensor:
        r"""Return the loss at $U S V^T$ without forming the product."""
        return self.projected(U, V).loss({"W": S["W"]})

    def projected(self, U: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> OneSample:
        """Return the client in coefficient space, which has the same form."""
        return replace(self, p=self.p @ U["W"], q=self.q @ V["W"])
