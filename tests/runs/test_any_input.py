"""Whatever stands in the files of a run or on its command line: a right answer, or one line and status 2."""

import contextlib
import csv
import hashlib
import io
import json
import math
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankproof import main
from runs.catalogue import ALGORITHMS, PROBLEMS
from runs.folder import SETTINGS, stored_run, train
from runs.settings import OPTIONS, RunError, TrainSettings
from runs.storage import STATE, load

SMALL = TrainSettings(clients=2, rounds=2, steps=1, rank=1, rows=3, columns=2)
PLAIN = {key: value for key, value in asdict(SMALL).items() if key != "rounds"}
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400)
KEYS = st.sampled_from([*OPTIONS, "algorithm", "problem", "more"])
ANYTHING = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a saved state, and what its run is."""
    folder = tmp_path_factory.mktemp("saved")
    train("fedloru", "quadratics", SMALL, folder)
    return (folder / STATE).read_bytes(), {"algorithm": "fedloru", "problem": "quadratics", **PLAIN}


@given(
    st.dictionaries(st.sampled_from([*OPTIONS, "algorithm", "problem", "more"]), ANYTHING, max_size=3), st.booleans()
)
def test_settings_are_read_as_they_are_or_refused(changes, whole):
    content = {"algorithm": "fedavg", "problem": "quadratics", **(asdict(SMALL) if whole else {}), **changes}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / SETTINGS).write_text(json.dumps(content))
        try:
            algorithm, problem, found = stored_run(Path(folder))
        except RunError as error:
            message = str(error)
        else:
            assert {"algorithm": algorithm, "problem": problem, **asdict(found)} == content
            return
    assert "\n" not in message
    assert SETTINGS in message


@given(st.data())
@settings(suppress_health_check=SLOW)
def test_a_state_whose_bytes_were_changed_is_refused(saved, data):
    whole, run = saved
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    changed = whole[:start] + data.draw(st.binary(max_size=8)) + whole[end:]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / STATE).write_bytes(changed)
        if changed == whole:
            load(Path(folder), run)
            return
        with pytest.raises(RunError, match="damaged or of another version"):
            load(Path(folder), run)


@given(st.data())
@settings(suppress_health_check=SLOW)
def test_a_forged_state_runs_no_code_and_is_read_or_refused(saved, data):
    whole, run = saved
    _, head, blob = whole.split(b"\n", 2)
    content = json.loads(head)
    at, forged = data.draw(st.sampled_from(list(places(content)))), data.draw(ANYTHING | NAMES)
    within = content
    for key in at[:-1]:
        within = within[key]
    within[at[-1]] = forged
    body = json.dumps(content).encode() + b"\n" + blob[: data.draw(st.integers(0, len(blob)))]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / STATE).write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        with contextlib.suppress(RunError):
            load(Path(folder), run)


NAMES = st.sampled_from(["algorithms.federation:Federation", "os:system", "Tree", "Descent", "USV", "AB", "LoRAState"])


def places(value, at=()):
    """Paths to everything inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


NUMBERS = st.sampled_from(["nan", "inf", "-inf", "1e300", "1e-300", "-1", "0", "0.5", "1", "1e160", "x", "", "1e400"])
WHOLE = st.sampled_from(["-1", "0", "1", "2", "3", "5", "1.5", "x", "", "9" * 30, "nan"])
VALUES = {int: WHOLE, float: NUMBERS, str: st.sampled_from(["random", "keep A", "momentum", "vmap", "sequential", "x"])}
GIVEN = st.fixed_dictionaries(
    {}, optional={name: VALUES[option.kind] for name, option in OPTIONS.items() if name not in ("rows", "columns")}
)


@given(st.sampled_from([*ALGORITHMS, "fedprox"]), st.sampled_from([*PROBLEMS, "mnist"]), GIVEN)
@settings(suppress_health_check=SLOW)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_command_line_runs_or_ends_in_one_line(algorithm, problem, options):
    options = {"rounds": "2", "steps": "2", "rows": "3", "columns": "3", **options}
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    with tempfile.TemporaryDirectory() as folder:
        out, error, place = io.StringIO(), io.StringIO(), Path(folder) / "run"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            try:
                status = main(["train", algorithm, "--data", problem, *arguments, "--out", str(place)])
            except SystemExit as left:
                status = left.code
        if status == 0:
            with (place / "metrics.csv").open() as stream:
                rows = list(csv.DictReader(stream))
            assert [row["round"] for row in rows] == [str(n) for n in range(int(options["rounds"]) + 1)]
            assert all(math.isfinite(float(row["loss"])) for row in rows)
        else:
            assert status == 2
            assert out.getvalue() == ""
            assert error.getvalue().startswith("rankproof: ")
            assert len(error.getvalue().splitlines()) == 1
