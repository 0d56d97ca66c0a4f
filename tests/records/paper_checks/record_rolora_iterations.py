"""Records of RoLoRA's iterations: on samples, under the population loss, with fixed samples, and watched rounds."""

import numpy as np
import torch

from algorithms.rolora import RoLoRA
from paper_checks.context import Context
from paper_checks.rolora.measurements import (
    contraction_steps,
    fixed_samples,
    population,
    sampled_iterations,
    watched_rounds,
)


class Few(Context):
    """A measurement with few draws."""

    def size(self, quick, full):
        """Return one draw."""
        return 1


def errors_after_iterations():
    for m in (None, 7):
        for turns in (0, 1, 4):
            yield sampled_iterations.after_iterations(4, 3, m, 0.3, 0.6, turns, np.random.default_rng(2))


def one_step_on_samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2, 5, 3))
    a, truth = np.array([1.0, 0.0, 0.0]), np.array([0.8, -0.6, 0.0])
    for grams in ([one.T @ one / 5 for one in X], [np.diag([2.0, 0.5, 1.0])], [np.eye(3), np.diag([1.0, 3.0, 1.0])]):
        for s in (0.1, 1.0):
            yield contraction_steps.measure_step(grams, a, truth, s)


def steps_of_every_size():
    steps = contraction_steps.run_steps(Context("steps", 1))
    yield len(steps), steps[0], [(one.s, one.after, one.level, one.tilde) for one in steps[1::4]]


def worst_gram_matrices():
    return [fixed_samples.worst_gram(distance) for distance in (0.0, 0.3, 1.0)]


def runs_with_fixed_samples():
    for share, cosine in ((0.3, 0.9), (0.95, 0.3)):
        run = fixed_samples.follow([fixed_samples.worst_gram(share * cosine)], cosine, 0.5, share, 6)
        yield run, fixed_samples.excess(run), fixed_samples.excess(run, 2.0)
    quick = fixed_samples.follow([np.eye(2)], 0.999, 0.5, 0.0, 30)
    yield len(quick.factors), fixed_samples.excess(quick)
    far = fixed_samples.FixedRun(2.0, 0.5, 0.8, (0.9, 0.2), 50.0)
    yield fixed_samples.excess(far)


def drawn_problems():
    for seed in (0, 1):
        for problem in population.draw_problems(Few("problems", seed)):
            yield len(problem.clients), tuple(problem.start["W"].shape), problem.clients[-1].target.pow(2).sum()


def promises_that_numbers_are_one():
    return [population.close("name", left, right) for left, right in ((1.0, 1.0), (-300.0, 2.0), (0.0, 1e-9))]


def iterations_by_hand():
    for one in (
        population.by_hand(["3/5", "-4/5"], [["1", "0"], ["0", "2"]], "1/8"),
        population.by_hand(["4/5", "3/5"], [["1", "-2"]], "1/4"),
        population.by_hand(["1", "0"], [["1", "2"], ["-1", "0"], ["3", "1"]], "1/10"),
    ):
        yield one.case, one.mean_b, one.gamma_squared, one.sine_squared(one.a), one.sine_squared(one.a_after)
        yield one.loss(one.a, one.b_after), one.loss(one.a_after, one.b_after), one.b_after, one.a_after
        yield one.minimisers, one.slopes


def drawn_iterations():
    for seed in (0, 1):
        for one in population.iterations(Few("iterations", seed))[3:]:
            yield len(one.own_b), tuple(one.own_b[0].shape), one.eta, one.gamma_squared, one.sine_squared(one.a)
            yield one.b_after.sum(), one.sine_squared(one.a_after)


def watched_rounds_of_rolora():
    for seed in (0, 1):
        rounds = watched_rounds.rounds_of(
            Few("rounds", seed), lambda adapter: RoLoRA(watched_rounds.LOCAL, adapter), rounds=2
        )
        yield len(rounds)
        for one in rounds[::3]:
            yield len(one.clients), len(one.trips), one.up, one.alpha, one.base.sum()
            yield one.before.A["W"].sum(), one.after.A["W"].sum(), one.before.B["W"].sum(), one.after.B["W"].sum()


def local_steps_written_out():
    one = watched_rounds.rounds_of(Few("rounds"), lambda adapter: RoLoRA(watched_rounds.LOCAL, adapter), rounds=1)[1]
    A, B = one.before.A["W"], one.before.B["W"]
    for train in ("A", "B", "AB", ""):
        for rate in (1.0, 2.0):
            yield [part.sum() for part in watched_rounds.descend(one, one.clients[0], A, B, train, rate)]


def exact_iterations_on_samples_and_in_the_mean():
    for population_loss, frozen in ((False, False), (True, False), (False, True)):
        found = watched_rounds.exact_iterations(Few("exact"), population_loss, frozen)
        yield len(found)
        for one in found[::3]:
            yield len(one.X), len(one.own_b), one.eta, (one.truth.mT @ one.a).abs(), (one.truth.mT @ one.a_after).abs()
            yield torch.linalg.vector_norm(one.b_after), torch.linalg.vector_norm(one.mean_of_minimisers())
