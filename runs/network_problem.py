"""Federated training of a network: a module, one tensor of data, and clients given by indices of samples.

`network_problem` checks the module and the data once, on entry. Clients are created on demand. Random numbers of
augmentation and drop-out are drawn before the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from algorithms.federation import Federation, FederationError, require_whole
from algorithms.tree import Tree
from algorithms.weights import Weight
from runs.networks.network_checks import (
    check_split,
    is_of_classes,
    require_fit,
    require_given_weights,
    require_learnable,
    require_no_other_state,
    require_separate,
    require_trainable,
    with_derivatives,
)
from runs.networks.network_function import Batch, Labelled, Loss, Network, Statistics, count_parts, network_of
from workloads.data.augmentation import Offsets, Preparation
from workloads.partition import Indices, PartitionError, Parts

P = ParamSpec("P")
T = TypeVar("T")
ROWS = 1000
"""Samples at a time, unless another number is named."""


@dataclass(frozen=True, eq=False)
class NetworkClient:
    """The loss of a network on the samples of one client.

    Attributes:
        network: The network, the same for all clients.
        data: The samples of all clients.
        indices: Indices of this client's samples, int64 (n,).
        rows: Samples at a time in passes over all of them.
    """

    takes_values: ClassVar[bool] = True

    network: Network
    data: Labelled
    indices: Tensor
    rows: int = ROWS

    @property
    def samples(self) -> int:
        """Size of its data."""
        return len(self.indices)

    @property
    def statistics(self) -> frozenset[str]:
        """Names of the weights that are statistics: they are replaced after a step, and never differentiated."""
        return self.network.statistics

    @property
    def random(self) -> bool:
        """Whether steps also need random numbers, for drop-out, crops or flips."""
        prepare = self.network.preparation
        return self.network.random or (prepare is not None and prepare.random)

    def loss(self, w: Mapping[str, Weight], batch: Batch | Tensor | None = None) -> Tensor:
        """Return the mean loss of a batch in training mode; by default, of all samples without crops and flips."""
        return self.loss_and_statistics(w, batch)[0]

    def loss_and_statistics(
        self, w: Mapping[str, Weight], batch: Batch | Tensor | None = None
    ) -> tuple[Tensor, Mapping[str, Tensor]]:
        """Return the loss and the new running statistics."""
        return self.network.loss_and_statistics(w, self.data, self._own(batch))

    @contextmanager
    def bind_weights(self, w: Mapping[str, Weight]) -> Iterator[Callable[[Batch], Tensor]]:
        """Yield the mean loss of a batch in training mode, at weights that may change in place between calls.

        As in ordinary training, a module that keeps a reference to a parameter sees these changes.
        """
        with self.network.bind(w) as loss:
            yield lambda batch: loss(self.data, self._own(batch))

    def _own(self, batch: Batch | Tensor | None) -> Batch:
        """Return a batch with its samples' indices among those of all clients; default: all samples."""
        if isinstance(batch, Batch):
            return Batch(self.indices.index_select(0, batch.samples), batch.offsets, batch.noise)
        return Batch(self.indices if batch is None else self.indices[batch])

    def batches(self, rng: np.random.Generator, indices: Sequence[Tensor]) -> Sequence[Batch]:
        """Return the batches of steps with these samples, and draw their crops, flips and noise.

        All of them are brought to the device of the data at once, so no step waits for a copy.
        """
        prepare, device, sizes = self.network.preparation, self.data.x.device, [len(samples) for samples in indices]
        samples = torch.cat(list(indices)).to(device).split(sizes)
        if prepare is None or not prepare.random:
            offsets: list[Offsets | None] = [None] * len(sizes)
        else:
            drawn = (part.to(device).split(sizes) for part in prepare.draw(rng, sum(sizes)))
            offsets = [Offsets(*parts) for parts in zip(*drawn, strict=True)]
        noise = rng.integers(2**63, size=len(sizes)).tolist() if self.network.random else [None] * len(sizes)
        return [Batch(*parts) for parts in zip(samples, offsets, noise, strict=True)]

    def passes(self, together: bool) -> Sequence[tuple[float, Tensor]]:
        """Return all samples in parts of at most `rows`, with their weights in the mean loss.

        Batch norm normalises each part by itself, and no part is of one sample there unless rows are 1.

        Args:
            together: Leave them in one part where batch norm would notice the difference.
        """
        joint = self.network.joint
        count = 1 if together and joint else count_parts(self.samples, self.rows, 2 if joint else 1)
        places = torch.arange(self.samples, device=self.indices.device)
        return [(len(part) / self.samples, part) for part in places.tensor_split(count)]

    def tensors(self) -> Mapping[str, Tensor]:
        """Return the tensors that distinguish it from other clients."""
        return {"indices": self.indices}

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> NetworkClient:
        """Return the client with other samples."""
        return NetworkClient(self.network, self.data, tensors["indices"], self.rows)


