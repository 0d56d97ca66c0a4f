"""Lemmas 4 to 7 (Appendix F.2): the auxiliary lemmas of the descent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from paper_checks.claim import Dropped, Evidence, claim
from paper_checks.context import Context
from paper_checks.facts import combine, identity
from paper_checks.fedlrt.measurements.random_rounds import ROUNDING, SCOPE, measure_rounds
from paper_checks.fedlrt.measurements.traces import Array, Trace, norm
from paper_checks.methods.domain import FROM_ONE, POSITIVE, Axis, Cases, Searched, tried
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations


@dataclass(frozen=True)
class Pair:
    """A smooth function at two matrices: both values, the inner product with the gradient at the second, the square."""

    name: str
    first: float
    second: float
    inner: float
    square: float


def measure_pairs(context: Context) -> list[Pair]:
    """Draw quadratics with curvatures in [-1, 1], sums of log cosh and of cosine; near and far pairs."""
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
    says=r"""For $Y_1, Y_2 \in \mathbb R^{n \times n}$ and an L-smooth $\mathcal{L}$ with constant L: $\mathcal{L}(Y_1)
    - \mathcal{L}(Y_2) \le -\langle Y_1 - Y_2, F(Y_2)\rangle + \frac L2\|Y_1 - Y_2\|^2$, where $F(Y) =
    -\nabla_Y\mathcal{L}(Y)$.""",
    measure=measure_pairs,
    mutants=[{"half": 0.49}, {"sign": 1.0}, {"power": 1.5}],
    vary=("half", "sign"),
    hypotheses=(Dropped("L-smooth with this constant", {"smooth": False}),),
    expect=("holds", "proof"),
)
def lemma_4(
    pairs: list[Pair], half: float = 0.5, sign: float = -1.0, power: float = 2.0, smooth: bool = True
) -> Evidence:
    r"""Equality for $\frac L2\|Y - B\|^2$."""
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
    """Search two numbers of either sign and gamma over twelve decades, driven to equality."""
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
    says=r"""For $x_1, x_2 \in \mathbb R^d$ and $\gamma > 0$: $\|x_1 + x_2\|^2 \le (1+\gamma)\|x_1\|^2 + (1 +
    \frac1\gamma)\|x_2\|^2$.""",
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
    return replace(evidence, facts=combine(square)) if evidence.ok else evidence


def measure_vectors(context: Context) -> list[Array]:
    """Draw integer vectors, ``(C, d)``: equal ones, opposite ones and arbitrary ones."""
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


@relations(
    "fedlrt/lemma-7",
    where="Appendix F.2, Lemma 7",
    says=r"$\mathcal{L}(\tilde W_r) = \mathcal{L}(W_r^t)$ for the loss before and after basis augmentation.",
    measure=measure_rounds,
    mutants=[{"padding": 1e-3}, {"flip": True}],
    expect=("holds", "proof"),
    uses=("fedlrt/lemma-1",),
)
def lemma_7(rounds: list[Trace], padding: float = 0.0, flip: bool = False) -> Relations:
    """For bases that begin with the bases of the start; ``flip`` turns the sign of the first column."""
    for one in rounds:
        wide = one.start + padding * (np.arange(one.start.size).reshape(one.start.shape) + 1.0) * (one.start == 0)
        U = one.U * np.where(np.arange(one.U.shape[1]) == 0, -1.0, 1.0) if flip else one.U
        augmented = U @ wide @ one.V.T
        scale = abs(one.losses[0]) + abs(one.loss(augmented)) + 1.0
        yield Relation("the loss stays", one.loss(augmented), one.losses[0], 1e-10 * scale)
        yield Relation("the model stays", norm(augmented - one.W), 0.0, 1e-10 * (1.0 + norm(one.W)))
    return SCOPE
