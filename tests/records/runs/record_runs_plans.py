"""Records of plans of runs: settings, digests, names of folders, stored plans, configurations, and what is refused."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from hidden_folder import in_folder
from recording import refused

from runs.catalogue import CONDUCT, options_of
from runs.config import combine, read_config, to_toml
from runs.options import Option
from runs.plan import (
    StoredRun,
    changed_code,
    code_of,
    describe_environment_changes,
    earlier_digest,
    given_of,
    is_as_written,
    is_edited,
    make_plan,
    parts_of,
    read_plan,
    read_run,
    reads_own,
    require_same_given,
    require_trust,
    require_writable_settings,
    with_present_names,
    write_plan,
)
from runs.settings import Conduct, RunError
from runs.stored import named_types
from runs.versions import versions

SMALL = {"rows": 3, "columns": 2, "clients": 3, "steps": 1}


def _made(algorithm="fedavg", problem="quadratics", conduct=None, **given):
    return make_plan(algorithm, problem, {**SMALL, **given}, conduct)


def digests_and_folders_of_plans():
    for plan in (
        _made(),
        _made(seed=1),
        _made(alignment=True),
        _made(conduct=Conduct(rounds=3, device="cuda")),
        _made("fedlora", learning_rate=1, b_rate=16.0),
        _made("mfedloru", "ridges", client_ranks=[2, 1, 1]),
        make_plan("fedavg", "mnist", {"eval_batch": 7, "model": "own.module:net"}),
        make_plan("fedavg", "mnist", {"rows": 7, "model": "own.module:net"}),
        make_plan(
            "fedlora", "rated-sentences", {"layers": "*.x", "metrics": "f1", "training_loss": 3, "max_length": 9}
        ),
        make_plan("fedavg", "own:data", {}),
        make_plan("fedavg", "silos", {"silos": "a, b"}),
    ):
        yield plan.folder, plan.digest, plan.stored_settings, plan.conduct.rounds, plan.conduct.device


def changed_names_of_plans():
    plan = make_plan("fedavg", "mnist", {})
    others = ({"eval_batch": 5, "seed": 2}, {"alignment": True}, {}, {"partition": "dirichlet"})
    for given in others:
        other = make_plan("fedavg", "mnist", given)
        yield plan.changed_names(other), other.changed_names(plan)
    yield plan.changed_names(make_plan("fedlin", "fashion-mnist", {}))


def plans_that_are_refused():
    for algorithm, problem, given in (
        ("fedavg", "quadratics", {"steps": 1, "epochs": 2}),
        ("fedavg", "quadratics", {"steps": 1, "epochs": None}),
        ("pfedloru", "quadratics", {"personal_steps": 1, "personal_epochs": 2}),
        ("lora-fair", "quadratics", {"server_steps": 1}),
        ("fedavg", "quadratics", {"cohort": 4}),
        ("fedavg", "quadratics", {"cohort": 5}),
        ("fedavg", "quadratics", {"cohort": 0}),
        ("flora", "quadratics", {"ranks": [1, 2, 1]}),
        ("flora", "quadratics", {"ranks": [1, 2, 1, 2]}),
        ("mfedloru", "quadratics", {"client_ranks": [1, 2, 1, 2, 1]}),
        ("fedavg", "quadratics", {"executor": "none"}),
        ("fedavg", "quadratics", {"executor": "vmap", "evaluate_every": 2, "keep_every": None}),
        ("fedavg", "quadratics", {"rounds": 2}),
        ("fedavg", "quadratics", {"heterogeneity": -1.0}),
    ):
        made = refused(make_plan, algorithm, problem, given)
        yield made if isinstance(made, str) else [made.digest, made.settings["clients"], made.conduct.executor]


def plans_of_networks_and_silos_that_are_refused():
    for algorithm, problem, given in (
        ("fedavg", "mnist", {"rows": 3, "eval_batch": 4}),
        ("fedavg", "mnist", {"partition_psi": 3.0}),
        ("fedavg\0", "quadratics", {}),
        ("fedavg", "quad\ud800", {}),
        ("fedavg", "silos", {}),
        ("fedavg", "silos", {"silos": "a,b,c"}),
        ("fedavg", "silos", {"silos": "a,b<"}),
        ("fedavg", "silos", {"silos": "a,"}),
        ("fedavg", "silos", {"silos": "a", "clients": 1}),
        ("central", "quadratics", {"rank": 2}),
    ):
        made = refused(make_plan, algorithm, problem, given)
        yield made if isinstance(made, str) else [made.digest, made.settings["clients"], made.conduct.executor]


def present_names_of_options():
    for problem, given in (("mnist", {"rows": 1}), ("mnist", {"rows": 1, "eval_batch": 2}), ("ridges", {"rows": 1})):
        yield refused(with_present_names, problem, given)
    yield with_present_names("rated-sentences", {"length": 1, "weighed": 2, "at_once": 3, "checkpointing": 4, "x": 5})


def parts_of_plans():
    for plan in (_made("fedlrt-plain", seed=2), _made("pfedlora-1", "ridges", samples=3), _made("fedprox", mu=0.5)):
        parts = parts_of(plan)
        yield parts.algorithm, type(parts.problem).__name__, type(parts.executor).__name__, given_of(parts.problem)
    parts = parts_of(_made(), lambda settings, *rest: SimpleNamespace(seen=[settings, *rest], start={}, clients=[]))
    yield parts.problem.seen
    yield (
        refused(parts_of, _made(conduct=Conduct(device="cuda"))),
        refused(parts_of, make_plan("fedavg", "silos", {"silos": "a,b"})),
    )
    yield len(named_types()), [*named_types()][:3]


@in_folder
def a_plan_as_it_is_stored(folder):
    plan = _made(conduct=Conduct(rounds=7, executor="vmap", evaluate_every=2, keep_every=3, save_every=1.0))
    write_plan(folder, plan, {"data": "abc"}, "earlier")
    stored = json.loads((folder / "settings.json").read_text())
    yield {**stored, "versions": sorted(stored["versions"])}, stored["versions"] == versions()
    yield is_as_written(folder), is_edited(folder), earlier_digest(folder), read_plan(folder), read_run(folder).given
    write_plan(folder, replace(plan, conduct=Conduct(rounds=9, executor="ray", address="auto")), resumed=True)
    stored = json.loads((folder / "settings.json").read_text())
    yield (
        stored["conduct"],
        stored["rounds"],
        "given" in stored,
        "earlier" in stored,
        earlier_digest(folder) == plan.digest,
    )
    text = (folder / "settings.json").read_text()
    (folder / "settings.json").write_text(text.replace("9", "8"))
    yield is_as_written(folder), is_edited(folder), earlier_digest(folder) == plan.digest
    write_plan(folder, plan, resumed=True)
    yield json.loads((folder / "settings.json").read_text())["rounds"], refused(write_plan, folder, plan)


@in_folder
def stored_plans_that_are_refused(folder):
    yield refused(read_run, folder)
    path, right = folder / "settings.json", {"algorithm": "fedavg", "problem": "quadratics", "rounds": 2}
    right |= {"settings": make_plan("fedavg", "quadratics", {}).stored_settings}
    for changes in (
        {},
        {"rounds": 2.0},
        {"rounds": 0},
        {"algorithm": 3},
        {"settings": []},
        {"conduct": []},
        {"conduct": {"workers": 2}},
        {"conduct": {"device": "cuda", "evaluate_every": 5}},
        {"settings": {**right["settings"], "seed": -1}},
        {"settings": {**right["settings"], "more": 1}},
        {"settings": {name: value for name, value in right["settings"].items() if name not in ("seed", "rows")}},
        {"settings": {name: value for name, value in right["settings"].items() if name != "alignment"}},
        {"given": [], "versions": 3},
        {"versions": {"torch": "0"}, "given": {"data": "x"}, "earlier": "e"},
    ):
        path.write_text(json.dumps({**right, **changes}))
        yield refused(read_run, folder), is_as_written(folder), earlier_digest(folder)
    for text in ("{", "[]", "{}", json.dumps({**right, "settings": None})):
        path.write_text(text)
        yield refused(read_run, folder), is_as_written(folder), earlier_digest(folder)
    path.write_text(json.dumps({**right, "other": 1}, indent=1) + "\n")
    yield is_as_written(folder), is_edited(folder)


@in_folder
def code_that_settings_name(folder):
    for algorithm, problem, settings in (
        ("fedavg", "mnist", {"model": "convnet"}),
        ("a:B", "c:d", {"model": "e:f", "x": "e:f", "metrics": "f1, g:h"}),
        ("fedavg", "rated-sentences", {"model": "hf:minilm", "metrics": "m:n,choice", "allow_pickle": True}),
        ("fedavg", "own:texts", {"model": "hf:x", "text": "a:b", "head": "p:q", "pickled": True}),
        ("fedavg", "mnist", {"model": "hf:x", "allow_pickle": False}),
    ):
        code = code_of(algorithm, problem, settings)
        yield code
        for trust in (True, False, [], ["a:B", "pickled weights"], code):
            yield refused(require_trust, folder / "file", code, trust)


def runs_of_own_functions_and_files():
    for algorithm, problem, given in (
        ("fedavg", "quadratics", {}),
        ("fedavg", "mnist", {"partition": "files", "partition_paths": "x"}),
        ("fedavg", "mnist", {"model": "a:b"}),
        ("fedavg", "own:data", {}),
        ("fedavg", "silos", {"silos": "a,b"}),
        ("fedlora", "rated-sentences", {"layers": "*", "start_from": "x"}),
        ("fedlora", "rated-sentences", {"layers": "*"}),
        ("fedlora", "rated-sentences", {"layers": "*", "model": "hf:/"}),
        ("fedlora", "rated-sentences", {"layers": "*", "metrics": "a:b"}),
    ):
        plan = refused(make_plan, algorithm, problem, given)
        yield plan if isinstance(plan, str) else reads_own(plan)


@in_folder
def given_facts_that_change(folder):
    name = "computation in the network"
    for before, now in (
        ({"data": "a"}, {"data": "a"}),
        ({"data": "a"}, {"data": "b"}),
        ({"data": "a"}, {}),
        ({}, {"data": "a"}),
        ({"data": "a", "network": "c", "z": 1}, {"data": "b", "network": "d", "z": 1}),
        ({name: [1.0, 0.0]}, {name: [1.0009, 9e-7]}),
        ({name: [1.0, 0.0]}, {name: [1.0011, 0.0]}),
        ({name: [1.0, 0.0]}, {name: [1.0, 1.1e-6]}),
        ({name: [1.0]}, {name: [1.0, 0.0]}),
        ({name: [1]}, {name: [1.0]}),
        ({name: [float("nan")]}, {name: [float("nan")]}),
        ({name: [1.0], "data": "a"}, {name: [2.0], "data": "b"}),
        ({name: "text"}, {name: "text"}),
    ):
        yield refused(require_same_given, folder, StoredRun(_made(), before, {}), now)


@in_folder
def settings_that_must_change(folder):
    plan, more = _made(conduct=Conduct(rounds=3)), _made(conduct=Conduct(rounds=4, evaluate_every=2, workers=2))
    write_plan(folder, plan)
    stored = StoredRun(plan, {}, {})
    yield [refused(require_writable_settings, folder, now, stored) for now in (plan, more)]
    (folder / "settings.json").write_text((folder / "settings.json").read_text() + " ")
    yield [refused(require_writable_settings, folder, now, stored) for now in (plan, more)]


def changes_of_the_environment():
    plan = _made()
    now = versions()
    for before, conduct in ((now, Conduct()), ({**now, "torch": "0"}, Conduct()), (now, Conduct(device="cuda"))):
        lines = describe_environment_changes(plan, StoredRun(replace(plan, conduct=conduct), {}, before))
        yield [line.replace(now["torch"], "VERSION") for line in lines]
    run = StoredRun(replace(plan, conduct=Conduct(executor="vmap")), {}, {**now, "code of json:dumps": "0, then 1"})
    yield describe_environment_changes(plan, run)
    dumps, none, module = (replace(plan, algorithm=name) for name in ("json:dumps", "none:x", "json"))
    yield describe_environment_changes(dumps, run), changed_code(dumps, run)
    yield changed_code(dumps, StoredRun(plan, {}, {})), changed_code(none, run), changed_code(module, run)


@in_folder
def configurations_that_are_read(folder):
    for name, text in (
        ("a.toml", 'algorithm = "fedavg"\ndata = "mnist"\neval-batch = 3\nseed = 1\n'),
        ("b.toml", "seed = 1\n"),
        ("c.toml", "algorithm = 1\n"),
        ("d.toml", "data = []\n"),
        ("e.toml", "eval-batch = 1\neval_batch = 2\n"),
        ("f.toml", "[table]\nx = 1\n"),
        ("g.toml", "x = \n"),
        ("h.json", '{"algorithm": "fedlin", "learning-rate": 0.5}'),
        ("i.json", "[1]"),
        ("j.json", "{"),
        ("k.json", '{"settings": {"seed": 2}, "algorithm": "fedavg", "problem": "ridges", "rounds": 4}'),
        ("l.json", '{"settings": {}, "algorithm": "fedavg", "problem": "ridges", "conduct": {"device": "cuda"}}'),
        ("m.json", '{"settings": {}, "algorithm": "fedavg"}'),
        ("n.json", '{"settings": {}, "algorithm": "a", "problem": "b", "conduct": 3}'),
        ("o.json", '{"settings": 5, "algorithm": "a"}'),
    ):
        (folder / name).write_text(text)
        found = refused(read_config, folder / name)
        yield found.partition(" (")[0] if isinstance(found, str) and "not valid" in found else found
    (folder / "settings.json").write_text((folder / "k.json").read_text())
    yield read_config(folder).path, refused(read_config, folder / "none")


PLAIN = {"algorithm": "fedavg", "data": "quadratics", "seed": 4, "rounds": 7, "epochs": 2}


def _joined(folder, content, algorithm, problem, **flags):
    (folder / "settings.json").write_text(json.dumps(content))
    return refused(combine, read_config(folder), algorithm, problem, flags)


@in_folder
def unknown_options_of_configurations(folder):
    return [_joined(folder, {**PLAIN, name: 1.0}, "fedavg", "quadratics") for name in ("mu", "sed")]


@in_folder
def configurations_with_other_options(folder):
    joined, plain = partial(_joined, folder), PLAIN
    yield joined(plain, "fedavg", "quadratics"), joined(plain, "fedavg", "quadratics", seed=5, steps=3)
    yield joined({**plain, "steps": 3}, "fedavg", "quadratics", epochs=1), joined(plain, "fedavg", "mnist", rows=3)
    yield joined({**plain, "mu": 2.0}, "fedprox", "ridges"), joined({**plain, "seed": "x"}, "fedavg", "quadratics")
    yield joined({**plain, "rounds": 0}, "fedavg", "quadratics"), joined({**plain, "rounds": 0.5}, "fedavg", "ridges")
    yield (
        joined({"data": "mnist", "rows": 6}, "fedavg", "ridges"),
        joined({"data": "ridges", "rows": 6}, "fedavg", "mnist"),
    )
    yield (
        joined({"data": "mnist", "rows": 6}, "fedavg", "mnist"),
        joined({"data": "ridges", "rows": 6}, "fedavg", "ridges"),
    )


@in_folder
def configurations_of_stored_runs(folder):
    joined = partial(_joined, folder)
    plan = make_plan("fedprox", "ridges", {"mu": 1.0, "samples": 9}, Conduct(rounds=6, evaluate_every=3))
    stored = {"algorithm": "fedprox", "problem": "ridges", "settings": plan.stored_settings, "rounds": 6}
    yield joined({**stored, "conduct": {"evaluate_every": 3}}, "fedavg", "ridges", rounds=8)
    yield (
        joined(stored, "fedavg", "quadratics"),
        joined({**stored, "settings": {**plan.stored_settings, "mu": 3.0}}, "fedavg", "ridges"),
    )
    yield joined(stored, "fedprox", "ridges", epochs=3)


@in_folder
def steps_and_epochs_of_stored_runs(folder):
    plan = make_plan("fedavg", "ridges", {"epochs": 3})
    stored = {"algorithm": "fedavg", "problem": "ridges", "settings": plan.stored_settings, "rounds": 6}
    for flags in ({}, {"steps": 4}, {"epochs": 2}, {"rounds": 9}, {"learning_rate": 0.5}):
        found = _joined(folder, stored, "fedavg", "ridges", **flags)
        yield {name: found[name] for name in ("steps", "epochs", "rounds", "learning_rate") if name in found}


def plans_as_configurations():
    yield to_toml(_made("fedlora", conduct=Conduct(rounds=3, device="cuda", root="/x", tensorboard=True)))
    yield to_toml(make_plan("mfedloru", "ridges", {"client_ranks": (2, 1), "clients": 2, "alignment": True}))
    yield to_toml(make_plan("fedavg", "own:data", {"model": 'a:b"c\\', "optimiser": "adam", "partition": "dirichlet"}))


def options_needed_with_a_word():
    from runs.command import needed_with

    options = options_of("fedavg", "mnist", {}, every=True)
    for name in ("partition_psi", "schedule_every", "seed", "partition_paths", "partition_alpha"):
        if name in options:
            yield name, needed_with(options[name], options, lambda given: options_of("fedavg", "mnist", given))
    yield needed_with(Option("a", int, "", None), options, lambda given: {}), [*CONDUCT.options({})]


def errors_are_of_runs():
    return [issubclass(RunError, ValueError), str(Path("x") / "y")]
