"""The command line's arguments: names before and after options, and one line for every mistake."""

import pytest

from workloads.arguments import BAD_USAGE, Parser, add_command, at_least, nearest_flag


def parsed(*words, several="names"):
    parser = Parser(prog="rankproof")
    one = add_command(parser.add_subparsers(), "go", lambda options: 0, "go there", "rankproof go", several=several)
    one.add_argument("names", nargs="*" if several else "?")
    one.add_argument("--size", type=at_least(2))
    return parser.parse_args(["go", *words])


def complaint(capsys, *words, **options):
    with pytest.raises(SystemExit) as stop:
        parsed(*words, **options)
    assert stop.value.code == BAD_USAGE == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_names_after_an_option_join_those_before():
    assert parsed("a", "--size", "3", "b", "c").names == ["a", "b", "c"]
    assert parsed("--size", "2").size == 2
    assert parsed().size is None


def test_what_is_unknown_or_empty_is_named(capsys):
    assert "unrecognized arguments: --fast" in complaint(capsys, "a", "--fast")
    assert "unrecognized arguments: b" in complaint(capsys, "a", "b", several=None)
    assert "unrecognized arguments: b -x" in complaint(capsys, "a", "--size", "3", "b", "-x")
    assert "a name must not be empty, got ' '" in complaint(capsys, "a", "--size", "3", " ")


@pytest.mark.parametrize("bad", ["1", "-3", "2.5", "two", "", "9" * 301])
def test_numbers_below_the_least_are_refused(bad, capsys):
    assert "must be a whole number of at least 2" in complaint(capsys, "--size", bad)
    assert "see `rankproof go --help`" in complaint(capsys, "--size", bad)


def test_words_of_the_command_line_declare_arguments_once():
    parser, seen = Parser(prog="rankproof"), []

    def fill(words):
        seen.append(tuple(words))
        parser.add_argument("--late")

    parser.fill = fill
    assert parser.parse_args(["--late", "x"]).late == "x"
    assert parser.parse_args(["--late", "y"]).late == "y"
    assert seen == [("--late", "x")]


@pytest.mark.parametrize("written", ["--lora-alpha", "--lora_alpha", "--LoRA_Alpha", "lora_alpha"])
def test_an_option_of_another_program_is_recognised_however_it_is_written(written):
    assert nearest_flag(written, ["--layers", "--scale"]) == "--scale"
    assert nearest_flag(written, ["--layers", "--seed"]) is None
