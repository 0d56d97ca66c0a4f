"""Exact sizes of the papers' language experiments: what is trained, sent and stored, for every printed setting.

The sizes follow from the shapes of weight matrices (`workloads.architectures`), without training or loading a model.
Numbers have 32 bits. An optimiser of the Adam family stores two numbers for each trained one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.experiments.text_tables import Cell, draw_text_table
from figures.figure import Figure, Settings
from figures.rolora.printed import TABLE_7, TABLE_8, TABLE_9, TABLE_11, LayerSet
from workloads.architectures import (
    ATTENTION,
    LLAMA_2_7B,
    LLAMA_32_3B,
    OPENLLAMA_3B,
    ROBERTA_LARGE,
    SHEARED_LLAMA_27B,
    Architecture,
    Transformer,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BYTES = 4
"""Bytes of a number in 32 bits."""
MOMENTS = 2
"""Numbers that Adam and AdamW keep for each that they train."""
RANKS = {4: "Table 1 and Figures 3 to 5", 8: "Table 1 and Figure 6", 2: "Figure 7", 1: "Figure 8"}
MODELS_OF_FEDLORU: Mapping[str, Transformer] = {
    "OpenLLaMA-3B": OPENLLAMA_3B,
    "Llama-3.2-3B": LLAMA_32_3B,
    "Sheared-LLaMA-2.7B": SHEARED_LLAMA_27B,
    "LLaMA-2-7B": LLAMA_2_7B,
}
"""Published models that LLaMA2-3B may be, and the one whose shares are printed."""
PRINTED_SHARES = {8: "0.124", 16: "0.248"}


def trained(method: str, inputs: int, outputs: int, rank: int) -> tuple[int, ...]:
    """Return the elements that a client trains, sends and receives in the rounds of one iteration.

    A is on the input side and B on the output side of a matrix. FFA-LoRA trains only B, RoLoRA B and A in turn.

    Args:
        method: `LoRA`, `FlexLoRA`, `FedLoRU`, `FFA-LoRA` or `RoLoRA`.
        inputs: Inputs of all adapted matrices, added up.
        outputs: Outputs of all adapted matrices, added up.
        rank: Rank of the adapters.

    >>> trained("LoRA", 3, 5, 2), trained("FFA-LoRA", 3, 5, 2), trained("RoLoRA", 3, 5, 2)
    ((16,), (10,), (10, 6))
    """
    parts = {"FFA-LoRA": (outputs,), "RoLoRA": (outputs, inputs)}
    return tuple(rank * part for part in parts.get(method, (inputs + outputs,)))


def _size(
    group: str,
    setting: str,
    model: str,
    of: Architecture,
    where: LayerSet,
    rank: int,
    method: str,
    printed: float = float("nan"),
    unit: str = "",
    recomputed: float = float("nan"),
) -> dict[str, Any]:
    inputs, outputs = (where.layers * side(where.matrices) for side in (of.inputs, of.outputs))
    rounds = trained(method, inputs, outputs, rank)
    return {
        "group": group,
        "setting": setting,
        "model": model,
        "matrices": " ".join(where.matrices),
        "first_layer": where.first,
        "last_layer": where.last,
        "rank": rank,
        "method": method,
        "trained": max(rounds),
        "share": 100 * max(rounds) / of.parameters,
        "bytes_up": BYTES * max(rounds),
        "bytes_down": BYTES * max(rounds),
        "bytes_of_an_iteration": BYTES * sum(rounds),
        "optimiser_bytes": MOMENTS * BYTES * max(rounds),
        "published": printed,
        "unit": unit,
        "recomputed": recomputed,
    }


def _budgets() -> Iterator[tuple[str, LayerSet]]:
    """Yield the layer sets of Table 7, each once, with the data sets that use it."""
    for budget, sets in TABLE_7.items():
        for where in dict.fromkeys(sets.values()):
            names = [name for name, other in sets.items() if other == where]
            yield f"{budget}, {', '.join(names)}", where


def rolora_data(settings: Settings) -> pd.DataFrame:
    """Return every printed setting of RoLoRA's language models with every method."""
    rows = []
    for rank, where_used in RANKS.items():
        group = f"RoBERTa-Large, rank {rank} ({where_used})"
        for name, where in _budgets():
            for method in ("LoRA", "FlexLoRA", "FFA-LoRA", "RoLoRA"):
                rows.append(_size(group, name, "RoBERTa-Large", ROBERTA_LARGE, where, rank, method))
    for cost, columns in TABLE_8.items():
        for method, where in columns.items():
            size = _size("", "", "RoBERTa-Large", ROBERTA_LARGE, where, 4, method)["bytes_up"] / 1024
            layers = f"layers {where.first} to {where.last}"
            rows.append(
                _size(
                    "RoBERTa-Large, rank 4, Table 8: KB up",
                    f"{method}, {layers}",
                    "RoBERTa-Large",
                    ROBERTA_LARGE,
                    where,
                    4,
                    method,
                    float(cost),
                    "KiB",
                    size,
                )
            )
    for table, setup, ranks in (
        ("Tables 2 and 9", TABLE_9, (8,)),
        ("Table 10", TABLE_9, (2,)),
        ("Table 11 (rank not printed)", TABLE_11, (1,)),
    ):
        for rank in ranks:
            for method in ("LoRA", "FFA-LoRA", "RoLoRA"):
                rows.append(
                    _size(
                        "Llama-2-7B, q, k, v, o",
                        f"{table}, rank {rank}",
                        "Llama-2-7B",
                        LLAMA_2_7B,
                        setup.layers,
                        rank,
                        method,
                    )
                )
    return pd.DataFrame(rows)


