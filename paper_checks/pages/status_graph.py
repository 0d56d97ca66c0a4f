"""The graph of dependencies between claims, with the verdict of each, as inline SVG.

A claim's column is the length of its longest path to an independent claim, so every arrow points right, from a
claim to one that it depends on. Long edges pass between the boxes through invisible waypoints.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from paper_checks.claim import FAILING, VERDICTS, Verdict
from paper_checks.result import Result

SIGNS: Mapping[Verdict, str] = {
    "refuted": "✗",
    "corrected": "≈",
    "ambiguous": "±",
    "not checkable here": "?",
    "holds": "✓",
}
"""A sign for each verdict, so verdicts do not differ by colour only."""

_CHARACTER, _LEAST_WIDTH, _HEIGHT, _NOTED_HEIGHT = 7.6, 150.0, 46.0, 62.0
_GAP, _WAYPOINT, _BETWEEN, _EDGE = 14.0, 8.0, 44.0, 4.0
_SWEEPS = 12

Uses = Mapping[str, Sequence[str]]


def uses_within(results: Iterable[Result]) -> dict[str, tuple[str, ...]]:
    """Return the claims that each claim of a run depends on, as far as the run contains them."""
    claims = [result.claim for result in results]
    known = {claim.id for claim in claims}
    return {claim.id: tuple(used for used in claim.uses if used in known) for claim in claims}


def used_by(uses: Uses) -> dict[str, tuple[str, ...]]:
    """Return the claims that depend directly on each claim."""
    found: dict[str, list[str]] = {id: [] for id in uses}
    for id, below in uses.items():
        for used in below:
            found[used].append(id)
    return {id: tuple(above) for id, above in found.items()}


def condense(uses: Uses, kept: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the dependencies among some claims, directly or through claims that are left out."""
    found = {}
    for id in kept:
        reached: dict[str, None] = {}
        passed: set[str] = set()
        ahead = list(uses[id])
        while ahead:
            used = ahead.pop(0)
            if used in kept:
                reached |= {used: None} if used != id else {}
            elif used not in passed:
                passed.add(used)
                ahead += uses[used]
        found[id] = tuple(reached)
    return found


def rests_on(results: Sequence[Result]) -> dict[str, tuple[str, ...]]:
    """Return for each claim the corrected and refuted claims that it depends on, directly or not, in run order."""
    uses = uses_within(results)
    order = [r.claim.id for r in results if r.decision.verdict in FAILING]
    found = {}
    for id in uses:
        reached: set[str] = set()
        ahead = list(uses[id])
        while ahead:
            used = ahead.pop()
            if used not in reached:
                reached.add(used)
                ahead += uses[used]
        found[id] = tuple(other for other in order if other in reached and other != id)
    return found


def derived_state(below: Sequence[str], verdicts: Mapping[str, Verdict]) -> str:
    """Describe the claims below one that do not hold as printed: label and sign, or counts; empty if all hold.

    >>> derived_state(["demo/eq-1"], {"demo/eq-1": "corrected"})
    'below it: eq-1 ≈'
    >>> derived_state(["demo/eq-1", "demo/eq-2"], {"demo/eq-1": "corrected", "demo/eq-2": "refuted"})
    'below it: 1 ✗, 1 ≈'
    """
    if len(below) == 1:
        return f"below it: {below[0].partition('/')[2]} {SIGNS[verdicts[below[0]]]}"
    counts = Counter(verdicts[id] for id in below)
    told = ", ".join(f"{counts[verdict]} {SIGNS[verdict]}" for verdict in VERDICTS if counts[verdict])
    return f"below it: {told}" if told else ""


@dataclass
class _Box:
    """A claim, or a waypoint of a long edge (without id), with its position."""

    layer: int
    height: float
    id: str = ""
    y: float = 0.0
    below: list[_Box] = field(default_factory=list)
    above: list[_Box] = field(default_factory=list)


