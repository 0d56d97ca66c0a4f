"""An inventory as a package of claims without checks: one file per result, for the author to fill in."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from textwrap import wrap

from paper_checks.inventory.document import Document, Item, Kind
from paper_checks.ledger import LedgerError
from paper_checks.new_paper import project_file
from paper_checks.own_papers import no_bytecode, own_papers, require_free
from paper_checks.paper import Paper
from workloads.files import require_writable, write_whole

NO_CHECK = "no check yet"
"""Why a claim of the inventory is not checkable."""
_SHORT: Mapping[Kind, str] = {
    "theorem": "thm",
    "lemma": "lem",
    "proposition": "prop",
    "corollary": "cor",
    "definition": "def",
    "assumption": "asm",
    "conjecture": "conj",
    "remark": "rem",
    "example": "ex",
    "equation": "eq",
    "table": "table",
    "figure": "fig",
    "algorithm": "alg",
}
_CLAIMED: Mapping[Kind, str] = {
    "definition": "definition",
    "assumption": "assumption",
    "algorithm": "algorithm",
    "table": "number",
    "figure": "experiment",
}
"""Kinds of claims other than statements."""
_RESULTS = ("theorem", "proposition", "corollary")
_DETAILS = ("remark", "example", "table", "figure")
_WIDTH = 110
_LONGEST = 4000
"""Characters of a statement that a stub keeps."""


@dataclass(frozen=True)
class Stub:
    """A claim without a check.

    Attributes:
        id: Its id.
        module: File that it is in, without its ending.
        item: Item that it is about.
        uses: Ids that its statement or its proof refers to.
    """

    id: str
    module: str
    item: Item
    uses: tuple[str, ...] = ()


def require_place(folder: Path) -> None:
    """Check before the work that stubs can be written to a folder.

    Raises:
        LedgerError: The name is taken, or the folder holds something other than the package of a paper.
    """
    if _package_in(folder) is None:
        _names(folder)


def write_stubs(document: Document, folder: Path) -> tuple[list[Path], str, int]:
    """Write a claim without a check for each item, into a new package or into one that exists.

    A package that exists keeps all of its files as they are, except for the list of files in its `paper.py`, which gets
    the new names at its end.

    Args:
        document: The inventory.
        folder: Folder of the project or of the package; its name is the name of a new paper.

    Returns:
        The paths written, the name of the paper, and how many claims were written.

    Raises:
        LedgerError: The name is taken, the folder holds something else, or the package cannot be extended.
        OSError: The folder cannot be written.
    """
    known = _package_in(folder)
    if known is None:
        return _write_new(document, folder)
    return _extend(document, known)


def _package_in(folder: Path) -> Paper | None:
    """Return the paper whose package a folder is or holds; None if the folder is new or empty.

    Raises:
        LedgerError: The folder holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    before = {paper.package for paper in own_papers()}
    with no_bytecode():
        papers = own_papers([str(folder)])
    home = folder.resolve()
    found = [paper for paper in papers if paper.package not in before or paper.folder.is_relative_to(home)]
    if len(found) != 1:
        raise LedgerError(f"{folder} holds no package of a paper; name a new folder")
    return found[0]


def _write_new(document: Document, folder: Path) -> tuple[list[Path], str, int]:
    name, package = _names(folder)
    stubs = stubs_of(document, name)
    if not stubs:
        raise LedgerError(f"{document.source} has no numbered statements, so there is nothing to write into {folder}")
    modules = list(dict.fromkeys(stub.module for stub in stubs))
    inner = folder / package
    texts = {
        folder / "pyproject.toml": project_file("pyproject.toml", name, package),
        folder / "README.md": _readme(name, document, len(stubs)),
        inner / "__init__.py": f'"""Claims of {_one_line(document.title) or name}, with a check or without."""\n',
        inner / "replays" / "__init__.py": '"""Second evaluations of witnesses, and proofs."""\n',
        inner / "paper.py": _paper_module(name, document, modules),
        **{
            inner / f"{module}.py": _module([stub for stub in stubs if stub.module == module], name)
            for module in modules
        },
    }
    files = {path: text.encode() for path, text in texts.items()}
    for parent in {path.parent for path in files}:
        require_writable(parent)
    write_whole(files, fresh=files)
    return list(files), name, len(stubs)


