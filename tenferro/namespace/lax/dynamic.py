"""Windows whose place is a value."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.arrays import Operand, called, elementwise, indexing, logical, rearrange
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply
from tenferro.errors import GraphError
from tenferro.namespace.creation import asarray
from tenferro.namespace.lax.operands import along, same_dtype
from tenferro.ops import DynamicSlice, DynamicUpdateSlice
from tenferro.shape import INT64, Dim, TensorMeta, dim
from tenferro.typing import AnyTensor, ArrayLike, Shape

Negative = bool | Sequence[bool]


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Shape,
    *,
    allow_negative_indices: Negative = True,
) -> AnyTensor:
    """The window of the operand of sizes `slice_sizes` that starts at `start_indices`.

    A window that would exceed the operand is moved back into it.

    Args:
        operand: the array.
        start_indices: one integer for each axis, in a list or a vector. Negative ones count from
            the end.
        slice_sizes: the shape of the window.
        allow_negative_indices: whether starts may be negative, for all axes or for each.

    Raises:
        GraphError: there are not as many starts as axes.

    >>> tn.lax.dynamic_slice(np.array([1.0, 2.0, 3.0]), (-2,), (2,))
    Tensor([2., 3.])
    """
    sizes = tuple(dim(size) for size in rearrange.sizes_of(slice_sizes))
    starts, negative = _starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    return apply(_sliced, operand, *starts, sizes=sizes, negative=negative)


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: Negative = True,
) -> AnyTensor:
    """The operand with `update` written at `start_indices`, which are as for `dynamic_slice`.

    >>> tn.lax.dynamic_update_slice(np.array([1.0, 2.0, 3.0]), np.array([0.0]), (1,))
    Tensor([1., 0., 3.])
    """
    starts, negative = _starts(
        "dynamic_update_slice", operand, start_indices, allow_negative_indices
    )
    return apply(_updated, operand, update, *starts, negative=negative)


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """`slice_size` elements from a start along one axis.

    >>> tn.lax.dynamic_slice_in_dim(np.arange(5), 2, 2)
    Tensor([2, 3])
    """
    array = asarray(operand)
    place = along("dynamic_slice_in_dim", axis, array.ndim)
    sizes = [slice_size if i == place else size for i, size in enumerate(array.shape)]
    starts = [start_index if i == place else 0 for i in range(array.ndim)]
    return dynamic_slice(array, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """The part of the operand at one index along an axis, of size 1 there if `keepdims`.

    >>> tn.lax.dynamic_index_in_dim(np.arange(5), 2)
    Tensor([2])
    """
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    place = along("dynamic_index_in_dim", axis, part.ndim)
    return part if keepdims else apply(rearrange.squeeze, part, axis=place)


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """The operand with `update` written from a start along one axis.

    >>> tn.lax.dynamic_update_slice_in_dim(np.arange(4), np.array([9, 9]), 1, 0)
    Tensor([0, 9, 9, 3])
    """
    array = asarray(operand)
    place = along("dynamic_update_slice_in_dim", axis, array.ndim)
    starts = [start_index if i == place else 0 for i in range(array.ndim)]
    return dynamic_update_slice(
        array, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """The operand with `update` written at one index along an axis, which `update` may lack.

    >>> tn.lax.dynamic_update_index_in_dim(np.arange(3), 9, 1, 0)
    Tensor([0, 9, 2])
    """
    array, part = asarray(operand), update
    place = along("dynamic_update_index_in_dim", axis, array.ndim)
    given = asarray(update)
    if given.ndim != array.ndim:
        part = apply(rearrange.expand_dims, given, axis=place)
    return dynamic_update_slice_in_dim(
        array, part, index, place, allow_negative_indices=allow_negative_indices
    )


def _starts(
    name: str, operand: ArrayLike, starts: ArrayLike | Sequence[ArrayLike], negative: Negative
) -> tuple[list[ArrayLike], tuple[bool, ...]]:
    """One start for each axis, and whether it may be negative."""
    rank = asarray(operand).ndim
    if not isinstance(starts, list | tuple):
        vector = asarray(starts)
        if vector.ndim != 1:
            raise GraphError(f"{name}: the starts must be a list or a vector, got {vector.meta}")
        starts = [vector[i] for i in range(vector.shape[0])]
    if len(starts) != rank:
        meta = asarray(operand).meta
        raise GraphError(f"{name}: got {len(starts)} starts for the {rank} axes of {meta}")
    starts = [  # the dtype of the operand says nothing about them
        start.astype(start.dtype) if getattr(start, "weak", None) is not None else start  # type: ignore[union-attr]
        for start in starts
    ]
    flags = (negative,) * rank if isinstance(negative, bool) else tuple(negative)
    return list(starts), flags


def _sliced(
    at: Emitter[V],
    operand: Operand[V],
    *starts: Operand[V],
    sizes: tuple[Dim, ...],
    negative: tuple[bool, ...],
) -> V:
    (value,) = same_dtype(at, "dynamic_slice", [operand])
    op = DynamicSlice(sizes)
    return called(at, "dynamic_slice", op, value, *_from_front(at, value, starts, negative))


def _updated(
    at: Emitter[V],
    operand: Operand[V],
    update: Operand[V],
    *starts: Operand[V],
    negative: tuple[bool, ...],
) -> V:
    name = "dynamic_update_slice"
    value, window = same_dtype(at, name, [operand, update])
    places = _from_front(at, value, starts, negative)
    return called(at, name, DynamicUpdateSlice(), value, window, *places)


_sliced.__name__, _updated.__name__ = "dynamic_slice", "dynamic_update_slice"


def _from_front(
    at: Emitter[V], value: V, starts: Sequence[Operand[V]], negative: Sequence[bool]
) -> list[V]:
    """The starts as scalars of one dtype, counted from the front."""
    meta: TensorMeta = at.ctx.meta(value)
    places: list[V] = []
    for axis, (start, counts_back) in enumerate(zip(starts, negative, strict=True)):
        size = meta.static_shape[axis] if meta.static_shape is not None else None
        if isinstance(start, int) and not isinstance(start, bool):
            if start < 0 and counts_back and size is None:
                length = indexing.size_value(at, value, axis)
                places.append(elementwise.add(at, length, start))
                continue
            back = start < 0 and counts_back and size is not None
            places += same_dtype(at, "start", [start + size if back and size else start])
            continue
        (place,) = same_dtype(at, "start", [start])
        if counts_back and at.ctx.meta(place).dtype.kind == "i":
            length = indexing.size_value(at, value, axis)
            below = elementwise.add(at, place, length)
            place = elementwise.where(at, _is_negative(at, place), below, place)
        places.append(place)
    dtypes = {at.ctx.meta(place).dtype for place in places}
    kinds = {dtype.kind for dtype in dtypes}
    if len(dtypes) > 1 and kinds <= {"i", "u"}:
        return [elementwise.astype(at, place, INT64) for place in places]
    return places


def _is_negative(at: Emitter[V], place: V) -> V:
    return logical.less(at, place, 0)
