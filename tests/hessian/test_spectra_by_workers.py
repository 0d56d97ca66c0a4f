"""Pieces of the data in other processes: the numbers of one process to rounding, and no process that is left behind."""

import gc
import os
import signal
import tempfile
import types
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest
import shared_work
import torch
from curvature_cases import cases
from ended_commands import ended
from hypothesis import given
from hypothesis import strategies as st
from shared_work import NETWORK, X, Y, parts
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from hessian import Curvature, CurvatureError, RouteWarning, SpectrumSettings, Workers, measure_spectrum, stable_rank
from hessian.operators import shared_rows
from hessian.operators.curvature import TOGETHER
from hessian.operators.shards import shares_of
from workloads.image_networks.small import perceptron, small_convnet

HERE = Path(__file__).parent
CASES = cases()
LOSS = nn.CrossEntropyLoss()


@pytest.fixture(scope="module")
def three():
    """Three processes, one for each of three devices, which all tests share: each takes seconds to start."""
    with Workers("cpu, cpu,cpu") as workers:
        yield workers


def vectors(P, count=5):
    return torch.randn(count, P, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def same(there, here, vectors, relative=1e-13):
    expected = here.products(vectors)
    assert float((there.products(vectors) - expected).norm()) <= relative * float(expected.norm())


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["cut", "dealt", "vmap", "kept graphs"])
def test_products_are_those_of_one_process(name, way, three):
    case = CASES[name]
    data = case.uneven() if way in ("dealt", "kept graphs") else case.batch()
    options = {**case.options, **{"vmap": {"vectorize": 3}, "kept graphs": {"keep_graph": True}}.get(way, {})}
    here = Curvature(case.model, case.loss, data, **options)
    there = Curvature(case.model, case.loss, data, **options, workers=three)
    same(there, here, vectors(here.P))
    cost = there.cost()
    assert cost.workers == (2 if way in ("dealt", "kept graphs") else 3)
    assert cost.products == 5
    assert cost.gradient_seconds > 0.0
    assert there.unused == here.unused
    assert there.samples == here.samples
    assert there.loss == pytest.approx(here.loss, rel=1e-14)


@pytest.mark.parametrize("matrix", ["gauss-newton", "residual", "fisher", "empirical-fisher"])
def test_so_are_those_of_other_matrices(matrix, three):
    for loss, data in ((LOSS, (X, Y)), (nn.MSELoss(), (X, torch.nn.functional.one_hot(Y).double()))):
        for given_data in (data, [tuple(t[:4] for t in data), tuple(t[4:] for t in data)]):
            here = Curvature(NETWORK, loss, given_data, matrix=matrix)
            there = Curvature(NETWORK, loss, given_data, matrix=matrix, workers=three)
            same(there, here, vectors(here.P))


