"""Records of FeDLRT's counted costs and of its Legendre least squares: counts, polynomials, grids, runs, readings."""

import numpy as np
import torch
from recording import refused

from algorithms.descent import Descent
from paper_checks.context import Context
from paper_checks.fedlrt import pages
from paper_checks.fedlrt.measurements import (
    counting,
    heterogeneous_setting,
    homogeneous_setting,
    layers,
    least_squares,
    legendre_grid,
    legendre_runs,
)
from paper_checks.fedlrt.measurements.counting import Operation, Sizes, count_round


def losses_of_a_layer():
    rng = np.random.default_rng(0)
    X, T, U, V = (torch.from_numpy(rng.standard_normal(size)) for size in ((5, 3), (5, 2), (3, 2), (2, 1)))
    layer = counting.Layer(X, T)
    yield layer.samples, layer.loss({"W": U @ torch.ones(2, 1).double() @ V.mT})
    yield layer.projected({"W": U}, {"W": V}).loss({"W": torch.ones(2, 1).double()})
    yield layer.factored({"W": U}, {"W": torch.ones(2, 1).double()}, {"W": V})


def multiplications_of_operations():
    for name, shapes, result in (
        ("mm", ((3, 4), (4, 5)), (3, 5)),
        ("addmm", ((3, 5), (3, 4), (4, 5)), (3, 5)),
        ("mv", ((3, 4), (4,)), (3,)),
        ("dot", ((4,), (4,)), ()),
        ("bmm", ((2, 3, 4), (2, 4, 5)), (2, 3, 5)),
        ("linalg_qr", ((7, 3),), (7, 3)),
        ("_linalg_svd", ((7, 3),), (7, 3)),
        ("_linalg_svd", ((3, 7),), (3, 7)),
        ("add", ((2, 1), (1, 3)), (2, 3)),
        ("sum", ((2, 3),), ()),
        ("sub", (), ()),
        ("addcmul", ((2, 3), (2, 3), ()), (2, 3)),
        ("addcmul", ((2, 3), (2, 3), (2, 3)), (2, 3)),
        ("view", ((2, 3),), (6,)),
    ):
        yield Operation("client", name, shapes, result).multiplications


def counted_rounds():
    for method in (*counting.METHODS, "naive"):
        for sizes in (Sizes(6, 2, 2, 4, rows=7),) if method != "FeDLRT" else (Sizes(5, 1, 1, 3), Sizes(6, 1, 3, 2)):
            one = count_round(method, sizes)
            yield method, one.costs, {f"{trip} {way}": count for (trip, way), count in one.messages.items()}
            yield len(one.trips), one.last_upload, one.largest()
            yield [(step.place, step.name, step.shapes) for step in one.factorisations()]


def sizes_of_the_grid():
    for method in ("FedLin", "FeDLRT"):
        found = counting.grid(method)
        yield len(found), found[0], found[-1], found[5]
    yield Sizes(3).m, Sizes(3, rows=5).m, layers.LAYERS, layers.LAYERS_SCOPE


def polynomials_from_counts():
    full = {(1, 0, 0, 0): 2, (2, 0, 1, 0): -3, (0, 0, 0, 1): 1}
    low = {(1, 1, 0, 0): 2, (0, 3, 1, 1): 1, (0, 0, 0, 0): -5}
    for polynomial, method in ((full, "FedLin"), (low, "FeDLRT")):
        counts = {size: counting.evaluate(polynomial, size.n, size.r, size.s, size.b) for size in counting.grid(method)}
        found = counting.interpolate(counts)
        yield sorted(map(str, found.items())), counting.describe_polynomial(found)
    counts[next(iter(counts))] += 1
    yield refused(counting.interpolate, counts)
    yield counting.describe_polynomial({}), counting.describe_polynomial({(1, 0, 0, 0): 1, (0, 2, 0, 1): -4})
    yield counting.evaluate(full, 3, 1), counting.evaluate(low, 3, 2), counting.evaluate(low, 3, 2, 5, 7)


def terms_that_are_not_bounded():
    for cost, entry in (
        ({(2, 0, 0, 0): 1}, {(2, 0, 0, 0): 1}),
        ({(1, 1, 0, 0): 1}, {(2, 0, 0, 0): 1}),
        ({(0, 3, 0, 0): 1}, {(2, 0, 0, 0): 1}),
        ({(2, 0, 0, 0): 1}, {(1, 1, 0, 0): 1}),
        ({(1, 0, 1, 0): 1}, {(2, 0, 0, 0): 1}),
        ({(1, 0, 0, 1): 1}, {(2, 0, 1, 0): 1}),
        ({}, {}),
        ({(0, 0, 0, 0): 1}, {}),
    ):
        yield counting.unbounded_term(cost, entry)


def _parts(rng):
    x, y = rng.uniform(-1.0, 1.0, (2, 30))
    return [(x[:10], y[:10]), (x[10:], y[10:])]


