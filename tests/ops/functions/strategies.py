"""Arrays for hypothesis: every dtype, small shapes with zeros and ones in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

DTYPES = ["bool", "int32", "int64", "float32", "float64", "complex64", "complex128"]
REAL = ["int32", "int64", "float32", "float64"]

shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
operand_shapes = npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3).map(
    lambda drawn: drawn.input_shapes
)


def filled(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    """Numbers in ±4, none of them zero, exact in every dtype."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 5, shape) * rng.choice([-1, 1], shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * rng.integers(1, 5, shape)).astype(dtype)
    return (values > 0) if dtype == "bool" else values.astype(dtype)


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[str] = DTYPES) -> np.ndarray[Any, Any]:
    """One array."""
    return filled(draw(shapes), draw(st.sampled_from(dtypes)), draw(st.integers(0, 99)))


@st.composite
def pairs(
    draw: st.DrawFn, dtypes: list[str] = DTYPES
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Two arrays that broadcast against each other."""
    first, second = draw(operand_shapes)
    kinds = st.sampled_from(dtypes)
    return (
        filled(first, draw(kinds), draw(st.integers(0, 99))),
        filled(second, draw(kinds), draw(st.integers(0, 99))),
    )
