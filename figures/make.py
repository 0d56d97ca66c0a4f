"""Make one figure: compute or load its numbers, draw them, and write all files with a manifest, or none."""

from __future__ import annotations

import hashlib
import io
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures.figure import Figure, Settings
from figures.provenance import machine, numbers_digest, package_versions
from figures.stored_numbers import stored_numbers, stored_seconds
from figures.style import STYLE
from workloads.files import require_writable
from workloads.processes.locks import lock_folder
from workloads.progress import WORTH_SAYING, format_time
from workloads.written import FolderRecord, ForeignFileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture
    from pandas import DataFrame

_PACKAGES = ("rankproof", "numpy", "scipy", "torch", "pandas", "matplotlib")
# Without dates and version strings equal numbers give equal files.
_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}


@dataclass(frozen=True)
class DrawnFigure:
    """A figure that has been made.

    Attributes:
        figure: The figure.
        paths: The files by kind: `png`, `pdf`, `svg`, `csv`, `manifest`.
        table: The numbers, as in the CSV file.
        seconds: Wall time of this call.
        cached: Whether the numbers came from an earlier call, or are stored with the project.
        manifest: Settings, data sets with checksums, training runs, versions, times, caption and finding.
    """

    figure: Figure
    paths: Mapping[str, Path]
    table: DataFrame
    seconds: float
    cached: bool
    manifest: Mapping[str, Any]

    @property
    def caption(self) -> str:
        """The caption with the sizes, data sets, scale and seed of this picture."""
        return self.manifest["caption"]

    @property
    def note(self) -> str:
        """One line if the data are not the intended ones; else empty."""
        return self.manifest.get("data_note", "")

    @property
    def found(self) -> str:
        """The statement of the paper and the finding."""
        return self.manifest["found"]


def make(
    figure: Figure, settings: Settings, out: Path, recompute: bool = False, from_runs: bool = False
) -> DrawnFigure:
    """Compute or load the numbers of a figure, draw them, and write PNG, PDF, SVG, CSV and a manifest.

    Numbers are cached in `out/.cache`, one file for each figure, scale, seed and device. The cache is valid while the
    code that computes them (`numbers_digest`), the packages and the data sets stay the same. Numbers stored with the
    project (`stored_numbers`) are drawn as they are and need no data sets. If their code has changed since, caption and
    manifest say so (`stale`). A picture is always drawn from the table in the CSV file.

    Training runs are in `out/runs`: existing runs are used, and interrupted runs resume. With `recompute`, and at scale
    `quick` without `from_runs`, all runs are made again. Other long work resumes where it stopped if code, packages and
    data sets are still the same.

    Args:
        figure: The figure.
        settings: Scale, seed, device, and location of the data.
        out: Folder to write to; created if missing.
        recompute: Use neither cached nor stored numbers, and make all runs again.
        from_runs: Use neither cached nor stored numbers, but the runs in `out/runs`.

    Raises:
        FigureError: The device is not on this machine, or stored numbers are damaged.
        OSError: The folder cannot be written to.
        DataError: A data set that the figure needs is missing or damaged.
    """
    started = time.perf_counter()
    settings.check_device()
    out = Path(out)
    require_writable(out)
    require_writable(out / ".cache")
    paths = {kind: out / f"{figure.slug}.{kind}" for kind in (*_FORMATS, "csv")}
    paths["manifest"] = out / f"{figure.slug}.manifest.json"
    _require_own(out, paths)
    sources = numbers_digest(figure.data)
    entry = None if recompute or from_runs else stored_numbers(figure, settings)
    stored = entry is not None
    if entry is None:
        entry, cached = _load_or_compute(figure, settings, sources, out, recompute, from_runs)
    else:
        cached = True
    stale = entry["identity"]["sources_sha256"] != sources
    table = read_table(entry["csv"])
    settings.report("drawing")
    from figures.experiments.disclosures import finding, under_headline

    apart, told = _differences(figure, settings, entry["differences"] if stored else None)
    below = under_headline(figure, table, settings)
    contents = {**render(lambda: figure.picture(table, below)), "csv": entry["csv"].encode()}
    seconds = time.perf_counter() - started
    manifest: dict[str, Any] = {
        **entry["identity"],
        "title": figure.title,
        "caption": _caption_with_origin(figure, settings, table, entry, stored, stale) + told,
        **({"data_note": entry["note"]} if entry["note"] else {}),
        "found": finding(figure, table),
        **({"differences": apart} if apart else {}),
        **({"runs": entry["runs"]} if entry["runs"] else {}),
        **({"runs_made_by": entry["runs_made_by"]} if entry["runs_made_by"] else {}),
        "command": f"rankproof figure {figure.id} --scale {settings.scale} --seed {settings.seed} "
        f"--device {settings.device}",
        **entry["machine"],
        "cached": cached,
        "stored": stored,
        "stale": stale,
        "seconds_for_the_numbers": entry["seconds"],
        "seconds": round(seconds, 3),
        "files": {paths[kind].name: hashlib.sha256(content).hexdigest() for kind, content in contents.items()},
    }
    contents["manifest"] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    with lock_folder(out, wait=True):  # files of two drawings that end at the same time do not mix
        FolderRecord(out).write({paths[kind]: content for kind, content in contents.items()})
    return DrawnFigure(figure, paths, table, seconds, cached, manifest)


