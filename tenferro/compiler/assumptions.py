"""The guards of a program: the equalities of sizes that its ops assume."""

from __future__ import annotations

from collections.abc import Iterable

from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import AssumeSize
from tenferro.shape import Guard, TensorMeta, leaves


def guards_of(program: ExecProgram) -> tuple[Guard, ...]:
    """The equalities of sizes that the program assumes, each once, in order.

    The reason names the op that needs the sizes to be equal, its operands and where it was written.

    >>> from tenferro.compiler.text import parse
    >>> text = '''exec_program(%0: f64[n], %1: f64[m]) {
    ...   %2: f64[m] = assume_size[axis=0, size=m] %0
    ...   %3: f64[m] = add %2, %1  # user.py:12
    ...   return %3
    ... }'''
    >>> [str(guard.reason) for guard in guards_of(parse(text))]
    ['add: operands have types f64[n] and f64[m] (user.py:12)']
    """
    if not program.has_op(AssumeSize):
        return ()
    metas = program.slot_metas()
    makers = program.makers()
    readers: dict[int, ExecInstruction] = {}
    for step in reversed(program.instructions):
        readers.update(dict.fromkeys(step.input_slots, step))
    guards: dict[tuple[str, str], Guard] = {}
    for step in program.steps_of(AssumeSize):
        assert isinstance(step.op, AssumeSize)
        reason = _reason(step, readers, makers, metas)
        for guard in step.op.assumptions([_meta(metas, step.input_slots[0])], reason):
            if guard.left != guard.right:
                guards.setdefault(guard.sides, guard)
    return tuple(guards.values())


def all_guards(program: ExecProgram, assumed: Iterable[Guard]) -> tuple[Guard, ...]:
    """The guards of the program and what was assumed while tracing, each pair of sizes once.

    What was assumed of sizes that no input of the program has cannot be checked, and is left out:
    the program does not depend on them.
    """
    guards = {guard.sides: guard for guard in guards_of(program)}
    symbols = program.symbols()
    for guard in assumed:
        if guard.left != guard.right and leaves(guard.left) | leaves(guard.right) <= symbols:
            guards.setdefault(guard.sides, guard)
    return tuple(guards.values())


def _reason(
    step: ExecInstruction,
    readers: dict[int, ExecInstruction],
    makers: dict[int, ExecInstruction],
    metas: list[TensorMeta | None],
) -> str:
    """The op that needs the sizes to be equal, its operands and where it was written."""
    reader = step
    while _only_fits(reader) and reader.output_slots[0] in readers:
        reader = readers[reader.output_slots[0]]
    types = " and ".join(str(_meta(metas, _source(slot, makers))) for slot in reader.input_slots)
    site = "" if reader.site is None else f" ({reader.site})"
    return f"{reader.op.family or reader.op.name}: operands have types {types}{site}"


def _source(slot: int, makers: dict[int, ExecInstruction]) -> int:
    """The value before ops adapted it to the op that reads it."""
    while slot in makers and _only_fits(makers[slot]):
        slot = makers[slot].input_slots[0]
    return slot


def _only_fits(step: ExecInstruction) -> bool:
    """Whether the op only adapts a value to the op that reads it."""
    return isinstance(step.op, AssumeSize) or step.op.repeats


def _meta(metas: list[TensorMeta | None], slot: int) -> TensorMeta:
    meta = metas[slot]
    assert meta is not None, f"%{slot} is not written"
    return meta
