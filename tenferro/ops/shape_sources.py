"""Sizes in payloads that refer to operands, and the values that data-dependent sizes come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenferro.errors import AxisError, UnsupportedDynamicShapeError
from tenferro.shape import (
    Dim,
    DimExpr,
    Exact,
    InputDim,
    Leaf,
    ShapeExtent,
    Source,
    TensorMeta,
    Unknown,
    UpperBound,
    describe,
    grows,
    leaves,
    runtime_dims,
    substitute,
    symbol,
)


def extent_of(name: str, size: Dim, metas: Sequence[TensorMeta]) -> ShapeExtent:
    """The extent of a size in an op's payload that may refer to sizes of operands.

    Its guarantee follows from the extents that it refers to.
    """
    input_dims = [leaf for leaf in leaves(size) if isinstance(leaf, InputDim)]
    if not input_dims:
        return Exact(size)
    extents = {leaf: _operand_extent(name, leaf, metas) for leaf in input_dims}
    if size == symbol(input_dims[0]):
        return extents[input_dims[0]]
    exact = all(isinstance(extent, Exact) for extent in extents.values())
    sizes = {leaf: extent.size for leaf, extent in extents.items()}
    total = None if None in sizes.values() else _replaced(size, sizes)
    if exact:
        assert total is not None, "an exact extent has a size"
        return Exact(total)
    bounds = {
        leaf: extent.dim for leaf, extent in extents.items() if not isinstance(extent, Unknown)
    }
    if len(bounds) < len(extents) or not grows(size):
        return Unknown(total)
    return UpperBound(_replaced(size, bounds), total)


def size_at(size: Dim, shapes: Sequence[tuple[Dim, ...]]) -> Dim:
    """A size in an op's payload, for operands of these shapes."""
    return substitute(
        size,
        lambda leaf: shapes[leaf.input][leaf.axis] if isinstance(leaf, InputDim) else symbol(leaf),
    )


def shifted(size: Dim, batched: Sequence[bool] | None = None) -> Dim:
    """A size in an op's payload for operands with one more leading axis.

    `batched` says which operands have it; None means all.
    """
    if not isinstance(size, DimExpr):
        return size

    def moved(leaf: Leaf) -> Dim:
        if isinstance(leaf, InputDim) and (batched is None or batched[leaf.input]):
            return symbol(InputDim(leaf.input, leaf.axis + 1))
        return symbol(leaf)

    return substitute(size, moved)


def runtime_shape(meta: TensorMeta, primitive: str) -> tuple[tuple[Dim, ...], tuple[Any, ...]]:
    """The shape of a value for a payload, and the values that must be operands 1, 2, ….

    Raises:
        UnsupportedDynamicShapeError: no known value has one of the sizes.
    """
    numbers: dict[Source, InputDim] = {}
    values: dict[Any, int] = {}
    shape: list[Dim] = []
    for axis, extent in enumerate(meta.extents):
        sources = {} if extent.size is None else _sources(extent.size)
        if extent.size is None or None in sources.values():
            raise UnsupportedDynamicShapeError(primitive, f"shape[{axis}]", describe(extent))
        for source in sources.values():
            assert source is not None
            number = values.setdefault(source.value, len(values) + 1)
            numbers[source] = InputDim(number, source.axis)
        known = {leaf: symbol(numbers[source]) for leaf, source in sources.items() if source}
        shape.append(_replaced(extent.size, known))
    return tuple(shape), tuple(values)


def _sources(size: Dim) -> dict[Leaf, Source | None]:
    return {leaf: leaf.source for leaf in runtime_dims(size)}


def _operand_extent(name: str, leaf: InputDim, metas: Sequence[TensorMeta]) -> ShapeExtent:
    if not 0 <= leaf.input < len(metas) or not 0 <= leaf.axis < metas[leaf.input].rank:
        raise AxisError(f"{name}: {leaf} does not name an axis of one of the {len(metas)} operands")
    return metas[leaf.input].extents[leaf.axis]


def _replaced(size: Dim, values: dict[Any, Any]) -> Dim:
    if not isinstance(size, DimExpr):
        return size
    return substitute(size, lambda leaf: values[leaf] if leaf in values else symbol(leaf))


def size_in(meta: TensorMeta) -> Callable[[Leaf], Dim]:
    """A function that replaces `dim(0, i)` by the size of axis i of the operand, if exact."""

    def size(leaf: Leaf) -> Dim:
        extent = meta.extents[leaf.axis] if isinstance(leaf, InputDim) else None
        return extent.dim if isinstance(extent, Exact) else symbol(leaf)

    return size
