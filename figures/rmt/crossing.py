"""One spike crossing the threshold, as a self-contained SVG animation (FedLoRU v2, Proposition 3.1).

``python -m figures.rmt.crossing docs/figures`` draws it. Readers who ask for less motion, and programs that show no
animations, see the spike at twice the threshold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from figures.figure import Settings
from figures.style import BLACK, BLUE, VERMILION
from rmt import SpikedModel, draw_banded
from rmt.closed_laws import Semicircle
from rmt.spiked import wigner_outlier
from workloads.arguments import write_documents
from workloads.files import write_whole

R = 2000
SPIKES = tuple(round(0.05 * step, 2) for step in range(1, 53))
STILL = 2.0
"""Spike that is shown without motion."""
SECONDS = 12.0
"""Time of one passage; the last tenth shows the end."""
_CELL = 0.1
_HIGHEST = 3.2
_TALL = 0.4
_X, _SPIKE = (-2.3, 3.3), (0.0, 2.7)
Moves = dict[str, Callable[["Step"], tuple[float, float]]]
"""Position of each moving part at a step, in points of the picture."""
_FONT = 'font-family="DejaVu Sans, sans-serif"'


@dataclass(frozen=True)
class Step:
    """Largest eigenvalue and overlap at one spike, in units of the noise's standard deviation.

    Attributes:
        spike: The spike.
        location: The largest eigenvalue that was drawn.
        overlap: Squared overlap of its eigenvector with the spike's.
        location_limit: Limit of the largest eigenvalue.
        overlap_limit: The limit of the overlap.
        location_printed: The first branch of Proposition 3.1, where it is printed to hold.
    """

    spike: float
    location: float
    overlap: float
    location_limit: float
    overlap_limit: float
    location_printed: float


def crossing(settings: Settings) -> tuple[Step, ...]:
    """Return the steps of a growing spike in one draw of the noise, in band form with all its rows."""
    steps = []
    for spike in SPIKES:
        model = SpikedModel((spike,))
        values, overlaps = draw_banded(model, R, settings.rng("crossing"), rows=R).top_overlaps(1)
        limit, printed = model.outlier(spike), float(wigner_outlier(spike, 1.0))
        found = float(values[0]), float(overlaps[0, 0])
        steps.append(Step(spike, *found, limit.location, limit.overlap, printed))
    return tuple(steps)


def noise_histogram(settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bin edges and density of all eigenvalues of the same noise without a spike."""
    edges = np.arange(-2.3, 2.3 + _CELL / 2.0, _CELL)
    counts = draw_banded(SpikedModel(), R, settings.rng("crossing"), rows=R).counts_below(edges)
    return edges, np.diff(counts) / (R * _CELL)


