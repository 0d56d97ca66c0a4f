"""Appendix A.4, proof of Theorem 3.2: the index sets and their counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from paper_checks.claim import Evidence, Form, Intended, claim
from paper_checks.facts import Fact, combine, identity, positive
from paper_checks.fedloru.spectral.measurements.spike_sets import (
    READINGS,
    Gap,
    Instance,
    SetReading,
    assumed,
    draw_instances,
    judge_instances,
)
from paper_checks.fedloru.spectral.measurements.stable_rank_symbols import (
    S_M,
    S_N,
    SIGMA,
    SYMBOLS,
    THETA_0,
    THETA_J,
    outliers,
)

# Positive increments: they spell out orderings such as s_N < s_M in proofs of positivity.
A, B, C = sympy.symbols("a b c", positive=True)


def _sets(instance: Instance, reading: SetReading) -> tuple[frozenset[int], frozenset[int]]:
    """Return the sets at M and at N."""
    return instance.outside(instance.noise_M, reading), instance.outside(instance.noise_N, reading)


@claim(
    "fedloru-v2/claim-inclusion",
    where="Appendix A.4, after eq. (37)",
    says=r"""$U_N < U_M$ and $L_N > L_M$ give $\mathcal{P}_N \subseteq \mathcal{P}_M$ and $\mathcal{Q}_N \subseteq
    \mathcal{Q}_M$, where $\mathcal{P}_N = \{i \le p : g_N^{-1}(\theta_i) > U_N\} = \{i \le p : \lambda_i(H_N) \to
    g_N^{-1}(\theta_i)\}$ and $\mathcal{Q}_N$ likewise with $L_N$.""",
    measure=draw_instances,
    control=Form(r"The inclusions if no spike has $\sigma s_N \le |\theta_i| \le \sigma s_M$.", {"clear": True}),
    correction=Form(
        r"""$\mathcal{P}_M \subseteq \mathcal{P}_N$ and $\mathcal{Q}_M \subseteq \mathcal{Q}_N$ for the eigenvalues that
        leave the bulk, $\mathcal{P}_N = \{i \le p : \theta_i > \sigma s_N\}$ and $\mathcal{Q}_N$ likewise; the larger
        set has in addition exactly the spikes with $\sigma s_N < |\theta_i| \le \sigma s_M$. By the condition
        $g_N^{-1}(\theta_i) > U_N$ alone, either set contains every spike except one at its own threshold: they are
        equal unless a spike is at one, and the printed inclusion fails exactly for $|\theta_i| = \sigma s_M$.""",
        {"reverse": True, "readings": ("limit",), "assumption": False, "by_condition": "M"},
        mutants=(
            {"reverse": False},
            {"readings": ("condition",)},
            {"exchanged": True},
            {"reach": 1.1},
            {"reach": 0.9},
            {"by_condition": "N"},
            {"by_condition": "neither"},
        ),
        asks="neither",
    ),
    uses=("fedloru-v2/prop-3.1",),
    because="The client has more noise, so its outliers are a subset of the server's. The inclusion goes the other "
    "way.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“Given that U_N < U_M and L_N > L_M, it follows that P_N ⊆ P_M” (A.4); more noise gives fewer outliers",
    ),
)
def claim_inclusion(
    instances: list[Instance],
    reverse: bool = False,
    readings: tuple[SetReading, ...] = READINGS,
    clear: bool = False,
    assumption: bool = True,
    exchanged: bool = False,
    reach: float = 1.0,
    by_condition: str = "",
) -> Evidence:
    """A spike beyond sigma s_M is beyond sigma s_N, so an eigenvalue that leaves the bulk at M also leaves it at N.

    ``reach`` scales the upper end of the gap, ``exchanged`` lets s_N exceed s_M, ``by_condition`` names the threshold
    at which a spike breaks the printed inclusion of the sets by the condition.
    """

    def gap(instance: Instance, reading: SetReading) -> Gap:
        at_M, at_N = _sets(instance, reading)
        if exchanged:
            at_M, at_N = at_N, at_M
        missing = at_M - at_N if reverse else at_N - at_M
        if missing or not reverse:
            return Gap(bool(missing), len(missing), f"{len(missing)} missing in the larger set")
        between = frozenset(
            i
            for i, theta in enumerate(instance.spikes)
            if instance.noise_N < abs(theta) <= Fraction(reach) * instance.noise_M
        )
        others = len(between ^ (at_N - at_M))
        if by_condition:
            whole_M, whole_N = _sets(instance, "condition")
            at = {"M": instance.noise_M, "N": instance.noise_N}.get(by_condition)
            others += len((whole_N - whole_M) ^ {i for i, theta in enumerate(instance.spikes) if abs(theta) == at})
        return Gap(others > 0, others, "the additional indices are others")

    def proof() -> tuple[Fact, ...]:
        beyond = {THETA_J: SIGMA * (S_N + A) + B}  # a spike above the threshold at M
        g_N = outliers(SYMBOLS)[2]  # by the condition only a spike at the threshold is out
        return combine(
            positive("theta_j - sigma s_N", THETA_J - SIGMA * S_N, beyond),
            identity("g - U", g_N - 2 * SIGMA * S_N - (THETA_J - SIGMA * S_N) ** 2 / THETA_J),
        )

    return judge_instances(
        assumed(instances, assumption, clear),
        gap,
        readings,
        proof=lambda: proof() if reverse else (),
        scope="spikes of both signs below, at, between and above the thresholds",
        printed="the set at M within that at N" if reverse else "the set at N within that at M",
    )


@dataclass(frozen=True)
class Index:
    r"""Contribution of one index to the sums; they are additive, so an identity for every membership proves theirs.

    Attributes:
        at_m: whether its eigenvalue leaves the bulk at M.
        at_n: the same at N.
        share_m: $g_M^{-1}(\theta_j)^2/g_M^{-1}(\theta_0)^2$, for any kind of number.
        share_n: the same at N.
        edge_m: $U_M^2/g_M^{-1}(\theta_0)^2$.
        edge_n: the same at N.
    """

    at_m: bool
    at_n: bool
    share_m: Any
    share_n: Any
    edge_m: Any
    edge_n: Any

    @property
    def difference(self) -> Any:
        """Return the contribution of the index to the left side of eq. 38, by eq. 36."""
        return (self.share_m if self.at_m else self.edge_m) - (self.share_n if self.at_n else self.edge_n)

    @property
    def edges(self) -> Any:
        """Return the bracket behind the counts."""
        return self.edge_m - self.edge_n

    def printed(self) -> tuple[Any, Any, Any]:
        """Return the contributions to the three sums of eq. 38 as printed."""
        return (
            (self.share_m - self.share_n) * int(self.at_n),
            (self.share_m - self.edge_n) * int(self.at_m and not self.at_n),
            self.edges * int(not self.at_m),
        )

    def matched(self) -> tuple[Any, Any, Any]:
        """Return the contributions with the sets the other way round: what leaves the bulk at M leaves it at N."""
        return (
            (self.share_m - self.share_n) * int(self.at_m),
            (self.edge_m - self.share_n) * int(self.at_n and not self.at_m),
            self.edges * int(not self.at_n),
        )


def _listed(instance: Instance, reading: SetReading) -> list[tuple[Index, int]]:
    at_M, at_N = _sets(instance, reading)
    spikes = [(Index(i in at_M, i in at_N, *shares, *instance.edges), 1) for i, shares in enumerate(instance.shares)]
    return [*spikes, (Index(False, False, 0, 0, *instance.edges), instance.rest)]


def _indices(instance: Instance, reading: SetReading) -> list[tuple[Index, int]]:
    """Return each spike's index once, and one index of the rest with how many there are."""
    return instance.once(("indices", reading), lambda: _listed(instance, reading))


