"""Records of command lines: what `rankproof`, `rankproof train` and its options print, and how they end."""

import argparse
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest.mock import patch

from hidden_folder import in_folder
from recording import refused

import rankproof
from runs.catalogue import options_of
from runs.command import add_arguments
from runs.config import Config, read_config
from runs.cost import built_once, cost_of, forecast
from runs.estimate import Estimate, steps_of
from runs.plan import make_plan, write_plan
from runs.progress import format_metrics
from runs.settings import Conduct, RunError
from workloads.arguments import Parser

SMALL = ["--rows", "3", "--columns", "2", "--clients", "2", "--steps", "1"]


def _ran(*words):
    out, err = io.StringIO(), io.StringIO()
    paths = list(sys.path)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = rankproof.main(words)
    finally:
        sys.path[:] = paths
    return [code, out.getvalue(), err.getvalue()]


def lists_of_algorithms_and_problems():
    return _ran("train", "--list")


def names_that_are_refused():
    for words in ((), ("fedavg", "fedlin"), ("fedavg", "mnist"), ("fedavgg",), ("fedavg", "--data", "mnis")):
        yield _ran("train", *words)


def folders_that_are_refused():
    for words in (("--resume", ""), ("--resume", "x", "--force"), ("fedavg", "--resume", "x")):
        yield _ran("train", *words)


def options_that_are_refused():
    for words in (("fedavg", "--trust"), ("fedavg", "--seed", "x")):
        yield _ran("train", *words)


def options_without_an_algorithm():
    for words in (("--resume", "x", "--seed", "1"), ("--rank", "2"), ("--zzz", "2"), ("--lr", "2")):
        yield _ran("train", *words)


def options_that_another_algorithm_takes():
    return _ran("train", "fedavg", "--mu", "1")


def trackers_that_are_refused():
    return _ran("train", "fedavg", *SMALL, "--tracker", "math:pi")


@in_folder
def plans_on_the_command_line(folder):
    out = ("--out", str(folder / "run"))
    return _ran("train", "fedavg", *SMALL, "--dry-run", *out)


def plans_of_factors_on_the_command_line():
    return _ran("train", "rolora", *SMALL, "--rank=1", "--alignment", "--seed", "4", "--rounds=1000", "--dry-run")


@in_folder
def configurations_on_the_command_line(folder):
    path = folder / "a.toml"
    path.write_text('algorithm = "fedlin"\ndata = "regression"\nrows = 3\ncolumns = 2\nclients = 2\nrounds = 5\n')
    words = ("--config", str(path), "--dry-run", "--out", str(folder / "run"))
    return _ran("train", "fedavg", *words, "--rounds", "2", "--device", "cpu", "--data", "quadratics")


@in_folder
def configurations_that_name_code(folder):
    (folder / "a.toml").write_text('algorithm = "own:Method"\n')
    yield _ran("train", "--config", str(folder / "a.toml")), _ran("train", "--config", str(folder / "none.toml"))
    yield _ran("train", "fedavg", "--config", str(folder / "a.toml"), "--dry-run", "--sed", "1")


@in_folder
def a_run_on_the_command_line(folder):
    return _ran("train", "fedavg", *SMALL, "--rounds", "1", "--out", str(folder / "run"))


@in_folder
def a_run_that_starts_over(folder):
    write_plan(folder, make_plan("fedavg", "quadratics", {"seed": 1}))
    return _ran("train", "fedlora", *SMALL, "--rounds", "1", "--out", str(folder), "--force")


def options_of_train():
    parser = Parser()
    add_arguments(parser)
    return [[one.option_strings or one.dest, one.metavar, one.nargs, one.help] for one in parser._actions]


def helps_of_an_algorithm():
    parser = Parser()
    add_arguments(parser)
    parser.fill(["fedlora", "--data", "mnist"])
    return [parser.epilog, *([group.title, len(group._group_actions)] for group in parser._action_groups)], [
        [one.option_strings[-1], one.metavar, one.help] for one in parser._actions if one.option_strings
    ]


def words_that_decide():
    from runs.command import _flags, _names_in, _value_in

    for words in (["--out", "x", "--out=y"], ["--out"], ["--outer", "x"], ["a", "--out="], []):
        yield _value_in(words, "--out")
    config = Config(None, "fedlin", "ridges", {"model": "hf:x", "text": 3, "seed": 1})
    for words in (
        ["fedavg", "--data", "mnist", "--model=hf:a"],
        ["--seed", "3", "fedavg"],
        ["--force", "fedavg", "--alignment", "--no-flip", "--trust"],
        ["--text", "column", "--data"],
        [],
    ):
        yield _names_in(words, None), _names_in(words, config)
    yield sorted(_flags())


def errors_in_one_line():
    from rankproof import _is_for_users, _one_line, _stopped

    for error in (
        OSError(2, "No such file", "a/b"),
        OSError(5, "Input/output error"),
        OSError("odd"),
        RunError("a\nb  c"),
        ValueError("x"),
        KeyError("x"),
    ):
        yield _one_line(error), _is_for_users(error)
    error = KeyboardInterrupt()
    yield _stopped(error)
    error.add_note("one")
    error.add_note("two")
    yield _stopped(error)


