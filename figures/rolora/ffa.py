"""The plateau of FFA-LoRA's loss, compared with its printed expectation (Prop. 5.5, eqs. 241, 242) and with RoLoRA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from algorithms.exact_rolora import ExactRoLoRA
from algorithms.federation import Federation
from algorithms.rounds import one_round
from algorithms.tree import Tree
from figures.figure import Figure, Scale, Settings
from figures.rolora.runs import run_exact
from figures.style import BLACK, BLUE, GREEN, MARKERS, ORANGE, PURPLE, SERIES, SKY, VERMILION, WIDTH, plain_log_ticks
from toymodels.problem import Problem
from toymodels.regression import in_expectation, regression
from toymodels.regression_rates import ffa_correction, ffa_population_correction

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLIENTS, SAMPLES, DIMENSION, OUTPUTS, SINE = 5, 10, 10, 5, 0.6  # where the others vary; outputs at most
BY_CLIENTS = (1, 5, 20)  # of the panel against m
STEP = 0.25  # eta |b*|^2 of RoLoRA
OWN = 0.5  # size of the clients' own parts where they differ


@dataclass(frozen=True)
class FFASizes:
    """Samples, clients, dimensions, sines of the start, RoLoRA's iterations, and draws at each point.

    With fewer than 8 samples the losses' tails are too heavy for a standard error to mean much.
    """

    samples: tuple[int, ...]
    clients: tuple[int, ...]
    dimensions: tuple[int, ...]
    sines: tuple[float, ...]
    iterations: tuple[int, ...]
    draws: int


FFA_SIZES: dict[Scale, FFASizes] = {
    "quick": FFASizes((8, 20, 50), (1, 4, 16), (2, 30), (0.2, 0.9), (5,), 60),
    "laptop": FFASizes(
        (8, 10, 20, 50, 100),
        (1, 2, 5, 10, 20, 50),
        (2, 5, 20, 100, 1000),
        (0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999),
        (5, 20),
        1000,
    ),
    "paper": FFASizes(
        (8, 10, 20, 50, 100, 1000),
        (1, 2, 5, 10, 20, 50, 100),
        (2, 5, 20, 100, 1000),
        (0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999),
        (5, 20),
        20_000,
    ),
}
LARGE = 200  # dimensions above it get a twentieth of the draws


@dataclass(frozen=True)
class Plateau:
    r"""FFA-LoRA's losses divided by $\|b^*\|^2\delta_0^2$ in one draw.

    Attributes:
        training: Loss on the samples.
        population: Expected loss on new samples.
        excess: `training` less the same at $b = (a^{0T}a^*)b^*$, whose mean is 1; so its mean is $\tilde c$, with less
            spread than `training` has.
    """

    training: float
    population: float
    excess: float


def ffa_plateau(problem: Problem) -> Plateau:
    """Compute one aggregation of the clients' best b at the start's a, by the code of Algorithm 2."""
    algorithm = ExactRoLoRA(1.0, rounds_of_b_only=True)
    fed = Federation(problem.clients, shares=problem.shares)
    state = algorithm.start(fed, Tree(problem.start))
    state = one_round(algorithm.round, fed, state)
    expected, found = in_expectation(problem, constants=False), algorithm.weights(state)
    a, truth = state.A["W"], problem.facts["truth"]
    beside = {"W": a @ (a.mT @ truth) @ problem.facts["mean_B"]}
    unit = expected.loss(beside) - problem.facts["gamma_squared"]
    training = problem.loss(found)
    return Plateau(training / unit, expected.loss(found) / unit, (training - problem.loss(beside)) / unit)


def ffa_data(settings: Settings) -> pd.DataFrame:
    """Return means and standard errors over draws of the losses of FFA-LoRA and RoLoRA."""
    sizes = settings.sizes(FFA_SIZES)
    rows: list[dict[str, object]] = []
    points = [("m", N, m, DIMENSION) for N in BY_CLIENTS for m in sizes.samples]
    points += [("N", N, SAMPLES, DIMENSION) for N in sizes.clients] + [
        ("d", CLIENTS, SAMPLES, d) for d in sizes.dimensions
    ]
    for panel, N, m, d in points:
        settings.report(f"N = {N}, m = {m}, d = {d}")
        draws = sizes.draws if d <= LARGE else max(20, sizes.draws // 20)
        found = [ffa_plateau(_problem(settings, panel, N, m, d, SINE, draw)) for draw in range(draws)]
        printed, population = ffa_correction(N, m), ffa_population_correction(N, m)
        base = {"panel": panel, "N": N, "m": m, "d": d, "sine": SINE, "iterations": 0}
        rows += [
            _row({**base, "series": "training"}, np.array([one.excess for one in found]), printed),
            _row({**base, "series": "population"}, np.array([one.population for one in found]) - 1.0, population),
            _row({**base, "series": "training, plain"}, np.array([one.training for one in found]) - 1.0, printed),
        ]
    for sine in sizes.sines:
        settings.report(f"delta_0 = {sine:g}")
        rows += _angle_rows(settings, sizes, sine)
    return pd.DataFrame(rows)


def _angle_rows(settings: Settings, sizes: FFASizes, sine: float) -> list[dict[str, object]]:
    """Return losses divided by |b*|^2 of FFA-LoRA and RoLoRA, from the same starts with the same samples."""
    draws, m = max(10, sizes.draws // 20), 10 * SAMPLES
    base = {"panel": "delta", "N": CLIENTS, "m": m, "d": DIMENSION, "sine": sine}
    losses: dict[tuple[str, int], list[float]] = {}
    bounds: dict[int, list[float]] = {}
    apart = []
    for draw in range(draws):
        given = _problem(settings, "delta", CLIENTS, m, DIMENSION, sine, draw)
        expected, size = in_expectation(given, constants=False), float((given.facts["mean_B"] ** 2).sum())
        one = ffa_plateau(given)
        losses.setdefault(("training", 0), []).append(one.training * sine**2)
        losses.setdefault(("population", 0), []).append(one.population * sine**2)
        for T in sizes.iterations:
            angles, state = run_exact(given, STEP, T)
            w = state.A @ state.B
            losses.setdefault(("training", T), []).append(given.loss(w) / size)
            losses.setdefault(("population", T), []).append(expected.loss(w) / size)
            bounds.setdefault(T, []).append((1.0 + angles[-1]) * angles[-1] ** 2)
        unlike = _problem(settings, "different", CLIENTS, None, DIMENSION, sine, draw)
        own = float((unlike.facts["mean_B"] ** 2).sum())
        # In units of |b*|^2 delta_0^2, from which Plateau starts, gamma^2 is a further term.
        apart.append(ffa_plateau(unlike).training * sine**2 - unlike.facts["gamma_squared"] / own)
    rows = []
    for (series, T), values in losses.items():
        printed = sine**2 * (1.0 + ffa_correction(CLIENTS, m)) if T == 0 else float(np.mean(bounds[T]))
        rows.append(_row({**base, "series": series, "iterations": T}, np.array(values), printed))
    rows.append(_row({**base, "m": 0, "series": "different", "iterations": 0}, np.array(apart), sine**2))
    return rows


def _problem(settings: Settings, panel: str, N: int, m: int | None, d: int, sine: float, draw: int) -> Problem:
    rng = settings.rng("ffa", panel, N, m, d, sine, draw)
    own = OWN if panel == "different" else 0.0
    return regression(d, min(d, OUTPUTS), N, rng, samples=m, heterogeneity=own, sine=sine, constants=False)


def _row(labels: dict[str, Any], draws: np.ndarray, printed: float) -> dict[str, object]:
    error = draws.std(ddof=1) / np.sqrt(len(draws))
    return {**labels, "mean": draws.mean(), "standard_error": error, "printed": printed, "draws": len(draws)}


def draw_ffa(table: pd.DataFrame) -> Picture:
    """Draw distances from |b*|^2 delta_0^2 against m, N and d, and losses against the start's angle."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 5.4))
    grid = picture.subplots(2, 2)
    against_m, against_N, against_d, against_angle = grid.flat
    for (N, part), color, marker in zip(table[table.panel == "m"].groupby("N"), SERIES, MARKERS, strict=False):
        _corrections(against_m, part, "m", color, color, marker, f"$N={N}$")
    for axes, name in ((against_N, "N"), (against_d, "d")):
        _corrections(axes, table[table.panel == name], name, BLUE, VERMILION, "o", "")
    for axes, name, title in (
        (against_m, "m", "(a) samples of a client"),
        (against_N, "N", "(b) clients"),
        (against_d, "d", "(c) dimension"),
    ):
        axes.set(
            xscale="log", yscale="log", xlabel=f"${name}$", ylabel=r"$|\mathrm{loss}/(\Vert b^*\Vert^2\delta_0^2)-1|$"
        )
        axes.set(title=title)
        plain_log_ticks(axes.xaxis)
    against_m.legend(loc="lower left", handlelength=1.0)
    for axes in (against_N, against_d):
        axes.plot([], [], color=BLUE, marker="o", label="training (below)")
        axes.plot([], [], color=VERMILION, marker="o", mfc="white", ls=(0, (4, 2)), label="population (above)")
        axes.legend(loc="lower left")
    against_d.set(ylim=against_N.get_ylim())
    _losses(against_angle, table[table.panel == "delta"])
    return picture


