"""Section 3.2 and Appendix F: client drift and descent of a round, by exact worst cases (Theorems 1, 6, 7, 8)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from paper_checks.claim import Best, Dropped, Evidence, claim
from paper_checks.context import Context
from paper_checks.methods.domain import FROM_ONE, POSITIVE, Tried, tried
from paper_checks.methods.inequality import judge_inequality
from paper_checks.methods.worst_case.certificate import Certificate, flaw
from paper_checks.methods.worst_case.closed_form import (
    coupling_dominates,
    descent_certificate,
    drift_certificate,
    worst_descent,
    worst_drift,
)

SMALL = ((1, 1), (2, 1), (2, 2), (2, 3), (3, 3), (4, 4), (7, 5))
"""Clients and steps whose worst case is proved by a certificate in this run."""

LARGE = (16, 64, 300)
"""Steps at which the closed form is proved through its coupling matrix, for any number of clients."""

WHOLES = (Fraction(1, 12), Fraction(1, 100), Fraction(1, 10**5))
"""Values of s λ L."""


@dataclass(frozen=True)
class Round:
    """The exact worst case of one round, L = 1, mean gradient of norm 1.

    Attributes:
        clients: how many; 0 stands for any number.
        steps: of each.
        step: learning rate.
        drift: largest distance of a client from the start before its last step.
        change: largest change of the mean loss.
        corrected: whether the clients' gradients are corrected; if not, the numbers are those of one instance, and
            there is no largest.
    """

    clients: int
    steps: int
    step: Fraction
    drift: Fraction
    change: Fraction
    corrected: bool = True

    @cached_property
    def whole(self) -> float:
        """The product s λ L."""
        return float(self.steps * self.step)

    @cached_property
    def ratio(self) -> float:
        """The drift over s λ |g|."""
        return float(self.drift / (self.steps * self.step))

    @cached_property
    def needed(self) -> float:
        r"""The constant for which $-s\lambda(1 - \kappa s\lambda L)|g|^2$ is the change, rounded once at the end."""
        whole = self.steps * self.step
        return float((1 + self.change / whole) / whole)


def run_round(curvatures: Sequence[int], slopes: Sequence[int], steps: int, step: Fraction, corrected: bool) -> Round:
    r"""One exact round of clients $\frac{h_c}{2}w^2 + b_cw$ from 0, in units of their mean slope."""
    count = len(curvatures)
    mean = Fraction(sum(slopes), count)
    ends, drift = [], Fraction(0)
    for h, b in zip(curvatures, slopes, strict=True):
        e = Fraction(0)
        for _ in range(steps):
            drift = max(drift, abs(e))
            e -= step * (h * e + (mean if corrected else b))
        ends.append(e)
    end = sum(ends, Fraction(0)) / count
    change = mean * end + Fraction(sum(curvatures), 2 * count) * end**2
    return Round(count, steps, step, drift / abs(mean), change / mean**2, corrected)


def require_proved(certificate: Certificate) -> None:
    """Stop a check whose worst case has no valid certificate."""
    reason = flaw(certificate)
    if reason:
        raise ValueError(f"the certificate of {certificate.setting} proves nothing: {reason}")


@lru_cache(maxsize=1)
def measure_descent(context: Context) -> list[Round]:
    """Worst descents, each proved from above and attained by an exact run; and one run without correction."""
    rounds = []
    for whole in WHOLES:
        for clients, steps in SMALL:
            step = whole / steps
            require_proved(descent_certificate(clients, steps, step))
            rounds.append(_attained(clients, steps, step))
        for steps in (*LARGE, *context.size((), (1000,))):
            if not coupling_dominates(steps, whole / steps):
                raise ValueError(f"no proof at {steps} steps")
            rounds.append(_attained(0, steps, whole / steps))
    rounds.append(run_round((1, -1), (1 + 96, 1 - 96), 2, Fraction(1, 24), corrected=False))
    return rounds


def _attained(clients: int, steps: int, step: Fraction) -> Round:
    count = max(clients, 1)
    found = run_round((1,) * count, (1,) * count, steps, step, corrected=True)
    if found.change != worst_descent(steps, step):
        raise ValueError("the worst function does not attain the worst case")
    return Round(clients, steps, step, found.drift, found.change)


@claim(
    "fedlrt/thm-8",
    where="Appendix F.2, Theorem 8, eq. (34)",
    says=r"Under the assumptions of Theorem 7, with $0 < \lambda \le \frac1{12Ls_*}$ and $s_* \ge 1$: "
    r"$\mathcal{L}(\tilde W_r^*) - \mathcal{L}(\tilde W_r) \le -s_*\lambda(1 - 12s_*\lambda L)\|\tilde U^\top "
    r"F(\tilde W_r)\tilde V\|^2$.",
    measure=measure_descent,
    mutants=[{"constant": 0.99}, {"leading": 1.01}],
    best={"constant": Best(1.0, r"proved: $1 - \frac1{2s_*}$, its limit for many steps, for all $s_*\lambda L \le 1$")},
    hypotheses=(Dropped("variance correction", {"corrected": False}),),
    uses=("fedlrt/thm-1", "fedlrt/thm-7"),
    importance="result",
    expect=("holds", "proof"),
)
def thm_8(rounds: list[Round], constant: float = 12.0, leading: float = 1.0, corrected: bool = True) -> Evidence:
    r"""The exact worst case is $-(1 - (1-\lambda L)^{2s})/(2L)$, whatever the number of clients.

    The best constant in place of 12 is $1 - 1/(2s_*)$; it suffices for all $s_*\lambda L \le 1$.
    """
    cases = [case for case in rounds if case.corrected == corrected and case.whole <= WHOLES[0]]
    margins = [(1.0 - leading) + c.whole * (leading * constant - c.needed) for c in cases]  # over s λ |g|^2
    worst = int(np.argmin(margins))
    best = max(c.needed for c in cases)
    at = cases[worst]
    steps = sorted({c.steps for c in cases})
    return Evidence(
        margins[worst] >= 0,
        f"exact worst cases over all smooth client functions, (clients, steps) {SMALL} and any clients with "
        f"{', '.join(str(s) for s in steps if s > 5)} steps, s λ L from 1e-5 to 1/12",
        f"change <= -{leading:g} sλ(1 - {constant:g} sλL)|g|^2",
        f"the least constant for these cases is {best:.6g}; best for all: 1 - 1/(2s)",
        margin=margins[worst],
        gap=0.0,  # every worst case is proved from above and attained
        slack=constant / best if corrected else None,
        cases=len(cases),
        tight=float(np.mean([margin <= 0.01 for margin in margins])),
        witness={"steps": at.steps, "step": str(at.step), "clients": at.clients},
    )


@lru_cache(maxsize=1)
def measure_drift(context: Context) -> list[Round]:
    """Worst drifts, proved and attained, with learning rates up to 4 / (L s); and one run without correction."""
    rounds = []
    for whole in (Fraction(1), Fraction(1, 12), Fraction(1, 1000), Fraction(2), Fraction(4)):
        for clients, steps in (*SMALL, (1, 64), (1, 300)):
            step = whole / steps
            if 1 < steps < 10:
                require_proved(drift_certificate(1, steps - 1, step))
            found = run_round((-1,) * clients, (1,) * clients, steps, step, corrected=True)
            if found.drift != worst_drift(steps - 1, step):
                raise ValueError("the worst function does not attain the worst drift")
            rounds.append(Round(clients, steps, step, found.drift, found.change))
    rounds.append(run_round((1, -1), (1 + 96, 1 - 96), 2, Fraction(1, 24), corrected=False))
    return rounds


@claim(
    "fedlrt/thm-1",
    where="Section 3.2, Theorem 1, eq. (11); Appendix F.1, Theorem 6, eq. (27), which has $s_r$, defined nowhere, for "
    "$s_*$ in the bound on the rate",
    says=r"Let $\mathcal{L}_c$ and $\mathcal{L}$ be L-smooth with constant L (the general assumption of Section 3.2). "
    r"Given augmented $\tilde U$, $\tilde V$, $\tilde S$, and $0 < \lambda \le \frac1{Ls_*}$ with $s_* \ge 1$ local "
    r"steps: for all clients c and $s = 1, \ldots, s^*-1$, $\|\tilde S_c^s - \tilde S_c\| \le "
    r"\exp(1)s_*\lambda\|\nabla_{\tilde S}\mathcal{L}(\tilde U\tilde S\tilde V^\top)\|$, with the corrected "
    r"coefficients $\tilde S_c^s$ of (8); (27) has $\|\tilde U^\top F(\tilde W_r)\tilde V\|$ for the norm of the "
    "gradient.",
    measure=measure_drift,
    mutants=[{"constant": 1.7}, {"power": 2}],
    best={"constant": Best(math.e - 1.0, r"proved: the worst drift is $((1 + \lambda L)^s - 1)/L$")},
    hypotheses=(
        Dropped(r"$\lambda \le \frac1{Ls_*}$", {"limit": 4}),
        Dropped("variance correction", {"corrected": False}),
    ),
    also=("fedlrt/thm-6",),
    uses=("fedlrt/thm-6-proof",),
    importance="result",
    expect=("holds", "proof"),
)
def thm_1(
    rounds: list[Round], constant: float = math.e, limit: int = 1, power: int = 1, corrected: bool = True
) -> Evidence:
    r"""The exact worst case is $((1+\lambda L)^s - 1)/L$, attained by $-\frac L2\|w\|^2$; the best constant is e - 1.

    A limit of 2 admits learning rates up to 2/(L s).
    """
    cases = [c for c in rounds if c.steps > 1 and c.corrected == corrected and c.whole <= limit]
    ratios = [c.ratio * c.whole ** (1 - power) for c in cases]
    worst = int(np.argmax(ratios))
    at = cases[worst]
    return Evidence(
        ratios[worst] <= constant,
        f"exact worst cases over all smooth client functions, 2 to {max(c.steps for c in cases)} steps, sλL from "
        f"1/1000 to {limit:g}",
        f"drift <= {constant:.4g} sλ|g|",
        f"largest ratio {ratios[worst]:.6g} at s = {at.steps}; best for all s: e - 1 = {math.e - 1:.6g}",
        margin=constant - ratios[worst],
        gap=0.0,  # every worst case is proved from above and attained
        slack=constant / ratios[worst],
        cases=len(cases),
        tight=float(np.mean([ratio >= 0.99 * constant for ratio in ratios])),
        witness={"steps": at.steps, "step": str(at.step)},
    )


@dataclass(frozen=True)
class Chain:
    """The lines of the proof of Theorem 6 at one step of one number of local steps, in units of λ|g|."""

    steps: int
    lines: tuple[Fraction, ...]


def measure_chain(context: Context) -> list[Chain]:
    """Recursion, sum, closed form and both powers, for every step."""
    found = []
    for steps in (1, 2, 3, 5, 10, 40, 150):
        a = 1 + Fraction(1, steps)
        powers = [a**k for k in range(steps + 1)]
        moved = Fraction(0)  # the recursion with equality, from the start
        for j in range(1, steps + 1):
            moved, total = a * moved + 1, sum(powers[:j], Fraction(0))
            found.append(
                Chain(steps, (moved, total, (powers[j] - 1) * steps, powers[j] * steps, powers[steps] * steps))
            )
    return found


@claim(
    "fedlrt/thm-6-proof",
    where="Appendix F.1, proof of Theorem 6, the chain from a on (the chain before it: fedlrt/thm-6-recursion)",
    says=r"With $a = 1 + \frac1{s_*}$ and $g = \tilde U^\top F(\tilde W_r)\tilde V$, recursively plugging in the "
    r"inequality $\|\tilde S_c^{s+1} - \tilde S_c\| \le a\|\tilde S_c^s - \tilde S\| + \lambda\|g\|$ yields $\|\tilde "
    r"S_c^{s+1} - \tilde S_c\| \le a^{s+1}\|\tilde S_c^{s=0} - \tilde S\| + (\sum_{j=0}^sa^j)\lambda\|g\| = "
    r"(\sum_{j=0}^sa^j)\lambda\|g\| = \frac{a^{s+1}-1}{a-1}\lambda\|g\| \le (1+\frac1{s_*})^{s+1}s_*\lambda\|g\| \le "
    r"(1+\frac1{s_*})^{s_*}s_*\lambda\|g\| \le \exp(1)s_*\lambda\|g\|$.",
    measure=measure_chain,
    mutants=[{"last": 2.7}, {"third": 0.6}, {"second": 1.01}],
    best={"third": Best(1.0 - 1.0 / math.e, r"proved: $1 - a^{-s_*}$, its limit for many steps")},
    expect=("holds", "proof"),
)
def thm_6_proof(chains: list[Chain], last: float = math.e, third: float = 1.0, second: float = 1.0) -> Evidence:
    r"""Each line against the next; the first two are equal. The second line alone gives the constant e - 1."""
    gaps = []
    for chain in chains:
        moved, total, closed, power, top = chain.lines
        gaps.append(float(total - moved))
        gaps.append(-abs(float(total - Fraction(second) * closed)))
        gaps += [float(Fraction(third) * power - closed), float(top - power), last * chain.steps - float(top)]
    worst = min(gaps)
    return Evidence(
        worst >= 0,
        f"every step s + 1 <= s_* of s_* = {sorted({c.steps for c in chains})}; Theorem 6 has them up to s_* - 1, and "
        "beyond s_* the last but one inequality turns around",
        f"recursion <= sum = {second:g} closed form, closed form <= {third:g} power <= last power <= {last:g} s_*",
        f"smallest gap {worst + 0.0:.3g}",
        margin=worst,
        cases=len(chains),
    )


_OTHERS = (
    r"searched: quadratic clients, the other two as printed; 1/2, 1, 1/2 together, proved for $s_*\lambda L \le 2$"
)


@dataclass(frozen=True)
class Spent:
    """One round of quadratic clients and the sums of Theorem 7, L = 1, mean gradient 1.

    Attributes:
        curvatures: of the clients, in quarters.
        steps: of each.
        step: learning rate.
        end: where the server ends.
        change: of the mean loss.
        drift: sum over steps of the clients' mean distance from the start.
        square: the same of its square.
    """

    curvatures: tuple[int, ...]
    steps: int
    step: float
    end: float
    change: float
    drift: float
    square: float

    @property
    def smooth(self) -> bool:
        """Whether L = 1 bounds the curvatures."""
        return max(map(abs, self.curvatures)) <= 4


def tried_rounds(rounds: list[Spent]) -> Tried:
    """The numbers of steps and the learning rates of rounds, of all that there are."""
    return tried(("steps", [one.steps for one in rounds], FROM_ONE), ("λL", [one.step for one in rounds], POSITIVE))


def measure_spent(context: Context) -> list[Spent]:
    """Curvatures from -1 to 1 of one and two clients, learning rates from far below to far above the printed ones.

    At the end a client that is steeper, whose hundred longest steps would be beyond floats.
    """
    found = []
    for quarters in ((-4,), (0,), (4,), (4, -4), (4, 0), (0, -4), (4, 4), (4, 2), (-4, -4), (12,)):
        h = np.array(quarters) / 4.0
        for steps in (1, 2, 3, 4, 8, 30, *((100,) if h.max() <= 1 else ())):
            for step in (1e-4, 1e-2, 0.1, 0.5, 1.0, 2.0, 4.0, 30.0):
                e, drift, square = np.zeros(len(h)), 0.0, 0.0
                for _ in range(steps):
                    drift, square = drift + float(np.abs(e).mean()), square + float((e**2).mean())
                    e = e - step * (h * e + 1.0)
                end = float(e.mean())
                found.append(Spent(quarters, steps, step, end, end + 0.5 * float(h.mean()) * end**2, drift, square))
    return found


@claim(
    "fedlrt/thm-7",
    where="Appendix F.2, Theorem 7, eq. (31)",
    says=r"Let $\mathcal{L}_c$ and $\mathcal{L}$ be L-smooth with constant L (the general assumption of Section 3.2). "
    r"For $\tilde W_r = \tilde U\tilde S\tilde V^\top$ and $\tilde W_r^* = \tilde U\tilde S^*\tilde V^\top$ with "
    r"$\tilde S^* = \frac1C\sum_c\tilde S_c^{s_*}$ the corrected update (26) yields $\mathcal{L}(\tilde W_r^*) - "
    r"\mathcal{L}(\tilde W_r) \le -(s_*\lambda)(1 - (s_*\lambda)L)\|\tilde U^\top F(\tilde W_r)\tilde V\|^2 + "
    r"(\frac{L\lambda}C\sum_{c=1}^C\sum_{s=0}^{s_*-1}\|\tilde S_c^s - \tilde S\|)\|\tilde U^\top F(\tilde W_r)\tilde "
    r"V\| + \frac{L^3\lambda^2s_*}C\sum_{c=1}^C\sum_{s=0}^{s_*-1}\|\tilde S_c^s - \tilde S_c\|^2$.",
    measure=measure_spent,
    mutants=[{"first": 0.4}, {"first": 0.5, "drift": 0.9}, {"square": 0.2}],
    best={
        "first": Best(0.5, _OTHERS),
        "drift": Best(0.0, _OTHERS),
        "square": Best(0.25, "searched: two long steps of one bowl; " + _OTHERS),
    },
    hypotheses=(Dropped("L-smooth with this constant", {"smooth": False}),),
    importance="result",
    expect=("holds", "proof"),
)
def thm_7(
    cases: list[Spent], first: float = 1.0, drift: float = 1.0, square: float = 1.0, smooth: bool = True
) -> Evidence:
    r"""Quadratic clients; the certificate covers all. For $s_*\lambda L \le 2$ the constants 1/2, 1, 1/2 suffice."""
    cases = [case for case in cases if case.smooth or not smooth]
    left = np.array([case.change for case in cases])
    steps, step, drifts, squares = np.array([(c.steps, c.step, c.drift, c.square) for c in cases]).T
    whole = steps * step
    terms = np.array([-whole, first * whole**2, drift * step * drifts, square * step**2 * steps * squares])
    error = 1e-11 * (np.abs(terms).sum(axis=0) + np.abs(left) + whole)

    def case(index: int) -> Mapping[str, object]:
        return {"curvatures": list(cases[index].curvatures), "steps": cases[index].steps, "step": cases[index].step}

    return judge_inequality(
        left,
        terms.sum(axis=0),
        error,
        case=case,
        scope=f"{len(cases)} rounds of one or two quadratic clients",
        domain=tried_rounds(cases),
        printed=f"factors {first:g} of (sλ)^2 L|g|^2, {drift:g} of the drift, {square:g} of its squares",
    )
