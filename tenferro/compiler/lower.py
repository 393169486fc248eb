"""Lowering: from ops on slots to ops on typed slots."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tenferro.computegraph import CompiledProgram
from tenferro.contract import Extension
from tenferro.errors import BindingError, TenferroError, UnsupportedExtensionError
from tenferro.exec_ir import ExecBuilder, ExecProgram
from tenferro.ops import StdTensorOp
from tenferro.shape import TensorMeta


def compile_std_to_exec(
    program: CompiledProgram[StdTensorOp],
    input_metas: Sequence[TensorMeta],
    families: Container[str] | None = None,
) -> ExecProgram:
    """The program with the type of every slot, before any pass.

    `input_metas` are the types of the program's inputs, in order. `families`, if given, are the
    extension families that whoever runs the program has.

    Raises:
        BindingError: the number of types is not the number of inputs.
        UnsupportedExtensionError: an extension op is of a family that is not among `families`.
        TenferroError: an op cannot take its operands; a note says where it was recorded.

    >>> from tenferro.computegraph import Instruction
    >>> from tenferro.ops import SIN
    >>> sine = CompiledProgram((Instruction(SIN, (0,), (1,), "user.py:12"),), (0,), (1,), 2)
    >>> print(compile_std_to_exec(sine, [TensorMeta.of("f64", ("n", 3))]))
    exec_program(%0: f64[n,3]) {
      %1: f64[n,3] = sine %0  # user.py:12
      return %1
    }
    """
    if len(input_metas) != len(program.input_slots):
        raise BindingError(
            f"lower: the program has {len(program.input_slots)} inputs, "
            f"got {len(input_metas)} types"
        )
    builder = ExecBuilder()
    slots = [-1] * program.n_slots
    for slot, meta in zip(program.input_slots, input_metas, strict=True):
        slots[slot] = builder.input(meta)
    metas = builder.metas
    for step in program.instructions:
        operands = tuple([slots[slot] for slot in step.inputs])
        try:
            if families is not None and isinstance(step.op, Extension):
                _require(step.op, families)
            inferred = step.op.infer_all([metas[slot] for slot in operands])
        except TenferroError as error:
            if step.site is not None:
                error.add_note(f"recorded at {step.site}")
            raise
        outputs = builder.add_inferred(step.op, operands, inferred, step.site)
        for slot, output in zip(step.outputs, outputs, strict=True):
            slots[slot] = output
    return builder.build([slots[slot] for slot in program.output_slots])


def _require(op: Extension, families: Container[str]) -> None:
    if op.family_id not in families:
        raise UnsupportedExtensionError(
            op.family_id,
            f"{op.family_id}: not registered; compile with the executor's families, after "
            "executor.register_extension(...)",
        )
