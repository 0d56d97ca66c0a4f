"""Appendix A.3, proof of Lemma A.9: the minimiser in closed form (eqs. (14) to (21))."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import LITERAL, Evidence, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, OPEN_UNIT, tried
from paper_checks.methods.identity import (
    Equation,
    Equations,
    Point,
    generic_points,
    identities,
    judge_identity,
    rational,
)
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, judge_relations
from paper_checks.rolora.measurements.laws import BEST_C1, chi_square_tails
from paper_checks.rolora.measurements.second_iteration import least_values
from paper_checks.rolora.sec_a_2 import BEST_SHARE, circle_nets

Array = NDArray[np.float64]


def symbols_of(context: Context) -> list[Point]:
    """Return values for S, a, a* and b* of two dimensions, S positive definite."""
    return generic_points(context, sympy.symbols("u b0 b1 r s v"), 3)


def one_client(width: int = 2) -> dict[str, sympy.Matrix]:
    """Return S = R^T R for a triangular R, a on the first axis, a* a unit vector, b*, and what follows."""
    u, b0, b1, r, s, v = sympy.symbols("u b0 b1 r s v")
    R = sympy.Matrix([[r, s], [0, v]])
    a = sympy.Matrix([1, 0])
    truth = sympy.Matrix([2 * u, 1 - u**2]) / (1 + u**2)
    b = sympy.Matrix([[b0, b1][:width]])
    S = R.T * R
    off = (sympy.eye(2) - a * a.T) * truth * b
    return {
        "S": S,
        "a": a,
        "truth": truth,
        "b": b,
        "g": (a.T * truth)[0] * b,
        "off": off,
        "best": (a.T * S * truth)[0] / (a.T * S * a)[0] * b,
    }


@identities(
    "rolora/eq-14",
    where="Appendix A.3, eqs. (14) to (16)",
    says=r"""$\tilde b_i^\top = \frac{a^\top X_i^\top X_ia^*b^{*\top}}{a^\top X_i^\top X_ia} = \frac{a^\top X_i^\top
    X_iaa^\top a^*b^{*\top} + a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}}{a^\top X_i^\top X_ia} = g^\top +
    \frac{a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}}{a^\top X_i^\top X_ia}$.""",
    measure=symbols_of,
    mutants=[{"weight": -1.0}, {"kept": 0}],
    expect=("holds", "proof"),
)
def eq_14(points: list[Point], weight: float = 1.0, kept: int = 1) -> Equations:
    r"""The normal equation gives (14); the rest is expansion, with $a^\top a = 1$."""
    one = one_client()
    S, a, square = one["S"], one["a"], (one["a"].T * one["S"] * one["a"])[0]
    for k in range(2):
        normal = (a.T * S * (a * one["best"] - one["truth"] * one["b"]))[k]
        yield Equation(f"normal equation, entry {k}", normal, sympy.Integer(0))
        rest = (a.T * S * one["off"])[k] / square
        yield Equation(f"(16), entry {k}", one["best"][k], kept * one["g"][k] + rational(weight) * rest)
    return points, (
        "any X of two columns with X a not 0, a on the first axis, any unit a*, any b*: enough, since of X only X a "
        "and X u stand in it, u the unit vector along the part of a* across a"
    )


@identities(
    "rolora/eq-17",
    where="Appendix A.3, eq. (17)",
    says=r"""$\|\tilde b_i - g\| \le \|a^\top X_i^\top X_ia\|^{-1} \cdot \|a^\top X_i^\top X_i(I_d -
    aa^\top)a^*b^{*\top}\| = \|X_ia\|^{-2} \cdot \|a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}\|$.""",
    measure=symbols_of,
    mutants=[{"power": -1}, {"power": -3}],
    uses=("rolora/eq-14",),
    expect=("holds", "proof"),
)
def eq_17(points: list[Point], power: int = -2, weight: float = 1.0) -> Equations:
    """By (16) both sides are even equal; we compare their squares."""
    one = one_client(1)
    off, row = one["best"] - one["g"], one["a"].T * one["S"] * one["off"]
    square = (one["a"].T * one["S"] * one["a"])[0]
    yield from [Equation("both sides, squared", (off * off.T)[0], rational(weight) * square**power * (row * row.T)[0])]
    return points, (
        "any X of two columns with X a not 0, a on the first axis, any unit a*, any b*: enough, as for (14); equality"
    )


def lower_tails(_: Context) -> Array:
    r"""Return the log-probability of $\chi^2_m \le (1 - \epsilon)m$ with epsilon and m."""
    pairs = product((0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.999), (1, 2, 5, 20, 100, 1000, 10_000, 10**6, 10**8))
    return np.array([(chi_square_tails(e, m)[0], e, float(m)) for e, m in pairs])


LONGER: dict[str, Any] = {
    "cosine": "3/5",
    "sine": "4/5",
    "s": "1/2",
    "n": 100_000_000,
    "d": 10_000_000,
    "room": "1/500",
    "times": "51/50",
}
"""One client with ten samples a dimension in the second iteration: its $\\|Xa\\|^2$ is more than so many times m."""


@claim(
    "rolora/eq-18",
    where="Appendix A.3, eq. (18)",
    says=r"""As $X_i$ has independent standard normal entries and $\|a\| = 1$, $X_ia$ is a standard normal vector,
    and $P\{\|X_ia\|^2 \le (1-\epsilon_1)m\} \le \exp(-\frac{c_1\epsilon_1^2m}{K^4})$ for any $\epsilon_1 \in
    (0,1)$, where $K = \|\xi\|_{\psi_2} \ge 1$ for $\xi \sim N(0,1)$ and $c_1$ is some large absolute constant with
    which this holds.""",
    measure=lower_tails,
    readings=(
        LITERAL,
        Reading(
            "a independent of the samples",
            r"For a unit vector a that is independent of $X_i$ (the first iteration, or fresh samples) $X_ia$ is a "
            r"standard normal vector, and (18) holds for any $\epsilon_1 \in (0,1)$ with an absolute constant $c_1 > "
            r"0$.",
            {"own": False},
            "In Lemma A.9 a is $a^t$, for any t; in the first iteration, and with fresh samples in each, it is "
            "independent of them. “Large” refers to a constant that is chosen so that (18) holds.",
            ({"c1": 1.9}, {"power": 1.0}),
        ),
    ),
    because="Algorithm 2 reuses the samples in every iteration, so $X_ia$ is not normal from the second on. $c_1$ is "
    "at most 16/9, not large.",
    uses=("rolora/def-A.1",),
    expect=("holds", "proof"),
    intended=Intended(
        "a independent of the samples",
        "“$X_ia$ is a random standard Gaussian vector” (before (18)); “m ... samples for each "
        "updating step” (Lemma 5.3): fresh samples",
    ),
    print="unstated",
)
def eq_18(rows: Array, c1: float = BEST_C1, power: float = 2.0, own: bool = True) -> Evidence:
    r"""$\|X_ia\|^2$ is $\chi^2_m$: with $c_1 = 16/9$, the largest; the text calls it large.

    Args:
        rows: tails of that law.
        c1: the constant.
        power: of the threshold.
        own: whether a is from any iteration of Algorithm 2, judged in the second, or independent of the samples.
    """
    if own:
        found, missed = least_values(LONGER)
        n, times = LONGER["n"], float(Fraction(LONGER["times"]))
        more = Relation(
            f"a lower bound of the probability that |X a|^2 > {times:g} m, and an upper one for a normal vector",
            1.0 - missed if found.square > times else 0.0,
            2.0 / (n * (times - 1.0) ** 2),
            at_most=True,
            case=LONGER,
        )
        return judge_relations(
            [more],
            f"one client, the second iteration on the samples of the first, m = 10 d: |X a|^2 is at least "
            f"{found.square:.4g} m with a probability of at least {1.0 - missed:.3g}. Whether the bound by itself "
            "holds at every a^t with some c_1 is open",
        )
    left, right = rows[:, 0], -c1 * rows[:, 1] ** power * rows[:, 2] * 9.0 / 64.0
    return judge_inequality(
        left,
        right,
        1e-9 * (1.0 + np.abs(left)),
        case=lambda index: {"eps_1": float(rows[index, 1]), "m": int(rows[index, 2])},
        domain=tried(("eps_1", rows[:, 1], OPEN_UNIT), ("m", rows[:, 2], FROM_ONE)),
        scope=f"exact law, {len(rows)} pairs of thresholds from 0.001 to 0.999 and m from 1 to 1e8; a independent of "
        "X_i; c_1 is not named: it can be 16/9 and not more, since the rate of the tail is eps_1^2/4 + O(eps_1^3), so "
        "it is not large",
        printed=f"log P <= -{c1:.4g} eps^{power:g} m / K^4",
    )


@claim(
    "rolora/eq-19",
    where="Appendix A.3, eqs. (19) and (20)",
    says=r"""For any $\epsilon_0$-net $\mathcal N$ of the unit sphere, $0 < \epsilon_0 < 1$: $\|v\| \le
    \frac1{1-\epsilon_0}\max_{w \in \mathcal N}v^\top w \le \frac1{1-\epsilon_0}\max_{w \in \mathcal N}|v^\top w|$,
    $v^\top = a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}$.""",
    measure=circle_nets,
    mutants=[{"share": 0.1}, {"power": 3}],
    stands_in={"share": ("first line",)},  # in the second it is on both sides
    best=BEST_SHARE,
    uses=("rolora/lem-A.7",),
    expect=("holds", "proof"),
)
def eq_19(nets: Array, share: float = 1.0, power: int = 1) -> Evidence:
    """V is a multiple of b*, so any direction can occur: the one farthest from the net, of length 3."""
    kept = nets[nets[:, 1] < 1.0]
    count, radius, least = kept.T
    factor = 3.0 / np.maximum(1.0 - share * radius**power, 1e-12)
    # Of odd nets the antipode of the farthest direction is a point: the modulus is then larger.
    modulus = np.where((count % 2 == 1), 1.0, least)
    left, right = np.concatenate([np.full(len(kept), 3.0), factor * least]), np.concatenate([factor * least] * 2)
    right[len(kept) :] = factor * modulus
    return judge_inequality(
        left,
        right,
        1e-9,
        quotient=True,
        case=lambda index: {"points": int(count[index % len(kept)])},
        lines=np.repeat(["first line", "second line"], len(kept)).tolist(),
        domain=tried(("eps_0", radius, OPEN_UNIT)),
        scope="nets of 4 to 10000 points of the circle, with and without antipodes, coordinate vectors in d = 2 and 3",
        printed="both lines",
    )


@claim(
    "rolora/eq-21",
    where="Appendix A.3, eq. (21)",
    says=r"""$a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}w = \sum_{j=1}^m(a^\top x_{i,j})(x_{i,j}^\top(I_d -
    aa^\top)a^*b^{*\top}w)$.""",
    measure=lambda context: generic_points(context, sympy.symbols("x:6 w0 w1 u b0 b1"), 3),
    mutants=[{"projected": False}, {"rows": 2}],
    expect=("holds", "proof"),
)
def eq_21(points: list[Point], projected: bool = True, rows: int = 3, weight: float = 1.0) -> Evidence:
    r"""The Gram matrix is the sum of the $x_{i,j}x_{i,j}^\top$; written out for three samples of two entries."""
    one = one_client()
    X, w = sympy.Matrix(3, 2, sympy.symbols("x:6")), sympy.Matrix(sympy.symbols("w0 w1"))
    off = one["off"] if projected else one["truth"] * one["b"]
    summands = [(X[j, :] * one["a"])[0] * (X[j, :] * off * w)[0] for j in range(rows)]
    whole = (one["a"].T * X.T * X * one["off"] * w)[0]
    return judge_identity(
        [Equation("(21)", whole, rational(weight) * sum(summands))],
        points,
        "three samples, two dimensions, any entries: enough, since each side is a sum over the samples, and of X only "
        "X a and X u stand in it, u the unit vector along the part of a* across a",
    )
