"""LaneSum: lanes as nested loops, so that they are added in a tree; on a mesh each device has some.

Sums that are apart go through all lanes of a device. The others are packed after each lane, those
of one dtype into one vector: so the number of additions on a level of the tree does not depend on
the number of sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax.sharding import PartitionSpec

from tenferro.control import LaneSum, TreeSum
from tenferro.shape import TensorMeta
from tenferro_xla.lowering.program import jax_function
from tenferro_xla.lowering.registry import LoweringOptions, lower

Values = tuple[Array, ...]
WHOLE = PartitionSpec()  # type: ignore[no-untyped-call]  # JAX has no types there


@lower.register
def _(op: LaneSum, *consts: Array, options: LoweringOptions) -> Values:
    if options.differentiated:
        numbers = jnp.arange(op.total, dtype=np.int64)
        return lower(op.scan(), [*consts, *map(_zeros, op.sum_metas), numbers], options)
    shared = options.shared_slices
    if shared is None or op.workers == 1:
        return _Lanes(op, consts, options).alone()
    share: Any = jax.shard_map(
        lambda *consts: _Lanes(op, consts, options).beside_others(shared.axes),
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
        self._body = jax_function(op.body, options)

    def alone(self) -> Values:
        """The sums of all lanes, on one device."""
        op = self._op
        if op.lanes == 1:
            return self._rounds(np.int64(0), np.int64(op.total), tuple(map(_zeros, op.sum_metas)))
        return self._unpacked(*self._tree(np.int64(0), op.lanes, self._apart()))

    def beside_others(self, axes: tuple[str, ...]) -> Values:
        """The sums of all lanes, of which this device of a mesh has neighbouring ones."""
        op, device = self._op, lax.axis_index(axes).astype(np.int64)
        share = -(-op.lanes // op.workers)
        apart = self._apart()
        if not op.ordered:
            first, stop = self._bounds(device, op.workers)
            apart, packed = self._packed(self._rounds(first, stop, self._starting(apart)))
            added = _over(axes, packed)
        elif share * op.workers == op.lanes:
            apart, packed = self._tree(device * share, share, apart)
            added = _tree_sum(lax.all_gather(packed, axes), op.workers)
        else:
            lanes = device * share + jnp.arange(share, dtype=np.int64)
            apart, each = lax.scan(lambda apart, lane: self._lane(lane, apart), apart, lanes)
            added = _tree_sum(lax.all_gather(each, axes, tiled=True), op.lanes)
        return self._unpacked(_over(axes, apart), added)  # others than one device have zeros

    def _tree(self, first: Any, lanes: int, apart: Values) -> tuple[Values, Values]:
        """The sums that are apart after `lanes` lanes from lane `first` on; the others, packed.

        On each level there is a loop of two rounds, whose rounds are the loops of the level below.
        """
        if lanes == 1:
            return self._lane(first, apart)
        half = lanes // 2

        def step(which: Any, state: tuple[Values, Values]) -> tuple[Values, Values]:
            apart, added = state
            apart, more = self._tree(first + which * half, half, apart)
            return apart, _plus(added, more)

        nothing = tuple([jnp.zeros(size, dtype) for dtype, size in self._sizes().items()])
        both: tuple[Values, Values] = lax.fori_loop(
            np.int64(0), np.int64(2), step, (apart, nothing)
        )
        return both

    def _lane(self, lane: Any, apart: Values) -> tuple[Values, Values]:
        """The sums that are apart after one lane, and the others, packed."""
        first, stop = self._bounds(lane, self._op.lanes)
        return self._packed(self._rounds(first, stop, self._starting(apart)))

    def _bounds(self, part: Any, parts: int) -> tuple[Any, Any]:
        """The first round of one of several parts, and the one after its last."""
        total = self._op.total
        first, stop = [lax.min((part + end) * total // parts, np.int64(total)) for end in (0, 1)]
        return first, stop

    def _rounds(self, first: Any, stop: Any, sums: Values) -> Values:
        """The sums after some rounds."""

        def step(number: Any, sums: Values) -> Values:
            return tuple([jnp.asarray(each) for each in self._body(*self._consts, *sums, number)])

        after: Values = lax.fori_loop(first, stop, step, sums)
        return after

    def _apart(self) -> Values:
        """The sums that are apart before the first round."""
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
        """The types of the sums that are apart, or of the others."""
        op = self._op
        return [meta for meta, on in zip(op.sum_metas, op.apart, strict=True) if on == apart]


def _tree_sum(rows: Values, count: int) -> Values:
    """The sums of the first rows of some matrices, in the tree of lanes."""
    tree = TreeSum[Values](_plus)
    for row in range(count):
        tree.push(tuple([each[row] for each in rows]))
    return tree.result()


def _over(axes: tuple[str, ...], values: Values) -> Values:
    """The sums over the devices, in any order."""
    total: Values = lax.psum(values, axes)  # type: ignore[no-untyped-call]  # JAX has no types there
    return total


def _plus(earlier: Values, later: Values) -> Values:
    return tuple([lax.add(a, b) for a, b in zip(earlier, later, strict=True)])


def _zeros(meta: TensorMeta) -> Array:
    return jnp.zeros(meta.static_shape or (), meta.dtype)
