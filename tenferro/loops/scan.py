"""scan and map: a loop over the first axis of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenferro.control import Scan
from tenferro.errors import ControlFlowError
from tenferro.loops.bodies import Body, require_function, tracing_bodies
from tenferro.loops.carries import settled
from tenferro.loops.counts import as_count, as_flag, as_levels, as_unroll
from tenferro.loops.leaves import Leaves, leaves_of
from tenferro.loops.running import operands_of, run
from tenferro.shape import Dim, Exact, TensorMeta, describe
from tenferro.traced import TracedTensor, TreeDef, also_for_data_sizes, unflatten
from tenferro.typing import PyTree


@also_for_data_sizes
def scan(
    f: Callable[[Any, Any], tuple[PyTree, PyTree]],
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
        init: the carry of the first round. A Python number takes the dtype that `f` gives it.
        xs: arrays with a common size along axis 0. None: `f` gets None for x.
        length: the number of rounds; needed if `xs` is None. It may be a size of the program.
        reverse: whether to go from the last entry to the first. The ys are not reversed.
        unroll: number of rounds that an executor may compile as one; True for all.
        checkpoints: what derivatives in reverse mode store. None: all that they read of each round.
            k: about the k-th root of the number of rounds of carries, on each of k levels; the
            other values are computed again, up to k times.

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
    rounds = rounds_of(caller, entries, length)
    backwards, at_once = as_flag(caller, "reverse", reverse), as_unroll(caller, unroll, rounds)
    levels = as_levels(caller, checkpoints, rounds)
    rows = [TensorMeta(meta.dtype, meta.extents[1:]) for meta in entries.metas]
    count = len(init.values)
    ys_tree: list[TreeDef] = []
    with tracing_bodies(caller) as bodies:

        def call(values: list[TracedTensor]) -> Any:
            carry = unflatten(init.tree, values[:count])
            result = bodies.calling(f, carry, unflatten(entries.tree, values[count:]))
            return _pair(caller, result)

        def trace() -> tuple[Body, TreeDef, int]:
            weak = [*init.weak, *(None for _ in rows)]
            given = [*init.values, *entries.values]
            body = bodies.trace("f", function or f, [*init.metas, *rows], weak, call, given)
            of_carry, of_ys = body.tree.children()
            ys_tree[:] = [of_ys]
            return body, of_carry, 0

        body = settled(caller, init, trace)
        consts = bodies.closed_over(body)
        program = bodies.program("f", consts, body)
    loop = Scan(program, len(consts), count, rounds, backwards, at_once)
    op = loop.like(program, len(consts), count, checkpoints=levels)
    results = run(op, [*operands_of(consts), *init.typed(), *entries.values], bodies)
    return unflatten(init.tree, results[:count]), unflatten(ys_tree[0], results[count:])


def _pair(caller: str, result: Any) -> tuple[Any, Any]:
    """The carry and y that a function returned."""
    if not isinstance(result, tuple | list):
        raise ControlFlowError(
            f"{caller}: f must return a pair (carry, y), got a {type(result).__name__}"
        )
    if len(result) != 2:
        kind = type(result).__name__
        raise ControlFlowError(
            f"{caller}: f must return a pair (carry, y), got a {kind} of {len(result)}"
        )
    carry, y = result
    return carry, y


def rounds_of(caller: str, entries: Leaves, length: Any) -> Dim:
    """The number of rounds.

    Raises:
        ControlFlowError: the leaves of xs and the length do not say it, or disagree.
    """
    for path, meta in zip(entries.paths, entries.metas, strict=True):
        if not meta.rank:
            raise ControlFlowError(
                f"{caller}: xs leaf {path} is {meta}, which has no axis 0 to loop over; "
                "pass an array, or let the function close over it"
            )
    sizes = [_exact(meta) for meta in entries.metas]
    different = list(dict.fromkeys(sizes))
    if len(different) > 1:
        raise ControlFlowError(
            f"{caller}: xs leaves have lengths {_listed(different)} along axis 0"
        )
    if length is None and not sizes:
        raise ControlFlowError(f"{caller}: without xs, length= must say how many rounds to run")
    if length is None:
        return sizes[0]
    rounds = as_count(caller, "length", length)
    if sizes and rounds != sizes[0]:
        raise ControlFlowError(
            f"{caller}: length is {rounds}, but the xs leaves have length {sizes[0]} along axis 0"
        )
    return rounds


def _exact(meta: TensorMeta) -> Dim:
    extent = meta.extents[0]
    assert isinstance(extent, Exact), describe(extent)  # `leaves_of` refuses others
    return extent.dim


def _listed(sizes: Sequence[Dim]) -> str:
    """`3 and 4`."""
    *rest, last = map(str, sizes)
    return f"{', '.join(rest)} and {last}"
