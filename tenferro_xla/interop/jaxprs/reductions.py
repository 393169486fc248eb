"""Primitives that combine elements along axes: reductions, contractions, running combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tenferro import lax, ops
from tenferro.core import GlobalValKey
from tenferro.ir import as_dtype, dtype_kind
from tenferro.ops.functions import elementwise, emit_function
from tenferro_xla.interop.jaxprs.reader import (
    Keys,
    Reader,
    Translation,
    integers,
    of_function,
    of_parameters,
)
from tenferro_xla.interop.jaxprs.refused import REFUSED

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lax.add,
    "max": lax.max,
    "min": lax.min,
    "mul": lax.mul,
}
"""Functions of `tn.lax` whose reductions are ops, by the name of the primitive."""


def _reduction(op: Callable[[tuple[int, ...]], ops.StdTensorOp]) -> Translation:
    return of_parameters(lambda p: op(integers(p["axes"])))


def _bits(
    op: Callable[[tuple[int, ...]], ops.StdTensorOp], combine: Callable[[Any, Any], Any], first: int
) -> Translation:
    """A reduction of bools, or of the bits of integers."""

    def translation(at: Reader, equation: Any, x: list[GlobalValKey]) -> Keys:
        axes, dtype = integers(equation.params["axes"]), at.ctx.meta(x[0]).dtype
        if dtype_kind(dtype) == "b":
            return [at.emit(op(axes), *x)]
        start = at.constant(np.asarray(first).astype(dtype))
        return at.apply(lambda value, start: lax.reduce(value, start, combine, axes), *x, start)

    return translation


def _reduce(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """A reduction of arrays by a function of scalars, from first values."""
    params, count = equation.params, len(operands) // 2
    known = _FUNCTIONS.get(_only_primitive(params["jaxpr"])) if count == 1 else None
    combine, axes = at.function(params["jaxpr"]), integers(params["dimensions"])

    def several(*values: Any) -> Any:
        return lax.reduce(
            list(values[:count]),
            list(values[count:]),
            lambda xs, ys: list(combine(*xs, *ys)),
            axes,
        )

    if known is None:
        return at.apply(several, *operands)
    return at.apply(lambda x, first: lax.reduce(x, first, known, axes), *operands)


def _only_primitive(jaxpr: Any) -> str:
    """The name of the primitive that a jaxpr of two inputs applies to these; "" for others."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    if len(inner.eqns) != 1:
        return ""
    (step,) = inner.eqns
    same = [*step.outvars] == [*inner.outvars]
    direct = [*step.invars] in ([*inner.invars], [*reversed(inner.invars)])
    return str(step.primitive.name) if same and direct else ""


def _over_axes(op: Callable[[tuple[int, ...]], ops.StdTensorOp]) -> Translation:
    """What `vmap` makes of a collective on the axis that it names."""

    def translation(at: Reader, equation: Any, x: list[GlobalValKey]) -> Keys:
        axes = equation.params["axes"]
        if not all(isinstance(axis, int) for axis in axes):
            raise at.refuse(equation, REFUSED["axis_index"])
        return [at.emit(op(integers(axes)), operand) for operand in x]

    return translation


