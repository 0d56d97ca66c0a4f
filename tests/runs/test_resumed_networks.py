"""Every algorithm on linear, convolutional and normalised networks: a run that stopped resumes to the same bits."""

import sys
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch import nn

from algorithms.low_rank import USV
from algorithms.sequential import Sequential
from figures.spectrum.federation import TrainedRun
from runs.catalogue import ALGORITHMS, options_of
from runs.folder import SETTINGS, checkpoints_of, require_state, train
from runs.plan import make_plan, parts_of
from runs.settings import Conduct, RunError

MODULE = "networks_of_this_test"
ON_NETWORKS = [name for name in ALGORITHMS if name != "rolora-exact"]


def linear():
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 5), nn.Tanh(), nn.Linear(5, 3))


def convolution():
    """The second kernel, 4 x 3 x 3 x 2, has four different readings."""
    layers = nn.Conv2d(1, 3, 2), nn.Tanh(), nn.Conv2d(3, 4, (3, 2)), nn.Flatten(), nn.Linear(48, 3)
    return nn.Sequential(*layers)


def normalised():
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 5, 3), nn.Flatten(), nn.Linear(20, 3)
    return nn.Sequential(*layers)


NETWORKS = {"linear": (linear, "1"), "convolution": (convolution, "2,4"), "normalised": (normalised, "3")}


def data():
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(23, 1, 6, 6, generator=generator), torch.arange(23) % 3
    return (x[:14], y[:14]), (x[14:], y[14:])


@pytest.fixture(autouse=True)
def module(monkeypatch):
    made = ModuleType(MODULE)
    made.data = data
    for name, (network, _) in NETWORKS.items():
        setattr(made, name, network)
    monkeypatch.setitem(sys.modules, MODULE, made)


def plan_of(algorithm, network, rounds=3):
    more = {
        "clients": 3,
        "steps": 2,
        "batch": 4,
        "rank": 2,
        "tau": 2,
        "client_ranks": (1, 2, 2),
        "learning_rate": 0.01,
        "layers": NETWORKS[network][1],
        "model": f"{MODULE}:{network}",
    }
    known = options_of(algorithm, f"{MODULE}:data", {"model": more["model"]})
    given = {name: value for name, value in more.items() if name in known}
    return make_plan(algorithm, f"{MODULE}:data", given, Conduct(rounds=rounds))


def stopping(at):
    def stop(metrics):
        if metrics["round"] == at:
            raise KeyboardInterrupt

    return stop


def stored(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.csv")} | {
        path.name: path.read_bytes() for path in folder.rglob("round-000003*.safetensors")
    }


@pytest.mark.sample(25)
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("algorithm", ON_NETWORKS)
def test_a_run_that_stopped_resumes_to_the_same_bits(algorithm, network, tmp_path):
    plan = plan_of(algorithm, network)
    parts = parts_of(plan)  # made once, because the checks of a network take longer than its rounds

    def run(folder, follow=None):
        return train(plan, tmp_path / folder, follow, parts=replace(parts, executor=Sequential()))

    last = run("whole")
    with pytest.raises(KeyboardInterrupt):
        run("parts", stopping(2))
    rounds = []
    assert run("parts", rounds.append) == last
    assert [metrics["round"] for metrics in rounds] == [3]
    assert stored(tmp_path / "parts") == stored(tmp_path / "whole")
    assert run("parts", rounds.append) == last  # a run that is complete computes nothing
    assert len(rounds) == 1


@pytest.mark.parametrize("algorithm", [name for name in ON_NETWORKS if name.startswith("fedlrt")])
def test_checkpoints_of_factorised_kernels_are_measured(algorithm, tmp_path):
    plan = plan_of(algorithm, "convolution")
    train(plan, tmp_path / "run")
    run = TrainedRun.of(tmp_path / "run", "cpu", trust=True)
    found = dict(run.states())
    assert set(found) >= {0, 3}
    parts = parts_of(plan)
    U, S, V = checkpoints_of(plan, parts, tmp_path / "run").load()[0].state.algorithm
    kernel = (U["2.weight"] @ S["2.weight"] @ V["2.weight"].T).reshape(4, 3, 3, 2)
    torch.testing.assert_close(found[3]["2.weight"], kernel)


def test_checkpoints_under_edited_settings_are_refused_before_the_start_is_measured(tmp_path):
    train(plan_of("fedavg", "convolution"), tmp_path / "run")
    settings = tmp_path / "run" / SETTINGS
    settings.write_text(settings.read_text().replace('"steps": 2', '"steps": 3'))
    with pytest.raises(RunError, match=r"has been changed since rankproof wrote it: round-000003\.json has other set"):
        next(TrainedRun.of(tmp_path / "run", "cpu", trust=True).states())


@pytest.mark.parametrize("factor", [0, 2])
def test_factors_of_another_kernel_are_refused(factor, tmp_path):
    plan = plan_of("fedlrt", "convolution")
    train(plan, tmp_path / "run")
    parts = parts_of(plan)
    factors = list(checkpoints_of(plan, parts, tmp_path / "run").load()[0].state.algorithm)
    require_state(parts, USV(*factors), tmp_path)
    factors[factor] = factors[factor].map(lambda entry: entry[:-1])  # 3 x 18 or 4 x 17 in place of 4 x 18
    with pytest.raises(RunError, match="without the weights of this run"):
        require_state(parts, USV(*factors), tmp_path)
