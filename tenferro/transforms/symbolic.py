"""Symbolic sizes of the arguments of a compiled function: the `symbolic` of `jit`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import optree

from tenferro.arrays import is_number
from tenferro.errors import BindingError, PytreeError, ShapeError, TracingError
from tenferro.shape import DimExpr, DType, TensorMeta, TensorSpec, integer_of
from tenferro.traced import NAMESPACE, TreeDef, flatten, leaf_meta, unflatten
from tenferro.transforms.call import CallArguments
from tenferro.values import Solved, learn_sizes


class Axes:
    """The declared extents of an array: numbers, names, or None for the size that the array has.

    >>> import numpy as np
    >>> Axes("x", ("n", None, ...)).spec(np.ones((2, 3, 4)))
    TensorSpec(f64[n,3,4])
    """

    def __init__(self, where: str, shape: tuple[Any, ...], dtype: DType | None = None) -> None:
        self._where = where
        self._rest = bool(shape) and shape[-1] is ...
        self._sizes = shape[:-1] if self._rest else shape
        self._dtype = dtype
        if ... in self._sizes:
            raise ShapeError(
                f"jit: symbolic: `...` must be the last entry of a shape, got {shape} for {where}"
            )
        TensorMeta.of("f64", [size for size in self._sizes if size is not None])

    def spec(self, leaf: Any) -> TensorSpec | None:
        """The declared type of an array; None for numbers, and if no shape is declared.

        Raises:
            BindingError: rank or dtype of the array differ from the declared ones.
        """
        if self._rest and not self._sizes:
            return None
        meta = leaf_meta(leaf, f"argument {self._where}")
        rank = len(self._sizes)
        fits = meta.rank >= rank if self._rest else meta.rank == rank
        if not fits or (self._dtype is not None and self._dtype != meta.dtype):
            raise BindingError(f"jit: argument {self._where} is declared {self}, but is {meta}")
        actual = meta.dims
        if is_number(leaf) or actual is None:  # a traced value with a data-dependent size
            return None
        sizes = [a if s is None else s for s, a in zip(self._sizes, actual, strict=False)]
        return TensorSpec((*sizes, *actual[rank:]), meta.dtype)

    def __str__(self) -> str:
        sizes = ["?" if size is None else str(size) for size in self._sizes]
        return f"({', '.join([*sizes, '...'] if self._rest else sizes)})"


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument with its declared type."""

    name: str
    meta: TensorMeta


