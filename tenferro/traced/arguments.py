"""Arguments of transforms: values of their own, which stand for the values that were passed.

A transform's arguments are fresh, whatever is passed: structural identity must not make an argument
and an equal value that the function closes over one. Where a traced value is passed, the argument
is a node on that value, an `Argument`, and no other node is equal to it. As an op it is the
identity: what a transform returns may read it, derivatives go through it, and lowering leaves it
out. So nothing is rewritten when a transform is done.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tenferro.computegraph import GlobalValKey, SingleOutputNode, op_key
from tenferro.ops import Argument

_numbers = itertools.count()


def argument(value: GlobalValKey) -> GlobalValKey | None:
    """A new argument that stands for `value`.

    None if simplifications have to see how the value was made, as with constants: then the argument
    should be an input, and be replaced by the value.
    """
    if isinstance(value, SingleOutputNode) and _primitive(value).seen_through:
        return None
    return op_key(Argument(next(_numbers)), (value,)).output(0)


@contextmanager
def open_arguments(values: Iterable[GlobalValKey]) -> Iterator[None]:
    """A scope in which the function is traced that those of the values which are arguments are of.

    When it ends they are open no longer.
    """
    ops = [_primitive(value) for value in values if type(value) is SingleOutputNode]
    try:
        yield
    finally:
        for op in ops:
            op.mark(is_open=False)


def _primitive(node: SingleOutputNode) -> Any:
    return node.primitive
