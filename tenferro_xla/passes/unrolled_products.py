"""Products of matrices with few terms, which are faster as sums of elementwise products."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tenferro.compiler import CPU, DeviceCosts, Needs, Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import DotGeneral
from tenferro.shape import DType
from tenferro_xla.passes.parts import Stored, Unrolled

TERMS = 8
"""Terms beyond which the library, or a real form of a complex product, is faster."""

RUNS = 100
"""Number of runs in which a sum has to gain what compiling its kernel takes."""

LEAST = 64
"""Multiplications of two real matrices below which XLA does not call the library for each."""

LIBRARY = 0.4
"""Time of each further matrix where XLA calls the library once for all, as a part of `matrix`."""

LAST = 0.2
"""The same where the contracted axis of the right operand comes last, in addition."""

REAL_TERM = 1.2e-10
"""Seconds for a multiplication and addition of elements."""

COMPLEX_TERM = 4e-10
"""The same for complex numbers."""

COMPLEX_MATRIX = 1e-7
"""Seconds for each matrix of a batch of small complex products, which XLA computes itself."""


@dataclass(frozen=True)
class Matrices:
    """The sizes of a batched product of matrices.

    Attributes:
        last: whether the contracted axis of the right operand comes last.
    """

    dtype: DType
    batch: int
    rows: int
    columns: int
    terms: int
    last: bool

    @property
    def numbers(self) -> int:
        """Number of elements of the result."""
        return self.batch * self.rows * self.columns

    def product(self, costs: DeviceCosts) -> float:
        """Seconds for the product as it is."""
        each = self.rows * self.columns * self.terms
        edges = costs.edges(self.rows, self.columns, self.terms)
        if self.dtype.kind == "c":
            seconds = self.batch * (each * costs.complex_multiply * edges + COMPLEX_MATRIX)
        elif min(self.rows, self.columns) == 1 or each < LEAST:
            return 0.0  # XLA computes it in a loop of its own
        else:
            part = 1.0 if each == LEAST else LIBRARY + LAST * self.last
            seconds = self.batch * (each * costs.multiply * edges + part * costs.matrix)
        return seconds * costs.scale(self.dtype)

    def unrolled(self, costs: DeviceCosts) -> float:
        """Seconds for the sum of elementwise products."""
        term = COMPLEX_TERM if self.dtype.kind == "c" else REAL_TERM
        arithmetic = self.numbers * self.terms * term * costs.scale(self.dtype)
        return costs.writing(self.dtype, self.numbers) + arithmetic


@dataclass(frozen=True)
class UnrolledProducts(Pass):
    """Computes products of small matrices with few terms as sums of elementwise products.

    XLA calls a library for a batched product, which takes some hundred nanoseconds for each matrix
    of it, however small. One kernel of elementwise products takes a few. XLA compiles that kernel,
    so it has to gain that time in `RUNS` runs. The result is stored, since XLA would compute it
    again wherever elementwise operations read it.
    """

    costs: DeviceCosts = CPU

    name = "unrolled_products"
    needs = Needs.CONSTANT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with an `Unrolled` and a `Stored` in place of such products."""
        types = program.slot_metas()
        found: dict[int, Unrolled] = {}
        for step in program.steps_of(DotGeneral):
            metas = [types[slot] for slot in step.input_slots]
            lhs, rhs = (None if meta is None else meta.static_shape for meta in metas)
            unrolled = None if lhs is None or rhs is None else self._unrolled(step, lhs, rhs)
            if unrolled is not None:
                found[step.output_slots[0]] = unrolled
        if not found:
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            unrolled = found.get(step.output_slots[0]) if step.output_slots else None
            if unrolled is None:
                return None
            return rewriter.emit_all(Stored(), *rewriter.emit_all(unrolled, *operands))

        return rewriter.run(rule)

    def _unrolled(
        self, step: ExecInstruction, lhs: tuple[int, ...], rhs: tuple[int, ...]
    ) -> Unrolled | None:
        """The op that takes the place of a product; None if that is faster."""
        dot = step.op
        assert isinstance(dot, DotGeneral)
        count = len(dot.lhs_batch)
        leading = tuple(range(count))
        matrices = len(lhs) == len(rhs) == count + 2 and len(dot.lhs_contract) == 1
        if not matrices or dot.lhs_batch != leading or dot.rhs_batch != leading:
            return None
        (left,), (right,) = dot.lhs_contract, dot.rhs_contract
        free = lhs[dot.lhs_free(len(lhs))[0]], rhs[dot.rhs_free(len(rhs))[0]]
        sizes = Matrices(step.dtype, math.prod(lhs[:count]), *free, lhs[left], right > count)
        if step.dtype.kind not in "fc" or not 0 < sizes.terms <= TERMS:
            return None
        gain = sizes.product(self.costs) - sizes.unrolled(self.costs)
        if RUNS * gain <= self.costs.compiling:
            return None
        return Unrolled(left - count, right - count, count)
