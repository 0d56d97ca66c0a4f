"""Files are written whole, through links, into pipes; what is not a file to replace is not replaced."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from workloads.files import is_standard_output, require_target, require_writable, with_home, write_whole

FULL = Path("/dev/full")


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_link_stays_one_and_its_file_keeps_its_permissions(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.write_text("a longer content")
    target.chmod(0o640)
    link.symlink_to(Path("far") / "target")
    require_target(link)
    write_whole({link: b"new"})
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert everything(tmp_path) == ["far", "far/target", "link"]


def test_a_link_to_nothing_makes_its_file(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("target")
    write_whole({link: b"new"})
    assert (tmp_path / "target").read_bytes() == b"new"
    assert link.is_symlink()


def test_a_pipe_takes_everything_and_stays_a_pipe(tmp_path):
    pipe, content, taken = tmp_path / "pipe", os.urandom(300_000), []
    os.mkfifo(pipe)
    require_target(pipe)  # does not wait for whoever reads
    reader = threading.Thread(target=lambda: taken.append(pipe.read_bytes()))
    reader.start()
    assert write_whole({pipe: content}) == [pipe]
    reader.join(60)
    assert taken == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_one(tmp_path):
    before = os.stat(os.devnull)
    link = tmp_path / "link"
    link.symlink_to(os.devnull)
    write_whole({Path(os.devnull): b"x", link: b"y"})
    assert os.path.samestat(before, os.stat(os.devnull))
    assert link.is_symlink()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files have no paths here")
def test_an_open_file_is_written_into_and_not_replaced(tmp_path):
    with (tmp_path / "open").open("w+") as stream:
        write_whole({Path(f"/dev/fd/{stream.fileno()}"): b"new"})
        assert stream.read() == "new"
    assert everything(tmp_path) == ["open"]


@pytest.mark.skipif(not FULL.exists(), reason="the full device is not here")
def test_a_full_disk_names_the_path_and_changes_nothing(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("before")
    with pytest.raises(OSError, match="No space") as error:
        write_whole({kept: b"after", FULL: b"x"})
    assert error.value.filename == str(FULL)
    assert kept.read_text() == "before"
    assert everything(tmp_path) == ["kept"]


def test_files_of_several_folders_change_together_or_not_at_all(tmp_path):
    files = {tmp_path / place / "file": place.encode() for place in ("a", "b")}
    for path in files:
        path.parent.mkdir()
    write_whole(files)
    assert {path: path.read_bytes() for path in files} == files
    (tmp_path / "c").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole({**dict.fromkeys(files, b"new"), tmp_path / "c": b"new"})
    assert {path: path.read_bytes() for path in files} == files


def test_new_files_come_first_and_are_taken_back_where_a_later_one_fails(tmp_path):
    """A file that has appeared where a new one was to be stays, and so does the old file."""
    old, one, other = (tmp_path / name for name in ("old", "one", "other"))
    old.write_text("before")
    other.write_text("appeared")
    contents = {old: b"after", one: b"new", other: b"new"}
    with pytest.raises(FileExistsError) as error:
        write_whole(contents, fresh=[one, other])
    assert error.value.filename == str(other)
    assert (old.read_text(), other.read_text()) == ("before", "appeared")
    assert everything(tmp_path) == ["old", "other"]
    other.unlink()
    checked = []

    def refuse(path):
        checked.append((path, [name for name in everything(tmp_path) if not name.startswith("scratch")]))
        raise PermissionError(errno.EACCES, "refused")

    with pytest.raises(PermissionError, match="refused"):
        write_whole(contents, fresh=[one, other], check=refuse, scratch="scratch")
    assert checked == [(old, ["old", "one", "other"])]
    assert everything(tmp_path) == ["old"]
    assert write_whole(contents, fresh=[one, other], check=require_target) == [old, one, other]
    assert [path.read_text() for path in (old, one, other)] == ["after", "new", "new"]


@pytest.mark.parametrize("check", [require_target, lambda path: write_whole({path: b"x"})])
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("folder", IsADirectoryError),
        ("nowhere/file", FileNotFoundError),
        ("file/file", NotADirectoryError),
        ("circle", OSError),
        ("x" * 300, OSError),
    ],
)
def test_what_cannot_be_a_file_is_named_and_nothing_is_made(tmp_path, place, kind, check):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    (tmp_path / "circle").symlink_to("circle")
    before = everything(tmp_path)
    with pytest.raises(kind) as error:
        check(tmp_path / place)
    assert error.value.filename == str(tmp_path / place)
    assert everything(tmp_path) == before
    assert (tmp_path / "file").read_text() == "kept"


def test_a_failure_names_the_path_and_never_a_temporary_one(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output") as error:
        write_whole({tmp_path / "file": b"x"})
    assert error.value.filename == str(tmp_path / "file")
    assert everything(tmp_path) == []


def test_a_folder_is_made_and_a_file_in_its_place_is_named(tmp_path):
    require_writable(tmp_path / "a" / "b")
    assert everything(tmp_path) == ["a", "a/b"]
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError) as error:
        require_writable(tmp_path / "file")
    assert error.value.filename == str(tmp_path / "file")


def test_a_user_without_a_home_is_part_of_a_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert with_home("~/data") == tmp_path / "data"
    assert with_home("~no-such-user/data") == Path("~no-such-user/data")
    assert with_home(Path("a/~")) == Path("a/~")


def test_names_of_standard_output(tmp_path, capfd):
    assert is_standard_output("-")
    assert not is_standard_output("./-")
    assert not is_standard_output(str(tmp_path / "none"))
    assert not is_standard_output("")


def test_a_file_that_is_not_to_be_written_stays(tmp_path, monkeypatch):
    target = tmp_path / "kept.json"
    target.write_text("precious")
    allowed = os.access
    # A superuser may write everything: the system's answer to other users is used instead.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != target and allowed(path, mode))
    for write in (lambda: write_whole({target: b"other"}), lambda: require_target(target)):
        with pytest.raises(PermissionError):
            write()
    assert target.read_text() == "precious"


def test_everything_is_in_the_file_when_it_is_synced(tmp_path, monkeypatch):
    sync, sizes = os.fsync, []

    def measured(descriptor):
        sizes.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", measured)
    write_whole({tmp_path / "one": b"x" * 10, tmp_path / "two": b"y" * 20})
    assert sizes == [10, 20]