@pytest.mark.slow
@pytest.mark.parametrize("network", ["perceptron", "convolutional"])
def test_intervals_and_spectra_are_those_of_one_process(network, three):
    images = torch.randn(30, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    model = perceptron(64, (6,), 3, 0, dtype=torch.float32)
    inputs = images.flatten(1)
    if network == "convolutional":
        model, inputs = small_convnet(8, (2,), 3, 0).float(), images
    data = inputs, torch.arange(30) % 3
    settings = SpectrumSettings(outliers=3, probes=1, steps=15)
    one, other = (measure_spectrum(Curvature(model, LOSS, data, workers=w), settings) for w in (None, three))
    for name in ("value", "low", "high"):
        assert getattr(other.stable_rank, name) == pytest.approx(getattr(one.stable_rank, name), rel=1e-4)
    assert other.stable_rank.products == one.stable_rank.products
    scale = one.stable_rank.spectral_norm.value
    assert other.eigenvalues == pytest.approx(one.eigenvalues, abs=1e-5 * scale)
    direct = stable_rank(model, LOSS, data, workers=2)
    assert direct.value == pytest.approx(stable_rank(model, LOSS, data).value, rel=1e-4)


def test_blocks_of_all_kinds_are_those_of_one_process(three):
    for data in ((X, Y), parts(4, 9)):
        here, there = (Curvature(NETWORK, LOSS, data, workers=w) for w in (None, three))
        for name, block in there.blocks().items():
            same(block, here.blocks()[name], vectors(block.P))
            assert block.cost().gradient_seconds > 0.0
        nested = there.block(["0.*", "2.weight"]).block("*.weight")
        same(nested, here.block("*.weight"), vectors(nested.P))
        cross, expected = there.between("2.*", "0.*"), here.between("2.*", "0.*")
        same(cross, expected, vectors(cross.shape[1]))
        same(cross.T, expected.T, vectors(cross.shape[0]))
        inner = there.block(["0.weight", "2.*"]).between("2.bias", "0.weight")
        same(inner, here.between("2.bias", "0.weight"), vectors(inner.shape[1]))


@pytest.mark.parametrize(
    "data",
    [
        DataLoader(TensorDataset(X, Y), batch_size=5),
        DataLoader(TensorDataset(X, Y), batch_size=5, num_workers=1),
        DataLoader(shared_work.Stream(), batch_size=4),
        DataLoader(shared_work.Whole(), batch_size=None),
        shared_work.Reader(),
        tuple(parts(3, 4, 20)),
        [(X, Y)],
        {"input": X, "labels": Y},
    ],
    ids=["loader", "processes", "stream", "whole batches", "reader", "tuple", "one in a list", "mapping"],
)
def test_all_kinds_of_data_are_dealt(data, three):
    model, loss = NETWORK, LOSS
    if isinstance(data, dict):
        model, loss = Named(), of_labels
    here, there = (Curvature(model, loss, data, workers=w) for w in (None, three))
    same(there, here, vectors(here.P))
    assert there.cost().workers == 3


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = NETWORK

    def forward(self, input, labels):
        return self.inner(input)


def of_labels(output, batch):
    return nn.functional.cross_entropy(output, batch["labels"])


@pytest.mark.parametrize("samples", [1, 2, 4])
def test_fewer_samples_or_batches_than_workers(samples, three):
    data = X[:samples], Y[:samples]
    here = Curvature(NETWORK, LOSS, data)
    for given_data in (data, [data], [(X[i : i + 1], Y[i : i + 1]) for i in range(samples)]):
        there = Curvature(NETWORK, LOSS, given_data, workers=three)
        same(there, here, vectors(here.P))
        assert there.cost().workers == min(samples, 3)


@pytest.mark.slow
def test_workers_that_had_nothing_to_do_take_part_where_more_are_needed():
    """Two of them have not seen the memory that is large enough already."""
    with Workers(3) as workers:
        for samples, rows in ((1, 8), (4, 1)):
            here, there = (Curvature(NETWORK, LOSS, (X[:samples], Y[:samples]), workers=w) for w in (None, workers))
            same(there, here, vectors(here.P)[:1].expand(rows, -1).contiguous())
            assert there.cost().workers == min(samples, 3)


def test_counts_and_penalties_are_those_of_one_process(three):
    targets = Y.clone()
    targets[2:9] = -100  # a piece of three would have none that counts
    targets[9:] = -100
    count = {"count": shared_work.kept}
    here, there = (Curvature(NETWORK, LOSS, (X, targets), **count, workers=w) for w in (None, three))
    same(there, here, vectors(here.P))
    assert there.cost().workers < 3
    penalised = shared_work.Penalised(NETWORK)
    here, there = (Curvature(NETWORK, penalised, (X, Y), workers=w) for w in (None, three))
    same(there, here, vectors(here.P))
    assert float((here @ torch.ones(here.P).double()).norm()) > 0.0


def test_batch_statistics_need_whole_batches(three):
    network = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)).double()
    with pytest.raises(
        CurvatureError,
        match=r"cannot be divided among 3 workers, because batch norm .*: pass "
        r"several batches",
    ):
        Curvature(network, LOSS, (X, Y), batch_norm="batch", workers=three)
    here, there = (Curvature(network, LOSS, parts(8, 15), batch_norm="batch", workers=w) for w in (None, three))
    same(there, here, vectors(here.P))
    running = [Curvature(network, LOSS, (X, Y), batch_norm="running", workers=w) for w in (None, three)]
    same(running[1], running[0], vectors(here.P))


