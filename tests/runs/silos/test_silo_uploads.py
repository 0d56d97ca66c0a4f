"""Uploads that are finite and far out: whoever sent them is named, and no other silo."""

import errno
import json
import shutil
from dataclasses import dataclass, replace

import pytest
import torch
from silo_line import Beside, silos_of
from test_hostile_silos import W, mean_of, uploaded
from test_silo_hellos import Growing
from test_silos import NAMES, Met
from test_silos import given as run_of
from torch.utils._pytree import tree_map

import rankproof
from algorithms.descent import Descent
from algorithms.fedavg import FedAvg
from algorithms.federation import FederationError
from algorithms.tree import Tree
from runs.catalogue import ALGORITHMS, options_of
from runs.settings import RunError
from runs.silos.executor import Silos
from runs.silos.registered import answered_kinds
from runs.silos.server import serve
from runs.silos.wire import Message, Packed, pack, unpack
from workloads.written import FolderRecord


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(Silos.__init__, "__defaults__", (*Silos.__init__.__defaults__[:-1], 1e-3))  # the pause
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 1e300, 1e155, -1e154])
def test_a_finite_upload_whose_squares_overflow_is_refused(value):
    with pytest.raises(
        FederationError, match=r"silo east: an upload with numbers up to 1.*e\+\d+, whose squares overflow"
    ):
        mean_of(uploaded(Tree(W=W.index_fill(1, torch.tensor([2]), value))))


@pytest.mark.parametrize("value", [1e150, -1e30, 1e12])
def test_an_upload_far_from_the_others_is_refused_and_the_rest_make_the_mean(value):
    sent = uploaded(Tree(W=W + value))
    with pytest.raises(FederationError, match=r"silo east: an upload of norm .* where a typical norm is 8.94;"):
        mean_of(sent)
    mean, said = mean_of(sent, wrong="left out", least=2)
    assert torch.equal(mean, W + 2.0)
    assert [text for text in said if "refused" in text] == [text for text in said if "silo east: refused" in text] != []


def test_an_upload_that_is_large_is_taken_and_reported_and_one_of_the_usual_size_is_taken():
    mean, said = mean_of(uploaded(Tree(W=W + 3e5)))
    torch.testing.assert_close(mean, W + (3e5 + 4.0) / 3.0)
    assert any("silo east: an upload of norm 2.68e+06" in text for text in said)
    for value in (0.0, 5.0, -100.0):
        mean, said = mean_of(uploaded(Tree(W=W + value)))
        torch.testing.assert_close(mean, W + (value + 4.0) / 3.0)
        assert not [text for text in said if "norm" in text]


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("odd", NAMES)
def test_the_sender_is_blamed_in_whatever_place_and_type(odd, kind, tmp_path):
    """In a run, its numbers would overflow at the honest silos of the next trip."""

    @dataclass(frozen=True, eq=False)
    class Fit:
        x: torch.Tensor
        samples: float = 4.0

        def loss(self, w, batch=None):
            return ((self.x @ w["W"]) ** 2).mean()

    largest = float(torch.finfo(kind).max) / 2.0

    def change(node, request, letter):
        content, asked = json.loads(letter.text), json.loads(request.text)
        if asked.get("silo") != odd or asked.get("work") != "fedavg.local_descent":
            return letter
        upload = unpack(Packed(content["upload"], letter.blobs["upload"]), {})
        packed = pack(Tree({name: torch.full_like(entry, largest) for name, entry in upload.items()}), {})
        return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})

    clients = [Fit(torch.eye(4, 3, dtype=kind) * (number + 1.0)) for number in range(3)]
    line = Beside(silos_of(clients, NAMES, tmp_path), change)
    config = {"algorithm": "fedavg", "silos": ",".join(NAMES), "folder": str(tmp_path / "results"), "rounds": 3}
    config |= {"steps": 2, "seconds": 5.0}
    with pytest.raises(FederationError, match=f"round 1, local_descent: silo {odd}: an upload with numbers up to"):
        serve(config, line, lambda: {"W": torch.ones(3, 2, dtype=kind)})
    assert serve({**config, "wrong": "left out", "least": 2}, line, lambda: {"W": torch.ones(3, 2, dtype=kind)})


