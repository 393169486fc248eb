"""Sorting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from tenferro.arrays import Operand, sorting
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply
from tenferro.errors import AxisError, ShapeError
from tenferro.namespace.lax.operands import along, matched
from tenferro.ops import IMAG, REAL, Sort, Transpose, gather_along
from tenferro.typing import AnyTensor, ArrayLike


@overload
def sort(  # type: ignore[overload-overlap]  # lists of arrays are sorted together
    operand: list[ArrayLike] | tuple[ArrayLike, ...],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> tuple[AnyTensor, ...]: ...


@overload
def sort(
    operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> AnyTensor: ...


def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> AnyTensor | tuple[AnyTensor, ...]:
    """The elements in ascending order along an axis; several arrays in the order of the first.

    Sorting is always stable. NaN counts as the largest.

    Args:
        operand: an array, or a list of arrays of one shape.
        dimension: the axis.
        is_stable: changes nothing.
        num_keys: how many of the arrays are compared; the first one decides, then the second.

    Raises:
        AxisError: there are not as many arrays.

    >>> tn.lax.sort(np.array([3.0, 1.0, 2.0]))
    Tensor([1., 2., 3.])
    >>> tn.lax.sort([np.array([3, 1, 2]), np.array([7, 8, 9])])
    (Tensor([1, 2, 3]), Tensor([8, 9, 7]))
    """
    several = isinstance(operand, list | tuple)
    arrays = list(operand) if several else [operand]  # type: ignore[arg-type]
    if not 1 <= num_keys <= len(arrays):
        raise AxisError(f"sort: num_keys must be from 1 to {len(arrays)}, got {num_keys}")
    results = apply(_sorted, *arrays, axis=dimension, count=num_keys)
    return tuple(results) if several else results[0]


def _sorted(at: Emitter[V], *operands: Operand[V], axis: int, count: int) -> tuple[V, ...]:
    values = [matched(at, "sort", [operand])[0] for operand in operands]
    metas = [at.ctx.meta(value) for value in values]
    if any(meta.extents != metas[0].extents for meta in metas):
        raise ShapeError(f"sort: operands {', '.join(map(str, metas))} must have one shape")
    place = along("sort", axis, metas[0].rank)
    keys: list[V] = []
    for key, meta in zip(values[:count], metas, strict=False):
        keys += [at.emit(REAL, key), at.emit(IMAG, key)] if meta.dtype.kind == "c" else [key]
    if len(keys) == len(values) == 1:
        return (at.emit_all(Sort(place), keys[0])[0],)
    places: V | None = None
    for key in reversed(keys):  # later keys decide among equal ones, so that they come first
        moved = key if places is None else gather_along(at, key, places, place)
        then = at.emit_all(Sort(place), moved)[1]
        places = then if places is None else gather_along(at, places, then, place)
    assert places is not None, "a sort has a key"
    return tuple(gather_along(at, value, places, place) for value in values)


_sorted.__name__ = "sort"


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[AnyTensor, ...]:
    """The keys in ascending order, and the values in the order of their keys.

    >>> tn.lax.sort_key_val(np.array([3, 1]), np.array([7, 8]))
    (Tensor([1, 3]), Tensor([8, 7]))
    """
    return sort((keys, values), dimension, is_stable)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[AnyTensor, AnyTensor]:
    """The k largest elements along an axis, the largest first; and their indices.

    Equal elements keep their order. NaN counts as the largest.

    >>> tn.lax.top_k(np.array([3.0, 1.0, 2.0]), 2)
    (Tensor([3., 2.]), Tensor([0, 2]))
    """
    elements, places = apply(_top, operand, k=k, axis=axis)
    return elements, places


def _top(at: Emitter[V], operand: Operand[V], k: int, axis: int) -> tuple[V, ...]:
    (value,) = matched(at, "top_k", [operand])
    rank = at.ctx.meta(value).rank
    place = along("top_k", axis, rank) if rank else -1
    order = (*(other for other in range(rank) if other != place), place)
    moved = place not in (-1, rank - 1)
    value = at.emit(Transpose(order), value) if moved else value
    places = sorting.top_places(at, value, k)
    results = (gather_along(at, value, places, rank - 1), places)
    if not moved:
        return results
    back = Transpose(tuple(order.index(axis) for axis in range(rank)))
    return tuple(at.emit(back, result) for result in results)


_top.__name__ = "top_k"
