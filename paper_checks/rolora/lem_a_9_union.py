"""Appendix A.3, proof of Lemma A.9: the union over a net and over clients (eqs. (32) to (42))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import exp, log, log1p

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.special import gammaln

from paper_checks.claim import Best, Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, OPEN_UNIT, tried
from paper_checks.methods.identity import Equation, Point, generic_points, judge_identity, rational
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.parts import judge_parts
from paper_checks.methods.relations import Relation, Relations, relations
from paper_checks.rolora.lem_a_9_sums import product_tail
from paper_checks.rolora.measurements.laws import BEST_C1, BEST_C3, student_tail
from paper_checks.rolora.measurements.settings import PLANE, Setting, tried_settings


@dataclass(frozen=True)
class Union:
    r"""Cases of (32) to (35).

    Attributes:
        points: values of the threshold of the net and of the exponential.
        rows: log-probability that $|a^\top S_iu|$ reaches $\epsilon_2$, with 1 if it is that of some unit vectors a and
            u at a right angle, of any samples in two dimensions, and 0 if it is that of fixed ones, then $\epsilon_2$,
            $\epsilon_0$, m and d.
    """

    points: list[Point]
    rows: NDArray[np.float64]


def tail_of_some_pair(room: float, m: int) -> float:
    r"""Return $\log P(\max|a^\top X^\top Xu| \ge room\,m)$ over orthogonal unit vectors a and u, in two dimensions.

    The maximum is half the difference of the eigenvalues of $X^\top X$. With half their sum T it has, by the density
    of the eigenvalues of a Wishart matrix, the probability $\int_x^\infty(T^2 - x^2)^{(m-1)/2}e^{-T}dT/\Gamma(m)$, $x =
    room\,m$. With $T = x\cosh u$ the integrand is smooth in $\log u$ and vanishes at both ends, so the trapezoidal
    rule is exact to rounding.
    """
    x = room * m
    middle = np.arccosh(m / (2.0 * x) * (1.0 + np.sqrt(1.0 + 4.0 * room**2)))  # where the integrand is largest
    width = min(20.0 / np.sqrt(m), 6.0)
    u = middle * np.exp(np.linspace(-2.0 * width, min(width, 2.0), 8001))
    logs = m * (log(x) + u + np.log(-np.expm1(-2.0 * u)) - log(2.0)) + np.log(u) - gammaln(m)
    logs -= 0.5 * x * (np.exp(np.minimum(u, 700.0)) + np.exp(-u))
    top = float(logs.max())
    return top + log(float(np.trapezoid(np.exp(logs - top), np.log(u))))


def measure_union(context: Context) -> Union:
    """Measure both laws over thresholds and numbers of samples."""
    rows = []
    for e_2, e_0, m in product((0.001, 0.1, 0.5, 0.9, 0.999), (0.01, 0.5, 0.99), (1, 10, 1000, 30_000)):
        fixed = product_tail(e_2, m)
        rows += [(fixed, 0.0, e_2, e_0, float(m), float(d)) for d in (2, 1000)]
        rows.append((tail_of_some_pair(e_2, m), 1.0, e_2, e_0, float(m), 2.0))
    return Union(generic_points(context, sympy.symbols("e E"), 3), np.array(rows))


@claim(
    "rolora/eq-32",
    where="Appendix A.3, eqs. (32) to (35)",
    says=r"""There is an $\epsilon_0$-net with $|\mathcal N| \le (\frac2{\epsilon_0} + 1)^d$, for which $P\{\max_{w \in
    \mathcal N}|v^\top w| \ge \epsilon_2mK\} \le \sum_{w \in \mathcal N}P\{|v^\top w| \ge \epsilon_2mK\} \le
    (\frac2{\epsilon_0} + 1)^d \cdot 2\exp(-c_3\epsilon_2^2m) = 2\exp(d\log(1 + \frac2{\epsilon_0}) -
    c_3\epsilon_2^2m)$, with the row vector $v^\top$ of (19) and $K = \|(I_d - aa^\top)a^*b^{*\top}\|_{op}$.""",
    measure=measure_union,
    mutants=({"one": 0}, {"extra": 1}, {"per": 2}),
    readings=(
        Reading(
            "for a positive K",
            "For $K > 0$: (32) to (35), where (34) uses (29) for each w, and so for an a for which (29) holds; from "
            r"(32) to (35) directly, with $c_3 = \frac1{100}$, for every a, even if it depends on the samples.",
            why="For K = 0, $b^* = 0$ or an angle of 0, the event occurs on all samples. (36) follows from (32) and "
            "(35) only.",
        ),
    ),
    uses=("rolora/eq-26", "rolora/def-A.6"),
    expect=("holds", "proof"),
    intended=Intended(
        "for a positive K",
        "“Combining (17), (18), (20), and (35), we get” (36), which uses (32) and (35) only; K = 0 is degenerate, and "
        "(34) alone is for the a of (29)",
    ),
)
def eq_32(data: Union, one: int = 1, extra: int = 0, weight: float = 1.0, per: int = 100) -> Evidence:
    """The powers for d = 1 to 4, E standing for the exponential, then (32) against (35) by exact laws.

    Args:
        data: values of the threshold and of the exponential, and probabilities of (32).
        one: printed as 1 in (35).
        extra: added to the power.
        weight: of the last side.
        per: for every a, $c_3$ is 1 over this.
    """
    e, E = sympy.symbols("e E")
    scale = 2 * rational(weight) * E
    equations = [
        Equation(f"d = {d}", (2 / e + 1) ** d * 2 * E, scale * ((one * e + 2) / e) ** (d + extra)) for d in range(1, 5)
    ]
    identity = judge_identity(equations, data.points, "d from 1 to 4, any threshold")
    left, every, e_2, e_0, m, d = data.rows.T
    right = log(2.0) + d * np.log(one + 2.0 / e_0) - np.where(every == 1.0, 1.0 / per, BEST_C3) * e_2**2 * m
    bound = judge_inequality(
        left,
        right,
        1e-9 * (1.0 + np.abs(left)),
        case=lambda index: dict(zip(("eps_2", "eps_0", "m", "d"), map(float, data.rows[index, 2:]), strict=True)),
        lines=np.where(every == 1.0, "(32) and (35), every a", "(32) and (35), a independent of the samples").tolist(),
        domain=tried(("eps_2", e_2, OPEN_UNIT), ("eps_0", e_0, OPEN_UNIT), ("m", m, FROM_ONE), ("d", d, PLANE)),
        scope=f"the powers for d from 1 to 4; (32) against (35) by {len(left)} exact laws: for a independent of the "
        f"samples, with c_3 = {BEST_C3:.4g}, and in two dimensions for every a, with c_3 = 1/{per}; the row vector is "
        "a random number times b*, so one point of the net decides and the net could be left out, with its power "
        "of d",
        printed="log of (32) against log of (35)",
    )
    return judge_parts([identity, bound])


def union_rows(_: Context) -> tuple[tuple[Setting, int, float], ...]:
    """Return settings with m, and the log-probability that some client misses."""
    found = []
    thresholds = ((0.95, 0.95, 0.95), (0.1, 0.1, 0.1), (0.5, 0.5, 0.5), (0.5, 0.9, 0.99), (0.01, 0.5, 0.9))
    for (N, d), e, m in product(((1, 2), (5, 2), (100, 10), (10, 1000)), thresholds, (10, 1000, 30_000)):
        one = Setting(N, d, *e, 1.0)
        tail = student_tail(one.level, m)
        found.append((one, m, tail + log(N) if tail < -30 else log(-np.expm1(N * log1p(-exp(min(tail, -1e-12)))))))
    return tuple(found)


@claim(
    "rolora/eq-36",
    where="Appendix A.3, eqs. (36) and (37)",
    says=r"""$P\{\|\tilde b_i - g\| \le \epsilon'\|(I_d - aa^\top)a^*b^{*\top}\|_{op}\} \ge 1 - p_0$, $p_0 =
    2\exp(d\log(1 + \frac2{\epsilon_0}) - c_3\epsilon_2^2m) + \exp(-\frac{c_1\epsilon_1^2m}{K^4})$, $c_1$ and K those of
    (18), $c_3$ that of (29), and $\epsilon' = \frac{\epsilon_2}{(1-\epsilon_0)(1-\epsilon_1)}$; and
    $P\{\bigcap_{i=1}^N\|\tilde b_i - g\| \le \epsilon'\|(I_d - aa^\top)a^*b^{*\top}\|_{op}\} \ge 1 - Np_0$.""",
    measure=union_rows,
    mutants=[{"scale": 20.0}],
    best={"scale": Best(1.32, r"searched on a grid of thresholds; for small ones $\frac1{2c_3} = 1.325$ is the end")},
    uses=("rolora/eq-17", "rolora/eq-18", "rolora/eq-19", "rolora/eq-32"),
    expect=("holds", "proof"),
)
def eq_36(rows: tuple[tuple[Setting, int, float], ...], scale: float = 1.0) -> Evidence:
    """Student's law, independent clients, against p_0; ``scale`` multiplies the largest $c_1$ and $c_3$."""
    left = np.array([tail for _, _, tail in rows])
    right = np.array(
        [
            log(one.N)
            + np.logaddexp(
                log(2.0) + one.d * log1p(2.0 / one.e0) - scale * BEST_C3 * one.e2**2 * m,
                -scale * BEST_C1 * one.e1**2 * m * 9.0 / 64.0,
            )
            for one, m, _ in rows
        ]
    )
    informative = int((right < 0).sum())
    return judge_inequality(
        left,
        right,
        1e-9 * (1.0 + np.abs(left)),
        case=lambda index: {**rows[index][0].numbers(), "m": rows[index][1]},
        domain=tried_settings((one for one, _, _ in rows), [m for _, m, _ in rows]),
        scope=f"exact law, the vector a independent of the samples (proved for every a, with c_3 = 1/100); {len(rows)} "
        f"settings with 1 to 100 clients, d up "
        f"to 1000, m up to 30000, of which p_0 says something in {informative}",
        printed="log of the probability of failure",
    )


def draw_chains(context: Context) -> list[Mapping[str, float]]:
    """Draw both sides of every line of the chain on samples."""
    found: list[Mapping[str, float]] = []
    rng = context.rng("samples")
    for number in range(context.size(24, 200)):
        N, d, m = 1 + number % 4, int(rng.integers(2, 30)), int(rng.integers(2, 40))
        a, truth = (v / np.linalg.norm(v) for v in rng.standard_normal((2, d)))
        b = rng.standard_normal(d)
        off = np.outer(truth - a * (a @ truth), b)
        gaps = []
        for _ in range(N):
            X = rng.standard_normal((m, d))
            best = np.linalg.lstsq((X @ a)[:, None], X @ np.outer(truth, b), rcond=None)[0][0]
            gaps.append(best - (a @ truth) * b)
        sizes = np.linalg.norm(gaps, axis=1)
        operator = float(np.linalg.norm(off, 2))
        found.append(
            {
                "38": float(np.linalg.norm(np.mean(gaps, axis=0))),
                "39": float(sizes.mean()),
                "level": float(sizes.max()) / operator,
                "40": operator,
                "sine": float(np.linalg.norm(truth - a * (a @ truth))),
                "b": float(np.linalg.norm(b)),
            }
        )
    return found


@relations(
    "rolora/eq-38",
    where="Appendix A.3, eqs. (38) to (42)",
    says=r"""$\|\bar b - g\| = \|\frac1N\sum_i(\tilde b_i - g)\| \le \frac1N\sum_i\|\tilde b_i - g\| \le \epsilon'\|(I_d
    - aa^\top)a^*b^{*\top}\|_{op} = \epsilon'\|(I_d - aa^\top)a^*\| \cdot \|b^{*\top}\| = \epsilon'\delta^t\|b^*\|$,
    with the probability of (37).""",
    measure=draw_chains,
    mutants=[{"weight": 0.99}, {"power": 2.0}],
    uses=("rolora/eq-36", "rolora/def-5.2"),
    expect=("holds", "proof"),
)
def eq_38(chains: list[Mapping[str, float]], weight: float = 1.0, power: float = 1.0) -> Relations:
    r"""On samples, with $\epsilon'$ the smallest level that all clients keep."""
    for one in chains:
        yield Relation("(39)", one["38"], weight * one["39"], 1e-12 * one["39"], at_most=True)
        yield Relation("(40)", one["39"], one["level"] * one["40"], 1e-12 * one["39"], at_most=True)
        yield Relation("(41), (42)", one["40"], one["sine"] ** power * one["b"], 1e-10 * one["40"])
    return f"{len(chains)} draws with 1 to 4 clients, d up to 29, m up to 39"
