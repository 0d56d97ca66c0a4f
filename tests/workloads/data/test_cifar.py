"""CIFAR-10 and CIFAR-100 are read where the user has them: verified before they are opened, and opened for arrays only.

The file sets are made here and registered under the checksums they have; nothing invented passes for the genuine data.
"""

import hashlib
import io
import pickle
import struct
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch

import rankproof
from workloads.data.cifar import read_batches
from workloads.data.datasets import REGISTRY, DataError, fetch, find, listing, load, verify
from workloads.image_networks.resnet import resnet
from workloads.image_networks.small import pool


class Python2(pickle._Pickler):
    """Writes as Python 2 did: text and bytes are one kind of string, arrays name numpy's old module."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_string(self, value):
        raw = value if isinstance(value, bytes) else value.encode("latin1")
        self.write(b"U" + bytes([len(raw)]) + raw if len(raw) < 256 else b"T" + struct.pack("<i", len(raw)) + raw)
        self.memoize(value)

    dispatch[bytes] = dispatch[str] = save_string


def written(value):
    stream = io.BytesIO()
    Python2(stream, protocol=2).dump(value)
    return stream.getvalue().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def batch(count, key, classes, seed):
    """A batch, and its file as published: written by Python 2."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, (count, 3072), dtype=np.uint8)
    labels = [int(value) for value in rng.integers(0, classes, count)]
    return data, labels, written({"data": data, key: labels, "filenames": ["a"] * count})


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKPROOF_DATA", raising=False)


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A registered set in the files of CIFAR-100, under the root `tmp_path / "root"`."""
    contents = {
        "train": batch(7, "fine_labels", 100, 0)[2],
        "test": batch(3, "fine_labels", 100, 1)[2],
        "meta": written({"fine_label_names": ["apple"]}),
    }
    known = {file: hashlib.md5(content).hexdigest() for file, content in contents.items()}
    data = replace(REGISTRY["cifar-100"], name="tiny", title="Tiny", folder="tiny-python", md5=known)
    monkeypatch.setitem(REGISTRY, "tiny", data)
    folder = tmp_path / "root/tiny-python"
    folder.mkdir(parents=True)
    for file, content in contents.items():
        (folder / file).write_bytes(content)
    return folder


def test_colour_images_and_fine_classes(tiny, tmp_path):
    train, test = (load("tiny", tmp_path / "root", split) for split in ("train", "test"))
    data, labels, _ = batch(7, "fine_labels", 100, 0)
    assert (train.images.shape, train.labels.shape, train.source) == ((7, 3, 32, 32), (7,), tiny)
    assert (train.images.dtype, train.classes) == (np.uint8, 100)
    assert train.labels.tolist() == labels
    # Red, green and blue planes, each by rows.
    assert train.images[2, 1, 4, 5] == data[2, 1024 + 4 * 32 + 5]
    assert (test.images.shape, test.split) == ((3, 3, 32, 32), "test")
    assert train.images.flags.writeable


def test_the_places_of_the_other_sets(tiny, tmp_path, monkeypatch):
    assert find("tiny") is None
    monkeypatch.setenv("RANKPROOF_DATA", str(tmp_path / "root"))
    assert find("tiny") == tiny
    (tmp_path / "root").rename(tmp_path / "data")
    monkeypatch.delenv("RANKPROOF_DATA")
    assert find("tiny") == Path("data/tiny-python")
    assert verify("tiny") == fetch("tiny") == Path("data/tiny-python")


def test_a_changed_file_is_refused_and_never_opened(tiny, tmp_path, monkeypatch):
    (tiny / "train").write_bytes(b"cos\nsystem\n(S'touch opened'\ntR.")
    opened = []
    monkeypatch.setattr("workloads.data.cifar._open", lambda *content: opened.append(content))
    with pytest.raises(DataError, match=rf"train: expected MD5 {REGISTRY['tiny'].md5['train']} .*, found") as caught:
        load("tiny", tmp_path / "root")
    assert "\n" not in str(caught.value)
    assert "delete it and unpack cifar-100-python.tar.gz" in str(caught.value)
    with pytest.raises(DataError, match="expected MD5"):
        fetch("tiny", tmp_path / "root")
    assert not opened
    assert not (tmp_path / "opened").exists()
    (status,) = [s for s in listing(tmp_path / "root") if s.name == "tiny"]
    assert (status.state, status.place) == ("damaged", tiny)


def test_one_flipped_bit_of_a_batch_of_several_is_refused(tmp_path, monkeypatch):
    contents = {f"data_batch_{n}": batch(2, "labels", 10, n)[2] for n in range(1, 6)}
    contents |= {"test_batch": batch(1, "labels", 10, 6)[2], "batches.meta": b"N."}
    known = {file: hashlib.md5(content).hexdigest() for file, content in contents.items()}
    monkeypatch.setitem(REGISTRY, "ten", replace(REGISTRY["cifar-10"], name="ten", folder="ten", md5=known))
    (tmp_path / "ten").mkdir()
    for file, content in contents.items():
        (tmp_path / "ten" / file).write_bytes(content)
    train = load("ten", tmp_path)
    assert (train.images.shape, train.classes) == ((10, 3, 32, 32), 10)
    assert train.labels.tolist() == [label for n in range(1, 6) for label in batch(2, "labels", 10, n)[1]]
    altered = bytearray(contents["data_batch_5"])
    altered[500] ^= 1
    (tmp_path / "ten/data_batch_5").write_bytes(altered)
    with pytest.raises(DataError, match="data_batch_5: expected MD5"):
        load("ten", tmp_path)
    assert load("ten", tmp_path, "test").labels.shape == (1,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cos\nsystem\n(S'touch opened'\ntR.", r"asks for os\.system"),
        (written([1, 2]), "expected a mapping, found list"),
        (b"\x80\x02}q\x00", "not a batch of images"),
        (written({"data": np.zeros((2, 7), np.uint8), "fine_labels": [0, 1]}), r"shape \(n, 3072\)"),
        (written({"data": np.zeros((2, 3072)), "fine_labels": [0, 1]}), "expected `data` of uint8"),
        (written({"data": np.zeros((2, 3072), np.uint8), "fine_labels": [0]}), "a list `fine_labels` of 2"),
        (written({"data": np.zeros((1, 3072), np.uint8), "fine_labels": [100]}), "classes from 0 to 99"),
    ],
)
def test_even_a_known_file_builds_nothing_but_arrays(tmp_path, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read_batches([content], "batch", labels="fine_labels", classes=100)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "opened").exists()


def test_absent_sets_say_that_they_are_not_fetched(tmp_path, capsys):
    for arguments in (["data", "fetch", "cifar-100"], ["data", "verify", "cifar-100"]):
        assert rankproof.main(arguments) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "only read from your own copy: unpack cifar-100-python.tar.gz" in said
    assert rankproof.main(["data", "list", "cifar-10", "cifar-100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["cifar-10", "missing"], ["cifar-100", "missing"]]
    assert all("cannot be fetched" in line for line in lines)
    folder = tmp_path / "data/cifar-100-python"
    folder.mkdir(parents=True)
    (folder / "train").write_bytes(b"")
    with pytest.raises(DataError, match="lacks test, meta; it cannot be fetched, only read from your own copy"):
        load("cifar-100")


def test_a_root_that_is_named_must_hold_the_set(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKPROOF_DATA", str(tmp_path / "root"))
    with pytest.raises(
        DataError,
        match=r"Tiny is not under .*elsewhere; it cannot be fetched, only read from "
        r"your own copy",
    ):
        fetch("tiny", tmp_path / "elsewhere")


def test_pooling_standardises_every_channel(tiny, tmp_path):
    data = load("tiny", tmp_path / "root")
    for side in (32, 8):
        found = pool(data, side)
        assert found.shape == (7, 3, side, side)
        block = 32 // side
        for channel, (mean, deviation) in enumerate(zip(data.pixel_mean, data.pixel_deviation, strict=True)):
            patch = data.images[3, channel, :block, :block].astype(float).mean() / 255
            assert found[3, channel, 0, 0].item() == pytest.approx((patch - mean) / deviation, abs=1e-12)


def test_a_residual_network_takes_them(tiny, tmp_path):
    data = load("tiny", tmp_path / "root")
    model = resnet(18, data.classes, 0, channels=data.images.shape[1], width=2).eval()
    logits = model(pool(data, 32, torch.float32))
    assert logits.shape == (7, 100)
    assert logits.isfinite().all()


@pytest.mark.parametrize(("name", "each"), [("cifar-10", 5000), ("cifar-100", 500)])
def test_the_genuine_data(name, each, monkeypatch, request):
    monkeypatch.chdir(request.config.rootpath)
    try:
        train, test = load(name), load(name, split="test")
    except DataError as error:
        pytest.skip(str(error))
    assert (train.images.shape, test.images.shape) == ((50000, 3, 32, 32), (10000, 3, 32, 32))
    assert np.bincount(train.labels).tolist() == [each] * train.classes
    for channel in range(3):
        pixels = train.images[:, channel] / 255
        assert round(pixels.mean(), 4) == train.pixel_mean[channel]
        assert round(pixels.std(), 4) == train.pixel_deviation[channel]
