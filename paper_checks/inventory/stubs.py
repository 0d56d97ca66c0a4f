"""An inventory as a package of claims without checks: one file per result, for the author to fill in."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from paper_checks.claim import NO_CHECK, Claim
from paper_checks.inventory.candidates import comparisons, find_candidates, statements
from paper_checks.inventory.document import KINDS, Candidate, Document, Item, Kind
from paper_checks.inventory.literals import docstring, quoted, raw_lines
from paper_checks.ledger import LedgerError
from paper_checks.new_paper import project_file
from paper_checks.own_papers import no_bytecode, own_papers, require_free
from paper_checks.paper import Paper
from workloads.files import require_target, require_writable, write_whole

_SENTENCE = "Sentence"
"""Word for a stub of a sentence."""
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
_MENTION = re.compile(
    rf"(?P<called>\b(?:{'|'.join(KINDS)})s?\s+)\(?[A-Z]?\.?\d+(?:\.\d+)*[a-z]?\)?|\([A-Z]?\.?\d+(?:\.\d+)*[a-z]?\)",
    re.I,
)
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
        look: Sentences of the mechanical checks about it.
        of: Id of the statement whose only equation it is; empty if it is something else.
    """

    id: str
    module: str
    item: Item
    uses: tuple[str, ...] = ()
    look: tuple[str, ...] = ()
    of: str = ""


@dataclass(frozen=True)
class Plan:
    """Files and claims that are to be written.

    Attributes:
        name: Name of the paper.
        count: How many claims are new.
        texts: Contents by path.
        fresh: The paths that must not exist yet.
        differing: A sentence for each item whose number has another statement in the package.
        joined: Ids of equations that are the only one of a statement, each with the id of the statement.
    """

    name: str
    count: int
    texts: Mapping[Path, str]
    fresh: tuple[Path, ...]
    differing: tuple[str, ...] = ()
    joined: tuple[tuple[str, str], ...] = ()

    def write(self) -> None:
        """Write all files, or none.

        Raises:
            OSError: A folder or a file cannot be written.
        """
        for parent in {path.parent for path in self.fresh}:
            require_writable(parent)
        write_whole({path: text.encode() for path, text in self.texts.items()}, fresh=self.fresh)


def require_place(folder: Path, *others: Path) -> None:
    """Check before the work that stubs can be written to a folder.

    Args:
        folder: The folder.
        others: Files that are written in the same run.

    Raises:
        LedgerError: The name is taken, the folder holds something other than the package of a paper, or one of the
            other files would be in a package that is new.
        OSError: The folder cannot be written.
    """
    if _package_in(folder) is not None:
        return
    _names(folder)
    place = folder.resolve()
    for other in others:
        file = other.resolve()
        if file.is_relative_to(place) or place.is_relative_to(file):
            raise LedgerError(f"{other} would be in the way of the new package {folder}; name a file outside of it")
    top = next((path for path in reversed(place.parents) if not path.exists()), place)
    require_target(place / "paper.py" if place.exists() else top)


def plan_stubs(document: Document, folder: Path, sentences: bool = False) -> Plan:
    """Return a claim without a check for each item, as files of a new package or of one that exists.

    A package that exists keeps all of its files as they are, except for the list of files in its `paper.py`, which gets
    the new names at its end.

    Args:
        document: The inventory.
        folder: Folder of the project or of the package; its name is the name of a new paper.
        sentences: Whether sentences of the running text that state or compare something get a claim, too.

    Raises:
        LedgerError: The name is taken, the folder holds something else, or the package cannot be extended.
    """
    known = _package_in(folder)
    if known is None:
        return _new(document, folder, sentences)
    return _extended(document, known, sentences)


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


