"""`rankproof inventory`: sources of every kind, errors of one line, JSON, and stubs that can be checked."""

import ast
import bz2
import gzip
import json
import lzma
import sys
import tarfile
import zipfile

import pytest

import rankproof
from paper_checks.inventory import source as reading
from paper_checks.inventory.literals import raw_lines
from paper_checks.ledger import Ledger
from paper_checks.own_papers import own_papers
from paper_checks.run import run as check

PAPER = r"""\documentclass{article}
\newtheorem{theorem}{Theorem}\newtheorem{lemma}{Lemma}\newtheorem{definition}{Definition}
\title{Sums of "Updates"}
\begin{document}
\section{Results}
\begin{definition}\label{d} A \emph{sum} is \verb|a+b|. \end{definition}
\begin{lemma}\label{l} $(a+b)^2 \le 2(a^2+b^2)$ by \cref{t}. \begin{equation} a \le b \end{equation} \end{lemma}
\begin{proof} By \cref{d}. \end{proof}
\begin{theorem}[Main]\label{t} All is bounded by 2, which is 50\% better than before. \end{theorem}
\begin{proof} By \cref{l} and \eqref{free}. \end{proof}
\begin{equation}\label{free} c = d \end{equation}
The bound of \cref{t} is 50\% smaller than all the other bounds of this kind.
\end{document}
"""


