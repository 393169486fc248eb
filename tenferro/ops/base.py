"""Base classes of primitives, checks of shape rules, sizes that refer to operands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    multilinear,
    own_derivative,
)
from tenferro.errors import (
    ADRuleError,
    AxisError,
    BatchRuleError,
    DTypeError,
    ShapeError,
    UnsupportedDynamicShapeError,
    counted,
)
from tenferro.ir import (
    AxisMap,
    AxisOrder,
    Dim,
    DimExpr,
    DType,
    Exact,
    ExecOp,
    Guard,
    InputDim,
    Known,
    Leaf,
    MaskSite,
    NumpyArray,
    Reach,
    ShapeExtent,
    Source,
    TensorMeta,
    Unknown,
    UpperBound,
    describe,
    dtype_kind,
    grows,
    in_single,
    is_storage,
    leaves,
    make_meta,
    numbered,
    payload,
    places_of,
    runtime_dims,
    same_size,
    substitute,
    symbol,
)

__all__ = ["StdTensorOp", "entry_meta", "extent_of", "load_named", "meta_of", "shape_of"]


@functools.cache
def load_named(name: str) -> Any:
    """What is named as `"module"` or `"module:attribute"`, imported when it is first asked for.

    What needs a large library, or lies in a room above, is named so.

    Raises:
        ImportError, AttributeError: there is no such module or attribute.
    """
    return EntryPoint("", name, "").load()


# The base classes of primitives, and the checks that shape rules share.

Infer = TypeVar("Infer", bound=Callable[..., TensorMeta])


def inferred_once(infer: Infer) -> Infer:
    """Cache a shape rule by op and operand types.

    Equal types may carry different information if they have a data-dependent size or are an
    integer known to be a size; these are not cached.
    """
    remembered = functools.lru_cache(maxsize=4096)(infer)

    @functools.wraps(infer)
    def once(self: StdTensorOp, *metas: TensorMeta) -> TensorMeta:
        for meta in metas:
            if meta.dims is None or meta.as_size is not None:
                return infer(self, *metas)
        return remembered(self, *metas)

    return cast(Infer, once)


class StdTensorOp(ExecOp):
    """An `ExecOp` of a graph: it has derivative rules, a batch rule and a local simplification.

    A missing derivative rule raises `ADRuleError`; it does not mean a zero derivative.
    """

    derivative_needs_sizes: ClassVar[bool] = False
    """Whether its transpose is written for exact sizes of the operands only."""

    assumes: ClassVar[bool] = False
    """Whether it may assume equalities of the sizes of its operands."""

    def assumptions(self, metas: Sequence[TensorMeta], reason: str) -> Sequence[Guard]:
        """What it assumes for operands of these types; `reason` says what needs it."""
        return ()

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        raise ADRuleError(f"{self.name}: has no linearize rule")

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        raise ADRuleError(f"{self.name}: has no transpose rule")

    def linear(self, at: JvpSite[V]) -> bool:
        return own_derivative(self, at)

    def leading(self, size: Dim) -> StdTensorOp | None:
        """The op that does the same for each entry of one more leading axis of every operand.

        None if no op does. A pointwise op does so itself. `size` is that of the axis.
        """
        if not self.axis_fields:
            return self if self.pointwise else None
        axes = {name: getattr(self, name) for name in self.axis_fields}
        further = {
            name: axis + 1 if isinstance(axis, int) else tuple([each + 1 for each in axis])
            for name, axis in axes.items()
        }
        return replace(self, **further)  # type: ignore[type-var]  # every op is a dataclass

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The `leading` op on the operands, repeated if they are not batched; see `PrimitiveOp`."""
        op = self if self.pointwise else _leading(self, at.size)
        if op is None:
            raise BatchRuleError(f"{self.name}: has no batch rule")
        operands = at.inputs
        if False in at.batched:
            operands = tuple([at.repeated(operand) for operand in range(len(operands))])
        if op.n_outputs == 1:
            return ((at.emit(op, *operands), True),)
        return tuple([(output, True) for output in at.emitter.emit_all(op, *operands)])

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        return None


