"""Gradients of a client's loss in any parameterisation of its weights, and local steps along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import Client, FederationError, Memory, require_whole
from algorithms.multiples import add_multiple_
from algorithms.optimisers import Optimiser, count_singly, gradient_step
from algorithms.schedules import Schedule
from algorithms.tree import Split, narrow, wide

Assemble = Callable[[Any], Mapping[str, Any]]
"""A differentiable map from parameters, such as factors, to weights."""
OPTIMISER = "optimiser"
"""Name of the personal value in which a client keeps the state of its optimiser."""


@dataclass(frozen=True)
class Descent:
    """The settings of the clients' local steps.

    Attributes:
        steps: Number of steps per round; ignored if `epochs` are given.
        learning_rate: Learning rate of each step; a number, or a schedule over rounds or steps.
        batch: Samples per step, drawn without replacement; default: all samples.
        epochs: Number of passes over the client's samples per round, instead of `steps`; each pass has a new order, and
            its last batch may be smaller.
        optimiser: Optimiser of the local steps; default: plain gradient descent.
        clip: Largest norm of the gradient of all parameters, including any correction; default: no clipping.
        optimiser_state: `fresh` in every round, or `personal`, which each client keeps between its rounds.

    Raises:
        FederationError: A value is out of its range.
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
            raise FederationError(
                "a learning-rate schedule needs an attribute `per`, 'round' or 'step', which says what it counts"
            )
        if self.optimiser is not None and not (hasattr(self.optimiser, "start") and hasattr(self.optimiser, "step")):
            raise FederationError(
                f"an optimiser needs the methods start and step, as in algorithms.optimisers; got {self.optimiser}"
            )
        if self.optimiser_state not in ("fresh", "personal"):
            raise FederationError(f"optimiser_state must be 'fresh' or 'personal', got {self.optimiser_state!r}")

    def draw(self, client: Client, rng: np.random.Generator) -> Any:
        """Draw the samples of every step.

        Args:
            client: The client. If it has a method ``batches(rng, indices)``, the result of that is returned instead of
                the indices.
            rng: Source of the samples.

        Returns:
            Indices of shape ``(steps, batch)``; with epochs, one tensor for each step. None for full batches, unless
            the client has a true attribute `random`, because then it needs random numbers in every step.

        Raises:
            FederationError: Batches are requested of a client with a true attribute `whole`, whose loss is defined only
                for all of its data.
        """
        if self.batch is not None and getattr(client, "whole", False):
            raise FederationError("clients of this problem use all of their data in each step; leave batch out")
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
        """Return the number of steps in a round, given what a client drew."""
        if drawn is None:
            return self.steps if self.epochs is None else self.epochs
        return len(drawn)

    def rate(self, round: int = 1, step: int = 0, steps: int = 1) -> float:
        """Return the learning rate of a step, counted from 0, in a round, counted from 1, of `steps` steps."""
        if not callable(self.learning_rate):
            return self.learning_rate
        return self.learning_rate(round - 1 if self.learning_rate.per == "round" else (round - 1) * steps + step)


def require_fresh(settings: Descent, parameters: str) -> None:
    """Check that the state of the optimiser is fresh, because the parameters are new in every round.

    Args:
        settings: Settings of the local steps.
        parameters: Subject and verb of the error: what creates the parameters in every round.

    Raises:
        FederationError: The state is personal.
    """
    if settings.optimiser_state == "personal":
        raise FederationError(
            f"{parameters} again in every round, so a kept optimiser state would belong to other parameters; "
            f"leave optimiser_state fresh"
        )


class Descended(NamedTuple):
    """The result of local steps.

    Attributes:
        parameters: Parameters after the last step.
        personal: The optimiser's state if it is personal, by name; else empty.
    """

    parameters: Any
    personal: Mapping[str, Any]


class Stepped(NamedTuple):
    """The state of local steps, from which they are resumed.

    Attributes:
        steps: Number of steps taken.
        trained: Trained tensors after the last step.
        observed: Statistics after the last step.
        optimiser: State of the optimiser.
    """

    steps: int
    trained: list[Tensor]
    observed: Mapping[str, Tensor]
    optimiser: Any


def weights(parameters: Any) -> Mapping[str, Tensor]:
    """Return the parameters, which are the weights themselves."""
    return parameters


