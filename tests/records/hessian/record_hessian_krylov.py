"""Records of Krylov bases, of how their rows are kept, and of extreme eigenpairs."""

import dataclasses

import numpy as np
import torch
from recording import Within, refused

from hessian import DenseOperator, Krylov, extreme_eigenpairs
from hessian.lanczos.basis_rows import Rows, Store, combine, project_on, project_out_of, span_size
from hessian.lanczos.eigenpairs import more_in_search, usual_basis


def _dense(values, seed=0, dtype=torch.float64):
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = torch.from_numpy((turn * np.asarray(values)) @ turn.T)
    return DenseOperator(((matrix + matrix.T) / 2).to(dtype))


SPREAD = _dense([7.0, 4.0, 2.5, 1.0, 0.5, 0.1, -0.2, -0.7, -1.1, -3.0, -5.0])


def _shown(krylov):
    values, _, residuals = krylov.ritz()
    counts = krylov.size, krylov.pending, krylov.products, krylov.starts, krylov.restarted, krylov.invariant
    return (
        counts,
        krylov.compression,
        krylov.coupling,
        values,
        residuals,
        krylov.largest,
        krylov.given,
        krylov.lost_square,
    )


def basis_of_one_start():
    for seed in (0, 1):
        krylov = Krylov(SPREAD, np.random.default_rng(seed))
        krylov.extend(4)
        yield _shown(krylov), krylov.rounding / 7.0, krylov.basis[:2], krylov.waiting.shape
    yield [krylov.power_of_start(power)[:3] for power in (0, 1, 2, 3)], krylov.remember("x", lambda: 3)
    krylov.extend(3)
    sizes = []
    krylov.extend(9, sizes.append)
    yield krylov.size, krylov.invariant, sizes, krylov.ritz()[0]


def basis_of_several_starts():
    krylov = Krylov(SPREAD, np.random.default_rng(2), block=3)
    krylov.extend(5)
    yield _shown(krylov)
    krylov.seed(2)
    yield krylov.pending, krylov.starts
    krylov.extend(4)
    yield krylov.size, krylov.products, np.round(krylov.ritz()[0], 9)
    for block in (0, 12):
        yield refused(Krylov, SPREAD, np.random.default_rng(0), block=block)


def basis_from_a_given_start_and_given_rows():
    start = torch.arange(11.0, dtype=torch.float64) - 3.0
    krylov = Krylov(SPREAD, np.random.default_rng(0), start=start)
    krylov.extend(3)
    yield krylov.starts, krylov.compression, krylov.basis[0]
    given = torch.eye(11, dtype=torch.float64)[[4, 7]]
    krylov = Krylov(SPREAD, np.random.default_rng(0), given=given)
    yield krylov.given, krylov.pending, krylov.starts
    krylov.bring_forward(2)
    yield krylov.given
    krylov.extend(2)
    krylov.bring_forward(3)
    krylov.extend(1)
    yield _shown(krylov)
    outside = Krylov(SPREAD, np.random.default_rng(0), outside=[given])
    outside.extend(3)
    yield outside.compression, outside.basis[:, 4]


def restarts_keep_pairs_and_waiting_rows():
    krylov = Krylov(SPREAD, np.random.default_rng(3))
    krylov.extend(6)
    krylov.restart([0, 4, 5])
    yield _shown(krylov)[0], np.diag(krylov.compression), np.abs(krylov.coupling), krylov.starts
    krylov.extend(2)
    yield krylov.ritz()[0], krylov.size
    pairs = krylov.pairs([0, 4, 2])
    yield pairs.values, pairs.residuals, pairs.vectors.square(), pairs.missed, pairs.rounding / 7.0, len(pairs)


def roundings_known_to_the_operator():
    class Rounded(DenseOperator):
        rounding = 1e-3

    krylov = Krylov(Rounded(SPREAD.matrix), np.random.default_rng(0))
    krylov.extend(3)
    yield krylov.rounding, krylov.pairs([1]).residuals, krylov.pairs([1]).rounding
    infinite = DenseOperator(torch.eye(2))
    infinite.matrix = infinite.matrix * torch.inf
    yield refused(Krylov(infinite, np.random.default_rng(0)).extend, 1)


def invariant_subspaces():
    krylov = Krylov(_dense([2.0, 2.0, 2.0, -1.0]), np.random.default_rng(0))
    krylov.extend(4)
    yield krylov.size, krylov.invariant, np.round(krylov.ritz()[0], 9)
    krylov.seed(9)
    yield krylov.pending, krylov.starts
    zero = Krylov(DenseOperator(torch.zeros(3, 3)), np.random.default_rng(0))
    zero.extend(3)
    yield zero.size, zero.largest, zero.rounding, zero.pairs([0]).residuals


