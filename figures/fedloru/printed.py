"""The printed tables of the three versions as data: every value is the string that is printed.

The numbers of v2 Table 1 are missing from the text at hand. iclr Table 1 has the same caption and the same 27 cells.
A table that several versions print is listed once: v2 Tables 2 to 6 are iclr Tables A3, 2, 3, A4 and A5, and v2 Tables
2 to 4 are v1 Tables A1, 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

SETTINGS = (("IID", 20), ("IID", 100), ("NonIID", 20))
"""Split and number of clients of the three settings of Table 1, in its order."""

LOW_RANK = ("FedLoRA", "FedHM", "FedLoRU")


@dataclass(frozen=True)
class Case:
    """One cell of Table 1: the top-1 accuracies, in per cent, of all methods in one setting at one size.

    Attributes:
        table: version and number of the table.
        dataset: data set.
        split: IID or NonIID.
        clients: number of clients K.
        size: share (iclr) or number (v1) of trained parameters, as printed.
        accuracies: printed accuracy of each low-rank method; a method without a value is left out.
        fedavg: printed accuracy of FedAvg, which trains all parameters (iclr: from Table A4).
    """

    table: str
    dataset: str
    split: str
    clients: int
    size: str
    accuracies: Mapping[str, str]
    fedavg: str

    @property
    def setting(self) -> str:
        """Data set, split and clients."""
        return f"{self.dataset} {self.split} K={self.clients}"

    @property
    def name(self) -> str:
        """Setting and size."""
        return f"{self.setting} {self.size}"


@dataclass(frozen=True)
class Ratio:
    """One printed ratio with the accuracies next to it, as printed."""

    clients: int
    method: str
    fedavg: str
    accuracy: str
    ratio: str
    table: str


@dataclass(frozen=True)
class Difference:
    """A cell that v1 prints differently from iclr or v2."""

    cell: str
    v1: str
    later: str


# FedAvg, in the order of SETTINGS: v2 Table 5 = iclr Table A4; v1 Table 1 has the same values for CIFAR.
TABLE_5: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "Fashion-MNIST": ("91.81", "90.19", "80.03"),
        "CIFAR-10": ("93.48", "85.14", "79.65"),
        "CIFAR-100": ("69.97", "55.14", "19.18"),
    }
)
FEDAVG_V1: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {"CIFAR-10": ("93.48", "85.14", "79.65"), "CIFAR-100": ("69.97", "55.14", "19.18")}
)


def _cases(
    table: str, dataset: str, sizes: str, fedavg: Mapping[str, tuple[str, str, str]], **printed: str
) -> tuple[Case, ...]:
    """Return the cells of one data set: each method's values by setting, then by size; ``-`` if none is printed."""
    columns = {method: values.split() for method, values in printed.items()}
    return tuple(
        Case(
            table,
            dataset,
            *SETTINGS[i // 3],
            sizes.split()[i % 3],
            MappingProxyType({method: values[i] for method, values in columns.items() if values[i] != "-"}),
            fedavg[dataset][i // 3],
        )
        for i in range(9)
    )


TABLE_1_ICLR: tuple[Case, ...] = (
    *_cases(
        "iclr Table 1",
        "Fashion-MNIST",
        "44% 33% 22%",
        TABLE_5,
        FedLoRA="91.22 90.29 90.15  88.63 88.14 88.01  73.89 74.00 73.19",
        FedHM="91.16 91.10 90.94  89.43 89.37 88.86  85.15 85.45 85.33",
        FedLoRU="91.25 91.16 90.59  89.01 88.88 88.37  85.33 80.02 80.17",
    ),
    *_cases(
        "iclr Table 1",
        "CIFAR-10",
        "41% 31% 21%",
        TABLE_5,
        FedLoRA="91.65 88.96 89.35  79.48 85.71 85.06  69.60 66.13 67.61",
        FedHM="90.76 90.32 90.77  81.41 81.58 82.12  70.55 66.39 65.48",
        FedLoRU="92.43 90.71 90.85  81.46 86.01 86.10  75.19 69.71 67.88",
    ),
    *_cases(
        "iclr Table 1",
        "CIFAR-100",
        "41% 31% 21%",
        TABLE_5,
        FedLoRA="65.53 57.36 55.14  53.79 52.20 51.20  14.41 10.58 12.97",
        FedHM="59.43 58.40 58.52  43.35 41.84 41.62  16.88 15.04 14.13",
        FedLoRU="66.81 60.78 61.42  57.96 53.25 53.53  16.46 15.70 14.52",
    ),
)
TABLE_1_V1: tuple[Case, ...] = (
    *_cases(
        "v1 Table 1",
        "CIFAR-10",
        "4.59M 3.44M 2.30M",
        FEDAVG_V1,
        FedLoRA="91.65 - -  79.48 - -  69.60 - -",
        FedHM="90.76 90.32 90.77  81.41 81.58 82.12  70.55 66.39 65.48",
        FedLoRU="92.43 90.71 90.85  81.36 86.01 86.10  75.19 69.71 67.88",
    ),
    *_cases(
        "v1 Table 1",
        "CIFAR-100",
        "4.63M 3.49M 2.35M",
        FEDAVG_V1,
        FedLoRA="65.53 - -  39.44 - -  14.41 - -",
        FedHM="59.43 58.40 58.52  40.88 40.04 40.82  16.88 15.04 15.13",
        FedLoRU="66.81 60.78 61.42  57.76 53.25 53.53  16.46 13.70 14.52",
    ),
)
TABLE_1: Mapping[str, tuple[Case, ...]] = MappingProxyType({"iclr": TABLE_1_ICLR, "v1": TABLE_1_V1})
"""Table 1 by version."""


def _rows(table: str, method: str, printed: Mapping[int, tuple[str, str, str]]) -> tuple[Ratio, ...]:
    return tuple(Ratio(clients, method, *values, table) for clients, values in printed.items())


# CIFAR-100 IID, half of the clients take part. Clients: FedAvg accuracy, the method's accuracy, printed ratio.
TABLE_6: tuple[Ratio, ...] = (
    *_rows(
        "v2 Table 6",
        "FedLoRA",
        {
            20: ("69.97", "65.53", "-0.063"),
            50: ("64.68", "59.87", "-0.074"),
            100: ("55.14", "53.79", "-0.024"),
            200: ("38.85", "42.42", "+0.092"),
            300: ("24.94", "32.69", "+0.311"),
            400: ("21.44", "31.41", "+0.465"),
        },
    ),
    *_rows(
        "v2 Table 6",
        "FedLoRU",
        {
            20: ("69.97", "66.81", "-0.046"),
            50: ("64.68", "62.45", "-0.034"),
            100: ("55.14", "57.96", "+0.051"),
            200: ("38.85", "44.85", "+0.154"),
            300: ("24.94", "36.79", "+0.475"),
            400: ("21.44", "35.86", "+0.673"),
        },
    ),
)
TABLE_2_V1 = _rows(
    "v1 Table 2",
    "FedLoRU",
    {
        20: ("69.97", "66.81", "-0.046"),
        50: ("64.68", "62.45", "-0.034"),
        100: ("55.14", "57.76", "0.048"),
        200: ("38.85", "42.55", "0.095"),
        300: ("24.94", "33.81", "0.356"),
        400: ("21.44", "33.25", "0.551"),
    },
)

# CIFAR-100 IID, a tenth of the clients takes part, 41 % of the parameters; as fractions of 1. Only v2 has it.
TABLE_7: Mapping[int, Mapping[str, str]] = MappingProxyType(
    {
        100: MappingProxyType({"FedAvg": "0.5382", "FedHM": "0.5732", "FedLoRA": "0.5506", "FedLoRU": "0.5837"}),
        200: MappingProxyType({"FedAvg": "0.3885", "FedHM": "0.4872", "FedLoRA": "0.5227", "FedLoRU": "0.5393"}),
    }
)

# Table 2: clients per rank in the model-heterogeneous settings; a rank without clients is left out.
CLIENTS_PER_RANK: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "setting 1": MappingProxyType({"r=128": 5, "r=64": 5, "r=32": 5, "r=16": 5}),
        "setting 2": MappingProxyType({"r=64": 6, "r=32": 6, "r=16": 7}),
    }
)

