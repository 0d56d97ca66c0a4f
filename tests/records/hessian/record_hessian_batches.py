"""Records of data as batches, of losses and counts of samples, and of what is refused with its remedy."""

from collections import namedtuple

import numpy as np
import torch
from recording import refused
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, TensorDataset

from hessian.loss import batches as own
from hessian.loss.batches import Batches

X, Y = torch.arange(12.0).reshape(4, 3), torch.tensor([0, 2, 1, 1])
Named = namedtuple("Named", ["a", "b"])


def _read(data):
    found = Batches.of(data)
    return found.resident, [_shapes(batch) for batch in found.move_to(torch.device("cpu"), torch.float64)]


def _shapes(batch):
    return [(str(leaf.dtype), tuple(leaf.shape)) for leaf in own.iterate_tensors(batch)]


def data_read_as_batches():
    for data in (
        *((X, Y), [X, Y], (X,), (X, None), [(X, Y)], [(X[:3], Y[:3]), (X[3:], Y[3:])], {"x": X, "y": Y}, ((X, X), Y)),
        *([{"x": X}, {"x": X}], ((X, Y), (X[:1], Y[:1])), [(X, Y), (X, Y)], ((X, Y), (X, Y)), ((X, None), (X, None))),
        *(
            DataLoader(TensorDataset(X, Y), 3),
            DataLoader(TensorDataset(X, Y), 3, drop_last=True),
            ((X, X), (Y, X)),
            (X, (Y, Y)),
        ),
    ):
        yield _read(data)


def data_that_are_refused():
    for data in (
        *(X, 3, None, "text", (X, Y, Y), [X, X, X], iter([(X, Y)]), DataLoader(TensorDataset(X, Y), 2, shuffle=True)),
        *(np.ones(3), [], ((X, X), (X, X)), (X.to_sparse(), Y), (X.to("meta"), Y), [(X, Y), 3], [(X, Y), (X, Y, Y)]),
        *(
            [(X, Y), {"x": 3}],
            ([X[0], X[1], X[2], X[3]], Y),
            ([X[0], X[1]], [torch.tensor(0), torch.tensor(1)]),
            [(np.ones(2), Y)],
        ),
        *((pack_padded_sequence(torch.ones(3, 2, 1), [3, 2]), Y), {"x": 3}, (3, Y), [[3, Y]], ("a", "b", "c", "d")),
    ):
        yield refused(_read, data)


def batches_selected():
    pairs = [(X[i : i + 1], Y[i : i + 1]) for i in range(4)]
    for source in (pairs, DataLoader(TensorDataset(X, Y), 1), DataLoader(TensorDataset(X, Y), None), _Again(pairs)):
        chosen = Batches.of(source).select(range(2, 4))
        yield [batch[0].tolist() for batch in chosen.move_to(torch.device("cpu"), torch.float64)], chosen.resident
    collated = DataLoader(
        TensorDataset(X, Y), 2, collate_fn=lambda items: (torch.stack([x for x, _ in items]) * 2.0, Y[:2])
    )
    yield [batch[0] for batch in Batches.of(collated).select(range(2, 3)).move_to(torch.device("cpu"), torch.float64)]


class _Again:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


def tensors_moved_and_copied():
    given = (X.clone().requires_grad_(), Y)
    for copied in (False, True):
        inputs, targets = next(Batches.of(given).move_to(torch.device("cpu"), torch.float64, copied))
        yield (
            str(inputs.dtype),
            inputs.requires_grad,
            inputs.is_leaf,
            targets is Y or targets.data_ptr() == Y.data_ptr(),
        )
    yield (
        own.take_rows((X, {"k": Y, "s": torch.tensor(5)}, "word"), slice(1, 3)),
        own.as_dtype((X[:1], Y), torch.float64),
    )
    yield own.take_rows(Named(X, Y), torch.tensor([3, 0])), own.detach_tensors([X[:1]]), own.copy_tensors({"k": X[:1]})


def samples_of_batches():
    for batch in (
        (X, Y),
        (X, Y[:2]),
        (X[:0], Y[:0]),
        (torch.tensor(1.0), None),
        {"x": X, "s": torch.tensor(1.0)},
        (X, Y[:2], X[:1]),
    ):
        yield refused(own.size_of, batch), own.rows_of(batch)
    for count in (3, 3.0, torch.tensor(3), 0, -1, 2.5, float("inf"), "3", torch.ones(2), None, True):
        yield (
            refused(own.count_samples, lambda _, count=count: count, (X, Y)),
            refused(own.count_samples, lambda _, count=count: count, (X, Y), 0),
        )
    for count in (own.size_of, lambda batch: int(batch[1].sum()), lambda batch: 4, lambda batch: batch[0][3, 0]):
        yield own.rows_are_samples(count, (X, Y)), own.why_not_additive(count, (X, Y), [(X[:1], Y[:1]), (X[1:], Y[1:])])
    yield own.rows_are_samples(own.size_of, (X, Y[:1])), own.rows_are_samples(lambda batch: 9, (X[:1], Y[:1]))


