"""Files with a user's code: the module that a setting names, and the modules next to it that it imports."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PACKAGES = ("rmt", "workloads", "hessian", "toymodels", "algorithms", "runs", "figures", "paper_checks", "rankproof")
"""Names of our packages, which may be next to a user's module."""


def code_digests(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return digests of the files that define objects of a user.

    Args:
        names: Names such as ``module:object``; names without a colon are the package's own and are left out, as are
            modules that are not imported or not from a file.

    Returns:
        For each name the digests of its module and of the imported modules in the same folder or below, by module; the
        module of the name comes first.
    """
    found = {}
    for name in names:
        module, colon, _ = name.partition(":")
        if colon and (digests := {one: _digest(path) for one, path in _files(module).items() if path.is_file()}):
            found[name] = digests
    return found


def _files(module: str) -> dict[str, Path]:
    """Return the file of a module and those of the modules next to it that it imports, by module."""
    first = _file(module)
    if first is None:
        return {}
    folder = first.parents[module.count(".") + (first.name == "__init__.py")]
    found, left = {module: first}, [module]
    while left:
        name = left.pop()
        for other in _imported(name, found[name]):
            path = _file(other)
            if path is None or other in found or other.partition(".")[0] in _PACKAGES:
                continue
            if path.is_relative_to(folder) and "site-packages" not in path.relative_to(folder).parts:
                found[other] = path
                left.append(other)
    return found


def _file(module: str) -> Path | None:
    """Return the source file of an imported module."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if file is not None and file.endswith(".py") else None


def _imported(module: str, path: Path) -> Iterator[str]:
    """Yield the names that the import statements of a module may mean, whether they are modules or not."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    package = str(getattr(sys.modules.get(module), "__package__", None) or "").split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bases = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            bases = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for base in bases:
            parts = base.split(".")
            yield from (".".join(parts[: end + 1]) for end in range(len(parts)))


def _digest(path: Path) -> str:
    with suppress(OSError):
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return ""