def _load_or_compute(
    figure: Figure, settings: Settings, sources: str, out: Path, recompute: bool, from_runs: bool
) -> tuple[dict[str, Any], bool]:
    """Return the numbers, from the cache or computed, and whether they are from the cache."""
    started = time.perf_counter()
    choice = figure.data_choice(settings)
    if choice.note:
        settings.report(choice.note)
    data = [_verified_data_set(name, settings) for name in choice.names]
    identity = {
        "figure": figure.id,
        "scale": settings.scale,
        "seed": settings.seed,
        "device": settings.device,
        "data": data,
        "packages": package_versions(_PACKAGES),
        "sources_sha256": sources,
    }
    beside = {"machine": machine(), "note": choice.note}
    name = f"{figure.slug}.{settings.scale}.{settings.seed}.{settings.device.replace(':', '-')}"
    kept = out / ".cache" / f"{name}.json"
    entry = None if recompute or from_runs else _read_cache(kept, identity)
    if entry is not None:
        return {**entry, **beside}, True
    taken = stored_seconds(figure, settings.scale)
    if taken is not None and taken >= WORTH_SAYING:
        settings.announce(
            f"about {format_time(taken)}, the time that the stored numbers took at scale {settings.scale}"
        )
    settings.report("computing")
    pieces = kept.with_name(f"{name}.{_digest(json.dumps(identity))[:12]}.pieces")
    for other in out.joinpath(".cache").glob(f"{name}.*.pieces"):
        if other != pieces:
            FolderRecord(other).clear()
    used: dict[str, str] = {}
    made_by: dict[str, str] = {}
    present: dict[str, Any] = {**package_versions(_PACKAGES), **machine(), "device": settings.device}

    def note(folder: Path) -> None:
        _note_run(used, folder)
        _note_maker(made_by, present, folder)

    from_nothing = recompute or (settings.scale == "quick" and not from_runs)
    with _run_folder(out, name, sources, from_nothing, settings.report) as runs:
        replaces = out / "runs" if from_nothing else None
        table = figure.data(replace(settings, runs=runs, replaces=replaces, pieces=pieces, named=note))
    csv = table.to_csv(index=False, na_rep="nan", lineterminator="\n")
    seconds = round(time.perf_counter() - started, 3)
    of_runs = {"runs": used, "runs_made_by": made_by}
    entry = {"identity": identity, "seconds": seconds, **of_runs, "csv": csv, "sha256": _digest(csv)}
    with suppress(ForeignFileError):  # numbers that cannot be saved are computed again
        FolderRecord(out).write({kept: json.dumps(entry).encode()})
    FolderRecord(pieces).clear()
    return {**entry, **beside}, False


def _note_run(used: dict[str, str], folder: Path) -> None:
    """Note the folder of a training run and the digest of its metrics."""
    from runs.listing import METRICS  # brings torch along

    metrics = folder / METRICS  # missing if the run failed in its first round
    used[folder.name] = hashlib.sha256(metrics.read_bytes()).hexdigest() if metrics.exists() else ""


def _note_maker(made_by: dict[str, str], present: Mapping[str, Any], folder: Path) -> None:
    """Note the versions and the device that made a training run, where they are not the present ones."""
    from runs.format import printable
    from runs.listing import find_runs  # brings torch along

    run = find_runs(folder)[0]
    made = {**run.versions, **{name: one for name, one in run.conduct.items() if name == "device"}}
    others = [printable(f"{name} {one}") for name, one in made.items() if name in present and one != present[name]]
    if others:
        made_by[folder.name] = ", ".join(others)


