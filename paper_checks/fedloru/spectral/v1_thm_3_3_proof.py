"""Appendix A.3 of v1 and iclr: the proof of Theorem 3.3 of v1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.facts import Fact, combine, identity, positive
from paper_checks.methods.domain import FROM_ONE, UNIT, Axis, Cases, Searched
from paper_checks.methods.inequality import collect_cases, judge_inequality
from rmt.spiked import wigner_outlier


@dataclass(frozen=True)
class Instance:
    r"""Spikes by decreasing value, $\sigma s_M$, $\sigma s_N$, and numbers of further eigenvalues at the edges."""

    spikes: tuple[Fraction, ...]
    client: Fraction
    server: Fraction
    alpha: int
    beta: int

    def counts(self, noise: Fraction) -> tuple[int, int]:
        """Return the numbers a, b of positive and negative outliers."""
        return sum(spike > noise for spike in self.spikes), sum(spike < -noise for spike in self.spikes)

    def numbers(self) -> dict[str, Any]:
        """Return plain numbers for witnesses."""
        return {
            "spikes": [str(spike) for spike in self.spikes],
            "client": str(self.client),
            "server": str(self.server),
            "alpha": self.alpha,
            "beta": self.beta,
        }


def draw_instances(context: Context) -> list[Instance]:
    """Draw all choices of spikes around the thresholds 1/2 and 1, one an outlier at M; few of both signs first."""
    values = [Fraction(n, 10) for n in (31, 17, 8, 3)]
    rng, found = context.rng("edges"), []
    for size in range(1, 5):
        for above in combinations(values, size):
            for below in (chosen for k in range(4) for chosen in combinations(values[1:], k)):
                if above[0] > 1:
                    spikes = (*above, *(-value for value in sorted(below)))
                    alpha, beta = (int(n) for n in rng.integers(0, 4, 2))
                    found.append(Instance(spikes, Fraction(1), Fraction(1, 2), alpha, beta))
    return sorted(found, key=lambda one: (not 0 < -one.spikes[-1] < one.spikes[0], not one.alpha, len(one.spikes)))


@claim(
    "fedloru-v1/proof-3.3-sets",
    where="v1 Appendix A.3, $a_N$ and $b_N$ before eq. (33) and the sentence before eq. (35); iclr Appendix A.3, "
    "before eqs. (29) and (31)",
    says=r"""With $g_N^{-1}(\theta_{a_N}) > U_N > g_N^{-1}(\theta_{a_N+1})$ and $g_N^{-1}(\theta_{p+q-b_N}) > L_N >
    g_N^{-1}(\theta_{p+q-b_N+1})$, and likewise for M: $a_N > a_M$ and $b_N < b_M$.""",
    measure=draw_instances,
    control=Form(
        r"""For the semicircle and the eigenvalues that leave the bulk: $a_N > a_M$ if a positive spike has $\sigma s_N
        < \theta_j < \sigma s_M$.""",
        {"between_only": True},
    ),
    correction=Form(
        r"""For the semicircle of variance $\sigma^2$: $a_N \ge a_M$ and $b_N \ge b_M$ for the eigenvalues that leave
        the bulk. A smaller sample has at most as many outliers, and as many if no spike has $\sigma s_N < |\theta_j|
        \le \sigma s_M$.""",
        {"strict": False, "b_sign": -1},
        mutants=({"b_sign": 1}, {"strict": True}, {"a_sign": -1}),
    ),
    uses=("fedloru-v2/prop-3.1",),
    because="The larger sample has at least as many outliers of either sign, and as many if no spike lies between the "
    "thresholds.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“Since a_N > a_M and b_N < b_M”: the sum over j = b_M+1, …, b_N needs b_N ≥ b_M; "
        "equality is a degenerate case",
    ),
    print="misprint",
    family="semicircle law",
)
def proof_3_3_sets(
    instances: list[Instance], strict: bool = True, a_sign: int = 1, b_sign: int = 1, between_only: bool = False
) -> Evidence:
    """A spike beyond sigma s_M, of either sign, lies beyond sigma s_N as well (the semicircle)."""
    kept = [i for i in instances if any(i.server < spike < i.client for spike in i.spikes) or not between_only]
    a_M, b_M = np.array([i.counts(i.client) for i in kept], dtype=float).T
    a_N, b_N = np.array([i.counts(i.server) for i in kept], dtype=float).T
    left = [a_M * a_sign] if between_only else [a_M * a_sign, b_N * b_sign]
    right = [a_N * a_sign] if between_only else [a_N * a_sign, b_M * b_sign]
    less = "<" if strict else "<="
    judged = judge_inequality(
        np.concatenate(left),
        np.concatenate(right),
        0.0,
        strict=strict,
        lines=np.repeat(["a", "b"][: len(left)], len(kept)).tolist(),
        case=lambda index: {**kept[index % len(kept)].numbers(), "end": ("positive", "negative")[index // len(kept)]},
        scope=f"{len(kept)} sets of spikes of both signs below, between and above the thresholds",
        printed=" and ".join(
            f"{end}_M {less} {end}_N" if grows else f"{end}_N {less} {end}_M"
            for end, grows in (("a", a_sign > 0), ("b", b_sign < 0))[: len(left)]
        ),
        domain="only the order of spikes and thresholds matters; not tried: more spikes",
    )
    # Outliers at M are spikes beyond sigma s_M, of either sign, and so beyond sigma s_N: one set contains the other.
    spike, server, a, b = sympy.symbols("theta n a b")
    beyond = positive("an outlier at M beyond sigma s_N", spike - server, {spike: server + a + b})
    return replace(judged, facts=combine(beyond)) if judged.ok and not (strict or between_only) else judged


def _ratio(theta: Any, first: Any, noise: Any) -> Any:
    """Return (g(theta) / g(theta_1))^2 for the semicircle."""
    return (wigner_outlier(theta, noise) / wigner_outlier(first, noise)) ** 2


def _edge(first: Any, noise: Any) -> Any:
    """Return (U / g(theta_1))^2 for the semicircle."""
    return (2 * noise / wigner_outlier(first, noise)) ** 2


def six_sums(instance: Instance) -> tuple[list[tuple[str, int, Fraction]], Fraction]:
    """Return the six sums of (35) with their numbers of terms, and the difference of the limiting stable ranks."""
    M, N, first = instance.client, instance.server, instance.spikes[0]
    positive = [spike for spike in instance.spikes if spike > 0]
    negative = [spike for spike in reversed(instance.spikes) if spike < 0]  # the most negative one first
    (a_M, b_M), (a_N, b_N) = instance.counts(M), instance.counts(N)
    both = _edge(first, M) - _edge(first, N)
    sums: list[tuple[str, int, Fraction]] = []
    for side, spikes, low, high, size, start in (
        ("positive", positive, a_M, a_N, len(positive) + instance.alpha, 1),
        ("negative", negative, b_M, b_N, len(negative) + instance.beta, 0),
    ):
        moved = [_ratio(t, first, M) - _ratio(t, first, N) for t in spikes[start:low]]
        lost = [_edge(first, M) - _ratio(t, first, N) for t in spikes[low:high]]
        inside = size - high
        sums += [
            (f"{side}: outliers at both", len(moved), sum(moved, Fraction(0))),
            (f"{side}: outliers at N only", len(lost), sum(lost, Fraction(0))),
            (f"{side}: at the edge", inside, inside * both),
        ]
    total = Fraction(0)
    for noise, sign in ((M, 1), (N, -1)):
        out = [t for t in instance.spikes if abs(t) > noise]
        edge = len(instance.spikes) + instance.alpha + instance.beta - len(out)
        total += sign * (sum((_ratio(t, first, noise) for t in out), Fraction(0)) + edge * _edge(first, noise))
    return sums, total


@cache
def _between_the_thresholds(edge: float) -> tuple[Fact, ...]:
    """Prove 0 < G_j for N < theta < M < theta_1, as a difference of squares, and F_j - G_j as a square."""
    first, theta, M, N, a, b, c = sympy.symbols("theta_1 theta M N a b c")
    factor, order = sympy.Rational(str(edge)), {theta: N + a, M: N + a + b, first: N + a + b + c}
    root = 2 * factor * M / wigner_outlier(first, M) - wigner_outlier(theta, N) / wigner_outlier(first, N)
    apart = _ratio(theta, first, M) - _edge(first, M) - ((theta - M**2 / theta) / wigner_outlier(first, M)) ** 2
    return combine(positive("U_M/g_M(1) - g_N(j)/g_N(1)", root, order), identity("F_j - G_j less a square", apart))


@cache
def _six_sums_in_full() -> tuple[Fact, ...]:
    """For all spikes and counts: on each side the terms add up, and no term of a sum is negative.

    With n = N, M = n + a and the size of a spike: at most N + a + b beyond the edge of neither, between, or beyond M.
    """
    first, theta, M, N, a, b, c = sympy.symbols("theta_1 theta M N a b c")
    size, a_M, a_N, at_M, at_N, edge_M, edge_N = sympy.symbols("size a_M a_N at_M at_N edge_M edge_N")
    side = a_M * at_M + (size - a_M) * edge_M - a_N * at_N - (size - a_N) * edge_N  # one value for each kind of term
    sums = a_M * (at_M - at_N) + (a_N - a_M) * (edge_M - at_N) + (size - a_N) * (edge_M - edge_N)
    outliers = {M: N + a, theta: N + a + b, first: N + a + b + c}
    return combine(
        identity("the three sums of a side less its part of the difference", side - sums),
        positive("outliers at both", _ratio(theta, first, M) - _ratio(theta, first, N), outliers),
        *_between_the_thresholds(1.0),
        positive("at the edge", _edge(first, M) - _edge(first, N), {M: N + a, first: N + a + b}),
    )


@claim(
    "fedloru-v1/eq-35",
    where="v1 Appendix A.3, eq. (35) and closing sentence; iclr Appendix A.3, eq. (31)",
    says=r"""With $g(j)$ for $g^{-1}(\theta_j)$ and, without loss of generality, $|\theta_1| > |\theta_{p+q}|$:
    $\widehat{\mathrm{srank}}(H_M) - \widehat{\mathrm{srank}}(H_N) = \sum_{j=2}^{a_M}\{(\frac{g_M(j)}{g_M(1)})^2 -
    (\frac{g_N(j)}{g_N(1)})^2\} + \sum_{j=a_M+1}^{a_N}\{(\frac{U_M}{g_M(1)})^2 - (\frac{g_N(j)}{g_N(1)})^2\} +
    \sum_{j=a_N+1}^{p+\alpha}\{(\frac{U_M}{g_M(1)})^2 - (\frac{U_N}{g_N(1)})^2\} +
    \sum_{j=1}^{b_M}\{(\frac{g_M(p+q+1-j)}{g_M(1)})^2 - (\frac{g_N(p+q+1-j)}{g_N(1)})^2\} +
    \sum_{j=b_M+1}^{b_N}\{(\frac{L_M}{g_M(1)})^2 - (\frac{g_N(p+q+1-j)}{g_N(1)})^2\} +
    \sum_{j=b_N+1}^{q+\beta}\{(\frac{L_M}{g_M(1)})^2 - (\frac{L_N}{g_N(1)})^2\}$; each of the six sums is negative, and
    therefore $\widehat{\mathrm{srank}}(H_M) - \widehat{\mathrm{srank}}(H_N)$ is negative.""",
    measure=draw_instances,
    control=Form(
        r"""The decomposition, for the semicircle, finite numbers of eigenvalues at the edges and $\theta_1$ the largest
        in modulus and an outlier at both M and N.""",
        {"sign": 0},
    ),
    correction=Form(
        r"""For the semicircle, finite counts, $|\theta_{p+q}| \le \theta_1$ and $\theta_1 > \sigma s_M$ the
        decomposition is right, each of the six sums is non-negative, and so is the difference (the theorem says $S >
        0$). Every term is divided by $g^{-1}(\theta_1)$, which has to be the largest eigenvalue in modulus at M and at
        N: for a law that is not symmetric it need not be, and at $\theta_1 \le \sigma s_M$ it is none.""",
        {"sign": 1},
        mutants=({"sign": -1}, {"dropped": 5}, {"dropped": 1}),
        asks="neither",
    ),
    also=("fedloru-iclr/eq-31",),
    uses=("fedloru-v1/eq-36", "fedloru-v2/claim-Fj-sign"),
    because="For the semicircle the sums are non-negative, so the sign contradicts the theorem that they are to prove.",
    expect=("corrected", "proof"),
    intended=Intended(
        "literal",
        "“We have six summation terms … and will show each term is negative”, and the end “is negative”, but the "
        "theorem says S > 0",
    ),
    family="the correction: semicircle law",
)
def v1_eq_35(instances: list[Instance], sign: int = -1, dropped: int | None = None) -> Evidence:
    """The terms of either side add up for any counts, and the terms of each of the six sums are not negative."""
    scope = f"{len(instances)} sets of spikes of both signs, counts at the edges from 0 to 3, exact, semicircle"
    terms = 0
    for instance in instances:
        sums, total = six_sums(instance)
        kept = [value for index, (*_, value) in enumerate(sums) if index != dropped]
        if sum(kept, Fraction(0)) != total:
            found = f"{float(sum(kept)):.4g} and {float(total):.4g}"
            return Evidence(
                False,
                scope,
                "the six sums add up",
                found,
                -1.0,
                cases=len(instances),
                witness={**instance.numbers(), "sum": "total"},
            )
        for name, count, value in sums:
            wrong = value >= 0 if sign < 0 else value < 0
            if sign and count and wrong:
                return Evidence(
                    False,
                    scope,
                    f"each sum {'< 0' if sign < 0 else '>= 0'}",
                    f"{name}: {float(value):.4g}",
                    -abs(float(value)) - 1e-9,
                    cases=len(instances),
                    witness={**instance.numbers(), "sum": name},
                )
            terms += count
    printed = f"six sums{', each >= 0' if sign else ''}"
    facts = _six_sums_in_full() if sign > 0 else ()
    return Evidence(True, scope, printed, f"{terms} terms", float(len(instances)), cases=len(instances), facts=facts)


GAP_AXES = (
    Axis("theta_1", 1.0, 1e3, FROM_ONE, words="the largest spike over the client's threshold, theta_1/(sigma s_M)"),
    Axis("theta_j", 1e-3, 1.0, UNIT, words="the spike over the client's threshold, theta_j/(sigma s_M)"),
    Axis("server", 1e-4, 1.0, UNIT, words="the server's threshold over the client's, s_N/s_M"),
)


def search_gaps(context: Context) -> Searched:
    r"""Search for a spike between the thresholds: $\sigma s_N < \theta_j \le \sigma s_M = 1 < \theta_1$."""

    def between(cases: Cases) -> NDArray[np.bool_]:
        return (cases["server"] < cases["theta_j"]) & (cases["theta_1"] > 1.0)

    def gap(cases: Cases) -> NDArray[np.float64]:
        return _edge(cases["theta_1"], 1.0) - _ratio(cases["theta_j"], cases["theta_1"], cases["server"])

    return collect_cases(context, GAP_AXES, between, gap, examples=context.size(100, 2000), restarts=1)


@claim(
    "fedloru-v1/Gj",
    where="v1 and iclr, Appendix A.3, part (ii)",
    says=r"""With $g(j)$ for $g^{-1}(\theta_j)$ and $F_j = \frac{g_M(j)^2}{g_M(1)^2} - \frac{g_N(j)^2}{g_N(1)^2}$ of
    part (i): for $j \in \{a_M+1, \ldots, a_N\}$, $G_j = \frac{U_M^2}{g_M(1)^2} - \frac{g_N(j)^2}{g_N(1)^2}$ satisfies
    $G_j < F_j < 0$, since $g_M(j) > U_M$, so $S_2 = \sum_{j=a_M+1}^{a_N}G_j$ is negative.""",
    measure=search_gaps,
    control=Form(
        r"For the semicircle, $\sigma s_N < \theta_j \le \sigma s_M < \theta_1$: $G_j \le F_j$.", {"lines": ("G <= F",)}
    ),
    correction=Form(
        r"""For the semicircle, $\sigma s_N < \theta_j \le \sigma s_M < \theta_1$: $0 < G_j \le F_j$, with equality on
        the right only for $\theta_j = \sigma s_M$.""",
        {"lines": ("G <= F", "0 < G")},
        mutants=({"lines": ("F < G",)}, {"lines": ("F < 0",)}, {"lines": ("0 < G",), "edge": 0.9}),
    ),
    readings=(
        Reading(
            "spikes that leave the bulk at N alone",
            "For the positive spikes that leave the bulk at N but not at M ($a_N - a_M$ in number; for the semicircle "
            r"$\sigma s_N < \theta_j \le \sigma s_M$), with $\theta_1 > \sigma s_M$: $G_j < F_j < 0$.",
            why="Part (ii) counts by $a_M$ and $a_N$ the eigenvalues beyond the bulk, and $g_M(j)$ is named next to "
            "$U_M$; by the indices as the appendix defines them no spike of the semicircle is between "
            "(proof-3.3-sets).",
        ),
    ),
    uses=("fedloru-v1/eq-36", "fedloru-v2/claim-Fj-sign"),
    because="For the semicircle $G_j$ is positive: the client's edge over its norm exceeds the server's outlier over "
    "its norm.",
    expect=("corrected", "proof"),
    intended=Intended(
        "spikes that leave the bulk at N alone",
        "“we have G_j < F_j < 0” from “> U_M for all j ∈ {a_M+1, …, a_N}”, indices that are not outliers at M: "
        "a_M is defined “in the similar manner” to a_N, by U_M > g_M^{-1}(θ_{a_M+1})",
    ),
    print="inconsistent",
    family="the correction: semicircle law",
)
def gj(cases: Searched, lines: tuple[str, ...] = ("G <= F", "F < 0"), edge: float = 1.0) -> Evidence:
    """G_j > 0 is a difference of squares, and F_j - G_j is a square; ``edge`` scales the edge."""

    def sides(case: Mapping[str, Any], line: str) -> tuple[Any, Any]:
        one = case["theta_1"] / case["theta_1"]
        factor = Fraction(edge) if isinstance(one, Fraction) else edge
        N = _ratio(case["theta_j"], case["theta_1"], case["server"])
        G, F = factor**2 * _edge(case["theta_1"], one) - N, _ratio(case["theta_j"], case["theta_1"], one) - N
        return {"G <= F": (G, F), "F < G": (F, G), "F < 0": (F, 0 * one), "0 < G": (0 * one, G)}[line]

    def judged(line: str) -> Evidence:
        left, right = sides(cases, line)
        return judge_inequality(
            left,
            right,
            0.0,
            exact=lambda case: sides(case, line),
            strict="=" not in line,
            domain=cases.domain,
            case=cases,
            scope=f"{len(left)} cases with sigma s_N < theta_j <= sigma s_M < theta_1, semicircle",
            printed=line,
        )

    found = [judged(line) for line in lines]
    wrong = next((evidence for evidence in found if not evidence.ok), None)
    shown = {*lines} <= {"G <= F", "0 < G"} and edge == 1.0
    return wrong or (replace(found[0], facts=_between_the_thresholds(edge)) if shown else found[0])


def _bracket_in_full(power: int) -> tuple[Fact, ...]:
    """Return the bracket by the ratio of the edges, and its sign, for all values; the sum has as many equal terms."""
    first, M, N, a, b = sympy.symbols("theta_1 M N a b")
    shrunk = (2 * M / wigner_outlier(first, N)) ** 2 * (N / M) ** power
    above = {M: N + a, first: N + a + b}
    return combine(
        identity("(U_N/g_N^-1)^2 less U_M^2/(g_N^-1)^2 (s_N/s_M)^2", _edge(first, N) - shrunk),
        positive("the bracket, M = sigma s(M), N = sigma s(N)", _edge(first, M) - _edge(first, N), above),
    )


@claim(
    "fedloru-v1/S3",
    where="v1 and iclr, Appendix A.3, part (iii)",
    says=r"""$S_3 = \sum_{j=a_N+1}^{p+\alpha}\left\{\left(\frac{U_M}{g_M^{-1}(\theta_1)}\right)^2 -
    \left(\frac{U_N}{g_N^{-1}(\theta_1)}\right)^2\right\} = (p + \alpha - a_N - 1)\left(\frac{U_M^2}{\{\theta_1 +
    s(M)\mathcal{R}_\mu(s(M)\theta_1^{-1})\}^2} - \frac{U_N^2}{\{\theta_1 +
    s(N)\mathcal{R}_\mu(s(N)\theta_1^{-1})\}^2}\right) = (p + \alpha - a_N - 1)\left(\frac{U_M^2}{\{\theta_1 +
    s(M)\mathcal{R}_\mu(s(M)\theta_1^{-1})\}^2} - \frac{U_M^2}{\{\theta_1 +
    s(N)\mathcal{R}_\mu(s(N)\theta_1^{-1})\}^2}\frac{s(N)^2}{s(M)^2}\right)$, the last by $U_N/s(N) = U_M/s(M)$; by the
    power series expansion of the R-transform $Q = 0$ (Q is defined nowhere); each of the six sums is negative.""",
    measure=draw_instances,
    readings=(
        LITERAL,
        Reading(
            "every term counted",
            r"As printed, with the prefactor $p + \alpha - a_N$ and without Q: where $S_3$ has a term, it is negative.",
            {"offset": 0},
            r"The sum runs from $a_N + 1$ to $p + \alpha$ and has equal terms; Q occurs nowhere else.",
            ({"offset": 1}, {"offset": -1}),
        ),
    ),
    control=Form("The bracket, by the ratio of the edges.", {"lines": ("bracket",)}),
    correction=Form(
        r"""The prefactor is $p + \alpha - a_N$, the number of terms, because all of them are equal. For the semicircle
        of variance $\sigma^2$ the bracket is positive for $\theta_1 > \sigma s(M)$, s(M) > s(N). Therefore $S_3 \ge 0$,
        with equality only if there are no terms.""",
        {"offset": 0, "sign": 1},
        mutants=({"offset": 1}, {"offset": -1}, {"sign": -1}, {"power": 1}),
        asks="neither",
    ),
    uses=("fedloru-v2/eq-43",),
    because="For the semicircle the bracket and $S_3$ are positive. Q, the given reason, is not defined. The prefactor "
    "is one too small.",
    expect=("corrected", "proof"),
    intended=Intended(
        "every term counted",
        "“we can easily show that Q = 0” with Q undefined; prefactor “p + α - a_N - 1” is one short; bracket positive",
    ),
    print="unstated",
    family="the correction: semicircle law",
)
def s3(
    instances: list[Instance],
    offset: int = 1,
    sign: int = -1,
    power: int = 2,
    lines: tuple[str, ...] = ("bracket", "prefactor", "sign"),
) -> Evidence:
    """The bracket by the ratio of the edges, and its sign; the sum has one such term for each index."""
    scope = f"{len(instances)} sets of spikes, counts at the edge from 0 to 3, exact, semicircle"
    for instance in instances:
        M, N, first = instance.client, instance.server, instance.spikes[0]
        terms = range(instance.counts(N)[0] + 1, sum(t > 0 for t in instance.spikes) + instance.alpha + 1)
        summed = sum((_edge(first, M) - _edge(first, N) for _ in terms), Fraction(0))
        shrunk = (2 * M / wigner_outlier(first, N)) ** 2 * (N / M) ** power
        bracket = _edge(first, M) - shrunk
        ok = {
            "bracket": bracket == _edge(first, M) - _edge(first, N),
            "prefactor": summed == (len(terms) - offset) * bracket,
            "sign": not terms or (bracket < 0 if sign < 0 else bracket > 0),
        }
        for line in lines:
            if not ok[line]:
                return Evidence(
                    False,
                    scope,
                    line,
                    f"bracket {float(bracket):.4g}, {len(terms)} terms",
                    -1.0,
                    cases=len(instances),
                    witness={**instance.numbers(), "line": line},
                )
    facts = _bracket_in_full(power) if sign > 0 and not offset else ()
    return Evidence(
        True, scope, ", ".join(lines), "in every set", float(len(instances)), cases=len(instances), facts=facts
    )
