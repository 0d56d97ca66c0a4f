"""A torch module as a function of its weights: the loss of a batch in training mode, and tests in evaluation mode.

The module that is given is never changed: what is called is a copy of it, with the weights that are given. It is tried
once, on a few samples of every split, so that what does not fit is said before the first round.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd

from algorithms.federation import FederationError
from algorithms.layers import Factorable, call, factorable, observe
from algorithms.tree import Tree
from algorithms.weights import Weight
from workloads.augmentation import Offsets, Preparation

Loss = Callable[[Tensor, Tensor], Tensor]
Statistics = Literal["averaged", "batch"]


class Labelled(NamedTuple):
    """Samples of one split.

    Attributes:
        x: Inputs, (N, ...).
        y: Targets, (N, ...); classes are int64 (N,).
    """

    x: Tensor
    y: Tensor


class Batch(NamedTuple):
    """What one local step looks at.

    Attributes:
        samples: Indices among the client's samples, int64 (n,), on the device of the data.
        offsets: Of crops and flips, likewise.
        noise: Seed of drop-out.
    """

    samples: Tensor
    offsets: Offsets | None = None
    noise: int | None = None


@dataclass(frozen=True, eq=False)
class Network:
    """A module as a function of its weights, which are tensors, or values that its layers compute through.

    Attributes:
        training: The module in training mode.
        quiet: The same without drop-out, for losses of all samples.
        testing: The module in evaluation mode.
        loss: Maps outputs and targets to the mean loss, a scalar.
        statistics: Names of the running statistics that travel with the weights.
        preparation: Of the inputs.
    """

    training: Factorable
    quiet: Factorable
    testing: Factorable
    loss: Loss
    statistics: frozenset[str]
    preparation: Preparation | None

    @property
    def random(self) -> bool:
        """Whether the module drops features at random in training mode."""
        return self.quiet is not self.training

    @property
    def joint(self) -> bool:
        """Whether what the module makes of a sample in training mode depends on the others of its batch."""
        return bool(self.statistics) or any(
            isinstance(layer, _BatchNorm) and layer.training for layer in self.training.module.modules()
        )

    def loss_and_statistics(
        self, w: Mapping[str, Weight], data: Labelled, batch: Batch
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of samples in training mode, and what the running statistics become; differentiable in w.

        Raises:
            FederationError: Other names than the network's, or one sample where batch norm needs several.
        """
        inputs, targets = self.taken(data, batch)
        module = self.quiet
        drawn: AbstractContextManager[None] = nullcontext()
        if batch.noise is not None:
            module, drawn = self.training, _drawn_from(batch.noise, inputs.device)
        try:
            with drawn:
                outputs, statistics = observe(module, w, inputs)
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            raise FederationError(
                "batch norm cannot train on a batch of one sample; choose another batch size, or a group norm"
            ) from error
        return self.loss(outputs, targets), statistics

    def taken(self, data: Labelled, batch: Batch) -> Labelled:
        """Samples of a split, prepared."""
        inputs, targets = data.x[batch.samples], data.y[batch.samples]
        return Labelled(inputs if self.preparation is None else self.preparation(inputs, batch.offsets), targets)

    @torch.no_grad()
    def test(self, w: Mapping[str, Weight], data: Labelled, rows: int) -> dict[str, float]:
        """Loss over a split in evaluation mode, ``rows`` samples at a time; top-1 accuracy for outputs by class."""
        total, scored = torch.zeros(2, dtype=torch.float64, device=data.x.device), _classes(data.y)
        for x, y in zip(data.x.split(rows), data.y.split(rows), strict=True):
            outputs = call(self.testing, w, x if self.preparation is None else self.preparation(x))
            total[0] += self.loss(outputs, y) * len(x)
            scored = scored and outputs.ndim == 2 and outputs.shape[1] > 1  # one logit is no output by class
            if scored:
                total[1] += (outputs.argmax(dim=1) == y).sum()
        loss, accuracy = (total / len(data.x)).tolist()
        return {"loss": loss, "accuracy": accuracy} if scored else {"loss": loss}


def network_of(module: nn.Module, loss: Loss, preparation: Preparation | None, statistics: str) -> tuple[Network, Tree]:
    """The module as a function, and its weights: trained parameters and the running statistics that travel.

    Args:
        module: Any network; it is copied.
        loss: Maps outputs and targets to the mean loss.
        preparation: Of the inputs.
        statistics: Of batch norm: `averaged` or `batch`; see `runs.network_problem.network_problem`.

    Raises:
        FederationError: Nothing to train, or a norm whose statistics cannot travel.
    """
    if statistics not in ("averaged", "batch"):
        raise FederationError(f"statistics must be averaged or batch, got {statistics!r}")
    twin = copy.deepcopy(module)
    travelling: dict[str, Tensor] = {}
    for prefix, norm in twin.named_modules():
        if isinstance(norm, _NormBase) and norm.track_running_stats:
            if norm.momentum is None:
                raise FederationError(f"{prefix} averages over all batches ever seen; give it a momentum, such as 0.1")
            if statistics == "batch":
                norm.track_running_stats = False
                norm.running_mean = norm.running_var = norm.num_batches_tracked = None
            else:
                running = {"running_mean": norm.running_mean, "running_var": norm.running_var}
                travelling |= {
                    f"{prefix}.{of}".lstrip("."): value for of, value in running.items() if value is not None
                }
    parameters = {of: p.detach().clone() for of, p in twin.named_parameters() if p.requires_grad}
    if not parameters:
        raise FederationError("the network has no parameter that needs a gradient, so there is nothing to train")
    training = _prepared(twin.train())
    quiet = training
    if any(isinstance(layer, _DropoutNd) and layer.p > 0 for layer in twin.modules()):
        quiet = _prepared(copy.deepcopy(twin))
        for layer in quiet.module.modules():
            layer.training = not isinstance(layer, _DropoutNd)
    testing = _prepared(copy.deepcopy(twin).eval())
    network = Network(training, quiet, testing, loss, frozenset(travelling), preparation)
    return network, Tree({**parameters, **{of: value.clone() for of, value in travelling.items()}})