def _corrections(axes: Any, part: pd.DataFrame, x: str, lower: str, upper: str, marker: str, label: str) -> None:
    for series, color, fill, line in (("training", lower, lower, "-"), ("population", upper, "white", (0, (4, 2)))):
        one = part[part.series == series]
        axes.plot(one[x], one.printed.abs(), color=color, lw=1.0, ls=line)
        style = {"ls": "none", "color": color, "marker": marker, "mfc": fill, "mew": 1.1}
        # On a logarithmic axis a bar that reaches below zero ends at the least value shown.
        size = one["mean"].abs()
        bars = np.array([np.minimum(2.0 * one.standard_error, 0.9 * size), 2.0 * one.standard_error])
        axes.errorbar(one[x], size, yerr=bars, label=label if series == "training" and label else None, **style)


def _losses(axes: Any, part: pd.DataFrame) -> None:
    runs = part[part.series != "different"]
    for (T, of_run), color, marker in zip(
        runs.groupby("iterations"), (BLACK, SKY, GREEN, ORANGE), MARKERS, strict=False
    ):
        for series, fill in (("training", color), ("population", "white")):
            one = of_run[of_run.series == series]
            name = "FFA-LoRA" if T == 0 else f"RoLoRA, $T={T}$"
            style = {"ls": "none", "color": color, "marker": marker, "mfc": fill, "mew": 1.1}
            axes.plot(one.sine**2, one["mean"], label=name if series == "training" else None, **style)
        if T:
            bound = of_run[of_run.series == "population"]
            axes.plot(bound.sine**2, bound.printed, color=color, lw=0.8)
    apart = part[part.series == "different"]
    axes.plot(apart.sine**2, apart["mean"], ls="none", color=PURPLE, marker="x", label="FFA-LoRA, clients differ")
    axes.plot(apart.sine**2, apart.printed, color=BLACK, lw=1.0)
    axes.set(title="(d) angle of the start", xscale="log", yscale="log", xlabel=r"$\delta_0^2$")
    axes.set(ylabel=r"loss$/\Vert b^*\Vert^2$")
    plain_log_ticks(axes.xaxis, (1.0,))
    axes.set_ylim(part["mean"].min() * 1e-6, 10.0)
    axes.legend(loc="lower right", fontsize=7)


