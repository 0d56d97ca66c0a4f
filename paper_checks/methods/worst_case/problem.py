r"""Worst-case problems of one round of local steps, in fractions.

With $x$ the server's weights, $g$ the gradient of the mean loss there and $g_c$ a client's, write
$\varphi_c(p) = f_c(x+p) - f_c(x) - \langle g_c, p\rangle$, which is in the class if $f_c$ is, and $D_c(p)$ for its
gradient. Local steps are then $e_{k+1} = e_k - \lambda(D_c(e_k) + g + n_c)$ with $n_c$ the part of $g_c - g$ that no
correction takes out. What is known of $\varphi_c$ at finitely many points is that the interpolation conditions of the
class hold (Taylor, Hendrickx and Glineur, 2017), one inequality for each ordered pair of points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import permutations
from typing import Literal

from paper_checks.methods.worst_case.gram import Block, Form, Vector, inner, square

Side = Literal["inside", "outside"]
END = "+"
"""Name of the server's point at the end of a round."""


@dataclass(frozen=True)
class Recursion:
    """Correction in the local steps of a round.

    Attributes:
        name: name of the method.
        sides: orthogonal parts of the space: one, or the block of the simplified correction and the rest.
        corrected: the sides on which each client's gradient at the start is replaced by the mean one.
    """

    name: str
    sides: tuple[Side, ...]
    corrected: tuple[Side, ...]


FEDAVG = Recursion("FedAvg", ("inside",), ())
FEDLIN = Recursion("FedLin", ("inside",), ("inside",))  # and FeDLRT's coefficients with the full correction
SIMPLIFIED = Recursion("FeDLRT, simplified", ("inside", "outside"), ("inside",))
RECURSIONS = {recursion.name: recursion for recursion in (FEDAVG, FEDLIN, SIMPLIFIED)}


@dataclass(frozen=True)
class Setting:
    """One round, and what is asked of it.

    Attributes:
        recursion: what is corrected.
        clients: number of clients.
        steps: local steps of each.
        step: learning rate in units of 1/L.
        low: least curvature in units of L: -1 for smooth, 0 for smooth and convex functions.
        goal: ``descent`` is the change of the mean loss in units of 1/L, ``drift`` the mean squared distance of the
            clients from the start after their steps, in units of 1/L^2; both relative to the squared mean gradient.
        spread: bound on the mean squared distance of the clients' gradients from their mean, relative to the mean
            gradient's square; None for no bound. It matters where something is not corrected.
        alignment: Assumption 1 of FeDLRT at every local point, for the clients: pairs (delta, gamma). Each asks
            |outside|^2 <= delta (gamma |inside|^2 + |g|^2 / gamma) + delta^2 |g|^2, which the assumption implies for
            every gamma > 0 and which together imply it.
        outside: delta of what serves instead of it: at the start of the round, the clients' gradients outside of the
            block are at most delta |g| in root mean square.
        mean: greatest curvature of the mean loss in units of L, if it is smoother than the clients' own. Only what
            this says between the start and the end of the round is used, so the value is an upper bound.

    Raises:
        ValueError: a number out of its range.
    """

    recursion: Recursion = FEDLIN
    clients: int = 2
    steps: int = 1
    step: Fraction = Fraction(1, 12)
    low: Fraction = Fraction(-1)
    goal: Literal["descent", "drift"] = "descent"
    spread: Fraction | None = None
    alignment: tuple[tuple[Fraction, Fraction], ...] = ()
    outside: Fraction | None = None
    mean: Fraction | None = None

    def __post_init__(self) -> None:
        if self.clients < 1 or self.steps < 1 or self.step <= 0 or not -1 <= self.low < 1:
            raise ValueError(
                "clients and steps must be at least 1, the step positive and the least curvature in [-1, 1), got "
                f"{self.clients}, {self.steps}, {self.step} and {self.low}"
            )
        if self.mean is not None and not 0 < self.mean <= 1:
            raise ValueError(f"the mean's greatest curvature must be in (0, 1], got {self.mean}")


@dataclass(frozen=True)
class Inequality:
    """A known inequality: the form plus the named function values times their factors is at most 0.

    Attributes:
        name: unique in its problem.
        build: makes the form; there are many, and a certificate may need few.
        values: factors of function values.
    """

    name: str
    build: Callable[[], Form]
    values: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def form(self) -> Form:
        """The form in the inner products."""
        return self.build()


