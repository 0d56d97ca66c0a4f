"""Appendix G.1: the equations of the proof of Theorem 11, (39) to (46)."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper_checks.claim import Dropped, Evidence, Form, Intended, Reading, claim
from paper_checks.context import Context
from paper_checks.fedlrt.measurements.convergence_runs import LIMIT
from paper_checks.fedlrt.measurements.simplified_traces import WITNESS, all_traces, far_outside
from paper_checks.fedlrt.measurements.traces import Array, Trace, descent_constant, norm, tried_rates
from paper_checks.methods.domain import Stated
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.relations import Relation, Relations, relations

SIMPLIFIED_ROUNDS = "rounds with simplified correction in 2 x 2 and 5 x 4, 1 to 3 clients, 1 to 48 steps"


def measure_traces(context: Context) -> list[Trace]:
    """Follow the first rounds of `measure_simplified`; two opposite clients lead, a linear loss follows."""
    return [traces[0] for traces, _ in all_traces(context)]


def magnitude(one: Trace) -> float:
    """Return the size of a round's numbers."""
    return 1.0 + float(np.abs(one.local_slopes).max()) + norm(one.gradient) ** 2 + abs(one.losses[0])


def rounding(one: Trace) -> float:
    """Bound on the error of differences of a round's numbers."""
    return 1e-11 * magnitude(one)


def _near(one: Trace, name: str, left: float, right: float, **rest: Any) -> Relation:
    """Return a promise about numbers of a round, up to their rounding."""
    return Relation(name, left, right, rounding(one), size=magnitude(one), **rest)


def _corner(one: Trace, block: Array) -> Array:
    """Return a block among zeros."""
    wide = np.zeros_like(one.start)
    wide[: one.rank, : one.rank] = block
    return wide


def _own(one: Trace) -> list[tuple[Array, Array]]:
    """Return correction and gradient in the augmented coefficients at the start, of every client."""
    return [(added, one.wide(slopes[0])) for added, slopes in zip(one.corrections, one.local_slopes, strict=True)]


@relations(
    "fedlrt/eq-39",
    where="Appendix G, eq. (39)",
    says=r"""$\check V_c = \check G_{\tilde S} - \check G_{\tilde S,c} =
    \begin{bmatrix}\nabla_S\mathcal{L}(U^tS^tV^{t,\top}) - \nabla_S\mathcal{L}_c(U^tS^tV^{t,\top}) & 0\\0 &
    0\end{bmatrix}$.""",
    measure=measure_traces,
    mutants=[{"sign": -1}, {"full": True}, {"share": 1.01}],
    kind="definition",
    expect=("holds", "proof"),
)
def eq_39(rounds: list[Trace], sign: int = 1, share: float = 1.0, full: bool = False) -> Relations:
    """The correction of Algorithm 5, with gradients in S formed from those in W and the bases of the start."""
    for one in rounds:
        for (added, own), slopes in zip(_own(one), one.local_slopes, strict=True):
            block = _corner(one, one.U[:, : one.rank].T @ (one.slope_at_start - slopes[0]) @ one.V[:, : one.rank])
            printed = sign * share * (one.gradient - own if full else block)
            yield _near(one, "the correction", norm(added - printed), 0.0)
    return SIMPLIFIED_ROUNDS


def _shown(one: Trace) -> dict[str, object] | None:
    return dict(WITNESS) if one.name == "opposite" else None


