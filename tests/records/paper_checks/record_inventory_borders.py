"""Records of the borders of mechanical checks: how many entries must agree before one that does not is reported."""

from itertools import permutations

from invented_texts import display, document, item, latex, plain, said, table

from paper_checks.inventory.checks.averages import averages, sums
from paper_checks.inventory.checks.constants import constants
from paper_checks.inventory.checks.counts import counts
from paper_checks.inventory.checks.differences import differences
from paper_checks.inventory.checks.endings import endings
from paper_checks.inventory.checks.formulas import formulas
from paper_checks.inventory.checks.gains import gains
from paper_checks.inventory.checks.grim import grim
from paper_checks.inventory.checks.marks import marks
from paper_checks.inventory.checks.quotes import quotes
from paper_checks.inventory.checks.repeats import repeats


def _table(head, *rows):
    return table("\n".join([head, *rows]))


def rows_that_an_average_needs():
    right, wrong = "r{} | 1.0 | 2.0 | 3.0 | 2.0", "r{} | 1.0 | 2.0 | 3.0 | 2.2"
    for good, bad in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (3, 4), (0, 1), (0, 2)):
        rows = [right.format(k) for k in range(good)] + [wrong.format(f"x{k}") for k in range(bad)]
        yield good, bad, said(averages, document(_table("M | A | B | C | Avg.", *rows)))
    for length in (1, 2, 3):
        names, values = " | ".join("ABC"[:length]), " | ".join(["2.0"] * length)
        yield length, said(averages, document(_table(f"M | {names} | Avg.", f"r | {values} | 2.2")))


def shares_and_their_totals():
    for name in ("Total", "Share"):
        for last in (30, 26, 21, 20, 19, 41, 40, 39, 50):
            rows = ["a | 30% | 40% | 30% | 100%", "b | 20% | 40% | 40% | 100%", f"c | 30% | 40% | {last}% | 100%"]
            yield name, last, said(sums, document(_table(f"{name} | x | y | z | Total", *rows)))
    for total in ("100", "99", "7", "8", "9", "-3"):
        rows = [
            "rate a | 1 | 2 | 3 | 6",
            "rate b | 2 | 3 | 4 | 9",
            f"c | 5 | 7 | 6 | {total}",
            "d | 1 | 1 | 1 | 3",
            "e | -1 | 1 | 4 | 4",
        ]
        yield total, said(sums, document(_table("M | x | y | z | Total", *rows)))


def rows_that_a_difference_needs():
    for good, bad in ((2, 2), (3, 2), (3, 3)):
        rows = [f"r{k} | {70 + 3.17 * k:.2f} | {50 + k * k:.2f} | {20 + 3.17 * k - k * k:.2f}" for k in range(good)]
        rows += [f"x{k} | {60 + 7.31 * k:.2f} | {40 + k:.2f} | {99 + k * 5:.2f}" for k in range(bad)]
        yield good, bad, said(differences, document(_table("M | a | b | gain", *rows)))
    for scale in (0.001, 0.003):
        rows = [
            f"r{k} | {7 + 5 * scale * k:.2f} | {5 + scale * k:.2f} | {2 + 4 * scale * k + (k == 3):.2f}"
            for k in range(4)
        ]
        yield scale, said(differences, document(_table("M | a | b | gain", *rows)))
        yield said(differences, document(_table("M | a | b | c", *rows)))


def gains_that_a_base_needs():
    for good, bad in ((2, 1), (3, 1), (3, 3)):
        cells = [f"{50 + 3 * k}.0 (+{3 * k}.0)" for k in range(1, good + 1)] + [
            f"{60 + k}.0 (+{k + 1}.5)" for k in range(1, bad + 1)
        ]
        yield good, bad
        yield said(gains, document(_table("M | A", "base | 50.0", *(f"r{k} | {cell}" for k, cell in enumerate(cells)))))
    blunt = ["base | 5", "a | 6 (+1)", "b | 5 (+0)", "c | 6 (+1)", "d | 4 (+9)"]
    yield said(gains, document(_table("M | A", *blunt)))
    yield said(
        gains, document(_table("M | A", *(row.replace("| 5", "| 5.0").replace("| 6", "| 6.0") for row in blunt)))
    )


