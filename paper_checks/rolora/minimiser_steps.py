"""Appendix A.3, eqs. (14) to (31): the steps of the proof of Lemma A.9 for one client.

Absolute constants that the paper leaves unnamed are taken as large as they can be.
"""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import sympy
from numpy.typing import NDArray

from paper_checks.claim import Best, Evidence, Form, Reading, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, OPEN_UNIT, UNIT, UP_TO_ONE, tried
from paper_checks.methods.identity import (
    Equation,
    Equations,
    Point,
    generic_points,
    identities,
    judge_identity,
    rational,
)
from paper_checks.methods.inequality import judge_inequality, steps_of
from paper_checks.methods.promises import Promise, judge_promises
from paper_checks.rolora.auxiliary import BEST_SHARE, circle_nets
from paper_checks.rolora.laws import BEST_C1, BEST_C3, chi_square_tails, gaussian_product_norm, product_tail

Array = NDArray[np.float64]


def symbols_of(context: Context) -> list[Point]:
    """Values for S, a, a* and b* of two dimensions, S positive definite."""
    return generic_points(context, sympy.symbols("u b0 b1 r s v"), 3)


def one_client(width: int = 2) -> dict[str, sympy.Matrix]:
    """S = R^T R for a triangular R, a on the first axis, a* a unit vector, b*, and what follows."""
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
    says=r"$\tilde b_i^\top = \frac{a^\top X_i^\top X_ia^*b^{*\top}}{a^\top X_i^\top X_ia} = \frac{a^\top X_i^\top "
    r"X_iaa^\top a^*b^{*\top} + a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}}{a^\top X_i^\top X_ia} = g^\top + "
    r"\frac{a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}}{a^\top X_i^\top X_ia}$.",
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
    says=r"$\|\tilde b_i - g\| \le \|a^\top X_i^\top X_ia\|^{-1} \cdot \|a^\top X_i^\top X_i(I_d - "
    r"aa^\top)a^*b^{*\top}\| = \|X_ia\|^{-2} \cdot \|a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}\|$.",
    measure=symbols_of,
    mutants=[{"power": -1}, {"power": -3}],
    uses=("rolora/eq-14",),
    expect=("holds", "proof"),
)
def eq_17(points: list[Point], power: int = -2, weight: float = 1.0) -> Equations:
    """By (16) both sides are even equal; compared are their squares."""
    one = one_client(1)
    off, row = one["best"] - one["g"], one["a"].T * one["S"] * one["off"]
    square = (one["a"].T * one["S"] * one["a"])[0]
    yield from [Equation("both sides, squared", (off * off.T)[0], rational(weight) * square**power * (row * row.T)[0])]
    return points, (
        "any X of two columns with X a not 0, a on the first axis, any unit a*, any b*: enough, as for (14); equality"
    )


def lower_tails(_: Context) -> Array:
    r"""Log-probability of $\chi^2_m \le (1 - \epsilon)m$ with epsilon and m."""
    pairs = product((0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9, 0.999), (1, 2, 5, 20, 100, 1000, 10_000, 10**6, 10**8))
    return np.array([(chi_square_tails(e, m)[0], e, float(m)) for e, m in pairs])


