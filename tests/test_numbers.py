"""Numbers of the command line: every numeric option of every command takes plain digits of a usable size alone."""

import argparse
from itertools import product

import pytest

import rankproof
from runs.catalogue import ALGORITHMS, CONDUCT, IMAGES, LANGUAGE, RUN, TOYS, schemas_of
from runs.settings import RunError
from workloads.arguments import at_least, read_number
from workloads.numbers import read_real, read_whole

ODD = [
    "٣",
    "३",
    "３",
    "1_000",
    " 3",
    "3 ",
    "3\n",
    "+3",
    "0x3",
    "-0",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "9" * 400,
    "²",
    "",
    "3,",
]
ODD_FLOATS = [
    "1e-320",
    "1e308",
    "-1e308",
    "-0.0",
    "1e-400",
    "1e999",
    "infinity",
    "NaN",
    "1e٣",
    "1 e3",
    "1e",
    ".",
    "1.5f",
]
WORDS = {"--memory", "--workers"}
"""Options of `spectrum` that take words, too: an amount with its unit, a number or devices."""


def commands(parser, path=()):
    """Every parser of a command, by its name."""
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield path, parser
    for action in inner:
        for name, sub in action.choices.items():
            yield from commands(sub, (*path, name))


def numeric_actions():
    for path, parser in commands(rankproof._parser()):
        for action in parser._actions:
            if action.metavar in ("N", "X", "K", "W", "C", "DEPTH") or action.type in (int, float):
                yield path, action


def test_every_numeric_option_of_a_command_refuses_what_is_no_plain_number():
    found = set()
    for path, action in numeric_actions():
        name = action.option_strings[0]
        if action.type is None and (path, name) != (("spectrum",), "--workers"):
            assert name == "--gpus-per-worker", f"{path} {name} is read by no shared parser"
            continue
        if name in WORDS and path == ("spectrum",):
            continue
        found.add((*path, name))
        assert action.type is read_number or action.type.__module__ == "workloads.arguments", f"{path} {name}"
        for text in ODD + (ODD_FLOATS if action.type is read_number else [*ODD_FLOATS, "1.0", "1e3"]):
            with pytest.raises(argparse.ArgumentTypeError, match="in plain digits"):
                action.type(text)
    assert {
        ("check", "--seed"),
        ("figure", "--seed"),
        ("spectrum", "--width"),
        ("runs", "compare", "--round"),
        ("runs", "export", "--round"),
    } <= found


def options_of_runs():
    for name, problem in product(ALGORITHMS, (*TOYS, next(iter(IMAGES)), next(iter(LANGUAGE)))):
        for form in schemas_of(name, problem, {}):
            yield from form.options({}, every=True).values()
    for form in (RUN, CONDUCT):
        yield from form.options({}, every=True).values()


def test_every_numeric_option_of_a_run_refuses_what_is_no_plain_number():
    found = {}
    for option in options_of_runs():
        if option.kind in (int, float, tuple):
            found[option.name, option.kind, option.element] = option
    assert {name for name, *_ in found} >= {"rank", "learning_rate", "crop", "rounds", "client_ranks", "betas"}
    for option in found.values():
        for text in ODD + (ODD_FLOATS if option.kind is not int else [*ODD_FLOATS, "1.0", "1e3"]):
            with pytest.raises(RunError, match=f"{option.name} must be"):
                option.read(text)
        assert option.read("3") in (3, (3,))


@pytest.mark.parametrize("flag", [("--rank", "٣"), ("--learning-rate", "1e-320"), ("--seed", " 3"), ("--rounds", "+3")])
def test_odd_numbers_are_one_line(capsys, tmp_path, flag):
    assert rankproof.main(["train", "fedlora", "--out", str(tmp_path / "run"), *flag]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert flag[0][2:].replace("-", "_") in said
    assert not (tmp_path / "run").exists()


def test_plain_numbers_are_what_they_say():
    assert (read_whole("12"), read_whole("-7"), read_whole("0"), read_whole("9223372036854775807")) == (
        12,
        -7,
        0,
        2**63 - 1,
    )
    assert (
        read_real("2.5e-3"),
        read_real("-.5"),
        read_real("4."),
        read_real("0"),
        read_real("0e9"),
        read_real("1E5"),
    ) == (2.5e-3, -0.5, 4, 0, 0, 1e5)
    assert (read_real("1e-300"), read_real("1e300"), at_least(2)("2"), read_number("1")) == (1e-300, 1e300, 2, 1.0)
    for text in ("9223372036854775808", "-9223372036854775808"):
        with pytest.raises(ValueError, match="plain digits"):
            read_whole(text)
    for text in ("9.9e-301", "1.1e300"):
        with pytest.raises(ValueError, match="plain digits"):
            read_real(text)
