"""The guards of a program: what its ops assume of sizes, found in the program itself."""

from __future__ import annotations

from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import AssumeSize
from tenferro.shape import Exact, Guard, TensorMeta


def guards_of(program: ExecProgram) -> tuple[Guard, ...]:
    """The equalities of sizes that the program assumes, each once, in order.

    The reason names the op that needs the sizes to be equal, its operands and where it was written.
    Nothing is collected while tracing: an assumption is an op, and goes wherever its value goes.

    >>> from tenferro.compiler.text import parse
    >>> text = '''exec_program(%0: f64[n], %1: f64[m]) {
    ...   %2: f64[m] = assume_size[axis=0, size=m] %0
    ...   %3: f64[m] = add %2, %1  # user.py:12
    ...   return %3
    ... }'''
    >>> [str(guard.reason) for guard in guards_of(parse(text))]
    ['add: operands have types f64[n] and f64[m] (user.py:12)']
    """
    assumed = [step for step in program.instructions if isinstance(step.op, AssumeSize)]
    if not assumed:
        return ()
    metas = program.slot_metas()
    makers = program.makers()
    readers: dict[int, ExecInstruction] = {}
    for step in reversed(program.instructions):
        readers.update(dict.fromkeys(step.input_slots, step))
    found: dict[tuple[str, str], Guard] = {}
    for step in assumed:
        assert isinstance(step.op, AssumeSize)
        have = _meta(metas, step.input_slots[0]).extents[step.op.axis]
        assert isinstance(have, Exact), "assume_size takes exact sizes only"
        if have.dim != step.op.size:
            pair = sorted((str(have.dim), str(step.op.size)))
            guard = Guard(have.dim, step.op.size, _reason(step, readers, makers, metas))
            found.setdefault((pair[0], pair[1]), guard)
    return tuple(found.values())


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
    return f"{reader.op.name}: operands have types {types}{site}"


def _source(slot: int, makers: dict[int, ExecInstruction]) -> int:
    """The value before it was made to fit."""
    while slot in makers and _only_fits(makers[slot]):
        slot = makers[slot].input_slots[0]
    return slot


def _only_fits(step: ExecInstruction) -> bool:
    """Whether array functions put the op between a value and the op for which it must fit."""
    return isinstance(step.op, AssumeSize) or step.op.repeats


def _meta(metas: list[TensorMeta | None], slot: int) -> TensorMeta:
    found = metas[slot]
    assert found is not None, f"%{slot} is not written"
    return found
