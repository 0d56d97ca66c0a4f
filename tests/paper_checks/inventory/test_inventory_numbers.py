"""Numbers with separators, units, powers and percentages of something else: found if wrong, and passed over if not."""

import pytest

from paper_checks.inventory.candidates import find_candidates
from paper_checks.inventory.reading import read_document

HEAD = "Method & A & B & C & D"
TABLE = r"""In Table~\ref{t}, all is shown: @
\begin{table}\caption{%s}\label{t}\begin{tabular}{lrrrr} %s \end{tabular}\end{table}"""


def table(*rows, caption="Sizes."):
    return TABLE.replace(": @", ".") % (caption, r" \\ ".join(rows))


QUOTED = TABLE.replace(": @", ", as method one reaches @.") % (
    "Accuracies.",
    r"Method & A & B \\ one & 91.2 & 80.4 \\ two & 93.1 & 79.9",
)
RATERS, PEOPLE = "The $n = 20@$ raters gave a mean of 3.47.", "The @ participants gave a mean of 3.47."
QUESTIONS, MEANS = r"On @ questions the accuracy was 71.3\%.", "The $n = 20$ raters gave a mean of @."
PARENTHESES, COUNT, SHARE = "All raters (n = @) gave a mean of 3.47.", "In 45 of 60 @.", "Of all, @ are right."
SIZE = "A message has @ (1.5 GB)."
WORDED = "A message has 1500 MB (@)."
TIMES = table("Method & A & B & Total", "one & 1.0 ms & 2.0 ms & 3.0", "two & 2.0 ms & 2.0 ms & 4.0", "three & @")
SUM = table("Method & A & B & Total", "one & 1K & 2K & 3K", "two & 500 & 2K & 2.5K", "three & 1.5M & 500K & @")
HEADINGS = table(
    "Method & A (K) & B (K) & Total (M)", "one & 500 & 500 & 1.00", "two & 250 & 500 & 0.75", "three & 500 & 1500 & @"
)
BOLD = table(
    HEAD,
    r"one & \textbf{1.2M} & \textbf{900} & \textbf{70.0} & \textbf{@}",
    "two & 900K & 0.8K & 50.0 & 2.1K",
    caption=r"Sizes, $\uparrow$.",
)
TWINS = (
    table(HEAD, "one & 1500 & 900 & 70.0 & 61.5", "two & 2.5K & 79.9 & 75.2 & 58.8")
    + table(HEAD, "one & 1.5K & 900 & 70.0 & 61.5", "two & @ & 79.9 & 75.2 & 58.8", caption="Again.")
).replace(r"\label{t}", "", 1)
GAINS = table(
    "Method & base & ours & gain",
    "a & 1.00M & 900K & 0.10M",
    "b & 2.00M & 900K & 1.10M",
    "c & 900K & 0.20M & @",
    "d & 5.00M & 1.00M & 4.00M",
)
POOLED = table(
    "Group & n & yes & no & @", "first & 18 & 7 & 11 & 39", "second & 22 & 8 & 14 & 36", "Total & 40 & 15 & 25 & 38"
)
COUNTED = POOLED.replace("@", r"yes (\%)").replace("& 25 &", "& @ &")
SHARES = table("Part & share of A", r"one & 30\%", r"two & 40\%", r"three & 25\%", r"Total & @")

