import math
import struct
import subprocess
import sys

import numpy as np
import pytest

from tenferro.ir import encode
from tenferro.shape import FLOAT32, FLOAT64, dim

VALUES = [
    None,
    False,
    True,
    0,
    1,
    -1,
    2**70,
    0.0,
    -0.0,
    1.0,
    math.inf,
    -math.inf,
    math.nan,
    0j,
    complex(-0.0, 0.0),
    complex(0.0, -0.0),
    1 + 0j,
    complex(math.nan, 1),
    "",
    "1",
    "a",
    b"",
    b"1",
    b"a",
    (),
    (0,),
    (False,),
    ((),),
    ((0,), 0),
    ((0, 0),),
    (0, (0,)),
    dim("n"),
    dim("2*n"),
    "n",
    FLOAT32,
    FLOAT64,
    np.array(0.0),
    np.array(-0.0),
    np.array(0.0, np.float32),
    np.array([0.0]),
    np.array([[0.0]]),
    np.zeros(0),
    np.zeros((0, 2)),
    np.array([False]),
    np.array([0], np.int8),
]


def test_payloads_that_differ_in_type_sign_or_nesting_are_told_apart() -> None:
    assert len({encode(value) for value in VALUES}) == len(VALUES)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_payload_is_equal_to_itself(value: object) -> None:
    assert encode(value) == encode(value)
    assert encode((value,)) != encode(value)


def test_equal_payloads_made_in_different_ways_are_equal() -> None:
    assert encode(float("nan")) == encode(math.nan)
    assert encode(dim("n + m")) == encode(dim("m + n"))
    assert encode(np.arange(6).reshape(2, 3).T) == encode(np.array([[0, 3], [1, 4], [2, 5]]))
    assert encode(np.float64(0.5)) == encode(0.5)


def test_arrays_of_one_content_and_another_shape_differ() -> None:
    assert encode(np.zeros((2, 3))) != encode(np.zeros((3, 2)))


def test_floats_are_told_apart_by_their_bits() -> None:
    next_after_one = struct.unpack("<d", struct.pack("<q", 0x3FF0000000000001))[0]
    assert encode(next_after_one) != encode(1.0)


@pytest.mark.parametrize("value", [[1], {1: 2}, {1}, object(), np.int64(1)], ids=type)
def test_what_a_payload_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=f"payload: an? {type(value).__name__} cannot be part of"):
        encode(value)


def test_bytes_do_not_depend_on_the_process() -> None:
    code = (
        "import numpy as np; from tenferro.ir import encode; from tenferro.shape import dim;"
        "print(encode((1, 'a', 0.5, dim('n*m + k'), np.dtype('f4'), np.arange(3))).hex())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert texts == {encode((1, "a", 0.5, dim("n*m + k"), np.dtype("f4"), np.arange(3))).hex()}