def statuses_of_commands():
    def ended(error):
        out = io.StringIO()
        with redirect_stderr(out), patch.object(rankproof, "_command", side_effect=error):
            return rankproof.main([]), out.getvalue()

    errors = (
        KeyboardInterrupt(),
        rankproof._Terminated(),
        BrokenPipeError(),
        OSError(28, "No space"),
        RunError("a fault"),
    )
    yield [ended(error) for error in (*errors, OSError(2, "Not there", "a/b"))]
    yield refused(ended, ValueError("a bug")), _ran("--version")[0], _ran("train", "--help")[0]


def how_a_command_ends():
    def ended(error):
        def command(options):
            raise error

        out = io.StringIO()
        parser = Parser()
        parser.add_argument("--batch-norm")
        options = argparse.Namespace(command=command, parser=parser)
        with redirect_stderr(out):
            try:
                return rankproof._carried_out(options), out.getvalue()
            except BaseException as other:
                return type(other).__name__, str(other), out.getvalue()

    keyed = RunError("leave batch_norm out")
    keyed.keywords = ["batch_norm"]
    return [ended(error) for error in (RunError("plain batch_norm"), keyed, ValueError("x"))]


def the_first_level_of_commands():
    parser = rankproof._parser()
    (commands,) = (one for one in parser._actions if one.dest == "==SUPPRESS==" and one.metavar == "COMMAND")
    rows = [[one.dest, one.help] for one in commands._choices_actions]
    yield rows, parser.prog, parser.description, parser.epilog, commands.choices["train"].epilog
    yield [one.help for one in parser._actions[:2]], sorted(rankproof._FOR_USERS.items())


def metrics_of_a_bar():
    for metrics in ({}, {"loss": 1.23456, "accuracy": 0.98765}, {"bytes_down": 1500, "loss": 1e-9}, {"bytes_up": 7}):
        yield format_metrics(metrics), format_metrics({**metrics, "bytes_down": 3})


def metrics_at_the_end():
    from runs.command import _format_default, _format_metric

    numbers = (0, 0.0, 1, 1.0, -3.0, 1234567, 1234567.0, -7654321.0, 0.5, 1234.5678, 1e-7, "text", float("nan"))
    yield [refused(_format_metric, value) for value in numbers]
    yield [_format_default(value) for value in ((1, 2), (), 0.5, "x", None, False)]


def estimates_of_time():
    for one in (
        Estimate(1, 0.25, 2, 0.5),
        Estimate(12345, 1.4341, 10, None, 3),
        Estimate(0, 0.0012345, 0, 0.9999, 2),
        Estimate(100, 1.0, 1234, 2.0),
    ):
        yield one.seconds, str(one)
    for given in ({"steps": 3}, {"epochs": 2}, {"epochs": 2, "batch": 4}, {"steps": 5, "batch": 3}):
        local = SimpleNamespace(**{"steps": 1, "epochs": None, "batch": None, **given})
        yield [steps_of(local, samples) for samples in (1, 4, 5, 8.0)]


def _forecast(name, rounds=2, **given):
    given = {"rows": 3, "columns": 2, "clients": 3, "samples": 5, **given}
    return forecast(make_plan(name, "ridges", given, Conduct(rounds)))


def size_of_a_run_that_accumulates():
    return _forecast("fedloru", 5, rank=1, tau=2)


def size_of_a_run_of_a_part_of_the_clients():
    return _forecast("fedlora", 3, rank=1, cohort=2)


def size_of_a_run_of_own_ranks():
    return _forecast("flora", ranks=(1, 2, 1), cohort=2)


def size_of_a_run_of_own_ranks_of_all():
    return _forecast("hetlora", ranks=(1, 2, 1), decay=1.0)


def size_of_a_run_whose_ranks_change():
    return _forecast("fedlrt", 3, rank=1)


def cost_of_a_run_that_accumulates():
    given = {"rows": 3, "columns": 2, "clients": 3, "samples": 5, "rank": 1, "tau": 2, "steps": 3}
    return cost_of(make_plan("fedloru-finetune", "ridges", given, Conduct(5)), built_once())


def cost_of_personal_steps():
    given = {"rows": 3, "columns": 2, "clients": 3, "samples": 5, "steps": 2, "personal_steps": 3}
    return cost_of(make_plan("pfedloru", "ridges", given, Conduct(3)))


@in_folder
def settings_of_a_run_as_configuration(folder):
    plan = make_plan("fedavg", "ridges", {"rows": 3})
    content = {"algorithm": "fedavg", "problem": "ridges", "settings": plan.stored_settings, "rounds": 3}
    (folder / "settings.json").write_text(json.dumps(content))
    found = read_config(folder)
    return found.stored, found.values["rounds"], [*options_of("fedavg", "ridges", found.values)][:5]