def ffa_headline(table: pd.DataFrame) -> str:
    """Return the headline: RoLoRA's loss compared with FFA-LoRA's plateau."""
    of_start = _of_ffa(table)
    return f"RoLoRA's loss ends at {of_start.min():.0e} to {of_start.max():.0e} of FFA-LoRA's plateau"


def _of_ffa(table: pd.DataFrame) -> pd.Series:
    """Return RoLoRA's expected final loss divided by FFA-LoRA's, by the sine of the start's angle."""
    angle = table[(table.panel == "delta") & (table.series == "population")]
    ends = angle[angle.iterations == angle.iterations.max()].set_index("sine")["mean"]
    return ends / angle[angle.iterations == 0].set_index("sine")["mean"]


def ffa_found(table: pd.DataFrame) -> str:
    """Return the finding: distance of the means from the printed expectation, and RoLoRA's loss from the same start."""
    drawn = table[table.panel.isin(["m", "N", "d"])]
    distance = {
        series: float(((part["mean"] - part.printed) / part.standard_error).abs().max())
        for series, part in drawn.groupby("series")
    }
    points = int((drawn.series == "training").sum())
    angle = table[table.panel == "delta"]
    apart = angle[angle.series == "different"]
    off = float((apart["mean"] / apart.printed - 1.0).abs().max())
    runs = angle[angle.iterations > 0]
    ratio = {series: part["mean"] / part.printed for series, part in runs.groupby("series")}
    of_start = _of_ffa(table)
    training = drawn[drawn.series == "training"]
    product = training.N * training.m * training.printed
    return (
        f"Stated (Prop. 5.5): FFA-LoRA's expected loss is (1 + c~) |b*|^2 delta_0^2 with c~ of eq. (242), for any "
        f"d; found: on the training samples at {points} points within {distance['training']:.1f} standard errors "
        f"({distance['training, plain']:.1f} without the control variate); N m c~ as printed is {product.min():.2f} "
        f"to {product.max():.2f}. The population loss of the same model lies above |b*|^2 delta_0^2 instead, by "
        f"1/(N(m - 2)) within {distance['population']:.1f} standard errors. Stated for different clients in "
        f"expectation (Prop. A.17): gamma^2 + |b*|^2 delta_0^2; found within {off:.0e} of it. Stated: "
        f"RoLoRA's expected loss is at most (1 + eps) |b*|^2 eps^2; found with eps the angle distance reached: "
        f"{ratio['training'].min():.2f} to {ratio['training'].max():.2f} times that on the training samples, "
        f"{ratio['population'].min():.2f} to {ratio['population'].max():.2f} times in expectation; after "
        f"{runs.iterations.max()} iterations it is {of_start.min():.0e} to {of_start.max():.0e} of FFA-LoRA's."
    )


