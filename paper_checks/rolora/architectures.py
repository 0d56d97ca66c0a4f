"""The language models of RoLoRA's experiments: shapes of their weight matrices, and what adapters on them count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from figures.rolora_printed import LayerSet


@dataclass(frozen=True)
class Architecture:
    """The weight matrices of a language model.

    Attributes:
        layers: number of layers.
        shapes: inputs and outputs of each weight matrix of one layer.
        parameters: of the whole model.
    """

    layers: int
    shapes: Mapping[str, tuple[int, int]]
    parameters: int

    def inputs(self, matrices: Sequence[str]) -> int:
        """Inputs of the named matrices of one layer, added up."""
        return sum(self.shapes[name][0] for name in matrices)

    def outputs(self, matrices: Sequence[str]) -> int:
        """Outputs, likewise."""
        return sum(self.shapes[name][1] for name in matrices)

    def trained(self, where: LayerSet, rank: int) -> int:
        """Parameters of both factors."""
        return where.layers * rank * (self.inputs(where.matrices) + self.outputs(where.matrices))


def _attention(width: int) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (width, width))


# Configurations as published with the weights.
ROBERTA_LARGE = Architecture(24, {**_attention(1024), "W_up": (1024, 4096), "W_down": (4096, 1024)}, 355_359_744)
LLAMA_2_7B = Architecture(
    32, {**_attention(4096), "W_gate": (4096, 11_008), "W_up": (4096, 11_008), "W_down": (11_008, 4096)}, 6_738_415_616
)


def share_of_outputs(model: Architecture, matrices: Sequence[str]) -> Fraction:
    """What FFA-LoRA sends of what LoRA sends: the share of the factor B."""
    outputs = model.outputs(matrices)
    return Fraction(outputs, outputs + model.inputs(matrices))
