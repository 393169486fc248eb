"""map: a function of one entry, applied to all entries of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenferro.errors import ControlFlowError
from tenferro.loops.bodies import require_function
from tenferro.loops.leaves import leaves_of
from tenferro.loops.scan import run_scan

X = TypeVar("X")
Y = TypeVar("Y")


def map(f: Callable[[X], Y], xs: X, *, batch_size: int | None = None) -> Y:
    """The stacked results of `f` for each entry along the first axis of `xs`.

    The entries are taken one after another, in a loop that is compiled once. `f` may read values
    from around the loop.

    Args:
        f: takes an entry of each leaf of `xs` and returns a tree of arrays.
        xs: a tree of arrays with a common size along axis 0.
        batch_size: the number of entries that are taken at once, by `vmap`.

    Raises:
        ControlFlowError: the lengths of `xs` differ, or `xs` has no leaf.
        PytreeError: a leaf is neither an array nor a number.
        UnsupportedDynamicShapeError: data decide a size in the loop.

    >>> import tenferro as tn
    >>> tn.map(lambda x: tn.sum(x * x), tn.array([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([ 5., 25.])
    """
    require_function("map", "f", f)
    if batch_size is not None:
        raise ControlFlowError("map: batch_size is not supported yet")
    if not leaves_of(xs, "map: xs").values:
        raise ControlFlowError("map: xs has no arrays, so there are no entries to map over")
    nothing = leaves_of(None, "map: init")
    _, ys = run_scan("map", lambda _, x: (None, f(x)), nothing, xs, function=f)
    return ys  # type: ignore[no-any-return]