def test_what_does_not_go_over_workers_is_one_error_and_they_live_on(three):
    def refused(words, model=NETWORK, loss=LOSS, data=(X, Y), workers=three):
        with pytest.raises(CurvatureError, match=words) as caught:
            Curvature(model, loss, data, workers=workers)
        assert "\n" not in str(caught.value)

    Curvature(NETWORK, LOSS, (X, Y), workers=three)
    processes = three._link._pool.processes
    refused("cannot be sent to workers .*lambda", loss=lambda out, y: LOSS(out, y))
    refused("the loss in the workers differs from the loss in this process", loss=shared_work.penalised_by_name)
    refused("has loss .* in this process and .* in a worker", loss=shared_work.other_in_workers)
    weighted = nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 4.0]))
    refused("not a mean over independent .*as one batch, to one process", loss=weighted)
    refused("several lengths", data={"input": X, "labels": Y[:5]}, model=Named(), loss=of_labels)
    refused("dropout is on", model=nn.Sequential(nn.Linear(6, 3), nn.Dropout()).double())
    refused(
        r"in a worker failed: ZeroDivisionError \(shared_work.py, line \d+\): no such",
        loss=shared_work.fails_in_workers,
    )
    refused("workers must be at least 1", workers=0)
    refused("device 'gpu7' does not exist", workers="cpu,gpu7")
    refused("workers must be a number, or devices", workers=())
    refused("workers must be at least 1", workers=True)
    if not torch.cuda.is_available():
        refused("device cuda:1 does not exist: torch sees 0 CUDA devices", workers="cpu,cuda:1")
    assert three._link._pool.processes is processes
    assert all(process.is_alive() for process in processes)


def test_a_wrong_sum_is_seen(monkeypatch, three):
    """The comparison with this process catches it."""
    monkeypatch.setattr("hessian.operators.data_parallel.shares_of", lambda sizes, workers: [range(1, 2), range(1, 2)])
    with pytest.raises(CurvatureError, match="the loss in the workers differs"):
        Curvature(NETWORK, LOSS, parts(4), workers=three)


def test_matrices_in_turns_share_workers_and_are_forgotten(three):
    here = {scale: Curvature(NETWORK, LOSS, (scale * X, Y)) for scale in (1.0, 2.0)}
    there = {scale: Curvature(NETWORK, LOSS, (scale * X, Y), workers=three) for scale in (1.0, 2.0)}
    for scale in (1.0, 2.0, 1.0):
        same(there[scale], here[scale], vectors(here[1.0].P))
    number = there[1.0]._shards._number
    del there[1.0]
    gc.collect()
    assert number in three.forgotten
    same(there[2.0], here[2.0], vectors(here[1.0].P))


def test_more_vectors_need_more_shared_memory_and_less_do_not(three):
    here, there = (Curvature(NETWORK, LOSS, (X, Y), workers=w) for w in (None, three))
    for count in (1, 40, 3, 200, 1):
        same(there, here, vectors(here.P, count))
    answer = there.products(vectors(here.P, 2))
    before = answer.clone()
    there.products(vectors(here.P, 3))
    assert torch.equal(answer, before)  # what is returned is nobody else's


def test_ways_to_multiply_are_tried(three):
    there = Curvature(NETWORK, LOSS, (X, Y), vectorize="trial", workers=three)
    assert there.together in (1, TOGETHER)
    same(there, Curvature(NETWORK, LOSS, (X, Y)), vectors(there.P))


def test_workers_say_that_several_vectors_at_once_go_wrong(three):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 4, 1), nn.GroupNorm(1, 4), nn.Tanh(), nn.Flatten(), nn.Linear(16, 2))
        given = torch.randn(3, 1, 2, 2).double(), torch.randint(2, (3,))
    model.double()
    here = Curvature(model, LOSS, given)
    there = Curvature(model, LOSS, given, vectorize=4, workers=three)
    with pytest.warns(RouteWarning, match="one at a time"):
        same(there, here, vectors(here.P))
    assert there.cost().fault
    same(there.block("1.*"), here.block("1.*"), vectors(8))


def test_what_workers_hold_is_part_of_the_budget(three):
    here, there = (Curvature(NETWORK, LOSS, (X, Y), memory="8 GiB", workers=w) for w in (None, three))
    assert there.held["workers"] > 3 * here.held["program"]
    assert here.peak_elsewhere(vectors(here.P)) == 0
    assert there.peak_elsewhere(vectors(here.P, 8)) > there.peak_elsewhere(vectors(here.P, 1)) > 0
    found = stable_rank(NETWORK, LOSS, (X, Y), memory="8 GiB", workers=three)
    assert found.value == pytest.approx(stable_rank(NETWORK, LOSS, (X, Y)).value, rel=1e-8)
    assert stable_rank(NETWORK, LOSS, (X, Y), memory="1 GiB").value > 0.0
    with pytest.raises(CurvatureError, match=r"memory of 1.00 GiB is too small"):
        stable_rank(NETWORK, LOSS, (X, Y), memory="1 GiB", workers=three)


def test_no_room_for_vectors_is_one_error(monkeypatch, three):
    there = Curvature(NETWORK, LOSS, (X, Y), workers=three)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: types.SimpleNamespace(free=100))
    with pytest.raises(CurvatureError, match=r"has room for .* of vectors that workers share: free space there"):
        there.products(vectors(there.P, 4000))
    same(there, Curvature(NETWORK, LOSS, (X, Y)), vectors(there.P))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 12))
