"""Curvature of a federation: the server's weights, on all samples and on single clients' samples."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor

from algorithms.weights import Weight
from hessian.operators.curvature import Curvature
from runs.network_problem import NetworkProblem
from runs.networks.network_function import Batch

SERVER = -1
"""Number of the server among the numbers of clients."""
ROWS = 500
"""Samples at a time in a product."""


def curvatures(
    problem: NetworkProblem, weights: Mapping[str, Weight], clients: Iterable[int], double: bool = False, **options: Any
) -> Iterator[tuple[int, Curvature]]:
    """Yield the matrix at the server's weights, for the samples of all clients and of single clients.

    Samples are prepared as for tests: neither cropped nor flipped, with batch norm's running statistics. Layers that
    normalise every batch by itself do so here as well.

    Args:
        problem: Network and clients.
        weights: Weights of the server.
        clients: Numbers of the clients; `SERVER` for all samples.
        double: Whether to measure in double precision.
        options: Options of `Curvature`.

    Raises:
        CurvatureError: A network, a loss or data whose curvature cannot be taken.
    """
    network, data = problem.clients.network, problem.clients.data
    module = copy.deepcopy(network.testing.module)
    module = module.double() if double else module  # before the weights, which would be rounded to its type
    module.load_state_dict(dict(weights), strict=False)
    norms = "batch" if network.joint_in_tests else "running"
    for client in clients:
        x, y = network.prepare_samples(data, Batch(samples_of(problem, client)))
        count = -(-len(x) // ROWS)
        batches = list(zip(x.tensor_split(count), y.tensor_split(count), strict=True))
        yield client, Curvature(module, network.loss, batches, batch_norm=norms, **options)


def samples_of(problem: NetworkProblem, client: int) -> Tensor:
    """Return the samples of a client, or of all clients."""
    clients = problem.clients
    return (clients.pooled() if client == SERVER else clients[client]).indices