def values_joined():
    yield (
        own.join((X[:1], {"y": Y}), (X[1:2], {"y": Y[:1]})),
        own.join("a", "a"),
        own.join(torch.tensor(2), torch.tensor(2)),
    )
    for first, second in (
        (X, Y),
        (torch.tensor(2), torch.tensor(3)),
        ("a", "b"),
        ((X,), (X, X)),
        ({"x": X}, {"y": X}),
        (X, 1),
    ):
        yield refused(own.join, first, second)


def arguments_that_are_written_to():
    for change in (lambda x: x, lambda x: x.add_(0.0), lambda x: x.data.fill_(9.0), lambda x: x.data.copy_(x)):
        given = own.copy_tensors((X, Y))
        change(given[0])
        yield refused(own.require_untouched, given, (X, Y), 3)
    missing = torch.tensor([torch.nan, 1.0])
    yield (
        refused(own.require_untouched, (missing.clone(),), (missing,), 1),
        refused(own.require_untouched, (X,), (X, Y), 2),
    )


def outputs_of_models():
    def call(args, keywords):
        return len(args), sorted(keywords)

    for batch in ((X, Y), ((X, X), Y), ([X, X], Y), {"x": X, "y": Y}, ({"x": X}, Y)):
        yield own.output_of(call, lambda *args: None, batch)
    for forward in (lambda pair: None, lambda a, b: None, lambda first, second: None, lambda first, second=None: None):
        yield own.output_of(call, forward, (Named(X, X), Y))


def losses_of_batches():
    for loss, batch in (
        *(
            (lambda out, y: out.sum(), (X, Y)),
            (lambda out, y: out, (X, Y)),
            (lambda out, y: 3.0, (X, Y)),
            (lambda out, y: out.sum() / 0.0, (X, Y)),
        ),
        *((lambda out, y: out + y, (X, None)), (lambda out, y: out + y, (X, "a"))),
        *(
            (lambda out, y: out.sum()[None], (X, Y)),
            (lambda out, y: y["x"].mean(), {"x": X}),
            (lambda out, y: (out - X).sum() + torch.nan, (X, Y)),
        ),
    ):
        yield str(refused(own.loss_of, loss, X, batch, 2))[:140]
    yield str(refused(own.loss_of, lambda out, y: out.sum(), {"logits": X, "z": Y}, (X, Y), 1))
    yield str(refused(own.loss_of, lambda out, y: out + 1, (X,), (X, Y), 1))[:90]


def labels_and_inputs_in_words():
    out = torch.zeros(4, 3)
    for targets in (Y, Y - 1, Y + 1, Y.float(), Y[:0], Y[:, None].expand(4, 3)):
        yield own.labels_out_of_range(out, (X, targets))
    yield (
        own.labels_out_of_range([out], (X, Y)),
        own.labels_out_of_range(out[0], (X, Y)),
        own.labels_out_of_range(out, {"x": X}),
    )
    yield (
        own.labels_out_of_range(torch.zeros(4, 2, 5), (X, torch.full((4, 5), 3))),
        own.labels_out_of_range(torch.zeros(4, 7), (X, Y + 5)),
    )
    for said in ("expected Float but found Long", "got LongTensor indices", "int64 given", "byte", "expected Float"):
        yield own.strange_inputs((Y, Y), said), own.strange_inputs({"a": Y.byte(), "b": X}, said)


def reductions_of_losses():
    for loss, named in (
        *(
            (nn.MSELoss(), None),
            (nn.MSELoss(reduction="sum"), None),
            (nn.MSELoss(reduction="none"), None),
            (nn.KLDivLoss(reduction="batchmean"), None),
        ),
        *(
            (nn.MSELoss(), "sum"),
            (nn.MSELoss(reduction="sum"), "sum"),
            (nn.MSELoss(reduction="none"), "sum"),
            (print, None),
            (print, "sum"),
            (print, "x"),
        ),
    ):
        yield refused(own.reduction_of, loss, named)
