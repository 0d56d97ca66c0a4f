"""Checks of a network, its data and its loss before the first round; each failure is a one-line error.

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
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.parameter import is_lazy

from algorithms.descent import to_dense
from algorithms.federation import FederationError
from algorithms.layers import call, factorable
from algorithms.tree import Tree
from runs.networks.dependence import INDEPENDENT, depends_on
from runs.networks.network_function import (
    TESTING,
    Batch,
    Labelled,
    Loss,
    Network,
    are_classes,
    count_parts,
    explain_single_sample,
    seeded_draws,
)
from runs.networks.shared_memory import tied_names
from workloads.dense_tensors import not_dense
from workloads.exact_convolutions import exact_convolutions


def check_split(split: str, data: tuple[Tensor, Tensor]) -> Labelled:
    """Check that each input has one label and that all numbers are finite.

    Raises:
        FederationError: Names the sample.
    """
    pair = data if isinstance(data, Sequence) and not isinstance(data, str) else None
    if pair is None or len(pair) != 2:
        found = type(data).__name__ if pair is None else f"a {type(data).__name__} of {len(pair)}"
        raise FederationError(f"the {split} data must be inputs and targets, two tensors, got {found}")
    got = f"{type(pair[0]).__name__} and {type(pair[1]).__name__}"
    x, y = (_stacked(split, what, part, got) for what, part in (("inputs", pair[0]), ("targets", pair[1])))
    if len(x) == 0 or len(x) != len(y):
        raise FederationError(f"the {split} data have {len(x)} inputs and {len(y)} labels; each input needs one label")
    for what, values in (("input", x), ("label", y)):
        if not bool((finite := _finite_rows(values)).all()):
            raise FederationError(
                f"{what} {int((~finite).nonzero()[0])} of the {split} data is not finite; correct it or leave it out"
            )
    return Labelled(x, y)


def _finite_rows(values: Tensor) -> Tensor:
    """Return of each row whether all of its numbers are finite."""
    if values.is_floating_point() and values.element_size() == 1:  # torch compares no numbers of eight bits
        values = values.to(torch.float32)
    return values.isfinite().reshape(len(values), -1).all(1)


def _stacked(split: str, what: str, part: Any, got: str) -> Tensor:
    """Return one tensor, stacking a list with a tensor for each sample.

    Raises:
        FederationError: Neither; the message says what it is, and what to do.
    """
    if fault := next(filter(None, map(not_dense, _tensors(part))), ""):
        raise FederationError(f"the {split} {what} hold {fault}")
    if isinstance(part, list) and part and all(isinstance(one, Tensor) for one in part):
        odd = next((k for k, one in enumerate(part) if one.shape != part[0].shape or one.dtype != part[0].dtype), None)
        if odd is None:
            return torch.stack(part)
        raise FederationError(
            f"the {split} {what} differ in shape or type: 0 is {_type(part[0].dtype)} {tuple(part[0].shape)}, {odd} is "
            f"{_type(part[odd].dtype)} {tuple(part[odd].shape)}; make them equal, for example by padding"
        )
    if isinstance(part, Tensor) and part.ndim:
        return part
    remedies: dict[type, str] = {
        type(None): "a loss without targets can be given the inputs, or zeros, as targets",
        dict: "concatenate its tensors into one, and split it in the loss",
        tuple: "concatenate its tensors into one, and split it in the loss",
    }
    remedy = next(
        (text for kind, text in remedies.items() if isinstance(part, kind)),
        "stack them into one tensor with a row each",
    )
    raise FederationError(f"the {split} data must be two tensors, got {got}; of the {what}: {remedy}")


def _tensors(part: Any) -> list[Tensor]:
    """Return the tensors of one part of the data."""
    return [one for one in (part if isinstance(part, (list, tuple)) else [part]) if isinstance(one, Tensor)]


def require_fit(network: Network, start: Tree, splits: Mapping[str, Labelled]) -> None:
    """Apply the network to a few samples of each split.

    Raises:
        FederationError: Inputs, outputs, labels and loss do not fit together.
    """
    classes: set[int] = set()
    for split, data in splits.items():
        outputs = _apply_to_two(network, start, split, data)
        if len(data.x) < 2:
            continue
        known = data.y.detach().cpu()
        if are_classes(data.y):
            known = known.unique()
            if classes.issuperset(known.tolist()):  # the loss has been looked at with these
                continue
            classes.update(known.tolist())
        _require_mean(network, outputs, known)


def _apply_to_two(network: Network, start: Tree, split: str, data: Labelled) -> Tensor:
    """Apply the network to two samples and return its outputs."""
    few = torch.arange(min(2, len(data.x)), device=data.x.device)
    inputs, targets = network.prepare_samples(data, Batch(few))
    try:
        with torch.set_grad_enabled(network.differentiates), explain_single_sample(TESTING):
            outputs = call(network.testing, network.evaluation_weights(start), inputs)
    except FederationError as error:
        raise FederationError(f"the {split} data: {error}") from error
    except AttributeError as error:
        if "is not an nn.Parameter" not in str(error):
            raise
        raise FederationError(f"{_HELD}; use the attribute instead of get_parameter") from error
    except (RuntimeError, ValueError, TypeError) as error:
        raise FederationError(
            f"the network cannot take the {split} data, of shape {tuple(inputs.shape)} on {inputs.device}: "
            f"{' '.join(str(error).split())[:200]}{_describe_types(start, {'inputs': inputs})}"
        ) from error
    if not isinstance(outputs, Tensor):
        raise FederationError(
            f"the network returns a {type(outputs).__name__}; it must return one tensor of outputs, so wrap it in a "
            "module that does"
        )
    if outputs.ndim == 0 or len(outputs) != len(inputs):
        raise FederationError(f"the network returns outputs of shape {tuple(outputs.shape)} of {len(inputs)} inputs")
    by_class = is_of_classes(network.loss) and not data.y.is_floating_point() and outputs.ndim == data.y.ndim + 1
    if by_class and outputs.ndim > 1:
        ignored = _ignored_label(network.loss)
        outside = (((data.y < 0) | (data.y >= outputs.shape[1])) & (data.y != ignored)).nonzero()
        if len(outside):
            place = tuple(outside[0].tolist())
            raise FederationError(
                f"sample {place[0]} of the {split} data has label {int(data.y[place])}, but the network's outputs are "
                f"for labels 0 to {outputs.shape[1] - 1}"
            )
    _require_equal_terms(split, network.loss, data.y)
    try:
        with torch.set_grad_enabled(network.differentiates):
            value = network.loss(outputs, targets)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise FederationError(
            f"the loss cannot take outputs {tuple(outputs.shape)} and targets {tuple(targets.shape)}: "
            f"{' '.join(str(error).split())[:200]}{_describe_types(start, {'targets': targets})}"
        ) from error
    if not isinstance(value, Tensor) or value.ndim:
        raise FederationError("the loss must return one number, the mean over the samples")
    return outputs.detach()


def _ignored_label(loss: Loss) -> int | None:
    """Return the label that one of torch's losses for classes ignores; None for multi-margin losses."""
    plain: Any = loss.func if isinstance(loss, partial) else loss
    if plain is nn.functional.multi_margin_loss or isinstance(plain, nn.MultiMarginLoss):
        return None
    given = loss.keywords if isinstance(loss, partial) else vars(loss) if isinstance(loss, nn.Module) else {}
    return int(given.get("ignore_index", -100))


