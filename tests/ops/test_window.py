"""Windows of constant sizes: the types of slices."""

import itertools

import pytest

from tenferro.errors import ShapeError
from tenferro.ops import Slice
from tenferro.shape import TensorMeta


@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_slice_selects_as_many_elements_as_a_range(size: int) -> None:
    x = TensorMeta.of("f64", (size,))
    for start, limit, stride in itertools.product(range(-1, 7), range(-1, 7), range(4)):
        op = Slice((start,), (limit,), (stride,))
        if 0 <= start <= limit <= size and stride:
            assert op.infer(x).dims == (len(range(start, limit, stride)),)
        else:
            with pytest.raises(ShapeError, match="does not lie within axis 0"):
                op.infer(x)
