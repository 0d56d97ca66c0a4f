"""Lemma A.3: Weyl's inequalities."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies

from paper_checks.claim import Dropped, Evidence, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.weyl_pairs import Pair, Row, draw_pairs, judge_rows


def measure_pairs(context: Context) -> list[Pair]:
    """Draw pairs of Hermitian matrices of size 1 to 6."""
    values = strategies.one_of(strategies.integers(-3, 3).map(float), strategies.floats(-1e3, 1e3))
    spectra = strategies.integers(1, 6).flatmap(lambda n: strategies.lists(values, min_size=n, max_size=n))
    return draw_pairs(context, spectra, context.size(60, 1000))


@claim(
    "fedloru-v2/lem-A.3",
    where="Appendix A.1, Lemma A.3, eqs. (10) and (11)",
    says=r"""For Hermitian $A, B \in \mathbb{C}^{n \times n}$ and $i, j \in \{1, \ldots, n\}$: $\lambda_{i+j-1}(A+B) \le
    \lambda_i(A)+\lambda_j(B)$ for $i+j \le n+1$ (10), and $\lambda_{i+j-n}(A+B) \ge \lambda_i(A)+\lambda_j(B)$ for $i+j
    \ge n+1$ (11), where $\lambda_i(D)$ is the i-th eigenvalue of D.""",
    measure=measure_pairs,
    mutants=[{"upper_shift": -1}, {"lower_shift": 1}, {"sign": -1}],
    readings=(
        Reading(
            "decreasing order",
            r"Both lines for all admissible i and j, with $\lambda_1(D) \ge \cdots \ge \lambda_n(D)$.",
            why=r"“$\theta_1 > \cdots > \theta_p > 0$” (Section 3.1) and “$\lambda_1(\epsilon_N) \to U_N$” (27): "
            "eigenvalues are numbered from the largest, as everywhere in the paper and in the field.",
        ),
    ),
    hypotheses=(Dropped("decreasing order", {"increasing": True}),),
    expect=("holds", "kernel"),
)
def lem_A_3(
    pairs: list[Pair],
    upper_shift: int = 0,
    lower_shift: int = 0,
    sign: int = 1,
    tighten: float = 0.0,
    increasing: bool = False,
) -> Evidence:
    """All admissible index pairs of every pair of matrices; ``tighten`` asks for a margin in units of the norms."""
    rows: list[Row] = []
    for pair in pairs:
        *spectra, error = pair.eigenvalues()
        a, b, both = (found[::-1] for found in spectra) if increasing else spectra
        n, room = len(a), tighten * (np.abs(a).max() + np.abs(b).max())
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                bound = a[i - 1] + b[j - 1]
                upper, lower = i + j - 1 + upper_shift, i + j - n + lower_shift
                if i + j <= n + 1 and 1 <= upper <= n:
                    rows.append(Row(sign * both[upper - 1] + room, sign * bound, error, pair, f"(10), i={i}, j={j}"))
                if i + j >= n + 1 and 1 <= lower <= n:
                    rows.append(Row(sign * bound + room, sign * both[lower - 1], error, pair, f"(11), i={i}, j={j}"))
    return judge_rows(
        rows,
        f"{len(pairs)} Hermitian pairs of size 1 to 6, {len(rows)} index pairs",
        "(10) and (11) at every admissible i, j",
    )