def _require_equal_terms(split: str, loss: Loss, y: Tensor) -> None:
    """Check that one of torch's losses for classes ignores as many targets of each sample as of every other.

    Raises:
        FederationError: It does not, so the loss of a batch is not the mean over its samples.
    """
    if not is_of_classes(loss) or y.is_floating_point() or y.ndim < 2:
        return
    ignored = _ignored_label(loss)
    if ignored is None:
        return
    counts = torch.eq(y, ignored).flatten(1).sum(1)
    odd = (counts != counts[0]).nonzero()
    if len(odd):
        sample = int(odd[0, 0])
        raise FederationError(
            f"the loss of a batch must be the mean of its samples' losses, but it ignores {int(counts[sample])} "
            f"targets of sample {sample} of the {split} data and {int(counts[0])} of sample 0"
        )


def _describe_types(start: Tree, given: Mapping[str, Tensor]) -> str:
    """Describe data of another floating-point type than the weights, as the end of a message."""
    own = {value.dtype for value in start.values() if value.is_floating_point()}
    for what, values in given.items():
        if values.is_floating_point() and values.dtype not in own:
            kinds = " and ".join(sorted(_type(kind) for kind in own))
            return f"; the {what} are {_type(values.dtype)} and the network's weights {kinds}: convert one of the two"
    return ""


