"""Points of special functions over many magnitudes, and what the functions are there.

SciPy says what is right, except where it is off itself: mpmath is asked where a result differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath as mp
import numpy as np
import scipy.special as sp

import tenferro as tn

Points = tuple[np.ndarray, ...]
Draw = Callable[[np.random.Generator, int], Points]


def sizes(rng: np.random.Generator, n: int, low: float, high: float) -> np.ndarray:
    """Powers of 10 between exponents, small numbers, and numbers at and near whole ones."""
    kind, near = rng.random(n), rng.choice([0, 0, 1e-3, -1e-3, 1e-9, -1e-9], n)
    x = np.where(kind < 0.3, rng.uniform(0, 30, n), 10 ** rng.uniform(low, high, n))
    return np.where((kind < 0.08) & (x > 1), np.round(x) + near, x)


def signed(rng: np.random.Generator, n: int, low: float, high: float) -> np.ndarray:
    return sizes(rng, n, low, high) * rng.choice([-1, 1], n)


def one(low: float, high: float, negative: bool = True) -> Draw:
    return lambda rng, n: ((signed if negative else sizes)(rng, n, low, high),)


def two(*ranges: tuple[float, float, bool]) -> Draw:
    return lambda rng, n: tuple((signed if s else sizes)(rng, n, a, b) for a, b, s in ranges)


def probabilities(rng: np.random.Generator, n: int) -> Points:
    return (np.where(rng.random(n) < 0.5, rng.random(n), 10 ** rng.uniform(-30, 0, n)),)


def inverse_error_points(rng: np.random.Generator, n: int) -> Points:
    small, near_1 = 10 ** rng.uniform(-30, 0, n), 1 - 10 ** rng.uniform(-15, 0, n)
    return (np.where(rng.random(n) < 0.5, near_1, small) * rng.choice([-1, 1], n),)


def gamma_points(rng: np.random.Generator, n: int) -> Points:
    """Also near the mean, where half of the weight is below."""
    a, kind = sizes(rng, n, -6, 12), rng.random(n)
    near = np.abs(a + np.sqrt(a) * rng.normal(size=n) * 5)
    x = np.where(kind < 0.6, a * 10 ** rng.uniform(-1.5, 1.5, n), near)
    return a, np.where(kind < 0.3, sizes(rng, n, -6, 12), x)


def beta_points(rng: np.random.Generator, n: int) -> Points:
    a, kind = sizes(rng, n, -5, 8), rng.random(n)
    b = np.where(kind < 0.5, sizes(rng, n, -5, 8), a * 10 ** rng.uniform(-1, 1, n))
    mean, kind = a / (a + b), rng.random(n)
    near = mean + np.sqrt(mean * (1 - mean) / (a + b + 1)) * rng.normal(size=n) * 4
    x = np.where(kind < 0.7, rng.random(n), 10 ** rng.uniform(-8, 0, n))
    x = np.where(kind < 0.4, near, x)
    return a, b, np.where((x <= 0) | (x >= 1), mean, x)


def orders_and(low: float, high: float, largest: int, negative: bool) -> Draw:
    return lambda rng, n: (
        np.floor(rng.uniform(0, largest, n)),
        (signed if negative else sizes)(rng, n, low, high),
    )


def zeta_points(rng: np.random.Generator, n: int) -> Points:
    whole, other = 2 + np.floor(rng.uniform(0, 20, n)), 1 + 10 ** rng.uniform(-3, 2, n)
    integral = rng.random(n) < 0.5
    q = sizes(rng, n, -3, 6) * np.where(integral, rng.choice([-1, 1], n), 1)
    return np.where(integral, whole, other), np.where(integral, np.maximum(q, -1e4), q)


def power_points(rng: np.random.Generator, n: int) -> Points:
    return sizes(rng, n, -10, 10), rng.uniform(-5, 5, n)


DRAWS: dict[str, Draw] = {
    **dict.fromkeys(("gammaln", "digamma"), one(-30, 6)),
    "gamma": one(-30, 2.2),
    "polygamma": orders_and(-3, 4, 8, negative=True),
    "zeta": zeta_points,
    **dict.fromkeys(("gammainc", "gammaincc"), gamma_points),
    "betainc": beta_points,
    "betaln": two((-10, 8, True), (-10, 8, True)),
    "beta": two((-10, 2, True), (-10, 2, True)),
    "poch": two((-5, 8, True), (-1, 0.9, True)),
    "comb": two((-1, 8, False), (-1, 1, False)),
    **dict.fromkeys(("xlogy", "xlog1py"), two((-30, 30, True), (-30, 30, False))),
    **dict.fromkeys(("i0", "i1", "expi"), one(-30, 2.8)),
    **dict.fromkeys(("i0e", "i1e"), one(-30, 20)),
    **dict.fromkeys(("erf", "erfc", "ndtr"), one(-30, 1.5)),
    "erfinv": inverse_error_points,
    **dict.fromkeys(("ndtri", "logit"), probabilities),
    "log_ndtr": one(-10, 8),
    "exp1": one(-30, 2.8, negative=False),
    "expn": orders_and(-10, 2.8, 12, negative=False),
    **dict.fromkeys(("spence", "entr"), one(-30, 30, negative=False)),
    "dawsn": one(-30, 10),
    "erfcx": lambda rng, n: (np.maximum(signed(rng, n, -30, 20), -26.0),),
    "sici_0": one(-30, 8),
    "sici_1": one(-30, 8, negative=False),
    **dict.fromkeys(("fresnel_0", "fresnel_1"), one(-30, 6)),
    "owens_t": two((-5, 1.5, True), (-5, 3, True)),
    "rel_entr": two((-30, 30, False), (-30, 30, False)),
    "kl_div": two((-5, 5, False), (-5, 5, False)),
    **dict.fromkeys(("boxcox", "boxcox1p"), power_points),
    "expit": one(-30, 2.8),
}
ORDERS = {"polygamma", "expn"}
"""Functions whose first operand is a whole number."""


def ours(name: str) -> Callable[..., Any]:
    base, _, output = name.rpartition("_") if name[-1] in "01" and "_" in name else (name, "", "")
    function: Callable[..., Any] = getattr(tn.scipy.special, base)
    return (lambda *x: function(*x)[int(output)]) if output else function


def scipys(name: str) -> Callable[..., np.ndarray]:
    if name == "beta":  # whose infinities have signs by the order of the operands
        return lambda a, b: np.where(np.isinf(sp.beta(a, b)), np.inf, sp.beta(a, b))
    base, _, output = name.rpartition("_") if name[-1] in "01" and "_" in name else (name, "", "")
    function: Callable[..., Any] = getattr(sp, base)
    return (lambda *x: function(*x)[int(output)]) if output else function


def _by_density(log_density: Callable[[Any], Any], end: Any, mean: Any, width: Any) -> Any:
    """The integral of a density from an end away from its mean."""
    sign = -1 if end < mean else 1
    slope = abs(mp.diff(log_density, end)) if end != mean else mp.mpf(0)
    reach = min(50 * width, 120 / slope if slope else 50 * width)
    return mp.quad(
        lambda t: mp.exp(log_density(end + sign * t)), mp.linspace(0, reach, 9), maxdegree=5
    )


def _gamma_side(a: Any, x: Any) -> tuple[Any, bool]:
    """The incomplete gamma function on the side of x away from the mean, and whether it is P."""
    if a < 50:
        lower = x < a
        ends = (0, x) if lower else (x, mp.inf)
        return mp.gammainc(a, *ends, regularized=True), lower
    constant = mp.loggamma(a)
    side = _by_density(
        lambda t: (a - 1) * mp.log(t) - t - constant if t > 0 else -mp.inf, x, a, mp.sqrt(a)
    )
    return side, x < a


def _gammainc(a: Any, x: Any) -> Any:
    side, lower = _gamma_side(a, x)
    return side if lower else 1 - side


def _gammaincc(a: Any, x: Any) -> Any:
    side, lower = _gamma_side(a, x)
    return 1 - side if lower else side


def _owens_t(h: Any, a: Any) -> Any:
    reach = min(abs(a), 30 / (abs(h) + 1e-30))
    return (
        mp.sign(a)
        * mp.exp(-h * h / 2)
        * mp.quad(lambda t: mp.exp(-h * h * t * t / 2) / (1 + t * t), mp.linspace(0, reach, 33))
        / (2 * mp.pi)
    )


def _zeta(s: Any, q: Any) -> Any:
    below = max(0, int(mp.ceil(-q)) + 1)
    return sum((q + k) ** -s for k in range(below)) + mp.zeta(s, q + below)


def _poch(z: Any, m: Any) -> Any:
    return mp.gammaprod([z + m], [z])


EXACT: dict[str, Callable[..., Any]] = {
    "gammainc": _gammainc,
    "gammaincc": _gammaincc,
    "betainc": lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    "betaln": lambda a, b: mp.log(abs(mp.beta(a, b))),
    "beta": mp.beta,
    "poch": _poch,
    "comb": mp.binomial,
    "kl_div": lambda p, q: p * mp.log(p / q) - p + q,
    "rel_entr": lambda p, q: p * mp.log(p / q),
    "owens_t": _owens_t,
    "zeta": _zeta,
    "gammaln": lambda x: mp.log(abs(mp.gamma(x))),
    "digamma": mp.digamma,
}


def disagreements(
    name: str, operands: Points, found: np.ndarray, tolerance: float, asked: int = 40
) -> list[tuple[float, ...]]:
    """Operands, result and reference where a result is wrong, the worst of `asked` points.

    A result may be off by the tolerance, or by what a change of the operands by eight units of
    their last place makes. In single precision, the operands are those numbers.
    """
    function, eps = scipys(name), float(np.finfo(found.dtype).eps)
    wide = tuple(x.astype(found.dtype).astype(np.float64) for x in operands)
    info = np.finfo(found.dtype)
    with np.errstate(all="ignore"):
        expected = function(*wide)
        # XLA takes subnormal numbers for 0, also those that become larger in the end.
        slack = np.full(expected.shape, max(4 * float(info.smallest_normal), 1e-300))
        for i in range(name in ORDERS, len(wide)):
            for step in (8 * eps, -8 * eps):
                moved = function(*(x * (1 + step * (j == i)) for j, x in enumerate(wide)))
                change = np.abs(moved - expected)
                slack += np.where(np.isfinite(change), change, 0.0)
        value = found.astype(np.float64)
        error = _excess(value, expected.astype(found.dtype).astype(np.float64), slack, tolerance)
    wrong = []
    for place in np.argsort(-error)[:asked]:
        if error[place] <= 1:
            break
        point = tuple(float(x[place]) for x in wide)
        reference = float(expected[place])
        if name in EXACT and np.isfinite(value[place]):
            with mp.workdps(50):
                reference = float(EXACT[name](*map(mp.mpf, point)))
        excess = _excess(value[place], np.float64(reference), slack[place], tolerance)
        if excess > 1:
            wrong.append((*point, float(value[place]), reference))
    return wrong


def _excess(value: Any, expected: Any, slack: Any, tolerance: float) -> Any:
    """The error over the allowed one; infinite where one of the two is no number."""
    same = (value == expected) | (np.isnan(value) & np.isnan(expected))
    with np.errstate(all="ignore"):
        error = np.abs(value - expected) / (tolerance * np.abs(expected) + slack)
    return np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))


def draw(n: int, seed: int = 7) -> Mapping[str, Points]:
    """Points of each function."""
    rng = np.random.default_rng(seed)
    return {name: points(rng, n) for name, points in DRAWS.items()}
