"""Models, data, losses and counts named as module:name: what comes back, and one clear line for each thing wrong."""

import re
import sys

import pytest
import torch
from torch import nn

from hessian.loss.factories import count_of, data_of, import_object, loss_of_name, model_of
from hessian.numerics.symmetric import CurvatureError

MODULE = """
import torch
from torch import nn

class Places:
    @staticmethod
    def network():
        return nn.Linear(2, 1)

class Loss(nn.Module):
    def forward(self, output, target):
        return (output - target).square().mean()

class Stubborn:
    def __init__(self):
        raise ValueError("no  such\\nloss")

made = nn.Linear(2, 1)
number = 3
samples = [1, 2]

def pairs():
    return torch.ones(4, 2), torch.zeros(4, 2)

def nothing():
    return None

def leaves():
    raise SystemExit("gone")

def with_gradients():
    assert torch.is_grad_enabled()
    return nn.Linear(3, 1)

def rows(batch):
    return len(batch[0])
"""


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    (tmp_path / "my_own_parts.py").write_text(MODULE)
    (tmp_path / "asks_for_more.py").write_text("import my_missing_part\n")
    (tmp_path / "asks_for.py").write_text("import asks\n")
    (tmp_path / "breaks_off.py").write_text("x = 1\n1 / 0\n")
    (tmp_path / "ends_at_once.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("my_own_parts", "asks_for_more", "asks_for", "breaks_off", "ends_at_once"):
        sys.modules.pop(name, None)


def test_what_names_stand_for():
    assert isinstance(model_of("my_own_parts:Places.network"), nn.Linear)
    with torch.no_grad():
        assert model_of("my_own_parts:with_gradients").in_features == 3
    inputs, targets = data_of("my_own_parts:pairs")
    assert inputs.shape == (4, 2)
    assert count_of("my_own_parts:rows")((inputs, targets)) == 4
    assert isinstance(loss_of_name("cross-entropy"), nn.CrossEntropyLoss)
    for name in ("mse", "my_own_parts:Loss", "torch.nn.functional:mse_loss"):
        assert float(loss_of_name(name)(inputs, targets + 3.0)) == 4.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: import_object("my_own_parts", "model"), "--model must look like module:name, got 'my_own_parts'"),
        (lambda: import_object("my_own_parts:", "data"), "--data must look like module:name, got 'my_own_parts:'"),
        (
            lambda: import_object("my_own_parts: rows", "data"),
            "--data must look like module:name, got 'my_own_parts: rows'",
        ),
        (lambda: import_object(":rows", "count"), "--count must look like module:name, got ':rows'"),
        (
            lambda: import_object("my_absent_part.inner:network", "model"),
            "there is no module 'my_absent_part' for --model my_absent_part.inner:network; modules are searched "
            "in the current folder and on Python's path",
        ),
        (
            lambda: model_of("asks_for_more:network"),
            "importing asks_for_more failed: ModuleNotFoundError (asks_for_more.py, line 1): "
            "No module named 'my_missing_part'; put it into the current folder, or its folder on PYTHONPATH",
        ),
        (
            lambda: model_of("asks_for:network"),
            "importing asks_for failed: ModuleNotFoundError (asks_for.py, line 1): "
            "No module named 'asks'; put it into the current folder, or its folder on PYTHONPATH",
        ),
        (
            lambda: model_of("breaks_off:network"),
            "importing breaks_off failed: ZeroDivisionError (breaks_off.py, line 2): division by zero",
        ),
        (lambda: data_of("ends_at_once:x"), "importing ends_at_once failed: SystemExit (ends_at_once.py, line 1): 3"),
        (lambda: model_of("my_own_parts:Places.other"), "module 'my_own_parts' has no 'Places.other' for --model"),
        (
            lambda: model_of("my_own_parts:made"),
            "my_own_parts:made is a model; name a function that returns one, called without arguments",
        ),
        (
            lambda: model_of("my_own_parts:number"),
            "my_own_parts:number is a int; name a function without arguments that returns it",
        ),
        (
            lambda: model_of("my_own_parts:nothing"),
            "the model factory my_own_parts:nothing must return a torch.nn.Module, got NoneType",
        ),
        (
            lambda: data_of("my_own_parts:nothing"),
            "the data factory my_own_parts:nothing returned None; it must return (inputs, targets), a mapping or "
            "batches",
        ),
        (lambda: loss_of_name("hinge"), "unknown loss 'hinge'; use cross-entropy, mse or module:function"),
        (
            lambda: loss_of_name("my_own_parts:number"),
            "the loss my_own_parts:number must be a function of (output, targets), got int",
        ),
        (
            lambda: count_of("my_own_parts:samples"),
            "the count my_own_parts:samples must be a function of a batch, got list",
        ),
    ],
)
def test_one_line_for_each_thing_wrong(call, said):
    with pytest.raises(CurvatureError, match=f"^{re.escape(said)}$"):
        call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: model_of("my_own_parts:leaves"), r"the model factory my_own_parts:leaves failed: SystemExit .*: gone"),
        (lambda: data_of("my_own_parts:leaves"), r"the data factory my_own_parts:leaves failed: SystemExit .*: gone"),
        (
            lambda: loss_of_name("my_own_parts:Stubborn"),
            r"the loss factory my_own_parts:Stubborn failed: ValueError \(my_own_parts.py, line \d+\): no such loss",
        ),
    ],
)
def test_what_a_factory_raises_is_told_in_one_line(call, said):
    with pytest.raises(CurvatureError, match=f"^{said}$"):
        call()
