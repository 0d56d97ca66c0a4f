"""Sections 5 and 6: what the proof sketches use, the method that SCAFFOLD extends, and the number of local steps."""

from __future__ import annotations

from math import inf

import numpy as np
import sympy

from paper_checks.claim import Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, UP_TO_ONE, Axis, Cases, Searched, Stated
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities
from paper_checks.methods.inequality import collect_cases, judge_inequality
from scaffold.method import GLOBAL, GRADIENT, OTHERS, OWN, STEP, N, X, local_steps, renewed

ANY = Stated(0.0, inf)


@identities(
    "scaffold/sec-5-saga",
    where="Section 5, after Theorem III",
    says=r"For $\sigma = 0$, $K = 1$ and $S = 1$ the update of SCAFFOLD with Option I is that of SAGA.",
    measure=lambda context: generic_points(context, (X, GRADIENT, OWN, OTHERS, N, STEP, GLOBAL), 3),
    mutants=[{"step": "local"}, {"share": "sampled"}],
    expect=("holds", "proof"),
)
def sec_5_saga(points: list[Point], step: str = "both", share: str = "all") -> Equations:
    """A step of SAGA, of size eta_l eta_g, with the control variates as its table; Option II is the same for K = 1."""
    mean = (OWN + OTHERS) / N
    size = STEP * GLOBAL if step == "both" else STEP
    for option in ("I", "II"):
        end, _ = local_steps(lambda y: GRADIENT, X, OWN, mean, STEP, 1)
        new = renewed(option, lambda x: GRADIENT, X, end, OWN, mean, STEP, 1)
        yield Equation("weights", X + GLOBAL * (end - X), X - size * (GRADIENT - OWN + mean))
        yield Equation("table", new, GRADIENT)
        yield Equation("mean of the table", mean + (new - OWN) / (N if share == "all" else 1), (GRADIENT + OTHERS) / N)
    return points, "any number of clients, any table, any gradient"


NAMES = ("g1", "g2", "g3", "c1", "c2", "c3")


def columns(cases: Cases) -> tuple[np.ndarray, np.ndarray]:
    """Return gradients and control variates, a row for each client."""
    rows = np.stack([cases[name] for name in NAMES])
    return rows[:3], rows[3:]


