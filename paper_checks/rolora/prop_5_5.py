"""Proposition 5.5: where FFA-LoRA ends (eqs. (10) and (11))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import chain
from math import exp, log, prod
from typing import Any

import numpy as np
import sympy
import torch
from numpy.typing import NDArray

from algorithms.adapter import AB
from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from paper_checks.claim import LITERAL, Dropped, Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.bands import Predictions
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational
from paper_checks.methods.mean import Tails, judge_means
from paper_checks.methods.relations import Relation, judge_relations
from toymodels.regression import Regressor
from toymodels.regression_rates import ffa_correction, ffa_population_correction

# One sample and two in two dimensions: X, a*, a^0, b*, b, every entry a symbol.
SHAPES = ((1, 2), (2, 2))


def _symbols(m: int, d: int) -> tuple[sympy.Matrix, ...]:
    X = sympy.Matrix(m, d, lambda i, j: sympy.Symbol(f"x{i}{j}"))
    return X, *(sympy.Matrix(sympy.symbols(f"{name}1:{d + 1}")) for name in ("t", "a", "p", "q"))


def draw_entries(context: Context) -> list[Point]:
    """Draw values of all entries of both shapes."""
    entries = {symbol for shape in SHAPES for matrix in _symbols(*shape) for symbol in matrix}
    return generic_points(context, sorted(entries, key=str), 3)


@identities(
    "rolora/eq-10",
    where="Section 5.1, eq. (10); the lower limit is p = i in our copy of the paper, and there is no i",
    says=r"""The objective of $\min_{b \in \mathbb R^d}\|Xa^*b^{*\top} - Xa^0b^\top\|^2$, $a^0$ the random
    initialisation, $b_p$ and $b_p^*$ the p-th entries of b and $b^*$, can be transformed to $\sum_{p=i}^d(a^*b_p^* -
    a^0b_p)^\top X^\top X(a^*b_p^* - a^0b_p)$.""",
    measure=draw_entries,
    mutants=[{"first": 2}, {"sign": 1}, {"gram": False}, {"weight": 2.0}],
    readings=(
        Reading(
            "the sum from 1",
            r"$\|Xa^*b^{*\top} - Xa^0b^\top\|^2 = \sum_{p=1}^d(a^*b_p^* - a^0b_p)^\top X^\top X(a^*b_p^* - a^0b_p)$.",
            why="$b_p$ is the p-th of the d entries of b; i is not defined.",
        ),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "the sum from 1",
        r"“$\sum_{p=i}^d$” (after (10)): there is an entry “$b_p$ as the p-th entry”, and i is not "
        "defined",
    ),
)
def eq_10(points: list[Point], first: int = 1, sign: int = -1, gram: bool = True, weight: float = 1.0) -> Equations:
    """A squared Frobenius norm is the sum over the columns, which are $X(a^*b_p^* - a^0b_p)$."""
    for m, d in SHAPES:
        X, target, a, b_star, b = _symbols(m, d)
        difference = X * target * b_star.T - X * a * b.T
        columns = [target * b_star[p] + sign * a * b[p] for p in range(first - 1, d)]
        middle = X.T * X if gram else X.T * X * X.T * X
        terms = sum(((column.T * middle * column)[0] for column in columns), sympy.Integer(0))
        yield Equation(f"{m} samples, d = {d}", sum(entry**2 for entry in difference), rational(weight) * terms)
    return points, (
        "every entry symbolic, one sample and two samples in two dimensions: enough, since each side is a sum over "
        "columns and over pairs of samples and of inputs"
    )


@dataclass(frozen=True)
class Frozen:
    r"""One centralised problem.

    Attributes:
        case: X, $a^*$, $a^0$ and $b^*$ exactly; most a's are not unit vectors, which scales b only.
        m: Samples.
        injective: Whether $Xa^*$ and $Xa^0$ are linearly independent.
        least: Least value over b in closed form.
        found: The same by the toolkit; None where $Xa^0 = 0$.
    """

    case: Mapping[str, Any]
    m: int
    injective: bool
    least: Fraction
    found: float | None


def freeze(X: Sequence[Sequence[int]], target: Sequence[Any], a: Sequence[int], b_star: Sequence[int]) -> Frozen:
    """Return the least value of eq. (10) over b, exactly and by the toolkit."""
    ours, theirs = ([sum(x * y for x, y in zip(row, v, strict=True)) for row in X] for v in (a, target))
    uu, uv, vv = (
        sum(x * y for x, y in zip(p, q, strict=True)) for p, q in ((ours, ours), (ours, theirs), (theirs, theirs))
    )
    size = sum(b * b for b in b_star)
    least = size * (vv - Fraction(uv * uv) / uu) if uu else Fraction(size * vv)
    found = None
    if uu:
        matrix, row = torch.tensor(X, dtype=torch.float64), torch.tensor([b_star], dtype=torch.float64)
        truth = torch.tensor([float(entry) for entry in target], dtype=torch.float64)
        client = Regressor(matrix.mT @ matrix, truth[:, None] @ row)
        column = torch.tensor(a, dtype=torch.float64)[:, None]
        found = float(client.loss({"W": column @ client.best_b(Tree(W=column))["W"]}))
    case = {"X": X, "target": [str(entry) for entry in target], "a": a, "b": b_star}
    return Frozen(case, len(X), uu * vv != uv * uv, least, found)


def draw_frozen(context: Context) -> list[Frozen]:
    """Draw few and many samples, degenerate ones too; the starts are never parallel to the truth."""
    found = [
        freeze([[1, 1]], [Fraction(3, 5), Fraction(4, 5)], [1, 0], [1, 0]),
        freeze([[1, 2], [2, 4], [3, 6]], [1, 1], [1, 0], [1, 1]),
        freeze([[1, 0], [0, 1]], [1, 1], [1, 0], [0, 0]),
    ]
    rng = context.rng("problems")
    while len(found) < context.size(60, 600):
        m, d = int(rng.integers(1, 6)), int(rng.integers(2, 6))
        X, (target, a, b) = rng.integers(-4, 5, (m, d)), rng.integers(-4, 5, (3, d))
        if np.linalg.matrix_rank(np.stack([target, a])) == 2 and b.any():
            found.append(freeze(X.tolist(), target.tolist(), a.tolist(), b.tolist()))
    return found


@claim(
    "rolora/s5-saturate",
    where="Section 5.1, after eq. (10)",
    says="""$a^0$ stays fixed during training. If it is not initialised parallel to $a^*$, the objective (10) can never
    be reduced to zero, because optimising b only scales $a^0b_p$ along $a^0$ and leaves the angle as it is.""",
    measure=draw_frozen,
    mutants=({"injective": False}, {"nonzero": False}, {"share": 0.99}),
    readings=(
        Reading(
            "normal samples",
            r"For more than one sample, all normal, and $b^* \ne 0$, almost surely: if $a^0$ is not initialised "
            "parallel to $a^*$, the objective (10) can never be reduced to zero. Its least value is "
            r"$\|b^*\|^2(\|Xa^*\|^2 - (Xa^{0\top}Xa^*)^2/\|Xa^0\|^2)$.",
            why="In Section 5.1 samples are normal and many; one sample, which some b fits exactly, or $b^* = 0$, "
            "where there is nothing to learn, is a degenerate case.",
        ),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "normal samples",
        "“Each $X_i$ is assumed to be a Gaussian random matrix” (5.1); one sample, or b* = 0, is a degenerate case",
    ),
)
def s5_saturate(problems: list[Frozen], injective: bool = True, nonzero: bool = True, share: float = 1.0) -> Evidence:
    """The least value exactly; the toolkit's minimiser reaches it."""
    kept = [one for one in problems if (one.injective or not injective) and (any(one.case["b"]) or not nonzero)]
    scope = (
        f"{len(kept)} of {len(problems)} problems in whole numbers: 1 to 5 samples in 2 to 5 dimensions, degenerate "
        "ones too"
        + ("; of these Xa^0 and Xa* are linearly independent, which takes two samples" if injective else "")
        + (", and b* is not 0" if nonzero else "")
    )
    zero = [one for one in kept if one.least == 0]
    if zero:
        return Evidence(
            False,
            scope,
            "the least value is positive",
            f"0 in {len(zero)} of {len(kept)}",
            margin=-float(len(zero)),
            cases=len(kept),
            witness=zero[0].case,
        )
    reached = [
        Relation(
            "the toolkit's minimiser reaches the least value",
            one.found,
            share * float(one.least),
            1e-9 * (1.0 + float(one.least)),
        )
        for one in kept
        if one.found is not None
    ]
    evidence = judge_relations(reached, scope)
    return replace(evidence, printed="the least value is positive") if evidence.ok else evidence


