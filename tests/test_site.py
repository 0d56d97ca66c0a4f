"""Pages keep their links, formulas and names where they are shown on the site as well as in the repository."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from colours import LEAST, contrast

from paper_checks.pages.mathml import to_mathml

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "website"))
from places import FRONT, linked_pages, page_of, place, relink, targets  # noqa: E402
from reference import DOORS  # noqa: E402

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


@pytest.mark.parametrize(
    "page", ["README.md", *(page for page in WRITTEN if not re.search("fedlo|fedlrt|rolora", page))]
)
def test_formulas_of_pages_written_by_hand_can_be_shown(page):
    """Those of the other pages are converted when the report is made."""
    text = re.sub(r"^```(?!math).*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
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
    assert "<math" not in convert("`$x$` costs $5 or $6")
    assert convert("| a |\n|---|\n| $`\\\\|x\\\\|`$ |\n").count("<td>") == 1
    assert "<h4>b</h4>" in convert("<details><summary>a</summary>\n\n#### b\n\n</details>\n").replace(' id="b"', "")
    assert "<details open" in convert("<details open><summary>a</summary>\n\n#### b\n\n</details>\n")
    assert "<code" in convert("Text.\n\n>>> f(1)\n[(1, 2)]\n\nMore.")


def test_it_is_built_with_what_is_asked_for_alone(tmp_path):
    """Nothing on a page is loaded from elsewhere; without MkDocs the build is left to `make site`."""
    pytest.importorskip("mkdocs", reason="`make site` installs it")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "website/mkdocs.yml", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": "website"},
    )
    assert done.returncode == 0, done.stderr
    for page in (*tmp_path.glob("*.html"), *tmp_path.glob("reference/*.html")):
        assert not re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="https?:', page.read_text()), page


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
