"""Records of printed numbers in texts and cells: separators, units, counts, shares, means, sizes and quotes."""

from invented_texts import document, said, table
from recording import refused

from paper_checks.inventory.checks.counts import counts
from paper_checks.inventory.checks.grim import bites, grim, possible
from paper_checks.inventory.checks.numbers import (
    Number,
    clean,
    comparable,
    equal,
    is_readable,
    plain_digits,
    read_number,
    whole,
    with_commas,
)
from paper_checks.inventory.checks.quotes import _one_slip, quotes
from paper_checks.inventory.checks.sizes import read_size, sizes
from paper_checks.methods.rounded import Rounded


def _texts(check, *texts, tables=()):
    for text in texts:
        yield text, said(check, document(*tables, text=[text]))


def cells_as_numbers():
    for text in (
        *(
            "95.6 ± 0.2",
            "60,000",
            "LoRA 4",
            "",
            "-1.5",
            "−2",
            "+.5",
            "1e-3",
            "2.5 × 10^4",
            "1.5e400",
            "7%",
            "7 %",
            "3.2M",
            "12 KiB",
            "4 ms",
            "1.5 (0.2)",
        ),
        *(
            "1.5 (±0.2)",
            "1.5 [0.1]",
            "1.5 [x]",
            "~5",
            "≈ 5.0",
            "< 3",
            "12\\,500",
            "1 000",
            "3{,}000",
            "1,05",
            "$91.2_{\\pm 0.3}$",
            "\\textbf{91.2}",
            "91.2 \\pm 0.1 %",
        ),
        *(
            "5 ↑",
            "5 a",
            "5^b",
            "1/2",
            "3-5",
            "0.5-0.9",
            "1.2.3",
            "12x",
            "2.0×",
            "5 pts",
            "9 B",
            "1 h",
            "(5)",
            "5 (+1.0)",
            "5.0 +1.0",
            "5+1.0",
            "5 + 1",
            "5 (↓ 4.2)",
        ),
        *(
            "$46.99^{\\color{red}+ 8.94\\%}$",
            "46.99 (-4.21 pp)",
            "46.99 [+4]",
            "46.99 ± 0.1 (+4.2)",
            "46.99 ▲ 1.5",
            "46.99 \\downarrow 1.5",
            "46.99 (4.21)",
            "1" * 41,
            "1" * 40,
        ),
    ):
        found = read_number(text)
        yield text
        yield found and [
            found.text,
            found.unit,
            found.deviation,
            found.gain,
            found.size,
            str(found.value),
            str(found.width),
            found.decimals,
            found.printed,
        ]


def numbers_that_can_be_compared_or_equal():
    units = ("", "K", "M", "%", "B", "m", "MB", "ms", "x")
    yield [[comparable([Number("1", one), Number("2", other)]) for other in units] for one in units], comparable([])
    for one, other in (
        ("1.5", "1.5"),
        ("1.5", "1.50"),
        ("1.5", "1.54"),
        ("1.5", "1.55"),
        ("1.5", "1.56"),
        ("1.5", "1.45"),
        ("1.5", "1.44"),
        ("1.5", "1.6"),
        ("2", "1.5"),
        ("-1.5", "1.5"),
    ):
        yield equal(Number(one), Number(other)), equal(Number(other), Number(one))
    yield equal(Number("1.5", "K"), Number("1500")), equal(Number("1.5", "K"), Number("1549"))
    yield equal(Number("1.5", "K"), Number("1551"))


def separators_and_digits():
    for text in (
        "12\\,500 and 3{,}000, $1\\,050$",
        "1 000 000",
        "1’234’567",
        "12,34",
        "1,2345",
        "1234,567",
        "0.5,000",
        "1\\thinspace 000",
    ):
        yield with_commas(text)
    for text in ("1,000", "007", "12.5", "", "9" * 40, "9" * 41, "-5", "²"):
        yield whole(text)
    for text in (
        "\\textbf{9\\%} \\pm $x_{i}$",
        "a~b  c",
        "\\textcolor{red}{5}",
        "5\\textsuperscript{a}",
        "2 \\times 3",
        "†9‡",
    ):
        yield clean(text)
    for text in ("1e99", "1e100", "1e-99", "1e-100", "1.5", "x", "1e12345", "1" * 40, "1" * 41):
        yield is_readable(text)
    yield [plain_digits(text) for text in ("−1,000.5", "2 × 10^ 3", "1 E5", "– 3")]