@pytest.fixture(autouse=True)
def _import_path(monkeypatch, tmp_path):
    """Work in a folder of its own, and forget what is imported by name here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("sums_"):
            del sys.modules[name]


def run(capsys, *words):
    status = rankproof.main(["inventory", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_listing_shows_items_sentences_and_candidates(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    status, out, err = run(capsys, "a.tex")
    assert (status, err) == (0, "")
    assert "1 theorem, 1 lemma, 1 definition, 2 equations" in out
    assert "Theorem 1" in out
    assert "a.tex:9" in out
    assert "Sentences with a number and a comparison: 2" in out
    assert "The mechanical checks found nothing to look at." in out


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", ["folder", "zip", "tar", "tgz", *PACKED, "md", "txt"])
def test_every_kind_of_source_is_read(capsys, tmp_path, kind):
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "paper.tex").write_text(PAPER.replace(r"\section{Results}", r"\section{Results}\input{rest}"))
    (folder / "rest.tex").write_text(r"\begin{lemma} Included. \end{lemma}")
    (folder / "README.md").write_text("# Notes\n\nLemma 9. No part of the paper.\n")
    (folder / "other.tex").write_text(
        r"\documentclass{article}\begin{document}\begin{lemma} x \end{lemma}\end{document}"
    )
    place = tmp_path / f"paper.{kind}"
    if kind == "folder":
        place = folder
    elif kind == "zip":
        with zipfile.ZipFile(place, "w") as packed:
            for file in folder.iterdir():
                packed.write(file, f"paper/{file.name}")
    elif kind in ("tar", "tgz"):
        with tarfile.open(place, "w:gz" if kind == "tgz" else "w") as packed:
            packed.add(folder, "paper")
    elif kind in PACKED:
        place.write_bytes(PACKED[kind](PAPER.encode()))
    else:
        place.write_text("Lemma 1. The sum is finite.\n\nTheorem 2. The mean is finite.\n")
    status, out, _ = run(capsys, place)
    assert status == 0
    assert ("1 theorem, 1 lemma" if kind in (*PACKED, "md", "txt") else "1 theorem, 2 lemmas") in out


BAD = {
    "none.tex": (None, "does not exist"),
    "empty.tex": (b"", "is empty"),
    "blank.txt": (b" \n\n", "contains no text"),
    "binary.tex": (bytes(range(256)) * 40, "is not text"),
    "paper.pdf": (b"%PDF-1.7\n\x00\x01", "is a PDF"),
    "broken.zip": (b"PK\x03\x04broken", "damaged archive"),
    "broken.gz": (b"\x1f\x8bbroken", "damaged archive"),
    "cut.xz": (lzma.compress(b"words " * 300)[:-20], "damaged archive"),
    "cut.bz2": (bz2.compress(b"words " * 300)[:-20], "damaged archive"),
    "named.zip": (b"plain words", "is not an archive"),
    "itself.tex": (b"\\documentclass{a}\\input{itself}", "includes itself"),
    "deep.tex": (b"\\documentclass{a}\\begin{document}" + b"{" * 3000, "nested too deeply"),
    "huge.txt": (b"words and words\n" * 400_000, "MB of text"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_one_line(capsys, tmp_path, name):
    data, says = BAD[name]
    if data is not None:
        (tmp_path / name).write_bytes(data)
    status, out, err = run(capsys, name)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert name in err


def test_an_empty_folder_and_an_archive_without_texts_are_one_line(capsys, tmp_path):
    (tmp_path / "nothing").mkdir()
    with zipfile.ZipFile(tmp_path / "nothing.zip", "w") as packed:
        packed.writestr("picture.png", "x")
    for name in ("nothing", "nothing.zip"):
        status, out, err = run(capsys, name)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "contains no LaTeX, Markdown or text" in err


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST", 10_000)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.tex", "x" * 20_000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"x" * 20_000))
    for name in ("bomb.zip", "bomb.gz"):
        status, _, err = run(capsys, name)
        assert (status, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(("at", "value", "says"), [(6, 1, "is encrypted"), (8, 97, "method that cannot be read")])
def test_an_archive_that_is_whole_but_cannot_be_read_is_not_called_damaged(capsys, tmp_path, at, value, says):
    with zipfile.ZipFile(tmp_path / "locked.zip", "w") as packed:
        packed.writestr("a.tex", PAPER)
    data = bytearray((tmp_path / "locked.zip").read_bytes())
    data[at] = data[data.index(b"PK\1\2") + at + 2] = value
    (tmp_path / "locked.zip").write_bytes(data)
    status, _, err = run(capsys, "locked.zip")
    assert (status, err.count("\n")) == (2, 1)
    assert says in err
    assert "name the folder" in err


def test_data_in_an_archive_are_no_text(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST", 10_000)
    for name, status in (("data", 0), ("data.txt", 2)):
        with zipfile.ZipFile(tmp_path / "paper.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("a.tex", PAPER)
            packed.writestr(name, "x" * 20_000)
        assert run(capsys, "paper.zip")[0] == status


@pytest.mark.parametrize("name", ["link.tex", "link.md"])
def test_a_link_that_leads_out_of_a_folder_is_no_file_of_it(capsys, tmp_path, name):
    (tmp_path / "secret").write_text(r"\begin{lemma} Secret. \end{lemma}")
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / name).symlink_to(tmp_path / "secret")
    status, out, err = run(capsys, "paper")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "contains no LaTeX" in err
    (tmp_path / "paper" / "own.tex").write_text(PAPER)
    status, out, _ = run(capsys, "paper")
    assert (status, "Secret" in out) == (0, False)


def test_inclusions_stay_in_the_folder(capsys, tmp_path):
    (tmp_path / "secret.tex").write_text(r"\begin{lemma} Secret. \end{lemma}")
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "a.tex").write_text(
        "\\documentclass{article}\\begin{document}\n\\input{../secret} Words. \\input{absent}\n\\end{document}"
    )
    status, out, _ = run(capsys, folder)
    assert status == 0
    assert "Secret" not in out
    assert "a.tex:2: ../secret is included but missing" in out
    assert "a.tex:2: absent is included but missing" in out


def test_the_json_has_everything(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    assert run(capsys, "a.tex", "--json", "a.json")[0] == 0
    written = json.loads((tmp_path / "a.json").read_text())
    assert [item["name"] for item in written["items"]] == [
        "Definition 1", "Lemma 1", "Equation (1)", "Theorem 1", "Equation (2)"
    ]  # fmt: skip
    lemma = written["items"][1]
    assert (lemma["file"], lemma["line"], lemma["label"]) == ("a.tex", 7, "l")
    assert lemma["proof_refers_to"] == [{"kind": "definition", "number": "1", "label": "d"}]
    assert written["candidates"] == []
    _, out, _ = run(capsys, "a.tex", "--json", "-")
    assert json.loads(out) == written


def test_stubs_are_claims_that_the_ledger_takes(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    status, out, _ = run(capsys, "a.tex", "--into", "sums-new")
    assert status == 0
    assert "wrote 5 claims without checks" in out
    (paper,) = own_papers(["sums-new"])
    ledger = Ledger.of([paper])
    claims = {claim.id: claim for claim in ledger.claims}
    assert list(claims) == [f"sums-new/{label}" for label in ("def-1", "lem-1", "eq-1", "thm-1", "eq-2")]
    assert {claim.expect for claim in claims.values()} == {"not checkable here"}
    assert {claim.expect_reason for claim in claims.values()} == {"no check yet"}
    assert claims["sums-new/lem-1"].where == "Section 1, Lemma 1 (a.tex:7)"
    assert claims["sums-new/def-1"].kind == "definition"
    assert claims["sums-new/thm-1"].says.startswith("(Main) All is bounded by 2")
    assert claims["sums-new/thm-1"].uses == ("sums-new/lem-1", "sums-new/eq-2")
    assert claims["sums-new/lem-1"].uses == (
        "sums-new/def-1",
    )  # its reference ahead, to the theorem, would be a circle
    files = {path.name for path in (tmp_path / "sums-new" / "sums_new").glob("*.py")}
    assert files == {"__init__.py", "paper.py", "def_1.py", "lem_1.py", "thm_1.py", "sec_1.py"}


def test_stubs_are_checked_as_recorded(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    assert run(capsys, "a.tex", "--into", "sums-checked")[0] == 0
    (paper,) = own_papers(["sums-checked"])
    ledger = Ledger.of([paper])
    results = check(ledger.claims, ledger).results
    assert [result.as_expected for result in results] == [True] * 5
    assert {result.decision.reason for result in results} == {"no check yet"}


def test_nothing_is_said_to_be_meant_or_written_where_nothing_is_checked(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    assert run(capsys, "a.tex", "--into", "sums-stubs")[0] == 0
    assert rankproof.main(["show", "--papers", "sums-stubs", "sums-stubs/thm-1"]) == 0
    out, _ = capsys.readouterr()
    assert "no check yet" in out
    assert "meant" not in out
    assert rankproof.main(["pages", "--papers", "sums-stubs", "--out", "pages"]) == 0
    out, _ = capsys.readouterr()
    why, remedy = out.splitlines()
    assert why == "wrote nothing, because no pages of findings are declared and no proofs are on file in sums-stubs"
    assert remedy.startswith("sums-stubs declares no page of findings: add pages=(Page('sums-stubs-findings', ")
    assert not (tmp_path / "pages").exists()


def test_a_package_is_extended_and_keeps_its_files(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    assert run(capsys, "a.tex", "--into", "sums-kept")[0] == 0
    package = tmp_path / "sums-kept" / "sums_kept"
    (package / "lem_1.py").write_text((package / "lem_1.py").read_text() + "\n# The author's own words.\n")
    before = {path: path.read_bytes() for path in package.rglob("*.py") if path.name != "paper.py"}
    status, out, _ = run(capsys, "a.tex", "--into", "sums-kept")
    assert status == 0
    assert "already has a claim for every item" in out
    longer = PAPER.replace(
        r"\end{document}", r"\begin{lemma} New. \end{lemma} \begin{equation} x \end{equation} \end{document}"
    )
    (tmp_path / "a.tex").write_text(longer)
    for name in [name for name in sys.modules if name.startswith("sums_")]:
        del sys.modules[name]
    status, out, _ = run(capsys, "a.tex", "--into", "sums-kept")
    assert status == 0
    assert "wrote 2 claims without checks" in out
    assert {path: path.read_bytes() for path in before} == before
    listed = ast.parse((package / "paper.py").read_text())
    (names,) = (node.value for node in listed.body if isinstance(node, ast.Assign) and node.targets[0].id == "RESULTS")
    assert ast.literal_eval(names) == ("def_1", "lem_1", "thm_1", "sec_1", "lem_2", "sec_1_unchecked")
    for name in [name for name in sys.modules if name.startswith("sums_")]:
        del sys.modules[name]
    (paper,) = own_papers(["sums-kept"])
    assert [claim.label for claim in Ledger.of([paper]).claims][-2:] == ["lem-2", "eq-3"]


def test_a_number_that_means_another_statement_is_named_and_nothing_is_added(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    assert run(capsys, "a.tex", "--into", "sums-moved")[0] == 0
    first = r"\begin{theorem} Quite another. \end{theorem}"
    last = r"\begin{lemma}\label{n} New, by \cref{t} and \cref{l}. \end{lemma}"
    text = PAPER.replace(r"\begin{definition}", first + r"\begin{definition}", 1)
    (tmp_path / "a.tex").write_text(text.replace(r"\end{document}", last + r"\end{document}"))
    for name in [name for name in sys.modules if name.startswith("sums_")]:
        del sys.modules[name]
    before = (tmp_path / "sums-moved" / "sums_moved" / "thm_1.py").read_bytes()
    status, out, _ = run(capsys, "a.tex", "--into", "sums-moved")
    assert status == 0
    assert "Theorem 1 (a.tex:6) has another text than sums-moved/thm-1" in out
    assert "Theorem 2 (a.tex:9) is already there as sums-moved/thm-1" in out
    assert "Lemma 1" not in out.partition("Not read")[0].splitlines()[-1]
    assert "wrote 1 claim without a check" in out
    assert (tmp_path / "sums-moved" / "sums_moved" / "thm_1.py").read_bytes() == before
    for name in [name for name in sys.modules if name.startswith("sums_")]:
        del sys.modules[name]
    claims = {claim.label: claim for claim in Ledger.of(own_papers(["sums-moved"])).claims}
    assert list(claims) == ["def-1", "lem-1", "eq-1", "thm-1", "eq-2", "lem-2"]
    assert claims["lem-2"].uses == ("sums-moved/thm-1", "sums-moved/lem-1")


@pytest.mark.parametrize(
    ("json_file", "into"),
    [("sums-in/inventory.json", "sums-in"), ("sums-on", "sums-on"), ("sums-on", "sums-on/sums-below")],
)
def test_a_file_in_the_way_of_a_new_package_is_named_before_anything_is_written(capsys, tmp_path, json_file, into):
    (tmp_path / "a.tex").write_text(PAPER)
    (tmp_path / "sums-in").mkdir()
    status, out, err = run(capsys, "a.tex", "--json", json_file, "--into", into)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert json_file in err
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tex", "sums-in"]


def test_a_paper_without_numbered_statements_leaves_no_files(capsys, tmp_path):
    (tmp_path / "a.md").write_text("Words alone.\n")
    status, out, err = run(capsys, "a.md", "--json", "a.json", "--into", "sums-none")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.md"]


def test_a_folder_of_something_else_is_not_written_to(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    for name in ("full", "fedlrt", "Not a name"):
        status, out, err = run(capsys, "a.tex", "--into", name)
        assert (status, out, err.count("\n")) == (2, "", 1)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    "text", ['says """quotes""" and "more"', 'ends in "quotes"', "back\\slash\\ ends \\", 'a $x_\\text{"q"}$ b']
)
def test_odd_texts_stay_as_they_are(tmp_path, text):
    assert " ".join(ast.literal_eval(raw_lines(text)).split()) == " ".join(text.split())


def test_stubs_say_what_was_found_and_which_equation_is_in_which_statement(capsys, tmp_path):
    strange = '"""+print(1) \u2028 ; x'
    (tmp_path / "a.tex").write_text(
        rf"""\documentclass{{article}}\newtheorem{{lemma}}{{Lemma}}\begin{{document}}\section{{Main}} Words.
\begin{{lemma}}\label{{l}} It is \begin{{equation}}\label{{{strange}}} \|x\| \le 2ab. \end{{equation}} \end{{lemma}}
\begin{{lemma}} It is \begin{{align}} x &= y \\ z &= w \end{{align}} \end{{lemma}}
\section{{Proof of Lemma~\ref{{l}}}} \begin{{proof}} So \begin{{equation}} \|x\| \le 3ab \end{{equation}} \end{{proof}}
\begin{{equation}}\label{{{strange}}} u \end{{equation}} \end{{document}}"""
    )
    status, out, _ = run(capsys, "a.tex", "--into", "sums-found")
    assert status == 0
    assert "wrote 7 claims without checks, 1 of them the only equation of a statement (eq-1 in lem-1), into" in out
    source = (tmp_path / "sums-found" / "sums_found" / "lem_1.py").read_text()
    before, _, after = source.partition('"sums-found/eq-1"')
    assert "# To look at: constant (a.tex:2): the proof ends with $3ab$, the statement has $2ab$" in before
    assert "is defined 2 times" in after
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    assert {node.func.id for node in calls} == {"claim", "Evidence"}


