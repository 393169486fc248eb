"""The axes that `vmap` maps over: `in_axes` and `out_axes` as one entry for each array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import optree

from tenferro.errors import BatchingError, PytreeError, UnsupportedDynamicShapeError
from tenferro.shape import Dim, DimExpr, Exact, TensorMeta, describe, integer_of, same_size
from tenferro.traced import NAMESPACE, spread
from tenferro.values import ShownType


class AxesTree:
    """`in_axes` or `out_axes`: an integer, None, or a tree of these that is a prefix of another.

    Raises:
        BatchingError: a leaf is neither an integer nor None.
    """

    def __init__(self, name: str, axes: Any) -> None:
        self._name = name
        self._axes: Any = optree.tree_map(self._leaf, axes, none_is_leaf=True, namespace=NAMESPACE)

    def of(self, tree: Any, what: str) -> list[int | None]:
        """The axis of each leaf of `tree`; `what` names the tree in errors.

        Raises:
            PytreeError: the axes are not a prefix of the tree.
        """
        try:
            return spread(self._axes, tree, ShownType)
        except ValueError as error:
            raise PytreeError(f"vmap: {self._name} does not fit the {what}: {error}") from None

    def of_arguments(self, args: tuple[Any, ...]) -> list[int | None]:
        """The axis of each leaf of the positional arguments.

        Raises:
            PytreeError: the axes are not a prefix of the arguments.
        """
        if type(self._axes) is tuple and len(self._axes) != len(args):
            raise PytreeError(
                f"vmap: {self._name} has {_counted(len(self._axes), 'entry', 'entries')} for "
                f"{_counted(len(args), 'positional argument', 'positional arguments')}; write one "
                "for each (keyword arguments are mapped over axis 0)"
            )
        return self.of(args, "arguments")

    def _leaf(self, axis: object) -> int | None:
        if axis is None:
            return None
        number = integer_of(axis)
        if number is None:
            raise BatchingError(
                f"vmap: {self._name} must be an integer, None, or a tree of these, got {axis!r}"
            )
        return number


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


@dataclass(frozen=True, slots=True)
class MappedArgument:
    """An array with the axis that is mapped over.

    Attributes:
        name: the argument, for errors.
        axis: the axis, counted from the front.
        meta: the type of the array.
    """

    name: str
    axis: int
    meta: TensorMeta

    @classmethod
    def of(cls, name: str, meta: TensorMeta, axis: int, entry_rank: int = 0) -> MappedArgument:
        """The array with an axis that may be counted from the end; see `entry_ranks`.

        Raises:
            BatchingError: the array has no such axis.
            UnsupportedDynamicShapeError: data decide the size of the axis.
        """
        place = placed(axis, meta.rank - entry_rank)
        if place is None:
            advice = "" if meta.rank else "; pass an array, or map it over None"
            raise BatchingError(
                f"vmap: in_axes {axis} is out of range for argument {name}: {meta}"
                f"{unmapped(entry_rank)}{advice}"
            )
        extent = meta.extents[place]
        if not isinstance(extent, Exact):
            raise UnsupportedDynamicShapeError(
                "vmap", f"axis {place} of argument {name}", describe(extent)
            )
        return cls(name, place, meta)

    @property
    def size(self) -> Dim:
        """The size of the axis."""
        return self.meta.extents[self.axis].dim  # type: ignore[union-attr]  # it is exact

    @property
    def entry(self) -> TensorMeta:
        """The type of one entry."""
        extents = self.meta.extents
        return self.meta.with_extents([*extents[: self.axis], *extents[self.axis + 1 :]])

    @property
    def front(self) -> tuple[int, ...]:
        """The order of axes in which the mapped one is the first."""
        others = [axis for axis in range(self.meta.rank) if axis != self.axis]
        return (self.axis, *others)


def entry_ranks(tree: Any) -> list[int]:
    """For each leaf of a tree, how many of its last axes belong to one entry of the leaf's node.

    They are not counted by axes. A type of nodes says so by its attribute `entry_rank`.
    """
    paths = optree.tree_accessors(tree, namespace=NAMESPACE)
    return [getattr(path[-1].type, "entry_rank", 0) if path else 0 for path in paths]


def unmapped(entry_rank: int) -> str:
    """What errors say of last axes that belong to one entry; see `entry_ranks`."""
    if not entry_rank:
        return ""
    last = "axis" if entry_rank == 1 else f"{entry_rank} axes"
    return f", whose last {last} cannot be mapped"


def placed(axis: int, rank: int) -> int | None:
    """An axis counted from the front; None if it is out of range."""
    return axis % rank if -rank <= axis < rank else None


def common_size(mapped: Sequence[MappedArgument], axis_size: object) -> Dim:
    """The size of all mapped axes.

    Raises:
        BatchingError: two sizes differ, or there is neither a mapped axis nor a valid `axis_size`.
    """
    given = None if axis_size is None else _declared(axis_size)
    if not mapped:
        if given is None:
            raise BatchingError("vmap: no argument is mapped; pass axis_size=")
        return given
    first = mapped[0]
    for other in mapped[1:]:
        if not same_size(Exact(other.size), Exact(first.size)):
            raise BatchingError(
                f"vmap: {_described(first)}, but {_described(other)}; "
                "mapped axes must have one size"
            )
    if given is not None and not same_size(Exact(given), Exact(first.size)):
        raise BatchingError(
            f"vmap: {_described(first)}, but axis_size is {given}; mapped axes must have one size"
        )
    return first.size


def _described(argument: MappedArgument) -> str:
    return f"argument {argument.name} has size {argument.size} along axis {argument.axis}"


def _declared(size: object) -> Dim:
    """The `axis_size` of a call."""
    if isinstance(size, DimExpr):
        return size
    number = integer_of(size)
    if number is None or number < 0:
        raise BatchingError(f"vmap: axis_size must be an integer of at least 0, got {size!r}")
    return number
