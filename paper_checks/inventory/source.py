"""Sources of a paper: a file with what it includes, a folder, or an archive, as lines that know their place."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from paper_checks.inventory.conditions import Conditions
from paper_checks.inventory.document import Place
from paper_checks.inventory.verbatim import Verbatim

LARGEST = 5_000_000
"""Bytes of text that are read at most, from all files together."""
MOST_FILES = 5000
"""Members of an archive or files of a folder that are looked at."""
_DEEPEST = 40
"""Files that include one another at most."""
_TEXTS = (".tex", ".ltx", ".latex", ".md", ".markdown", ".mmd", ".txt", ".text", ".rst")
_LATEX = (".tex", ".ltx", ".latex")
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".tbz", ".xz", ".txz")
_COMPRESSED: Mapping[bytes, Callable[[Path], io.BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""Readers of compressed files, by the bytes with which these begin."""
_ENCRYPTED = 1
"""Flag of an encrypted member of a zip archive."""
_INCLUDED = (*_LATEX, ".tikz", ".pgf", ".def", ".sty", ".cls", ".bbl", "")
_INCLUDE = re.compile(
    r"\\(?:input|include|subfile|subfileinclude)\s*\{([^{}]*)\}|\\input\s+([^\s{}\\%]+)|"
    r"\\(?:import|subimport|inputfrom)\*?\s*\{([^{}]*)\}\s*\{([^{}]*)\}"
)
_STYLE = re.compile(
    r"\\(?P<how>documentclass|LoadClass|usepackage|RequirePackage)\s*(?:\[[^\]]*\])?\s*\{(?P<names>[^{}]*)\}"
)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_EXTERNAL = re.compile(
    r"\\z?external(?:cite)?document\*?\s*(?:\[(?P<prefix>[^\]]*)\])?\s*(?:\[[^\]]*\])?\s*\{(?P<name>[^{}]*)\}"
)


class SourceError(ValueError):
    """A source that cannot be read as a paper, with the remedy."""


@dataclass(frozen=True)
class Source:
    """The text of a paper in one piece.

    Attributes:
        name: Name that the user gave.
        lines: Lines in reading order, files that are included in their place.
        places: Where each line comes from.
        latex: Whether it is LaTeX.
        notes: Files that are included but missing.
        external: Prefix and text of each document whose labels it may refer to; the text is missing if the file is.
    """

    name: str
    lines: tuple[str, ...]
    places: tuple[Place, ...]
    latex: bool
    notes: tuple[str, ...] = ()
    external: tuple[tuple[str, str | None], ...] = ()

    @property
    def text(self) -> str:
        """All lines, joined."""
        return "\n".join(self.lines)


def read_source(name: str) -> Source:
    """Return the text of a paper.

    Args:
        name: A LaTeX, Markdown or text file, a folder, or an archive (zip, tar, also compressed, or a compressed file).

    Raises:
        SourceError: There is nothing to read, it is not text, or it is too large.
        OSError: A file cannot be read.
    """
    path = Path(name)
    if path.is_dir():
        files = _FolderFiles(path)
        return _read_several(name, files.names, files.read)
    if not path.exists():
        raise SourceError(f"{name} does not exist; name a LaTeX, Markdown or text file, a folder or an archive of them")
    if not path.is_file():
        raise SourceError(f"{name} is not a file or folder; save the paper's source to a file first")
    if path.stat().st_size == 0:
        raise SourceError(f"{name} is empty; name a file with the text of a paper")
    members = _archive(name, path)
    if members is not None:
        return _read_several(name, sorted(members), members.__getitem__)
    if path.suffix.lower() in _ARCHIVES:
        raise SourceError(f"{name} is not an archive, in spite of its name; download or pack it again")
    if path.stat().st_size > LARGEST:
        raise SourceError(_too_large(name))
    data = path.read_bytes()
    text = _decode(name, data)
    if path.suffix.lower() in _LATEX or _looks_like_latex(text):
        folder = _FolderFiles(path.parent)
        return _flatten(name, path.name, lambda member: data if member == path.name else folder.read(member))
    lines = text.splitlines()
    return Source(name, tuple(lines), tuple(Place(path.name, at + 1) for at in range(len(lines))), False)


