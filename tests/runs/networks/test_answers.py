"""Metrics of generated answers and of choices, against transformers' own generation and losses; autocast."""

import numpy as np
import pytest
import torch

transformers = pytest.importorskip("transformers")

from tiny_language import bert, llama, saved, texts  # noqa: E402

from algorithms.federation import FederationError  # noqa: E402
from algorithms.tree import Tree  # noqa: E402
from runs.language_problem import language_problem  # noqa: E402
from runs.networks.answers import CHOICES, answers_of  # noqa: E402
from runs.networks.language_model import Place, tokenizer_of  # noqa: E402
from runs.plan import code_of  # noqa: E402
from workloads.tokens import NO_LOSS  # noqa: E402

SEEN = []


def count_of_words(answers, expected):
    SEEN[:] = [answers, expected]
    return sum(len(answer.split()) for answer in answers)


def endless(answers, expected):
    return float("inf")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return tokenizer_of(Place(saved(llama(), tmp_path_factory.mktemp("model"))))


def with_answers(names, tokenizer, test, model=None):
    return language_problem(
        llama() if model is None else model,
        texts(6, True),
        [np.arange(6)],
        test,
        layers="*.q_proj",
        answers=answers_of(names, tokenizer),
    )


def prompts_of(test):
    for x, y in zip(test.input_ids, test.labels, strict=True):
        begin = int((y != NO_LOSS).nonzero()[0])
        yield x[:begin], x[y != NO_LOSS]


def test_answers_are_those_that_transformers_generates(tokenizer):
    test = texts(5, True, seed=3, split="test")
    problem = with_answers(["exact_match", f"{__name__}:count_of_words"], tokenizer, test)
    found = problem.evaluate(problem.start)
    generated, expected = SEEN
    ends = sorted({int(answer[-1]) for _, answer in prompts_of(test)})
    most = max(len(answer) for _, answer in prompts_of(test))
    for text, wanted, (prompt, answer) in zip(generated, expected, prompts_of(test), strict=True):
        made = llama().generate(prompt[None], max_new_tokens=most, do_sample=False, eos_token_id=ends, pad_token_id=0)[
            0, len(prompt) :
        ]
        kept = [token for token in made.tolist() if token not in ends]
        assert text.split() == tokenizer.decode(kept, skip_special_tokens=True).split()
        assert wanted == tokenizer.decode(answer.tolist(), skip_special_tokens=True)
    assert found["count_of_words"] == sum(len(text.split()) for text in generated)
    assert found["exact_match"] == np.mean([a.strip() == b.strip() for a, b in zip(generated, expected, strict=True)])


def test_a_choice_is_the_answer_of_the_largest_likelihood(tokenizer):
    test = texts(7, True, seed=5, split="test")
    problem = with_answers(["choice"], tokenizer, test)
    model, pairs = llama(), list(prompts_of(test))
    right = 0
    for prompt, own in pairs:
        scores = []
        for _, answer in pairs:
            logits = model(torch.cat([prompt, answer])[None]).logits[0].log_softmax(-1)
            scores.append(sum(float(logits[len(prompt) - 1 + k, token]) for k, token in enumerate(answer)))
        right += torch.equal(pairs[int(np.argmax(scores))][1], own)
    assert problem.evaluate(problem.start)["choice"] == right / len(pairs)


def test_what_is_no_metric_is_refused(tokenizer):
    with pytest.raises(FederationError, match="no metric 'bleu' of answers; metrics takes exact_match, choice and mod"):
        answers_of(["bleu"], tokenizer)
    problem = with_answers([f"{__name__}:endless"], tokenizer, texts(3, True, split="test"))
    with pytest.raises(FederationError, match="the metric endless returned inf; it must return a finite number"):
        problem.evaluate(problem.start)
    problem = with_answers(["choice"], tokenizer, texts(CHOICES + 1, True, split="test"))
    with pytest.raises(FederationError, match=f"at most {CHOICES} different answers, and there are {CHOICES + 1}"):
        problem.evaluate(problem.start)
    with pytest.raises(FederationError, match="answers are those of a causal model"):
        language_problem(
            bert(), texts(6), [np.arange(6)], texts(3), layers="*.query", answers=answers_of(["choice"], tokenizer)
        )


@pytest.mark.parametrize("metrics", ["my:metric", "my:metric,choice", "exact_match, my:metric"])
def test_a_metric_of_the_user_is_code_that_needs_trust(metrics):
    given = {"data": "x.jsonl", "model": "hf:smollm2", "metrics": metrics}
    assert code_of("fedlora", "instructions", given) == ["my:metric"]


@pytest.mark.parametrize("kind", [bert, llama])
def test_autocast_computes_as_torch_does(kind):
    causal = kind is llama
    samples = texts(6, causal)
    named = {"layers": "*.query" if kind is bert else "*.q_proj"}
    problem = language_problem(kind(), samples, [np.arange(6)], samples, **named, autocast=torch.bfloat16)
    w = Tree(problem.start)
    with torch.autocast("cpu", torch.bfloat16):
        logits = kind()(input_ids=samples.input_ids, attention_mask=samples.attention_mask).logits.float()
    if causal:
        expected = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), samples.labels[:, 1:].flatten())
    else:
        expected = torch.nn.functional.cross_entropy(logits, samples.labels)
    assert problem.evaluate(w)["loss"] == pytest.approx(float(expected), rel=2e-3)
    plain = language_problem(kind(), samples, [np.arange(6)], samples, **named)
    assert problem.evaluate(w)["loss"] != plain.evaluate(w)["loss"]
    assert {value.dtype for value in w.values()} == {torch.float32}
