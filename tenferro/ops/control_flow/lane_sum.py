"""Sums over iterations in a fixed tree order.

A *lane* is a run of neighbouring iterations that one worker adds up. The number of lanes depends on
the number of iterations, and lanes are added in a fixed binary tree over their numbers; so the bits
of the sum do not depend on the number of workers, nor on the order in which they finish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np

from tenferro.core import Batched, BatchSite, Emitter, JvpSite, KeyEmitter, Slots, TransposeSite, V
from tenferro.errors import ControlFlowError, counted
from tenferro.ir import (
    INT64,
    Body,
    ExecProgram,
    NumpyArray,
    Pruned,
    TensorMeta,
    fresh_input,
    make_meta,
    payload,
    restricted,
)
from tenferro.ops import ADD, Compare, Iota, full, scalar, shape_context
from tenferro.ops.control_flow.base import (
    ControlOp,
    PreparedBody,
    inputs_read,
    positions,
    size_in_words,
)
from tenferro.ops.control_flow.bodies import graph_of, program_of
from tenferro.ops.control_flow.scan import Scan
from tenferro.ops.control_flow.while_loop import While

__all__ = ["LaneSum", "TreeSum", "lane_bounds", "lane_count"]


# Lanes: how the iterations of a sliced network are shared out, and added in one order.

Value = TypeVar("Value")

FEWEST_ITERATIONS = 8
"""A lane has at least so many iterations, where there are more than `FEWEST_LANES`."""
FEWEST_LANES = 16
"""There are at least so many lanes, if there are as many iterations."""
MOST_LANES = 64


def lane_count(total: int, workers: int = 1) -> int:
    """How many lanes `total` iterations make: a power of two, 64 at most.

    It depends on `total` alone as long as there are no more workers than lanes. With more lanes
    than iterations the bits of the sum are the same for every number of lanes.

    >>> lane_count(64), lane_count(256), lane_count(3), lane_count(10**6)
    (16, 32, 4, 64)
    >>> lane_count(64, workers=24)
    32
    """
    lanes = 1
    while lanes < min(total, FEWEST_LANES):
        lanes *= 2
    while lanes < MOST_LANES and 2 * lanes * FEWEST_ITERATIONS <= total:
        lanes *= 2
    while lanes < workers:
        lanes *= 2
    return lanes


def lane_bounds(lane: int, lanes: int, total: int) -> tuple[int, int]:
    """The first iteration of a lane, and the one after its last.

    >>> [lane_bounds(lane, 4, 10) for lane in range(4)]
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    """
    return lane * total // lanes, (lane + 1) * total // lanes


class TreeSum(Generic[Value]):
    """Adds values that come in the order of their numbers, as the leaves of a binary tree.

    It holds one value a level, as a binary counter does. Where the count is a power of two, runs
    of 2ᵏ neighbours that start at a multiple of 2ᵏ may be added apart and give the same bits.

    Args:
        add: the sum of two values; called with the earlier one first.

    >>> tree = TreeSum(lambda a, b: f"({a}+{b})")
    >>> for leaf in "abcde":
    ...     tree.push(leaf)
    >>> tree.result()
    '(((a+b)+(c+d))+e)'
    """

    def __init__(self, add: Callable[[Value, Value], Value]) -> None:
        self._add = add
        self._levels: list[tuple[int, Value]] = []

    def push(self, value: Value) -> None:
        """Add the next leaf."""
        level = 0
        while self._levels and self._levels[-1][0] == level:
            value = self._add(self._levels.pop()[1], value)
            level += 1
        self._levels.append((level, value))

    def result(self) -> Value:
        """The sum of all leaves.

        Raises:
            IndexError: there is no leaf.
        """
        pending: Iterator[Value] = (value for _, value in reversed(self._levels))
        total = next(pending, None)
        if total is None:
            raise IndexError("TreeSum: there is no leaf to add")
        for earlier in pending:
            total = self._add(earlier, total)
        return total


# LaneSum: a loop that adds up what its iterations compute, in an order that many can share.


@payload
class LaneSum(ControlOp, name="lane_sum"):
    """Adds up what `body` computes in iterations that do not depend on each other.

    The operands are `consts` values that every iteration reads. The body takes them, the sums so
    far and the number of the iteration, an i64[]; it returns the sums with what the iteration adds.
    It must not read them in another way. The results are the sums over all iterations.

    The iterations are cut into lanes, runs of neighbouring iterations, each of which starts from
    zeros; the lanes are added as `TreeSum` does. So the bits of the results depend on the number of
    lanes, but not on how many workers share the lanes. Sums that are `apart` go on from lane to
    lane: there each iteration writes to places of its own, so that any order of additions
    gives the same.

    Attributes:
        body: what one iteration adds.
        consts: number of values that are the same in all iterations.
        total: number of iterations, at least 1.
        lanes: number of lanes, a power of two.
        apart: for each sum, whether each iteration adds to places to which no other one adds.
        workers: number of devices that share the lanes.
        ordered: whether the workers' sums are added in the order of the lanes; else in any order.

    Raises:
        ControlFlowError: a field is of another type, the counts do not fit the body, or it returns
            the sums with other types than it takes.
        UnsupportedDynamicShapeError: data decide a size in the body.
    """

    body: ExecProgram
    consts: int
    total: int
    lanes: int
    apart: tuple[bool, ...]
    workers: int = 1
    ordered: bool = True

    body_fields = ("body",)
    takes_mask = True

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        for name in ("consts", "total", "lanes", "workers"):
            self._read_field(name)
        self._set(body=body)
        super().__post_init__()
        self._set(n_inputs=self.consts, n_outputs=len(body.output_slots))
        self._check_counts()
        roles = [f"input {position}" for position in range(len(body.input_slots))]
        self._check_sizes("the body", body, roles)
        self._check_carry(self.sum_metas, body.output_metas)
        if body.input_metas[-1] != make_meta(INT64, ()):
            raise ControlFlowError(
                f"lane_sum: the body takes {body.input_metas[-1]} as the number of the round, not "
                "i64[]"
            )

    def _check_counts(self) -> None:
        """Raise ControlFlowError unless the counts fit one another and the body."""
        takes, sums = len(self.body.input_slots), len(self.body.output_slots)
        if self.consts < 0 or takes != self.consts + sums + 1:
            raise ControlFlowError(
                f"lane_sum: {counted(self.consts, 'const')}, {counted(sums, 'sum')} and a number "
                f"do not fit a body of {counted(takes, 'input')}"
            )
        if len(self.apart) != sums:
            raise ControlFlowError(
                f"lane_sum: apart says {len(self.apart)} things of {counted(sums, 'sum')}"
            )
        if self.total < 1 or self.workers < 1:
            raise ControlFlowError("lane_sum: there is at least one round, and one worker")
        if self.lanes < 1 or self.lanes & (self.lanes - 1):
            raise ControlFlowError(
                f"lane_sum: the number of lanes is a power of two, got {self.lanes}"
            )

    @property
    def sum_metas(self) -> tuple[TensorMeta, ...]:
        """The types of the sums, as the body takes them."""
        return self.body.input_metas[self.consts : -1]

    @property
    def const_places(self) -> dict[str, range]:
        """All operands."""
        return {"body": range(self.consts)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        return replace(self, body=cast(ExecProgram, bodies["body"]), consts=counts["body"])

    @property
    def iterations(self) -> int:
        return self.total

    def surely_runs(self, label: str) -> bool:
        return True

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        self._check_operands(metas, self.body.input_metas[: self.consts])
        return self.sum_metas

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        self._check_arrays(inputs)
        steps, number = self._steps, self.body.input_slots[-1]
        tree = TreeSum[list[NumpyArray]](_added)
        sums = self._zeros()
        for lane in range(self.lanes):
            starts = [
                old if on else zero
                for old, zero, on in zip(sums, self._zeros(), self.apart, strict=True)
            ]
            values = steps.values([*inputs, *starts])
            for iteration in range(*lane_bounds(lane, self.lanes, self.total)):
                values[number] = np.asarray(iteration, np.int64)
                steps.run(values)
                steps.advance(values)
            sums = steps.carry(values)
            tree.push([each for each, on in zip(sums, self.apart, strict=True) if not on])
        added = iter(tree.result())
        return tuple(
            [each if on else next(added) for each, on in zip(sums, self.apart, strict=True)]
        )

    def _zeros(self) -> list[NumpyArray]:
        return [np.zeros(meta.static_shape or (), meta.dtype) for meta in self.sum_metas]

    @cached_property
    def _steps(self) -> PreparedBody:
        """The body, prepared to run often."""
        return PreparedBody(self.body, self.consts, self.n_outputs)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        sums = positions(live)
        consts = positions(inputs_read(self.body, live)[: self.consts])
        if all(live) and len(consts) == self.consts:
            return None
        inputs = [*consts, *(self.consts + position for position in sums)]
        op = replace(
            self,
            body=restricted(self.body, [*inputs, len(self.body.input_slots) - 1], sums),
            consts=len(consts),
            apart=tuple([self.apart[position] for position in sums]),
        )
        return Pruned(op, tuple(consts), tuple(sums))

    def reached(self, active: Sequence[bool]) -> list[bool]:
        return self.body.reached([*active, *[False] * (self.n_outputs + 1)])

    def scan(self) -> Scan:
        """The same loop, whose iterations are added one after another; see `further_operands`."""
        return Scan(self.body, self.consts, self.n_outputs, self.total)

    def further_operands(self, at: Emitter[V]) -> tuple[V, ...]:
        """What the scan reads after the operands: zeros, and the numbers of the iterations."""
        numbers = at.emit(Iota(INT64, self.total))
        return (*(full(at, 0, meta) for meta in self.sum_metas), numbers)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        more = self.further_operands(at.emitter)
        primal, tangent = (*at.primal, *more), (*at.tangent, *[None] * len(more))
        return self.scan().linearize(JvpSite(at.emitter, primal, at.out, tangent))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        more = self.further_operands(at.emitter)
        active = (*at.active, *[False] * len(more))
        site = TransposeSite(at.emitter, at.ct, (*at.inputs, *more), active)
        return self.scan().transpose_rule(site)[: self.consts]

    def batch_rule(self, at: BatchSite[V], valid: V | None = None) -> Batched[V]:
        more = self.further_operands(at.emitter)
        batched = (*at.batched, *[False] * len(more))
        site = BatchSite(at.emitter, (*at.inputs, *more), batched, at.size)
        return self.scan().batch_rule(site, valid)

    @cached_property
    def part(self) -> ExecProgram:
        """The sums of some iterations, as a program of the consts, `first` and `stop`, i64[].

        It adds up the iterations from `first` on, up to the one before `stop`, one after another.
        """
        at = KeyEmitter(shape_context())
        first, stop = (fresh_input(make_meta(INT64, ()), name) for name in ("first", "stop"))
        inputs, sums = graph_of(self.body)
        consts, (*state, number) = inputs[: self.consts], inputs[self.consts :]
        cond = program_of([stop, *state, number], [at.emit(Compare("LT"), number, stop)])
        following = at.emit(ADD, number, at.emit(scalar(1, INT64)))
        loop = While(cond, program_of(inputs, [*sums, following]), 1, self.consts)
        zeros = [full(at, 0, meta) for meta in self.sum_metas]
        *results, _ = at.emit_all(loop, stop, *consts, *zeros, first)
        return program_of([*consts, first, stop], results)

    def in_words(self) -> str:
        """The iterations, the lanes and the workers, where there are several."""
        lanes = f" in {self.lanes} lanes" if self.lanes > 1 else ""
        workers = f" on {self.workers} devices" if self.workers > 1 else ""
        rounds = counted(self.total, "round")
        return f"lane_sum: {rounds} of {size_in_words(self.body)}{lanes}{workers}"

    @property
    def takes_whole(self) -> bool:
        """Whether workers share the lanes: each has all of the operands then."""
        return self.workers > 1

    def scratch(self, results: Sequence[int]) -> int:
        """Sums that wait on the levels of the tree, or that workers pass to each other."""
        apart = sum(size for size, on in zip(results, self.apart, strict=True) if on)
        return self._copies() * (sum(results) - apart) + (apart if self.workers > 1 else 0)

    @property
    def exchanged(self) -> int:
        """The bytes that a worker gets when the lanes are added, its own among them."""
        if self.workers == 1:
            return 0
        sizes = [
            prod(meta.static_shape or ()) * meta.dtype.itemsize * (1 if on else self._gathered)
            for meta, on in zip(self.sum_metas, self.apart, strict=True)
        ]
        return sum(sizes)

    @property
    def _gathered(self) -> int:
        """How many copies of the sums that are not apart the workers pass to each other."""
        share = -(-self.lanes // self.workers)  # lanes of one worker
        if not self.ordered:
            return 1
        return self.workers if share * self.workers == self.lanes else share * self.workers

    def _copies(self) -> int:
        """How many copies there are of the sums that are not apart, without the results."""
        share = -(-self.lanes // self.workers)
        waiting = share.bit_length() if share > 1 else 0  # and the sums of the last lane
        if self.workers == 1:
            return waiting
        if not self.ordered or share * self.workers == self.lanes:
            return max(waiting if self.ordered else 0, self._gathered)
        return share + self._gathered

    def _role(self, position: int) -> str:
        return f"const {position}"


def _added(earlier: list[Any], later: list[Any]) -> list[Any]:
    return [np.asarray(a + b) for a, b in zip(earlier, later, strict=True)]
