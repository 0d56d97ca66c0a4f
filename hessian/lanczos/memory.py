"""Memory budgets: sizes are computed in advance, and the Krylov basis gets the remainder.

A budget counts tensors: the model and the copies of its weights, the data that stay in memory, the kept graph, the peak
of a product (measured on one), work vectors and the basis; on a processor also half a GiB for the program itself.
The checks of derivatives run first, with their own vectors and graph, which are freed afterwards. Memory that
libraries use within an operation is not counted.
"""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from numbers import Integral
from pathlib import Path

import torch
from torch import Tensor

from hessian.lanczos.basis_rows import Store
from hessian.lanczos.eigenpairs import more_in_search, usual_basis
from hessian.numerics.live_bytes import measure_memory
from hessian.numerics.symmetric import CurvatureError, SymmetricOperator, multiply, peak_elsewhere, prepare

MOST = 2**60
PROGRAM = 2**29
"""Bytes of the interpreter and its libraries, on a processor."""
MORE = 2
"""Vectors for work other than products, regardless of how many are multiplied together."""
OUTSIDE = 2
"""Largest number of vectors of a quadrature in addition to the one that is multiplied."""
COPIED = 5
"""Copies of the rows of a complement that are held where it is drawn whole: drawn, orthogonal, and work."""
LEAST, SPARE, FEW = 3, 5, 20
"""Rows of a basis, at least; how many more may wait for their products, and with how few rows in all only one may."""
DISK = 0.9
"""Share of the free disk that a file of rows may fill."""
_UNITS = {"B": 1} | {
    f"{letter}{kind}": unit**power
    for power, letter in enumerate("KMGT", start=1)
    for kind, unit in (("IB", 2**10), ("B", 10**3))
}
_PRECISIONS = (torch.float32, torch.float16)


@dataclass(frozen=True, init=False)
class Budget:
    """A limit on memory, on the device of the model.

    Attributes:
        limit: Bytes.
        scratch: Folder for rows of the basis that do not fit; nothing: there are fewer of them.
    """

    limit: int
    scratch: Path | None

    def __init__(self, limit: int | str, scratch: Path | str | None = None) -> None:
        """Check the limit and the folder.

        Args:
            limit: Bytes, or words such as ``6 GiB``.
            scratch: Existing folder for rows of the basis that do not fit.

        Raises:
            CurvatureError: The limit is not an amount of memory, or the folder does not exist.
        """
        object.__setattr__(self, "limit", _bytes_in(limit))
        if scratch is not None and not (isinstance(scratch, str | Path) and Path(scratch).is_dir()):
            raise CurvatureError(
                f"the folder {scratch} for vectors that do not fit does not exist: name an existing folder"
            )
        object.__setattr__(self, "scratch", None if scratch is None else Path(scratch))

    @staticmethod
    def of(memory: Budget | int | str) -> Budget:
        """Read a budget from a number of bytes, or from words such as ``6 GiB``.

        Raises:
            CurvatureError: Neither.
        """
        return memory if isinstance(memory, Budget) else Budget(memory)

    @staticmethod
    def named(memory: str, scratch: str | None) -> Budget:
        """Read a budget as given on a command line.

        Raises:
            CurvatureError: No amount of memory, or a folder that is none.
        """
        return Budget(memory, scratch)

    def check_dtypes(self, own: torch.dtype, held: int, numbers: int) -> tuple[torch.dtype, ...]:
        """Return the dtypes in which derivatives can be tested, by preference: double first, if memory suffices.

        Args:
            own: Type of the model.
            held: Bytes by then.
            numbers: Numbers that the checks hold at their peak.

        Raises:
            CurvatureError: Memory does not suffice for any.
        """
        tried = tuple(dict.fromkeys((torch.float64, own)))
        found = tuple(kind for kind in tried if held + numbers * kind.itemsize <= self.limit)
        if not found:
            least = held + numbers * own.itemsize
            raise CurvatureError(
                self.describe_shortage(least, "the model and the checks of its derivatives"), keywords=("parameters",)
            )
        return found

    def describe_missing_double(self, held: int, numbers: int) -> str:
        """Return the error if single precision cannot verify that products are derivatives, as at many kinks."""
        least = format_bytes(held + numbers * torch.float64.itemsize, up=True)
        return (
            "the products cannot be verified as second derivatives in single precision, for example because a "
            f"network has kinks: memory of {format_bytes(self.limit)} is too small for checks in double precision, "
            f"which need {least}"
        )

    def describe_shortage(self, least: int, what: str) -> str:
        """Return the error about a budget that is too small."""
        return (
            f"memory of {format_bytes(self.limit)} is too small: {what} need {format_bytes(least, up=True)}; "
            f"allow that much, use smaller batches, or choose fewer parameters="
        )

    def describe_full_disk(self, there: int, least: int) -> str:
        """Return the error about a scratch folder whose disk is full."""
        return (
            f"the disk of the folder {self.scratch} is full: {format_bytes(there)} are free, and a basis of a few rows "
            f"needs {format_bytes(least, up=True)} there; free space, name another folder, or allow more memory than "
            f"{format_bytes(self.limit)}"
        )


@dataclass(frozen=True)
class Plan:
    """A basis within a budget: its rows and their storage.

    Attributes:
        rows: Largest number of rows.
        together: Vectors multiplied together.
        store: Storage of the rows.
        words: Compromises made for the budget, in words; empty for none.
        complement: Rows of the basis' complement that may be drawn at once; None: any number.
        capacity: Rows that may be stored in all, those that wait for their products included; None: any number.
    """

    rows: int
    together: int
    store: Store
    words: str
    complement: int | None = None
    capacity: int | None = None


