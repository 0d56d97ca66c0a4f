"""The command line of claims: `rankproof check`, `claims`, `show`, `replay` and `report`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from figures.command import add_figure_options
from paper_checks import GROUP, replay_command
from paper_checks.engine.selection import (
    CLAIM,
    add_choice,
    add_paper,
    add_papers,
    add_replay_seconds,
    chosen_claims,
    ledger_of,
)
from paper_checks.pages.colours import CARDS, FINDINGS, list_of, print_claims
from workloads.arguments import add_command, at_least, read_name
from workloads.files import is_standard_output, require_target, require_writable
from workloads.processes.child_processes import worker_environment
from workloads.processes.pool import RayPool, add_place_options, place_of, slots_of
from workloads.progress import report_progress
from workloads.terminal import encoding_of_output, print_text
from workloads.written import require_own, write_own

if TYPE_CHECKING:
    from figures.figure import Figure
    from paper_checks.claim import Claim
    from paper_checks.ledger import Ledger
    from paper_checks.names import Names
    from paper_checks.pages.report_figures import ReportFigure
    from paper_checks.result import Run

AS_EXPECTED, DIFFERENT = 0, 1
MOST_NUMBERS = 20
"""Number of changed numbers that `check` prints."""
MOST_CARDS = 3
"""Number of claims that a name may mean for `show` to print their cards; more are listed."""
CLAIM_SECONDS = {"quick": 0.35, "full": 1.0}
"""Time that a claim takes on average, on one processor; for the estimate before a run alone."""
FIGURE_SECONDS = 4.0
"""Time to draw a figure whose numbers are stored."""


def declare(commands: Any) -> None:
    """Declare the commands that list and check claims."""
    check = add_command(
        commands,
        "check",
        _check,
        "check claims and compare their verdicts and grades with the recorded ones",
        "rankproof check fedlrt/ --verdict corrected --json verdicts.json",
        several="ids",
    )
    add_choice(check, f"{CLAIM}; default: all")
    _add_budget(check)
    add_replay_seconds(check)
    add_place_options(check, "claims")
    _add_json(check, "write the manifest and the results to FILE as JSON", nargs=None)
    check.add_argument(
        "--seeds",
        type=at_least(1),
        metavar="N",
        help="check with N seeds, and twice with the first one; report differing verdicts as defects",
    )
    check.add_argument(
        "--traceback", action="store_true", help="print where a check raised an error (for authors of claims)"
    )
    check.add_argument(
        "--store",
        action="store_true",
        help="save the witnesses and proof data that this run finds, and base verdicts on them (for authors of claims)",
    )
    check.add_argument(
        "--record", action="store_true", help="record the numbers behind the verdicts (for authors of claims)"
    )

    claims = add_command(
        commands,
        "claims",
        _claims,
        "list the claims with their recorded verdicts, without checking them",
        "rankproof claims --verdict refuted --paper fedlrt",
        several="ids",
    )
    add_choice(claims, f"{CLAIM}; default: all")
    _add_json(claims, "write JSON, to FILE or to standard output", nargs="?")

    findings = add_command(
        commands,
        "findings",
        _findings,
        "print our findings about a paper, most consequential first, each with the claims that it explains",
        "rankproof findings rolora",
        several=None,
    )
    findings.add_argument(
        "papers_asked", nargs="*", type=read_name, metavar="PAPER", help="fedloru, fedlrt, rolora, ...; default: all"
    )
    add_papers(findings)
    _add_json(findings, "write JSON, to FILE or to standard output", nargs="?")

    show = add_command(
        commands,
        "show",
        _show,
        "show claims in full: statement, verdict, evidence and witness",
        "rankproof show fedloru-v2/prop-3.1",
        several="ids",
    )
    show.add_argument("ids", nargs="+", type=read_name, metavar="ID", help=f"{CLAIM}, or of a finding")
    show.add_argument(
        "--again", action="store_true", help="measure again instead of showing the last results of this code"
    )
    show.add_argument(
        "--bibtex", action="store_true", help="print BibTeX entries for the verdicts and the papers, and check nothing"
    )
    add_papers(show)
    _add_budget(show)
    add_replay_seconds(show)

    replay_command.declare(commands)

    report = add_command(
        commands,
        "report",
        _report,
        "check claims, draw figures, and write pages that show both",
        "rankproof report --out report --no-figures",
        several="ids",
    )
    report.add_argument("ids", nargs="*", type=read_name, metavar="ID", help=f"{CLAIM}; default: all")
    report.add_argument(
        "--out", type=read_name, default="report", metavar="DIR", help="folder to write to; default: report"
    )
    report.add_argument(
        "--single-file",
        type=read_name,
        metavar="FILE",
        help="also write the whole report into one HTML file, with its pictures, for mail",
    )
    report.add_argument("--no-figures", action="store_true", help="leave out the figures")
    add_paper(report)
    add_papers(report)
    _add_budget(report)
    add_replay_seconds(report)
    add_figure_options(report, stored=True)


def _add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget",
        choices=("quick", "full"),
        default="quick",
        help="how many samples to draw for each claim; default: quick",
    )
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="seed of all random streams; default: 0"
    )
    parser.add_argument(
        "--jobs",
        type=at_least(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="number of processes; default: one per processor",
    )


def _add_json(parser: argparse.ArgumentParser, help: str, nargs: str | None) -> None:
    parser.add_argument(
        "--json",
        type=read_name,
        nargs=nargs,
        const="-" if nargs else None,
        metavar="FILE",
        help=f"{help}; - means standard output",
    )


def _check_claims(ledger: Ledger, options: argparse.Namespace, pool: RayPool | None = None) -> Run:
    return _run(chosen_claims(ledger, options), ledger, options, pool)


def _run(claims: Sequence[Claim], ledger: Ledger, options: argparse.Namespace, pool: RayPool | None = None) -> Run:
    from paper_checks.engine.last_results import keep, made_by
    from paper_checks.run import run

    code = made_by()  # before the run, because sources may be edited during it
    with report_progress("checking", len(claims), "claim") as bar:
        jobs = options.jobs if pool is None else len(pool.slots)
        bar.expect(len(claims) * CLAIM_SECONDS[options.budget] / jobs, f"{len(claims)} claims, {jobs} at a time")
        found = run(
            claims,
            ledger,
            budget=options.budget,
            seed=options.seed,
            jobs=jobs,
            progress=bar.advance,
            pool=pool,
            replay_seconds=options.replay_seconds,
            phase=lambda text: bar.advance(text, 0),
        )
    keep(found, ledger, code)
    return found


def _at_more_seeds(ledger: Ledger, options: argparse.Namespace, pool: RayPool | None) -> list[Run]:
    """Return runs of the claims with the first seed again and with each other one; none where no seeds are asked."""
    seeds = [] if options.seeds is None else [options.seed, *range(options.seed + 1, options.seed + options.seeds)]
    return [_check_claims(ledger, argparse.Namespace(**{**vars(options), "seed": seed}), pool) for seed in seeds]


def _draw_figures(figures: Sequence[Figure], options: argparse.Namespace, out: Path) -> list[ReportFigure]:
    from figures.figure import Settings
    from paper_checks.pages.report_figures import report_figures

    settings = Settings(options.scale or "quick", options.seed, options.device, options.root)
    with report_progress("drawing", len(figures), "figure") as bar:
        if options.scale is None and not options.recompute:
            bar.expect(len(figures) * FIGURE_SECONDS / options.jobs, f"{len(figures)} figures with stored numbers")
        return report_figures(
            figures,
            settings,
            out,
            stored=options.scale is None,
            recompute=options.recompute,
            jobs=options.jobs,
            progress=bar.advance,
        )


def _write_json(value: Any, name: str) -> None:
    text = json.dumps(value, indent=1) + "\n"
    if is_standard_output(name):
        sys.stdout.write(text)
    else:
        write_own({Path(name): text.encode()}, Path(name).parent)


@worker_environment()
def _check(options: argparse.Namespace) -> int:
    from paper_checks.engine import evidence_record
    from paper_checks.engine.over_seeds import describe_seeds, over_seeds
    from paper_checks.ledger import LedgerError
    from paper_checks.pages.colours import print_summary
    from paper_checks.pages.manifest import run_manifest
    from paper_checks.run import decided_again, do_not_replay, store_findings

    ledger = ledger_of(options)
    alone = options.json is not None and is_standard_output(options.json)
    if options.json is not None and not alone:
        require_target(Path(options.json))
        require_own([Path(options.json)], Path(options.json).parent)
    if options.record and (options.seed, options.budget) != evidence_record.OF:
        raise LedgerError("--record stores numbers of seed 0 and the quick budget only: leave out --seed and --budget")
    place = place_of(options, LedgerError)
    if options.dry_run:
        return _print_plan(
            chosen_claims(ledger, options), slots_of(place, LedgerError) if place else ("here",) * options.jobs
        )
    with ExitStack() as stack:
        pool = None if place is None else stack.enter_context(RayPool(place, LedgerError))
        run = _check_claims(ledger, options, pool)
        more = _at_more_seeds(ledger, options, pool)
    manifest = run_manifest(run) if options.json is not None or options.store else {}  # it takes seconds
    table = sys.stderr if alone else sys.stdout
    if options.store:
        with _kept_by("--store", LedgerError), _storing() as phase:
            stored = store_findings(run, ledger, manifest["commit"], options.replay_seconds, phase)
        names = {path.stem.partition("@")[0] for path in stored}
        of_files = [one.claim.id for one in run.results if one.claim.id.replace("/", "--") in names]
        with _storing() as phase:
            run, *more = (decided_again(one, ledger, of_files, options.replay_seconds, phase) for one in (run, *more))
        flaws = do_not_replay(run)
        for path in stored:
            print(f"stored {path.name}{flaws.get((path.parent.name, path.stem), '')}", file=table)
    if more:
        run = over_seeds(run, more[0], more[1:])
    if options.json is not None:
        _write_json({"manifest": manifest, "claims": [result.as_json() for result in run.results]}, options.json)
    print_summary(run, table)
    if more:
        print(describe_seeds(run, more[1:]), file=table)
    for result in run.results:
        if options.traceback and result.decision.traceback:
            print(f"{result.claim.id}: {result.decision.traceback}", file=sys.stderr)
    _compare_numbers(run, ledger, options.record, table)
    return AS_EXPECTED if run.as_expected else DIFFERENT


@contextmanager
def _storing() -> Iterator[Callable[[str], None]]:
    """Yield what shows which witness is being replayed, for the files that `--store` keeps."""
    with report_progress("storing", unit="file") as bar:
        yield lambda text: bar.advance(text, 0)


@contextmanager
def _kept_by(option: str, kind: type[Exception]) -> Iterator[None]:
    """Turn the error of a file that cannot be kept into one with its remedy: its place is the paper's folder.

    Args:
        option: Option that keeps it.
        kind: Error that is raised.
    """
    try:
        yield
    except FileExistsError as error:
        reason = error.strerror or str(error)
        raise kind(f"{option} cannot replace {error.filename}: {reason}; move it away") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise kind(f"{option} cannot write {error.filename}: {reason}; free some space, or make it writable") from error


def _compare_numbers(run: Run, ledger: Ledger, record: bool, table: TextIO) -> bool:
    """Print the numbers of the evidence that are not those on record, or put them on record; return whether any is."""
    from paper_checks.engine import evidence_record
    from paper_checks.ledger import LedgerError

    changed: list[evidence_record.Difference] = []
    for paper in ledger.papers if (run.seed, run.budget) == evidence_record.OF else ():
        of_paper = [result for result in run.results if ledger.home[result.claim.id] == paper]
        before = evidence_record.read_record(paper.folder) if of_paper else {}
        for result in of_paper if before else ():
            changed += evidence_record.differences(result, before)
        if record and of_paper:
            with _kept_by("--record", LedgerError):
                evidence_record.write(paper.folder, of_paper, [claim.id for claim in paper.claims()])
    for one in changed if record else changed[:MOST_NUMBERS]:
        print(one, file=table)
    if changed:
        remedy = "now recorded" if record else "check --record stores them (for authors of claims)"
        print(f"numbers behind verdicts that differ from the record: {len(changed)}; {remedy}", file=table)
    return bool(changed)


def _print_plan(claims: Sequence[Claim], slots: Sequence[str]) -> int:
    """Print what would be checked where; what a claim costs is known only once it is checked."""
    themes: dict[str, int] = {}
    for claim in claims:
        themes[claim.module] = themes.get(claim.module, 0) + 1
    for theme, count in sorted(themes.items(), key=lambda pair: -pair[1]):
        print(f"{count:4} claims  {theme}")
    where = ", ".join(f"{name} ({slots.count(name)})" for name in dict.fromkeys(slots))
    print(f"{len(claims)} claims from {len(themes)} modules, largest first; each goes to the next free worker: {where}")
    return AS_EXPECTED


def _claims(options: argparse.Namespace) -> int:
    from paper_checks.pages.card import count_by_kind
    from paper_checks.replaying.places import check_place, replay_places
    from paper_checks.result import count_stubs

    ledger = ledger_of(options)
    claims = chosen_claims(ledger, options)
    if options.json is not None:
        files = {c.id: ledger.home[c.id].to_replay(c.id) for c in claims}
        replays = {c.id: replay_places(ledger.home[c.id].package, files[c.id]) for c in claims}
        fields = [
            {
                "id": c.id,
                "also": list(c.also),
                "paper": c.paper,
                "where": c.where,
                "kind": c.kind,
                "importance": c.importance,
                "because": c.because or None,
                "expected": c.expect,
                "print": c.print,
                "intended": c.meaning,
                "finding": finding.id if (finding := ledger.home[c.id].finding_of(c.id)) else None,
                "expected_grade": c.grade,
                "says": c.says,
                "replay": f"rankproof replay {ledger.home[c.id].option}{c.id}" if files[c.id] else None,
                "source": str(check_place(c)),
                "replay_source": next((str(place) for place in replays[c.id] if place is not None), None),
            }
            for c in claims
        ]
        _write_json(fields, options.json)
        return AS_EXPECTED
    print_claims(claims)
    number = f"{len(claims)} claim{'' if len(claims) == 1 else 's'}"
    judged = [claim for claim in claims if not claim.is_stub]
    counted = count_by_kind([(claim.kind, claim.expect) for claim in judged])
    print(f"{number}{counted}{count_stubs(len(claims) - len(judged), alone=not judged)}")
    return AS_EXPECTED


def _findings(options: argparse.Namespace) -> int:
    from paper_checks.pages.findings_text import as_findings, findings_text

    ledger = ledger_of(options)
    papers = ledger.papers_called(options.papers_asked)
    if options.json is not None:
        _write_json([entry for paper in papers for entry in as_findings(paper)], options.json)
    else:
        whole = bool(options.papers_asked) or len(papers) == 1
        print_text("\n\n".join(findings_text(paper, encoding_of_output(), whole) for paper in papers), FINDINGS)
        if not whole:
            print("\n`rankproof findings PAPER` prints what holds, and each finding with its witness and advice.")
    return AS_EXPECTED


@worker_environment()
def _show(options: argparse.Namespace) -> int:
    from paper_checks.engine.last_results import LastResults, last_results

    if options.bibtex:
        from paper_checks.pages.citation import print_entries

        print_entries(ledger_of(options, options.ids), options.ids)
        return AS_EXPECTED
    last = LastResults() if options.again else last_results()
    own = bool(options.papers) or bool(entry_points(group=GROUP))
    ledger = None if last.tells(options.ids, own) else ledger_of(options, options.ids)
    encoding = encoding_of_output()
    findings = [] if ledger is None else _take_findings(options, ledger, encoding)
    if ledger is not None and (options.ids or not findings):
        ledger.select(options.ids)  # says what matches nothing
    statements: Names[Any] = last.names if ledger is None else ledger.names
    wanted, lists = set[str](), []
    for asked in options.ids:
        found = statements.find(asked)
        if len(found) > MOST_CARDS and not statements.is_exact(asked):
            lists.append((asked, found))
        else:
            wanted.update(one.id for one in found)
    ids = [one.id for one in statements.statements if one.id in wanted]
    cards = {id: last.card(id, options.budget, options.seed, encoding) for id in ids}
    as_expected = _measure_missing(cards, ledger, options, encoding)
    homes = {} if ledger is None else ledger.home
    told = [list_of(asked, many, homes[many[0].id].option if many[0].id in homes else "") for asked, many in lists]
    print_text("\n\n".join([*findings, *filter(None, cards.values()), *told]), CARDS)
    return AS_EXPECTED if as_expected else DIFFERENT


def _take_findings(options: argparse.Namespace, ledger: Ledger, encoding: str) -> list[str]:
    """Remove the ids of findings from those that are asked for, and return the findings as text."""
    from paper_checks.pages.findings_text import finding_text

    named = {id: known for id in options.ids if (known := ledger.finding(id))}
    options.ids = [id for id in options.ids if id not in named]
    return [finding_text(paper, finding, encoding) for paper, finding in named.values()]


def _measure_missing(
    cards: dict[str, str | None], ledger: Ledger | None, options: argparse.Namespace, encoding: str
) -> bool:
    """Measure the claims whose cards are not on disk, and fill these in; return whether all came out as recorded."""
    missing = [id for id, card in cards.items() if card is None]
    if not missing:
        return True
    from paper_checks.pages.card import card_text

    told = ", ".join(missing) if len(missing) <= MOST_CARDS else f"{len(missing)} claims"
    why = "" if options.again else ", because this code has no stored results for it"
    print(f"rankproof: measuring {told}{why}", file=sys.stderr)
    ledger = ledger or ledger_of(options, missing)
    run = _run(ledger.select(missing), ledger, options)
    cards.update((result.claim.id, card_text(result, encoding)) for result in run.results)
    return run.as_expected


@worker_environment()
def _report(options: argparse.Namespace) -> int:
    from figures.ledger import all_figures
    from paper_checks.ledger import LedgerError
    from paper_checks.pages.colours import print_summary
    from paper_checks.pages.manifest import run_manifest
    from paper_checks.pages.report import write_report, write_single_file
    from paper_checks.pages.report_pages import PICTURES, file_names, is_place_of_report

    out, single = Path(options.out), Path(options.single_file) if options.single_file else None
    ledger = ledger_of(options)
    chosen = chosen_claims(ledger, options)  # says what matches nothing, before a folder is made
    pages = [out / name for name in file_names([paper.name for paper in ledger.papers])]
    if single is not None:
        if is_place_of_report(single, out):
            raise LedgerError(f"--single-file {single}: a report may replace or remove this file; name another one")
        require_target(single)
        require_own([single], single.parent)
    require_writable(out)
    require_own(pages, out)
    run = _run(chosen, ledger, options)
    names = [paper.name for paper in run.papers]
    seen = {id for claim in chosen for id in claim.seen_in}
    figures = [
        one
        for one in all_figures()
        if (one.id in seen if options.ids else not options.paper or one.id.partition("/")[0] in names)
    ]
    drawn = _draw_figures(() if options.no_figures else figures, options, out / PICTURES)
    manifest = run_manifest(run)
    paths = [write_report(run, drawn, manifest, out)]
    paths += [write_single_file(run, drawn, manifest, single)] if single is not None else []
    print_summary(run)
    for entry in drawn:
        if entry.reason:
            print(f"not drawn: {entry.id}: {entry.reason}")
    print(*paths, sep="\n")
    return DIFFERENT if _compare_numbers(run, ledger, False, sys.stdout) or not run.as_expected else AS_EXPECTED
