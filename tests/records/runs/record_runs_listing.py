"""Records of stored runs: how they are read, labelled, grouped, compared over seeds, and refused."""

import hashlib
import json
from math import inf, nan
from pathlib import Path

from hidden_folder import in_folder
from recording import refused

import runs
from runs.format import align_rows, format_bytes, printable
from runs.frames import load
from runs.index import (
    digest_of,
    is_edited,
    known_digest,
    last_index,
    read_index,
    recorded_edit,
    require_file,
    sign_index,
)
from runs.listing import (
    OF_MODEL,
    OF_SETTINGS,
    FoundRun,
    Group,
    describe_edit,
    deviation_of,
    differences,
    differing,
    drop_duplicates,
    drop_edited,
    find_runs,
    format_value,
    group_runs,
    mean_of,
    metric_of,
    paired_difference,
    read_run_of,
    round_of,
)
from workloads.written import FolderRecord

TABLE = "round,loss,accuracy,bytes_down,bytes_up\n0,3.5,0.1,0,0\n1,,,16,8\n2,1.25,0.5,40,24\n"
MESSAGES = "round,direction,what,bytes\n1,down,sum,16\n1,up,sum,8\n2,down,tell,24\n2,up,sum,16\n"
SETTINGS = {"seed": 3, "steps": 2, "betas": [0.9, 0.99]}


