"""Gradients of a client's loss in any parameters of its weights, and local steps along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import Client, FederationError, Memory, require_whole
from algorithms.optimisers import Optimiser, count_singly, gradient_step
from algorithms.schedules import Schedule
from algorithms.tree import Split, narrow, wide

Assemble = Callable[[Any], Mapping[str, Any]]
"""From parameters, such as factors, to weights; differentiable."""
OPTIMISER = "optimiser"
"""Under which name a client keeps the state of its optimiser."""


@dataclass(frozen=True)
class Descent:
    """Local steps of every client.

    Attributes:
        steps: Number of steps in a round, where no epochs are given.
        learning_rate: Learning rate of each step; a number, or a schedule over rounds or steps.
        batch: Samples of a step, drawn without replacement for each; all of them by default.
        epochs: Passes over the client's samples in a round, each in a new order and in batches, the last of which may
            be smaller; in place of `steps`.
        optimiser: Makes steps of gradients; default: plain gradient descent.
        clip: Largest norm of the gradient of all parameters, any correction of it included; default: none.
        optimiser_state: `fresh` in every round, or `personal`: kept by the client from one of its rounds to its next.

    Raises:
        FederationError: A value out of its range.
    """

    steps: int = 1
    learning_rate: float | Schedule = 1e-2
    batch: int | None = None
    epochs: int | None = None
    optimiser: Optimiser | None = None
    clip: float | None = None
    optimiser_state: Literal["fresh", "personal"] = "fresh"

    def __post_init__(self) -> None:
        given = self.learning_rate
        right = callable(given) or 0.0 < given < float("inf")
        named = {"batch": self.batch, "epochs": self.epochs}
        require_whole(1, steps=self.steps, **{name: value for name, value in named.items() if value is not None})
        if not right:
            raise FederationError(f"the learning rate must be positive and finite, got {given}")
        if self.clip is not None and not self.clip > 0.0:
            raise FederationError(f"clip must be positive, got {self.clip}")
        if callable(given) and not hasattr(given, "per"):
            raise FederationError("a learning rate that changes must say what it counts: give it `per`, round or step")
        if self.optimiser is not None and not (hasattr(self.optimiser, "start") and hasattr(self.optimiser, "step")):
            raise FederationError(
                f"an optimiser has start and step, as those of algorithms.optimisers; got {self.optimiser}"
            )
        if self.optimiser_state not in ("fresh", "personal"):
            raise FederationError(f"optimiser_state must be 'fresh' or 'personal', got {self.optimiser_state!r}")

    def draw(self, client: Client, rng: np.random.Generator) -> Any:
        """Draws each step's input: indices of samples, or what the client makes of them by ``batches(rng, indices)``.

        Indices have shape ``(steps, batch)``; those of epochs are one tensor for each step. None for full batches, but
        where the client says that it is `random`, which needs numbers for every step.

        Raises:
            FederationError: Batches of a client that says that its loss is of the `whole` of its data.
        """
        if self.batch is not None and getattr(client, "whole", False):
            raise FederationError(
                "clients know the whole of their data at once: there are no batches to take; leave batch out"
            )
        if self.batch is None and not getattr(client, "random", False):
            return None
        count = int(client.samples)
        indices: Any
        if self.batch is None:
            indices = [torch.arange(count)] * self.count(None)
        elif self.epochs is None:
            indices = torch.from_numpy(np.stack([rng.permutation(count)[: self.batch] for _ in range(self.steps)]))
        else:
            orders = [torch.from_numpy(rng.permutation(count)) for _ in range(self.epochs)]
            indices = [batch for order in orders for batch in order.split(self.batch)]
        own = getattr(client, "batches", None)
        return indices if own is None else own(rng, indices)

    def count(self, drawn: Any) -> int:
        """Number of steps in a round, for what a client drew."""
        if drawn is None:
            return self.steps if self.epochs is None else self.epochs
        return len(drawn)

    def rate(self, round: int = 1, step: int = 0, steps: int = 1) -> float:
        """The learning rate of a step, counted from 0, in a round, counted from 1, of so many steps."""
        if not callable(self.learning_rate):
            return self.learning_rate
        return self.learning_rate(round - 1 if self.learning_rate.per == "round" else (round - 1) * steps + step)


def require_fresh(settings: Descent, parameters: str) -> None:
    """Refuses a personal state of the optimiser where its parameters are others in every round.

    Args:
        settings: Settings of the local steps.
        parameters: Parameters that are new in every round, in words.

    Raises:
        FederationError: The state is personal.
    """
    if settings.optimiser_state == "personal":
        raise FederationError(
            f"{parameters} anew in every round, so that what an optimiser remembers belongs to others; leave "
            "optimiser_state fresh"
        )


class Descended(NamedTuple):
    """Where local steps led.

    Attributes:
        parameters: Parameters after the last step.
        personal: State that the client keeps for good: that of its optimiser, where it is personal.
    """

    parameters: Any
    personal: Mapping[str, Any]


def weights(parameters: Any) -> Mapping[str, Tensor]:
    """Parameters that are the weights themselves."""
    return parameters


Gradients = list[Tensor | None]
"""Gradients in several tensors; none in those on which a loss does not depend."""


def differentiate(loss: Callable[[list[Tensor]], tuple[Tensor, Any]], at: list[Tensor]) -> tuple[Gradients, Any]:
    """The gradient of a loss in every tensor of its argument, and what the loss gives beside its value.

    Plain autograd; within `torch.func`, that.
    """
    if torch._C._are_functorch_transforms_active():
        return _differentiate_within(loss, at)
    if torch.is_inference_mode_enabled():
        raise FederationError("nothing can be differentiated within torch.inference_mode(): train outside of it")
    with torch.enable_grad():
        variables = [leaf.detach().requires_grad_() for leaf in at]
        value, beside = loss(variables)
        if not value.requires_grad:  # a loss that does not depend on them
            return [None] * len(at), beside
        try:
            gradients = torch.autograd.grad(value, variables, allow_unused=True)
        except RuntimeError as error:
            if "for sparse tensors" not in str(error):
                raise
            raise FederationError("a factorised layer has sparse gradients; make it with sparse=False") from error
    return [None if grad is None else _to_dense(grad) for grad in gradients], beside


def _differentiate_within(
    loss: Callable[[list[Tensor]], tuple[Tensor, Any]], at: list[Tensor]
) -> tuple[Gradients, Any]:
    """`torch.func.grad` gives zeros for what a loss does not depend on; hooks are called on the others alone."""
    reached: set[int] = set()

    def watched(leaves: list[Tensor]) -> tuple[Tensor, Any]:
        for place, leaf in enumerate(leaves):
            leaf.register_hook(lambda grad, place=place: reached.add(place))
        return loss(leaves)

    gradients, beside = torch.func.grad(watched, has_aux=True)(at)
    return [grad if place in reached else None for place, grad in enumerate(gradients)], beside


def _to_dense(grad: Tensor) -> Tensor:
    """A gradient as a dense tensor; that of an embedding may be sparse, which few optimisers take."""
    return grad.to_dense() if grad.is_sparse else grad


def _fill(gradients: Gradients, like: Sequence[Tensor]) -> list[Tensor]:
    """Gradients with zeros in place of none."""
    return [torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(gradients, like, strict=True)]


def pull_back(gradient_at: Callable[[Any], Any], at: Any, assemble: Assemble) -> Any:
    """The gradient in parameters, from a function that gives it in their weights."""
    if torch._C._are_functorch_transforms_active():
        pulled: Any = torch.func.vjp(assemble, at)
        w, pull = pulled
        return pull(gradient_at(w))[0]
    leaves, form = pytree.tree_flatten(at)
    with torch.enable_grad():
        variables = [leaf.detach().requires_grad_() for leaf in leaves]
        made, structure = pytree.tree_flatten(assemble(form.unflatten(variables)))
    gradients = structure.flatten_up_to(gradient_at(structure.unflatten([entry.detach() for entry in made])))
    gradients = [_to_dense(change) for change in gradients]
    pairs = [(entry, change) for entry, change in zip(made, gradients, strict=True) if entry.requires_grad]
    entries, changes = zip(*pairs, strict=True)
    found = torch.autograd.grad(entries, variables, changes, allow_unused=True, materialize_grads=True)
    return form.unflatten(list(found))


def gradient(client: Client, at: Any, assemble: Assemble = weights, batch: Any = None) -> Any:
    """The gradient of a client's loss in every tensor of the parameters; zero in statistics.

    Where the client knows the gradient in its weights, that is pulled back; else the loss is differentiated, of all
    samples in the client's `passes`, where it has such: parts with their shares, each of which fits in memory.
    """
    split = Split(at, statistics_of(client))
    gradients = _fill(
        _sum_gradients(client, split, split.trained, {}, assemble, batch, together=False)[0], split.trained
    )
    return Split(pytree.tree_map(torch.zeros_like, at), split.names).rebuild(gradients)


def descend(
    client: Client,
    start: Any,
    settings: Descent,
    memory: Memory,
    assemble: Assemble = weights,
    correction: Any = None,
    slot: str = OPTIMISER,
) -> Descended:
    """Local steps along ``gradient + correction`` from given parameters; plainly ``w - rate (gradient + correction)``.

    Statistics of a network, such as running means, follow what the client observes at each step; no step is taken in
    them. A parameter on which the loss of a step does not depend stays as it is, with what the optimiser remembers of
    it, as in `torch.optim`: nothing decays; a correction takes it along.

    Args:
        client: Whose loss it is.
        start: Parameters: a tree, or mappings and tuples of trees.
        settings: Number and size of the steps.
        memory: Memory of the client: its drawn numbers are the batches, its number of the round is that of a schedule.
        assemble: Map from parameters to weights.
        correction: Added to every gradient; of the parameters' structure.
        slot: Name under which a personal state of the optimiser is kept.

    Raises:
        FederationError: Steps of batches, and none were drawn.
    """
    split = Split(start, statistics_of(client))
    w = split.trained
    observed: Mapping[str, Tensor] = {}
    added = None if correction is None else split.part(correction)
    state = memory.personal.get(slot) if settings.optimiser_state == "personal" else None
    if state is None and settings.optimiser is not None:
        state = settings.optimiser.start(w)
    if memory.drawn is None and settings.batch is not None:
        raise FederationError(f"no batches of {settings.batch} were drawn: hand `draw=settings.draw` to the mean")
    steps = settings.count(memory.drawn)
    for step in range(steps):
        batch = None if memory.drawn is None else memory.drawn[step]
        found, new = _sum_gradients(client, split, w, observed, assemble, batch, together=True)
        observed = {**observed, **new}
        idle = [place for place, grad in enumerate(found) if grad is None and added is None]
        gradients = _fill(found, w)
        if added is not None:
            gradients = [one + other for one, other in zip(gradients, added, strict=True)]
        if settings.clip is not None:
            gradients = clip(gradients, settings.clip)
        rate = settings.rate(memory.round, step, steps)
        if settings.optimiser is None:
            w = gradient_step(w, gradients, rate)
        else:
            if idle:
                state = count_singly(state, len(w))
            before = w, state
            w, state = settings.optimiser.step(w, gradients, state, rate)
            if idle:
                w, state = _restore(idle, before, (w, state))
    personal = {slot: state} if settings.optimiser_state == "personal" and state is not None else {}
    return Descended(split.rebuild(w, observed), personal)


def _restore(places: Sequence[int], before: Any, after: Any) -> Any:
    """Lists of a tensor for each parameter, wherever they stand, with those of some parameters as they were before."""
    count = len(before[0])

    def is_list(part: Any) -> bool:
        return isinstance(part, list) and len(part) == count

    def mix(old: Any, new: Any) -> Any:
        return [old[at] if at in places else new[at] for at in range(count)] if is_list(old) else new

    return pytree.tree_map(mix, before, after, is_leaf=is_list)


def takes_values(client: Client) -> bool:
    """Whether a client's layers compute through factors; others are given the products."""
    return bool(getattr(client, "takes_values", False))


