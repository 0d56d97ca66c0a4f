r"""Many starts of one federation at once, computed by the algorithms' own rounds.

A round acts on many weights along a leading dimension. FeDLRT chooses a rank for each start separately, and starts of
equal rank then continue together. On quadratic losses, a round of FedAvg or FedLin is an affine map of the weights. One
round from the zero matrix and one from every unit matrix determine the map, and its powers give later rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.fedlin import FedLin
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import USV, Truncation, factorise, product
from algorithms.rounds import one_round
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from toymodels.product_features import ProductGram

Follow = Callable[[int, list[int], Tensor, int], Sequence[bool]]
"""Called with a round, numbers of starts, their weights and rank; returns which of them need no further rounds."""


@dataclass(frozen=True)
class KeepAll(Truncation):
    """A truncation that keeps every singular value, so each start can be truncated separately."""

    def rank(self, sigma: Tensor) -> int:
        """Return as many as there are."""
        return sigma.shape[-1]


def recorded_rounds(rounds: int, dense: int = 20) -> list[int]:
    """Return the rounds to record: each of the first ones, then ever fewer, and the last."""
    found, stride = [0], 1
    while found[-1] + stride <= rounds:
        found.append(found[-1] + stride)
        if found[-1] >= dense * stride:
            stride *= 2
    return found if found[-1] == rounds else [*found, rounds]


def run_fedlrt(
    clients: Sequence[ProductGram],
    starts: Tensor,
    algorithm: FeDLRT,
    ranks: Sequence[int],
    truncations: Sequence[Truncation],
    rounds: int,
    follow: Follow,
) -> None:
    """Run FeDLRT on one problem from each start.

    Args:
        clients: Clients, each with as many targets as there are starts.
        starts: Weights, ``(starts, m, n)``.
        algorithm: Algorithm, whose own rank and truncation are not used.
        ranks: Ranks of each start.
        truncations: Truncation of each start.
        rounds: The last round.
        follow: Sees every round, and ends starts.
    """
    everything = replace(algorithm, truncation=KeepAll())
    states: dict[int, USV] = {}
    for number, (W, rank) in enumerate(zip(starts, ranks, strict=True)):
        states[number] = factorise(Tree(W=W), rank)
    federations: dict[tuple[int, ...], Federation] = {}
    for count in range(rounds + 1):
        groups: dict[int, list[int]] = {}
        for number, state in states.items():
            groups.setdefault(state.S["W"].shape[-1], []).append(number)
        federations = {key: fed for key, fed in federations.items() if list(key) in groups.values()}
        for rank, numbers in sorted(groups.items()):
            state = _stack([states[number] for number in numbers])
            done = follow(count, numbers, product(state)["W"], rank)
            states = {n: s for n, s in states.items() if n not in numbers or not done[numbers.index(n)]}
            numbers = [number for number, over in zip(numbers, done, strict=True) if not over]
            if not numbers or count == rounds:
                continue
            if len(numbers) < len(done):
                state = _stack([states[number] for number in numbers])
            fed = federations.get(tuple(numbers))
            if fed is None:
                fed = federations[tuple(numbers)] = Federation(
                    [client.select(numbers) for client in clients], executor=Vmap()
                )
            found = one_round(everything.round, fed, state)
            sigma = torch.diagonal(found.S["W"], dim1=-2, dim2=-1)
            for place, number in enumerate(numbers):
                r = truncations[number].rank(sigma[place])
                states[number] = USV(
                    Tree(W=found.U["W"][place, :, :r]),
                    Tree(W=found.S["W"][place, :r, :r]),
                    Tree(W=found.V["W"][place, :, :r]),
                )
        if not states:
            return


def affine_map(algorithm: FedAvg | FedLin, clients: Sequence[ProductGram]) -> tuple[Tensor, Tensor]:
    r"""Return one round as $w \mapsto A w + b$ on weights written as rows.

    Args:
        algorithm: Algorithm of the round.
        clients: Clients with targets ``(problems, m, n)``.

    Returns:
        The transpose of A, ``(mn, mn)``, and b for each problem, ``(problems, mn)``.
    """
    m, n = clients[0].B.shape[-2:]
    unit = torch.eye(m * n, dtype=clients[0].B.dtype).reshape(m * n, m, n)
    aimless = [replace(c, B=torch.zeros_like(c.B[0]), c=torch.zeros_like(c.c[0])) for c in clients]
    fed = Federation(aimless, executor=Vmap())
    linear = one_round(algorithm.round, fed, Tree(W=unit))["W"]
    fed = Federation(clients, executor=Vmap())
    constant = one_round(algorithm.round, fed, Tree(W=torch.zeros_like(clients[0].B)))["W"]
    return linear.flatten(1), constant.flatten(1)


def iterate(A: Tensor, b: Tensor, starts: Tensor, rounds: Sequence[int]) -> Tensor:
    """Return the weights ``(rounds, problems, m, n)`` after the given rounds of an affine map, sorted, from 0.

    Args:
        A: Transposed matrix of the map.
        b: Constants of the map.
        starts: ``(problems, m, n)``.
        rounds: Numbers of the rounds.
    """
    ones = torch.ones(len(starts), 1, dtype=A.dtype)
    maps: dict[int, tuple[Tensor, Tensor]] = {1: (A, b)}
    w, now, found = starts.flatten(1), 0, []
    for count in rounds:
        strides = [1 << place for place in range((count - now).bit_length()) if (count - now) >> place & 1]
        for stride in strides:
            linear, constant = _power(maps, stride)
            w = w @ linear + constant * ones
        now = count
        found.append(w.reshape(starts.shape))
    return torch.stack(found)


def _power(maps: dict[int, tuple[Tensor, Tensor]], stride: int) -> tuple[Tensor, Tensor]:
    """Return a power of two of a map, squared from half that power."""
    if stride not in maps:
        linear, constant = _power(maps, stride // 2)
        maps[stride] = linear @ linear, constant @ linear + constant
    return maps[stride]


def _stack(states: Sequence[USV]) -> USV:
    return USV(*(Tree(W=torch.stack([state[part]["W"] for state in states])) for part in range(3)))
