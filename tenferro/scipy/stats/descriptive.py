"""Functions of samples: `sem`, `mode` and `rankdata`."""

from __future__ import annotations

from typing import Any, NamedTuple

from tenferro import lax
from tenferro import numpy as tn
from tenferro.errors import ConfigError
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.numpy import nanstd

__all__ = ["ModeResult", "mode", "rankdata", "sem"]

_RANKS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """What `mode` returns.

    Attributes:
        mode: the most frequent value.
        count: how often it occurs.
    """

    mode: AnyTensor
    count: AnyTensor  # type: ignore[assignment]  # the name that SciPy gives it


def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> AnyTensor:
    """The standard error of the mean.

    Args:
        a: the sample.
        axis: along which axis; None is all of them.
        ddof: is subtracted from the number of elements in the variance.
        nan_policy: "propagate", or "omit" to leave out NaN.
        keepdims: whether the axis remains, with size 1.

    Raises:
        ConfigError: there is no such policy.

    >>> tn.scipy.stats.sem([1.0, 2.0, 3.0])
    Tensor(0.57735027)
    """
    _check_policy("sem", nan_policy, ("propagate", "omit"))
    sample: Any = tn.asarray(a)
    if nan_policy == "omit":
        count = tn.sum(~tn.isnan(sample), axis=axis, keepdims=keepdims)
        return nanstd(sample, axis=axis, ddof=ddof, keepdims=keepdims) / tn.sqrt(count)
    deviation = tn.std(sample, axis=axis, correction=ddof, keepdims=keepdims)
    size = sample.size if axis is None else sample.shape[axis]
    return deviation / tn.sqrt(tn.cast(tn.asarray(size), deviation.dtype))


def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along an axis, the smallest of several, and how often it occurs.

    Args:
        a: the sample. NaN is a value like others, larger than all numbers.
        axis: along which axis; None is all of them.
        nan_policy: only "propagate".
        keepdims: whether the axis remains, with size 1.

    Raises:
        ConfigError: there is no such policy.

    >>> tn.scipy.stats.mode([3, 1, 1, 3, 2])
    ModeResult(mode=Tensor(1), count=Tensor(2))
    """
    _check_policy("mode", nan_policy, ("propagate",))
    array: Any = tn.asarray(a)
    sample, along = (tn.ravel(array), 0) if axis is None else (tn.atleast_1d(array), axis)
    ordered: Any = tn.moveaxis(tn.sort(sample, axis=along), along, -1)
    if not ordered.shape[-1]:
        value, count = tn.full(ordered.shape[:-1], tn.nan), tn.zeros(ordered.shape[:-1], "int64")
    else:
        lengths = _places(ordered) - _first_places(ordered) + 1
        at = tn.argmax(lengths, axis=-1, keepdims=True)
        value, count = (
            tn.take_along_axis(each, at, axis=-1)[..., 0] for each in (ordered, lengths)
        )
    if keepdims:
        shape = (1,) * array.ndim if axis is None else tn.expand_dims(value, axis=along).shape
        value, count = tn.reshape(value, shape), tn.reshape(count, shape)
    return ModeResult(value, count)


def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> AnyTensor:
    """The rank of each element among all, or along an axis; the smallest has rank 1.

    Args:
        a: the sample. Where it has a NaN, all ranks are NaN.
        method: the rank of equal elements: "average", "min" or "max" of their places; "dense": the
            next larger element has the next rank; "ordinal": in the order of the sample.
        axis: along which axis; None ranks all elements, as a vector.
        nan_policy: only "propagate".

    Raises:
        ConfigError: there is no such method or policy.

    >>> tn.scipy.stats.rankdata([1, 3, 2, 3])
    Tensor([1. , 3.5, 2. , 3.5])
    """
    _check_policy("rankdata", nan_policy, ("propagate",))
    if method not in _RANKS:
        raise ConfigError(f"rankdata: method must be one of {', '.join(_RANKS)}, got {method!r}")
    sample: Any = tn.ravel(a) if axis is None else tn.moveaxis(tn.asarray(a), axis, -1)
    order = tn.argsort(sample, axis=-1, stable=True)
    ordered: Any = tn.take_along_axis(sample, order, axis=-1, mode="clip")
    ranks = tn.cast(_ranks(ordered, method), "float64")
    placed: Any = tn.take_along_axis(ranks, tn.argsort(order, axis=-1), axis=-1, mode="clip")
    unordered = tn.any(tn.isnan(sample), axis=-1, keepdims=True)
    result = tn.where(unordered, tn.nan, placed)
    return result if axis is None else tn.moveaxis(result, -1, axis)


def _ranks(ordered: Any, method: str) -> Any:
    """The ranks of sorted elements along the last axis."""
    places = _places(ordered)
    if method == "ordinal":
        return places + 1
    if method == "dense":
        return tn.cumsum(_is_new(ordered), axis=-1)
    first = _first_places(ordered) + 1
    if method == "min":
        return first
    backwards = _first_places(tn.flip(ordered, axis=-1))
    last = ordered.shape[-1] - tn.flip(backwards, axis=-1)
    return last if method == "max" else (first + last) / 2


def _places(ordered: Any) -> Any:
    return tn.broadcast_to(tn.arange(ordered.shape[-1]), ordered.shape)


def _is_new(ordered: Any) -> Any:
    """Whether an element differs from the one before it along the last axis. NaN equals NaN."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    differs = (before != after) & ~(tn.isnan(before) & tn.isnan(after))
    return tn.concat([tn.ones_like(ordered[..., :1], dtype="bool"), differs], axis=-1)


def _first_places(ordered: Any) -> Any:
    """The first place along the last axis with the same element."""
    places = tn.where(_is_new(ordered), _places(ordered), 0)
    return lax.cummax(places, axis=places.ndim - 1)


def _check_policy(name: str, policy: str, known: tuple[str, ...]) -> None:
    if policy not in known:
        raise ConfigError(f"{name}: nan_policy must be {' or '.join(known)}, got {policy!r}")
