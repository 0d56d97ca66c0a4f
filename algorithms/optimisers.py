"""Functional optimisers: a step maps parameters, gradient and state to new parameters and a new state.

They compute the same as `SGD`, `Adam` and `AdamW` of `torch.optim`, for parameters of any structure. A state contains
only tensors, so it can be kept, sent, stored and stacked like parameters. All tensors are processed in one call of
`torch._foreach`, except within `torch.func` and where a step is itself differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from algorithms.federation import FederationError
from algorithms.multiples import add_multiple

Tensors = list[Tensor]


class Optimiser(Protocol):
    """A rule that turns gradients into steps."""

    def start(self, parameters: Any) -> Any:
        """Return the state before the first step."""
        ...

    def step(self, parameters: Any, gradient: Any, state: Any, rate: float) -> tuple[Any, Any]:
        """Return the parameters and the state after a step; the gradient has the parameters' structure."""
        ...


class Velocity(NamedTuple):
    """The state of `Sgd`: the sum of past gradients, weighted by powers of the momentum."""

    velocity: Any


class Moments(NamedTuple):
    """The state of `Adam`: running means of the gradient and of its square, and the number of steps.

    The means are structured like the parameters. The number of steps is common to all parameters, or a list with one
    for each of them, see `count_singly`.
    """

    first: Any
    second: Any
    steps: Tensor | Tensors


def count_singly(state: Any, count: int) -> Any:
    """Return a state that counts the steps of each parameter, so a step can leave some of them out.

    Args:
        state: State of an optimiser for a list of tensors.
        count: Number of tensors.
    """
    if isinstance(state, Moments) and isinstance(state.steps, Tensor):
        return state._replace(steps=[state.steps] * count)
    return state


@dataclass(frozen=True)
class Sgd:
    r"""Gradient descent, $v \leftarrow \mu v + g + \lambda w$ and $w \leftarrow w - \eta v$, as `torch.optim.SGD`.

    Attributes:
        momentum: Momentum $\mu$.
        weight_decay: Weight decay $\lambda$, as the gradient of $\lambda\|w\|^2/2$.
        nesterov: Step along $g + \lambda w + \mu v$ instead of v; needs momentum.

    Raises:
        FederationError: A value is out of its range.

    >>> Sgd().step([torch.ones(2)], [torch.ones(2)], (), 0.25)[0]
    [tensor([0.7500, 0.7500])]
    """

    momentum: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        _check(momentum=self.momentum, weight_decay=self.weight_decay)
        if self.nesterov and not self.momentum:
            raise FederationError("nesterov needs a momentum above 0")

    def start(self, parameters: Any) -> Any:
        """Return the state before the first step; it is empty without momentum."""
        return Velocity(pytree.tree_map(torch.zeros_like, parameters)) if self.momentum else ()

    def step(self, parameters: Any, gradient: Any, state: Any, rate: float) -> tuple[Any, Any]:
        """Return the parameters and the state after a step.

        Raises:
            ValueError: The gradient has another structure than the parameters.
        """
        structure = _structure(parameters)
        w, gradients = structure.flatten_up_to(parameters), structure.flatten_up_to(gradient)
        if self.weight_decay:
            gradients = _add(gradients, w, self.weight_decay)
        if self.momentum:
            v = _add_to(structure.flatten_up_to(state.velocity), self.momentum, gradients)
            gradients = _add(gradients, v, self.momentum) if self.nesterov else v
            state = Velocity(structure.unflatten(v))
        return structure.unflatten(_add(w, gradients, -rate)), state


