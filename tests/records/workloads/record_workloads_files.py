"""Records of files: atomic writes, records of what was written, and what is refused."""

import os
import stat
from pathlib import Path

from hidden_folder import folder
from recording import refused

from workloads.files import (
    SCRATCH,
    is_descriptor,
    is_standard_output,
    naming_errors,
    require_target,
    require_writable,
    scratch_name,
    with_home,
    writable,
    write_whole,
)
from workloads.processes.locks import LOCK, lock_folder
from workloads.written import RECORD, FolderRecord, require_own, write_new, write_own


def _tree(place):
    return {
        str(path.relative_to(place)): path.read_text() if path.is_file() and path.name != RECORD else ""
        for path in sorted(place.rglob("*"))
    }


def _try(hide, call, *arguments, **options):
    """Return what a call gives, or its error, without the number of the error, which systems choose."""
    found = hide(refused(call, *arguments, **options))
    return found.replace("[Errno ", "[") if isinstance(found, str) else found


def files_written_whole():
    with folder() as (place, hide):
        (place / "old").write_text("before")
        (place / "old").chmod(0o640)
        (place / "link").symlink_to("old")
        (place / "sub").mkdir()
        yield (
            _try(hide, write_whole, {place / "link": b"one", place / "sub" / "new": b"two"}),
            _tree(place),
            stat.S_IMODE((place / "old").stat().st_mode),
            (place / "link").is_symlink(),
        )
        yield (
            _try(hide, write_whole, {place / "a": b"1", place / "sub": b"2"}),
            _try(hide, write_whole, {place / "none" / "a": b"1"}),
            _try(hide, write_whole, {place / "old": b"3", place / "b": b"4"}, fresh=[place / "old"]),
            _tree(place),
        )
        yield (
            _try(
                hide,
                write_whole,
                {place / "b": b"4", place / "c": b"5"},
                fresh=[place / "b"],
                check=lambda path: (_ for _ in ()).throw(OSError(5, f"no {path.name}")),
            ),
            _tree(place),
        )
        yield (
            write_whole({place / "b": b"4"}, scratch="mine") == [place / "b"],
            _tree(place)["b"],
            scratch_name().startswith(SCRATCH),
            len(scratch_name()),
        )
        (place / "loop").symlink_to("loop")
        yield str(_try(hide, write_whole, {place / "loop": b""})).partition("]")[2], write_whole({})


def folders_to_write_in():
    with folder() as (place, hide):
        (place / "file").write_text("x")
        yield (
            _try(hide, require_writable, place / "a" / "b"),
            sorted(_tree(place)),
            _try(hide, require_writable, place / "file"),
            _try(hide, require_target, place / "new"),
            _try(hide, require_target, place),
            _try(hide, require_target, place / "no" / "new"),
            _try(hide, require_target, place / "file"),
        )

        def fail(inside):
            with writable(place / "c" / "d"):
                if inside:
                    (place / "c" / "kept").write_text("")
                raise ValueError("stop")

        yield refused(fail, False), sorted(_tree(place)), refused(fail, True), sorted(_tree(place))

        def rename():
            with naming_errors(place / "shown"):
                raise OSError("only words")

        yield _try(hide, rename)


def special_names():
    yield (
        str(with_home("~nobody-here/x")),
        str(with_home("x/~")),
        str(with_home("~")) == os.path.expanduser("~"),
        is_standard_output("-"),
        is_standard_output("no such file"),
    )
    with folder() as (place, _):
        (place / "link").symlink_to("/proc/self/fd/0")
        (place / "plain").symlink_to("nothing")
        yield is_descriptor(place / "link"), is_descriptor(place / "plain"), is_descriptor(place)


def open_files_by_number():
    with folder() as (place, _), open(place / "open", "w+") as stream:
        number = stream.fileno()
        stream.write("before")
        stream.flush()
        (place / "link").symlink_to(f"/proc/self/fd/{number}")
        for path in (Path(f"/dev/fd/{number}"), place / "link"):
            write_whole({path: b" and after"})
            yield is_descriptor(path), _tree(place)["open"], (place / "open").stat().st_ino == os.fstat(number).st_ino