Gradients = list[Tensor | None]
"""Gradients in several tensors; None for tensors on which the loss does not depend."""


def differentiate(loss: Callable[[list[Tensor]], tuple[Tensor, Any]], at: list[Tensor]) -> tuple[Gradients, Any]:
    """Return the gradient of a loss in every tensor of its argument, and the auxiliary output of the loss.

    Uses plain autograd, or `torch.func.grad` within transforms of `torch.func`.
    """
    if torch._C._are_functorch_transforms_active():
        return _differentiate_within(loss, at)
    if torch.is_inference_mode_enabled():
        raise FederationError("nothing can be differentiated within torch.inference_mode(): train outside of it")
    with torch.enable_grad():
        variables = [leaf.detach().requires_grad_() for leaf in at]
        value, auxiliary = loss(variables)
        return _gradients_of(value, variables), auxiliary


def _gradients_of(value: Tensor, variables: list[Tensor]) -> Gradients:
    """Return the gradients of a loss that was computed from variables."""
    if not value.requires_grad:  # the loss does not depend on them
        return [None] * len(variables)
    try:
        gradients = torch.autograd.grad(value, variables, allow_unused=True)
    except RuntimeError as error:
        if "for sparse tensors" not in str(error):
            raise
        raise FederationError("a factorised layer has sparse gradients; make it with sparse=False") from error
    return [None if grad is None else to_dense(grad) for grad in gradients]


def _differentiate_within(
    loss: Callable[[list[Tensor]], tuple[Tensor, Any]], at: list[Tensor]
) -> tuple[Gradients, Any]:
    """Differentiate within `torch.func`, where gradients in tensors that the loss does not use are zeros, not None.

    Hooks are only called on the tensors that the loss uses.
    """
    reached: set[int] = set()

    def watched(leaves: list[Tensor]) -> tuple[Tensor, Any]:
        for place, leaf in enumerate(leaves):
            leaf.register_hook(lambda grad, place=place: reached.add(place))
        return loss(leaves)

    gradients, auxiliary = torch.func.grad(watched, has_aux=True)(at)
    return [grad if place in reached else None for place, grad in enumerate(gradients)], auxiliary


def to_dense(grad: Tensor) -> Tensor:
    """Return a gradient as a dense tensor; gradients of embeddings may be sparse, which few optimisers support."""
    return grad.to_dense() if grad.is_sparse else grad


def _fill(gradients: Gradients, like: Sequence[Tensor]) -> list[Tensor]:
    """Return the gradients with zeros instead of None."""
    return [torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(gradients, like, strict=True)]


def pull_back(gradient_at: Callable[[Any], Any], at: Any, assemble: Assemble) -> Any:
    """Return the gradient in parameters from a function that computes the gradient in the weights."""
    if torch._C._are_functorch_transforms_active():
        pulled: Any = torch.func.vjp(assemble, at)
        w, pull = pulled
        return pull(gradient_at(w))[0]
    leaves, form = pytree.tree_flatten(at)
    with torch.enable_grad():
        variables = [leaf.detach().requires_grad_() for leaf in leaves]
        assembled, structure = pytree.tree_flatten(assemble(form.unflatten(variables)))
    gradients = structure.flatten_up_to(gradient_at(structure.unflatten([entry.detach() for entry in assembled])))
    gradients = [to_dense(change) for change in gradients]
    pairs = [(entry, change) for entry, change in zip(assembled, gradients, strict=True) if entry.requires_grad]
    entries, changes = zip(*pairs, strict=True)
    found = torch.autograd.grad(entries, variables, changes, allow_unused=True, materialize_grads=True)
    return form.unflatten(list(found))


