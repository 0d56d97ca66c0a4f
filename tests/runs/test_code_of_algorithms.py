"""A run notices that the file with a user's algorithm or metric has changed."""

import importlib
import json
import py_compile
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from rankproof import main
from runs.folder import SETTINGS
from runs.own_code import code_digests
from runs.plan import StoredRun, changed_code, describe_environment_changes, make_plan, write_plan

CODE = """
from dataclasses import dataclass

from algorithms.descent import Descent
from algorithms.fedavg import local_descent


@dataclass(frozen=True)
class Scaled:
    local: Descent

    def start(self, fed, w):
        return w

    def round(self, fed, cohort, state):
        mean = fed.mean(local_descent, to=cohort, draw=self.local.draw, w=state, settings=self.local)
        return state + 1.0 * (mean - state)

    def weights(self, state):
        return state
"""
NAME = "scaled_update:Scaled"


@pytest.fixture
def train(tmp_path, monkeypatch, capsys):
    """Train a number of rounds by some code, and return what is said and the code that the folder names."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def made(rounds, code=CODE):
        (tmp_path / "scaled_update.py").write_text(code)
        sys.modules.pop("scaled_update", None)
        assert main(["train", NAME, "--rounds", str(rounds), "--steps", "2", "--out", str(tmp_path / "run")]) == 0
        stored = json.loads((tmp_path / "run" / SETTINGS).read_text())
        return capsys.readouterr().err, stored["versions"][f"code of {NAME}"]

    yield made
    sys.modules.pop("scaled_update", None)


def test_code_that_changed_is_named_and_kept_in_the_folder(train):
    other = CODE.replace("1.0 *", "0.5 *")
    said, first = train(1)
    assert said == ""
    said, again = train(2)
    assert "code" not in said
    assert again == first
    said, both = train(3, other)
    assert f"the code of {NAME} has changed since the run began, so its rounds are of two algorithms" in said
    assert "resuming from round 2" in said
    assert both.startswith(f"{first}, then ")
    said, kept = train(4, other)
    assert "code" not in said
    assert kept == both
    assert train(5)[1] == f"{both}, then {first}"


def test_code_of_a_metric_that_changed_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "shared_words.py").write_text("def share(found, expected):\n    return 0.5\n")
    importlib.import_module("shared_words")
    plan = make_plan("fedavg", "quadratics", {})
    plan = replace(plan, settings={**plan.settings, "metrics": "exact_match, shared_words:share"})
    run = StoredRun(plan, {}, stored_versions(tmp_path / "run", plan))
    assert changed_code(plan, run) == []
    (tmp_path / "shared_words.py").write_text("def share(found, expected):\n    return 0.7\n")
    line = "the code of shared_words:share has changed since the run began, so its rounds are of two metrics"
    assert line in describe_environment_changes(plan, run)


def test_code_that_an_algorithm_imports_is_watched_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "my_methods"
    package.mkdir()
    files = {
        "my_methods/__init__.py": "",
        "my_methods/chosen.py": "from my_methods import steps\nimport far_words, algorithms.fedavg\nMade = dict\n",
        "my_methods/steps.py": "from .deeper import size\n",
        "my_methods/deeper.py": "size = 1.0\n",
        "my_methods/unused.py": "size = 1.0\n",
        "far_words.py": "size = 1.0\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    importlib.import_module("my_methods.chosen")
    importlib.import_module("my_methods.unused")
    plan = replace(make_plan("fedavg", "quadratics", {}), algorithm="my_methods.chosen:Made")
    run = StoredRun(plan, {}, stored_versions(tmp_path / "run", plan))
    watched = [name.removeprefix("code of my_methods.chosen:Made") for name in run.versions if name.startswith("code")]
    assert sorted(watched) == ["", " in far_words", " in my_methods", " in my_methods.deeper", " in my_methods.steps"]
    (tmp_path / "my_methods/unused.py").write_text("size = 2.0\n")
    assert changed_code(plan, run) == []
    (tmp_path / "my_methods/deeper.py").write_text("size = 2.0\n")
    (line,) = describe_environment_changes(plan, run)
    what = "my_methods.deeper, which your algorithm imports,"
    assert line == f"{what} has changed since the run began, so its rounds may be of two algorithms"
    earlier = replace(run, versions={name: one for name, one in run.versions.items() if " in " not in name})
    assert changed_code(plan, earlier) == []  # an earlier version watched the module of the algorithm alone


def test_libraries_below_a_module_are_not_its_users_code(tmp_path, monkeypatch):
    """The standard library and installed packages of an environment, and a module that is loaded later."""
    site = tmp_path / "env" / "lib" / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "env" / "lib" / "colorsys.py").write_text("size = 1\n")
    (site / "installed_words.py").write_text("size = 1\n")
    (tmp_path / "own_words.py").write_text("import colorsys, installed_words\n\ndef later():\n    import late_words\n")
    (tmp_path / "late_words.py").write_text("size = 1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "env" / "lib"), str(site), *sys.path])
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    importlib.import_module("own_words")
    assert list(code_digests(["own_words:later", "fedavg", "no_such_module:it"])["own_words:later"]) == ["own_words"]
    monkeypatch.delitem(sys.modules, "colorsys")


def test_a_file_may_be_loaded_under_any_name(tmp_path, monkeypatch):
    (tmp_path / "one.py").write_text("size = 1.0\n")
    name = ".".join(30 * ["deep"])
    module = ModuleType(name)
    module.__file__ = str(tmp_path / "one.py")
    monkeypatch.setitem(sys.modules, name, module)
    assert list(code_digests([f"{name}:size"])[f"{name}:size"]) == [name]


def test_compiled_code_is_watched(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "only_compiled.py").write_text("size = 1.0\n")
    py_compile.compile(str(tmp_path / "only_compiled.py"), str(tmp_path / "only_compiled.pyc"))
    (tmp_path / "only_compiled.py").unlink()
    importlib.import_module("only_compiled")
    found = code_digests(["only_compiled:size"])
    assert list(found["only_compiled:size"]) == ["only_compiled"]
    (tmp_path / "only_compiled.pyc").write_bytes(b"other code")
    assert code_digests(["only_compiled:size"]) != found


def stored_versions(folder, plan):
    folder.mkdir()
    write_plan(folder, plan)
    return json.loads((folder / SETTINGS).read_text())["versions"]