def animate(steps: Sequence[Step], edges: NDArray[np.float64], density: NDArray[np.float64]) -> str:
    """Return the animation as SVG: the spectrum above, eigenvalue and overlap against the spike below.

    Args:
        steps: Steps as returned by `crossing`.
        edges: Edges of the histogram's cells, shape ``(cells + 1,)``.
        density: Heights of its bars, shape ``(cells,)``.
    """
    spectrum = _Panel((50, 690), (250, 60), _X, (0.0, _TALL))
    location = _Panel((50, 340), (500, 330), _SPIKE, (1.8, _HIGHEST))
    overlap = _Panel((400, 690), (500, 330), _SPIKE, (0.0, 1.0))
    (still,) = (step for step in steps if step.spike == STILL)
    moves: Moves = {
        "found": lambda step: (spectrum.x(step.location), 0.0),
        "limit": lambda step: (spectrum.x(step.location_limit), 0.0),
        "printed": lambda step: (spectrum.x(min(step.location_printed, _X[1])), 0.0),
        "theta": lambda step: (location.x(step.spike), 0.0),
        "theta2": lambda step: (overlap.x(step.spike), 0.0),
        "value": lambda step: (location.x(step.spike), location.y(step.location)),
        "share": lambda step: (overlap.x(step.spike), overlap.y(step.overlap)),
    }
    small = [step for step in steps if step.spike < 1.0 and step.location_printed <= _HIGHEST]
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 550" width="720" height="550" role="img" '
        f'aria-labelledby="title words" {_FONT} font-size="12" fill="{BLACK}">',
        '<title id="title">A spike crosses the threshold</title>',
        f'<desc id="words">One spike grows from {SPIKES[0]:g} to {SPIKES[-1]:g} standard deviations of Gaussian noise '
        f"at R = {R:,}. Up to 1 the largest eigenvalue stays at the edge 2 of the bulk, then it leaves as the limit "
        "says. The limit as printed moves in from the right while the eigenvalue stays.</desc>",
        f"<style>{_style(steps, moves)}</style>",
        '<rect width="720" height="550" fill="#fff"/>',
        *_spectrum(spectrum, edges, density),
        *_against_spike(location, "largest eigenvalue", [2.0, 2.5, 3.0]),
        *_against_spike(overlap, "squared overlap of eigenvector and spike", [0.0, 0.5, 1.0]),
        location.curve(((step.spike, step.location_limit) for step in steps), BLACK, "limit"),
        location.curve(
            ((step.spike, step.location_printed) for step in small), VERMILION, "printed limit", dashed=True
        ),
        overlap.curve(((step.spike, step.overlap_limit) for step in steps), BLACK, "limit"),
        *(location.dot(step.spike, step.location) for step in steps),
        *(overlap.dot(step.spike, step.overlap) for step in steps),
        *_moving(spectrum, location, overlap, still, moves),
        *_words(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Panel:
    """Axes of one panel, which map data to points of the picture."""

    def __init__(
        self, across: tuple[float, float], up: tuple[float, float], x: tuple[float, float], y: tuple[float, float]
    ) -> None:
        self.across, self.up, self._x, self._y = across, up, x, y

    def x(self, value: float) -> float:
        return float(np.interp(value, self._x, self.across))

    def y(self, value: float) -> float:
        return float(np.interp(value, self._y, self.up))

    def line(self, x1: float, y1: float, x2: float, y2: float, **style: object) -> str:
        places = f'x1="{self.x(x1):.1f}" y1="{self.y(y1):.1f}" x2="{self.x(x2):.1f}" y2="{self.y(y2):.1f}"'
        return f"<line {places} {_attributes(style)}/>"

    def curve(self, points: Iterable[tuple[float, float]], color: str, name: str, dashed: bool = False) -> str:
        places = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        dashes = ' stroke-dasharray="5 3"' if dashed else ""
        style = f'fill="none" stroke="{color}" stroke-width="1.6"{dashes}'
        return f'<polyline points="{places}" {style}><title>{name}</title></polyline>'

    def dot(self, x: float, y: float) -> str:
        return f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="2.2" fill="none" stroke="{BLUE}" opacity=".6"/>'


def _attributes(style: dict[str, object]) -> str:
    return " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in style.items())


def _style(steps: Sequence[Step], moves: Moves) -> str:
    """Return the positions of everything that moves at equal times; the last one lasts a tenth of the time."""
    times = [*np.linspace(0.0, 90.0, len(steps)), 100.0]
    path = [*steps, steps[-1]]
    rules = []
    for name, place in moves.items():
        frames = []
        for time, step in zip(times, path, strict=True):
            x, y = place(step)
            seen = f";opacity:{int(step.spike < 1.0 and step.location_printed <= _X[1])}" if name == "printed" else ""
            frames.append(f"{time:.4g}%{{transform:translate({x:.1f}px,{y:.1f}px){seen}}}")
        rules.append(f"@keyframes {name}{{{''.join(frames)}}}")
    turns = "".join(f"#{name}{{animation-name:{name}}}" for name in moves)
    time = f"{SECONDS:g}s"
    moving = f"@media (prefers-reduced-motion:no-preference){{.moves{{animation:{time} linear infinite}}{turns}}}"
    return "".join(rules) + moving


def _spectrum(panel: _Panel, edges: NDArray[np.float64], density: NDArray[np.float64]) -> Iterator[str]:
    for left, right, height in zip(edges, edges[1:], density, strict=False):
        x, width = panel.x(left), panel.x(right) - panel.x(left)
        if height:
            tall = panel.y(0.0) - panel.y(height)
            place = f'x="{x:.1f}" y="{panel.y(height):.1f}" width="{width:.1f}" height="{tall:.1f}"'
            yield f'<rect {place} fill="#ccc" stroke="#fff"/>'
    grid = 2.0 * np.sin(np.linspace(-np.pi / 2.0, np.pi / 2.0, 61))
    yield panel.curve(zip(grid, Semicircle().pdf(grid), strict=True), "#555", "semicircle")
    yield panel.line(_X[0], 0.0, _X[1], 0.0, stroke=BLACK)
    for tick in range(-2, 4):
        yield f'<text x="{panel.x(tick):.1f}" y="268" text-anchor="middle">{str(tick).replace("-", "−")}</text>'
    yield '<text x="690" y="286" text-anchor="end">eigenvalues, in standard deviations of the noise</text>'


def _against_spike(panel: _Panel, title: str, ticks: list[float]) -> Iterator[str]:
    left, right = panel.across
    bottom, top = panel.up
    yield f'<text x="{left}" y="{top - 8}">{title}</text>'
    yield f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{BLACK}"/>'
    for tick in ticks:
        yield f'<text x="{left - 6}" y="{panel.y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
    for tick in (0, 1, 2):
        yield f'<text x="{panel.x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick}</text>'
    yield f'<text x="{right}" y="{bottom + 32}" text-anchor="end">spike, in the same unit</text>'
    yield panel.line(1.0, panel._y[0], 1.0, panel._y[1], stroke="#999", stroke_dasharray="2 3")


def _moving(spectrum: _Panel, location: _Panel, overlap: _Panel, still: Step, moves: Moves) -> Iterator[str]:
    """Yield everything that moves, drawn at the origin and placed for the spike `STILL`."""

    def placed(name: str, inner: str, extra: str = "") -> str:
        x, y = moves[name](still)
        return f'<g id="{name}" class="moves" transform="translate({x:.1f},{y:.1f})"{extra}>{inner}</g>'

    base = spectrum.up[0]
    printed = f'<path d="M0 {base}V120" stroke="{VERMILION}" stroke-width="2" stroke-dasharray="6 4"/>'
    yield placed("printed", printed, ' opacity="0"')
    yield placed("limit", f'<circle cy="{base}" r="7" fill="none" stroke="{BLACK}" stroke-width="1.6"/>')
    yield placed(
        "found", f'<path d="M0 {base}V150" stroke="{BLUE}" stroke-width="3"/><circle cy="150" r="4" fill="{BLUE}"/>'
    )
    for name, panel in (("theta", location), ("theta2", overlap)):
        yield placed(name, f'<path d="M0 {panel.up[0]}V{panel.up[1]}" stroke="{BLUE}" opacity=".35"/>')
    for name in ("value", "share"):
        yield placed(name, f'<circle r="5" fill="{BLUE}"/>')


def _words() -> Iterator[str]:
    yield f'<text x="50" y="24" font-size="15">A spike crosses the threshold: one symmetric matrix, R = {R:,}</text>'
    keys = (
        (50, f'<path d="M0 -4h18" stroke="{BLUE}" stroke-width="3"/>', "largest eigenvalue, drawn"),
        (250, f'<circle cx="9" cy="-4" r="6" fill="none" stroke="{BLACK}" stroke-width="1.6"/>', "its limit"),
        (
            345,
            f'<path d="M0 -4h18" stroke="{VERMILION}" stroke-width="2" stroke-dasharray="6 4"/>',
            "printed limit, small spikes",
        ),
        (560, '<rect y="-10" width="18" height="10" fill="#ccc"/>', "other eigenvalues"),
    )
    for x, sign, text in keys:
        yield f'<g transform="translate({x},46)">{sign}<text x="24">{text}</text></g>'


def write(folder: Path) -> list[Path]:
    """Write the animation to `rmt-crossing.svg` in a folder.

    Raises:
        OSError: The folder cannot be written to.
    """
    settings = Settings()
    return write_whole({folder / "rmt-crossing.svg": animate(crossing(settings), *noise_histogram(settings)).encode()})


if __name__ == "__main__":
    sys.exit(write_documents("figures.rmt.crossing", "the animation of a crossing", "docs/figures", write))
