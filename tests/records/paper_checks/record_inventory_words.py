"""Words that the inventory recognises, each by itself: what a sentence, a heading or a formula says because of it."""

from invented_texts import display, document, item, latex, plain, said, table

from paper_checks.inventory.candidates import comparisons, statements
from paper_checks.inventory.checks import averages as of_averages
from paper_checks.inventory.checks import differences as of_differences
from paper_checks.inventory.checks import gains as of_gains
from paper_checks.inventory.checks import quotes as of_quotes
from paper_checks.inventory.checks.averages import averages, sums
from paper_checks.inventory.checks.constants import constants
from paper_checks.inventory.checks.counts import counts
from paper_checks.inventory.checks.formulas import formulas
from paper_checks.inventory.checks.grim import grim
from paper_checks.inventory.checks.quotes import quotes

PLAIN = "zebra"


def _by_word(words, number_of):
    """Return the words in the order of how much is found with each."""
    found = {}
    for word in words:
        found.setdefault(number_of(word), []).append(word)
    return sorted(found.items())


def _words(text):
    return [word.replace("_", " ") for word in text.split()] + [PLAIN]


def _found(find, *texts):
    return len(list(find(document(text=texts))))


def words_of_statements():
    words = (
        "is are has have then hold holds exist exists equal equals satisfy satisfies implies must cannot always never"
    )
    words += (
        " every whenever if_and_only_if there_is there_are follows converge converges contain contains no_map_exists"
    )
    yield _by_word(_words(words), lambda word: _found(statements, f"Some big matrix $x = 1$ {word} of these models."))
    yield _by_word(_words(words.upper()), lambda word: _found(statements, f"Some big matrix $x = 1$ {word} of models."))
    words = "where here with let given denote define we_let we_write we_denote we_define we_set we_use"
    words += " we_call suppose assume"
    words += " to_formalize to_formalise for_example e.g. consider recall note_that_we proof"
    yield _by_word(
        _words(words), lambda word: _found(statements, f"{word.capitalize()} matrix $x = 1$ is of these models.")
    )
    words = (
        "denote denotes is_denoted are_denoted is_defined are_defined stand_for stands_for refer_to refers_to is_called"
    )
    words += " are_called we_call we_define assume_we_have we_set we_train is_set_to are_set_to"
    yield _by_word(
        _words(words), lambda word: _found(statements, f"Some big matrix $x = 1$ {word} is of these models.")
    )


def signs_of_statements():
    signs = r"= < > ≤ ≥ ≠ ≡ ∈ ⊂ ⊆ \le \leq \ge \geq \leqslant \geqslant \ne \neq \equiv \in \notin \subset"
    signs += r" \subseteq \supseteq"
    signs += (
        r" \approx \sim \simeq \cong \mid \nmid \propto \lesssim \gtrsim \to \rightarrow \implies \iff \mapsto \ll \gg"
    )
    signs += r" \prec \preceq \succ \succeq \perp \times \less \innermost"
    yield _by_word(
        _words(signs), lambda sign: _found(statements, f"Some big matrix $x {sign} y$ is of all these models.")
    )
    spaces = r"\mathbb{R} \mathcal{X} \mathrm{O} \R \N \Z \C \Q \Real S"
    yield _by_word(
        _words(spaces), lambda of: _found(statements, rf"Some big matrix $x \in {of}$ is of all these models.")
    )
    sizes = "order degree rank dimension size length rate cardinality exactly at_most at_least ranks sizes"
    yield _by_word(
        _words(sizes), lambda of: _found(statements, f"The big matrix has {of} $2r + s$ in all these models.")
    )
    inner = r"+ - * / ^ \cdot \times \frac \sqrt \log \logs ,"
    yield _by_word(
        _words(inner), lambda of: _found(statements, f"The big matrix has rank $2r {of} s$ in all these models.")
    )