def counts_and_their_shares():
    yield from _texts(
        counts,
        *(
            "We solve 12 of 20 (60%) tasks.",
            "We solve 12 of 20 tasks (61%).",
            "We solve 12 of the 20 (60.5%).",
            "We solve 12 of 20 (about 63%).",
            "We solve 12 of 20 (about 66%).",
        ),
        *(
            "We solve 25 of 20 tasks.",
            "We solve three of two tasks.",
            "We solve seven of five tasks.",
            "We solve 1 of 3 (33%).",
            "1 of 3 (33.3%), and 2 of 3 (66.6%).",
            "2 of 3 (66.7%).",
        ),
        *(
            "12/20 (50%).",
            "20/12 is a ratio.",
            "20/20 (100%).",
            "more than 12 of 20 (50%).",
            "12 out of 20, i.e., 50%.",
            "12 of 20, or roughly 58 percent.",
            "about 25 of 20 tasks.",
        ),
        *(
            "5 of 0 (3%).",
            "0 of 7 (0%).",
            "0 of 7 (1%).",
            "1,200 of 1,000 images.",
            "twelve of twenty (50%).",
            "12 of our 20 tasks (=55%).",
        ),
    )


def totals_that_captions_state():
    text = "Site | women | men | others\nnorth | 12 | 15 | 1\nsouth | 20 | 7 | 1\nwest | 9 | 14 | {}"
    for last in (5, 6, 4, 12, 13, "5.0", "x"):
        for caption in ("28 people in total.", "A total of 28 people.", "Totals: 28 people", "28 people."):
            yield last, caption, said(counts, document(table(text.format(last), caption=caption)))
    yield said(counts, document(table(text.format(9).replace("| 1\n", "| 3\n"), caption="28 people in total.")))


def digits_that_are_exchanged():
    for text in (
        "We use 12,345 images.",
        "We use 12345 images.",
        "All 12,354 images count.",
        "All 21,345 images.",
        "All 12,354 tokens.",
        "about 12,354 images",
        "All 12,453 images.",
        "All 14,325 images.",
    ):
        yield text, said(counts, document(text=["We use 12,345 images and more.", text]))


def means_and_shares_that_whole_numbers_give():
    for text, n, scale in (
        ("3.45", 20, 1),
        ("3.47", 20, 1),
        ("0.33", 3, 1),
        ("0.34", 3, 1),
        ("66.7", 3, 100),
        ("66.6", 3, 100),
        ("3.5", 20, 1),
        ("3.45", 100, 1),
        ("3.45", 99, 1),
        ("50", 1, 100),
        ("-1.5", 2, 1),
    ):
        yield possible(Rounded.printed(text), n, scale), bites(text, n, scale)
    yield from _texts(
        grim,
        *(
            "The mean rating was 3.47 (n = 20).",
            "The mean rating was 3.45 (n = 20).",
            "The mean age of 3.47 with $N=20$ is given.",
            "M = 3.47 for 20 participants.",
            "M = 3.5 for 20 participants.",
        ),
        *(
            "An accuracy of 61.3% on 20 questions.",
            "An accuracy of 65.0% on 20 questions.",
            "The pass rate was 61.30% on 150 problems.",
            "An accuracy of 61.3% on 20 questions over 3 seeds.",
        ),
        *(
            "The mean score was 3.47 (n = 20, n = 30).",
            "The mean score was 3.47 (n = 1).",
            "The mean time was 3.47 ms (n = 20).",
            "The mean was 3.47 for about 20 participants.",
            "The rate of 33.3 % on 3 problems.",
        ),
    )


def means_and_shares_of_tables():
    text = "Group | n | {}\nfirst | 20 | 3.45\nsecond | 25 | 3.48\nthird | 18 | {}\nfourth | 16 | 3.50"
    for name in ("mean", "M", "Accuracy", "rate", "score", "average rating", "% correct"):
        for value in ("3.44", "3.45", "3.45 (0.2)"):
            yield name, value, said(grim, document(table(text.format(name, value))))
    yield said(
        grim,
        document(table(text.format("mean", "3.45").replace("3.48", "3.49").replace("3.45\nsecond", "3.47\nsecond"))),
    )
    yield said(grim, document(table(text.format("accuracy", "0.45").replace("3.", "0."))))
    yield said(grim, document(table("Group | n | n | mean\na | 3 | 3 | 3.50")))
    yield said(
        grim,
        document(
            table(
                text.format("acc", "45.1%").replace("3.45", "45.0%").replace("3.48", "48.0%").replace("3.50", "50.0%")
            )
        ),
    )


