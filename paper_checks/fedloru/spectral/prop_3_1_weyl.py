"""Appendix A.3, proof of Proposition 3.1: eigenvalues by Weyl's inequalities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np
from hypothesis import strategies
from numpy.typing import NDArray

from paper_checks.claim import Evidence, Form, Intended, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.weyl_pairs import Pair, Row, draw_pairs, judge_rows


def measure_hessians(context: Context) -> list[Pair]:
    """Draw H_true with p positive and q negative eigenvalues (also small) and symmetric noise, R from p + q to 6."""
    sizes = strategies.sampled_from([0.001, 0.5, 1.0, 2.0, 50.0])
    spectra = strategies.integers(1, 6).flatmap(
        lambda R: strategies.integers(0, R).flatmap(
            lambda p: strategies.integers(0, R - p).flatmap(
                lambda q: strategies.tuples(
                    strategies.lists(sizes, min_size=p, max_size=p), strategies.lists(sizes, min_size=q, max_size=q)
                ).map(lambda both: [*both[0], *([0.0] * (R - p - q)), *(-v for v in both[1])])
            )
        )
    )
    return draw_pairs(context, spectra, context.size(60, 1000))


@claim(
    "fedloru-v2/eq-21-25",
    where="Appendix A.3, eqs. (21) to (25)",
    says=r"""For indices with $p < i < R - q$: by Lemma A.3, $j, k \in \{1, \ldots, R\}$, $\lambda_i(H_N) \le
    \lambda_{1+i-j}(H_{\mathrm{true}}) + \lambda_{1+i-k}(\epsilon_N)$, $i = j + k - 1 \le R$ (21), and $\lambda_i(H_N)
    \ge \lambda_{R+i-j}(H_{\mathrm{true}}) + \lambda_{R+i-k}(\epsilon_N)$, $i = j + k - R \ge 1$ (22); $k = 1 + p$ and
    $k = R - q$ give $\lambda_i(H_N) \le \lambda_{1+i-j}(H_{\mathrm{true}}) + \lambda_{i-p}(\epsilon_N)$, $i = j+p \le
    R$ (23), and $\lambda_i(H_N) \ge \lambda_{R+i-j}(H_{\mathrm{true}}) + \lambda_{i+q}(\epsilon_N)$, $i = j-q \ge 1$
    (24), $j \in \{1, \ldots, R\}$; with $i - j = p$, $i - j = -q$ and $\lambda_{1+p}(H_{\mathrm{true}}) =
    \lambda_{R-q}(H_{\mathrm{true}}) = 0$: $\lambda_{i+q}(\epsilon_N) \le \lambda_i(H_N) \le \lambda_{i-p}(\epsilon_N)$
    for all $i \in \{1, \ldots, R\}$, where $\lambda_k(\epsilon_N) = -\infty$ if $k > R$ and $+\infty$ if $k \le 0$
    (25).""",
    measure=measure_hessians,
    mutants=[{"p_shift": -1}, {"q_shift": -1}],
    uses=("fedloru-v2/lem-A.3",),
    expect=("holds", "kernel"),
)
def eq_21_25(pairs: list[Pair], p_shift: int = 0, q_shift: int = 0, tighten: float = 0.0) -> Evidence:
    """Every line at every index; the shifts replace p and q by one less, ``tighten`` asks for a margin.

    Where there are indices p < i < R - q the two eigenvalues said to be 0 are so; (25) holds for p + q = R too.
    """
    rows: list[Row] = []
    for pair in pairs:
        spectrum, noise, both, error = pair.eigenvalues()
        room = tighten * (np.abs(spectrum).max() + np.abs(noise).max())
        R, p, q = len(both), int((spectrum > 0).sum()) + p_shift, int((spectrum < 0).sum()) + q_shift
        if p < 0 or q < 0:
            continue
        for j, k in product(range(1, R + 1), repeat=2):
            bound = spectrum[k - 1] + noise[j - 1]  # 1 + i - j = k in (21), R + i - j = k in (22)
            if j + k - 1 <= R:
                line = "(23)" if k == 1 + p else "(21)"
                rows.append(Row(both[j + k - 2] + room, bound, error, pair, f"{line}, j={j}, k={k}"))
            if j + k - R >= 1:
                line = "(24)" if k == R - q else "(22)"
                rows.append(Row(bound + room, both[j + k - R - 1], error, pair, f"{line}, j={j}, k={k}"))
        if p + q < R:
            rows += [
                Row(abs(float(spectrum[k])), 0.0, error, pair, f"eigenvalue {k + 1} of H_true is 0")
                for k in (p, R - q - 1)
            ]
        for i in range(1, R + 1):
            if i + q <= R:
                rows.append(Row(noise[i + q - 1] + room, both[i - 1], error, pair, f"lower, i={i}"))
            if i - p >= 1:
                rows.append(Row(both[i - 1] + room, noise[i - p - 1], error, pair, f"upper, i={i}"))
    return judge_rows(
        rows,
        f"{len(pairs)} Hessians drawn, of dimension 1 to 6, each with some p + q <= R, {len(rows)} inequalities",
        "(21) to (25) at every index, the two eigenvalues 0 where p + q < R",
    )


@dataclass(frozen=True)
class Decomposed:
    """A Hessian, its noise and their sum by eigenvalues in decreasing order; the pair is None for diagonal matrices."""

    true: NDArray[np.float64]
    noise: NDArray[np.float64]
    both: NDArray[np.float64]
    error: float
    pair: Pair | None
    diagonals: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def measure_weyl_steps(context: Context) -> list[Decomposed]:
    """Return every pair of small diagonal matrices with p = q = 1 up to order, then drawn pairs with any p + q <= R."""
    found = []
    for R in (4, 5):
        for middle in combinations_with_replacement((1, 0, -1), R - 2):
            true = (1, *middle, -1)
            for noise in product((0, 1), repeat=R) if R == 4 else ((1,) * k + (0,) * (R - k) for k in range(R + 1)):
                if not any(noise):
                    continue
                both = np.sort(np.add(true, noise))[::-1].astype(float)
                found.append(
                    Decomposed(
                        np.array(true, float), np.sort(noise)[::-1].astype(float), both, 0.0, None, (true, noise)
                    )
                )
    for pair in measure_hessians(context)[: context.size(60, 1000)]:
        found.append(Decomposed(*pair.eigenvalues(), pair))
    return found


def _weyl_lines(
    at: Decomposed, first: int, second: int, first_shift: int, second_shift: int
) -> Iterator[tuple[str, int, int, float]]:
    """Return the name of the line with j and k, its direction, the index i on its left side, and its right side."""
    R = len(at.both)
    for j, k in product(range(1, R + 1), repeat=2):
        bound = float(at.true[k - 1] + at.noise[j - 1])  # 1 + i - j = k in the first line, R + i - j = k in the second
        for line, sign, i, shift in (
            ("first", first, j + k - 1, first_shift),
            ("second", second, j + k - R, second_shift),
        ):
            if sign and 1 <= i <= R and 1 <= i + shift <= R:
                yield f"{line} line, j={j}, k={k}", sign, i + shift, bound


def _diagonal_violation(at: Decomposed, place: str, left: float, right: float) -> Evidence:
    line, j, k = place.replace(" line", "").replace("j=", "").replace("k=", "").split(", ")
    true, noise = at.diagonals
    witness = {"line": line, "j": int(j), "k": int(k), "H_true": list(true), "epsilon": list(noise)}
    return Evidence(
        False,
        "diagonal matrices with entries -1, 0, 1",
        place,
        f"left {left:g}, right {right:g}",
        -abs(left - right),
        witness=witness,
    )


@claim(
    "fedloru-v1/eq-20-22",
    where="v1 Appendix A.2, eqs. (20) to (22); iclr Appendix A.2, eqs. (16) to (18)",
    says=r"""For $p < i < R-q$: $\lambda_i(H_N) \le \lambda_{1+i-j}(H_{\mathrm{true}}) + \lambda_{1+i-k}(\epsilon)$ for
    $i = j+k-1 \le R$ (20; iclr 16), and $\lambda_i(H_N) \le \lambda_{R+i-j}(H_{\mathrm{true}}) +
    \lambda_{R+i-k}(\epsilon)$ for $i = j+k-R \ge 1$ (21; iclr 17); hence, with $k = 1 + p$ and $k = R - q$ and since
    $\lambda_{1+p}(H_{\mathrm{true}}) = \lambda_{R-q}(H_{\mathrm{true}}) = 0$, $\lambda_{i+q}(\epsilon) \le
    \lambda_i(H_N) \le \lambda_{i-p}(\epsilon)$ for all $i \in \{1, \ldots, R\}$, where $\lambda_k(\epsilon) = -\infty$
    if $k > R$ and $+\infty$ if $k \le 0$ (22; iclr 18).""",
    measure=measure_weyl_steps,
    control=Form("The first line and the conclusion.", {"second": 0}),
    correction=Form(
        r"""The second line with the opposite sign, $\lambda_i(H_N) \ge \lambda_{R+i-j}(H_{\mathrm{true}}) +
        \lambda_{R+i-k}(\epsilon)$, as the conclusion uses it and v2 prints it; both lines for all $1 \le i \le R$.""",
        {"second": -1, "interior": False},
        mutants=(
            {"second": 1},
            {"first": -1},
            {"first_shift": -1},
            {"second_shift": 1},
            {"p_shift": -1},
            {"q_shift": -1},
        ),
        asks="neither",
    ),
    uses=("fedloru-v2/lem-A.3", "fedloru-v2/eq-21-25"),
    also=("fedloru-iclr/eq-16-18",),
    importance="detail",
    because=r"The second inequality has the wrong sign. Weyl's lower bound is $\lambda_i(H_N) \ge \ldots$, as v2 "
    "prints it.",
    expect=("holds", "kernel"),
    intended=Intended(
        "as corrected",
        "The conclusion (22) uses “λ_{i+q}(ε) ≤ λ_i(H_N)”, so the second line needs ≥; v2 (22) prints it",
    ),
    print="misprint",
)
def eq_20_22(
    found: list[Decomposed],
    first: int = 1,
    second: int = 1,
    interior: bool = True,
    first_shift: int = 0,
    second_shift: int = 0,
    p_shift: int = 0,
    q_shift: int = 0,
    tighten: float = 0.0,
) -> Evidence:
    """All three lines at all indices; 1 reads "at most", -1 "at least", 0 leaves the line out."""
    rows: list[Row] = []
    for at in found:
        R, room = len(at.both), tighten * (np.abs(at.true).max() + np.abs(at.noise).max())
        p, q = int((at.true > 0).sum()), int((at.true < 0).sum())
        for place, sign, i, bound in _weyl_lines(at, first, second, first_shift, second_shift):
            if not interior or p < i < R - q:
                if at.pair is None and sign * (at.both[i - 1] - bound) + room > 0:
                    return _diagonal_violation(at, place, at.both[i - 1], bound)
                if at.pair is not None:
                    rows.append(Row(sign * at.both[i - 1] + room, sign * bound, at.error, at.pair, f"{place}, i={i}"))
        p, q = p + p_shift, q + q_shift
        if at.pair is None or min(p, q) < 0:
            continue
        for i in range(1, R + 1):
            if i + q <= R:
                rows.append(Row(at.noise[i + q - 1] + room, at.both[i - 1], at.error, at.pair, f"lower, i={i}"))
            if i - p >= 1:
                rows.append(Row(at.both[i - 1] + room, at.noise[i - p - 1], at.error, at.pair, f"upper, i={i}"))
    return judge_rows(
        rows,
        f"{len(found)} Hessians of dimension 1 to 6, {len(rows)} inequalities",
        "all three lines" if second else "first line and conclusion",
    )
