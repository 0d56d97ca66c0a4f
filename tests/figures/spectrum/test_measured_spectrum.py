"""`rankproof spectrum`: its files, what it prints, and one clear line for every bad input."""

import json
import multiprocessing
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_networks
import torch

import rankproof
from figures.spectrum.as_json import to_json
from figures.spectrum.measured_network import SpectrumRequest
from figures.spectrum.measured_spectrum import measure_network, summary
from hessian import Curvature, CurvatureError, SpectrumSettings, exact_hessian
from hessian.block_ranks import block_ranks
from hessian.lanczos.memory import Budget
from workloads.written import RECORD

FAST = ("--outliers", "3", "--probes", "2", "--steps", "20")


def run(capsys, *arguments):
    """Status, standard output and standard error of one command."""
    try:
        status = rankproof.main(("spectrum", *arguments))
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def measured(capsys, out, *arguments, model="mlp", data="pair"):
    names = ("--model", f"tiny_networks:{model}", "--data", f"tiny_networks:{data}", "--out", str(out))
    status, text, err = run(capsys, *names, *FAST, *arguments)
    assert status == 0, err
    return json.loads((out / "spectrum.json").read_text()), text


def numbers(model="mlp", data="pair", **request):
    """Return the numbers that the command writes and what it prints, without its slow pictures."""
    settings = SpectrumSettings(outliers=3, probes=2, steps=20)
    found = measure_network(
        SpectrumRequest(f"tiny_networks:{model}", f"tiny_networks:{data}", settings=settings, **request)
    )
    return json.loads(json.dumps(to_json(found))), summary(found)


def test_the_time_is_estimated_from_the_products_before_the_first(capsys, tmp_path):
    asked = []
    request = SpectrumRequest("tiny_networks:mlp", "tiny_networks:pair", settings=SpectrumSettings(probes=3, steps=20))
    found = measure_network(request, expect=lambda seconds, work: asked.append((seconds, work)))
    ((seconds, work),) = asked
    assert work.startswith("about 190 products")
    assert seconds == pytest.approx(380 * found.cost.gradient_seconds)


@pytest.fixture(scope="module")
def exact():
    model = tiny_networks.mlp().double()
    loss = torch.nn.functional.cross_entropy
    return torch.linalg.eigvalsh(exact_hessian(model, loss, tiny_networks.X.double(), tiny_networks.Y)).numpy()


