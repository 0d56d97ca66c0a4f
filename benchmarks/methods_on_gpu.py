"""Runs of the comparison of methods on rated sentences, by several processes on one accelerator.

``python benchmarks/methods_on_gpu.py OUT [--scale laptop] [--device cuda] [--processes 16] [--limit SECONDS] [--pack
FILE]`` makes the training runs of the figure `training/methods-texts` in ``OUT/runs``. Small models are bound by the
launches of kernels, so several processes share one accelerator. Each process begins with methods of its own, and then
helps with the others. After the limit the processes stop; the same command resumes the interrupted runs.

FILE is a .tar.gz with the finished runs without the weights in their checkpoints, and `environment.json`. Unpack it in
an empty folder, and ``rankproof figure training/methods-texts --scale laptop --out FOLDER`` draws these runs, after it
has measured some rounds on its own device, and has made the runs that are missing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [place for place in sys.path if Path(place).resolve() != ROOT / "benchmarks"]
sys.path.insert(0, str(ROOT))

import torch

from figures.curves.method_comparison_runs import design_of
from figures.curves.method_comparison_texts import SENTENCES
from figures.experiments.experiment import Design, run_design
from figures.figure import Scale, Settings
from figures.provenance import machine, package_versions
from runs.index import SETTINGS
from runs.listing import FoundRun, find_runs

PACKAGES = ("numpy", "torch", "transformers", "pandas")
GRACE = 5.0
"""Seconds between the request to stop and the end of a process."""


def work(number: int, processes: int, settings: Settings) -> None:
    """Make the runs of a process's own methods, then of the others."""
    design = design_of(settings, SENTENCES)
    count = len(design.lines)
    own = list(range(number, count, processes))
    others = [(number + step) % count for step in range(count)]
    for place in dict.fromkeys([*own, *others]):
        run_design(replace(design, lines=(design.lines[place],)), settings)


def make_runs(out: Path, scale: Scale, device: str, processes: int, limit: float) -> float:
    """Start the processes, wait for them until the limit, stop the rest, and return the time in seconds."""
    (out / "runs").mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    common = [sys.executable, str(Path(__file__).resolve()), str(out), "--scale", scale, "--device", device]
    started = []
    for number in range(processes):
        with (out / f"process-{number}.log").open("ab") as log:
            command = [*common, "--processes", str(processes), "--worker", str(number)]
            started.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
    try:
        while any(process.poll() is None for process in started) and time.monotonic() - began < limit:
            time.sleep(0.2)
    finally:
        stop(started)
    for number, process in enumerate(started):
        if process.returncode > 0:
            lines = (out / f"process-{number}.log").read_text(errors="replace").strip().splitlines()
            print(f"process {number} failed: {lines[-1] if lines else process.returncode}", flush=True)
    return time.monotonic() - began


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """Ask the processes that still run to stop, and end those that do not."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    patience = time.monotonic() + GRACE
    for process in processes:
        try:
            process.wait(max(0.0, patience - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def finished(design: Design, runs: Path) -> list[FoundRun]:
    """Return the runs in a folder that reached the last round of the experiment."""
    found = find_runs(runs) if any(runs.glob(f"*/{SETTINGS}")) else []
    return [run for run in found if run.done >= design.rounds]


def pack(runs: list[FoundRun], environment: dict[str, Any], target: Path) -> None:
    """Write the runs to an archive, without the weights in their checkpoints."""
    with tarfile.open(target, "w:gz") as archive:
        for run in runs:
            for path in sorted(run.folder.rglob("*")):
                if path.is_file() and path.suffix != ".safetensors":
                    archive.add(path, f"runs/{path.relative_to(run.folder.parent)}")
        content = (json.dumps(environment, indent=1) + "\n").encode()
        entry = tarfile.TarInfo("environment.json")
        entry.size = len(content)
        archive.addfile(entry, BytesIO(content))


def main() -> None:
    """Make the runs and pack them; with ``--worker`` this is one of the processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", choices=("quick", "laptop", "paper"), default="laptop")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--limit", type=float, default=270.0, help="seconds after which the processes are stopped")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="archive of the finished runs, a .tar.gz")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    settings = Settings(
        options.scale,
        device=options.device,
        runs=options.out / "runs",
        progress=lambda text: print(f"{time.strftime('%H:%M:%S')} {text}", flush=True),
    )
    if options.worker is not None:
        torch.set_num_threads(1)
        work(options.worker, options.processes, settings)
        return
    seconds = make_runs(options.out, options.scale, options.device, options.processes, options.limit)
    design = design_of(settings, SENTENCES)
    runs = finished(design, options.out / "runs")
    cuda = options.device.startswith("cuda") and torch.cuda.is_available()
    environment = {
        **machine(),
        "device": torch.cuda.get_device_name(options.device) if cuda else options.device,
        "processes": options.processes,
        "packages": package_versions(PACKAGES),
        "scale": options.scale,
        "seconds": round(seconds, 1),
        "finished runs": len(runs),
        "all runs": design.runs,
    }
    print(json.dumps(environment), flush=True)
    if options.pack is not None:
        options.pack.parent.mkdir(parents=True, exist_ok=True)
        pack(runs, environment, options.pack)
        print(f"{options.pack}: {options.pack.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