def gradient(client: Client, at: Any, assemble: Assemble = weights, batch: Any = None) -> Any:
    """Return the gradient of a client's loss in every tensor of the parameters; it is zero in statistics.

    If the client computes its gradient in the weights, that is pulled back to the parameters. Otherwise, the loss is
    differentiated. A client with `passes` gives all samples in parts that fit into memory, with their shares.
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
    pull: float = 0.0,
    rates: Any = None,
) -> Descended:
    r"""Take local steps, $w \leftarrow w - \eta\,(\nabla L(w) + c + \mu(w - w_0))$ for plain descent.

    Statistics of a network, such as running means, are updated to what the client observes at each step. Parameters
    that do not affect the loss of a step are not updated, and neither is their optimiser state, even with weight decay,
    as in `torch.optim`. With a correction or a pull, all parameters are updated.

    Every step makes new tensors, unless the client has a method ``bind_weights(w)``: a context that yields its loss as
    a function of a batch, at weights that may change in place between calls. Plain steps along the gradient of its
    batches are then taken in place, on a copy of the start, if they are not recorded.

    Args:
        client: The client whose loss is reduced.
        start: Parameters: a tree, or mappings and tuples of trees.
        settings: Number and size of the steps.
        memory: Memory of the client, with the batches drawn for this work and the round for schedules.
        assemble: Map from parameters to weights.
        correction: $c$, added to every gradient; of the parameters' structure.
        slot: Name of the personal value in which the optimiser's state is kept.
        pull: $\mu$, the strength with which the parameters are pulled back to their start $w_0$.
        rates: Number by which the learning rate of each tensor is multiplied, in the parameters' structure; default: 1.

    Raises:
        FederationError: The steps need batches, but none were drawn.
    """
    recorded = None if memory.steps is None else memory.steps.resume()
    if isinstance(recorded, Descended):
        return recorded
    split = Split(start, statistics_of(client))
    w = split.trained
    observed: Mapping[str, Tensor] = {}
    added = None if correction is None else split.part(correction)
    multiples = None if rates is None else split.part(rates)
    state = memory.personal.get(slot) if settings.optimiser_state == "personal" else None
    if state is None and settings.optimiser is not None:
        state = settings.optimiser.start(w)
    if memory.drawn is None and settings.batch is not None:
        raise FederationError(f"no batches of {settings.batch} were drawn: pass `draw=settings.draw` to the mean")
    others = correction is not None or rates is not None or bool(pull)
    if assemble is weights and not others and _can_step_in_place(client, split, settings, memory):
        return Descended(split.rebuild(_step_in_place(client, split, settings, memory)), {})
    steps, done = settings.count(memory.drawn), 0
    if recorded is not None:
        done, w, observed, state = recorded
    for step in range(done, steps):
        batch = None if memory.drawn is None else memory.drawn[step]
        found, new = _sum_gradients(client, split, w, observed, assemble, batch, together=True)
        observed = {**observed, **new}
        idle = [place for place, grad in enumerate(found) if grad is None and added is None and not pull]
        gradients = _fill(found, w)
        if added is not None:
            gradients = [one + other for one, other in zip(gradients, added, strict=True)]
        if pull:
            gradients = [
                grad + pull * (value - first) for grad, value, first in zip(gradients, w, split.trained, strict=True)
            ]
        if settings.clip is not None:
            gradients = clip(gradients, settings.clip)
        rate = settings.rate(memory.round, step, steps)
        if settings.optimiser is None:
            w = _step(partial(_gradient_step, w, gradients), rate, multiples)[0]
        else:
            if idle:
                state = count_singly(state, len(w))
            before = w, state
            w, state = _step(partial(settings.optimiser.step, w, gradients, state), rate, multiples)
            if idle:
                w, state = _restore(idle, before, (w, state))
        if memory.steps is not None:
            memory.steps.record(Stepped(step + 1, w, observed, state))
    personal = {slot: state} if settings.optimiser_state == "personal" and state is not None else {}
    result = Descended(split.rebuild(w, observed), personal)
    if memory.steps is not None:
        memory.steps.finish(result)
    return result


def _can_step_in_place(client: Any, split: Split, settings: Descent, memory: Memory) -> bool:
    """Return whether a client takes plain steps, and nobody sees the weights between two of them."""
    plain = settings.optimiser is None and settings.clip is None and split.plain and not split.names
    divided = memory.drawn is None or getattr(client, "parts", None) is not None
    if not plain or not split.trained or divided or getattr(client, "bind_weights", None) is None:
        return False
    transformed = torch._C._are_functorch_transforms_active() or torch.is_inference_mode_enabled()
    return memory.steps is None and not transformed


def _step_in_place(client: Any, split: Split, settings: Descent, memory: Memory) -> list[Tensor]:
    """Return the weights after plain steps, with the same bits as from `gradient_step`.

    All steps overwrite one copy of the weights, and the client binds and checks it once.
    """
    w = [leaf.detach().clone().requires_grad_() for leaf in split.trained]
    steps, own = settings.count(memory.drawn), {leaf.untyped_storage().data_ptr() for leaf in w}
    with torch.enable_grad(), client.bind_weights(split.rebuild(w)) as loss:
        for step, batch in enumerate(memory.drawn):
            gradients = _fill(_gradients_of(loss(batch), w), w)
            # A gradient may be another weight itself, which is about to change.
            gradients = [grad.clone() if grad.untyped_storage().data_ptr() in own else grad for grad in gradients]
            with torch.no_grad():
                add_multiple_(w, gradients, -settings.rate(memory.round, step, steps))
    return [leaf.detach() for leaf in w]


def _step(
    step: Callable[[float], tuple[list[Tensor], Any]], rate: float, multiples: Sequence[float] | None
) -> tuple[list[Tensor], Any]:
    """Take a step with a multiple of the rate for each tensor; an optimiser's state does not depend on the rate."""
    if multiples is None:
        return step(rate)
    found = {multiple: step(multiple * rate) for multiple in dict.fromkeys(multiples)}
    state = next(iter(found.values()))[1]
    return [found[multiple][0][place] for place, multiple in enumerate(multiples)], state


