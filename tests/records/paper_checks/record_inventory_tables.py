"""Records of mechanical checks of tables: averages, sums, differences, gains, repeats and marks, right and wrong."""

from fractions import Fraction

from invented_texts import changed, document, said, table

from paper_checks.inventory.checks.averages import averages, sums
from paper_checks.inventory.checks.differences import differences
from paper_checks.inventory.checks.gains import gains
from paper_checks.inventory.checks.grid import distance, segments, shown, without_unit
from paper_checks.inventory.checks.marks import marks
from paper_checks.inventory.checks.numbers import Number, read_number
from paper_checks.inventory.checks.repeats import repeats
from paper_checks.methods.rounded import Rounded

MEANS = """
Method | A | B | C | Avg.
one | 91.2 | 80.4 | 70.0 | 80.5
two | 90.0 | 82.5 | 71.4 | 81.3
three | 93.1 | 79.9 | 75.2 | 82.7
"""
TOTALS = """
Site | women | men | others | Total
north | 12 | 15 | 1 | 28
south | 20 | 11 | 0 | 31
west | 9 | 14 | 2 | 25
"""
LEADS = """
Clients | base | ours | gain
20 | 69.97 | 72.81 | 2.84
50 | 64.68 | 66.45 | 1.77
100 | 55.14 | 57.96 | 2.82
200 | 38.85 | 44.85 | 6.00
"""
OVER = """
Method | A | B | C
base | 26.19 | 42.78 | 51.51
one | 27.15 (+0.96) | 43.51 (+0.73) | 55.19 (+3.68)
two | 29.03 (+2.84) | 46.99 (+4.21) | 53.42 (+1.91)
"""
BEST = """
Method | A | B | C | D
one | 91.2 | *80.4 | 70.0 | *61.5
two | *93.1 | 79.9 | *75.2 | 58.8
three | 90.0 | 79.0 | 71.4 | 60.0
"""
TWICE = """
Method | A | B | C | D
one | 91.2 ± 0.1 | 80.4 ± 0.3 | 70.0 | 61.5
two | 93.1 ± 0.1 | 79.9 ± 0.2 | 75.2 | 58.8
"""


def _sweep(check, text, old, *news, caption=""):
    for new, one in zip(news, changed(text, old, *news), strict=True):
        yield new, said(check, document(table(one, caption=caption)))


def averages_at_and_beyond_their_rounding():
    yield from _sweep(averages, MEANS, "82.7", "82.6", "82.65", "82.7", "82.73", "82.8", "82.9", "83.4", "-82.7", "x")
    wrong = MEANS.replace("82.7", "84.0")
    yield from _sweep(
        averages, wrong, "Avg.", "Average", "mean (%)", "Avg", "average acc", "Overall", "macro avg ↑", "AVG. Score"
    )
    yield from _sweep(averages, wrong, "| C |", "| # C |", "| seeds |", "| C % |", "| std |", "| params |")


def averages_of_columns_and_of_some_columns():
    turned = (
        "Task | one | two | three\nA | 91.2 | 80.4 | 70.0\nB | 90.0 | 82.5 | 71.4\n"
        "C | 93.1 | 79.9 | 75.2\n---\nAverage | 91.4 | 80.9 | 72.2"
    )
    yield from _sweep(averages, turned, "80.9", "80.9", "81.9", "90.9")
    lone = "Method | A | B | C | Avg.\none | 91.2 | 80.4 | 70.0 | 81.5\nx | - | - | - | -"
    yield from _sweep(averages, lone, "81.5", "80.5", "81.5", "88.0", "89.5", "72.5", "73.3")
    left = (
        "Method | Avg. | A | B | C\none | 80.5 | 91.2 | 80.4 | 70.0\n"
        "two | 81.3 | 90.0 | 82.5 | 71.4\nthree | 82.0 | 93.1 | 79.9 | 75.2"
    )
    yield said(averages, document(table(left)))
    some = (
        "M | N | A | B | Avg.\none | 9 | 91.2 | 80.4 | 85.8\ntwo | 8 | 90.0 | 82.5 | 86.25\n"
        "three | 7 | 93.1 | 79.9 | 86.0"
    )
    yield said(averages, document(table(some)))
    mixed = (
        "Method | A | B | C | Avg.\none | 91.2 | 80.4 | 70.0 | 80.5\n"
        "two | 90.0 | 82.5 | 71.4 | 84.0\nthree | 93.1 | 79.9 | 75.2 | 86.0"
    )
    yield said(averages, document(table(mixed))), said(averages, document(table("a | b | mean\n1 | 2 | 3")))


