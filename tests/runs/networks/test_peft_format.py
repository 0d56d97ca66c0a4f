"""Adapters that go out load in PEFT to the same logits, and come in to the same start."""

import json
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from tiny_language import bert, llama, texts, transformers  # noqa: E402

from algorithms.adapter import AB, Adapter  # noqa: E402
from algorithms.descent import Descent  # noqa: E402
from algorithms.fed_sb import FedSB  # noqa: E402
from algorithms.fedavg import FedAvg  # noqa: E402
from algorithms.federation import Federation, FederationError  # noqa: E402
from algorithms.fedex_lora import FedExLoRA  # noqa: E402
from algorithms.fedlora import FedLoRA  # noqa: E402
from algorithms.fedloru import FedLoRU  # noqa: E402
from algorithms.fedloru_finetuning import FineTuneFedLoRU  # noqa: E402
from algorithms.fedsa_lora import FedSALoRA  # noqa: E402
from algorithms.ffa_lora import FFALoRA  # noqa: E402
from algorithms.flexlora import FlexLoRA  # noqa: E402
from algorithms.flora import FLoRA  # noqa: E402
from algorithms.frlora import FRLoRA  # noqa: E402
from algorithms.hetlora import HetLoRA  # noqa: E402
from algorithms.layers import call  # noqa: E402
from algorithms.optimisers import Sgd  # noqa: E402
from algorithms.pfedlora import PersonalFedLoRA  # noqa: E402
from algorithms.rolora import RoLoRA  # noqa: E402
from algorithms.rounds import rounds  # noqa: E402
from algorithms.tree import Tree  # noqa: E402
from runs.language_problem import language_problem  # noqa: E402
from runs.networks.peft_format import read_adapter, updates, with_adapter_start, write_adapter  # noqa: E402
from runs.settings import RunError  # noqa: E402


def gpt2(seed=0):
    """Its linear layers keep their weights the other way round."""
    torch.manual_seed(seed)
    config = transformers.GPT2Config(
        vocab_size=50,
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=24,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=2,
        eos_token_id=2,
    )
    return transformers.GPT2LMHeadModel(config).eval()


MODELS = {
    "bert": (bert, "*.query, *.intermediate.dense, *.word_embeddings"),
    "llama": (llama, "*.v_proj, *.down_proj"),
    "gpt2": (gpt2, "*.c_attn, *.mlp.c_fc"),
}
ALGORITHMS = {
    "fedlora": FedLoRA,
    "rolora": RoLoRA,
    "fedloru": lambda *given: FedLoRU(*given, tau=1),
    "fedloru-finetune": lambda *given: FineTuneFedLoRU(*given, tau=2),
    "flora": lambda *given: FLoRA(*given, ranks=(1, 1)),
    "fedex-lora": FedExLoRA,
    "frlora": FRLoRA,
    "fed-sb": FedSB,
}


def trained(kind, algorithm, a_at="inputs", number=3, dtype=torch.float32, **named):
    made, layers = MODELS[kind]
    causal = kind != "bert"
    module = made().to(dtype)
    problem = language_problem(
        module, texts(12, causal), np.array_split(np.arange(12), 2), texts(6, causal, seed=1), layers=layers, **named
    )
    adapter = Adapter(2, 0.6, layers=layers, a_at=a_at, precision="float32")
    algorithm = ALGORITHMS[algorithm](
        Descent(steps=2, learning_rate=2.0 if kind == "gpt2" else 0.5, optimiser=Sgd(momentum=0.5)), adapter
    )
    algorithm = with_adapter_start(algorithm, problem)
    steps = list(rounds(algorithm, problem, rounds=number))
    return problem, algorithm, steps


def written(folder, problem, algorithm, state):
    found = updates(algorithm, state, problem.start)
    w = algorithm.weights(state)
    network = problem.clients.network
    others = {name: w[name] for name in w if name not in found}
    write_adapter(folder, network.testing.module, found, others, network.task, "nowhere")
    return w


def logits(model, causal):
    samples = texts(5, causal, seed=3)
    found = model(input_ids=samples.input_ids, attention_mask=samples.attention_mask).logits
    return found[samples.attention_mask.bool()] if causal else found


