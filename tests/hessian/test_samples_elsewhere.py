"""Batches whose samples are not along dimension 0: time-first, or one sequence for each item."""

import copy

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, sample_factors, sample_hessian_parts
from hessian.loss.batches import size_of
from hessian.operators.shards import cut_up

CE = nn.CrossEntropyLoss()


class TimeFirst(nn.Module):
    """Predicts a class at each time of sequences, (T, B) to (T, classes, B)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.cell, self.out = nn.Embedding(4, 2), nn.RNN(2, 3), nn.Linear(3, 4)

    def forward(self, tokens):
        return self.out(self.cell(self.embedding(tokens))[0]).transpose(1, 2)


class Single(nn.Module):
    """Classifies one sequence, (T, 3) to (classes,)."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.inner, self.out = nn.Linear(3, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.out(torch.tanh(self.inner(x)).mean(-2))


def tokens():
    generator = torch.Generator().manual_seed(2)
    return [tuple(torch.randint(4, (5, size), generator=generator) for _ in range(2)) for size in (3, 2)]


def sequences():
    generator = torch.Generator().manual_seed(3)
    return [(torch.randn(size, 3, generator=generator), torch.tensor(size % 3)) for size in (3, 5, 7)]


def by_hand(model, batches, weights):
    double = copy.deepcopy(model).double()
    cast = [(x.double() if x.is_floating_point() else x, y) for x, y in batches]
    value = sum(w * CE(double(x), y) for w, (x, y) in zip(weights, cast, strict=True))
    parameters = list(double.parameters())
    slopes = torch.autograd.grad(value, parameters, create_graph=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    return torch.stack(
        [torch.cat([g.flatten() for g in torch.autograd.grad(one, parameters, retain_graph=True)]) for one in flat]
    )


CASES = [
    (TimeFirst, tokens, lambda batch: batch[1].shape[1], (3 / 5, 2 / 5)),
    (Single, sequences, lambda batch: 1, (1 / 3, 1 / 3, 1 / 3)),
]


@pytest.mark.parametrize(("kind", "data", "count", "weights"), CASES)
def test_count_and_reduction_together_take_them(kind, data, count, weights):
    model, batches = kind(), data()
    operator = Curvature(model, CE, batches, count=count, reduction="mean")
    dense = by_hand(model, batches, weights)
    torch.testing.assert_close(operator @ torch.eye(operator.P), dense.float(), atol=1e-5, rtol=1e-4)
    total = Curvature(model, lambda output, target: CE(output, target), batches, count=count, reduction="sum")
    dense = by_hand(model, batches, [1.0] * len(batches))
    torch.testing.assert_close(total @ torch.eye(total.P), dense.float(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("kind", "data", "count", "weights"), CASES)
def test_without_both_the_cause_and_the_remedy_are_named(kind, data, count, weights):
    model, batches = kind(), data()
    with pytest.raises(CurvatureError, match=r"dimension 0.*time-first.*x\.transpose\(0, 1\) or x\[None\].*count="):
        Curvature(model, CE, batches)
    with pytest.raises(
        CurvatureError,
        match=r"count must be additive: .*dimension 0 does not index the "
        r"samples.*name reduction='mean'",
    ):
        Curvature(model, CE, batches, count=count)


def test_samples_put_first_are_taken_as_they_are():
    batches = [(x[None], y[None]) for x, y in sequences()]
    operator = Curvature(Single(), CE, batches, reduction="mean")
    dense = by_hand(Single(), sequences(), (1 / 3, 1 / 3, 1 / 3))
    torch.testing.assert_close(operator @ torch.eye(operator.P), dense.float(), atol=1e-5, rtol=1e-4)


class Recurrent(nn.Module):
    """Maps (T, B, 3) to (T, B, 2), long sequences in bfloat16 if asked for."""

    def __init__(self, coarse=10**6):
        super().__init__()
        torch.manual_seed(4)
        self.cell, self.out, self.coarse = nn.RNN(3, 4), nn.Linear(4, 2), coarse

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16, enabled=len(x) > self.coarse):
            return self.out(torch.tanh(self.cell(x)[0])).to(x.dtype)


def moving(steps, sequences):
    generator = torch.Generator().manual_seed(5)
    return tuple(torch.randn(steps, sequences, size, generator=generator) for size in (3, 2))


def across(batch):
    return batch[1].shape[1]


MSE, SUM = nn.MSELoss(), nn.MSELoss(reduction="sum")


@pytest.mark.parametrize(
    ("steps", "sequences", "workers", "loss", "reduction"),
    [(8, 5, 2, MSE, "mean"), (5, 5, 3, SUM, "sum"), (4, 9, "cpu,cpu", MSE, "mean"), (4, 9, 7, SUM, "sum")],
)
def test_one_batch_is_not_cut_along_another_dimension(steps, sequences, workers, loss, reduction):
    data = moving(steps, sequences)
    here = Curvature(Recurrent(), loss, data, count=across, reduction=reduction)
    assert here.samples == sequences
    with torch.no_grad():
        assert here.loss == pytest.approx(float(loss(Recurrent()(data[0]), data[1])), rel=1e-6)
    words = (
        rf"only batch cannot .* count= gives {sequences} for its {steps} rows and {2 * sequences} for 2 parts .*: pass"
    )
    with pytest.raises(CurvatureError, match=words):
        Curvature(Recurrent(), loss, data, count=across, reduction=reduction, workers=workers)


def test_one_sequence_is_not_cut():
    x, y = (tensor[:, 0] for tensor in moving(8, 1))
    with pytest.raises(CurvatureError, match=r"cannot be divided among 2 workers.*: pass several batches"):
        Curvature(Recurrent(), MSE, (x, y), count=lambda batch: 1, reduction="mean", workers=2)


def test_a_batch_is_cut_where_the_counts_of_its_parts_add_up():
    """Two rows make a sample: three parts of six rows are three samples, four parts of unequal rows are not."""
    data = moving(6, 2)
    pairs = cut_up(data, 4, None, lambda batch: (len(batch[0]) + 1) // 2)
    assert [len(x) for x, _ in pairs.source] == [2, 2, 2]
    assert [len(x) for x, _ in cut_up(data, 4, None, size_of).source] == [1, 2, 1, 2]
    for workers, norm, count in ((1, "batch", size_of), (1, None, across)):
        (whole,) = cut_up(data, workers, norm, count).source
        assert len(whole[0]) == 6


@pytest.mark.parametrize(("steps", "sequences"), [(8, 5), (5, 5)])
def test_what_needs_a_row_for_each_sample_refuses_other_layouts(steps, sequences):
    """With as many steps as sequences, numbers of rows and samples are equal, and the rows are still not samples."""
    data, words = (
        moving(steps, sequences),
        r"samples along dimension 0, by x\.transpose\(0, 1\)|a row of the output for each",
    )
    for given in (data, [data, moving(steps, sequences)]):
        for reduction in ("mean", None):
            with pytest.raises(CurvatureError, match=words):
                Curvature(Recurrent(), MSE, given, matrix="empirical-fisher", count=across, reduction=reduction)
        with pytest.raises(CurvatureError, match=words):
            list(sample_factors(Recurrent(), MSE, given, count=across))
        with pytest.raises(CurvatureError, match=words):
            list(sample_hessian_parts(Recurrent(), MSE, given, rank=2, count=across))


@pytest.mark.parametrize("steps", [30, 90])
def test_rounding_is_not_measured_on_some_of_the_steps(steps):
    """Some steps would be a short sequence."""
    operator = Curvature(Recurrent(coarse=70), MSE, moving(steps, 5), count=across, reduction="mean")
    assert (operator.rounding > 1e-4) is (steps > 70)
