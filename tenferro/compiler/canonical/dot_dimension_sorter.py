"""Contracted axes in the order that needs the fewest transposes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import DotGeneral


@dataclass(frozen=True)
class DotDimensionSorter(Pass):
    """Sorts the contracted pairs of each `DotGeneral` by the axis of lhs, or by that of rhs.

    The sum does not depend on the order in which the pairs are listed, but the decomposer can merge
    contracted axes without a transpose only where they are listed as they lie. lhs decides, unless
    only the order of rhs makes a run. Works for any extents.
    """

    name = "dot_dimension_sorter"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with the pairs sorted."""
        if not program.has_op(DotGeneral):
            return program
        dots = set(program.ops_of(DotGeneral))
        in_order = {dot: better for dot in dots if (better := _sorted(dot)) is not None}
        if not in_order:
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            dot = in_order.get(step.op) if isinstance(step.op, DotGeneral) else None
            return None if dot is None else rewriter.emit_all(dot, *operands)

        return rewriter.run(rule)


def _sorted(dot: DotGeneral) -> DotGeneral | None:
    """The contraction with its pairs in order; None if they are."""
    if len(dot.lhs_contract) < 2:
        return None
    pairs = list(zip(dot.lhs_contract, dot.rhs_contract, strict=True))
    by_lhs = sorted(pairs)
    by_rhs = sorted(pairs, key=lambda pair: pair[1])
    chosen = by_rhs if _runs(by_rhs) > _runs(by_lhs) else by_lhs
    if chosen == pairs:
        return None
    return DotGeneral(
        tuple(left for left, _ in chosen),
        tuple(right for _, right in chosen),
        dot.lhs_batch,
        dot.rhs_batch,
    )


def _runs(pairs: Sequence[tuple[int, int]]) -> int:
    """The number of operands whose listed axes follow one another."""
    return sum(
        all(b == a + 1 for a, b in itertools.pairwise(axes))
        for axes in ([left for left, _ in pairs], [right for _, right in pairs])
    )
