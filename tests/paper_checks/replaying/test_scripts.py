"""The script of a witness: in a fresh isolated process, in an empty folder, it comes to the sides of the replay."""

import subprocess
import sys
from fractions import Fraction
from functools import cache

import pytest

from paper_checks.evaluation import Hypothesis, Violation, evaluate_replay, replay
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of
from paper_checks.replaying.replay_source import ScriptError
from paper_checks.replaying.script import script_of

LARGE_SAMPLES = {
    "fedlrt/claim-thm3-figure",
    "fedlrt/claim-het-plateau",
    "fedlrt/fig-1",
    "fedlrt/claim-het-converge",
    "fedlrt/claim-hom-clients",
    "fedlrt/claim-hom-stepsize",
    "fedlrt/claim-hom-rank@value-1-at-1-with-a-start-of-size-0-01",
    "fedlrt/fig-4@value-1-at-1-with-a-start-of-size-0-01",
}
"""Draws large matrices or follows long runs: needs numpy, and the script is read and not run."""
WITH_PACKAGES = {
    "rolora/table-10@each-trial-cut-off-47-2-as-47-20",
    "rolora/table-2@each-trial-rounded-squares-over-three",
}
"""Needs numpy or sympy, and the script is run."""

WITNESSES = {}
for paper in PAPERS:
    for (id, kind), found in replays_of(paper.package).items():
        files = [file for file in paper.to_replay(id) if file.kind == kind == "witness"]
        if files:
            WITNESSES[id] = found, files[0].values


@cache
def script_with(id: str) -> str:
    """Return the script of a witness, made once."""
    return script_of(*WITNESSES[id])


def sides(printed: str) -> tuple[float, float]:
    """Return the numbers of the last line, such as ``left = 0.25 right = 0.0 violates the statement``."""
    words = printed.splitlines()[-1].split()
    return float(words[2]), float(words[5])


@pytest.mark.sample(30)
@pytest.mark.parametrize("id", WITNESSES)
def test_a_script_alone_reproduces_both_sides_and_the_violation(id, tmp_path):
    replay, values = WITNESSES[id]
    script = script_with(id)
    alone = "The standard library alone is enough." in script.splitlines()[0]
    if id in LARGE_SAMPLES:
        compile(script, id, "exec")
        assert not alone
        return
    # -S: without the packages that are installed here.
    done = subprocess.run(
        [sys.executable, "-I", *(["-S"] if alone else []), "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = evaluate_replay(replay, values)
    assert expected.confirmed
    assert sides(done.stdout) == (expected.left, expected.right)
    assert done.stdout.rstrip().endswith(" violates the statement")
    assert "\nstated: left " in f"\n{done.stdout}"
    assert "does not" not in done.stdout.splitlines()[-1]


def test_scripts_hold_the_values_the_hypotheses_and_the_sides_and_little_else():
    scripts = {id: script_with(id).splitlines() for id in WITNESSES}
    lengths = sorted(map(len, scripts.values()))
    assert lengths[len(lengths) // 2] <= 26
    assert lengths[-1] <= 118
    assert len(scripts["fedlrt/cor-2-proof"]) == 13
    packaged = {id for id, (first, *_) in scripts.items() if "The standard library alone is enough." not in first}
    assert packaged == LARGE_SAMPLES | WITH_PACKAGES
    told = ("print(", "reads = ")  # what the two sides are, in a sentence
    assert all(len(line) <= 145 for lines in scripts.values() for line in lines[1:] if not line.startswith(told))


def run(id, tmp_path, **changed):
    """Return result of the script of an altered witness."""
    replay, values = WITNESSES[id]
    script = script_of(replay, {**values, **changed})
    return subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("id", "changed"),
    [("fedlrt/thm-4", {"step": "1/2"}), ("fedlrt/cor-2-proof", {"delta": "1/5"}), ("rolora/eq-124", {"delta": "1"})],
)
def test_a_hypothesis_that_is_not_met_ends_the_script(id, changed, tmp_path):
    done = run(id, tmp_path, **changed)
    assert done.returncode == 1
    assert "AssertionError" in done.stderr
    assert "violates" not in done.stdout


@pytest.mark.parametrize(
    ("id", "changed"), [("rolora/a4-first-step", {"step": "1/100"}), ("fedloru-v2/claim-comm", {"n": 1000, "r": 10})]
)
def test_sides_that_keep_the_statement_are_told(id, changed, tmp_path):
    done = run(id, tmp_path, **changed)
    assert done.stdout.rstrip().endswith(" does not violate the statement"), done.stderr


@replay("invented/error-by-place")
def error_by_place(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), Fraction(1, 8))


@replay("invented/error-by-name")
def error_by_name(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), error=Fraction(1, 8), reads="x and a half")


@replay("invented/all-by-place")
def all_by_place(values):
    x = Fraction(values["x"])
    return Violation(x, Fraction(1, 2), 0, "x and a half", True, [Hypothesis("x", x, "<=", 1)])


@replay("invented/strict")
def strictly(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), strict=True)


@replay("invented/strict-and-zero")
def strictly_within_nothing(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), error=Fraction(0, 5), strict=True)


@replay("invented/not-strict")
def not_strictly(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), strict=False)


def _plus_error(values):
    return Violation(Fraction(values["x"]), Fraction(1, 2), Fraction(1, 8), strict=True)


@replay("invented/delegated")
def delegated(values):
    values = dict(values)
    return _plus_error(values)


@pytest.mark.parametrize("x", ["3/8", "1/2", "5/8", "3/4"])
@pytest.mark.parametrize(
    "found",
    [error_by_place, error_by_name, all_by_place, strictly, strictly_within_nothing, not_strictly, delegated],
    ids=lambda found: found.id,
)
def test_a_script_decides_as_the_replay_on_both_sides_of_its_border(found, x, capsys):
    """Below, at the border without and with the error, and above."""
    exec(compile(script_of(found, {"x": x}), found.id, "exec"), {})
    printed = capsys.readouterr().out
    answer = evaluate_replay(found, {"x": x})
    assert printed.rstrip().endswith(" does not violate the statement") == (not answer.confirmed)
    assert sides(printed) == (float(Fraction(x)), 0.5)


def test_two_parts_of_one_name_make_no_script(monkeypatch):
    from paper_checks.fedlrt.replays import thm_4
    from paper_checks.fedlrt.replays.shared import one_step

    replay, values = WITNESSES["fedlrt/thm-4"]
    monkeypatch.setattr(
        "inspect.getsource",
        lambda module: {
            thm_4.__name__: "from paper_checks.fedlrt.replays.shared.one_step import one_step\n"
            "def inner(): pass\ndef thm_4_as_printed(values): return Violation(inner(), one_step())",
            one_step.__name__: "def inner(): pass\ndef one_step(): return inner()",
        }[module.__name__],
    )
    with pytest.raises(ScriptError, match="inner is of"):
        script_of(replay, values)
