"""cond and switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from tenferro.core import GlobalValKey, user_site
from tenferro.errors import ControlFlowError, PytreeError, class_of
from tenferro.ir import BOOL, INT32, AnyTensor, ArrayLike, PyTree, TensorMeta, dtype_kind
from tenferro.ops.control_flow import Switch
from tenferro.ops.functions import convert, emit_function
from tenferro.runtime import meta_of_value
from tenferro.transforms.higher_order import (
    Bodies,
    Call,
    NoResultError,
    as_array,
    in_python,
    is_recorded,
    leaves_of,
    note_effects,
    operands_of,
    promoted,
    require_function,
    run,
    with_arrays,
    with_result,
)
from tenferro.transforms.program import Evaluation
from tenferro.transforms.signatures import R, Single, T
from tenferro.transforms.trace import Trace, also_for_data_sizes
from tenferro.transforms.traced_tensor import TracedTensor, TraceEmitter
from tenferro.transforms.trees import unflatten

__all__ = ["cond", "switch"]


_ABSENT: Any = object()
"""In the place of an operand that is not passed."""


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., T],
    false_fun: Callable[..., T | Single],
    *operands: PyTree,
) -> T: ...


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Single],
    false_fun: Callable[..., T],
    *operands: PyTree,
) -> T: ...


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Single],
    false_fun: Callable[..., Single],
    *operands: PyTree,
) -> AnyTensor: ...


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., R],
    false_fun: Callable[..., R],
    *operands: PyTree,
    operand: PyTree = ...,
) -> R: ...


@also_for_data_sizes
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., PyTree],
    false_fun: Callable[..., PyTree],
    *operands: PyTree,
    operand: PyTree = _ABSENT,
) -> PyTree:
    """`true_fun(*operands)` if `pred` is true, else `false_fun(*operands)`.

    Both functions are traced, but only one is run. They may read values from around the branch.
    Within `vmap` over `pred` both run, and elements are selected.

    Args:
        pred: a scalar bool, or a number, which is true unless it is 0.
        true_fun: takes the operands, trees of arrays, and returns a tree of arrays.
        false_fun: the same; it returns the same structure and types. A Python number takes the
            dtype of the array that the other function returns.
        operands: what the functions take.
        operand: the only operand, by name.

    Raises:
        ControlFlowError: the functions return different structures or types, or `pred` is not a
            scalar.
        PytreeError: a leaf is neither an array nor a number.
        UnsupportedDynamicShapeError: data decide a size in a branch.

    >>> import tenferro as tn
    >>> f = tn.jit(lambda x: tn.cond(x > 0, lambda x: tn.sqrt(x), lambda x: 0.0, x))
    >>> f(4.0), f(-4.0)
    (Tensor(2.), Tensor(0.))
    """
    operands = _passed("cond", operands, operand)
    require_function("cond", "true_fun", true_fun)
    require_function("cond", "false_fun", false_fun)
    chosen = _predicate(pred)
    names, functions = ("true_fun", "false_fun"), (true_fun, false_fun)
    return _branch("cond", chosen, names, functions, operands, order=(1, 0))


@also_for_data_sizes
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., R]],
    *operands: PyTree,
    operand: PyTree = _ABSENT,
) -> R:
    """`branches[index](*operands)`, where an index out of range chooses the nearest branch.

    All branches are traced, but only one is run. They may read values from around the branch.

    Args:
        index: a scalar integer.
        branches: functions that take the operands, trees of arrays, and return trees of arrays of
            one structure and types. A Python number takes the dtype of the arrays that other
            branches return.
        operands: what the functions take.
        operand: the only operand, by name.

    Raises:
        ControlFlowError: the branches return different structures or types, there is none, or
            `index` is not a scalar integer.
        PytreeError: a leaf is neither an array nor a number.
        UnsupportedDynamicShapeError: data decide a size in a branch.

    >>> import tenferro as tn
    >>> [tn.switch(i, [tn.sin, tn.cos, tn.exp], 0.0).item() for i in (-1, 1, 5)]
    [0.0, 1.0, 1.0]
    """
    operands = _passed("switch", operands, operand)
    if not isinstance(branches, list | tuple):
        kind = class_of(branches)
        raise ControlFlowError(f"switch: branches must be a list of functions, got {kind}")
    if not branches:
        raise ControlFlowError("switch: branches is empty; pass at least one function")
    names = [f"branch {number}" for number in range(len(branches))]
    for number, function in enumerate(branches):
        require_function("switch", f"branches[{number}]", function)
    order = range(len(branches))
    return _branch("switch", _index(index), names, branches, operands, order)  # type: ignore[no-any-return]


def _passed(caller: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """The operands, of which the only one may be passed by name."""
    if operand is _ABSENT:
        return operands
    if operands:
        raise ControlFlowError(f"{caller}: takes operands by position, or operand=, not both")
    return (operand,)


def _branch(
    caller: str,
    index: Any,
    names: Sequence[str],
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    order: Sequence[int],
) -> Any:
    """The result of one of the functions. `index` counts them in `order`."""
    passed = leaves_of(operands, f"{caller}: operands")
    index = min(max(index, 0), len(order) - 1) if isinstance(index, int) else index
    if isinstance(index, int) and in_python():
        known = [as_array(each) if isinstance(each, bool) else each for each in passed.values]
        return with_arrays(functions[order[index]](*unflatten(passed.tree, known)))

    def arguments(values: list[TracedTensor]) -> Call:
        return unflatten(passed.tree, values), {}

    bodies = Bodies(caller)
    try:
        traced = [
            bodies.trace(name, function, passed.metas, passed.weak, arguments, passed.values)
            for name, function in zip(names, functions, strict=True)
        ]
    except NoResultError:
        several = [with_result(function) for function in functions]
        return _branch(caller, index, names, several, operands, order)[0]
    _unify(caller, names, traced)
    consts = bodies.closed_over(*traced)
    programs = [
        bodies.program(name, consts, body) for name, body in zip(names, traced, strict=True)
    ]
    values = [*operands_of(consts), *passed.typed()]
    if isinstance(index, int) and is_recorded(values):
        chosen = traced[order[index]]
        results = _inlined(chosen, consts, values, bodies)
    else:
        op = Switch(tuple([programs[number] for number in order]))
        number = np.asarray(index, INT32) if isinstance(index, int) else index
        results = run(op, [number, *values], bodies)
    return unflatten(traced[0].tree, results)


def _inlined(
    body: Trace, consts: Sequence[GlobalValKey], values: Sequence[Any], bodies: Bodies
) -> list[Any]:
    """The results of a body in the enclosing trace, without an op that holds it."""
    keys = [*consts, *body.inputs]
    passed = [number for number, value in enumerate(values) if value is not keys[number]]
    inputs, actual = [keys[number] for number in passed], [values[number] for number in passed]
    results = Evaluation(inputs, actual, True, None, bodies.packages).of(body.outputs)
    if bodies.have_effects:
        note_effects(bodies, [result.key for result in results])
    scope = bodies.scope_of(values)
    return [TracedTensor(result.key, None, scope) for result in results]


def _unify(caller: str, names: Sequence[str], bodies: Sequence[Trace]) -> None:
    """Convert Python numbers to the dtypes of other branches."""
    first = bodies[0]
    for name, body in zip(names, bodies, strict=True):
        if body.tree != first.tree:
            raise _different(caller, names[0], first, name, body)
    for leaf in range(len(first.outputs)):
        metas = [body.metas[leaf] for body in bodies]
        weak = [body.weak[leaf] for body in bodies]
        for goal in dict.fromkeys(metas):
            pairs = zip(metas, weak, strict=True)
            if all(meta == goal or promoted(meta, number, goal) for meta, number in pairs):
                for body in bodies:
                    body.convert(leaf, goal.dtype)
                break
        else:
            other = next(n for n, meta in enumerate(metas) if meta != metas[0])
            raise _different(caller, names[0], first, names[other], bodies[other])


def _different(caller: str, name: str, body: Trace, other: str, at: Trace) -> ControlFlowError:
    return ControlFlowError(
        f"{caller}: {name} returns {body} and {other} {at}; "
        "branches must return one structure and types"
    )


def _predicate(pred: Any) -> Any:
    """The index of a predicate: an int, or a traced integer."""
    meta = _meta("cond: pred", pred)
    if meta.rank:
        raise ControlFlowError(
            f"cond: pred must be a scalar bool, got {meta}; reduce it with tn.all or tn.any, or "
            "choose elements with tn.where"
        )
    if isinstance(pred, TracedTensor) and not in_python(pred):
        pred = pred if meta.dtype == BOOL else pred != 0
        key = emit_function(TraceEmitter(user_site()), convert, pred.in_use("cond"), dtype=INT32)
        return TracedTensor(key, None, pred.scope)
    return int(bool(pred))


def _index(index: Any) -> Any:
    """The index of a branch: an int, or a traced integer."""
    meta = _meta("switch: index", index)
    if meta.rank or dtype_kind(meta.dtype) not in "iu":
        advice = "; use cond" if dtype_kind(meta.dtype) == "b" and not meta.rank else ""
        raise ControlFlowError(f"switch: index must be a scalar integer, got {meta}{advice}")
    return index if isinstance(index, TracedTensor) and not in_python(index) else int(index)


def _meta(name: str, value: Any) -> TensorMeta:
    meta = None if isinstance(value, list | tuple) else meta_of_value(value)
    if meta is None:
        raise PytreeError(f"{name} is {class_of(value)}, not an array or number")
    return meta
