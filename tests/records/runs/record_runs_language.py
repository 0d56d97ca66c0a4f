"""Records of language models and adapters: losses, layers, answers, PEFT's format, and what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import torch
from hidden_folder import in_folder
from recording import Within, refused
from torch import nn

from runs.language_problem import language_problem
from runs.networks.answers import Answers, answers_of
from runs.networks.language_federation import LanguageFederation, has_template, part_of
from runs.networks.language_model import (
    ALIASES,
    ARCHITECTURES,
    Place,
    base_of,
    drawn_in,
    has_dropout,
    head_of,
    locate,
    positions,
    usual_layers,
)
from runs.networks.language_network import network_of, vocabulary_of
from runs.networks.network_function import Batch
from runs.networks.text_federation import TextFederation, is_own_texts
from workloads.tokens import NO_LOSS, TokenSet

DOUBLE = torch.float64


def _numbers(*shape, step=0.37):
    count = torch.Size(shape).numel()
    return torch.sin(torch.arange(1.0, 1.0 + count, dtype=DOUBLE) * step).reshape(shape)


class _Model(nn.Module):
    """A model of tokens as transformers has them: a causal mean of embeddings, and a head."""

    def __init__(self, outputs=7, causal=True, dropout=0.0, **config):
        super().__init__()
        self.causal = causal
        self.config = SimpleNamespace(
            **{"max_position_embeddings": 12, "num_labels": outputs, **config}, to_dict=lambda: dict(config)
        )
        self.embed, self.query = nn.Embedding(7, 4), nn.Linear(4, 3)
        self.score = nn.Linear(3, outputs, bias=False)
        self.drop = nn.Dropout(dropout)
        for place, parameter in enumerate(self.parameters(), start=1):
            parameter.data = _numbers(*parameter.shape, step=0.3 + place)

    def get_input_embeddings(self):
        return self.embed

    def forward(self, input_ids, attention_mask=None, use_cache=None, past_key_values=None):
        attention_mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        mask = attention_mask[:, :, None].to(DOUBLE)
        found = self.embed(input_ids) * mask
        states = found.cumsum(1) / mask.cumsum(1).clamp(min=1.0)
        if not self.causal:
            states = (found.sum(1) / mask.sum(1))[:, None]
        logits = self.score(self.drop(torch.tanh(self.query(states))))
        return SimpleNamespace(logits=logits if self.causal else logits[:, 0], past_key_values=None)


def _texts(causal=True, count=6, split="train", width=5):
    lengths = 2 + np.arange(count) % (width - 1)
    mask = torch.from_numpy((np.arange(width) < lengths[:, None]).astype(np.int64))
    ids = (1 + torch.arange(count * width).reshape(count, width) * 3 % 6) * mask
    labels = torch.where((torch.arange(width) >= 1) & (mask == 1), ids, NO_LOSS) if causal else torch.arange(count) % 3
    names = () if causal else ("a", "b", "c")
    return TokenSet("own", split, ids, mask, labels, names, np.arange(count) % 2, ("x", "y"), np.arange(count))


def _problem(causal=True, model=None, train=None, test=None, parts=((0, 3, 1), (2,)), **named):
    model = _Model(7 if causal else 3, causal) if model is None else model
    train, test = train or _texts(causal), test or _texts(causal, 3, "test")
    named = {"layers": "query", **named}
    return language_problem(model, train, [np.array(part) for part in parts], test, **named)


def _described(made):
    yield made.evaluate(made.start), [*made.start], made.shares, list(made.clients.sizes), made.width_of(2), made.rows
    yield made.evaluate_personal(lambda number: made.start), len(made.known), made.classes, made.name
    client = made.clients[0]
    yield client.loss(made.start), client.passes(False), client.parts(Batch(torch.tensor([0, 2, 1]), noise=6))
    yield [client.loss(made.start, torch.tensor(part)) for part in ([0], [1, 2])], refused(client.tensors)
    wide = made.of_width(3)
    yield wide.width_of(2), made.of_width(None) is made, wide.clients[0].data.x


def problems_of_causal_models():
    yield Within(1e-4, [*_described(_problem())])
    named = {"client_weights": "tokens", "eval_batch": 2, "evaluated": {"validation": _texts(True, 4)}}
    yield Within(1e-4, [*_described(_problem(**named))])


def problems_of_classifiers():
    own = [np.array([4]), np.array([5])]
    yield Within(1e-4, [*_described(_problem(False, metrics=("f1", "mcc"), own=own))])
    yield Within(1e-4, [*_described(_problem(False, layers=None, micro_batch=2))])


def problems_that_are_refused():
    causal, classified = _texts(), _texts(False)
    for named in (
        {"client_weights": "texts"},
        {"eval_batch": 0},
        {"micro_batch": 0},
        {"test": classified},
        {"layers": "none"},
        {"layers": "query, score", "head": "score"},
        {"head": "none"},
        {"metrics": ("f1",)},
        {"train": _texts(width=14)},
        {"parts": ((0, 1), (1,))},
        {"parts": ((9,),)},
        {"model": _Model(causal=False)},
        {"own": [np.array([4])]},
    ):
        yield refused(lambda **named: _problem(**named).name, **named)
    yield _problem(train=_texts(width=12)).name
    for named in ({"metrics": ("f2",)}, {"answers": Answers(str, {})}, {"train": causal}, {"layers": "embed, score"}):
        yield refused(lambda **named: _problem(False, **named).name, **named)
    yield refused(lambda: _problem(train=replace(causal, input_ids=causal.input_ids + 5)).name)
    for label in (-1, 0, 2, 3):
        for split in ("train", "test"):
            texts = _texts(False, 3 + 3 * (split == "train"), split)
            wrong = replace(texts, labels=torch.where(texts.labels == 1, label, texts.labels))
            yield label, split, refused(lambda named: _problem(False, **named).name, {split: wrong})


class _OfItsBatch(_Model):
    def forward(self, input_ids, attention_mask=None, **named):
        found = super().forward(input_ids, attention_mask, **named)
        return SimpleNamespace(logits=found.logits + 0.01 * input_ids.sum(), past_key_values=None)


class _OfItsPadding(_Model):
    def forward(self, input_ids, attention_mask=None, **named):
        return super().forward(input_ids, torch.ones_like(input_ids), **named)


class _Last(_Model):
    """A classifier that reads the last place, where padding is."""

    def forward(self, input_ids, attention_mask=None, **named):
        found = super().forward(input_ids, attention_mask, **named)
        return SimpleNamespace(logits=found.logits + 0.1 * input_ids.shape[1], past_key_values=None)


class _Remembering(_Model):
    def forward(self, input_ids, attention_mask=None, **named):
        if self.training:
            self.seen += 1
        return super().forward(input_ids, attention_mask, **named)


def models_that_depend_on_their_batch():
    for kind in (_OfItsBatch, _OfItsPadding, _Last):
        for causal in (True, False):
            yield refused(lambda kind, causal: _problem(causal, kind(7 if causal else 3, causal)).name, kind, causal)
    model = _Remembering(3, False, dropout=0.5)
    model.register_buffer("seen", torch.zeros(1))
    yield refused(lambda: _problem(False, model).name), model.seen


def models_as_functions():
    for options in ({}, {"dropout": 0.5}, {"pad_token_id": 0}, {"pad_token_id": -1}, {"hidden_dropout": 0.1}):
        network = network_of(_Model(**options), "causal", ("query.weight",), unused=3)
        yield network.padding, network.random, network.outputs, network.chooses, network.recomputed is None
        yield [one.requires_grad for one in network.testing.module.parameters()], network.training.module.training
    yield refused(network_of, _Model(), "causal", (), True), vocabulary_of(_Model())
    for model in (_Model(is_gradient_checkpointing=True), _Model()):
        model.is_gradient_checkpointing = True
        yield refused(network_of, model, "classification", ())


def answers_of_prompts():
    network = network_of(_Model(), "causal", ())
    texts = _texts(count=5)
    made = _problem(parts=((0,),))
    data = made.clients.data._replace(x=made.clients.data.x[:5], y=made.clients.data.y[:5])

    def seen(generated, expected):
        lists.append([generated, expected])
        return len(generated) / 4

    lists = []
    for answers in (
        Answers(lambda ids: " ".join(map(str, ids)), {"mine": seen}, True),
        Answers(str, {}, True),
        Answers(str, {"bad": lambda *given: float("nan")}),
        Answers(str, {"bad": lambda *given: None}),
        Answers(str, {"text": lambda *given: "0.5"}),
    ):
        yield refused(answers.test, network, {}, data)
    yield lists, texts.causal
    ended, begun = torch.where(data.y == 4, 6, data.y), torch.where(data.y == 1, 6, data.y)
    for y in (ended, begun):
        yield (
            Answers(lambda ids: " ".join(map(str, ids)), {"mine": seen}).test(network, {}, data._replace(y=y)),
            lists[-1],
        )
    for names in (["exact_match"], ["choice", "exact_match"], ["exact"], [], ["math:fsum", "choice"]):
        found = refused(answers_of, names, SimpleNamespace(decode=lambda ids, skip_special_tokens: str(ids)))
        yield found if isinstance(found, str) else [[*found.metrics], found.choice, found.decode([1, 2])]


def parts_of_texts():
    part = part_of(_texts(), np.array([0, 4]))
    yield part.input_ids, part.labels, part.attention_mask, part.origins, part.kept
    yield part_of(_texts(False), np.array([2])).labels


def heads_and_positions():
    model = _Model(3)
    for patterns in (None, "query", "*.weight", "score, query", "none", "query,"):
        yield refused(head_of, model, patterns)
    model.drawn_by_rankproof = ("query.bias",)
    yield (
        head_of(model, None),
        sorted(drawn_in(model, ("query.bias", "score.weight"))),
        sorted(drawn_in(_Model(), ("a",))),
    )
    for most in (None, 0, 1, 12, "x"):
        yield positions(_Model(max_position_embeddings=most))
    model.position_embeddings = nn.Embedding(4, 2, padding_idx=1)
    yield positions(model)
    for config in (
        {},
        {"hidden_dropout": 0.0},
        {"hidden_dropout": 0.1},
        {"layerdrop": 0.1},
        {"attention_dropout": None},
    ):
        yield has_dropout(_Model(**config)), has_dropout(_Model(dropout=0.5, **config))


@in_folder
def places_of_models(folder):
    (folder / "own").mkdir()
    (folder / "own" / "a.gguf").write_text("")
    for name in (f"hf:{folder}/own", f"hf:{folder}/own/a.gguf", f"hf:{folder}/none", "hf:", "hf: ", "hf:a/b/c"):
        found = refused(locate, name)
        yield found if isinstance(found, str) else [str(found), found.gguf, found.loader_arguments]
    for text in (
        "{",
        "[]",
        '{"model_type": "bert"}',
        '{"model_type": "gpt2"}',
        '{"model_type": "odd"}',
        '{"model_type": 3}',
    ):
        (folder / "own" / "config.json").write_text(text)
        yield refused(usual_layers, f"hf:{folder}/own")
    yield usual_layers(f"hf:{folder}/own/a.gguf"), usual_layers("hf:minilm"), usual_layers("smollm2")
    yield sorted(ARCHITECTURES.items()), {name: package.source for name, package in ALIASES.items()}
    yield base_of("hf:minilm"), str(Place(folder)), has_template(SimpleNamespace(chat_template="")), has_template(3)


def federations_of_texts_that_are_refused():
    names = (
        "clients",
        "eval_batch",
        "micro_batch",
        "samples",
        "test_samples",
        "max_length",
        "held_out",
        "training_loss",
    )
    for name in names:
        yield [
            refused(lambda **given: vars(LanguageFederation(**given)), **{name: value})[:90]
            for value in (0, -1)
            if isinstance(refused(LanguageFederation, **{name: value}), str)
        ]
    for dropout in (-0.1, 0.0, 0.99, 1.0):
        yield refused(lambda value: LanguageFederation(dropout=value).dropout, dropout)
    yield refused(LanguageFederation, model="convnet"), refused(LanguageFederation, model="minilm")


def what_is_decided_about_texts():
    for given in (
        {},
        {"samples": 3},
        {"test_samples": 2, "held_out": 1},
        {"samples": 1, "test_samples": 2, "held_out": 3},
    ):
        made = LanguageFederation(**given)
        yield made._drawn_note(1234, 20, 10, 5), [refused(made._drawn, "samples", count, 0) for count in (1, 4)]
    yield [LanguageFederation(layers=layers)._layers_note() for layers in (None, "*.query, *.value", "*.query")]
    for given in ({}, {"steps": 1}, {"layers": "*"}, {"model": "hf:smollm2"}, {"model": "hf:/nowhere"}):
        yield {name: str(value)[:20] for name, value in LanguageFederation.suggest(given).items()}
    own = SimpleNamespace(texts=range(1234), answers=None, classes=("a", "b"))
    asked = SimpleNamespace(texts=range(3), answers=("a",) * 3, classes=())
    made = TextFederation(data="a:b")
    for train, clients in ((own, ()), (own, ("x", "y")), (asked, ()), (asked, ("x",))):
        for chat in (False, True):
            yield made._notes(SimpleNamespace(train=train, test=own, clients=clients), chat)
    yield [
        is_own_texts("a:b", given)
        for given in ({}, {"model": "hf:x"}, {"model": "x"}, {"client": "c"}, {"model": None})
    ]
    yield is_own_texts("x.jsonl", {}), TextFederation.defaults("a:b", {}), refused(TextFederation, prompt="a", text="b")
    yield (
        TextFederation.defaults("./none.jsonl", {"clients": 3}),
        TextFederation.defaults("x", {"clients": 3, "partition": "even"}),
    )