def totals_of_counts_and_of_percentages():
    yield from _sweep(sums, TOTALS, "| 25", "| 24", "| 25", "| 26", "| 30", "| 25.0", "| 13", "| 14")
    shares = (
        "Site | a | b | c | Total\nnorth | 33.3 | 33.3 | 33.3 | 100\n"
        "south | 50.2 | 20.1 | 29.7 | 100\nwest | 40.4 | 40.4 | 18.1 | 100"
    )
    yield from _sweep(sums, shares, "18.1", "18.1", "19.1", "19.2", "19.3", "9.1", "9.3")
    whole = "Site | a | b | c | Sum\nnorth | 33 | 33 | 33 | 100\nsouth | 50 | 20 | 30 | 100\nwest | 40 | 40 | 17 | 100"
    yield from _sweep(sums, whole, "17", "17", "18", "16", "15")
    for name in ("Total", "sum", "Σ", "grand total", "Total acc", "Total %", "total rate"):
        yield said(sums, document(table(TOTALS.replace("Total", name).replace("| 25", "| 26"))))
    units = "Layer | a | b | Total\none | 1.5M | 200K | 1.7M\ntwo | 2.0M | 300K | 2.3M\nthree | 1.0M | 400K | 1.9M"
    yield said(sums, document(table(units)))


def differences_ratios_and_percentages():
    yield from _sweep(differences, LEADS, "2.82", "2.80", "2.81", "2.92", "-2.82")
    yield from _sweep(differences, LEADS.replace("2.82", "2.99"), "gain", "Sharpe")


def ratios_and_relative_differences():
    ratios = (
        "Clients | base | ours | ratio\n20 | 70.0 | 35.0 | 2.00\n50 | 66.0 | 22.0 | 3.00\n"
        "100 | 60.0 | 15.0 | 4.00\n200 | 50.0 | 10.0 | 5.00"
    )
    yield from _sweep(differences, ratios, "4.00", "4.10")
    for column in (
        "0.50 | 0.67 | 0.75 | 0.85",
        "50 | 66.7 | 75 | 84.1",
        "1.00 | 2.00 | 3.00 | 4.10",
        "100 | 200 | 300 | 441",
        "200 | 300 | 400 | 541",
    ):
        parts = column.split(" | ")
        text = ratios.replace("ratio", "relative")
        for old, new in zip(("2.00", "3.00", "4.00", "5.00"), parts, strict=True):
            text = text.replace(f"| {old}", f"| {new}")
        yield column, said(differences, document(table(text)))


def differences_of_few_rows_and_of_rows():
    three = (
        "Clients | base | ours | gain\n20 | 69.97 | 72.81 | 2.84\n50 | 64.68 | 66.45 | 1.77\n100 | 55.14 | 57.96 | 9.82"
    )
    yield said(differences, document(table(three))), said(differences, document(table(three.replace("9.82", "2.9"))))
    rows = (
        "M | a | b | c | d\nbase | 69.97 | 64.68 | 55.14 | 38.85\n"
        "ours | 72.81 | 66.45 | 57.96 | 44.85\ngain | 2.84 | 1.77 | 2.99 | 6.00"
    )
    yield said(differences, document(table(rows)))
    blunt = "n | base | ours | gain\n1 | 70 | 71 | 1\n2 | 64 | 66 | 2\n3 | 55 | 58 | 3\n4 | 38 | 43 | 4"
    yield said(differences, document(table(blunt)))
    yield said(differences, document(table("n | a | b | gain\n1 | 0 | 1 | 2")))


def definitions_of_relative_differences():
    words = r"The share is $\frac{\text{ours} - \text{base}}{\text{ours}}$ throughout."
    columns = (
        "n | base | ours | relative gain\n1 | 100.0 | 150.0 | 50.0\n2 | 100.0 | 180.0 | 80.0\n"
        "3 | 200.0 | 220.0 | 10.0\n4 | 400.0 | 500.0 | 25.0"
    )
    yield said(differences, document(table(columns), text=[words]))
    yield said(differences, document(table(columns), text=[words.replace("{ours}}$", "{base}}$")]))


