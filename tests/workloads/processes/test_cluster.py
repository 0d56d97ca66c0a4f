"""Checks of a Ray cluster before anything is made for it: addresses, GPUs, room."""

import pytest

from rankproof import main
from runs.folder import train
from runs.plan import make_plan
from runs.settings import Conduct
from workloads.processes.cluster import LOCAL, cluster, require_graphics, workers_at_once

ray = pytest.importorskip("ray", reason="the extra ray is not installed")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1 .*refused"),
        ("127.0.0.1:99999", "127.0.0.1:99999 has an invalid port: ports end at 65535"),
        ("ray://127.0.0.1:1", "for programs outside the cluster: run this on one of its machines, with auto"),
    ],
)
def test_a_cluster_that_does_not_answer_is_known_before_a_run_is_made(address, message, tmp_path):
    plan = make_plan("fedavg", "quadratics", {"clients": 2}, Conduct(executor="ray", address=address))
    with pytest.raises(ValueError, match=message):
        train(plan, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not ray.is_initialized()


def test_too_many_workers_start_no_cluster():
    with pytest.raises(ValueError, match=r"a local cluster has at most \d+ workers, 8 for each processor"):
        cluster(LOCAL, 100_000, ValueError)
    assert not ray.is_initialized()


def test_a_dry_run_without_room_is_one_line(tmp_path, capsys):
    words = ["--dry-run", "--on", "ray", "--workers", "100000", "--gpus-per-worker", "1"]
    for command in (["figure", "fedloru/toy", "--out", str(tmp_path)], ["check", "fedlrt/thm-2"]):
        assert main([*command, *words]) == 2
        assert "a local cluster has at most" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("machine", "share", "workers"),
    [
        ((16, 1), 0.1, 10),
        ((16, 1), 0.2, 5),
        ((16, 1), 0.3, 3),
        ((16, 1), 0.6, 1),
        ((16, 3), 0.4, 6),
        ((16, 1), 1 / 3, 3),
        ((2, 1), 0.1, 2),
        ((16, 5), 2, 2),
        ((16, 0), 0.5, 0),
        ((16, 0), 0, 16),
        ((20_000, 1), 1e-4, 10_000),
    ],
)
def test_a_machine_has_as_many_workers_as_its_processors_and_gpus_allow(machine, share, workers):
    if share:
        require_graphics(share, ValueError)
    assert workers_at_once(*machine, share) == workers
