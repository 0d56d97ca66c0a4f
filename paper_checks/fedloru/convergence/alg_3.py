"""Algorithm 3 (Appendix C.3): mFedLoRU, executed and compared with its text, and what it sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy
import torch
from torch import Tensor

from algorithms.adapter import Adapter
from algorithms.descent import Descent
from algorithms.federation import Federation
from algorithms.fedloru import RESTARTS, Restart
from algorithms.mfedloru import NestedFedLoRU
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.convergence.measurements.followed_rounds import SCOPE, Run, by_hand, draw_runs
from paper_checks.fedloru.convergence.measurements.returned_models import (
    MEANT_MUTANTS,
    PROMISES,
    RETURN_MUTANTS,
    Endings,
    Last,
    judge_return,
    last_models,
)
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.relations import Relation, Relations, relations


def _nested(run: Run, ranks: tuple[Any, ...], restart: Restart) -> Last:
    algorithm = NestedFedLoRU(run.local, run.adapter, run.tau, restart, ranks=ranks)
    fed = Federation(run.clients)
    last = last_models(run, algorithm, fed, algorithm.start(fed, Tree(W=run.W)), algorithm.weights)
    (m, r), n = run.A.shape, run.B.shape[1]
    nested = [r * (m + n) if one is None else one[0] * (m + r) + one[1] * (n + r) for one in ranks]
    return replace(last, uploads=(fed.ledger.count("up", run.rounds), sum(nested)))


def run_nested(context: Context) -> Endings:
    """Run mFedLoRU under every restart, clients of several nested ranks and some that opt out."""
    drawn = [by_hand(rounds=2), *draw_runs(context)[2:]]
    rng = context.rng("ranks")
    ranks = []
    for run in drawn:
        r = run.A.shape[1]
        small = [
            None if r < 2 or rng.random() < 0.3 else tuple(int(k) for k in rng.integers(1, r, 2)) for _ in run.clients
        ]
        ranks.append(tuple(small))
    return {
        restart: tuple(_nested(run, own, restart) for run, own in zip(drawn, ranks, strict=True))
        for restart in RESTARTS
    }


@claim(
    "fedloru-v2/alg-3",
    where="Appendix C.3, Algorithm 3, with the text around it",
    says=r"""Clients train nested factors of ranks $r_A, r_B < r$ (or opt out) and send these, the server recovers
    $A_t^{(k)}$, $B_t^{(k)}$ and averages, $A_t \leftarrow \sum_{k\in\mathcal{K}_M}p^{(k)}A_t^{(k)}$ (in the text before
    the box $A_{t-1}^{(k)}$) and $B_t$ likewise; every $\tau$ rounds each client assigns $W \leftarrow W + \alpha
    A_tB_t$. Returned is $W + \sum_{\tau|t}A_tB_t$.""",
    measure=run_nested,
    readings=(
        LITERAL,
        Reading(
            "with scale and restart",
            r"The factors restart at $AB = 0$ after each accumulation, W in the returned sum is the model at the "
            r"start, $\tau$ divides T, and the scale is in place. Then $W + \alpha\sum_{\tau|t}A_tB_t$ is the model "
            "reached in round T, after averaging.",
            {"restart": "random", "power": 1, "divides": True},
            r"The box adds $\alpha A_tB_t$ to W in each cycle, and Appendix B restarts the factors.",
            MEANT_MUTANTS,
        ),
    ),
    correction=Form(
        r"""With W the model at the start, $W + \alpha\sum_{\tau|t}A_tB_t$ (plus $\alpha A_TB_T$ unless $\tau$ divides
        T) is the model reached in round T, after averaging, if the factors restart at $AB = 0$; with W as updated by
        the box, it is W by itself (plus the same term). The average is that of $A_t^{(k)}$, as in the box. A client
        with nested factors sends $r_A(m + r) + r_B(n + r)$ numbers.""",
        {"restart": "random", "power": 1, "leftover": True, "keep": (*PROMISES, "updated")},
        RETURN_MUTANTS,
    ),
    kind="algorithm",
    because="Without App. B's restart the listing is D.2's momentum initialisation, so the model jumps; the returned "
    r"model lacks $\alpha$.",
    expect=("holds", "search"),
    intended=Intended(
        "with scale and restart",
        "“then reinitialize the low-rank matrices so that they satisfy ĀB̄ = 0” (App. B); the box keeps them, as D.2's "
        "“momentum initialization” does, and returns “W + Σ A_t B_t” without the α of “W ← W + α A_t B_t”",
    ),
    print="inconsistent",
)
def alg_3(
    endings: Endings,
    restart: str = "momentum",
    power: int = 0,
    leftover: bool = False,
    scale: float = 1.0,
    keep: tuple[str, ...] = PROMISES,
    divides: bool = False,
) -> Evidence:
    """The returned model, the model that training resumes from, clients' W, and what they send, in executed runs."""
    scope = f"{SCOPE}; nested ranks from 1 to r - 1, and clients that opt out"
    return judge_return(
        endings[restart],
        power=power,
        personal_power=0,
        leftover=leftover,
        scale=scale,
        keep=keep,
        scope=scope,
        divides=divides,
    )


