"""Sections 2 and 3: what averages of factors lose, the residual that restores it, and its rank."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import AS_CORRECTED, Evidence, Form, Intended, claim
from paper_checks.context import Context
from paper_checks.methods.domain import Stated, tried
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities
from paper_checks.methods.inequality import judge_inequality


@dataclass(frozen=True)
class Adapters:
    """Factors of k clients with small whole numbers as entries, shapes ``(k, m, r)`` and ``(k, r, n)``."""

    B: np.ndarray
    A: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """The mean of the products less the product of the means, times k squared: whole numbers."""
        return len(self.B) * (self.B @ self.A).sum(axis=0) - self.B.sum(axis=0) @ self.A.sum(axis=0)

    @property
    def rank(self) -> int:
        """Rank of the residual, in exact arithmetic."""
        return int(sympy.Matrix(self.residual.tolist()).rank())


def draw_adapters(context: Context) -> list[Adapters]:
    """Draw factors of 2 to 5 clients of rank 1 to 3, for matrices that are large enough for every rank."""
    rng = context.rng("adapters")
    found = []
    for k in (2, 3, 4, 5):
        for r in (1, 2, 3):
            m, n = k * r + 2, k * r + 1
            found.append(Adapters(rng.integers(-4, 5, (k, m, r)), rng.integers(-4, 5, (k, r, n))))
    return found


def domain(adapters: list[Adapters], enough: str) -> Any:
    """Return the clients and ranks that are drawn, and why they are enough."""
    return tried(
        ("k", (len(one.B) for one in adapters), Stated(2.0, inf, "[)")),
        ("r", (one.A.shape[1] for one in adapters), Stated(1.0, inf, "[)")),
        settled={"k": enough, "r": enough},
    )


@claim(
    "fedex-lora/eq-4",
    where="Section 2, eq. (4)",
    says=r"""$W_0 + \frac1k\sum_iB_i \times \frac1k\sum_iA_i \ne W_0 + \frac1k\sum_iB_iA_i$: averages of the factors do
    not give the ideal update.""",
    measure=draw_adapters,
    mutants=[{"shared": True}, {"clients": 1}],
    because="For a single client, or a common A as in FFA-LoRA, both sides are equal.",
    expect=("holds", "search"),
)
def eq_4(adapters: list[Adapters], shared: bool = False, clients: int = 5) -> Evidence:
    """The size of the difference, which is not 0 for independent factors."""
    kept = [
        Adapters(one.B[:clients], one.A[:1].repeat(len(one.A), 0) if shared else one.A[:clients]) for one in adapters
    ]
    sizes = np.array([float(np.abs(one.residual).max()) for one in kept])
    return judge_inequality(
        np.zeros_like(sizes),
        sizes,
        0.0,
        strict=True,
        scope="factors with independent whole numbers as entries",
        case=[{"k": len(one.B), "r": one.A.shape[1]} for one in adapters],
        printed="0 < the difference",
        domain=domain(adapters, "two clients of rank 1 already differ"),
    )


W, P, M, OWN, SCALE = sympy.symbols("W P M own s")
"""Frozen weights; mean of the products, product of the means, product of one client; scale."""


@identities(
    "fedex-lora/eq-7",
    where="Section 3.1, eq. (7)",
    says=r"After the aggregation every client has $W_{global}^{j+1} = W_0^j + B_i^jA_i^j$.",
    measure=lambda context: generic_points(context, (W, P, M, OWN), 3),
    correction=Form(
        r"After the aggregation every client has $W_{global}^{j+1} = W_0^{j+1} + B_i^{j+1}A_i^{j+1}$.",
        {"own": "mean"},
        mutants=({"own": "mean", "residual": False},),
        asks="neither",
    ),
    because="The indices are those before the aggregation, when the clients still differ.",
    importance="detail",
    expect=("holds", "proof"),
    intended=Intended(
        AS_CORRECTED, "eq. (8), the next line, has the residual and the product of the means in its place"
    ),
    print="misprint",
)
def eq_7(points: list[Point], own: str = "client", residual: bool = True) -> Equations:
    """Eq. (7) against the right side of eq. (8)."""
    frozen = W + P - M if residual and own == "mean" else W
    yield Equation("eq. (7)", frozen + (M if own == "mean" else OWN), W + P - M + M)
    return points, "any weights and factors, entry by entry"


@identities(
    "fedex-lora/eq-9",
    where="Section 3.1, eqs. (5), (6) and (9), and Section 4, implementation details",
    says=r"""With $B_i, A_i \leftarrow \frac1k\sum_iB_i, \frac1k\sum_iA_i$ and the residual added to $W_0$ every client
    has $W_0^j + \frac1k\sum_iB_i^jA_i^j$; so it is if residual and product are both scaled by $\alpha/r$.""",
    measure=lambda context: generic_points(context, (W, P, M, SCALE), 3),
    mutants=[{"residual": -1}, {"scaled": "product"}],
    importance="result",
    expect=("holds", "proof"),
)
def eq_9(points: list[Point], residual: int = 1, scaled: str = "both") -> Equations:
    """Entry by entry, without a scale and with one."""
    yield Equation("eq. (9)", W + residual * (P - M) + M, W + P)
    yield Equation(
        "with a scale", W + residual * (SCALE if scaled == "both" else 1) * (P - M) + SCALE * M, W + SCALE * P
    )
    return points, "any number of clients, any factors, entry by entry"


CAPS = {"k r": lambda k, r: k * r, "(k - 1) r": lambda k, r: (k - 1) * r, "(k - 1) r - 1": lambda k, r: (k - 1) * r - 1}


@claim(
    "fedex-lora/sec-3-rank",
    where="Section 3.2, communication protocol",
    says=r"The rank of $\Delta W_{res}$ is at most $k \cdot r$.",
    measure=draw_adapters,
    mutants=[{"cap": "(k - 1) r - 1"}],
    because="The bound can be lowered to (k - 1)r, which is the rank for independent factors.",
    importance="result",
    expect=("holds", "proof"),
)
def sec_3_rank(adapters: list[Adapters], cap: str = "k r") -> Evidence:
    """Ranks in exact arithmetic."""
    left = np.array([float(one.rank) for one in adapters])
    right = np.array([float(CAPS[cap](len(one.B), one.A.shape[1])) for one in adapters])
    return judge_inequality(
        left,
        right,
        0.0,
        scope="factors with independent whole numbers as entries",
        case=[{"k": len(one.B), "r": one.A.shape[1]} for one in adapters],
        printed=f"rank <= {cap}",
        domain=domain(adapters, "the proof is for any number"),
    )


K, R, ROWS, COLUMNS = sympy.symbols("k r m n")


@identities(
    "fedex-lora/sec-3-download",
    where="Section 3.2, communication protocol and best inexact approximation",
    says=r"""The residual is sent as two factors of its rank $k \cdot r$, next to the adapters, so the cost of
    exact aggregation is linear in the number of clients.""",
    measure=lambda context: generic_points(context, (K, R, ROWS, COLUMNS), 3),
    mutants=[{"per_client": 2}, {"power": 2}],
    expect=("holds", "proof"),
)
def sec_3_download(points: list[Point], per_client: int = 1, power: int = 1) -> Equations:
    """Numbers that one client receives for an m by n matrix, (k + 1)r(m + n), and what one more client adds."""

    def received(k: Any) -> Any:
        return (k**power * R + R) * (ROWS + COLUMNS)

    yield Equation("one more client", received(K + 1) - received(K), per_client * R * (ROWS + COLUMNS))
    yield Equation("without clients", received(0), R * (ROWS + COLUMNS))
    return points, "any sizes; the download of one client, for one matrix"
