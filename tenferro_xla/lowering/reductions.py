"""Lowering of reductions, cumulative ops, sorting, contractions and Threefry.

Threefry written out is fused into what reads it, and its words are never stored. Compiling it takes
a tenth of a second for each reader; so for few elements its iterations are a loop on CPUs, where a
loop costs microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import compress
from math import prod
from typing import cast

import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro import ops
from tenferro.errors import ExecutorError
from tenferro.ir import is_complex, is_floating, real_dtype
from tenferro_xla.lowering.extents import known
from tenferro_xla.lowering.registry import LoweringOptions, lower
from tenferro_xla.lowering.windows import by_windows, stored

# Reductions that are not linear.

MANY = 1024
"""Numbers below which XLA reduces them itself."""
BY_LIBRARY = 4096
"""Numbers from which it takes a library."""

Reduce = Callable[[Array, Sequence[int]], Array]
OfTwo = Callable[[Array, Array], Array]


@lower.register
def _(op: ops.ReduceMax, x: Array, *, options: LoweringOptions) -> Array:
    return _extremum(op, x, lax.reduce_max, lax.max, options)


@lower.register
def _(op: ops.ReduceMin, x: Array, *, options: LoweringOptions) -> Array:
    return _extremum(op, x, lax.reduce_min, lax.min, options)


@lower.register
def _(op: ops.ReduceAnd, x: Array, *, options: LoweringOptions) -> Array:
    return _idempotent(op.axes, x, lax.reduce_and, lax.bitwise_and, options)


@lower.register
def _(op: ops.ReduceOr, x: Array, *, options: LoweringOptions) -> Array:
    return _idempotent(op.axes, x, lax.reduce_or, lax.bitwise_or, options)


FEWEST_SQUARES = 16
"""Squares in each sum from which roots are taken behind the branches: XLA then compiles a third
less for a norm, but reads the sums once more."""


@lower.register
def _(op: ops.ReduceNorm, x: Array, *, options: LoweringOptions) -> Array:
    """The root of the sum of squares; where that overflows or vanishes, of numbers that are scaled.

    The scales are powers of two: whatever the largest number is, one of them brings its square into
    the range, and what vanishes then does not count. In twice the bits no square is out of it, and
    there are no branches to compile. Of numbers of 32 bits that pays on the CPU alone; and a
    library has the sums of many of them sooner than XLA those of 64 bits.
    """
    dtype = real_dtype(x.dtype)
    squares = [x.shape[axis] for axis in op.axes]
    few = known(x.shape) and (x.size < BY_LIBRARY or prod(squares) < FEWEST_SQUARES)
    on_cpu = options.platform == "cpu"
    if dtype.itemsize < 4 or (dtype.itemsize == 4 and few and on_cpu):
        wide = np.result_type(x.dtype, np.float32 if dtype.itemsize < 4 else np.float64)
        root = lax.sqrt(_sum_of_squares(lax.convert_element_type(x, wide), op.axes))
        return lax.convert_element_type(root, dtype)
    total = _sum_of_squares(x, op.axes)
    info = np.finfo(total.dtype)
    least, most = float(info.tiny / info.eps**2), float(info.max)
    exponents = (0, -9 * info.maxexp // 16, 3 * info.maxexp // 4)
    one, down, up = (np.asarray(2.0**each, total.dtype) for each in exponents)

    def scale() -> Array:
        return jnp.where(total > most, down, jnp.where(total > least, one, up))

    def scaled() -> Array:
        every = lax.expand_dims(scale(), op.axes)
        if not is_complex(x.dtype):
            return _sum_of_squares(x * every, op.axes)
        parts = lax.real(x) * every, lax.imag(x) * every  # else an infinite one makes NaNs
        return _sum_of_squares(lax.complex(*parts), op.axes)

    def scaled_root() -> Array:
        return lax.div(lax.sqrt(scaled()), scale())

    precise = (total > least) & (total <= most)
    if options.mesh is not None:
        return jnp.where(precise, lax.sqrt(total), scaled_root())
    if known(x.shape) and total.size * FEWEST_SQUARES <= x.size:
        sums = lax.cond(_every(precise), lambda: total, scaled)
        return lax.div(lax.sqrt(sums), scale())  # fused with what reads it
    return cast(Array, lax.cond(_every(precise), lambda: lax.sqrt(total), scaled_root))


def _every(claims: Array) -> Array:
    """Whether all claims are true, by two equal reductions in one kernel.

    Of one reduction XLA makes a chain of kernels, which take longer to compile than they save.
    """
    if claims.ndim == 0:
        return claims
    true = np.asarray(True)

    def both(one: Sequence[Array], other: Sequence[Array]) -> tuple[Array, ...]:
        return tuple(map(lax.bitwise_and, one, other))

    results = lax.reduce((claims, claims), (true, true), both, tuple(range(claims.ndim)))
    return lax.bitwise_and(*results)  # XLA would leave out one that is not read


def _sum_of_squares(x: Array, axes: tuple[int, ...]) -> Array:
    if not is_complex(x.dtype):
        return lax.reduce_sum(x * x, axes)
    return lax.reduce_sum(lax.real(x * lax.conj(x)), axes)  # see `FusedParts`


def _extremum(
    op: ops.ReduceMax | ops.ReduceMin,
    x: Array,
    reduced: Reduce,
    of_two: OfTwo,
    options: LoweringOptions,
) -> Array:
    """The extremum over axes; NaN if it is among the numbers, unless the op may skip it.

    XLA on the CPU drops NaN when it reduces many numbers, and when devices combine their results.
    It keeps NaN in the extremum of two, and in a sum, which is quick; that is also NaN where
    infinities of both signs meet.
    """
    if is_floating(x.dtype) and op.skips_nan:
        return reduced(x, op.axes)
    few = known(x.shape) and prod(x.shape) < MANY
    right = few or not options.drops_nan or not is_floating(x.dtype)
    if _by_windows(x, options) or (right and options.mesh is None):
        return _idempotent(op.axes, x, reduced, of_two, options)
    extremum = reduced(x, op.axes)

    def checked() -> Array:
        nan = lax.reduce_or(lax.ne(x, x), op.axes)
        return lax.select(nan, lax.full_like(extremum, np.nan), extremum)

    if options.mesh is not None:
        return checked() if is_floating(x.dtype) else extremum
    sums = lax.reduce_sum(x, op.axes)
    none = lax.reduce_and(lax.eq(sums, sums), range(sums.ndim))
    return cast(Array, lax.cond(none, lambda: extremum, checked))


def _idempotent(
    axes: Sequence[int], x: Array, reduced: Reduce, of_two: OfTwo, options: LoweringOptions
) -> Array:
    if not _by_windows(x, options):
        return reduced(x, axes)
    return stored(by_windows(x, axes, of_two))


def _by_windows(x: Array, options: LoweringOptions) -> bool:
    """Whether these are many numbers, which the compiler would reduce one after the other."""
    return options.reduces_singly and known(x.shape) and prod(x.shape) >= MANY


# Running sums and products, and linear recurrences.


@lower.register
def _(op: ops.LinearRecurrence, a: Array, b: Array) -> Array:
    if not known([a.shape[op.axis]]):
        raise ExecutorError(
            f"export: {op.name} along an axis of named size {a.shape[op.axis]}: the number of its "
            "steps must be known; export the program with this size as a number"
        )
    result: Array = lax.associative_scan(_then, (a, b), reverse=op.reverse, axis=op.axis)[1]
    return result


def _then(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    """The step h ↦ a₂·(a₁·h + b₁) + b₂."""
    (a1, b1), (a2, b2) = first, second
    return lax.mul(a1, a2), lax.add(lax.mul(a2, b1), b2)


SHORT, BLOCK = 128, 8
"""The length up to which running combinations have no blocks, and the elements of a block."""


def _running(op: ops.CumulativeOfTwo, x: Array, combine: OfTwo) -> Array:
    """Running combinations, in as many steps as the logarithm of the length."""
    axis, reverse = op.axis, op.reverse
    if not known([x.shape[axis]]):
        raise ExecutorError(
            f"export: {op.name} along an axis of named size {x.shape[axis]}: the number of its "
            "steps must be known; export the program with this size as a number"
        )
    if not reverse:
        return _by_blocks(combine, x, axis)
    return lax.rev(_by_blocks(combine, lax.rev(x, (axis,)), axis), (axis,))


def _by_blocks(combine: OfTwo, x: Array, axis: int) -> Array:
    """Running combinations of blocks, then of their totals, then of both."""
    size = x.shape[axis]
    if size <= SHORT:
        return _doubled(combine, x, axis)
    count = size // BLOCK
    left, part = size - BLOCK * count, lax.slice_in_dim

    def sized(value: Array, *sizes: int) -> Array:
        return lax.reshape(value, (*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))

    blocks = sized(part(x, 0, BLOCK * count, axis=axis), count, BLOCK)
    columns = [part(blocks, i, i + 1, axis=axis + 1) for i in range(BLOCK)]
    for i in range(1, BLOCK):
        columns[i] = combine(columns[i - 1], columns[i])
    totals = sized(_by_blocks(combine, sized(columns[-1], count), axis), count, 1)
    first = lax.concatenate([part(each, 0, 1, axis=axis) for each in columns], axis + 1)
    before = part(totals, 0, count - 1, axis=axis)
    later = [combine(before, part(each, 1, count, axis=axis)) for each in columns[:-1]]
    rest = lax.concatenate([*later, part(totals, 1, count, axis=axis)], axis + 1)
    pieces = [sized(first, BLOCK), sized(rest, BLOCK * (count - 1))]
    if left:
        tail = _doubled(combine, part(x, size - left, size, axis=axis), axis)
        total = sized(part(totals, count - 1, count, axis=axis), 1)
        pieces.append(combine(jnp.broadcast_to(total, tail.shape), tail))
    return lax.concatenate(pieces, axis)


def _doubled(combine: OfTwo, x: Array, axis: int) -> Array:
    """Running combinations of 1, 2, 4, … elements."""
    size, count, part = x.shape[axis], 1, lax.slice_in_dim
    while count < size:
        earlier, later = part(x, 0, size - count, axis=axis), part(x, count, size, axis=axis)
        x = lax.concatenate([part(x, 0, count, axis=axis), combine(earlier, later)], axis)
        count *= 2
    return x


# Sort, and the position of an extremum.


@lower.register
def _(op: ops.Sort, x: Array) -> tuple[Array, ...]:
    if op.outputs == (True, False):
        return (lax.sort(x, dimension=op.axis, is_stable=True),)
    places = lax.broadcasted_iota(np.dtype(np.int64), x.shape, op.axis)
    results = lax.sort((x, places), dimension=op.axis, is_stable=True, num_keys=1)
    return tuple(compress(results, op.outputs))


@lower.register
def _(op: ops.TopPlaces, x: Array) -> Array:
    """XLA on the CPU selects 32-bit floating-point numbers without a sort.

    It takes one NaN for larger than another, and 0 for larger than -0.
    """
    x = _ordered(x)
    if is_floating(x.dtype):
        x = lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, 0), x)
        x = lax.select(lax.ne(x, x), lax.full_like(x, np.nan), x)
    order = [*(other for other in range(x.ndim) if other != op.axis), op.axis]
    places = lax.top_k(lax.transpose(x, order), op.count)[1]
    back = [order.index(axis) for axis in range(x.ndim)]
    return lax.convert_element_type(lax.transpose(places, back), np.dtype(np.int64))


def _ordered(x: Array) -> Array:
    """Booleans as numbers, which JAX can compare."""
    return lax.convert_element_type(x, np.dtype(np.uint8)) if x.dtype == np.bool_ else x


# DotGeneral.

MANY_ROWS = 5
"""Batch axes beyond these are merged: XLA on the CPU aborts the process at 8 axes."""


@lower.register
def _(op: ops.DotGeneral, lhs: Array, rhs: Array, *, options: LoweringOptions) -> Array:
    axes = ((op.lhs_contract, op.rhs_contract), (op.lhs_batch, op.rhs_batch))
    if len(op.lhs_batch) <= MANY_ROWS:
        return lax.dot_general(lhs, rhs, axes, precision=options.precision)
    left, left_axes = _merged(lhs, op.lhs_batch, op.lhs_contract)
    right, right_axes = _merged(rhs, op.rhs_batch, op.rhs_contract)
    axes = ((left_axes, right_axes), ((0,), (0,)))
    result = lax.dot_general(left, right, axes, precision=options.precision)
    batch = [lhs.shape[axis] for axis in op.lhs_batch]
    return lax.reshape(result, (*batch, *result.shape[1:]))


def _merged(
    x: Array, batch: Sequence[int], contract: Sequence[int]
) -> tuple[Array, tuple[int, ...]]:
    """The operand with its batch axes merged into the first axis, and its contracted axes then."""
    rest = [axis for axis in range(x.ndim) if axis not in batch]
    moved = lax.transpose(x, (*batch, *rest))
    size = math.prod(x.shape[axis] for axis in batch)
    shape = (size, *(x.shape[axis] for axis in rest))
    return lax.reshape(moved, shape), tuple(1 + rest.index(axis) for axis in contract)


# The block cipher of random numbers, in plain operations on words.

_FEW = 1 << 12
"""The largest number of elements for which the iterations are a loop."""

_Words = tuple[Array, Array]


@lower.register
def _(
    op: ops.Threefry2x32,
    key0: Array,
    key1: Array,
    left: Array,
    right: Array,
    *,
    options: LoweringOptions,
) -> _Words:
    words = (key0, key1, left, right)
    few = known(left.shape) and left.size <= _FEW
    if few and options.platform is None:  # JAX traces both, and chooses when it compiles
        chosen: _Words = lax.platform_dependent(*words, cpu=_looped, default=_written_out)
        return chosen
    return _looped(*words) if few and options.platform == "cpu" else _written_out(*words)


def _written_out(key0: Array, key1: Array, left: Array, right: Array) -> _Words:
    schedule = _schedule(key0, key1)
    left, right = lax.add(left, key0), lax.add(right, key1)
    for group in range(5):
        for distance in ops.ROTATIONS[group % 2]:
            left, right = _mixed(left, right, np.uint32(distance))
        left = lax.add(left, schedule[(group + 1) % 3])
        right = lax.add(right, schedule[(group + 2) % 3])
        right = lax.add(right, lax.full_like(right, group + 1))
    return left, right


def _looped(key0: Array, key1: Array, left: Array, right: Array) -> _Words:
    schedule = jnp.stack(_schedule(key0, key1))
    groups = np.arange(5)
    distances = jnp.asarray(np.array(ops.ROTATIONS, np.uint32)[groups % 2])
    first, second = (jnp.asarray(((groups + n) % 3).astype(np.uint32)) for n in (1, 2))

    def group(number: Array, words: _Words) -> _Words:
        left, right = words
        number = lax.convert_element_type(number, np.uint32)
        turns = _row(distances, number)
        for place in range(4):
            left, right = _mixed(left, right, lax.index_in_dim(turns, place, keepdims=False))
        left = lax.add(left, _row(schedule, _row(first, number)))
        right = lax.add(right, _row(schedule, _row(second, number)))
        count = lax.add(number, np.uint32(1))
        return left, lax.add(right, lax.broadcast(count, right.shape))

    start = (lax.add(left, key0), lax.add(right, key1))
    result: _Words = lax.fori_loop(0, 5, group, start)
    return result


def _row(x: Array, place: Array) -> Array:
    """An entry along the first axis, at an index without a sign, of which none is counted back.

    XLA compiles the loop in two thirds of the time of a `jnp` index by the remainder of a number.
    """
    start: list[Array | np.uint32] = [place, *(np.uint32(0) for _ in x.shape[1:])]
    return lax.squeeze(lax.dynamic_slice(x, start, (1, *x.shape[1:])), (0,))


def _schedule(key0: Array, key1: Array) -> list[Array]:
    parity = lax.full_like(key0, ops.PARITY)
    return [key0, key1, lax.bitwise_xor(lax.bitwise_xor(key0, key1), parity)]


def _mixed(left: Array, right: Array, distance: Array | np.uint32) -> _Words:
    """The right word turned by a distance towards its higher bits, and both words mixed."""
    left = lax.add(left, right)
    by = lax.broadcast(distance, right.shape)
    back = lax.broadcast(np.uint32(32) - distance, right.shape)
    turned = lax.bitwise_or(lax.shift_left(right, by), lax.shift_right_logical(right, back))
    return left, lax.bitwise_xor(turned, left)


# Ops that one expression lowers.

lower.register_all(
    {
        ops.ReduceProd: lambda op, x: lax.reduce_prod(x, op.axes),
        ops.CumulativeSum: lambda op, x: lax.cumsum(x, axis=op.axis, reverse=op.reverse),
        ops.CumulativeProd: lambda op, x: lax.cumprod(x, axis=op.axis, reverse=op.reverse),
        ops.CumulativeMax: lambda op, x: _running(op, x, lax.max),
        ops.CumulativeMin: lambda op, x: _running(op, x, lax.min),
        ops.CumulativeLogSumExp: lambda op, x: _running(op, x, jnp.logaddexp),
        ops.ArgMax: lambda op, x: lax.argmax(_ordered(x), op.axis, np.dtype(np.int64)),
        ops.ArgMin: lambda op, x: lax.argmin(_ordered(x), op.axis, np.dtype(np.int64)),
    }
)
