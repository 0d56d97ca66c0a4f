"""FeDLRT, Figure 1: a target of rank 1 for each client, in several readings of what the paper leaves open."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from algorithms.descent import Descent
from algorithms.fedlrt import CORRECTIONS
from figures.fedlrt_fig1_picture import draw_fig1
from figures.figure import Figure, Scale, Settings
from figures.legendre_readings import CLOSE, LOW_RANK, Plan, Reading, first_round, readings_table
from figures.threads import few_threads
from toymodels.legendre import random_targets

SPLITS = {"all": "all points at every client", "random": "points dealt at random", "region": "points by region"}
"""What each client holds; the paper says all."""
FIRST = Reading("first reading", rank=5, tau=0.01, corrections=CORRECTIONS)
OTHERS = (
    replace(FIRST, name="basis orthonormal for dx", basis="dx"),
    replace(FIRST, name="basis plain", basis="plain"),
    replace(FIRST, name="tau 0.1", tau=0.1),
    replace(FIRST, name="tau 1e-6", tau=1e-6),
    replace(FIRST, name="tail as printed", rule="printed"),
    replace(FIRST, name="initial rank 2", rank=2),
    replace(FIRST, name="initial rank full", rank=10),
    replace(FIRST, name="initial scale 0.01", scale=0.01),
)
SINGLE = 2.0**-23
"""Relative rounding of single precision."""


@dataclass(frozen=True)
class Fig1Sizes:
    """Side of the weights, what is run, and the names of the readings."""

    n: int
    plan: Plan
    names: tuple[str, ...]


_LOCAL = Descent(100, 1e-3)
_METHODS = ("FedAvg", "FedLin")
_NAMES = tuple(reading.name for reading in (FIRST, *OTHERS))
FIG1_SIZES: dict[Scale, Fig1Sizes] = {
    "quick": Fig1Sizes(
        6, Plan(_LOCAL, (4,), 2, 2000, {"uniform": 40}, 2**20, 4, _METHODS), ("first reading", "tau 1e-6")
    ),
    "laptop": Fig1Sizes(
        10,
        Plan(_LOCAL, (4,), 5, 10_000, {"uniform": 200, "dx": 100, "plain": 40}, 2**20, 4, _METHODS),
        _NAMES,
    ),
    "paper": Fig1Sizes(
        10,
        Plan(_LOCAL, (4,), 20, 10_000, {"uniform": 1000, "dx": 4000, "plain": 50_000}, 2**24, 4, _METHODS),
        _NAMES,
    ),
}


def fig1(sizes: Fig1Sizes, settings: Settings) -> pd.DataFrame:
    """Runs all methods in every reading, for every way to share the points; see `readings_table` for the columns."""
    starts, clients = sizes.plan.starts, sizes.plan.clients[0]
    rng = settings.rng("fig-1", "targets")
    targets = torch.stack([random_targets(starts, (sizes.n, sizes.n), 1, rng) for _ in range(clients)])
    readings = [
        replace(reading, split=split, rank=min(reading.rank, sizes.n), name=f"{reading.name}, {split}")
        for split in SPLITS
        for reading in (FIRST, *OTHERS)
        if reading.name in sizes.names
    ]
    return readings_table("fig-1", readings, sizes.plan, targets, settings)


def fig1_data(settings: Settings) -> pd.DataFrame:
    """The numbers at the settings' scale."""
    with few_threads():
        return fig1(settings.sizes(FIG1_SIZES), settings)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Where each method ends in each reading, from which round it is within 1e-5, and whether it has come to rest.

    Returns:
        Index reading and method; columns end (median distance at the last round), close (round, or nan), resting (the
        median distance at the last round is more than half of that half the rounds before), size (of the minimiser).
    """
    rows = {}
    for key, part in table.groupby(["reading", "method"], sort=False):
        part = part.sort_values("round")
        middle = part[part["round"] <= part["round"].max() / 2].distance.iloc[-1]
        end = float(part.distance.iloc[-1])
        rows[key] = {
            "end": end,
            "close": first_round(part, CLOSE),
            "resting": end > 0.5 * middle,
            "size": float(part["size"].iloc[0]),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["reading", "method"])


def fig1_found(table: pd.DataFrame) -> str:
    """Which readings show what the paper shows, and which do not."""
    ends = summary(table)
    names = list(dict.fromkeys(table.reading))
    plain, full = LOW_RANK["none"], LOW_RANK["full"]

    def at(reading: str, method: str, what: str) -> float:
        return float(ends[what][reading, method])

    def far(reading: str, method: str) -> bool:
        return bool(ends["resting"][reading, method]) and at(reading, method, "end") > CLOSE

    plateau = {name for name in names if far(name, "FedAvg") and far(name, plain)}
    exact = {
        name for name in names if np.isfinite(at(name, "FedLin", "close")) and np.isfinite(at(name, full, "close"))
    }
    faster = {name for name in exact if at(name, full, "close") < at(name, "FedLin", "close")}
    single = {name for name in names if at(name, full, "end") <= SINGLE * at(name, full, "size")}
    alike = {name for name in names if _spread(table[table.reading == name], tuple(LOW_RANK.values())) < 1e-6}
    alike_full = {name for name in names if _spread(table[table.reading == name], ("FedAvg", "FedLin")) < 1e-6}
    everything = plateau & exact & faster
    details = []
    for name in names:
        methods = ("FedAvg", "FedLin", *LOW_RANK.values())
        values = ", ".join(
            f"{method} {at(name, method, 'end'):.1e}"
            + (f" (1e-5 from round {at(name, method, 'close'):.0f})" if np.isfinite(at(name, method, "close")) else "")
            for method in methods
        )
        details.append(f"{name}: {values}")
    row = table.drop_duplicates("reading").assign(allowed=lambda part: 1.0 / (12.0 * part.smoothness * part.steps))
    admitted = [str(name) for name in row[row.learning_rate <= row.allowed].reading]
    return (
        "Stated: FedAvg and FeDLRT without correction soon stand still, FedLin and FeDLRT with correction come to 1e-5 "
        "and to single precision, FeDLRT faster. Found, by the median distance to the minimiser: the methods without "
        f"correction stand still above 1e-5 in {_named(plateau, names)}; with the full correction both come to 1e-5 in "
        f"{_named(exact, names)}, FeDLRT in fewer rounds in {_named(faster, names)}, and FeDLRT to single precision in "
        f"{_named(single, names)}; all of it (but for single precision) in {_named(everything, names)}. FeDLRT's "
        f"three variants coincide (within 1e-6 of each other) in {_named(alike, names)}, and FedAvg with FedLin in "
        f"{_named(alike_full, names)}: clients that hold the same points have the same curvature, and then no drift is "
        "left to correct, however different their targets. "
        f"Last rounds: {'; '.join(details)}. The step {row.learning_rate.iloc[0]:g} against 1/(12 L s): "
        f"{row.allowed.min():.1e} to {row.allowed.max():.1e}, admitted in {_named(set(admitted), names)}."
    )


def _spread(part: pd.DataFrame, methods: tuple[str, ...]) -> float:
    """Largest difference between methods in median distance over the rounds, relative to the start."""
    lines = part[part.method.isin(methods)].pivot(index="round", columns="method", values="distance")
    return float((lines.max(axis=1) - lines.min(axis=1)).max() / lines.iloc[0].max())


def _named(some: set[str], names: list[str]) -> str:
    if not some:
        return "none"
    chosen = [name for name in names if name in some]
    return f"{len(chosen)} of {len(names)} readings" + ("" if len(chosen) == len(names) else f" ({'; '.join(chosen)})")


def fig1_sizes(table: pd.DataFrame) -> str:
    """Dimensions, starts, rounds."""
    row = table.iloc[0]
    low = table[table.method.isin(LOW_RANK.values())]
    rounds = ", ".join(
        f"{int(n)} (basis {basis})" for basis, n in low.groupby("basis", sort=False)["round"].max().items()
    )
    return (
        f"$n={row.n}$, $C={row.clients}$, {row.samples} points, $s_*={row.steps}$, $\\lambda={row.learning_rate:g}$; "
        f"{row.starts} starts; rounds: {rounds}."
    )


FIG1 = Figure(
    id="fedlrt/fig-1",
    title="A target of rank 1 for each client: with and without correction (FeDLRT, Figure 1)",
    caption=r"Legendre least squares with a rank-1 target for each client; distance to the minimiser of the mean loss "
    r"against rounds, medians over starts with targets of their own, bands: quartiles. Columns: what each client holds "
    r"(the paper: all points). Rows: readings of what the paper leaves open; the first one takes the polynomials "
    r"orthonormal for the uniform law, a normal start cut to rank 5, and truncation to the smallest rank whose "
    r"discarded tail is at most $\theta=\tau\Vert\tilde S^*\Vert_F$ with $\tau=0.01$; every other row changes what it "
    r"names. Dotted: $10^{-5}$.",
    data=fig1_data,
    draw=draw_fig1,
    found=fig1_found,
    sizes=fig1_sizes,
)
