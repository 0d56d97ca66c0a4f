"""`rankproof help`: pages of the documentation in the terminal, with links that lead somewhere."""

import re
from pathlib import Path

import pytest

import rankproof
from paper_checks.pages.manual import ManualError, find_page, page_text, pages

DOCS = Path(rankproof.__file__).parent / "docs"


def test_every_page_of_the_documentation_is_listed_and_shown(capsys):
    assert rankproof.main(["help"]) == 0
    out = capsys.readouterr().out
    assert set(pages()) == {"readme", *(file.stem for file in DOCS.glob("*.md"))}
    assert all(any(line.startswith(f"{topic} ") for line in out.splitlines()) for topic in pages())
    assert rankproof.main(["help", "spectra"]) == 0
    out = capsys.readouterr().out
    assert "Spectra of networks" in out
    assert "stable_rank" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("asked", "topic"),
    [
        ("claims", "adding-a-claim"),
        ("claim", "adding-a-claim"),
        ("spectra", "spectra"),
        ("Verdict", "verdicts"),
        ("your own paper", "your-own-paper"),
        ("scale.md", "scale"),
        ("README", "readme"),
        ("models", "language-models"),
    ],
)
def test_a_word_finds_its_page(asked, topic):
    known = dict.fromkeys((*pages(), "language-models"), Path())
    known.pop("covariance-model")
    assert find_page(asked, known) == topic


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("verdct", "did you mean verdicts"),
        ("fedloru", "several pages: fedloru-"),
        ("zzz", "lists all pages"),
        ("", "no page"),
    ],
)
def test_a_word_without_one_page_is_refused_in_a_line(asked, part, capsys):
    with pytest.raises(ManualError, match=part):
        find_page(asked, pages())
    assert rankproof.main(["help", asked]) == 2
    err = capsys.readouterr().err
    assert err.startswith("rankproof: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("topic", sorted(pages()))
def test_links_lead_to_commands_or_addresses(topic):
    known = pages()
    text = page_text(known[topic], known)
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    assert [target for target in re.findall(r"\]\(([^)]*)\)", prose) if not target.startswith("http")] == []
    assert set(re.findall(r"`rankproof help ([a-z-]+)`", text)) <= set(known)


def test_formulas_are_plain_and_code_stays(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# A\n\nFor $x \\le 1$ see [B](b.md#c) and `$y$`.\n\n```bash\necho $x $y [B](b.md)\n```\n")
    text = page_text(page, {"a": page, "b": page})
    assert "For x \u2264 1 see B (`rankproof help b`) and `$y$`." in text
    assert "echo $x $y [B](b.md)" in text


def test_the_page_for_authors_comes_first(capsys):
    assert rankproof.main(["help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["readme", "your-own-paper"]
    assert sum(line.startswith("your-own-paper ") for line in lines) == 1
    assert lines[-2] == "For a paper of your own: `rankproof help your-own-paper` has what the first checks need."
