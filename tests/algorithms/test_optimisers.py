"""Optimisers against torch.optim over many steps, within vmap, and on devices."""

import pytest
import torch
from synchronisations import Synchronisations

from algorithms.federation import FederationError
from algorithms.optimisers import Adam, AdamW, Sgd, gradient_step
from algorithms.schedules import Cosine
from algorithms.tree import Tree

OPTIMISERS = [
    (Sgd(), torch.optim.SGD, {}),
    (Sgd(weight_decay=0.02), torch.optim.SGD, {"weight_decay": 0.02}),
    (Sgd(momentum=0.9), torch.optim.SGD, {"momentum": 0.9}),
    (Sgd(0.9, 0.02, nesterov=True), torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.02, "nesterov": True}),
    (Adam(), torch.optim.Adam, {}),
    (Adam((0.0, 0.9), 1e-3, 0.1), torch.optim.Adam, {"betas": (0.0, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    (AdamW(), torch.optim.AdamW, {}),
    (AdamW((0.5, 0.0), 0.5, 0.3), torch.optim.AdamW, {"betas": (0.5, 0.0), "eps": 0.5, "weight_decay": 0.3}),
    (AdamW(weight_decay=0.0), torch.optim.AdamW, {"weight_decay": 0.0}),
]
NAMES = [repr(own) for own, _, _ in OPTIMISERS]
RATE = Cosine(0.05, period=70, minimum=0.01)


def start(dtype=torch.float64, batch=()):
    generator = torch.Generator().manual_seed(3)
    shapes = {"W": (3, 5), "bias": (3,), "scalar": (), "kernel": (4, 2, 3, 3)}
    return Tree({n: torch.randn((*batch, *s), dtype=dtype, generator=generator) for n, s in shapes.items()})


def slope(w, number):
    """Return the gradient of a non-quadratic function that changes in every step."""
    return w.map(lambda entry: torch.sin(entry + number) + 0.3 * entry)


def run(optimiser, w, steps):
    state = optimiser.start(w)
    for number in range(steps):
        w, state = optimiser.step(w, slope(w, number), state, RATE(number))
    return w, state


def run_torch(kind, options, w, steps, **how):
    parameters = {name: torch.nn.Parameter(entry.clone()) for name, entry in w.items()}
    optimiser = kind(parameters.values(), lr=1.0, **options, **how)
    for number in range(steps):
        optimiser.param_groups[0]["lr"] = RATE(number)
        slopes = slope(Tree({name: p.detach() for name, p in parameters.items()}), number)
        for name, parameter in parameters.items():
            parameter.grad = slopes[name]
        optimiser.step()
    return Tree({name: p.detach() for name, p in parameters.items()})


def largest_difference(a, b):
    return max(float(((a[name] - b[name]).abs() / (1.0 + b[name].abs())).max()) for name in b)


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize(("own", "kind", "options"), OPTIMISERS, ids=NAMES)
def test_steps_are_those_of_torch_optim(own, kind, options, foreach):
    expected = run_torch(kind, options, start(), 300, foreach=foreach)
    found, _ = run(own, start(), 300)
    assert largest_difference(expected, start()) > 0.1
    if isinstance(own, Sgd):
        assert all(torch.equal(found[name], expected[name]) for name in expected)
    else:  # the scalars of a step are tensors here, so that they are rounded at other places
        assert largest_difference(found, expected) <= 1e-14


@pytest.mark.parametrize(("own", "kind", "options"), OPTIMISERS, ids=NAMES)
@pytest.mark.parametrize("first", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("rest", [torch.bfloat16, torch.float32, torch.float64])
def test_each_parameter_has_the_precision_of_its_own_type(own, kind, options, first, rest):
    made = start()
    w = Tree({name: entry.to(rest if number else first) for number, (name, entry) in enumerate(made.items())})
    expected, (found, _) = run_torch(kind, options, w, 3), run(own, w, 3)
    for name, entry in found.items():
        assert entry.dtype == w[name].dtype
        assert largest_difference({name: entry}, {name: expected[name]}) <= 20 * torch.finfo(entry.dtype).eps


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("own", "kind", "options"), OPTIMISERS, ids=NAMES)
def test_less_precise_numbers_agree_to_their_precision(own, kind, options, dtype):
    expected = run_torch(kind, options, start(dtype), 20)
    found, _ = run(own, start(dtype), 20)
    assert all(entry.dtype == dtype for entry in found.values())
    assert largest_difference(found, expected) <= 20 * torch.finfo(dtype).eps


@pytest.mark.parametrize("own", [own for own, _, _ in OPTIMISERS], ids=NAMES)
def test_a_step_changes_nothing_that_it_is_given(own):
    w, state = run(own, start(), 3)
    g = slope(w, 3)
    given = [leaf.clone() for leaf in torch.utils._pytree.tree_leaves((w, g, state))]
    first = own.step(w, g, state, 0.1)
    second = own.step(w, g, state, 0.1)
    for before, after in zip(given, torch.utils._pytree.tree_leaves((w, g, state)), strict=True):
        assert torch.equal(before, after)
    for one, two in zip(*(torch.utils._pytree.tree_leaves(result) for result in (first, second)), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("own", [own for own, _, _ in OPTIMISERS], ids=NAMES)
def test_any_structure_and_the_state_between_steps(own):
    w = start()
    as_list, _ = run(own, w, 5)
    nested = ({"a": w}, [w["W"]])
    state = own.start(nested)
    assert all(isinstance(leaf, torch.Tensor) for leaf in torch.utils._pytree.tree_leaves(state))
    for number in range(5):
        slopes = ({"a": slope(nested[0]["a"], number)}, [slope(Tree(W=nested[1][0]), number)["W"]])
        nested, state = own.step(nested, slopes, state, RATE(number))
    assert all(torch.equal(nested[0]["a"][name], as_list[name]) for name in w)
    assert torch.equal(nested[1][0], as_list["W"])


@pytest.mark.parametrize("own", [own for own, _, _ in OPTIMISERS], ids=NAMES)
def test_no_parameters_are_no_work(own):
    assert own.step(Tree(), Tree(), own.start(Tree()), 0.1)[0] == Tree()


@pytest.mark.parametrize("own", [own for own, _, _ in OPTIMISERS], ids=NAMES)
def test_a_gradient_of_another_structure_is_refused(own):
    w = start()
    with pytest.raises(ValueError, match=r"[Nn]ode|arity|context|keys"):
        own.step(w, Tree({name: entry for name, entry in w.items() if name != "bias"}), own.start(w), 0.1)


@pytest.mark.parametrize("own", [own for own, _, _ in OPTIMISERS], ids=NAMES)
def test_vmap_gives_every_client_its_own_steps(own):
    many = start(batch=(6,))
    found, state = torch.vmap(lambda w: run(own, w, 12))(many)
    for client in range(6):
        alone, own_state = run(own, many.map(lambda entry, k=client: entry[k]), 12)
        assert largest_difference(found.map(lambda entry, k=client: entry[k]), alone) <= 1e-14
        leaves = torch.utils._pytree.tree_leaves
        for one, other in zip(leaves(state), leaves(own_state), strict=True):
            assert torch.allclose(one if one.ndim == 0 else one[client], other, rtol=1e-13, atol=1e-14)


def test_vmap_takes_clients_that_have_taken_unequally_many_steps():
    many, own = start(batch=(2,)), AdamW()
    pairs = [run(own, many.map(lambda entry, k=k: entry[k]), steps) for k, steps in enumerate((3, 8))]
    w, state = (torch.utils._pytree.tree_map(lambda *x: torch.stack(x), *part) for part in zip(*pairs, strict=True))
    g = slope(w, 9)
    found, _ = torch.vmap(lambda w, g, state: own.step(w, g, state, 0.1))(w, g, state)
    for k, (one, kept) in enumerate(pairs):
        alone, _ = own.step(one, slope(one, 9), kept, 0.1)
        assert largest_difference(found.map(lambda entry, k=k: entry[k]), alone) <= 1e-14


@pytest.mark.parametrize("own", [own for own, _, _ in OPTIMISERS], ids=NAMES)
def test_the_gradient_through_a_step_is_that_of_finite_differences(own):
    w, d = start(), slope(start(), 7)

    def after(t):
        moved = w + t * d
        return run(own, moved, 3)[0].square()

    t = torch.tensor(0.2, dtype=torch.float64)
    numeric = (after(t + 1e-5) - after(t - 1e-5)) / 2e-5
    assert float(torch.func.grad(after)(t)) == pytest.approx(float(numeric), rel=1e-6)
    required = t.clone().requires_grad_()
    after(required).backward()
    assert float(required.grad) == pytest.approx(float(numeric), rel=1e-6)


@pytest.mark.parametrize("own", [own for own, _, _ in OPTIMISERS], ids=NAMES)
def test_steps_stay_on_the_device_and_wait_for_nothing(own):
    w = start()
    expected, _ = run(own, w, 4)
    with torch.device("meta"), Synchronisations() as counted:
        found, _ = run(own, w, 4)
    assert counted.operations > 4
    assert counted.found == []
    assert all(torch.equal(found[name], expected[name]) for name in w)


def test_the_counter_counts():
    with Synchronisations() as counted:
        float(torch.ones(()))
        bool(torch.ones(2).isfinite().all())
        torch.ones(2).to("meta")
        torch.ones(2).to(torch.float64)
    assert counted.found == ["aten::_local_scalar_dense", "aten::_local_scalar_dense", "aten::_to_copy"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sgd(-0.1), "momentum must be at least 0, got -0.1"),
        (lambda: Sgd(weight_decay=float("nan")), "weight_decay must be at least 0, got nan"),
        (lambda: Sgd(nesterov=True), "nesterov needs a momentum"),
        (lambda: Adam((0.9, 1.0)), "betas must be two numbers from 0 to below 1"),
        (lambda: AdamW(eps=-1.0), "eps must be at least 0"),
    ],
)
def test_values_out_of_range_are_refused(make, message):
    with pytest.raises(FederationError, match=message):
        make()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_a_plain_step_rounds_the_product_before_the_difference(dtype):
    rng = torch.Generator().manual_seed(0)
    w = [torch.randn(shape, generator=rng).to(dtype) for shape in ((5, 3), (7,), ())]
    gradients = [torch.randn(value.shape, generator=rng).to(dtype) for value in w]
    w[1][:4] = torch.tensor([0.0, -0.0, 0.0, -0.0])
    gradients[1][:4] = torch.tensor([0.0, 0.0, -0.0, -0.0])
    before = [value.clone() for value in (*w, *gradients)]
    found = gradient_step(w, gradients, 0.3)
    for value, grad, new in zip(w, gradients, found, strict=True):
        expected = value - grad * 0.3
        assert torch.equal(new, expected)
        assert torch.equal(new.signbit(), expected.signbit())
    assert all(map(torch.equal, (*w, *gradients), before))


def test_a_plain_step_keeps_the_type_and_the_layout_of_the_weights():
    w = [torch.arange(6.0).reshape(2, 3), torch.ones(2, dtype=torch.float64), torch.ones(2, 2)]
    gradients = [torch.ones(3, 2).T, torch.full((2,), 0.5), torch.ones(()).expand(2, 2)]
    found = gradient_step(w, gradients, 0.25)
    for value, grad, new in zip(w, gradients, found, strict=True):
        assert torch.equal(new, value - 0.25 * grad)
        assert (new.dtype, new.stride()) == (value.dtype, value.stride())
