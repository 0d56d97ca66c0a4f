"""Records of what FedLoRU's replays share: steps of proofs with right and wrong constants, and second evaluations."""

from fractions import Fraction

import sympy
from recording import refused

from paper_checks.fedloru.replays.shared import (
    averages,
    bounded_gradients,
    dimension_counts,
    eigenvectors,
    factor_symbols,
    general_noise,
    index_sets,
    limits,
    local_steps,
    one_weight_listing,
    one_weight_runs,
    sample_sizes,
    series,
    stable_rank_limits,
    two_clients,
)

HALF = Fraction(1, 2)


def _shown(found):
    assumes = [(str(one), one.met) for one in found.assumes]
    given = {name: str(value) for name, value in found.given.items()}
    return str(found.left), str(found.right), str(found.error), found.strict, assumes, given, found.reads


def _met(*hypotheses):
    return [(str(one), one.met) for one in hypotheses]


def symbols_of_factors():
    yield [[str(factor) for factor in pair] for pair in factor_symbols.factors_of(3)], factor_symbols.factors_of(0)
    yield factor_symbols.W.is_commutative, factor_symbols.factors_of(1)[0][0].is_commutative
    yield [str(one.assumptions0.get("positive")) for one in (factor_symbols.alpha, factor_symbols.m, general_noise.s)]


def products_of_averages():
    case = {"shares": "1/2 1/3 1/6", "cohort": "0 2", "A": "3", "B": "-1/2"}
    for changes in (
        {},
        {"cohort": "0 1 2"},
        {"cohort": "1"},
        {"cohort": "1 1"},
        {"cohort": "3"},
        {"cohort": "2"},
        {"cohort": "-1 2"},
        {"shares": "1/2 1/4 1/8"},
        {"shares": "1/2 1/2 0"},
        {"shares": "3/2 -1/4 -1/4"},
    ):
        yield _shown(averages.product_of_averages({**case, **changes}))


def scaled_series():
    for powers in ((1, 1, 0), (2, 1, 0), (1, 1, 1)):
        yield refused(series.scaling, *powers)
    n, k = series.n, series.k
    yield [series.zero(one) for one in (0, 2 ** (n + k) - 2**n * 2**k, 2**n - 2**k, (n + 1) ** 2 - n**2 - 2 * n)]


def moves_of_a_round():
    yield str(bounded_gradients.u), str(bounded_gradients.v)
    for kept, weight in ((HALF, HALF), (HALF, Fraction(49, 100)), (1, 0), (Fraction(3, 4), 1), (Fraction(4, 5), 1)):
        yield bounded_gradients.absorbs(kept, weight)


def local_steps_in_symbols():
    names = ("moved_a", "moved_b", "moved_ab", "drift_a", "drift_b", "rate_a", "rate_b", "E")
    yield {name: str(sympy.expand(getattr(local_steps, name))) for name in names}
    yield str(sympy.factor(local_steps.mean_drift()))
    yield [refused(local_steps.positive_sizes, sizes) for sizes in ((1, 2), (0, 1), (2, -1), (), (1,))]
    for steps in (0, 1, 2):
        yield [
            [str(part) for part in pair] for pair in local_steps.one_weight(steps, lambda A, B: A * B + local_steps.h)
        ]


def assumptions_at_two_sample_sizes():
    for client, server, spikes in (
        ("1", "1/2", ["1", "-2"]),
        ("1", "1", ["-1"]),
        ("1", "0", ["1/2", "-999/1000"]),
        ("2", "3", ["1", "-2"]),
    ):
        values = {"client": client, "server": server, "spikes": spikes}
        yield _met(*sample_sizes.sample_sizes(values))
        yield [str(one) for one in sample_sizes.limits(values, Fraction(2, 3))]
        yield [str(one) for one in sample_sizes.gap_and_printed(values)]


def steps_of_the_stable_rank():
    yield [refused(stable_rank_limits.bulk_square, bulk) for bulk in (Fraction(1), Fraction(4), Fraction(0))]


def index_sets_at_the_threshold():
    spikes = [Fraction(one) for one in ("3", "1", "-1", "1/2", "-1001/1000", "-4")]
    for n in (Fraction(1), Fraction(1, 2), Fraction(4), Fraction(5)):
        outliers, edge = index_sets.shares(spikes, n)
        yield sorted(index_sets.by_limit(spikes, n)), [str(one) for one in outliers], str(edge)
    yield [str(one) for one in index_sets.shares([Fraction(-2), Fraction(2)], Fraction(1))[0]]


def readings_of_index_sets():
    case = {"spikes": ["3", "-1"], "sigma": "2", "s_M": "1/2", "s_N": "1/4"}
    for changes in (
        {},
        {"spikes": ["1", "-1"]},
        {"spikes": ["99/100", "-1/2"]},
        {"spikes": ["3", "0", "-1"]},
        {"spikes": ["3", "1"]},
        {"spikes": ["-3", "-1"]},
        {"sigma": "0"},
        {"s_N": "1/2"},
        {"s_N": "0"},
        {"s_M": "1"},
    ):
        found = refused(index_sets.read, {**case, **changes})
        yield found if isinstance(found, str) else [*map(str, found[0]), *map(str, found[1:3]), _met(*found[3])]


