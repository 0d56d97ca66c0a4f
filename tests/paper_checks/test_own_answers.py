"""Order, counts, heading and differences that the commands print about a small paper of one's own."""

import re
import sys
from itertools import count

import pytest

import rankproof
from paper_checks.paper import CHANGES, Finding, Paper

NUMBERS = count(1)
CHECKS = """
from fractions import Fraction

from paper_checks.claim import AS_CORRECTED, Evidence, Form, Intended, claim
from paper_checks.methods.relations import Relation, judge_relations


def at_most(x, K):
    case = {"x": x}
    return judge_relations([Relation("x", Fraction(x), Fraction(K), at_most=True, case=case)], "one x", whole=True)


@claim("NAME/a", where="eq. 1", says="$2 < 3$.", measure=lambda context: 2, mutants=[{"K": 1}], vary=(),
       expect=("holds", "proof"))
def a(x: int, K: int = 3) -> Evidence:
    return at_most(x, K)


@claim("NAME/b", where="eq. 2", says="$2 < 1$.", measure=lambda context: 2, vary=(), print="misprint",
       correction=Form("$2 < 3$.", {"K": 3}, mutants=({"K": 1},)), intended=Intended(AS_CORRECTED, "eq. 3 has 3"),
       expect=("holds", "proof"))
def b(x: int, K: int = 1) -> Evidence:
    return at_most(x, K)


@claim("NAME/stub", where="eq. 4", says="$x$.", measure=lambda context: None, expect=("not checkable here", None),
       expect_reason="no check yet")
def stub(x: None) -> Evidence:
    return Evidence(None, "", reason="no check yet")
"""
REPLAYS = """
from fractions import Fraction

from paper_checks.replay import Violation, replay


@replay("NAME/b")
def b(values):
    return Violation(Fraction(values["x"]), Fraction(1))
"""
PAPER = """
from paper_checks.paper import Finding, Paper

PAPER = Paper("NAME", "A small paper", __package__, ("checks",), called="Small paper")
"""


