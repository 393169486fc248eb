"""while_loop and fori_loop: rounds as long as a condition holds, or over a range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenferro.arrays import elementwise
from tenferro.computegraph import Derived
from tenferro.control import Scan, While
from tenferro.dispatch import apply
from tenferro.errors import ControlFlowError
from tenferro.loops.bodies import Bodies, Body, require_function, tracing_bodies
from tenferro.loops.carries import settled
from tenferro.loops.counts import as_count, as_levels, as_unroll, within_int64
from tenferro.loops.leaves import Leaves, leaves_of
from tenferro.loops.running import operands_of, run
from tenferro.shape import BOOL, INT64, Dim, DimExpr, TensorMeta, at_most, integer_of, maximum
from tenferro.traced import TracedTensor, TreeDef, also_for_data_sizes, unflatten
from tenferro.typing import ArrayLike, PyTree
from tenferro.values import meta_of_value

_FLAG = TensorMeta(BOOL, ())


@also_for_data_sizes
def while_loop(
    cond_fun: Callable[[Any], ArrayLike],
    body_fun: Callable[[Any], PyTree],
    init_val: PyTree,
    *,
    max_steps: int | None = None,
    checkpoints: int = 2,
) -> PyTree:
    """The first of `init_val`, `body_fun(init_val)`, … of which `cond_fun` is not true.

    The functions may read values from around the loop.

    Args:
        cond_fun: takes the value and returns a scalar bool.
        body_fun: takes the value and returns one of the same structure and types.
        init_val: a tree of arrays. A Python number takes the dtype that `body_fun` gives it.
        max_steps: the largest number of rounds, after which the loop ends whatever `cond_fun` says.
            Reverse-mode derivatives need it.
        checkpoints: on how many levels reverse mode stores carries, at least 1; see `scan`.

    Raises:
        ControlFlowError: the value changes its structure or types, `cond_fun` does not return
            one scalar bool, or `checkpoints` is not a positive integer.
        PytreeError: a leaf is neither an array nor a number.
        UnsupportedDynamicShapeError: data decide a size in the loop.

    >>> import tenferro as tn
    >>> tn.while_loop(lambda x: x < 100.0, lambda x: x * x, 3.0)
    Tensor(6561.)
    """
    require_function("while_loop", "cond_fun", cond_fun)
    require_function("while_loop", "body_fun", body_fun)
    steps = None if max_steps is None else as_count("while_loop", "max_steps", max_steps)
    if isinstance(steps, DimExpr):
        raise ControlFlowError(f"while_loop: max_steps must be an integer, got {steps}")
    levels = as_levels("while_loop", checkpoints, steps or 0, none=False)
    carry = leaves_of(init_val, "while_loop: init_val")

    def on_tree(function: Callable[[Any], Any]) -> Callable[[list[TracedTensor]], Any]:
        return lambda values: bodies.calling(function, unflatten(carry.tree, values))

    with tracing_bodies("while_loop") as bodies:

        def trace() -> tuple[Body, TreeDef, int]:
            body = bodies.trace(
                "body_fun", body_fun, carry.metas, carry.weak, on_tree(body_fun), carry.values
            )
            return body, body.tree, 0

        body = settled("while_loop", carry, trace)
        cond = bodies.trace(
            "cond_fun", cond_fun, carry.metas, carry.weak, on_tree(cond_fun), carry.values
        )
        if not cond.tree.is_leaf() or cond.metas != [_FLAG]:
            rank = cond.tree.is_leaf() and cond.metas[0].rank
            advice = "; reduce it with tn.all or tn.any" if rank else ""
            raise ControlFlowError(
                f"while_loop: cond_fun must return one bool[], got {cond}{advice}"
            )
    results = _run_while(bodies, cond, body, carry.typed(), steps, levels)
    return unflatten(carry.tree, results)


@also_for_data_sizes
def fori_loop(
    lower: Dim | ArrayLike,
    upper: Dim | ArrayLike,
    body_fun: Callable[[Any, Any], PyTree],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
) -> PyTree:
    """The last value of a loop over the integers from `lower` to `upper`, without `upper`.

    The loop calls `value = body_fun(i, value)`. If the bounds are known when the loop is traced, it
    is a `scan` and can be differentiated in all modes; else it is a `while_loop`.

    Args:
        lower: the first integer; may be a size of the program or a traced scalar.
        upper: the integer after the last; the same. There is no round if it is not above `lower`.
        body_fun: takes the integer and the value and returns one of the same structure and types.
        init_val: a tree of arrays. A Python number takes the dtype that `body_fun` gives it.
        unroll: number of rounds that an executor may compile as one; only for known bounds.

    Raises:
        ControlFlowError: the value changes its structure or types, or a bound is not an integer.
        PytreeError: a leaf is neither an array nor a number.
        UnsupportedDynamicShapeError: data decide a size in the loop.

    >>> import tenferro as tn
    >>> tn.fori_loop(1, 6, lambda i, product: product * i, 1)
    Tensor(120)
    """
    require_function("fori_loop", "body_fun", body_fun)
    bounds = _bound("lower", lower), _bound("upper", upper)
    carry = leaves_of(init_val, "fori_loop: init_val")
    if any(isinstance(bound, TracedTensor) for bound in bounds):
        if unroll is not None and unroll is not False:
            raise ControlFlowError(
                "fori_loop: unroll needs bounds that are known when the loop is traced; "
                f"{_traced(bounds)}"
            )
        results = _fori_while(*_common(*bounds), body_fun, carry)
    else:
        results = _fori_scan(*bounds, body_fun, carry, unroll)
    return unflatten(carry.tree, results)


def _fori_scan(
    lower: Dim,
    upper: Dim,
    body_fun: Callable[..., Any],
    carry: Leaves,
    unroll: int | bool | None,
) -> list[Any]:
    """The results of a loop with known bounds, which carries the counter."""
    rounds = upper - lower
    rounds = rounds if at_most(0, rounds) else maximum(0, rounds)
    at_once = as_unroll("fori_loop", 1 if unroll is None else unroll, rounds)
    with tracing_bodies("fori_loop") as bodies:
        body = _counting(bodies, body_fun, carry, TensorMeta(INT64, ()))
        consts = bodies.closed_over(body)
        program = bodies.program("body_fun", consts, body)
    op = Scan(program, len(consts), len(body.outputs), rounds, False, at_once)
    return run(op, [*operands_of(consts), _value(lower), *carry.typed()], bodies)[1:]


def _fori_while(lower: Any, upper: Any, body_fun: Callable[..., Any], carry: Leaves) -> list[Any]:
    """The results of a loop with a traced bound; the bounds have one dtype."""
    with tracing_bodies("fori_loop") as bodies:
        counter = TensorMeta(lower.dtype, ())
        body = _counting(bodies, body_fun, carry, counter)
        cond = bodies.trace(
            "the condition",
            body_fun,
            [counter, *carry.metas],
            [None for _ in body.inputs],
            lambda values: values[0] < upper,
        )
    return _run_while(bodies, cond, body, [lower, *carry.typed()])[1:]


def _counting(
    bodies: Bodies, body_fun: Callable[..., Any], carry: Leaves, counter: TensorMeta
) -> Body:
    """A body that carries a counter before the user's carry."""

    def call(values: list[TracedTensor]) -> Any:
        number, *rest = values
        return number + 1, bodies.calling(body_fun, number, unflatten(carry.tree, rest))

    def trace() -> tuple[Body, TreeDef, int]:
        metas, numbers = [counter, *carry.metas], [0, *carry.weak]
        given = [None, *carry.values]
        body = bodies.trace("body_fun", body_fun, metas, numbers, call, given)
        _, of_carry = body.tree.children()
        return body, of_carry, 1

    return settled(bodies.caller, carry, trace)