def rows_in_lower_precision():
    rows = Rows(5, torch.float64, torch.device("cpu"), Store(torch.float16, 3))
    given = torch.tensor([[3.0, 4.0, 0.0, 1e-3, -2.0], [0.1, 0.7, -0.3, 0.2, 0.0]], dtype=torch.float64)
    given = given / torch.linalg.vector_norm(given, dim=1, keepdim=True)
    lost = [rows.append(row) for row in given]
    yield len(rows), rows.room, rows.in_one_piece, lost, rows.view(0, 2), rows.factors(0, 2)
    yield rows.read(0, torch.empty(2, 5, dtype=torch.float64)), rows.read(1, torch.empty(1, 5, dtype=torch.float64))
    vectors = torch.arange(10.0, dtype=torch.float64).reshape(2, 5)
    yield project_on(vectors, (rows, 2)), project_on(vectors, (rows, 2), 1), project_out_of(vectors, (rows, 2)), vectors
    yield combine(torch.tensor([[1.0, -2.0]], dtype=torch.float64), (rows, 2))
    rows.swap(0, 1)
    yield rows.factors(0, 1), rows.read(0, torch.empty(1, 5, dtype=torch.float64))
    for kind in (torch.float16, torch.bfloat16):
        krylov = Krylov(SPREAD, np.random.default_rng(0), store=Store(kind, 9))
        krylov.extend(4)
        yield krylov.lost_square, krylov.pairs([3]).residuals, krylov.compression, krylov.coupling


def rows_that_grow_and_recombine():
    rows = Rows(20, torch.float64, torch.device("cpu"), Store())
    for place in range(18):
        rows.append(torch.eye(20, dtype=torch.float64)[place])
    yield len(rows), rows.room, rows.view(16, 18)[:, 14:], span_size((rows, 7)), span_size(torch.ones(3, 4))
    rows.recombine(torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]], dtype=torch.float64), 3)
    yield len(rows), rows.view(0, 4)[:, :5], rows.factors(0, 2)
    kept = Rows(20, torch.float64, torch.device("cpu"), Store(reserve=4))
    yield kept.room, Rows(3, torch.float64, torch.device("cpu"), Store(reserve=4)).room
    vectors = torch.arange(40.0, dtype=torch.float64).reshape(2, 20)
    basis = torch.eye(20, dtype=torch.float64)[[1, 3]]
    yield (
        project_on(vectors, basis),
        project_out_of(vectors, basis, 1),
        vectors[:, :5],
        combine(vectors[:, :2], basis)[:, :4],
    )


def extreme_pairs_of_both_ends():
    for largest, smallest in ((2, 0), (0, 2), (2, 1), (6, 5)):
        pairs = extreme_eigenpairs(SPREAD, largest, smallest, tolerance=1e-6, rng=np.random.default_rng(0))
        yield pairs.values, pairs.vectors.square()[:, :2], pairs.missed < 1e-4, float(pairs.residuals.max()) < 1e-4
    for largest, smallest in ((0, 0), (-1, 2), (6, 6), (2, -1)):
        yield refused(extreme_eigenpairs, SPREAD, largest, smallest, rng=np.random.default_rng(0))


def pairs_with_copies():
    copies = _dense([5.0, 5.0, 5.0, 1.5, *np.linspace(-1.0, 0.9, 70), -3.0, -4.0, -4.0])
    texts = []
    pairs = extreme_eigenpairs(copies, 4, 3, tolerance=1e-6, rng=np.random.default_rng(0), progress=texts.append)
    yield np.round(pairs.values, 6), pairs.missed < 1e-3, [text for text in texts if "copies" in text][-3:]
    for largest, smallest in ((2, 0), (0, 2)):
        pairs = extreme_eigenpairs(copies, largest, smallest, tolerance=1e-4, rng=np.random.default_rng(0))
        yield np.round(pairs.values, 6)


def searches_with_few_rows_or_products():
    wide = _dense(np.concatenate([np.linspace(-1.0, 1.0, 57), [1.5, 2.5, -2.0]]))
    for options in ({"basis": 8}, {"products": 12}, {"basis": 12, "products": 40}, {"tolerance": 0.05}):
        texts = []
        pairs = extreme_eigenpairs(
            wide, 2, 1, **{"tolerance": 1e-3, **options}, rng=np.random.default_rng(1), progress=texts.append
        )
        yield Within(1e-4, [pairs.values, pairs.residuals, pairs.missed]), len(texts), texts[0]
    for largest, smallest, basis in ((3, 0, 9), (0, 3, 9), (3, 0, 0), (0, 3, 0)):
        texts = []
        options = {"basis": basis, "tolerance": 1e-2, "rng": np.random.default_rng(2), "progress": texts.append}
        pairs = extreme_eigenpairs(wide, largest, smallest, **options)
        yield (
            Within(1e-4, [pairs.values, pairs.residuals, pairs.missed]),
            len(texts),
            texts[-1].partition("residual")[0],
        )
    scaled = extreme_eigenpairs(DenseOperator(1e-6 * wide.matrix), 2, 1, tolerance=0.05, rng=np.random.default_rng(1))
    yield Within(1e-4, [scaled.values * 1e6, scaled.residuals * 1e6, scaled.missed * 1e6]), scaled.rounding * 1e6
    yield [usual_basis(pairs) for pairs in (1, 10)], [more_in_search(pairs) for pairs in (1, 10)]


def pairs_are_results():
    pairs = extreme_eigenpairs(SPREAD, 1, rng=np.random.default_rng(0))
    return [field.name for field in dataclasses.fields(pairs)], pairs.values.flags.writeable
