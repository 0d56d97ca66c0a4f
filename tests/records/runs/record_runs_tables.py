"""Records of stored tables and states: numbers, rows, marks, tensors with their layout, and what is refused."""

import hashlib

import torch
from hidden_folder import in_folder
from recording import refused

from algorithms.adapter import AB
from algorithms.tree import Tree
from algorithms.weights import Added, Factored
from runs.stored import Shelf, StoredTensors, from_plain, named_types, to_plain
from runs.tables import Mark, Table, is_continuation, read_marked, read_number, rows_of


def numbers_in_texts():
    texts = (
        "1",
        "-2",
        "0.5",
        "1e-07",
        "1e+20",
        ".5",
        "1.",
        "+1",
        "inf",
        "-inf",
        "nan",
        "-nan",
        "1_0",
        "1e999",
        " 1",
        "",
    )
    return [read_number(text) for text in (*texts, "٣", "-0", "007", "1" * 40, None, ["1"])]


def rows_of_tables():
    for data in (
        b"",
        b"round,a\n",
        b"round,a\n0,1\n1,\n",
        b'round,a\n0,"x,y"\n',
        b"round,a,a\n0,1,2\n",
        b"round,\n0,1\n",
        b"round,a\n0,1,2\n",
        b"round,a\n0\n",
        b'round,a\n0,"x\n',
        b"round,a\n0,\xff\n",
    ):
        yield refused(rows_of, data)


def rows_that_go_on():
    head = b"round,name,loss\n"
    known = head + b"0,a,1.0\n1,b,2.0\n"
    for more in (
        b"",
        b"1,c,3.0\n",
        b"2,c,3.0\n",
        b"0,c,3.0\n",
        b"2,c,x\n",
        b"2,5,\n",
        b"2,c,3.0",
        b"2,c,x",
        b"2,c",
        b"2",
        b"x",
        b"x,",
        b"-1,c,3.0\n",
        b"2,c\n",
        b"2,c,3.0,4\n",
        b"2,c,3.0,4",
        b"3,c,1.0\n2,c,1.0\n",
        b"\n",
        b"\xff",
        b"2,c,nan\n5,c,inf\n",
    ):
        yield is_continuation(known + more, len(known), ("name",)), is_continuation(known + more, 0, ("name",))
        yield is_continuation(known + more, len(known))
    yield [is_continuation(data) for data in (b"", b"rou", b"round,", b"roun,", b"step,", head, b"x")]


def marks_of_files():
    right = {"length": 3, "sha256": "x"}
    for stored in (right, {**right, "length": -1}, {**right, "length": 0}, {**right, "length": 2**63}, {"length": 3}):
        yield refused(Mark.of, stored)
    for stored in (
        {**right, "length": 2**63 - 1},
        {**right, "length": True},
        {**right, "sha256": 3},
        {**right, "a": 1},
        [],
    ):
        yield refused(Mark.of, stored)


@in_folder
def tables_that_grow(folder):
    path = folder / "metrics.csv"
    table = Table(path)
    table.append([])
    table.append([{"round": 0, "loss": 0.5}, {"round": 1}])
    table.append([{"loss": 1e-7, "round": 2}])
    mark = table.mark()
    yield mark, path.read_text(), refused(table.append, [{"round": 3, "other": 1}]), refused(Table, path)
    table.close()
    yield read_marked(path, mark) == path.read_bytes()
    path.write_text(path.read_text() + "3,x\n")
    yield len(read_marked(path, mark)), refused(read_marked, path, Mark(mark.length + 1, mark.sha256))
    yield refused(read_marked, path, Mark(mark.length, "0")), refused(read_marked, folder / "none", mark)
    table = Table(path, before=path.read_bytes()[: mark.length])
    table.append([{"loss": 2.0, "round": 3}])
    yield path.read_text(), table.mark().length, table.mark().sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    table.close()
    named = Table(folder / "ledger.csv", ("round", "what"))
    named.append([{"what": "sum", "round": 1}])
    named.close()
    yield (folder / "ledger.csv").read_text()


