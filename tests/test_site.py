"""Pages keep their links, formulas and names where they are shown on the site as well as in the repository."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from colours import LEAST, contrast

from paper_checks.pages.mathml import to_mathml

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "website"))
from places import FRONT, linked_pages, page_of, place, relink, targets  # noqa: E402
from reference import DOORS, FIRST, reference_pages  # noqa: E402
from search import name_of, shortened, weight, with_names  # noqa: E402
from site_build import publish  # noqa: E402

WRITTEN = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("README.md", "index.md"),
        ("docs/figures/README.md", "figures/README.md"),
        ("docs/proofs", "proofs/index.md"),
        ("benchmarks/README.md", "source/benchmarks/README.md"),
        ("benchmarks", "source/benchmarks/README.md"),
        ("paper_checks/claim.py", "source/paper_checks/claim.py.md"),
        (".github/pull_request_template.md", "source/github/pull_request_template.md"),
    ],
)
def test_places(path, where):
    assert place(path) == where


@pytest.mark.parametrize(
    ("path", "text", "there"),
    [
        ("README.md", "![a](docs/figures/a.png)", "![a](figures/a.png)"),
        ("README.md", "[a](#verdicts) [b](https://example.org/b.md)", "[a](#verdicts) [b](https://example.org/b.md)"),
        ("docs/proofs/x.md", "[a](../../rmt/laws.py)", "[a](../source/rmt/laws.py.md)"),
        ("docs/spectra.md", "[a](../README.md#the-house)", "[a](index.md#the-house)"),
        ("docs/spectra.md", "```text\n[a](../README.md)\n```\n", "```text\n[a](../README.md)\n```\n"),
        ("docs/spectra.md", "$`f[a](b)`$", "$`f[a](b)`$"),
        ("benchmarks/README.md", "[a](../docs/spectra.md)", "[a](../../spectra.md)"),
        ("docs/proofs/index.md", "[a](x.md)", "[a](x.md)"),
    ],
)
def test_links_lead_to_the_same_on_the_site(path, text, there):
    assert relink(text, path) == there


def test_nothing_outside_of_the_repository_comes_onto_the_site():
    text = "[a](../../../etc/hosts) [b](/etc/hosts) [c](mailto:someone)"
    assert not list(targets(text, "docs/proofs/x.md"))
    assert relink(text, "docs/proofs/x.md") == text


def test_what_pages_link_to_is_found_once_and_through_other_pages():
    found = list(linked_pages(["CONTRIBUTING.md"], lambda path: path in FRONT))
    assert len(found) == len(set(found))
    assert {"docs/proofs", "docs/adding-a-claim.md", "benchmarks/README.md"} <= set(found)
    assert any(path.startswith("docs/proofs/") for path in found)
    assert "docs/proofs/no-such-proof.md" not in list(targets(page_of("docs/proofs"), "docs/proofs/index.md"))


@pytest.mark.parametrize("door", [name for doors in DOORS.values() for name in doors])
def test_what_the_reference_names_is_there_and_says_what_it_is(door):
    module = importlib.import_module(door)
    assert module.__doc__
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name)


def test_the_reference_begins_with_what_people_call_first():
    (_, where, text), *rooms = reference_pages()
    assert where == "reference/index.md"
    assert [name for name, *_ in rooms] == list(DOORS)
    names = [name for some in FIRST.values() for name in some]
    assert re.findall("^::: (.+)$", text, flags=re.M) == names
    for name in names:
        module, _, member = name.rpartition(".")
        assert getattr(importlib.import_module(module), member).__doc__


def test_every_page_that_the_navigation_names_is_there():
    yaml = pytest.importorskip("yaml", reason="packages of `make test` install it")

    class Loader(yaml.SafeLoader):
        """Reads the settings without the Python objects that they name."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)
    settings = yaml.load((ROOT / "website/mkdocs.yml").read_text("utf-8"), Loader)
    pages = [page for section in settings["nav"] for part in section.values() for page in _pages_of(part)]
    known = {place(path) for path in (*FRONT, *WRITTEN)}
    known |= {place(path) for path in linked_pages([*FRONT, *WRITTEN], lambda path: place(path) in known)}
    assert len(pages) == len(set(pages)) > 20
    assert known.issuperset(pages)


def _pages_of(part):
    if isinstance(part, str):
        return [part]
    return [
        page for entry in part for page in _pages_of(next(iter(entry.values())) if isinstance(entry, dict) else entry)
    ]


