"""The examples on the pages for authors run as they are printed."""

import dataclasses
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

import rankproof
from paper_checks.engine.lines import STRENGTHS
from paper_checks.paper import CHANGES, Paper

DOCS = Path(rankproof.__file__).parent / "docs"


def blocks(page):
    """Return the Python blocks of a page, in their order."""
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def checked(request, tmp_path, monkeypatch, capsys):
    """Yield a function that writes files into a new paper and checks it; the files call the paper `my-paper`."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = f"pages-of-{re.sub('[^a-z]+', '-', request.node.name)}"
    folder, package = tmp_path / name, name.replace("-", "_")

    def check(files):
        for place, text in {"my_paper/__init__.py": "", "my_paper/replays/__init__.py": "", **files}.items():
            path = folder / place.replace("my_paper", package)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("my_paper", package).replace("my-paper", name))
        asked = ["check", "--papers", str(folder), f"{name}/", "--jobs", "1"]
        rankproof.main([*asked, "--store"])
        stored = capsys.readouterr()
        assert rankproof.main(asked) == 0, stored.out + stored.err
        return folder, capsys.readouterr().out

    yield check
    _forget(package)


def test_the_wrong_cell_of_the_page_holds_with_a_misprint(checked):
    files = {text.split("\n", 1)[0][2:]: text for text in blocks("adding-a-claim.md") if text.startswith("# my_paper/")}
    assert set(files) == {"my_paper/table_1.py", "my_paper/replays/table_1.py"}
    paper = (
        "from paper_checks.paper import Paper\nPAPER = Paper('my-paper', 'Mine', __package__, themes=('table_1',))\n"
    )
    _, out = checked({**files, "my_paper/paper.py": paper})
    assert "holds, with a misprint" in out


def test_the_examples_of_signatures_are_a_package_whose_verdicts_are_found(checked, capsys):
    files = {"my_paper/checks.py": ""}
    for text in blocks("writing-checks.md"):
        place = text.split("\n", 1)[0][2:] if text.startswith("# my_paper/") else "my_paper/checks.py"
        files[place] = files.get(place, "") + text + "\n\n"
    assert set(files) == {"my_paper/checks.py", "my_paper/replays/checks.py", "my_paper/paper.py"}
    folder, out = checked(files)
    assert "every verdict as recorded" in out
    assert rankproof.main(["pages", "--papers", str(folder), "--out", str(folder / "docs")]) == 0
    assert [path.name for path in folder.glob("docs/*-findings.md")] == [f"{folder.name}-findings.md"]


def test_the_page_of_signatures_is_short_and_names_every_change():
    page = (DOCS / "writing-checks.md").read_text()
    prose = re.sub(r"^```.*?^```$|`[^`]*`", "", page, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"[A-Za-z]+", prose)) <= 700
    assert all(f'"{one}"' in page for one in CHANGES)


PAPER = r"""
\documentclass{article}
\usepackage{amsthm}
\newtheorem{theorem}{Theorem}
\newtheorem{lemma}{Lemma}
\title{Squares and planes}
\begin{document}
\section{Introduction}
We compare.
\section{Sums}
\begin{equation}
\sqrt{\beta^2 x} = \beta \sqrt{x}
\end{equation}
\begin{lemma}
For $a, b > 0$: $2ab \le a^2 + b^2$.
\end{lemma}
\begin{table}
\begin{tabular}{lrrr}
 & first & second & average \\
ours & 88.1 & 90.3 & 89.2 \\
theirs & 80.0 & 81.0 & 80.5
\end{tabular}
\caption{Accuracies.}
\end{table}
\section{Planes}
\begin{theorem}
In the plane of order 2, two points are on exactly one line.
\end{theorem}
\begin{equation}
|P| = q^2 + q
\end{equation}
\end{document}
"""
"""A paper with the five statements of the page for authors."""


def test_the_page_for_authors_leads_from_a_source_to_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # a process for each statement takes longer than all statements
    (tmp_path / "paper.tex").write_text(PAPER)
    page = (DOCS / "your-own-paper.md").read_text()
    before, after = re.findall(r"^```bash\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    try:
        for line in before.splitlines():
            assert rankproof.main([*shlex.split(line, comments=True)[1:]]) == 0, capsys.readouterr().err
        assert "every verdict as recorded" in capsys.readouterr().out
        _forget("my_paper")
        written = {path.name for path in tmp_path.glob("my-paper/my_paper/*.py")}
        files = {text.split("\n", 1)[0][2:]: text for text in blocks("your-own-paper.md")}
        assert {place.partition("/")[2] for place in files} - written == {"replays/sec_3.py", "findings.py"}
        for place, text in files.items():
            (tmp_path / "my-paper" / place).write_text(text)
        paper = tmp_path / "my-paper" / "my_paper" / "paper.py"
        text = paper.read_text().replace("    RESULTS,\n", "    RESULTS,\n    findings=FINDINGS,\n")
        paper.write_text(text.replace("\nRESULTS =", "\nfrom my_paper.findings import FINDINGS\n\nRESULTS ="))
        told = ""
        for line in after.splitlines():
            assert rankproof.main([*shlex.split(line, comments=True)[1:]]) == 0, capsys.readouterr()
            told += capsys.readouterr().out
    finally:
        _forget("my_paper")
    assert "stored my-paper--eq-2.json" in told
    assert "5 claims: 5 hold (1 with a misprint); every verdict as recorded" in told
    assert "5 entries: 5 hold. As printed, 1 fails, and as meant none: `rankproof claims --papers " in (
        " ".join(told.split())
    )
    assert (tmp_path / "report" / "index.html").exists()


def _forget(package):
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        del sys.modules[module]


def test_the_page_for_authors_is_short_and_says_what_they_asked():
    page = (DOCS / "your-own-paper.md").read_text()
    assert len(page.split()) <= 900
    for needed in ("`case=`", "`positive`", "`readable=`", "`asks=`", "`my-paper/my_paper/`", "`--replay-seconds`"):
        assert needed in page
    assert all(f'`"{one}"`' in page for one in STRENGTHS)
    for field in dataclasses.fields(Paper):
        assert f"`{field.name}`" in page or field.name in ("together", "rewritten", "named")