def _type(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def with_derivatives(network: Network, start: Tree, data: Labelled) -> Network:
    """Return the network, marked if it or its loss takes derivatives that need gradients also in evaluations."""
    try:
        network.test(start, Labelled(data.x[:2], data.y[:2]), 2)
    except RuntimeError as error:
        return replace(network, differentiates="does not require grad" in str(error))
    except Exception:  # what else fails is named by `require_fit`
        return network
    return network


def require_learnable(network: Network, start: Tree, data: Labelled, rows: int) -> None:
    """Check that the network learns on a few samples, at most ``rows`` of them (two for batch norm).

    Raises:
        FederationError: It makes no loss in training mode, or one that depends on none of its weights, or whose
            gradient is not finite.
    """
    if len(data.x) < 2:
        return
    # The module may remember outputs, with what made them; who copies it later cannot copy these.
    network = replace(network, quiet=factorable(copy.deepcopy(network.quiet.module), network.quiet.layers))
    few, names = torch.arange(min(len(data.x), 16, max(rows, 2)), device=data.x.device), network.statistics
    w = {of: value.clone() if of in names else value.clone().requires_grad_() for of, value in start.items()}
    trained = {of: value for of, value in w.items() if of not in names}
    slopes: Sequence[Tensor | None] = ()
    try:
        with torch.enable_grad():
            value, _ = network.loss_and_statistics(w, data, Batch(few))
        if value.requires_grad:
            slopes = torch.autograd.grad(value, list(trained.values()), allow_unused=True)
    except FederationError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        mixed = _describe_types(start, {"inputs": data.x, "targets": data.y})
        raise FederationError(
            f"the network or its loss fails in training mode, though not in evaluation mode: "
            f"{' '.join(str(error).split())[:200]}{mixed}"
        ) from error
    if not depends_on(value, trained.values()):
        raise FederationError(f"{INDEPENDENT}: no count, detach or no_grad may stand between them")
    for name, slope in zip(trained, slopes, strict=True):
        if slope is not None and not slope.is_meta and bool(value.isfinite()) and not _is_finite(slope):
            raise FederationError(
                f"the loss is {float(value.detach()):.4g} at the start, but its gradient in {name} is not finite, "
                f"which happens if a root, a norm, a logarithm or a power is differentiated at 0; add a small "
                f"number inside it, or start elsewhere"
            )


_HELD = "calls of the network do not take every weight from its layer, where training puts the current values"
NEAR, NEAR_ELSEWHERE = 1e-5, 1e-2
"""Relative difference of losses and gradients of the same operations, on a CPU and on an accelerator."""


def require_given_weights(module: nn.Module, network: Network, start: Tree, data: Labelled, rows: int) -> None:
    """Check that losses and gradients are those of the weights that a call is given, not of others that are kept.

    Training gives the layers other tensors instead of their parameters for the time of a call. A weight that the
    network reads elsewhere, or after the call as checkpoints do, would stay at its first value. So compare with a copy
    whose own parameters have the values, at a point near the start.

    Args:
        module: The network as the user gave it.
        network: The network as a function of its weights.
        start: Initial weights.
        data: Samples, of which a few are used: at most `rows`, but two.
        rows: Samples at a time.

    Raises:
        FederationError: They are not.
    """
    if len(data.x) < 2 or any(value.is_meta for value in start.values()):
        return
    few = Batch(torch.arange(min(len(data.x), 16, max(rows, 2)), device=data.x.device))
    twin = copy.deepcopy(network.quiet.module)
    fresh = replace(network, quiet=factorable(copy.deepcopy(network.quiet.module), network.quiet.layers))
    inputs = network.prepare_samples(data, few).x
    with torch.enable_grad(), seeded_draws(0, data.x.device):
        twin(inputs.clone())  # so what a first call keeps is there
        fresh.loss_and_statistics(network.evaluation_weights(start), data, few)
    _move(twin, torch.Generator().manual_seed(0))
    own = {name: parameter for name, parameter in twin.named_parameters() if parameter.requires_grad}
    others = {name: parameter.detach() for name, parameter in twin.named_parameters() if name not in own}
    w = {name: parameter.detach().clone().requires_grad_() for name, parameter in own.items()}
    statistics = {name: start[name].clone() for name in network.statistics}
    with torch.enable_grad(), seeded_draws(0, data.x.device):
        value, _ = fresh.loss_and_statistics({**others, **w, **statistics}, data, few)
    if depends_on(value, [parameter for parameter in module.parameters() if parameter.requires_grad]):
        raise FederationError(
            f"{_HELD}: a copy of the network still calls a layer of the network that you gave, as a lambda in an "
            "attribute does; make it a method"
        )
    try:
        slopes = torch.autograd.grad(value, list(w.values()), allow_unused=True)
    except RuntimeError as error:  # a checkpoint that finds other weights than in the call
        raise FederationError(f"{_HELD}: {' '.join(str(error).split())[:150]}; {_REREAD}") from error
    with torch.enable_grad(), seeded_draws(0, data.x.device):
        inputs, targets = network.prepare_samples(data, few)
        true = network.loss_of(twin(inputs), targets)
        true.backward()
    pairs = [(value.detach(), true.detach())]
    for slope, parameter in zip(slopes, own.values(), strict=True):
        zero = torch.zeros_like(parameter)
        pairs.append(tuple(zero if one is None else to_dense(one.detach()) for one in (slope, parameter.grad)))  # type: ignore[arg-type]
    near = NEAR if data.x.device.type == "cpu" else NEAR_ELSEWHERE
    near = max(near, *(64 * torch.finfo(parameter.dtype).eps for parameter in own.values()))
    largest = max((float(two.abs().max()) for _, two in pairs[1:] if two.numel()), default=0.0)
    for name, (one, two) in zip(("", *own), pairs, strict=True):
        size = largest if name else float(two.abs())
        if isfinite(size) and one.numel() and float((one - two).abs().max()) > near * size:
            what = f"the gradient in {name}" if name else "the loss"
            raise FederationError(f"{_HELD}: {what} is that of other weights; {_REREAD}")


_REREAD = (
    "leave out torch.utils.checkpoint and backward functions that read weights, and keep no weight in a list, a cache "
    "or another attribute"
)


_BATCHES, _BATCHES_ELSEWHERE = (1e-6, 1e-4), (1e-4, 1e-3)
"""Relative difference of a sample's outputs in batches of the same size, and of another, on a CPU and elsewhere.

An accelerator may choose another way to convolve for another size.
"""


def _is_finite(slope: Tensor) -> bool:
    return bool((slope.coalesce().values() if slope.is_sparse else slope).isfinite().all())


def require_separate(network: Network, start: Tree, data: Labelled, rows: int) -> None:
    """Check that the output for a sample depends on the rest of its batch only through batch norm.

    Evaluations and full gradients are taken in parts, and would depend on how samples are divided. Batch norms, which
    have their own settings, are held at fixed statistics here. Looks at the start and at a point near it, because a
    factor of 0 may hide what comes later. Looks at no more than ``rows`` samples at a time, but at two.

    Raises:
        FederationError: It does.
    """
    if len(data.x) < 2:
        return
    count = min(len(data.x), 16, max(rows, 2))
    few = torch.linspace(0, len(data.x) - 1, count, device=data.x.device).long()
    half, generator = count // 2, torch.Generator().manual_seed(0)
    inputs = network.prepare_samples(data, Batch(few)).x
    others = torch.cat([inputs[:half], *[inputs[:half]] * 2])[: len(inputs)]
    same, other = _BATCHES if inputs.device.type == "cpu" else _BATCHES_ELSEWHERE
    for mode, prepared in (("evaluation", network.testing), ("training", network.quiet)):
        module = _with_fixed_norms(prepared.module)
        for moved in (False, True):
            if moved:
                _move(module, generator)
            try:
                with (
                    torch.set_grad_enabled(network.differentiates),
                    seeded_draws(0, inputs.device),
                    exact_convolutions(),
                ):
                    whole = module(inputs.clone()).detach()
                    replaced = module(others.clone()).detach()[:half]
                    parts = [module(part.clone()).detach() for part in (inputs[:half], inputs[half:])]
                    joined = torch.cat(parts)
            except Exception:  # a batch of one sample, or what other checks name
                break
            if not is_alike(whole[:half], replaced, same) or not is_alike(whole, joined, other):
                raise FederationError(
                    f"the network's output for a sample in {mode} mode depends on the other samples in its batch, so "
                    "losses would depend on how samples are divided into batches; compute each sample's outputs "
                    "from its own inputs, or normalise by nn.BatchNorm"
                )


def _with_fixed_norms(module: nn.Module) -> nn.Module:
    """Return a copy whose batch norms use given statistics instead of batch statistics."""
    made = copy.deepcopy(module)
    for layer in made.modules():
        if isinstance(layer, _BatchNorm):
            layer.eval()
            if layer.running_mean is None:
                like = next(iter((*layer.parameters(), *made.parameters())))
                layer.running_mean = torch.zeros(layer.num_features, dtype=like.dtype, device=like.device)
                layer.running_var = torch.ones_like(layer.running_mean)
    return made


def _move(module: nn.Module, generator: torch.Generator) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            size = 0.1 * float(parameter.abs().mean()) + 0.01 if parameter.numel() else 0.0
            parameter.add_(torch.randn(parameter.shape, generator=generator, device="cpu").to(parameter), alpha=size)


def is_alike(one: Tensor, other: Tensor, near: float) -> bool:
    """Return whether outputs are the same to rounding, relative to the largest."""
    if one.shape != other.shape:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    finite = one.abs()[one.isfinite()]
    near = max(near, 64 * torch.finfo(one.dtype).eps) * float(finite.max() if len(finite) else 0.0)
    return torch.allclose(one, other, rtol=0.0, atol=near, equal_nan=True)


def _require_mean(network: Network, outputs: Tensor, known: Tensor) -> None:
    """Check that the loss of a batch is the mean over its samples, because its parts are weighted by their samples.

    Looks at small batches, whose parts differ much, of drawn outputs, since those of a start may be all the same.

    Args:
        network: The network, for its loss.
        outputs: Outputs of a few samples; only their shape and type matter.
        known: Targets to draw from: of a split, or its classes, each once.

    Raises:
        FederationError: The loss is not a mean over samples.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (5, *outputs.shape[1:])
    for draw in (torch.randn, torch.rand):  # a loss of probabilities refuses the first or makes no number of them
        for _ in range(max(4, min(200, 200_000 // max(outputs[0].numel(), 1)))):
            made = draw(shape, generator=generator).to(outputs.dtype)
            y = known[torch.randint(len(known), (5,), generator=generator)]
            try:
                values = [_value(network, made[part], y[part]) for part in (slice(5), slice(2), slice(2, 5))]
                whole, two, three = map(float, values)
                near = _rounding(made, *values)
            except (RuntimeError, ValueError, TypeError, IndexError):
                break
            apart, size = abs(whole - (2 * two + 3 * three) / 5), abs(whole) + abs(two) + abs(three)
            if not isfinite(whole) or apart <= near * size:
                continue
            size = max(size, _mean_size(network, made, y))
            if apart <= near * size:
                continue
            is_sum = abs(whole - two - three) <= near * size
            raise FederationError(
                "the loss of a batch must be the mean of its samples' losses, and is "
                + (
                    "their sum; divide it by the number of samples"
                    if is_sum
                    else "neither that nor their sum: weights of classes, ignored targets, roots, and outputs (n, 1) "
                    "with targets (n,) make a sample's share depend on the rest of its batch"
                )
            )


def _rounding(*tensors: Tensor) -> float:
    """Return the relative difference that rounding may make between losses, as `hessian.loss` allows it."""
    coarsest = max(torch.finfo(one.dtype).eps if one.is_floating_point() else 0.0 for one in tensors)
    return max(1e-6, min(1e3 * coarsest, max(1e-3, 8 * coarsest)))  # of half precision eight units, not a thousand


def _mean_size(network: Network, outputs: Tensor, targets: Tensor) -> float:
    """Return the mean size of the losses of single samples, which may cancel in a batch; 0 if they are unknown."""
    try:
        single = [abs(float(_value(network, outputs[k : k + 1], targets[k : k + 1]))) for k in range(len(outputs))]
    except (RuntimeError, ValueError, TypeError, IndexError):
        return 0.0
    return sum(single) / len(single) if all(map(isfinite, single)) else 0.0


def _value(network: Network, outputs: Tensor, targets: Tensor) -> Tensor:
    with torch.set_grad_enabled(network.differentiates):
        if network.differentiates:
            outputs = outputs.clone().requires_grad_()
        return network.loss(outputs, targets).detach()


def require_no_other_state(network: Network, start: Tree, data: Labelled, rows: int) -> None:
    """Check that training changes no buffers except running statistics: they would leak between clients.

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
    parts = few.tensor_split(count_parts(len(few), max(rows, 2), 2))
    with torch.set_grad_enabled(network.differentiates), seeded_draws(0, data.x.device):
        undrawn = _random_states(data.x.device)
        twice, counts = [], []
        for _ in range(2):
            twice.append([module(network.prepare_samples(data, Batch(part)).x).detach() for part in parts])
            testing(network.prepare_samples(data, Batch(parts[0])).x)
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
            f"training changes the buffer {changed[0]}; clients can only exchange the running statistics of norms"
        )
    if not all(
        torch.allclose(one, other, rtol=1e-3, atol=1e-6, equal_nan=True) for one, other in zip(*twice, strict=True)
    ):
        raise FederationError(
            "the network returns different outputs for the same inputs when it is called again: its memory would "
            "pass from client to client"
        )
    counted = [name for one, two in zip(*counts, strict=True) for name, value in two.items() if one.get(name) != value]
    if counted:
        raise FederationError(
            f"calls of the network change its attribute {counted[0]}, which would carry over between clients and "
            f"differ between workers: do not change it in forward"
        )


