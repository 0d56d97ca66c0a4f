"""Records of weights in factors: their products with inputs in every kind of layer, and calls of modules with them."""

import torch
from recording import refused
from small_clients import numbers, signed
from torch import nn
from torch.nn import functional

from algorithms.layers import bind, call, factorable, observe
from algorithms.weights import Added, Factored, dense, dense_tree, with_shape

PAIR = numbers(4, 2, seed=1), numbers(2, 3, seed=2)
ADDED = Added(numbers(4, 3, seed=3), 0.3, *PAIR)
TWICE = Added(ADDED, -0.7, numbers(4, 1, seed=4), numbers(1, 3, seed=5))
SQUARE = Factored(numbers(4, 2, seed=6), numbers(2, 3, seed=7), numbers(3, 3, seed=8))
THIN = Factored(numbers(4, 2, seed=6), None, numbers(3, 2, seed=8))
BOTH = Added(SQUARE, 2.0, *PAIR)
ALL = {"added": ADDED, "twice": TWICE, "three": SQUARE, "two": THIN, "added to three": BOTH}


def _network(*layers):
    return nn.Sequential(*layers).double()


def _set(module, seed=30):
    for number, tensor in enumerate([*module.parameters(), *module.buffers()]):
        if tensor.is_floating_point():
            tensor.data = (
                numbers(*tensor.shape, seed=seed + number).abs()
                if "Norm" in type(module).__name__
                else numbers(*tensor.shape, seed=seed + number)
            )
    return module


def forms_and_their_properties():
    for name, weight in ALL.items():
        yield (
            name,
            weight.dense(),
            weight.shape,
            weight.ndim,
            str(weight.dtype),
            str(weight.device),
            weight.requires_grad,
        )
        yield [(scale, len(chain)) for scale, chain in weight.terms]
    yield (
        Added(PAIR[0] @ PAIR[1], 1.0, PAIR[0].clone().requires_grad_(), PAIR[1]).requires_grad,
        Factored(PAIR[0], None, PAIR[1].mT, (4, 3, 1)).dense().shape,
    )


def shapes_of_layers():
    kernel = Factored(numbers(4, 2, seed=1), None, numbers(6, 2, seed=2))
    for shape in ((4, 6), (4, 2, 1, 3), (2, 3, 2, 2), (4, 3, 2), (6, 4)):
        yield (
            refused(lambda shape=shape: with_shape(kernel, shape).shape),
            refused(lambda shape=shape: dense(kernel, shape).flatten()[5:7]),
        )
    yield refused(
        lambda: with_shape(Added(numbers(4, 2, 1, 3, seed=3), 1.0, numbers(4, 1), numbers(1, 5)), (4, 2, 1, 3))
    )
    yield dense_tree({"W": kernel, "b": PAIR[0]}, {"W": torch.zeros(4, 3, 2), "b": PAIR[0]}), dense_tree({"W": THIN})
    yield with_shape(ADDED, (4, 3)) is ADDED, with_shape(THIN, None) is THIN, dense(PAIR[0]) is PAIR[0]


def linear_maps():
    x, bias = numbers(2, 3, seed=9), numbers(4, seed=10)
    for name, weight in ALL.items():
        yield (
            name,
            functional.linear(x, weight, bias),
            functional.linear(x[0], weight),
            functional.linear(numbers(2, 5, 3), weight)[1, 4],
        )


def products_with_matrices():
    left, right = numbers(2, 4, seed=9), numbers(3, 2, seed=10)
    for name, weight in ALL.items():
        yield name, left @ weight, weight @ right, torch.mm(left, weight), left.mm(weight), weight @ numbers(3, seed=3)
        yield torch.addmm(numbers(3), left, weight, beta=0.5, alpha=-2.0), torch.addmm(numbers(2), weight, right)
        yield left.matmul(weight), torch.matmul(numbers(2, 2, 4), weight)[1], weight @ THIN.mT


def operators_give_the_dense_product():
    w = Factored(torch.tensor([[1.0], [-2.0]]), None, torch.tensor([[3.0], [4.0], [0.5]]))
    yield (
        w + 1,
        1 - w,
        w - w,
        2 * w,
        w * w,
        w / 2,
        2 / w,
        w // 2,
        7 // w,
        w % 2,
        7 % w,
        abs(w) ** 2,
        2**w,
        -w,
        +w,
        abs(w),
        w == -6,
        w != -6,
        w < 1,
        w <= 1,
        w > 3,
        w >= 3,
    )
    yield (
        w[1],
        len(w),
        [row[0] for row in w],
        3.0 in w,
        bool(w[0, 0] > 1),
        w.T,
        w.sum(),
        w.norm(dim=1),
        torch.relu(w),
        torch.cat([w, w]).shape,
        numbers(2, 2).float() @ w,
    )
    yield (
        float(Factored(torch.tensor([[2.0]]), None, torch.tensor([[3.0]]))),
        int(Factored(torch.tensor([[2.0]]), None, torch.tensor([[3.5]]))),
    )


