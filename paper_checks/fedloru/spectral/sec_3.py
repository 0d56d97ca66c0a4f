"""Section 3: the risks and their Hessians, and the stable rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.data_laws import ATOMS, SHARES, SIZES, draw_laws, samples
from paper_checks.methods.domain import FROM_ONE, UNIT, Axis, Cases, Searched, Stated
from paper_checks.methods.identity import (
    Equation,
    Equations,
    Point,
    generic_points,
    identities,
    judge_identity,
    rational,
)
from paper_checks.methods.inequality import collect_cases, judge_inequality

W = sympy.symbols("w1 w2")

# The loss of one data point as a function of the weights, to second order at w = 0: all that a Hessian there can see.
JETS = tuple(
    sympy.Symbol(f"c{a}")
    + sympy.Symbol(f"b{a}_1") * W[0]
    + sympy.Symbol(f"b{a}_2") * W[1]
    + sympy.Symbol(f"a{a}_11") * W[0] ** 2 / 2
    + sympy.Symbol(f"a{a}_12") * W[0] * W[1]
    + sympy.Symbol(f"a{a}_22") * W[1] ** 2 / 2
    for a in ATOMS
)


def draw_jets(context: Context) -> list[Point]:
    """Draw exact laws and losses, to refute a false line."""
    return draw_laws(context, {symbol for jet in JETS for symbol in jet.free_symbols} - {*W})


def _entries(name: str, left: sympy.Matrix, right: sympy.Matrix) -> list[Equation]:
    return [Equation(f"{name}, entry {i + 1}{j + 1}", left[i, j], right[i, j]) for i in range(2) for j in range(i, 2)]


@identities(
    "fedloru-v2/def-risk",
    where="Section 3, notation and problem setup",
    says=r"""$\mathcal{L}_{\mathrm{true}} = \int \ell(h(x;\omega), y)\, d\psi$, $H_{\mathrm{true}} = \nabla^2
    \mathcal{L}_{\mathrm{true}}$, $f_N = \frac1N\sum_{D_N} \ell$, $H_N = \frac1N\sum_{D_N}
    \partial^2\ell/\partial\omega^2$ for a data set $D_N$ of $N$ samples generated from $\psi$, and $f_M$, $H_M$
    likewise for $M$ samples drawn from $D_N$ without replacement.""",
    measure=draw_jets,
    mutants=[{"divisor_shift": -1}, {"subset": "first"}, {"law": "uniform"}, {"smooth": False}],
    stands_in={"factor": ("E[H_2] = H_true, entry 11", "E[H_3] = H_true, entry 11")},  # of H_N and H_M it cancels
    kind="definition",
    expect=("holds", "proof"),
)
def def_risk(
    points: list[Point],
    factor: float = 1.0,
    divisor_shift: int = 0,
    subset: str = "random",
    law: str = "psi",
    smooth: bool = True,
) -> Equations:
    """H_N is the Hessian of f_N, and H_N and H_M have the stated means, over all samples."""
    hessians = [sympy.hessian(jet, W) for jet in JETS]
    shares = SHARES if law == "psi" else (sympy.Rational(1, 3),) * 3
    risk = sum(p * jet for p, jet in zip(shares, JETS, strict=True))
    true_hessian = sympy.hessian(risk, W)

    def mean(terms: list[Any]) -> Any:
        return sum(terms[1:], start=terms[0]) * rational(factor) / (len(terms) + divisor_shift)

    for N in sorted({N for N, _ in SIZES}):
        expected_risk, expected = sympy.Integer(0), sympy.zeros(2, 2)
        for sample, share in samples(N):
            f_N, H_N = sum(JETS[a] for a in sample) / N, mean([hessians[a] for a in sample])
            yield from _entries(f"Hessian of f_N for {sample}", sympy.hessian(f_N, W), H_N)
            expected_risk, expected = expected_risk + share * f_N, expected + share * H_N
            for M in (M for size, M in SIZES if size == N and len(set(sample)) > 1):
                chosen = list(combinations(sample, M))[: None if subset == "random" else 1]
                H_M = [mean([hessians[a] for a in part]) for part in chosen if M + divisor_shift]
                if H_M:
                    yield from _entries(f"E[H_{M} | D_{N}]", sum(H_M[1:], start=H_M[0]) / len(H_M), H_N)
        yield Equation(f"E[f_{N}] = L_true", expected_risk, risk)
        yield from _entries(f"E[H_{N}] = H_true", expected, true_hessian)
    if not smooth:
        w, x = sympy.symbols("w x", positive=True)
        kinked = sympy.diff(sympy.integrate(w - x, (x, 0, w)), w, 2)
        yield Equation("E[H_N] = H_true for max(w - x, 0), x uniform", sympy.diff(w - x, w, 2), kinked)
    return points, (
        "any loss twice differentiable in the weights, any law on three points, all samples with N = 2, 3 and all "
        "subsets; for a loss with kinks, such as max(w - x, 0) with x uniform on [0, 1], H_true = 1 while every "
        "sample Hessian is 0; under laws of unbounded support H_true need not exist"
    )


SHAPES = ((1, 1), (1, 3), (3, 1), (2, 2), (2, 3), (3, 2), (3, 3))

SINGULAR = sympy.symbols("sigma1:4", positive=True)


@dataclass(frozen=True)
class Decomposed:
    """A matrix with known singular values.

    Attributes:
        shape: rows and columns.
        values: singular values in decreasing order, symbolic or 0.
        frobenius_squared: sum of the squared entries, in terms of the singular values.
        rank: by elimination at an exact point.
    """

    shape: tuple[int, int]
    values: tuple[sympy.Expr, ...]
    frobenius_squared: sympy.Expr
    rank: int


U, V = sympy.symbols("u1:4"), sympy.symbols("v1:4")


def _reflection(axis: tuple[sympy.Symbol, ...]) -> sympy.Matrix:
    """Return a reflection times the squared length of its axis: orthogonal up to that factor, without denominators."""
    column = sympy.Matrix(axis)
    return (column.T * column)[0] * sympy.eye(len(axis)) - 2 * column * column.T


def _singular_values(count: int) -> Iterator[tuple[sympy.Expr, ...]]:
    """Return distinct, rank-deficient, and repeated singular values."""
    distinct = SINGULAR[:count]
    yield distinct
    for rank in range(1, count):
        yield (*distinct[:rank], *(sympy.Integer(0),) * (count - rank))
    if count > 1:
        yield (distinct[0],) * count


def measure_matrices(context: Context) -> tuple[list[Decomposed], list[Point]]:
    """Return every shape with every pattern of singular values, and exact axes and decreasing singular values."""
    points: list[Point] = []
    for point in generic_points(context, (*SINGULAR, *U, *V), 4):
        ordered = sorted((abs(point[s]) for s in SINGULAR), reverse=True)
        points.append({**point, **dict(zip(SINGULAR, ordered, strict=True))})
    found = []
    for rows, columns in SHAPES:
        left, right = _reflection(U[:rows]), _reflection(V[:columns])
        lengths = sum(u**2 for u in U[:rows]) * sum(v**2 for v in V[:columns])
        for values in _singular_values(min(rows, columns)):
            middle = sympy.zeros(rows, columns)
            for i, value in enumerate(values):
                middle[i, i] = value
            matrix = left * middle * right
            total = sympy.expand(sum(sympy.expand(entry) ** 2 for entry in matrix))
            quotient, rest = sympy.div(total, sympy.expand(lengths**2), *U[:rows], *V[:columns])
            found.append(Decomposed((rows, columns), values, quotient + rest, matrix.subs(points[0]).rank()))
    return found, points


@claim(
    "fedloru-v2/def-srank",
    where="Section 3.1, stable rank",
    says=r"""$\mathrm{srank}(A) = \frac{\|A\|_F^2}{\|A\|_2^2} = \frac{\sum_{i=1}^n\sigma_i^2(A)}{\sigma_1^2(A)}$, where
    $n$ is the rank of $A$ and $\sigma_i(A)$ its i-th singular value.""",
    measure=measure_matrices,
    mutants=[{"n_shift": -1}, {"power": 1}, {"power": 4}, {"largest": False}],
    kind="definition",
    expect=("holds", "proof"),
)
def def_srank(
    data: tuple[list[Decomposed], list[Point]],
    n_shift: int = 0,
    power: int = 2,
    largest: bool = True,
    factor: float = 1.0,
) -> Evidence:
    """Both forms by the singular value decomposition, whose rotations change neither norm; then 1 <= srank <= n."""
    matrices, points = data
    lines = []
    for matrix in matrices:
        n, values = matrix.rank + n_shift, matrix.values
        by_norms = matrix.frobenius_squared / values[0] ** 2
        below = values[0] if largest else values[matrix.rank - 1]
        by_values = rational(factor) * sum((v**power for v in values[:n]), start=sympy.Integer(0)) / below**power
        name = f"{matrix.shape[0]} x {matrix.shape[1]}, singular values {matrix.values}"
        lines.append(Equation(name, by_norms, by_values))
        for value in (by_norms.subs(point) for point in points):
            if not 1 <= value <= n:
                lines.append(Equation(f"1 <= srank <= {n} for {name}", value, sympy.Integer(max(1, n))))
    return judge_identity(
        lines,
        points,
        f"{len(matrices)} families in {len(SHAPES)} shapes up to 3 x 3, all singular values and all reflections as "
        "singular vectors, symbolic; every rank, repeated singular values; A = 0 has no stable rank",
        positive=tuple(map(str, SINGULAR)),
    )


# A = diag(1, a, ..., a, 0, ..., 0) with E = diag(x, y, ..., y, z, ..., z): the stable rank in closed form, and both
# triangle inequalities behind either side of the bound are nearly attained.
BELOW_ONE = Stated(0.0, 1.0, "[)")
ROBUST_AXES = (
    Axis("a", 1e-3, 1.0, UNIT, words="repeated eigenvalue of A, over its largest"),
    Axis("copies", 1.0, 1e6, FROM_ONE, words="multiplicity of the repeated eigenvalue of A"),
    Axis("kernel", 1.0, 1e6, FROM_ONE, words="dimension of the kernel of A"),
    Axis("x", 1e-6, 0.9, BELOW_ONE, signed=True, words="the change of the largest eigenvalue, relative to it"),
    Axis("y", 1e-6, 0.9, BELOW_ONE, signed=True, words="the change of the repeated eigenvalue, over the largest one"),
    Axis("z", 1e-6, 0.9, BELOW_ONE, signed=True, words="the change of the eigenvalue 0, over the largest one"),
)


@dataclass(frozen=True)
class Perturbed:
    """Stable ranks and ranks of A and A + E, and the sizes of E relative to A, one entry per case."""

    stable: tuple[NDArray[np.float64], NDArray[np.float64]]
    rank: tuple[NDArray[np.float64], NDArray[np.float64]]
    spectral: NDArray[np.float64]
    frobenius: NDArray[np.float64]

    @classmethod
    def of(cls, cases: Cases) -> Perturbed:
        """Evaluate the closed forms."""
        a, m, k, x, y, z = (cases[axis.name] for axis in ROBUST_AXES)
        squared = 1.0 + m * a**2
        after = ((1.0 + x) ** 2, (a + y) ** 2, z**2)
        return cls(
            stable=(squared, (after[0] + m * after[1] + k * after[2]) / np.max(after, axis=0)),
            rank=(1.0 + m, (after[0] > 0) + m * (after[1] > 0) + k),
            spectral=np.max(np.abs([x, y, z]), axis=0),
            frobenius=np.sqrt((x**2 + m * y**2 + k * z**2) / squared),
        )


def factors(e: NDArray[np.float64], d: NDArray[np.float64], power: float) -> tuple[Any, Any]:
    """Return by how much relative sizes e (spectral) and d (Frobenius) of a perturbation can change the stable rank."""
    low, high = np.maximum(1.0 - d, 0.0) / (1.0 + e), (1.0 + d) / np.maximum(1.0 - e, 1e-9)
    return low**power, high**power


SMALL = 0.01


def search_perturbations(context: Context) -> Searched:
    """Search perturbations of relative spectral size below 1, driven towards equality on either side of the bound."""

    def whole(cases: Cases) -> Cases:
        return {name: np.rint(column) if name in ("copies", "kernel") else column for name, column in cases.items()}

    def ratios(cases: Cases) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = Perturbed.of(whole(cases))
        low, high = factors(found.spectral, found.frobenius, 2.0)
        change = found.stable[1] / found.stable[0]
        return low / change, change / high

    searches = [
        collect_cases(
            context,
            ROBUST_AXES,
            lambda cases: np.ones(cases["a"].shape, bool),
            gap,
            examples=context.size(200, 2000),
            restarts=context.size(1, 4),
        )
        for gap in (lambda cases: -ratios(cases)[0], lambda cases: -ratios(cases)[1])
    ]
    ends = [(axis.low, axis.high) if axis.low > 1e-6 else (-SMALL, SMALL) for axis in ROBUST_AXES]
    corners = np.array(list(product(*ends))).T
    parts: list[Cases] = [*searches, {axis.name: column for axis, column in zip(ROBUST_AXES, corners, strict=True)}]
    together = {axis.name: np.concatenate([part[axis.name] for part in parts]) for axis in ROBUST_AXES}
    return searches[0].holding(whole(together))


@claim(
    "fedloru-v2/claim-srank-robust",
    where="Section 3.1, stable rank",
    says="""The stable rank exhibits robustness to small perturbations in the Hessian: in practice, minor changes in
    model parameters or data points can lead to significant variations in the traditional rank, but these do not
    substantially affect the stable rank.""",
    measure=search_perturbations,
    readings=(
        Reading(
            "of a given matrix",
            r"With $\epsilon = \|E\|_2/\|A\|_2 < 1$ and $\delta = \|E\|_F/\|A\|_F$: $(\frac{1-\delta}{1+\epsilon})^2 "
            r"\le \mathrm{srank}(A+E)/\mathrm{srank}(A) \le (\frac{1+\delta}{1-\epsilon})^2$, the lower bound for "
            r"$\delta \le 1$; the ordinary rank has no such bound.",
            why="No norm is named; for one matrix all are equivalent, and both sizes are small if one is.",
        ),
        Reading(
            "small in the spectral norm",
            r"In every dimension, with $\epsilon = \|E\|_2/\|A\|_2 < 1$: $(\frac{1-\epsilon}{1+\epsilon})^2 \le "
            r"\mathrm{srank}(A+E)/\mathrm{srank}(A) \le (\frac{1+\epsilon}{1-\epsilon})^2$.",
            {"norms": "spectral"},
            r"For a Wigner matrix (one law of entries over $\sqrt R$, finite fourth moment) the noise of eq. (1) stays "
            "bounded in this norm as R grows, and in no other that the section uses.",
        ),
        Reading(
            "small in the Frobenius norm",
            r"In every dimension, with $\delta = \|E\|_F/\|A\|_F < 1$: $(\frac{1-\delta}{1+\delta})^2 \le "
            r"\mathrm{srank}(A+E)/\mathrm{srank}(A) \le (\frac{1+\delta}{1-\delta})^2$.",
            {"norms": "Frobenius"},
            "The stable rank is a quotient of the Frobenius and the spectral norm, so either may measure smallness.",
        ),
    ),
    because=r"$\epsilon(I - e_1e_1^T)$ is small in the spectral norm, but in R dimensions adds $(R-1)\epsilon^2$ to "
    "the stable rank 1 of $e_1e_1^T$.",
    mutants=[{"power": 1.0}, {"spectral": 0.95}, {"frobenius": 0.95}, {"measured": "rank"}],
    uses=("fedloru-v2/def-srank",),
    expect=("holds", "proof"),
    intended=Intended(
        "of a given matrix",
        "“minor changes in model parameters or data points … do not substantially affect the "
        "stable rank”: of a given Hessian",
    ),
    seen_in=("hessian/predictions",),
)
def claim_srank_robust(
    cases: Searched,
    norms: str = "both",
    spectral: float = 1.0,
    frobenius: float = 1.0,
    power: float = 2.0,
    measured: str = "stable rank",
) -> Evidence:
    """Both sides of the bound, or of that with one size for both; judged for the ordinary rank too, which breaks it."""
    found = Perturbed.of(cases)
    sizes = {
        "spectral": found.spectral if norms != "Frobenius" else found.frobenius,
        "Frobenius": found.frobenius if norms != "spectral" else found.spectral,
    }
    kept = np.flatnonzero(sizes["spectral"] < 1.0)
    before, after = (values[kept] for values in (found.stable if measured == "stable rank" else found.rank))
    low, high = factors(spectral * sizes["spectral"][kept], frobenius * sizes["Frobenius"][kept], power)
    left = np.concatenate([low * before / after, after / (high * before)])

    def case(index: int) -> dict[str, float | str]:
        at = kept[index % len(kept)]
        return {
            **{name: float(column[at]) for name, column in cases.items()},
            "side": "upper" if index >= len(kept) else "lower",
        }

    return judge_inequality(
        left,
        np.ones(len(left)),
        1e-12,
        quotient=True,
        case=case,
        lines=np.repeat(["lower", "upper"], len(kept)).tolist(),
        scope=f"{len(kept)} pairs A, E with one large, up to 10^6 equal and up to 10^6 zero eigenvalues, relative "
        f"spectral size {found.spectral[kept].min():.2g} to {found.spectral[kept].max():.2g}, either sign",
        domain=cases.domain,
        printed=f"change of the {measured} within its bound, on either side",
    )
