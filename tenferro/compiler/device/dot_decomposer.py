"""Contractions in the canonical form of a batched matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.partitioned_axes import AxisParts, PartitionedAxes
from tenferro.compiler.passes import Needs, Pass
from tenferro.ir import MAX_EXTENT, ExecInstruction, ExecProgram, Rewriter, TensorMeta, product
from tenferro.ops import DotGeneral, Reshape, Transpose

__all__ = ["DotDecomposer"]


@dataclass(frozen=True)
class DotDecomposer(Pass):
    """Brings each `DotGeneral` to canonical form, with `Transpose` and `Reshape` around it.

    Batch axes come first on both sides, in the order of the result; each side has at most one
    contracted and one free axis, and one batch axis if its extents are constant. Several of a kind
    are merged by a reshape, and operands are transposed only where a group does not lie together.
    Contracted axes stay before or after the free ones; an lhs that must be transposed anyway gets
    them last, an rhs first.

    Reshapes need exact extents. A contraction of anything else is left alone. So is one in which an
    axis that is divided among devices would be merged behind another one: XLA would gather it.

    Attributes:
        pinned: the axes that are divided; None if there are none.
    """

    pinned: PartitionedAxes | None = None

    looks_for = (DotGeneral,)
    needs = Needs.EXACT_EXTENTS

    def inside(self, program: ExecProgram) -> DotDecomposer:
        """The pass for loops, in which any axis may be divided if one of their operands is."""
        return self if self.pinned is None else DotDecomposer(self.pinned.inside(program))

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with canonical contractions."""
        parts = None if self.pinned is None else self.pinned.parts(program)
        rewriter = Rewriter(program)
        forms: dict[tuple[DotGeneral, TensorMeta, TensorMeta], MatrixForm | None] = {}

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if not isinstance(step.op, DotGeneral):
                return None
            if parts is not None and not _keeps_parts(step, parts):
                return None
            lhs, rhs = operands
            key = (step.op, rewriter.ctx.meta(lhs), rewriter.ctx.meta(rhs))
            if key not in forms:
                forms[key] = matrix_form(*key)
            form = forms[key]
            return None if form is None else form.emit(rewriter, operands)

        return rewriter.run(rule)


def _keeps_parts(step: ExecInstruction, parts: AxisParts) -> bool:
    """Whether the parts of operands are parts of matrices."""
    dot = step.op
    assert isinstance(dot, DotGeneral)
    lhs, rhs = step.input_slots
    groups = (
        (lhs, (dot.lhs_batch, dot.lhs_free(parts.rank(lhs)), dot.lhs_contract)),
        (rhs, (dot.rhs_batch, dot.rhs_free(parts.rank(rhs)), dot.rhs_contract)),
    )
    return all(parts.can_merge(slot, axes) for slot, several in groups for axes in several)


@dataclass(frozen=True, slots=True)
class MatrixOperand:
    """The ops that bring an operand to canonical form, and its contracted axis there."""

    transpose: Transpose
    reshape: Reshape
    contract: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatrixForm:
    """The ops that replace a contraction."""

    lhs: MatrixOperand
    rhs: MatrixOperand
    dot: DotGeneral
    result: Reshape

    def emit(self, at: Rewriter, operands: tuple[int, ...]) -> int:
        """The value of the contraction; `fold` drops transposes and reshapes that do nothing."""
        matrices = [
            at.emit(side.reshape, at.emit(side.transpose, operand))
            for side, operand in zip((self.lhs, self.rhs), operands, strict=True)
        ]
        (value,) = at.emit_all(self.dot, *matrices)
        return at.emit(self.result, value)


def matrix_form(dot: DotGeneral, lhs: TensorMeta, rhs: TensorMeta) -> MatrixForm | None:
    """The canonical form; None if the contraction already has it, or cannot be brought to it."""
    left = (dot.lhs_batch, dot.lhs_free(lhs.rank), dot.lhs_contract)
    right = (dot.rhs_batch, dot.rhs_free(rhs.rank), dot.rhs_contract)
    one_batch = _are_constant(lhs, dot.lhs_batch) and _are_constant(rhs, dot.rhs_batch)
    if _is_canonical(*left, one_batch) and _is_canonical(*right, one_batch):
        return None
    if not (_can_merge(lhs, *left) and _can_merge(rhs, *right)):
        return None
    left_form = _operand(lhs, *left, one_batch, contract_last=True)
    right_form = _operand(rhs, *right, one_batch, contract_last=False)
    batch = tuple(range(min(len(dot.lhs_batch), 1) if one_batch else len(dot.lhs_batch)))
    canonical = DotGeneral(left_form.contract, right_form.contract, batch, batch)
    return MatrixForm(
        left_form, right_form, canonical, Reshape(dot.infer(lhs, rhs).exact_shape(dot.name))
    )


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


def _operand(
    meta: TensorMeta,
    batch: tuple[int, ...],
    free: tuple[int, ...],
    contract: tuple[int, ...],
    one_batch: bool,
    *,
    contract_last: bool,
) -> MatrixOperand:
    """The operand with its groups of axes merged."""
    contracted_last, contracted_first = (*batch, *free, *contract), (*batch, *contract, *free)
    as_is = tuple(range(meta.rank))
    if as_is in (contracted_last, contracted_first):
        contract_last = contracted_last == as_is if contract_last else contracted_first != as_is
    order = contracted_last if contract_last else contracted_first
    sizes = meta.exact_shape("dot_decomposer", "operand")
    groups = [batch] if one_batch else [(axis,) for axis in batch]
    groups += [free, contract] if contract_last else [contract, free]
    groups = [group for group in groups if group]
    shape = tuple(product(sizes[axis] for axis in group) for group in groups)
    contracted = (groups.index(contract),) if contract else ()
    return MatrixOperand(Transpose(order), Reshape(shape), contracted)
