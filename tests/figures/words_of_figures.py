"""Sentences of figures about their stored numbers, and about the same numbers cut or mirrored, on record in one file.

``python tests/figures/words_of_figures.py`` writes the record again and prints what changed. Mirrored numbers change
the order of methods, so sentences take their other branches; with one seed, intervals are undefined.
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from figures.experiments.disclosures import finding, under_headline
from figures.figure import Figure
from figures.ledger import all_figures
from figures.make import read_table
from figures.stored_numbers import stored_settings

RECORD = Path(__file__).with_suffix(".json")
STORED = Path(__file__).parents[2] / "docs" / "figures"
SETTINGS = ("rate", "learning_rate", "alpha", "theta", "spike", "R", "M", "N", "n", "rank", "clients", "round", "sigma")
"""Columns of settings, which stay as they are."""
FIGURES = [figure for figure in all_figures() if (STORED / f"{figure.slug}.csv").exists()]


MOST_ROWS = 5000
"""Rows of a table from which on one variant of it, the stored one, is enough: its sentences take seconds."""


def table_of(figure: Figure) -> pd.DataFrame:
    """Return the stored numbers of a figure."""
    return read_table((STORED / f"{figure.slug}.csv").read_text(encoding="utf-8"))


def mirrored(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which the least measured number of each column is the largest, and the other way round."""
    measured = [name for name in table.select_dtypes("float") if name not in SETTINGS]
    return table.assign(**{name: table[name].max() + table[name].min() - table[name] for name in measured})


def variants(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield names and tables: the stored one, its first seed, and the mirrored one."""
    yield "", table
    if "seed" in table and table.seed.nunique() > 1:
        yield "one seed, ", table[table.seed.isin((table.seed.min(), -1)) | table.seed.isna()]
    if len(table) < MOST_ROWS:
        yield "mirrored, ", mirrored(table)


def words(figure: Figure, table: pd.DataFrame) -> dict[str, str]:
    """Return every text of a figure that is made from its numbers."""
    found = {}
    for variant, rows in variants(table):
        for name, text in (("headline", figure.headline), ("found", lambda rows: finding(figure, rows))):
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    found[f"{variant}{name}"] = text(rows)
                except (ArithmeticError, LookupError, RuntimeWarning) as error:  # no measurement has such numbers
                    found[f"{variant}{name}"] = type(error).__name__
    found["sizes"] = figure.sizes(table)
    found["under the headline"] = under_headline(figure, table, stored_settings(figure))
    return found


if __name__ == "__main__":
    before = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    now = {figure.id: words(figure, table_of(figure)) for figure in FIGURES}
    for id, texts in now.items():
        for name, text in texts.items():
            if before.get(id, {}).get(name) != text:
                print(f"{id}, {name}:\n  was {before.get(id, {}).get(name)}\n  is  {text}")
    RECORD.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
