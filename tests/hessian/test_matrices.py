"""The Hessian's relatives against dense matrices by their definitions, and the identities between them."""

import functools

import numpy as np
import pytest
import torch
from curvature_cases import cases
from torch import nn
from torch.distributions import Gamma, Normal, Poisson
from torch.func import functional_call
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss

from hessian import Curvature, CurvatureError, exact_hessian, sample_factors, stable_rank_of
from hessian.loss.output_curvature import MATRICES
from workloads.image_networks.small import perceptron

CASES = cases()
SIZE = 11
GENERATOR = torch.Generator().manual_seed(5)
X = torch.randn(SIZE, 6, generator=GENERATOR).double()
CLASSES = torch.randint(3, (SIZE,), generator=GENERATOR)
VALUES = torch.randn(SIZE, 3, generator=GENERATOR).double()
BITS = torch.randint(2, (SIZE, 3), generator=GENERATOR).double()
COUNTS = torch.randint(4, (SIZE, 3), generator=GENERATOR).double()


def network():
    return perceptron(6, (5,), 3, 0)


def rates(output):
    """A law whose outputs are not natural parameters: a Poisson law of rate f^2 + 1/2."""
    return Poisson(output.square() + 0.5)


def of_rates(output, counts):
    return -rates(output).log_prob(counts).mean()


def dense(operator):
    return operator.products(torch.eye(operator.P, dtype=operator.dtype))


def close(found, expected, relative=1e-9):
    assert float((found - expected).abs().max()) <= relative * float(expected.abs().max())


@functools.cache
def jacobian():
    """(samples, outputs, parameters)."""
    model = network()
    parts = torch.func.jacrev(lambda p: functional_call(model, p, X))(dict(model.named_parameters()))
    return torch.cat([part.detach().reshape(SIZE, 3, -1) for part in parts.values()], dim=2)


def outer(scores, weights=None):
    """The sum of the outer products of rows, (any, P)."""
    return scores.T @ (scores if weights is None else weights[:, None] * scores)


def fisher_of_classes():
    """Sum over samples and classes of p times the outer product of the gradient of that class's loss."""
    total, probabilities = 0.0, torch.softmax(network()(X), dim=1).detach()
    for i, p in enumerate(probabilities):
        slopes = p[None, :] - torch.eye(3).double()
        total += outer(slopes @ jacobian()[i], p)
    return total / SIZE


def fisher_of_entries(score_square):
    """Fisher matrix of independent scalar targets, by the mean square of the slope of each one's loss by its output."""
    rows = jacobian().reshape(3 * SIZE, -1)
    return outer(rows, score_square(network()(X).detach()).reshape(-1)) / (3 * SIZE)


def fisher_of_rates():
    """By the sum over counts: slopes of the loss by the output are (1 - n/rate) 2 f."""
    output = network()(X).detach()
    rate, counts = output.square() + 0.5, torch.arange(80).double().reshape(-1, 1, 1)
    slope = (1.0 - counts / rate) * 2.0 * output
    return fisher_of_entries(lambda _: (torch.exp(Poisson(rate).log_prob(counts)) * slope**2).sum(dim=0))


FISHER = {
    "cross-entropy": (nn.CrossEntropyLoss(), CLASSES, {}, fisher_of_classes),
    "cross-entropy, a function": (cross_entropy, CLASSES, {}, fisher_of_classes),
    "squared errors": (nn.MSELoss(), VALUES, {}, lambda: fisher_of_entries(lambda f: torch.full_like(f, 2.0))),
    "squared errors, a function": (mse_loss, VALUES, {}, lambda: fisher_of_entries(lambda f: torch.full_like(f, 2.0))),
    "bits": (nn.BCEWithLogitsLoss(), BITS, {}, lambda: fisher_of_entries(lambda f: f.sigmoid() * (-f).sigmoid())),
    "bits, a function": (
        binary_cross_entropy_with_logits,
        BITS,
        {},
        lambda: fisher_of_entries(lambda f: f.sigmoid() * (-f).sigmoid()),
    ),
    "rates": (of_rates, COUNTS, {"law": rates}, fisher_of_rates),
    "a sum": (nn.CrossEntropyLoss(reduction="sum"), CLASSES, {}, lambda: SIZE * fisher_of_classes()),
}


def given(targets, way):
    if way == "resident":
        return X, targets
    return [(X[:4], targets[:4]), (X[4:], targets[4:])]


