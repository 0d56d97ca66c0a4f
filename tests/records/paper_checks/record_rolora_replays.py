"""Records of what RoLoRA's replays share: second evaluations in fractions, and steps of proofs with other constants."""

from fractions import Fraction

import sympy
from mpmath import iv
from recording import refused

from paper_checks.replay import Violation
from paper_checks.rolora.replays.shared import (
    clients_and_minimisers,
    concentration,
    contraction,
    contraction_steps,
    gradient_tails,
    iterations,
    logarithms,
    moments,
    nets_and_norms,
    one_step,
    own_samples,
    rank_one,
    second_iteration,
    tails,
    tangent_map,
    thresholds,
)

HALF = Fraction(1, 2)


def _met(*hypotheses):
    return [(str(one), one.met) for one in hypotheses]


def _shown(found):
    if not isinstance(found, Violation):
        return found
    given = {name: float(value) for name, value in found.given.items()}
    return float(found.left), float(found.right), found.strict, _met(*found.assumes), given, found.reads


CASE = {"m": "4", "cosine": "4/5", "sine": "3/5", "aa": "5/4", "au": "-1/3", "uu": "3/4"}


def own_samples_in_the_plane():
    for changes in (
        {},
        {"m": "2"},
        {"m": "1"},
        {"aa": "0"},
        {"au": "1", "aa": "1", "uu": "1"},
        {"cosine": "3/5"},
        {"sine": "-3/5"},
        {"cosine": "1", "sine": "0"},
    ):
        found = refused(own_samples.own_samples, {**CASE, **changes})
        yield (
            found
            if isinstance(found, str)
            else (_met(*found[0]), {name: str(value) for name, value in found[1].items()})
        )
    yield [_met(*own_samples.learning_rate(Fraction(s))) for s in ("0", "1", "101/100")], own_samples.MANY_SAMPLES


SETTING = {"N": "3", "d": "2", "eps_0": "1/10", "eps_1": "1/5", "eps_2": "3/10", "C": "10"}


def thresholds_and_fewest_samples():
    for changes in (
        {},
        {"N": "50", "d": "3", "eps_1": "1/100", "C": "1/2"},
        {"N": "2000", "eps_1": "9/10", "eps_2": "1/20"},
        {"eps_0": "0"},
        {"eps_1": "1"},
        {"eps_2": "-1/2"},
        {"N": "1"},
        {"N": "0"},
        {"d": "1"},
        {"C": "0"},
    ):
        found = refused(thresholds.thresholds, {**SETTING, **changes})
        if isinstance(found, str):
            yield found
        else:
            yield [str(one) for one in found.e], [float(one) for one in found.q], found.m, _met(*found.assumes)
            yield found.q[0] <= found.q[1]


def numbers_inside_an_interval():
    for value in ("0", "1/2", "1", "2"):
        yield _met(*iterations.inside("c", Fraction(value))), _met(*iterations.inside("c", Fraction(value), 2))


def numbers_of_iterations():
    case = {"delta_0": "3/5", "c": "1/2", "quotient": "1/10", "root": "2"}
    for changes in ({}, {"root": "1"}, {"root": "1/2"}, {"quotient": "1"}, {"delta_0": "1"}, {"c": "0"}):
        yield _shown(refused(iterations.iteration_count, {**case, **changes}))


def one_iteration_near_one():
    case = {**SETTING, "N": "1", "c": "9999999999/10000000000", "delta_0": "1/1000000"}
    for changes in ({}, {"c": "9/10"}, {"d": "3"}, {"N": "2"}, {"delta_0": "1/10"}, {"c": "1"}):
        yield _shown(refused(iterations.one_iteration, {**case, **changes}))


def hypotheses_of_one_step():
    for step, D in (("1/2", "1/2"), ("1", "1"), ("0", "0"), ("2", "1/3")):
        yield _met(*one_step.setting(Fraction(step), Fraction(D)))
        yield [_met(*one_step.threshold("eps'", Fraction(eps), Fraction(D))) for eps in ("0", "1/32", "1/16")]
    assumes, at, s = one_step.one_step({**CASE, "s": "1/4"})
    yield _met(*assumes), sorted(at), str(s), one_step.ONE_STEP


