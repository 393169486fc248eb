"""ContractionTree: a contraction order with its costs; paths and pairs, two notations of orders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tenferro.compiler import DeviceCosts
from tenferro.errors import PathError, ShapeError, counted
from tenferro.network.subscripts import Label, Labels, Subscripts, build_size_dict

__all__ = [
    "ContractionTree",
    "LinearPath",
    "Pairs",
    "Step",
    "concrete_sizes",
    "entering_labels",
    "left_to_right",
    "pairs_of_path",
    "path_of_pairs",
    "step_seconds",
    "steps_of",
    "tree_seconds",
]


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
            f"einsum: the path leaves {len(live)} of {counted(count, 'operand')} uncontracted; it "
            "must end with one"
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


# ContractionTree: pairwise contractions with their labels, sizes and costs.


@dataclass(frozen=True, slots=True)
class Step:
    """One contraction of two values.

    Attributes:
        left, right: numbers of the values: operands from 0 on, then results.
        left_labels, right_labels: their labels, each once.
        batch: labels of both operands that the result has.
        contracted: labels of both operands that are summed over.
        left_free, right_free: labels of one operand that the result has.
    """

    left: int
    right: int
    left_labels: Labels
    right_labels: Labels
    batch: Labels
    contracted: Labels
    left_free: Labels
    right_free: Labels

    @property
    def labels(self) -> Labels:
        """Labels of the result, in the order of a contraction's axes."""
        return (*self.batch, *self.left_free, *self.right_free)


