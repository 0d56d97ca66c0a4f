r"""Least squares on one sample, $\frac12(p^TWq - f)^2$, evaluated in whatever form the weights come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor


@dataclass(frozen=True, eq=False)
class OneSample:
    """One client with one sample.

    Attributes:
        p: Features of the rows, ``(1, m)``.
        q: Features of the columns, ``(1, n)``.
        f: Value, scalar.
    """

    p: Tensor
    q: Tensor
    f: Tensor
    samples: float = 1.0
    whole: ClassVar[bool] = True

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """The loss."""
        return 0.5 * ((self.p @ w["W"] @ self.q.mT).squeeze() - self.f) ** 2

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Its gradient, in the type of the weights: one product and one outer product."""
        return type(w)({"W": ((self.p @ w["W"] @ self.q.mT) - self.f) * self.p.mT @ self.q})

    def factored(self, U: Mapping[str, Tensor], S: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> Tensor:
        r"""The loss at $U S V^T$, which is not formed."""
        return self.projected(U, V).loss({"W": S["W"]})

    def projected(self, U: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> OneSample:
        """The loss of coefficients: of the same form."""
        return replace(self, p=self.p @ U["W"], q=self.q @ V["W"])