def losses_on_a_grid():
    rng = np.random.default_rng(0)
    target, W = rng.standard_normal((2, 3, 3))
    U, V = rng.standard_normal((2, 3, 2))
    for basis in ("uniform", "dx", "plain"):
        grid = legendre_grid.on_grid(_parts(np.random.default_rng(1)), target, basis)
        yield grid.excess(W), grid.excess(target), grid.shares, grid.mean_weights.sum(), grid.weights.sum()
        yield grid.gradients(W).sum(axis=(1, 2)), np.linalg.norm(grid.hessians(U, V))
        yield grid.step(U, V, 0.1)(np.ones((2, 4, 1))).sum(axis=1)
    many = legendre_grid.Grid(np.tile(grid.weights, (700, 1, 1)), np.full(1400, 1 / 1400), grid.features, grid.target)
    yield many.step(U, V, 0.1)(np.ones((1400, 4, 1)))[:2].sum(axis=1)


def targets_and_starts():
    for seed in (0, 1):
        target = legendre_runs.target_of(seed)
        yield legendre_runs.target_share(target), torch.linalg.svdvals(target)[0, :5]
        for number in (0, 1, 2):
            yield legendre_runs.normal_start(seed, 3, 0.5, number).flatten()
    yield legendre_runs.target_share(torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.5])), 3)


def runs_of_legendre_least_squares():
    points = legendre_runs.own_targets(0, "uniform", "all")
    yield len(points), tuple(points[0].B.shape), [float(one.B.sum()) for one in points]
    reading = heterogeneous_setting.START
    run = legendre_runs.follow(points, legendre_runs.normal_start(0, 10, 1.0), reading, Descent(2, 1e-3), 2)
    yield run


def runs_on_a_grid():
    grid = legendre_grid.on_grid(_parts(np.random.default_rng(1)), np.diag([2.0, 1.0, 0.0]), "uniform")
    start = legendre_runs.normal_start(0, 3, 1.0)
    for choice in (legendre_runs.Choice(rank=1), legendre_runs.Choice(rank=2, correction="full", tau=0.4)):
        run = legendre_runs.on_grid_run(grid, start, choice, Descent(3, 0.05), 5, 0.0)
        yield run, run.reaches(run.distances[3]), run.reaches(0.0)
        other = legendre_runs.on_grid_run(grid, 1.01 * start, choice, Descent(3, 0.05), 3, 0.0)
        yield legendre_runs.apart(run, other), legendre_runs.apart(other, run), legendre_runs.apart(run, run)


def rounds_until_a_run_is_near():
    run = legendre_runs.Run((3.0, 1.0, 2.0, 0.5), (1, 2, 2, 2), (9.0, 1.0, 4.0, 0.25))
    yield [run.reaches(distance) for distance in (4.0, 1.0, 0.99, 0.5, 0.1)]
    other = legendre_runs.Run((3.0, 1.1), (1, 2), (9.0, 1.0))
    yield legendre_runs.apart(run, other), legendre_runs.apart(other, run)
    yield legendre_runs.apart(run, legendre_runs.Run((3.0, 1.0), (1, 3), ()))


def runs_that_are_followed():
    run = legendre_runs.Run((3.0,) * 5, (8, 4, 5, 4, 4), (1.0,) * 5)
    full = {"uniform": tuple((float(distance), 0.0) for distance in np.linspace(5.0, 1.0, len(least_squares.GRID)))}
    one = least_squares.Followed({"uniform": run, "dx": run}, {"uniform": (8.0, 6.5)}, {}, 0.0, full)
    yield one.ranks("uniform"), one.ranks("dx")
    yield [one.full_rank("uniform", distance) for distance in (6.0, 5.0, 3.0, 1.0, 0.5)]
    yield [least_squares.settling_round(ranks) for ranks in ((8, 4, 5, 4, 4), (4, 4), (), (4, 3), (4.5, 4))]
    yield [least_squares.settling_round((3, 2, 2), 2)], least_squares.GRID[:12], len(least_squares.GRID)
    yield (
        {name: (str(choice), rounds) for name, (choice, rounds) in least_squares.FOLLOWED.items()},
        least_squares.EARLY,
    )


def readings_of_the_normalisation():
    for run in (True, False):
        for reading in homogeneous_setting.normalisation_readings(
            "it holds.", "uniform", "plain, size 1", "dx", run=run, why=" W."
        ):
            yield reading.name, reading.says, reading.constants, reading.why
    for name in ("uniform", "plain, size 1", "tau 0.5"):
        yield homogeneous_setting.name_reading(name)
    yield homogeneous_setting.run_conditions("2", "start"), homogeneous_setting.NOT_FOLLOWED


def streams_of_both_tests():
    for seed in (0, 1):
        for claim in ("one", "other"):
            context = Context(claim, seed)
            yield (
                homogeneous_setting.stream_of_one_target(context),
                heterogeneous_setting.stream_of_own_targets(context),
            )
    yield str(heterogeneous_setting.START)


def constants_on_the_page():
    return [pages.constants_at(steps) for steps in (1, 2, 3)]
