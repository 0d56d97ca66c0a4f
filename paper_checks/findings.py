"""Pages of findings in ``docs/``, written from the ledger, the stored witnesses and their replays.

``python -m paper_checks.findings docs`` writes them again. They hold no result of a run: verdicts are the ones on
record, which every check confirms or turns red, and witnesses are replayed while the page is written.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path

from figures.stored_numbers import FOLDER
from paper_checks.claim import Claim, Importance, Reading
from paper_checks.formal.theorems import FormalTheorem, formal_theorems
from paper_checks.ledger import PAPERS
from paper_checks.pages.card import (
    COUNTED,
    STATED,
    VERDICT_MEANS,
    count_verdicts,
    describe_grade,
    describe_kinds,
    describe_verdict,
    end_sentence,
    join_words,
    say_meaning,
    sentence_case,
    shorten,
)
from paper_checks.pages.markdown import anchor_of, mathematics
from paper_checks.paper import Page, Paper
from paper_checks.replay import REPLAY_LIMIT, Replayed, Stored, replay_in_fresh_process, replays_of
from paper_checks.replaying.arguments import Argument, argument_of
from paper_checks.replaying.places import check_place, replay_places
from runs.format import printable
from workloads.arguments import write_documents
from workloads.files import write_whole
from workloads.written import FolderRecord, write_own

PARTS: Mapping[Importance, str] = {"result": "Results", "step": "Steps, section by section", "detail": "Details"}
"""The parts of a page, in their order."""
MOST_IN_SHORT = 3
"""Number of findings in the first lines of a page."""
_CORRECTED = " in the corrected form"
_FOLD = re.compile(r"</details>|<details(?: open)?><summary>[^<]*</summary>")
"""Tags that the pages have on purpose, each in a line of its own."""
_SHOWN = re.compile(r"(`[^`\n]+`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def findings_page(paper: Paper, page: Page, folder: Path, replay_seconds: float = REPLAY_LIMIT) -> str:
    """Return one page in Markdown.

    Args:
        paper: the paper it belongs to.
        page: what it covers.
        folder: where it belongs; its ``figures`` hold the manifests of figures that claims are seen in.
        replay_seconds: most seconds for one evaluation of a replay.
    """
    told = [paper.read_theme(theme) for theme in page.themes]
    stubs = [claim for _, group in told for claim in group if claim.is_stub]
    told = [(about, [claim for claim in group if not claim.is_stub]) for about, group in told]
    claims = [claim for _, group in told for claim in group]
    files = {claim.id: paper.to_replay(claim.id) for claim in claims}
    whole = [file for of_claim in files.values() for file in of_claim]
    answers = iter(replay_in_fresh_process(paper.package, whole, replay_seconds))
    replayed = {id: [(file, next(answers)) for file in of_claim] for id, of_claim in files.items()}
    stated = [claim for claim in claims if claim.kind in STATED]
    others = [claim for claim in claims if claim.kind not in STATED]
    tally = "; ".join(
        f"{describe_kinds([claim.kind for claim in some])}: {_tally(some)}" for some in (stated, others) if some
    )
    tally += "" if not stubs else f"{'; ' if tally else ''}{len(stubs)} not checked yet"
    lines = [
        f"# {page.title}",
        "",
        *_in_short(paper, page, claims),
        f"{tally}. [How to read this page](#how-to-read-this-page) defines these words.",
        "",
        page.about,
        "",
        "## Findings",
        "",
        *_findings(paper, claims),
    ]
    if page.headlines:
        lines += ["", "## What holds", ""]
    for headline in page.headlines:
        links = ", ".join(f"[{id}](#{anchor_of(id)})" for id in headline.claims)
        lines.append(f"- {mathematics(headline.says)} {links}")
    formal = formal_theorems(paper)
    for importance, title in PARTS.items():
        part = [(about, [claim for claim in group if claim.importance == importance]) for about, group in told]
        if any(group for _, group in part):
            lines += ["", f"## {title}"]
        for about, group in part:
            folded = importance != "result"
            lines += _section(about.rstrip("."), group, replayed, formal, folder, paper, folded)
    seen = list(dict.fromkeys(id for claim in claims for id in claim.seen_in))
    if seen:
        lines += [
            "",
            "## On real networks",
            "",
            "What the figures at laptop scale show, with the command that redraws each.",
            "",
        ]
        lines += [f"- {_find_result(folder, id)} `rankproof figure {id} --scale laptop`" for id in seen]
    lines += _list_stubs(stubs)
    for listing in page.listings:
        lines += ["", f"## {listing.title}", "", *listing.lines()]
    lines += ["", "## How to read this page", "", *_how_to_read(paper)]
    return "\n".join(map(_without_html, lines)) + "\n"


def _list_stubs(stubs: Sequence[Claim]) -> Iterator[str]:
    """Yield a folded list of the claims without a check, a line for each."""
    if not stubs:
        return
    yield from ("", "## Not checked yet", "", f"<details><summary>{len(stubs)} without a check</summary>", "")
    for claim in stubs:
        meant = say_meaning(claim)
        said = f" {meant}" if meant else ""
        yield f"- {claim.id}: {mathematics(claim.where)}.{mathematics(said)}"
    yield from ("", "</details>")


def _option(paper: Paper) -> str:
    """Return the option that names a paper outside of the toolkit, with a blank; from the folder of its project."""
    return "--papers . " if paper.is_outside else ""


def _findings(paper: Paper, claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the findings that explain claims of a page, the most consequential first, with their claims."""
    here = {claim.id: claim for claim in claims}
    number = 0
    for finding in paper.findings:
        entries = [here[id] for id in finding.entries if id in here]
        if not entries:
            continue
        number += 1
        headline = mathematics(finding.headline.rstrip("."))
        said = mathematics(f"{end_sentence(finding.witness)} {end_sentence(finding.advice)}")
        yield f"{number}. **{headline}.** *This {finding.changes}.* {said}"
        yield ""
        yield from (f"   - {_entry_line(claim)}" for claim in entries)
        yield ""
    left = [claim for claim in claims if not claim.is_plain and paper.finding_of(claim.id) is None]
    unchecked = [claim for claim in left if claim.expect == "not checkable here"]
    off = [claim for claim in left if claim not in unchecked]
    yield from (f"- {_entry_line(claim)}" for claim in off)
    if off and unchecked:
        yield ""
    if unchecked:
        links = ", ".join(f"[{claim.id}](#{anchor_of(claim.id)})" for claim in unchecked)
        yield f"Not checkable here ({len(unchecked)}): {links}."
    elif not number and not off and claims:
        yield "Every claim holds as printed."


