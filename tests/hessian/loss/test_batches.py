"""Batches: which data are one, how many samples they hold, how two are put together, and what their losses make up."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from hessian import Curvature, CurvatureError, exact_hessian
from hessian.loss.batches import Batches, count_samples, join, reduction_of, rows_of, size_of

X, Y = torch.arange(12.0).view(4, 3).double(), torch.ones(4, 1).double()


def test_which_data_are_one_resident_batch():
    for data in ((X, Y), [X, Y], {"x": X, "y": Y}, [(X, Y)], ({"x": X}, Y), ((X, X), Y)):
        assert Batches.of(data).resident
        assert len(list(Batches.of(data).source)) == 1
    for data in ([(X, Y), (X, Y)], DataLoader(TensorDataset(X, Y), batch_size=4), ({"x": X}, {"x": X})):
        assert not Batches.of(data).resident
    read = Batches.of((X, Y))
    assert Batches.of(read) is read


def test_the_kind_of_a_loss():
    function = torch.nn.functional.mse_loss
    assert reduction_of(function, None) == "mean"
    assert reduction_of(function, "sum") == "sum"
    assert reduction_of(nn.MSELoss(reduction="sum"), None) == "sum"
    assert reduction_of(nn.MSELoss(), None) == "mean"
    with pytest.raises(CurvatureError, match="reduction must be 'mean' or 'sum', got 'median'"):
        reduction_of(function, "median")


def test_rows():
    assert size_of((X, Y)) == rows_of((X, Y)) == 4
    assert rows_of((X, Y[:2])) is None
    assert rows_of({"x": X, "scale": torch.tensor(2.0)}) == size_of({"x": X, "scale": torch.tensor(2.0)}) == 4
    with pytest.raises(CurvatureError, match="the tensors of a batch have 2 and 4 rows"):
        size_of((X, Y[:2]))
    for empty in ((X[:0], Y[:0]), {"scale": torch.tensor(2.0)}):
        with pytest.raises(CurvatureError, match="a batch has no samples"):
            size_of(empty)


def test_samples_by_a_function():
    assert count_samples(lambda batch: torch.tensor([3]), (X, Y)) == 3
    assert count_samples(lambda batch: 0, (X, Y), 0) == 0
    assert type(count_samples(lambda batch: 3.0, (X, Y))) is int
    for bad in (0, -1, 2.5, float("inf"), float("nan"), "4", torch.ones(2)):
        with pytest.raises(CurvatureError, match="whole number of at least 1"):
            count_samples(lambda batch, bad=bad: bad, (X, Y))


def test_two_batches_in_one():
    whole = join(
        {"x": X[:1], "pair": [Y[:1], "name"], "scale": torch.tensor(2.0)},
        {"x": X[1:], "pair": [Y[1:], "name"], "scale": torch.tensor(2.0)},
    )
    assert torch.equal(whole["x"], X)
    assert torch.equal(whole["pair"][0], Y)
    assert whole["pair"][1] == "name"
    assert whole["scale"] == 2.0
    for one, other in (
        (X, X[:, :2]),
        (torch.tensor(1.0), torch.tensor(2.0)),
        (torch.tensor(1.0), torch.ones(1)),
        ("one", "other"),
        (X, "one"),
        ({"x": X}, {"y": X}),
        ((X,), (X, X)),
        ({"x": X}, (X,)),
        (None, 0),
    ):
        with pytest.raises(ValueError, match=r"rows of shapes|unlike things"):
            join(one, other)


def squares(output, target):
    return (output - target).square().sum()


def test_a_sum_over_batches_of_one_sample_is_no_mean():
    """No batch can be split: two of them are put together."""
    model = nn.Linear(3, 1).double()
    singles = [(X[i : i + 1], Y[i : i + 1]) for i in range(4)]
    with pytest.raises(CurvatureError, match=r"the loss is a sum over samples, not a mean: .* on 2 samples of batch 2"):
        Curvature(model, squares, singles)
    assert Curvature(model, squares, singles, reduction="sum").samples == 4
    mixed = [(X[:1], Y[:1]), (X[1:], Y[1:])]
    with pytest.raises(CurvatureError, match="the loss is a sum over samples, not a mean"):
        Curvature(model, squares, mixed)


def test_batches_are_weighed_by_their_samples():
    model = nn.Linear(3, 1, bias=False).double()
    uneven = [(X[:1], Y[:1]), (X[1:], Y[1:])]
    for data in ((X, Y), uneven):
        by_mean = Curvature(model, nn.MSELoss(), data)
        torch.testing.assert_close(by_mean @ torch.eye(3).double(), 2.0 * X.T @ X / 4)
        by_sum = Curvature(model, nn.MSELoss(reduction="sum"), data)
        torch.testing.assert_close(by_sum @ torch.eye(3).double(), 2.0 * X.T @ X)
        assert by_sum.loss == pytest.approx(4.0 * by_mean.loss)
        assert by_mean.samples == by_sum.samples == 4


def test_data_that_come_in_other_batches_every_time_are_refused():
    """All samples are alike, so that no loss gives it away."""

    class Changing:
        def __init__(self):
            self.readings = 0

        def __iter__(self):
            self.readings += 1
            parts = torch.ones(4, 3).double().split(self.readings)
            return iter([(part, torch.zeros(len(part), 1).double()) for part in parts])

    with pytest.raises(
        CurvatureError, match="reading the data twice gave different batches: fix their order and number"
    ):
        Curvature(nn.Linear(3, 1).double(), nn.MSELoss(), Changing())


A, B = torch.randn(6, 5), torch.randn(6, 2)
CLASSES = torch.tensor([0, 2, 1, 1, 0, 2])
STRANGE = {
    "coo": (lambda x: x.to_sparse(), r"a sparse tensor \(sparse_coo\): pass x\.to_dense\(\)"),
    "csr": (lambda x: x.to_sparse_csr(), r"a sparse tensor \(sparse_csr\)"),
    "bsc": (lambda x: x[:, :2].to_sparse_bsc((2, 1)), r"a sparse tensor \(sparse_bsc\)"),
    "nested": (lambda x: torch.nested.nested_tensor([x[:2], x[2:]]), r"nested tensor: pass torch\.nested\.to_padded"),
    "jagged": (lambda x: torch.nested.nested_tensor([x[:2], x[2:]], layout=torch.jagged), "a nested tensor"),
    "quantized": (
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        r"quantized tensor \(qint8\).*dequantize",
    ),
    "meta": (lambda x: x.to("meta"), "meta device"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", STRANGE)
def test_tensors_that_are_not_dense_are_named_with_the_remedy(kind):
    change, words = STRANGE[kind]
    model, loss = nn.Linear(5, 3), nn.CrossEntropyLoss()
    strange = change(A)
    for data in (
        (strange, CLASSES),
        [(strange, CLASSES)],
        [(A, CLASSES), (strange, CLASSES)],
        {"x": strange},
        ((A, strange), CLASSES),
        ((A, CLASSES), (strange, CLASSES)),
        (A, strange),
    ):
        with pytest.raises(CurvatureError, match=words):
            Curvature(model, loss, data)
    with pytest.raises(CurvatureError, match=words):
        Curvature(model, loss, (strange, CLASSES), workers=2)
    with pytest.raises(CurvatureError, match=words):
        exact_hessian(model, loss, strange, CLASSES)


class Two(nn.Module):
    """Two inputs and two outputs."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(5, 3), nn.Linear(2, 4)

    def forward(self, a, b):
        return self.one(a), self.other(b)


def both(outputs, targets):
    return sum(nn.functional.mse_loss(output, target) for output, target in zip(outputs, targets, strict=True))


def test_several_inputs_with_several_targets_are_told_from_two_batches():
    s, t = torch.randn(6, 3), torch.randn(6, 4)
    one = Curvature(Two(), both, [((A, B), (s, t))])
    assert one.samples == 6
    by_kind = ((A, B), (CLASSES, t))
    assert Batches.of(by_kind).resident
    assert Batches.of(((A, B), (s, t[:, 0]))).resident
    for pair in ((A, CLASSES), (A, B), (A, None)):
        for two in ((pair, pair), [pair, pair], [list(pair), list(pair)]):
            assert not Batches.of(two).resident
    assert not Batches.of(((A, s), (A[:4], s[:4]))).resident
    assert not Batches.of([(A, B), (s, t)]).resident
    for unclear in (((A, B), (s, t)), ((A, A), (A, A)), ((A,), (s,))):
        with pytest.raises(
            CurvatureError, match=r"two batches or as one .* write \[\(inputs, targets\), .*\[\(\(a, b\), "
        ):
            Curvature(Two(), both, unclear)
