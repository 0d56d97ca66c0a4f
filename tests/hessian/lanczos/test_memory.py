"""Budgets of memory: plans are kept, and the interval contains what lower precision costs."""

import contextlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch import nn

from hessian import (
    Curvature,
    CurvatureError,
    DenseOperator,
    Krylov,
    SpectrumSettings,
    measure_spectrum,
    stable_rank,
    stable_rank_of,
)
from hessian.lanczos.basis_rows import Rows, Store, combine, project_on, project_out_of
from hessian.lanczos.eigenpairs import extreme_eigenpairs
from hessian.lanczos.memory import LEAST, PROGRAM, Budget, bytes_of, format_bytes, plan_pairs
from hessian.loss import second_derivative_check as derivatives
from hessian.loss.batch_consistency import BatchConsistency
from hessian.loss.checked_objective import checked_objective, count_check_numbers
from hessian.numerics.live_bytes import measure_memory

NORMAL = np.random.default_rng(0).standard_normal(300)
SPECTRA = {"outliers": np.r_[50.0, 30.0, 20.0, 8.0, -5.0, 0.05 * NORMAL[:295]], "power law": np.arange(1, 301) ** -1.0}


def rotated(eigenvalues, dtype=torch.float64):
    """A dense operator of a known spectrum, with no axis of its own."""
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((len(eigenvalues),) * 2))[0]
    dense = torch.from_numpy(Q * eigenvalues @ Q.T)
    return DenseOperator(((dense + dense.T) / 2).to(dtype))


def stable_rank_from(eigenvalues):
    return float((eigenvalues**2).sum() / np.abs(eigenvalues).max() ** 2)


@pytest.fixture(autouse=True)
def no_program(monkeypatch):
    """Budgets of these small networks would drown in what the program itself takes."""
    monkeypatch.setattr("hessian.loss.checked_objective.PROGRAM", 0)


