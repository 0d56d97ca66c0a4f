"""Algorithm 2 (Appendix C.2): pFedLoRU, executed and compared with its text."""

from __future__ import annotations

from dataclasses import replace

from algorithms.adapter import AB, Adapter
from algorithms.federation import Federation
from algorithms.fedloru import RESTARTS, Restart
from algorithms.pfedloru import PersonalFedLoRU
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.followed_rounds import Run
from paper_checks.fedloru.convergence.measurements.returned_models import (
    MEANT_MUTANTS,
    PROMISES,
    RETURN_MUTANTS,
    Endings,
    Last,
    draw_personal,
    judge_return,
    last_models,
)


def _personal(run: Run, own: AB, scale: float, restart: Restart) -> Last:
    algorithm = PersonalFedLoRU(
        run.local, run.adapter, run.tau, restart, personal=run.local, personal_adapter=Adapter(1, scale)
    )
    fed = Federation(run.clients)
    start = algorithm.start(fed, Tree(W=run.W))
    fed.set_personal(LU=own)
    last = last_models(run, algorithm, fed, start, lambda state: algorithm.personal_weights(fed, state, 0))
    mine = fed.personal(0)["LU"]
    sent = fed.ledger.count("up", run.rounds) / len(run.clients)
    return replace(
        last,
        personal=mine.A["W"] @ mine.B["W"],
        alphas=(run.alpha, scale),
        uploads=(sent, run.A.numel() + run.B.numel()),
    )


def run_personal(context: Context) -> Endings:
    """Run pFedLoRU under every restart; `momentum` is the listing."""
    drawn = draw_personal(context)
    return {restart: tuple(_personal(*one, restart) for one in drawn) for restart in RESTARTS}


@claim(
    "fedloru-v2/alg-2",
    where="Appendix C.2, Algorithm 2",
    says=r"""Client k trains $L^{(k)}$, $U^{(k)}$ and then A, B in $W + \alpha_gAB + \alpha_pL^{(k)}U^{(k)}$ and sends A
    and B only; the server averages them, $A_t \leftarrow \sum_{k\in\mathcal{K}_M}p^{(k)}A_t^{(k)}$ and $B_t$ likewise;
    every $\tau$ rounds each client assigns $W \leftarrow W + \alpha_gA_tB_t$. Returned is $W + \sum_{\tau|t}A_tB_t +
    L_T^{(k)}U_T^{(k)}$. The text: inference is based on $W + \alpha_pL_T^{(k)}U_T^{(k)}$.""",
    measure=run_personal,
    readings=(
        LITERAL,
        Reading(
            "with scales and restart",
            r"The factors A, B restart at $AB = 0$ after each accumulation, W in the returned sum is the model at the "
            r"start, $\tau$ divides T, and the scales are in place. Then $W + \alpha_g\sum_{\tau|t}A_tB_t + "
            r"\alpha_pL_T^{(k)}U_T^{(k)}$ is the model that client k, if drawn in round T, reaches there, after "
            "averaging.",
            {"restart": "random", "power": 1, "personal_power": 1, "divides": True},
            "(80) and (81) train with both scales, and Appendix B restarts the factors.",
            (*MEANT_MUTANTS, {"personal_power": 0}),
        ),
    ),
    correction=Form(
        r"""With W the model at the start and the scales in place, $W + \alpha_g\sum_{\tau|t}A_tB_t +
        \alpha_pL_T^{(k)}U_T^{(k)}$ (plus $\alpha_gA_TB_T$ unless $\tau$ divides T) is the model that client k reaches
        in round T, after averaging, if it is drawn in this round and the factors restart at $AB = 0$. Other clients
        keep their $L^{(k)}, U^{(k)}$ of the round before. With W as updated by the box, the sum is counted twice, and
        the text's $W + \alpha_pL_T^{(k)}U_T^{(k)}$ (plus the same term) is that model.""",
        {"restart": "random", "power": 1, "personal_power": 1, "leftover": True, "keep": (*PROMISES, "updated")},
        (*RETURN_MUTANTS, {"personal_power": 0}),
    ),
    kind="algorithm",
    because="The listing keeps training factors that it has merged, so the model jumps. The model that it returns "
    "lacks both scales.",
    expect=("holds", "search"),
    intended=Intended(
        "with scales and restart",
        "“then reinitialize the low-rank matrices so that they satisfy ĀB̄ = 0” (App. B); the box has no such line, and "
        "returns neither scale of (80); for inference C.2 has “W + α_per L_T U_T”",
    ),
    print="inconsistent",
)
def alg_2(
    endings: Endings,
    restart: str = "momentum",
    power: int = 0,
    personal_power: int = 0,
    leftover: bool = False,
    scale: float = 1.0,
    keep: tuple[str, ...] = PROMISES,
    divides: bool = False,
) -> Evidence:
    """The returned model, the model that training resumes from, clients' W, and what they send, in executed runs."""
    return judge_return(
        endings[restart],
        power=power,
        personal_power=personal_power,
        leftover=leftover,
        scale=scale,
        keep=keep,
        divides=divides,
    )
