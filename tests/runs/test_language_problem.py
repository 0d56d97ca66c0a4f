"""Language models in the federation: PEFT's numbers, frozen weights, and what is sent."""

import copy
import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from tiny_language import bert, llama, losses_of, texts, transformers  # noqa: E402

from algorithms.adapter import Adapter  # noqa: E402
from algorithms.descent import Descent  # noqa: E402
from algorithms.fedavg import FedAvg  # noqa: E402
from algorithms.federation import FederationError  # noqa: E402
from algorithms.fedlora import FedLoRA  # noqa: E402
from algorithms.fedloru import FedLoRU  # noqa: E402
from algorithms.fedloru_finetuning import FineTuneFedLoRU  # noqa: E402
from algorithms.ffa_lora import FFALoRA  # noqa: E402
from algorithms.flexlora import FlexLoRA  # noqa: E402
from algorithms.optimisers import AdamW, Sgd  # noqa: E402
from algorithms.rolora import RoLoRA  # noqa: E402
from algorithms.rounds import rounds  # noqa: E402
from runs.catalogue import algorithm_of, options_of  # noqa: E402
from runs.language_problem import language_problem  # noqa: E402
from runs.networks.network_function import Batch  # noqa: E402
from runs.options import resolve  # noqa: E402

RANK, SCALE, RATE = 2, 0.75, 0.02
LAYERS = {"bert": "*.query, *.value, *.intermediate.dense", "llama": "*.q_proj, *.v_proj, *.down_proj"}
MODELS = {"bert": bert, "llama": llama}


def adapter(layers, **named):
    return Adapter(RANK, SCALE, layers=layers, a_at="inputs", **named)


def problem_of(kind, count=12, clients=1, model=None, **named):
    samples = texts(count, causal=kind == "llama")
    parts = np.array_split(np.arange(count), clients)
    model = MODELS[kind]() if model is None else model
    named = {"layers": LAYERS[kind], "eval_batch": 5, **named}
    return language_problem(model, samples, parts, texts(6, kind == "llama", seed=1, split="test"), **named), samples


class Seen:
    """Local steps that remember the losses of their batches."""

    def __init__(self, problem):
        self.found, network = [], problem.clients.network
        inner = network.loss_and_statistics

        def watched(w, data, batch):
            value, other = inner(w, data, batch)
            if torch.is_grad_enabled():
                self.found.append(value.item())
            return value, other

        object.__setattr__(network, "loss_and_statistics", watched)


def as_peft(kind, model, start):
    """PEFT's model at the factors of a start."""
    config = peft.LoraConfig(
        r=RANK,
        lora_alpha=RANK * SCALE,
        target_modules=[part.split(".", 1)[1] for part in LAYERS[kind].split(", ")],
        modules_to_save=["classifier"] if kind == "bert" else None,
    )
    made = peft.get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if ".lora_" in name:
                own = (
                    name.removeprefix("base_model.model.").replace(".lora_A.default", "").replace(".lora_B.default", "")
                )
                parameter.copy_((start.A if "lora_A" in name else start.B)[own].mT)
    return made


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", MODELS)
def test_recomputed_layers_give_no_warning_of_transformers(kind, caplog):
    logger = logging.getLogger("transformers")
    logger.addHandler(caplog.handler)
    try:
        problem, _ = problem_of(kind, gradient_checkpointing=True)
        algorithm = FedLoRA(Descent(steps=1, learning_rate=RATE), adapter(LAYERS[kind]))
        list(rounds(algorithm, problem, rounds=1))
    finally:
        logger.removeHandler(caplog.handler)
    assert not [record.getMessage() for record in caplog.records if record.name.startswith("transformers")]


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_that_recomputes_by_itself_has_the_gradients_of_the_weights_in_a_round(kind):
    models = MODELS[kind](), MODELS[kind]()
    models[1].gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    found = []
    for model in models:
        problem, _ = problem_of(kind, model=model)
        algorithm = FedLoRA(Descent(steps=3, learning_rate=RATE), adapter(LAYERS[kind]))
        *_, last = rounds(algorithm, problem, rounds=2)
        found.append(last.state.algorithm.factors.B)
    for name, B in found[0].items():
        assert B.abs().max() > 0
        assert torch.allclose(B, found[1][name], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("micro_batch", "gradient_checkpointing"), [(None, False), (2, True)])
