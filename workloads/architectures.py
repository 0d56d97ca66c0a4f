"""Language models as shapes of their weight matrices, from which every count of parameters follows.

The configurations are those published with the weights (`config.json`); nothing is loaded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

ATTENTION = ("W_q", "W_k", "W_v", "W_o")


@dataclass(frozen=True)
class Architecture(ABC):
    """A language model with identical layers."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Number of layers."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Return inputs and outputs of each weight matrix of one layer, by the papers' names."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Parameters of the whole model."""

    def inputs(self, matrices: Sequence[str]) -> int:
        """Return the inputs of the named matrices of one layer, added up."""
        return sum(self.shapes[name][0] for name in matrices)

    def outputs(self, matrices: Sequence[str]) -> int:
        """Return the outputs of the named matrices of one layer, added up."""
        return sum(self.shapes[name][1] for name in matrices)

    def adapters(self, matrices: Sequence[str], rank: int, layers: int | None = None) -> int:
        """Return the sum of r(d_in + d_out) over the factors of the named matrices; default: in all layers."""
        return (self.depth if layers is None else layers) * rank * (self.inputs(matrices) + self.outputs(matrices))

    def share_of_outputs(self, matrices: Sequence[str]) -> Fraction:
        """Return the share of the output factors in both, which is what FFA-LoRA sends relative to LoRA."""
        outputs = self.outputs(matrices)
        return Fraction(outputs, outputs + self.inputs(matrices))


@dataclass(frozen=True)
class Transformer(Architecture):
    """A language model of the Llama architecture: no biases, two norms a layer and one at the end, gated units.

    Attributes:
        vocabulary: rows of the embedding.
        hidden: width of the residual stream.
        intermediate: width of the gated units.
        layers: number of layers.
        queries: width of q_proj and o_proj, heads times their size.
        keys: width of k_proj and v_proj, key-value heads times their size.
        tied: whether the output layer is the embedding.
    """

    vocabulary: int
    hidden: int
    intermediate: int
    layers: int
    queries: int
    keys: int
    tied: bool

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.layers

    @property
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Inputs and outputs of each weight matrix of one layer."""
        return {
            "W_q": (self.hidden, self.queries),
            "W_k": (self.hidden, self.keys),
            "W_v": (self.hidden, self.keys),
            "W_o": (self.queries, self.hidden),
            "W_gate": (self.hidden, self.intermediate),
            "W_up": (self.hidden, self.intermediate),
            "W_down": (self.intermediate, self.hidden),
        }

    @property
    def parameters(self) -> int:
        """All parameters."""
        layer = sum(rows * columns for rows, columns in self.shapes.values()) + 2 * self.hidden
        embeddings = (1 if self.tied else 2) * self.vocabulary * self.hidden
        return embeddings + self.layers * layer + self.hidden


@dataclass(frozen=True)
class Encoder(Architecture):
    """A model of the BERT and RoBERTa architecture: biases everywhere, a norm after each half layer, a pooler.

    Attributes:
        vocabulary: rows of the embedding.
        positions: rows of the embedding of positions.
        types: rows of the embedding of kinds of text.
        hidden: width of the residual stream.
        intermediate: width of the units between.
        layers: number of layers.
    """

    vocabulary: int
    positions: int
    types: int
    hidden: int
    intermediate: int
    layers: int

    @property
    def depth(self) -> int:
        """Number of layers."""
        return self.layers

    @property
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Inputs and outputs of each weight matrix of one layer."""
        attention = dict.fromkeys(ATTENTION, (self.hidden, self.hidden))
        return {**attention, "W_up": (self.hidden, self.intermediate), "W_down": (self.intermediate, self.hidden)}

    @property
    def parameters(self) -> int:
        """Number of parameters, with the pooler and without a head."""
        norm = 2 * self.hidden
        layer = sum(rows * columns + columns for rows, columns in self.shapes.values()) + 2 * norm
        embeddings = (self.vocabulary + self.positions + self.types) * self.hidden + norm
        return embeddings + self.layers * layer + (self.hidden + 1) * self.hidden


ROBERTA_LARGE = Encoder(50_265, 514, 1, 1024, 4096, 24)
LLAMA_2_7B = Transformer(32_000, 4096, 11_008, 32, 4096, 4096, tied=False)
OPENLLAMA_3B = Transformer(32_000, 3200, 8640, 26, 3200, 3200, tied=False)
LLAMA_32_3B = Transformer(128_256, 3072, 8192, 28, 3072, 1024, tied=True)
SHEARED_LLAMA_27B = Transformer(32_000, 2560, 6912, 32, 2560, 2560, tied=False)
