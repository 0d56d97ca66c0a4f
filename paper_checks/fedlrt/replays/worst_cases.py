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

from paper_checks.fedlrt.replays.local_steps import coefficients_of_the_power, local_steps_descend
from paper_checks.replay import FlawError, proof, require
from paper_checks.stored_values import Values

Row = list[Fraction]
ONE = Fraction(1)
SIZES = ((2, 1), (2, 2), (2, 3), (3, 3), (4, 4))
"""Clients and steps."""
WHOLES = (Fraction(1, 12), Fraction(1, 2), Fraction(2), Fraction(5), Fraction(100))
"""Values of s lambda L at which the bounds of Theorem 7, which hold for all of them, are repeated."""
FURTHER_STEPS = (16, 64, 300)
"""Local steps far outside the sizes of the certificates, for which a proof is checked row by row."""
FURTHER = tuple({"steps": s, "step": whole / s} for s in FURTHER_STEPS for whole in (Fraction(1, 12), Fraction(1, 2)))
"""Rounds of so many steps, by steps and learning rate."""


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


class CorrectedRound(Slack):
    """The slack of a bound on a round of corrected steps, with its vectors.

    Attributes:
        g: The mean gradient at the start.
        changes: Changes of each client's gradient at its points, zero at the start.
        walks: Each client's points, start and end included.
        end: The mean of their ends.
    """

    def __init__(self, clients: int, steps: int, step: Fraction, points: int | None = None) -> None:
        width = steps - 1 if points is None else points  # points after the start at which gradients are compared
        super().__init__(1 + clients * width)
        self.g, nothing = self.unit(0), [Fraction(0)] * self.size
        self.changes = [[nothing, *(self.unit(1 + c * width + k) for k in range(width))] for c in range(clients)]
        self.walks = [local_points(self, step, steps, D) for D in self.changes]
        self.end = plus(*((Fraction(1, clients), walk[-1]) for walk in self.walks))

    @property
    def on_the_way(self) -> list[Row]:
        """Changes of the clients' gradients after the start."""
        return [change for changes in self.changes for change in changes[1:]]


def rounds(
    wholes: Sequence[int | Fraction], sizes: Sequence[tuple[int, int]] = SIZES
) -> list[tuple[int, int, Fraction]]:
    """Clients, steps and learning rate of a round at each of the values of s lambda L."""
    return [(clients, steps, Fraction(whole) / steps) for clients, steps in sizes for whole in wholes]


def round_of(case: Mapping[str, Any]) -> tuple[int, int, Fraction]:
    """Clients, steps and learning rate of a certificate."""
    return case["clients"], case["steps"], Fraction(case["step"])


def local_points(slack: Slack, step: Fraction, steps: int, D: Sequence[Row]) -> list[Row]:
    """The client's points, start and end included: each step goes along -(D + g)."""
    points = [[Fraction(0)] * slack.size]
    for k in range(steps):
        points.append(plus((1, points[-1]), (-step, D[k]), (-step, slack.unit(0))))
    return points


def corrected_steps_are_bounded(content: Mapping[str, Any]) -> None:
    """Require that the multipliers of a certificate prove its bound for corrected steps."""
    clients, steps, step = round_of(content)
    low, bound = Fraction(content["low"]), Fraction(content["bound"])
    multipliers = {name: Fraction(value) for name, value in content["multipliers"].items()}
    descent = content["goal"] == "descent"
    require(
        content["recursion"] == "FedLin"
        and content["goal"] in ("descent", "drift")
        and min(multipliers.values(), default=0) >= 0,
        "not a certificate of corrected steps with non-negative multipliers",
    )
    names = [str(k) for k in range(steps)] + (["+"] if descent else [])
    slack = CorrectedRound(clients, steps, step, points=len(names) - 1)
    slack.add(bound, slack.g, slack.g)
    if descent:
        slack.add(-1, slack.g, slack.end)
    else:
        for walk in slack.walks:
            slack.add(Fraction(-1, clients), walk[-1], walk[-1])
    points = [[*walk[:steps], slack.end] for walk in slack.walks]
    bound_by_multipliers(slack, plus, names, slack.changes, points, multipliers, low)