@pytest.fixture
def paper(tmp_path, monkeypatch, capsys):
    """Yield the name and the folder of the paper."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    name = f"small-{next(NUMBERS)}"
    folder = tmp_path / name.replace("-", "_")
    (folder / "replays").mkdir(parents=True)
    for place, text in (("checks", CHECKS), ("replays/__init__", ""), ("replays/checks", REPLAYS), ("paper", PAPER)):
        (folder / f"{place}.py").write_text(text.replace("NAME", name))
    (folder / "__init__.py").write_text("")
    yield name, folder
    for module in [module for module in sys.modules if module.partition(".")[0] == folder.name]:
        del sys.modules[module]


def answer(capsys, *arguments):
    status = rankproof.main([*map(str, arguments)])
    found = capsys.readouterr()
    return status, found.out, found.err


def test_counts_name_the_faults_of_the_print_and_a_witness_that_is_not_stored_is_no_replay(paper, capsys):
    name, folder = paper
    check = ("check", "--papers", folder, "--jobs", 1)
    _, out, _ = answer(capsys, *check, f"{name}/b")
    assert "violated, but no witness is stored; keep one with --store" in out
    assert "does not replay" not in out
    answer(capsys, *check, f"{name}/b", "--store")
    status, out, _ = answer(capsys, *check, f"{name}/")
    assert status == 0, out
    assert out.splitlines()[-1].startswith("3 claims: 2 hold (1 with a misprint); 1 not checked yet; every")


def test_a_witness_without_a_replay_names_the_file_to_write_and_what_it_reads(paper, capsys):
    name, folder = paper
    (folder / "replays" / "checks.py").write_text("")
    status, out, _ = answer(capsys, "check", "--papers", folder, "--jobs", 1, f"{name}/b", "--store")
    assert status == 1
    remedy = f'write one, @replay("{name}/b"), in {folder.name}/replays/b.py, which reads x, promise'
    missing = f"does not replay: the witness of this claim has no replay; {remedy}"
    assert f"stored {name}--b.json, which {missing}" in out
    assert f"violated, but the stored witness {missing}"[:200] in out
    status, out, _ = answer(capsys, "findings", "--papers", folder, name)
    again = f"rankproof check --papers {folder} --paper {name}"
    assert f"These are the verdicts on record. `{again}` judges the claims again." in out
    assert answer(capsys, *again.split()[1:], "--jobs", 1)[0] == 1


def test_a_witness_that_does_not_replay_is_said_to_be_stored_so(paper, capsys):
    name, folder = paper
    replays = folder / "replays" / "checks.py"
    replays.write_text(replays.read_text().replace("Fraction(1))", "Fraction(5))"))
    status, out, _ = answer(capsys, "check", "--papers", folder, "--jobs", 1, f"{name}/b", "--store")
    assert status == 1
    assert f"stored {name}--b.json, which does not replay: 2 <= 5 (exact)" in out


def test_what_was_never_decided_is_no_difference_from_the_record(paper, capsys):
    name, folder = paper
    check = ("check", "--papers", folder, "--jobs", 1)
    assert answer(capsys, *check, f"{name}/a", "--record")[0] == 0
    _, out, _ = answer(capsys, *check, f"{name}/a", f"{name}/stub")
    assert "differ from the record" not in out
    assert "was nothing" not in out


def test_a_report_has_the_claims_that_are_asked_for_and_the_name_of_the_paper(paper, capsys, tmp_path):
    name, folder = paper
    status, out, err = answer(
        *(capsys, "report", "--papers", folder, "--no-figures", "--out", tmp_path / "out"),
        *("--single-file", tmp_path / "mail.html", "--jobs", 1, f"{name}/a"),
    )
    assert status == 0, err
    assert "1 claim: 1 holds" in out
    places = (tmp_path / "out" / "index.html", tmp_path / "mail.html")
    assert out.splitlines()[-2:] == [*map(str, places)]
    for place in places:
        page = place.read_text()
        assert "<h1>The claims of Small paper, checked</h1>" in page
        assert "<title>rankproof: the claims of Small paper, checked</title>" in page
        assert f'id="{name}/a"' in page
        assert f'id="{name}/b"' not in page
    assert f'class="id" href="#{name}/a"' in (tmp_path / "out" / f"paper-{name}.html").read_text()
    status, _, err = answer(capsys, "report", "--papers", folder, "--out", tmp_path / "none", f"{name}/zzz")
    assert status == 2
    assert err.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_pages_without_a_page_say_what_one_needs(paper, capsys, tmp_path):
    name, folder = paper
    _, out, _ = answer(capsys, "pages", "--papers", folder, "--out", tmp_path / "docs")
    assert f"pages=(Page('{name}-findings', title=\"...\", about=\"...\", themes=('checks',)),)" in out


def test_findings_are_sorted_by_their_consequence():
    found = [
        Finding(f"f-{number}", "It fails.", CHANGES[number], ("a/b",), "1 > 0", "Wait.") for number in (3, 1, 0, 2)
    ]
    paper = Paper("small", "Small", "small", ("checks",), findings=tuple(found))
    assert [one.id for one in paper.findings] == ["f-0", "f-1", "f-2", "f-3"]
    with pytest.raises(ValueError, match=re.escape("findings must be a tuple of Finding")):
        Paper("small", "Small", "small", ("checks",), findings=found[0])


def test_a_report_counts_apart_what_is_not_checked_yet_and_lists_it_last(paper, capsys, tmp_path):
    name, folder = paper
    answer(capsys, "check", "--papers", folder, "--jobs", 1, f"{name}/b", "--store")
    _, out, err = answer(
        *(capsys, "report", "--papers", folder, "--paper", name, "--no-figures", "--out", tmp_path / "out"),
        *("--single-file", tmp_path / "mail.html", "--jobs", 1),
    )
    assert "2 hold (1 with a misprint); 1 not checked yet" in out, err
    table = [line.split()[0] for line in out.splitlines()[1:4]]
    assert table == [f"{name}/a", f"{name}/b", f"{name}/stub"]
    front, own, mail = (
        place.read_text()
        for place in (tmp_path / "out/index.html", tmp_path / f"out/paper-{name}.html", tmp_path / "mail.html")
    )
    for page in (front, mail):
        assert "We checked 2 entries from 1 paper as its authors mean them. 1 more is not checked yet." in page
        assert "All 2 checks were run again for this report" in page
        assert f"the package <code>{folder.name}</code> of the paper" in page
        assert "get a copy of" not in page
        assert page.index('id="all-stubs"') > page.index('id="all-holds"')
    for page in (own, mail):
        assert page.count('<article class="card') == 2
        assert "1 entry is not checked yet" in page
        assert page.index(f'id="stubs:{name}"') > page.rindex("<article")
        assert page.count(f'id="{name}/stub"') == 1
    for page in (front, own, mail):
        assert "cannot be checked here" not in page
        assert "are not checkable here</span>" not in page
    _, out, _ = answer(capsys, "claims", "--papers", folder, "--paper", name)
    assert out.splitlines()[-1] == "3 claims: 2 hold; 1 not checked yet"
