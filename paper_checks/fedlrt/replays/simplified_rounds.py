"""Certificates of rounds with simplified correction: every client's vectors written out, L = 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from paper_checks.fedlrt.replays.worst_cases import (
    SIZES,
    Row,
    Slack,
    all_proved,
    bound_by_multipliers,
    plus,
    round_of,
    rounds,
)
from paper_checks.replay import require

Pair = tuple[Row, Row]
"""Parts of a vector inside and outside of the block, which are orthogonal."""


class Parts:
    """The slack in both parts of the space, and the vectors by their coordinates.

    Inside stand g and the changes of the clients' gradients; outside their gradients at the start come first.
    """

    def __init__(self, clients: int, points: int) -> None:
        self.clients, self.points = clients, points
        self.inside, self.outside = Slack(1 + clients * points), Slack(clients + clients * points)
        starts = [self.outside.unit(c) for c in range(clients)]
        mean = plus(*((Fraction(1, clients), start) for start in starts))
        within = self.inside.unit(0)
        self.g: Pair = (within, mean)
        self.pushes: list[Pair] = [(within, start) for start in starts]
        self.nothing: Pair = ([Fraction(0)] * self.inside.size, [Fraction(0)] * self.outside.size)

    def change(self, client: int, point: int) -> Pair:
        """Change of a client's gradient between the start and one of its points."""
        place = client * self.points + point
        return self.inside.unit(1 + place), self.outside.unit(self.clients + place)

    def add(self, factor: Fraction | int, one: Pair, other: Pair) -> None:
        """Adds a multiple of an inner product."""
        self.inside.add(factor, one[0], other[0])
        self.outside.add(factor, one[1], other[1])

    def non_negative(self) -> bool:
        """Whether both parts are."""
        return self.inside.non_negative() and self.outside.non_negative()


def _plus(*terms: tuple[Fraction | int, Pair]) -> Pair:
    return plus(*((k, pair[0]) for k, pair in terms)), plus(*((k, pair[1]) for k, pair in terms))


def simplified_steps_are_bounded(content: Mapping[str, Any]) -> None:
    """Require that the multipliers of a certificate prove its bound for rounds with simplified correction."""
    clients, steps, step = round_of(content)
    bound, delta, whole = Fraction(content["bound"]), Fraction(content["outside"]), steps * step
    multipliers = {name: Fraction(value) for name, value in content["multipliers"].items()}
    require(
        content["recursion"] == "FeDLRT, simplified" and min(multipliers.values(), default=Fraction(-1)) >= 0,
        "not a certificate of rounds with simplified correction with non-negative multipliers",
    )
    # -x (1 - kappa x) with 2 kappa = 1 + (1 - 1/s) sqrt(1 + delta^2); the root alone on the left of >=
    root = (2 * (bound / whole + 1) / whole - 1) / (1 - Fraction(1, steps))
    require(root <= 0 or root**2 <= 1 + delta**2, "the certified bound is above the corrected statement")
    names = [*map(str, range(steps)), "+"]
    parts = Parts(clients, steps)
    slopes = [[parts.nothing, *(parts.change(c, k) for k in range(steps))] for c in range(clients)]
    walks = []
    for D, push in zip(slopes, parts.pushes, strict=True):
        walk = [parts.nothing]
        for k in range(steps):
            walk.append(_plus((1, walk[-1]), (-step, D[k]), (-step, push)))
        walks.append(walk)
    end = _plus(*((Fraction(1, clients), walk[-1]) for walk in walks))
    outside = multipliers.pop("outside", Fraction(0))
    parts.add(bound, parts.g, parts.g)
    parts.add(-1, parts.g, end)
    parts.add(-outside * delta**2, parts.g, parts.g)
    for push in parts.pushes:
        beyond = (parts.nothing[0], push[1])
        parts.add(outside / clients, beyond, beyond)
    points = [[*walk[:steps], end] for walk in walks]
    bound_by_multipliers(parts, _plus, names, slopes, points, multipliers, Fraction(-1))


def simplified_rounds_are_bounded(certificates: Sequence[Mapping[str, Any]]) -> None:
    """Require the proofs of all certificates, at the settings that are promised."""
    settings = [
        (*one, "descent", "-1", outside) for one in rounds([Fraction(1, 12), 1], SIZES[1:]) for outside in ("1/10", "1")
    ]
    all_proved(certificates, settings, simplified_steps_are_bounded)
