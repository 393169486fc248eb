"""The error function, its complement and its inverse on NumPy arrays, to a few ulps.

The rational functions are those of S. L. Moshier's Cephes library, file `ndtr.c`; the first guess
of the inverse is M. Giles' approximation in single precision (GPU Computing Gems, 2010).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.exec_ir import Array

_SMALL = (
    (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
     7.00332514112805075473e3, 5.55923013010394962768e4),
    (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
     2.26290000613890934246e4, 4.92673942608635921086e4),
)  # fmt: skip
"""erf(x)/x in x², for |x| up to 1: numerator and denominator, highest power first."""
_MIDDLE = (
    (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
     4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
     9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2),
    (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
     9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
     1.65666309194161350182e3, 5.57535340817727675546e2),
)  # fmt: skip
"""erfc(x)·exp(x²) in x, from 1 to 8."""
_LARGE = (
    (5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0,
     6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0),
    (1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1,
     1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0),
)  # fmt: skip
"""erfc(x)·exp(x²) in x, from 8 on."""
_GUESS = (
    (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
     -0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
    (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
     -0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)  # fmt: skip
"""erf⁻¹(y)/y in -log(1 - y²) - 2.5 below 5, and in its root - 3 beyond."""
_VANISHES = 28.0
"""For larger arguments, erfc is below the smallest double."""


def erf(x: Array) -> Array:
    """The error function, in double precision."""
    inner = np.abs(x) <= 1
    small = np.where(inner, x, 0.0)
    tail = _tail(np.where(inner, 1.0, np.abs(x)))
    return np.where(inner, small * _ratio(_SMALL, small * small), np.copysign(1 - tail, x))


def erfc(x: Array) -> Array:
    """1 - erf(x), accurate where it is small."""
    tail = _tail(np.where(x > 1, x, np.where(x < -1, -x, 1.0)))
    result = np.where(x > 1, tail, 2 - tail)
    return np.where(np.abs(x) <= 1, 1 - erf(x), np.where(np.isnan(x), x, result))


def erf_inv(y: Array) -> Array:
    """The x with erf(x) = y; infinite at ±1 and NaN beyond.

    A first guess of seven digits, and two steps of Halley's method, each of which triples them.
    """
    inside = np.where(np.abs(y) < 1, y, 0.0)
    distance = -np.log((1 - inside) * (1 + inside))
    near = _horner(_GUESS[0], np.minimum(distance, 5.0) - 2.5)
    far = _horner(_GUESS[1], np.sqrt(np.maximum(distance, 5.0)) - 3)
    x = np.where(distance < 5, near, far) * inside
    for _ in range(2):
        # Beyond 0.5, use the complement: 1 - |y| is exact there.
        wide = np.abs(inside) > 0.5
        beyond = np.sign(inside) * ((1 - np.abs(inside)) - erfc(np.abs(x)))
        excess = np.where(wide, beyond, erf(x) - inside)
        step = excess * (np.sqrt(np.pi) / 2) * np.exp(x * x)
        x = x - step / (1 + x * step)
    return np.where(np.abs(y) < 1, x, np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan))


def _tail(x: Array) -> Array:
    """erfc(x) for x from 1; NaN stays."""
    x = np.minimum(x, _VANISHES)
    head = x.astype(np.float32).astype(np.float64)  # its square is exact
    decay = np.exp(-head * head) * np.exp((head - x) * (head + x))
    middle = _ratio(_MIDDLE, np.minimum(x, 8.0))
    far = x > 8
    if far.any():
        middle = np.where(far, _ratio(_LARGE, x), middle)
    return np.asarray(decay * middle)


def _ratio(pair: tuple[Sequence[float], Sequence[float]], x: Array) -> Array:
    numerator, denominator = pair
    return np.asarray(_horner(numerator, x) / _horner(denominator, x))


def _horner(coefficients: Sequence[float], x: Array) -> Array:
    """The polynomial with the given coefficients, highest power first."""
    total: Array = np.full(x.shape, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x
        total += coefficient
    return total
