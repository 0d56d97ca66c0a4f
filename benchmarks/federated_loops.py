"""Rounds of federated averaging by hand and by other libraries, which `benchmarks/federated.py` compares with.

Every contender runs the same rounds: the same clients, batches in the same order, `torch.optim.SGD`, and averages
weighted by samples. This file needs only torch and numpy, so that the libraries may have their own environment:
``PYTHON federated_loops.py LIBRARY TASK``, where TASK is a file with the pickled task, answers requests for rounds, one
JSON line each.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import Tensor, nn

State = dict[str, Tensor]


class Task(NamedTuple):
    """Training task of all contenders.

    Attributes:
        module: The network at its start.
        travelling: Names of the parameters and running statistics that are averaged.
        x: Inputs of all clients.
        y: Labels of the inputs.
        parts: Each client's samples.
        rate: Learning rate of the steps.
        batch: Samples of a step.
        seed: Seed of the orders of samples.
    """

    module: nn.Module
    travelling: tuple[str, ...]
    x: Tensor
    y: Tensor
    parts: Sequence[Tensor]
    rate: float
    batch: int
    seed: int

    def batches(self, round: int, client: int) -> Iterator[Tensor]:
        """Yield the samples of each step of one pass, as `Descent` draws them."""
        mine = self.parts[client]
        rng = np.random.default_rng([self.seed, round, 1, client])
        for samples in torch.from_numpy(rng.permutation(len(mine))).split(self.batch):
            yield mine[samples]

    def held(self, module: nn.Module) -> State:
        """Return the parameters and running statistics of a module that are sent."""
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        return {name: tensors[name].detach() for name in self.travelling}

    def steps(self, module: nn.Module, optimiser: torch.optim.Optimizer, batches: Iterator[Tensor]) -> None:
        """Take the local steps."""
        for samples in batches:
            optimiser.zero_grad()
            nn.functional.cross_entropy(module(self.x[samples]), self.y[samples]).backward()
            optimiser.step()

    def shares(self, cohort: Sequence[int]) -> list[float]:
        """Return the weights in the average."""
        sizes = [len(self.parts[client]) for client in cohort]
        return [size / sum(sizes) for size in sizes]


class Bare:
    """One module for all clients, weights loaded in place, one running sum, and torch's optimiser."""

    def __init__(self, task: Task) -> None:
        self.task, self.module = task, copy.deepcopy(task.module).train()
        held = task.held(self.module)
        self.loaded, self.state = list(held.values()), {name: value.clone() for name, value in held.items()}

    def round(self, number: int, cohort: Sequence[int]) -> None:
        """Run one round."""
        start = list(self.state.values())
        total = [torch.zeros_like(value) for value in start]
        for client, share in zip(cohort, self.task.shares(cohort), strict=True):
            torch._foreach_copy_(self.loaded, start)
            self.train(self.task.batches(number, client))
            torch._foreach_add_(total, self.loaded, alpha=share)
        self.state = dict(zip(self.state, total, strict=True))

    def train(self, batches: Iterator[Tensor]) -> None:
        """Take a client's steps."""
        self.task.steps(self.module, torch.optim.SGD(self.module.parameters(), lr=self.task.rate), batches)


class InPlace(Bare):
    """The same with steps in place and without an optimiser: the leanest loop that we know."""

    def train(self, batches: Iterator[Tensor]) -> None:
        """Take a client's steps."""
        parameters = list(self.module.parameters())
        for samples in batches:
            loss = nn.functional.cross_entropy(self.module(self.task.x[samples]), self.task.y[samples])
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for parameter, grad in zip(parameters, gradients, strict=True):
                    self.move(parameter, grad)

    def move(self, parameter: Tensor, grad: Tensor) -> None:
        """Take a step of one parameter."""
        parameter.sub_(grad, alpha=self.task.rate)


