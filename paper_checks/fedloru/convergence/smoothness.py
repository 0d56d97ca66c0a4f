"""Section 4.2 and Appendix B.1: Assumption 4.1 and Lemmas B.5 to B.8, with eqs. (63) to (66)."""

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
from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.bounded_runs import Bounded, Scripted, Trace
from paper_checks.fedloru.convergence.bounded_settings import WITH_COHORTS, at_most, follow_settings, judge_bounds
from paper_checks.methods.promises import Promise


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
    """At the weights of the run, beside each of them, and far out."""
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
    """Every run."""
    weights = torch.from_numpy(context.rng("beside").standard_normal(16))
    return [_assumed(trace, weights) for trace in follow_settings(context)]


@claim(
    "fedloru-v2/assump-4.1",
    where="Section 4.2, Assumption 4.1; Appendix B, Assumptions B.1 to B.4 (which exchange the labels A.4 and A.5)",
    says=r"There are $L, G, C_A, C_B, \sigma^2 > 0$ such that for any client, any two weight matrices, any round and "
    r"local step: $\|\nabla f^{(k)}(W) - \nabla f^{(k)}(W')\|_F \le L\|W - W'\|_F$; $\mathbb{E}\|\nabla "
    r"f^{(k)}(W;\xi^{(k)})\|_F^2 \le G^2$; $\|A_{t,i}^{(k)}\|_F \le C_A$, $\|B_{t,i}^{(k)}\|_F \le C_B$; "
    r"$\mathbb{E}\|\nabla f^{(k)}(W;\xi^{(k)}) - \nabla f^{(k)}(W)\|_F^2 \le \sigma^2$; $\mathbb{E}[\nabla "
    r"f^{(k)}(W;\xi^{(k)})] = \nabla f^{(k)}(W)$. (Assumption B.4: for all W there is such a $\sigma^2$.)",
    measure=measure_assumed,
    mutants=[{"curvature": 0.99}, {"second": 0.99}, {"variance": 0.99}, {"factors": 0.99}, {"quadratic": True}],
    kind="assumption",
    expect=("holds", "proof"),
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


@dataclass(frozen=True, eq=False)
class Linear:
    r"""A client's loss $\frac1s\sum_c\langle S_c, W\rangle$, whose samples' gradients $S_c$ differ.

    Attributes:
        slopes: One matrix for each sample, ``(s, m, n)``.
    """

    slopes: Tensor

    @property
    def samples(self) -> float:
        """Number of samples."""
        return float(len(self.slopes))

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """The loss, of a batch if one is named."""
        return (w["W"] * (self.slopes if batch is None else self.slopes[batch]).mean(dim=0)).sum()


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
    """By hand, with every restart: one weight whose factors grow as fast as they can, and drawn matrices."""
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
    where="Appendix B, after Assumption B.4",
    says=r"Since A and B are reinitialised at each accumulation cycle they accumulate at most $\tau E$ gradient "
    r"steps; under (A.2) each stochastic gradient has norm at most G, and for sufficiently small $\eta$ each update "
    "makes the Frobenius norm only modestly larger, by which Assumption B.3 can be justified.",
    measure=measure_growth,
    control=Form("For equal samples, where the second moment is that of each gradient.", {"equal": True}),
    correction=Form(
        r"With $\alpha = 1$, if every sample's gradient has norm at most G (its second moment is not enough), "
        r"$\|A\|+\|B\|$ is at most $(1 + \eta G)^{\tau E}$ times its value at their last fresh start, as long as they "
        r"start anew in each cycle; this is attained. If they are kept, the exponent is the number of all steps since "
        r"their start. A Gaussian start has no bound that holds for all cycles.",
        {"bound": "largest"},
        ({"bound": "root"}, {"steps": -1}, {"rate": 0.99}, {"restarts": ("momentum",)}),
    ),
    uses=("fedloru-v2/assump-4.1", "fedloru-v2/claim-reinit"),
    because="(A.2) bounds the second moment: a single stochastic gradient can be far larger than G.",
    expect=("corrected", "proof"),
)
def claim_B3_just(
    found: dict[str, list[Growth]],
    bound: str = "root",
    steps: int = 0,
    rate: float = 1.0,
    restarts: tuple[str, ...] = ("random", "keep A"),
    equal: bool = False,
) -> Evidence:
    """The sum of the norms after every round against its bound for a whole cycle, or for the part that is done."""
    lines = []
    for restart in restarts:
        for run in found[restart]:
            if equal and run.root < run.largest:
                continue
            G = run.root if bound == "root" else run.largest
            for t, reached in run.ends:
                done = run.steps * ((t - 1) % run.tau + 1) + steps
                limit = run.start * (1.0 + rate * run.rate * G) ** done
                lines.append(Promise("growth of the factors", reached, limit, 1e-9 * limit, True, run.case))
    scope = f"{len(lines)} ends of rounds: one weight by hand and at equality, drawn matrices"
    return judge_bounds(lines, f"{scope}; every step draws the steepest sample")


@dataclass(frozen=True)
class Pair:
    """One loss at two values of A with B fixed, or of B with A fixed, and the same for both moving.

    Attributes:
        change: Norm of the change of the gradient in the factor that moves.
        step: Norm of its change.
        L: Curvature in W.
        fixed: Norm of the factor that stays.
        moving: Norm of the one that moves, the larger of its two.
        joint: Change of both gradients where both factors move, over the norm of their change.
    """

    change: float
    step: float
    L: float
    fixed: float
    moving: float
    joint: float


