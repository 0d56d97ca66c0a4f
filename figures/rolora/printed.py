"""The printed tables of RoLoRA as data: every value is the string that is printed.

Tables 1 and 6 both print the rows of three methods. Both are stored, because they need not agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

GLUE = ("SST-2", "QNLI", "MNLI", "QQP", "RTE")
COMMONSENSE = ("BoolQ", "PIQA", "SIQA", "HellaSwag", "WinoGrande", "ARC-e", "ARC-c", "OBQA")
METHODS = ("LoRA", "FFA-LoRA", "RoLoRA")


class Score(NamedTuple):
    """A printed accuracy in per cent, and its printed standard deviation."""

    mean: str
    deviation: str


@dataclass(frozen=True)
class Row:
    """One row of a table: the scores of a method.

    Attributes:
        table: number of the table.
        rank: LoRA rank.
        clients: number of clients.
        method: one of the methods.
        scores: by data set or task.
        average: the printed average; empty where none is printed.
    """

    table: int
    rank: int
    clients: int
    method: str
    scores: Mapping[str, Score]
    average: str = ""

    @property
    def name(self) -> str:
        """Table, setting and method."""
        return f"Table {self.table}, {self.setting}, {self.method}"

    @property
    def setting(self) -> str:
        """Rank and clients."""
        return f"rank {self.rank}, {self.clients} clients"


def _scores(names: Sequence[str], text: str) -> Mapping[str, Score]:
    numbers = text.split()
    pairs = zip(names, numbers[::2], numbers[1::2], strict=True)
    return MappingProxyType({name: Score(mean, deviation) for name, mean, deviation in pairs})


def _glue(table: int, rank: int, clients: int, printed: Mapping[str, str]) -> tuple[Row, ...]:
    rows = []
    for method, text in printed.items():
        scores, _, average = text.rpartition(" ")
        rows.append(Row(table, rank, clients, method, _scores(GLUE, scores), average))
    return tuple(rows)


TABLE_1: tuple[Row, ...] = (
    *_glue(
        1,
        4,
        3,
        {
            "LoRA": "95.62 0.17  91.59 0.21  86.20 0.05  86.13 0.10  81.46 1.22  88.20",
            "FFA-LoRA": "95.18 0.09  91.35 0.32  84.58 0.21  85.50 0.25  81.10 0.33  87.48",
            "RoLoRA": "95.49 0.16  91.64 0.30  85.70 0.04  86.14 0.06  82.43 0.84  88.28",
        },
    ),
    *_glue(
        1,
        4,
        20,
        {
            "LoRA": "94.3 0.27  86.67 2.02  78.55 7.31  83.1 0.04  51.87 3.24  78.90",
            "FFA-LoRA": "93.88 0.06  89.11 0.19  80.99 1.74  83.92 0.2  57.16 1.46  80.01",
            "RoLoRA": "94.88 0.18  90.35 0.37  85.28 1.04  85.83 0.1  78.82 1.7  87.03",
        },
    ),
    *_glue(
        1,
        4,
        50,
        {
            "LoRA": "93.00 0.35  78.13 5.13  52.64 15.07  77.60 1.47  52.23 1.1  70.72",
            "FFA-LoRA": "93.23 0.12  85.05 0.34  69.97 5.57  78.44 0.41  55.72 1.99  76.48",
            "RoLoRA": "94.80 0.17  90.00 0.63  82.98 3.36  85.71 0.18  75.57 2.88  85.81",
        },
    ),
    *_glue(
        1,
        8,
        50,
        {
            "LoRA": "93.00 0.23  79.87 1.52  56.96 2.02  77.45 1.97  53.79 6.57  64.03",
            "FFA-LoRA": "92.74 0.13  83.69 0.75  64.51 1.92  79.71 2.04  53.07 1.3  72.46",
            "RoLoRA": "94.53 0.17  90.1 0.45  85.17 0.41  85.25 0.13  76.3 4.9  86.27",
        },
    ),
)

TABLE_6: tuple[Row, ...] = (
    *_glue(
        6,
        4,
        3,
        {
            "LoRA": "95.62 0.17  91.59 0.21  86.20 0.05  86.13 0.10  81.46 1.22  88.20",
            "FFA-LoRA": "95.18 0.09  91.35 0.32  84.58 0.21  85.50 0.25  81.10 0.33  87.48",
            "FlexLoRA": "94.91 0.18  90.16 0.49  85.16 0.69  85.69 0.17  79.3 1.05  87.04",
            "RoLoRA": "95.49 0.16  91.64 0.30  85.70 0.04  86.14 0.06  82.43 0.84  88.28",
        },
    ),
    *_glue(
        6,
        4,
        20,
        {
            "LoRA": "94.3 0.27  86.67 0.20  78.55 7.31  83.1 0.04  51.87 3.24  78.90",
            "FFA-LoRA": "93.88 0.06  89.11 0.19  80.99 1.74  83.92 0.2  57.16 1.46  80.01",
            "FlexLoRA": "90.97 1.78  54.36 0.36  53.30 14.59  69.18 10.39  53.19 1.45  64.20",
            "RoLoRA": "94.88 0.18  90.35 0.37  85.28 1.04  85.83 0.1  78.82 1.7  87.03",
        },
    ),
    *_glue(
        6,
        4,
        50,
        {
            "LoRA": "93.00 0.35  78.13 5.13  52.64 15.07  77.60 1.47  52.23 1.1  70.72",
            "FFA-LoRA": "93.23 0.12  85.05 0.34  69.97 5.57  78.44 0.41  55.72 1.99  76.48",
            "FlexLoRA": "54.08 5.5  55.4 2.03  39.14 2.35  72.00 7.64  52.71 0.00  54.67",
            "RoLoRA": "94.80 0.17  90.00 0.63  82.98 3.36  85.71 0.18  75.57 2.88  85.81",
        },
    ),
    *_glue(
        6,
        8,
        50,
        {
            "LoRA": "93.00 0.23  79.87 1.52  56.96 2.02  77.45 1.97  53.79 6.57  64.03",
            "FFA-LoRA": "92.74 0.13  83.69 0.75  64.51 1.92  79.71 2.04  53.07 1.3  72.46",
            "FlexLoRA": "50.92 0.00  56.92 1.04  37.43 2.80  66.40 4.74  52.59 0.21  52.85",
            "RoLoRA": "94.53 0.17  90.1 0.45  85.17 0.41  85.25 0.13  76.3 4.9  86.27",
        },
    ),
)


def _commonsense(table: int, rank: int, printed: Mapping[str, str]) -> tuple[Row, ...]:
    return tuple(Row(table, rank, 50, method, _scores(COMMONSENSE, text)) for method, text in printed.items())


TABLE_2 = _commonsense(
    2,
    8,
    {
        "LoRA": "61.42 0.29  33.19 9.8  31.88 3.95  21.23 2.82  31.36 5.02  27.36 0.89  32.03 1.14  26.07 2.32",
        "FFA-LoRA": "53.43 4.3  35.49 9.55  10.63 8.44  11.81 4.53  1.61 2.14  6.88 0.42  7.93 0.89  15.0 5.41",
        "RoLoRA": "61.83 0.22  61.26 3.3  39.76 0.41  27.49 2.34  47.67 0.75  33.19 1.29  40.13 1.73  31.67 1.4",
    },
)
TABLE_10 = _commonsense(
    10,
    2,
    {
        "LoRA": "34.36 16.90  42.87 14.05  19.12 4.22  26.21 1.91  47.2 0.64  10.31 5.96  9.84 6.13  12.33 7.46",
        "FFA-LoRA": "44.04 11.48  51.46 9.81  25.38 11.27  23.86 2.67  46.93 1.54  22.25 7.92  20.65 6.33  20.67 5.33",
        "RoLoRA": "61.3 0.99  60.81 6.35  37.97 5.39  29.62 2.62  49.59 1.2  37.05 2.92  29.09 3.33  28.93 4.64",
    },
)

# Table 12: accuracy over five seeds; the last four are the groups of MMLU.
MMLU_GROUPS = ("human", "other", "social", "stem")
TABLE_12: Mapping[str, Mapping[str, Score]] = MappingProxyType(
    {
        metric: _scores(METHODS, text)
        for metric, text in {
            "HumanEval": "12.96 0.37  13.29 0.21  13.45 0.28",
            "MMLU": "45.81 0.03  45.80 0.02  45.93 0.01",
            "human": "43.26 0.04  43.24 0.01  43.46 0.02",
            "other": "52.67 0.06  52.72 0.05  52.83 0.04",
            "social": "51.73 0.04  51.64 0.05  51.81 0.04",
            "stem": "37.10 0.03  37.12 0.01  37.05 0.02",
        }.items()
    }
)

# Test questions of MMLU by group: anatomy (135 questions) is in stem or in other.
MMLU: Mapping[str, Mapping[str, int]] = {
    "anatomy in stem": {"human": 4705, "other": 3107, "social": 3077, "stem": 3153},
    "anatomy in other": {"human": 4705, "other": 3242, "social": 3077, "stem": 3018},
    "equal weights": {"human": 1, "other": 1, "social": 1, "stem": 1},
}
# Examples of the tasks' test sets.
TESTS: Mapping[str, int] = {
    "BoolQ": 3270,
    "PIQA": 1838,
    "SIQA": 1954,
    "HellaSwag": 10_042,
    "WinoGrande": 1267,
    "ARC-e": 2376,
    "ARC-c": 1172,
    "OBQA": 500,
}


@dataclass(frozen=True)
class Schedule:
    """Settings of one data set in Table 4, for 3 clients; a round has some local epochs of some batches."""

    rounds: int
    batch: int
    epochs: int


TABLE_4: Mapping[str, Schedule] = MappingProxyType(
    {
        "SST-2": Schedule(500, 64, 20),
        "QNLI": Schedule(500, 32, 20),
        "MNLI": Schedule(500, 32, 20),
        "QQP": Schedule(500, 32, 20),
        "RTE": Schedule(200, 32, 20),
    }
)


@dataclass(frozen=True)
class LayerSet:
    """Where LoRA is attached: matrices of each layer, first and last layer."""

    matrices: tuple[str, ...]
    first: int
    last: int

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.last - self.first + 1

    @property
    def adapted(self) -> int:
        """Number of matrices with adapters."""
        return self.layers * len(self.matrices)


_VQ = ("W_v", "W_q")
TABLE_5: Mapping[str, LayerSet] = MappingProxyType(
    {
        "SST-2": LayerSet(_VQ, 18, 23),
        "QNLI": LayerSet(_VQ, 15, 23),
        "MNLI": LayerSet(_VQ, 15, 23),
        "QQP": LayerSet(_VQ, 15, 23),
        "RTE": LayerSet(_VQ, 16, 23),
    }
)
TABLE_7: Mapping[str, Mapping[str, LayerSet]] = MappingProxyType(
    {
        "P1": MappingProxyType(
            {
                "SST-2": LayerSet(("W_v",), 21, 23),
                "QNLI": LayerSet(_VQ, 21, 23),
                "MNLI": LayerSet(_VQ, 21, 23),
                "QQP": LayerSet(_VQ, 21, 23),
                "RTE": LayerSet(_VQ, 21, 23),
            }
        ),
        "P2": MappingProxyType(
            {
                "SST-2": LayerSet(_VQ, 18, 23),
                "QNLI": LayerSet(_VQ, 15, 23),
                "MNLI": LayerSet(_VQ, 15, 23),
                "QQP": LayerSet(_VQ, 15, 23),
                "RTE": LayerSet(_VQ, 16, 23),
            }
        ),
        "P3": MappingProxyType(
            {
                "SST-2": LayerSet(_VQ, 0, 23),
                "QNLI": LayerSet(_VQ, 12, 23),
                "MNLI": LayerSet(_VQ, 12, 23),
                "QQP": LayerSet(_VQ, 12, 23),
                "RTE": LayerSet(_VQ, 12, 23),
            }
        ),
    }
)

# Table 8: kilobytes as printed; rank 4, 3 clients.
TABLE_8: Mapping[str, Mapping[str, LayerSet]] = MappingProxyType(
    {
        "187.5": MappingProxyType(
            {"LoRA": LayerSet(_VQ, 21, 23), "FFA-LoRA": LayerSet(_VQ, 18, 23), "RoLoRA": LayerSet(_VQ, 18, 23)}
        ),
        "250": MappingProxyType(
            {"LoRA": LayerSet(_VQ, 20, 23), "FFA-LoRA": LayerSet(_VQ, 16, 23), "RoLoRA": LayerSet(_VQ, 16, 23)}
        ),
    }
)


@dataclass(frozen=True)
class Configuration:
    """Settings of Llama-2-7B in Tables 9 and 11."""

    rounds: int
    batch: int
    epochs: int
    layers: LayerSet


TABLE_9 = Configuration(10, 1, 30, LayerSet(("W_k", "W_v", "W_q", "W_o"), 26, 31))
TABLE_11 = Configuration(100, 1, 30, LayerSet(("W_k", "W_v", "W_q", "W_o"), 24, 31))


def find(rows: Sequence[Row], method: str, clients: int, rank: int = 4) -> Row:
    """Return the row of a method in a setting.

    Raises:
        LookupError: there is none.
    """
    for row in rows:
        if (row.method, row.clients, row.rank) == (method, clients, rank):
            return row
    raise LookupError(f"no row for {method}, {clients} clients, rank {rank}")
