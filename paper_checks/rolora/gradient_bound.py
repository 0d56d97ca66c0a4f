r"""Appendix A.3, eqs. (65) to (76): the bound of the deviation on the events, which ends the proof of Lemma A.10."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.domain import POSITIVE, UNIT, tried_in_words
from paper_checks.methods.inequality import judge_inequality, steps_of

Array = NDArray[np.float64]


def chain_grid(_: Context) -> Array:
    """Sine of the angle, eps', and where in [-eps', eps'] the mean of the minimisers is."""
    grid = product((1e-6, 0.1, 0.6, 0.9, 0.999), (1e-6, 0.01, 0.05, 0.5, 3.0), (-1.0, -0.3, 0.0, 0.7, 1.0), (1.0, -1.0))
    return np.array(list(grid))


NEAR_MEAN = {"sine": "3/5", "level": "1/100", "kappa": "1/100"}
"""On the grid: (67) is larger than (68) however near b is to g."""


@claim(
    "rolora/eq-65",
    where="Appendix A.3, eqs. (65) to (76)",
    says=r"Combining (42), (50) and (62), with probability at least $1 - 2\exp(d\log(1 + \frac2{\epsilon_0}) - "
    r"c_5\epsilon_3^2Nm) - q^{-10}$, $\|\nabla_al - E[\nabla_al]\| \le \frac1{1-\epsilon_0}\max_{w \in \mathcal "
    r"N}|\ldots| \le \frac{2\epsilon_3}{1-\epsilon_0}\|a\bar b^\top - a^*b^{*\top}\|_{op}\|\bar b\| = "
    r"\frac{2\epsilon_3}{1-\epsilon_0}\|a(\bar b - g)^\top - (I_d - aa^\top)a^*b^{*\top}\|_{op}\|\bar b\| \le "
    r"\frac{2\epsilon_3}{1-\epsilon_0}(\|a^\top(\bar b - g)\| + \|(I_d - aa^\top)a^*b^{*\top}\|_{op})\|\bar b\| \le "
    r"\ldots \le 2\tilde\epsilon(\epsilon' + 1)^2\delta^t\|b^*\|^2$.",
    measure=chain_grid,
    uses=("rolora/eq-38", "rolora/eq-50", "rolora/eq-62"),
    importance="detail",
    because=r"(68) prints the number $a^\top(\bar b - g)$, which can be 0, for the matrix $a(\bar b - g)^\top$ of "
    "(67).",
    control=Form(r"The same with 2 for 1 in (76), and $a(\bar b - g)^\top$ in (68).", {"matrix": True, "one": 2.0}),
    correction=Form(
        r"With $a(\bar b - g)^\top$ in (68), as in (67), every line holds on the events of (42) and (62), up to (76), "
        r"whatever vector stands for $E[\nabla_al]$ in (62) and in (65).",
        {"matrix": True},
        mutants=({"matrix": False}, {"one": 0.95}, {"form": "lemma"}, {"power": 2.0}),
        asks="weaker",
    ),
    expect=("corrected", "proof"),
)
def eq_65(grid: Array, matrix: bool = False, one: float = 1.0, form: str = "proof", power: float = 1.0) -> Evidence:
    r"""Lines over $2\tilde\epsilon\|b^*\|^2$, with $\bar b = (a^\top a^* + \kappa\delta)b^*$.

    Args:
        grid: angles and levels.
        matrix: whether (68) has a matrix, as (67); the number is 0 for a b* across a, which is the case judged.
        one: printed as 1 in $(\epsilon' + 1)^2$.
        form: the factor of (76), or that of Lemma A.10.
        power: of $\delta$ in (76).
    """
    sine, level, place, side = grid.T
    kappa, cosine = np.abs(place) * level, side * np.sqrt(1.0 - sine**2)
    length = np.abs(cosine + place * level * sine)  # of b, in units of b*
    last = (level + one) ** 2 if form == "proof" else level**2 + level
    lines = [
        sine * np.sqrt(1.0 + kappa**2) * length,  # (66), (67): M = (kappa delta a - delta u) b*^T
        ((kappa if matrix else 0.0) * sine + sine) * length,  # (68)
        (kappa * sine + sine) * length,  # (69), (70)
        (kappa * sine + sine) * (kappa * sine + np.abs(cosine)),  # (71)
        (kappa * sine + sine) * (kappa * sine + 1.0),  # (72), (73)
        (level**2 * sine + level * sine + level + 1.0) * sine,  # (74)
        last * sine**power,  # (75), (76)
    ]
    left, right = np.concatenate(lines[:-1]), np.concatenate(lines[1:])
    return judge_inequality(
        left, right, 1e-12 * (1e-12 + np.abs(right)),
        quotient=True, case=lambda index: {"line": index // len(grid), "sine": float(sine[index % len(grid)]),
                            "level": float(level[index % len(grid)]),
                            "kappa": float(kappa[index % len(grid)])} if index >= 2 * len(grid) else NEAR_MEAN,
        lines=steps_of(lines),
        domain=tried_in_words(
            ("delta", sine, UNIT), ("eps'", level, POSITIVE), ("place of the mean", place, (-1.0, 1.0))
        ),
        scope=f"{len(grid)} angles and levels, any sign of a . a*",
        printed="every line",
    )  # fmt: skip
