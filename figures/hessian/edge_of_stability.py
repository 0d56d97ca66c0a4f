r"""Sharpness along full-batch gradient descent, compared with 2/learning rate: the edge of stability.

Near a minimum, a step of learning rate $\eta$ multiplies the component along an eigenvector of eigenvalue $\lambda$ by
$1 - \eta\lambda$, so a quadratic loss diverges where the largest eigenvalue exceeds $2/\eta$. Cohen et al. (2021,
arXiv:2103.00065) observe that networks approach this value from below and then stay at it, while the loss falls, but no
longer at each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch
from torch import nn

from figures.figure import Figure, Scale, Settings
from figures.spectrum.spiked_prediction import shuffle
from figures.style import BLACK, SERIES, WIDTH
from figures.threads import few_threads
from hessian import SpectrumTracker
from workloads.data.datasets import ImageSet, load
from workloads.image_networks.small import perceptron

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

CLASSES, RELATIVE_WIDTH, CONFIDENCE = 10, 0.02, 0.95


@dataclass(frozen=True)
class EdgeSizes:
    """Image side, hidden layers, samples, learning rates, steps, steps between two measurements."""

    side: int
    hidden: tuple[int, ...]
    samples: int
    rates: tuple[float, ...]
    steps: int
    every: int


EDGE_SIZES: dict[Scale, EdgeSizes] = {
    "quick": EdgeSizes(7, (32, 32), 300, (0.4, 0.8), 800, 20),
    "laptop": EdgeSizes(7, (32, 32), 500, (0.4, 0.6, 0.8), 6000, 25),
    "paper": EdgeSizes(28, (200, 200), 5000, (0.4, 0.6, 0.8), 20_000, 100),
}


def edge_table(images: ImageSet, sizes: EdgeSizes, settings: Settings) -> pd.DataFrame:
    """Train the network with each learning rate from the same start, and measure its sharpness along the way.

    Args:
        images: Any image set; the caller answers for its name.
        sizes: Network, training and measurements.
        settings: Seed, device, progress.

    Returns:
        One row for each measured state: rate, step, loss, value, low and high (sharpness with its interval), edge (2
        over the rate), rises (steps since the measurement before at which the loss rose), every (number of these
        steps), products, parameters, samples.
    """
    x, y = shuffle(images, sizes.side, sizes.samples, settings, "edge of stability")
    x = x.flatten(1)
    x, targets = x - x.mean(dim=0), nn.functional.one_hot(y, CLASSES).double()
    rows = [row for rate in sizes.rates for row in _descend(x, targets, rate, sizes, settings)]
    return pd.DataFrame(rows)


def _descend(
    x: torch.Tensor, targets: torch.Tensor, rate: float, sizes: EdgeSizes, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Train with one learning rate, and yield a row for each measured state."""
    seed = int(settings.rng("edge of stability", "weights").integers(2**31))
    model = perceptron(x.shape[1], sizes.hidden, CLASSES, seed).to(settings.device)
    weights, loss = list(model.parameters()), nn.MSELoss()
    tracker = SpectrumTracker(
        model, loss, (x, targets), every=sizes.every, relative_width=RELATIVE_WIDTH, confidence=CONFIDENCE
    )
    last, rises = float("inf"), 0
    for step in range(sizes.steps + 1):
        value = loss(model(x), targets)
        now = float(value.detach())
        last, rises = now, rises + (now > last)
        if (state := tracker(step)) is not None:
            settings.report(f"learning rate {rate:g}, step {step} of {sizes.steps}")
            sharpness = state["sharpness"]
            yield {
                "rate": rate,
                "step": step,
                "loss": now,
                "value": sharpness.value,
                "low": sharpness.low,
                "high": sharpness.high,
                "edge": 2.0 / rate,
                "rises": rises,
                "every": sizes.every,
                "products": sum(state.measurement.products.values()),
                "parameters": sum(p.numel() for p in weights),
                "samples": len(x),
            }
            rises = 0
        slopes = torch.autograd.grad(value, weights)
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight.sub_(slope, alpha=rate)


def edge_data(settings: Settings) -> pd.DataFrame:
    """Compute the numbers on Fashion-MNIST.

    Raises:
        DataError: It is not on this machine.
    """
    with few_threads():
        return edge_table(load("fashion-mnist", settings.data_root), settings.sizes(EDGE_SIZES), settings)


@dataclass(frozen=True)
class Run:
    """A run of one learning rate in numbers.

    Attributes:
        rate: Learning rate.
        start: Lower end of the first interval, over the edge.
        arrival: First measured step after that of the least sharpness at which the whole interval is above the edge;
            None: there is none.
        share: Largest upper end of an interval over the edge, in a run that does not arrive.
        low: Least lower end of an interval from the arrival on, over the edge.
        high: Largest upper end, likewise.
        before: Share of the steps before the arrival at which the loss rose; of all steps, if the run does not arrive.
        after: Share of the steps after it.
    """

    rate: float
    start: float
    arrival: int | None
    share: float
    low: float
    high: float
    before: float
    after: float


def runs_of(table: pd.DataFrame) -> list[Run]:
    """Return the runs by learning rate."""
    found = []
    for rate in sorted(table.rate.unique().tolist()):
        rows = table[table.rate == rate].sort_values("step").reset_index(drop=True)
        later = rows.loc[rows.value.idxmin() :]
        above, start = later[later.low > later.edge], float((rows.low / rows.edge).iloc[0])
        if above.empty:
            share = float((later.high / later.edge).max())
            found.append(Run(rate, start, None, share, 0.0, 0.0, _share(rows), 0.0))
            continue
        place = above.index[0]
        at = rows.loc[place:]
        ends = float((at.low / at.edge).min()), float((at.high / at.edge).max())
        arrival = int(rows.step[place])
        before, after = _share(rows.loc[:place]), _share(rows.loc[place + 1 :])
        found.append(Run(rate, start, arrival, 0.0, *ends, before, after))
    return found


