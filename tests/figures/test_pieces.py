"""Interrupted long work resumes where it stopped, and gives the same table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from figures import make as making
from figures.figure import Figure, Settings
from figures.make import make
from figures.pieces import piece

NAMES = ("one", "two", "three")
under_way: dict[str, object] = {}
"""State of the tests. In the closure of `data` it would count in the digest of the code."""


def figure(calls, stop_at=None):
    under_way.update(calls=calls, stop_at=stop_at)

    def data(settings):
        rows = []
        for name in NAMES:

            def part(name=name):
                if name == under_way["stop_at"]:
                    raise KeyboardInterrupt
                under_way["calls"].append(name)
                value = settings.rng(name).standard_normal()
                return [
                    {
                        "name": name,
                        "value": np.float64(value),
                        "small": np.float32(0.1),
                        "count": np.int64(3),
                        "missing": float("nan"),
                    }
                ]

            rows += piece(settings, name, part)
        return pd.DataFrame(rows)

    def draw(table):
        from matplotlib.figure import Figure as Picture

        picture = Picture()
        picture.subplots().plot(table.value)
        return picture

    return Figure(
        "invented/parts", "Parts", "Values.", data, draw, str, lambda table: "Nothing.", lambda table: "Three."
    )


def kept(out):
    return list((out / ".cache").glob("*.pieces/*.json"))


@pytest.mark.slow
def test_what_was_cut_off_goes_on_to_the_same_table(tmp_path):
    calls = []
    whole = make(figure([]), Settings(), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        make(figure(calls, stop_at="three"), Settings(), tmp_path / "cut")
    assert len(kept(tmp_path / "cut")) == 2
    again = make(figure(calls), Settings(), tmp_path / "cut")
    assert calls == ["one", "two", "three"]
    assert again.paths["csv"].read_bytes() == whole.paths["csv"].read_bytes()
    assert not kept(tmp_path / "cut")
    make(figure(calls), Settings(), tmp_path / "cut", recompute=True)
    assert calls == [*NAMES, *NAMES]


def test_parts_of_other_sources_or_damaged_ones_are_computed_anew(tmp_path, monkeypatch):
    calls = []
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            make(figure(calls, stop_at="two"), Settings(), tmp_path)
    assert calls == ["one"]
    kept(tmp_path)[0].write_text("{")
    with pytest.raises(KeyboardInterrupt):
        make(figure(calls, stop_at="two"), Settings(), tmp_path)
    assert calls == ["one", "one"]
    monkeypatch.setattr(making, "numbers_digest", lambda data: "others")
    with pytest.raises(KeyboardInterrupt):
        make(figure(calls, stop_at="two"), Settings(), tmp_path)
    assert calls == ["one"] * 3
    assert len(kept(tmp_path)) == 2  # the damaged one is not as it was written, and stays


def test_other_seeds_and_names_have_their_own(tmp_path):
    settings = Settings(pieces=tmp_path / "parts")
    assert piece(settings, "a", lambda: [{"x": 1}]) == [{"x": 1}]
    assert piece(settings, "b", lambda: [{"x": 2}]) == [{"x": 2}]
    assert piece(settings, "a", lambda: [{"x": 3}]) == [{"x": 1}]
    one, other = settings.pieces.glob("*.json")
    texts = other.read_text(), one.read_text()
    one.write_text(texts[0])  # the numbers of the other part, under this name
    other.write_text(texts[1])
    assert piece(settings, "a", lambda: [{"x": 4}]) == [{"x": 4}]
    assert piece(settings, "b", lambda: [{"x": 5}]) == [{"x": 5}]
    assert piece(replace(settings, pieces=None), "a", lambda: [{"x": 3}]) == [{"x": 3}]
    with pytest.raises(TypeError, match="not a value of a table"):
        piece(settings, "c", lambda: [{"x": object()}])