@relations(
    "fedlrt/eq-39b",
    where="Appendix G, after eq. (39)",
    says=r"""$\check V_c = [U^\top|0](F(\tilde W_r) - F_c(\tilde W_r))\begin{bmatrix}V\\0\end{bmatrix} = \tilde
    U^\top\begin{bmatrix}I & 0\\0 & 0\end{bmatrix}(F_c(\tilde W_r) - F(\tilde W_r))\begin{bmatrix}I & 0\\0 &
    0\end{bmatrix}\tilde V$.""",
    measure=measure_traces,
    control=Form("The second expression in that reading.", {"keep": ("second",)}),
    correction=Form(
        r"""With $E = \begin{bmatrix}I & 0\\0 & 0\end{bmatrix}$, 2r by 2r, and $[U|0]$, $[V|0]$, $\tilde U$ and $\tilde
        V$, n by 2r: $\check V_c = [U|0]^\top(F_c(\tilde W_r) - F(\tilde W_r))[V|0] = E\tilde U^\top(F_c(\tilde W_r) -
        F(\tilde W_r))\tilde VE$, 2r by 2r.""",
        {"first": 1.0},
        mutants=({"first": -1.0}, {"second": -1.0}, {"second": 1.01}, {"cut": "n by n"}),
    ),
    vary=("second",),
    uses=("fedlrt/eq-39",),
    importance="detail",
    because="The expressions differ in sign. In the second, the matrix that selects a corner has the wrong size; with "
    "n rows it selects other entries.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“Using the Riemmanian gradient, we can equivalently write”: (39) in terms of $F = "
        r"-\nabla\mathcal{L}$; one sign and the corner matrices slip.",
    ),
    print="misprint",
)
def eq_39b(
    rounds: list[Trace],
    first: float = -1.0,
    second: float = 1.0,
    cut: str = "2r by 2r",
    keep: tuple[str, ...] = ("first", "second"),
) -> Relations:
    """Signs of F_c - F in the two expressions; ``cut``: whether the second cuts coefficients or entries of F_c - F."""
    for one in rounds:
        U, V = one.U * (np.arange(one.U.shape[1]) < one.rank), one.V * (np.arange(one.V.shape[1]) < one.rank)
        for (added, own), slopes in zip(_own(one), one.local_slopes, strict=True):
            apart = one.slope_at_start - slopes[0]
            direct = first * U.T @ apart @ V
            entries = one.wide(np.pad(apart[: one.rank, : one.rank], [(0, n - one.rank) for n in apart.shape]))
            inside = second * (_corner(one, one.block(one.gradient - own)) if cut == "2r by 2r" else entries)
            lines = {
                "first": _near(one, "the first expression", norm(added - direct), 0.0, case=_shown(one)),
                "second": _near(one, "the second expression", norm(added - inside), 0.0),
            }
            yield from [lines[name] for name in keep]
    return SIMPLIFIED_ROUNDS


@relations(
    "fedlrt/eq-40",
    where="Appendix G, eq. (40)",
    says=r"""$\tilde S_c^{s+1} = \tilde S_c^s + \lambda\tilde U^\top(F_c(\tilde W_{r,c}^s) + \begin{bmatrix}I & 0\\0 &
    0\end{bmatrix}(F_C(\tilde W_r) - F(\tilde W_r))\begin{bmatrix}I & 0\\0 & 0\end{bmatrix})\tilde V = \tilde S_c^s +
    \lambda\tilde U^\top(F_c(\tilde W_{r,c}^s))\tilde V + \check V_c$.""",
    measure=measure_traces,
    control=Form("The block outside of the upper left one.", {"keep": ("outside",)}),
    correction=Form(
        r"""$\tilde S_c^{s+1} = \tilde S_c^s + \lambda(\tilde U^\top F_c(\tilde W_{r,c}^s)\tilde V - \check V_c)$, as in
        Algorithm 5, with $\check V_c$ the block of $F_c - F$. The paper prints the opposite sign in both and omits
        $\lambda$ before $\check V_c$ in the second. (We read $F_C$ in the first as $F_c$, and the corner matrices as
        those that keep the block; as printed, they do not fit, as in fedlrt/eq-39b.)""",
        {"first": -1.0, "second": -1.0, "power": 1},
        mutants=({"first": 1.0}, {"second": 1.0}, {"power": 0}),
    ),
    uses=("fedlrt/eq-39",),
    importance="detail",
    because=r"The correction has the opposite sign to Algorithm 5's, and its second expression lacks $\lambda$.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“Remember the simplified variance corrected local coefficient update”: that of Algorithm "
        r"5, as (45) has it; sign and $\lambda$ are slips.",
    ),
    print="misprint",
)
def eq_40(
    rounds: list[Trace],
    first: float = 1.0,
    second: float = 1.0,
    power: int = 0,
    keep: tuple[str, ...] = ("first", "second", "outside"),
) -> Relations:
    """Both expressions at every step of every client."""
    for one in rounds:
        for (added, own), points, slopes in zip(_own(one), one.coefficients, one.local_slopes, strict=True):
            D = _corner(one, one.block(one.gradient - own))
            for here, after, slope in zip(points[:-1], points[1:], slopes, strict=True):
                step = here - one.step * one.wide(slope)
                left, right = (after - step - part for part in (first * one.step * D, second * one.step**power * added))
                lines = {
                    "first": _near(one, "the first expression", norm(left), 0.0, case=_shown(one)),
                    "second": _near(one, "the second expression", norm(right), 0.0, case=_shown(one)),
                    "outside": _near(one, "outside the block", norm(one.outside(after - step)), 0.0),
                }
                yield from [lines[name] for name in keep]
    return SIMPLIFIED_ROUNDS


