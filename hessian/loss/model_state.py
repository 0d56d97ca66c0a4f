"""A model as a pure function of chosen parameters: copies replace its weights, so the model itself does not change."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.utils import parametrizations
from torch.nn.utils.weight_norm import WeightNorm

from hessian.loss.batches import iterate_tensors
from hessian.loss.kept_tensors import KEPT, Call, References, describe_held_parameter, require_nothing_kept
from hessian.numerics.differentiation import (
    constants_in,
    exact_evaluation,
    gradients_of,
    plain_weight_norm,
    without_cudnn,
)
from hessian.numerics.symmetric import CurvatureError

Selection = Sequence[str] | str | None
"""Names of parameters or patterns such as ``layer1.*``; ``None``: all that require gradients."""
_TURN = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Make other threads wait until this one has evaluated its model.

    A model holds other weights while it is evaluated, and some switches of torch are those of the process. A second
    thread would compute with these weights, and would leave them in the model when it restores what it found.
    """
    with _TURN:
        yield


def require_differentiation() -> None:
    """Refuse inference mode, in which every derivative is zero.

    Raises:
        CurvatureError: It is on.
    """
    if torch.is_inference_mode_enabled():
        raise CurvatureError("nothing can be differentiated within torch.inference_mode(): measure outside of it")


def select_parameters(model: nn.Module, selection: Selection) -> dict[str, Tensor]:
    """Copy the chosen parameters, in the model's order, as leaves for differentiation.

    Raises:
        CurvatureError: None left, a pattern that matches nothing, TorchScript, lazy or integer or complex or
            half-precision weights, weights that are not finite, or several dtypes or devices.
    """
    named = dict(model.named_parameters())
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise CurvatureError(
                f"{name or 'the model'} is a TorchScript module, whose weights cannot be replaced: pass the "
                f"module from before torch.jit.script or torch.jit.trace"
            )
    for name, tensor in (*named.items(), *model.named_buffers()):
        if isinstance(tensor, nn.parameter.UninitializedParameter | nn.parameter.UninitializedBuffer):
            raise CurvatureError(f"{name} is lazy and has no weights yet: call the model once on a batch of the data")
        if tensor.is_inference():
            raise CurvatureError(
                f"{name} was made within torch.inference_mode(), where nothing can be differentiated: make the model "
                "outside of it, or copy it there by copy.deepcopy"
            )
    if not named:
        raise CurvatureError("the model has no parameters")
    if selection is None:
        chosen = {name: p for name, p in named.items() if p.requires_grad}
        if not chosen:
            kinds = sorted({str(p.dtype) for p in named.values() if not p.is_floating_point()})
            why = f"they are {', '.join(kinds)}" if kinds else "every requires_grad is False; name the right ones"
            raise CurvatureError(f"the model has no trainable parameter: {why}")
    else:
        chosen = {name: named[name] for name in match_names(tuple(named), selection, aliases(model))}
    for name, parameter in chosen.items():
        if parameter.dtype not in (torch.float32, torch.float64):
            raise CurvatureError(
                f"{name} is {parameter.dtype}; second derivatives need float32 or float64 (model.double())"
            )
        if not parameter.is_meta and not bool(torch.isfinite(parameter).all()):
            raise CurvatureError(f"{name} has non-finite weights")
    devices = {str(p.device) for p in named.values()} | {str(b.device) for b in model.buffers()}
    dtypes = {str(p.dtype) for p in chosen.values()}
    if len(devices) > 1:
        raise CurvatureError(f"the model is on several devices ({', '.join(sorted(devices))}); move it to one")
    if len(dtypes) > 1:
        raise CurvatureError(
            f"the parameters have several dtypes ({', '.join(sorted(dtypes))}); use one, by model.float() or "
            "model.double()"
        )
    if devices == {"meta"}:
        raise CurvatureError("the model is on the meta device, which stores no weights")
    return {name: parameter.detach().clone().requires_grad_() for name, parameter in chosen.items()}


def aliases(model: nn.Module) -> dict[str, str]:
    """Return the other names of parameters that have several, each with the name that `named_parameters` gives.

    A tied weight has a name by each module that holds it, as has any parameter of a module that hangs in two places.
    """
    first = {id(p): name for name, p in model.named_parameters()}
    every = model.named_parameters(remove_duplicate=False)
    return {name: first[id(p)] for name, p in every if name != first[id(p)]}


