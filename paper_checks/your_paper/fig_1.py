"""Figure 1 (Section 5): an experiment that no check repeats, with what stored runs show of it."""

from __future__ import annotations

import pandas as pd

from figures.experiments.effects import by_seed, paired_effect
from figures.experiments.experiment import finals
from paper_checks.methods.experiments import Comparisons, experiment


def full_above_low_rank(table: pd.DataFrame) -> Comparisons:
    """Yield the difference of final accuracies, seed by seed, for each number of clients."""
    ends = finals(table)
    for count in sorted(ends.clients.unique()):
        full, low = (by_seed(ends, method=method, clients=int(count)) for method in ("FedAvg", "FedLoRA"))
        yield f"FedAvg above FedLoRA with {count} clients", paired_effect(full, low)


FIG_1 = experiment(
    __name__,
    "your-paper/fig-1",
    "fedloru/tab-7",
    "Section 5, Figure 1",
    "On CIFAR-10, with a tenth of the clients in each round, FedAvg ends with a higher accuracy than FedLoRA.",
    "it is about runs on CIFAR-10 that no check repeats; the stored runs, of a small network on Fashion-MNIST, decide "
    "nothing about them",
    full_above_low_rank,
)