@pytest.fixture(scope="module")
def network():
    """A network of 12,010 parameters, which are most of what is held."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(100, 90), nn.Tanh(), nn.Linear(90, 30), nn.Tanh(), nn.Linear(30, 10))
        return model, torch.randn(24, 100), torch.randint(10, (24,))


def within(network, memory, **options):
    """A stable rank in a budget, and the bytes at the peak, those of model and data with them."""
    model, x, y = network
    budget = Budget(memory, options.pop("scratch", None))
    measure = lambda: stable_rank(model, nn.CrossEntropyLoss(), (x, y), memory=budget, **options)  # noqa: E731
    found, held = measure_memory(measure, torch.device("cpu"))
    return found, held.peak + bytes_of([x, y, *model.parameters()])


def test_a_budget_is_a_number_of_bytes_or_words():
    assert Budget.of(4096).limit == Budget.of("4 KiB").limit == Budget.of("4096 B").limit == 4096
    assert Budget.of("1.5GiB").limit == 3 * 2**29
    assert Budget.of("0.002 TB").limit == 2 * 10**9
    assert Budget.of("800 MB").limit == 800 * 10**6
    assert Budget.of(np.int64(4096)).limit == 4096
    for wrong in (-5, 2**60):
        with pytest.raises(CurvatureError, match="positive number of bytes, and less than"):
            Budget(wrong)
    with pytest.raises(CurvatureError, match="the folder nowhere for vectors that do not fit does not exist"):
        Budget(4096, Path("nowhere"))
    for wrong in ("six", "6", "-1 GiB", "0 GiB", "0.1 B", f"{'9' * 400} GiB", "6 Gib/s", 0, -1, True, 1.5):
        with pytest.raises(CurvatureError, match="look like '6 GiB'"):
            Budget.of(wrong)
    for count in (1, 1023, 1024, 3_333_333, 10**9 + 1, 6 * 2**30):
        assert Budget.of(format_bytes(count, up=True)).limit >= count
    assert format_bytes(6 * 2**30) == "6.00 GiB"


def test_a_budget_with_a_folder_takes_the_same_words(tmp_path):
    budget = Budget("2 GiB", str(tmp_path))
    assert (budget.limit, budget.scratch) == (2**31, tmp_path)
    assert budget == Budget(2**31, tmp_path) == Budget.named("2 GiB", str(tmp_path))
    assert replace(budget, limit="4 KiB") == Budget(np.int64(4096), tmp_path)
    assert isinstance(Budget(np.int64(4096)).limit, int)
    for wrong in ("six", "6", "-1 GiB", "0 GiB", "0.1 B", f"{'9' * 400} GiB", 0, True, 1.5, float("nan"), None, [1]):
        with pytest.raises(CurvatureError, match=r"look like '6 GiB' or '800 MB', got"):
            Budget(wrong, tmp_path)
    for folder in ("nowhere", 5, tmp_path / "none"):
        with pytest.raises(CurvatureError, match="does not exist: name an existing folder"):
            Budget("2 GiB", folder)


def test_bytes_are_counted_at_their_peak_and_at_the_end():
    given = torch.zeros(100)

    def work():
        first = given + 1.0
        second = first.double()
        del first
        return second[:10], given.view(10, 10)

    _, held = measure_memory(work, torch.device("cpu"))
    assert (held.peak, held.left) == (400 + 800, 800)  # a view keeps the whole; what was given is not counted


@pytest.mark.slow
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
def test_a_product_of_streamed_batches_holds_one_graph(matrix):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [part for _ in range(8) for part in (nn.Linear(32, 32), nn.Tanh())]
        x, y = torch.randn(1600, 32), torch.randint(32, (1600,))
    model, loss = nn.Sequential(*layers), nn.CrossEntropyLoss()

    def peak(data, product, **options):
        operator = Curvature(model, loss, data, matrix=matrix, **options)
        return measure_memory(lambda: product(operator), torch.device("cpu"))[1].peak

    quarters = list(zip(x.split(400), y.split(400), strict=True))
    for product in (
        lambda operator: operator @ torch.ones(operator.P),
        lambda operator: operator @ torch.ones(operator.P, 3),
        lambda operator: operator.block("6.*") @ torch.ones(32 * 33),
        lambda operator: operator.between("6.*", "4.*").products(torch.ones(1, 32 * 33)),
    ):
        assert peak(quarters, product) < 1.2 * peak(quarters[0], product, keep_graph=False)
    if matrix == "hessian":  # whose product goes back through all of the graph, and takes it down on its way
        once = lambda operator: operator @ torch.ones(operator.P)  # noqa: E731
        kept = Curvature(model, loss, quarters[0], memory="8 GiB").held["graph"]
        assert peak(quarters[0], once, keep_graph=False) < kept + 0.6 * peak(quarters[0], once)


@pytest.mark.parametrize("kept", [torch.float32, torch.float16])
@pytest.mark.parametrize("inside", [40, 3], ids=["memory", "file"])
def test_what_lower_precision_loses_is_counted(kept, inside, tmp_path):
    operator = rotated(SPECTRA["power law"])
    krylov = Krylov(operator, np.random.default_rng(2), store=Store(kept, inside, tmp_path if inside < 40 else None))
    krylov.extend(30)
    V, H = krylov.basis.numpy(), operator.matrix.numpy()
    E = H @ V.T - V.T @ krylov._columns[:30, :30] - krylov.waiting.numpy().T @ krylov.coupling
    size = torch.finfo(kept).eps
    assert np.linalg.norm(E) ** 2 == pytest.approx(krylov.lost_square, rel=1e-3, abs=0.0)
    assert 1e-3 * size < np.linalg.norm(E) < size
    np.testing.assert_allclose(np.linalg.norm(V, axis=1), 1.0, rtol=1e-12)
    near = H - E @ V - V.T @ E.T
    np.testing.assert_allclose(near @ V.T, H @ V.T - E, atol=size * 1e-1)


def test_rows_in_a_file_are_the_rows_in_memory(tmp_path):
    operator = rotated(SPECTRA["outliers"], torch.float32)
    stores = [Store(torch.float16, 60), Store(torch.float16, 4, tmp_path), Store(torch.float16, 0, tmp_path)]
    found = []
    for store in stores:
        krylov = Krylov(operator, np.random.default_rng(3), store=store)
        krylov.extend(40)
        found.append(krylov)
    for other in found[1:]:
        assert torch.equal(found[0].basis, other.basis)
        assert np.array_equal(found[0].compression, other.compression)
    del krylov, found
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kept", [torch.float64, torch.float32, torch.float16])
@pytest.mark.parametrize("inside", [9, 3, 0])
@pytest.mark.parametrize("tile", [40, 10**9])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_read_in_tiles_as_they_are_stored(kept, inside, tile, threads, tmp_path, monkeypatch, set_threads):
    monkeypatch.setattr("hessian.lanczos.basis_rows.TILES", {"cpu": tile})
    monkeypatch.setattr("hessian.lanczos.basis_rows.COLUMNS_OF_A_THREAD", 30)
    set_threads(threads)
    P, drawn = 101, np.random.default_rng(5)
    given = torch.from_numpy(np.linalg.qr(drawn.standard_normal((P, 7)))[0].T.copy())
    rows = Rows(P, torch.float64, torch.device("cpu"), Store(kept, inside, None if inside == 9 else tmp_path))
    lost = [rows.append(row) for row in given]
    stored = rows.read(0, torch.empty(7, P, dtype=torch.float64))
    np.testing.assert_allclose(torch.linalg.vector_norm(stored, dim=1), 1.0, rtol=1e-14)
    unseen = given - (given * stored).sum(dim=1, keepdim=True) * stored
    np.testing.assert_allclose(lost, torch.linalg.vector_norm(unseen, dim=1), rtol=1e-6, atol=1e-8)
    assert max(lost) < torch.finfo(kept).eps + 1e-7
    assert torch.equal(rows.read(2, torch.empty(4, P, dtype=torch.float64)), stored[2:6])
    vectors = torch.from_numpy(drawn.standard_normal((2, P)))
    for count in (0, 1, 5):
        seen, left = stored[:count], vectors.clone()
        coefficients = project_out_of(left, (rows, count))
        np.testing.assert_allclose(coefficients, vectors @ seen.T, atol=1e-12)
        np.testing.assert_allclose(left, vectors - vectors @ seen.T @ seen, atol=1e-12)
        for first in range(count):
            np.testing.assert_allclose(project_on(vectors, (rows, count), first), vectors @ seen[first:].T, atol=1e-12)
    mixed = torch.from_numpy(drawn.standard_normal((3, 7)))
    np.testing.assert_allclose(combine(mixed, (rows, 7)), mixed @ stored, atol=1e-12)
    assert torch.get_num_threads() == threads


@pytest.mark.sample(3)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("surroundings", [torch.inference_mode, partial(torch.device, "meta"), torch.enable_grad])
def test_rows_are_read_whatever_is_around(threads, surroundings, tmp_path, monkeypatch, set_threads):
    monkeypatch.setattr("hessian.lanczos.basis_rows.COLUMNS_OF_A_THREAD", 30)
    set_threads(threads)
    operator = rotated(SPECTRA["outliers"], torch.float32)
    settings = {"relative_width": 0.2, "basis": 20}
    budget = Budget(4 * operator.P * 8, tmp_path)
    expected = stable_rank_of(operator, rng=np.random.default_rng(3), memory=budget, **settings)
    assert "in a file" in expected.given_up
    with surroundings():
        found = stable_rank_of(operator, rng=np.random.default_rng(3), memory=budget, **settings)
    assert found == expected


@pytest.mark.slow
def test_a_thread_that_outlives_the_program_measures_within_a_budget(tmp_path):
    script = """
