r"""The middle factor between the Jacobians of the outputs, $J^T M J$: the matrices of the Gauss-Newton kind.

- `gauss-newton`: M is the Hessian of the loss by the outputs (Schraudolph, 2002).
- `fisher`: M is the expectation of $s s^T$ over targets drawn from the model's own law, s the slope of minus the log
  likelihood by the outputs. That is the Hessian of $KL(p_f \| p_{f'})$ by $f'$ at $f' = f$, which is exact wherever the
  divergence is known in closed form. Where the outputs are natural parameters of an exponential family (cross-entropy
  of logits, squared errors), it is the Gauss-Newton matrix (Martens, 2020).
- `empirical-fisher`: $s_i s_i^T$ for every sample, with the slopes at the targets of the data.

Losses need not be log likelihoods themselves, but a positive multiple c of one: the Fisher matrix is that multiple of
the sum over all observed entries, and what belongs to no entry (an ignored target) counts for none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Bernoulli, Categorical, Distribution, Normal, kl_divergence

from hessian.loss.graphs import pull
from hessian.numerics.differentiation import gradients_of
from hessian.numerics.symmetric import CurvatureError
from hessian.numerics.vector_parts import norm_of

MATRICES = {
    "hessian": "Hessian",
    "gauss-newton": "Gauss-Newton matrix",
    "residual": "residual of the Gauss-Newton matrix",
    "fisher": "Fisher matrix",
    "empirical-fisher": "empirical Fisher matrix",
}
"""Names of the matrices, as an argument and in words."""

Law = Callable[[Tensor], Distribution]
"""The distribution of the targets, given the output: one entry for each target."""
Potential = Callable[[Tensor], Tensor]
"""A scalar function of the outputs."""
DRAWS = 3
"""Times that targets are drawn from a law to test a loss on them."""


@dataclass(frozen=True, eq=False)
class SlopeCurvature:
    """The derivative of a slope by the outputs."""

    cut: Tensor
    slope: Tensor

    @staticmethod
    def of(output: Tensor, potential: Potential) -> SlopeCurvature:
        """Differentiate a function of the outputs once."""
        cut = output.detach().requires_grad_()
        (slope,) = gradients_of(potential(cut), cut, create_graph=True)
        return SlopeCurvature(cut, slope)

    @property
    def differentiated(self) -> tuple[Tensor, ...]:
        """The slope."""
        return (self.slope,)

    def times(self, pushed: Tensor, batched: bool) -> Tensor | None:
        """Multiply the function's Hessian by one vector of the outputs' shape, or several if batched."""
        if not self.slope.requires_grad:
            return None
        return pull([self.slope], (self.cut,), [pushed], batched)[0]


@dataclass(frozen=True, eq=False)
class OuterSlopes:
    """The sum over samples of the outer products of their slopes, times a factor; slopes ``(samples, ...)``."""

    slopes: Tensor
    factor: float

    @property
    def differentiated(self) -> tuple[Tensor, ...]:
        """Nothing."""
        return ()

    def times(self, pushed: Tensor, batched: bool) -> Tensor:
        """Map one vector of the outputs' shape, or several if batched."""
        first = 2 if batched else 1
        along = (pushed * self.slopes).reshape(*pushed.shape[:first], -1).sum(dim=-1)
        return self.factor * along.reshape(*along.shape, *(1,) * (self.slopes.ndim - 1)) * self.slopes


def require_tensor(output: Any, matrix: str) -> Tensor:
    """Return the output as one tensor.

    Raises:
        CurvatureError: It is none.
    """
    if not isinstance(output, Tensor):
        raise CurvatureError(
            f"the {MATRICES[matrix]} needs a model with one tensor as output, got {type(output).__name__}; wrap it"
        )
    return output


def slope_of_loss(output: Tensor, loss: Potential, parameters: Sequence[Tensor], matrix: str) -> Tensor:
    """Return the gradient of the loss by the outputs, without a graph.

    Raises:
        CurvatureError: The loss depends on the parameters in addition to the outputs, or not on the outputs.
    """
    cut = output.detach().requires_grad_()
    slope, *others = gradients_of(loss(cut), (cut, *parameters), allow_unused=True)
    if any(part is not None for part in others):
        raise CurvatureError(
            "the loss depends on the parameters in addition to the model's output (a penalty), which the "
            f"{MATRICES[matrix]} would ignore: remove it from the loss, or use matrix='hessian'",
            keywords=("matrix",),
        )
    if slope is None:
        raise CurvatureError("the loss does not depend on the model's output")
    return slope