@pytest.mark.sample(8)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("name", "a_at"), [("fedlora", "outputs"), *((name, "inputs") for name in ALGORITHMS if name != "fedlora")]
)
def test_peft_loads_what_was_trained(tmp_path, kind, name, a_at):
    problem, algorithm, steps = trained(kind, name, a_at)
    state = steps[-1].state.algorithm
    w = written(tmp_path, problem, algorithm, state)
    model, causal = MODELS[kind][0](), kind != "bert"
    inside = problem.clients.network.testing.module
    before = logits(model, causal).detach()
    expected = logits(lambda **named: torch.func.functional_call(inside, dict(w), (), named), causal).detach()
    if kind == "bert":  # a head that a new model draws otherwise
        torch.nn.init.normal_(model.classifier.weight)
    with torch.no_grad():
        found = logits(peft.PeftModel.from_pretrained(model, tmp_path), causal)
    assert float((expected - before).abs().max()) > 1e-3
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)
    rank = json.loads((tmp_path / "adapter_config.json").read_text())["r"]
    # What was accumulated or merged, and the current pair. FedEx-LoRA's residual of two clients has r columns a round.
    merged = {"fedloru": 3 * 2, "fedloru-finetune": 2, "flora": 3 * (1 + 1), "fedex-lora": 3 * 2, "frlora": 4 * 2}
    assert rank == merged.get(name, 0) + 2


class Drifting(FedLoRA):
    """A method of a user's, which adds a matrix to the weights in every round and says nothing about its rank."""

    def added(self, W):
        u, v = (torch.linspace(-1, 1 + at, n, dtype=W.dtype) for at, n in enumerate(W.shape))
        return 0.05 * torch.outer(u, v)

    def round(self, fed, cohort, state):
        state = super().round(fed, cohort, state)
        base = {name: W + self.added(W) if name in state.factors.A else W for name, W in state.base.items()}
        fed.set_shared(base=Tree(base))
        return state._replace(base=Tree(base))


class DriftingFar(Drifting):
    def added(self, W):
        return 0.05 * torch.randn(W.shape, generator=torch.Generator().manual_seed(len(W)))


class WithoutBase(FedLoRA):
    """The state has the factors only, because the weights do not change."""

    def start(self, fed, w):
        object.__setattr__(self, "w", w)
        return OnlyFactors(super().start(fed, w).factors)

    def round(self, fed, cohort, state):
        return OnlyFactors(self.train(fed, cohort, state.factors))

    def weights(self, state):
        return self.adapter.weights(self.w, state.factors)

    def values(self, state):
        return self.adapter.values(self.w, state.factors)


class Halved(FedLoRA):
    """The model has half of the update."""

    def weights(self, state):
        A, B, rest = state.factors
        return self.adapter.weights(state.base, AB(A, 0.5 * B, rest))

    values = weights


class OnlyFactors(NamedTuple):
    factors: AB


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(("method", "rank"), [(Drifting, 3), (WithoutBase, 2)])
def test_a_method_of_the_users_is_exported_with_what_it_changes(tmp_path, monkeypatch, kind, method, rank):
    monkeypatch.setitem(ALGORITHMS, "own", method)
    problem, algorithm, steps = trained(kind, "own")
    w = written(tmp_path, problem, algorithm, steps[-1].state.algorithm)
    model, causal = MODELS[kind][0](), kind != "bert"
    inside = problem.clients.network.testing.module
    before = logits(model, causal).detach()
    expected = logits(lambda **named: torch.func.functional_call(inside, dict(w), (), named), causal).detach()
    with torch.no_grad():
        found = logits(peft.PeftModel.from_pretrained(model, tmp_path), causal)
    assert float((expected - before).abs().max()) > 1e-3
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    assert {config["r"], *config["rank_pattern"].values()} == {rank}


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (DriftingFar, r"was changed by a matrix of rank 8, and an adapter of that rank has more numbers .* of 8 x 16;"),
        (Halved, r"v_proj.weight of Halved is not its base plus the update of its factors, .*; let start and round"),
    ],
)
def test_a_method_whose_model_is_no_adapter_is_refused_in_one_line(tmp_path, monkeypatch, method, message):
    monkeypatch.setitem(ALGORITHMS, "own", method)
    problem, algorithm, steps = trained("llama", "own")
    with pytest.raises(RunError, match=message) as raised:
        updates(algorithm, steps[-1].state.algorithm, problem.start)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("a_at", ["inputs", "outputs"])
