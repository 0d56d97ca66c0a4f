"""Checks of a network, its data and its loss before the first round: what does not serve is said in one line.

The network is tried on a few samples of every split.
"""

from __future__ import annotations

import copy
from math import isfinite

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from algorithms.federation import FederationError
from algorithms.layers import call
from algorithms.tree import Tree
from runs.network_function import Batch, Labelled, Loss, Network, are_classes, drawn_from


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
    if _is_cross_entropy(network.loss) and are_classes(data.y) and outputs.ndim > 1:
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
    if len(data.x) > 1:
        _require_mean(network.loss, outputs, data.y)


def _require_mean(loss: Loss, outputs: Tensor, targets: Tensor) -> None:
    """Parts of a batch weigh as their samples do: in averages over clients, in passes in parts, in evaluations.

    Args:
        loss: Maps outputs and targets to the mean loss.
        outputs: Of a few samples; only their shape and type matter, since those of a start may be all the same.
        targets: Of the split.

    Raises:
        FederationError: The loss is no mean over samples.
    """
    some = torch.linspace(0, len(targets) - 1, min(len(targets), 4096)).long()
    y, cut = targets.detach().cpu()[some], (len(some) + 2) // 3
    normal = torch.randn(len(some), *outputs.shape[1:], generator=torch.Generator().manual_seed(0))
    made = normal.to(outputs.dtype)
    try:
        with torch.no_grad():
            whole, *parts = (float(loss(made[one], y[one])) for one in (slice(None), slice(cut), slice(cut, None)))
    except (RuntimeError, ValueError, TypeError, IndexError):
        return  # a loss for outputs of another kind, such as probabilities, or on another device
    mean = (cut * parts[0] + (len(some) - cut) * parts[1]) / len(some)
    near = max(1e-3, 8 * torch.finfo(made.dtype).eps) * (abs(whole) + sum(map(abs, parts)))
    if not isfinite(whole) or not isfinite(mean) or abs(whole - mean) <= near:
        return
    found = "their sum; divide it by the number of samples"
    if abs(whole - sum(parts)) > near:
        found = (
            "neither that nor their sum: weights of classes, ignored targets and means over tokens make a sample's "
            "part depend on who shares its batch"
        )
    raise FederationError(f"the loss of a batch must be the mean of its samples' losses, and is {found}")


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
    with torch.no_grad(), drawn_from(0, data.x.device):
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


def _is_cross_entropy(loss: Loss) -> bool:
    return loss is nn.functional.cross_entropy or isinstance(loss, nn.CrossEntropyLoss)


def _random_state(device: torch.device) -> Tensor:
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