SETTINGS = {
    "N=1, m=3, d=2": (1, 3, 2),
    "N=1, m=12, d=3": (1, 12, 3),
    "N=2, m=12, d=2": (2, 12, 2),
    "N=3, m=14, d=5": (3, 14, 5),
}


def simulate_freezing(context: Context) -> dict[str, NDArray[np.float64]]:
    r"""Simulate global losses of FFA-LoRA over $\|b^*\|^2\delta_0^2$, all draws of a setting at once."""
    found = {}
    for name, (N, m, d) in SETTINGS.items():
        rng, draws = context.rng(name), context.size(60000, 400000)
        basis = torch.from_numpy(np.linalg.qr(rng.standard_normal((d, 2)))[0])
        delta = 0.7
        truth, a = basis[:, :1], (1 - delta**2) ** 0.5 * basis[:, :1] + delta * basis[:, 1:]
        b_star = torch.from_numpy(rng.standard_normal((1, d)))
        clients = []
        for _ in range(N):
            X = torch.from_numpy(rng.standard_normal((draws, m, d)))
            clients.append(Regressor(X.mT @ X / m, truth @ b_star))
        fed = Federation(clients)
        start = AB(Tree(W=a), Tree(W=torch.zeros_like(b_star)))
        after = one_round(ExactRoLoRA(1.0, rounds_of_b_only=True).round, fed, start)
        off = after.A["W"] @ after.B["W"] - truth @ b_star
        losses = torch.stack([(off * (client.G @ off)).sum(dim=(-2, -1)) for client in clients]).mean(dim=0)
        found[name] = (losses / (float((b_star**2).sum()) * delta**2)).numpy()
    return found