def ffa_sizes(table: pd.DataFrame) -> str:
    """Describe the draws at each point."""
    drawn, angle = table[table.panel.isin(["m", "N", "d"])], table[table.panel == "delta"]
    few = drawn[drawn.d > LARGE]
    large = f" ({few.draws.max()} for $d={few.d.max()}$)" if len(few) else ""
    return f"(a-c) {drawn.draws.max()} draws at each point{large}, (d) {angle.draws.max()}."


FFA_PLATEAU = Figure(
    id="rolora/ffa-plateau",
    title="Final loss of FFA-LoRA, and of RoLoRA from the same start",
    caption=r"FFA-LoRA on the rank-1 regression of RoLoRA, equal clients: one mean of the clients' best $b$ at the "
    rf"first $a$. (a-c) Distance of its loss from $\Vert b^*\Vert^2\delta_0^2$ in those units, at $N={CLIENTS}$, "
    rf"$m={SAMPLES}$, $d={DIMENSION}$, $\delta_0={SINE}$ where not varied; marks: means $\pm2$ standard errors, "
    r"on the training samples (filled, below it; with the loss at $b=(a^{0T}a^*)b^*$ as control variate) and in "
    r"expectation over new samples (open, above it); lines: $-\tilde c$ of eq. (242), and $1/(N(m-2))$. "
    rf"(d) Losses of FFA-LoRA and of RoLoRA's Algorithm 2 with the same samples ($m={10 * SAMPLES}$, "
    rf"$\eta\Vert b^*\Vert^2={STEP:g}$), filled: training, open: population; black line: $\delta_0^2$; coloured: "
    r"$(1+\delta^T)(\delta^T)^2$. Crosses: different clients, expected loss minus $\gamma^2$ (Prop. A.17).",
    data=ffa_data,
    draw=draw_ffa,
    headline=ffa_headline,
    found=ffa_found,
    sizes=ffa_sizes,
)
