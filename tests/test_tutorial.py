"""Pages that are notebooks print what they show, and their notebooks are made of them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "website"))
from notebook import PAGES, Cell, cells, notebook, page_of, run  # noqa: E402

from paper_checks.fedloru.spectral import prop_3_1  # noqa: E402

SOURCES = {page: page.read_text(encoding="utf-8") for page in PAGES}


def untimed(text):
    return re.sub(r"^time +[\d.]+ s$", "time", text, flags=re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_notebook_is_that_of_the_page(page):
    source = SOURCES[page]
    assert page.with_suffix(".ipynb").read_text(encoding="utf-8") == notebook(cells(source))
    assert page_of(cells(source)) == source


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_outputs_are_those_of_the_cells(page, tmp_path, monkeypatch):
    """A cell of the tutorial puts a wrong line into the check, which is always taken back here."""
    monkeypatch.setattr(prop_3_1, "limiting_eigenvalue", prop_3_1.limiting_eigenvalue)
    shown = [cell for cell in cells(SOURCES[page]) if cell.kind != "words"]
    assert "python" in {cell.kind for cell in shown}
    for cell, found in zip(shown, run(shown, tmp_path, page.stem), strict=True):
        assert untimed(found.output) == untimed(cell.output), cell.source
        assert (found.title, found.picture) == (cell.title, cell.picture), cell.source


def test_figures_are_the_pictures_after_their_cells(tmp_path):
    draw = "from matplotlib import pyplot\n_, axes = pyplot.subplots()\naxes.set_title({!r})\n"
    page = (
        f"```python\n{draw.format('One')}print(1)\n```\n\n```python\nx = 2\n```\n\n```python\n{draw.format('Two')}```\n"
    )
    done = list(run(cells(page), tmp_path, "page"))
    assert [cell.picture for cell in done] == ["figures/page-1.png", "", "figures/page-2.png"]
    assert "```text\n1\n```\n\n![One](figures/page-1.png)\n\n```python\nx = 2" in page_of(done)
    assert cells(page_of(done)) == done
    outputs = [cell["outputs"] for cell in json.loads(notebook(done, tmp_path))["cells"]]
    assert [len(some) for some in outputs] == [2, 0, 1]
    assert outputs[2][0]["data"]["image/png"]
    two = "from matplotlib import pyplot\npyplot.figure()\npyplot.figure()\n"
    with pytest.raises(ValueError, match="at most one figure, got 2"):
        list(run([Cell("python", two)], tmp_path))


def test_a_notebook_has_commands_programs_and_words():
    page = "# Title\n\n```bash\npip install it\n```\n\nSo $`x`$.\n\n"
    page += "```bash\nls\nls a\n```\n\n```text\na\n```\n\n```python\nx = 1\n```\n"
    whole = json.loads(notebook(cells(page)))
    kinds = [(cell["cell_type"], "".join(cell["source"])) for cell in whole["cells"]]
    assert kinds == [
        ("markdown", "# Title\n\n```bash\npip install it\n```\n\nSo $x$."),
        ("code", "!ls\n!ls a"),
        ("code", "x = 1"),
    ]
    assert [cell.get("outputs", []) != [] for cell in whole["cells"]] == [False, True, False]
    assert page_of(cells(page)) == page


def test_programs_share_names_and_a_failing_command_ends_the_run(tmp_path):
    done = list(run([Cell("python", "x = 2"), Cell("python", "print(x + 1)"), Cell("bash", "echo b")], tmp_path))
    assert [cell.output for cell in done] == ["", "3\n", "b\n"]
    with pytest.raises(subprocess.CalledProcessError):
        list(run([Cell("bash", "exit 3")], tmp_path))
