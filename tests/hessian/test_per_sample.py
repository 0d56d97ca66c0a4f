"""Factors of samples against dense Gauss-Newton matrices, for several losses, and their doors."""

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, sample_factors, sample_spectra, spectra_of

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(11, 5, generator=GENERATOR, dtype=torch.float64)
CLASSES = torch.randint(0, 3, (11,), generator=GENERATOR)
VALUES = torch.randn(11, 3, generator=GENERATOR, dtype=torch.float64)


def network(outputs=3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, outputs)).double()


def dense(model, loss, data, **options):
    operator = Curvature(model, loss, data, matrix="gauss-newton", **options)
    return operator @ torch.eye(operator.P, dtype=torch.float64)


CASES = {
    "cross entropy": (3, nn.CrossEntropyLoss(), CLASSES),
    "squares": (3, nn.MSELoss(), VALUES),
    "one output": (1, nn.BCEWithLogitsLoss(), VALUES[:, :1].sigmoid().round()),
    "smoothed classes": (3, nn.CrossEntropyLoss(label_smoothing=0.1), CLASSES),
}


@pytest.mark.parametrize("case", CASES)
def test_factors_make_up_the_matrix(case):
    outputs, loss, targets = CASES[case]
    model = network(outputs)
    whole = dense(model, loss, (X, targets))
    batches = [(X[:4], targets[:4]), (X[4:], targets[4:])]
    for data in ((X, targets), batches):
        factors = torch.stack(list(sample_factors(model, loss, data)))
        assert factors.shape == (11, outputs, len(whole))
        assert torch.allclose(torch.einsum("nkp,nkq->pq", factors, factors) / 11, whole, atol=1e-13)


def test_spectra_and_blocks_are_those_of_single_samples():
    model, loss = network(), nn.CrossEntropyLoss()
    whole = dense(model, loss, (X, CLASSES))
    directions = torch.linalg.eigh(whole)[1].flip(1)[:, :4]
    found = sample_spectra(model, loss, (X, CLASSES), directions=directions)
    for sample in range(11):
        one = dense(model, loss, (X[sample : sample + 1], CLASSES[sample : sample + 1]))
        assert found.eigenvalues[sample] == pytest.approx(torch.linalg.eigvalsh(one)[-3:].numpy(), abs=1e-13)
        block = directions.T @ one @ directions
        assert found.blocks[sample].T @ found.blocks[sample] == pytest.approx(block.numpy(), abs=1e-13)
    assert found.trace == pytest.approx(float(whole.trace()))
    assert spectra_of(sample_factors(model, loss, (X, CLASSES))).blocks.shape == (11, 3, 0)


def test_some_of_the_parameters():
    model, loss = network(), nn.CrossEntropyLoss()
    factors = torch.stack(list(sample_factors(model, loss, (X, CLASSES), parameters="2.*")))
    whole = dense(model, loss, (X, CLASSES), parameters="2.*")
    assert torch.allclose(torch.einsum("nkp,nkq->pq", factors, factors) / 11, whole, atol=1e-13)


def test_parameters_without_influence_have_zeros():
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = network(), nn.Parameter(torch.ones(2, dtype=torch.float64))

        def forward(self, x):
            return self.used(x)

    for factor in sample_factors(Idle(), nn.CrossEntropyLoss(), (X, CLASSES)):
        assert factor.shape == (3, 41)
        assert (factor == 0).all(dim=0).sum() == 2


def test_running_statistics_of_batch_norm():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)).double()
    factors = torch.stack(list(sample_factors(model, nn.CrossEntropyLoss(), (X, CLASSES), batch_norm="running")))
    whole = dense(model, nn.CrossEntropyLoss(), (X, CLASSES), batch_norm="running")
    assert torch.allclose(torch.einsum("nkp,nkq->pq", factors, factors) / 11, whole, atol=1e-13)
    with pytest.raises(CurvatureError, match="couple the samples"):
        sample_factors(model, nn.CrossEntropyLoss(), (X, CLASSES), batch_norm="batch")


def test_losses_without_a_square_root_are_refused():
    def concave(output, target):
        return -(output - target).square().mean(dim=1).mean()

    with pytest.raises(CurvatureError, match="not convex in the outputs"):
        list(sample_factors(network(), concave, (X, VALUES)))


def test_losses_that_are_sums_are_refused():
    with pytest.raises(CurvatureError, match="reduces by 'sum'"):
        sample_factors(network(), nn.CrossEntropyLoss(reduction="sum"), (X, CLASSES))