@claim(
    "rolora/eq-18",
    where="Appendix A.3, eq. (18)",
    says=r"As $X_i$ has independent standard normal entries and $\|a\| = 1$, $X_ia$ is a standard normal vector, and "
    r"$P\{\|X_ia\|^2 \le (1-\epsilon_1)m\} \le \exp(-\frac{c_1\epsilon_1^2m}{K^4})$ for any $\epsilon_1 \in "
    r"(0,1)$, where $K = \|\xi\|_{\psi_2} \ge 1$ for $\xi \sim N(0,1)$ and $c_1$ is some large absolute constant with "
    "which this holds.",
    measure=lower_tails,
    mutants=[{"c1": 1.9}, {"power": 1.0}],
    readings=(
        Reading(
            "a independent of the samples",
            r"For a unit vector a that is independent of $X_i$ (the first iteration, or fresh samples): (18).",
            why="Then $X_ia$ is a standard normal vector, from which the text draws (18).",
        ),
    ),
    uses=("rolora/def-A.1",),
    expect=("holds", "proof"),
)
def eq_18(rows: Array, c1: float = BEST_C1, power: float = 2.0) -> Evidence:
    r"""$\|X_ia\|^2$ is $\chi^2_m$: with $c_1 = 16/9$, the largest; the text calls it large."""
    left, right = rows[:, 0], -c1 * rows[:, 1] ** power * rows[:, 2] * 9.0 / 64.0
    return judge_inequality(
        left,
        right,
        1e-9 * (1.0 + np.abs(left)),
        case=lambda index: {"eps_1": float(rows[index, 1]), "m": int(rows[index, 2])},
        domain=tried(("eps_1", rows[:, 1], OPEN_UNIT), ("m", rows[:, 2], FROM_ONE)),
        scope=f"exact law, {len(rows)} pairs of thresholds from 0.001 to 0.999 and m from 1 to 1e8; a independent of "
        "X_i; c_1 is not named: it can be 16/9 and not more, since the rate of the tail is eps_1^2/4 + O(eps_1^3), so "
        "that it is not large",
        printed=f"log P <= -{c1:.4g} eps^{power:g} m / K^4",
    )


@claim(
    "rolora/eq-19",
    where="Appendix A.3, eqs. (19) and (20)",
    says=r"For any $\epsilon_0$-net $\mathcal N$ of the unit sphere, $0 < \epsilon_0 < 1$: $\|v\| \le "
    r"\frac1{1-\epsilon_0}\max_{w \in "
    r"\mathcal N}v^\top w \le \frac1{1-\epsilon_0}\max_{w \in \mathcal N}|v^\top w|$, $v^\top = a^\top X_i^\top "
    r"X_i(I_d - aa^\top)a^*b^{*\top}$.",
    measure=circle_nets,
    mutants=[{"share": 0.1}, {"power": 3}],
    stands_in={"share": ("first line",)},  # in the second it stands on both sides
    best=BEST_SHARE,
    uses=("rolora/lem-A.7",),
    expect=("holds", "proof"),
)
def eq_19(nets: Array, share: float = 1.0, power: int = 1) -> Evidence:
    """V is a multiple of b*, so that any direction can occur: the one farthest from the net, of length 3."""
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
    says=r"$a^\top X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}w = \sum_{j=1}^m(a^\top x_{i,j})(x_{i,j}^\top(I_d - "
    r"aa^\top)a^*b^{*\top}w)$.",
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


