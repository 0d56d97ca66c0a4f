"""The clients of package registries end with the command that started them, however that ends."""

import os
import signal
import sys
from pathlib import Path

import pytest
from ended_commands import ended

from workloads.data import packages
from workloads.data.idx import DataError

ROOT = Path(__file__).resolve().parents[3]
CLIENT = """#!{python}
import os, signal, subprocess, sys
pipe = open(os.environ["PIPE"], "w", buffering=1)
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], pass_fds=[pipe.fileno()])
print("ready", file=pipe)
signal.pause()
"""
COMMAND = """
import os, sys
sys.path.insert(0, {root!r})
os.environ["PIPE"], os.environ["PATH"] = sys.argv[1], {folder!r}
import rankproof
sys.exit(rankproof.main(["data", "fetch", "mnist", "--root", "root"]))
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    ("end", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_whatever_ends_a_fetch_ends_the_client_and_what_it_started(tmp_path, end, status):
    client = tmp_path / "npm"
    client.write_text(CLIENT.format(python=sys.executable))
    client.chmod(0o755)
    program = COMMAND.format(root=str(ROOT), folder=str(tmp_path))
    found, said = ended(["-c", program], tmp_path / "pipe", 1, end, cwd=tmp_path)
    assert found == status
    if end != signal.SIGKILL:
        assert said == "rankproof: stopped\n"
        assert not list((tmp_path / "root").iterdir())


def test_a_client_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "PATIENCE", 0.1)
    with pytest.raises(DataError, match=r"did not end within 0\.1 seconds"):
        packages.run([sys.executable, "-c", "import signal; signal.pause()"], tmp_path)
