"""Records of FedLoRU's boxes followed round by round: by hand, of all shapes, and what they return."""

from dataclasses import replace

import torch

from algorithms.federation import Federation
from algorithms.fedloru import RESTARTS, FedLoRU
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements import returned_models
from paper_checks.fedloru.convergence.measurements.followed_rounds import by_hand, draw_runs, follow


class Few(Context):
    """A measurement with few draws."""

    def size(self, quick, full):
        """Return a small number."""
        return min(quick, 2)


def run_by_hand_with_every_restart():
    for restart in RESTARTS:
        for changes in ({}, {"tau": 3, "rounds": 4, "alpha": -0.5}, {"rounds": 2, "W": 1.0}):
            found = follow(by_hand(**changes), restart)
            yield restart, found.run.case, found.copy["W"], found.drawn.A["W"], found.drawn.B["W"]
            for t, one in enumerate(found.rounds, 1):
                yield found.is_accumulated(t), found.model(t)["W"], one.base["W"], one.starts_from["W"]
                yield one.aggregated.A["W"], one.aggregated.B["W"], one.factors.A["W"], one.factors.B["W"]


def drawn_runs():
    for seed in (0, 1):
        for run in draw_runs(Few("runs", seed)):
            yield run.alpha, run.tau, run.rounds, run.local.steps, run.local.rate(), len(run.clients), run.case
            yield tuple(run.W.shape), run.adapter.rank, run.adapter.scale
            yield run.W.sum(), run.factors.A["W"].sum(), run.factors.B["W"].sum()


def runs_of_all_shapes():
    for run in draw_runs(Few("runs", 2))[2:4]:
        found = follow(run, "random")
        yield found.copy["W"].sum(), [one.starts_from["W"].sum() for one in found.rounds]


def personal_factors():
    for seed in (0, 1):
        for run, personal, scale in returned_models.draw_personal(Few("personal", seed)):
            yield run.rounds, run.case, scale, personal.A["W"].sum(), personal.B["W"].sum(), tuple(run.W.shape)


def _last(restart="random", **changes):
    run = by_hand(**changes)
    algorithm, fed = FedLoRU(run.local, run.adapter, run.tau, restart), Federation(run.clients)
    start = algorithm.start(fed, Tree(W=run.W))
    return returned_models.last_models(run, algorithm, fed, start, algorithm.weights)


def ends_of_runs():
    for restart in RESTARTS:
        for changes in ({}, {"rounds": 4}, {"rounds": 2, "alpha": -3.0}, {"tau": 1}):
            yield _last(restart, **changes)


def _judged(*lasts, keep=returned_models.PROMISES, **constants):
    printed = {"power": 1, "personal_power": 1, "leftover": True, "scale": 1.0, **constants}
    found = returned_models.judge_return(lasts, keep=keep, **printed)
    return found.ok, found.scope, found.obtained, found.margin, found.cases, found.witness


def returned_models_as_promised_and_not():
    personal = replace(_last(rounds=2), personal=torch.full((1, 1), 0.25, dtype=torch.float64), alphas=(2.0, -3.0))
    other = replace(_last(), uploads=(3.0, 4.0))
    for keep in (("returned",), ("updated",), ("copies",), ("continue",), ("uploads",), returned_models.PROMISES):
        for lasts in ((_last(),), (_last(), _last("momentum")), (personal,), (other, _last(rounds=2))):
            yield _judged(*lasts, keep=keep)


def returned_models_with_other_constants():
    lasts = _last(), _last(rounds=4), _last("zero") if "zero" in RESTARTS else _last(tau=3)
    for mutant in ({"power": 0}, {"personal_power": 2}, {"leftover": False}, {"scale": 1.001}, {"divides": True}):
        yield _judged(*lasts, **mutant)
    yield _judged(*lasts, power=2, divides=True, scope="a scope")