def test_its_numbers_are_those_of_the_dense_hessian(capsys, tmp_path, exact):
    found, text = measured(capsys, tmp_path, "--double", "--width", "0.02")
    rank = (exact**2).sum() / np.abs(exact).max() ** 2
    assert found["stable_rank"]["low"] <= rank <= found["stable_rank"]["high"]
    norm = found["stable_rank"]["frobenius"]
    assert norm["low"] <= np.linalg.norm(exact) <= norm["high"]
    values = [entry["value"] for entry in found["eigenvalues"]]
    residuals = np.array([entry["residual"] for entry in found["eigenvalues"]])
    rounding = 1e-14 * len(exact)  # of the dense solver: a residual can be smaller than that
    assert np.all(np.abs(np.array(values) - np.r_[exact[::-1][:3], exact[:3][::-1]]) <= residuals + rounding)
    assert [entry["end"] for entry in found["eigenvalues"]] == ["upper"] * 3 + ["lower"] * 3
    for nodes, weights in zip(found["quadrature"]["nodes"], found["quadrature"]["weights"], strict=True):
        assert sum(weights) == pytest.approx(1.0 - 6 / len(exact))
        assert len(nodes) <= 20
    assert found["parameters"] == len(exact)
    assert found["samples"] == 40
    assert found["cost"]["products"] == sum(found["cost"]["products_by_part"].values())
    assert found["cost"]["gradients"] > 0
    assert {"torch", "numpy"} <= set(found["packages"])
    assert found["request"]["settings"]["width"] == 0.02
    fit = found["fit"]
    assert fit["sigma"] > 0
    assert 0.0 <= fit["semicircle_distance"]["low"] <= fit["semicircle_distance"]["high"] <= 1.0
    here = next(entry for entry in fit["predictions"] if entry["samples_factor"] == 1.0)
    assert here["bulk_edge"] == pytest.approx(2 * fit["sigma"])
    assert f"{len(exact)} parameters, 40 samples" in text
    for part in ("stable rank", "Frobenius", "outliers", "Kolmogorov", "gradients", "spectrum.png"):
        assert part in text
    assert (tmp_path / "spectrum.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "spectrum.pdf").read_bytes().startswith(b"%PDF")
    assert {path.name for path in tmp_path.iterdir()} == {"spectrum.json", "spectrum.png", "spectrum.pdf", RECORD}


def test_ways_to_give_data_agree():
    def network(model="mlp", data="pair", loss="cross-entropy", reduction=None):
        settings = SpectrumSettings(outliers=3, probes=1, steps=10)
        return measure_network(
            SpectrumRequest(
                f"tiny_networks:{model}",
                f"tiny_networks:{data}",
                loss,
                reduction=reduction,
                double=True,
                settings=settings,
            )
        )

    whole = network()
    others = [network(data="batches"), network(data="loader")]
    others.append(network("Named", "mapping", "tiny_networks:of_mapping"))
    for other in others:
        assert other.loss == pytest.approx(whole.loss, rel=1e-12)
        assert other.report.eigenvalues == pytest.approx(whole.report.eigenvalues, rel=1e-6, abs=1e-9)
    summed = network(data="batches", loss="tiny_networks:summed", reduction="sum")
    assert summed.loss == pytest.approx(40 * whole.loss, rel=1e-12)
    assert summed.report.eigenvalues[0] == pytest.approx(40 * whole.report.eigenvalues[0], rel=1e-6)


def test_what_a_mean_divides_by_can_be_named():
    whole, _ = numbers(data="padded_at_once", double=True)
    parts, text = numbers(data="padded", double=True, count="tiny_networks:kept")
    assert parts["samples"] == 22
    assert "22 samples" in text
    assert parts["request"]["count"] == "tiny_networks:kept"
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-12)
    for one, other in zip(parts["eigenvalues"], whole["eigenvalues"], strict=True):
        assert one["value"] == pytest.approx(other["value"], rel=1e-3, abs=1e-6)


def test_tensors_of_a_loss_follow_the_model():
    found, _ = numbers(double=True, loss="tiny_networks:WEIGHTED")
    assert found["dtype"] == "float64"


def test_parts_matrices_and_policies():
    head, _ = numbers(parameters=("2.*",), matrix="gauss-newton")
    assert head["parameters"] == 27
    assert all(entry["value"] > -1e-5 for entry in head["eigenvalues"])
    assert head["request"]["parameters"] == ["2.*"]
    found, again = (numbers("batch_norm", batch_norm="batch")[0] for _ in range(2))
    assert found["request"]["batch_norm"] == "batch"
    assert all(found[key] == again[key] for key in ("stable_rank", "eigenvalues", "quadrature", "fit"))


def test_the_fisher_matrix_and_its_law(capsys, tmp_path):
    known, text = numbers(double=True, matrix="fisher")
    own = "tiny_networks:own_cross_entropy"
    named, _ = numbers(double=True, matrix="fisher", law="tiny_networks:categories", loss=own)
    assert text.startswith("Fisher matrix, ")
    assert named["request"]["law"] == "tiny_networks:categories"
    values = [[entry["value"] for entry in found["eigenvalues"]] for found in (known, named)]
    assert values[0] == pytest.approx(values[1], rel=1e-9, abs=1e-12)
    names = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair", "--out", str(tmp_path))
    status, _, err = run(capsys, *names, "--matrix", "fisher", "--loss", own)
    assert (status, "own_cross_entropy does not define: give --law module:function" in err) == (2, True)