@relations(
    "fedlrt/eq-42",
    where="Appendix G.1, eq. (42)",
    says=r"""The adjusted coefficient update in (40) is split into the non-augmented r by r matrix S and the three
    off-diagonal blocks given by the augmentation, $\hat S$: $\hat S = \tilde S - \begin{bmatrix}S & 0\\0 &
    0\end{bmatrix}$.""",
    measure=measure_traces,
    readings=(
        Reading(
            "three blocks off the diagonal",
            r"The same, with $\hat S$ consisting of three blocks that are all off the diagonal of $\tilde S$.",
            why="The paper prints “off-diagonal blocks”, three of them.",
        ),
        Reading(
            "the corner and the rest",
            r"At each step of (40) S is the upper left r by r block of the same $\tilde S$, which is $S^t$ at the "
            r"start only; $\hat S$ is $\tilde S$ with zeros in that block, and so contains its three other blocks, two "
            "of which are off the diagonal.",
            {"off_diagonal": 2},
            r"(43) and (44) split $\tilde S^* - \tilde S$ in this way. The augmentation also gives the lower right "
            "block.",
            ({"off_diagonal": 2, "fixed": True}, {"off_diagonal": 2, "share": 0.99}, {"off_diagonal": 4}),
        ),
    ),
    kind="definition",
    because="The paper calls all three blocks of the augmentation off-diagonal, but the lower right one is on the "
    "diagonal.",
    expect=("holds", "proof"),
    intended=Intended(
        "the corner and the rest",
        "“tree off-diagonal blocks given by the augmentation”: the three blocks outside the "
        "corner, as (42) itself defines.",
    ),
    print="misprint",
)
def eq_42(rounds: list[Trace], share: float = 1.0, fixed: bool = False, off_diagonal: int = 3) -> Relations:
    """S is the block of the same iterate, not of the start (``fixed``); squares of the two parts add up."""
    blocks = [(i, j) for i in range(2) for j in range(2) if (i, j) != (0, 0)]
    found = sum(i != j for i, j in blocks)
    yield Relation("blocks of the rest off the diagonal", found, off_diagonal, case={"stated": off_diagonal})
    for one in rounds:
        S = one.block(one.start if fixed else one.aggregate)
        rest = one.aggregate - share * _corner(one, S)
        total = norm(one.aggregate) ** 2
        yield _near(one, "zeros in the block of S", norm(one.block(rest)), 0.0)
        yield Relation(
            "the squares of the two parts add up to that of the whole",
            norm(S) ** 2 + norm(rest) ** 2,
            total,
            1e-11 * total + rounding(one),
            size=magnitude(one),
        )
        yield Relation("the rest is zero at the start", norm(one.outside(one.start)), 0.0)
    return SIMPLIFIED_ROUNDS


