"""A sum with a multiple has the bits of the product, rounded, and then the sum, for every type and layout."""

import pytest
import torch

from algorithms.multiples import add_multiple, add_multiple_

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def layouts(dtype, seed):
    """Return tensors of several sizes: transposed, strided, expanded, a scalar, and one with signed zeros."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    zeros = torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0], dtype=dtype) * (1 - 2 * seed)
    return [normal(37, 13), normal(13, 37).T, normal(10, 6)[::2, ::3], normal(1, 4).expand(3, 4), normal(), zeros]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("factor", [-0.3, 0.05, 1.0, 7e-4])
def test_the_product_is_rounded_before_the_sum(dtype, factor):
    a, b = layouts(dtype, 0), layouts(dtype, 1)
    before = [value.clone() for value in (*a, *b)]
    found, written = add_multiple(a, b, factor), [value.clone() for value in a]
    add_multiple_(written, b, factor)
    assert all(map(torch.equal, (*a, *b), before))
    for one, other, new, same in zip(a, b, found, written, strict=True):
        expected = one + other * factor
        assert torch.equal(new, expected)
        assert torch.equal(new.signbit(), expected.signbit())
        assert torch.equal(same, expected)
        assert torch.equal(same.signbit(), expected.signbit())
        assert new.dtype == dtype


def test_every_tensor_keeps_its_type_and_its_place():
    a = [torch.arange(6.0).reshape(2, 3), torch.ones(2, dtype=torch.float64), torch.ones(3, dtype=torch.float16)]
    b = [torch.ones(3, 2).T, torch.full((2,), 0.5), torch.full((3,), 0.25)]
    expected, places = [one + 0.5 * other for one, other in zip(a, b, strict=True)], [one.data_ptr() for one in a]
    expected[2] = expected[2].half()
    add_multiple_(a, b, 0.5)
    for one, value, place in zip(a, expected, places, strict=True):
        assert torch.equal(one, value)
        assert one.dtype == value.dtype
        assert one.data_ptr() == place


def test_a_multiple_may_be_of_the_tensors_themselves():
    a = [torch.tensor([3.0, -2.0])]
    assert torch.equal(add_multiple(a, a, -0.5)[0], torch.tensor([1.5, -1.0]))
    add_multiple_(a, a, -0.5)
    assert torch.equal(a[0], torch.tensor([1.5, -1.0]))
