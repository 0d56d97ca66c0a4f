"""Records of quantities of symmetric matrices: rules, counts, traces, diagonals, densities and their intervals."""

import numpy as np
import torch
from recording import Within, refused

from hessian import DenseOperator, Krylov, measure
from hessian.quantities.measurement import MeasureSettings, measure_with, parts_of, stream_of
from hessian.quantities.names import read_quantities
from hessian.quantities.random_forms import count_interval, half_width, probes_needed, shifted_squares, variance_of_form
from hessian.quantities.rules import Rule


def _dense(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    matrix = torch.from_numpy((turn * np.asarray(values)) @ turn.T)
    return DenseOperator((matrix + matrix.T) / 2)


SIGNED = _dense(np.concatenate([np.linspace(-1.0, 1.2, 37), [5.0, 3.0, -2.0]]))
POSITIVE = _dense(np.concatenate([np.linspace(0.0, 1.0, 37), [5.0, 3.0, 2.0]]))
QUICK = {"basis": 10, "steps": 8, "products": 150}


def _short(found):
    drop = ("gradients", "given_up", "warm")
    return Within(1e-5, {name: value for name, value in found.to_dict().items() if name not in drop})


def rules_with_a_prescribed_node():
    krylov = Krylov(SIGNED, np.random.default_rng(0))
    krylov.extend(4)
    rule = Rule.of(krylov)
    yield rule.nodes, rule.weights, np.abs(rule.couplings), rule.exact
    places = np.array([-3.0, 0.0, 0.3, 1.0, 9.0])
    yield rule.with_node(places), rule.masses(places), rule.mirrored().masses(places)
    wide = Rule(rule.nodes, rule.starts, rule.couplings, 0.4)
    yield wide.masses(places), wide.with_node(rule.nodes[:1])[2], rule.with_node(np.linspace(-2.0, 5.0, 70))[2]
    exact = Rule(np.array([-1.0, 0.5, 2.0]), np.sqrt([0.2, 0.5, 0.3]), np.zeros(3), 0.1)
    yield exact.exact, exact.masses(np.array([-1.2, -1.05, -1.0, 0.45, 0.55, 0.61, 2.0, 3.0])), exact.mirrored().nodes
    krylov.extend(40)
    yield Rule.of(krylov).exact


def intervals_of_random_forms():
    yield [variance_of_form(3.0, directions) for directions in (1.0, 10.0, 1e6)]
    for degrees, confidence in ((4.0, 0.95), (0.1, 0.95), (4.0, 0.5), (np.inf, 0.99)):
        yield half_width(3.0, 20.0, 5, degrees, confidence)
        yield [probes_needed(3.0, 20.0, degrees, confidence, half) for half in (0.01, 0.5, 3.0, 100.0)]
    yield (
        half_width(0.0, 20.0, 5, 4.0, 0.9),
        probes_needed(0.0, 9.0, 1.0, 0.9, 0.0),
        probes_needed(1.0, 9.0, 1.0, 0.9, 0.0),
    )
    yield shifted_squares(np.array([1.0, 4.0, -2.0]), np.array([2.0, 9.0, 0.01]), 5.0)


def intervals_of_counts():
    for low, high, probes in (
        (3.2, 3.2, 4),
        (3.2, 4.5, 4),
        (0.0, 0.0, 2),
        (30.0, 30.0, 2),
        (15.0, 15.0, 50),
        (29.99, 30.0, 1),
    ):
        yield [count_interval(low, high, 30, probes, confidence) for confidence in (0.5, 0.95, 0.999)]


def traces_and_extreme_eigenvalues():
    yield _short(measure(SIGNED, "trace,sharpness,smallest", relative_width=0.4, **QUICK))
    yield (
        _short(measure(SIGNED, "sharpness", relative_width=0.1, seed=1)),
        _short(measure(SIGNED, "smallest", relative_width=0.3)),
    )
    few = measure(SIGNED, "sharpness,trace", relative_width=0.001, basis=3, products=40)
    yield few.words(), few.reached


def norms_and_stable_ranks():
    yield _short(measure(SIGNED, "frobenius-squared", relative_width=0.2, **QUICK))
    yield _short(measure(SIGNED, "stable-rank,trace", relative_width=0.3, confidence=0.8, seed=3, **QUICK))


def counts_on_both_sides():
    found = measure(SIGNED, "count-above=1.1,count-below=0.5,count-above=0", relative_width=0.3, **QUICK)
    yield _short(found), found.words()
    exact = measure(
        _dense([3.0, 1.0, 0.5, -2.0]), "count-above=1,count-above=0.99,count-below=2,count-below=1.99,density"
    )
    yield exact.words(), exact["density"].value, exact["density"].points
    large = measure(_dense([300.0, 90.0, 50.0, -200.0]), "count-above=60,count-below=150")
    yield [(one.value, one.low, one.high) for one in large.found.values()]


def smooth_functions_of_positive_matrices():
    names = "log-det=0.5,effective-dimension=0.5,effective-dimension=20"
    found = measure(POSITIVE, names, relative_width=0.2, **QUICK)
    yield _short(found), found.words()
    yield _short(
        measure(POSITIVE, "log-det=0.01", relative_width=0.01, confidence=0.8, seed=2, basis=5, steps=3, products=60)
    )
    scaled = measure(DenseOperator(1e-3 * POSITIVE.matrix), "log-det=0.0005", relative_width=0.05, **QUICK)
    yield Within(1e-5, [scaled["log-det=0.0005"].value, scaled["log-det=0.0005"].low, scaled["log-det=0.0005"].high])


def smooth_functions_at_their_limits():
    few = {"basis": 1, "steps": 1, "products": 40, "relative_width": 0.01}
    small = _dense([0.0] * 20 + [0.4, 40.0])
    yield Within(1e-5, [measure(small, "log-det=0.5", **few)["log-det=0.5"].low, 22.0 * np.log(0.5)])
    for values, name in (
        ([0.0] * 20 + [3.0, 9.0], "effective-dimension=1"),
        ([9.0] * 20 + [0.0, 0.1], "effective-dimension=0.01"),
    ):
        found = measure(_dense(values), name, **few)[name]
        yield Within(1e-5, [found.value, found.low, found.high]), found.limit


def functions_of_matrices_that_are_not_positive():
    for name in ("log-det=9", "effective-dimension=1"):
        yield str(refused(measure, SIGNED, name, **QUICK)).replace("-2.0", "-2")[:90]
    negative = _dense([1.0, 0.5, -1e-3])
    yield refused(measure, negative, "log-det=1"), refused(measure, _dense([2.0, 1.0, 0.0]), "log-det=1e-20") != ""
    single = DenseOperator(POSITIVE.matrix.float())
    yield str(refused(measure, single, "log-det=1e-9", **QUICK))[:100]


def diagonals_with_standard_errors():
    for chunk, seed in ((1, 0), (4, 1)):
        found = measure(SIGNED, "diagonal", relative_width=0.8, chunk=chunk, seed=seed, **QUICK)["diagonal"]
        yield Within(1e-5, [found.value[:4], found.sd[:4], found.low[:4], found.high[:4]]), found.probes, found.reached
    tight = measure(SIGNED, "diagonal,trace", relative_width=0.05, basis=4, products=60, confidence=0.5)
    yield tight.words(), tight.products, tight["diagonal"].value.sum()
    exact = measure(_dense([2.0, -1.0, 0.5]), "diagonal")["diagonal"]
    yield exact.value, exact.probes, exact.sd, exact.words(), exact.points


def densities_as_bands():
    found = measure(SIGNED, "density", relative_width=0.6, **QUICK)["density"]
    yield (
        Within(1e-5, [part[::8] for part in (found.points, found.value, found.low, found.high)]),
        found.words(),
        len(found.points),
    )
    other = measure(SIGNED, "density", relative_width=0.9, confidence=0.5, seed=1, **QUICK)["density"]
    yield Within(1e-5, other.bracket(np.array([-3.0, 0.0, 1.0, 6.0]))), other.words()
    tight = measure(SIGNED, "density", relative_width=0.05, basis=4, steps=4, products=60)["density"]
    yield tight.words()


def progress_of_a_measurement():
    texts = []
    measure(
        SIGNED, "trace,count-above=1,diagonal", relative_width=0.9, progress=texts.append, basis=6, steps=5, products=90
    )
    yield [text for number, text in enumerate(texts) if number % 6 == 0]
    yield [parts_of(read_quantities(names)) for names in ("trace", "density", "diagonal", "log-det=1,diagonal")]
    for part, seed, more in (
        ("quadrature", 0, ()),
        ("diagonal", 0, ()),
        ("quadrature", 1, ()),
        ("quadrature", 0, (5,)),
    ):
        yield stream_of(part, seed, *more).integers(1000)


def refused_measurements():
    for options in ({"seed": -1}, {"seed": 1.0}, {"seed": True}, {"relative_width": 0.0}, {"relative_width": np.inf}):
        yield refused(measure, SIGNED, "trace", **options)
    for options in (
        {"confidence": 1.0},
        {"products": 21},
        {"products": 30.0},
        {"basis": 0},
        {"steps": 0},
        {"chunk": 0},
        {"chunk": True},
    ):
        yield refused(measure, SIGNED, "trace", **options)
    yield (
        refused(measure, SIGNED, "count-above=1,diagonal", products=61, steps=30),
        refused(measure, SIGNED, "diagonal", products=31),
    )
    yield refused(measure, SIGNED, "density", products=49, steps=28), refused(measure, SIGNED, "")
    yield measure(SIGNED, "density", products=50, steps=28, relative_width=2.0).products
    yield refused(measure, DenseOperator(torch.zeros(4, 4)), "stable-rank")
    yield measure(DenseOperator(torch.zeros(4, 4)), "trace,sharpness,diagonal,count-above=0").words()


def settings_and_streams_of_one_measurement():
    settings = MeasureSettings(0.5, 0.9, 40, 6)
    found = measure_with(SIGNED, read_quantities("trace"), settings, lambda part: np.random.default_rng(len(part)))
    yield settings, Within(1e-5, found["trace"].value), found.confidence, found.P, found.steps
