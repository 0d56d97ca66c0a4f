"""Records of folders of runs: what training writes, resumes, refuses and removes, and the spectra of one."""

import json
from dataclasses import replace

from hidden_folder import in_folder
from recording import refused

from algorithms.schedules import Constant
from runs.checkpoints import Checkpoint, Checkpoints
from runs.experiments import Experiment, Trial, _folder, carry_out, format_minutes, missing_runs
from runs.folder import checkpoints_of, remove_run, require_state, train
from runs.folder_files import require_log
from runs.index import sign_index
from runs.plan import earlier_digest, make_plan, parts_of
from runs.settings import Conduct
from runs.tracking import guard

SMALL = {"rows": 3, "columns": 2, "clients": 3, "steps": 1}


def _plan(rounds=2, algorithm="fedavg", **given):
    conduct = {name: given.pop(name) for name in ("evaluate_every", "keep_every", "spectrum") if name in given}
    return make_plan(algorithm, "quadratics", {**SMALL, **given}, Conduct(rounds, save_every=0.0, **conduct))


def _names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if "lock" not in path.name)


def _shown(folder):
    metrics = (folder / "metrics.csv").read_text()
    return metrics, (folder / "ledger.csv").read_text()


@in_folder
def a_run_in_its_folder(folder):
    said, seen = [], []
    plan = _plan(3, evaluate_every=2, keep_every=1, cohort=2)
    yield train(plan, folder, seen.append, say=said.append), said, seen
    yield _shown(folder), _names(folder)


@in_folder
def a_run_that_goes_on(folder):
    said, seen = [], []
    train(_plan(1, "fedlora", alignment=True), folder)
    plan = _plan(3, "fedlora", alignment=True)
    yield train(plan, folder, seen.append, say=said.append, on_round=lambda report: said.append(report.round))
    yield said, seen, _names(folder), json.loads((folder / "settings.json").read_text())["rounds"]


@in_folder
def other_runs_in_a_folder(folder):
    train(_plan(2), folder)
    return [refused(train, plan, folder) for plan in (_plan(1), _plan(2, seed=1), _plan(2, spectrum=1))]


@in_folder
def changed_settings_in_a_folder(folder):
    train(_plan(1), folder)
    settings = (folder / "settings.json").read_text()
    (folder / "settings.json").write_text(settings.replace('"rows": 3', '"rows": 4'))
    return refused(train, _plan(2), folder), refused(train, _plan(2, rows=4), folder)


@in_folder
def lost_tables_in_a_folder(folder):
    train(_plan(1), folder)
    for name in ("ledger.csv", "metrics.csv"):
        (folder / name).rename(folder / "moved")
        yield refused(train, _plan(1), folder)
        (folder / "moved").rename(folder / name)
    (folder / "checkpoints").rename(folder / "moved")
    yield refused(train, _plan(1), folder)
    (folder / "settings.json").unlink()
    yield refused(train, _plan(1), folder)


@in_folder
def rows_that_no_run_wrote(folder):
    train(_plan(1), folder)
    table = (folder / "metrics.csv").read_text()
    for text in (table.replace("1,", "2,"), table + "a note\n"):
        (folder / "metrics.csv").write_text(text)
        yield refused(train, _plan(1), folder)
    (folder / "metrics.csv").write_text(table + "2,1.0,1.0,400,300\n")
    said, seen = [], []
    yield (
        train(_plan(2), folder, say=said.append, on_round=lambda report: seen.append(report.round))["loss"],
        said,
        seen,
    )


@in_folder
def clients_that_an_index_lacks(folder):
    plan = _plan(1, "pfedlora-1", rank=1)
    train(plan, folder)
    index = folder / "checkpoints" / "round-000001.json"
    content = json.loads(index.read_bytes())["content"]
    personal = content["personal"]
    for changed in (
        {**personal, "1": personal["0"]},
        {name: personal[name] for name in ("0", "2")},
        {**personal, "7": "x"},
    ):
        index.write_bytes(sign_index({**content, "personal": changed}))
        yield refused(checkpoints_of(plan, parts_of(plan), folder).load)


@in_folder
def logs_with_notes(folder):
    for text in (
        "a note\n2020-01-02 10:00:00 a line\n",
        "2020-01-02 10:00:00 a line\na note",
        " \n",
        "2020-01-02 a note",
    ):
        (folder / "log.txt").write_text(text)
        yield refused(require_log, folder)