def components(uses: Uses) -> tuple[list[list[str]], list[str]]:
    """Return the connected groups of claims, largest first, and the isolated claims."""
    beside = {id: {*uses[id], *above} for id, above in used_by(uses).items()}
    seen: set[str] = set()
    groups: list[list[str]] = []
    for start in uses:
        group: set[str] = set()
        ahead = [start] if start not in seen else []
        while ahead:
            id = ahead.pop()
            if id not in group:
                group.add(id)
                ahead += beside[id] - group
        seen |= group
        if group:
            groups.append([id for id in uses if id in group])
    together = sorted((g for g in groups if len(g) > 1), key=len, reverse=True)
    return together, [g[0] for g in groups if len(g) == 1]


def _layers(group: Sequence[str], uses: Uses) -> dict[str, int]:
    """Return the longest path from each claim down to an independent one; an edge that closes a cycle is ignored."""
    layer: dict[str, int] = {}
    walking: set[str] = set()

    def depth(id: str) -> int:
        if id not in layer:
            walking.add(id)
            layer[id] = 1 + max((depth(used) for used in uses[id] if used not in walking), default=-1)
            walking.discard(id)
        return layer[id]

    for id in group:
        depth(id)
    return layer


def _columns(group: Sequence[str], uses: Uses, noted: Iterable[str]) -> list[list[_Box]]:
    """Return boxes and waypoints, column by column from the claims on top to the foundations."""
    layer, tall = _layers(group, uses), set(noted)
    box = {id: _Box(layer[id], _NOTED_HEIGHT if id in tall else _HEIGHT, id) for id in group}
    columns: dict[int, list[_Box]] = defaultdict(list)
    for id in group:
        columns[layer[id]].append(box[id])
    for id in group:
        for used in uses[id]:
            if layer[used] >= layer[id]:
                continue
            upper = box[id]
            for between in range(layer[id] - 1, layer[used], -1):
                waypoint = _Box(between, _WAYPOINT)
                columns[between].append(waypoint)
                _join(upper, waypoint)
                upper = waypoint
            _join(upper, box[used])
    return [columns[number] for number in sorted(columns, reverse=True)]


def _join(upper: _Box, lower: _Box) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def _place(columns: Sequence[list[_Box]]) -> None:
    """Order every column by the mean position of its neighbours, then move boxes as close to them as sizes allow."""
    for column in columns:
        _stack(column)
    for sweep in range(_SWEEPS):
        there = sweep % 2 == 0
        for column in columns if there else reversed(columns):
            column.sort(key=lambda box: _wanted_position(box, box.above if there else box.below))
            _stack(column)
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 else reversed(columns):
            _settle(column)
    top = min(box.y - box.height / 2 for column in columns for box in column)
    for column in columns:
        for box in column:
            box.y += _EDGE - top


def _wanted_position(box: _Box, neighbours: Sequence[_Box]) -> float:
    return sum(other.y for other in neighbours) / len(neighbours) if neighbours else box.y


def _stack(column: Sequence[_Box]) -> None:
    y = -sum(box.height + _GAP for box in column) / 2
    for box in column:
        box.y = y + box.height / 2
        y += box.height + _GAP