def match_names(
    names: Sequence[str], patterns: Sequence[str] | str, others: Mapping[str, str] | None = None
) -> list[str]:
    """Return the names of the parameters that match a pattern, in their order.

    A pattern that is itself a name means only that name, and one that is a module's name and ``.*`` means that module,
    because names may hold ``*``, ``?`` and brackets.

    Args:
        names: A name of each parameter.
        patterns: A pattern or several.
        others: Further names, each with the one among the names; a pattern that matches it means that parameter.

    Raises:
        CurvatureError: No pattern, or one that matches nothing.
    """
    wanted = [patterns] if isinstance(patterns, str) else list(patterns) if isinstance(patterns, Iterable) else [None]
    if not all(isinstance(pattern, str) for pattern in wanted):
        raise CurvatureError(f"parameters must be names or patterns such as 'layer1.*', got {patterns!r}")
    if not wanted:
        raise CurvatureError("no parameter is named; pass names or patterns, or None for all trainable ones")
    chosen: set[str] = set()
    named = {name: name for name in names} | {other: name for other, name in (others or {}).items() if name in names}
    for pattern in wanted:
        if not (found := {named[name] for name in _match_one(tuple(named), pattern)}):
            raise CurvatureError(f"no parameter matches {pattern!r}; the first are {', '.join(list(names)[:6])}")
        chosen.update(found)
    return [name for name in names if name in chosen]


