"""A federated problem with a known solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from rmt.checks import abbreviate, freeze, require_finite, require_flag, require_order, require_unmasked


class ProblemError(ValueError):
    """Invalid numbers or shapes of a problem; the message names cause and remedy."""


def integer(name: str, n: Any) -> int:
    """Return a whole number as an int.

    Raises:
        ProblemError: It is none.
    """
    try:
        return require_order(name, abs(n)) * (-1 if n < 0 else 1)
    except (TypeError, ValueError):
        raise ProblemError(f"{name} must be a whole number, got {abbreviate(n)}") from None


def finite(name: str, value: Any) -> float:
    """Return a finite number as a float.

    Raises:
        ProblemError: It is none.
    """
    try:
        return require_finite(name, value)
    except ValueError as error:
        raise ProblemError(str(error)) from None


def not_negative(name: str, value: Any) -> float:
    """Return a finite number of at least 0 as a float.

    Raises:
        ProblemError: It is none.
    """
    found = finite(name, value)
    if found < 0.0:
        raise ProblemError(f"expected {name} >= 0, got {abbreviate(value)}")
    return found


def seed_number(seed: Any) -> int:
    """Return a seed as an int.

    Raises:
        ProblemError: It is not a whole number of at least 0.
    """
    found = integer("seed", seed)
    if found < 0:
        raise ProblemError(f"seed must be a whole number of at least 0, got {abbreviate(seed)}")
    return found


def flag(name: str, value: Any) -> bool:
    """Return a truth value as a bool.

    Raises:
        ProblemError: It is not True or False.
    """
    try:
        return require_flag(name, value)
    except ValueError as error:
        raise ProblemError(str(error)) from None


def unmasked(name: str, values: Any) -> Any:
    """Return an array or tensor without masked entries.

    Raises:
        ProblemError: It has some.
    """
    try:
        require_unmasked(name, values)
    except ValueError as error:
        raise ProblemError(str(error)) from None
    return values


def real_tensor(name: str, values: Any, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """Return real numbers as a tensor of some type on some device; by default a tensor stays on its own.

    Raises:
        ProblemError: They are not an array of real numbers, or an entry is masked.
    """
    if not isinstance(values, Tensor):
        try:
            return torch.tensor(freeze(name, values), dtype=dtype, device=device)
        except ValueError as error:
            raise ProblemError(str(error)) from None
    if values.is_complex():
        raise ProblemError(f"{name} must be an array of real numbers, got a tensor of {values.dtype}")
    return values.to(device, dtype)


def matrix_shape(shape: Any) -> tuple[int, int]:
    """Return the shape of a matrix as two ints.

    Raises:
        ProblemError: It is not two whole numbers.
    """
    try:
        m, n = shape
    except (TypeError, ValueError):
        raise ProblemError(f"shape must be two whole numbers, (m, n), got {abbreviate(shape)}") from None
    return integer("m of the shape (m, n)", m), integer("n of the shape (m, n)", n)


def sample_sizes(samples: Any, clients: int) -> list[int]:
    """Return each client's number of samples, from one number for all or one for each.

    Raises:
        ProblemError: One is not a whole number, or there are not as many as clients.
    """
    try:
        given = list(samples)
    except TypeError:  # also of arrays and tensors without dimensions, which claim to be iterable
        return [integer("a number of samples", samples)] * clients
    each = [integer("a number of samples", size) for size in given]
    if len(each) != clients:
        raise ProblemError(
            f"expected positive sizes and samples of {clients} clients, got {len(each)} numbers of samples"
        )
    return each


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Clients, initial weights, and what is known about the losses.

    The global loss is $L(w) = \sum_k s_kL_k(w)$ with the clients' losses $L_k$ and `shares` $s_k$.

    Attributes:
        name: Name of the problem.
        clients: The clients, each with ``loss(w)``; see `algorithms.exchange.Client`.
        start: Initial weights by name, here a single matrix ``W``.
        shares: Weights of the clients in averages, of sum 1.
        smoothness: A Lipschitz constant L of every client's gradient in the Frobenius norm.
        minimiser: Minimiser of the global loss, if it is unique and known.
        least: Value of the global loss at the minimiser.
        facts: Further known numbers and tensors, by name.
        measures: Further functions of the weights to evaluate, by name.

    Raises:
        ProblemError: The start is not finite, or its shape is not that of the clients' weights (their `weight_shape`,
            where they have one).
    """

    name: str
    clients: Sequence[Any]
    start: Mapping[str, Tensor]
    shares: Sequence[float]
    smoothness: float
    minimiser: Mapping[str, Tensor] | None = None
    least: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, Callable[[Mapping[str, Tensor]], float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check(self.clients)

    def _check(self, clients: Sequence[Any]) -> None:
        """Check the start, and that it has the shape of some clients' weights."""
        for name, part in self.start.items():
            if not torch.isfinite(part).all():
                raise ProblemError(f"the start {name} must be finite, but an entry is not: lower its scale")
        if "W" not in self.start:
            return
        found = tuple(self.start["W"].shape)
        for number, client in enumerate(clients):
            expected = tuple(getattr(client, "weight_shape", found))
            if found != expected:
                raise ProblemError(
                    f"start and clients must have one shape, got {found} for the start and {expected} for client "
                    f"{number}"
                )

    def loss(self, w: Mapping[str, Tensor]) -> float:
        """Return the global loss."""
        pairs = zip(self.shares, self.clients, strict=True)
        return float(sum(share * client.loss(w) for share, client in pairs))

    def evaluate_personal(self, weights_of: Callable[[int], Mapping[str, Tensor]], fed: Any = None) -> dict[str, float]:
        r"""Return `personal_loss`, $\sum_k s_kL_k(w_k)$ over the clients' own models $w_k$.

        Args:
            weights_of: Returns the model of a client, given its number.
            fed: The federation; not used here.
        """
        pairs = enumerate(zip(self.shares, self.clients, strict=True))
        return {"personal_loss": float(sum(share * client.loss(weights_of(k)) for k, (share, client) in pairs))}