import threading, time
import numpy as np, torch
from hessian import DenseOperator, stable_rank_of
from hessian.lanczos import basis_rows
basis_rows.COLUMNS_OF_A_THREAD = 30
torch.set_num_threads(2)
operator = DenseOperator(torch.diag(torch.arange(100.0)))
def work():
    threading.main_thread().join()
    print(stable_rank_of(operator, rng=np.random.default_rng(0), relative_width=0.2, memory=4 * 100 * 40).given_up)
threading.Thread(target=work).start()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert "float16" in done.stdout, done.stderr[-500:]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_row_that_is_stored_in_lower_precision_stays_as_it_is(dtype):
    row = torch.from_numpy(np.random.default_rng(0).standard_normal(50)).to(dtype)
    row /= torch.linalg.vector_norm(row)
    given = row.clone()
    Rows(50, dtype, torch.device("cpu"), Store(torch.float16, 2)).append(row)
    assert torch.equal(row, given)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_file_that_is_cut_off_is_told(threads, tmp_path, monkeypatch, set_threads):
    monkeypatch.setattr("hessian.lanczos.basis_rows.COLUMNS_OF_A_THREAD", 30)
    set_threads(threads)
    rows = Rows(100, torch.float32, torch.device("cpu"), Store(torch.float16, 0, tmp_path))
    rows.append(torch.full((100,), 0.1))
    os.ftruncate(rows._file.fileno(), 150)
    with pytest.raises(CurvatureError, match="truncated"):
        rows.read(0, torch.empty(1, 100))
    assert torch.get_num_threads() == threads


