"""Work for clients in other processes: a worker imports it by this module's name."""

import os
import resource
import signal
import time

import numpy as np
import torch

from algorithms.federation import FederationError, Reply
from algorithms.tree import Tree
from toymodels.quadratic import random_quadratics


def quadratics(clients=23, shape=(6, 4)):
    return random_quadratics(shape, clients, np.random.default_rng(1), heterogeneity=0.5)


def answer_number(client, memory):
    return Reply(torch.tensor(float(memory.number)))


def tell_process(client, memory):
    return Reply(
        torch.tensor([os.getpid(), torch.get_num_threads(), memory.kept.get("process", 0)]),
        keep={"process": os.getpid()},
    )


def die(client, memory, at):
    if memory.number == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return Reply(torch.ones(2))


def die_once(client, memory, at, marker):
    """Ends its process the first time."""
    if memory.number == at:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return Reply(memory.kept["w"], keep={"w": 2 * memory.kept["w"]})


def fail(client, memory, at):
    if memory.number >= at:
        raise FederationError(f"client {memory.number} has a wrong file")
    return Reply(torch.ones(2))


def divide(client, memory):
    return Reply(torch.tensor(1 / 0))


def differ(client, memory):
    return Reply({"a": torch.ones(2)} if memory.number < 4 else Tree(b=torch.ones(2)))


def add_kept(client, memory, w):
    return Reply(w, keep={"w": w + memory.number})


def add_to_kept(client, memory, w):
    return Reply(w, keep={"w": memory.kept["w"] + w})


def read_kept(client, memory):
    return Reply(memory.kept["w"])


def read_told(client, memory):
    return Reply(memory.shared["value"])


def write_and_wait(client, memory, pipe):
    """Report that it is at work, and hold the pipe open as long as this process lives."""
    with open(pipe, "w") as held:
        held.write("ready\n")
        held.flush()
        time.sleep(3600)
    return Reply()


def send_share_of_one(client, memory):
    return Reply({"W": torch.full((3,), 1 / (memory.number + 1), dtype=torch.bfloat16)})


def pages_taken(client, memory):
    """Return the page faults for the tensors of ten clients, four of 4 MiB each, which are released."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        assert sum(float(one[0]) for one in [torch.ones(1 << 20) for _ in range(4)]) == 4.0
    return Reply(torch.tensor(float(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)))
