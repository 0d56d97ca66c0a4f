"""Gains inside of cells: every layout is read, the base is found, and a wrong gain is reported with the right one."""

import pytest

from paper_checks.inventory.candidates import CHECKS, find_candidates
from paper_checks.inventory.checks.numbers import Number, read_number
from paper_checks.inventory.reading import read_document

MACROS = r"""\newcommand{\up}[1]{\textcolor{green!60!black}{\scriptsize$\uparrow$#1}}
\newcommand{\gain}[2]{$#1_{\textcolor[rgb]{0,0.5,0}{\mathbf{#2}}}$}"""


def written(tmp_path, rows, columns="lcccc"):
    (tmp_path / "a.tex").write_text(
        rf"\documentclass{{article}}{MACROS}\begin{{document}}See \ref{{t}}."
        rf"\begin{{table}}\caption{{Results.}}\label{{t}}"
        rf"\begin{{tabular}}{{{columns}}} {rows} \end{{tabular}}\end{{table}}\end{{document}}"
    )
    return read_document(str(tmp_path / "a.tex"))


def found(tmp_path, rows, columns="lcccc"):
    return [one for one in find_candidates(written(tmp_path, rows, columns)) if one.check == "gain"]


@pytest.mark.parametrize(
    ("cell", "gain"),
    [
        (r"$46.99^{\color{+}+ 8.94\%}$", "+8.94%"),
        (r"$46.99$ (+8.94\%)", "+8.94%"),
        (r"46.99 (+4.21)", "+4.21"),
        (r"46.99 ($-$4.21)", "-4.21"),
        (r"46.99 [+4.21]", "+4.21"),
        (r"46.99 (8.94\% $\uparrow$)", "+8.94%"),
        (r"$46.99_{\downarrow 3.1}$", "-3.1"),
        (r"46.99 $\uparrow$ 3.1", "+3.1"),
        (r"46.99\up{3.1}", "+3.1"),
        (r"\gain{46.99}{-3.1}", "-3.1"),
        (r"\textbf{46.99}\textsuperscript{+3.1}", "+3.1"),
        (r"46.99\textsubscript{\textcolor{red}{-3.1}}", "-3.1"),
        (r"46.99{\color{red}\footnotesize (-3.1)}", "-3.1"),
        (r"46.99 {\tiny\textcolor[HTML]{00FF00}{\textbf{+3.1}}}", "+3.1"),
        (r"\cellcolor{gray!20}\makecell{46.99\\(+3.1)}", "+3.1"),
        (r"\cellcolor{gray!20} 46.99 $\pm$ 0.2 (+3.1)", "+3.1"),
        (r"46.99\% (+3.1 pp)", "+3.1"),
        (r"$\mathbf{46.99}\ (\uparrow\! 3.1)$", "+3.1"),
        (r"46.99 (\textcolor{blue}{$\blacktriangle$3.1})", "+3.1"),
    ],
)
def test_every_layout_of_a_gain_is_read(tmp_path, cell, gain):
    (table,) = written(tmp_path, rf"a & {cell} \\ b & 2.00 \\", "lc").tables
    number = read_number(table.rows[0][1].text)
    assert number is not None
    assert (number.text, number.gain) == ("46.99", gain)


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (r"46.99 $\pm$ 0.21", Number("46.99", "", "0.21")),
        ("46.99 (0.21)", Number("46.99", "", "0.21")),
        ("46.99 ↑", Number("46.99")),
        ("0.5-0.9", None),
        ("0.5 -- 0.9", None),
        ("0.5 - 0.9", None),
        ("$46.99^{+0.3}_{-0.2}$", None),
        ("8+2", None),
        ("LoRA +3.1", None),
    ],
)
def test_deviations_ranges_and_sums_are_no_gains(tmp_path, cell, number):
    (table,) = written(tmp_path, rf"a & {cell} \\ b & 2.00 \\", "lc").tables
    assert read_number(table.rows[0][1].text) == number


def percent(value, base, gain=None):
    return rf"${value}^{{\color{{+}}{100 * (value - base) / base if gain is None else gain:+.2f}\%}}$"


def points(value, base, gain=None):
    return f"{value:.2f} ({value - base if gain is None else gain:+.2f})"


