"""Constants, iota, broadcasts, their transpose `ReduceSum`, and uniform values.

`BroadcastInDim` needs exact sizes. `DynamicBroadcastInDim` reads data-dependent sizes off values
that have them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tenferro.core import Emitter, JvpSite, Slots, TransposeSite, V, each_active
from tenferro.errors import AxisError, DTypeError, GraphError, ShapeError, TenferroError
from tenferro.ir import (
    AxisMap,
    Category,
    Conjugation,
    Dim,
    DType,
    Exact,
    MaskSite,
    NumpyArray,
    Resolution,
    TensorMeta,
    as_dtype,
    dtype_kind,
    make_meta,
    payload,
    same_size,
    short_name,
)
from tenferro.ops.base import (
    Inactive,
    LinearInFirst,
    Multilinear,
    Reduction,
    StdTensorOp,
    Unchanged,
    check_axes,
    extent_of,
    inferred_once,
    runtime_shape,
    shifted,
    size_at,
)

__all__ = [
    "STOP_GRADIENT",
    "BroadcastInDim",
    "Constant",
    "DynamicBroadcastInDim",
    "Iota",
    "ReduceSum",
    "StopGradient",
    "broadcast_like",
    "full",
    "full_like",
    "repeated",
    "scalar",
    "scalar_source",
    "uniform",
    "zeros_like",
]


# Constant: a small literal array; its dtype, shape and bytes are its identity.


@payload
class Constant(Inactive, name="constant"):
    """The array `value`; `dtype` and `shape` are those of the array if None."""

    value: Any
    dtype: Any = None
    shape: Any = None

    category = Category.HOST
    n_inputs = 0
    transparent = True

    def __post_init__(self) -> None:
        array = np.array(
            self.value, dtype=None if self.dtype is None else as_dtype(self.dtype), order="C"
        )
        if self.shape is not None:
            array = array.reshape(self.shape)
        array = array.astype(as_dtype(array.dtype), copy=False)
        if dtype_kind(array.dtype) in "fc":
            _unify_nan(array)
        array.setflags(write=False)
        object.__setattr__(self, "value", array)
        object.__setattr__(self, "dtype", array.dtype)
        object.__setattr__(self, "shape", array.shape)
        super().__post_init__()

    def stored_fields(self) -> tuple[str, ...]:
        """Only the value; its array holds dtype and shape."""
        return ("value",)

    def printed_fields(self) -> tuple[str, ...]:
        """The value and its dtype; the shape only if there are no elements to show it."""
        return ("value", "dtype") if self.value.size else ("value", "dtype", "shape")

    @property
    def label(self) -> str:
        return str(self.value.item()) if self.shape == () else self.name

    def infer(self) -> TensorMeta:
        """The literal's type; a rank-0 integer is also known as a size."""
        if self.shape == () and dtype_kind(self.dtype) in "iu":
            return _size_meta(self.dtype, max(self.value.item(), 0))
        return make_meta(self.dtype, self.shape)

    def linear(self, at: JvpSite[V]) -> bool:
        """Whether it is zero: of no operands, only zero is linear."""
        return not self.value.any()

    def numpy(self) -> NumpyArray:
        return self.value  # type: ignore[no-any-return]


def _unify_nan(array: NumpyArray) -> None:
    """Give every NaN the same bits, since sign and payload of a NaN are not part of identity."""
    for part in (array.real, array.imag) if dtype_kind(array.dtype) == "c" else (array,):
        unknown = np.isnan(part)
        if unknown.any():
            part[unknown] = np.nan


@functools.lru_cache(maxsize=4096)
def _size_meta(dtype: DType, number: int) -> TensorMeta:
    return TensorMeta(dtype, (), Exact(number))


@functools.lru_cache(maxsize=4096)
def _scalar(data: bytes, dtype: DType) -> Constant:
    return Constant(np.frombuffer(data, dtype)[0])


def scalar(value: object, dtype: DType) -> Constant:
    """The rank-0 constant of a Python or NumPy number, cached by value and dtype.

    Raises:
        DTypeError: the value is not a number.
    """
    try:
        array = np.asarray(value)
        if array.shape == ():
            return _scalar(array.astype(dtype).tobytes(), dtype)
    except TenferroError:
        raise
    except (TypeError, ValueError):
        pass
    raise DTypeError(f"constant: {value!r} is not a number")


