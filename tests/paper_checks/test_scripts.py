"""The script of a witness: in a fresh isolated process, in an empty folder, it comes to the sides of the replay."""

import subprocess
import sys

import pytest

from paper_checks.evaluation import evaluated
from paper_checks.ledger import PAPERS
from paper_checks.replay import replays_of, stored
from paper_checks.script import ScriptError, script_of

LARGE_SAMPLES = {
    "fedloru-v2/thm-3.3", "fedloru-v2/eq-51-54", "fedloru-v2/eq-57-58", "fedloru-v2/prop-3.1-bulk",
    "fedloru-v2/assump-bulk", "fedloru-v2/eq-36-conv", "fedloru-v2/eq-37", "fedloru-v2/thm-3.2",
    "fedlrt/claim-het-plateau", "fedlrt/fig-1", "fedlrt/claim-het-converge",
}  # fmt: skip
"""Draws large matrices or follows long runs: the script is read and not run."""

WITNESSES = {}
for paper in PAPERS:
    for (id, kind), found in replays_of(paper.package).items():
        files = [file for file in stored(paper.folder, id) if file.kind == kind == "witness"]
        if files:
            WITNESSES[id] = found, files[0].values


def number(line: str) -> float:
    """The last number of a line such as ``left = 1/4 = 0.25``."""
    return float(line.rpartition("=")[2])


@pytest.mark.parametrize("id", WITNESSES)
def test_a_script_alone_reproduces_both_sides_and_the_violation(id, tmp_path):
    replay, values = WITNESSES[id]
    script = script_of(replay, values)
    alone = "The standard library alone is enough." in script.splitlines()[0]
    if id in LARGE_SAMPLES:
        definitions: dict[str, object] = {"__name__": "script"}
        exec(compile(script, id, "exec"), definitions)
        assert callable(definitions[replay.evaluate.__name__])
        return
    # -S: without the packages that are installed here.
    done = subprocess.run(
        [sys.executable, "-I", *(["-S"] if alone else []), "-c", script],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *_, left, right, told = done.stdout.rstrip().splitlines()
    expected = evaluated(replay, values)
    assert expected.confirmed
    assert (number(left), number(right)) == (expected.left, expected.right)
    assert told.startswith("violates the statement")
    assert "NOT MET" not in done.stdout


def test_most_scripts_need_the_standard_library_alone():
    firsts = [script_of(replay, values).splitlines()[0] for replay, values in WITNESSES.values()]
    assert sum("The standard library alone is enough." in line for line in firsts) >= 100


def test_a_changed_value_is_told(tmp_path):
    replay, values = WITNESSES["fedlrt/thm-4"]
    script = script_of(replay, {**values, "step": "1/2"})
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "does not violate the statement" in done.stdout


def test_two_parts_of_one_name_make_no_script(monkeypatch):
    from paper_checks.fedlrt.replays import simplified, truncation_steps

    replay, values = WITNESSES["fedlrt/thm-4"]
    monkeypatch.setattr("inspect.getsource", lambda module: {
        simplified.__name__: "from paper_checks.fedlrt.replays.truncation_steps import one_step\n"
        "def inner(): pass\ndef thm_4(values): return inner(), one_step()",
        truncation_steps.__name__: "def inner(): pass\ndef one_step(): return inner()",
    }[module.__name__])  # fmt: skip
    with pytest.raises(ScriptError, match="inner is of"):
        script_of(replay, values)
