"""The command `rankproof train`. It imports torch only when it trains, so other commands start quickly."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runs.format import format_bytes, printable
from runs.settings import Conduct, RunError
from workloads.arguments import Parser, suggestion, unknown_flags

if TYPE_CHECKING:
    from runs.config import Config
    from runs.options import Option
    from runs.plan import Plan
    from runs.tracking import OnRound

RESULTS = "results/runs"
PROBLEM = "quadratics"
MANY_WEIGHTS = 1_000_000
"""Size from which on a dry run names smaller networks than the default one."""
_FLAGS = ("--help", "-h", "--list", "--force", "--tensorboard", "--trust", "--dry-run")
_RESUMED = "a resumed run keeps its algorithm, settings and folder; only {} may be named"


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of `rankproof train`; `_fill` adds the options of the algorithm and the problem."""
    add = parser.add_argument
    add(
        "algorithm",
        nargs="?",
        metavar="ALGORITHM",
        help="name of an algorithm, such as fedlrt, or module:Class; see --list",
    )
    add(
        "--data",
        metavar="PROBLEM",
        help="what to train on: a name from --list, your own texts (FILE.jsonl, .json, .csv, .tsv, .parquet, or a "
        "folder of such files), a folder of images with one subfolder per class (./my-images), or module:function that "
        f"returns training and test data; default: {PROBLEM}",
    )
    add("--list", action="store_true", help="list algorithms and problems")
    add(
        "--out",
        metavar="DIR",
        help=f"folder of the run; default: {RESULTS}/ALGORITHM-PROBLEM-HASH, with a hash of the settings",
    )
    add("--force", action="store_true", help="delete the existing run and start over")
    add("--resume", metavar="DIR", help="resume the run in DIR")
    add(
        "--config",
        metavar="FILE",
        help="values of options: a TOML file, or the settings.json of another run; options on the command line take "
        "precedence",
    )
    add(
        "--dry-run",
        action="store_true",
        help="read the data, print the run as a TOML file for --config, with the size of the model and the bytes sent, "
        "and train nothing",
    )
    add(
        "--tracker",
        metavar="MODULE:FUNCTION",
        help="function that is called with a report after every round, such as one that logs to Weights & Biases",
    )
    add(
        "--trust",
        action="store_true",
        help="with --resume or --config: allow the code named in the settings in DIR or FILE to run",
    )
    parser.fill = lambda words: _fill(parser, words)


def train(options: argparse.Namespace) -> int:
    """Train a run, resume one, or list what there is.

    Raises:
        RunError: A fault that a user can fix.
        FederationError: The run cannot continue.
    """
    from torch import set_num_threads

    from runs.catalogue import GROUPS, PROBLEMS
    from runs.folder import METRICS
    from runs.folder import train as run
    from runs.progress import show_progress

    if options.list:
        for kind, names in GROUPS.items():
            print(f"{kind}:\n    {', '.join(names)}")
        print(f"problems:\n    {', '.join(PROBLEMS)}")
        print("your own:   --data FILE.jsonl (texts; also .json, .csv, .tsv, .parquet, or a folder of them)")
        print("            --data ./FOLDER (images by class) or --data module:function; --model module:function")
        return 0
    try:
        plan, folder = _plan_from(options)
        if options.dry_run:
            print(_dry_run(plan, folder), end="")
            return 0
        tracker = None if options.tracker is None else _tracker(options.tracker)
        set_num_threads(1)  # as workers have: the same bits for any number of them
        removed = _print_removed if options.force else None
        with show_progress(plan, folder, options.force) as progress:
            last = run(plan, folder, progress, removed, _print_line, foretell=_print_line, on_round=tracker)
    except RunError as error:
        if options.resume is not None:  # it refuses what else is a remedy
            error.args = (error.of_resumed(),)
        raise
    shown = ", ".join(f"{name} {_format_metric(value)}" for name, value in last.items())
    print(printable(f"{plan.algorithm} on {plan.problem}: {shown}"))
    print(printable(str(folder / METRICS)))
    return 0


