"""Directions that the gradient does not determine do not depend on rounding errors."""

import numpy as np
import pytest
import torch
from torch import nn

from algorithms.descent import Descent
from algorithms.fedlrt import FeDLRT
from algorithms.low_rank import augment
from algorithms.optimisers import Adam
from algorithms.rounds import rounds
from algorithms.tree import Tree
from algorithms.vmap import Vmap
from runs.network_problem import network_problem
from workloads.partition import Even


def basis_and_gradient(rank_of_gradient, rows=9, r=3):
    generator = torch.Generator().manual_seed(0)
    U = torch.linalg.qr(torch.randn(rows, r, generator=generator).double())[0]
    own = torch.randn(rows, rank_of_gradient, generator=generator).double()
    return U, own @ torch.randn(rank_of_gradient, r, generator=generator).double()


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("rows", [4, 5, 6, 9])
def test_rounding_errors_of_the_gradient_do_not_turn_the_completion(rank, rows):
    U, G = basis_and_gradient(rank, rows)
    noise = 1e-16 * G.norm() * torch.randn(G.shape, generator=torch.Generator().manual_seed(1)).double()
    one, other = (augment(Tree(W=U), Tree(W=g))["W"] for g in (G, G + noise))
    assert one.shape == (rows, min(3, rows - 3))
    torch.testing.assert_close(one, other, atol=1e-12, rtol=0)
    wide = torch.cat([U, one], dim=1)
    torch.testing.assert_close(wide.T @ wide, torch.eye(wide.shape[1]).double(), atol=1e-14, rtol=0)
    torch.testing.assert_close(wide @ (wide.T @ G), G, atol=1e-13, rtol=0)


def test_what_is_determined_is_the_orthogonal_factor():
    U, G = basis_and_gradient(3)
    assert torch.equal(augment(Tree(W=U), Tree(W=G))["W"], torch.linalg.qr(torch.cat([U, G], dim=1))[0][:, 3:])


def test_many_at_once_are_each_one():
    given = [basis_and_gradient(rank) for rank in (3, 1, 0)]
    U, G = (torch.stack(parts) for parts in zip(*given, strict=True))
    together = augment(Tree(W=U), Tree(W=G))["W"]
    mapped = torch.vmap(lambda u, g: augment(Tree(W=u), Tree(W=g))["W"])(U, G)
    for number, (u, g) in enumerate(given):
        for found in (together, mapped):
            torch.testing.assert_close(found[number], augment(Tree(W=u), Tree(W=g))["W"], atol=1e-13, rtol=0)


def test_adam_in_coefficients_is_the_same_in_both_executors():
    x = torch.randn(200, 6, generator=torch.Generator().manual_seed(0)).double()
    y, found = (x[:, 0] > 0).long(), []
    for executor in (None, Vmap()):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 2)).double()
        problem = network_problem(module, (x, y), Even().parts(y.numpy(), 4, 0), (x, y), statistics="batch")
        algorithm = FeDLRT(Descent(2, 0.1, batch=8, optimiser=Adam()), 1, layers="0,3")
        steps = rounds(algorithm, problem, rounds=4, cohort=3, executor=executor)
        found.append([step.metrics["loss"] for step in steps])
    assert np.abs(np.subtract(*found)).max() < 1e-10
