r"""Client drift and descent of a round: proofs, and certificates of the worst case over all smooth losses.

The vectors of a certificate are g and, for each client, the changes of its gradient between the start and each of its
points. A client function is known by the inequalities between its points that hold for every function with curvature in
[low, 1], L = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from math import ceil, factorial
from typing import Any

import sympy

from paper_checks.fedlrt.replays.local_steps import flaw_of_bracket, flaw_of_series
from paper_checks.replay import Proof, proof
from paper_checks.stored_values import Values

Row = list[Fraction]
ONE = Fraction(1)
SIZES = ((2, 1), (2, 2), (2, 3), (3, 3), (4, 4))
"""Clients and steps."""


def plus(*terms: tuple[Fraction | int, Row]) -> Row:
    """A combination of rows."""
    return [sum((factor * row[i] for factor, row in terms), Fraction(0)) for i in range(len(terms[0][1]))]


class Slack:
    """A quadratic form that must be non-negative, put together term by term."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.matrix = [[Fraction(0)] * size for _ in range(size)]

    def unit(self, place: int) -> Row:
        """One of the vectors."""
        return [ONE if i == place else Fraction(0) for i in range(self.size)]

    def add(self, factor: Fraction | int, one: Row, other: Row) -> None:
        """Adds a multiple of the inner product of two rows."""
        for i, a in enumerate(one):
            for j, b in enumerate(other):
                if a and b:
                    self.matrix[i][j] += factor * a * b / 2
                    self.matrix[j][i] += factor * a * b / 2

    def non_negative(self) -> bool:
        """Symmetric elimination: no negative pivot, and nothing left of a row whose pivot is zero."""
        M = [row[:] for row in self.matrix]
        for k in range(self.size):
            if M[k][k] < 0 or (M[k][k] == 0 and any(M[k][k:])):
                return False
            if M[k][k] == 0:
                continue
            for i in range(k + 1, self.size):
                share = M[i][k] / M[k][k]
                if share:
                    M[i] = [M[i][j] - share * M[k][j] if j >= k else M[i][j] for j in range(self.size)]
        return True


def rounds(wholes: Sequence[int | Fraction], sizes: Sequence[tuple[int, int]] = SIZES) -> list[tuple[int, int, str]]:
    """Clients, steps and learning rate of a round at each of the values of s lambda L."""
    return [(clients, steps, str(Fraction(whole) / steps)) for clients, steps in sizes for whole in wholes]


def round_of(case: Mapping[str, Any]) -> tuple[int, int, str]:
    """Clients, steps and learning rate of a case on file."""
    return case["clients"], case["steps"], case["step"]


def local_points(slack: Slack, step: Fraction, steps: int, D: Sequence[Row]) -> list[Row]:
    """The client's points, start and end included: each step goes along -(D + g)."""
    points = [[Fraction(0)] * slack.size]
    for k in range(steps):
        points.append(plus((1, points[-1]), (-step, D[k]), (-step, slack.unit(0))))
    return points


def _proves(content: Mapping[str, Any]) -> str:
    """Why the multipliers do not prove the bound for corrected steps; empty if they do."""
    clients, steps, step, low = (
        int(content["clients"]),
        int(content["steps"]),
        Fraction(content["step"]),
        Fraction(content["low"]),
    )
    multipliers = {name: Fraction(value) for name, value in content["multipliers"].items()}
    descent = content["goal"] == "descent"
    if (
        content["recursion"] != "FedLin"
        or content["goal"] not in ("descent", "drift")
        or min(multipliers.values(), default=0) < 0
    ):
        return "not a certificate of corrected steps with non-negative multipliers"
    names = [str(k) for k in range(steps)] + (["+"] if descent else [])
    width = len(names) - 1
    slack = Slack(1 + clients * width)
    nothing = [Fraction(0)] * slack.size
    slopes = [[nothing, *(slack.unit(1 + c * width + k) for k in range(width))] for c in range(clients)]
    walks = [local_points(slack, step, steps, D) for D in slopes]
    end = plus(*((Fraction(1, clients), walk[-1]) for walk in walks))
    g = slack.unit(0)
    slack.add(Fraction(content["bound"]), g, g)
    if descent:
        slack.add(-1, g, end)
    else:
        for walk in walks:
            slack.add(Fraction(-1, clients), walk[-1], walk[-1])
    return flaw_of_multipliers(slack, plus, names, slopes, [[*walk[:steps], end] for walk in walks], multipliers, low)