def _entry_line(claim: Claim) -> str:
    verdict = describe_verdict(claim.expect, claim.print)
    return f"[{claim.id}](#{anchor_of(claim.id)}) ({verdict}){mathematics(_because(claim))}"


def _section(
    about: str,
    group: Sequence[Claim],
    replayed: Mapping[str, Sequence[tuple[Stored, Replayed]]],
    formal: Mapping[str, Sequence[FormalTheorem]],
    folder: Path,
    paper: Paper,
    folded: bool,
) -> Iterator[str]:
    """Yield the claims of one theme, folded where they are steps or details without a finding."""
    if not group:
        return
    yield ""
    heading = f"### {mathematics(about)}"
    about = escape(about, quote=False)
    opened = " open" if any(paper.finding_of(claim.id) for claim in group) else ""
    yield f"<details{opened}><summary>{about} ({len(group)}: {_tally(group)})</summary>" if folded else heading
    for claim in group:
        yield ""
        yield from _entry(claim, replayed[claim.id], formal.get(claim.id, ()), folder, paper)
    if folded:
        yield ""
        yield "</details>"


def _in_short(paper: Paper, page: Page, claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the findings of a page that change most, and the first thing that holds; nothing if it has neither."""
    here = {claim.id for claim in claims}
    found = [one for one in paper.findings if here & set(one.entries)][:MOST_IN_SHORT]
    if not (found or page.headlines):
        return
    yield from ("In short:", "")
    yield from (f"- {mathematics(end_sentence(one.headline))} *This {one.changes}.*" for one in found)
    yield from (f"- {mathematics(one.says)} *This holds.*" for one in page.headlines[:1])
    yield ""


def _how_to_read(paper: Paper) -> Iterator[str]:
    """Yield the meaning of the verdicts, and the commands that repeat what a page says."""
    option = _option(paper)
    yield "A verdict is about a statement as its author means it. A second word says how the printed form differs."
    yield ""
    yield (
        "The word in brackets after a verdict is its grade, from the strongest to the weakest: *kernel* (Coq checked a "
        "formal proof), *proof* (a computer verified it exactly), *certified* (a numerical bound with its gap), "
        "*statistical* (random draws) or *search* (a search found no violation)."
    )
    yield ""
    yield from (f"- A statement that is *{verdict}* {VERDICT_MEANS[verdict]}" for verdict in COUNTED[1:4])
    yield (
        "- For assumptions, definitions, settings and algorithms, *holds* means, in this order, that they can be met, "
        "are well posed, are complete, or run."
    )
    yield from ("", "A witness satisfies every assumption. Separate code evaluates it again to write this page.", "")
    yield f"- `rankproof replay {option}ID` repeats that evaluation."
    yield f"- `rankproof check {option}ID` repeats the whole check."
    yield f"- `rankproof show {option}ID` prints scope, mutants and sensitivity."
    run_here = " Run these commands in the folder of the package." if option else ""
    yield from ("", f"`{f'{paper.rewritten} {option}'.rstrip()}` writes this page from the ledger of claims.{run_here}")


def _tally(claims: Sequence[Claim]) -> str:
    return count_verdicts(claim.expect for claim in claims)


def _because(claim: Claim) -> str:
    return f": {claim.because}" if claim.because and not claim.is_plain else ""


def write_pages(
    folder: Path, papers: Sequence[Paper] = PAPERS, replace: bool = False, replay_seconds: float = REPLAY_LIMIT
) -> list[Path]:
    """Write every page of these papers into a folder, remove the proofs that were dropped, and return the paths.

    Args:
        folder: Folder of the pages.
        papers: Papers that have pages.
        replace: Replace pages that are there, even where no record of the folder says that they were written so.
        replay_seconds: Most seconds for one evaluation of a replay.

    Raises:
        OSError: A page cannot be written, or one is there that was not written so.
    """
    contents: dict[Path, bytes] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for paper in papers:
        for page in paper.pages:
            path = folder / f"{page.name}.md"
            contents[path] = findings_page(paper, page, folder, replay_seconds).encode()
        for name, text in proof_pages(paper, replay_seconds).items():
            path = folder / "proofs" / f"{name}.md"
            contents[path] = text.encode()
    for path in contents:
        path.parent.mkdir(parents=True, exist_ok=True)
    names = {_proof_name(f"{claim.paper}/") for paper in papers for claim in paper.claims()}
    gone = {path for name in names for path in (folder / "proofs").glob(f"{name}*.md")} - set(contents)
    if replace:
        write_whole(contents)
        for path in gone:
            path.unlink()
    else:
        write_own(contents, folder)
        FolderRecord(folder).remove(gone)
    return list(contents)


def proof_pages(paper: Paper, replay_seconds: float = REPLAY_LIMIT) -> dict[str, str]:
    """Return a page in Markdown for every proof of a paper, by its name in ``docs/proofs``."""
    replays = replays_of(paper.package)
    claims = {claim.id: claim for claim in paper.claims()}
    on_file = [file for id in claims for file in paper.to_replay(id)]
    refuted = {file.id for file in on_file if file.kind == "witness"}
    files = [file for file in on_file if file.kind == "certificate"]
    answers = replay_in_fresh_process(paper.package, files, replay_seconds)
    return {
        _proof_name(file.id): _proof_page(
            claims[file.claim],
            file,
            file.id in refuted,
            argument_of(replays[file.id, file.kind]),
            answer,
            _option(paper),
        )
        for file, answer in zip(files, answers, strict=True)
    }


def _proof_page(claim: Claim, file: Stored, refuted: bool, argument: Argument, answer: Replayed, option: str) -> str:
    """Yield a proof's page: of the correction where its reading has a witness, else of the reading itself."""
    reading = _reading_of(claim, file)
    kind = f"in the reading “{reading.name}”" if reading.says else "as printed"
    says = ("In this reading", reading.says)
    if refuted:
        kind = f"as corrected; it does not hold {kind}"
        assert claim.correction is not None, f"{file.id} has a witness, and a proof of no correction"
        says = ("As corrected", claim.correction.says)
    lines = [f"# Proof of {claim.id}", "", f"{mathematics(claim.where)}; {kind}.", "", f"> {mathematics(claim.says)}"]
    lines += ["", f"{says[0]}:", "", f"> {mathematics(says[1])}"] if says[1] else []
    lines += ["", "## Setting", *_space_out(argument.setting)] if argument.setting else []
    lines += ["", "## Proof", *_space_out(argument.proof)]
    for name, text in argument.lemmas:
        lines += ["", f"### {sentence_case(name.replace('_', ' '))}", *_space_out(text)]
    checked = f"{sentence_case(mathematics(answer.detail))}." if answer.confirmed else "NOT VERIFIED."
    if answer.proves:
        constants = "; ".join(f"{name} = {_plain(value)}" for name, value in answer.proves.items())
        checked += f" Its numbers, as the program names them: {constants}."
    lines += [
        "",
        "## What a machine verifies",
        "",
        checked,
        "",
        f"`rankproof replay {option}{claim.id}` repeats it, by [{argument.source}](../../{argument.source}).",
    ]
    return "\n".join(map(_without_html, lines)) + "\n"


def _space_out(paragraphs: Sequence[str]) -> Iterator[str]:
    for text in paragraphs:
        yield ""
        yield mathematics(text)


def _proof_name(id: str) -> str:
    return id.replace("/", "--").replace("@", "--")


def _entry(
    claim: Claim,
    replayed: Sequence[tuple[Stored, Replayed]],
    formal: Sequence[FormalTheorem],
    folder: Path,
    paper: Paper,
) -> Iterator[str]:
    """Yield one claim: the printed text; unless it simply holds, the witness and what holds; then its proof."""
    yield f"#### {claim.id}"
    yield ""
    also = f" (also {', '.join(claim.also)})" if claim.also else ""
    kind = f"{claim.kind.capitalize()}, " if claim.kind != "statement" else ""
    where, because = mathematics(claim.where), mathematics(_because(claim)).rstrip(".")
    verdict = describe_verdict(claim.expect, claim.print).capitalize()
    found = mathematics(describe_grade(claim.grade, claim.family))
    grade = f" ({found})" if found else ""
    yield f"{kind}{where}{also}. **{verdict}**{grade}{because}."
    yield ""
    yield f"> {mathematics(claim.says)}"
    if meant := say_meaning(claim):
        yield ""
        yield mathematics(meant)
    if claim.because and claim.is_plain:
        yield ""
        yield f"In another reading it fails: {mathematics(claim.because)}"
    if claim.ambiguous:
        yield ""
        yield f"Ambiguous: {mathematics(claim.ambiguous)}."
    refuted = {file.id for file, _ in replayed if file.kind == "witness"}
    yield from _readings(claim, refuted)
    for file, answer in replayed:
        if file.kind == "witness":
            yield ""
            found = answer.detail if answer.exact else _round_numbers(answer.detail)
            of = _name_reading(claim, file, "against")
            yield f"Witness{of}: {_values(file.values, answer.words)}. Replayed: {found}."
    if claim.correction is not None:
        yield ""
        yield f"Corrected form: {mathematics(claim.correction.says)}"
    elif claim.expect == "refuted" and claim.control is not None:
        yield ""
        yield f"What passes the same check: {mathematics(claim.control.says)}"
    elif claim.expect == "not checkable here":
        yield ""
        yield f"Reason: {mathematics(end_sentence(claim.expect_reason))}"
    for file, answer in replayed:
        if file.kind == "certificate":
            yield ""
            found = " of the corrected form" if file.id in refuted else _name_reading(claim, file, "for")
            link = f"([in full](proofs/{_proof_name(file.id)}.md))"
            yield f"Outline of the proof{found} {link}: {mathematics(answer.detail)}."
    if formal:
        names = ", ".join(f"`{one.name}` ({one.role})" for one in formal)
        own = ", ".join(f"`{one.name}` in `{one.file}` ({one.role}, {one.status})" for one in formal if one.outside)
        yield ""
        yield (
            f"Theorems in Coq: {own}."
            if own
            else f"Checked by Coq's kernel ([statements](kernel.md#{anchor_of(claim.id)})): {names}."
        )
    without = _without_proof(claim, replayed)
    if without is not None and (compared := _describe_comparison(claim)):
        yield ""
        done = "proved" if claim.grade in ("kernel", "proof") else "checked"
        yield f"What we {done}{without}: {mathematics(compared)}"
    if claim.seen_in:
        yield ""
        yield f"On real networks: {', '.join(_picture(folder, id) for id in claim.seen_in)}."
    yield ""
    places = _places(claim, [file for file, _ in replayed], paper.package)
    yield f"`rankproof check {_option(paper)}{claim.id}`: {places}"


def _places(claim: Claim, files: Sequence[Stored], package: str) -> str:
    """Return the functions that check and replay a claim, with their files; lines would change with every edit."""
    check, found = check_place(claim), dict.fromkeys(filter(None, replay_places(package, files)))
    by_file: dict[str, list[str]] = {}
    for place in found:
        by_file.setdefault(place.file, []).append(f"`{place.name}`")
    replays = "; ".join(f"{', '.join(names)} in `{file}`" for file, names in by_file.items())
    return f"`{check.name}` in `{check.file}`" + (f"; replayed by {replays}" if replays else "") + "."


def _without_proof(claim: Claim, replayed: Sequence[tuple[Stored, Replayed]]) -> str | None:
    """Describe the established forms of a claim without a stored proof; empty if it holds, None if all have one."""
    on_file = {kind: {file.id for file, _ in replayed if file.kind == kind} for kind in ("witness", "certificate")}
    if claim.is_plain and len(claim.readings) == 1:
        return "" if not replayed else None
    if len(claim.readings) == 1 and claim.correction is not None:
        return _CORRECTED if claim.id not in on_file["certificate"] else None
    if len(claim.readings) > 1 and claim.expect in ("holds", "corrected", "ambiguous"):
        pairs = zip(claim.readings, claim.file_ids(), strict=True)
        names = [reading.name for reading, id in pairs if not any(id in ids for ids in on_file.values())]
        return _in_readings(names) if names else None
    return None


def _describe_comparison(claim: Claim) -> str:
    """Return the judge's comparison, by the first line of its docstring, if any, without the clauses on its switches.

    >>> from types import SimpleNamespace
    >>> _describe_comparison(SimpleNamespace(judge=SimpleNamespace(__doc__="Every cell; ``least`` is a switch.")))
    'every cell.'
    """
    line = (claim.judge.__doc__ or "").strip().split("\n")[0]
    clauses = [clause for clause in re.split(r"(?<=;) ", line) if not re.match(r"(without )?``", clause)]
    text = " ".join(clauses).rstrip(";.").replace("``", "`")
    if not text:
        return ""
    first = text.split()[0]  # a name such as RoLoRA keeps its capital
    return f"{text[0].lower() if not first[1:] or first[1:].strip(',;:').islower() else text[0]}{text[1:]}."


def _readings(claim: Claim, refuted: Collection[str]) -> Iterator[str]:
    """Yield the readings of a claim as a table, unless there is the literal one alone; one that fails has a witness.

    Where the claim is not checkable here the others are open.
    """
    if not any(reading.says for reading in claim.readings):
        return
    yield from ("", "| reading | states | why | found |", "|---|---|---|---|")
    other = "is open" if claim.expect == "not checkable here" else "holds"
    for reading, id in zip(claim.readings, claim.file_ids(), strict=True):
        cells = (reading.name, reading.says or "as printed", reading.why, "does not hold" if id in refuted else other)
        yield f"| {' | '.join(mathematics(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _reading_of(claim: Claim, file: Stored) -> Reading:
    return claim.readings[claim.file_ids().index(file.id)]


def _name_reading(claim: Claim, file: Stored, word: str = "in") -> str:
    """Return which reading a file is of, where the claim has several."""
    return _in_readings([_reading_of(claim, file).name], word) if len(claim.readings) > 1 else ""


def _in_readings(names: Sequence[str], word: str = "in") -> str:
    """Return readings as an adverbial.

    >>> _in_readings(["literal", "per round"]), _in_readings(["literal"], "against")
    (' in the readings “literal” and “per round”', ' against the reading “literal”')
    """
    return f" {word} the reading{'' if len(names) == 1 else 's'} {join_words([f'“{name}”' for name in names])}"


def _file(figure: str) -> str:
    return figure.replace("/", "-")


def _find_result(folder: Path, figure: str) -> str:
    """Return a figure, and what its stored manifest says was found."""
    manifest = folder / "figures" / f"{_file(figure)}.manifest.json"
    if not manifest.exists():
        return f"{_picture(folder, figure)}."
    found = json.loads(manifest.read_text(encoding="utf-8"))["found"]
    return f"{_picture(folder, figure)}: {mathematics(_round_numbers(found))}"


def _picture(folder: Path, figure: str) -> str:
    """Return a link to the picture of a figure; one that takes hours may not be stored yet.

    Pages of a paper of one's own lie in another folder than the figures of the toolkit.
    """
    place = f"figures/{_file(figure)}.png"
    if (folder / place).exists():
        return f"[{figure}]({place})"
    stored = (FOLDER / f"{_file(figure)}.csv").exists()
    return f"{figure} ({'stored in the toolkit' if stored else 'not drawn at laptop scale yet'})"


def _without_html(part: str) -> str:
    """Return a part of a page in which no text of a claim is a tag: `<` before a name is written as a character.

    Code and formulas stay, for Markdown shows them as they are. Control characters are shown as escapes.
    """
    if _FOLD.fullmatch(part):
        return part
    pieces = _SHOWN.split("\n".join(map(printable, part.split("\n"))))
    return "".join(piece if place % 2 else _TAG.sub("&lt;", piece) for place, piece in enumerate(pieces))


def _values(values: Mapping[str, object], words: Mapping[str, str]) -> str:
    told = {name: f" ({words[name]})" if name in words else "" for name in values}
    return "; ".join(f"{name}{told[name]} = {shorten(_plain(value), 90)}" for name, value in values.items())


def _plain(value: object) -> str:
    """Return a stored value: fractions and decimals in strings as they stand, floats to four digits."""
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {_plain(part)}' for name, part in value.items())}}}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _round_numbers(text: str) -> str:
    """Round decimals to four digits, so the last bits of a processor do not show."""
    return _DECIMAL.sub(lambda match: f"{float(match.group(0)):.4g}", text)


if __name__ == "__main__":
    sys.exit(
        write_documents("paper_checks.findings", "the pages of findings", "docs", partial(write_pages, replace=True))
    )
