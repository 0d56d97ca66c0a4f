"""Records of symmetric operators, vectors in parts, and random streams of rows."""

from typing import ClassVar

import numpy as np
import torch
from recording import refused

from hessian import CurvatureError, DenseOperator, as_scipy
from hessian.numerics.differentiation import changed_by_units, constants_in, exact_algebra, plain_weight_norm
from hessian.numerics.live_bytes import measure_memory
from hessian.numerics.symmetric import (
    CountedOperator,
    OperatorAround,
    ScaledOperator,
    draw_normal,
    draw_signs,
    multiply,
    normal_rows,
    not_finite,
    peak_elsewhere,
    rounding_of,
)
from hessian.numerics.vector_parts import (
    dot,
    draw_like,
    fill_missing,
    gaps_of,
    norm_of,
    quotient,
    shift,
    sizes_of,
    subtract,
)

MATRIX = torch.tensor([[3.0, 1.0, 0.0], [1.0, -2.0, 0.5], [0.0, 0.5, 1.0]], dtype=torch.float64)
ROWS = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]], dtype=torch.float64)


class _Rounded(DenseOperator):
    rounding = 0.25
    held: ClassVar[dict[str, int]] = {"graph": 7}

    def why_not_finite(self):
        return "it overflows"

    def peak_elsewhere(self, vectors):
        return 10 * len(vectors)


class _InPlace(DenseOperator):
    def products(self, vectors):
        return vectors @ self.matrix

    def products_in_place(self, rows):
        return rows.copy_(2.0 * rows @ self.matrix)


class _Overridden(_InPlace):
    def products(self, vectors):
        return 3.0 * vectors


def products_of_a_dense_matrix():
    operator = DenseOperator(MATRIX)
    return operator.products(ROWS), operator.P, str(operator.dtype), str(operator.device)


def refused_matrices():
    for given in (torch.ones(3), torch.ones(2, 3), torch.ones(0, 0), torch.ones(2, 2, dtype=torch.int64)):
        yield refused(DenseOperator, given)
    yield refused(DenseOperator, torch.ones(2, 2, dtype=torch.complex64))
    yield refused(DenseOperator, torch.full((2, 2), torch.inf)), refused(DenseOperator, torch.full((1, 1), torch.nan))
    for gap in (10.0, 99.0, 101.0, -101.0):
        matrix = torch.eye(2, dtype=torch.float64) * 4.0
        matrix[0, 1] = 4.0 * gap * torch.finfo(torch.float64).eps
        yield str(refused(DenseOperator, matrix)).partition(" object")[0]
        yield str(refused(DenseOperator, -matrix)).partition(" object")[0]


def matrices_for_scipy():
    operator = as_scipy(DenseOperator(MATRIX))
    columns = np.arange(6.0).reshape(3, 2)
    yield operator @ columns, operator @ columns[::-1, 0], operator.rmatvec(np.array([1.0, 0.0, 2.0]))
    yield operator @ np.array([1.0, 1.0j, 2.0 - 1.0j]), str(operator.dtype), operator.shape
    yield str(as_scipy(DenseOperator(MATRIX.float())).dtype)


def products_in_place_of_classes():
    for kind in (DenseOperator, _InPlace, _Overridden):
        rows = ROWS.clone()
        found = multiply(kind(MATRIX), rows)
        yield found, found is rows
    patched = _InPlace(MATRIX)
    patched.products = lambda vectors: 5.0 * vectors
    yield multiply(patched, ROWS.clone())


def wrapped_operators_pass_on_what_is_known():
    plain, rounded = OperatorAround(DenseOperator(MATRIX)), OperatorAround(_Rounded(MATRIX))
    for one in (plain, rounded):
        yield (
            one.P,
            str(one.dtype),
            str(one.device),
            one.held,
            one.rounding,
            one.why_not_finite(),
            one.peak_elsewhere(ROWS),
        )
    yield str(not_finite(DenseOperator(MATRIX))), rounding_of(_Rounded(MATRIX)), peak_elsewhere(_Rounded(MATRIX), ROWS)


def counts_of_products():
    operator = CountedOperator(DenseOperator(MATRIX))
    operator.products(ROWS)
    first = operator.count
    operator.products_in_place(ROWS[:1].clone())
    return first, operator.count


def scales_of_operators():
    for factor in (1.0, 1e-3, -5.0, 1e200, 1e-200, 0.5, 3e-308):
        scaled = ScaledOperator(DenseOperator(MATRIX * factor))
        before = scaled.unit
        yield before, scaled.products(ROWS), scaled.factor, scaled.unit, scaled.products_in_place(ROWS.clone())
    zero = ScaledOperator(DenseOperator(0.0 * MATRIX))
    yield zero.products(ROWS), zero.factor, zero.unit
    yield refused(ScaledOperator(DenseOperator(MATRIX * 1e-309)).products, ROWS)
    yield refused(ScaledOperator(DenseOperator(MATRIX.float() * 1e-39)).products, ROWS.float())