def words_of_comparisons():
    words = (
        "better worse higher lower larger smaller faster slower more less fewer greater best worst highest lowest most"
    )
    words += (
        " least exceeds outperforms surpasses improves reduces increases decreases drops gains at_most at_least up_to"
    )
    words += " below above compared than half twice only Better"
    yield _by_word(
        _words(words), lambda word: _found(comparisons, f"This new method is {word} by 35 points in every run.")
    )
    for number in (
        "35",
        "3.5%",
        "35 times",
        "1,200",
        "2x",
        "2019",
        "(2019)",
        "(2019a)",
        "v35",
        "1.5",
        "$3.5$",
        "$x_3$",
        "a3",
    ):
        yield number, _found(comparisons, f"This new method is better by {number} in every run of it.")
    names = "Section Appendix Figure Fig. Table Theorem Lemma Equation Algorithm Sections Chapter"
    yield _by_word(
        _words(names), lambda of: _found(comparisons, f"This new method is better in {of} 3.1 of every run.")
    )
    text = "This new method is better by 35 points in every run."
    yield (
        _found(comparisons, text, text),
        _found(comparisons, f"{text} {text[:-1]} of it."),
        _found(statements, text, text),
    )
    for length in (30, 31, 32, 598, 599, 600):
        start = "The new one has far more: 35 "
        yield length, _found(comparisons, f"{start}{'a' * (length - 1 - len(start))}.")


def names_of_averages_and_sums():
    rows = "\n".join(f"r{k} | {k}.0 | {k + 2}.0 | {k + 1 + (k == 3)}.0" for k in range(1, 5))
    names = (
        "avg avg. ave average mean Macro_avg macro-average Overall_average task_mean avg_acc Avg._accuracy mean_score"
    )
    names += " average_performance average_(%) avg_% avg_↑ avg_↓ median averages"
    yield _by_word(_words(names), lambda name: len(said(averages, document(table(f"M | A | B | {name}\n{rows}")))))
    totals = "\n".join(f"r{k} | {k} | {k + 2} | {2 * k + 2 + (k == 3)}" for k in range(1, 5))
    names = r"total sum totals sums Total. grand_total subtotal \sum Σ whole"
    yield _by_word(_words(names), lambda name: len(said(sums, document(table(f"M | A | B | {name}\n{totals}")))))


def words_of_each_check():
    names = (
        "# no._of num number rank r k n seed seeds param params client clients size epochs rounds year id std s.d. sd"
    )
    names += " time memory flops bit bits layer layers step steps lr learning_rate batch rated"
    yield _by_word(_words(names), lambda name: bool(of_averages._NO_SUMMAND.match(name)))
    names = (
        "% per_cent percent rate rates ratio proportion share fraction acc acc. accuracy mean means average avg. age"
    )
    names += " median score scores s.d. s.e. std pace"
    yield _by_word(_words(names), lambda name: bool(of_averages._SHARE.search(name)))
    names = (
        r"Δ \Delta diff difference gain gains improvement change drop drops ratio rel rel. relative speedup speed-up"
    )
    names += " reduction increase decrease percent percentage share fraction gap loss_of loss % saving savings dropout"
    yield _by_word(_words(names), lambda name: bool(of_differences._NAMED.search(name)))
    names = (
        "base baseline baselines vanilla original standard plain default backbone reference none - – — w/o basis ours"
    )
    yield _by_word(_words(names), lambda name: bool(of_gains._BASELINE.search(name)))
    words = (
        "improves gain gap points pp by differs delta increases decreases reduces drops higher lower more less better"
    )
    words += (
        " worse than raises rise rising rose fall fell margin relative times fold faster slower smaller larger ratio"
    )
    words += (
        " speed-up speedup changes advantage outperforms surpasses exceeds degrades loss lost saves saving boosts from"
    )
    words += r" Δ \Delta +1 −2 -3 risk has"
    yield _by_word(_words(words), lambda word: bool(of_quotes._SPEAKS.search(word)))
    words = "% percent percentage times relative ratio factor fold faster slower speedup speed-up × 3x 3_x point"
    yield _by_word(_words(words), lambda word: bool(of_quotes._RELATIVE.search(word)))
    words = (
        r"from ± \pm \pm$ from_3_to from_3.5_to from_a._to improved_to increases_to decreases_to reduced_to drops_to"
    )
    words += " rises_to falls_to raised_to goes_to by"
    yield _by_word(_words(words), lambda word: bool(of_quotes._VALUE.search(word)))


