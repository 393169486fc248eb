"""Bits, integers, booleans, categories, choices and permutations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro.config import flag
from tenferro.errors import DTypeError, ShapeError, class_of
from tenferro.ir import (
    FLOAT64,
    INT64,
    UINT32,
    UINT64,
    AnyTensor,
    ArrayLike,
    DimExpr,
    DType,
    DTypeLike,
    Shape,
    TensorMeta,
    as_dtype,
    default_float,
    dtype_kind,
    float_limits,
    refuse_traced,
)
from tenferro.numpy import arange, asarray
from tenferro.ops import REM
from tenferro.ops.functions import (
    analytic,
    elementwise,
    emit,
    is_number,
    logical,
    manipulation,
    normal_axis,
    promotion,
    reductions,
)
from tenferro.random.continuous import AnyKey, Sizes, checked_mode, draw_gumbel, unit
from tenferro.random.prng import (
    draw,
    drawn_bits,
    lifted,
    natural,
    numbers,
    real,
    sizes,
    split_words,
    words_of,
)
from tenferro.runtime import meta_of_value

__all__ = ["bernoulli", "bits", "categorical", "choice", "permutation", "rademacher", "randint"]


def bits(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Random bits, as unsigned integers.

    Args:
        key: a key.
        shape: of the result.
        dtype: an unsigned integer type; uint64 by default.

    Raises:
        DTypeError: it is not a key, or dtype is not unsigned.
        ShapeError: it is an array of keys.

    >>> tn.random.bits(tn.random.key(0), (2,), "uint8").dtype
    dtype('uint8')
    """
    name = "random.bits"
    return numbers(name, drawn_bits, key, shape, dtype, kinds="u", default=UINT64, purpose="bits")


def randint(
    key: AnyKey, shape: Shape, minval: ArrayLike, maxval: ArrayLike, dtype: DTypeLike | None = None
) -> AnyTensor:
    """Integers from `minval` to `maxval`, which is excluded, each as likely.

    Where the range is empty, the result is `minval`.

    Args:
        key: a key.
        shape: of the result.
        minval, maxval: the bounds, integers that broadcast to the shape. Those beyond the range of
            dtype are cut to it.
        dtype: an integer type; int64 by default.

    Raises:
        DTypeError: it is not a key, or dtype or a bound is not of integers.
        ShapeError: it is an array of keys, or a bound does not broadcast to the shape.

    >>> tn.random.randint(tn.random.key(0), (4,), 0, 10)
    Tensor([...])
    """
    name = "random.randint"
    for field, bound in (("minval", minval), ("maxval", maxval)):
        if isinstance(bound, DimExpr) or (isinstance(bound, int) and not isinstance(bound, bool)):
            continue
        meta = None if is_number(bound) else meta_of_value(lifted(bound))
        if meta is None or dtype_kind(meta.dtype) not in "iu":
            got = meta or type(bound).__name__
            raise DTypeError(f"{name}: {field} must be an integer, got {got}")
    bounds = (minval, maxval)
    return numbers(name, draw_randint, key, shape, dtype, *bounds, kinds="iu", default=INT64)


def bernoulli(
    key: AnyKey, p: ArrayLike = 0.5, shape: Shape | None = None, mode: str = "low"
) -> AnyTensor:
    """Booleans that are true with probability `p`.

    Args:
        key: a key.
        p: floating-point; broadcasts to the shape. Its dtype is that of the numbers compared.
        shape: of the result; by default that of p.
        mode: "low", or "high", which draws twice the bits for probabilities near 0.

    Raises:
        DTypeError: it is not a key, or p is not floating-point.
        ConfigError: the mode is neither.
        ShapeError: it is an array of keys, or p does not broadcast to the shape.

    >>> tn.random.bernoulli(tn.random.key(0), 0.5, (2,)).dtype
    dtype('bool')
    """
    name = "random.bernoulli"
    meta = TensorMeta.of(default_float(), ()) if isinstance(p, float) else meta_of_value(lifted(p))
    if (is_number(p) and not isinstance(p, float)) or meta is None or dtype_kind(meta.dtype) != "f":
        got = type(p).__name__ if is_number(p) else meta
        raise DTypeError(f"{name}: p must be floating-point, got {got}")
    how = checked_mode(name, mode)
    result = sizes(name, shape, p)
    return draw(name, draw_bernoulli, key, p, shape=result, dtype=meta.dtype, mode=how)


def rademacher(key: AnyKey, shape: Shape = (), dtype: DTypeLike | None = None) -> AnyTensor:
    """Numbers that are 1 or -1, each as likely.

    Args:
        key: a key.
        shape: of the result.
        dtype: int64 by default.

    >>> tn.random.rademacher(tn.random.key(0), (3,)).shape
    (3,)
    """
    name = "random.rademacher"
    return numbers(name, draw_rademacher, key, shape, dtype, kinds="iufc", default=INT64)