@pytest.fixture
def set_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("kept", [None, torch.float32, torch.float16])
def test_intervals_cover_with_any_precision_of_the_basis(name, kept, monkeypatch):
    values, repetitions = SPECTRA[name], 25
    operator, truth = rotated(values, torch.float64), stable_rank_from(SPECTRA[name])
    monkeypatch.setattr("hessian.lanczos.stable_rank.Store", lambda: Store(kept, 40))
    found = [
        stable_rank_of(operator, rng=np.random.default_rng([4, s]), relative_width=0.2, confidence=0.9, basis=40)
        for s in range(repetitions)
    ]
    assert sum(truth in one for one in found) >= binom.ppf(1e-6, repetitions, 0.9)
    assert all(one.spectral_norm.low <= np.abs(values).max() * (1 + 1e-3) for one in found)
    assert sum(np.abs(values).max() <= one.spectral_norm.high for one in found) >= binom.ppf(1e-6, repetitions, 0.99)


@pytest.mark.parametrize(
    ("memory", "file", "words"),
    [
        (4_000_000, False, ""),
        (2_000_000, False, "basis in float16"),
        (1_100_000, False, r"basis in float16, at most \d+ rows, not 30, 1 vector at a time, not 8"),
        (1_100_000, True, r"basis in float16, \d+ of 35 rows in a file, 1 vector at a time, not 8"),
    ],
)
def test_a_budget_is_kept_to_and_what_is_given_up_is_said(network, memory, file, words, tmp_path):
    options = {"relative_width": 0.5, "basis": 30, "products": 60}
    free = stable_rank(network[0], nn.CrossEntropyLoss(), network[1:], **options)
    found, used = within(network, memory, scratch=tmp_path if file else None, **options)
    assert used <= memory
    assert re.fullmatch(words, found.given_up)
    if words:
        assert found.low <= free.value <= found.high
    else:
        assert found == free


@pytest.mark.parametrize("batches", [False, True])
def test_a_budget_that_cannot_be_met_names_the_least(network, batches):
    model, x, y = network
    data = [(x[:12], y[:12]), (x[12:], y[12:])] if batches else (x, y)
    measure = lambda memory: stable_rank(  # noqa: E731
        model, nn.CrossEntropyLoss(), data, products=40, memory=memory, basis=LEAST, relative_width=0.5
    )
    least, reports = "300 KiB", []
    while len(reports) < 2:  # for the checks, and perhaps for what comes after them
        try:
            assert measure(least).steps <= LEAST
            break
        except CurvatureError as error:
            reports.append(str(error))
            least = re.search(r"is too small: .* need ([0-9.]+ [KMG]iB); allow that much", reports[-1])[1]
    assert "checks of its derivatives" in reports[0]
    assert measure(least).steps <= LEAST
    operator = Curvature(model, nn.CrossEntropyLoss(), data, memory="1 MiB")
    measure = lambda memory: stable_rank_of(  # noqa: E731
        operator, rng=np.random.default_rng(0), products=40, memory=memory, basis=LEAST, relative_width=0.5
    )
    with pytest.raises(
        CurvatureError, match=r"is too small: .* a basis of a few rows need .*; allow that much"
    ) as reports:
        measure("300 KiB")
    assert measure(re.search(r"need ([0-9.]+ [KMG]iB)", str(reports.value))[1]).steps <= LEAST


