"""Ops that return their operand and mark it: as an argument, by a sharding, a size or a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    ResolvedView,
    Slots,
    TransposeSite,
    V,
    each_active,
    multilinear,
    resolve_keys,
)
from tenferro.errors import (
    DTypeError,
    GuardViolationError,
    ShapeError,
    TracingError,
    UnsupportedDynamicShapeError,
    counted,
)
from tenferro.ir import (
    BOOL,
    Conjugation,
    Dim,
    Exact,
    Guard,
    MaskSite,
    NumpyArray,
    TensorMeta,
    canonical,
    describe,
    fresh_input,
    payload,
)
from tenferro.ops.base import (
    LinearInFirst,
    StdTensorOp,
    Unchanged,
    check_axes,
    check_same_shape,
    meta_of,
)
from tenferro.ops.broadcast import zeros_like
from tenferro.ops.elementwise import SELECT

__all__ = [
    "After",
    "Argument",
    "AssumeSize",
    "CheckpointName",
    "CotangentWhere",
    "ShardingConstraint",
    "emit_graph",
    "replay",
]


# Argument: an argument of a function, as a value that differs from every other value.


@payload
class Argument(Unchanged, name="argument"):
    """The operand, as an argument of one call of a function.

    It occurs in graphs only: lowering drops it, so programs do not contain it. `is_open` says
    whether the function is still being traced; it is state and not part of the identity.
    """

    number: int

    is_open: ClassVar[bool]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mark(is_open=True)

    def mark(self, is_open: bool) -> None:
        """Set whether the function is still being traced."""
        object.__setattr__(self, "is_open", is_open)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return at.tangent

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return at.ct

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        return ((at.inputs[0], True),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V:
        """The operand: a graph that is emitted again does not need the argument."""
        return operands[0]


# ShardingConstraint: how a value is divided among the devices of a mesh.


@payload
class ShardingConstraint(Unchanged, name="sharding_constraint"):
    """The operand, divided by the named axes of the mesh that the program runs on.

    `spec` has an entry for each axis: the names, none where the axis is whole, and None where the
    compiler may choose. On one device the op has no effect.
    """

    spec: tuple[tuple[str, ...] | None, ...]

    keeps_axes = True
    entry_fields = ("spec",)
    moves = True
    view = True

    @property
    def divides(self) -> Sequence[Sequence[str]]:
        return [names or () for names in self.spec]

    def infer(self, x: TensorMeta) -> TensorMeta:
        if x.rank != len(self.spec):
            raise ShapeError(
                f"{self.name}: {x} has {counted(x.rank, 'axis', 'axes')}, but the spec has "
                f"{len(self.spec)}"
            )
        return x

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent is divided as the operand is."""
        return each_active(at, lambda ct: at.emit(self, ct))

    def leading(self, size: Dim) -> ShardingConstraint:
        """The compiler may choose how the new axis is divided."""
        return ShardingConstraint((None, *self.spec))

    def trailing(self, size: int) -> ShardingConstraint:
        """The new axis, which parts of complex numbers have, is whole."""
        return ShardingConstraint((*self.spec, ()))

    def masked(self, at: MaskSite) -> None:
        at.keep(at.operand(0), zeros=at.has_zeros(0))


# AssumeSize: the assumption that two sizes are equal, checked once both are known.