def categorical(
    key: AnyKey,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
) -> AnyTensor:
    """Places along an axis of `logits`, drawn with probabilities softmax(logits).

    Args:
        key: a key.
        logits: logarithms of weights, floating-point.
        axis: the axis of the categories.
        shape: of the result; its last axes are those of logits without `axis`. By default there are
            no others.
        replace: if false, the draws along the further axes of the shape are different places.
        mode: of the noise; see `gumbel`.

    Raises:
        DTypeError: it is not a key, or logits are not floating-point.
        ShapeError: it is an array of keys, the shape does not end as it must, or more places are to
            be drawn without replacement than there are.
        AxisError: the axis is out of range.

    >>> tn.random.categorical(tn.random.key(0), [0.0, float("-inf")])
    Tensor(0)
    """
    name = "random.categorical"
    value: Any = asarray(logits)
    meta: TensorMeta | None = getattr(value, "meta", None)
    if meta is None or dtype_kind(meta.dtype) != "f":
        raise DTypeError(f"{name}: logits must be floating-point, got {meta or class_of(value)}")
    place, how = normal_axis(name, axis, meta.rank), checked_mode(name, mode)
    dims = list(meta.exact_shape(name, "logits"))
    size = dims.pop(place)
    if size == 0:
        raise ShapeError(f"{name}: axis {axis} of {meta} has no elements to choose from")
    result = tuple(dims) if shape is None else sizes(name, shape)
    draws = result[: len(result) - len(dims)]
    of_logits = list(result[len(draws) :])
    if len(result) < len(dims) or any(
        n != of for n, of in zip(of_logits, dims, strict=True) if of != 1
    ):
        raise ShapeError(
            f"{name}: shape {result} must end with {tuple(dims)}, the axes of {meta} without {axis}"
        )
    of_logits.insert(place, size)
    if replace:
        noise = (*draws, *of_logits)
        along = place - meta.rank
        return draw(name, draw_categorical, key, value, shape=noise, axis=along, mode=how)
    count = _number(name, draws)
    if isinstance(size, int) and count > size:
        raise ShapeError(f"{name}: {count} without replacement from {size}")
    options = {"axis": place, "count": count, "mode": how}
    places = draw(name, categories, key, value, shape=tuple(meta.dims or ()), **options)
    return places.reshape(result)


def _number(name: str, shape: tuple[Any, ...]) -> int:
    if not all(isinstance(size, int) for size in shape):
        raise ShapeError(f"{name}: without replacement, the number of draws must be an integer")
    return math.prod(shape)


def permutation(
    key: AnyKey, x: int | ArrayLike, axis: int = 0, independent: bool = False
) -> AnyTensor:
    """x in random order along an axis; if x is an integer, the integers below it.

    Args:
        key: a key.
        x: an integer, or an array.
        axis: the axis.
        independent: whether each vector along the axis has an order of its own.

    Raises:
        DTypeError: it is not a key, or x is a number that is not an integer.
        ShapeError: it is an array of keys, or the size is not an integer.
        AxisError: the axis is out of range.

    >>> tn.sort(tn.random.permutation(tn.random.key(0), 4))
    Tensor([0, 1, 2, 3])
    """
    name = "random.permutation"
    words_of(name, key)
    value = _population(name, "x", x)
    place = normal_axis(name, axis, value.meta.rank)
    shape = value.meta.exact_shape(name, "x")
    if not all(isinstance(size, int) for size in shape):
        raise ShapeError(f"{name}: the sizes of x must be integers, got {value.meta}")
    if flag("random.permutation: independent", independent) or value.meta.rank == 1:
        return draw(name, shuffled, key, value, shape=shape, axis=place)
    order = permutation(key, shape[place])
    result: AnyTensor = value[(*(slice(None),) * place, order)]
    return result


def _population(name: str, what: str, x: Any) -> Any:
    """The array from which is drawn: a range for an integer."""
    if isinstance(x, int) and not isinstance(x, bool):
        return _range(natural(name, what, x))
    if isinstance(x, DimExpr):
        return arange(x)
    value: Any = asarray(x)
    if value.meta.rank:
        return value
    refuse_traced(name, what, value)
    if dtype_kind(value.meta.dtype) not in "iu":
        raise DTypeError(f"{name}: {what} must be an integer or an array, got {value.meta}")
    return _range(natural(name, what, int(value)))


def _range(stop: int) -> Any:
    return arange(stop) if stop else asarray([], dtype="int64")