def flaw_of_multipliers(
    slack: Any,
    plus: Any,
    names: Sequence[str],
    slopes: Sequence[Any],
    walks: Sequence[Any],
    multipliers: dict[str, Fraction],
    low: Fraction,
) -> str:
    """Adds each pair of a client's points to the slack of the bound, and says what is missing for a proof.

    Args:
        slack: what is left so far: its ``add`` and ``non_negative`` take the vectors that ``plus`` combines.
        plus: combines vectors.
        names: of the points.
        slopes: changes of each client's gradient at its points.
        walks: each client's points.
        multipliers: by pairs of names.
        low: least curvature.
    """
    left = {name: ONE if name == "+" else Fraction(0) for name in names}
    for i, j in permutations(range(len(names)), 2):
        weight = multipliers.pop(f"{names[i]},{names[j]}", Fraction(0))
        left[names[j]] -= weight
        left[names[i]] += weight
        for D, x in zip(slopes, walks, strict=True):
            apart, turn, share = plus((1, x[i]), (-1, x[j])), plus((1, D[i]), (-1, D[j])), weight / len(walks)
            slack.add(share, D[j], apart)  # value at j <= value at i - <gradient at j, apart> - bent / (2 (1 - low))
            bent = share / (2 * (1 - low))
            slack.add(bent, turn, turn)
            slack.add(bent * low, apart, apart)
            slack.add(-2 * bent * low, turn, apart)
    if multipliers:
        return f"there is no inequality {next(iter(multipliers))}"
    if any(left[name] for name in names if name != "0"):
        return "function values do not cancel"
    return "" if slack.non_negative() else "the slack is not positive semidefinite"


def all_proved(
    certificates: Sequence[Mapping[str, Any]],
    settings: Sequence[tuple[Any, ...]],
    flaw_of: Callable[[Mapping[str, Any]], str],
) -> str:
    """The first flaw; the settings that are promised must be those of the certificates, one by one."""
    if [(*round_of(c), c["goal"], c["low"], c.get("outside")) for c in certificates] != list(settings):
        return "the certificates are not those of the settings that are promised"
    for content in certificates:
        flaw = flaw_of(content)
        if flaw:
            return f"{content['clients']} clients, {content['steps']} steps: {flaw}"
    return ""


def _e_from_below(terms: int = 30) -> Fraction:
    return sum((Fraction(1, factorial(j)) for j in range(terms)), Fraction(0))


@proof("fedlrt/thm-1", further_steps=[100, 16, 64, 300])
def thm_1(values: Values) -> Proof:
    r"""A client's way by induction, for all steps and learning rates; certificates show the same at small sizes.

    Let L = 1, g be the global gradient at the start, $e_k$ a client's way after k steps, and $D_k$ how much its own
    gradient differs there from that at the start, $|D_k| \le |e_k|$. From $e_{k+1} = e_k - \lambda(g + D_k)$ follows
    $|e_{k+1}| \le (1 + \lambda)|e_k| + \lambda|g|$, and by induction $|e_k| \le ((1 + \lambda)^k - 1)|g|$, which the
    loss $-\frac12\|w\|^2 + \langle g, w\rangle$ attains. Here $((1 + \lambda)^k - 1)/\lambda = \sum_{j<k}(1 +
    \lambda)^j$ grows with k and with $\lambda$, so that for $k \le s_*$ and $\lambda \le 1/s_*$ it is at most $s_*((1 +
    1/s_*)^{s_*} - 1)$. That is below $(e - 1)s_*$, as the terms $\binom{s_*}j s_*^{-j}$ of the power are at most those
    of the series of e, $1/j!$. So $|e_k| \le (e - 1)s_*\lambda|g|$, less than the printed bound.
    """
    flaw = all_proved(values["certificates"], [(*one, "drift", "-1", None) for one in rounds([1])], _proves)
    for content in values["certificates"]:
        steps, step = int(content["steps"]), Fraction(content["step"])
        if Fraction(content["bound"]) != ((1 + step) ** steps - 1) ** 2:
            flaw = flaw or "a certified bound is not the exact worst drift"
        if Fraction(content["bound"]) > (_e_from_below() * steps * step) ** 2:
            flaw = flaw or "a certified bound is above the printed one"
    flaw = flaw or ("" if values["further_steps"] else "no further steps")
    for steps in (*range(1, 60), *map(int, values["further_steps"])):
        if (1 + Fraction(1, steps)) ** steps >= _e_from_below(max(30, steps + 1)):
            flaw = flaw or f"(1 + 1/s)^s is not below e at s = {steps}"
    count = len(values["certificates"])
    return Proof(
        not flaw,
        flaw
        or r"$\|\tilde S_c^s - \tilde S_c\| \le ((1 + \lambda L)^s - 1)\|\nabla_{\tilde S}\mathcal{L}\|/L$ "
        rf"by induction, and $(1 + \frac1s)^s < e$; {count} certificates of the same at small sizes",
    )


