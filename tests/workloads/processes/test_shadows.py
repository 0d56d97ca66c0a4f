"""Modules of the current folder that hide the package's own from workers are named before any worker starts."""

import sys
from importlib import import_module
from importlib.machinery import PathFinder

import pytest
import torch
from torch import nn

from algorithms.executors.processes import Processes
from algorithms.federation import FederationError
from hessian import Curvature, CurvatureError
from workloads.processes.cluster import cluster, search_path, use_search_path
from workloads.processes.pool import Place, RayPool
from workloads.processes.shadows import require_own_modules
from workloads.processes.worker_pool import WorkerPool

X, Y = torch.ones(4, 2), torch.tensor([0, 1, 0, 1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which modules are looked for in first, as the commands have it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def hide(folder, name):
    if name.endswith(".py"):
        (folder / name).write_text("")
    else:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("")


@pytest.mark.parametrize("name", ["hessian.py", "algorithms.py", "workloads", "torch.py"])
def test_every_stack_of_workers_names_the_module(folder, name):
    hide(folder, name)
    said = rf"workers would import {folder / name} instead of {name.removesuffix('.py')} of .*: rename it"
    with pytest.raises(CurvatureError, match=said):
        Curvature(nn.Linear(2, 2), nn.CrossEntropyLoss(), (X, Y), workers=2)
    with pytest.raises(FederationError, match=said):
        Processes(2)._start()
    pytest.importorskip("ray")
    with pytest.raises(ValueError, match=said):
        cluster("local", 1, ValueError)


def test_what_hides_nothing_is_left_alone(folder, monkeypatch):
    (folder / "workloads").mkdir()  # a folder of data is not a package
    hide(folder, "mine.py")
    require_own_modules(ValueError)
    hide(folder, "hessian.py")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(folder)])
    require_own_modules(ValueError)


def test_a_worker_of_ray_looks_into_the_current_folder_first(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    hide(tmp_path, "mine.py")
    require_own_modules(ValueError, here_first=True)
    hide(tmp_path, "workloads")
    require_own_modules(ValueError)
    with pytest.raises(ValueError, match=rf"workers would import {tmp_path / 'workloads'} instead of workloads"):
        cluster("local", 1, ValueError)


def test_a_worker_of_ray_then_looks_where_its_command_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hide(tmp_path, "two.py")
    package = tmp_path / "two" / "src"
    package.mkdir(parents=True)
    hide(package, "two.py")
    monkeypatch.setattr(sys, "path", ["", *sys.path[:2], str(package)])
    command = search_path()
    assert command == [str(tmp_path), *sys.path[1:]]
    monkeypatch.setattr(sys, "path", [str(tmp_path), "rays", *sys.path[1:2]])
    use_search_path(command[1:])
    assert sys.path == [*command[1:], str(tmp_path), "rays"]
    assert PathFinder.find_spec("two").origin == str(package / "two.py")


@pytest.mark.slow
def test_a_pool_of_ray_calls_the_function_that_was_submitted(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one_of_two.py").write_text("def which():\n    return 'src'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "src")])
    which = import_module("one_of_two").which
    with RayPool(Place(workers=1), ValueError) as pool:
        (tmp_path / "one_of_two.py").write_text("def which():\n    return 'the current folder'\n")
        assert pool.submit(which).result() == "src"


def test_a_worker_that_ends_by_its_own_error_is_not_said_to_want_memory(capfd):
    crew = WorkerPool(1, sys.exit)
    said = r"a worker ended \(status 1\), and its error, if it printed one, is above"
    with pytest.raises(ValueError, match=said), crew.closing_on_error(ValueError, crew.close):
        crew.connections[0].recv()
    assert "Connection" in capfd.readouterr().err
