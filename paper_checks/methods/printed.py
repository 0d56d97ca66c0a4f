"""Printed numbers by interval arithmetic: every printed value covers half a unit of its last digit either way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from paper_checks.claim import Evidence
from paper_checks.engine.lines import Line, line_of
from paper_checks.facts import combine, compare
from paper_checks.methods.rounded import Rounded as Rounded
from paper_checks.methods.rounded import as_rounded
from paper_checks.methods.rounded import largest as largest
from paper_checks.methods.rounded import smallest as smallest
from paper_checks.methods.sides import number, require_some


@dataclass(frozen=True)
class Cell:
    """A printed value and the value that its inputs give; a count may be a plain number."""

    printed: Rounded
    recomputed: Rounded
    inputs: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "printed", as_rounded(self.printed))
        object.__setattr__(self, "recomputed", as_rounded(self.recomputed))

    @property
    def apart(self) -> Fraction:
        """Least distance between the two; negative by the overlap."""
        difference = self.printed - self.recomputed
        return max(difference.low, -difference.high)

    @property
    def meets(self) -> bool:
        """Whether the two are shown to be one number for some rounding of the inputs."""
        low, high = (self.printed - self.recomputed).inner
        return low <= 0 <= high


def judge_printed(cells: Mapping[str, Cell], scope: str) -> Evidence:
    """Judge that every printed value can be what its printed inputs give.

    Refuted only where the two intervals are disjoint, so no rounding could explain the difference. Undecided where
    they meet, but the recomputed one is wider than the values that were found in it, because an input occurs in it
    several times.

    Args:
        cells: printed and recomputed value of each cell, with the printed inputs as text.
        scope: which cells of which tables.
    """
    require_some(cells, "cells")
    apart = {name: cell.apart for name, cell in cells.items()}
    wrong = [name for name, distance in apart.items() if distance > 0]
    unclear = [name for name, cell in cells.items() if not cell.meets and name not in wrong]
    known = None if unclear else True
    lines = _line(False if wrong else known, [(cell.printed, cell.recomputed) for cell in cells.values()])
    if unclear and not wrong:
        cell = cells[unclear[0]]
        reason = f"an input occurs several times in what is computed, whose range is not known: {'; '.join(unclear)}"
        printed, obtained = f"{unclear[0]}: {cell.printed}", f"within {cell.recomputed}"
        return Evidence(None, scope, printed, obtained, cases=len(cells), reason=reason, lines=lines)
    if not wrong:
        closest = max(cells, key=lambda name: apart[name])
        return Evidence(
            True,
            scope,
            f"{closest}: {cells[closest].printed}",
            f"{cells[closest].recomputed}; each of {len(cells)} agrees with its inputs",
            margin=-float(apart[closest]),
            cases=len(cells),
            whole=True,
            lines=lines,
            facts=combine(*(compare(name, distance, "<=", 0) for name, distance in apart.items())),
        )
    worst = max(wrong, key=lambda name: apart[name])
    cell = cells[worst]
    listed = "; ".join(f"{name}: printed {cells[name].printed}, recomputed {cells[name].recomputed}" for name in wrong)
    return Evidence(
        False,
        scope,
        f"{worst}: {cell.printed}",
        f"{cell.recomputed}; {len(wrong)} of {len(cells)} do not follow: {listed}",
        margin=-float(apart[worst]) - len(wrong),
        cases=len(cells),
        witness={"cell": worst, **cell.inputs},
        facts=combine(compare(worst, apart[worst], ">", 0)),
        lines=lines,
    )


def _line(ok: bool | None, pairs: Sequence[tuple[Rounded, Rounded]]) -> dict[str, Line]:
    """Return all cells are one line of the statement."""
    middles = [[float((one.low + one.high) / 2) for one in pair] for pair in pairs]
    return {"": line_of(ok, [pair[0] for pair in middles], [pair[1] for pair in middles], equal=True)}


@dataclass(frozen=True)
class Order:
    """The statement that one number is greater than another, with the printed inputs of both."""

    greater: Rounded
    smaller: Rounded
    inputs: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "greater", as_rounded(self.greater))
        object.__setattr__(self, "smaller", as_rounded(self.smaller))

    @property
    def lead(self) -> Rounded:
        """By how much it is greater."""
        return self.greater - self.smaller

    @property
    def holds(self) -> bool | None:
        """Whether it is greater; None where rounding leaves that open."""
        if self.lead.low > 0:
            return True
        return False if self.lead.high <= 0 else None


def judge_order(orders: Mapping[str, Order], scope: str) -> Evidence:
    """Judge whether every statement of order holds for every rounding.

    Refuted if one of them is false for every rounding; undecided if none is, but one is open.

    Args:
        orders: the statements by name.
        scope: which cells of which tables.
    """
    require_some(orders, "statements of order")
    leads = {name: order.lead for name, order in orders.items()}
    closest = min(leads, key=lambda name: leads[name].high)
    order = orders[closest]
    printed = f"{closest}: more than {order.smaller}"
    wrong = [name for name in orders if orders[name].holds is False]
    known = None if any(order.holds is None for order in orders.values()) else True
    lines = _line(False if wrong else known, [(order.greater, order.smaller) for order in orders.values()])
    if wrong:
        listed = "; ".join(f"{name}: {orders[name].greater} against {orders[name].smaller}" for name in wrong)
        return Evidence(
            False,
            scope,
            printed,
            f"{order.greater}; {len(wrong)} of {len(orders)} fail: {listed}",
            margin=float(leads[closest].high) - len(wrong),
            cases=len(orders),
            witness={"case": closest, **order.inputs},
            facts=combine(compare(closest, order.lead.high, "<=", 0)),
            lines=lines,
        )
    unclear = [name for name in orders if orders[name].holds is None]
    if unclear:
        reason = f"within the rounding of the printed values: {'; '.join(unclear)}"
        return Evidence(None, scope, printed, f"{order.greater}", cases=len(orders), reason=reason, lines=lines)
    nearest = min(leads, key=lambda name: leads[name].low)
    return Evidence(
        True,
        scope,
        f"{nearest}: more than {orders[nearest].smaller}",
        f"{orders[nearest].greater}; each of {len(orders)} holds, the closest by {leads[nearest]}",
        margin=float(leads[nearest].low),
        cases=len(orders),
        whole=True,
        lines=lines,
        facts=combine(*(compare(name, lead.low, ">", 0) for name, lead in leads.items())),
    )


def judge_count(
    orders: Mapping[str, Order], count: float, scope: str, inputs: Mapping[str, Any] | None = None
) -> Evidence:
    """Judge that exactly ``count`` of the statements of order hold.

    Args:
        orders: the statements by name.
        count: how many are said to hold.
        scope: which cells of which tables.
        inputs: printed values, for a witness.
    """
    require_some(orders, "statements of order")
    number(count, "how many are said to hold")
    sure = [name for name, order in orders.items() if order.holds]
    unclear = [name for name, order in orders.items() if order.holds is None]
    printed, most = f"{count:g} of {len(orders)}", len(sure) + len(unclear)
    obtained = f"{len(sure)} of {len(orders)}" if not unclear else f"{len(sure)} to {most} of {len(orders)}"
    if not len(sure) <= count <= most:
        apart = max(len(sure) - count, count - most)
        return Evidence(
            False,
            scope,
            printed,
            obtained,
            margin=-float(apart),
            cases=len(orders),
            witness={"count": f"{count:g}", "holding": len(sure), "open": len(unclear), **(inputs or {})},
            facts=combine(compare("count", len(sure) if len(sure) > count else most, "!=", Fraction(count))),
        )
    if unclear:
        reason = f"within the rounding of the printed values: {'; '.join(unclear)}"
        return Evidence(None, scope, printed, obtained, cases=len(orders), reason=reason)
    closest = min(abs(float((order.lead.low + order.lead.high) / 2)) for order in orders.values())
    facts = combine(compare("count", len(sure), "=", Fraction(count)))
    return Evidence(True, scope, printed, obtained, margin=closest, cases=len(orders), facts=facts, whole=True)