def _dry_run(plan: Plan, folder: Path) -> str:
    """Return a configuration that gives a plan again, below comments on the run's folder and size."""
    from runs.config import to_toml
    from runs.cost import forecast

    kept = Conduct(rounds=plan.conduct.rounds, device=plan.conduct.device, root=plan.conduct.root)
    found = forecast(replace(plan, conduct=kept))  # here, not on a cluster
    client = f"a client of rank {found.largest_rank}" if found.largest_rank else "a client"
    lines = [
        f"rankproof train --config FILE trains this run in {printable(str(folder))}",
        f"data: {'' if found.samples is None else f'{found.samples:,} training samples of '}{found.clients:,} clients",
        f"model: {_model_in_words(plan, found.weights)}",
        f"bytes in {plan.conduct.rounds:,} rounds: {format_bytes(found.down)} down to all clients, "
        f"{format_bytes(found.up)} up{f', {found.unless}' if found.unless else ''}",
        f"in a round {client} receives {format_bytes(found.received)} and sends {format_bytes(found.sent)}"
        f"{f', and each receives {format_bytes(found.start)} before the first' if found.start else ''}",
        *([] if found.time is None else [f"time: {found.time}"]),
    ]
    return "".join(f"# {line}\n" for line in lines) + to_toml(plan)


def _model_in_words(plan: Plan, weights: int) -> str:
    """Return the name and the size of a model; a large default network has a remedy."""
    from runs.networks.image_federation import ImageFederation
    from runs.networks.language_model import PREFIX

    name = plan.settings.get("model")
    size = f"{weights:,} weights{' in the layers that it adapts' if str(name).startswith(PREFIX) else ''}"
    told = f"{printable(str(name))}, {size}" if name else size
    if name == ImageFederation.model and weights > MANY_WEIGHTS:
        told += " (the default network is large; --model convnet, --model perceptron or --width N is smaller)"
    return told


def _tracker(name: str) -> OnRound:
    """Return the tracker that the command line names.

    Raises:
        CurvatureError: It cannot be imported.
        RunError: It is not a function.
    """
    from hessian.loss.factories import import_object

    tracker: OnRound = import_object(name, "tracker")
    if not callable(tracker):
        raise RunError(f"--tracker {name} is a {type(tracker).__name__}; name a function that takes a report")
    return tracker


def _fill(parser: Parser, words: Sequence[str]) -> None:
    """Declare the options of the named algorithm and problem, and refuse unknown ones."""
    from runs.catalogue import CONDUCT, RUN, algorithms_that_take, options_of, schemas_of
    from runs.config import read_config
    from runs.options import suggest_option
    from runs.plan import code_of, require_trust

    resumed, named = _value_in(words, "--resume") is not None, _value_in(words, "--config")
    config = None if named is None else read_config(Path(named))
    algorithm, problem, deciding = _names_in(words, config)
    if config is not None:
        code = code_of(config.algorithm or "", problem, config.values)
        require_trust(config.path, [one for one in code if one != problem or one == config.problem], "--trust" in words)
        parser.set_defaults(configured=config)
    by_words = any(":" in word for word in words) and not resumed
    own = by_words or "--trust" in words or _value_in(words, "--tracker") is not None
    if own and os.getcwd() not in sys.path:  # the current folder may be one that somebody else made
        sys.path.insert(0, os.getcwd())  # as `python -m` does; the installed command does not
    conduct = CONDUCT.options({})
    parts: dict[str, tuple[Mapping[str, Option], Callable[[Mapping[str, Any]], Mapping[str, Option]]]] = {}
    parts["running and saving"] = conduct, CONDUCT.options
    if not resumed:
        parts["every run"] = RUN.options({}), RUN.options
    if algorithm is not None and not resumed:
        of_algorithm, of_problem = schemas_of(algorithm, problem, deciding)
        parser.epilog = f"example: {of_problem.kind.example}" if hasattr(of_problem.kind, "example") else parser.epilog
        parts[problem] = of_problem.options({}, every=True), of_problem.options
        parts[algorithm] = of_algorithm.options({}, every=True), of_algorithm.options
        options_of(algorithm, problem, deciding, every=True)
    for title, (options, chosen) in parts.items():
        group = parser.add_argument_group(title)
        for option in options.values():
            _declare(group, option, needed_with(option, options, chosen))
    for flag in unknown_flags(words, parser.flags):
        if resumed:
            raise RunError(_RESUMED.format(", ".join(option.flag for option in conduct.values())))
        if algorithm is not None:
            taken = algorithms_that_take(flag[2:].replace("-", "_"))
            raise RunError(f"{algorithm} on {problem} takes no {flag}{taken or suggest_option(flag, parser.flags)}")
        if not (near := suggestion(flag, parser.flags)):
            near = "; to use the options of an algorithm or problem, name the algorithm, as in train fedavg"
        parser.error(f"unrecognized arguments: {flag}{near}")


