"""A folder of images by class: which files are read, how they are divided and resized, and what is refused."""

import numpy as np
import pytest
from PIL import Image

from workloads.data.datasets import DataError
from workloads.data.image_folder import is_folder, read_folder


def write(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels, dtype=np.uint8)).save(path)


def grey(level, shape=(4, 4)):
    return np.full(shape, level)


@pytest.fixture
def animals(tmp_path):
    """Three classes of unequal size; every image has one level of its own."""
    for place, (name, count) in enumerate({"cat": 10, "dog": 5, "eel": 1}.items()):
        for number in range(count):
            write(tmp_path / name / f"{number}.png", grey(20 * place + number))
    return tmp_path


def test_every_fifth_image_of_a_class_becomes_a_test_image(animals):
    train, test = read_folder(animals)
    assert train.classes == test.classes == 3
    assert np.bincount(train.labels).tolist() == [8, 4, 1]
    assert np.bincount(test.labels, minlength=3).tolist() == [2, 1, 0]
    levels = np.concatenate([train.images[:, 0, 0], test.images[:, 0, 0]])
    assert sorted(levels) == [*range(10), *range(20, 25), 40]
    for split in (train, test):
        assert (split.images[:, 0, 0] // 20 == split.labels).all()


def test_the_division_is_the_same_in_every_reading(animals):
    for one, other in zip(read_folder(animals), read_folder(str(animals)), strict=True):
        assert (one.images == other.images).all()
        assert (one.labels == other.labels).all()


@pytest.mark.parametrize("name", ["test", "val", "valid", "validation"])
def test_folders_of_training_and_test_images_share_one_numbering(tmp_path, name):
    for folder, classes in (("train", ("a", "b", "c")), (name, ("c", "b"))):
        for place, of in enumerate(classes):
            write(tmp_path / folder / of / "deep" / "1.png", grey(10 * place))
    train, test = read_folder(tmp_path)
    assert train.labels.tolist() == [0, 1, 2]
    assert test.labels.tolist() == [1, 2]
    assert train.images[:, 0, 0].tolist() == [0, 10, 20]
    assert test.images[:, 0, 0].tolist() == [10, 0]


def test_colours_come_first_and_one_coloured_image_makes_all_coloured(animals):
    pixels = np.zeros((4, 4, 3))
    pixels[..., 1] = 200
    write(animals / "eel" / "0.png", pixels)
    train, _ = read_folder(animals)
    assert train.images.shape == (13, 3, 4, 4)
    assert train.images[-1, :, 0, 0].tolist() == [0, 200, 0]
    colours = train.images.transpose(1, 0, 2, 3).reshape(3, -1) / 255
    assert train.pixel_mean == pytest.approx(colours.mean(axis=1))
    assert train.pixel_deviation == pytest.approx(colours.std(axis=1))


@pytest.mark.parametrize("coloured", [("train", "a"), ("test", "b"), None])
def test_a_coloured_image_of_either_split_makes_both_coloured(tmp_path, coloured):
    for split in ("train", "test"):
        for name in "ab":
            level = grey(7, (4, 4, 3)) if (split, name) == coloured else grey(7)
            write(tmp_path / split / name / "1.png", level)
    for found in read_folder(tmp_path):
        assert found.images.shape == ((2, 4, 4) if coloured is None else (2, 3, 4, 4))


def test_side_averages_the_central_square(tmp_path):
    pixels = np.zeros((4, 10))
    pixels[:, 3:5], pixels[:, 5:7], pixels[:, :3], pixels[:, 7:] = 40, 80, 255, 255
    write(tmp_path / "a" / "1.png", pixels)
    write(tmp_path / "a" / "2.bmp", pixels.T)
    write(tmp_path / "b" / "1.pgm", grey(7, (2, 3)))
    train, test = read_folder(tmp_path, side=2)
    for image in (*train.images[train.labels == 0], *test.images):
        assert sorted(image.ravel().tolist()) == [40, 40, 80, 80]
    assert train.images[train.labels == 1].tolist() == [[[7, 7], [7, 7]]]


def test_files_that_are_no_images_are_left_out(animals):
    (animals / "cat" / "Thumbs.db").write_bytes(b"no image")
    (animals / "cat" / "notes.txt").write_text("no image")
    (animals / ".cache").mkdir()
    (animals / "labels.csv").write_text("no class")
    assert len(read_folder(animals)[0].images) == 13


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: write(p / "dog" / "0.png", grey(1, (5, 4))), "4 x 4 pixels, 0.png 5 x 4; give --side N"),
        (lambda p: (p / "dog" / "x.png").write_bytes(b"no image"), "x.png cannot be read as an image"),
        (lambda p: (p / "fox").mkdir(), "fox contains no images"),
        (lambda p: Image.fromarray(np.ones((4, 4), np.uint16)).save(p / "dog" / "y.png"), "more than 8 bits"),
        (lambda p: (p / "train").mkdir(), "has a folder train but no folder test"),
    ],
)
def test_a_folder_that_cannot_be_read_is_one_line(animals, spoil, message):
    spoil(animals)
    with pytest.raises(DataError, match=message) as error:
        read_folder(animals)
    assert "\n" not in str(error.value)


