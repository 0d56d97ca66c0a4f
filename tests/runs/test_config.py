"""`rankproof train --config`: the same run as by options on the command line, and one line for every mistake."""

import json
import re
import sys
from types import ModuleType

import pytest
import torch

from rankproof import main
from runs.config import read_config, to_toml
from runs.format import format_bytes
from runs.plan import make_plan, read_plan
from runs.settings import Conduct

STORED = json.dumps({"algorithm": "fedavg", "problem": "quadratics", "settings": {"seed": 0}, "rounds": 2})
SMALL = ["--rounds", "2", "--rows", "5", "--columns", "4"]
TOML = 'algorithm = "fedlrt"\nrounds = 2\nrows = 5\ncolumns = 4\nrank = 3\nlearning-rate = 0.125\n'


def train(*arguments):
    assert main(["train", *map(str, arguments)]) == 0


def refused(capsys, *arguments):
    """The one line that a command ends in."""
    assert main(["train", *map(str, arguments)]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1
    return answer.err


@pytest.fixture
def written(tmp_path):
    """Writes a file of configuration."""

    def write(text, name="run.toml"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_a_file_stores_the_settings_that_options_store(written, tmp_path):
    train("--config", written(TOML), "--out", tmp_path / "file")
    train("fedlrt", *SMALL, "--rank", 3, "--learning-rate", 0.125, "--out", tmp_path / "flags")
    for name in ("settings.json", "metrics.csv", "ledger.csv"):
        assert (tmp_path / "file" / name).read_bytes() == (tmp_path / "flags" / name).read_bytes()
    train("--config", written(TOML), "--out", tmp_path / "file", "--rounds", 3)  # the same run, one round longer
    assert read_plan(tmp_path / "file").conduct.rounds == 3
    train("--resume", tmp_path / "file", "--rounds", 4)
    assert len((tmp_path / "file" / "metrics.csv").read_text().splitlines()) == 6


def test_an_option_on_the_command_line_takes_precedence(written, tmp_path):
    train("--config", written(TOML), "--rank", 2, "--out", tmp_path / "run")
    plan = read_plan(tmp_path / "run")
    assert (plan.settings["rank"], plan.settings["learning_rate"], plan.conduct.rounds) == (2, 0.125, 2)
    train("fedavg", "--config", written('algorithm = "fedlrt"\nrounds = 2\n'), "--out", tmp_path / "other")
    assert read_plan(tmp_path / "other").algorithm == "fedavg"


def test_the_settings_of_a_run_configure_another(tmp_path):
    train("fedlrt", *SMALL, "--rank", 3, "--data", "ridges", "--out", tmp_path / "run")
    for source in (tmp_path / "run", tmp_path / "run" / "settings.json"):
        train("--config", source, "--seed", 7, "--out", tmp_path / f"from-{source.name}")
        one, other = read_plan(tmp_path / "run"), read_plan(tmp_path / f"from-{source.name}")
        assert other.changed_names(one) == ["seed"]
        assert other.conduct == one.conduct


def test_settings_that_another_algorithm_lacks_are_left_out_if_nobody_chose_them(tmp_path, capsys):
    train("fedlrt", *SMALL, "--clients", 3, "--out", tmp_path / "run")
    train("fedavg", "--config", tmp_path / "run", "--out", tmp_path / "averaged")
    assert read_plan(tmp_path / "averaged").settings["clients"] == 3
    train("fedlrt", *SMALL, "--truncation-least", 1, "--out", tmp_path / "chosen")
    capsys.readouterr()
    assert "fedavg on quadratics takes no 'truncation_least'" in refused(
        capsys, "fedavg", "--config", tmp_path / "chosen"
    )


@pytest.fixture
def images(monkeypatch):
    """The name of a function that returns 30 images of 8 x 8 pixels for training, and 6 for tests."""
    module = ModuleType("images_of_this_test")
    module.images = lambda: tuple((torch.rand(n, 1, 8, 8), torch.arange(n) % 3) for n in (30, 6))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return "images_of_this_test:images"


def test_a_name_that_means_something_else_for_other_data_is_not_taken_over(tmp_path, capsys, images):
    """Rows of a toy problem's matrix are not the images that an evaluation takes at once, once also called rows."""
    train("fedavg", "--rounds", 1, "--out", tmp_path / "run")
    capsys.readouterr()
    words = ["--data", images, "--model", "convnet", "--dry-run"]
    assert main(["train", "--config", str(tmp_path / "run"), *words]) == 0
    assert "eval_batch = 1000\n" in capsys.readouterr().out


@pytest.mark.parametrize(("flag", "dropped"), [("--steps", "epochs"), ("--epochs", "steps")])
def test_steps_replace_epochs_and_epochs_steps(written, capsys, images, flag, dropped):
    path = written(f'algorithm = "fedavg"\ndata = "{images}"\nmodel = "convnet"\n{dropped} = 3\n')
    assert main(["train", "--config", str(path), flag, "2", "--dry-run", "--trust"]) == 0
    text = capsys.readouterr().out
    assert f"{flag[2:]} = 2\n" in text
    assert f"\n{dropped} =" not in text


@pytest.mark.parametrize(
    ("algorithm", "problem", "given"),
    [
        ("fedavg", "quadratics", {}),
        ("fedlrt", "mnist", {"model": "convnet", "epochs": 2}),
        ("fedloru", "mnist", {"steps": 4, "restart": "keep A", "schedule": "cosine", "schedule_period": 5}),
        ("rolora", "quadratics", {"optimiser": "adamw", "betas": (0.5, 0.75), "cohort": 2, "layers": '"x"\t*'}),
    ],
)
def test_a_dry_run_prints_a_file_that_gives_the_same_run(written, tmp_path, algorithm, problem, given):
    plan = make_plan(algorithm, problem, given, Conduct(rounds=7, evaluate_every=2, keep_every=3))
    config = read_config(written(to_toml(plan)))
    conduct = {name: config.values[name] for name in ("rounds", "evaluate_every", "keep_every")}
    rest = {name: value for name, value in config.values.items() if name not in conduct}
    assert make_plan(config.algorithm, config.problem, rest, Conduct(**conduct)) == plan


def test_a_dry_run_states_data_model_and_bytes(tmp_path, capsys, images):
    words = ["--data", images, "--model", "convnet", "--clients", "3", "--rounds", "2"]
    assert main(["train", "fedavg", *words, "--dry-run"]) == 0
    _, data, model, sent, each, *_ = capsys.readouterr().out.splitlines()
    assert data == "# data: 30 training samples of 3 clients"
    weights = int(re.fullmatch(r"# model: convnet, ([\d,]+) weights", model)[1].replace(",", ""))
    train("fedavg", *words, "--out", tmp_path / "run")
    last = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    counted = dict(zip(last[0].split(","), last[-1].split(","), strict=True))
    assert int(counted["bytes_down"]) == int(counted["bytes_up"]) == 2 * 3 * 4 * weights
    told = format_bytes(2 * 3 * 4 * weights)
    assert sent == f"# bytes in 2 rounds: {told} down to all clients, {told} up"
    each_way = format_bytes(4 * weights)
    assert each == f"# in a round a client receives {each_way} and sends {each_way}"


def test_a_dry_run_has_each_number_in_its_place(capsys):
    """Rank 3 for 7 x 6 weights in double precision, and 4 clients: FLoRA sends everybody what all of them sent."""
    words = ["--data", "ridges", "--clients", "4", "--rows", "7", "--columns", "6", "--rank", "3", "--rounds", "5"]
    for algorithm, start, received, sent in (
        ("flora", 8 * 7 * 6, 4 * 8 * 3 * (7 + 6), 8 * 3 * (7 + 6)),
        ("ffa-lora", 8 * (7 * 6 + 7 * 3), 8 * 3 * 6, 8 * 3 * 6),
    ):
        assert main(["train", algorithm, *words, "--dry-run"]) == 0
        both, each = (
            line for line in capsys.readouterr().out.splitlines() if line.startswith(("# bytes in", "# in a"))
        )
        down, up = format_bytes(4 * (start + 5 * received)), format_bytes(4 * 5 * sent)
        assert both == f"# bytes in 5 rounds: {down} down to all clients, {up} up"
        assert each == (
            f"# in a round a client receives {format_bytes(received)} and sends {format_bytes(sent)}, "
            f"and each receives {format_bytes(start)} before the first"
        )


def test_a_dry_run_names_a_smaller_network_than_a_large_default(capsys, images):
    words = ["--data", images, "--clients", "3", "--width", "32", "--dry-run"]
    assert main(["train", "fedavg", *words]) == 0
    assert "--model convnet, --model perceptron or --width N is smaller" in capsys.readouterr().out.splitlines()[2]


def test_a_dry_run_reads_the_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    words = ["fedavg", "--data", "mnist", "--root", str(tmp_path), "--dry-run"]
    assert "MNIST was not found" in refused(capsys, *words)


def test_a_dry_run_trains_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "fedavg", *SMALL, "--dry-run"]) == 0
    heading, *sizes, first = capsys.readouterr().out.splitlines()[:6]
    assert all(line.startswith("# ") for line in sizes)
    assert not list(tmp_path.iterdir())
    assert first == 'algorithm = "fedavg"'
    train("fedavg", *SMALL)
    (folder,) = (tmp_path / "results" / "runs").iterdir()
    assert heading.endswith(f"in results/runs/{folder.name}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rnak = 3", "takes no 'rnak'; did you mean rank?"),
        ("lora_r = 3", "takes no 'lora_r'; did you mean rank?"),
        ("tau = 3", "takes no 'tau'; fedloru"),
        ('rank = "three"', "rank must be a whole number, got 'three'"),
        ("rank = 2.5", "rank must be a whole number, got 2.5"),
        ("rank = 1979-05-27", "rank must be a whole number"),
        ("rounds = true", "rounds must be a whole number, got True"),
        ("[fedlrt]\nrank = 3", "'fedlrt' is a table"),
        ("rank 3", "is not valid TOML"),
        ("learning-rate = 0.1\nlearning_rate = 0.2", "an option twice"),
        ("data = 3", "data must be a name, got 3"),
        ("\0", "is not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_names_it(written, capsys, text, reason):
    path = written(text)
    line = refused(capsys, "fedlrt", "--config", path)
    assert str(path) in line
    assert reason in line


@pytest.mark.parametrize("text", ["[]", "3", "{", '{"settings": {}, "algorithm": 3, "problem": "x"}', "[" * 100000])
def test_json_that_no_run_wrote_is_refused(written, capsys, text):
    assert "broken.json" in refused(capsys, "fedlrt", "--config", written(text, "broken.json"))


def test_a_file_does_not_go_with_resuming_and_must_be_there(written, tmp_path, capsys):
    assert "only" in refused(capsys, "--resume", tmp_path, "--config", written(TOML))
    assert "nowhere.toml" in refused(capsys, "--config", tmp_path / "nowhere.toml")
    assert "write --config in full" in refused(capsys, "fedlrt", "--conf", written(TOML))
    assert "name an algorithm" in refused(capsys, "--config", written("rounds = 2\n"))


@pytest.mark.parametrize(
    ("values", "more"),
    [
        ({"algorithm": "payload_of_config:Own"}, []),
        ({"data": "payload_of_config:data"}, []),
        ({"data": "mnist", "model": "payload_of_config:go"}, []),
        ({"model": "hf:payload"}, ["--data", "mnist"]),
        ({"allow_pickle": True}, []),
        ({"executor": "ray", "address": "127.0.0.1:1"}, []),
        ({"executor": "ray", "address": "127.0.0.1:1"}, ["--rounds", "1"]),
    ],
)
def test_code_that_only_a_file_names_needs_trust(written, tmp_path, monkeypatch, capsys, values, more):
    (tmp_path / "payload_of_config.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = written(json.dumps({"algorithm": "fedavg", **values}), "received.json")
    assert "confirm with --trust" in refused(capsys, "--config", path, *more)
    assert not (tmp_path / "ran").exists()
    assert str(tmp_path) not in sys.path


def test_a_cluster_needs_trust_if_a_file_names_its_address(written, capsys):
    """Its owner can run code on the machines that join it."""
    elsewhere = written('algorithm = "fedavg"\nexecutor = "ray"\naddress = "127.0.0.1:1"\n')
    stored = written(json.dumps({**json.loads(STORED), "conduct": {"address": "127.0.0.1:1"}}), "settings.json")
    for path in (elsewhere, stored):
        assert "'code of the Ray cluster at 127.0.0.1:1': inspect it" in refused(capsys, "--config", path)
    train("--config", elsewhere, "--trust", "--dry-run")
    train("fedavg", "--executor", "ray", "--address", "127.0.0.1:1", "--dry-run")
    for here in ("auto", "local"):
        train("--config", written(f'algorithm = "fedavg"\nexecutor = "ray"\naddress = "{here}"\n'), "--dry-run")


def test_trusted_code_in_a_file_and_code_on_the_command_line_run(written, tmp_path, monkeypatch):
    (tmp_path / "trusted_by_config.py").write_text(
        "from algorithms.fedavg import FedAvg\nfrom dataclasses import dataclass\n@dataclass(frozen=True)\n"
        "class Own(FedAvg): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = written('algorithm = "trusted_by_config:Own"\nrounds = 1\n')
    train("--config", path, "--trust", "--out", "run")
    train("trusted_by_config:Own", "--config", written("rounds = 1\n"), "--out", "other")
    assert read_plan(tmp_path / "run", trust=True).algorithm == "trusted_by_config:Own"