def choice(
    key: AnyKey,
    a: int | ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> AnyTensor:
    """Elements of an array, or integers below `a`, drawn with or without replacement.

    Args:
        key: a key.
        a: an array, or an integer.
        shape: of the draws; in the result, it takes the place of the axis.
        replace: whether an element may be drawn more than once.
        p: the probability of each element; by default all are alike.
        axis: the axis along which elements are drawn.
        mode: of the noise without replacement; see `gumbel`.

    Raises:
        DTypeError: it is not a key, or a number is not an integer.
        ShapeError: it is an array of keys, there are too few elements, or p has another size.
        AxisError: the axis is out of range.

    >>> tn.random.choice(tn.random.key(0), 5, (8,), p=[0.0, 0.0, 1.0, 0.0, 0.0])
    Tensor([2, 2, 2, 2, 2, 2, 2, 2])
    """
    name = "random.choice"
    words_of(name, key)
    replace = flag(f"{name}: replace", replace)
    value = _population(name, "a", a)
    place = normal_axis(name, axis, value.meta.rank)
    size = value.meta.exact_shape(name, "a")[place]
    result = sizes(name, shape)
    count = _number(name, result) if not replace or all(isinstance(n, int) for n in result) else 1
    if count == 0:
        places: AnyTensor = asarray([], dtype="int64").reshape(result)
    elif size == 0:
        raise ShapeError(f"{name}: {count} from 0 elements")
    elif not replace and isinstance(size, int) and count > size:
        raise ShapeError(f"{name}: {count} without replacement from {size}")
    elif p is None:
        if not replace:
            order = permutation(key, value, place)
            first = order[(*(slice(None),) * place, slice(0, count))]
            dims = value.meta.exact_shape(name, "a")
            return first.reshape((*dims[:place], *result, *dims[place + 1 :]))
        places = randint(key, result, 0, size)
    else:
        places = _weighted(key, p, size, result, count if not replace else None, mode)
    whole = (slice(None),) * place
    drawn: AnyTensor = value[(*whole, places)]
    return drawn


def _weighted(
    key: AnyKey,
    p: ArrayLike,
    size: Any,
    shape: tuple[Any, ...],
    count: int | None,
    mode: str | None,
) -> AnyTensor:
    """Places with given probabilities; `count` different ones, or with replacement if None."""
    name = "random.choice"
    weights: Any = asarray(p)
    if weights.meta.dims != (size,):
        raise ShapeError(
            f"{name}: p must have {size} elements, one for each of a, got {weights.meta}"
        )
    if dtype_kind(weights.dtype) in "biu":
        weights = weights.astype(FLOAT64)
    if dtype_kind(weights.dtype) != "f":
        raise DTypeError(f"{name}: p must be real, got {weights.meta}")
    if count is None:
        return draw(name, chosen_by, key, weights, shape=shape)
    how = checked_mode(name, mode)
    places = draw(name, first_places, key, weights, shape=(size,), count=count, mode=how)
    return places.reshape(shape)


def draw_randint(
    key: AnyTensor, minval: Any, maxval: Any, *, shape: Sizes, dtype: DType
) -> AnyTensor:
    """Integers of at least 32 bits from [minval, maxval): remainders of twice as many bits."""
    info = np.iinfo(dtype)
    wide = dtype if info.bits >= 32 else np.dtype(np.int32)
    low, _ = _clipped(minval, dtype, wide, 0)
    high, beyond = _clipped(maxval, dtype, wide, 1)
    unsigned = as_dtype(f"u{8 * wide.itemsize}")
    keys = split_words(key, shape=(2,))
    upper, lower = (drawn_bits(keys[i], shape, unsigned, "bits") for i in range(2))
    empty = high <= low
    span = elementwise.where(empty, 1, (high - low).astype(unsigned))
    if beyond is not None:
        span = elementwise.where(beyond & ~empty, span + 1, span)
    factor = _rem(2 ** (4 * wide.itemsize), span)
    factor = _rem(factor * factor, span)
    offset = _rem(_rem(upper, span) * factor + _rem(lower, span), span)
    if beyond is not None:  # the range may be that of the dtype: then its size is 0 here
        offset = elementwise.where(logical.equal(span, 0), lower, offset)
    return (low + offset.astype(wide)).astype(dtype)


def _clipped(
    bound: Any, dtype: DType, wide: DType, over: int
) -> tuple[AnyTensor, AnyTensor | None]:
    """A bound within the range of `dtype`, and whether it was above it.

    If the bits are drawn in a wider dtype, the bound may be `over` beyond the range.
    """
    info = np.iinfo(dtype)
    if isinstance(bound, DimExpr):
        bound = promotion.as_value(bound, INT64)
    if isinstance(bound, int):
        most = info.max if wide == dtype else info.max + over
        value = promotion.as_value(min(max(bound, info.min), most), wide)
        above = over and wide == dtype and bound > info.max
        return value, promotion.as_value(True, np.dtype(bool)) if above else None
    x = promotion.as_value(bound, bound.meta.dtype)
    of_bound = np.iinfo(x.dtype)
    most = min(info.max if wide == dtype else info.max + over, of_bound.max)
    beyond = x > info.max if over and wide == dtype and of_bound.max > info.max else None
    clipped = elementwise.minimum(elementwise.maximum(x, max(info.min, of_bound.min)), most)
    return clipped.astype(wide), beyond


def _rem(x: AnyTensor | int, y: AnyTensor) -> AnyTensor:
    dividend = promotion.as_value(x, y.dtype) if isinstance(x, int) else x
    return emit(REM, *promotion.broadcast("random.randint", [dividend, y]))


def draw_bernoulli(key: AnyTensor, p: Any, *, shape: Sizes, dtype: DType, mode: str) -> AnyTensor:
    """Whether uniform numbers are below p."""
    chance = real("random.bernoulli", "p", p, dtype)
    if mode == "low":
        return unit(key, shape, dtype, "random.bernoulli") < chance
    both = unit(key, (2, *shape), dtype, "random.bernoulli")
    fine = both[1] * 2.0 ** -float_limits(dtype).nmant
    return fine < chance - both[0]


def draw_rademacher(key: AnyTensor, *, shape: Sizes, dtype: DType) -> AnyTensor:
    """1 or -1."""
    heads = unit(key, shape, default_float(), "random.rademacher") < 0.5
    return (heads.astype(dtype) * 2 - 1).astype(dtype)


def draw_categorical(
    key: AnyTensor, logits: AnyTensor, *, shape: Sizes, axis: int, mode: str
) -> AnyTensor:
    """With replacement: the places of the largest sums with Gumbel noise, along `axis`.

    `shape` is that of the noise, which may have further axes in front; the axis is counted from the
    end.
    """
    noisy = draw_gumbel(key, shape=shape, dtype=logits.dtype, mode=mode) + logits
    return reductions.argmax(noisy, axis=axis)


def categories(
    key: AnyTensor, logits: AnyTensor, *, shape: Sizes, axis: int, count: int, mode: str
) -> AnyTensor:
    """Without replacement: the places of the `count` largest sums, along a first axis."""
    noisy = draw_gumbel(key, shape=shape, dtype=logits.dtype, mode=mode) + logits
    noisy = manipulation.moveaxis(noisy, source=axis, destination=-1)
    places: AnyTensor = reductions.top_places(noisy, k=count)
    return manipulation.moveaxis(places, source=-1, destination=0)


def shuffled(key: AnyTensor, x: AnyTensor, *, shape: Sizes, axis: int) -> AnyTensor:
    """x with each vector along an axis shuffled for itself: sorted by random bits."""
    result, words = x, key
    count = math.prod(size for size in shape if isinstance(size, int))
    iterations = math.ceil(3 * math.log(max(1, count)) / math.log(2**32 - 1))
    for _ in range(iterations):
        keys = split_words(words, shape=(2,))
        words = keys[0]
        order = drawn_bits(keys[1], shape, UINT32, "bits")
        places: AnyTensor = reductions.argsort(order, axis=axis)
        result = reductions.take_along_axis(result, places, axis=axis)
    return result


def chosen_by(key: AnyTensor, p: AnyTensor, *, shape: Sizes) -> AnyTensor:
    """Places, drawn with probabilities p: how many cumulated sums are below a random part."""
    sums: AnyTensor = reductions.cumsum(p)
    part = sums[-1] * (1 - unit(key, shape, sums.dtype, "random.choice"))
    (count,) = sums.shape
    if isinstance(count, int):
        return _number_below(sums, part, count)
    wide: AnyTensor = manipulation.expand_dims(part, axis=-1)
    return reductions.sum((sums < wide).astype(INT64), axis=-1)


def _number_below(sums: AnyTensor, part: AnyTensor, count: int) -> AnyTensor:
    """How many of `count` ascending numbers are below a part: bisection."""
    if not part.meta.rank:
        return _number_below(sums, manipulation.expand_dims(part, axis=0), count)[0]
    place = (part * 0).astype(INT64)
    for power in reversed(range(count.bit_length())):
        further = place + (1 << power)
        last: AnyTensor = elementwise.minimum(further, count)
        below = sums[(last - 1,)] < part
        place = elementwise.where((further <= count) & below, further, place)
    return place


def first_places(key: AnyTensor, p: AnyTensor, *, shape: Sizes, count: int, mode: str) -> AnyTensor:
    """`count` different places, drawn with probabilities p one after the other."""
    noisy = draw_gumbel(key, shape=shape, dtype=p.dtype, mode=mode)
    noisy = noisy + analytic.log(p)
    return reductions.top_places(noisy, k=count)
