"""Pages and findings of a paper of one's own, of which a part is not checked yet."""

import re
import shlex
import sys

import pytest

import rankproof

CHECKS = """
from paper_checks.claim import AS_CORRECTED, Evidence, Form, Intended, claim
from paper_checks.methods.relations import Relation, Relations, relations


@claim("NAME/thm-1", where="Theorem 1", says="It is so.", measure=lambda context: None, kind="statement",
       importance="result", expect=("not checkable here", None), expect_reason="no check yet")
def thm_1(measured: None) -> Evidence:
    return Evidence(None, "nothing", reason="no check yet")


@claim("NAME/fig-1", where="Figure 1", says="It is seen.", measure=lambda context: None, kind="experiment",
       importance="detail", intended=Intended("literal", "the caption says so"),
       expect=("not checkable here", None), expect_reason="no check yet")
def fig_1(measured: None) -> Evidence:
    return Evidence(None, "nothing", reason="no check yet")


@relations("NAME/eq-1", where="Equation (1)", says="$2 + 2 = 4$.", measure=lambda context: 2, mutants=[{"sum": 5}],
           importance="step", expect=("holds", "search"))
def eq_1(two: int, sum: int = 4) -> Relations:
    yield Relation("the sum", two + two, sum)
    return "one sum"
"""
SLIP = """
from paper_checks.claim import AS_CORRECTED, Form, Intended
from paper_checks.methods.relations import Relation, Relations, relations


@relations("NAME/eq-2", where="Equation (2)", says="$2 + 3 = 6$.", measure=lambda context: 2, importance="step",
           correction=Form("$2 + 3 = 5$.", {"sum": 5}, mutants=({"sum": 7},), asks="neither"),
           intended=Intended(AS_CORRECTED, "the next line has 5"), print="misprint", because="The sum is 5.",
           expect=("holds", "search"))
def eq_2(two: int, sum: int = 6) -> Relations:
    yield Relation("the sum", two + 3, sum, case={"two": two, "sum": sum})
    return "one sum"
"""
REPLAYS = """
from paper_checks.replay import Violation, replay


@replay("NAME/eq-2")
def eq_2(values):
    return Violation(abs(int(values["two"]) + 3 - int(values["sum"])), 0)
"""
PAPER = """
from paper_checks.paper import Finding, Page, Paper

FINDING = Finding("sum", "The sum is 5", "changes nothing", ("NAME/eq-2",), witness="2 + 3 = 5.", advice="Write 5.")
PAGE = Page("NAME-findings", title="Findings", about="All.", themes=("checks", "slip"))
PAPER = Paper("NAME", "Mine", __package__, themes=("checks", "slip"), pages=(PAGE,), findings=(FINDING,))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return the folder of an own paper, its page of findings, and what `findings` prints."""
    folder, name = tmp_path_factory.mktemp("own findings"), "own-findings"
    package = folder / "own_findings"
    (package / "replays").mkdir(parents=True)
    files = {"__init__": "", "checks": CHECKS, "slip": SLIP, "paper": PAPER}
    files |= {"replays/__init__": "", "replays/slip": REPLAYS}
    for file, text in files.items():
        (package / f"{file}.py").write_text(text.replace("NAME", name))
    before = list(sys.path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        said = []
        patch.setattr("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words))))
        named = ("--papers", str(folder))
        assert rankproof.main(["check", *named, f"{name}/", "--jobs", "1", "--store"]) == 0, said
        assert rankproof.main(["pages", *named, "--out", str(folder / "docs")]) == 0
        said.clear()
        assert rankproof.main(["findings", *named, name]) == 0
    yield folder, (folder / "docs" / "own-findings-findings.md").read_text(), " ".join("\n".join(said).split())
    sys.path[:] = before
    for module in [module for module in sys.modules if module.partition(".")[0] == package.name]:
        del sys.modules[module]


def entry(page, label):
    """Return the part of a page about one claim."""
    return re.split(r"^#### ", page, flags=re.MULTILINE)[
        [part.split("\n")[0] for part in re.split(r"^#### ", page, flags=re.MULTILINE)].index(f"own-findings/{label}")
    ]


def test_nobody_is_said_to_have_judged_what_is_not_checked(told):
    _, page, _ = told
    assert page.count("The authors mean it as printed") == 1
    assert "- own-findings/fig-1: Figure 1. The authors mean it as printed. Evidence: the caption says so.\n" in page
    assert "The authors mean it as corrected below. Evidence: the next line has 5." in entry(page, "eq-2")


def test_what_is_not_checked_is_counted_apart(told):
    _, page, text = told
    assert re.search(
        r"2 entries: 2 hold\. As printed, 1 fails, and as meant none: `rankproof claims --papers '[^']+' --paper "
        r"own-findings --fails as-printed` lists it\. 2 more are not checked yet\.$",
        text,
    )
    assert "\n2 statements and numbers: 2 hold; 2 not checked yet. [How to read this page]" in page
    assert "\n## Not checked yet\n\n<details><summary>2 without a check</summary>\n\n- own-findings/thm-1: " in page
    assert "not checkable" not in page


def test_commands_on_a_page_name_the_package(told):
    _, page, _ = told
    commands = re.findall(r"`(rankproof (?:check|replay|show|pages) [^`]*)`", page)
    assert len(commands) == 6
    assert "Run these commands in the folder of the package." in page
    assert all(shlex.split(command)[2:4] == ["--papers", "."] for command in commands)


def test_a_verdict_on_a_page_has_its_grade(told):
    _, page, _ = told
    assert "**Holds** (search)." in entry(page, "eq-1")
    assert "**Holds, with a misprint** (search): The sum is 5." in entry(page, "eq-2")


def test_an_entry_with_a_finding_is_not_folded(told):
    _, page, _ = told
    assert "<details open><summary>own_findings.slip" in page or "<details open><summary>slip" in page
    assert page.count("<details open>") == 1
    assert page.count("<details><summary>") == 2
