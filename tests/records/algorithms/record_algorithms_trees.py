"""Records of trees of tensors, their sums, kernels read as matrices, the ledger, and tensors that are lent."""

import numpy as np
import torch
from recording import refused
from small_clients import numbers

from algorithms.exchange import Acknowledgement, Reply, first_that_is_not_finite, is_whole, require_whole
from algorithms.kernels import as_matrix, from_matrix, layer_names, matrix_shape, names_matching, reads_along
from algorithms.ledger import Entry, Ledger
from algorithms.lent import Lent, sum_of_bits
from algorithms.multiples import add_multiple, add_multiple_
from algorithms.partial_sums import PARTS, flatten, part_size, require_same, sum_of
from algorithms.tree import Split, Tree, narrow, tensors, weighted_sum, wide, without

ONE = Tree(W=torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]).double(), b=torch.tensor([2.0, -3.0]).double())
OTHER = Tree(b=torch.tensor([0.25, 1.0]).double(), W=torch.tensor([[0.0, 1.0, 2.0], [-1.0, 3.0, 5.0]]).double())
HALF, SINGLE, DOUBLE = torch.float16, torch.float32, torch.float64


def arithmetic_of_trees():
    yield ONE + OTHER, ONE - OTHER, -ONE, 2.0 * ONE, ONE * -0.5, ONE / 4.0
    yield ONE.only("W").T, ONE.only("W") @ OTHER.only("W").T, ONE.square(), len(ONE), repr(ONE)
    yield (
        list(OTHER.only(["W", "b"])),
        list(OTHER.but(["W"])),
        list(ONE.but("x")),
        list(ONE + OTHER),
        Tree({"b": 1.0}, b=2.0)["b"],
    )


def trees_of_other_names():
    yield refused(lambda: ONE + OTHER.only("b")), refused(lambda: ONE.only("b") + OTHER), refused(ONE.only, ["x"])
    yield refused(ONE.map, torch.add, OTHER, Tree(W=ONE["W"], c=ONE["b"], a=ONE["b"]))


def types_of_sums():
    for kind in (torch.bfloat16, HALF, SINGLE, DOUBLE, torch.int64):
        yield str(wide(torch.zeros(1, dtype=kind)).dtype), str(narrow(torch.zeros(1), kind).dtype)
    large = torch.full((1,), 2048.0, dtype=HALF)
    yield float(weighted_sum([(1.0, large), (1.0, torch.ones(1, dtype=HALF)), (1.0, torch.ones(1, dtype=HALF))]))
    yield weighted_sum([(0.25, (ONE, {"c": ONE["b"]})), (-0.5, (ONE, {"c": OTHER["b"]}))])


def tensors_of_a_message():
    message = (ONE, {"x": 3, "y": [torch.ones(2), "text", None]})
    yield [tuple(leaf.shape) for leaf in tensors(message)]
    yield without(message, ())[0] is ONE, list(without(message, ["W"])[0]), without({"W": 1}, ["W"])


def split_and_rebuilt():
    split = Split((ONE, OTHER), ["b"])
    yield (
        split.trained,
        sorted(split.names),
        split.plain,
        split.part((OTHER, ONE)),
        split.part((ONE.but("b"), OTHER.but("b"))),
    )
    yield split.rebuild([torch.zeros(1), torch.ones(1)], {"b": torch.full((2,), 7.0)}), split.rebuild([1, 2])
    plain = Split(OTHER)
    yield plain.plain, plain.rebuild(["x", "y"]), Split(OTHER, ["W"]).rebuild(["x"], {"c": 1}), Split([ONE]).plain


