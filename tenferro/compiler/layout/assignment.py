"""Layout assignment: the pass, the search for orders of axes, and the program in these orders.

What the rewrite writes itself is a `DotGeneral` for each of the program's, and for its operands
and results `Transpose`, `BroadcastInDim` and `ReduceSum`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol, cast

from tenferro.compiler.background import give_way
from tenferro.compiler.cost_model import CPU, DeviceCosts
from tenferro.compiler.layout.contractions import (
    DEPTH,
    Asked,
    Contraction,
    OperandAxes,
    Pending,
    Problem,
    Repeated,
    Value,
    Written,
    natural_order,
    places,
    satisfies,
    sorted_into,
)
from tenferro.compiler.layout.requests import NOTHING_CHOSEN, Choice, ContractionRules, Requests
from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.compiler.passes import Needs, Pass
from tenferro.ir import (
    MAX_EXTENT,
    AxisOrder,
    DType,
    ExecBuilder,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    Rewriter,
    TensorMeta,
    dtype_kind,
)
from tenferro.ops import MUL, BroadcastInDim, DotGeneral, ReduceSum, Transpose

__all__ = ["TRIALS", "ContractionLayout", "LayoutRewrite", "ProgramWriter", "choose_orders"]


# Two targets of the rewriting: a new program, and an estimate of what it costs.

Shape = tuple[int, ...]


class Writer(Protocol):
    """The target that `LayoutRewrite` writes to; values are numbered."""

    def input(self, meta: TensorMeta) -> int:
        """An input of the program."""

    def begin(self, step: ExecInstruction) -> None:
        """Note that what is written next replaces this step."""

    def pointwise(self, step: ExecInstruction, operands: Sequence[int]) -> int:
        """A pointwise step."""

    def write(
        self, op: ExecOp, *operands: int, seconds: float = 0.0, order: AxisOrder | None = None
    ) -> tuple[int, ...]:
        """Another op.

        `seconds` is what it takes because of the order of axes, except for a transpose; `order` is
        that of the axes of its only result, if not the natural one.
        """


class ProgramWriter:
    """Writes a program."""

    def __init__(self) -> None:
        self._builder = ExecBuilder()
        self._site: str | None = None
        self.input, self.build = self._builder.input, self._builder.build

    def begin(self, step: ExecInstruction) -> None:
        self._site = step.site

    def pointwise(self, step: ExecInstruction, operands: Sequence[int]) -> int:
        return self._builder.add(step.op, operands, step.site)[0]

    def write(
        self, op: ExecOp, *operands: int, seconds: float = 0.0, order: AxisOrder | None = None
    ) -> tuple[int, ...]:
        return self._builder.add(op, operands, self._site)


class CostWriter:
    """Adds up what the program would cost.

    Attributes:
        seconds: the cost of everything that depends on the order of axes.
        spent: the same by step, as the slot of its result: the cost of the step, of moving its
            operands, and of moving its result.
    """

    def __init__(self, costs: DeviceCosts) -> None:
        self.costs = costs
        self.seconds = 0.0
        self.spent: dict[int, float] = {}
        self._makers: list[int | None] = []
        self._types: list[tuple[DType, Shape]] = []
        self._step: ExecInstruction | None = None

    def input(self, meta: TensorMeta) -> int:
        return self._new(meta.dtype, meta.static_shape or ())

    def begin(self, step: ExecInstruction) -> None:
        self._step = step

    def pointwise(self, step: ExecInstruction, operands: Sequence[int]) -> int:
        return self._new(step.dtype, self._types[operands[0]][1])

    def write(
        self, op: ExecOp, *operands: int, seconds: float = 0.0, order: AxisOrder | None = None
    ) -> tuple[int, ...]:
        assert self._step is not None
        dtype, shape = self._types[operands[0]] if operands else (self._step.dtype, ())
        match op:
            case Transpose(perm=perm):
                self._spend(self.costs.moving(dtype, math.prod(shape)), operands[0])
                shape = tuple([shape[axis] for axis in perm])
            case BroadcastInDim():
                self._spend(seconds, operands[0])
                shape = cast(Shape, op.shape)  # of constant extents, as the whole program
            case DotGeneral():
                right = self._types[operands[1]][1]
                self._spend(seconds, None)
                left_axes = (*op.lhs_batch, *op.lhs_free(len(shape)))
                sizes = [shape[axis] for axis in left_axes]
                shape = (*sizes, *[right[axis] for axis in op.rhs_free(len(right))])
            case ReduceSum(axes=axes):
                shape = tuple([size for axis, size in enumerate(shape) if axis not in axes])
            case _:
                metas = self._step.output_metas
                if order is None:
                    return tuple([self._new(meta.dtype, meta.static_shape or ()) for meta in metas])
                natural_shape = metas[0].static_shape or ()
                dtype, shape = self._step.dtype, tuple([natural_shape[axis] for axis in order])
        return (self._new(dtype, shape),)

    def _spend(self, seconds: float, value: int | None) -> None:
        self.seconds += seconds
        for slot in {self._maker(), None if value is None else self._makers[value]}:
            if slot is not None:
                self.spent[slot] = self.spent.get(slot, 0.0) + seconds

    def _maker(self) -> int | None:
        return None if self._step is None else self._step.output_slots[0]

    def _new(self, dtype: DType, shape: Shape) -> int:
        self._types.append((dtype, shape))
        self._makers.append(self._maker())
        return len(self._types) - 1


# Rewriting a program so that the axes of its values lie in the chosen orders.


class LayoutRewrite:
    """Walks the program forward and writes each value in its requested order where it can.

    Orders are chosen for each `DotGeneral`; a `Transpose` renames axes; a `BroadcastInDim` repeats
    a value only where it is read. For any other op, `permuted` returns the op for other orders.
    """

    def __init__(self, requests: Requests, writer: Writer) -> None:
        self.requests = requests
        self.problem = requests.problem
        self.forms = requests.rules.forms
        self.costs = requests.rules.costs
        self.writer = writer
        self.values: dict[int, Value] = {}
        self.moved: dict[tuple[int, AxisOrder], int] = {}
        self.copies: dict[int, list[tuple[int, AxisOrder]]] = {}
        self.gathered: set[int] = set()
        self.repeated: set[int] = set()
        self.split: set[int] = set()

    def run(self) -> list[int]:
        """Write the whole program; returns the outputs, in their natural orders."""
        program = self.problem.program
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True):
            number = self.writer.input(meta)
            self.values[slot] = Written(number, natural_order(meta.rank))
            if slot in self.problem.gathered:
                self.gathered.add(number)
        for step in program.instructions:
            self.writer.begin(step)
            self._visit(step)
        return [
            self._as(self.values[slot], natural_order(self.problem.rank(slot)))
            for slot in program.output_slots
        ]

    def _visit(self, step: ExecInstruction) -> None:
        operands = [self.values[slot] for slot in step.input_slots]
        out = step.output_slots[0]
        if step.output_slots[0] in self.problem.pointwise:
            self.values[out] = self._pointwise(step, operands)
            return
        match step.op:
            case DotGeneral():
                self.values[out] = self._contraction(self.problem.contractions[out])
            case Transpose(perm=perm):
                (x,) = operands
                if isinstance(x, Pending) and out not in self.problem.read_once:
                    x = self._as_written(step.input_slots[0])
                self.values[out] = x.renamed(perm)
            case BroadcastInDim(dims=dims):
                source = self._as_written(step.input_slots[0])
                self.values[out] = Repeated(source, dims, self.problem.shapes[out])
            case _ if self.problem.axis_map(step) is not None:
                self._permuted(step)
            case _:
                self._in_natural_order(step)

    def _permuted(self, step: ExecInstruction) -> None:
        """The step on operands in their current orders or a common one, if its op allows that."""
        written = self._in_one_order([self._as_written(slot) for slot in step.input_slots])
        permuted = step.op.permuted([x.order for x in written])
        if permuted is None:
            self._in_natural_order(step)
            return
        op, order = permuted
        (number,) = self.writer.write(op, *[x.number for x in written], order=order)
        self.values[step.output_slots[0]] = Written(number, order)

    def _in_one_order(self, written: list[Written]) -> list[Written]:
        """Operands of one rank in the order that most of them have; of several ranks, unchanged."""
        orders = [x.order for x in written]
        if len({len(order) for order in orders}) != 1 or len(set(orders)) == 1:
            return written
        order = max(orders, key=orders.count)
        return [Written(self._as(x, order), order) for x in written]

    def _in_natural_order(self, step: ExecInstruction) -> None:
        """The step on operands whose axes lie in the order in which they are numbered."""
        numbers = [
            self._as(self.values[slot], natural_order(self.problem.rank(slot)))
            for slot in step.input_slots
        ]
        results = self.writer.write(step.op, *numbers)
        for slot, number in zip(step.output_slots, results, strict=True):
            self.values[slot] = Written(number, natural_order(self.problem.rank(slot)))

    def _as_written(self, slot: int) -> Written:
        """The value, written; if it was not yet, in the order that is requested."""
        value = self.values[slot]
        if isinstance(value, Written):
            return value
        order = sorted_into(self.requests.groups(slot), value.easiest)
        return Written(self._as(value, order), order)

    def _pointwise(self, step: ExecInstruction, operands: Sequence[Value]) -> Value:
        """The result in the order of most operands, so that few are moved. It stays unwritten if no
        operand is written and it has one reader, which then determines the order."""
        out = step.output_slots[0]
        orders = [x.order for x in operands if isinstance(x, Written)]
        unwritten = tuple(x for x in operands if not isinstance(x, Written))
        depth = 1 + max(x.depth for x in operands)
        if not orders and out in self.problem.read_once and depth < DEPTH:
            return Pending(step, unwritten, depth)
        groups = self.requests.groups(out)
        if orders:
            fitting = [order for order in orders if satisfies(order, groups)]
            order = max(fitting or orders, key=orders.count)
        else:
            order = sorted_into(groups, max(unwritten, key=lambda x: x.weight).easiest)
        numbers = [self._as(x, order) for x in operands]
        return Written(self.writer.pointwise(step, numbers), order)

    def _contraction(self, contraction: Contraction) -> Written:
        slot, requests = contraction.slot, self.requests
        wanted = requests.wanted[slot]
        choice, swapped = requests.choice(slot), bool(wanted.decided.swapped)
        first, second = [
            self._best_copy(self._as_written(side.slot), side, number == 0)
            for number, side in enumerate(contraction.sides(swapped))
        ]
        gathered = first.number in self.gathered
        asked = Asked(wanted.result_groups, swapped, choice.repeated, choice.split, gathered)
        form = self.forms.form(contraction, first.order, second.order, asked)
        if form.exchanged:
            first, second = second, first
        lead, trail = self._as(first, form.first), self._as(second, form.second)
        if form.spread is not None:
            self.repeated.add(slot)
            shape, dims = form.spread
            seconds = self.costs.writing(contraction.dtype, math.prod(shape))
            (lead,) = self.writer.write(BroadcastInDim(shape, dims), lead, seconds=seconds)
        (product,) = self.writer.write(form.dot, lead, trail, seconds=form.excess)
        if form.summed:
            self.split.add(slot)
            (product,) = self.writer.write(ReduceSum(form.summed), product)
        return Written(product, form.order)

    def _best_copy(self, x: Written, side: OperandAxes, is_left: bool) -> Written:
        """A value, or a copy of it in another order that a product takes as it lies."""
        if not self.requests.shares_copies:
            return x
        copies = [
            Written(number, tuple([x.order[axis] for axis in perm]))
            for number, perm in self.copies.get(x.number, ())
        ]
        return max((x, *copies), key=lambda each: side.fitness(each.order, is_left))

    def _as(self, x: Value, order: AxisOrder) -> int:
        """The number of a value with its axes in that order."""
        match x:
            case Repeated():
                return self._spread(x, order)
            case Pending(step=step, operands=operands):
                return self.writer.pointwise(
                    step, [self._as(operand, order) for operand in operands]
                )
            case Written(number=number) if x.order == order:
                return number
            case Written():
                return self._moved(x, order)

    def _moved(self, x: Written, order: AxisOrder) -> int:
        perm = places(x.order, order)
        number = self.moved.get((x.number, perm))
        if number is None:
            (number,) = self.writer.write(Transpose(perm), x.number)
            self.moved[x.number, perm] = number
            self.copies.setdefault(x.number, []).append((number, perm))
            if x.number in self.gathered:
                self.gathered.add(number)
        return number

    def _spread(self, x: Repeated, order: AxisOrder) -> int:
        """A repeated value written in that order."""
        place = {axis: number for number, axis in enumerate(order)}
        targets = [place[axis] for axis in x.dims]
        source = tuple(sorted(range(len(targets)), key=targets.__getitem__))
        shape = tuple(x.shape[axis] for axis in order)
        repeat = BroadcastInDim(shape, tuple(sorted(targets)))
        return self.writer.write(repeat, self._as(x.source, source))[0]


# Improving the choices of orders one by one.

Choices = dict[int, Choice]

TRIALS = 150
"""How many changes are tried at most."""

PATIENCE = 8
"""Limit of the search time, as a multiple of what the orders cost one run of the program."""

LEAST_PATIENCE = 2
"""The multiple that is always granted; more only up to a tenth of the time to compile."""

STEP = 5e-5
"""Seconds that an estimate takes for each step of a program."""

WORTH = 3e-4
"""Seconds that orders must cost before changes are tried."""

SMALL = 0.02
"""The part of the total that a contraction must cost for its choices to be changed."""

GAIN = 0.005
"""The part of the total that a change must gain to be kept."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """The estimated cost of a program with some choices.

    Attributes:
        seconds: the cost of the orders of axes.
        spent: the same by step, as the slot of its result.
        decided: all choices, including those of the rules.
        choices: the choices that were given.
        shares_copies: whether a product reads a copy that was made for another one.
        copied: whether there are copies in other orders.
    """

    seconds: float
    spent: Mapping[int, float]
    decided: Mapping[int, Choice]
    choices: Choices
    shares_copies: bool
    copied: bool


def choose_orders(problem: Problem, costs: DeviceCosts, limit: int = TRIALS) -> Requests:
    """The orders to request: those of the rules, changed where that lowers the estimate.

    First all sides that the rules exchange stay, then at most `limit` changes are tried.
    """
    rules = ContractionRules(problem, costs)
    if not limit:
        return Requests(rules)
    best = estimate(rules, {})
    swapped = [slot for slot, choice in best.decided.items() if choice.swapped]
    if swapped:
        straight = estimate(rules, dict.fromkeys(swapped, Choice(swapped=False)))
        best = min(straight, best, key=lambda each: each.seconds)
    trials = (
        min(limit, _patience(best.seconds, len(problem.program.instructions), costs.compiling))
        if best.seconds > WORTH
        else 0
    )
    best, trials = _improved(rules, best, trials)
    if not best.copied:
        return Requests(rules, best.choices)
    sharing = estimate(rules, best.choices, shares_copies=True)
    if sharing.seconds < best.seconds:
        best, _ = _improved(rules, sharing, trials)
    return Requests(rules, best.choices, best.shares_copies)


def _improved(rules: ContractionRules, best: Estimated, trials: int) -> tuple[Estimated, int]:
    """The best of so many changes, one after the other, and how many were not needed."""
    while trials > 0:
        before = best
        least = SMALL * best.seconds
        slots = [slot for slot in rules.problem.contractions if best.spent.get(slot, 0.0) >= least]
        for slot in sorted(slots, key=lambda slot, spent=best.spent: -spent[slot]):  # type: ignore[misc]
            for field in fields(Choice):
                trials -= 1
                change = {field.name: not getattr(best.decided[slot], field.name)}
                changed = replace(best.choices.get(slot, NOTHING_CHOSEN), **change)
                choices = {**best.choices, slot: changed}
                estimated = estimate(rules, choices, best.shares_copies)
                if estimated.seconds < (1 - GAIN) * best.seconds:
                    best = estimated
            if trials <= 0:
                break
        if best.seconds > (1 - 2 * GAIN) * before.seconds:
            break
    return best, trials


def _patience(seconds: float, steps: int, compiling: float) -> int:
    """How many changes may be tried where orders cost a run so many seconds.

    `compiling` is what a compiler takes for each step of the program.
    """
    granted = max(LEAST_PATIENCE * seconds, compiling * steps / 10)
    return int(min(PATIENCE * seconds, granted) / (STEP * steps))


def estimate(rules: ContractionRules, choices: Choices, shares_copies: bool = False) -> Estimated:
    """The cost of the program with these choices; the rules decide the rest."""
    give_way()
    writer, requests = CostWriter(rules.costs), Requests(rules, choices, shares_copies)
    rewrite = LayoutRewrite(requests, writer)
    rewrite.run()
    decided = {
        slot: replace(
            wanted.decided, repeated=slot in rewrite.repeated, split=slot in rewrite.split
        )
        for slot, wanted in requests.wanted.items()
    }
    return Estimated(
        writer.seconds, writer.spent, decided, choices, shares_copies, bool(rewrite.copies)
    )


# The order of axes of every value, chosen for the contractions that read it.


@dataclass(frozen=True)
class ContractionLayout(Pass):
    """Chooses in which order the axes of computed values lie, for the `DotGeneral`s that read them,
    and so that transposes move fewer numbers.

    A contraction is fast where batch axes lead, the contracted axes lie together, last on the
    left, and the longer side is the left one. Working from outputs to inputs, each contraction
    requests an order of axes for its operands; where readers disagree, the most expensive one wins.
    An op that does not mix its axes passes the request on to its operands, a transpose renames
    axes, and axes are moved only where requests conflict. What is computed of repeated values is
    written in the order in which it is read; so is a contraction over no axes, which becomes a
    product of repeated values.

    Attributes:
        costs: by which orders are compared.
        trials: the largest number of changes to the rules' choices to try; 0 uses the rules alone.
        pinned: the axes that are divided among devices, along which nothing is repeated, and of
            which one part counts; None if there are none.
    """

    costs: DeviceCosts = CPU
    trials: int = TRIALS
    pinned: PartitionedAxes | None = None

    looks_for = (DotGeneral, Transpose)
    needs = Needs.CONSTANT_EXTENTS

    def inside(self, program: ExecProgram) -> ContractionLayout:
        """The pass for loops, in which any axis may be divided if one of their operands is."""
        return self if self.pinned is None else replace(self, pinned=self.pinned.inside(program))

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with other orders of axes inside; inputs and outputs are as they were."""
        dots = program.ops_of(DotGeneral)
        if len(dots) < 2 and not program.has_op(Transpose):
            return program
        if any(meta is not None and meta.static_shape is None for meta in program.slot_metas()):
            return program
        original = program
        if self.pinned is None and not all(dot.lhs_contract for dot in dots):
            program = _with_outer_products(program)
        problem, writer = Problem(program, self.pinned), ProgramWriter()
        if min(problem.sizes) == 0 or max(problem.sizes) > MAX_EXTENT:
            return original  # empty, or too large and refused later
        if problem.is_best(self.costs):
            return original
        outputs = LayoutRewrite(choose_orders(problem, self.costs, self.trials), writer).run()
        written = writer.build(outputs)
        is_less = problem.contractions or _moved_numbers(written) < _moved_numbers(original)
        return written if is_less else original


