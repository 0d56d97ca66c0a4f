"""Records of what FeDLRT's replays share: rounds in fractions and numpy, costs of boxes, slacks, steps of proofs."""

from fractions import Fraction

import numpy as np
import sympy
from recording import refused

from paper_checks.fedlrt.measurements import simplified_traces
from paper_checks.fedlrt.replays.shared import (
    boxes,
    chains,
    descent,
    full_correction,
    legendre_runs,
    local_steps,
    median_ranks,
    one_step,
    opposite_clients,
    singular_values,
    slack,
    update_symbols,
    wide_bases,
)

HALF = Fraction(1, 2)


def _met(*hypotheses):
    return [(str(one), one.met) for one in hypotheses]


def messages_of_boxes():
    for method in ("FedAvg", "FedLin", *boxes.VARIANTS):
        for one in boxes.exchanges(method):
            yield (
                method,
                {name: str(shape) for name, shape in one.sent.items()},
                {n: str(s) for n, s in one.back.items()},
            )


def steps_of_boxes():
    for one in boxes.steps():
        yield one.place, one.does, str(one.takes), str(one.gives), str(one.multiplications)
    yield refused(lambda: boxes.Step("client", "product", ((2, 3), (4, 5))).gives)
    tall = boxes.Step("server", "QR", ((7, 3),)), boxes.Step("server", "SVD", ((7, 3),))
    yield [(one.gives, one.multiplications) for one in tall]


def squares_of_sums():
    yield str(chains.total([chains.a, chains.h])), str(chains.total([]))
    for count, factor in ((1, 1), (3, 1), (3, 2), (2, Fraction(99, 100))):
        yield refused(chains.square_of_sum, count, factor)


def costs_of_truncations():
    yield [refused(descent.cost_of_truncation, Fraction(share)) for share in ("1/2", "49/100", "1")]


def descents_for_all_steps():
    for largest, limit, steps, square in (
        ("1", "1", (1, 2, 5), "1"),
        ("1", "1", (1,), "2"),
        ("3/2", "1/12", (3,), "2"),
        ("1", "1", (), "1"),
        ("5", "1", (2,), "1"),
        ("1", "11/10", (2,), "1"),
        ("0", "1", (2,), "0"),
        ("1", "0", (2,), "1"),
    ):
        yield refused(descent.descent_for_all_steps, Fraction(largest), Fraction(limit), steps, Fraction(square))


def descents_with_full_correction():
    for limit, steps in (("1", (1, 2, 7)), ("1", ()), ("1/2", (0,)), ("2", (1,))):
        yield refused(full_correction.full_correction_descends, Fraction(limit), steps)
    yield [refused(local_steps.coefficients_of_the_power, steps, terms) for steps, terms in ((1, 3), (0, 3), (20, 12))]


def _losses(clients=2):
    rng = np.random.default_rng(0)
    grams = np.stack([one.T @ one / 4.0 for one in rng.standard_normal((clients, 6, 9))])
    return legendre_runs.Losses(grams, rng.standard_normal((clients, 3, 3)))


def rounds_by_another_implementation():
    W = np.random.default_rng(1).standard_normal((3, 3))
    for correction in ("none", "simplified", "full"):
        for shares in (None, np.array([0.2, 0.8])):
            for tau in (0.0, 0.9):
                factors = legendre_runs.fedlrt(W, 1, _losses(), correction, 40, tau, 2, shares)
                yield np.linalg.norm(legendre_runs.product(factors)), np.diag(factors[1])


def changes_of_gradients():
    losses, rng = _losses(), np.random.default_rng(2)
    U, V = rng.standard_normal((2, 3, 2))
    moved = rng.standard_normal((2, 4, 1))
    for steps in (1, 2):
        yield np.linalg.norm(losses.change(U, V, steps)(moved))
    yield losses.gradients(np.eye(3)).sum(axis=(1, 2))


def features_in_every_normalisation():
    points = np.array([-1.0, 0.3, 1.0])
    for basis in ("plain", "dx", "uniform"):
        yield legendre_runs.features(points, 4, basis), legendre_runs.gram(points, points[::-1], 2, basis)
    yield legendre_runs.features(points, 1), legendre_runs.philox(3).standard_normal(2), legendre_runs.RATE


def hypotheses_of_median_ranks():
    for starts, rounds in ((19, 5), (20, 0), (20, 2001)):
        yield refused(median_ranks.median_rank, {"starts": starts, "rounds": rounds})


STEP = {
    "W": [["1", "0"], ["0", "0"]],
    "B": [["65", "48"], ["48", "136"]],
    "step": "1/100",
    "theta": "9/4",
    "vector": ["4/5", "3/5"],
    "kept": "2",
    "tail": "1",
}


def steps_in_fractions():
    for changes in (
        {},
        {"W": [["0", "1/3"], ["-1/2", "2"]]},
        {"B": [["65", "0"], ["0", "136"]]},
        {"step": "1/12"},
        {"step": "1/11"},
        {"step": "0"},
        {"W": [["1", "0"]]},
    ):
        at = refused(one_step.one_step, {**STEP, **changes})
        if isinstance(at, str):
            yield at
        else:
            yield str(at.given), str(at.F), _met(*at.assumes), at.rate


