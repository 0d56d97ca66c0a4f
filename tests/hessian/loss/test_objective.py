"""The one door: what would end in a wrong number is refused at every entrance, and a penalty is part of the loss."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from hessian import Curvature, CurvatureError, exact_hessian, stable_rank
from hessian.pyhessian.backend import PyHessianSettings, density_quadrature
from workloads.image_networks.small import perceptron

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(40, 6, generator=GENERATOR).double()
Y = torch.randint(3, (40,), generator=GENERATOR)
WEIGHTED = nn.CrossEntropyLoss(weight=torch.tensor([0.2, 1.0, 3.0]))


def batches(x=X, y=Y, sizes=(10, 22, 8)):
    return list(zip(x.split(sizes), y.split(sizes), strict=True))


def summed(output, target):
    return cross_entropy(output, target, reduction="sum")


def doors(model, loss, data):
    """Every entrance for data in batches."""
    x, y = (torch.cat(parts) for parts in zip(*data, strict=True))
    return {
        "Curvature": lambda: Curvature(model, loss, data),
        "stable_rank": lambda: stable_rank(model, loss, data),
        "exact_hessian": lambda: exact_hessian(model, loss, x, y, rows=len(data[0][0])),
        "PyHessian": lambda: density_quadrature(model, loss, data, PyHessianSettings(iterations=5)),
    }


@pytest.mark.parametrize("door", ["Curvature", "stable_rank", "exact_hessian", "PyHessian"])
@pytest.mark.parametrize(
    ("loss", "targets", "message"),
    [
        (WEIGHTED, Y, "not a mean over independent samples"),
        (
            nn.CrossEntropyLoss(),
            torch.where(torch.arange(40) % 7 < 3, -100, Y),
            "not a mean|for only some of its samples",
        ),
        (summed, Y, "is a sum over samples"),
        (lambda out, y: cross_entropy(out - out.mean(dim=0), y), Y, "couple the samples"),
    ],
    ids=["class weights", "ignored targets", "sum", "coupled"],
)
def test_losses_that_batches_do_not_make_up_are_refused_at_every_door(door, loss, targets, message):
    if door == "PyHessian":
        pytest.importorskip("pyhessian")
    model = perceptron(6, (5,), 3, 0)
    with pytest.raises(CurvatureError, match=message) as caught:
        doors(model, loss, batches(y=targets))[door]()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-8])
def test_sorted_classes_and_a_head_of_zeros_hide_nothing(dtype, scale):
    """Each batch is of one class, and all losses are equal: only gradients over two batches tell."""
    order = Y.argsort()
    sizes = tuple(int((c == Y).sum()) for c in range(3))
    model = perceptron(6, (5,), 3, 0, dtype=dtype)
    with torch.no_grad():
        model[2].weight.zero_()
        model[2].bias.zero_()
    data = batches(X[order].to(dtype), Y[order], sizes)
    with pytest.raises(CurvatureError, match="not a mean over independent samples"):
        Curvature(model, lambda out, y: scale * WEIGHTED.to(dtype)(out, y), data)
    Curvature(model, lambda out, y: scale * cross_entropy(out, y), data)


def test_a_loss_whose_value_and_gradient_vanish_is_told_by_its_products():
    model = nn.Linear(6, 1, bias=False).double()
    nn.init.zeros_(model.weight)
    with pytest.raises(CurvatureError, match="not a mean over independent samples"):
        Curvature(model, lambda out, y: out.mean() ** 2, batches())


def test_what_is_divided_by_can_be_named():
    model = perceptron(6, (5,), 3, 0)
    y = torch.where(torch.arange(40) % 7 < 3, -100, Y)
    whole = Curvature(model, nn.CrossEntropyLoss(), (X, y))
    parts = Curvature(model, nn.CrossEntropyLoss(), batches(y=y), count=lambda batch: (batch[1] >= 0).sum())
    assert parts.samples == int((y >= 0).sum())
    assert parts.loss == pytest.approx(whole.loss, rel=1e-12)
    v = torch.ones(whole.P).double()
    torch.testing.assert_close(parts @ v, whole @ v, rtol=1e-10, atol=1e-12)
    with pytest.raises(CurvatureError, match="count must be additive"):
        Curvature(model, nn.CrossEntropyLoss(), batches(), count=lambda batch: 7)
    for found in (0, -1, 2.5, float("nan"), "many"):
        with pytest.raises(CurvatureError, match="count must give a whole number"):
            Curvature(model, nn.CrossEntropyLoss(), (X, Y), count=lambda batch, found=found: found)


def test_sums_may_be_named_and_are_then_tested():
    model = perceptron(6, (5,), 3, 0)
    whole, parts = (Curvature(model, summed, data, reduction="sum") for data in ((X, Y), batches()))
    v = torch.ones(whole.P).double()
    torch.testing.assert_close(parts @ v, whole @ v, rtol=1e-10, atol=1e-12)
    for data in ((X, Y), batches()):
        with pytest.raises(CurvatureError, match="the loss is a mean over samples, not a sum"):
            Curvature(model, lambda out, y: cross_entropy(out, y), data, reduction="sum")
    with pytest.raises(CurvatureError, match="not a sum over independent samples"):  # the penalty, once a batch
        Curvature(
            model,
            lambda out, y: summed(out, y) + sum(p.square().sum() for p in model.parameters()),
            batches(),
            reduction="sum",
        )


def test_what_cannot_be_tested_must_be_vouched_for():
    class Pooled(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(6, 3).double()

        def forward(self, x):
            return self.head(x).transpose(1, 2)

    def of(length):
        x = torch.randn(4, length, 6, generator=torch.Generator().manual_seed(length)).double()
        return x, torch.arange(4 * length).reshape(4, length) % 3

    data = [of(2), of(5)]
    with pytest.raises(CurvatureError, match=r"cannot test .*\(samples of two batches.*name reduction="):
        Curvature(Pooled(), nn.CrossEntropyLoss(), data)
    tokens = Curvature(Pooled(), nn.CrossEntropyLoss(), data, count=lambda batch: batch[1].numel())
    assert tokens.samples == 28
    assert Curvature(Pooled(), nn.CrossEntropyLoss(), data, reduction="mean").samples == 8


def test_batch_statistics_leave_the_loss_to_be_tested():
    model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)).double()
    assert Curvature(model, nn.CrossEntropyLoss(), batches(), batch_norm="batch").samples == 40
    with pytest.raises(CurvatureError, match="not a mean over independent samples"):
        Curvature(model, WEIGHTED, batches(), batch_norm="batch")
    with pytest.raises(CurvatureError, match="choose the statistics"):
        Curvature(model, nn.CrossEntropyLoss(), batches())


class TestPenalties:
    def exact(self, model):
        flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
        return exact_hessian(model, nn.CrossEntropyLoss(), X, Y) + torch.diag(12.0 * 0.05 * flat**2)

    @pytest.mark.parametrize("data", [(X, Y), batches()], ids=["resident", "batches"])
    def test_one_that_reads_the_model_is_part_of_the_matrix(self, data):
        model = perceptron(6, (5,), 3, 0)
        operator = Curvature(
            model, lambda out, y: cross_entropy(out, y) + 0.05 * sum(p.pow(4).sum() for p in model.parameters()), data
        )
        found = operator.products(torch.eye(operator.P).double())
        torch.testing.assert_close(found, self.exact(model), rtol=0, atol=1e-12)

    def test_one_in_a_module_that_holds_the_model_too(self):
        class Penalised(nn.Module):
            def __init__(self, model):
                super().__init__()
                self.model = model

            def forward(self, out, y):
                return cross_entropy(out, y) + 0.05 * sum(p.pow(4).sum() for p in self.model.parameters())

        model = perceptron(6, (5,), 3, 0)
        operator = Curvature(model, Penalised(model), (X, Y))
        torch.testing.assert_close(
            operator.products(torch.eye(operator.P).double()), self.exact(model), rtol=0, atol=1e-12
        )

    @pytest.mark.parametrize("frozen", [False, True])
    def test_one_that_holds_on_to_the_parameters_is_refused(self, frozen):
        model = perceptron(6, (5,), 3, 0).requires_grad_(not frozen)
        held = list(model.parameters())
        with pytest.raises(CurvatureError, match=r"keeps a reference to 0\.weight.*read it from the model when called"):
            Curvature(
                model, lambda out, y: cross_entropy(out, y) + sum(p.pow(4).sum() for p in held), (X, Y), parameters="*"
            )
        assert all(p.requires_grad is not frozen for p in held)

    def test_the_gauss_newton_matrix_leaves_none_out(self):
        model = perceptron(6, (5,), 3, 0)
        with pytest.raises(CurvatureError, match="in addition to the model's output"):
            Curvature(
                model,
                lambda out, y: cross_entropy(out, y) + model[0].weight.square().sum(),
                (X, Y),
                matrix="gauss-newton",
            )


class Detaching(torch.autograd.Function):
    """The square, with a backward pass that is not a function of the input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2.0 * ctx.saved_tensors[0].detach()