def test_one_client_takes_the_steps_of_peft_and_torch(kind, micro_batch, gradient_checkpointing):
    problem, samples = problem_of(kind, micro_batch=micro_batch, gradient_checkpointing=gradient_checkpointing)
    local = Descent(epochs=1, batch=5, learning_rate=RATE, optimiser=AdamW(), optimiser_state="personal")
    algorithm = FedLoRA(local, adapter(LAYERS[kind]))
    reference = as_peft(kind, MODELS[kind](), algorithm.adapter.factors(problem.start))
    drawn, draw = [], local.draw

    def kept(client, rng):
        drawn.extend(found := draw(client, rng))
        return found

    object.__setattr__(local, "draw", kept)
    seen = Seen(problem)
    last = list(rounds(algorithm, problem, rounds=2))[-1]
    assert len(drawn) == 6
    expected = losses_of(reference, samples, [batch.samples for batch in drawn], RATE)
    if micro_batch is None:
        assert seen.found == pytest.approx(expected, rel=2e-5)
    assert abs(expected[0] - expected[-1]) > 1e-3
    factors = last.state.algorithm.factors
    for name, parameter in reference.named_parameters():
        if ".lora_" in name:
            own = name.removeprefix("base_model.model.").replace(".lora_A.default", "").replace(".lora_B.default", "")
            ours = (factors.A if "lora_A" in name else factors.B)[own].mT
            # Adam divides by the size of gradients, so that the rounding of those near 0 is seen.
            assert torch.allclose(ours, parameter, rtol=1e-2, atol=2e-4), name
    x = samples.input_ids
    model = MODELS[kind]()
    weights = algorithm.weights(last.state.algorithm)
    found = torch.func.functional_call(model, dict(weights), (x, samples.attention_mask)).logits
    other = reference(input_ids=x, attention_mask=samples.attention_mask).logits
    real = samples.attention_mask.bool() if kind == "llama" else slice(None)
    assert torch.allclose(found[real], other[real], rtol=1e-3, atol=1e-3)


def test_micro_batches_drop_out_other_features_each():
    problem, _ = problem_of("llama", micro_batch=2, clients=1)
    batch = Batch(torch.arange(5), noise=12)
    parts = problem.clients[0].parts(batch)
    assert [part.samples.tolist() for _, part in parts] == [[0, 1], [2, 3], [4]]
    assert len({part.noise for _, part in parts}) == 3
    assert sum(share for share, _ in parts) == pytest.approx(1.0)
    assert [part.noise for _, part in problem.clients[0].parts(batch._replace(noise=None))] == [None] * 3
    ((share, whole),) = problem.clients[0].parts(batch._replace(samples=torch.arange(2)))
    assert (share, whole.noise) == (1.0, 12)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["fedlora", "fedlrt", "fedlrt-naive"])
def test_micro_batch_bounds_the_samples_of_a_gradient_in_every_algorithm(kind, name):
    seen, states = [], []
    for micro_batch in (None, 2):
        problem, _ = problem_of(kind, micro_batch=micro_batch, clients=2, eval_batch=2)
        network, inner = problem.clients.network, problem.clients.network.loss_and_statistics
        widths = []

        def watched(w, data, batch, inner=inner, widths=widths):
            widths.append(len(batch.samples))
            return inner(w, data, batch)

        object.__setattr__(network, "loss_and_statistics", watched)
        given = {"steps": 2, "batch": 5, "learning_rate": 0.05, "optimiser": "sgd", "layers": LAYERS[kind], "rank": 2}
        given |= {"truncation": 0.01, "truncation_least": 1} if name.startswith("fedlrt") else {}
        options = options_of(name, "rated-sentences", given)
        values = resolve(options, {**given, "clients": 2}, name)
        algorithm = algorithm_of(name, "rated-sentences", values)
        state = list(rounds(algorithm, problem, rounds=1))[-1].state.algorithm
        seen.append(max(widths))
        states.append(algorithm.weights(state))
    assert seen == [5, 2]
    for key, value in states[0].items():
        assert torch.allclose(value, states[1][key], rtol=1e-3, atol=1e-5), key


ALGORITHMS = {
    "fedlora": FedLoRA,
    "ffa-lora": FFALoRA,
    "rolora": RoLoRA,
    "flexlora": FlexLoRA,
    "fedloru": lambda *given: FedLoRU(*given, tau=2),
    "fedloru-finetune": lambda *given: FineTuneFedLoRU(*given, tau=2),
}


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("kind", MODELS)
def test_every_algorithm_learns_and_leaves_the_model_as_it_was(kind, name):
    model = MODELS[kind]()
    before = copy.deepcopy(model.state_dict())
    problem, _ = problem_of(kind, clients=3, model=model)
    local = Descent(steps=2, batch=4, learning_rate=0.6, optimiser=Sgd(momentum=0.5))
    algorithm = ALGORITHMS[name](local, adapter(LAYERS[kind]))
    client = problem.clients.pooled()
    steps = list(rounds(algorithm, problem, rounds=3))
    losses = [float(client.loss(algorithm.weights(steps[at].state.algorithm))) for at in (0, -1)]
    assert losses[1] < losses[0] - 1e-3
    after = model.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    network = problem.clients.network
    inside = network.training.module.state_dict()
    assert all(torch.equal(value, inside[name]) for name, value in before.items())


