"""Records of curvature matrices of networks: products, blocks, exact Hessians, samples' parts, shards and workers."""

import io

import numpy as np
import torch
from recording import Within, refused
from torch import nn

from hessian import (
    Cost,
    Curvature,
    PassedChecks,
    SampleHessians,
    SampleSpectra,
    Workers,
    exact_hessian,
    sample_factors,
    sample_hessian_parts,
    sample_hessians,
    sample_spectra,
    spectra_of,
)
from hessian.loss.batches import size_of
from hessian.loss.checked_objective import checked_objective, count_check_numbers, measure_model_memory
from hessian.loss.graphs import Block
from hessian.operators.data_parallel import add_up
from hessian.operators.per_sample import mean_square, require_directions
from hessian.operators.shards import cut_up, shares_of
from hessian.operators.shared_rows import Frame
from hessian.operators.worker import Order, Task, WorkerState

LOSS = nn.CrossEntropyLoss()
GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(7, 3, generator=GENERATOR, dtype=torch.float64)
CLASSES = torch.tensor([0, 2, 1, 1, 0, 2, 2])
TARGETS = torch.randn(7, 2, generator=GENERATOR, dtype=torch.float64)


def _fill(model):
    """Give a model weights that do not depend on the processor's random numbers in single precision."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=torch.float64).add(1.7 * number).sin().reshape(p.shape))
    return model


def _network(outputs=3):
    return _fill(nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, outputs)).double())


def _ramp(count, rows=2):
    return torch.linspace(-1.0, 1.5, rows * count, dtype=torch.float64).reshape(rows, count)


BATCHES = [(X[:2], CLASSES[:2]), (X[2:], CLASSES[2:])]


def products_with_every_matrix():
    for matrix in ("hessian", "gauss-newton", "residual", "fisher", "empirical-fisher"):
        operator = Curvature(_network(), LOSS, (X, CLASSES), matrix=matrix)
        yield matrix, operator.products(_ramp(operator.P)), operator.loss, operator.samples


def products_of_other_losses():
    for loss, matrix in (
        (nn.MSELoss(), "fisher"),
        (nn.BCEWithLogitsLoss(), "fisher"),
        (nn.MSELoss(reduction="sum"), "empirical-fisher"),
    ):
        targets = TARGETS if isinstance(loss, nn.MSELoss) else (TARGETS > 0).double()
        operator = Curvature(_network(2), loss, (X, targets), matrix=matrix)
        yield operator.products(_ramp(operator.P, 1)), operator.loss, operator.P, operator.dtype


def products_of_unequal_batches():
    for options in ({}, {"reduction": "mean", "keep_graph": True}, {"vectorize": 2}):
        operator = Curvature(_network(), LOSS, BATCHES, **options)
        yield (
            operator.products(_ramp(operator.P)),
            operator.loss,
            operator.samples,
            operator.keeps_graph,
            operator.chunk,
            operator.together,
        )
    summed = Curvature(_network(), nn.CrossEntropyLoss(reduction="sum"), BATCHES)
    yield summed @ _ramp(summed.P)[0], summed @ _ramp(summed.P).T, summed.loss


def names_and_blocks():
    operator = Curvature(_network(), LOSS, (X, CLASSES), vectorize=3)
    yield (
        operator.names,
        operator.P,
        operator.unused,
        operator.aliases,
        operator.keeps_graph,
        operator.chunk,
        operator.held,
    )
    for chosen in ("2.*", ["0.bias", "2.bias"], None):
        block = operator.block(chosen)
        yield (
            block.names,
            block.P,
            block.products(_ramp(block.P)),
            block.cost(1.0).products,
            operator.cost(1.0).products,
        )
    for depth in (None, 2, 1):
        yield {name: (block.P, block.names) for name, block in operator.blocks(depth).items()}
    yield (
        refused(operator.block, "9.*"),
        refused(operator.block, []),
        refused(operator.blocks, 0),
        refused(operator.blocks, 1.5),
    )
    yield (
        refused(operator.products, _ramp(5)),
        refused(operator.products, _ramp(operator.P)[0]),
        refused(operator.products, _ramp(operator.P).float()),
    )


def blocks_off_the_diagonal():
    operator = Curvature(_network(), LOSS, (X, CLASSES))
    block = operator.between("0.*", "2.weight")
    yield (
        block.shape,
        block.row_names,
        block.column_names,
        block.products(_ramp(6)),
        block.T.products(_ramp(8)),
        block.T.shape,
    )
    yield (
        block @ _ramp(6)[0],
        block @ _ramp(6).T,
        block.dilated().P,
        block.dilated().products(_ramp(14)),
        block.dilated().rounding,
    )
    found = block.stable_rank(rng=np.random.default_rng(0))
    yield Within(1e-6, [found.value, found.low, found.high, found.spectral_norm.value, found.frobenius.value])
    yield refused(operator.between, "0.*", ["0.bias", "2.bias"]), operator.cost(2.0).products


def weights_that_are_tied_or_unused():
    model = _fill(nn.Sequential(nn.Linear(3, 3, bias=False), nn.Tanh(), nn.Linear(3, 3, bias=False)).double())
    model[2].weight = model[0].weight
    model.spare = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    model.forward = lambda x: model[2](model[1](model[0](x)))
    operator = Curvature(model, LOSS, (X, CLASSES))
    yield operator.names, operator.aliases, operator.unused, operator.P, operator.products(_ramp(operator.P, 1))
    yield operator.block("2.*").names, list(operator.blocks())


def costs_in_gradients():
    cost = Cost(5, 3.0, 0.5, 1.0, 2, 3, "x")
    yield cost.gradients, cost.gradients_with_checks, cost.to_dict(), str(cost)
    operator = Curvature(_network(), LOSS, (X, CLASSES), memory="1 GiB")
    operator.products(_ramp(operator.P))
    found = operator.cost(4.0)
    yield found.products, found.gradient_seconds, found.together, found.workers, found.fault, sorted(operator.held)
    yield {name: operator.held[name] for name in ("program", "model", "copies", "data")}


def refused_curvatures():
    for options in (
        *(
            {"matrix": "x"},
            {"law": LOSS},
            {"matrix": "fisher", "law": 3},
            {"vectorize": 0},
            {"vectorize": "x"},
            {"vectorize": 1.5},
        ),
        *(
            {"workers": 0},
            {"memory": "x"},
            {"batch_norm": "x"},
            {"reduction": "x"},
            {"parameters": "x.*"},
            {"reduction": "sum"},
        ),
        *({"parameters": 3}, {"workers": "cuda:77"}, {"workers": []}, {"workers": "nowhere"}, {"memory": 100}),
    ):
        yield refused(Curvature, _network(), LOSS, (X, CLASSES), **options)
    operator = Curvature(model := _network(), LOSS, (X, CLASSES))
    with torch.no_grad():
        model[0].bias.add_(1.0)
    yield refused(operator.products, _ramp(operator.P))
    with torch.inference_mode():
        yield refused(Curvature, _network(), LOSS, (X, CLASSES))


def exact_hessians():
    for options in ({"method": "layered"}, {"method": "columns", "columns": 3}, {"rows": 2}):
        seen = []
        found = exact_hessian(
            _network(), LOSS, X, CLASSES, progress=lambda *one, seen=seen: seen.append(one), **options
        )
        yield found[:3], found[-1], found.trace(), seen
    frozen = _network()
    frozen[0].weight.requires_grad_(False)
    yield exact_hessian(frozen, nn.MSELoss(), X, torch.cat([TARGETS, TARGETS[:, :1]], dim=1))[:, 2]


def refused_exact_hessians():
    for options in ({"method": "x"}, {"columns": 0}, {"rows": 0}, {"rows": 1.5}):
        yield refused(exact_hessian, _network(), LOSS, X, CLASSES, **options)
    yield (
        refused(exact_hessian, _network(), LOSS, X[:0], CLASSES[:0]),
        refused(exact_hessian, _network(), LOSS, X, CLASSES[:3]),
    )
    yield (
        refused(exact_hessian, _network(), LOSS, [X], CLASSES),
        refused(exact_hessian, _network(), LOSS, X, torch.tensor(1)),
    )
    shared = nn.Linear(3, 3).double()
    twice = nn.Sequential(shared, nn.Tanh(), shared)
    unused = nn.Sequential(nn.Linear(3, 3)).double()
    unused.other = nn.Linear(2, 2).double()
    unused.forward = lambda x: unused[0](x)
    normed = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)).double()
    for model in (
        twice,
        unused,
        normed,
        nn.Sequential(nn.Linear(3, 3), nn.Unflatten(1, (1, 3)), nn.Linear(3, 3), nn.Flatten()).double(),
    ):
        yield refused(exact_hessian, model, LOSS, X, CLASSES, method="layered")
    model = _network()
    penalty = lambda out, y: LOSS(out, y) + model[0].weight.square().sum()  # noqa: E731
    yield refused(exact_hessian, model, penalty, X, CLASSES, method="layered")


def spectra_of_samples():
    directions = torch.linalg.qr(_ramp(17, 2).T + torch.eye(17, 2, dtype=torch.float64))[0]
    found = sample_spectra(_network(), LOSS, BATCHES, directions=directions)
    yield found.eigenvalues, np.abs(found.blocks).sum(axis=1), found.trace, found.square
    factors = list(sample_factors(_network(), LOSS, (X, CLASSES), parameters="2.bias"))
    yield (
        factors[1],
        len(factors),
        spectra_of(iter(factors)).blocks.shape,
        spectra_of(torch.stack(factors[:2])).eigenvalues,
    )
    spectra = SampleSpectra(np.array([[1.0, 2.0], [0.0, 3.0]]), np.zeros((2, 2, 0)))
    yield spectra.trace, spectra.square, mean_square(np.zeros((2, 2))), mean_square(np.array([[1e-150, -2e-150]]))
    for size in (1e-160, 1e160):
        yield refused(mean_square, np.array([[size]]))


def refused_samples():
    eye = torch.eye(4, dtype=torch.float64)
    for directions, P in (
        (eye[0], 4),
        (eye, 5),
        (eye.float(), 4),
        (1.0005 * eye, 4),
        (1.0004 * eye, 4),
        (eye[:, [0, 0]], 4),
    ):
        yield refused(require_directions, directions, P, torch.float64)
    yield refused(sample_factors, _network(), LOSS, (X, CLASSES), batch_norm="batch")
    yield refused(sample_hessian_parts, _network(), LOSS, (X, CLASSES), rank=2, batch_norm="batch")
    for rank in (0, 18, 1.5):
        yield refused(sample_hessian_parts, _network(), LOSS, (X, CLASSES), rank=rank)
    concave = lambda out, y: -(out.square().mean())  # noqa: E731
    yield refused(lambda: list(sample_factors(_network(), concave, (X, CLASSES))))
    tokens = lambda batch: 3 if len(batch[0]) == 7 else 0  # noqa: E731
    yield refused(lambda: list(sample_hessian_parts(_network(), LOSS, (X, CLASSES), rank=2, count=tokens)))


def hessians_of_samples():
    found = sample_hessians(_network(), LOSS, BATCHES, rank=9)
    yield (
        found.eigenvalues[:, [0, 7, 8]],
        np.diag(found.plus),
        found.minus[0],
        found.dimension,
        found.traces,
        found.square,
    )
    directions = torch.eye(17, dtype=torch.float64)[:, [3, 11]]
    for seed in (0, 1):
        few = sample_hessians(
            _network(), LOSS, (X, CLASSES), rank=4, directions=directions, seed=seed, parameters=["0.*", "2.*"]
        )
        yield few.plus, few.minus, few.captured, few.eigenvalues[2]
    own = SampleHessians(np.array([[-1.0, 2.0], [-3.0, 0.5]]), np.eye(2), np.eye(2), 2, 1.0)
    yield own.traces, own.square
    values, vectors, norm = next(sample_hessian_parts(_network(), LOSS, (X, CLASSES), rank=4, seed=2))
    yield values, vectors.shape, norm


def data_cut_up_for_workers():
    for workers, count in (
        (1, size_of),
        (2, size_of),
        (3, size_of),
        (9, size_of),
        (3, lambda batch: int((batch[1] > 0).sum())),
    ):
        yield [len(batch[0]) for batch in cut_up((X, CLASSES), workers, None, count).source]
    yield len(list(cut_up(BATCHES, 3, None, size_of).source)), refused(cut_up, (X, CLASSES), 2, "batch", size_of)
    yield refused(cut_up, (X, CLASSES[:3]), 2, None, size_of), refused(cut_up, (X, CLASSES), 3, None, lambda batch: 7)
    for sizes, workers in (
        ([1, 1, 1, 1], 2),
        ([9, 1, 1], 2),
        ([1, 1, 9], 2),
        ([3, 1, 4, 1, 5, 9], 3),
        ([2], 4),
        ([5, 5], 2),
        ([1, 2, 1], 2),
    ):
        yield [list(one) for one in shares_of(sizes, workers)]


def names_of_workers():
    for given in (1, 3, "2", "cpu", "cpu, cpu", ["cpu"]):
        found = Workers.of(given)
        yield found and (found.count, found.devices, found.device, found.ray)
    found = Workers("cpu,cuda:5", ray="local")
    yield found.count, found.device, Workers.of(1, "auto").ray, Workers.of(None), refused(Workers.of, None, "auto")
    for given in (0, True, -1, "", [3], "gpu"):
        yield refused(Workers, given)
    yield (
        add_up([torch.full((1, 3), 0.1), torch.tensor([[1.0, 2.0, 3.0]])], torch.zeros(1)),
        add_up([torch.ones(2, 1)], torch.zeros(1)),
    )


def frames_of_shared_memory():
    for dtype in (torch.float64, torch.float32):
        frame = Frame(3, 5, 7, dtype, 2)
        memory = torch.zeros(frame.size, dtype=torch.uint8)
        frame.vectors(memory).fill_(1.0)
        frame.products(memory, 0).fill_(2.0)
        frame.products(memory, 1).fill_(3.0)
        yield frame.size, frame.vectors(memory).sum(), [frame.products(memory, place).sum() for place in (0, 1)]


def orders_to_a_worker():
    objective = checked_objective(_network(), LOSS, BATCHES)
    content = io.BytesIO()
    torch.save(Task.of(objective, "hessian", True), content)
    state = WorkerState()
    state.answer(Order("take", 4, numbers=range(2, 3)), message=content.getvalue())
    every = Block((0, 1, 2, 3), (0, 1, 2, 3))
    yield state.answer(Order("products", 4, block=every, together=2), _ramp(17)), state.answer(Order("fault", 4))
    yield state.answer(Order("gradients", 4, block=every)), state.answer(Order("held", 4))[0], list(state.shards)
    yield str(state.answer(Order("products", 9, block=every), _ramp(17)).error)
    yield state.answer(Order("forget", 4, gone=(4, 7))), list(state.shards)


def checks_that_are_remembered():
    checks = PassedChecks()
    for data in ((X, CLASSES), (X, CLASSES), (X[:4], CLASSES[:4]), BATCHES):
        operator = Curvature(_network(), LOSS, data, checks=checks)
        yield len(checks), operator.products(_ramp(17, 1))[0, :2], operator.loss
    yield (
        checks.find_reached(None),
        checks.adds_up(None),
        checks.gradient_seconds(None),
        checks.knows_block(None, Block((0,), (0,))),
    )


def memory_of_checks():
    objective = checked_objective(_network(), LOSS, (X, CLASSES))
    yield count_check_numbers(objective, "hessian"), count_check_numbers(objective, "gauss-newton")
    yield measure_model_memory(_network(), objective.parameters, [(X, CLASSES), (X[:2], CLASSES)])