# BroadcastInDim and ReduceSum, which are transposes of each other; and uniform values.


@payload
class BroadcastInDim(Multilinear, name="broadcast_in_dim"):
    """Repeat the operand along new axes: operand axis i becomes axis `dims[i]` of `shape`.

    An operand axis has the size of its target axis, or has size 1 and is repeated.
    """

    shape: tuple[Dim, ...]
    dims: tuple[int, ...]

    moves = True
    repeats = True

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        return (self.dims,)

    def leading(self, size: Dim) -> BroadcastInDim:
        return BroadcastInDim((size, *self.shape), (0, *(axis + 1 for axis in self.dims)))

    def trailing(self, size: int) -> BroadcastInDim:
        return BroadcastInDim((*self.shape, size), (*self.dims, len(self.shape)))

    def masked(self, at: MaskSite) -> None:
        """Padding is repeated too; along repeated axes, the padding holds copies of elements."""
        carried = {self.dims[axis] for axis in at.padded(0)}
        own = at.padded_axes(at.result_metas[0]).keys() <= carried
        at.keep(at.operand(0), zeros=own and at.has_zeros(0))

    transparent = True

    @inferred_once
    def infer(self, x: TensorMeta) -> TensorMeta:
        result = _check_dims(self, x, lambda: TensorMeta.of(x.dtype, self.shape))
        for axis, (size, target) in enumerate(
            zip(x.exact_shape(self.name, "operand"), self.dims, strict=True)
        ):
            if size not in (1, self.shape[target]):
                raise ShapeError(
                    f"{self.name}: axis {axis} of {x} has size {size}, "
                    f"but axis {target} of the result {result} has size {self.shape[target]}"
                )
        return result

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """A view with steps of no bytes along repeated axes.

        `numpy.broadcast_to` makes the same in several times as long.
        """
        if x.flags.c_contiguous and x.size and dtype_kind(x.dtype) != "V":  # which has no buffer
            shape: Any = self.shape
            steps = _steps(x.shape, x.itemsize, self.dims, len(shape))
            view: NumpyArray = np.ndarray(shape, x.dtype, x, 0, steps)
            view.flags.writeable = False
            return view
        sizes = [1] * len(self.shape)
        for axis, target in enumerate(self.dims):
            sizes[target] = x.shape[axis]
        return np.broadcast_to(x.reshape(sizes), self.shape)  # type: ignore[arg-type]  # sizes are bound

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The sum over repeated axes; these get the operand's size again."""
        return each_active(at, lambda ct: sum_back(at, self.dims, ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a broadcast to the same shape; combine two consecutive broadcasts."""
        (x,) = operands
        if at.ctx.meta(x).dims == self.shape:
            return x
        producer = at.producer(x)
        if producer is None or type(producer[0]) is not BroadcastInDim:
            return None
        inner, (source,) = producer
        return at.emit(_broadcast(self.shape, tuple([self.dims[i] for i in inner.dims])), source)


def _check_dims(
    op: BroadcastInDim | DynamicBroadcastInDim, x: TensorMeta, result_of: Callable[[], TensorMeta]
) -> TensorMeta:
    """The result's type, once `dims` is known to name its axes in ascending order."""
    if len(op.dims) != x.rank:
        raise AxisError(f"{op.name}: dims {op.dims} must name one axis for each axis of {x}")
    result = result_of()
    check_axes(op.name, op.dims, result.rank, result)
    if list(op.dims) != sorted(op.dims):
        raise AxisError(f"{op.name}: dims {op.dims} must increase; transpose {x} first")
    return result


@functools.lru_cache(maxsize=4096)
def _steps(
    sizes: tuple[int, ...], itemsize: int, dims: tuple[int, ...], rank: int
) -> tuple[int, ...]:
    """The bytes from element to element along each axis of a result of `rank`."""
    steps = [0] * rank
    for size, target in zip(reversed(sizes), reversed(dims), strict=True):
        steps[target] = 0 if size == 1 else itemsize
        itemsize *= size
    return tuple(steps)


@payload
class DynamicBroadcastInDim(LinearInFirst, name="dynamic_broadcast_in_dim"):
    """`BroadcastInDim` of the first operand to a shape that may refer to sizes of all operands.

    `dim(1, 0)` in `shape` is the size of axis 0 of operand 1. Only the shapes of the operands after
    the first are read.
    """

    shape: tuple[Dim, ...]
    dims: tuple[int, ...]

    n_inputs = None
    moves = True
    repeats = True
    follows_shapes = True
    transparent = True

    def reads_shape_only(self, operand: int) -> bool:
        return operand > 0

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """`shape`, with the guarantees of the sizes that it refers to."""
        if not metas:
            raise GraphError(f"{self.name}: takes at least one operand")
        x = metas[0]
        shape = (extent_of(self.name, size, metas) for size in self.shape)
        result = _check_dims(self, x, lambda: TensorMeta(x.dtype, list(shape)))
        for axis, target in enumerate(self.dims):
            extent, result_extent = x.extents[axis], result.extents[target]
            if extent != Exact(1) and not same_size(extent, result_extent):
                raise ShapeError(
                    f"{self.name}: axis {axis} of {x} does not have the size of axis {target} of "
                    f"the result {result}"
                )
        return result

    def numpy(self, x: NumpyArray, *sources: NumpyArray) -> NumpyArray:
        return self._at([x.shape, *(source.shape for source in sources)]).numpy(x)

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray] | None = None
    ) -> Resolution:
        return Resolution(self._at([meta.exact_shape(self.name) for meta in metas]), (0,))

    def _at(self, shapes: Sequence[tuple[Dim, ...]]) -> BroadcastInDim:
        return BroadcastInDim(tuple(size_at(size, shapes) for size in self.shape), self.dims)

    def leading(self, size: Dim) -> DynamicBroadcastInDim:
        shape = (size, *(shifted(extent) for extent in self.shape))
        return DynamicBroadcastInDim(shape, (0, *(axis + 1 for axis in self.dims)))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: sum_back(at, self.dims, ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """`BroadcastInDim` if all sizes are exact; the operand if it has the result's shape."""
        metas = [at.ctx.meta(operand) for operand in operands]
        result = self.infer(*metas)
        if result.dims is not None:
            return at.emit(BroadcastInDim(result.dims, self.dims), operands[0])
        if metas[0].rank == result.rank and all(map(same_size, metas[0].extents, result.extents)):
            return operands[0]
        return None


@payload
class ReduceSum(Multilinear, Reduction, name="reduce_sum"):
    """Sum over `axes`; the result does not have these axes."""

    unit = 0
    ufunc = np.add
    conjugation = Conjugation.ZERO_SIGNS
    componentwise = True

    def trailing(self, size: int) -> ReduceSum:
        return self

    infer = inferred_once(Reduction.infer)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        meta = at.ctx.meta(at.inputs[0])
        dims = tuple(axis for axis in range(meta.rank) if axis not in self.axes)
        return each_active(at, lambda ct: broadcast_like(at.emitter, ct, meta, dims, self.name))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a sum over no axes; combine two consecutive sums."""
        (x,) = operands
        if not self.axes:
            return x
        producer = at.producer(x)
        if producer is None or type(producer[0]) is not ReduceSum:
            return None
        inner, (source,) = producer
        remaining = [axis for axis in range(at.ctx.meta(source).rank) if axis not in inner.axes]
        axes = sorted([*inner.axes, *(remaining[axis] for axis in self.axes)])
        return at.emit(ReduceSum(tuple(axes)), source)


def broadcast_like(
    at: Emitter[V], x: V, meta: TensorMeta, dims: Sequence[int], primitive: str
) -> V:
    """`x` repeated to the shape of `meta`: operand axis i becomes axis `dims[i]`.

    Data-dependent sizes are read off values that have them.

    Raises:
        UnsupportedDynamicShapeError: no value has the size; names `primitive` and the axis.
    """
    if meta.dims is not None:
        return at.emit(_broadcast(meta.dims, tuple(dims)), x)
    shape, sources = runtime_shape(meta, primitive)
    return at.emit(DynamicBroadcastInDim(shape, tuple(dims)), x, *sources)


@functools.lru_cache(maxsize=4096)
def _broadcast(shape: tuple[Dim, ...], dims: tuple[int, ...]) -> BroadcastInDim:
    """The op, cached: derivatives contain many constants of few shapes."""
    return BroadcastInDim(shape, dims)


def sum_back(at: TransposeSite[V], dims: Sequence[int], ct: V) -> V:
    """The cotangent of a value that was repeated along `dims` to the shape of `ct`."""
    meta, wide = at.ctx.meta(at.inputs[0]), at.ctx.meta(ct)
    not_repeated = {
        target: i
        for i, target in enumerate(dims)
        if same_size(meta.extents[i], wide.extents[target])
    }
    summed = tuple(axis for axis in range(wide.rank) if axis not in not_repeated)
    total = at.emit(ReduceSum(summed), ct)
    return broadcast_like(at.emitter, total, meta, tuple(not_repeated.values()), "broadcast_in_dim")


def may_repeat(at: Emitter[V], value: V) -> bool:
    """Whether a value is a constant or a broadcast, and so may be a repeated scalar."""
    producer = at.producer(value)
    return producer is not None and type(producer[0]) in (
        Constant,
        BroadcastInDim,
        DynamicBroadcastInDim,
    )


def uniform(at: Emitter[V], value: V) -> NumpyArray | None:
    """The rank-0 array that every element of `value` is known to equal, or None."""
    producer = at.producer(value)
    if producer is not None and type(producer[0]) in (BroadcastInDim, DynamicBroadcastInDim):
        producer = at.producer(producer[1][0])
    if producer is None or type(producer[0]) is not Constant or producer[0].shape != ():
        return None
    return producer[0].value  # type: ignore[no-any-return]


def scalar_source(at: Emitter[V], value: V) -> V | None:
    """The scalar whose repetition `value` is, or None."""
    producer = at.producer(value)
    if producer is None or type(producer[0]) is not BroadcastInDim or producer[0].dims:
        return None
    return producer[1][0]


def on_scalars(at: Emitter[V], op: StdTensorOp, operands: Sequence[V]) -> V | None:
    """If all operands are repeated scalars, `op` on the scalars, then repeated; else None."""
    sources: list[V] = []
    for operand in operands:
        source = scalar_source(at, operand)
        if source is None:
            return None
        sources.append(source)
    producer = at.producer(operands[0])
    assert producer is not None, "a repeated scalar has a producer"
    return at.emit(producer[0], at.emit(op, *sources))


def full(at: Emitter[V], value: object, meta: TensorMeta, primitive: str = "full") -> V:
    """A value of type `meta` whose every element is `value`.

    Raises:
        UnsupportedDynamicShapeError: an extent is data-dependent, and no known value has that
            size; names `primitive`.
    """
    return broadcast_like(at, at.emit(scalar(value, meta.dtype)), meta, (), primitive)


def full_like(at: Emitter[V], value: object, like: V) -> V:
    """A value of the type of `like` whose every element is `value`."""
    return full(at, value, at.ctx.meta(like))


def repeated(at: Emitter[V], value: V, size: Dim) -> V:
    """`value` for each of `size` positions of a new first axis."""
    meta: TensorMeta = at.ctx.meta(value)
    if meta.dims is not None:
        return at.emit(_broadcast((size, *meta.dims), tuple(range(1, 1 + meta.rank))), value)
    wide = meta.with_extents([Exact(size), *meta.extents])
    return broadcast_like(at, value, wide, range(1, wide.rank), "vmap")


def zeros_like(at: Emitter[V], like: V) -> V:
    """Explicit zeros of the type of `like`."""
    return full_like(at, 0, like)


# Values through which no tangent flows: counters, and values that the user declares constant.


@payload
class Iota(Inactive, name="iota"):
    """0, 1, 2, … along one axis of the given size."""

    dtype: DType
    size: Dim

    n_inputs = 0

    def infer(self) -> TensorMeta:
        if dtype_kind(self.dtype) not in "iufc":
            raise DTypeError(f"iota: the dtype must be numeric, got {short_name(self.dtype)}")
        return TensorMeta.of(self.dtype, (self.size,))

    def masked(self, at: MaskSite) -> None:
        """The padding holds further counts."""
        at.keep()

    def numpy(self) -> NumpyArray:
        if dtype_kind(self.dtype) in "iu" and self.dtype.itemsize >= 4:
            return np.arange(self.size, dtype=self.dtype)  # type: ignore[arg-type]  # sizes are bound
        return np.arange(self.size).astype(self.dtype)  # type: ignore[arg-type]  # sizes are bound


@payload
class StopGradient(Inactive, Unchanged, name="stop_gradient"):
    """The operand; derivatives treat it as constant."""

    pointwise = True
    moves = True
    view = True
    for_derivatives = True


STOP_GRADIENT = StopGradient()
