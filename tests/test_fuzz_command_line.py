"""Any arguments, any target, any stored or downloaded file: the right answer, or status 2 and one line.

`HYPOTHESIS_PROFILE=deep` draws thousands of new cases.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankproof
from paper_checks.ledger import Ledger
from paper_checks.replay import ReplayError, Stored, replay_in_fresh_process, stored, stored_path
from workloads.data import packages
from workloads.data.datasets import REGISTRY, DataSet
from workloads.data.idx import pack

EXAMPLES = settings().max_examples
LEDGER = Ledger.of()
QUICK = ("fedloru-v2/eq-43", "fedloru-v2/eq-39")


def run(*arguments):
    """Status, standard output and standard error of one command; an exception is none of the three."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = rankproof.main(list(arguments))
    return status, out.getvalue(), err.getvalue()


@contextlib.contextmanager
def scratch():
    """A folder with a file, a link, a folder and a pipe, where the command runs."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "file").write_text("ours")
        (folder / "link").symlink_to("linked")
        (folder / "linked").write_text("ours")
        (folder / "nothing").symlink_to("made")
        (folder / "circle").symlink_to("circle")
        (folder / "folder").mkdir()
        (folder / "folder" / "kept").write_text("ours")
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def contents(folder):
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        for path in sorted(folder.rglob("*"))
    }


def assert_refused(status, out, err):
    assert status == 2
    assert out == ""
    assert err.startswith("rankproof: ")
    assert err.count("\n") == 1, err


letters = st.characters(codec="utf-8", exclude_characters="\0")
others = st.sampled_from([os.fsdecode(bytes([byte])) for byte in range(128, 256)])  # bytes that are not letters
text = st.text(letters | others, max_size=8)
odd = text.map(lambda words: f"?{words}")  # no prefix of any claim
number = st.one_of(st.integers(-3, 3).map(str), st.sampled_from(["9" * 50, "1e3", "nan", "", "٣", "0x1"]), text)
option = st.one_of(
    st.tuples(st.sampled_from(["--seed", "--budget", "--paper", "--verdict", "--scale", "--device", "--root"]), number),
    st.tuples(st.sampled_from(["--paper", "--verdict", "--root"]), st.sampled_from(["rolora", "refuted", "file", "."])),
    st.sampled_from([("--help",), ("--list",), ("--all",), ("--version",), ("--no-figures",), ("--",), ("-",)]),
    st.tuples(text),
).map(list)
names = st.lists(st.one_of(odd, st.sampled_from(QUICK)), min_size=1, max_size=3)
start = st.one_of(
    st.builds(lambda ids: ["check", "--jobs", "1", *ids], names),
    st.builds(lambda ids: ["show", "--jobs", "1", *ids], names),
    st.builds(lambda ids: ["replay", *ids], names),
    st.just(["claims"]),
    st.builds(lambda ids: ["figure", *ids], st.lists(odd, min_size=1, max_size=2)),
    st.builds(lambda action, ids: ["data", action, *ids], st.sampled_from(["list", "verify"]), st.lists(odd)),
    st.builds(lambda ids: ["data", "fetch", *ids], st.lists(odd, min_size=1)),
    st.builds(lambda one: ["spectrum", "--model", one, "--data", one], text),
    st.lists(text, max_size=3),
)


@given(start, st.lists(option, max_size=3))
def test_any_arguments_are_answered_or_refused_in_one_line(arguments, options):
    arguments = [*arguments, *(word for words in options for word in words)]
    if arguments[:1] == ["figure"]:
        arguments = [word for word in arguments if word != "--all"]  # every figure would be drawn
    with scratch() as folder:
        before = contents(folder)
        status, out, err = run(*arguments)
        after = contents(folder)
    after.pop("results", None)
    assert after == before
    if status == 2:
        assert err.startswith("rankproof: "), arguments
        assert err.count("\n") == 1 or arguments[0] == "data", arguments
    else:
        assert status == 0, arguments
        assert all(line.startswith("rankproof: measuring ") for line in err.splitlines()), arguments
        assert out


targets = st.one_of(
    st.sampled_from(
        ["new", "file", "link", "nothing", "circle", "folder", "folder/", "folder/new", "folder/kept", "-"]
    ),
    st.sampled_from(["file/new", "missing/new", "./-", "", " ", "/dev/null", ".", "..", "/", "two\nlines", "\udcff"]),
    st.just("x" * 300),
    text,
)
EXPECTED = [claim.id for claim in LEDGER.claims if claim.paper == "rolora" and claim.expect == "corrected"]


@settings(max_examples=EXAMPLES // 3)
@given(targets, st.booleans())
def test_any_target_gets_the_whole_answer_or_stays_as_it_was(target, check):
    assert len(EXPECTED) > 1
    which = ["check", "--jobs", "1", QUICK[0]] if check else ["claims", "--paper", "rolora", "--verdict", "corrected"]
    with scratch() as folder:
        if target.startswith("/") and target not in ("/dev/null", "/"):
            target = f"folder/{target.strip('/')}"
        before = contents(folder)
        status, out, err = run(*which, f"--json={target}")
        after = contents(folder)
        if status == 0 and target not in ("-", "/dev/null"):
            answer = json.loads(Path(target).read_text())
            real = os.path.relpath(os.path.realpath(target), os.path.realpath(folder))
            assert after.pop(real)
            assert after.pop(os.path.join(os.path.dirname(real), ".rankproof-written"))
            before.pop(real, None)
    assert after == before  # links are links still, and nothing is left behind
    if status:
        assert_refused(status, out, err)
        return
    if target == "-":
        answer = json.loads(out)
    if target != "/dev/null":
        found = answer["claims"] if check else answer
        assert [entry["id"] for entry in found] == ([QUICK[0]] if check else EXPECTED)


FILES = [file for claim in LEDGER.claims for file in LEDGER.home[claim.id].to_replay(claim.id) if file.values]
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    text,
    st.sampled_from(["1/0", "1e999", "-1/3", "nan", [], {}, [[]], 10**400, "9" * 5000]),
)


@st.composite
def damaged(draw):
    """The bytes of a stored file, cut, overwritten, or JSON of another shape."""
    file = draw(st.sampled_from(FILES))
    path = stored_path(LEDGER.home[file.claim].folder, file.id, file.kind)
    content = path.read_bytes()
    how = draw(st.sampled_from(["cut", "bytes", "other", "deep", "swap"]))
    if how == "cut":
        content = content[: draw(st.integers(0, len(content)))]
    elif how == "bytes":
        at = draw(st.integers(0, len(content)))
        content = content[:at] + draw(st.binary(max_size=4)) + content[at + draw(st.integers(0, 4)) :]
    elif how == "other":
        other = st.one_of(leaves, st.dictionaries(st.sampled_from(["id", "values"]), leaves))
        content = json.dumps(draw(other)).encode()
    elif how == "deep":
        content = b"[" * 100_000
    else:
        content = json.dumps({"id": file.id, "values": draw(leaves)}).encode()
    return file, content


@given(damaged())
def test_any_stored_file_is_read_or_named(case):
    file, content = case
    with tempfile.TemporaryDirectory() as name:
        path = stored_path(Path(name), file.id, file.kind)
        path.parent.mkdir()
        path.write_bytes(content)
        try:
            (found,) = stored(Path(name), file.id)
        except ReplayError as error:
            said = str(error)
        else:
            said, known = path.name, json.loads(content)
            assert (known["id"], repr(known["values"])) == (file.id, repr(found.values))
    assert path.name in said


@st.composite
def altered(draw, package):
    """A stored file with one value of another kind, or without it."""
    own = [file for file in FILES if LEDGER.home[file.claim].package == package]
    file = draw(st.sampled_from(own))
    values = json.loads(json.dumps(file.values))
    place = values
    for _ in range(draw(st.integers(0, 3))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        inner = [key for key in keys if isinstance(place[key], dict | list) and place[key]]
        if not inner:
            break
        place = place[draw(st.sampled_from(inner))]
    key = draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
    if draw(st.booleans()):
        place[key] = draw(st.one_of(st.none(), st.booleans(), st.sampled_from(["1/0", "x", [], {}, "nan", 0, -1])))
    else:
        del place[key]
    return Stored(file.id, file.kind, values)


@pytest.mark.hypothesis
@pytest.mark.parametrize("paper", LEDGER.papers, ids=lambda paper: paper.name)
def test_any_altered_witness_or_certificate_is_answered(paper):
    """Many in one process, which none may end."""

    @settings(max_examples=max(1, EXAMPLES // 60))
    @given(st.lists(altered(paper.package), min_size=20, max_size=20))
    def answered(files):
        answers = replay_in_fresh_process(paper.package, files)
        assert [answer.kind for answer in answers] == [file.kind for file in files]
        assert all("\n" not in answer.detail for answer in answers if not answer.confirmed)

    answered()


IMAGES = {
    name: pack(np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28) if "images" in name else np.zeros(2, np.uint8))
    for name in packages.FILES
}
TINY = DataSet(
    name="tiny",
    title="Tiny",
    folder="Tiny",
    pixel_mean=0.5,
    pixel_deviation=0.3,
    sources=(),
    otherwise="draw it again",
    md5={name: hashlib.md5(content).hexdigest() for name, content in IMAGES.items()},
)


@st.composite
def on_disk(draw):
    """A data set with one file cut, overwritten, replaced by a folder or a link, or missing."""
    files = {(f"{name}.gz" if draw(st.booleans()) else name): content for name, content in IMAGES.items()}
    files = {name: gzip.compress(content) if name.endswith(".gz") else content for name, content in files.items()}
    name = draw(st.sampled_from(list(files)))
    how = draw(st.sampled_from(["whole", "cut", "bytes", "folder", "circle", "missing", "twice"]))
    if how == "cut":
        files[name] = files[name][: draw(st.integers(0, len(files[name]) - 1))]
    elif how == "bytes":
        at = draw(st.integers(0, len(files[name]) - 1))
        files[name] = files[name][:at] + bytes([files[name][at] ^ draw(st.integers(1, 255))]) + files[name][at + 1 :]
    elif how == "twice":
        files[name] *= 2
    elif how != "whole":
        files[name] = how
    return files


@given(on_disk(), st.sampled_from(["list", "verify", "fetch"]), st.booleans())
def test_any_data_are_verified_or_named(files, action, first):
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setitem(REGISTRY, "tiny", TINY)
        patch.delenv("RANKPROOF_DATA", raising=False)
        place = folder / "root" / "Tiny" / "raw"
        place.mkdir(parents=True)
        for name, content in files.items():
            if content == "folder":
                (place / name).mkdir()
            elif content == "circle":
                (place / name).symlink_to(name)
            elif content != "missing":
                (place / name).write_bytes(content)
        before = contents(folder)
        arguments = [action, "--root", "root", "tiny"] if first else [action, "tiny", "--root", "root"]
        status, out, err = run("data", *arguments)
        assert contents(folder) == before
    whole = all(
        isinstance(content, bytes) and _unpacked(name, content) == IMAGES[name.removesuffix(".gz")]
        for name, content in files.items()
    )
    if action == "list":
        assert status == 0
        assert out.startswith("tiny")
        assert ("present" in out) == whole
    elif whole:
        assert (status, err) == (0, "")
    else:
        assert_refused(status, out, err)


def _unpacked(name, content):
    try:
        return gzip.decompress(content) if name.endswith(".gz") else content
    except Exception:  # of any kind: the file is not whole
        return None
