"""Which ops are safe where sizes are rounded up: one rule for each kind of op."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from tenferro.exec_ir import ExecProgram
from tenferro.ops import (
    BroadcastInDim,
    Compare,
    Complex,
    Concatenate,
    Convert,
    CumulativeProd,
    CumulativeSum,
    DotGeneral,
    Elementwise,
    EmbedDiag,
    ExtractDiag,
    Gather,
    Imag,
    Iota,
    Pad,
    Real,
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceSum,
    Reshape,
    Reverse,
    Scatter,
    Select,
    ShapeOf,
    SignBit,
    Slice,
    StopGradient,
    Transpose,
    Tril,
    Triu,
)
from tenferro.shape import Leaf, SymDim, leaves, product, symbol
from tenferro_xla.masking import Masked, MaskWriter, highest, lowest

Rule = Callable[[MaskWriter], None]


def mask_program(program: ExecProgram, rounded: Collection[Leaf]) -> Masked:
    """The program with its padding masked where it would be read.

    Raises:
        PadSafetyError: an op would read padding, or cannot be shown not to.

    >>> from tenferro.compiler import parse
    >>> from tenferro.shape import SymDim
    >>> total = '''exec_program(%0: f64[n]) {
    ...   %1: f64[n] = cosine %0!
    ...   %2: f64[] = reduce_sum[axes=(0,)] %1!
    ...   return %2
    ... }'''
    >>> print(mask_program(parse(total), [SymDim("n")]).program)
    exec_program(%0: f64[n], %1: i64[]) {
      %2: f64[n] = cosine %0!
      %3: f64[] = constant[value=0.0, dtype=f64]
      %4: f64[n] = broadcast_in_dim[shape=(n,), dims=()] %3!
      %5: i64[n] = broadcast_in_dim[shape=(n,), dims=()] %1!
      %6: i64[n] = iota[dtype=i64, size=n]
      %7: bool[n] = compare[direction='LT'] %6!, %5!
      %8: bool[n] = broadcast_in_dim[shape=(n,), dims=(0,)] %7!
      %9: f64[n] = select %8!, %2!, %4!
      %10: f64[] = reduce_sum[axes=(0,)] %9!
      return %10
    }
    """
    writer = MaskWriter(program, rounded)
    for step in program.instructions:
        writer.step = step
        if not writer.is_touched():
            writer.keep(*writer.operands())
            continue
        rule = _elementwise if isinstance(step.op, Elementwise) else _RULES.get(type(step.op))
        if rule is None:
            metas = ", ".join(str(writer.meta(i)) for i in range(len(step.input_slots)))
            raise writer.refuse(_leaf(writer), f"nothing shows that it leaves {metas} unmixed")
        rule(writer)
    return writer.build(program.output_slots)


def _elementwise(at: MaskWriter) -> None:
    """No element reads another. What an op makes of zeros, it makes of zeros in the padding."""
    count = len(at.step.input_slots)
    result = at.step.output_metas[0].extents
    for number in range(count):
        if at.meta(number).rank and at.meta(number).extents != result:
            raise at.refuse(_leaf(at), f"{at.meta(number)} has not the shape of its result")
    zeros = False
    if all(at.has_zeros(number) and at.meta(number).rank for number in range(count)):
        with np.errstate(all="ignore"):
            found = at.op.evaluate([np.zeros((), at.meta(i).dtype) for i in range(count)])[0]
        zeros = bool(found == 0)
    at.keep(*at.operands(), zeros=zeros)


def _transpose(at: MaskWriter) -> None:
    at.keep(*at.operands(), zeros=at.has_zeros(0))


def _broadcast(at: MaskWriter) -> None:
    """Padding is repeated along; an axis that is new, or was of size 1, has copies for padding."""
    assert isinstance(at.op, BroadcastInDim)
    carried = {at.op.dims[axis] for axis in at.padded(0)}
    own = at.axes(at.step.output_metas[0], at.op.name).keys() <= carried
    at.keep(*at.operands(), zeros=own and at.has_zeros(0))


def _reshape(at: MaskWriter) -> None:
    """Safe if a padded axis keeps its place: as many elements before it, and as many after."""
    before, after = at.meta(0), at.step.output_metas[0]
    old, new = before.exact_shape(at.op.name), after.exact_shape(at.op.name)
    places = [
        [(leaf, product(sizes[:axis]), product(sizes[axis + 1 :])) for axis, leaf in axes.items()]
        for sizes, axes in ((old, at.padded(0)), (new, at.axes(after, at.op.name)))
    ]
    if places[0] != places[1]:
        raise at.refuse(_leaf(at), f"it mixes axes of {before} and {after}")
    at.keep(*at.operands(), zeros=at.has_zeros(0))


def _reverse(at: MaskWriter) -> None:
    assert isinstance(at.op, Reverse)
    for axis in at.op.axes:
        if axis in at.padded(0):
            reason = f"it reverses axis {axis} of {at.meta(0)}, and padding would come first"
            raise at.refuse(at.padded(0)[axis], reason)
    at.keep(*at.operands(), zeros=at.has_zeros(0))


def _sum(at: MaskWriter) -> None:
    assert isinstance(at.op, ReduceSum)
    if set(at.op.axes) & at.padded(0).keys():
        at.keep(at.zeroed(0), zeros=True)
    else:
        at.keep(at.operand(0), zeros=at.has_zeros(0))


def _reduction(fill: Callable[[np.dtype[np.generic]], np.ndarray]) -> Rule:
    """A reduction that `fill` leaves as it is."""

    def rule(at: MaskWriter) -> None:
        axes: tuple[int, ...] = at.op.axes  # type: ignore[attr-defined]  # all reductions have it
        if set(axes) & at.padded(0).keys():
            at.keep(at.masked(0, fill(at.meta(0).dtype)))
        else:
            at.keep(at.operand(0))

    return rule


def _dot(at: MaskWriter) -> None:
    """Zeros on both sides where padding is summed over: 0 times what is no number is none."""
    assert isinstance(at.op, DotGeneral)
    contracted = (at.op.lhs_contract, at.op.rhs_contract)
    operands = [
        at.zeroed(number) if set(axes) & at.padded(number).keys() else at.operand(number)
        for number, axes in enumerate(contracted)
    ]
    at.keep(*operands)


def _slice(at: MaskWriter) -> None:
    """All of a padded axis, or a number of elements from its front."""
    assert isinstance(at.op, Slice)
    window = zip(at.op.starts, at.op.limits, at.op.strides, strict=True)
    for axis, (start, limit, stride) in enumerate(window):
        leaf = at.padded(0).get(axis)
        whole = leaf is not None and (start, limit, stride) == (0, symbol(leaf), 1)
        mentioned = leaves(start) | leaves(limit)
        late = any(not isinstance(each, SymDim) for each in mentioned)  # the padded operand's size
        if late or (not whole and mentioned & at.rounded):
            raise at.refuse(_leaf(at), f"axis {axis} of {at.meta(0)} is cut where it says")
    at.keep(*at.operands(), zeros=at.has_zeros(0))


def _pad(at: MaskWriter) -> None:
    """A padded axis as it is; or another one, padded after its elements up to a size."""
    assert isinstance(at.op, Pad)
    for axis, leaf in at.padded(0).items():
        if (at.op.low[axis], at.op.high[axis], at.op.interior[axis]) != (0, 0, 0):
            raise at.refuse(leaf, f"it pads axis {axis} of {at.meta(0)} itself")
    if any(leaves(low) & at.rounded for low in at.op.low):
        raise at.refuse(_leaf(at), f"it decides where {at.meta(0)} goes")
    at.keep(*at.operands())


def _concatenate(at: MaskWriter) -> None:
    assert isinstance(at.op, Concatenate)
    count = len(at.step.input_slots)
    for number in range(count):
        if at.op.axis in at.padded(number):
            reason = f"axis {at.op.axis} of {at.meta(number)} would be followed by its padding"
            raise at.refuse(at.padded(number)[at.op.axis], reason)
    at.keep(*at.operands(), zeros=all(at.has_zeros(number) for number in range(count)))


def _iota(at: MaskWriter) -> None:
    at.keep()


def _shape_of(at: MaskWriter) -> None:
    """The true size, which is an input."""
    assert isinstance(at.op, ShapeOf)
    leaf = at.padded(0).get(at.op.axis)
    if leaf is None:
        at.keep(at.operand(0))
    else:
        at.define(at.true_size(leaf))


def _diagonal(at: MaskWriter) -> None:
    """Two axes of one size: what has an index beyond it is padding before and after."""
    at.keep(*at.operands(), zeros=at.has_zeros(0))


def _scan(fill: int) -> Rule:
    """Forward, true elements come first; backward, `fill` changes nothing."""

    def rule(at: MaskWriter) -> None:
        assert isinstance(at.op, CumulativeSum | CumulativeProd)
        mixed = at.op.reverse and at.op.axis in at.padded(0)
        at.keep(at.masked(0, np.asarray(fill, at.meta(0).dtype)) if mixed else at.operand(0))

    return rule


def _gather(at: MaskWriter) -> None:
    """Windows of one true operand, each at an index of its own."""
    assert isinstance(at.op, Gather)
    _check_indexing(at, at.op.index_vector_dim)
    at.keep(*at.operands())


def _scatter(at: MaskWriter) -> None:
    """Zeros are added wherever an index in the padding points to."""
    assert isinstance(at.op, Scatter)
    _check_indexing(at, at.op.index_vector_dim)
    if at.op.combiner != "add" or at.op.unique or len(at.step.input_slots) != 3:
        raise at.refuse(_leaf(at), f"{at.meta(2)} would be put where padding says")
    at.keep(at.operand(0), at.operand(1), at.zeroed(2))


def _check_indexing(at: MaskWriter, index_vector_dim: int) -> None:
    """Refuse what indexes into padding, or would have padding for a part of an index."""
    for leaf in at.padded(0).values():
        raise at.refuse(leaf, f"it indexes into {at.meta(0)}")
    if index_vector_dim in at.padded(1):
        raise at.refuse(_leaf(at), f"it is the length of the indices in {at.meta(1)}")


def _leaf(at: MaskWriter) -> Leaf:
    """The size that the instruction has to do with."""
    metas = [*(at.meta(i) for i in range(len(at.step.input_slots))), *at.step.output_metas]
    padded = (at.axes(meta, at.op.name).values() for meta in metas)
    found = (at.op.symbols() & at.rounded).union(*padded)
    return min(found, key=str)


_ELEMENTWISE = (Compare, Select, Convert, Real, Imag, Complex, SignBit, StopGradient)
_RULES: dict[type, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    Transpose: _transpose,
    BroadcastInDim: _broadcast,
    Reshape: _reshape,
    Reverse: _reverse,
    ReduceSum: _sum,
    ReduceProd: _reduction(lambda dtype: np.ones((), dtype)),
    ReduceMax: _reduction(lowest),
    ReduceMin: _reduction(highest),
    ReduceAnd: _reduction(lambda dtype: np.asarray(True)),
    ReduceOr: _reduction(lambda dtype: np.asarray(False)),
    DotGeneral: _dot,
    Slice: _slice,
    Pad: _pad,
    Concatenate: _concatenate,
    Iota: _iota,
    ShapeOf: _shape_of,
    **dict.fromkeys((ExtractDiag, EmbedDiag, Tril, Triu), _diagonal),
    Gather: _gather,
    Scatter: _scatter,
    CumulativeSum: _scan(0),
    CumulativeProd: _scan(1),
}
