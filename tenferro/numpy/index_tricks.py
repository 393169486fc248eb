"""Arrays of indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenferro.errors import AxisError, ConfigError, ShapeError, counted
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    DTypeLike,
    dtype_kind,
    is_traced_value,
    read_integer,
)
from tenferro.numpy.arguments import (
    array,
    callable_of,
    check_affordable,
    count,
    integers,
    numbers,
    option,
    sizes,
    vector,
)
from tenferro.numpy.creation import arange, asarray, linspace, ones, zeros
from tenferro.numpy.manipulation import atleast_1d, concat, stack
from tenferro.numpy.sorting import nonzero
from tenferro.numpy.ufuncs import clip
from tenferro.ops.functions.elementwise import floor_divide, maximum, remainder, where
from tenferro.ops.functions.manipulation import broadcast_to, expand_dims

__all__ = [
    "c_",
    "diag_indices",
    "diag_indices_from",
    "index_exp",
    "indices",
    "ix_",
    "mask_indices",
    "mgrid",
    "ogrid",
    "r_",
    "ravel_multi_index",
    "s_",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[AnyTensor, ...]:
    """The indices on and below diagonal `k` of matrices with n rows and m columns (None: n).

    >>> tn.tril_indices(2)
    (Tensor([0, 1, 1]), Tensor([0, 0, 1]))
    """
    return _constants(np.tril_indices(*_matrix("tril_indices", n, k, m)))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[AnyTensor, ...]:
    """The indices on and above diagonal `k` of matrices with n rows and m columns (None: n).

    >>> tn.triu_indices(2)
    (Tensor([0, 0, 1]), Tensor([0, 1, 1]))
    """
    return _constants(np.triu_indices(*_matrix("triu_indices", n, k, m)))


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[AnyTensor, ...]:
    """The indices on and below diagonal `k` of a matrix.

    >>> tn.tril_indices_from([[1, 2], [3, 4]])
    (Tensor([0, 1, 1]), Tensor([0, 0, 1]))
    """
    rows, columns = _shape("tril_indices_from", arr, 2)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[AnyTensor, ...]:
    """The indices on and above diagonal `k` of a matrix.

    >>> tn.triu_indices_from([[1, 2], [3, 4]])
    (Tensor([0, 0, 1]), Tensor([0, 1, 1]))
    """
    rows, columns = _shape("triu_indices_from", arr, 2)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[AnyTensor, ...]:
    """The indices of the main diagonal of arrays with `ndim` axes of size n.

    >>> tn.diag_indices(2)
    (Tensor([0, 1]), Tensor([0, 1]))
    """
    places = arange(count("diag_indices", "n", n))
    return (places,) * count("diag_indices", "ndim", ndim)


def diag_indices_from(arr: ArrayLike) -> tuple[AnyTensor, ...]:
    """The indices of the main diagonal of an array with axes of equal sizes.

    >>> tn.diag_indices_from([[1, 2], [3, 4]])
    (Tensor([0, 1]), Tensor([0, 1]))
    """
    sizes = _shape("diag_indices_from", arr)
    if len(sizes) < 2 or len(set(sizes)) > 1:
        raise ShapeError(f"diag_indices_from: takes axes of equal sizes, got {sizes}")
    return diag_indices(sizes[0], len(sizes))


def mask_indices(
    n: int, mask_func: Callable[[Any, Any], Any], k: int = 0, *, size: int | None = None
) -> tuple[AnyTensor, ...]:
    """The indices of an [n, n] matrix that `mask_func(matrix, k)` leaves; as those of `nonzero`.

    >>> tn.mask_indices(2, tn.triu)
    (Tensor([0, 0, 1]), Tensor([0, 1, 1]))
    """
    side, k, _ = _matrix("mask_indices", n, k, None)
    return nonzero(callable_of("mask_indices", mask_func)(ones((side, side)), k), size=size)


def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """The indices of a grid: for each axis an array of the shape of the grid, stacked.

    With `sparse`, a tuple of arrays that broadcast to the grid.

    >>> tn.indices((2, 2))
    Tensor([[[0, 0],
             [1, 1]],
    <BLANKLINE>
            [[0, 1],
             [0, 1]]])
    """
    element = "int64" if dtype is None else dtype
    lengths = sizes("indices", dimensions)
    rank = len(lengths)
    each = tuple(
        arange(size, dtype=element).reshape((*(1,) * i, size, *(1,) * (rank - i - 1)))
        for i, size in enumerate(lengths)
    )
    if sparse:
        return each
    if not each:
        return zeros((0,), element)
    return stack([broadcast_to(part, lengths) for part in each])


def ix_(*args: ArrayLike) -> tuple[AnyTensor, ...]:
    """Vectors, each along an axis of its own, so that `x[tn.ix_(rows, columns)]` is a block of x.

    A vector of bools stands for the indices at which it is true.

    >>> tn.ix_([0, 1], [2])
    (Tensor([[0],
            [1]]), Tensor([[2]]))
    """
    parts = []
    for i, arg in enumerate(args):
        each = vector("ix_", arg)
        each = nonzero(each)[0] if dtype_kind(each.dtype) == "b" else each
        parts.append(expand_dims(each, [axis for axis in range(len(args)) if axis != i]))
    return tuple(parts)


def unravel_index(
    indices: ArrayLike, shape: Sequence[ArrayLike] | ArrayLike, order: str = "C"
) -> tuple[AnyTensor, ...]:
    """The coordinates of elements of an array of `shape`, given their places in the flat array.

    Negative places count from the end; places out of bounds give the nearest element, as in JAX.
    With `order="F"` the first axis varies fastest in the flat array. Sizes may be traced.

    >>> tn.unravel_index([1, 3], (2, 2))
    (Tensor([0, 1]), Tensor([1, 1]))
    """
    (places,) = integers("unravel_index", indices)
    option("unravel_index", "order", order, ("C", "F"))
    several: Any = shape
    listed = [*several] if isinstance(several, list | tuple) or np.ndim(several) else [several]
    lengths = [_size(size, places) for size in listed][:: 1 if order == "C" else -1]
    total: Any = math.prod(lengths)
    rest: Any = clip(where(places < 0, places + total, places), 0, _at_least(total - 1, 0))
    coordinates: list[Any] = []
    for size in reversed(lengths[1:]):
        coordinates.append(remainder(rest, _at_least(size, 1)))
        rest = floor_divide(rest, _at_least(size, 1))
    every = (rest, *reversed(coordinates)) if lengths else ()
    return every if order == "C" else every[::-1]


def _size(size: Any, places: Any) -> Any:
    """A size; one that is traced is of the dtype of the places."""
    if is_traced_value(size) and getattr(size, "elements", None) is None:
        return integers("unravel_index", size)[0].astype(places.dtype)
    return count("unravel_index", "a size", size)


def _at_least(size: Any, least: int) -> Any:
    return max(size, least) if isinstance(size, int) else maximum(size, least)


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The places in the flat array of elements of an array of shape `dims`.

    Args:
        multi_index: for each axis an array of indices.
        dims: the sizes.
        mode: out of bounds, "clip" takes the nearest index and "wrap" counts on from the start;
            "raise" refuses them, which takes indices that are known.
        order: "C" if the last axis varies fastest, "F" if the first does.
        dtype: of the result.

    Raises:
        TracingError: `mode` is "raise", and an index is traced.
        AxisError: `mode` is "raise", and an index is out of bounds.

    >>> tn.ravel_multi_index(([0, 1], [1, 1]), (2, 2))
    Tensor([1, 3])
    """
    option("ravel_multi_index", "mode", mode, ("raise", "wrap", "clip"))
    option("ravel_multi_index", "order", order, ("C", "F"))
    lengths = sizes("ravel_multi_index", dims)
    if not isinstance(multi_index, tuple | list):
        multi_index = list(array("ravel_multi_index", multi_index))
    parts = [integers("ravel_multi_index", each)[0] for each in multi_index]
    if len(parts) != len(lengths):
        raise ShapeError(
            f"ravel_multi_index: got {counted(len(parts), 'index', 'indices')} for "
            f"{counted(len(lengths), 'axis', 'axes')}"
        )
    total: Any = 0
    pairs = list(zip(parts, lengths, strict=True))
    for axis, (part, size) in enumerate(pairs if order == "C" else pairs[::-1]):
        total = total * size + _inside(part, axis, size, mode)
    return total if dtype is None else total.astype(dtype)  # type: ignore[no-any-return]


