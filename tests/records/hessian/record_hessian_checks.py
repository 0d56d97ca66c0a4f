"""Records of the checks that curvatures rest on: what is refused, in which words, and what passes."""

import warnings

import torch
from recording import refused
from torch import nn

from hessian import Curvature
from hessian.loss.batch_consistency import BatchConsistency
from hessian.loss.checked_objective import checked_objective
from hessian.loss.output_curvature import divergence, multiples_of
from hessian.loss.product_rounding import rounding_on_all
from hessian.loss.second_derivative_check import measure_rounding
from hessian.pyhessian.backend import PyHessianSettings, density_quadrature, printed_estimate, top_eigenvalues
from hessian.pyhessian.guards import PlainBatches

GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(7, 3, generator=GENERATOR, dtype=torch.float64)
CLASSES = torch.tensor([0, 2, 1, 1, 0, 2, 2])
TARGETS = torch.randn(7, 2, generator=GENERATOR, dtype=torch.float64)
BATCHES = [(X[:2], CLASSES[:2]), (X[2:], CLASSES[2:])]
LOSS = nn.CrossEntropyLoss()


def _fill(model):
    """Give a model weights that do not depend on the processor's random numbers in single precision."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=torch.float64).add(1.7 * number).sin().reshape(p.shape))
    return model


def _linear(outputs=3):
    return _fill(nn.Sequential(nn.Linear(3, outputs)).double())


def _number(loss=LOSS, data=BATCHES, model=None, **options):
    """Return the loss over all samples, or why it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = refused(checked_objective, _linear() if model is None else model, loss, data, **options)
    return found if isinstance(found, str) else (found.value, found.sizes, found.weights, found.reached, found.mean)


def losses_that_add_up_or_not():
    weighted = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 5.0]))
    summed = nn.CrossEntropyLoss(reduction="sum")
    for loss in (
        LOSS,
        summed,
        weighted,
        nn.CrossEntropyLoss(ignore_index=2),
        lambda out, y: LOSS(out, y) ** 2,
        lambda out, y: LOSS(out, y) * len(y),
    ):
        yield _number(loss)
    yield (
        _number(weighted, BATCHES[:1]),
        _number(weighted, BATCHES[1:], reduction="mean"),
        _number(lambda out, y: summed(out, y), reduction="sum"),
    )
    yield _number(LOSS, BATCHES, reduction="sum"), _number(lambda out, y: summed(out, y), BATCHES[1:], reduction="mean")
    for offered in ((), ("count",), ("reduction",), ("count", "reduction")):
        yield (
            _number(weighted, offered=offered),
            _number(lambda out, y: summed(out, y), offered=offered),
            _number(weighted, by_rows=True, offered=offered),
        )


def counts_that_are_not_additive():
    for count in (lambda batch: 3, lambda batch: len(batch[1]) ** 2):
        for options in ({}, {"by_rows": True}, {"reduction": "mean"}):
            yield _number(count=count, **options)
    single = [(X[:2], CLASSES[:3]), (X[2:], CLASSES[2:6])]
    pairs = lambda out, y: LOSS(out[: len(y)], y[: len(out)])  # noqa: E731
    yield (
        _number(pairs, single, count=lambda batch: 2),
        _number(pairs, single),
        _number(pairs, single, count=lambda batch: 2, offered=()),
    )
    fails = lambda out, y: LOSS(out, y) if len(out) in (2, 5) else LOSS(out, y[:, None, None])  # noqa: E731
    yield (
        _number(fails),
        _number(fails, offered=("count",)),
        _number(fails, offered=()),
        _number(fails, reduction="mean")[0],
    )


def models_that_are_refused():
    noisy = _linear()
    noisy.forward = lambda x: noisy[0](x) + 0.1 * torch.randn(3)
    frozen = _linear()
    held = frozen[0].weight
    for loss, model in (
        *(
            (LOSS, noisy),
            (lambda out, y: LOSS(out, y) + held.square().sum(), frozen),
            (lambda out, y: LOSS(out.detach(), y), None),
        ),
        *(
            (lambda out, y: LOSS(out, y) * torch.nan, None),
            (lambda out, y: LOSS(out, y).sqrt() * (out * 0.0).norm(), None),
        ),
        *(
            (lambda out, y: out.abs().floor().sum() + 0.0 * LOSS(out, y), None),
            (lambda out, y: LOSS(out.float(), y.float()), None),
        ),
    ):
        yield str(_number(loss, BATCHES[1:], model))[:130]
    for data in ([], [(X, CLASSES + 1)], [(X[:, :2], CLASSES)], [(X.long(), CLASSES)], [(X, TARGETS[:, :1])]):
        yield str(_number(LOSS, data))[:150]
    in_place = _fill(nn.Sequential(nn.ReLU(inplace=True), nn.Linear(3, 3)).double())
    yield (
        _number(LOSS, BATCHES[1:], in_place),
        _number(LOSS, BATCHES[1:], nn.Embedding(4, 3, max_norm=0.1).double())[:60],
    )