def test_checks_are_in_double_precision_where_there_is_room(network):
    class Told(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.dtypes = network[0], set()

        def forward(self, x):
            self.dtypes.add(x.dtype)
            return self.inner(x)

    P = sum(p.numel() for p in network[0].parameters())
    for vectors, seen in ((80, {torch.float32, torch.float64}), (50, {torch.float32})):
        model = Told()
        Curvature(model, nn.CrossEntropyLoss(), network[1:], memory=vectors * P + 2**15)
        assert model.dtypes == seen
    with pytest.raises(CurvatureError, match="checks of its derivatives need"):
        Curvature(Told(), nn.CrossEntropyLoss(), network[1:], memory=30 * P)


class Sequences(nn.Module):
    """Words to classes by an LSTM, or by attention whose words are its classes too."""

    def __init__(self, inner, width, tied):
        super().__init__()
        self.words, self.inner, self.last = nn.Embedding(500, width), inner, nn.Linear(width, 500)
        nn.init.normal_(self.words.weight, std=0.1)
        if tied:
            self.last.weight = self.words.weight

    def forward(self, x):
        found = self.inner(self.words(x))
        return self.last((found[0] if isinstance(found, tuple) else found)[:, -1])


def attention():
    return nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)


def images():
    layers = [nn.Conv2d(3, 96, 3, padding=1), nn.Tanh(), nn.Conv2d(96, 96, 3, padding=1), nn.Tanh()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10))


NETWORKS = {
    "layer": (lambda: nn.Linear(300, 200, bias=False), (300,), 200),
    "perceptron": (lambda: nn.Sequential(nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 10)), (300,), 10),
    "lstm": (lambda: Sequences(nn.LSTM(80, 80, batch_first=True), 80, tied=False), (), 500),
    "transformer": (lambda: Sequences(attention(), 64, tied=False), (), 500),
    "tied transformer": (lambda: Sequences(attention(), 64, tied=True), (), 500),
    "convolutions": (images, (3, 4, 4), 10),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton", "residual", "empirical-fisher"])
@pytest.mark.parametrize("misses", [False, True], ids=["passed", "missed"])
def test_checks_hold_no_more_than_is_counted(name, matrix, misses, monkeypatch):
    make, shape, classes = NETWORKS[name]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = make()
        x = torch.randn(8, *shape) if shape else torch.randint(classes, (8, 4))
        y = torch.randint(classes, (8,))
    loss, halves = nn.CrossEntropyLoss(), [(x[:4], y[:4]), (x[4:], y[4:])]
    objective = checked_objective(model, loss, halves, matrix=matrix)
    counted = count_check_numbers(objective, matrix)
    if misses:  # so that differences at other steps and points are taken too
        strict = {kind: replace(one, exact=0.0, settled=0.0) for kind, one in derivatives._PRECISIONS.items()}
        monkeypatch.setattr(derivatives, "_PRECISIONS", strict)

    def test(dtype):
        with contextlib.suppress(CurvatureError):
            derivatives.require_second_derivatives(objective, matrix, {}, [4, 4], (dtype,))

    for dtype in (torch.float32, torch.float64):
        peak = measure_memory(partial(test, dtype), torch.device("cpu"))[1].peak
        assert 0.4 * counted < peak / dtype.itemsize <= counted
    parts = BatchConsistency(objective, True, lambda batch: len(batch[1]), True, True, coupled=False)
    assert measure_memory(parts.require, torch.device("cpu"))[1].peak / torch.float32.itemsize <= counted


@pytest.mark.parametrize("memory", [400_000, 900_000, 1_200_000, 2_000_000])
def test_checks_keep_to_a_budget_where_outputs_are_most_of_what_is_held(memory):
    torch.manual_seed(0)
    model, x, y = nn.Linear(4, 300), torch.randn(100, 4), torch.randint(300, (100,))
    build = lambda: Curvature(model, nn.CrossEntropyLoss(), (x, y), memory=memory)  # noqa: E731
    try:
        _, held = measure_memory(build, torch.device("cpu"))
    except CurvatureError as error:
        assert memory == 400_000 and "checks of its derivatives need" in str(error)  # noqa: PT017, PT018
        return
    assert memory > 400_000
    assert held.peak + bytes_of([x, y, *model.parameters()]) <= memory


