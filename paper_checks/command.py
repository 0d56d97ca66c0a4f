"""The command line of claims: `rankproof check`, `claims`, `show`, `replay` and `report`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures.command import add_figure_options
from paper_checks.selection import add_choice, add_filters, add_paper, add_papers, chosen_claims, ledger_of
from workloads.arguments import add_command, at_least, named
from workloads.files import is_standard_output, require_target, require_writable
from workloads.lifeline import worker_environment
from workloads.pool import RayPool, add_place_options, place_of, slots_of
from workloads.written import require_own, write_own

if TYPE_CHECKING:
    from figures.figure import Figure
    from paper_checks.claim import Claim
    from paper_checks.ledger import Ledger
    from paper_checks.replay import Stored
    from paper_checks.report import ReportFigure
    from paper_checks.result import Run

AS_EXPECTED, DIFFERENT = 0, 1


def declare(commands: Any) -> None:
    """Declares the commands that list and check claims."""
    check = add_command(
        commands,
        "check",
        _check,
        "run claims and compare their verdicts and grades with the recorded ones",
        "rankproof check fedlrt/ --verdict corrected --json verdicts.json",
        several="ids",
    )
    add_choice(check, "claim, or a prefix such as fedloru-v2/; default: all")
    _add_budget(check)
    add_place_options(check, "claims")
    _add_json(check, "write manifest and results as JSON", nargs=None)
    check.add_argument("--store", action="store_true", help="keep the witnesses found (for authors of claims)")

    claims = add_command(
        commands,
        "claims",
        _claims,
        "list the ledger of claims without running it",
        "rankproof claims --verdict refuted --paper fedlrt",
        several=None,
    )
    add_filters(claims)
    _add_json(claims, "as JSON; default: on standard output", nargs="?")

    show = add_command(
        commands,
        "show",
        _show,
        "cards of claims: statement, verdict, evidence, witness",
        "rankproof show fedloru-v2/prop-3.1",
        several="ids",
    )
    show.add_argument("ids", nargs="+", type=named, metavar="ID", help="claim, or a prefix such as fedloru-v2/")
    add_papers(show)
    _add_budget(show)

    replay = add_command(
        commands,
        "replay",
        _replay,
        "replay stored witnesses and certificates in a fresh process",
        "rankproof replay fedlrt/thm-2",
        several="ids",
    )
    add_choice(replay, "claim, one of its readings such as fedloru-v2/eq-1@one-matrix-x, or a prefix")
    replay.add_argument("--all", action="store_true", help="replay every claim that has one")
    replay.add_argument("--script", action="store_true", help="print a witness as a Python script that stands alone")

    report = add_command(
        commands,
        "report",
        _report,
        "check every claim, draw every figure, write one HTML file",
        "rankproof report --out report --no-figures",
        several=None,
    )
    report.add_argument(
        "--out", type=named, default="report", metavar="DIR", help="folder to write to; default: report"
    )
    report.add_argument("--no-figures", action="store_true", help="claims only")
    add_paper(report)
    add_papers(report)
    _add_budget(report)
    add_figure_options(report, stored=True)

    pages = add_command(
        commands,
        "pages",
        _pages,
        "write the pages of findings and proofs of your own papers",
        "rankproof pages --papers my-paper --out my-paper/docs",
        several=None,
    )
    add_papers(pages)
    pages.add_argument("--out", type=named, default="docs", metavar="DIR", help="folder to write to; default: docs")

    new = add_command(
        commands,
        "new-paper",
        _new_paper,
        "write a package for a paper of your own: two claims, a replay, tests",
        "rankproof new-paper my-paper && rankproof check --papers my-paper my-paper/",
        several=None,
    )
    new.add_argument("name", type=named, metavar="NAME", help="small letters, digits and hyphens")
    new.add_argument("--out", type=named, metavar="FOLDER", help="a folder that is new or empty; default: NAME")


def _add_budget(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--budget", choices=("quick", "full"), default="quick", help="sample sizes; default: quick")
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="root of all random streams; default: 0"
    )
    parser.add_argument(
        "--jobs",
        type=at_least(1),
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes; default: one per processor",
    )


def _add_json(parser: argparse.ArgumentParser, help: str, nargs: str | None) -> None:
    parser.add_argument(
        "--json",
        type=named,
        nargs=nargs,
        const="-" if nargs else None,
        metavar="FILE",
        help=f"{help}; - is standard output",
    )


def _checked(ledger: Ledger, options: argparse.Namespace, pool: RayPool | None = None) -> Run:
    from tqdm import tqdm

    from paper_checks.run import run

    claims = chosen_claims(ledger, options)
    with tqdm(total=len(claims), unit="claim", desc="checking", disable=None, leave=False) as bar:

        def advance(id: str) -> None:
            bar.set_postfix_str(id, refresh=False)
            bar.update()

        jobs = options.jobs if pool is None else len(pool.slots)
        return run(claims, ledger, budget=options.budget, seed=options.seed, jobs=jobs, progress=advance, pool=pool)


def _drawn(figures: Sequence[Figure], options: argparse.Namespace, out: Path) -> list[ReportFigure]:
    from tqdm import tqdm

    from figures.figure import Settings
    from paper_checks.report_figures import report_figures

    settings = Settings(options.scale or "quick", options.seed, options.device, options.root)
    with tqdm(total=len(figures), unit="figure", desc="drawing", disable=None, leave=False) as bar:

        def advance(id: str) -> None:
            bar.set_postfix_str(id, refresh=False)
            bar.update()

        return report_figures(
            figures,
            settings,
            out,
            stored=options.scale is None,
            recompute=options.recompute,
            jobs=options.jobs,
            progress=advance,
        )


def _write_json(value: Any, name: str) -> None:
    text = json.dumps(value, indent=1) + "\n"
    if is_standard_output(name):
        sys.stdout.write(text)
    else:
        write_own({Path(name): text.encode()}, Path(name).parent)


@worker_environment()
def _check(options: argparse.Namespace) -> int:
    from paper_checks.card import summary_table
    from paper_checks.ledger import LedgerError
    from paper_checks.manifest import run_manifest
    from paper_checks.run import store_findings

    ledger = ledger_of(options)
    alone = options.json is not None and is_standard_output(options.json)
    if options.json is not None and not alone:
        require_target(Path(options.json))
        require_own([Path(options.json)], Path(options.json).parent)
    place = place_of(options, LedgerError)
    if options.dry_run:
        return _told(
            chosen_claims(ledger, options), slots_of(place, LedgerError) if place else ("here",) * options.jobs
        )
    with ExitStack() as stack:
        pool = None if place is None else stack.enter_context(RayPool(place, LedgerError))
        run = _checked(ledger, options, pool)
    manifest = run_manifest(run) if options.json is not None or options.store else {}  # it takes seconds
    table = sys.stderr if alone else sys.stdout
    if options.json is not None:
        _write_json({"manifest": manifest, "claims": [result.as_json() for result in run.results]}, options.json)
    if options.store:
        for path in store_findings(run, ledger, manifest["commit"]):
            print(f"stored {path.name}; the next check replays it", file=table)
    print(summary_table(run), file=table)
    return AS_EXPECTED if run.as_expected else DIFFERENT


def _told(claims: Sequence[Claim], slots: Sequence[str]) -> int:
    """Tells what would be checked where; what a claim costs is known only once it is checked."""
    themes: dict[str, int] = {}
    for claim in claims:
        themes[claim.module] = themes.get(claim.module, 0) + 1
    for theme, count in sorted(themes.items(), key=lambda pair: -pair[1]):
        print(f"{count:4} claims  {theme}")
    where = ", ".join(f"{name} ({slots.count(name)})" for name in dict.fromkeys(slots))
    print(f"{len(claims)} claims of {len(themes)} themes, the largest first, to whichever of these is free: {where}")
    return AS_EXPECTED


def _claims(options: argparse.Namespace) -> int:
    from paper_checks.replay import stored

    ledger = ledger_of(options)
    claims = chosen_claims(ledger, options)
    if options.json is not None:
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
                "expected_grade": c.grade,
                "says": c.says,
                "replay": f"rankproof replay {c.id}" if stored(ledger.home[c.id].folder, c.id) else None,
            }
            for c in claims
        ]
        _write_json(fields, options.json)
        return AS_EXPECTED
    width = max(len(claim.id) for claim in claims)
    for claim in claims:
        print(f"{claim.id:{width}}  {claim.expect:22}  {claim.grade or '-':11}  {claim.where}")
    print(f"{len(claims)} claims")
    return AS_EXPECTED


@worker_environment()
def _show(options: argparse.Namespace) -> int:
    from paper_checks.card import card_text

    run = _checked(ledger_of(options, options.ids), options)
    print("\n\n".join(card_text(result, sys.stdout.encoding or "utf-8") for result in run.results))
    return AS_EXPECTED if run.as_expected else DIFFERENT


def _replay(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from paper_checks.card import stored_lines
    from paper_checks.ledger import LedgerError
    from paper_checks.plain_mathematics import plain_text
    from paper_checks.replay import replay_in_fresh_process, replays_of, stored, without_file
    from paper_checks.script import script_of

    filtered = options.all or options.paper or options.verdict
    if (options.ids and options.all) or not (options.ids or filtered):
        raise LedgerError("name claims or a paper, or --all alone; `rankproof claims` lists all ids")
    asked = tuple(options.ids)
    of_readings = [id for id in asked if "@" in id]
    options.ids = [id.partition("@")[0] for id in options.ids]
    ledger = ledger_of(options, () if filtered else options.ids)
    every: dict[str, tuple[Stored, ...]] = {}
    files: dict[str, tuple[Stored, ...]] = {}
    for claim in chosen_claims(ledger, options):
        every[claim.id] = own = stored(ledger.home[claim.id].folder, claim.id)
        if not own and claim.id in options.ids:
            raise LedgerError(f"{claim.id} has no stored witness or certificate; `rankproof show {claim.id}` checks it")
        wanted = [id for id in of_readings if id.startswith(f"{claim.id}@")]
        unknown = [id for id in wanted if id not in [file.id for file in own]]
        if unknown:
            known = ", ".join(dict.fromkeys(file.id for file in own))
            raise LedgerError(f"there is no stored witness {unknown[0]}; there are {known}")
        files[claim.id] = tuple(file for file in own if not wanted or file.id in wanted)
    if options.script:
        every_one = [file for stock in files.values() for file in stock if file.kind == "witness"]
        witnesses = [file for file in every_one if file.id in asked] or every_one
        if len(witnesses) != 1:
            ids = f": name {' or '.join(file.id for file in witnesses)}" if 1 < len(witnesses) < 6 else ""
            raise LedgerError(f"--script prints one witness, and these claims have {len(witnesses)}{ids}")
        (file,) = witnesses
        replay = replays_of(ledger.home[file.claim].package).get((file.id, file.kind))
        if replay is None:
            raise LedgerError(f"no replay is written for the witness of {file.id}; add one to the replays of its paper")
        try:
            script = script_of(replay, file.values, ledger.select([file.claim])[0].where)
        except (AssertionError, OSError, SyntaxError, ValueError) as error:
            remedy = "end it with `return Violation(...)` in a function of its module"
            raise LedgerError(
                f"the replay of {file.id} cannot be a script: {error or 'another form'}; {remedy}"
            ) from error
        print(script, end="")
        return AS_EXPECTED
    number = sum(map(len, files.values()))
    if not number:
        raise LedgerError("none of these claims has a stored witness or certificate; `rankproof check` checks them")
    confirmed = 0
    with tqdm(total=number, unit="file", desc="replaying", disable=None, leave=False) as bar:
        for paper in ledger.papers:
            of_paper = [file for id, stock in files.items() if ledger.home[id] == paper for file in stock]
            answers = replay_in_fresh_process(paper.package, of_paper, progress=lambda file: bar.update())
            for file, answer in zip(of_paper, answers, strict=True):
                confirmed += answer.confirmed
                outcome = "confirmed" if answer.confirmed else "NOT confirmed"
                if number <= len(options.ids) * 2:
                    bar.write(f"{file.id}: {file.kind} {outcome}")
                    bar.write("\n".join(stored_lines(file, answer, sys.stdout.encoding or "utf-8")))
                else:
                    detail = plain_text(answer.detail, sys.stdout.encoding or "utf-8")
                    bar.write(f"{file.id}: {file.kind} {outcome}: {detail}")
    papers = dict.fromkeys(ledger.home[id] for id in files)
    lost = [missing for paper in papers for missing in without_file(paper.package, every)]
    for id, kind in lost:
        print(f"{id}: its {kind} is not stored")
    if len(files) > 1:
        claims = sum(map(bool, files.values()))
        missing = f", {len(lost)} not stored" if lost else ""
        print(f"{number} files of {claims} claims: {confirmed} confirmed, {number - confirmed} not{missing}")
    return AS_EXPECTED if confirmed == number and not lost else DIFFERENT


@worker_environment()
def _report(options: argparse.Namespace) -> int:
    from figures.ledger import all_figures
    from paper_checks.card import summary_table
    from paper_checks.manifest import run_manifest
    from paper_checks.report import write_report

    out = Path(options.out)
    require_writable(out)
    ledger = ledger_of(options)
    require_own([out / "index.html", *(out / f"map-{paper.name}.svg" for paper in ledger.papers)], out)
    run = _checked(ledger, options)
    names = [paper.name for paper in run.papers]
    figures = [one for one in all_figures() if not options.paper or one.id.partition("/")[0] in names]
    drawn = _drawn(() if options.no_figures else figures, options, out / "figures")
    path = write_report(run, drawn, run_manifest(run), out)
    print(summary_table(run))
    for entry in drawn:
        if entry.reason:
            print(f"not drawn: {entry.id}: {entry.reason}")
    print(path)
    return AS_EXPECTED if run.as_expected else DIFFERENT


def _pages(options: argparse.Namespace) -> int:
    from paper_checks.ledger import LedgerError
    from paper_checks.own_papers import own_papers, pages_of

    papers = own_papers(options.papers)
    if not papers:
        raise LedgerError("name a paper of your own by --papers; those of the toolkit have their pages in its docs")
    require_writable(Path(options.out))
    for path in pages_of(papers, Path(options.out)):
        print(path)
    return AS_EXPECTED


def _new_paper(options: argparse.Namespace) -> int:
    from paper_checks.new_paper import write_paper

    folder = options.out or options.name
    for path in write_paper(options.name, Path(folder)):
        print(path)
    print(f"checked by `rankproof check --papers {folder} {options.name}/`")
    return AS_EXPECTED
