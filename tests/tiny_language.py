"""Language models of two layers with random weights, texts of random tokens, and PEFT's training of the same."""

from pathlib import Path

import numpy as np
import pytest
import torch

from workloads.tokens import NO_LOSS, TokenSet

transformers = pytest.importorskip("transformers")
VOCABULARY, POSITIONS = 50, 24


def bert(seed=0, classes=3, dropout=0.0, **named):
    """A classifier whose inner matrices are not square."""
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=POSITIONS,
        num_labels=classes,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        pad_token_id=0,
        **named,
    )
    return transformers.BertForSequenceClassification(config).eval()


def llama(seed=0, tied=True):
    """A causal model with fewer heads of keys than of queries, so that its v_proj is not square."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=24,
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=tied,
    )
    return transformers.LlamaForCausalLM(config).eval()


def texts(count=12, causal=False, classes=3, seed=0, split="train"):
    """Samples of 4 to 12 tokens; of a causal task the first 2 do not belong to the answer."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, 13, size=count)
    width = int(lengths.max())
    mask = torch.from_numpy((np.arange(width) < lengths[:, None]).astype(np.int64))
    ids = torch.from_numpy(rng.integers(3, VOCABULARY, size=(count, width))) * mask
    labels = torch.from_numpy(rng.integers(0, classes, size=count))
    if causal:
        labels = torch.where((torch.arange(width) >= 2) & (mask == 1), ids, NO_LOSS)
    return TokenSet(
        "tiny",
        split,
        ids,
        mask,
        labels,
        () if causal else tuple(map(str, range(classes))),
        np.arange(count) % 2,
        ("one", "two"),
        np.arange(count),
    )


def saved(model, folder: Path):
    """A model's folder with a tokenizer of words w0 to w49."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    model.save_pretrained(folder)
    words = {"[PAD]": 0, "[UNK]": 1, "[EOS]": 2} | {f"w{n}": n for n in range(3, VOCABULARY)}
    made = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]"
    ).save_pretrained(folder)
    return folder


def losses_of(model, samples, batches, rate, weight_decay=0.01, b_rate=1.0):
    """A plain loop of torch: AdamW in what needs gradients, the loss of each batch before its step."""
    groups = {1.0: [], b_rate: []}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            groups[b_rate if "lora_B" in name else 1.0].append(parameter)
    parameters = [{"params": params, "lr": multiple * rate} for multiple, params in groups.items()]
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=weight_decay)
    found = []
    for batch in batches:
        ids, mask = samples.input_ids[batch], samples.attention_mask[batch]
        loss = model(input_ids=ids, attention_mask=mask, labels=samples.labels[batch]).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found
