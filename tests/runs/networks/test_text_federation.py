"""Runs on a user's own texts: from the command line to an adapter of PEFT, with the folder of every other run."""

import json
import os
import re
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from limited_steps import Limited, limited  # noqa: E402
from tiny_language import bert, llama, saved, transformers  # noqa: E402

from algorithms.federation import Federation, FederationError  # noqa: E402
from rankproof import main  # noqa: E402
from runs.folder import LEDGER, METRICS, train  # noqa: E402
from runs.format import format_bytes  # noqa: E402
from runs.networks.language_model import ARCHITECTURES, Place, base_of, tokenizer_of, usual_layers  # noqa: E402
from runs.plan import code_of, make_plan, parts_of, read_run  # noqa: E402
from runs.settings import Conduct, RunError  # noqa: E402
from workloads.data.idx import DataError  # noqa: E402
from workloads.text_metrics import f1, mcc  # noqa: E402
from workloads.tokens import NO_LOSS  # noqa: E402

CHAT = (
    "{% for m in messages %}[UNK]{{ m['role'][0] }} {{ m['content'] }}[EOS]\n{% endfor %}"
    "{% if add_generation_prompt %}[UNK]a {% endif %}"
)


def said(rng, low=3, high=50, count=5):
    return " ".join(f"w{n}" for n in rng.integers(low, high, size=count))


def classified(count=40, seed=0):
    rng = np.random.default_rng(seed)
    return [
        {"body": said(rng, 3 + 20 * (n % 2), 23 + 20 * (n % 2)), "kind": ("bad", "good")[n % 2], "site": f"s{n % 3}"}
        for n in range(count)
    ]


def asked(count=30, seed=0):
    rng = np.random.default_rng(seed)
    return [{"prompt": said(rng, count=3), "answer": said(rng, count=2)} for _ in range(count)]


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    saved(bert(classes=2), folder / "bert")
    saved(llama(), folder / "llama")
    saved(llama(), folder / "chat")
    made = tokenizer_of(Place(folder / "chat"))
    made.chat_template = CHAT
    made.save_pretrained(folder / "chat")
    return folder


NAMED = ["--text", "body", "--label", "kind", "--client", "site"]


def test_a_file_of_classified_texts_from_the_command_line_to_peft(tmp_path, models, capsys):
    data = write(tmp_path / "mails.jsonl", classified())
    run = ["train", "fedlora", "--data", str(data), "--model", f"hf:{models / 'bert'}", *NAMED, "--rank", "2"]
    assert main([*run, "--out", str(tmp_path / "once"), "--rounds", "3", "--keep-every", "1"]) == 0
    text = capsys.readouterr().err
    assert re.search(r"\d+ training texts, of 3 clients, and \d+ test texts, of 2 classes", text)
    assert r"layers with adapters: *.query, *.value, the default for the model" in text
    assert main([*run, "--out", str(tmp_path / "run"), "--rounds", "1"]) == 0
    stored = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert (stored["problem"], stored["settings"]["clients"]) == (str(data), 3)
    assert (stored["settings"]["partition"], stored["settings"]["client"]) == ("by-client", "site")
    assert main(["train", "--resume", str(tmp_path / "run"), "--rounds", "3"]) == 0
    assert (tmp_path / "once" / METRICS).read_bytes() == (tmp_path / "run" / METRICS).read_bytes()

    assert main(["runs", "export", str(tmp_path / "run"), "--out", str(tmp_path / "adapter")]) == 0
    capsys.readouterr()
    out = ["--out", str(tmp_path / "of-2")]
    assert main(["runs", "export", str(tmp_path / "once"), "--round", "2", *out]) == 0
    assert "the adapter after round 2\n" in capsys.readouterr().out
    assert main(["runs", "export", str(tmp_path / "once"), "--round", "4", *out]) == 2
    assert "has no checkpoint of round 4, but of 1, 2, 3" in capsys.readouterr().err
    assert main(["runs", "list", str(tmp_path)]) == 0
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == os.path.relpath(models / "bert")
    labels = json.loads((tmp_path / "adapter" / "labels.json").read_text())
    assert labels == {"id2label": {"0": "bad", "1": "good"}, "label2id": {"bad": 0, "good": 1}}
    base = transformers.AutoModelForSequenceClassification.from_pretrained(models / "bert")
    adapted = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    problem = parts_of(read_run(tmp_path / "run").plan).problem
    x, y = problem.splits["test"]
    with torch.no_grad():
        logits = adapted(input_ids=x.clamp(min=0), attention_mask=(x >= 0).long()).logits
    loss = torch.nn.functional.cross_entropy(logits, y)
    last = (tmp_path / "run" / METRICS).read_text().splitlines()[-1].split(",")
    assert float(loss) == pytest.approx(float(last[1]), rel=1e-5)

    write(data, classified(seed=1))
    capsys.readouterr()
    assert main(["train", "--resume", str(tmp_path / "run"), "--rounds", "4"]) == 2
    assert "holds a run with another data" in capsys.readouterr().err
    data.unlink()
    assert main(["train", "--resume", str(tmp_path / "run"), "--rounds", "4"]) == 2
    assert f"{data} does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["pretrained model", "configuration of the model", "adapter"])
