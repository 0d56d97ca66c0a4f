"""Commands that are ended while processes of theirs wait, for tests that none of these outlives them."""

import os
import select
import signal
import subprocess
import sys

PATIENCE = 300  # seconds until a test gives up; nothing waits for this long otherwise


def ended(program, pipe, processes, end, cwd):
    """Runs Python with a program and a pipe, ends it once so many processes hold that, and waits until none does.

    Returns the status and what was written to standard error.
    """
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    command = subprocess.Popen(
        [sys.executable, *program, str(pipe)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=cwd,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    try:
        seen = b""
        while seen.count(b"ready\n") < processes:
            seen += _next(reader)
        if end == signal.SIGINT:
            os.killpg(command.pid, end)  # a terminal sends it to all
        else:
            command.send_signal(end)
        assert _next(reader) == b""  # the last process that held the pipe is gone
        _, said = command.communicate(timeout=PATIENCE)
    finally:
        os.close(reader)
        command.kill()
    return command.returncode, said


def _next(reader):
    """Next content of the pipe; nothing when nobody can write to it any more."""
    ready, _, _ = select.select([reader], [], [], PATIENCE)
    assert ready, "nothing was written, and somebody still holds the pipe"
    return os.read(reader, 100)
