"""Records of choices and refusals of curvature operators: probes drawn together, laws, blocks, constants, rounding."""

import torch
from recording import refused
from torch import nn

from hessian import Cost, Curvature, PassedChecks
from hessian.loss import model_state
from hessian.loss.graphs import Layout
from hessian.loss.product_rounding import LargestNumber, describe_limit, few_suffice

DOUBLE = torch.float64
X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7], [-0.2, 0.9, 0.4]], dtype=DOUBLE)
Y = torch.tensor([[1.0, 0.0], [0.5, -0.5], [0.0, 2.0]], dtype=DOUBLE)


def _fill(model):
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=DOUBLE).add(1.7 * number).sin().reshape(p.shape))
    return model


class Partly(nn.Module):
    """Layers of which one is not used, and one has two names."""

    def __init__(self):
        super().__init__()
        self.first, self.idle, self.last = nn.Linear(3, 2), nn.Linear(2, 2), nn.Linear(2, 2)
        self.again = self.first
        self.register_buffer("scale", torch.tensor([2.0, 0.5]))
        self.norm = nn.BatchNorm1d(2, affine=False)

    def forward(self, x):
        return self.last(torch.tanh(self.norm(self.first(x)) * self.scale))


def _partly():
    return _fill(Partly().double().eval())


def probes_drawn_together():
    for options in ({}, {"vectorize": 3}, {"keep_graph": False}, {"keep_graph": False, "vectorize": 9}):
        operator = Curvature(_fill(nn.Linear(3, 2).double()), nn.MSELoss(), (X, Y), **options)
        for count in (100_000, 100_001):
            operator._layout = Layout.of((torch.empty(count),))  # so long vectors take no time
            yield operator.P, operator.keeps_graph, operator.chunk, operator.together


def laws_and_vectors_refused():
    model = _fill(nn.Linear(3, 2).double())
    for options in (
        {"matrix": "fisher", "law": 3},
        {"matrix": "hessian", "law": torch.distributions.Normal},
        {"matrix": "Hessian"},
        {"vectorize": 0},
        {"vectorize": 1.0},
        {"vectorize": "eight"},
    ):
        yield refused(Curvature, model, nn.MSELoss(), (X, Y), **options)
    law = lambda out: torch.distributions.Normal(out, 2.0)  # noqa: E731
    fisher = Curvature(model, nn.MSELoss(), (X, Y), matrix="fisher", law=law)
    yield fisher @ torch.ones(fisher.P, dtype=DOUBLE)


def blocks_with_unused_parameters():
    operator = Curvature(_partly(), nn.MSELoss(), (X, Y))
    yield operator.unused, operator.aliases, operator.samples
    for chosen in ("first.*", "again.*", "idle.*", ["idle.bias", "last.*"]):
        block = operator.block(chosen)
        yield block.names, block.unused, block.aliases, block.block(None).unused
    yield {name: (block.unused, block.aliases) for name, block in operator.blocks(1).items()}
    for rows, columns in (("first.*", "last.*"), ("last.bias", ["first.*", "idle.weight"])):
        block = operator.between(rows, columns)
        yield block.shape, block.T.shape, block @ torch.ones(block.shape[1], dtype=DOUBLE)
    yield refused(operator.between, ["first.bias", "last.*"], ["first.*", "last.bias"])
    yield refused(operator.between, "none", "last.*")


def costs_in_gradients():
    for one in (Cost(5, 3.0, 0.5, 1.25), Cost(5, 0.5, 2.0, 3.0, 8, 2, "differ")):
        yield one.gradients, one.gradients_with_checks, one.together, one.workers, one.fault