def _new(document: Document, folder: Path, sentences: bool) -> Plan:
    name, package = _names(folder)
    stubs = stubs_of(document, name, sentences)
    if not stubs:
        raise LedgerError(f"{document.source} has no numbered statements, so there is nothing to write into {folder}")
    modules = list(dict.fromkeys(stub.module for stub in stubs))
    inner = folder / package
    about = f"Claims of {_one_line(document.title) or name}."
    texts = {
        folder / "pyproject.toml": project_file("pyproject.toml", name, package),
        folder / "tests" / f"test_{package}.py": project_file("tests/test_your_paper.py", name, package),
        folder / "README.md": _readme(name, document, len(stubs)),
        inner / "__init__.py": f"{docstring(about)}\n",
        inner / "replays" / "__init__.py": '"""Second evaluations of witnesses, and proofs."""\n',
        inner / "paper.py": _paper_module(name, document, modules),
        **{
            inner / f"{module}.py": _module([stub for stub in stubs if stub.module == module], name)
            for module in modules
        },
    }
    return Plan(name, len(stubs), texts, tuple(texts), joined=_joined(stubs))


def _joined(stubs: Sequence[Stub]) -> tuple[tuple[str, str], ...]:
    """Return the equations among stubs that are the only one of their statement, with the statement."""
    own = {stub.id for stub in stubs}
    return tuple((stub.id, stub.of) for stub in stubs if stub.of in own)


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


def _extended(document: Document, paper: Paper, sentences: bool) -> Plan:
    """Return what a package does not declare yet.

    Raises:
        LedgerError: Its list of files is written in a way that cannot be extended.
    """
    claims = list(paper.claims())
    new, ids, differing = _matched(stubs_of(document, paper.name, sentences), claims)
    if not new:
        return Plan(paper.name, 0, {}, (), differing)
    taken = {file.stem for file in paper.folder.glob("*.py")} | {
        file.name for file in paper.folder.iterdir() if file.is_dir()
    }
    renamed = {module: _free(module, taken) for module in dict.fromkeys(stub.module for stub in new)}
    new = [
        replace(stub, module=renamed[stub.module], uses=tuple(dict.fromkeys(ids[id] for id in stub.uses if id in ids)))
        for stub in new
    ]
    new = _without_circles(new, {claim.id: claim.uses for claim in claims})
    modules = list(dict.fromkeys(stub.module for stub in new))
    main = paper.folder / "paper.py"
    fresh = {
        paper.folder / f"{module}.py": _module([stub for stub in new if stub.module == module], paper.name)
        for module in modules
    }
    listed = _with_themes(main.read_text(encoding="utf-8"), modules, main)
    return Plan(paper.name, len(new), {**fresh, main: listed}, tuple(fresh), differing, _joined(new))


def _matched(stubs: Sequence[Stub], claims: Sequence[Claim]) -> tuple[list[Stub], dict[str, str], tuple[str, ...]]:
    """Compare items with the claims of a package, by their text as well as by their number.

    Returns:
        The stubs that the package lacks, the id in the package of every item that is or will be there, and a sentence
        for each item whose number is the number of another claim.
    """
    known = {id: claim for claim in claims for id in (claim.id, *claim.also)}
    by_text: dict[str, str] = {_without_numbers(claim.says): claim.id for claim in reversed(claims)}
    texts = {stub.id: _without_numbers(_says(stub.item)) for stub in stubs}
    ids = {id: id for id, text in texts.items() if id in known and _without_numbers(known[id].says) == text}
    kept = {known[id].id for id in ids}
    new, differing = [], []
    for stub in stubs:
        if stub.id in ids:
            continue
        shown = f"{stub.item.name} ({stub.item.place})"
        elsewhere = by_text.get(texts[stub.id]) if _says(stub.item) != stub.item.name else None
        if elsewhere is not None and elsewhere not in kept:
            kept.add(elsewhere)
            ids[stub.id] = elsewhere
            differing.append(f"{shown} is already there as {elsewhere}, and its number has changed since")
        elif stub.id in known:
            differing.append(f"{shown} has another text than {stub.id}; compare them, nothing is written for it")
        else:
            ids[stub.id] = stub.id
            new.append(stub)
    return new, ids, tuple(differing)