def streams_of_rows():
    operator = DenseOperator(torch.eye(3, dtype=torch.float64))
    for seed in (0, 1):
        yield normal_rows(operator, np.random.default_rng(seed), 2)
        yield draw_signs(torch.empty(2, 5, dtype=torch.float64), np.random.default_rng(seed))
        yield draw_normal(torch.empty(1, 3, dtype=torch.float64), np.random.default_rng(seed))


def keywords_of_errors():
    error = CurvatureError("no", keywords=["a", "b"])
    return error.keywords, str(error), CurvatureError().keywords, str(CurvatureError())


def vectors_in_parts():
    own = [torch.tensor([[3.0, 4.0], [0.0, 0.0]]).double(), torch.zeros(3).double(), torch.tensor(2.0).double()]
    drawn = draw_like(own, {0: [1]}, torch.Generator().manual_seed(3))
    yield drawn, draw_like([torch.zeros(2).double()], {}, torch.Generator().manual_seed(3))
    yield draw_like([torch.zeros(0).double()], {}, torch.Generator().manual_seed(3))
    yield dot([None, drawn[1], None], own), dot([drawn[0], None, own[2]], own), dot([None], [own[1]])
    yield shift(own, drawn, -0.5), [one.requires_grad for one in shift(own, drawn, 1.0)]
    yield quotient([own[0], None, own[2]], [None, own[1] + 1.0, own[2] / 4.0], 0.5), quotient([None], [None], 2.0)
    vector = [None, own[0].clone(), own[2].clone()]
    subtract(vector, [own[0], None, own[2]], 3.0)
    yield vector, fill_missing([None, own[2]], [own[0], own[2]])
    yield sizes_of([None, own[0], torch.zeros(0)]), gaps_of([None, own[0], own[2]], [own[0], None, 3.0 * own[2]])


def norms_of_extreme_vectors():
    for size in (1.0, 1e-30, 1e30, 0.0, torch.inf):
        yield norm_of(torch.tensor([3.0, -4.0]) * size), norm_of(torch.tensor([3.0, 4.0]).double() * size**8)
    yield norm_of(torch.zeros(0)), norm_of(torch.tensor([torch.nan, 1.0]))


def numbers_changed_by_units():
    given = torch.tensor([0.3, 2.0, 65536.0, 65537.0, -65536.0, 1e30, -1e30, 0.7, 1e29], dtype=torch.float64)
    unit = torch.finfo(torch.float64).eps
    with changed_by_units(torch.float64):
        once, exact, other = given * 1.0, torch.sort(given)[0], given.float() * 1.0
    shares = (once - given) / (unit * given)
    yield (shares != 0.0), bool((shares.abs() <= 1.5).all()), bool((exact == torch.sort(given)[0]).all())
    yield bool((other == given.float()).all())
    with changed_by_units(torch.float32):
        again = torch.full((4,), 0.1) + 0.0, torch.softmax(torch.tensor([0.1, 0.2, 0.4]), 0)
    with changed_by_units(torch.float32):
        yield bool((torch.full((4,), 0.1) + 0.0 == again[0]).all())
    yield bool((again[1] == torch.softmax(torch.tensor([0.1, 0.2, 0.4]), 0)).all())


def constants_of_another_type():
    single, double = torch.tensor([1.5, 2.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    with constants_in(torch.float64, torch.float32):
        found = torch.nn.functional.linear(single, double)
        into = torch.zeros(2)
        into.addmv_(double, torch.ones(2, dtype=torch.float64))
    yield found, str(found.dtype), into, str(into.dtype)
    with constants_in(torch.float64, torch.float32):
        yield str(refused(torch.mv, double, single, out=torch.empty(2))).partition(":")[0]
        yield str(refused(torch.mv, double, torch.ones(3))).partition(":")[0]
        kept = torch.zeros(2, dtype=torch.float64)
        yield str(refused(kept.addmv_, double.float(), single)).partition(":")[0], kept


def weight_norm_by_its_formula():
    v, g = torch.tensor([[3.0, 4.0], [1.0, 0.0]]).double(), torch.tensor([[2.0], [5.0]]).double()
    with plain_weight_norm():
        yield torch._weight_norm(v, g), torch._weight_norm(v, g.T, 1), torch.relu(-v)


def algebra_outside_of_autocast():
    one = torch.full((2, 2), 1.0 + 2.0**-12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = one @ one
        with exact_algebra():
            yield str(inside.dtype), str((one @ one).dtype), one @ one


def bytes_at_the_peak():
    def work():
        first = torch.ones(100, dtype=torch.float64)
        second = first * 2.0
        del first
        return second[:10] + 1.0, second.view(2, 50)

    for computation in (work, lambda: torch.ones(1), lambda: None):
        _, use = measure_memory(computation, torch.device("cpu"))
        yield use.peak, use.left
