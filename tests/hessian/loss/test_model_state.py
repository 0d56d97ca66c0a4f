"""State that models and losses keep between calls, parts in half precision, and losses that change."""

import pickle

import pytest
import torch
import torch.utils.checkpoint
from torch import nn
from torch.distributions import Categorical
from torch.nn.functional import cross_entropy
from torch.nn.utils import parametrize

from hessian import Curvature, CurvatureError, exact_hessian
from hessian.loss.model_state import PureModel, match_names, select_parameters
from hessian.loss.output_curvature import MATRICES
from workloads.image_networks.small import perceptron

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(40, 6, generator=GENERATOR).double()
Y = torch.randint(3, (40,), generator=GENERATOR)
SHARED: dict[str, torch.Tensor] = {}


class Keeping(nn.Module):
    """A network that computes a weight once, and keeps it in a place of its own."""

    def __init__(self, place, detach):
        super().__init__()
        self.first, self.last = nn.Linear(6, 4).double(), nn.Linear(4, 3).double()
        self.place, self.detach = place(), detach

    def forward(self, x):
        if "weight" not in self.place:
            weight = 2.0 * self.first.weight
            self.place["weight"] = weight.detach() if self.detach else weight
        return self.last(torch.tanh(nn.functional.linear(x, self.place["weight"], self.first.bias)))


class Namespace:
    """Neither a mapping nor a module."""

    def __contains__(self, key):
        return key in vars(self)

    def __getitem__(self, key):
        return vars(self)[key]

    def __setitem__(self, key, value):
        setattr(self, key, value)


def shared():
    SHARED.clear()
    return SHARED


@pytest.mark.parametrize("data", [(X, Y), [(X[:15], Y[:15]), (X[15:], Y[15:])]], ids=["resident", "batches"])
@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("place", [dict, Namespace, shared])
def test_weights_kept_between_calls_are_refused(place, detach, data):
    with pytest.raises(CurvatureError, match=r"keeps .*computed from the weights.*between calls") as caught:
        Curvature(Keeping(place, detach), nn.CrossEntropyLoss(), data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("called_before", [False, True])
def test_cached_parametrisations_are_refused(called_before):
    model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)).double()

    class Doubled(nn.Module):
        def forward(self, weight):
            return 2.0 * weight

    parametrize.register_parametrization(model[0], "weight", Doubled())
    with parametrize.cached():
        if called_before:
            with torch.no_grad():
                model(X)
        with pytest.raises(CurvatureError, match=r"between calls|not a parameter of the model"):
            Curvature(model, nn.CrossEntropyLoss(), (X, Y))
    found = Curvature(model, nn.CrossEntropyLoss(), (X, Y))  # outside, each call computes it
    exact = exact_hessian(model, nn.CrossEntropyLoss(), X, Y)
    torch.testing.assert_close(found.products(torch.eye(found.P).double()), exact, rtol=0, atol=1e-12)


def test_weights_kept_from_before_are_refused_where_nothing_else_reads_the_parameter():
    model = Keeping(dict, detach=True)
    model(X)
    with pytest.raises(CurvatureError, match=r"first\.weight does not reach the loss.*(4, 6).*parameters="):
        Curvature(model, nn.CrossEntropyLoss(), (X, Y))
    found = Curvature(model, nn.CrossEntropyLoss(), (X, Y), parameters=["first.bias", "last.*"])
    assert found.unused == ()


def test_what_is_kept_but_does_not_come_from_the_weights_is_no_reason_to_refuse():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.place, self.seen = nn.Linear(6, 3).double(), {}, []

        def forward(self, x):
            if "mask" not in self.place:
                self.place["mask"] = torch.linspace(0.5, 1.5, 6).double()
            self.seen.append(self.inner.weight.norm())  # kept, and never read
            return torch.tanh(self.inner(x * self.place["mask"]))

    assert Curvature(Masked(), nn.CrossEntropyLoss(), (X, Y)).unused == ()


