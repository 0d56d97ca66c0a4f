"""Appendices F and G: lines of the proofs between their numbered equations, member by member."""

from __future__ import annotations

from typing import Any

import numpy as np

from algorithms.descent import Descent
from paper_checks.claim import Form, Reading
from paper_checks.context import Context
from paper_checks.fedlrt.coefficients import Lipschitz, measure_lipschitz, square
from paper_checks.fedlrt.simplified_bounds import CURVED, LINEAR, is_linear
from paper_checks.fedlrt.simplified_steps import SIMPLIFIED_ROUNDS, THEOREM, measure_traces
from paper_checks.fedlrt.traces import Array, Trace, norm, trace
from paper_checks.fedlrt.truncation_steps import E1, SCOPE, bowl, measure_rounds
from paper_checks.methods.promises import Promise, Promises, promises

CHAIN_ROUNDING = 1e-11


def error_of(one: Trace) -> float:
    """Bound on the rounding of a round's squares and products."""
    return CHAIN_ROUNDING * (1.0 + norm(one.slope_at_start) ** 2 + float((one.local_slopes**2).max()))


def inner(A: Array, B: Array) -> float:
    """Sum of the products of the entries."""
    return float((A * B).sum())


@promises(
    "fedlrt/lemma-3-proof",
    where="Appendix F, proof of Lemma 3 (of (24); (25) is said to be analogous: fedlrt/lemma-3)",
    says=r"With $D = F(US_1V^\top) - F(US_2V^\top)$: $\|P_UDP_V\| = \|UU^\top DVV^\top\| \le "
    r"\|U\|\|U^\top\|\|D\|\|V\|\|V^\top\| \le \|D\| \le L\|US_1V^\top - US_2V^\top\| = L\|U(S_1 - S_2)V^\top\| \le "
    r"L\|U\|\|S_1 - S_2\|\|V^\top\| \le L\|S_1 - S_2\|$, by the operator norm inequality of the Frobenius norm (I), "
    "orthonormality (II) and L-continuity (III).",
    measure=measure_lipschitz,
    readings=(
        Reading(
            "Frobenius norms",
            "All norms are Frobenius norms.",
            why=r"Appendix C: applied to matrices, $\|\cdot\|$ denotes the Frobenius norm.",
        ),
        Reading(
            "operator norms of the bases",
            "Norms of U, V and their transposes are operator norms, the others Frobenius norms.",
            {"norms": "operator"},
            'Step (I) is said to be by the "operator norm inequality of the Frobenius norm".',
            ({"norms": "operator", "constant": 0.99},),
        ),
    ),
    uses=("fedlrt/lemma-3",),
    importance="detail",
    because=r"The Frobenius norm of an orthonormal basis of r columns is $\sqrt r$, so that steps (II) lose a factor r "
    "or more.",
    vary=(),
    expect=("depends on the reading", "proof"),
)
def lemma_3_proof(cases: list[Lipschitz], norms: str = "Frobenius", constant: float = 1.0) -> Promises:
    """Squares of all members, in fractions, each against the next; the Frobenius norm of a basis is that of I."""
    for one in cases:
        r = one.U.shape[1]
        basis = r if norms == "Frobenius" else 1  # the square of its norm
        D, step, L = square(one.change), square(one.step), one.constant**2
        members = (
            ("step (I)", square(one.U @ (one.U.T @ one.change @ one.V) @ one.V.T), basis**4 * D),
            ("step (II), first", basis**4 * D, D),
            ("step (III)", constant**2 * D, L * square(one.U @ one.step @ one.V.T)),
            ("step (I), second", L * square(one.U @ one.step @ one.V.T), constant**2 * L * basis**2 * step),
            ("step (II), second", L * basis**2 * step, L * step),
        )
        for name, left, right in members:
            case = {"r": r} if name == "step (II), first" and r > 1 else None
            yield Promise(name, float(left > right), 0.0, at_most=True, case=case)
    return (
        "bases of rank 1 to 4 in 4 dimensions with rational entries; multiples, absolute values, clipped, transposed "
        "and rotated values for F; in fractions"
    )


