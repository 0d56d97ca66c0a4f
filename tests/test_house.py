"""The floors: imports go down only and never in a circle; lower floors stay light; docstrings name their noun first."""

import ast
import importlib
import importlib.util
import io
import re
import subprocess
import sys
import tokenize
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = {
    "rmt": 0,
    "workloads": 0,
    "hessian": 1,
    "toymodels": 1,
    "algorithms": 1,
    "runs": 2,
    "figures": 3,
    "paper_checks": 4,
    "rankproof": 5,
}
FILES = [
    file
    for room in FLOORS
    for file in (sorted((ROOT / room).rglob("*.py")) if (ROOT / room).is_dir() else [ROOT / f"{room}.py"])
]


def is_documentation(node):
    """Whether a node is a string that is a statement of its own, as docstrings are."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
"""Parts of a statement that hold statements."""


def statements(node):
    """Yield the statements within a node, at any depth; expressions, which hold none, are not searched."""
    for name in BODIES:
        inner = getattr(node, name, ())
        for one in inner if isinstance(inner, list) else ():  # the body of a lambda is an expression
            yield one
            yield from statements(one)


def imports_and_docstrings(text):
    """Nodes of a text's imports, wherever they are, and of its docstrings."""
    nodes = statements(ast.parse(text))
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) or is_documentation(node))


@cache
def nodes_of(file):
    """Imports and docstrings of a file, which is parsed once for all rules."""
    return imports_and_docstrings(file.read_text(encoding="utf-8"))


def imported_rooms(file):
    for node in nodes_of(file):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        yield from (name.split(".")[0] for name in names)


def test_imports_go_down_the_floors_only():
    for file in FILES:
        room = file.relative_to(ROOT).parts[0].removesuffix(".py")
        for other in imported_rooms(file):
            if other in FLOORS and other != room:
                assert FLOORS[other] < FLOORS[room], f"{file.relative_to(ROOT)} imports {other}"


def imported_modules(nodes, modules):
    """Modules among those given that a syntax tree imports, wherever it does so."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = {f"{node.module}.{alias.name}" for alias in node.names} & modules
            yield from names or {node.module} & modules


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions and for types alone count: two modules that need each other are one."""
    names = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in FILES}
    needs = {name: set(imported_modules(nodes_of(file), names.keys())) - {name} for name, file in names.items()}
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"c"}, "c": {"a"}}).prepare()
    TopologicalSorter(needs).prepare()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a.b", ["a.b"]),
        ("from a import b, c", ["a.b"]),
        ("from a.b import c", ["a.b"]),
        ("from a import c", ["a"]),
        ("def f():\n    from a.b import c", ["a.b"]),
        ("if TYPE_CHECKING:\n    from a.b import c", ["a.b"]),
        ("import other", []),
    ],
)
def test_imports_are_found_wherever_they_are(text, found):
    assert list(imported_modules(imports_and_docstrings(text), {"a", "a.b"})) == found


def lines_without_docstrings(text, nodes):
    """Number of lines of a module that belong to no docstring."""
    documented = set()
    for node in filter(is_documentation, nodes):
        documented.update(range(node.lineno, node.end_lineno + 1))
    return len(set(range(1, len(text.splitlines()) + 1)) - documented)


def test_no_module_outgrows_a_sitting():
    """A paper's own files may be longer: each holds one result with the lines of its proof."""
    for file in FILES:
        if not str(file.relative_to(ROOT)).startswith(CLAIMS):
            assert lines_without_docstrings(file.read_text(), nodes_of(file)) <= 600, file.relative_to(ROOT)


def test_docstrings_do_not_count_as_lines():
    text = '"""One\n\ntwo."""\n\nx = 1\n"""Value\nof x."""\n'
    assert lines_without_docstrings(text, imports_and_docstrings(text)) == 2


@pytest.mark.parametrize("room", [room for room, floor in FLOORS.items() if floor <= 2])
def test_public_values_cannot_be_changed(room):
    files = [file for file in FILES if file.relative_to(ROOT).parts[0] == room]
    assert files
    texts = (text for file in files if "dataclass" in (text := file.read_text(encoding="utf-8")))
    for node in (node for text in texts for node in statements(ast.parse(text))):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for decorator in map(ast.unparse, node.decorator_list):
                assert not decorator.startswith("dataclass") or "frozen=True" in decorator, f"{node.name}: {decorator}"