def _too_large(name: str) -> str:
    return f"{name} has more than {LARGEST // 10**6} MB of text; name the file of the paper alone"


def _decode(name: str, data: bytes) -> str:
    """Return the text of a file.

    Raises:
        SourceError: It is not text.
    """
    if data[:5] == b"%PDF-":
        raise SourceError(
            f"{name} is a PDF; name its LaTeX source, or convert it to text first (for example pdftotext)"
        )
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if data.startswith(mark):
            try:
                return _normal(data.decode(encoding))
            except UnicodeDecodeError:
                break
    if b"\0" in data[:100_000] or _share_of_controls(data) > 0.02:
        raise SourceError(f"{name} is not text; name a LaTeX, Markdown or text file, a folder or an archive of them")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return _normal(text)


def _normal(text: str) -> str:
    """Return a text whose only line ends are newlines."""
    text = re.sub(r"(?<=\d)[\u2009\u202f\u00a0](?=\d{3}(?!\d))", ",", text)  # else a space like others
    return re.sub("\r\n?|[\x0b\x0c\x85\u2028\u2029\x1c-\x1e]", "\n", text)


def _share_of_controls(data: bytes) -> float:
    sample = data[:20_000]
    return sum(byte < 9 or 13 < byte < 32 for byte in sample) / max(1, len(sample))


def _looks_like_latex(text: str) -> bool:
    return bool(re.search(r"^\s*\\(documentclass|documentstyle|begin\{document\})", text, flags=re.M))