def test_a_large_upload_that_was_taken_is_named_where_others_fail_after_it(tmp_path):
    parts = run_of("fedavg")

    def change(node, request, letter):
        content, asked = json.loads(letter.text), json.loads(request.text)
        if asked.get("silo") == "south" and asked["round"] == 1:
            packed = pack(Tree(W=torch.full_like(parts.problem.start["W"], 1e5)), {})
            return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})
        if asked.get("silo") == "north" and asked["round"] == 2:
            return Message(json.dumps({"echo": content["echo"], "kind": "failed", "said": "not finite"}), {})
        return letter

    met = Met(parts.problem.clients, tmp_path, parts.problem.start, change)
    with pytest.raises(FederationError, match="silo north: not finite; earlier, silo south sent an upload of norm"):
        met.run(parts.algorithm)


def test_a_silo_that_is_left_out_stays_so_and_is_shown(tmp_path, capsys):
    parts = run_of("fedavg")
    asked_of_east = []

    def change(node, request, letter):
        content, asked = json.loads(letter.text), json.loads(request.text)
        if asked.get("silo") != "east":
            return letter
        asked_of_east.append(asked["round"])
        if asked["round"] < 1:
            return letter
        return Message(json.dumps({"echo": content["echo"], "kind": "failed", "said": "no room\x1b[2J"}), {})

    line = Beside(silos_of(parts.problem.clients, NAMES, tmp_path), change)
    results = tmp_path / "results"
    config = {"algorithm": "fedavg", "silos": ",".join(NAMES), "folder": str(results), "seconds": 5.0, "steps": 2}
    config |= {"wrong": "left out", "least": 2}
    start = {"W": parts.problem.start["W"]}
    serve({**config, "rounds": 2}, line, lambda: start)
    assert asked_of_east == [0, 1]
    stored = json.loads((results / "checkpoints" / "round-000002.json").read_text())
    assert stored["content"]["left_out"] == {"east": "left out in round 1: no room [2J"}
    serve({**config, "rounds": 3}, line, lambda: start)
    assert asked_of_east == [0, 1]
    capsys.readouterr()
    assert rankproof.main(["runs", "show", str(results)]) == 0
    assert "silo east: left out in round 1: no room [2J" in capsys.readouterr().out


def test_a_silo_that_is_gone_ends_a_run_with_the_command_that_goes_on(tmp_path):
    parts = run_of("fedavg")

    def change(node, request, letter):
        asked = json.loads(request.text)
        return None if asked.get("silo") == "east" and asked["round"] == 2 else letter

    line = Beside(silos_of(parts.problem.clients, NAMES, tmp_path), change)
    config = {"algorithm": "fedavg", "silos": ",".join(NAMES), "folder": str(tmp_path / "results"), "rounds": 3}
    said = r"round 2, .* no answer from east; .* keeps round 1; continue with the `flwr run` command that began it$"
    with pytest.raises(FederationError, match=said):
        serve({**config, "seconds": 0.5, "steps": 2}, line, lambda: {"W": parts.problem.start["W"]})


def test_an_honest_upload_of_many_tensors_is_no_larger_than_it_may_be(tmp_path):
    """Names, types and shapes take more room than the numbers of small tensors."""

    @dataclass(frozen=True, eq=False)
    class Sum:
        samples: float = 4.0

        def loss(self, w, batch=None):
            return torch.stack([entry.sum() for entry in w.values()]).square().mean()

    start = {f"{'layer.' * 9}{place}": torch.ones(1, 1, 1, 1) for place in range(1100)}
    met = Met([Sum()] * 2, tmp_path, start, names=NAMES[:2])
    fedavg = FedAvg(Descent(steps=1, learning_rate=1e-6))
    assert len(met.run(fedavg, 1)[-1].state.algorithm) == 1100


@pytest.mark.parametrize("kind", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("name", ["fedavg", "rolora-exact"])
def test_an_upload_in_which_torch_does_not_compute_is_of_its_sender(name, kind, tmp_path):
    run = run_of(name)

    def change(node, request, letter):
        if json.loads(request.text).get("silo") != "east":
            return letter
        content = json.loads(letter.text)
        upload = unpack(Packed(content["upload"], letter.blobs["upload"]), {})
        packed = pack(Tree({name: entry.to(kind) for name, entry in upload.items()}), {})
        return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})

    met = Met(run.problem.clients, tmp_path, run.problem.start, change)
    with pytest.raises(FederationError, match=r"silo east: .* torch\.float8"):
        met.run(run.algorithm, 1)


