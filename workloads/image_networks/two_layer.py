r"""The two-layer ReLU network of RoLoRA, Section 5.2: $f(x) = \mathrm{ReLU}(xW)W_\mathrm{out}$ with $W = W_0 + AB$.

The paper prints (12) without $W_0$, and starts from B = 0. ReLU's derivative at 0 is 0 in every usual framework, so
start has no gradient in A or in B and stays where it is: `base="zero"` shows it. Any number from 0 to 1 is a
subgradient of ReLU at 0; with `slope=1.0`, what torch's `clamp` takes, the printed start learns. The default has a
random fixed $W_0$, as an adapter's layer has. Also left open there: the law of $W_\mathrm{out}$, which is fixed; it is
normal here.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workloads.image_networks.initial import initialise
from workloads.image_networks.resize import require_positive

BASES = ("normal", "zero")
SLOPES = (0.0, 1.0)


class InputMap(nn.Module):
    """$xW$ with the inputs along the rows of W, so a factor A of $W = AB$ meets the inputs first, as printed.

    Attributes:
        weight: W, (inputs, outputs).
        inputs_first: Says so to runs, which then refuse to name the side of A.
    """

    inputs_first = True

    def __init__(self, inputs: int, outputs: int, base: str) -> None:
        super().__init__()
        self.base = base
        self.weight = nn.Parameter(torch.empty(inputs, outputs))

    def draw(self, generator: torch.Generator) -> None:
        """Draw W with variance 1/inputs, or set it to 0."""
        deviation = len(self.weight) ** -0.5 if self.base == "normal" else 0.0
        self.weight.normal_(0, 1, generator=generator).mul_(deviation)

    def forward(self, x: Tensor) -> Tensor:
        """Return xW."""
        return x @ self.weight


class TwoLayer(nn.Module):
    """Images (n, ...) to logits (n, classes); `two_layer` builds it with initial weights.

    Attributes:
        input: The map that is trained.
        out: The linear layer that is not.
    """

    def __init__(self, inputs: int, width: int, classes: int, base: str, slope: float) -> None:
        super().__init__()
        self.slope = slope
        self.input = InputMap(inputs, width, base)
        self.out = nn.Linear(width, classes, bias=False).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        hidden = self.input(x.flatten(1))
        # The same function; its derivative at 0 is 1 where it is computed by clamp.
        return self.out(hidden.clamp(min=0.0) if self.slope else torch.relu(hidden))


def two_layer(
    classes: int = 10,
    seed: int = 0,
    *,
    inputs: int = 784,
    width: int | None = None,
    base: str = "normal",
    slope: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> TwoLayer:
    """Return the network, initialised without touching the global random state.

    Args:
        classes: Number of logits, the paper's c.
        seed: Seed of the initial weights.
        inputs: Number of pixels, the paper's d.
        width: Hidden features; default: as many as inputs, as printed.
        base: Law of $W_0$: `normal` with variance 1/inputs, or `zero` as printed.
        slope: ReLU's derivative at 0, 0 or 1; with the base `zero` and 0 factors that start from B = 0 do not learn.
        dtype: Type of the parameters.

    Raises:
        ValueError: A size is not positive, or the base or the slope is unknown.
    """
    return initialise(two_layer_shapes(classes, inputs=inputs, width=width, base=base, slope=slope), seed, dtype)


def two_layer_shapes(
    classes: int = 10, *, inputs: int = 784, width: int | None = None, base: str = "normal", slope: float = 0.0
) -> TwoLayer:
    """Return the same network without values, on the meta device, for counting and for naming layers.

    Raises:
        ValueError: As `two_layer`.
    """
    width = inputs if width is None else width
    require_positive(classes=classes, inputs=inputs, width=width)
    if base not in BASES:
        raise ValueError(f"base must be one of {', '.join(BASES)}, got {base!r}")
    if slope not in SLOPES:
        raise ValueError(f"slope must be one of {', '.join(f'{value:g}' for value in SLOPES)}, got {slope!r}")
    with torch.device("meta"):
        return TwoLayer(inputs, width, classes, base, slope)