def _share(rows: pd.DataFrame) -> float:
    """Return the share of steps at which the loss rose; the first state has no step before it."""
    steps = int(rows.every[rows.step > 0].sum())
    return float(rows.rises.sum()) / steps if steps else 0.0


def edge_headline(table: pd.DataFrame) -> str:
    """Return the headline: where the sharpness stays once it has exceeded 2/learning rate."""
    runs = runs_of(table)
    arrived = [run for run in runs if run.arrival is not None]
    if not arrived:
        return f"The sharpness stays below 2/η: at most {max(run.share for run in runs):.2f} of it"
    low, high = min(run.low for run in arrived), max(run.high for run in arrived)
    reached = f"Sharpness reaches 2/η in {len(arrived)} of {len(runs)} runs"
    return f"{reached}, then stays {low:.2f} to {high:.2f} times it"


def edge_found(table: pd.DataFrame) -> str:
    """Return the finding: arrival, range and rises of the loss for each learning rate."""
    runs = runs_of(table)
    said = []
    for run in runs:
        if run.arrival is None:
            said.append(
                f"at η = {run.rate:g} it stays below 2/η (at most {run.share:.2f} of it), and the loss rises in "
                f"{100 * run.before:.1f} % of the steps"
            )
            continue
        said.append(
            f"at η = {run.rate:g} {_describe_start(run)}its interval is above 2/η at step {run.arrival:,} and then "
            f"between {run.low:.2f} and {run.high:.2f} times 2/η; the loss rises in {100 * run.before:.1f} % of the "
            f"steps before and {100 * run.after:.1f} % after"
        )
    arrived = [run for run in runs if run.arrival is not None]
    ends = ""
    if arrived:
        low, high = min(run.low for run in arrived), max(run.high for run in arrived)
        ends = f", and then lies between {low:.2f} and {high:.2f} times 2/η"
    return (
        "Stated (Cohen et al., 2021): under full-batch gradient descent the sharpness rises to 2/η and stays there; "
        f"found: it exceeds 2/η in {len(arrived)} of {len(runs)} runs{ends}. "
        f"In detail, {'; '.join(said)}."
    )


def _describe_start(run: Run) -> str:
    """Describe a start that is above the edge; empty if it is not."""
    return f"it starts at {run.start:.2f} times 2/η and falls below; " if run.start > 1.0 else ""


def edge_sizes(table: pd.DataFrame) -> str:
    """Describe P, samples, steps and the cost of a measurement."""
    row = table.iloc[0]
    return (
        f"$P={int(row.parameters):,}$, {row.samples:.0f} images, {table.step.max():,} steps, measured every "
        f"{row.every:.0f} steps with {table['products'].median():.0f} products (median)."
    )


def edge_under(table: pd.DataFrame) -> str:
    """Return the scale in one line."""
    row = table.iloc[0]
    return (
        f"Fashion-MNIST, {row.samples:.0f} images, perceptron with {int(row.parameters):,} weights, "
        f"{table.step.max():,} steps, {table.rate.nunique()} learning rates, one start"
    )


def draw_edge(table: pd.DataFrame) -> Picture:
    """Draw the sharpness with its intervals and 2/learning rate, and the loss."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 3.0))
    left, right = picture.subplots(1, 2, width_ratios=(1.5, 1.0))
    for (rate, rows), colour in zip(table.groupby("rate"), SERIES, strict=False):
        left.axhline(float(rows.edge.iloc[0]), color=colour, lw=0.9, ls=(0, (4, 2)), zorder=1)
        left.fill_between(rows.step, rows.low, rows.high, color=colour, alpha=0.35, lw=0, zorder=2)
        left.plot(rows.step, rows.value, color=colour, lw=1.1, zorder=3, label=f"$\\eta={rate:g}$")
        right.plot(rows.step, rows.loss, color=colour, lw=1.1)
    left.plot([], [], color=BLACK, lw=0.9, ls=(0, (4, 2)), label=r"$2/\eta$")
    left.legend(loc="lower right", ncols=2)
    left.set(xlabel="step", title=f"(a) sharpness, {100 * CONFIDENCE:g} % intervals", ylim=(0.0, None))
    right.set(xlabel="step", yscale="log", title="(b) training loss")
    return picture


EDGE_OF_STABILITY = Figure(
    id="hessian/edge-of-stability",
    title="Sharpness along full-batch gradient descent, and 2/learning rate",
    caption=r"Tanh perceptron with squared loss on images of Fashion-MNIST, pooled to a few pixels, trained by "
    r"gradient descent on all images at once, from the same start for each learning rate $\eta$. (a) The largest "
    r"eigenvalue of the Hessian (sharpness) with 95 % intervals, most of which are narrower than the line. Dashed: "
    r"$2/\eta$ in the colour of the learning rate; a quadratic loss diverges above it. (b) The loss over the same "
    r"images. We chose learning rates for which $2/\eta$ is within reach of the sharpness.",
    data=edge_data,
    draw=draw_edge,
    headline=edge_headline,
    found=edge_found,
    sizes=edge_sizes,
    datasets=("fashion-mnist",),
    under=edge_under,
)