def test_kinks_that_only_double_precision_can_tell_from_a_wrong_derivative_need_room_for_it():
    class Teeth(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(500))

        def forward(self, x):
            folded = (torch.remainder(self.weight / 1e-4, 2.0) - 1.0).abs() * 1e-4
            return ((self.weight + 0.5 * folded) * x).sum(dim=1, keepdim=True)

    data = (torch.rand(3, 500, generator=torch.Generator().manual_seed(0)), torch.zeros(3, 1))
    build = lambda memory: Curvature(Teeth(), lambda out, _: out.mean(), data, memory=memory)  # noqa: E731
    with pytest.raises(CurvatureError, match=r"memory of .* is too small for checks in double precision") as reports:
        build(50_000)
    assert build(re.search(r"which need ([0-9.]+ [KMG]iB)", str(reports.value))[1]).P == 500


def test_what_is_held_is_told_by_part(network):
    model, x, y = network
    held = Curvature(model, nn.CrossEntropyLoss(), (x, y), memory="2 GiB").held
    P = sum(p.numel() for p in model.parameters())
    assert held["model"] == held["copies"] == 4 * P
    assert held["data"] == bytes_of([x, y])
    assert held["graph"] > 4 * P


def test_the_program_counts_on_a_processor(network, monkeypatch):
    monkeypatch.undo()
    held = Curvature(network[0], nn.CrossEntropyLoss(), network[1:], memory="2 GiB").held
    assert held["program"] == PROGRAM


def test_a_whole_spectrum_keeps_to_its_budget(network):
    model, x, y = network
    operator = Curvature(model, nn.CrossEntropyLoss(), (x, y), memory=1_400_000)
    settings = {"width": 0.5, "outliers": 2, "probes": 1, "steps": 30, "basis": 20, "products": 60}
    budget = Budget(1_400_000)
    report, held = measure_memory(
        lambda: measure_spectrum(operator, SpectrumSettings(memory=budget, **settings)), torch.device("cpu")
    )
    assert held.peak + sum(operator.held.values()) <= budget.limit
    assert re.fullmatch(r"stable rank: .*; eigenpairs: \d+ rows, not 48; quadrature: three vectors.*", report.given_up)
    plain = measure_spectrum(Curvature(model, nn.CrossEntropyLoss(), (x, y)), SpectrumSettings(**settings))
    assert plain.given_up == ""
    np.testing.assert_allclose(report.eigenvalues[:2], plain.eigenvalues[:2], atol=0.01 * plain.eigenvalues[0])
    assert report.measure.moment(2).value == pytest.approx(plain.measure.moment(2).value, rel=0.3)
    with pytest.raises(CurvatureError, match=r"40 eigenpairs need .* or fewer --outliers"):
        measure_spectrum(operator, SpectrumSettings(memory=budget, outliers=20))


@pytest.mark.slow
def test_a_complement_is_drawn_whole_only_where_there_is_room_for_it():
    torch.manual_seed(0)
    small = nn.Sequential(nn.Linear(8, 12), nn.Tanh(), nn.Linear(12, 4)), torch.randn(6, 8), torch.randint(4, (6,))
    memory = 24 * 2**10
    found, peak = within(small, memory, products=170, relative_width=0.02)
    assert found.probes > 160 - found.steps  # so many that the complement would be no more work
    assert peak <= 1.1 * memory


class Diagonal:
    """A diagonal matrix, whose products may take the place of vectors."""

    def __init__(self, values, dtype=torch.float32):
        self.values = values.to(dtype)
        self.P, self.dtype, self.device = len(values), dtype, torch.device("cpu")

    def products(self, vectors):
        return vectors * self.values

    def products_in_place(self, rows):
        return rows.mul_(self.values)


