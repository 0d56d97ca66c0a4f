"""Which test files exercise which room: ``python benchmarks/tests_of_rooms.py`` writes ``docs/tests-of-rooms.md``.

A room is a folder of a package, with the folders in it. A test file uses a room if it imports something that is defined
there: names are followed through the packages that pass them on (``from hessian import Krylov`` is
`hessian.lanczos.krylov`), through constants that are made of imported ones (``PAPERS`` is every paper), and through the
modules that test files share. What a test runs as a command, or reaches through another room, is not counted, so this
takes seconds and no test has to run.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tests-of-rooms.md"
PACKAGES = ("rmt", "workloads", "hessian", "toymodels", "algorithms", "runs", "figures", "paper_checks")
FEW = 12
"""Test files of other rooms that a row names, those that use most of the room first."""
TOP = """# Tests of each package

This page shows which tests to run after you change a module. First run the tests of its package,
`.venv/bin/python -m pytest tests/PACKAGE`, then the tests elsewhere that use the package, those that use most of it
first (their paths begin in `tests/`). `python benchmarks/tests_of_rooms.py` writes this page from the imports of the
test files, so it does not see what a test reaches through a command or through another package.

| package | test files in `tests/PACKAGE` | test files elsewhere |
|---|---|---|
"""


def rooms() -> list[str]:
    """Return the folders of the packages, and the packages themselves for the modules on top."""
    found = {
        "/".join(path.relative_to(ROOT).parts[:-1][:2]) for name in PACKAGES for path in ROOT.glob(f"{name}/**/*.py")
    }
    return sorted(found, key=lambda room: (PACKAGES.index(room.split("/")[0]), room))


def room_of(module: str) -> str:
    """Return the room of a module."""
    parts = module.split(".")
    return "/".join(parts[: 2 if (ROOT / "/".join(parts[:2])).is_dir() else 1])


@cache
def file_of(module: str) -> Path | None:
    """Return the file of a module of the project, or None if there is none."""
    if module.split(".")[0] not in PACKAGES:
        return None
    place = ROOT / module.replace(".", "/")
    return next((file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None)


def imports(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Yield the name in the file, the module, and the name in the module (empty for the module itself)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, node.module, alias.name) for alias in node.names)


@cache
def contents(module: str) -> tuple[dict[str, tuple[str, str]], dict[str, frozenset[str]]]:
    """Return what a module imports, by its name there, and the names from which its constants are made."""
    file = file_of(module)
    assert file is not None
    tree = ast.parse(file.read_text(encoding="utf-8"))
    made = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            names = frozenset(one.id for one in ast.walk(node.value) if isinstance(one, ast.Name))
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                made |= {target.id: names} if isinstance(target, ast.Name) else {}
    return {here: (there, name) for here, there, name in imports(tree)}, made


@cache
def homes(module: str, name: str) -> frozenset[str]:
    """Return the modules that define an imported name; for a constant, also the modules of the names it is made of."""
    if name and file_of(f"{module}.{name}") is not None:
        return frozenset({f"{module}.{name}"})
    if file_of(module) is None:
        return frozenset()
    imported, made = contents(module)
    if name in imported:
        return homes(*imported[name])
    parts = (homes(*imported[part]) for part in made.get(name, ()) if part in imported)
    return frozenset({module}).union(*parts)


def used(test: Path) -> Counter[str]:
    """Return how many names a test file uses of each room, including those that the modules it shares use."""
    beside = {path.stem: path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")}
    found, seen, waiting = Counter[str](), set[Path](), [test]
    while waiting:
        file = waiting.pop()
        seen.add(file)
        for _, module, name in imports(ast.parse(file.read_text(encoding="utf-8"))):
            found.update({room_of(home) for home in homes(module, name)})
            shared = beside.get(module)
            if shared is not None and shared not in seen:
                waiting.append(shared)
    return found


def rows() -> dict[str, tuple[list[str], list[str]]]:
    """Return the test files in the folder of each room, and those elsewhere, first those that use most of it."""
    own, further = defaultdict[str, list[str]](list), defaultdict[str, Counter[str]](Counter)
    known = rooms()
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        name = test.relative_to(ROOT / "tests").as_posix()
        folder = "/".join(name.split("/")[:-1][:2])
        if folder in known:
            own[folder].append(name)
        for room, count in used(test).items():
            if room != folder:
                further[room][name] = count
    return {room: (own[room], sorted(further[room], key=lambda name: (-further[room][name], name))) for room in known}


def page() -> str:
    """Return the text of the page."""
    lines = []
    for room, (own, further) in rows().items():
        rest = f" and {len(further) - FEW} more" if len(further) > FEW else ""
        cells = (
            ", ".join(f"`{Path(name).name}`" for name in own),
            ", ".join(f"`{name}`" for name in further[:FEW]) + rest,
        )
        lines.append(f"| `{room}` | {' | '.join(cell or '-' for cell in cells)} |\n")
    return TOP + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