def _value_in(words: Sequence[str], flag: str) -> str | None:
    """Return the value of an option before options are declared; None without it."""
    found = [
        word.partition("=")[2] if word.startswith(f"{flag}=") else "".join(words[place + 1 : place + 2])
        for place, word in enumerate(words)
        if word == flag or word.startswith(f"{flag}=")
    ]
    return found[-1] if found else None


def _names_in(words: Sequence[str], config: Config | None) -> tuple[str | None, str, dict[str, str]]:
    """Return the algorithm, the problem, and options that decide the kind of data, before options are declared.

    Raises:
        RunError: Several algorithms are named.
    """
    from runs.catalogue import ALGORITHMS
    from runs.networks.text_federation import DECIDING

    algorithm, problem, deciding = None, PROBLEM, {}
    if config is not None:
        problem = config.problem or PROBLEM
        deciding = {name: value for name, value in config.values.items() if name in DECIDING and isinstance(value, str)}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if not word.startswith("-"):
            if algorithm is not None:
                also = "" if word in ALGORITHMS else f"; name what it trains on as in --data {word}"
                raise RunError(f"train takes one algorithm, {algorithm}, and not {word} as well{also}")
            algorithm = word
        elif flag not in _flags():
            value = value if equals else rest.pop(0) if rest else ""
            if flag == "--data":
                problem = value
            elif flag[2:] in DECIDING:
                deciding[flag[2:]] = value
    return algorithm or (config.algorithm if config else None), problem, deciding


@cache
def _flags() -> frozenset[str]:
    """Return the options that take no value."""
    return frozenset(_FLAGS) | {
        form
        for option in _every_option()
        if option.kind is bool
        for flag in (option.flag, option.earlier_flag)
        if flag is not None
        for form in (flag, f"--no-{flag[2:]}")
    }


def _every_option() -> list[Option]:
    """Return the options of all algorithms, on a problem of each kind."""
    from runs.catalogue import ALGORITHMS, IMAGES, LANGUAGE, options_of

    problems = (PROBLEM, next(iter(IMAGES)), next(iter(LANGUAGE)))
    of_each = (options_of(name, problem, {}, every=True) for name, problem in product(ALGORITHMS, problems))
    return [option for options in of_each for option in options.values()]


def add_every_option(parser: Parser) -> None:
    """Declare the options of all algorithms and kinds of problems, with their words as choices, for completion."""
    from runs.catalogue import CONDUCT

    options = {option.name: option for option in (*CONDUCT.options({}).values(), *_every_option())}
    for option in options.values():
        action = _declare(parser, replace(option, earlier=None), "")
        words = [word for word in option.words if " " not in word]
        action.choices = words or action.choices


