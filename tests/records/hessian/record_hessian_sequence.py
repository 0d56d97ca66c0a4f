"""Records of measurements of similar matrices one after the other: warm starts, traces by differences, trackers."""

import dataclasses
from math import inf, pi

import numpy as np
import torch
from recording import Within, refused
from torch import nn

from hessian import Curvature, DenseOperator, Interval, Moment, RitzPairs, SpectrumSettings, SpectrumTracker
from hessian.block_ranks import block_ranks
from hessian.quantities.block_measurements import measure_blocks
from hessian.quantities.estimates import Estimate
from hessian.quantities.measurement import MeasureSettings, measure_from, stream_of
from hessian.quantities.names import Quantity, read_quantities
from hessian.quantities.sequence import MeasurementSequence, plan_differences
from hessian.quantities.trace_changes import TraceAnchor, half_of_sum
from hessian.quantities.warm_search import WarmStart
from hessian.through_training import StateSpectrum, angles_of, overlaps, rank_columns, sequence_of, state_spectrum

BULK = np.linspace(-0.5, 0.8, 55)


def _dense(values, seed=0, turned=0.0):
    rng = np.random.default_rng(seed)
    basis = rng.standard_normal((len(values), len(values)))
    turn = np.linalg.qr(basis + turned * rng.standard_normal(basis.shape))[0]
    matrix = torch.from_numpy((turn * np.asarray(values)) @ turn.T)
    return DenseOperator((matrix + matrix.T) / 2)


def _matrix(place):
    return _dense([*(BULK + 0.001 * place), 9.0 + 0.1 * place, 5.0, 3.5, -4.0 - 0.05 * place], turned=2e-4 * place)


def _short(measured):
    ends = {str(one): [found.value, found.low, found.high] for one, found in measured.found.items()}
    counts = {str(one): found.probes for one, found in measured.found.items() if hasattr(found, "probes")}
    return Within(1e-5, ends), counts, measured.products, measured.warm, measured.steps, measured.reached


def sequences_of_warm_searches():
    for names, options in (
        ("sharpness,smallest", {}),
        ("stable-rank", {"relative_width": 0.2}),
        ("frobenius-squared", {"confidence": 0.6}),
    ):
        sequence = MeasurementSequence(read_quantities(names), 0)
        settings = MeasureSettings(**{"relative_width": 0.1, "basis": 24, "products": 150, **options})
        for place in range(3):
            yield names, _short(sequence.measure(_matrix(place), settings))
        yield _short(sequence.measure(_dense(np.linspace(-1.0, 2.0, 25)), settings))


def sequences_of_traces():
    sequence = MeasurementSequence(read_quantities("trace,sharpness"), 2)
    settings = MeasureSettings(relative_width=0.04, basis=12, products=400)
    texts = []
    for place in (0.0, 0.02, 0.04):
        yield _short(sequence.measure(_matrix(place), settings, texts.append)), texts[-1]
    alone = MeasurementSequence(read_quantities("trace"), 1)
    for place in (0.0, 0.02, 0.04):
        yield _short(alone.measure(_matrix(place), dataclasses.replace(settings, relative_width=0.05)))


class _Turned:
    """A matrix with known eigenvalues, whose eigenvectors turn in planes of two coordinates."""

    dtype, device, P = torch.float64, torch.device("cpu"), 100

    def __init__(self, change, seed=0):
        rng = np.random.default_rng(seed)
        bulk, drift = 0.06 * np.abs(rng.standard_normal(97)), rng.standard_normal(97)
        values = rng.permutation(np.r_[3.0 + change, 2.0, -1.0, bulk * (1.0 + change * drift)])
        self.values, self.angle = torch.from_numpy(values), 0.3 * change

    def products(self, rows):
        return self._turn(self._turn(rows, -self.angle) * self.values, self.angle)

    def _turn(self, rows, angle):
        one, other = rows[:, :50], rows[:, 50:]
        return torch.cat([np.cos(angle) * one - np.sin(angle) * other, np.sin(angle) * one + np.cos(angle) * other], 1)