WRONG = [
    (PARENTHESES, "20 | 20, all adults"),
    (PEOPLE, "12 | 28"),
    (QUESTIONS, "40 | the 40"),
    (MEANS, "3.47 | $3.47$"),
    (RATERS, ""),
    (COUNT, r"(85\%) | (\,$85\%$) | trials (85\%) | (i.e., 85\%) | (about 65\%) | trials, or 85\%,"),
    (SHARE, r"1,700 of 2\,800 (67.0\%) | 2\,800 of 1\,700 | 12{,}000 of 9{,}000"),
    (SIZE, r"150 MB | 15\,000 MB"),
    (QUOTED, "91.8"),
    (WORDED, "1.55 gigabytes | 1500 kilobytes"),
    (TIMES, "1.0 ms & 4.0 ms & 6.0"),
    (SUM, "2.3M | 2300K"),
    (HEADINGS, "2.20"),
    (BOLD, "1999 | 1.9K"),
    (TWINS, "2600 | 2.6K"),
    (GAINS, "0.9M | 900K"),
    (COUNTED, "26"),
    (SHARES, r"100\%"),
]
FINE = [
    (PARENTHESES, r"12,000 | 12\,000 | 12{,}000 | 12 000 | 12K | 12 thousand | 1.2 | 12--20 | 12\%"),
    (PEOPLE, r"12,500 | 12\,500 | 12~500 | 12 500 | 12'500 | 12{,}500 | 12K | about 12 | 10--12 | 10 to 12 | over 12"),
    (PEOPLE, "12\u202f500 | 12\u2009500"),
    (QUESTIONS, r"1,050 | 1\,050 | 1~050 | over 40 | 1.40"),
    (MEANS, r"3.47K | 3.47M | 3.47 million | $3.47\times 10^3$ | 3.47e3 | 3.47\% | 12,003.47"),
    (RATERS, r"^2 | \times 3 | {,}000 | \,000 | k | K | /3 | +4 | -40 | \%"),
    (
        COUNT,
        r"(95\% CI 62 to 85) | layers (about 90\% of the parameters) | (75\%; 95\% CI 62 to 85) | (p = 0.03, 90\%)",
    ),
    (COUNT, r"layers, or 90\% of the weights | (90\% power) | thousand (85\%) | (CI: 90\%) | K (85\%)"),
    (COUNT, r"(75\%) | (about 77\%)"),
    (
        SHARE,
        r"1,700 of 2\,800 (60.7\%) | 1\,700 of 2,000 | 3 of 2K | 3 of 2 thousand | 30 of 20~000 | 3~000 of 4~000 (7\%)",
    ),
    (SIZE, r"12000 MBit | 12 Gbit | 12 gigabits | 1.5 gigabyte | 12,000 megabits | 12,000,000 kilobits"),
    (SIZE, r"1{,}500 MB | 1\,500 MB | 1~500 MB | 1,5 GB | 1500 MB"),
    (WORDED, "1.50 gigabytes | 1.50 GB | 1430.5 MiB"),
    (TIMES, "1.0 ms & 4.0 ms & 5.0"),
    (QUOTED, "12,991.8 | 9{,}391.8 | 91.2"),
    (SUM, "2.0M | 2M | 2000K | 3 MB | 2.0B"),
    (HEADINGS, "2.00"),
    (BOLD, "2.2K | 2.1K | 2101 | 3 MB | 1m | 1b | 1B"),
    (TWINS, "2500 | 2.5K | 0.0025M | 2512 | 2.5 MB"),
    (GAINS, "0.7M | 700K | 2 MB"),
    (POOLED.replace("& 36", "& 0"), r"yes (\%) | share | $x$ | accuracy"),
    (COUNTED, "25"),
    (SHARES, r"95\% | 33\%"),
]


def each(rows):
    """Return every text with every number that it may have."""
    return [(text, one) for text, numbers in rows for one in numbers.split(" | ")]


def checks(tmp_path, text):
    text = rf"\documentclass{{article}}\begin{{document}} Words. {text} More words, see Table~1. \end{{document}}"
    (tmp_path / "a.tex").write_text(text, encoding="utf-8")
    return [one.check for one in find_candidates(read_document(str(tmp_path / "a.tex"))) if one.check != "unused"]


@pytest.mark.parametrize(("text", "printed"), each(WRONG))
def test_a_wrong_number_is_found(tmp_path, text, printed):
    assert len(checks(tmp_path, text.replace("@", printed))) == 1


@pytest.mark.parametrize(("text", "printed"), each(FINE))
def test_a_right_number_or_one_of_another_kind_is_not_accused(tmp_path, text, printed):
    assert checks(tmp_path, text.replace("@", printed)) == []


@pytest.mark.parametrize(
    "number", ["9e400", "9e99999999", "1e-99999999", "9" * 5000, "9E400", r"$9\times 10^{99999999}$"]
)
def test_enormous_numbers_are_passed_over(tmp_path, number):
    for row in ("one & @ & 3 & 8", "one & 5 & 3 & @"):
        rows = table("Site & A & B & Total", row, "two & 1 & 2 & 3", "three & 3 & 4 & 7").replace("@", number)
        assert checks(tmp_path, rows) == []
    text = (
        f"{number} participants, {number} of {number} ({number}\\%), {number} MB ({number} GB), a mean of {number}.1."
    )
    text += rf"\setcounter{{equation}}{{{number}}}\addtocounter{{section}}{{{number}}}\section{{A}}"
    text += rf"\begin{{equation}} x \tag{{{number}}} \end{{equation}}\newcommand{{\many}}[{number}²]{{x}} \many"
    text += table(
        rf"\multicolumn{{{number}}}{{c}}{{1}} & 2",
        rf"\multirow{{{number}}}{{*}}{{1}} & 2",
        rf"\multirow{{-{number}}}{{*}}{{1}} & 2",
    )
    assert checks(tmp_path, text) == []