def _round_trip(value, kinds=None):
    shelf, kinds = Shelf(), named_types() if kinds is None else kinds
    plain = to_plain(value, shelf.put, kinds)
    found = from_plain(plain, StoredTensors(shelf.tensors, torch.device("cpu")).get, kinds)
    return plain, found, sorted(shelf.tensors)


def _aligned(*shape):
    return torch.arange(1.0, 1.0 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)


def states_as_plain_values():
    matrix = _aligned(2, 3)
    for value in (
        {"a": 1, 2: (3.5, [None, True, "x"])},
        Tree({"w": matrix, "v": matrix}),
        AB(Tree({"w": matrix}), Tree({"w": _aligned(2, 2)}), Tree({})),
        Added(matrix, 0.5, _aligned(2, 1), _aligned(1, 3)),
        Factored(_aligned(2, 1), None, _aligned(3, 1)),
        torch.Size([2, 3]),
    ):
        plain, found, names = _round_trip(value)
        yield plain, found if not isinstance(found, tuple | Tree | Added | Factored) else type(found).__name__, names


def states_that_are_refused():
    for value in ({(1,): 2}, {1, 2}, object, {"a": complex(1, 2)}, AB(Tree({}), Tree({}), Tree({}))):
        yield refused(_round_trip, value, {})


def plain_values_that_are_refused():
    tensors = StoredTensors({"0": torch.ones(2)}, torch.device("cpu"))
    for plain in (
        {},
        {"value": {}},
        {"value": [1]},
        {"value": 1, "tuple": []},
        {"value": 1, "fields": []},
        {"named": "x", "fields": [], "list": []},
        {"named": "x", "fields": []},
        {"tensor": ["1"]},
        {"tensor": ["0"]},
        {"mapping": [[1.5, {"value": 1}]]},
        {"factors": "algorithms.weights.Added", "fields": []},
        {"factors": "algorithms.weights.Added", "fields": [{"tensor": ["0"]}] * 3 + [{"value": 1}]},
        {"factors": "algorithms.weights.Added", "fields": [{"tensor": ["0"]}] * 3 + [{"value": 1.0}]},
        {"factors": "algorithms.weights.Factored", "fields": [{"tensor": ["0"]}, {"value": 1}, {"tensor": ["0"]}]},
        {"factors": "algorithms.weights.Factored", "fields": [{"tensor": ["0"]}, {"value": None}, {"tensor": ["0"]}]},
    ):
        found = refused(from_plain, plain, tensors.get, named_types())
        yield found if isinstance(found, str) else type(found).__name__


def layouts_of_tensors():
    room = torch.arange(64, dtype=torch.float64)
    for tensor in (
        room.reshape(8, 8),
        room.reshape(8, 8).T,
        room.reshape(8, 8)[:, ::2],
        room[8:].reshape(7, 8),
        room[3:5],
        room[:1].expand(2, 3),
        room[:0],
        room[5],
        room[:8].as_strided((8, 1), (1, 5)),
    ):
        shelf = Shelf()
        shift = tensor.data_ptr() % 64 // 8 - room.data_ptr() % 64 // 8
        name, *layout = shelf.put(tensor)
        again = StoredTensors(shelf.tensors, torch.device("cpu")).get([name, *layout])
        yield layout[:1], shift, again.stride(), again.shape, torch.equal(again, tensor), shelf.tensors[name].numel()
    shelf = Shelf()
    yield [shelf.put(one)[0] for one in (room, room[:], room[1:], room.view(8, 8), room.clone(), room)]
    shelf, square = Shelf(), torch.arange(6.0).reshape(2, 3)[:, :2]
    views = (square, square.T, square.view(torch.int32), square[:, ::2], square[:, :1], square[:1], square[0])
    names = [shelf.put(view)[0] for view in views]
    stored = StoredTensors(shelf.tensors, torch.device("cpu"))
    yield names, [stored.get([name]) for name in dict.fromkeys(names)]