SHARES = sympy.symbols("share_M share_N edge_M edge_N")


@claim(
    "fedloru-v2/eq-38",
    where="Appendix A.4, eq. (38)",
    says=r"""$\widehat{\mathrm{srank}}(H_M) - \widehat{\mathrm{srank}}(H_N) = \sum_{j \in \mathcal{P}_N \cup
    \mathcal{Q}_N} F_j + \sum_{j \in (\mathcal{P}_N^c \cap \mathcal{P}_M) \cup (\mathcal{Q}_N^c \cap \mathcal{Q}_M)}
    \left(\frac{g_M^{-1}(\theta_j)^2}{g_M^{-1}(\theta_0)^2} - \frac{U_N^2}{g_N^{-1}(\theta_0)^2}\right) + (M_u +
    M_l)\left(\frac{U_M^2}{g_M^{-1}(\theta_0)^2} - \frac{U_N^2}{g_N^{-1}(\theta_0)^2}\right)$, where $F_j =
    \frac{g_M^{-1}(\theta_j)^2}{g_M^{-1}(\theta_0)^2} - \frac{g_N^{-1}(\theta_j)^2}{g_N^{-1}(\theta_0)^2}$,
    $\mathcal{P}_N = \{i \le p : g_N^{-1}(\theta_i) > U_N\} = \{i \le p : \lambda_i(H_N) \to g_N^{-1}(\theta_i)\}$ and
    $\mathcal{Q}_N$ likewise with $L_N$.""",
    measure=draw_instances,
    control=Form(r"The equation if no spike has $\sigma s_N \le |\theta_i| \le \sigma s_M$.", {"clear": True}),
    correction=Form(
        r"""With $\mathcal{P}_N = \{i \le p : \theta_i > \sigma s_N\}$ and its likes, so $\mathcal{P}_M \subseteq
        \mathcal{P}_N$: the difference is $\sum_{j \in \mathcal{P}_M \cup \mathcal{Q}_M} F_j + \sum_{j \in
        (\mathcal{P}_N \cap \mathcal{P}_M^c) \cup (\mathcal{Q}_N \cap \mathcal{Q}_M^c)}
        \left(\frac{U_M^2}{g_M^{-1}(\theta_0)^2} - \frac{g_N^{-1}(\theta_j)^2}{g_N^{-1}(\theta_0)^2}\right) + (N_u +
        N_l)\left(\frac{U_M^2}{g_M^{-1}(\theta_0)^2} - \frac{U_N^2}{g_N^{-1}(\theta_0)^2}\right)$, for any largest
        spike, for finite counts $N_u$, $N_l$ (which grow with R). By the condition $g_N^{-1}(\theta_i) > U_N$ alone the
        equation holds as printed unless some $|\theta_i| = \sigma s_M$, which $\theta_0$ may be: its limit is in the
        first sum and among $M_u + M_l$.""",
        {"matched": True, "readings": ("limit",), "assumption": False, "by_condition": "off the threshold"},
        mutants=(
            {"matched": False},
            {"readings": ("condition",)},
            {"counted_at": "M"},
            {"factor": 1.01},
            {"sign": -1},
            {"extra": 1},
            {"by_condition": "everywhere"},
        ),
        asks="neither",
    ),
    uses=("fedloru-v2/claim-inclusion", "fedloru-v2/eq-39"),
    because=r"By limits, spikes from $\sigma s_N$ to $\sigma s_M$ show at N only, and no sum has them. By the "
    r"condition, one at $\sigma s_M$ counts twice.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        r"“by matching the indices” with $P_N \subseteq P_M$: the second sum runs over “P_N^c ∩ "
        "P_M”, which is empty",
    ),
)
def eq_38(
    instances: list[Instance],
    matched: bool = False,
    readings: tuple[SetReading, ...] = READINGS,
    clear: bool = False,
    assumption: bool = True,
    counted_at: str = "",
    factor: float = 1.0,
    sign: int = 1,
    extra: int = 0,
    by_condition: str = "",
) -> Evidence:
    """Both sides agree index by index: for an outlier at both sizes, an outlier only at N, or an edge at both.

    ``counted_at`` takes the last sum over another set, ``sign`` is the sign of the second.

    ``by_condition`` adds the printed equation with the sets by the condition, with or without spikes at M's threshold.
    """
    times = Fraction(factor)

    def right(index: Index) -> Any:
        first, second, last = index.matched() if matched else index.printed()
        if counted_at:
            last = index.edges * int(not (index.at_m if counted_at == "M" else index.at_n))
        return first + sign * second + times * last

    def gap(instance: Instance, reading: SetReading) -> Gap:
        found = sum(count * (right(index) - index.difference) for index, count in _indices(instance, reading))
        found += extra * (instance.edges[0] - instance.edges[1])
        if by_condition == "everywhere" or (by_condition and instance.noise_M not in map(abs, instance.spikes)):
            indices = _indices(instance, "condition")
            found = abs(found) + abs(sum(count * (sum(index.printed()) - index.difference) for index, count in indices))
        return Gap(found != 0, abs(found), f"right side minus left side {float(found):.6g}")

    def proof() -> tuple[Fact, ...]:
        kinds = [Index(m, n, *SHARES) for m in (True, False) for n in (True, False)]
        within_m = [index for index in kinds if index.at_m or not index.at_n]  # with spikes at M's threshold left out
        sides = [(right(index), index) for index in kinds if index.at_n or not index.at_m] if matched else []
        sides += [(sum(index.printed()) if matched else right(index), index) for index in within_m]
        differences = [sympy.sympify(side - index.difference) for side, index in sides]
        return combine(*(identity(f"term of kind {i}", found) for i, found in enumerate(differences)))

    return judge_instances(
        assumed(instances, assumption, clear),
        gap,
        readings,
        proof=proof,
        scope="spikes of both signs, including equal ones, 0 to 19 other indices",
        printed="both sides equal",
    )


