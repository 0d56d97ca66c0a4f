"""The examples on the pages for authors run as they are printed."""

import re
import sys
from pathlib import Path

import pytest

import rankproof
from paper_checks.paper import CHANGES

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
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        del sys.modules[module]


def test_the_wrong_cell_of_the_page_holds_with_a_misprint(checked):
    files = {text.split("\n", 1)[0][2:]: text for text in blocks("adding-a-claim.md") if text.startswith("# my_paper/")}
    assert set(files) == {"my_paper/table_1.py", "my_paper/replays/table_1.py"}
    paper = (
        "from paper_checks.paper import Paper\nPAPER = Paper('my-paper', 'Mine', __package__, themes=('table_1',))\n"
    )
    _, out = checked({**files, "my_paper/paper.py": paper})
    assert "holds, misprint" in out


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
