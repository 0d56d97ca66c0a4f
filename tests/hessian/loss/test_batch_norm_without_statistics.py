"""Batch norm without running statistics couples the samples of a batch in evaluation mode too."""

import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, SpectrumTracker, exact_hessian, sample_factors, stable_rank

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(23, 4, generator=GENERATOR).double()
Y = torch.randint(3, (23,), generator=GENERATOR)
CE = nn.CrossEntropyLoss()


def network(tracked, training):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        norm = nn.BatchNorm1d(5, track_running_stats=tracked)
        return nn.Sequential(nn.Linear(4, 5), norm, nn.Tanh(), nn.Linear(5, 3)).double().train(training)


def by_hand(model, batches):
    chosen = list(model.parameters())
    value = sum(len(y) / len(Y) * CE(model(x), y) for x, y in batches)
    slopes = torch.autograd.grad(value, chosen, create_graph=True)
    flat = torch.cat([slope.flatten() for slope in slopes])
    rows = [torch.autograd.grad(one, chosen, retain_graph=True) for one in flat]
    return torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("named", [None, "running"])
@pytest.mark.parametrize("measure", [Curvature, stable_rank, sample_factors])
def test_it_is_refused_with_the_statistics_that_there_are(measure, named, training):
    with pytest.raises(CurvatureError, match=r"batch norm '1' keeps no running .*batch_norm='batch'") as caught:
        measure(network(False, training), CE, (X, Y), batch_norm=named)
    assert caught.value.keywords == ("batch_norm",)


def test_a_dense_hessian_refuses_it_too():
    with pytest.raises(CurvatureError, match="keeps no running statistics"):
        exact_hessian(network(False, False), CE, X, Y)


@pytest.mark.parametrize("training", [False, True])
def test_statistics_of_each_batch_are_taken_where_they_are_named(training):
    batches = [(X[:9], Y[:9]), (X[9:], Y[9:])]
    operator = Curvature(network(False, training), CE, batches, batch_norm="batch")
    torch.testing.assert_close(
        operator @ torch.eye(operator.P).double(), by_hand(network(False, True), batches), rtol=1e-6, atol=1e-9
    )


def test_running_statistics_are_used_where_there_are_some():
    model = network(True, False)
    operator = Curvature(model, CE, (X, Y))
    torch.testing.assert_close(operator @ torch.eye(operator.P).double(), by_hand(model, [(X, Y)]))


def partly(frozen, training):
    """A network with two norms; if the first is frozen, the second has no running statistics."""
    norms = [nn.BatchNorm1d(5), nn.BatchNorm1d(5, track_running_stats=not frozen)]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(4, 5), norms[0], nn.Tanh(), norms[1], nn.Linear(5, 3)).double().train(training)
    norms[0].running_mean += 0.3
    norms[0].running_var *= 2.5
    norms[0].training = training and not frozen
    return model


@pytest.mark.parametrize(
    ("frozen", "training", "kept"), [(True, True, True), (True, False, True), (False, False, False)]
)
def test_norms_that_are_frozen_keep_their_running_statistics(frozen, training, kept):
    operator = Curvature(partly(frozen, training), CE, (X, Y), batch_norm="batch")
    expected = partly(frozen, True)
    expected[1].training = not kept
    torch.testing.assert_close(
        operator @ torch.eye(operator.P).double(), by_hand(expected, [(X, Y)]), rtol=1e-6, atol=1e-9
    )


def test_a_tracker_leaves_frozen_norms_as_they_are():
    model = partly(True, True)
    found = SpectrumTracker(model, CE, (X, Y), batch_norm="batch")(0)
    assert found["sharpness"].value == pytest.approx(
        torch.linalg.eigvalsh(by_hand(model, [(X, Y)])).max().item(), rel=1e-6
    )
    assert [layer.training for layer in model] == [True, False, True, True, True]


def test_a_tracker_refuses_other_frozen_norms_than_at_its_first_state():
    norms = [nn.BatchNorm1d(5), nn.BatchNorm1d(5)]
    model = nn.Sequential(nn.Linear(4, 5), norms[0], nn.Tanh(), norms[1], nn.Linear(5, 3)).double()
    whole, mixed = (SpectrumTracker(model, CE, (X, Y), batch_norm="batch") for _ in range(2))
    first = whole(0)["sharpness"]
    norms[0].eval()
    mixed(0)
    with pytest.raises(CurvatureError, match=r"^step 1: the first state .* each batch in 1, 3, .* would in 3,"):
        whole(1)
    model.eval()
    assert whole(2)["sharpness"].value == pytest.approx(first.value, rel=1e-3)  # no norm is frozen among others
    with pytest.raises(CurvatureError, match=r"^step 1: the first state .* each batch in 3, .* would in 1, 3,"):
        mixed(1)


def test_a_first_state_that_fails_does_not_decide_which_norms_are_frozen():
    norms = [nn.BatchNorm1d(5), nn.BatchNorm1d(5)]
    model = nn.Sequential(nn.Linear(4, 5), norms[0], nn.Tanh(), norms[1], nn.Linear(5, 3)).double()
    track, weight = SpectrumTracker(model, CE, (X, Y), batch_norm="batch"), model[0].weight
    kept = weight.detach().clone()
    weight.data.fill_(float("nan"))
    with pytest.raises(CurvatureError, match=r"^step 0: "):
        track(0)
    weight.data.copy_(kept)
    norms[0].eval()
    assert track(0) is not None
