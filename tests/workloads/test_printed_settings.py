"""The printed federations can be made, and name data sets that there are."""

import numpy as np
import pytest

from workloads.data.datasets import REGISTRY
from workloads.partition import hold_out
from workloads.printed_settings import CLIENTS_OF_RANK, FEDERATIONS, client_ranks


@pytest.mark.parametrize("name", FEDERATIONS)
def test_every_printed_federation_can_be_made(name):
    federation = FEDERATIONS[name]
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 5000))
    for clients in federation.clients:
        train, _ = hold_out(len(labels), federation.held_out, 0)
        parts = federation.partition.parts(labels[train], clients, 0)
        assert len(parts) == clients
        assert parts.sizes.sum() == len(train)
        assert round(clients * federation.participation) >= 1
    assert set(federation.data) <= set(REGISTRY)


def test_rolora_gives_two_labels_or_one():
    labels = np.repeat(np.arange(10), 20)
    for name, each in (("rolora-two-labels", 2), ("rolora-one-label", 1)):
        (clients,) = FEDERATIONS[name].clients
        parts = FEDERATIONS[name].partition.parts(labels, clients, 0)
        assert [len(set(labels[part].tolist())) for part in parts] == [each] * clients


def test_ranks_of_clients():
    assert client_ranks(1) == (128,) * 5 + (64,) * 5 + (32,) * 5 + (16,) * 5
    assert [len(client_ranks(setting)) for setting in CLIENTS_OF_RANK] == [20, 19]
    with pytest.raises(ValueError, match="setting must be one of 1, 2, got 3"):
        client_ranks(3)
