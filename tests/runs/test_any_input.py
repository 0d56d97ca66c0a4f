"""Any settings of a run and any command line give a right answer, or one line and status 2."""

import contextlib
import csv
import io
import json
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rankproof import main
from runs.catalogue import ALGORITHMS, TOYS, options_of
from runs.plan import SETTINGS, make_plan, read_plan, write_plan
from runs.settings import STAYING, RunError

SMALL = make_plan("fedavg", "quadratics", {"clients": 2, "steps": 1, "rows": 3, "columns": 2})
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400)
ANYTHING = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
PARTS = ["algorithm", "problem", "rounds", "settings", "conduct", "versions", "earlier", "more"]
OUTER = st.dictionaries(st.sampled_from(PARTS), ANYTHING, max_size=2)
INNER = st.dictionaries(st.sampled_from([*SMALL.settings, *STAYING, "tau", "more"]), ANYTHING, max_size=3)


@given(OUTER, INNER, st.booleans())
@example({"settings": {"\n": None}}, {}, False)
def test_settings_are_read_as_they_are_or_refused(outer, inner, whole):
    with tempfile.TemporaryDirectory() as folder:
        write_plan(Path(folder), SMALL)
        stored = json.loads((Path(folder) / SETTINGS).read_text())
        content = {**stored, "settings": {**(stored["settings"] if whole else {}), **inner}, **outer}
        (Path(folder) / SETTINGS).write_text(json.dumps(content))
        try:
            plan = read_plan(Path(folder))
        except RunError as error:
            plan, said = None, str(error)
    if plan is None:
        assert "\n" not in said
        assert SETTINGS in said
        return
    known = {name: value for name, value in content["settings"].items() if name not in STAYING}
    assert plan.identity == {"algorithm": content["algorithm"], "problem": content["problem"], **known}
    assert plan.conduct.rounds == content["rounds"]
    staying = {**content["settings"], **content.get("conduct", {})}
    assert all(getattr(plan.conduct, name) == staying[name] for name in STAYING if name in staying)


NUMBERS = st.sampled_from(["nan", "inf", "-inf", "1e300", "1e-300", "-1", "0", "0.5", "1", "1e160", "x", "", "1e400"])
WHOLE = st.sampled_from(["-1", "0", "1", "2", "3", "5", "1.5", "x", "", "9" * 30, "nan"])
WORDS = st.sampled_from(["random", "keep A", "momentum", "vmap", "sequential", "cpu", "x", ""])
VALUES = {int: WHOLE, float: NUMBERS, str: WORDS, tuple: st.just("0.5,0.9")}
SIZES = ("rows", "columns", "evaluate_every")


@given(st.data(), st.sampled_from([*ALGORITHMS, "fedfoo"]), st.sampled_from([*TOYS, "mnistt"]))
@settings(suppress_health_check=SLOW)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_command_line_runs_or_ends_in_one_line(data, algorithm, problem):
    known = options_of(algorithm, problem, {}) if algorithm in ALGORITHMS and problem in TOYS else {}
    kinds = {name: option.kind for name, option in known.items() if name not in SIZES and option.kind is not bool}
    chosen = data.draw(st.lists(st.sampled_from([*kinds, "tau", "rounds"]), max_size=4, unique=True))
    drawn = {name: data.draw(VALUES[kinds.get(name, int)], label=name) for name in chosen}
    small = {name: "3" for name in ("rows", "columns") if name in known} | {"rounds": "2"}
    options = {**small, **({"steps": "2"} if "steps" in known else {}), **drawn}
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
