"""Checks of a network, its data and its loss before the first round: what does not serve is said in one line.

The network is tried on a few samples of every split.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from algorithms.federation import FederationError
from algorithms.layers import call, factorable
from algorithms.tree import Tree
from runs.network_function import (
    TESTING,
    Batch,
    Labelled,
    Loss,
    Network,
    are_classes,
    drawn_from,
    pieces,
    several_at_once,
)


def labelled(split: str, data: tuple[Tensor, Tensor]) -> Labelled:
    """Checks one label for each input, and that all numbers are finite.

    Raises:
        FederationError: Names the sample.
    """
    if not isinstance(data, Sequence) or len(data) != 2:
        raise FederationError(f"the {split} data must be inputs and targets, two tensors, got {type(data).__name__}")
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


def require_fit(network: Network, start: Tree, splits: Mapping[str, Labelled]) -> None:
    """Applies the network to a few samples of each split.

    Raises:
        FederationError: Inputs, outputs, labels and loss do not fit together.
    """
    classes: set[int] = set()
    for split, data in splits.items():
        outputs = _fitting(network, start, split, data)
        if len(data.x) < 2:
            continue
        known = data.y.detach().cpu()
        if are_classes(data.y):
            known = known.unique()
            if classes.issuperset(known.tolist()):  # the loss has been looked at with these
                continue
            classes.update(known.tolist())
        _require_mean(network.loss, outputs, known)


def _fitting(network: Network, start: Tree, split: str, data: Labelled) -> Tensor:
    """The outputs of two samples."""
    few = torch.arange(min(2, len(data.x)), device=data.x.device)
    inputs, targets = network.taken(data, Batch(few))
    try:
        with torch.no_grad(), several_at_once(TESTING):
            outputs = call(network.testing, start, inputs)
    except FederationError as error:
        raise FederationError(f"the {split} data: {error}") from error
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
    if is_of_classes(network.loss) and are_classes(data.y) and outputs.ndim > 1:
        outside = ((data.y < 0) | (data.y >= outputs.shape[1])).nonzero()
        if len(outside):
            sample = int(outside[0, 0])
            raise FederationError(
                f"sample {sample} of the {split} data has label {int(data.y[sample])}, but the network's outputs are "
                f"for labels 0 to {outputs.shape[1] - 1}"
            )
    try:
        value = network.loss(outputs, targets)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise FederationError(
            f"the loss cannot take outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)}: "
            f"{' '.join(str(error).split())[:200]}"
        ) from error
    if not isinstance(value, Tensor) or value.ndim:
        raise FederationError("the loss must return one number, the mean over the samples")
    return outputs


def require_learnable(network: Network, start: Tree, data: Labelled) -> None:
    """Applies the network to a few samples as training does.

    Raises:
        FederationError: It makes no loss in training mode, or one that depends on none of its weights.
    """
    if len(data.x) < 2:
        return
    # The module may remember outputs, with what made them; who copies it later cannot copy these.
    network = replace(network, quiet=factorable(copy.deepcopy(network.quiet.module), network.quiet.layers))
    few, names = torch.arange(2, device=data.x.device), network.statistics
    w = {of: value.clone() if of in names else value.clone().requires_grad_() for of, value in start.items()}
    try:
        with torch.enable_grad():
            value, _ = network.loss_and_statistics(w, data, Batch(few))
    except FederationError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise FederationError(
            f"the network or its loss fails in training mode, and not in evaluation mode: "
            f"{' '.join(str(error).split())[:200]}"
        ) from error
    if not value.requires_grad:
        raise FederationError(
            "the loss depends on none of the network's weights, so that nothing would be learnt: no count, detach or "
            "no_grad may stand between them"
        )


def _require_mean(loss: Loss, outputs: Tensor, known: Tensor) -> None:
    """Parts of a batch weigh as their samples do: in averages over clients, in passes in parts, in evaluations.

    Looks at small batches, whose parts differ much, of drawn outputs, since those of a start may be all the same.

    Args:
        loss: Maps outputs and targets to the mean loss.
        outputs: Outputs of a few samples; only their shape and type matter.
        known: Targets to draw from: of a split, or its classes, each once.

    Raises:
        FederationError: The loss is no mean over samples.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (5, *outputs.shape[1:])
    near = max(1e-3, 8 * torch.finfo(outputs.dtype).eps) if outputs.is_floating_point() else 1e-3
    for draw in (torch.randn, torch.rand):  # a loss of probabilities refuses the first or makes no number of them
        for _ in range(max(4, min(200, 200_000 // max(outputs[0].numel(), 1)))):
            made = draw(shape, generator=generator).to(outputs.dtype)
            y = known[torch.randint(len(known), (5,), generator=generator)]
            try:
                with torch.no_grad():
                    whole, two, three = (float(loss(made[part], y[part])) for part in (slice(5), slice(2), slice(2, 5)))
            except (RuntimeError, ValueError, TypeError, IndexError):
                break
            if not isfinite(whole):
                continue
            if abs(whole - (2 * two + 3 * three) / 5) <= near * (abs(whole) + abs(two) + abs(three)):
                continue
            is_sum = abs(whole - two - three) <= near * (abs(whole) + abs(two) + abs(three))
            raise FederationError(
                "the loss of a batch must be the mean of its samples' losses, and is "
                + (
                    "their sum; divide it by the number of samples"
                    if is_sum
                    else "neither that nor their sum: weights of classes, ignored targets, roots, and outputs (n, 1) "
                    "beside targets (n,) make a sample's part depend on who shares its batch"
                )
            )


def require_no_other_state(network: Network, start: Tree, data: Labelled, rows: int) -> None:
    """A buffer that training changes, other than running statistics, would leak from client to client.

    So would a number that the module counts by itself, such as its calls, and the global random state, where the module
    draws from it without its drop-out. Looks at a few samples, at most ``rows`` at a time (two for batch norm).

    Raises:
        FederationError: Names the buffer or the attribute, or says what draws.
    """
    if len(data.x) < 2:
        return
    # A call of the prepared module would undo the change.
    module, testing = copy.deepcopy(network.quiet.module), copy.deepcopy(network.testing.module)
    before = {name: value.detach().clone() for name, value in (*module.named_parameters(), *module.named_buffers())}
    few = torch.arange(min(len(data.x), 16), device=data.x.device)  # RReLU draws for what is negative only
    parts = few.tensor_split(pieces(len(few), max(rows, 2), 2))
    with torch.no_grad(), drawn_from(0, data.x.device):
        undrawn = _random_states(data.x.device)
        twice, counts = [], []
        for _ in range(2):
            twice.append([module(network.taken(data, Batch(part)).x) for part in parts])
            testing(network.taken(data, Batch(parts[0])).x)
            counts.append((_plain_attributes(module), _plain_attributes(testing)))
        if _random_states(data.x.device) != undrawn:
            raise FederationError(
                "training draws random numbers outside of nn.Dropout modules, as F.dropout, RReLU, numpy, and the "
                "drop-out of recurrent layers and attention do, and they would not come from the run's seed: use "
                "nn.Dropout"
            )
    for name, parameter in module.named_parameters():
        if not torch.equal(parameter, before[name]):
            raise FederationError(
                f"calls of the network change its weights {name} in place, as max_norm does, and clients would share "
                "the change; leave that to the optimiser"
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
    if not all(
        torch.allclose(one, other, rtol=1e-3, atol=1e-6, equal_nan=True) for one, other in zip(*twice, strict=True)
    ):
        raise FederationError(
            "the network makes other outputs of the same inputs when it is called again: what it remembers would go "
            "from client to client"
        )
    counted = [name for one, two in zip(*counts, strict=True) for name, value in two.items() if one.get(name) != value]
    if counted:
        raise FederationError(
            f"calls of the network change its attribute {counted[0]}, which would count on over clients and "
            "evaluations, and anew in every worker: leave that out of forward"
        )


def _plain_attributes(module: nn.Module) -> dict[str, str]:
    """Numbers and words that a module and its layers hold, by name."""
    kinds = bool, int, float, str
    return {
        f"{prefix}.{name}".lstrip("."): repr(value)
        for prefix, part in module.named_modules()
        for name, value in vars(part).items()
        if type(value) in kinds
    }


def is_of_classes(loss: Loss) -> bool:
    """Whether a loss is one of torch's for outputs by class."""
    plain: Any = loss.func if isinstance(loss, partial) else loss
    functions = nn.functional.cross_entropy, nn.functional.nll_loss, nn.functional.multi_margin_loss
    return plain in functions or isinstance(plain, nn.CrossEntropyLoss | nn.NLLLoss | nn.MultiMarginLoss)


def _random_states(device: torch.device) -> tuple[object, ...]:
    """States of the generators of torch, Python and numpy, to be compared."""
    own = torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - what other people draw from
    return own.cpu().numpy().tobytes(), random.getstate(), kind, np.asarray(keys).tobytes(), tuple(rest)


def require_trainable(module: nn.Module, loss: Loss) -> None:
    """Checks that what is to be trained can be.

    Raises:
        FederationError: Names the parameter that cannot.
    """
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks:
            raise FederationError(f"the hook on the gradient of {name} would not be called; do what it does elsewhere")
        if parameter.is_complex():
            raise FederationError(f"{name} is complex; weights must be real")
    if isinstance(loss, nn.Module) and any(parameter.requires_grad for parameter in loss.parameters()):
        raise FederationError("parameters of the loss would not be trained; make them a part of the network")