@proof("fedlrt/thm-6-proof", steps=[1, 2, 3, 10, 100])
def thm_6_proof(values: Values) -> Proof:
    r"""$\frac{a^j - 1}{a - 1} = N(a^j - 1) \le Na^j \le Na^N \le eN$ for $N = s_*$, $j = s + 1 \le N$.

    From $x_{j+1} \le ax_j + \lambda\|g\|$ and $x_0 = 0$ follows $x_j \le a^jx_0 + \lambda\|g\|\sum_{i<j}a^i$ by
    induction, as $1 + a\sum_{i<j}a^i = \sum_{i\le j}a^i$. The sum is a geometric one, $a = 1 + \frac1N$, and $a - 1 =
    \frac1N$. Then N is left out, and $a^j \le a^N$ as $a > 1$. For the last comparison $a^N = \sum_i\binom NiN^{-i}$
    with $\binom NiN^{-i} = \frac1{i!}\prod_{k<i}(1 - \frac kN) \le \frac1{i!}$, the terms of the series of e.
    """
    N, a, P = sympy.symbols("N a P", positive=True)  # P stands for a^(s+1) >= 1
    geometric = sympy.simplify((P - 1) / (a - 1) - N * (P - 1)).subs(a, 1 + 1 / N)
    flaw = "" if sympy.simplify(geometric) == 0 else "the geometric sum is not N (a^(s+1) - 1)"
    for steps in map(int, values["steps"]):
        a_value = 1 + Fraction(1, steps)
        powers = [a_value**k for k in range(steps + 1)]
        for j in range(1, steps + 1):
            total = sum(powers[:j], Fraction(0))
            if not total == (powers[j] - 1) * steps <= powers[j] * steps <= powers[steps] * steps:
                flaw = flaw or f"the chain fails at {steps} steps, step {j}"
        if powers[steps] >= _e_from_below(max(30, steps + 1)):
            flaw = flaw or f"a^N is not below e at N = {steps}"
    verified = bool(values["steps"]) and not flaw
    return Proof(
        verified,
        flaw
        or r"the geometric sum for every N, the comparisons and $a^N < e$ by the series of e; "
        f"written out for N in {values['steps']} and every step",
    )