def test_a_package_of_stubs_has_tests_and_its_docstrings_say_what_is_stated(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(PAPER)
    assert run(capsys, "a.tex", "--into", "sums-tested")[0] == 0
    folder = tmp_path / "sums-tested"
    assert 'testpaths = ["tests"]' in (folder / "pyproject.toml").read_text()
    (tests,) = (folder / "tests").glob("*.py")
    assert tests.name == "test_sums_tested.py"
    sys.path.insert(0, str(folder))
    assert pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(tests)]) == 0
    modules = {path.stem: ast.parse(path.read_text()) for path in (folder / "sums_tested").glob("*.py")}
    assert ast.get_docstring(modules["thm_1"]) == "Theorem 1 (Main), in Section 1."
    assert ast.get_docstring(modules["lem_1"]) == "Lemma 1, in Section 1."
    assert ast.get_docstring(modules["sec_1"]) == "Equations of Section 1."
    functions = {
        node.name: ast.get_docstring(node)
        for module in modules.values()
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name != "nothing"
    }
    assert functions == {
        "def_1": "Definition 1.",
        "lem_1": "Lemma 1.",
        "eq_1": "Equation (1).",
        "thm_1": "Theorem 1 (Main).",
        "eq_2": "Equation (2).",
    }
    written = [path.read_text() for path in folder.rglob("*.py") if path.parent.name != "tests"]
    docs = [ast.get_docstring(ast.parse(text)) for text in written]
    assert not [text for text in docs if "no check" in text or "without" in text]


