"""The formulas of `slopes` on NumPy arrays."""

from __future__ import annotations

import numpy as np
from scipy import special

from tenferro.exec_ir import Array
from tenferro.ops import slopes


def dawsn_slope(x: Array) -> Array:
    """The derivative of Dawson's integral."""
    return np.asarray(slopes.dawsn_slope(x, np, special))


def erfcx_slope(x: Array) -> Array:
    """The derivative of exp(x²)·erfc(x)."""
    return np.asarray(slopes.erfcx_slope(x, np, special))


def log_ndtr_slope(x: Array) -> Array:
    """The derivative of the logarithm of the normal distribution function."""
    return np.asarray(slopes.log_ndtr_slope(x, np, special))


def spence_slope(x: Array) -> Array:
    """The derivative of the dilogarithm."""
    return np.asarray(slopes.spence_slope(x, np, special))


def polygamma_difference(n: Array, x: Array, d: Array) -> Array:
    """polygamma(n, x + d) - polygamma(n, x)."""
    return np.asarray(slopes.polygamma_difference(n, x, d, np, special))