@cache
def _shares_are_ordered() -> tuple[Fact, ...]:
    r"""Prove the signs behind eq. 42 for $\theta_0^2 \ge \sigma^2 s_M^2$ (squares: signs drop out).

    The edge share grows from N to M; beyond the threshold at M a spike's share exceeds the edge's, and by the condition
    also at the threshold of N; between the thresholds its share at N is below the edge's at M.
    """
    g_Mj, g_N0, g_Nj, g_M0 = outliers(SYMBOLS)
    edge_M, edge_N = (2 * SIGMA * S_M / g_M0) ** 2, (2 * SIGMA * S_N / g_N0) ** 2
    above, between = SIGMA * (S_N + A), SIGMA * (S_N + A + B)
    return combine(
        positive("edges", edge_M - edge_N, {S_M: S_N + A, THETA_0: above + B}),
        positive(
            "spikes at M", (g_Mj / g_M0) ** 2 - edge_M, {S_M: S_N + A, THETA_J: above + B, THETA_0: above + B + C}
        ),
        positive(
            "a spike at N's threshold, by the condition",
            (g_Mj / g_M0) ** 2 - edge_M,
            {S_M: S_N + A, THETA_J: SIGMA * S_N, THETA_0: above + B},
        ),
        positive("between", edge_M - (g_Nj / g_N0) ** 2, {THETA_J: above, S_M: S_N + A + B, THETA_0: between + C}),
    )