class RoundedTwice(InPlace):
    """The same, with each product rounded before the difference, as in our steps."""

    def move(self, parameter: Tensor, grad: Tensor) -> None:
        """Take a step of one parameter."""
        parameter.sub_(grad * self.task.rate)


class Gradients(Bare):
    """Forward and backward passes over the same batches only: the lower limit."""

    def round(self, number: int, cohort: Sequence[int]) -> None:
        """Compute one round's gradients."""
        for client in cohort:
            for samples in self.task.batches(number, client):
                self.module.zero_grad()
                nn.functional.cross_entropy(self.module(self.task.x[samples]), self.task.y[samples]).backward()


class DeepCopies:
    """A copy of the model and a data loader for each client, and state dictionaries averaged at the end."""

    def __init__(self, task: Task) -> None:
        self.task, self.module = task, copy.deepcopy(task.module).train()

    @property
    def state(self) -> State:
        """Return the averaged weights."""
        return self.task.held(self.module)

    def round(self, number: int, cohort: Sequence[int]) -> None:
        """Run one round."""
        task, states = self.task, []
        data = torch.utils.data.TensorDataset(task.x, task.y)
        for client in cohort:
            model = copy.deepcopy(self.module)
            optimiser = torch.optim.SGD(model.parameters(), lr=task.rate)
            batches = [samples.tolist() for samples in task.batches(number, client)]
            for x, y in torch.utils.data.DataLoader(data, batch_sampler=batches):
                optimiser.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimiser.step()
            states.append(model.state_dict())
        shares = task.shares(cohort)
        mean = {
            name: sum(share * state[name] for share, state in zip(shares, states, strict=True)) for name in states[0]
        }
        self.module.load_state_dict(mean)


# Libraries


class Pfl:
    """pfl: `FederatedAveraging` on the simulated backend, clients weighted alike; it averages no running statistics."""

    def __init__(self, task: Task) -> None:
        from pfl.aggregate.simulate import SimulatedBackend
        from pfl.algorithm.federated_averaging import FederatedAveraging
        from pfl.data.dataset import Dataset
        from pfl.data.federated_dataset import FederatedDataset
        from pfl.hyperparam import NNTrainHyperParams
        from pfl.model.pytorch import PyTorchModel

        self.task, self.module, self.number = task, copy.deepcopy(task.module).train(), 0
        self.asked: Iterator[int] = iter(())
        module: Any = self.module
        module.loss = lambda x, y: nn.functional.cross_entropy(module(x), y)
        module.metrics = lambda x, y: {}
        self.model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
        self.algorithm = FederatedAveraging()

        def of_user(client: int) -> Any:
            order = torch.cat(list(task.batches(self.number, client)))
            return Dataset((task.x[order], task.y[order]), user_id=str(client))

        data = FederatedDataset(of_user, lambda: next(self.asked))
        self.backend = SimulatedBackend(data, data)
        self.settings = NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=task.rate, local_batch_size=task.batch
        )

    @property
    def state(self) -> State:
        """Return the model's weights."""
        return self.task.held(self.module)

    def round(self, number: int, cohort: Sequence[int]) -> None:
        """Run one iteration of its loop, without evaluation and callbacks."""
        import asyncio

        from pfl.common_types import Population
        from pfl.context import CentralContext

        self.number, self.asked = number, iter(cohort)
        context = CentralContext(
            current_central_iteration=number - 1,
            do_evaluation=False,
            cohort_size=len(cohort),
            population=Population.TRAIN,
            algorithm_params=None,
            model_train_params=self.settings,
        )
        statistics, metrics = asyncio.run(
            self.backend.async_gather_results(self.model, self.algorithm, central_context=context)
        )
        self.algorithm.process_aggregated_statistics(context, metrics, self.model, statistics)