def _prepared(module: nn.Module) -> Factorable:
    """Which layers are given as factors is the algorithm's choice: all that have a matrix may be."""
    matrices = any(parameter.ndim >= 2 for parameter in module.parameters())
    return factorable(module, "*" if matrices else None)


def labelled(split: str, data: tuple[Tensor, Tensor]) -> Labelled:
    """Checks one label for each input, and that all numbers are finite.

    Raises:
        FederationError: Names the sample.
    """
    x, y = data
    if not isinstance(x, Tensor) or not isinstance(y, Tensor):
        raise FederationError(f"the {split} data must be two tensors, got {type(x).__name__} and {type(y).__name__}")
    if len(x) == 0 or len(x) != len(y):
        raise FederationError(f"the {split} data have {len(x)} inputs and {len(y)} labels; each input needs one label")
    for what, values in (("input", x), ("label", y)):
        if values.is_floating_point() and not bool((finite := values.isfinite().reshape(len(values), -1).all(1)).all()):
            raise FederationError(
                f"{what} {int((~finite).nonzero()[0])} of the {split} data is not finite; mend it or leave it out"
            )
    return Labelled(x, y)


def require_fit(network: Network, start: Tree, split: str, data: Labelled) -> None:
    """Applies the network to a few samples of a split.

    Raises:
        FederationError: Inputs, outputs, labels and loss do not fit together.
    """
    few = torch.arange(min(2, len(data.x)), device=data.x.device)
    inputs, targets = network.taken(data, Batch(few))
    try:
        with torch.no_grad():
            outputs = call(network.testing, start, inputs)
    except (RuntimeError, ValueError, TypeError) as error:
        raise FederationError(
            f"the network cannot take the {split} data, of shape {tuple(inputs.shape)} on {inputs.device}: "
            f"{' '.join(str(error).split())[:200]}"
        ) from error
    if not isinstance(outputs, Tensor):
        raise FederationError(
            f"the network returns a {type(outputs).__name__}; it must return one tensor of outputs, so wrap it in a "
            "module that does"
        )
    if outputs.ndim == 0 or len(outputs) != len(inputs):
        raise FederationError(f"the network makes outputs of shape {tuple(outputs.shape)} of {len(inputs)} inputs")
    if network.loss is nn.functional.cross_entropy and _classes(data.y):
        outside = ((data.y < 0) | (data.y >= outputs.shape[1])).nonzero()
        if len(outside):
            sample = int(outside[0, 0])
            raise FederationError(
                f"sample {sample} of the {split} data has label {int(data.y[sample])}, but the network's outputs are "
                f"for labels 0 to {outputs.shape[1] - 1}"
            )
    try:
        value = network.loss(outputs, targets)
    except (RuntimeError, ValueError, TypeError) as error:
        raise FederationError(
            f"the loss cannot take outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)}: "
            f"{' '.join(str(error).split())[:200]}"
        ) from error
    if not isinstance(value, Tensor) or value.ndim:
        raise FederationError("the loss must return one number, the mean over the samples")


def require_no_other_state(network: Network, start: Tree, data: Labelled, rows: int) -> None:
    """A buffer that training changes, other than running statistics, would leak from client to client.

    So would the global random state, where the module draws from it without its drop-out. Looks at a few samples, at
    most ``rows`` at a time (two for batch norm).

    Raises:
        FederationError: Names the buffer, or says what draws.
    """
    if len(data.x) < 2:
        return
    # A call of the prepared module would undo the change.
    module = copy.deepcopy(network.quiet.module)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    few = torch.arange(min(len(data.x), 16), device=data.x.device)  # RReLU draws for what is negative only
    with torch.no_grad(), _drawn_from(0, data.x.device):
        undrawn = _random_state(data.x.device)
        for part in few.tensor_split(-(-len(few) // max(rows, 2))):
            module(network.taken(data, Batch(part)).x)
        if not torch.equal(_random_state(data.x.device), undrawn):
            raise FederationError(
                "training draws random numbers outside of nn.Dropout modules, as F.dropout, RReLU and the drop-out of "
                "recurrent layers and attention do, and they would not come from the run's seed: use nn.Dropout"
            )
    known = {
        f"{name}.num_batches_tracked".lstrip(".")
        for name, part in module.named_modules()
        if isinstance(part, _NormBase)
    }
    changed = [
        name
        for name, buffer in module.named_buffers()
        if name not in start and name not in known and not torch.equal(buffer, before[name])
    ]
    if changed:
        raise FederationError(
            f"training changes the buffer {changed[0]}; of its state only norms' running statistics can travel"
        )


def _classes(y: Tensor) -> bool:
    return y.ndim == 1 and not y.is_floating_point()


def _random_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


@contextmanager
def _drawn_from(noise: int, device: torch.device) -> Iterator[None]:
    """Draws drop-out from a seed of its own, and leaves the global random state as it was."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(noise)
        yield