def test_blocks_by_module_are_those_of_the_dense_hessian(capsys, tmp_path):
    found, text = measured(capsys, tmp_path, "--double", "--width", "0.02", "--blocks")
    model, loss = tiny_networks.mlp().double(), torch.nn.functional.cross_entropy
    dense = exact_hessian(model, loss, tiny_networks.X.double(), tiny_networks.Y)
    first = 0
    assert [block["name"] for block in found["blocks"]] == ["0", "2"]
    for block in found["blocks"]:
        part = slice(first, first + block["parameters"])
        values = torch.linalg.eigvalsh(dense[part, part])
        rank = block["stable_rank"]
        assert rank["low"] <= float((values**2).sum() / values.abs().max() ** 2) <= rank["high"]
        assert f"{rank['value']:.4g}, {rank['low']:.4g} to {rank['high']:.4g}" in text
        first = part.stop
    assert first == len(dense)
    assert {"blocks.png", "blocks.pdf"} <= {path.name for path in tmp_path.iterdir()}


def test_blocks_say_where_a_layer_in_two_places_counts():
    found, text = numbers("twice", blocks=0, parameters=("2.*", "4.*"))
    assert [(block["name"], block["parameters"]) for block in found["blocks"]] == [("0", 42), ("4", 21)]
    assert "  tied parameters, counted in one block only: 2.weight is 0.weight, 2.bias is 0.bias\n" in f"{text}\n"