def gains_over_a_baseline():
    yield from _sweep(gains, OVER, "+4.21", "+4.22", "+3.48", "-4.21")
    percent = (
        "Method | A | B | C\nbase | 26.19 | 42.78 | 51.51\n"
        "one | 27.15 (+3.67%) | 43.51 (+1.71%) | 55.19 (+7.14%)\n"
        "two | 29.03 (+10.84%) | 46.99 (+9.84%) | 53.42 (+3.71%)"
    )
    yield from _sweep(gains, percent, "+9.84%", "+8.96%", "+9.9%")
    turned = (
        "Task | base | one | two\nA | 26.19 | 27.15 (+0.96) | 29.03 (+2.84)\n"
        "B | 42.78 | 43.51 (+0.73) | 46.99 (+4.31)\nC | 51.51 | 55.19 (+3.68) | 53.42 (+1.91)"
    )
    yield said(gains, document(table(turned)))


def gains_that_fall_in_a_column_and_over_other_entries():
    falls = (
        "Method | acc | err | x\nbase | 80.0 | 9.0 | 1.0\n"
        "one | 82.0 (+2.0) | 8.0 (+1.0) | 1.5 (+0.5)\ntwo | 83.0 (+3.0) | 7.0 (+2.5) | 1.9 (+0.9)"
    )
    yield said(gains, document(table(falls))), said(gains, document(table(falls.replace("+2.5", "+2.0"))))
    before = (
        "Method | A | B\nDPO | 50.0 | 60.0\nDPO + x | 52.0 (+2.0) | 63.0 (+3.0)\n"
        "IPO | 55.0 | 70.0\nIPO + x | 56.5 (+1.5) | 74.0 (+4.5)"
    )
    yield said(gains, document(table(before)))
    yield said(gains, document(table(before.replace("DPO + x", "t-DPO").replace("IPO + x", "y"))))
    blocks = (
        "M | A | B\na | 50.0 | 60.0\nb | 52.0 (+2.0) | 63.0 (+3.0)\n---\nc | 10.0 | 20.0\n"
        "d | 11.5 (+1.5) | 24.1 (+4.6)\ne | 9.0 (-1.0) | 30.0 (+10.0)"
    )
    yield said(gains, document(table(blocks)))
    yield said(gains, document(table("M | A\na | 5.0\nb | 6.0 (+1.0)\nc | 7.0 (+1.0)")))


def entries_that_two_tables_print():
    first = document(table(TWICE, "1"))
    for old, new in (
        ("79.9 ± 0.2", "79.9 ± 0.3"),
        ("79.9 ± 0.2", "78.9 ± 0.2"),
        ("75.2", "75"),
        ("75.2", "75.3"),
        ("75.2", "75.24"),
        ("75.2", "75.2%"),
    ):
        other = table(TWICE.replace(old, new).replace("one", "One"), "2", first=20)
        yield new, said(repeats, document(*first.tables, other)), said(repeats, document(other, *first.tables))
    yield said(
        repeats,
        document(*first.tables, table(TWICE.replace("75.2", "9").replace("70.0", "8").replace("61.5", "7"), "2")),
    )
    yield said(repeats, document(*first.tables, table(TWICE.replace("two", "six").replace("75.2", "9"), "2")))
    double = TWICE + "two | 93.1 | 79.9 | 75.9 | 58.8"
    yield said(repeats, document(*first.tables, table(double, "2")))
    yield said(repeats, document(table(TWICE), table("a | b", "2")))


def best_marks_in_each_direction():
    yield from _sweep(marks, BEST, "*80.4", "*80.4", "80.4", "*79.9", "*79.95", "*78.0", "*79")
    wrong = BEST.replace("*80.4", "80.4").replace("79.9", "*79.9")
    for caption in ("", "Accuracy ↑", "Errors ↓", "Both ↑ and ↓"):
        yield said(marks, document(table(wrong, caption=caption)))
    low = (
        "M | A ↓ | B ↓ | C ↓ | D ↑\none | *1.2 | *2.0 | 3.0 | *9.0\ntwo | 1.5 | 2.5 | *2.9 | 8.0\n"
        "three | 1.9 | 1.9 | 3.3 | 7.5"
    )
    yield said(marks, document(table(low))), said(marks, document(table(low.replace("↓", "").replace("↑", ""))))
    few = "M | A | B\none | *1.0 | 2.0\ntwo | 3.0 | *4.0"
    yield said(marks, document(table(few))), said(marks, document(table(BEST.replace("*", ""))))