def multiples_of_several_types():
    for kind in (HALF, SINGLE, DOUBLE):
        a, b = [torch.tensor([1.0, -2.0]).to(kind)], [torch.tensor([3.0, 0.1]).to(kind)]
        yield add_multiple(a, b, -0.3), a
        add_multiple_(a, b, 0.7)
        yield a
    mixed = add_multiple([torch.ones(2)], [torch.ones(2, dtype=DOUBLE)], 0.1)
    shaped = add_multiple([torch.ones(2, 2).mT, torch.ones(1)], [torch.arange(2.0), torch.ones(1)], 2.0)
    yield mixed, str(mixed[0].dtype), shaped
    third = [torch.tensor([1 / 3], dtype=DOUBLE)]
    yield float(add_multiple(third, [torch.tensor([0.1], dtype=DOUBLE)], 0.1)[0]) == 1 / 3 + 0.1 * 0.1


SHAPES = [
    ("conv.0.weight", (6, 2, 3, 5)),
    ("conv.0.bias", (6,)),
    ("conv.1.weight", (4, 6, 1, 1)),
    ("head*", (3, 4)),
    ("head", (2, 5)),
    ("norm.weight", (7,)),
    ("line.weight", (3, 2, 5)),
]


def kernels_as_matrices():
    kernel = torch.arange(60.0).reshape(2, 3, 2, 5)
    for way in ("k x k, 1 x 1", "1 x k, k x 1"):
        matrix = as_matrix(kernel, way)
        yield matrix_shape(kernel.shape, way), matrix[1], bool((from_matrix(matrix, kernel.shape) == kernel).all())
        yield matrix_shape((3, 2), way), as_matrix(kernel[0, 0], way)[:, 1]
        yield refused(matrix_shape, (3,), way), refused(matrix_shape, (), way), refused(matrix_shape, (3, 2, 5), way)
    yield refused(matrix_shape, (2, 3), "k x 1")


def readings_of_matrices():
    for matrix in ((2, 30), (4, 15), (30, 2), (15, 4), (2, 31)):
        yield refused(reads_along, matrix, (2, 3, 2, 5))
    yield (
        reads_along((2, 3), (2, 3, 1, 1)),
        refused(reads_along, (4, 3), (2, 3)),
        refused(from_matrix, torch.ones(4, 15), (2, 30)),
    )


def names_of_layers():
    for layers in (
        "conv*",
        "conv.*, head",
        "head*",
        "conv.1.weight,line",
        "*",
        "conv.1, conv.0",
        "norm",
        "x*",
        "conv.0.bias",
        "conv.?",
    ):
        yield layers, refused(layer_names, SHAPES, layers)
    names = [name for name, _ in SHAPES]
    for pattern in ("head", "head*", "conv.*", "conv", "conv.0", "conv.0.*", "*.weight", "[cn]*", "norm.*"):
        yield pattern, names_matching(names, pattern)


def ledger_of_two_rounds():
    ledger = Ledger([Entry(1, 1, "down", "first", 2, 6, 48)])
    ledger.record(1, 1, "up", "first", [ONE, OTHER["b"]])
    ledger.record(1, 2, "down", "second", [{"a": ONE["b"].to(SINGLE), "n": 3}], copies=3)
    ledger.record(2, 1, "down", "third", [{"n": 3}], copies=3)
    ledger.record(2, 3, "up", "fourth", [torch.ones(5, dtype=HALF)])
    ledger.add(3, 1, "up", "fifth", 2, 0, 8)
    yield (
        ledger.entries,
        [[f(d, r) for d in (None, "down", "up") for r in (None, 1, 2, 3)] for f in (ledger.bytes, ledger.count)],
    )
    yield ledger.trips(1), ledger.trips(2), ledger.trips(3), Ledger().bytes(), Ledger().count("up")


def whole_numbers():
    for value in (3, np.int64(3), 2, -1, True, 3.0, "3", None):
        yield is_whole(value), refused(require_whole, 3, name=value)
    yield refused(require_whole, 0, one=1, two=-1, three=-2)


