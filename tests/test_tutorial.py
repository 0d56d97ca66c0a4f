"""The tutorial prints what it shows, and its notebook is made of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "website"))
from notebook import PAGE, Cell, cells, notebook, page_of, run  # noqa: E402

from paper_checks.fedloru.spectral import prop_3_1  # noqa: E402

SOURCE = PAGE.read_text(encoding="utf-8")


def untimed(text):
    return re.sub(r"^time +[\d.]+ s$", "time", text, flags=re.M)


def test_the_notebook_is_that_of_the_page():
    assert PAGE.with_suffix(".ipynb").read_text(encoding="utf-8") == notebook(cells(SOURCE))
    assert page_of(cells(SOURCE)) == SOURCE


@pytest.mark.slow
def test_its_outputs_are_those_of_its_cells(tmp_path, monkeypatch):
    """One of its cells puts a wrong line into the check, which is always taken back here."""
    monkeypatch.setattr(prop_3_1, "limiting_eigenvalue", prop_3_1.limiting_eigenvalue)
    shown = [cell for cell in cells(SOURCE) if cell.kind != "words"]
    assert {cell.kind for cell in shown} == {"python", "bash"}
    for cell, found in zip(shown, run(shown, tmp_path), strict=True):
        assert untimed(found.output) == untimed(cell.output), cell.source


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
