"""Arguments of transforms: new values that stand for the values that were passed.

The arguments of a transform are always new values. Otherwise an argument could be the same node as
an equal value in the function's closure. If a traced value is passed, the argument is an `Argument`
node on that value, which does not equal any other node. As an op it is the identity: results of the
transform may read it, it can be differentiated, and lowering removes it. Therefore the graph is not
rewritten when a transform ends.
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

    None if simplifications need the op that computed the value, as for constants. The argument
    should then be an input, which is replaced by the value afterwards.
    """
    if isinstance(value, SingleOutputNode) and _primitive(value).seen_through:
        return None
    return op_key(Argument(next(_numbers)), (value,)).output(0)


@contextmanager
def open_arguments(values: Iterable[GlobalValKey]) -> Iterator[None]:
    """A context for tracing the function; the `Argument`s in `values` are open until its end."""
    ops = [_primitive(value) for value in values if type(value) is SingleOutputNode]
    try:
        yield
    finally:
        for op in ops:
            op.mark(is_open=False)


def _primitive(node: SingleOutputNode) -> Any:
    return node.primitive