DEEP = {
    "grey.png": np.full((4, 4), 40000, np.uint16),
    "grey.pgm": np.full((4, 4), 300, np.uint16),
    "whole.tif": np.full((4, 4), 70000, np.int32),
    "real.tif": np.full((4, 4), 0.5, np.float32),
}


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("first", ["a", "c"])
def test_deep_images_among_colours_are_refused_wherever_they_are(tmp_path, name, split, first):
    """Colour images sort before and after the deep one, which conversion would make all white or black."""
    for place in ("train", "test"):
        write(tmp_path / place / "a" / "1.png", np.full((4, 4, 3) if first == "a" else (4, 4), 9))
        write(tmp_path / place / "b" / "1.png", grey(9))
        write(tmp_path / place / "c" / "1.png", np.full((4, 4, 3), 9))
    Image.fromarray(DEEP[name]).save(tmp_path / split / "b" / name)
    with pytest.raises(DataError, match=rf"{split}/b/{name} has more than 8 bits a pixel .*; convert it to 8 bits"):
        read_folder(tmp_path)


def test_every_form_of_8_bits_becomes_its_colour(tmp_path):
    """Transparency is left out, as torchvision does."""
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([0, 0, 0, 200, 10, 30] + [0] * 750)
    forms = {
        "1.png": (Image.new("1", (4, 4), 1), (255, 255, 255)),
        "2.png": (Image.new("L", (4, 4), 80), (80, 80, 80)),
        "3.png": (Image.new("LA", (4, 4), (80, 0)), (80, 80, 80)),
        "4.png": (Image.new("RGBA", (4, 4), (80, 10, 30, 0)), (80, 10, 30)),
        "5.png": (palette, (200, 10, 30)),
        "6.tif": (Image.new("CMYK", (4, 4), (255, 0, 0, 0)), (0, 255, 255)),
    }
    for split in ("train", "test"):
        write(tmp_path / split / "b" / "1.png", grey(7))
        (tmp_path / split / "a").mkdir()
        for name, (image, _) in forms.items():
            image.save(tmp_path / split / "a" / name, **({"transparency": 1} if image.mode == "P" else {}))
    for images in read_folder(tmp_path):
        assert [tuple(image[:, 0, 0]) for image in images.images] == [*(right for _, right in forms.values()), (7,) * 3]


