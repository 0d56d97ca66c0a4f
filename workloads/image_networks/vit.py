"""A small vision transformer: patches, attention layers each followed by a residual block, a linear head.

FeDLRT, Appendix B.3, for CIFAR-100: six attention layers with two heads, each followed by "a ResNet block" and
drop-out, every weight matrix 512 x 512, patches of 8 x 8 pixels, an embedding of 512 features. Left open there, and
chosen here: the residual block is linear, ReLU, linear; both halves of a layer normalise first; positions and a class
token are learnt; drop-out is off, as its rate is not printed. No count of parameters is printed; this reading has
9,628,260 for 100 classes of colour images of 32 x 32 pixels.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workloads.image_networks.initial import initialise
from workloads.image_networks.resize import adapt_network, require_positive

SIDE = 32


class Attention(nn.Module):
    """Self-attention of several heads; (n, tokens, width) to the same shape.

    Attributes:
        query, key, value, output: The four weight matrices, each width x width.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return the attention output of every token."""
        query, key, value = (
            of(x).unflatten(-1, (self.heads, -1)).transpose(-3, -2) for of in (self.query, self.key, self.value)
        )
        scores = query @ key.mT / query.shape[-1] ** 0.5
        return self.output((scores.softmax(-1) @ value).transpose(-3, -2).flatten(-2))


class Layer(nn.Module):
    """Attention, then a residual block; (n, tokens, width) to the same shape."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.block = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.Dropout(dropout))

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's output."""
        x = x + self.attention(self.norm1(x))
        return x + self.block(self.norm2(x))


class VisionTransformer(nn.Module):
    """Images (n, channels, h, w) to logits (n, classes); `vit` builds it with initial weights.

    Attributes:
        fit: Brings the images to 32 x 32.
        embedding: Map from the pixels of a patch to its token.
        token: The class token, which the head reads.
        positions: Added to the tokens, one for each.
        layers: Attention layers.
    """

    def __init__(
        self,
        classes: int,
        channels: int,
        side: int,
        adapt: str,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.patch = patch
        self.fit = adapt_network("this transformer", side, SIDE, adapt)
        self.embedding = nn.Linear(channels * patch**2, width)
        self.token = nn.Parameter(torch.empty(1, 1, width))
        self.positions = nn.Parameter(torch.empty(1, (SIDE // patch) ** 2 + 1, width))
        self.layers = nn.Sequential(*(Layer(width, heads, dropout) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def draw(self, generator: torch.Generator) -> None:
        """Draw the parameters outside of layers: normal with standard deviation 0.02."""
        for parameter in (self.token, self.positions):
            parameter.normal_(0, 0.02, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        rows = self.fit(x).unflatten(-2, (-1, self.patch)).unflatten(-1, (-1, self.patch))
        patches = rows.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
        tokens = self.embedding(patches)
        tokens = torch.cat((self.token.expand(len(tokens), -1, -1), tokens), dim=1) + self.positions
        return self.head(self.norm(self.layers(tokens)[:, 0]))


def vit(
    classes: int,
    seed: int,
    *,
    channels: int = 3,
    side: int = SIDE,
    adapt: str = "none",
    patch: int = 8,
    width: int = 512,
    depth: int = 6,
    heads: int = 2,
    dropout: float = 0.0,
    dtype: torch.dtype = torch.float32,
) -> VisionTransformer:
    """Return a small vision transformer, initialised without touching the global random state.

    Args:
        classes: Number of logits.
        seed: Seed of the initial weights.
        channels: Channels of the images.
        side: Height and width of the images.
        adapt: Treatment of images that are smaller than 32 x 32; see `workloads.image_networks.resize.adapt_network`.
        patch: Side of a patch, a divisor of 32.
        width: Features of a token.
        depth: Attention layers.
        heads: Heads of a layer, a divisor of the width.
        dropout: Share of features dropped after each residual block in training mode.
        dtype: Type of the parameters.

    Raises:
        ValueError: A size is not positive or does not divide, or the images do not fit.
    """
    shapes = vit_shapes(
        classes,
        channels=channels,
        side=side,
        adapt=adapt,
        patch=patch,
        width=width,
        depth=depth,
        heads=heads,
        dropout=dropout,
    )
    return initialise(shapes, seed, dtype)


def vit_shapes(
    classes: int,
    *,
    channels: int = 3,
    side: int = SIDE,
    adapt: str = "none",
    patch: int = 8,
    width: int = 512,
    depth: int = 6,
    heads: int = 2,
    dropout: float = 0.0,
) -> VisionTransformer:
    """Return the same network without values, on the meta device, for counting and for naming layers.

    Raises:
        ValueError: As `vit`.
    """
    require_positive(classes=classes, channels=channels, patch=patch, width=width, depth=depth, heads=heads)
    if SIDE % patch or width % heads:
        raise ValueError(f"patch must divide {SIDE} and heads must divide width, got {patch}, {heads} and {width}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be in [0, 1), got {dropout}")
    with torch.device("meta"):
        return VisionTransformer(classes, channels, side, adapt, patch, width, depth, heads, dropout)
