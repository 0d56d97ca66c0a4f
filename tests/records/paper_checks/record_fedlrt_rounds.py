"""Records of FeDLRT's rounds: followed step by step, watched, split in parts, in fractions, and in numpy."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import torch

from algorithms.descent import Descent
from algorithms.low_rank import USV
from algorithms.tree import Tree
from paper_checks.context import Context
from paper_checks.fedlrt.measurements import (
    client_rounds,
    convergence_runs,
    descents,
    fast_rounds,
    federations,
    first_rounds,
    random_rounds,
    simplified_traces,
    splitting,
    symbolic_flow,
    traces,
    watched_rounds,
)
from paper_checks.methods.domain import OPEN_UNIT, Stated
from toymodels.quadratic import centred, random_quadratics


class Few(Context):
    """A measurement with few draws."""

    def size(self, quick, full):
        """Return one draw."""
        return 1


def _trace(correction, kept=None, steps=3, clients=2, seed=0):
    given = random_quadratics((4, 3), clients, np.random.default_rng(seed), curvatures=(-1.0, 1.0), target_rank=2)
    return traces.trace("name", given.clients, given.start["W"].numpy(), 1, Descent(steps, 0.1), correction, kept)


def traced_rounds():
    for correction in ("simplified", "full"):
        one = _trace(correction, kept=1)
        yield one.whole, one.losses, one.change, one.lost, one.before, one.needed, one.outer, one.outside_at_start
        yield one.outer_throughout, one.outer_in_mean, traces.norm(one.gradient), traces.norm(one.slope_at_start)
        yield traces.norm(one.aggregate), traces.norm(one.start), traces.norm(one.travelled), traces.error_of(one)
        yield [traces.norm(part) for part in one.corrections], one.local_slopes.shape, one.coefficients.shape
        yield traces.norm(one.block(one.gradient)), traces.norm(one.outside(one.gradient)), one.loss(one.W)
        yield traces.norm(one.slope(one.star)), [traces.norm(one.slope(one.star, c)) for c in (0, 1)]
        yield traces.norm(one.model(one.aggregate) - one.star), traces.inner(one.star, one.end)


def rounds_without_a_gradient():
    clients = [traces.distance_loss([[1.0, 0.0], [0.0, 0.0]])]
    one = traces.trace("still", clients, traces.E1, 1, Descent(1, 0.1), "full", kept=1)
    return one.needed, one.outer, one.outer_throughout, one.outer_in_mean, one.lost


def several_rounds():
    for kept in (None, 1):
        given = random_quadratics((4, 3), 2, np.random.default_rng(1), target_rank=1)
        run = traces.run_of("runs", given.clients, given.start["W"].numpy(), 1, Descent(2, 0.1), "full", 3, kept)
        yield [(one.rank, one.losses) for one in run]


def losses_with_a_gradient():
    H = np.array([[2.0, 0.5, 0.0, 0.0], [0.5, 1.0, 0.0, 0.3], [0.0, 0.0, 1.0, 0.0], [0.0, 0.3, 0.0, 4.0]])
    W, slope = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[1.0, 2.0], [3.0, -4.0]])
    one = traces.with_gradient(H, W, slope)
    for at in (W, W + 1.0):
        w = {"W": torch.from_numpy(at)}
        yield one.gradient(w)["W"], one.loss(w)
    w = {"W": torch.from_numpy(W)}
    yield (
        traces.distance_loss([[1.0, 2.0], [3.0, 4.0]]).loss(w),
        traces.distance_loss([[1.0, 2.0], [3.0, 4.0]]).gradient(w),
    )


def constants_of_the_descent():
    return [traces.descent_constant(steps, delta) for steps in (1, 2, 10, None) for delta in (0.0, 0.1, 1.0)]


def rates_that_are_tried():
    rounds = [SimpleNamespace(steps=steps, whole=whole) for steps, whole in ((1, 0.25), (3, 0.1 + 0.2), (2, 1 / 3))]
    for stated in (Stated(0.0, 0.5, "(]"), Stated(0.0, float("inf")), OPEN_UNIT):
        yield traces.tried_rates(rounds, stated)
        yield traces.tried_rates(rounds, stated, [0.1, 1 / 3, 0.5])


def rounds_of_smooth_clients():
    for curvatures, slopes, steps, step in (
        ((1, 1), (1, 3), 2, "1/4"),
        ((1, -1, 1), (-2, 1, -5), 3, "1/3"),
        ((1,), (2,), 1, "1"),
    ):
        for corrected in (True, False):
            one = client_rounds.run_round(curvatures, slopes, steps, Fraction(step), corrected)
            yield one.clients, str(one.drift), str(one.change), one.whole, one.ratio, one.needed, one.corrected


def numbers_of_runs():
    given = {"theta": "1/3", "delta": "1/8"}
    followed = [_trace("simplified", kept=1), _trace("simplified", kept=1, seed=4)]
    for witness in (None, given, {"theta": "2"}):
        for simplified in (True, False):
            run = convergence_runs.as_run(followed, witness, simplified)
            yield run, run.whole, run.shown, run.least, run.cost
    yield convergence_runs.LIMIT


def drawn_traces():
    for correction, count in (("none", 4), ("simplified", 2)):
        for one in random_rounds.random_traces(np.random.default_rng(2), count, correction):
            yield len(one.clients), one.steps, one.step, one.rank, one.W.shape, one.losses, one.lost
    yield random_rounds.by_hand(one), random_rounds.by_hand(replace(one, name="integers"))


def rounds_far_outside():
    one = simplified_traces.far_outside()
    return one.losses, one.needed, one.outer, one.outside_at_start, one.change, one.whole


def cases_of_federations():
    for seed in (0, 1):
        for case in [*federations.draw_cases(Few("cases", seed)), federations.draw_beyond(Few("cases", seed))]:
            yield len(case.clients), case.shape, case.rank, case.smoothness
            yield torch.linalg.vector_norm(case.factors.S["W"]), case.clients[-1].B.sum()


def watched_rounds_of_all_corrections():
    case = federations.draw_cases(Few("cases"))[1]
    for correction in ("none", "simplified", "full"):
        for one in watched_rounds.watch(case, correction, 2)[::2]:
            yield one.trips, one.fits, torch.linalg.vector_norm(one.start), torch.linalg.vector_norm(one.model)
            yield [torch.linalg.vector_norm(part) for part in (*one.coefficients, *one.slopes, *one.corrections)]
            for line in watched_rounds.promised_of_all(one):
                yield line.name, round(line.left, 9), round(line.right, 9), line.at_most


def promises_that_are_broken():
    one = watched_rounds.watch(federations.draw_cases(Few("cases"))[3], "none", 1)[0]
    yield [(line.name, line.left, line.right) for line in watched_rounds.promised_of_all(one, mean=2.0)[-3:]]
    watching = watched_rounds.Watching(
        {"none": (one, replace(one, before=USV(one.U, Tree(W=torch.eye(3)), one.V)), one)}
    )
    yield [len(watching.of("none", beyond, each)) for beyond in (True, False) for each in (1, 2)]


def gradients_of_first_rounds():
    one = watched_rounds.watch(federations.draw_cases(Few("cases"))[1], "full")[0]
    S = one.start + 0.1
    yield torch.linalg.vector_norm(first_rounds.projected_gradient(one, one.case.clients[1], S))
    yield first_rounds.rate_of(one), first_rounds.rate_of(one, 1), first_rounds.ROUND_SCOPE


def flows_of_quadratics():
    loss = centred(torch.diag(torch.tensor([2.0, 0.0, -1.0, 0.5], dtype=torch.float64)), torch.ones(2, 2).double())
    start = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64)
    for time in (0.0, 0.3, 2.0):
        yield splitting.flow(loss, start, time)


def split_steps():
    case = federations.draw_cases(Few("cases"))[1]
    for time, theta in ((0.01, 1e-9), (0.2, 0.5), (0.2, 50.0)):
        found, slope = splitting.split_step(case.clients[0], case.factors, time, theta)
        yield torch.linalg.vector_norm(found), torch.linalg.matrix_rank(found, atol=1e-9), slope


def drawn_steps():
    for one in splitting.draw_steps(np.random.default_rng(0), (((3, 4), 2), ((3, 3), 1)))[::4]:
        yield one.kind, one.rate, one.fits, torch.linalg.svdvals(one.S), torch.linalg.vector_norm(one.G)
        yield [[torch.linalg.vector_norm(part) for part in side] for side in one.sides]
    yield len(splitting.measure_steps(Few("points")))


def symbols_of_the_flow():
    flow = symbolic_flow.symbolic_flow(3, 2, 1)
    yield flow.name, str(flow.S), str(flow.G), flow.U.shape, flow.V.shape
    yield [str(line) for line in symbolic_flow.entrywise("name", flow.U * flow.S, flow.G[:, :1])]


def two_parabolas():
    for rate, steps in ((0.125, 2), (0.5, 1)):
        clients, case = descents.two_parabolas(rate, steps)
        w = {"W": torch.tensor([[0.5]], dtype=torch.float64)}
        yield case, [client.loss(w) for client in clients], [client.gradient(w)["W"] for client in clients]


class _Bowls:
    """Two bowls with one least point."""

    shares = np.array([0.25, 0.75])
    target = np.diag([3.0, 1.0, 0.0])
    sizes = np.array([1.0, 0.5])

    def gradients(self, W):
        """Return both gradients, which differ where the mean is 0."""
        apart = np.zeros((3, 3))
        apart[0, 2] = 1.0
        return np.stack(
            [size * (W - self.target) + sign * apart for size, sign in zip(self.sizes, (3.0, -1.0), strict=True)]
        )

    def excess(self, W):
        """Return the mean loss."""
        return float((self.shares @ self.sizes) * ((W - self.target) ** 2).sum() / 2.0)

    def step(self, U, V, rate):
        """Return a step by second derivatives."""
        return fast_rounds.by_matrices(np.stack([size * np.eye(U.shape[1] * V.shape[1]) for size in self.sizes]), rate)


def rounds_in_numpy():
    start = np.array([[2.0, 0.3, 0.1], [0.2, -1.0, 0.4], [0.5, 0.1, 0.2]])
    for correction in ("none", "simplified", "full"):
        for rest in ({}, {"most": 1}, {"until": 2.5}, {"tau": 0.0}):
            settings = fast_rounds.Rounds(1, correction, 0.1, 3, **{"tau": 0.1, "last": 3, **rest})
            yield fast_rounds.low_rank_rounds(_Bowls(), start, settings)


def gradients_and_bases_in_numpy():
    seen, settings = [], fast_rounds.Rounds(1, "full", 0.1, 3, 0.1, 2)
    fast_rounds.low_rank_rounds(_Bowls(), np.eye(3), settings, lambda *given: seen.append(given))
    for own, mean, old, wide in seen:
        yield own.shape, np.linalg.norm(own), np.linalg.norm(mean), [one.shape for one in (*old, *wide)]
