"""Theorems in a paper's Coq files: claim, statement, constants, and whether the kernel checked these very files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from paper_checks.formal.real_numbers import value_of

if TYPE_CHECKING:
    from paper_checks.paper import Paper

Role = Literal["proves", "refutes", "part of", "best"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Relations of a theorem to its claim: it proves the established form, refutes the printed one, proves a part of the
established form, or holds with the best constants known."""
THEORY = Path(__file__).parent / "theory"
THEORY_NAME = "Rankproof"
RECORD = "checked.json"
_READING = "@"
_THEOREM = re.compile(
    r"\(\* (?P<role>" + "|".join(ROLES) + r"): (?P<id>[^\s:*]+)(?:: (?P<covers>[^*]+?))? \*\)\n"
    r"(?P<says>Theorem (?P<name>\w+)\b.*?\.)\nProof\b",
    re.DOTALL,
)
_MARKED = re.compile(r"\(\* (?:" + "|".join(ROLES) + r"): ")
_DEFINITION = re.compile(
    r"^(?:\(\*\*(?:(?!\*\)).)*?\*\)\n)?(?:Definition|Fixpoint|Record) (\w+)\b.*?\.$", re.DOTALL | re.MULTILINE
)
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_CONSTANT = re.compile(r"\((\w+) := ((?:[^()]|\([^()]*\))*)\)")
_IMPORT = re.compile(r"^From (\w+) Require Import ([\w\s]+)\.$", re.MULTILINE)


class FormalError(ValueError):
    """A Coq file or a record that cannot be read."""


@dataclass(frozen=True)
class FormalTheorem:
    """One theorem that is about a claim.

    Attributes:
        id: id of the claim, with ``@reading`` for another reading than the first.
        role: what it is to the claim.
        name: its full name in Coq.
        file: its file, relative to the folder of the package.
        line: line of its statement.
        statement: its source, with the definitions of the same file that it uses.
        constants: what it sets, by name: a number as text, or the source where that is not one.
        covers: for a part, what it covers, in words.
        digest: SHA-256 of its file and of all files that it imports.
        axioms: what the kernel had to assume, as recorded.
        checked: whether the record is of these very files.
    """

    id: str
    role: Role
    name: str
    file: str
    line: int
    statement: str
    constants: Mapping[str, str] = field(default_factory=dict)
    covers: str = ""
    digest: str = ""
    axioms: tuple[str, ...] = ()
    checked: bool = False

    @property
    def claim(self) -> str:
        """Id of its claim."""
        return self.id.partition(_READING)[0]

    @property
    def reading(self) -> str:
        """Name of the reading that it is of; empty for the first."""
        return self.id.partition(_READING)[2]

    @property
    def status(self) -> str:
        """Whether the kernel checked it, in words."""
        return "checked" if self.checked else "stale: changed since the kernel checked it, or not checked yet"

    def as_json(self) -> dict[str, Any]:
        """Return its entry in the JSON of a result."""
        return {
            "theorem": self.name,
            "role": self.role,
            "reading": self.reading or None,
            "covers": self.covers or None,
            "constants": dict(self.constants),
            "statement": self.statement,
            "source": f"{self.file}:{self.line}",
            "digest": self.digest,
            "axioms": list(self.axioms),
            "checked": self.checked,
        }


