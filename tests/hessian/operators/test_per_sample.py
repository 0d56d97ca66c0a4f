"""Factors of samples against dense Gauss-Newton matrices, for several losses, and their doors."""

import pytest
import torch
from torch import nn

from hessian import (
    Curvature,
    CurvatureError,
    sample_factors,
    sample_hessian_parts,
    sample_hessians,
    sample_spectra,
    spectra_of,
)

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


@pytest.mark.parametrize(
    ("directions", "said"),
    [
        (torch.eye(4, dtype=torch.float64), "columns .P, r. of torch.float64 with P = 39, got the shape .4, 4."),
        (torch.eye(39, dtype=torch.float64)[0], "got the shape .39,."),
        (torch.eye(39)[:, :2], "of torch.float32"),
        (2.0 * torch.eye(39, dtype=torch.float64)[:, :2], "orthonormal columns: take eigenvectors"),
        (torch.full((39, 2), 39.0**-0.5, dtype=torch.float64), "orthonormal columns: take eigenvectors"),
    ],
)
def test_directions_are_orthonormal_columns(directions, said):
    model, loss = network(), nn.CrossEntropyLoss()
    for measure, more in ((sample_spectra, {}), (sample_hessians, {"rank": 3})):
        with pytest.raises(CurvatureError, match=said):
            measure(model, loss, (X, CLASSES), directions=directions, **more)


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


IGNORING = nn.CrossEntropyLoss(ignore_index=-100)


class Tokens(nn.Module):
    """Three classes for each of four tokens."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.layer, self.out = nn.Linear(5, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.layer(x))).movedim(-1, 1)


def tokens_of(batch):
    return int((batch[1] != -100).sum())


def language(empty=()):
    """Eleven samples of 1 to 4 tokens that count, and none for some of them."""
    x = torch.randn(11, 4, 5, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    y = torch.randint(0, 3, (11, 4), generator=torch.Generator().manual_seed(5))
    for sample in range(11):
        y[sample, 1 + sample % 4 :] = -100
    y[list(empty)] = -100
    return x, y


def ignored_labels():
    """Eleven samples, four of which count for nothing, all but one of them in the second batch."""
    targets = CLASSES.clone()
    targets[[1, 6, 8, 9]] = -100
    return X, targets


COUNTED = {
    "tokens": (Tokens, language()),
    "samples without tokens": (Tokens, language(empty=(0, 7))),
    "ignored labels": (network, ignored_labels()),
}


@pytest.mark.parametrize("case", COUNTED)
@pytest.mark.parametrize("cuts", [(11,), (4, 7), (2, 3, 6)])
def test_rows_are_weighted_by_their_count(case, cuts):
    """Against `Curvature`, and against all tokens that count in one plain mean."""
    model, (x, y) = COUNTED[case][0]().double(), COUNTED[case][1]
    data = list(zip(x.split(cuts), y.split(cuts), strict=True))
    for matrix in ("gauss-newton", "hessian"):
        operator = Curvature(model, IGNORING, data, matrix=matrix, count=tokens_of)
        whole = operator @ torch.eye(operator.P, dtype=torch.float64)
        at_once = Curvature(model, IGNORING, (x, y), matrix=matrix)
        assert torch.allclose(whole, at_once @ torch.eye(operator.P, dtype=torch.float64), atol=1e-13)
        if matrix == "gauss-newton":
            factors = torch.stack(list(sample_factors(model, IGNORING, data, count=tokens_of)))
            found = torch.einsum("nkp,nkq->pq", factors, factors) / len(factors)
        else:
            parts = list(sample_hessian_parts(model, IGNORING, data, rank=operator.P, count=tokens_of))
            assert len(parts) == 11
            for (values, vectors, square), targets in zip(parts, y, strict=True):
                assert torch.allclose(vectors.T @ vectors, torch.eye(operator.P, dtype=torch.float64))
                assert bool(values.any()) == (square > 0.0) == bool((targets != -100).any())
            found = sum(vectors * values @ vectors.T for values, vectors, _ in parts) / len(parts)
        assert torch.allclose(found, whole, atol=1e-13)


def test_norms_of_parts_are_weighted_by_their_count():
    """The estimate of a squared norm of one vector goes with the square of the weight."""
    x, y = language()
    model = Tokens().double()
    parts = list(sample_hessian_parts(model, IGNORING, (x, y), rank=3, count=tokens_of, seed=2))
    each = tokens_of((x, y)) / 11
    for sample in (0, 5):
        own = tokens_of((x, y[sample]))
        others = [(x[:1], y[3:4])] * sample  # the random vectors go by the place
        data = [*others, (x[sample : sample + 1], y[sample : sample + 1])]
        alone = list(sample_hessian_parts(model, IGNORING, data, rank=3, count=tokens_of, seed=2))[-1]
        weight = (own / each) / (own / (tokens_of((x, y[3])) * sample + own) * len(data))
        assert parts[sample][2] == pytest.approx(alone[2] * weight**2)


def test_a_count_that_is_one_for_each_row_changes_no_bit():
    model, loss = network(), nn.CrossEntropyLoss()
    data = [(X[:4], CLASSES[:4]), (X[4:], CLASSES[4:])]
    for rows in (lambda batch: len(batch[0]), lambda batch: 3 * len(batch[0])):
        for one, other in zip(
            sample_factors(model, loss, data), sample_factors(model, loss, data, count=rows), strict=True
        ):
            assert torch.equal(one, other)
        pairs = zip(
            sample_hessian_parts(model, loss, data, rank=5),
            sample_hessian_parts(model, loss, data, rank=5, count=rows),
            strict=True,
        )
        for one, other in pairs:
            assert torch.equal(one[0], other[0])
            assert one[2] == other[2]


def test_counts_of_rows_that_do_not_add_up_are_one_line():
    """Two for every batch of one row, three for every other row: additive in thirds, as the check of a batch cuts."""

    def count(batch):
        rows = len(batch[0])
        return 2 if rows == 1 else 3 * rows

    with pytest.raises(
        CurvatureError,
        match=r"count must be additive: it gives 33 for batch 1, and 22 for its 11 "
        r"rows",
    ):
        list(sample_hessian_parts(network(), nn.CrossEntropyLoss(), (X, CLASSES), rank=3, count=count))
