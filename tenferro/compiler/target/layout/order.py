"""Orders of axes: complete ones, and partial ones as they are requested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Order = tuple[int, ...]
"""For each place in memory, outermost first, the axis of the value that lies there."""

AxisGroups = tuple[frozenset[int], ...]
"""An order of groups of axes; within a group any order will do."""


def natural(rank: int) -> Order:
    """The order in which the axes are numbered."""
    return tuple(range(rank))


def exactly(order: Iterable[int]) -> AxisGroups:
    """One axis to a group."""
    return tuple(frozenset((axis,)) for axis in order)


def anything(rank: int) -> AxisGroups:
    """All axes in one group."""
    return (frozenset(range(rank)),)


def restricted(groups: AxisGroups, axes: Iterable[int]) -> AxisGroups:
    """The groups with only these axes, empty ones left out."""
    remaining = frozenset(axes)
    return tuple(group & remaining for group in groups if group & remaining)


def renamed(groups: AxisGroups, names: Sequence[int]) -> AxisGroups:
    """The groups with axis i called `names[i]`."""
    return tuple(frozenset(names[axis] for axis in group) for group in groups)


def renamed_by(groups: AxisGroups, names: Mapping[int, int]) -> AxisGroups:
    """The groups with each axis called what `names` says."""
    return tuple(frozenset(names[axis] for axis in group) for group in groups)


def rank_of(groups: AxisGroups) -> dict[int, int]:
    """For each axis the position of its group."""
    return {axis: number for number, group in enumerate(groups) for axis in group}


def sorted_into(groups: AxisGroups, axes: Sequence[int]) -> Order:
    """`axes` in the order of their groups; within a group their order does not change."""
    rank = rank_of(groups)
    return tuple(sorted(axes, key=lambda axis: rank.get(axis, len(groups))))


def agree(groups: AxisGroups, blocks: Sequence[Sequence[int]]) -> bool:
    """Whether some order satisfies the groups and has the blocks one after the other."""
    rank = rank_of(groups)
    highest = -1
    for block in blocks:
        if not block:
            continue
        ranks = [rank[axis] for axis in block]
        if min(ranks) < highest:
            return False
        highest = max(highest, *ranks)
    return True


def satisfies(order: Order, groups: AxisGroups) -> bool:
    """Whether an order satisfies the groups."""
    rank = rank_of(groups)
    ranks = [rank[axis] for axis in order]
    return ranks == sorted(ranks)


def places(order: Order, axes: Iterable[int]) -> tuple[int, ...]:
    """Where in memory the axes lie."""
    place = {axis: position for position, axis in enumerate(order)}
    return tuple(place[axis] for axis in axes)