def flower(place: str) -> None:
    """Run flwr's simulation on Ray with one processor for each actor, and a server that requests and averages."""
    os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    client, server, nodes = ClientApp(), ServerApp(), int(Path(place).with_suffix(".cohort").read_text())

    @client.train()
    def train(message: Any, context: Any) -> Any:
        sys.path.insert(0, ROOT)
        torch.set_num_threads(1)
        task = kept_task(place)
        model, config = kept_module(place), message.content["config"]
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(model.parameters(), lr=task.rate)
        task.steps(model, optimiser, task.batches(config["round"], config["client"]))
        return Message(RecordDict({"arrays": ArrayRecord(model.state_dict())}), reply_to=message)

    @server.main()
    def main(grid: Any, context: Any) -> None:
        task = kept_task(place)
        mean = copy.deepcopy(task.module).state_dict()
        patience = time.monotonic() + 120.0
        while len(known := sorted(grid.get_node_ids())) < nodes:
            if time.monotonic() > patience:  # Ray gives up after 30 seconds, but leaves this thread waiting
                os._exit(1)
            time.sleep(0.1)

        class Flower:
            def round(self, number: int, cohort: Sequence[int]) -> None:
                arrays = ArrayRecord(mean)
                asked = [
                    Message(
                        RecordDict({"arrays": arrays, "config": ConfigRecord({"round": number, "client": k})}),
                        message_type="train",
                        dst_node_id=node,
                    )
                    for node, k in zip(known, cohort, strict=True)
                ]
                states = [reply.content["arrays"].to_torch_state_dict() for reply in grid.send_and_receive(asked)]
                # Replies come in any order, and clients have equal shares.
                mean.update({name: sum(state[name] for state in states) / len(states) for name in mean})
                self.state = {name: mean[name] for name in task.travelling}

        serve(Flower())

    settings = {"client_resources": {"num_cpus": 1}, "init_args": {"include_dashboard": False}}
    run_simulation(server, client, num_supernodes=nodes, backend_config=settings)


_KEPT: dict[str, Any] = {}


def kept_task(place: str) -> Task:
    """Return the task, read once in each process."""
    if place not in _KEPT:
        _KEPT[place] = torch.load(place, weights_only=False)
    return Task(*_KEPT[place])


def kept_module(place: str) -> nn.Module:
    """Return a module for all clients of a process."""
    if "module" not in _KEPT:
        _KEPT["module"] = copy.deepcopy(kept_task(place).module).train()
    module: nn.Module = _KEPT["module"]
    return module


# Asked by lines of JSON


def cpu_seconds() -> float:
    """Return the processor time of this process and of all that it started."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            number = int(entry.name)
            children.setdefault(int(fields[1]), []).append(number)
            ticks[number] = sum(map(int, fields[11:15]))
    pending, total = list(children.get(os.getpid(), [])), 0
    while pending:
        number = pending.pop()
        total += ticks.get(number, 0)
        pending += children.get(number, [])
    return time.process_time() + total / os.sysconf("SC_CLK_TCK")


def timed(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, float]:
    """Return CPU seconds and wall seconds of a call."""
    cpu, wall = clock(), time.perf_counter()
    call()
    return clock() - cpu, time.perf_counter() - wall


def serve(contender: Any) -> None:
    """Run the requested rounds, and answer on the standard output that the process started with."""
    print(json.dumps("ready"), file=_ANSWERS, flush=True)
    for line in sys.stdin:
        number, cohort, place = json.loads(line)
        clock = time.process_time if isinstance(contender, Pfl) else cpu_seconds
        answer = timed(lambda number=number, cohort=cohort: contender.round(number, cohort), clock)
        if place:
            torch.save({name: value.clone() for name, value in contender.state.items()}, place)
        print(json.dumps(answer), file=_ANSWERS, flush=True)


_ANSWERS: Any = None

if __name__ == "__main__":
    _ANSWERS = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    torch.set_num_threads(1)
    if sys.argv[1] == "flwr":
        flower(sys.argv[2])
    else:
        serve(Pfl(kept_task(sys.argv[2])))
