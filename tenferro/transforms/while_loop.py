"""while_loop and fori_loop; the carry keeps its structure and types."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from tenferro.core import Derived
from tenferro.errors import ControlFlowError, TracingError
from tenferro.ir import (
    BOOL,
    INT64,
    ArrayLike,
    Dim,
    DimExpr,
    DType,
    Number,
    PyTree,
    TensorMeta,
    at_most,
    common_dtype,
    dtype_kind,
    integer_of,
    maximum,
    promoted_dtype,
    short_name,
)
from tenferro.ops.control_flow import Scan, While
from tenferro.ops.functions import apply, elementwise, manipulation
from tenferro.runtime import Tensor, meta_of_value
from tenferro.transforms.device_axes import differing
from tenferro.transforms.higher_order import (
    Bodies,
    Call,
    Leaves,
    as_array,
    in_python,
    leaves_of,
    operands_of,
    promoted,
    require_function,
    run,
)
from tenferro.transforms.program import wraps
from tenferro.transforms.signatures import Single, Tree, Unannotated
from tenferro.transforms.trace import Trace, also_for_data_sizes
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import TreeDef, shown, unflatten

__all__ = ["fori_loop", "while_loop"]


# The carry of a loop that is recorded keeps its structure and types.


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
            if (after := body.metas[first:last]) != carry.metas:
                raise _changed(caller, carry, after)
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


def _changed(caller: str, carry: Leaves, after: list[TensorMeta]) -> ControlFlowError:
    wrong = [leaf for leaf, meta in enumerate(after) if meta != carry.metas[leaf]]
    (leaf, *others) = wrong
    before, meta = carry.metas[leaf], after[leaf]
    widened = before.extents == meta.extents and _result(before.dtype, meta.dtype) == meta.dtype
    if widened and not others:
        return ControlFlowError(
            f"{caller}: carry leaf {carry.paths[leaf]} starts as {before} and becomes {meta}; "
            f"start it as {_start(carry.values[leaf], meta)}"
        )
    paths = " and ".join(carry.paths[leaf] for leaf in wrong)
    keep = "leaves {} must keep their types" if others else "leaf {} must keep its type"
    return ControlFlowError(
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


# The carry of a loop that Python runs, where jit is disabled.


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
        if after.metas != carry.metas:
            raise _changed(caller, carry, after.metas)
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


# Numbers of iterations and flags, as users write them.


def as_count(caller: str, name: str, value: Any) -> Dim:
    """A number of iterations, which must be known when the loop is traced."""
    if isinstance(value, TracedTensor) and value.elements is None:
        advice = "" if caller == "while_loop" else ", or use fori_loop or while_loop"
        raise ControlFlowError(
            f"{caller}: {name} is a traced value {value.meta}, but it must be known when the loop "
            f"is traced; pass a Python integer{advice}; {value.dependence}"
        )
    if isinstance(value, DimExpr):
        return value
    integer = integer_of(value)
    if integer is None:
        raise ControlFlowError(f"{caller}: {name} must be an integer, got {value!r}")
    if integer < 0:
        raise ControlFlowError(f"{caller}: {name} must not be negative, got {integer}")
    return within_int64(caller, name, integer)


def within_int64(caller: str, name: str, integer: int) -> int:
    """An integer that counts iterations."""
    if not -(2**63) <= integer < 2**63:
        raise ControlFlowError(f"{caller}: {name} must fit int64, got {integer}")
    return integer


def as_unroll(caller: str, unroll: Any, iterations: Dim) -> int:
    """The number of iterations that are compiled as one; all for True, if their number is known.

    0 is 1, as in JAX.
    """
    if isinstance(unroll, bool):
        return max(1, iterations) if unroll and isinstance(iterations, int) else 1
    count = integer_of(unroll)
    if count is None or count < 0:
        raise ControlFlowError(f"{caller}: unroll must be a positive integer, got {unroll!r}")
    return max(count, 1)


def as_levels(caller: str, checkpoints: Any, iterations: Dim, none: bool = True) -> int:
    """The number of levels of checkpoints; 0 for None, which only some loops take."""
    if checkpoints is None and none:
        return 0
    levels = integer_of(checkpoints)
    if levels is None or levels < 1:
        raise ControlFlowError(
            f"{caller}: checkpoints must be a positive integer{' or None' if none else ''}, "
            f"got {checkpoints!r}"
        )
    if isinstance(iterations, DimExpr):
        raise ControlFlowError(
            f"{caller}: checkpoints= needs a known number of rounds, but the loop has {iterations}"
        )
    return levels


def as_flag(caller: str, name: str, value: object) -> bool:
    """A flag."""
    if not isinstance(value, bool | np.bool_):
        raise ControlFlowError(f"{caller}: {name} must be True or False, got {value!r}")
    return bool(value)


# while_loop and fori_loop: iterations as long as a condition holds, or over a range.

_FLAG = TensorMeta(BOOL, ())


@overload
def while_loop(
    cond_fun: Callable[[Any], ArrayLike],
    body_fun: Unannotated | Callable[[Tree], Tree],
    init_val: Tree | Single,
    *,
    max_steps: int | None = None,
    checkpoints: int = 2,
) -> Tree: ...


@overload
def while_loop(
    cond_fun: Callable[[Any], ArrayLike],
    body_fun: Callable[[Any], PyTree],
    init_val: PyTree,
    *,
    max_steps: int | None = None,
    checkpoints: int = 2,
) -> PyTree: ...


@also_for_data_sizes
def while_loop(
    cond_fun: Callable[..., ArrayLike],
    body_fun: Callable[..., PyTree],
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
        max_steps: the largest number of iterations, after which the loop ends whatever `cond_fun`
            says. Reverse-mode derivatives need it.
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
    if in_python():
        return _in_python(cond_fun, body_fun, carry, steps, levels)
    return unflatten(carry.tree, _recorded(cond_fun, body_fun, carry, steps, levels))


def _recorded(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    carry: Leaves,
    steps: int | None,
    levels: int,
) -> list[Any]:
    """The results of a loop that is recorded as one op."""
    bodies = Bodies("while_loop")

    def of_carry(name: str, function: Callable[[Any], Any]) -> Trace:
        def arguments(values: list[TracedTensor]) -> Call:
            return (unflatten(carry.tree, values),), {}

        return bodies.trace(name, function, carry.metas, carry.weak, arguments, carry.values)

    def trace() -> tuple[Trace, TreeDef, int]:
        body = of_carry("body_fun", body_fun)
        return body, body.tree, 0

    body = stable_body("while_loop", carry, trace)
    cond = of_carry("cond_fun", cond_fun)
    _require_flag(cond, cond.metas)
    return _run_while(bodies, cond, body, carry.typed(), steps, levels)


def _require_flag(result: Trace | Leaves, metas: list[TensorMeta]) -> None:
    """Raise ControlFlowError unless a condition returns a flag."""
    if not result.tree.is_leaf() or metas != [_FLAG]:
        rank = result.tree.is_leaf() and metas[0].rank
        advice = "; reduce it with tn.all or tn.any" if rank else ""
        raise ControlFlowError(f"while_loop: cond_fun must return one bool[], got {result}{advice}")


def _in_python(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    carry: Leaves,
    steps: int | None,
    levels: int,
) -> PyTree:
    """The result of a loop that Python runs as long as the condition is known.

    From the first one that is not, as in `vmap`, the rest is recorded; the flag is carried, so that
    no function is called twice on one value.
    """
    loop = PythonLoop("while_loop", carry)
    for left in itertools.repeat(None) if steps is None else range(steps, 0, -1):
        flag = cond_fun(loop.carry)
        found = leaves_of(flag, "while_loop: cond_fun")
        _require_flag(found, found.metas)
        if not in_python(flag):
            state = leaves_of((loop.carry, flag), "while_loop: init_val")
            return _rest(cond_fun, body_fun, state, left, levels)
        if not flag:
            break
        loop.follow(body_fun(loop.carry))
    return loop.result


def _rest(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    state: Leaves,
    steps: int | None,
    levels: int,
) -> PyTree:
    """The result of a loop from a value on for which `cond_fun` has returned a flag: the state."""

    def following(state: Any) -> Any:
        value = body_fun(state[0])
        return value, cond_fun(value)

    wraps(body_fun, following)
    results = _recorded(lambda state: state[1], following, state, steps, levels)
    value, _ = unflatten(state.tree, results)
    return value


@overload
def fori_loop(
    lower: Dim | ArrayLike,
    upper: Dim | ArrayLike,
    body_fun: Unannotated | Callable[[Any, Tree], Tree],
    init_val: Tree | Single,
    *,
    unroll: int | bool | None = None,
) -> Tree: ...


@overload
def fori_loop(
    lower: Dim | ArrayLike,
    upper: Dim | ArrayLike,
    body_fun: Callable[[Any, Any], PyTree],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
) -> PyTree: ...


@also_for_data_sizes
def fori_loop(
    lower: Dim | ArrayLike,
    upper: Dim | ArrayLike,
    body_fun: Callable[..., PyTree],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
) -> PyTree:
    """The last value of a loop over the integers from `lower` to `upper`, without `upper`.

    The loop calls `value = body_fun(i, value)`. If the bounds are known when the loop is traced, it
    is a `scan` and can be differentiated in all modes; else it is a `while_loop`. If a bound is a
    floating-point number, it counts in steps of 1 up to the last one below `upper`, by a
    `while_loop`.

    Args:
        lower: the first number; may be a size of the program or a traced scalar.
        upper: the number that ends the loop; the same. If it is not above `lower`, none is run.
        body_fun: takes the integer and the value and returns one of the same structure and types.
        init_val: a tree of arrays. A Python number takes the dtype that `body_fun` gives it.
        unroll: number of iterations that an executor may compile as one; only for known bounds.

    Raises:
        ControlFlowError: the value changes its structure or types, or a bound is not a real scalar.
        PytreeError: a leaf is neither an array nor a number.
        UnsupportedDynamicShapeError: data decide a size in the loop.

    >>> import tenferro as tn
    >>> tn.fori_loop(1, 6, lambda i, product: product * i, 1)
    Tensor(120)
    """
    require_function("fori_loop", "body_fun", body_fun)
    bounds = _bound("lower", lower), _bound("upper", upper)
    carry = leaves_of(init_val, "fori_loop: init_val")
    lower, upper = bounds
    if in_python() and isinstance(lower, int) and isinstance(upper, int):
        loop = PythonLoop("fori_loop", carry)
        for number in range(lower, upper):
            loop.follow(body_fun(number, loop.carry))
        return loop.result
    if any(isinstance(bound, float | Tensor | TracedTensor) for bound in bounds):
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
    iterations = upper - lower
    iterations = iterations if at_most(0, iterations) else maximum(0, iterations)
    at_once = as_unroll("fori_loop", 1 if unroll is None else unroll, iterations)
    bodies = Bodies("fori_loop")
    body = _counting(bodies, body_fun, carry, TensorMeta(INT64, ()))
    consts = bodies.closed_over(body)
    program = bodies.program("body_fun", consts, body)
    op = Scan(program, len(consts), len(body.outputs), iterations, False, at_once)
    return run(op, [*operands_of(consts), _value(lower), *carry.typed()], bodies)[1:]


def _fori_while(lower: Any, upper: Any, body_fun: Callable[..., Any], carry: Leaves) -> list[Any]:
    """The results of a loop with a traced bound; the bounds have one dtype."""
    bodies = Bodies("fori_loop")
    counter = TensorMeta(lower.dtype, ())
    body = _counting(bodies, body_fun, carry, counter)
    cond = bodies.trace(
        "the condition",
        lambda number, *_: number < upper,
        [counter, *carry.metas],
        [None] * len(body.inputs),
        lambda values: (values, {}),
        of=body_fun,
    )
    return _run_while(bodies, cond, body, [lower, *carry.typed()])[1:]


def _counting(
    bodies: Bodies, body_fun: Callable[..., Any], carry: Leaves, counter: TensorMeta
) -> Trace:
    """A body that carries a counter before the user's carry."""

    def counting(number: Any, rest: Any) -> Any:
        return number + 1, body_fun(number, rest)

    wraps(body_fun, counting)  # errors name the arguments of body_fun

    def arguments(values: list[TracedTensor]) -> Call:
        number, *rest = values
        return (number, unflatten(carry.tree, rest)), {}

    def trace() -> tuple[Trace, TreeDef, int]:
        metas, weak, passed = [counter, *carry.metas], [0, *carry.weak], [None, *carry.values]
        body = bodies.trace("body_fun", counting, metas, weak, arguments, passed, body_fun)
        return body, body.tree.child(1), 1

    return stable_body(bodies.caller, carry, trace)