def _gradient_step(w: list[Tensor], gradients: list[Tensor], rate: float) -> tuple[list[Tensor], None]:
    return gradient_step(w, gradients, rate), None


def _restore(places: Sequence[int], before: Any, after: Any) -> Any:
    """Return `after` with the entries of some parameters as in `before`, in every list of one tensor per parameter."""
    count = len(before[0])

    def is_list(part: Any) -> bool:
        return isinstance(part, list) and len(part) == count

    def mix(old: Any, new: Any) -> Any:
        return [old[at] if at in places else new[at] for at in range(count)] if is_list(old) else new

    return pytree.tree_map(mix, before, after, is_leaf=is_list)


def takes_values(client: Client) -> bool:
    """Return whether a client's layers compute through factors; other clients are given the products."""
    return bool(getattr(client, "takes_values", False))


def statistics_of(client: Client) -> frozenset[str]:
    """Return the names of a client's weights that are observed and not trained, such as running means."""
    return frozenset(getattr(client, "statistics", ()))


@dataclass(frozen=True)
class Wrapped:
    """A client with a loss of its own, over the data of another client, whose divisions and statistics it has."""

    client: Any

    @property
    def samples(self) -> float:
        """Size of the client's data."""
        return float(self.client.samples)

    @property
    def statistics(self) -> frozenset[str]:
        """Names of weights that are observed and not trained."""
        return statistics_of(self.client)

    @property
    def passes(self) -> Callable[[bool], Sequence[tuple[float, Any]]] | None:
        """The client's division of all samples into parts, if it has one."""
        return getattr(self.client, "passes", None)

    @property
    def parts(self) -> Callable[[Any], Sequence[tuple[float, Any]]] | None:
        """The client's division of a batch into parts, if it has one."""
        return getattr(self.client, "parts", None)


def clip(gradients: Sequence[Tensor], most: float) -> list[Tensor]:
    """Scale all gradients down to a joint norm of about `most` at most, as `torch.nn.utils.clip_grad_norm_` does."""
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
    """Return the gradient over a batch, or over all samples, summed over parts if the client divides them.

    Args:
        client: The client; `parts` divides a batch and `passes` all samples.
        split: Structure of the parameters.
        w: Trained tensors.
        observed: Current statistics.
        assemble: Map from parameters to weights.
        batch: The batch, or None.
        together: Do not divide samples whose statistics are computed together.
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
    """Return the gradients in the trained tensors, and the new statistics."""
    own = getattr(client, "gradient", None)
    if own is not None:
        trained = split.form.unflatten(w)
        grad = own(trained, batch) if assemble is weights else pull_back(lambda v: own(v, batch), trained, assemble)
        return split.form.flatten_up_to(grad), {}

    def loss(leaves: Sequence[Tensor]) -> tuple[Tensor, Mapping[str, Tensor]]:
        assembled = assemble(split.rebuild(leaves, observed))
        if split.names:
            value, new = client.loss_and_statistics(assembled, batch)
            return value, {name: entry.detach() for name, entry in new.items()}
        return client.loss(assembled, batch), {}

    return differentiate(loss, w)