def test_an_adapter_of_peft_is_the_start(tmp_path, kind, a_at):
    made, layers = MODELS[kind]
    torch.manual_seed(5)
    config = peft.LoraConfig(
        r=2,
        lora_alpha=7,
        target_modules=[part.split(".", 1)[1] for part in layers.split(", ")],
        modules_to_save=["classifier"] if kind == "bert" else None,
        init_lora_weights=False,
        task_type="SEQ_CLS" if kind == "bert" else "CAUSAL_LM",
        fan_in_fan_out=kind == "gpt2",
        use_rslora=True,
    )
    model = peft.get_peft_model(made(), config)
    model.save_pretrained(tmp_path)
    problem, algorithm, steps = trained(kind, "fedlora", a_at, number=0, adapter=tmp_path)
    w = algorithm.weights(steps[0].state.algorithm)
    found = logits(
        lambda **named: torch.func.functional_call(problem.clients.network.testing.module, dict(w), (), named),
        kind != "bert",
    )
    expected = logits(model, kind != "bert")
    assert float((expected - logits(made(), kind != "bert")).abs().max()) > 0.01
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert problem.begun


@pytest.mark.parametrize(
    "name", ["fedlora", "rolora", "fedloru", "fedloru-finetune", "flexlora", "flora", "fedex-lora", "hetlora"]
)
def test_layers_keep_the_ranks_of_the_adapter_that_they_start_from(tmp_path, name):
    """Ranks and alphas by layer, of PEFT and of our own export, with either rank for `--rank`."""
    made, layers = MODELS["llama"]
    torch.manual_seed(5)
    config = peft.LoraConfig(
        r=2,
        lora_alpha=7,
        target_modules=["v_proj", "down_proj"],
        rank_pattern={"down_proj": 4, "layers.0.self_attn.v_proj": 3},
        alpha_pattern={"q_proj|v_proj": 5.0},
        init_lora_weights=False,
        task_type="CAUSAL_LM",
    )
    model = peft.get_peft_model(made(), config)
    model.save_pretrained(tmp_path / "given")
    expected, place = logits(model, True), tmp_path / "given"
    grows = name.startswith(("fedloru", "flora", "fedex"))  # by each accumulation or merge
    for rank in (2, 3, 4):
        problem = language_problem(
            made(),
            texts(12, True),
            np.array_split(np.arange(12), 2),
            texts(6, True, seed=1),
            layers=layers,
            adapter=place,
        )
        adapter = Adapter(rank, 0.6, layers=layers, a_at="inputs", precision="float32")
        kind = {**ALGORITHMS, "flora": FLoRA, "hetlora": HetLoRA}.get(name, FlexLoRA)
        algorithm = with_adapter_start(kind(Descent(steps=2, learning_rate=0.5), adapter), problem)
        steps = list(rounds(algorithm, problem, rounds=0 if rank == 2 and not grows else 3))
        inside = problem.clients.network.testing.module
        place = tmp_path / f"after {rank}"
        w = written(place, problem, algorithm, steps[-1].state.algorithm) if name != "flexlora" else None
        if name == "flexlora":
            assert sorted(A.shape[1] for A in steps[-1].state.algorithm.factors.A.values()) == [2, 3, 4, 4]
            return
        found = logits(partial(call, inside, dict(w)), True).detach()
        if rank == 2 and not grows:
            assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)
        else:
            assert not torch.allclose(found, expected, rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            loaded = logits(peft.PeftModel.from_pretrained(made(), place), True)
        assert torch.allclose(loaded, found, rtol=1e-4, atol=1e-5)
        if grows:
            return
    algorithm = with_adapter_start(kind(Descent(), Adapter(5, layers=layers)), problem)
    with pytest.raises(FederationError, match="has the ranks 2, 3, 4, each layer its own; choose --rank 2 or 3 or 4"):
        next(iter(rounds(algorithm, problem, rounds=1)))


@pytest.mark.parametrize(("dtype", "alpha"), [(torch.bfloat16, 7), (torch.float16, 1e-3)])
def test_an_adapter_in_half_precision_is_scaled_to_the_same_update(tmp_path, dtype, alpha):
    """Its numbers are exact in single precision, but not times 7/2/0.6; those in float16 would even underflow."""
    config = peft.LoraConfig(r=2, lora_alpha=alpha, target_modules=["v_proj", "down_proj"], init_lora_weights=False)
    peft.get_peft_model(llama(), config).save_pretrained(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    tensors = {name: (0.01 * tensor).to(dtype) for name, tensor in load_file(path).items()}
    save_file(tensors, path)
    algorithm = with_adapter_start(FedLoRA(Descent(), Adapter(2, 0.6, layers=MODELS["llama"][1])), begun_from(tmp_path))
    found = algorithm.adapter.factors(dict(llama().named_parameters()))
    for name, A in found.A.items():
        left, right = (
            tensors[f"base_model.model.{name.removesuffix('.weight')}.lora_{part}.weight"].double() for part in "BA"
        )
        assert torch.allclose(0.6 * A.double() @ found.B[name].double(), alpha / 2 * left @ right, rtol=1e-5, atol=0)


def test_the_frozen_weight_that_peft_stores_below_factors_must_be_the_models(tmp_path):
    made = partial(llama, tied=False)
    config = peft.LoraConfig(r=2, target_modules=["embed_tokens"], init_lora_weights=False)
    peft.get_peft_model(made(), config).save_pretrained(tmp_path)
    path, name = tmp_path / "adapter_model.safetensors", "base_model.model.model.embed_tokens.base_layer.weight"
    tensors = load_file(path)
    assert [*read_adapter(tmp_path, made())[0]] == ["model.embed_tokens.weight"]
    save_file({**tensors, name: tensors[name].bfloat16()}, path)
    assert len(read_adapter(tmp_path, made())[0]) == 1
    save_file(tensors, path)
    for rounded in (made().bfloat16(), made().half()):  # a model that is used in less precision than its adapter has
        assert len(read_adapter(tmp_path, rounded)[0]) == 1
    for other in (tensors[name] + 1e-3, tensors[name][:-1]):
        save_file({**tensors, name: other}, path)
        with pytest.raises(RunError, match=r"trained on another model\.embed_tokens\.weight than the model's; name"):
            read_adapter(tmp_path, made())


@pytest.mark.parametrize("jointly", [False, True])
def test_personal_factors_start_from_the_adapter(tmp_path, jointly):
    config = peft.LoraConfig(
        r=2, lora_alpha=7, target_modules=["query"], rank_pattern={"1.attention.self.query": 3}, init_lora_weights=False
    )
    model = peft.get_peft_model(bert(), config)
    model.save_pretrained(tmp_path)
    problem = problem_of(bert, False, "*.query", adapter=tmp_path)
    algorithm = with_adapter_start(
        PersonalFedLoRA(Descent(), Descent(), Adapter(2, 0.6, layers="*.query"), jointly), problem
    )
    fed = Federation(problem.clients, seed=0)
    w = algorithm.personal_weights(fed, algorithm.start(fed, Tree(problem.start)), 1)
    merged, plain = (dict(one.named_parameters()) for one in (model.merge_and_unload(), bert()))
    for name in problem.begun:
        assert torch.allclose(w[name], merged[name], rtol=1e-5, atol=1e-7)
        assert not torch.allclose(w[name], plain[name], atol=0.01)


def test_ranks_of_clients_need_not_be_those_of_the_adapter(tmp_path):
    peft.get_peft_model(llama(), peft.LoraConfig(r=2, target_modules=["v_proj"])).save_pretrained(tmp_path)
    problem = problem_of(llama, True, "*.v_proj", adapter=tmp_path)
    algorithm = with_adapter_start(FLoRA(Descent(), Adapter(2, layers="*.v_proj"), ranks=(1, 3)), problem)
    assert len(list(rounds(algorithm, problem, rounds=1))) == 2


def test_what_is_no_adapter_of_the_model_is_refused(tmp_path):
    with pytest.raises(RunError, match="does not hold a readable PEFT adapter"):
        read_adapter(tmp_path, bert())
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(
        RunError, match=f"it is a run, whose adapter `rankproof runs export {tmp_path} --out DIR` writes"
    ):
        read_adapter(tmp_path, bert())
    problem, algorithm, steps = trained("llama", "fedlora", number=1)
    written(tmp_path, problem, algorithm, steps[-1].state.algorithm)
    with pytest.raises(RunError, match="the model has no such layer"):
        read_adapter(tmp_path, bert())
    with pytest.raises(RunError, match="is an update of"):
        read_adapter(tmp_path, llama_of_other_width())
    with pytest.raises(FederationError, match=r"has rank 2 at .*; choose --rank 2"):
        next(
            iter(
                rounds(
                    with_adapter_start(
                        FedLoRA(Descent(), Adapter(3, layers="*.v_proj, *.down_proj")), begun_from(tmp_path)
                    ),
                    problem,
                    rounds=1,
                )
            )
        )
    with pytest.raises(FederationError, match="has other layers"):
        next(
            iter(
                rounds(
                    with_adapter_start(FedLoRA(Descent(), Adapter(2, layers="*.v_proj")), begun_from(tmp_path)),
                    problem,
                    rounds=1,
                )
            )
        )
    with pytest.raises(RunError, match="FedAvg has no adapter"):
        with_adapter_start(FedAvg(Descent()), begun_from(tmp_path))
    with pytest.raises(RunError, match="FedAvg does not train an adapter on frozen weights"):
        updates(FedAvg(Descent()), problem.start, problem.start)
    with pytest.raises(RunError, match="FedSALoRA has no adapter of its own to export"):
        updates(FedSALoRA(Descent(), Adapter(2)), problem.start, problem.start)
    for kind in (FRLoRA, FedSB):
        with pytest.raises(RunError, match=f"{kind.__name__} makes its first factors of the model and its data; leave"):
            with_adapter_start(kind(Descent(), Adapter(2)), begun_from(tmp_path))
    (tmp_path / "adapter_model.safetensors").rename(tmp_path / "adapter_model.bin")
    with pytest.raises(RunError, match="pickled adapters are not read"):
        read_adapter(tmp_path, llama())
    (tmp_path / "adapter_model.safetensors").write_bytes(b"half")
    with pytest.raises(RunError, match="does not hold a readable PEFT adapter"):
        read_adapter(tmp_path, llama())
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps({**config, "use_dora": True}))
    (tmp_path / "adapter_model.bin").rename(tmp_path / "adapter_model.safetensors")
    with pytest.raises(RunError, match=r"not a plain LoRA \(use_dora\)"):
        read_adapter(tmp_path, llama())


def test_weights_merged_in_half_precision_are_no_adapter():
    problem, algorithm, steps = trained("llama", "fedloru", dtype=torch.bfloat16, number=2)
    with pytest.raises(RunError, match="rounding errors have full rank"):
        updates(algorithm, steps[-1].state.algorithm, problem.start)


def roberta():
    torch.manual_seed(0)
    return transformers.RobertaForSequenceClassification(
        transformers.RobertaConfig(
            vocab_size=50,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=24,
            max_position_embeddings=26,
            num_labels=3,
            pad_token_id=1,
        )
    ).eval()


def distilbert():
    torch.manual_seed(0)
    return transformers.DistilBertForSequenceClassification(
        transformers.DistilBertConfig(
            vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=24, max_position_embeddings=24, num_labels=3
        )
    ).eval()


def problem_of(made, causal, layers, **named):
    return language_problem(
        made(), texts(12, causal), np.array_split(np.arange(12), 2), texts(6, causal, seed=1), layers=layers, **named
    )


@pytest.mark.parametrize(
    ("made", "layers", "head"),
    [(roberta, "*.query", None), (distilbert, "*.q_lin", "classifier"), (bert, "*.query", "*LayerNorm*")],
)
def test_every_module_that_peft_stores_whole_is_written(tmp_path, made, layers, head):
    problem = problem_of(made, False, layers, head=head)
    algorithm = FedLoRA(Descent(learning_rate=0.5), Adapter(2, 0.6, layers=layers, a_at="inputs"))
    w = written(tmp_path, problem, algorithm, list(rounds(algorithm, problem, rounds=1))[-1].state.algorithm)
    inside, model = problem.clients.network.testing.module, made()
    expected = logits(lambda **named: torch.func.functional_call(inside, dict(w), (), named), False).detach()
    for name, parameter in model.named_parameters():
        if "classifier" in name:  # as a new model draws it
            torch.nn.init.normal_(parameter)
    with torch.no_grad():
        found = logits(peft.PeftModel.from_pretrained(model, tmp_path), False)
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("made", "causal", "layers", "head", "message"),
    [
        (llama, True, "*.embed_tokens", None, "is also lm_head"),
        (llama, True, "*.v_proj", "*embed_tokens", "is also lm_head"),
        (gpt2, True, "*.wte", None, "is also lm_head"),
        (bert, False, "*.query, classifier", None, "classifier is among the layers with factors"),
        (bert, False, "*.query", "*.query.bias", "query is among the layers with factors"),
    ],
)
def test_what_has_two_places_or_is_trained_twice_is_refused(made, causal, layers, head, message):
    with pytest.raises(FederationError, match=message):
        problem_of(made, causal, layers, head=head)


