"""Batches prepared at once are those prepared image by image, pixel by pixel."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workloads.data.augmentation import FEDLRT_CIFAR_10, FEDLRT_CIFAR_100, Offsets, Preparation, crop
from workloads.data.datasets import REGISTRY


def by_hand(image, top, left, flip, padding):
    """Pad with black, cut a window, mirror: one pixel after the other."""
    channels, height, width = image.shape
    padded = np.zeros((channels, height + 2 * padding, width + 2 * padding))
    padded[:, padding : padding + height, padding : padding + width] = image
    window = padded[:, top : top + height, left : left + width]
    out = np.empty_like(window)
    for column in range(width):
        out[:, :, column] = window[:, :, width - 1 - column if flip else column]
    return out


@given(
    shape=st.tuples(st.integers(1, 4), st.sampled_from([1, 3]), st.integers(1, 6), st.integers(1, 6)),
    padding=st.integers(0, 7),
    flip=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_crops_and_flips_are_those_of_every_image(shape, padding, flip, seed):
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, shape, dtype=np.uint8)
    prepare = Preparation(padding, flip, mean=(0.0,) * shape[1], deviation=(1.0,) * shape[1])
    offsets = prepare.draw(rng, shape[0])
    expected = [
        by_hand(image, int(top), int(left), bool(mirrored), padding)
        for image, top, left, mirrored in zip(images, *offsets, strict=True)
    ]
    torch.testing.assert_close(
        prepare(torch.from_numpy(images), offsets), torch.tensor(np.array(expected) / 255, dtype=torch.float32)
    )


def test_levels_are_normalised_channel_by_channel():
    images = torch.randint(0, 256, (5, 3, 4, 4), dtype=torch.uint8)
    prepared = FEDLRT_CIFAR_10(images)
    for c, (mean, deviation) in enumerate(zip(FEDLRT_CIFAR_10.mean, FEDLRT_CIFAR_10.deviation, strict=True)):
        torch.testing.assert_close(prepared[:, c], (images[:, c] / 255 - mean) / deviation)
    grey = torch.rand(5, 4, 4, dtype=torch.float64)
    one = Preparation(mean=(0.5,), deviation=(0.25,))
    torch.testing.assert_close(one(grey), (grey[:, None] - 0.5) / 0.25)
    assert one(grey).dtype == torch.float64


def test_the_printed_numbers_are_those_of_the_data():
    for name, printed in (("cifar-10", FEDLRT_CIFAR_10), ("cifar-100", FEDLRT_CIFAR_100)):
        for found, stated in ((printed.mean, "pixel_mean"), (printed.deviation, "pixel_deviation")):
            np.testing.assert_allclose(found, getattr(REGISTRY[name], stated), atol=2e-4)
        assert printed.flip
        assert printed.padding == 0


def test_a_test_set_is_only_normalised():
    images = torch.randint(0, 256, (6, 1, 5, 5), dtype=torch.uint8)
    assert torch.equal(Preparation(2, True)(images), Preparation()(images))


def test_what_is_drawn_covers_all_and_depends_on_the_generator_alone():
    prepare = Preparation(padding=2, flip=True)
    offsets = prepare.draw(np.random.default_rng(0), 2000)
    for found in (offsets.top, offsets.left):
        assert found.unique().tolist() == [0, 1, 2, 3, 4]
    assert abs(offsets.flip.double().mean() - 0.5) < 5 * 0.5 / 2000**0.5
    for part, again in zip(offsets, prepare.draw(np.random.default_rng(0), 2000), strict=True):
        assert torch.equal(part, again)
    assert not Preparation(padding=2).draw(np.random.default_rng(0), 50).flip.any()
    assert not Preparation(flip=True).draw(np.random.default_rng(0), 50).top.any()
    assert not Preparation().random


def test_the_middle_crop_is_the_image():
    images = torch.rand(3, 2, 5, 4)
    middle = Offsets(torch.full((3,), 2), torch.full((3,), 2), torch.zeros(3, dtype=torch.bool))
    assert torch.equal(crop(images, middle, 2), images)


def test_batches_of_several_clients_at_once():
    images, prepare = torch.rand(4, 6, 1, 5, 5), Preparation(1, True)
    offsets = [prepare.draw(np.random.default_rng(k), 6) for k in range(4)]
    stacked = Offsets(*(torch.stack(parts) for parts in zip(*offsets, strict=True)))
    expected = torch.stack([prepare(one, own) for one, own in zip(images, offsets, strict=True)])
    assert torch.equal(torch.vmap(prepare)(images, stacked), expected)


def test_it_stays_on_the_device_of_the_batch():
    prepare = Preparation(1, True)
    offsets = prepare.draw(np.random.default_rng(0), 3)
    images = torch.rand(3, 1, 4, 4)
    expected = prepare(images, offsets)
    torch.set_default_device("meta")  # a tensor that is created without a device could hold no values
    try:
        assert torch.equal(prepare(images, offsets), expected)
        assert prepare(torch.empty(3, 1, 4, 4, device="meta"), offsets).device.type == "meta"
    finally:
        torch.set_default_device(None)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="padding must be at least 0, got -1"):
        Preparation(-1)
    with pytest.raises(ValueError, match="one mean and one positive deviation"):
        Preparation(deviation=(0.0,))
    with pytest.raises(ValueError, match="one mean and one positive deviation"):
        Preparation(mean=(0.0, 1.0))
    with pytest.raises(ValueError, match=r"expected images \(n, 1, height, width\), got \(2, 3, 4, 4\)"):
        Preparation()(torch.rand(2, 3, 4, 4))
    with pytest.raises(ValueError, match=r"got \(2, 4\)"):
        Preparation()(torch.rand(2, 4))


def test_nothing_is_done_where_nothing_is_asked():
    images = torch.rand(2, 1, 3, 3)
    plain = Preparation()
    assert not plain.random
    assert torch.equal(plain(images, plain.draw(np.random.default_rng(0), 2)), images)
    assert torch.equal(plain(images[:, 0]), images)
    assert Preparation(flip=True).random
    assert Preparation(padding=1).random