@pytest.mark.parametrize("way", ["resident", "streamed"])
@pytest.mark.parametrize("name", FISHER)
def test_the_fisher_matrix_is_the_mean_over_the_models_own_targets(name, way):
    loss, targets, options, oracle = FISHER[name]
    for vectorize in (1, 4):
        own = Curvature(network(), loss, given(targets, way), matrix="fisher", vectorize=vectorize, **options)
        close(dense(own), oracle())


@pytest.mark.parametrize("way", ["resident", "streamed"])
@pytest.mark.parametrize("name", FISHER)
def test_the_empirical_fisher_matrix_is_the_mean_of_squares_of_gradients(name, way):
    loss, targets, _, _ = FISHER[name]
    model, gradients = network(), []
    for i in range(SIZE):
        found = torch.autograd.grad(loss(model(X[i : i + 1]), targets[i : i + 1]), list(model.parameters()))
        gradients.append(torch.cat([part.reshape(-1) for part in found]))
    expected = outer(torch.stack(gradients)) / (1 if name == "a sum" else SIZE)
    for vectorize in (1, 4):
        own = Curvature(network(), loss, given(targets, way), matrix="empirical-fisher", vectorize=vectorize)
        close(dense(own), expected)


@pytest.mark.parametrize("name", FISHER)
def test_gauss_newton_is_fisher_in_natural_parameters_and_only_there(name):
    loss, targets, options, _ = FISHER[name]
    gauss_newton = dense(Curvature(network(), loss, (X, targets), matrix="gauss-newton"))
    fisher = dense(Curvature(network(), loss, (X, targets), matrix="fisher", **options))
    if name == "rates":
        assert float((fisher - gauss_newton).norm()) > 0.1 * float(fisher.norm())
    else:
        close(fisher, gauss_newton, 1e-10)


@pytest.mark.parametrize("way", ["resident", "streamed"])
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.mapping])
def test_hessian_is_gauss_newton_and_residual(name, way):
    """The Hessian's own products are tested in `test_curvature`."""
    case = CASES[name]
    data = case.batch() if way == "resident" else case.uneven()
    whole, *parts = (
        Curvature(case.model, case.loss, data, matrix=matrix, **case.options)
        for matrix in ("hessian", "gauss-newton", "residual")
    )
    vectors = torch.randn(2, whole.P, dtype=whole.dtype, generator=torch.Generator().manual_seed(1))
    close(sum(part.products(vectors) for part in parts), whole.products(vectors))


def test_the_residual_is_that_of_the_outputs_own_second_derivatives():
    """And not merely what is left: by the Hessian of every output, weighted by the slopes of the loss."""
    model, total = network(), 0.0
    sizes, shapes = [p.numel() for p in model.parameters()], [p.shape for p in model.parameters()]
    names = [name for name, _ in model.named_parameters()]

    def output(flat, i, k):
        parts = [part.view(shape) for part, shape in zip(flat.split(sizes), shapes, strict=True)]
        return functional_call(model, dict(zip(names, parts, strict=True)), X[i : i + 1])[0, k]

    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    slopes = (torch.softmax(model(X), dim=1) - torch.eye(3).double()[CLASSES]).detach() / SIZE
    for i in range(SIZE):
        for k in range(3):
            total += slopes[i, k] * torch.autograd.functional.hessian(lambda w, i=i, k=k: output(w, i, k), weights)
    close(dense(Curvature(network(), nn.CrossEntropyLoss(), (X, CLASSES), matrix="residual")), total)


def test_of_a_linear_network_the_residual_is_zero():
    operator = Curvature(nn.Linear(6, 3).double(), nn.CrossEntropyLoss(), (X, CLASSES), matrix="residual")
    assert not dense(operator).any()
    with pytest.raises(CurvatureError, match="zero to rounding"):
        stable_rank_of(operator, rng=np.random.default_rng(0))


def test_ignored_targets_count_for_none():
    targets = torch.where(torch.arange(SIZE) % 4 == 1, -100, CLASSES)
    kept = targets >= 0
    both = [
        dense(Curvature(network(), nn.CrossEntropyLoss(), data, matrix="fisher"))
        for data in ((X, targets), (X[kept], CLASSES[kept]))
    ]
    close(*both)


def kept_classes(batch):
    return int((batch[1] != 1).sum())