def _settle(column: Sequence[_Box]) -> None:
    """Minimise squared distances to the wanted positions with minimum spacing, by pooling adjacent violators."""
    offsets, below = [], 0.0
    for previous, box in zip([None, *column], column, strict=False):
        below += (previous.height + box.height) / 2 + _GAP if previous else 0.0
        offsets.append(below)
    pools: list[list[float]] = []  # [mean, size]
    for box, offset in zip(column, offsets, strict=True):
        pools.append([_wanted_position(box, box.above + box.below) - offset, 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / (pools[-1][1] + size), pools[-1][1] + size]
    means = [mean for mean, size in pools for _ in range(int(size))]
    for box, offset, mean in zip(column, offsets, means, strict=True):
        box.y = mean + offset


def draw(
    group: Sequence[str],
    results: Mapping[str, Result],
    notes: Mapping[str, str],
    href: Callable[[str], str],
    uses: Uses | None = None,
) -> Markup:
    """Return one connected component of the graph as SVG.

    Args:
        group: ids of its claims.
        results: the results by id.
        notes: a third line of each claim, in words; empty for none.
        href: address of a claim's card.
        uses: what each of them rests on; default: what it names.
    """
    uses = uses or uses_within(results[id] for id in group)
    columns = _columns(group, uses, [id for id in group if notes.get(id)])
    _place(columns)
    one_paper = len({results[id].claim.paper for id in group}) == 1
    labels = {id: results[id].claim.label if one_paper else id for id in group}
    noted = [label for id, label in notes.items() if id in labels]
    width = max(
        _LEAST_WIDTH,
        *(_CHARACTER * len(text) + 22 for text in labels.values()),
        *(5.8 * len(text) + 22 for text in noted),
        *(7.2 * len(results[id].decision.verdict) + 38 for id in group),
    )
    left = {box.layer: _EDGE + i * (width + _BETWEEN) for i, column in enumerate(columns) for box in column[:1]}
    edges = [_edge(box, left, width) for column in columns for box in column if box.id]
    boxes = [
        _draw_box(box, left[box.layer], width, results[box.id], labels[box.id], notes.get(box.id, ""), href(box.id))
        for column in columns
        for box in column
        if box.id
    ]
    across = len(columns) * (width + _BETWEEN) - _BETWEEN + 2 * _EDGE
    down = max(box.y + box.height / 2 for column in columns for box in column) + _EDGE
    return Markup(
        '<svg class="graph" role="group" aria-label="{} claims and what they rest on" width="{w:.0f}" height="{h:.0f}" '
        'viewBox="0 0 {w:.0f} {h:.0f}">{edges}{boxes}</svg>'
    ).format(len(group), w=across, h=down, edges=Markup("").join(edges), boxes=Markup("").join(boxes))


def _edge(box: _Box, left: Mapping[int, float], width: float) -> Markup:
    """Return the edges that leave a claim, through their waypoints, each with its arrowhead."""
    drawn = []
    for step in box.below:
        x, y = left[box.layer] + width, box.y
        path = [f"M{x:.1f},{y:.1f}"]
        while True:
            end = left[step.layer] - (6 if step.id else 0)
            middle = (x + end) / 2
            path.append(f"C{middle:.1f},{y:.1f} {middle:.1f},{step.y:.1f} {end:.1f},{step.y:.1f}")
            x, y = end, step.y
            if step.id:
                break
            x += width
            path.append(f"H{x:.1f}")
            step = step.below[0]
        drawn.append(
            Markup('<path class="edge" d="{}"/><path class="head" d="M{x:.1f},{t:.1f}l6,4l-6,4z"/>').format(
                " ".join(path), x=x, t=y - 4
            )
        )
    return Markup("").join(drawn)


def _draw_box(box: _Box, x: float, width: float, result: Result, label: str, note: str, href: str) -> Markup:
    top, verdict = box.y - box.height / 2, result.decision.verdict
    title = f"{result.claim.id}: {verdict}" + (f", {note}" if note else "")
    line = Markup('<text class="note" x="{:.1f}" y="{:.1f}">{}</text>').format(x + 11, top + 52, note) if note else ""
    return Markup(
        '<a href="{href}" class="v-{kind}{noted}"><title>{title}</title>'
        '<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6"/>'
        '<text class="label" x="{text:.1f}" y="{first:.1f}">{label}</text>'
        '<text x="{text:.1f}" y="{second:.1f}">{sign} {verdict}</text>{line}</a>'
    ).format(
        href=href,
        kind=verdict.split()[0],
        noted=" noted" if note else "",
        title=title,
        x=x,
        top=top,
        width=width,
        height=box.height,
        text=x + 11,
        first=top + 19,
        second=top + 36,
        label=label,
        sign=SIGNS[verdict],
        verdict=verdict,
        line=line,
    )
