"""Primitives that combine elements along axes: reductions, contractions, running combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro import ops
from tenferro.core import GlobalValKey
from tenferro.ir import as_dtype, dtype_kind
from tenferro.ops.functions import elementwise, emit_function
from tenferro_xla.interop.jaxprs.reader import (
    Keys,
    Reader,
    Translation,
    integers,
    of_parameters,
    shape_of,
)

Combine = Callable[[Reader, GlobalValKey, GlobalValKey], GlobalValKey]

_FUNCTIONS: dict[str, tuple[ops.StdTensorOp, Callable[[tuple[int, ...]], ops.StdTensorOp]]] = {
    "add": (ops.ADD, ops.ReduceSum),
    "and": (ops.AND, ops.ReduceAnd),
    "max": (ops.MAXIMUM, ops.ReduceMax),
    "min": (ops.MINIMUM, ops.ReduceMin),
    "mul": (ops.MUL, ops.ReduceProd),
    "or": (ops.OR, ops.ReduceOr),
}


def _reduction(op: Callable[[tuple[int, ...]], ops.StdTensorOp]) -> Translation:
    return of_parameters(lambda p: op(integers(p["axes"])))


def _reduce(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A reduction of one array by a function of one primitive, from a first value."""
    name = _only_primitive(equation.params["jaxpr"])
    if len(operands) != 2 or name not in _FUNCTIONS:
        known = ", ".join(_FUNCTIONS)
        raise at.refuse(equation, f"has a counterpart only for one array and one of {known}")
    x, first = operands
    combine, reduction = _FUNCTIONS[name]
    result = at.emit(reduction(integers(equation.params["dimensions"])), x)
    return at.emit(combine, at.spread(first, shape_of(equation)), result)


def _only_primitive(jaxpr: Any) -> str:
    """The name of the primitive that a jaxpr of two inputs applies to these; "" for others."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    if len(inner.eqns) != 1:
        return ""
    (step,) = inner.eqns
    same = [*step.outvars] == [*inner.outvars]
    direct = [*step.invars] in ([*inner.invars], [*reversed(inner.invars)])
    return str(step.primitive.name) if same and direct else ""


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


TABLE: dict[str, Translation] = {
    "argmax": _place(ops.ArgMax),
    "argmin": _place(ops.ArgMin),
    "cumlogsumexp": _running(ops.CumulativeLogSumExp),
    "cummax": _running(ops.CumulativeMax),
    "cummin": _running(ops.CumulativeMin),
    "cumprod": _running(ops.CumulativeProd),
    "cumsum": _running(ops.CumulativeSum),
    "dot_general": _dot_general,
    "reduce": _reduce,
    "reduce_and": _reduction(ops.ReduceAnd),
    "reduce_max": _reduction(ops.ReduceMax),
    "reduce_min": _reduction(ops.ReduceMin),
    "reduce_or": _reduction(ops.ReduceOr),
    "reduce_prod": _reduction(ops.ReduceProd),
    "reduce_sum": _reduction(ops.ReduceSum),
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


SORTING: dict[str, Translation] = {"sort": _sort, "top_k": _top_k}
