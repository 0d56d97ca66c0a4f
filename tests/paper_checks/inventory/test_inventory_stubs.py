"""Stubs of papers that are not trusted: every word of a source is a text in Python, and no more."""

import ast
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankproof
from paper_checks.inventory.document import Document, Item, Place
from paper_checks.inventory.literals import docstring, quoted, raw_lines
from paper_checks.inventory.stubs import plan_stubs

PIECES = [
    '"',
    "'",
    '"""',
    "'''",
    "\\",
    "\\x",
    "\\N{",
    "\\u",
    "{",
    "}",
    "#",
    "\n",
    "\r",
    "\0",
    "\ud800",
    "é",
    " ",
    "a b",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join)
LONG = st.tuples(TEXTS, st.integers(1, 60)).map(lambda pair: (pair[0] + " ") * pair[1])


@given(TEXTS | LONG)
def test_every_literal_reads_as_its_text(text):
    assert ast.literal_eval(quoted(text)) == text
    assert ast.literal_eval(docstring(text)) == text
    assert ast.literal_eval(raw_lines(text)).split() == text.split()


def shown(text):
    """Return a text as a claim has it: signs that cannot be printed and runs of spaces are single spaces."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


@settings(max_examples=60)
@given(TEXTS, TEXTS, TEXTS | LONG, TEXTS, TEXTS)
def test_modules_of_stubs_have_the_texts_and_no_other_statement(tmp_path_factory, title, called, text, label, section):
    place, text = Place(label or "a.tex", 1), f"All {text}"  # a text without a word would be left out
    items = (
        Item("theorem", "1", place, section, title, text, label, called=called),
        Item("equation", "2", place, section, "", text, label, inside=("theorem", "1")),
        Item("equation", "3", place, section, "", text, label),
    )
    document = Document("a.tex", title, items=items)
    folder = tmp_path_factory.getbasetemp() / "texts-of-others"
    plan = plan_stubs(document, folder)
    of_package = {path.relative_to(folder): text for path, text in plan.texts.items() if path.parent.name != "tests"}
    files = {path: text for path, text in of_package.items() if path.suffix == ".py"}
    texts = {str(path): ast.parse(text.encode()) for path, text in files.items()}
    calls = set()
    for module in texts.values():
        for node in module.body:
            assert isinstance(node, ast.Expr | ast.ImportFrom | ast.FunctionDef | ast.Assign)
            assert not isinstance(node, ast.Expr) or isinstance(node.value, ast.Constant)
        calls |= {node.func.id for node in ast.walk(module) if isinstance(node, ast.Call)}
        assert ast.get_docstring(module) is not None
    assert calls == {"claim", "Evidence", "Paper"}
    (theorem,) = (node for node in texts["texts_of_others/thm_1.py"].body if getattr(node, "name", "") == "thm_1")
    keywords = theorem.decorator_list[0].keywords
    words = {word.arg: ast.literal_eval(word.value) for word in keywords if word.arg != "measure"}
    assert shown(title) in ast.get_docstring(texts["texts_of_others/__init__.py"])
    assert shown(text) in " ".join(words["says"].split())
    assert words["where"].endswith(shown(f"{items[0].name} ({place})"))


@pytest.fixture
def _forget():
    """Forget the package that the test imports."""
    yield
    for module in [module for module in sys.modules if module.partition(".")[0] == "strange"]:
        del sys.modules[module]


@pytest.mark.usefixtures("_forget")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", '# A""" ; import pathlib; pathlib.Path(\'PWNED\').write_text(\'x\') ; """\n\n**Theorem 1.** All.\n'),
        ("a.tex", r'\title{A""" + str(print("RUN")) + """B}' "\n"),
        ("a.tex", r"\title{Zeros of the $\xi$ function, $\nu$ and $\Nu \u \x$}" "\n"),
        ("a.tex", r'\newtheorem{odd}{The"""+str(print("RUN"))+"""orem $\xi$}' "\n"),
    ],
)
def test_a_received_paper_runs_no_code(capsys, tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    if name == "a.tex":
        name_of = "odd" if "odd" in text else "theorem"
        body = rf"\begin{{{name_of}}} All. \end{{{name_of}}} Words."
        text = rf"\documentclass{{article}}{text}\begin{{document}}{body}\end{{document}}"
    (tmp_path / name).write_text(text)
    assert rankproof.main(["inventory", name, "--into", "strange"]) == 0
    capsys.readouterr()
    assert rankproof.main(["check", "--papers", "strange", "strange/"]) == 0
    out, _ = capsys.readouterr()
    assert "1 claim: 1 not checked yet; every" in out
    assert "RUN" not in out.splitlines()
    assert not (tmp_path / "PWNED").exists()
