"""Wrong derivatives that are small, or that few samples reach, are found; what only looks wrong is not refused."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from hessian import Curvature, CurvatureError, exact_hessian

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(64, 6, generator=GENERATOR).double()
Y = torch.randint(3, (64,), generator=GENERATOR)
BATCHES = list(zip(X.split(16), Y.split(16), strict=True))


class Around(nn.Module):
    """A network with a function of its hidden values and its inputs in the middle."""

    def __init__(self, function):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.first, self.last, self.function = nn.Linear(6, 4), nn.Linear(4, 3), function
        self.double()

    def forward(self, x):
        return self.last(self.function(torch.tanh(self.first(x)), x))


class Bent(torch.autograd.Function):
    """The square, whose second derivative is wrong by a share of itself."""

    @staticmethod
    def forward(ctx, x, share):
        ctx.save_for_backward(x)
        ctx.share = share
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2.0 * ((1.0 - ctx.share) * x + ctx.share * x.detach()), None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [1e-1, 1e-3, 1e-5])
def test_second_derivatives_that_are_wrong_by_little_are_refused(share, dtype):
    model = Around(lambda h, x: Bent.apply(h, share)).to(dtype)
    with pytest.raises(
        CurvatureError,
        match=r"differs from the corresponding finite difference of "
        r"gradients.*custom function",
    ):
        Curvature(model, nn.CrossEntropyLoss(), (X.to(dtype), Y))


def test_those_of_a_parameter_of_small_curvature_are_not_hidden_by_the_others():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.large, self.small = nn.Linear(6, 3).double(), nn.Parameter(torch.ones(3).double())

        def forward(self, x):
            return self.large(x) + 1e-4 * Bent.apply(self.small, 1.0)

    with pytest.raises(CurvatureError, match="differs from the corresponding finite difference of gradients"):
        Curvature(Two(), nn.CrossEntropyLoss(), (X, Y))


@pytest.mark.parametrize("data", [(X, Y), BATCHES], ids=["resident", "batches"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "function",
    [
        lambda h, x: torch.where(x[:, :1] > 0.5, h.detach(), h),
        lambda h, x: torch.where(x[:, :1] > 0.5, Bent.apply(h, 1.0), h),
    ],
    ids=["first", "second"],
)
def test_those_of_some_samples_are_found_wherever_these_are(function, dtype, data):
    model = Around(function).to(dtype)
    order = X[:, 0].argsort()  # the last ones
    x, y = X[order], Y[order]
    data = (x, y) if isinstance(data, tuple) else list(zip(x.split(16), y.split(16), strict=True))
    with pytest.raises(CurvatureError, match="not second derivatives"):
        Curvature(model, nn.CrossEntropyLoss(), data)


def test_a_detach_that_a_single_sample_reaches_is_found_in_double_precision():
    model = Around(lambda h, x: torch.where(x[:, :1] >= X[:, 0].max(), h.detach(), h))
    for data in ((X, Y), BATCHES):
        with pytest.raises(CurvatureError, match=r"loss of batch \d rises by"):
            Curvature(model, nn.CrossEntropyLoss(), data)


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.LeakyReLU(), nn.Hardtanh(), nn.MaxPool1d(2)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_kinks_are_no_reason_to_refuse(activation, dtype):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        half = 2 if isinstance(activation, nn.MaxPool1d) else 1
        layers = [nn.Linear(6, 400), activation, nn.Linear(400 // half, 400), activation, nn.Linear(400 // half, 3)]
        model = nn.Sequential(*layers).to(dtype)
    for layer in model[::2]:
        nn.init.zeros_(layer.bias)
    assert Curvature(model, nn.CrossEntropyLoss(), (X.to(dtype), Y)).samples == 64


def test_a_norm_in_single_precision_inside_is_no_reason_to_refuse():
    """As language models have it: their layers take the dtype of the weights, their norms single precision."""

    class Norm(nn.Module):
        def forward(self, h, x):
            single = h.float()
            return (single * torch.rsqrt(single.square().mean(dim=1, keepdim=True) + 1e-5)).to(h.dtype)

    model = Around(Norm()).float()
    found = Curvature(model, nn.CrossEntropyLoss(), (X.float(), Y))
    plain = Around(lambda h, x: h * torch.rsqrt(h.square().mean(dim=1, keepdim=True) + 1e-5))
    plain.load_state_dict(model.state_dict())
    exact = exact_hessian(plain, nn.CrossEntropyLoss(), X, Y).float()
    torch.testing.assert_close(found.products(torch.eye(found.P)), exact, rtol=0, atol=1e-5)
    wrong = Around(lambda h, x: Norm()(Bent.apply(h, 0.1), x)).float()
    with pytest.raises(CurvatureError, match="differs from the corresponding finite difference of gradients"):
        Curvature(wrong, nn.CrossEntropyLoss(), (X.float(), Y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_a_loss_near_its_minimum_is_no_reason_to_refuse(dtype, scale):
    """Logits so large that the loss is nearly zero, and rounding is large compared with it."""
    model = nn.Sequential(nn.Linear(6, 3)).to(dtype)
    with torch.no_grad():
        model[0].weight.copy_(30.0 * torch.randn(3, 6, generator=torch.Generator().manual_seed(1)))
    y = model(X.to(dtype)).argmax(dim=1)
    assert Curvature(model, lambda out, t: scale * cross_entropy(out, t), (X.to(dtype), y)).samples == 64


def test_a_loss_that_bends_too_fast_for_single_precision_passes_by_the_double_one():
    """Ten thousand turns: no step is small enough that differences in float32 settle, and the products are right."""

    class Fast(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1.0, 0.7]))

        def forward(self, x):
            return torch.sin(1e4 * self.weight * x).sum(dim=1, keepdim=True)

    model, x = Fast(), torch.tensor([[1.0, 2.0], [0.5, 1.5], [0.3, 0.2]])
    found = Curvature(model, lambda output, target: output.mean(), (x, torch.zeros(3, 1))) @ torch.eye(2)
    angle = 1e4 * model.weight.detach().double() * x.double()
    exact = -((1e4 * x.double()) ** 2 * torch.sin(angle)).mean(dim=0)
    assert torch.allclose(found.double(), torch.diag(exact), rtol=0.02, atol=0.02 * float(exact.abs().max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_large_constant_in_the_loss_hides_no_derivative(dtype):
    """Differences of such a loss are rounding, and no reason to refuse products that are right."""
    model, (x, y) = nn.Linear(6, 3).to(dtype), (X.to(dtype), torch.zeros(64, 3, dtype=dtype))
    plain, lifted = (
        Curvature(model, lambda output, target, c=c: (output - target).square().mean() + c, (x, y)) for c in (0.0, 1e8)
    )
    torch.testing.assert_close(lifted @ torch.eye(21, dtype=dtype), plain @ torch.eye(21, dtype=dtype))


class Teeth(nn.Module):
    """A line with many kinks: slopes in turns that are shorter than any step of single precision."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        turn = 1e-4
        folded = (torch.remainder(self.weight / turn, 2.0) - 1.0).abs() * turn
        return ((self.weight + 0.5 * folded) * x).sum(dim=1, keepdim=True)