def test_headings_of_claims_begin_with_their_names_and_keep_their_anchors():
    page = "#### fedlrt/thm-2\n\n`#### fedlrt/thm-2`\n\n#### other/thm-2\n"
    found = with_names(page, {"fedlrt/thm-2": "Theorem 2"})
    assert found == page.replace("#### fedlrt/thm-2\n", "#### Theorem 2 · fedlrt/thm-2 { #fedlrtthm-2 }\n", 1)
    folded = "<details><summary>a</summary>\n\n#### fedlrt/thm-2\n\n</details>\n"
    assert "\n### Theorem 2 · fedlrt/thm-2 {" in with_names(folded, {"fedlrt/thm-2": "Theorem 2"})
    assert "\n#### Theorem 2 · fedlrt/thm-2 {" in with_names(f"{folded}{page}", {"fedlrt/thm-2": "Theorem 2"})
    assert name_of("Appendix A, eqs. (21) to (25)") == "Equations (21) to (25)"
    assert name_of("Section 3.1, stable rank") == "Section 3.1, stable rank"


def test_programs_are_not_searched_and_proofs_weigh_less_than_claims():
    assert weight("source/rmt/laws.py.md") is None
    assert weight("source/benchmarks/README.md") is not None
    assert weight("proofs/fedlrt--thm-2.md") < weight("fedlrt-analysis.md") < weight("spectra.md")
    assert weight("reference/hessian.md") < weight("reference/index.md")


def test_the_index_keeps_claims_and_guides_and_cuts_proofs():
    text = "<p>One.</p> <p>Two.</p> <p>Three.</p>"
    places = (
        "fedlrt-analysis.html#a",
        "spectra.html#a",
        "proofs/a.html",
        "proofs/a.html#proof",
        "reference/rmt.html#a",
    )
    index = {"config": {}, "docs": [{"location": place, "title": "t", "text": text, "boost": 2} for place in places]}
    kept = {entry["location"]: entry["text"].count("<p>") for entry in shortened(index)["docs"]}
    assert kept == {places[0]: 2, places[1]: 3, places[2]: 1, places[4]: 1}


