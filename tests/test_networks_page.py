"""The page on networks counts right, and its example learns."""

import re
import shlex
from pathlib import Path

import pytest

import rankproof
from figures.curves.learning_curves import LEARNING_CURVES
from figures.curves.learning_curves_runs import CURVE_SIZES, METHODS, Case, experiment_of
from figures.figure import Settings
from figures.make import read_table
from figures.stored_numbers import stored_numbers
from runs.command import _plan_from
from runs.networks.samples import splits_of
from workloads.image_networks.alexnet import alexnet_shapes
from workloads.image_networks.models import MODELS, ModelSettings
from workloads.image_networks.resnet import resnet_shapes
from workloads.image_networks.two_layer import two_layer_shapes
from workloads.image_networks.vgg import vgg16_shapes
from workloads.image_networks.vit import vit_shapes

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "networks.md").read_text()
_, *BLOCKS = re.findall(r"```bash\n(.*?)```", PAGE, flags=re.S)
OWN_IMAGES, *PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
ROWS = re.findall(r"^\| `(\w+\(.*?\))` \| .*? \| ([\d,]+) \| (.*?) \|$", PAGE, flags=re.M)
SHAPES = {
    "resnet": lambda depth, classes, seed, **more: resnet_shapes(depth, classes, **more),
    "alexnet": lambda classes, seed: alexnet_shapes(classes),
    "vgg16": lambda classes, seed: vgg16_shapes(classes),
    "vit": lambda classes, seed: vit_shapes(classes),
    "two_layer": two_layer_shapes,
}


@pytest.mark.parametrize(("made", "parameters", "printed"), ROWS, ids=[row[0] for row in ROWS])
def test_parameters_are_counted(made, parameters, printed):
    found = sum(parameter.numel() for parameter in eval(made, dict(SHAPES)).parameters())
    assert found == int(parameters.replace(",", ""))
    stated = re.match(r"([\d.]+)M", printed)
    assert stated is None or f"{found / 1e6:.2f}" == stated[1]


@pytest.mark.parametrize(("name", "count"), re.findall(r"^\| `(perceptron|convnet)` \| .* \| ([\d,]+) \|$", PAGE, re.M))
def test_weights_of_small_networks_are_counted(name, count):
    found = sum(one.numel() for one in MODELS[name](ModelSettings(classes=10, channels=1, side=28)).parameters())
    assert found == int(count.replace(",", ""))


def test_all_networks_are_there():
    assert {row[0].split("(")[0] for row in ROWS} == set(SHAPES)
    assert sum("M" in row[2] for row in ROWS) >= 3


def test_the_function_of_own_images_returns_what_training_takes():
    names = {}
    exec(OWN_IMAGES, names)
    (x, y), (x_test, y_test) = splits_of(names["images"](), "my_data:images")
    assert (x.shape, y.shape, x_test.shape, y_test.shape) == ((500, 3, 16, 16), (500,), (100, 3, 16, 16), (100,))


def test_the_example_learns():
    names = {}
    exec(PROGRAMS[0], names)
    assert names["steps"][-1].metrics["accuracy"] > 0.8


def test_the_experiment_is_carried_out(capsys):
    names = {}
    exec(PROGRAMS[1], names)
    assert set(names["ends"]) == {(label, seed) for label in ("all weights", "rank 2") for seed in (0, 1)}
    assert "run 4 of 4: rank 2, seed 1, round 5 of 5" in capsys.readouterr().out


def test_its_commands_are_understood(capsys):
    for line in BLOCKS[0].splitlines():
        words = line.split()[1:]
        if "--help" in words:
            assert rankproof.main(words) == 0
            assert "--partition-psi" in capsys.readouterr().out
        else:
            assert callable(rankproof._parser().parse_args(words).command)


def test_its_numbers_at_equal_steps_are_the_stored_ones():
    table = read_table(stored_numbers(LEARNING_CURVES, Settings("laptop"))["csv"])
    curves = table[table.stage == "curve"].set_index(["method", "round"])
    section = PAGE.split("**Equal steps.**")[1].split("**Learning rates.**")[0]
    printed = re.findall(r"^\| ([\w-]+) after (\d+) rounds \| (.*) \|$", section, flags=re.M)
    assert [(name, number) for name, number, _ in printed] == [("RoLoRA", "10"), ("FedLoRA", "20"), ("FFA-LoRA", "20")]
    for name, number, found in printed:
        assert [f"{100 * value:.1f}" for value in curves.loc[(name, int(number))].accuracy] == found.split(" | ")


def test_its_commands_for_every_algorithm_are_the_runs_of_the_figure():
    first, *lines = BLOCKS[1].splitlines()
    (federation,) = re.findall(r'^FEDERATION="(.*)"$', first)
    asked = []
    for line in lines:
        words = shlex.split(line.replace("$FEDERATION", federation))[1:]
        options = rankproof._parser().parse_args(words)
        if words[0] == "train":
            asked.append(_plan_from(options)[0])
    stored = stored_numbers(LEARNING_CURVES, Settings("laptop"))
    table = read_table(stored["csv"])
    rates = table[table.stage == "curve"].groupby("method").rate.first()
    sizes, case = CURVE_SIZES["laptop"], Case("mnist", "IID", CURVE_SIZES["laptop"].splits["IID"])
    drawn = [experiment_of(sizes, [case], {method.label: float(rates[method.label])}, (0,)) for method in METHODS]
    plans = [experiment.trials[0].plan(0) for experiment in drawn]
    assert [plan.identity for plan in asked] == [plan.identity for plan in plans]
    assert [plan.conduct for plan in asked] == [plan.conduct for plan in plans]