@proof(
    "fedlrt/thm-8",
    further=[
        {"steps": 16, "step": "1/192"},
        {"steps": 16, "step": "1/32"},
        {"steps": 64, "step": "1/768"},
        {"steps": 64, "step": "1/128"},
        {"steps": 300, "step": "1/3600"},
        {"steps": 300, "step": "1/600"},
    ],
)
def thm_8(values: Values) -> Proof:
    r"""The constant $1 - \frac1{2s_*}$, below 12, serves for $x = s_*\lambda L \le 1$, and so does the printed one.

    With the correction every client's first step is along g, so that this is what `local_steps` says with $\rho = 1$
    and $R = 1 - \frac1{s_*}$. For $x \le \frac12$ even the exact worst case is known, that of a bowl. Certificates show
    both at small sizes, from nothing but the inequalities of smooth functions.
    """
    small, large = rounds([Fraction(1, 12), Fraction(1, 2)]), rounds([1, 2], SIZES[2:])
    flaw = all_proved(values["certificates"], [(*one, "descent", "-1", None) for one in small + large], _proves)
    for content in values["certificates"]:
        steps, step = int(content["steps"]), Fraction(content["step"])
        whole, bound = steps * step, Fraction(content["bound"])
        if whole <= Fraction(1, 2) and bound != ((1 - step) ** (2 * steps) - 1) / 2:
            flaw = flaw or "a certified bound is not the exact worst case"
        if bound > -whole * (1 - whole):
            flaw = flaw or "a certified bound is above -sλ(1 - sλL)"
    flaw = flaw or flaw_of_bracket(ONE, ONE)
    for steps in (1, 2, 3, 10, 100):
        flaw = flaw or flaw_of_series(steps)
    flaw = flaw or ("" if values["further"] else "no further steps")
    for case in values["further"]:
        if not descends_as_a_bowl(int(case["steps"]), Fraction(case["step"])):
            flaw = flaw or f"not dominant at {case['steps']} steps of {case['step']}"
    return Proof(
        not flaw,
        flaw
        or r"the constant $1 - \frac1{2s_*}$, below 12, for all clients, steps and $s_*\lambda L \le 1$; the exact "
        rf"worst case up to $s_*\lambda L = \frac12$; {len(small)} certificates of that case and {len(large)} of the "
        r"constant 1 for $s_*\lambda L$ up to 2",
    )


def descends_as_a_bowl(steps: int, step: Fraction) -> bool:
    r"""Corrected steps with $s\lambda L \le \frac12$ change the mean loss by at most $-\frac{1 - q^{2s}}{2L}|g|^2$.

    Here $q = 1 - \lambda L$ and g is the mean gradient at the start; $\frac L2\|w - b\|^2$ for all clients, a bowl,
    attains it. Proof, L = 1. Let $e_k$ be a client's way after k steps and $D_k$ how much its gradient has changed. Put
    $z_k = g + e_k$ and $r_k = e_k - D_k$, the gradient of a convex function that is 2-smooth and is 0 at the start:
    $|r_k|^2 \le 2\langle r_k, e_k\rangle$. A step is $z_{k+1} = qz_k + \lambda r_k$, $z_0 = g$, $r_0 = 0$. By
    smoothness of the mean its change is at most $\frac12(|\bar z|^2 - |g|^2)$ for the mean $\bar z$ of the clients'
    $z_s$, so that $|z_s| \le q^s|g|$ for every client is enough. Let $y_k = q^{-k}z_k$, $u_k = q^{-k}r_k$ and $\mu =
    \lambda/q$: then $y_k = g + \mu\sum_{j<k}u_j$, and $|y_s|^2 - |g|^2 = \mu\sum_k(2\langle u_k, y_k\rangle +
    \mu|u_k|^2)$. As $e_k = q^ky_k - g = -(1 - q^k)y_k + \mu\sum_{j<k}u_j$, the inequality of $r_k$ is $2(1 -
    q^k)\langle u_k, y_k\rangle \le -q^k|u_k|^2 + 2\mu\sum_{j<k}\langle u_k, u_j\rangle$. With $2\langle u_k, u_j\rangle
    \le |u_k|^2 + |u_j|^2$ the factor of $\mu|u_k|^2$, $1 \le k < s$, is in all at most $-\frac{q^k}{1-q^k} + \mu +
    \mu\frac{k-1}{1-q^k} + \mu\sum_{k<j<s}\frac1{1-q^j}$. That is not positive if $q^{k+1} \ge \lambda(1 - q^k) +
    \lambda(k - 1) + \lambda\sum_{k<j<s}\frac{1-q^k}{1-q^j}$, whose right side is at most $\lambda(s - 1)$; and $q^{k+1}
    \ge q^s \ge 1 - s\lambda \ge s\lambda$ by $s\lambda \le \frac12$. The machine does the rows with these sums at the
    sizes on file.
    """
    if step * steps > Fraction(1, 2):
        return False
    gap = [1 - (1 - step) ** k for k in range(steps)]
    sums = [Fraction(0)] * (steps + 1)
    for k in range(steps - 1, 0, -1):  # rounded up, to keep the fractions short
        sums[k] = sums[k + 1] + Fraction(ceil(2**64 / gap[k]), 2**64)
    return all(
        (1 - step) * (1 - gap[k]) / gap[k] - step >= step * (Fraction(k - 1) / gap[k] + sums[k + 1])
        for k in range(1, steps)
    )


