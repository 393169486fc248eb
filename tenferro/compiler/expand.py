"""Extension ops as standard ops, for executors that run no extension runtimes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from tenferro.chainrules import PrimitiveOp
from tenferro.compiler.slot_emitter import SlotContext, SlotEmitter
from tenferro.contract import Extension
from tenferro.errors import InvalidConfigError, TenferroError, UnsupportedExtensionError
from tenferro.exec_ir import ExecInstruction, ExecProgram


def expand_extensions(program: ExecProgram, keep: Container[str] = ()) -> ExecProgram:
    """The program with each extension op replaced by what its `lower_to_standard_ops` emits.

    Ops of the families in `keep` stay: the executor lowers them itself. Nothing is ever executed
    to get there.

    Raises:
        UnsupportedExtensionError: a family has no standard-op form for these types.
        InvalidConfigError: the form that it gives is not of the types that it infers.
    """
    if not any(_expandable(step, keep) for step in program.instructions):
        return program
    emitter = SlotEmitter(program)
    for step in program.instructions:
        operands = emitter.begin(step)
        if _expandable(step, keep):
            emitter.define(step, *_standard_ops(step, operands, emitter))
        else:
            emitter.keep(step, operands)
    return emitter.build()


class StandardOps:
    """The builder that an extension emits its standard ops into. It takes no extension ops."""

    def __init__(self, emitter: SlotEmitter, family_id: str) -> None:
        self._emitter = emitter
        self._family_id = family_id

    @property
    def ctx(self) -> SlotContext:
        """The types of values."""
        return self._emitter.ctx

    def emit(self, op: PrimitiveOp, *operands: int) -> int:
        """Output 0 of `op`."""
        self._check(op)
        return self._emitter.emit(op, *operands)

    def emit_all(self, op: PrimitiveOp, *operands: int) -> tuple[int, ...]:
        """All outputs of `op`."""
        self._check(op)
        return self._emitter.emit_all(op, *operands)

    def producer(self, value: int) -> tuple[Any, tuple[int, ...]] | None:
        """The op and operands of a single-output op."""
        return self._emitter.producer(value)

    def order(self, value: int) -> int:
        """The number of the slot."""
        return self._emitter.order(value)

    def _check(self, op: PrimitiveOp) -> None:
        if isinstance(op, Extension):
            raise InvalidConfigError(
                self._family_id,
                f"family_id={self._family_id}: lower_to_standard_ops emitted an op of "
                f"{op.family_id}; it may emit standard ops only",
            )


def _expandable(step: ExecInstruction, keep: Container[str]) -> bool:
    return isinstance(step.op, Extension) and step.op.family_id not in keep


def _standard_ops(
    step: ExecInstruction, operands: tuple[int, ...], emitter: SlotEmitter
) -> Sequence[int]:
    op = step.op
    assert isinstance(op, Extension)
    family = op.family_id
    metas = [emitter.ctx.meta(slot) for slot in operands]
    shapes = [meta.exact_shape(family, f"input {i}") for i, meta in enumerate(metas)]
    types = ", ".join(str(meta) for meta in metas)
    try:
        found = op.op.lower_to_standard_ops(
            StandardOps(emitter, family), operands, [meta.dtype for meta in metas], shapes
        )
    except TenferroError as error:
        error.add_note(f"in lower_to_standard_ops of {family}")
        raise
    except Exception as error:
        raise InvalidConfigError(
            family,
            f"family_id={family}: lower_to_standard_ops failed on {types}: "
            f"{type(error).__name__}: {error}",
        ) from error
    if found is None:
        raise UnsupportedExtensionError(
            family,
            f"{family}: no lowering is registered on the executor, and the op has no standard-op "
            f"form for {types}; register one with executor.register_extension(...)",
        )
    if not isinstance(found, list | tuple) or not all(type(slot) is int for slot in found):
        raise InvalidConfigError(
            family,
            f"family_id={family}: lower_to_standard_ops returned {found!r}; return a list of "
            "values of the builder, one for each output",
        )
    made = [emitter.ctx.meta(slot) for slot in found]
    if made != list(step.output_metas):
        raise InvalidConfigError(
            family,
            f"family_id={family}: lower_to_standard_ops gives "
            f"{', '.join(str(meta) for meta in made) or 'nothing'}, but infer_output_meta says "
            f"{', '.join(str(meta) for meta in step.output_metas)}",
        )
    return found
