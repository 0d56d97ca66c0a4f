"""Work that never ends, for tests of who ends it."""

import os
import threading


def hold(pipe):
    """Say it is ready and keep the pipe open for as long as this process lives."""
    with open(pipe, "w") as stream:
        stream.write("ready\n")
        stream.flush()
        threading.Event().wait()


def identity(_):
    return os.getpid()