def dimensions_in_common():
    i, j, n = dimension_counts.i, dimension_counts.j, dimension_counts.n
    for shift in (-1, 0, 1):
        yield dimension_counts.upper(i + j - 1 + shift), dimension_counts.lower(i + j - n + shift)
    yield dimension_counts.in_common((n, n, 1)), dimension_counts.in_common((n, n, 0))
    yield [refused(dimension_counts.between, *shifts) for shifts in ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1))]


def noise_of_a_sample_size():
    yield [_met(*limits.noise(sigma, s)) for sigma, s in ((Fraction(1), HALF), (Fraction(0), 1), (Fraction(-1), 0))]


def edges_of_the_semicircle():
    yield refused(limits.semicircle, 2), refused(limits.at_the_edges, Fraction(3, 2))


def indices_past_the_outliers():
    yield [refused(limits.past_the_outliers, Fraction(2), first) for first in (0, 1, 2)]


def outliers_and_their_threshold():
    n, theta = limits.n, limits.theta
    yield [refused(limits.outliers, theta + n**2 / theta, one) for one in (1, Fraction(1, 2), 2)]
    yield refused(limits.outliers, theta + 2 * n**2 / theta, 1), refused(limits.transform, theta, theta - n**2 / theta)


def parts_away_from_and_across_the_spikes():
    yield [refused(eigenvectors.away_from_spikes, one) for one in (0, 1)]
    yield [refused(eigenvectors.across_the_spikes, one) for one in (0, 1)]


def errors_of_clients():
    yield [refused(eigenvectors.own_errors, one) for one in (Fraction(1), Fraction(2), Fraction(0))]
    yield refused(eigenvectors.mean_cosine)


def listed_rounds_of_one_weight():
    case = {"W": "0", "A": "1", "B": "-1/2", "target": "3", "alpha": "2", "rate": "1/8", "tau": "2", "rounds": "3"}
    for changes in (
        {},
        {"rounds": "4"},
        {"rounds": "5", "alpha": "-1/2"},
        {"rounds": "2"},
        {"rounds": "1"},
        {"tau": "1"},
        {"tau": "0"},
        {"rate": "0"},
        {"rate": "-1/8"},
        {"rounds": "8", "B": "1/16"},
        {"rounds": "9"},
    ):
        found = refused(one_weight_listing.listing, {**case, **changes})
        yield found if isinstance(found, str) else _shown(found)
    single, tau, T, assumes = one_weight_listing.start({**case, "rounds": "12"}, most=12)
    single.step(Fraction(1, 3))
    yield str(single.A), str(single.B), tau, T, _met(*assumes), one_weight_listing.EITHER


def runs_of_one_weight():
    case = {"L": "2", "zone": "1/2", "W": "-3/10", "A": "1", "B": "-1/4", "rate": "1/10", "share": "1/3"}
    for changes in (
        {},
        {"W": "3/4", "steps": 1, "rounds": 1},
        {"W": "1", "B": "1"},
        {"W": "-1", "A": "-2"},
        {"rate": "0"},
        {"share": "0"},
        {"L": "-1"},
        {"zone": "0"},
        {"steps": 0},
        {"rounds": 0},
        {"rounds": 9},
    ):
        run = refused(one_weight_runs.run, {**case, "steps": 2, "rounds": 1, **changes})
        if isinstance(run, str):
            yield run
            continue
        last = len(run.path) - 1
        yield run.E, run.T, str(run.path[-1][0]), str(run.path[-1][1]), _met(*run.assumes)
        yield [str(one) for one in (run.G, run.C_A, run.C_B, run.s2, run.D, run.brace, run.slope(last))]
        yield [str(one) for one in (run.loss(0), run.loss(last), run.in_factors(0), run.in_factors(last))]


CLIENTS = {"spikes": [1, -2, 1.5], "noise": 0.5, "gradient": [0.25, 1, 2], "noise_square": 0.25, "rank": 1}


def slopes_and_overlaps_of_two_clients():
    for rank in (1, 2, 3):
        slopes, overlaps = two_clients.slopes_and_overlaps(CLIENTS, rank)
        yield [str(one) for one in slopes], [str(one) for one in overlaps]
        yield str(two_clients.printed_quotient(CLIENTS, rank))
    yield two_clients.rank_of(CLIENTS), two_clients.outliers(CLIENTS)


def assumptions_on_two_clients():
    for changes in ({}, {"noise": 0}, {"noise": 1}, {"gradient": [1, 1]}, {"noise_square": -1}, {"rank": 0}):
        yield _met(*two_clients.two_clients({**CLIENTS, **changes}))


def limits_of_the_cosine():
    allowed = two_clients.Hypothesis("r", 1, "<=", 3)
    for changes in ({}, {"rank": 3}, {"noise_square": 0}, {"noise_square": 4}, {"noise": 1}):
        found = refused(two_clients.cosine_and_limit, {**CLIENTS, **changes}, allowed)
        if isinstance(found, str):
            yield found
        else:
            yield float(found.left), found.right, [str(one) for one in found.assumes], found.reads
            yield [str(one) for one in found.given["alpha_i^2"]]


def small_first_slopes():
    small = {**CLIENTS, "gradient": [4, "1/10", 6], "noise_square": "1/8"}
    for changes in (
        {},
        {"rank": 2},
        {"spikes": [1, -2, 2]},
        {"spikes": [1, -2, -1.5]},
        {"noise_square": 0},
        {"gradient": [0, 1, 2]},
        {"noise_square": 40},
    ):
        found = refused(two_clients.small_first_slope, {**small, **changes})
        yield found if isinstance(found, str) else (_shown(found), float(found.left))
