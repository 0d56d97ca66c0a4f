"""A user's folder of images with a subfolder for each class, as in torchvision's `ImageFolder`.

Two layouts are read:

    ROOT/train/cat/1.png   ROOT/test/cat/2.png     training and test images (without `test`, `val` is used)
    ROOT/cat/1.png         ROOT/dog/2.png          every fifth image of a class, drawn once, becomes a test image

The content of a folder decides, because a class may have the name `train`, too: a split holds class folders, and a
class holds images. A folder that can be read in both ways is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.data.datasets import ImageSet
from workloads.data.idx import DataError
from workloads.files import with_home
from workloads.progress import report_progress

ENDINGS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""Endings of files that are images; other files are left out, as torchvision does."""
TRAINS = ("train", "training")
"""Names of the folder of training images, in upper or lower case."""
TESTS = ("test", "testing", "val", "valid", "validation")
"""Names of the folder of test images, the first that is there, in upper or lower case."""
TEST_SHARE = 0.2
"""Share of each class that becomes test images where no folder holds them."""
GREY, COLOUR = "L", "RGB"

Files = Mapping[str, list[Path]]
"""Image files by class."""


def is_folder(name: str) -> bool:
    """Return whether a name of data is a path, not the name of a data set or of a function."""
    if Path(name).is_dir():
        return True
    return ":" not in name and ("/" in name or "\\" in name or name == "~")


def read_folder(folder: str | Path, side: int | None = None) -> tuple[ImageSet, ImageSet]:
    """Read the training and test images of a folder.

    Args:
        folder: The folder, in one of the two layouts.
        side: Height and width to which the central square of each image is resized. None keeps the images, which then
            must have one size.

    Returns:
        Training and test images with one numbering of the classes, which is that of their sorted names.

    Raises:
        DataError: The folder holds no images by class, an image cannot be read, or the images differ in size.
    """
    root = with_home(folder)
    train, test = _splits(root)
    classes = sorted(train)
    if unknown := sorted(set(test) - set(train)):
        raise DataError(f"{root}: the test images have a class {unknown[0]!r} that no training image has; add some")
    mode = GREY if all(_mode(path) == GREY for files in (train, test) for path in _paths(files)) else COLOUR
    shapes: dict[tuple[int, ...], Path] = {}
    sets = []
    total = sum(len(paths) for files in (train, test) for paths in files.values())
    with report_progress("reading", total, "image") as bar:
        for split, files in (("train", train), ("test", test)):
            images = []
            for path in _paths(files):
                images.append(_read(path, mode, side))
                shapes.setdefault(images[-1].shape[-2:], path)
                if len(shapes) > 1:
                    (one, path), (other, another) = shapes.items()
                    raise DataError(
                        f"{root}: {path.name} has {one[0]} x {one[1]} pixels, {another.name} {other[0]} x {other[1]}; "
                        "give --side N to bring all images to one size"
                    )
                bar.advance()
            labels = [classes.index(name) for name, paths in files.items() for _ in paths]
            sets.append((split, np.stack(images), np.array(labels, dtype=np.int64)))
    mean, deviation = _levels(sets[0][1])
    first, second = (
        ImageSet(root.resolve().name, images, labels, split, root, mean, deviation, len(classes))
        for split, images, labels in sets
    )
    return first, second


def _splits(root: Path) -> tuple[Files, Files]:
    """Find the files of the training and test images.

    Raises:
        DataError: A split or a class is missing, or the folder can be read in both layouts.
    """
    if not root.is_dir():
        raise DataError(f"the folder {root} does not exist; name one that holds a subfolder of images for each class")
    trains, tests = _subfolders_named(root, TRAINS), _subfolders_named(root, TESTS)
    split_like = [path for path in (*trains, *tests) if not _holds_images(path)]
    class_like = [path for path in (*trains, *tests) if path not in split_like]
    if not split_like:
        if class_like and len(class_like) == len(_folders(root)):
            raise DataError(
                f"{class_like[0]} has the name of a split and holds images without class folders; sort them into "
                f"class folders such as {class_like[0]}/cat, or rename it if it is a class"
            )
        return _divide(_by_class(root))
    if empty := next((path for path in tests[:1] if not _images(path)), None):
        raise _without_images(empty)
    one = split_like[0]
    if not trains or not tests:
        lack, kind = (TESTS[0], "test") if trains else (TRAINS[0], "training")
        raise DataError(
            f"{root} has a folder {one.name} but no folder {lack}; add one with the {kind} images by class, or put "
            f"images directly into {one} if it is a class"
        )
    if empty := next((path for path in trains if not _images(path)), None):
        raise _without_images(empty)
    if unlike := [path for path in (*trains, tests[0]) if path in class_like]:
        raise DataError(
            f"{one} holds class folders, as a split does, and {unlike[0]} holds images, as a class does; sort the "
            "images into class folders, or rename the wrong one"
        )
    if len(trains) > 1:
        raise DataError(f"{root} has two folders of training images, {trains[0].name} and {trains[1].name}; keep one")
    train, test = _by_class(trains[0]), _by_class(tests[0])
    twice = [path for path in _folders(root) if path.name in train and path not in split_like]
    if twice and _images(twice[0]):
        raise DataError(f"{root} has the class {twice[0].name!r} both in {trains[0].name} and next to it; keep one")
    return train, test


