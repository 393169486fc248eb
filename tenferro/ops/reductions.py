"""Along axes: product, min/max, argmax, cumulative sums, linear recurrences, sort.

A `reverse` scan runs from the end of the axis to its start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from tenferro.core import Emitter, JvpSite, Slots, TransposeSite, V, add_terms, chain, each_active
from tenferro.errors import ShapeError
from tenferro.ir import (
    BOOL,
    INT64,
    Conjugation,
    DType,
    Exact,
    Known,
    MaskSite,
    NumpyArray,
    Pruned,
    Reach,
    TensorMeta,
    dtype_kind,
    in_float32,
    in_single,
    is_complex,
    numbered,
    payload,
    real_dtype,
)
from tenferro.ops.analytic import LOG_ADD_EXP
from tenferro.ops.base import (
    Inactive,
    Multilinear,
    Reduction,
    StdTensorOp,
    check_axes,
    check_kind,
    meta_of,
    reduced,
    same_type,
    shape_of,
)
from tenferro.ops.broadcast import ReduceSum, broadcast_like, full, full_like, zeros_like
from tenferro.ops.elementwise import (
    ADD,
    DIV,
    IMAG,
    MUL,
    REAL,
    SELECT,
    Compare,
    Elementwise,
    Term,
    conj,
)
from tenferro.ops.gather_scatter import Gather
from tenferro.ops.piecewise import AND, MAXIMUM, MINIMUM, OR
from tenferro.ops.rearrange import EmbedDiag
from tenferro.ops.slicing import Concatenate, Pad, Slice

__all__ = [
    "REDUCTIONS",
    "ArgMax",
    "ArgMin",
    "Cumulative",
    "CumulativeLogSumExp",
    "CumulativeMax",
    "CumulativeMin",
    "CumulativeOfTwo",
    "CumulativeProd",
    "CumulativeSum",
    "LinearRecurrence",
    "ReduceAnd",
    "ReduceMax",
    "ReduceMin",
    "ReduceNorm",
    "ReduceOr",
    "ReduceProd",
    "Sort",
    "TopPlaces",
    "gather_along",
]


# Reductions that are not linear: product, maximum, minimum, norm, and reductions of bools.


@payload
class ReduceProd(Reduction, name="reduce_prod"):
    """Product over `axes`; the result does not have these axes."""

    unit = 1
    ufunc = np.multiply

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
        only, moved = at.emit(ReduceSum((axis,)), value), at.emit(ReduceSum((axis,)), tangent)
        return (only if size else full_like(at.emitter, 1, only)), moved


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


@payload
class ReduceExtremum(Reduction):
    """Largest or smallest element: NaN wins; the derivative is the average over ties.

    If `empty`, that of no elements is the neutral element; else there must be some. If `skips_nan`,
    NaN may lose to a number, which is quicker where the elements themselves are read too.
    """

    empty: bool = False
    skips_nan: bool = False

    kinds = "iuf"
    added_fields = ("empty", "skips_nan")
    end: ClassVar[tuple[float, str]]
    """The neutral element: of floating-point dtypes, and by its name in `numpy.iinfo`."""

    def neutral(self, dtype: DType) -> NumpyArray:
        infinity, name = self.end
        if dtype_kind(dtype) == "f":
            return np.asarray(infinity, dtype)
        if dtype_kind(dtype) == "b":
            return np.asarray(name == "max")
        return np.asarray(getattr(np.iinfo(dtype), name), dtype)

    def infer(self, x: TensorMeta) -> TensorMeta:
        result = super().infer(x)
        for axis in self.axes:
            if x.extents[axis] == Exact(0) and not self.empty:
                raise ShapeError(f"{self.name}: axis {axis} of {x} has no elements to choose from")
        return result

    def numpy(self, x: NumpyArray) -> NumpyArray:
        self.infer(meta_of(x))  # a data-dependent size may have turned out to be 0
        initial = {} if x.size or not self.empty else {"initial": self.neutral(x.dtype)[()]}
        return np.asarray(self.ufunc.reduce(x, axis=self.axes, **initial))

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

    ufunc = np.maximum
    end = (-np.inf, "min")


@payload
class ReduceMin(ReduceExtremum, name="reduce_min"):
    """Smallest element over `axes`; the result does not have these axes."""

    ufunc = np.minimum
    end = (np.inf, "max")


@payload
class ReduceNorm(Reduction, name="reduce_norm"):
    """The root of the sum of |x|² over `axes`, also where these squares overflow or vanish.

    It is real for complex x. At 0 the derivative is NaN. XLA multiplies by the reciprocal of a
    number that divides many. Of a norm above 2**1022 in float64 that is subnormal and counts as 0,
    so that the derivative is 0 on XLA.
    """

    kinds = "fc"
    unit = 0
    conjugation = Conjugation.SAME

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axes`, with the real dtype."""
        check_kind(self.name, x, self.kinds)
        return reduced(self.name, x.with_dtype(real_dtype(x.dtype)), self.axes)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """By the sum of squares; where that is not precise, of numbers divided by the largest."""
        total = _sum_of_squares(x, self.axes)
        info = np.finfo(total.dtype)
        if np.all((total > info.tiny / info.eps**2) & (total <= info.max)):
            return np.asarray(np.sqrt(total))
        largest = np.max(np.abs(x), axis=self.axes, keepdims=True, initial=0)
        largest = np.where((largest > 0) & (largest <= info.max), largest, 1).astype(total.dtype)
        scaled = np.asarray(x / largest)
        if dtype_kind(x.dtype) == "c":  # each part, else an infinite one makes NaNs
            scaled.real, scaled.imag = x.real / largest, x.imag / largest
        root = np.sqrt(_sum_of_squares(scaled, self.axes))
        return np.asarray(root * np.squeeze(largest, self.axes))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The sum of Re(conj(x)·dx) over the norm, whose quotients with x are at most 1."""
        x, emitter = at.primal[0], at.emitter
        meta = at.ctx.meta(x)
        dims = tuple(axis for axis in range(meta.rank) if axis not in self.axes)
        parts = (REAL, IMAG) if is_complex(meta.dtype) else (None,)
        real = meta.with_dtype(real_dtype(meta.dtype))
        norm = broadcast_like(emitter, at.out[0], real, dims, self.name)

        def along(t: V) -> V:
            terms: list[V] = []
            for part in parts:
                own, moving = (x, t) if part is None else (at.emit(part, x), at.emit(part, t))
                terms.append(at.emit(MUL, at.emit(DIV, own, norm), moving))
            total = terms[0] if len(terms) == 1 else at.emit(ADD, *terms)
            return at.emit(ReduceSum(self.axes), total)

        return chain(at, along)


def _sum_of_squares(x: NumpyArray, axes: tuple[int, ...]) -> NumpyArray:
    squares = x.real * x.real + x.imag * x.imag if dtype_kind(x.dtype) == "c" else x * x
    return np.asarray(np.add.reduce(squares, axis=axes, dtype=squares.dtype))


class ReduceBools(Inactive, Reduction):
    """A reduction of bools."""

    kinds = "b"


@payload
class ReduceAnd(ReduceBools, name="reduce_and"):
    """Whether all elements over `axes` are true; true if there are none."""

    unit = True
    ufunc = np.logical_and


@payload
class ReduceOr(ReduceBools, name="reduce_or"):
    """Whether any element over `axes` is true; false if there are none."""

    unit = False
    ufunc = np.logical_or


REDUCTIONS: dict[str, tuple[Callable[[tuple[int, ...]], StdTensorOp], StdTensorOp, Any]] = {
    "sum": (ReduceSum, ADD, 0),
    "prod": (ReduceProd, MUL, 1),
    "max": (ReduceMax, MAXIMUM, None),
    "min": (ReduceMin, MINIMUM, None),
    "any": (ReduceOr, OR, False),
    "all": (ReduceAnd, AND, True),
}
"""By name: the op, the op of two elements, and the value of no elements, if there is one."""


# Cumulative sums and products along an axis, and linear recurrences, their derivatives.

NUMBERS = "iufc"


@payload
class AlongAxis(StdTensorOp):
    """An op that goes from position to position of `axis`, from the last one if `reverse`."""

    axis: int
    reverse: bool = False

    axis_fields = ("axis",)

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        result = same_type(self.name, metas, NUMBERS)
        check_axes(self.name, (self.axis,), result.rank, result)
        return result

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach:
        """All along the axis, also those that come later."""
        shape = shape_of(metas[operand])
        others = numbered(shape, [other for other in range(len(shape)) if other != self.axis])
        return Reach(others, others)

    def numpy(self, *operands: NumpyArray) -> NumpyArray:
        if not self.reverse:
            return self.forward(*operands)
        return np.flip(self.forward(*[np.flip(x, self.axis) for x in operands]), self.axis)

    def forward(self, *operands: NumpyArray) -> NumpyArray:
        """The result on NumPy arrays, from the first position on."""
        raise AssertionError(f"{self.name}: has no forward")


@payload
class Cumulative(AlongAxis):
    """An op that combines, at each position of `axis`, the elements up to and including it."""

    keeps_axes = True
    unit: ClassVar[float]
    """The neutral element."""
    ufunc: ClassVar[np.ufunc]
    """What combines two elements."""

    def forward(self, *operands: NumpyArray) -> NumpyArray:
        (x,) = operands
        totals = self.ufunc.accumulate(x, axis=self.axis, dtype=in_single(x.dtype))
        return totals.astype(x.dtype, copy=False)

    def masked(self, at: MaskSite) -> None:
        """Forward, padding comes after the elements; backward, it becomes the neutral element."""
        mixed = self.reverse and self.axis in at.padded(0)
        fill = self.neutral(at.operand_metas[0].dtype)
        at.keep(at.filled(0, fill) if mixed else at.operand(0))

    def neutral(self, dtype: DType) -> NumpyArray:
        """The neutral element, as a rank-0 array."""
        return np.asarray(self.unit, dtype)


@payload
class CumulativeSum(Multilinear, Cumulative, name="cumulative_sum"):
    """At each position of `axis`, the sum of the elements up to and including it."""

    unit = 0
    ufunc = np.add

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(CumulativeSum(self.axis, not self.reverse), ct))


@payload
class CumulativeProd(Cumulative, name="cumulative_prod"):
    """At each position of `axis`, the product of the elements up to and including it."""

    unit = 1
    ufunc = np.multiply

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The product rule y'ᵢ = xᵢ·y'ᵢ₋₁ + yᵢ₋₁·dxᵢ; correct for factors of zero."""
        recurrence = LinearRecurrence(self.axis, self.reverse)
        before = _shifted(at, at.out[0], self.axis, 1 if self.reverse else -1, fill=1)
        return chain(at, lambda t: at.emit(recurrence, at.primal[0], at.emit(MUL, before, t)))


