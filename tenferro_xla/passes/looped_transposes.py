"""Transposes for which XLA's own kernel is slow, computed in a loop over elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.compiler import Needs, Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import Transpose
from tenferro_xla.passes.parts import Looped

LEAST = 1 << 16
"""Numbers that a transpose moves for which the loop is worth its start."""

DIVISOR = 48
"""The product of the sizes that are divided by, above which the loop is faster."""


@dataclass(frozen=True)
class LoopedTransposes(Pass):
    """Computes transposes of several axes in a loop over elements, two to ten times as fast.

    XLA has a kernel for transposes that divides by the sizes of axes to find where each number
    comes from, unless they are powers of two. A transpose together with an operation on each
    element it computes in a loop that does not divide. So each large transpose that divides by
    large sizes is followed by an operation that changes nothing.
    """

    name = "looped_transposes"
    needs = Needs.CONSTANT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with `Looped` after each such transpose."""
        if not any(map(_is_slow, program.steps_of(Transpose))):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            if not _is_slow(step):
                return None
            return rewriter.emit_all(Looped(), *rewriter.emit_all(step.op, *operands))

        return rewriter.run(rule)


def _is_slow(step: ExecInstruction) -> bool:
    """Whether XLA's kernel would divide by large sizes for each number."""
    shape = step.output_metas[0].static_shape
    if not isinstance(step.op, Transpose) or shape is None or step.dtype.kind not in "fc":
        return False
    if math.prod(shape) < LEAST:
        return False
    runs = _runs(shape, step.op.perm)
    divisor = math.prod(size for size in runs[1:] if size & (size - 1))
    return len(runs) > 2 and divisor > DIVISOR


def _runs(shape: Sequence[int], perm: Sequence[int]) -> list[int]:
    """The sizes of the runs of axes that stay together; `shape` is that of the result."""
    moved = [(axis, size) for axis, size in zip(perm, shape, strict=True) if size > 1]
    after = dict(itertools.pairwise(sorted(axis for axis, _ in moved)))
    sizes = [size for _, size in moved[:1]]
    for (one, _), (other, size) in itertools.pairwise(moved):
        if after.get(one) == other:
            sizes[-1] *= size
        else:
            sizes.append(size)
    return sizes
