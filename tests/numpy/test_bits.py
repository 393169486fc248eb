"""Functions of integers."""

import numpy as np
import pytest

import tenferro as tn


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_a_traced_number_takes_part_with_all_its_digits(name):
    x = np.array([1, 100, 200], "uint8")
    for number in (300, 512):
        expected = getattr(np, name)(x.astype("int64"), number).astype("uint8")
        for f in (lambda x, n: getattr(tn, name)(x, n), lambda x, n: getattr(tn, name)(n, x)):
            result = tn.jit(f)(x, number)
            assert result.dtype == "uint8"
            np.testing.assert_array_equal(result, expected)