def sizes_in_two_units():
    yield from _texts(
        sizes,
        *(
            "It takes 1.5 MB (1500 KB).",
            "It takes 1.5 MB (1536 KB).",
            "It takes 1.5 MB (1400 KB).",
            "It takes 1.5 MiB (1500 KB).",
            "It takes 1.5 MB (= 12 Mb).",
            "It takes 1.5 MB (150 KB).",
        ),
        *(
            "It takes 1.5 GB, i.e., 1500 KB.",
            "It takes 2 MB (3 MB).",
            "It takes 100 MB (7 KB).",
            "8 Mbit = 1 MB",
            "8 Mbit = 2 MB",
            "1 megabyte (1024 KB)",
            "1.5 MB (1500 KB per round)",
            "0 MB (0 KB)",
        ),
    )
    for unit in ("KB", "kb", "MiB", "Gbit", "bytes", "B", "b", "TB", "Mbytes", "PB", "kilobytes"):
        one = read_size("1,5", unit)
        yield unit, one.power, one.binary, one.bits, str(one), [str(one.bytes(base).low) for base in (1000, 1024)]


def sizes_in_columns():
    for cells in (
        ("187.5 KB", "250 KB"),
        ("187.5 KB", "375 KB", "93.75 KB"),
        ("187.5 KiB", "250 KiB"),
        ("192 KB", "256 KB"),
        ("187.6 KB", "250 KB"),
        ("31.25 KB", "62.5 KB"),
        ("187.5 B", "250 B"),
    ):
        yield cells
        yield said(
            sizes, document(table("Message | Size\n" + "\n".join(f"m{k} | {cell}" for k, cell in enumerate(cells))))
        )
    for odd in ("480 GB", "480 KB", "480 MB", "4.8 GB", "30 GB", "1200 GB", "190 GB"):
        yield odd, said(sizes, document(table(f"Model | Memory\na | 410 MB\nb | 395 MB\nc | {odd}\nd | 520 MB")))
    yield said(sizes, document(table("Model | Memory (KB)\na | 187.5\nb | 250\nc | 375")))
    yield said(sizes, document(table("Model | Memory\na | 410 MB\nb | 480 GB\nc | 390 MB")))


ACCURACIES = """
Method | MNIST | CIFAR
FedAvg | 91.27 | 80.43
FedLoRU | 93.18 | 79.92 ± 0.35
"""


def numbers_quoted_from_a_table():
    yield from _texts(
        quotes,
        *(
            "Table 1 shows that FedAvg has 91.27 on MNIST.",
            "Table 1 shows that FedAvg has 91.72 on MNIST.",
            "Table 1 shows that FedAvg has 91.37 on MNIST.",
            "Table 1 shows that FedAvg has 19.27 on MNIST.",
        ),
        *(
            "Table 1 shows 91.3 for FedAvg.",
            "Table 1 shows 91.2 for FedAvg.",
            "Table 1 shows a gain of 1.91.",
            "Table 1 shows a gain of 1.92.",
            "Table 1 shows an average of 85.85.",
            "Table 1 shows $79.92 \\pm 0.36$.",
        ),
        *(
            "Table 1 shows $79.92 \\pm 0.35$.",
            "Table 1: improved from 91.72 to 93.18.",
            "Table 1 has it for $t = 91.72$.",
            "In Table 2 it is 91.72.",
            "FedAvg on MNIST has 91.72.",
            "Table 1 has 0.9127 for FedAvg.",
            "Table 1 has 93.81 and 91.72.",
        ),
        *(
            "Table 1 compares them. FedAvg on MNIST has 91.72 then.",
            "Table 1 has 80.34, which is lower by 2.1 % relative.",
            "Tab. 1 gives 79.29 for FedLoRU on CIFAR.",
            "Table 1 gives 9.127.",
        ),
        tables=(table(ACCURACIES),),
    )
    near = "Method | A | B\nX | 91.27 | 91.37\nY | 50.00 | 60.00"
    for text in (
        "Table 1 has 91.17 for X in A.",
        "Table 1 has 91.17.",
        "Table 1 has 91.17 and 91.27 for X in B.",
        "Table 1 has 91.17 for X in B.",
    ):
        yield text, said(quotes, document(table(near), text=[text]))
    other = table("Method | A\nFedAvg | 91.72", "2")
    yield said(
        quotes,
        document(
            table(ACCURACIES),
            other,
            text=["Table 1 shows that FedAvg has 91.72 on MNIST.", "Tables 1 and 2 differ by 0.45 in FedAvg."],
        ),
    )


def slips_in_digits():
    for one, other in (
        ("99.18", "19.18"),
        ("19.81", "19.18"),
        ("91.18", "19.18"),
        ("18.19", "19.18"),
        ("19.2", "19.18"),
        ("1.9", "1.8"),
        ("1918", "1818"),
        ("91.18", "9.118"),
        ("98.11", "19.18"),
        ("1.91", "1.19"),
        ("19.18", "19.18"),
    ):
        yield one, other, _one_slip(one, other), refused(_one_slip, other, one)