@in_folder
def folders_that_are_refused(folder):
    for name, make in (
        ("settings.json", "mkdir"),
        ("metrics.csv", "mkdir"),
        ("log.txt", "write"),
        ("ledger.csv", "write"),
        ("checkpoints", "write"),
        ("spectrum.csv", "link"),
    ):
        path = folder / name
        if make == "mkdir":
            path.mkdir()
        elif make == "link":
            path.symlink_to(folder / "elsewhere")
        else:
            path.write_text("notes\n")
        yield (
            refused(train, _plan(), folder),
            refused(train, _plan(), folder, replace=lambda files: None),
            _names(folder),
        )
        path.rmdir() if make == "mkdir" else path.unlink()


@in_folder
def a_run_that_is_replaced(folder):
    removed = []
    train(_plan(1), folder)
    (folder / "mine.txt").write_text("x")
    yield train(_plan(1, seed=4), folder, replace=removed.extend), [path.name for path in removed], _names(folder)
    yield refused(remove_run, folder), _names(folder)
    (folder / "mine.txt").unlink()
    yield refused(remove_run, folder), folder.exists()


@in_folder
def checkpoints_of_a_run(folder):
    plan = _plan(4, "fedloru-finetune", keep_every=3)
    train(plan, folder)
    parts = parts_of(plan)
    made = checkpoints_of(plan, parts, folder, earlier_digest(folder))
    yield (
        _names(folder / "checkpoints"),
        made.exist,
        made.runs() == {plan.digest},
        made.foreign_files,
        sorted(made.marks()),
    )
    yield [one.state.round for one in made.load_each()], refused(made.load, 2), made.load(3)[0].state.round
    yield [made.is_kept(number) for number in (0, 1, 3, 6)], refused(made.load_within, 5)
    state = made.load()[0].state
    yield refused(require_state, parts, state.algorithm, folder), refused(require_state, parts, None, folder)
    yield refused(require_state, parts_of(_plan(4, "fedloru-finetune", rows=4)), state.algorithm, folder)
    (folder / "checkpoints" / "round-000004.json").write_text("{}")
    found, wrong = made.load()
    yield found.state.round, wrong, [path.name for path in made.foreign_files], made.marks()["metrics.csv"].length
    (folder / "checkpoints" / "round-000003.safetensors").write_bytes(b"x")
    yield refused(made.load, 3), refused(made.load), [path.name for path in made.foreign_files]
    made.remove()
    yield _names(folder / "checkpoints")


@in_folder
def checkpoints_of_another_run(folder):
    plan = _plan(1)
    train(plan, folder)
    for edited in (None, folder / "settings.json"):
        other = Checkpoints(folder / "checkpoints", "other", {}, edited=edited)
        yield refused(other.load), other.marks().keys() == {"metrics.csv", "ledger.csv"}
    yield Checkpoints(folder / "checkpoints", "other", {}, earlier=plan.digest).load()[0].state.round
    with_left_out = Checkpoints(folder / "checkpoints", plan.digest, {})
    found = with_left_out.load()[0]
    with_left_out.save(replace(found, left_out={"north": "slow"}, suspects={"south": "far"}, seconds=2.5))
    found = with_left_out.load()[0]
    yield found.left_out, found.suspects, found.seconds, Checkpoint(found.state, {}).seconds
    names = ("round-000001.json", "round-00001.json", "client-000001-round-000002.safetensors", "within-000001.json")
    names += ("within-000001-0.safetensors", "within-000001-2.safetensors", "round-1234567.safetensors", "x")
    yield [Checkpoints.names(folder / name) for name in names]


@in_folder
def personal_states_are_kept_by_client(folder):
    train(_plan(3, "pfedlora-1", cohort=1, rank=1), folder)
    return _names(folder / "checkpoints"), _shown(folder)[0]


@in_folder
def progress_of_a_tracker(folder):
    said, seen = [], []

    def tracker(report):
        seen.append([report.round, report.metrics, report.settings["algorithm"], report.folder.name])
        report.metrics["loss"] = 0.0
        if report.round > 1:
            raise ValueError("no\nnetwork" if report.round == 2 else "")

    report = guard(tracker, _plan(), folder / "run", said.append, after=0)
    for number in range(4):
        report({"round": number, "loss": 2.0})
    return [text.partition(" in ")[0] + text.rpartition(")")[2] for text in said], seen, "network" in said[0]


