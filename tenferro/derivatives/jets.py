"""Taylor mode: jet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tenferro.chainrules import KeyEmitter
from tenferro.computegraph import GlobalValKey
from tenferro.derivatives.context import AdContext, context_of, results_of, traced_with
from tenferro.derivatives.gradients import matching_leaves, require_active
from tenferro.errors import PytreeError
from tenferro.ops import DIV, MUL, StdTensorOp, full_like
from tenferro.shape import fresh_input
from tenferro.traced import flatten, leaf_meta, unflatten
from tenferro.typing import PyTree

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
    trace, leaves = traced_with(ad, function, tuple(primals), {})
    require_active(trace.inputs)
    _, in_tree = flatten(tuple(primals))
    given: list[Any] = []
    for number in range(order):
        term = tuple([of_argument[number] for of_argument in terms])
        given += matching_leaves("jet", f"term {number + 1}", term, in_tree, trace.inputs)
    # Terms may be equal, and derivatives are by each of them: they are inputs of their own.
    keys = [fresh_input(leaf_meta(leaf, "term"), f"term{i}") for i, leaf in enumerate(given)]
    results = results_of(trace, leaves, function, ad)
    results = results.extended([*trace.inputs, *keys], [*leaves, *given])
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
    return unflatten(trace.out_tree, by_order[0]), unflatten(trace.out_tree, tails)


def _terms(primals: object, series: object) -> list[list[PyTree]]:
    """The derivatives of each argument's curve; checks that there are as many for each."""
    if not isinstance(primals, tuple | list) or not isinstance(series, tuple | list):
        raise PytreeError("jet: takes a tuple of arguments and one of their series; write (x,)")
    if len(primals) != len(series):
        raise PytreeError(f"jet: got {len(primals)} arguments and {len(series)} series")
    for terms in series:
        if not isinstance(terms, tuple | list):
            raise PytreeError(
                f"jet: a series is a tuple of terms, got a {type(terms).__name__}; write ((dx,),)"
            )
    lengths = sorted({len(terms) for terms in series})
    if len(lengths) > 1:
        raise PytreeError(f"jet: the series have {' and '.join(map(str, lengths))} terms")
    return [list(terms) for terms in series]


def _scaled(at: KeyEmitter, op: StdTensorOp, key: Key, factor: int) -> Key:
    """The value times or over a factor."""
    return key if factor == 1 else at.emit(op, key, full_like(at, factor, key))


def _along(ad: AdContext, curve: list[list[Key]], outputs: Sequence[Key]) -> list[list[Key]]:
    """The derivatives of the outputs along a curve, given by its point and its derivatives."""
    inputs = [key for keys in curve for key in keys]
    tangents = [*inputs[len(curve[0]) :], *([None] * len(curve[0]))]
    orders: list[list[Key]] = []
    keys = list(outputs)
    for _ in curve[1:]:
        pushed = ad.push_forward(keys, inputs, tangents)
        keys = [
            ad.zeros_like(key) if tangent is None else tangent
            for key, tangent in zip(keys, pushed, strict=True)
        ]
        orders.append(keys)
    return orders