@pytest.mark.parametrize("way", ["resident", "streamed"])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (nn.CrossEntropyLoss(ignore_index=1), {}),
        (nn.CrossEntropyLoss(ignore_index=1, reduction="sum"), {}),
        (
            functools.partial(cross_entropy, ignore_index=1),
            {"law": lambda f: torch.distributions.Categorical(logits=f)},
        ),
    ],
    ids=["mean", "sum", "partial"],
)
def test_an_ignored_label_of_the_law_counts_for_none_too(loss, options, way):
    kept = CLASSES != 1
    assert 0 < int(kept.sum()) < SIZE
    data = (X, CLASSES) if way == "resident" else [(X[:4], CLASSES[:4]), (X[4:], CLASSES[4:])]
    summed = getattr(loss, "reduction", "mean") == "sum"
    if way == "streamed" and not summed:
        options = {**options, "count": kept_classes}
    own = dense(Curvature(network(), loss, data, matrix="fisher", **options))
    expected = dense(Curvature(network(), nn.CrossEntropyLoss(), (X[kept], CLASSES[kept]), matrix="fisher"))
    close(own, expected * (int(kept.sum()) if summed else 1))


def test_a_label_that_is_ignored_within_a_function_is_named():
    law = lambda f: torch.distributions.Categorical(logits=f)  # noqa: E731
    with pytest.raises(CurvatureError, match=r"a label that is ignored without ignore_index= of nn\.CrossEntropyLoss"):
        Curvature(network(), lambda f, y: cross_entropy(f, y, ignore_index=1), (X, CLASSES), matrix="fisher", law=law)


class Places(nn.Module):
    """Three places with three classes for every sample, logits (samples, classes, places)."""

    def __init__(self):
        super().__init__()
        self.inner = perceptron(2, (4,), 3, 1)

    def forward(self, x):
        return self.inner(x.reshape(-1, 3, 2)).transpose(1, 2)


def test_targets_of_several_places():
    targets = torch.arange(3 * SIZE).reshape(SIZE, 3) % 3
    split = [(X[:4], targets[:4]), (X[4:], targets[4:])]
    flat = Curvature(
        perceptron(2, (4,), 3, 1), nn.CrossEntropyLoss(), (X.reshape(-1, 2), targets.reshape(-1)), matrix="fisher"
    )
    close(dense(Curvature(Places(), nn.CrossEntropyLoss(), split, matrix="fisher")), dense(flat))
    # A sample is a row here: its gradient is the mean over its places.
    own = dense(Curvature(Places(), nn.CrossEntropyLoss(), split, matrix="empirical-fisher"))
    assert torch.linalg.matrix_rank(own) == SIZE
    with pytest.raises(CurvatureError, match="11 rows for 33 samples"):
        Curvature(
            Places(), nn.CrossEntropyLoss(), (X, targets), matrix="empirical-fisher", count=lambda b: b[1].numel()
        )


@pytest.mark.parametrize("matrix", ["gauss-newton", "residual", "fisher", "empirical-fisher"])
def test_intervals_hold_the_stable_rank_and_blocks_are_blocks(matrix):
    operator = Curvature(network(), nn.CrossEntropyLoss(), (X, CLASSES), matrix=matrix)
    whole = dense(operator)
    values = torch.linalg.eigvalsh(whole)
    truth = float((values**2).sum() / values.abs().max() ** 2)
    found = stable_rank_of(operator, rng=np.random.default_rng(0), relative_width=0.02)
    rounding = 1e-13  # of the truth, where the interval is not wider
    assert found.low * (1 - rounding) <= truth <= found.high * (1 + rounding)
    head = operator.block("2.*")
    close(dense(head), whole[-head.P :, -head.P :])


@pytest.mark.parametrize(
    ("matrix", "way"), [*((matrix, "resident") for matrix in MATRICES), ("hessian", "streamed"), ("fisher", "streamed")]
)
def test_blocks_off_the_diagonal(matrix, way):
    operator = Curvature(network(), nn.CrossEntropyLoss(), given(CLASSES, way), matrix=matrix)
    whole, head = dense(operator), operator.block("2.*").P
    cross = operator.between("2.*", "0.*")
    assert cross.shape == (head, operator.P - head)
    expected = whole[-head:, :-head]
    close(cross @ torch.eye(operator.P - head).double(), expected)
    close(cross.T @ torch.eye(head).double(), expected.T)
    assert cross.row_names == ("2.weight", "2.bias")
    if way == "streamed":
        return
    values = torch.linalg.svdvals(expected)
    found = cross.stable_rank(rng=np.random.default_rng(0), relative_width=0.02)
    assert float((values**2).sum() / values[0] ** 2) in found
    assert float(values[0]) == pytest.approx(found.spectral_norm.value, rel=1e-2)
    assert float(values.norm()) in found.frobenius


def test_blocks_off_the_diagonal_share_no_parameter():
    operator = Curvature(network(), nn.CrossEntropyLoss(), (X, CLASSES))
    with pytest.raises(CurvatureError, match=r"2\.bias is in both"):
        operator.between("2.*", "*.bias")
    with pytest.raises(CurvatureError, match=r"expected vectors of shape \(k, 35\), got \(1, 4\)"):
        operator.between("2.*", "0.*").products(torch.zeros(1, 4).double())


