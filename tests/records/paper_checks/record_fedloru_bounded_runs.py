"""Records of FedLoRU on losses with known constants: losses, outcomes of a round, expectations, bounds, families."""

from dataclasses import replace
from functools import cache

import numpy as np
import torch
from recording import refused

from algorithms.adapter import AB
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements import bounded_settings, families, local_runs
from paper_checks.fedloru.convergence.measurements.bounded_runs import (
    Bounded,
    Means,
    Scripted,
    Setting,
    follow,
    scalar_setting,
)
from paper_checks.methods.relations import Relation


def _matrix(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def _clients(kind="huber", zone=0.5):
    centres = ([[[0.1, -0.4]], [[0.9, 0.3]]], [[[-0.7, 0.2]], [[0.4, 0.6]]], [[[1.0, -0.2]], [[0.0, 0.0]]])
    return tuple(Bounded(torch.tensor(one, dtype=torch.float64), 2.0, zone, kind) for one in centres)


def _setting(count=2, kind="huber", **rest):
    return Setting("", _clients(kind)[:count], _matrix([0.2, -0.3]), _matrix([0.7]), _matrix([0.5, -0.4]), 0.1, **rest)


class Few(Context):
    """A measurement with few draws: no random run, and three averages."""

    def size(self, quick, full):
        """Return a small number."""
        return 0 if quick == 1 else min(quick, 3)


def losses_and_slopes_within_at_and_beyond_the_zone():
    for kind in ("huber", "cosine"):
        one = _clients(kind)[0]
        yield one.samples, one.steepest
        for w in (-3.0, -0.4, 0.1, 0.6, 0.600001, 2.0):
            W = _matrix([w, w])
            yield one.loss({"W": W}), one.gradient(Tree(W=W))["W"].sum(), one.every_gradient(W).sum(dim=(1, 2))
        W = _matrix([0.3, -0.2])
        yield one.loss({"W": W}, torch.tensor([1])), one.gradient(Tree(W=W), torch.tensor([1]))["W"]


def scripted_samples_belong_to_their_client():
    one, other = _clients()[:2]
    steps = Scripted(2, 0.1, script={id(one): torch.tensor([[1], [0]])})
    return steps.draw(one, np.random.default_rng(0)), steps.draw(other, np.random.default_rng(0))


def outcomes_of_a_round():
    for rest in ({}, {"size": 2}, {"size": 1, "noisy": True, "steps": 2}, {"noisy": True, "steps": 1}):
        setting = _setting(3, **rest)
        names = {id(client): str(number) for number, client in enumerate(setting.clients)}
        yield [
            (cohort, {names[key]: value.flatten() for key, value in script.items()})
            for cohort, script in setting.outcomes()
        ]


def loss_slope_and_least_value_of_a_federation():
    for kind in ("huber", "cosine"):
        setting = _setting(3, kind)
        yield setting.loss(setting.W), setting.slope(setting.W), setting.least()
        yield setting.adapter.rank, setting.adapter.scale, setting.everyone


def means_count_each_name_on_its_own():
    means = Means()
    means.add(a=1.0, b=2.0)
    means.add(a=4.0)
    return means.means()


def expectations_of_rounds():
    for rest in (
        {"steps": 2, "rounds": 2, "alpha": -0.5, "tau": 1, "share": 0.3},
        {"steps": 1, "rounds": 1, "noisy": True, "alpha": 2.0},
        {"steps": 1, "rounds": 2, "size": 1, "alpha": 3.0},
    ):
        trace = follow(_setting(2, **rest))
        yield trace.L, trace.G, trace.sigma2, trace.C_A, trace.C_B, trace.above, len(trace.visited)
        yield trace.rounds[-1]


def factors_that_start_again_are_bounded_as_well():
    for restart in ("random", "momentum"):
        trace = follow(replace(_setting(2, rounds=2, tau=1), restart=restart, A=_matrix([0.01])))
        yield trace.C_A, trace.C_B, trace.rounds[1]["loss"]


def weights_that_are_visited_are_at_most_twelve():
    trace = follow(_setting(1, "huber", rounds=4, noisy=True))
    return len(trace.visited), [float(W.sum()) for W in trace.visited[:3]]


def setting_of_one_weight():
    case = {
        "L": 2,
        "zone": "1/4",
        "W": "-0.1",
        "A": "1/3",
        "B": -2,
        "rate": "0.05",
        "steps": 3,
        "rounds": 2,
        "share": 1,
    }
    for replayed in (True, False):
        one = scalar_setting("name", case, replayed)
        yield one.name, one.W, one.A, one.B, one.rate, one.steps, one.rounds, one.share, one.case
        yield one.clients[0].curvature, one.clients[0].zone, one.clients[0].steepest
    yield refused(scalar_setting, "name", {**case, "L": "two"})


def runs_by_hand():
    for setting in bounded_settings.by_hand():
        one = replace(setting, rounds=1)
        trace = follow(one)
        yield setting.name, setting.rounds, setting.case is not None
        yield trace.L, trace.G, trace.C_A, trace.C_B, trace.above, [one["loss"] for one in trace.rounds]


def drawn_settings():
    for setting in bounded_settings.draw_settings(np.random.default_rng(3), 1)[9:]:
        yield setting.name, len(setting.clients), setting.clients[0].kind, setting.clients[0].curvature
        yield setting.clients[0].zone, setting.rate, setting.steps, setting.rounds, setting.tau, setting.noisy
        yield setting.size, setting.share, setting.W.sum(), setting.A.sum(), setting.B.sum()
        yield setting.clients[-1].centres.sum()


def more_repeats_draw_more():
    return [len(bounded_settings.draw_settings(np.random.default_rng(0), repeats)) for repeats in (0, 1, 2)]


def noise_of_opposite_samples():
    setting = bounded_settings.opposite_samples()
    trace = follow(replace(setting, rounds=1))
    return setting.rounds, trace.G, trace.sigma2, trace.rounds


def relations_and_their_tolerances():
    trace = follow(replace(bounded_settings.by_hand()[0], rounds=1))
    for left, right in ((1.0, 2.0), (-3.0, 0.5), (0.0, 0.0), (1e-6, -1e-7)):
        yield bounded_settings.at_most("name", left, right, trace), bounded_settings.equal("name", left, right, trace)
    yield [len(bounded_settings.with_all_clients((trace, follow(_setting(2, size=n))))) for n in (None, 1, 2)]


def _judged(*pairs):
    lines = [Relation("line", left, right, 1e-9, at_most=True) for left, right in pairs]
    found = bounded_settings.judge_bounds(lines, "scope")
    return found.ok, found.obtained, found.slack, found.tight, found.margin, found.cases


def bounds_that_are_tight_and_broken():
    yield _judged((1.0, 1.0099), (1.0, 0.9901 + 0.0100001), (2.0, 3.0), (0.0, 1.0))
    yield _judged((1.0, 1.0101), (1.0, 1.5))
    yield _judged((1.0, 0.995))
    yield _judged((1.0, 0.5), (4.0, 5.0))
    yield _judged((2e-12, 1.0), (5e-13, 1e-12))
    yield _judged((-1.0, 1.0), (-2.0, -1.0))
    yield refused(_judged)


def printed_and_corrected_constants():
    trace = follow(_setting(2, steps=3, alpha=2.0, share=0.5))
    one = families.Constants.of(trace)
    yield one, one.corrected(), one.corrected(curvature=0.0), one.corrected(gradient=0.0), one.corrected(drift=2.0)
    yield one.printed(trace), bounded_settings.printed_D(trace, 1.5, 0.5)
    yield bounded_settings.drift_rates(trace), bounded_settings.drift_rates(trace, 0.5, 3.0)
    yield families.Constants(2.0, 3.0, 0.5, 0.25, 1.5, 1).corrected()


def printed_weights_of_a_cohort():
    for T in (1, 2, 9, 144):
        yield families.printed_weights(T)


def families_of_slopes():
    for lengths in ((2,), (1, 3)):
        found = families.not_levelled(lengths)
        yield found.name, found.kind, found.least, found.weights, found.bound
    traces = [_setting(2, rounds=T, steps=2, tau=1) for T in (1, 2)]
    yield families.family_of("name", traces, 0.3)


@cache
def _runs():
    return local_runs.run_rounds(Few("name"))


def local_rounds():
    yield len(_runs())
    for run in _runs()[:1] + _runs()[3::3]:
        yield run.setting.name, run.setting.alpha, run.setting.rate, run.cohort, len(run.script), run.setting.case
        yield run.mean.A["W"].sum(), run.mean.B["W"].sum(), [float(one.A["W"].sum()) for one in run.uploads]


def gradients_of_a_sample_and_exact():
    runs = _runs()
    noisy = next(run for run in runs if run.script)
    A, B = noisy.setting.A, noisy.setting.B
    for step in (0, 1, None):
        yield [part.sum() for part in local_runs.gradients(noisy, 0, A, B, step)]
    yield local_runs.gradients(runs[0], 0, runs[0].setting.A, runs[0].setting.B, 0)


def averages_of_cohorts():
    for seed in (0, 1):
        for one in local_runs.draw_averages(Few("averages", seed)):
            yield one.shares, one.cohort, one.mean.A["W"].sum(), one.mean.B["W"].sum(), one.case
            yield [float(upload.A["W"].sum()) for upload in one.uploads]


def first_average_by_hand():
    one = local_runs.draw_averages(Few("averages"))[0]
    return one.mean, isinstance(one.mean, AB)