THEOREM = r"Under Assumption 1 and $0 < \lambda \le \frac1{12Ls_*}$, as Theorem 11 has it: "
"""Hypotheses of each step of the theorem's proof."""


@relations(
    "fedlrt/eq-43-44",
    where="Appendix G.1, proof of Theorem 11, the chain after eq. (42) with eqs. (43) and (44)",
    says=THEOREM
    + r"$\mathcal{L}(\tilde W_r^*) - \mathcal{L}(\tilde W_r) \le \langle\tilde W_r^* - \tilde W_r, F(\tilde "
    r"W_r)\rangle + \frac L2\|\tilde W_r^* - \tilde W_r\|^2 = \langle\tilde U\tilde S^*\tilde V^\top - \tilde "
    r"U\tilde S\tilde V^\top, F(\tilde W_r)\rangle + \frac L2\|\tilde U\tilde S^*\tilde V^\top - \tilde U\tilde "
    r"S\tilde V^\top\|^2 = \langle\tilde S^* - \tilde S, \tilde U^\top F(\tilde W_r)\tilde V\rangle + \frac "
    r"L2\|\tilde S^* - \tilde S\|^2 = \langle\tilde S^* - \tilde S, -\nabla_{\tilde S}\mathcal{L}(\tilde W_r)\rangle "
    r"+ \frac L2\|\tilde S^* - \tilde S\|^2$, by orthonormality of $\tilde U$ and $\tilde V$ and the definition of "
    r"the projected gradient; by (42) split into (43) $\langle S^* - S, -\nabla_S\mathcal{L}(\tilde W_r)\rangle + "
    r"\frac "
    r"L2\|S^* - S\|^2$ and (44) $\langle\hat S^* - \hat S, -\nabla_{\hat S}\mathcal{L}(\tilde W_r)\rangle + \frac "
    r"L2\|\hat S^* - \hat S\|^2$.",
    measure=measure_traces,
    control=Form(
        "The three equalities and the split.", {"keep": ("factors", "coefficients", "projected gradient", "split")}
    ),
    correction=Form(
        r"""Every line holds with the opposite sign of its inner product: $\langle\cdot, -F(\tilde W_r)\rangle$ in the
        inequality and the first equality, $\langle\tilde S^* - \tilde S, -\tilde U^\top F(\tilde W_r)\tilde V\rangle$
        in the second, $\langle\tilde S^* - \tilde S, \nabla_{\tilde S}\mathcal{L}(\tilde W_r)\rangle$ in the third, and
        $\nabla_S\mathcal{L}$, $\nabla_{\hat S}\mathcal{L}$ in (43) and (44), as in Lemma 4. Only the inequality is
        false as printed; the equalities and the split keep the expression before them with its sign.""",
        {"sign": 1.0},
        mutants=({"sign": -1.0}, {"half": 0.49}, {"mixed": 0.01}, {"last": 0.99}),
    ),
    vary=("half", "mixed", "last"),
    uses=("fedlrt/lemma-4",),
    importance="detail",
    because="F is the negative gradient, so the inner products need a minus sign, as Lemma 4 prints it.",
    expect=("holds", "proof"),
    intended=Intended(
        "as corrected",
        "“Analogously to the proof of Theorem 2”: as in Lemma 4 the inner product is with $-F$; "
        "the bounds that follow do not depend on the sign, or use (45).",
    ),
    print="misprint",
)
def eq_43_44(
    rounds: list[Trace],
    sign: float = -1.0,
    half: float = 0.5,
    mixed: float = 0.0,
    last: float = 1.0,
    keep: tuple[str, ...] = ("inequality", "factors", "coefficients", "projected gradient", "split"),
) -> Relations:
    """Every member of the chain against the one before it, and the two parts; ``last`` is of its last gradient."""
    for one in rounds:
        moved, slope = one.aggregate - one.start, one.gradient

        def value(part: Array, against: Array, sign: float = sign) -> float:
            return sign * float((part * against).sum()) + half * norm(part) ** 2

        in_models = value(one.star - one.W, one.slope_at_start)
        in_factors = value(one.U @ one.aggregate @ one.V.T - one.U @ one.start @ one.V.T, one.slope_at_start)
        in_coefficients = value(moved, one.U.T @ one.slope_at_start @ one.V)
        whole = value(moved, last * slope)
        parts = (
            value(_corner(one, one.block(moved)), slope) + value(one.outside(moved), slope) + mixed * norm(moved) ** 2
        )
        lines = {
            "inequality": _near(one, "the inequality", one.change, in_models, at_most=True, case=_shown(one)),
            "factors": _near(one, "the same in factors", in_models, in_factors),
            "coefficients": _near(one, "the same in coefficients", in_factors, in_coefficients),
            "projected gradient": _near(one, "the same with the gradient in the coefficients", in_coefficients, whole),
            "split": _near(one, "the two parts", parts, whole),
        }
        yield from [lines[name] for name in keep]
    return SIMPLIFIED_ROUNDS


