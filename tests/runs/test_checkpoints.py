"""A state that is stored and read is the same to the last bit, names no code, and any damage is noticed."""

import contextlib
import hashlib
import json
import sys
from typing import NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import torch as safetensors

from algorithms.adapter import AB
from algorithms.federation import FederationState
from algorithms.fedloru import FedLoRUState
from algorithms.low_rank import USV
from algorithms.optimisers import Moments
from algorithms.rounds import RunState
from algorithms.tree import Tree
from algorithms.weights import Added, Factored, dense
from runs.checkpoints import KEPT, Checkpoint, Checkpoints
from runs.index import last_index, sign_index
from runs.settings import RunError
from runs.stored import Shelf, StoredTensors, from_plain, named_types, to_plain
from runs.tables import Mark

CPU = torch.device("cpu")


class Mine(NamedTuple):
    """A state of a user's algorithm."""

    mean: Tree


KINDS = named_types(sys.modules[__name__])


def again(value):
    """A value after it was stored and read."""
    shelf = Shelf()
    text = json.dumps(to_plain(value, shelf.put, KINDS))
    assert all(tensor.is_contiguous() and tensor.device == CPU for tensor in shelf.tensors.values())
    return from_plain(json.loads(text), StoredTensors(shelf.tensors, CPU).get, KINDS)


def wide():
    return torch.arange(24.0, dtype=torch.float64).reshape(4, 6) / 7


def test_the_named_tuples_of_algorithms_are_known_and_no_others():
    assert {"algorithms.adapter.AB", "algorithms.low_rank.USV", "algorithms.optimisers.Moments"} <= set(KINDS)
    assert KINDS[f"{__name__}.Mine"] is Mine
    assert all(issubclass(kind, tuple) and hasattr(kind, "_fields") for kind in KINDS.values())
    assert not [name for name in named_types() if not name.startswith("algorithms.")]


def test_factors_in_place_of_weights_come_back():
    A, B = wide()[:, :2], wide()[:2]
    once = Added(torch.eye(4, 6, dtype=torch.float64), 0.5, A, B)
    kernel = Factored(wide().mT.contiguous(), None, wide().mT, of=torch.Size([6, 1, 2, 3]))
    tree = Tree(twice=Added(once, -2.0, A, B), product=Factored(A, torch.eye(2, dtype=torch.float64), A), kernel=kernel)
    found = again({"w": tree})["w"]
    assert list(found) == list(tree)
    for name, weight in tree.items():
        assert type(found[name]) is type(weight)
        assert found[name].shape == weight.shape
        assert torch.equal(dense(found[name]), dense(weight))
    assert isinstance(found["twice"].base, Added)
    assert found["kernel"].S is None


def test_one_row_keeps_the_strides_it_had():
    for row in (torch.ones(8, 1).mT, torch.ones(1, 8), torch.ones(8, 2)[:, :1], torch.ones(1, 8).mT, torch.ones(0, 3)):
        found = again({"row": row})["row"]
        assert torch.equal(found, row)
        assert found.stride() == row.stride()


