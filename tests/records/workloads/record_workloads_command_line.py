"""Records of the command line: numbers, readers, unknown options, and the command of data sets."""

import argparse
import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

from environment import variables
from hidden_folder import folder
from recording import refused

from workloads.arguments import (
    SYNONYMS,
    Parser,
    add_command,
    add_group,
    at_least,
    nearest_flag,
    read_name,
    read_number,
    suggestion,
    unknown_flags,
    write_documents,
)
from workloads.command import declare
from workloads.numbers import is_usable, read_real, read_whole


def numbers_in_digits():
    for text in (
        "12",
        "-3",
        "0",
        "-0",
        "007",
        "+1",
        "1_0",
        " 1",
        "1.0",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775807",
        "-9223372036854775808",
        "",
        "1" * 31,
        "٣",
    ):
        yield text, refused(read_whole, text)
    for text in (
        "0.05",
        "-2.5e-3",
        ".5",
        "5.",
        "1e300",
        "1.1e300",
        "1e-300",
        "9e-301",
        "-0.0",
        "0",
        "0.0e5",
        "1e-400",
        "1e400",
        "nan",
        "inf",
        "1_0.5",
        " 1",
        "+1",
        "-.5E+2",
        ".",
        "e5",
        "٣.5",
    ):
        yield text, refused(read_real, text)
    yield [
        is_usable(value)
        for value in (0, 1e300, 1.01e300, -1e300, 1e-300, 9.9e-301, -9.9e-301, float("nan"), float("inf"), 10**400)
    ]


def readers_of_arguments():
    for text in ("3", "2", "1", "x", "2.0", "9" * 50):
        yield text, _argument(at_least(2), text), _argument(read_number, text)
    yield (
        [_argument(read_name, text) for text in ("a", "", "  ", "a\0b", " a ")],
        _argument(read_number, "1e999"),
        _argument(at_least(0), "-1"),
    )


def _argument(read, text):
    try:
        return read(text)
    except argparse.ArgumentTypeError as error:
        return str(error)


def unknown_and_nearest_options():
    known = [
        "--rank",
        "--scale",
        "--layers",
        "--learning-rate",
        "--seed",
        "--samples",
        "--max-length",
        "--partition",
        "--b-rate",
        "--out",
    ]
    for words in (
        ["--lr", "0.1", "--rank=3", "--see"],
        ["--", "--x"],
        ["-x", "--ranks"],
        ["--rank=--x"],
        ["--x=--rank", "--se"],
    ):
        yield unknown_flags(words, known)
    for flag in (
        "--lora-alpha",
        "--rnak",
        "--lr",
        "--LR",
        "--learning_rate",
        "--dirichlet-alpha",
        "--my-rank",
        "--rank-of",
        "--out-put",
        "--xyz",
        "--le",
        "-r",
        "--random-state",
        "--output",
        "--alpha",
        "--seeds",
        "--use-cpu",
        "--layer",
    ):
        yield flag, nearest_flag(flag, known), suggestion(flag, known)
    yield suggestion("", known), len(SYNONYMS), sorted(SYNONYMS.items())[::9]


def _parser():
    parser = Parser(prog="rankproof")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = add_command(commands, "check", lambda options: 0, "check claims", "rankproof check x", several="names")
    one.add_argument("names", nargs="*", type=read_name)
    one.add_argument("--rank", type=at_least(1), default=2, metavar="R", help="rank")
    one.add_argument("--batch-norm", metavar="N", help="norm")
    one.add_argument("--loss", metavar="MODULE:NAME", help="loss")
    one.add_argument("--hidden", help=argparse.SUPPRESS)
    actions = add_group(commands, "data", "list sets", "rankproof data list")
    for name, option in (("list", "--long"), ("fetch", "--force"), ("verify", "--force")):
        add_command(actions, name, lambda options: 0, f"{name} sets", f"rankproof data {name}").add_argument(
            option, action="store_true"
        )
    return parser