def files_of_a_record():
    with folder() as (place, hide):
        record = FolderRecord(place)
        yield record.exists, record.lines(), record.owns(place / "a")
        write_own({place / "a": b"one", place / "b": b"two"}, place)
        yield (
            record.exists,
            [line for line in record.lines() if line[1] is not None],
            [length for _, length, _ in record.lines()],
            sorted(_tree(place)),
            record.owns(place / "a"),
            record.owns(place / "c"),
        )
        write_own({place / "a": b"one more"}, place)
        (place / "b").write_text("TWO")
        (place / "foreign").write_text("x")
        yield (
            _tree(place),
            record.owns(place / "b"),
            _try(hide, write_own, {place / "b": b"new", place / "a": b"never"}, place),
            _try(hide, write_own, {place / "foreign": b"y"}, place),
            _try(hide, write_own, {place / "foreign": b"x"}, place),
            _tree(place)["a"],
        )
        yield (
            _try(hide, require_own, [place / "a", place / "n"], place),
            _try(hide, require_own, [place / "a", place / "b"], place),
            _try(hide, require_own, [place], place),
            record.remove([place / "a", place / "b"]) == [place / "a"],
            sorted(_tree(place)),
        )
        record.clear()
        yield sorted(_tree(place))


def growing_files_and_scratch():
    with folder() as (place, _):
        record = FolderRecord(place)
        record.note([("grows.csv", None, ""), (f"{SCRATCH}one", None, ""), ("full", 3, "x")])
        record.note([])
        yield (
            record.has_begun(place / "grows.csv"),
            record.has_begun(place / "full"),
            record.has_begun(place / "x"),
            record.lines(),
        )
        for name in ("one", "two"):
            (place / f"{SCRATCH}{name}").mkdir()
            (place / f"{SCRATCH}{name}" / "0").write_text("half")
        (place / f"{SCRATCH}one" / "text").write_text("mine")
        record.remove_scratch(place)
        yield sorted(_tree(place))
        (place / f"{SCRATCH}one" / "text").unlink()
        record.remove_scratch(place)
        yield sorted(_tree(place))


def records_that_others_wrote():
    for text in ("", "x", '["Files"]\n', None):
        with folder() as (place, hide):
            header = None
            write_own({place / "a": b"1"}, place)
            header = (place / RECORD).read_bytes().splitlines(keepends=True)[0]
            if text is None:
                for line in (
                    b'["b", 3]\n',
                    b'["b", true, ""]\n',
                    b'[1, 2, "x"]\n',
                    b'["../b", 1, "x"]\n["/b", 1, "x"]\n["c", 1, "x"]\n',
                    b'["c", 1, "x"]\n["d',
                    b'["c", null, "x"]\nd',
                    b"nonsense\n",
                ):
                    (place / RECORD).write_bytes(header + line)
                    yield line.decode(), _try(hide, FolderRecord(place).lines)
                (place / RECORD).write_bytes(header + b'["c", 1, "x"]\n["d')
                FolderRecord(place).note([("e", 2, "y")])
                yield FolderRecord(place).lines()
            else:
                (place / RECORD).write_text(text)
                yield (
                    text,
                    _try(hide, FolderRecord(place).lines),
                    _try(hide, write_own, {place / "b": b"2"}, place),
                    sorted(_tree(place)),
                )


def shortened_records():
    with folder() as (place, _):
        record = FolderRecord(place)
        write_own({place / "a": b"1"}, place)
        record.note([(f"gone {n}", n, "x" * 600) for n in range(102)])
        before = len(record.lines())
        record.shorten()
        small = len(record.lines())
        record.note([(f"gone {n}", n, "x" * 600) for n in range(9)])
        record.note([("a", 1, "newer")])
        record.shorten()
        yield before, small, [line for line in record.lines() if line[1] is not None]


def new_files_only():
    with folder() as (place, hide):
        write_new({place / "a": b"1"})
        yield (
            _try(hide, write_new, {place / "a": b"1", place / "b": b"2"}),
            _try(hide, write_new, {place / "b": b"3", place / "c": b"3"}),
            _try(hide, write_new, {place: b""}),
            _tree(place),
        )


def records_of_subfolders():
    with folder() as (place, hide):
        (place / "sub" / "deep").mkdir(parents=True)
        (place / "away").symlink_to("/tmp")
        write_own({place / "sub" / "deep" / "a": b"1", place / "b": b"22"}, place)
        record = FolderRecord(place)
        yield (
            sorted(name for name, length, _ in record.lines() if length),
            record.owns(place / "sub" / "deep" / "a"),
            record.remove([place / "away" / "x"]),
        )
        os.link(place / RECORD, place / "copy")
        before = (place / "copy").read_bytes()
        record.note([("z", 1, "q")])
        yield (place / "copy").read_bytes() == before, record.lines()[-1]
        (place / "copy").unlink()
        record.clear()
        yield sorted(_tree(place)), hide(place)


def locked_folders():
    with folder() as (place, _):
        with lock_folder(place) as first, lock_folder(place) as second, lock_folder(place / "none") as third:
            yield first, second, third, (place / LOCK).exists()
        with lock_folder(place) as again:
            yield again, LOCK
