"""Section 4: the method, its control variates, and what it reduces to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import Tensor

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import AS_CORRECTED, Form, Intended, Reading
from paper_checks.context import Context
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities
from paper_checks.methods.relations import Relations, relations, same
from toymodels.quadratic import Quadratic, centred


def local_steps(gradient: Any, x: Any, own: Any, server: Any, step: Any, K: int) -> tuple[Any, list[Any]]:
    """Return the end of K local steps, eq. (3), and their gradients; numbers, tensors or symbols."""
    y, seen = x, []
    for _ in range(K):
        seen.append(gradient(y))
        y = y - step * (seen[-1] + server - own)
    return y, seen


def renewed(option: str, gradient: Any, x: Any, y: Any, own: Any, server: Any, step: Any, K: int) -> Any:
    """Return the client's control variate after a round, eq. (4)."""
    return gradient(x) if option == "I" else own - server + (x - y) / (K * step)


X, Y, C, OWN, STEP, GLOBAL, N, S, K = sympy.symbols("x y c c_i eta_l eta_g N S K")
OLD, NEW, OTHERS, GRADIENTS, MOVES = sympy.symbols("old new others gradients moves")  # sums


def draw_points(context: Context, positive: tuple[Any, ...], others: tuple[Any, ...]) -> list[Point]:
    """Return exact points where steps and curvatures are positive."""
    points = generic_points(context, (*positive, *others), 3)
    return [{s: abs(value) if s in positive else value for s, value in point.items()} for point in points]


@identities(
    "scaffold/eq-4",
    where="Section 4, eq. (4), Option II",
    says=r"Option II, $c_i^+ = c_i - c + \frac{1}{K\eta_l}(x - y_i)$, uses the gradients of the local steps again: it "
    "is their mean.",
    measure=lambda context: generic_points(context, (X, C, OWN, STEP, K, GRADIENTS, *sympy.symbols("g1:4")), 3),
    mutants=[{"sign": -1}, {"per_step": False}],
    expect=("holds", "proof"),
)
def eq_4(points: list[Point], sign: int = 1, per_step: bool = True) -> Equations:
    """From the sum of any K steps, and step by step for 1 to 3."""

    def option_ii(y: Any, steps: Any) -> Any:
        return OWN - sign * C + (X - y) / ((steps if per_step else 1) * STEP)

    end = X - STEP * (GRADIENTS + K * (C - OWN))
    yield Equation("K steps", option_ii(end, K), GRADIENTS / K)
    for steps in (1, 2, 3):
        given = iter(sympy.symbols("g1:4"))
        end, seen = local_steps(lambda y, given=given: next(given), X, OWN, C, STEP, steps)
        yield Equation(f"K = {steps}", option_ii(end, steps), sum(seen) / steps)
    return points, "any gradients, control variates and step"


@identities(
    "scaffold/eq-5",
    where="Section 4, eq. (5), and Algorithm 1, lines 16 and 17",
    says=r"""From $c = \frac1N\sum_ic_i$ the server's $c \leftarrow c + \frac1N\sum_{i \in S}(c_i^+ - c_i)$, or
    $c \leftarrow c + \frac{|S|}{N}\Delta c$ with the mean change $\Delta c$ of the sampled clients, leads to the
    mean of all control variates again.""",
    measure=lambda context: generic_points(context, (OLD, NEW, OTHERS, N, S), 3),
    mutants=[{"by": "sampled"}, {"sign": -1}],
    expect=("holds", "proof"),
)
def eq_5(points: list[Point], by: str = "all", sign: int = 1) -> Equations:
    """Sums over the sampled clients, before and after, and over the others, of any number of clients."""
    before, after = (OLD + OTHERS) / N, (NEW + OTHERS) / N
    change = (NEW - OLD) / S
    yield Equation("eq. (5)", before + sign * (NEW - OLD) / (N if by == "all" else S), after)
    yield Equation("Algorithm 1", before + sign * (S / N if by == "all" else 1) * change, after)
    return points, "any number of clients, any sampled ones, any new control variates"


@identities(
    "scaffold/alg-1",
    where="Algorithm 1, lines 5 and 13; that it is twice FedAvg's, and the formula, follow from it",
    says=r"""A client receives $(x, c)$ and sends $(\Delta y_i, \Delta c_i)$, which is twice what FedAvg communicates
    each way. With Option II the server could compute $\Delta c_i = -c - \frac{1}{K\eta_l}\Delta y_i$ itself.""",
    measure=lambda context: generic_points(context, (X, Y, C, OWN, STEP, K, S), 3),
    mutants=[{"sent": 1}, {"sign": -1}],
    importance="detail",
    expect=("holds", "proof"),
)
def alg_1(points: list[Point], sent: int = 2, sign: int = 1) -> Equations:
    """Numbers per client and round for S weights, and the second half of the message from the first."""
    yield Equation("received", 2 * S, sent * S)
    yield Equation("sent", 2 * S, sent * S)
    new = renewed("II", None, X, Y, OWN, C, STEP, K)
    yield Equation("Option II", new - OWN, -sign * C - (Y - X) / (K * STEP))
    return points, "any weights, control variates and steps"


