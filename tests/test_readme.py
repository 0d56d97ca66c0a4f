"""The README does what it says."""

import re
from pathlib import Path

import pytest

import rankproof

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


def test_its_python_example_runs():
    (program,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    names = {}
    exec(program, names)
    assert round(names["model"].outliers[0].location, 2) == 2.32
    assert round(names["model"].outliers[0].overlap, 2) == 0.84
    assert abs(names["draw"].top(1)[0] - 2.32) < 1e-4


@pytest.mark.parametrize("line", sorted(set(re.findall(r"`rankproof ([^`]+)`", README))))
def test_its_commands_are_understood(line):
    options = rankproof._parser().parse_args(line.split())
    assert callable(options.command)