def fedloru_data(settings: Settings) -> pd.DataFrame:
    """Return FedLoRU's fine-tuning sizes for the candidate models and both ranks, relative to model plus adapters."""
    rows = []
    for name, model in MODELS_OF_FEDLORU.items():
        where = LayerSet(ATTENTION, 0, model.depth - 1)
        for rank, printed in PRINTED_SHARES.items():
            adapters = model.adapters(ATTENTION, rank)
            group = f"{name}, {model.parameters:,} parameters, {4 * model.parameters / 1e9:.1f} GB"
            rows.append(
                _size(
                    group,
                    f"rank {rank}",
                    name,
                    model,
                    where,
                    rank,
                    "FedLoRU",
                    float(printed),
                    "%",
                    100 * adapters / (model.parameters + adapters),
                )
            )
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame) -> Picture:
    """Draw a row for each setting; where methods differ, LoRA and the methods that train one factor."""
    rows: list[list[Cell]] = []
    for group, of_group in table.groupby("group", sort=False):
        rows.append([Cell(str(group), bold=True)])
        for setting, mine in of_group.groupby("setting", sort=False):
            full = mine.iloc[0]
            half = mine[mine.method.isin(["FFA-LoRA", "RoLoRA"])]
            one = half.iloc[0] if len(half) and len(mine) > 1 else None
            numbers = [
                f"{full.trained:,}",
                f"{full.share:.4f}",
                _kib(full.bytes_up),
                "" if one is None else _kib(one.bytes_up),
                _kib(full.optimiser_bytes),
                "" if one is None else _kib(one.optimiser_bytes),
            ]
            printed = [] if full.published != full.published else [_printed(full), f"{full.recomputed:.4g}"]
            rows.append([Cell(f"  {setting}"), *map(Cell, numbers), *map(Cell, printed)])
    heads = ["", "trained", "share, %", "up, KiB", "one factor", "Adam, KiB", "one factor", "printed", "found"]
    widths = [3.2, 1.2, 1.05, 1.0, 1.25, 1.2, 1.25, 1.0, 0.9]
    used = [column for column in range(len(heads)) if any(row[column].text for row in rows if column < len(row))]
    rows = [[row[column] for column in used if column < len(row)] for row in rows]
    return draw_text_table([heads[i] for i in used], rows, [widths[i] for i in used])


