"""Elements taken and put at indices, or chosen by conditions.

`x[...]` and `x.at[...]`: `indexing` and `updates` of `tenferro.ops.functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from tenferro.errors import ConfigError, DTypeError, ShapeError, counted
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.numpy.arguments import array, constant_size, integers, numbers, option, promoted
from tenferro.numpy.creation import arange, asarray, zeros_like
from tenferro.numpy.manipulation import broadcast_arrays, resize, stack
from tenferro.numpy.ufuncs import clip
from tenferro.ops.functions import (
    apply,
    elementwise,
    indexing,
    normal_axis,
    reductions,
    refuse_out,
    updates,
)
from tenferro.ops.functions.elementwise import maximum, remainder, where
from tenferro.ops.functions.manipulation import broadcast_to, ravel
from tenferro.ops.functions.reductions import cumsum
from tenferro.runtime import Tensor

__all__ = [
    "choose",
    "fill_diagonal",
    "piecewise",
    "place",
    "put",
    "put_along_axis",
    "select",
    "take",
    "take_along_axis",
    "top_k",
]


Mode = Literal["clip", "wrap", "fill", "raise", "promise_in_bounds"]


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: Mode | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: complex | None = None,
) -> AnyTensor:
    """The elements of `a` at `indices` along `axis`; of the flattened array if None.

    Negative indices count from the end. Out of bounds, numbers and NumPy arrays are refused; other
    arrays, whose values may be unknown until the program runs, read `fill_value`, as in JAX.

    Args:
        a: the array.
        indices: integers of any shape.
        axis: the axis that the indices refer to.
        out: None, as arrays are not written to.
        mode: what is read out of bounds: with "clip" the nearest element, negative indices being
            out of bounds; with "wrap" the elements repeated; with "fill" `fill_value`; with "raise"
            nothing, so that the indices must be known.
        unique_indices: is not needed.
        indices_are_sorted: is not needed.
        fill_value: by default NaN, the smallest signed or the largest unsigned integer, or True. A
            value implies the mode "fill".

    Raises:
        AxisError: an index that is a number or in a NumPy array is out of bounds, without `mode`.

    >>> tn.take([10, 20, 30], [2, 0, -1])
    Tensor([30, 10, 30])
    >>> tn.take([[1, 2], [3, 4]], 1, axis=1)
    Tensor([2, 4])
    >>> tn.take([10, 20, 30], [7, -7], mode="clip")
    Tensor([30, 10])
    >>> tn.take([1.0, 2.0], [0, 2], mode="fill")
    Tensor([ 1., nan])
    """
    refuse_out("take", out)
    array = asarray(a)
    if axis is None:
        array, axis = array.ravel(), 0
    axis = normal_axis("take", axis, array.ndim)
    whole: tuple[Any, ...] = (slice(None),) * axis
    places: Any = _indices(indices)
    if getattr(places, "dtype", None) == np.bool_ or isinstance(places, bool):
        raise DTypeError("take: indices must be integers, got bools; select by a mask with x[mask]")
    if mode is None and fill_value is not None:
        mode = "fill"
    known, places = _mode("take", mode, places)
    if known is None:
        return array[(*whole, places)]
    if known == "clip":
        return array[(*whole, apply(elementwise.clamp, asarray(places), 0, array.shape[axis] - 1))]
    return array.at[(*whole, places)].get(mode=known, fill_value=fill_value)


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Mode | None = None,
    fill_value: complex | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> AnyTensor:
    """The elements of `arr` at `indices` along `axis`; their other axes are those of `arr`.

    What is out of bounds is refused or read as by `take`, with the same `mode` and `fill_value`.
    Negative indices count from the end, with "clip" too; unless `wrap_negative_indices` is False,
    so that they are out of bounds. Both are flattened if `axis` is None.

    >>> x = tn.array([[30, 10, 20], [1, 3, 2]])
    >>> tn.take_along_axis(x, tn.argsort(x))
    Tensor([[10, 20, 30],
            [ 1,  2,  3]])
    """
    array, places = asarray(arr), _indices(indices)
    if not hasattr(places, "shape"):
        raise ShapeError(f"take_along_axis: indices must be an array of integers, got {indices!r}")
    if axis is None:
        array, places, axis = array.ravel(), ravel(places), 0
    along = normal_axis("take_along_axis", axis, array.ndim)
    if mode is None and fill_value is not None:
        mode = "fill"
    if str(getattr(mode, "name", mode)).lower() == "one_hot":  # JAX's, which reads 0
        mode, fill_value = "fill", 0
    known, places = _mode("take_along_axis", mode, places)
    if not wrap_negative_indices:
        known = known or "fill"
        if known != "wrap":
            places = indexing.without_negatives(places, known)
    if known is None:
        indexing.check_places("take_along_axis", places, along, array.meta)
    fill = updates.fill_number("take_along_axis", fill_value, array.dtype)
    return apply(reductions.take_along_axis, array, places, axis=axis, mode=known, fill_value=fill)


def _mode(name: str, mode: Any, indices: Any) -> tuple[Any, Any]:
    """What is read out of bounds, None if indices are checked; and the indices."""
    unchecked = hasattr(indices, "meta")  # a tensor, whose values may be unknown
    if mode is None:
        return ("fill" if unchecked else None), indices
    if mode == "raise":
        return None, numbers(name, indices, "pass mode='clip', 'wrap' or 'fill'")
    return indexing.mode_named(name, mode), indices


def top_k(x: ArrayLike, k: int) -> tuple[AnyTensor, AnyTensor]:
    """The k largest elements along the last axis of x, the largest first; and their indices.

    Equal elements keep their order. NaN counts as the largest.

    >>> tn.top_k([3.0, 1.0, 2.0], 2)
    (Tensor([3., 2.]), Tensor([0, 2]))
    """
    places: AnyTensor = apply(reductions.top_places, x, k=k)
    return take_along_axis(x, places, mode="clip"), places


def _indices(indices: Any) -> Any:
    """Indices as an array that follows the indexed array to its device and keeps its dtype."""
    if isinstance(indices, list | tuple):
        array = asarray(indices) if len(indices) else asarray(indices, dtype="int64")
        return array.numpy() if isinstance(array, Tensor) else array
    weak = getattr(indices, "weak", None) is not None
    return indices.astype(indices.dtype) if weak else indices


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> AnyTensor:
    """A copy of `a` with `val` on its main diagonal; a vector is repeated along it.

    Args:
        a: a matrix, or an array with axes of equal sizes.
        val: a number, or a vector.
        wrap: continue the diagonal below a tall matrix, after one empty row.
        inplace: must be given as False, as in JAX: `a` itself is not changed.

    >>> tn.fill_diagonal([[1, 2], [3, 4]], 0, inplace=False)
    Tensor([[0, 2],
            [3, 0]])
    """
    _copies("fill_diagonal", inplace)
    x = array("fill_diagonal", a)
    lengths = [constant_size("fill_diagonal", x, i) for i in range(x.ndim)]
    if len(lengths) < 2 or (len(lengths) > 2 and len(set(lengths)) > 1):
        raise ShapeError(f"fill_diagonal: takes a matrix or axes of equal sizes, got {x.meta}")
    step = sum(int(np.prod(lengths[i + 1 :])) for i in range(len(lengths)))
    end = int(np.prod(lengths)) if len(lengths) > 2 or wrap else lengths[1] * lengths[1]
    places = np.arange(0, int(np.prod(lengths)), step)
    places = places[places < end]
    return _with(x, places, _repeated("fill_diagonal", val, places.size))  # type: ignore[no-any-return]


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> AnyTensor:
    """A copy of `a` with values at places of the flattened array; `v` is repeated if it is shorter.

    Args:
        a: an array.
        ind: integers; negative ones count from the end.
        v: values.
        mode: what out of bounds is: "clip" the nearest element, "wrap" counted on from the start;
            None drops the value.
        inplace: must be given as False, as in JAX: `a` itself is not changed.

    >>> tn.put([1, 2, 3], [0, -1], [7, 8], inplace=False)
    Tensor([7, 2, 8])
    """
    _copies("put", inplace)
    option("put", "mode", mode, (None, "clip", "wrap"))
    x = array("put", a)
    (places,) = integers("put", ravel(ind))
    places = _within(places, x.size, mode)
    if 0 in array("put", v).shape:  # as in NumPy, no values are put
        return x  # type: ignore[no-any-return]
    return _with(x, places, _repeated("put", v, constant_size("put", places, 0)))  # type: ignore[no-any-return]


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> AnyTensor:
    """A copy of `arr` with values at `indices` along `axis`; options as of `put`.

    The other axes of `indices` are those of `arr`, as of `take_along_axis`. Negative indices count
    from the end, with "clip" too.

    >>> tn.put_along_axis([[1, 2], [3, 4]], [[0], [1]], 9, axis=1, inplace=False)
    Tensor([[9, 2],
            [3, 9]])
    """
    _copies("put_along_axis", inplace)
    option("put_along_axis", "mode", mode, (None, "clip", "wrap", "promise_in_bounds"))
    a = array("put_along_axis", arr)
    (places,) = integers("put_along_axis", indices)
    place = None if axis is None else normal_axis("put_along_axis", axis, a.ndim)
    if mode == "clip":  # of indices that are still negative when counted from the front
        size = a.size if place is None else a.shape[place]
        places = where(places < 0, places + size, places)
    if place is None:
        return put(a.ravel(), places, values, mode, inplace=False).reshape(a.shape)
    if places.ndim != a.ndim:
        raise ShapeError(f"put_along_axis: indices {places.meta} must have the axes of {a.meta}")
    within = _within(places, a.shape[place], mode)
    shape = [places.shape[i] if i == place else size for i, size in enumerate(a.shape)]
    within = broadcast_to(within, shape)
    grid = [
        within if i == place
        else arange(size).reshape((*(1,) * i, size, *(1,) * (a.ndim - i - 1)))
        for i, size in enumerate(a.shape)
    ]  # fmt: skip
    return a.at[tuple(grid)].set(values)  # type: ignore[no-any-return]


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> AnyTensor:
    """A copy of `arr` with the first values at the elements where `mask` holds, in order; repeated.

    >>> tn.place([1, 2, 3, 4], [True, False, True, True], [7, 8], inplace=False)
    Tensor([7, 2, 8, 7])
    """
    _copies("place", inplace)
    a, where, values = array("place", arr), array("place", mask), ravel(vals)
    if where.size != a.size:
        raise ShapeError(f"place: mask {where.meta} must have as many elements as {a.meta}")
    chosen = where.ravel() != 0
    turn: Any = cumsum(chosen) - 1
    new: Any = take(values, maximum(turn, 0), mode="wrap")
    return elementwise.where(chosen, new.astype(a.dtype), a.ravel()).reshape(a.shape)


def choose(a: ArrayLike, choices: Any, out: None = None, mode: str = "raise") -> AnyTensor:
    """For each element of `a`, the element there of the array `choices[a]`.

    Args:
        a: integers.
        choices: arrays of equal shapes, or shapes that broadcast with `a`.
        mode: out of bounds, "clip" takes the nearest choice and "wrap" counts on from the start;
            "raise" refuses them, which takes an `a` that is known.

    >>> tn.choose([1, 0], [[1, 2], [3, 4]])
    Tensor([3, 2])
    """
    refuse_out("choose", out)
    option("choose", "mode", mode, ("raise", "clip", "wrap"))
    (which,) = integers("choose", a)
    if not isinstance(choices, Iterable) or getattr(choices, "ndim", 1) == 0 or not len(choices):  # type: ignore[arg-type]
        raise DTypeError(f"choose: takes a list of arrays to choose from, got {choices!r}")
    options = promoted("choose", *choices)
    if mode == "raise":
        known = numbers("choose", which, "pass mode='clip' or mode='wrap'")
        if ((known < 0) | (known >= len(options))).any():
            raise ShapeError(f"choose: an index is not one of {counted(len(options), 'choice')}")
    which, *options = broadcast_arrays(_within(which, len(options), mode), *options)
    return take_along_axis(stack(options), which[None], axis=0, mode="clip")[0]


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
            f"select: got {counted(len(condlist), 'condition')} and "
            f"{counted(len(choicelist), 'choice')}; there must be as many, and at least one"
        )
    *choices, result = promoted("select", *choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = where(condition, choice, result)
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
            f"piecewise: got {counted(len(funclist), 'function')} for "
            f"{counted(len(conditions), 'condition')}"
        )
    functions: list[Any] = list(funclist)
    result = zeros_like(a)
    if len(functions) > len(conditions):
        result = _value(functions.pop(), a, args, kw)
    for condition, function in zip(conditions, functions, strict=True):
        result = where(condition, _value(function, a, args, kw), result)
    return result


def _value(function: Callable[..., Any] | Any, x: Any, args: Any, kw: Any) -> Any:
    """The value of a function in the dtype of x; or a number."""
    value = function(x, *args, **kw) if callable(function) else function
    return broadcast_to(asarray(value).astype(x.dtype), x.shape)


def _copies(name: str, inplace: bool) -> None:
    if inplace:
        raise ConfigError(f"{name}: arrays are not changed; pass inplace=False, and use the result")


def _with(x: Any, places: Any, values: Any) -> Any:
    return x.ravel().at[places].set(values.astype(x.dtype)).reshape(x.shape)


def _repeated(name: str, values: Any, size: int) -> Any:
    return resize(array(name, values), size)


def _within(places: Any, size: Any, mode: str | None) -> Any:
    """Indices counted from the front; out of bounds what `mode` says."""
    if mode == "clip":
        return clip(places, 0, size - 1)
    if mode == "wrap":
        return remainder(places, size)
    return places
