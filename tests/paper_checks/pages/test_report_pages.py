"""The report as a folder: its pages, links, search, colours, table and files of others."""

import csv
import io
import itertools
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from colours import LEAST, contrast
from test_report import VOID, figure, result

from paper_checks.engine.verdict import Decision
from paper_checks.ledger import PAPERS
from paper_checks.pages.report import SCRIPTS, render, write_report, write_single_file
from paper_checks.pages.report_pages import COLUMNS, claims_table, is_place_of_report, paper_file
from paper_checks.result import Result, Run
from rankproof import main
from workloads.written import RECORD, ForeignFileError

PAGES = Path(__file__).resolve().parents[3] / "paper_checks" / "pages"
MEGABYTE = 1_000_000
FIRST = {
    "theorem 2 FeDLRT": "fedlrt/thm-2",
    "thm-2": "fedlrt/thm-2",
    "does Theorem 2 of FeDLRT hold?": "fedlrt/thm-2",
    "Theorem 4.2": "fedloru-v2/thm-4.2",
    "4.2": "fedloru-v2/thm-4.2",
    "fedloru-v2/prop-3.1": "fedloru-v2/prop-3.1",
    "Prop. 3.1 of FedLoRU v2": "fedloru-v2/prop-3.1",
    "lemma 5.3": "rolora/lem-5.3",
    "table 1 rolora": "rolora/table-1",
    "fig 4 fedlrt": "fedlrt/fig-4",
    "truncation can raise the loss": "finding:fedlrt/truncation-cost",
    "truncation-cost": "finding:fedlrt/truncation-cost",
    "stationary point": "finding:fedlrt/projected-gradient-only",
    "variance correction": "finding:fedlrt/assumption-too-weak",
    "figure:fedlrt/fig-4": "figure:fedlrt/fig-4",
}
"""Queries, and the ids of the best hits."""


class Page(HTMLParser):
    """A page's ids, links, pictures, what is hidden, and what the search reads of each item."""

    def __init__(self, path):
        super().__init__()
        self.text = path.read_text(encoding="utf-8")
        self.ids, self.links, self.pictures, self.hidden, self.items = [], [], [], [], []
        self.open = []
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        classes = (found.get("class") or "").split()
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        self.pictures += [found["src"]] if "src" in found else []
        self.hidden += [found.get("id")] if "hidden" in found else []
        if "data-kind" in found:
            data = {name.removeprefix("data-"): value for name, value in attributes if name.startswith("data-")}
            self.items.append(
                {"id": found["id"], "classes": classes, "data": data, "text": "", "name": "", "short": ""}
            )
            self.items[-1]["link"] = None
        if tag not in VOID:
            self.open.append((tag, classes, "data-kind" in found))
        if tag == "a" and any(item for *_, item in self.open):
            self.items[-1]["link"] = found["href"]

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        if any(item for *_, item in self.open):
            self.items[-1]["text"] += data
            for part in {one for _, classes, _ in self.open for one in classes} & {"name", "short"}:
                self.items[-1][part] += data


def ran(*papers):
    """Return all claims of papers with the verdicts on record."""
    claims = [(paper, claim) for paper in papers for claim in paper.claims()]
    results = [
        Result(one, Decision(one.expect, one.grade), None, (), (), (), 0.0, one.grade, finding=paper.finding_of(one.id))
        for paper, one in claims
    ]
    return Run(tuple(results), 0, "quick", 1.0, (), papers)


