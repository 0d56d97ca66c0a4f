r"""Costs of a round, counted while the algorithms run: what clients and server send, compute and hold.

A client is one layer with b samples, $\frac1{2b}\|XW - T\|^2$, evaluated factor by factor where the weights come as
factors, as a network does it. Counts at many sizes are turned into polynomials in the width n, the rank r, the local
steps s and the samples b, which say what a cost is at any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product as combinations
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Exchange, Executor, Reply
from algorithms.fedlin import FedLin
from algorithms.fedlrt import Correction, FeDLRT
from algorithms.fedlrt_naive import NaiveFeDLRT
from algorithms.ledger import Direction
from algorithms.low_rank import USV, Truncation
from algorithms.rounds import one_round
from algorithms.tree import Tree, tensors
from paper_checks.recorded_federation import Seen, Watched

FULL_RANK = ("FedAvg", "FedLin")

LOW_RANK: dict[str, Correction] = {"FeDLRT": "none", "FeDLRT, simplified": "simplified", "FeDLRT, full": "full"}
"""Variants of FeDLRT and their corrections."""

METHODS = (*FULL_RANK, *LOW_RANK)

COSTS = ("client compute", "client memory", "server compute", "server memory", "communication")

CLIENTS = 2

Powers = tuple[int, int, int, int]
"""Exponents of n, r, s and b."""

Polynomial = Mapping[Powers, int]


@dataclass(frozen=True, eq=False)
class Layer:
    """A linear layer with samples; in bases, its coefficients are the weights.

    Attributes:
        X: Inputs, ``(b, m)``.
        T: Outputs wanted, ``(b, n)``.
        U: Basis ``(m, k)`` of the inputs, if the weights are coefficients.
        V: Basis ``(n, k)`` of the outputs.
    """

    X: Tensor
    T: Tensor
    U: Tensor | None = None
    V: Tensor | None = None

    @property
    def samples(self) -> float:
        """Return the number of samples."""
        return float(len(self.X))

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return half the mean squared distance."""
        if self.U is None or self.V is None:
            return self._of(self.X @ w["W"])
        return self._of(self.X @ self.U @ w["W"] @ self.V.mT)

    def factored(self, U: Mapping[str, Tensor], S: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> Tensor:
        """Return the loss at U S V^T, which is not formed."""
        return self.projected(U, V).loss({"W": S["W"]})

    def projected(self, U: Mapping[str, Tensor], V: Mapping[str, Tensor]) -> Layer:
        """The layer with coefficients for weights; its samples pass through the bases every time, as new ones do."""
        return Layer(self.X, self.T, U["W"], V["W"])

    def _of(self, output: Tensor) -> Tensor:
        return 0.5 * ((output - self.T) ** 2).sum() / self.samples


_TIMES = {"mm", "bmm", "mv", "dot", "addmm"}

_EACH_ENTRY = {"add", "sub", "mul", "div", "neg", "pow", "sum", "mean", "rsub"}


@dataclass(frozen=True)
class Operation:
    """One operation on tensors: where it was done, what it is, the shapes of what it takes, and of what it gives."""

    place: str
    name: str
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]

    @property
    def multiplications(self) -> int:
        """Return the multiplications, each with its addition; for factorisations and entries the leading order."""
        if self.name in _TIMES:
            first, second = self.shapes[-2:]
            return prod(first) * (second[-1] if len(second) > 1 else 1)
        if self.name == "linalg_qr":  # reflections, and the orthonormal columns from them
            rows, columns = self.shapes[0]
            return 2 * rows * columns**2
        if self.name == "_linalg_svd":
            return prod(self.shapes[0]) * min(self.shapes[0])
        if self.name in _EACH_ENTRY:
            return max((prod(shape) for shape in (*self.shapes, self.result)), default=1)
        if self.name == "addcmul":  # a product for each factor that is not a number, and a sum
            return prod(self.result) * (1 + sum(bool(shape) for shape in self.shapes[1:]))
        return 0


_FOREACH = "_foreach_"


