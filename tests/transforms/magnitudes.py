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


def inside(x: float) -> bool:
    """Numbers between -1 and 1, but 0."""
    return 0 < abs(x) < 1


def from_minus_one(x: float) -> bool:
    """Numbers above -1."""
    return x > -1


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
    with mp.workdps(400 - 3 * exponent):
        h, at = mp.mpf(10) ** exponent, mp.mpf(x)
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


def power(y: str) -> Number:
    """The derivative of x to the power y."""
    return lambda x: mp.mpf(y) * x ** (mp.mpf(y) - 1)


BIG, SMALL = 3e200, 3e-200

ROWS: dict[str, Row] = {
    "exp": Row(tn.exp, mp.exp),
    "exp2": Row(tn.exp2, lambda x: mp.log(2) * mp.mpf(2) ** x),
    "expm1": Row(tn.expm1, mp.exp),
    "log": Row(tn.log, lambda x: 1 / x, positive),
    "log2": Row(tn.log2, lambda x: 1 / (x * mp.log(2)), positive),
    "log10": Row(tn.log10, lambda x: 1 / (x * mp.log(10)), positive),
    "log1p": Row(tn.log1p, lambda x: 1 / (1 + x), from_minus_one),
    "sin": Row(tn.sin, mp.cos),
    "cos": Row(tn.cos, lambda x: -mp.sin(x)),
    "tan": Row(tn.tan, lambda x: 1 / mp.cos(x) ** 2),
    "sinh": Row(tn.sinh, mp.cosh),
    "cosh": Row(tn.cosh, mp.sinh),
    "tanh": Row(tn.tanh, sech2),
    "asin": Row(tn.asin, lambda x: 1 / mp.sqrt(1 - x * x), inside),
    "acos": Row(tn.acos, lambda x: -1 / mp.sqrt(1 - x * x), inside),
    "atan": Row(tn.atan, lambda x: 1 / (1 + x * x)),
    "asinh": Row(tn.asinh, lambda x: 1 / mp.sqrt(1 + x * x)),
    "acosh": Row(tn.acosh, lambda x: 1 / mp.sqrt(x * x - 1), lambda x: x > 1),
    "atanh": Row(tn.atanh, lambda x: 1 / (1 - x * x), inside),
    "sqrt": Row(tn.sqrt, power("0.5"), positive),
    "rsqrt": Row(tn.rsqrt, power("-0.5"), positive),
    "cbrt": Row(tn.cbrt, lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2)),
    "square": Row(tn.square, lambda x: 2 * x),
    "reciprocal": Row(tn.reciprocal, lambda x: -1 / (x * x)),
    "cube": Row(lambda x: x**3, lambda x: 3 * x * x),
    "power 2.5": Row(lambda x: x**2.5, power("2.5"), positive),
    "power -1.5": Row(lambda x: x**-1.5, power("-1.5"), positive),
    "power of 1.5": Row(lambda x: 1.5**x, lambda x: mp.log(1.5) * mp.mpf(1.5) ** x),
    "over x": Row(lambda x: 3 / x, lambda x: -3 / (x * x)),
    "hypot": Row(lambda x: tn.hypot(x, 3.0), lambda x: x / mp.sqrt(x * x + 9)),
    "hypot with a big number": Row(
        lambda x: tn.hypot(x, BIG), lambda x: x / mp.sqrt(x * x + mp.mpf(BIG) ** 2)
    ),
    "atan2 by y": Row(lambda y: tn.atan2(y, 3.0), lambda y: 3 / (y * y + 9)),
    "atan2 by x": Row(lambda x: tn.atan2(3.0, x), lambda x: -3 / (x * x + 9)),
    "atan2 of big numbers": Row(
        lambda y: tn.atan2(y, BIG), lambda y: mp.mpf(BIG) / (y * y + mp.mpf(BIG) ** 2)
    ),
    "atan2 of small numbers": Row(
        lambda x: tn.atan2(SMALL, x), lambda x: -mp.mpf(SMALL) / (x * x + mp.mpf(SMALL) ** 2)
    ),
    "sigmoid": Row(tn.sigmoid, lambda x: sech2(x / 2) / 4),
    "softplus": Row(tn.softplus, lambda x: 1 / (1 + mp.exp(-x))),
    "log_sigmoid": Row(tn.log_sigmoid, lambda x: 1 / (1 + mp.exp(x))),
    "silu": Row(tn.silu, lambda x: 1 / (1 + mp.exp(-x)) + x * sech2(x / 2) / 4),
    "logaddexp": Row(lambda x: tn.logaddexp(x, 1.0), lambda x: 1 / (1 + mp.exp(1 - x))),
    "logaddexp2": Row(lambda x: tn.logaddexp2(x, 1.0), lambda x: 1 / (1 + mp.mpf(2) ** (1 - x))),
    "sinc": Row(tn.sinc, sinc_slope, lambda x: abs(x) < 1e4, 1e-10),
    "erf": Row(tn.erf, bell),
    "erfc": Row(tn.erfc, lambda x: -bell(x)),
    "erf_inv": Row(tn.erf_inv, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(x) ** 2), inside),
    "ndtr": Row(sp.ndtr, lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)),
    "log_ndtr": Row(sp.log_ndtr, log_ndtr_slope, lambda x: -1e150 < x < 37, 1e-10),
    "erfcx": Row(sp.erfcx, erfcx_slope, lambda x: x > -26, 1e-10),
    "dawsn": Row(sp.dawsn, dawsn_slope, rtol=1e-10),
    "logit": Row(sp.logit, lambda x: 1 / (x * (1 - x)), lambda x: 0 < x < 1),
    "xlogy": Row(lambda y: tn.xlogy(3.0, y), lambda y: 3 / y, positive),
    "xlog1py": Row(lambda y: tn.xlog1py(3.0, y), lambda y: 3 / (1 + y), from_minus_one),
    "entr": Row(sp.entr, lambda x: -mp.log(x) - 1, positive),
    "rel_entr": Row(lambda p: sp.rel_entr(p, 2.0), lambda p: mp.log(p / 2) + 1, positive),
    "kl_div by p": Row(lambda p: sp.kl_div(p, 2.0), lambda p: mp.log(p / 2), positive),
    "kl_div by q": Row(lambda q: sp.kl_div(2.0, q), lambda q: 1 - 2 / q, positive),
    "expi": Row(sp.expi, lambda x: mp.exp(x) / x),
    "exp1": Row(sp.exp1, lambda x: -mp.exp(-x) / x, positive),
    "spence": Row(
        sp.spence,
        lambda x: mp.log(x) / (1 - x),
        lambda x: x > 0 and x != 1,
        also=(1 + 1e-9, 1 + 1e-6, 1 - 1e-7),
    ),
    "sine integral": Row(lambda x: sp.sici(x)[0], lambda x: mp.sin(x) / x),
    "cosine integral": Row(lambda x: sp.sici(x)[1], lambda x: mp.cos(x) / x, positive),
    "fresnel sine": Row(lambda x: sp.fresnel(x)[0], lambda x: mp.sin(mp.pi * x * x / 2)),
    "fresnel cosine": Row(lambda x: sp.fresnel(x)[1], lambda x: mp.cos(mp.pi * x * x / 2)),
    "owens_t by a": Row(
        lambda a: sp.owens_t(0.5, a),
        lambda a: mp.exp(-mp.mpf(0.125) * (1 + a * a)) / (1 + a * a) / (2 * mp.pi),
    ),
}

MAGNITUDES = (
    *(10.0**k for k in (-300, -250, -200, -155, -120, -100, -80, -50, -30, -20, -15, -10)),
    *(1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999999, 1 - 1e-12, 1.0, 1.000001, 1.5),
    *(2.0, 3.0, 5.0, 6.9, 7.1, 12.0, 18.0, 25.0, 30.0, 40.0, 100.0, 350.0, 400.0, 700.0),
    *(10.0**k for k in (3, 4, 5, 7, 10, 20, 50, 100, 120, 155, 200, 250, 300)),
)
FEW = (1e-120, 1e-10, 0.3, 0.999999, 7.1, 40.0, 1e120)