@claim(
    "rolora/eq-22",
    where="Appendix A.3, eqs. (22) to (25)",
    says=r"With $c_2 = (C')^2$, C' that of Corollary A.5, $\|a\| = \|w\| = 1$ and $v = (I_d - aa^\top)a^*b^{*\top}w$: "
    r"$\|(a^\top x_{i,j})(x_{i,j}^\top v)\|_{\psi_1} "
    r"\le \|a^\top x_{i,j}\|_{\psi_2} \cdot \|x_{i,j}^\top v\|_{\psi_2} \le c_2\|a\| \cdot \|v\| \le c_2\|a\| \cdot "
    r"\|(I_d - aa^\top)a^*b^{*\top}\|_{op}\|w\| \le c_2\|(I_d - aa^\top)a^*b^{*\top}\|_{op}$.",
    measure=lambda context: gaussian_product_norm(0.0),
    mutants=[{"c2": 2.6}, {"c2": 1.4}],
    readings=(
        Reading(
            "a and w fixed",
            "(22) to (25) for unit vectors a and w that are fixed, or independent of the samples.",
            why="Corollary A.5, from which (23) is, is one for a fixed vector; and the right sides have no samples.",
        ),
    ),
    stands_in={"c2": ("step 2",)},  # in the lines after it, it stands on both sides
    uses=("rolora/lem-A.3", "rolora/cor-A.5"),
    expect=("holds", "proof"),
)
def eq_22(norm: float, c2: float = 8 / 3) -> Evidence:
    """The factors are independent, since v is orthogonal to a; w at every angle to b*."""
    cosines = np.linspace(0.0, 1.0, 11)
    lines = [norm * cosines, 8.0 / 3.0 * cosines, c2 * cosines, np.full(11, c2)]
    left, right = np.concatenate(lines[:-1]), np.concatenate(lines[1:])
    return judge_inequality(
        left,
        right,
        1e-9,
        quotient=True,
        case=lambda index: {"line": 22 + index // 11, "cosine": float(cosines[index % 11])},
        lines=steps_of(lines),
        domain=tried(("cosine of the angle", cosines, UNIT)),
        scope="the vector a fixed, or independent of the samples; w at 11 angles to b*; c_2 = C'^2 = 8/3 with the "
        f"best C'; the norm itself is {norm:.4f} times |v|",
        printed=f"every line with c_2 = {c2:.4g}",
    )


def summed_products(_: Context) -> Array:
    """Log-probability that a sum of m products of independent normal variables reaches eps m, with eps and m."""
    pairs = product((0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.999), (1, 3, 10, 100, 1000, 10_000, 10**8))
    return np.array([(product_tail(e, m), e, float(m)) for e, m in pairs])


@claim(
    "rolora/eq-26",
    where="Appendix A.3, eqs. (26) to (29)",
    says=r"For any fixed $w \in \mathcal N$, $\epsilon_2 \in (0, 1)$ and some absolute constant $c_3$: $P\{|a^\top "
    r"X_i^\top X_i(I_d - aa^\top)a^*b^{*\top}w| \ge \epsilon_2m\|(I_d - aa^\top)a^*b^{*\top}\|_{op}\} = "
    r"P\{|\sum_{j=1}^m(a^\top x_{i,j})(x_{i,j}^\top(I_d - aa^\top)a^*b^{*\top}w)| \ge \ldots\} \le "
    r"2\exp(-c\min(\frac{\epsilon_2^2m^2K^2}{\sum_j\|Z_j\|_{\psi_1}^2}, \frac{\epsilon_2mK}{\max_j\|Z_j\|_{\psi_1}})) "
    r"= 2\exp(-c_3\epsilon_2^2m)$, where $Z_j$ are the summands and $K = \|(I_d - "
    r"aa^\top)a^*b^{*\top}\|_{op}$.",
    measure=summed_products,
    uses=("rolora/thm-A.8", "rolora/eq-22", "rolora/eq-30"),
    importance="detail",
    because="(29) prints an equality: (28) depends on the angle of w and b*, and (29) does not; a bound is meant, and "
    "holds.",
    control=Form(r"With $\le$ in (29) and half of $c_3$.", {"equal": False, "c3": BEST_C3 / 2.0}),
    correction=Form(
        r"With $\le$ in (29), for $K > 0$ and a independent of the samples: by (30) and (31), (28) is at most the last "
        r"bound for every $c_3 \le c/c_2^2$. (For $K = 0$ the first probability is 1 and (28) has 0/0.) The first "
        r"probability is so even for $c_3 = g + \frac12\log g$, 0.377, $g = \frac{\sqrt5 - 1}2$, and no larger one.",
        {"equal": False},
        mutants=({"c3": 0.42}, {"power": 1.9}, {"equal": True}),
        asks="weaker",
    ),
    expect=("corrected", "proof"),
)
def eq_26(rows: Array, c3: float = BEST_C3, power: float = 2.0, equal: bool = True) -> Evidence:
    """The worst w is parallel to b*; then the sum is a normal variable times an independent chi.

    Args:
        rows: probabilities of the first side.
        c3: the constant.
        power: of the threshold.
        equal: whether (28) = (29) is judged, for w along b* and at 60 degrees.
    """
    if equal:
        # Over c e^2 m / |Z|^2 with the norm of a summand for w along b*, which is proportional to the cosine.
        e, cosine = 0.25, 0.5
        return judge_promises(
            [Promise("(28) = (29)", cosine**-2, 1.0, case={"eps_2": f"{e:g}", "cosine": f"{cosine:g}"})],
            "the exponents of (28) for w at 60 degrees to b* and along it: (29) is the same for both",
        )
    left, right = rows[:, 0], log(2.0) - c3 * rows[:, 1] ** power * rows[:, 2]
    return judge_inequality(
        left,
        right,
        1e-9 * (1.0 + np.abs(left)),
        case=lambda index: {"eps_2": float(rows[index, 1]), "m": int(rows[index, 2])},
        domain=tried(("eps_2", rows[:, 1], OPEN_UNIT), ("m", rows[:, 2], FROM_ONE)),
        scope=f"exact law, {len(rows)} pairs of thresholds up to 0.999 and m up to 1e8; c_3 is not named: it can be "
        f"{BEST_C3:.4f} (golden ratio plus half its logarithm) and not more, Theorem A.8 with c = 1/4 gives 9/256",
        printed=f"log P <= log 2 - {c3:.4g} eps^{power:g} m",
    )


@claim(
    "rolora/eq-30",
    where="Appendix A.3, eqs. (30) and (31) and the line after them",
    says=r"The two terms of the minimum in (28) are at least $\epsilon_2^2m/c_2^2$ and $\epsilon_2m/c_2$; and "
    r"$\epsilon_2^2m/c_2^2 \le \epsilon_2m/c_2$.",
    measure=lambda context: gaussian_product_norm(0.0),
    mutants=[{"c2": 1.4}],
    readings=(
        Reading(
            "for a positive K",
            r"For $K = \|(I_d - aa^\top)a^*b^{*\top}\|_{op} > 0$, and a and w that are fixed, or independent of the "
            r"samples: (30), (31) and $\epsilon_2^2m/c_2^2 \le \epsilon_2m/c_2$.",
            why="For K = 0 both terms are 0/0; (22) to (25), from which they are, are for fixed vectors.",
        ),
    ),
    best={"c2": Best(1.479, "searched: the norm of a summand for w along b*, by a closed form of its moments")},
    uses=("rolora/eq-22",),
    expect=("holds", "proof"),
)
def eq_30(norm: float, c2: float = 8 / 3) -> Evidence:
    """In units of the operator norm, for w at several angles to b*, with the exact norm of a summand."""
    rows = list(product((0.01, 0.5, 0.999), (1, 100), (0.1, 0.7, 1.0)))
    e, m, cosine = np.array(rows).T
    c2 = max(c2, 1e-9)
    left = np.concatenate([e**2 * m / c2**2, e * m / c2, e**2 * m / c2**2])
    right = np.concatenate([e**2 * m / (norm * cosine) ** 2, e * m / (norm * cosine), e * m / c2])
    return judge_inequality(
        left,
        right,
        1e-12,
        quotient=True,
        case=lambda index: {"line": index // len(rows), "eps_2": float(e[index % len(rows)])},
        lines=np.repeat(["squares", "firsts", "their order"], len(rows)).tolist(),
        domain=tried(("eps_2", e, OPEN_UNIT), ("m", m, FROM_ONE), ("cosine of the angle", cosine, UP_TO_ONE)),
        scope="a and w fixed, or independent of the samples; K > 0; thresholds up to 0.999, 1 and 100 samples, w at "
        "several angles to b*; c_2 = 8/3 > 1",
        printed=f"all three with c_2 = {c2:.4g}",
    )
