"""Records of papers read from text, files, folders and archives, and of the claims without checks that are written."""

import gzip
import io
import tarfile
import tempfile
import zipfile
from pathlib import Path

from invented_texts import document, item, latex, plain
from recording import refused

from paper_checks.inventory.command import _written
from paper_checks.inventory.document import Cell
from paper_checks.inventory.listing import as_json, candidate_lines
from paper_checks.inventory.literals import docstring, quoted, raw_lines
from paper_checks.inventory.plain_tables import find_blocks
from paper_checks.inventory.reading import read_document
from paper_checks.inventory.source import read_source
from paper_checks.inventory.stubs import Plan, _with_themes, plan_stubs, stubs_of

TEXT = """# A Paper of Rates

## Abstract

We bound it by 2.

## 1 Introduction

**Theorem 1** (Rate). For all $x$, we have
$$f(x) = 2 \\tag{3}$$
where $x > 0$.

*Proof.* By Lemma 2 and (3). □

Lemma 2. It is so, as Theorem 5 of [7] says. See Lemmas 2 to 4.

Proof of Theorem 1: by Equation (3).

Table 1: Accuracies of both.

| Method | A | B |
|---|---|---|
| one | **1.5** | 2 |
| | 3 | 4 |

x = y + z    (4)

Figure 2. A figure (with a remark).

## A Proofs

Algorithm 1: Steps of it.

The method is 3.5 points better than all of the others in Table 1.

## References

[7] Theorem 9. Other.
"""


def a_text_as_json():
    yield as_json(plain(TEXT))


def heads_and_sentences():
    for line in (
        "Theorem 1. It is.",
        "**Theorem 1.** It is.",
        "Theorem 1 It is.",
        "theorem 1. It is.",
        "Theorem 1 (Rate). It is.",
        "Theorem 1 (Rate) It is.",
        "Theorem 1 (Rate) is.",
        "> Theorem 1",
        "Theorem 1 and Lemma 2 are.",
        "Figure 3 Shows it.",
        "Figure 3 shows it.",
        "Tab. 4: All.",
        "It is. Theorem 5. So.",
        "Theorem IV. Four.",
        "Theorem A.1: One.",
        "Claim 2: Two.",
        "Theorem 1",
        "The long line names Theorem 1",
        "Assumption 3 (L",
        "Theorem 1-2. No.",
    ):
        found = plain(f"Words.\n\n{line}\n\nMore words.")
        yield line, [(one.kind, one.number, one.title, one.text, one.called) for one in found.items]


def equations_in_texts():
    for text in (
        "x = 1 (1)\n\ny = 2 (2)",
        "It is so (1).\n\nx = 1 (2)",
        "$$x = 1 \\quad (3)$$",
        "$$\nx = 1\n$$ (4)",
        "x = 1\n\n(5)",
        "a = b (1)\nc = d (3)\ne = f (2)\ng = h (4)",
        "x = 1 (A.1)",
        "x = 1     (7a)",
        "\\begin{equation} x \\tag{8'} \\end{equation}",
        "see (1) and (2)",
    ):
        yield text, [(one.number, one.text, str(one.place)) for one in plain(text).items]


def mentions_of_items():
    for text in (
        "Lemmas 2 to 4 and Table 1.",
        "Theorem 3 of [5].",
        "Smith et al. (2020), Lemma 3.",
        "In [5, Lemma 3] and Lemma 4.",
        "By (3), and (4).",
        "eqs. (1)-(3) hold",
        "Figures 1, 2 and 3.",
        "Lemma 3 from Boyd & Co.",
        "Theorem 2 (Smith, 2020) says.",
        "Lemmas 5–2.",
        "as in (A.2) it is",
    ):
        yield text, [(one.kind, one.number, one.text) for one in plain(f"# 1 A\n\n{text}").references]


def tables_in_texts():
    for text in (
        *(
            "a\tb\tc\none\t1\t2\n\t3\t4",
            "| a | b |\n|---|---|\n| x | __1__ |\n| y | <b>2</b> |",
            "|x| + |y|\n|z| + |w|",
            "one 1.5 2.5\ntwo 3.5 4.5",
            "Method A B\none 1.5 2.5\ntwo 3.5 4.5",
            "setting 1 5 5\nsetting 2 6 7",
        ),
        *(
            "Group Acc\nMethod A B A B\none 1 2 3 4\ntwo 5 6 7 8",
            "Words, and more.\none 1 2\ntwo 3 4 5",
            "a | b\n-- | --\nx | 1",
            "| a | b |\n| c | d |",
            "| H | | K |\n| a | b | c |\n| x | 1 | 2 |\n| | 3 | - |",
            "one 1 2",
        ),
    ):
        yield text
        yield [
            (
                one.start,
                one.end,
                [[(cell.text, cell.bold, cell.spans) for cell in row] for row in one.rows],
                one.lines,
                sorted(one.rules),
            )
            for one in find_blocks(text.split("\n"))
        ]