def _require_own(out: Path, paths: Mapping[str, Path]) -> None:
    """Refuse to overwrite files that are not an earlier drawing of the figure.

    Earlier versions did not record their files, but wrote a manifest with their digests.

    Raises:
        OSError: A file was not written by this program, or cannot be written.
    """
    written = FolderRecord(out)
    if not written.exists and paths["manifest"].is_file():
        _adopt(written, paths)
    written.require(paths.values())


def _adopt(written: FolderRecord, paths: Mapping[str, Path]) -> None:
    """Record the files of a figure if the manifest of an earlier version has the digests of all of them."""
    try:
        contents = {path.name: path.read_bytes() for path in paths.values()}
        text = contents.pop(paths["manifest"].name).decode()
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
        manifest = json.loads(text)
        if manifest["files"] != digests or text != json.dumps(manifest, indent=1, ensure_ascii=False) + "\n":
            return
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return
    digests[paths["manifest"].name] = hashlib.sha256(text.encode()).hexdigest()
    written.note((name, (written.folder / name).stat().st_size, digest) for name, digest in digests.items())


@contextmanager
def _run_folder(out: Path, name: str, sources: str, from_nothing: bool, say: Callable[[str], None]) -> Iterator[Path]:
    """Yield the folder of training runs for a figure.

    Runs from scratch have their own folder until all are done, so interrupted runs resume with the same sources.
    Then they replace older ones, apart from longer runs with the same first rounds. A second process waits until the
    first is done with this folder.
    """
    store = out / "runs"
    if not from_nothing:
        yield store
        return
    from runs.folder import remove_run  # brings torch along
    from runs.settings import RunError

    anew = out / ".anew" / f"{name}-{sources[:12]}"
    for other in anew.parent.glob(f"{name}-*"):
        if other != anew:
            for run in [run for run in other.iterdir() if run.is_dir()] if other.is_dir() else []:
                with suppress(RunError):  # keep files that a run did not write
                    remove_run(run)
            _remove_empty(other)
    try:
        with _locked(anew, say):
            yield anew
            _store_runs(anew, store)
    finally:
        _remove_empty(anew)
        _remove_empty(anew.parent)


def _store_runs(anew: Path, store: Path) -> None:
    """Move runs into the store, apart from those that a longer run there continues."""
    from runs.folder import remove_run  # brings torch along

    made = sorted(run for run in anew.iterdir() if run.is_dir())
    if made:
        store.mkdir(exist_ok=True)
    with lock_folder(store, wait=True):  # another figure may have made the same run at the same time
        for run in made:
            older = store / run.name
            if _continues(older, run):
                remove_run(run)
                continue
            if older.exists():
                remove_run(older)
            run.rename(older)


def _locked(folder: Path, say: Callable[[str], None]) -> ExitStack:
    """Make a folder, wait until no other process works in it, and return its lock; the others may remove it."""
    waits = False
    while True:
        with suppress(FileNotFoundError), ExitStack() as held:
            folder.mkdir(parents=True, exist_ok=True)
            if not held.enter_context(lock_folder(folder)):
                if not waits:
                    say("waiting for another process that makes this figure")
                waits = True
                held.enter_context(lock_folder(folder, wait=True))
            if folder.is_dir():
                return held.pop_all()


def _continues(longer: Path, run: Path) -> bool:
    """Return whether a run has the same metrics as another one in all of its rounds, and further rounds."""
    from runs.listing import METRICS  # brings torch along

    try:
        ours, theirs = ((folder / METRICS).read_bytes() for folder in (run, longer))
    except OSError:
        return False
    return len(theirs) > len(ours) and theirs.startswith(ours)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):  # it holds runs that were interrupted, another figure's, or files of somebody else
        folder.rmdir()


_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|inf)|nan")


def read_table(csv: str) -> DataFrame:
    """Return the table of a CSV file, exact to the last bit: the parsers of pandas round differently by version.

    A column has numbers if all of its entries are written as pandas writes numbers. Whole numbers beyond 64 bits stay
    whole. Every other column has texts, unless all of its entries are True or False.
    """
    import pandas as pd

    table = pd.read_csv(io.StringIO(csv, newline=""), dtype=object, keep_default_na=False, lineterminator="\n")
    for name in table.columns:
        table[name] = _convert([str(text) for text in table[name]])
    return table


