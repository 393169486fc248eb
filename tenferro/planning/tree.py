"""ContractionTree: pairwise contractions with their labels, sizes and costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tenferro.errors import PathError, ShapeError
from tenferro.planning.paths import LinearPath, Pairs, pairs_of_path, path_of_pairs
from tenferro.planning.sizes import build_size_dict
from tenferro.planning.subscripts import Label, Labels, Subscripts


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
