"""The derivative of the regularized lower incomplete gamma function P(a, x) by a.

By the power series of P where x is small or below a, else by the continued fraction of 1 - P, each
differentiated term by term. (NIST Digital Library of Mathematical Functions, 8.7.3 and 8.9.2.)
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from tenferro.exec_ir import Array

_ROUNDS = 2000
_LARGE = 2.0**52


def gammainc_grad_a(a: Array, x: Array) -> Array:
    """∂P(a, x)/∂a; NaN where P is not defined."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    safe_a, safe_x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    series = (safe_x <= 1) | (safe_x < safe_a)
    below = _by_series(safe_a, np.where(series, safe_x, 0.5))
    above = -_by_fraction(safe_a, np.where(series, safe_a + 1, safe_x))
    edge = np.where((a > 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    return np.where(inside, np.where(series, below, above), edge)


def _by_series(a: Array, x: Array) -> Array:
    """P = x^a e^-x / Γ(a+1) · Σ xⁿ / ((a+1)…(a+n)); each term also with its derivative by a."""
    term, slope = np.ones_like(x), np.zeros_like(x)
    total, slopes = term.copy(), slope.copy()
    for n in range(1, _ROUNDS):
        factor = x / (a + n)
        slope = (slope - term / (a + n)) * factor
        term = term * factor
        total, slopes = total + term, slopes + slope
        small = np.finfo(np.float64).eps / 4
        if np.all(np.abs(slope) <= small * np.abs(slopes)) and np.all(term <= small * total):
            break
    head = np.exp(a * np.log(x) - x - gammaln(a + 1))
    return np.asarray(head * (total * (np.log(x) - digamma(a + 1)) + slopes))


def _by_fraction(a: Array, x: Array) -> Array:
    """1 - P = x^a e^-x / Γ(a) · C, C by forward recurrence, each step also differentiated by a."""
    y, z = 1 - a, x + 2 - a
    p, q = np.stack([np.ones_like(x), x + 1]), np.stack([x, z * x])
    dp, dq = np.zeros_like(p), np.stack([np.zeros_like(x), -x])
    value = p[1] / q[1]
    slope = (dp[1] - value * dq[1]) / q[1]
    for n in range(1, _ROUNDS):
        y, z = y + 1, z + 2
        new_dp = dp[1] * z - p[1] - dp[0] * y * n + p[0] * n
        new_dq = dq[1] * z - q[1] - dq[0] * y * n + q[0] * n
        p, q = (np.stack([r[1], r[1] * z - r[0] * y * n]) for r in (p, q))
        dp, dq = np.stack([dp[1], new_dp]), np.stack([dq[1], new_dq])
        scale = np.where(np.abs(p[1]) > _LARGE, 1 / _LARGE, 1.0)
        p, q, dp, dq = (r * scale for r in (p, q, dp, dq))
        value, before = p[1] / q[1], slope
        slope = (dp[1] - value * dq[1]) / q[1]
        if np.all(np.abs(slope - before) <= np.finfo(np.float64).eps * np.abs(slope)):
            break
    head = np.exp(a * np.log(x) - x - gammaln(a))
    return np.asarray(head * (slope + value * (np.log(x) - digamma(a))))
