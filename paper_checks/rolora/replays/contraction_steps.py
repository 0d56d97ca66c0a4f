"""Replays of the claims in ``contraction_steps``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("rolora/eq-107")
def eq_107(values: Values) -> Violation:
    """Two clients in the plane of a and u, b* of length 1, by hand, over eta: (107) against (109).

    Each s_i is c + delta S_au / S_aa, and M b = (s - c) s a - delta s u.
    """
    aa, au, uu = ([Fraction(entry) for entry in values[key]] for key in ("aa", "au", "uu"))
    sine, level, step = Fraction(values["sine"]), Fraction(values["level"]), Fraction(values["s"])
    cosine = Fraction(4, 5)
    count = len(aa)
    s = sum((cosine + sine * v / w for v, w in zip(au, aa, strict=True)), Fraction(0)) / count
    M = ((s - cosine) * s, -sine * s)
    mean = [sum(entries, Fraction(0)) / count for entries in (aa, au, uu)]
    off = (2 * ((mean[0] - 1) * M[0] + mean[1] * M[1]), 2 * (mean[1] * M[0] + (mean[2] - 1) * M[1]))
    # (62) with eps_3 = (1 - eps_0) tilde, eps_0 = 1/10: |off| <= 2 eps_3 |M| |b|, tilde = 3/100 < (1 - sine^2)/16.
    allowed = (2 * Fraction(27, 1000)) ** 2 * (M[0] ** 2 + M[1] ** 2)
    definite = all(w > 0 and w * x > v * v for w, v, x in zip(aa, au, uu, strict=True))
    met = (
        definite and cosine**2 + sine**2 == 1 and abs(s - cosine) <= level * sine and 0 < step <= 1
        and off[0] ** 2 + off[1] ** 2 <= allowed and 0 < level < (1 - sine**2) / 16
    )  # fmt: skip
    return Violation(
        2 * off[0], 4 * level * (1 + level) ** 2, unmet="" if met else "the events of both lemmas",
        reads="both sides over eta",
    )  # fmt: skip
