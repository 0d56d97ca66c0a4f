"""Training is the same on every call and stops at the first loss that is not finite."""

import pytest
import torch
from torch import nn

from workloads.image_networks.fit import FitSettings, fit
from workloads.image_networks.small import perceptron


@pytest.fixture
def clouds():
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, 3, (200,), generator=generator)
    centres = torch.tensor([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]], dtype=torch.float64)
    return centres[y] + 0.3 * torch.randn(200, 2, dtype=torch.float64, generator=generator), y


@pytest.mark.parametrize("settings", [FitSettings(15, 32, 0.02), FitSettings(15, 32, 0.1, "sgd", weight_decay=1e-4)])
def test_learns_and_repeats(clouds, settings):
    results = []
    for disturbance in (1, 2):
        torch.manual_seed(disturbance)  # the global state must not matter
        model = nn.Sequential(perceptron(2, (8,), 3, seed=0), nn.Dropout(0.1)).eval()
        state = torch.get_rng_state()
        done = []
        result = fit(model, *clouds, settings, progress=lambda *seen, done=done: done.append(seen))
        assert torch.equal(state, torch.get_rng_state())
        assert not model.training
        assert all(p.grad is None for p in model.parameters())
        assert done == list(enumerate(result.losses, start=1))
        results.append((result.losses, result.accuracy, nn.utils.parameters_to_vector(model.parameters())))
    losses, accuracy, _ = results[0]
    assert losses[-1] < losses[0] / 3
    assert accuracy > 0.95
    assert results[0][:2] == results[1][:2]
    assert torch.equal(results[0][2], results[1][2])


def test_one_full_batch_step_is_gradient_descent(clouds):
    x, y = clouds
    model, start = perceptron(2, (4,), 3, seed=0), perceptron(2, (4,), 3, seed=0)
    value = nn.functional.cross_entropy(start(x), y)
    gradients = torch.autograd.grad(value, list(start.parameters()))
    result = fit(model, x, y, FitSettings(1, 200, 0.5, "sgd", momentum=0.0))
    assert result.losses == (pytest.approx(value.item(), abs=1e-12),)
    for new, old, gradient in zip(model.parameters(), start.parameters(), gradients, strict=True):
        torch.testing.assert_close(new, old - 0.5 * gradient, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_steps_are_those_of_torch_with_all_settings(clouds, kind):
    """Three full batches with momentum and decay of the weights."""
    x, y = clouds
    model, by_hand = perceptron(2, (4,), 3, seed=0), perceptron(2, (4,), 3, seed=0)
    fit(model, x, y, FitSettings(3, 200, 0.05, kind, momentum=0.6, weight_decay=0.3))
    made = {
        "adam": lambda weights: torch.optim.Adam(weights, lr=0.05, weight_decay=0.3),
        "sgd": lambda weights: torch.optim.SGD(weights, lr=0.05, momentum=0.6, weight_decay=0.3),
    }[kind](list(by_hand.parameters()))
    for _ in range(3):
        made.zero_grad()
        nn.functional.cross_entropy(by_hand(x), y).backward()
        made.step()
    for new, expected in zip(model.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(new, expected)


def test_the_accuracy_is_that_of_all_samples():
    """2,500 of 4,100 are classified rightly, all of them among the first ones."""
    model = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0], [-1.0]]))
    y = (torch.arange(4100) >= 2500).long()
    assert fit(model, torch.ones(4100, 1), y, FitSettings(epochs=0)).accuracy == 2500 / 4100


@pytest.mark.parametrize("batch", [64, 96, 199, 1000])
def test_the_loss_of_an_epoch_is_the_mean_over_its_samples(clouds, batch):
    """Steps too small to matter: the last batch has 8, 8 or 1 of the 200 samples, or all of them."""
    x, y = clouds
    model = perceptron(2, (4,), 3, seed=0)
    value = nn.functional.cross_entropy(model(x), y).item()
    result = fit(model, x, y, FitSettings(2, batch, 1e-300, "sgd", momentum=0.0))
    assert result.losses == pytest.approx((value, value), rel=1e-12)


def test_no_epochs_change_nothing(clouds):
    model, start = perceptron(2, (4,), 3, seed=0), perceptron(2, (4,), 3, seed=0)
    assert fit(model, *clouds, FitSettings(epochs=0)).losses == ()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), start.parameters(), strict=True))


def test_a_loss_that_is_not_finite_names_epoch_and_batch(clouds):
    x, y = clouds
    model = perceptron(2, (4,), 3, seed=0).train()
    calls = []

    def loss(outputs, targets):
        calls.append(None)
        return nn.functional.cross_entropy(outputs, targets) * (torch.nan if len(calls) == 9 else 1)

    with pytest.raises(FloatingPointError, match=r"nan in epoch 2, batch 2 of 7: lower the learning rate \(0.01\)"):
        fit(model, x, y, FitSettings(3, 32, 0.01), loss=loss)
    assert model.training


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epochs": -1}, "-1 and 64"),
        ({"batch": 0}, "10 and 0"),
        ({"learning_rate": float("nan")}, "got nan"),
        ({"optimizer": "lion"}, "'lion'"),
        ({"momentum": 1.0}, "momentum"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        FitSettings(**wrong)


def test_data_and_model_are_checked(clouds):
    x, y = clouds
    model = perceptron(2, (4,), 3, seed=0)
    with pytest.raises(ValueError, match="200 inputs"):
        fit(model, x, y[:-1], FitSettings())
    with pytest.raises(ValueError, match="0 inputs"):
        fit(model, x[:0], y[:0], FitSettings())
    with pytest.raises(ValueError, match="no trainable parameter"):
        fit(model.requires_grad_(False), x, y, FitSettings())