def scaled_by(odd, times, loss=None):
    """Answers of a silo that multiplies each upload, and says what its loss is."""

    def change(node, request, letter):
        content, asked = json.loads(letter.text), json.loads(request.text)
        if asked.get("silo") != odd or content["kind"] != "done":
            return letter
        upload = unpack(Packed(content["upload"], letter.blobs["upload"]), {})
        if isinstance(upload, torch.Tensor):
            upload = upload if loss is None else torch.tensor(loss, dtype=upload.dtype)
        else:
            upload = Tree({name: entry * times for name, entry in upload.items()})
        packed = pack(upload, {})
        return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})

    return change


@dataclass(frozen=True, eq=False)
class Squared:
    x: torch.Tensor
    samples: float = 4.0

    def loss(self, w, batch=None):
        return ((self.x @ w["W"] - 1.0) ** 2).mean()


def trained(folder, change, rounds, names=NAMES, kind=torch.float64, **more):
    clients = [Squared(torch.eye(5, 3, dtype=kind) * (1.0 + 0.1 * number)) for number in range(len(names))]
    config = {"algorithm": "fedavg", "silos": ",".join(names), "folder": str(folder / "results"), "rounds": rounds}
    config |= {"steps": 2, "learning_rate": 0.05, "seconds": 5.0, **more}
    line = Beside(silos_of(clients, names, folder), change)
    return serve(config, line, lambda: {"W": torch.full((3, 2), 0.1, dtype=kind)})


def log_of(folder):
    return (folder / "results" / "log.txt").read_text().splitlines()


@pytest.mark.parametrize(
    ("times", "odd", "wrong"),
    [(12.0, "north", "left out"), (900.0, "south", "left out"), (-900.0, "east", "stop"), (900.0, "north", "stop")],
)
def test_a_silo_that_spoils_the_model_and_denies_its_loss_is_named_and_no_honest_one(times, odd, wrong, tmp_path):
    last = trained(tmp_path, scaled_by(odd, times, 1.0), 6, wrong=wrong, **({"least": 1} if wrong != "stop" else {}))
    assert last["loss"] > 1e3
    said = [text for text in log_of(tmp_path) if "norm" in text]
    assert said
    assert not [text for text in said if f"silo {odd}:" not in text]
    content = json.loads((tmp_path / "results" / "checkpoints" / "round-000006.json").read_text())["content"]
    assert set(content["suspects"]) == {odd}
    assert "left_out" not in content


def test_an_honest_silo_that_fails_at_a_spoilt_model_is_not_left_out(tmp_path, capsys):
    """It stays so when the run goes on, and `runs show` names the silo that spoilt it."""
    lie = scaled_by("south", 900.0, 0.01)

    def change(node, request, letter):
        content, asked = json.loads(letter.text), json.loads(request.text)
        if asked.get("silo") == "north" and asked["round"] == 3:
            return Message(json.dumps({"echo": content["echo"], "kind": "failed", "said": "not finite"}), {})
        return lie(node, request, letter) if asked.get("round", 3) < 3 else letter

    said = r"silo north: not finite; earlier, silo south sent .* in round 2; .* no silo is left out: look at south, or"
    for _ in range(2):
        with pytest.raises(FederationError, match=said):
            trained(tmp_path, change, 4, wrong="left out", least=1)
    assert rankproof.main(["runs", "show", str(tmp_path / "results")]) == 0
    shown = capsys.readouterr().out
    assert "silo south: sent an upload of norm" in shown
    assert "silo north" not in shown


def test_of_two_silos_that_differ_in_their_losses_both_are_named_and_neither_is_left_out(tmp_path):
    names = NAMES[:2]
    with pytest.raises(
        FederationError,
        match=r"uploads' norms are more than 1e\+09 times apart, with no majority: north .*, "
        r"east 1; .*earlier, silo east sent",
    ):
        trained(tmp_path, scaled_by("east", 900.0, 1.0), 9, names, wrong="left out", least=1)