class _FolderFiles:
    """The files of a folder, read when they are needed, and none outside of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def names(self) -> list[str]:
        found = []
        for path in sorted(self._folder.rglob("*")):
            if path.suffix.lower() in _TEXTS and self._is_own(path) and not path.name.startswith("."):
                found.append(path.relative_to(self._folder).as_posix())
            if len(found) > MOST_FILES:
                raise SourceError(f"{self._folder} has more than {MOST_FILES} texts; name the folder of one paper")
        return found

    def read(self, name: str) -> bytes:
        path = self._folder / name
        if not self._is_own(path):
            raise KeyError(name)
        if path.stat().st_size > LARGEST:
            raise SourceError(_too_large(str(path)))
        return path.read_bytes()

    def _is_own(self, path: Path) -> bool:
        """Return whether a path is a file that lies in the folder, links followed."""
        return path.is_file() and path.resolve().is_relative_to(self._folder.resolve())


def _archive(name: str, path: Path) -> dict[str, bytes] | None:
    """Return the texts of an archive by their name; None if the file is not an archive.

    Raises:
        SourceError: The archive is damaged or too large.
    """
    broken = SourceError(f"{name} is a damaged archive; download or pack it again")
    try:
        with path.open("rb") as stream:
            start = stream.read(512)
        if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            with zipfile.ZipFile(path) as packed:
                infos = [one for one in packed.infolist() if not one.is_dir()]
                if any(one.flag_bits & _ENCRYPTED for one in infos):
                    raise SourceError(f"{name} is encrypted; unpack it with its password, and name the folder")
                sizes = {one.filename: one.file_size for one in infos}
                return _members(name, sizes, lambda member: packed.read(member))
        unpack = next((unpack for begins, unpack in _COMPRESSED.items() if start.startswith(begins)), None)
        if unpack is not None or start[257:262] == b"ustar":
            try:
                with tarfile.open(path) as packed_tar:
                    found = {one.name: one for one in packed_tar if one.isfile()}
                    sizes = {key: one.size for key, one in found.items()}
                    return _members(name, sizes, lambda member: _extracted(packed_tar, found[member]))
            except tarfile.ReadError:
                if unpack is None:
                    raise
                with unpack(path) as stream:  # a paper of one file, as preprint servers send it
                    data = stream.read(LARGEST + 1)
                if len(data) > LARGEST:
                    raise SourceError(_too_large(name)) from None
                return {"paper.tex" if _looks_like_latex(data.decode("latin-1")) else "paper.txt": data}
    except SourceError:
        raise
    except NotImplementedError as error:
        raise SourceError(
            f"{name} is packed by a method that cannot be read; unpack it, and name the folder"
        ) from error
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        zlib.error,
        gzip.BadGzipFile,
        lzma.LZMAError,
        RuntimeError,
        ValueError,
    ) as error:
        raise broken from error
    except OSError as error:
        if error.errno is None:  # of a decompressor; the others name a file
            raise broken from error
        raise
    return None


def _extracted(packed: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream: io.BufferedIOBase | None = packed.extractfile(member)  # type: ignore[assignment]
    return b"" if stream is None else stream.read()


def _members(name: str, sizes: Mapping[str, int], read: Callable[[str], bytes]) -> dict[str, bytes]:
    """Return the texts among the members of an archive; nothing is written to the disk."""
    if len(sizes) > MOST_FILES:
        raise SourceError(f"{name} has more than {MOST_FILES} files; pack the source of one paper alone")
    wanted = [
        member
        for member in sizes
        if PurePosixPath(member).suffix.lower() in (*_TEXTS, *_INCLUDED) and "__MACOSX" not in member
    ]
    wanted = [member for member in wanted if not PurePosixPath(member).name.startswith(".")]
    wanted = [member for member in wanted if PurePosixPath(member).suffix or sizes[member] <= LARGEST]  # else data
    if sum(sizes[member] for member in wanted) > LARGEST:
        raise SourceError(_too_large(name))
    return {member: read(member) for member in wanted}


def _read_several(name: str, names: list[str], read: Callable[[str], bytes]) -> Source:
    """Return the paper in several files: its main LaTeX file with what it includes, else its longest text.

    Raises:
        SourceError: No file is the text of a paper.
    """
    texts = [one for one in names if PurePosixPath(one).suffix.lower() in _TEXTS]
    latex = {}
    for one in texts:
        if PurePosixPath(one).suffix.lower() in _LATEX:
            data = read(one)
            if b"\0" not in data[:1000]:
                latex[one] = data.decode("latin-1")
    mains = [one for one, text in latex.items() if _looks_like_latex(text)]
    if mains:
        return _flatten(name, _main_of(mains, latex), read)
    if latex:
        longest = max(latex, key=lambda one: len(latex[one]))
        return _flatten(name, longest, read)
    sizes = {
        one: len(read(one)) for one in texts if not re.match("(?i)readme|licen[cs]e|changelog", PurePosixPath(one).name)
    }
    sizes = sizes or {one: len(read(one)) for one in texts}
    if not sizes or max(sizes.values()) == 0:
        raise SourceError(f"{name} contains no LaTeX, Markdown or text with words; name the file of the paper")
    longest = max(sizes, key=lambda one: sizes[one])
    lines = _decode(longest, read(longest)).splitlines()
    return Source(name, tuple(lines), tuple(Place(longest, at + 1) for at in range(len(lines))), False)


def _main_of(mains: list[str], texts: Mapping[str, str]) -> str:
    """Return the file that is the paper: not included by another, and the one that brings the most text."""
    included = {
        PurePosixPath(next(filter(None, found.groups()), "")).stem
        for text in texts.values()
        for found in _INCLUDE.finditer(text)
    }
    tops = [one for one in mains if PurePosixPath(one).stem not in included and "standalone" not in texts[one][:2000]]

    def weight(one: str) -> tuple[bool, int]:
        parts = [next(filter(None, found.groups()), "") for found in _INCLUDE.finditer(texts[one])]
        stems = {PurePosixPath(part).stem for part in parts}
        theirs = sum(len(text) for other, text in texts.items() if PurePosixPath(other).stem in stems and other != one)
        return "abstract" in texts[one], len(texts[one]) + theirs

    return max(tops or mains, key=weight)


def _flatten(name: str, main: str, read: Callable[[str], bytes], with_external: bool = True) -> Source:
    """Return a LaTeX file with what it includes, without comments, as lines that know their place.

    Args:
        name: Name that the user gave.
        main: The file.
        read: Returns the bytes of a file, or raises KeyError.
        with_external: Whether documents whose labels it may refer to are read, too.

    Raises:
        SourceError: It includes itself, or is too large.
    """
    lines: list[str] = []
    places: list[Place] = []
    notes: dict[str, None] = {}
    external: dict[tuple[str, str], Place] = {}
    conditions = Conditions(body=rb"\begin{document}" not in read(main))
    size = 0
    base = PurePosixPath(main).parent

    def find(wanted: str, near: PurePosixPath) -> tuple[str, bytes] | None:
        wanted = wanted.strip().strip('"')
        for folder in dict.fromkeys((base, near, PurePosixPath())):
            for ending in ("", ".tex", ".ltx"):
                member = _plain_name(folder / f"{wanted}{ending}")
                if member is None or (not ending and PurePosixPath(member).suffix.lower() not in _INCLUDED[:-1]):
                    continue
                try:
                    return member, read(member)
                except KeyError:
                    continue
        return None

    def add(text: str, place: Place) -> None:
        nonlocal size
        size += len(text) + 1
        if size > LARGEST:
            raise SourceError(_too_large(name))
        lines.append(text)
        places.append(place)

    def declare_styles(found: re.Match[str], near: PurePosixPath) -> None:
        ending = ".cls" if found["how"] in ("documentclass", "LoadClass") else ".sty"
        for style in found["names"].split(",")[:_DEEPEST]:
            inner = find(f"{style.strip()}{ending}", near)
            if inner is not None:
                conditions.declare(inner[1].decode("latin-1"))

    def follow(member: str, data: bytes, above: tuple[str, ...]) -> None:
        if member in above:
            raise SourceError(f"{name}: {member} includes itself through {above[-1]}; remove one of the inclusions")
        if len(above) > _DEEPEST:
            raise SourceError(
                f"{name}: more than {_DEEPEST} files include one another; name the file that has the text"
            )
        aside = conditions.begin_file()
        verbatim = Verbatim()
        for at, line in enumerate(_decode(member, data).split("\n")):
            place = Place(member, at + 1)
            if not verbatim.inside:
                line = _COMMENT.sub(r"\1", line)
            kept = conditions.kept(verbatim.kept(line), place)
            for found in _EXTERNAL.finditer(kept):
                external[found["prefix"] or "", found["name"].strip()] = place
            for style in _STYLE.finditer(kept):
                declare_styles(style, PurePosixPath(member).parent)
            start = 0
            for found in _INCLUDE.finditer(kept):
                parts = [part for part in found.groups() if part]
                wanted = "/".join(parts) if found[3] is not None else parts[0] if parts else ""
                inner = find(wanted, PurePosixPath(member).parent) if wanted else None
                if inner is None:
                    if (
                        wanted
                        and PurePosixPath(wanted).suffix in ("", *_LATEX)
                        and "\\" not in wanted
                        and "#" not in wanted
                    ):
                        notes[f"{place}: {wanted} is included but missing"] = None
                    continue
                add(kept[start : found.start()], place)
                follow(*inner, (*above, member))
                start = found.end()
            add(kept[start:], place)
        conditions.end_file(aside)

    follow(main, read(main), ())
    if not any(line.strip() for line in lines):
        raise SourceError(f"{name} is empty; name a file with the text of a paper")
    others = []
    for (prefix, other), place in external.items() if with_external else ():
        inner = find(other, base)
        if inner is None:
            notes[f"{place}: {other} is missing, so references to its labels are not checked"] = None
        others.append((prefix, None if inner is None else _flatten(name, inner[0], read, with_external=False).text))
    return Source(name, tuple(lines), tuple(places), True, (*notes, *conditions.notes), tuple(others))


def _plain_name(path: PurePosixPath) -> str | None:
    """Return a path without dots; None if it leads out of the folder."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in (".", "/"):
            parts.append(part)
    return "/".join(parts)