def _without_numbers(text: str) -> str:
    """Return a text without the numbers of what it refers to, which change with everything before."""
    return _MENTION.sub(lambda found: f"{found['called'] or ''}()", " ".join(text.split()))


def _free(module: str, taken: set[str]) -> str:
    """Return a name of a file that the package does not have."""
    if module not in taken:
        return module
    number = 1
    while (name := f"{module}_unchecked{number if number > 1 else ''}") in taken:
        number += 1
    return name


def stubs_of(document: Document, name: str, sentences: bool = False) -> list[Stub]:
    """Return a claim for every numbered item, in the order of the paper.

    Args:
        document: The inventory.
        name: Name of the paper, with which the ids begin.
        sentences: Whether sentences that state or compare something get a claim, too.
    """
    ids: dict[int, str] = {}
    taken: set[str] = set()
    numbered = [item for item in document.items if item.number and re.search(r"\w", item.number)]
    items = [*numbered, *(_sentences(document) if sentences else ())]
    for at, item in enumerate(items):
        label = f"{'txt' if item.called == _SENTENCE else _SHORT[item.kind]}-{_plain(item.number)}"
        count = 1
        while f"{name}/{label}{f'-{count}' if count > 1 else ''}" in taken:
            count += 1
        ids[at] = f"{name}/{label}{f'-{count}' if count > 1 else ''}"
        taken.add(ids[at])
    first: dict[tuple[str, str], str] = {}
    for at, item in enumerate(numbered):
        first.setdefault((item.kind, item.number), ids[at])
    homes = {(item.kind, item.number): _module_name(ids[at]) for at, item in reversed(list(enumerate(numbered)))}
    found = []
    candidates = find_candidates(document)
    alone = {equation: ids[statement] for equation, statement in _only_equations(numbered)}
    for at, item in enumerate(items):
        module = _module_name(ids[at])
        if item.kind == "equation":
            section = re.sub(r"[^a-z0-9]+", "_", item.section.lower()).strip("_")
            module = homes.get(item.inside, "") if item.inside else ""
            module = module or (f"sec_{section}" if section else "equations")
        elif item.called == _SENTENCE:
            section = re.sub(r"[^a-z0-9]+", "_", item.section.lower()).strip("_")
            module = f"sentences_{section}" if section else "sentences"
        mentioned = [(one.kind, one.number) for one in (*item.refers, *item.proof_refers) if one.kind]
        uses = dict.fromkeys(
            first[pair] for pair in mentioned if pair in first and first[pair] != ids[at] and pair[0] not in ("figure",)
        )
        look = tuple(f"{one.check} ({one.place}): {one.says}" for one in candidates if _concerns(one, item))
        found.append(Stub(ids[at], module, item, tuple(uses), look, alone.get(at, "")))
    return _without_circles(found, {})


def _sentences(document: Document) -> Iterator[Item]:
    """Yield the sentences that state something with a formula or compare numbers as items, in the order of the text."""
    found = dict.fromkeys((*statements(document), *comparisons(document)))
    order = {id(paragraph): at for at, paragraph in enumerate(document.paragraphs)}
    pairs = sorted(found, key=lambda pair: (order[id(pair[0])], pair[0].text.find(pair[1])))
    for number, (paragraph, sentence) in enumerate(pairs, 1):
        yield Item("remark", str(number), paragraph.place, paragraph.section, text=sentence, called=_SENTENCE)


def _concerns(candidate: Candidate, item: Item) -> bool:
    """Return whether a candidate is about an item, or about its label."""
    return candidate.about == item.name or (not candidate.about and item.label in candidate.values and item.label != "")