def distances(cases: Cases, of_mean: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return both sums of squares; without the invariant the server has the first client's control variate."""
    gradients, own = columns(cases)
    server = own.mean(axis=0) if of_mean else own[0]
    update = gradients - own + server
    return ((update - gradients.mean(axis=0)) ** 2).sum(axis=0), ((own - gradients) ** 2).sum(axis=0)


def measure_distances(context: Context) -> Searched:
    """Return gradients and control variates of three clients, along one direction, searched towards equality."""
    axes = [Axis(name, 1e-2, 1e2, of=ANY, signed=True) for name in NAMES]

    def gap(cases: Cases) -> np.ndarray:
        left, right = distances(cases)
        return (right - left) / right

    return collect_cases(
        context, axes, lambda cases: distances(cases)[1] > 0, gap, examples=context.size(100, 1000), restarts=1
    )


@claim(
    "scaffold/sec-5-error",
    where="Section 5, proof sketch of Theorem III",
    says=r"""The distances from the ideal update satisfy $\sum_i\|(\nabla f_i(y) - c_i + c) - \nabla f(y)\|^2 \le
    \sum_i\|c_i - \nabla f_i(y)\|^2$.""",
    measure=measure_distances,
    mutants=[{"factor": 0.95}, {"of_mean": False}],
    importance="step",
    expect=("holds", "proof"),
)
def sec_5_error(cases: Searched, factor: float = 1.0, of_mean: bool = True) -> Evidence:
    """Both sums for three clients; the proof is for any number."""
    left, right = distances(cases, of_mean)
    sizes = sum((rows**2).sum(axis=0) for rows in columns(cases))
    return judge_inequality(
        left,
        factor * right,
        2e-14 * sizes,
        scope="three clients, along one direction",
        case=cases,
        printed="sum of squared distances from the ideal update <= that of the control variates from the gradients",
        quotient=True,
        size=20 * sizes,
        domain=cases.domain,
    )


VECTORS = sympy.symbols("x1 x2 y1 y2")
CURVATURES = sympy.symbols("h11 h12 h22 k11 k12 k22")
SLOPES = sympy.symbols("s1 s2 t1 t2")


@identities(
    "scaffold/sec-6-correction",
    where="Section 6, proof sketch of Theorem IV",
    says=r"""The corrected local gradient $\nabla f_i(y_i) - \nabla f_i(x) + \nabla f(x)$ is $\nabla f(y_i)$ up to
    $(\nabla^2f_i(x) - \nabla^2f(x))(y_i - x)$.""",
    measure=lambda context: generic_points(context, (*VECTORS, *CURVATURES, *SLOPES), 3),
    mutants=[{"sign": -1}, {"mean": False}],
    readings=(
        Reading(
            "quadratic functions",
            "For quadratic functions this is an equality.",
            why="Theorem IV is about quadratic functions; for others the text calls it a challenge.",
        ),
    ),
    expect=("holds", "proof"),
    family="two dimensions",
)
def sec_6_correction(points: list[Point], sign: int = 1, mean: bool = True) -> Equations:
    """Both entries of the gradients, for a client and the mean with any Hessians and slopes."""
    x1, x2, y1, y2 = VECTORS
    x, y = sympy.Matrix([x1, x2]), sympy.Matrix([y1, y2])
    h11, h12, h22, k11, k12, k22 = CURVATURES
    client, whole = sympy.Matrix([[h11, h12], [h12, h22]]), sympy.Matrix([[k11, k12], [k12, k22]])
    s, t = sympy.Matrix(SLOPES[:2]), sympy.Matrix(SLOPES[2:])
    used = client * (y - x) + (whole * x + t if mean else client * x + s)
    right = whole * y + t + sign * (client - whole) * (y - x)
    for row in (0, 1):
        yield Equation(f"entry {row + 1}", used[row], right[row])
    return points, "quadratic functions, any Hessians, slopes and places"


STEPS = (Axis("similarity", 1e-4, 1.0, of=UP_TO_ONE, words="δ/β"), Axis("K", 1.0, 1e6, of=FROM_ONE))


def measure_steps(context: Context) -> Searched:
    """Return Hessian dissimilarities and numbers of local steps, searched towards a saving of half of the rounds."""

    def gap(cases: Cases) -> np.ndarray:
        return 1.0 / (cases["K"] * cases["similarity"])

    return collect_cases(
        context, STEPS, lambda cases: np.isfinite(cases["K"]), gap, examples=context.size(100, 1000), restarts=1
    )


@claim(
    "scaffold/sec-6-steps",
    where="Section 6, after Theorem IV",
    says=r"""For $\sigma = 0$ and $\delta$-close Hessians the rounds are $\frac{\beta + \delta K}{\mu K}$, so the
    best number of local steps is $K = \frac\beta\delta$: with fewer the communication increases, and more are a waste
    of computation.""",
    measure=measure_steps,
    mutants=[{"factor": 1.9}],
    readings=(
        Reading(
            "up to a factor of 2",
            r"For $0 < \delta \le \beta$ no number of local steps $K \ge 1$ has less than half of the rounds of "
            r"$K = \beta/\delta$.",
            why="More steps than that “would only waste computational resources”: they save nothing that counts.",
        ),
        Reading(
            "the minimiser",
            r"For $0 < \delta \le \beta$ no $K \ge 1$ has fewer rounds than $K = \beta/\delta$.",
            {"factor": 1.0},
            why="It is called the optimum.",
        ),
    ),
    because="The number of rounds decreases in K, to half of its value at this K.",
    importance="result",
    expect=("holds", "proof"),
    intended=Intended(
        "up to a factor of 2", "“increasing it further would only waste computational resources”; rates are orders"
    ),
)
def sec_6_steps(cases: Searched, factor: float = 2.0) -> Evidence:
    r"""Rounds at $\beta/\delta$ steps, $2\delta/\mu$, against those at any other number, in units of $\beta/\mu$."""
    left, right = 2.0 * cases["similarity"], factor * (1.0 / cases["K"] + cases["similarity"])
    return judge_inequality(
        left,
        right,
        1e-15 * right,
        scope="rounds without variance",
        case=cases,
        printed=f"rounds at K = beta/delta <= {factor:g} rounds at K",
        quotient=True,
        domain=cases.domain,
    )
