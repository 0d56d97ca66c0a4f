"""Modules that write pages and pictures of ``docs/``: `--help` helps, and no folder is created."""

import runpy
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).resolve().parents[1] / "Makefile"
WRITERS = [
    line.split(" -m ")[1].split()[0]
    for line in MAKEFILE.read_text(encoding="utf-8").split("\ndocs:")[1].split("\n\n")[0].splitlines()
    if " -m " in line
]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("module", WRITERS)
def test_a_writer_explains_itself_and_refuses_what_is_no_folder(module, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for words, status in ((["--help"], 0), (["none"], 2), (["--hlep"], 2)):
        monkeypatch.setattr(sys, "argv", [module, *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(module, run_name="__main__")
        assert ended.value.code == status
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: python -m {module} [-h] [folder]")
    assert err.splitlines() == [
        f"rankproof: none is not a folder; name an existing one; see `python -m {module} --help`",
        f"rankproof: unrecognized arguments: --hlep; did you mean --help?; see `python -m {module} --help`",
    ]
    assert not list(tmp_path.iterdir())


def test_every_writer_is_found():
    assert len(WRITERS) == 7
