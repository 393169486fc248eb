"""scan, map and associative_scan."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, overload

from tenferro.errors import AxisError, ControlFlowError, class_of
from tenferro.ir import Dim, PyTree, TensorMeta, integer_of
from tenferro.ops.control_flow import CheckpointedScan, Scan
from tenferro.ops.functions import apply, manipulation
from tenferro.transforms.higher_order import (
    Bodies,
    Call,
    Leaves,
    NoResultError,
    as_array,
    in_python,
    is_recorded,
    leaves_of,
    operands_of,
    promoted,
    require_function,
    run,
)
from tenferro.transforms.program import wraps
from tenferro.transforms.signatures import R, Single, Tree, Unannotated
from tenferro.transforms.trace import Trace, also_for_data_sizes
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import TreeDef, flatten, unflatten
from tenferro.transforms.vmap import vmap
from tenferro.transforms.while_loop import (
    PythonLoop,
    as_count,
    as_flag,
    as_levels,
    as_unroll,
    stable_body,
)

__all__ = ["associative_scan", "map", "scan"]


# scan and map: a loop over the first axis of arrays.


@overload
def scan(
    f: Unannotated | Callable[[Tree, Any], tuple[Tree, R]],
    init: Tree | Single,
    xs: PyTree = None,
    length: Dim | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoints: int | None = None,
) -> tuple[Tree, R]: ...


@overload
def scan(
    f: Callable[[Any, Any], tuple[PyTree, PyTree]],
    init: PyTree,
    xs: PyTree = None,
    length: Dim | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoints: int | None = None,
) -> tuple[PyTree, PyTree]: ...


@also_for_data_sizes
def scan(
    f: Callable[..., PyTree],
    init: PyTree,
    xs: PyTree = None,
    length: Dim | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoints: int | None = None,
) -> tuple[PyTree, PyTree]:
    """The last carry and the stacked ys of a loop over the first axis of `xs`.

    The loop calls `carry, y = f(carry, x)` for each x; it is compiled once, whatever its length.
    All arguments and results are trees of arrays. `f` may read values from around the loop.

    Args:
        f: takes the carry and an entry of each leaf of `xs`; returns the next carry, of the same
            structure and types, and y. It is traced: Python's control flow is executed once.
        init: the carry of the first iteration. A Python number takes the dtype that `f` gives it.
        xs: arrays with a common size along axis 0. None: `f` gets None for x.
        length: the number of iterations; needed if `xs` is None. It may be a size of the program.
        reverse: whether to go from the last entry to the first. The ys are not reversed.
        unroll: number of iterations that an executor may compile as one; True for all. With 1 it
            chooses: more than one where each start takes time, as on GPUs.
        checkpoints: what derivatives in reverse mode store. None: all that they read of each
            iteration, or, where the whole does not fit a cache and an iteration takes less than to
            write and read its values, the carries. k: about the k-th root of the number of
            iterations of carries, on each of k levels; the other values are computed again, up to
            k times.

    Raises:
        ControlFlowError: the carry changes its structure or types, the lengths of `xs` differ, or
            `f` does not return a pair.
        PytreeError: a leaf is neither an array nor a number.
        UnsupportedDynamicShapeError: data decide a size in the loop.

    >>> import tenferro as tn
    >>> total, partial = tn.scan(lambda c, x: (c + x, c * x), 0.0, tn.array([1.0, 2.0, 3.0]))
    >>> total, partial
    (Tensor(6.), Tensor([0., 2., 9.]))
    >>> decay = tn.array([0.5, 2.0])
    >>> tn.scan(lambda c, _: (c * decay, None), tn.ones(2), length=3)
    (Tensor([0.125, 8.   ]), None)
    """
    require_function("scan", "f", f)
    start = leaves_of(init, "scan: init")
    return run_scan(
        "scan", f, start, xs, length, reverse=reverse, unroll=unroll, checkpoints=checkpoints
    )


def run_scan(
    caller: str,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Leaves,
    xs: PyTree,
    length: Any = None,
    *,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoints: int | None = None,
    function: Callable[..., Any] | None = None,
) -> tuple[Any, Any]:
    """The last carry and the ys of a loop for the function `caller`.

    `function` is the user's function, if `f` only calls it.
    """
    entries = leaves_of(xs, f"{caller}: xs")
    iterations = length_of(caller, entries, length)
    backwards, at_once = as_flag(caller, "reverse", reverse), as_unroll(caller, unroll, iterations)
    levels = as_levels(caller, checkpoints, iterations)
    rows = [TensorMeta(meta.dtype, meta.extents[1:]) for meta in entries.metas]
    count = len(init.values)
    bodies = Bodies(caller)

    def paired(carry: Any, x: Any) -> Any:
        result: Any = f(carry, x)
        several = isinstance(result, tuple | list)
        if not several or len(result) != 2:
            kind = f"{class_of(result)}{f' of {len(result)}' if several else ''}"
            raise ControlFlowError(f"{caller}: f must return a pair (carry, y), got {kind}")
        return tuple(result)

    if in_python() and isinstance(iterations, int) and iterations:
        return _in_python(caller, paired, init, entries, iterations, backwards)

    def arguments(values: list[TracedTensor]) -> Call:
        carry, entry = values[:count], values[count:]
        return (unflatten(init.tree, carry), unflatten(entries.tree, entry)), {}

    wraps(f, paired)  # errors name the arguments of f

    def trace() -> tuple[Trace, TreeDef, int]:
        weak = [*init.weak, *[None] * len(rows)]
        passed = [*init.values, *entries.values]
        of = function or f
        body = bodies.trace("f", paired, [*init.metas, *rows], weak, arguments, passed, of)
        return body, body.tree.child(0), 0

    try:
        body = stable_body(caller, init, trace)
    except NoResultError:

        def counting(state: Any, x: Any) -> Any:
            carry, y = f(state[0], x)
            return (carry, state[1]), y

        state = leaves_of((unflatten(init.tree, init.values), 0), f"{caller}: init")
        last, ys = run_scan(
            caller,
            counting,
            state,
            xs,
            length,
            reverse=reverse,
            unroll=unroll,
            checkpoints=checkpoints,
            function=function or f,
        )
        return last[0], ys
    consts = bodies.closed_over(body)
    program = bodies.program("f", consts, body)
    fields = program, len(consts), count, iterations, backwards, at_once
    op = CheckpointedScan(*fields, levels) if levels else Scan(*fields)
    results = run(op, [*operands_of(consts), *init.typed(), *entries.values], bodies)
    return unflatten(init.tree, results[:count]), unflatten(body.tree.child(1), results[count:])


def _in_python(
    caller: str,
    f: Callable[[Any, Any], Any],
    init: Leaves,
    entries: Leaves,
    iterations: int,
    backwards: bool,
) -> tuple[Any, Any]:
    """The last carry and the ys of a loop that Python runs."""
    loop, rows = PythonLoop(caller, init), [as_array(each) for each in entries.values]
    for number in sorted(range(iterations), reverse=backwards):
        carry, y = f(loop.carry, unflatten(entries.tree, [row[number] for row in rows]))
        loop.add_row(y)
        loop.follow(carry)
    return loop.result, loop.stacked(backwards)


def length_of(caller: str, entries: Leaves, length: Any) -> Dim:
    """The number of iterations."""
    for path, meta in zip(entries.paths, entries.metas, strict=True):
        if not meta.rank:
            raise ControlFlowError(
                f"{caller}: xs leaf {path} is {meta}, which has no axis 0 to loop over; "
                "pass an array, or let the function close over it"
            )
    sizes = [meta.dims[0] for meta in entries.metas if meta.dims]  # `leaves_of` refuses others
    different = list(dict.fromkeys(sizes))
    if len(different) > 1:
        *rest, last = builtins.map(str, different)
        raise ControlFlowError(
            f"{caller}: xs leaves have lengths {', '.join(rest)} and {last} along axis 0"
        )
    if length is None and not sizes:
        raise ControlFlowError(f"{caller}: without xs, length= must say how many rounds to run")
    if length is None:
        return sizes[0]
    iterations = as_count(caller, "length", length)
    if sizes and iterations != sizes[0]:
        raise ControlFlowError(
            f"{caller}: length is {iterations}, but the xs leaves have length {sizes[0]} along "
            "axis 0"
        )
    return iterations


# map: a function of one entry, applied to all entries of arrays.


@also_for_data_sizes
def map(f: Callable[[Any], R], xs: PyTree, *, batch_size: int | None = None) -> R:
    """The stacked results of `f` for each entry along the first axis of `xs`.

    The entries are taken one after another, in a loop that is compiled once. `f` may read values
    from around the loop.

    Args:
        f: takes an entry of each leaf of `xs` and returns a tree of arrays.
        xs: a tree of arrays with a common size along axis 0.
        batch_size: the number of entries that are taken at once, by `vmap`. None and 0 take them
            one by one.

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
    iterations = length_of("map", entries, None)
    size = 0 if batch_size is None else integer_of(batch_size)
    if size == 0:
        return _one_by_one(f, xs, f)  # type: ignore[no-any-return]
    if size is None or size < 0:
        raise ControlFlowError(f"map: batch_size must be a positive integer, got {batch_size!r}")
    if not isinstance(iterations, int):
        raise ControlFlowError(
            f"map: batch_size needs a known number of entries, but xs has {iterations}; leave it "
            "out, or use vmap"
        )
    return _in_batches(f, entries, iterations, size)  # type: ignore[no-any-return]