def test_lower_floors_import_neither_pictures_nor_extras():
    rooms = [room for room, floor in FLOORS.items() if floor <= 1 and (ROOT / room).is_dir()]
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in rooms
        for file in sorted((ROOT / room).rglob("*.py"))
    ]
    assert len({module.split(".")[0] for module in modules}) == 5
    heavy = ("matplotlib", "transformers", "peft", "flwr", "ray", "clarabel", "flint", "pyhessian", "curvlinops")
    program = (
        "import importlib, sys\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        f"    found = [heavy for heavy in {heavy!r} if heavy in sys.modules]\n"
        "    if found: sys.exit(f'{name} imports {found}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_files_of_tests_have_names_of_their_own():
    """Two of one name, in folders that are not packages, shadow each other in one run."""
    names = [file.name for file in (ROOT / "tests").rglob("*.py")]
    assert not {name for name in names if names.count(name) > 1} - {"conftest.py"}


def test_the_list_of_tests_that_are_left_names_tests():
    listed = (ROOT / "tests" / "left_to_test_all.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed))
    known = {file: (ROOT / file).read_text(encoding="utf-8") for file in {line.split("::")[0] for line in listed}}
    for line in listed:
        file, *_, name = line.split("[")[0].split("::")
        found = re.search(rf"(def|class) {name.split('.')[-1]}\b", known[file])
        assert found, f"{line} is no test: run benchmarks/left_to_test_all.py"


def test_the_page_of_tests_names_every_room_and_only_test_files():
    page = (ROOT / "docs" / "tests-of-rooms.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_/]+)` \| (.*) \|$", page, flags=re.M))
    packages = [room for room in FLOORS if (ROOT / room).is_dir()]
    folders = {f"{name}/{file.parent.name}" for name in packages for file in (ROOT / name).glob("*/__init__.py")}
    assert set(rows) == folders.union(packages)
    for room, row in rows.items():
        inside, elsewhere = row.split(" | ")
        for name in re.findall(r"`([^`]+)`", inside):
            assert (ROOT / "tests" / room / name).is_file() or list((ROOT / "tests" / room).glob(f"*/{name}")), name
        for name in re.findall(r"`([^`]+)`", elsewhere):
            assert (ROOT / "tests" / name).is_file(), name


def test_rooms_are_those_where_imported_names_are_defined(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from tests_of_rooms import homes, room_of

    assert homes("hessian", "Krylov") == {"hessian.lanczos.krylov"}
    assert homes("hessian.lanczos", "krylov") == {"hessian.lanczos.krylov"}
    assert homes("numpy", "array") == set()
    papers = {room_of(home) for home in homes("paper_checks.ledger", "PAPERS")}
    assert papers >= {"paper_checks", "paper_checks/fedloru", "paper_checks/fedlrt", "paper_checks/rolora"}


def test_pictures_stand_beside_their_numbers():
    """``X`` has computed the numbers that ``X_picture`` draws."""
    drawn = sorted((ROOT / "figures").rglob("*_picture.py"))
    assert drawn
    for file in drawn:
        assert file.with_name(file.name.replace("_picture.py", ".py")).exists(), f"{file.name} without its numbers"


def strings_that_document(file):
    """Line and text of each docstring, those of attributes and constants among them."""
    for node in filter(is_documentation, nodes_of(file)):
        yield node.lineno, node.value.value


OF_OR_WHAT = re.compile(r"\b(?:Of|What) ")
"""Found in every file with a docstring to report; the others need not be parsed."""


def questions_and_fragments(text):
    """Offset of each first line or line of an argument that begins with "Of" or "What", not with its noun or verb."""
    for offset, line in enumerate(text.splitlines()):
        beginning = r"" if not offset else r"(?: *\*{0,2}\w[\w*`, .]*: +| *)"
        if re.match(rf"{beginning}(?:Of|What) ", line):
            yield offset


@pytest.mark.parametrize("room", [*FLOORS, "benchmarks", "examples", "tests", "website"])
def test_docstrings_name_their_noun_first(room):
    place = ROOT / room
    files = sorted(place.rglob("*.py")) if place.is_dir() else [ROOT / f"{room}.py"]
    found = [
        f"{file.relative_to(ROOT)}:{number + offset}"
        for file in files
        if OF_OR_WHAT.search(file.read_text(encoding="utf-8"))
        for number, text in strings_that_document(file)
        for offset in questions_and_fragments(text)
    ]
    assert files
    assert not found, f'begin with "Of" or "What" in place of what they describe: {", ".join(found)}'


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("What a scale changes.", [0]),
        ("Of a worker: its threads.", [0]),
        ("Sizes that depend on the scale.\n\n    Attributes:\n        rate: Of the local steps.", [3]),
        ("A worker.\n\n    Args:\n        *parts, `more`: What it does.\n\n    Of these, none.", [3, 5]),
        ("Learning rate of the steps: what it is, and of which.\n\n    rate: Offset.\n    Whatever comes.", []),
    ],
)
def test_beginnings_are_found(text, offsets):
    assert list(questions_and_fragments(text)) == offsets


@pytest.mark.parametrize("file", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda file: file.stem)
def test_benchmarks_import_names_that_there_are(file):
    """Types are not checked in benchmarks, so a module or a function that moved would be missed."""
    missing = []
    for node in nodes_of(file):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in FLOORS:
            try:
                module = importlib.import_module(node.module)
            except ModuleNotFoundError:
                missing.append(node.module)
                continue
            missing += [f"{node.module}.{one.name}" for one in node.names if not _has(module, one.name)]
    assert not missing


