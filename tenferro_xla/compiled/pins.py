"""Which axes of a program are divided among devices, as the passes of the compiler ask it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jax.sharding import NamedSharding

from tenferro.compiler import Pinned
from tenferro.exec_ir import ExecProgram
from tenferro.shape import TensorMeta
from tenferro.values import Shardings
from tenferro_xla.places import OnMesh, Placement, entry_names


def pinned_by(program: ExecProgram, placement: Placement, shardings: Shardings) -> Pinned | None:
    """The divided axes of a program on a mesh; None if all of it is whole, or on one device."""
    if not isinstance(placement, OnMesh):
        return None
    inputs = _parts(program.input_metas, shardings.inputs)
    outputs = _parts(program.output_metas, shardings.outputs)
    divided = any(count != 1 for counts in (*inputs, *outputs) for count in counts)
    programs = list(program.walk())
    if not divided and not any(op.divides for each in programs for op in each.ops()):
        return None
    return Pinned(inputs, outputs, tuple(placement.mesh.shape.items()))


def _parts(
    metas: Sequence[TensorMeta], shardings: Sequence[NamedSharding | None]
) -> tuple[tuple[int, ...], ...]:
    """Into how many parts each axis is divided; what is inferred counts as whole."""
    given = (*shardings, *(None,) * (len(metas) - len(shardings)))
    return tuple([_counts(meta.rank, each) for meta, each in zip(metas, given, strict=True)])


def _counts(rank: int, sharding: NamedSharding | None) -> tuple[int, ...]:
    if sharding is None:
        return (1,) * rank
    sizes = sharding.mesh.shape
    counts = [math.prod(sizes[name] for name in entry_names(entry)) for entry in sharding.spec]
    return (*counts, *(1,) * (rank - len(counts)))
