"""Any content of a figure's cache gives the right table or a one-line error, never silently another table."""

import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure as Picture

from figures import make as making
from figures import stored_numbers as storing
from figures.figure import Figure, FigureError, Settings
from figures.make import make

FIGURE = Figure(
    id="invented/line",
    title="A line",
    caption="y = x.",
    data=lambda _: pd.DataFrame({"x": [0.5, 1.0], "n": ["", "b"]}),
    draw=lambda table: Picture(),
    headline=lambda table: "A line.",
    found=lambda table: "Stated: nothing.",
    sizes=lambda table: f"{len(table)} points.",
)
LAPTOP = Settings(scale="laptop", progress=lambda text: None)
KEPT = Path(".cache", "invented-line.laptop.0.cpu.json")
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just([]) | st.just({})


@st.composite
def altered(draw, content):
    """A file's bytes, cut or overwritten; as JSON, with other values or without some; or any bytes."""
    how = draw(st.sampled_from(["cut", "bytes", "any", "deep", "value", "value"]))
    at = draw(st.integers(0, len(content)))
    if how == "cut":
        return content[:at]
    if how == "bytes":
        return content[:at] + draw(st.binary(max_size=4)) + content[at + draw(st.integers(0, 4)) :]
    if how == "value" and content.startswith(b"{"):
        values = json.loads(content)
        for name in draw(st.lists(st.sampled_from(sorted(values)), max_size=2, unique=True)):
            if draw(st.booleans()):
                values[name] = draw(LEAF)
            else:
                del values[name]
        return json.dumps(values).encode()
    return b"[" * 50_000 if how == "deep" else draw(st.binary(max_size=30))


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """A figure and what is kept of it, of the same bytes in every run."""
    monkeypatch.setattr(making, "render", lambda draw: {"png": b"", "pdf": b"", "svg": b""})
    monkeypatch.setattr(making, "numbers_digest", lambda data: "of these sources")
    monkeypatch.setattr(making.time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(making, "machine", lambda: dict.fromkeys(storing.MACHINE, "invented"))
    return make(FIGURE, LAPTOP, tmp_path)


@given(st.data())
@settings(suppress_health_check=SLOW)
def test_any_kept_numbers_are_those_or_computed_again(whole, data):
    content = (whole.paths["csv"].parent / KEPT).read_bytes()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / KEPT).parent.mkdir()
        (Path(name) / KEPT).write_bytes(data.draw(altered(content)))
        again = make(FIGURE, LAPTOP, Path(name))
    assert again.table.equals(whole.table)
    assert again.manifest["files"] == whole.manifest["files"]


@given(st.data(), st.sampled_from(["csv", "manifest"]))
@settings(suppress_health_check=SLOW)
def test_any_stored_numbers_are_those_or_named(whole, data, kind):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        stored = Path(name) / "stored"
        stored.mkdir()
        for own in ("csv", "manifest"):
            content = whole.paths[own].read_bytes()
            (stored / whole.paths[own].name).write_bytes(data.draw(altered(content)) if own == kind else content)
        patch.setattr(making, "stored_numbers", lambda f, s: storing.stored_numbers(f, s, stored))
        try:
            again = make(FIGURE, LAPTOP, Path(name) / "new")
        except FigureError as error:
            said = str(error)
        else:
            assert again.table.equals(whole.table)
            return
    assert "\n" not in said
    assert whole.paths[kind].name in said or whole.paths["manifest"].name in said


def test_streams_of_other_purposes_and_seeds_differ_and_stay_as_they_are():
    """Stored numbers are drawn from them, so the streams of a purpose are pinned, too."""
    purposes = [("a", "bc"), ("ab", "c"), ("abc",), ("a", 1), ("a", 10), ("a", 1, 0), (1, "a")]
    drawn = {(seed, one): int(Settings(seed=seed).rng(*one).integers(2**62)) for one in purposes for seed in (0, 1, 2)}
    assert len(set(drawn.values())) == len(drawn)
    assert Settings(seed=3).rng("a", 1).integers(10**9, size=2).tolist() == [553154107, 864496774]
