"""A network of your own: any torch module with one tensor of outputs. `python examples/own_network.py`."""

import torch
from torch import nn

from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.rounds import rounds
from runs.network_problem import network_problem
from workloads.partition import Even


class Counter(nn.Module):
    """A network that counts the token 0 among four: an embedding, a recurrent layer, a head of five classes."""

    def __init__(self):
        super().__init__()
        self.embedding, self.memory, self.head = nn.Embedding(3, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 5)

    def forward(self, tokens):
        return self.head(self.memory(self.embedding(tokens))[0][:, -1])


torch.manual_seed(0)
tokens = torch.randint(3, (500, 4))
counts = (tokens == 0).sum(1)
train, test = (tokens[:400], counts[:400]), (tokens[400:], counts[400:])
problem = network_problem(Counter(), train, Even().parts(train[1], clients=4, seed=0), test)
for step in rounds(FedAvg(Descent(steps=8, batch=20, learning_rate=1.0)), problem, rounds=8):
    print(step.metrics["round"], step.metrics["accuracy"])