def words_of_means_and_rates():
    words = (
        "participants subjects respondents annotators patients raters students questions problems prompts test_examples"
    )
    words += " test_samples test_images test_questions test_problems test_cases cats"
    yield _by_word(_words(words), lambda who: _found(grim, f"With 20 {who} the mean rating was 3.47 in all."))
    for text in ("n = 20", "$n = 20$", "N=20", "m = 20", "n = 20.5", "n < 20", "xn = 20"):
        yield text, _found(grim, f"With {text} the mean rating was 3.47 in all.")
    for text in (
        "M = 3.47",
        "$M = 3.47$",
        "mean of 3.47",
        "average of 3.47",
        "mean is 3.47",
        "mean = 3.47",
        "mean was 3.47",
    ):
        yield (
            text,
            _found(grim, f"Here n = 20 and the {text} in all."),
            _found(grim, f"Here n = 20 and {text} ms in all."),
        )
    words = "accuracy pass_rate success_rate solve_rate rate correct correctly solve solves answer answers share"
    yield _by_word(_words(words), lambda word: _found(grim, f"With 20 problems the {word} is 34.7% in all."))
    rows = "a | 20 | 3.47\nb | 25 | 3.48\nc | 20 | 3.45"
    sizes = "n N #_participants #_subjects #_respondents #_patients #_questions #_problems #_samples"
    sizes += " #_test_samples no._of_participants"
    sizes += " no_of_patients number_of_subjects number_of_questions number_of_problems number_of_samples #_clients"
    yield _by_word(_words(sizes), lambda name: len(said(grim, document(table(f"M | {name} | mean\n{rows}")))))
    means = "mean M avg avg. average mean_score mean_rating mean_age mean_answer mean_likert average_score"
    means += " Mean median"
    yield _by_word(_words(means), lambda name: len(said(grim, document(table(f"M | n | {name}\n{rows}")))))
    rates = (
        "acc acc. accuracy %_correct correct success success_rate pass pass_rate solved rate accuracy_(%) acc_% rated"
    )
    rows = "a | 20 | 34.7\nb | 25 | 36.0\nc | 20 | 35.0"
    yield _by_word(_words(rates), lambda name: len(said(grim, document(table(f"M | n | {name}\n{rows}")))))


def words_before_quoted_numbers():
    grid = table("Method | Alpha | Beta\nFed | 91.27 | 80.43\nLin | 71.27 | 60.43")

    def found(text):
        return len(list(quotes(document(grid, text=["Table 1 has all of it.", text]))))

    words = "averaged mean median std deviation variance overall sum total each"
    yield _by_word(_words(words), lambda word: found(f"In Table 1 the {word} of Fed in Alpha has 91.72."))
    words = "Table_1 Tab._1 Tables_1 Tab_1 Table~1 Table_2 table_1 Figure_1"
    yield _by_word(_words(words), lambda word: found(f"In {word} Fed in Alpha has 91.72."))


def words_of_counts():
    between = "of out_of of_the of_these of_all of_our clients_of / in from"
    yield _by_word(_words(between), lambda word: _found(counts, f"We saw that 3 {word} 12 (30%)"))
    for share in ("(30%)", "[30%]", ", i.e., 30%.", ", that is, 30%.", "= 30%.", "or 30%.", "and 30%.", "(25%)"):
        yield share, _found(counts, f"We saw that 3 of 12 {share}"), _found(counts, f"We saw that 3/12 runs {share}")
    rows = "S | x | y\na | 5 | 5\nb | 4 | 6\nc | 4 | 5"
    for text in (
        "10 people in total.",
        "total of 10 people",
        "total: 10 people",
        "totals 10 people",
        "totaling 10 people",
    ):
        for number in ("10", "11", "12"):
            caption = text.replace("10", number)
            yield caption, [one.says for one in counts(document(table(rows, caption=caption)))]