def cells(rows, layout, wrong=None):
    """Return a table of rows with a name and pairs of value and base; of one entry the gain is wrong."""
    lines = []
    for at, (name, *pairs) in enumerate(rows):
        entries = [
            f"{pair:.2f}"
            if isinstance(pair, float)
            else layout(*pair, *([wrong[2]] if wrong and wrong[:2] == (at, k) else []))
            for k, pair in enumerate(pairs)
        ]
        lines.append(rf"{name} & {' & '.join(entries)} \\" if isinstance(name, str) else r"\midrule")
    return "\n".join([r"Method & A & B & C \\ \midrule", *lines])


A, B, C = 26.19, 42.78, 51.51
FIRST = [
    ("DPO", A, B, C),
    ("+ data", (27.15, A), (43.51, B), (55.19, C)),
    ("+ both", (29.03, A), (46.99, B), (53.42, C)),
]
ABOVE = [
    ("DPO", A, B, C),
    ("+ data", (27.15, A), (43.51, B), (55.19, C)),
    ("+ both", (29.03, 27.15), (46.99, 43.51), (53.42, 55.19)),
]
NAMED = [
    ("FedAvg", 22.01, 40.02, 50.33),
    ("Baseline", A, B, C),
    ("ours", (27.15, A), (43.51, B), (55.19, C)),
    ("ours, large", (29.03, A), (46.99, B), (53.42, C)),
]
SUFFIX = [
    ("DPO", A, B, C),
    ("IPO", 22.01, 40.02, 50.33),
    ("DPO + ours", (27.15, A), (43.51, B), (55.19, C)),
    (r"$\beta$-IPO", (29.03, 22.01), (46.99, 40.02), (53.42, 50.33)),
]
BLOCKS = [
    ("one", A, B, C),
    ("two", (27.15, A), (43.51, B), (55.19, C)),
    (None,),
    ("three", 22.01, 40.02, 50.33),
    ("four", (29.03, 22.01), (46.99, 40.02), (53.42, 50.33)),
]
BEST = [
    ("one", A, 40.02, C),
    ("two", 22.01, B, 50.33),
    ("ours", (27.15, A), (43.51, B), (55.19, C)),
    ("ours, large", (29.03, A), (46.99, B), (53.42, C)),
]
WORST = [
    ("one", A, 47.02, 58.33),
    ("two", 31.01, B, C),
    ("ours", (27.15, A), (43.51, B), (55.19, C)),
    ("ours, large", (29.03, A), (46.99, B), (53.42, C)),
]
NEXT = [
    ("a", (27.15, A), (43.51, B), (55.19, C)),
    ("one", A, B, C),
    ("b", (29.03, 22.01), (46.99, 40.02), (53.42, 50.33)),
    ("two", 22.01, 40.02, 50.33),
]
LAST = [("a", (27.15, A), (43.51, B), (55.19, C)), ("b", (29.03, A), (46.99, B), (53.42, C)), ("full", A, B, C)]
ERRORS = [
    ("DPO", A, B, C),
    ("+ data", (25.15, A, A - 25.15), (41.51, B, B - 41.51), (55.19, C, C - 55.19)),
    ("+ both", (19.03, A, A - 19.03), (36.99, B, B - 36.99), (43.42, C, C - 43.42)),
]
COLUMNS = [("A", A, (27.15, A), (29.03, A)), ("B", B, (43.51, B), (46.99, B)), ("C", C, (55.19, C), (53.42, C))]
TABLES = {
    "first": FIRST,
    "above": ABOVE,
    "named": NAMED,
    "suffix": SUFFIX,
    "blocks": BLOCKS,
    "best": BEST,
    "worst": WORST,
    "next": NEXT,
    "last": LAST,
    "columns": COLUMNS,
}


@pytest.mark.parametrize("layout", [percent, points])
@pytest.mark.parametrize("name", TABLES)
def test_the_base_of_a_table_is_found_and_one_wrong_gain_reported(tmp_path, name, layout):
    rows = TABLES[name]
    at, k = next(
        (at, k)
        for at, (_, *pairs) in reversed([*enumerate(rows)])
        for k, one in enumerate(pairs)
        if isinstance(one, tuple)
    )
    value, base = rows[at][1 + k]
    right = 100 * (value - base) / base if layout is percent else value - base
    assert found(tmp_path, cells(rows, layout)) == []
    (one,) = found(tmp_path, cells(rows, layout, (at, k, right + 1.1)))
    sign = "%" if layout is percent else ""
    assert one.values == (f"{right + 1.1:+.2f}{sign}", f"{right:+.2f}{sign}")
    assert (one.about, one.place.file) == ("Table 1", "a.tex")
    assert f"over {base:.2f}" in one.says
    assert "between" in one.says