def draw_pairs(context: Context) -> list[Pair]:
    """Tall, wide and square weights, ranks from 1 beyond the smaller side, close and distant pairs, tiny and large."""
    rng = context.rng("pairs")
    found = []
    for number in range(context.size(250, 2500)):
        m, n, r = (int(k) for k in rng.integers(1, 5, 3)) if number % 3 else (1, 1, 1)
        size, kind = 10.0 ** rng.uniform(-2, 1), str(rng.choice(["huber", "cosine"]))
        zone = float(rng.choice([1e-1, 1.0, 1e4]))
        client = Bounded(
            torch.from_numpy(rng.standard_normal((1, m, n))), float(10.0 ** rng.uniform(-1, 2)), zone, kind
        )
        A, A2 = (torch.from_numpy(rng.standard_normal((m, r))) for _ in range(2))
        B, B2 = (torch.from_numpy(size * rng.standard_normal((r, n))) for _ in range(2))
        A2, B2 = A + (A2 - A) * 10.0 ** rng.uniform(-6, 0), B + (B2 - B) * 10.0 ** rng.uniform(-6, 0)

        def slope(left: Tensor, right: Tensor, client: Bounded = client) -> Tensor:
            return client.every_gradient(left @ right)[0]

        first = slope(A, B)
        both = (slope(A2, B2) @ B2.mT - first @ B.mT).norm() ** 2 + (A2.mT @ slope(A2, B2) - A.mT @ first).norm() ** 2
        moved = ((A2 - A).norm() ** 2 + (B2 - B).norm() ** 2) ** 0.5
        joint = float(both**0.5 / moved)
        in_A, in_B = (slope(A2, B) - first) @ B.mT, A.mT @ (slope(A, B2) - first)
        largest = float(torch.maximum(A.norm(), A2.norm())), float(torch.maximum(B.norm(), B2.norm()))
        found.append(
            Pair(float(in_A.norm()), float((A2 - A).norm()), client.curvature, float(B.norm()), largest[0], joint)
        )
        found.append(
            Pair(float(in_B.norm()), float((B2 - B).norm()), client.curvature, float(A.norm()), largest[1], joint)
        )
    return found


@claim(
    "fedloru-v2/lem-B.5",
    where="Appendix B.1, Lemma B.5",
    says="Under Assumption B.1 each $f^{(k)}$ is $LC_B^2$-smooth in A (for fixed B) and $LC_A^2$-smooth in B (for "
    "fixed A), and so is f.",
    measure=draw_pairs,
    mutants=[{"constant": 0.99}, {"power": 1}, {"factor": "moving"}, {"jointly": True}],
    uses=("fedloru-v2/assump-4.1",),
    expect=("holds", "proof"),
)
def lem_B_5(
    pairs: list[Pair], constant: float = 1.0, power: int = 2, factor: str = "fixed", jointly: bool = False
) -> Evidence:
    """Difference quotients of the factor gradients; ``factor`` says whose norm stands in the constant."""
    lines = []
    for pair in pairs:
        norm = pair.fixed if factor == "fixed" else pair.moving
        bound = constant * pair.L * (max(pair.fixed, pair.moving) if jointly else norm) ** power
        # The rounding of a difference of gradients, over a small step, is that of the gradients.
        error = 1e-9 * bound * pair.step + 1e-12 * pair.L * (1.0 + pair.fixed) ** 2 * (1.0 + pair.moving)
        left, right = (pair.joint, bound) if jointly else (pair.change, bound * pair.step)
        lines.append(Promise("smooth in one factor", left, right, 1e-6 * bound if jointly else error, True))
    return judge_bounds(
        lines,
        f"{len(pairs)} pairs of factors of 1 to 4 rows, columns and ranks, the fixed one with the norm C_B or C_A, "
        "which bounds it by (A.3), norms from 0.01 to 50, Huber and cosine losses, L from 0.1 to 100, close and "
        "distant pairs; f by the proof, for weights of sum 1",
    )


@claim(
    "fedloru-v2/lem-B.6",
    where="Appendix B.1, Lemma B.6",
    says=r"For any t: $\mathbb{E}\|\nabla_Bf_t(A_{t+1}B_t) - \nabla_Bf_t(A_tB_t)\|^2 \le 2(L^2C_A^2C_B^2 + "
    r"G^2)\mathbb{E}\|A_{t+1} - A_t\|^2$.",
    measure=follow_settings,
    mutants=[{"constant": 0.99}, {"gradient": 0}, {"curvature_power": 0}],
    uses=("fedloru-v2/assump-4.1",),
    expect=("holds", "proof"),
)
def lem_B_6(traces: tuple[Trace, ...], constant: float = 2.0, gradient: int = 1, curvature_power: int = 2) -> Evidence:
    """Every round of every run, and the one-weight case that meets the bound, over a range of its numbers."""
    lines = []
    for trace in traces:
        bound = constant * (trace.L**curvature_power * (trace.C_A * trace.C_B) ** 2 + gradient * trace.G**2)
        lines += [at_most("Lemma B.6", one["cross"], bound * one["dA"], trace) for one in trace.rounds]
    for L, G, step in ((1.0, 1.0, 1e-4), (100.0, 1.0, 1e-4), (0.01, 0.1, 1e-3)):
        # One weight with gradient G and curvature L between A and A + step; AB = G/L makes the two terms equal.
        A, B = 1.0, G / L
        change = (A + step) * (G + L * step * B) - A * G
        largest = G * (1.0 + step)  # the gradient ends a little above G
        bound = constant * (L**curvature_power * ((A + step) * B) ** 2 + gradient * largest**2)
        lines.append(Promise("Lemma B.6", change**2, bound * step**2, at_most=True))
    return judge_bounds(
        lines,
        f"{WITH_COHORTS}, weights of sum at most 1 (see eq-agg); and one weight with both terms of the bound equal",
    )
