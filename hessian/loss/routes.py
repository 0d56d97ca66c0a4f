r"""Faster routes to products, each compared with the plain one before its first use.

Several vectors are multiplied at once by the batched derivatives of torch, a rule for each operation. Some rules are
missing and some are wrong: the rule of native group norm gives other numbers for batches of one sample as soon as
shapes agree by chance. A route is therefore used only where it gives what single backward passes give: for random
weights c, $\sum_i c_i H v_i$ by the route is $H \sum_i c_i v_i$ by one plain product, parameter by parameter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import sqrt

import torch
from torch import Tensor

from hessian.numerics.differentiation import exact_algebra
from hessian.numerics.vector_parts import Vector, gaps_of, norm_of, sizes_of, subtract

CLOSE = 1e3
"""Roundings by which two routes may differ, on the scale of the part of a parameter."""
NOISE = 10.0
"""Times that two routes may differ by what single products of the same vectors differ."""


class RouteWarning(UserWarning):
    """A better route to a number is not used, because it fails, needs too much memory or gives other numbers."""


class RouteError(RuntimeError):
    """A faster route to products fails."""


def describe_failure(error: Exception) -> str:
    """Return that a route fails, and why, on one line."""
    return f"it fails ({' '.join(str(error).split())[:120] or type(error).__name__})"


def fault_of(together: Callable[[], Vector], single: Callable[[Tensor], Vector], count: int, like: Tensor) -> str:
    """Return what is wrong with a route that multiplies several vectors at once; empty if nothing is.

    Args:
        together: Products with all vectors by the route: parts of a leading dimension; None represents zeros.
        single: The plain product with the sum of the vectors times the given weights, (count,).
        count: Number of vectors.
        like: Tensor of the products' dtype and device.
    """
    try:
        rows = together()
    except Exception as error:  # an operation without a rule, or not enough memory for so many
        return describe_failure(error)
    eps = torch.finfo(like.dtype).eps
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(count, generator=generator, dtype=torch.float64, device="cpu").to(like)
    expected = single(weights)
    mixed = [None if part is None else weigh([part], weights)[0] for part in rows]
    sizes = sizes_of(mixed).maximum(sizes_of(expected)).maximum(sizes_of(rows))
    if not bool(torch.isfinite(sizes_of(expected)).all()):
        return ""  # refused where it is used
    allowed = eps * (CLOSE * sizes + norm_of(sizes))
    if bool((gaps_of(mixed, expected) <= allowed).all()):
        return ""
    # Rounding may be larger than that: single products show how large.
    gap, noise = torch.zeros_like(sizes), expected
    for number, weight in enumerate(weights):
        one = single(torch.eye(count, dtype=like.dtype, device=like.device)[number])
        gap = gap.hypot(gaps_of([None if part is None else part[number] for part in rows], one))
        subtract(noise, one, float(weight))
    unlike = sizes_of(noise)
    counts = torch.tensor([0 if part is None else part.numel() for part in rows], dtype=torch.float64, device="cpu")
    chance = unlike + norm_of(unlike) * (counts / counts.sum().clamp(min=1.0)).sqrt()
    if bool((gap <= allowed + NOISE * sqrt(count) * chance).all()):
        return ""
    return f"it differs from single products by {norm_of(gap) / max(norm_of(sizes), 1e-300):.1g} of them"


def warn_one_by_one(fault: str, what: str) -> None:
    """Warn that vectors are multiplied one by one.

    Args:
        fault: The reason why the faster route is not taken.
        what: The quantity that is computed.
    """
    warnings.warn(
        f"{what}: vectors are multiplied one at a time, since torch's product with several at once is not usable here, "
        f"{fault}",
        RouteWarning,
        stacklevel=3,
    )


def draw_rows(own: Sequence[Tensor], count: int) -> list[Tensor]:
    """Return random vectors in parts ``(count, *shape)``, each parameter on its own scale."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for p in own:
        norm = norm_of(p.detach())
        z = torch.randn(count, *p.shape, generator=generator, dtype=torch.float64, device="cpu").to(p)
        found.append(z * (norm / sqrt(max(p.numel(), 1)) or 1.0))
    return found


@exact_algebra()
def weigh(parts: Sequence[Tensor], weights: Tensor) -> list[Tensor]:
    """Return the sum of vectors in parts ``(k, *shape)``, times weights (k,)."""
    return [torch.tensordot(weights, part, dims=1) for part in parts]