@dataclass(frozen=True)
class ContractionTree:
    """A network of known sizes and its contraction order.

    Before the first contraction, each operand with a repeated label is replaced by its diagonal,
    and summed over the labels that only it has.

    >>> tree = ContractionTree.of(Subscripts.parse("ij,jk,kl->il"), [(2, 3), (3, 4), (4, 5)],
    ...                           [(0, 1), (0, 1)])
    >>> tree.flops, tree.largest
    (128, 10)
    """

    subscripts: Subscripts
    sizes: Mapping[Label, int]
    pairs: Pairs

    @classmethod
    def of(
        cls,
        subscripts: Subscripts,
        shapes: Sequence[Sequence[int]],
        path: Sequence[Sequence[int]],
    ) -> ContractionTree:
        """The tree of a path over operands of these shapes.

        Raises:
            SubscriptError, ShapeError: the shapes do not fit the subscripts.
            PathError: the path does not contract the operands to one value.
        """
        sizes = concrete_sizes(subscripts, shapes)
        return cls(subscripts, sizes, pairs_of_path(path, len(subscripts.inputs)))

    def __post_init__(self) -> None:
        ordered = tuple((min(pair), max(pair)) for pair in self.pairs)
        object.__setattr__(self, "pairs", ordered)
        missing = {label for term in self.subscripts.inputs for label in term} - set(self.sizes)
        if missing:
            raise PathError(f"einsum: the labels {sorted(missing)} have no sizes; pass their sizes")

    @property
    def path(self) -> LinearPath:
        """Pairs of positions in the shrinking list of remaining values."""
        return path_of_pairs(self.pairs, len(self.subscripts.inputs))

    @cached_property
    def entering(self) -> tuple[Labels, ...]:
        """Labels of each operand after its diagonals and sums."""
        return entering_labels(self.subscripts)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The contractions, in order."""
        return steps_of(self.subscripts, self.pairs)

    @cached_property
    def value_labels(self) -> tuple[Labels, ...]:
        """Labels of all values by number: operands, then results."""
        return (*self.entering, *(step.labels for step in self.steps))

    def size(self, labels: Sequence[Label]) -> int:
        """Number of elements of a value with these labels."""
        return math.prod(self.sizes[label] for label in labels)

    def step_flops(self, step: Step) -> int:
        """Multiplications and additions of one step on real numbers."""
        everything = self.size((*step.labels, *step.contracted))
        return everything * (2 if step.contracted else 1)

    @cached_property
    def flops(self) -> int:
        """Multiplications and additions of all steps on real numbers."""
        return sum(self.step_flops(step) for step in self.steps)

    @cached_property
    def largest(self) -> int:
        """Number of elements of the largest result of a step."""
        return max((self.size(step.labels) for step in self.steps), default=0)

    @cached_property
    def peak(self) -> int:
        """Most elements of results of steps that are alive at one time.

        The operands of a step are alive during the step. Operands of the network belong to the
        caller and are not counted.
        """
        count = len(self.subscripts.inputs)
        live = highest = 0
        for step in self.steps:
            live += self.size(step.labels)
            highest = max(highest, live)
            for value in (step.left, step.right):
                if value >= count:
                    live -= self.size(self.value_labels[value])
        return highest

    def gemm(self, step: Step) -> tuple[int, int, int, int]:
        """A step as a batch of matrix products: batch, M, N, K."""
        groups = (step.batch, step.left_free, step.right_free, step.contracted)
        b, m, n, k = (self.size(group) for group in groups)
        return b, m, n, k


def concrete_sizes(subscripts: Subscripts, shapes: Sequence[Sequence[int]]) -> dict[Label, int]:
    """The size of each label, as a number.

    Raises:
        ShapeError: a size is symbolic.
    """
    sizes: dict[Label, int] = {}
    for label, size in build_size_dict(subscripts, shapes).items():
        if not isinstance(size, int):
            raise ShapeError(
                f"einsum: a contraction tree needs known sizes, but one is {size}; pass a path, or "
                "plan automatically when the program runs"
            )
        sizes[label] = size
    return sizes


def entering_labels(subscripts: Subscripts) -> tuple[Labels, ...]:
    """Labels of each operand, each once, that the output or another operand has too."""
    owners = Counter(label for term in subscripts.inputs for label in set(term))
    output = set(subscripts.output)
    return tuple(
        tuple(label for label in dict.fromkeys(term) if owners[label] > 1 or label in output)
        for term in subscripts.inputs
    )


def steps_of(subscripts: Subscripts, pairs: Pairs) -> tuple[Step, ...]:
    """The contractions of `pairs`.

    A label is summed over once neither the output nor a remaining value has it.
    """
    values = list(entering_labels(subscripts))
    owners = Counter(label for term in values for label in term)
    output = set(subscripts.output)
    steps: list[Step] = []
    for left, right in pairs:
        step = _step(left, right, values[left], values[right], owners, output)
        for label in (*step.batch, *step.contracted):
            owners[label] -= 1  # one value has the label now; two had it before the step
        for label in step.contracted:
            owners[label] -= 1
        values.append(step.labels)
        steps.append(step)
    return tuple(steps)


def _step(
    left: int, right: int, a: Labels, b: Labels, owners: Mapping[Label, int], output: set[Label]
) -> Step:
    in_a, in_b = set(a), set(b)
    common = [label for label in a if label in in_b]
    contracted = tuple(label for label in common if owners[label] == 2 and label not in output)
    summed = set(contracted)
    return Step(
        left,
        right,
        a,
        b,
        tuple(label for label in common if label not in summed),
        contracted,
        tuple(label for label in a if label not in in_b),
        tuple(label for label in b if label not in in_a),
    )


# Predicted run time of a contraction order on a device.


def step_seconds(costs: DeviceCosts, tree: ContractionTree, step: Step, itemsize: int = 8) -> float:
    """Predicted time of one step; a step without contracted labels is an elementwise product."""
    batch, m, n, k = tree.gemm(step)
    return costs.contraction(batch, m, n, k if step.contracted else 1, itemsize)


def tree_seconds(costs: DeviceCosts, tree: ContractionTree, itemsize: int = 8) -> float:
    """Predicted time of all steps."""
    return sum(step_seconds(costs, tree, step, itemsize) for step in tree.steps)


# Tensors with equal labels are multiplied first, so that a planner sees a smaller network.


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