def _convert(texts: list[str]) -> Any:
    import numpy as np

    if all(map(_WHOLE.fullmatch, texts)):
        numbers = [int(text) for text in texts]
        small = all(-(2**63) <= number < 2**63 for number in numbers)
        return np.array(numbers, dtype=np.int64 if small else object)
    if all(map(_NUMBER.fullmatch, texts)):
        return np.array([float(text) for text in texts])
    if set(texts) <= {"True", "False"}:
        return np.array([text == "True" for text in texts])
    return texts


def render(draw: Callable[[], Picture], kinds: Sequence[str] = tuple(_FORMATS)) -> dict[str, bytes]:
    """Draw a picture in the project's style, and return the contents of its files by kind: `png`, `pdf`, `svg`."""
    from matplotlib import rc_context

    pictures = {}
    with rc_context(STYLE):
        drawn = draw()
        for kind in kinds:
            stream = io.BytesIO()
            drawn.savefig(stream, format=kind, metadata=_FORMATS[kind])
            pictures[kind] = stream.getvalue()
    if "svg" in pictures:  # a fifth of an SVG is comments and indentation
        pictures["svg"] = re.sub(rb"\n\s+", b"\n", re.sub(rb"<!--.*?-->", b"", pictures["svg"], flags=re.DOTALL))
    return pictures


def _caption_with_origin(
    figure: Figure, settings: Settings, table: DataFrame, entry: Mapping[str, Any], stored: bool, stale: bool
) -> str:
    names = ", ".join(f"{data['title']} (genuine, checksums verified)" for data in entry["identity"]["data"])
    origin = f"Data: {names}. " if names else ""
    origin += f"{entry['note']}. " if entry["note"] else ""
    changed = ", which have changed since; --recompute computes them again" if stale else ""
    kept = f" Stored numbers, of the sources {entry['identity']['sources_sha256'][:12]}{changed}." if stored else ""
    from figures.experiments.disclosures import borrowed_rates, close_rates, failed_runs, rates_at_an_end

    if others := entry.get("runs_made_by"):
        counts = "; ".join(f"{count} with {maker}" for maker, count in Counter(others.values()).items())
        origin += f"Of {len(entry['runs'])} training runs, computed on other versions or devices: {counts}. "
    failed, rates = failed_runs(table), rates_at_an_end(table)
    parts = (f"{failed}." if failed else "", rates, close_rates(table), borrowed_rates(table))
    told = "".join(f"{part} " for part in parts if part)
    return f"{figure.caption} {figure.sizes(table)} {told}{origin}Scale {settings.scale}, seed {settings.seed}.{kept}"


def _differences(
    figure: Figure, settings: Settings, stored: Sequence[Mapping[str, str]] | None
) -> tuple[list[dict[str, str]], str]:
    """Return the settings that differ from the paper's, for a manifest, and a sentence for the caption.

    Stored numbers keep the settings that they were computed with, because those of the figure may have changed since.
    """
    if figure.designs is None and figure.by_scale is None:
        return [], ""
    from figures.experiments.differences import Difference, describe, differences, with_beyond  # brings torch along

    of_options = () if stored is None else tuple(Difference(**row) for row in stored)
    rows = differences(figure, settings) if stored is None else with_beyond(figure, of_options)
    return [asdict(row) for row in rows], f" {describe(rows)}" if rows else ""


def _verified_data_set(name: str, settings: Settings) -> dict[str, Any]:
    """Return name and checksums of a data set after verifying it."""
    from workloads.data.datasets import REGISTRY
    from workloads.data.file_sets import FileSet, verify
    from workloads.texts import TEXTS

    known: dict[str, FileSet] = {**REGISTRY, **TEXTS}
    verify(known[name], settings.data_root)
    return {"name": name, "title": known[name].title, "md5": dict(known[name].md5)}


def _digest(csv: str) -> str:
    return hashlib.sha256(csv.encode()).hexdigest()


def _read_cache(path: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        whole = entry["identity"] == identity and entry["sha256"] == _digest(entry["csv"])
        whole = (
            whole
            and isinstance(entry["seconds"], int | float)
            and all(isinstance(entry[name], dict) for name in ("runs", "runs_made_by"))
        )
        return entry if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # missing or incomplete: computing the numbers again repairs it