@relations(
    "fedlrt/eq-45",
    where="Appendix G.1, eq. (45)",
    says=r"""The update (40) reads for S: $S_c^{s+1} = S_c^s + \lambda U^\top(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r) +
    F(\tilde W_r))V$.""",
    measure=measure_traces,
    mutants=[{"own": 1}, {"mean": 0.99}, {"sign": -1.0}],
    readings=(
        Reading(
            "the update of Algorithm 5",
            r"The update in (40) is meant to be the one of Algorithm 5, which is for S: $S_c^{s+1} = S_c^s + \lambda "
            r"U^\top(F_c(\tilde W_{r,c}^s) - F_c(\tilde W_r) + F(\tilde W_r))V$.",
            why=r"(40) is meant to be the update of Algorithm 5. Its sign and the missing $\lambda$ in its second "
            "expression are separate errors (fedlrt/eq-40), which (45) does not repeat.",
        ),
    ),
    uses=("fedlrt/eq-39", "fedlrt/eq-40"),
    expect=("holds", "proof"),
    intended=Intended(
        "the update of Algorithm 5",
        "“The coefficient update (40) for S reads”: the update of Algorithm 5, whose sign and rate (45) has right.",
    ),
)
def eq_45(rounds: list[Trace], own: int = -1, mean: float = 1.0, sign: float = 1.0) -> Relations:
    """Every step of every client in Algorithm 5."""
    for one in rounds:
        for points, slopes in zip(one.coefficients, one.local_slopes, strict=True):
            for here, after, slope in zip(points[:-1], points[1:], slopes, strict=True):
                stated = here - sign * one.step * one.wide(slope + own * slopes[0] + mean * one.slope_at_start)
                yield _near(one, "the step of the block", norm(one.block(after - stated)), 0.0)
    return SIMPLIFIED_ROUNDS


def measure_with_large_parts(context: Context) -> list[Trace]:
    """Follow the same rounds, and clients whose gradients outside the block are far greater than the global one."""
    return [*measure_traces(context), far_outside()]


