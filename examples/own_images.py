"""Images of your own as a data set. `rankproof train fedloru --data examples.own_images:images --model perceptron`."""

import torch
from torch import Tensor
from torch.utils.data import Dataset


class Stripes(Dataset[tuple[Tensor, int]]):
    """Noisy images of 8 x 8 grey levels with horizontal, vertical or no stripes."""

    def __init__(self, count: int) -> None:
        self.noise = torch.rand(count, 8, 8)

    def __len__(self) -> int:
        return len(self.noise)

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        stripe = torch.arange(8) % 2.0
        kinds = (stripe[:, None].expand(8, 8), stripe.expand(8, 8), torch.full((8, 8), 0.5))
        return 0.5 * kinds[place % 3] + 0.5 * self.noise[place], place % 3


def images() -> tuple[Stripes, Stripes]:
    """Return the training and the test images."""
    return Stripes(600), Stripes(150)