def test_a_broken_image_is_named(animals):
    whole = (animals / "dog" / "3.png").read_bytes()
    (animals / "dog" / "3.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"3\.png cannot be read as an image"):
        read_folder(animals)


def test_a_class_without_training_images_is_named(tmp_path):
    for path in ("train/a/1.png", "train/b/1.png", "test/a/2.png", "test/c/2.png"):
        write(tmp_path / path, grey(1))
    with pytest.raises(DataError, match="class 'c' that no training image has"):
        read_folder(tmp_path)


def lay(root, *paths):
    """Write an image of its own level at each path."""
    for level, path in enumerate(paths):
        write(root / path, grey(level))


@pytest.mark.parametrize(
    "classes",
    [
        ("bus", "car", "train"),
        ("exam", "test", "train"),
        ("Train", "tram"),
        ("invalid", "valid"),
        ("test", "train", "training", "x"),
        ("a", "testing"),
    ],
)
def test_a_class_may_have_the_name_of_a_split(tmp_path, classes):
    lay(tmp_path, *(f"{name}/{number}.png" for name in classes for number in range(2)))
    train, test = read_folder(tmp_path)
    assert train.classes == len(classes)
    for split in (train, test):
        assert split.labels.tolist() == [*range(len(classes))]
        assert (split.images[:, 0, 0] // 2).tolist() == [*range(len(classes))]


@pytest.mark.parametrize(
    ("train_name", "test_name"), [("train", "test"), ("Train", "Test"), ("training", "testing"), ("TRAINING", "Val")]
)
def test_splits_may_hold_classes_with_names_of_splits(tmp_path, train_name, test_name):
    lay(tmp_path, f"{train_name}/car/1.png", f"{train_name}/train/1.png", f"{test_name}/car/1.png")
    lay(tmp_path, f"{test_name}/train/deep/1.png", "unlabelled/1.png", "valid/1.png")
    train, test = read_folder(tmp_path)
    assert train.labels.tolist() == test.labels.tolist() == [0, 1]
    assert len(train.images) == 2


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (("bus/1.png", "car/1.png", "train/fast/1.png"), "folder train but no folder test; .* if it is a class"),
        (("cat/1.png", "dog/1.png", "test/cat/1.png", "test/dog/1.png"), "folder test but no folder train; add"),
        (("test/cat/1.png", "test/dog/1.png", "val/cat/1.png", "val/dog/1.png"), "folder test but no folder train"),
        (("train/1.png", "test/2.png"), "train has the name of a split and holds images without class folders"),
        (("Training/1.png", "Validation/2.png"), "Training has the name of a split"),
        (("train/cat/1.png", "train/dog/1.png", "test/1.png"), "train holds class folders.*test holds images"),
        (("train/1.png", "bus/1.png", "test/bus/1.png"), "test holds class folders.*train holds images"),
        (("train/1.png", "train/cat/1.png", "test/cat/2.png"), "train holds images.* and the folder cat"),
        (("train/cat/1.png", "train/dog/1.png", "val/x.png", "val/dog/2.png"), "val holds images.* the folder dog"),
        (("train/a/1.png", "training/a/1.png", "test/a/1.png"), "two folders of training images, train and training"),
        (("cat/train/1.png", "cat/test/1.png", "dog/1.png"), "cat holds the folders train and test.*train/cat"),
        (("all/train/a/1.png", "all/train/b/1.png", "all/val/a/1.png"), "all holds the folders train and val"),
        (("train/a/1.png", "train/b/1.png", "test/a/1.png", "test/b/1.png", "a/1.png"), "class 'a' both in train and"),
    ],
)
def test_a_folder_with_two_meanings_is_refused_in_one_line(tmp_path, paths, message):
    lay(tmp_path, *paths)
    with pytest.raises(DataError, match=message) as error:
        read_folder(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("empty", ["train", "test", "train/c", "test/b"])
def test_an_empty_split_or_class_is_named(tmp_path, empty):
    lay(tmp_path, *(f"{split}/{name}/1.png" for split in ("train", "test") for name in "ab"))
    for path in sorted((tmp_path / empty).rglob("*.png")):
        path.unlink()
    (tmp_path / empty).mkdir(exist_ok=True)
    with pytest.raises(DataError, match=rf"{empty} contains no images \("):
        read_folder(tmp_path)


def test_a_missing_folder_and_a_single_class_say_what_is_expected(tmp_path):
    with pytest.raises(DataError, match=r"the folder .* does not exist"):
        read_folder(tmp_path / "none")
    write(tmp_path / "cat" / "1.png", grey(1))
    with pytest.raises(DataError, match="at least 2 classes, found 1"):
        read_folder(tmp_path)
    write(tmp_path / "dog" / "1.png", grey(1))
    with pytest.raises(DataError, match="none is left for testing"):
        read_folder(tmp_path)


def test_paths_are_told_from_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    (tmp_path / "a:b").mkdir()
    assert all(map(is_folder, ("photos", "./none", "../x", ".", "/data/x", "a:b", "~")))
    assert not any(map(is_folder, ("mnist", "my.module:data", "none", "pkg/mod:function")))


def test_images_behind_links_are_read_and_a_link_back_is_not_followed(animals, tmp_path_factory):
    place = tmp_path_factory.mktemp("elsewhere")
    for number in range(9):
        write(place / "deep" / f"{number}.png", grey(200 + number))
    (animals / "eel" / "more").symlink_to(place)
    (place / "deep" / "back").symlink_to(place)
    (animals / "cat" / "up").symlink_to(animals / "cat")
    train, test = read_folder(animals)
    assert np.bincount(train.labels).tolist() == [8, 4, 8]
    assert np.bincount(test.labels).tolist() == [2, 1, 2]