@claim(
    "fedlrt/eq-46",
    where="Appendix G.1, eq. (46)",
    says=THEOREM + r"$\langle S^* - S, -\nabla_S\mathcal{L}(\tilde W_r)\rangle + \frac L2\|S^* - S\|^2 \le "
    r"-(s_*\lambda)(1 - 12(s_*\lambda)L)\|U^\top F(\tilde W_r)V\|^2$, by Theorem 2.",
    measure=measure_with_large_parts,
    readings=(
        Reading(
            "F as the negative gradient",
            THEOREM + r"$\langle S^* - S, \nabla_S\mathcal{L}(\tilde W_r)\rangle + \frac L2\|S^* - S\|^2 \le "
            r"-(s_*\lambda)(1 - 12(s_*\lambda)L)\|U^\top F(\tilde W_r)V\|^2$.",
            why="Appendix C defines F as the negative gradient, and Lemma 4 has this sign of the inner product "
            "(fedlrt/eq-43-44).",
        ),
    ),
    control=Form(
        r"""The same where $\|\nabla_{\hat S}\mathcal{L}_c\| \le
        \|\nabla_S\mathcal{L}\|$ at the start.""",
        {"most": 1.0},
    ),
    correction=Form(
        r"""If $\frac1C\sum_c\|\nabla_{\hat S}\mathcal{L}_c(\tilde W_r)\|^2 \le \delta^2\|\nabla_S\mathcal{L}(\tilde
        W_r)\|^2$, $\delta \le 1$ and $s_*\lambda L \le 1$: $\langle S^* - S, \nabla_S\mathcal{L}\rangle + \frac L2\|S^*
        - S\|^2 \le -s_*\lambda(1 - \kappa s_*\lambda L)\|\nabla_S\mathcal{L}\|^2$ with $\kappa = \frac12(1 + (1 -
        \frac1{s_*})\sqrt{1 + \delta^2})$. An assumption is needed: the block's drift also follows the moves outside of
        it.""",
        {"most": 1.0, "form": "root", "limit": 1.0},
        mutants=({"sign": -1.0}, {"constant": 0.9}, {"half": 0.55}, {"form": "printed", "most": 0.0, "limit": LIMIT}),
    ),
    vary=("constant", "half"),
    hypotheses=(Dropped(r"a bound on $\delta$, here $\delta \le 1$", {"most": 1e6}),),
    uses=("fedlrt/thm-8", "fedlrt/eq-45"),
    because="Drift in the S block depends on drift outside it, which (14) bounds only by the client's own gradient. "
    "One sign is misprinted.",
    expect=("corrected", "proof"),
    intended=Intended(
        "F as the negative gradient",
        "“Then we can readily apply Theorem 2”: the block's drift also follows moves outside of it, which (14) limits "
        "only by the client's own gradient; the sign is that of $F$.",
    ),
    print="misprint",
)
def eq_46(
    rounds: list[Trace],
    sign: float = 1.0,
    twelve: float = 12.0,
    half: float = 0.5,
    form: str = "printed",
    constant: float = 1.0,
    most: float = 0.0,
    limit: float = LIMIT,
) -> Evidence:
    """Without a limit on the gradients outside (``most`` 0) all rounds count."""
    left, right, cases, deltas = [], [], [], []
    for one in rounds:
        slope, moved = one.block(one.gradient), one.block(one.aggregate - one.start)
        size = norm(slope)
        outer = one.outside_at_start / size if size else float("inf")
        x = one.whole
        if (most and outer > most * (1.0 + 1e-12)) or x > limit * (1.0 + 1e-12):
            continue
        kappa = constant * descent_constant(one.steps, outer) if form == "root" else twelve
        deltas.append(outer)
        left.append(sign * float((moved * slope).sum()) + half * norm(moved) ** 2)
        right.append(-x * (1.0 - kappa * x) * size**2)
        cases.append(one)
    return judge_inequality(
        np.array(left),
        np.array(right),
        np.array([rounding(one) for one in cases]),
        case=lambda index: _shown(cases[index]) or {"instance": cases[index].name},
        readable=[_shown(one) is not None for one in cases],
        scope=f"{len(cases)} {SIMPLIFIED_ROUNDS}",
        domain=tried_rates(cases, Stated(0.0, limit, "(]"), deltas if most else None),
        printed=f"sign {sign:+g}, {form}",
    )
