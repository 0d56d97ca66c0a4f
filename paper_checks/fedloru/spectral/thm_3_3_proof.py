"""Appendix A.5, proof of Theorem 3.3: eqs. (51) to (58)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.special import gammaln, hyp1f1

from paper_checks.claim import LITERAL, Best, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedloru.spectral.measurements.alignment import (
    RANKS,
    SCENES,
    SETTLED,
    Alignment,
    R,
    Scene,
    expected_alignment,
    measure_alignment,
)
from paper_checks.methods.domain import FROM_ONE, POSITIVE, UNIT, Axis, Cases, Searched
from paper_checks.methods.identity import (
    Equation,
    Equations,
    Point,
    generic_points,
    identities,
    judge_identity,
    rational,
)
from paper_checks.methods.inequality import collect_cases, judge_inequality
from paper_checks.methods.limit import Ladder, judge_limit
from paper_checks.methods.relations import Relation, judge_relations
from rmt.alignment import outlier_slopes
from rmt.spiked import SpikedModel

CLEAR = ("no own errors", "own errors")


def measure_clear(context: Context) -> dict[str, Alignment]:
    """Draw two scenes."""
    return measure_alignment(context, CLEAR)


def expected_norms(scene: Scene, rank: int, form: str, noise: float = 1.0) -> float:
    r"""Return the limit of the denominator in (51): printed $\sum\alpha_i^2$, or the square of $E\|m + \sqrt b z\|$."""
    total = float((outlier_slopes(scene.model, scene.gradients)[0][:rank] ** 2).sum())
    noise_square = noise * scene.gradients.noise_square
    if form == "expectations" or noise_square == 0.0:
        return total
    ratio = np.exp(gammaln(0.5 * (rank + 1)) - gammaln(0.5 * rank))
    return float(2.0 * noise_square * (ratio * hyp1f1(-0.5, 0.5 * rank, -0.5 * total / noise_square)) ** 2)


@claim(
    "fedloru-v2/eq-51-54",
    where="Appendix A.5, eqs. (51) and (54)",
    says=r"""For $r < \tilde r$, $E[C_{N,r}] = E\left[\frac{\langle\sum_{i \le
    r}\partial_{u_i^{(k_1)}}f_N^{(k_1)}u_i^{(k_1)},\ \sum_{i \le
    r}\partial_{u_i^{(k_2)}}f_N^{(k_2)}u_i^{(k_2)}\rangle}{\|\nabla\hat f^{(k_1)}_{N,r}\|\,\|\nabla\hat
    f^{(k_2)}_{N,r}\|}\right]$ (51); the denominator in (51) is $E[\|\nabla\hat f^{(k_1)}_{N,r}\|\,\|\nabla\hat
    f^{(k_2)}_{N,r}\|] = \sum_{i \le r}(\alpha_i^R)^2$ because of the independence between the clients, and
    $\left|E[C_{N,r}] - \frac{\sum_{i \le r}(\alpha_i^R)^2\phi_i^2}{\sum_{i \le r}(\alpha_i^R)^2}\right| \to 0$ (54),
    with $\alpha_i^R = E[\partial_{u_i^{(k)}} f_N^{(k)}]$.""",
    measure=measure_clear,
    control=Form(
        r"""The statement, its denominator in the limit, for distinct $|\theta_i|$, $\langle v_i, u_i\rangle \ge 0$,
        Gaussian noise, and one gradient of bounded norm for all clients, without own errors and with fixed components
        other than 0 along the $v_i$.""",
        {"scenes": ("no own errors",)},
    ),
    correction=Form(
        r"""Let $|\theta_i|$ be distinct, the noise Gaussian, and the clients' gradients one of bounded norm with fixed
        components other than 0 along the $v_i$, plus independent Gaussian own errors of variance b in every direction;
        $\langle v_i, u_i\rangle \ge 0$ for each eigenvector $u_i$. The slopes $m + \sqrt b\,z$, m their means and z
        standard normal in r dimensions, are random: the denominator tends to $(E\|m + \sqrt b z\|)^2$, and the expected
        quotient is not a quotient of expectations: $E[C_{N,r}] \to A_r^2\,\sum_{i \le r}\alpha_i^2\phi_i^2/\sum_{i \le
        r}\alpha_i^2$ with $A_r = E\cos\angle(m + \sqrt b z, m) < 1$ for $b > 0$. The printed limits hold if and only if
        $b = 0$ ($A_r = 1$ also for slopes that vary in size only).""",
        {"form": "direction"},
        mutants=({"noise": 2.0}, {"noise": 0.5}),
    ),
    uses=("fedloru-v2/lem-A.6", "fedloru-v2/eq-52-53"),
    because="With random slopes the mean of a norm exceeds the norm of the means, and a mean of quotients is not "
    "a quotient of means.",
    best={"noise": Best(1.0, "a factor of the variance b of the own errors; proved: the limit is theirs")},
    expect=("corrected", "proof"),
    family="the correction: Gaussian noise and own errors",
    intended=Intended(
        "literal",
        "“The denominator in (51) is … because of the independence between client k_1 and k_2”: not so for slopes "
        "that vary",
    ),
)
def eq_51_54(
    data: dict[str, Alignment], form: str = "expectations", noise: float = 1.0, scenes: tuple[str, ...] = CLEAR
) -> Evidence:
    """Denominators and cosines below the number of outliers."""
    places = {(what, name, rank) for what in ("norms", "cosine") for name in CLEAR for rank in (1, 2)}
    labels = {f"{name}: {what} at r = {rank}": (what, name, rank) for what, name, rank in sorted(places)}

    predicted = {
        label: (
            expected_norms(SCENES[name], rank, form, noise)
            if what == "norms"
            else expected_alignment(SCENES[name], rank, form, 0.0, noise)
        )
        for label, (what, name, rank) in labels.items()
    }

    def draws(what: str, name: str, rank: int) -> NDArray[np.float64]:
        return (data[name].norms if what == "norms" else data[name].cosines)[:, rank - 1]

    return judge_limit(
        {label: Ladder(((R, draws(*place)),), SETTLED) for label, place in labels.items() if place[1] in scenes},
        predicted,
        resolution=0.03,
        scope=f"two independent clients with three outliers: {'; '.join(scenes)}",
        settings={
            label: {**SCENES[name].numbers(), "rank": rank, "what": what}
            for label, (what, name, rank) in labels.items()
        },
    )


GROWING = {"theta": "2", "noise": "1"}
"""One spike and the scale of the noise, for gradients that grow with R."""


@claim(
    "fedloru-v2/eq-52-53",
    where="Appendix A.5, eqs. (52) and (53)",
    says=r"""For $r < \tilde r$ the numerator of (51) has the expectation $E[\sum_{i \le
    r}\partial_{u_i^{(k_1)}}f_N^{(k_1)}\partial_{u_i^{(k_2)}}f_N^{(k_2)}\langle u_i^{(k_1)}, u_i^{(k_2)}\rangle] +
    E[\sum_{i \ne j \le r}\partial_{u_i^{(k_1)}}f_N^{(k_1)}\partial_{u_j^{(k_2)}}f_N^{(k_2)}\langle u_i^{(k_1)},
    u_j^{(k_2)}\rangle]$ (52); by Lemma A.6 $E\langle u_i^{(k_1)}, u_i^{(k_2)}\rangle \to \phi_i^2$ and $E\langle
    u_i^{(k_1)}, u_j^{(k_2)}\rangle \to 0$ for $i \ne j$, thus its difference from $\sum_{i \le
    r}(\alpha_i^R)^2\phi_i^2$ tends to 0 (53).""",
    measure=measure_clear,
    readings=(
        LITERAL,
        Reading(
            "slopes of bounded mean square",
            r"Both parts for independent clients, noise as in lem-A.6 (Gaussian; for other noise see prop-3.1-dist and "
            r"eq-5), and slopes $\partial_{u_i}f$ whose mean squares stay bounded as R grows.",
            {"slopes": "bounded"},
            "(53) applies Lemma A.6, which depends on rotational symmetry, and uses only limits of inner products, for "
            "which their factors must stay bounded.",
            ({"power": 0.0}, {"power": 4.0}, {"cross": 0.1}),
        ),
    ),
    because="(53) is a difference: with slopes that grow with R, inner products that are off their limits by the order "
    "of 1/R count.",
    uses=("fedloru-v2/lem-A.6",),
    best={"power": Best(2.0, r"proved: $E\langle u_i, u_i'\rangle \to \phi_i^2$ for two clients, by (46), (47)")},
    expect=("holds", "proof"),
    intended=Intended(
        "slopes of bounded mean square",
        "“By Lemma A.6, we know … thus the numerator satisfies” (A.5): limits of the inner products by themselves give "
        "(53) only if the slopes stay bounded, as for a gradient of bounded norm",
    ),
    print="unstated",
    family="Gaussian noise",
)
def eq_52_53(data: dict[str, Alignment], slopes: str = "any", power: float = 2.0, cross: float = 0.0) -> Evidence:
    """Both parts below the number of outliers, with and without own errors of the clients; or slopes that grow."""
    if slopes == "any":
        theta, noise = (float(GROWING[name]) for name in ("theta", "noise"))
        (outlier,) = SpikedModel((theta,), scale=noise).outliers
        grown = Relation("(53): the difference tends to 0", (1.0 - outlier.overlap) ** 2, 0.0, 1e-12, case=GROWING)
        return judge_relations([grown], "one spike, r = 1, both gradients R e with a unit vector e orthogonal to v_1")
    labels = {
        f"{name}: part {part} at r = {rank}": (part, name, rank)
        for part in ("i = j", "i != j")
        for name in CLEAR
        for rank in (1, 2)
        if part == "i = j" or rank > 1
    }

    predicted = {}
    for label, (part, name, rank) in labels.items():
        means, overlaps = outlier_slopes(SCENES[name].model, SCENES[name].gradients)
        own = float(means[:rank] ** 2 @ overlaps[:rank] ** (power / 2.0))
        predicted[label] = own if part == "i = j" else cross

    return judge_limit(
        {
            label: Ladder(((R, (data[name].own if part == "i = j" else data[name].cross)[:, rank - 1]),), SETTLED)
            for label, (part, name, rank) in labels.items()
        },
        predicted,
        resolution=0.03,
        scope=f"two independent clients with three outliers: {'; '.join(CLEAR)}",
        settings={label: {**SCENES[name].numbers(), "rank": rank} for label, (part, name, rank) in labels.items()},
    )


def _drop(squares: list[Any], overlaps: list[Any], r: int) -> Any:
    """Return g(r) of eq. 55 for any number type, from alpha_i^2 and phi_i^2 of the first r + 1 directions."""
    last, first = squares[r], sum(squares[:r])
    spread = sum(a * (p - overlaps[r]) for a, p in zip(squares[:r], overlaps[:r], strict=True))
    return last * spread / (first * (first + last))


OVERLAP_AXES = (
    Axis("theta", 1.0, 1e3, FROM_ONE, words="the third spike over the scale of the noise, theta_3/(sigma s_N)"),
    Axis("ratio_1", 1e-3, 1.0, UNIT, signed=True, words="the second spike over the first, theta_2/theta_1"),
    Axis("ratio_2", 1e-3, 1.0, UNIT, signed=True, words="the third spike over the second, theta_3/theta_2"),
    *(Axis(f"alpha_{i}", 1e-3, 1e3, POSITIVE, words=f"slope along the eigenvector of spike {i}") for i in (1, 2, 3)),
)


def _overlaps(case: Mapping[str, Any]) -> list[Any]:
    """Return overlaps of spikes theta_3 = theta, theta_2 and theta_1 by their ratios, unit noise, any number type."""
    squares = [1 / case["theta"] ** 2]
    for name in ("ratio_2", "ratio_1"):
        squares.insert(0, squares[0] * case[name] ** 2)
    return [1 - square for square in squares]


@dataclass(frozen=True)
class Drops:
    """Three distinct outliers by decreasing modulus, theta_{i+1} = ratio_i theta_i, and gradients of two clients."""

    cases: Searched
    clients: dict[str, Alignment]


DROPS = (*CLEAR, "own errors, small first slope")


def measure_drops(context: Context) -> Drops:
    """Search spikes and slopes other than 0, and draw clients without and with own errors."""

    def distinct(cases: Cases) -> np.ndarray:
        first, second = np.abs(cases["ratio_1"]), cases["ratio_2"]
        return (first != 1.0) & (second != 1.0) & (first * np.abs(second) != 1.0)

    def gap(cases: Cases) -> np.ndarray:
        squares = [cases[f"alpha_{i}"] ** 2 for i in (1, 2, 3)]
        return _drop(squares, _overlaps(cases), 2)

    searched = collect_cases(context, OVERLAP_AXES, distinct, gap, examples=context.size(100, 2000), restarts=1)
    return Drops(searched, measure_alignment(context, DROPS))


def _judge_drop(cases: Searched, r: int, swapped: bool) -> Evidence:
    """Judge the sign of g(r), exactly; ``swapped`` drops the ordering of the spikes."""

    def sides(case: Mapping[str, Any]) -> tuple[Any, Any]:
        squares = [case[f"alpha_{i}"] ** 2 for i in (1, 2, 3)]
        overlaps = _overlaps(case)
        return 0 * case["theta"], _drop(squares, overlaps[::-1] if swapped else overlaps, r)

    left, right = sides(cases)
    return judge_inequality(
        left,
        right,
        0.0,
        exact=sides,
        strict=True,
        domain=cases.domain,
        case=cases,
        scope=f"algebra for r = 1, 2, 3; sign for r = 1, 2 in {len(left)} cases with |theta_i| decreasing; a tie "
        "theta_1 = -theta_2, for which g(1) = 0, is left out as degenerate",
        printed="0 < g(r)",
    )


def _judge_limits(clients: dict[str, Alignment], form: str, noise: float, factor: float) -> Evidence:
    """Judge the differences of the mean cosines at r = 1, 2, below the last of three outliers."""
    labels = {f"{name}: C_{rank} - C_{rank + 1}": (name, rank) for name in DROPS for rank in (1, 2)}
    ladders, predicted, settings = {}, {}, {}
    for label, (name, rank) in labels.items():
        steps = [expected_alignment(SCENES[name], r, form, noise=noise) for r in (rank, rank + 1)]
        cosines = clients[name].cosines
        ladders[label] = Ladder(((R, cosines[:, rank - 1] - cosines[:, rank]),), SETTLED)
        predicted[label] = factor * (steps[0] - steps[1])
        settings[label] = {**SCENES[name].numbers(), "rank": rank}
    return judge_limit(
        ladders,
        predicted,
        resolution=0.02,
        scope=f"two independent clients with three outliers: {'; '.join(DROPS)}; a tie theta_1 = -theta_2, for which "
        "g(1) = 0, is left out as degenerate",
        settings=settings,
    )


@claim(
    "fedloru-v2/eq-55",
    where="Appendix A.5, eq. (55) and the sentence after it",
    says=r"""For $r < \tilde r$: $\left|E[C_{N,r} - C_{N,r+1}] - g(r)\right| \to 0$, from (54), with $g(r) =
    \frac{\alpha_{r+1}^2\sum_{i \le r}\alpha_i^2(\phi_i^2 - \phi_{r+1}^2)}{\sum_{i \le r}\alpha_i^2 \cdot \sum_{i \le
    r+1}\alpha_i^2}$, which is strictly positive since $\phi_i^2 = 1 - \frac{\sigma^2s_N^2}{\theta_i^2} \ge 1 -
    \frac{\sigma^2s_N^2}{\theta_{r+1}^2} = \phi_{r+1}^2$.""",
    measure=measure_drops,
    control=Form(
        r"Given (54) for r and r + 1, distinct $|\theta_i|$ and slopes other than 0: the formula, and $g(r) > 0$.",
        {"limits": False},
    ),
    correction=Form(
        r"""Where (54) holds for r and r + 1 the formula follows by subtraction, and $g(r) > 0$ for $\alpha_i \ne 0$ and
        distinct $|\theta_i|$. For the gradients of eq-51-54 as corrected, with own errors of variance b, (54) does not
        hold, and $E[C_{N,r} - C_{N,r+1}] \to A_r^2S_r - A_{r+1}^2S_{r+1}$ with $S_r = \sum_{i \le
        r}\alpha_i^2\phi_i^2/\sum_{i \le r}\alpha_i^2$, which is g(r) for $b = 0$ and can be negative for $b > 0$. A
        note on a tie: for $\theta_1 = -\theta_2$ g(1) is 0, and it matters which eigenvector a client keeps. With the
        labels of Appendix A.5, where $u_1$ belongs to $g_N^{-1}(\theta_1)$ for every client, (54) for $r = 1$ and
        $E[C_{N,1} - C_{N,2}] \to 0$ hold for $b = 0$. If each client orders the eigenvalues of its own $H_N$ by
        magnitude, and that of $\theta_1$ comes first with a probability that tends to p, the limit is $-2p(1 -
        p)\phi_1^2$; Gaussian noise with twice the variance on the diagonal has $p = \frac12$.""",
        {"form": "direction"},
        mutants=({"swapped": True}, {"power": 1}, {"factor": 1.01}, {"noise": 4.0}, {"form": "expectations"}),
    ),
    uses=("fedloru-v2/eq-51-54",),
    because="(54), from which the limit is drawn, fails for clients with own errors: the difference can then be "
    "negative.",
    best={"noise": Best(1.0, "a factor of the variance b of the own errors; proved: the limit is theirs")},
    expect=("corrected", "proof"),
    family="the correction: Gaussian noise and own errors",
    intended=Intended(
        "literal",
        "“Finally, we have” (55) by subtracting (54) at r and r+1; (54) fails for random slopes. "
        "A tie |θ_1| = |θ_2| is only a note",
    ),
)
def eq_55(
    data: Drops,
    form: str = "expectations",
    noise: float = 1.0,
    limits: bool = True,
    swapped: bool = False,
    power: int = 2,
    factor: float = 1.0,
) -> Evidence:
    """First the algebra with symbols for r = 1 to 3, then the sign, exactly, for r = 1 and 2, then the limits."""
    squares, overlaps = list(sympy.symbols("a1:5")), list(sympy.symbols("p1:5"))

    def quotient(r: int) -> sympy.Expr:
        return sum(a * p for a, p in zip(squares[:r], overlaps[:r], strict=True)) / sum(squares[:r])

    point = {symbol: sympy.Rational(2 * k + 3, 7 + k**2) for k, symbol in enumerate([*squares, *overlaps])}
    used = [a ** sympy.Rational(power, 2) for a in squares]  # power 1 would be alpha instead of alpha^2
    lines = [
        Equation(f"r = {r}", quotient(r) - quotient(r + 1), rational(factor) * _drop(used, overlaps, r))
        for r in (1, 2, 3)
    ]
    algebra = judge_identity(lines, [point], "alpha_i^2 and phi_i^2 as symbols")
    if not algebra.ok:
        return algebra
    signs = [_judge_drop(data.cases, r, swapped) for r in (1, 2)]
    failed = next((evidence for evidence in signs if not evidence.ok), None)
    if failed is not None or not limits:
        return failed or signs[0]
    return _judge_limits(data.clients, form, noise, factor)


VECTORS = {name: sympy.symbols(f"{name}_1:3") for name in ("u", "w", "ut", "wt")}  # client 1, and client 2 with a t

SLOPES = sympy.symbols("a b at bt")  # along u and w of client 1, and of client 2


def draw_vectors(context: Context) -> list[Point]:
    """Draw slopes and coordinates of an outlier and a bulk eigenvector of each client: orthonormal ones, then any."""
    symbols = (*SLOPES, *(c for vector in VECTORS.values() for c in vector))
    plain = ["1", "1", "1", "1", "1", "0", "0", "1", "3/5", "4/5", "-4/5", "3/5"]
    return [dict(zip(symbols, map(rational, plain), strict=True)), *generic_points(context, symbols, 4)]


@identities(
    "fedloru-v2/eq-56",
    where="Appendix A.5, eq. (56)",
    says=r"""For $r \ge \tilde r$, $E[C_{N,r}]$ is the expectation of a quotient with the denominator $\|\nabla\hat
    f^{(k_1)}_{N,r}\|\,\|\nabla\hat f^{(k_2)}_{N,r}\|$ and the numerator $\langle\sum_{i \le \tilde r}
    \partial_{u_i^{(k_1)}}f\,u_i^{(k_1)} + \sum_{i \le r - \tilde r} \partial_{w_i^{(k_1)}}f\,w_i^{(k_1)},\ \sum_{i \le
    \tilde r} \partial_{u_i^{(k_2)}}f\,u_i^{(k_2)} + \sum_{i \le r - \tilde r} \partial_{w_i^{(k_2)}}f\rangle$.""",
    measure=draw_vectors,
    control=Form("The statement without bulk eigenvectors of client 2.", {"bulk": False}),
    correction=Form(
        r"With $w_i^{(k_2)}$ in the last sum; without it a number is added to a vector.",
        {"last": "vector"},
        mutants=({"sign": -1}, {"last": "scalar"}),
    ),
    importance="detail",
    because="The last sum lacks the vectors $w_i^{(k_2)}$, so it adds numbers to vectors.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected", "The display before has “∂_{w_i}f w_i^(k_2)”; (56) lost the vector in its last sum"
    ),
    print="misprint",
)
def eq_56(points: list[Point], last: str = "scalar", bulk: bool = True, sign: int = 1) -> Equations:
    """The inner products multiply out as stated; a number added to a vector is added to each coordinate."""
    u, w, ut, wt = (sympy.Matrix(vector) for vector in VECTORS.values())
    a, b, at, bt = SLOPES
    bt = bt * int(bulk)
    first, second = a * u + b * w, at * ut + bt * wt
    added = bt * (wt if last == "vector" else sympy.ones(2, 1))
    printed = (first.T * (at * ut + sign * added))[0]
    yield from [Equation("numerator of the cosine", (first.T * second)[0], printed)]
    return points, (
        "any vectors of the plane and any slopes: enough, since inner products are linear in either vector, so "
        "one outlier, one bulk eigenvector and two coordinates stand for any number"
    )


@claim(
    "fedloru-v2/eq-57-58",
    where="Appendix A.5, eqs. (57) and (58)",
    says=r"""For $r \ge \tilde r$, with $S = \sum_{i \le \tilde r}(\alpha_i^R)^2\phi_i^2$ and $A = \sum_{i \le \tilde
    r}(\alpha_i^R)^2$: $\left|E[C_{N,r}] - \frac{S}{(r - \tilde r)\beta^2 + A}\right| \to 0$ (57), and $\left|E[C_{N,r}
    - C_{N,r+1}] - g(r)\right| \to 0$ with $g(r) = \frac{\beta^2S}{((r-\tilde r)\beta^2 + A)((r-\tilde r+1)\beta^2 +
    A)}$ strictly positive (58); $\alpha_i^R = E[\partial_{u_i^{(k)}} f_N^{(k)}]$, $\beta = E[\partial_{w_i^{(k)}}
    f_N^{(k)}]$.""",
    measure=measure_clear,
    control=Form(
        r"""The limit (57) for the noise and the gradients of the correction with b = 0, without own errors, where it is
        S/A for every $r \ge \tilde r$.""",
        {"scenes": ("no own errors",)},
    ),
    correction=Form(
        r"""Let the $|\theta_i|$ be distinct, $\tilde r \ge 1$, the noise Gaussian with twice the variance on the
        diagonal, and the clients' gradients one of bounded norm with fixed components other than 0 along the $v_i$,
        plus independent Gaussian own errors of variance b in every direction; $\langle v_i, u_i\rangle \ge 0$ for each
        eigenvector $u_i$: $E[C_{N,r}] \to A_r^2\,S/A$, $A_r = E\cos\angle(m + \sqrt b\,z, m)$ in r dimensions, m the
        slopes along the outliers. For $b > 0$ it decreases strictly in r, like $1/r$; for $b = 0$ bulk eigenvectors
        change nothing. What enters is the mean square $E[(\partial_{w_i} f)^2] = b$; the square of the mean, $\beta^2$,
        is 0, and $2b/\pi$ if each $w_i$ is oriented by the gradient. For slopes that are $\alpha_i$ and $\beta \ne 0$
        without any spread, (57) and (58) hold.""",
        {"form": "direction"},
        mutants=({"noise": 3.0}, {"form": "expectations", "beta_square": 0.6366197723675814}),
    ),
    vary=("noise",),
    uses=("fedloru-v2/lem-A.6", "fedloru-v2/assump-A.5"),
    because=r"Slopes along the outliers vary, so $r = \tilde r$ fails already; along the bulk their mean square "
    "counts, and their mean is 0.",
    best={"noise": Best(1.0, "a factor of the variance b of the own errors; proved: the limit is theirs")},
    expect=("corrected", "proof"),
    family="the correction: Gaussian noise and own errors",
    intended=Intended(
        "literal", "“by applying Lemma A.6, we have” (57) with β² for the mean square of the slopes along w_i"
    ),
)
def eq_57_58(
    data: dict[str, Alignment],
    form: str = "expectations",
    beta_square: float = 0.0,
    noise: float = 1.0,
    scenes: tuple[str, ...] = CLEAR,
) -> Evidence:
    """Cosines from the number of outliers on."""
    labels = {f"{name}: C_{rank}": (name, rank) for name in CLEAR for rank in range(3, RANKS + 1)}
    return judge_limit(
        {
            label: Ladder(((R, data[name].cosines[:, rank - 1]),), SETTLED)
            for label, (name, rank) in labels.items()
            if name in scenes
        },
        {
            label: expected_alignment(SCENES[name], rank, form, beta_square, noise)
            for label, (name, rank) in labels.items()
        },
        scope=f"two independent clients with three outliers, ranks 3 to {RANKS}: {'; '.join(scenes)}",
        settings={label: {**SCENES[name].numbers(), "rank": rank} for label, (name, rank) in labels.items()},
    )
