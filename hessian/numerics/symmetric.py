"""Symmetric matrices as operators: the algorithms of this package need only products with vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import frexp, inf, log10
from typing import Protocol

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator
from torch import Tensor

from hessian.numerics.differentiation import exact_algebra

POWERS_OF_TEN = 290.0
"""Exponents of ten up to which a number has room for factors in double precision."""


class CurvatureError(ValueError):
    """A model, a loss or data whose curvature cannot be taken; the message names the cause and the remedy.

    Attributes:
        keywords: Keywords of Python functions that the message names. Write one as ``name='value'`` or ``name=``, so
            a command can name its own option instead.
    """

    def __init__(self, message: str = "", *, keywords: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.keywords = tuple(keywords)


class SymmetricOperator(Protocol):
    """A real symmetric (P, P) matrix, given by its products."""

    @property
    def P(self) -> int:
        """Dimension."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Type of vectors and products: float32 or float64."""
        ...

    @property
    def device(self) -> torch.device:
        """Device of vectors and products."""
        ...

    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the matrix by each row, (k, P) to (k, P)."""
        ...


def empty_rows(operator: SymmetricOperator, count: int) -> Tensor:
    """Allocate rows ``(count, P)`` with the operator's dtype and device."""
    return torch.empty((count, operator.P), dtype=operator.dtype, device=operator.device)


def normal_rows(operator: SymmetricOperator, rng: np.random.Generator, count: int) -> Tensor:
    """Draw independent normal rows ``(count, P)`` on the operator's device; the same row by row or all at once."""
    return draw_normal(empty_rows(operator, count), rng)


def draw_normal(rows: Tensor, rng: np.random.Generator) -> Tensor:
    """Fill rows ``(count, P)`` with independent normal numbers, and return them."""
    for row in rows:
        row.normal_(generator=_generator(row.device, rng))
    return rows


def draw_signs(rows: Tensor, rng: np.random.Generator) -> Tensor:
    """Fill rows ``(count, P)`` with independent signs, 1 or -1, and return them."""
    for row in rows:
        row.bernoulli_(0.5, generator=_generator(row.device, rng)).mul_(2.0).sub_(1.0)
    return rows


def _generator(device: torch.device, rng: np.random.Generator) -> torch.Generator:
    return torch.Generator(device=device).manual_seed(int(rng.integers(2**63)))


def multiply(operator: SymmetricOperator, rows: Tensor) -> Tensor:
    """Multiply the matrix by each row ``(k, P)``, in place, and return the rows.

    Memory that is new for each product costs as much time as some of what is done in it. A class that can spare it has
    a method `products_in_place` in addition to `products`. Products of other classes are copied,
    also those of subclasses that define `products` themselves.
    """
    kind = next((one for one in type(operator).__mro__ if "products" in vars(one)), None)
    own = kind is not None and "products_in_place" in vars(kind) and "products" not in getattr(operator, "__dict__", {})
    found: Tensor = operator.products_in_place(rows) if own else rows.copy_(operator.products(rows))  # type: ignore[attr-defined]
    return found


def peak_elsewhere(operator: SymmetricOperator, vectors: Tensor) -> int:
    """Return the bytes of other processes on the operator's device at the peak of products, if it counts them."""
    peak: Callable[[Tensor], int] | None = getattr(operator, "peak_elsewhere", None)
    return 0 if peak is None else peak(vectors)


def prepare(operator: SymmetricOperator, together: int) -> None:
    """Make an operator run the checks that precede its first product with so many vectors, if it has any."""
    checks: Callable[[int], None] | None = getattr(operator, "prepare", None)
    if checks is not None:
        checks(together)


def rounding_of(operator: SymmetricOperator) -> float:
    """Return the rounding of a product relative to the largest, if the operator knows of more than its dtype has."""
    rounding: float = getattr(operator, "rounding", 0.0)
    return rounding


def not_finite(operator: SymmetricOperator) -> CurvatureError:
    """Return the error for a product that is not finite, with the cause if the operator can find it."""
    why: Callable[[], str] | None = getattr(operator, "why_not_finite", None)
    return CurvatureError(
        "a product with the curvature matrix is not finite: the weights or the loss overflow" if why is None else why()
    )


def keeps_digits(size: float, power: int) -> bool:
    """Return whether a power of numbers of a size keeps all digits in double precision, also times usual factors."""
    return abs(log10(size)) * power <= POWERS_OF_TEN


class OperatorAround:
    """An operator that wraps another one, with the same shape, dtype and device."""

    def __init__(self, operator: SymmetricOperator) -> None:
        self._operator = operator

    @property
    def P(self) -> int:
        """Dimension."""
        return self._operator.P

    @property
    def dtype(self) -> torch.dtype:
        """Type of the operator."""
        return self._operator.dtype

    @property
    def device(self) -> torch.device:
        """Device of the operator."""
        return self._operator.device

    @property
    def held(self) -> dict[str, int]:
        """Bytes that the operator holds, if it counts them."""
        held: dict[str, int] = getattr(self._operator, "held", {})
        return held

    def prepare(self, together: int) -> None:
        """Make the operator run the checks that precede its first product with so many vectors."""
        prepare(self._operator, together)

    @property
    def rounding(self) -> float:
        """Rounding of a product relative to the largest, if the operator knows it."""
        return rounding_of(self._operator)

    def why_not_finite(self) -> str:
        """Describe why a product is not finite."""
        return str(not_finite(self._operator))

    def peak_elsewhere(self, vectors: Tensor) -> int:
        """Return the bytes that other processes hold at the peak of products, if the operator counts them."""
        return peak_elsewhere(self._operator, vectors)


