"""Values and derivatives in float32 for float32 models: faster but less exact modes of GPUs are turned off.

Autocast within a model is the user's choice; outside of it, it would spoil the computations with its products.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from workloads.exact_convolutions import exact_convolutions

UNREAL = 1e30
"""Numbers from here on stand for minus infinity, as in the masks of attention."""
WHOLE = 2.0**16
"""Whole numbers up to here are taken as exact."""
_EXACT = frozenset(
    """eq ne lt le gt ge max min amax amin maximum minimum argmax argmin sort topk sign floor ceil round trunc frac
    remainder fmod isnan isinf isfinite nonzero searchsorted bucketize histc one_hot item _local_scalar_dense _to_copy
    where""".split()  # noqa: SIM905 - a long list
)
"""Operations that round nothing, or jump where their arguments change by a unit of rounding."""

_FUSED = [
    getattr(torch.ops.aten, name)
    for name in ("_softmax", "_log_softmax", "native_layer_norm", "native_group_norm", "var", "var_mean")
]
"""Operations that torch counts as single ones, in which differences of rounded numbers are taken."""


@contextmanager
def exact_evaluation() -> Iterator[None]:
    """Use one formula for values with and without gradients: transformer layers have a faster one without."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with exact_convolutions():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def exact_algebra() -> Iterator[None]:
    """Multiply matrices in their own dtype, even under autocast and if float32 is set to use TF32."""
    with ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        for matmul in (torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None)):
            # Before torch 2.9 there is a setting of GPUs alone, and of another name.
            name, exact = ("fp32_precision", "ieee") if hasattr(matmul, "fp32_precision") else ("allow_tf32", False)
            if (before := getattr(matmul, name, exact)) not in (exact, "none"):
                setattr(matmul, name, exact)
                stack.callback(setattr, matmul, name, before)
        yield


class plain_weight_norm(TorchFunctionMode):  # noqa: N801 - a context manager
    """Weight norm by its formula: the derivative of the fused kernel's own derivative is wrong."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not torch._weight_norm:
            return func(*args, **(kwargs or {}))
        return _weight_norm(*args, **(kwargs or {}))


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    return v * (g / torch.norm_except_dim(v, 2, dim))


class constants_in(TorchFunctionMode):  # noqa: N801 - a context manager
    """Operations on tensors of two types, one of which the weights were cast to and the other is their own.

    A tensor that a model or a loss holds as a plain attribute, in a closure or in a module, or makes in its forward
    pass, keeps the weights' own type. An operation that refuses both at once gets such tensors in the other type, and
    one that writes into such a tensor gets the others in its type.
    """

    def __init__(self, dtype: torch.dtype, own: torch.dtype) -> None:
        super().__init__()
        self._dtype, self._own = dtype, own

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        try:
            return func(*args, **options)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            name = getattr(func, "__name__", "")
            writes = name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
            kept, given = (args[:1], args[1:]) if writes else ((), args)
            if options.get("out") is not None or (writes and not _is_of(kept, self._own)):
                raise
            old, new = (self._dtype, self._own) if writes else (self._own, self._dtype)

            def cast(tensor: Tensor) -> Tensor:
                return tensor.to(new) if tensor.dtype == old else tensor

            return func(*kept, *tree_map_only(Tensor, cast, given), **tree_map_only(Tensor, cast, options))


def _is_of(values: tuple[Any, ...], dtype: torch.dtype) -> bool:
    return all(isinstance(value, Tensor) and value.dtype == dtype for value in values)


class changed_by_units(TorchDispatchMode):  # noqa: N801 - a context manager
    """Arithmetic on numbers of a type that are changed by up to a unit of rounding before every operation.

    Results then differ from the unchanged ones by about twice what they are rounded by, on any way through a model and
    its derivatives. The changes are the same each time.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self._dtype, self._unit = dtype, torch.finfo(dtype).eps
        self._generator = torch.Generator().manual_seed(0)
        self._steps = core_aten_decompositions() | get_decompositions(_FUSED)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        schema = func._schema
        shares_memory = any(one.alias_info is not None for one in schema.arguments)
        if shares_memory or schema.name.rpartition("::")[2] in _EXACT:
            return func(*args, **options)
        if (steps := self._steps.get(func)) is not None:
            with self:  # what one operation does inside, such as a difference of softmax's, is rounded as well
                return steps(*args, **options)
        return func(*tree_map_only(Tensor, self._change, args), **tree_map_only(Tensor, self._change, options))

    def _change(self, tensor: Tensor) -> Tensor:
        if tensor.dtype != self._dtype or tensor.layout is not torch.strided or tensor.is_meta:
            return tensor
        # In place, for the memory: one more tensor, and another for a moment.
        share = torch.rand(tensor.shape, generator=self._generator, dtype=self._dtype, device="cpu").to(tensor.device)
        share.mul_(2.0).sub_(1.0).mul_(self._unit)
        # Small whole numbers are exact, and are often labels or counts.
        kept = tensor.round().eq_(tensor).bool()
        kept &= (tensor < WHOLE) & (tensor > -WHOLE)
        kept |= (tensor >= UNREAL) | (tensor <= -UNREAL)
        return share.masked_fill_(kept, 0.0).mul_(tensor).add_(tensor)


@contextmanager
def without_cudnn() -> Iterator[None]:
    """Turn cuDNN off; `torch.backends.cudnn.flags` would also set its precision."""
    before = torch.backends.cudnn.enabled
    torch.backends.cudnn.enabled = False
    try:
        yield
    finally:
        torch.backends.cudnn.enabled = before


def gradients_of(*arguments: Any, **options: Any) -> tuple[Tensor, ...]:
    """Return gradients like `torch.autograd.grad`, with exact convolutions."""
    with exact_convolutions():
        return torch.autograd.grad(*arguments, **options)