@functools.lru_cache(maxsize=4096)
def _leading(op: StdTensorOp, size: Dim) -> StdTensorOp | None:
    """`op.leading(size)`, made once: a program has many ops of few kinds."""
    return op.leading(size)


class Inactive(StdTensorOp):
    """An op through which no tangent flows: its result is piecewise constant or not inexact."""

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return (None,) * self.n_outputs


class Multilinear(StdTensorOp):
    """An op that is linear in each operand alone."""

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return multilinear(at, self)


class LinearInFirst(StdTensorOp):
    """An op that is linear in its first operand; no tangent of another one flows."""

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        tangent = at.tangent[0]
        return (None if tangent is None else at.emit(self, tangent, *at.primal[1:]),)


class Unchanged(StdTensorOp):
    """An op whose result is its operand, of which it says something."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        return x

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return x


@payload
class Reduction(StdTensorOp):
    """An op that combines the elements over `axes`; the result does not have these axes."""

    axes: tuple[int, ...]

    kinds: ClassVar[str] = "iufc"
    """The NumPy dtype kinds that it takes."""
    unit: ClassVar[Any] = None
    """The result of no elements, as a number."""
    ufunc: ClassVar[np.ufunc]
    """What combines two elements."""
    streams = True
    axis_fields = ("axes",)

    def streams_from(self, operand: TensorMeta) -> bool:
        """If the last axis is among them: over others, compilers for the CPU add up whole rows."""
        return operand.rank - 1 in self.axes

    def neutral(self, dtype: DType) -> NumpyArray:
        """The neutral element of the reduction, as a rank-0 array."""
        return np.asarray(self.unit, dtype)

    def infer(self, x: TensorMeta) -> TensorMeta:
        check_kind(self.name, x, self.kinds)
        return reduced(self.name, x, self.axes)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """Numbers of 16 bits accumulate in float32."""
        total = self.ufunc.reduce(x, axis=self.axes, dtype=in_single(x.dtype))
        return np.asarray(total).astype(x.dtype, copy=False)

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        (rank,) = ranks
        places = iter(range(rank))
        return (tuple(None if axis in self.axes else next(places) for axis in range(rank)),)

    def permuted(self, orders: Sequence[AxisOrder]) -> tuple[ExecOp, AxisOrder]:
        (order,) = orders
        ((*into,),) = self.axis_map([len(order)])
        return replace(self, axes=places_of(self.axes, order)), tuple(
            axis for axis in (into[source] for source in order) if axis is not None
        )

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach:
        """Those with the same coordinates along the axes that remain."""
        remaining = [axis for axis in range(metas[0].rank) if axis not in self.axes]
        return Reach(groups=numbered(shape_of(metas[0]), remaining))

    def masked(self, at: MaskSite) -> None:
        """Padding is replaced by the neutral element."""
        fill = self.neutral(at.operand_metas[0].dtype)
        zero = bool(fill == 0)
        if at.padded(0).keys().isdisjoint(self.axes):
            at.keep(at.operand(0), zeros=zero and at.has_zeros(0))
        else:
            at.keep(at.zeroed(0) if zero else at.filled(0, fill), zeros=zero)


def shape_of(meta: TensorMeta) -> tuple[int, ...]:
    """The sizes of a type that has constant ones."""
    assert meta.static_shape is not None, "the sizes are constants here"
    return meta.static_shape


def entry_meta(at: BatchSite[V], operand: int) -> TensorMeta:
    """The type of one entry of an operand; of one that is not batched, its type."""
    meta: TensorMeta = at.ctx.meta(at.inputs[operand])
    return meta.with_extents(meta.extents[1:]) if at.batched[operand] else meta


def reduced(name: str, x: TensorMeta, axes: Sequence[int]) -> TensorMeta:
    """The operand's type without `axes`."""
    check_axes(name, axes, x.rank, x)
    return keep_axes(x, [axis for axis in range(x.rank) if axis not in axes])