class Shrunk(torch.autograd.Function):
    """Nothing but a wrong derivative, in single precision only, so that the loss of all samples alone can tell."""

    @staticmethod
    def forward(ctx, h, share):
        ctx.share = share
        return h.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (1.0 - ctx.share if gradient.dtype == torch.float32 else 1.0), None


def mean_output(output, target):
    return output.mean()


def test_differences_that_settle_across_kinks_are_no_reason_to_refuse():
    """The rise of the loss along a step is the mean of the slopes on the way, not the slope at its middle."""
    x = torch.tensor([[1.0, 2.0], [0.5, 1.5], [0.3, 0.2]])
    found = Curvature(Teeth(), mean_output, (x, torch.zeros(3, 1)))
    assert torch.equal(found @ torch.eye(2), torch.zeros(2, 2))


@pytest.mark.parametrize("share", [1.0, 0.2])
@pytest.mark.parametrize("kinks", [False, True])
def test_a_wrong_slope_is_found_beside_kinks(kinks, share):
    function = torch.relu if kinks else torch.tanh
    model = Around(lambda h, x: Shrunk.apply(function(3.0 * h), share)).float()
    with pytest.raises(CurvatureError, match=r"loss of batch 1 rises by"):
        Curvature(model, lambda output, target: (output + 1.0).square().mean(), (X.float(), torch.zeros(64, 3)))


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_slope_that_is_wrong_by_more_than_kinks_explain_is_found(share):
    x = torch.tensor([[1.0, 2.0], [0.5, 1.5], [0.3, 0.2]])
    with pytest.raises(CurvatureError, match=r"loss of batch 1 rises by"):
        Curvature(Teeth(), lambda output, target: Shrunk.apply(output, share).mean(), (x, torch.zeros(3, 1)))


