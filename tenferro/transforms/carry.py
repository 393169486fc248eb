"""The carry of loops, which keeps its structure and types from iteration to iteration.

Loops are recorded with their bodies; where `disable_jit` says so, Python runs them. Both ways ask
the same of what a body returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenferro.errors import ControlFlowError, TracingError
from tenferro.ir import DType, Number, TensorMeta, common_dtype, short_name
from tenferro.ops.functions import apply, manipulation
from tenferro.runtime import Tensor
from tenferro.transforms.device_axes import differing
from tenferro.transforms.higher_order import Leaves, as_array, leaves_of, promoted
from tenferro.transforms.jit_arguments import jit_is_disabled
from tenferro.transforms.trace import Trace
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import TreeDef, shown, unflatten

__all__ = ["PythonLoop", "in_python", "stable_body"]


# A loop that is recorded: its body is traced until the types of the carry stay.


def stable_body(
    caller: str, carry: Leaves, trace: Callable[[], tuple[Trace, TreeDef, int]]
) -> Trace:
    """The body, traced at types of the carry that do not change; adapts those of `carry`.

    A Python number takes the dtype that the body gives it. Other dtypes must not change. In
    `shard_map`, what devices have in common at first and not after an iteration differs from the
    start on.

    `trace` traces the body at the types of `carry`. It also returns the structure of the carry that
    comes out, and the position of the carry's first leaf among the outputs.
    """
    while True:
        body, tree, first = trace()
        last = first + tree.num_leaves
        changed, yielding = _adapt(caller, carry, tree, body.metas[first:last], body.weak[first:])
        for leaf in yielding:
            body.convert(first + leaf, carry.metas[leaf].dtype)
        if body.axes:
            for leaf, value in enumerate(carry.values):
                carry.values[leaf] = differing(value, body.axes[first + leaf])
                changed |= carry.values[leaf] is not value
        if not changed:
            _require_same(caller, carry, body.metas[first:last])
            return body


def _adapt(
    caller: str,
    carry: Leaves,
    tree: TreeDef,
    metas: Sequence[TensorMeta],
    weak: Sequence[Number | None],
) -> tuple[bool, list[int]]:
    """Let weak leaves of the carry take the types that come out of a body.

    Returns whether one did, and the leaves that come out weak and yield to the types of the carry.
    """
    if tree != carry.tree:
        raise ControlFlowError(
            f"{caller}: the carry goes in as {carry} and comes out as {shown(tree, metas)}; "
            "it must keep its structure"
        )
    changed, yielding = False, []
    for leaf, (meta, number) in enumerate(zip(metas, weak, strict=False)):
        before = carry.metas[leaf]
        if promoted(before, carry.weak[leaf], meta):
            carry.metas[leaf], carry.weak[leaf] = meta, number
            changed = True
        elif promoted(meta, number, before):
            yielding.append(leaf)
    return changed, yielding


def _require_same(caller: str, carry: Leaves, after: list[TensorMeta]) -> None:
    """Raise ControlFlowError if the carry comes out of an iteration with other types."""
    wrong = [leaf for leaf, meta in enumerate(after) if meta != carry.metas[leaf]]
    if not wrong:
        return
    (leaf, *others) = wrong
    before, meta = carry.metas[leaf], after[leaf]
    widened = before.extents == meta.extents and _result(before.dtype, meta.dtype) == meta.dtype
    if widened and not others:
        raise ControlFlowError(
            f"{caller}: carry leaf {carry.paths[leaf]} starts as {before} and becomes {meta}; "
            f"start it as {_start(carry.values[leaf], meta)}"
        )
    paths = " and ".join(carry.paths[leaf] for leaf in wrong)
    keep = "leaves {} must keep their types" if others else "leaf {} must keep its type"
    raise ControlFlowError(
        f"{caller}: the carry goes in as {carry} and comes out as {shown(carry.tree, after)}; "
        f"{keep.format(paths)}"
    )


def _start(value: Any, meta: TensorMeta) -> str:
    if meta.rank:
        return short_name(meta.dtype)
    try:
        number = np.asarray(value)
    except TracingError:  # a traced value has no number
        number = np.zeros(())
    return repr(number.astype(meta.dtype).item())


def _result(a: DType, b: DType) -> object:
    try:
        return common_dtype(a, b)
    except TypeError:
        return None


# A loop that Python runs.


def in_python(*values: Any) -> bool:
    """Whether Python runs a loop or branch that depends on these values, if it knows them."""
    return jit_is_disabled.get() and all(
        not isinstance(value, TracedTensor) or value.elements is not None for value in values
    )


class PythonLoop:
    """The carry and the rows of a loop whose iterations Python runs, one after the other.

    A leaf whose dtype is weak is a Python number in all iterations, as it is weak in a trace; all
    others are arrays.
    """

    def __init__(self, caller: str, carry: Leaves) -> None:
        self._caller = caller
        self._carry = carry
        self._adapted = True
        self._rows: list[Leaves] = []
        self._take(carry)

    @property
    def carry(self) -> Any:
        """What the next iteration gets."""
        return unflatten(self._carry.tree, self._carry.values)

    @property
    def result(self) -> Any:
        """What goes out of the last iteration: arrays."""
        return unflatten(self._carry.tree, list(map(as_array, self._carry.typed())))

    def follow(self, result: Any) -> None:
        """Take what an iteration returns as the carry.

        Raises:
            ControlFlowError: it has other types than the carry.
        """
        carry, caller = self._carry, self._caller
        after = leaves_of(result, f"{caller}: the carry")
        self._adapted, yielding = _adapt(caller, carry, after.tree, after.metas, after.weak)
        for leaf in yielding:
            after.metas[leaf] = carry.metas[leaf]
        _require_same(caller, carry, after.metas)
        self._take(after)

    def _take(self, leaves: Leaves) -> None:
        self._carry.values = list(map(_as_carried, leaves.typed(), self._carry.weak))

    def add_row(self, row: Any) -> None:
        """Take a row of the results. It is for the carry before `follow` changes it.

        Raises:
            ControlFlowError: it has other types than the rows before it.
        """
        own = leaves_of(row, f"{self._caller}: y")
        if self._rows:
            before = self._rows[-1]
            pairs = zip(before.metas, before.weak, own.metas, own.weak, strict=True)
            if own.tree != before.tree:
                what = f"structures, {before.tree} and {own.tree}"
            elif not self._adapted and not all(_one_type(*pair) for pair in pairs):
                what = f"types, {before} and {own}"
            else:
                what = ""
            if what:
                raise ControlFlowError(f"{self._caller}: f returns ys of two {what}")
        self._rows.append(own)

    def stacked(self, backwards: bool) -> Any:
        """The rows, stacked along a new axis 0."""
        rows = self._rows[::-1] if backwards else self._rows
        columns = zip(*(row.values for row in rows), strict=True)
        stacked: list[Any] = [apply(manipulation.stack, *column, axis=0) for column in columns]
        return unflatten(rows[0].tree, stacked)


def _as_carried(value: Any, weak: Number | None) -> Any:
    """A leaf of its type as the next iteration gets it."""
    if isinstance(value, TracedTensor):
        return TracedTensor(value.key, weak, value.scope)
    array = as_array(value)
    return array.item() if weak is not None and type(array) is Tensor else array


def _one_type(
    meta: TensorMeta, weak: Number | None, other: TensorMeta, other_weak: Number | None
) -> bool:
    return meta == other or promoted(meta, weak, other) or promoted(other, other_weak, meta)
