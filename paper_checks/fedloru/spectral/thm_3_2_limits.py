"""Appendix A.4, proof of Theorem 3.2: the limits of the stable ranks (eqs. (36) and (37))."""

from __future__ import annotations

import numpy as np

from paper_checks.claim import Evidence, Form, Intended, claim
from paper_checks.fedloru.spectral.measurements.stable_ranks import (
    ABOVE,
    SETTLED,
    R,
    Ranks,
    expected_gap,
    expected_ratio,
    measure_ranks,
)
from paper_checks.methods.bands import Predictions
from paper_checks.methods.limit import Ladder, judge_limit


def _judge_ratio(data: dict[str, Ranks], part: str, bulk: float) -> Evidence:
    """Judge both sample sizes of every setting in which Theorem 3.2 speaks."""
    quantity = {"numerator": "||H||_F^2 / R", "norm": "||H||_2", "stable rank": "srank(H)/R"}[part]
    people = ("client", "server")
    columns = {f"{quantity}, {who}, {name}": (name, place) for name in ABOVE for place, who in enumerate(people)}

    def predict(bulk: float) -> Predictions:
        return {
            label: expected_ratio(ABOVE[name], (ABOVE[name].client, ABOVE[name].server)[place], part, bulk)
            for label, (name, place) in columns.items()
        }

    found = {
        name: {"numerator": ranks.squared / R, "norm": ranks.norms, "stable rank": ranks.ranks() / R}[part]
        for name, ranks in data.items()
    }
    return judge_limit(
        {label: Ladder(((R, found[name][:, place]),), SETTLED) for label, (name, place) in columns.items()},
        predict(bulk),
        scope="spikes of both signs, above and below the thresholds, theta_0^2 >= sigma^2 s_M^2"
        + ("; N_u + N_l = R less the outliers, all at the edges" if bulk == 4.0 and part != "norm" else ""),
        settings={label: {**ABOVE[name].numbers(), "place": place} for label, (name, place) in columns.items()},
    )


@claim(
    "fedloru-v2/eq-36",
    where="Appendix A.4, eq. (36)",
    says=r"""From the limiting eigenvalues of $H_N$ the estimated stable rank is defined as
    $\widehat{\mathrm{srank}}(H_N) = \sum_{j \in \mathcal{P}_N \cup \mathcal{Q}_N}
    \frac{g_N^{-1}(\theta_j)^2}{g_N^{-1}(\theta_0)^2} + N_u\frac{U_N^2}{g_N^{-1}(\theta_0)^2} +
    N_l\frac{L_N^2}{g_N^{-1}(\theta_0)^2}$ with $N_u = |\{i : \lambda_i(H_N) \to U_N\}|$, $N_l = |\{i : \lambda_i(H_N)
    \to L_N\}|$.""",
    measure=measure_ranks,
    control=Form(
        r"Its denominator, for Gaussian noise and $|\theta_0| \ge \sigma s_N$: $\|H_N\|_2 \to |g_N^{-1}(\theta_0)|$.",
        {"part": "norm"},
    ),
    correction=Form(
        r"""For Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, the numerator of the stable
        rank is $\|H_N\|_F^2 = \sigma^2s_N^2R\,(1 + o(1))$, but $\sum_j\theta_j^2$ does not grow. $N_u$ and $N_l$ are
        not finite: every fixed $i > p$ counts in $N_u$, and counted from below every fixed $i \ge q$ in $N_l$ (eq. 29),
        while the indices that make up the norm lie inside the bulk, with the mean square $\sigma^2s_N^2$ of the
        semicircle and not $U_N^2 = 4\sigma^2s_N^2$.""",
        {"bulk": 1.0},
        mutants=({"bulk": 0.0}, {"bulk": 1.05}, {"bulk": 0.95}),
    ),
    uses=("fedloru-v2/eq-29", "fedloru-v2/prop-3.1-bulk"),
    kind="definition",
    because="$N_u$, $N_l$ are infinite: every fixed index beyond the outliers tends to an edge; the rest has mean "
    r"square $\sigma^2s_N^2$.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal", "(36) lists “N_u U_N²/…” for all remaining indices, and the next line sets srank - ŝrank → 0"
    ),
)
def eq_36(data: dict[str, Ranks], bulk: float = 4.0, part: str = "numerator") -> Evidence:
    """The squared Frobenius norm over R."""
    return _judge_ratio(data, part, bulk)


