"""The README does what it says."""

import json
import re
from pathlib import Path

import pytest

import rankproof

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


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


def test_the_page_on_spectra_runs():
    names = {}
    for program in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "spectra.md").read_text(), flags=re.S):
        exec(program, names)
    assert names["found"].low <= names["found"].value <= names["found"].high
    assert {"0", "2"} == set(names["whole"].blocks())
    assert names["report"].largest == 5


def test_its_commands_in_blocks_are_understood():
    lines = [line for block in re.findall(r"```bash\n(.*?)```", README, flags=re.S) for line in block.splitlines()]
    commands = [line.split("#")[0].split()[1:] for line in lines if line.startswith("rankproof ")]
    assert [command[0] for command in commands if "--model" in command] == ["spectrum"]
    for command in commands:
        assert callable(rankproof._parser().parse_args(command).command)


def test_the_printed_example_is_the_stored_one():
    """The numbers on the page are those of the file beside its picture."""
    stored = json.loads((ROOT / "docs" / "figures" / "spectrum-mnist.json").read_text())
    assert f"stable rank    {stored['stable_rank']['value']:.4g}, {stored['stable_rank']['low']:.4g} to" in README
    assert f"sigma {stored['fit']['sigma']:.3g} +-" in README
    assert f"{stored['parameters']:,} parameters, {stored['samples']:,} samples, loss {stored['loss']:.4g}" in README
    assert f"{stored['cost']['products']} products" in README
