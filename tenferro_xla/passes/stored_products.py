"""Products of many factors, which XLA must not compute again for each element that repeats them."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler import Pass
from tenferro.exec_ir import ExecProgram
from tenferro.ops import BroadcastInDim
from tenferro_xla.passes.parts import with_stored

MANY = 8
"""Operations for an element from which storing it costs less than computing it again."""

LARGE = 1 << 20
"""Elements of a result below which what XLA computes again takes less than another kernel."""


@dataclass(frozen=True)
class StoredProducts(Pass):
    """Stores what many elementwise operations compute before a large value repeats it.

    XLA computes elementwise operations where their results are read. A network of outer products
    becomes one kernel for each of its readers that way, and the kernel computes every factor for
    every element of the result.
    """

    name = "stored_products"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Stored` after each value that it stores."""
        kept = _repeated_products(program)
        return with_stored(program, kept) if kept else program


def _repeated_products(program: ExecProgram) -> set[int]:
    """The slots of what is stored."""
    kept: set[int] = set()
    work: dict[int, int] = {}
    sizes = {
        slot: meta.known_size for slot, meta in enumerate(program.slot_metas()) if meta is not None
    }
    for step in program.instructions:
        if not step.op.inlined or len(step.output_slots) != 1 or step.dtype.kind not in "fc":
            continue
        (slot,) = step.output_slots
        for source in step.input_slots:
            grows = isinstance(step.op, BroadcastInDim) and sizes[slot] >= 2 * sizes[source]
            if grows and sizes[slot] >= LARGE and work.get(source, 0) >= MANY:
                kept.add(source)
                work[source] = 0
        own = 1 if step.op.pointwise and not step.op.view else 0
        work[slot] = min(LARGE, own + sum(work.get(source, 0) for source in step.input_slots))
    return kept