def _parse(*words):
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(said):
        try:
            options = vars(_parser().parse_args(list(words)))
        except SystemExit as end:
            return end.code, said.getvalue()
    return {name: value for name, value in options.items() if name not in ("command", "parser")}


def command_lines():
    for words in (
        ("check", "a", "--rank", "3", "b"),
        ("check", "--rank", "0"),
        ("check", "--rnak", "3"),
        ("check", "a", "-x"),
        ("check", "a", "--rank", "1", ""),
        (),
        ("check", "--lr", "1"),
        ("data", "--long", "list"),
        ("data", "list", "--force"),
        ("data", "--force", "list"),
        ("data", "fetch", "--force"),
        ("data", "list", "more"),
        ("--seed", "check"),
        ("check", "--rank"),
        ("data", "list", "--xyz"),
    ):
        yield words, _parse(*words)


def options_in_messages():
    parser = _parser()._subparsers._group_actions[0].choices["check"]
    for text in (
        "name batch_norm='running', or leave batch_norm= out",
        "rank 3 exceeds rank",
        "give loss=, or rank=4",
        "hidden is x",
        "my_rank, rank_of and rank.x",
        "rank=2.5e3 or --rank",
        "loss is missing",
    ):
        yield parser.in_options(text, ["batch_norm", "rank", "loss", "hidden", "none"])
    yield parser.flags, parser.format_help().count("--hidden"), parser.epilog, parser.description


def documents_of_a_module():
    with folder() as (place, hide):
        before = sys.argv
        for given in ([str(place)], [str(place / "none")], [""]):
            sys.argv = ["x", *given]
            said = io.StringIO()
            try:
                with redirect_stdout(said), redirect_stderr(said):
                    code = write_documents("m", "pages", "docs", lambda at: [at / "a", at / "b"])
            except SystemExit as end:
                code = end.code
            finally:
                sys.argv = before
            yield code, hide(said.getvalue())


def data_commands():
    parser = Parser(prog="rankproof")
    declare(parser.add_subparsers())
    with folder() as (place, hide):
        for words in (
            ("data", "list", "cifar-10", "headlines", "--root", str(place)),
            ("data", "verify", "cifar-100", "--root", str(place)),
            ("data", "fetch", "cifar-10", "--root", str(place)),
            ("data", "list", "x"),
            ("data", "verify", "--root", str(place)),
            ("data", "list", "--root", str(place)),
        ):
            options = parser.parse_args(list(words))
            said, errors = io.StringIO(), io.StringIO()
            with (
                variables(RANKPROOF_DATA=str(place / "env"), FORCE_COLOR=None),
                redirect_stdout(said),
                redirect_stderr(errors),
            ):
                before = os.getcwd()
                os.chdir(place)
                try:
                    code = refused(options.command, options)
                finally:
                    os.chdir(before)
            lines = [
                hide(stream.getvalue()).splitlines() for stream in (said, errors)
            ]  # a system may have Fashion-MNIST
            yield code, *([line for line in part if "ashion-" not in line] for part in lines)


def names_within_names_of_options():
    known = ["--out", "--on", "--rank", "--loss"]
    for flag in (
        "--my-out",
        "--my-on",
        "--in",
        "--out-x",
        "--on-x",
        "--xloss",
        "--los",
        "--lo",
        "--ou",
        "--ran",
        "--rk",
    ):
        yield flag, nearest_flag(flag, known)
    for size in (39, 40, 41):
        yield _argument(read_number, "x" * size), refused(read_whole, "x" * size), refused(read_real, "x" * size)


def options_written_otherwise():
    for known in (
        ["--truncation", "--tau"],
        ["--truncation"],
        ["--jobs", "--workers", "--threads"],
        ["--workers", "--jobs"],
    ):
        for flag in ("--TAU", "--tau", "--Threads", "--cores", "--threads_", "--THRESHOLD"):
            yield flag, nearest_flag(flag, known)
