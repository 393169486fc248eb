"""What one entry of a batch, or one device of a mesh, computes with the others along a named axis.

`tn.vmap(f, axis_name="i")` and `tn.shard_map` bind names, by which the functions here can be called
in f. All take trees of arrays. An array that is the same for all entries counts once for each.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tenferro.config import flag
from tenferro.errors import BatchingError, ShapeError, UnboundAxisError
from tenferro.ir import AnyTensor, Dim, PyTree, integer_of
from tenferro.lax.arguments import along
from tenferro.numpy import asarray, moveaxis, multiply, reshape
from tenferro.numpy import max as max_of
from tenferro.numpy import min as min_of
from tenferro.numpy import sum as sum_of
from tenferro.ops import (
    AllGather,
    AllToAll,
    Collective,
    PMax,
    PMin,
    PPermute,
    PSame,
    PSum,
    PVary,
    ReduceScatter,
)
from tenferro.ops.functions import OpFunction, apply
from tenferro.runtime import NamedAxis, is_array, named_axes, note_axis, scope_of_axis
from tenferro.transforms import TracedTensor, flatten, unflatten

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pbroadcast",
    "pcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "pvary",
]

AxisName = str | int | tuple[str | int, ...]


# The axes that are bound where a function is called.


def axis_index(axis_name: str | tuple[str, ...]) -> AnyTensor:
    """The place of this entry along a named axis; of several, the first one varies slowest.

    Raises:
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: 10 * x + tn.lax.axis_index("i"), axis_name="i")(tn.array([1, 2, 3]))
    Tensor([10, 21, 32])
    """
    index: Any = None
    for axis in _bound("axis_index", axis_name):
        place = _index(axis)
        index = place if index is None else index * np.int32(_number(axis.size)) + place
    return index  # type: ignore[no-any-return]


def axis_size(axis_name: str | tuple[str, ...]) -> Dim:
    """The number of entries along a named axis, or several.

    Raises:
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: x / tn.lax.axis_size("i"), axis_name="i")(tn.array([1.0, 2.0]))
    Tensor([0.5, 1. ])
    """
    return math.prod([axis.size for axis in _bound("axis_size", axis_name)])


def _index(axis: NamedAxis) -> TracedTensor:
    return TracedTensor(axis.index, None, scope_of_axis(axis))


def _number(size: Dim) -> Any:
    """A size that must be a number."""
    number = integer_of(size)
    if number is None:
        raise BatchingError(f"axis_index: several axes need sizes that are numbers, got {size}")
    return number


def _bound(caller: str, names: Any) -> list[NamedAxis]:
    """The axes of some names.

    Raises:
        BatchingError: a name is given twice, or none is.
        UnboundAxisError: nothing around the call binds a name.
    """
    listed = names if isinstance(names, tuple | list) else (names,)
    axes = named_axes()
    unbound = [name for name in listed if not isinstance(name, Hashable) or name not in axes]
    if unbound:
        raise UnboundAxisError.of(caller, unbound, [*axes])
    if not listed or len({*listed}) < len(listed):
        raise BatchingError(f"{caller}: axis_name must be a name, or different ones, got {names!r}")
    for name in listed:
        note_axis(axes[name])
    return [axes[name] for name in listed]


def _one(caller: str, name: Any) -> NamedAxis:
    axes = _bound(caller, name)
    if len(axes) > 1:
        raise BatchingError(f"{caller}: goes along one axis, got {name!r}; call it for each")
    return axes[0]


def _known_size(caller: str, axis: NamedAxis) -> int:
    if not isinstance(axis.size, int):
        raise BatchingError(
            f"{caller}: the number of entries along {axis.name!r} is {axis.size}; it must be known"
        )
    return axis.size


def _split(caller: str, names: Any, groups: object = None) -> tuple[list[int], list[NamedAxis]]:
    """The axes of arrays among the names, which are numbers, and the named axes."""
    _refuse_groups(caller, groups)
    listed = names if isinstance(names, tuple | list) else (names,)
    numbers = [name for name in listed if type(name) is int]
    others = tuple([name for name in listed if type(name) is not int])
    return numbers, _bound(caller, others) if others or not numbers else []


def _refuse_groups(caller: str, groups: object) -> None:
    if groups is not None:
        raise BatchingError(
            f"{caller}: there are no groups of entries: axis_index_groups must be None; "
            "map over two named axes, and name one of them"
        )


def _of_leaves(function: Callable[[Any], Any], tree: PyTree) -> Any:
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [function(leaf) for leaf in leaves])


def _emitted(op: Collective, x: Any, axes: Sequence[NamedAxis]) -> AnyTensor:
    return apply(OpFunction(op), asarray(x), *map(_index, axes))


def _names(axes: Sequence[NamedAxis]) -> tuple[str, ...]:
    return tuple([axis.name for axis in axes])


# Sums and extrema over axes.


def psum(x: PyTree, axis_name: AxisName, *, axis_index_groups: None = None) -> PyTree:
    """The sum of x over all entries along a named axis, or several.

    A number among the names is an axis of the arrays. The sum of a Python number is a number:
    `psum(1, name)` is the number of entries.

    Raises:
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: x - tn.lax.psum(x, "i") / 3, axis_name="i")(tn.array([1.0, 2.0, 6.0]))
    Tensor([-2., -1.,  3.])
    """
    numbers, axes = _split("psum", axis_name, axis_index_groups)

    def total(leaf: Any) -> Any:
        if getattr(leaf, "dtype", None) == np.bool_ or isinstance(leaf, bool):
            leaf = asarray(leaf).astype(np.int32)
        if numbers:
            leaf = sum_of(asarray(leaf), axis=tuple(numbers))
        if isinstance(leaf, TracedTensor):
            varies = any(axis.varies for axis in axes)
            return _emitted(PSum(_names(axes), varies), leaf, axes) if axes else leaf
        count: Any = math.prod([axis.size for axis in axes])
        return multiply(leaf, count) if is_array(leaf) and not _is_number(leaf) else leaf * count

    return _of_leaves(total, x)


def _is_number(leaf: object) -> bool:
    return isinstance(leaf, builtins.int | builtins.float | builtins.complex)


def pmean(x: PyTree, axis_name: AxisName, *, axis_index_groups: None = None) -> PyTree:
    """The mean of x over all entries along a named axis, or several; see `psum`.

    Raises:
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: x - tn.lax.pmean(x, "i"), axis_name="i")(tn.array([1.0, 3.0]))
    Tensor([-1.,  1.])
    """
    numbers, axes = _split("pmean", axis_name, axis_index_groups)

    def mean(leaf: Any) -> Any:
        shape = getattr(leaf, "shape", ())
        sizes = [*(shape[number] for number in numbers), *(axis.size for axis in axes)]
        return psum(leaf, axis_name) / math.prod(sizes)

    return _of_leaves(mean, x)


def pmax(x: PyTree, axis_name: AxisName, *, axis_index_groups: None = None) -> PyTree:
    """The largest value of x along a named axis, or several, elementwise; see `psum`.

    Its derivative is the mean of those of the entries that have it.

    Raises:
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: tn.lax.pmax(x, "i"), axis_name="i", out_axes=None)(tn.array([1.0, 3.0]))
    Tensor(3.)
    """
    return _extremum("pmax", PMax, max_of, x, axis_name, axis_index_groups)


def pmin(x: PyTree, axis_name: AxisName, *, axis_index_groups: None = None) -> PyTree:
    """The smallest value of x along a named axis, or several, elementwise; see `pmax`.

    Raises:
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: tn.lax.pmin(x, "i"), axis_name="i", out_axes=None)(tn.array([1.0, 3.0]))
    Tensor(1.)
    """
    return _extremum("pmin", PMin, min_of, x, axis_name, axis_index_groups)


def _extremum(
    caller: str,
    kind: type[PMax | PMin],
    within: Callable[..., Any],
    x: Any,
    names: Any,
    groups: object,
) -> Any:
    numbers, axes = _split(caller, names, groups)

    def extremum(leaf: Any) -> Any:
        if numbers:
            leaf = within(asarray(leaf), axis=tuple(numbers))
        if not axes or not isinstance(leaf, TracedTensor):
            return leaf
        op = kind(_names(axes), any(axis.varies for axis in axes))
        if leaf.dtype == np.bool_:
            return _emitted(op, leaf.astype(np.int32), axes).astype(np.bool_)
        return _emitted(op, leaf, axes)

    return _of_leaves(extremum, x)


# What entries send to each other.


def all_gather(
    x: PyTree,
    axis_name: str | tuple[str, ...],
    *,
    axis_index_groups: None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> PyTree:
    """The values of x of all entries along a named axis, stacked along a new `axis`.

    Args:
        axis: the place of the new axis.
        tiled: whether the values are put one after another along `axis` instead.
        to: in `tn.shard_map`, whether the result counts as one that may differ among devices
            (`"varying"`), or as the one that it is (`"invarying"`), also for derivatives within.

    Raises:
        BatchingError: `to` is another word.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: tn.lax.all_gather(x, "i")[::-1], axis_name="i")(tn.array([1, 2]))
    Tensor([[2, 1],
            [2, 1]])
    """
    _refuse_groups("all_gather", axis_index_groups)
    if to not in ("varying", "invarying"):
        raise BatchingError(f"all_gather: to must be 'varying' or 'invarying', got {to!r}")
    axes = _bound("all_gather", axis_name)
    tiled = flag("all_gather: tiled", tiled)
    known = [axis for axis in axes if axis.varies and to == "invarying"]

    def gathered(leaf: Any) -> Any:
        value = asarray(leaf)
        rank = value.ndim
        for each in reversed(axes):
            value = _emitted(AllGather((each.name,), each.size), value, [each])
        shape = value.shape[len(axes) :]
        if len(axes) > 1:
            value = reshape(value, (math.prod(value.shape[: len(axes)]), *shape))
        place = along("all_gather", axis, rank if tiled else rank + 1)
        value = moveaxis(value, 0, place)
        value = _merged(value, place) if tiled else value
        if not known:
            return value
        count: Any = math.prod([each.size for each in known])
        return _emitted(PSame(_names(known), count), value, known)

    return _of_leaves(gathered, x)


def psum_scatter(
    x: PyTree,
    axis_name: str | tuple[str, ...],
    *,
    scatter_dimension: int = 0,
    axis_index_groups: None = None,
    tiled: bool = False,
) -> PyTree:
    """The sum of x over a named axis, of which each entry has its part of one axis of x.

    The axis `scatter_dimension` has a part for each entry, and the result does not have it. If
    `tiled`, a part has several elements, and the result has those along the axis.

    Raises:
        ShapeError: the axis has not a part for each entry.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> x = tn.array([[1.0, 2.0], [10.0, 20.0]])
    >>> tn.vmap(lambda x: tn.lax.psum_scatter(x, "i"), axis_name="i")(x)
    Tensor([11., 22.])
    """
    _refuse_groups("psum_scatter", axis_index_groups)
    axes = _bound("psum_scatter", axis_name)
    tiled = flag("psum_scatter: tiled", tiled)

    def scattered(leaf: Any) -> Any:
        value = asarray(leaf)
        place = along("psum_scatter", scatter_dimension, value.ndim)
        sizes = [each.size for each in axes]
        if tiled:
            value = moveaxis(_parts("psum_scatter", value, place, axes), place, 0)
        else:
            value = moveaxis(value, place, 0)
            if len(axes) > 1:
                _divided("psum_scatter", value, 0, math.prod(sizes))
        if len(axes) > 1:
            value = reshape(value, (*sizes, *value.shape[1:]))
        for each in axes:
            value = _emitted(ReduceScatter((each.name,), each.size), value, [each])
        return value

    return _of_leaves(scattered, x)


def all_to_all(
    x: PyTree,
    axis_name: str | tuple[str, ...],
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: None = None,
    tiled: bool = False,
) -> PyTree:
    """Part j of x along `split_axis` goes to entry j, where parts come along `concat_axis`.

    The axis `split_axis` has a part for each entry along the named axis, and the result has one
    for each at `concat_axis` instead. If `tiled`, a part has several elements, and parts are put
    one after another.

    Raises:
        ShapeError: the axis has not a part for each entry.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> x = tn.array([[1, 2], [3, 4]])
    >>> tn.vmap(lambda x: tn.lax.all_to_all(x, "i", 0, 0), axis_name="i")(x)
    Tensor([[1, 3],
            [2, 4]])
    """
    _refuse_groups("all_to_all", axis_index_groups)
    axes = _bound("all_to_all", axis_name)
    tiled = flag("all_to_all: tiled", tiled)
    sizes = [axis.size for axis in axes]

    def exchanged(leaf: Any) -> Any:
        value = asarray(leaf)
        split = along("all_to_all", split_axis, value.ndim)
        place = along("all_to_all", concat_axis, value.ndim)
        if tiled:
            value = _parts("all_to_all", value, split, axes)
        value = moveaxis(value, split, 0)
        if len(axes) > 1:
            _divided("all_to_all", value, 0, math.prod(sizes))
            value = reshape(value, (*sizes, *value.shape[1:]))
        for number, axis in enumerate(axes):
            op = AllToAll((axis.name,), axis.size)
            value = moveaxis(_emitted(op, moveaxis(value, number, 0), [axis]), 0, number)
        if len(axes) > 1:
            value = reshape(value, (math.prod(sizes), *value.shape[len(axes) :]))
        value = moveaxis(value, 0, place)
        return _merged(value, place) if tiled else value

    return _of_leaves(exchanged, x)


def pswapaxes(
    x: PyTree, axis_name: str | tuple[str, ...], axis: int, *, axis_index_groups: None = None
) -> PyTree:
    """x with an axis exchanged with a named one, of the same size.

    Raises:
        ShapeError: the sizes differ.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> x = tn.array([[1, 2], [3, 4]])
    >>> tn.vmap(lambda x: tn.lax.pswapaxes(x, "i", 0), axis_name="i")(x)
    Tensor([[1, 3],
            [2, 4]])
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x: PyTree, axis_name: str, perm: Sequence[tuple[int, int]]) -> PyTree:
    """The value of x that another entry sends along a named axis; zeros if none does.

    `perm` has pairs of an entry that sends and the one that receives; each sends and receives once
    at most.

    Raises:
        BatchingError: a pair names an entry that is not there, or one sends or receives twice.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> x = tn.array([1.0, 2.0, 3.0])
    >>> tn.vmap(lambda x: tn.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(x)
    Tensor([0., 1., 2.])
    """
    return _permuted("ppermute", x, axis_name, perm)