@identities(
    "scaffold/eq-6",
    where="Section 4, eq. (6)",
    says=r"""With $c_j = g_j(y_i)$ for all j, and their mean c, the local step (3) is the ideal update
    $y_i \leftarrow y_i + \frac1N\sum_jg_j(y_i)$.""",
    measure=lambda context: draw_points(context, (STEP,), (Y, *sympy.symbols("g1:4"))),
    control=Form(r"$y_i \leftarrow y_i - \frac{\eta_l}{N}\sum_jg_j(y_i)$ for one client.", {"step": "-eta", "most": 1}),
    correction=Form(
        r"""With $c_j = g_j(y_i)$ for all j, and their mean c, the local step (3) is the ideal update
        $y_i \leftarrow y_i - \frac{\eta_l}{N}\sum_jg_j(y_i)$.""",
        {"step": "-eta"},
        mutants=({"step": "eta"}, {"step": "-1"}),
        asks="neither",
    ),
    because="A descent step subtracts the gradient times the step size. The text that we read adds the gradient.",
    importance="detail",
    expect=("holds", "proof"),
    intended=Intended(AS_CORRECTED, "“Such an update essentially computes an unbiased gradient of f”, as in eq. (1)"),
    print="misprint",
    family="1 to 3 clients",
)
def eq_6(points: list[Point], step: str = "1", most: int = 3) -> Equations:
    """Both updates, for 1 to 3 clients."""
    sizes = {"1": sympy.Integer(1), "-1": sympy.Integer(-1), "eta": STEP, "-eta": -STEP}
    for count in range(1, most + 1):
        gradients = sympy.symbols("g1:4")[:count]
        mean = sum(gradients) / count
        end, _ = local_steps(lambda y, first=gradients[0]: first, Y, gradients[0], mean, STEP, 1)
        yield Equation(f"N = {count}", end, Y + sizes[step] * mean)
    return points, "any gradients and step"


@dataclass(frozen=True)
class Clients:
    """Quadratic clients, a start, local steps and step."""

    losses: tuple[Quadratic, ...]
    start: Tensor
    K: int
    step: float

    def fedavg(self, rounds: int) -> Iterator[Tensor]:
        """Yield the weights after every round of the toolkit's FedAvg."""
        fed, w = Federation(list(self.losses)), Tree(W=self.start)
        for _ in range(rounds):
            w = one_round(FedAvg(Descent(self.K, self.step)).round, fed, w)
            yield w["W"]

    def scaffold(self, rounds: int, frozen: bool, K: int) -> Iterator[Tensor]:
        """Yield the weights after every round with a global step of 1, all control variates 0 at first."""
        x, count = self.start, len(self.losses)
        own = [torch.zeros_like(x)] * count
        for _ in range(rounds):
            server, ends = sum(own) / count, []
            for i, loss in enumerate(self.losses):

                def gradient(y: Tensor, loss: Quadratic = loss) -> Tensor:
                    return loss.gradient(Tree(W=y))["W"]

                end, _ = local_steps(gradient, x, own[i], server, self.step, K)
                ends.append(end)
                if not frozen:
                    own[i] = renewed("II", gradient, x, end, own[i], server, self.step, K)
            x = sum(ends) / count
            yield x


def measure_clients(context: Context) -> list[Clients]:
    """Draw problems of 1, 2 and 5 clients with different Hessians and minimisers."""
    rng, found = torch.Generator().manual_seed(context.integer_seed("clients")), []
    for count, K, step in ((1, 3, 0.1), (2, 2, 0.1), (5, 4, 0.02)):
        roots = torch.randn(count, 6, 6, generator=rng, dtype=torch.float64) / 2
        centres = torch.randn(count, 3, 2, generator=rng, dtype=torch.float64)
        losses = tuple(centred(root @ root.T, centre) for root, centre in zip(roots, centres, strict=True))
        found.append(Clients(losses, torch.ones(3, 2, dtype=torch.float64), K, step))
    return found


@relations(
    "scaffold/sec-4-fedavg",
    where="Section 4, after eq. (5); for one client it follows from the invariant",
    says=r"If every $c_i$ is always 0, SCAFFOLD is FedAvg; with a single client, where $c = c_1$, it always is.",
    measure=measure_clients,
    mutants=[{"frozen": False}, {"more": 1}],
    expect=("holds", "search"),
)
def sec_4_fedavg(problems: list[Clients], frozen: bool = True, more: int = 0) -> Relations:
    """Three rounds of the box, and of the toolkit's FedAvg."""
    for one in problems:
        for ours, theirs in zip(one.scaffold(3, frozen, one.K + more), one.fedavg(3), strict=True):
            yield same("control variates at 0", ours, theirs)
        if len(one.losses) == 1:
            for ours, theirs in zip(one.scaffold(3, False, one.K + more), one.fedavg(3), strict=True):
                yield same("one client", ours, theirs)
    return "quadratic losses of 3 x 2 weights; 1, 2 and 5 clients, 2 to 4 local steps, 3 rounds"


GRADIENT = sympy.Symbol("g")


