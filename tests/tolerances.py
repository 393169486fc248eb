"""How close numbers must be: the one place that says so. Everything follows from the dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.ir import float_limits, is_inexact
from tenferro.shape import as_dtype


def rounding(*dtypes: Any) -> float:
    """Two ways to compute one thing, in the least exact of the dtypes."""
    return 200 * max([epsilon(dtype) for dtype in dtypes])


def difference(*dtypes: Any) -> float:
    """A derivative against a central difference, which is always taken in double precision."""
    return max(rounding(*dtypes), 1e-6)


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number; 0 for what is not floating-point."""
    dtype = as_dtype(dtype)
    return float(float_limits(dtype).eps) if is_inexact(dtype) else 0.0


def assert_close(actual: Any, expected: Any, tolerance: float, what: str = "") -> None:
    """Equal up to `tolerance` times the largest magnitude, or 1 where that is less."""
    expected = np.asarray(expected)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(
        actual, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what
    )
