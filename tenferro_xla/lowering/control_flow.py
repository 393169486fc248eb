"""Lowering of loops, branches, recomputed programs and lane sums.

Recomputed programs: XLA on the CPU removes optimization barriers before it looks for equal values,
and so makes one value of what is computed again and what was computed before. It does not look
into branches. There an op that has to wait is a branch that is always taken, by a predicate that
XLA does not see through.

Lane sums: sums that are apart go through all lanes of a device. The others are packed after each
lane, those of one dtype into one vector: so the number of additions on a level of the tree does not
depend on the number of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec

from tenferro.ir import ExecProgram, TensorMeta
from tenferro.ops.control_flow import (
    Checkpointed,
    CheckpointedScan,
    LaneSum,
    Scan,
    Sized,
    Switch,
    TreeSum,
    While,
)
from tenferro_xla.lowering.registry import BodyFunction, LoweringOptions, body_function, lower
from tenferro_xla.lowering.small_loops import as_one_function, is_small

Function = Callable[..., tuple[Array, ...]]

# Sized: its body, once the sizes are known.


@lower.register
def _(op: Sized, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    assert not op.names, "resolved before lowering"
    return tuple(body_function(op.body, options)(operands))


# Loops.


@lower.register
def _(
    op: Scan | CheckpointedScan | While, *operands: Array, options: LoweringOptions
) -> tuple[Array, ...]:
    if not (options.small_loops and is_small(op)):
        return loop(op, operands, options)
    inside = replace(options, small_loops=False)
    return as_one_function(lambda operands: loop(op, operands, inside), operands)


def loop(
    op: Scan | CheckpointedScan | While, operands: Sequence[Array], options: LoweringOptions
) -> tuple[Array, ...]:
    if isinstance(op, While):
        return while_loop(op, operands, options)
    return scan(op, operands, options)


def scan(op: Scan, operands: Sequence[Array], options: LoweringOptions) -> tuple[Array, ...]:
    start = op.consts + op.carry
    consts = operands[: op.consts]
    body = body_function(op.body, options)

    def step(carry: tuple[Array, ...], xs: tuple[Array, ...]) -> tuple[Any, Any]:
        outputs = tuple(map(jnp.asarray, body([*consts, *carry, *xs])))
        return outputs[: op.carry], outputs[op.carry :]

    carry, ys = lax.scan(
        step,
        tuple(map(jnp.asarray, operands[op.consts : start])),
        tuple(operands[start:]),
        length=int(op.length),
        reverse=op.reverse,
        unroll=op.unroll,
    )
    return (*carry, *ys)


def while_loop(op: While, operands: Sequence[Array], options: LoweringOptions) -> tuple[Array, ...]:
    start = op.cond_consts + op.body_consts
    cond_consts, body_consts = operands[: op.cond_consts], operands[op.cond_consts : start]
    cond, body = body_function(op.cond, options), body_function(op.body, options)

    def goes_on(state: tuple[Any, ...]) -> Any:
        steps, *carry = state
        (wanted,) = cond([*cond_consts, *carry])
        if op.max_steps is None:
            return jnp.asarray(wanted)
        return lax.bitwise_and(wanted, lax.lt(steps, np.int64(op.max_steps)))

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        steps, *carry = state
        after = map(jnp.asarray, body([*body_consts, *carry]))
        return (steps if op.max_steps is None else lax.add(steps, np.int64(1)), *after)

    carry = [jnp.asarray(value) for value in operands[start:]]
    _, *result = lax.while_loop(goes_on, step, (jnp.asarray(np.int64(0)), *carry))
    return tuple(result)


# Switch.


@lower.register
def _(op: Switch, index: Array, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    branches = [_of_arrays(body_function(branch, options)) for branch in op.branches]
    last = min(len(branches) - 1, np.iinfo(index.dtype).max)
    clamped = lax.clamp(np.zeros((), index.dtype), index, np.asarray(last, index.dtype))
    return tuple(lax.switch(clamped, branches, *operands))  # it would wrap an index of 64 bits


def _of_arrays(body: BodyFunction) -> Function:
    """The body as a function of arrays, whose constant results are arrays of JAX too."""
    return lambda *operands: tuple(map(jnp.asarray, body(operands)))


# Checkpointed: what is computed again, and when.

_SAVED = "tenferro_saved"


@lower.register
def _(op: Checkpointed, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    body = _of_arrays(body_function(op.body, options))
    if not op.late:
        return _differentiable(op, body)(*operands)
    if not options.waits_in_branch:
        return body(*lax.optimization_barrier(operands))  # type: ignore[no-untyped-call]
    tie = next((x for x in reversed(operands) if x.size), None)
    if tie is None:
        return body(*operands)

    def zeros(*values: Array) -> tuple[Array, ...]:
        return tuple([jnp.zeros(each.shape, each.dtype) for each in _types(op.body, body, values)])

    return tuple(lax.cond(_always(tie), body, zeros, *operands))


def _differentiable(op: Checkpointed, body: Function) -> Function:
    """The body, of which derivatives by JAX keep the same values."""
    first = len(op.body.output_slots) - op.saved

    def named(*values: Array) -> tuple[Array, ...]:
        results = body(*values)
        saved = [checkpoint_name(value, _SAVED) for value in results[first:]]  # type: ignore[no-untyped-call]
        return (*results[:first], *saved)

    policy = jax.checkpoint_policies.save_only_these_names(_SAVED)
    function: Function = jax.checkpoint(named, policy=policy, prevent_cse=op.prevent_cse)
    return function


def _always(x: Array) -> Array:
    """True, for each number; it is not known before the number is."""
    first = lax.reshape(lax.slice(x, (0,) * x.ndim, (1,) * x.ndim), ())
    if first.dtype == np.bool_:
        first = lax.convert_element_type(first, np.int32)
    if jnp.issubdtype(first.dtype, np.complexfloating):
        first = lax.real(first)
    if jnp.issubdtype(first.dtype, np.floating):
        bits = {2: np.int16, 4: np.int32, 8: np.int64}[first.dtype.itemsize]
        first = lax.bitcast_convert_type(first, bits)
    one, two = np.ones((), first.dtype), np.full((), 2, first.dtype)
    return lax.lt(lax.bitwise_and(first, one), two)


def _types(
    program: ExecProgram, body: Function, values: Sequence[Array]
) -> Sequence[jax.ShapeDtypeStruct]:
    """The types of the results; those of a program of symbolic sizes are JAX's."""
    metas = program.output_metas
    if any(meta.static_shape is None for meta in metas):
        return jax.eval_shape(body, *values)  # type: ignore[no-any-return]
    return [jax.ShapeDtypeStruct(meta.static_shape, meta.dtype) for meta in metas]  # type: ignore[no-untyped-call]