@payload
class CumulativeOfTwo(Cumulative):
    """A cumulative op whose combination of two elements is an op with derivatives."""

    of_two: ClassVar[Elementwise]
    """The op that combines two elements."""

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        same_type(self.of_two.name, metas, self.of_two.kinds)
        return super().infer(*metas)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """y'ᵢ = ∂yᵢ/∂yᵢ₋₁·y'ᵢ₋₁ + ∂yᵢ/∂xᵢ·dxᵢ, where the first ∂yᵢ/∂xᵢ is 1."""
        recurrence, emitter = LinearRecurrence(self.axis, self.reverse), at.emitter
        x, y, step = at.primal[0], at.out[0], 1 if self.reverse else -1
        before = _shifted(at, y, self.axis, step)
        terms = [Term(at, value) for value in (full_like(emitter, 1, x), y, before, x)]
        factor, share = (formula(*terms) for formula in self.of_two.jvp or () if formula)
        assert factor is not None
        assert share is not None
        later = _shifted(at, share.value, self.axis, -step)
        share_of = _shifted(at, later, self.axis, step, fill=1)
        return chain(at, lambda t: at.emit(recurrence, factor.value, at.emit(MUL, share_of, t)))


@payload
class CumulativeExtremum(CumulativeOfTwo):
    """At each position of `axis`, an extremum of the elements up to and including it."""

    of_all: ClassVar[type[ReduceExtremum]]
    """The op that reduces them."""

    def neutral(self, dtype: DType) -> NumpyArray:
        return self.of_all(()).neutral(dtype)