def finite_acknowledgements():
    inf, big = torch.tensor([1.0, -torch.inf]), torch.tensor([1e30])
    replies = [
        Reply(ONE),
        Reply(torch.tensor([1])),
        Reply(big, keep={"x": inf}),
        Reply(ONE, personal={"p": torch.tensor([torch.nan])}),
        Reply((ONE["W"], inf)),
        Reply((big, torch.tensor([1e300]).double())),
    ]
    found = [Acknowledgement.of(7 + number, reply) for number, reply in enumerate(replies)]
    yield [
        (
            one.number,
            one.entries,
            one.bytes,
            None if one.finite is None else bool(one.finite),
            list(one.keep),
            list(one.personal),
        )
        for one in found
    ]
    yield (
        first_that_is_not_finite(found),
        first_that_is_not_finite(found[:3]),
        first_that_is_not_finite([]),
        first_that_is_not_finite(found[1:2]),
    )
    yield (
        bool(Acknowledgement.of(0, Reply(ONE), (inf,)).finite),
        bool(Acknowledgement.of(0, Reply(torch.zeros(0))).finite is None),
    )


def parts_of_cohorts():
    yield PARTS, [part_size(count) for count in (0, 1, 2, 15, 16, 17, 31, 32, 33, 160, 161)]


def forms_of_uploads():
    leaves, form = flatten((ONE, {"x": torch.ones(2, dtype=HALF)}), 4)
    yield [leaf.shape for leaf in leaves], [(tuple(shape), str(kind)) for shape, kind in form.leaves]
    yield refused(flatten, (ONE, 3, "x"), 5), refused(flatten, [None], 6), flatten((), 0)[0]
    for other in (ONE, {"x": ONE["b"]}, Tree(W=ONE["W"].to(SINGLE), b=ONE["b"]), OTHER):
        yield refused(require_same, flatten(other, 1)[1], flatten(ONE, 0)[1], 8)


def sums_of_uploads():
    upload = {"x": torch.tensor([1.0, 2.0], dtype=HALF), "y": ONE["b"]}
    leaves, form = flatten(upload, 0)
    total = sum_of({"x": torch.tensor([0.5, 0.25]), "y": torch.zeros(2).double()}, [HALF, DOUBLE])
    total = total.plus_share(leaves, form, 0.3, 1)
    yield total.unrounded, total.message(), str(total.message()["x"].dtype)
    yield total.plus(sum_of({"x": torch.ones(2), "y": ONE["b"]}, [HALF, DOUBLE]), 2).unrounded
    yield (
        refused(total.plus, sum_of({"x": torch.ones(2), "y": ONE["b"]}, [SINGLE, DOUBLE]), 9),
        refused(total.plus_share, leaves[:1], flatten(ONE, 0)[1], 0.3, 3),
    )
    kind, given = total.__reduce__()
    yield kind(*given).unrounded


def writes_into_lent_tensors():
    a, b, c = torch.zeros(3), numbers(5), torch.arange(10, dtype=torch.uint8)
    lent = Lent([a, {"b": b, "c": c[1:]}, "x", torch.empty(2, device="meta")])
    yield lent.written_by_torch(), lent.written()
    c.numpy()[9] = 3
    yield lent.written_by_torch(), lent.written()
    lent = Lent([a, b, c])
    a.add_(1.0)
    yield lent.written_by_torch(), lent.written()
    lent = Lent(b)
    b.numpy()[4] = 0.0
    yield lent.written_by_torch(), lent.written(), Lent(()).written()


def sums_of_bits():
    bytes_ = torch.arange(20, dtype=torch.uint8)
    yield [sum_of_bits(bytes_[first:last]) for first, last in ((0, 8), (0, 9), (1, 9), (3, 20), (0, 0), (0, 7))]
    yield (
        sum_of_bits(torch.tensor([1.0, -2.0, 0.5])),
        sum_of_bits(torch.arange(6.0).reshape(2, 3).mT),
        sum_of_bits(ONE["b"]),
    )
