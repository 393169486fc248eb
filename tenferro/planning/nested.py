"""NestedEinsum: subscripts whose parentheses give the contraction order."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.errors import SubscriptError
from tenferro.planning.subscripts import Subscripts, quoted


@dataclass(frozen=True, slots=True)
class NestedEinsum:
    """Subscripts, and pairs of positions in the shrinking list of operands.

    >>> nested = NestedEinsum.parse("(ij,(jk,kl))->il")
    >>> print(nested.subscripts, nested.path)
    ij,jk,kl->il ((1, 2), (0, 1))
    """

    subscripts: Subscripts
    path: tuple[tuple[int, ...], ...]

    @classmethod
    def parse(cls, text: str) -> NestedEinsum:
        """Read parenthesized subscripts; terms within one pair of parentheses are contracted first.

        More than two terms within one pair are contracted from left to right.

        Raises:
            SubscriptError: the parentheses do not match, or the rest is not subscripts.
        """
        compact = "".join(text.split())
        left, arrow, right = compact.partition("->")
        groups, terms = _read(left, text)
        if "(" in right or ")" in right:
            raise SubscriptError(f"einsum: {text!r} has parentheses in its output")
        flat = ",".join(terms) + arrow + right
        return cls(Subscripts.parse(flat), _path(groups, len(terms)))


def _read(left: str, text: str) -> tuple[list[list[int]], list[str]]:
    """The groups, in the order of their closing parentheses, and the operands' terms."""
    reader = _Reader(left.count(",") + 1, text)
    for character in left:
        match character:
            case "(":
                reader.open()
            case ")":
                reader.close()
            case ",":
                reader.end_term()
            case _:
                reader.extend(character)
    reader.end_term()
    if len(reader.open_groups) != 1:
        raise SubscriptError(f"einsum: '(' without ')' in {quoted(text)}")
    return [*reader.closed, reader.open_groups[0]], reader.terms


class _Reader:
    """Reads terms and groups; a group is a list of numbers of its members.

    Operands have the numbers from 0 on; the results of groups have the numbers after them.
    """

    def __init__(self, count: int, text: str) -> None:
        self.count = count
        self.text = quoted(text)
        self.terms: list[str] = []
        self.open_groups: list[list[int]] = [[]]
        self.closed: list[list[int]] = []
        self.term = ""
        self.after_group = False

    def open(self) -> None:
        if self.term or self.after_group:
            raise SubscriptError(f"einsum: expected ',' before '(' in {self.text}")
        self.open_groups.append([])

    def close(self) -> None:
        self.end_term()
        if len(self.open_groups) == 1:
            raise SubscriptError(f"einsum: ')' without '(' in {self.text}")
        group = self.open_groups.pop()
        self.open_groups[-1].append(self.count + len(self.closed))
        self.closed.append(group)
        self.after_group = True

    def end_term(self) -> None:
        if not self.after_group:
            self.open_groups[-1].append(len(self.terms))
            self.terms.append(self.term)
        self.term, self.after_group = "", False

    def extend(self, character: str) -> None:
        if self.after_group:
            raise SubscriptError(f"einsum: expected ',' after ')' in {self.text}")
        self.term += character


def _path(groups: list[list[int]], count: int) -> tuple[tuple[int, ...], ...]:
    """Positions in the list of remaining values; each result is appended to that list."""
    live = list(range(count))
    path: list[tuple[int, ...]] = []
    for number, group in enumerate(groups, start=count):
        if len(group) == 1:
            live[live.index(group[0])] = number
            continue
        positions = tuple(live.index(member) for member in group)
        path.append(tuple(sorted(positions)))
        live = [member for member in live if member not in group] + [number]
    return tuple(path)
