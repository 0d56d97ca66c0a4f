"""Replays of the claims in ``communication``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("rolora/txt-half-cost")
def txt_half_cost(values: Values) -> Violation:
    """Entries of the factor that travels, counted on arrays, against half of those of both."""
    A = np.zeros((values["inputs"], values["rank"]))
    B = np.zeros((values["rank"], values["outputs"]))
    sends_a = (values["method"], values["round"]) == ("RoLoRA", 2)
    unmet = "" if values["method"] in ("RoLoRA", "FFA-LoRA") and values["round"] in (1, 2) else "a round of the methods"
    size = A.size if sends_a else B.size
    return Violation(
        abs(Fraction(size) - Fraction(A.size + B.size, 2)), Fraction(0), unmet=unmet,
        reads=f"|numbers sent by {values['method']} - half of LoRA's {A.size + B.size}|",
    )  # fmt: skip


@replay("rolora/table-4")
def table_4(values: Values) -> Violation:
    """Samples used in a round by clients that share 3000 samples evenly, and the rounds that keep their number."""
    samples, epochs = 3000, values["epochs"]

    def of_round(clients: int) -> Fraction:
        return sum((Fraction(samples, clients) * epochs for _ in range(clients)), Fraction(0))

    rounds = values["rounds with 3"] * of_round(3) / of_round(values["clients"])
    unmet = "" if values["clients"] > 3 and epochs > 0 else "more than 3 clients, and epochs"
    return Violation(
        rounds, Fraction(values["rounds with 3"]), unmet=unmet, strict=True,
        reads="rounds with the same number of samples, against those with 3 clients",
    )  # fmt: skip


@replay("rolora/table-7-every")
def table_7_every(values: Values) -> Violation:
    """Weight matrices of a layer that are not named: query, key, value, output, two of the feed-forward."""
    layer = {"W_q", "W_k", "W_v", "W_o", "W_up", "W_down"}
    named = set(values["named"].split())
    unmet = "" if named and named <= layer else "matrices of a layer"
    return Violation(Fraction(len(layer - named)), Fraction(0), unmet=unmet, reads="weight matrices without LoRA")


@replay("rolora/table-8")
def table_8(values: Values) -> Violation:
    """The smallest distance of the printed sizes from those of any reading, the worst cell of each reading."""
    factors = {name: count for name, count in values.items() if name != "rank"}
    unmet = "" if len(factors) == 6 and values["rank"] == 4 else "six cells at rank 4"
    distances = []
    for size in (1, 2, 4, 8):
        for copies in (1, 2, 3, 6):
            for kilobyte in (1000, 1024):
                apart = []
                for name, count in factors.items():
                    text = name.split()[0]
                    half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
                    sent = Fraction(count * values["rank"] * 1024 * size * copies, kilobyte)
                    apart.append(abs(sent - Fraction(text)) - half)
                distances.append(max(apart))
    return Violation(
        min(distances), Fraction(0), unmet=unmet,
        reads="distance in KB of the printed sizes from the nearest reading, beyond the rounding",
    )  # fmt: skip
