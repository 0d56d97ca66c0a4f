"""Records of budgets of memory: what is read, how a basis is planned, and what is given up."""

import numpy as np
import torch
from recording import Within, refused

from hessian import Budget, DenseOperator, SpectrumSettings, measure, measure_spectrum, stable_rank_of
from hessian.lanczos.memory import Plan, bytes_of, format_bytes, plan_basis, plan_pairs


class _Held(DenseOperator):
    held: dict = {}  # noqa: RUF012 - set on instances

    def peak_elsewhere(self, vectors):
        return 1000 * len(vectors)


def _operator(P=60, dtype=torch.float64, held=0):
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((P, P)))[0]
    matrix = torch.from_numpy((turn * np.linspace(-1.0, 3.0, P) ** 3) @ turn.T)
    operator = _Held(((matrix + matrix.T) / 2).to(dtype))
    operator.held = {"graph": held, "model": 2 * held}
    return operator


def amounts_of_memory():
    for text in (1, 4096, 2.0, "6 GiB", "1.5kib", " 800 MB ", "3 TB", "2 tib", "7 B", "0.4 KB", "10 kb", "0.6 B"):
        yield Budget(text).limit
    for text in (
        0,
        -1,
        2.5,
        True,
        "6",
        "6 XB",
        "GiB",
        "-1 GB",
        "0.4 B",
        2**60,
        "2000000 TB",
        2**60 - 1,
        None,
        "1e3 MB",
    ):
        found = refused(Budget, text)
        yield found if isinstance(found, str) else found.limit


def budgets_with_a_folder():
    yield Budget.of(Budget(5)).limit, Budget.of("5 KiB"), Budget.named("1 KiB", None), Budget("1 B", ".").scratch
    yield refused(Budget, 5, "no such folder"), refused(Budget, 5, 7), refused(Budget.named, "x", ".")


def bytes_in_words():
    for count in (
        0,
        1,
        1023,
        1024,
        1025,
        10 * 1024,
        10235,
        1024**2 - 1,
        1024**2,
        123 * 1024**2,
        5 * 2**30,
        5000 * 2**30,
    ):
        yield format_bytes(count), format_bytes(count, up=True)
    whole = torch.zeros(10)
    yield bytes_of([whole, whole[:5], torch.zeros(3, dtype=torch.float64)]), bytes_of([])


def dtypes_of_checks():
    for limit in (1000, 899, 900, 499, 500):
        budget = Budget(limit)
        yield [str(one) for one in refused(budget.check_dtypes, torch.float32, 100, 100)][:2] if limit > 499 else None
        yield [str(refused(budget.check_dtypes, dtype, 100, 100)) for dtype in (torch.float32, torch.float64)]
    yield Budget(10_000).describe_missing_double(1, 3000), Budget(10_000, ".").describe_full_disk(999, 5000)


def plans_of_a_basis():
    for dtype in (torch.float64, torch.float32):
        operator = _operator(dtype=dtype, held=500)
        row = 60 * dtype.itemsize
        busy = 1500 + 4 * row + 4000 + 4 * row
        for rows in (65.0, 64.99, 40.0, 32.5, 32.49, 17.0, 16.25, 12.0, 7.0, 6.0, 5.0, 1.0):
            yield rows, _words(refused(plan_basis, operator, Budget(int(busy + rows * row)), 60, 4))
    yield _words(plan_basis(_operator(), Budget(2**20), 10, 1)), _words(plan_basis(_operator(), Budget(2**20), 60, 3))
    yield refused(plan_basis, _operator(held=500), Budget(2000), 60, 1)


def _words(plan):
    return (plan, str(plan.store.dtype)) if isinstance(plan, Plan) else plan


def plans_with_few_rows_left():
    row, operator = 480, _operator()
    busy = 1000 + row + 2 * row
    for rows in (20.0, 6.5, 6.25, 5.5, 5.25, 5.0, 4.0, 2.0, 1.5, 1.0, 0.99, 0.75):
        yield rows, _words(refused(plan_basis, operator, Budget(int(busy + rows * row)), 60, 1))
    for rows in (1.0, 0.5, 0.49):
        yield rows, _words(refused(plan_basis, operator, Budget(int(busy + rows * row)), 1, 1))
    found = plan_basis(operator, Budget(int(busy + 1.0 * row), "."), 30, 2)
    yield found.words, found.rows, found.capacity, found.store.reserve, str(found.store.folder), found.complement


def plans_of_eigenpairs():
    row, operator = 480, _operator()
    busy = 1000 + row + 2 * row + 2 * row
    for rows in (13.0, 12.99, 20.0, 31.0, 65.0, 66.0, 88.0, 87.0, 100.0):
        yield rows, refused(plan_pairs, operator, Budget(int(busy + rows * row)), 5, 25)
    yield plan_pairs(operator, Budget(busy + 31 * row), 5, 24), plan_pairs(operator, Budget(busy + 64 * row), 5, 70)


def results_within_budgets():
    operator = _operator()
    settings = {"rng": np.random.default_rng(0), "relative_width": 0.5}
    found = stable_rank_of(operator, memory=20_000, basis=40, chunk=3, **settings)
    yield Within(1e-4, [found.value, found.low, found.high, found.steps, found.probes]), found.given_up
    found = measure(operator, "trace,sharpness", relative_width=0.5, memory="9 KB", basis=20)
    yield Within(1e-4, [found["trace"].value, found["sharpness"].value]), found.words()["memory"], found.steps
    yield refused(measure, operator, "density", memory=20_000), refused(measure, operator, "diagonal", memory=20_000)
    yield refused(measure, operator, "count-above=1", memory=40_000, steps=6, basis=6, relative_width=9.0) is not None


def spectra_within_budgets():
    operator = _operator(30)
    options = {"width": 0.5, "outliers": 2, "probes": 1, "steps": 20, "basis": 6, "tolerance": 3e-2}
    for limit in (7_500,):
        found = measure_spectrum(operator, SpectrumSettings(**options, memory=Budget(limit)))
        yield found.given_up, Within(1e-3, found.eigenvalues), found.words()["memory"]
    yield refused(measure_spectrum, operator, SpectrumSettings(**options, memory=Budget(4_500)))
