"""Algorithm 1 in its three versions: FedLoRU, executed and compared with its text."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.fedloru.convergence.measurements.followed_rounds import SCOPE, Followed, Followings, follow_all
from paper_checks.methods.relations import judge_relations, same

EVERY_PROMISE = ("continue", "returned", "text", "copies")


def judge_box(
    followings: Followings,
    restart: str = "momentum",
    leftover: bool = False,
    text_power: int = 0,
    text_rounds: str = "tau",
    scale: float = 1.0,
    keep: tuple[str, ...] = EVERY_PROMISE,
    counted: str = "start",
    divides: bool = False,
) -> Evidence:
    """Judge the returned model, by listing and by text, the model that training resumes from, and clients' W, in runs.

    Args:
        followings: the runs.
        restart: Start of the factors after an accumulation.
        leftover: whether the returned model has the factors that are not accumulated yet.
        text_power: Power of alpha in the formula of the text.
        text_rounds: `tau` or `all`: the rounds which that formula sums over.
        scale: factor of alpha in what is returned.
        keep: the promises.
        counted: `start` or `updated`: the W that the returned sum is added to.
        divides: whether only runs are judged whose T is a multiple of tau.
    """
    promises = []
    for followed in followings[restart]:
        run, T = followed.run, followed.run.rounds
        if divides and T % run.tau:
            continue
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
            name = "training goes on from the model that was reached, as with factors that the text resets"
            promises += [
                same(name, followed.rounds[t - 1].starts_from["W"], followed.model(t)["W"], case) for t in ends if t < T
            ]
        if "returned" in keep:
            twice = followed.copy["W"] - run.W if counted == "updated" else torch.zeros_like(run.W)
            name = "the returned model is the one reached in the last round"
            promises.append(same(name, twice + returned, followed.model(T)["W"], case))
        if "updated" in keep:
            name = "W as updated, with the factors not accumulated yet, is that model"
            rest = summed(run.alpha * scale, last) - run.W
            promises.append(same(name, followed.copy["W"] + rest, followed.model(T)["W"], case))
        if "text" in keep:
            rounds = ends + last if text_rounds == "tau" else list(range(1, T + 1))
            text = summed(run.alpha**text_power * scale, rounds)
            promises.append(same("the formula of the text is what the listing returns", text, returned, case))
    return judge_relations(promises, f"those with T a multiple of tau of: {SCOPE}" if divides else SCOPE)


MEANT = Reading(
    "with the restart of the text",
    "The factors restart at $AB = 0$ after each accumulation, W in the returned sum is the model at the start, and "
    r"$\tau$ divides T. Then training resumes from the model that was reached, and the returned $W + "
    r"\alpha\sum_{\tau|t}A_tB_t$ is the model reached in round T, after averaging, and what every client holds as W. "
    r"The formula of the text is that sum if it has $\alpha$ and runs over the rounds that $\tau$ divides.",
    {"restart": "random", "text_power": 1, "text_rounds": "tau", "divides": True},
    r"The text resets the factors, the listing has $\alpha$, and both end with an accumulation.",
    ({"restart": "momentum"}, {"text_power": 0}, {"text_rounds": "all"}, {"scale": 1.001}, {"divides": False}),
)

CORRECTED_CONSTANTS = {"restart": "random", "leftover": True, "text_power": 1, "text_rounds": "tau"}

CORRECTED = Form(
    r"""The listing returns the model reached in round T, after averaging, if the factors restart at $AB = 0$ after
    each accumulation and the current $\alpha A_TB_T$ is added to what is returned unless $\tau$ divides T; the
    formula of the text is that model if it has $\alpha$ and sums over the rounds that $\tau$ divides and, where it
    does not divide T, over T. Without the restart the listing does what the paper calls momentum initialisation
    (alg-1-init-momentum).""",
    CORRECTED_CONSTANTS,
    ({"restart": "momentum"}, {"leftover": False}, {"text_power": 0}, {"text_rounds": "all"}, {"scale": 1.001}),
)

_BOX: dict[str, Any] = {
    "measure": follow_all,
    "readings": (LITERAL, MEANT),
    "correction": CORRECTED,
    "kind": "algorithm",
    "expect": ("holds", "search"),
    "print": "inconsistent",
}

alg_1 = claim(
    "fedloru-v2/alg-1",
    where="Section 4.1, Algorithm 1, with the text after it; Appendix B, before Section B.1",
    says=r"""The listing: in every round the factors are trained from those of the round before and averaged, $A_t
    \leftarrow \sum_{k \in \mathcal{K}_M}p^{(k)}A_t^{(k)}$ and $B_t \leftarrow \sum_{k \in
    \mathcal{K}_M}p^{(k)}B_t^{(k)}$, and every $\tau$ rounds $\alpha A_tB_t$ is added to every client's W; returned is
    $W_0 + \alpha\sum_{\tau|t}A_tB_t$. The text: clients continue training from the averaged factors, and the final
    global model at round T is $W_0 + \sum_{\tau|t}A_tB_t$. Appendix B: after an accumulation the factors are
    reinitialised with $AB = 0$, and the loss is not affected.""",
    importance="result",
    because="Without App. B's restart the listing is D.2's momentum initialisation, so the model jumps; the text's "
    r"final model lacks $\alpha$.",
    intended=Intended(
        MEANT.name,
        "App. B: “then reinitialize the low-rank matrices so that they satisfy ĀB̄ = 0”; the box keeps them, as D.2's "
        "“momentum initialization” does; the text has no α",
    ),
    **_BOX,
)(judge_box)


def judge_box_over_all_rounds(
    followings: Followings,
    restart: str = "momentum",
    leftover: bool = False,
    text_power: int = 0,
    text_rounds: str = "all",
    scale: float = 1.0,
    keep: tuple[str, ...] = EVERY_PROMISE,
    counted: str = "start",
    divides: bool = False,
) -> Evidence:
    """Judge the returned model, by listing and by text (over all rounds), the model training resumes from, and W."""
    return judge_box(followings, restart, leftover, text_power, text_rounds, scale, keep, counted, divides)


CORRECTED_WITH_EITHER_W = Form(
    r"""With W the model at the start, the listing returns the model reached in round T, after averaging, if the factors
    restart at $AB = 0$ after each accumulation and the current $\alpha A_TB_T$ is added to what is returned unless
    $\tau$ divides T. With W as updated by the listing, the sum is counted twice, and W by itself (plus the same term)
    is that model. The formula of the text is that model, with W at the start, if it has $\alpha$ and sums over the
    rounds that $\tau$ divides and, where it does not divide T, over T. Without the restart the listing does what
    Appendix C.2 calls momentum initialisation.""",
    {**CORRECTED_CONSTANTS, "keep": (*EVERY_PROMISE, "updated")},
    (*CORRECTED.mutants, {"counted": "updated"}),
)

alg_1_iclr = claim(
    "fedloru-iclr/alg-1",
    where="ICLR Section 3.2, Algorithm 1, with the text before it",
    says=r"""The listing of fedloru-v2/alg-1, but that every client assigns $W \leftarrow W + \alpha A_tB_t$ every
    $\tau$ rounds, and returned is $W + \alpha\sum_{\tau|t}A_tB_t$. The text: clients add $\alpha A_tB_t$ to W and reset
    their factors; with an accumulation every $\tau$ rounds the final model is $W + \sum_{t=1}^TA_tB_t$, over all
    rounds.""",
    importance="result",
    because="The listing does not reset the factors, although the text says so. The text's sum is over all rounds and "
    r"lacks $\alpha$.",
    intended=Intended(
        MEANT.name,
        "Sec. 3.2: “and reset their low-rank matrices”; Algorithm 1 has no such line, and the text sums over all t "
        "without α",
    ),
    **{**_BOX, "correction": CORRECTED_WITH_EITHER_W},
)(judge_box_over_all_rounds)

alg_1_v1 = claim(
    "fedloru-v1/alg-1",
    where="v1 Section 3.2, Algorithm 1, with eq. (11) and the accumulation before it",
    says=r"""The listing of fedloru-v2/alg-1, but that every client updates a copy of its own, $W^{(k)} \leftarrow
    W^{(k)} + \alpha A_tB_t$, and returned is $W + \alpha\sum_{\tau|t}A_tB_t$ with the W that was sent at the start. The
    text: clients assign $W^{(k)} \leftarrow W^{(k)} + \alpha AB$ and reset their factors; the final model is $W_0 +
    \sum_{\tau|t}A_tB_t$.""",
    importance="result",
    because="The listing does not reset the factors, although the text says so, and the text's final model lacks "
    r"$\alpha$.",
    intended=Intended(
        MEANT.name,
        "v1 Sec. 3.2: “and reset their low-rank matrices”; Algorithm 1 does not have such a line, and the formula "
        "after it lacks α",
    ),
    **_BOX,
)(judge_box)


@claim(
    "fedloru-v2/alg-1-init-random",
    where="Appendix D.2, random initialisation, with Appendix B",
    says="""Random initialisation: A Gaussian and B zero make AB zero at the start; reinitialised so after an
    accumulation, the factors leave the loss as it is.""",
    measure=follow_all,
    mutants=[{"restart": "momentum"}, {"jump": 1.0}, {"jump": -1.0}],
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        "“ensuring that AB is zero at the start” (D.2); after an accumulation the factors are reinitialised “so that "
        "they satisfy” the same (Appendix B)",
    ),
)
def init_random(followings: Followings, restart: str = "random", jump: float = 0.0) -> Evidence:
    """The start has the stated product, and an accumulation adds a multiple of the product to the model."""
    promises = []
    for followed in followings[restart]:
        case = None if followed.run.case is None else {**followed.run.case, "restart": restart}
        product = followed.drawn.A["W"] @ followed.drawn.B["W"]
        promises.append(same("AB is zero at the start", product, torch.zeros_like(product)))
        for t in range(1, followed.run.rounds + 1):
            if followed.is_accumulated(t):
                one = followed.rounds[t - 1]
                product = followed.run.alpha * one.aggregated.A["W"] @ one.aggregated.B["W"]
                expected = followed.model(t)["W"] + jump * product
                changed = f"the model after an accumulation is the one before it plus {jump:g} times alpha A B"
                promises.append(same(changed, one.starts_from["W"], expected, case))
    return judge_relations(promises, SCOPE)


@claim(
    "fedloru-v2/alg-1-init-momentum",
    where="Appendix D.2 (also in v1 Section 3.2 and iclr), momentum initialisation: what it does. Whether ReLoRA "
    "describes it is not judged",
    says="""Momentum initialisation: after an accumulation the current low-rank matrices are retained and training
    continues from them.""",
    measure=follow_all,
    mutants=[{"restart": "random"}, {"restart": "keep A"}, {"kept": 0.999}],
    kind="algorithm",
    expect=("holds", "search"),
    intended=Intended(
        "literal",
        "“we retain the existing weights of the matrices, continuing to use the previous low-rank update matrices” "
        "(D.2): factors have previous values at an accumulation only",
    ),
)
def init_momentum(followings: Followings, restart: str = "momentum", kept: float = 1.0) -> Evidence:
    """The factors after every accumulation are those before it, times 1."""
    promises = []
    for followed in followings[restart]:
        for t in range(1, followed.run.rounds + 1):
            if followed.is_accumulated(t):
                one = followed.rounds[t - 1]
                left, right = one.aggregated, one.factors
                promises.append(same("A is kept", right.A["W"], kept * left.A["W"]))
                promises.append(same("B is kept", right.B["W"], kept * left.B["W"]))
    return judge_relations(promises, SCOPE)
