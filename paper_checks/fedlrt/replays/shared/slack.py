"""Certificates of the worst case over all smooth losses, for a client's drift and the descent of a round.

The vectors of a certificate are g and, for each client, the changes of its gradient between the start and each of its
points. A client function is known by the inequalities between its points that hold for every function with curvature in
[low, 1], L = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from math import ceil
from typing import Any

from paper_checks.replay import FlawError, require

Row = list[Fraction]

ONE = Fraction(1)

FURTHER_STEPS = (16, 64, 300)
"""Local steps far outside the sizes of the certificates, for which a proof is checked row by row."""


def plus(*terms: tuple[Fraction | int, Row]) -> Row:
    """Return a combination of rows."""
    return [sum((factor * row[i] for factor, row in terms), Fraction(0)) for i in range(len(terms[0][1]))]


class Slack:
    """A quadratic form that must be non-negative, put together term by term."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.matrix = [[Fraction(0)] * size for _ in range(size)]

    def unit(self, place: int) -> Row:
        """Return one of the vectors."""
        return [ONE if i == place else Fraction(0) for i in range(self.size)]

    def add(self, factor: Fraction | int, one: Row, other: Row) -> None:
        """Add a multiple of the inner product of two rows."""
        for i, a in enumerate(one):
            for j, b in enumerate(other):
                if a and b:
                    self.matrix[i][j] += factor * a * b / 2
                    self.matrix[j][i] += factor * a * b / 2

    def non_negative(self) -> bool:
        """Eliminate symmetrically: no negative pivot, and nothing left of a row whose pivot is zero."""
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


SIZES = ((2, 1), (2, 2), (2, 3), (3, 3), (4, 4))
"""Clients and steps."""


def rounds(
    wholes: Sequence[int | Fraction], sizes: Sequence[tuple[int, int]] = SIZES
) -> list[tuple[int, int, Fraction]]:
    """Return clients, steps and learning rate of a round at each of the values of s lambda L."""
    return [(clients, steps, Fraction(whole) / steps) for clients, steps in sizes for whole in wholes]


def round_of(case: Mapping[str, Any]) -> tuple[int, int, Fraction]:
    """Return clients, steps and learning rate of a certificate."""
    return case["clients"], case["steps"], Fraction(case["step"])


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


def local_points(slack: Slack, step: Fraction, steps: int, D: Sequence[Row]) -> list[Row]:
    """Return the client's points, start and end included: each step goes along -(D + g)."""
    points = [[Fraction(0)] * slack.size]
    for k in range(steps):
        points.append(plus((1, points[-1]), (-step, D[k]), (-step, slack.unit(0))))
    return points


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
        """Return the changes of the clients' gradients after the start."""
        return [change for changes in self.changes for change in changes[1:]]


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


def descends_as_a_bowl(steps: int, step: Fraction) -> bool:
    r"""Corrected steps with $s\lambda L \le \frac12$ change the mean loss by at most $-\frac{1 - q^{2s}}{2L}|g|^2$.

    Here $q = 1 - \lambda L$ and g is the mean gradient at the start; $\frac L2\|w - b\|^2$ for all clients attains it.
    Proof, L = 1. Let $e_k$ be a client's way after k steps and $D_k$ how much its gradient has changed. Put $z_k = g +
    e_k$ and $r_k = e_k - D_k$, the gradient of a convex function that is 2-smooth and is 0 at the start: $|r_k|^2 \le
    2\langle r_k, e_k\rangle$. A step is $z_{k+1} = qz_k + \lambda r_k$, $z_0 = g$, $r_0 = 0$. By smoothness of the mean
    its change is at most $\frac12(|\bar z|^2 - |g|^2)$ for the mean $\bar z$ of the clients' $z_s$, so $|z_s| \le
    q^s|g|$ for every client is enough. Let $y_k = q^{-k}z_k$, $u_k = q^{-k}r_k$ and $\mu = \lambda/q$: then $y_k = g +
    \mu\sum_{j<k}u_j$, and $|y_s|^2 - |g|^2 = \mu\sum_k(2\langle u_k, y_k\rangle + \mu|u_k|^2)$. As $e_k = q^ky_k - g =
    -(1 - q^k)y_k + \mu\sum_{j<k}u_j$, the inequality of $r_k$ is $2(1 - q^k)\langle u_k, y_k\rangle \le -q^k|u_k|^2 +
    2\mu\sum_{j<k}\langle u_k, u_j\rangle$. With $2\langle u_k, u_j\rangle \le |u_k|^2 + |u_j|^2$ the factor of
    $\mu|u_k|^2$, $1 \le k < s$, is in all at most $-\frac{q^k}{1-q^k} + \mu + \mu\frac{k-1}{1-q^k} +
    \mu\sum_{k<j<s}\frac1{1-q^j}$. That is not positive if $q^{k+1} \ge \lambda(1 - q^k) + \lambda(k - 1) +
    \lambda\sum_{k<j<s}\frac{1-q^k}{1-q^j}$, whose right side is at most $\lambda(s - 1)$; and $q^{k+1} \ge q^s \ge 1 -
    s\lambda \ge s\lambda$ by $s\lambda \le \frac12$. The program checks the rows with these sums for some sizes.
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
