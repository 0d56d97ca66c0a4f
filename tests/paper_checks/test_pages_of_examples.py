"""The examples on the pages for authors run as they are printed."""

import re
import sys
from pathlib import Path

import pytest

import rankproof

DOCS = Path(rankproof.__file__).parent / "docs"


def blocks(page):
    """Return the Python blocks of a page, in their order."""
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    """Yield the folder of a new paper that has one table."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "my-paper"
    assert rankproof.main(["new-paper", "my-paper", "--out", str(folder), "--example", "table"]) == 0
    capsys.readouterr()
    paper = folder / "my_paper" / "paper.py"
    text = re.sub('^    "One .*",$', '    "My paper",', paper.read_text(), flags=re.MULTILINE)
    paper.write_text(text.replace("A. Author, draft", "B. Author"))
    forget()
    yield folder
    forget()


def forget():
    """Forget the modules of the new paper, which are written again."""
    for module in [module for module in sys.modules if module.partition(".")[0] == "my_paper"]:
        del sys.modules[module]


def test_the_wrong_cell_of_the_page_holds_with_a_misprint(project, capsys):
    written = {
        text.split("\n", 1)[0][2:]: text for text in blocks("adding-a-claim.md") if text.startswith("# my_paper/")
    }
    assert set(written) == {"my_paper/table_1.py", "my_paper/replays/table_1.py"}
    for place, text in written.items():
        (project / place).write_text(text)
    asked = ["check", "--papers", str(project), "my-paper/", "--jobs", "1"]
    rankproof.main([*asked, "--store"])
    capsys.readouterr()
    assert rankproof.main(asked) == 0
    assert "holds, misprint" in capsys.readouterr().out
