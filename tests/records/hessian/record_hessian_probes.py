"""Records of bounds of norms, of random probes and their intervals, and of stable ranks by both."""

import dataclasses
from math import inf

import numpy as np
import torch
from recording import Within, refused

from hessian import (
    DenseOperator,
    Interval,
    Krylov,
    SpectralMeasure,
    extreme_eigenpairs,
    spectral_measure,
    stable_rank_of,
)
from hessian.lanczos.bounded_probes import bounded_count, bounded_interval, degrees_of
from hessian.lanczos.bounds import (
    bound_hidden,
    certified_end,
    certified_norm,
    complement_end,
    complement_norm,
    known_square,
    probable_end,
    probable_norm,
    spectral_norm,
)
from hessian.lanczos.probes import (
    Prediction,
    Probes,
    draw_probes,
    inflate_spread,
    inflate_spread_for_copies,
    measure_unconverged,
    predict_rest,
    predict_signs,
    predict_trace,
    project_out,
    quantile,
    sign_probes,
)
from hessian.lanczos.stable_rank import scale_interval


def _dense(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = torch.from_numpy((turn * np.asarray(values)) @ turn.T)
    return DenseOperator((matrix + matrix.T) / 2)


WIDE = _dense(np.concatenate([np.linspace(-1.0, 1.2, 47), [3.0, 2.0, -4.0]]))


def _basis(steps=6, seed=0, operator=WIDE, **options):
    krylov = Krylov(operator, np.random.default_rng(seed), **options)
    krylov.extend(steps)
    return krylov


def norms_by_a_basis():
    for steps in (1, 3, 9):
        krylov = _basis(steps)
        yield known_square(krylov), [probable_norm(krylov, chance) for chance in (0.05, 1e-4)]
        yield (
            [probable_end(krylov, sign, 0.05) for sign in (1.0, -1.0)],
            certified_norm(krylov, 2.0),
            certified_norm(krylov, 9.0),
        )
        yield [certified_end(krylov, sign, 1.5, 4.0) for sign in (1.0, -1.0)]
        yield spectral_norm(krylov, 4.0, 0.95), spectral_norm(krylov, 4.0, 0.5), spectral_norm(krylov, inf, 0.95)
        yield [bound_hidden(krylov, 4.5, sign, 1e-3) for sign in (1.0, -1.0)]


def norms_with_several_starts_and_given_rows():
    krylov = _basis(6, block=2)
    yield (
        probable_norm(krylov, 0.05),
        [probable_end(krylov, sign, 0.01) for sign in (1.0, -1.0)],
        bound_hidden(krylov, 5.0, 1.0, 0.1),
    )
    values, vectors = np.linalg.eigh(WIDE.matrix.numpy())
    given = torch.from_numpy(vectors[:, [0, 49]].T.copy())
    krylov = _basis(9, given=given)
    yield complement_norm(krylov, 0.05), [complement_end(krylov, sign, 0.05) for sign in (1.0, -1.0)]
    yield [(complement_norm(krylov, chance), complement_end(krylov, 1.0, chance)) for chance in (0.001, 0.05)]
    yield probable_norm(krylov, 0.05), [probable_end(krylov, sign, 0.05) for sign in (1.0, -1.0)], values[[0, 49]]
    krylov = _basis(6)
    krylov.restart([0, 5])
    yield refused(probable_norm, krylov, 0.05), bound_hidden(krylov, 5.0, 1.0, 0.1)


def norms_of_a_basis_that_has_lost_some():
    krylov = _basis(6)
    for lost in (0.0, 0.25):
        krylov.lost_square = lost
        found = spectral_norm(krylov, 4.0, 0.9)
        yield found.value, found.low, found.high, known_square(krylov)


def norms_of_an_invariant_basis():
    krylov = _basis(3, operator=_dense([2.0, -3.0, 1.0]))
    yield (
        probable_norm(krylov, 0.05),
        certified_end(krylov, 1.0, 0.0, 3.0),
        known_square(krylov),
        spectral_norm(krylov, 0.0, 0.9).low,
    )


def intervals_of_probes():
    squares = np.array([3.0, 2.0, 5.0, 4.0, 2.5, 3.5, 4.5, 1.0, 3.0, 2.0, 9.0])
    explained = Prediction(3.0, 0.4, 10.0, 20.0)
    for probes in (
        *(
            Probes(squares),
            Probes(squares, directions=4),
            Probes(squares, predicted=explained),
            Probes(squares, looks=3),
        ),
        *(
            Probes(squares, predicted=Prediction(3.0, 0.3, 10.0, 5.0)),
            Probes(squares, least=9.0),
            Probes(0.0 * squares),
        ),
        *(
            Probes(squares, exact=True),
            Probes(np.empty(0), exact=True),
            Probes(squares, predicted=Prediction(3.0, 0.1, 0.5, 9.0)),
        ),
        Probes(squares, predicted=Prediction(9.0, 0.2, 1.0, 6.0)),
    ):
        yield probes.mean, probes.pilot_spread, probes.copies, probes.copies_show, probes.predicted.few
        yield probes.interval(0.9), probes.interval(0.99)
        if not probes.exact:
            yield probes.needed(0.2, 0.9), probes.needed(0.02, 0.9), probes.needed(5.0, 0.95)
    yield (
        [quantile(confidence) for confidence in (0.5, 0.95)],
        [Prediction(1.0, 0.2, 1.0, degrees).cautious_spread for degrees in (5.9, 6.0)],
    )


def cautious_spreads():
    yield [inflate_spread(spread, 50.0) for spread in (0.0, 0.01, 0.03, 0.04, 0.09, 0.2)], inflate_spread(0.1, inf)
    for spread, copies, largest in (
        (0.5, 0.0, 1.0),
        (0.5, 0.3, 0.01),
        (0.5, 0.3, 9.0),
        (0.5, 0.1, 0.03),
        (1.4, 1.3, 9.0),
    ):
        yield inflate_spread_for_copies(spread, copies, largest)


def probes_of_a_complement():
    krylov = _basis(6)
    for chunk in (1, 4):
        seen = []
        drawn = draw_probes(WIDE, krylov.span, 5, np.random.default_rng(1), chunk, seen.append, forms=True)
        yield drawn.squares, drawn.forms, drawn.directions, drawn.exact, seen
    few = _basis(48)
    for count, complement in ((1, None), (2, None), (9, 2), (9, 1)):
        drawn = draw_probes(WIDE, few.span, count, np.random.default_rng(1), complement=complement, forms=True)
        yield drawn.exact, drawn.mean, drawn.forms.sum(), len(drawn.squares)
    other = Probes(np.ones(2), forms=np.array([1.0, 2.0]))
    yield (
        other.merge(Probes(np.array([3.0]), forms=np.array([5.0]))),
        other.merge(Probes(np.array([3.0]), exact=True)).exact,
    )
    seen = []
    signs = sign_probes(WIDE, 3, np.random.default_rng(1), 4.5, 2, seen.append)
    yield signs.squares, signs.least, seen, signs.forms
    yield draw_probes(WIDE, krylov.span, 3, np.random.default_rng(2)).forms


def predictions_of_the_rest():
    for steps in (2, 3, 8, 14):
        krylov = _basis(steps)
        yield predict_rest(krylov), predict_rest(krylov, 0.2), predict_trace(krylov), predict_signs(krylov, 4.5)
        yield measure_unconverged(krylov)
    diagonal = DenseOperator(torch.diag(torch.linspace(-1.0, 3.0, 60, dtype=torch.float64)))
    yield predict_signs(_basis(5, operator=diagonal), 3.1), predict_rest(_basis(3, operator=_dense([2.0, 1.0, 0.0])))
    copies = _basis(2, operator=_dense([3.0] * 4 + [-1.0] * 30))
    yield predict_rest(copies), predict_trace(copies)


def projections_off_rows():
    rows = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 0.01]], dtype=torch.float64)
    return project_out(rows, torch.eye(4, dtype=torch.float64)[[1, 3]])


