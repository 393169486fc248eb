"""The error function, its complement and its inverse on NumPy arrays, to a few ulps.

The rational functions are those of S. L. Moshier's Cephes library, file `ndtr.c`; those of the
inverse are M. J. Wichura's, for the normal distribution (Algorithm AS 241, Applied Statistics 37,
1988).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.ir import NumpyArray

__all__ = ["SCALED_ERFC_FROM_8", "SCALED_ERFC_TO_8"]

_SMALL = (
    (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
     7.00332514112805075473e3, 5.55923013010394962768e4),
    (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
     2.26290000613890934246e4, 4.92673942608635921086e4),
)  # fmt: skip
"""erf(x)/x in x², for |x| up to 1: numerator and denominator, highest power first."""
SCALED_ERFC_TO_8 = (
    (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
     4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
     9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2),
    (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
     9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
     1.65666309194161350182e3, 5.57535340817727675546e2),
)  # fmt: skip
"""erfc(x)·exp(x²) in x, from 1 to 8."""
SCALED_ERFC_FROM_8 = (
    (5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0,
     6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0),
    (1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1,
     1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0),
)  # fmt: skip
"""erfc(x)·exp(x²) in x, from 8 on."""
_CENTRE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
     4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
     1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
     2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
     4.2313330701600911252e1, 1.0),
)  # fmt: skip
"""√2·erf⁻¹(2q)/q in 0.425² - q², for |q| up to 0.425."""
_SIDES = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
     1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
     4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
     1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
     2.05319162663775882187e0, 1.0),
)  # fmt: skip
"""√2·erf⁻¹(1 - 2p) in √-log(p) - 1.6, for the root up to 5."""
_ENDS = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
     2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
     5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
     7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
     5.99832206555887937690e-1, 1.0),
)  # fmt: skip
"""The same in the root - 5, from there."""
_CHUNK = 1 << 14
_VANISHES = 28.0
"""For larger arguments, erfc is below the smallest double."""


def erf(x: NumpyArray) -> NumpyArray:
    """The error function, in double precision."""
    inner = np.abs(x) <= 1
    small = np.where(inner, x, 0.0)
    tail = _tail(np.where(inner, 1.0, np.abs(x)))
    return np.where(inner, small * _ratio(_SMALL, small * small), np.copysign(1 - tail, x))


def erfc(x: NumpyArray) -> NumpyArray:
    """1 - erf(x), accurate where it is small."""
    tail = _tail(np.where(x > 1, x, np.where(x < -1, -x, 1.0)))
    result = np.where(x > 1, tail, 2 - tail)
    return np.where(np.abs(x) <= 1, 1 - erf(x), np.where(np.isnan(x), x, result))


def erf_inv(y: NumpyArray) -> NumpyArray:
    """The x with erf(x) = y; infinite at ±1 and NaN beyond."""
    result = np.empty(y.shape)
    places, values = result.reshape(-1), y.reshape(-1)
    for start in range(0, values.size, _CHUNK):  # stays in the cache of a processor
        part = slice(start, start + _CHUNK)
        places[part] = _quantile(values[part] / 2) / np.sqrt(2)
    return result


def _quantile(q: NumpyArray) -> NumpyArray:
    """The number that a normal number is below with probability 1/2 + q."""
    centre = np.abs(q) <= 0.425
    inner = np.where(centre, q, 0.0)
    result = inner * _ratio(_CENTRE, 0.180625 - inner * inner)
    outer = np.flatnonzero(~centre)
    if outer.size:
        signed = q[outer]
        result[outer] = np.copysign(_outer_quantile(0.5 - np.abs(signed)), signed)
    return np.asarray(result)


def _outer_quantile(p: NumpyArray) -> NumpyArray:
    """The number that a normal number is above with probability p, for p up to 0.075."""
    known = np.where(p > 0, p, 0.05)
    root = np.sqrt(-np.log(known))
    result = _ratio(_SIDES, np.minimum(root, 5.0) - 1.6)
    far = root > 5
    if far.any():
        result = np.where(far, _ratio(_ENDS, root - 5), result)
    return np.where(p > 0, result, np.where(p == 0, np.inf, np.nan))


def _tail(x: NumpyArray) -> NumpyArray:
    """erfc(x) for x from 1; NaN stays."""
    x = np.minimum(x, _VANISHES)
    head = x.astype(np.float32).astype(np.float64)  # its square is exact
    decay = np.exp(-head * head) * np.exp((head - x) * (head + x))
    middle = _ratio(SCALED_ERFC_TO_8, np.minimum(x, 8.0))
    far = x > 8
    if far.any():
        middle = np.where(far, _ratio(SCALED_ERFC_FROM_8, x), middle)
    return np.asarray(decay * middle)


def _ratio(pair: tuple[Sequence[float], Sequence[float]], x: NumpyArray) -> NumpyArray:
    numerator, denominator = pair
    return np.asarray(_horner(numerator, x) / _horner(denominator, x))


def _horner(coefficients: Sequence[float], x: NumpyArray) -> NumpyArray:
    """The polynomial with the given coefficients, highest power first."""
    total: NumpyArray = np.full(x.shape, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x
        total += coefficient
    return total