def _run_while(
    bodies: Bodies,
    cond: Body,
    body: Body,
    carry: list[Any],
    max_steps: int | None = None,
    checkpoints: int = 2,
) -> list[Any]:
    """The results of a loop; the functions take the same carry."""
    of_cond, of_body = bodies.closed_over(cond), bodies.closed_over(body)
    op = While(
        bodies.program("cond_fun", of_cond, cond),
        bodies.program("body_fun", of_body, body),
        len(of_cond),
        len(of_body),
        max_steps,
        checkpoints,
    )
    return run(op, [*operands_of(of_cond), *operands_of(of_body), *carry], bodies)


def _bound(name: str, value: Any) -> Any:
    """A bound of the range: an int, a size of the program, or a traced scalar."""
    if isinstance(value, DimExpr):
        return value
    if isinstance(value, TracedTensor):
        meta = value.meta
        if meta.rank or meta.dtype.kind not in "iu":
            raise ControlFlowError(f"fori_loop: {name} must be an integer, got {meta}")
        return value
    integer = integer_of(value)
    if integer is None:
        got = meta_of_value(value) if hasattr(value, "shape") else repr(value)
        raise ControlFlowError(f"fori_loop: {name} must be an integer, got {got}")
    return within_int64("fori_loop", name, integer)


def _common(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Bounds as arrays of one integer dtype. A number that is not negative may become a uint64.

    Raises:
        ControlFlowError: there is no such dtype.
    """
    bounds = _value(lower), _value(upper)
    dtype = np.result_type(*(bound.dtype for bound in bounds))
    if dtype.kind not in "iu" and any(isinstance(b, int) and b >= 0 for b in (lower, upper)):
        dtype = np.dtype(np.uint64)
    if dtype.kind not in "iu":
        raise ControlFlowError(
            f"fori_loop: the bounds are {bounds[0].dtype} and {bounds[1].dtype}, which have "
            "no common integer dtype; convert one of them"
        )
    first, last = (bound if bound.dtype == dtype else bound.astype(dtype) for bound in bounds)
    return first, last


def _value(bound: Any) -> Any:
    """A bound as an array."""
    if isinstance(bound, DimExpr):
        return apply(elementwise.add, np.asarray(0), bound)
    return bound if isinstance(bound, TracedTensor) else np.asarray(bound, INT64)


def _traced(bounds: tuple[Any, Any]) -> str:
    """Which bound is traced."""
    name, bound = next(
        (name, bound)
        for name, bound in zip(("lower", "upper"), bounds, strict=True)
        if isinstance(bound, TracedTensor)
    )
    made = bound.key.op.site if isinstance(bound.key, Derived) else None
    place = "" if made is None else f", made at {made}"
    return f"{name} is a traced value {bound.meta} ({bound.name}{place}); {bound.dependence}"