def _permuted(caller: str, x: Any, axis_name: Any, perm: Any) -> Any:
    axis = _one(caller, axis_name)
    size = _known_size(caller, axis)
    try:
        pairs: list[tuple[Any, ...]] = [tuple(map(integer_of, pair)) for pair in perm]
    except TypeError:
        raise BatchingError(
            f"{caller}: perm must be pairs of entries along {axis.name!r}, got {perm!r}"
        ) from None
    for pair in pairs:
        if len(pair) != 2 or not all(place is not None and 0 <= place < size for place in pair):
            raise BatchingError(
                f"{caller}: {pair} is not a pair of entries along {axis.name!r}, of which there "
                f"are {size}"
            )
    for what, places in zip(("sends", "receives"), zip(*pairs, strict=True), strict=False):
        twice = [place for place in places if places.count(place) > 1]
        if twice:
            raise BatchingError(f"{caller}: entry {twice[0]} {what} twice in perm {[*pairs]}")
    op = PPermute((axis.name,), size, tuple(sorted(pairs)))
    return _of_leaves(lambda leaf: _emitted(op, leaf, [axis]), x)


def pshuffle(x: PyTree, axis_name: str, perm: Sequence[int]) -> PyTree:
    """The value of x of entry `perm[i]` along a named axis, at entry i.

    Raises:
        BatchingError: `perm` is not a permutation of the entries.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> x = tn.array([1.0, 2.0, 3.0])
    >>> tn.vmap(lambda x: tn.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(x)
    Tensor([3., 1., 2.])
    """
    size = _known_size("pshuffle", _one("pshuffle", axis_name))
    places = [integer_of(place) for place in perm]
    if {*places} != {*range(size)} or len(places) != size:
        raise BatchingError(f"pshuffle: perm must have each of the {size} entries once, got {perm}")
    return _permuted("pshuffle", x, axis_name, list(zip(places, range(size), strict=True)))