def bound_by_multipliers(
    slack: Any,
    plus: Any,
    names: Sequence[str],
    slopes: Sequence[Any],
    walks: Sequence[Any],
    multipliers: dict[str, Fraction],
    low: Fraction,
) -> None:
    """Add each pair of a client's points to the slack of the bound, and require that they prove it.

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
    require(not multipliers, f"there is no inequality {next(iter(multipliers), '')}")
    require(not any(left[name] for name in names if name != "0"), "function values do not cancel")
    require(slack.non_negative(), "the slack is not positive semidefinite")


def all_proved(
    certificates: Sequence[Mapping[str, Any]],
    settings: Sequence[tuple[Any, ...]],
    proved: Callable[[Mapping[str, Any]], None],
) -> None:
    """Require a certificate for each of the settings that are promised, and the proof of each.

    Raises:
        FlawError: The settings are others, or a certificate does not prove its bound.
    """
    found = [(*round_of(c), c["goal"], c["low"], c.get("outside")) for c in certificates]
    require(found == list(settings), "the certificates are not those of the settings that are promised")
    for content in certificates:
        try:
            proved(content)
        except FlawError as flaw:
            raise FlawError(f"{content['clients']} clients, {content['steps']} steps: {flaw}") from None


def _e_from_below(terms: int = 30) -> Fraction:
    return sum((Fraction(1, factorial(j)) for j in range(terms)), Fraction(0))


@proof("fedlrt/thm-1")
def thm_1(certificate: Values, further_steps: Sequence[int] = (100, *FURTHER_STEPS)) -> str:
    r"""A client's way by induction, for all steps and learning rates; certificates show the same at small sizes.

    Let L = 1, g be the global gradient at the start, $e_k$ a client's way after k steps, and $D_k$ how much its own
    gradient differs there from that at the start, $|D_k| \le |e_k|$. From $e_{k+1} = e_k - \lambda(g + D_k)$ follows
    $|e_{k+1}| \le (1 + \lambda)|e_k| + \lambda|g|$, and by induction $|e_k| \le ((1 + \lambda)^k - 1)|g|$, which the
    loss $-\frac12\|w\|^2 + \langle g, w\rangle$ attains. Here $((1 + \lambda)^k - 1)/\lambda = \sum_{j<k}(1 +
    \lambda)^j$ grows with k and with $\lambda$, so that for $k \le s_*$ and $\lambda \le 1/s_*$ it is at most $s_*((1 +
    1/s_*)^{s_*} - 1)$. That is below $(e - 1)s_*$, as the terms $\binom{s_*}j s_*^{-j}$ of the power are at most those
    of the series of e, $1/j!$. So $|e_k| \le (e - 1)s_*\lambda|g|$, less than the printed bound.
    """
    certificates = certificate["certificates"]
    all_proved(certificates, [(*one, "drift", "-1", None) for one in rounds([1])], corrected_steps_are_bounded)
    for content in certificates:
        _, steps, step = round_of(content)
        bound = Fraction(content["bound"])
        require(bound == ((1 + step) ** steps - 1) ** 2, "a certified bound is not the exact worst drift")
        require(bound <= (_e_from_below() * steps * step) ** 2, "a certified bound is above the printed one")
    require(further_steps, "no further steps")
    for steps in (*range(1, 60), *further_steps):
        power = (1 + Fraction(1, steps)) ** steps
        require(power < _e_from_below(max(30, steps + 1)), f"(1 + 1/s)^s is not below e at s = {steps}")
    return (
        r"$\|\tilde S_c^s - \tilde S_c\| \le ((1 + \lambda L)^s - 1)\|\nabla_{\tilde S}\mathcal{L}\|/L$ "
        rf"by induction, and $(1 + \frac1s)^s < e$; {len(certificates)} certificates of the same at small sizes"
    )


@proof("fedlrt/thm-6-proof")
def thm_6_proof(steps: Sequence[int] = (1, 2, 3, 10, 100)) -> str:
    r"""$\frac{a^j - 1}{a - 1} = N(a^j - 1) \le Na^j \le Na^N \le eN$ for $N = s_*$, $j = s + 1 \le N$.

    From $x_{j+1} \le ax_j + \lambda\|g\|$ and $x_0 = 0$ follows $x_j \le a^jx_0 + \lambda\|g\|\sum_{i<j}a^i$ by
    induction, as $1 + a\sum_{i<j}a^i = \sum_{i\le j}a^i$. The sum is a geometric one, $a = 1 + \frac1N$, and $a - 1 =
    \frac1N$. Then N is left out, and $a^j \le a^N$ as $a > 1$. For the last comparison $a^N = \sum_i\binom NiN^{-i}$
    with $\binom NiN^{-i} = \frac1{i!}\prod_{k<i}(1 - \frac kN) \le \frac1{i!}$, the terms of the series of e.
    """
    require(steps, "no steps")
    N, a, P = sympy.symbols("N a P", positive=True)  # P stands for a^(s+1) >= 1
    geometric = sympy.simplify((P - 1) / (a - 1) - N * (P - 1)).subs(a, 1 + 1 / N)
    require(sympy.simplify(geometric) == 0, "the geometric sum is not N (a^(s+1) - 1)")
    for count in steps:
        a_value = 1 + Fraction(1, count)
        powers = [a_value**k for k in range(count + 1)]
        for j in range(1, count + 1):
            total = sum(powers[:j], Fraction(0))
            chain = total == (powers[j] - 1) * count <= powers[j] * count <= powers[count] * count
            require(chain, f"the chain fails at {count} steps, step {j}")
        require(powers[count] < _e_from_below(max(30, count + 1)), f"a^N is not below e at N = {count}")
    return (
        r"the geometric sum for every N, the comparisons and $a^N < e$ by the series of e; "
        f"written out for N in {list(steps)} and every step"
    )


@proof("fedlrt/thm-8")
def thm_8(certificate: Values, further: Sequence[Mapping[str, Any]] = FURTHER) -> str:
    r"""The constant $1 - \frac1{2s_*}$, below 12, serves for $x = s_*\lambda L \le 1$, and so does the printed one.

    With the correction every client's first step is along g, so that this is what `local_steps` says with $\rho = 1$
    and $R = 1 - \frac1{s_*}$. For $x \le \frac12$ even the exact worst case is known, that of a bowl. Certificates show
    both at small sizes, from nothing but the inequalities of smooth functions.
    """
    certificates = certificate["certificates"]
    small, large = rounds([Fraction(1, 12), Fraction(1, 2)]), rounds([1, 2], SIZES[2:])
    settings = [(*one, "descent", "-1", None) for one in small + large]
    all_proved(certificates, settings, corrected_steps_are_bounded)
    for content in certificates:
        _, steps, step = round_of(content)
        whole, bound = steps * step, Fraction(content["bound"])
        if whole <= Fraction(1, 2):
            require(bound == ((1 - step) ** (2 * steps) - 1) / 2, "a certified bound is not the exact worst case")
        require(bound <= -whole * (1 - whole), "a certified bound is above -sλ(1 - sλL)")
    local_steps_descend(ONE, ONE)
    for steps in (1, 2, 3, 10, 100):
        coefficients_of_the_power(steps)
    require(further, "no further steps")
    for case in further:
        dominant = descends_as_a_bowl(case["steps"], case["step"])
        require(dominant, f"not dominant at {case['steps']} steps of {case['step']}")
    return (
        r"the constant $1 - \frac1{2s_*}$, below 12, for all clients, steps and $s_*\lambda L \le 1$; the exact "
        rf"worst case up to $s_*\lambda L = \frac12$; {len(small)} certificates of that case and {len(large)} of the "
        r"constant 1 for $s_*\lambda L$ up to 2"
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
    \ge q^s \ge 1 - s\lambda \ge s\lambda$ by $s\lambda \le \frac12$. The machine does the rows with these sums at
    some sizes.
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
def thm_7(first: Fraction = ONE, drift: Fraction = ONE, square: Fraction = ONE) -> str:
    r"""Smoothness of the mean between start and end, and both terms of the line after it.

    $L(w) - L(0) \le \langle g, w\rangle + \frac12|w|^2$ for the end w of the mean client, and the two terms are bounded
    as in [the first term](fedlrt--thm-7-first-term.md) and [the second](fedlrt--thm-7-second-term.md): their sum is the
    statement with the constants 1, 1, 1, for all sizes and rates. The machine does it at some sizes, and shows
    there that 1/2, 1, 1/2 serve too for $s_*\lambda \le 2$: for each case, right side minus left side is a sum of what
    is known to be non-negative.

    Let g be the mean gradient at the start and, for a client at a step, e how far it is from the start and D the change
    of its gradient since then: $|D| \le |e|$, as L = 1. Let t be 1 if all constants are 1, and $1 - s_*\lambda$ if the
    first and the last are one half, so that $|t| \le 1$. Then right minus left side is made of $|e||g| + t\langle g,
    D\rangle$ and $|e|^2 - |D|^2$ for the clients and steps, of the smoothness of the mean between start and end, and of
    a quadratic form in g and all D that is positive semidefinite.
    """
    printed, half = (first, drift, square), (Fraction(1, 2), ONE, Fraction(1, 2))
    every = rounds(WHOLES)
    slow = [one for one in every if one[1] * one[2] <= 2]
    for constants, cases in ((printed, every), (half, slow)):
        for clients, steps, step in cases:
            _descends_by_both_terms(clients, steps, step, *constants)
    return (
        "for all sizes and rates by the bounds of the two terms; what is left of right minus left side by machine "
        f"as well, in {len(every) + len(slow)} cases, {len(every)} of them with the printed constants"
    )


def _descends_by_both_terms(
    clients: int, steps: int, step: Fraction, first: Fraction, drift: Fraction, square: Fraction
) -> None:
    """Require Theorem 7 with these constants, for a round of this size."""
    whole = steps * step
    t = drift if first == 1 else 1 - whole
    require(abs(t) <= drift, "|t| is above the constant of the drift")
    slack = CorrectedRound(clients, steps, step)
    slack.add(-whole * (1 - first * whole), slack.g, slack.g)
    slack.add(-1, slack.g, slack.end)
    slack.add(Fraction(-1, 2), slack.end, slack.end)
    for change in slack.on_the_way:
        slack.add(-t * step / clients, slack.g, change)  # what the products leave
        slack.add(square * step**2 * steps / clients, change, change)  # |e|^2 is at least this
    size = f"{clients} clients, {steps} steps of {step}"
    require(slack.non_negative(), f"{size}: the rest is not positive semidefinite")