class SymbolicArguments:
    """The declared shapes of arguments, in which some extents are names.

    `declared` maps the name of a parameter to one shape for all arrays of the argument, or to a
    tree of shapes that is a prefix of the argument's tree. A shape is a tuple of integers, names
    and expressions of names such as `"2*n"`. None means the size that the array has, and `...` at
    the end means this for all further axes. A `TensorSpec` declares the dtype as well. None in
    place of a shape declares nothing.

    Raises:
        TracingError: a name is not that of a parameter, or is that of a static argument.
        ShapeError: a declared value is not a shape.
    """

    def __init__(
        self, function: Callable[..., Any], declared: Mapping[str, Any], static: Sequence[str]
    ) -> None:
        if not isinstance(declared, Mapping):
            raise TracingError(
                "jit: symbolic maps names of arguments to shapes, such as "
                f'{{"x": ("n", 3)}}; got {declared!r}'
            )
        parameters = inspect.signature(function).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        for name in declared:
            if name in static:
                raise TracingError(f"jit: argument {name!r} is both static and symbolic")
            if name not in parameters and not takes_any:
                raise TracingError(f"jit: symbolic has {name!r}, which is not a parameter")
        self._trees = {name: _axes_tree(name, tree) for name, tree in declared.items()}

    def specs(self, call: CallArguments) -> list[TensorSpec | None]:
        """The declared type of each leaf of the call's arguments; None if there is none.

        Raises:
            PytreeError: the tree of an argument is not the declared one.
            BindingError: rank or dtype of an array differ from the declared ones.
        """
        return [spec for name, arg in _named(call) for spec in self._of(name, arg)]

    def declared(
        self,
        call: CallArguments,
        leaves: Sequence[Any],
        treedef: TreeDef,
        types: Sequence[Hashable],
    ) -> tuple[CallArguments, list[Hashable]]:
        """The call with declared types in place of arrays, and `types` with declared shapes.

        `types` begins with the shape and the dtype of each leaf in turn.

        Raises:
            PytreeError: the tree of an argument is not the declared one.
            BindingError: rank or dtype of an array differ from the declared ones.
        """
        specs = self.specs(call)
        declared = [x if spec is None else spec for x, spec in zip(leaves, specs, strict=True)]
        args, kwargs = unflatten(treedef, declared)
        known = [*types]
        for position, spec in enumerate(specs):
            if spec is not None:
                known[2 * position] = spec.shape
        return replace(call, args=args, kwargs=kwargs), known

    def has_empty(self, call: CallArguments, leaves: Sequence[Any]) -> bool:
        """Whether an axis of size 0 is declared with a name."""
        pairs = zip(leaves, self.specs(call), strict=True)
        return any(
            size == 0 and size != declared
            for leaf, spec in pairs
            if spec is not None
            for size, declared in zip(leaf.shape, spec.shape, strict=True)
        )

    def check_traced(self, call: CallArguments) -> None:
        """Check arguments that are values of an enclosing trace against their declared types.

        Raises:
            BindingError: one symbol would have two sizes, or a size differs from the declared one.
        """
        sizes: Solved = {}
        for name, arg in _named(call):
            for spec, leaf in zip(self._of(name, arg), flatten(arg)[0], strict=True):
                meta = leaf_meta(leaf, f"argument {name}")
                if spec is not None and meta.dims is not None:
                    learn_sizes("jit", _Argument(str(name), spec.meta), meta.dims, sizes)

    def _of(self, name: str | None, arg: Any) -> list[TensorSpec | None]:
        leaves, _ = flatten(arg)
        if name is None or name not in self._trees:
            return [None] * len(leaves)
        try:
            axes = optree.broadcast_prefix(self._trees[name], arg, namespace=NAMESPACE)
        except ValueError as error:
            raise PytreeError(
                f"jit: symbolic[{name!r}] does not fit the argument: {error}"
            ) from None
        return [declared.spec(leaf) for declared, leaf in zip(axes, leaves, strict=True)]


def _axes_tree(name: str, declared: Any) -> Any:
    """The tree with `Axes` in place of its shapes."""
    return optree.tree_map(
        lambda leaf: _axes(name, leaf),
        declared,
        is_leaf=_is_shape,
        none_is_leaf=True,
        namespace=NAMESPACE,
    )


def _axes(name: str, declared: Any) -> Axes:
    if declared is None:
        return Axes(name, (...,))
    if isinstance(declared, TensorSpec):
        return Axes(name, declared.shape, declared.dtype)
    if _is_shape(declared):
        return Axes(name, declared)
    raise ShapeError(
        f"jit: symbolic[{name!r}] has {declared!r} in place of a shape; "
        'write a tuple of sizes and names, such as ("n", 3)'
    )


def _is_shape(value: Any) -> bool:
    if type(value) is not tuple:
        return isinstance(value, TensorSpec)
    return all(size is None or size is ... or _is_size(size) for size in value)


def _is_size(value: Any) -> bool:
    return isinstance(value, str | DimExpr) or integer_of(value) is not None


def _named(call: CallArguments) -> Iterator[tuple[str | None, Any]]:
    """The arguments with the names of their parameters, in the order of their leaves."""
    names = [
        p.name
        for p in inspect.signature(call.function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    for position, arg in enumerate(call.args):
        yield (names[position] if position < len(names) else None), arg
    for name in sorted(call.kwargs):
        yield name, call.kwargs[name]
