"""Barriers where XLA merges what is wrong or slow: the passes, their ops, and the lowering.

A complex value is *stored as parts* if it becomes a real one with an additional last axis of
size 2, for the real and the imaginary part.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jax import Array, lax

from tenferro.compiler import Pass
from tenferro.ir import (
    DType,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    NumpyArray,
    Rewriter,
    TensorMeta,
    as_dtype,
    dtype_kind,
    float_limits,
    make_meta,
    payload,
)
from tenferro.ops import (
    Analytic,
    Atan2,
    BroadcastInDim,
    Compare,
    Div,
    DotGeneral,
    Gather,
    Pad,
    Pow,
    ReduceSum,
    Rem,
    Scatter,
    ScatterReduce,
    Transpose,
)
from tenferro.ops.control_flow import VOCABULARY
from tenferro_xla.lowering import lower
from tenferro_xla.lowering.windows import stored

__all__ = [
    "OPS",
    "Barrier",
    "DivideByReal",
    "Factor",
    "Fuse",
    "FusedParts",
    "FusedQuotients",
    "Join",
    "Materialize",
    "MaterializedComparisons",
    "MaterializedFunctions",
    "MaterializedIndices",
    "MaterializedPaddings",
    "MaterializedProducts",
    "Split",
    "TransposeBarriers",
]


# Ops that only these passes create: complex values stored as real ones, and barriers.


@payload
class Split(ExecOp, name="xla_split"):
    """A complex value as its parts: `c128[m,n]` becomes `f64[m,n,2]`."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        """One axis more."""
        return make_meta(part_dtype(x.dtype), (*known_shape(x), 2))

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """The parts stacked."""
        return np.stack([x.real, x.imag], axis=-1)


@payload
class Join(ExecOp, name="xla_join"):
    """A complex value from its parts."""

    def infer(self, x: TensorMeta) -> TensorMeta:
        """One axis less."""
        return make_meta(np.result_type(x.dtype, np.complex64), known_shape(x)[:-1])

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """Real part plus i times the imaginary part."""
        return np.asarray(x[..., 0] + 1j * x[..., 1]).astype(np.result_type(x, np.complex64))


@payload
class Factor(ExecOp, name="xla_factor"):
    """The right operand of a real product that replaces a complex one.

    Each number a + bi of a matrix, complex or stored as parts, becomes the block [[a, b], [-b, a]].
    Its rows lie along `contract` and its columns along `free`; both sizes are doubled. If `free` is
    -1, the columns are a new last axis. The product of a row of parts and the result is a row of
    parts.
    """

    contract: int
    free: int = -1

    def infer(self, x: TensorMeta) -> TensorMeta:
        """Both axes doubled."""
        shape = list(known_shape(x) if dtype_kind(x.dtype) == "c" else known_shape(x)[:-1])
        shape[self.contract] *= 2
        if self.free < 0:
            shape.append(2)
        else:
            shape[self.free] *= 2
        return make_meta(part_dtype(x.dtype), tuple(shape))

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """A Kronecker product of each part with its block, added."""
        re, im = (x.real, x.imag) if dtype_kind(x.dtype) == "c" else (x[..., 0], x[..., 1])
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
class DivideByReal(ExecOp, name="xla_divided"):
    """A complex number x divided by a real one y, given a scale s and the inverse of ys.

    It is x divided by the complex number of the parts y and 0, or by its conjugate, also where that
    makes NaN or a zero with a sign.
    """

    conjugated: bool = False

    n_inputs = 3
    pointwise = True

    def infer(self, x: TensorMeta, scale: TensorMeta, inverse: TensorMeta) -> TensorMeta:
        """The type of the complex numbers."""
        return x

    def numpy(self, x: NumpyArray, scale: NumpyArray, inverse: NumpyArray) -> NumpyArray:
        """A complex quotient."""
        divisor = np.reciprocal(inverse).astype(x.dtype)
        return np.asarray(np.divide(x * scale, divisor.conj() if self.conjugated else divisor))


@payload
class Barrier(ExecOp, name="xla_kept"):
    """The value itself, which XLA writes to memory before it reads it."""

    pointwise = True
    view = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The same type."""
        return x

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """The same array."""
        return x


@payload
class Materialize(Barrier, name="xla_stored"):
    """The value itself, which XLA computes once and does not compute again where it is read."""

    view = False

    @property
    def inlined(self) -> bool:
        """Not where it is read."""
        return False