def _subfolders_named(root: Path, names: Sequence[str]) -> list[Path]:
    """Return the subfolders with one of the names, in the order of the names."""
    found = [path for path in _folders(root) if path.name.lower() in names]
    return sorted(found, key=lambda path: names.index(path.name.lower()))


def _folders(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.is_dir() and not path.name.startswith("."))


def _images(folder: Path) -> list[Path]:
    """Return image files in a folder and below, sorted."""
    return sorted(path for path in _below(folder) if _is_image(path))


def _below(folder: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Yield what is in a folder and below, through links as well, except those that lead back to a folder above."""
    place = folder.resolve()
    for path in () if place in above else folder.iterdir():
        yield path
        if path.is_dir():
            yield from _below(path, (*above, place))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and path.is_file()


def _subfolder_with_images(folder: Path) -> Path | None:
    return next((path for path in _folders(folder) if any(map(_is_image, _below(path)))), None)


def _holds_images(folder: Path) -> bool:
    """Return whether a folder with the name of a split holds images like a class, without class folders.

    Raises:
        DataError: It holds both.
    """
    if not any(map(_is_image, folder.iterdir())):
        return False
    if inner := _subfolder_with_images(folder):
        raise DataError(
            f"{folder} holds images, as a class does, and the folder {inner.name}, as a split does; keep one of the two"
        )
    return True


def _without_images(folder: Path) -> DataError:
    return DataError(f"{folder} contains no images ({', '.join(ENDINGS)}); remove the folder or fill it")


def _by_class(place: Path) -> Files:
    """Return image files below each subfolder, sorted by name."""
    found: dict[str, list[Path]] = {}
    for folder in _folders(place):
        found[folder.name] = _images(folder)
        if not found[folder.name]:
            raise _without_images(folder)
        inner = [path.name for names in (TRAINS, TESTS) for path in _subfolders_named(folder, names)[:1]]
        if len(inner) == 2:
            raise DataError(
                f"{folder} holds the folders {inner[0]} and {inner[1]}, like a data set; name that folder, or "
                f"move these two above the classes, as in {place}/{inner[0]}/{folder.name}"
            )
    if len(found) < 2:
        raise DataError(
            f"{place} must hold a subfolder of images for each of at least 2 classes, found {len(found)}; "
            f"for example {place}/cat/1.png and {place}/dog/1.png"
        )
    return found


def _divide(files: Files) -> tuple[Files, Files]:
    """Draw the test images of each class, the same in every run, and leave at least one training image."""
    rng = np.random.default_rng(0)
    train: dict[str, list[Path]] = {}
    test: dict[str, list[Path]] = {}
    for name, paths in files.items():
        size = min(max(1, round(TEST_SHARE * len(paths))), len(paths) - 1)
        drawn = set(rng.permutation(len(paths))[:size].tolist())
        train[name] = [path for place, path in enumerate(paths) if place not in drawn]
        if drawn:
            test[name] = [path for place, path in enumerate(paths) if place in drawn]
    if not test:
        raise DataError("every class has a single image, so none is left for testing; add images")
    return train, test


def _paths(files: Files) -> Iterator[Path]:
    for paths in files.values():
        yield from paths


def _mode(path: Path) -> str:
    with _open_image(path) as image:
        return GREY if image.mode in ("1", GREY) else COLOUR


def _read(path: Path, mode: str, side: int | None) -> NDArray[np.uint8]:
    """Return pixels of an image, (height, width) or (3, height, width)."""
    from PIL import Image

    with _open_image(path) as image:
        try:
            pixels = image.convert(mode)
        except Exception as error:  # what a decoder says of a broken file
            raise _unreadable(path, error) from error
    if side is not None:
        square = min(pixels.size)
        left, top = ((length - square) // 2 for length in pixels.size)
        smoothing = Image.Resampling.BOX if side <= square else Image.Resampling.BILINEAR
        pixels = pixels.crop((left, top, left + square, top + square)).resize((side, side), smoothing)
    values = np.asarray(pixels, dtype=np.uint8)
    return values if mode == GREY else np.ascontiguousarray(values.transpose(2, 0, 1))


def _open_image(path: Path) -> Any:
    """Open an image with Pillow, which is imported where it is needed.

    Raises:
        DataError: It is not an image, or has more than 8 bits a pixel, which conversion would clip.
    """
    from PIL import Image

    try:
        image = Image.open(path)
    except Exception as error:
        raise _unreadable(path, error) from error
    if image.mode.startswith(("I", "F")):
        image.close()
        raise DataError(f"{path} has more than 8 bits a pixel ({image.mode}); convert it to 8 bits")
    return image


def _unreadable(path: Path, error: Exception) -> DataError:
    reason = " ".join(str(error).split()).replace(str(path), path.name)
    return DataError(f"{path} cannot be read as an image ({type(error).__name__}: {reason}); replace or remove it")


def _levels(images: NDArray[np.uint8]) -> tuple[float | tuple[float, ...], float | tuple[float, ...]]:
    """Return the mean and standard deviation of each colour, in units of 255; a constant colour has deviation 1."""
    channels = images[:, None] if images.ndim == 3 else images
    means, deviations = [], []
    for channel in range(channels.shape[1]):
        counts = np.bincount(channels[:, channel].ravel(), minlength=256) / channels[:, channel].size
        levels = np.arange(256) / 255
        mean = float(counts @ levels)
        means.append(mean)
        deviations.append(float(counts @ (levels - mean) ** 2) ** 0.5 or 1.0)
    return (means[0], deviations[0]) if images.ndim == 3 else (tuple(means), tuple(deviations))
