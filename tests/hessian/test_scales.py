"""A constant factor of the loss, however large or small, changes neither what is refused nor what is right."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from hessian import Curvature, CurvatureError, RouteWarning, exact_hessian, sample_factors

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(23, 5, generator=GENERATOR)
Y = torch.randint(3, (23,), generator=GENERATOR)
UNEQUAL = [(X[:4], Y[:4]), (X[4:15], Y[4:15]), (X[15:], Y[15:])]


def scaled(factor):
    return lambda output, targets: factor * cross_entropy(output, targets)


def perceptron(activation=None):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return nn.Sequential(nn.Linear(5, 4), activation or nn.Tanh(), nn.Linear(4, 3))


def of_ones(model, factor, data, **options):
    curvature = Curvature(model, scaled(factor), data, **options)
    return (curvature @ torch.ones(curvature.P, dtype=curvature.dtype)).double() / factor


class Detached(torch.autograd.Function):
    """An exponential whose second derivative is zero where it should not be."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, slope):
        return slope * ctx.saved_tensors[0].detach().exp()


class Exponential(nn.Module):
    def forward(self, x):
        return Detached.apply(x)


@pytest.mark.parametrize("factor", [1.0, 1e-160, 1e-200, 1e-290, 1e160, 1e250])
def test_wrong_second_derivatives_are_refused_on_any_scale_of_double_precision(factor):
    with pytest.raises(CurvatureError, match=r"finite difference of gradients by 0\.\d+ of it"):
        Curvature(perceptron(Exponential()).double(), scaled(factor), (X, Y))


@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e160, 1e250])
def test_right_ones_are_right_on_any_scale_of_double_precision(factor):
    model = perceptron().double()
    expected = of_ones(model, 1.0, (X, Y))
    assert torch.allclose(of_ones(model, factor, (X, Y)), expected, rtol=1e-9)
    assert torch.allclose(of_ones(model, factor, UNEQUAL), expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_several_batches_in_single_precision(factor):
    model = perceptron()
    expected = of_ones(model, 1.0, (X, Y))
    assert torch.allclose(of_ones(model, factor, UNEQUAL), expected, rtol=1e-4, atol=1e-5)
    ones = torch.ones(len(expected), dtype=torch.float64)
    exact = exact_hessian(model, scaled(factor), X, Y).double() / factor
    assert torch.allclose(exact @ ones, expected, rtol=1e-4, atol=1e-5)
    factors = torch.stack(list(sample_factors(model, scaled(factor), (X, Y)))).double()
    gauss_newton = torch.einsum("nkp,nkq->pq", factors, factors) / len(X) / factor
    found = of_ones(model, factor, (X, Y), matrix="gauss-newton")
    assert torch.allclose(gauss_newton @ ones, found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("factor", [1.0, 1e-25, 1e-30])
def test_wrong_products_of_several_vectors_are_not_used_on_any_scale(factor):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        head = [nn.Conv2d(1, 4, 1), nn.GroupNorm(1, 4), nn.Tanh(), nn.Flatten()]
        model = nn.Sequential(*head, nn.Linear(16, 3))
    x, y = torch.randn(1, 1, 2, 2, generator=GENERATOR), torch.tensor([1])
    one = Curvature(model, scaled(factor), (x, y))
    several = Curvature(model, scaled(factor), (x, y), vectorize=4)
    vectors = torch.eye(one.P)[:4]
    expected = one.products(vectors).double() / factor
    with pytest.warns(RouteWarning):
        found = several.products(vectors).double() / factor
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("factor", [1.0, 1e-25, 1e-30, 1e30])
def test_a_loss_that_belongs_to_no_law_is_refused_on_any_scale(factor):
    def weighted(output, targets):
        return factor * cross_entropy(output, targets, weight=output.new_tensor([1.0, 2.0, 0.5]))

    def law(output):
        return torch.distributions.Categorical(logits=output)

    with pytest.raises(CurvatureError, match="not a multiple of minus the log likelihood"):
        Curvature(perceptron(), weighted, (X, Y), matrix="fisher", law=law)
    ones = torch.ones(39)
    fisher = Curvature(perceptron(), scaled(factor), (X, Y), matrix="fisher", law=law) @ ones
    expected = of_ones(perceptron(), 1.0, (X, Y), matrix="gauss-newton")
    assert torch.allclose(fisher.double() / factor, expected, rtol=1e-4, atol=1e-5)