def _names(folder: Path) -> tuple[str, str]:
    """Return the names of a new paper and of its package, from the name of its folder.

    Raises:
        LedgerError: One is taken or cannot be one.
    """
    name = folder.resolve().name.lower().replace("_", "-")
    require_free(name)
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or importlib.util.find_spec(package) is not None:
        raise LedgerError(
            f"the name {package} already has another meaning in Python; name another folder than {folder}"
        )
    return name, package


def _extend(document: Document, paper: Paper) -> tuple[list[Path], str, int]:
    """Add what a package does not declare yet.

    Raises:
        LedgerError: Its list of files is written in a way that cannot be extended.
    """
    known = {id for claim in paper.claims() for id in (claim.id, *claim.also)}
    new = [stub for stub in stubs_of(document, paper.name) if stub.id not in known]
    if not new:
        return [], paper.name, 0
    ids = known | {stub.id for stub in new}
    taken = {file.stem for file in paper.folder.glob("*.py")} | {
        file.name for file in paper.folder.iterdir() if file.is_dir()
    }
    renamed = {module: _free(module, taken) for module in dict.fromkeys(stub.module for stub in new)}
    new = [replace(stub, module=renamed[stub.module], uses=tuple(id for id in stub.uses if id in ids)) for stub in new]
    new = _without_circles(new, {claim.id: claim.uses for claim in paper.claims()})
    modules = list(dict.fromkeys(stub.module for stub in new))
    main = paper.folder / "paper.py"
    listed = _with_themes(main.read_text(encoding="utf-8"), modules, main)
    fresh = {
        paper.folder / f"{module}.py": _module([stub for stub in new if stub.module == module], paper.name).encode()
        for module in modules
    }
    write_whole({**fresh, main: listed.encode()}, fresh=fresh)
    return [*fresh, main], paper.name, len(new)


def _free(module: str, taken: set[str]) -> str:
    """Return a name of a file that the package does not have."""
    if module not in taken:
        return module
    number = 1
    while (name := f"{module}_unchecked{number if number > 1 else ''}") in taken:
        number += 1
    return name


def stubs_of(document: Document, name: str) -> list[Stub]:
    """Return a claim for every numbered item, in the order of the paper.

    Args:
        document: The inventory.
        name: Name of the paper, with which the ids begin.
    """
    ids: dict[int, str] = {}
    taken: set[str] = set()
    items = [item for item in document.items if item.number and re.search(r"\w", item.number)]
    for at, item in enumerate(items):
        label = f"{_SHORT[item.kind]}-{_plain(item.number)}"
        count = 1
        while f"{name}/{label}{f'-{count}' if count > 1 else ''}" in taken:
            count += 1
        ids[at] = f"{name}/{label}{f'-{count}' if count > 1 else ''}"
        taken.add(ids[at])
    first: dict[tuple[str, str], str] = {}
    for at, item in enumerate(items):
        first.setdefault((item.kind, item.number), ids[at])
    homes = {(item.kind, item.number): _module_name(ids[at]) for at, item in reversed(list(enumerate(items)))}
    found = []
    for at, item in enumerate(items):
        module = _module_name(ids[at])
        if item.kind == "equation":
            section = re.sub(r"[^a-z0-9]+", "_", item.section.lower()).strip("_")
            module = homes.get(item.inside, "") if item.inside else ""
            module = module or (f"sec_{section}" if section else "equations")
        mentioned = [(one.kind, one.number) for one in (*item.refers, *item.proof_refers) if one.kind]
        uses = dict.fromkeys(
            first[pair] for pair in mentioned if pair in first and first[pair] != ids[at] and pair[0] not in ("figure",)
        )
        found.append(Stub(ids[at], module, item, tuple(uses)))
    return _without_circles(found, {})