@dataclass(frozen=True)
class NestedCount:
    """Numbers of one client in a round of mFedLoRU that does not end a cycle."""

    sizes: tuple[int, int, int, int, int]
    nested: int
    products: int


@dataclass(frozen=True, eq=False)
class Flat:
    """A client whose loss is 0: counts do not depend on the data."""

    samples: float = 1.0

    def loss(self, w: Mapping[str, Tensor], batch: Tensor | None = None) -> Tensor:
        """Return zero."""
        return torch.zeros(())

    def gradient(self, w: Any, batch: Tensor | None = None) -> Any:
        """Return zero, in the type of the weights."""
        return w.map(torch.zeros_like)


def count_nested(context: Context) -> list[NestedCount]:
    """Count what clients send in both readings: the nested matrices (text), or their products (listing)."""
    found = []
    for m, n, r, a, b in ((4, 4, 3, 2, 2), (9, 6, 2, 1, 1), (8, 8, 4, 3, 3), (46, 46, 20, 19, 19), (64, 27, 9, 3, 1)):
        sent = []
        for products in (False, True):
            fed = Federation([Flat()])
            algorithm = NestedFedLoRU(Descent(1, 0.1), Adapter(r), 10, ranks=((a, b),), send_products=products)
            state = algorithm.start(fed, Tree(W=torch.zeros(m, n)))
            one_round(algorithm.round, fed, state, (0,))
            sent.append(fed.ledger.count(round=1))
        found.append(NestedCount((m, n, r, a, b), *sent))
    return found


@relations(
    "fedloru-v2/claim-mcomm",
    where="Appendix C.3, last sentence",
    says="""By sending nested low-rank matrices the communication overhead is reduced from $2mn$ to $r(m+n) + r_A(m+r)
    + r_B(n+r)$.""",
    measure=count_nested,
    readings=(
        LITERAL,
        Reading(
            "low rank",
            "A client that sends nested matrices receives and sends $r(m+n) + r_A(m+r) + r_B(n+r)$ numbers in a "
            r"round that does not end a cycle, and for low ranks that is less than $2mn$: $r \le \frac13\min(m, n)$ is "
            "low enough.",
            {"reach": 3.0},
            r"Low rank means $r \ll m, n$ (Section 2), and the sentence is about one client's local training. If it "
            r"means $r \ll m$ or $r \ll n$ (Section 4.1), r may equal the smaller side, and only the literal reading "
            "remains.",
            ({"products": True}, {"inner": 0.0}, {"down": 2.0}),
        ),
    ),
    correction=Form(
        r"""The count is that of a client in a round that does not end a cycle; it is less than $2mn$ for $r \le (\sqrt2
        - 1)\min(m, n)$ and all $r_A, r_B < r$; no larger share of the smaller side works for all sizes.""",
        {"reach": 1 + 2**0.5},
        ({"products": True}, {"inner": 0.0}, {"down": 2.0}, {"reach": 2.3}),
    ),
    hypotheses=(Dropped(r"$r \le \frac13\min(m, n)$", {"reach": 1.0}),),
    vary=("down", "inner"),
    because="C.3 does not bound r. Nested ranks just below a rank near the smaller side can cost more than the full "
    "matrices.",
    expect=("holds", "proof"),
    intended=Intended(
        "low rank",
        "“r_A^(k), r_B^(k) < r” (C.3), and Sec. 2: “r ≪ m, n”; Sec. 4.1 prints “r ≪ m or r ≪ n”, which leaves r as "
        "large as the smaller side",
    ),
    print="inconsistent",
)
def claim_mcomm(
    runs: list[NestedCount], products: bool = False, inner: float = 1.0, down: float = 1.0, reach: float = 1.0
) -> Relations:
    """The ledger of one round; ``products`` is what the listing sends, ``reach`` bounds r by the smaller side."""
    for run in runs:
        m, n, r, a, b = run.sizes
        told = down * r * (m + n) + a * (m + inner * r) + b * (n + inner * r)
        yield Relation("numbers of a client in a round", run.products if products else run.nested, told)
        if reach * r <= min(m, n):
            case = dict(zip(("m", "n", "r", "r_A", "r_B"), run.sizes, strict=True))
            yield Relation("fewer than 2mn", told, 2 * m * n - 1, at_most=True, case=case)
    return f"ledgers of {len(runs)} runs, tall, wide and square weights"