@payload
class CumulativeMax(CumulativeExtremum, name="cumulative_max"):
    """At each position of `axis`, the largest element up to and including it."""

    of_two, of_all, ufunc = MAXIMUM, ReduceMax, np.maximum


@payload
class CumulativeMin(CumulativeExtremum, name="cumulative_min"):
    """At each position of `axis`, the smallest element up to and including it."""

    of_two, of_all, ufunc = MINIMUM, ReduceMin, np.minimum


@payload
class CumulativeLogSumExp(CumulativeOfTwo, name="cumulative_log_sum_exp"):
    """At each position of `axis`, log(sum(exp(x))) of the elements up to and including it."""

    unit = -np.inf
    of_two, ufunc = LOG_ADD_EXP, np.logaddexp

    def forward(self, *operands: NumpyArray) -> NumpyArray:
        """By pairs, then between them, so that errors grow with the logarithm of the length."""
        (x,) = operands
        return np.asarray(
            np.moveaxis(_by_pairs(np.logaddexp, np.moveaxis(x, self.axis, 0)), 0, self.axis)
        )


def _by_pairs(combine: np.ufunc, x: NumpyArray) -> NumpyArray:
    """What the elements up to each one combine to, along the first axis."""
    if len(x) < 2:
        return x
    result = np.empty_like(x)
    result[0] = x[0]
    result[1::2] = pairs = _by_pairs(combine, combine(x[:-1:2], x[1::2]))
    result[2::2] = combine(pairs[: len(x[2::2])], x[2::2])
    return result


