"""Check whether a loss was computed from the weights; otherwise training would not learn."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor
from torch.autograd.graph import Node, get_gradient_edge

INDEPENDENT = "the loss depends on none of the network's weights, so nothing would be learned"


def depends_on(value: Tensor, weights: Iterable[Tensor]) -> bool:
    """Return whether autograd leads from a value back to a weight that needs a gradient.

    A value may need a gradient for other reasons, such as parameters of a module into which weights were copied.

    Args:
        value: Result of a computation, such as a loss.
        weights: Tensors that may have gone into it.
    """
    if not value.requires_grad:
        return False
    wanted = {get_gradient_edge(weight).node for weight in weights if weight.requires_grad}
    left = [get_gradient_edge(value).node]
    seen: set[Node] = set(left)
    while left:
        node = left.pop()
        if node in wanted:
            return True
        new = {before for before, _ in node.next_functions if before is not None} - seen
        seen |= new
        left += new
    return False