@pytest.mark.parametrize(
    "page", ["README.md", *(page for page in WRITTEN if not re.search("fedlo|fedlrt|rolora", page))]
)
def test_formulas_of_pages_written_by_hand_can_be_shown(page):
    """Those of the other pages are converted when the report is made."""
    text = re.sub(r"^```(?!math)\w.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    for formula in re.findall(r"\$`([^`]+)`\$", text):
        assert to_mathml(formula.replace(r"\\|", r"\|"))
    for formula in re.findall(r"^```math\n(.*?)^```", text, flags=re.S | re.M):
        assert to_mathml(" ".join(formula.split()), display=True)


def test_the_markdown_of_the_site_reads_formulas_cells_foldings_and_doctests():
    markdown = pytest.importorskip("markdown", reason="`make site` installs it")
    sys.modules.pop("dialect", None)
    convert = markdown.Markdown(extensions=["dialect", "tables", "fenced_code", "md_in_html"]).convert
    assert "<math><mi>x</mi></math>" in convert("so $`x`$ is")
    assert "<math><mi>x</mi></math>" in convert("so $x$ is")
    for formula in ("$x$", "$`x`$"):  # no line begins with a stop, or ends with a bracket
        assert 'so <span class="line">(<math><mi>x</mi></math>).</span> Is' in convert(f"so ({formula}). Is")
    assert "<math" not in convert("`$x$` costs $5 or $6")
    assert convert("| a |\n|---|\n| $`\\\\|x\\\\|`$ |\n").count("<td>") == 1
    assert "<h4>b</h4>" in convert("<details><summary>a</summary>\n\n#### b\n\n</details>\n").replace(' id="b"', "")
    assert "<details open" in convert("<details open><summary>a</summary>\n\n#### b\n\n</details>\n")
    nested = convert("1. a\n\n   - b\n\n2. c\n").split()
    assert "".join(nested).count("<ol>") == 1
    assert "<code" in convert("Text.\n\n>>> f(1)\n[(1, 2)]\n\nMore.")


def _built(folder, **pages):
    for name, text in pages.items():
        path = folder / f"{name.replace('__', '/')}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _files(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("[!.]*") if path.is_file()}


def test_a_new_site_replaces_the_one_before_and_no_other_file(tmp_path):
    site = tmp_path / "site"
    publish(_built(tmp_path / "first", index="1", old="1", old__a="1", both__a="1"), site)
    (site / "both" / "mine.html").write_text("my text")
    (site / "old.html").write_text("changed by hand")
    publish(_built(tmp_path / "second", index="2", both__b="2"), site)
    kept = {"both/mine.html": "my text", "old.html": "changed by hand"}
    assert _files(site) == {"index.html": "2", "both/b.html": "2", **kept}
    assert not (site / "old").exists()


def test_a_site_stops_at_a_file_of_somebody_else_and_changes_nothing(tmp_path):
    theirs = _built(tmp_path / "theirs", index="my page", notes="my notes")
    (tmp_path / "site").symlink_to(theirs)
    with pytest.raises(FileExistsError, match="did not write it"):
        publish(_built(tmp_path / "built", a="1", index="1"), tmp_path / "site")
    assert _files(theirs) == {"index.html": "my page", "notes.html": "my notes"}
    done = subprocess.run(
        [sys.executable, "website/site_build.py", str(theirs)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"{theirs / 'index.html'}: rankproof did not write it")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; without MkDocs the build is left to `make site`."""
    pytest.importorskip("mkdocs", reason="`make site` installs it")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "website/site_build.py", str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_nothing_on_a_page_is_loaded_from_elsewhere(site):
    for page in (*site.glob("*.html"), *site.glob("reference/*.html")):
        assert not re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="https?:', page.read_text()), page


@pytest.mark.slow
def test_no_picture_is_on_the_site_twice_and_none_is_missing(site):
    pictures = [*site.glob("figures/*.png"), *site.glob("figures/*.svg")]
    assert len({picture.read_bytes() for picture in pictures}) == len(pictures)
    for page in site.glob("*.html"):
        shown = re.findall(r'<img[^>]*src="([^":]+)"', page.read_text(encoding="utf-8"))
        assert len(set(shown)) == len(shown), page
        assert all((page.parent / picture).is_file() for picture in shown), page


@pytest.mark.slow
def test_every_link_of_the_site_leads_to_a_page_that_was_built(site):
    pages = [*site.rglob("*.html")]
    assert len(pages) > 100
    for page in pages:
        for link in re.findall(r'<a [^>]*href="([^":#?]+)', page.read_text(encoding="utf-8")):
            assert (page.parent / unquote(link)).exists(), (page, link)


ASKED = {
    "theorem 2 FeDLRT": "fedlrt-analysis.html#fedlrtthm-2",
    "does Theorem 2 of FeDLRT hold?": "fedlrt-analysis.html#fedlrtthm-2",
    "thm-2": "fedlrt-analysis.html#fedlrtthm-2",
    "fedlrt/thm-2": "fedlrt-analysis.html#fedlrtthm-2",
    "lemma 5.3": "rolora-analysis.html#roloralem-53",
    "theorem 3.2 of FedLoRU": "fedloru-spectral-theory.html#fedloru-v2thm-32",
    "table 1 RoLoRA": "rolora-printed-numbers.html#roloratable-1",
    "stable rank": "for-hessian-users.html",
    "cite": "cite-a-finding.html",
    "contest a verdict": "contest-a-verdict.html",
    "measure_spectrum": "reference/index.html#hessian.measure_spectrum",
    "SpikedModel": "reference/index.html#rmt.SpikedModel",
}
"""Questions to the search, and the place that answers each."""


@pytest.mark.slow
def test_the_search_gives_the_right_place_first_and_a_short_list(site):
    """Asked by the worker and the index of the site itself."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    command = [node, str(ROOT / "tests" / "ask_site.js"), str(site), *ASKED]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert {query: pages[0][0][0] for query, pages in found.items()} == ASKED
    assert all(len(pages) <= 10 for pages in found.values())
    assert (site / "search" / "search_index.json").stat().st_size < 1_000_000


def test_a_check_of_accessibility_says_in_one_line_what_is_missing(tmp_path):
    script = [sys.executable, str(ROOT / "website" / "accessibility.py"), "unbuilt.html"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "npm install axe-core" in line
    assert "the page unbuilt.html, which is not built" in line


BEHIND = {"default": ("#ffffff", "#f5f5f5"), "slate": ("#1e2129", "#272b35")}
"""Colours of Material's pages and of code on them."""


@pytest.mark.parametrize("scheme", BEHIND)
def test_text_of_the_site_has_enough_contrast(scheme):
    """The colours that the style sheet sets; Material's own for links, light text and code in the dark are too dim."""
    sheet = (ROOT / "website" / "site.css").read_text(encoding="utf-8")
    (block,) = re.findall(rf'\[data-md-color-scheme="{scheme}"\][^{{]*\{{([^}}]*)\}}', sheet)
    colours = dict(re.findall(r"--md-([a-z-]+): (#[0-9a-f]{6});", block))
    assert {name for name in colours if "comment" in name or name == "typeset-a-color"}
    for name, colour in colours.items():
        assert min(contrast(colour, behind) for behind in BEHIND[scheme]) >= LEAST, name
    assert contrast("#5488e8", BEHIND["slate"][1]) < LEAST  # a link, as Material has it
    assert all(float(faded) > 0.85 for faded in re.findall(r"opacity: ([\d.]+)", sheet))