@pytest.mark.sample(4)
@pytest.mark.parametrize("data", [(X, Y), [(X[:15], Y[:15]), (X[15:], Y[15:])]], ids=["resident", "batches"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_a_loss_that_counts_its_calls_is_refused_or_reported_with_its_own_matrix(matrix, data):
    class Counting:
        def __init__(self, changes_at):
            self.calls, self.changes_at = 0, changes_at

        def __call__(self, output, target):
            self.calls += 1
            return cross_entropy(output, target) * (1.0 if self.calls < self.changes_at else 2.0)

    model, refused = perceptron(6, (5,), 3, 0), []
    options = {"matrix": matrix, "law": (lambda f: Categorical(logits=f)) if matrix == "fisher" else None}
    plain = Curvature(model, cross_entropy, (X, Y), **options)
    vector = torch.ones(plain.P).double()
    for changes_at in range(1, 60):
        try:
            found = Curvature(model, Counting(changes_at), data, **options)
            product = found @ vector
        except CurvatureError:
            refused.append(changes_at)
            continue
        scale = (found.loss / plain.loss) ** (2 if matrix == "empirical-fisher" else 1)
        torch.testing.assert_close(product, (plain @ vector) * scale, rtol=1e-9, atol=1e-12)
    assert {3, 4, 5, 8, 10} <= set(refused)


@pytest.mark.parametrize("changes_at", [3, 5])
def test_a_loss_that_counts_its_calls_is_refused_by_the_dense_hessian(changes_at):
    calls = []

    def loss(output, target):
        calls.append(1)
        return cross_entropy(output, target) * (1.0 if len(calls) < changes_at else 2.0)

    with pytest.raises(CurvatureError, match="changes from call to call"):
        exact_hessian(perceptron(6, (5,), 3, 0), loss, X, Y)


@pytest.mark.parametrize("data", [(X, Y), [(X[:15], Y[:15]), (X[15:], Y[15:])]], ids=["resident", "batches"])
def test_a_loss_that_changes_after_the_checks_is_refused_where_it_is_read_again(data):
    class Later:
        factor = 1.0

        def __call__(self, output, target):
            return self.factor * cross_entropy(output, target)

    loss = Later()
    operator = Curvature(perceptron(6, (5,), 3, 0), loss, data, keep_graph=False)
    operator.products(torch.ones(1, operator.P).double())
    loss.factor = 2.0
    with pytest.raises(CurvatureError, match=r"batch 1 has loss .* and then"):
        operator.products(torch.ones(1, operator.P).double())


class Half(nn.Module):
    """A network with a part in half precision."""

    def __init__(self, casts, dtype):
        super().__init__()
        self.body, self.head = nn.Linear(6, 4).to(dtype).requires_grad_(False), nn.Linear(4, 3)
        self.casts, self.dtype = casts, dtype

    def forward(self, x):
        return self.head(self.body(x.to(self.dtype) if self.casts else x).to(self.head.weight.dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_part_in_half_precision_is_named(dtype):
    with pytest.raises(CurvatureError, match=r"body\.weight.*float16.*model\.float\(\)") as caught:
        Curvature(Half(False, dtype), nn.CrossEntropyLoss(), (X.float(), Y))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_part_in_half_precision_before_the_weights_serves(dtype):
    model = Half(True, dtype)
    found = Curvature(model, nn.CrossEntropyLoss(), (X.float(), Y))
    with torch.no_grad():
        hidden = model.body(X.to(dtype)).float()
    exact = exact_hessian(model.head, nn.CrossEntropyLoss(), hidden, Y)
    torch.testing.assert_close(found.products(torch.eye(found.P)), exact, rtol=0, atol=1e-5)


def test_a_part_in_half_precision_behind_the_weights_is_named():
    class Behind(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(6, 4), nn.Linear(4, 3).bfloat16().requires_grad_(False)

        def forward(self, x):
            return self.head(torch.tanh(self.body(x)).bfloat16()).float()

    with pytest.raises(CurvatureError, match=r"head\.weight.*bfloat16.*model\.float\(\)"):
        Curvature(Behind(), nn.CrossEntropyLoss(), (X.float(), Y))


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled_scripts_are_named():
    model = nn.Sequential(nn.Linear(6, 3)).double()
    for compiled in (torch.jit.script(model), torch.jit.trace(model, X), nn.Sequential(torch.jit.script(model))):
        with pytest.raises(CurvatureError, match=r"is a TorchScript module.*before torch\.jit\.script"):
            Curvature(compiled, nn.CrossEntropyLoss(), (X, Y))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_layers_are_refused(reentrant):
    """They are evaluated again in the backward pass, where the model's own weights are back."""

    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(6, 5).double(), nn.Linear(5, 3).double()

        def inner(self, x):
            return torch.tanh(self.first(x))

        def forward(self, x):
            return self.last(torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=reentrant))

    with pytest.raises(CurvatureError, match=r"not second derivatives.*torch\.utils\.checkpoint"):
        Curvature(Checkpointed(), nn.CrossEntropyLoss(), (X, Y))


def test_buffers_without_a_size_are_named():
    model = nn.Sequential(nn.Linear(6, 3), nn.LazyBatchNorm1d(affine=False)).double().eval()
    with pytest.raises(CurvatureError, match=r"^1\.running_mean is lazy and has no weights yet: call the model once"):
        select_parameters(model, None)


def test_every_evaluation_starts_from_the_buffers_that_were_found():
    """A forward pass that doubles a buffer doubles the one that the model had, however often it has run."""

    class Doubling(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(1, 1, bias=False).double()
            self.register_buffer("scale", torch.tensor(1.5).double())

        def forward(self, x):
            self.scale.mul_(2.0)
            return self.layer(x) * self.scale

    model = Doubling()
    x = torch.tensor([[1.0], [2.0]]).double()
    operator = Curvature(model, nn.MSELoss(), (x, torch.zeros_like(x)))
    for _ in range(3):
        assert operator.products(torch.ones(1, 1).double()).item() == pytest.approx(2 * 3.0**2 * 2.5)
    assert model.scale == 1.5


def test_copies_of_a_model_keep_the_modes_in_which_it_was_found():
    frozen, norm = nn.BatchNorm1d(3).double().eval(), nn.BatchNorm1d(3).double()
    model = nn.Sequential(nn.Linear(6, 3).double(), frozen, norm)
    chosen = select_parameters(model, None)
    found = PureModel(model, nn.MSELoss(), chosen, "batch")
    want = found.run(lambda: found((X[:5],), {}))
    for others in (True, False):  # training goes on, and an evaluation follows
        model.train(others)
        for copied in (found.at(list(chosen.values())), pickle.loads(pickle.dumps(found))):
            assert copied.modes == found.modes == (True, True, True, False, True, True)
            torch.testing.assert_close(copied.run(lambda copied=copied: copied((X[:5],), {})), want)


def test_buffers_of_a_module_with_two_names_are_left_as_they_were():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6).double()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls = self.calls + 1.0
            return torch.tanh(self.layer(x))

    shared = Counting()
    model = nn.Sequential(shared, shared, nn.Linear(6, 3).double())
    before = shared.calls
    Curvature(model, nn.CrossEntropyLoss(), (X, Y))
    assert shared.calls is before
    assert before == 0.0


def test_another_name_of_a_parameter_that_is_not_among_the_names_matches_nothing():
    others = {"tied.weight": "first.weight", "tied.bias": "left.bias"}
    assert match_names(["first.weight", "last.weight"], "tied.*", others) == ["first.weight"]
    with pytest.raises(CurvatureError, match=r"no parameter matches 'tied\.bias'; the first are first\.weight, last"):
        match_names(["first.weight", "last.weight"], "tied.bias", others)