def _declare(group: Any, option: Option, needed: str) -> argparse.Action:
    """Declare an option, and its earlier name without a help."""
    words = f"one of {', '.join(option.words)}" if option.words else ""
    default = needed if option.default is MISSING else f"default: {_format_default(option.default)}"
    described = option.help.rstrip(".")
    if option.default not in (None, MISSING):
        described = described.partition("; default: ")[0]  # the problem or the algorithm has another default
    parts = (described, words, default if option.default is not None else "")
    text = "; ".join(filter(None, parts)).replace("%", "%%")
    if option.kind is bool:
        shape: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
    else:
        metavars: dict[type, str] = {int: "N", float: "X", tuple: "X,X", str: "WORD"}
        shape = {"metavar": metavars[option.kind]}
    action: argparse.Action = group.add_argument(option.flag, help=text, **shape)
    if option.earlier_flag is not None:
        group.add_argument(option.earlier_flag, dest=option.earlier, help=argparse.SUPPRESS, **shape)
    return action


def needed_with(
    option: Option, options: Mapping[str, Option], chosen: Callable[[Mapping[str, Any]], Mapping[str, Option]]
) -> str:
    """Return when an option without a default is needed: always, or with some words only.

    Args:
        option: The option.
        options: All options of its owner, those of every choice.
        chosen: The options that there are with some values.
    """
    if option.name in chosen({}):
        return "needed"
    for other in options.values():
        words = [word for word in other.words if option.name in chosen({other.name: word})]
        if words:
            return f"needed with {other.flag} {' or '.join(words)}"
    return "needed where it applies"


def _plan_from(options: argparse.Namespace) -> tuple[Plan, Path]:
    from runs.catalogue import CONDUCT, options_of
    from runs.config import combine
    from runs.networks.text_federation import DECIDING
    from runs.plan import make_plan, read_plan

    if "" in (options.out, options.resume):
        raise RunError("a folder needs a name; . is the current one")
    conducts = CONDUCT.options({})
    conduct = _given_values(options, conducts)
    if options.resume is not None:
        if options.algorithm or options.data or options.out or options.force or options.config:
            raise RunError(_RESUMED.format(", ".join(option.flag for option in conducts.values())))
        folder = Path(options.resume)
        stored = read_plan(folder, options.trust)
        return replace(stored, conduct=replace(stored.conduct, **conduct)), folder
    config: Config | None = getattr(options, "configured", None)
    if options.config is not None and config is None:
        raise RunError("write --config in full, because it decides which options there are")
    if options.trust and config is None:
        raise RunError(
            "--trust is for --resume and --config, because code named on the command line is always trusted; leave it "
            "out"
        )
    algorithm = options.algorithm or (config.algorithm if config else None)
    if not algorithm:
        raise RunError("name an algorithm, or a folder to --resume; --list lists the algorithms and problems")
    problem = options.data if options.data is not None else config.problem if config else None
    problem = PROBLEM if problem is None else problem
    deciding = {name: value for name in DECIDING if isinstance(value := getattr(options, name, None), str)}
    of_config = config.values if config else {}
    given = _given_values(options, options_of(algorithm, problem, {**of_config, **deciding}, every=True))
    if config is not None:
        values = combine(config, algorithm, problem, given)
        given = {name: value for name, value in values.items() if name not in conducts}
        conduct = {name: value for name, value in values.items() if name in conducts} | conduct
    plan = make_plan(algorithm, problem, given, Conduct(**conduct))
    return plan, Path(options.out or f"{RESULTS}/{plan.folder}")


def _given_values(options: argparse.Namespace, known: Mapping[str, Option]) -> dict[str, Any]:
    """Return the values of the options given on the command line, under the names by which they are given.

    Raises:
        RunError: An option is given under its earlier name and its present one.
    """
    found: dict[str, Any] = {}
    for option in known.values():
        for name in (option.name, option.earlier):
            value = None if name is None else getattr(options, name, None)
            if name is not None and value is not None:
                found[name] = option.read(value) if isinstance(value, str) else value
        if option.name in found and option.earlier in found:
            raise RunError(f"{option.earlier_flag} is the earlier name of {option.flag}; give one of the two")
    return found


def _print_line(text: str) -> None:
    print(f"rankproof: {printable(' '.join(text.split()))}", file=sys.stderr)


def _print_removed(files: Sequence[Path]) -> None:
    if files:
        print(printable(f"removed {', '.join(map(str, files))}"))


def _format_default(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _format_metric(value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else f"{value:.4g}"