@payload
class AssumeSize(StdTensorOp, name="assume_size"):
    """The operand with the assumption that axis `axis` has `size`.

    The op says which size the value has. The trace that it is emitted in collects the assumption,
    and the program checks it once the sizes are known, also where nothing reads the value; see
    `GraphProgram.guards`.
    """

    axis: int
    size: Dim

    axis_fields = ("axis",)

    assumes = True
    moves = True
    view = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        check_axes(self.name, (self.axis,), x.rank, x)
        extent = x.extents[self.axis]
        if not isinstance(extent, Exact):
            raise UnsupportedDynamicShapeError(self.name, f"operand[{self.axis}]", describe(extent))
        if canonical(extent.dim, self.size) is None:
            raise GuardViolationError(
                f"{self.name}: axis {self.axis} of {x} was assumed to have size {self.size}"
            )
        extents = list(x.extents)
        extents[self.axis] = Exact(self.size)
        return TensorMeta(x.dtype, extents)

    def assumptions(self, metas: Sequence[TensorMeta], reason: str) -> Sequence[Guard]:
        extent = metas[0].extents[self.axis]
        assert isinstance(extent, Exact), "assume_size takes exact sizes only"
        return [Guard(extent.dim, self.size, reason)]

    def numpy(self, x: NumpyArray) -> NumpyArray:
        if x.shape[self.axis] != self.size:
            raise GuardViolationError(
                f"{self.name}: axis {self.axis} of {meta_of(x)} was assumed "
                f"to have size {self.size}"
            )
        return x

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The assumption that the cotangent has the operand's size."""
        size = at.ctx.meta(at.inputs[0]).extents[self.axis]
        if not isinstance(size, Exact):
            raise UnsupportedDynamicShapeError(self.name, f"operand[{self.axis}]", describe(size))
        return each_active(at, lambda ct: at.emit(AssumeSize(self.axis, size.dim), ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The operand, if it certainly has the size."""
        (x,) = operands
        return x if at.ctx.meta(x).extents[self.axis] == Exact(self.size) else None


# CheckpointName: a name that policies of checkpoints know a value by.


@payload
class CheckpointName(Unchanged, name="checkpoint_name"):
    """The operand, under a name by which a policy of derivatives may save it."""

    tag: str

    pointwise = True
    moves = True
    view = True
    for_derivatives = True

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the operand, which has no name."""
        return at.tangent


# CotangentWhere: a value to which cotangents flow only in some places.


@payload
class CotangentWhere(LinearInFirst, name="cotangent_where"):
    """The first operand, to which cotangents flow only where the second, a bool, is true.

    For values whose results are not read elsewhere: a zero cotangent times a coefficient that is
    infinite there would be NaN. It is linear, so that the value may be a tangent.
    """

    n_inputs = 2
    pointwise = True
    for_derivatives = True
    conjugation = Conjugation.EXACT

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        value, flows = metas
        if flows.dtype != BOOL:
            raise DTypeError(f"cotangent_where: the second operand must be bool, got {flows}")
        if value.dims is None or value.dims != flows.dims:
            text = f"value {value} and bools {flows} must have equal shapes"
            check_same_shape(self.name, value, flows, text)
        return value

    def numpy(self, value: NumpyArray, flows: NumpyArray) -> NumpyArray:
        return value

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, and zero where it does not flow."""
        flows = at.inputs[1]
        return each_active(at, lambda ct: at.emit(SELECT, flows, ct, zeros_like(at.emitter, ct)))


# After: a value that needs others to be computed.


@payload
class After(StdTensorOp, name="after"):
    """The first operand, once `count` others are computed: the tokens of effects.

    What needs the result needs the effects. Tangents and cotangents do not: a transform takes care
    of the effects of the function that it is applied to.
    """

    count: int

    conjugation = Conjugation.EXACT

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_inputs", 1 + self.count)

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        return metas[0]

    def numpy(self, *values: NumpyArray) -> NumpyArray:
        return values[0]

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the first operand."""
        return at.tangent[:1]

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, for the first operand."""
        return (at.ct[0], *[None] * self.count)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The operand, batched as it is."""
        return ((at.emit(self, *at.inputs), at.batched[0]),)


# Graphs emitted again, without the arguments in them.


def replay(
    at: Emitter[V],
    outputs: Sequence[GlobalValKey | None],
    known: Mapping[GlobalValKey, V],
    caller: str = "replay",
    keep_sites: bool = False,
) -> list[V | None]:
    """Emit the ops of a graph, with `known` as the values of its inputs. None stays None.

    Errors name the function `caller`. If `keep_sites`, a `KeyEmitter` records each op at the site
    that it has in the graph.

    Raises:
        TracingError: the graph has an input that is not among `known`.
    """
    view: ResolvedView[StdTensorOp] = resolve_keys()
    keys = [key for key in outputs if key is not None]
    ops, inputs = view.topo_order(keys, leaves=tuple(known))
    foreign = [key for key in inputs if key not in known]
    if foreign:
        raise TracingError(
            f"{caller}: the function reads {foreign[0]}, which is not among its arguments; "
            "pass it as a value"
        )
    values: dict[GlobalValKey, V] = dict(known)
    emitter: Any = at
    sited = emitter if keep_sites and isinstance(emitter, KeyEmitter) else None
    for op in ops:
        operands = [values[key] for key in op.inputs]
        if type(op.primitive) is Argument:
            (values[op.output(0)],) = operands
            continue
        if sited is not None:
            sited.site = op.site
        results = at.emit_all(cast(StdTensorOp, op.primitive), *operands)
        values.update(zip(op.outputs, results, strict=True))
    return [None if key is None else values[key] for key in outputs]


def emit_graph(
    at: Emitter[V],
    values: Sequence[V],
    make: Callable[[Sequence[GlobalValKey]], Sequence[GlobalValKey] | None],
) -> list[V] | None:
    """Emit on `values` the graph that `make` makes of inputs of their types; None if it is None."""
    keys = [fresh_input(at.ctx.meta(value), f"x{i}") for i, value in enumerate(values)]
    outputs = make(keys)
    if outputs is None:
        return None
    results = replay(at, outputs, dict(zip(keys, values, strict=True)))
    return [value for value in results if value is not None]
