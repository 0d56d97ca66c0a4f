"""Section 4.2 and Appendix A: the expected decrease of a round, and what it takes for it to be positive."""

from __future__ import annotations

import numpy as np
import sympy

from paper_checks.claim import Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, POSITIVE, Axis, Cases, Searched, Stated, tried
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities
from paper_checks.methods.inequality import collect_cases, judge_inequality

L, MU, MUBAR, GAMMA, B, ROOT, GRADIENT, DRIFT, SPREAD = sympy.symbols("L mu mubar gamma B rootK G d s")
"""Constants of Theorem 4, with the root of K; the norm of the gradient; bounds of both distances in the proof."""

MOVES = (
    Axis("curvature", 1e-3, 1e3, of=Stated(0.0, float("inf"), "[)"), words="λ + L₋ over μ - L₋"),
    Axis("gamma", 1e-3, 1.0, of=Stated(0.0, 1.0, "[]")),
    Axis(
        "end", 1e-3, 1.0, of=Stated(0.0, 1.0, "[]"), signed=True, words="gradient at the end over the largest allowed"
    ),
)


def distances(cases: Cases) -> np.ndarray:
    """Return the distance of an inexact solution from the start, times the least curvature over the gradient there."""
    return np.abs(1.0 - cases["end"] * cases["gamma"]) / (1.0 + cases["curvature"])


def search_moves(context: Context) -> Searched:
    """Return subproblems in one variable and inexact solutions, searched towards the bound."""
    return collect_cases(
        context,
        MOVES,
        lambda cases: np.isfinite(cases["gamma"]),
        lambda cases: (1.0 + cases["gamma"]) - distances(cases),
        examples=context.size(100, 1000),
        restarts=1,
    )


@claim(
    "fedprox/eq-6",
    where="Appendix A.1, eq. (6)",
    says=r"""A $\gamma$-inexact solution has $\|w_k^{t+1} - w^t\| \le \frac{1 + \gamma}{\bar\mu}\|\nabla F_k(w^t)\|$,
    where $\bar\mu = \mu - L_- > 0$.""",
    measure=search_moves,
    mutants=[{"K": 0.9}],
    importance="step",
    expect=("holds", "proof"),
)
def eq_6(cases: Searched, K: float = 1.0) -> Evidence:
    """The distance of one-variable quadratics, times the least curvature over the gradient; the proof is for any."""
    left, right = distances(cases), K * (1.0 + cases["gamma"])
    return judge_inequality(
        left,
        right,
        1e-14 * right,
        scope="quadratic functions of one variable",
        case=cases,
        printed="(mu - L_-) |w - w_t| <= (1 + gamma) |F'(w_t)|",
        quotient=True,
        domain=cases.domain,
    )


@identities(
    "fedprox/eq-14",
    where="Appendix A.1, eqs. (11) to (14)",
    says=r"""From $Q_t \le (\|\nabla f\| + 2L\|\bar w - w\|)s + Ls^2$ with $\|\bar w - w\| \le
    \frac{B(1 + \gamma)}{\bar\mu}\|\nabla f\|$ and $s^2 = \frac{2B^2(1 + \gamma)^2}{K\bar\mu^2}\|\nabla f\|^2$ follows
    $Q_t \le \left(\frac{B(1 + \gamma)\sqrt2}{\bar\mu\sqrt K} + \frac{LB^2(1 + \gamma)^2}{\bar\mu^2K}(2\sqrt{2K} +
    2)\right)\|\nabla f\|^2$.""",
    measure=lambda context: generic_points(context, (L, MUBAR, GAMMA, B, ROOT, GRADIENT), 3),
    mutants=[{"drift": 1}, {"last": 1}],
    importance="step",
    expect=("holds", "proof"),
)
def eq_14(points: list[Point], drift: int = 2, last: int = 2) -> Equations:
    """Both sides with the root of K as a symbol."""
    moved = B * (1 + GAMMA) / MUBAR * GRADIENT
    spread = sympy.sqrt(2) * moved / ROOT
    left = (GRADIENT + 2 * L * moved) * spread + L * spread**2
    right = B * (1 + GAMMA) * sympy.sqrt(2) / (MUBAR * ROOT)
    right += L * B**2 * (1 + GAMMA) ** 2 / (MUBAR**2 * ROOT**2) * (drift * sympy.sqrt(2) * ROOT + last)
    yield Equation("the bound of Q", left, right * GRADIENT**2)
    return points, "any constants"


def rho(
    mu: np.ndarray, below: np.ndarray, L: np.ndarray, B: np.ndarray, gamma: np.ndarray, K: np.ndarray
) -> np.ndarray:
    r"""Return $\mu\rho$ of Theorem 4 with $\bar\mu = \mu - L_-$."""
    bar = mu - below
    moved = B * (1 + gamma) / bar
    spread = np.sqrt(2 / K) * moved
    return (
        1 - gamma * B - mu * (spread + L * moved / mu + L * moved**2 / 2 + L * moved**2 / K * (2 * np.sqrt(2 * K) + 2))
    )


REMARK = (
    Axis("L", 1e-6, 1e3, of=POSITIVE),
    Axis("below", 1e-6, 1e3, of=Stated(0.0, float("inf"), "[)"), words="L₋"),
    Axis("above", 1e-6, 1e9, of=POSITIVE, words="μ - L₋"),
    Axis("B", 1.0, 1e2, of=FROM_ONE),
    Axis("gamma", 1e-6, 1.0, of=Stated(0.0, 1.0, "[]")),
    Axis("K", 1.0, 1e6, of=FROM_ONE),
)


