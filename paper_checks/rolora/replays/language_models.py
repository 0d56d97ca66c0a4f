"""Replays of the claims in ``language_models``."""

from __future__ import annotations

from fractions import Fraction

from paper_checks.replay import Violation, replay
from paper_checks.stored_values import Values


@replay("rolora/txt-fewer-params")
def txt_fewer_params(values: Values) -> Violation:
    """Sum over the tasks of FFA-LoRA, rounded down, against that of LoRA, rounded up; at the lower rank."""
    sums = {}
    for method, sign in (("FFA-LoRA", -1), ("LoRA", 1)):
        texts = values[method].split()
        halves = [Fraction(1, 2 * 10 ** len(text.partition(".")[2])) for text in texts]
        sums[method] = sum(Fraction(text) + sign * half for text, half in zip(texts, halves, strict=True)) / len(texts)
    unmet = "" if values["rank"] == 2 and len(values["LoRA"].split()) == 8 else "rank 2 and eight tasks"
    return Violation(
        sums["FFA-LoRA"], sums["LoRA"], unmet=unmet, strict=True, reads="mean of FFA-LoRA against mean of LoRA"
    )
