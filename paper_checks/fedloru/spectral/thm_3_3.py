"""Theorem 3.3: gradient alignment."""

from __future__ import annotations

from typing import Any

import sympy

from paper_checks.claim import Best, Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.alignment import (
    RANKS,
    SCENES,
    SETTLED,
    Alignment,
    R,
    expected_alignment,
    measure_alignment,
)
from paper_checks.methods.bands import Predictions
from paper_checks.methods.identity import Equation, Equations, Point, generic_points, identities, rational
from paper_checks.methods.limit import Ladder, judge_limit

DIMENSION = 4

OUTLIERS = 2

COMPONENTS = sympy.symbols(f"g1:{DIMENSION + 1}")

SPIKE, *NOISE = sympy.symbols("theta_1 e11 e12 e22")


def draw_bases(context: Context) -> tuple[list[sympy.Matrix], list[Point]]:
    """Draw exact orthonormal bases, by the Cayley transform of skew matrices; values of gradient, spike and noise."""
    rng, bases = context.rng("bases"), []
    for _ in range(3):
        skew = sympy.zeros(DIMENSION)
        for i in range(DIMENSION):
            for j in range(i):
                skew[i, j] = sympy.Rational(int(rng.integers(-9, 10)), int(rng.integers(1, 10)))
                skew[j, i] = -skew[i, j]
        identity = sympy.eye(DIMENSION)
        bases.append((identity - skew) * (identity + skew).inv())
    return bases, generic_points(context, (*COMPONENTS, SPIKE, *NOISE), 4)


