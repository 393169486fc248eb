"""associative_scan: partial combinations of entries in logarithmic depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.arrays import rearrange
from tenferro.dispatch import apply
from tenferro.errors import AxisError, ControlFlowError
from tenferro.loops.bodies import require_function
from tenferro.loops.counts import as_flag
from tenferro.loops.leaves import Leaves, as_array, leaves_of, promoted
from tenferro.shape import integer_of
from tenferro.traced import also_for_data_sizes, unflatten
from tenferro.typing import PyTree

Leaf = Any


@also_for_data_sizes
def associative_scan(
    fn: Callable[[Any, Any], PyTree], elems: PyTree, reverse: bool = False, axis: int = 0
) -> PyTree:
    """For each entry the combination of all entries up to it, computed in logarithmic depth.

    Entry k of the result is `fn(...fn(fn(x0, x1), x2)..., xk)`. It is computed by slices and
    concatenations with `fn` on many entries at once, in about 2 log2(n) calls.

    Args:
        fn: takes two trees like `elems` with any common size along `axis`, and combines their
            entries. It must be associative.
        elems: a tree of arrays with a common size along `axis`.
        reverse: whether to combine from the last entry to the first.
        axis: the axis of the entries.

    Raises:
        ControlFlowError: the sizes along `axis` differ or are not known, `fn` does not return
            what it takes, or `reverse` is not a bool.
        AxisError: a leaf does not have the axis.
        PytreeError: a leaf is neither an array nor a number.

    >>> import tenferro as tn
    >>> tn.associative_scan(tn.multiply, tn.array([1, 2, 3, 4]))
    Tensor([ 1,  2,  6, 24])
    """
    require_function("associative_scan", "fn", fn)
    backwards = as_flag("associative_scan", "reverse", reverse)
    leaves = leaves_of(elems, "associative_scan: elems")
    axes = _axes(leaves, axis)
    _check_sizes(leaves, axes)
    values = [as_array(value) for value in leaves.values]
    if not values:
        return elems
    scan = _Scan(fn, leaves, axes)
    if backwards:
        values = scan.reversed(values)
    results = scan.of(values)
    return unflatten(leaves.tree, scan.reversed(results) if backwards else results)


class _Scan:
    """The scan of leaves along one axis of each."""

    def __init__(self, fn: Callable[[Any, Any], Any], leaves: Leaves, axes: list[int]) -> None:
        self._fn = fn
        self._leaves = leaves
        self._axes = axes

    def of(self, values: list[Leaf]) -> list[Leaf]:
        """The scan: of pairs first, which gives the odd entries, then of the even ones."""
        count = values[0].shape[self._axes[0]]
        if count < 2:
            return values
        odd = self.of(
            self._combined(self._cut(values, 0, count - 1, 2), self._cut(values, 1, count, 2))
        )
        before = odd if count % 2 else self._cut(odd, 0, count // 2 - 1)
        first = self._cut(values, 0, 1)
        if count == 2:
            return self._joined(first, odd)
        even = self._joined(first, self._combined(before, self._cut(values, 2, count, 2)))
        return [_interleaved(a, b, axis) for a, b, axis in zip(even, odd, self._axes, strict=True)]

    def reversed(self, values: list[Leaf]) -> list[Leaf]:
        """The entries in the other order."""
        return [
            apply(rearrange.flip, value, axis=axis)
            for value, axis in zip(values, self._axes, strict=True)
        ]

    def _cut(self, values: list[Leaf], start: int, stop: int, step: int = 1) -> list[Leaf]:
        return [
            value[(slice(None),) * axis + (slice(start, stop, step),)]
            for value, axis in zip(values, self._axes, strict=True)
        ]

    def _joined(self, first: list[Leaf], second: list[Leaf]) -> list[Leaf]:
        return [
            apply(rearrange.concat, a, b, axis=axis)
            for a, b, axis in zip(first, second, self._axes, strict=True)
        ]

    def _combined(self, first: list[Leaf], second: list[Leaf]) -> list[Leaf]:
        """fn of two lists of leaves.

        Raises:
            ControlFlowError: the result is not like the arguments.
        """
        tree = self._leaves.tree
        result = self._fn(unflatten(tree, first), unflatten(tree, second))
        found = leaves_of(result, "associative_scan: the result of fn")
        taken = leaves_of(unflatten(tree, first), "associative_scan: elems")
        if found.tree == tree:
            pairs = zip(found.metas, found.weak, taken.metas, strict=True)
            found.metas = [
                goal if promoted(meta, weak, goal) else meta for meta, weak, goal in pairs
            ]
        if found.tree != tree or found.metas != taken.metas:
            raise ControlFlowError(
                f"associative_scan: fn takes {taken} and returns {found}; it must return what it "
                "takes"
            )
        return [as_array(value) for value in found.typed()]


def _interleaved(even: Leaf, odd: Leaf, axis: int) -> Leaf:
    """even[0], odd[0], even[1], odd[1], …; there may be one more of the even ones."""
    count = odd.shape[axis]
    cut = (slice(None),) * axis
    pairs = apply(rearrange.stack, even[(*cut, slice(0, count))], odd, axis=axis + 1)
    shape = odd.shape
    joined = apply(rearrange.reshape, pairs, shape=(*shape[:axis], 2 * count, *shape[axis + 1 :]))
    if even.shape[axis] == count:
        return joined
    return apply(rearrange.concat, joined, even[(*cut, slice(count, count + 1))], axis=axis)


def _axes(leaves: Leaves, axis: Any) -> list[int]:
    """The axis of each leaf, not negative.

    Raises:
        AxisError: a leaf does not have it.
    """
    number = integer_of(axis)
    if number is None:
        raise AxisError(f"associative_scan: axis must be an integer, got {axis!r}")
    for path, meta in zip(leaves.paths, leaves.metas, strict=True):
        if not -meta.rank <= axis < meta.rank:
            raise AxisError(
                f"associative_scan: axis {axis} is out of range for elems leaf {path}: {meta}"
            )
    return [int(axis) % meta.rank for meta in leaves.metas]


def _check_sizes(leaves: Leaves, axes: list[int]) -> None:
    """Raise ControlFlowError unless all leaves have one known size along their axis."""
    sizes = [meta.dims[axis] for meta, axis in zip(leaves.metas, axes, strict=True) if meta.dims]
    different = list(dict.fromkeys(sizes))
    if len(different) > 1:
        raise ControlFlowError(
            f"associative_scan: elems leaves have sizes {' and '.join(map(str, different))} along "
            "the axis of the entries"
        )
    if different and not isinstance(different[0], int):
        raise ControlFlowError(
            f"associative_scan: the size {different[0]} of the axis must be known when the "
            "function is traced; use scan"
        )
