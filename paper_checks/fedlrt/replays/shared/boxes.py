"""Algorithms 1, 4 and 5 line by line: who sends what, and the shapes of what is computed, for all sizes.

Weights are m by n. The factors' gradients belong to a layer that its b samples pass factor by factor: X U, X U S,
X U S V' forwards, and the error E through V and S backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

m, n, r, b = sympy.symbols("m n r b", positive=True, integer=True)

Shape = tuple[Any, Any]


@dataclass(frozen=True)
class Step:
    """One thing that is done: where, what, to matrices of which shapes."""

    place: str
    does: str
    takes: tuple[Shape, ...]

    @property
    def gives(self) -> Shape:
        """Return the shape of the result.

        Raises:
            ValueError: a product of shapes that do not meet.
        """
        if self.does == "QR":
            return self.takes[0]
        (rows, inner), (other, columns) = self.takes if self.does == "product" else (self.takes[0],) * 2
        if self.does == "product" and inner != other:
            raise ValueError(f"{self.takes} do not meet")
        return rows, columns

    @property
    def multiplications(self) -> Any:
        """Return the multiplications of a product; of a factorisation the leading order."""
        rows, columns = self.takes[0]
        if self.does == "product":
            return rows * columns * self.takes[1][1]
        return (2 if self.does == "QR" else 1) * rows * columns**2


@dataclass(frozen=True)
class Exchange:
    """Message of the server to all clients, and what each of them sends back."""

    sent: dict[str, Shape]
    back: dict[str, Shape]


BASES = {"U": (m, r), "V": (n, r)}


def exchanges(method: str) -> list[Exchange]:
    """List the communication rounds of FedAvg, FedLin, or FeDLRT with the correction ``none``, simplified or full."""
    wide, small, weights = (2 * r, 2 * r), (r, r), (m, n)
    if method == "FedAvg":
        return [Exchange({"W": weights}, {"W_c": weights})]
    if method == "FedLin":
        return [Exchange({"W": weights}, {"G_c": weights}), Exchange({"G": weights}, {"W_c": weights})]
    more = {"G_S": small} if method == "simplified" else {}
    first = Exchange({**BASES, "S": small}, {"G_U": (m, r), "G_V": (n, r), **more})
    bars: dict[str, Shape] = {"Ubar": (m, r), "Vbar": (n, r)}
    if method == "full":
        return [first, Exchange(bars, {"G_St": wide}), Exchange({"G_St": wide}, {"St_c": wide})]
    return [first, Exchange({**bars, **more}, {"St_c": wide})]


def _layer(k: Any) -> list[Step]:
    """Pass samples through factors of k columns and back: outputs, errors, and the gradients of all three factors."""
    through = [((b, m), (m, k)), ((b, k), (k, k)), ((b, k), (k, n)), ((b, n), (n, k)), ((b, k), (k, k))]
    slopes = [((m, b), (b, k)), ((n, b), (b, k)), ((k, b), (b, k))]
    return [Step("client", "product", pair) for pair in (*through, *slopes)]


def steps() -> list[Step]:
    """List computations of clients and server in a round of Algorithm 1 or 5; sums keep the shapes of what is sent."""
    server = [Step("server", "QR", ((side, 2 * r),)) for side in (m, n)]
    server.append(Step("server", "SVD", ((2 * r, 2 * r),)))
    server += [Step("server", "product", ((side, 2 * r), (2 * r, r))) for side in (m, n)]
    return [*_layer(r), *_layer(2 * r), *server]


VARIANTS = ("none", "simplified", "full")