@dataclass(frozen=True, eq=False)
class NetworkClients(Sequence[NetworkClient]):
    """Clients that are built on demand.

    Attributes:
        network: The network.
        data: The samples of all clients.
        parts: Each client's samples.
        rows: Samples at a time in passes over all of a client's.
    """

    network: Network
    data: Labelled
    parts: Parts
    rows: int = ROWS

    @property
    def sizes(self) -> Sequence[float]:
        """Size of each client's data."""
        return self.parts.sizes  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: Any) -> Any:
        return self._client(self.parts[number])

    def pooled(self) -> NetworkClient:
        """Return one client with all samples, for central training."""
        return self._client(self.parts.order)

    def _client(self, indices: Indices) -> NetworkClient:
        return NetworkClient(self.network, self.data, torch.from_numpy(indices).to(self.data.x.device), self.rows)


@dataclass(frozen=True, eq=False)
class NetworkProblem:
    """A federated problem of a network: clients with data, and the evaluation of weights.

    Attributes:
        name: Name of the problem.
        clients: Clients, each made when it is asked for.
        start: Initial weights: the trained parameters, and the running statistics that travel.
        splits: Samples on which weights are evaluated; names of numbers begin with the split's, but for `test`.
        own: Held-out samples of each client, for personal weights; none: all of the test split.
        rows: Samples evaluated at a time.
        given: Digests of a network, of data and of clients' samples that the user's functions and files gave, by kind;
            and numbers that the network computes.
    """

    name: str
    clients: NetworkClients
    start: Tree
    splits: Mapping[str, Labelled]
    own: Parts | None = None
    rows: int = ROWS
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shares(self) -> Any:
        """Weights of the clients in averages: the sizes of their data."""
        return None

    def width_of(self, batch: int) -> int | None:
        """Return the mean width of a batch of training samples; None if all samples have one size."""
        return None

    def of_width(self, width: int | None) -> NetworkProblem:
        """Return the problem with all training samples of one width, to measure the cost of a step."""
        return self

    def evaluate(self, w: Mapping[str, Weight], fed: Federation | None = None) -> dict[str, float]:
        """Return loss and top-1 accuracy in evaluation mode, on every split."""
        network = self.clients.network
        return {
            name if split == "test" else f"{split}_{name}": value
            for split, data in self.splits.items()
            for name, value in network.test(w, data, self.rows).items()
        }

    def evaluate_personal(
        self, weights_of: Callable[[int], Mapping[str, Weight]], fed: Federation | None = None
    ) -> dict[str, float]:
        """Return loss and accuracy of personal weights on the clients' own held-out samples, averaged over clients.

        Args:
            weights_of: The weights of a client, by its number.
            fed: Not needed.
        """
        found = []
        for number in range(len(self.clients)):
            data = self.splits["test"]
            if self.own is not None:
                chosen = torch.from_numpy(self.own[number]).to(data.x.device)
                data = Labelled(*(part[chosen] for part in self.clients.data))
            found.append(self.clients.network.test(weights_of(number), data, self.rows))
        return {f"personal_{name}": sum(one[name] for one in found) / len(found) for name in found[0]}