def test_a_gain_that_falls_is_a_gain_of_errors_but_a_single_sign_is_not(tmp_path):
    assert found(tmp_path, cells(ERRORS, points)) == []
    (one,) = found(tmp_path, cells(FIRST, points, (2, 2, -(53.42 - C))))
    assert one.values == ("-1.91", "+1.91")


def test_the_last_digits_leave_an_interval(tmp_path):
    # 29.03 / 26.19 is between 29.025 / 26.195 and 29.035 / 26.185: gains of 10.80 to 10.88 percent are right.
    for gain, wrong in ((10.80, False), (10.88, False), (10.79, True), (10.89, True)):
        assert bool(found(tmp_path, cells(FIRST, percent, (2, 0, gain)))) is wrong


def test_several_gains_over_another_base_are_not_reported(tmp_path):
    """A single one is; the row before the last one keeps one rule from explaining all gains."""
    last = (30.04, 22.01), (48.88, 40.02), (59.01, 50.33)
    for number in (3, 2, 1):
        pairs = [pair if at < number else pair[0] for at, pair in enumerate(last)]
        rows = [*FIRST, ("other", 22.01, 40.02, 50.33), ("third", 23.45, 41.11, 50.99), ("last", *pairs)]
        several = found(tmp_path, cells(rows, percent))
        assert len(several) == (number == 1)
    assert "(6 of 7 gains agree); +36.48% would be over the " in several[0].says


@pytest.mark.parametrize("gain", ["+1.00", "+2.00", "+3.00"])
def test_gains_that_no_base_explains_are_not_reported(tmp_path, gain):
    rows = r"Method & A & B \\ \midrule a & 26.19 & 42.78 \\ b & 27.15 (+7.11) & 43.51 (-3.27) \\"
    rows += rf" c & 29.03 ({gain}) & 46.99 (+2.22) \\"
    assert found(tmp_path, rows) == []


@pytest.mark.parametrize(("right", "of", "reported"), [(3, 6, 0), (4, 6, 2), (3, 5, 2), (2, 3, 0)])
def test_a_base_explains_three_gains_and_more_than_half(tmp_path, right, of, reported):
    """The other gains have no base in common."""
    values, bases, wrong = (
        (52.1, 63.2, 74.3, 51.7, 62.9, 73.8),
        2 * (50.0, 60.0, 70.0),
        (None, 9.4, 5.7, 1.13, 5.29, 7.71),
    )
    entries = [
        f"{value:.2f}" if at >= of else points(value, base, None if at < right else wrong[at])
        for at, (value, base) in enumerate(zip(values, bases, strict=True))
    ]
    lines = [["base", "50.00", "60.00", "70.00"], ["one", *entries[:3]], ["two", *entries[3:]]]
    several = found(tmp_path, "".join(rf"{' & '.join(line)} \\ " for line in (["Method", *"ABC"], *lines)))
    assert [one.values[0] for one in several] == [f"{gain:+.2f}" for gain in wrong[right:of] if reported]
    assert all(f"({right} of {of} gains agree)" in one.says for one in several)


@pytest.mark.parametrize(("largest", "reported"), [(5, 0), (6, 0), (7, 1)])
def test_gains_within_rounding_say_nothing(tmp_path, largest, reported):
    """Two whole numbers leave a difference open by 2, and its print by 1: together half of a gain of 6."""
    rows = rf"Method & A & B & C \\ base & 50 & 60 & 70 \\ one & 52 (+2) & 63 (+3) & {70 + largest} (+{largest}) \\"
    assert len(found(tmp_path, rows + r"two & 51 (+1) & 64 (+4) & 78 (+2) \\")) == reported


def test_the_check_is_one_of_the_mechanical_checks():
    assert "gains" in CHECKS
