"""Functions of floating-point numbers."""

import numpy as np

import tenferro as tn


def test_float_power_takes_numbers_that_the_dtype_of_the_array_does_not_have():
    x = np.array([1, 2, 3], "uint8")
    for power in (-2, 300):
        expected = np.float_power(x, power)
        for result in (tn.float_power(x, power), tn.jit(tn.float_power)(x, power)):
            np.testing.assert_allclose(result, expected, rtol=1e-14)
