"""map: a function of one entry, applied to all entries of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.arrays import rearrange
from tenferro.dispatch import apply
from tenferro.errors import ControlFlowError
from tenferro.loops.bodies import require_function
from tenferro.loops.leaves import Leaves, as_array, leaves_of
from tenferro.loops.running import is_recorded
from tenferro.loops.scan import rounds_of, run_scan
from tenferro.shape import integer_of
from tenferro.traced import also_for_data_sizes, flatten, unflatten
from tenferro.transforms import vmap
from tenferro.typing import PyTree


@also_for_data_sizes
def map(f: Callable[[Any], PyTree], xs: PyTree, *, batch_size: int | None = None) -> PyTree:
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
    >>> tn.map(lambda x: x * x, tn.arange(5), batch_size=2)
    Tensor([ 0,  1,  4,  9, 16])
    """
    require_function("map", "f", f)
    entries = leaves_of(xs, "map: xs")
    if not entries.values:
        raise ControlFlowError("map: xs has no arrays, so there are no entries to map over")
    rounds = rounds_of("map", entries, None)
    if batch_size is None:
        return _one_by_one(f, xs, f)
    size = integer_of(batch_size)
    if size is None or size < 1:
        raise ControlFlowError(f"map: batch_size must be a positive integer, got {batch_size!r}")
    if not isinstance(rounds, int):
        raise ControlFlowError(
            f"map: batch_size needs a known number of entries, but xs has {rounds}; leave it out, "
            "or use vmap"
        )
    return _in_batches(f, entries, rounds, size)


def _one_by_one(f: Callable[[Any], Any], xs: Any, function: Callable[..., Any]) -> Any:
    """The stacked results of `f`, which calls the user's function."""
    nothing = leaves_of(None, "map: init")
    _, ys = run_scan("map", lambda _, x: (None, f(x)), nothing, xs, function=function)
    return ys


def _in_batches(f: Callable[[Any], Any], entries: Leaves, rounds: int, size: int) -> Any:
    """The stacked results of a loop over batches, and of a smaller batch for the rest."""
    values = [as_array(value) for value in entries.values]
    whole = rounds - rounds % size
    rest = unflatten(entries.tree, [value[whole:] for value in values])
    if not whole:
        return _at_once(f, rest)
    chunks = unflatten(
        entries.tree, [_with_shape(v[:whole], (whole // size, size, *v.shape[1:])) for v in values]
    )
    stacked, of_result = flatten(_one_by_one(vmap(f), chunks, f))
    results = [_with_shape(y, (whole, *y.shape[2:])) for y in stacked]
    if whole < rounds:
        last, _ = flatten(_at_once(f, rest))
        results = [
            apply(rearrange.concat, y, z, axis=0) for y, z in zip(results, last, strict=True)
        ]
    return unflatten(of_result, results)


def _at_once(f: Callable[[Any], Any], xs: Any) -> Any:
    """The results for all entries at once; outside of traces by a loop of one round."""
    leaves, tree = flatten(xs)
    if is_recorded(leaves):
        return vmap(f)(xs)
    rows = [_with_shape(leaf, (1, *leaf.shape)) for leaf in leaves]
    results, of_result = flatten(_one_by_one(vmap(f), unflatten(tree, rows), f))
    return unflatten(of_result, [_with_shape(y, y.shape[1:]) for y in results])


def _with_shape(value: Any, shape: tuple[Any, ...]) -> Any:
    return apply(rearrange.reshape, value, shape=shape)