def entries_that_two_tables_must_share():
    for shared in (5, 6, 10):
        for wrong in (0, 1, 2, 3):
            first = [f"r{k} | {k}.5" for k in range(shared)]
            second = [f"r{k} | {k}.{9 if k < wrong else 5}" for k in range(shared)]
            found = said(repeats, document(_table("M | A", *first), table("\n".join(["M | A", *second]), "2")))
            yield shared, wrong, len(found), found[:1]


def marks_that_must_be_right():
    for right, wrong in ((2, 1), (3, 0), (3, 1), (3, 2), (6, 2), (6, 3), (9, 3)):
        head = " | ".join(["M", *(f"c{k}" for k in range(right + wrong))])
        good, best = ["*9.0"] * right + ["7.0"] * wrong, ["5.0"] + ["8.0"] * (right - 1) + ["*6.0"] * wrong
        other = ["1.0"] * right + ["2.0"] * wrong
        rows = [" | ".join([name, *cells]) for name, cells in (("a", good), ("b", best), ("c", other))]
        found = said(marks, document(_table(head, *rows)))
        yield right, wrong, len(found), found[:1]


def means_of_which_most_are_possible():
    for wrong in (1, 2, 3, 4):
        for count in (2, 3, 4, 5, 6):
            rows = [f"g{k} | 20 | {'3.47' if k < wrong else '3.45'}" for k in range(count)]
            yield wrong, count, len(said(grim, document(_table("Group | n | mean", *rows))))
    for n, value in (
        ("20.0", "3.47"),
        ("9999", "3.47"),
        ("10000", "3.47"),
        ("20", "3.47%"),
        ("20", "3.47K"),
        ("0", "3.47"),
        ("1", "3.47"),
        ("100", "3.471"),
        ("1K", "3.4711"),
    ):
        yield n, value, said(grim, document(_table("Group | n | mean", f"a | {n} | {value}", "b | 4 | 3.25")))


def deviations_next_to_means_and_rates():
    for name in ("mean", "accuracy", "rate", "% correct"):
        for value in ("3.47 (0.2)", "3.47 ± 0.2", "3.47", "3.47 [0.2]"):
            rows = (f"a | 20 | {value}", "b | 4 | 3.25", "c | 20 | 3.45 ± 0.1")
            yield name, value, said(grim, document(_table(f"Group | n | {name}", *rows)))


def totals_near_and_far():
    for last in (0, 2, 3, 4, 16, 17, 18):
        rows = ["a | 5 | 5", "b | 4 | 6", f"c | {last} | 5"]
        yield last, said(counts, document(table("\n".join(["S | x | y", *rows]), caption="10 people in total.")))


def restatements_and_how_alike_they_are():
    words = (
        "the sum of all squared norms over rounds of training with "
        "a step of size one is bounded from above by the value of"
    )
    for changes in range(0, 14, 2):
        other = " ".join("other" if k % 3 == 0 and k < 3 * changes else word for k, word in enumerate(words.split()))
        first, second = (
            item("theorem", "1", f"${4} x$ {words}"),
            item("theorem", "2", f"${5} x$ {other}", title="Restatement of Theorem 1", section="A"),
        )
        yield changes, said(constants, document(items=[first, second]))
    for length in (24, 25, 60, 66, 70):
        text = " ".join(f"w{'abcdefghijklmnopqrstuvwxyz'[k % 26]}{'z' * (k // 26)}" for k in range(length))
        pair = [item("lemma", "1", f"{text} $4 x$"), item("lemma", "2", f"{text} $5 x$", section="A")]
        yield length, len(said(constants, document(items=pair)))
        yield len(said(constants, document(items=[pair[0], item("lemma", "2", pair[1].text)])))