@identities(
    "scaffold/sec-4-minimiser",
    where="Section 4, last sentence",
    says=r"The local steps of SCAFFOLD stay together and converge for arbitrarily different clients.",
    measure=lambda context: generic_points(context, (X, GRADIENT, N, K, STEP), 3),
    mutants=[{"own": "0"}, {"own": "twice"}],
    readings=(
        Reading(
            "at the minimiser",
            r"With $c_i = \nabla f_i(x^\star)$ all local steps from $x^\star$ stay there, and a round with Option I "
            "or II keeps the control variates, however different the clients are.",
            why="A place where the method does not move is what it can converge to; rates are those of Theorem III.",
        ),
    ),
    expect=("holds", "proof"),
)
def sec_4_minimiser(points: list[Point], own: str = "gradient") -> Equations:
    """A client with gradient g at the minimiser, where the gradients of the others add up to -g."""
    mine = {"gradient": GRADIENT, "0": sympy.Integer(0), "twice": 2 * GRADIENT}[own]
    server = (mine - GRADIENT) / N
    end, _ = local_steps(lambda y: GRADIENT, X, mine, server, STEP, 1)
    yield Equation("a local step", end, X)
    for option in ("I", "II"):
        new = renewed(option, lambda x: GRADIENT, X, end, mine, server, STEP, K)
        yield Equation(f"Option {option}", new, mine)
    return points, "any differentiable functions, any number of clients and local steps"


A, B, P, Q, G, U, V, W = sympy.symbols("a b p q G u v w")
POSITIVE, ANY = (A, B, G, K, STEP, GLOBAL), (P, Q, U, V, W, Y)
"""Two clients with $f_1 = ax^2/2 + (p + G)x$ and $f_2 = bx^2/2 + (q - G)x$, and deviations of x, $c_1$, $c_2$ and y."""


def clients(apart: Any) -> tuple[Any, tuple[tuple[Any, Any], ...]]:
    """Return the minimiser, and curvature and slope at 0 of both clients."""
    return -(P + Q) / (A + B), ((A, P + apart), (B, Q - apart))


def deviations(apart: Any, exchanged: bool) -> Iterator[tuple[str, Any]]:
    """Yield what becomes of deviations from the minimiser and the gradients there, name by name."""
    x, both = clients(apart)
    best = [curvature * x + slope for curvature, slope in both]
    own = [best[1] + V, best[0] + W] if exchanged else [best[0] + V, best[1] + W]
    for i, (curvature, slope) in enumerate(both):

        def gradient(y: Any, curvature: Any = curvature, slope: Any = slope) -> Any:
            return curvature * y + slope

        end, _ = local_steps(gradient, x + Y, own[i], sum(own) / 2, STEP, 1)
        yield f"a local step of client {i + 1}", end - x
        for option in ("I", "II"):
            new = renewed(option, gradient, x + U, x + Y, own[i], sum(own) / 2, STEP, K)
            yield f"Option {option} of client {i + 1}", new - best[i]


def from_zero(apart: Any) -> Iterator[tuple[str, Any]]:
    """Yield the deviation of x after a round of 1 and of 2 local steps from control variates of 0."""
    x, both = clients(apart)
    for steps in (1, 2):
        ends = [
            local_steps(lambda y, h=h, slope=slope: h * y + slope, x + U, 0, 0, STEP, steps)[0] for h, slope in both
        ]
        yield f"K = {steps}", U + GLOBAL * (sum(ends) / 2 - x - U)


@identities(
    "scaffold/sec-7-2",
    where="Section 7.2, and the caption of Figure 3",
    says="On two quadratic clients the convergence of SCAFFOLD does not depend at all on their gradient dissimilarity.",
    measure=lambda context: draw_points(context, POSITIVE, ANY),
    mutants=[{"controls": "exchanged"}],
    readings=(
        Reading(
            "a round's map of the errors",
            r"The deviations of x and $c_i$ from $x^\star$ and $\nabla f_i(x^\star)$ after a round are functions of "
            "those before it that do not depend on G.",
            why="Theorem III, which the simulation confirms, has rates without G.",
        ),
        Reading(
            "from control variates of 0",
            r"From $c_i = 0$ the deviation of x after a round does not depend on G.",
            {"controls": "0"},
            why="All control variates can be 0 at first (Section 4), and the figure shows whole runs.",
        ),
    ),
    because="With control variates of 0, the first round is a round of FedAvg, whose drift grows with G.",
    expect=("holds", "proof"),
    intended=Intended(
        "a round's map of the errors", "“confirming our theory in Thm. III”, which has no G in its rates"
    ),
)
def sec_7_2(points: list[Point], controls: str = "deviations") -> Equations:
    """The same deviations after a step, with G and without."""

    def after(apart: Any) -> Iterator[tuple[str, Any]]:
        return from_zero(apart) if controls == "0" else deviations(apart, controls == "exchanged")

    for (name, left), (_, right) in zip(after(G), after(sympy.Integer(0)), strict=True):
        yield Equation(name, sympy.together(left), sympy.together(right))
    return (
        points,
        "any curvatures, slopes, deviations and steps, each of any number of local steps; all clients take part",
    )