def _followed(names, matrices, **options):
    sequence = MeasurementSequence(read_quantities(names), 1)
    settings = MeasureSettings(**{"relative_width": 0.029, "basis": 12, "products": 600, "chunk": 60, **options})
    for given in matrices:
        texts = []
        measured = sequence.measure(_Turned(*given), settings, texts.append)
        found = measured["trace"]
        yield Within(1e-5, [found.value, found.low, found.high, found.uncertain]), found.confidence, texts[-1:]
        yield measured.products, measured.warm, found.probes, found.reached


SLOW = tuple((change,) for change in (0.0, 0.002, 0.004, 0.006, 0.03))


def traces_followed_for_long():
    yield list(_followed("trace", [*SLOW, (0.3,), (0.302,), (0.304,)]))
    yield list(_followed("trace,sharpness", SLOW, relative_width=0.028))
    yield list(_followed("trace", SLOW[:3], relative_width=0.0244, confidence=0.9))


def traces_that_change_faster():
    yield list(_followed("trace", [(0.02 * place,) for place in range(10)]))


def traces_with_few_products():
    for products in (70, 71, 120, 126, 128):
        yield list(_followed("trace", SLOW[:3], products=products))
    yield list(_followed("trace", SLOW[:2], relative_width=0.031))


def traces_that_are_no_longer_followed():
    yield list(_followed("trace", [(0.0, seed) for seed in (0, 1, 1, 1, 1, 1, 1, 2, *[3] * 9)]))


def traces_that_are_followed_again():
    yield list(_followed("trace", [(0.0, seed) for seed in (0, *[1] * 8, 2, *[3] * 5)]))


def plans_of_differences():
    common = {"basis": 30, "vectors": 8, "others": 0, "confidence": 0.95}
    for rest, change, half, options in (
        *((9.0, 1e-4, 0.2, {}), (9.0, 0.0, 0.2, {}), (9.0, 0.01, 0.2, {}), (900.0, 1e-4, 1.0, {"others": 40})),
        *(
            (9.0, 9.0, 0.2, {}),
            (0.0, 1.0, 0.2, {}),
            (inf, 1.0, 0.2, {}),
            (9.0, 1e-4, 0.0, {}),
            (9.0, 1e-4, 0.2, {"limit": 300}),
        ),
        *((9.0, 1e-4, 0.2, {"confidence": 0.5}), (9.0, 1e-4, 0.2, {"vectors": 30}), (9.0, 1e-4, 0.2, {"basis": 900})),
    ):
        plan = plan_differences(rest, change, half, **{**common, **options})
        yield plan and (plan, plan.finer)


def widths_of_sums():
    parts = [[(2.0, 5.0), (1.0, 8.0)], [(2.0, inf)], [(0.0, 3.0)], [(1.0, 0.1)], []]
    return [[half_of_sum(one, confidence) for one in parts] for confidence in (0.5, 0.95)]


def traces_by_differences():
    start = WarmStart(
        torch.eye(40, dtype=torch.float64)[:12], np.linspace(4.0, -1.0, 20), 50, 3.0, variance=0.04, degrees=7.0
    )
    diagonal = DenseOperator(torch.diag(torch.linspace(4.0, -1.0, 40, dtype=torch.float64)))
    trace = Estimate(Quantity("trace"), 60.0, 59.0, 61.0, 0.95, 12, True, uncertain=0.002)
    anchor = TraceAnchor.of(diagonal, start, trace, 5, np.random.default_rng(0))
    yield (
        anchor.cost,
        anchor.inside,
        anchor.slack,
        [anchor.half_width(0.3, level) for level in (0.5, 0.95)],
        len(anchor.vectors),
    )
    later = DenseOperator(diagonal.matrix + 0.05 * _dense(np.linspace(-1.0, 3.0, 40)).matrix)
    for width, confidence in ((0.05, 0.95), (0.01, 0.95), (0.05, 0.5)):
        yield anchor.follow(later, width, confidence)