@payload
class LinearRecurrence(AlongAxis, name="linear_recurrence"):
    """h with hᵢ = aᵢ·hᵢ₋₁ + bᵢ along `axis`, and h₀ = b₀."""

    n_inputs = 2

    def forward(self, *operands: NumpyArray) -> NumpyArray:
        a, b = operands
        factors, result = np.moveaxis(a, self.axis, 0), np.moveaxis(b, self.axis, 0).copy()
        for i in range(1, len(result)):
            result[i] += factors[i] * result[i - 1]
        return np.moveaxis(result, 0, self.axis)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The same recurrence, on hᵢ₋₁·daᵢ + dbᵢ."""
        da, added = at.tangent
        if da is not None:
            before = _shifted(at, at.out[0], self.axis, 1 if self.reverse else -1)
            added = add_terms(at.emitter, [at.emit(MUL, before, da), added])
        return (None if added is None else at.emit(self, at.primal[0], added),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The recurrence in the other direction with factors moved by one; only b is active."""
        a = at.inputs[0]

        def pull(ct: V) -> V:
            factors = _shifted(at, conj(at.emitter, a), self.axis, -1 if self.reverse else 1)
            return at.emit(LinearRecurrence(self.axis, not self.reverse), factors, ct)

        return each_active(at, None, pull)


def _shifted(at: JvpSite[V] | TransposeSite[V], value: V, axis: int, step: int, fill: int = 0) -> V:
    """At each position the element `step` positions further on, `fill` beyond the ends."""
    meta: TensorMeta = at.ctx.meta(value)
    low, high = ([by if i == axis else 0 for i in range(meta.rank)] for by in (-step, step))
    filler = full(at.emitter, fill, TensorMeta.of(meta.dtype, ()))
    return at.emit(Pad(tuple(low), tuple(high), (0,) * meta.rank), value, filler)


# Sort, and the place of an extremum.