class Rounding(nn.Module):
    """Adds and takes away a large number in single precision, as norms of some models compute in that in any."""

    def __init__(self, number, before=lambda h: h):
        super().__init__()
        self.number, self.before = number, before

    def forward(self, h, x):
        return ((self.before(h).float() + self.number) - self.number).to(h.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("number", [100.0, 1000.0])
def test_a_model_that_rounds_to_single_precision_is_no_reason_to_refuse(number, dtype):
    found = Curvature(Around(Rounding(number)).to(dtype), nn.CrossEntropyLoss(), (X.to(dtype), Y))
    exact = exact_hessian(Around(lambda h, x: h), nn.CrossEntropyLoss(), X, Y)
    torch.testing.assert_close(found @ torch.eye(found.P, dtype=dtype), exact.to(dtype), rtol=0, atol=1e-7 * number)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("number", "wrong"),
    [(1000.0, lambda h: h * h.detach()), (1.0, lambda h: Bent.apply(h, 0.02)), (1000.0, lambda h: Bent.apply(h, 0.5))],
    ids=["first", "second by little", "second"],
)
def test_one_that_rounds_is_refused_where_its_derivatives_are_wrong(number, wrong, dtype):
    with pytest.raises(CurvatureError, match="not second derivatives"):
        Curvature(Around(Rounding(number, wrong)).to(dtype), nn.CrossEntropyLoss(), (X.to(dtype), Y))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "aside",
    [
        lambda h, x: (1.0 - (x > 0.5).to(x.dtype)).float()[:, :1],
        lambda h, x: (h.float() > 0.2).float(),
        lambda h, x: h.detach().float() > 0.2,
        lambda h, x: torch.where(h.bfloat16() > 0.2, 1.0, 0.0),
    ],
    ids=["of the inputs", "of hidden values", "detached", "in half precision"],
)
def test_what_is_rounded_for_a_mask_excuses_no_small_fault(aside, dtype):
    model = Around(lambda h, x: Bent.apply(h, 1e-5) + 0.1 * aside(h, x).to(h.dtype)).to(dtype)
    with pytest.raises(CurvatureError, match="differs from the corresponding finite difference of gradients"):
        Curvature(model, nn.CrossEntropyLoss(), (X.to(dtype), Y))


def test_half_precision_within_a_model_that_rounds_to_single_is_refused_still():
    model = Around(lambda h, x: Rounding(1.0)(h.bfloat16().to(h.dtype), x))
    with pytest.raises(CurvatureError, match="not second derivatives"):
        Curvature(model, nn.CrossEntropyLoss(), (X, Y))


class Handed(torch.autograd.Function):
    """Half the square, and a product: their derivatives are the very tensors that they are given."""

    @staticmethod
    def forward(ctx, one, other):
        ctx.save_for_backward(one, other)
        return 0.5 * one.square().sum() + (one * other).sum()

    @staticmethod
    def backward(ctx, gradient):
        one, other = ctx.saved_tensors
        return one + other, one


def summed(one, other):
    both = one + other
    return Handed.apply(both, torch.zeros_like(both))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("function", "last"), [(Handed.apply, 0.0), (summed, 1.0)])
def test_derivatives_that_share_memory_are_not_written_into(function, last, dtype):
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Parameter(torch.arange(1.0, 4.0, dtype=dtype))
            self.other = nn.Parameter(torch.arange(3.0, dtype=dtype))

        def forward(self, x):
            return function(self.one, self.other)

    model, x = Two(), torch.ones(3, 1, dtype=dtype)
    found = Curvature(model, lambda output, target: output, (x, x)) @ torch.eye(6, dtype=dtype)
    exact = torch.kron(torch.tensor([[1.0, 1.0], [1.0, last]]), torch.eye(3)).to(dtype)
    torch.testing.assert_close(found, exact)
    assert torch.equal(model.one.detach(), torch.arange(1.0, 4.0, dtype=dtype))
