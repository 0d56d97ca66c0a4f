"""The printed tables of `figures.fedloru.printed`, and their values as the ranges that they are rounded from."""

from __future__ import annotations

from collections.abc import Mapping

from figures.fedloru.printed import (
    CLIENTS_PER_RANK,
    FEDAVG_V1,
    LOW_RANK,
    PERSONAL_SIZES,
    SETTINGS,
    TABLE_1,
    TABLE_1_ICLR,
    TABLE_1_V1,
    TABLE_2_V1,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    Case,
    Difference,
    Ratio,
    by_setting,
    differences,
)
from paper_checks.methods.printed import Rounded

__all__ = [
    "CLIENTS_PER_RANK",
    "FEDAVG_V1",
    "LOW_RANK",
    "PERSONAL_SIZES",
    "SETTINGS",
    "TABLE_1",
    "TABLE_1_ICLR",
    "TABLE_1_V1",
    "TABLE_2_V1",
    "TABLE_3",
    "TABLE_4",
    "TABLE_5",
    "TABLE_6",
    "TABLE_7",
    "Case",
    "Difference",
    "Ratio",
    "by_setting",
    "differences",
    "in_percent",
]


def in_percent(values: Mapping[str, str], unit: int = 1) -> dict[str, Rounded]:
    """Return the ranges of the printed values of a row, in per cent; the unit of fractions is 100."""
    return {name: Rounded.exact(unit) * Rounded.printed(value) for name, value in values.items()}
