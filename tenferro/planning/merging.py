"""Tensors with equal labels are multiplied first, so that a planner sees a smaller network."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.planning.paths import Pairs
from tenferro.planning.subscripts import Label, Labels, Subscripts
from tenferro.planning.tree import entering_labels


@dataclass(frozen=True, slots=True)
class Merged:
    """A network whose operands have different labels, and how it follows from another.

    Multiplying two operands of equal labels never gives a larger value, so it costs no order that
    is worth finding. It may leave labels that only one value has; then further operands are equal.

    >>> merged = Merged.of(Subscripts.parse("ab,b,ab,b->a"))
    >>> print(merged.subscripts, merged.before, merged.expand(((0, 1),)))
    ab,b->a ((0, 2), (1, 3)) ((0, 2), (1, 3), (4, 5))

    Attributes:
        subscripts: the labels of the operands that are left.
        numbers: the values of the other network that they are.
        before: the products that come first.
        count: the number of operands of the other network.
    """

    subscripts: Subscripts
    numbers: tuple[int, ...]
    before: Pairs
    count: int

    @classmethod
    def of(cls, subscripts: Subscripts) -> Merged:
        """The network with the products of equal operands taken, until all are different."""
        count = len(subscripts.inputs)
        pairs: list[tuple[int, int]] = []
        live = list(range(count))
        while True:
            terms = entering_labels(subscripts)
            groups: dict[frozenset[Label], list[int]] = {}
            for number, term in zip(live, terms, strict=True):
                groups.setdefault(frozenset(term), []).append(number)
            labels = dict(zip(live, terms, strict=True))
            equal = len(groups) == len(live)
            live = []
            for members in groups.values():
                product = _product(members, count, pairs)
                labels[product] = labels[members[0]]
                live.append(product)
            reduced: tuple[Labels, ...] = tuple(labels[number] for number in live)
            subscripts = Subscripts(reduced, subscripts.output)
            if equal:
                return cls(subscripts, tuple(live), tuple(pairs), count)

    def expand(self, pairs: Pairs) -> Pairs:
        """The contractions of the other network that contractions of this one mean."""
        left, first = len(self.numbers), self.count + len(self.before)

        def value(number: int) -> int:
            return self.numbers[number] if number < left else first + number - left

        return (*self.before, *((value(a), value(b)) for a, b in pairs))


def _product(members: list[int], count: int, pairs: list[tuple[int, int]]) -> int:
    """The value that a balanced tree of products of `members` ends with."""
    while len(members) > 1:
        products = []
        for left, right in zip(members[::2], members[1::2], strict=False):
            pairs.append((left, right))
            products.append(count + len(pairs) - 1)
        members = products + members[2 * len(products) :]
    return members[0]