def intervals_by_a_bound():
    squares = np.array([2.0, 3.0, 2.5])
    for bound in (0.01, 0.5, 2.0, 10.0):
        yield bounded_interval(squares, bound, 0.95), bounded_interval(squares[:2], bound, 0.5), degrees_of(2.5, bound)
    yield bounded_interval(0.0 * squares, 1.0, 0.9), bounded_interval(squares, 0.0, 0.9), degrees_of(2.5, 0.0)
    yield bounded_interval(np.full(3, 2.0), 1e-9, 0.9)
    for width in (9.0, 2.0, 0.5, 0.01):
        yield bounded_count(2.5, 0.5, 0.95, width, 100), bounded_count(2.5, 0.1, 0.9, width, 30)
    yield bounded_count(2.5, 0.5, 0.95, 0.01, 1)


def _short(found):
    return Within(
        1e-5,
        {name: value for name, value in found.to_dict().items() if name not in ("residual", "deterministic_width")},
    )


def stable_ranks_of_matrices():
    for seed, options in ((0, {}), (1, {"relative_width": 0.5}), (0, {"confidence": 0.5}), (0, {"products": 22})):
        yield _short(
            stable_rank_of(WIDE, rng=np.random.default_rng(seed), **{"basis": 9, "relative_width": 0.2, **options})
        )


