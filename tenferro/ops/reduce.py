"""Reductions that are not linear: product, maximum, minimum, norm, and reductions of bools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V, chain
from tenferro.errors import ShapeError
from tenferro.exec_ir import Array, Conjugation, payload
from tenferro.ops.arithmetic import ADD, DIV, MUL
from tenferro.ops.base import Inactive, Reduction, StdTensorOp, check_kind, meta_of, reduced
from tenferro.ops.bitwise import AND, OR
from tenferro.ops.broadcast_reduce import (
    ReduceSum,
    broadcast_like,
    full,
    full_like,
    zeros_like,
)
from tenferro.ops.compare import MAXIMUM, MINIMUM, REAL_KINDS, SELECT, Compare
from tenferro.ops.convert import IMAG, REAL
from tenferro.ops.diagonal import EmbedDiag
from tenferro.ops.joining import Concatenate
from tenferro.ops.window import Slice
from tenferro.shape import BOOL, DType, Exact, TensorMeta, is_complex, real_dtype


@payload
class ReduceProd(Reduction, name="reduce_prod"):
    """Product over `axes`; the result does not have these axes."""

    axes: tuple[int, ...]

    def neutral(self, dtype: DType) -> Array:
        """One."""
        return np.ones((), dtype)

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`."""
        check_kind(self.name, x, "iufc")
        return reduced(self.name, x, self.axes)

    def numpy(self, x: Array) -> Array:
        """`numpy.prod`, in the operand's dtype."""
        return np.asarray(np.prod(x, axis=self.axes, dtype=x.dtype))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The product rule along a tree of halves; correct for factors of zero, to any order."""
        value, tangent = at.primal[0], at.tangent[0]
        assert tangent is not None
        for axis in sorted(self.axes, reverse=True):
            value, tangent = self._along(at, axis, value, tangent)
        return (tangent,)

    def _along(self, at: JvpSite[V], axis: int, value: V, tangent: V) -> tuple[V, V]:
        meta = at.ctx.meta(value)
        size = None if meta.dims is None else meta.dims[axis]
        if not isinstance(size, int):
            terms = at.emit(MUL, _products_of_others(at, axis, value), tangent)
            return at.emit(ReduceProd((axis,)), value), at.emit(ReduceSum((axis,)), terms)
        while size > 1:
            half = size // 2
            a, b = (_window(at, value, axis, start, start + half) for start in (0, half))
            da, db = (_window(at, tangent, axis, start, start + half) for start in (0, half))
            values = [at.emit(MUL, a, b)]
            tangents = [at.emit(ADD, at.emit(MUL, da, b), at.emit(MUL, a, db))]
            if size % 2:
                values.append(_window(at, value, axis, size - 1, size))
                tangents.append(_window(at, tangent, axis, size - 1, size))
            value, tangent = (at.emit(Concatenate(axis), *parts) for parts in (values, tangents))
            size = half + size % 2
        if size == 0:
            return full_like(at.emitter, 1, at.emit(ReduceSum((axis,)), value)), at.emit(
                ReduceSum((axis,)), tangent
            )
        return at.emit(ReduceSum((axis,)), value), at.emit(ReduceSum((axis,)), tangent)


def _products_of_others(at: JvpSite[V], axis: int, value: V) -> V:
    """For each element along an axis, the product of all other elements.

    It takes memory in the square of the size; halving needs a constant size.
    """
    meta = at.ctx.meta(value)
    wide = meta.with_extents([*meta.extents[: axis + 1], *meta.extents[axis:]])
    dims = [*range(axis), *range(axis + 1, wide.rank)]
    every = full(at.emitter, True, meta.with_dtype(BOOL), "reduce_prod")
    own = at.emit(EmbedDiag(axis, axis + 1), every)
    factors = broadcast_like(at.emitter, value, wide, dims, "reduce_prod")
    one = full(at.emitter, 1, wide, "reduce_prod")
    return at.emit(ReduceProd((axis + 1,)), at.emit(SELECT, own, one, factors))


def _window(at: JvpSite[V], value: V, axis: int, start: int, limit: int) -> V:
    sizes = at.ctx.meta(value).exact_shape("reduce_prod", "operand")
    starts = tuple(start if i == axis else 0 for i in range(len(sizes)))
    limits = tuple(limit if i == axis else size for i, size in enumerate(sizes))
    return at.emit(Slice(starts, limits, (1,) * len(sizes)), value)


class ReduceExtremum(Reduction):
    """Largest or smallest element: NaN wins; the derivative is the average over ties.

    If `empty`, that of no elements is the neutral element; else there must be some.
    """

    axes: tuple[int, ...]
    empty: bool = False

    added_fields = ("empty",)

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`."""
        check_kind(self.name, x, REAL_KINDS)
        result = reduced(self.name, x, self.axes)
        for axis in self.axes:
            if x.extents[axis] == Exact(0) and not self.empty:
                raise ShapeError(f"{self.name}: axis {axis} of {x} has no elements to choose from")
        return result

    def extremum(self, of: Callable[..., Any], x: Array) -> Array:
        """What `of` finds; raises ShapeError if a data-dependent size turned out to be 0."""
        self.infer(meta_of(x))
        if self.empty and x.size == 0:
            return np.asarray(of(x, axis=self.axes, initial=self.neutral(x.dtype)[()]))
        return np.asarray(of(x, axis=self.axes))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The mean of the tangents of the elements that equal the result."""
        x, out = at.primal[0], at.out[0]
        meta = at.ctx.meta(x)
        remaining = tuple(axis for axis in range(meta.rank) if axis not in self.axes)
        repeated = broadcast_like(at.emitter, out, meta, remaining, self.name)
        is_result = at.emit(Compare("EQ"), x, repeated)
        mask = at.emit(SELECT, is_result, full_like(at.emitter, 1, x), zeros_like(at.emitter, x))
        count = at.emit(ReduceSum(self.axes), mask)
        return chain(
            at, lambda t: at.emit(DIV, at.emit(ReduceSum(self.axes), at.emit(MUL, mask, t)), count)
        )


@payload
class ReduceMax(ReduceExtremum, name="reduce_max"):
    """Largest element over `axes`; the result does not have these axes."""

    axes: tuple[int, ...]
    empty: bool = False

    def neutral(self, dtype: DType) -> Array:
        """The smallest value of the dtype."""
        return _end(dtype, -np.inf, "min")

    def numpy(self, x: Array) -> Array:
        """`numpy.max`."""
        return self.extremum(np.max, x)


@payload
class ReduceMin(ReduceExtremum, name="reduce_min"):
    """Smallest element over `axes`; the result does not have these axes."""

    axes: tuple[int, ...]
    empty: bool = False

    def neutral(self, dtype: DType) -> Array:
        """The largest value of the dtype."""
        return _end(dtype, np.inf, "max")

    def numpy(self, x: Array) -> Array:
        """`numpy.min`."""
        return self.extremum(np.min, x)


@payload
class ReduceNorm(Reduction, name="reduce_norm"):
    """The root of the sum of |x|² over `axes`, also where these squares overflow or vanish.

    It is real for complex x. At 0 the derivative is NaN.
    """

    axes: tuple[int, ...]

    conjugation = Conjugation.SAME

    def neutral(self, dtype: DType) -> Array:
        """Zero."""
        return np.zeros((), dtype)

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`, with the real dtype."""
        check_kind(self.name, x, "fc")
        return reduced(self.name, x.with_dtype(real_dtype(x.dtype)), self.axes)

    def numpy(self, x: Array) -> Array:
        """By the sum of squares; where that is not precise, of numbers divided by the largest."""
        total = _sum_of_squares(x, self.axes)
        info = np.finfo(total.dtype)
        if np.all((total > info.tiny / info.eps**2) & (total <= info.max)):
            return np.asarray(np.sqrt(total))
        largest = np.max(np.abs(x), axis=self.axes, keepdims=True, initial=0)
        largest = np.where((largest > 0) & (largest <= info.max), largest, 1).astype(total.dtype)
        scaled = np.sqrt(_sum_of_squares(x / largest, self.axes))
        return np.asarray(scaled * np.squeeze(largest, self.axes))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The sum of Re(conj(x)·dx) over the norm, whose quotients with x are at most 1."""
        x, emitter = at.primal[0], at.emitter
        meta = at.ctx.meta(x)
        dims = tuple(axis for axis in range(meta.rank) if axis not in self.axes)
        parts = (REAL, IMAG) if is_complex(meta.dtype) else (None,)
        real = meta.with_dtype(real_dtype(meta.dtype))
        norm = broadcast_like(emitter, at.out[0], real, dims, self.name)

        def along(t: V) -> V:
            terms = [
                at.emit(MUL, at.emit(DIV, _part(at, part, x), norm), _part(at, part, t))
                for part in parts
            ]
            total = terms[0] if len(terms) == 1 else at.emit(ADD, *terms)
            return at.emit(ReduceSum(self.axes), total)

        return chain(at, along)


def _part(at: JvpSite[V], part: StdTensorOp | None, value: V) -> V:
    return value if part is None else at.emit(part, value)


def _sum_of_squares(x: Array, axes: tuple[int, ...]) -> Array:
    squares = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
    return np.asarray(np.add.reduce(squares, axis=axes, dtype=squares.dtype))


def _end(dtype: DType, infinity: float, name: str) -> Array:
    """The smallest or largest value of a dtype."""
    if dtype.kind == "f":
        return np.asarray(infinity, dtype)
    if dtype.kind == "b":
        return np.asarray(name == "max")
    return np.asarray(getattr(np.iinfo(dtype), name), dtype)


class ReduceBools(Reduction, Inactive):
    """A reduction of bools."""

    axes: tuple[int, ...]

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`."""
        check_kind(self.name, x, "b")
        return reduced(self.name, x, self.axes)