def _one_by_one(f: Callable[[Any], Any], xs: Any, function: Callable[..., Any]) -> Any:
    """The stacked results of `f`, which calls the user's function."""
    nothing = leaves_of(None, "map: init")
    _, ys = run_scan("map", lambda _, x: (None, f(x)), nothing, xs, function=function)
    return ys


def _in_batches(f: Callable[[Any], Any], entries: Leaves, iterations: int, size: int) -> Any:
    """The stacked results of a loop over batches, and of a smaller batch for the rest."""
    values = [as_array(value) for value in entries.values]
    whole = iterations - iterations % size
    rest = unflatten(entries.tree, [value[whole:] for value in values])
    if not whole:
        return _at_once(f, rest)
    chunks = unflatten(
        entries.tree, [_with_shape(v[:whole], (whole // size, size, *v.shape[1:])) for v in values]
    )
    stacked, of_result = flatten(_one_by_one(vmap(f), chunks, f))
    results = [_with_shape(y, (whole, *y.shape[2:])) for y in stacked]
    if whole < iterations:
        last, _ = flatten(_at_once(f, rest))
        results = [
            apply(manipulation.concat, y, z, axis=0) for y, z in zip(results, last, strict=True)
        ]
    return unflatten(of_result, results)


def _at_once(f: Callable[[Any], Any], xs: Any) -> Any:
    """The results for all entries at once; outside of traces by a loop of one iteration."""
    leaves, tree = flatten(xs)
    if is_recorded(leaves):
        return vmap(f)(xs)
    rows = [_with_shape(leaf, (1, *leaf.shape)) for leaf in leaves]
    results, of_result = flatten(_one_by_one(vmap(f), unflatten(tree, rows), f))
    return unflatten(of_result, [_with_shape(y, y.shape[1:]) for y in results])


def _with_shape(value: Any, shape: tuple[Any, ...]) -> Any:
    return apply(manipulation.reshape, value, shape=shape)


# associative_scan: partial combinations of entries in logarithmic depth.

ScannedArray = Any


@also_for_data_sizes
def associative_scan(
    fn: Callable[[Any, Any], R], elems: PyTree, reverse: bool = False, axis: int = 0
) -> R:
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
    number = integer_of(axis)
    if number is None:
        raise AxisError(f"associative_scan: axis must be an integer, got {axis!r}")
    for path, meta in zip(leaves.paths, leaves.metas, strict=True):
        if not -meta.rank <= number < meta.rank:
            raise AxisError(
                f"associative_scan: axis {axis} is out of range for elems leaf {path}: {meta}"
            )
    axes = [number % meta.rank for meta in leaves.metas]
    sizes = [meta.dims[at] for meta, at in zip(leaves.metas, axes, strict=True) if meta.dims]
    different = list(dict.fromkeys(sizes))
    if len(different) > 1:
        listed = " and ".join(builtins.map(str, different))
        raise ControlFlowError(
            f"associative_scan: elems leaves have sizes {listed} along the axis of the entries"
        )
    if different and not isinstance(different[0], int):
        raise ControlFlowError(
            f"associative_scan: the size {different[0]} of the axis must be known when the "
            "function is traced; use scan"
        )
    values = [as_array(value) for value in leaves.values]
    if not values:
        return elems  # type: ignore[no-any-return]
    scan = _Scan(fn, leaves, axes)
    if backwards:
        values = scan.reversed(values)
    results = scan.of(values)
    return unflatten(leaves.tree, scan.reversed(results) if backwards else results)  # type: ignore[no-any-return]


class _Scan:
    def __init__(self, fn: Callable[[Any, Any], Any], leaves: Leaves, axes: list[int]) -> None:
        self._fn = fn
        self._leaves = leaves
        self._axes = axes

    def of(self, values: list[ScannedArray]) -> list[ScannedArray]:
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

    def reversed(self, values: list[ScannedArray]) -> list[ScannedArray]:
        """The entries in the other order."""
        return [
            apply(manipulation.flip, value, axis=axis)
            for value, axis in zip(values, self._axes, strict=True)
        ]

    def _cut(
        self, values: list[ScannedArray], start: int, stop: int, step: int = 1
    ) -> list[ScannedArray]:
        return [
            value[(slice(None),) * axis + (slice(start, stop, step),)]
            for value, axis in zip(values, self._axes, strict=True)
        ]

    def _joined(self, first: list[ScannedArray], second: list[ScannedArray]) -> list[ScannedArray]:
        return [
            apply(manipulation.concat, a, b, axis=axis)
            for a, b, axis in zip(first, second, self._axes, strict=True)
        ]

    def _combined(
        self, first: list[ScannedArray], second: list[ScannedArray]
    ) -> list[ScannedArray]:
        """fn of two lists of leaves."""
        tree = self._leaves.tree
        result = self._fn(unflatten(tree, first), unflatten(tree, second))
        result_leaves = leaves_of(result, "associative_scan: the result of fn")
        goal = leaves_of(unflatten(tree, first), "associative_scan: elems")
        if result_leaves.tree == tree:
            pairs = zip(result_leaves.metas, result_leaves.weak, goal.metas, strict=True)
            result_leaves.metas = [
                goal if promoted(meta, weak, goal) else meta for meta, weak, goal in pairs
            ]
        if result_leaves.tree != tree or result_leaves.metas != goal.metas:
            raise ControlFlowError(
                f"associative_scan: fn takes {goal} and returns {result_leaves}; it must return "
                "what it takes"
            )
        return [as_array(value) for value in result_leaves.typed()]


def _interleaved(even: ScannedArray, odd: ScannedArray, axis: int) -> ScannedArray:
    """even[0], odd[0], even[1], odd[1], …; there may be one more of the even ones."""
    count = odd.shape[axis]
    cut = (slice(None),) * axis
    pairs: Any = apply(manipulation.stack, even[(*cut, slice(0, count))], odd, axis=axis + 1)
    shape = odd.shape
    joined: Any = apply(
        manipulation.reshape, pairs, shape=(*shape[:axis], 2 * count, *shape[axis + 1 :])
    )
    if even.shape[axis] == count:
        return joined
    return apply(manipulation.concat, joined, even[(*cut, slice(count, count + 1))], axis=axis)
