"""`rankproof runs list|show|compare` on runs written by hand, whose every number is known, and on a trained one."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from figures.runs_command import BARS, list_runs, local_trainings
from rankproof import main
from runs.catalogue import ALGORITHMS, algorithm_of
from runs.folder import LEDGER, METRICS, SETTINGS
from runs.format import align_rows, format_bytes
from runs.listing import (
    Group,
    RunError,
    deviation_of,
    differences,
    differing,
    drop_duplicates,
    find_runs,
    format_value,
    group_runs,
    mean_of,
    metric_of,
    paired_difference,
    round_of,
)
from runs.plan import make_plan
from runs.tables import rows_of

ACTIONS = ("list", "show", "compare", "plot")


def write_run(folder, losses, seed=0, algorithm="fedavg", problem="ridges", rounds=None, given=None, **settings):
    """A run as `rankproof train` leaves it; 100 bytes go down and 50 up in every round; None: not evaluated."""
    folder.mkdir(parents=True)
    content = {
        "algorithm": algorithm,
        "problem": problem,
        "settings": {"seed": seed, "steps": 10, **settings},
        "rounds": len(losses) - 1 if rounds is None else rounds,
        "versions": {"python": "3.11.7"},
        **({"given": given} if given else {}),
    }
    (folder / SETTINGS).write_text(json.dumps(content))
    lines = [f"{r},{'' if loss is None else loss},{100 * r},{50 * r}" for r, loss in enumerate(losses)]
    (folder / METRICS).write_text("\n".join(["round,loss,bytes_down,bytes_up", *lines]) + "\n")
    entries = [f"{r},1,{way}" for r in range(1, len(losses)) for way in ("down,model,2,25,100", "up,update,2,12,50")]
    (folder / LEDGER).write_text("\n".join(["round,trip,direction,what,clients,entries,bytes", *entries]) + "\n")
    return folder


def cells(lines):
    """The cells of an aligned table, read by where the columns begin."""
    starts = [i for i in range(len(lines[0])) if lines[0][i] != " " and (i == 0 or lines[0][i - 2 : i] == "  ")]
    ends = [*starts[1:], None]
    rows = [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in lines]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def said(capsys, *arguments):
    assert main(["runs", *map(str, arguments)]) == 0
    answer = capsys.readouterr()
    assert answer.err == ""
    return answer.out.splitlines()


def refused(capsys, *arguments):
    """The one line that a command ends in."""
    assert main(["runs", *map(str, arguments)]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.startswith("rankproof: ")
    assert len(answer.err.splitlines()) == 1
    return answer.err


# list


def test_list_has_a_line_for_each_run_with_blanks_for_what_it_lacks(tmp_path, capsys):
    write_run(tmp_path / "a", [4.0, 2.0], seed=3, learning_rate=0.05)
    write_run(tmp_path / "b", [4.0, 1.0, 0.5], algorithm="fedlrt", rank=2, truncation=0.1, learning_rate=0.05, rounds=9)
    write_run(tmp_path / "deep" / "c", [4.0, 1.0], algorithm="fedlrt", rank=4, truncation=0.1, learning_rate=0.1)
    names = ["run", "algorithm", "problem", "rounds", "seed", "loss", "sent", "learning_rate", "rank"]
    expected = [
        [str(tmp_path / "a"), "fedavg", "ridges", "1/1", "3", "2", "150 B", "0.05", ""],
        [str(tmp_path / "b"), "fedlrt", "ridges", "2/9", "0", "0.5", "300 B", "0.05", "2"],
        [str(tmp_path / "deep" / "c"), "fedlrt", "ridges", "1/1", "0", "1", "150 B", "0.1", "4"],
    ]
    assert cells(said(capsys, "list", tmp_path)) == [dict(zip(names, row, strict=True)) for row in expected]


def test_list_of_one_run_names_its_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(write_run(tmp_path / "a", [4.0, 2.0]))
    (row,) = cells(said(capsys, "list", "."))
    assert row["run"] == "."
    assert "steps" not in row  # nothing to differ from


def test_differing_settings_are_those_with_two_values(tmp_path):
    write_run(tmp_path / "a", [1.0], seed=0, both=1, one_only=5, none_or=None)
    write_run(tmp_path / "b", [1.0], seed=1, both=2, none_or=3)
    runs = find_runs(tmp_path)
    assert differing(runs) == ["both", "none_or"]
    assert differing(runs, lacked=True) == ["both", "one_only", "none_or"]


def test_list_needs_no_torch(tmp_path):
    write_run(tmp_path / "a", [1.0, 0.5])
    code = (
        "import sys, rankproof\n"
        "for action in ('list', 'show', 'compare'): assert rankproof.main(['runs', action, sys.argv[1]]) == 0\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, capture_output=True)


# show


def test_show_gives_settings_metrics_and_messages(tmp_path, capsys):
    folder = write_run(
        tmp_path / "a", [8.0, 4.0, 0.0], cohort=None, betas=[0.9, 0.999], executor="vmap", evaluate_every=2
    )
    sections = [part.splitlines() for part in "\n".join(said(capsys, "show", folder)).split("\n\n")]
    heading, settings, versions, metrics, messages = sections
    assert heading == [f"{folder}: fedavg on ridges, round 2 of 2"]
    assert {row["setting"]: row["value"] for row in cells(settings)} == {
        "seed": "0",
        "steps": "10",
        "cohort": "none",
        "betas": "0.9,0.999",
    }
    assert versions == ["conduct: executor vmap, evaluate_every 2", "versions: python 3.11.7"]
    middle = BARS[round(0.5 * (len(BARS) - 1))]
    curve = BARS[-1] + middle + BARS[0]
    assert cells(metrics) == [
        {"metric": "loss", "first": "8", "last": "0", "best": "0", "in round": "2", "curve": curve}
    ]
    assert cells(messages) == [
        {"direction": "down", "what": "model", "messages": "2", "bytes": "200"},
        {"direction": "up", "what": "update", "messages": "2", "bytes": "100"},
    ]


def test_show_tells_many_runs_apart(tmp_path, capsys):
    for seed in (0, 1):
        write_run(tmp_path / f"s{seed}", [2.0, 1.0], seed=seed)
    lines = said(capsys, "show", tmp_path)
    assert [line.split(":")[0] for line in lines if "on ridges" in line] == [str(tmp_path / f"s{s}") for s in (0, 1)]
    assert lines[lines.index(f"{tmp_path / 's1'}: fedavg on ridges, round 1 of 1") - 1] == ""


@pytest.mark.parametrize(
    ("losses", "curve", "best"),
    [
        ([1.0, "nan", 3.0], "_?@", 0),
        (["nan", "nan"], "??", 0),
        (["inf", 2.0, 1.0], "?@_", 2),
        ([2.0, 2.0], "constant", 0),
        ([5.0], "constant", 0),
        ([0.0, None, 1.0], "_@", 0),
        ([-1.7e308, 1.7e308], "_@", 0),
    ],
)
def test_curves_of_any_numbers(tmp_path, capsys, losses, curve, best):
    lines = said(capsys, "show", write_run(tmp_path / "a", losses))
    (row,) = cells(lines[lines.index(next(line for line in lines if line.startswith("metric"))) :][:2])
    assert row["curve"] == curve
    assert row["in round"] == str(best)


@pytest.mark.parametrize(
    ("metric", "best"),
    [
        ("distance", ("1", "1")),
        ("training_loss", ("1", "1")),
        ("perplexity", ("1", "1")),
        ("accuracy", ("4", "2")),
        ("mcc", ("4", "2")),
        ("rank", ("", "")),
        ("alignment", ("", "")),
        ("of_my_own", ("", "")),
    ],
)
def test_only_metrics_whose_direction_is_known_have_a_best_value(tmp_path, capsys, metric, best):
    folder = write_run(tmp_path / "a", [2.0, 1.0, 4.0, 3.0])
    table = folder / METRICS
    table.write_text(table.read_text().replace("loss", metric))
    lines = said(capsys, "show", folder)
    (row,) = cells(lines[lines.index(next(line for line in lines if line.startswith("metric"))) :][:2])
    assert (row["metric"], row["best"], row["in round"], row["last"]) == (metric, *best, "3")


@pytest.mark.parametrize(("one", "other"), [(0.1, "0.1"), (None, "none"), ([1, 2], "1,2"), (True, "True")])
def test_settings_that_read_alike_make_two_labels(tmp_path, one, other):
    for place, value in enumerate((one, other)):
        write_run(tmp_path / f"r{place}", [2.0, 1.0], rate=value)
    labels = [group.label for group in group_runs(find_runs(tmp_path))]
    assert labels == [f"fedavg rate={json.dumps(value)}" for value in (one, other)]


def test_a_long_curve_keeps_its_ends(tmp_path, capsys):
    lines = said(capsys, "show", write_run(tmp_path / "a", [float(r) for r in range(101)]))
    curve = next(line for line in lines if line.startswith("loss")).split()[-1]
    assert len(curve) == 40
    assert (curve[0], curve[-1]) == (BARS[0], BARS[-1])
    assert list(curve) == sorted(curve, key=BARS.index)


# compare

OURS, THEIRS = {0: 0.31, 1: 0.47, 2: 0.28, 4: 0.9}, {0: 0.35, 1: 0.41, 2: 0.40, 3: 0.1}


def two_groups(folder):
    for name, finals, rank in (("a", THEIRS, 2), ("b", OURS, 4)):
        for seed, final in finals.items():
            write_run(folder / f"{name}{seed}", [1.0, final], seed=seed, algorithm="fedlrt", rank=rank)
    return folder


def test_paired_interval_is_that_of_scipy(tmp_path):
    first, second = group_runs(find_runs(two_groups(tmp_path)))
    (one,) = differences([first, second], "loss", 1, first)
    common = sorted(OURS.keys() & THEIRS.keys())
    ours, theirs = ([finals[seed] for seed in common] for finals in (OURS, THEIRS))
    oracle = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert (one.label, one.against, one.seeds) == ("fedlrt rank=4", "fedlrt rank=2", 3)
    np.testing.assert_allclose([one.mean - one.half_width, one.mean + one.half_width], [oracle.low, oracle.high])


def test_two_pairs_have_an_interval_and_one_has_none():
    assert paired_difference([1.5]) == (1.5, None)
    mean, half_width = paired_difference([1.0, 3.0])
    assert mean == 2.0
    np.testing.assert_allclose(half_width, 12.7062, rtol=1e-5)  # Student's, one degree of freedom: tan(0.475 pi)


def test_means_and_deviations_of_equal_infinite_and_huge_values():
    assert (mean_of([1.7e308, 1.6e308]), mean_of([1e308, -1e308, 3.0])) == (pytest.approx(1.65e308), 1.0)
    assert [deviation_of([one] * 3) for one in (0.1, 1.7e308, 5e-324)] == [0.0] * 3  # 0.1 + 0.1 + 0.1 is not 0.3
    assert deviation_of([1e9, 1e9 + 2**-23]) == pytest.approx(2**-23 / np.sqrt(2))
    assert deviation_of([1.6e308, -1e308, 1e308]) == pytest.approx(1e300 * np.std([1.6e8, -1e8, 1e8], ddof=1))
    for infinite in (np.inf, -np.inf, np.nan):
        assert np.isnan([deviation_of([1.0, infinite]), paired_difference([infinite, 1.0])[1]]).all()
    assert deviation_of([np.inf]) is None


def test_compare_prints_means_deviations_and_intervals(tmp_path, capsys):
    lines = said(capsys, "compare", two_groups(tmp_path))
    split = lines.index("")
    assert lines[0] == "loss after round 1"
    means, rows = cells(lines[1:split]), cells(lines[split + 1 :])
    for row, finals in zip(means, (THEIRS, OURS), strict=True):
        values = list(finals.values())
        assert row["seeds"] == str(len(values))
        assert row["loss"] == f"{np.mean(values):.4g}"
        assert row["deviation"] == f"{np.std(values, ddof=1):.4g}"
        assert (row["rounds done"], row["sent"]) == ("1", "150 B")
    (row,) = rows
    assert row["loss minus fedlrt rank=2"] == "fedlrt rank=4"
    assert row["mean"] == f"{np.mean([OURS[seed] - THEIRS[seed] for seed in (0, 1, 2)]):+.4g}"
    turned = said(capsys, "compare", tmp_path, "--against", "fedlrt rank=4")
    (turned,) = cells(turned[turned.index("") + 1 :])
    low, high = row["95% interval"].split(" to ")
    assert [float(end) for end in turned["95% interval"].split(" to ")] == [-float(high), -float(low)]


@pytest.mark.parametrize(
    ("seeds", "mean", "interval"),
    [((0,), "+0.25", "two seeds are needed"), ((5,), "no common seed", "two seeds are needed")],
)
def test_too_few_common_seeds_are_said(tmp_path, capsys, seeds, mean, interval):
    write_run(tmp_path / "a", [1.0, 0.5], seed=0)
    for seed in seeds:
        write_run(tmp_path / f"b{seed}", [1.0, 0.75], seed=seed, algorithm="fedlin")
    lines = said(capsys, "compare", tmp_path)
    (row,) = cells(lines[lines.index("") + 1 :])
    assert (row["mean"], row["95% interval"]) == (mean, interval)


def test_unequal_runs_are_compared_after_the_last_round_that_all_have(tmp_path, capsys):
    write_run(tmp_path / "a", [1.0, 0.5, 0.4, None], seed=0, rounds=9)
    write_run(tmp_path / "b", [1.0, None, 0.2, 0.1, 0.05], seed=1)
    write_run(tmp_path / "c", [1.0, 0.9, 0.6, 0.5], seed=1, algorithm="fedlin")
    heading, *table = said(capsys, "compare", tmp_path)
    assert heading == "loss after round 2, the last round for which all runs have it; choose another with --round"
    ours, theirs = cells(table[: table.index("")])
    assert (ours["rounds done"], ours["sent"], ours["loss"]) == ("3 to 4", "300 B", "0.3")
    assert (theirs["rounds done"], theirs["sent"], theirs["loss"]) == ("3", "300 B", "0.6")
    (row,) = cells(table[table.index("") + 1 :])
    assert row["mean"] == "+0.4"
    assert said(capsys, "compare", tmp_path, "--round", "0")[0] == "loss after round 0"
    assert cells(said(capsys, "compare", tmp_path / "c", "--round", "3")[1:])[0]["loss"] == "0.5"
    said_of = refused(capsys, "compare", tmp_path, "--round", "1")
    assert "b has no 'loss' after round 1; the last round for which all runs have it is 2" in said_of


def test_several_local_trainings_in_a_round_are_said(tmp_path, capsys):
    for name in ("fedlora", "rolora"):
        run = ["train", name, "--rank", "2", "--rounds", "3", "--clients", "2", "--out", str(tmp_path / name)]
        assert main(run) == 0
    capsys.readouterr()
    lines = said(capsys, "compare", tmp_path)
    table = cells(lines[1:4])
    assert {row["runs"]: row["local trainings"] for row in table} == {"fedlora": "3", "rolora": "6"}
    assert "equal rounds are not equal local steps here, because a method trains several times in a round" in lines
    assert main(["train", "fedavg", "--rounds", "3", "--clients", "2", "--out", str(tmp_path / "same" / "a")]) == 0
    assert (
        main(
            [
                "train",
                "fedlora",
                "--rank",
                "2",
                "--rounds",
                "3",
                "--clients",
                "2",
                "--out",
                str(tmp_path / "same" / "b"),
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert not any("local" in line for line in said(capsys, "compare", tmp_path / "same"))


def test_local_trainings_are_those_of_the_algorithms():
    for name in ALGORITHMS:
        problem = "regression" if name == "rolora-exact" else "quadratics"
        for frozen_a in (False, True) if name == "rolora" else (None,):
            given = {} if frozen_a is None else {"frozen_a": frozen_a}
            plan = make_plan(name, problem, given)
            algorithm = algorithm_of(name, problem, plan.settings)
            assert local_trainings(name, plan.settings) == len(getattr(algorithm, "descents", (None,)))
    assert local_trainings("mine:Method", {}) is None


def test_runs_without_a_common_round_are_not_compared(tmp_path, capsys):
    write_run(tmp_path / "a", [None, 0.5])
    write_run(tmp_path / "b", [1.0, None, 0.2], seed=1)
    assert "no round is known for which all runs have 'loss'" in refused(capsys, "compare", tmp_path)
    with pytest.raises(RunError, match="a has no 'loss' after round 0; no round is common"):
        round_of(find_runs(tmp_path), "loss", 0)


def test_what_does_not_decide_the_numbers_makes_no_groups(tmp_path):
    write_run(tmp_path / "a", [1.0, 0.5], seed=0, executor="vmap", device="cpu", evaluate_every=5)
    write_run(tmp_path / "b", [1.0, 0.5], seed=1)
    (group,) = group_runs(find_runs(tmp_path))
    assert [run.conduct for run in group.runs.values()] == [
        {"executor": "vmap", "device": "cpu", "evaluate_every": 5},
        {},
    ]


def test_the_metric_is_accuracy_where_all_have_it_else_the_loss(tmp_path, capsys):
    for name in ("a", "b"):
        table = write_run(tmp_path / name, [1.0, 0.5], algorithm=name) / METRICS
        table.write_text("round,loss,accuracy,bytes_down,bytes_up\n0,1.0,0.1,0,0\n1,0.5,0.8,100,50\n")
    runs = find_runs(tmp_path)
    assert metric_of(runs, None) == "accuracy"
    assert metric_of(runs, "loss") == "loss"
    assert list_runs(runs)[0]["accuracy"] == "0.8"
    write_run(tmp_path / "c", [1.0, 0.5], algorithm="c")
    assert metric_of(find_runs(tmp_path), None) == "loss"
    line = refused(capsys, "compare", tmp_path, "--metric", "accuracy")
    assert "c has no metric 'accuracy'; all runs have bytes_down, bytes_up, loss" in line


def test_labels_say_what_distinguishes(tmp_path):
    write_run(tmp_path / "a", [1.0], rate=0.1)
    write_run(tmp_path / "b", [1.0], rate=0.10000001)
    write_run(tmp_path / "c", [1.0], rate=0.1, problem="legendre")
    write_run(tmp_path / "d", [1.0], algorithm="fedlrt", rank=2)
    labels = [group.label for group in group_runs(find_runs(tmp_path))]
    assert labels == [
        "fedavg on ridges rate=0.1",
        "fedavg on ridges rate=0.10000001",
        "fedavg on legendre",
        "fedlrt on ridges",
    ]


def test_labels_stay_apart_where_a_setting_is_lacking(tmp_path):
    write_run(tmp_path / "a", [1.0])
    write_run(tmp_path / "b", [1.0], new_in_this_version=1)
    assert [group.label for group in group_runs(find_runs(tmp_path))] == ["fedavg", "fedavg new_in_this_version=1"]


def test_groups_hold_their_runs_by_seed(tmp_path):
    for seed in (2, 0, 10):
        write_run(tmp_path / f"s{seed}", [1.0, float(seed)], seed=seed)
    (group,) = group_runs(find_runs(tmp_path))
    assert list(group.runs) == [0, 2, 10]
    assert group.values("loss", 1) == {0: 0.0, 2: 2.0, 10: 10.0}
    assert group.values("loss", 0) == {0: 1.0, 2: 1.0, 10: 1.0}
    assert group.values("loss", 2) == Group("x", group.runs).values("rank", 1) == {}


# what is not as it should be


@pytest.mark.parametrize("action", ACTIONS)
def test_no_run_is_said_in_one_line(tmp_path, capsys, action):
    assert "is not there" in refused(capsys, action, tmp_path / "nowhere")
    assert "holds no run" in refused(capsys, action, tmp_path)
    (tmp_path / "file").write_text("x")
    assert "is not a folder" in refused(capsys, action, tmp_path / "file")


BROKEN = {
    "settings": (SETTINGS, '{"algorithm": '),
    "settings that are not a table": (SETTINGS, "[]"),
    "a foreign settings.json": (SETTINGS, '{"editor.fontSize": 12}'),
    "a seed that is not a number": (
        SETTINGS,
        '{"algorithm": "a", "problem": "p", "settings": {"seed": "x"}, "rounds": 1}',
    ),
    "no seed": (SETTINGS, '{"algorithm": "a", "problem": "p", "settings": {}, "rounds": 1}'),
    "a word for a loss": (METRICS, "round,loss,bytes_down,bytes_up\n0,much,0,0\n"),
    "too many cells": (METRICS, "round,loss,bytes_down,bytes_up\n0,1.0,0,0,7\n"),
    "too few cells": (METRICS, "round,loss,bytes_down,bytes_up\n0,1.0\n"),
    "no round": (METRICS, "round,loss,bytes_down,bytes_up\n,1.0,0,0\n"),
    "half a round": (METRICS, "round,loss,bytes_down,bytes_up\n0.5,1.0,0,0\n"),
    "no bytes": (METRICS, "round,loss\n0,1.0\n"),
    "an endless number": (METRICS, f"round,loss,bytes_down,bytes_up\n0,1.0,{'9' * 400},0\n"),
    "a torn quotation": (METRICS, 'round,loss,bytes_down,bytes_up\n0,"1"2,0,0\n'),
    "no text": (METRICS, b"round,loss,bytes_down,bytes_up\n0,\xff,0,0\n"),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_broken_run_is_named_in_one_line(tmp_path, capsys, action, what):
    name, content = BROKEN[what]
    write_run(tmp_path / "whole", [1.0, 0.5], seed=1)
    broken = write_run(tmp_path / "broken", [1.0, 0.5]) / name
    broken.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert str(broken) in refused(capsys, action, tmp_path)


def test_a_broken_ledger_is_named_by_show(tmp_path, capsys):
    ledger = write_run(tmp_path / "a", [1.0, 0.5]) / LEDGER
    ledger.write_text("round,what\n1,model\n")
    assert f"{ledger} is not a table of a run (line 2: no bytes)" in refused(capsys, "show", tmp_path)


def test_tables_that_are_none_are_value_errors():
    with pytest.raises(ValueError, match="expected after"):
        rows_of(b'a,b\n"1"2,3\n')


@pytest.mark.parametrize("kept", [(), (METRICS,), (METRICS, LEDGER)])
def test_a_run_that_has_just_begun(tmp_path, capsys, kept):
    folder = write_run(tmp_path / "a", [1.0, 0.5])
    for name in (METRICS, LEDGER):
        (folder / name).unlink() if name not in kept else (folder / name).write_text("")
    assert cells(said(capsys, "list", tmp_path))[0]["rounds"] == "0/1"
    assert said(capsys, "show", tmp_path)[0].endswith("round 0 of 1")
    for action in ("compare", "plot"):
        assert f"{folder} has no round yet" in refused(capsys, action, tmp_path)


def test_a_line_that_is_being_written_is_not_read(tmp_path, capsys):
    folder = write_run(tmp_path / "a", [1.0, 0.5, 0.25])
    for name in (METRICS, LEDGER):
        path = folder / name
        path.write_bytes(path.read_bytes()[:-3])
    (row,) = cells(said(capsys, "list", tmp_path))
    assert (row["rounds"], row["loss"], row["sent"]) == ("1/2", "0.5", "150 B")
    lines = said(capsys, "show", tmp_path)
    assert [line.split()[-1] for line in lines[-2:]] == ["200", "50"]


def test_of_runs_that_were_evaluated_at_other_rounds_the_longest_is_compared(tmp_path, capsys):
    seldom, often = [5.0, None, 3.0, None, 1.0], [5.0, 4.0, 3.0]
    write_run(tmp_path / "a", seldom)
    write_run(tmp_path / "a-every-1", often)
    write_run(tmp_path / "b-every-1", [5.0, 4.0, 3.0, 2.0, 1.5], seed=1)
    write_run(tmp_path / "b", [*seldom[:4], 1.5], seed=1)
    assert [run.folder.name for run in drop_duplicates(find_runs(tmp_path))] == ["a", "b-every-1"]
    lines = said(capsys, "compare", tmp_path)
    assert lines[0] == "loss after round 4"
    (row,) = cells(lines[1:])
    assert (row["seeds"], row["loss"]) == ("2", "1.25")
    assert len(cells(said(capsys, "list", tmp_path))) == 4
    write_run(tmp_path / "a-every-other", often)
    write_run(tmp_path / "c" / "a-every-2", often)
    assert len(drop_duplicates(find_runs(tmp_path))) == 4


def test_the_longest_run_stays_even_if_it_has_fewer_evaluations(tmp_path):
    write_run(tmp_path / "a", [6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    write_run(tmp_path / "a-every-6", [6.0, *5 * [None], 0.5])
    assert [run.folder.name for run in drop_duplicates(find_runs(tmp_path))] == ["a-every-6"]


def test_runs_on_other_data_are_compared_where_their_names_differ_only_in_evaluations(tmp_path, capsys):
    data, other = {"data": "0" * 64}, {"data": "1" * 64}
    write_run(tmp_path / "a", [5.0, 3.0], problem="mine:data", given=data)
    write_run(tmp_path / "a-every-2", [5.0, 9.0, 8.0], problem="mine:data", given=other)
    write_run(tmp_path / "a-every-3", [5.0, 3.0, 2.0], problem="mine:data", given=data | {"network": "2" * 64})
    kept = drop_duplicates(find_runs(tmp_path))
    assert [run.folder.name for run in kept] == ["a-every-2", "a-every-3"]
    rows = cells(said(capsys, "compare", tmp_path)[1:4])
    assert [(row["runs"], row["loss"]) for row in rows] == [
        ("fedavg data=111111111111", "8"),
        ("fedavg data=000000000000", "2"),
    ]


@pytest.mark.parametrize("names", list(permutations(("a", "a-every-2", "a-every-3"))))
def test_a_run_whose_data_are_not_known_replaces_none_of_two_on_different_data(tmp_path, names):
    inputs = ({}, {"data": "0" * 64}, {"data": "1" * 64})
    for name, given, losses in zip(names, inputs, ([5.0, 3.0, 2.0, 1.0], [5.0, 3.0], [5.0, 9.0]), strict=True):
        write_run(tmp_path / name, losses, problem="mine:data", given=given)
    assert [run.folder.name for run in drop_duplicates(find_runs(tmp_path))] == sorted(names)
    shutil.rmtree(tmp_path / names[2])
    assert [run.folder.name for run in drop_duplicates(find_runs(tmp_path))] == [names[0]]  # of equal data: the longer


@pytest.mark.parametrize("action", ["compare", "plot"])
def test_the_same_run_twice_is_refused(tmp_path, capsys, action, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a picture would go
    for name in ("a", "b"):
        write_run(tmp_path / name, [1.0, 0.5])
    line = refused(capsys, action, tmp_path)
    assert str(tmp_path / "a") in line
    assert str(tmp_path / "b") in line


@pytest.mark.parametrize(
    ("problem", "kind", "digests", "groups"),
    [
        ("/images", "data", ["a", "a", "a"], {"fedavg": [0, 1, 2]}),
        ("/images", "data", ["a", "b", "a"], {"fedavg data=a": [0, 2], "fedavg data=b": [1]}),
        ("/images", "data", ["a", "b", "c"], {"fedavg data=a": [0], "fedavg data=b": [1], "fedavg data=c": [2]}),
        ("/images", "data", ["a", None, "a"], {"fedavg": [0, 1, 2]}),
        ("/images", "data", ["a", None, "b"], {"fedavg data=a": [0], "fedavg data=unknown": [1], "fedavg data=b": [2]}),
        ("mnist", "partition", ["a", "b", "b"], {"fedavg partition=a": [0], "fedavg partition=b": [1, 2]}),
        ("my:data", "data", ["a", "b", "b"], {"fedavg data=a": [0], "fedavg data=b": [1, 2]}),
        ("my:data", "data", ["a", "b", "c"], {"fedavg": [0, 1, 2]}),
        ("my:data", "network", ["a", "b", "c"], {"fedavg": [0, 1, 2]}),
        ("my:data", "network", ["a", "a", "c"], {"fedavg network=a": [0, 1], "fedavg network=c": [2]}),
        (
            "/t.csv",
            "adapter",
            ["a", "b", "c"],
            {"fedavg adapter=a": [0], "fedavg adapter=b": [1], "fedavg adapter=c": [2]},
        ),
    ],
)
def test_runs_on_other_data_are_other_groups(tmp_path, capsys, problem, kind, digests, groups):
    for seed, digest in enumerate(digests):
        given = None if digest is None else {kind: digest}
        write_run(tmp_path / f"{seed}", [1.0, seed], seed=seed, problem=problem, given=given)
    found = group_runs(find_runs(tmp_path))
    assert {group.label: list(group.runs) for group in found} == groups
    notes = [line for line in said(capsys, "compare", tmp_path) if "each seed has its own" in line]
    drawn = ":" in problem and digests == ["a", "b", "c"]
    assert notes == ([f"fedavg: each seed has its own {kind}, as returned by your function"] if drawn else [])


def test_runs_of_one_seed_on_other_data_are_compared(tmp_path, capsys):
    for place, digest in enumerate("ab"):
        write_run(tmp_path / f"{place}", [1.0, place + 0.5], problem="my:data", given={"data": digest})
    rows = cells(said(capsys, "compare", tmp_path)[1:4])
    assert [(row["runs"], row["seeds"], row["loss"]) for row in rows] == [
        ("fedavg data=a", "1", "0.5"),
        ("fedavg data=b", "1", "1.5"),
    ]


@pytest.mark.parametrize("drawn", [{"samples": 20}, {"held_out": 5}])
def test_seeds_that_draw_other_texts_are_compared(tmp_path, capsys, drawn):
    for place, (algorithm, seed) in enumerate((of, seed) for of in ("fedlora", "rolora") for seed in range(3)):
        given = {"data": f"d{seed}", "partition": f"p{seed}", "network": f"n{seed}"}
        settings = {"model": "hf:minilm", "samples": None, "held_out": 0, **drawn}
        write_run(tmp_path / f"{place}", [1.0, seed], seed, algorithm, "/t.csv", given=given, **settings)
    write_run(tmp_path / "whole", [1.0, 0.5], 0, "flora", "/t.csv", given={"data": "d"}, model="hf:minilm")
    assert {group.label: len(group.runs) for group in group_runs(find_runs(tmp_path))} == {
        "fedlora": 3,
        "rolora": 3,
        "flora": 1,
    }
    assert "fedlora: each seed has its own data and partition and network, drawn from it" in said(
        capsys, "compare", tmp_path
    )
    given = {"data": "other"}
    write_run(tmp_path / "other", [1.0, 0.5], 2, "fedex-lora", "/t.csv", given=given, **settings)
    assert "fedex-lora data=other" in [group.label for group in group_runs(find_runs(tmp_path))]


def test_algorithms_on_another_model_of_the_same_name_say_so(tmp_path):
    runs = (("fedlora", "hf:m", "a"), ("rolora", "hf:m", "b"), ("flora", "hf:n", "c"), ("fedavg", None, None))
    for place, (algorithm, model, digest) in enumerate(runs):
        given = {"data": "d", **({} if digest is None else {"pretrained model": digest})}
        write_run(tmp_path / f"{place}", [1.0, 0.5], algorithm=algorithm, problem="/t.csv", model=model, given=given)
    labels = [group.label for group in group_runs(find_runs(tmp_path))]
    assert labels == ["fedlora pretrained model=a", "rolora pretrained model=b", "flora", "fedavg"]


def test_algorithms_on_other_data_say_so(tmp_path):
    for place, (algorithm, digest, side) in enumerate((("fedavg", "a", 8), ("fedlrt", "b", 8), ("fedlin", "c", 16))):
        given = {"data": digest}
        write_run(tmp_path / f"{place}", [1.0, 0.5], algorithm=algorithm, problem="/images", side=side, given=given)
    labels = [group.label for group in group_runs(find_runs(tmp_path))]
    assert labels == ["fedavg data=a", "fedlrt data=b", "fedlin"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("compare", "{}", "--metric", "round"), "no metric 'round'"),
        (("compare", "{}", "--metric", "speed"), "all runs have bytes_down, bytes_up, loss"),
        (("plot", "{}", "--metric", "speed"), "all runs have bytes_down, bytes_up, loss"),
        (("compare", "{}", "--against", "nobody"), "there are fedavg"),
        (("compare", "{}", "--against", "fedavg", "fedlrt"), "unrecognized arguments: fedlrt"),
        (("list", "{}", "{}"), "unrecognized arguments"),
        (("compare", "{}", "--round", "last"), "--round: must be a whole number"),
        (
            ("plot", "{}", "--round", "1"),
            "--round is an option of `rankproof runs compare` and `rankproof runs export`, not of",
        ),
        (
            ("list", "{}", "--metric", "loss"),
            "--metric is an option of `rankproof runs compare` and `rankproof runs plot`",
        ),
        (("show", "{}", "--out", "x"), "--out is an option of `rankproof runs plot` and `rankproof runs export`"),
        (("plot", "{}", "--against", "fedavg"), "--against is an option of `rankproof runs compare`"),
        (("delete", "{}"), "invalid choice"),
        ((), "required: ACTION"),
        (("list", ""), "must not be empty"),
    ],
)
def test_bad_usage_is_one_line(tmp_path, capsys, words, reason):
    write_run(tmp_path / "a", [1.0, 0.5])
    assert reason in refused(capsys, *(word.format(tmp_path) for word in words))


@pytest.mark.parametrize(
    ("action", "options"),
    [
        ("list", set()),
        ("show", set()),
        ("compare", {"--metric", "--problem", "--round", "--against"}),
        ("plot", {"--metric", "--problem", "--out"}),
        ("export", {"--out", "--root", "--round", "--trust"}),
    ],
)
def test_each_action_has_a_help_with_its_own_options_and_an_example(capsys, action, options):
    text = "\n".join(said(capsys, action, "--help"))
    assert set(re.findall(r"^  (--[a-z]+)", text, flags=re.M)) == options
    assert f"example: rankproof runs {action} results/runs" in text
    assert re.search(rf"^    {action} ", "\n".join(said(capsys, "--help")), flags=re.M)


def test_options_may_come_before_the_action(tmp_path, capsys):
    for place, loss in enumerate((1.0, 0.5)):
        write_run(tmp_path / f"{place}", [2.0, loss], steps=place + 1)
    after = said(capsys, "compare", tmp_path, "--metric", "loss", "--round", 1)
    assert "loss after round 1" in after[0]
    assert said(capsys, "--metric", "loss", "--round", 1, "compare", tmp_path) == after
    assert "not of `rankproof runs`;" in refused(capsys, "--metric", "loss", tmp_path)


@pytest.mark.parametrize("power", range(5))
def test_sizes_change_their_unit_where_three_digits_would_round_to_a_thousand(power):
    unit, following = ("B", "kB", "MB", "GB", "TB", "TB")[power : power + 2]
    size = 1000.0**power
    assert [format_bytes(number * size) for number in (1, 12.34, 999, 999.4)] == [
        f"{shown} {unit}" for shown in ("1", "12.3", "999", "999")
    ]
    larger = ["1,000 TB"] * 2 if power == 4 else [f"1 {following}"] * 2
    assert [format_bytes(number * size) for number in (999.6, 1000)] == larger


@pytest.mark.parametrize(("rounds", "lacking"), [(1, 1), (3, 1), (3, 2), (3, 3)])
@pytest.mark.parametrize("way", ["down", "up"])
def test_messages_of_all_rounds_but_the_last_are_there(tmp_path, capsys, rounds, lacking, way):
    """A run that is writing may lack some of its last round; a message that is missing before is named."""
    folder = write_run(tmp_path / "a", [1.0] * (rounds + 1))
    lines = (folder / LEDGER).read_text().splitlines()
    (folder / LEDGER).write_text("\n".join(x for x in lines if not x.startswith(f"{lacking},1,{way}")) + "\n")
    if lacking < rounds:
        assert f"bytes {way} until round {lacking}, where metrics.csv has" in refused(capsys, "show", folder)
    else:
        assert said(capsys, "show", folder)[0].endswith(f"round {rounds} of {rounds}")
    (folder / LEDGER).write_text("\n".join(x for x in lines if not x.startswith(f"{rounds},")) + "\n")
    assert said(capsys, "show", folder)[0].endswith(f"round {rounds} of {rounds}")  # the last round lacks all
    if rounds > 1:
        some = [x for x in lines if not x.startswith((f"{rounds},", f"{rounds - 1},1,{way}"))]
        (folder / LEDGER).write_text("\n".join(some) + "\n")
        assert f"bytes {way} until round {rounds - 1}, where" in refused(capsys, "show", folder)


def test_words_of_settings():
    assert [format_value(value) for value in (None, True, 1e-8, "k x k", [1, 2.5])] == [
        "none",
        "True",
        "1e-08",
        "k x k",
        "1,2.5",
    ]
    assert align_rows([]) == []


def test_a_trained_run_is_read_as_it_was_written(tmp_path, capsys):
    folder = tmp_path / "run"
    assert main(["train", "fedlrt", "--data", "ridges", "--rounds", "3", "--seed", "7", "--out", str(folder)]) == 0
    capsys.readouterr()
    with (folder / METRICS).open() as stream:
        last = list(csv.DictReader(stream))[-1]
    (row,) = cells(said(capsys, "list", tmp_path))
    assert (row["rounds"], row["seed"], row["loss"]) == ("3/3", "7", f"{float(last['loss']):.4g}")
    with (folder / LEDGER).open() as stream:
        entries = list(csv.DictReader(stream))
    lines = said(capsys, "show", folder)
    messages = cells(lines[next(i for i, line in enumerate(lines) if line.startswith("direction")) :])
    assert sum(int(row["bytes"].replace(",", "")) for row in messages) == sum(int(entry["bytes"]) for entry in entries)
    assert sum(int(row["messages"]) for row in messages) == len(entries)
    assert int(last["bytes_down"]) + int(last["bytes_up"]) == sum(int(entry["bytes"]) for entry in entries)


def test_a_missing_folder_is_a_run_error():
    with pytest.raises(RunError, match="is not there"):
        find_runs(Path("no such folder"))


@pytest.mark.parametrize("name", [SETTINGS, METRICS, LEDGER])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_pipe_with_the_name_of_a_runs_file_is_refused_and_not_waited_for(name, action, tmp_path, capsys):
    folder = write_run(tmp_path / "run", [1.0, 0.5])
    (folder / name).unlink()
    os.mkfifo(folder / name)
    status = main(["runs", action, str(tmp_path), *(["--out", str(tmp_path / "plot")] if action == "plot" else [])])
    said = capsys.readouterr().err
    if status:
        assert f"{folder / name} is not a file; move it away, or name another folder" in said
        assert said.count("\n") == 1
    else:
        assert name == LEDGER, "which not every command reads"


def silo_given(start="s", sizes=(40.0, 40.0), a="a", b="b", run="1", **more):
    """The facts that the settings of a run of silos a and b hold besides its options."""
    digests = {name: digest * 64 for name, digest in (("content of silo a", a), ("content of silo b", b)) if digest}
    return {"start": start * 64, "sizes of silos": list(sizes), **digests, "name at the silos": run, **more}


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ([{}, {}, {}, {}], ["fedavg", "fedlin"]),
        (
            [{}, {"b": "c"}, {"b": "d"}, {"b": "e"}],
            [
                f"{name} content of silo b={digit * 12}"
                for name, digit in zip(["fedavg"] * 2 + ["fedlin"] * 2, "bcde", strict=True)
            ],
        ),
        (
            [{}, {}, {"a": "e"}, {"a": "e"}],
            [f"fedavg content of silo a={'a' * 12}", f"fedlin content of silo a={'e' * 12}"],
        ),
        ([{}, {"start": "t"}, {}, {"start": "t"}], [f"{n} start={d * 12}" for n in ("fedavg", "fedlin") for d in "st"]),
        ([{}, {}, {}, {"start": "t"}], [f"fedavg start={'s' * 12}", *(f"fedlin start={d * 12}" for d in "st")]),
        (
            [{"sizes": (40.0, 70.0)}, {"sizes": (70.0, 40.0)}, {"sizes": (40.0, 70.0)}, {"sizes": (40.0, 70.0)}],
            ["fedavg sizes of silos=40.0,70.0", "fedavg sizes of silos=70.0,40.0", "fedlin sizes of silos=40.0,70.0"],
        ),
        ([{"b": ""}, {}, {}, {}], ["fedavg", "fedlin"]),
        ([{"a": "", "b": ""}] * 4, ["fedavg", "fedlin"]),
        (
            [{"b": ""}, {}, {"b": "c"}, {}],
            [
                "fedavg content of silo b=unknown",
                f"fedavg content of silo b={'b' * 12}",
                f"fedlin content of silo b={'c' * 12}",
                f"fedlin content of silo b={'b' * 12}",
            ],
        ),
    ],
)
def test_runs_of_silos_on_other_data_or_of_another_start_are_other_groups(changes, labels, tmp_path):
    for place, change in enumerate(changes):
        given = silo_given(run=f"{place}" * 24, **change)
        algorithm, seed = ("fedavg", "fedlin")[place // 2], place % 2
        folder = tmp_path / f"{place}"
        write_run(folder, [1.0, 0.5], seed, algorithm, "silos", given=given, silos="a,b", clients=2)
    found = group_runs(find_runs(tmp_path))
    assert [group.label for group in found] == labels
    assert not [group for group in found if group.by_seed]


def test_runs_of_other_silos_differ_in_them_and_in_the_data_of_those_they_share(tmp_path):
    write_run(tmp_path / "0", [1.0, 0.5], problem="silos", given=silo_given(), silos="a,b")
    more = {"content of silo c": "c" * 64}
    given = silo_given(sizes=(40.0, 40.0, 9.0), b="e", **more)
    write_run(tmp_path / "1", [1.0, 0.5], problem="silos", given=given, silos="a,b,c")
    assert [group.label for group in group_runs(find_runs(tmp_path))] == [
        f"fedavg silos=a,b content of silo b={'b' * 12}",
        f"fedavg silos=a,b,c content of silo b={'e' * 12}",
    ]