@proof("fedlrt/thm-7")
def thm_7(values: Values) -> Proof:
    r"""Smoothness of the mean between start and end, and both terms of the line after it.

    $L(w) - L(0) \le \langle g, w\rangle + \frac12|w|^2$ for the end w of the mean client, and the two terms are bounded
    as in [the first term](fedlrt--thm-7-first-term.md) and [the second](fedlrt--thm-7-second-term.md): their sum is the
    statement with the constants 1, 1, 1, for all sizes and rates. The machine does it at the sizes on file, and shows
    there that other constants serve too: for each case, right side minus left side is a sum of what is known to be
    non-negative.

    Let g be the mean gradient at the start and, for a client at a step, e how far it is from the start and D the change
    of its gradient since then: $|D| \le |e|$, as L = 1. Let t be 1 if all constants are 1, and $1 - s_*\lambda$ if the
    first and the last are one half, so that $|t| \le 1$. Then right minus left side is made of $|e||g| + t\langle g,
    D\rangle$ and $|e|^2 - |D|^2$ for the clients and steps, of the smoothness of the mean between start and end, and of
    a quadratic form in g and all D that is positive semidefinite.
    """
    cases, half = values["cases"], ("1/2", "1", "1/2")
    wanted = [
        (*one, *constants)
        for one in rounds([Fraction(1, 12), Fraction(1, 2), 2, 5, 100])
        for constants in (("1", "1", "1"), half)
    ]
    wanted = [one for one in wanted if one[3:] != half or one[1] * Fraction(one[2]) <= 2]
    found = [(*round_of(case), case["first"], case["drift"], case["square"]) for case in cases]
    if found != wanted:
        return Proof(False, "the cases are not those of the settings that are promised")
    flaw = ""
    for case in cases:
        clients, steps, step = int(case["clients"]), int(case["steps"]), Fraction(case["step"])
        first, drift, square = (Fraction(case[name]) for name in ("first", "drift", "square"))
        t = drift if first == 1 else 1 - steps * step
        if abs(t) > drift:
            flaw = flaw or "|t| is above the constant of the drift"
        slack = Slack(1 + clients * (steps - 1))
        g, nothing = slack.unit(0), [Fraction(0)] * slack.size
        slopes = [[nothing, *(slack.unit(1 + c * (steps - 1) + k) for k in range(steps - 1))] for c in range(clients)]
        walks = [local_points(slack, step, steps, D) for D in slopes]
        end = plus(*((Fraction(1, clients), walk[-1]) for walk in walks))
        whole = steps * step
        slack.add(-whole * (1 - first * whole), g, g)
        slack.add(-1, g, end)
        slack.add(Fraction(-1, 2), end, end)
        for D in slopes:
            for row in D[1:]:
                slack.add(-t * step / clients, g, row)  # what the products leave
                slack.add(square * step**2 * steps / clients, row, row)  # |e|^2 is at least this
        if not slack.non_negative():
            flaw = flaw or f"{clients} clients, {steps} steps of {step}: the rest is not positive semidefinite"
    printed = sum(one[3:] != half for one in wanted)
    return Proof(
        not flaw,
        flaw
        or "for all sizes and rates by the bounds of the two terms; what is left of right minus left side by machine "
        f"as well, in {len(cases)} cases, {printed} of them with the printed constants",
    )
