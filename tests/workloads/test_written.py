"""Records of what rankproof wrote: a record that somebody forged reaches no file outside its folder."""

import hashlib
import json
import os
import threading

import pytest

from workloads.written import _HEADER, RECORD, FolderRecord, ForeignFileError


def forged(folder, *lines):
    folder.mkdir()
    (folder / RECORD).write_bytes(_HEADER + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return FolderRecord(folder)


def line_of(name, data):
    return [name, len(data), hashlib.sha256(data).hexdigest()]


@pytest.mark.parametrize("way", ["above", "absolute", "through a link", "through a link and back"])
def test_a_forged_record_reaches_nothing_outside_its_folder(way, tmp_path):
    mine, empty, scratch = tmp_path / "mine", tmp_path / "mine" / "empty", tmp_path / "mine" / ".writing-00"
    for place in (mine, empty, scratch):
        place.mkdir()
    kept = [mine / "licence", scratch / "0"]
    for path in kept:
        path.write_bytes(b"known")
    start = {"above": "../mine", "absolute": str(mine), "through a link": "link"}.get(way, "link/../mine")
    names = [line_of(f"{start}/{name}", b"known") for name in ("licence", "empty/x", ".writing-00/0")]
    record = forged(tmp_path / "received", *names, [f"{start}/.writing-00", None, ""])
    if "link" in way:
        (tmp_path / "received" / "link").symlink_to(mine)
    record.clear()
    assert record.remove([tmp_path / "received" / start / "licence"]) == []
    record.remove_scratch(tmp_path / "received" / start)
    assert all(path.read_bytes() == b"known" for path in kept)
    assert empty.is_dir()


def test_a_file_behind_a_link_that_leads_out_is_somebody_elses(tmp_path):
    (tmp_path / "known").write_bytes(b"known")
    record = forged(tmp_path / "received", line_of("page.html", b"known"))
    (tmp_path / "received" / "page.html").symlink_to(tmp_path / "known")
    with pytest.raises(ForeignFileError, match=r"page\.html"):
        record.write({tmp_path / "received" / "page.html": b"new"})
    assert (tmp_path / "known").read_bytes() == b"known"


def test_what_was_written_in_a_folder_below_is_cleared(tmp_path):
    record = FolderRecord(tmp_path / "out")
    (tmp_path / "out" / "below").mkdir(parents=True)
    record.write({tmp_path / "out" / "below" / "one": b"1", tmp_path / "out" / "two": b"2"})
    record.clear()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("theirs", ["another process of rankproof", "somebody"])
def test_a_file_that_appears_while_others_are_written_is_replaced_only_if_rankproof_wrote_it(
    theirs, tmp_path, monkeypatch
):
    """The other process writes its file right before this one would give its file that name."""
    one, two = tmp_path / "one", tmp_path / "two"
    place, meant = os.link, []

    def appear(finished, path):
        if str(path) == str(two) and not meant:
            meant.append(path)
            if theirs == "somebody":
                two.write_bytes(b"theirs")
            else:
                FolderRecord(tmp_path).write({one: b"older", two: b"older"})
        place(finished, path)

    monkeypatch.setattr(os, "link", appear)
    if theirs == "somebody":
        with pytest.raises(ForeignFileError, match="two"):
            FolderRecord(tmp_path).write({one: b"1", two: b"2"})
        assert two.read_bytes() == b"theirs"
        assert not one.exists()
    else:
        FolderRecord(tmp_path).write({one: b"1", two: b"2"})
        assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")


def test_a_line_that_another_process_is_writing_is_not_taken_for_one_that_was_cut(tmp_path, monkeypatch):
    """A long line becomes visible page by page; here one half after the other."""
    pytest.importorskip("fcntl", reason="other systems lock no files in this way")
    record, write = FolderRecord(tmp_path), os.write
    lines = [(f"file-{number}", number, "0") for number in range(4)]
    record.note(lines[:1])
    other = threading.Thread(target=record.note, args=([lines[2]],))

    def in_halves(descriptor, data):
        if b"file-1" not in data:
            return write(descriptor, data)
        write(descriptor, data[:9])
        other.start()
        other.join(0.05)
        return 9 + write(descriptor, data[9:])

    monkeypatch.setattr(os, "write", in_halves)
    record.note([lines[1]])
    other.join()
    record.note([lines[3]])
    assert record.lines() == lines


def test_a_line_that_was_cut_gives_way_to_the_next_one(tmp_path):
    record = FolderRecord(tmp_path)
    record.note([("one", 1, "0")])
    with (tmp_path / RECORD).open("ab") as stream:
        stream.write(b'["tw')
    record.note([("three", 3, "0")])
    assert record.lines() == [("one", 1, "0"), ("three", 3, "0")]
