"""The manifest of a run: settings, code, versions and kind of machine, enough to repeat it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from figures.provenance import ROOMS, machine, package_versions, sources_digest
from paper_checks.ledger import PAPERS
from paper_checks.result import Run

_PACKAGES = (
    "rankproof",
    "numpy",
    "scipy",
    "torch",
    "sympy",
    "mpmath",
    "hypothesis",
    "pandas",
    "matplotlib",
    "jinja2",
    "latex2mathml",
)
SOURCES = (*ROOMS, "paper_checks", "rankproof.py")


def run_manifest(run: Run) -> dict[str, Any]:
    """Return settings and environment of a run; times are only in ``started`` and ``wall_seconds``."""
    commit, _, changed = commit_of_code()
    own = {
        paper.name: sources_digest([paper.folder.name], paper.folder.parent)
        for paper in run.papers
        if paper not in PAPERS
    }
    return {
        "started": (datetime.now(UTC) - timedelta(seconds=run.seconds)).isoformat(timespec="seconds"),
        "wall_seconds": round(run.seconds, 3),
        "commit": commit,
        "uncommitted_changes": None if changed is None else bool(changed),
        "sources_sha256": sources_digest(SOURCES),
        **({"own_papers_sha256": own} if own else {}),
        "seed": run.seed,
        "budget": run.budget,
        "claims": len(run.results),
        "level_spent": run.level,
        "stored_for_no_claim": list(run.of_no_claim),
        **machine(),
        "packages": package_versions(_PACKAGES),
    }


def commit_of_code() -> tuple[str | None, str | None, tuple[str, ...] | None]:
    """Return the commit of the running code, its date (YYYY-MM-DD), and the source files that differ from it.

    All three are None outside a checkout.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None, None, None

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    try:
        commit, date = git("show", "--no-patch", "--format=%H %cs", "HEAD").split()
        changed = git("status", "--porcelain", "--no-renames", "--untracked-files=all", "-z", "--", *SOURCES)
        return commit, date, tuple(entry[3:] for entry in changed.split("\0") if entry)
    except (OSError, subprocess.CalledProcessError):
        print("rankproof: git does not report the commit of the code, so it is left out", file=sys.stderr)
        return None, None, None