# LaneSum: lanes as nested loops, so that they are added in a tree; on a mesh each device has some.

Values = tuple[Array, ...]
WHOLE = PartitionSpec()  # type: ignore[no-untyped-call]  # JAX has no types there


@lower.register
def _(op: LaneSum, *consts: Array, options: LoweringOptions) -> Values:
    if options.differentiated:
        numbers = jnp.arange(op.total, dtype=np.int64)
        return scan(op.scan(), [*consts, *map(_zeros, op.sum_metas), numbers], options)
    shared = options.shared_slices
    if shared is None or op.workers == 1:
        return _Lanes(op, consts, options).alone()
    share: Any = jax.shard_map(
        lambda *consts: _Lanes(op, consts, options).shared(shared.axes),
        mesh=options.mesh,
        in_specs=WHOLE,
        out_specs=WHOLE,
        check_vma=False,
    )
    results: Values = share(*consts)
    return results


class _Lanes:
    """The lanes of one op on its operands."""

    def __init__(self, op: LaneSum, consts: Sequence[Array], options: LoweringOptions) -> None:
        self._op = op
        self._consts = consts
        self._body = body_function(op.body, options)
        self._awaits_loops = options.awaits_loops

    def alone(self) -> Values:
        """The sums of all lanes, on one device."""
        op = self._op
        if op.lanes == 1:
            return self._part(np.int64(0), 1, tuple(map(_zeros, op.sum_metas)))
        return self._unpacked(*self._tree(np.int64(0), op.lanes, self._apart()))

    def shared(self, axes: tuple[str, ...]) -> Values:
        """The sums of all lanes, of which this device of a mesh has neighbouring ones."""
        op, device = self._op, lax.axis_index(axes).astype(np.int64)
        share = -(-op.lanes // op.workers)
        apart = self._apart()
        if not op.ordered:
            sums = self._part(device, op.workers, self._starting(apart))
            apart, packed = self._packed(sums)
            added = _over(axes, packed)
        elif share * op.workers == op.lanes:
            apart, packed = self._tree(device * share, share, apart)
            added = _tree_sum(lax.all_gather(packed, axes), op.workers)
        else:
            lanes = device * share + jnp.arange(share, dtype=np.int64)
            apart, each = lax.scan(self._lane_if_any, apart, lanes)
            added = _tree_sum(lax.all_gather(each, axes, tiled=True), op.lanes)
        return self._unpacked(_over(axes, apart), added)  # others than one device have zeros

    def _tree(self, first: Any, lanes: int, apart: Values) -> tuple[Values, Values]:
        """The sums that are apart after `lanes` lanes from lane `first` on; the others, packed.

        On each level there is a loop of two iterations, which are the loops of the level below.
        """
        if lanes == 1:
            return self._lane(first, apart)
        half = lanes // 2

        def step(which: Any, state: tuple[Values, Values]) -> tuple[Values, Values]:
            apart, added = state
            apart, more = self._tree(first + which * half, half, apart)
            return apart, _plus(added, more)

        both: tuple[Values, Values] = lax.fori_loop(
            np.int64(0), np.int64(2), step, (apart, self._nothing())
        )
        return both

    def _nothing(self) -> Values:
        """Zeros for the sums that are not apart, packed."""
        return tuple([jnp.zeros(size, dtype) for dtype, size in self._sizes().items()])

    def _lane(self, lane: Any, apart: Values) -> tuple[Values, Values]:
        return self._packed(self._part(lane, self._op.lanes, self._starting(apart)))

    def _lane_if_any(self, apart: Values, lane: Any) -> tuple[Values, Values]:
        """The same; a lane behind the last one, where devices have them, adds nothing."""
        added: tuple[Values, Values] = lax.cond(
            lane < self._op.lanes,
            lambda apart: self._lane(lane, apart),
            lambda apart: (apart, self._nothing()),
            apart,
        )
        return added

    def _part(self, part: Any, parts: int, sums: Values) -> Values:
        """The sums after one of several parts of the iterations.

        Parts of one length are loops of a constant number of iterations. Others differ by one
        iteration: where the device would wait for the host before each one of a loop of another
        kind, that one stands in a branch behind a loop of a constant number.
        """
        total = self._op.total
        first, stop = [(part + end) * total // parts for end in (0, 1)]
        fewest = np.int64(total // parts)

        def step(number: Any, sums: Values) -> Values:
            return tuple(map(jnp.asarray, self._body([*self._consts, *sums, first + number])))

        differ = total % parts != 0
        count = stop - first if differ and not self._awaits_loops else fewest
        after: Values = lax.fori_loop(np.int64(0), count, step, sums)
        if differ and self._awaits_loops:
            one_more = stop - first > fewest
            after = lax.cond(one_more, lambda sums: step(fewest, sums), lambda sums: sums, after)
        return after

    def _apart(self) -> Values:
        return tuple([_zeros(meta) for meta in self._metas(apart=True)])

    def _starting(self, apart: Values) -> Values:
        """All sums at the start of a lane."""
        rest, op = iter(apart), self._op
        metas = zip(op.sum_metas, op.apart, strict=True)
        return tuple([next(rest) if on else _zeros(meta) for meta, on in metas])

    def _packed(self, sums: Values) -> tuple[Values, Values]:
        """The sums that are apart, and a vector for each dtype of the others."""
        groups: dict[Any, list[Array]] = {}
        for value, on in zip(sums, self._op.apart, strict=True):
            if not on:
                groups.setdefault(value.dtype, []).append(lax.reshape(value, (value.size,)))
        vectors = [
            each[0] if len(each) == 1 else lax.concatenate(each, 0) for each in groups.values()
        ]
        apart = [value for value, on in zip(sums, self._op.apart, strict=True) if on]
        return tuple(apart), tuple(vectors)

    def _unpacked(self, apart: Values, packed: Values) -> Values:
        """All sums, in the order of the op's results."""
        sizes = self._sizes()
        vectors, done = dict(zip(sizes, packed, strict=True)), dict.fromkeys(sizes, 0)
        rest, results = iter(apart), []
        for meta, on in zip(self._op.sum_metas, self._op.apart, strict=True):
            if on:
                results.append(next(rest))
                continue
            start, shape = done[meta.dtype], meta.static_shape or ()
            done[meta.dtype] = stop = start + prod(shape)
            part = lax.slice_in_dim(vectors[meta.dtype], start, stop)
            results.append(lax.reshape(part, shape))
        return tuple(results)

    def _sizes(self) -> dict[Any, int]:
        """For each dtype of sums that are not apart, the size of their vector."""
        sizes: dict[Any, int] = {}
        for meta in self._metas(apart=False):
            sizes[meta.dtype] = sizes.get(meta.dtype, 0) + prod(meta.static_shape or ())
        return sizes

    def _metas(self, apart: bool) -> list[TensorMeta]:
        op = self._op
        return [meta for meta, on in zip(op.sum_metas, op.apart, strict=True) if on == apart]


def _tree_sum(rows: Values, count: int) -> Values:
    """The sums of the first rows of some matrices, in the tree of lanes."""
    tree = TreeSum[Values](_plus)
    for row in range(count):
        tree.push(tuple([each[row] for each in rows]))
    return tree.result()


def _over(axes: tuple[str, ...], values: Values) -> Values:
    total: Values = lax.psum(values, axes)  # type: ignore[no-untyped-call]  # JAX has no types there
    return total


def _plus(earlier: Values, later: Values) -> Values:
    return tuple([lax.add(a, b) for a, b in zip(earlier, later, strict=True)])


def _zeros(meta: TensorMeta) -> Array:
    return jnp.zeros(meta.static_shape or (), meta.dtype)
