"""Ops that only these passes create: complex values stored as real ones, and barriers.

A complex value is *held as parts* if it is stored as a real one with an additional last axis of
size 2, for the real and the imaginary part.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from tenferro.control import VOCABULARY
from tenferro.exec_ir import Array, ExecInstruction, ExecOp, ExecProgram, Rewriter, payload
from tenferro.shape import DType, TensorMeta, as_dtype, make_meta


@payload
class Split(ExecOp, name="xla_split"):
    """A complex value as its parts: `c128[m,n]` becomes `f64[m,n,2]`."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        """One axis more."""
        return make_meta(part_dtype(x.dtype), (*known_shape(x), 2))

    def numpy(self, x: Array) -> Array:
        """The parts stacked."""
        return np.stack([x.real, x.imag], axis=-1)


@payload
class Join(ExecOp, name="xla_join"):
    """A complex value from its parts."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        """One axis less."""
        return make_meta(np.result_type(x.dtype, np.complex64), known_shape(x)[:-1])

    def numpy(self, x: Array) -> Array:
        """Real part plus i times the imaginary part."""
        return np.asarray(x[..., 0] + 1j * x[..., 1]).astype(np.result_type(x, np.complex64))


@payload
class Factor(ExecOp, name="xla_factor"):
    """The right operand of a real product that replaces a complex one.

    Each number a + bi of a matrix, complex or held as parts, becomes the block [[a, b], [-b, a]].
    Its rows lie along `contract` and its columns along `free`; both sizes are doubled. If `free` is
    -1, the columns are a new last axis. The product of a row of parts and the result is a row of
    parts.
    """

    contract: int
    free: int = -1

    def infer(self, x: TensorMeta) -> TensorMeta:
        """Both axes doubled."""
        shape = list(known_shape(x) if x.dtype.kind == "c" else known_shape(x)[:-1])
        shape[self.contract] *= 2
        if self.free < 0:
            shape.append(2)
        else:
            shape[self.free] *= 2
        return make_meta(part_dtype(x.dtype), tuple(shape))

    def numpy(self, x: Array) -> Array:
        """A Kronecker product of each part with its block, added."""
        re, im = (x.real, x.imag) if x.dtype.kind == "c" else (x[..., 0], x[..., 1])
        if self.free < 0:
            re, im = re[..., None], im[..., None]
        rank = re.ndim
        free = rank - 1 if self.free < 0 else self.free
        block = np.ones(rank, int)
        block[self.contract] = block[free] = 2
        ones = np.array([[1, 0], [0, 1]], re.dtype)
        turned = np.array([[0, 1], [-1, 0]], re.dtype)
        if self.contract > free:
            ones, turned = ones.T, turned.T
        return np.asarray(np.kron(re, ones.reshape(block)) + np.kron(im, turned.reshape(block)))


@payload
class Kept(ExecOp, name="xla_kept"):
    """The value itself, which XLA writes to memory before it reads it."""

    pointwise = True
    view = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The same type."""
        return x

    def numpy(self, x: Array) -> Array:
        """The same array."""
        return x


@payload
class Stored(ExecOp, name="xla_stored"):
    """The value itself, which XLA computes once and does not compute again where it is read."""

    pointwise = True

    @property
    def inlined(self) -> bool:
        """Not where it is read."""
        return False

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The same type."""
        return x

    def numpy(self, x: Array) -> Array:
        """The same array."""
        return x


OPS = {**VOCABULARY, **{op.name: op for op in (Split, Join, Factor, Kept, Stored)}}
"""The ops of programs after these passes, by name, for `parse_exec`."""


def with_stored(program: ExecProgram, slots: Container[int]) -> ExecProgram:
    """The program with a `Stored` after each step whose first result is one of the slots."""
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
        if step.output_slots[0] not in slots:
            return None
        return rewriter.emit_all(Stored(), *rewriter.emit_all(step.op, *operands))

    return rewriter.run(rule)


def part_dtype(dtype: DType) -> DType:
    """The dtype of the parts."""
    return as_dtype(np.empty(0, dtype).real.dtype)


def known_shape(meta: TensorMeta) -> tuple[int, ...]:
    """The shape of a value of constant extents."""
    shape = meta.static_shape
    assert shape is not None, f"{meta} has an extent that is not constant"
    return shape