def weighted(output, target):
    return cross_entropy(output, target, weight=torch.tensor([0.2, 1.0, 3.0]).double())


REFUSED = {
    "another law": ({"loss": of_rates, "targets": COUNTS, "law": lambda f: Normal(f, 1.0)}, "not a multiple of minus"),
    "unknown": ({"loss": of_rates, "targets": COUNTS}, "of_rates does not define: give law="),
    "class weights": ({"loss": weighted, "law": lambda f: torch.distributions.Categorical(logits=f)}, "class weights"),
    "smoothing": ({"loss": nn.CrossEntropyLoss(label_smoothing=0.1)}, "label smoothing"),
    "soft targets": ({"targets": torch.softmax(VALUES, dim=1)}, r"Categorical has \(11,\), got \(11, 3\)"),
    "none observed": (
        {
            "loss": lambda f, y: (f**2).mean(),
            "targets": CLASSES - 9,
            "law": lambda f: torch.distributions.Categorical(logits=f),
        },
        "no target of a batch is a value",
    ),
    "penalty": ({"penalty": True}, "in addition to the model's output"),
    "a law without need": ({"matrix": "hessian", "law": rates}, "law= requires matrix='fisher'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_fisher_matrix_is_refused(name):
    change, message = REFUSED[name]
    model, loss = network(), change.get("loss", nn.CrossEntropyLoss())
    if change.get("penalty"):
        loss, change = (
            (lambda f, y: cross_entropy(f, y) + model[0].weight.square().sum()),
            {"law": lambda f: torch.distributions.Categorical(logits=f)},
        )
    with pytest.raises(CurvatureError, match=message) as caught:
        Curvature(
            model,
            loss,
            (X, change.get("targets", CLASSES)),
            matrix=change.get("matrix", "fisher"),
            law=change.get("law"),
        )
    assert "\n" not in str(caught.value)


def test_a_law_without_a_divergence_is_refused():
    class Odd(Gamma):
        """A law of its own kind, without a registered divergence."""

    torch.distributions.kl.register_kl(Odd, Odd)(lambda p, q: _not_known())
    law = lambda f: Odd(f.exp(), torch.ones_like(f))  # noqa: E731
    loss = lambda f, y: -Gamma(f.exp(), torch.ones_like(f)).log_prob(y).mean()  # noqa: E731
    with pytest.raises(CurvatureError, match="divergence of two laws Odd is not known in closed form"):
        Curvature(network(), loss, (X, VALUES.exp()), matrix="fisher", law=law)
    close(
        dense(
            Curvature(
                network(), loss, (X, VALUES.exp()), matrix="fisher", law=lambda f: Gamma(f.exp(), torch.ones_like(f))
            )
        ),
        fisher_of_entries(lambda f: torch.polygamma(1, f.exp()) * f.exp() ** 2),
    )


def _not_known():
    raise NotImplementedError


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_in_single_precision_it_is_the_same(scale):
    model = network().float()
    found = dense(Curvature(model, nn.CrossEntropyLoss(), (X.float() * scale, CLASSES), matrix="fisher"))
    expected = dense(Curvature(network(), nn.CrossEntropyLoss(), (X * scale, CLASSES), matrix="fisher"))
    close(found.double(), expected, 1e-4)


def test_a_perfect_fit_has_a_fisher_matrix():
    model = network()
    own = Curvature(model, nn.MSELoss(), (X, model(X).detach()), matrix="fisher")
    close(dense(own), fisher_of_entries(lambda f: torch.full_like(f, 2.0)))


def test_losses_that_couple_samples_have_no_empirical_fisher_matrix():
    def coupled(output, target):
        return cross_entropy(output - output.mean(dim=0), target)

    with pytest.raises(CurvatureError, match="couple the samples"):
        Curvature(network(), coupled, (X, CLASSES), matrix="empirical-fisher")


WEIGHTS = torch.tensor([1.0, 5.0, 10.0])
WEIGHTED = {
    "classes, a sum": (nn.CrossEntropyLoss(weight=WEIGHTS, reduction="sum"), CLASSES, {}),
    "classes, a mean": (
        nn.CrossEntropyLoss(weight=WEIGHTS),
        CLASSES,
        {"count": lambda batch: int(WEIGHTS[batch[1]].sum())},
    ),
    "bits, a sum": (nn.BCEWithLogitsLoss(pos_weight=torch.tensor(9.0), reduction="sum"), BITS[:, :1], {}),
    "bits, a mean": (nn.BCEWithLogitsLoss(pos_weight=torch.tensor(9.0)), BITS[:, :1], {}),
}


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("way", ["sorted batches", "single samples", "one batch", "one class"])
def test_class_weights_have_no_fisher_matrix_in_any_batches(name, way):
    loss, targets, options = WEIGHTED[name]
    order = targets.flatten().argsort(stable=True)
    x, y = X[order], targets[order]
    ends = [0, *(1 + i for i in range(SIZE - 1) if y[i] != y[i + 1]), SIZE]
    pieces = {"sorted batches": ends, "single samples": range(SIZE + 1), "one batch": (0, SIZE), "one class": ends[-2:]}
    data = [(x[a:b], y[a:b]) for a, b in zip(pieces[way], pieces[way][1:], strict=False)]
    with pytest.raises(CurvatureError, match="not a multiple of minus the log likelihood"):
        Curvature(perceptron(6, (5,), y.shape[1] if y.ndim > 1 else 3, 0), loss, data, matrix="fisher", **options)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_sorted_batches_have_the_fisher_matrix_of_all(scale):
    order = CLASSES.argsort()
    cuts = [order[:2], order[2:7], order[7:]]
    loss = nn.CrossEntropyLoss(reduction="sum")
    scaled = lambda f, y: scale * loss(f, y)  # noqa: E731
    law = lambda f: torch.distributions.Categorical(logits=f)  # noqa: E731
    data = [(X[rows], CLASSES[rows]) for rows in cuts]
    own = dense(Curvature(network(), scaled, data, matrix="fisher", law=law, reduction="sum"))
    close(own, scale * SIZE * fisher_of_classes())


def test_a_divergence_without_second_derivative_is_the_reason():
    def law(f):
        return torch.distributions.Laplace(f, 0.5)

    def loss(f, y):
        return -law(f).log_prob(y).mean()

    with pytest.raises(CurvatureError, match="divergence of two laws Laplace, as torch computes it, has no second"):
        Curvature(network(), loss, (X, VALUES), matrix="fisher", law=law)


def advice(**options):
    """The error about targets of which some are ignored."""
    y = CLASSES.clone()
    y[::4] = -100
    data = options.pop("data", lambda x, y: (x, y))(X, y)
    with pytest.raises(CurvatureError) as caught:
        Curvature(network(), options.pop("loss", torch.nn.CrossEntropyLoss()), data, **options)
    return str(caught.value)


@pytest.mark.parametrize("data", [lambda x, y: (x, y), lambda x, y: [(x[:5], y[:5]), (x[5:], y[5:])]])
def test_advice_about_ignored_targets_of_an_empirical_fisher_matrix_works(data):
    def kept(batch):
        return int((batch[1] >= 0).sum())

    for options in ({}, {"reduction": "mean"}, {"count": kept}, {"count": kept, "reduction": "mean"}):
        text = advice(matrix="empirical-fisher", data=data, **options)
        assert "leave" in text
        assert "out of the data" in text
        assert "reduction='sum'" in text
        assert "one batch" not in text
        assert "give count=" not in text
    y = CLASSES.clone()
    y[::4] = -100
    seen = y >= 0
    left = Curvature(network(), cross_entropy, data(X[seen], CLASSES[seen]), matrix="empirical-fisher")
    total = torch.nn.CrossEntropyLoss(reduction="sum")
    summed = Curvature(network(), total, data(X, y), matrix="empirical-fisher", reduction="sum")
    v = torch.linspace(-1.0, 2.0, left.P).double()
    torch.testing.assert_close(summed @ v, int(seen.sum()) * (left @ v))


def test_advice_about_one_batch_is_not_to_pass_one_batch():
    text = advice(reduction="mean")
    assert "one batch" not in text
    assert "leave out reduction=" in text
    assert "give count=" in text
    several = advice(data=lambda x, y: [(x[:5], y[:5]), (x[5:], y[5:])])
    assert "one batch, to one process" in several
    y = CLASSES.clone()
    y[::4] = -100
    for make in (
        lambda: exact_hessian(network(), torch.nn.CrossEntropyLoss(), X, y),
        lambda: exact_hessian(network(), torch.nn.CrossEntropyLoss(), X, y, rows=4),
    ):
        with pytest.raises(CurvatureError, match=r"Curvature, which takes count= and reduction=") as caught:
            make()
        assert "one batch" not in str(caught.value)
    with pytest.raises(CurvatureError, match=r"give count= with the number") as caught:
        list(sample_factors(network(), torch.nn.CrossEntropyLoss(), (X, y)))
    assert "reduction=" not in str(caught.value)