@payload
class ReduceAnd(ReduceBools, name="reduce_and"):
    """Whether all elements over `axes` are true; true if there are none."""

    axes: tuple[int, ...]

    def neutral(self, dtype: DType) -> Array:
        """True."""
        return np.asarray(True)

    def numpy(self, x: Array) -> Array:
        """`numpy.all`."""
        return np.asarray(np.all(x, axis=self.axes))


@payload
class ReduceOr(ReduceBools, name="reduce_or"):
    """Whether any element over `axes` is true; false if there are none."""

    axes: tuple[int, ...]

    def neutral(self, dtype: DType) -> Array:
        """False."""
        return np.asarray(False)

    def numpy(self, x: Array) -> Array:
        """`numpy.any`."""
        return np.asarray(np.any(x, axis=self.axes))


REDUCTIONS: dict[str, tuple[Callable[[tuple[int, ...]], StdTensorOp], StdTensorOp, Any]] = {
    "sum": (ReduceSum, ADD, 0),
    "prod": (ReduceProd, MUL, 1),
    "max": (ReduceMax, MAXIMUM, None),
    "min": (ReduceMin, MINIMUM, None),
    "any": (ReduceOr, OR, False),
    "all": (ReduceAnd, AND, True),
}
"""By name: the op, the op of two elements, and the value of no elements, if there is one."""
