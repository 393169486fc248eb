"""Threefry-2x32, which all random numbers are made of, and samples of the gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.errors import DTypeError
from tenferro.ir import UINT32, NumpyArray, TensorMeta, payload
from tenferro.ops.analytic import EXP
from tenferro.ops.base import Inactive, same_type, types
from tenferro.ops.elementwise import Elementwise, Formula, Term
from tenferro.ops.piecewise import MAXIMUM, MINIMUM

__all__ = [
    "GAMMA_GRAD",
    "LARGE_SHAPE",
    "PARITY",
    "ROTATIONS",
    "GammaGrad",
    "GammaSample",
    "Threefry2x32",
    "gamma_grad_of_large",
]

# The block cipher.

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""How far the second word is rotated in the four rounds of even groups, and of odd ones."""

PARITY = np.uint32(0x1BD11BDA)
"""The third word of the key schedule is the exclusive or of this with both words of the key."""

_CHUNK = 1 << 15
_FEW = 8
"""So many elements take Python's integers less time than a hundred calls of NumPy take."""

_WORD = (1 << 32) - 1


@payload
class Threefry2x32(Inactive, name="threefry2x32"):
    """The block cipher Threefry with 20 rounds: a key of two words encrypts two counter words.

    The operands are the words of the key and of the counter, the outputs the encrypted words.

    Attributes:
        purpose: what the words are for: the name of a draw, "split", or "fold_in", which does not
            use the key up. It does not change the result; it keeps draws of different functions
            apart, so that a graph tells whether a key is used twice.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """

    purpose: str = "bits"

    n_inputs = 4
    n_outputs = 2
    pointwise = True

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        self.check_arity(len(metas))
        meta = same_type(self.name, metas, "u")
        if meta.dtype != UINT32:
            raise DTypeError(f"{self.name}: takes u32 operands, got {types(metas)}")
        return meta, meta

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        """In chunks that stay in the cache of a processor; a few elements one after another."""
        shape = inputs[0].shape
        if 0 < inputs[0].size <= _FEW:
            elements = zip(*(operand.ravel().tolist() for operand in inputs), strict=True)
            words = zip(*(_encrypted(*each) for each in elements), strict=True)
            return tuple([np.array(each, UINT32).reshape(shape) for each in words])
        operands = [_flat(operand) for operand in inputs]
        first, second = np.empty(shape, UINT32), np.empty(shape, UINT32)
        x0, x1 = first.reshape(-1), second.reshape(-1)
        spare = np.empty(min(_CHUNK, x0.size), UINT32)
        with np.errstate(over="ignore"):  # of scalars; sums of arrays wrap around silently
            for start in range(0, x0.size, _CHUNK):
                part = slice(start, start + _CHUNK)
                key0, key1, count0, count1 = (
                    operand[part] if operand.ndim else operand for operand in operands
                )
                left, right = x0[part], x1[part]
                np.add(count0, key0, out=left)
                np.add(count1, key1, out=right)
                _encrypt(key0, key1, left, right, spare[: left.size])
        return first, second


def _encrypted(key0: int, key1: int, left: int, right: int) -> tuple[int, int]:
    """Both words for one counter, with Python's integers."""
    schedule = (key0, key1, key0 ^ key1 ^ int(PARITY))
    left, right = (left + key0) & _WORD, (right + key1) & _WORD
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            left = (left + right) & _WORD
            right = ((right << distance) & _WORD | right >> (32 - distance)) ^ left
        left = (left + schedule[(group + 1) % 3]) & _WORD
        right = (right + schedule[(group + 2) % 3] + group + 1) & _WORD
    return left, right


def _flat(operand: NumpyArray) -> NumpyArray:
    """The elements as a vector; a repeated number as that number."""
    if operand.size and not any(operand.strides):
        return np.asarray(operand[(0,) * operand.ndim])
    return operand.reshape(-1)


def _encrypt(
    key0: NumpyArray, key1: NumpyArray, left: NumpyArray, right: NumpyArray, spare: NumpyArray
) -> None:
    """The 20 rounds, in place; the key has been added once."""
    schedule = (key0, key1, key0 ^ key1 ^ PARITY)
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            np.add(left, right, out=left)
            np.left_shift(right, np.uint32(distance), out=spare)
            np.right_shift(right, np.uint32(32 - distance), out=right)
            np.bitwise_or(right, spare, out=right)
            np.bitwise_xor(right, left, out=right)
        np.add(left, schedule[(group + 1) % 3], out=left)
        np.add(right, schedule[(group + 2) % 3] + np.uint32(group + 1), out=right)


# Samples of the gamma distribution as functions of its shape. With F the distribution function and
# x = F⁻¹(u; a) for a fixed u, dx/da = -(∂F/∂a)/(∂F/∂x).


@payload
class GammaSample(Elementwise, name="gamma_sample"):
    """A sample, as a function of the shape a of the distribution that it was drawn from.

    The operands are the sample and a; the result is the sample.

    Attributes:
        log: whether the sample is the logarithm of one of the gamma distribution.

    Source: Figurnov et al., "Implicit reparameterization gradients", arXiv:1805.08498.
    """

    log: bool = False

    n_inputs = 2
    kinds = "f"

    def numpy(self, sample: NumpyArray, a: NumpyArray) -> NumpyArray:
        return sample

    @property
    def jvp(self) -> Sequence[Formula]:  # type: ignore[override]  # depends on the payload
        return (lambda t, y, sample, a: t, _by_shape_of_log if self.log else _by_shape)


