"""Printed constants of theorems and the best ones known, from the ledger; nothing is run.

``python -m paper_checks.engine.constants docs/figures`` draws them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from figures.make import render
from figures.style import BLUE, GREEN, ORANGE, VERMILION, WIDTH, plain_log_ticks
from paper_checks.ledger import PAPERS
from paper_checks.pages.report_papers import place
from paper_checks.paper import Paper
from workloads.arguments import write_documents
from workloads.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

COLORS = {"holds": GREEN, "ambiguous": BLUE, "corrected": ORANGE, "refuted": VERMILION}
"""Colours of the verdicts on record."""
_NUMBERED = re.compile(r"Theorem|Lemma|Proposition|Corollary")
_UNNAMED = frozenset({("rolora/lem-A.4", "C"), ("rolora/thm-A.8", "c")})
"""Absolute constants to which the print gives no value."""
_ROW = 0.19


def constants(papers: Sequence[Paper] = PAPERS) -> pd.DataFrame:
    """Return constants that numbered statements print and whose best value the ledger knows, both being positive.

    Args:
        papers: Papers whose claims are read.

    Returns:
        Columns paper (as its method is called), id, statement (as the paper numbers it, with the version), constant
        (its name), printed, best, quotient (printed / best), proved (whether the best value is; else it was searched),
        verdict; by paper and falling quotient.
    """
    rows: list[dict[str, Any]] = []
    names = [paper.called for paper in papers]
    for paper in papers:
        for claim in paper.claims():
            called, printed = place(claim.where)[0], claim.printed_constants()
            if claim.kind != "statement" or not _NUMBERED.match(called):
                continue
            version = claim.paper.partition("-")[2]
            for name, best in claim.best.items():
                value, named = printed[name], (claim.id, name) not in _UNNAMED
                if named and isinstance(value, int | float) and value > 0 and best.value > 0:
                    rows.append(
                        {
                            "paper": paper.called,
                            "id": claim.id,
                            "statement": f"{version} {called}".strip(),
                            "constant": name.replace("_", " "),
                            "printed": float(value),
                            "best": float(best.value),
                            "quotient": float(value / best.value),
                            "proved": best.how.startswith("proved"),
                            "verdict": claim.expect,
                        }
                    )
    rows.sort(key=lambda row: (names.index(row["paper"]), -row["quotient"]))
    return pd.DataFrame(rows)


def draw(table: pd.DataFrame) -> Picture:
    """Return one row for each constant, on a logarithmic axis of printed over best; 1 is tight."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(WIDTH, 1.3 + _ROW * len(table)))
    axes = picture.subplots()
    for (verdict, proved), part in table.groupby(["verdict", "proved"], sort=False):
        color = COLORS[str(verdict)]
        axes.plot(
            part.quotient,
            part.index,
            ls="none",
            marker="o" if proved else "D",
            ms=5.0,
            mec=color,
            mew=1.2,
            mfc=color if proved else "white",
            label=f"{verdict}, best {'proved' if proved else 'searched'}",
        )
    axes.axvline(1.0, color="0.5", lw=0.8, ls=":")
    for row in table.itertuples():
        axes.annotate(
            f"{row.printed:.3g} for {row.best:.3g}",
            (row.quotient, row.Index),
            (7, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    axes.set_xscale("log")
    plain_log_ticks(axes.xaxis)
    axes.margins(x=0.2)
    axes.set_ylim(len(table) - 0.4, -0.6)
    axes.set_yticks(range(len(table)), [f"{row.paper} {row.statement}: {row.constant}" for row in table.itertuples()])
    axes.set_xlabel("printed constant / best one known\n(below 1: more holds than is printed)")
    axes.grid(axis="y", visible=False)
    picture.legend(loc="outside upper center", ncols=2)
    return picture


def write(folder: Path) -> list[Path]:
    """Draw the constants of the ledger into `constants.png` in a folder.

    Raises:
        OSError: The folder cannot be written to.
    """
    return write_whole({folder / "constants.png": render(lambda: draw(constants()), ("png",))["png"]})


if __name__ == "__main__":
    sys.exit(write_documents("paper_checks.engine.constants", "the picture of constants", "docs/figures", write))
