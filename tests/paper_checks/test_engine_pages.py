"""Pages, cards and counts of an invented paper: their content follows from the ledger and the replays."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from paper_checks import findings
from paper_checks.ledger import Ledger, LedgerError, Paper
from paper_checks.pages import report
from paper_checks.pages.card import SUITE_LEVEL, card_text, command, summary_table, tally
from paper_checks.paper import Headline, Listing, Page
from paper_checks.replay import replay_in_fresh_process
from paper_checks.replaying.arguments import Argument
from paper_checks.run import run

PAGE = Page(
    "invented",
    "Invented findings",
    "What is invented.",
    ("claims",),
    (Headline("Half of $x$ is too small.", ("invented/false", "invented/fixable")),),
    (Listing("Numbers", ("a", "b"), (("1", "2"),)),),
)
PAPER = Paper("invented", "Invented", "invented", ("claims",), (PAGE,))
FEW = ("true", "false", "proved-fix", "ambiguous", "certified")


@pytest.fixture(scope="module")
def ledger():
    return Ledger.of([PAPER])


@pytest.fixture(scope="module")
def ran(ledger):
    return run(ledger.select([f"invented/{label}" for label in FEW]), ledger, seed=3)


def part_of(text, label):
    """Return part of a page on one claim."""
    return text.split(f"#### invented/{label}\n")[1].split("\n####")[0]


def test_pages_are_written_and_what_is_no_more_is_gone(tmp_path, ledger):
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / "invented--of-no-claim.md").write_text("old")
    (tmp_path / "proofs" / "other--claim.md").write_text("of another paper")
    written = findings.write_pages(tmp_path, [PAPER], replace=True)
    assert written[0] == tmp_path / "invented.md"
    assert set(tmp_path.rglob("*.md")) == {*written, tmp_path / "proofs" / "other--claim.md"}
    assert {path.stem for path in written[1:]} == {
        "invented--bad-certificate",
        "invented--certified",
        "invented--other-constant",
        "invented--other-way-round--double",
        "invented--proved-fix",
        "invented--unproved-fix",
    }
    text = written[0].read_text()
    assert text.startswith("# Invented findings\n\nIn short:\n\n- Half of $`x`$ is too small. *This holds.*\n")
    assert "\n\nWhat is invented.\n\n" in text
    assert (
        "- Half of $`x`$ is too small. [invented/false](#inventedfalse), [invented/fixable](#inventedfixable)" in text
    )
    assert "## Numbers\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n## How to read this page\n" in text
    claims = ledger.claims
    assert f"{len(claims)} statements and numbers: " in text
    assert text.count("`rankproof check --papers . invented/") == len(claims)


def test_a_claim_s_part_of_a_page(tmp_path):
    text = findings.findings_page(PAPER, PAGE, tmp_path)
    assert part_of(text, "true").splitlines()[1:4] == [
        "nowhere. **Holds** (search).",
        "",
        "> $`x^2 \\le K x`$ on $`[0, 1]`$",
    ]
    false = part_of(text, "false")
    assert "**Refuted** (" in false
    assert "Witness: x = " in false
    assert "What passes the same check: with K = 1" in false
    fix = part_of(text, "proved-fix")
    assert "Corrected form: $`K = 1`$" in fix
    assert "What passes" not in fix
    proof = "[in full](proofs/invented--proved-fix.md)"
    assert f"Outline of the proof of the corrected form ({proof}): two non-negative factors." in fix
    twice = part_of(text, "ambiguous")
    assert "**Ambiguous** (search): At x = 1 half is too small." in twice
    assert "| literal | as printed |  | holds |" in twice
    assert "| half, as in eq. 2 | $`x^2 \\le 0.5 x`$ on $`[0, 1]`$ | Section 2 writes it so. | does not hold |" in twice
    assert "Witness against the reading “half, as in eq. 2”: x = " in twice
    # Of a reading that holds without a stored proof:
    assert "What we checked in the reading “literal”: both sides on the grid." in twice


def test_a_proof_s_page():
    pages = findings.proof_pages(PAPER)
    fix = pages["invented--proved-fix"]
    assert fix.startswith("# Proof of invented/proved-fix\n\nnowhere; as corrected; it does not hold as printed.\n")
    assert "\nAs corrected:\n\n> $`K = 1`$\n" in fix
    assert "## Proof\n\nx - x^2 = x (1 - x), both factors non-negative on [0, 1].\n" in fix
    assert "## What a machine verifies\n\nTwo non-negative factors.\n" in fix
    certified = pages["invented--certified"]
    assert "nowhere; as printed." in certified
    assert "As corrected" not in certified
    assert "NOT VERIFIED." in pages["invented--bad-certificate"]
    double = pages["invented--other-way-round--double"]
    assert "in the reading “double”.\n" in double
    assert "In this reading:\n\n> $`x^2 \\le 1.0 x`$ on $`[0, 1]`$" in double
    assert "Its numbers, as the program names them: K = 1." in double


def test_a_proof_s_page_tells_what_the_proof_rests_on(monkeypatch):
    argument = Argument(("By squares.",), (), (("two_squares", ("$x^2 \\ge 0$.", "By hand.")),), "here.py")
    monkeypatch.setattr(findings, "argument_of", lambda replay: argument)
    fix = findings.proof_pages(PAPER)["invented--proved-fix"]
    assert "## Proof\n\nBy squares.\n\n### Two squares\n\n$`x^2 \\ge 0`$.\n\nBy hand.\n\n## What a mach" in fix


def test_a_figure_s_finding_stands_on_the_page(tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    manifest = {"found": "Stated: $x$; found: 0.123456789."}
    (tmp_path / "figures" / "rmt-drawn.manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "figures" / "rmt-drawn.png").touch()
    about, claims = PAPER.read_theme("claims")
    seen = [replace(claims[0], seen_in=("rmt/drawn", "rmt/missing")), *claims[1:]]
    monkeypatch.setattr(Paper, "read_theme", lambda self, theme: (about, seen))
    text = findings.findings_page(PAPER, PAGE, tmp_path)
    drawn = "- [rmt/drawn](figures/rmt-drawn.png): Stated: $`x`$; found: 0.1235."
    assert f"{drawn} `rankproof figure rmt/drawn --scale laptop`" in text
    assert "- rmt/missing (not drawn at laptop scale yet). `rankproof figure rmt/missing --scale laptop`" in text
    assert "On real networks: [rmt/drawn](figures/rmt-drawn.png), rmt/missing (not drawn at laptop scale yet)." in text


def test_the_command_repeats_the_run(ran):
    first = ran.results[0]
    assert command(ran, first) == "rankproof check invented/true --seed 3"
    assert command(replace(ran, seed=0), first) == "rankproof check invented/true"
    assert command(replace(ran, seed=1), first) == "rankproof check invented/true --seed 1"
    assert command(replace(ran, budget="full"), first) == "rankproof check invented/true --budget full --seed 3"


def test_counts_of_a_run(ran):
    claims = "5 claims: 2 hold, 1 is corrected, 1 is refuted, 1 is ambiguous"
    found = tally(replace(ran, of_no_claim=()))
    assert sorted(found.removeprefix("5 claims: ").split("; ")[0].split(", ")) == sorted(claims[10:].split(", "))
    assert found.endswith("; every verdict as recorded")
    assert tally(replace(ran, of_no_claim=("a", "b"))).endswith("as recorded; stored for no claim: a, b")
    other = replace(ran.results[0], claim=replace(ran.results[0].claim, expect="not checkable here", grade=None))
    assert "; 1 is not as recorded" in tally(replace(ran, results=(other, *ran.results[1:])))
    assert tally(SimpleNamespace(results=ran.results, level=2 * SUITE_LEVEL)).endswith(
        f"; the levels spent add up to {2 * SUITE_LEVEL:.2g}, above the bound {SUITE_LEVEL:g}"
    )
    assert "above the bound" not in tally(SimpleNamespace(results=ran.results, level=SUITE_LEVEL, of_no_claim=()))


def test_a_table_of_results_has_straight_columns(ran):
    lines = summary_table(ran).splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["claim", *(f"invented/{label}" for label in FEW)]
    ends = {len(line) for line in lines[:-1]}
    assert len(ends) == 1
    assert lines[-1] == tally(ran)


def test_cards_say_why_and_what_stands(ran):
    cards = {result.claim.label: card_text(result) for result in ran.results}
    assert re.search(r"^statement +x² ≤ Kx on \[0, 1\]$", cards["true"], flags=re.M)
    assert re.search(r"^states +K = 1$", cards["proved-fix"], flags=re.M)
    entry = {result.claim.label: result.as_json() for result in ran.results}
    assert (entry["proved-fix"]["correction"], entry["true"]["correction"]) == ("$K = 1$", None)
    assert entry["proved-fix"]["correction_is"] == "weaker"
    assert entry["true"]["obtained"].startswith("no violation in 202 cases")
    assert entry["false"]["left"] > entry["false"]["right"]
    assert entry["true"]["left"] is None
    assert entry["false"]["witness"]["x"]
    assert entry["true"]["replay"] is None
    assert entry["false"]["replay"] == "rankproof replay invented/false"
    assert entry["proved-fix"]["grade"] == "proof"


def test_a_witness_of_several_readings_is_told_once(ran):
    (one,) = (result for result in ran.results if result.claim.label == "false")
    file, answer = one.stored[0], one.replayed[0]
    names = {"": "literal", "as-meant": "as meant", "third": "third"}
    judged = SimpleNamespace(
        readings=lambda claim: [SimpleNamespace(key=key, reading=SimpleNamespace(name=names[key])) for key in names]
    )
    files = [file, *(replace(file, id=f"{file.id}@{key}") for key in ("as-meant", "third"))]
    answers = [answer, replace(answer, reading="as-meant"), replace(answer, reading="third", detail="another")]
    several = replace(one, judged=judged, stored=tuple(files), replayed=tuple(answers))
    assert [names for _, _, names in several.distinct_files()] == [["literal", "as meant"], ["third"]]
    single = replace(one, judged=judged, stored=(file,), replayed=(answer,))
    assert [names for _, _, names in single.distinct_files()] == [[]]


def test_the_report_has_the_argument_of_a_proof(ran):
    text = report.render(ran, (), {"commit": "abc", "seed": 3})
    assert text.count("both factors non-negative on [0, 1]") == 2  # of the claim that holds, and of the correction
    of_no_paper = replace(ran, papers=())
    assert "both factors non-negative" not in report.render(of_no_paper, (), {"commit": "abc", "seed": 3})


def test_replays_tell_each_file_as_it_is_done():
    files = [file for label in ("false", "proved-fix") for file in PAPER.to_replay(f"invented/{label}")]
    told = []
    answers = replay_in_fresh_process("invented", files, progress=told.append)
    assert told == files
    assert [(answer.kind, answer.confirmed) for answer in answers] == [(file.kind, True) for file in files]


def test_selections_that_are_empty_say_what_was_asked(ledger):
    with pytest.raises(LedgerError, match="invented/nothing"):
        ledger.select(["invented/nothing"])