def _by_shape(t: Term, y: Term, sample: Term, a: Term) -> Term:
    return GAMMA_GRAD(a, sample) * t


def _by_shape_of_log(t: Term, y: Term, sample: Term, a: Term) -> Term:
    info = np.finfo(sample.dtype)
    x = MAXIMUM(EXP(sample), float(info.tiny))
    # A sample that is 0 has no weight, and 0 times an infinite rate would be NaN.
    return MINIMUM(GAMMA_GRAD(a, x) / x, float(info.max)) * t


@payload
class GammaGrad(Elementwise, name="gamma_grad"):
    """dx/da of a sample x of the gamma distribution of shape a; the operands are a and x.

    It has no derivative.
    """

    n_inputs = 2
    kinds = "f"

    def numpy(self, a: NumpyArray, x: NumpyArray) -> NumpyArray:
        """In double precision, to about 1e-10."""
        return gamma_grad(a.astype(np.float64), x.astype(np.float64)).astype(x.dtype)


GAMMA_GRAD = GammaGrad()
_STEPS = 20_000


LARGE_SHAPE = 4e6
"""Above it the derivative is that of x = a + z√a + (z² − 1)/3, of fixed z, to 1e-9."""


def gamma_grad_of_large(a: Any, x: Any) -> Any:
    """The derivative for shapes above `LARGE_SHAPE`, of arrays of any library."""
    distance = x / a - 1
    return 1 + distance / 2 - (distance * distance - 1 / a) / 6


def gamma_grad(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """The derivative, by a series for x below a or 1, else by a continued fraction."""
    result = np.full(x.shape, np.nan)
    known = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    normal = known & (a > LARGE_SHAPE)
    small = known & ~normal & ((x <= 1) | (x <= a))
    large = known & ~normal & ~small
    result[normal] = gamma_grad_of_large(a[normal], x[normal])
    result[small] = _by_series(a[small], x[small])
    result[large] = _by_fraction(a[large], x[large])
    result[(x == 0) & (a > 0)] = 0
    return result


def _by_series(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """With P = p·(x/a)·S and S = Σ xⁿ/((a+1)…(a+n)), for p the density."""
    term, total = np.ones_like(x), np.ones_like(x)
    slope, total_slope = np.zeros_like(x), np.zeros_like(x)
    for n in range(1, _STEPS):
        slope = (slope - term / (a + n)) * x / (a + n)
        term = term * x / (a + n)
        total, total_slope = total + term, total_slope + slope
        if np.all((term <= 1e-17 * total) & (-slope <= -1e-17 * total_slope)):
            break
    return np.asarray(-(x / a) * (total * (np.log(x) - digamma(a + 1)) + total_slope))


def _by_fraction(a: NumpyArray, x: NumpyArray) -> NumpyArray:
    """With Q = p·x·h, where h = 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))).

    Both convergents and their derivatives by a follow one recurrence.
    """
    zero, one = np.zeros_like(x), np.ones_like(x)
    b = x + 1 - a
    (p0, p1), (q0, q1) = (zero, one), (one, b)
    (dp0, dp1), (dq0, dq1) = (zero, zero), (zero, -one)
    h, dh = p1 / q1, -dq1 * p1 / q1**2
    done = np.zeros(x.shape, bool)
    for n in range(1, _STEPS):
        factor, slope = -n * (n - a), float(n)
        b = b + 2
        p2, q2 = b * p1 + factor * p0, b * q1 + factor * q0
        dp2 = -p1 + b * dp1 + slope * p0 + factor * dp0
        dq2 = -q1 + b * dq1 + slope * q0 + factor * dq0
        scale = 1 / np.maximum(np.abs(q2), 1e-300)
        p0, p1, q0, q1 = p1 * scale, p2 * scale, q1 * scale, q2 * scale
        dp0, dp1, dq0, dq1 = dp1 * scale, dp2 * scale, dq1 * scale, dq2 * scale
        value = p1 / q1
        slope_of = (dp1 - value * dq1) / q1
        near = np.abs(slope_of - dh) <= 1e-15 * (np.abs(slope_of) + np.abs(value))
        h, dh = np.where(done, h, value), np.where(done, dh, slope_of)
        done |= near & (n > 4)  # rounding spoils the derivative of later convergents
        if done.all():
            break
    return np.asarray(x * (h * (np.log(x) - digamma(a)) + dh))


def digamma(x: NumpyArray) -> NumpyArray:
    """The derivative of the logarithm of the gamma function, for x > 0.

    By the recurrence up to 10, and the asymptotic series from there.
    """
    below = np.zeros_like(x)
    for _ in range(10):
        low = x < 10
        below = below + np.where(low, 1 / x, 0)
        x = np.where(low, x + 1, x)
    inverse = 1 / (x * x)
    series = np.zeros_like(x)
    for coefficient in reversed(_BERNOULLI_NUMBERS):
        series = (series + coefficient) * inverse
    return np.asarray(np.log(x) - 0.5 / x - series - below)


_BERNOULLI_NUMBERS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""B₂ₖ/(2k) for k = 1, 2, …"""