FIGURES = [
    replace(figure(), id="fedlrt/fig-4", title="Figure 4: $n = 20$", caption="Loss by round."),
    replace(figure(), id="hessian/alignment", title="Alignment", svg="", png=b"png"),
    type(figure()).missing("fedloru/tab-1", "Table 1", "", "its runs are not complete"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report about all papers."""
    out = tmp_path_factory.mktemp("report")
    write_report(ran(*PAPERS), FIGURES, {"commit": "abc", "seed": 0}, out)
    return out


@pytest.fixture(scope="module")
def pages(folder):
    """Its pages by name."""
    return {path.name: Page(path) for path in folder.glob("*.html")}


def test_the_front_page_is_small_and_each_paper_has_its_own(folder, pages):
    assert pages.keys() == {"index.html", "figures.html", *(paper_file(paper.name) for paper in PAPERS)}
    assert (folder / "index.html").stat().st_size < MEGABYTE
    for paper in PAPERS:
        own = {claim.id for claim in paper.claims()}
        assert own <= set(pages[paper_file(paper.name)].ids)
        assert not own & set(pages["figures.html"].ids)


def test_no_page_loads_anything_but_its_pictures(folder, pages):
    outside = {paper.link for paper in PAPERS}
    for page in pages.values():
        assert "default-src 'none'; img-src 'self' file:;" in page.text.replace("&#39;", "'")
        assert not re.search(r"<(link|iframe|object|embed|base|form)\b|url\(|@import|[\"(]data:", page.text)
        assert all((folder / picture).is_file() for picture in page.pictures)
        assert {link for link in page.links if "://" in link} <= outside
    assert pages["figures.html"].pictures == ["figures/fedlrt-fig-4.svg", "figures/hessian-alignment.png"]
    assert (folder / "figures" / "hessian-alignment.png").read_bytes() == b"png"
    assert sum(len(page.pictures) for page in pages.values()) == 2


def test_every_link_leads_to_an_anchor(folder, pages):
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), name
        for link in page.links:
            if "://" in link:
                continue
            file, _, anchor = link.partition("#")
            assert (folder / (file or name)).is_file(), link
            assert not anchor or anchor in pages[file or name].ids, (name, link)


def test_links_into_the_single_file_lead_to_the_same_place(tmp_path, pages):
    """Those of claims, findings, sections and figures are on the front page, where each has a link to its own page."""
    path = tmp_path / "mail.html"
    write_single_file(ran(*PAPERS), FIGURES, {"commit": "abc", "seed": 0}, path)
    front = pages["index.html"]
    new = {"top", "main", *(f"{part}:{paper.name}" for part in ("cards", "graph") for paper in PAPERS)}
    anchors = [id for id in Page(path).ids if id not in new and not id.startswith("filter")]
    assert len(anchors) > 1000
    assert set(anchors) <= set(front.ids)
    for anchor in anchors:
        if anchor.partition(":")[0] in ("theme", "finding", "figure", "how") or "/" in anchor:
            links = {link.partition("#")[0] for link in front.links if link.endswith(f"#{anchor.removeprefix('how:')}")}
            (file,) = links
            assert anchor in pages[file].ids


def test_without_scripts_all_is_there(pages):
    """Only the search, which needs its script, is hidden until that runs."""
    for page in pages.values():
        assert set(page.hidden) <= {"filter", "filter-first", "filter-all", "hits"}
    claims = {claim.id for paper in PAPERS for claim in paper.claims()}
    assert claims <= {item["id"] for item in pages["index.html"].items}
    findings = {f"finding:{paper.name}/{one.id}" for paper in PAPERS for one in paper.findings}
    assert findings <= {item["id"] for item in pages["index.html"].items}


def test_the_front_page_begins_with_search_bars_and_the_gravest_findings(pages):
    text = pages["index.html"].text
    search, first, all_of_them = (text.index(part) for part in ('id="filter"', 'class="bars"', 'id="findings"'))
    assert search < first < all_of_them
    assert text.count('class="bars"') == len(PAPERS)
    for paper in PAPERS:
        summary = text[text.index(f'id="paper:{paper.name}"') :]
        summary = summary[: summary.index("</article>")]
        assert re.search(r"\d+ hold</span>", summary)
        lines = [one.id for one in paper.findings if f"#finding:{paper.name}/{one.id}" in summary]
        gravest = [one.id for one in paper.findings if one.changes == "changes a main result"]
        assert lines == gravest[:3]
    order = re.findall(r"<h3>(\w+ [\w ]+?) <span", text[all_of_them:])
    assert order[:3] == ["Changes a main result", "Weakens a result", "Changes a proof only"]


DOM = r"""
const {items, queries, vocabulary} = JSON.parse(require("fs").readFileSync(0, "utf8")), ids = {};
const made = (rest) => ({value: "", textContent: "", dataset: {}, hidden: false, on: {}, inner: [],
  classList: {toggle() {}}, addEventListener(event, run) { this.on[event] = run; },
  append(...some) { this.inner.push(...some); },
  replaceChildren(...some) { this.inner = some; }, getAttribute(name) { return this[name]; },
  querySelector() { return this.inner[0].inner[0]; }, ...rest});
const absent = ["filter-all", "filter-verdict", "filter-paper", "filter-importance"];
const byId = (id) => absent.includes(id) ? null : ids[id] || (ids[id] = made());
byId("filter").dataset.words = vocabulary;
const elements = items.map(({id, classes, data, text, name, short, link}) => made({id, dataset: data, textContent: text,
  classList: {contains: (one) => classes.includes(one), toggle() {}},
  querySelector: (what) => what.includes(".name") ? made({textContent: name})
    : what.includes("href") ? made({href: link}) : short ? made({textContent: short}) : null}));
Object.assign(globalThis, {location: {hash: ""}, window: {addEventListener() {}},
  ResizeObserver: class { observe() {} }, document: {getElementById: byId, createElement: () => made(),
    querySelectorAll: (what) => (what.includes("[data-kind]") ? elements : [])}});
eval(process.argv[1]);
console.log(JSON.stringify(queries.map((query) => {
  byId("filter-text").value = query;
  byId("filter-text").on.input();
  return [byId("hits").inner.map((hit) => hit.inner[0].href), byId("filter-near").textContent];
})));
"""


@pytest.mark.skipif(not shutil.which("node"), reason="the script is run by node")
def test_the_search_finds_the_right_one_first(pages):
    front = pages["index.html"]
    (vocabulary,) = re.findall(r'id="filter" data-words="([^"]*)"', front.text)
    given = {
        "items": front.items,
        "queries": [*FIRST, "zzz", "lemma 999 of RoLoRA", ""],
        "vocabulary": vocabulary.replace("&#34;", '"'),
    }
    script = "".join((PAGES / name).read_text(encoding="utf-8") for name in SCRIPTS)
    told = subprocess.run(
        ["node", "-e", DOM, script], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    found = json.loads(told.stdout)
    assert {query: hits[0].partition("#")[2] for query, (hits, _) in zip(FIRST, found, strict=False)} == FIRST
    assert found[-3:] == [[[], "no match"], [[], "no match, try "], [[], ""]]
    assert all(len(hits) <= 12 for hits, _ in found)


def test_the_search_reads_names_and_words_of_all_claims(pages):
    """The rows that the script reads are right, also where no program runs it."""
    items = {item["id"]: item for item in pages["index.html"].items}
    assert ["fedlrt", "thm", ["2"], [], 1] in json.loads(items["fedlrt/thm-2"]["data"]["names"])
    assert "truncation" in items["fedlrt/thm-2"]["data"]["words"]
    assert items["fedlrt/thm-2"]["link"] == "paper-fedlrt.html#fedlrt/thm-2"
    assert "fedlrt/thm-2" in items["finding:fedlrt/truncation-cost"]["data"]["of"].split()
    assert items["figure:fedlrt/fig-4"]["link"] == "figures.html#figure:fedlrt/fig-4"


VERDICTS = ("refuted", "corrected", "ambiguous", "not", "holds")
PAIRS = [
    *itertools.product(("ink", "soft", "link", "alarm", *VERDICTS), ("paper", "well")),
    *((one, f"{one}-bg") for one in VERDICTS),
    *itertools.product(("ink", "soft", "link"), (f"{one}-bg" for one in VERDICTS)),
]
"""Colours of text, and those behind it."""


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_all_text_has_enough_contrast(scheme):
    sheet = (PAGES / "report.css").read_text(encoding="utf-8")
    start = {"light": 0, "dark": sheet.index("prefers-color-scheme: dark"), "print": sheet.index("@media print")}
    blocks = {name: re.search(r":root \{([^}]*)\}", sheet[at:])[1] for name, at in start.items()}
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6}|#[0-9a-f]{3})(?=;)", blocks["light"] + blocks[scheme]))
    colours = {
        name: f"#{''.join(2 * one for one in code[1:])}" if len(code) == 4 else code for name, code in colours.items()
    }
    low = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in PAIRS}
    assert {pair: ratio for pair, ratio in low.items() if ratio < LEAST} == {}
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.01)


def test_no_rule_of_the_sheet_fades_text():
    sheet = (PAGES / "report.css").read_text(encoding="utf-8")
    assert set(re.findall(r"opacity: ([\d.]+)", sheet)) <= {"1"}
    named = re.sub(r"@media print.*|:root \{[^}]*\}", "", sheet, flags=re.DOTALL)
    assert set(re.findall(r"#[0-9a-f]{3,8}\b", named)) == {"#fff"}  # behind pictures


def test_badges_which_cannot_wrap_are_narrower_than_a_phone(folder):
    pages = [page.read_text(encoding="utf-8") for page in folder.glob("*.html")]
    badges = {words for page in pages for words in re.findall(r'class="badge[^>]*><span[^>]*>.</span> ([^<]*)<', page)}
    assert badges >= {"holds as meant; misprint", "not checkable here"}
    assert max(map(len, badges)) < 30


def test_the_table_has_a_line_for_each_claim(folder):
    with (folder / "claims.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [claim.id for paper in PAPERS for claim in paper.claims()]
    assert list(rows[0]) == [
        *COLUMNS[: COLUMNS.index("finding") + 1],
        "changes",
        *COLUMNS[COLUMNS.index("finding") + 1 :],
    ]
    (one,) = (row for row in rows if row["id"] == "fedlrt/thm-2")
    assert (one["verdict"], one["finding"], one["changes"]) == ("corrected", "truncation-cost", "changes a main result")
    assert 'href="claims.csv" download' in (folder / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("says", ["=HYPERLINK(1)", "+1", "-1", "@x"])
def test_no_cell_of_the_table_is_a_formula_of_a_spreadsheet(says):
    one = result("lemma")
    others = replace(one, claim=replace(one.claim, says=says, because="x = 1"))
    [row] = csv.DictReader(io.StringIO(claims_table([others]), newline=""))
    assert (row["says"], row["because"]) == (f"'{says}", "x = 1")


def named(name):
    """Return an invented result of a paper with another name."""
    one = result("lemma")
    return replace(one, claim=replace(one.claim, id=f"{name}/lemma"))


def test_pages_of_an_earlier_report_go_unless_somebody_changed_them(tmp_path):
    three = Run(tuple(map(named, ("a", "b", "c"))), 0, "quick", 2.0)
    write_report(three, [figure()], {}, tmp_path)
    (tmp_path / "paper-b.html").write_text("mine")
    (tmp_path / "paper-z.html").write_text("mine")
    write_report(Run(three.results[:1], 0, "quick", 2.0), [], {}, tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    kept = {"index.html", "paper-a.html", "map-a.svg", "claims.csv", RECORD, "figures"}
    assert left == kept | {"paper-b.html", "paper-z.html"}
    assert (tmp_path / "paper-b.html").read_text() == "mine"


@pytest.mark.parametrize("name", ["index.html", "paper-invented.html", "claims.csv", "figures/invented-fig-1.svg"])
def test_a_file_of_somebody_else_stays_and_nothing_is_written(name, tmp_path):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(ForeignFileError, match="rankproof did not write it"):
        write_report(Run((result("lemma"),), 0, "quick", 2.0), [figure()], {}, tmp_path)
    assert {one: one.read_text() for one in tmp_path.rglob("*") if one.is_file()} == {path: "mine"}
    with pytest.raises(ForeignFileError, match="rankproof did not write it"):
        write_single_file(Run((result("lemma"),), 0, "quick", 2.0), [], {}, path)


def test_commands_of_an_own_paper_name_it(tmp_path):
    one = replace(result("lemma"), option="--papers mine ")
    paper = SimpleNamespace(
        name="invented", called="Mine", package="other", title="", main="", option="--papers mine ", is_outside=True
    )
    run = Run((one,), 0, "quick", 2.0, (), (paper,))
    write_report(run, [], {}, tmp_path)
    assert "<code>rankproof check --papers mine</code>" in (tmp_path / "index.html").read_text(encoding="utf-8")
    card = (tmp_path / "paper-invented.html").read_text(encoding="utf-8")
    assert "<code>rankproof check --papers mine invented/lemma</code>" in card
    assert "<code>rankproof check --papers mine</code>" in render(run, [], {})


def test_the_single_file_is_none_that_a_report_replaces_or_removes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pages = ("index.html", "claims.csv", "figures.html", "paper-mail.html", "map-mail.svg", "figures/fedlrt-fig-4.csv")
    for place in pages:  # a later report removes pages of papers that it does not cover, such as paper-mail.html
        assert main(["report", "--out", "here", "--single-file", f"./here/{place}"]) == 2
        said = capsys.readouterr().err
        why = "a report may replace or remove this file; name another one"
        assert said == f"rankproof: --single-file here/{place}: {why}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["mail.html", "a/paper-mail.html", "../paper-mail.html", "papers.html"])
def test_no_report_replaces_or_removes_other_names(tmp_path, name):
    assert not is_place_of_report(tmp_path / "here" / name, tmp_path / "here")
