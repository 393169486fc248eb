"""The carry of a loop: what goes from round to round, and keeps its structure and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenferro.errors import ControlFlowError, TracingError
from tenferro.loops.bodies import Body
from tenferro.loops.leaves import Leaves, promoted, shown
from tenferro.shape import DType, TensorMeta, short_name
from tenferro.traced import TreeDef


def settled(caller: str, carry: Leaves, trace: Callable[[], tuple[Body, TreeDef, int]]) -> Body:
    """The body, traced at types of the carry that do not change; adapts those of `carry`.

    A Python number takes the dtype that the body gives it. Other dtypes must not change.

    `trace` traces the body at the types of `carry`. It also returns the structure of the carry that
    comes out, and the position of the carry's first leaf among the outputs.

    Raises:
        ControlFlowError: the carry changes its structure or its types.
    """
    while True:
        body, tree, first = trace()
        after = body.metas[first : first + tree.num_leaves]
        if tree != carry.tree:
            raise ControlFlowError(
                f"{caller}: the carry goes in as {carry} and comes out as {shown(tree, after)}; "
                "it must keep its structure"
            )
        changed = False
        for leaf, meta in enumerate(after):
            before, out_weak = carry.metas[leaf], body.weak[first + leaf]
            if promoted(before, carry.weak[leaf], meta):
                carry.metas[leaf], carry.weak[leaf] = meta, out_weak
                changed = True
            elif promoted(meta, out_weak, before):
                body.convert(first + leaf, before.dtype)
        if not changed:
            _check_types(caller, carry, body.metas[first : first + tree.num_leaves])
            return body


def _check_types(caller: str, carry: Leaves, after: list[TensorMeta]) -> None:
    """Raise ControlFlowError unless all leaves keep their types."""
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
    """How to write the start of a leaf so that it has the type `meta`."""
    if meta.rank:
        return short_name(meta.dtype)
    try:
        number = np.asarray(value)
    except TracingError:  # a traced value has no number
        number = np.zeros(())
    return repr(number.astype(meta.dtype).item())


def _result(a: DType, b: DType) -> object:
    try:
        return np.result_type(a, b)
    except TypeError:
        return None