def give_back() -> None:
    """Give freed memory back to the system, because the GNU C library would keep it."""
    with suppress(AttributeError, OSError, TypeError):  # other libraries have no such function
        ctypes.CDLL(None).malloc_trim(0)


def bytes_of(tensors: Iterable[Tensor]) -> int:
    """Return the bytes of tensors, counting each storage once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def format_bytes(count: int, up: bool = False) -> str:
    """Format bytes with a unit, to three digits; rounded up, if asked."""
    sizes = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
    unit, size = next((one for one in sizes if count >= one[1]), sizes[-1])
    digits = max(0, 3 - len(str(count // size)))
    shown = -(-count * 10**digits // size) / 10**digits if up else count / size
    return f"{shown:.{digits}f} {unit}"


def plan_pairs(operator: SymmetricOperator, budget: Budget, pairs: int, steps: int) -> tuple[int, bool]:
    """Plan the rows for eigenpairs and whether the quadrature of the rest may keep its basis.

    Args:
        operator: The matrix.
        budget: Memory available.
        pairs: Number of eigenpairs wanted.
        steps: Steps of the quadrature.

    Returns:
        Rows of the basis that the pairs are found with, 0 where as many as usual fit, and vectors that shorten the
        search for copies too; and whether the quadrature has
        no room for a basis and keeps three vectors.

    Raises:
        CurvatureError: Even the minimum does not fit.
    """
    row = operator.P * operator.dtype.itemsize
    busy = _busy(operator, 1) + OUTSIDE * row
    free = (budget.limit - busy) // row
    rows, usual = free - pairs - 1, usual_basis(pairs)
    if rows < pairs + 2:
        least = busy + (2 * pairs + 3) * row
        raise CurvatureError(
            budget.describe_shortage(least, f"{pairs} eigenpairs") + ", or fewer --outliers", keywords=("parameters",)
        )
    most = min(usual, operator.P)
    return (0 if rows >= most + more_in_search(pairs) else min(rows, most)), free - pairs < min(steps + 1, operator.P)


def plan_basis(operator: SymmetricOperator, budget: Budget, rows: int, together: int) -> Plan:
    """Plan how a basis is kept within a budget.

    Args:
        operator: The matrix; what it holds is counted where it says so, in an attribute `held`.
        budget: Memory available.
        rows: Largest number of rows wanted.
        together: Vectors to multiply together, if there is room.

    Raises:
        CurvatureError: Even the minimum does not fit.
    """
    P, own = operator.P, operator.dtype
    for count in dict.fromkeys((together, 1)):
        free = budget.limit - _busy(operator, count)
        for kind in (own, *(kind for kind in _PRECISIONS if kind.itemsize < own.itemsize)):
            if (rows + SPARE) * P * kind.itemsize <= free:
                words = [] if kind == own else [f"basis in {_name(kind)}"]
                words += [] if count == together else [f"{count} vector at a time, not {together}"]
                rest = (free - (rows + SPARE) * P * kind.itemsize) // (P * own.itemsize)
                store = Store(kind, min(rows + SPARE, P))
                return Plan(rows, count, store, ", ".join(words), rest // COPIED, rows + SPARE)
    size = P * torch.float16.itemsize
    inside, outside, least = max(free // size, 0), 0, min(LEAST, rows) + 1
    if free < 0 or (budget.scratch is None and inside < least):
        needed = budget.limit - free + (0 if budget.scratch is not None else least * size)
        hint = "" if budget.scratch is not None else "; or name a folder for rows of the basis, scratch="
        raise CurvatureError(
            budget.describe_shortage(needed, "the model, its products and a basis of a few rows") + hint,
            keywords=("parameters", "scratch"),
        )
    if budget.scratch is not None:
        there = shutil.disk_usage(budget.scratch).free
        outside = min(rows + SPARE - inside, int(DISK * there) // size)
        if inside + outside < least:
            raise CurvatureError(budget.describe_full_disk(there, ceil((least - inside) * size / DISK)))
    found = inside + outside - (SPARE if inside + outside > FEW else 1)
    words = ["basis in float16"]
    words += [f"{outside} of {inside + outside} rows in a file"] if outside else []
    words += [f"at most {found} rows, not {rows}"] if found < rows else []
    words += [f"1 vector at a time, not {together}"] if together > 1 else []
    store = Store(torch.float16, inside, budget.scratch if outside else None)
    return Plan(min(found, rows), 1, store, ", ".join(words), 0, inside + outside)


def _busy(operator: SymmetricOperator, together: int) -> int:
    """Return the bytes that the operator holds, of the vectors, and of the peak of their product or of later steps."""
    prepare(operator, together)
    row = operator.P * operator.dtype.itemsize
    rows = torch.zeros((together, operator.P), dtype=operator.dtype, device=operator.device)
    peak = measure_memory(lambda: multiply(operator, rows), operator.device)[1].peak + peak_elsewhere(operator, rows)
    return sum(getattr(operator, "held", {}).values()) + together * row + max(peak, MORE * row)


def _bytes_in(memory: int | str) -> int:
    """Return the bytes of an amount of memory."""
    whole = isinstance(memory, Integral | float) and not isinstance(memory, bool) and memory % 1 == 0
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]+)\s*", str(memory))
    count = 0
    if whole:
        count = int(memory)
    elif match is not None:
        count = round(min(float(match[1]) * _UNITS.get(match[2].upper(), 0), MOST))
    if not 0 < count < MOST:
        raise CurvatureError(
            "memory must be a positive number of bytes, and less than 2^60, or look like '6 GiB' or '800 MB', "
            f"got {memory!r}",
            keywords=("memory",),
        )
    return count


def _name(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
