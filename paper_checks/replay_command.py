"""The command `rankproof replay`: evaluate stored witnesses and certificates again, in a fresh process."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from paper_checks.engine.selection import CLAIM, add_choice, add_replay_seconds, chosen_claims, ledger_of
from workloads.arguments import add_command
from workloads.progress import report_progress
from workloads.terminal import encoding_of_output

if TYPE_CHECKING:
    from paper_checks.ledger import Ledger
    from paper_checks.replay import Stored

AS_EXPECTED, DIFFERENT = 0, 1
REPLAY_SECONDS = 0.15
"""Time to replay a stored file, on average."""


def declare(commands: Any) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "replay",
        _replay,
        "replay stored witnesses and certificates in a fresh process",
        "rankproof replay fedlrt/thm-2",
        several="ids",
    )
    add_choice(parser, f"{CLAIM}; or one reading of a claim, such as fedloru-v2/eq-1@one-matrix-x")
    add_replay_seconds(parser)
    parser.add_argument("--all", action="store_true", help="replay every stored file")
    parser.add_argument("--script", action="store_true", help="print a witness as a self-contained Python script")


def _replay(options: argparse.Namespace) -> int:
    from paper_checks.ledger import LedgerError
    from paper_checks.pages.card import stored_lines
    from paper_checks.pages.plain_mathematics import plain_text
    from paper_checks.replay import replay_in_fresh_process, replays_of, without_file
    from paper_checks.replaying.places import replay_places
    from paper_checks.replaying.script import script_of

    filtered = options.all or options.paper or options.verdict or options.print or options.fails
    if (options.ids and options.all) or not (options.ids or filtered):
        raise LedgerError("name claims or a paper, or use --all without names; `rankproof claims` lists all ids")
    ledger = ledger_of(options, () if filtered else [id.partition("@")[0] for id in options.ids])
    asked = tuple(id for one in options.ids for id in _by_id(one, ledger))
    of_readings = [id for id in asked if "@" in id]
    options.ids = [id.partition("@")[0] for id in asked]
    every: dict[str, tuple[Stored, ...]] = {}
    files: dict[str, tuple[Stored, ...]] = {}
    for claim in chosen_claims(ledger, options):
        every[claim.id] = own = ledger.home[claim.id].to_replay(claim.id)
        if not own and claim.id in options.ids:
            option = ledger.home[claim.id].option
            raise LedgerError(
                f"{claim.id} has no stored witness or certificate; `rankproof show {option}{claim.id}` checks it"
            )
        wanted = [id for id in of_readings if id.startswith(f"{claim.id}@")]
        unknown = [id for id in wanted if id not in [file.id for file in own]]
        if unknown:
            known = ", ".join(dict.fromkeys(file.id for file in own))
            raise LedgerError(f"no witness {unknown[0]} is stored; known witnesses: {known}")
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
            raise LedgerError(f"the witness of {file.id} has no replay; add one to the replays of its paper")
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
    with report_progress("replaying", number, "file") as bar:
        bar.expect(number * REPLAY_SECONDS, f"{number} files")
        for paper in ledger.papers:
            of_paper = [file for id, stock in files.items() if ledger.home[id] == paper for file in stock]
            answers = replay_in_fresh_process(
                paper.package,
                of_paper,
                options.replay_seconds,
                progress=lambda file: bar.advance(),
                phase=lambda text: bar.advance(text, 0),
            )
            found = zip(of_paper, replay_places(paper.package, of_paper), strict=True)
            places = {(file.id, file.kind): str(place) if place else None for file, place in found}
            for file, answer in zip(of_paper, answers, strict=True):
                confirmed += answer.confirmed
                outcome = "confirmed" if answer.confirmed else "NOT confirmed"
                if number <= len(options.ids) * 2:
                    bar.write(f"{file.id}: {file.kind} {outcome}")
                    bar.write("\n".join(stored_lines(file, answer, encoding_of_output(), places[file.id, file.kind])))
                else:
                    detail = plain_text(answer.detail, encoding_of_output())
                    at = f" [{place}]" if (place := places[file.id, file.kind]) else ""
                    bar.write(f"{file.id}: {file.kind} {outcome}: {detail}{at}")
    papers = dict.fromkeys(ledger.home[id] for id in files)
    lost = [missing for paper in papers for missing in without_file(paper.package, every)]
    for id, kind in lost:
        print(f"{id}: its {kind} is not stored")
    if len(files) > 1:
        claims = sum(map(bool, files.values()))
        missing = f", {len(lost)} not stored" if lost else ""
        print(f"{number} files of {claims} claims: {confirmed} confirmed, {number - confirmed} not{missing}")
    return AS_EXPECTED if confirmed == number and not lost else DIFFERENT


def _by_id(asked: str, ledger: Ledger) -> list[str]:
    """Return a name as the ids that it means; one that means several, and names no reading, stays."""
    name, at, reading = asked.partition("@")
    if ledger.names.is_exact(name):
        return [asked]
    found = [f"{claim.id}{at}{reading}" for claim in ledger.names.find(name)]
    return found if reading or len(found) == 1 else [asked]
