"""Theorems in a paper's Coq files: claim, statement, constants, and whether the kernel checked these very files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from paper_checks.formal.real_numbers import value_of
from paper_checks.formal.sentences import comments, sentences, without_comments

if TYPE_CHECKING:
    from paper_checks.paper import Paper

Role = Literal["proves", "refutes", "part of", "best"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Relations of a theorem to its claim: it proves the established form, refutes the printed one, proves a part of the
established form, or holds with the best constants known."""
THEORY = Path(__file__).parent / "theory"
THEORY_NAME = "Rankproof"
RECORD = "checked.json"
AXIOMS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
)
"""Axioms that Coq's standard library uses for real numbers and classical logic; a theorem assumes no others."""
COMMAND = "python -m paper_checks.formal"
AS_RECORDED = "recorded by the package's author, not compiled here"
"""Status of a theorem of a package outside of the toolkit, whose record anybody can write."""
_READING = "@"
_MARK = re.compile(
    r"\(\* (?P<role>" + "|".join(ROLES) + r"): (?P<id>[^\s:*]+)(?:: (?P<covers>[^*]+?))? \*\)", re.DOTALL
)
_MARKED = re.compile(r"\(\*+\s*(?:" + "|".join(ROLES) + r")\s*:")
_THEOREM = re.compile(r"Theorem (\w+)\b")
_DEFINES = re.compile(
    r"(Definition|Fixpoint|CoFixpoint|Function|Record|Structure|Class|Inductive|CoInductive|Variant|Example|Instance|Let"
    r"|Notation)\s+([\w']+)"
)
_SYMBOLS = re.compile(r'(?:Notation|Infix)\s+"([^"]*)"')
_UNSEEN = re.compile(r"(?:Coercion|Canonical|(?:Number|Numeral|String)\s+Notation)\b")
"""Commands that change what a statement means without a sign in it."""
_DOCUMENTED = re.compile(r"\(\*\*(?:(?!\*\)).)*?\*\)\n\Z", re.DOTALL)
_CONSTANT = re.compile(r"\(\s*(\w+)\s*:=\s*((?:[^()]|\([^()]*\))*)\)")
_REQUIRE = re.compile(r"(?:From\s+([\w.']+)\s+)?Require\b(?:\s+(?:Import|Export)\b)?(.*)\.", re.DOTALL)
_LOGICAL = re.compile(r"[^\W\d]\w*")
_TAKEN = frozenset({THEORY_NAME, "Coq", "Stdlib", "Corelib", "Coquelicot"})
"""Names of libraries that a paper's files can import."""
_CATEGORIES = re.compile(r"-?\([^)]*\)")
_UNPROVED = re.compile(
    r"(?<![\w'.])(Admitted|admit|give_up|Admit\s+Obligations|Axioms?|Parameters?|Conjectures?|Declare\s+(?:Module|Instance)"
    r"|bypass_check|Unset\s+(?:Guard|Positivity|Universe)\s+Checking)(?![\w'])"
)
"""Words by which a file has Coq believe something without a proof."""
_ELSEWHERE = re.compile(r"(Load|Add\s+(?:Rec\s+)?LoadPath|Declare\s+ML\s+Module)\b")
"""Commands that bring files of which no digest is kept."""
_ASSUMES = re.compile(r"(Hypothes[ie]s|Variables?|Context)\b")


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
        covers: for a part, what it covers, in words; for one of several that prove a claim together, the others.
        digest: SHA-256 of its file and of all files that it imports.
        axioms: what the kernel had to assume, as recorded.
        checked: whether the record is of these very files.
        imports: names of the files of the same folder that its file imports, directly or not.
        outside: whether its package is outside of the toolkit, whose tests do not compile it.
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
    imports: tuple[str, ...] = ()
    outside: bool = False

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
        if not self.checked:
            return "stale: changed since the kernel checked it, or not checked yet"
        return f"{AS_RECORDED}; compile it by `{COMMAND} --papers FOLDER`" if self.outside else "checked"

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
            "status": self.status,
        }


