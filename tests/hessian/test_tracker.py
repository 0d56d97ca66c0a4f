"""Spectra followed through training: exact small cases, intervals that hold, checks that are made once."""

import numpy as np
import pytest
import torch
from torch import nn

from hessian import Curvature, CurvatureError, SpectrumTracker, exact_hessian


class Scale(nn.Module):
    """Outputs the inputs times one weight for each feature; with squared loss the Hessian is diagonal and known."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, dtype=torch.float64))

    def forward(self, x):
        return x * self.weight


def quadratic():
    x = torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.5]).double())
    return Scale(4), nn.MSELoss(reduction="sum"), (x, torch.zeros(4, 4).double())


def perceptron():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(60, 8, generator=generator).double()
    y = torch.randint(0, 3, (60,), generator=generator)
    return model, nn.CrossEntropyLoss(), (x, y)


def descend(model, loss, data, steps, rate=0.5):
    for step in range(steps):
        model.zero_grad()
        loss(model(data[0]), data[1]).backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= rate * p.grad
        yield step
    model.zero_grad()


def test_a_known_hessian_is_measured_at_the_steps_asked_for_alone():
    model, loss, data = quadratic()
    tracker = SpectrumTracker(model, loss, data, every=2, quantities="sharpness, trace")
    found = []
    for step in range(4):
        model.weight.data.fill_(1.0 + step)  # which changes the loss, and not its Hessian
        found.append(tracker(step))
    assert [one is None for one in found] == [False, True, False, True]
    for state in tracker.states:
        assert abs(state["sharpness"].value - 18.0) < 1e-9  # twice the largest square
        assert abs(state["trace"].value - 2.0 * (9.0 + 4.0 + 1.0 + 0.25)) < 1e-9
    table = tracker.to_frame()
    assert list(table.step) == [0, 0, 2, 2]
    assert list(table.quantity) == ["sharpness", "trace"] * 2
    assert (table.low <= table.value).all()
    assert (table.value <= table.high).all()
    assert list(table.loss) == pytest.approx([14.25] * 2 + [14.25 * 3.0**2] * 2)


def test_intervals_hold_along_a_training_and_later_states_start_from_the_one_before():
    model, loss, data = perceptron()
    tracker = SpectrumTracker(model, loss, data, every=3, quantities=("sharpness", "stable-rank"), relative_width=0.2)
    for step in descend(model, loss, data, 25):
        if (state := tracker(step)) is None:
            continue
        values = torch.linalg.eigvalsh(exact_hessian(model, loss, *data)).numpy()
        assert abs(state["sharpness"].value - values.max()) <= 0.2 * values.max()
        assert values.max() in state["sharpness"]
        assert (values**2).sum() / np.abs(values).max() ** 2 in state["stable-rank"]
        assert state.measurement.reached
    assert not tracker.states[0].warm
    assert any(state.warm for state in tracker.states)
    assert any(sum(state.measurement.products.values()) > state.measurement.steps for state in tracker.states)
    for state, (_, rows) in zip(tracker.states, tracker.to_frame().groupby("step"), strict=True):
        products = sum(state.measurement.products.values())
        expected = (state.loss, products, state.gradients, state.warm)
        assert rows[["loss", "products", "gradients", "warm"]].to_numpy().tolist() == [list(expected)] * 2
        start = ("without an earlier state", "from the state before")[state.warm]
        assert state.words()["cost"].endswith(f" {start}, the time of {state.gradients:.0f} gradients")


def test_another_network_of_the_same_size_is_measured_right_from_useless_vectors():
    model, loss, data = perceptron()
    tracker = SpectrumTracker(model, loss, data, relative_width=0.2)
    tracker(0)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(5)).double())
    state = tracker(1)
    exact = torch.linalg.eigvalsh(exact_hessian(model, loss, *data)).max().item()
    assert exact in state["sharpness"]


def test_quantities_that_need_converged_pairs_start_from_nothing():
    model, loss, data = perceptron()
    tracker = SpectrumTracker(model, loss, data, quantities="count-above=0.05", relative_width=0.3)
    assert not tracker(0).warm
    assert not tracker(1).warm


def test_modes_are_restored_and_dropout_is_off_while_measuring():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.5), nn.Linear(4, 2)).double()
    model[1].eval()
    x, y = torch.randn(20, 5).double(), torch.randint(0, 2, (20,))
    SpectrumTracker(model, nn.CrossEntropyLoss(), (x, y))(0)
    assert [one.training for one in model.modules()] == [True, True, False, True]


def test_the_same_seed_gives_the_same_numbers_and_the_tracker_draws_nothing_from_the_training():
    def run(seed):
        model, loss, data = perceptron()
        tracker = SpectrumTracker(model, loss, data, every=2, seed=seed, quantities="stable-rank", relative_width=0.3)
        torch.manual_seed(3)
        for step in descend(model, loss, data, 5):
            tracker(step)
        return [state["stable-rank"].value for state in tracker.states], torch.rand(1).item()

    one, same, other = run(0), run(0), run(1)
    assert one == same
    assert one[0] != other[0]
    assert one[1] == other[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"every": 0}, "every must be a whole number of at least 1"),
        ({"every": 1.5}, "every must be"),
        ({"seed": -1}, "seed must be"),
        ({"quantities": "sharpnes"}, "is not a quantity"),
        ({"relative_width": 0.0}, "relative_width must be positive"),
    ],
)
def test_options_out_of_range_are_refused_before_any_step(options, words):
    with pytest.raises(CurvatureError, match=words):
        SpectrumTracker(*quadratic(), **options)


@pytest.mark.parametrize("step", [2.5, float("nan"), "3", True])
def test_a_step_that_is_not_a_whole_number_is_refused_and_not_listed_under_another(step):
    tracker = SpectrumTracker(*quadratic())
    for call in (tracker, tracker.measure):
        with pytest.raises(CurvatureError, match="step must be a whole number"):
            call(step)
    assert tracker(np.float64(2.0)).step == 2


def test_a_state_that_cannot_be_measured_is_named():
    model, loss, data = perceptron()
    tracker = SpectrumTracker(model, loss, data)
    tracker(0)
    with torch.no_grad():
        model[0].weight.fill_(float("nan"))
    with pytest.raises(CurvatureError, match="step 7: "):
        tracker(7)


def test_products_after_remembered_checks_are_the_same():
    model, loss, data = perceptron()
    tracker = SpectrumTracker(model, loss, data, quantities="frobenius-squared", relative_width=0.05, products=400)
    for step in descend(model, loss, data, 2):
        tracker(step)
    dense = Curvature(model, loss, data) @ torch.eye(tracker.states[0].measurement.P).double()
    assert float((dense**2).sum()) in tracker(2)["frobenius-squared"]


def test_frozen_norms_keep_their_statistics_next_to_those_of_the_batches():
    x = torch.tensor([[1.0, 4.0], [3.0, -2.0], [8.0, 1.0]]).double()
    data = (x, torch.zeros(3, 2).double())
    frozen, norm = nn.BatchNorm1d(2).double().eval(), nn.BatchNorm1d(2).double()
    with torch.no_grad():
        frozen.running_var.fill_(4.0)
        frozen.running_mean.fill_(1.0)
    norm.weight.requires_grad_(False)
    for norms in ((norm, frozen), (frozen,)):
        model = nn.Sequential(*norms)
        wanted = Curvature(model, nn.MSELoss(), data, batch_norm="batch")
        found = SpectrumTracker(model, nn.MSELoss(), data, batch_norm="batch", quantities="trace").measure(0)
        assert found.loss == pytest.approx(wanted.loss, rel=1e-12)
        assert found["trace"].value == pytest.approx(float(wanted.products(torch.eye(wanted.P).double()).trace()))
        assert (norm.training, frozen.training) == (True, False)
    normed = (x - x.mean(dim=0)) / (x.var(dim=0, correction=0) + 1e-5).sqrt()
    model = nn.Sequential(norm, frozen)
    found = SpectrumTracker(model, nn.MSELoss(), data, batch_norm="batch").measure(0)
    assert found.loss == pytest.approx(float((((normed - 1.0) ** 2) / (4.0 + 1e-5)).mean()), rel=1e-9)


def test_a_gradient_is_timed_at_the_first_state_only(monkeypatch):
    given, cost = [], Curvature.cost

    def noted(self, seconds=None):
        given.append(seconds)
        return cost(self, 2.0 if seconds is None else seconds)

    monkeypatch.setattr(Curvature, "cost", noted)
    tracker = SpectrumTracker(*quadratic())
    for step in range(3):
        tracker(step)
    assert given == [None, 2.0, 2.0]


def test_an_error_names_the_step_and_keeps_the_keywords_that_would_help():
    with pytest.raises(CurvatureError, match=r"^step 3: memory of 1\.00 KiB is too small") as caught:
        SpectrumTracker(*quadratic(), memory="1 KiB").measure(3)
    assert caught.value.keywords == ("parameters",)