def _inside(part: Any, axis: int, size: int, mode: str) -> Any:
    """Indices within the bounds of an axis."""
    if mode == "clip":
        return clip(part, 0, size - 1)
    if mode == "wrap":
        return remainder(part, size)
    known = numbers("ravel_multi_index", part, "pass mode='clip' or mode='wrap'")
    outside = known[(known < 0) | (known >= size)]
    if outside.size:
        raise AxisError(
            f"ravel_multi_index: {outside[0]} is out of range for axis {axis}, of size {size}; "
            "pass mode='clip' or mode='wrap' to take another element"
        )
    return part


def _matrix(name: str, n: Any, k: Any, m: Any) -> tuple[int, int, int]:
    k = read_integer(name, "k", k)
    rows, columns = count(name, "n", n), count(name, "m", n if m is None else m)
    check_affordable(name, rows, columns)
    return rows, k, columns


def _shape(name: str, x: Any, rank: int | None = None) -> list[int]:
    a = array(name, x)
    if rank is not None and a.ndim != rank:
        raise ShapeError(
            f"{name}: takes an array with {counted(rank, 'axis', 'axes')}, got {a.meta}"
        )
    return [count(name, "a size", size) for size in a.shape]


def _constants(arrays: tuple[Any, ...]) -> tuple[AnyTensor, ...]:
    return tuple(asarray(each) for each in arrays)