def _plain(number: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", number).strip("-.") or "x"


def _module_name(id: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", id.partition("/")[2].lower())


def _without_circles(stubs: Sequence[Stub], known: Mapping[str, tuple[str, ...]]) -> list[Stub]:
    """Return stubs that do not depend on themselves: references back and forth keep the first direction."""
    graph: dict[str, tuple[str, ...]] = dict(known)
    graph.update({stub.id: stub.uses for stub in stubs})
    own = {stub.id for stub in stubs}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]
            order = list(graph)
            edges = [(after, before) for before, after in itertools.pairwise(circle) if after in own]
            user, used = max(
                edges, key=lambda edge: order.index(edge[1])
            )  # a use of what comes later is a pointer ahead
            graph[user] = tuple(id for id in graph[user] if id != used)
        else:
            return [replace(stub, uses=graph[stub.id]) for stub in stubs]


def _module(stubs: Sequence[Stub], name: str) -> str:
    """Return the text of a file of claims."""
    first = stubs[0].item
    where = f" (Section {first.section})" if first.section else ""
    about = f"{first.name}{where}" if first.kind != "equation" else f"Equations{where}"
    if first.kind == "equation" and first.inside:
        about = f"Equations of {first.inside[0]} {first.inside[1]}{where}"
    parts = [
        f'"""{_one_line(about)}: {NO_CHECK}."""\n\nfrom __future__ import annotations\n\n'
        "from paper_checks.claim import Evidence, claim\nfrom paper_checks.context import Context\n\n\n"
        "def nothing(context: Context) -> None:\n"
        '    """Measure nothing; return here what the checks compare."""\n'
    ]
    used = set[str]()
    for stub in stubs:
        function = re.sub(r"[^a-z0-9]+", "_", stub.id.partition("/")[2].lower())
        while function in used or function == "nothing" or keyword.iskeyword(function):
            function += "_"
        used.add(function)
        parts.append(_claim(stub, function))
    return "\n\n".join(parts)


def _claim(stub: Stub, function: str) -> str:
    """Return the declaration of a claim without a check."""
    item = stub.item
    where = ", ".join(filter(None, [f"Section {item.section}" if item.section else "", f"{item.name} ({item.place})"]))
    kind = _CLAIMED.get(item.kind, "statement")
    importance = "result" if item.kind in _RESULTS else "detail" if item.kind in _DETAILS else "step"
    lines = [
        "@claim(",
        f"    {_quoted(stub.id)},",
        f"    where={_quoted(_one_line(where))},",
        f"    says={_raw(_says(item))},",
        "    measure=nothing,",
        f"    kind={_quoted(kind)},",
        f"    importance={_quoted(importance)},",
    ]
    if stub.uses:
        lines += ["    uses=(", *(f"        {_quoted(id)}," for id in stub.uses), "    ),"]
    lines += [
        '    expect=("not checkable here", None),',
        f"    expect_reason={_quoted(NO_CHECK)},",
        ")",
        f"def {function}(measured: None) -> Evidence:",
        '    """Compare nothing yet."""',
        f"    return Evidence(None, {_quoted('nothing')}, reason={_quoted(NO_CHECK)})",
        "",
    ]
    return "\n".join(lines)


def _says(item: Item) -> str:
    """Return what an item says, in one line; its name if it has no text."""
    text = _one_line(item.text or item.title)
    if item.kind not in ("table", "figure", "equation") and item.title and item.title != item.text:
        text = f"({_one_line(item.title)}) {text}"
    if len(text) > _LONGEST:
        cut = text[:_LONGEST]
        text = f"{cut[: cut.rfind('$')] if cut.count('$') % 2 else cut}…"
    return text if re.search(r"\w", text) else item.name


def _one_line(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _quoted(text: str) -> str:
    """Return a literal in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _raw(text: str) -> str:
    """Return a text as a raw literal over several lines, whose line breaks between words do not matter."""
    if '"""' in text or text.endswith(("\\", '"')):
        text = f"{text} "
    if '"""' in text:
        return _quoted(text.strip())
    lines = wrap(text, _WIDTH - 8, break_long_words=False, break_on_hyphens=False) or [""]
    if len(lines) == 1 and len(lines[0]) < _WIDTH - 14 and '"' not in text and not lines[0].endswith("\\"):
        return f'r"{lines[0]}"'
    if lines[-1].endswith(("\\", '"')):
        lines[-1] += " "
    return 'r"""' + "\n    ".join(lines) + '"""'


def _paper_module(name: str, document: Document, modules: Sequence[str]) -> str:
    rows = "".join(f"    {_quoted(module)},\n" for module in modules)
    title = _one_line(document.title) or name
    return (
        '"""The paper, and the files of its claims."""\n\nfrom __future__ import annotations\n\n'
        "from paper_checks.paper import Paper\n\n"
        f"RESULTS = (\n{rows})\n"
        '"""Files with the claims, in the order of the paper."""\n\n'
        f"PAPER = Paper(\n    {_quoted(name)},\n    {_quoted(title)},\n    "
        f"__package__,\n    RESULTS,\n    called={_quoted(name)},\n)\n"
        f'"""The paper (``{name}``)."""\n'
    )


def _readme(name: str, document: Document, count: int) -> str:
    title = _one_line(document.title) or name
    return (
        f"# {title}\n\n"
        f"{count} claims from the inventory of the paper, one file per result, "
        f"without checks. To add a check, return in `measure` what it\n"
        "compares, and judge it in the function of the claim.\n\n"
        "```bash\n"
        f"rankproof check --papers . {name}/            # what is checked, and what is not\n"
        f"rankproof report --papers . --paper {name}    # a map of the paper\n"
        "```\n"
    )


def _with_themes(source: str, modules: Sequence[str], path: Path) -> str:
    """Return the text of a `paper.py` whose list of files has further names at its end.

    Raises:
        LedgerError: The list is not written as names in parentheses.
    """
    found = _themes_tuple(ast.parse(source))
    if found is None or found.end_lineno is None or found.end_col_offset is None:
        raise LedgerError(
            f"{path} does not list its files as names in parentheses, so it cannot be extended; write them so, as in "
            f'RESULTS = ("lem_1", "lem_2")'
        )
    lines = source.splitlines(keepends=True)
    encoded = lines[found.end_lineno - 1].encode()
    before, after = encoded[: found.end_col_offset].decode(), encoded[found.end_col_offset :].decode()
    if not before.endswith(")"):
        raise LedgerError(
            f"{path} lists its files without parentheses, so it cannot be extended; put them in parentheses"
        )
    head = before[:-1].rstrip()
    above = "".join(lines[: found.end_lineno - 1])
    kept = (above + head).rstrip()
    comma = "" if not found.elts or kept.endswith(",") else ","
    rows = "".join(f"\n    {_quoted(module)}," for module in modules)
    text = f"{kept}{comma}{rows}\n){after}" + "".join(lines[found.end_lineno :])
    again = _themes_tuple(ast.parse(text))
    names = [ast.literal_eval(one) for one in (*found.elts,)] + list(modules)
    if again is None or [ast.literal_eval(one) for one in again.elts] != names:
        raise LedgerError(f"the list of files in {path} cannot be extended; add {', '.join(modules)} to it by hand")
    return text


def _themes_tuple(tree: ast.Module) -> ast.Tuple | None:
    """Return the list of files of a `paper.py`: the fourth argument of `Paper`, or what it names."""
    named = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for value in _papers(tree):
        themes = next(
            (word.value for word in value.keywords if word.arg == "themes"),
            value.args[3] if len(value.args) > 3 else None,
        )
        themes = named.get(themes.id) if isinstance(themes, ast.Name) else themes
        if isinstance(themes, ast.Tuple) and all(isinstance(one, ast.Constant) for one in themes.elts):
            return themes
    return None


def _papers(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Paper":
            yield node