@dataclass(frozen=True)
class Sources:
    """The Coq files of one paper.

    Attributes:
        folder: the folder that holds them.
        logical: name by which Coq imports them.
        place: the folder relative to that of the package, for people.
        outside: whether the package is outside of the toolkit.
    """

    folder: Path
    logical: str
    place: str
    outside: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """Return the files in alphabetical order; none where the folder is missing."""
        return tuple(sorted(self.folder.glob("*.v")))

    def imports(self, file: Path) -> tuple[Path, ...]:
        """Return the files that a file imports directly, of the toolkit's theory and of the same folder.

        Raises:
            FormalError: One of them is missing.
        """
        found: dict[Path, None] = {}
        for parts, anywhere in _required(_read(file)):
            found |= dict.fromkeys(self._meant(file, parts, anywhere=anywhere))
        return tuple(found)

    def _meant(self, file: Path, parts: tuple[str, ...], *, anywhere: bool) -> Iterator[Path]:
        """Yield the files that Coq can mean by a name, which may leave out the library if it follows no ``From``."""
        for library, room in ((THEORY_NAME, THEORY), (self.logical, self.folder)):
            path = room / f"{parts[-1]}.v"
            if parts[:-1] == (library,) and not path.exists():
                raise FormalError(f"{file.name} imports {'.'.join(parts)}, and there is no {path}")
            if parts[:-1] == (library,) or (anywhere and len(parts) == 1 and path.exists()):
                yield path

    def in_order(self) -> tuple[Path, ...]:
        """Return all files, each after those that it imports."""
        found: dict[Path, None] = {}
        for file in self.files:
            self._add(file, found)
        return tuple(found)

    def digest(self, file: Path) -> str:
        """Return the SHA-256 of a file and of all files that it imports, directly or not."""
        found = hashlib.sha256()
        for path in (*self._below(file), file):
            found.update(f"{path.name}\0{_read(path)}\0".encode())
        return found.hexdigest()

    def require_proved(self) -> None:
        """Check that files and theory have Coq believe nothing without a proof, and bring no others; this takes no Coq.

        Raises:
            FormalError: A file does, with the line.
        """
        for file in self.in_order():
            text = _read(file)
            plain = without_comments(text, strings=False)
            for one in sentences(text):
                found = _UNPROVED.search(plain[one.start : one.end])
                alone = None if one.in_section else _ASSUMES.match(one.command)
                if found or alone:
                    word, at = (found[1], one.start + found.start()) if found else (one.command.split()[0], one.start)
                    raise FormalError(
                        f"{file}, line {_line(text, at)}: {' '.join(word.split())} assumes what nobody proved; "
                        f"prove it, or state it in the theorem"
                    )
                if elsewhere := _ELSEWHERE.match(one.command):
                    raise FormalError(
                        f"{file}, line {_line(text, one.start)}: {' '.join(elsewhere[1].split())} brings a file "
                        f"without a digest; put it into {self.folder} and import it by Require"
                    )

    def _below(self, file: Path) -> tuple[Path, ...]:
        """Return the files that a file imports, directly or not, each after those that it imports."""
        found: dict[Path, None] = {}
        self._add(file, found)
        return tuple(path for path in found if path != file)

    def _add(self, file: Path, found: dict[Path, None], above: tuple[Path, ...] = ()) -> None:
        """Add a file to those found, after all that it imports."""
        if file in above:
            raise FormalError(f"{file.name} imports itself, by {', '.join(path.name for path in above)}")
        if file not in found:
            for path in self.imports(file):
                self._add(path, found, (*above, file))
            found[file] = None

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
            FormalError: It cannot be read, or it has an axiom beyond those of Coq's real numbers.
        """
        content = self.record_on_file()
        for name, one in content["theorems"].items():
            if beyond := beyond_the_reals(one.get("axioms", ())):
                raise FormalError(
                    f"{self.folder / RECORD} records {name} with the axiom {beyond[0]}, which is not one of Coq's real "
                    f"numbers; prove the theorem without it, and write the record again by {self.recorded_by}"
                )
        return content

    def record_on_file(self) -> dict[str, Any]:
        """Return the record regardless of its axioms, for one that is written again.

        Raises:
            FormalError: It cannot be read.
        """
        path = self.folder / RECORD
        try:
            content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"theorems": {}}
            for one in content["theorems"].values():
                axioms = one.get("axioms", [])
                if not isinstance(axioms, list) or not all(isinstance(text, str) for text in (one["digest"], *axioms)):
                    raise TypeError("a digest is text, and axioms are a list of texts")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FormalError(
                f"{path} does not hold a record of theorems: {error!r}; delete it, and write it again by "
                f"{self.recorded_by}"
            ) from None
        return dict(content)

    @property
    def recorded_by(self) -> str:
        """The command that compiles the files and writes the record."""
        return f"`{COMMAND}{' --papers FOLDER' if self.outside else ''} --record`"

    def theorems(self, *, recorded: bool = True) -> tuple[FormalTheorem, ...]:
        """Return the theorems about claims, in the order of the files and lines.

        Args:
            recorded: Whether to compare them with the record; without it none is checked.

        Raises:
            FormalError: A file or the record cannot be read, or a file assumes what nobody proved.
        """
        self.require_proved()
        known = self.record()["theorems"] if self.files and recorded else {}
        return tuple(one for file in self.files for one in self._of_file(file, known))

    def _of_file(self, file: Path, recorded: Mapping[str, Any]) -> Iterator[FormalTheorem]:
        text = _read(file)
        by_start = {one.start: one for one in sentences(text)}
        marks = [one for one in comments(text) if _MARKED.match(one.text)]
        digest = self.digest(file) if marks else ""
        own = tuple(path for path in self._below(file) if path.parent == self.folder) if marks else ()
        signs = [one for path in own for one in _signs(_read(path))]
        for comment in marks:
            mark = _MARK.fullmatch(comment.text)
            stated = by_start.get(comment.end + 1) if text[comment.end : comment.end + 1] == "\n" else None
            title = _THEOREM.match(stated.code) if stated else None
            if mark is None or stated is None or title is None:
                raise FormalError(
                    f"{file}, line {_line(text, comment.start)}: the comment with a theorem's claim is the line before "
                    f"`Theorem`, such as (* proves: {self.place.partition('/')[0]}/lem-1 *)"
                )
            if stated.within:
                raise FormalError(
                    f"{file}, line {_line(text, stated.start)}: {title[1]} is within {stated.within[-1]}, whose "
                    f"hypotheses its statement does not show; end it before the theorem, and state its hypotheses there"
                )
            says = text[stated.start : stated.end]
            name = f"{self.logical}.{file.stem}.{title[1]}"
            record = recorded.get(name, {})
            yield FormalTheorem(
                mark["id"],
                ROLES[ROLES.index(mark["role"])],
                name,
                f"{self.place}/{file.name}",
                _line(text, stated.start),
                "\n\n".join((*_with_signs(signs, _definitions(text, says), says), says)),
                {constant: value_of(term) for constant, term in _CONSTANT.findall(stated.code)},
                " ".join((mark["covers"] or "").split()),
                digest,
                tuple(record.get("axioms", ())),
                record.get("digest") == digest
                and record.get("role") == mark["role"]
                and record.get("id") == mark["id"],
                tuple(path.name for path in own),
                self.outside,
            )


def beyond_the_reals(axioms: Iterable[str]) -> list[str]:
    """Return those of some axioms that are not axioms of Coq's own real numbers."""
    return sorted(set(axioms) - set(AXIOMS))