FORGED = {
    "another class": lambda stored: stored | {"factors": "builtins.eval"},
    "a number for a factor": lambda stored: stored | {"fields": [*stored["fields"][:3], {"value": 1.0}]},
    "a text for a scale": lambda stored: (
        stored | {"fields": [stored["fields"][0], {"value": "x"}, *stored["fields"][2:]]}
    ),
    "a factor less": lambda stored: stored | {"fields": stored["fields"][:1]},
    "a list for the base": lambda stored: stored | {"fields": [{"list": []}, *stored["fields"][1:]]},
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_factors_are_refused(what):
    shelf = Shelf()
    stored = to_plain(Added(wide(), 0.5, wide()[:, :2], wide()[:2]), shelf.put, KINDS)
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_plain(FORGED[what](stored), StoredTensors(shelf.tensors, CPU).get, KINDS)


def test_a_state_of_everything_comes_back():
    tree = Tree({"a.weight": wide(), "b": torch.tensor(3)})
    value = {
        "state": FedLoRUState(tree, AB(tree, tree * 2), 7),
        "own": Mine(Tree(x=torch.zeros(0, 3, dtype=torch.bfloat16))),
        "moments": Moments((wide(),), [wide() > 1], torch.zeros(())),
        "plain": (None, True, 3, 0.1, float("inf"), "text", (), [], {}),
        3: {"nested": {4: wide().half()}},
    }
    found = again(value)
    assert str(found) == str(value)
    assert type(found["state"]) is FedLoRUState
    assert type(found["state"].base) is Tree
    assert found["state"].base["a.weight"] is found["state"].factors.A["a.weight"]  # one tensor, as it was
    assert torch.equal(found["state"].factors.B["a.weight"], tree["a.weight"] * 2)


LAYOUTS = {
    "transposed": lambda: wide().T,
    "columns of a wider one": lambda: wide()[:, :3],
    "a row within": lambda: wide()[2],
    "expanded": lambda: wide()[:1].expand(5, 6),
    "expanded both ways": lambda: torch.tensor(2.0).expand(3, 4),
    "permuted": lambda: torch.randn(2, 3, 4).permute(2, 0, 1),
    "channels last": lambda: torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
    "nothing in it": lambda: wide()[:0],
    "one number": lambda: torch.tensor(1.5),
    "a truth": lambda: torch.tensor([True, False])[1:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_tensor_stands_in_memory_as_it_did(layout):
    tensor = LAYOUTS[layout]()
    found = again(tensor)
    assert torch.equal(found, tensor)
    assert (found.dtype, found.shape, found.stride()) == (tensor.dtype, tensor.shape, tensor.stride())
    if tensor.numel():
        assert found.data_ptr() % 64 == tensor.data_ptr() % 64


@pytest.mark.parametrize("value", [object(), {1.5: 2}, torch.nn.Linear, {"f": again}, Checkpoint, 1j, b"x", {3}])
def test_what_cannot_be_stored_is_named(value):
    with pytest.raises(RunError, match=r"a state (holds|has)"):
        again(value)


class Foreign(NamedTuple):
    """A named tuple that nobody announced."""

    x: int


def test_a_named_tuple_from_elsewhere_is_refused():
    with pytest.raises(RunError, match="Foreign"):
        to_plain(Foreign(1), Shelf().put, named_types())


def state(number, personal=None, seed=0):
    torch.manual_seed(seed + number)
    factors = USV(*(Tree(W=torch.randn(5, 2).T if turned else torch.randn(5, 2)) for turned in (0, 1, 0)))
    kept = FederationState(number, personal or {}, {"base": factors.U}, {"LU": AB(factors.U, factors.V)})
    return Checkpoint(RunState(number, factors, kept), {"metrics.csv": Mark(number, "x")}, 1.5)


def checkpoints(folder, run="one"):
    return Checkpoints(folder, run, KINDS)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_last_two_are_kept_and_read(tmp_path):
    writer = checkpoints(tmp_path / "c")
    assert not writer.exist
    for number in (3, 5, 8):
        writer.save(state(number))
    assert names(tmp_path / "c") == [f"round-00000{n}.{kind}" for n in (5, 8) for kind in ("json", "safetensors")]
    found, wrong = checkpoints(tmp_path / "c").load()
    assert wrong == []
    assert str(found) == str(state(8))
    assert found.state.federation.shared["base"]["W"] is found.state.algorithm.U["W"]
    assert KEPT == 2


def test_a_client_that_did_not_change_is_not_written_again(tmp_path):
    writer = checkpoints(tmp_path)
    memories = {k: {"LU": AB(Tree(W=wide() + k), Tree(W=wide() - k)), "steps": k} for k in range(3)}
    writer.save(state(1, memories))
    first = {name: (tmp_path / name).stat().st_mtime_ns for name in names(tmp_path) if name.startswith("client")}
    assert len(first) == 3
    changed = {**memories, 1: {"LU": memories[1]["LU"], "steps": 9}}
    writer.save(state(2, changed))
    new = [name for name in names(tmp_path) if name.startswith("client") and name not in first]
    assert new == ["client-000001-round-000002.safetensors"]
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in first} == first
    reader = checkpoints(tmp_path)
    found, _ = reader.load()
    assert str(found.state.federation.personal) == str(changed)
    reader.save(state(3, found.state.federation.personal))  # a resumed run knows what is on the disk, too
    reader.save(state(4, found.state.federation.personal))
    assert [name for name in names(tmp_path) if name.startswith("client")] == [
        "client-000000-round-000001.safetensors",
        "client-000001-round-000002.safetensors",
        "client-000002-round-000001.safetensors",
    ]


def test_a_damaged_one_gives_way_to_the_one_before(tmp_path):
    writer = checkpoints(tmp_path)
    for number in (1, 2):
        writer.save(state(number, {0: {"w": wide() + number}}))
    for damaged in ("round-000002.json", "round-000002.safetensors", "client-000000-round-000002.safetensors"):
        whole = (tmp_path / damaged).read_bytes()
        for change in (whole[:-2], b"", whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], None):
            if change is None and damaged.endswith("json"):
                continue  # without its index it is not a checkpoint
            (tmp_path / damaged).unlink() if change is None else (tmp_path / damaged).write_bytes(change)
            found, wrong = checkpoints(tmp_path).load()
            assert found.state.round == 1
            assert len(wrong) == 1
            assert damaged in wrong[0]
        (tmp_path / damaged).write_bytes(whole)
    assert checkpoints(tmp_path).load()[0].state.round == 2
    (tmp_path / "round-000002.json").write_bytes(b"")
    (tmp_path / "round-000001.safetensors").write_bytes(b"")
    with pytest.raises(RunError, match=r"damaged.*restore it from a copy, or name another folder with --out"):
        checkpoints(tmp_path).load()


def client_file(client):
    return f"client-{client:06d}-round-000002.safetensors"


def without_client_1(content, folder):
    del content["personal"]["1"]
    del content["files"][client_file(1)]


def with_the_clients_swapped(content, folder):
    content["personal"] = {"0": client_file(1), "1": client_file(0), "2": client_file(2)}


def with_one_more_client(content, folder):
    content["personal"]["3"] = client_file(2)


def with_the_files_swapped(content, folder):
    one, other = folder / client_file(0), folder / client_file(1)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    files = content["files"]
    files[one.name], files[other.name] = files[other.name], files[one.name]


def with_the_file_of_an_earlier_round(content, folder):
    early = folder / client_file(1).replace("round-000002", "round-000001")
    (folder / client_file(1)).write_bytes(early.read_bytes())
    content["files"][client_file(1)] = hashlib.sha256(early.read_bytes()).hexdigest()


def with_the_main_file_of_an_earlier_round(content, folder):
    early = (folder / "round-000001.safetensors").read_bytes()
    (folder / "round-000002.safetensors").write_bytes(early)
    content["files"]["round-000002.safetensors"] = hashlib.sha256(early).hexdigest()


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (without_client_1, f"has no file for client 1, where the run saved {client_file(1)}"),
        (with_the_clients_swapped, f"has the file {client_file(1)} for client 0, where the run saved {client_file(0)}"),
        (with_one_more_client, f"has the file {client_file(2)} for client 3, where the run saved none"),
        (with_the_files_swapped, f"{client_file(0)} holds what a run wrote as {client_file(1)}"),
        (with_the_file_of_an_earlier_round, f"{client_file(1)} holds what a run wrote as client-000001-round-000001"),
        (with_the_main_file_of_an_earlier_round, "round-000002.safetensors holds what a run wrote as round-000001"),
    ],
)
def test_memory_of_another_client_or_round_is_not_taken_though_the_index_is_signed(forge, why, tmp_path):
    writer = checkpoints(tmp_path)
    for number in (1, 2):
        writer.save(state(number, {k: {"w": wide() + 10 * number + k} for k in range(3)}))
    path = tmp_path / "round-000002.json"
    content = json.loads(path.read_bytes())["content"]
    forge(content, tmp_path)
    path.write_bytes(sign_index(content))
    found, wrong = checkpoints(tmp_path).load()
    assert found.state.round == 1
    (said,) = wrong
    assert why in said