def findings_that_a_search_starts_from():
    settings = MeasureSettings(relative_width=0.3, basis=12, products=150)
    for names in ("stable-rank,trace", "sharpness"):
        measured, found = measure_from(
            _matrix(0), read_quantities(names), settings, lambda part: stream_of(part, 0), None
        )
        yield (
            _short(measured),
            Within(1e-4, [found.values, found.rest, found.forms, found.deviation, found.variance, found.degrees]),
        )
        yield (
            found.products,
            found.probes,
            found.vectors.shape,
            Within(1e-4, found.whole),
            found.fits(59),
            found.fits(60),
        )


START = WarmStart(
    torch.eye(50, dtype=torch.float64)[:10],
    np.array([8.0, -5.0, 4.0, 3.0, *np.linspace(1.0, 0.1, 20)]),
    90,
    6.0,
    2.0,
    1.5,
    14,
)


def plans_of_warm_starts():
    for wanted in ({"sharpness"}, {"stable-rank"}, {"trace"}, {"frobenius-squared", "trace"}):
        for width, confidence in ((0.05, 0.95), (0.3, 0.95), (0.3, 0.5)):
            yield sorted(wanted), START.plan(frozenset(wanted), width, confidence)
    change = dataclasses.replace
    for start in (
        change(START, waits=1),
        change(START, products=16),
        change(START, products=14),
        change(START, probes=0),
    ):
        yield start.plan(frozenset({"sharpness"}), 0.1, 0.95), start.plan(frozenset({"stable-rank"}), 0.1, 0.95)
    flat = change(START, values=np.linspace(8.0, 7.0, 24))
    yield (
        flat.plan(frozenset({"sharpness"}), 0.1, 0.95),
        change(flat, products=15).plan(frozenset({"smallest"}), 0.1, 0.95),
    )


def uses_of_warm_starts():
    later = dataclasses.replace(START, products=30)
    for start, spent, tried in ((START, 200, False), (START, 90, True), (START, 91, True)):
        for failures, waits in ((0, 0), (1, 3)):
            found = dataclasses.replace(start, failures=failures, waits=waits).follow(later, spent, tried)
            yield found.products, found.failures, found.waits


