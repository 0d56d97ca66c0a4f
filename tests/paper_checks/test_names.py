"""Statements are found by the names that people write, in the terminal and in the report's filter."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from paper_checks.engine.verdict import Decision
from paper_checks.ledger import PAPERS, Ledger, LedgerError
from paper_checks.names import Names
from paper_checks.pages.report import SCRIPTS, render
from paper_checks.result import Result, Run

FOLDER = Path(__file__).resolve().parents[2] / "paper_checks" / "pages"
FOUND = {
    "theorem-2": ["fedlrt/thm-2"],
    "THM 2": ["fedlrt/thm-2"],
    "fedlrt/theorem2": ["fedlrt/thm-2"],
    "Theorem 2 of FeDLRT": ["fedlrt/thm-2"],
    "theorem 9": ["fedlrt/thm-2"],  # the same statement in the appendix
    "Prop. 3.1": ["fedloru-v2/prop-3.1", "fedloru-v1/prop-3.1", "fedloru-iclr/prop-3.1"],
    "FedLoRU v2 Prop 3.1": ["fedloru-v2/prop-3.1"],
    "fedloru version 1, proposition 3.1": ["fedloru-v1/prop-3.1"],
    "iclr theorem 3.2": ["fedloru-v1/thm-3.3"],
    "(21)": ["fedloru-v2/eq-21-25", "fedlrt/lemma-2-step-21", "rolora/eq-21"],
    "Equation 21": ["fedloru-v2/eq-21-25", "fedlrt/lemma-2-step-21", "rolora/eq-21"],
    "fedlrt/eq-13": ["fedlrt/thm-3"],  # no id, but where Theorem 3 is printed
    "fedloru-v2/eq-2": ["fedloru-v2/prop-3.1"],  # and not eqs. 21 to 29
    "lem A.1": ["fedloru-v2/lem-A.1a", "fedloru-v2/lem-A.1b"],
    "ROLORA/LEM-a.9": ["rolora/lem-A.9"],
    "fig. 2(b)": ["fedloru-iclr/fig-2b"],
    "Table A1": ["fedloru-v2/txt-total20", "fedloru-iclr/tab-A1"],
    "assumption B.2": ["fedloru-v2/assump-4.1"],
    "Def. 5.2": ["rolora/def-5.2"],
    "algorithm 6": ["fedlrt/alg-6"],
    "cor A-5": ["rolora/cor-A.5"],
    "proof of Theorem 6": ["fedlrt/thm-6-proof"],
}
NOWHERE = {
    "theorem 99": "fedlrt/thm-4",  # also Theorem 11, the last one
    "Theorem 2 of Elsewhere": "fedlrt/thm-2",
    "lemma 3.1": "fedloru-v2/prop-3.1",
    "rolora eq. 400": "rolora/eq-293",
}


@pytest.fixture(scope="module")
def ledger():
    return Ledger.of()


@pytest.mark.parametrize("asked", FOUND)
def test_usual_names_are_understood(ledger, asked):
    assert [claim.id for claim in ledger.select([asked])] == FOUND[asked]


def test_ids_and_prefixes_mean_what_they_say(ledger):
    for claim in ledger.claims:
        for id in (claim.id, *claim.also):
            assert ledger.names.find(id) == [claim], id
    assert {claim.id for claim in ledger.select(["rolora/lem"])} == {
        claim.id for claim in ledger.claims if claim.id.startswith("rolora/lem")
    }
    assert ledger.select(["FedLoRU v2"]) == ledger.select(["fedloru-v2/"])
    assert ledger.select(paper="FeDLRT") == ledger.select(["fedlrt/"])


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ("contraction of RoLoRA", ["rolora/lem-5.3", "rolora/thm-5.4"]),
        ("is the RoLoRA contraction of the linear model true", ["rolora/lem-5.3"]),
        ("FedLoRU's stable rank gap", ["fedloru-v2/thm-3.2"]),
    ],
)
def test_words_that_name_no_statement_find_those_that_speak_of_them(ledger, asked, ids):
    with pytest.raises(LedgerError, match="these mention it: ") as refused:
        ledger.select([asked])
    assert set(ids) <= set(re.findall(r"[a-z0-9-]+/[\w.-]+", str(refused.value).partition("mention it")[2]))


def test_the_rarer_word_decides_and_words_of_questions_say_nothing(ledger):
    assert ledger.about("does it hold") == []
    assert ledger.about("the of") == []
    assert ledger.about("zzzz") == []
    assert {claim.paper for claim in ledger.about("contraction of RoLoRA")} == {"rolora"}
    assert len(ledger.about("gradient")) == 4


@pytest.mark.parametrize("asked", NOWHERE)
def test_without_a_match_the_nearest_are_named(ledger, asked):
    with pytest.raises(LedgerError, match=rf"^no claim '{asked}': no match, try {NOWHERE[asked]}\b"):
        ledger.select([asked])


@pytest.mark.parametrize("asked", ["2", "lemma x", "thm 2 of 3", "stable rank", "(", "§", "of", "theorem 2 v3"])
def test_what_is_no_name_finds_nothing(ledger, asked):
    with pytest.raises(LedgerError, match=r"^no claim "):
        ledger.select([asked])


def test_versions_of_papers_of_ones_own_are_told_apart():
    class One:
        def __init__(self, id, where, also=()):
            self.id, self.where, self.also = id, where, also

    statements = [One("my-paper-a/thm-1", "a Theorem 1, eq. (3); b Theorem 7"), One("my-paper-b/eq-3", "eq. (3)")]
    names = Names(statements, {"my-paper": "MyMethod"})
    assert names.find("Theorem 7 of MyMethod b") == [statements[0]]
    assert names.find("my paper eq. 3") == statements
    assert names.find("MyMethod b (3)") == [statements[1]]


DOM = r"""
const made = () => ({value: "", textContent: "", dataset: {}, hidden: false, on: {}, inner: [],
  classList: {toggle() {}, contains: () => false}, addEventListener(event, run) { this.on[event] = run; },
  append(...some) { this.inner.push(...some); }});