@pytest.mark.parametrize("value", [1e10, 1e13])
def test_a_silo_alone_in_its_cohort_is_compared_with_what_it_was_sent(value, tmp_path):
    with pytest.raises(FederationError, match=r"silo east: an upload of norm .*; lower the learning rate"):
        trained(tmp_path, scaled_by("east", value), 9, cohort=1, seed=2)


def test_silos_whose_losses_differ_among_themselves_are_not_remembered(tmp_path):
    def change(node, request, letter):
        content = json.loads(letter.text)
        if json.loads(request.text).get("work") != "problem.local_loss":
            return letter
        packed = pack(torch.tensor(10.0 ** (6 * (node - 100)), dtype=torch.float64), {})
        return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})

    trained(tmp_path, change, 1)
    assert not [text for text in log_of(tmp_path) if "refused" in text]
    content = json.loads((tmp_path / "results" / "checkpoints" / "round-000001.json").read_text())["content"]
    assert "suspects" not in content


def honest(node, request, letter):
    return letter


def test_a_note_in_the_log_hides_no_silo_and_ends_no_run(tmp_path):
    def change(node, request, letter):
        content, asked = json.loads(letter.text), json.loads(request.text)
        if asked.get("silo") != "east" or asked.get("round") != 2:
            return letter
        with (tmp_path / "results" / "log.txt").open("a") as log:
            log.write("a note")
        return Message(json.dumps({"echo": content["echo"], "kind": "failed", "said": "no room"}), {})

    spoilt = scaled_by("south", 900.0)
    with pytest.raises(FederationError, match=r"silo east: no room; earlier, silo south sent"):
        trained(tmp_path, lambda *letters: change(*letters[:2], spoilt(*letters)), 3, wrong="left out", least=2)
    lines = log_of(tmp_path)
    (place,) = [number for number, text in enumerate(lines) if text == "a note"]
    assert "silo east: refused, no room" in lines[place + 1]


def noted_at_the_end(data):
    return data + b"restarted the server"


def noted_at_the_start(data):
    return b"my notes\n" + data


def with_lines_of_windows(data):
    return data.replace(b"\n", b"\r\n")


def emptied(data):
    return b""


@pytest.mark.parametrize("edit", [noted_at_the_end, noted_at_the_start, with_lines_of_windows, emptied])
def test_an_edited_log_is_kept_and_goes_on(edit, tmp_path, capsys):
    log = tmp_path / "results" / "log.txt"
    trained(tmp_path, honest, 1)
    edited = edit(log.read_bytes())
    log.write_bytes(edited)
    assert trained(tmp_path, honest, 2)["round"] == 2
    found = log.read_bytes()
    assert found.startswith(edited)
    assert found.endswith(b" received\n")
    assert len(found.splitlines()) == len(edited.splitlines()) + 1
    capsys.readouterr()
    assert rankproof.main(["runs", "show", str(log.parent)]) == 0
    assert "silos" in capsys.readouterr().out


@pytest.mark.parametrize("made", ["folder", "link", "full"])
def test_a_log_that_cannot_be_written_ends_no_run(made, tmp_path, capsys, monkeypatch):
    log, own = tmp_path / "results" / "log.txt", FolderRecord.write

    def full(record, files):
        if log in files:
            raise OSError(errno.ENOSPC, "No space left on device", str(log))
        own(record, files)

    def change(node, request, letter):
        if json.loads(request.text).get("round") == 1 and not log.is_symlink() and not log.exists():
            log.mkdir() if made == "folder" else log.symlink_to(tmp_path / "away") if made == "link" else None
        return letter

    if made == "full":
        monkeypatch.setattr(FolderRecord, "write", full)
    assert trained(tmp_path, change, 1)["round"] == 1
    (text,) = [text for text in capsys.readouterr().err.splitlines() if "cannot write" in text]
    assert text.endswith("; the run goes on, but its log lacks the line before")
    assert f"{log}: {'No space left on device' if made == 'full' else 'it is not a file'}" in text
    assert not (tmp_path / "away").exists()


