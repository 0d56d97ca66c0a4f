"""Section 4.1 and Appendices C.1 and D.2: Algorithm 1, its initialisations and its version for fine-tuning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.adapter import AB, Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedloru import RESTARTS, FedLoRU, FedLoRUState, Restart
from algorithms.fedloru_finetuning import FineTuneFedLoRU, PairsState
from algorithms.rounds import go_on, one_round
from algorithms.tree import Tree
from paper_checks.claim import Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.promises import Promise, Promises, judge_promises, promises, same
from toymodels.quadratic import Quadratic, centred, random_quadratics

HAND = {"W": 0.0, "A": 1.0, "B": 1.0, "target": 3.0, "alpha": 2.0, "rate": 0.125, "tau": 2, "rounds": 3}
"""A run by hand: one weight W, one client with loss (w - target)^2 / 2, one local step a round."""


@dataclass(frozen=True)
class Run:
    """A federation with quadratic losses, a start, and the settings of FedLoRU.

    Attributes:
        clients: Losses.
        W: Start of the weights, ``(m, n)``.
        A: Start of A, ``(m, r)``.
        B: Start of B, ``(r, n)``.
        alpha: Scale of the product.
        tau: Accumulation cycle.
        rounds: T.
        local: Local steps.
        case: The run in plain numbers, if it can be followed by hand.
    """

    clients: tuple[Quadratic, ...]
    W: Tensor
    A: Tensor
    B: Tensor
    alpha: float
    tau: int
    rounds: int
    local: Descent
    case: Mapping[str, Any] | None = None

    @property
    def factors(self) -> AB:
        """The start of both factors."""
        return AB(Tree(W=self.A), Tree(W=self.B))

    @property
    def adapter(self) -> Adapter:
        """Rank and scale."""
        return Adapter(self.A.shape[1], self.alpha)


def by_hand(**changes: Any) -> Run:
    """The run by hand, with other numbers."""
    case = {**HAND, **changes}
    W, A, B = (torch.tensor([[case[name]]], dtype=torch.float64) for name in ("W", "A", "B"))
    clients = (centred([[1.0]], [[case["target"]]]),)
    return Run(clients, W, A, B, case["alpha"], case["tau"], case["rounds"], Descent(1, case["rate"]), case)


def draw_runs(context: Context) -> list[Run]:
    """The run by hand with T a multiple of tau and not; then tall, wide and square weights, several clients."""
    runs = [by_hand(), by_hand(rounds=2)]
    rng = context.rng("runs")
    kinds = [((4, 3), 2, 0.5, 2, 5), ((2, 5), 1, 2.0, 1, 2), ((3, 3), 3, 0.5, 3, 7), ((1, 4), 1, 2.0, 1, 3)]
    for shape, rank, alpha, tau, rounds in kinds * context.size(1, 4):
        made = random_quadratics(shape, int(rng.integers(1, 4)), rng, curvatures=(float(rng.choice([-0.2, 0.1])), 1.0))
        A, B = (torch.from_numpy(0.3 * rng.standard_normal(size)) for size in ((shape[0], rank), (rank, shape[1])))
        runs.append(Run(tuple(made.clients), made.start["W"], A, B, alpha, tau, rounds, Descent(3, 0.01)))
    return runs


SCOPE = (
    "a run by hand and runs with quadratic losses, convex and indefinite, on tall, wide and square weights, ranks from "
    "1 to the smaller side, 1 to 3 clients, alpha 1/2 and 2, tau from 1 to 3, T a multiple of tau and not"
)


@dataclass(frozen=True)
class Round:
    """What one round led to.

    Attributes:
        aggregated: A_t and B_t, as the server has them before any restart.
        base: W as the clients had it in the round.
        starts_from: The model that the next round starts from.
        factors: The factors that it starts from.
    """

    aggregated: AB
    base: Tree
    starts_from: Tree
    factors: AB


@dataclass(frozen=True)
class Followed:
    """A run, round by round, with W as the clients hold it at the end."""

    run: Run
    rounds: tuple[Round, ...]
    copy: Tree

    def model(self, t: int) -> Tree:
        """The model that round t (from 1) trained: W and the averaged product, before any restart."""
        return self.run.adapter.weights(self.rounds[t - 1].base, self.rounds[t - 1].aggregated)

    def is_accumulated(self, t: int) -> bool:
        """Whether round t ends an accumulation cycle."""
        return t % self.run.tau == 0


def executed(run: Run, algorithm: FedLoRU, fed: Federation, state: FedLoRUState) -> Iterator[tuple[FedLoRUState, ...]]:
    """Every round: the state with the averaged factors before any accumulation, and the state after it."""
    for t in range(1, run.rounds + 1):
        base = state.base
        state = one_round(algorithm.round, fed, state)
        aggregated = state.factors if t % run.tau else fed.state.shared["accumulated"]
        yield FedLoRUState(base, aggregated, t), state


def follow(run: Run, restart: Restart) -> Followed:
    """Runs Algorithm 1; `momentum` is the listing, which has no restart."""
    algorithm = FedLoRU(run.local, run.adapter, run.tau, restart)
    fed = Federation(run.clients)
    start = algorithm.start(fed, Tree(W=run.W))._replace(factors=run.factors)
    rounds = [
        Round(reached.factors, reached.base, algorithm.weights(after), after.factors)
        for reached, after in executed(run, algorithm, fed, start)
    ]
    return Followed(run, tuple(rounds), fed.state.shared["base"])


Followings = Mapping[str, tuple[Followed, ...]]


def follow_all(context: Context) -> Followings:
    """Every run under every restart."""
    runs = draw_runs(context)
    return {restart: tuple(follow(run, restart) for run in runs) for restart in RESTARTS}


EVERY_PROMISE = ("continue", "returned", "text", "copies")


def judge_box(
    followings: Followings, restart: str = "momentum", leftover: bool = False, text_power: int = 0,
    text_rounds: str = "tau", scale: float = 1.0, keep: tuple[str, ...] = EVERY_PROMISE,
) -> Evidence:  # fmt: skip
    """What is returned, by listing and by text, where training goes on, and what clients hold as W, in executed runs.

    Args:
        followings: the runs.
        restart: what the factors start from after an accumulation.
        leftover: whether the returned model has the factors that are not accumulated yet.
        text_power: power of alpha in the formula of the text.
        text_rounds: `tau` or `all`: the rounds which that formula sums over.
        scale: factor of alpha in what is returned.
        keep: the promises.
    """
    promises = []
    for followed in followings[restart]:
        run, T = followed.run, followed.run.rounds
        ends = [t for t in range(1, T + 1) if followed.is_accumulated(t)]
        case = None if run.case is None else {**run.case, "restart": restart}

        def summed(alpha: float, rounds: list[int], followed: Followed = followed) -> Tensor:
            products = [
                factors.A["W"] @ factors.B["W"] for factors in (followed.rounds[t - 1].aggregated for t in rounds)
            ]
            return followed.run.W + alpha * sum(products, start=torch.zeros_like(followed.run.W))

        last = [T] if leftover and not followed.is_accumulated(T) else []
        returned = summed(run.alpha * scale, ends + last)
        if "copies" in keep:
            name = "the returned sum without the last factors is what every client holds as W"
            promises.append(same(name, summed(run.alpha * scale, ends), followed.copy["W"], case))
        if "continue" in keep:
            name = "after an accumulation training goes on from the model that was reached"
            promises += [same(name, followed.rounds[t - 1].starts_from["W"], followed.model(t)["W"], case)
                         for t in ends if t < T]  # fmt: skip
        if "returned" in keep:
            promises.append(
                same("the returned model is the one reached in the last round", returned, followed.model(T)["W"], case)
            )
        if "text" in keep:
            rounds = ends + last if text_rounds == "tau" else list(range(1, T + 1))
            text = summed(run.alpha**text_power * scale, rounds)
            promises.append(same("the formula of the text is what the listing returns", text, returned, case))
    return judge_promises(promises, SCOPE)


ONE_PROMISE = Form(
    r"What the listing returns is what every client holds as W: $W_0 + \alpha\sum_{\tau|t}A_tB_t$.",
    {"keep": ("copies",)},
)
CORRECTED_CONSTANTS = {"restart": "random", "leftover": True, "text_power": 1, "text_rounds": "tau"}
CORRECTED = Form(
    "The listing returns the model reached in round T, after averaging, if the factors restart at $AB = 0$ after "
    r"each accumulation and the current $\alpha A_TB_T$ is added to what is returned unless $\tau$ divides T; the "
    r"formula of the text is that model if it has $\alpha$ and sums over the rounds that $\tau$ divides and, where it "
    "does not divide T, over T.",
    CORRECTED_CONSTANTS,
    ({"restart": "momentum"}, {"leftover": False}, {"text_power": 0}, {"text_rounds": "all"}, {"scale": 1.001}),
)


_BOX: dict[str, Any] = {
    "measure": follow_all, "control": ONE_PROMISE, "correction": CORRECTED, "kind": "algorithm",
    "expect": ("corrected", "search"),
}  # fmt: skip

alg_1 = claim(
    "fedloru-v2/alg-1",
    where="Section 4.1, Algorithm 1, with the text after it; Appendix B, before Section B.1",
    says="The listing: in every round the factors are trained from those of the round before and averaged, "
    r"$A_t \leftarrow \sum_{k \in \mathcal{K}_M}p^{(k)}A_t^{(k)}$ and $B_t \leftarrow \sum_{k \in \mathcal{K}_M}"
    r"p^{(k)}B_t^{(k)}$, and every $\tau$ rounds $\alpha A_tB_t$ is added to every client's W; returned is $W_0 + "
    r"\alpha\sum_{\tau|t}A_tB_t$. The text: clients continue training from the averaged factors, and the final model "
    r"is $W_0 + \sum_{\tau|t}A_tB_t$. Appendix B: after an accumulation the factors are reinitialised with $AB = 0$, "
    "and the loss is not affected.",
    importance="result",
    because="The listing goes on with factors that it has merged, so that the model jumps; the text's final model "
    r"lacks $\alpha$.",
    **_BOX,
)(judge_box)


def judge_box_over_all_rounds(
    followings: Followings, restart: str = "momentum", leftover: bool = False, text_power: int = 0,
    text_rounds: str = "all", scale: float = 1.0, keep: tuple[str, ...] = EVERY_PROMISE,
) -> Evidence:  # fmt: skip
    """What is returned, by listing and by text (over all rounds), where training goes on, and W, in executed runs."""
    return judge_box(followings, restart, leftover, text_power, text_rounds, scale, keep)


alg_1_iclr = claim(
    "fedloru-iclr/alg-1",
    where="ICLR Section 3.2, Algorithm 1, with the text before it",
    says=r"The listing of fedloru-v2/alg-1. The text: clients add $\alpha A_tB_t$ to W and reset their factors; with "
    r"an accumulation every $\tau$ rounds the final model is $W + \sum_{t=1}^TA_tB_t$, over all rounds.",
    importance="result",
    because=r"The text's final model sums all rounds without $\alpha$; the listing merges every $\tau$ rounds with "
    r"$\alpha$, and resets nothing.",
    **_BOX,
)(judge_box_over_all_rounds)
alg_1_v1 = claim(
    "fedloru-v1/alg-1",
    where="v1 Section 3.2, Algorithm 1, with the text before it and eq. (11)",
    says=r"The listing of fedloru-v2/alg-1, with a copy $W^{(k)}$ at each client. The text: clients assign $W^{(k)} "
    r"\leftarrow W^{(k)} + \alpha AB$ and reset their factors; the final model is $W_0 + \sum_{\tau|t}A_tB_t$.",
    importance="result",
    because=r"The text's final model lacks $\alpha$, and the listing does not reset the factors as the text says.",
    **_BOX,
)(judge_box)


def judge_restart(followings: Followings, restart: str, jump: float) -> Evidence:
    """How an accumulation changes the model: by a multiple of the product."""
    promises = []
    for followed in followings[restart]:
        case = None if followed.run.case is None else {**followed.run.case, "restart": restart}
        for t in range(1, followed.run.rounds + 1):
            if followed.is_accumulated(t):
                one = followed.rounds[t - 1]
                product = followed.run.alpha * one.aggregated.A["W"] @ one.aggregated.B["W"]
                expected = followed.model(t)["W"] + jump * product
                changed = f"the model after an accumulation is the one before it plus {jump:g} times the product"
                promises.append(same(changed, one.starts_from["W"], expected, case))
    return judge_promises(promises, SCOPE)


@claim(
    "fedloru-v2/alg-1-init-random",
    where="Appendix D.2, random initialisation, with Appendix B",
    says="Random initialisation: A Gaussian and B zero make AB zero at the start; reinitialised so after an "
    "accumulation, the factors leave the loss as it is.",
    measure=follow_all,
    mutants=[{"restart": "momentum"}, {"jump": 1.0}, {"jump": -1.0}],
    kind="algorithm",
    expect=("holds", "search"),
)
def init_random(followings: Followings, restart: str = "random", jump: float = 0.0) -> Evidence:
    """The model before and after every accumulation."""
    return judge_restart(followings, restart, jump)


@claim(
    "fedloru-v2/alg-1-init-momentum",
    where="Appendix D.2, momentum initialisation",
    says="Momentum initialisation: after an accumulation the current low-rank matrices are retained and training "
    "continues from them.",
    measure=follow_all,
    mutants=[{"jump": 0.0}, {"jump": 2.0}, {"restart": "random"}, {"restart": "keep A"}],
    kind="algorithm",
    expect=("holds", "search"),
)
def init_momentum(followings: Followings, restart: str = "momentum", jump: float = 1.0) -> Evidence:
    """The factors after every accumulation, and the model."""
    promises = []
    for followed in followings[restart]:
        for t in range(1, followed.run.rounds + 1):
            if followed.is_accumulated(t):
                one = followed.rounds[t - 1]
                left, right = one.aggregated, one.factors
                promises.append(same("A is kept", right.A["W"], left.A["W"]))
                promises.append(same("B is kept", right.B["W"], left.B["W"]))
    kept, moved = judge_promises(promises, SCOPE), judge_restart(followings, restart, jump)
    return kept if not kept.ok else moved


@dataclass(frozen=True)
class Beside:
    """The fine-tuning version of a run beside the merged one: models round by round, weights, stored numbers."""

    run: Run
    separate: tuple[Tensor, ...]
    merged: tuple[Tensor, ...]
    weights: Tensor
    pairs: int


def run_beside(context: Context) -> list[Beside]:
    """Both versions from the same start."""
    found = []
    for run in draw_runs(context):
        models: list[list[Tensor]] = []
        states: list[Any] = []
        for kind in (FineTuneFedLoRU, FedLoRU):
            algorithm: Any = kind(run.local, run.adapter, run.tau)
            fed = Federation(run.clients)
            start = algorithm.start(fed, Tree(W=run.W))._replace(factors=run.factors)
            models.append([])
            for state in go_on(algorithm.round, fed, start, run.rounds):
                models[-1].append(algorithm.weights(state)["W"])
            states.append(state)
        kept: PairsState = states[0]
        found.append(Beside(run, tuple(models[0]), tuple(models[1]), kept.base["W"], len(kept.pairs)))
    return found


PAIR = "0.248"
"""Trainable parameters at rank 16 in per cent of the model, by Appendix D.2: what one accumulation adds."""


@promises(
    "fedloru-v2/alg-1-fine-tune",
    where="Section 4.1, FedLoRU for fine-tuning, and Appendix C.1",
    says="The accumulated low-rank matrices are stored beside the frozen pre-trained model, which stays intact; "
    "together they remain significantly smaller than the model.",
    measure=run_beside,
    readings=(
        Reading(
            "any number of accumulations",
            "However many pairs are stored, all of them together are smaller than the model, which stays intact.",
            why="The size is said to remain smaller, and no number of accumulations is named.",
        ),
        Reading(
            "in the paper's experiment",
            "The stored pairs and the frozen model give the same models as merging; with accumulations at rounds 15 "
            "and 30 of Section 5.3 and rank 16 of Appendix D.2, all stored pairs are less than half a per cent of the "
            "model.",
            {"accumulations": 2, "part": 0.005},
            "The sentence describes what fine-tuning needs; Section 5.3 accumulates every 15 rounds, at round 30 for "
            "the last time that is named, and Appendix D.2 has 0.248 % of the parameters in one pair of rank 16.",
            ({"scale": 0.999}, {"frozen": False}, {"accumulations": 20}),
        ),
    ),
    vary=("scale",),
    kind="algorithm",
    because="At 0.248 % of the model for a pair of rank 16, all pairs are as large as the model after 405 "
    "accumulations.",
    expect=("depends on the reading", "search"),
)
def fine_tune(runs: list[Beside], scale: float = 1.0, frozen: bool = True, accumulations: int = 405, part: float = 1.0
              ) -> Promises:  # fmt: skip
    """Models round by round, the weights at the end, and the numbers that are stored."""
    for one in runs:
        for separate, merged in zip(one.separate, one.merged, strict=True):
            yield same("the same model as with merging", scale * separate, merged)
        whole = one.run.W if frozen else one.merged[-1]
        yield same("the weights stay as they were", one.weights, whole)
        yield Promise("one pair for each accumulation", one.pairs, one.run.rounds // one.run.tau)
    case = {"share": PAIR, "accumulations": accumulations}
    yield Promise("what the stored pairs are of the model", accumulations * float(PAIR) / 100, part, at_most=True,
                  case=case)  # fmt: skip
    return f"{SCOPE}; {accumulations} pairs of {PAIR} % of the model"