def with_earlier_keywords(**present: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function take keywords under their earlier names as well.

    Args:
        present: The present name of each keyword by its earlier one.
    """

    def accept(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **keywords: P.kwargs) -> T:
            return function(*args, **{present.get(name, name): value for name, value in keywords.items()})  # type: ignore[arg-type]

        return call

    return accept


@with_earlier_keywords(rows="eval_batch")
def network_problem(
    module: nn.Module,
    train: tuple[Tensor, Tensor],
    parts: Parts | Sequence[Indices],
    test: tuple[Tensor, Tensor],
    *,
    loss: Loss = nn.functional.cross_entropy,
    preparation: Preparation | None = None,
    statistics: Statistics = "averaged",
    validation: tuple[Tensor, Tensor] | None = None,
    own: Parts | Sequence[Indices] | None = None,
    eval_batch: int = ROWS,
    name: str = "network",
    accuracy: bool | None = None,
) -> NetworkProblem:
    """Build a federated problem from a module and data.

    Args:
        module: Any network from inputs (n, ...) to one tensor of outputs (n, ...), each sample's from its own inputs
            only, except with batch norm. Its parameters that need a gradient are trained; all others stay as they are.
            It is copied.
        train: Inputs and targets of all clients, on the module's device.
        parts: Indices of each client's samples, each sample once.
        test: Inputs and targets for evaluation.
        loss: Maps outputs and targets to the mean loss.
        preparation: Crops, flips and normalisation of images.
        statistics: Statistics of batch norm. `averaged`: running means and variances travel and are averaged with the
            weights. `batch`: every batch is normalised by itself, in evaluation too, and nothing travels.
        validation: Inputs and targets to evaluate in addition to the test split.
        own: Held-out samples of each client, for personal weights, among `train`: in nobody's part, each once at a
            client.
        eval_batch: Samples per batch in evaluations and full gradients; batch norm normalises each batch separately.
        name: Name of the problem.
        accuracy: Whether outputs (n, classes) are compared with targets in evaluations; default: where the loss is one
            of torch's for classes, since whole numbers may also be counts.

    Raises:
        FederationError: The module or the data are not valid; the message says what and where.
    """
    require_whole(1, eval_batch=eval_batch)
    if torch.is_inference_mode_enabled():
        raise FederationError("nothing is trained within torch.inference_mode(): make the problem outside of it")
    splits = {"test": check_split("test", test)}
    if validation is not None:
        splits["validation"] = check_split("validation", validation)
    data = check_split("training", train)
    parts, own = indices_of("the clients' samples", parts, data), None if own is None else indices_of("own", own, data)
    if own is not None and (len(own) != len(parts) or not all(own.sizes)):
        raise FederationError("own must have held-out samples of every client")
    require_once(parts, own)
    require_trainable(module, loss)
    asked, accuracy = accuracy, is_of_classes(loss) if accuracy is None else accuracy
    network, start = network_of(module, loss, preparation, statistics, accuracy)
    network = with_derivatives(network, start, data)
    require_fit(network, start, {"training": data, **splits})
    require_learnable(network, start, data, eval_batch)
    require_no_other_state(network, start, data, eval_batch)
    require_given_weights(module, network, start, data, eval_batch)
    require_separate(network, start, data, eval_batch)
    few = Labelled(data.x[:eval_batch], data.y[:eval_batch])
    if asked and "accuracy" not in network.test(start, few, eval_batch):
        raise FederationError("accuracy needs outputs (n, classes) and whole numbers (n,) for targets; leave it out")
    return NetworkProblem(name, NetworkClients(network, data, parts, eval_batch), start, splits, own, eval_batch)


def indices_of(what: str, parts: Parts | Sequence[Indices], data: Labelled) -> Parts:
    """Return the samples of every client, from parts or from a sequence of whole numbers for each client.

    Raises:
        FederationError: They are not that, or not among those of the training data.
    """
    count = len(data.x)
    try:
        made = parts if isinstance(parts, Parts) else Parts.join(parts)
    except PartitionError as error:
        raise FederationError(f"{what}: {error}") from error
    except (TypeError, ValueError) as error:
        raise FederationError(f"{what} must be Parts, or whole numbers for each client ({error})") from error
    if len(made.order) and not 0 <= int(made.order.min()) <= int(made.order.max()) < count:
        raise FederationError(f"{what} must be among the {count} of the training data, from 0")
    return made


def require_once(parts: Parts, own: Parts | None) -> None:
    """Check that each sample belongs to one client only, and that held-out samples are not trained on.

    Raises:
        FederationError: Names a sample, and its clients.
    """
    twice = parts.find_repeated()
    if twice is not None:
        sample, first, second = twice
        where = f"twice at client {first}" if first == second else f"at client {first} and at client {second}"
        raise FederationError(f"the clients' samples: sample {sample} occurs {where}; leave one out")
    if own is None:
        return
    twice = own.find_repeated()  # clients may be tested on the same sample
    if twice is not None and twice[1] == twice[2]:
        raise FederationError(f"own: sample {twice[0]} occurs twice at client {twice[1]}; leave one out")
    trained = np.flatnonzero(np.isin(own.order, parts.order))
    if len(trained):
        place = trained[0]
        client = int(np.searchsorted(own.bounds, place, side="right")) - 1
        raise FederationError(
            f"own: sample {own.order[place]} of client {client} is also used for training; leave it out of one of "
            f"the two"
        )