# Objects that are indexed to make arrays: `r_`, `c_`, `mgrid`, `ogrid`, `s_`, `index_exp`.


class Grid:
    """`mgrid` and `ogrid`: a grid of numbers from slices `start:stop:step`.

    An imaginary step is the number of points, of which the last is `stop`.

    >>> tn.mgrid[0:2, 0:2][1]
    Tensor([[0, 1],
            [0, 1]])
    >>> tn.ogrid[0:2, 0:3]
    [Tensor([[0],
            [1]]), Tensor([[0, 1, 2]])]
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self._name = name
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and key.stop is None:  # as in NumPy, up to the start
            key = slice(0, key.start or 0, key.step)
        slices = key if isinstance(key, tuple) else (key,)
        for each in slices:
            if not isinstance(each, slice):
                raise ConfigError(f"{self._name}: takes slices start:stop:step, got {each!r}")
        lengths = [self._length(each) for each in slices]
        check_affordable(self._name, *([max(lengths, default=0)] if self._sparse else lengths))
        made: Any = (np.ogrid if self._sparse else np.mgrid)[key]
        if self._sparse and isinstance(key, tuple):
            return [asarray(each) for each in made]
        return asarray(made)

    def _length(self, each: slice) -> int:
        """The number of points that a slice stands for."""
        start, stop, step = each.start or 0, each.stop, 1 if each.step is None else each.step
        bounds = (start, stop, step)
        if not all(isinstance(value, int | float | complex) for value in bounds) or not step:
            raise ConfigError(f"{self._name}: the slice {each} must have numbers and an end")
        if isinstance(step, complex):
            return int(abs(step))
        return int(max(math.ceil((stop - start) / step), 0))

    def __repr__(self) -> str:
        return f"tn.{self._name}"


class Joined:
    """`r_` and `c_`: what stands between the brackets, joined.

    Slices are ranges; an imaginary step is a number of points. A text first, `"axis,rank,place"`,
    says along which axis to join, how many axes each item has at least, and where its own axes go;
    "r" and "c" make a row or a column of what would be a vector.

    >>> tn.r_[1:3, 0, [5, 6]]
    Tensor([1, 2, 0, 5, 6])
    >>> tn.c_[[1, 2], [3, 4]]
    Tensor([[1, 3],
            [2, 4]])
    """

    def __init__(self, name: str, axis: int, rank: int, place: int) -> None:
        self._name = name
        self._defaults = (axis, rank, place)

    def __getitem__(self, key: Any) -> AnyTensor:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, rank, place = self._defaults
        directive = items.pop(0) if items and isinstance(items[0], str) else None
        if directive is not None and directive not in ("r", "c"):
            axis, rank, place = self._directive(directive)
        joined = concat([self._part(item, rank, place) for item in items], axis=axis)
        if directive in ("r", "c") and joined.ndim == 1:
            return expand_dims(joined, 0 if directive == "r" else 1)
        return joined

    def _directive(self, text: str) -> tuple[int, int, int]:
        try:
            numbers = [int(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3:
            raise ConfigError(
                f"{self._name}: {text!r} is neither 'r', 'c' nor up to three integers "
                "'axis,rank,place'"
            )
        axis, rank, place = (*numbers, *self._defaults[len(numbers) :])
        return axis, rank, place

    def _part(self, item: Any, rank: int, place: int) -> Any:
        """One item, with at least `rank` axes."""
        if isinstance(item, slice):
            a: Any = self._range(item)
        else:
            a = atleast_1d(asarray(item))
        new = rank - a.ndim
        if new <= 0:
            return a
        first = min(place, new) if place >= 0 else new + 1 + place
        return expand_dims(a, [i for i in range(rank) if not first <= i < first + a.ndim])

    def _range(self, item: slice) -> Any:
        start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
        if item.stop is None:
            raise ConfigError(f"{self._name}: the slice {item} must have an end")
        if isinstance(step, complex):
            return linspace(start, item.stop, int(abs(step)))
        return arange(start, item.stop, step)

    def __repr__(self) -> str:
        return f"tn.{self._name}"


mgrid = Grid("mgrid", sparse=False)
ogrid = Grid("ogrid", sparse=True)
r_ = Joined("r_", 0, 1, -1)
c_ = Joined("c_", -1, 2, 0)
s_ = np.s_
index_exp = np.index_exp
