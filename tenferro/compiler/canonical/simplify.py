"""Algebraic simplification, repetitions, CSE, dead code, trivial loops inlined, renumbering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tenferro.compiler.passes import Needs, Pass
from tenferro.config import config
from tenferro.errors import InvalidConfigError, VerifyError
from tenferro.ir import (
    Category,
    DType,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    NumpyArray,
    Rewriter,
    dtype_kind,
    float_limits,
    product,
    renumber,
)
from tenferro.ops import (
    MUL,
    BroadcastInDim,
    Complex,
    Constant,
    Imag,
    Real,
    ReduceSum,
    Reshape,
    StdTensorOp,
    full,
    scalar_source,
)
from tenferro.ops.control_flow import Scan, Switch

__all__ = [
    "AlgebraicSimplifier",
    "BroadcastSinking",
    "CommonSubexpressions",
    "DeadCode",
    "LoopInlining",
    "RenumberSlots",
]


# Algebraic simplification, mainly of what differentiation produces.


@dataclass(frozen=True)
class AlgebraicSimplifier(Pass):
    """Applies each op's own `fold`, and computes what depends on constants alone.

    Results are kept up to rounding and the sign of zero; NaN and infinity survive, so that neither
    `x * 0` nor `x - x` is 0. A value is replaced only by one of the same type, guarantees included.
    """

    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with each instruction simplified."""
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            op = step.op
            if len(step.output_slots) != 1:
                return None
            if isinstance(op, Constant):
                value = _spread(rewriter, op)
            else:
                value = op.fold(rewriter, operands) if isinstance(op, StdTensorOp) else None
                value = _computed(rewriter, op, operands) if value is None else value
            if value is None or rewriter.ctx.meta(value) != step.output_metas[0]:
                return None
            return value

        return rewriter.run(rule)


def _spread(at: Rewriter, constant: Constant) -> int | None:
    """A literal whose elements are all equal, as one number that is repeated."""
    array = constant.numpy()
    if array.size < 2 or array.tobytes() != array.flat[0].tobytes() * array.size:
        return None
    return full(at, array.flat[0], constant.infer())


def _computed(at: Rewriter, op: ExecOp, operands: tuple[int, ...]) -> int | None:
    """The constant that `op` gives on constant operands, if it is small."""
    for operand in operands:
        producer = at.producer(operand)
        if producer is None or not (producer[0].repeats or isinstance(producer[0], Constant)):
            return None
    if not operands or op.category is Category.BOUNDARY or op.repeats:
        return None
    values: list[NumpyArray] = []
    for operand in operands:
        value = _literal(at, operand)
        if value is None:
            return None
        values.append(value)
    (meta,) = op.infer_all([at.ctx.meta(operand) for operand in operands])
    if not _is_small(meta.static_shape, meta.dtype.itemsize) or op.symbols():
        return None  # the elements may depend on sizes, though their number does not
    with np.errstate(all="ignore"):
        (result,) = op.evaluate(values)
    return at.emit(Constant(np.asarray(result)))


def _literal(at: Rewriter, slot: int) -> NumpyArray | None:
    """The constant that a slot holds, if it is small."""
    producer = at.producer(slot)
    if producer is None:
        return None
    op, operands = producer
    if isinstance(op, Constant):
        return op.numpy()
    if not op.repeats:
        return None
    source = at.producer(operands[0])
    meta = at.ctx.meta(slot)
    if source is None or not isinstance(source[0], Constant):
        return None
    if not _is_small(meta.static_shape, meta.dtype.itemsize):
        return None
    return op.evaluate([source[0].numpy()])[0]  # type: ignore[no-any-return]


def _is_small(shape: tuple[int, ...] | None, itemsize: int) -> bool:
    return shape is not None and math.prod(shape) * itemsize <= config.literal_bytes


# Elementwise ops on repeated values, computed before the values are repeated.