@pytest.mark.parametrize("kind", MODELS)
def test_factors_and_head_travel_and_nothing_else(kind):
    problem, _ = problem_of(kind, clients=2)
    algorithm = FedLoRA(Descent(steps=1, batch=2, learning_rate=0.1), adapter(LAYERS[kind]))
    first, second = list(rounds(algorithm, problem, rounds=1))
    shapes = [w.shape for name, w in problem.start.items() if "classifier" not in name]
    head = sum(w.numel() for name, w in problem.start.items() if "classifier" in name)
    trained = sum(RANK * (m + n) for m, n in shapes) + head
    assert len(shapes) == 6
    assert first.ledger.count("down", 0) == 2 * head  # a head is drawn; the pretrained weights are everybody's
    assert second.ledger.count("up", 1) == second.ledger.count("down", 1) == 2 * trained


def test_frozen_weights_are_in_memory_once():
    model = llama()
    problem, _ = problem_of("llama", model=model)
    network = problem.clients.network
    for module in (network.training.module, network.testing.module):
        for (name, own), other in zip(module.named_parameters(), model.parameters(), strict=True):
            assert own.data_ptr() == other.data_ptr(), name
    assert all(
        value.data_ptr() == dict(model.named_parameters())[name].data_ptr() for name, value in problem.start.items()
    )
    assert module.lm_head.weight is module.model.embed_tokens.weight


@pytest.mark.parametrize("kind", MODELS)
def test_equal_clients_are_one(kind):
    """Clients with the same samples in full batches make the steps of one, by every aggregation that is a mean."""
    samples = texts(4, causal=kind == "llama")
    doubled = copy.deepcopy(samples)
    three = {
        name: getattr(doubled, name).repeat(3, *[1] * (getattr(doubled, name).ndim - 1))
        for name in ("input_ids", "attention_mask", "labels")
    }
    fields = {**vars(samples), **three, "origins": np.tile(samples.origins, 3), "kept": np.arange(12)}
    test = texts(6, kind == "llama", seed=1)
    ends = []
    for train, parts in ((samples, [np.arange(4)]), (type(samples)(**fields), np.arange(12).reshape(3, 4))):
        problem = language_problem(MODELS[kind](), train, list(parts), test, layers=LAYERS[kind])
        algorithm = FedLoRA(Descent(steps=3, learning_rate=0.2), adapter(LAYERS[kind]))
        ends.append(list(rounds(algorithm, problem, rounds=3))[-1].metrics["loss"])
    assert ends[0] == pytest.approx(ends[1], rel=1e-5)


def test_the_mean_of_a_causal_loss_is_over_tokens():
    for micro_batch, rows in ((None, 12), (3, 5)):
        problem, samples = problem_of("llama", micro_batch=micro_batch, eval_batch=rows)
        client = problem.clients[0]
        exact = llama()(samples.input_ids, samples.attention_mask, labels=samples.labels).loss.item()
        assert float(client.loss(problem.start)) == pytest.approx(exact, rel=1e-5)
        shares = [share for share, _ in client.passes(False)]
        assert sum(shares) == pytest.approx(1.0)
        parts = [float(client.loss(problem.start, part)) for _, part in client.passes(False)]
        assert np.dot(shares, parts) == pytest.approx(exact, rel=1e-5)
    problem, samples = problem_of("llama", clients=2, client_weights="tokens")
    counts = samples.predicted
    assert list(problem.shares) == [float(counts[:6].sum()), float(counts[6:].sum())]
    found = problem.evaluate(problem.start)
    test = texts(6, True, seed=1)
    exact = llama()(test.input_ids, test.attention_mask, labels=test.labels).loss.item()
    assert found["loss"] == pytest.approx(exact, rel=1e-5)
    assert found["perplexity"] == pytest.approx(np.exp(exact), rel=1e-5)


