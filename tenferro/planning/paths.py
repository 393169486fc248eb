"""Contraction orders in two notations: positions in a shrinking list, and numbers of values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenferro.errors import PathError

LinearPath = tuple[tuple[int, int], ...]
"""Each pair is two positions in the list of remaining values; the result is appended to it."""

Pairs = tuple[tuple[int, int], ...]
"""Each pair is the numbers of two values: operands from 0 on, then results in order."""


def pairs_of_path(path: Iterable[Sequence[int]], count: int) -> Pairs:
    """The contractions of a path over `count` operands.

    A group of more than two positions is contracted from left to right; a group of one position
    only moves that value to the end of the list.

    Raises:
        PathError: a position is out of range or occurs twice in a group, or the path does not end
            with exactly one value.

    >>> pairs_of_path([(1, 2), (0, 1)], 3)
    ((1, 2), (0, 3))
    """
    live = list(range(count))
    pairs: list[tuple[int, int]] = []
    for number, group in enumerate(path):
        members = _members(group, live, number)
        value, *rest = members
        for operand in rest:
            pairs.append((value, operand))
            value = count + len(pairs) - 1
        contracted = set(members)
        live = [remaining for remaining in live if remaining not in contracted] + [value]
    if len(live) != 1:
        raise PathError(
            f"einsum: the path leaves {len(live)} of {count} operands uncontracted; "
            "it must end with one"
        )
    return tuple(pairs)


def path_of_pairs(pairs: Sequence[tuple[int, int]], count: int) -> LinearPath:
    """The same contractions as positions in a shrinking list.

    >>> path_of_pairs([(1, 2), (0, 3)], 3)
    ((1, 2), (0, 1))
    """
    live = list(range(count))
    path: list[tuple[int, int]] = []
    for number, (a, b) in enumerate(pairs, start=count):
        i, j = sorted((live.index(a), live.index(b)))
        path.append((i, j))
        del live[j], live[i]
        live.append(number)
    return tuple(path)


def left_to_right(count: int) -> Pairs:
    """The first two operands are contracted, then each result with the next operand."""
    return tuple((0, 1) if k == 0 else (count + k - 1, k + 1) for k in range(count - 1))


def _members(group: Sequence[int], live: Sequence[int], number: int) -> list[int]:
    try:
        positions = [position.__index__() for position in group]
    except (TypeError, AttributeError):
        raise PathError(
            f"einsum: step {number} of the path is {group!r}, not a group of positions"
        ) from None
    if not positions:
        raise PathError(f"einsum: step {number} of the path names no operand")
    for position in positions:
        if not -len(live) <= position < len(live):
            raise PathError(
                f"einsum: step {number} of the path names position {position}, "
                f"but {len(live)} values are left"
            )
    members = [live[position] for position in positions]
    if len(set(members)) != len(members):
        raise PathError(f"einsum: step {number} of the path, {tuple(group)}, names a value twice")
    return members