def _place(op: Callable[[int], ops.StdTensorOp]) -> Translation:
    """Where an extremum is, in the dtype that JAX chose."""

    def translation(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
        (axis,) = integers(equation.params["axes"])
        dtype = as_dtype(equation.params["index_dtype"])
        return emit_function(at, elementwise.astype, at.emit(op(axis), *x), dtype=dtype)

    return translation


def _running(op: Callable[[int, bool], ops.StdTensorOp]) -> Translation:
    """An op that goes along an axis, from its end if reversed."""
    return of_parameters(lambda p: op(int(p["axis"]), bool(p["reverse"])))


def _dot_general(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A contraction whose operands are first converted to the dtype of the result."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = equation.params["dimension_numbers"]
    op = ops.DotGeneral(
        integers(lhs_contract), integers(rhs_contract), integers(lhs_batch), integers(rhs_batch)
    )
    dtype = as_dtype(equation.outvars[0].aval.dtype)
    return at.emit(op, *(emit_function(at, elementwise.astype, x, dtype=dtype) for x in operands))


def _ragged_dot(params: Any, x: Any, y: Any, sizes: Any) -> Any:
    return lax.ragged_dot_general(
        x,
        y,
        sizes,
        params["ragged_dot_dimension_numbers"],
        preferred_element_type=params["preferred_element_type"],
        group_offset=params["group_offset"],
    )


TABLE: dict[str, Translation] = {
    "argmax": _place(ops.ArgMax),
    "argmin": _place(ops.ArgMin),
    "cumlogsumexp": _running(ops.CumulativeLogSumExp),
    "cummax": _running(ops.CumulativeMax),
    "cummin": _running(ops.CumulativeMin),
    "cumprod": _running(ops.CumulativeProd),
    "cumsum": _running(ops.CumulativeSum),
    "dot_general": _dot_general,
    "pmax": _over_axes(ops.ReduceMax),
    "pmin": _over_axes(ops.ReduceMin),
    "psum": _over_axes(ops.ReduceSum),
    "ragged_dot_general": of_function(_ragged_dot),
    "reduce": _reduce,
    "reduce_and": _bits(ops.ReduceAnd, lax.bitwise_and, -1),
    "reduce_max": _reduction(ops.ReduceMax),
    "reduce_min": _reduction(ops.ReduceMin),
    "reduce_or": _bits(ops.ReduceOr, lax.bitwise_or, 0),
    "reduce_prod": _reduction(ops.ReduceProd),
    "reduce_sum": _reduction(ops.ReduceSum),
    "reduce_xor": of_function(lambda p, x: lax.reduce_xor(x, integers(p["axes"]))),
}


# Sorting.


def _sort(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The operands in the order of the first `num_keys` of them. Always stable."""
    axis, count = int(equation.params["dimension"]), int(equation.params["num_keys"])
    keys: list[GlobalValKey] = []
    for key in operands[:count]:
        is_complex = dtype_kind(at.ctx.meta(key).dtype) == "c"
        keys += [at.emit(ops.REAL, key), at.emit(ops.IMAG, key)] if is_complex else [key]
    if len(keys) == len(operands) == 1:
        return at.emit_all(ops.Sort(axis), keys[0])[:1]
    places: GlobalValKey | None = None
    for key in reversed(keys):  # later keys decide among equal ones, so that they come first
        moved = key if places is None else ops.gather_along(at, key, places, axis)
        then = at.emit_all(ops.Sort(axis), moved)[1]
        places = then if places is None else ops.gather_along(at, places, then, axis)
    assert places is not None, "a sort has a key"
    return [ops.gather_along(at, x, places, axis) for x in operands]


def _top_k(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The largest elements along an axis, in descending order, and their places."""
    (x,) = operands
    rank, count = at.ctx.meta(x).rank, int(equation.params["k"])
    axis = int(equation.params.get("axis", rank - 1)) % rank
    places = at.emit(ops.TopPlaces(axis, count), x)
    dtype = as_dtype(equation.outvars[1].aval.dtype)
    elements = ops.gather_along(at, x, places, axis)
    return [elements, emit_function(at, elementwise.astype, places, dtype=dtype)]


def _approximate(params: Any, x: Any) -> Any:
    """The exact largest or smallest elements, which JAX approximates where that is faster."""
    top = lax.approx_max_k if params["is_max_k"] else lax.approx_min_k
    elements, places = top(x, params["k"], params["reduction_dimension"])
    return elements, places.astype("int32")


SORTING: dict[str, Translation] = {
    "approx_top_k": of_function(_approximate),
    "sort": _sort,
    "top_k": _top_k,
}