def _store(folder: Path, table: str = TABLE, ledger: str = MESSAGES, **changes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stored = {"algorithm": "fedavg", "problem": "ridges", "settings": SETTINGS, "rounds": 4, "conduct": {}}
    (folder / "settings.json").write_text(json.dumps({**stored, **changes}))
    (folder / "metrics.csv").write_text(table)
    (folder / "ledger.csv").write_text(ledger)
    return folder


def _run(name="a", seed=0, rows=None, algorithm="fedavg", problem="ridges", given=None, edited=False, **settings):
    rows = [{"round": 0, "loss": 4.0, "bytes_down": 0, "bytes_up": 0}] if rows is None else rows
    settings = {"seed": seed, **settings}
    return FoundRun(Path(name), algorithm, problem, settings, {}, 9, rows, {}, edited, given or {})


def _rows(losses, **others):
    sent = enumerate(losses)
    return [{"round": k, "loss": one, **others, "bytes_down": 30 * k, "bytes_up": 10 * k} for k, one in sent]


@in_folder
def a_run_as_it_is_found(folder):
    _store(folder / "b" / "c", conduct={"device": "cuda", "keep_every": 5, "other": 1}, versions={"torch": "2"})
    _store(folder / "a", settings={**SETTINGS, "executor": "vmap"}, given={"data": "abc"}, rounds=2)
    for run in find_runs(folder):
        yield run, run.done, run.last, run.bytes_sent, run.at(1), run.at(7), run.ledger()
        yield run.curve("loss"), run.curve("accuracy"), run.curve("none"), run.left_out(), run.suspects()


@in_folder
def folders_without_a_run(folder):
    (folder / "file").write_text("")
    (folder / "empty").mkdir()
    return [refused(find_runs, folder / name) for name in ("file", "empty", "none")]


@in_folder
def settings_that_no_run_wrote(folder):
    for changes in (
        {"algorithm": 3},
        {"problem": None},
        {"settings": []},
        {"settings": {}},
        {"settings": {"seed": True}},
        {"rounds": 4.0},
        {"rounds": -1},
        {"rounds": 2**63},
        {"rounds": 1},
        {"conduct": []},
        {"versions": []},
        {"given": []},
    ):
        yield refused(lambda **changes: find_runs(_store(folder, **changes))[0].given, **changes)
    yield refused(find_runs, _store(folder, rounds=2))[0].rounds
    (folder / "settings.json").write_text("{")
    yield refused(find_runs, folder)


@in_folder
def tables_that_no_run_wrote(folder):
    head = "round,loss,bytes_down,bytes_up\n"
    for rows in (
        "",
        "0,1,0,0",
        "0,1,0,0\n",
        "1,1,0,0\n",
        "0,1,0,0\n2,1,0,0\n",
        "0,1,0,0\n0,1,0,0\n",
        "0,1,0,0\n1,1,-1,0\n",
        "0,1,8,0\n1,1,7,9\n",
        "0,1,8,8\n1,1,9,7\n",
        "0,x,0,0\n",
        "0,1,,0\n",
        "0,1,0.5,0\n",
        "0,1,0,0,4\n",
        "0,9223372036854775808,0,0\n",
        "0,-9223372036854775807,0,0\n",
        "0,inf,0,0\n1,nan,0,0\n",
    ):
        found = refused(find_runs, _store(folder, head + rows))
        yield found if isinstance(found, str) else found[0].rows
    yield refused(find_runs, _store(folder, "round,loss,loss\n0,1,2\n"))
    for name in ("metrics.csv", "ledger.csv"):
        place = _store(folder)
        (place / name).unlink()
        found = refused(find_runs, place)
        yield found if isinstance(found, str) else [[run.rows, run.done] for run in found]
    yield refused(find_runs, _store(folder, "round,\n0,1\n"))


@in_folder
def messages_are_counted(folder):
    for ledger in (
        MESSAGES,
        "",
        MESSAGES.replace("2,up,sum,16\n", ""),
        MESSAGES.replace("2,up,sum,16", "2,up,sum,17"),
        MESSAGES.replace("1,up,sum,8", "1,up,sum,7"),
        MESSAGES.replace("1,down,sum,16", "1,down,sum,17"),
        MESSAGES.replace("1,up,sum,8", "2,up,sum,8"),
        MESSAGES + "3,down,sum,99\n",
        MESSAGES + "1,down,sum,0\n",
        MESSAGES.replace("sum", "5"),
        MESSAGES.replace("16", "x"),
        MESSAGES.replace("16", "-16"),
        MESSAGES.replace("what", "why"),
    ):
        (run,) = find_runs(_store(folder, ledger=ledger))
        found = refused(run.ledger)
        yield found if isinstance(found, str) else len(found)


@in_folder
def links_and_marks(folder):
    _store(folder)
    record = FolderRecord(folder)
    digest = hashlib.sha256(TABLE.encode()).hexdigest()
    record.note([("metrics.csv", len(TABLE), digest)])
    yield len(find_runs(folder)[0].rows)
    (folder / "metrics.csv").write_text(TABLE + "3,1.0,0.5,50,30\n4,")
    yield len(find_runs(folder)[0].rows)
    (folder / "metrics.csv").write_text(TABLE[:-1])
    yield refused(find_runs, folder)
    (folder / "metrics.csv").write_text(TABLE.replace("3.5", "3.6"))
    yield refused(find_runs, folder)
    record.note([("metrics.csv", None, "")])
    yield len(find_runs(folder)[0].rows)
    (folder / "metrics.csv").unlink()
    (folder / "metrics.csv").symlink_to(folder / "ledger.csv")
    yield refused(find_runs, folder)


@in_folder
def checkpoints_say_whose_run_it_is(folder):
    _store(folder)
    (folder / "checkpoints").mkdir()
    digest = digest_of({"algorithm": "fedavg", "problem": "ridges", **SETTINGS})
    mark = {"length": len(TABLE), "sha256": hashlib.sha256(TABLE.encode()).hexdigest()}
    for number, content in ((1, {"run": digest, "left_out": {"north": "slow"}, "suspects": {"south": 3}}),):
        (folder / "checkpoints" / f"round-{number:06d}.json").write_bytes(sign_index(content))
    (run,) = find_runs(folder)
    yield run.edited, run.left_out(), run.suspects(), refused(read_run_of, folder, digest).done
    yield refused(read_run_of, folder, "0" * 12), describe_edit(run)
    (folder / "checkpoints" / "round-000002.json").write_bytes(sign_index({"run": "other", "marks": {}}))
    (run,) = find_runs(folder)
    yield run.edited, run.left_out(), refused(read_run_of, folder, digest), refused(drop_edited, [run])
    yield len(drop_edited([run, _run()]))
    (folder / "checkpoints" / "round-000003.json").write_bytes(b"{}")
    yield last_index(folder), last_index(folder / "none")
    content = {"run": digest, "marks": {"metrics.csv": {**mark, "length": len(TABLE) + 1}}}
    (folder / "checkpoints" / "round-000003.json").write_bytes(sign_index(content))
    yield refused(find_runs, folder)
    (folder / "checkpoints" / "round-000003.json").write_bytes(sign_index({**content, "marks": {"metrics.csv": mark}}))
    yield len(find_runs(folder)[0].rows)


@in_folder
def settings_under_their_present_names(folder):
    present = {"seed": 0, "eval_batch": 5, "max_length": 7, "executor": "vmap"}
    earlier = {"seed": 0, "rows": 5, "length": 7, "executor": "vmap"}
    _store(folder, settings=present)
    (folder / "checkpoints").mkdir()
    for settings in (earlier, present):
        run = digest_of({"algorithm": "fedavg", "problem": "ridges", **settings})
        (folder / "checkpoints" / "round-000001.json").write_bytes(sign_index({"run": run}))
        (found,) = find_runs(folder)
        yield found.settings, found.conduct, found.edited
        _store(folder, settings={**present, "rows": 3})
        yield find_runs(folder)[0].edited
        _store(folder, settings=present)


@in_folder
def frames_of_runs(folder):
    _store(folder / "one")
    frame = load(folder / "one")
    yield frame.reset_index(), [str(kind) for kind in frame.dtypes], dict(frame.attrs), frame.index.name
    _store(folder / "two", table="")
    yield load(folder / "two").reset_index(), refused(load, folder), runs.load is load, runs.__all__
    for name in ("one", "two"):
        FolderRecord(folder / name).note([("settings.json", 1, "0")])
        yield refused(load, folder / name)


@in_folder
def an_index_and_its_digest(folder):
    path = folder / "round-000001.json"
    for data in (sign_index({"a": 1}), sign_index([]), sign_index({"a": 1}).replace(b"1", b"2"), b"{}", b"[", b"[[]]"):
        path.write_bytes(data)
        yield refused(read_index, path), len(data)
    yield digest_of({"b": 1, "a": [2, None]}), refused(require_file, folder), refused(require_file, folder / "none")
    yield (
        recorded_edit(folder),
        is_edited(folder),
        known_digest(folder, {"earlier": 7}, "x"),
        known_digest(folder, {}, "x"),
    )
    checkpoints = folder / "checkpoints"
    checkpoints.mkdir()
    yield last_index(folder)
    (checkpoints / "round-000002.json").write_bytes(sign_index({"a": 2}))
    (checkpoints / "round-1000000.json").write_bytes(sign_index({"a": 3}))
    yield last_index(folder)
    (checkpoints / "round-000003.json").write_bytes(b"{}")
    (checkpoints / "round-000004.json").symlink_to("round-000004.json")
    (checkpoints / "round-000005.json").mkdir()
    (checkpoints / "within-000009.json").write_bytes(sign_index({"a": 9}))
    yield last_index(folder)
    record = FolderRecord(folder)
    record.write({folder / "settings.json": b"{}"})
    yield recorded_edit(folder), is_edited(folder), known_digest(folder, {"earlier": 7}, "x")
    (folder / "settings.json").write_text("[]")
    yield recorded_edit(folder), is_edited(folder), known_digest(folder, {"earlier": 7}, "x")


def duplicates_of_runs():
    short, long = _rows([3.0, 2.0]), _rows([3.0, 2.0, 1.0])
    often = _rows([3.0, 2.0, 1.0], accuracy=0.5)
    made = [
        _run("x/run", rows=short),
        _run("x/run-every-5", rows=long),
        _run("x/run-every-10", rows=often),
        _run("y/run-every-5", rows=short),
        _run("x/run-every-x", rows=short),
        _run("x/-every-3", rows=short),
        _run("x/run-every-2", seed=1, rows=short),
    ]
    return [str(run.folder) for run in drop_duplicates(made)], [str(run.folder) for run in drop_duplicates(made[:2])]


def labels_of_groups():
    def labels(*found):
        return [(group.label, [*group.runs], group.by_seed) for group in group_runs(found)]

    yield labels(_run(seed=2), _run(seed=1))
    yield labels(_run(steps=2), _run(steps=3), _run(steps=3, seed=4))
    yield labels(_run(steps=2), _run(steps=2, problem="legendre"), _run(steps=3, algorithm="fedlin"))
    yield labels(_run(steps=2, rate=0.5), _run(rate=0.5), _run(steps=2, rate=0.25))
    yield labels(_run(), _run(tau=None), _run(tau="none"), _run(tau="1"), _run(tau=1))
    yield labels(_run(betas=[0.9, 0.99]), _run(betas=[0.9, 0.9])), labels(_run(algorithm="a\x1b"), _run(algorithm="b"))
    yield refused(labels, _run("a", seed=1), _run("b", seed=1)), labels()


def groups_by_what_was_given():
    def labels(*found):
        return [(group.label, [*group.runs], group.by_seed) for group in group_runs(found)]

    def given(seed=0, problem="own:data", steps=1, side=None, silos=None, **kinds):
        further = {name: value for name, value in (("side", side), ("silos", silos)) if value is not None}
        return _run(seed=seed, problem=problem, given=kinds, steps=steps, **further)

    yield labels(given(data="a" * 20), given(1, data="b" * 20)), labels(given(data="a"), given(1, data="a"))
    yield labels(given(data="a"), given(1, data="b"), given(2, data="b"))
    yield labels(given(problem="/folder", data="a"), given(1, problem="/folder", data="b"))
    yield labels(given(data="a"), given(steps=2, data="b")), labels(given(data="a"), given(0, steps=2, data="a"))
    yield labels(given(data="a", side=3), given(data="b", side=4)), labels(given(network="a"), given(1, network="b"))
    yield labels(given(network="a"), given(1, network="a"), given(2, network="b"))
    yield (
        labels(given(partition="a"), given(1, partition="b")),
        labels(given(partition="a"), given(steps=2, partition="b")),
    )
    sizes = "sizes of silos"
    yield labels(given(silos="a,b", **{sizes: [3, 4]}), given(1, silos="a,b", **{sizes: [4, 3]}))
    yield labels(given(silos="a,b", **{sizes: [3, 4]}), given(1, silos="b,a", **{sizes: [4, 3]}))
    yield labels(given(**{"content of silo x": "p" * 15}), given(1, **{"content of silo x": "q"}), given(2))
    yield labels(given(start="s"), given(1, start="t"))
    yield labels(given(data="a"), given(1, data="b"), given(0, steps=2, data="b"))
    yield labels(given(data="a"), given(1, data="b"), given(0, steps=2, data="a"))


def groups_of_language_models():
    def labels(*found):
        return [(group.label, [*group.runs], group.by_seed) for group in group_runs(found)]

    def given(seed=0, model="hf:a", texts=None, steps=1, **kinds):
        return _run(seed=seed, problem="texts", given=kinds, steps=steps, model=model, **(texts or {}))

    for texts in ({}, {"samples": 9}, {"held_out": 3}, {"samples": 0, "held_out": 0}, {"test_samples": 4}):
        for model in ("hf:a", "perceptron"):
            yield texts, model, labels(given(0, model, texts, data="p"), given(1, model, texts, data="q"))
        yield labels(given(0, texts=texts, partition="p"), given(1, texts=texts, partition="q"))
        yield labels(given(0, texts=texts, data="p"), given(1, texts=texts, data="q"), given(2, texts=texts, data="q"))
    for name, values in (
        *(("length", (16, 32)), ("truncate", (True, False)), ("template", ("none", "chat")), ("held_out", (2, 3))),
        *(("dtype", ("float32", "bfloat16")), ("rank", (1, 2))),
    ):
        one, other = ({name: value} for value in values)
        yield name, labels(given(texts=one, data="p"), given(texts=other, data="q"))
        for kind in (*OF_MODEL, *OF_SETTINGS):
            yield kind, labels(given(texts=one, **{kind: "p"}), given(texts=other, **{kind: "q"}))
    for kind in (*OF_MODEL, *OF_SETTINGS):
        yield kind, labels(given(model="hf:a", **{kind: "p"}), given(model="hf:b", **{kind: "q"}))
        yield kind, labels(given(steps=1, **{kind: "p"}), given(steps=2, **{kind: "q"}))
        yield kind, labels(given(0, **{kind: "p"}), given(1, **{kind: "q"}))


def duplicates_on_known_and_unknown_inputs():
    """A run whose inputs are not all known fits those of exactly one other run, or stays."""
    rows, longer = _rows([3.0, 2.0]), _rows([3.0, 2.0, 1.0])
    for inputs in (
        ({}, {"data": "p"}),
        ({}, {"data": "p"}, {"data": "q"}),
        ({"data": "p"}, {}, {"data": "p", "network": "n"}),
        ({"data": "q"}, {"network": "n"}, {"data": "p", "network": "n"}),
        ({"network": "n"}, {"data": "p", "network": "n"}, {"data": "q", "network": "n"}),
    ):
        made = [
            _run(f"x/run{f'-every-{place}' * bool(place)}", rows=longer if place == 1 else rows, given=one)
            for place, one in enumerate(inputs)
        ]
        for some in (made, made[::-1]):
            yield [str(run.folder) for run in drop_duplicates(some)]


def metrics_and_rounds_to_compare():
    both, loss = _run("a", rows=_rows([3.0, 2.0], accuracy=0.5)), _run("b", rows=_rows([3.0, nan, 1.0]))
    bare = _run("c", rows=[{"round": 0, "bytes_down": 0, "bytes_up": 0}])
    for found in ([both], [loss], [both, loss], [both, bare], [_run("d", rows=[]), both], [bare]):
        yield [refused(metric_of, found, asked) for asked in (None, "loss", "accuracy", "bytes_up", "round")]
    for number in (None, 0, 1, 2, 3):
        yield refused(round_of, [both, loss], "loss", number), refused(round_of, [loss], "loss", number)
    late = _run("e", rows=_rows([1.0] * 4)[3:])
    yield refused(round_of, [both, late], "loss", None), refused(round_of, [both, late], "loss", 1)


def groups_in_numbers():
    ours = Group("ours", {0: _run(rows=_rows([3.0, 2.0])), 2: _run(seed=2, rows=_rows([5.0, 4.5])), 5: _run(seed=5)})
    theirs = Group("theirs", {0: _run(rows=_rows([3.0, 1.0])), 2: _run(seed=2, rows=_rows([1.0, 4.0]))})
    alone = Group("alone", {2: _run(seed=2, rows=_rows([2.0]))})
    for number in (0, 1, 2):
        yield ours.values("loss", number), theirs.values("loss", number)
        yield [str(one) for one in differences([ours, theirs, alone], "loss", number, theirs)]
        yield differences([ours, theirs, alone], "loss", number, ours)
    yield ours.bytes_sent(0), theirs.bytes_sent(1)


def differing_settings():
    one, two, three = _run(a=1, b=[1]), _run(seed=4, a=2, b=[1]), _run(a=1, c=3)
    return [differing(found, lacked) for found in ([one, two], [one, three], [one, two, three]) for lacked in (0, 1)]


def means_and_deviations():
    for values in (
        [2.0],
        [1.0, 2.0],
        [1.0, 2.0, 6.0],
        [0.1] * 3,
        [1.7e308, 1.7e308, -1.7e308],
        [1.7e308, 1.6e308, 1.7e308],
        [1e300, 3e300],
        [-1.7e308, -1.6e308, -1.5e308],
        [-1.7e308, 1e299],
        [9e299, 3e299],
        [1e-200, 3e-200],
        [1e12 + 1, 1e12 + 2, 1e12 + 4],
        [-1.7e308, -1.6e308],
        [inf, 1.0],
        [nan, 1.0],
    ):
        yield mean_of(values), deviation_of(values)
    yield [paired_difference(pairs) for pairs in ([2.0], [1.0, 2.0], [-1.0, 2.0, 4.0], [0.5] * 4, [1.0, nan])]


def formats():
    yield [format_value(value) for value in (None, "x", 1, 0.5, True, [0.9, [1, None]], (1, 2), "a\nb", {})]
    yield [format_bytes(size) for size in (0, 1, 999, 999.4, 999.5, 1000, 1536000, -2e6, 999.4e9, 999.6e9, 1e15)]
    yield printable("a\tb\x9b\u202e\\é"), align_rows([])
    rows = [{"name": "a", "value": "1"}, {"name": "longer", "value": ""}, {"name": "x" * 501, "value": "y\x07"}]
    yield align_rows(rows[:2]), [len(line) for line in align_rows(rows)], align_rows(rows)[-1][-12:]