def pbroadcast(x: PyTree, axis_name: str, source: int) -> PyTree:
    """The value of x of the entry `source` along a named axis.

    Raises:
        BatchingError: there is no such entry.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: tn.lax.pbroadcast(x, "i", 1), axis_name="i")(tn.array([1.0, 2.0]))
    Tensor([2., 2.])
    """
    axis, place = _one("pbroadcast", axis_name), integer_of(source)
    if place is None or not 0 <= place < _known_size("pbroadcast", axis):
        raise BatchingError(
            f"pbroadcast: {source!r} is not one of the {axis.size} entries along {axis.name!r}"
        )
    gather = AllGather((axis.name,), axis.size)
    return _of_leaves(lambda leaf: _emitted(gather, leaf, [axis])[place], x)


def pcast(x: PyTree, axis_name: str | tuple[str, ...], *, to: str) -> PyTree:
    """x, as an array that differs along named axes, for `to="varying"`.

    Its copies have cotangents of their own, which are added where derivatives within `tn.shard_map`
    are taken by x. Otherwise nothing follows from it.

    Raises:
        BatchingError: `to` is another word.
        UnboundAxisError: nothing around the call binds the name.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: tn.lax.pcast(x, "i", to="varying"), axis_name="i")(tn.array([1.0, 2.0]))
    Tensor([1., 2.])
    """
    if to != "varying":
        raise BatchingError(
            f"pcast: to must be 'varying', got {to!r}; make the value one for all entries with psum"
        )
    axes = [axis for axis in _bound("pcast", axis_name) if axis.varies]
    if not axes:
        return x
    return _of_leaves(lambda leaf: _emitted(PVary(_names(axes)), leaf, axes), x)


