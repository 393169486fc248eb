"""Values that are compared with what a reduction found among them."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import Compare
from tenferro_xla.passes.parts import with_stored

Makers = dict[int, ExecInstruction]


@dataclass(frozen=True)
class StoredComparisons(Pass):
    """Stores a value that is compared with what a reduction made of it, such as `x == max(x)`.

    XLA computes elementwise operations where their results are read, so once for the reduction and
    once for the comparison. Where one of them is rounded in another way, since a product and a sum
    became one instruction there, no element is equal to the maximum, and the derivative of the
    maximum would be wrong. Inputs are read, and need no storing.
    """

    name = "stored_comparisons"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Stored` after each such value."""
        stored = _compared_with_reductions(program)
        return with_stored(program, stored) if stored else program


def _compared_with_reductions(program: ExecProgram) -> set[int]:
    """The slots of what is stored."""
    stored: set[int] = set()
    if not program.has_op(Compare):
        return stored
    makers, metas = program.makers(), program.slot_metas()
    for step in program.steps_of(Compare):
        meta = metas[step.input_slots[0]]
        if meta is None or meta.dtype.kind != "f":
            continue
        for slot, other in (step.input_slots, step.input_slots[::-1]):
            value = _moved(slot, makers)
            maker = makers.get(value)
            computed = maker is not None and maker.op.pointwise and maker.op.inlined
            if computed and value in _reduced(other, makers):
                stored.add(value)
    return stored


def _moved(slot: int, makers: Makers) -> int:
    """The value whose elements are those of a slot, in another order."""
    while (maker := makers.get(slot)) is not None and maker.op.moves:
        slot = maker.input_slots[0]
    return slot


def _reduced(slot: int, makers: Makers) -> set[int]:
    """What is read by the ops that XLA does not compute again, and that an operand follows from."""
    found: set[int] = set()
    waiting, seen = [slot], {slot}
    while waiting:
        maker = makers.get(waiting.pop())
        if maker is None:
            continue
        if not maker.op.inlined:
            found.update(_moved(source, makers) for source in maker.input_slots)
            continue
        new = [source for source in maker.input_slots if source not in seen]
        waiting += new
        seen.update(new)
    return found
