"""Special functions of complex numbers, and the spherical harmonics: formulas of array functions.

Sources: Weideman, "Computation of the complex error function", SIAM J. Numer. Anal. 31 (1994);
Abramowitz, Stegun, "Handbook of Mathematical Functions", 6.1 and 7.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro import numpy as tn

__all__ = ["complementary_error", "error_function", "faddeeva", "harmonic", "log_gamma"]


# The gamma function.

_SHIFT = 11
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)


def log_gamma(z: Any) -> Any:
    """The logarithm of the gamma function, continuous but on the negative real axis."""
    dtype = z.dtype
    z = z.astype("complex128")
    left = z.real < 0.5
    near = tn.where(left, 1 - z, z)
    value = _right_half(near)
    upper = tn.where(z.imag < 0, z.conj(), z)  # sin is even in this sense
    part = upper.real - tn.round(upper.real)
    turn = tn.exp(2j * math.pi * (part + 1j * upper.imag))
    small = tn.abs(turn - 1) < 0.5
    exact = -_expm1(2j * math.pi * (part + 1j * upper.imag))
    log_sine = -1j * math.pi * upper + 1j * math.pi / 2 - math.log(2)
    log_sine = log_sine + tn.log(tn.where(small, exact, 1 - turn))
    log_sine = tn.where(z.imag < 0, log_sine.conj(), log_sine)
    return tn.where(left, math.log(math.pi) - log_sine - value, value).astype(dtype)


def _expm1(z: Any) -> Any:
    """exp(z) − 1, exact near 0."""
    half = tn.sin(z.imag / 2)
    grown = tn.expm1(z.real)
    return (grown * tn.cos(z.imag) - 2 * half * half) + 1j * (grown + 1) * tn.sin(z.imag)


def _right_half(z: Any) -> Any:
    """By Stirling's series, after steps to the right."""
    steps: Any = 0.0
    for k in range(_SHIFT):
        steps = steps + tn.log(z + k)
    far = z + _SHIFT
    inverse = 1 / far
    square = inverse * inverse
    series: Any = 0.0
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    body = (far - 0.5) * tn.log(far) - far + math.log(2 * math.pi) / 2
    return body + series * inverse - steps


# The error function.

_SIZE = 40
_LENGTH = math.sqrt(_SIZE / math.sqrt(2))


def _weideman() -> list[float]:
    """The coefficients of a rational function, the highest power first."""
    count = 2 * _SIZE
    angles = np.arange(1 - count, count) * math.pi / count
    nodes = _LENGTH * np.tan(angles / 2)
    values = np.exp(-(nodes**2)) * (_LENGTH**2 + nodes**2)
    spectrum = np.fft.fft(np.fft.fftshift(np.concatenate([[0.0], values]))).real / (2 * count)
    return spectrum[1 : _SIZE + 1][::-1].tolist()  # type: ignore[no-any-return]


_COEFFICIENTS = _weideman()


def faddeeva(z: Any) -> Any:
    """exp(−z²)·erfc(−iz)."""
    dtype = z.dtype
    z = z.astype("complex128")
    below = z.imag < 0
    upper = tn.where(below, -z, z)
    distant = tn.abs(upper) > 12.0
    close = tn.where(distant, 1j, upper)
    value = tn.where(distant, _fraction(tn.where(distant, upper, 12j)), _rational(close))
    growth = tn.where(below, -z * z, 0.0)
    return tn.where(below, 2 * tn.exp(growth) - value, value).astype(dtype)


def complementary_error(z: Any) -> Any:
    """erfc(z)."""
    left = z.real < 0
    right = tn.where(left, -z, z)
    value = tn.exp(-right * right) * faddeeva(1j * right)
    return tn.where(left, 2 - value, value)


def error_function(z: Any) -> Any:
    """erf(z), by its power series near 0."""
    near = tn.abs(z) < 1
    small = tn.where(near, z, 0)
    square, total = -small * small, tn.zeros_like(z)
    for k in range(20, -1, -1):
        total = total * square + 1 / (math.factorial(k) * (2 * k + 1))
    left = z.real < 0
    right = tn.where(near, 1, tn.where(left, -z, z))
    away = 1 - complementary_error(right)
    return tn.where(near, 2 / math.sqrt(math.pi) * small * total, tn.where(left, -away, away))


def _rational(z: Any) -> Any:
    """Near the origin of the upper half plane."""
    divisor = _LENGTH - 1j * z
    place = (_LENGTH + 1j * z) / divisor
    total: Any = 0.0
    for coefficient in _COEFFICIENTS:
        total = total * place + coefficient
    return 2 * total / (divisor * divisor) + (1 / math.sqrt(math.pi)) / divisor


def _fraction(z: Any) -> Any:
    """Far away, a continued fraction."""
    total: Any = 0.0
    for k in range(12, 0, -1):
        total = (k / 2) / (z - total)
    return (1j / math.sqrt(math.pi)) / (z - total)


# Spherical harmonics.


def harmonic(n: Any, m: Any, theta: Any, phi: Any, largest: int) -> Any:
    """The normalized harmonic of degree n up to a largest one, and of order m."""
    x, side = tn.cos(theta), tn.sin(theta)
    side = tn.where(side < 0, -side, side)  # √(1 − x²), as in SciPy, with a derivative at 0
    order = tn.abs(m)
    total: Any = tn.zeros(tn.broadcast_shapes(n.shape, m.shape, x.shape), dtype=x.dtype)
    diagonal: Any = tn.full(x.shape, math.sqrt(1 / (4 * math.pi)), dtype=x.dtype)
    for k in range(largest + 1):
        if k:
            diagonal = diagonal * side * -math.sqrt((2 * k + 1) / (2 * k))
        before, value = tn.zeros_like(diagonal), diagonal
        for degree in range(k, largest + 1):
            total = tn.where((order == k) & (n == degree), value, total)
            up = degree + 1
            scale = math.sqrt((4 * up * up - 1) / (up * up - k * k))
            less = math.sqrt((degree * degree - k * k) / (4 * degree * degree - 1))
            before, value = value, scale * (x * value - less * before)
    signs = tn.where((m < 0) & (order % 2 == 1), -1.0, 1.0)
    angle = m * phi
    return (total * signs).astype(x.dtype) * (tn.cos(angle) + 1j * tn.sin(angle))
