"""Distributions that follow from others by a formula."""

from __future__ import annotations

from typing import Any

from tenferro import numpy as tn
from tenferro.ir import (
    INT64,
    AnyTensor,
    ArrayLike,
    DTypeLike,
    Shape,
    default_float,
    dtype_kind,
    float_limits,
)
from tenferro.ops.functions import manipulation
from tenferro.random.continuous import AnyKey, exponential, normal, uniform
from tenferro.random.discrete import rademacher
from tenferro.random.gamma import gamma, loggamma
from tenferro.random.prng import element, prepared, real_array, sizes, split, words_of

__all__ = [
    "chisquare",
    "double_sided_maxwell",
    "f",
    "generalized_normal",
    "geometric",
    "lognormal",
    "maxwell",
    "pareto",
    "rayleigh",
    "triangular",
    "wald",
    "weibull_min",
]


def lognormal(
    key: AnyKey, sigma: ArrayLike = 1.0, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers whose logarithms are normal with mean 0 and deviation sigma.

    Args:
        key: a key.
        sigma: real; broadcasts to the shape. Results are differentiable by it.
        shape: of the result; by default that of sigma.
        dtype: floating-point, float64 by default; or complex.

    Raises:
        DTypeError: it is not a key, dtype is neither floating-point nor complex, or sigma is
            complex.
        ShapeError: it is an array of keys, or sigma does not broadcast to the shape.

    >>> bool((tn.random.lognormal(tn.random.key(0), 0.5, (3,)) > 0).all())
    True
    """
    kind, result, deviation = prepared("random.lognormal", key, shape, dtype, "fc", sigma=sigma)
    return tn.exp(normal(key, result, kind) * deviation)


def pareto(
    key: AnyKey, b: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers of the Pareto distribution, of 1 and above.

    Args:
        key: a key.
        b: the exponent, positive; broadcasts to the shape. Results are differentiable by it.
        shape: of the result; by default that of b.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or b is complex.
        ShapeError: it is an array of keys, or b does not broadcast to the shape.

    >>> bool((tn.random.pareto(tn.random.key(0), 2.0, (3,)) >= 1).all())
    True
    """
    kind, result, exponent = prepared("random.pareto", key, shape, dtype, b=b)
    return tn.exp(exponential(key, result, kind) / exponent)


def rayleigh(
    key: AnyKey, scale: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers of the Rayleigh distribution.

    Args:
        key: a key.
        scale: positive; broadcasts to the shape. Results are differentiable by it.
        shape: of the result; by default that of scale.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or the scale is complex.
        ShapeError: it is an array of keys, or the scale does not broadcast to the shape.

    >>> tn.random.rayleigh(tn.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    kind, result, factor = prepared("random.rayleigh", key, shape, dtype, scale=scale)
    return factor * tn.sqrt(tn.log(uniform(key, result, kind)) * -2)  # type: ignore[no-any-return]


def weibull_min(
    key: AnyKey,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """Numbers of the Weibull distribution.

    Args:
        key: a key.
        scale, concentration: positive; they broadcast to the shape. Results are differentiable by
            them.
        shape: of the result.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ShapeError: it is an array of keys, or a parameter does not broadcast to the shape.

    >>> tn.random.weibull_min(tn.random.key(0), 1.0, 2.0, (3,)).shape
    (3,)
    """
    kind, result, factor, power = prepared(
        "random.weibull_min", key, shape, dtype, scale=scale, concentration=concentration
    )
    level = -tn.log1p(-uniform(key, result, kind))
    return level ** (1 / power) * factor  # type: ignore[no-any-return]


def triangular(
    key: AnyKey,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """Numbers between `left` and `right`, whose density rises up to `mode` and falls from there.

    Args:
        key: a key.
        left, mode, right: ascending; they broadcast to the shape. Results are differentiable by
            them.
        shape: of the result; by default the common shape of the three.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ShapeError: it is an array of keys, or a parameter does not broadcast to the shape.

    >>> bool((tn.random.triangular(tn.random.key(0), 1, 2, 3, (9,)) > 1).all())
    True
    """
    kind, result, low, top, high = prepared(
        "random.triangular", key, shape, dtype, left=left, mode=mode, right=right
    )
    u: Any = uniform(key, result, kind)
    width = high - low
    info = float_limits(kind)
    # JAX's formula, but where squares of the width are not finite or lose digits
    small = (width > 0) & (width < float(info.tiny / info.eps) ** 0.5)
    scaled = small | (width > float(info.max) ** 0.5)
    left_part, right_part = top - low, high - top
    inner, outer = tn.where(scaled, 1.0, width), tn.where(scaled, width, 1.0)
    rising = low + tn.sqrt(u * inner * (left_part / outer)) * outer
    falling = high - tn.sqrt((1 - u) * inner * (right_part / outer)) * outer
    return tn.where(u < left_part / width, rising, falling)


def wald(
    key: AnyKey, mean: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers of the Wald distribution, the inverse Gaussian one, of scale 1.

    Args:
        key: a key.
        mean: positive, infinite too; broadcasts to the shape. Results are differentiable by it,
            where the choice between two roots stays the same.
        shape: of the result; by default that of mean.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or the mean is complex.
        ShapeError: it is an array of keys, or the mean does not broadcast to the shape.

    >>> tn.random.wald(tn.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    kind, result, center = prepared("random.wald", key, shape, dtype, mean=mean)
    keys: Any = split(key)
    numbers: Any = normal(keys[0], result, kind)
    level = uniform(keys[1], result, kind)
    y: Any = numbers * numbers
    # JAX's formula for the smaller root of a quadratic equation; a formula without a difference
    # where the difference has lost half of its digits, or the square of the mean has
    info = float_limits(kind)
    large = ~(center * y <= float(info.eps) ** -0.25) | (
        center < float(info.tiny / info.eps) ** 0.5
    )
    few: Any = tn.where(large, 1.0, center)
    square = few * few
    root = tn.sqrt(4 * few * y + square * (y * y))
    x = few + square * y / 2 - few / 2 * root
    usual = tn.where(level <= few / (few + x), x, square / x)
    many: Any = tn.where(large, center, 1.0)
    x = 2 / (2 / many + y + tn.sqrt(y * (y + 4 / many)))
    return tn.where(large, tn.where(level <= 1 / (1 + x / many), x, many * (many / x)), usual)


def maxwell(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Lengths of vectors of three normal numbers: the Maxwell distribution of scale 1.

    Args:
        key: a key.
        shape: of the result.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, or dtype is not floating-point.
        ShapeError: it is an array of keys.

    >>> tn.random.maxwell(tn.random.key(0), (3,)).shape
    (3,)
    """
    kind, result = prepared("random.maxwell", key, shape, dtype)
    vectors: Any = normal(key, (*result, 3), kind)
    return tn.sqrt(tn.sum(vectors * vectors, axis=-1))


def double_sided_maxwell(
    key: AnyKey,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """Numbers of the Maxwell distribution with a random sign, times `scale`, plus `loc`.

    Args:
        key: a key.
        loc: the center.
        scale: the scale, which broadcasts with the center.
        shape: the axes before those of the center and the scale; if it is (), there are only those.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ShapeError: it is an array of keys, or the parameters do not broadcast.

    >>> tn.random.double_sided_maxwell(tn.random.key(0), 0.0, 2.0, (3,)).shape
    (3,)
    """
    name = "random.double_sided_maxwell"
    words_of(name, key)
    own = sizes(name, None, loc, scale)
    kind = element(name, dtype)
    whole = (*(manipulation.sizes_of(shape) or own), *own)
    lengths, signs = split(key)
    center: Any = real_array(name, "loc", loc, kind)
    width: Any = real_array(name, "scale", scale, kind)
    drawn = maxwell(lengths, whole, kind) * rademacher(signs, whole, kind)
    result: AnyTensor = drawn * width + center
    return result


def geometric(
    key: AnyKey, p: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """How many trials it takes up to the first success, which has probability p.

    Args:
        key: a key.
        p: above 0, at most 1; broadcasts to the shape.
        shape: of the result; by default that of p.
        dtype: an integer type; int64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not of integers, or p is complex.
        ShapeError: it is an array of keys, or p does not broadcast to the shape.

    >>> bool((tn.random.geometric(tn.random.key(0), 0.5, (3,)) >= 1).all())
    True
    """
    name = "random.geometric"
    words_of(name, key)
    kind, result = element(name, dtype, "iu", INT64), sizes(name, shape, p)
    dtype_of_p = tn.asarray(p).dtype
    chance = real_array(
        name, "p", p, dtype_of_p if dtype_kind(dtype_of_p) == "f" else default_float()
    )
    u: Any = uniform(key, result, chance.dtype)
    log_u = tn.log(tn.where(u == 0, 1.0, u))
    trials: AnyTensor = (tn.floor(log_u / tn.log1p(-chance)) + 1).astype(kind)
    return trials


def chisquare(
    key: AnyKey, df: ArrayLike, shape: Shape | None = None, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers of the chi-square distribution.

    Args:
        key: a key.
        df: the degrees of freedom, positive; they broadcast to the shape. Results are
            differentiable by them, once.
        shape: of the result; by default that of df.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or df is complex.
        ShapeError: it is an array of keys, or df does not broadcast to the shape.

    >>> tn.random.chisquare(tn.random.key(0), 3.0, (4,)).shape
    (4,)
    """
    kind, result, degrees = prepared("random.chisquare", key, shape, dtype, df=df)
    return tn.exp(loggamma(key, degrees / 2, result, kind)) * 2


def f(
    key: AnyKey,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """Numbers of the F distribution: the ratio of two means of squares.

    Args:
        key: a key.
        dfnum, dfden: the degrees of freedom, positive; they broadcast to the shape. Results are
            differentiable by them, once.
        shape: of the result; by default the common shape of both.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or a parameter is complex.
        ShapeError: it is an array of keys, or a parameter does not broadcast to the shape.

    >>> tn.random.f(tn.random.key(0), 3.0, 4.0, (2,)).shape
    (2,)
    """
    kind, result, above, below = prepared("random.f", key, shape, dtype, dfnum=dfnum, dfden=dfden)
    keys: Any = split(key)
    ratio: AnyTensor = _mean_square(keys[1], above, result, kind) / _mean_square(
        keys[0], below, result, kind
    )
    return ratio


def _mean_square(key: Any, df: Any, shape: Any, kind: Any) -> Any:
    """The mean of df squares, which is 1 for infinitely many."""
    many = tn.isinf(df)
    some: Any = tn.where(many, 1.0, df)
    return tn.where(many, 1.0, chisquare(key, some, shape, kind) / some)


def generalized_normal(
    key: AnyKey, p: ArrayLike, shape: Shape = (), dtype: DTypeLike | None = None
) -> AnyTensor:
    """Numbers with the density exp(-|x|ᵖ), up to a factor.

    Args:
        key: a key.
        p: the exponent, positive; broadcasts to the shape. Results are differentiable by it, once.
        shape: of the result.
        dtype: floating-point; float64 by default.

    Raises:
        DTypeError: it is not a key, dtype is not floating-point, or p is complex.
        ShapeError: it is an array of keys, or p does not broadcast to the shape.

    >>> tn.random.generalized_normal(tn.random.key(0), 4.0, (2,)).shape
    (2,)
    """
    kind, result, exponent = prepared("random.generalized_normal", key, shape, dtype, p=p)
    power = 1 / exponent
    keys: Any = split(key)
    signs: Any = rademacher(keys[1], result, kind)
    return signs * gamma(keys[0], power, result, kind) ** power  # type: ignore[no-any-return]