def sources_of(paper: Paper) -> Sources:
    """Return the Coq files of a paper, which Coq knows by the name of its method, or of its package if Coq cannot."""
    place = f"{paper.package.replace('.', '/')}/formal"
    outside = not paper.package.startswith(f"{__name__.partition('.')[0]}.")
    named = _LOGICAL.fullmatch(paper.called) and paper.called not in _TAKEN
    return Sources(paper.folder / "formal", paper.called if named else paper.package.rpartition(".")[2], place, outside)


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


@dataclass(frozen=True)
class _Definition:
    """A definition of a file: its name, its text with the comment before it, and the sections that it is in."""

    name: str
    text: str
    code: str
    within: tuple[str, ...]
    local: bool

    def seen_from(self, within: tuple[str, ...]) -> bool:
        """Return whether it can be meant in these sections; a ``Let`` ends with its own."""
        return not self.local or within[: len(self.within)] == self.within


def _definitions(text: str, *says: str) -> list[str]:
    """Return the definitions of a file that statements use, directly or not, in the order of the file."""
    known = list(_defined(text))
    used, ahead = set[int](), [(without_comments(one), tuple[str, ...]()) for one in says]
    while ahead:
        code, within = ahead.pop()
        words = set(re.findall(r"[\w']+", code))
        for at, one in enumerate(known):
            if at not in used and one.name in words and one.seen_from(within):
                used.add(at)
                ahead.append((one.code, one.within))
    shown = [known[at].text for at in sorted(used)]
    return _with_signs(_signs(text), shown, *says)


def _defined(text: str) -> Iterator[_Definition]:
    """Yield the definitions of a file."""
    for one in sentences(text):
        match = _DEFINES.match(one.command)
        if match:
            start = text.rfind("\n", 0, one.start) + 1
            documented = _DOCUMENTED.search(text, 0, start) if not text[start : one.start].strip() else None
            first = documented.start() if documented else one.start
            yield _Definition(match[2], text[first : one.end], one.code, one.within, match[1] == "Let")


def _signs(text: str) -> list[tuple[frozenset[str], str]]:
    """Return the notations of a file with their symbols, and what changes statements without a sign, with none."""
    found = []
    for one in sentences(text):
        match = _SYMBOLS.match(one.command)
        if match:
            found.append((frozenset(re.findall(r"[^\w\s'\"]+", match[1])), text[one.start : one.end]))
        elif _UNSEEN.match(one.command):
            found.append((frozenset(), text[one.start : one.end]))
    return found


def _with_signs(signs: Sequence[tuple[frozenset[str], str]], shown: Sequence[str], *says: str) -> list[str]:
    """Return definitions after the notations that they or the statements use."""
    code = without_comments("\n".join((*shown, *says)))
    return [*(text for symbols, text in signs if all(symbol in code for symbol in symbols)), *shown]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


@lru_cache(maxsize=256)  # a file that others import is read for each of them
def _required(text: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """Return the names that a file requires, in parts, and whether each may leave out its library."""
    found = list[tuple[tuple[str, ...], bool]]()
    for sentence in sentences(text):
        match = _REQUIRE.fullmatch(sentence.command)
        library, names = match.groups() if match else (None, "")
        for name in _CATEGORIES.sub(" ", names).split():
            found.append(((*(library.split(".") if library else ()), *name.split(".")), not library))
    return tuple(found)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
