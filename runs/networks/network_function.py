"""A torch module as a function of its weights: batch losses in training mode, and tests in evaluation mode.

The module that is given is never changed: what is called is a copy of it, with the weights that are given.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.parameter import is_lazy
from torch.utils import _pytree as pytree

from algorithms.federation import FederationError
from algorithms.layers import Factorable, bind, call, factorable, observe
from algorithms.tree import Tree, wide
from algorithms.weights import Weight
from runs.networks.plain_weight_norm import without_fused_weight_norm
from workloads.data.augmentation import Offsets, Preparation

Loss = Callable[[Tensor, Tensor], Tensor]
Observe = Callable[[Factorable, Tensor], tuple[Tensor, dict[str, Tensor]]]
Statistics = Literal["averaged", "batch"]


class Labelled(NamedTuple):
    """The samples of one split.

    Attributes:
        x: Inputs, (N, ...).
        y: Targets, (N, ...); classes are int64 (N,).
    """

    x: Tensor
    y: Tensor


class Batch(NamedTuple):
    """The samples of one local step, with its random numbers.

    Attributes:
        samples: Indices among the client's samples, int64 (n,), on the device of the data.
        offsets: Offsets of crops and flips, likewise.
        noise: Seed of drop-out.
    """

    samples: Tensor
    offsets: Offsets | None = None
    noise: int | None = None


@dataclass(frozen=True, eq=False)
class Network:
    """A module as a function of its weights, which are tensors or factors that its layers compute through.

    Attributes:
        training: The module in training mode.
        quiet: The same without drop-out, for losses of all samples.
        testing: The module in evaluation mode.
        loss: Maps outputs and targets to the mean loss, a scalar.
        statistics: Names of the running statistics that travel with the weights.
        preparation: Preparation of the inputs.
        accuracy: Whether outputs are by class, so tests may count right ones.
        differentiates: Whether the module or the loss takes derivatives itself, so tests need gradients, too.
    """

    training: Factorable
    quiet: Factorable
    testing: Factorable
    loss: Loss
    statistics: frozenset[str]
    preparation: Preparation | None
    accuracy: bool = True
    differentiates: bool = False

    @property
    def random(self) -> bool:
        """Whether the module drops features at random in training mode."""
        return self.quiet is not self.training

    @property
    def joint(self) -> bool:
        """Whether the output for a sample in training mode depends on the rest of its batch."""
        return bool(self.statistics) or any(
            isinstance(layer, _BatchNorm) and layer.training for layer in self.training.module.modules()
        )

    @property
    def joint_in_tests(self) -> bool:
        """Whether it also does in evaluation mode, as for batch norm without running statistics."""
        return any(
            isinstance(layer, _BatchNorm) and layer.running_mean is None for layer in self.testing.module.modules()
        )

    def loss_and_statistics(
        self, w: Mapping[str, Weight], data: Labelled, batch: Batch
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of samples in training mode, differentiable in w, and the new running statistics.

        Raises:
            FederationError: Other names than the network's, or one sample where batch norm needs several.
        """
        with explain_single_sample(_TRAINING):
            return self._loss(lambda module, inputs: observe(module, w, inputs), data, batch)

    @contextmanager
    def bind(self, w: Mapping[str, Weight]) -> Iterator[Callable[[Labelled, Batch], Tensor]]:
        """Yield the loss of samples in training mode, at weights that may change in place between its calls.

        Raises:
            FederationError: As in `loss_and_statistics`.
        """
        with explain_single_sample(_TRAINING), ExitStack() as stack:
            bound = {module: stack.enter_context(bind(module, w)) for module in {self.training, self.quiet}}
            yield lambda data, batch: self._loss(lambda module, inputs: (bound[module](inputs), {}), data, batch)[0]

    def _loss(self, observe: Observe, data: Labelled, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of samples and the new running statistics, by a function of a module and its inputs."""
        inputs, targets = self.prepare_samples(data, batch)
        if batch.noise is None:
            outputs, statistics = observe(self.quiet, inputs)
        else:
            with seeded_draws(batch.noise, inputs.device):
                outputs, statistics = observe(self.training, inputs)
        return self.loss_of(outputs, targets), statistics

    def loss_of(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss of a batch.

        Raises:
            FederationError: Labels that the loss has no outputs for.
        """
        try:
            return self.loss(outputs, targets)
        except IndexError as error:
            raise FederationError(
                f"the loss cannot take outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)}, some of "
                f"which may be labels out of range: {' '.join(str(error).split())[:200]}"
            ) from error

    def evaluation_weights(self, w: Mapping[str, Weight]) -> Mapping[str, Weight]:
        """Return weights for calls outside of training, also for modules that take derivatives themselves."""
        if not self.differentiates:
            return w
        return {
            name: value if name in self.statistics else pytree.tree_map_only(Tensor, _leaf, value)
            for name, value in w.items()
        }

    def prepare_samples(self, data: Labelled, batch: Batch) -> Labelled:
        """Return samples of a split, prepared."""
        inputs, targets = data.x.index_select(0, batch.samples), data.y.index_select(0, batch.samples)
        return Labelled(inputs if self.preparation is None else self.preparation(inputs, batch.offsets), targets)

    def test(self, w: Mapping[str, Weight], data: Labelled, rows: int) -> dict[str, float]:
        """Return the loss over a split in evaluation mode, ``rows`` samples at a time, and top-1 accuracy for classes.

        Raises:
            FederationError: One sample where batch norm needs several.
        """
        total, scored = torch.zeros(2, dtype=torch.float64, device=data.x.device), self.accuracy and are_classes(data.y)
        w = self.evaluation_weights(w)
        for part in self._parts(len(data.x), rows):
            # Networks and losses may write into what they are given; what is prepared is new.
            y = data.y[part].clone()
            x = data.x[part].clone() if self.preparation is None else self.preparation(data.x[part])
            with torch.set_grad_enabled(self.differentiates), explain_single_sample(TESTING):
                outputs = call(self.testing, w, x)
                loss = self.loss_of(outputs, y).detach()
            total[0] += wide(loss) * len(x)
            scored = scored and outputs.ndim == 2 and outputs.shape[1] > 1  # one logit does not distinguish classes
            if scored:
                total[1] += (outputs.argmax(dim=1) == y).sum()
        loss, accuracy = (total / len(data.x)).tolist()
        return {"loss": loss, "accuracy": accuracy} if scored else {"loss": loss}

    def _parts(self, count: int, rows: int) -> list[slice]:
        """Divide samples into parts, of similar size if each is normalised by itself, so none has one sample."""
        if self.joint_in_tests:
            parts = count_parts(count, rows, 2)
            return [slice(count * part // parts, count * (part + 1) // parts) for part in range(parts)]
        return [slice(first, first + rows) for first in range(0, count, rows)]


def network_of(
    module: nn.Module, loss: Loss, preparation: Preparation | None, statistics: str, accuracy: bool = True
) -> tuple[Network, Tree]:
    """Return the module as a function, and its weights: trained parameters and averaged running statistics.

    Args:
        module: Any network; it is copied. Layers in evaluation mode stay so, where the module itself is in training
            mode.
        loss: Maps outputs and targets to the mean loss.
        preparation: Preparation of the inputs.
        statistics: Statistics of batch norm: `averaged` or `batch`; see `runs.network_problem.network_problem`.
        accuracy: Whether outputs are by class.

    Raises:
        FederationError: Nothing to train, or a norm whose statistics cannot travel.
    """
    if statistics not in ("averaged", "batch"):
        raise FederationError(f"statistics must be averaged or batch, got {statistics!r}")
    if any(isinstance(layer, torch.jit.ScriptModule) for layer in module.modules()):
        raise FederationError("a scripted module keeps its own weights; give the module from which it was scripted")
    if any(map(is_lazy, (*module.parameters(), *module.buffers()))):
        raise FederationError(
            "a lazy layer of the network has no weights yet; call the network once on a batch in your function"
        )
    try:
        twin = copy.deepcopy(module)
    except (RuntimeError, TypeError) as error:
        raise FederationError(
            f"the network cannot be copied ({' '.join(str(error).split())[:150]}); where weight_norm, spectral_norm or "
            "prune of torch.nn.utils is the cause, use torch.nn.utils.parametrizations, or prune.remove"
        ) from error
    without_fused_weight_norm(twin)
    # Who puts a layer of a module in training into evaluation mode wants it to stay as it is.
    still = {of for of, layer in twin.named_modules() if not layer.training} if twin.training else set()
    travelling: dict[str, Tensor] = {}
    for prefix, norm in twin.named_modules():
        if isinstance(norm, _NormBase) and norm.track_running_stats and prefix not in still:
            if norm.momentum is None:
                raise FederationError(f"{prefix} averages over all past batches; give it a momentum, such as 0.1")
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
        raise FederationError("the network has no parameter that needs a gradient, so nothing can be trained")
    for of, layer in twin.named_modules():
        layer.training = of not in still
    for of, value in (*twin.named_parameters(), *travelling.items()):
        if not value.is_meta and not bool(value.isfinite().all()):
            raise FederationError(
                f"{of} of the network has entries that are not finite before the first step; load or draw it again"
            )
    training = _prepared(twin)
    quiet = training
    if any(isinstance(layer, _DropoutNd) and layer.p > 0 and layer.training for layer in twin.modules()):
        quiet = _prepared(copy.deepcopy(twin))
        for layer in quiet.module.modules():
            layer.training = layer.training and not isinstance(layer, _DropoutNd)
    testing = _prepared(copy.deepcopy(twin).eval())
    network = Network(training, quiet, testing, loss, frozenset(travelling), preparation, accuracy)
    return network, Tree({**parameters, **{of: value.clone() for of, value in travelling.items()}})


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_() if tensor.is_floating_point() else tensor


def _prepared(module: nn.Module) -> Factorable:
    """Return a copy in which every layer with a matrix can take factors; the algorithm chooses which do."""
    matrices = any(parameter.ndim >= 2 for parameter in module.parameters())
    return factorable(module, "*" if matrices else None)


_TRAINING = "another batch size (the last batch of an epoch is the remainder), a larger eval_batch, fewer clients"
TESTING = "a larger eval_batch or more samples, statistics 'averaged'"


@contextmanager
def explain_single_sample(remedies: str) -> Iterator[None]:
    """Turn the error of batch norm for a single sample into one with remedies."""
    try:
        yield
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise FederationError(
            f"batch norm cannot normalise a batch of one sample; choose {remedies}, or a group norm"
        ) from error


def count_parts(count: int, rows: int, least: int = 1) -> int:
    """Return the number of parts of at most `rows` samples; fewer if some would have less than `least`.

    >>> count_parts(5, 2), count_parts(5, 2, least=2), count_parts(5, 1, least=2)
    (3, 2, 5)
    """
    return max(1, min(-(-count // rows), count // min(least, rows)))


def are_classes(y: Tensor) -> bool:
    """Return whether targets are classes."""
    return y.ndim == 1 and not y.is_floating_point()


@contextmanager
def seeded_draws(noise: int, device: torch.device) -> Iterator[None]:
    """Let torch draw from a seed while open, and restore its global random state."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(noise)
        yield
