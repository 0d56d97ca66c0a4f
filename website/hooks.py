"""Additions to MkDocs' settings: pages outside `docs/`, what they link to, and the API reference."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from places import FRONT, ROOT, linked_pages, page_of, place, relink, targets
from reference import reference_pages
from search import install_worker, names_of_claims, remove_unused, shortened, weight, with_names

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

HERE = Path(__file__).resolve().parent
_paths: dict[str, str] = {}
"""The repository's file for each page, by the page's location on the site."""
_names = names_of_claims()
_DOORS = " ".join(
    f"[{name}](docs/{page}.md){{ .md-button }}"
    for name, page in {
        "What we found": "what-rankproof-found",
        "Reviewers": "for-reviewers",
        "Authors": "for-authors",
        "Users of Hessians": "for-hessian-users",
        "Federated learning": "for-federated-learning",
        "Contributors": "for-contributors",
    }.items()
)
"""Buttons under the first paragraph of the front page."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put pages that the navigation does not name among the guides, and the reference at its end."""
    assert config.nav is not None
    (guides,) = (section["Guides"] for section in config.nav if "Guides" in section)
    guides += [page.name for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in str(config.nav)]
    config.nav.append({"Reference": [{room: where} for room, where, _ in reference_pages()]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the front page, the reference, and linked files outside `docs/`; leave out tables that no page links to."""
    for name in ("site.css", "site.js"):
        files.append(File.generated(config, name, content=(HERE / name).read_text(encoding="utf-8")))
    for _, where, text in reference_pages():
        files.append(File.generated(config, where, content=text))
    written = [f"docs/{file.src_uri}" for file in files.documentation_pages() if not file.generated_by]
    for path in (
        *FRONT,
        *linked_pages([*FRONT, *written], lambda path: files.get_file_from_path(place(path)) is not None),
    ):
        source = ROOT / path
        if source.is_dir() or source.suffix == ".py":
            added = File.generated(config, place(path), content=page_of(path))
        else:
            added = File.generated(config, place(path), abs_src_path=str(source))
        files.append(added)
        _paths[place(path)] = f"{path}/index.md" if source.is_dir() else path
    _paths.update({path.removeprefix("docs/"): path for path in written})
    linked = {target for path in (*FRONT, *written) for target in targets((ROOT / path).read_text("utf-8"), path)}
    for file in list(files.media_files()):
        if file.src_uri.startswith("figures/") and f"docs/{file.src_uri}" not in linked:
            files.remove(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links of a page of the repository, and the headings of claims; set how it is searched."""
    boost = weight(page.file.src_uri)
    page.meta["search"] = {"exclude": True} if boost is None else {"boost": boost}
    if page.file.src_uri == FRONT["README.md"]:
        page.meta["hide"] = ["navigation"]
        markdown = markdown.replace("\n\n| paper |", f"\n\n{_DOORS}\n\n| paper |", 1)
    path = _paths.get(page.file.src_uri)
    if path is None or Path(path).suffix == ".py":
        return markdown
    return with_names(relink(markdown, path), _names)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make empty heads of tables cells, for a reader that speaks them announces a head without a name."""
    return re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the dialog of the search, and make lists within a table of contents no landmarks: two have each name."""
    dialog = 'data-md-component="search" role="dialog"'
    named = output.replace(dialog, f'{dialog} aria-label="Search"')
    return re.sub(r'<nav class="md-nav" aria-label="[^"]*">', '<nav class="md-nav" role="none">', named)


@event_priority(-100)
def on_post_build(config: MkDocsConfig) -> None:
    """Shorten the index of the search once it is written, and ask it for all words of a query; remove unused files."""
    site = Path(config.site_dir)
    index = site / "search" / "search_index.json"
    whole = json.loads(index.read_text(encoding="utf-8"))
    index.write_text(json.dumps(shortened(whole), ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    install_worker(site)
    remove_unused(site)