@claim(
    "fedloru-v2/eq-36-conv",
    where="Appendix A.4, after eq. (36)",
    says=r"""By Proposition 3.1, $|\mathrm{srank}(H_N) - \widehat{\mathrm{srank}}(H_N)| \to 0$ and $|\mathrm{srank}(H_M)
    - \widehat{\mathrm{srank}}(H_M)| \to 0$.""",
    measure=measure_ranks,
    control=Form(
        r"For Gaussian noise and $|\theta_0| \ge \sigma s_N$: $\|H_N\|_2 \to |g_N^{-1}(\theta_0)|$.", {"part": "norm"}
    ),
    correction=Form(
        r"""For Gaussian noise, and in probability for Wigner matrices as in prop-3.1-dist, $\mathrm{srank}(H_N)/R \to
        \sigma^2s_N^2/g_N^{-1}(\theta_0)^2$ for $|\theta_0| > \sigma s_N$ (and 1/4 otherwise): the stable rank grows in
        proportion to R.""",
        {"bulk": 1.0},
        mutants=({"bulk": 0.0}, {"bulk": 1.05}, {"bulk": 0.95}),
    ),
    uses=("fedloru-v2/eq-36", "fedloru-v2/prop-3.1"),
    because="The stable rank grows in proportion to R and to the mean square of the bulk, which is a quarter of "
    "$U_N^2$.",
    expect=("corrected", "proof"),
    intended=Intended("literal", "“By Proposition 3.1, it follows that |srank - ŝrank| → 0” (App. A.4, after (36))"),
)
def eq_36_conv(data: dict[str, Ranks], bulk: float = 4.0, part: str = "stable rank") -> Evidence:
    """The stable rank over R."""
    return _judge_ratio(data, part, bulk)


@claim(
    "fedloru-v2/eq-37",
    where="Appendix A.4, eq. (37)",
    says=r"""$|(\mathrm{srank}(H_M) - \mathrm{srank}(H_N)) - (\widehat{\mathrm{srank}}(H_M) -
    \widehat{\mathrm{srank}}(H_N))| \to 0$.""",
    measure=measure_ranks,
    control=Form(
        r"""The sign: for Gaussian noise, $\theta_0^2 \ge \sigma^2s_M^2$ and large R both differences are positive, the
        one of the estimates with all indices besides the spikes in its counts.""",
        {"sign_only": True},
    ),
    correction=Form(
        r"""For Gaussian noise, in probability for Wigner matrices as in prop-3.1-dist, and $\theta_0^2 \ge
        \sigma^2s_M^2$: $(\mathrm{srank}(H_M) - \mathrm{srank}(H_N))/R \to \sigma^2\left(s_M^2/g_M^{-1}(\theta_0)^2 -
        s_N^2/g_N^{-1}(\theta_0)^2\right)$: the difference grows in proportion to R.""",
        {"bulk": 1.0},
        mutants=({"bulk": 0.0}, {"bulk": 1.1}, {"bulk": 0.9}),
    ),
    uses=("fedloru-v2/eq-36-conv",),
    because=r"For $\theta_0^2 \ge \sigma^2s_M^2$ both grow in proportion to R, the stable ranks with a quarter of the "
    "printed factor.",
    expect=("corrected", "proof"),
    intended=Intended("literal", "“Consequently, we have” (37): follows from the limit after (36), which fails"),
)
def eq_37(data: dict[str, Ranks], bulk: float = 4.0, sign_only: bool = False) -> Evidence:
    """The difference of stable ranks over R."""
    predicted = {name: expected_gap(sizes, bulk) for name, sizes in ABOVE.items()}
    ladders = {name: data[name].gaps() / R for name in ABOVE}
    if sign_only:
        predicted = {name: float(np.sign(value)) for name, value in predicted.items()}
        ladders = {name: np.sign(gaps) for name, gaps in ladders.items()}
    return judge_limit(
        {name: Ladder(((R, gaps),), SETTLED) for name, gaps in ladders.items()},
        predicted,
        scope="spikes of both signs, above and below the thresholds, theta_0^2 >= sigma^2 s_M^2, independent noise",
        settings={name: sizes.numbers() for name, sizes in ABOVE.items()},
    )