@dataclass(frozen=True)
class BroadcastSinking(Pass):
    """Moves repetitions behind elementwise ops, and makes products of sums over repeated axes.

    The operands of such an op are repeated in the same way, as by `repeat` and `tile`, or are
    repeated numbers. A derivative adds up what was repeated: if nothing else came in between, the
    sum is a product by a number.
    """

    needs = Needs.EXACT_EXTENTS
    looks_for = (BroadcastInDim,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer elements computed; unused repetitions are left to `DeadCode`."""
        if not any(each.dims for each in program.ops_of(BroadcastInDim)):
            return program  # only numbers are repeated
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            op = step.op
            if not isinstance(op, StdTensorOp) or len(step.output_slots) != 1:
                return None
            value: int | None = None
            if isinstance(op, ReduceSum):
                value = _product(rewriter, op, operands[0])
            elif isinstance(op, Reshape):
                value = op.fold(rewriter, operands)  # a reshape there and back
            elif op.pointwise and not (op.view or op.bodies or op.category is Category.BOUNDARY):
                value = _before_repetition(rewriter, op, operands)
            if value is None or rewriter.ctx.meta(value) != step.output_metas[0]:
                return None
            return value

        return rewriter.run(rule)


@dataclass(frozen=True, slots=True)
class _Repetition:
    """How a value is repeated: along new axes, which may be merged with others."""

    broadcast: BroadcastInDim
    reshape: Reshape | None


def _repetition(at: Rewriter, slot: int) -> tuple[int, _Repetition] | None:
    """What is repeated, and how; None for other values, and for a repeated number."""
    producer, reshape = at.producer(slot), None
    if producer is not None and isinstance(producer[0], Reshape):
        reshape = producer[0]
        producer = at.producer(producer[1][0])
    if producer is None or type(producer[0]) is not BroadcastInDim or not producer[0].dims:
        return None
    broadcast, (source,) = producer
    dims = at.ctx.meta(source).dims
    if dims is None or product(dims) == product(broadcast.shape):
        return None  # only axes of size 1 are new
    return source, _Repetition(broadcast, reshape)


def _before_repetition(at: Rewriter, op: StdTensorOp, operands: tuple[int, ...]) -> int | None:
    """The op on what its operands repeat, then repeated; None unless they do it alike."""
    sources: list[int | None] = []
    repetition: _Repetition | None = None
    like: int | None = None
    for slot in operands:
        found = _repetition(at, slot)
        if found is None:
            if scalar_source(at, slot) is None:
                return None
            sources.append(None)
            continue
        source, how = found
        if like is None:
            like, repetition = source, how
        if how != repetition or at.ctx.meta(source).dims != at.ctx.meta(like).dims:
            return None
        sources.append(source)
    if like is None or repetition is None:
        return None
    dims = at.ctx.meta(like).dims
    assert dims is not None
    small: list[int] = []
    for slot, known in zip(operands, sources, strict=True):
        number = scalar_source(at, slot) if known is None else None
        spread = None if number is None else at.emit(BroadcastInDim(dims, ()), number)
        small += [each for each in (known, spread) if each is not None]
    value = at.emit(repetition.broadcast, at.emit(op, *small))
    return value if repetition.reshape is None else at.emit(repetition.reshape, value)


def _product(at: Rewriter, op: ReduceSum, slot: int) -> int | None:
    """A sum over repeated axes as a product by how often they repeat; None for other sums."""
    producer = at.producer(slot)
    if producer is None or type(producer[0]) is not BroadcastInDim or not producer[0].dims:
        return None
    broadcast, (source,) = producer
    new = [axis for axis in op.axes if axis not in broadcast.dims]
    times = product([broadcast.shape[axis] for axis in new])
    meta = at.ctx.meta(slot)
    if not new or not isinstance(times, int) or not _is_exact(times, meta.dtype):
        return None
    left = [axis for axis in range(len(broadcast.shape)) if axis not in new]
    shape = tuple(broadcast.shape[axis] for axis in left)
    value = at.emit(BroadcastInDim(shape, tuple(map(left.index, broadcast.dims))), source)
    value = at.emit(
        ReduceSum(tuple(left.index(axis) for axis in op.axes if axis not in new)), value
    )
    if dtype_kind(meta.dtype) != "c":
        return at.emit(MUL, value, full(at, times, at.ctx.meta(value)))
    # infinity times a complex number without an imaginary part has NaN in it, the sum has not
    parts = [at.emit(op, value) for op in (Real(), Imag())]
    number = full(at, times, at.ctx.meta(parts[0]))
    return at.emit(Complex(), *(at.emit(MUL, part, number) for part in parts))


def _is_exact(number: int, dtype: DType) -> bool:
    """Whether a positive number is exact in a dtype; a sum of no numbers is left alone."""
    if dtype_kind(dtype) in "iu":
        return 0 < number <= np.iinfo(dtype).max
    return dtype_kind(dtype) in "fc" and 0 < number <= 1 << (float_limits(dtype).nmant + 1)


# Common subexpressions: each value computed once.


@dataclass(frozen=True)
class CommonSubexpressions(Pass):
    """Value numbering: of instructions with one op on the same operands, the first one stays.

    An execution program does not hold the linear mode of graph nodes. So a primal value and an
    equal coefficient of a derivative are merged here. Works for any extents.
    """

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with later copies of an instruction replaced by the first."""
        steps = program.instructions
        if len({_value(step, step.input_slots) for step in steps}) == len(steps):
            return program  # no copies, so that no operand changes
        known: dict[Value, tuple[int, ...]] = {}

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            first = known.setdefault(_value(step, operands), step.output_slots)
            return None if first is step.output_slots else first

        return Rewriter(program).run(rule)


Value = tuple[bytes, tuple[int, ...]]
"""What is computed: an op, on operands."""


def _value(step: ExecInstruction, operands: tuple[int, ...]) -> Value:
    op = step.op
    if op.commutative and operands[0] > operands[1]:
        operands = operands[::-1]
    return op.identity, operands


# Dead code: instructions that no output needs, outputs that nothing reads, unread operands.


@dataclass(frozen=True)
class DeadCode(Pass):
    """Drops instructions none of whose outputs is read. Works for any extents.

    An op some of whose outputs are dead is replaced by one that computes only the others, if its
    `pruned` returns one. An op that holds programs is also asked where no output is dead, since the
    programs may not read all operands.
    """

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with only what its outputs need."""
        alive = set(program.output_slots)
        live_steps: list[ExecInstruction] = []
        changed = False
        for step in reversed(program.instructions):
            if alive.isdisjoint(step.output_slots):
                changed = True
                continue
            may_shrink = len(step.output_slots) > 1 or step.op.body_fields
            pruned = _pruned(step, alive, program) if may_shrink else step
            changed = changed or pruned is not step
            alive.update(pruned.input_slots)
            live_steps.append(pruned)
        if not changed:
            return program
        steps = [
            replace(step, last_use=()) if step.last_use else step for step in reversed(live_steps)
        ]
        return replace(program, instructions=tuple(steps))


def _pruned(step: ExecInstruction, alive: set[int], program: ExecProgram) -> ExecInstruction:
    """The instruction without its dead outputs and unread operands, if its op can leave them out.

    Raises:
        InvalidConfigError, VerifyError: the op that its `pruned` returns has other outputs than
            the live ones.
    """
    pruned = step.computing(alive, operands=bool(step.op.body_fields))
    if pruned is step:
        return step
    types = program.slot_metas()
    operands = [meta for slot in pruned.input_slots if (meta := types[slot]) is not None]
    inferred = pruned.op.infer_all(operands)
    if inferred != pruned.output_metas:
        actual, expected = (
            ", ".join(map(str, metas)) or "nothing" for metas in (inferred, pruned.output_metas)
        )
        problem = f"gave an op that makes {actual}, asked for {expected}"
        family = step.op.family
        if family is None:
            raise VerifyError(f"{step.op.name}: pruned {problem}")
        raise InvalidConfigError(family, f"family_id={family}: prune_outputs {problem}")
    return pruned


# Loop inlining: loops of one iteration, and choices that are known, become what they run.


@dataclass(frozen=True)
class LoopInlining(Pass):
    """Writes the body in place of a `Scan` of one iteration, and a branch in place of a `Switch`.

    That is done if the index of the `Switch` is a constant, or if it has one branch only.
    """

    looks_for = (
        Scan,
        Switch,
    )
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without such loops and choices."""
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if isinstance(step.op, Scan) and step.op.length == 1:
                return _only_iteration(rewriter, step.op, operands)
            if isinstance(step.op, Switch):
                number = _known_branch(rewriter, step.op, operands[0])
                if number is not None:
                    return rewriter.inline(step.op.branches[number], operands[1:])
            return None

        return rewriter.run(rule)


def _only_iteration(at: Rewriter, op: Scan, operands: Sequence[int]) -> list[int]:
    """The results of the one iteration of a scan."""
    start = op.consts + op.carry
    metas = op.body.input_metas[start:]
    xs = [
        at.emit(Reshape(meta.exact_shape("scan")), x)
        for x, meta in zip(operands[start:], metas, strict=True)
    ]
    results = at.inline(op.body, [*operands[:start], *xs])
    ys = [
        at.emit(Reshape((1, *at.ctx.meta(y).exact_shape("scan"))), y) for y in results[op.carry :]
    ]
    return [*results[: op.carry], *ys]


def _known_branch(at: Rewriter, op: Switch, index: int) -> int | None:
    """The number of the branch that is always taken; None if that is not known."""
    last = len(op.branches) - 1
    if not last:
        return 0
    producer = at.producer(index)
    if producer is None or not isinstance(producer[0], Constant):
        return None
    return min(max(int(producer[0].value), 0), last)


# Slots in one canonical numbering, and the marks of last uses.


@dataclass(frozen=True)
class RenumberSlots(Pass):
    """Numbers slots in the order in which they are written, without gaps, and marks last uses.

    Passes keep the numbers of values that they do not rewrite; this pass runs after them.
    """

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program, numbered and marked; itself if it already is."""
        return renumber(program, marked=True)
