"""Networks, losses and data whose dense curvature serves as oracle; float64 throughout."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import perceptron, small_convnet


class Attention(nn.Module):
    """One transformer block with fused attention, on sequences of 4 features; dict batches in, a dict out."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True, activation="gelu")
        self.head = nn.Linear(4, 3)

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> dict[str, Tensor]:
        return {"logits": self.head(self.block(tokens).mean(dim=1))}


def sum_of_squares(out: Tensor, y: Tensor) -> Tensor:
    return ((out - y) ** 2).sum()


def of_logits(out: dict[str, Tensor], batch: dict[str, Tensor]) -> Tensor:
    return nn.functional.cross_entropy(out["logits"], batch["labels"])


@dataclass(frozen=True)
class Case:
    """A model, a loss and one batch; the same samples split unevenly give the streamed data."""

    model: nn.Module
    loss: Any
    inputs: Tensor
    targets: Tensor
    options: dict[str, Any] = field(default_factory=dict)
    mapping: bool = False

    @property
    def mean(self) -> bool:
        return self.options.get("reduction", "mean") == "mean" and getattr(self.loss, "reduction", "mean") == "mean"

    def batch(self, rows: slice = slice(None)) -> Any:
        x, y = self.inputs[rows], self.targets[rows]
        return {"tokens": x, "labels": y} if self.mapping else (x, y)

    def uneven(self) -> list[Any]:
        return [self.batch(slice(0, 3)), self.batch(slice(3, None))]

    def dense(self) -> Tensor:
        """The Hessian over the chosen parameters, by reverse over reverse on a flat vector of weights."""
        chosen = {
            name: p.detach()
            for name, p in self.model.named_parameters()
            if ("parameters" in self.options and name.startswith(self.options["parameters"].rstrip("*")))
            or ("parameters" not in self.options and p.requires_grad)
        }
        sizes, shapes = [p.numel() for p in chosen.values()], [p.shape for p in chosen.values()]

        def value(flat: Tensor) -> Tensor:
            parts = dict(
                zip(chosen, (part.view(s) for part, s in zip(flat.split(sizes), shapes, strict=True)), strict=True)
            )
            batch = self.batch()
            if self.mapping:
                return self.loss(functional_call(self.model, parts, (), batch), batch)
            return self.loss(functional_call(self.model, parts, batch[0]), batch[1])

        modes = {module: module.training for module in self.model.modules()}
        self.model.eval()
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            hessian = torch.autograd.functional.hessian(value, torch.cat([p.reshape(-1) for p in chosen.values()]))
        for module, mode in modes.items():
            module.training = mode
        return hessian


def cases() -> dict[str, Case]:
    generator = torch.Generator().manual_seed(0)
    flat = torch.randn(11, 6, generator=generator).double()
    images = torch.randn(7, 1, 8, 8, generator=generator).double()
    sequences = torch.randn(8, 5, 4, generator=generator).double()
    classes = torch.randint(3, (11,), generator=generator)
    values = torch.randn(11, 2, generator=generator).double()
    frozen = perceptron(6, (5,), 3, 0)
    frozen[0].weight.requires_grad_(False)
    network = resnet(10, 3, 0, channels=1, width=1, dtype=torch.float64)
    for module in network.modules():  # statistics as after training
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.2, 0.2, generator=generator)
            module.running_var.uniform_(0.5, 1.5, generator=generator)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        attention = Attention().double()
    return {
        "mlp": Case(perceptron(6, (5,), 3, 0), nn.CrossEntropyLoss(), flat, classes),
        "mlp-sum": Case(perceptron(6, (5,), 3, 0), nn.CrossEntropyLoss(reduction="sum"), flat, classes),
        "mlp-function-sum": Case(perceptron(6, (4,), 2, 1), sum_of_squares, flat, values, {"reduction": "sum"}),
        "frozen": Case(frozen, nn.CrossEntropyLoss(), flat, classes),
        "block": Case(perceptron(6, (5,), 3, 0), nn.CrossEntropyLoss(), flat, classes, {"parameters": "2.*"}),
        "cnn": Case(small_convnet(8, (2,), 3, 0), nn.CrossEntropyLoss(), images, classes[:7]),
        "resnet": Case(network, nn.CrossEntropyLoss(), images, classes[:7], {"batch_norm": "running"}),
        "transformer": Case(attention, of_logits, sequences, classes[:8], mapping=True),
    }
