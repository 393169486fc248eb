"""Sizes of symbols, solved from the shapes of the inputs that mention them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tenferro.errors import BindingError, ShapeError
from tenferro.ir import Dim, DimExpr, Exact, Leaf, TensorMeta, bind, leaves, symbol

__all__ = ["Solved", "learn_sizes", "lone_symbol", "solve_sizes"]

Shape = Sequence[Dim]
Solved = dict[Leaf, Dim]


class Declared(Protocol):
    """An input with a name and a type."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def meta(self) -> TensorMeta:
        """Its type."""


def solve_sizes(caller: str, inputs: Sequence[Declared], shapes: Sequence[Shape]) -> Solved:
    """The sizes of all symbols in the types of inputs that have these shapes.

    A shape may mention symbols of an enclosing trace. Errors name `caller`, the called function.

    Raises:
        BindingError: a shape differs from the declared one, one symbol would have two sizes, or the
            size of a symbol cannot be inferred.
    """
    sizes: Solved = {}
    for declared, shape in zip(inputs, shapes, strict=True):
        learn_sizes(caller, declared, shape, sizes)
    for declared, shape in zip(inputs, shapes, strict=True):
        if declared.meta.static_shape is not None:
            continue
        unknown = sorted(str(leaf) for leaf in declared.meta.symbols() - sizes.keys())
        if unknown:
            raise BindingError(
                f"{caller}: input {declared.name!r} is {declared.meta}, and no input has the "
                f"extent {unknown[0]} alone, which would give its size"
            )
        learn_sizes(caller, declared, shape, sizes)
    return sizes


def learn_sizes(caller: str, declared: Declared, shape: Shape, sizes: Solved) -> None:
    """Add the sizes that follow from the shape of one input to `sizes`, and check it against them.

    Raises:
        BindingError: the shape differs from the declared one, or one symbol would have two sizes.
    """
    meta = declared.meta
    if shape == meta.static_shape:
        return
    if len(shape) != meta.rank:
        raise BindingError(
            f"{caller}: input {declared.name!r} is {meta}, but its shape is {tuple(shape)}"
        )
    for axis, (extent, size) in enumerate(zip(meta.extents, shape, strict=True)):
        if not isinstance(extent, Exact):
            continue
        leaf = lone_symbol(extent.dim)
        if leaf is not None:
            sizes.setdefault(leaf, size)
        expected = bind(extent.dim, sizes)
        known = isinstance(expected, int) or leaves(extent.dim) <= sizes.keys()
        if known and expected != size:
            derived = f" ({extent.dim} is {expected})" if isinstance(extent.dim, DimExpr) else ""
            raise BindingError(
                f"{caller}: axis {axis} of input {declared.name!r} is declared "
                f"{extent.dim}{derived}, but the value has size {size}"
            )


def lone_symbol(size: Dim) -> Leaf | None:
    """The symbol, if the size is a single symbol and not a number or an expression."""
    mentioned = leaves(size)
    if len(mentioned) != 1:
        return None
    (leaf,) = mentioned
    return leaf if symbol(leaf) == size else None


def refuse_names(name: str, shape: object, error: Exception) -> None:
    """Raise ShapeError if a size in the shape that `name` was called with is a name."""
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    names = [size for size in sizes if isinstance(size, str)]
    if names:
        raise ShapeError(
            f"{name}: the size {names[0]!r} has a number only in a function that is traced; pass a "
            "number, or the size of a value, such as x.shape[0]"
        ) from error
