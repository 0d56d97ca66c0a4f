"""Counts of parameters by formula against the models themselves, built without memory, and against PEFT's adapters."""

from fractions import Fraction

import pytest
import torch

from workloads.architectures import (
    ATTENTION,
    LLAMA_2_7B,
    LLAMA_32_3B,
    OPENLLAMA_3B,
    ROBERTA_LARGE,
    SHEARED_LLAMA_27B,
    Encoder,
    Transformer,
)

LLAMAS = (LLAMA_2_7B, LLAMA_32_3B, OPENLLAMA_3B, SHEARED_LLAMA_27B)
NAMES = {
    Encoder: {"W_q": "query", "W_v": "value"},
    Transformer: {"W_q": "q_proj", "W_k": "k_proj", "W_v": "v_proj", "W_o": "o_proj"},
}


def built(model):
    """The model on the meta device, which has shapes and no numbers."""
    transformers = pytest.importorskip("transformers", reason="the extra llm is not installed")
    if isinstance(model, Encoder):
        config = transformers.RobertaConfig(
            vocab_size=model.vocabulary,
            max_position_embeddings=model.positions,
            type_vocab_size=model.types,
            hidden_size=model.hidden,
            intermediate_size=model.intermediate,
            num_hidden_layers=model.layers,
            num_attention_heads=16,
        )
        kind = transformers.AutoModel
    else:
        head = 128  # the count does not depend on it
        config = transformers.LlamaConfig(
            vocab_size=model.vocabulary,
            hidden_size=model.hidden,
            intermediate_size=model.intermediate,
            num_hidden_layers=model.layers,
            num_attention_heads=model.queries // head,
            num_key_value_heads=model.keys // head,
            tie_word_embeddings=model.tied,
        )
        kind = transformers.AutoModelForCausalLM
    with torch.device("meta"):
        return kind.from_config(config)


@pytest.mark.parametrize("model", [ROBERTA_LARGE, *LLAMAS], ids=lambda model: f"{model.parameters:,}")
def test_the_formula_counts_what_the_model_has(model):
    module = built(model)
    assert sum(weight.numel() for weight in module.parameters()) == model.parameters
    rows = {
        tuple(reversed(weight.shape))
        for name, weight in module.named_parameters()
        if ("layers.0." in name or "layer.0." in name) and weight.ndim == 2
    }
    assert rows == set(model.shapes.values())


@pytest.mark.parametrize(
    ("model", "matrices", "layers", "rank"),
    [
        (ROBERTA_LARGE, ("W_v", "W_q"), range(15, 24), 4),
        (ROBERTA_LARGE, ("W_v",), range(21, 24), 1),
        (LLAMA_2_7B, ATTENTION, range(26, 32), 8),
        (LLAMA_32_3B, ATTENTION, range(28), 16),
    ],
)
def test_adapters_are_as_many_as_in_peft(model, matrices, layers, rank):
    module = built(model)
    peft = pytest.importorskip("peft", reason="the extra llm is not installed")
    named = [NAMES[type(model)][name] for name in matrices]
    config = peft.LoraConfig(r=rank, target_modules=named, layers_to_transform=list(layers))
    with torch.device("meta"):
        adapted = peft.get_peft_model(module, config)
    trained = sum(weight.numel() for weight in adapted.parameters() if weight.requires_grad)
    assert model.adapters(matrices, rank, len(layers)) == trained


def test_adapters_of_no_layer_are_none_and_those_of_all_are_the_default():
    """Rank 4 on 3072 to 1024 and on 3072 to 3072, in each of 28 layers."""
    found = [LLAMA_32_3B.adapters(("W_k", "W_q"), 4, layers) for layers in (0, 1, 3, None)]
    one = 4 * (3072 + 1024 + 3072 + 3072)
    assert found == [0, one, 3 * one, 28 * one]
    assert LLAMA_32_3B.share_of_outputs(("W_k", "W_q")) == Fraction(2, 5)