@dataclass(frozen=True)
class Sources:
    """The Coq files of one paper.

    Attributes:
        folder: the folder that holds them.
        logical: name by which Coq imports them.
        place: the folder relative to that of the package, for people.
    """

    folder: Path
    logical: str
    place: str

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files in alphabetical order; none where the folder is missing."""
        return tuple(sorted(self.folder.glob("*.v")))

    def imports(self, file: Path) -> tuple[Path, ...]:
        """Return the files that a file imports directly, of the toolkit's theory and of the same folder.

        Raises:
            FormalError: One of them is missing.
        """
        found = []
        for library, names in _IMPORT.findall(_read(file)):
            room = {THEORY_NAME: THEORY, self.logical: self.folder}.get(library)
            for name in names.split() if room else ():
                assert room is not None
                path = room / f"{name}.v"
                if not path.exists():
                    raise FormalError(f"{file.name} imports {library}.{name}, and there is no {path}")
                found.append(path)
        return tuple(found)

    def in_order(self) -> tuple[Path, ...]:
        """Return all files, each after those that it imports."""
        found: dict[Path, None] = {}
        for file in self.files:
            found |= dict.fromkeys((*self._below(file), file))
        return tuple(found)

    def digest(self, file: Path) -> str:
        """Return the SHA-256 of a file and of all files that it imports, directly or not."""
        found = hashlib.sha256()
        for path in (*self._below(file), file):
            found.update(f"{path.name}\0{_read(path)}\0".encode())
        return found.hexdigest()

    def _below(self, file: Path, above: tuple[Path, ...] = ()) -> tuple[Path, ...]:
        if file in above:
            raise FormalError(f"{file.name} imports itself, by {', '.join(path.name for path in above)}")
        found: dict[Path, None] = {}
        for path in self.imports(file):
            found |= dict.fromkeys((*self._below(path, (*above, file)), path))
        return tuple(found)

    def setting(self, statements: Sequence[str]) -> dict[Path, list[str]]:
        """Return the definitions that statements use and do not show, by file, in the order of the imports.

        Args:
            statements: statements of theorems of these files.
        """
        used, found = list(statements), dict[Path, list[str]]()
        for file in reversed([path for path in self.in_order() if path.parent == self.folder]):
            kept = [text for text in _definitions(_read(file), *used) if not any(text in one for one in statements)]
            used += kept
            found |= {file: kept} if kept else {}
        return dict(reversed(found.items()))

    def record(self) -> dict[str, Any]:
        """Return the record of what was compiled; empty where there is none.

        Raises:
            FormalError: It cannot be read.
        """
        path = self.folder / RECORD
        try:
            content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"theorems": {}}
            if not all(isinstance(one["digest"], str) for one in content["theorems"].values()):
                raise TypeError("a digest is text")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FormalError(
                f"{path} does not hold a record of theorems: {error!r}; write it again by `make formal`"
            ) from None
        return dict(content)

    def theorems(self) -> tuple[FormalTheorem, ...]:
        """Return the theorems about claims, in the order of the files and lines."""
        recorded = self.record()["theorems"] if self.files else {}
        return tuple(one for file in self.files for one in self._of_file(file, recorded))

    def _of_file(self, file: Path, recorded: Mapping[str, Any]) -> Iterator[FormalTheorem]:
        text = _read(file)
        found = list(_THEOREM.finditer(text))
        if len(found) < len(_MARKED.findall(text)):
            raise FormalError(f"{file}: the comment with a theorem's claim is the line before `Theorem`")
        digest = self.digest(file) if found else ""
        for one in found:
            name = f"{self.logical}.{file.stem}.{one['name']}"
            record = recorded.get(name, {})
            yield FormalTheorem(
                one["id"],
                ROLES[ROLES.index(one["role"])],
                name,
                f"{self.place}/{file.name}",
                text.count("\n", 0, one.start("says")) + 1,
                "\n\n".join((*_definitions(text, one["says"]), one["says"])),
                {constant: value_of(term) for constant, term in _CONSTANT.findall(one["says"])},
                " ".join((one["covers"] or "").split()),
                digest,
                tuple(record.get("axioms", ())),
                record.get("digest") == digest and record.get("role") == one["role"] and record.get("id") == one["id"],
            )


def sources_of(paper: Paper) -> Sources:
    """Return the Coq files of a paper."""
    place = f"{paper.package.replace('.', '/')}/formal"
    return Sources(paper.folder / "formal", paper.called or paper.name, place)


def formal_theorems(paper: Paper) -> dict[str, tuple[FormalTheorem, ...]]:
    """Return the theorems of a paper by the ids of their claims."""
    found: dict[str, tuple[FormalTheorem, ...]] = {}
    for one in sources_of(paper).theorems():
        found[one.claim] = (*found.get(one.claim, ()), one)
    return found


def established(theorems: Sequence[FormalTheorem], role: Role, reading: str) -> bool:
    """Return whether the kernel checked all theorems with this role for a reading, and there is one."""
    found = [one.checked for one in theorems if (one.role, one.reading) == (role, reading)]
    return bool(found) and all(found)


def _definitions(text: str, *says: str) -> list[str]:
    """Return the definitions of a file that statements use, directly or not, in the order of the file."""
    known = {one[1]: one for one in _DEFINITION.finditer(text)}
    used, ahead = set[str](), list(says)
    while ahead:
        for name in set(re.findall(r"[\w']+", _COMMENT.sub(" ", ahead.pop()))) & set(known) - used:
            used.add(name)
            ahead.append(known[name][0])
    return [one[0] for name, one in known.items() if name in used]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
