r"""Appendices A.4 and A.5: how many iterations take $\delta_0$ below $\epsilon$, for both theorems.

Both divide $\log(\epsilon/\delta_0)$ by $\log(1 - c(1 - \delta_0^2))$, with T in the exponent (A.5) or T/2 (A.4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from paper_checks.claim import Evidence
from paper_checks.context import Context

DELTAS = ("0.6", "0.001", "0.1", "0.3", "0.9", "0.999")

CONSTANTS = ("0.78125", "0.001", "0.1", "0.5", "0.9", "0.999")

QUOTIENTS = ("0.5", "0.001", "0.1", "0.9", "0.999", "1.5", "3")


@dataclass(frozen=True)
class Count:
    r"""One case.

    Attributes:
        delta_0: Start.
        c: Constant of the rate.
        quotient: $\epsilon/\delta_0$.
        drawn: Numbers of iterations to try in addition to those around the least one.
    """

    delta_0: str
    c: str
    quotient: str
    drawn: tuple[int, ...]

    @property
    def rate(self) -> float:
        """Return Y = c(1 - delta_0^2), between 0 and 1."""
        return float(self.c) * (1.0 - float(self.delta_0) ** 2)

    def numbers(self) -> dict[str, Any]:
        """Return the numbers for the witness."""
        return {"delta_0": self.delta_0, "c": self.c, "quotient": self.quotient}


def search_counts(context: Context) -> list[Count]:
    """Search all combinations of ends and middles; the first is the simplest."""
    rng = context.rng("iterations")
    return [
        Count(*names, tuple(int(T) for T in rng.integers(1, 400, context.size(4, 40))))
        for names in product(DELTAS, CONSTANTS, QUOTIENTS)
    ]


def judge_equivalence(counts: Sequence[Count], root: float, root_log: float, power: float, flip: int) -> Evidence:
    r"""Judge whether the powers, the quotient and the logarithms say the same of T.

    Args:
        counts: Cases.
        root: The exponent is T over this.
        root_log: The same in the line of logarithms.
        power: Power of $\delta_0$ in the rate of that line.
        flip: Direction of the inequality after division by the negative logarithm.
    """
    tried, broken, example = 0, 0, None
    for count in counts:
        delta, y = float(count.delta_0), count.rate
        target = math.log(float(count.quotient))
        y_log = float(count.c) * (1.0 - delta**power)
        least = root * target / math.log1p(-y)
        near = [math.floor(least), math.ceil(least)] if 1.0 <= least < 1e7 else []
        for T in (*count.drawn, *near):
            # Where the sides agree to rounding, either answer may come out.
            if T < 1 or abs(T / root * math.log1p(-y) - target) < 1e-9 * (1.0 + abs(target)):
                continue
            first = math.exp(math.log(delta) + T / root * math.log1p(-y)) <= float(count.quotient) * delta
            second = math.exp(T / root * math.log1p(-y)) <= float(count.quotient)
            third = T / root_log * math.log1p(-y_log) <= target
            last = flip * (T - root * target / math.log1p(-y)) >= 0
            tried += 1
            if not first == second == third == last:
                broken, example = broken + 1, {**count.numbers(), "T": T}
    scope = (
        f"{tried} cases: delta_0, c from 0.001 to 0.999, epsilon/delta_0 from 0.001 to 3, T around the least and far"
    )
    if broken:
        return Evidence(
            False,
            scope,
            "all lines say the same",
            f"not in {broken} cases",
            margin=-broken / tried,
            cases=tried,
            witness=example,
        )
    return Evidence(True, scope, "all lines say the same", f"in {tried} cases", margin=1.0, cases=tried)


def judge_order(counts: Sequence[Count], sense: int, beyond: bool, root: float, size: float) -> Evidence:
    r"""Judge the order of the exact number of iterations and the simple one.

    Args:
        counts: Cases.
        sense: 1 for exact > simple, -1 for exact < simple.
        beyond: Cases with $\epsilon > \delta_0$ instead of $\epsilon < \delta_0$.
        root: 2 in A.4, 1 in A.5.
        size: Factor of the simple one.
    """
    left, right, chosen = [], [], []
    for count in counts:
        target = math.log(float(count.quotient))
        if (target > 0) != beyond:
            continue
        left.append(root * target / math.log1p(-count.rate))
        right.append(size * root * target / -count.rate)
        chosen.append(count)
    gaps = [sense * (one - other) / abs(other) for one, other in zip(left, right, strict=True)]
    bad = [index for index, gap in enumerate(gaps) if gap <= 1e-9]
    where = "epsilon > delta_0" if beyond else "epsilon < delta_0"
    scope = f"{len(gaps)} cases with {where}, delta_0 and c from 0.001 to 0.999"
    relation = ">" if sense > 0 else "<"
    if bad:
        index = bad[0]
        numbers: Mapping[str, Any] = {**chosen[index].numbers(), "root": str(int(root))}
        return Evidence(
            False,
            scope,
            f"exact {relation} simple",
            f"exact {left[index]:.6g}, simple {right[index]:.6g}; fails in {len(bad)} cases",
            margin=min(gaps) - 1e-9,
            cases=len(gaps),
            witness=numbers,
        )
    quotients = [abs(other / one) for one, other in zip(left, right, strict=True)]
    return Evidence(
        True,
        scope,
        f"exact {relation} simple",
        f"simple/exact at least {min(quotients):.6g}",
        margin=min(gaps),
        slack=min(quotients),
        cases=len(gaps),
    )
