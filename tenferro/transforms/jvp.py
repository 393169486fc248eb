"""Forward mode: jvp, linearize, hvp, jet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from tenferro.compiler import MemoryLimit
from tenferro.core import GlobalValKey, KeyEmitter
from tenferro.errors import ADError, PytreeError, ShapeError, class_of, counted
from tenferro.ir import (
    FLOAT0,
    AnyTensor,
    ArrayLike,
    PyTree,
    fresh_input,
    is_inexact,
    read_integer,
    type_of,
)
from tenferro.ops import DIV, MUL, StdTensorOp, full_like
from tenferro.transforms.ad_context import (
    AdContext,
    context_of,
    results_of,
    trace_in_context,
    with_zeros,
)
from tenferro.transforms.grad import Bytes, Gradients, require_active
from tenferro.transforms.linear_map import Linearized, LinearMap, matching_leaves
from tenferro.transforms.program import wraps
from tenferro.transforms.signatures import Aux, R, Record, Second, Single, T
from tenferro.transforms.trace import leaf_meta
from tenferro.transforms.trees import flatten, prefix_leaves, unflatten

__all__ = ["derivative", "hvp", "jet", "jvp", "linearize"]


# Forward-mode transforms: jvp, linearize, hvp, derivative.


@overload
def jvp(
    fun: Callable[..., R],
    primals: PyTree,
    tangents: PyTree,
    *,
    has_aux: Literal[False] = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, R]: ...


@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]],
    primals: PyTree,
    tangents: PyTree,
    *,
    has_aux: Literal[True],
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, R, Aux]: ...


@overload
def jvp(
    fun: Callable[..., PyTree],
    primals: PyTree,
    tangents: PyTree,
    *,
    has_aux: bool,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[PyTree, ...]: ...


def jvp(
    fun: Callable[..., PyTree],
    primals: PyTree,
    tangents: PyTree,
    has_aux: bool = False,
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[PyTree, PyTree] | tuple[PyTree, PyTree, PyTree]:
    """The value at `primals`, and its derivative in the direction `tangents`.

    Args:
        fun: any function of arrays.
        primals: tuple of arguments.
        tangents: tuple of the same structure and types; of integers and keys of random numbers an
            array of `tn.dtypes.float0`.
        has_aux: the function returns a pair (value, aux); return (value, tangent, aux).
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need besides its arguments; see `grad`.

    Raises:
        PytreeError, ShapeError: one of them is not a tuple, or `tangents` does not match `primals`.
        ConfigError: `memory_limit` is not a number of bytes.
        MemoryLimitError: no way to keep the limit was found.

    >>> import tenferro as tn
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Tensor(9.), Tensor(6.))
    """
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise PytreeError(
            "jvp: takes a tuple of arguments and a tuple of tangents; write (x,), (dx,)"
        )
    primals, tangents = tuple(primals), tuple(tangents)
    ad = context_of(ad_context)
    trace, leaves = trace_in_context(ad, fun, primals, {}, has_aux)
    active, seeds = _directions(primals, tangents, trace.inputs)
    limit = MemoryLimit.read("jvp", memory_limit)
    keys, results = results_of(trace, leaves, fun, ad, limit).seeds(seeds, "tangent")
    pushed = ad.push_forward(trace.outputs, active, keys)
    filled = with_zeros(ad, pushed, trace.outputs)
    values = results.of([*trace.outputs, *filled, *trace.aux.keys])
    count = len(trace.outputs)
    out = unflatten(trace.tree, values[:count])
    tangent_out = unflatten(trace.tree, values[count : 2 * count])
    return (
        (out, tangent_out, trace.aux.rebuild(values[2 * count :]))
        if has_aux
        else (out, tangent_out)
    )


def _directions(
    primals: tuple[PyTree, ...], tangents: tuple[PyTree, ...], inputs: Sequence[GlobalValKey]
) -> tuple[list[GlobalValKey], list[Any]]:
    """The inputs that have tangents, and these. Those of integers may be of the dtype float0."""
    _, in_tree = flatten(primals)
    given, _ = flatten(tangents)
    if not any(getattr(each, "dtype", None) == FLOAT0 for each in given):
        require_active(inputs)
        return list(inputs), matching_leaves(
            "jvp", "tangent", tangents, in_tree, list(map(type_of, inputs))
        )
    spread = prefix_leaves(tangents, primals, "jvp: the tangents do not have the structure of")
    pairs = [
        (key, tangent)
        for key, tangent in zip(inputs, spread, strict=True)
        if is_inexact(type_of(key).dtype) or getattr(tangent, "dtype", None) != FLOAT0
    ]
    active = [key for key, _ in pairs]
    require_active(active)
    metas = list(map(type_of, active))
    leaves = [tangent for _, tangent in pairs]
    return active, matching_leaves("jvp", "tangent", leaves, flatten(leaves)[1], metas)


@overload
def linearize(
    fun: Callable[..., R],
    *primals: PyTree,
    has_aux: Literal[False] = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[..., R]]: ...


@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]],
    *primals: PyTree,
    has_aux: Literal[True],
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[R, Callable[..., R], Aux]: ...


@overload
def linearize(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    has_aux: bool,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[PyTree, ...]: ...


def linearize(
    fun: Callable[..., PyTree],
    *primals: PyTree,
    has_aux: bool = False,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[PyTree, Callable[..., PyTree]] | tuple[PyTree, Callable[..., PyTree], PyTree]:
    """The value at `primals`, and the derivative there as a linear function of tangents.

    With `has_aux` the function returns a pair (value, aux), and the result is (value, linear
    function, aux).

    The linear function may be called any number of times. It saves the values that it needs of the
    forward run, and is a tree of them, as the pullback of `vjp` is. Un-jitted, the forward run and
    the linear function are two programs, and each keeps `memory_limit` (see `grad`); in a function
    that is compiled it is a limit of the whole program.

    >>> import tenferro as tn
    >>> y, derivative_at = linearize(lambda x: x * x, 3.0)
    >>> derivative_at(1.0), derivative_at(0.5)
    (Tensor(6.), Tensor(3.))
    """
    ad = context_of(ad_context)
    trace, leaves = trace_in_context(ad, fun, primals, {}, has_aux)
    require_active(trace.inputs)
    _, in_tree = flatten(primals)
    limit = MemoryLimit.read("linearize", memory_limit)
    linear_map = LinearMap.pushforward(trace, results_of(trace, leaves, fun, ad, limit), ad)
    linear = Linearized(linear_map, in_tree, trace.tree)
    value = unflatten(trace.tree, linear_map.values)
    return (value, linear, linear_map.aux) if has_aux else (value, linear)


@overload
def hvp(
    function: Callable[..., object],
    primals: tuple[AnyTensor | Single],
    tangents: tuple[PyTree],
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> AnyTensor: ...


@overload
def hvp(
    function: Callable[..., object],
    primals: tuple[T],
    tangents: tuple[PyTree],
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> T: ...


@overload
def hvp(
    function: Callable[..., object],
    primals: tuple[T, Second],
    tangents: tuple[PyTree, PyTree],
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> tuple[T, Second]: ...


@overload
def hvp(
    function: Callable[..., object],
    primals: Record,
    tangents: PyTree,
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> Record: ...


@overload
def hvp(
    function: Callable[..., object],
    primals: AnyTensor | Single,
    tangents: PyTree,
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> AnyTensor: ...


@overload
def hvp(
    function: Callable[..., object],
    primals: PyTree,
    tangents: PyTree,
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> PyTree: ...


def hvp(
    function: Callable[..., object],
    primals: PyTree,
    tangents: PyTree,
    *,
    ad_context: AdContext | None = None,
    memory_limit: Bytes = None,
) -> PyTree:
    """The product of the Hessian of a real scalar function with a direction, forward over reverse.

    Args:
        function: returns a real scalar.
        primals: tuple of arguments, or a single argument.
        tangents: direction, of the same structure.
        ad_context: has the derivative rules of extension ops that the function uses.
        memory_limit: the most bytes that the program may need besides its arguments; see `grad`.

    >>> import tenferro as tn
    >>> hvp(lambda x: tn.sum(x * x * x), (tn.Tensor([1.0, 2.0]),), (tn.Tensor([1.0, 0.0]),))
    Tensor([6., 0.])
    """
    limit = MemoryLimit.read("hvp", memory_limit)
    primals, tangents = _tuples("hvp", primals, tangents)
    argnums: Any = 0 if len(primals) == 1 else tuple(range(len(primals)))
    gradient = Gradients("hvp", function, argnums, ad_context=ad_context).as_function()
    return jvp(gradient, primals, tangents, ad_context=ad_context, memory_limit=limit)[1]


def derivative(
    function: Callable[..., R], order: int = 1, *, ad_context: AdContext | None = None
) -> Callable[[ArrayLike], R]:
    """The derivative, of any order, of a function of one scalar, by repeated forward mode.

    The passes share common values, so that the size of the program is polynomial in the order.

    Args:
        function: from a real or complex scalar to any tree of arrays.
        order: the order of the derivative; 0 is the function itself.
        ad_context: has the derivative rules of extension ops that the function uses.

    Raises:
        ShapeError: the argument is not a single scalar.

    >>> import tenferro as tn
    >>> derivative(lambda x: x**4, order=3)(2.0)
    Tensor(48.)
    """
    order = read_integer("derivative", "order", order, ADError, 0)

    def differentiated(x: ArrayLike) -> R:
        ad = context_of(ad_context)
        trace, leaves = trace_in_context(ad, function, (x,), {})
        if len(trace.inputs) != 1 or ad.shapes.meta(trace.inputs[0]).rank != 0:
            got = ", ".join(str(ad.shapes.meta(key)) for key in trace.inputs)
            raise ShapeError(
                f"derivative: the function must take one scalar, got {got}; use jacfwd or hessian "
                "for arrays"
            )
        require_active(trace.inputs)
        seed = full_like(KeyEmitter(ad.shapes), 1, trace.inputs[0])
        keys = list(trace.outputs)
        for _ in range(order):
            keys = with_zeros(ad, ad.push_forward(keys, trace.inputs, [seed]), keys)
        values = results_of(trace, leaves, function, ad).of(keys)
        return unflatten(trace.tree, values)  # type: ignore[no-any-return]  # as the function

    return wraps(function, differentiated)


def _tuples(name: str, primals: Any, tangents: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    if isinstance(primals, tuple | list) != isinstance(tangents, tuple | list):
        raise PytreeError(f"{name}: primals and tangents must both be tuples of arguments")
    if not isinstance(primals, tuple | list):
        return (primals,), (tangents,)
    return tuple(primals), tuple(tangents)


# Taylor mode: jet.

Key = GlobalValKey


def jet(
    function: Callable[..., PyTree],
    primals: Sequence[PyTree],
    series: Sequence[Sequence[PyTree]],
    *,
    factorial_scaled: bool = True,
    ad_context: AdContext | None = None,
) -> tuple[PyTree, PyTree]:
    """The value and the derivatives along a curve through `primals`, as `jax.experimental.jet`.

    The derivative of order k + 1 is that of order k in the direction in which the curve and its own
    derivatives change. All orders share common values.

    Args:
        function: any function of arrays.
        primals: tuple of arguments: the point of the curve at 0.
        series: for each argument the derivatives of the curve at 0, of order 1, 2, and so on; each
            has the structure and types of the argument.
        factorial_scaled: False for coefficients of Taylor series, without the factorials, in
            `series` and in the result.
        ad_context: has the derivative rules of extension ops that the function uses.

    Returns:
        The value, and the value's structure with a list of derivatives for each array.

    Raises:
        PytreeError, ShapeError: the arguments are not tuples, or do not match one another.
        DTypeError: an argument is neither floating-point nor complex.

    >>> import tenferro as tn
    >>> jet(tn.sin, (0.0,), ((1.0, 0.0, 0.0),))
    (Tensor(0.), [Tensor(1.), Tensor(0.), Tensor(-1.)])
    """
    terms = _terms(primals, series)
    order = len(terms[0]) if terms else 0
    ad = context_of(ad_context)
    trace, leaves = trace_in_context(ad, function, tuple(primals), {})
    require_active(trace.inputs)
    _, in_tree = flatten(tuple(primals))
    coefficients: list[Any] = []
    for number in range(order):
        term = tuple([of_argument[number] for of_argument in terms])
        coefficients += matching_leaves(
            "jet", f"term {number + 1}", term, in_tree, list(map(type_of, trace.inputs))
        )
    # Terms may be equal, and derivatives are by each of them: they are inputs of their own.
    keys = [fresh_input(leaf_meta(leaf, "term"), f"term{i}") for i, leaf in enumerate(coefficients)]
    results = results_of(trace, leaves, function, ad)
    results = results.extended([*trace.inputs, *keys], [*leaves, *coefficients])
    at = KeyEmitter(ad.shapes)
    factors = [1 if factorial_scaled else math.factorial(number + 1) for number in range(order)]
    count = len(trace.inputs)
    curve = [list(trace.inputs)]
    for number, factor in enumerate(factors):
        raw = keys[number * count : (number + 1) * count]
        curve.append([_scaled(at, MUL, key, factor) for key in raw])
    orders = _along(ad, curve, trace.outputs)
    scaled = [
        [_scaled(at, DIV, key, factor) for key in outputs]
        for outputs, factor in zip(orders, factors, strict=True)
    ]
    values = results.of([*trace.outputs, *(key for outputs in scaled for key in outputs)])
    width = len(trace.outputs)
    by_order = [values[width * number : width * (number + 1)] for number in range(order + 1)]
    tails = [[outputs[i] for outputs in by_order[1:]] for i in range(width)]
    return unflatten(trace.tree, by_order[0]), unflatten(trace.tree, tails)


def _terms(primals: object, series: object) -> list[list[PyTree]]:
    """The derivatives of each argument's curve; checks that there are as many for each."""
    if not isinstance(primals, tuple | list) or not isinstance(series, tuple | list):
        raise PytreeError("jet: takes a tuple of arguments and one of their series; write (x,)")
    if len(primals) != len(series):
        raise PytreeError(f"jet: got {counted(len(primals), 'argument')} and {len(series)} series")
    for terms in series:
        if not isinstance(terms, tuple | list):
            raise PytreeError(
                f"jet: a series is a tuple of terms, got {class_of(terms)}; write ((dx,),)"
            )
    lengths = sorted({len(terms) for terms in series})
    if len(lengths) > 1:
        raise PytreeError(f"jet: the series have {' and '.join(map(str, lengths))} terms")
    return [list(terms) for terms in series]


def _scaled(at: KeyEmitter, op: StdTensorOp, key: Key, factor: int) -> Key:
    return key if factor == 1 else at.emit(op, key, full_like(at, factor, key))


def _along(ad: AdContext, curve: list[list[Key]], outputs: Sequence[Key]) -> list[list[Key]]:
    """The derivatives of the outputs along a curve, given by its point and its derivatives."""
    inputs = [key for keys in curve for key in keys]
    tangents = [*inputs[len(curve[0]) :], *([None] * len(curve[0]))]
    orders: list[list[Key]] = []
    keys = list(outputs)
    for _ in curve[1:]:
        keys = with_zeros(ad, ad.push_forward(keys, inputs, tangents), keys)
        orders.append(keys)
    return orders