const [given, script] = process.argv.slice(1).map((name) => require("fs").readFileSync(name, "utf8"));
const {vocabulary, cards, queries} = JSON.parse(given), ids = {};
const absent = ["hits", "filter-all"];
const byId = (id) => absent.includes(id) ? null : ids[id] || (ids[id] = made());
byId("filter").dataset.words = vocabulary;
const articles = cards.map(([id, names, words]) => Object.assign(made(), {id, dataset: {names}, textContent: words,
  querySelector: () => ({textContent: words})}));
Object.assign(globalThis, {location: {hash: ""}, window: {addEventListener() {}},
  ResizeObserver: class { observe() {} },
  document: {getElementById: byId, createElement: made,
    querySelectorAll: (what) => (what.startsWith("article.card") ? articles : [])}});
eval(script);
console.log(JSON.stringify(queries.map((query) => {
  byId("filter-text").value = query;
  byId("filter-near").inner = [];
  byId("filter-text").on.input();
  const near = byId("filter-near");
  return [articles.filter((one) => !one.hidden).map((one) => one.id), near.textContent,
    near.inner.map((one) => one.textContent).filter(Boolean)];
})));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="the script is run by node")
def test_the_filter_of_the_report_finds_the_same(ledger, tmp_path):
    results = tuple(
        Result(one, Decision(one.expect, one.grade), None, (), (), (), 0.0, one.grade) for one in ledger.claims
    )
    page = render(Run(results, 0, "quick", 1.0, (), PAPERS), [], {})
    (vocabulary,) = re.findall(r'id="filter" data-words="([^"]*)"', page)
    cards = re.findall(r'<article [^>]* id="([^"]*)"[^>]* data-names="([^"]*)">', page)
    assert [unescape(id) for id, _ in cards] == [one.id for one in ledger.claims]
    given = {
        "vocabulary": unescape(vocabulary),
        "cards": [[unescape(id), unescape(names), id] for id, names in cards],
        "queries": [*FOUND, *NOWHERE, "fedloru-v2/assump-bulk"],
    }
    (tmp_path / "given").write_text(json.dumps(given))
    (tmp_path / "script").write_text("".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS))
    told = subprocess.run(
        ["node", "-e", DOM, str(tmp_path / "given"), str(tmp_path / "script")],
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(told.stdout)
    for asked, (found, near, _) in zip(FOUND, answers, strict=False):
        assert (found, near) == (FOUND[asked], ""), asked
    for asked, (found, near, ids) in zip(NOWHERE, answers[len(FOUND) : -1], strict=True):
        assert (found, near, ids[0]) == ([], "no match, try ", NOWHERE[asked]), asked
    assert answers[-1][0] == ["fedloru-v2/assump-bulk"]