def _only_equations(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Yield places of an equation and of its statement, if the statement has no other."""
    for at, item in enumerate(items):
        if item.kind == "equation":
            continue
        inner = [
            other
            for other, one in enumerate(items)
            if one.kind == "equation" and one.inside == (item.kind, item.number) and one.text.strip("$. ") in item.text
        ]
        if len(inner) == 1:
            yield inner[0], at


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
    parts = [
        f"{docstring(f'{_subject(stubs[0].item)}.')}\n\nfrom __future__ import annotations\n\n"
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


def _subject(first: Item) -> str:
    """Return what a file is about, from its first item: the statement, not whether it is checked."""
    if first.called == _SENTENCE:
        return f"Sentences of Section {_one_line(first.section)}" if first.section else "Sentences"
    if first.kind != "equation":
        return _named(first) + (f", in Section {_one_line(first.section)}" if first.section else "")
    if first.inside:
        return f"Equations of {_one_line(f'{first.inside[0].capitalize()} {first.inside[1]}')}"
    return f"Equations of Section {_one_line(first.section)}" if first.section else "Equations"


def _named(item: Item) -> str:
    """Return the name of an item, with its title if it is a statement or an algorithm."""
    title = item.title if item.kind not in ("equation", "table", "figure") else ""
    return _one_line(f"{item.name} ({title})" if title else item.name)


def _claim(stub: Stub, function: str) -> str:
    """Return the declaration of a claim without a check."""
    item = stub.item
    where = ", ".join(filter(None, [f"Section {item.section}" if item.section else "", f"{item.name} ({item.place})"]))
    kind = _CLAIMED.get(item.kind, "statement")
    importance = "result" if item.kind in _RESULTS else "detail" if item.kind in _DETAILS else "step"
    lines = [
        "@claim(",
        f"    {quoted(stub.id)},",
        f"    where={quoted(_one_line(where))},",
        *_comments(stub.look),
        f"    says={raw_lines(_says(item))},",
        "    measure=nothing,",
        f"    kind={quoted(kind)},",
        f"    importance={quoted(importance)},",
    ]
    if stub.uses:
        lines += ["    uses=(", *(f"        {quoted(id)}," for id in stub.uses), "    ),"]
    lines += [
        '    expect=("not checkable here", None),',
        f"    expect_reason={quoted(NO_CHECK)},",
        ")",
        f"def {function}(measured: None) -> Evidence:",
        f"    {docstring(f'{_named(item)}.')}",
        f"    return Evidence(None, {quoted('nothing')}, reason={quoted(NO_CHECK)})",
        "",
    ]
    return "\n".join(lines)


def _comments(sentences: Sequence[str]) -> Iterator[str]:
    """Yield what was found as comments of Python, each in lines without breaks of their own."""
    for sentence in sentences:
        yield from textwrap.wrap(
            _one_line(f"To look at: {sentence}"),
            110,
            initial_indent="    # ",
            subsequent_indent="    #   ",
            break_long_words=False,
            break_on_hyphens=False,
        )


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


def _paper_module(name: str, document: Document, modules: Sequence[str]) -> str:
    rows = "".join(f"    {quoted(module)},\n" for module in modules)
    title = _one_line(document.title) or name
    return (
        '"""The paper, and the files of its claims."""\n\nfrom __future__ import annotations\n\n'
        "from paper_checks.paper import Paper\n\n"
        f"RESULTS = (\n{rows})\n"
        '"""Files with the claims, in the order of the paper."""\n\n'
        f"PAPER = Paper(\n    {quoted(name)},\n    {quoted(title)},\n    "
        f"__package__,\n    RESULTS,\n    called={quoted(name)},\n)\n"
        f'"""The paper (``{name}``)."""\n'
    )


def _readme(name: str, document: Document, count: int) -> str:
    title = _one_line(document.title) or name
    return (
        f"# {title}\n\n"
        f"This package has a claim for each of {count} items of the paper, one file per result. To check one, return\n"
        "in `measure` what its check compares, and judge it in the function of the claim.\n\n"
        "```bash\n"
        f"rankproof check --papers . {name}/            # what is checked, and what is not\n"
        f"rankproof report --papers . --paper {name}    # a map of the paper\n"
        "python -m pytest                              # verdicts are the recorded ones, stored files replay\n"
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
    rows = "".join(f"\n    {quoted(module)}," for module in modules)
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
