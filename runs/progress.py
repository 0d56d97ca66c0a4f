"""Display of a run in progress: a bar with time left, loss, accuracy and bytes; optionally TensorBoard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from runs.folder import BOARD
from runs.format import format_bytes
from runs.index import last_index
from runs.plan import Plan
from runs.settings import RunError
from workloads.progress import report_progress
from workloads.written import FolderRecord

Progress = Callable[[dict[str, Any]], None]


@contextmanager
def show_progress(plan: Plan, folder: Path, replaces: bool = False) -> Iterator[Progress]:
    """Yield the function that takes the metrics of every round of a plan.

    Args:
        plan: The run.
        folder: Folder of the run; the display starts at the last round that is stored there.
        replaces: Whether the run replaces the one in the folder, and so starts at round 0.

    Raises:
        RunError: TensorBoard is asked for and not installed.
    """
    writer_class = _summary_writer() if plan.conduct.tensorboard else None
    seen: dict[str, Any] = {}
    with ExitStack() as stack:
        bar = stack.enter_context(report_progress(f"{plan.algorithm} on {plan.problem}", plan.conduct.rounds, "round"))
        stored = 0 if replaces else last_index(folder).get("round", 0)
        bar.resume(stored if isinstance(stored, int) else 0)
        boards: list[Any] = []

        def progress(metrics: dict[str, Any]) -> None:
            number = metrics["round"]
            if not seen:
                bar.resume(max(number - 1, 0))  # a resumed run's rate is that of its own rounds
            seen.update(metrics)
            bar.advance(", ".join(f"{name} {text}" for name, text in format_metrics(seen).items()), number - bar.done)
            if writer_class is not None:
                if not boards:
                    there = set((folder / BOARD).glob("*"))
                    boards.append(writer_class(str(folder / BOARD), purge_step=number))
                    stack.callback(_note_events, folder, there)
                    stack.callback(boards[0].close)
                for name, value in metrics.items():
                    if name != "round":
                        boards[0].add_scalar(name, value, number)

        yield progress


def _note_events(folder: Path, before: set[Path]) -> None:
    """Record the files that TensorBoard's writer has made, so a new run may remove them."""
    made = sorted(set((folder / BOARD).glob("*")) - before)
    contents = {path: path.read_bytes() for path in made if path.is_file()}
    FolderRecord(folder).note(
        (f"{BOARD}/{path.name}", len(data), hashlib.sha256(data).hexdigest()) for path, data in contents.items()
    )


def format_metrics(metrics: Mapping[str, Any]) -> dict[str, str]:
    """Format the numbers that a bar has room for."""
    found = {name: f"{metrics[name]:.3g}" for name in ("loss", "accuracy") if name in metrics}
    travelled = metrics.get("bytes_down", 0) + metrics.get("bytes_up", 0)
    return {**found, "sent": format_bytes(travelled)}


def _summary_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise RunError("--tensorboard needs the package tensorboard: pip install 'rankproof[tensorboard]'") from error
    return SummaryWriter