class _Detached(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(context, grad):
        (x,) = context.saved_tensors
        return grad.detach() * x.cos().detach()


def derivatives_that_are_none():
    def wrong(out, y):
        return (_Detached.apply(out) ** 2).sum()

    yield str(_number(wrong, [(X, None)], reduction=None))[:75]
    halved = lambda out, y: (out.detach() * out).sum() / 2.0  # noqa: E731
    yield str(_number(halved, [(X, None)]))[:95]
    hard = _fill(nn.Sequential(nn.Linear(3, 2), nn.Hardsigmoid()).double())
    yield str(_number(nn.MSELoss(), [(X, TARGETS)], hard))[:130]
    flat = Curvature(_linear(), lambda out, y: out.sum(), (X, None))
    yield flat @ torch.ones(12, dtype=torch.float64), _number(lambda out, y: (out - 3.0).abs().mean(), [(X, None)])[0]


def rounding_of_products():
    double = checked_objective(_linear(), LOSS, BATCHES)
    sizes = list(double.sizes)
    yield double.rounding, measure_rounding(double, "hessian", {}, sizes), double.largest
    single = checked_objective(_linear().float(), LOSS, [(X.float(), CLASSES)])
    unit = torch.finfo(torch.float32).eps
    yield single.rounding < 3.0 * unit, 10.0 * unit <= rounding_on_all(single, "hessian", (0, 1), (0, 1)) < 40.0 * unit
    yield [int(one) for one in (single.may_be_double, double.may_be_double)], single.used, single.samples


def losses_of_an_objective():
    objective = checked_objective(_linear(), LOSS, BATCHES)
    yield objective.samples, objective.value, objective.losses, objective.weights, objective.names
    yield (
        [(number, weight, len(batch[0])) for number, weight, batch in objective.weighted_batches()],
        objective.count_per_row(),
    )
    yield objective.gradient(objective.first_batch(), 1, objective.parameters), objective.read(lambda batch: 5)
    for number, batch in ((1, BATCHES[0]), (2, BATCHES[0]), (1, (X[:1], CLASSES[:1]))):
        found = refused(objective.batch_loss, batch, number)
        yield found if isinstance(found, str) else found.item()
    share = objective.share(range(2, 3), torch.device("cpu"))
    yield (
        [(number, weight, len(batch[0])) for number, weight, batch in share.weighted_batches()],
        refused(share.batch_loss, BATCHES[0], 2),
    )
    yield (
        objective.samples_in(BATCHES[0], 2),
        refused(objective.samples_in, BATCHES[0], 3),
        objective.find_reached(BATCHES[0], 1),
    )
    yield (
        objective.why_not_finite(),
        checked_objective(_linear(), LOSS, BATCHES, count=lambda batch: 3 * len(batch[0])).count_per_row(),
    )
    changing = [*BATCHES]
    moved = checked_objective(_linear(), LOSS, changing)
    changing.append(BATCHES[0])
    yield refused(lambda: len(list(moved.weighted_batches())))
    del changing[1:]
    yield refused(lambda: len(list(moved.weighted_batches())))


def consistency_by_the_losses_of_samples():
    objective = checked_objective(_linear(), LOSS, BATCHES)
    check = BatchConsistency(objective, True, lambda batch: len(batch[0]), True, False, False)
    yield check.require(), refused(BatchConsistency(objective, False, check.count, True, False, False).require)
    normed = _fill(nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).double())
    for policy in ("batch", "running"):
        yield _number(LOSS, BATCHES, normed, batch_norm=policy)
    yield (
        str(_number(LOSS, BATCHES, normed))[:90],
        str(_number(lambda out, y: LOSS(out - out.mean(0), y), BATCHES))[:100],
    )


