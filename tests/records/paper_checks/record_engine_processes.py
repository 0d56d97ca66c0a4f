"""Records of the engine around a process: errors, draws without a seed, settings, pools of work and options."""

import argparse
import os
import random
import sys
import warnings
from concurrent.futures import Future
from decimal import getcontext
from pathlib import Path
from types import SimpleNamespace

import mpmath
import numpy as np
import torch
from invented_results import outcome
from recording import refused

from paper_checks.context import Context
from paper_checks.engine.generators import generators_seeded
from paper_checks.engine.measuring import describe_error, innermost, is_raised_in, reproducible
from paper_checks.engine.process_settings import settings_kept, settings_restored
from paper_checks.engine.processes import _folders_of, map_work
from paper_checks.engine.selection import add_choice, add_replay_seconds, chosen_claims


def errors_and_where_they_come_from():
    folder = Path(__file__).parents[1]
    try:
        outcome(True, margin=-1.0)
    except ValueError as error:
        told = describe_error(error, folder)
        yield told.partition(", line")[0], told.partition(": ")[2], is_raised_in(error, folder)
        yield innermost(error, folder / "none")
        yield describe_error(error, folder / "none"), is_raised_in(error, folder.parents[1])
        yield describe_error(KeyError("k"), folder)
    for kind in (KeyboardInterrupt, SystemExit, RuntimeError):
        try:
            raise kind("stop")
        except BaseException as error:
            yield is_raised_in(error, folder), describe_error(error, folder).partition(": ")[2]


def _drawn():
    return (
        random.random(),
        float(np.random.rand()),  # noqa: NPY002
        float(np.random.default_rng().random()),
        float(torch.rand(1, dtype=torch.float64)),
    )


def draws_without_a_seed():
    for seed in (1, 2):
        with generators_seeded(seed):
            yield _drawn()
    random.seed(5), np.random.seed(5), torch.manual_seed(5)  # noqa: NPY002
    with generators_seeded(9):
        _drawn()
    yield random.random(), float(np.random.rand()), float(torch.rand(1, dtype=torch.float64))  # noqa: NPY002
    for context in (Context("a/b"), Context("a/b"), Context("a/b", 1), Context("a/c")):
        with reproducible(context):
            yield _drawn()


def ends_of_the_process_within_a_measurement():
    def end():
        with reproducible(Context("a/b")):
            os._exit(3)

    before = os._exit
    yield refused(end), os._exit is before


def _settings():
    return (
        *(
            sys.getrecursionlimit(),
            sys.get_int_max_str_digits(),
            getcontext().prec,
            mpmath.mp.prec,
            mpmath.iv.prec,
            np.geterr()["over"],
        ),
        *(
            str(torch.get_default_dtype()),
            str(torch.get_default_device()),
            torch.is_grad_enabled(),
            torch.get_float32_matmul_precision(),
        ),
        *(1e-310 * 1.0 == 0.0, os.environ.get("RANKPROOF_RECORD"), warnings.filters[0][0] == "ignore"),
    )


def _change_all():
    sys.setrecursionlimit(sys.getrecursionlimit() + 10)
    sys.set_int_max_str_digits(5000)
    getcontext().prec += 5
    mpmath.mp.prec, mpmath.iv.prec = 80, 90
    np.seterr(over="ignore")
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    torch.set_float32_matmul_precision("medium")
    torch.set_flush_denormal(True)
    os.environ["RANKPROOF_RECORD"] = "1"
    warnings.simplefilter("ignore")


def settings_that_a_check_changes_are_restored():
    before, threads, folder = _settings(), torch.get_num_threads(), os.getcwd()
    with settings_restored():
        _change_all()
        torch.set_num_threads(threads + 1)
        os.chdir("/")
        changed = _settings()
    yield [one != other for one, other in zip(before, changed, strict=True)], _settings() == before
    yield torch.get_num_threads() == threads, os.getcwd() == folder


def different_precisions_are_restored_each():
    with settings_restored():
        mpmath.mp.prec, mpmath.iv.prec = 60, 70
        with settings_restored():
            mpmath.mp.prec, mpmath.iv.prec = 80, 80
        yield mpmath.mp.prec, mpmath.iv.prec


def settings_that_a_module_may_not_change():
    before = _settings()

    def importing(change):
        with settings_kept("a.module"):
            change()

    def several():
        getcontext().prec += 1
        torch.set_default_dtype(torch.float64)
        warnings.simplefilter("error")

    for change in (
        *(
            several,
            lambda: os.chdir("/"),
            lambda: np.seterr(over="ignore"),
            lambda: torch.set_grad_enabled(False),
            lambda: setattr(mpmath.mp, "prec", 60),
        ),
        *(
            lambda: setattr(mpmath.iv, "prec", 60),
            lambda: torch.set_default_device("meta"),
            lambda: torch.set_float32_matmul_precision("high"),
        ),
        *(
            lambda: torch.set_flush_denormal(True),
            lambda: sys.setrecursionlimit(2000),
            lambda: os.environ.pop("HOME", ""),
            lambda: {}["key"],
        ),
        lambda: setattr(getcontext(), "rounding", "ROUND_UP"),
    ):
        with settings_restored():
            yield refused(importing, change)
    yield _settings() == before


class _Pool:
    """An executor that notes the order of what it is given."""

    def __init__(self):
        self.given = []

    def submit(self, function, *arguments):
        self.given.append(arguments[0])
        done = Future()
        done.set_result(function(*arguments))
        return done


def work_in_order_the_largest_first():
    pool = _Pool()
    yield list(map_work(str.upper, ["a", "b", "c"], 5, pool, [1, 3, 2])), pool.given
    yield list(map_work(str.upper, ["a", "b"], 1))
    yield list(map_work(str.upper, [], 1)), list(map_work(str.upper, ["x", "y"], 3, _Pool(), [2, 2]))
    yield list(_folders_of(["no_such_package"]))
    yield [Path(name).name for name in _folders_of(["paper_checks", "rankproof"])] == [
        Path(__file__).parents[3].name
    ] * 2


class _Wide(argparse.HelpFormatter):
    """Help in long lines, regardless of the terminal."""

    def __init__(self, prog):
        super().__init__(prog, width=1000)


def options_that_choose_claims():
    parser = argparse.ArgumentParser(prog="check", usage="check", formatter_class=_Wide)
    add_choice(parser, "ids of claims")
    add_replay_seconds(parser)
    yield " ".join(parser.format_help().split())
    for words in (
        "",
        "a b --paper x --paper y --verdict holds --verdict refuted --print misprint --fails as-printed --papers p "
        "--replay-seconds 5",
    ):
        options = parser.parse_args(words.split())
        yield vars(options), chosen_claims(SimpleNamespace(select=lambda *given: given), options)
    yield chosen_claims(SimpleNamespace(select=lambda *given: given), argparse.Namespace())