@payload
class Fuse(ExecOp, name="xla_fused"):
    """The value itself, which XLA may compute in the kernel that reads it several times.

    XLA rounds it to the precision that it has, which changes nothing.
    """

    pointwise = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The same type."""
        return x

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """The same array."""
        return x


OPS = {
    **VOCABULARY,
    **{op.name: op for op in (Split, Join, Factor, DivideByReal, Barrier, Materialize, Fuse)},
}
"""The ops of programs after these passes, by name, for `parse_exec`."""


def followed(program: ExecProgram, slots: Container[int], by: ExecOp) -> ExecProgram:
    """The program with an op after each step whose first result is one of the slots."""
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
        if step.output_slots[0] not in slots:
            return None
        return rewriter.emit_all(by, *rewriter.emit_all(step.op, *operands))

    return rewriter.run(rule)


def part_dtype(dtype: DType) -> DType:
    """The dtype of the parts."""
    return as_dtype(np.empty(0, dtype).real.dtype)


def known_shape(meta: TensorMeta) -> tuple[int, ...]:
    """The shape of a value of constant extents."""
    shape = meta.static_shape
    assert shape is not None, f"{meta} has an extent that is not constant"
    return shape


# Transposes next to products, which XLA must not merge into the products.


@dataclass(frozen=True)
class TransposeBarriers(Pass):
    """Prevents XLA from merging the transpose of a left operand, or of a result, into the product.

    A `Transpose` in front of a `DotGeneral` has been put there for speed: XLA's product of 64 bits
    takes longer if the contracted axis is not last in the left operand. XLA would remove the
    transpose, since it assumes that a transpose is more expensive. The transpose of a result stays
    where the product with its sides exchanged would be such a slow one, or would have few rows on
    the left and a large operand, with its contracted axis last, on the right.

    In the body of a loop the transpose of an input of the body is left to XLA: it moves that of a
    value that no iteration changes in front of the loop, where it would hold the barrier's copy
    too.
    """

    looks_for = (Transpose,)
    enters_bodies = False  # `run` enters them, since their inputs are treated in another way

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a barrier between each such transpose and its product."""
        inside = program.map_bodies(lambda body: _with_barriers(body, frozenset(body.input_slots)))
        return _with_barriers(inside, frozenset())


def _with_barriers(program: ExecProgram, skipped: frozenset[int]) -> ExecProgram:
    """The program with barriers, except after transposes of the slots in `skipped`."""
    if not (program.has_op(DotGeneral) and program.has_op(Transpose)):
        return program
    makers, types = program.makers(), program.slot_metas()

    def needs_barrier(step: ExecInstruction) -> bool:
        if _exchanges_slowly(step, makers, types):
            return True
        if not _is_undone(step, makers):
            return False
        return skipped.isdisjoint(makers[step.input_slots[0]].input_slots)

    if not any(map(needs_barrier, program.instructions)):
        return program
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
        if not needs_barrier(step):
            return None
        (first,) = rewriter.emit_all(Barrier(), operands[0])
        return rewriter.emit_all(step.op, first, *operands[1:])

    return rewriter.run(rule)


def _is_undone(step: ExecInstruction, makers: Mapping[int, ExecInstruction]) -> bool:
    """Whether the left operand is a transpose that XLA would merge into the product."""
    op = step.op
    if not isinstance(op, DotGeneral) or step.dtype.kind != "f" or step.dtype.itemsize < 8:
        return False  # a complex product, or one of 32 bits, takes about the same time either way
    source = makers.get(step.input_slots[0])
    if source is None or not isinstance(source.op, Transpose):
        return False
    rank = len(source.op.perm)
    free = op.lhs_free(rank)
    return bool(free) and op.lhs_contract == (rank - 1,) and source.op.perm[-1] < rank - 1


FEW_ROWS = 64
"""Rows of a left side below which a product takes longer than with its sides exchanged."""

MANY_TERMS = 4
"""How many terms for each of the few rows are worth a transpose of the result."""

LONG_SIDE = 1 << 15
"""Numbers of the longer side below which it is not worth a kernel."""


