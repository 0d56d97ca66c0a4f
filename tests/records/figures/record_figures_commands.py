"""Commands of figures and runs: options, lists, comparisons, curves of runs, and what is refused."""

import argparse
import contextlib
import io
import json
import tempfile
from math import inf, nan
from pathlib import Path

from drawings import picture
from recording import refused

from figures import command, run_curves, runs_command
from figures.experiments import limited_time
from runs.listing import FoundRun, find_runs


def _parser(*declared):
    parser = argparse.ArgumentParser(prog="rankproof")
    commands = parser.add_subparsers()
    for declare in declared:
        declare(commands)
    return parser


def _options(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, of in action.choices.items():
                yield name, list(_options(of))
        else:
            kind = getattr(action.type, "__name__", str(type(action.type).__name__)) if action.type else None
            told = action.metavar, repr(action.default), action.choices, action.nargs, repr(action.const), kind
            yield f"{action.option_strings or action.dest} {' '.join(map(str, told))}: {action.help}"


def options_of_figures_and_spectra():
    return _options(_parser(command.declare))


def options_of_runs():
    return _options(_parser(runs_command.declare))


def options_of_runs_within_a_time():
    return _options(limited_time.options_parser())


def options_with_stored_scales():
    parser = argparse.ArgumentParser()
    command.add_figure_options(parser, stored=True)
    return _options(parser), vars(parser.parse_args([]))


def _called(parser, *arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        options = parser.parse_args(arguments)
        found = refused(options.run, options) if hasattr(options, "run") else sorted(vars(options))
    return found, out.getvalue().splitlines(), err.getvalue().splitlines()[:3]


def parsed_options():
    parser = _parser(command.declare)
    for arguments in (
        ["figure", "rmt/"],
        ["spectrum", "--blocks"],
        ["spectrum", "--blocks", "2", "--parameters", "a", "b", "--double"],
    ):
        yield {name: str(value) for name, value in vars(parser.parse_args(arguments)).items() if not callable(value)}


def options_refused():
    parser = _parser(command.declare)
    for arguments in (
        ["figure", "--seed", "-1"],
        ["spectrum", "--products", "21"],
        ["spectrum", "--outliers", "0"],
        ["spectrum", "--blocks", "0"],
        ["figure", "--recompute", "--from-runs"],
        ["spectrum", "--steps", "0"],
        ["spectrum", "--probes", "0"],
    ):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            yield refused(parser.parse_args, arguments), err.getvalue().splitlines()[-1]


def _given(**options):
    names = (
        "model",
        "data",
        "loss",
        "reduction",
        "count",
        "law",
        "batch_norm",
        "blocks",
        "checkpoints",
        "clients",
        "memory",
        "scratch",
    )
    return argparse.Namespace(**{**dict.fromkeys(names), **options})


def names_of_spectra():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "settings.json").write_text("{}")
        for options in (
            *(
                {},
                {"model": "m:f"},
                {"data": "d:f"},
                {"model": "m:f", "data": "d:f"},
                {"model": "m", "data": "d", "clients": 0},
            ),
            *(
                {"checkpoints": folder},
                {"checkpoints": folder, "loss": "mse", "batch_norm": "batch"},
                {"checkpoints": folder, "clients": 2},
            ),
            *(
                {"checkpoints": "x", "blocks": 0},
                {"checkpoints": "x", "model": "m"},
                {"blocks": 0, "model": "m", "data": "d"},
            ),
        ):
            yield str(refused(command._require_names, _given(**options))).replace(folder, "FOLDER")


def budgets_of_spectra():
    yield refused(command._budget, _given()), refused(command._budget, _given(scratch="x"))
    found = command._budget(_given(memory="2 GiB"))
    yield found.bytes if hasattr(found, "bytes") else str(found)


def figures_of_the_command():
    import figures.figure as of

    namespace = {
        "json": False,
        "list": False,
        "ids": [],
        "all": False,
        "scale": "quick",
        "seed": 0,
        "device": "cpu",
        "root": None,
        "out": "o",
        "dry_run": False,
    }
    for options in (
        {"list": True, "ids": ["rmt/", "fedlrt/fig-8"]},
        {"list": True, "json": True, "ids": ["rmt/", "fedloru/language-ranks"]},
        {"json": True},
        {},
        {"ids": ["rmt/"], "all": True},
        {"ids": ["zz"]},
    ):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = refused(command._figure, argparse.Namespace(**{**namespace, **options}))
        yield found, out.getvalue().splitlines(), of.SCALES


def plans_of_figures():
    from figures.ledger import select

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        command._plan(select(["rmt/transition", "rolora/table-1"]), argparse.Namespace(out="o"), ("a",))
    return out.getvalue().splitlines()


def _run(name, rows, algorithm="fedavg", problem="ridges", rounds=4, settings=None, **more):
    rows = [{"round": r, "bytes_down": 1000 * r, "bytes_up": 400 * r, **row} for r, row in enumerate(rows)]
    return FoundRun(
        Path(name),
        algorithm,
        problem,
        {"seed": 0, **(settings or {})},
        {"device": "cpu"},
        rounds,
        rows,
        {"torch": "2"},
        **more,
    )


def _losses(*values):
    return [{"loss": value} for value in values]


RUNS = (
    _run("a0", _losses(1.0, 0.5, 0.25, 0.2)),
    _run("a1", _losses(2.0, 1.0, 0.5, 0.1, 0.05), settings={"seed": 1}),
    _run("b0", _losses(3.0, 0.3, 0.03), "fedlin", settings={"steps": 3}),
)
MIXED = (
    *RUNS[:2],
    _run("r0", _losses(1.5, 0.7, 0.6, 0.55), "rolora"),
    _run("u0", _losses(1.0, 0.9, 0.8, 0.7), "my:algorithm"),
    _run("f0", _losses(1.0, 0.9, 0.8, 0.75), "rolora", settings={"frozen_a": True}),
)


def lists_of_runs():
    yield runs_command.list_runs(RUNS)
    yield runs_command.list_runs([_run("x", [{"accuracy": 0.5}, {"accuracy": 0.75}]), _run("y", [], rounds=2)])


def comparisons_of_runs():
    for runs, options in (
        *(
            (RUNS, ("loss", None, None)),
            (RUNS, ("loss", 1, "fedlin")),
            (RUNS[:2], (None, None, None)),
            (MIXED, ("loss", None, None)),
        ),
        *(
            (RUNS, ("loss", None, "none")),
            (RUNS, ("loss", 4, None)),
            (RUNS, ("accuracy", None, None)),
            (RUNS[::2], ("loss", 2, None)),
            ((MIXED[0], MIXED[3]), ("loss", None, None)),
            (MIXED[2:4], ("loss", None, None)),
        ),
    ):
        yield refused(runs_command.compare_runs, runs, *options)


def runs_of_one_problem():
    runs = [*RUNS, _run("z", _losses(1.0), problem="other")]
    for some, problem in ((RUNS, None), (RUNS, "ridges"), (runs, None), (runs, "other"), (runs, "none")):
        found = refused(runs_command._of_one_problem, some, problem)
        yield found if isinstance(found, str) else [str(run.folder) for run in found]


def local_trainings():
    for algorithm in ("fedavg", "rolora", "pfedlora-1", "pfedlora-2", "pfedloru", "my:own"):
        yield runs_command.local_trainings(algorithm, {}), runs_command.local_trainings(algorithm, {"frozen_a": True})


def best_values():
    rows = [
        {"loss": loss, "accuracy": accuracy, "rank": 3.0, "validation_loss": -loss}
        for loss, accuracy in ((nan, 0.2), (0.5, 0.9), (0.2, 0.9), (0.2, nan))
    ]
    run = _run("x", rows)
    for metric in ("loss", "accuracy", "rank", "validation_loss"):
        found = runs_command._best(run, metric)
        yield None if found is None else [found["round"], found[metric]]
    yield runs_command._best(
        _run(
            "x",
            [
                {"f1": 0.1, "personal_mcc": 0.2, "gradient_distance": 0.3},
                {"f1": 0.2, "personal_mcc": 0.1, "gradient_distance": 0.1},
            ],
        ),
        "gradient_distance",
    )


def curves_of_signs():
    for values, width in (
        *(
            ((1.0, 2.0, 3.0), 40),
            ((3.0, 1.0, 2.0, 2.5), 2),
            ((1.0, 1.0), 40),
            ((1.0, nan), 40),
            ((nan, inf), 40),
            ((), 40),
            ((5.0,), 40),
        ),
        *(
            (tuple(float(k) for k in range(100)), 10),
            ((-1.7e308, 1.7e308, 0.0), 40),
            (tuple(float(k) for k in range(11)), 40),
        ),
    ):
        yield runs_command._curve(values, width)


def numbers_in_tables():
    for value in (None, 0.0, 3.0, -2.0, 12345.0, 1e15, 1e14, 0.123456, 1234567.8, nan, inf, -0.00001234, True):
        yield runs_command._number(value), runs_command._number(value, "+"), runs_command._signed(value)
    yield runs_command._in_a_line("a\nb\tc\x1b[0m")


def descriptions_of_runs():
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        place.mkdir()
        settings = {"algorithm": "fedavg", "problem": "ridges", "settings": {"seed": 0, "rank": 2}, "rounds": 3}
        (place / "settings.json").write_text(json.dumps(settings))
        (place / "metrics.csv").write_text(
            "round,loss,accuracy,rank,bytes_down,bytes_up\n0,1.0,0.1,3,0,0\n1,0.25,0.7,3,40,8\n2,0.5,0.6,3,80,16\n"
        )
        head, lines = "round,trip,direction,what,clients,entries,bytes", []
        for r in (1, 2):
            lines += [f"{r},1,down,tell,2,5,30", f"{r},1,down,train,2,2,10", f"{r},1,up,train,2,2,8"]
        (place / "ledger.csv").write_text("\n".join([head, *lines]) + "\n")
        (run,) = find_runs(Path(folder))
        found = refused(runs_command.describe_run, run)
        yield json.loads(json.dumps(found, default=str).replace(folder, "FOLDER"))


def curves_of_groups():
    yield run_curves.curves(RUNS, "loss")
    gone = _run("c", [{"loss": nan}, {}, {"loss": 2.0}], settings={"seed": 2})
    yield (
        run_curves.curves([*RUNS[:2], gone], "loss"),
        refused(run_curves.curves, [RUNS[0], _run("c", [{}], settings={"seed": 1})], "loss"),
    )


def pictures_of_curves():
    table = run_curves.curves(RUNS, "loss")
    yield (
        picture(run_curves.draw_curves, table, "loss"),
        picture(run_curves.draw_curves, table[table.runs == "fedlin"], "accuracy"),
    )


def units_and_looks():
    yield [run_curves._unit(size) for size in (0.0, 1.0, 999.0, 1000.0, 999_999.0, 1e6, 1e9, 1e12, 1e18)]
    yield [run_curves._look(number) for number in (0, 5, 6, 7, 12, 18, 24)]
    yield [
        run_curves._spans_decades(of)
        for of in ((1.0, 10.0), (1.0, 10.1), (0.0, 10.0), (-1.0, 20.0), (), (nan, 1.0, inf, 20.0), (5.0,))
    ]
    yield (
        run_curves._title("loss", True),
        run_curves._title("accuracy", False),
        run_curves._plain("$a\n"),
        run_curves.HUGE,
    )
