"""Lemma A.2: independent Wigner matrices become free."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Evidence, Intended, claim
from paper_checks.context import Context
from paper_checks.methods.mean import Tails, judge_means
from rmt.cumulants import free_cumulants_from_moments, moments_from_free_cumulants
from rmt.dense import ENTRY_LAWS, wigner

MOMENT_DIMENSION = 400

ATOMS = ((-1.0, 0.5), (0.5, 0.25), (2.0, 0.25))

LINEAR_STATISTICS = "traces of powers of a Wigner matrix obey a central limit theorem (Lytova and Pastur)"


def _moment(name: str) -> int:
    return int(name.split()[1])


def sum_moments(convolution: str, variance: float) -> dict[int, float]:
    """Return moments 2, 3, 4 of the sum of a semicircle of given variance and the atoms, free or independent."""
    atoms = [sum(mass * location**k for location, mass in ATOMS) for k in range(1, 5)]
    if convolution == "free":
        cumulants = list(free_cumulants_from_moments(atoms))
        cumulants[1] += variance
        moments = moments_from_free_cumulants(cumulants)
    else:
        m2, m4 = variance, 2.0 * variance**2
        moments = (atoms[0], atoms[1] + m2, atoms[2] + 3 * atoms[0] * m2, atoms[3] + 6 * atoms[1] * m2 + m4)
    return {k: float(moments[k - 1]) for k in (2, 3, 4)}


def measure_moments(context: Context) -> dict[str, NDArray[np.float64]]:
    """Measure normalised traces of powers of X + D."""
    R = MOMENT_DIMENSION
    diagonal = np.concatenate([np.full(round(mass * R), location) for location, mass in ATOMS])
    found: dict[str, NDArray[np.float64]] = {}
    for law in ("gaussian", "rademacher"):
        rng = context.rng(law)
        traces = []
        for _ in range(context.size(80, 300)):
            matrix = wigner(1.0, R, rng, ENTRY_LAWS[law])
            matrix.flat[:: R + 1] += diagonal
            square = matrix @ matrix
            traces.append([np.trace(square), np.vdot(square, matrix), np.vdot(square, square)])
        for column, power in enumerate((2, 3, 4)):
            found[f"moment {power} of X + D, {law}"] = np.array(traces)[:, column] / R
    return found


@claim(
    "fedloru-v2/lem-A.2",
    where="Appendix A.1, Lemma A.2",
    says=r"""Let $X$ be an $N \times N$ random real symmetric Wigner matrix and $D$ deterministic symmetric with $\|D\|$
    bounded uniformly in N, both with deterministic limits $\mu_X$, $\mu_D$ of their spectral measures. Then $X + D$ has
    a limiting spectral measure, the free convolution $\mu_X \boxplus \mu_D$.""",
    measure=measure_moments,
    mutants=[{"convolution": "classical"}, {"variance": 1.5}],
    expect=("holds", "proof"),
    intended=Intended(
        "literal", "“N x N random real-symmetric Wigner matrix”: by the usual convention one law for all N, over √N"
    ),
    family="entries of one fixed law over √N",
)
def lem_A_2(draws: dict[str, NDArray[np.float64]], convolution: str = "free", variance: float = 1.0) -> Evidence:
    """Mean normalised moments of X + D against the moments of the free convolution."""
    predicted = sum_moments(convolution, variance)
    return judge_means(
        draws,
        {name: predicted[_moment(name)] for name in draws},
        tails=Tails(normal=LINEAR_STATISTICS),
        scope=f"{', '.join(draws)}; R = {MOMENT_DIMENSION}, D with {len(ATOMS)} unequal atoms; entries of X of one "
        "law, over the root of R. Entries whose law changes with R need not be free from D: for entries 1 or -1 with "
        "probability 1/(2R) each, else 0, and D of mean 0, phi(X^2 D X^2 D) tends to 2 phi(D^2), and to phi(D^2) if "
        "they were free",
    )