class Once(Detaching):
    """The same, and it says so."""

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        return gradient * 2.0 * ctx.saved_tensors[0]


class Around(nn.Module):
    """A network with a function in its middle."""

    def __init__(self, function):
        super().__init__()
        self.first, self.last, self.function = nn.Linear(6, 4), nn.Linear(4, 3), function
        self.double()

    def forward(self, x):
        return self.last(self.function(self.first(x)))


class FusedByHand(nn.Module):
    """A network that calls the fused kernel of weight norm itself, in none of the two forms in which it is taken."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 4), nn.Linear(4, 3)
        self.size = nn.Parameter(self.first.weight.detach().norm(dim=1, keepdim=True))

    def forward(self, x):
        weight = torch._weight_norm(self.first.weight, self.size, 0)
        return self.last(torch.tanh(nn.functional.linear(x, weight, self.first.bias)))


@pytest.mark.parametrize("matrix", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("data", [(X, Y), batches()], ids=["resident", "batches"])
def test_products_that_are_no_second_derivatives_are_refused(data, matrix):
    def refused(model, message, loss=cross_entropy):
        with pytest.raises(CurvatureError, match=message):
            Curvature(model, loss, data, matrix=matrix)

    if matrix == "hessian":
        refused(
            Around(Detaching.apply),
            "not second derivatives: .*differs from the corresponding finite difference of gradients",
        )
        refused(Around(lambda x: torch.tanh(x) * x.detach()), r"not second derivatives: .*loss of batch \d rises by")
        refused(FusedByHand().double(), "the matrix is not symmetric.*weight_norm")
        refused(Around(nn.Hardsigmoid()), "no second derivative .*hardsigmoid.*such as Sigmoid")
        refused(Around(Once.apply), "no second derivative|not second derivatives")
    else:
        refused(Around(lambda x: x * x.detach()), r"not second derivatives: .*loss of batch \d rises by")
        squares = "not second derivatives: .*differs from the corresponding"
        refused(Around(torch.square), squares, lambda out, y: Detaching.apply(out - y[:, None]).mean())
    Curvature(Around(torch.square), cross_entropy, data, matrix=matrix)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kinks_and_zero_biases_are_no_reason_to_refuse(dtype):
    model = nn.Sequential(nn.Linear(6, 50), nn.ReLU(), nn.Linear(50, 50), nn.LeakyReLU(), nn.Linear(50, 3)).to(dtype)
    for layer in model[::2]:
        nn.init.zeros_(layer.bias)
    assert Curvature(model, nn.CrossEntropyLoss(), (torch.where(X > 0, X, 0.0), Y)).samples == 40


def test_embeddings_that_renormalise_are_refused_and_left_alone():
    words = torch.arange(40) % 7
    model = nn.Sequential(nn.Embedding(7, 4, max_norm=0.5), nn.Linear(4, 3)).double()
    before = model[0].weight.detach().clone()
    with pytest.raises(CurvatureError, match=r"changes 0\.weight, as Embedding\(max_norm=\) does"):
        Curvature(model, nn.CrossEntropyLoss(), (words, Y))
    model[0].requires_grad_(False)
    Curvature(model, nn.CrossEntropyLoss(), (words, Y))
    assert torch.equal(model[0].weight, before)


def test_attributes_that_a_forward_pass_sets_are_put_back():
    class Counting(nn.Linear):
        calls, last = 0, None

        def forward(self, x):
            self.calls, self.last = self.calls + 1, super().forward(x)
            return self.last

    model = Counting(6, 3).double()
    Curvature(model, nn.CrossEntropyLoss(), (X, Y)).cost()
    assert model.calls == 0
    assert model.last is None


def test_a_module_held_by_two_names_keeps_its_weights():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = self.other = nn.Linear(6, 6).double()

        def forward(self, x):
            return self.other(torch.tanh(self.one(x)))[:, :3]

    model = Twice()
    before = list(model.parameters())
    found = Curvature(model, nn.CrossEntropyLoss(), (X, Y)).products(torch.eye(42).double())
    assert all(one is other for one, other in zip(model.parameters(), before, strict=True))
    torch.testing.assert_close(found, exact_hessian(model, nn.CrossEntropyLoss(), X, Y), rtol=0, atol=1e-12)


def test_tensors_of_a_loss_follow_the_model():
    model = perceptron(6, (5,), 3, 0)
    found = Curvature(model, nn.CrossEntropyLoss(weight=torch.tensor([0.5, 1.0, 2.0])), (X, Y))
    exact = Curvature(model, nn.CrossEntropyLoss(weight=torch.tensor([0.5, 1.0, 2.0]).double()), (X, Y))
    v = torch.ones(found.P).double()
    torch.testing.assert_close(found @ v, exact @ v, rtol=1e-12, atol=0)


def test_samples_are_counted_by_all_tensors():
    class Placed(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(6, 3).double()

        def forward(self, places, x, labels):
            return self.head(x) * places.mean()

    batch = {"places": torch.ones(21).double(), "x": X, "labels": Y}

    def loss(out, b):
        return cross_entropy(out, b["labels"])

    with pytest.raises(CurvatureError, match=r"have 21 and 40 rows.*give count="):
        Curvature(Placed(), loss, batch)
    assert Curvature(Placed(), loss, batch, count=lambda b: len(b["labels"])).samples == 40


def test_other_models_that_do_not_serve_are_told_why():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(6, 3).double()

        def forward(self, x):
            return {"logits": self.inner(x)}

    def refused(model, message, data=(X, Y)):
        with pytest.raises(CurvatureError, match=message):
            Curvature(model, nn.CrossEntropyLoss(), data)

    refused(Named(), "returns a dict with the keys 'logits', which the loss cannot take.*--loss module:function")
    refused(nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 3)).double(), "lazy.*call the model once")
    refused(nn.Sequential(nn.Linear(6, 3), nn.RReLU()).double(), "RReLU has random slopes in '1'")
    sparse = nn.Sequential(nn.Embedding(7, 4, sparse=True), nn.Linear(4, 3)).double()
    refused(sparse, r"sparse.*Embedding\(sparse=False\)", (torch.arange(40) % 7, Y))
    with pytest.raises(CurvatureError, match="seed must be at least 0, got -1"):
        stable_rank(perceptron(6, (5,), 3, 0), nn.CrossEntropyLoss(), (X, Y), seed=-1)


class Halved(nn.Linear):
    def forward(self, x):
        return super().forward(x.div_(2.0))


class Written(nn.Linear):
    def forward(self, x):
        x.data -= x.data.mean()
        return super().forward(x)


class Turned(nn.Linear):
    def forward(self, x):
        return super().forward(x.t_().t())


def emptied(output, batch):
    return cross_entropy(output, batch.pop("y"))


class Keyed(nn.Linear):
    def forward(self, x, y):
        return super().forward(x)


@pytest.mark.parametrize("sizes", [(40,), (10, 22, 8)])
@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 3)), cross_entropy),
        (Halved(6, 3), cross_entropy),
        (Written(6, 3), cross_entropy),
        (nn.Sequential(nn.Hardtanh(-9.0, 9.0, inplace=True), nn.Linear(6, 3)), cross_entropy),
        (Turned(6, 3), cross_entropy),
        (nn.Linear(6, 3), lambda output, y: cross_entropy(output, y.remainder_(2))),
        (Keyed(6, 3), emptied),
    ],
    ids=["relu", "halved", "data", "as it was", "turned", "targets", "popped"],
)
def test_a_change_of_the_data_in_place_is_named_and_undone(model, loss, sizes):
    data = batches(X.clone(), Y.clone(), sizes)
    if loss is emptied:
        data = [{"x": x, "y": y} for x, y in data]
    with pytest.raises(CurvatureError, match=r"changes batch 1 in place.*x = x\.clone\(\)"):
        Curvature(model.double(), loss, data if len(data) > 1 else data[0])
    parts = [[*batch.values()] if isinstance(batch, dict) else batch for batch in data]
    assert all(
        torch.equal(torch.cat(column), own) for column, own in zip(zip(*parts, strict=True), (X, Y), strict=True)
    )


def test_inference_mode_is_named_and_its_data_are_taken():
    with torch.inference_mode():
        with pytest.raises(CurvatureError, match="measure outside of it"):
            Curvature(nn.Linear(6, 3).double(), cross_entropy, (X, Y))
        made, x = nn.Linear(6, 3).double(), X + 0.0
    with pytest.raises(CurvatureError, match=r"weight was made within torch\.inference_mode"):
        Curvature(made, cross_entropy, (X, Y))
    model = perceptron(6, (5,), 3, 0)
    assert Curvature(model, cross_entropy, (x, Y)).loss == Curvature(model, cross_entropy, (X, Y)).loss


def test_noise_is_noticed_whatever_the_scale_of_the_loss():
    class Noisy(nn.Linear):
        def forward(self, x):
            return super().forward(x + 0.1 * torch.randn_like(x))

    with torch.random.fork_rng(), pytest.raises(CurvatureError, match="the model is random"):
        Curvature(Noisy(6, 3), lambda out, y: 1e-6 * cross_entropy(out, y), (X, Y))


class RandomSlope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, slope):
        return slope * (1.0 + 0.1 * float(np.random.default_rng().standard_normal()))


def test_noise_that_two_readings_do_not_show_is_named():
    noise = itertools.cycle([3e-5, -1e-5, 2e-5, -3e-5, 1e-5])

    def scaled(out, y):
        return cross_entropy(out * (1.0 + next(noise)), y)

    x = X.float()
    for loss, what in ((scaled, "losses"), (lambda out, y: cross_entropy(RandomSlope.apply(out), y), "gradients")):
        model = perceptron(6, (5,), 3, 0).float()
        with pytest.raises(CurvatureError, match=f"loss is random: two {what} of batch 1.*randn_like"):
            Curvature(model, loss, (x, Y))


class InnerStep(nn.Module):
    """A gradient step in the forward pass."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 4).double(), nn.Linear(4, 3).double()

    def forward(self, x):
        inner = self.last(torch.tanh(self.first(x))).square().mean()
        slopes = torch.autograd.grad(inner, list(self.first.parameters()), create_graph=True)
        weight, bias = (p - 0.1 * slope for p, slope in zip(self.first.parameters(), slopes, strict=True))
        return self.last(torch.tanh(nn.functional.linear(x, weight, bias)))


def test_an_inner_step_by_parameters_that_are_not_chosen_is_named():
    model = InnerStep()
    with pytest.raises(
        CurvatureError,
        match=r"differentiates with respect to parameters that were not "
        r"chosen.*block\('layer",
    ):
        Curvature(model, cross_entropy, (X, Y), parameters="last.*")
    whole = Curvature(model, cross_entropy, (X, Y))
    block = whole.block("last.*")
    dense = whole @ torch.eye(whole.P).double()
    torch.testing.assert_close(block @ torch.eye(block.P).double(), dense[-block.P :, -block.P :])
    assert Curvature(model, cross_entropy, (X, Y), parameters="first.*").P == 28


def test_the_cost_of_the_checks_is_counted_apart():
    operator = Curvature(perceptron(6, (5,), 3, 0), nn.CrossEntropyLoss(), (X, Y))
    assert operator.cost().products == 0
    assert operator.cost().check_seconds > 0.0
    assert np.isfinite(operator.cost().gradient_seconds)