def test_factors_on_what_peft_stores_whole_are_refused(tmp_path):
    problem = problem_of(bert, False, "classifier", head="*LayerNorm*")
    algorithm = FedLoRA(Descent(), Adapter(2, layers="classifier", a_at="inputs"))
    with pytest.raises(RunError, match="classifier has factors, and PEFT stores it whole"):
        written(tmp_path, problem, algorithm, next(iter(rounds(algorithm, problem, rounds=0))).state.algorithm)


@pytest.mark.parametrize(("kind", "layer"), [("gpt2", "c_attn"), ("llama", "v_proj")])
def test_the_factor_that_ffa_lora_freezes_is_at_the_inputs(tmp_path, kind, layer):
    layers = f"*.{layer}"
    problem = problem_of(MODELS[kind][0], True, layers)
    algorithm = FFALoRA(Descent(steps=2, learning_rate=0.5), Adapter(2, layers=layers, a_at="inputs"))
    first, *_, last = rounds(algorithm, problem, rounds=1)
    for step, folder in ((first, tmp_path / "first"), (last, tmp_path / "last")):
        written(folder, problem, algorithm, step.state.algorithm)
    before, after = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("first", "last"))
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]) == ("lora_A" in name)
        assert "lora_B" in name or tensor.shape == (2, 16)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"init_lora_weights": "pissa"}, r"not a plain LoRA \(init_lora_weights\)"),
        ({"lora_bias": True}, r"not a plain LoRA \(lora_bias\)"),
        ({"alora_invocation_tokens": [5]}, r"not a plain LoRA \(alora_invocation_tokens\)"),
        ({"use_of_tomorrow": "yes"}, r"not a plain LoRA \(use_of_tomorrow\)"),
        ({"bias": "all"}, r"not a plain LoRA \(bias\)"),
        ({"lora_alpha": None}, "not a finite number"),
        ({"lora_alpha": float("nan")}, "not a finite number"),
        ({"alpha_pattern": [3]}, "not a finite number"),
        ({"alpha_pattern": {"(": 3}}, "is not a pattern"),
        ({"alpha_pattern": {"(?i)V_PROJ": 3}}, r"'\(\?i\)V_PROJ', which is not a pattern: global flags"),
        ({"lora_alpha": 10**400}, "not a finite number"),
        ({"r": 4}, "v_proj has rank 2, which r and rank_pattern .* contradict"),
        ({"r": 10**400}, "r or a rank_pattern that is not a whole number"),
        ({"r": 0}, "r or a rank_pattern that is not a whole number"),
        ({"rank_pattern": {"v_proj": 1}}, "v_proj has rank 2, which r and rank_pattern .* contradict"),
        ({"rank_pattern": {"(": 2}}, "is not a pattern"),
        ({"target_modules": ["q_proj"]}, "layers.0.self_attn.v_proj, which adapter_config.json leaves out"),
        ({"target_modules": r".*0.*v_proj"}, "layers.1.self_attn.v_proj, which adapter_config.json leaves out"),
        ({"target_modules": "("}, "is not a pattern"),
        ({"target_modules": [1]}, "not a list of names"),
        ({"exclude_modules": ["v_proj"]}, "v_proj, which adapter_config.json leaves out"),
        ({"exclude_modules": r".*1.*v_proj"}, "layers.1.self_attn.v_proj, which adapter_config.json leaves out"),
        ({"modules_to_save": ["self_attn"]}, "v_proj, which adapter_config.json leaves out"),
        ({"layers_to_transform": [0]}, "layers.1.self_attn.v_proj, which adapter_config.json leaves out"),
        ({"layers_to_transform": 1}, "layers.0.self_attn.v_proj, which adapter_config.json leaves out"),
        ({"layers_to_transform": [0, 1], "layers_pattern": "blocks"}, "v_proj, which adapter_config.json leaves out"),
        ({"layers_to_transform": "all"}, "not a list of whole numbers"),
        ([1], "does not have peft_type LORA"),
        (None, "does not have peft_type LORA"),
    ],
)
def test_a_configuration_that_asks_for_more_than_lora_is_refused(tmp_path, config, message):
    peft.get_peft_model(llama(), peft.LoraConfig(r=2, target_modules=["v_proj"])).save_pretrained(tmp_path)
    read_adapter(tmp_path, llama())
    path = tmp_path / "adapter_config.json"
    stored = {**json.loads(path.read_text()), **config} if isinstance(config, dict) else config
    path.write_text(json.dumps(stored))
    with pytest.raises(RunError, match=message):
        read_adapter(tmp_path, llama())


