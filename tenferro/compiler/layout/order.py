"""Orders of axes: a whole one, or as much of one as somebody asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Order = tuple[int, ...]
"""For each place in memory, outermost first, the axis of the value that lies there."""

Cells = tuple[frozenset[int], ...]
"""An order of groups of axes; within a group any order will do."""


def natural(rank: int) -> Order:
    """The order in which the axes are numbered."""
    return tuple(range(rank))


def exactly(order: Iterable[int]) -> Cells:
    """One axis to a group."""
    return tuple(frozenset((axis,)) for axis in order)


def anything(rank: int) -> Cells:
    """All axes in one group."""
    return (frozenset(range(rank)),)


def restricted(cells: Cells, axes: Iterable[int]) -> Cells:
    """The groups with only these axes, empty ones left out."""
    kept = frozenset(axes)
    return tuple(cell & kept for cell in cells if cell & kept)


def renamed(cells: Cells, names: Sequence[int]) -> Cells:
    """The groups with axis i called `names[i]`."""
    return tuple(frozenset(names[axis] for axis in cell) for cell in cells)


def renamed_by(cells: Cells, names: Mapping[int, int]) -> Cells:
    """The groups with each axis called what `names` says."""
    return tuple(frozenset(names[axis] for axis in cell) for cell in cells)


def rank_of(cells: Cells) -> dict[int, int]:
    """The number of each axis's group."""
    return {axis: number for number, cell in enumerate(cells) for axis in cell}


def sorted_into(cells: Cells, axes: Sequence[int]) -> Order:
    """`axes` in the order of their groups, within a group as they stand."""
    rank = rank_of(cells)
    return tuple(sorted(axes, key=lambda axis: rank.get(axis, len(cells))))


def agree(cells: Cells, blocks: Sequence[Sequence[int]]) -> bool:
    """Whether some order has the blocks one after the other and keeps the groups as well."""
    rank = rank_of(cells)
    highest = -1
    for block in blocks:
        if not block:
            continue
        ranks = [rank[axis] for axis in block]
        if min(ranks) < highest:
            return False
        highest = max(highest, *ranks)
    return True


def satisfies(order: Order, cells: Cells) -> bool:
    """Whether an order keeps the groups."""
    rank = rank_of(cells)
    ranks = [rank[axis] for axis in order]
    return ranks == sorted(ranks)


def places(order: Order, axes: Iterable[int]) -> tuple[int, ...]:
    """Where in memory the axes lie."""
    place = {axis: position for position, axis in enumerate(order)}
    return tuple(place[axis] for axis in axes)