def _run_while(
    bodies: Bodies,
    cond: Trace,
    body: Trace,
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
    """A bound of the range: an int, a float, a size of the program, or a scalar.

    Integers that are known are an int; floating-point numbers that have a dtype stay arrays.
    """
    if isinstance(value, DimExpr | float):
        return value
    meta = meta_of_value(value)
    kind = "" if meta is None or meta.rank else dtype_kind(meta.dtype)
    is_traced = isinstance(value, TracedTensor)
    if is_traced and (kind == "f" or (kind in ("i", "u") and value.elements is None)):
        return value
    integer = integer_of(value)
    if integer is not None:
        return within_int64("fori_loop", name, integer)
    if kind != "f":
        got = meta if hasattr(value, "shape") else repr(value)
        raise ControlFlowError(f"fori_loop: {name} must be a real scalar, got {got}")
    return as_array(value)


def _common(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Bounds as arrays of one dtype. A number that is not negative may become a uint64."""
    bounds = first, last = _value(lower), _value(upper)
    if "f" in map(dtype_kind, (first.dtype, last.dtype)):
        numbers = [each for each in (lower, upper) if isinstance(each, int | float)]
        others = [
            each.dtype
            for number, each in zip((lower, upper), bounds, strict=True)
            if not isinstance(number, int | float)
        ]
        dtype = promoted_dtype(*others, *numbers)
        return first.astype(dtype), last.astype(dtype)
    dtype = common_dtype(first.dtype, last.dtype)
    if dtype_kind(dtype) not in "iu" and any(isinstance(b, int) and b >= 0 for b in (lower, upper)):
        dtype = np.dtype(np.uint64)
    if dtype_kind(dtype) not in "iu":
        raise ControlFlowError(
            f"fori_loop: the bounds are {bounds[0].dtype} and {bounds[1].dtype}, which have "
            "no common integer dtype; convert one of them"
        )
    first, last = (bound if bound.dtype == dtype else bound.astype(dtype) for bound in bounds)
    return first, last


def _value(bound: Any) -> Any:
    if isinstance(bound, DimExpr):
        return apply(elementwise.add, np.asarray(0), bound)
    if isinstance(bound, float):
        return as_array(bound)
    return np.asarray(bound, INT64) if isinstance(bound, int) else bound


def _traced(bounds: tuple[Any, Any]) -> str:
    name, bound = next(
        (name, bound)
        for name, bound in zip(("lower", "upper"), bounds, strict=True)
        if not isinstance(bound, int | DimExpr)
    )
    if not isinstance(bound, TracedTensor):
        return f"{name} is {bound!r}"
    made = bound.key.op.site if isinstance(bound.key, Derived) else None
    place = "" if made is None else f", made at {made}"
    return f"{name} is a traced value {bound.meta} ({bound.name}{place}); {bound.dependence}"