def _match_one(names: Sequence[str], pattern: str) -> list[str]:
    if pattern in names:
        return [pattern]
    within = [name for name in names if name.startswith(pattern[:-1])] if pattern.endswith(".*") else []
    return within or [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def check_modes(model: nn.Module, batch_norm: str | None) -> None:
    """Refuse active randomness, and batch norm without a named policy.

    Raises:
        CurvatureError: One of these, or an unknown policy.
    """
    if batch_norm not in (None, "running", "batch"):
        raise CurvatureError(f"batch_norm must be 'running' or 'batch', got {batch_norm!r}", keywords=("batch_norm",))
    for name, module in model.named_modules():
        normalises = isinstance(module, _BatchNorm)
        if normalises and module.running_mean is None and batch_norm != "batch":
            raise CurvatureError(
                f"batch norm {name!r} keeps no running statistics (track_running_stats=False) and couples the samples "
                "of a batch in either mode: use the statistics of each batch, batch_norm='batch', or build and "
                "train it with track_running_stats=True",
                keywords=("batch_norm",),
            )
        if not module.training:
            continue
        dropout = isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0
        if dropout or (isinstance(module, nn.RNNBase) and module.dropout > 0):
            raise CurvatureError(
                f"dropout is on in {name or 'the model'!r}: call model.eval() first, such as in the function that "
                "returns the model"
            )
        if isinstance(module, nn.RReLU) and module.lower < module.upper:
            raise CurvatureError(f"RReLU has random slopes in {name or 'the model'!r}: call model.eval() first")
        if normalises and batch_norm is None:
            raise CurvatureError(
                f"batch norm {name!r} is in training mode and couples the samples of a batch: call model.eval() first, "
                "or choose the statistics by batch_norm='running' (of training) or batch_norm='batch' (of each batch)",
                keywords=("batch_norm",),
            )


def has_weight_norm(model: nn.Module) -> bool:
    """Return whether a layer's weight is normalised by either form of weight norm."""
    return any(
        isinstance(module, parametrizations._WeightNorm)
        or any(isinstance(hook, WeightNorm) for hook in module._forward_pre_hooks.values())
        for module in model.modules()
    )


class _Joint(nn.Module):
    """A model and a loss as one module, so the loss also uses what replaces the parameters."""

    def __init__(self, model: nn.Module, loss: Any) -> None:
        super().__init__()
        self.model = model
        if isinstance(loss, nn.Module):
            self.loss = loss

    def forward(self, evaluate: Callable[[], Any]) -> Any:
        return evaluate()


class PureModel:
    """A model and its loss as a function of chosen parameters, the state of both otherwise as it was found.

    While `run` evaluates, the model holds other tensors in place of its parameters and buffers. A loss that reads the
    parameters of the model, for a penalty, reads these, and its curvature is included. The modes are those in which
    this object was made, because training may go on before all products and tests of them are.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Any,
        chosen: dict[str, Tensor],
        batch_norm: str | None,
        modes: Sequence[bool] | None = None,
    ) -> None:
        """Copy the state.

        Args:
            model: The model.
            loss: The loss.
            chosen: Copies of the chosen parameters.
            batch_norm: `running`, `batch`, or nothing.
            modes: Whether each module of model and loss is in training mode; default: as it is.
        """
        self._model, self._loss, self._batch_norm = model, loss, batch_norm
        self._joint = _Joint(model, loss)
        self._chosen = {f"model.{name}": parameter for name, parameter in chosen.items()}
        first = next(iter(chosen.values()))
        rest = {name: p.detach() for name, p in self._joint.named_parameters() if name not in self._chosen}
        # Losses are made without a thought of the model's dtype: their tensors take it.

        def copied(name: str, tensor: Tensor) -> Tensor:
            return (_cast(tensor, first.dtype, first.device) if name.startswith("loss.") else tensor).clone()

        self._rest = {name: copied(name, tensor) for name, tensor in rest.items()}
        self._buffers = {name: copied(name, tensor) for name, tensor in self._joint.named_buffers()}
        # Where each parameter hangs: a walk through the modules at every product would cost as much as small products.
        self._hung = [
            (name, module._parameters, key, parameter, parameter._version)
            for name, module, key, parameter in _find_hanging(model)
        ]
        self._modules = [(m._modules, key, child) for m in model.modules() for key, child in m._modules.items()]
        self._has_constants = False  # which are not cast with the weights; known after the first refusal
        modules = list(self._joint.modules())
        self._modes = tuple(module.training for module in modules) if modes is None else tuple(modes)
        by_batch = norms_of_batches(modules, self._modes) if batch_norm == "batch" else frozenset()
        self._modules_in_modes = [
            (module, module in by_batch if batch_norm and isinstance(module, _BatchNorm) else mode)
            for module, mode in zip(modules, self._modes, strict=True)
        ]
        self._weight_norm = has_weight_norm(model)
        self._recurrent = any(isinstance(module, nn.RNNBase) for module in model.modules())

    def at(self, parameters: Sequence[Tensor]) -> PureModel:
        """Return the same model at other parameters, and move it to their device."""
        chosen = dict(zip((name.removeprefix("model.") for name in self._chosen), parameters, strict=True))
        return PureModel(self._model.to(parameters[0].device), self._loss, chosen, self._batch_norm, self._modes)

    def __reduce__(self) -> tuple[Any, ...]:
        chosen = {name.removeprefix("model."): parameter for name, parameter in self._chosen.items()}
        return PureModel, (self._model, self._loss, chosen, self._batch_norm, self._modes)

    @property
    def modes(self) -> tuple[bool, ...]:
        """Whether each module of model and loss is in training mode."""
        return self._modes

    @property
    def module(self) -> nn.Module:
        """The model itself."""
        return self._model

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the output; only within `run`."""
        return self._model(*args, **kwargs)

    def run(self, evaluate: Callable[[], Any], at: Sequence[Tensor] | None = None) -> Any:
        """Evaluate with the chosen parameters, or with tensors instead of them, to whose dtype the others are cast.

        Args:
            evaluate: Calls this object for outputs, and the loss.
            at: In place of the chosen parameters, in their order.

        Raises:
            CurvatureError: Within inference mode.
        """
        require_differentiation()
        with one_at_a_time():
            return self._run_in_dtype(evaluate, at)

    def _run_in_dtype(self, evaluate: Callable[[], Any], at: Sequence[Tensor] | None) -> Any:
        """Evaluate as `run` does, with constants in the type of the tensors if the model refuses them otherwise."""
        chosen = self._chosen if at is None else dict(zip(self._chosen, at, strict=True))
        dtype, own = (next(iter(tensors.values())).dtype for tensors in (chosen, self._chosen))
        if dtype == own:
            return self._run(evaluate, chosen)
        if not self._has_constants:
            try:
                return self._run(evaluate, chosen)
            except (CurvatureError, torch.OutOfMemoryError):
                raise
            except RuntimeError as error:
                refused = error
        try:
            with constants_in(dtype, own):
                value = self._run(evaluate, chosen)
        except RuntimeError:
            if self._has_constants:
                raise
            raise refused from None
        self._has_constants = True
        return value

    def _run(self, evaluate: Callable[[], Any], chosen: dict[str, Tensor]) -> Any:
        dtype, own = (next(iter(tensors.values())).dtype for tensors in (chosen, self._chosen))

        def as_chosen(tensor: Tensor) -> Tensor:  # what the model holds in another dtype is meant so
            return _cast(tensor, dtype) if tensor.dtype == own else tensor

        rest = {name: as_chosen(tensor) for name, tensor in self._rest.items()}
        rest |= {name: as_chosen(tensor).clone() for name, tensor in self._buffers.items()}  # of each call
        with ExitStack() as stack:
            stack.enter_context(_keep_attributes(self._joint))
            for module, mode in self._modules_in_modes:
                if module.training is not mode:
                    module.training = mode  # an attribute, which is restored
            stack.enter_context(exact_evaluation())
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))  # fused attention has no second derivative
            if self._weight_norm:
                stack.enter_context(plain_weight_norm())
            if self._recurrent:  # nor have cuDNN's recurrent layers
                stack.enter_context(without_cudnn())
            return functional_call(self._joint, {**rest, **chosen}, (evaluate,), tie_weights=True)

    def constants(self) -> tuple[Tensor, ...]:
        """Return the tensors of model and loss that are not chosen, buffers included."""
        return (*self._rest.values(), *self._buffers.values())

    def constant_contents(self) -> list[Tensor]:
        """Return those among them that may weigh samples or classes: all but weights and batch norm's statistics."""
        norms = [f"{name}." for name, module in self._joint.named_modules() if isinstance(module, _BatchNorm)]
        buffers = (tensor for name, tensor in self._buffers.items() if not name.startswith(tuple(norms)))
        losses = (tensor for name, tensor in self._rest.items() if name.startswith("loss."))
        return [*losses, *buffers]

    def require_nothing_kept(self, calls: Callable[[], Iterable[Call]], kept: References | None = None) -> None:
        """Refuse caches of weights; call this before any other evaluation.

        Args:
            calls: Losses of samples from all batches, with tensors in place of the chosen parameters.
            kept: Storages that an earlier call has left, see there.

        Raises:
            CurvatureError: There are some, see `hessian.loss.kept_tensors`.
        """
        weights = {name.removeprefix("model."): parameter for name, parameter in self._chosen.items()}
        own: dict[str, Tensor] = {name: p for name, p in self._model.named_parameters() if name in weights}
        require_nothing_kept(calls, weights, own, self.constants(), kept)

    def find_half_precision(self) -> str:
        """Describe a parameter or buffer in half precision other than the chosen ones; empty if there is none."""
        for name, tensor in (*self._rest.items(), *self._buffers.items()):
            if tensor.dtype in (torch.float16, torch.bfloat16):
                return f"{name.removeprefix('model.')} is {tensor.dtype}: call model.float() or model.double()"
        return ""

    def find_other_dtype(self) -> str:
        """Describe a floating tensor of another dtype than the chosen parameters; empty if the model holds none."""
        own = next(iter(self._chosen.values())).dtype
        for name, tensor in (*self._rest.items(), *self._buffers.items()):
            if tensor.is_floating_point() and tensor.dtype != own:
                return (
                    f"{name.removeprefix('model.')} is {tensor.dtype}, but the parameters, and so the data, are "
                    f"{own}: call model.float() or model.double()"
                )
        for place, module in self._joint.named_modules():
            for key, value in vars(module).items():
                tensors = () if key in ("_parameters", "_buffers", "_modules") else iterate_tensors(value)
                for tensor in tensors:
                    if tensor.is_floating_point() and tensor.dtype != own:
                        name = f"{place}.{key}".removeprefix("model.")
                        return (
                            f"{name} is {tensor.dtype}, and the parameters are {own}: it is a plain attribute, which "
                            f"model.double() and model.float() leave as it is, so call "
                            f"self.register_buffer({key!r}, ...) where the model sets it"
                        )
        return ""

    def holds_others_fixed(self) -> bool:
        """Return whether parameters that require gradients are not chosen, so nothing can differentiate by them."""
        own = self._model.named_parameters()
        return any(p.requires_grad and f"model.{name}" not in self._chosen for name, p in own)

    def require_own_unused(self, value: Tensor) -> None:
        """Refuse a value that depends on the model's own parameters instead of their copies.

        Args:
            value: Evaluated while `own_parameters_watched`.

        Raises:
            CurvatureError: It does.
        """
        own = {n: p for n, p in self._model.named_parameters() if f"model.{n}" in self._chosen}
        try:
            found = gradients_of(value, list(own.values()), retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            if "through the graph a second time" not in str(error):
                raise
            raise CurvatureError(KEPT) from error
        captured = [name for name, gradient in zip(own, found, strict=True) if gradient is not None]
        if captured:
            raise CurvatureError(describe_held_parameter(captured[0]))

    def require_kept(self) -> None:
        """Refuse a forward pass that has changed the weights it was given.

        Raises:
            CurvatureError: They are not those that the model itself holds.
        """
        own = dict(self._model.named_parameters())
        for name, now in self._chosen.items():
            if not torch.equal(now.detach(), own[name.removeprefix("model.")].detach()):
                raise CurvatureError(
                    f"the forward pass changes {name.removeprefix('model.')}, as Embedding(max_norm=) does, so "
                    f"the loss is not a smooth function of it; renormalise the weights once, and leave max_norm out"
                )

    @contextmanager
    def watching_own_parameters(self) -> Iterator[None]:
        """Make the model's own chosen parameters require gradients inside the context."""
        own = [p for name, p in self._model.named_parameters() if f"model.{name}" in self._chosen]
        before = [p.requires_grad for p in own]
        try:
            for parameter in own:
                parameter.requires_grad_(True)
            yield
        finally:
            for parameter, required in zip(own, before, strict=True):
                parameter.requires_grad_(required)

    def require_unchanged(self) -> None:
        """Refuse weights that have changed since the copies were made.

        Raises:
            CurvatureError: They were.
        """
        for name, place, key, parameter, version in self._hung:
            if place.get(key) is not parameter or parameter._version != version:
                raise CurvatureError(f"{name} was changed after the operator was built; build it again")
        for children, key, child in self._modules:
            if children.get(key) is not child:
                raise CurvatureError(f"module {key} was changed after the operator was built; build it again")


def norms_of_batches(modules: Sequence[nn.Module], modes: Sequence[bool]) -> frozenset[nn.Module]:
    """Return the batch norms that take the statistics of each batch where these are chosen.

    They are those that do so in training: norms in training mode, and norms without running statistics. Other norms
    keep their running statistics, because somebody froze them. Without any such norm, all of them are meant.
    """
    norms = [(module, mode) for module, mode in zip(modules, modes, strict=True) if isinstance(module, _BatchNorm)]
    found = frozenset(norm for norm, mode in norms if mode or norm.running_mean is None)
    return found or frozenset(norm for norm, _ in norms)


def _find_hanging(model: nn.Module) -> Iterator[tuple[str, nn.Module, str, Tensor]]:
    """Yield name, module, local name and parameter of all parameters that are plain attributes."""
    for prefix, module in model.named_modules():
        for key, parameter in module._parameters.items():
            if parameter is not None:
                yield f"{prefix}.{key}" if prefix else key, module, key, parameter


def padding_rows(model: nn.Module, names: Sequence[str]) -> dict[int, list[int]]:
    """Return the rows of embeddings whose lookups are constants, by the position of their weights among the names.

    A tied weight has the rows of each embedding that holds it.
    """
    own = {id(p): position for position, p in enumerate(map(dict(model.named_parameters()).get, names))}
    found: dict[int, list[int]] = {}
    for module in model.modules():
        if not isinstance(module, nn.Embedding | nn.EmbeddingBag) or id(module.weight) not in own:
            continue
        if module.padding_idx is not None:
            found.setdefault(own[id(module.weight)], []).append(module.padding_idx)
    return found


def _cast(tensor: Tensor, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)


@contextmanager
def _keep_attributes(joint: nn.Module) -> Iterator[None]:
    """Restore what a forward pass sets, such as counters and what hooks compute from weights.

    Weights are restored as well, because `functional_call` does not restore them in a module that has two names.
    """
    before = [(m, dict(vars(m)), dict(m._parameters), dict(m._buffers)) for m in joint.modules()]
    try:
        yield
    finally:
        for module, attributes, parameters, buffers in before:
            module._parameters.update(parameters)
            module._buffers.update(buffers)
            now = vars(module)
            for name in [name for name in now if name not in attributes]:
                del now[name]
            for name, value in attributes.items():
                if now.get(name) is not value:
                    now[name] = value


def owner(name: str) -> str:
    """Return the module that a parameter belongs to: ``layer1.0.conv1`` for ``layer1.0.conv1.weight``."""
    return name.rpartition(".")[0]
