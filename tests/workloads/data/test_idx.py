"""The IDX parser takes whole files only."""

import numpy as np
import pytest

from workloads.data.idx import DataError, pack, parse


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 5)])
def test_parse_undoes_pack(shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    found = parse(pack(array))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, array)


def test_header_is_the_published_one():
    assert pack(np.zeros((1, 2), np.uint8)).hex() == "00000802" + "00000001" + "00000002" + "0000"


WHOLE = pack(np.zeros((2, 3), np.uint8))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found 0 bytes"),
        (b"\x1f\x8b" + WHOLE, "starts with 1f8b0000"),
        (b"\0\0\x08\0", "starts with 00000800"),
        (b"\0\0\x0d" + WHOLE[3:], "0x0d"),
        (WHOLE[:10], "expected 2 dimensions in 12 bytes, found 10"),
        (WHOLE[:-1], r"expected 18 bytes for shape \(2, 3\), found 17"),
        (WHOLE + b"\0", "found 19"),
        (b"\0\0\x08\x02" + b"\xff" * 8, "expected 18446744065119617037 bytes"),
        (b"\0\0\x08\x01" + b"\0" * 4, r"shape \(0,\)"),
    ],
)
def test_damage_is_one_clear_line(content, message):
    with pytest.raises(DataError, match=message) as caught:
        parse(content, "digits")
    assert str(caught.value).startswith("digits: ")
    assert "\n" not in str(caught.value)


def test_pack_takes_uint8_only():
    with pytest.raises(DataError, match="float64"):
        pack(np.zeros(3))
