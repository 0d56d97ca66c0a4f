"""Weight norm by its formula, whose derivatives can be differentiated again."""

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import _WeightNorm


class PlainWeightNorm(_WeightNorm):
    """Weight norm without torch's fused kernel: the derivative of that kernel's own derivative is wrong."""

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the direction, scaled to the given norm.

        Args:
            weight_g: Norms, of length 1 in every dimension but one.
            weight_v: Directions, of the shape of the weight.
        """
        return weight_v * (weight_g / torch.norm_except_dim(weight_v, 2, self.dim))


def without_fused_weight_norm(module: nn.Module) -> None:
    """Replace the fused weight norms of a module, in place.

    A network that takes derivatives in its forward pass, such as by its inputs, is differentiated twice in training.
    """
    for layer in module.modules():
        if type(layer) is _WeightNorm:
            layer.__class__ = PlainWeightNorm