def test_drop_out_is_drawn_from_the_seed():
    ends = []
    for seed in (0, 0, 1):
        problem, _ = problem_of("bert", clients=2, model=bert(dropout=0.3), gradient_checkpointing=len(ends) == 1)
        assert problem.clients.network.random
        torch.manual_seed(len(ends))
        algorithm = FedLoRA(Descent(steps=2, learning_rate=0.2), adapter(LAYERS["bert"]))
        ends.append(list(rounds(algorithm, problem, rounds=1, seed=seed))[-1].metrics["loss"])
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)
    assert abs(ends[0] - ends[2]) > 1e-6


def test_bfloat16_trains_factors_in_single_precision():
    problem, _ = problem_of("bert", clients=2, model=bert().bfloat16())
    local = Descent(steps=4, batch=6, learning_rate=0.01, optimiser=AdamW())
    algorithm = FedLoRA(local, adapter(LAYERS["bert"], precision="float32"))
    steps = list(rounds(algorithm, problem, rounds=3))
    factors = steps[-1].state.algorithm.factors
    assert {w.dtype for w in (*factors.A.values(), *factors.B.values())} == {torch.float32}
    assert {name: w.dtype for name, w in problem.start.items() if w.dtype == torch.float32} == {
        "classifier.weight": torch.float32,
        "classifier.bias": torch.float32,
    }
    assert steps[-1].state.algorithm.factors.rest["classifier.weight"].dtype == torch.float32
    client = problem.clients.pooled()
    ends = [float(client.loss(algorithm.weights(step.state.algorithm))) for step in (steps[0], steps[-1])]
    assert ends[1] < ends[0] - 0.01


def test_without_layers_all_weights_are_trained():
    problem, _ = problem_of("llama", layers=None)
    assert len(problem.start) == len(list(llama().parameters()))
    algorithm = FedAvg(Descent(steps=2, batch=4, learning_rate=0.5))
    losses = [step.metrics["loss"] for step in rounds(algorithm, problem, rounds=2)]
    assert losses[-1] != losses[0]


def test_what_does_not_fit_is_refused():
    with pytest.raises(
        FederationError,
        match=r"no layer with a matrix weight matches '\*.q_proj'; the model has "
        r".*\*.query",
    ):
        problem_of("bert", layers="*.q_proj")
    long = texts(4)
    ids = torch.ones(4, 30, dtype=torch.int64)
    for evaluated in ({}, {"training": texts(2)}):  # of which all are checked, also those that are not evaluated
        with pytest.raises(FederationError, match=r"sample 0 of the training texts has 30 tokens, .* positions for 24"):
            language_problem(
                bert(),
                type(long)(**{**vars(long), "input_ids": ids, "attention_mask": ids}),
                [range(4)],
                texts(3),
                layers="*.query",
                evaluated=evaluated,
            )
    other = type(long)(**{**vars(long), "input_ids": long.input_ids.masked_fill(long.input_ids > 40, 50)})
    with pytest.raises(FederationError, match=r"token 50, and the model's are below 50"):
        language_problem(bert(), other, [range(4)], texts(3), layers="*.query")
    other = type(long)(**{**vars(long), "attention_mask": long.attention_mask.flip(1)})
    with pytest.raises(FederationError, match="must follow the tokens"):
        language_problem(bert(), other, [range(4)], texts(3), layers="*.query")
    with pytest.raises(FederationError, match="labels 0 to 2, and the model's outputs are for 0 to 1"):
        language_problem(bert(classes=2), texts(12), [range(12)], texts(12), layers="*.query")
    with pytest.raises(FederationError, match="client_weights must be samples or tokens, got 'words'"):
        problem_of("bert", client_weights="words")
    problem, _ = problem_of("bert")
    with pytest.raises(FederationError, match="rank 17 does not fit"):
        next(iter(rounds(FedLoRA(Descent(), Adapter(17, layers=LAYERS["bert"])), problem, rounds=1)))


def test_a_model_that_sees_the_answers_is_refused():
    """A masked model is read as a causal one, and its loss would be of tokens that it is shown."""
    config = bert().config
    plain, decoder = (
        transformers.BertLMHeadModel(transformers.BertConfig.from_dict({**config.to_dict(), "is_decoder": causal}))
        for causal in (False, True)
    )
    with pytest.raises(FederationError, match=r"the model is not causal: .* it would see the answers"):
        problem_of("llama", model=plain, layers="*.query")
    for model in (decoder, copy.deepcopy(decoder).bfloat16()):
        problem_of("llama", model=model, layers="*.query")
    problem_of("llama", model=llama().bfloat16())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_evaluations_go_through_the_factors(name):
    """In half precision the product of factors would be rounded away when added to a weight."""
    problem, _ = problem_of("bert", 4, clients=1, model=bert().bfloat16(), layers=LAYERS["bert"])
    algorithm = ALGORITHMS[name](Descent(learning_rate=0.3), adapter(LAYERS["bert"], precision="float32"))
    last = list(rounds(algorithm, problem, rounds=2))[-1]
    values = algorithm.values(last.state.algorithm)
    assert last.metrics["loss"] == problem.evaluate(values)["loss"]
    plain, _ = problem_of("bert", clients=2)
    algorithm = ALGORITHMS[name](Descent(steps=2, learning_rate=0.3), adapter(LAYERS["bert"]))
    last = list(rounds(algorithm, plain, rounds=3))[-1]
    assert last.metrics["loss"] == pytest.approx(
        plain.evaluate(algorithm.weights(last.state.algorithm))["loss"], rel=1e-5
    )