@claim(
    "fedloru-v2/eq-42",
    where="Appendix A.4, eq. (42), with the sets and counts from the start of the proof",
    says=r"""Since $g_M^{-1}(\theta_j) \ge U_M$ for $j \in (\mathcal{P}_N^c \cap \mathcal{P}_M) \cup (\mathcal{Q}_N^c
    \cap \mathcal{Q}_M)$, the second and third sum of (38), $\sum_{j \in (\mathcal{P}_N^c \cap \mathcal{P}_M) \cup
    (\mathcal{Q}_N^c \cap \mathcal{Q}_M)}(\frac{g_M^{-1}(\theta_j)^2}{g_M^{-1}(\theta_0)^2} -
    \frac{U_N^2}{g_N^{-1}(\theta_0)^2}) + (M_u + M_l)D$, are $\ge \sum_{j \in (\mathcal{P}_N^c \cap \mathcal{P}_M) \cup
    (\mathcal{Q}_N^c \cap \mathcal{Q}_M)} D + (M_u + M_l) D = B_N D$ with $D = \frac{U_M^2}{g_M^{-1}(\theta_0)^2} -
    \frac{U_N^2}{g_N^{-1}(\theta_0)^2}$ and $B_N = |\{i : \lambda_i(H_N) \to U_N \text{ or } L_N\}|$.""",
    measure=draw_instances,
    control=Form(
        r"The same for $\theta_0^2 \ge \sigma^2s_M^2$ if no spike has $\sigma s_N \le |\theta_i| \le \sigma s_M$.",
        {"clear": True},
    ),
    correction=Form(
        r"""The two sums together are $\ge B_N D$, with $\ge$ for the last equality sign: each spike with
        $\sigma s_N < |\theta_j| \le \sigma s_M$ adds one more $D \ge 0$. The second and third sum of eq. (38) as
        corrected are $\ge B_N D$ as well. The reason for negative spikes is $g_M^{-1}(\theta_j) \le L_M$. All for
        $\theta_0^2 \ge \sigma^2 s_M^2$. (The proof defines $\mathcal{P}_N$ in two ways, by $g_N^{-1}(\theta_i) > U_N$
        and by $\lambda_i(H_N) \to g_N^{-1}(\theta_i)$, as if they gave one set, and so for $\mathcal{Q}_N$,
        $\mathcal{P}_M$, $\mathcal{Q}_M$. The second is taken; by the first the chain holds as printed unless a spike is
        at $\sigma s_M$.)""",
        {"last_equal": False, "readings": ("limit",), "also_matched": True, "by_condition": "off the threshold"},
        mutants=(
            {"last_equal": True},
            {"assumption": False},
            {"factor": 1.01},
            {"sign": -1},
            {"everything": True},
            {"by_condition": "everywhere"},
        ),
        asks="neither",
    ),
    uses=("fedloru-v2/eq-38", "fedloru-v2/claim-inclusion", "fedloru-v2/eq-43", "fedloru-v2/claim-sign-N"),
    because="Spikes between the thresholds count in $M_u + M_l$ but not in $B_N$, so the last equality is an "
    "inequality.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal", "The last step “= B_N (…)” identifies the two counts by the reversed inclusion; ≥ is true"
    ),
)
def eq_42(
    instances: list[Instance],
    last_equal: bool = True,
    also_matched: bool = False,
    readings: tuple[SetReading, ...] = READINGS,
    clear: bool = False,
    assumption: bool = True,
    factor: float = 1.0,
    sign: int = 1,
    everything: bool = False,
    by_condition: str = "",
) -> Evidence:
    """Every index of the sums adds at least D, which is not negative, also in eq. 38 as corrected.

    ``by_condition`` adds the printed chain with the sets by the condition, with or without spikes at M's threshold.
    """
    times = Fraction(factor)

    def sums(index: Index) -> tuple[Any, Any, Any, Any]:
        """Return the left end, middle, right end, and the second and third sum of the corrected eq. 38."""
        _, second, third = index.printed()
        middle = index.edges * ((index.at_m and not index.at_n) + (not index.at_m))
        right = times * index.edges * (everything or not index.at_n)
        return second + third, middle, right, sum(index.matched()[1:])

    def gap(instance: Instance, reading: SetReading) -> Gap:
        terms = [[count * value for value in sums(index)] for index, count in _indices(instance, reading)]
        left, middle, right, matched = (sign * sum(column) for column in zip(*terms, strict=True))
        gaps = [(middle - left, "the first step fails"), (right - middle, "the middle is below the right end")]
        if last_equal:
            gaps.append((middle - right, f"the middle exceeds the right end by {float(abs(middle - right)):.6g}"))
        if also_matched:
            gaps.append((right - matched, "the corrected sums are below the right end"))
        if by_condition == "everywhere" or (by_condition and instance.noise_M not in map(abs, instance.spikes)):
            terms = [[count * value for value in sums(index)] for index, count in _indices(instance, "condition")]
            left, middle, right, _ = map(sum, zip(*terms, strict=True))
            gaps.append((max(middle - left, abs(middle - right)), "the printed chain by the condition fails"))
        worst, part = max(gaps, key=lambda found: found[0])
        return Gap(worst > 0, worst, part)

    return judge_instances(
        assumed(instances, assumption, clear),
        gap,
        readings,
        proof=lambda: _shares_are_ordered() if times <= 1 else (),
        scope="spikes of both signs, including equal ones, 0 to 19 other indices",
        printed="left >= middle = right" if last_equal else "left >= middle >= right",
    )