def words_of_restatements():
    statement = item(
        "theorem", "1", r"Let $a = 3$. Then the loss of all of the clients is at most $4 x + 2$ after $T$ rounds."
    )
    words = "restatement restated restate repeated recall recalled proof"
    yield _by_word(
        _words(words),
        lambda word: len(
            list(
                constants(
                    document(
                        items=[
                            statement,
                            item(
                                "theorem",
                                "7",
                                statement.text.replace("4 x", "5 x"),
                                title=f"{word} of Theorem 1",
                                line=90,
                            ),
                        ]
                    )
                )
            )
        ),
    )
    for sign in (r"\le", r"\leq", r"\leqslant", "≤", "<", r"\ge", r"\geq", r"\geqslant", "≥", ">", "=", r"\approx"):
        first = item("theorem", "1", f"For all clients we have $x {sign} 3$ and $y {sign} 4$.")
        again = item("theorem", "2", first.text.replace("3$", "5$"), title="Restatement of Theorem 1", line=90)
        yield sign, said(constants, document(items=[first, again]))


def words_that_continue_a_statement():
    words = "where with for and then if a) Where But"
    for word in words.split():
        found = plain(f"Theorem 1. It is so.\n\n{word} this is said.\n\nIt ends.")
        yield word, [one.text for one in found.items]
    for end in (",", ":", " and", " where", " then", ".", " or"):
        found = plain(f"Theorem 1. It is so{end}\n\nIt is said.\n\nIt ends.")
        yield end, [one.text for one in found.items]
    for mark in ("□", "∎", r"\square", r"\qed", r"\blacksquare", "■", "◻", "q.e.d."):
        yield mark, [one.proof for one in plain(f"Theorem 1. It is.\n\nProof. By this. {mark}\nIt goes on.").items]
    for head in ("References", "REFERENCES", "# bibliography", "7. References:", "**References**", "Referenced"):
        yield (
            head,
            [str(one.place) for one in plain(f"Theorem 1. It is.\n\n{head}\n\nBy Theorem 1 and Lemma 2.").references],
        )


def words_of_proofs():
    body = r"\begin{{theorem}}\label{{t}} a \end{{theorem}}\begin{{lemma}}\label{{l}} b"
    body += r" \end{{lemma}}{}\begin{{proof}}[{}] c \end{{proof}}"
    for option in (
        "Proof of Theorem~\\ref{t}",
        "for \\cref{t}",
        "Proof using \\cref{t}",
        "Proof of Theorem 1.1 via \\cref{l}",
    ):
        found = latex(body.format("", option))
        yield option, [(one.name, one.proof) for one in found.items]
    words = "using via from by with assuming given under based that_uses in_terms like"
    yield _by_word(
        _words(words),
        lambda word: str(
            [one.proof for one in latex(body.format("", rf"Proof of \cref{{t}} {word} \cref{{l}}")).items]
        ),
    )
    for title in ("Restated", "recalled", "Repeat", "copy", "Again", "Theorem 1.1"):
        again = rf"\begin{{theorem}}[{title} of \cref{{t}}] a \end{{theorem}}"
        yield title, [(one.name, one.proof) for one in latex(body.format(again, "Proof")).items]


def formulas_that_are_not_compared():
    for part in (r"\begin{x}", r"\substack{a}", "é", r"\beginning", ""):
        rows = [f"a = b + c + d + e + f + g + h {part} {sign} 1" for sign in "+-"]
        yield part, len(list(formulas(document(displays=[display(row) for row in rows]))))