def test_a_run_resumes_only_with_the_same_model_and_adapter(tmp_path, models, capsys, part):
    """The weights with factors and those of the adapter are the same, but another loss belongs to them."""
    model = shutil.copytree(models / "bert", tmp_path / "model")
    adapter = peft.get_peft_model(bert(classes=2), peft.LoraConfig(r=2, target_modules=["query"]))
    adapter.save_pretrained(tmp_path / "adapter")
    data, place = write(tmp_path / "mails.jsonl", classified()), {"start_from": str(tmp_path / "adapter")}
    given = {"model": f"hf:{model}", "text": "body", "label": "kind", "layers": "*.query", "rank": 2, **place}
    plan = make_plan("fedlora", str(data), given, Conduct(rounds=1))
    train(plan, tmp_path / "run")
    if part == "pretrained model":
        weights = load_file(model / "model.safetensors")
        weights["bert.embeddings.LayerNorm.weight"] *= 1.5
        save_file(weights, model / "model.safetensors", {"format": "pt"})
    else:
        path, changed = (
            (model / "config.json", {"hidden_act": "relu"})
            if part.startswith("config")
            else (tmp_path / "adapter" / "adapter_config.json", {"lora_alpha": 70})
        )
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    for command in (
        ["train", "--resume", str(tmp_path / "run"), "--rounds", "2"],
        ["runs", "export", tmp_path / "run"],
    ):
        assert main([*map(str, command), *(["--out", str(tmp_path / "out")] if command[0] == "runs" else [])]) == 2
        assert f"holds a run with another {part}" in capsys.readouterr().err