TWO_CLIENTS = {"targets": [[["3", "2"], ["2", "1"]], [["1", "0"], ["0", "1"]]], "step": "1/100", "steps": 2}
"""From e1 e1' towards two targets."""


def measure_clients(context: Context) -> list[Trace]:
    """Two clients and two steps by hand, and the rounds of `measure_rounds`."""
    bowls = [bowl(B) for B in ([[3.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])]
    return [trace("two clients", bowls, E1, 1, Descent(2, 0.01), "full", kept=2), *measure_rounds(context)]


@promises(
    "fedlrt/thm-7-clients",
    where="Appendix F.2, proof of Theorem 7, the chain before eq. (32)",
    says=r"$\tilde W_{r,c}^{s_*} = \tilde U\tilde S_c^{s_*}\tilde V^\top = \tilde U\tilde S_c^{s=0}\tilde V^\top + "
    r"\tilde U\tilde U^\top\sum_{s=0}^{s_*-1}\lambda(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))\tilde "
    r"V\tilde V^\top = \tilde W_r - \lambda\sum_{s=0}^{s_*-1}P_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V} - \lambda "
    r"P_{\tilde U}(F(\tilde W_r) - F_c(\tilde W_r))P_{\tilde V}$.",
    measure=measure_clients,
    control=Form("The first two equalities.", {"keep": ("second",)}),
    correction=Form(
        r"The last member is $\tilde W_r + \lambda\sum_sP_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V} + "
        r"s_*\lambda P_{\tilde U}(F(\tilde W_r) - F_c(\tilde W_r))P_{\tilde V}$: as printed both signs are those of "
        r"$F = +\nabla\mathcal{L}$, and the factor $s_*$ of the sum over s is lost. In the mean over the clients the "
        "last term is zero, so that (32) misses the factor as well, at no cost.",
        {"sign": 1.0, "times": "s"},
        mutants=({"sign": -1.0, "times": "s"}, {"sign": 1.0, "times": "1"}, {"sign": 1.001, "times": "s"}),
    ),
    uses=("fedlrt/eq-26",),
    importance="detail",
    because=r"F is the negative gradient, so that the steps are added; the correction is added in each of $s_*$ steps.",
    vary=(),
    expect=("corrected", "proof"),
)
def thm_7_clients(
    rounds: list[Trace], sign: float = -1.0, times: str = "1", keep: tuple[str, ...] = ("second", "third")
) -> Promises:
    """Every client's model after its steps; the toolkit's bases are orthonormal, U U' is the projection."""
    for one in rounds:
        case = TWO_CLIENTS if one.name == "two clients" else None
        error = 1e-10 * (1.0 + norm(one.W) + float(np.abs(one.local_slopes).max()))
        for own, slopes in zip(one.coefficients, one.local_slopes, strict=True):
            end, away = one.model(own[-1]), -one.slope_at_start + slopes[0]  # F - F_c at the start
            second = one.model(own[0]) + one.step * one.model(one.wide((-slopes + away).sum(axis=0)))
            more = one.steps if times == "s" else 1
            third = one.W + sign * one.step * one.model(one.wide(-slopes.sum(axis=0) + more * away))
            if "second" in keep:
                yield Promise("the start and the steps of (26)", norm(end - second), 0.0, error)
            if "third" in keep:
                yield Promise("the last member", norm(end - third), 0.0, error, case=case)
    return f"two clients and two steps by hand; {SCOPE}"


@promises(
    "fedlrt/thm-7-first-term-lines",
    where="Appendix F.2, proof of Theorem 7, first term: the five equalities, and the first line of the bound (its "
    "second line: fedlrt/thm-7-first-term)",
    says=r"$-\langle\frac\lambda C\sum_{c,s}P_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V}, F(\tilde W_r)\rangle = "
    r"-\langle\frac\lambda C\sum_{c,s}P_{\tilde U}(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r))P_{\tilde V} + P_{\tilde "
    r"U}(\frac\lambda C\sum_{c,s}F_c(\tilde W_r))P_{\tilde V}, F(\tilde W_r)\rangle = -\langle\frac\lambda "
    r"C\sum_{c,s}P_{\tilde U}(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r))P_{\tilde V} + P_{\tilde U}\frac{s_*\lambda}"
    r"C\sum_cF_c(\tilde W_r)P_{\tilde V}, F(\tilde W_r)\rangle = -\langle P_{\tilde U}(\frac\lambda C\sum_{c,s}"
    r"F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r))P_{\tilde V} + P_{\tilde U}s_*\lambda F(\tilde W_r)P_{\tilde V}, "
    r"F(\tilde "
    r"W_r)\rangle = -\langle\tilde U^\top(\frac\lambda C\sum_{c,s}F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r))\tilde V, "
    r"\tilde U^\top F(\tilde W_r)\tilde V^\top\rangle - s_*\lambda\langle\tilde U^\top F(\tilde W_r)\tilde V, \tilde "
    r"U^\top F(\tilde W_r)\tilde V\rangle = -\langle\frac\lambda C\sum_{c,s}\tilde U^\top(F_c(\tilde W_{r,c}^s) - "
    r"F_c(\tilde W_r))\tilde V, \tilde U^\top F(\tilde W_r)\tilde V\rangle - s_*\lambda\|\tilde U^\top F(\tilde "
    r"W_r)\tilde V\|^2$, which is at most $\frac\lambda C\sum_{c,s}\|\tilde U^\top(F_c(\tilde W_{r,c}^s) - F_c(\tilde "
    r"W_r))\tilde V\|\|\tilde U^\top F(\tilde W_r)\tilde V\| - s_*\lambda\|\tilde U^\top F(\tilde W_r)\tilde V\|^2$.",
    measure=measure_rounds,
    control=Form(
        "All lines but the fourth equality, in the third the sums taken of both terms in the bracket.",
        {"keep": ("three", "fifth", "bound")},
    ),
    correction=Form(
        r"In the fourth equality $\tilde U^\top F(\tilde W_r)\tilde V$ for $\tilde U^\top F(\tilde W_r)\tilde V^\top$, "
        "and in it and the third the sums over c and s taken of both terms in the bracket. The other lines hold.",
        {"transposed": False},
        mutants=({"transposed": True}, {"transposed": False, "share": 0.99}),
    ),
    importance="detail",
    because=r"F has n columns and $\tilde V^\top$ 2r rows, so that for $2r < n$ the product does not exist.",
    vary=(),
    expect=("corrected", "proof"),
)
def thm_7_first_term_lines(
    rounds: list[Trace],
    transposed: bool = True,
    share: float = 1.0,
    keep: tuple[str, ...] = ("three", "fourth", "fifth", "bound"),
) -> Promises:
    """Every member as it stands, from full-rank gradients of all clients at all points."""
    for one in rounds:
        forces, F, rate, C = -one.local_slopes, -one.slope_at_start, one.step, len(one.clients)
        apart, firsts = forces - forces[:, :1], forces[:, 0]
        mean = rate / C * apart.sum(axis=(0, 1))
        wide_mean, g = one.wide(mean), one.wide(F)

        def project(A: Array, one: Trace = one) -> Array:
            return one.model(one.wide(A))

        first = -inner(one.travelled, F)
        members = [
            -inner(project(mean) + project(rate / C * one.steps * firsts.sum(axis=0)), F),
            -inner(project(mean) + project(one.steps * rate / C * firsts.sum(axis=0)), F),
            -inner(project(mean) + project(one.steps * rate * F), F),
        ]
        wide = np.array([one.wide(A) for own in apart for A in own])
        last = -inner(rate / C * wide.sum(axis=0), g) - one.steps * rate * norm(g) ** 2
        error = error_of(one)
        if "three" in keep:
            for number, member in enumerate(members, 1):
                yield Promise(f"equality {number}", first, member, error)
        if "fourth" in keep:
            columns, rows = F.shape[1], one.V.shape[1] if transposed else one.V.shape[0]
            shapes = {"n": columns, "columns": rows} if columns > rows else None
            yield Promise("the product in equality 4 exists", columns, rows, case=shapes)
            if not transposed:
                yield Promise("equality 4", first, -inner(wide_mean, g) - one.steps * rate * inner(g, g), error)
        if "fifth" in keep:
            yield Promise("equality 5", first, last, error)
        if "bound" in keep:
            norms = sum(norm(A) for A in wide)
            right = share * rate / C * norms * norm(g) - one.steps * rate * norm(g) ** 2
            yield Promise("the first line of the bound", first, right, error, at_most=True)
    return SCOPE


@promises(
    "fedlrt/thm-7-second-term-lines",
    where="Appendix F.2, proof of Theorem 7, second term: all lines (from the first expression to the last: "
    "fedlrt/thm-7-second-term)",
    says=r"With $A_c^s = P_{\tilde U}(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r))P_{\tilde V}$: $\frac L2\|\frac\lambda "
    r"C\sum_{c,s}P_{\tilde U}F_c(\tilde W_{r,c}^s)P_{\tilde V}\|^2 = \frac L2\|\frac\lambda C\sum_{c,s}A_c^s + "
    r"s_*\lambda P_{\tilde U}F(\tilde W_r)P_{\tilde V}\|^2$, which is by Lemma 5 with $\gamma = 1$ (I) at most "
    r"$L\|\frac\lambda C\sum_{c,s}A_c^s\|^2 + (s_*\lambda)^2L\|P_{\tilde U}F(\tilde W_r)P_{\tilde V}\|^2$, by Jensen "
    r"(II) at most $\frac LC\sum_c\lambda^2s_*\sum_s\|A_c^s\|^2$ with the same last term, by Lemma 3 (III) at most "
    r"$\frac{L^3\lambda^2s_*}C\sum_{c,s}\|\tilde S_c^s - \tilde S_c\|^2$ with it, and (IV) at most the same with "
    r"$(s_*\lambda)^2L\|P_{\tilde U}F(\tilde W_r)\tilde V\|^2$.",
    measure=measure_rounds,
    mutants=[{"first": 0.4}, {"second": 0.4}, {"third": 0.4}, {"fourth": 0.99}, {"leading": 1.01}],
    uses=("fedlrt/lemma-5", "fedlrt/lemma-6", "fedlrt/lemma-3"),
    importance="detail",
    vary=("fourth", "leading"),
    expect=("holds", "proof"),
)
def thm_7_second_term_lines(
    rounds: list[Trace],
    first: float = 1.0,
    second: float = 1.0,
    third: float = 1.0,
    fourth: float = 1.0,
    leading: float = 1.0,
) -> Promises:
    """Every member against the one before it, L = 1; factors of the right sides of (I) to (IV) and of the equality."""
    for one in rounds:
        forces, F, rate, C, steps = -one.local_slopes, -one.slope_at_start, one.step, len(one.clients), one.steps
        A = np.array([[one.model(one.wide(force)) for force in own] for own in forces - forces[:, :1]])
        part, whole = rate / C * A.sum(axis=(0, 1)), one.model(one.wide(F))
        kept = (steps * rate) ** 2 * norm(whole) ** 2
        left = norm(one.travelled) ** 2 / 2
        drift = sum(norm(S - own[0]) ** 2 for own in one.coefficients for S in own[:-1])
        members = (
            norm(part) ** 2 + kept,
            rate**2 * steps / C * float((A**2).sum()) + kept,
            rate**2 * steps / C * drift + kept,
            rate**2 * steps / C * drift + (steps * rate) ** 2 * norm(one.wide(F)) ** 2,
        )
        error = error_of(one)
        yield Promise("the equality", left, norm(part + leading * steps * rate * whole) ** 2 / 2, error)
        factors = (first, second, third, fourth)
        for name, before, factor, after in zip(
            ("(I)", "(II)", "(III)", "(IV)"), (left, *members), factors, members, strict=False
        ):
            yield Promise(f"step {name}", before, factor * after, error, at_most=True)
    return SCOPE


@promises(
    "fedlrt/thm-6-recursion",
    where="Appendix F.1, proof of Theorem 6, the first chain (the second, from a on: fedlrt/thm-6-proof; Theorem 6 "
    "prints λ ≤ 1/(L s_r), where Theorem 1 has s_*, and s_* is taken)",
    says=r"Under the assumptions of Theorem 6: $\|\tilde S_c^{s+1} - \tilde S_c\| = \|\tilde S_c^s - \tilde S_c + "
    r"\lambda\tilde U^\top(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))\tilde V\| \le \|\tilde S_c^s - "
    r"\tilde S_c\| + \lambda\|\tilde U^\top(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r))\tilde V\| + \lambda\|\tilde "
    r"U^\top F(\tilde W_r)\tilde V\|$, which is by Lemma 3 (I) at most $\|\tilde S_c^s - \tilde S_c\| + \lambda "
    r"L\|\tilde "
    r"S_c^s - \tilde S\| + \lambda\|\tilde U^\top F(\tilde W_r)\tilde V\| \le (1 + \lambda L)\|\tilde S_c^s - \tilde "
    r"S\| + \lambda\|\tilde U^\top F(\tilde W_r)\tilde V\| \le (1 + \frac1{s_*})\|\tilde S_c^s - \tilde S\| + "
    r"\lambda\|\tilde U^\top F(\tilde W_r)\tilde V\|$.",
    measure=measure_rounds,
    mutants=[{"steps": 1.01}, {"drift": 0.5}, {"leading": 0.99}, {"last": 0.01}],
    uses=("fedlrt/eq-26", "fedlrt/lemma-3"),
    importance="detail",
    vary=("steps", "leading"),
    expect=("holds", "proof"),
)
def thm_6_recursion(
    rounds: list[Trace], steps: float = 1.0, drift: float = 1.0, leading: float = 1.0, last: float = 1.0
) -> Promises:
    """Every member against the one before it at every step of every client, L = 1."""
    for one in rounds:
        rate, g, error = one.step, norm(one.gradient), error_of(one)
        for own, slopes in zip(one.coefficients, one.local_slopes, strict=True):
            for here, after, slope in zip(own[:-1], own[1:], slopes, strict=True):
                away, change = here - own[0], one.wide(slope - slopes[0])
                moved = norm(away - steps * rate * (change + one.gradient))
                lines = (
                    norm(after - own[0]),
                    moved,
                    norm(away) + drift * rate * norm(change) + leading * rate * g,
                    norm(away) + drift * rate * norm(away) + leading * rate * g,
                    (1.0 + rate) * norm(away) + rate * g,
                    (1.0 + last / one.steps) * norm(away) + rate * g,
                )
                yield Promise("the step of (26)", lines[0], moved, error)
                for name, left, right in zip(
                    ("the triangle", "step (I)", "collected", "the rate"), lines[1:-1], lines[2:], strict=True
                ):
                    yield Promise(name, left, right, error, at_most=True)
    return SCOPE


@promises(
    "fedlrt/thm-11-hat-lines",
    where="Appendix G.1, bounds of both terms of eq. (44): the lines without Assumption 1 (with it: "
    "fedlrt/thm-11-hat-first and fedlrt/thm-11-hat-second)",
    says=THEOREM
    + r"First term: $\langle\hat S^* - \hat S, -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle = \langle\hat "
    r"S^* - 0, -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle = \langle-\frac\lambda C\sum_{c,s}\nabla_{\hat "
    r"S}\mathcal{L}_c(\tilde W_{r,c}^s), -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle = \frac\lambda "
    r"C\sum_{c,s}\langle\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s), \nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle "
    r"\le \frac\lambda C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_{r,c}^s)\|\|\nabla_{\hat "
    r"S}\mathcal{L}(\tilde "
    r"W_r)\|$, and after Assumption 1 $\frac\lambda C\sum_{c,s}\delta^2\|\nabla_{\hat S}\mathcal{L}(\tilde "
    r"W_r)\|\|\nabla_{\hat S}\mathcal{L}(\tilde W_r)\| = \delta^2s_*\lambda\|\nabla_{\tilde S}\mathcal{L}(\tilde "
    r"W_r)\|^2$. Second term: $\frac L2\|\hat S^* - \hat S\|^2 = \frac L2\|-\frac\lambda C\sum_{c,s}\nabla_{\hat "
    r"S}\mathcal{L}(\tilde W_{r,c}^s)\|^2 \le \frac L2\lambda^2\frac1C\sum_c\|\sum_s\nabla_{\hat S}\mathcal{L}(\tilde "
    r"W_{r,c}^s)\|^2 \le \frac L2s_*\lambda^2\frac1C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}(\tilde W_{r,c}^s)\|^2$, and "
    r"after Assumption 1 $s_*\frac L2\delta^2\lambda^2\frac1C\sum_{c,s}\|\nabla_{\hat S}\mathcal{L}(\tilde W_r)\|^2 "
    r"\le \frac L2\delta^2(s_*\lambda)^2\|\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\|^2$.",
    measure=measure_traces,
    control=Form(
        "All but the last line of the first term and the first equality of the second.", {"keep": ("lines", "bounds")}
    ),
    correction=Form(
        r"The last line of the first term is an inequality, $\le \delta^2s_*\lambda\|\nabla_{\tilde "
        r"S}\mathcal{L}(\tilde W_r)\|^2$, as on its left the block is left out; and the gradients at $\tilde "
        r"W_{r,c}^s$ in the second term are those of $\mathcal{L}_c$, printed without the index c.",
        {"last": "at most", "index": True},
        mutants=(
            {"last": "equal", "index": True},
            {"last": "at most", "index": False},
            {"last": "at most", "index": True, "jensen": 0.9},
        ),
    ),
    uses=("fedlrt/eq-42", "fedlrt/lemma-6"),
    importance="detail",
    because=r"An equality puts $\nabla_{\tilde S}$ for $\nabla_{\hat S}$; at $\tilde W_{r,c}^s$ the second term has "
    r"$\mathcal{L}$ for $\mathcal{L}_c$.",
    vary=(),
    expect=("corrected", "proof"),
)
def thm_11_hat_lines(
    rounds: list[Trace],
    last: str = "equal",
    index: bool = False,
    jensen: float = 1.0,
    keep: tuple[str, ...] = ("lines", "bounds", "last", "second"),
) -> Promises:
    """Members outside the block, each against the one before it; delta is left out of both sides."""
    for one in rounds:
        rate, C, steps = one.step, len(one.clients), one.steps
        own = np.array([[one.outside(one.wide(slope)) for slope in slopes] for slopes in one.local_slopes])
        models = [[one.model(S) for S in walk[:-1]] for walk in one.coefficients]
        shown = own if index else np.array([[one.outside(one.wide(one.slope(W))) for W in walk] for walk in models])
        g, end, first = one.outside(one.gradient), one.outside(one.aggregate), one.outside(one.start)
        term, of_sum = inner(end - first, -g), norm(rate / C * shown.sum(axis=(0, 1))) ** 2 / 2
        largest = steps * rate * float(np.sqrt((own**2).sum(axis=(2, 3)).max()))
        size = 1.0 + (largest + norm(end)) ** 2 + (largest + norm(g)) * norm(one.gradient)

        def near(name: str, left: float, right: float, size: float = size, **rest: Any) -> Promise:
            return Promise(name, left, right, CHAIN_ROUNDING * size, size=size, **rest)

        if "lines" in keep:
            yield near("the rest is zero at the start", term, inner(end, -g))
            yield near("the steps of the rest", term, inner(-rate / C * own.sum(axis=(0, 1)), -g))
            yield near("the sum of products", term, rate / C * sum(inner(A, g) for walk in own for A in walk))
            norms = rate / C * sum(norm(A) for walk in own for A in walk) * norm(g)
            yield near("Cauchy and Schwarz", term, norms, at_most=True)
        if "last" in keep:
            yield near(
                "the last line of the first term",
                steps * rate * norm(g) ** 2,
                steps * rate * norm(one.gradient) ** 2,
                at_most=last == "at most",
                case={**LINEAR, **CURVED} if is_linear(one) else None,
            )
        if "second" in keep:
            yield near("the square of the steps", norm(end - first) ** 2 / 2, of_sum)
        if "bounds" in keep:
            by_client = rate**2 / C / 2 * sum(norm(walk.sum(axis=0)) ** 2 for walk in shown)
            yield near("Jensen", of_sum, jensen * by_client, at_most=True)
            by_step = steps * rate**2 / C / 2 * float((shown**2).sum())
            yield near("the sum over the steps", by_client, by_step, at_most=True)
            ends = (steps * rate) ** 2 / 2 * norm(g) ** 2, (steps * rate) ** 2 / 2 * norm(one.gradient) ** 2
            yield near("the last line of the second term", *ends, at_most=True)
    return SIMPLIFIED_ROUNDS