def _has(module, name):
    """Whether a module has a name, or a module of this name."""
    return hasattr(module, name) or importlib.util.find_spec(f"{module.__name__}.{name}") is not None


REMEDIES = {
    "told": "name who sends, prints or distinguishes what",
    "anew": "again, or name what starts over",
    "beside": "next to, in addition to, or compared with",
    "stands": "is, is at, or is listed",
    "whatever": "for any, or regardless of",
    "in the place of": "instead of",
    "is no": "negate the verb: is not a",
    "are no": "negate the verb: are not",
    "reckon": "count, compute, or estimate",  # the last one, with all its forms
}
"""Words that say something in an unusual way, and how to say it."""
UNWANTED = re.compile(
    r"(?<!there )\b(" + "|".join(REMEDIES).replace(" ", r"\s+") + r"\w*)\b(?!\s(?:longer|larger|smaller|more|less)\b)",
    re.IGNORECASE,
)
PERHAPS = re.compile(r"\b(" + "|".join(REMEDIES).replace(" ", r"\W+") + r"\w*)\b", re.IGNORECASE)
"""Found in the text of every file that may hold one: most files hold none, so they need not be parsed."""
SPELLED = {
    ("runs/silos/executor.py", "told"): "a key of the messages to silos, which may have another version",
    ("runs/silos/node.py", "told"): "the same key",
    ("runs/silos/client_store.py", "told"): "a folder that silos already have",
    ("figures/make.py", "anew"): "a folder that interrupted figures already have",
    ("figures/curves/learning_curves_runs.py", "anew"): "a label in stored numbers",
    ("figures/fedloru/designs.py", "anew"): "labels in stored numbers",
    ("figures/fedloru/experiments.py", "anew"): "names such a label",
    ("figures/rmt/sample_size.py", "beside"): "the name of a random stream",
}
"""Words that strings keep, by file, and why."""
CLAIMS = ("paper_checks/fedlrt/", "paper_checks/fedloru/", "paper_checks/rolora/")
"""Folders whose strings quote papers and the ledger."""


def unwanted_words(text):
    """Line, word and place (docstring, comment or string) of each unwanted word of a module."""
    if not PERHAPS.search(text):
        return
    tree = ast.parse(text)
    documented = {id(node.value) for node in statements(tree) if is_documentation(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in UNWANTED.finditer(node.value):
                line = node.lineno + node.value.count("\n", 0, found.start())
                yield line, " ".join(found[1].lower().split()), "docstring" if id(node) in documented else "string"
    if not any(PERHAPS.search(line.partition("#")[2]) for line in text.splitlines()):
        return  # tokens take longer than all else
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from ((token.start[0], found[1].lower(), "comment") for found in UNWANTED.finditer(token.string))


def remedy_of(word):
    return next(remedy for unwanted, remedy in REMEDIES.items() if word.startswith(unwanted))


def tracked_files():
    """Python files that git tracks; without git, those of the packages and of the folders around them."""
    listed = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, check=False, cwd=ROOT)
    rooms = [*FLOORS, "benchmarks", "examples", "tests", "website"]
    return listed.stdout.split() or [
        str(file.relative_to(ROOT))
        for room in rooms
        for file in (sorted((ROOT / room).rglob("*.py")) if (ROOT / room).is_dir() else [ROOT / f"{room}.py"])
    ]


def test_words_are_those_of_a_scientific_text():
    """Docstrings and comments have none of the words; strings neither, but for claims, tests and `SPELLED`."""
    faults = []
    for name in tracked_files():
        quotes = name.startswith((*CLAIMS, "tests/"))
        for line, word, place in unwanted_words((ROOT / name).read_text(encoding="utf-8")):
            if place != "string" or not (quotes or (name, word) in SPELLED):
                faults.append(f"{name}:{line}: {place} with {word!r}; write {remedy_of(word)}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"""A row\n\n    stands here."""', [(3, "stands", "docstring")]),
        ("x = 1  # This Is no name", [(1, "is no", "comment")]),
        ('x = f"{1} are no"\ny = "Reckoned"', [(1, "are no", "string"), (2, "reckoned", "string")]),
        ("told = 'is not, is none, retold, besides, understands'", []),
        ('x = "there is no folder, which is no longer here"', []),
    ],
)
def test_unwanted_words_are_found(text, found):
    assert sorted(unwanted_words(text)) == found


def test_words_that_strings_keep_are_there():
    for name, word in SPELLED:
        assert any(
            (found, place) == (word, "string")
            for _, found, place in unwanted_words((ROOT / name).read_text(encoding="utf-8"))
        ), f"{name} has no string with {word!r} any more; remove it from SPELLED"