def changes_in_place_are_refused():
    yield refused(lambda: THIN.add_(1.0)), refused(torch.relu_, THIN), refused(functional.relu, THIN, inplace=True)
    yield (
        refused(lambda: torch.add(PAIR[0], 1.0, out=THIN)),
        refused(THIN.__setitem__, 0, 1.0),
        refused(functional.dropout, THIN, 0.0)[0],
    )


def embeddings():
    indices = torch.tensor([[0, 3, 1], [3, 3, 2]])
    for weight in ALL.values():
        yield functional.embedding(indices, weight)[1]
    A = numbers(4, 2).requires_grad_()
    for padding in (None, 3, -1, -2):
        rows = functional.embedding(indices, Added(numbers(4, 3), 0.5, A, PAIR[1]), padding)
        yield torch.autograd.grad(rows.sum(), A)[0]
    weighed = functional.embedding(indices, Added(numbers(4, 3), 0.5, A, PAIR[1]), scale_grad_by_freq=True)
    yield torch.autograd.grad(weighed.sum(), A)[0], functional.embedding(indices, THIN, max_norm=0.5)[0]


def _kernel(shape, along, seed=0):
    out, channels, *sides = shape
    m, n = (out * sides[0], channels * sides[1]) if along else (out, torch.Size(shape[1:]).numel())
    factors = Factored(numbers(m, 2, seed=seed), numbers(2, 3, seed=seed + 1), numbers(n, 3, seed=seed + 2), shape)
    return Added(factors, -0.5, numbers(m, 1, seed=seed + 3), numbers(1, n, seed=seed + 4))


def convolutions_by_their_factors():
    x, bias = numbers(2, 4, 6, 7, seed=1), numbers(6, seed=2)
    for along in (False, True):
        for options in (
            {},
            {"stride": 2},
            {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)},
            {"padding": (0, 1)},
            {"dilation": 2},
        ):
            weight = _kernel((6, 4, 2, 3), along)
            yield signed(functional.conv2d(x, weight, bias, **options)), signed(functional.conv2d(x, weight, **options))
        yield signed(functional.conv2d(x, _kernel((6, 4, 3, 5), along), padding="same", dilation=(1, 2)))
        yield signed(functional.conv2d(x, _kernel((6, 2, 2, 3), along), bias, groups=2, padding=1, stride=(1, 2)))
    yield signed(functional.conv2d(x, Added(numbers(6, 4, 2, 3), 0.5, numbers(6, 2), numbers(2, 24)), bias))
    yield (
        signed(functional.conv1d(x[0], _kernel((6, 6, 3), False), bias, 2, 1)),
        signed(functional.conv3d(numbers(1, 2, 3, 4, 5), _kernel((3, 2, 1, 2, 3), False), padding=1)),
    )
    yield refused(functional.conv2d, x, Factored(numbers(5, 2), None, numbers(24, 2), (6, 4, 2, 3)))


def attention_by_its_factors():
    sequence, other = numbers(5, 2, 4, seed=1), numbers(3, 2, 4, seed=2)
    module = _set(nn.MultiheadAttention(4, 2, dtype=torch.float64))
    prepared = factorable(module, "in_proj_weight, out_proj")
    w = dict(module.named_parameters())
    for inputs in (
        (sequence, sequence, sequence),
        (sequence, other, other),
        (sequence, sequence, sequence + 1),
        (sequence, other, -other),
    ):
        for own in (
            {"in_proj_weight": Added(w["in_proj_weight"], 0.5, numbers(12, 2), numbers(2, 4))},
            {"out_proj.weight": Added(w["out_proj.weight"], 0.5, numbers(4, 2), numbers(2, 4))},
        ):
            output, shares = call(prepared, {**w, **own}, *inputs)
            yield signed(output), signed(shares)
    single, _ = call(
        prepared,
        {**w, "out_proj.weight": Factored(numbers(4, 1), numbers(1, 2), numbers(4, 2))},
        sequence[:, 0],
        other[:, 0],
        other[:, 0],
    )
    yield signed(single)


def attention_with_separate_weights():
    module = _set(nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, dtype=torch.float64))
    w = dict(module.named_parameters())
    inputs = numbers(2, 1, 4), numbers(3, 1, 3), numbers(3, 1, 5)
    for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
        m, n = w[name].shape
        output, shares = call(
            factorable(module, name), {**w, name: Added(w[name], 0.5, numbers(m, 2), numbers(2, n))}, *inputs
        )
        yield signed(output), signed(shares)


def prepared_modules():
    module = _network(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 4, bias=False))
    module[2].weight.requires_grad_(False)
    prepared = factorable(module, "0, 2")
    yield (
        {name: tuple(shape) for name, shape in prepared.shapes.items()},
        sorted(prepared.trained),
        sorted(prepared.factorised),
        {n: len(p) for n, p in prepared.places.items()},
    )
    yield (
        sorted(prepared.buffers),
        prepared.others,
        [(type(norm).__name__, sorted(names)) for norm, names in prepared.norms],
        factorable(module).factorised == frozenset(),
    )
    tied = nn.Sequential(nn.Embedding(4, 3), nn.Linear(3, 4, bias=False))
    tied[1].weight = tied[0].weight
    yield (
        {n: len(p) for n, p in factorable(tied).places.items()},
        refused(factorable, module, "0, x"),
        refused(factorable, module, "1"),
    )
    kind, given = prepared.__reduce__()
    yield kind(*given).factorised == prepared.factorised