def test_every_batch_has_one_worker(sizes, workers):
    shares = shares_of(sizes, workers)
    assert [number for share in shares for number in share] == list(range(1, len(sizes) + 1))
    assert len(shares) == min(workers, len(sizes))
    assert all(shares)
    held = [sum(sizes[number - 1] for number in share) for share in shares]
    if len(sizes) > 4 * workers:
        assert max(held) <= sum(sizes) / len(shares) + 2 * max(sizes)


def test_batches_are_shared_evenly():
    assert shares_of([1] * 10, 2) == [range(1, 6), range(6, 11)]
    assert shares_of([1] * 3, 2) == [range(1, 3), range(3, 4)]
    assert shares_of([10, 1, 1, 1], 2) == [range(1, 2), range(2, 5)]
    assert shares_of([1, 1, 1, 10], 2) == [range(1, 4), range(4, 5)]
    assert shares_of([7], 5) == [range(1, 2)]


@pytest.mark.slow
def test_a_killed_worker_is_one_error_and_leaves_no_process():
    before = set(active_children())
    team = Workers(2)
    there = Curvature(NETWORK, LOSS, (X, Y), workers=team)
    tried = vectors(there.P)
    first, _ = set(active_children()) - before
    os.kill(first.pid, signal.SIGKILL)
    with pytest.raises(CurvatureError) as caught:
        there.products(tried)
    assert str(caught.value) == (
        "a worker was killed by SIGKILL, most likely because memory ran out; use fewer workers, or free memory"
    )
    assert set(active_children()) == before
    with pytest.raises(CurvatureError, match="its workers have ended: build the operator again"):
        there.products(tried)
    again = Curvature(NETWORK, LOSS, (X, Y), workers=team)  # new ones start
    same(again, Curvature(NETWORK, LOSS, (X, Y)), tried)
    team.close()
    assert set(active_children()) == before


def test_workers_end_with_their_operator_and_leave_no_file(tmp_path, monkeypatch):
    folders = [tmp_path / "shared", tmp_path / "temporary"]
    for folder in folders:
        folder.mkdir()
    monkeypatch.setattr(shared_rows, "SHARED", folders[0])
    monkeypatch.setattr(tempfile, "tempdir", str(folders[1]))
    before = set(active_children())
    there = Curvature(NETWORK, LOSS, (X, Y), workers=2)
    block = there.block("0.*")
    assert len(set(active_children()) - before) == 2
    del there
    block.products(vectors(block.P))
    assert not [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    del block
    assert set(active_children()) == before


PROGRAM = """
import sys
sys.path[:0] = {paths!r}
if __name__ == "__main__":
    from hessian import Curvature
    from shared_work import NETWORK, X, Y, Waits
    Curvature(NETWORK, Waits(sys.argv[1]), (X, Y), workers=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_the_program_ends_its_workers(tmp_path, end):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM.format(paths=[str(HERE.parents[1]), str(HERE)]))
    status, _ = ended([str(script)], tmp_path / "pipe", 2, end, cwd=tmp_path)
    assert status == -end


@pytest.mark.slow
def test_ray_actors_multiply():
    ray = pytest.importorskip("ray")
    with Workers(2, ray="local") as team:
        there, here = (Curvature(NETWORK, LOSS, (X, Y), workers=w) for w in (team, None))
        same(there, here, vectors(here.P))
        found = stable_rank(NETWORK, LOSS, parts(4, 9, 16), workers=team)
        assert found.value == pytest.approx(stable_rank(NETWORK, LOSS, (X, Y)).value, rel=1e-8)
        with pytest.raises(CurvatureError, match=r"has loss .* in this process and .* in a worker"):
            Curvature(NETWORK, shared_work.other_in_workers, (X, Y), workers=team)
        with pytest.raises(CurvatureError, match=r"a worker has ended .*use fewer workers"):
            Curvature(NETWORK, shared_work.dies_in_workers, (X, Y), workers=team)
        same(Curvature(NETWORK, LOSS, (X, Y), workers=team), here, vectors(here.P))
        ray.shutdown()  # by the caller, before the workers are closed


def test_ray_needs_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(CurvatureError, match=r"Ray is not installed: pip install 'rankproof\[ray\]'"):
        Curvature(NETWORK, LOSS, (X, Y), workers=Workers(2, ray="local"))
    assert np.isfinite(Curvature(NETWORK, LOSS, (X, Y)).loss)