def squares_and_inverses(N: int) -> tuple[tuple[sympy.Symbol, ...], tuple[sympy.Symbol, ...]]:
    r"""Return the symbols $q_i = \chi^2_m/m$ and $w_i = 1/(mq_i)$ of N independent clients."""
    return sympy.symbols(f"q:{N}"), sympy.symbols(f"w:{N}")


def expected(polynomial: sympy.Expr, N: int, m: int) -> float:
    """Return the expectation of a polynomial in those symbols, by moments of chi-square and its inverse.

    >>> expected(sympy.Symbol("q0") * sympy.Symbol("w0") + sympy.Symbol("w0"), 1, 4)
    0.75
    """
    whole = sympy.Poly(polynomial, *chain(*squares_and_inverses(N)))

    def moment(power: int) -> float:
        if power < 0:
            return 1.0 / prod(m - 2 * i for i in range(1, 1 - power))
        return float(prod(m + 2 * i for i in range(power)))

    return sum(
        float(factor) * prod(moment(a - b) / float(m) ** a for a, b in zip(powers[:N], powers[N:], strict=True))
        for powers, factor in whole.terms()
    )


@cache
def loss_deviation(N: int, m: int) -> float:
    r"""Bound on the standard deviation of that loss.

    With $x, z$ normal, $q_i = |z_i|^2/m$, $c_i = z_i^\top x_i/m$ and $t_i = c_i/q_i$ it is the mean of $|x_i|^2/m$ plus
    $W = \bar t^2\bar q - 2\bar t\bar c$. One client: $\chi^2_{m-1}/m$. More: the sum of both deviations; given z,
    $\bar t$ and $\bar c$ are jointly normal with variances $A = \sum_i 1/(mq_i)/N^2$ and $\bar q/(Nm)$, and covariance
    $1/(Nm)$.
    """
    if N == 1:
        return float(np.sqrt(2.0 * (m - 1)) / m)
    q, w = squares_and_inverses(N)
    A, mean, each = sum(w) / sympy.Integer(N**2), sum(q) / sympy.Integer(N), sympy.Rational(1, N * m)
    square = expected(3 * mean**2 * A**2 - 8 * each * mean * A + 8 * each**2, N, m)
    return float(np.sqrt(2.0 / (N * m)) + np.sqrt(square - expected(mean * A - 2 * each, N, m) ** 2))


