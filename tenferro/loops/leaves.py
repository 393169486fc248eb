"""The leaves of the arguments and results of loops, with their names and types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.arrays import Number, convert, is_number
from tenferro.errors import PytreeError, UnsupportedDynamicShapeError
from tenferro.shape import Exact, TensorMeta, describe
from tenferro.traced import (
    TracedTensor,
    TraceEmitter,
    TreeDef,
    flatten,
    leaf_names,
    registering,
    unflatten,
    user_site,
)
from tenferro.typing import PyTree
from tenferro.values import Tensor, meta_of_value, weak_number


@dataclass(slots=True)
class Leaves:
    """A tree of arrays and numbers.

    Attributes:
        values: the leaves.
        tree: their structure.
        paths: how each leaf is reached from the tree: `['w'][0]`; `[0]` for a tree that is a leaf.
        metas: the type of each leaf.
        weak: for each leaf whose dtype yields to that of arrays a number of its kind, else None.
    """

    values: list[Any]
    tree: TreeDef
    paths: list[str]
    metas: list[TensorMeta]
    weak: list[Number | None]

    def typed(self) -> list[Any]:
        """The leaves, converted to the types that they are to have."""
        return [
            _converted(value, meta) for value, meta in zip(self.values, self.metas, strict=True)
        ]

    def __str__(self) -> str:
        """The tree with the types of its leaves: `(f64[2], i64[])`."""
        return shown(self.tree, self.metas)


def leaves_of(tree: PyTree, where: str) -> Leaves:
    """The leaves of a tree. Errors call it `where`: `scan: init`.

    Raises:
        PytreeError: a leaf is neither an array nor a number.
        TracingError: the trace that a leaf belongs to has ended.
        UnsupportedDynamicShapeError: data decide the size of a leaf.
    """
    values, treedef = flatten(tree)
    paths = leaf_names(tree, "")
    metas = [_meta(value, where, path) for value, path in zip(values, paths, strict=True)]
    weak = [weak_leaf(value) for value in values]
    return Leaves(values, treedef, [path or "[0]" for path in paths], metas, weak)


def shown(tree: TreeDef, metas: Iterable[TensorMeta]) -> str:
    """A tree of types: `(f64[2], i64[])`."""
    return repr(unflatten(tree, [_Shown(meta) for meta in metas]))


def weak_leaf(value: Any) -> Number | None:
    """The number that a leaf is or stands for. A bool is no number: it does not become one."""
    number = weak_number(value)
    return None if isinstance(number, bool) else number


def as_array(value: Any) -> Any:
    """A leaf as an array with tenferro's operators."""
    return value if isinstance(value, Tensor | TracedTensor) else Tensor(value)


def promoted(meta: TensorMeta, weak: Number | None, goal: TensorMeta) -> bool:
    """Whether a leaf differs from `goal` only in a weak dtype, which yields to that of `goal`."""
    return (
        weak is not None
        and meta.dtype != goal.dtype
        and meta.extents == goal.extents
        and np.result_type(goal.dtype, weak) == goal.dtype
    )


def require_exact(metas: Sequence[TensorMeta], names: Sequence[str], caller: str) -> None:
    """Raise UnsupportedDynamicShapeError if data decide a size; `names` are those of the values."""
    for meta, name in zip(metas, names, strict=True):
        for axis, extent in enumerate(meta.extents):
            if not isinstance(extent, Exact):
                observed = describe(extent)
                raise UnsupportedDynamicShapeError(
                    caller,
                    f"{name}: shape[{axis}]",
                    observed,
                    f"{caller}: {name} is {meta}, whose axis {axis} is {observed}; keep the size "
                    "and mask, or take the loop out of the program",
                )


def _converted(value: Any, meta: TensorMeta) -> Any:
    if is_number(value):
        return np.asarray(value, meta.dtype)
    if isinstance(value, TracedTensor) and value.dtype != meta.dtype:
        key = convert(TraceEmitter(user_site()), value.key, meta.dtype)
        return TracedTensor(key, None, value.scope)
    return value


def _meta(value: Any, where: str, path: str) -> TensorMeta:
    """The type of a leaf, without what is known of its numbers: other rounds have others."""
    caller, _, root = where.partition(": ")
    if isinstance(value, TracedTensor):
        value.in_use(f"{where}{path}")
    meta = meta_of_value(value)
    if meta is None:
        raise PytreeError(
            f"{where}{path} is a {type(value).__name__}, not an array or number"
            f"{registering(value) or '; let the function close over it instead'}"
        )
    require_exact([meta], [f"{root}{path}"], caller)
    return TensorMeta(meta.dtype, meta.extents)


class _Shown:
    """A type in the place of a leaf."""

    def __init__(self, meta: TensorMeta) -> None:
        self._meta = meta

    def __repr__(self) -> str:
        return str(self._meta)