@identities(
    "fedloru-v2/def-approx",
    where="Section 3.2, gradient alignment",
    says=r"""With eigenvectors $u_1, \ldots, u_s$ of $H_N$ associated with the eigenvalues $\theta_1, \ldots, \theta_s$,
    ordered by magnitude, the full-rank approximation of $\nabla f_N$ with respect to $H_N$ is $\nabla\hat
    f_{N,\mathrm{full}} = \sum_{i=1}^s (\partial_{u_i} f_N) u_i$ and the rank-r approximation $\nabla\hat f_{N,r} =
    \sum_{i=1}^r (\partial_{u_i} f_N) u_i$, $\partial_u f_N$ the directional derivative; $C_{N,r}(k_1, k_2)$ is the
    cosine of the rank-r approximations of two of K clients with N samples each.""",
    measure=draw_bases,
    readings=(
        Reading(
            "eigenvalues of the true Hessian",
            r"For every $H_N$ there are $u_i$ with $H_Nu_i = \theta_iu_i$, $\theta_i$ the eigenvalues of "
            r"$H_{\mathrm{true}}$.",
            why=r"Section 3.1 calls the eigenvalues of $H_{\mathrm{true}}$ $\theta_1, \ldots, \theta_{p+q}$, and the "
            "paper gives this name to no others.",
        ),
        Reading(
            "outliers of H_N",
            r"$u_1, \ldots, u_s$ are the eigenvectors of the s outliers of $H_N$, in the order of their magnitude. "
            r"Both sums are orthogonal projections of $\nabla f_N$, for $r \le s$, for all signs of the $u_i$; "
            "what is orthogonal to the $u_i$ is lacking at full rank.",
            {"kept": OUTLIERS},
            r"The section associates $u_i$ with $\theta_i$ for $i \in \mathcal{P}_N \cup \mathcal{Q}_N$, the outliers.",
            ({"missing": 1}, {"unsigned": True}),
        ),
        Reading(
            "all eigenvectors of H_N",
            r"$u_1, \ldots, u_R$ are all eigenvectors of $H_N$, in the order of the magnitude of its own eigenvalues. "
            r"Both sums are orthogonal projections of $\nabla f_N$, for all signs of the $u_i$; at full rank "
            "nothing is lacking.",
            {"kept": DIMENSION},
            r"Theorem 3.3 is about every r, and its proof continues with bulk eigenvectors from $r = \tilde r$.",
            ({"missing": 1}, {"unsigned": True}),
        ),
    ),
    stands_in={"factor": ("full rank, basis 1",)},  # signs do not see a common factor
    kind="definition",
    because=r"The $\theta_i$ are those of $H_{\mathrm{true}}$; with noise of a density $H_N$ has almost surely none of "
    "them. “Full-rank” makes s its rank.",
    expect=("holds", "proof"),
    intended=Intended(
        "all eigenvectors of H_N",
        "A.5 (ii) continues with the w_i for r ≥ r̃, so it means all eigenvectors; “associated with the eigenvalues "
        "θ_1, …” are those of H_N, and “full-rank” makes s its rank",
    ),
    print="misprint",
)
def def_approx(
    data: tuple[list[sympy.Matrix], list[Point]],
    kept: int = 0,
    missing: int = 0,
    unsigned: bool = False,
    factor: float = 1.0,
) -> Equations:
    """No sign of an eigenvector matters for the sum, a projection that leaves what is orthogonal to all ``kept``.

    Without a number of them they are those to the eigenvalues of the true Hessian, which need not be any of H_N.
    """
    bases, points = data
    if not kept:
        model = sympy.diag(SPIKE, 0) + sympy.Matrix([[NOISE[0], NOISE[1]], [NOISE[1], NOISE[2]]])
        yield Equation("det(H_N - theta_1)", (model - SPIKE * sympy.eye(2)).det(), sympy.Integer(0))
        return points, "H_true = diag(theta_1, 0), any symmetric noise"
    gradient = sympy.Matrix(COMPONENTS)
    for number, basis in enumerate(bases):

        def approximation(frame: sympy.Matrix, rank: int) -> sympy.Matrix:
            slopes = [(frame[:, i].T * gradient)[0] for i in range(rank)]
            if unsigned:  # the length of the component instead of the directional derivative
                slopes = [sympy.Abs(slope) for slope in slopes]
            parts = [rational(factor) * slope * frame[:, i] for i, slope in enumerate(slopes)]
            return sum(parts, sympy.zeros(DIMENSION, 1))

        flipped = basis * sympy.diag(-1, 1, -1, 1)
        across = basis[:, kept:] * basis[:, kept:].T * gradient
        full = approximation(basis, kept - missing) + across
        yield from [Equation(f"full rank, basis {number}", full[i], gradient[i]) for i in range(DIMENSION)]
        for rank in range(1, min(kept + 1, DIMENSION)):
            some = approximation(basis, rank)
            other = approximation(flipped, rank)
            yield from [Equation(f"signs, rank {rank}", some[i], other[i]) for i in range(DIMENSION)]
            yield Equation(f"projection, rank {rank}", (some.T * (gradient - some))[0], sympy.Integer(0))
    return points, (
        f"{len(bases)} exact bases of dimension {DIMENSION}, {kept} of their vectors, any gradient; undefined where "
        "eigenvalues tie in magnitude (opposite signs too) across r, and for a gradient that vanishes on the first r"
    )


DISTINCT = tuple(name for name in SCENES if name != "opposite spikes")