def constants_of_a_model_and_its_loss():
    model = _partly()
    loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]))
    loss.offset = nn.Parameter(torch.tensor([0.25]))
    chosen = model_state.select_parameters(model, "last.*")
    pure = model_state.PureModel(model, loss, chosen, None)
    yield [(tuple(one.shape), str(one.dtype), float(one.sum())) for one in pure.constants()]
    yield [(tuple(one.shape), str(one.dtype), float(one.sum())) for one in pure.constant_contents()]
    yield pure.holds_others_fixed(), pure.find_half_precision(), pure.find_other_dtype()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in chosen)
    yield model_state.PureModel(model, loss, chosen, None).holds_others_fixed()


def half_precision_that_is_held():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        model = _partly()
        model.scale = model.scale.to(dtype)
        pure = model_state.PureModel(model, nn.MSELoss(), model_state.select_parameters(model, "last.*"), None)
        yield pure.find_half_precision(), pure.find_other_dtype()
    model.scale, model.idle.plain = model.scale.double(), [torch.ones(2)]
    yield model_state.PureModel(model, nn.MSELoss(), {"last.bias": model.last.bias}, None).find_other_dtype()


def norms_that_are_meant():
    norms = [nn.BatchNorm1d(2), nn.Linear(2, 2), nn.BatchNorm1d(3), nn.BatchNorm1d(4, track_running_stats=False)]
    for modes in ((True, True, False, False), (False, True, False, False), (True, False, True, True)):
        found = model_state.norms_of_batches(norms, modes)
        yield [place for place, norm in enumerate(norms) if norm in found]
    yield [norm in model_state.norms_of_batches(norms[:3], (False,) * 3) for norm in norms]


def lookups_of_padding():
    lookups = nn.ModuleDict({"a": nn.Embedding(4, 2, padding_idx=0), "b": nn.EmbeddingBag(5, 2, padding_idx=3)})
    lookups["c"] = nn.Embedding(4, 2, padding_idx=2)
    lookups["c"].weight = lookups["a"].weight
    for names in (["a.weight", "b.weight"], ["b.weight", "a.weight"], ["b.weight"]):
        yield model_state.padding_rows(lookups, names)


def checks_that_constants_repeat():
    """The same model and data with other weights of classes, frozen weights and buffers."""
    checks, labels = PassedChecks(), torch.tensor([0, 1, 1])
    model = _partly()
    found = []
    for change in (
        lambda loss: None,
        lambda loss: loss.weight.mul_(2.0),
        lambda loss: model.scale.mul_(0.5),
        lambda loss: None,
    ):
        loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0], dtype=DOUBLE))
        with torch.no_grad():
            change(loss)
        operator = Curvature(model, loss, (X, labels), parameters="last.*", checks=checks)
        found.append(operator._objective.fingerprint)
        yield operator.loss, operator @ torch.ones(operator.P, dtype=DOUBLE)
    yield [found.index(one) for one in found], [one is None for one in found]


def derivatives_through_two_types():
    for types in ((torch.float32,), (torch.float32, torch.bfloat16), (torch.bfloat16,)):

        def loss(out, y, types=types):
            for dtype in types:
                out = out.to(dtype)
            return (out.double().tanh() - y).square().mean()

        yield refused(lambda loss=loss: Curvature(_fill(nn.Linear(3, 2).double()), loss, (X, Y), reduction="mean").P)


def largest_numbers_and_rounding():
    seen = LargestNumber()
    yield seen.value, seen.on((torch.tensor([1.0, -7.5]), torch.tensor([99.0]))).value
    yield seen.on({"a": torch.tensor([3.0]), "b": torch.tensor([2.0, 8.0])}).value
    yield LargestNumber().on((torch.tensor([1.0, torch.inf, -4.0]),)).value
    eps = torch.finfo(torch.float32).eps
    for rounding in (0.0, 2.0 * eps, 4.0 * eps, 8.0 * eps, 1.0):
        yield [few_suffice(rounding, dtype, size) for dtype in (DOUBLE, torch.float32) for size in (1.0, 1e3, 1e5, 1e9)]
    yield [describe_limit(3.14e-4, dtype) for dtype in (DOUBLE, torch.float32)]
