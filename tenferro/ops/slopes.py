"""First derivatives of functions about the error function and of the dilogarithm.

By the functions themselves where that cancels little, and by asymptotic series far from 0 (NIST
Digital Library of Mathematical Functions, 7.12). Each takes the modules of array and of special
functions: NumPy and SciPy, or others that name functions alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

Modules = Any

FAR = 7.0
"""From here on the asymptotic series of `dawsn` and `erfcx` serve."""
_TERMS = 28
DAWSN_SERIES = tuple(math.prod(range(1, 2 * k, 2)) / 2 ** (k + 1) for k in range(_TERMS))
"""Dawson's integral is the sum of cₖ·x^(-2k-1)."""
ERFCX_SERIES = tuple((-1) ** k * 2 * c / math.sqrt(math.pi) for k, c in enumerate(DAWSN_SERIES))
"""exp(x²)·erfc(x) is the sum of cₖ·x^(-2k-1), for positive x."""
LOG_NDTR_FAR = 9.0
"""From minus this on, to the left, the asymptotic series of `log_ndtr` serves."""


def _log_series(series: Sequence[int]) -> list[Fraction]:
    """The coefficients of log(1 + Σ sₖ·uᵏ), k from 1: l′·s = s′."""
    logs: list[Fraction] = []
    for n, coefficient in enumerate(series, 1):
        known = sum(k * logs[k - 1] * series[n - k - 1] for k in range(1, n))
        logs.append(coefficient - Fraction(known) / n)
    return logs


LOG_NDTR_SERIES = tuple(
    float(c) for c in _log_series([(-1) ** k * math.prod(range(1, 2 * k, 2)) for k in range(1, 30)])
)
"""log_ndtr(x) is -x²/2 - log(-x·√2π) plus the sum of cₖ·x^(-2k) from k = 1."""


def dawsn_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """1 - 2x·dawsn(x)."""
    far = abs(x) >= FAR
    series = [-(2 * k + 1) * c for k, c in enumerate(DAWSN_SERIES)]
    return xp.where(far, _squares(x, far, series, xp), 1 - 2 * x * special.dawsn(x))


def erfcx_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """2x·erfcx(x) - 2/√π."""
    far = x >= FAR
    series = [-(2 * k + 1) * c for k, c in enumerate(ERFCX_SERIES)]
    near = 2 * x * special.erfcx(x) - 2 / math.sqrt(math.pi)
    return xp.where(far, _squares(x, far, series, xp), near)


def log_ndtr_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """The density over the probability; where both vanish, as the inverse of Mills' ratio."""
    below, above = xp.where(x > 0, 0, x), xp.where(x < 0, 0, x)
    left = 1 / special.erfcx(below * -math.sqrt(0.5))
    right = xp.exp(above * above * -0.5) / special.erfc(above * -math.sqrt(0.5))
    return xp.where(x > 0, right, left) * math.sqrt(2 / math.pi)


def spence_slope(x: Any, xp: Modules, special: Modules) -> Any:
    """log(x)/(1 - x), and -1 at 1."""
    one = x == 1
    away = xp.where(one, 2, x)
    near = abs(away - 1) < 0.5
    log = xp.where(near, xp.log1p(xp.where(near, away - 1, 0)), xp.log(away))
    return xp.where(one, -1, log / (1 - away))


def _squares(x: Any, far: Any, coefficients: Sequence[float], xp: Modules) -> Any:
    """The sum of cₖ·x^(-2k-2), where `far`."""
    inverse = 1 / xp.where(far, x, FAR)
    square = inverse * inverse
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * square + coefficient
    return total * square


SLOPES: dict[str, Callable[..., Any]] = {
    slope.__name__: slope
    for slope in (
        dawsn_slope,
        erfcx_slope,
        log_ndtr_slope,
        spence_slope,
    )
}
"""By name: from the operands, and the modules of array and of special functions."""
