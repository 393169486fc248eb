"""Contractions in the canonical form of a batched matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.passes.protocol import Needs
from tenferro.compiler.slot_emitter import SlotEmitter
from tenferro.exec_ir import ExecProgram
from tenferro.ops import DotGeneral, Reshape, Transpose
from tenferro.shape import MAX_EXTENT, TensorMeta, product


class DotDecomposer:
    """Brings each `DotGeneral` to canonical form.

    Batch axes come first on both sides, in the order of the result; each side has at most one
    contracted and one free axis, and one batch axis if its extents are constant. Several of a kind
    are merged by a reshape, and operands are transposed only where a group does not lie together.
    Whether contracted axes come before or after free ones is left as it is; an lhs that must be
    transposed anyway gets them last, an rhs first.

    Reshapes need exact extents. A contraction of anything else is left alone.
    """

    name = "dot_decomposer"
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with canonical contractions."""
        if not any(isinstance(step.op, DotGeneral) for step in program.instructions):
            return program
        emitter = SlotEmitter(program)
        plans: dict[tuple[DotGeneral, TensorMeta, TensorMeta], Plan | None] = {}
        for step in program.instructions:
            operands = emitter.begin(step)
            plan = None
            if isinstance(step.op, DotGeneral):
                key = (step.op, emitter.ctx.meta(operands[0]), emitter.ctx.meta(operands[1]))
                if key not in plans:
                    plans[key] = make_plan(*key)
                plan = plans[key]
            if plan is None:
                emitter.keep(step, operands)
            else:
                emitter.define(step, plan.emit(emitter, operands))
        return emitter.build()


@dataclass(frozen=True, slots=True)
class Side:
    """How an operand gets its canonical form, and where its contracted axis is then."""

    transpose: Transpose
    reshape: Reshape
    contract: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The ops that stand for a contraction."""

    lhs: Side
    rhs: Side
    dot: DotGeneral
    result: Reshape

    def emit(self, emitter: SlotEmitter, operands: tuple[int, ...]) -> int:
        """The value of the contraction; what moves nothing is dropped by the ops' own `fold`."""
        matrices = [
            emitter.emit(side.reshape, emitter.emit(side.transpose, operand))
            for side, operand in zip((self.lhs, self.rhs), operands, strict=True)
        ]
        (value,) = emitter.emit_all(self.dot, *matrices)
        return emitter.emit(self.result, value)


def make_plan(dot: DotGeneral, lhs: TensorMeta, rhs: TensorMeta) -> Plan | None:
    """The canonical form; None where the contraction has it, or cannot be brought to it."""
    left = (dot.lhs_batch, dot.lhs_free(lhs.rank), dot.lhs_contract)
    right = (dot.rhs_batch, dot.rhs_free(rhs.rank), dot.rhs_contract)
    one_batch = _are_constant(lhs, dot.lhs_batch) and _are_constant(rhs, dot.rhs_batch)
    if _is_canonical(*left, one_batch) and _is_canonical(*right, one_batch):
        return None
    if not (_can_merge(lhs, *left) and _can_merge(rhs, *right)):
        return None
    one = _side(lhs, *left, one_batch, contract_last=True)
    other = _side(rhs, *right, one_batch, contract_last=False)
    batch = tuple(range(min(len(dot.lhs_batch), 1) if one_batch else len(dot.lhs_batch)))
    canonical = DotGeneral(one.contract, other.contract, batch, batch)
    return Plan(one, other, canonical, Reshape(dot.infer(lhs, rhs).exact_shape(dot.name)))


def _are_constant(meta: TensorMeta, axes: Sequence[int]) -> bool:
    return meta.dims is not None and all(isinstance(meta.dims[axis], int) for axis in axes)


def _is_canonical(
    batch: Sequence[int], free: Sequence[int], contract: Sequence[int], one_batch: bool
) -> bool:
    leads = tuple(batch) == tuple(range(len(batch))) and (len(batch) <= 1 or not one_batch)
    return leads and len(free) <= 1 and len(contract) <= 1


def _can_merge(
    meta: TensorMeta, batch: Sequence[int], free: Sequence[int], contract: Sequence[int]
) -> bool:
    """Whether the extents are exact and the merged ones fit 64 bits."""
    if meta.dims is None:
        return False
    merged = (product(meta.dims[axis] for axis in group) for group in (batch, free, contract))
    return all(not isinstance(size, int) or size <= MAX_EXTENT for size in merged)


def _side(
    meta: TensorMeta,
    batch: tuple[int, ...],
    free: tuple[int, ...],
    contract: tuple[int, ...],
    one_batch: bool,
    *,
    contract_last: bool,
) -> Side:
    """The operand with its groups of axes merged."""
    ends = {True: (*batch, *free, *contract), False: (*batch, *contract, *free)}
    as_is = tuple(range(meta.rank))
    if ends[contract_last] != as_is and ends[not contract_last] == as_is:
        contract_last = not contract_last
    sizes = meta.exact_shape("dot_decomposer", "operand")
    groups = [batch] if one_batch else [(axis,) for axis in batch]
    groups += [free, contract] if contract_last else [contract, free]
    groups = [group for group in groups if group]
    shape = tuple(product(sizes[axis] for axis in group) for group in groups)
    contracted = (groups.index(contract),) if contract else ()
    return Side(Transpose(ends[contract_last]), Reshape(shape), contracted)