def test_remedies_of_a_run_of_silos_are_options_of_its_app(tmp_path):
    trained(tmp_path, honest, 2)
    for more in ({"rounds": 1}, {"rounds": 2, "learning_rate": 0.06}, {"rounds": 2, "names": NAMES[:2]}):
        with pytest.raises(RunError, match="name another `folder` in the app's config") as error:
            trained(tmp_path, honest, **more)
        assert "--" not in str(error.value)
    (tmp_path / "results" / "log.txt").write_text("mine")
    with pytest.raises(RunError, match=r"log.txt.* name another `folder` in the app's config$"):
        trained(tmp_path, scaled_by("south", 900.0), 3)


@pytest.mark.slow
def test_two_runs_of_one_plan_do_not_forget_what_the_others_clients_keep(tmp_path):
    clients = [Squared(torch.eye(5, 3, dtype=torch.float64) * (1.0 + 0.1 * number)) for number in range(2)]

    def run(folder, rounds, first=0.1):
        line = Beside(silos_of(clients, NAMES[:2], tmp_path))
        config = {"algorithm": "pfedloru", "silos": "north,east", "folder": str(tmp_path / folder), "rounds": rounds}
        start = {"W": torch.full((3, 2), first, dtype=torch.float64)}
        return serve({**config, "steps": 1, "learning_rate": 0.05, "rank": 1, "seconds": 5.0}, line, lambda: start)

    run("one", 2)
    run("other", 10, 0.2)
    run("again", 10)
    assert run("one", 10)["loss"] == run("again", 10)["loss"]


def leaving(folder, rounds, south, there=NAMES, later=None):
    """A run whose silo south has other data, given as numbers, in other rounds."""
    asked = []

    def change(node, request, letter):
        content = json.loads(request.text)
        asked.extend([content["silo"]] if content["kind"] == "trip" else [])
        return letter

    clients = [Squared(torch.eye(5, 3, dtype=torch.float64) * factor) for factor in (1.0, 1.1, south)]
    line = Beside({n: s for n, s in silos_of(clients, NAMES, folder).items() if s.name in there}, change)
    if later is not None and 102 in line.silos:
        line.silos[102] = Growing(line.silos[102], lambda round: later(round) or clients[2])
    config = {"algorithm": "pfedloru", "silos": ",".join(NAMES), "folder": str(folder / "results"), "rounds": rounds}
    config |= {"steps": 2, "rank": 1, "learning_rate": 0.05, "seconds": 0.5, "wrong": "left out", "least": 2}
    return serve(config, line, lambda: {"W": torch.full((3, 2), 0.1, dtype=torch.float64)}), asked


def changed_in_round_2(round):
    return Squared(torch.eye(5, 3, dtype=torch.float64) * 3.0) if round >= 2 else None


class Wider(Squared):
    takes_values = True


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """Return the answer and the folder of a run that leaves a silo out, and of the same that is cut short."""
    place = tmp_path_factory.mktemp("left")
    (whole, _), (first, _) = (
        leaving(place / name, rounds, 1.2, later=changed_in_round_2) for name, rounds in (("whole", 5), ("cut", 3))
    )
    assert (whole["round"], first["round"]) == (5, 3)
    return whole, place


@pytest.mark.parametrize("now", ["as it was", "changed", "more", "another network", "broken", "away"])
def test_a_run_goes_on_without_the_silo_that_it_left_out_whatever_that_has_become(now, left, tmp_path):
    whole, place = left
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    content = json.loads((tmp_path / "cut" / "results" / "checkpoints" / "round-000003.json").read_text())["content"]
    assert list(content["left_out"]) == ["south"]
    own = Squared(torch.eye(5, 3, dtype=torch.float64) * 3.0)
    become = {
        "as it was": lambda round: None,
        "changed": lambda round: own,
        "more": lambda round: replace(own, samples=9.0),
        "another network": lambda round: Wider(own.x),
        "broken": lambda round: replace(own, samples=float("nan")),
    }
    there = NAMES[:2] if now == "away" else NAMES
    last, asked = leaving(tmp_path / "cut", 5, 1.2, there, later=become.get(now))
    assert last == whole
    assert set(asked) == {"north", "east"}
    log = (tmp_path / "cut" / "results" / "log.txt").read_text()
    assert "south: left out" not in log
    settings = [json.loads((tmp_path / name / "results" / "settings.json").read_text()) for name in ("whole", "cut")]
    assert settings[0]["given"]["sizes of silos"] == settings[1]["given"]["sizes of silos"] == [4.0, 4.0, 4.0]
    assert "content of silo south" in settings[1]["given"]