SENTENCES = r"""\documentclass{article}\newtheorem{lemma}{Lemma}\begin{document}\section{Planes} Words come first.
If $n \equiv 1, 2 \pmod 4$ and $n$ is not the sum of two squares, then no plane of order $n$ exists.
In fact, we use the sign $P(2, q)$ for spaces of order $q+1$ that are finite. Let $n \le 4$ be the
order that we use. Given $x \in \mathbb{R}^n$, it is easy to see more. Now $x = y$ is called fixed by the whole map.
\begin{lemma} The set has $n < 4$ points and is small. \end{lemma} \section{More}
The bound is 50\% smaller than all the other bounds of this kind. All words are here.
\begin{table}\caption{The table has $n = 4$ rows and is short.} a \end{table}
\end{document}
"""


def test_sentences_that_state_something_are_listed_and_get_stubs_only_if_wanted(capsys, tmp_path):
    (tmp_path / "a.tex").write_text(SENTENCES)
    status, out, _ = run(capsys, "a.tex", "--json", "a.json", "--into", "sums-plain")
    assert status == 0
    assert "Sentences that state something with a formula: 2" in out
    assert out.index("Lemma 1") < out.index("Sentences that state") < out.index("Sentences with a number")
    stated = [one["text"] for one in json.loads((tmp_path / "a.json").read_text())["statements"]]
    assert [text.split()[0] for text in stated] == ["If", "In"]
    assert "wrote 2 claims" in out
    status, out, _ = run(capsys, "a.tex", "--into", "sums-words", "--sentences")
    assert status == 0
    assert "wrote 5 claims" in out
    claims = {claim.label: claim for claim in Ledger.of(own_papers(["sums-words"])).claims}
    assert list(claims) == ["lem-1", "table-1", "txt-1", "txt-2", "txt-3"]
    assert claims["txt-1"].says.split("exists.")[0].startswith("If $n \\equiv 1, 2")
    assert claims["txt-3"].where == "Section 2, Sentence 3 (a.tex:6)"
    assert (
        run(capsys, "a.tex", "--into", "sums-words", "--sentences")[1].count("already has a claim for every item") == 1
    )
    status, out, err = run(capsys, "a.tex", "--sentences")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--into" in err