def _with_outer_products(program: ExecProgram) -> ExecProgram:
    """The program with products of repeated values for contractions over no axes, which may be
    written in any order."""
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
        dot = step.op
        if (
            not isinstance(dot, DotGeneral)
            or dot.lhs_contract
            or dtype_kind(step.dtype) not in "fc"
        ):
            return None
        shape = step.output_metas[0].exact_shape(dot.name)
        lhs_rank, rhs_rank = (rewriter.ctx.meta(slot).rank for slot in operands)
        count = len(dot.lhs_batch)
        lhs_order = (*dot.lhs_batch, *dot.lhs_free(lhs_rank))
        rhs_order = (*dot.rhs_batch, *dot.rhs_free(rhs_rank))
        sides = (
            (lhs_order, range(lhs_rank)),
            (rhs_order, (*range(count), *range(lhs_rank, len(shape)))),
        )
        factors = [
            rewriter.emit(
                BroadcastInDim(shape, tuple(places)), rewriter.emit(Transpose(order), slot)
            )
            for slot, (order, places) in zip(operands, sides, strict=True)
        ]
        return rewriter.emit(MUL, *factors)

    return rewriter.run(rule)


def _moved_numbers(program: ExecProgram) -> int:
    """How many numbers the transposes of a program move: none, where one number is made of them."""
    stored = set(program.output_slots)
    for step, meta in program.results():
        if meta.rank:
            stored.update(step.input_slots)
    return sum(
        step.output_metas[0].known_size
        for step in program.steps_of(Transpose)
        if step.output_slots[0] in stored
    )
