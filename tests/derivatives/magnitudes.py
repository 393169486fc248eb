"""Elementwise functions and their derivatives, to third order, by mpmath at many digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp

import tenferro as tn

Number = Callable[[Any], Any]
sp = tn.scipy.special


def everywhere(x: float) -> bool:
    """All numbers."""
    return True


def positive(x: float) -> bool:
    """Numbers above 0."""
    return x > 0


@dataclass(frozen=True)
class Row:
    """One function.

    Attributes:
        function: of tenferro.
        slope: its derivative, with mpmath; differences of it give the next ones.
        domain: where it is differentiable.
        rtol: relative error allowed; formulas lose a few digits of their own.
        also: further points than those of all functions.
    """

    function: Callable[..., Any]
    slope: Number
    domain: Callable[[float], bool] = everywhere
    rtol: float = 1e-12
    also: tuple[float, ...] = ()


def derivatives(slope: Number, x: float) -> list[Any]:
    """The derivatives of orders 1 to 4, from differences over steps that lose no digit."""
    exponent = -25 - int(abs(mp.log10(abs(x))))
    with mp.workdps(800 - 3 * exponent):
        h, at = mp.mpf(10) ** exponent, mp.mpf(x)
        if slope(at) is None:
            at += h
        values = [slope(at + k * h) for k in (-2, -1, 0, 1, 2)]
        far_low, low, mid, high, far_high = values
        return [
            mp.re(mid),
            mp.re(high - low) / (2 * h),
            mp.re(high - 2 * mid + low) / h**2,
            mp.re(far_high - 2 * high + 2 * low - far_low) / (2 * h**3),
        ]


def sech2(x: Any) -> Any:
    """1/cosh(x)²."""
    return 1 / mp.cosh(x) ** 2


def bell(x: Any) -> Any:
    """2/√π·exp(-x²)."""
    return 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def sinc_slope(x: Any) -> Any:
    """The derivative of sin(πx)/(πx)."""
    t = mp.pi * x
    return (mp.cos(t) - mp.sin(t) / t) / x


def erfcx_slope(x: Any) -> Any:
    """The derivative of exp(x²)·erfc(x); for large x by its asymptotic series."""
    if x < 50:
        return 2 * x * mp.exp(x * x) * mp.erfc(x) - 2 / mp.sqrt(mp.pi)
    total, term, k = mp.mpf(0), -1 / (mp.sqrt(mp.pi) * x * x), 0
    while abs(term) > abs(total) * mp.eps and k < 1200:
        total += term
        k += 1
        term *= -mp.mpf(2 * k + 1) / (2 * x * x)
    return total


def dawsn_slope(x: Any) -> Any:
    """1 - 2x·dawsn(x); for large x by its asymptotic series."""
    if abs(x) < 50:
        return 1 - x * mp.sqrt(mp.pi) * mp.exp(-x * x) * mp.erfi(x)
    total, term, k = mp.mpf(0), -1 / (2 * x * x), 0
    while abs(term) > abs(total) * mp.eps and k < 1200:
        total += term
        k += 1
        term *= mp.mpf(2 * k + 1) / (2 * x * x)
    return total


def log_ndtr_slope(x: Any) -> Any:
    """The density over the probability of a normal number."""
    if x > -50:
        return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi) / (mp.erfc(-x / mp.sqrt(2)) / 2)
    x, total, term, k = -x, mp.mpf(0), 1 / mp.mpf(-x), 0
    while abs(term) > abs(total) * mp.eps and k < 1200:
        total += term
        k += 1
        term *= -mp.mpf(2 * k - 1) / (x * x)
    return 1 / total
