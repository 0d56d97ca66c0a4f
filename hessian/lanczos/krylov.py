r"""Krylov bases: Lanczos with one or several starting vectors, kept orthogonal, with restarts and residuals.

The basis V (orthonormal rows) satisfies $H V^T = V^T T + Q^T B$ with $T = V H V^T$ and Q the rows to come. Every
product is orthogonalised against the latest rows and then against the whole basis, until little changes, so converged
pairs do not appear twice. In exact arithmetic T is symmetric. Its antisymmetric part is therefore the rounding of the
products: it is measured here at no cost and added to every residual.

Where rows are stored in lower precision, those that are stored are the basis: each product is one with a stored row,
and what is new in it is split into the next stored row and a part E orthogonal to it, whose size is known. The
recurrence is then exact for $H - E^T V - V^T E$, whose eigenvalues are within $\|E\|_2$ of those of H.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hessian.lanczos.basis_rows import Rows, Span, Store, combine, project_out_of
from hessian.numerics.fixed_arrays import fix_arrays
from hessian.numerics.symmetric import (
    CurvatureError,
    SymmetricOperator,
    empty_rows,
    multiply,
    normal_rows,
    not_finite,
    rounding_of,
)

Array = NDArray[np.float64]
Positions = NDArray[np.int64]
Progress = Callable[[str], None]
Found = TypeVar("Found")
_FLOOR = 10.0
"""Units of rounding, relative to the norm, that no residual is said to be below."""


@dataclass(frozen=True, eq=False)
class RitzPairs:
    r"""Approximate eigenpairs.

    Attributes:
        values: Eigenvalues in decreasing order, shape ``(k,)``.
        vectors: Eigenvectors as orthonormal rows, shape ``(k, P)``.
        residuals: $\|Hu - \theta u\|_2$ with a floor for rounding; an eigenvalue lies within that of each value.
        missed: How far beyond the last values an eigenvalue may be that is missing among them, such as a copy of a
            repeated one, but with a small chance; infinite if there was no search for such.
        rounding: The floor of the residuals.
    """

    values: Array
    vectors: Tensor
    residuals: Array
    missed: float = inf
    rounding: float = 0.0

    def __post_init__(self) -> None:
        fix_arrays(self)

    def __len__(self) -> int:
        return len(self.values)


class Krylov:
    """A growing orthonormal basis and the operator's compression to it.

    Attributes:
        products: Products with one vector so far.
        starts: Starting vectors so far.
        given: Positions of rows that were given, such as approximate eigenvectors, which need not be random.
        restarted: The first row is no longer a starting vector.
        lost_square: Squared Frobenius norm of E, what lower precision of the rows has lost of the products.
        invariant: The basis spans an invariant subspace, to rounding; it grows only by `seed`.
    """

    def __init__(
        self,
        operator: SymmetricOperator,
        rng: np.random.Generator,
        *,
        block: int = 1,
        start: Tensor | None = None,
        given: Tensor | None = None,
        store: Store = Store(),  # noqa: B008
        outside: Sequence[Tensor] = (),
    ) -> None:
        """Start with a given vector, or draw normal ones and orthonormalise them.

        Args:
            operator: The matrix.
            rng: Source of the starting vectors.
            block: Number of starting vectors, and of products taken together.
            start: A single starting vector ``(P,)`` instead, not zero.
            given: Nearly orthonormal rows ``(k, P)`` that precede the starting vectors, which are then drawn in their
                complement. They wait for products like all others, and `bring_forward` changes the order.
            store: How the rows are kept.
            outside: Orthonormal rows ``(m, P)`` to whose complement the operator is compressed.

        Raises:
            CurvatureError: A block that is not between 1 and P.
        """
        if not 1 <= block <= operator.P:
            raise CurvatureError(f"block must lie between 1 and the dimension {operator.P}, got {block}")
        self._operator, self._rng, self._block, self._outside = operator, rng, block, tuple(outside)
        self.products = self.steps = self.starts = 0
        self.restarted = False
        self._rows = Rows(operator.P, operator.dtype, operator.device, store)
        self._columns = np.zeros((0, 0))  # row i, column j: <v_i, H v_j> as measured from H v_j; rows of Q included
        self.lost_square = 0.0
        self._scale = 0.0
        self._asymmetry = 0.0
        self._found: dict[Hashable, Any] = {}
        for row in () if given is None else given:
            self._add(row[None].to(operator.device, operator.dtype, copy=True))
        self.given: tuple[int, ...] = tuple(range(len(self._rows)))
        if start is None:
            self.seed(block)
        else:
            self._rows.append(start / torch.linalg.vector_norm(start))
            self.starts = 1

    @property
    def P(self) -> int:
        """Dimension of the operator."""
        return self._operator.P

    @property
    def size(self) -> int:
        """Rows of V, with a product each."""
        return self.steps

    @property
    def invariant(self) -> bool:
        """Whether no row is waiting for its product."""
        return len(self._rows) == self.steps

    @property
    def pending(self) -> int:
        """Number of rows that wait for their products."""
        return len(self._rows) - self.steps

    @property
    def basis(self) -> Tensor:
        """V, shape ``(size, P)``; a copy."""
        return self._rows.read(0, empty_rows(self._operator, self.steps))

    @property
    def span(self) -> Span:
        """V, as it is stored."""
        return self._rows, self.steps

    @property
    def waiting(self) -> Tensor:
        """Q, shape ``(rows, P)``; a copy."""
        return self._rows.read(self.steps, empty_rows(self._operator, len(self._rows) - self.steps))

    @property
    def compression(self) -> Array:
        """T, symmetric, shape ``(size, size)``."""

        def find() -> Array:
            square = self._columns[: self.steps, : self.steps]
            return _freeze((square + square.T) / 2.0)

        return self.remember("compression", find)

    @property
    def coupling(self) -> Array:
        """B, shape ``(rows of Q, size)``."""
        return self._columns[self.steps : len(self._rows), : self.steps]

    @property
    def largest(self) -> float:
        """Largest Ritz value in modulus."""
        return self.remember("largest", lambda: float(np.abs(np.linalg.eigvalsh(self.compression)).max()))

    @property
    def rounding(self) -> float:
        """Rounding of one product, measured by the asymmetry of T, with a floor of some units of the norm.

        The floor is higher where the operator knows that its products are rounded more.
        """
        unit = torch.finfo(self._operator.dtype).eps
        return max(self._asymmetry, max(_FLOOR * unit, rounding_of(self._operator)) * self._scale)

    def remember(self, name: Hashable, find: Callable[[], Found]) -> Found:
        """Return what ``find`` computes, stored under a name until the basis changes."""
        if name not in self._found:
            self._found[name] = find()
        found: Found = self._found[name]
        return found

    def seed(self, count: int = 1) -> None:
        """Add random rows orthogonal to all others, as far as memory allows; their products follow later."""
        self._found.clear()
        for _ in range(min(count, self._rows.room)):
            for _attempt in range(3):
                if self._add(normal_rows(self._operator, self._rng, 1)):
                    self.starts += 1
                    break

    def _add(self, row: Tensor) -> bool:
        """Add a row ``(1, P)``, orthogonal to all others; return whether that left anything of it."""
        row /= torch.linalg.vector_norm(row)
        _, norm = self._orthogonalise(row)
        if norm > 1e-6:
            self._rows.append(row[0].div_(norm))
        return norm > 1e-6

    def bring_forward(self, place: int) -> None:
        """Take the product with another waiting row next, which changes places with the one that was next.

        Args:
            place: Position of the row among all rows.
        """
        if place != self.steps:
            self._found.clear()
            self._rows.swap(self.steps, place)
            if len(self._columns) < len(self._rows):
                self._columns = np.pad(self._columns, ((0, len(self._rows) - len(self._columns)), (0, 0)))
            self._columns[[self.steps, place]] = self._columns[[place, self.steps]]
            places = {self.steps: place, place: self.steps}
            self.given = tuple(places.get(one, one) for one in self.given)

    def extend(self, steps: int, report: Callable[[int], None] | None = None) -> None:
        """Take so many further products, unless the basis becomes invariant.

        Args:
            steps: Number of products.
            report: Called with the size of the basis after each.

        Raises:
            CurvatureError: A product is not finite.
        """
        target, rows = self.steps + steps, empty_rows(self._operator, 0)
        while self.steps < target and not self.invariant:
            count = min(self._block, len(self._rows) - self.steps, target - self.steps)
            if count > len(rows):
                rows = empty_rows(self._operator, count)
            images = multiply(self._operator, self._rows.read(self.steps, rows[:count]))
            self.products += count
            self._found.clear()
            sizes = torch.linalg.vector_norm(images, dim=1).tolist()
            if not all(map(isfinite, sizes)):
                raise not_finite(self._operator)
            for place, (image, size) in enumerate(zip(images, sizes, strict=True), start=self.steps):
                self._take(image[None], size, place)
            self.steps += count
            self._measure_asymmetry(count)
            if report is not None:
                report(self.steps)

    def ritz(self) -> tuple[Array, Array, Array]:
        """Return Ritz values in increasing order, their coefficients (columns) and residuals without floor."""

        def find() -> tuple[Array, Array, Array]:
            values, coefficients = np.linalg.eigh(self.compression)
            residuals = np.linalg.norm(self.coupling @ coefficients, axis=0)
            return _freeze(values), _freeze(coefficients), _freeze(residuals)

        return self.remember("ritz", find)

    def power_of_start(self, power: int) -> Tensor:
        """Return $H^k v_1$, ``(P,)``, for the first row $v_1$, without a product.

        Args:
            power: Less than the number of steps from the one starting vector; given rows are multiplied, too.
        """
        if power == 0:
            return self._rows.read(0, empty_rows(self._operator, 1))[0]
        coefficients = np.ones((1, 1))
        for _ in range(power):
            coefficients = self._columns[:, : len(coefficients)] @ coefficients
            filled = np.flatnonzero(coefficients)
            coefficients = coefficients[: filled[-1] + 1 if len(filled) else 1]
        return combine(self._to_tensor(coefficients), (self._rows, len(coefficients)))[0]

    def pairs(self, wanted: Positions | list[int]) -> RitzPairs:
        """Return Ritz pairs, in decreasing order, by their positions in increasing order."""
        values, coefficients, residuals = self.ritz()
        order = np.sort(np.asarray(wanted, dtype=int))[::-1]
        vectors = combine(self._to_tensor(coefficients[:, order]), self.span)
        floor = self.rounding
        return RitzPairs(values[order], vectors, residuals[order] + floor + sqrt(self.lost_square), rounding=floor)

    def restart(self, kept: Positions | list[int]) -> None:
        """Restart with some Ritz vectors, by their positions, and the rows that wait (a thick restart)."""
        values, coefficients, _ = self.ritz()
        self._found.clear()
        self.restarted = True
        positions = np.asarray(kept, dtype=int)
        chosen = coefficients[:, positions]
        coupling = self.coupling @ chosen
        count, more = len(positions), len(self._rows) - self.steps
        self._rows.recombine(self._to_tensor(chosen), self.steps)
        self._columns = np.zeros((count + more, count))
        self._columns[:count] = np.diag(values[positions])
        self._columns[count : count + len(coupling)] = coupling
        self.steps = count

    def __getstate__(self) -> dict[str, Any]:
        """Leave out stored findings, which a copy computes itself."""
        return self.__dict__ | {"_found": {}}

    def _to_tensor(self, coefficients: Array) -> Tensor:
        """Return columns of coefficients as rows, with the dtype and device of the vectors."""
        return torch.from_numpy(coefficients.T.copy()).to(self._operator.device, self._operator.dtype)

    def _take(self, image: Tensor, size: float, place: int) -> None:
        """Split a product ``(1, P)``, in place, into its part in the basis, a column of T, and a new row."""
        self._scale = max(self._scale, size)
        # Nearly all of it lies along the rows of its step and its neighbours, except after a (re)start.
        coefficients, norm = self._orthogonalise(image, 3 * self._block)
        filled = len(self._rows)
        column = np.zeros(filled + 1)
        column[:filled] = coefficients
        unit = torch.finfo(self._operator.dtype).eps
        grow = filled < self._operator.P and norm > 10.0 * unit * self._scale * np.sqrt(filled)
        if grow:
            lost = self._rows.append(image[0].div_(norm))
            self.lost_square += (lost * norm) ** 2
            column[-1] = norm * sqrt(1.0 - lost**2)
        self._set_column(place, column if grow else column[:-1])

    def _orthogonalise(self, vector: Tensor, local: int = 0) -> tuple[Array, float]:
        """Subtract the projection on rows, at least twice, until a pass leaves more than half of the norm.

        Args:
            vector: One ``(1, P)``, changed in its place.
            local: The first pass is only against so many of the last rows; 0: against all, as the other passes are.

        Returns:
            Coefficients of all passes together, and the norm of what is left.
        """
        rows, count = self._rows, len(self._rows)
        total = np.zeros(count)
        before, first = float(torch.linalg.vector_norm(vector)), max(count - local, 0) if local else 0
        for number in range(1, 6):
            for others in self._outside:
                project_out_of(vector, others)
            total[first:] += project_out_of(vector, (rows, count), first)[0].double().cpu().numpy()
            after = float(torch.linalg.vector_norm(vector))
            if number >= 2 and after >= 0.5 * before:
                break
            before, first = after, 0
        return total, after

    def _set_column(self, place: int, column: Array) -> None:
        before = self._columns[:, :place]  # one that was left behind when a block was interrupted is taken again
        rows = max(len(before), len(column))
        self._columns = np.zeros((rows, place + 1))
        self._columns[: len(before), :place] = before
        self._columns[: len(column), place] = column

    def _measure_asymmetry(self, fresh: int) -> None:
        square = self._columns[: self.steps, : self.steps]
        recent = slice(self.steps - fresh, self.steps)
        self._asymmetry = max(self._asymmetry, float(np.abs(square[:, recent] - square[recent].T).max()))


def _freeze(array: Array) -> Array:
    """Make an array read-only, because it is kept, and return it."""
    array.setflags(write=False)
    return array