def test_blocks_without_curvature_say_so():
    class Idle(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.idle, self.used = torch.nn.Linear(2, 2), tiny_networks.mlp()
            self.scale = torch.nn.Parameter(torch.zeros(3))

        def forward(self, x):
            return self.used(x) + self.scale

    operator = Curvature(Idle().double(), torch.nn.functional.cross_entropy, tiny_networks.pair())
    blocks = {block.name: block for block in block_ranks(operator, SpectrumSettings(), depth=1)}
    assert list(blocks) == ["", "idle", "used"]
    assert blocks["idle"].why == "the loss does not depend on it"
    assert blocks["idle"].rank is None
    assert blocks[""].rank is not None
    alone = block_ranks(operator.block("used.*"), SpectrumSettings(), depth=1)
    assert alone == (blocks["used"],)  # other blocks do not change it
    linear = Curvature(Idle().double(), lambda f, y: f.mean(), tiny_networks.pair(), parameters="scale")
    assert [block.why for block in block_ranks(linear, SpectrumSettings())] == ["zero to rounding"]


def test_a_matrix_without_noise_is_shown_without_a_fit(capsys, tmp_path):
    found, text = measured(
        capsys, tmp_path, "--loss", "mse", "--double", "--parameters", "bias", model="flat", data="lengths"
    )
    assert "not fitted" in text
    assert "reason_for_none" in found["fit"]
    assert found["stable_rank"]["value"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "data", "more", "parts"),
    [
        ("tiny_networks", "tiny_networks:pair", (), ("--model must look like module:name", "'tiny_networks'")),
        (":mlp", "tiny_networks:pair", (), ("--model must look like module:name",)),
        ("no_such_place:mlp", "tiny_networks:pair", (), ("no module 'no_such_place'",)),
        ("tiny_networks.inner:mlp", "tiny_networks:pair", (), ("no module 'tiny_networks.inner'", "tiny_networks")),
        ("tiny_networks:no_such_name", "tiny_networks:pair", (), ("has no 'no_such_name'",)),
        ("broken_module:mlp", "tiny_networks:pair", (), ("importing broken_module", "ZeroDivisionError", "line 1")),
        ("missing_import:mlp", "tiny_networks:pair", (), ("importing missing_import", "no_such_package")),
        ("tiny_networks:raises", "tiny_networks:pair", (), ("factory tiny_networks:raises", "no such checkpoint")),
        ("tiny_networks:leaves", "tiny_networks:pair", (), ("SystemExit", "3")),
        ("tiny_networks:number", "tiny_networks:pair", (), ("must return a torch.nn.Module, got int",)),
        ("tiny_networks:INSTANCE", "tiny_networks:pair", (), ("is a model; name a function",)),
        ("tiny_networks:NUMBER", "tiny_networks:pair", (), ("is a int", "name a function")),
        ("tiny_networks:Demanding", "tiny_networks:pair", (), ("TypeError", "size")),
        ("tiny_networks:without_parameters", "tiny_networks:pair", (), ("no parameters",)),
        ("tiny_networks:frozen", "tiny_networks:pair", (), ("no trainable parameter",)),
        ("tiny_networks:Integers", "tiny_networks:pair", (), ("no trainable parameter", "int64")),
        ("tiny_networks:not_a_number", "tiny_networks:pair", (), ("non-finite", "0.weight")),
        ("tiny_networks:dropout", "tiny_networks:pair", (), ("dropout is on", "model.eval()")),
        ("tiny_networks:batch_norm", "tiny_networks:pair", (), ("--batch-norm running", "--batch-norm batch")),
        ("tiny_networks:mlp", "tiny_networks:padded", (), ("not a mean", "--count module:function")),
        ("tiny_networks:mlp", "tiny_networks:batches", ("--loss", "tiny_networks:WEIGHTED"), ("Class weights",)),
        ("tiny_networks:mlp", "tiny_networks:batches", ("--loss", "tiny_networks:summed"), ("--reduction sum",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--count", "tiny_networks:NUMBER"), ("count", "got int")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--count", "tiny_networks:none_such"), ("for --count",)),
        ("tiny_networks:hard", "tiny_networks:pair", (), ("no second derivative", "hardsigmoid")),
        ("tiny_networks:by_name", "tiny_networks:pair", (), ("returns a dict", "'logits'", "--loss module:function")),
        ("tiny_networks:lazy", "tiny_networks:pair", (), ("lazy", "call the model once")),
        ("tiny_networks:sloped", "tiny_networks:pair", (), ("RReLU", "model.eval()")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--seed", "-1"), ("--seed", "at least 0")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--width", "inf"), ("width", "must be a number in plain digits")),
        ("tiny_networks:on_meta", "tiny_networks:pair", (), ("meta",)),
        ("tiny_networks:mlp", "tiny_networks:nothing", (), ("data factory", "returned None")),
        ("tiny_networks:mlp", "tiny_networks:number", (), ("expected (inputs, targets)", "int")),
        ("tiny_networks:mlp", "tiny_networks:raises", (), ("data factory tiny_networks:raises",)),
        ("tiny_networks:mlp", "tiny_networks:shuffling", (), ("the loader shuffles", "shuffle=False")),
        ("tiny_networks:mlp", "tiny_networks:empty", (), ("empty",)),
        ("tiny_networks:mlp", "tiny_networks:generator", (), ("read only once",)),
        ("tiny_networks:mlp", "tiny_networks:wide", (), ("failed", "RuntimeError", "shapes")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--loss", "hinge"), ("unknown loss 'hinge'", "cross-entropy")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--loss", "tiny_networks:NUMBER"), ("must be a function",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--loss", "tiny_networks:per_sample"), ("must be a scalar",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--loss", "tiny_networks:infinite"), ("loss is inf",)),
        ("tiny_networks:mlp", "tiny_networks:mapping", (), ("failed", "TypeError")),
        ("tiny_networks:flat", "tiny_networks:pair", ("--loss", "tiny_networks:straight"), ("zero to rounding",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--parameters", "head.*"), ("no parameter matches 'head.*'",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--device", "abacus"), ("abacus", "--device cpu")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--width", "0"), ("width", "must be positive")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--confidence", "1"), ("confidence in (0, 1)",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--width", "wide"), ("--width", "'wide'")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--products", "3"), ("--products", "at least 22")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--outliers", "0"), ("--outliers", "at least 1")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--matrix", "jacobian"), ("invalid choice: 'jacobian'",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--batch-norm", "off"), ("invalid choice: 'off'",)),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--memory", "lots"), ("look like '6 GiB'", "'lots'")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--memory", "9 MB"), ("8.58 MiB is too small", "need 513 MiB")),
        ("tiny_networks:mlp", "tiny_networks:pair", ("--scratch", "."), ("--memory", "requires")),
        (
            "tiny_networks:mlp",
            "tiny_networks:pair",
            ("--memory", "2 GiB", "--scratch", "none"),
            ("the folder none for vectors that do not fit does not exist",),
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, tmp_path, monkeypatch, model, data, more, parts):
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    (tmp_path / "missing_import.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    status, out, err = run(capsys, "--model", model, "--data", data, "--out", str(tmp_path / "out"), *more)
    assert status == 2
    assert not out
    lines = [line for line in err.splitlines() if line.startswith("rankproof:")]
    assert len(lines) == 1
    assert "Traceback" not in err
    for part in parts:
        assert part in lines[0]
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.slow
def test_little_memory_changes_what_is_kept_and_says_so(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("hessian.loss.checked_objective.PROGRAM", 0)
    plain, _ = measured(capsys, tmp_path / "plain", "--blocks")
    tight, text = measured(capsys, tmp_path / "tight", "--blocks", "--memory", "20 KiB")
    assert plain["given_up_for_memory"] == ""
    assert "quadrature: three vectors" in tight["given_up_for_memory"]
    assert f"memory         {tight['given_up_for_memory']}" in text
    assert tight["request"]["settings"]["memory"]["limit"] > 0
    assert tight["stable_rank"]["low"] <= plain["stable_rank"]["value"] <= tight["stable_rank"]["high"]


def test_names_are_required(capsys):
    status, _, err = run(capsys)
    assert status == 2
    assert "--model" in err


OPTIONS = {
    "loss": "mse",
    "reduction": "sum",
    "count": "tiny_networks:kept",
    "matrix": "gauss-newton",
    "batch_norm": "batch",
    "device": "meta",
}
NUMBERS = {"width": 0.03, "confidence": 0.9, "outliers": 7, "probes": 3, "steps": 31, "seed": 5, "products": 123}


def asked_of(monkeypatch, tmp_path, *arguments):
    """The request that the command makes of these arguments."""
    asked = []

    def measure(request, progress, expect):
        asked.append(request)
        raise CurvatureError("enough")

    monkeypatch.setattr("figures.spectrum.measured_spectrum.measure_network", measure)
    names = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair", "--out", str(tmp_path))
    assert rankproof.main(("spectrum", *names, *arguments)) == 2
    return asked[0]


def test_every_option_arrives(monkeypatch, tmp_path):
    given = {name.replace("_", "-"): str(value) for name, value in (OPTIONS | NUMBERS).items()}
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    more = ("--double", "--parameters", "0.*", "2.*", "--trial", "--blocks", "2", "--law", "tiny_networks:categories")
    request = asked_of(monkeypatch, tmp_path, *words, *more)
    assert {name: getattr(request, name) for name in OPTIONS} == OPTIONS
    assert {name: getattr(request.settings, name) for name in NUMBERS} == NUMBERS
    assert (request.model, request.data) == ("tiny_networks:mlp", "tiny_networks:pair")
    assert (request.double, request.parameters) == (True, ("0.*", "2.*"))
    assert (request.trial, request.blocks, request.law) == (True, 2, "tiny_networks:categories")
    assert asked_of(monkeypatch, tmp_path, "--blocks").blocks == 0  # every module
    asked = asked_of(monkeypatch, tmp_path, "--memory", "1.5 GiB", "--scratch", str(tmp_path))
    assert asked.settings.memory == Budget(3 * 2**29, tmp_path)


def test_defaults_are_those_that_help_names(monkeypatch, tmp_path, capsys):
    request = asked_of(monkeypatch, tmp_path)
    assert request == SpectrumRequest("tiny_networks:mlp", "tiny_networks:pair", settings=SpectrumSettings())
    capsys.readouterr()
    _, text, _ = run(capsys, "--help")
    parts = re.split(r"\s--(?=[a-z])", " ".join(text.split()))
    told = {part.split()[0]: re.search(r"default: ([\w.-]+)", part) for part in parts}
    told = {name: found[1] for name, found in told.items() if found}
    for name in NUMBERS:
        assert float(told[name]) == getattr(request.settings, name), name
    assert (told["matrix"], told["device"]) == (request.matrix, request.device)


def test_an_absent_accelerator_is_one_line(capsys, tmp_path):
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    names = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair", "--out", str(tmp_path))
    status, _, err = run(capsys, *names, "--device", "cuda")
    assert status == 2
    assert "cuda" in err
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_workers_change_no_number(capsys, tmp_path):
    alone, _ = measured(capsys, tmp_path, "--double", "--blocks", data="batches")
    for workers in ("2", "cpu,cpu"):
        found, text = measured(capsys, tmp_path, "--double", "--blocks", "--workers", workers, data="batches")
        assert ", 2 workers; checks" in text
        assert (found["cost"]["workers"], alone["cost"]["workers"]) == (2, 0)
        assert (found["request"]["workers"], found["request"]["device"]) == (workers, "cpu")
        assert found["cost"]["products_by_part"] == alone["cost"]["products_by_part"]
        for one, other in [(found, alone), *zip(found["blocks"], alone["blocks"], strict=True)]:
            for end in ("value", "low", "high"):
                assert one["stable_rank"][end] == pytest.approx(other["stable_rank"][end], rel=1e-9)
        for one, other in zip(found["eigenvalues"], alone["eigenvalues"], strict=True):
            assert one["value"] == pytest.approx(other["value"], rel=1e-9, abs=1e-12)
    one, text = measured(capsys, tmp_path, "--workers", "1", data="batches")
    assert one["cost"]["workers"] == 0  # this process
    assert " workers; checks" not in text


@pytest.mark.slow
def test_what_goes_wrong_with_workers_is_one_line(capsys, tmp_path):
    names = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair", "--out", str(tmp_path / "out"))
    before = set(multiprocessing.active_children())
    for words, more in (
        ("a worker was killed by SIGKILL", ("--workers", "2", "--loss", "tiny_networks:deadly")),
        ("workers must be at least 1", ("--workers", "0")),
        ("device 'two' does not exist", ("--workers", "two")),
        ("--ray needs a number of workers", ("--ray", "local")),
        ("couples the samples of a batch", ("--workers", "2", "--batch-norm", "batch")),
    ):
        status, out, err = run(capsys, *names, *FAST, *more)
        assert (status, out) == (2, "")
        (line,) = [line for line in err.splitlines() if line.startswith("rankproof:")]
        assert words in line
        assert "Traceback" not in err
        assert set(multiprocessing.active_children()) == before
        assert not (tmp_path / "out" / "spectrum.json").exists()


@pytest.mark.slow
def test_modules_are_found_in_the_folder_it_is_called_from(tmp_path):
    """In a fresh process, as the installed command would."""
    (tmp_path / "my_network.py").write_text(Path(tiny_networks.__file__).read_text())
    root = Path(rankproof.__file__).resolve().parent
    program = (
        f"import sys; sys.path = [{str(root)!r}, *[p for p in sys.path if p]]; import rankproof; "
        "sys.exit(rankproof.main(['spectrum', '--model', 'my_network:mlp', '--data', 'my_network:pair', "
        f"*{list(FAST)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "spectrum.json").exists()


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory."), MemoryError()])
def test_too_little_memory_is_one_line(capsys, tmp_path, monkeypatch, error):
    def exhausted(*arguments):
        raise error

    monkeypatch.setattr("figures.spectrum.measured_spectrum.measure_spectrum", exhausted)
    names = ("--model", "tiny_networks:mlp", "--data", "tiny_networks:pair", "--out", str(tmp_path))
    status, _, err = run(capsys, *names)
    assert status == 2
    assert "smaller batches" in err


def test_help_helps(capsys):
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert "MODULE:FACTORY" in out