def trials_that_are_refused():
    for given in (
        {"rounds": 0},
        {"seeds": ()},
        {"seeds": (1, 1)},
        {"settings": {"seed": 1}},
        {"settings": {"evaluate_every": 3}},
        {"settings": {"evaluate_every": 2}, "seeds": (2, 1)},
    ):
        trial = refused(Trial, **{"label": "a line", "algorithm": "fedavg", "problem": "ridges", "rounds": 4, **given})
        yield (
            trial
            if isinstance(trial, str)
            else [trial.every, trial.plan(5, "/x", "cuda").conduct, [*Experiment((trial,)).runs]]
        )
    one = Trial("a line", "fedavg", "ridges", 4)
    yield refused(Experiment, (one, one)), len([*Experiment((one, replace(one, label="other", seeds=(3, 4)))).runs])


@in_folder
def folders_of_trials(folder):
    often = Trial("often", "fedavg", "quadratics", 2, SMALL)
    carry_out(Experiment((often,)), folder)
    seldom = replace(often, settings={**SMALL, "evaluate_every": 2})
    return [_folder(replace(trial, rounds=rounds), 0, folder).name for trial in (often, seldom) for rounds in (2, 4)]


@in_folder
def an_experiment_in_its_store(folder):
    said = []
    once = Trial("two rounds", "fedavg", "quadratics", 2, {**SMALL, "evaluate_every": 2})
    yield [(trial.label, seed) for trial, seed in missing_runs(Experiment((once,)), folder)]
    (outcome,) = carry_out(Experiment((once,)), folder, say=said.append)
    yield outcome.trial.label, outcome.run.folder.name, outcome.run.rounds, outcome.failure
    yield outcome.curve("loss"), [row["round"] for row in outcome.curve("bytes_up")], refused(outcome.curve, "accuracy")
    yield refused(replace(outcome, failure="it diverged").curve, "loss")
    yield [text.partition(",")[0] + text.rpartition("round")[2][:7] for text in said]
    often, short = replace(once, settings=SMALL), replace(once, rounds=4)
    yield [len(missing_runs(Experiment((trial,)), folder)) for trial in (once, often, short)]
    for trial in (once, often, short):
        yield _folder(trial, 0, folder).name


class _Interrupting(Constant):
    """A rate that interrupts the run when it is asked for a number of times."""

    left = 0

    def __call__(self, index):
        type(self).left -= 1
        if not type(self).left:
            raise KeyboardInterrupt
        return self.rate


def _interrupted(plan, folder, after, **given):
    _Interrupting.left = after
    parts = parts_of(plan)
    local = replace(parts.algorithm.local, learning_rate=_Interrupting(parts.algorithm.local.learning_rate))
    try:
        return train(plan, folder, parts=replace(parts, algorithm=replace(parts.algorithm, local=local)), **given)
    except KeyboardInterrupt as error:
        return error.__notes__


@in_folder
def runs_that_are_interrupted_within_a_round(folder):
    for after in (2, 6, 8):
        plan, said, place = _plan(2, steps=2, clients=2), [], folder / str(after)
        yield _interrupted(plan, place, after), _names(place / "checkpoints"), _shown(place)[0]
        made = checkpoints_of(plan, parts_of(plan), place)
        found = [refused(made.load_within, number) for number in (1, 2)]
        yield [one and (one[0].round, one[0].clients, one[0].stepped and one[0].stepped.steps) for one in found]
        yield train(plan, place, say=said.append)["loss"], [line.partition("FOLDER")[0] for line in said]


@in_folder
def progress_of_another_round(folder):
    plan = _plan(2, steps=2, clients=2)
    _interrupted(plan, folder, 7)
    made = checkpoints_of(plan, parts_of(plan), folder)
    (within,) = (folder / "checkpoints").glob("within-*.json")
    content = json.loads(within.read_bytes())["content"]
    for number in (1, 3):
        (folder / "checkpoints" / f"within-{number:06d}.json").write_bytes(sign_index(content))
        yield refused(made.load_within, number)
    within.write_bytes(sign_index({**content, "run": "other"}))
    yield refused(made.load_within, 2)
    within.write_bytes(sign_index({**content, "files": {}}))
    yield refused(made.load_within, 2).partition(" (")[0]
    said = []
    yield train(plan, folder, say=said.append)["loss"], said


def minutes_and_hours():
    return [format_minutes(seconds) for seconds in (0, 0.5, 59.4, 59.6, 60, 75, 3599.4, 3599.6, 4000, 86400)]
