"""Appendix F.2: auxiliary lemmas, the aggregated model (32), the descent bound (33) and the truncation step (36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
import torch

from algorithms.descent import Descent
from paper_checks.claim import Dropped, Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.facts import identity, together
from paper_checks.fedlrt.traces import Array, Trace, norm, random_traces, trace
from paper_checks.fedlrt.truncated_rounds import WITNESS
from paper_checks.methods.domain import FROM_ONE, POSITIVE, Axis, Cases, Searched, tried
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.promises import Promise, Promises, promises
from toymodels.quadratic import Quadratic, centred

SCOPE = "rounds with full correction: bowls in 2 x 2, indefinite quadratics in 5 x 4 and 4 x 6, one and three clients"
ROUNDING = 1e-11


def bowl(B: Sequence[Sequence[float]]) -> Quadratic:
    r"""The loss $\frac12\|W - B\|^2$."""
    target = torch.tensor(B, dtype=torch.float64)
    return centred(torch.eye(target.numel(), dtype=torch.float64), target)


THETA = float(Fraction(str(WITNESS["theta"])))
E1 = np.array([[1.0, 0.0], [0.0, 0.0]])


def measure_rounds(context: Context) -> list[Trace]:
    """Two bowls of few digits, one that the truncation moves uphill, and random rounds; the same for all claims."""
    return _rounds(Context("fedlrt/rounds", context.seed, context.budget))


@lru_cache(maxsize=2)
def _rounds(context: Context) -> list[Trace]:
    uphill = trace("integers", [bowl([[65.0, 48.0], [48.0, 136.0]])], E1, 1, Descent(1, 0.01), "full", kept=1)
    aligned = trace("aligned", [bowl([[1.0, 1e-4], [1e-4, 0.1]])], E1, 1, Descent(1, 1e-3), "full", kept=1)
    long = trace("long", [bowl([[0.5, 0.2], [0.3, 1.0]])] * 2, E1, 1, Descent(24, 1 / 288), "full", kept=2)
    return [uphill, aligned, long, *random_traces(context.rng("rounds"), context.size(16, 80), "full")]


def by_hand(one: Trace) -> Mapping[str, object] | None:
    """The instance of few digits, ready for storage."""
    return WITNESS if one.name == "integers" else None


@dataclass(frozen=True)
class Pair:
    """A smooth function at two matrices: both values, the inner product with the gradient at the second, the square."""

    name: str
    first: float
    second: float
    inner: float
    square: float


def measure_pairs(context: Context) -> list[Pair]:
    """Quadratics with curvatures in [-1, 1], sums of log cosh and of cosine; near and far pairs."""
    rng = context.rng("pairs")
    found = []
    for number in range(context.size(120, 1000)):
        Y2 = rng.standard_normal((3, 3)) * 3.0
        Y1 = Y2 + rng.standard_normal((3, 3)) * (1e-2, 1.0, 30.0)[number % 3]
        kind = ("bowl", "quadratic", "log cosh", "cosine", "steeper than L")[number // 3 % 5]
        basis = np.linalg.qr(rng.standard_normal((9, 9)))[0]
        spectrum = {"bowl": np.ones(9), "steeper than L": np.full(9, 1.2)}.get(kind, rng.uniform(-1.0, 1.0, 9))

        def at(Y: Array, kind: str = kind, basis: Array = basis, spectrum: Array = spectrum) -> tuple[float, Array]:
            if kind == "log cosh":
                return float(np.logaddexp(Y, -Y).sum()), np.tanh(Y)
            if kind == "cosine":
                return float(np.cos(Y).sum()), -np.sin(Y)
            HY = (basis * spectrum @ basis.T @ Y.reshape(-1)).reshape(3, 3)
            return 0.5 * float((Y * HY).sum()), HY

        (first, _), (second, slope) = at(Y1), at(Y2)
        found.append(Pair(kind, first, second, float(((Y1 - Y2) * slope).sum()), norm(Y1 - Y2) ** 2))
    return found


@claim(
    "fedlrt/lemma-4",
    where="Appendix F.2, Lemma 4, eq. (28)",
    says=r"For $Y_1, Y_2 \in \mathbb R^{n \times n}$ and an L-smooth $\mathcal{L}$ with constant L: $\mathcal{L}(Y_1) "
    r"- \mathcal{L}(Y_2) \le -\langle Y_1 - Y_2, F(Y_2)\rangle + \frac L2\|Y_1 - Y_2\|^2$, where $F(Y) = "
    r"-\nabla_Y\mathcal{L}(Y)$.",
    measure=measure_pairs,
    mutants=[{"half": 0.49}, {"sign": 1.0}, {"power": 1.5}],
    vary=("half", "sign"),
    hypotheses=(Dropped("L-smooth with this constant", {"smooth": False}),),
    expect=("holds", "proof"),
)
def lemma_4(
    pairs: list[Pair], half: float = 0.5, sign: float = -1.0, power: float = 2.0, smooth: bool = True
) -> Evidence:
    """Equality for a bowl."""
    pairs = [pair for pair in pairs if pair.name != "steeper than L" or not smooth]
    left = np.array([p.first - p.second for p in pairs])
    inner, square = np.array([(p.inner, p.square) for p in pairs]).T
    right = -sign * inner + half * square ** (power / 2.0)
    error = ROUNDING * (np.abs(inner) + square + np.array([abs(p.first) + abs(p.second) for p in pairs]))
    return judge_inequality(
        left,
        right,
        error,
        case=lambda index: {"function": pairs[index].name},
        scope=f"{len(pairs)} pairs of 3 x 3 matrices: quadratics with curvatures in [-1, 1], log cosh, cosine",
        domain=tried(("|Y1 - Y2|", np.sqrt(square), POSITIVE)),
        printed=f"change <= {sign:g}<Y1 - Y2, F> + {half:g} L|Y1 - Y2|^{power:g}",
    )


def measure_sums(context: Context) -> Searched:
    """Two numbers of either sign and gamma over twelve decades, driven to equality."""
    axes = [
        Axis("x_1", 1e-3, 1e3, POSITIVE, signed=True),
        Axis("x_2", 1e-3, 1e3, POSITIVE, signed=True),
        Axis("gamma", 1e-6, 1e6, POSITIVE),
    ]

    def gap(cases: Cases) -> Array:
        return (cases["gamma"] * cases["x_1"] - cases["x_2"]) ** 2 / (cases["gamma"] * cases["x_1"] ** 2)

    found = collect_cases(
        context,
        axes,
        lambda cases: np.ones(len(cases["gamma"]), bool),
        gap,
        examples=context.size(200, 1000),
        restarts=1,
    )
    # Where gamma = x_2 / x_1 the two sides are equal.
    kept = found["x_1"] * found["x_2"] > 0
    equal = {name: column[kept][:500] for name, column in found.items()}
    equal["gamma"] = equal["x_2"] / equal["x_1"]
    return found.holding({name: np.concatenate([found[name], equal[name]]) for name in found})


@claim(
    "fedlrt/lemma-5",
    where="Appendix F.2, Lemma 5, eq. (29)",
    says=r"For $x_1, x_2 \in \mathbb R^d$ and $\gamma > 0$: $\|x_1 + x_2\|^2 \le (1+\gamma)\|x_1\|^2 + (1 + "
    r"\frac1\gamma)\|x_2\|^2$.",
    measure=measure_sums,
    mutants=[{"first": 0.99}, {"second": 0.99}, {"share": 0.99}],
    vary=("share",),
    expect=("holds", "proof"),
)
def lemma_5(cases: Searched, first: float = 1.0, second: float = 1.0, share: float = 1.0) -> Evidence:
    r"""The difference is $\|\gamma x_1 - x_2\|^2/\gamma$, coordinate by coordinate."""

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        x, y, gamma = case["x_1"], case["x_2"], case["gamma"]
        a, b, c = (Fraction(v) if isinstance(x, Fraction) else v for v in (first, second, share))
        return (x + y) ** 2, (a + c * gamma) * x**2 + (b + c / gamma) * y**2

    left, right = sides(cases)
    evidence = judge_inequality(
        left,
        right,
        0.0,
        exact=sides,
        quotient=True,
        case=cases,
        domain=cases.domain,
        scope=f"{len(left)} cases of one coordinate, gamma from 1e-6 to 1e6",
        printed=f"({first:g} + {share:g} gamma) and ({second:g} + {share:g}/gamma)",
    )
    x, y, gamma = sympy.symbols("x y gamma")
    lower, upper = sides({"x_1": x, "x_2": y, "gamma": gamma})
    square = identity("difference and square", sympy.nsimplify(upper - lower) - (gamma * x - y) ** 2 / gamma)
    return replace(evidence, facts=together(square)) if evidence.ok else evidence


def measure_vectors(context: Context) -> list[Array]:
    """Integer vectors, ``(C, d)``: equal ones, opposite ones and arbitrary ones."""
    rng = context.rng("vectors")
    found = []
    for number in range(64):
        few = int(rng.integers(1, 60)), int(rng.integers(1, 6))
        count, size = few if number < 60 else ((1, 1), (1, 100), (100, 1), (100, 100))[number - 60]
        vectors = rng.integers(-9, 10, (count, size)).astype(float)
        found.append(np.tile(vectors[:1] + 10, (count, 1)) if number % 3 == 0 else vectors)
    return found


@claim(
    "fedlrt/lemma-6",
    where="Appendix F.2, Lemma 6, eq. (30)",
    says=r"For C vectors $x_1, \ldots, x_C \in \mathbb R^d$: $\|\sum_{c=1}^Cx_c\|^2 \le C\sum_{c=1}^C\|x_c\|^2$.",
    measure=measure_vectors,
    mutants=[{"factor": 0.99}, {"power": 0.99}],
    expect=("holds", "proof"),
)
def lemma_6(drawn: list[Array], factor: float = 1.0, power: float = 1.0) -> Evidence:
    """Equality for equal vectors, of any number; the sums are of integers and exact."""
    left = np.array([float((vectors.sum(axis=0) ** 2).sum()) for vectors in drawn])
    right = np.array([factor * len(vectors) ** power * float((vectors**2).sum()) for vectors in drawn])
    return judge_inequality(
        left,
        right,
        0.0,
        quotient=True,
        case=lambda index: {"vectors": drawn[index].tolist()},
        scope=f"{len(drawn)} sets of integer vectors",
        domain=tried(("C", map(len, drawn), FROM_ONE), ("d", [vectors.shape[1] for vectors in drawn], FROM_ONE)),
        printed=f"|sum|^2 <= {factor:g} C^{power:g} sum of squares",
    )


@promises(
    "fedlrt/lemma-7",
    where="Appendix F.2, Lemma 7",
    says=r"$\mathcal{L}(\tilde W_r) = \mathcal{L}(W_r^t)$ for the loss before and after basis augmentation.",
    measure=measure_rounds,
    mutants=[{"padding": 1e-3}, {"flip": True}],
    expect=("holds", "proof"),
    uses=("fedlrt/lemma-1",),
)
def lemma_7(rounds: list[Trace], padding: float = 0.0, flip: bool = False) -> Promises:
    """For bases that begin with those of the start; ``flip`` turns the sign of the first column."""
    for one in rounds:
        wide = one.start + padding * (np.arange(one.start.size).reshape(one.start.shape) + 1.0) * (one.start == 0)
        U = one.U * np.where(np.arange(one.U.shape[1]) == 0, -1.0, 1.0) if flip else one.U
        augmented = U @ wide @ one.V.T
        scale = abs(one.losses[0]) + abs(one.loss(augmented)) + 1.0
        yield Promise("the loss stays", one.loss(augmented), one.losses[0], 1e-10 * scale)
        yield Promise("the model stays", norm(augmented - one.W), 0.0, 1e-10 * (1.0 + norm(one.W)))
    return SCOPE


@promises(
    "fedlrt/eq-32",
    where="Appendix F.2, proof of Theorem 7, eq. (32) (the chain before it: fedlrt/thm-7-clients)",
    says=r"$\tilde W_r^* = \frac1C\sum_{c=1}^C\tilde W_{r,c}^{s_*} = \tilde W_r - \frac\lambda "
    r"C\sum_{c=1}^C\sum_{s=0}^{s_*-1}P_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V} - \frac\lambda "
    r"C\sum_{c=1}^CP_{\tilde U}(F(\tilde W_r) - F_c(\tilde W_r))P_{\tilde V} = \tilde W_r - \frac\lambda "
    r"C\sum_{c=1}^C\sum_{s=0}^{s_*-1}P_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V}$.",
    measure=measure_rounds,
    control=Form("The two right sides are equal: the corrections cancel in the mean.", {"keep": ("cancel",)}),
    correction=Form(
        r"$\tilde W_r^* = \tilde W_r + \frac\lambda C\sum_{c,s}P_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V}$; as "
        r"printed the line is that of $F = +\nabla\mathcal{L}$, against Appendix C and eq. (26).",
        {"sign": 1.0},
        mutants=({"sign": -1.0}, {"share": 1.001}, {"projected": False}),
    ),
    vary=("share",),
    importance="detail",
    because="F is the negative gradient (Appendix C), so that the steps are added and not subtracted.",
    expect=("corrected", "proof"),
    uses=("fedlrt/eq-26",),
)
def eq_32(
    rounds: list[Trace],
    sign: float = -1.0,
    share: float = 1.0,
    projected: bool = True,
    keep: tuple[str, ...] = ("aggregate", "cancel"),
) -> Promises:
    """The server's model before truncation against the sum of all clients' steps."""
    for one in rounds:
        firsts = one.local_slopes[:, 0]
        own = one.model(one.wide(one.slope_at_start - firsts.mean(axis=0)))
        way = one.travelled if projected else -one.step * one.local_slopes.mean(axis=0).sum(axis=0)
        error = 1e-10 * (1.0 + norm(one.W) + float(np.abs(firsts).max()))
        if "aggregate" in keep:
            apart = norm(one.star - (one.W + sign * share * way))
            yield Promise("the aggregate is the start and all steps", apart, 0.0, error, case=by_hand(one))
        if "cancel" in keep:
            yield Promise("corrections cancel", norm(own), 0.0, error)
    return SCOPE


@promises(
    "fedlrt/eq-33",
    where="Appendix F.2, proof of Theorem 7, eq. (33)",
    says=r"$\mathcal{L}(\tilde W_r^*) - \mathcal{L}(\tilde W_r) \le \langle\tilde W_r^* - \tilde W_r, F(\tilde "
    r"W_r)\rangle + \frac L2\|\tilde W_r^* - \tilde W_r\|^2 = -\langle\frac\lambda C\sum_{c,s}P_{\tilde U}F_c(\tilde "
    r"W_{r,c}^s)P_{\tilde V}, F(\tilde W_r)\rangle + \frac L2\|\frac\lambda C\sum_{c,s}P_{\tilde U}F_c(\tilde "
    r"W_{r,c}^s)P_{\tilde V}\|^2$.",
    measure=measure_rounds,
    control=Form("The change is at most the last expression.", {"keep": ("ends",)}),
    correction=Form(
        r"$-\langle\tilde W_r^* - \tilde W_r, F(\tilde W_r)\rangle$ in the middle, as in Lemma 4, and (32) with its "
        r"sign corrected (fedlrt/eq-32), or $F = +\nabla\mathcal{L}$ in both (32) and (33): both steps then hold, and "
        r"nothing changes afterwards.",
        {"inner": -1.0},
        mutants=({"inner": 1.0}, {"half": 0.49}, {"inner": -1.01}),
    ),
    vary=("half",),
    uses=("fedlrt/lemma-4", "fedlrt/eq-32"),
    importance="detail",
    because="F is the negative gradient: the inner product in the middle has the other sign, as in Lemma 4.",
    expect=("corrected", "proof"),
)
def eq_33(
    rounds: list[Trace], inner: float = 1.0, half: float = 0.5, keep: tuple[str, ...] = ("equal", "first", "ends")
) -> Promises:
    """The inequality, the equality, and both together."""
    for one in rounds:
        F, way, moved = -one.slope_at_start, one.travelled, one.star - one.W
        middle = inner * float((moved * F).sum()) + half * norm(moved) ** 2
        last = -float((way * F).sum()) + half * norm(way) ** 2
        error = ROUNDING * (abs(one.losses[0]) + abs(one.losses[1]) + norm(F) ** 2 + 1.0)
        lines = {
            "equal": Promise("the middle equals the last expression", middle, last, error, case=by_hand(one)),
            "first": Promise("change <= the middle", one.change, middle, error, at_most=True),
            "ends": Promise("change <= the last expression", one.change, last, error, at_most=True),
        }
        yield from [lines[name] for name in keep]
    return SCOPE


@promises(
    "fedlrt/eq-36",
    where="Appendix F.2, proof of Theorem 9, eq. (36)",
    says=r"For some $h \in [0,1]$: $\mathcal{L}(W_r^{t+1}) = \mathcal{L}(\tilde W_r^*) + \langle -F(hW_r^{t+1} + "
    r"(1-h)\tilde W_r^*), W_r^{t+1} - \tilde W_r^*\rangle \le \mathcal{L}(\tilde W_r^*) + \|F(hW_r^{t+1} + "
    r"(1-h)\tilde W_r^*)\|\,\|W_r^{t+1} - \tilde W_r^*\| \le \mathcal{L}(\tilde W_r^*) + L\vartheta$, by L-smoothness "
    r"and $\vartheta \ge \|W_r^{t+1} - \tilde W_r^*\|$.",
    measure=measure_rounds,
    control=Form("The equality and the first inequality.", {"keep": ("equal", "product")}),
    correction=Form(
        r"$\mathcal{L}(W_r^{t+1}) \le \mathcal{L}(\tilde W_r^*) + \vartheta\|\nabla\mathcal{L}(\tilde W_r^*)\| + "
        r"\frac L2\vartheta^2$; with a bound G on the gradient along the way, $\mathcal{L}(\tilde W_r^*) + "
        r"G\vartheta$. Smoothness bounds no gradient.",
        {"cost": "gradient"},
        mutants=({"cost": "L theta"}, {"share": 0.99}, {"h": 0.45}, {"sign": 1.0}),
    ),
    vary=("share",),
    because="Smoothness bounds how fast the gradient changes, not the gradient, which the last step needs.",
    expect=("corrected", "proof"),
)
def eq_36(
    rounds: list[Trace],
    cost: str = "L theta",
    share: float = 1.0,
    h: float = 0.5,
    sign: float = -1.0,
    keep: tuple[str, ...] = ("equal", "product", "last"),
) -> Promises:
    """For a quadratic loss the point of the mean value theorem is the middle; theta is what is lost, or just above."""
    for one in rounds:
        moved, theta = one.end - one.star, THETA if by_hand(one) else one.lost
        F = -one.slope(h * one.end + (1.0 - h) * one.star)
        rise = one.losses[2] - one.losses[1]
        least = theta if cost == "L theta" else theta * one.before + theta**2 / 2.0
        error = ROUNDING * (abs(one.losses[2]) + abs(one.losses[1]) + 1.0)
        lines = {
            "equal": Promise("the mean value", rise, sign * float((F * moved).sum()), error),
            "product": Promise("the product of norms", rise, norm(F) * norm(moved), error, at_most=True),
            "last": Promise(f"the rise against {cost}", rise, share * least, error, at_most=True, case=by_hand(one)),
        }
        yield from [lines[name] for name in keep]
    return SCOPE
