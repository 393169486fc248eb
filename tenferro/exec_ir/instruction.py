"""One op on slots."""

from __future__ import annotations

from collections.abc import Container

from tenferro.computegraph import statically_frozen
from tenferro.exec_ir.op import ExecOp
from tenferro.shape import Dim, DType, ShapeExtent, TensorMeta


@statically_frozen
class ExecInstruction:
    """One op on slots.

    Attributes:
        op: what to do.
        input_slots: the operands.
        output_slots: where the results go; each slot of a program is written once.
        output_metas: dtype and extents of each output.
        last_use: for each operand, whether no later instruction and no output reads it.
        site: where the op was first recorded, `user.py:12`.
    """

    op: ExecOp
    input_slots: tuple[int, ...]
    output_slots: tuple[int, ...]
    output_metas: tuple[TensorMeta, ...]
    last_use: tuple[bool, ...] = ()
    site: str | None = None

    @property
    def dtype(self) -> DType:
        """Dtype of the first output, representative for single-output ops."""
        return self.output_metas[0].dtype

    @property
    def output_dtypes(self) -> tuple[DType, ...]:
        """Dtype of each output."""
        return tuple(meta.dtype for meta in self.output_metas)

    @property
    def output_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """For each output the sizes of its axes, or their upper bounds where not exact."""
        return tuple(meta.bound_shape(self.op.name, "output") for meta in self.output_metas)

    @property
    def output_extents(self) -> tuple[tuple[ShapeExtent, ...], ...]:
        """For each output the extent of each axis, with its guarantee."""
        return tuple(meta.extents for meta in self.output_metas)

    def computes_like(self, other: ExecInstruction) -> bool:
        """Whether op, slots and types are the same; where it was recorded does not matter."""
        return (
            self.input_slots == other.input_slots
            and self.output_slots == other.output_slots
            and self.op == other.op
            and self.output_metas == other.output_metas
        )

    def computing(self, slots: Container[int], operands: bool = False) -> ExecInstruction:
        """The instruction without results that are not among `slots`, as far as its op can.

        Operands that it then does not read are left out too; if `operands`, also where all results
        are among `slots`.
        """
        live = tuple([slot in slots for slot in self.output_slots])
        pruned = None if all(live) and not operands else self.op.pruned(live)
        if pruned is None:
            return self
        return ExecInstruction(
            pruned.op,
            tuple([self.input_slots[position] for position in pruned.operands]),
            tuple([self.output_slots[position] for position in pruned.outputs]),
            tuple([self.output_metas[position] for position in pruned.outputs]),
            (),
            self.site,
        )

    def __str__(self) -> str:
        results = ", ".join(
            f"%{slot}: {meta}"
            for slot, meta in zip(self.output_slots, self.output_metas, strict=True)
        )
        uses = self.last_use or (False,) * len(self.input_slots)
        operands = ", ".join(
            f"%{slot}!" if last else f"%{slot}"
            for slot, last in zip(self.input_slots, uses, strict=True)
        )
        applied = f"{self.op} {operands}" if operands else str(self.op)
        comment = "" if self.site is None else f"  # {self.site}"
        return f"{results} = {applied}{comment}"
