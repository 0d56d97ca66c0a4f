"""Sections 5, E and F: statements about accuracies, recomputed from the printed tables of the three versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from paper_checks.claim import Evidence, Form, claim
from paper_checks.context import Context
from paper_checks.methods.printed import Cell, Rounded, judge_printed


@dataclass(frozen=True)
class Ratio:
    """One printed ratio with the accuracies beside it, as printed."""

    clients: int
    method: str
    fedavg: str
    accuracy: str
    ratio: str
    table: str


def _rows(table: str, method: str, printed: Mapping[int, tuple[str, str, str]]) -> list[Ratio]:
    return [Ratio(clients, method, *values, table) for clients, values in printed.items()]


# Clients: FedAvg accuracy, the method's accuracy, printed ratio.
TABLE_6 = [
    *_rows("v2 Table 6", "FedLoRA", {
        20: ("69.97", "65.53", "-0.063"), 50: ("64.68", "59.87", "-0.074"), 100: ("55.14", "53.79", "-0.024"),
        200: ("38.85", "42.42", "+0.092"), 300: ("24.94", "32.69", "+0.311"), 400: ("21.44", "31.41", "+0.465"),
    }),
    *_rows("v2 Table 6", "FedLoRU", {
        20: ("69.97", "66.81", "-0.046"), 50: ("64.68", "62.45", "-0.034"), 100: ("55.14", "57.96", "+0.051"),
        200: ("38.85", "44.85", "+0.154"), 300: ("24.94", "36.79", "+0.475"), 400: ("21.44", "35.86", "+0.673"),
    }),
]  # fmt: skip
TABLE_2_V1 = _rows("v1 Table 2", "FedLoRU", {
    20: ("69.97", "66.81", "-0.046"), 50: ("64.68", "62.45", "-0.034"), 100: ("55.14", "57.76", "0.048"),
    200: ("38.85", "42.55", "0.095"), 300: ("24.94", "33.81", "0.356"), 400: ("21.44", "33.25", "0.551"),
})  # fmt: skip

# Clients per rank; a rank without clients is left out.
CLIENTS_PER_RANK = {
    "setting 1": {"r=128": 5, "r=64": 5, "r=32": 5, "r=16": 5},
    "setting 2": {"r=64": 6, "r=32": 6, "r=16": 7},
}


def printed_ratios(context: Context) -> list[Ratio]:
    """All ratios of v2 Table 6 (the same as iclr Table A5) and v1 Table 2."""
    return TABLE_6 + TABLE_2_V1


@claim(
    "fedloru-v2/txt-ratio",
    where="Tables 6 (v2), A5 (iclr), 2 (v1) and the formula in their captions",
    says=r"The printed ratios are $(X - \mathrm{FedAvg})/X$ with $X$ the accuracy of FedLoRA or FedLoRU.",
    measure=printed_ratios,
    control=Form(
        r"With FedAvg as denominator, $(X - \mathrm{FedAvg})/\mathrm{FedAvg}$, every printed ratio follows except "
        r"$-0.046$ (20 clients, FedLoRU, both tables); there the accuracies give $-0.0452 \pm 0.0002$, and the formula "
        r"of the caption $-0.0473$.",
        {"denominator": "FedAvg", "without": ((20, "FedLoRU"),)},
    ),
    vary=("shift",),
    expect="refuted",
    method="printed",
)
def txt_ratio(
    ratios: list[Ratio], denominator: str = "X", without: tuple[tuple[int, str], ...] = (), shift: float = 0.0
) -> Evidence:
    """Each ratio from the two accuracies beside it; written so that every input occurs once."""
    cells = {}
    one = Rounded.exact(1)
    for row in ratios:
        if (row.clients, row.method) in without:
            continue
        fedavg, accuracy = Rounded.printed(row.fedavg), Rounded.printed(row.accuracy)
        recomputed = one - fedavg / accuracy if denominator == "X" else accuracy / fedavg - one
        printed = Rounded.printed(row.ratio) + Rounded.exact(Fraction(shift))
        inputs = {"table": row.table, "clients": str(row.clients), "method": row.method, "FedAvg": row.fedavg,
                  "X": row.accuracy, "ratio": row.ratio, "denominator": denominator}  # fmt: skip
        cells[f"{row.table}, {row.method}, K={row.clients}"] = Cell(printed, recomputed, inputs)
    return judge_printed(cells, f"{len(cells)} ratios, every accuracy taken as plus or minus half its last digit")


@claim(
    "fedloru-v2/txt-total20",
    where="Table 2 (v2), Table A3 (iclr), Table A1 (v1), captions",
    says="Both model-heterogeneous settings have 20 clients in total.",
    measure=lambda context: CLIENTS_PER_RANK,
    control=Form("Setting 1 has 20 clients; setting 2 as printed has 6 + 6 + 7 = 19.", {"settings": ("setting 1",)}),
    vary=("total",),
    expect="refuted",
    method="printed",
)
def txt_total20(
    clients: Mapping[str, Mapping[str, int]],
    total: float = 20,
    settings: tuple[str, ...] = ("setting 1", "setting 2"),
) -> Evidence:
    """Counts added up."""
    cells = {
        name: Cell(
            Rounded.exact(Fraction(total)),
            Rounded.exact(sum(clients[name].values())),
            {"setting": name, "total": f"{total:g}", **{rank: str(count) for rank, count in clients[name].items()}},
        )
        for name in settings
    }
    return judge_printed(cells, "clients per rank of both settings")
