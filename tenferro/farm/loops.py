"""The loops of sliced networks as ops that a farm runs, and the passes that make them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.compiler import (
    DEFAULT_OPTIONS,
    SIMPLIFICATION,
    BindSizes,
    CheckpointInlining,
    ExpandFamilies,
    LaneJoining,
    OptimizerOptions,
    Pass,
    Settle,
    StopGradientRemoval,
    optimize,
    run_passes,
)
from tenferro.control import LaneSum
from tenferro.exec_ir import Array, ExecInstruction, ExecProgram, Rewriter, evaluate
from tenferro.families import SlicedNetwork
from tenferro.family import Extension, ExtensionOp, OutputMeta, family_id
from tenferro.ops import scalar
from tenferro.shape import INT64, Dim, DType, Leaf


@family_id(namespace="tenferro-farm", name="loop", version=1)
@dataclass(frozen=True)
class FarmLoop(ExtensionOp):
    """The sums over all rounds of a loop whose rounds do not depend on each other.

    It takes the operands of the loop and the number of rounds, an i64[].

    Attributes:
        part: the sums of some rounds: a program of the operands, the first round and the stop.
    """

    part: ExecProgram

    def payload(self) -> tuple[object, ...]:
        """The digest of the program."""
        return (self.part.digest,)

    @property
    def input_count(self) -> int:
        """The operands, and the number of rounds."""
        return len(self.part.input_slots) - 1

    @property
    def output_count(self) -> int:
        """The sums."""
        return len(self.part.output_slots)

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types that the program returns."""
        return [(meta.dtype, meta.static_shape or ()) for meta in self.part.output_metas]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """All rounds one after another."""
        *operands, total = inputs
        return evaluate(self.part, [*operands, np.zeros_like(total), total])


@dataclass(frozen=True)
class FarmedLoops(Pass):
    """Replaces each `LaneSum` by a `FarmLoop`."""

    name = "farmed_loops"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such ops."""
        if not program.has_op(LaneSum):
            return program
        at = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if not isinstance(step.op, LaneSum):
                return None
            loop, total = FarmLoop(optimize(step.op.part)), at.emit(scalar(step.op.total, INT64))
            return at.emit_all(Extension(loop), *operands, total)

        return at.run(rule)


@dataclass(frozen=True)
class _AllButSliced(Container[str]):
    """Families without that of sliced networks, whose loops a farm takes."""

    families: Container[str]

    def __contains__(self, family: object) -> bool:
        return family != SlicedNetwork.FAMILY_ID and family in self.families


def with_farm_loops(
    program: ExecProgram,
    families: Container[str] = (),
    sizes: Mapping[Leaf, Dim] | None = None,
    options: OptimizerOptions = DEFAULT_OPTIONS,
) -> ExecProgram:
    """A program for given sizes in which each loop of sliced networks is a `FarmLoop`.

    Loops that share work become one before, such as those of value and gradient. What is the same
    in all rounds stays in the loop: it is computed by those who compute parts.

    Args:
        program: a program.
        families: those that stay as they are; sliced networks stay only where data decide sizes.
        sizes: symbols and their sizes.
        options: those of the program.
    """
    passes = (BindSizes.of(sizes), ExpandFamilies(_AllButSliced(families)), Settle())
    ready = run_passes(program, [*passes, StopGradientRemoval(), CheckpointInlining()])
    if not any(part.has_op(LaneSum) for part in ready.walk()):
        return program
    return run_passes(ready, [*options.chosen([*SIMPLIFICATION, LaneJoining()]), FarmedLoops()])