@dataclass(frozen=True)
class Adam:
    r"""Adam, $w \leftarrow w - \eta\,\hat m/(\sqrt{\hat s} + \epsilon)$, as `torch.optim.Adam`.

    Here $\hat m$ and $\hat s$ are the running means of $g$ and of $g^2$, corrected for their bias towards the initial
    zeros.

    Attributes:
        betas: Decay rates of the two running means.
        eps: Constant $\epsilon$ added to the denominator.
        weight_decay: $\lambda$; $\lambda w$ is added to the gradient.

    Raises:
        FederationError: A value is out of its range.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _check(eps=self.eps, weight_decay=self.weight_decay)
        if len(self.betas) != 2 or not all(0.0 <= beta < 1.0 for beta in self.betas):
            raise FederationError(f"betas must be two numbers from 0 to below 1, got {self.betas}")

    def start(self, parameters: Any) -> Moments:
        """Return the state before the first step."""
        first, second = (pytree.tree_map(torch.zeros_like, parameters) for _ in range(2))
        leaves = pytree.tree_leaves(parameters)
        device, dtype = leaves[0].device if leaves else "cpu", torch.float32
        for leaf in leaves:  # the bias is corrected to the precision of the finest parameter
            dtype = torch.promote_types(dtype, leaf.dtype)
        return Moments(first, second, torch.zeros((), dtype=dtype, device=device))

    def step(self, parameters: Any, gradient: Any, state: Moments, rate: float) -> tuple[Any, Moments]:
        """Return the parameters and the state after a step.

        Raises:
            ValueError: The gradient has another structure than the parameters.
        """
        structure = _structure(parameters)
        w, gradients = structure.flatten_up_to(parameters), structure.flatten_up_to(gradient)
        decayed, gradients = self._decay(w, gradients, rate)
        m = _lerp(structure.flatten_up_to(state.first), gradients, 1.0 - self.betas[0])
        s = _add_squares(structure.flatten_up_to(state.second), gradients, self.betas[1])
        new, steps = decayed is not w, state.steps
        if isinstance(steps, Tensor):
            steps = steps + 1.0
            found = self._move(decayed, m, s, steps, rate, new)
        else:
            found, counts, steps = list(decayed), steps, list(steps)
            for places in _group_by(list(map(id, counts))):
                count = counts[places[0]] + 1.0
                own = [[tensors[place] for place in places] for tensors in (decayed, m, s)]
                for place, value in zip(places, self._move(own[0], own[1], own[2], count, rate, new), strict=True):
                    found[place], steps[place] = value, count
        return structure.unflatten(found), Moments(structure.unflatten(m), structure.unflatten(s), steps)

    def _move(self, w: Tensors, m: Tensors, s: Tensors, steps: Tensor, rate: float, new: bool) -> Tensors:
        """Return parameters of one step count after a step; they are overwritten if they are `new`."""
        # These scalars stay on the device, because reading them would synchronise it.
        ahead = rate / _bias_correction(self.betas[0], steps)
        spread = _bias_correction(self.betas[1], steps).sqrt()
        groups, found = _group_by([value.dtype for value in w]), list(w)
        if len(groups) < 2:
            return _subtract_quotients(w, m, s, ahead, spread, self.eps, new=new)
        for places in groups:  # each type has these scalars in its own precision
            own = [[tensors[place] for place in places] for tensors in (w, m, s)]
            moved = _subtract_quotients(own[0], own[1], own[2], ahead, spread, self.eps, new=new)
            for place, value in zip(places, moved, strict=True):
                found[place] = value
        return found

    def _decay(self, w: Tensors, gradients: Tensors, rate: float) -> tuple[Tensors, Tensors]:
        return w, _add(gradients, w, self.weight_decay) if self.weight_decay else gradients


@dataclass(frozen=True)
class AdamW(Adam):
    r"""Adam with decoupled weight decay, $w \leftarrow (1 - \eta\lambda)w$ before each step, as `torch.optim.AdamW`.

    Attributes:
        weight_decay: $\lambda$.
    """

    weight_decay: float = 1e-2

    def _decay(self, w: Tensors, gradients: Tensors, rate: float) -> tuple[Tensors, Tensors]:
        return _scale(w, 1.0 - rate * self.weight_decay) if self.weight_decay else w, gradients


def gradient_step(w: Tensors, gradients: Tensors, rate: float) -> Tensors:
    """Return w - rate g, with the product rounded before the difference."""
    if _one_by_one(w, gradients):
        return [value - rate * grad for value, grad in zip(w, gradients, strict=True)]
    return add_multiple(w, gradients, -rate)


class _List:
    """The structure of a list of tensors, with the interface of a `pytree` structure but less overhead."""

    def __init__(self, count: int) -> None:
        self.count = count

    def flatten_up_to(self, given: Any) -> Tensors:
        """Return the tensors of a list.

        Raises:
            ValueError: It is not a list of this length.
        """
        if not isinstance(given, list) or len(given) != self.count:
            raise ValueError(f"Node mismatch: expected a list of {self.count} tensors, got {type(given).__name__}")
        return given

    def unflatten(self, leaves: Tensors) -> Tensors:
        """Return the list."""
        return leaves


def _structure(parameters: Any) -> Any:
    if type(parameters) is list and all(isinstance(entry, Tensor) for entry in parameters):
        return _List(len(parameters))
    return pytree.tree_structure(parameters)


def _group_by(keys: Sequence[Hashable]) -> list[list[int]]:
    """Group the positions of equal keys, such as the identities of step counts or the types of parameters."""
    groups: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _bias_correction(beta: float, steps: Tensor) -> Tensor:
    """Return 1 - beta^steps, to full precision also if it is close to 0."""
    return -torch.expm1(steps * (math.log(beta) if beta else -math.inf))


def _one_by_one(*given: Tensors) -> bool:
    """Return whether tensors must be processed one by one.

    `torch._foreach` accepts neither empty lists nor tensors of `torch.func`, and does not support all derivatives.
    """
    if not given[0] or torch._C._are_functorch_transforms_active():
        return True
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensors in given for tensor in tensors)


def _scale(a: Tensors, factor: float) -> Tensors:
    return [x * factor for x in a] if _one_by_one(a) else list(torch._foreach_mul(a, factor))


def _add(a: Tensors, b: Tensors, factor: float) -> Tensors:
    """Return a + factor b."""
    if _one_by_one(a, b):
        return [torch.add(x, y, alpha=factor) for x, y in zip(a, b, strict=True)]
    return list(torch._foreach_add(a, b, alpha=factor))


def _add_to(a: Tensors, factor: float, b: Tensors) -> Tensors:
    """Return factor a + b, with the product rounded before the sum."""
    scaled = _scale(a, factor)
    if _one_by_one(scaled, b):
        return [x + y for x, y in zip(scaled, b, strict=True)]
    torch._foreach_add_(scaled, b)  # in place, because memory costs more than arithmetic here
    return scaled


def _lerp(a: Tensors, b: Tensors, share: float) -> Tensors:
    """Return a + share (b - a)."""
    if _one_by_one(a, b):
        return [torch.lerp(x, y, share) for x, y in zip(a, b, strict=True)]
    return list(torch._foreach_lerp(a, b, share))


def _add_squares(s: Tensors, g: Tensors, beta: float) -> Tensors:
    """Return beta s + (1 - beta) g^2."""
    scaled = _scale(s, beta)
    if _one_by_one(scaled, g):
        return [torch.addcmul(x, y, y, value=1.0 - beta) for x, y in zip(scaled, g, strict=True)]
    torch._foreach_addcmul_(scaled, g, g, value=1.0 - beta)
    return scaled


def _subtract_quotients(
    w: Tensors, m: Tensors, s: Tensors, ahead: Tensor, spread: Tensor, eps: float, new: bool
) -> Tensors:
    """Return w - ahead m / (sqrt(s)/spread + eps); w is overwritten if it is `new`."""
    if _one_by_one(w, m, s):
        return [
            x - ahead.to(x.dtype) * y / (z.sqrt() / spread.to(x.dtype) + eps) for x, y, z in zip(w, m, s, strict=True)
        ]
    below = list(torch._foreach_sqrt(s))
    torch._foreach_div_(below, spread.to(w[0].dtype))
    torch._foreach_add_(below, eps)
    torch._foreach_div_(below, -ahead.to(w[0].dtype))
    if new:
        torch._foreach_addcdiv_(w, m, below)
        return w
    return list(torch._foreach_addcdiv(w, m, below))


def _check(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 <= value < math.inf:
            raise FederationError(f"{name} must be at least 0, got {value}")
