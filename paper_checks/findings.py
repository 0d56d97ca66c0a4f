"""Pages of findings in ``docs/``, written from the ledger, the stored witnesses and their replays.

``python -m paper_checks.findings docs`` writes them anew. They hold no result of a run: verdicts are the ones on
record, which every check confirms or turns red, and witnesses are replayed while the page is written.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from paper_checks.arguments import Argument, argument_of
from paper_checks.card import sentence_case, shortened
from paper_checks.claim import VERDICTS, Claim
from paper_checks.ledger import PAPERS
from paper_checks.paper import Page, Paper
from paper_checks.replay import Replayed, Stored, replay_in_fresh_process, replays_of, stored

_FORMULA = re.compile(r"(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)
_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def findings_page(paper: Paper, page: Page, folder: Path) -> str:
    """One page in Markdown.

    Args:
        paper: the paper it belongs to.
        page: what it covers.
        folder: where it belongs; its ``figures`` hold the manifests of figures that claims are seen in.
    """
    told = [paper.told(theme) for theme in page.themes]
    claims = [claim for _, group in told for claim in group]
    files = {claim.id: stored(paper.folder, claim.id) for claim in claims}
    whole = [file for of_claim in files.values() for file in of_claim]
    answers = iter(replay_in_fresh_process(paper.package, whole))
    replayed = {id: [(file, next(answers)) for file in of_claim] for id, of_claim in files.items()}
    counts = Counter(claim.expect for claim in claims)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    lines = [
        f"# {page.title}", "",
        f"{page.about} {len(claims)} statements: {tally}.", "",
        "Written by `make docs` from the ledger of claims. *Corrected* means: does not hold as printed, and the "
        "statement given holds by the same check. *Refuted* means: does not hold as printed, and no correction is "
        "established. A witness satisfies every assumption and is evaluated a second time by separate code when this "
        "page is written; `rankproof replay ID` repeats that, `rankproof check ID` repeats the whole check, and "
        "`rankproof show ID` prints scope, mutants and sensitivity.", "",
        "## In short", "",
    ]  # fmt: skip
    for headline in page.headlines:
        links = ", ".join(f"[{id}](#{_anchor(id)})" for id in headline.claims)
        lines.append(f"- {_mathematics(headline.says)} {links}")
    off = [claim for claim in claims if claim.expect in ("refuted", "corrected")]
    lines += ["", f"Not as printed ({len(off)}): {', '.join(f'[{c.id}](#{_anchor(c.id)})' for c in off)}."]
    for about, group in told:
        if group:
            lines += ["", f"## {about.rstrip('.')}"]
        for claim in group:
            lines += ["", *_entry(claim, replayed[claim.id])]
    seen = list(dict.fromkeys(id for claim in claims for id in claim.seen_in))
    if seen:
        lines += [
            "",
            "## On real networks",
            "",
            "What the figures at laptop scale show, with the command that redraws each.",
            "",
        ]
        lines += [
            f"- [{id}](figures/{_file(id)}.png): {_found(folder, id)} `rankproof figure {id} --scale laptop`"
            for id in seen
        ]
    for listing in page.listings:
        rows = [listing.columns, tuple("---" for _ in listing.columns), *listing.rows]
        lines += ["", f"## {listing.title}", "", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def write_pages(folder: Path) -> list[Path]:
    """Writes every page of every paper into a folder and returns their paths."""
    written = []
    for paper in PAPERS:
        for page in paper.pages:
            path = folder / f"{page.name}.md"
            path.write_text(findings_page(paper, page, folder), encoding="utf-8")
            written.append(path)
        for name, text in proof_pages(paper).items():
            path = folder / "proofs" / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written


def proof_pages(paper: Paper) -> dict[str, str]:
    """A page in Markdown for every proof of a paper, by its name in ``docs/proofs``."""
    replays = replays_of(paper.package)
    claims = {claim.id: claim for claim in paper.claims()}
    files = [file for id in claims for file in stored(paper.folder, id) if file.kind == "certificate"]
    answers = replay_in_fresh_process(paper.package, files)
    return {
        _proof_name(file.id): _proof_page(claims[file.id], argument_of(replays[file.id, file.kind]), answer)
        for file, answer in zip(files, answers, strict=True)
    }


def _proof_page(claim: Claim, argument: Argument, answer: Replayed) -> str:
    kind = "as printed" if claim.expect == "holds" else "as corrected; it does not hold as printed"
    lines = [f"# Proof of {claim.id}", "", f"{claim.where}; {kind}.", "", f"> {_mathematics(claim.says)}"]
    if claim.correction is not None:
        lines += ["", "As corrected:", "", f"> {_mathematics(claim.correction.says)}"]
    if answer.proves:
        constants = "; ".join(f"{name} = {_plain(value)}" for name, value in answer.proves.items())
        lines += ["", f"Constants of this statement, and sizes of the machine's steps: {constants}."]
    lines += ["", "## Setting", *_spaced(argument.setting)] if argument.setting else []
    lines += ["", "## Proof", *_spaced(argument.proof)]
    for name, text in argument.lemmas:
        lines += ["", f"### {sentence_case(name.strip('_').replace('_', ' '))}", *_spaced(text)]
    checked = f"{_mathematics(answer.detail)}." if answer.confirmed else "NOT VERIFIED."
    lines += [
        "", "## What a machine verifies", "", checked, "",
        f"`rankproof replay {claim.id}` repeats it, by [{argument.source}](../../{argument.source}).",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _spaced(paragraphs: Sequence[str]) -> Iterator[str]:
    for text in paragraphs:
        yield ""
        yield _mathematics(text)


def _proof_name(id: str) -> str:
    return id.replace("/", "--")


def _entry(claim: Claim, replayed: Sequence[tuple[Stored, Replayed]]) -> Iterator[str]:
    """One claim: what is printed, and, unless it simply holds, the witness and what holds instead; then its proof."""
    yield f"### {claim.id}"
    yield ""
    also = f" (also {', '.join(claim.also)})" if claim.also else ""
    yield f"{claim.where}{also}. **{claim.expect.capitalize()}**."
    yield ""
    yield f"> {_mathematics(claim.says)}"
    for file, answer in replayed:
        if file.kind == "witness":
            yield ""
            yield f"Witness: {_values(file.values)}. Replayed: {_rounded(answer.detail)}."
    if claim.expect == "corrected" and claim.correction is not None:
        yield ""
        yield f"Found: {_mathematics(claim.correction.says)}"
    elif claim.expect == "refuted" and claim.control is not None:
        yield ""
        yield f"What passes the same check: {_mathematics(claim.control.says)}"
    elif claim.expect == "not checkable here":
        yield ""
        yield f"Reason: {_mathematics(claim.expect_reason)}"
    for file, answer in replayed:
        if file.kind == "certificate":
            yield ""
            found = "" if claim.expect == "holds" else ", as found"
            link = f"([the proof](proofs/{_proof_name(claim.id)}.md))"
            yield f"Proved{found} {link}: {_mathematics(answer.detail)}."
    if claim.seen_in:
        yield ""
        yield f"On real networks: {', '.join(f'[{id}](figures/{_file(id)}.png)' for id in claim.seen_in)}."
    yield ""
    yield f"`rankproof check {claim.id}`"


def _file(figure: str) -> str:
    return figure.replace("/", "-")


def _found(folder: Path, figure: str) -> str:
    """What a figure's stored manifest says was found."""
    manifest = json.loads((folder / "figures" / f"{_file(figure)}.manifest.json").read_text(encoding="utf-8"))
    return _mathematics(_rounded(manifest["found"]))


def _anchor(id: str) -> str:
    """The anchor that Markdown renderers give a heading which is the id of a claim."""
    return re.sub(r"[^a-z0-9_-]", "", id.lower())


def _mathematics(text: str) -> str:
    """Formulas in the notation that Markdown leaves alone."""
    return _FORMULA.sub(lambda match: f"$`{match.group(1)}`$", text)


def _values(values: Mapping[str, object]) -> str:
    return "; ".join(f"{name} = {shortened(_plain(value), 90)}" for name, value in values.items())


def _plain(value: object) -> str:
    """A stored value: fractions and decimals in strings as they stand, floats to four digits."""
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {_plain(part)}' for name, part in value.items())}}}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _rounded(text: str) -> str:
    """Decimals to four digits, so that the last bits of a processor do not show."""
    return _DECIMAL.sub(lambda match: f"{float(match.group(0)):.4g}", text)


if __name__ == "__main__":
    for path in write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")):
        print(path)
