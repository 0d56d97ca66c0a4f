"""RoLoRA's tables as tables: they contain every printed number, and recomputed values agree with the claims."""

import re

import pytest

from figures.figure import Settings
from figures.ledger import select
from figures.rolora.printed import MMLU, TABLE_1, TABLE_2, TABLE_6, TABLE_12, TESTS
from figures.rolora.tables import AVERAGE, ROUNDING, mean_of_row, mmlu, nearest_count
from paper_checks.methods.printed import Rounded
from paper_checks.rolora.measurements.whole_counts import attainable
from paper_checks.rolora.table_1 import NOT_FOLLOWING

TABLES = select([f"rolora/table-{number}" for number in (1, 2, 6, 12)])
SETTINGS = Settings()


@pytest.mark.parametrize(
    ("figure", "cells", "recomputed"), [*zip(TABLES, (72, 24, 96, 18), (12, 24, 16, 3), strict=True)]
)
def test_every_cell_is_drawn(figure, cells, recomputed):
    table = figure.data(SETTINGS)
    assert (len(table), int(table.recomputed.notna().sum())) == (cells, recomputed)
    texts = " ".join(text.get_text() for text in figure.draw(table).axes[0].texts)
    for value in table.published:
        assert f"{value:.2f}" in texts
    for row in table[table.difference.abs() > ROUNDING].itertuples():
        assert f"{row.difference:+.2f}" in texts
    assert figure.found(table)


@pytest.mark.parametrize("figure", TABLES, ids=lambda figure: figure.id)
def test_rows_stand_in_the_order_of_the_paper(figure):
    table = figure.data(SETTINGS)
    axes = figure.draw(table).axes[0]
    lines = {}
    for text in axes.texts:
        x, y = text.get_position()
        lines.setdefault(y, {})[x] = text.get_text()
    first = [lines[y][min(lines[y])].strip() for y in sorted(lines)][1:]
    if set(table.setting) == {""}:
        assert first == list(dict.fromkeys(table.column))
        return
    expected = []
    for row in table.drop_duplicates(["setting", "method"]).itertuples():
        expected += ([row.setting] if row.setting not in expected else []) + [row.method]
    assert first == expected
    for row in table[table.column == AVERAGE].itertuples():
        y = next(y for y in sorted(lines) if y > first.index(row.setting) and row.method in lines[y][min(lines[y])])
        right = list(dict(sorted(lines[y].items())).values())[-3:]
        assert right[0].startswith(f"{row.published:.2f}")
        assert right[1] == f"{row.recomputed:.2f}"


def test_the_averages_that_differ_are_those_of_the_claim():
    table = TABLES[0].data(SETTINGS)
    off = table[(table.column == AVERAGE) & (table.difference.abs() > ROUNDING)]
    assert [(row.setting, row.method) for row in off.itertuples()] == [
        (f"rank {rank}, {clients} clients", method) for rank, clients, method in NOT_FOLLOWING
    ]
    assert float(mean_of_row(TABLE_1[0])) == pytest.approx((95.62 + 91.59 + 86.20 + 86.13 + 81.46) / 5)


def test_rows_are_named_by_table_setting_and_method():
    settings = ("rank 4, 3 clients", "rank 4, 20 clients", "rank 4, 50 clients", "rank 8, 50 clients")
    for number, rows, methods in (
        (1, TABLE_1, ("LoRA", "FFA-LoRA", "RoLoRA")),
        (6, TABLE_6, ("LoRA", "FFA-LoRA", "FlexLoRA", "RoLoRA")),
    ):
        expected = [f"Table {number}, {setting}, {method}" for setting in settings for method in methods]
        assert [row.name for row in rows] == expected
    assert {row.name.split(",")[0] for row in TABLE_2} == {"Table 2"}


def test_a_mean_of_trials_is_attainable_where_the_claim_says_so():
    for row in TABLE_2:
        for task, score in row.scores.items():
            nearest = nearest_count(score.mean, TESTS[task])
            assert nearest * TESTS[task] * 3 / 100 == round(nearest * TESTS[task] * 3 / 100)
            assert attainable(score.mean, 3, TESTS[task])
            assert abs(float(nearest) - float(score.mean)) <= ROUNDING


def test_mmlu_is_the_mean_by_questions():
    counts = MMLU["anatomy in stem"]
    for method in ("LoRA", "FFA-LoRA", "RoLoRA"):
        whole = sum(float(TABLE_12[group][method].mean) * count for group, count in counts.items())
        assert float(mmlu(method)) == pytest.approx(whole / 14_042)
        assert Rounded.printed(TABLE_12["MMLU"][method].mean).low <= mmlu(method) + ROUNDING


def test_table_6_names_the_deviation_that_differs():
    found = TABLES[2].found(TABLES[2].data(SETTINGS))
    assert re.search(r"LoRA, QNLI: 2\.02 in Table 1, 0\.20 here", found)