def same_type(name: str, metas: Sequence[TensorMeta], kinds: str) -> TensorMeta:
    """The common type of elementwise operands.

    Raises:
        DTypeError: the dtypes differ or are not of the kinds that the op takes.
        ShapeError: the shapes differ.
    """
    first = metas[0]
    for meta in metas:
        if meta is first:
            continue
        if meta.dtype != first.dtype:
            raise DTypeError(
                f"{name}: operands have types {types(metas)}; convert them to one dtype"
            )
        if meta.dims is None or meta.dims != first.dims:
            text = f"operands have types {types(metas)}; broadcast them to one shape"
            check_same_shape(name, first, meta, text)
    check_kind(name, first, kinds)
    if first.as_size is not None:  # the result is another number
        return TensorMeta(first.dtype, first.extents)
    return first


def check_same_shape(name: str, x: TensorMeta, y: TensorMeta, otherwise: str) -> None:
    """Check that two operands certainly have equal shapes.

    Raises:
        ShapeError: the shapes differ; `otherwise` is the text.
        UnsupportedDynamicShapeError: a size is data-dependent and may differ between the two.
    """
    if x.rank != y.rank:
        raise ShapeError(f"{name}: {otherwise}")
    unlike = [
        (axis, left, right)
        for axis, (left, right) in enumerate(zip(x.extents, y.extents, strict=True))
        if not same_size(left, right)
    ]
    for axis, left, right in unlike:
        if isinstance(left, Exact) and isinstance(right, Exact):
            raise ShapeError(f"{name}: {otherwise}")
        inexact = left if isinstance(right, Exact) else right
        raise UnsupportedDynamicShapeError(name, f"operand[{axis}]", describe(inexact))


def check_kind(name: str, meta: TensorMeta, kinds: str) -> None:
    """Raise DTypeError if the operand's dtype is not of one of the NumPy kinds."""
    if dtype_kind(meta.dtype) not in kinds:
        expected = ", ".join(word for kind, word in _KIND_WORDS.items() if kind in kinds)
        advice = "; convert it with astype" if is_storage(meta.dtype) else ""
        raise DTypeError(f"{name}: takes {counted(expected, 'operand')}, got {meta}{advice}")


_KIND_WORDS = {"b": "bool", "i": "integer", "u": "unsigned", "f": "floating-point", "c": "complex"}


def types(metas: Sequence[TensorMeta]) -> str:
    """The types of operands, for errors: `f32[2,3] and f32[4]`."""
    return " and ".join(str(meta) for meta in metas)


def check_axes(name: str, axes: Sequence[int], rank: int, operand: TensorMeta) -> None:
    """Raise AxisError if an axis is out of range or named twice."""
    for axis in axes:
        if not 0 <= axis < rank:
            raise AxisError(f"{name}: axis {axis} is out of range for {operand} of rank {rank}")
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: axes {tuple(axes)} of {operand} name an axis twice")


def keep_axes(meta: TensorMeta, axes: Sequence[int]) -> TensorMeta:
    """The type with only the axes `axes`, in that order, with their extents."""
    if meta.static_shape is not None:
        return make_meta(meta.dtype, tuple([meta.static_shape[axis] for axis in axes]))
    return meta.with_extents(meta.extents[axis] for axis in axes)


def meta_of(array: NumpyArray) -> TensorMeta:
    """The type of a NumPy array."""
    return TensorMeta.of(array.dtype, array.shape)


def exact_meta(dtype: DType, extents: Sequence[ShapeExtent]) -> TensorMeta:
    """Metadata with these extents; if all are exact, checked to be in range."""
    meta = TensorMeta(dtype, extents)
    return meta if meta.dims is None else TensorMeta.of(dtype, meta.dims)


# Sizes in payloads that refer to operands, and the values that data-dependent sizes come from.


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
        raise AxisError(
            f"{name}: {leaf} does not name an axis of one of the {counted(len(metas), 'operand')}"
        )
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