@pytest.mark.parametrize("algorithm", ["rolora", "ffa-lora", "flora"])
def test_a_dry_run_counts_no_weights_that_clients_have(tmp_path, models, capsys, algorithm):
    data = write(tmp_path / "mails.jsonl", classified())
    run = ["train", algorithm, "--data", str(data), "--model", f"hf:{models / 'bert'}", *NAMED, "--rank", "2"]
    assert main([*run, "--rounds", "3", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "# time: about " in told
    assert main([*run, "--rounds", "3", "--out", str(tmp_path / "run")]) == 0
    names, *_, last = (tmp_path / "run" / METRICS).read_text().splitlines()
    counted = dict(zip(names.split(","), last.split(","), strict=True))
    down, up = (format_bytes(float(counted[f"bytes_{way}"])) for way in ("down", "up"))
    assert f"# bytes in 3 rounds: {down} down to all clients, {up} up" in told
    assert " weights in the layers that it adapts\n" in told


def test_a_run_says_how_many_texts_it_uses_if_options_leave_some_out(tmp_path, models):
    data, test = write(tmp_path / "mails.jsonl", classified(40)), write(tmp_path / "test.jsonl", classified(9, seed=2))
    given = {"model": f"hf:{models / 'bert'}", "text": "body", "label": "kind", "test_data": str(test)}

    def notes(**more):
        return parts_of(make_plan("fedlora", str(data), {**given, **more})).problem.notes

    sizes = "40 training texts, and 9 test texts, of 2 classes"
    assert notes()[0] == sizes
    assert not any("are used" in note for note in notes())
    assert notes(samples=24)[:2] == (
        sizes,
        "24 of 40 training texts and 9 of 9 test texts are used, because of --samples",
    )
    assert notes(held_out=6, test_samples=5)[1] == (
        "34 of 40 training texts and 5 of 9 test texts are used, because of --test-samples and --held-out"
    )


@pytest.mark.parametrize("of", ["model", "adapter"])
def test_a_run_says_if_the_head_has_the_classes_in_another_order(tmp_path, models, of):
    data, model = write(tmp_path / "mails.jsonl", classified()), shutil.copytree(models / "bert", tmp_path / "model")
    peft.get_peft_model(bert(classes=2), peft.LoraConfig(target_modules=["query"])).save_pretrained(
        tmp_path / "adapter"
    )
    given = {"model": f"hf:{model}", "text": "body", "label": "kind", "layers": "*.query", "rank": 8}
    given |= {} if of == "model" else {"start_from": str(tmp_path / "adapter")}
    path = model / "config.json" if of == "model" else tmp_path / "adapter" / "labels.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for names, warned in ((["Bad", "Good"], False), (["GOOD", "bad"], True), (["LABEL_0", "LABEL_1"], False)):
        path.write_text(json.dumps({**found, "id2label": dict(enumerate(names))}))
        notes = parts_of(make_plan("fedlora", str(data), given)).problem.notes
        assert any("has 'bad' as class 1, and the data as class 0" in note for note in notes) == warned
    if of == "adapter":
        for other in ('{"id2label": {"1": "bad"}}', '["good", "bad"]', '{"0": "good"}', "{"):  # PEFT has no such file
            path.write_text(other)
            assert not any(
                "as class" in note for note in parts_of(make_plan("fedlora", str(data), given)).problem.notes
            )


def test_classes_that_differ_in_capitals_alone_keep_their_order(tmp_path, models):
    rows = [{"body": row["body"], "kind": ("US", "us")[number % 2]} for number, row in enumerate(classified())]
    data, model = write(tmp_path / "mails.jsonl", rows), shutil.copytree(models / "bert", tmp_path / "model")
    given = {"model": f"hf:{model}", "text": "body", "label": "kind", "layers": "*.query", "rank": 8}
    found = json.loads((model / "config.json").read_text())
    for names, warned in ((["US", "us"], False), (["us", "US"], True)):
        (model / "config.json").write_text(json.dumps({**found, "id2label": dict(enumerate(names))}))
        notes = parts_of(make_plan("fedlora", str(data), given)).problem.notes
        assert any("has 'US' as class 1, and the data as class 0" in note for note in notes) == warned


def test_the_help_of_own_texts_ends_with_a_command_its_time_and_its_bytes(tmp_path, models, capsys):
    data = write(tmp_path / "mails.jsonl", classified())
    assert main(["train", "fedlora", "--data", str(data), "--model", f"hf:{models / 'bert'}", "--help"]) == 0
    last = " ".join(capsys.readouterr().out.rpartition("example: ")[2].split())
    assert re.search(r"^rankproof train fedlora --data mails.jsonl --text body .* minute .* bytes", last)


def test_an_export_without_a_run_names_the_command_that_lists_them(tmp_path, capsys):
    assert main(["runs", "export", str(tmp_path / "none"), "--out", str(tmp_path / "adapter")]) == 2
    assert "contains no run; name the folder of one; `rankproof runs list" in capsys.readouterr().err


def test_a_run_that_is_interrupted_within_a_round_resumes_between_two_steps(tmp_path, models):
    given = {"model": f"hf:{models / 'bert'}", "text": "body", "label": "kind", "client": "site", "dropout": 0.2}
    given |= {"batch": 4, "micro_batch": 3, "optimiser_state": "personal", "rank": 2}
    plan = make_plan("fedlora", str(write(tmp_path / "mails.jsonl", classified())), given, Conduct(rounds=2))
    Limited.left = 0
    whole = train(plan, tmp_path / "whole", parts=limited(parts_of(plan)))
    for after in (3, 3, 4):
        Limited.left = after
        with pytest.raises(KeyboardInterrupt):
            train(plan, tmp_path / "again", parts=limited(parts_of(plan)))
    lines = []
    Limited.left = 0
    assert train(plan, tmp_path / "again", say=lines.append, parts=limited(parts_of(plan))) == whole
    done = r"(1 client is|[02] clients are) done(, and \d+ steps? of the next one)?"
    assert re.fullmatch(rf"resuming within round 1: in exchange 1, {done}", lines[0])
    for name in (METRICS, LEDGER, "checkpoints/round-000002.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_further_metrics_are_columns_where_they_are_asked_for(tmp_path, models):
    data = write(tmp_path / "mails.jsonl", classified())
    given = {"model": f"hf:{models / 'bert'}", "text": "body", "label": "kind", "eval_batch": 3}
    plain, asked_for = (make_plan("fedavg", str(data), {**given, "metrics": of}) for of in (None, "f1, mcc"))
    assert "metrics" not in plain.identity
    assert asked_for.identity["metrics"] == "f1, mcc"
    before, problem = (parts_of(plan).problem for plan in (plain, asked_for))
    fed = Federation(problem.clients)
    found, other = (one.evaluate(one.start, fed) for one in (problem, before))
    assert {name: value for name, value in found.items() if name not in ("f1", "mcc")} == other
    x, y = problem.splits["test"]
    network = problem.clients.network
    predicted = network.logits(network.testing, problem.start, x).argmax(1)
    assert found["accuracy"] == float((predicted == y).double().mean())
    assert (found["f1"], found["mcc"]) == (f1(predicted, y), mcc(predicted, y))
    for of, message in (("f2", "there is no metric 'f2'; metrics takes f1, mcc"), ("f1,", "no metric ''")):
        with pytest.raises(FederationError, match=message):
            parts_of(make_plan("fedavg", str(data), {**given, "metrics": of}))
    causal = make_plan(
        "fedavg", str(write(tmp_path / "a.jsonl", asked())), {"model": f"hf:{models / 'llama'}", "metrics": "f1"}
    )
    with pytest.raises(FederationError, match="no metric 'f1' of answers; metrics takes exact_match, choice"):
        parts_of(causal)


def test_clients_are_those_of_the_data(tmp_path, models):
    given = {"model": f"hf:{models / 'bert'}", "text": "body", "label": "kind"}
    records = classified()
    whole = write(tmp_path / "mails.jsonl", records)
    test = write(tmp_path / "test.jsonl", classified(9, seed=2))
    for site in ("s0", "s1", "s2"):
        write(tmp_path / "sites" / f"{site}.jsonl", [row for row in records if row["site"] == site])
    named, files = (
        parts_of(make_plan("fedavg", str(data), {**given, **more, "test_data": str(test)})).problem
        for data, more in ((whole, {"client": "site"}), (tmp_path / "sites", {}))
    )
    words = [
        [sorted(tuple(problem.clients.data.x[i].tolist()) for i in problem.clients.parts[k]) for k in range(3)]
        for problem in (named, files)
    ]
    assert words[0] == words[1]
    assert [*named.clients.sizes] == [*files.clients.sizes] == [14, 13, 13]
    even = make_plan("fedavg", str(whole), given)
    assert (even.settings["clients"], even.settings["partition"]) == (3, "even")
    other = make_plan("fedavg", str(whole), {**given, "client": "site", "clients": 2})
    with pytest.raises(DataError, match="those of 3 clients, got 2"):
        parts_of(other)
    joined = make_plan("fedavg", str(whole), {**given, "client": "site", "clients": 2, "partition": "by-source"})
    assert len(parts_of(joined).problem.clients) == 2


def test_another_division_of_the_same_texts_is_another_run(tmp_path, models, capsys):
    data = write(tmp_path / "mails.jsonl", classified())
    run = ["train", "fedlora", "--data", str(data), "--model", f"hf:{models / 'bert'}", *NAMED, "--rank", "2"]
    assert main([*run, "--out", str(tmp_path / "run"), "--rounds", "1"]) == 0
    write(data, [{**row, "site": f"s{n // 14}"} for n, row in enumerate(classified())])
    assert main(["train", "--resume", str(tmp_path / "run"), "--rounds", "2"]) == 2
    assert "holds a run with another partition" in capsys.readouterr().err


def test_instructions_are_written_by_the_chat_template_or_plainly(tmp_path, models, capsys):
    data = write(tmp_path / "asked.jsonl", asked())
    found = {}
    for model, template in (("llama", None), ("llama", "plain"), ("chat", None), ("chat", "chat"), ("chat", "plain")):
        plan = make_plan("fedavg", str(data), {"model": f"hf:{models / model}", "template": template})
        assert ("template" in plan.identity) == (template is not None)
        problem = parts_of(plan).problem
        found[model, template] = [part.tolist() for part in problem.splits["test"]]
        assert any("chat template" in note for note in problem.notes) == (model == "chat" and template != "plain")
    assert found["llama", None] == found["llama", "plain"] == found["chat", "plain"]
    assert found["chat", None] == found["chat", "chat"] != found["chat", "plain"]
    tokenizer = tokenizer_of(Place(models / "chat"))
    x, y = found["chat", None]
    for row, labels in zip(x, y, strict=True):
        row = [token for token in row if token >= 0]
        answer = [token for token in labels if token != NO_LOSS]
        where = next(r for r in asked() if tokenizer(r["answer"])["input_ids"] == answer[:-1])
        chat = [{"role": "user", "content": where["prompt"]}, {"role": "assistant", "content": where["answer"]}]
        assert row == tokenizer.apply_chat_template(chat, tokenize=True, return_dict=False)
        assert row[-len(answer) :] == answer
        assert answer[-1] == tokenizer.eos_token_id
    capsys.readouterr()
    for model, more, message in (
        ("llama", ["--template", "chat"], "the tokenizer has no chat template; choose --template plain"),
        ("llama", ["--template", "odd"], "template must be one of plain, chat"),
    ):
        assert main(["train", "fedavg", "--data", str(data), "--model", f"hf:{models / model}", *more]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('no system') }}", r"cannot write asked.jsonl \(.*no system.*\); choose --template plain"),
        ("{% for m in messages %}{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}x{% endif %}", "does not"),
    ],
)
def test_templates_that_do_not_suit_are_refused(tmp_path, models, template, message):
    shutil.copytree(models / "chat", tmp_path / "model")
    made = tokenizer_of(Place(tmp_path / "model"))
    made.chat_template = template
    made.save_pretrained(tmp_path / "model")
    data = write(tmp_path / "asked.jsonl", asked())
    with pytest.raises(DataError, match=message):
        parts_of(make_plan("fedavg", str(data), {"model": f"hf:{tmp_path / 'model'}"}))


