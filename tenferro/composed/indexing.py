"""Changed copies of arrays: elements put, inserted, deleted, chosen.

As in JAX, functions of NumPy that change an array return a changed copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tenferro import namespace as tn
from tenferro.composed.arguments import (
    along,
    array,
    check_affordable,
    constant_size,
    numbers,
    option,
    promoted,
    sizes,
    whole,
)
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Shape
from tenferro.ops.functions import normal_axis

__all__ = [
    "append",
    "choose",
    "delete",
    "fill_diagonal",
    "insert",
    "piecewise",
    "place",
    "put",
    "put_along_axis",
    "resize",
    "select",
]


def fill_diagonal(
    x: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> AnyTensor:
    """A copy of x with `val` on its main diagonal; a vector is repeated along it.

    Args:
        x: a matrix, or an array with axes of equal sizes.
        val: a number, or a vector.
        wrap: continue the diagonal below a tall matrix, after one empty row.
        inplace: must be given as False, as in JAX: x itself is not changed.

    >>> tn.fill_diagonal([[1, 2], [3, 4]], 0, inplace=False)
    Tensor([[0, 2],
            [3, 0]])
    """
    _copies("fill_diagonal", inplace)
    a = array("fill_diagonal", x)
    lengths = [constant_size("fill_diagonal", a, i) for i in range(a.ndim)]
    if len(lengths) < 2 or (len(lengths) > 2 and len(set(lengths)) > 1):
        raise ShapeError(f"fill_diagonal: takes a matrix or axes of equal sizes, got {a.meta}")
    step = sum(int(np.prod(lengths[i + 1 :])) for i in range(len(lengths)))
    end = int(np.prod(lengths)) if len(lengths) > 2 or wrap else lengths[1] * lengths[1]
    places = np.arange(0, int(np.prod(lengths)), step)
    places = places[places < end]
    return _with(a, places, _repeated("fill_diagonal", val, places.size))  # type: ignore[no-any-return]


def put(
    x: ArrayLike,
    ind: ArrayLike,
    v: ArrayLike,
    mode: str | None = None,
    *,
    inplace: bool = True,
) -> AnyTensor:
    """A copy of x with values at places of the flattened array; `v` is repeated if it is shorter.

    Args:
        x: an array.
        ind: integers; negative ones count from the end.
        v: values.
        mode: what out of bounds is: "clip" the nearest element, "wrap" counted on from the start;
            None drops the value.
        inplace: must be given as False, as in JAX: x itself is not changed.

    >>> tn.put([1, 2, 3], [0, -1], [7, 8], inplace=False)
    Tensor([7, 2, 8])
    """
    _copies("put", inplace)
    option("put", "mode", mode, (None, "clip", "wrap"))
    a = array("put", x)
    (places,) = whole("put", tn.ravel(ind))
    places = _within(places, a.size, mode)
    return _with(a, places, _repeated("put", v, constant_size("put", places, 0)))  # type: ignore[no-any-return]


def put_along_axis(
    x: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> AnyTensor:
    """A copy of x with values at `indices` along `axis`; options as of `put`.

    The other axes of `indices` are those of x, as of `take_along_axis`. Negative indices count from
    the end, with "clip" too.

    >>> tn.put_along_axis([[1, 2], [3, 4]], [[0], [1]], 9, axis=1, inplace=False)
    Tensor([[9, 2],
            [3, 9]])
    """
    _copies("put_along_axis", inplace)
    option("put_along_axis", "mode", mode, (None, "clip", "wrap"))
    a = array("put_along_axis", x)
    (places,) = whole("put_along_axis", indices)
    place = None if axis is None else normal_axis("put_along_axis", axis, a.ndim)
    if mode == "clip":  # of indices that are still negative when counted from the front
        size = a.size if place is None else a.shape[place]
        places = tn.where(places < 0, places + size, places)
    if place is None:
        return put(a.ravel(), places, values, mode, inplace=False).reshape(a.shape)
    if places.ndim != a.ndim:
        raise ShapeError(f"put_along_axis: indices {places.meta} must have the axes of {a.meta}")
    within = _within(places, a.shape[place], mode)
    shape = [places.shape[i] if i == place else size for i, size in enumerate(a.shape)]
    within = tn.broadcast_to(within, shape)
    grid = [
        within if i == place
        else tn.arange(size).reshape((*(1,) * i, size, *(1,) * (a.ndim - i - 1)))
        for i, size in enumerate(a.shape)
    ]  # fmt: skip
    return a.at[tuple(grid)].set(values)  # type: ignore[no-any-return]


def place(x: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> AnyTensor:
    """A copy of x with the first values at the elements where `mask` holds, in order; repeated.

    >>> tn.place([1, 2, 3, 4], [True, False, True, True], [7, 8], inplace=False)
    Tensor([7, 2, 8, 7])
    """
    _copies("place", inplace)
    a, where, values = array("place", x), array("place", mask), tn.ravel(vals)
    if where.size != a.size:
        raise ShapeError(f"place: mask {where.meta} must have as many elements as {a.meta}")
    chosen = where.ravel() != 0
    turn: Any = tn.cumsum(chosen) - 1
    new: Any = tn.take(values, tn.maximum(turn, 0), mode="wrap")
    return tn.where(chosen, new.astype(a.dtype), a.ravel()).reshape(a.shape)


def append(x: ArrayLike, values: ArrayLike, axis: int | None = None) -> AnyTensor:
    """x with `values` behind it along `axis`; both flattened first if None.

    >>> tn.append([1, 2], 3)
    Tensor([1, 2, 3])
    """
    return tn.concat([tn.atleast_1d(each) for each in promoted("append", x, values)], axis=axis)


def insert(x: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> AnyTensor:
    """x with values inserted before the indices `obj` along `axis`; of the flat array if None.

    Args:
        x: an array.
        obj: a slice, or one index or several, which must be known.
        values: what is inserted, repeated to the shape of the new part.
        axis: the axis.

    >>> tn.insert([1, 2, 3], 1, 9)
    Tensor([1, 9, 2, 3])
    """
    a, place = along("insert", array("insert", x), axis)
    size = constant_size("insert", a, place)
    places = _positions("insert", obj, size, size + 1)
    new = array("insert", values).astype(a.dtype)
    new = new.reshape((*(1,) * (a.ndim - new.ndim), *new.shape))
    if places.ndim == 0:
        new = tn.moveaxis(new, 0, place)
    count = constant_size("insert", new, place) if places.size == 1 else places.size
    flat = np.broadcast_to(places.ravel(), (count,))
    order = np.argsort(flat, kind="stable")
    targets = np.empty(count, np.int64)
    targets[order] = flat[order] + np.arange(count)
    shape = [count if i == place else part for i, part in enumerate(a.shape)]
    kept = np.setdiff1d(np.arange(size + count), targets)
    joined = tn.concat([a, tn.broadcast_to(new, shape)], axis=place)
    source = np.empty(size + count, np.int64)
    source[kept], source[targets] = np.arange(size), size + np.arange(count)
    return tn.take(joined, source, axis=place)


def delete(
    x: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> AnyTensor:
    """x without the indices `obj` along `axis`; of the flattened array if None.

    Args:
        x: an array.
        obj: a slice, or one index or several, which must be known.
        axis: the axis.
        assume_unique_indices: has no effect on the result.

    >>> tn.delete([1, 2, 3], 1)
    Tensor([1, 3])
    """
    a, place = along("delete", array("delete", x), axis)
    size = constant_size("delete", a, place)
    kept = np.delete(np.arange(size), _positions("delete", obj, size, size).ravel())
    return tn.take(a, kept, axis=place)


def resize(x: ArrayLike, new_shape: Shape) -> AnyTensor:
    """The elements of x in another shape, repeated from the start or cut off.

    >>> tn.resize([1, 2, 3], (2, 2))
    Tensor([[1, 2],
            [3, 1]])
    """
    flat = array("resize", x).ravel()
    shape = sizes("resize", new_shape)
    check_affordable("resize", *shape)
    size, total = constant_size("resize", flat, 0), int(np.prod(shape))
    if size == 0:
        return tn.zeros(shape, flat.dtype)
    return flat[np.arange(total) % size].reshape(shape)  # type: ignore[no-any-return]


def choose(x: ArrayLike, choices: Any, *, mode: str = "raise") -> AnyTensor:
    """For each element of x, the element there of the array `choices[x]`.

    Args:
        x: integers.
        choices: arrays of equal shapes, or shapes that broadcast with x.
        mode: out of bounds, "clip" takes the nearest choice and "wrap" counts on from the start;
            "raise" refuses them, which takes an x that is known.

    >>> tn.choose([1, 0], [[1, 2], [3, 4]])
    Tensor([3, 2])
    """
    option("choose", "mode", mode, ("raise", "clip", "wrap"))
    (which,) = whole("choose", x)
    if not isinstance(choices, Iterable) or getattr(choices, "ndim", 1) == 0 or not len(choices):  # type: ignore[arg-type]
        raise DTypeError(f"choose: takes a list of arrays to choose from, got {choices!r}")
    options = promoted("choose", *choices)
    if mode == "raise":
        known = numbers("choose", which, "pass mode='clip' or mode='wrap'")
        if ((known < 0) | (known >= len(options))).any():
            raise ShapeError(f"choose: an index is not one of {len(options)} choices")
    which, *options = tn.broadcast_arrays(_within(which, len(options), mode), *options)
    return tn.take_along_axis(tn.stack(options), which[None], axis=0, mode="clip")[0]


def select(
    condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> AnyTensor:
    """For each element, that of the first choice whose condition holds; `default` if none does.

    >>> tn.select([[True, False], [True, True]], [1, 2])
    Tensor([1, 2])
    """
    for each in (condlist, choicelist):
        if not isinstance(each, list | tuple):
            raise ShapeError(f"select: takes lists of arrays, got {type(each).__name__}")
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(
            f"select: got {len(condlist)} conditions and {len(choicelist)} choices; there must be "
            "as many, and at least one"
        )
    *choices, result = promoted("select", *choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = tn.where(condition, choice, result)
    return result  # type: ignore[no-any-return]


def piecewise(
    x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> AnyTensor:
    """The value of the function whose condition holds last; of one more function if none does.

    Args:
        x: an array.
        condlist: conditions, of the shape of x; or one condition.
        funclist: functions of x, or numbers; with one more than conditions, the last is the
            default, else it is 0.
        args: further arguments of the functions.
        kw: further keyword arguments of the functions.

    >>> tn.piecewise([-1.0, 2.0], [[True, False]], [lambda x: -x, lambda x: 2 * x])
    Tensor([1., 4.])
    """
    a = array("piecewise", x)
    several = (
        isinstance(condlist, list | tuple)
        and len(condlist) > 0
        and (a.ndim == 0 or getattr(condlist[0], "ndim", np.ndim(condlist[0])) > 0)
    )
    stacked = getattr(condlist, "ndim", 0) > a.ndim
    conditions = list(condlist) if several or stacked else [condlist]
    if not isinstance(funclist, list | tuple):
        raise ShapeError(f"piecewise: takes a list of functions, got {type(funclist).__name__}")
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ShapeError(
            f"piecewise: got {len(funclist)} functions for {len(conditions)} conditions"
        )
    functions: list[Any] = list(funclist)
    result = tn.zeros_like(a)
    if len(functions) > len(conditions):
        result = _value(functions.pop(), a, args, kw)
    for condition, function in zip(conditions, functions, strict=True):
        result = tn.where(condition, _value(function, a, args, kw), result)
    return result


def _value(function: Callable[..., Any] | Any, x: Any, args: Any, kw: Any) -> Any:
    """The value of a function in the dtype of x; or a number."""
    value = function(x, *args, **kw) if callable(function) else function
    return tn.broadcast_to(tn.asarray(value).astype(x.dtype), x.shape)


def _copies(name: str, inplace: bool) -> None:
    if inplace:
        raise ConfigError(f"{name}: arrays are not changed; pass inplace=False, and use the result")


def _with(x: Any, places: Any, values: Any) -> Any:
    """x with values at places of the flattened array."""
    return x.ravel().at[places].set(values.astype(x.dtype)).reshape(x.shape)


def _repeated(name: str, values: Any, size: int) -> Any:
    """The flattened values, repeated or cut off to `size`."""
    return resize(array(name, values), size)


def _within(places: Any, size: Any, mode: str | None) -> Any:
    """Indices counted from the front; out of bounds what `mode` says."""
    if mode == "clip":
        return tn.clip(places, 0, size - 1)
    if mode == "wrap":
        return tn.remainder(places, size)
    return places


def _positions(name: str, obj: Any, size: int, stop: int) -> np.ndarray[Any, Any]:
    """The indices that a slice or an array stands for, counted from the front."""
    if isinstance(obj, slice):
        return np.arange(size)[obj]
    found = numbers(name, obj, "pass indices that are known")
    if found.dtype.kind == "b":
        found = np.flatnonzero(found)
    if found.size and found.dtype.kind not in "iu":
        raise DTypeError(f"{name}: indices must be integers, got {found.dtype}")
    found = found.astype(np.int64)
    if ((found < -size) | (found >= stop)).any():
        raise ShapeError(f"{name}: an index is out of range for size {size}")
    return np.where(found < 0, found + size, found)
