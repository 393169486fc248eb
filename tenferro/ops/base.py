"""What all primitives share: the base class with derivative rules, and the shape checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.errors import (
    ADRuleError,
    AxisError,
    DTypeError,
    ShapeError,
    UnsupportedDynamicShapeError,
)
from tenferro.exec_ir import ExecOp
from tenferro.shape import Exact, TensorMeta, describe, make_meta, same_size


class StdTensorOp(ExecOp):
    """An `ExecOp` that may stand in a graph: it has derivative rules and a local simplification.

    A rule that is not written raises `ADRuleError`; it is never taken for a zero.
    """

    def add(self, emitter: Emitter[V], a: V, b: V) -> V:
        """The sum of two cotangents."""
        return emitter.emit(emitter.ctx.adder, a, b)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Tangents of the outputs; see `PrimitiveOp`."""
        raise ADRuleError(f"{self.name}: has no linearize rule")

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Cotangents of the active operands; see `PrimitiveOp`."""
        raise ADRuleError(f"{self.name}: has no transpose rule")

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """A simpler value that is equal, or None; see `PrimitiveOp`."""
        return None


class Inactive(StdTensorOp):
    """An op through which no tangent flows: its result is piecewise constant, or not of a field."""

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """A symbolic zero for every output."""
        return (None,) * self.n_outputs


class SameType(StdTensorOp):
    """An op on operands of one type, elementwise. `kinds` are the NumPy dtype kinds it takes."""

    kinds: ClassVar[str] = "iufc"

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The operands' common type."""
        return same_type(self.name, metas, self.kinds)


def same_type(name: str, metas: Sequence[TensorMeta], kinds: str) -> TensorMeta:
    """The common type of elementwise operands.

    Raises:
        DTypeError: the dtypes differ or are not of the kinds that the op takes.
        ShapeError: the shapes differ.
    """
    first = metas[0]
    for meta in metas:
        if meta is first:
            continue
        if meta.dtype != first.dtype:
            raise DTypeError(
                f"{name}: operands have types {types(metas)}; convert them to one dtype"
            )
        if meta.dims is None or meta.dims != first.dims:
            text = f"operands have types {types(metas)}; broadcast them to one shape"
            check_same_shape(name, first, meta, text)
    check_kind(name, first, kinds)
    if first.as_size is not None:  # the result is a number of its own
        return TensorMeta(first.dtype, first.extents)
    return first


def check_same_shape(name: str, one: TensorMeta, other: TensorMeta, otherwise: str) -> None:
    """Check that two operands certainly have one shape.

    Raises:
        ShapeError: they have not; `otherwise` is the text.
        UnsupportedDynamicShapeError: data decide a size, and it may be another in each.
    """
    if one.rank != other.rank:
        raise ShapeError(f"{name}: {otherwise}")
    unlike = [
        (axis, left, right)
        for axis, (left, right) in enumerate(zip(one.extents, other.extents, strict=True))
        if not same_size(left, right)
    ]
    for axis, left, right in unlike:
        if isinstance(left, Exact) and isinstance(right, Exact):
            raise ShapeError(f"{name}: {otherwise}")
        inexact = left if isinstance(right, Exact) else right
        raise UnsupportedDynamicShapeError(name, f"operand[{axis}]", describe(inexact))


def check_kind(name: str, meta: TensorMeta, kinds: str) -> None:
    """Raise DTypeError unless the operand's dtype is of one of the NumPy kinds."""
    if meta.dtype.kind not in kinds:
        expected = ", ".join(word for kind, word in _KIND_WORDS.items() if kind in kinds)
        raise DTypeError(f"{name}: takes {expected} operands, got {meta}")


_KIND_WORDS = {"b": "bool", "i": "integer", "u": "unsigned", "f": "floating-point", "c": "complex"}


def types(metas: Sequence[TensorMeta]) -> str:
    """The types of operands, for errors: `f32[2,3] and f32[4]`."""
    return " and ".join(str(meta) for meta in metas)


def check_axes(name: str, axes: Sequence[int], rank: int, operand: TensorMeta) -> None:
    """Raise AxisError unless all axes are in range and distinct."""
    for axis in axes:
        if not 0 <= axis < rank:
            raise AxisError(f"{name}: axis {axis} is out of range for {operand} of rank {rank}")
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: axes {tuple(axes)} of {operand} name an axis twice")


def keep_axes(meta: TensorMeta, axes: Sequence[int]) -> TensorMeta:
    """The type that is left when only `axes` stay, in that order, with their guarantees."""
    if meta.static_shape is not None:
        return make_meta(meta.dtype, tuple([meta.static_shape[axis] for axis in axes]))
    return meta.with_extents(meta.extents[axis] for axis in axes)