def test_tensors_that_are_not_understood_are_refused(tmp_path):
    peft.get_peft_model(llama(), peft.LoraConfig(r=2, target_modules=["v_proj"])).save_pretrained(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    tensors = load_file(path)
    layer = next(iter(tensors)).partition(".lora_")[0]
    save_file({**tensors, f"{layer}.lora_B.bias": torch.ones(8)}, path)
    with pytest.raises(RunError, match="which a plain LoRA adapter does not have"):
        read_adapter(tmp_path, llama())
    for odd in (torch.ones(8), torch.tensor(1.0), torch.ones(8, 2).to(torch.float8_e5m2), torch.ones(8, 2).int()):
        save_file({**tensors, f"{layer}.lora_B.weight": odd}, path)
        with pytest.raises(RunError, match=r"v_proj\.lora_B\.weight of .*, and factors are matrices in 16 to 64 bits"):
            read_adapter(tmp_path, llama())
    save_file({**tensors, f"{layer}.other": torch.ones(8)}, path)
    with pytest.raises(RunError, match=r"v_proj.other does not fit"):
        read_adapter(tmp_path, llama())


@pytest.mark.parametrize(
    "changed",
    [
        {"target_modules": "all-linear"},
        {"target_modules": None},
        {"target_modules": r".*(q|v)_proj"},
        {"exclude_modules": ["q_proj"]},
        {"layers_to_transform": [0, 1], "layers_pattern": ["blocks", "layers"]},
        {"r": 3, "rank_pattern": {r"layers\.\d\..*v_proj": 2}},
    ],
)
def test_a_configuration_that_names_all_layers_is_read(changed, tmp_path):
    peft.get_peft_model(llama(), peft.LoraConfig(r=2, target_modules=["v_proj"])).save_pretrained(tmp_path)
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    assert len(read_adapter(tmp_path, llama())[0]) == 2


@pytest.mark.parametrize("value", [float("nan"), -float("inf")])
@pytest.mark.parametrize("part", ["lora_B", "norm"])
def test_numbers_that_are_not_finite_are_the_adapters_fault(part, value, tmp_path):
    config = peft.LoraConfig(r=2, target_modules=["v_proj"])
    peft.get_peft_model(llama(), config).save_pretrained(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    tensors = load_file(path)
    if part == "norm":
        tensors["base_model.model.model.norm.weight"] = torch.full_like(llama().model.norm.weight, value)
    else:
        odd = next(name for name in tensors if part in name)
        tensors[odd][0, 0] = value
    save_file(tensors, path)
    with pytest.raises(RunError, match=rf"{tmp_path} has base_model\..* with non-finite numbers; start from"):
        read_adapter(tmp_path, llama())


def test_an_adapter_of_rank_0_is_refused(tmp_path):
    peft.get_peft_model(llama(), peft.LoraConfig(r=2, target_modules=["v_proj"])).save_pretrained(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    save_file({k: (t[:0] if "lora_A" in k else t[:, :0]).contiguous() for k, t in load_file(path).items()}, path)
    with pytest.raises(RunError, match=r"v_proj has rank 0, which r and rank_pattern .* contradict"):
        read_adapter(tmp_path, llama())


class begun_from:  # noqa: N801 - reads as a sentence
    def __init__(self, folder):
        self.begun = read_adapter(folder, llama())[0]


def llama_of_other_width():
    config = llama().config
    config.intermediate_size = 32
    return transformers.LlamaForCausalLM(config)