def test_a_function_returns_texts_and_is_named_for_trust(tmp_path, models, monkeypatch, capsys):
    (tmp_path / "my_texts.py").write_text(
        "import pandas as pd\n"
        "def frames():\n"
        "    rows = [{'text': f'w{3 + n} w{4 + n}', 'label': n % 2, 'who': n % 4} for n in range(20)]\n"
        "    return pd.DataFrame(rows), pd.DataFrame(rows[:6])\n"
        "def sets():\n"
        "    from workloads.own_texts import Columns, own_from\n"
        "    own = own_from(frames(), 'x', Columns())\n"
        "    return own.train, own.test\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = ["train", "fedlora", "--model", f"hf:{models / 'bert'}", "--rank", "2", "--rounds", "1"]
    assert main([*run, "--data", "my_texts:frames", "--client", "who", "--out", "one"]) == 0
    assert main([*run, "--data", "my_texts:sets", "--out", "two"]) == 0
    stored = json.loads((tmp_path / "one" / "settings.json").read_text())["settings"]
    assert (stored["clients"], stored["partition"]) == (4, "by-client")
    capsys.readouterr()
    assert main(["train", "--resume", "one", "--rounds", "2"]) == 2
    assert "names code that would run on this machine, 'my_texts:frames'" in capsys.readouterr().err
    assert main(["train", "--resume", "one", "--rounds", "2", "--trust"]) == 0
    del sys.modules["my_texts"]


def test_columns_and_models_are_not_code():
    given = {"model": "hf:minilm", "text": "meta:body", "start_from": "x"}
    assert code_of("fedlora", "/a/t.jsonl", given) == []
    assert code_of("fedlora", "mine:texts", given) == ["mine:texts"]
    assert code_of("fedavg", "mnist", {"model": "hf:minilm"}) == ["hf:minilm"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], r"has the columns body, kind, site: name those of the texts and their classes with --text and --label"),
        (["--text", "boddy", "--label", "kind"], "no column 'boddy'; its columns are body, kind, site"),
        ([*NAMED, "--answer", "kind"], "name one of the two"),
        ([*NAMED, "--test-data", "nowhere.csv"], "the file nowhere.csv does not exist"),
        ([*NAMED, "--model", "resnet10"], "are texts; name a language model"),
        ([*NAMED, "--clients", "5"], "those of 3 clients, got 5: give --clients 3, or --partition by-source"),
        ([*NAMED, "--max-length", "4"], "have more than 4 tokens"),
        ([*NAMED, "--lora-alpha", "4"], r"takes no --lora-alpha; did you mean --scale\?"),
    ],
)
def test_what_does_not_go_together_is_one_line(tmp_path, models, capsys, more, message):
    data = write(tmp_path / "mails.jsonl", classified())
    run = ["train", "fedlora", "--data", str(data), "--model", f"hf:{models / 'bert'}", "--rounds", "1"]
    capsys.readouterr()
    assert main([*run, *more, "--out", str(tmp_path / "run")]) == 2
    text = capsys.readouterr().err
    assert len(text.splitlines()) == 1
    assert re.search(message, text), text
    assert not (tmp_path / "run").exists()