def failures_of_one_client():
    case = {**SETTING, "N": "1", "eps_2": "1/100", "C": "1"}
    for changes in ({}, {"N": "2"}, {"eps_2": "1/10"}, {"eps_2": "1/40"}, {"C": "1/1000"}):
        assumes, level, q, root = one_step.failing_client({**case, **changes})
        yield _met(*assumes), str(level), float(q), float(root)
        yield _shown(one_step.gradient_too_far({**case, **changes}, "76"))
    yield [float(one_step.beyond(Fraction(bound), Fraction(3))) for bound in ("0", "1/10", "1")]
    left, x = one_step.missing_probability(Fraction(1, 10), Fraction(3))
    yield float(left), str(x)


def spans_of_numbers():
    one = second_iteration.Span(Fraction(-1), Fraction(2))
    other = second_iteration.Span(Fraction(1, 2), Fraction(3))
    for found in (one + other, one - other, other - one, one * other, one * one, one.over(other), other.root()):
        yield float(found.low), float(found.high)
    yield second_iteration.exactly(3)


def second_iterations_by_spans():
    case = {"cosine": "4/5", "sine": "3/5", "s": "1/4", "n": "100000", "d": "40", "room": "1/20"}
    for changes in (
        {},
        {"d": "400", "room": "1/50"},
        {"n": "99999"},
        {"d": "0"},
        {"room": "0"},
        {"room": "99/100"},
        {"room": "1"},
        {"s": "1"},
        {"s": "2"},
        {"cosine": "-4/5"},
        {"sine": "4/5"},
    ):
        found = refused(second_iteration.second_iteration, {**case, **changes})
        if isinstance(found, str):
            yield found
            continue
        for name in ("b", "A", "B", "overlap", "stretched", "both", "square"):
            span = getattr(found, name)
            yield name, float(span.low), float(span.high)
        yield float(found.missed), _met(*found.assumes)


def intervals_and_their_signs():
    yield [concentration.surely(concentration.interval(one)) for one in ("0", "1/3", "-1/3", 1e-30)]
    third = concentration.interval(Fraction(1, 3))
    yield bool(third.a <= third.b), float(iv.mpf(concentration.LOG_2).mid), concentration.GRADIENT_WORDS


def enough_samples():
    for factor in (20, Fraction(197, 10), Fraction(19), 15):
        yield refused(concentration.enough_for_minimisers, Fraction(factor))
    alpha, beta = Fraction(3, 5), Fraction(7, 20)
    for at in (
        (100, alpha, beta),
        (90, alpha, beta),
        (100, HALF, beta),
        (100, alpha, HALF),
        (100, 1, 0),
        (1, alpha, beta),
    ):
        yield refused(concentration.enough_for_gradient, *map(Fraction, at))


def constants_of_tails():
    yield [refused(tails.tail_of_length, Fraction(one)) for one in ("16/9", "17/9", "15/9")]
    yield [
        tails.vanishes(one)
        for one in (sympy.Integer(0), sympy.sin(tails.t) ** 2 + sympy.cos(tails.t) ** 2 - 1, tails.t)
    ]


def constants_of_the_gradient():
    for c5, share in ((gradient_tails.SUM_OF_FRESH_SAMPLES, 1), ("0.154", 1)):
        yield refused(gradient_tails.tail_of_sum, c5, share)
    for at in ((1, 1), (Fraction(9, 10), 1), (1, 2)):
        yield refused(gradient_tails.deviation, *at)
    yield str(gradient_tails.scaled(gradient_tails.r**2 + 1)), gradient_tails.same(1, gradient_tails.r)


def steps_of_the_contraction():
    for linear, sign in ((1, 1), (HALF, 1), (2, 1), (1, -1)):
        yield refused(contraction_steps.slope_on_the_event, linear, sign)
    for factor, one in ((4, 1), (Fraction(39, 10), 1), (4, 0), (5, 1)):
        yield refused(contraction_steps.first_order_is_at_most, factor, one)
    s = contraction_steps.s
    yield contraction_steps.zero((1 + s) ** 2 - 1 - 2 * s - s**2), contraction_steps.zero(s)


