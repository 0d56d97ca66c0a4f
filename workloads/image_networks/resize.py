"""Adaptations of a network to images of another size, by name."""

from __future__ import annotations

from torch import nn

ADAPTATIONS = ("none", "pad")


def adapt_network(network: str, side: int, needed: int, adapt: str) -> nn.Module:
    """Return the first layer that adapts images to the only side that a network takes.

    `none` takes images of that side and no others. `pad` surrounds smaller ones by copies of their outermost pixels,
    which leaves the network and its parameter count as they are: 28 x 28 becomes 32 x 32 with two pixels on each side.

    Args:
        network: Name of the network, for the error.
        side: Height and width of the images.
        needed: Height and width of images that the network takes.
        adapt: A name of `ADAPTATIONS`.

    Raises:
        ValueError: The adaptation is unknown, or the images do not fit.
    """
    if adapt not in ADAPTATIONS:
        raise ValueError(f"adapt must be one of {', '.join(ADAPTATIONS)}, got {adapt!r}")
    if side == needed:
        return nn.Identity()
    if side < 1 or side > needed:
        raise ValueError(f"{network} takes images of at most {needed} x {needed}, got {side} x {side}")
    if adapt == "none":
        raise ValueError(
            f"{network} takes images of {needed} x {needed}, got {side} x {side}; adapt='pad' adds copies of their "
            "outermost pixels"
        )
    before = (needed - side) // 2
    after = needed - side - before
    return nn.ReplicationPad2d((before, after, before, after))


def require_positive(**sizes: int) -> None:
    """Refuse sizes below 1.

    Raises:
        ValueError: Names the sizes and their values.
    """
    if min(sizes.values()) < 1:
        raise ValueError(f"{', '.join(sizes)} must be positive, got {tuple(sizes.values())}")