def test_the_help_names_the_columns(tmp_path, capsys):
    data = write(tmp_path / "mails.jsonl", classified())
    assert main(["train", "fedlora", "--data", str(data), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for flag in ("--text", "--label", "--prompt", "--answer", "--client", "--test-data", "--template"):
        assert flag in text
    assert main(["train", "fedlora", "--data", "mine:texts", "--model", "hf:minilm", "--help"]) == 0
    assert "--answer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("bert", False),
        ("Somebody/BERT", False),
        ("../away/bert", False),
        ("/cache/models--somebody--bert/snapshots/86b5", False),
        ("/cache/models--somebody--bert-2/snapshots/bert", True),
        (r"C:\models\bert", False),
        ("", False),
        (None, False),
        ("bert-2", True),
    ],
)
def test_an_adapter_of_another_model_is_named_before_the_first_round(tmp_path, models, capsys, named, told):
    adapter = peft.get_peft_model(bert(classes=2), peft.LoraConfig(r=2, target_modules=["query"]))
    adapter.save_pretrained(tmp_path / "adapter")
    path = tmp_path / "adapter" / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "base_model_name_or_path": named}))
    data = write(tmp_path / "mails.jsonl", classified())
    run = ["train", "fedlora", "--data", str(data), "--model", f"hf:{models / 'bert'}", *NAMED, "--rank", "2"]
    more = ["--layers", "*.query", "--start-from", str(tmp_path / "adapter"), "--rounds", "1", "--steps", "1"]
    assert main([*run, *more, "--out", str(tmp_path / "run")]) == 0
    assert (f"names the base model {named}, but this run uses" in capsys.readouterr().err) == told