def statistics_of(client: Client) -> frozenset[str]:
    """Names of those weights of a client that are observed and not trained, such as running means."""
    return frozenset(getattr(client, "statistics", ()))


def clip(gradients: Sequence[Tensor], most: float) -> list[Tensor]:
    """Gradients scaled down together to a norm of at most about `most`, as `torch.nn.utils.clip_grad_norm_` does."""
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(grad) for grad in gradients]))
    factor = torch.clamp(most / (norm + 1e-6), max=1.0)
    return [grad * factor for grad in gradients]


def _sum_gradients(
    client: Any,
    split: Split,
    w: list[Tensor],
    observed: Mapping[str, Tensor],
    assemble: Assemble,
    batch: Any,
    together: bool,
) -> tuple[Gradients, Mapping[str, Tensor]]:
    """`_gradients` of a batch, in parts where the client has such; of all samples in its passes.

    Passes keep together what statistics are of.
    """
    passes = getattr(client, "passes", None)
    if batch is not None:
        passes = getattr(client, "parts", None)
        parts = [] if passes is None else passes(batch)
    else:
        parts = [] if passes is None else passes(together)
    if len(parts) < 2:
        return _gradients(client, split, w, observed, assemble, batch)
    total: Gradients = [None] * len(w)
    for share, part in parts:
        gradients, _ = _gradients(client, split, w, observed, assemble, part)
        for place, grad in enumerate(gradients):
            if grad is not None:
                term, sum_so_far = share * wide(grad), total[place]
                total[place] = term if sum_so_far is None else sum_so_far + term
    return [None if grad is None else narrow(grad, entry.dtype) for grad, entry in zip(total, w, strict=True)], {}


def _gradients(
    client: Any, split: Split, w: list[Tensor], observed: Mapping[str, Tensor], assemble: Assemble, batch: Any
) -> tuple[Gradients, Mapping[str, Tensor]]:
    """The gradient in what is trained, and what statistics become."""
    own = getattr(client, "gradient", None)
    if own is not None:
        trained = split.form.unflatten(w)
        grad = own(trained, batch) if assemble is weights else pull_back(lambda v: own(v, batch), trained, assemble)
        return split.form.flatten_up_to(grad), {}

    def loss(leaves: Sequence[Tensor]) -> tuple[Tensor, Mapping[str, Tensor]]:
        made = assemble(split.rebuild(leaves, observed))
        if split.names:
            value, new = client.loss_and_statistics(made, batch)
            return value, {name: entry.detach() for name, entry in new.items()}
        return client.loss(made, batch), {}

    return differentiate(loss, w)