def _plain_attributes(module: nn.Module) -> dict[str, str]:
    """Return the numbers and texts among the attributes of a module and its layers, by name."""
    kinds = bool, int, float, str
    return {
        f"{prefix}.{name}".lstrip("."): repr(value)
        for prefix, part in module.named_modules()
        for name, value in vars(part).items()
        if type(value) in kinds
    }


def is_of_classes(loss: Loss) -> bool:
    """Return whether a loss is one of torch's losses for outputs by class."""
    plain: Any = loss.func if isinstance(loss, partial) else loss
    functions = nn.functional.cross_entropy, nn.functional.nll_loss, nn.functional.multi_margin_loss
    return plain in functions or isinstance(plain, nn.CrossEntropyLoss | nn.NLLLoss | nn.MultiMarginLoss)


def _random_states(device: torch.device) -> tuple[object, ...]:
    """Return the states of the generators of torch, Python and numpy, for comparison."""
    own = torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - what other people draw from
    return own.cpu().numpy().tobytes(), random.getstate(), kind, np.asarray(keys).tobytes(), tuple(rest)


def require_trainable(module: nn.Module, loss: Loss) -> None:
    """Check that a module and its loss can be trained.

    Raises:
        FederationError: Names the parameter that cannot.
    """
    for name, parameter in module.named_parameters():
        if parameter._backward_hooks:
            raise FederationError(f"the hook on the gradient of {name} would not be called; move its work elsewhere")
        if parameter.is_complex():
            raise FederationError(f"{name} is complex; weights must be real")
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    dense = {name: value for name, value in held.items() if value.layout == torch.strided and not value.is_meta}
    tied = None if any(map(is_lazy, held.values())) else tied_names(dense)
    if tied and any(held[name].requires_grad for name in tied):
        one, other = tied
        raise FederationError(
            f"{one} and {other} of the network share memory without being one parameter, so a copy of the network "
            "would train each for itself; assign the parameter itself, as in b.weight = a.weight, or a clone to train "
            "them apart"
        )
    if isinstance(loss, nn.Module) and any(parameter.requires_grad for parameter in loss.parameters()):
        raise FederationError("parameters of the loss would not be trained; move them into the network")