def test_adapters_name_their_base_at_the_hub_or_by_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert base_of("hf:mine") == base_of(f"hf:{tmp_path}/mine") == "mine"
    assert base_of("hf:minilm") == "sentence-transformers/all-MiniLM-L6-v2"
    snapshot = tmp_path / "hub" / "models--an--owner" / "snapshots" / "1a"
    snapshot.mkdir(parents=True)
    monkeypatch.setattr("runs.networks.language_model._in_cache", lambda name: snapshot)
    assert base_of("hf:an/owner") == "an/owner"
    assert base_of(f"hf:{snapshot}") == "hub/models--an--owner/snapshots/1a"


def test_layers_are_those_of_peft():
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as KNOWN

    shared = ARCHITECTURES.keys() & KNOWN.keys()
    assert len(shared) > 20
    assert {kind: ARCHITECTURES[kind] for kind in shared} == {
        kind: ", ".join(f"*.{name}" for name in KNOWN[kind]) for kind in shared
    }


def test_an_unknown_architecture_needs_layers(tmp_path, models, capsys):
    saved(bert(classes=2), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert usual_layers(f"hf:{tmp_path}") == "*.query, *.value"
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "t5"}))
    assert usual_layers(f"hf:{tmp_path}") is None
    data = write(tmp_path / "mails.jsonl", classified())
    given = {"model": f"hf:{tmp_path}", "text": "body", "label": "kind"}
    with pytest.raises(RunError, match=r"fedlora on .*mails.jsonl needs --layers"):
        make_plan("fedlora", str(data), given)
    assert make_plan("fedlora", str(data), {**given, "layers": "*.q"}, Conduct()).settings["layers"] == "*.q"
    make_plan("fedavg", str(data), given)
    with pytest.raises(RunError, match=r"no config.json that can be read"):
        usual_layers(f"hf:{models}")