def _exchanges_slowly(
    step: ExecInstruction, makers: Mapping[int, ExecInstruction], types: Sequence[TensorMeta | None]
) -> bool:
    """Whether this is a transpose for which XLA would exchange the sides of a product, and slow it.

    It would where the contracted axis of the right side comes first, and where the left side is
    long and the right one short: XLA then reads the long side against its order in memory.
    """
    if not isinstance(step.op, Transpose) or dtype_kind(step.dtype) != "f":
        return False
    source = makers.get(step.input_slots[0])
    if source is None or not isinstance(source.op, DotGeneral):
        return False
    dot, rank = source.op, len(step.op.perm)
    count = len(dot.lhs_batch)
    exchanged = (*range(count), *range(count + 1, rank), count)
    matrices = rank == count + 2 and len(dot.rhs_contract) == 1
    if not matrices or step.op.perm != exchanged:
        return False
    if dot.rhs_contract[0] == count:
        return True
    left = types[source.input_slots[0]]
    shape = None if left is None else left.static_shape
    product = source.output_metas[0].static_shape
    if shape is None or product is None or dot.lhs_contract != (rank - 1,):
        return False
    columns, terms = product[-1], shape[-1]
    is_short = columns < FEW_ROWS and terms >= MANY_TERMS * columns
    return is_short and shape[-2] * terms >= LONG_SIDE


# Products of many factors, which XLA must not compute again for each element that repeats them.

MANY = 8
"""Operations for an element from which storing it costs less than computing it again."""

LARGE = 1 << 20
"""Elements of a result below which what XLA computes again takes less than another kernel."""