def calls_and_what_they_refuse():
    module = _network(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3, bias=False))
    prepared, x = factorable(module, "0"), numbers(2, 3, seed=1)
    w = {"0.weight": numbers(4, 3, seed=2), "0.bias": numbers(4, seed=3), "2.weight": numbers(3, 4, seed=4)}
    before = [p.clone() for p in module.parameters()]
    yield (
        call(prepared, w, x),
        call(module, w, x)[1],
        call(prepared, {**w, "0.weight": TWICE}, x),
        call(prepared, w, input=x)[0],
    )
    for change in (
        {"0.weight": numbers(3, 4)},
        {"1.weight": x},
        {"0.weight": 3.0},
        {"2.weight": Factored(numbers(3, 1), None, numbers(4, 1))},
        {"0.weight": Factored(numbers(3, 1), None, numbers(4, 1))},
    ):
        yield refused(call, prepared, {**w, **change}, x), refused(call, module, {**w, **change}, x)
    yield (
        refused(call, prepared, {"0.bias": w["0.bias"]}, x),
        all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True)),
    )


def running_statistics():
    module = _network(nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=0.25))
    w = {
        "0.weight": numbers(4, 3, seed=2),
        "0.bias": numbers(4, seed=3),
        "1.weight": numbers(4, seed=4),
        "1.bias": numbers(4, seed=5),
    }
    seen = {"1.running_mean": numbers(4, seed=6), "1.running_var": numbers(4, seed=7).square()}
    x = numbers(5, 3, seed=8)
    yield (
        call(module, w, x)[0],
        observe(module, {**w, **seen}, x)[0][1],
        dict(sorted(observe(module, {**w, **seen}, x)[1].items())),
        observe(module, w, x)[1],
    )
    yield module[1].running_mean, int(module[1].num_batches_tracked), module[1].track_running_stats
    module.eval()
    yield (
        call(module, {**w, **seen}, x)[2],
        call(module, w, x)[2],
        dict(sorted(observe(module, {**w, **seen}, x)[1].items())),
    )
    module.train()
    module[1].momentum = None
    yield refused(observe, module, {**w, **seen}, x)


class _Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        return functional.linear(x, self.weight) + self.count


def buffers_that_a_module_changes():
    module = _Counting()
    prepared, w = factorable(module), {"weight": torch.eye(2)}
    yield (
        call(prepared, w, torch.ones(2)),
        module.count,
        observe(prepared, {**w, "count": torch.full((1,), 5.0)}, torch.ones(2)),
        module.count,
    )
    with bind(prepared, {**w, "count": torch.full((1,), 2.0)}) as bound:
        yield bound(torch.ones(2)), bound(torch.ones(2))
        w["weight"].mul_(3.0)
        yield bound(torch.ones(2))
    yield module.count, module.weight.detach()


class _Strict(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))

    def forward(self, x):
        return torch._C._nn.linear(x, self.weight)


def functions_that_take_tensors_only():
    found = refused(
        call,
        factorable(_Strict(), "weight"),
        {"weight": Factored(torch.ones(2, 1), None, torch.ones(2, 1))},
        torch.ones(2),
    )
    yield found if isinstance(found, str) else found.tolist()


def norms_without_running_statistics():
    module = _network(nn.BatchNorm1d(3, track_running_stats=False), nn.Linear(3, 2, bias=False), nn.BatchNorm1d(2))
    w = {name: numbers(*p.shape, seed=number) for number, (name, p) in enumerate(module.named_parameters())}
    seen = {"2.running_mean": numbers(2, seed=6), "2.running_var": numbers(2, seed=7).square()}
    for mode in (True, False):
        module.train(mode)
        yield call(module, w, numbers(4, 3))[1], dict(sorted(observe(module, {**w, **seen}, numbers(4, 3))[1].items()))
    instance = _network(nn.InstanceNorm1d(3, track_running_stats=True, affine=True))
    yield call(instance, {"0.weight": numbers(3), "0.bias": numbers(3)}, numbers(2, 3, 4))[0, 1]


def kernels_added_to_factors():
    base = Factored(numbers(4, 2, seed=1), None, numbers(6, 2, seed=2))
    for shape in ((4, 2, 1, 3), (4, 3, 2)):
        weight = with_shape(
            Added(Added(base, 0.5, numbers(4, 1), numbers(1, 6)), -0.25, numbers(4, 1), numbers(1, 6)), shape
        )
        yield weight.shape, weight.base.shape, weight.scale, weight.base.scale, signed(weight.dense())