def _fill(model):
    """Give a model weights that do not depend on the processor's random numbers in single precision."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=torch.float64).add(1.7 * number).sin().reshape(p.shape))
    return model


def _network():
    model = _fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2)).double())
    return model, nn.MSELoss(), (torch.randn(9, 3, dtype=torch.float64), torch.randn(9, 2, dtype=torch.float64))


def trackers_in_a_loop():
    model, loss, data = _network()
    tracker = SpectrumTracker(model, loss, data, every=2, quantities="sharpness,trace", relative_width=0.2, seed=4)
    yield repr(tracker), tracker(1), len(tracker.states)
    for step in (0, 2):
        state = tracker(step)
        yield state.step, state.loss, _short(state.measurement), state.warm, state.words()[f"step {step}"]
        with torch.no_grad():
            model[0].weight.mul_(1.01)
    frame = tracker.to_frame()
    yield (
        list(frame.columns),
        frame[["step", "loss", "quantity", "reached", "products", "warm"]],
        repr(tracker),
        model.training,
    )
    yield Within(1e-5, frame[["value", "low", "high"]])


def refused_trackers():
    given = _network()
    for options in (
        {"every": 0},
        {"every": 1.5},
        {"seed": -1},
        {"seed": True},
        {"quantities": "x"},
        {"basis": 0},
        {"memory": "x"},
    ):
        yield refused(SpectrumTracker, *given, **options)
    yield refused(SpectrumTracker(*given[:2], (given[2][0], None)).measure, 7)
    yield refused(SpectrumTracker(*given, memory="1 KiB").measure, 8)
    for step in (float("inf"), float("nan"), -float("inf"), 1.5, True, "2", None):
        yield refused(SpectrumTracker(*given), step)
    diagonal = SpectrumTracker(*given, quantities="diagonal", basis=6, relative_width=2.0, products=60)
    diagonal.measure(3)
    yield diagonal.to_frame()[["quantity", "value", "reached"]], diagonal.states[0].step


def blocks_of_a_network():
    model, loss, data = _network()
    operator = Curvature(model.eval(), loss, data)
    texts = []
    for one in block_ranks(operator, SpectrumSettings(width=0.2, seed=1), progress=texts.append):
        yield one.name, one.P, one.why, Within(1e-5, [one.rank.value, one.rank.low, one.rank.high])
    for one in measure_blocks(
        operator, read_quantities("trace,log-det=1"), MeasureSettings(0.2), seed=1, progress=texts.append
    ):
        yield one.name, one.P, one.why, one.measurement and _short(one.measurement)
    yield texts


def blocks_that_cannot_be_measured():
    model = _fill(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)).double())
    x = torch.randn(5, 2, dtype=torch.float64)
    operator = Curvature(model, lambda out, _: (model[1](x) ** 2).mean() + 0.0 * out.mean(), (x, None))
    yield (
        [str(one) for one in block_ranks(operator, SpectrumSettings(), 1)][:1],
        [one.why for one in block_ranks(operator, SpectrumSettings())],
    )


def _pairs(values, residuals, missed=0.0):
    vectors = torch.eye(6, dtype=torch.float64)[: len(values)]
    return RitzPairs(np.array(values), vectors, np.array(residuals), missed)


def angles_of_eigenvectors():
    for values, residuals, missed in (
        *(
            ([5.0, 3.0, 1.0], [0.1, 0.2, 0.3], 0.0),
            ([5.0, 3.0, 1.0], [0.1, 0.2, 0.3], 1.9),
            ([5.0, 4.8, 1.0], [0.1, 0.2, 0.3], 0.5),
        ),
        *(([5.0, 3.0, 1.0], [1.9, 2.1, 0.3], 0.1), ([5.0], [0.1], 0.0), ([5.0, 3.0], [0.5, 0.1], inf)),
    ):
        yield angles_of(_pairs(values, residuals, missed))


def overlaps_of_two_states():
    rank = None
    one = StateSpectrum(rank, _pairs([5.0, 3.0, 1.0], [0.1, 0.2, 0.3]), np.array([0.1, 0.2, pi / 2.0]))
    turned = torch.eye(6, dtype=torch.float64)[:3].clone()
    turned[0, :2], turned[1, 1:3] = torch.tensor([0.6, 0.8]), torch.tensor([-0.96, 0.28])
    other = StateSpectrum(rank, dataclasses.replace(one.pairs, vectors=turned), np.array([0.05, 0.3, 0.0]))
    return overlaps(one, other), overlaps(one, one)


def states_of_a_training():
    settings = SpectrumSettings(width=0.3, outliers=2, basis=12, tolerance=1e-6)
    sequence = sequence_of(settings)
    for place, use in ((0, sequence), (1, sequence), (0, None)):
        found = state_spectrum(_matrix(place), settings, sequence=use)
        yield (
            Within(1e-5, [list(rank_columns(found.rank).items())[index][1] for index in range(5)]),
            list(rank_columns(found.rank)),
        )
        yield (
            np.round(found.pairs.values, 6),
            found.angles < 1e-3,
            found.missed < 0.01,
            found.warm,
            found.pairs.vectors.shape,
        )
    small = state_spectrum(_dense([2.0, 1.0]), settings)
    yield (
        small.pairs.values,
        small.angles < 1e-6,
        Moment(1.0, 2.0) == Moment(1.0, 2.0),
        Interval(1.0, 0.0, 2.0).relative_width,
    )