def formulas_and_how_long_they_must_be():
    for length in (4, 5, 6, 7, 13, 14, 15, 16, 17):
        names = "bcdefghnowxyzABCDEFG"[:length]
        sides = [f"a = {' + '.join(names)} {sign} 1" for sign in "+-"]
        other = [f"{left} = {' + '.join(names)} {sign} 1" for left, sign in zip("aZ", "+-", strict=True)]
        yield length
        yield [len(said(formulas, document(displays=[display(one), display(two)]))) for one, two in (sides, other)]
    for left, relation in (("a", "="), ("", "="), ("a", r"\le"), ("a <", "="), ("+ a", "="), ("-", "=")):
        rows = [f"{left} {relation} b + c + d + e + f + g + h {sign} 1" for sign in "+-"]
        yield left, relation, len(said(formulas, document(displays=[display(one) for one in rows])))
        yield len(said(formulas, document(displays=[display("p = q", rows[0]), display("p = q", rows[1])])))
    long = f"a = {' + '.join('bcdefghnowxyzABCDE')}"
    for end in (" + 12 - 3", " + 1 - 3 + 4", " - 1 + 22 - 33", "^2", "^{23}", "^1", "!", "_2", " x", " + x"):
        yield end, len(said(formulas, document(displays=[display(long), display(long + end)])))
        yield len(said(formulas, document(displays=[display(long + end), display(long)])))


def the_last_of_several_ends_of_one_proof():
    for ends in permutations(("2mcn", "3mcn", "5mcn", "7m^2c^2"), 3):
        proof = " ".join(rf"$f(x) \le {end}$." for end in ends)
        yield *ends, [one.says for one in endings(item("theorem", "1", r"$f(x) \le 2mcn$.", proof))]
        yield *ends, [one.says for one in endings(item("theorem", "1", r"$f(x) \le 11mcn$.", proof))]


def ends_among_the_last_formulas():
    for after in range(6):
        rest = " ".join("$p = q$." for _ in range(after))
        yield after
        yield [one.says for one in endings(item("theorem", "1", r"$f(x) \le 2mcn$.", rf"$f(x) \le 3mcn$. {rest}"))]
    for left, right in (
        ("f(x)", "f(y)"),
        ("f", "g"),
        (r"\frac1T \sum_t f", "f"),
        ("T", "T"),
        ("T", "K"),
        ("f_1", "f_2"),
        (r"\mathbb{E} f", "f"),
        ("a, f", "f"),
    ):
        yield left, right, len(list(endings(item("theorem", "1", rf"${left} \le 2mcn$.", rf"${right} \le 3mcn$."))))


def quotes_by_the_names_of_a_table():
    grid = _table("Method | Alpha | Beta", "Fed | 91.27 | 80.43", f"{'N' * 40} | 71.27 | 60.43")
    for text in (
        "Fed in Alpha has 91.72.",
        "Fed has 91.72.",
        "fed in Alpha has 91.72.",
        f"{'N' * 40} in Alpha has 71.72.",
        "Alpha and Beta have 91.72.",
    ):
        yield text, said(quotes, document(grid, text=["Table 1 has all. So.", text]))
        yield len(said(quotes, document(grid, text=[f"Table 1 has all. {text}"])))
    for gain in ("10.84", "10.85", "10.86", "10.87", "13.48", "13.5", "1.135", "1.14", "11.88", "11.9"):
        yield gain
        yield [
            len(
                said(
                    quotes,
                    document(
                        _table("M | A | B", "f | 91.27 | 80.43", f"x | {wrong} | 1.0"),
                        text=[f"Table 1 shows a {word} of {gain}."],
                    ),
                )
            )
            for wrong in (gain[:-1] + "0",)
            for word in ("gain", "gain in percent", "mean", "value")
        ]


def proofs_in_texts_and_their_ends():
    for text in (
        "Theorem 1. A.\n\nProof. B.\nC. □\nD.",
        "Theorem 1. A.\n\nProof of Lemma 9. B. ∎\n\nC.",
        "Theorem 1. A.\n\nLemma 2. B.\n\nProof of Theorem 1. C.\n\nD.",
        "proof of it is easy.",
        "Theorem 1. A.\n\n*Proof.* B.\n\nLemma 2. C.",
    ):
        yield [(one.name, one.text, one.proof) for one in plain(text).items]
    key = r"\begin{theorem}[Key] a \end{theorem}\begin{lemma}[Key] b \end{lemma}"
    key += r"\begin{proof}[Proof of the key] c \end{proof}"
    yield [(one.name, one.proof) for one in latex(key).items]