def law_of(loss: Any) -> Law:
    """Return the law whose log likelihood gives the loss: cross-entropy, squared error or BCE with logits.

    Raises:
        CurvatureError: Another loss.
    """
    functional = nn.functional
    if isinstance(loss, nn.CrossEntropyLoss) or loss is functional.cross_entropy:
        return _categorical
    if isinstance(loss, nn.MSELoss) or loss is functional.mse_loss:
        return _normal
    if isinstance(loss, nn.BCEWithLogitsLoss) or loss is functional.binary_cross_entropy_with_logits:
        return _bernoulli
    name = getattr(loss, "__name__", type(loss).__name__)
    raise CurvatureError(
        f"the Fisher matrix needs the distribution of the targets, which {name} does not define: give law=, a "
        f"function from the "
        "output to a torch.distributions.Distribution",
        keywords=("law",),
    )


def _categorical(output: Tensor) -> Distribution:
    return Categorical(logits=output.movedim(1, -1) if output.ndim > 1 else output, validate_args=False)


def _normal(output: Tensor) -> Distribution:
    return Normal(output, torch.full_like(output, 0.5**0.5), validate_args=False)


def _bernoulli(output: Tensor) -> Distribution:
    return Bernoulli(logits=output, validate_args=False)


def ignored_label(loss: Any) -> int | None:
    """Return the label that a loss leaves out, as its `ignore_index` or that of a partial function says."""
    found = loss.keywords.get("ignore_index") if isinstance(loss, partial) else getattr(loss, "ignore_index", None)
    return found if isinstance(found, int) else None


def divergence(
    output: Tensor,
    slope: Tensor,
    targets: Any,
    law: Law,
    loss: Callable[[Tensor, Tensor], Tensor],
    ignored: int | None = None,
) -> Potential:
    r"""Return $f' \mapsto c \sum KL(p_f \| p_{f'})$ for a loss that is $-c$ times the log likelihood.

    Args:
        output: f.
        slope: Slope of the loss, there.
        targets: Targets of the data: those outside the support of the law belong to no entry.
        law: Law of the targets.
        loss: The loss as a function of the outputs and of targets.
        ignored: A value that belongs to no entry either.

    Raises:
        CurvatureError: The loss is not a multiple of minus the log likelihood, the targets are not values of the law,
            or the divergence is not known in closed form.
    """
    own = law(output.detach())
    observed = _observed(own, targets, ignored)
    multiple = _multiple(output, slope, own, observed, targets, law, loss)

    def potential(cut: Tensor) -> Tensor:
        try:
            each = kl_divergence(own, law(cut))
        except NotImplementedError as error:
            raise CurvatureError(
                f"the divergence of two laws {type(own).__name__} is not known in closed form, so the Fisher "
                f"matrix would not be exact: use another law, or matrix='empirical-fisher'",
                keywords=("matrix",),
            ) from error
        return multiple * (each * observed).sum()

    return potential


def multiples_of(
    output: Tensor, targets: Any, law: Law, loss: Callable[[Tensor, Tensor], Tensor], ignored: int | None = None
) -> list[float]:
    """Return c for the targets of the data and, where that can be tested, for targets drawn from the law.

    The Fisher matrix is an expectation over all values of the law, of which the data may show one: with class weights,
    each class has a multiple of its own.

    Args:
        output: As for `divergence`.
        targets: As for `divergence`.
        law: As for `divergence`.
        loss: As for `divergence`.
        ignored: As for `divergence`.

    Raises:
        CurvatureError: As `divergence`; or the divergence has no second derivative where the laws are equal.
    """
    own = law(output.detach())
    observed = _observed(own, targets, ignored)
    cut = output.detach().requires_grad_()
    (slope,) = gradients_of(loss(cut, targets), cut)
    found = [_multiple(output, slope, own, observed, targets, law, loss)]
    _require_smooth(output.detach(), law)
    for drawn in _draw_targets(own, observed, targets, ignored):
        try:
            (slope,) = gradients_of(loss(cut, drawn), cut)
        except Exception:  # a loss that takes the data's own targets alone
            continue
        found.append(_multiple(output, slope, own, observed, drawn, law, loss))
    return found


def not_one_multiple(name: str) -> CurvatureError:
    """Return the error about a loss that is not a multiple of minus the log likelihood of a law of this name."""
    return CurvatureError(
        f"the loss is not a multiple of minus the log likelihood of {name}, as with class weights, "
        "label smoothing, another law, or a label that is ignored without ignore_index= of nn.CrossEntropyLoss: "
        "give the matching law=, or use matrix='gauss-newton'",
        keywords=("law", "matrix"),
    )