class ScaledOperator(OperatorAround):
    """An operator times a power of two, so products are of order one: exact, and squares do not overflow.

    Attributes:
        factor: The power of two, chosen at the first product that is not zero.
    """

    def __init__(self, operator: SymmetricOperator) -> None:
        super().__init__(operator)
        self.factor = 0.0

    @property
    def unit(self) -> float:
        """Unit of the scaled matrix's eigenvalues."""
        return 1.0 / self.factor if self.factor else 1.0

    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the scaled matrix by each row, (k, P) to (k, P).

        Raises:
            CurvatureError: The products are so small that they are rounded absolutely.
        """
        return self._scale(self._operator.products(vectors).clone())

    def products_in_place(self, rows: Tensor) -> Tensor:
        """Multiply the scaled matrix by each row, in place."""
        return self._scale(multiply(self._operator, rows))

    def _scale(self, images: Tensor) -> Tensor:
        if self.factor == 0.0:
            largest = float(images.abs().max()) if images.numel() else 0.0
            if not 0.0 < largest < inf:
                return images  # zero, or refused where it is used
            if largest < torch.finfo(self.dtype).tiny:
                raise CurvatureError(
                    f"products with the curvature matrix are of the order of {largest:.0e}, where numbers lose their "
                    "digits: multiply the loss by a constant"
                )
            self.factor = 2.0 ** -frexp(largest)[1]
        # In two steps, since the factor itself may not be a number of this dtype.
        half = 2.0 ** (frexp(self.factor)[1] // 2)
        return images.mul_(half).mul_(self.factor / half)


class CountedOperator(OperatorAround):
    """An operator that counts its products.

    Attributes:
        count: Products with one vector so far.
    """

    def __init__(self, operator: SymmetricOperator) -> None:
        super().__init__(operator)
        self.count = 0

    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the matrix by each row, (k, P) to (k, P), and count the rows."""
        self.count += len(vectors)
        return self._operator.products(vectors)

    def products_in_place(self, rows: Tensor) -> Tensor:
        """Multiply the matrix by each row, in place, and count the rows."""
        self.count += len(rows)
        return multiply(self._operator, rows)


class DenseOperator:
    """A matrix in memory as an operator.

    Args:
        matrix: Symmetric, shape ``(P, P)``; its dtype and device are the operator's.

    Raises:
        CurvatureError: Not square, not symmetric to rounding, or not finite.
    """

    def __init__(self, matrix: Tensor) -> None:
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
            raise CurvatureError(f"expected a square matrix, got shape {tuple(matrix.shape)}")
        if not matrix.is_floating_point():
            raise CurvatureError(
                f"expected a matrix of real floating numbers, got {matrix.dtype}; take matrix.double()"
            )
        if not bool(torch.isfinite(matrix).all()):
            raise CurvatureError("the matrix has non-finite entries")
        if float((matrix - matrix.T).abs().max()) > 100 * torch.finfo(matrix.dtype).eps * float(matrix.abs().max()):
            raise CurvatureError(
                "the matrix is not symmetric; pass (matrix + matrix.T) / 2 if you want its symmetric part"
            )
        self.matrix = matrix

    @property
    def P(self) -> int:
        """Dimension."""
        return len(self.matrix)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the matrix."""
        return self.matrix.dtype

    @property
    def device(self) -> torch.device:
        """Device of the matrix."""
        return self.matrix.device

    @exact_algebra()
    def products(self, vectors: Tensor) -> Tensor:
        """Multiply the matrix by each row, (k, P) to (k, P)."""
        return vectors @ self.matrix


def as_scipy(operator: SymmetricOperator) -> LinearOperator:
    """Convert the operator for SciPy: vectors ``(P,)`` or ``(P, k)``, real or complex, copied to its device."""

    def columns(vectors):  # type: ignore[no-untyped-def]
        if np.iscomplexobj(vectors):
            return columns(vectors.real) + 1j * columns(vectors.imag)
        given = np.ascontiguousarray(vectors)  # torch has no negative strides
        block = torch.as_tensor(given, dtype=operator.dtype, device=operator.device).reshape(operator.P, -1)
        return operator.products(block.T.contiguous()).T.cpu().numpy().reshape(vectors.shape)

    kind = {torch.float32: "float32", torch.float64: "float64"}[operator.dtype]
    return LinearOperator((operator.P, operator.P), matvec=columns, rmatvec=columns, matmat=columns, dtype=kind)
