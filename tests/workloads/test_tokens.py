"""Texts as tokens: padding, truncation that is counted, losses on answers alone."""

import numpy as np
import pytest
import torch

from workloads.data.idx import DataError
from workloads.partition import ByLabel, Dirichlet, Even, Files, PartitionError
from workloads.texts import BySource, TextSet
from workloads.tokens import NO_LOSS, separate, tokens


class Letters:
    """A tokenizer of letters: `a` is 1, and so on; 27 begins a text, 28 ends it, 0 pads."""

    pad_token_id: int | None = 0
    eos_token_id: int | None = 28

    def __call__(self, text, add_special_tokens=True, truncation=False, max_length=None, **options):
        rows = []
        for one in text:
            row = [ord(letter) - 96 for letter in one]
            if add_special_tokens:
                row = [27, *(row[: max_length - 2] if truncation else row), 28]
            rows.append(row)
        return {"input_ids": rows}


class Beginning(Letters):
    """The same, as causal tokenizers do: a text is begun but not ended."""

    def __call__(self, text, add_special_tokens=True, **options):
        rows = super().__call__(text, add_special_tokens, **options)["input_ids"]
        return {"input_ids": [row[:-1] for row in rows] if add_special_tokens else rows}


def classified(*texts):
    n = np.arange(len(texts))
    return TextSet("letters", "train", texts, n % 2, ("even", "odd"), n // 2, tuple(f"source {i}" for i in n))


def asked(*pairs):
    zeros = np.zeros(len(pairs), dtype=np.int64)
    prompts, answers = zip(*pairs, strict=True)
    return TextSet("asked", "train", prompts, zeros, (), zeros, ("one",), answers)


def test_classified_texts_are_padded_on_the_right():
    found = tokens(classified("abc", "a"), Letters(), 8)
    assert found.input_ids.tolist() == [[27, 1, 2, 3, 28], [27, 1, 28, 0, 0]]
    assert found.attention_mask.tolist() == [[1] * 5, [1, 1, 1, 0, 0]]
    assert found.labels.tolist() == [0, 1]
    assert (found.truncated, found.dropped, found.causal) == (0, 0, False)
    assert found.lengths.tolist() == [5, 3]
    assert found.predicted.tolist() == [1, 1]
    assert found.input_ids.dtype == found.attention_mask.dtype == found.labels.dtype == torch.int64


def test_what_is_too_long_is_refused_or_cut_and_counted():
    texts = classified("abcdef", "a", "abcd")
    with pytest.raises(
        DataError, match=r"1 of 3 samples have more than 6 tokens \(the longest 8\): .* --truncate, or .* --max-length"
    ):
        tokens(texts, Letters(), 6)
    found = tokens(texts, Letters(), 6, truncate=True)
    assert found.truncated == 1
    assert found.input_ids[0].tolist() == [27, 1, 2, 3, 4, 28]  # the token that ends a text stays
    assert tokens(texts, Letters(), 8).truncated == 0


def test_only_answers_and_their_end_have_a_loss():
    found = tokens(asked(("ab", "cd"), ("a", "e")), Beginning(), 8)
    assert found.causal
    assert found.input_ids.tolist() == [[27, 1, 2, 3, 4, 28], [27, 1, 5, 28, 0, 0]]
    assert found.labels.tolist() == [[NO_LOSS] * 3 + [3, 4, 28], [NO_LOSS, NO_LOSS, 5, 28, NO_LOSS, NO_LOSS]]
    assert found.predicted.tolist() == [3, 2]


def test_the_token_that_ends_counts_though_it_also_pads():
    tokenizer = Beginning()
    tokenizer.pad_token_id = None
    found = tokens(asked(("ab", "cd"), ("a", "e")), tokenizer, 8)
    assert found.input_ids[1].tolist() == [27, 1, 5, 28, 28, 28]
    assert found.labels[1].tolist() == [NO_LOSS, NO_LOSS, 5, 28, NO_LOSS, NO_LOSS]


def test_answers_are_cut_at_their_end_and_samples_without_one_are_dropped_and_counted():
    texts = asked(("ab", "cdef"), ("abcd", "e"), ("a", "b"))
    with pytest.raises(DataError, match="2 of 3 samples have more than 5 tokens"):
        tokens(texts, Beginning(), 5)
    found = tokens(texts, Beginning(), 5, truncate=True)
    assert (found.truncated, found.dropped, found.kept.tolist()) == (1, 1, [0, 2])
    assert found.labels[0].tolist() == [NO_LOSS] * 3 + [3, 4]
    one = np.array([2, 0, 1])
    sourced = TextSet("asked", "train", texts.texts[::-1], one * 0, (), one, tuple("abc"), texts.answers[::-1])
    assert tokens(sourced, Beginning(), 5, truncate=True).origins.tolist() == [2, 1]
    assert (found.predicted > 0).all()
    with pytest.raises(DataError, match="no answer begins within 2 tokens"):
        tokens(texts, Beginning(), 2, truncate=True)


def test_an_answer_at_the_very_beginning_has_a_loss_from_its_second_token():
    class Bare(Letters):
        def __call__(self, text, add_special_tokens=True, **options):
            return super().__call__(text, False, **options)

    found = tokens(asked(("", "ab"), ("", "")), Bare(), 4)
    assert found.kept.tolist() == [0]  # an end alone is its first token, which nothing predicts
    assert found.predicted.tolist() == [2]


def test_a_tokenizer_that_lacks_what_is_needed_is_named():
    tokenizer = Letters()
    tokenizer.eos_token_id = None
    assert tokens(classified("a", "b"), tokenizer, 8).input_ids.shape == (2, 3)
    with pytest.raises(DataError, match="no token that ends an answer"):
        tokens(asked(("a", "b")), tokenizer, 8)
    tokenizer.pad_token_id = None
    with pytest.raises(DataError, match="no token to pad with"):
        tokens(classified("a", "b"), tokenizer, 8)
    with pytest.raises(DataError, match="length must be at least 2"):
        tokens(classified("a"), Letters(), 1)


def test_a_prompt_is_set_apart_unless_it_ends_in_white_space():
    pairs = [("ab", "c"), ("ab ", "c"), ("ab\n", "c"), ("ab\t", "c"), ("", "c")]
    assert separate(asked(*pairs)).texts == ("ab\n", "ab ", "ab\n", "ab\t", "")
    texts = classified("a", "b")
    assert separate(texts) is texts


def test_clients_by_class_by_source_or_at_random():
    found = tokens(classified(*"abcdefgh"), Letters(), 8)
    by_label = found.divide(ByLabel(), 2, 0)
    assert [set((part % 2).tolist()) for part in by_label] == [{0}, {1}]
    by_source = found.divide(BySource(), 4, 0)
    assert [part.tolist() for part in by_source] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    causal = tokens(asked(*[("a", "b")] * 6), Beginning(), 8)
    assert causal.divide(Even(), 3, 0).sizes.tolist() == [2, 2, 2]
    with pytest.raises(DataError, match="Dirichlet divides by class, and these texts have none"):
        causal.divide(Dirichlet(), 2, 0)


def test_files_count_the_samples_of_the_data_set(tmp_path):
    cut = tokens(
        asked(("ab", "c"), ("abcd", "e"), ("a", "b"), ("abcd", "f"), ("b", "c")), Beginning(), 5, truncate=True
    )
    assert (cut.kept.tolist(), cut.total) == ([0, 2, 4], 5)
    for client, indices in enumerate(("4", "1 2 3")):
        (tmp_path / f"{client}.txt").write_text(indices)
    assert [part.tolist() for part in cut.divide(Files(str(tmp_path)), 2, 0)] == [[2], [1]]
    (tmp_path / "0.txt").write_text("4 5")
    with pytest.raises(PartitionError, match=r"0\.txt: 5 is not a sample; there are 5, counted from 0"):
        cut.divide(Files(str(tmp_path)), 2, 0)
    (tmp_path / "0.txt").write_text("4")
    (tmp_path / "1.txt").write_text("3 1")
    with pytest.raises(
        PartitionError, match=r"no sample of .*1\.txt is left for training: all 2 are held out, not drawn"
    ):
        cut.divide(Files(str(tmp_path)), 2, 0)