@payload
class Sort(StdTensorOp, name="sort"):
    """The elements along `axis` in ascending order, and the place that each had before, in int64.

    NaN comes last. Elements that are equal keep their order, so that the places are well defined.
    `outputs` says which of the two there are. A graph has both; passes drop what nothing reads.
    """

    axis: int
    outputs: tuple[bool, bool] = (True, True)

    axis_fields = ("axis",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_outputs", sum(self.outputs))

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        self.check_arity(len(metas))
        (x,) = metas
        check_kind(self.name, x, "biuf")
        check_axes(self.name, (self.axis,), x.rank, x)
        return tuple(compress((x, x.with_dtype(INT64)), self.outputs))

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        return in_float32(self._sorted, *inputs)  # type: ignore[no-any-return]  # a tuple, as here

    def _sorted(self, x: NumpyArray) -> tuple[NumpyArray, ...]:
        if self.outputs == (True, False):
            return (np.sort(x, axis=self.axis, kind="stable"),)
        places = np.argsort(x, axis=self.axis, kind="stable").astype(np.int64, copy=False)
        if self.outputs == (False, True):
            return (places,)
        return np.take_along_axis(x, places, self.axis), places

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        if self.outputs != (True, True):
            return None
        elements, places = live
        return Pruned.keeping_operands(Sort(self.axis, (elements, places)), 1, live)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent in the same order; places have none."""
        (tangent,) = at.tangent
        if tangent is None or self.outputs == (False, True):
            return (None,) * self.n_outputs
        if self.outputs == (True, False):
            places = at.emit(Sort(self.axis, (False, True)), at.primal[0])
            return (gather_along(at.emitter, tangent, places, self.axis),)
        return gather_along(at.emitter, tangent, at.out[1], self.axis), None


@payload
class Extreme(Inactive):
    """Where along `axis`, which leaves the shape, an extremum is; the first of several."""

    axis: int

    axis_fields = ("axis",)
    place: ClassVar[Callable[..., Any]]
    """NumPy's function."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        check_kind(self.name, x, "biuf")
        result = reduced(self.name, x, (self.axis,)).with_dtype(INT64)
        if x.dims is not None and x.dims[self.axis] == 0:
            raise ShapeError(f"{self.name}: axis {self.axis} of {x} has no elements to choose from")
        return result

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.asarray(self.place(x, axis=self.axis), np.int64)


@payload
class ArgMax(Extreme, name="argmax"):
    """The place of the largest element along `axis`: the first of several; NaN wins."""

    place = staticmethod(np.argmax)


@payload
class ArgMin(Extreme, name="argmin"):
    """The place of the smallest element along `axis`: the first of several; NaN wins."""

    place = staticmethod(np.argmin)


@payload
class TopPlaces(Inactive, name="top_places"):
    """Where along `axis` the `count` largest elements are, in int64, the largest first.

    NaN counts as the largest. Of equal elements the first one comes first.
    """

    axis: int
    count: int

    axis_fields = ("axis",)

    def infer(self, x: TensorMeta) -> TensorMeta:
        check_kind(self.name, x, "biuf")
        check_axes(self.name, (self.axis,), x.rank, x)
        size = None if x.dims is None else x.dims[self.axis]
        if isinstance(size, int) and not 0 <= self.count <= size:
            raise ShapeError(
                f"{self.name}: axis {self.axis} of {x} does not have {self.count} elements"
            )
        extents = list(x.extents)
        extents[self.axis] = Exact(self.count)
        return x.with_dtype(INT64).with_extents(extents)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        backwards = np.argsort(np.flip(x, self.axis), axis=self.axis, kind="stable")
        places = x.shape[self.axis] - 1 - np.flip(backwards, self.axis)
        return np.asarray(places.take(range(self.count), self.axis), np.int64)


def gather_along(at: Emitter[V], x: V, places: V, axis: int, *, unique: bool = True) -> V:
    """The elements of `x` at `places` along `axis`; other axes are common to both.

    `unique` promises that no element is named twice.
    """
    meta = at.ctx.meta(x)
    others = tuple(other for other in range(meta.rank) if other != axis)
    gather = Gather(
        (), (axis,), (axis,), meta.rank, (1,) * meta.rank, others, others, unique=unique
    )
    return at.emit(gather, x, places)
