"""Errors of `hessian` that name keywords: Python callers see the keyword, users of a command its option."""

import ast
import pickle
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from figures.command import declare
from hessian import Budget, Curvature, CurvatureError, SpectrumSettings, Workers
from workloads.arguments import Parser

ROOT = Path(__file__).resolve().parents[2]
X, Y = torch.ones(6, 3), torch.zeros(6, 2)


def spectrum():
    """The parser of `rankproof spectrum`."""
    parser = Parser()
    commands = parser.add_subparsers()
    declare(commands)
    return commands.choices["spectrum"]


def raised(make):
    with pytest.raises(CurvatureError) as caught:
        make()
    return caught.value


def network(norm=False):
    return nn.Sequential(nn.Linear(3, 2), *([nn.BatchNorm1d(2)] if norm else []))


@pytest.mark.parametrize(
    ("make", "in_python", "in_the_command"),
    [
        (lambda: Curvature(network(norm=True), nn.MSELoss(), (X, Y)), "batch_norm='running'", "--batch-norm running"),
        (lambda: Curvature(network(), nn.MSELoss(), (X, Y), batch_norm="on"), "batch_norm must", "--batch-norm must"),
        (
            lambda: Curvature(network(), nn.MSELoss(reduction="sum"), [(X, Y), (X, Y)], reduction="mean"),
            "the loss reduces by 'sum'",
            "the loss reduces by 'sum'",
        ),
        (
            lambda: Curvature(network(), lambda f, y: (f - y).square().sum(), [(X, Y), (X[:4], Y[:4])]),
            "say reduction='sum'",
            "say --reduction sum",
        ),
        (lambda: Curvature(network(), nn.MSELoss(), (X, Y), matrix="huge"), "matrix must be", "--matrix must be"),
        (
            lambda: Curvature(network(), nn.MSELoss(), (X, Y), law=torch.exp),
            "law= requires matrix='fisher', got matrix='hessian'",
            "--law module:function requires --matrix fisher, got --matrix hessian",
        ),
        (
            lambda: Curvature(network(), lambda f, y: (f - y).square().mean(), (X, Y), matrix="fisher"),
            "give law=, a function",
            "give --law module:function, a function",
        ),
        (lambda: Curvature(network(), nn.MSELoss(), (X, Y[:4])), "give count=, a", "give --count module:function, a"),
        (lambda: SpectrumSettings(width=0.0), "width and tolerance must", "--width and tolerance must"),
        (lambda: SpectrumSettings(confidence=1.0), "and confidence in (0, 1)", "and --confidence in (0, 1)"),
        (lambda: Budget.of("much"), "memory must be", "--memory must be"),
        (lambda: Workers(0), "workers must be", "--workers must be"),
    ],
)
def test_python_is_given_the_keyword_and_a_command_its_option(make, in_python, in_the_command):
    error = raised(make)
    assert in_python in str(error)
    said = spectrum().in_options(str(error), error.keywords)
    assert in_the_command in said
    assert not re.search(rf"\b({'|'.join(error.keywords) or '$.'})=", said)


def test_a_quoted_text_of_the_users_own_stays_as_it_is():
    said = spectrum().in_options("f(loss=3) fails: give count=, not my_count=2 or x.count=1", ("count",))
    assert said == "f(loss=3) fails: give --count module:function, not my_count=2 or x.count=1"


def test_a_keyword_that_is_no_option_stays():
    assert spectrum().in_options("take basis=4", ("basis",)) == "take basis=4"


def test_keywords_travel_between_processes():
    error = pickle.loads(pickle.dumps(CurvatureError("leave out workers=", keywords=("workers",))))
    assert (str(error), error.keywords) == ("leave out workers=", ("workers",))


@pytest.mark.parametrize(
    "file", sorted((ROOT / "hessian").rglob("*.py")), ids=lambda file: str(file.relative_to(ROOT / "hessian"))
)
def test_every_error_carries_the_options_that_its_message_names(file):
    options = {action.dest for action in spectrum()._actions} - {"help"}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "CurvatureError" and node.args:
            text = "".join(
                part.value
                for part in ast.walk(node.args[0])
                if isinstance(part, ast.Constant) and str(part.value) and isinstance(part.value, str)
            )
            named = set(re.findall(r"(?<![\w.(])([a-z_]+)=(?=[ ,;'\"]|$)", text)) & options
            carried = {
                part.value for k in node.keywords for part in ast.walk(k.value) if isinstance(part, ast.Constant)
            }
            assert named <= carried or "error.keywords" in ast.unparse(node), f"{file.name}:{node.lineno}: {text}"