def best_marks_in_blocks_and_rows():
    blocks = (
        "M | A | B | C | D\na | *9.0 | *8.0 | 7.0 | 6.0\nb | 5.0 | 4.0 | *7.5 | *6.5\n---\n"
        "c | *3.0 | 2.0 | *2.5 | *1.5\nd | 2.0 | *1.0 | 2.0 | 1.0"
    )
    yield said(marks, document(table(blocks))), said(marks, document(table(blocks.replace("---\n", ""))))
    rows = (
        "Task | a | b | c\nt1 | *9.0 | 8.0 | 7.0\nt2 | 5.0 | *6.0 | 4.0\nt3 | 1.0 | 2.0 | *3.0\nt4 | *8.0 | 9.0 | 7.0"
    )
    yield said(marks, document(table(rows))), said(marks, document(table(rows.replace("*8.0 | 9.0", "8.0 | *9.0"))))
    equal = (
        "M | A | B | C | D\none | *9.0 | *8.0 | *7.0 | *6.0\ntwo | *9.0 | 7.0 | 6.5 | 5.0\n"
        "three | 1.0 | 2.0 | 7.1 | *6.01"
    )
    yield said(marks, document(table(equal)))


def parts_of_a_table_under_their_headings():
    text = (
        "Method | Acc | Acc | Size [MB]\n| A | B |\none | 1.5 | 2K | 3\ntwo | 2.5 | - | 4\n"
        "Block two | Block two | Block two | Block two\nthree | 3.5 | 4.5 | 5\n"
        "Method | X | Y | Z\nfour | 1 | 2 | 3"
    )
    for one in (
        table(text),
        table(text, caption="Entries in thousands"),
        table("1 | 2\n3 | 4"),
        table("a | b"),
        table("Rank | 4 | 8 | 16\none | 1.5 | 2.5 | 3.5\ntwo | 2.5 | 3.5 | 4.5"),
    ):
        for part in segments(one):
            turned = part.turn()
            yield part.names, part.rows, part.labels, part.width
            yield [[number and number.printed for number in row] for row in part.numbers]
            yield [part.row_name(row) for row in range(len(part.rows))], [part.name(at) for at in range(part.width)]
            yield [part.column_is_numeric(at) for at in range(part.width)]
            yield [str(part.place(row)) for row in range(len(part.rows))]
            yield turned.names, turned.rows, turned.labels, [turned.row_name(row) for row in range(len(turned.rows))]
            yield str(turned.place(1 if len(turned.rows) > 1 else 0))


def headings_and_units():
    for name in (
        "Size (MB)",
        "Params [M]",
        "Time in (ms)",
        "Cost (thousands)",
        "Mean *",
        "Total: ",
        "Rank (r)",
        "in (GiB)",
    ):
        yield name, without_unit(name)
    sized = table("Method | Params (M) | Score\none | 1.5 | 3\ntwo | 2.5K | 4\nthree (K) | 7 | 5")
    yield [
        [number and (number.text, number.unit) for number in row] for part in segments(sized) for row in part.numbers
    ]
    yield [
        [number and number.text for number in row]
        for part in segments(table("a | b\nx | 1.5K\ny | 2", caption="in thousands"))
        for row in part.numbers
    ]
    one, other = Rounded.printed("1.0"), Rounded.printed("1.2")
    yield str(distance(one, other)), str(distance(other, one)), str(distance(one, one))
    yield str(distance(one, Rounded.printed("1.1")))
    third = Rounded.exact(Fraction(1000, 3))
    yield [shown(third, Number(*text)) for text in (("0.33", "K"), ("333",), ("333.3",), ("3e2",), ("5", "%"))]


def tables_that_are_too_long_or_empty():
    rows = "M | A | B | C | Avg.\n" + "\n".join(
        f"r{k} | 1.0 | 2.0 | 3.0 | {'2.0' if k else '9.0'}" for k in range(1000)
    )
    yield len(segments(table(rows))), len(segments(table(rows.replace("r999 |", "r999 x |").rpartition("\n")[0])))
    yield read_number("") is None
    yield segments(document(table("a | b\nc | d")).tables[0])
