"""Definition 3.1 and Theorem 3.2: an adapter after one step of gradient descent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sympy
import torch
from torch import Tensor

from paper_checks.claim import Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Equations, Point, identities
from paper_checks.methods.mean import Draws, Tails, judge_means
from paper_checks.methods.relations import Relations, relations, same

VARIANCE = 0.5
RANKS = (1, 4, 16)


def draw_grams(context: Context) -> dict[str, Draws]:
    """Draw an entry on the diagonal of A'A and one off it, for several ranks and Gaussian entries of A."""
    rng, count, found = context.rng("A"), context.size(100_000, 1_000_000), {}
    for r in RANKS:
        diagonal, mixed = np.zeros(count), np.zeros(count)
        for _ in range(r):
            first, second = np.sqrt(VARIANCE) * rng.standard_normal((2, count))
            diagonal += first**2
            mixed += first * second
        found[f"diagonal, r = {r}"] = diagonal
        found[f"off the diagonal, r = {r}"] = mixed
    return found


@claim(
    "rslora/gram",
    where="Appendix A, proof of Theorem 3.2, as public notes quote it",
    says=r"$E_{A_0}[A_0^\top A_0] = r\sigma_AI$ for independent entries of mean 0 and variance $\sigma_A$.",
    measure=draw_grams,
    mutants=[{"power": 0}, {"mixed": 0.1}],
    importance="step",
    expect=("holds", "statistical"),
)
def gram(draws: dict[str, Draws], power: int = 1, mixed: float = 0.0) -> Evidence:
    r"""Means of sums of r terms, of variance $2\sigma_A^2$ on the diagonal and $\sigma_A^2$ off it."""
    ranks = {name: int(name.split()[-1]) for name in draws}
    on = {name: name.startswith("diagonal") for name in draws}
    return judge_means(
        draws,
        {name: (r**power * VARIANCE if on[name] else mixed * r * VARIANCE) for name, r in ranks.items()},
        resolution=0.05,
        scope="Gaussian entries of variance 0.5",
        tails=Tails({name: float(VARIANCE * np.sqrt((2 if on[name] else 1) * r)) for name, r in ranks.items()}),
    )