def truncated_steps():
    at = one_step.one_step(STEP)
    for changes in (
        {},
        {"theta": "1"},
        {"theta": "5/2"},
        {"tail": "2"},
        {"tail": "0"},
        {"vector": ["3/5", "4/5"]},
        {"vector": ["1", "1"]},
    ):
        cut, theta, assumes = one_step.truncate({**STEP, **changes}, at)
        yield str(cut), str(theta), _met(*assumes)[-6:]
    yield one_step.inner(at.W, at.B), str(one_step.minus(at.B, at.W)), one_step.TRUNCATED


OPPOSITE = simplified_traces.WITNESS


def opposite_clients_in_fractions():
    for changes in (
        {},
        {"start": "-1/2", "steps": 3, "apart_inside": "-5"},
        {"norm": "-11", "delta": "1/5", "theta": "100000"},
        {"slope": [["-10", "0"], ["0", "4"]], "apart_outside": "-8"},
        {"step": "0", "theta": "0", "delta": "0"},
        {"steps": 9},
    ):
        at = refused(opposite_clients.follow_opposite, {**OPPOSITE, **changes})
        if isinstance(at, str):
            yield at
            continue
        yield [str(one) for one in (*at.moved, at.square, at.whole, at.change)], _met(*at.assumes), str(at.given)


def tails_of_singular_values():
    for after, sizes in ((1, (1, 3)), (0, (2,)), (2, (2,)), (1, ())):
        yield refused(singular_values.tail_is_what_the_best_rank_misses, after, sizes)
    yield str(singular_values.symbols_of("x", 1, 2))


def _form(*rows):
    form = slack.Slack(len(rows))
    form.matrix = [[Fraction(one) for one in row] for row in rows]
    return form.non_negative()


def slacks_that_are_not_negative():
    yield _form((1, 2), (2, 4)), _form((1, 2), (2, 3)), _form((0, 0), (0, 1)), _form((0, 1), (1, 5)), _form((-1,))
    yield _form((1, 0, 1), (0, 0, 0), (1, 0, 1)), _form((2, -1, 0), (-1, 2, -1), (0, -1, 2)), _form((0,))
    yield _form((4, 2, 2), (2, 1, 2), (2, 2, 9)), slack.Slack(0).non_negative()
    form = slack.Slack(2)
    form.add(Fraction(3), [Fraction(1), Fraction(2)], [Fraction(-1), Fraction(0)])
    yield str(form.matrix), str(form.unit(1)), str(slack.plus((2, form.unit(0)), (-1, form.unit(1))))


def rounds_and_points_of_certificates():
    yield str(slack.rounds((1, HALF), ((2, 1), (2, 3)))), len(slack.rounds((1,)))
    yield str(slack.round_of({"clients": 2, "steps": 3, "step": "1/6"})), slack.FURTHER_STEPS
    form = slack.Slack(3)
    yield str(slack.local_points(form, Fraction(1, 4), 2, [form.unit(1), form.unit(2)]))
    one = slack.CorrectedRound(2, 2, Fraction(1, 4), points=2)
    yield one.size, str(one.walks), str(one.end), len(one.on_the_way)


def certificates_by_multipliers():
    case = {
        "clients": 1,
        "steps": 1,
        "step": "1/2",
        "recursion": "FedLin",
        "goal": "drift",
        "low": "-1",
        "bound": "1/4",
    }
    for changes in (
        {"multipliers": {}},
        {"multipliers": {}, "bound": "24/100"},
        {"multipliers": {"0,9": "1"}},
        {"multipliers": {"0,1": "-1"}},
        {"multipliers": {}, "recursion": "FedAvg"},
        {"multipliers": {}, "goal": "else"},
        {"multipliers": {"0,+": "1"}, "goal": "descent", "bound": "-3/8"},
        {"multipliers": {"0,+": "1"}, "goal": "descent", "bound": "-38/100"},
        {"multipliers": {"0,+": "1/2"}, "goal": "descent", "bound": "-1/8"},
        {"multipliers": {"0,+": "1", "+,0": "1/3"}, "goal": "descent", "bound": "-1/8"},
    ):
        yield refused(slack.corrected_steps_are_bounded, {**case, **changes})
    content = {**case, "multipliers": {}}
    promised = (1, 1, HALF, "drift", "-1", None)
    yield refused(slack.all_proved, [content], [promised], slack.corrected_steps_are_bounded)
    yield refused(slack.all_proved, [content], [], slack.corrected_steps_are_bounded)
    low = {**content, "bound": "0"}
    yield refused(slack.all_proved, [low], [promised], slack.corrected_steps_are_bounded)


def descents_as_a_bowl():
    for steps, step in ((1, "1/2"), (2, "1/4"), (2, "26/100"), (16, "1/32"), (5, "1/100"), (3, "1/6")):
        yield slack.descends_as_a_bowl(steps, Fraction(step))


def updates_in_symbols():
    yield [str(entry) for entry in update_symbols.wide(update_symbols.w)], str(update_symbols.corner(update_symbols.g))
    yield [
        str(entry) for entry in update_symbols.corrected(update_symbols.S_c, update_symbols.corner(update_symbols.g))
    ]
    for inner, half in ((-1, HALF), (1, HALF), (-1, Fraction(49, 100)), (-1, 1)):
        yield refused(update_symbols.smoothness, inner, sympy.Rational(half))
    yield refused(update_symbols.same, update_symbols.w, update_symbols.g, "the step")
    yield refused(update_symbols.same, update_symbols.CORNER, sympy.eye(2), "the step"), str(update_symbols.CORNER)
    yield str(update_symbols.linear_loss(1, 2, 1)[-1]), str(wide_bases.row(wide_bases.X, wide_bases.Y))
