"""Array functions of sizes that data decide, recorded for named sizes.

A function that needs a size as a number works for named sizes. So it is traced on inputs of the
same types, in which a name stands for each size that data decide; what it computes becomes one op,
`Sized`, which takes the sizes from its operands. Values of around, which the function closes over,
are replaced in the same way where it uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from tenferro.core import PRIMAL, Derived, GlobalValKey, Input, PrimitiveOp, op_key
from tenferro.errors import UnsupportedDynamicShapeError
from tenferro.ir import (
    BOOL,
    Dim,
    DimExpr,
    Exact,
    ExecOp,
    Leaf,
    SymDim,
    TensorMeta,
    UpperBound,
    annotate,
    bring_guards,
    collecting_guards,
    describe,
    fresh_input,
    is_inexact,
    leaves,
    runtime_dims,
    substitute,
    symbol,
    type_of,
)
from tenferro.ops import AssumeSize
from tenferro.ops.control_flow import Sized, program_of

_current: ContextVar[Naming | None] = ContextVar("tenferro_naming", default=None)
_SCALAR = TensorMeta(BOOL, ())


class Naming:
    """Names for the sizes that data decide, in one call of a function.

    Attributes:
        start: the age of a graph value that is older than the call.
        stand_ins: for each value of around with such a size the input in its place.
        names: the name of each symbol of such sizes.
    """

    def __init__(self, outer: Naming | None) -> None:
        self.outer = outer
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.start = fresh_input(_SCALAR, "start").serial
        self.stand_ins: dict[GlobalValKey, Input] = {}
        self.names: dict[Leaf, DimExpr] = {}

    def key(self, key: GlobalValKey) -> GlobalValKey:
        """What stands for a value: itself, if data decide no size of it or it is of the call."""
        meta = type_of(key)
        if meta.dims is not None:
            return key
        if self.outer is not None:
            key = self.outer.key(key)
            meta = type_of(key)
        if meta.dims is not None or key.serial >= self.start:
            return key
        if key not in self.stand_ins:
            extents = []
            for extent in meta.extents:
                if extent.size is None:
                    return key
                extents.append(Exact(self.size(extent.size)))
            if key not in self.stand_ins:  # as the source of one of the sizes
                self.stand_ins[key] = fresh_input(meta.with_extents(extents), "sized")
        return self.stand_ins[key]

    def size(self, size: Dim) -> Dim:
        """A size with a name for each symbol that data decide."""
        if self.outer is not None:
            size = self.outer.size(size)
        for leaf in runtime_dims(size):
            older = leaf.source is not None and leaf.source.value.serial < self.start
            if older and leaf not in self.names:
                name = f"size{self.depth}_{len(self.names)}"
                self.names[leaf] = symbol(SymDim(name))
                assert leaf.source is not None, "older than the call"
                self.key(leaf.source.value)
        return substitute(size, lambda leaf: self.names.get(leaf, symbol(leaf)))

    def mentions(self, *sizes: Dim) -> bool:
        """Whether sizes mention a name of this call or of one around it."""
        mentioned = {leaf for size in sizes for leaf in leaves(size)}
        own = {leaf for name in self.names.values() for leaf in leaves(name)}
        return not mentioned.isdisjoint(own) or (
            self.outer is not None and self.outer.mentions(*sizes)
        )

    def restored(self, size: Dim) -> Dim:
        """A size of the call in terms of what is around it."""
        symbols = {
            leaf: symbol(decided) for decided, name in self.names.items() for leaf in leaves(name)
        }
        return substitute(size, lambda leaf: symbols.get(leaf, symbol(leaf)))


def stand_in(key: GlobalValKey) -> GlobalValKey:
    """What stands for a value in the innermost call for named sizes; itself outside of one."""
    naming = _current.get()
    return key if naming is None else naming.key(key)


def is_decided(size: object) -> bool:
    """Whether data decide a size, or one of the sizes in a tuple, list, dict or slice."""
    kind = type(size)
    if kind is int or kind is str or size is None:
        return False
    if kind is tuple or kind is list:
        return any(map(is_decided, cast("Iterable[Any]", size)))
    if kind is dict:
        return any(map(is_decided, cast("dict[Any, Any]", size).values()))
    if isinstance(size, slice):
        return is_decided((size.start, size.stop, size.step))
    if not isinstance(size, DimExpr):
        return False
    naming = _current.get()
    return bool(runtime_dims(size if naming is None else naming.size(size)))


def named(value: Any) -> Any:
    """A size, or a tuple, list, dict or slice of sizes, with names for what data decide."""
    kind = type(value)
    if kind is DimExpr:
        naming = _current.get()
        return value if naming is None else naming.size(value)
    if kind is tuple or kind is list:
        return kind(map(named, value))
    if kind is dict:
        return {key: named(each) for key, each in value.items()}
    if kind is slice:
        return slice(named(value.start), named(value.stop), named(value.step))
    return value


def sizes_in(meta: TensorMeta) -> tuple[Dim, ...]:
    """The sizes of a value, of which data decide some."""
    for axis, extent in enumerate(meta.extents):
        if extent.size is None or any(leaf.source is None for leaf in runtime_dims(extent.size)):
            raise UnsupportedDynamicShapeError("shape", f"shape[{axis}]", describe(extent))
    return tuple([cast(Dim, extent.size) for extent in meta.extents])


def require_sizes(op: PrimitiveOp, operands: Iterable[GlobalValKey]) -> None:
    """Raise UnsupportedDynamicShapeError if data decide a size, and derivatives may need it."""
    for operand in operands:
        meta = type_of(operand)
        if meta.dims is None and is_inexact(meta.dtype):
            meta.exact_shape(getattr(op, "name", "call"), "operand")


def check_assumed(op: PrimitiveOp, operand: GlobalValKey, name: str) -> None:
    """Raise UnsupportedDynamicShapeError if an op assumes a size that data decide."""
    naming = _current.get()
    if naming is None or type(op) is not AssumeSize:
        return
    extent = type_of(operand).extents[op.axis]
    assert isinstance(extent, Exact), "assume_size takes exact sizes only"
    if naming.mentions(extent.dim, op.size):
        bound = describe(UpperBound(naming.restored(extent.dim)))
        raise UnsupportedDynamicShapeError(name, f"operand[{op.axis}]", bound)


def as_sized_op(
    call: Callable[[], Any],
    split: Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]],
    site: str | None,
    arguments: object = (),
) -> Any:
    """What a call computes, in which names stand for sizes that data decide, as one op.

    Values get their stand-ins where array functions use them. `split` takes the result apart into
    graph values and sizes, which are replaced, and a function that puts others in their place.
    `arguments` are the arguments.
    """
    alive = list(_sources(arguments))  # whose sizes may be all that is left of them
    naming = Naming(_current.get())
    with _within(naming), collecting_guards() as assumed:
        parts, whole = split(call())
        keys = [part for part in parts if isinstance(part, GlobalValKey)]
        inputs = list(naming.stand_ins.values())
        around = closed_over(keys, inputs, naming.start)
    own = tuple(naming.names.values())
    guards = []
    for guard in assumed.values():
        decided = {leaf for size in (guard.left, guard.right) for leaf in leaves(size)}
        if decided.isdisjoint(leaf for name in own for leaf in leaves(name)):
            bring_guards([guard])
        else:
            guards.append((guard.left, guard.right, guard.reason))
    if keys:
        op = Sized(program_of([*around, *inputs], keys), own, tuple(guards))
        operands = (*around, *naming.stand_ins)
        results = iter(annotate(op_key(op, operands, PRIMAL, site)))
    del alive
    return whole(
        [
            next(results) if isinstance(part, GlobalValKey) else naming.restored(part)
            for part in parts
        ]
    )


def _sources(value: Any) -> Iterator[GlobalValKey]:
    """The values from which sizes that data decide are taken."""
    kind = type(value)
    if kind is DimExpr:
        yield from (leaf.source.value for leaf in runtime_dims(value) if leaf.source is not None)
    elif kind is slice:
        yield from _sources((value.start, value.stop, value.step))
    elif kind is tuple or kind is list or kind is dict:
        for each in value.values() if kind is dict else value:
            yield from _sources(each)


@contextmanager
def _within(naming: Naming) -> Iterator[None]:
    token = _current.set(naming)
    try:
        yield
    finally:
        _current.reset(token)


def closed_over(
    outputs: Iterable[GlobalValKey],
    inputs: Iterable[GlobalValKey],
    start: int,
    in_trace: bool = True,
) -> list[GlobalValKey]:
    """The values that a traced function reads and did not make, in the order they are met.

    These are inputs, and all that is older than `start`. Constants are not among them. Unless it is
    traced `in_trace`, neither is what depends on constants alone, also if an older trace has
    written it too: equal values are one.
    """
    visited = set(inputs)
    stack = [*reversed(list(outputs))]
    read: list[GlobalValKey] = []
    while stack:
        key = stack.pop()
        if key in visited:
            continue
        visited.add(key)
        is_older = key.serial < start and not _is_constant(key)
        if isinstance(key, Input) or (is_older and (in_trace or _reads_an_input(key))):
            read.append(key)
        else:
            stack += reversed(cast(Derived, key).op.inputs)
    return read


def _is_constant(key: GlobalValKey) -> bool:
    """Whether a value is a constant, or a constant repeated along new axes."""
    while isinstance(key, Derived):
        op = key.op
        primitive = cast(ExecOp, op.primitive)
        if not op.inputs:
            return True
        if not primitive.repeats or len(op.inputs) != 1:
            return False
        (key,) = op.inputs
    return False


def _reads_an_input(key: GlobalValKey) -> bool:
    """Whether a value depends on more than constants."""
    stack, visited = [key], {key}
    while stack:
        current = stack.pop()
        if isinstance(current, Input):
            return True
        fresh = set(cast(Derived, current).op.inputs) - visited
        stack += fresh
        visited |= fresh
    return False