@dataclass(frozen=True)
class Step:
    """A layer, a step of gradient descent on it at one input, and what the adapter does then.

    Attributes:
        A: A at first.
        x: the input of the step.
        v: gradient of the loss with respect to the output there.
        new: another input.
        g: another gradient with respect to the output.
        scale: gamma.
        rate: eta.
    """

    A: Tensor
    x: Tensor
    v: Tensor
    new: Tensor
    g: Tensor
    scale: float
    rate: float

    def after(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return A and B after the step, by automatic differentiation, and what they make of new input and gradient."""
        A = self.A.clone().requires_grad_()
        B = torch.zeros(len(self.v), len(A), dtype=A.dtype, requires_grad=True)
        loss = self.v @ (self.scale * B @ A @ self.x)
        to_A, to_B = torch.autograd.grad(loss, (A, B))
        A, B = (A - self.rate * to_A).detach(), (B - self.rate * to_B).detach()
        return A, B, self.scale * B @ A @ self.new, self.scale * A.mT @ B.mT @ self.g


def draw_steps(context: Context) -> list[Step]:
    """Draw layers with 5 inputs and 3 outputs, for several ranks and scales."""
    rng = torch.Generator().manual_seed(context.integer_seed("layers"))

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng, dtype=torch.float64)

    return [
        Step(normal(r, 5), normal(5), normal(3), normal(5), normal(3), scale, 0.3)
        for r in (1, 4, 16)
        for scale in (1.0, r**-0.5, 1.0 / r)
    ]


@relations(
    "rslora/step",
    where="Theorem 3.2, the setting, as public notes quote it; the formulas follow from it",
    says=r"""From $B_0 = 0$ a step with learning rate $\eta$ at the input x, with the gradient v of the output, leaves A
    and gives the output $-\eta\gamma_r^2v\,x^\top A_0^\top A_0x'$ at x', and the gradient
    $-\eta\gamma_r^2A_0^\top A_0x\,v^\top g$ of the input for a gradient g of the output.""",
    measure=draw_steps,
    mutants=[{"power": 1}, {"sign": 1}],
    importance="step",
    expect=("holds", "search"),
)
def step(steps: list[Step], power: int = 2, sign: int = -1) -> Relations:
    """Both directions, against automatic differentiation."""
    for one in steps:
        A, _, forward, backward = one.after()
        factor, gram = sign * one.rate * one.scale**power, one.A.mT @ one.A
        yield same("A stays", A, one.A)
        yield same("output", forward, factor * one.v * (one.x @ gram @ one.new))
        yield same("gradient of the input", backward, factor * (gram @ one.x) * (one.v @ one.g))
    return "3 x 5 layers, ranks 1, 4 and 16, three scales each"


ROOT, ALPHA, RATE, VAR, V, INNER = sympy.symbols("root alpha eta sigma_A v inner")
"""Root of the rank; the scale's constant; learning rate; variance; an entry and an inner product of two vectors."""
SCALES = {"root": ALPHA / ROOT, "rank": ALPHA / ROOT**2, "none": ALPHA}


def draw_points(context: Context) -> list[Point]:
    """Return exact points at several ranks."""
    rng = context.rng("points")
    others = (ALPHA, RATE, VAR, V, INNER)
    return [
        {ROOT: sympy.Integer(root), **{s: sympy.Rational(int(rng.integers(2, 50)), 7) for s in others}}
        for root in (2, 4, 10)
    ]


def stays(scale: str) -> Iterator[Equation]:
    """Yield that the expectation, which has A'A once, is the same at every rank."""
    expected = -RATE * SCALES[scale] ** 2 * V * (ROOT**2 * VAR) * INNER
    yield Equation("rank r as rank 1", expected, expected.subs(ROOT, 1))
    yield Equation("rank 4r as rank r", expected.subs(ROOT, 2 * ROOT), expected)


@identities(
    "rslora/thm-3-2-forward",
    where="Definition 3.1, part 1, and Theorem 3.2, as public notes quote them",
    says=r"""In expectation over the initialisation the outputs of an adapter $\gamma_rBA$, with $B_0 = 0$ and
    independent entries of $A_0$ with mean 0 and a variance that does not depend on r, are of order 1 in r if and only
    if $\gamma_r \in \Theta_r(1/\sqrt r)$.""",
    measure=draw_points,
    mutants=[{"scale": "rank"}, {"scale": "none"}],
    readings=(
        Reading(
            "after one step",
            r"After one step the expected output at $\gamma_r = \alpha/\sqrt r$ is the same for all r, and at "
            r"$\alpha/r$ or $\alpha$ it is not.",
            why="The induction of the proof begins with this step; further steps are not judged here.",
        ),
    ),
    uses=("rslora/gram", "rslora/step"),
    importance="result",
    expect=("holds", "proof"),
    family="one step, one layer",
)
def forward(points: list[Point], scale: str = "root") -> Equations:
    """The expected output, an entry of v times the inner product of the two inputs."""
    yield from stays(scale)
    return points, "positive ranks and scales, any learning rate, inputs and gradient; powers 0, 1/2 and 1 of the rank"


@identities(
    "rslora/thm-3-2-backward",
    where="Definition 3.1, part 2, and Theorem 3.2, as public notes quote them",
    says=r"""In expectation over the initialisation the gradients that such an adapter passes to its inputs are of order
    1 in r if and only if $\gamma_r \in \Theta_r(1/\sqrt r)$.""",
    measure=draw_points,
    mutants=[{"scale": "rank"}, {"scale": "none"}],
    readings=(
        Reading(
            "after one step",
            r"After one step the expected gradient at $\gamma_r = \alpha/\sqrt r$ is the same for all r, and at "
            r"$\alpha/r$ or $\alpha$ it is not.",
            why="The induction of the proof begins with this step; further steps are not judged here.",
        ),
    ),
    uses=("rslora/gram", "rslora/step"),
    importance="result",
    expect=("holds", "proof"),
    family="one step, one layer",
)
def backward(points: list[Point], scale: str = "root") -> Equations:
    """The expected gradient, an entry of x times the inner product of the two gradients."""
    yield from stays(scale)
    return points, "positive ranks and scales, any learning rate, inputs and gradient; powers 0, 1/2 and 1 of the rank"