def test_a_classifier_that_reads_the_last_token_finds_it():
    """Llama's looks for padding by its token, which a model may not name, and which a text may have in it."""
    torch.manual_seed(0)
    config = llama().config
    config.num_labels, config.pad_token_id = 3, None
    model = transformers.LlamaForSequenceClassification(config).eval()
    samples = texts(6)
    ids = samples.input_ids.clone()
    ids[torch.arange(6), samples.lengths - 1] = 0
    samples = type(samples)(**{**vars(samples), "input_ids": ids})
    problem = language_problem(model, samples, [range(6)], samples, layers="*.q_proj")
    assert [name for name in problem.start if "score" in name]
    alone = torch.stack([model(row[None, :n]).logits[0] for row, n in zip(ids, samples.lengths, strict=True)])
    exact = torch.nn.functional.cross_entropy(alone, samples.labels)
    assert problem.evaluate(problem.start)["loss"] == pytest.approx(float(exact.detach()), rel=1e-5)
    assert model.config.pad_token_id is None


EVERY = {
    "fedlrt": {},
    "fedlrt-plain": {},
    "fedhm": {"ranks": (1, 2)},
    "mfedloru": {"tau": 1},
    "pfedloru": {"tau": 2},
    "pfedlora-1": {},
    "pfedlora-2": {},
    "local": {},
    "central": {},
    "fedavg": {},
    "fedlin": {},
    "fedprox": {},
    "scaffold": {"control": "gradient"},
    "fedsa-lora": {},
    "frlora": {},
    "fed-sb": {},
    "fedpara": {},
    "pfedpara": {},
}


@pytest.mark.parametrize("name", EVERY)
def test_the_other_algorithms_train_it_too(name):
    model = bert()
    before = copy.deepcopy(model.state_dict())
    problem, _ = problem_of("bert", clients=2, count=8, model=model)
    given = {"rank": 2, "layers": LAYERS["bert"], "steps": 1, "batch": 2, "learning_rate": 0.1, **EVERY[name]}
    known = options_of(name, "rated-sentences", given)
    values = resolve(known, {key: value for key, value in given.items() if key in known} | {"clients": 2}, name)
    first, last = list(rounds(algorithm_of(name, "rated-sentences", values), problem, rounds=1))
    measured = "personal_loss" if "personal_loss" in last.metrics else "loss"
    assert last.metrics[measured] != first.metrics[measured]
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())


class Unmasked(transformers.BertForSequenceClassification):
    """A classifier that takes padding for tokens."""

    def forward(self, input_ids=None, attention_mask=None, **named):
        return super().forward(input_ids=input_ids, **named)


def with_batch_norm(dropout, tracked):
    model = bert(dropout=dropout)
    model.dropout = torch.nn.Sequential(model.dropout, torch.nn.BatchNorm1d(16, track_running_stats=tracked))
    return model.eval()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Unmasked(bert().config).eval(), r"text \d+ of the training texts depends on the padding behind it"),
        (lambda: with_batch_norm(0.0, False), "in evaluation mode depends on the other texts in its batch"),
        (lambda: with_batch_norm(0.1, True), "in training mode depends on the other texts|training changes the buffer"),
    ],
)
def test_a_model_whose_loss_of_a_text_depends_on_its_batch_is_refused(make, message):
    model = make()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(FederationError, match=message):
        problem_of("bert", model=model)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_fixed_statistics_of_batch_norm_and_texts_of_one_length_are_taken():
    problem_of("bert", model=with_batch_norm(0.0, True))
    samples = texts(4)
    samples = replace(samples, attention_mask=torch.ones_like(samples.attention_mask))
    language_problem(Unmasked(bert().config).eval(), samples, [np.arange(4)], samples, layers=LAYERS["bert"])
