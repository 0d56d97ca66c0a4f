"""The page on networks counts right, and its example learns."""

import re
from pathlib import Path

import pytest

import rankproof
from workloads.alexnet import alexnet_shapes
from workloads.resnet import resnet_shapes
from workloads.two_layer import two_layer_shapes
from workloads.vgg import vgg16_shapes
from workloads.vit import vit_shapes

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "networks.md").read_text()
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


def test_all_networks_are_there():
    assert {row[0].split("(")[0] for row in ROWS} == set(SHAPES)
    assert sum("M" in row[2] for row in ROWS) >= 3


def test_the_example_learns():
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    names = {}
    exec(program, names)
    assert names["steps"][-1].metrics["accuracy"] > 0.8


def test_its_commands_are_understood(capsys):
    (block,) = re.findall(r"```bash\n(.*?)```", PAGE, flags=re.S)
    for line in block.splitlines():
        words = line.split()[1:]
        if "--help" in words:
            assert rankproof.main(words) == 0
            assert "--partition-psi" in capsys.readouterr().out
        else:
            assert callable(rankproof._parser().parse_args(words).command)