def captions_above_and_below_tables():
    grid = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |"
    for text in (
        f"Table 1: One.\n\n{grid}\n\n{grid}",
        f"{grid}\n\nTable 1: One.\n\n{grid}\n\nTable 2: Two.",
        f"Table 1: One.\n\na\n\nb\n\nc\n\nd\n\ne\n\n{grid}",
    ):
        yield [(one.number, one.caption) for one in plain(text).tables]
    numbered = "\n".join(f"{100 + k} words of line {k}" for k in range(120))
    yield plain(numbered).paragraphs[0].text[:40], plain(numbered.replace("words of", "12")).paragraphs[0].text[:30]
    yield Cell("a").bold


def literals_of_texts():
    for text in (
        'a "b" \\xi',
        "plain",
        "it's",
        'ends with "',
        "ends with \\",
        'has """ in it',
        "word " * 60,
        "",
        "tab\tnew\nline",
        "ünï",
    ):
        yield quoted(text), docstring(text.strip()), raw_lines(text)


def _read(write, name="paper"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        found = refused(read_source, str(path))
        if isinstance(found, str):
            return found.replace(folder, "FOLDER")
        return [
            found.latex,
            list(found.lines),
            [str(place) for place in found.places],
            [note.replace(folder, "FOLDER") for note in found.notes],
            found.external,
        ]


def _folder(**files):
    def write(path):
        for name, text in files.items():
            file = path / name.replace("__", "/").replace("_dot_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    return write


MAIN = "\\documentclass{article}\n\\begin{document}\n\\input{part} x % c\n\\input{gone}\n50\\% y\n\\end{document}"


def files_and_folders():
    yield _read(lambda path: path.write_text("a\nb"), "p.md"), _read(lambda path: path.write_bytes(b""), "p.md")
    yield _read(lambda path: None), _read(lambda path: path.write_bytes(b"%PDF-1"), "p.pdf")
    yield _read(lambda path: path.write_bytes(b"a\0b"), "p.txt")
    yield _read(lambda path: path.write_bytes("\ufeffaé".encode()), "p.txt")
    yield _read(lambda path: path.write_bytes("aé".encode("utf-16")), "p.txt")
    yield _read(lambda path: path.write_bytes(b"a\xe9\r\nb\rc\x0cd"), "p.txt")
    yield _read(lambda path: path.write_bytes(b"x"), "p.zip")
    yield _read(lambda path: path.write_text("1\u202f000 and 1\u202f00"), "p.txt")
    yield _read(lambda path: path.write_bytes(b"\x01\x02" + b"a" * 97), "p.txt")
    yield _read(lambda path: path.write_bytes(b"\x01\x02" + b"a" * 98), "p.txt"), _read(lambda path: path.mkdir())


def sources_of_several_files():
    yield _read(_folder(main_dot_tex=MAIN, part_dot_tex="part \\input{sub/deep}", sub__deep_dot_tex="deep"))
    yield _read(_folder(a_dot_tex="\\input{a}")), _read(_folder(a_dot_tex="short", b_dot_tex="a longer one"))
    yield _read(_folder(README_dot_md="long words of it", b_dot_txt="short"))
    yield _read(_folder(a_dot_tex="\\documentclass{x}", b_dot_tex="\\documentclass{x}\n\\begin{abstract}"))
    yield _read(
        _folder(
            a_dot_tex="\\documentclass{x}\n\\input{../../etc/passwd}\n\\import{sub}{deep}", sub__deep_dot_tex="deep"
        )
    )
    yield _read(
        _folder(
            a_dot_tex="\\documentclass{x}\n\\externaldocument[p-]{b}\n\\externaldocument{c}", b_dot_tex="\\label{q}"
        )
    )
    yield _read(_folder(a_dot_tex="\\documentclass{k}\n\\ifk a\\fi", k_dot_cls="\\newif\\ifk"))


def files_that_include_one_another():
    for count in (40, 41, 42):
        chain = {f"f{at}_dot_tex": f"{at}\n\\input{{f{at + 1}}}" for at in range(1, count)}
        found = _read(_folder(main_dot_tex="\\documentclass{x}\n\\input{f1}", **chain, **{f"f{count}_dot_tex": "end"}))
        yield count, found if isinstance(found, str) else found[1][-3:]
    for wanted in ("a.tex", "a.png", "a", "#1", "\\jobname", "a.ltx", ""):
        yield wanted, _read(_folder(m_dot_tex=f"\\documentclass{{x}}\n\\input{{{wanted}}}\\include {{b}}"))[3]


def archives():
    def zipped(path):
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("p/main.tex", MAIN)
            packed.writestr("p/part.tex", "part")
            packed.writestr("__MACOSX/main.tex", "no")

    def tarred(path):
        with tarfile.open(path, "w:gz") as packed:
            entry = tarfile.TarInfo("notes.txt")
            entry.size = 3
            packed.addfile(entry, io.BytesIO(b"abc"))

    yield _read(zipped, "p.zip"), _read(tarred, "p.tgz")
    yield _read(lambda path: path.write_bytes(gzip.compress(b"just text")), "p.gz")
    yield _read(lambda path: path.write_bytes(gzip.compress(MAIN.encode())), "p.gz")
    yield _read(lambda path: path.write_bytes(gzip.compress(b"just text")[:-6]), "p.gz")
    yield _read(lambda path: path.write_bytes(b"PK\x03\x04 broken"), "p.zip")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "e.tex")
        path.write_text("\\documentclass{x}\\begin{document}$$\\end{document}")
        yield refused(lambda: [one.text for one in read_document(str(path)).paragraphs])


def _paper():
    return latex(
        r"""\title{My Paper}
\section{One}\begin{theorem}[Rate]\label{t} By \cref{l}, $a = b$ and
\begin{equation}\label{e} c = d \end{equation} hold. \end{theorem}
\begin{lemma}\label{l} See \cref{t} and "it". \end{lemma}\begin{proof} By \cref{a} and \eqref{f}. \end{proof}
\begin{assumption}\label{a} $L \ge 0$. \end{assumption}
\begin{equation}\label{f} g = h \end{equation}
\begin{table}\caption{Some \% numbers.}\end{table}\begin{figure}\caption{A figure.}\end{figure}
The method is better than 3 others by 5 points in all of these runs."""
    )


def claims_without_checks():
    for sentences in (False, True):
        for stub in stubs_of(_paper(), "my-paper", sentences):
            yield stub.id, stub.module, stub.uses, stub.look, stub.of, stub.item.name
    used = latex(
        r"""\begin{figure}\caption{A figure.}\label{f}\end{figure}\begin{table}\caption{T.}\label{t}\end{table}
\begin{algorithm}\caption{A.}\label{a}\end{algorithm}\begin{equation}\label{e} g = h \end{equation}
\begin{lemma}\label{l} By \cref{f}, \cref{t}, \cref{a}, \eqref{e} and \cref{l}, $a = b$. \end{lemma}
\begin{theorem} By \cref{l}. \end{theorem}\begin{proof} By \cref{t}, \cref{f} and \cref{l}. \end{proof}"""
    )
    yield [(stub.id, stub.uses) for stub in stubs_of(used, "p")]
    double = document(
        items=[
            item("lemma", "1", "a"),
            item("lemma", "1", "b"),
            item("remark", "*", "c"),
            item("remark", "", "d"),
            item("equation", "A.1'", "$e$", inside=("lemma", "1")),
        ]
    )
    yield [(stub.id, stub.module, stub.of) for stub in stubs_of(double, "p")]


def files_of_a_new_package():
    with tempfile.TemporaryDirectory() as folder:
        plan = plan_stubs(_paper(), Path(folder, "my-invented-paper"))
        yield plan.name, plan.count, plan.joined, plan.differing
        yield [path.relative_to(folder).as_posix() for path in plan.texts]
        yield {
            path.name: text.splitlines()
            for path, text in plan.texts.items()
            if path.name in ("thm_1_1.py", "paper.py", "README.md", "asm_1.py", "table_1.py")
        }
        yield _written(plan, "here")
        yield str(refused(plan_stubs, document(), Path(folder, "other-invented"))).replace(folder, "FOLDER")
        yield str(refused(plan_stubs, _paper(), Path(folder, "class"))).replace(folder, "FOLDER")
    yield _written(Plan("p", 1, {Path("a"): ""}, (), joined=tuple((f"p/e-{k}", "p/t") for k in range(9))), "f")
    yield _written(Plan("p", 0, {}, ()), "f"), _written(Plan("p", 0, {}, (), ("x",)), "f")


def lists_of_files_that_are_extended():
    for source in (
        'R = ("a", "b")\nPAPER = Paper("n", "t", __package__, R)\n',
        'PAPER = Paper("n", "t", "p", ("a",), called="x")\n',
        'R = (\n    "a",\n)\nPAPER = Paper("n", "t", "p", themes=R)\n',
        'R = ()\nP = Paper("n", "t", "p", R)',
        'R = "a", "b"\nP = Paper("n", "t", "p", R)',
        'P = Paper("n", "t", "p", list())',
    ):
        yield refused(_with_themes, source, ["c", "d"], Path("paper.py"))


def candidates_in_lines():
    found = plain("# 1 A\n\nWe solve 12 of 20 tasks (50%). It is 12/20 (70%).\n")
    from paper_checks.inventory.candidates import find_candidates

    for width in (20, 60, 90):
        yield candidate_lines(find_candidates(found), width)
    yield candidate_lines([], 80)
