"""An algorithm of your own: a dataclass with start, round and weights. `python examples/own_algorithm.py`."""

from dataclasses import dataclass

import numpy as np

from algorithms.descent import Descent
from algorithms.fedavg import local_descent
from algorithms.rounds import rounds
from toymodels.quadratic import random_quadratics


@dataclass(frozen=True)
class FedAvgM:
    local: Descent  # FedAvg with momentum at the server; the state is the weights and their velocity

    def start(self, fed, w):
        return w, 0.0 * w

    def round(self, fed, cohort, state):
        w, velocity = state
        mean = fed.mean(local_descent, to=cohort, draw=self.local.draw, w=w, settings=self.local)
        velocity = 0.7 * velocity + (mean - w)
        return w + velocity, velocity

    def weights(self, state):
        return state[0]


problem = random_quadratics((6, 5), 10, np.random.default_rng(0), heterogeneity=0.1)
for step in rounds(FedAvgM(Descent(steps=5, learning_rate=0.1)), problem, rounds=30, cohort=5):
    print(step.metrics["round"], step.metrics["loss"])
