"""Files with a user's code: the module that a setting names, and the modules next to it that it imports."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_OURS = Path(__file__).resolve().parents[1]
"""Folder of our packages, which may be next to a user's module."""
_INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed libraries, which may be below a user's module."""


def code_digests(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return digests of the files that define objects of a user.

    Args:
        names: Names such as ``module:object``; names without a colon are the package's own and are left out, as are
            modules that are not imported or not from a file.

    Returns:
        For each name the digests of its module, of the packages that contain it, and of the modules in the same folder
        or below that these import when they are loaded, by module; the module of the name comes first. Files that
        cannot be read are left out, as are libraries.
    """
    found = {}
    for name in names:
        module, colon, _ = name.partition(":")
        digests = _digests(_files(module)) if colon else {}
        if module in digests:
            found[name] = digests
    return found


def _files(module: str) -> dict[str, Path]:
    """Return the file of a module and those of the modules next to it that it imports, by module."""
    first = _file(module)
    if first is None:
        return {}
    above = module.count(".") + (first.name == "__init__.py")
    folder = first.parents[min(above, len(first.parents) - 1)]  # a loader may give any name to a file
    found, left = {module: first}, [module]
    while left:
        name = left.pop()
        for other in _imported(name, found[name]):
            path = _file(other)
            if path is not None and other not in found and _is_next_to(folder, other, path):
                found[other] = path
                left.append(other)
    return found


def _is_next_to(folder: Path, module: str, path: Path) -> bool:
    """Return whether a module is a user's own in a folder or below, neither ours nor of a library."""
    if not path.is_relative_to(folder) or path.is_relative_to(_OURS):
        return False
    library = module.partition(".")[0] in sys.stdlib_module_names  # an environment may be below the folder
    return not library and not set(_INSTALLED).intersection(path.relative_to(folder).parts)


def _file(module: str) -> Path | None:
    """Return the file of an imported module."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if file is not None else None


def _imported(module: str, path: Path) -> Iterator[str]:
    """Yield the packages of a module, and the names that its import statements may mean, modules or not."""
    parts = module.split(".")
    yield from (".".join(parts[:end]) for end in range(1, len(parts)))
    if path.suffix != ".py":
        return
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


def _digests(files: Mapping[str, Path]) -> dict[str, str]:
    found = {}
    for module, path in files.items():
        with suppress(OSError):
            found[module] = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return found