def pvary(x: PyTree, axis_name: str | tuple[str, ...]) -> PyTree:
    """x, as an array that differs along named axes; see `pcast`.

    >>> import tenferro as tn
    >>> tn.vmap(lambda x: tn.lax.pvary(x, "i"), axis_name="i")(tn.array([1.0, 2.0]))
    Tensor([1., 2.])
    """
    return pcast(x, axis_name, to="varying")


# Axes with a part for each entry.


def _parts(caller: str, value: AnyTensor, place: int, axes: Sequence[NamedAxis]) -> AnyTensor:
    """The value with an axis divided into two, of which the first has an index for each entry."""
    count: Any = math.prod([axis.size for axis in axes])
    size = _divided(caller, value, place, count)
    return reshape(value, (*value.shape[:place], count, size, *value.shape[place + 1 :]))


def _divided(caller: str, value: AnyTensor, place: int, count: Any) -> Any:
    """The size of a part of an axis."""
    size: Any = value.shape[place]
    if isinstance(size, int) and isinstance(count, int) and (not count or size % count):
        raise ShapeError(
            f"{caller}: axis {place} of {value.meta} must have a part for each of the {count} "
            "entries"
        )
    return size // count


def _merged(value: AnyTensor, place: int) -> AnyTensor:
    """The value with an axis and the next one made one."""
    shape = value.shape
    return reshape(value, (*shape[:place], shape[place] * shape[place + 1], *shape[place + 2 :]))