PLAIN = {"A1": 1, "A2": 1, "B1": 1, "B2": 1, "p": 1, "q1": 1, "q2": 0, "u1": 1, "u2": 1, "v": 1, "a": 1, "b": 2}


@claim(
    "fedloru-v2/eq-83",
    where=r"Appendix C.3, eq. (83), with eq. (82) and Algorithm 3; v1 Appendix B.2 (iclr eq. (33) has $\alpha_B$)",
    says=r"""After local training by solving $A_d^{(k)}, A_u^{(k)}, B_d^{(k)}, B_u^{(k)} = \mathrm{argmin}\,f^{(k)}(W +
    \alpha(A_{t-1} + \alpha_A^{(k)}\bar A_d\bar A_u)(B_{t-1} + \alpha_B^{(k)}\bar B_d\bar B_u))$ (82) client k's
    low-rank matrices are updated as $A^{(k)} \leftarrow A^{(k)} + \alpha_A^{(k)}A_d^{(k)}A_u^{(k)}$, $B^{(k)}
    \leftarrow B^{(k)} + \alpha_A^{(k)}B_d^{(k)}B_u^{(k)}$.""",
    measure=lambda context: generic_points(context, sympy.symbols(tuple(PLAIN)), 3),
    control=Form(r"The same for $\alpha_A = \alpha_B$.", {"equal": True}),
    correction=Form(
        r"""The factors are $A + \alpha_AA_dA_u$ and $B + \alpha_BB_dB_u$, as in (82), Algorithm 3 and the text below
        (83).""",
        {"scale": "b"},
        ({"scale": "a"}, {"factor": 1.001}),
    ),
    importance="detail",
    because=r"The second update has $\alpha_A$, but (82), Algorithm 3 and the text below have $\alpha_B$.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "(82), Algorithm 3 and the text below (83) have α_B with “B_d B_u”; iclr prints α_B in the same place",
    ),
    print="misprint",
)
def eq_83(points: list[Point], scale: str = "a", factor: float = 1.0, equal: bool = False) -> Evidence:
    """W - W_0 over alpha with m = n = 1, r = 2 and nested ranks 1, every entry a symbol."""
    A1, A2, B1, B2, p, q1, q2, u1, u2, v, a, b = symbols = sympy.symbols(tuple(PLAIN))
    b = a if equal else b
    A, B = sympy.Matrix([[A1, A2]]), sympy.Matrix([[B1], [B2]])
    A_new = A + a * sympy.Matrix([[p * q1, p * q2]])
    nested = sympy.Matrix([[u1 * v], [u2 * v]])
    trained = (A_new * (B + b * nested))[0, 0]
    recovered = (A_new * (B + rational(factor) * {"a": a, "b": b}[scale] * nested))[0, 0]
    plain = {symbol: sympy.Integer(PLAIN[str(symbol)]) for symbol in symbols}
    return judge_identity(
        [Equation("model of (82) and of (83)", trained, recovered)],
        [plain, *points],
        "m = n = 1, r = 2, r_A = r_B = 1, all entries and both scales",
    )