@pytest.mark.parametrize("limit", [8, 13, 16])
def test_copies_ask_for_no_more_rows_than_a_budget_has(limit):
    operator = Diagonal(torch.cat([torch.ones(20), torch.zeros(19_980)]))
    options = {"rng": np.random.default_rng(0), "products": 300, "memory": limit * 20_000 * 4}
    found, held = measure_memory(lambda: stable_rank_of(operator, **options), torch.device("cpu"))
    assert held.peak <= options["memory"]
    assert 20.0 in found


@pytest.mark.parametrize(("chunk", "limit"), [(8, 30), (8, 45), (1, 20)])
def test_probes_together_keep_to_a_budget(chunk, limit):
    operator = Diagonal(torch.from_numpy(np.random.default_rng(0).standard_normal(50_000)))
    options = {"chunk": chunk, "basis": 30, "products": 200, "relative_width": 0.2, "memory": limit * 50_000 * 4}
    rng = np.random.default_rng(0)
    _, held = measure_memory(lambda: stable_rank_of(operator, rng=rng, **options), torch.device("cpu"))
    assert held.peak <= options["memory"]


@pytest.mark.parametrize("limit", [50, 60, 100])
def test_many_eigenpairs_keep_to_a_budget(limit):
    operator = Diagonal(torch.linspace(-1.0, 1.0, 20_000))
    budget = Budget(limit * 20_000 * 4)
    rows, _ = plan_pairs(operator, budget, 20, 60)
    options = {"rng": np.random.default_rng(0), "basis": rows, "products": 3 * (rows or 80)}
    _, held = measure_memory(lambda: extreme_eigenpairs(operator, 10, 10, **options), torch.device("cpu"))
    assert held.peak <= budget.limit


def test_a_model_without_second_derivatives_is_refused_in_words_within_a_budget_too():
    model = nn.Sequential(nn.Linear(4, 8), nn.Hardsigmoid(), nn.Linear(8, 3))
    data = torch.randn(6, 4), torch.randint(3, (6,))
    with pytest.raises(CurvatureError, match="has no second derivative"):
        Curvature(model, nn.CrossEntropyLoss(), data, memory="1 GiB")


def test_outputs_that_are_no_tensor_are_refused_in_words_within_a_budget_too():
    class Two(nn.Linear):
        def forward(self, x):
            return super().forward(x), x

    data, loss = (torch.randn(6, 4), torch.randint(3, (6,))), lambda out, y: nn.functional.cross_entropy(out[0], y)
    for memory in (None, "1 GiB"):
        with pytest.raises(CurvatureError, match="one tensor"):
            Curvature(Two(4, 3), loss, data, matrix="gauss-newton", memory=memory)


def test_a_file_that_cannot_be_written_names_its_folder(tmp_path):
    rows = Rows(100, torch.float64, torch.device("cpu"), Store(torch.float16, 0, tmp_path))
    rows.append(torch.eye(100, dtype=torch.float64)[0])
    full = open("/dev/full", "r+b", buffering=0)  # noqa: SIM115 (the rows own it)
    rows._file.close()
    rows._file = full
    with pytest.raises(CurvatureError, match=r"could be written to .*free space there"):
        rows.append(torch.eye(100, dtype=torch.float64)[1])


def test_a_full_disk_is_not_taken_for_too_little_memory(network, tmp_path, monkeypatch):
    free = 0
    monkeypatch.setattr("hessian.lanczos.memory.shutil.disk_usage", lambda folder: SimpleNamespace(free=free))
    model, x, y = network
    operator = Curvature(model, nn.CrossEntropyLoss(), (x, y), memory="1 MiB")

    def measure(limit):
        options = {"rng": np.random.default_rng(0), "relative_width": 0.5, "basis": 30, "products": 60}
        return stable_rank_of(operator, memory=Budget(limit, tmp_path), **options)

    with pytest.raises(CurvatureError, match=r"disk of the folder .* is full: 0.00 KiB are free.* free space") as full:
        measure(350_000)
    found = re.search(r"needs ([0-9.]+ [KMG]iB) there", str(full.value))
    free = Budget.of(found[1]).limit
    assert re.search(r"at most \d+ rows, not 30", measure(350_000).given_up)
    with pytest.raises(CurvatureError, match=r"memory of .* is too small: "):
        measure(300_000)