@dataclass(frozen=True)
class WorstCase:
    """The largest value of an objective under inequalities, per squared norm of the mean gradient.

    Attributes:
        setting: what it was made from.
        blocks: names of the unknown vectors of each block.
        objective: its form.
        objective_values: its function values.
        unit: the squared norm of the mean gradient.
        inequalities: what is known.
        gradients: of the clients at the points, spread included, relative to the start.
        points: relative to the start.
    """

    setting: Setting
    blocks: Mapping[Block, tuple[str, ...]]
    objective: Form
    objective_values: Mapping[str, int]
    unit: Form
    inequalities: tuple[Inequality, ...]
    points: Mapping[str, Vector]
    gradients: Mapping[str, Vector]


def interpolation(
    low: Fraction, points: tuple[Vector, Vector], gradients: tuple[Vector, Vector], high: Fraction = Fraction(1)
) -> Form:
    r"""Return the form Q with $\varphi_j - \varphi_i + Q \le 0$ for curvature between ``low`` and ``high``.

    Args:
        low: least curvature.
        points: of i and j.
        gradients: there.
        high: greatest curvature.
    """
    apart = points[0] - points[1]
    turn = gradients[0] - gradients[1]
    bent = square(turn) + square(apart) * (low * high) - inner(turn, apart) * (2 * low)
    return inner(gradients[1], apart) + bent * (1 / (2 * (high - low)))


def worst_case(setting: Setting) -> WorstCase:
    """Return the problem of a setting, reduced by the exchange of clients.

    Every client's vector is the mean over the clients plus a spread of mean zero. Averaged over all orders of the
    clients, inner products of the two kinds vanish, and each client has the same ones: the spread's Gram matrix is any
    positive semidefinite one if there are two clients or more, and zero for one.
    """
    recursion, steps = setting.recursion, setting.steps
    parts = ("mean", "spread") if setting.clients > 1 else ("mean",)
    names = [str(k) for k in range(1, steps)] + ([END] if setting.goal == "descent" else [])
    zero = Vector({})

    def unknown(part: str, name: str, sides: tuple[Side, ...] = recursion.sides) -> Vector:
        return Vector({((part, side), name): Fraction(1) for side in sides}) if part in parts else zero

    uncorrected: tuple[Side, ...] = tuple(side for side in recursion.sides if side not in recursion.corrected)
    seen = recursion.sides if setting.alignment else uncorrected
    everywhere = [(part, "outside") for part in parts]
    g, n = unknown("mean", "g"), unknown("spread", "n", seen)
    push = g + n.restrict(("spread", side) for side in uncorrected)
    D = {"0": zero} | {name: unknown("mean", name) + unknown("spread", name) for name in names}
    e = {"0": zero}
    last = zero
    for k in range(steps):
        last = last - (D[str(k)] + push) * setting.step
        if k + 1 < steps:
            e[str(k + 1)] = last
    means = [("mean", side) for side in recursion.sides]
    if setting.goal == "descent":
        e[END] = last.restrict(means)
        objective, values = inner(g, e[END]), {END: 1}
    else:
        objective, values = square(last), {}
    known = []
    for i, j in permutations(e, 2):
        form = partial(interpolation, setting.low, (e[i], e[j]), (D[i], D[j]))
        known.append(Inequality(f"{i},{j}", form, {name: s for name, s in ((j, 1), (i, -1)) if name != "0"}))
    if setting.mean is not None and setting.goal == "descent":
        low = max(setting.low, -setting.mean)
        ends = {"0": (zero, zero), END: (e[END], D[END].restrict(means))}
        for i, j in (("0", END), (END, "0")):
            (x, slope), (y, other) = ends[i], ends[j]
            form = partial(interpolation, low, (x, y), (slope, other), setting.mean)
            known.append(Inequality(f"mean {i},{j}", form, {END: 1 if j == END else -1}))
    unit = square(g)
    if setting.spread is not None and setting.clients > 1:
        limit = square(n) - unit * setting.spread
        known.append(Inequality("spread", lambda: limit))
    for number, (delta, gamma) in enumerate(setting.alignment):
        for name in (str(k) for k in range(steps)):
            there = D[name] + g + n
            outside = square(there.restrict(everywhere))
            inside = square(there.restrict((part, "inside") for part in parts))
            room = unit * delta**2 + inside * (delta * gamma) + unit * (delta / gamma)
            known.append(Inequality(f"alignment {number}, {name}", partial(Form.__sub__, outside, room)))
    if setting.outside is not None:
        beyond = square((g + n).restrict(everywhere)) - unit * setting.outside**2
        known.append(Inequality("outside", lambda: beyond))
    blocks: dict[Block, tuple[str, ...]] = {}
    for part in parts:
        for side in recursion.sides:
            extra = ("g",) if part == "mean" else ("n",) if side in seen else ()
            if extra or names:
                blocks[part, side] = (*extra, *names)
    return WorstCase(setting, blocks, objective, values, unit, tuple(known), e, D | {"start": g + n})
