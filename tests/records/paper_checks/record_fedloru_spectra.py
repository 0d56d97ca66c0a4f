"""Records of FedLoRU's spiked models: settings, limits, index sets, draws, and what follows from them by formula."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import sympy
from hypothesis import strategies
from recording import refused

from paper_checks.context import Context
from paper_checks.facts import Fact
from paper_checks.fedloru import tables
from paper_checks.fedloru.spectral.measurements import (
    alignment,
    data_laws,
    general_noise,
    pairs_of_clients,
    quadratic_model,
    spectra,
    spike_sets,
    stable_rank_symbols,
    stable_ranks,
    weyl_pairs,
)


class Few(Context):
    """A measurement with few draws."""

    def size(self, quick, full):
        """Return a small number."""
        return min(quick, 2)


def scenes_of_alignment():
    for name, scene in alignment.SCENES.items():
        yield name, scene.outliers, scene.numbers()
    low = replace(scene, model=alignment.SpikedModel((1.5, 0.5, -0.4), alignment.Semicircle(2.0), 0.25))
    yield low.outliers, low.numbers()


def expected_alignment_in_both_forms():
    for name in ("no own errors", "own errors"):
        scene = alignment.SCENES[name]
        for rank in (1, 2, 3, 5):
            yield alignment.expected_alignment(scene, rank, "expectations")
            yield alignment.expected_alignment(scene, rank, "expectations", 0.5, power=1.0)
            yield alignment.expected_alignment(scene, rank, "direction")
            yield alignment.expected_alignment(scene, rank, "direction", noise=2.0)


def drawn_pairs_of_clients():
    gradients = alignment.ClientGradients((1.0, 1.5, 2.0), 0.3, 0.0)
    for pair in pairs_of_clients.draw_pairs_of_clients(Few("pairs")):
        yield pair.cosines(pair.slopes(gradients, np.random.default_rng(0)))
    yield pairs_of_clients.CLIENTS.spikes, pairs_of_clients.CLIENTS.sigma(), pairs_of_clients.OUTLIERS


def laws_of_three_points():
    yield [(sample, str(probability)) for sample, probability in data_laws.samples(2)]
    x = sympy.Symbol("x")
    for seed in (0, 1):
        for point in data_laws.draw_laws(Context("laws", seed), {x})[:2]:
            yield {str(symbol): str(value) for symbol, value in point.items()}


def quadratics_in_symbols():
    yield str(sympy.expand(quadratic_model.quadratic("f", quadratic_model.WEIGHTS)))
    yield [str(sympy.expand(output)) for output in quadratic_model.MODEL]


def noise_of_general_laws():
    for noise in (general_noise.MARCHENKO_PASTUR, general_noise.SEMICIRCLE, general_noise.UNIFORM):
        yield noise.name, noise.numbers, [noise.transform(w) for w in (-0.5, 0.3, 0.9)]
        yield noise.spectrum(5), noise.spectrum(5, stray=True)
    yield general_noise.SKEWED.name, [general_noise.SKEWED.transform(w) for w in (-0.5, 0.3, 0.9)]


def settings_of_single_spikes():
    for name, setting in spectra.single_spikes():
        yield name, setting.spikes, setting.sigma, setting.s, setting.noise, setting.model().sigma()


def limits_of_overlaps():
    setting = spectra.Setting((3.0, -2.0), 2.0, 0.4)
    for theta in (0.0, 0.4, 0.8, -0.8, 0.800001, -0.81, 2.0, -3.0):
        for everywhere in (False, True):
            for squared in (False, True):
                yield spectra.limiting_overlap(setting, theta, everywhere, 1.0, 2.0, squared)
        yield spectra.limiting_overlap(setting, theta, True, 0.5, 4.0, True)


def numbers_of_spectra():
    at = spectra.Setting((3.0,), 2.0, 0.4)
    return spectra.Spectra({}, {"one": (at, 3.0), "across": (at, 0.0)}).numbers()


def locations_at_the_threshold():
    for theta in ("1", "-1", "1/2", "-1/2", "101/100", "-101/100", "3", "-3"):
        yield str(spike_sets.limiting_location(Fraction(theta), Fraction(1)))


def _instance(*spikes, rest=2):
    return spike_sets.Instance(
        tuple(map(Fraction, spikes)), Fraction(2), Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), rest
    )


INSTANCES = (
    _instance("3", "1", "-2"),
    _instance("2", "1/2", "-1/2", rest=0),
    _instance("1", "-3/4", "-4"),
    _instance("4", "-4"),
    _instance("3", "2/5", "-4", rest=7),
    _instance("3", "3"),
    _instance("3/4", "-1/4"),
    _instance("-1/2", "-5"),
    _instance("2", "49/100", "-11/10"),
)


def instances_of_index_sets():
    for one in INSTANCES:
        yield one.values(), str(one.noise_M), str(one.noise_N), str(one.noise_between), str(one.theta_0)
        yield one.assumed, one.clear, one.certain, one.as_printed
        yield [
            sorted(one.outside(noise, reading))
            for noise in (one.noise_M, one.noise_N, one.noise_between)
            for reading in spike_sets.READINGS
        ]
        yield [str(edge) for edge in one.edges], [[str(share) for share in pair] for pair in one.shares]


def instances_that_meet_the_assumptions():
    for assumption in (True, False):
        for clear in (True, False):
            yield [INSTANCES.index(one) for one in spike_sets.assumed(list(INSTANCES), assumption, clear)]


def results_are_found_once():
    one, asked = _instance("3"), []
    for what in ("a", "b", "a"):
        one.once(what, lambda: asked.append(1))
    return len(asked), one.once("c", lambda: 5), one.once("c", lambda: 6)


def drawn_instances():
    for seed in (0, 1):
        found = spike_sets.draw_instances(Few("sets", seed))
        yield len(found), sum(one.certain for one in found), sum(one.as_printed for one in found)
        yield [one.values() for one in found[:: max(1, len(found) // 5)]]
        yield str(sum((theta for one in found for theta in one.spikes), Fraction(0)))


def judged_instances():
    def gap(one, reading):
        size = len(one.spikes) + (reading == "limit")
        return spike_sets.Gap(len(one.spikes) > 2, Fraction(size, 3), f"the part by {reading}")

    def strict(one, reading):
        return spike_sets.Gap(reading == "limit", 1, "part")

    def proof():
        return ()

    for instances in (INSTANCES, INSTANCES[3:4], ()):
        for readings in (spike_sets.READINGS, spike_sets.READINGS[:1], ("limit",)):
            for how in (gap, strict):
                found = spike_sets.judge_instances(instances, how, readings, scope="scope", printed="p", proof=proof)
                yield found.ok, found.scope, found.obtained, found.margin, found.cases, found.witness
    yield isinstance(Fact, type)


def points_of_the_summands():
    for seed in (0, 1):
        points = stable_rank_symbols.draw_points(Context("points", seed), 4)
        yield [{name: str(value) for name, value in point.items()} for point in points]
        first = stable_rank_symbols.as_symbols(points[:1])[0]
        yield {str(name): str(value) for name, value in first.items()}


def summands_at_points():
    for ratio in ("1/2", "-1/2", "1", "9/10"):
        case = {"theta_0": Fraction(-3), "ratio": Fraction(ratio), "noise": Fraction(1, 2), "shrink": Fraction(2, 3)}
        for at in (case, {name: float(value) for name, value in case.items()}):
            values = stable_rank_symbols.parameters(at)
            yield {name: str(value) for name, value in values.items()}
            yield [str(one) for one in stable_rank_symbols.outliers(values)], str(stable_rank_symbols.F_j(values))
    yield [str(axis) for axis in stable_rank_symbols.AXES]


def limits_of_stable_ranks():
    for name, sizes in (stable_ranks.ABOVE | stable_ranks.BETWEEN).items():
        yield name, sizes.theta_0, sizes.numbers(), sizes.model(0.5).sigma(), sizes.model(sizes.client).bulk_edges
        for noise in (sizes.client, sizes.server):
            for part in ("stable rank", "numerator", "norm"):
                yield [stable_ranks.expected_ratio(sizes, noise, part, bulk) for bulk in (1.0, 4.0)]
        yield [stable_ranks.expected_gap(sizes, bulk) for bulk in (1.0, 4.0, 0.5)]


def stable_ranks_of_small_draws():
    rng = np.random.default_rng(0)
    found = stable_ranks.draw_ranks(stable_ranks.Sizes((3.0, -4.0), 1.0, 0.5), 200, 3, rng)
    return found.squared, found.norms, found.ranks(), found.gaps()


def _pair(first, second):
    return weyl_pairs.Pair(np.diag(first).astype(complex), np.array(second, dtype=complex))


def eigenvalues_of_pairs():
    for pair in (
        _pair([1.0, -3.0], [[0.5, 1j], [-1j, 2.0]]),
        _pair([0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]),
        _pair([-5.0], [[2.0]]),
    ):
        *values, error = pair.eigenvalues()
        yield values, error * 1e15, pair.numbers()


def rows_of_pairs():
    pair = _pair([1.0, -3.0], [[0.5, 1j], [-1j, 2.0]])
    for left, right in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        rows = [weyl_pairs.Row(0.0, 3.0, 1e-9, pair, "first"), weyl_pairs.Row(left, right, 1e-9, pair, "second")]
        found = weyl_pairs.judge_rows(rows, "scope", "printed")
        yield found.ok, found.scope, found.margin, found.slack, found.tight, found.witness, found.notes


def drawn_pairs():
    spectra_of = strategies.lists(strategies.integers(-2, 2).map(float), min_size=1, max_size=3)
    for seed, examples in ((0, 3), (1, 2)):
        pairs = weyl_pairs.draw_pairs(Context("pairs", seed), spectra_of, examples)
        yield [(len(pair.first), pair.first.real.trace(), pair.second.real.trace()) for pair in pairs]
        yield [np.linalg.norm(pair.second @ pair.second.conj().T) for pair in pairs]


def printed_rows_in_per_cent():
    for unit in (1, 100):
        found = tables.in_percent({"a": "0.513", "b": "71.2"}, unit)
        yield {name: (str(value.low), str(value.high)) for name, value in found.items()}
    yield refused(tables.in_percent, {"a": "x"})
