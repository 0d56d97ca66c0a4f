"""The fresh process of a replay imports the replay's own package and a few libraries, and nothing of any search."""

import pkgutil
from pathlib import Path

import pytest

import paper_checks
from paper_checks.replay import Stored, replay_in_fresh_process

SHARED = {"replay", "evaluation", "stored_values", "enclosures", "proof_steps"}
"""Modules of the engine that replays are written with."""
SERVING = {"engine", "engine.processes", "engine.generators", "engine.process_settings"}
"""Modules that the process has loaded before any replay.

They end it with its parent, keep evaluations apart and know no claim.
"""
ROOMS_OF_ENGINE = ("engine", "methods", "pages", "replaying")
ENGINE = {
    *(module.name for module in pkgutil.iter_modules(paper_checks.__path__)),
    *(
        f"{room}.{module.name}"
        for room in ROOMS_OF_ENGINE
        for module in pkgutil.iter_modules([str(Path(paper_checks.__file__).parent / room)])
    ),
} - SERVING
FOUND = "searched = 1\n"
FILES = {
    "hall/__init__.py": "",
    "hall/search.py": FOUND,
    "hall/replays.py": FOUND,
    "hall/one/__init__.py": "",
    "hall/one/search.py": FOUND,
    "hall/one/replays_search.py": FOUND,
    "hall/one/deep/__init__.py": "",
    "hall/one/deep/search.py": FOUND,
    "hall/one/deep/replays.py": FOUND,
    "hall/one/replays/shared.py": FOUND,
    "hall/one/replays/inner/__init__.py": "",
    "hall/one/replays/inner/more.py": FOUND,
    "hall/two/__init__.py": "",
    "hall/two/search.py": FOUND,
    "hall/two/replays.py": FOUND,
    "hall/one/replays/__init__.py": """
import importlib
from paper_checks.replay import Proof, proof

@proof("hall/by-name")
def by_name(values):
    importlib.import_module(values["module"], __name__)
    return Proof(True, "imported")

@proof("hall/by-statement")
def by_statement(values):
    exec(values["module"], {"__name__": __name__, "__package__": __name__})
    return Proof(True, "imported")
""",
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Ask a replay of `hall.one` to import something, all requests in one fresh process."""
    folder = tmp_path_factory.mktemp("guard")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def ask(kind, requests):
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(folder))
            files = [Stored(f"hall/{kind}", "certificate", {"module": request}) for request in requests]
            return dict(zip(requests, replay_in_fresh_process("hall.one", files), strict=True))

    return ask


SEARCH = (
    "hall.search",
    "hall.replays",
    "hall.one.search",
    "hall.one.replays_search",
    "hall.one.deep",
    "hall.one.deep.search",
    "hall.one.deep.replays",
    "hall.two",
    "hall.two.search",
    "hall.two.replays",
)
LIBRARIES = ("scipy", "scipy.optimize", "pandas", "torch", "hypothesis", "matplotlib", "networkx")
ROOMS = ("rmt", "hessian", "toymodels", "algorithms", "runs", "figures", "rankproof", "workloads.data.datasets")
PAPERS = tuple(
    f"paper_checks.{paper}.{part}"
    for paper in ("fedloru", "fedlrt", "rolora", "your_paper")
    for part in ("paper", "replays")
)


def test_nothing_that_searches_is_imported(imported):
    engine = [f"paper_checks.{name}" for name in sorted(ENGINE - SHARED)]
    requests = (*SEARCH, *LIBRARIES, *ROOMS, *PAPERS, *engine)
    answers = imported("by-name", requests)
    assert not [request for request, answer in answers.items() if answer.confirmed]
    for request, answer in answers.items():
        package = next(
            one for one in (request, request.rpartition(".")[0]) if f"may not import {one}'" in answer.detail
        )
        assert request.startswith(package)


def test_what_replays_are_written_with_is_imported(imported):
    engine = [f"paper_checks.{name}" for name in sorted(SHARED)]
    own = ["hall.one", "hall.one.replays.shared", "hall.one.replays.inner.more", ".shared", ".inner.more"]
    for answer in imported("by-name", ("numpy", "mpmath", "decimal", "json", *engine, *own)).values():
        assert answer.confirmed, answer.detail


STATEMENTS = {
    "from .. import search": "hall.one.search",
    "from ..search import searched": "hall.one.search",
    "from ... import search": "hall.search",
    "from ...two import search": "hall.two",
    "from ..deep.search import searched": "hall.one.deep",
    "import hall.one.search as replays": "hall.one.search",
    "from paper_checks.engine import judging": "paper_checks.engine.judging",
    "from paper_checks.methods.sides import number": "paper_checks.methods",
    "from . import shared": "",
    "from .inner import more": "",
}
"""Import statements of a replay, each with the module that is refused; none for the replay's own parts."""


def test_relative_imports_are_those_of_the_modules_they_mean(imported):
    for statement, answer in imported("by-statement", STATEMENTS).items():
        refused = STATEMENTS[statement]
        assert answer.confirmed == (not refused), statement
        assert not refused or f"may not import {refused}'" in answer.detail, statement