@claim(
    "fedloru-v2/thm-3.3",
    where="Section 3.2, Theorem 3.3, eq. (6)",
    says=r"""For any r and $k_1 \ne k_2$: $|E[C_{N,r}(k_1, k_2) - C_{N,r+1}(k_1, k_2)] - g_N(r)| \to 0$ as $R \to
    \infty$, where $g_N(r)$ is strictly positive and expressed in the proof (eqs. 55 and 58).""",
    measure=measure_alignment,
    control=Form(
        r"""The statement for $r < \tilde r$, distinct $|\theta_i|$, Gaussian noise, and one gradient of bounded norm
        for all clients, without own errors and with fixed components other than 0 along the $v_i$.""",
        {"scenes": ("no own errors",), "below": True},
    ),
    correction=Form(
        r"""Let the $|\theta_i|$ be distinct, $\tilde r \ge 1$ of them above $\sigma s_N$, the noise Gaussian (for $r
        \ge \tilde r$ with twice the variance on the diagonal), and the clients' gradients one $\gamma$ of bounded norm,
        with fixed components $\gamma_i \ne 0$ along $v_i$, plus independent Gaussian own errors of variance b in every
        direction. Then $E[C_{N,r}] \to A_r^2\,\sum_{i \le r} m_i^2\phi_i^2/\sum_{i \le r} m_i^2$ with $m_i =
        \phi_i\gamma_i$ ($i \le \tilde r$, else 0), $A_r$ the mean cosine between $m + \sqrt b\,z$ and m, z Gaussian in
        r dimensions. It falls in r if $b = 0$ and $r < \tilde r$; it is constant for $b = 0$ and $r \ge \tilde r$; it
        decreases for $b > 0$ and $r \ge \tilde r$; it can increase for $b > 0$ and $r < \tilde r$ (a small first
        slope). For slopes that are $\alpha_i \ne 0$ and $\beta \ne 0$ without any spread the theorem holds for distinct
        $|\theta_i|$. With $\theta_1 = -\theta_2$, $b = 0$ and twice the variance on the diagonal clients that each
        order the eigenvalues of their own $H_N$ by magnitude may keep different eigenvectors, and $E[C_1] \to \phi^2/2
        < E[C_2] \to \phi^2$; with the labels of Appendix A.5, the same for all clients, both tend to $\phi^2$.""",
        {"form": "direction"},
        mutants=({"noise": 4.0}, {"form": "expectations", "beta_square": 4, "power": 1}),
    ),
    uses=("fedloru-v2/eq-51-54", "fedloru-v2/eq-57-58", "fedloru-v2/assump-A.5"),
    importance="result",
    because="With errors of each client's own, the limit is a mean of quotients, not a quotient of means. With a small "
    "first slope it rises with r.",
    best={"noise": Best(1.0, "a factor of the variance b of the own errors; proved: the limit is theirs")},
    hypotheses=(
        Dropped(r"distinct $|\theta_i|$, for clients that order their own eigenvalues", {"scenes": tuple(SCENES)}),
    ),
    expect=("corrected", "proof"),
    family="the correction: Gaussian noise and own errors",
    intended=Intended(
        "literal",
        "“For any r ∈ N” with “g_N(r) is strictly positive”; A.5 has random data: “the dataset … "
        "is random”, so slopes vary",
    ),
    seen_in=("hessian/alignment",),
)
def thm_3_3(
    data: dict[str, Alignment],
    form: str = "expectations",
    beta_square: int = 0,
    noise: float = 1.0,
    power: int = 2,
    scenes: tuple[str, ...] = DISTINCT,
    below: bool = False,
) -> Evidence:
    """Differences of the expected cosine at consecutive ranks, on both sides of the number of outliers."""
    pairs = {f"{name}: C_{rank} - C_{rank + 1}": (name, rank) for name in SCENES for rank in range(1, RANKS)}
    kept = [
        label for label, (name, rank) in pairs.items() if name in scenes and (not below or rank < SCENES[name].outliers)
    ]

    def predict(form: str, beta_square: float, noise: float, power: float, **_: Any) -> Predictions:
        found = {}
        for label, (name, rank) in pairs.items():
            stated = "expectations" if name == "opposite spikes" else form  # the correction leaves equal moduli out
            steps = [expected_alignment(SCENES[name], r, stated, beta_square, noise, power) for r in (rank, rank + 1)]
            found[label] = steps[0] - steps[1]
        return found

    ladders = {
        label: Ladder(((R, data[name].cosines[:, rank - 1] - data[name].cosines[:, rank]),), SETTLED)
        for label, (name, rank) in pairs.items()
        if label in kept
    }
    return judge_limit(
        ladders,
        predict(form, beta_square, noise, power),
        resolution=0.02,
        scope=f"two independent clients: {'; '.join(scenes)}; ranks 1 to {RANKS}",
        settings={label: {**SCENES[name].numbers(), "rank": rank} for label, (name, rank) in pairs.items()},
    )