def test_silos_that_are_not_left_out_are_still_needed_and_compared(tmp_path):
    leaving(tmp_path, 3, 1.2, later=changed_in_round_2)
    with pytest.raises(FederationError, match=r"^no silo named east in 0.5 s; start it$"):
        leaving(tmp_path, 5, 1.2, ("north", "south"))
    for path in (tmp_path / "results" / "checkpoints").glob("round-000003.safetensors"):
        path.unlink()  # round 2, whose checkpoint is left, has left it out, too
    assert leaving(tmp_path, 5, 3.0)[0]["round"] == 5


def test_a_run_that_goes_on_from_before_it_left_a_silo_out_asks_it_again(tmp_path):
    def changed_in_round_3(round):
        return changed_in_round_2(round - 1)

    leaving(tmp_path, 3, 1.2, later=changed_in_round_3)
    (tmp_path / "results" / "checkpoints" / "round-000003.safetensors").unlink()
    last, asked = leaving(tmp_path, 5, 1.2)
    assert last["round"] == 5
    assert "south" in asked


def multiplied(odd, times):
    """Answers of a silo that multiplies all its uploads but its loss, of any structure."""

    def change(node, request, letter):
        content, asked = json.loads(letter.text), json.loads(request.text)
        if asked.get("silo") != odd or content["kind"] != "done" or asked["work"] == "problem.local_loss":
            return letter
        upload = unpack(Packed(content["upload"], letter.blobs["upload"]), answered_kinds())
        packed = pack(tree_map(lambda leaf: leaf * times, upload), answered_kinds())
        return Message(json.dumps({**content, "upload": packed.structure}), {"upload": packed.blob})

    return change


def alone(folder, algorithm, times, odd="east", **more):
    """Lines about norms and refusals, and the error, of a run whose rounds have one silo each."""
    parts = run_of(algorithm)
    config = {"algorithm": algorithm, "silos": ",".join(NAMES), "folder": str(folder / "results"), "rounds": 6}
    config |= {"seed": 3, "cohort": 1, "seconds": 5.0, "steps": 3, "learning_rate": 0.05, "least": 1, **more}
    options = options_of(algorithm, "silos", {})
    config |= {name: value for name, value in {"rank": 2, "tau": 2}.items() if name in options}
    line = Beside(silos_of(parts.problem.clients, NAMES, folder), multiplied(odd, times))
    error = ""
    try:
        serve(config, line, lambda: parts.problem.start)
    except FederationError as raised:
        error = str(raised)
    log = folder / "results" / "log.txt"
    said = log.read_text().splitlines() if log.exists() else []
    return [text for text in said if "norm" in text or "refused" in text], error


@pytest.mark.sample(4)
@pytest.mark.parametrize("wrong", ["stop", "left out"])
@pytest.mark.parametrize("times", [1e12, 1e60, -1e120])
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ("central", "local", "rolora-exact")])
def test_a_silo_alone_whose_upload_is_far_too_large_is_named_and_no_other(algorithm, times, wrong, tmp_path):
    said, error = alone(tmp_path, algorithm, times, wrong=wrong)
    assert "east" in error
    assert not [name for name in ("north", "south") if name in error]
    assert said or not (tmp_path / "results").exists()  # without a first round there is no folder, and so no log
    assert all("silo east: " in text for text in said)


@pytest.mark.parametrize("times", [1e4, 1e8])
@pytest.mark.parametrize("algorithm", ["fedlrt", "fedlrt-full", "fedlrt-plain"])
def test_a_large_upload_of_another_shape_than_was_sent_is_reported(algorithm, times, tmp_path):
    said, _ = alone(tmp_path, algorithm, times)
    assert said
    assert "silo east: " in said[0]


@pytest.mark.parametrize("algorithm", ["fedlrt", "fedlrt-full", "fedlrt-plain"])
def test_honest_silos_alone_in_their_rounds_are_not_reported(algorithm, tmp_path):
    assert alone(tmp_path, algorithm, 1.0) == ([], "")
