"""Data sets on the command line: what is printed where, and the status, for sets that are here, absent or damaged."""

import hashlib
from unittest.mock import patch

import numpy as np
import pytest

from workloads import command
from workloads.arguments import Parser
from workloads.data import packages
from workloads.data.datasets import REGISTRY, DataError, DataSet
from workloads.data.idx import pack
from workloads.texts import TEXTS

CONTENTS = {file: pack(np.zeros((4, 28, 28) if "images" in file else 4, dtype=np.uint8)) for file in packages.FILES}


@pytest.fixture
def sets(tmp_path, monkeypatch):
    """One set that is here, one that no registry has, and one that is found nowhere."""
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    registry = {
        name: DataSet(
            name=name,
            title=name.title(),
            folder=name,
            pixel_mean=0.5,
            pixel_deviation=0.3,
            sources=sources,
            otherwise="draw it again",
            md5={file: hashlib.md5(content).hexdigest() for file, content in CONTENTS.items()},
        )
        for name, sources in (("here", ()), ("elsewhere", ()), ("nowhere", (lambda folder: {},)))
    }
    folder = tmp_path / "here" / "raw"
    folder.mkdir(parents=True)
    for file, content in CONTENTS.items():
        (folder / file).write_bytes(content)
    with patch.dict(REGISTRY, registry, clear=True), patch.dict(TEXTS, clear=True):  # the order is restored as well
        yield tmp_path


def run(root, *arguments):
    parser = Parser(prog="rankproof")
    command.declare(parser.add_subparsers())
    options = parser.parse_args(["data", *arguments, "--root", str(root)])
    return options.command(options)


def test_the_list_names_every_set_or_those_asked_for(sets, capsys):
    assert run(sets, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["here", "elsewhere", "nowhere"]
    assert str(sets / "here" / "raw") in lines[0]
    assert run(sets, "list", "nowhere") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["nowhere"]


def test_a_set_that_is_whole_is_verified(sets, capsys):
    assert run(sets, "verify", "here") == 0
    assert capsys.readouterr().out == f"here             verified {sets / 'here' / 'raw'}\n"


def test_what_is_missing_or_damaged_is_no_success_and_does_not_end_the_others(sets, capsys):
    assert run(sets, "verify", "nowhere", "here", "elsewhere") == 2
    said = capsys.readouterr()
    assert said.out == f"here             verified {sets / 'here' / 'raw'}\n"
    assert [line.split(": ")[0] for line in said.err.splitlines()] == ["rankproof"] * 2
    (sets / "here" / "raw" / packages.FILES[0]).write_bytes(b"other")
    assert run(sets, "verify", "here") == 2
    assert "expected MD5" in capsys.readouterr().err


def test_only_what_was_asked_for_by_name_must_be_there(sets, capsys):
    del REGISTRY["nowhere"]
    assert run(sets, "verify") == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("elsewhere        absent: ")
    with pytest.raises(DataError, match="unknown data set 'other'; known: elsewhere, here"):
        run(sets, "verify", "other")


@pytest.mark.parametrize("action", ["list", "fetch", "verify"])
def test_each_action_has_a_help_with_an_example(capsys, action):
    parser = Parser(prog="rankproof")
    command.declare(parser.add_subparsers())
    with pytest.raises(SystemExit):
        parser.parse_args(["data", action, "--help"])
    text = capsys.readouterr().out
    assert f"usage: rankproof data {action} [-h] [--root DIR] [NAME ...]" in text
    assert f"example: rankproof data {action}" in text


def test_the_root_may_come_before_the_action(sets, capsys):
    parser = Parser(prog="rankproof")
    command.declare(parser.add_subparsers())
    options = parser.parse_args(["data", "--root", str(sets), "list", "here"])
    assert options.command(options) == 0
    assert str(sets / "here" / "raw") in capsys.readouterr().out