GRID = [(N, m) for N in (1, 2, 3, 5, 10, 100, 1000) for m in (3, 4, 5, 6, 10, 30, 100, 1000, 10000)]


@claim(
    "rolora/prop-5.5",
    where="Section 5.1, Proposition 5.5, eq. (11); Appendix A.4.1, eq. (244)",
    says=r"""In the setting of Section 5.1, for any $(a^*, b^*)$, $a^0$ and $\delta^0 \in (0, 1)$, the shared global
    model $(a^0, b^{FFA})$ of FFA-LoRA has the expected global loss, over all randomness in the $X_i$,
    $E[\frac1{Nm}\sum_{i=1}^N\|X_ia^*b^{*\top} - X_ia^0(b^{FFA})^\top\|^2] = (1 + \tilde c)\|b^*\|^2(\delta^0)^2$ with
    $\tilde c = O(\frac1{Nm})$; the appendix adds: as N and m approach infinity.""",
    measure=simulate_freezing,
    readings=(
        LITERAL,
        Reading(
            "three samples or more",
            r"(11) for every N and every $m \ge 3$, with $Nm|\tilde c| \le 1$.",
            {"fewest": 3},
            r"The proposition does not restrict m, and prints O without a limit; the appendix, after (243), adds it.",
            ({"of": "nothing"}, {"of": "population"}, {"clients_power": 2}, {"samples_power": 2}),
        ),
    ),
    because="With one or two samples and two or more clients, the expected loss is infinite.",
    uses=("rolora/eq-241",),
    also=("rolora/eq-11", "rolora/eq-244"),
    importance="result",
    hypotheses=(
        Dropped("N and m are large: at least 3 samples", {"fewest": 1}),
        Dropped(r"$\delta^0 \in (0, 1)$", {}, r"both sides are $(\delta^0)^2$ times what does not depend on it"),
    ),
    expect=("holds", "proof"),
    intended=Intended(
        "three samples or more",
        r"“as N and m approach infinity” (after (243)) and “$E[R^2] = \frac1{m-2}$” (after (216)): m is large, at "
        "least 3",
    ),
    print="unstated",
)
def prop_5_5(
    data: dict[str, NDArray[np.float64]],
    of: str = "samples",
    share: float = 1.0,
    constant: float = 1.0,
    clients_power: int = 1,
    samples_power: int = 1,
    fewest: int = 1,
) -> Evidence:
    r"""$N m|\tilde c| \le 1$ for every m >= 3, exactly on a grid, then the mean loss against $1 + \tilde c$.

    With fewer samples and at least two clients the expectation is infinite: it passes every bound when inverse
    chi-square variables are cut off at $2^{64}$.
    """
    if fewest < 3:
        case = {"N": 2, "m": 2, "constant": f"{constant:g}", "halvings": 64}
        cut = 0.625 + 64 * log(2.0) * exp(-0.5) / 8.0
        return judge_relations(
            [Relation("the mean of the loss, cut off, from below", cut, 1.0 + constant / 4.0, at_most=True, case=case)],
            "two clients with two samples",
        )
    largest, at = max((abs(ffa_correction(N, m)) * N**clients_power * m**samples_power, (N, m)) for N, m in GRID)
    scope = "N from 1 to 1000, m from 3 to 10,000 (for N >= 2 and m of 1 or 2 the expectation is infinite)"
    if largest > constant * (1.0 + 1e-12):
        return Evidence(
            False,
            scope,
            f"N m |c| <= {constant:g}",
            f"{largest:.6g} at N, m = {at}",
            margin=constant - largest,
            cases=len(GRID),
            witness={"N": at[0], "m": at[1]},
        )

    def predict(of: str = "samples", share: float = 1.0, **_: Any) -> Predictions:
        corrections = {"samples": ffa_correction, "population": ffa_population_correction, "nothing": lambda N, m: 0.0}
        return {name: share * (1.0 + corrections[of](N, m)) for name, (N, m, _) in SETTINGS.items()}

    return judge_means(
        data,
        predict(of, share),
        share=0.05,
        tails=Tails({name: loss_deviation(N, m) for name, (N, m, _) in SETTINGS.items()}),
        scope=f"{scope}: N m |c| is at most 1, at N = 1, and c is negative from m = 4 on; mean losses of the toolkit's "
        "FFA-LoRA at delta_0 = 0.7",
    )
