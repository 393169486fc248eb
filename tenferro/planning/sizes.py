"""Sizes of labels, from the shapes of the operands."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.errors import ShapeError, SubscriptError
from tenferro.planning.subscripts import Label, Subscripts, label_name
from tenferro.shape import Dim, assume_equal, canonical

Sizes = dict[Label, Dim]


def build_size_dict(subscripts: Subscripts, shapes: Sequence[Sequence[Dim]]) -> Sizes:
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
            f"einsum: {subscripts} names {len(subscripts.inputs)} operands, "
            f"but {len(shapes)} are given"
        )
    sizes: Sizes = {}
    source: dict[Label, tuple[int, int]] = {}
    for position, (labels, shape) in enumerate(zip(subscripts.inputs, shapes, strict=True)):
        if len(labels) != len(shape):
            raise SubscriptError(
                f"einsum: operand {position} has {len(shape)} axes {_shape(shape)}, "
                f"but {subscripts} gives it {len(labels)} labels"
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


def _shape(shape: Sequence[Dim]) -> str:
    return f"[{','.join(str(size) for size in shape)}]"
