"""Assumption 4.1 (Assumptions B.1 to B.4): smoothness and bounded gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter
from algorithms.federation import Federation
from algorithms.fedloru import FedLoRU, Restart
from algorithms.rounds import go_on
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.bounded_runs import Scripted, Trace
from paper_checks.fedloru.convergence.measurements.bounded_settings import (
    WITH_COHORTS,
    at_most,
    follow_settings,
    judge_bounds,
)
from paper_checks.methods.relations import Relation


@dataclass(frozen=True)
class Assumed:
    """Quantities that the assumptions bound, for one run, in units of their constants.

    Attributes:
        trace: The run.
        curvature: The largest difference quotient of a client's gradient, over L.
        second: The largest second moment of a stochastic gradient, over G^2.
        variance: The largest variance, over sigma^2.
        bias: The largest distance of the mean stochastic gradient from the gradient.
        far: The second moment of a quadratic with the same L at the same places, over G^2.
    """

    trace: Trace
    curvature: float
    second: float
    variance: float
    bias: float
    far: float


def _assumed(trace: Trace, rng_weights: Tensor) -> Assumed:
    """Return the assumed quantities at the weights of the run, next to each of them, and far out."""
    setting = trace.setting
    near = [W + 1e-3 * rng_weights[: W.numel()].reshape(W.shape) for W in trace.visited]
    places = [*trace.visited, *near, setting.W + 1e3, torch.zeros_like(setting.W), 1e-3 + torch.zeros_like(setting.W)]
    curvature = second = variance = bias = far = 0.0
    for client in setting.clients:
        every = [client.every_gradient(W) if setting.noisy else client.every_gradient(W).mean(0, True) for W in places]
        exact = [gradient.mean(dim=0) for gradient in every]
        for i, W in enumerate(places):
            for j in range(i):
                distance = float((W - places[j]).norm())
                if distance > 1e-9:
                    curvature = max(curvature, float((exact[i] - exact[j]).norm()) / distance / client.curvature)
        unit = client.steepest**2
        for W, drawn, mean in zip(places, every, exact, strict=True):
            told = torch.autograd.functional.jacobian(lambda at, c=client: c.loss({"W": at}), W)
            bias = max(bias, float((told - mean).norm()) / client.steepest)
            second = max(second, float((drawn**2).sum(dim=(1, 2)).mean()) / unit)
            variance = max(variance, float(((drawn - mean) ** 2).sum(dim=(1, 2)).mean()) / (setting.share * unit))
            far = max(far, float((client.curvature * (W - client.centres)).square().sum(dim=(1, 2)).mean()) / unit)
    return Assumed(trace, curvature, second, variance, bias, far)


def measure_assumed(context: Context) -> list[Assumed]:
    """Measure the assumed quantities in every run."""
    weights = torch.from_numpy(context.rng("beside").standard_normal(16))
    return [_assumed(trace, weights) for trace in follow_settings(context)]


@claim(
    "fedloru-v2/assump-4.1",
    where="Section 4.2, Assumption 4.1; Appendix B, Assumptions B.1 to B.4 (which exchange the labels A.4 and A.5)",
    says=r"""There are $L, G, C_A, C_B, \sigma^2 > 0$ such that for any client, any two weight matrices, any round and
    local step: $\|\nabla f^{(k)}(W) - \nabla f^{(k)}(W')\|_F \le L\|W - W'\|_F$; $\mathbb{E}\|\nabla
    f^{(k)}(W;\xi^{(k)})\|_F^2 \le G^2$; $\|A_{t,i}^{(k)}\|_F \le C_A$, $\|B_{t,i}^{(k)}\|_F \le C_B$;
    $\mathbb{E}\|\nabla f^{(k)}(W;\xi^{(k)}) - \nabla f^{(k)}(W)\|_F^2 \le \sigma^2$; $\mathbb{E}[\nabla
    f^{(k)}(W;\xi^{(k)})] = \nabla f^{(k)}(W)$. (Assumption B.4: for all W there is such a $\sigma^2$.)""",
    measure=measure_assumed,
    readings=(
        Reading(
            "one bound for all weights",
            r"""There are $L, G, C_A, C_B, \sigma^2 > 0$, with one $\sigma^2$ for all W, such that for any client, any
            two weight matrices, any round and local step: $\|\nabla f^{(k)}(W) - \nabla f^{(k)}(W')\|_F \le L\|W -
            W'\|_F$; $\mathbb{E}\|\nabla f^{(k)}(W;\xi^{(k)})\|_F^2 \le G^2$; $\|A_{t,i}^{(k)}\|_F \le C_A$,
            $\|B_{t,i}^{(k)}\|_F \le C_B$; $\mathbb{E}\|\nabla f^{(k)}(W;\xi^{(k)}) - \nabla f^{(k)}(W)\|_F^2 \le
            \sigma^2$; $\mathbb{E}[\nabla f^{(k)}(W;\xi^{(k)})] = \nabla f^{(k)}(W)$.""",
            why="Lemma B.7 has one $\\sigma^2$ for every round and local step.",
        ),
    ),
    mutants=[{"curvature": 0.99}, {"second": 0.99}, {"variance": 0.99}, {"factors": 0.99}, {"quadratic": True}],
    kind="assumption",
    because=r"B.4's “for all W there exists $\sigma^2$” reverses the quantifiers. Nothing depends on it, as (A.2) "
    r"gives one $\sigma^2 \le G^2$.",
    expect=("holds", "proof"),
    intended=Intended(
        "one bound for all weights",
        "Assumption 4.1's “There exists L, G, C_A, C_B, σ² > 0 such that for any …”: one σ² for all W, as Lemma B.7 "
        "uses it; B.4 has “for all W there exists σ² > 0” and exchanges the labels (A.4) and (A.5)",
    ),
    print="misprint",
)
def assump_4_1(
    runs: list[Assumed],
    curvature: float = 1.0,
    second: float = 1.0,
    variance: float = 1.0,
    factors: float = 1.0,
    quadratic: bool = False,
) -> Evidence:
    """All five on runs with losses of bounded gradient (Huber, cosine); C_A and C_B are the largest norms reached."""
    lines = []
    for run in runs:
        trace = run.trace
        lines += [
            at_most("(A.1)", run.curvature, curvature, trace),
            at_most("(A.2)", run.far if quadratic else run.second, second, trace),
            at_most("(A.4)", run.variance, variance, trace),
            at_most("unbiased", run.bias, 1e-6, trace),
            at_most("(A.3) of A", float(trace.setting.A.norm()), factors * trace.C_A, trace),
            at_most("(A.3) of B", float(trace.setting.B.norm()), factors * trace.C_B, trace),
        ]
    return judge_bounds(lines, WITH_COHORTS)


@dataclass(frozen=True)
class Growth:
    """The factors' norms at the end of every round of a run in which each step draws the steepest sample.

    Attributes:
        start: Norm of A plus norm of B where the cycles start, the largest.
        ends: Round and the sum of the norms then.
        steps: E.
        tau: Accumulation cycle.
        rate: Step size.
        largest: The largest norm of a sample's gradient.
        root: The root of their second moment, the G of (A.2).
        case: Case in plain numbers.
    """

    start: float
    ends: tuple[tuple[int, float], ...]
    steps: int
    tau: int
    rate: float
    largest: float
    root: float
    case: Mapping[str, Any] | None = None


STEEPEST_OF_FOUR = {"slopes": "-2 0 0 0", "A": 1, "B": 0, "rate": "0.5", "steps": 1, "tau": 1, "rounds": 1}
"""One weight, four samples of which one has gradient -2 and three 0: the second moment is 1. B starts at 0."""


@dataclass(frozen=True, eq=False)
class Linear:
    r"""A client's loss $\frac1s\sum_c\langle S_c, W\rangle$, whose samples' gradients $S_c$ differ.

    Attributes:
        slopes: One matrix for each sample, ``(s, m, n)``.
    """

    slopes: Tensor

    @property
    def samples(self) -> float:
        """Return the number of samples."""
        return float(len(self.slopes))

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return the loss, of a batch if one is named."""
        return (w["W"] * (self.slopes if batch is None else self.slopes[batch]).mean(dim=0)).sum()


def _grow(
    slopes: Tensor,
    A: Tensor,
    B: Tensor,
    rate: float,
    steps: int,
    tau: int,
    rounds: int,
    restart: Restart,
    case: Mapping[str, Any] | None = None,
) -> Growth:
    client = Linear(slopes)
    sizes = slopes.flatten(1).norm(dim=1)
    script = {id(client): torch.full((steps, 1), int(sizes.argmax()))}
    fed = Federation((client,))
    algorithm = FedLoRU(Scripted(steps, rate, script=script), Adapter(A.shape[1]), tau, restart)
    before = algorithm.start(fed, Tree(W=torch.zeros(slopes.shape[1:], dtype=torch.float64)))
    before = before._replace(factors=AB(Tree(W=A), Tree(W=B)))
    start, ends = float(A.norm() + B.norm()), []
    for t, state in enumerate(go_on(algorithm.round, fed, before, rounds, (0,)), 1):
        reached = fed.state.shared["accumulated"] if t % tau == 0 else state.factors
        ends.append((t, float(reached.A["W"].norm() + reached.B["W"].norm())))
        if t % tau == 0 and restart != "momentum":
            start = max(start, float(state.factors.A["W"].norm() + state.factors.B["W"].norm()))
    root = float((sizes**2).mean() ** 0.5)
    return Growth(start, tuple(ends), steps, tau, rate, float(sizes.max()), root, case)


def measure_growth(context: Context) -> dict[str, list[Growth]]:
    """Grow one weight by hand, whose factors grow as fast as they can, with every restart; then drawn matrices."""
    rng = context.rng("growth")
    one = torch.ones(1, 1, dtype=torch.float64)
    found: dict[str, list[Growth]] = {}
    for restart in ("random", "keep A", "momentum"):
        hand = torch.tensor([[[-2.0]], [[0.0]], [[0.0]], [[0.0]]], dtype=torch.float64)
        runs = [_grow(hand, one, 0.0 * one, 0.5, 1, 1, 1, restart, STEEPEST_OF_FOUR)]
        runs.append(_grow(-one[None], one, one, 0.05, 3, 4, 12, restart))
        for _ in range(context.size(6, 40)):
            m, n = (int(k) for k in rng.integers(1, 4, 2))
            slopes, A, B = (torch.from_numpy(rng.standard_normal(size)) for size in ((3, m, n), (m, 1), (1, n)))
            runs.append(_grow(slopes, A, B, float(rng.choice([0.01, 0.2])), 2, 3, 9, restart))
        found[restart] = runs
    return found


@claim(
    "fedloru-v2/claim-B3-just",
    where="Appendix B, after Assumption B.4; there is no Assumption A.2, and the one with the bound (A.2) is meant",
    says=r"""Since A and B are reinitialised at each accumulation cycle they accumulate at most $\tau E$ gradient steps;
    under Assumption A.2 each stochastic gradient has norm at most G, and for sufficiently small $\eta$ each update
    makes the Frobenius norm only modestly larger, so Assumption B.3 can be justified.""",
    measure=measure_growth,
    readings=(
        LITERAL,
        Reading(
            "Assumption B.2",
            r"""Since A and B are reinitialised at each accumulation cycle they accumulate at most $\tau E$ gradient
            steps; under Assumption B.2, whose bound is (A.2), each stochastic gradient has norm at most G, and for
            sufficiently small $\eta$ each update makes the Frobenius norm only modestly larger, so Assumption B.3 can
            be justified.""",
            {"under": "Assumption B.2"},
            "Appendix B has Assumptions B.1 to B.4, and (A.2) is the label of the bound of B.2.",
            ({"rate": 0.99},),
        ),
    ),
    control=Form(
        "For equal samples, where the second moment is that of each gradient.",
        {"equal": True, "under": "Assumption B.2"},
    ),
    correction=Form(
        r"""With $\alpha = 1$, if every sample's gradient has norm at most G (its second moment is not enough),
        $\|A\|+\|B\|$ is at most $(1 + \eta G)^{\tau E}$ times its value at their last fresh start, as long as they
        restart in each cycle; this is attained. If they are kept, the exponent is the number of all steps since their
        start. With a Gaussian start no bound holds for all cycles.""",
        {"bound": "largest", "under": "Assumption B.2"},
        ({"bound": "root"}, {"steps": -1}, {"rate": 0.99}, {"restarts": ("momentum",)}),
    ),
    uses=("fedloru-v2/assump-4.1", "fedloru-v2/claim-reinit"),
    because="(A.2), the bound in B.2, bounds only the second moment. A single stochastic gradient can be far larger "
    "than G.",
    expect=("corrected", "proof"),
    intended=Intended(
        "Assumption B.2",
        "“Under Assumption A.2, each stochastic gradient has norm at most G” (App. B): there is no Assumption A.2; B.2 "
        "is meant, whose (A.2) bounds only E‖·‖²",
    ),
    print="misprint",
)
def claim_B3_just(
    found: dict[str, list[Growth]],
    bound: str = "root",
    steps: int = 0,
    rate: float = 1.0,
    restarts: tuple[str, ...] = ("random", "keep A"),
    equal: bool = False,
    under: str = "Assumption A.2",
) -> Evidence:
    """The sum of the norms after every round against its bound for a whole cycle, or for the part that is done.

    ``under`` is the name of the assumption that bounds the second moment by $G^2$.
    """
    lines, name = [], f"growth of the factors under {under}"
    for restart in restarts:
        for run in found[restart]:
            if equal and run.root < run.largest:
                continue
            G = run.root if bound == "root" else run.largest
            for t, reached in run.ends:
                done = run.steps * ((t - 1) % run.tau + 1) + steps
                limit = run.start * (1.0 + rate * run.rate * G) ** done
                lines.append(Relation(name, reached, limit, 1e-9 * limit, True, run.case))
    scope = f"{len(lines)} ends of rounds: one weight by hand and at equality, drawn matrices"
    return judge_bounds(lines, f"{scope}; every step draws the steepest sample")
