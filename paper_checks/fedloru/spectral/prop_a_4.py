"""Proposition A.4 (Appendix A.2): which spikes are richer than others, and how likely that is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import sympy

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import vanishes
from paper_checks.fedloru.spectral.measurements.quadratic_model import HALF, MODEL, OUTPUTS, WEIGHTS, quadratic
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational

T, SLOPE, CURVATURE, CENTRE = sympy.symbols("t l_slope l_curvature centre")

LARGEST_DIMENSION = 5

THETAS = sympy.symbols("theta1:4", nonzero=True)

SPECTRA = {
    "one": THETAS[:1],
    "two": THETAS[:2],
    "three": THETAS[:3],
    "one repeated": THETAS[:1] * 2,
    "one repeated beside another": (THETAS[0], THETAS[0], THETAS[1]),
}


def measure_dimensions(context: Context) -> tuple[dict[str, dict[int, sympy.Expr]], list[Point]]:
    r"""Compute characteristic polynomials of the true Hessians of one model per spectrum and dimension.

    The model is $h(x;\omega) = c + \frac12\sum_i\theta_i\omega_i^2/\ell'(c)$ at $\omega = 0$. The loss is any with a
    non-zero mean slope at some constant prediction c, to second order there.
    """
    found: dict[str, dict[int, sympy.Expr]] = {}
    for name, thetas in SPECTRA.items():
        found[name] = {}
        for R in range(len(thetas), LARGEST_DIMENSION + 1):
            weights = sympy.symbols(f"w1:{R + 1}")
            model = CENTRE + sum(theta * w**2 for theta, w in zip(thetas, weights, strict=False)) / (2 * SLOPE)
            loss = SLOPE * (model - CENTRE) + CURVATURE * (model - CENTRE) ** 2 / 2
            hessian = sympy.hessian(loss, weights).subs(dict.fromkeys(weights, 0))
            found[name][R] = hessian.charpoly(T).as_expr()
    return found, generic_points(context, (T, SLOPE, CURVATURE, CENTRE, *THETAS), 4)


@identities(
    "fedloru-v2/def-omega",
    where="Section 3.1; Appendix A, eqs. (12) and (13)",
    says=r"""$\Omega^R(\theta_1, \ldots, \theta_{p+q})$ is the set of pairs $(h^R, \omega^R)$ whose true Hessian has
    eigenvalues $\theta_1 > \cdots > \theta_{p+q}$ (Section 3.1), $\Omega^R(\theta_1, \ldots, \theta_k)$ that of the
    pairs whose true Hessian has non-zero eigenvalues $\theta_1, \ldots, \theta_k$ (12), $\Omega = \bigcup_R\Omega^R$
    (13), and $\bar R$ is the smallest integer with $\Omega^{\bar R}(\theta_1, \ldots, \theta_{p+q})$ non-empty.""",
    measure=measure_dimensions,
    readings=(
        Reading(
            "these and no others",
            r"""$\Omega^R(\theta_1, \ldots, \theta_k)$ is the set of pairs $(h^R, \omega^R)$ whose true Hessian has the
            non-zero eigenvalues $\theta_1, \ldots, \theta_k$, each as often as it is listed, and no other non-zero
            eigenvalues; $\Omega = \bigcup_R\Omega^R$, and $\bar R$ is the smallest integer with $\Omega^{\bar
            R}(\theta_1, \ldots, \theta_{p+q})$ non-empty.""",
            why="An R by R matrix has R eigenvalues, so the others are 0.",
        ),
    ),
    mutants=[{"offset": 1}, {"offset": -1}, {"sign": -1}, {"distinct": True}],
    kind="definition",
    expect=("holds", "proof"),
    intended=Intended(
        "these and no others",
        "“has non-zero eigenvalues θ_1, …, θ_k” (12), “has eigenvalues θ_1 > … > θ_{p+q}” (Section 3.1): these and no "
        "other non-zero eigenvalues, as A.3 uses with “λ_{1+p}(H_true) = 0”",
    ),
)
def def_omega(
    data: tuple[dict[str, dict[int, sympy.Expr]], list[Point]],
    offset: float = 0.0,
    sign: int = 1,
    distinct: bool = False,
) -> Equations:
    """Existence from k on by a model; emptiness below, since an R x R matrix has at most R non-zero eigenvalues."""
    found, points = data
    for name, thetas in SPECTRA.items():
        wanted = tuple(dict.fromkeys(thetas)) if distinct else thetas
        realised = []
        for R, polynomial in found[name].items():
            factors = sympy.prod([T - sign * theta for theta in wanted])
            line = Equation(f"R = {R}, {name} eigenvalue(s)", polynomial, T ** (R - len(wanted)) * factors)
            realised += [R] if vanishes(line.left - line.right) else []
            yield line
        # Below k the R eigenvalues would have to include all k: T^(k - R) would divide the product, so one be zero.
        below = [R for R in range(1, len(thetas)) if vanishes(sympy.prod(thetas))]
        smallest = min([*below, *realised], default=0)
        yield Equation(f"smallest R, {name} eigenvalue(s)", sympy.Integer(smallest), len(thetas) + rational(offset))
    return points, (
        f"p + q = 1 to 3, distinct and repeated, every R from p + q to {LARGEST_DIMENSION}; any loss whose mean has a "
        "non-zero slope at some constant prediction (under a loss that ignores the prediction every set is empty, and "
        "R-bar does not exist)"
    )


@dataclass(frozen=True)
class Pair:
    """A pair by its true Hessian: the entries, the rank, and the number of distinct non-zero eigenvalues, exactly."""

    hessian: tuple[tuple[int, ...], ...]
    rank: int
    distinct: int

    @property
    def dimension(self) -> int:
        """Return the number of weights."""
        return len(self.hessian)


def _pair(matrix: sympy.Matrix) -> Pair:
    R, rank = matrix.rows, matrix.rank()
    # A symmetric matrix is diagonalisable: its powers span as many dimensions as it has distinct eigenvalues.
    powers = sympy.Matrix([list(matrix**n) for n in range(R + 1)]).rank()
    return Pair(tuple(tuple(map(int, matrix.row(i))) for i in range(R)), rank, powers - (rank < R))


def measure_pairs(context: Context) -> list[Pair]:
    r"""Return models $h = \frac12\omega^TS\omega$ of one to three weights at $\omega = 0$, loss $\ell = h - y$."""
    rng = context.rng("matrices")
    found = []
    for R in (1, 2, 3):
        places = [(i, j) for i in range(R) for j in range(i, R)]
        if R < 3:
            chosen = list(product((-1, 0, 1), repeat=len(places)))
        else:
            diagonals = product((-2, 0, 1), repeat=R)
            chosen = [tuple(d[i] if i == j else 0 for i, j in places) for d in diagonals]
            chosen += [tuple(map(int, rng.integers(-1, 2, len(places)))) for _ in range(context.size(20, 200))]
        weights = sympy.symbols(f"w1:{R + 1}")
        for entries in chosen:
            at = dict(zip(places, entries, strict=True))
            model = HALF * sum(at[min(i, j), max(i, j)] * weights[i] * weights[j] for i in range(R) for j in range(R))
            found.append(_pair(sympy.hessian(sympy.sympify(model), weights)))
    return found


@claim(
    "fedloru-v2/claim-union",
    where="Appendix A.2, after eq. (13)",
    says=r"""The set of all pairs $(h^R, \omega^R)$ is $\bigcup_{R=1}^\infty\bigcup_{k=1}^R\bigcup_{(\theta_1, \ldots,
    \theta_k)}\Omega^R(\theta_1, \ldots, \theta_k)$ over non-zero real $\theta_i$.""",
    measure=measure_pairs,
    mutants=[{"least": 2}, {"short": 1}, {"repeated": False}],
    uses=("fedloru-v2/def-omega",),
    importance="detail",
    expect=("holds", "proof"),
)
def claim_union(pairs: list[Pair], least: float = 1.0, short: int = 0, repeated: bool = True) -> Evidence:
    """Whether every pair lies in one of the sets; its only candidate is k = rank, counted with multiplicity."""
    kept = [pair for pair in pairs if pair.rank]
    scope = (
        f"{len(kept)} exact Hessians of one to three weights: every one with entries -1, 0, 1 up to R = 2, diagonal "
        "and drawn ones at R = 3; ranks 1 to 3, simple and repeated eigenvalues; the Hessian that is zero, such as "
        "that of a model that ignores its weights, has k = 0 eigenvalues other than 0 and is left out as degenerate"
    )
    printed = f"number of non-zero eigenvalues from {least:g} to {'R - 1' if short else 'R'}"
    outside = [
        pair
        for pair in kept
        if not least <= pair.rank <= pair.dimension - short or (not repeated and pair.distinct < pair.rank)
    ]
    if not outside:
        return Evidence(
            True, scope, printed, f"each of {len(kept)} pairs lies in one of the sets", 1.0, cases=len(kept)
        )
    worst = outside[0]
    return Evidence(
        False,
        scope,
        printed,
        f"{len(outside)} of {len(kept)} pairs lie in none, such as one of rank {worst.rank} at R = {worst.dimension}",
        -len(outside) / len(kept),
        cases=len(kept),
        witness={"hessian": [list(row) for row in worst.hessian]},
    )


LOSS = quadratic("l", OUTPUTS)


def draw_weights(context: Context) -> list[Point]:
    """Draw exact values for every symbol, to refute a false line."""
    symbols = {*LOSS.free_symbols, *(s for h in MODEL for s in h.free_symbols), *WEIGHTS, sympy.Symbol("t")}
    return generic_points(context, sorted(symbols, key=str), 4)


def _total_hessian(outputs: tuple[sympy.Expr, ...], weights: tuple[sympy.Symbol, ...]) -> sympy.Matrix:
    loss = LOSS.subs(dict(zip(OUTPUTS, outputs, strict=True)), simultaneous=True)
    return sympy.hessian(loss, weights)


@identities(
    "fedloru-v2/eq-17",
    where="Appendix A.2, eq. (17)",
    says=r"""$\nabla_\omega^2 \ell(h(x;\omega),y) = J^T (\nabla_y^2 \ell) J + \sum_i \frac{\partial\ell}{\partial y_i}
    \nabla_\omega^2 h_i$ (derivatives of $\ell$ with respect to its first argument).""",
    measure=draw_weights,
    mutants=[{"second": 0}, {"second": 2}, {"outer": -1}],
    expect=("holds", "proof"),
    intended=Intended(
        "literal", "“∂ℓ/∂y_i (h(x; ω), y)” (17), of a loss “ℓ(h(x; ω), y)” (Section 3): y_i names the place of h in ℓ"
    ),
)
def eq_17(points: list[Point], second: float = 1.0, outer: int = 1) -> Equations:
    """Every entry of the Hessian of a composition is as stated, with symbols for all first and second derivatives."""
    weights = WEIGHTS[:2]
    at = dict(zip(OUTPUTS, MODEL, strict=True))
    jacobian = sympy.Matrix(MODEL).jacobian(weights)
    hessian_loss = sympy.hessian(LOSS, OUTPUTS)
    curvature = sympy.zeros(2, 2)
    for y, h in zip(OUTPUTS, MODEL, strict=True):
        curvature += sympy.diff(LOSS, y).subs(at, simultaneous=True) * sympy.hessian(h, weights)
    factor = sympy.Rational(second)
    printed = outer * jacobian.T * hessian_loss * jacobian + factor * curvature
    actual = _total_hessian(MODEL, weights)
    yield from [Equation(f"entry {i + 1}{j + 1}", actual[i, j], printed[i, j]) for i in range(2) for j in range(i, 2)]
    return points, (
        "all 2-jets of h: R^2 -> R^2 and of the loss, symbolic: enough, since an entry has derivatives in two weights "
        "and is a sum over outputs and pairs of them"
    )


@identities(
    "fedloru-v2/prop-A.4",
    where="Appendix A.2, Proposition A.4, eqs. (14) to (20)",
    says=r"""Let $\theta_1, \ldots, \theta_k$ be fixed non-zero reals and suppose some $\tilde R > k$ has
    $\Omega^{\tilde R}(\theta_1, \ldots, \theta_k)$ non-empty. Then $\Omega^R(\theta_1, \ldots, \theta_k)$ is non-empty
    for all $R \ge \tilde R$. With $h^{\tilde R+1}(x;\omega) = \tilde h^{\tilde R+1}(x;\omega)$ (14), $\omega^{\tilde
    R+1} = (\omega^{\tilde R}, 0)$ (15) and $\tilde h^{\tilde R+1}(x;\omega^{\tilde R+1}) = \tilde h^{\tilde
    R+1}(x;(\omega^{\tilde R}, 0)) = h^{\tilde R}(x;\omega^{\tilde R})$ (16), independent of the last variable, in the
    expansion (17) of the Hessian: $h^{\tilde R+1}(x;\omega^{\tilde R+1}) = h^{\tilde R}(x;\omega^{\tilde R})$ (18),
    $J_\omega(h^{\tilde R+1}) = [J_\omega(h^{\tilde R})\ 0]$ (19), $\nabla_\omega^2h_i^{\tilde R+1} =
    \nabla_\omega^2h_i^{\tilde R}$ with a zero row and a zero column, for all i (20), and so the Hessian is the same but
    for these.""",
    measure=draw_weights,
    mutants=[{"coupling": 1}, {"curvature": 1}],
    uses=("fedloru-v2/eq-17",),
    importance="result",
    expect=("holds", "proof"),
)
def prop_A_4(points: list[Point], coupling: float = 0.0, curvature: float = 0.0) -> Equations:
    """The padded Hessian is the old one with a zero row and column, so the non-zero eigenvalues are the same."""
    z, t = WEIGHTS[2], sympy.Symbol("t")
    old = _total_hessian(MODEL, WEIGHTS[:2])
    padded = (MODEL[0] + sympy.Rational(coupling) * z * WEIGHTS[0] + sympy.Rational(curvature) * z**2, MODEL[1])
    new = _total_hessian(padded, WEIGHTS).subs(z, 0)
    for k, (wide, narrow) in enumerate(zip(padded, MODEL, strict=True), start=1):
        yield Equation(f"(18), output {k}", wide.subs(z, 0), narrow)
        first = [sympy.diff(wide, w).subs(z, 0) for w in WEIGHTS]
        known = [*(sympy.diff(narrow, w) for w in WEIGHTS[:2]), sympy.Integer(0)]
        yield from [Equation(f"(19), output {k}, weight {i + 1}", first[i], known[i]) for i in range(3)]
        second, old_second = sympy.hessian(wide, WEIGHTS), sympy.diag(sympy.hessian(narrow, WEIGHTS[:2]), 0)
        yield from [
            Equation(f"(20), output {k}, entry ({i + 1}, {j + 1})", second[i, j], old_second[i, j])
            for i in range(3)
            for j in range(i, 3)
        ]
    yield from [Equation(f"entry ({i + 1}, 3)", new[i, 2], sympy.Integer(0)) for i in range(3)]
    yield from [Equation(f"entry ({i + 1}, {j + 1})", new[i, j], old[i, j]) for i in range(2) for j in range(i, 2)]
    block = sympy.Matrix(2, 2, sympy.symbols("a b b c"))
    bordered = sympy.diag(block, 0)
    yield Equation("characteristic polynomial", bordered.charpoly(t).as_expr(), t * block.charpoly(t).as_expr())
    return points, (
        "two weights and a third added, all 2-jets of model and loss, symbolic: enough, since an entry has derivatives "
        "in two weights; by induction all R; that R~ exceeds k is not used"
    )
