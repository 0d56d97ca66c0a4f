"""Records of places of work: clusters and their room, options that name them, and modules that hide others."""

import argparse
import os
import sys

from environment import variables
from hidden_folder import folder
from recording import refused

from workloads.processes.child_processes import SETTINGS, worker_environment
from workloads.processes.cluster import (
    _require_answer,
    describe_loss,
    graphics_of,
    require_graphics,
    require_room,
    workers_at_once,
)
from workloads.processes.pool import Place, add_place_options, place_of, slots_of
from workloads.processes.shadows import require_own_modules


def rooms_of_clusters():
    for given in (
        (16, 1, 0.2),
        (16, 2, 0.4),
        (16, 3, 2),
        (4, 0, 0),
        (4, 8, 1.0),
        (16, 1, 0.3),
        (2, 4, 0.25),
        (3.9, 5, 0),
        (16, 1, 1 / 3),
        (16, 7, 2.0),
    ):
        yield given, workers_at_once(*given)
    for graphics in (1e-4, 9.9e-5, 0.25, 1.0, 1.5, 2.0, 0.0, -1.0, float("inf"), float("nan")):
        yield graphics, refused(require_graphics, graphics, ValueError)
    yield (
        [refused(graphics_of, text, ValueError) for text in ("0.25", "x", "1.5", "2", "-1")],
        describe_loss(ValueError("lost\n  it")),
    )
    for address in ("ray://x:1", "host", "host:65536", ":1", "host:x"):
        yield address, refused(_require_answer, address, ValueError)


class _Ray:
    def __init__(self, free, whole):
        self.free, self.whole = free, whole

    def available_resources(self):
        return self.free

    def cluster_resources(self):
        return self.whole


def rooms_that_are_refused():
    for processors, graphics in ((2, 0.0), (3, 0.0), (2, 1.0), (2, 1.5), (4, 2.0)):
        yield refused(
            require_room,
            _Ray({"CPU": 2.0, "GPU": 1.0}, {"CPU": 2.0, "GPU": 1.0}),
            "here",
            processors,
            graphics,
            ValueError,
        )


def places_of_work():
    parser = argparse.ArgumentParser()
    add_place_options(parser, "runs")
    for words in (
        (),
        ("--on", "ray"),
        ("--workers", "3"),
        ("--address", "a"),
        ("--gpus-per-worker", "1"),
        ("--on", "ray", "--address", ""),
        ("--on", "ray", "--address", "auto", "--workers", "2"),
        ("--on", "ray", "--workers", "2", "--gpus-per-worker", "0.5"),
        ("--on", "ray", "--gpus-per-worker", "1.5"),
        ("--on", "ray", "--address", "auto"),
        ("--address", "a", "--workers", "1", "--dry-run"),
    ):
        yield words, refused(lambda words=words: place_of(parser.parse_args(list(words)), ValueError))
    yield (
        slots_of(None, ValueError),
        len(slots_of(Place(workers=3), ValueError)),
        len(set(slots_of(Place(workers=3), ValueError))),
    )


def environments_of_workers():
    with variables(OMP_NUM_THREADS="7", MKL_NUM_THREADS=None):
        with worker_environment():
            yield {name: os.environ[name] for name in SETTINGS}
        yield os.environ["OMP_NUM_THREADS"], os.environ.get("MKL_NUM_THREADS")


def modules_that_hide_others():
    with folder() as (place, hide):
        before = os.getcwd()
        try:
            os.chdir(place)
            yield refused(require_own_modules, ValueError)
            (place / "small_clients.py").write_text("")
            yield refused(require_own_modules, ValueError)
            sys.path.insert(0, "")
            try:
                found = hide(refused(require_own_modules, ValueError))
                yield found.partition(" instead")[0] if isinstance(found, str) else found
                (place / "small_clients.py").unlink()
                (place / "small_clients").mkdir()
                (place / "small_clients" / "__init__.py").write_text("")
                found = hide(refused(require_own_modules, ValueError))
                yield found.partition(" instead")[0] if isinstance(found, str) else found
            finally:
                sys.path.remove("")
        finally:
            os.chdir(before)


def fractions_that_were_rounded():
    for each in (0.3333, 0.33334, 0.3335, 0.1429, 0.14286, 0.0204082, 0.9999, 1.0001, 0.5, 0.5001):
        yield each, workers_at_once(64, 1, each), workers_at_once(64, 3, each), workers_at_once(5, 3, each)
