"""The gamma distribution, and what is made of its numbers: beta, Dirichlet and Student's t.

Numbers are drawn by rejection, in a loop that ends when all are accepted. Derivatives by the
parameters are those of the inverse distribution function, for the same random level.
"""

from __future__ import annotations

from typing import Any

from tenferro import lax
from tenferro import numpy as tn
from tenferro.errors import ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DType, DTypeLike, Shape, product
from tenferro.ops import GammaSample
from tenferro.ops.functions import OpFunction, apply
from tenferro.random.continuous import AnyKey, between, draw_exponential, draw_normal, normal
from tenferro.random.prng import element, prepared, real_array, sizes, split, split_words, words_of
from tenferro.transforms import create, while_loop

__all__ = ["beta", "dirichlet", "gamma", "loggamma", "t"]


def gamma(
    key: AnyKey, a: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers of the gamma distribution of shape a and scale 1.

    Args:
        key: a key.
        a: positive; broadcasts to the shape. Results are differentiable by it, once.
        shape: of the result; by default that of a.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a is complex.
        ShapeError: it is an array of keys, or a does not broadcast to the shape.

    >>> bool((tn.random.gamma(tn.random.key(0), [0.5, 2.0]) > 0).all())
    True
    """
    return _gamma("random.gamma", key, a, shape, dtype, False)


def loggamma(
    key: AnyKey, a: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Logarithms of numbers of the gamma distribution, also where these are too small for dtype.

    Arguments are those of `gamma`.

    >>> tn.random.loggamma(tn.random.key(0), 0.001, (3,)).shape
    (3,)
    """
    return _gamma("random.loggamma", key, a, shape, dtype, True)


def _gamma(
    name: str, key: Any, a: Any, shape: Shape | None, dtype: DTypeLike | None, log: bool
) -> AnyTensor:
    """Numbers or their logarithms; each is drawn with a key of its own."""
    kind, result = element(name, dtype), sizes(name, shape, a)
    words = words_of(name, key)
    shapes = tn.broadcast_to(real_array(name, "a", a, kind), result).reshape((product(result),))
    words = create(split_words, words, shape=(product(result),))
    samples = _accepted(words, lax.stop_gradient(shapes), kind, log)
    return apply(OpFunction(GammaSample(log)), samples, shapes).reshape(result)


def _accepted(words: Any, a: Any, dtype: DType, log: bool) -> Any:
    """A number for each key and shape a, by the method of Marsaglia and Tsang (2000).

    For a below 1, a number for a + 1 times a power of a uniform one.
    """
    large = a >= 1
    d = tn.where(large, a, a + 1) - 1 / 3
    c = (1 / 3) / tn.sqrt(d)
    keys = create(split_words, words, shape=(2,))
    zero, one = tn.zeros_like(d), tn.ones_like(d)

    def rejected(state: Any) -> Any:
        _, x, v, u = state
        first = u >= 1 - 0.0331 * (x * x)
        return first & (tn.log(u) >= 0.5 * x + d * ((1 - v) + tn.log(v)))

    def again(state: Any) -> Any:
        key, *old = state
        active = rejected(state)
        three = create(split_words, key, shape=(3,))
        x, v = _with_positive_cube(three[:, 1], c, active, dtype)
        u = create(between, three[:, 2], 0.0, 1.0, shape=(), dtype=dtype)
        new = (x * x, v * v * v, u)
        renewed = [tn.where(active, n, o) for n, o in zip(new, old, strict=True)]
        return (tn.where(active[:, None], three[:, 0], key), *renewed)

    start = (keys[:, 0], zero, one, one * 2)
    _, _, v, _ = while_loop(lambda state: tn.any(rejected(state)), again, start)
    if log:
        exponents = create(draw_exponential, keys[:, 1], shape=(), dtype=dtype)
        return tn.log(d) + tn.log(v) - tn.where(large | (exponents == 0), 0.0, exponents / a)
    fractions = 1 - create(
        between, keys[:, 1], 0.0, 1.0, shape=(), dtype=dtype, purpose="random.uniform"
    )
    return d * v * tn.where(large, 1.0, fractions ** (1 / a))


def _with_positive_cube(words: Any, c: Any, active: Any, dtype: DType) -> tuple[Any, Any]:
    """Normal numbers x with 1 + c·x > 0, and 1 + c·x; numbers that are not active do not matter."""

    def again(state: Any) -> Any:
        key, x, v = state
        two = create(split_words, key, shape=(2,))
        drawn = create(draw_normal, two[:, 1], shape=(), dtype=dtype)
        open_ = v <= 0
        key = tn.where(open_[:, None], two[:, 0], key)
        return key, tn.where(open_, drawn, x), tn.where(open_, 1 + drawn * c, v)

    start = (words, tn.zeros_like(c), tn.where(active, -1.0, 1.0).astype(dtype))
    _, x, v = while_loop(lambda state: tn.any(state[2] <= 0), again, start)
    return x, v


def beta(
    key: AnyKey,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """Numbers of the beta distribution, between 0 and 1.

    Args:
        key: a key.
        a, b: positive; they broadcast to the shape. Results are differentiable by them, once.
        shape: of the result; by default the common shape of a and b.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ShapeError: it is an array of keys, or a parameter does not broadcast to the shape.

    >>> tn.random.beta(tn.random.key(0), 2.0, 3.0, (4,)).shape
    (4,)
    """
    kind, result, *shapes = prepared("random.beta", key, shape, dtype, a=a, b=b)
    keys: Any = split(key)
    logs = [loggamma(keys[i], value, result, kind) for i, value in enumerate(shapes)]
    largest = tn.maximum(*logs)
    first, second = (tn.exp(log - largest) for log in logs)
    return first / (first + second)


def dirichlet(
    key: AnyKey, alpha: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Vectors of the Dirichlet distribution: positive numbers whose sum is 1.

    Args:
        key: a key.
        alpha: positive, [..., n]. Results are differentiable by it, once.
        shape: of the result without the last axis; by default that of alpha without it.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or alpha is complex.
        ShapeError: it is an array of keys, or alpha has no axis or does not broadcast to the shape.

    >>> round(float(tn.random.dirichlet(tn.random.key(0), [1.0, 2.0, 3.0]).sum()), 6)
    1.0
    """
    name = "random.dirichlet"
    words_of(name, key)
    weights: Any = real_array(name, "alpha", alpha, element(name, dtype))
    if not weights.ndim:
        raise ShapeError(f"{name}: alpha must have at least one axis, got {weights.meta}")
    whole = weights.shape if shape is None else (*sizes(name, shape), weights.shape[-1])
    logs = loggamma(key, weights, whole, dtype)
    if whole[-1] == 0:
        return logs  # no elements, of which there is no largest one
    parts: Any = tn.exp(logs - lax.stop_gradient(tn.max(logs, axis=-1, keepdims=True)))
    result: AnyTensor = parts / tn.sum(parts, axis=-1, keepdims=True)
    return result


def t(
    key: AnyKey, df: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers of Student's t distribution.

    Args:
        key: a key.
        df: the degrees of freedom, positive; they broadcast to the shape. Results are
            differentiable by them, once. Infinitely many give normal numbers.
        shape: of the result; by default that of df.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or df is complex.
        ShapeError: it is an array of keys, or df does not broadcast to the shape.

    >>> tn.random.t(tn.random.key(0), 3.0, (4,)).shape
    (4,)
    """
    kind, result, degrees = prepared("random.t", key, shape, dtype, df=df)
    half = degrees / 2
    keys: Any = split(key)
    numbers: Any = normal(keys[0], result, kind)
    many = tn.isinf(half)
    half = tn.where(many, 1.0, half)
    scales = tn.sqrt(half / gamma(keys[1], half, result, kind))
    return numbers * tn.where(many, 1.0, scales)  # type: ignore[no-any-return]
