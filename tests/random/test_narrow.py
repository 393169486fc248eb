"""Where the default float is float32, numbers without a dtype are those of JAX in 32-bit mode."""

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tests.random.calls import CALLS


def narrow(value: Any) -> Any:
    is_wide = isinstance(value, np.ndarray) and value.dtype == np.float64
    return value.astype("float32") if is_wide else value


USUAL = ("bits", "choice again", "rademacher", "randint")
ALL = [
    name if name in USUAL else pytest.param(name, marks=pytest.mark.exhaustive)
    for name in (*CALLS, "choice again")
]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", ALL)
def test_numbers_without_a_dtype_are_those_of_jax(name: str) -> None:
    operands = (9, (40,)) if name == "choice again" else tuple(map(narrow, CALLS[name]))
    name = name.split()[0]
    with tn.config.using(promotion="jax", default_float="float32"):
        drawn = getattr(tn.random, name)(tn.random.key(42), *operands)
    with jax.enable_x64(False):
        expected = getattr(jax.random, name)(jax.random.key(42), *operands)
        assert drawn.dtype.kind == expected.dtype.kind
        if name not in ("permutation", "choice", "categorical"):
            assert drawn.dtype == expected.dtype
        if name == "multinomial":
            return  # a rounding of float32 decides which draws are rejected
        np.testing.assert_allclose(drawn.numpy(), np.asarray(expected), rtol=2e-4, atol=1e-6)
