"""Subscripts: labels of axes, their sizes, and parentheses as an order."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.errors import ShapeError, SubscriptError, counted
from tenferro.ir import Dim, assume_equal, canonical

__all__ = [
    "Label",
    "Labels",
    "NestedEinsum",
    "Sizes",
    "Subscripts",
    "build_size_dict",
    "is_lettered",
    "labels_text",
]


Label = int
"""An index: the code point of a character, any integer, or negative for an ellipsis."""
Labels = tuple[Label, ...]

ELLIPSIS: Any = ...


@dataclass(frozen=True, slots=True)
class Subscripts:
    """The labels of each operand and of the result.

    >>> print(Subscripts.parse("ij,jk->ik"))
    ij,jk->ik
    >>> Subscripts.parse("ij,jk") == Subscripts.parse("ij,jk->ik")
    True
    """

    inputs: tuple[Labels, ...]
    output: Labels

    @classmethod
    def parse(cls, text: str, ranks: Sequence[int] | None = None) -> Subscripts:
        """Read subscripts in NumPy's notation, without parentheses.

        Args:
            text: subscripts such as `"ij,jk->ik"`. Without `->` the output has the labels that
                occur once, in ascending order. Blanks are ignored. `...` stands for the axes
                without labels.
            ranks: ranks of the operands; needed for `...` only.

        Raises:
            SubscriptError: the text is not subscripts, or has parentheses, which
                `NestedEinsum.parse` reads.
        """
        compact = "".join(text.split())
        if "(" in compact or ")" in compact:
            raise SubscriptError(
                f"einsum: {quoted(text)} has parentheses; NestedEinsum.parse reads an order"
            )
        left, arrow, right = compact.partition("->")
        inputs = [_letters(part, text) for part in left.split(",")]
        return cls._of_terms(inputs, _letters(right, text) if arrow else None, ranks, quoted(text))

    @classmethod
    def from_labels(
        cls,
        inputs: Sequence[Sequence[Any]],
        output: Sequence[Any] | None = None,
        ranks: Sequence[int] | None = None,
    ) -> Subscripts:
        """Subscripts from lists of integers, in which `...` may stand.

        >>> print(Subscripts.from_labels([[0, 1], [1, 2]]))
        [0,1],[1,2]->[0,2]
        """
        terms = [_integers(term) for term in inputs]
        target = None if output is None else _integers(output)
        return cls._of_terms(terms, target, ranks, "the lists of labels")

    @classmethod
    def _of_terms(
        cls,
        inputs: list[list[Any]],
        output: list[Any] | None,
        ranks: Sequence[int] | None,
        source: str,
    ) -> Subscripts:
        if any(ELLIPSIS in term for term in [*inputs, output or []]):
            inputs, output = _without_ellipsis(inputs, output, ranks, source)
        elif output is None:
            output = _implicit(inputs)
        known = {label for term in inputs for label in term}
        for label in output:
            if label not in known:
                raise SubscriptError(
                    f"einsum: output label {label_name(label)!r} of {source} occurs in no operand"
                )
        return cls(tuple(tuple(term) for term in inputs), tuple(output))

    def canonical(self) -> Subscripts:
        """The subscripts with labels numbered by first occurrence; equal networks become equal."""
        numbers: dict[Label, int] = {}
        for term in (*self.inputs, self.output):
            for label in term:
                numbers.setdefault(label, len(numbers))
        return Subscripts(
            tuple(tuple(numbers[label] for label in term) for term in self.inputs),
            tuple(numbers[label] for label in self.output),
        )

    def __str__(self) -> str:
        terms = ",".join(labels_text(term, self._lettered) for term in self.inputs)
        return f"{terms}->{labels_text(self.output, self._lettered)}"

    @property
    def _lettered(self) -> bool:
        return is_lettered(label for term in self.inputs for label in term)


def quoted(text: str) -> str:
    """Subscripts as error messages quote them: long ones are shortened."""
    return repr(text if len(text) <= 80 else f"{text[:60]} ... {text[-15:]}")


def is_lettered(labels: Any) -> bool:
    """Whether all labels are code points of printable characters."""
    return all(
        label < 0 or (32 < label < sys.maxunicode and not chr(label).isspace()) for label in labels
    )


def label_name(label: Label, lettered: bool = True) -> str:
    """A label as the user wrote it: a letter or a number; for an axis of an ellipsis `...[-1]`."""
    if label < 0:
        return f"...[{label}]"
    return chr(label) if lettered and is_lettered([label]) else str(label)


def labels_text(labels: Sequence[Label], lettered: bool) -> str:
    """The labels of one operand.

    >>> labels_text((105, 106), True), labels_text((0, 1), False)
    ('ij', '[0,1]')
    """
    visible = [label_name(label, lettered) for label in labels if label >= 0]
    if any(label < 0 for label in labels):
        first = next(i for i, label in enumerate(labels) if label < 0)
        visible.insert(first, "...")
    return "".join(visible) if lettered else f"[{','.join(visible)}]"


def _letters(part: str, text: str) -> list[Any]:
    before, dots, after = part.partition("...")
    for character in before + after:
        if character in "->.":
            raise SubscriptError(
                f"einsum: {character!r} in {quoted(text)} is not a label; a label is one letter, "
                "'...' stands for the axes without labels, ',' separates operands"
            )
    return [*map(ord, before), *([ELLIPSIS] if dots else []), *map(ord, after)]


def _integers(term: Sequence[Any]) -> list[Any]:
    labels: list[Any] = []
    for label in term:
        if label is not ELLIPSIS and (isinstance(label, bool) or not hasattr(label, "__index__")):
            raise SubscriptError(
                f"einsum: {label!r} is not a label; labels are integers of at least 0"
            )
        number = label if label is ELLIPSIS else label.__index__()
        if number is not ELLIPSIS and number < 0:
            raise SubscriptError(f"einsum: label {number} is negative; labels start at 0")
        labels.append(number)
    if labels.count(ELLIPSIS) > 1:
        raise SubscriptError("einsum: an operand's labels hold '...' twice")
    return labels


def _implicit(inputs: Sequence[Sequence[Label]]) -> list[Label]:
    count = Counter(label for term in inputs for label in term)
    return sorted(label for label, times in count.items() if times == 1)


def _without_ellipsis(
    inputs: list[list[Any]], output: list[Any] | None, ranks: Sequence[int] | None, source: str
) -> tuple[list[list[Label]], list[Label]]:
    """Terms in which the labels …, -2, -1 of the last axes of `...` replace it."""
    if ranks is None:
        raise SubscriptError(
            f"einsum: {source} has '...', whose number of axes follows from the operands; pass "
            "their ranks"
        )
    if len(ranks) != len(inputs):
        raise SubscriptError(
            f"einsum: {source} names {counted(len(inputs), 'operand')}, but {len(ranks)} are given"
        )
    filled: list[list[Label]] = []
    widest = 0
    for position, (term, rank) in enumerate(zip(inputs, ranks, strict=True)):
        if ELLIPSIS not in term:
            filled.append(term)
            continue
        width = rank - (len(term) - 1)
        if width < 0:
            raise SubscriptError(
                f"einsum: operand {position} has {counted(rank, 'axis', 'axes')}, but {source} "
                f"names {len(term) - 1} of them"
            )
        widest = max(widest, width)
        filled.append(_expanded(term, width))
    if output is None:
        named = _implicit([[x for x in term if x is not ELLIPSIS] for term in inputs])
        return filled, [*range(-widest, 0), *named]
    return filled, _expanded(output, widest) if ELLIPSIS in output else output


def _expanded(term: list[Any], width: int) -> list[Label]:
    position = term.index(ELLIPSIS)
    return [*term[:position], *range(-width, 0), *term[position + 1 :]]


# Sizes of labels, from the shapes of the operands.

Sizes = Mapping[Label, Dim]


def build_size_dict(subscripts: Subscripts, shapes: Sequence[Sequence[Dim]]) -> dict[Label, Dim]:
    """The size of each label. A size of 1 broadcasts to any other, as in NumPy.

    On the axes of one operand, which have one label for a diagonal, sizes must be equal.
    Symbolic sizes that cannot be compared yet are assumed equal, and none of them to be 1, as array
    functions do; the size of the label is the simplest one.

    Raises:
        SubscriptError: the number of operands or the rank of an operand does not fit the
            subscripts.
        ShapeError: a label has two sizes; names the label, the operands and their axes.

    >>> build_size_dict(Subscripts.parse("ij,jk->ik"), [(2, 3), (3, 4)])
    {105: 2, 106: 3, 107: 4}
    """
    if len(shapes) != len(subscripts.inputs):
        raise SubscriptError(
            f"einsum: {subscripts} names {counted(len(subscripts.inputs), 'operand')}, but "
            f"{len(shapes)} are given"
        )
    sizes: dict[Label, Dim] = {}
    source: dict[Label, tuple[int, int]] = {}
    for position, (labels, shape) in enumerate(zip(subscripts.inputs, shapes, strict=True)):
        if len(labels) != len(shape):
            raise SubscriptError(
                f"einsum: operand {position} has {counted(len(shape), 'axis', 'axes')} "
                f"[{','.join(map(str, shape))}], but {subscripts} gives it "
                f"{counted(len(labels), 'label')}"
            )
        diagonals = len(set(labels)) < len(labels)
        for axis, (label, size) in enumerate(zip(labels, shape, strict=True)):
            if diagonals:
                _check_diagonal(subscripts, position, axis, shape)
            known = sizes.get(label, 1)
            if known == 1:
                sizes[label] = size
                source[label] = (position, axis)
                continue
            common = known if size == 1 else canonical(known, size)
            if common is None:
                first_operand, first_axis = source[label]
                raise ShapeError(
                    f"einsum: label {label_name(label)!r} of {subscripts} has size {known} on axis "
                    f"{first_axis} of operand {first_operand} and size {size} on axis {axis} of "
                    f"operand {position}"
                )
            if size != 1:
                assume_equal(known, size, f"einsum: label {label_name(label)!r} of {subscripts}")
            if common != known:
                sizes[label] = common
                source[label] = (position, axis)
    return sizes


def _check_diagonal(subscripts: Subscripts, position: int, axis: int, shape: Sequence[Dim]) -> None:
    """Raise ShapeError if an axis has another size than the first one with its label."""
    labels, size = subscripts.inputs[position], shape[axis]
    first = labels.index(labels[axis])
    name = label_name(labels[axis])
    if canonical(size, shape[first]) is None:
        raise ShapeError(
            f"einsum: label {name!r} of {subscripts} is the diagonal of axes {first} and {axis} of "
            f"operand {position}, which have sizes {shape[first]} and {size}"
        )
    assume_equal(shape[first], size, f"einsum: label {name!r} of {subscripts}")


# NestedEinsum: subscripts whose parentheses give the contraction order.


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