def _observed(own: Distribution, targets: Any, ignored: int | None) -> Tensor:
    """Return which targets are values of the law.

    Raises:
        CurvatureError: None is, or there is not one for each entry of the law.
    """
    shape = own.batch_shape + own.event_shape
    if not isinstance(targets, Tensor) or targets.shape != shape:
        found = tuple(targets.shape) if isinstance(targets, Tensor) else type(targets).__name__
        raise CurvatureError(
            f"the Fisher matrix needs data as (inputs, targets) with targets drawn from the law, one value for each of "
            f"its entries: {type(own).__name__} has {tuple(shape)}, got {found}"
        )
    support: Any = own.support
    observed: Tensor = support.check(targets)
    if ignored is not None:
        observed = observed & (targets != ignored)
    if not bool(observed.any()):
        raise CurvatureError(f"no target of a batch is a value of {type(own).__name__}")
    return observed


def _inside(own: Distribution, observed: Tensor) -> Tensor:
    return observed.reshape(*observed.shape, *(1,) * len(own.event_shape))


def _multiple(
    output: Tensor,
    slope: Tensor,
    own: Distribution,
    observed: Tensor,
    targets: Tensor,
    law: Law,
    loss: Callable[[Tensor, Tensor], Tensor],
) -> float:
    """Return c for a loss that is $-c$ times the log likelihood of the observed targets.

    Raises:
        CurvatureError: It is not.
    """
    spare = targets[observed][0]  # any value of the law, where its entry does not count
    values = torch.where(_inside(own, observed), targets, spare)
    # At a point near the outputs: at a perfect fit all slopes are zero.
    generator = torch.Generator().manual_seed(0)
    shift = torch.rand(output.shape, generator=generator, dtype=torch.float64, device="cpu").to(output) - 0.5
    at = (output.detach() * (1.0 + 0.2 * shift)).requires_grad_()
    cut = output.detach().requires_grad_()
    likely, there = (gradients_of(-(law(f).log_prob(values) * observed).sum(), f)[0] for f in (at, cut))
    (given,) = gradients_of(loss(at, targets), at)
    size = norm_of(likely)
    multiple = float((given * likely).sum()) / size**2 if size > 0.0 else 0.0
    gap = max(norm_of(one - multiple * other) for one, other in ((given, likely), (slope, there)))
    allowed = 1e3 * torch.finfo(output.dtype).eps * multiple * (size + norm_of(there))
    if not multiple > 0.0 or not gap <= allowed:
        raise not_one_multiple(type(own).__name__)
    return multiple


def _draw_targets(own: Distribution, observed: Tensor, targets: Tensor, ignored: int | None) -> list[Tensor]:
    """Return targets drawn from a law, a few times, in place of those observed; none if it cannot be drawn from."""
    devices = [targets.device] if targets.device.type == "cuda" else []
    found = []
    with torch.random.fork_rng(devices=devices), suppress(NotImplementedError):
        torch.manual_seed(0)
        for _ in range(DRAWS):
            drawn = own.sample().to(targets.dtype)
            found.append(torch.where(_inside(own, observed) & (drawn != ignored), drawn, targets))
    return found


def _require_smooth(output: Tensor, law: Law) -> None:
    """Refuse a divergence whose second derivative where both laws are equal is not the one that torch gives.

    Raises:
        CurvatureError: It is such a one, as that of Laplace, which is computed from a modulus.
    """
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(output.shape, generator=generator, dtype=torch.float64, device="cpu")
    for dtype, step in ((torch.float64, 1e-5), (output.dtype, 1e-2)):
        center, along = output.to(dtype), v.to(output.device, dtype)

        def slope(cut: Tensor, center: Tensor = center) -> Tensor:
            return gradients_of(kl_divergence(law(center), law(cut)).sum(), cut, create_graph=True)[0]

        try:
            cut = center.clone().requires_grad_()
            (curved,) = gradients_of(slope(cut), cut, along, materialize_grads=True)
            ends = [slope((center + sign * step * along).requires_grad_()).detach() for sign in (1.0, -1.0)]
        except Exception:  # a law of one type, or without a closed form: the products report it
            continue
        near = (ends[0] - ends[1]) / (2.0 * step)
        if norm_of(near - curved) > 0.1 * max(norm_of(near), norm_of(curved)):
            raise CurvatureError(
                f"the divergence of two laws {type(law(output)).__name__}, as torch computes it, has no second "
                "derivative where they are equal, so the Fisher matrix is not its Hessian: use another law, or "
                "matrix='empirical-fisher'",
                keywords=("law", "matrix"),
            )
        return