# Table 3: CIFAR-100, mean accuracy of the personal models, by the concentration psi of the Dirichlet split.
PERSONAL_SIZES: Mapping[str, str] = MappingProxyType(
    {"pFedLoRA(1)": "11.22M", "pFedLoRA(2)": "11.22M", "pFedLoRU": "4.63M"}
)
TABLE_3: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "0.1": MappingProxyType({"pFedLoRA(1)": "45.36", "pFedLoRA(2)": "47.45", "pFedLoRU": "49.65"}),
        "0.5": MappingProxyType({"pFedLoRA(1)": "42.14", "pFedLoRA(2)": "42.28", "pFedLoRU": "46.50"}),
    }
)

# Table 4: accuracy in the two model-heterogeneous settings.
TABLE_4: Mapping[tuple[str, str], Mapping[str, str]] = MappingProxyType(
    {
        ("CIFAR-10", "setting 1"): MappingProxyType({"FedHM": "88.09", "mFedLoRU": "84.81"}),
        ("CIFAR-10", "setting 2"): MappingProxyType({"FedHM": "88.68", "mFedLoRU": "84.36"}),
        ("CIFAR-100", "setting 1"): MappingProxyType({"FedHM": "49.84", "mFedLoRU": "51.16"}),
        ("CIFAR-100", "setting 2"): MappingProxyType({"FedHM": "50.52", "mFedLoRU": "50.89"}),
    }
)


def by_setting(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return the cells of each setting, over its sizes."""
    settings: dict[str, list[Case]] = {}
    for case in cases:
        settings.setdefault(case.setting, []).append(case)
    return settings


def differences() -> tuple[Difference, ...]:
    """Return cells that v1 prints differently: Table 1 against iclr Table 1, Table 2 against v2 Table 6 (iclr A5)."""
    found = []
    later_cases = {
        (setting, place): case
        for setting, cases in by_setting(TABLE_1_ICLR).items()
        for place, case in enumerate(cases)
    }
    for setting, cases in by_setting(TABLE_1_V1).items():
        for place, case in enumerate(cases):
            later = later_cases[setting, place]
            pairs = [(method, value, later.accuracies[method]) for method, value in case.accuracies.items()]
            for method, old, new in [("FedAvg", case.fedavg, later.fedavg), *pairs]:
                if old != new:
                    found.append(Difference(f"Table 1, {later.name} ({case.size}), {method}", old, new))
    later_rows = {row.clients: row for row in TABLE_6 if row.method == "FedLoRU"}
    for old_row in TABLE_2_V1:
        new_row = later_rows[old_row.clients]
        for column in ("fedavg", "accuracy", "ratio"):
            old, new = getattr(old_row, column), getattr(new_row, column).lstrip("+")
            if old != new:
                name = {"fedavg": "FedAvg", "accuracy": "FedLoRU"}.get(column, "ratio")
                found.append(Difference(f"v1 Table 2 / v2 Table 6, K={old_row.clients}, {name}", old, new))
    return tuple(found)