def nets_and_norms_of_variables():
    yield [refused(nets_and_norms.nearest_point_of_a_net, Fraction(one)) for one in ("1/2", "49/100", "1")]
    yield [refused(nets_and_norms.norm_of_a_product, Fraction(one)) for one in ("8/3", "266/100", "2")]
    yield refused(nets_and_norms.norm_of_rank_one)


def bounds_of_logarithms():
    yield refused(logarithms.bounds_of_logarithms)


def models_in_inner_products():
    A, B, TRUTH, MEAN, OWN, H = (getattr(rank_one, name) for name in ("A", "B", "TRUTH", "MEAN", "OWN", "H"))
    both = rank_one.plus((2, A), (-3, TRUTH), (1, H))
    yield {name: str(share) for name, share in both.items()}, rank_one.plus((1, A), (-1, A))
    yield str(rank_one.inner(both, both)), str(rank_one.inner(B, rank_one.plus((1, OWN), (2, MEAN))))
    gap = rank_one.minus([(A, B)], [(TRUTH, OWN)])
    yield str(rank_one.frobenius(gap, gap)), str(rank_one.over_clients(rank_one.frobenius(gap, gap)))
    yield refused(rank_one.over_clients, rank_one.OWN_MEAN**2)
    yield rank_one.same(rank_one.SQUARE_A, 1), rank_one.same(rank_one.COSINE, 1)


def losses_of_different_clients():
    yield str(clients_and_minimisers.loss(rank_one.A, rank_one.B))
    yield {name: str(share) for name, share in clients_and_minimisers.across(rank_one.A).items()}
    yield str(clients_and_minimisers.square(clients_and_minimisers.CLIENT)), str(clients_and_minimisers.SINE_SQUARED)
    yield refused(clients_and_minimisers.minimiser_of_a_client)


def means_over_one_client():
    g, h = moments.g, moments.h
    for one in (moments.SCALE, moments.SCALE**2, moments.PRODUCT, g * h, 3 * h**2):
        yield str(moments.mean(one))
    yield refused(moments.mean, g**4), refused(moments.mean, h**4), moments.vanishes(g - g), moments.vanishes(g)
    yield [refused(moments.moment_is_finite_from, *at) for at in ((3, 2), (2, 2), (4, 2), (2, 1), (5, 4))]


def constants_that_prove_less():
    for value in ("1/2", "49/100", "51/100"):
        yield refused(tangent_map.at_least, HALF, factor=Fraction(value))
        yield refused(tangent_map.at_most, HALF, factor=Fraction(value))
    yield str(sympy.factor(tangent_map.ratio(tangent_map.s, tangent_map.u)))
    yield [tangent_map.not_negative(one) for one in (sympy.Integer(0), tangent_map.u, -tangent_map.u)]


def polynomials_in_the_unit_cube():
    D, s = contraction.D, contraction.s
    for polynomial, variables in (
        (1 - D, (D,)),
        (1 - D + D**2, (D,)),
        (D - Fraction(1, 10), (D,)),
        (2 - D - s, (D, s)),
    ):
        for strict in (True, False):
            yield contraction.positive(sympy.expand(polynomial), variables, 3, strict)
    yield contraction.positive(sympy.Integer(1) + D - D, (D,)), contraction.positive(D**2 - D + Fraction(1, 3), (D,), 0)


def contraction_on_the_events():
    for limit, threshold in (
        ("1/2", "1/10"),
        ("1/2", "1/5"),
        ("1", "1/10"),
        ("0", "1/10"),
        ("1/2", "0"),
        ("1/2", "1/8"),
    ):
        yield refused(contraction.on_events, Fraction(limit), Fraction(threshold))


def samples_near_the_identity():
    share, threshold = Fraction(3, 10), Fraction(1, 16)
    for at in (
        (100, share, threshold),
        (10, share, threshold),
        (100, Fraction(1, 10), threshold),
        (100, share, HALF),
        (6, share, threshold),
    ):
        yield refused(contraction.near_identity, *map(Fraction, at))
    yield (
        [refused(contraction.fixed_samples, Fraction(share), Fraction(1, 20)) for share in ("0", "1")],
        contraction.FIXED_WORDS,
    )