@dataclass(frozen=True)
class MaterializedProducts(Pass):
    """Stores what many elementwise operations compute before a large value repeats it.

    XLA computes elementwise operations where their results are read. A network of outer products
    becomes one kernel for each of its readers that way, and the kernel computes every factor for
    every element of the result.
    """

    looks_for = (BroadcastInDim,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Materialize` after each value that it stores."""
        slots = _repeated_products(program)
        return followed(program, slots, Materialize()) if slots else program


def _repeated_products(program: ExecProgram) -> set[int]:
    """The slots of what is stored."""
    stored: set[int] = set()
    work: dict[int, int] = {}
    sizes = {
        slot: meta.known_size for slot, meta in enumerate(program.slot_metas()) if meta is not None
    }
    for step in program.instructions:
        if not step.op.inlined or len(step.output_slots) != 1 or dtype_kind(step.dtype) not in "fc":
            continue
        (slot,) = step.output_slots
        for source in step.input_slots:
            grows = isinstance(step.op, BroadcastInDim) and sizes[slot] >= 2 * sizes[source]
            if grows and sizes[slot] >= LARGE and work.get(source, 0) >= MANY:
                stored.add(source)
                work[source] = 0
        own = 1 if step.op.pointwise and not step.op.view else 0
        work[slot] = min(LARGE, own + sum(work.get(source, 0) for source in step.input_slots))
    return stored


# Indices that take many operations, which XLA must not compute again for each reader.

FEW_INDICES = 1 << 10
"""Indices below which another kernel takes longer than to compute them again."""


@dataclass(frozen=True)
class MaterializedIndices(Pass):
    """Stores indices that many operations compute, such as a search, if several ops read them.

    XLA computes indices in the kernel of each `Gather`, `Scatter` and `ScatterReduce` that reads
    them, so once for a value and once for its derivative.
    """

    looks_for = (Gather, Scatter, ScatterReduce)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Materialize` after each value of indices that it stores."""
        reads, metas = program.read_counts(), program.slot_metas()
        work: dict[int, int] = {}
        stored: set[int] = set()
        for step in program.steps_of(ExecOp):
            if isinstance(step.op, self.looks_for):
                slot = step.input_slots[1]
                meta = metas[slot]
                many = work.get(slot, 0) >= MANY and reads[slot] > 1
                if many and meta is not None and meta.known_size >= FEW_INDICES:
                    stored.add(slot)
            if step.op.inlined and len(step.output_slots) == 1:
                own = 1 if step.op.pointwise and not step.op.view else 0
                total = own + sum(work.get(source, 0) for source in step.input_slots)
                work[step.output_slots[0]] = min(LARGE, total)
        return followed(program, stored, Materialize()) if stored else program


# Sums of paddings, which XLA must not compute again in each kernel that reads them.

FEWEST_PADDINGS = 5
"""The fewest paddings of a value that is stored, and the fewest ops that read it. With three or
four, such as those of two rolls, storing took up to 1.2 of the time."""


@dataclass(frozen=True)
class MaterializedPaddings(Pass):
    """Stores what is computed of many paddings, if several kernels read it.

    A convolution is such a sum, and its gradient reads many slices of it. XLA stores the paddings
    instead, and adds them up in each kernel.
    """

    looks_for = (Pad,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Materialize` after each such value."""
        paddings: dict[int, int] = {}
        stored, reads = set[int](), program.read_counts()
        for step, meta in program.results():
            slot = step.output_slots[0]
            if dtype_kind(meta.dtype) != "f":
                continue
            if isinstance(step.op, Pad):
                grows = max((*step.op.low, *step.op.high), default=0) > 0
                paddings[slot] = int(grows and reads.get(slot, 0) == 1)
            elif step.op.pointwise and step.op.inlined:
                found = sum(paddings.get(source, 0) for source in step.input_slots)
                if (
                    min(found, reads.get(slot, 0)) >= FEWEST_PADDINGS
                    and meta.known_size >= SHORT
                    and not _is_read_in_one_kernel(slot, program.instructions, reads)
                ):
                    stored.add(slot)
                    found = 0
                paddings[slot] = found
        return followed(program, stored, Materialize()) if stored else program


# Functions of complex numbers, which XLA must not compute again in each kernel that reads them.

FEW_FUNCTIONS = 1 << 8
"""Numbers below which another kernel takes longer than to compute a function of them again."""


@dataclass(frozen=True)
class MaterializedFunctions(Pass):
    """Stores functions of complex numbers, such as exponentials, that several kernels read.

    XLA writes such a function as twenty operations on real numbers and more. It stores a few of
    them, and computes the others, such as a sine and a cosine, in each kernel that reads the
    result. What one operation after the other makes of the function is stored in its place. So is
    a function that is repeated.
    """

    looks_for = (Analytic, Pow)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Materialize` after each value that it stores."""
        metas = program.slot_metas()
        if all(meta is None or dtype_kind(meta.dtype) != "c" for meta in metas):
            return program
        numbers = [0 if meta is None else meta.known_size for meta in metas]
        ends = _ends_of_functions(program, self.looks_for, numbers)
        slots = _read_by_several_kernels(program, ends, numbers) if ends else ends
        return followed(program, slots, Materialize()) if slots else program


def _ends_of_functions(
    program: ExecProgram, functions: tuple[type[ExecOp], ...], numbers: Sequence[int]
) -> set[int]:
    """The slots of functions of complex numbers, or in place of one that is read once, of what one
    operation after the other makes of it."""
    reads, ends = program.read_counts(), set[int]()
    for step, meta in program.results():
        slot = step.output_slots[0]
        if not step.op.inlined or len(step.output_slots) > 1 or numbers[slot] < FEW_FUNCTIONS:
            continue
        single = {
            source
            for source in ends.intersection(step.input_slots)
            if reads[source] == 1 and numbers[slot] <= numbers[source]
        }
        if single or (isinstance(step.op, functions) and dtype_kind(meta.dtype) == "c"):
            ends -= single
            ends.add(slot)
    return ends


def _read_by_several_kernels(
    program: ExecProgram, slots: set[int], numbers: Sequence[int]
) -> set[int]:
    """Those of the slots that several kernels read, or that one reads at several places.

    Each op that XLA does not compute where it is read is a kernel, and so is each of `slots` that
    is returned.
    """
    kernels: dict[int, set[int]] = {slot: {slot} for slot in program.output_slots}
    repeated: set[int] = set()
    found: set[int] = set()
    for step in reversed(program.steps_of(ExecOp)):
        slot = step.output_slots[0]
        readers = kernels.get(slot, set()) if step.op.inlined else {slot}
        if step.op.moves and len(readers) == 1:
            readers = {slot}  # the kernel reads other elements by it than by other ops
        if slot in slots and (len(readers) > 1 or slot in repeated):
            found.add(slot)
            readers = {slot}
        for source in step.input_slots:
            known = kernels.setdefault(source, set())
            if len(known) < 2:  # more make no difference
                known |= readers
            if isinstance(step.op, BroadcastInDim) and numbers[slot] >= 2 * numbers[source]:
                repeated.add(source)
    return found


# Quotients that one kernel reads several times, and that XLA would compute in another.

SHORT = 1 << 12
"""Numbers below which a kernel takes next to nothing."""


@dataclass(frozen=True)
class FusedQuotients(Pass):
    """Lets XLA compute a quotient in the kernel that reads it several times.

    XLA fuses a `Div`, `Pow`, `Rem` or `Atan2` of two operands into the one op that reads it.
    If the kernel that it would become a part of reads it several times, XLA makes a kernel of its
    own, and writes and reads the value. It does not do that with a value that is rounded to the
    precision that it has, which changes nothing. Values that other kernels read as well stay, and
    so do quotients by a repeated value, which XLA multiplies by its reciprocal.
    """

    looks_for = (Div, Pow, Rem, Atan2)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Fuse` after each such value."""
        reads, makers, fused = program.read_counts(), program.makers(), set[int]()
        for place, step in enumerate(program.instructions):
            if not isinstance(step.op, self.looks_for) or dtype_kind(step.dtype) != "f":
                continue
            (slot,), (meta,) = step.output_slots, step.output_metas
            divisor = makers.get(step.input_slots[1])
            repeated = divisor is not None and isinstance(divisor.op, BroadcastInDim)
            if repeated or reads.get(slot, 0) < 2 or meta.known_size < SHORT:
                continue
            later = program.instructions[place + 1 : place + 1 + FAR]
            if _is_read_in_one_kernel(slot, later, reads):
                fused.add(slot)
        return followed(program, fused, Fuse()) if fused else program


FAR = 64
"""Instructions after a quotient within which its readers are looked for."""


def _is_read_in_one_kernel(
    slot: int, later: Sequence[ExecInstruction], reads: Mapping[int, int]
) -> bool:
    """Whether all that follows from a value by elements becomes one value, and nothing else."""
    unread = {slot: reads[slot]}
    for step in later:
        found = [source for source in step.input_slots if source in unread]
        if not found:
            continue
        op = step.op
        if not op.pointwise or isinstance(op, Barrier | Fuse) or len(step.output_slots) != 1:
            return False
        for source in found:
            unread[source] -= 1
            if not unread[source]:
                del unread[source]
        (result,) = step.output_slots
        if not unread:
            return True
        unread[result] = reads.get(result, 0)
    return False


# Sums over what is computed of the parts of complex numbers.

LIBRARY = 1 << 12
"""Numbers from which XLA calls a library for their sum."""


@dataclass(frozen=True)
class FusedParts(Pass):
    """Lets XLA compute in one kernel what is summed of the parts of complex numbers, such as |x|².

    XLA calls a library for the sum. The library computes elementwise operations on real numbers on
    its way, but reads no complex ones: XLA would store each part that is read, as an array of its
    own. It stores the one array of what is summed if that is rounded to its own precision.
    """

    looks_for = (ReduceSum,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Fuse` after what is summed of two parts and more."""
        metas, fused = program.slot_metas(), set[int]()
        parts: dict[int, tuple[int, ...]] = {}
        for step, _ in program.results():
            op, (slot, *_) = step.op, step.output_slots
            if isinstance(op, ReduceSum):
                (source,) = step.input_slots
                meta = metas[source]
                if (
                    meta is not None
                    and meta.known_size >= LIBRARY
                    and len(parts.get(source, ())) > 1
                ):
                    fused.add(source)
            elif op.inlined and dtype_kind(step.dtype) == "f":
                read = [metas[source] for source in step.input_slots]
                if any(meta is not None and dtype_kind(meta.dtype) == "c" for meta in read):
                    parts[slot] = (slot,)
                else:
                    every = [part for source in step.input_slots for part in parts.get(source, ())]
                    parts[slot] = tuple(dict.fromkeys(every))[:2]
        return followed(program, fused, Fuse()) if fused else program


# Values that are compared with what a reduction found among them.

Makers = dict[int, ExecInstruction]


@dataclass(frozen=True)
class MaterializedComparisons(Pass):
    """Stores a value that is compared with what a reduction made of it, such as `x == max(x)`.

    XLA computes elementwise operations where their results are read, so once for the reduction and
    once for the comparison. Where one of them is rounded in another way, since a product and a sum
    became one instruction there, no element is equal to the maximum, and the derivative of the
    maximum would be wrong. Inputs are read, and need no storing.
    """

    looks_for = (Compare,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Materialize` after each such value."""
        stored = _compared_with_reductions(program)
        return followed(program, stored, Materialize()) if stored else program


def _compared_with_reductions(program: ExecProgram) -> set[int]:
    """The slots of what is stored."""
    stored: set[int] = set()
    makers, metas = program.makers(), program.slot_metas()
    for step in program.steps_of(Compare):
        meta = metas[step.input_slots[0]]
        if meta is None or dtype_kind(meta.dtype) != "f":
            continue
        for slot, other in (step.input_slots, step.input_slots[::-1]):
            value = _moved(slot, makers)
            maker = makers.get(value)
            computed = maker is not None and maker.op.pointwise and maker.op.inlined
            if computed and value in _reduced(other, makers):
                stored.add(value)
    return stored


def _moved(slot: int, makers: Makers) -> int:
    while (maker := makers.get(slot)) is not None and maker.op.moves:
        slot = maker.input_slots[0]
    return slot


def _reduced(slot: int, makers: Makers) -> set[int]:
    """What is read by the ops that XLA does not compute again, and that an operand follows from."""
    read: set[int] = set()
    waiting, visited = [slot], {slot}
    while waiting:
        maker = makers.get(waiting.pop())
        if maker is None:
            continue
        if not maker.op.inlined:
            read.update(_moved(source, makers) for source in maker.input_slots)
            continue
        new = [source for source in maker.input_slots if source not in visited]
        waiting += new
        visited.update(new)
    return read


# The ops in terms of `jax.lax`.


@lower.register
def _(op: Split, x: Array) -> Array:
    shape = (*x.shape, 2)
    first = lax.eq(_iota(shape, x.ndim), np.int32(0))  # a choice is faster than a concatenation
    along = tuple(range(x.ndim))
    re, im = (lax.broadcast_in_dim(part, shape, along) for part in (lax.real(x), lax.imag(x)))
    return lax.select(first, re, im)


@lower.register
def _(op: Join, x: Array) -> Array:
    return lax.complex(*_parts(x))


@lower.register
def _(op: Factor, x: Array) -> Array:
    re, im = (lax.real(x), lax.imag(x)) if np.iscomplexobj(x) else _parts(x)
    free = op.free if op.free >= 0 else re.ndim
    shape: list[int] = []
    along: list[int] = []
    merged: list[int] = []
    row = column = -1
    for axis in range(max(re.ndim, free + 1)):
        size = 1 if axis == re.ndim else re.shape[axis]
        if axis < re.ndim:
            along.append(len(shape))
            shape.append(size)
        if axis == op.contract:
            row = len(shape)
        if axis == free:
            column = len(shape)
        if axis in (op.contract, free):
            shape.append(2)
            size *= 2
        merged.append(size)
    re, im = (lax.broadcast_in_dim(part, shape, along) for part in (re, im))
    rows, columns = _iota(shape, row), _iota(shape, column)
    turned = lax.select(lax.lt(rows, columns), im, lax.neg(im))
    return lax.reshape(lax.select(lax.eq(rows, columns), re, turned), merged)


@lower.register
def _(op: DivideByReal, x: Array, scale: Array, inverse: Array) -> Array:
    re, im = lax.real(x), lax.imag(x)
    # A complex division multiplies by the quotient of the divisor's parts, a zero with a sign: that
    # makes NaN of infinity.
    zero = lax.mul(inverse, lax.full_like(inverse, -0.0 if op.conjugated else 0.0))
    parts = lax.add(re, lax.mul(im, zero)), lax.sub(im, lax.mul(re, zero))
    size = lax.abs(inverse)
    by_zero = lax.eq(size, lax.full_like(size, np.inf))
    factor = lax.select(by_zero, size, inverse)
    quotients = (
        lax.mul(lax.mul(lax.select(by_zero, plain, part), scale), factor)
        for plain, part in zip((re, im), parts, strict=True)
    )
    return lax.complex(*quotients)


@lower.register
def _(op: Barrier, x: Array) -> Array:
    value: Array = lax.optimization_barrier(x)  # type: ignore[no-untyped-call]  # JAX has no types there
    return value


@lower.register
def _(op: Materialize, x: Array) -> Array:
    return stored(x)


@lower.register
def _(op: Fuse, x: Array) -> Array:
    bits = float_limits(x.dtype)
    value: Array = lax.reduce_precision(x, int(bits.nexp), int(bits.nmant))
    return value


def _parts(x: Array) -> tuple[Array, Array]:
    last = x.ndim - 1
    re, im = (lax.slice_in_dim(x, i, i + 1, axis=last) for i in (0, 1))
    return lax.squeeze(re, (last,)), lax.squeeze(im, (last,))


def _iota(shape: tuple[int, ...] | list[int], axis: int) -> Array:
    return lax.broadcasted_iota(np.dtype(np.int32), tuple(shape), axis)
