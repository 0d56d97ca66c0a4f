"""Runs that end after a number of local steps, by an interrupt or as if they were killed."""

import os
from dataclasses import fields, replace

from algorithms.descent import Descent
from algorithms.schedules import Constant


class Limited(Constant):
    """A rate that ends the process, or raises an interrupt, when it is asked for a number of times."""

    left, kill = 0, False

    def __call__(self, index):
        Limited.left -= 1
        if not Limited.left:
            if Limited.kill:
                os._exit(7)
            raise KeyboardInterrupt
        return self.rate


def limited(parts):
    """The parts with rates that count their calls."""
    changed = {
        entry.name: replace(local, learning_rate=Limited(local.learning_rate))
        for entry in fields(parts.algorithm)
        if isinstance(local := getattr(parts.algorithm, entry.name), Descent)
    }
    return replace(parts, algorithm=replace(parts.algorithm, **changed))