def scaled(cases: Cases) -> np.ndarray:
    """Return $\\mu\\rho$ of the cases."""
    mu = cases["above"] + cases["below"]
    return rho(mu, cases["below"], cases["L"], cases["B"], cases["gamma"], cases["K"])


def search_remark(context: Context) -> Searched:
    """Return constants, searched towards a root of B^2/K near 1 and a decrease near 0."""

    def gap(cases: Cases) -> np.ndarray:
        return np.abs(scaled(cases)) + np.abs(cases["B"] ** 2 / cases["K"] - 0.45)

    return collect_cases(
        context, REMARK, lambda cases: np.isfinite(scaled(cases)), gap, examples=context.size(200, 2000), restarts=1
    )


@claim(
    "fedprox/remark-5",
    where="Section 4.2, Remark 5, and the sentence before it",
    says=r"For $\rho$ in Theorem 4 to be positive, we need $\gamma B < 1$ and $B/\sqrt K < 1$.",
    measure=search_remark,
    mutants=[{"share": 0.3}],
    readings=(
        Reading(
            "necessary", r"If $\rho > 0$, then $\gamma B < 1$ and $B/\sqrt K < 1$.", why="“We need” these conditions."
        ),
        Reading(
            "sufficient",
            r"If $\gamma B < 1$ and $B/\sqrt K < 1$, then some $\mu$ has $\rho > 0$.",
            {"sufficient": True},
            why="The sentence before the remark announces “sufficient (but not necessary) conditions that ensure” it.",
        ),
    ),
    because=r"Theorem 4 subtracts $\sqrt2B(1 + \gamma)/\sqrt K$, which can exceed $1 - \gamma B$ for every $\mu$.",
    importance="step",
    expect=("ambiguous", "proof"),
    ambiguous="“we need” is a necessary condition, and the sentence before it promises sufficient ones",
)
def remark_5(cases: Searched, sufficient: bool = False, share: float = 1.0) -> Evidence:
    r"""Where $\rho > 0$: $B^2/K$ and $\gamma B$ against 1; or where both are below 1: the largest $\mu\rho$."""
    tight = cases["B"] / np.sqrt(cases["K"])
    if sufficient:
        limit = 1 - cases["gamma"] * cases["B"] - np.sqrt(2) * tight * (1 + cases["gamma"])
        kept = (cases["gamma"] * cases["B"] < share) & (tight < share)
        left, right = np.where(kept, 0.0, -1.0), np.where(kept, limit, 1.0)
        printed = "0 < the largest mu rho"
    else:
        kept = scaled(cases) > 0
        left = np.where(kept, np.maximum(cases["gamma"] * cases["B"], tight), 0.0)
        right = np.full_like(left, share)
        printed = "gamma B and B / sqrt(K) < 1 where rho > 0"
    return judge_inequality(
        left,
        right,
        1e-12,
        strict=True,
        scope="constants of Theorem 4",
        case=cases,
        printed=printed,
        domain=cases.domain,
    )


def grid(context: Context) -> dict[str, np.ndarray]:
    """Return B far above 1, and its share of the root of K up to a half."""
    pairs = [
        (B, share) for B in (100.0, 300.0, 1e3, 1e4) for share in (0.01, 0.1, 0.2, 0.3, 0.4, 0.45, 0.47, 0.49, 0.5)
    ]
    return {"B": np.array([B for B, _ in pairs]), "share": np.array([share for _, share in pairs])}


@claim(
    "fedprox/cor-7",
    where="Section 4.2, Corollary 7, and its proof in Appendix A.3",
    says=r"""Let the $F_k$ be convex, $\gamma = 0$ and $1 \ll B \le 0.5\sqrt K$. Then with $\mu \approx 6LB^2$ Theorem
    4 has $\rho \approx \frac1{24LB^2}$, as a decrease of at least this.""",
    measure=grid,
    control=Form(r"With $\mu = 6LB^2$ Theorem 4 has $\rho \ge \frac{1}{30LB^2}$.", {"per": 30.0}),
    correction=Form(
        r"""Let the $F_k$ be convex, $\gamma = 0$ and $1 \ll B \le 0.47\sqrt K$. Then with $\mu \approx 6LB^2$ Theorem
        4 has $\rho \ge \frac1{24LB^2}$, up to 5 %.""",
        {"most": 0.47},
        mutants=({"most": 0.49}, {"most": 0.47, "per": 20.0}),
    ),
    because=r"Theorem 4 subtracts $\sqrt2B/\sqrt K$, which is 0.71 at the largest B, where the proof has a half.",
    importance="result",
    expect=("corrected", "proof"),
)
def cor_7(at: dict[str, np.ndarray], most: float = 0.5, per: float = 24.0) -> Evidence:
    r"""The decrease times $LB^2$ for $B \ge 100$, against 0.95 of what is stated."""
    kept = at["share"] <= most
    B, share = at["B"][kept], at["share"][kept]
    mu = 6.0 * B**2
    right = B**2 / mu * rho(mu, np.zeros_like(B), np.ones_like(B), B, np.zeros_like(B), (B / share) ** 2)
    return judge_inequality(
        np.full_like(B, 0.95 / per),
        right,
        1e-12,
        scope="convex functions and exact local solutions, L = 1",
        case={"B": B, "share": share},
        printed=f"0.95 / {per:g} <= L B^2 rho",
        domain=tried(("B", B, Stated(100.0, float("inf"), "[)")), ("B / sqrt(K)", share, Stated(0.0, most, "(]"))),
    )