def laws_that_do_not_match():
    for loss in (
        nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 5.0])),
        nn.CrossEntropyLoss(label_smoothing=0.1),
        nn.L1Loss(),
    ):
        yield refused(
            Curvature,
            _linear(),
            loss,
            (X, CLASSES if not isinstance(loss, nn.L1Loss) else torch.ones(7, 3)),
            matrix="fisher",
        )
    ignored = CLASSES.clone()
    ignored[2] = -100
    found = Curvature(_linear(), LOSS, (X, ignored), matrix="fisher")
    yield (
        found @ torch.linspace(-1.0, 1.0, 12, dtype=torch.float64),
        refused(Curvature, _linear(), LOSS, (X, TARGETS), matrix="fisher"),
    )
    wide = lambda out: torch.distributions.Normal(out, 2.0)  # noqa: E731
    yield Curvature(_linear(2), nn.MSELoss(reduction="sum"), (X, TARGETS), matrix="fisher", law=wide) @ torch.ones(
        8, dtype=torch.float64
    )
    sharp = lambda out: torch.distributions.Laplace(out, 1.0)  # noqa: E731
    absolute = lambda out, y: (out - y).abs().sum()  # noqa: E731
    yield refused(Curvature, _linear(2), absolute, (X, TARGETS), matrix="fisher", law=sharp, reduction="sum")
    penalty = lambda out, y, model=_linear(): LOSS(out, y) + model[0].bias.square().sum()  # noqa: E731, B008
    model = penalty.__defaults__[0]
    yield (
        refused(Curvature, model, penalty, (X, CLASSES), matrix="gauss-newton"),
        refused(
            Curvature, _linear(), lambda out, y: torch.zeros((), dtype=torch.float64), (X, CLASSES), matrix="residual"
        ),
    )
    output, law = (
        torch.tensor([[0.3, -0.2]], dtype=torch.float64, requires_grad=True),
        lambda out: torch.distributions.Normal(out, 0.5),
    )
    half = lambda out, y: 3.0 * ((out - y) ** 2).sum()  # noqa: E731
    yield multiples_of(output, TARGETS[:1], law, half), refused(multiples_of, output, TARGETS, law, half)
    (slope,) = torch.autograd.grad(half(output, TARGETS[:1]), output)
    yield divergence(output, slope, TARGETS[:1], law, half)(output + 0.5)


def counts_of_the_empirical_fisher_matrix():
    tokens = _linear()
    yield refused(Curvature, tokens, LOSS, (X, CLASSES), matrix="empirical-fisher", count=lambda batch: 14)
    weighted = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 5.0]))
    yield refused(Curvature, _linear(), weighted, (X, CLASSES), matrix="empirical-fisher")


def settings_and_batches_of_pyhessian():
    for options in ({"iterations": 0}, {"runs": 0}, {"top_n": 0}, {"tolerance": 0.0}):
        yield refused(PyHessianSettings, **options)
    yield PyHessianSettings()
    for data in (BATCHES, [{"x": X}], [([X, X], CLASSES)]):
        source = checked_objective(_linear(), LOSS, BATCHES).batches if data is BATCHES else _Plain(data)
        yield refused(
            lambda source=source: [
                len(inputs) for inputs, _ in PlainBatches(source, torch.device("cpu"), torch.float64)
            ]
        )


class _Plain:
    def __init__(self, items):
        self.items = items

    def move_to(self, device, dtype):
        return iter(self.items)


def what_pyhessian_returns():
    model, settings = (
        _fill(nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2)).double()),
        PyHessianSettings(5, 2, 2, 1e-2, 3),
    )
    found = top_eigenvalues(model, nn.MSELoss(), [(X[:3], TARGETS[:3]), (X[3:], TARGETS[3:])], settings)
    yield found.values, found.residuals, found.vectors.square().sum(dim=1), model.training
    rule = density_quadrature(model, nn.MSELoss(), (X, TARGETS), settings)
    yield (
        rule.nodes,
        rule.weights,
        rule.P,
        rule.measure.moment(2),
        printed_estimate(model, nn.MSELoss(), (X, TARGETS), settings).value,
    )
    for options in ({"top_n": 15}, {"iterations": 15}):
        call = top_eigenvalues if "top_n" in options else density_quadrature
        yield refused(call, model, nn.MSELoss(), (X, TARGETS), PyHessianSettings(**options))
    yield (
        refused(top_eigenvalues, model, nn.MSELoss(reduction="sum"), (X, TARGETS)),
        refused(top_eigenvalues, _linear(2), lambda out, y: out.mean(), (X, TARGETS)),
    )
    yield refused(
        density_quadrature, model, lambda out, y: 1e-9 * nn.functional.mse_loss(out, y), (X, TARGETS), settings
    )