def test_a_checkpoint_of_an_earlier_version_without_names_in_its_files_is_read(tmp_path, monkeypatch):
    own = safetensors.save

    def save(tensors, notes):
        made = json.loads(notes["notes"])
        return own(tensors, {"memory": json.dumps(made["memory"])} if "memory" in made else {})

    monkeypatch.setattr("runs.checkpoints.safetensors.save", save)
    writer = checkpoints(tmp_path)
    writer.save(state(1, {k: {"w": wide() + k} for k in range(2)}))
    monkeypatch.undo()
    reader = checkpoints(tmp_path)
    found, wrong = reader.load()
    assert wrong == []
    reader.save(state(2, found.state.federation.personal))
    found, wrong = checkpoints(tmp_path).load()
    assert (found.state.round, wrong) == (2, [])
    assert torch.equal(found.state.federation.personal[1]["w"], wide() + 1)


def test_what_a_cut_one_left_goes_with_the_next(tmp_path, monkeypatch):
    folder = tmp_path / "c"
    writer = checkpoints(folder)
    writer.save(state(1))

    def fail(*paths):
        raise KeyboardInterrupt

    def kept(path, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr("workloads.files.os.link", fail)  # cut at the first file
    monkeypatch.setattr("workloads.files.shutil.rmtree", kept)
    with pytest.raises(KeyboardInterrupt):
        writer.save(state(2, {7: {"w": wide()}}))
    monkeypatch.undo()
    assert [name for name in names(folder) if name.startswith(".writing-")]
    with monkeypatch.context() as patched:  # cut before the index
        patched.setattr("runs.checkpoints._sync", fail)
        with pytest.raises(KeyboardInterrupt):
            writer.save(state(2, {7: {"w": wide()}}))
    assert "client-000007-round-000002.safetensors" in names(folder)
    (folder / "client-000008-round-000002.safetensors").write_bytes(b"mine")
    (folder / ".writing-mine").mkdir()
    (folder / "notes.txt").write_text("mine")
    writer.save(state(3))
    assert set(names(folder)) == {
        ".writing-mine",
        "client-000008-round-000002.safetensors",
        "notes.txt",
        *(f"round-00000{n}.{kind}" for n in (1, 3) for kind in ("json", "safetensors")),
    }
    writer.remove()
    assert names(folder) == [".writing-mine", "client-000008-round-000002.safetensors", "notes.txt"]


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    checkpoints(tmp_path, "one").save(state(1))
    with pytest.raises(RunError, match="belongs to another run"):
        checkpoints(tmp_path, "other").load()


def places(value, at=()):
    """Paths to everything inside."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400)
ANYTHING = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
NAMES = st.sampled_from(
    ["os.system", "../settings.json", "builtins.eval", "algorithms.adapter.AB", "algorithms.federation.Federation"]
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    checkpoints(folder).save(state(1, {0: {"w": wide().T}}))
    return folder


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_forged_index_runs_no_code_and_is_read_or_refused(whole, data):

    path = whole / "round-000001.json"
    before = path.read_bytes()
    content = json.loads(before)["content"]
    at, forged = data.draw(st.sampled_from(list(places(content)))), data.draw(ANYTHING | NAMES)
    within = content
    for key in at[:-1]:
        within = within[key]
    within[at[-1]] = forged
    path.write_bytes(sign_index(content))
    try:
        with contextlib.suppress(RunError):
            found, _ = checkpoints(whole).load()
            assert isinstance(found.state, RunState)
    finally:
        path.write_bytes(before)


def test_a_time_beyond_all_numbers_is_one_error(whole):
    """As hypothesis found it, in a forged index."""

    path = whole / "round-000001.json"
    before = path.read_bytes()
    try:
        path.write_bytes(sign_index({**json.loads(before)["content"], "seconds": 10**400}))
        with pytest.raises(RunError, match="is not a checkpoint that rankproof wrote"):
            checkpoints(whole).load()
    finally:
        path.write_bytes(before)


def test_the_last_index_is_that_of_the_largest_round(tmp_path):
    """Names of rounds from a million on have more digits; a damaged index counts as missing."""
    place = tmp_path / "checkpoints"
    assert last_index(tmp_path) == {}
    place.mkdir()
    for round in (999_998, 1_000_000, 999_999):
        (place / f"round-{round:06}.json").write_bytes(sign_index({"round": round}))
    assert last_index(tmp_path) == {"round": 1_000_000}
    (place / "round-1000000.json").write_bytes(b"{}")
    assert last_index(tmp_path) == {"round": 999_999}


def test_views_of_one_storage_stay_apart_by_place_type_shape_and_strides():
    whole = torch.arange(6, dtype=torch.float32)
    views = (whole[:3], whole[3:], whole[:3].view(torch.int32), whole[::2], whole.reshape(2, 3), whole.reshape(3, 2).T)
    shelf = Shelf()
    references = [shelf.put(view) for view in (*views, whole[3:])]
    assert references[1] == references[-1]
    assert len(shelf.tensors) == len(views)
    stored = StoredTensors(shelf.tensors, torch.device("cpu"))
    for view, reference in zip(views, references, strict=False):
        found = stored.get(reference)
        assert torch.equal(found, view)
        assert (found.dtype, found.stride()) == (view.dtype, view.stride())