class Recorder(TorchDispatchMode, Executor):
    """Writes down every operation, with the place that is named at the time."""

    def __init__(self) -> None:
        super().__init__()
        self.place, self.operations = "server", list[Operation]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and note it."""
        found = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.rstrip("_")
        lists = [arg for arg in args if isinstance(arg, list | tuple) and any(isinstance(one, Tensor) for one in arg)]
        if name.startswith(_FOREACH):  # one operation for each place in its lists of tensors
            for number, parts in enumerate(zip(*lists, strict=True)):
                self._note(name.removeprefix(_FOREACH), parts, found[number : number + 1] if found else parts[:1])
        else:
            self._note(name, args, found if isinstance(found, tuple | list) else (found,))
        return found

    def _note(self, name: str, taken: Sequence[Any], given: Sequence[Any]) -> None:
        shapes = tuple(tuple(part.shape) for part in taken if isinstance(part, Tensor))
        results = [tuple(part.shape) for part in given if isinstance(part, Tensor)]
        self.operations.append(Operation(self.place, name, shapes, max(results, key=prod, default=())))

    def replies(self, trip: Exchange) -> Iterator[Reply]:
        """Run the clients' work, one after the other; note the operations of the first as the client's."""
        assert trip.clients is not None
        for place, number in enumerate(trip.cohort):
            client = trip.clients[number]
            self.place = "client" if place == 0 else "another client"
            reply = trip.work(client, trip.memory(number, client), **trip.sent)
            self.place = "server"
            yield reply


@dataclass(frozen=True)
class Sizes:
    """Width, rank, local steps, samples; rows of the weights, if they are not as many as the columns."""

    n: int
    r: int = 1
    s: int = 1
    b: int = 1
    rows: int | None = None

    @property
    def m(self) -> int:
        """Return the number of rows of the weights."""
        return self.n if self.rows is None else self.rows


def _numbers(message: Any) -> int:
    return sum(array.numel() for array in tensors(message))


FACTORISATIONS = {"linalg_qr": "QR", "_linalg_svd": "SVD"}


@dataclass(frozen=True)
class Counted:
    """One round of a method.

    Attributes:
        sizes: Sizes of the layer.
        trips: Messages that were sent and answered.
        operations: Operations on the server and at the first client.
        costs: Costs by name. A client's memory is what its local steps need besides data: bases, coefficients (or
            weights), their gradient, the correction; the server's is what it holds when it makes the next state.
        messages: Numbers per client, for each trip and direction.
    """

    sizes: Sizes
    trips: tuple[Seen, ...]
    operations: tuple[Operation, ...]
    costs: Mapping[str, int]
    messages: Mapping[tuple[int, Direction], int] = field(default_factory=dict)

    def factorisations(self) -> list[Operation]:
        """Return the orthogonal factors and singular values, wherever they were computed."""
        return [one for one in self.operations if one.name in FACTORISATIONS]

    @property
    def last_upload(self) -> int:
        """Return the numbers that a client sends at the end of its local steps."""
        return _numbers(self.trips[-1].uploads[0])

    def largest(self) -> int:
        """Return the entries of the largest matrix that was formed, at any place; samples do not count."""
        sides = {self.sizes.m, self.sizes.n}
        return max(
            (
                prod(one.result)
                for one in self.operations
                if len(one.result) == 2 and (self.sizes.b not in one.result or sides >= set(one.result))
            ),
            default=0,
        )


@cache
def count_round(method: str, sizes: Sizes, seed: int = 0) -> Counted:
    """Count one round of a method, with all its singular values kept; `naive` is Algorithm 6."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> Tensor:
        return torch.from_numpy(rng.standard_normal(shape))

    m, n, r = sizes.m, sizes.n, sizes.r
    clients = tuple(Layer(normal(sizes.b, m), normal(sizes.b, n)) for _ in range(CLIENTS))
    bases = [Tree(W=torch.linalg.qr(normal(side, r))[0]) for side in (m, n)]
    state = USV(bases[0], Tree(W=torch.diag(1.0 + normal(r).abs())), bases[1])
    local = Descent(sizes.s, 1e-2)
    recorder = Recorder()
    fed = Watched(clients, executor=recorder)
    truncation = Truncation(0.0, least=r, most=r)
    bars: Any = ()
    with recorder:
        if method in FULL_RANK:
            one_round((FedAvg if method == "FedAvg" else FedLin)(local).round, fed, Tree(W=normal(m, n)))
        elif method == "naive":
            one_round(NaiveFeDLRT(local, r, truncation).round, fed, state)
        else:
            one_round(FeDLRT(local, r, truncation, LOW_RANK[method]).round, fed, state)
            bars = next((trip.sent["Ubar"], trip.sent["Vbar"]) for trip in fed.trips if "Ubar" in trip.sent)
    # What a client ends with, and its gradient; a mean gradient that was sent is what it is corrected by.
    last, wide = fed.trips[-1], _numbers((state.U, state.V, bars)) if bars else 0
    correction = [last.sent[name] for name in ("G", "G_S", "G_St") if name in last.sent]
    client = wide + 2 * _numbers(last.uploads[0]) + _numbers(correction)
    server = wide + _numbers(last.uploads[0]) + (0 if bars else m * n)
    work = {
        place: sum(one.multiplications for one in recorder.operations if one.place == place)
        for place in ("client", "server")
    }
    messages = {(entry.trip, entry.direction): entry.entries // entry.clients for entry in fed.ledger.entries}
    costs = {
        "client compute": work["client"],
        "client memory": client,
        "server compute": work["server"],
        "server memory": server,
        "communication": fed.ledger.count() // CLIENTS,
    }
    seen = tuple(one for one in recorder.operations if one.place in ("client", "server"))
    return Counted(sizes, tuple(fed.trips), seen, costs, messages)


def grid(method: str) -> list[Sizes]:
    """Return sizes enough to tell the polynomials apart, and some to confirm them.

    There are samples enough for basis gradients of rank r, as a layer has: with fewer a basis is completed by columns
    of its own, which takes another orthogonal factor.
    """
    widths = [(n, 1) for n in (11, 14, 18)] if method in FULL_RANK else [*combinations((11, 14), (1, 2, 3, 5)), (18, 4)]
    return [Sizes(n, r, s, b) for (n, r), s, b in combinations(widths, (1, 2), (3, 5))]


def evaluate(polynomial: Mapping[Powers, Any], n: Any, r: Any, s: Any = 1, b: Any = 1) -> Any:
    """Evaluate a polynomial."""
    return sum(factor * n**i * r**j * s**k * b**h for (i, j, k, h), factor in polynomial.items())


def interpolate(counts: Mapping[Sizes, int]) -> dict[Powers, int]:
    """Return the polynomial with whole coefficients that gives all counts.

    Raises:
        ValueError: There is none of low degree.
    """
    full = len({size.r for size in counts}) == 1
    widths = ((0, 0), (1, 0), (2, 0)) if full else ((0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3))
    powers = [(i, j, k, h) for (i, j), k, h in combinations(widths, (0, 1), (0, 1))]
    table = np.array(
        [[float(size.n**i * size.r**j * size.s**k * size.b**h) for i, j, k, h in powers] for size in counts]
    )
    scale = np.abs(table).max(axis=0)
    solved = np.linalg.lstsq(table / scale, np.array(list(counts.values()), dtype=float), rcond=None)[0] / scale
    found = {power: round(float(value)) for power, value in zip(powers, solved, strict=True) if round(float(value))}
    for size, value in counts.items():
        if evaluate(found, size.n, size.r, size.s, size.b) != value:
            raise ValueError(f"no polynomial of low degree gives the counts: {value} at {size}")
    return found


@cache
def polynomials(method: str) -> dict[str, dict[Powers, int]]:
    """Return every cost of a method in n, r, s and b."""
    counts = {size: count_round(method, size).costs for size in grid(method)}
    return {cost: interpolate({size: of[cost] for size, of in counts.items()}) for cost in COSTS}


def describe_polynomial(polynomial: Mapping[Powers, Any]) -> str:
    """Write a polynomial in words."""
    terms = []
    for (i, j, k, h), factor in sorted(polynomial.items(), reverse=True):
        letters = "".join(
            f"{name}^{power}" if power > 1 else name for name, power in zip("nrsb", (i, j, k, h), strict=True) if power
        )
        terms.append(f"{factor}{letters}" if letters else f"{factor}")
    return " + ".join(terms).replace("+ -", "- ")


def unbounded_term(cost: Mapping[Powers, Any], entry: Mapping[Powers, Any]) -> Powers | None:
    """Return the first term of a cost that no term of an entry bounds up to a factor, for all 1 <= r <= n, or None.

    A term with exponents (i, j) of (n, r) is bounded by (i', j') for all 1 <= r <= n if it is at r = 1 and at r = n.
    """
    for i, j, k, h in cost:
        if not any(i <= n and i + j <= n + r and k <= s and h <= b for n, r, s, b in entry):
            return (i, j, k, h)
    return None