def _kib(size: float) -> str:
    return f"{size / 1024:,.0f}"


def _printed(row: Any) -> str:
    return f"{row.published:g} {'KB' if row.unit == 'KiB' else row.unit}"


def sizes_found(table: pd.DataFrame) -> str:
    """Return the finding: the printed numbers, and those that follow from the shapes."""
    stated = table[table.published.notna()]
    if (stated.unit == "%").all():
        by_model = {
            str(name): " and ".join(f"{value:.3f}" for value in mine.recomputed)
            for name, mine in stated.groupby("model", sort=False)
        }
        told = "; ".join(f"{name} {values}" for name, values in by_model.items())
        return (
            "Printed for ranks 8 and 16: 0.124 and 0.248 % of LLaMA2-3B; Llama 2 has no model of 3 billion. Found, in "
            f"%: {told}."
        )
    sizes = stated.groupby("published", sort=True).recomputed.agg(["min", "max"])
    told = "; ".join(
        f"{printed:g} KB printed, {row['min']:g} KiB with every method"
        if row["min"] == row["max"]
        else f"{printed:g} KB printed, {row['min']:g} to {row['max']:g} KiB"
        for printed, row in sizes.iterrows()
    )
    halves, shared = _halves(table)
    return (
        f"Table 8: {told}. RoLoRA and FFA-LoRA train and send half of what LoRA does in {halves} of {shared} "
        "settings, as all adapted matrices are square."
    )


def sizes_headline(table: pd.DataFrame) -> str:
    """Return the headline: a printed share and those of the models, or in how many settings half is sent."""
    stated = table[table.published.notna()]
    if (stated.unit == "%").all():
        first = stated[stated.published == stated.published.min()]
        low, high = first.recomputed.min(), first.recomputed.max()
        models = first.model.nunique()
        return (
            f"Printed: {first.published.iloc[0]:g} % of the model; found in {models} models: {low:.3f} to {high:.3f} %"
        )
    halves, shared = _halves(table)
    return f"RoLoRA and FFA-LoRA send half of what LoRA sends in {halves} of {shared} settings"


def _halves(table: pd.DataFrame) -> tuple[int, int]:
    """Return in how many settings RoLoRA sends half of what LoRA sends, and the number of settings with both."""
    rows = zip(table.group, table.setting, table.method, strict=True)
    sent = dict(zip(rows, table.bytes_up.tolist(), strict=True))
    shared = [key for *key, method in sent if method == "RoLoRA" and (*key, "LoRA") in sent]
    return sum(2 * sent[*key, "RoLoRA"] == sent[*key, "LoRA"] for key in shared), len(shared)


def sizes_counted(table: pd.DataFrame) -> str:
    """Describe models and settings."""
    return (
        f"{table.model.nunique()} models, {len(table[['group', 'setting']].drop_duplicates())} settings. "
        "Exact counts; nothing is trained."
    )


CAPTION = (
    "Numbers that a client trains in a round, their share of the model, the upload per round (the download is "
    "equal), and the memory of both moments of Adam, with 32-bit numbers; 1 KiB is 1024 bytes. "
)
ROLORA_FIGURE = Figure(
    "rolora/language-sizes",
    "Exact sizes of every printed setting of RoLoRA's language models",
    CAPTION + "LoRA and FlexLoRA train both factors; the columns *one factor* are for FFA-LoRA and RoLoRA, which "
    "train one factor per round. In Table 8, each row names its method. The head of the classifier is "
    "not counted.",
    rolora_data,
    draw,
    sizes_headline,
    sizes_found,
    sizes_counted,
)
FEDLORU_FIGURE = Figure(
    "fedloru/language-sizes",
    "Exact sizes of FedLoRU's fine-tuning, for each model that the paper may mean",
    CAPTION + "Adapters on q_proj, k_proj, v_proj and o_proj of all layers; the printed share is compared with "
    "the share of the model including its adapters.",
    fedloru_data,
    draw,
    sizes_headline,
    sizes_found,
    sizes_counted,
)