def stable_ranks_by_chunks_and_by_signs():
    texts = []
    options = {"relative_width": 0.2, "progress": texts.append}
    yield _short(stable_rank_of(WIDE, rng=np.random.default_rng(0), chunk=7, basis=9, **options)), texts[:4], texts[-1]
    flat = DenseOperator(torch.diag(torch.linspace(0.2, 1.5, 200, dtype=torch.float64)))
    texts.clear()
    found = stable_rank_of(flat, rng=np.random.default_rng(0), **{**options, "relative_width": 0.1}, basis=12)
    yield _short(found), found.words()["stable rank"], texts[-1]


def stable_ranks_of_copies_and_scales():
    copies = _dense([3.0] * 5 + [-1.0] * 3 + list(np.linspace(0.0, 0.3, 30)))
    yield _short(stable_rank_of(copies, rng=np.random.default_rng(0), relative_width=0.3, basis=20))


def stable_ranks_at_their_least():
    for values in ([9.0, *np.linspace(-0.6, 0.7, 40)], [1.0] * 30 + [0.9]):
        found = stable_rank_of(_dense(values), rng=np.random.default_rng(0), relative_width=0.5, basis=3, products=24)
        yield _short(found), found.deterministic_width, found.residual


def stable_ranks_of_scaled_and_rounded_matrices():
    for factor in (1e-12, -1e9):
        found = stable_rank_of(DenseOperator(factor * WIDE.matrix), rng=np.random.default_rng(0), relative_width=0.5)
        yield _short(scale_interval(found, 1.0 / abs(factor)))
    yield _short(stable_rank_of(_dense([2.0, -3.0, 1.0]), rng=np.random.default_rng(0)))
    rounded = _Rounded(WIDE.matrix)
    for rounding in (1e-3, 0.02):
        rounded.rounding = rounding
        found = stable_rank_of(rounded, rng=np.random.default_rng(0), relative_width=0.05, basis=8)
        yield _short(found), found.words()["stable rank"]
    rounded.rounding = 0.2
    yield refused(stable_rank_of, rounded, rng=np.random.default_rng(0))


class _Rounded(DenseOperator):
    rounding = 0.0


def refused_settings_of_stable_ranks():
    for options in ({"relative_width": 0.0}, {"relative_width": inf}, {"confidence": 0.0}, {"confidence": 1.0}):
        yield refused(stable_rank_of, WIDE, rng=np.random.default_rng(0), **options)
    for options in ({"products": 21}, {"basis": 0}, {"chunk": 0}):
        yield refused(stable_rank_of, WIDE, rng=np.random.default_rng(0), **options)
    yield refused(stable_rank_of, DenseOperator(torch.zeros(4, 4)), rng=np.random.default_rng(0))


def spectral_measures():
    for options in (
        {},
        {"three_vectors": True},
        {"without": extreme_eigenpairs(WIDE, 2, 1, tolerance=1e-9, rng=np.random.default_rng(0))},
    ):
        texts = []
        found = spectral_measure(
            WIDE, rng=np.random.default_rng(0), probes=2, steps=4, progress=texts.append, **options
        )
        yield found.nodes, found.weights, found.atoms, found.degree, texts, found.rounding * 1e13
        yield [found.moment(power) for power in (1, 2, 3)], refused(found.moment, 8), refused(found.moment, 9)
    yield refused(spectral_measure, WIDE, rng=np.random.default_rng(0), probes=0)
    yield refused(spectral_measure, WIDE, rng=np.random.default_rng(0), steps=0)
    whole = spectral_measure(_dense([2.0, -3.0, 1.0]), rng=np.random.default_rng(0), probes=1, steps=9)
    yield whole.nodes, whole.degree, whole.moment(2)


def measures_with_atoms():
    found = SpectralMeasure(
        10, (np.array([0.5, -1.0]), np.array([2.0])), (np.array([0.5, 0.3]), np.array([0.8])), np.array([3.0, -2.0])
    )
    yield found.rule(), found.rule(with_atoms=False), found.cdf(np.array([-3.0, -2.0, 0.4, 0.5, 3.0]))
    yield (
        found.density(np.array([[0.0, 2.0]]), 0.5),
        found.density(np.array([3.0]), 0.2, with_atoms=False),
        found.moment(2),
    )
    yield refused(found.density, np.zeros(1), 0.0), dataclasses.replace(found, nodes=(), weights=()).moment(3)
    yield dataclasses.replace(found, nodes=found.nodes[:1], weights=found.weights[:1]).moment(1).value


def intervals_scaled():
    found = stable_rank_of(_dense([2.0, -3.0, 1.0]), rng=np.random.default_rng(0))
    scaled = scale_interval(found, 0.5)
    yield scaled.spectral_norm, scaled.frobenius, scaled.eigenvalue, scaled.value, 3.0 in Interval(3.0, 3.0, 3.0)
