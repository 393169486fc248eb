"""Primitives that combine elements along axes: reductions, contractions, running combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.arrays import analytic, elementwise, joining
from tenferro.computegraph import GlobalValKey
from tenferro.ops import (
    ADD,
    AND,
    MAXIMUM,
    MINIMUM,
    MUL,
    OR,
    ArgMax,
    ArgMin,
    Concatenate,
    CumulativeProd,
    CumulativeSum,
    DotGeneral,
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceSum,
    Reverse,
    StdTensorOp,
)
from tenferro.shape import as_dtype
from tenferro_xla.interop.jaxprs.reader import Reader, Translation, integers, shape_of

Combine = Callable[[Reader, GlobalValKey, GlobalValKey], GlobalValKey]

_FUNCTIONS: dict[str, tuple[StdTensorOp, Callable[[tuple[int, ...]], StdTensorOp]]] = {
    "add": (ADD, ReduceSum),
    "and": (AND, ReduceAnd),
    "max": (MAXIMUM, ReduceMax),
    "min": (MINIMUM, ReduceMin),
    "mul": (MUL, ReduceProd),
    "or": (OR, ReduceOr),
}


def _reduction(op: Callable[[tuple[int, ...]], StdTensorOp]) -> Translation:
    def translation(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
        return at.emit(op(integers(equation.params["axes"])), *x)

    return translation


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
    given = [*step.invars] in ([*inner.invars], [*reversed(inner.invars)])
    return str(step.primitive.name) if same and given else ""


def _place(op: Callable[[int], StdTensorOp]) -> Translation:
    """Where an extremum is, in the dtype that JAX chose."""

    def translation(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
        (axis,) = integers(equation.params["axes"])
        return elementwise.astype(
            at, at.emit(op(axis), *x), as_dtype(equation.params["index_dtype"])
        )

    return translation


def _running(op: Callable[[int, bool], StdTensorOp]) -> Translation:
    def translation(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
        return at.emit(op(int(equation.params["axis"]), bool(equation.params["reverse"])), *x)

    return translation


def _running_by(combine: Combine) -> Translation:
    """Running combinations without an op of their own, of 1, 2, 4, ... elements."""

    def translation(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
        (x,) = operands
        axis, reverse = int(equation.params["axis"]), bool(equation.params["reverse"])
        flip, size = Reverse((axis,)), shape_of(equation)[axis]
        result = at.emit(flip, x) if reverse else x
        count = 1
        while count < size:
            first, earlier, later = (
                joining.window(at, result, axis, start, stop)
                for start, stop in ((0, count), (0, size - count), (count, size))
            )
            result = at.emit(Concatenate(axis), first, combine(at, earlier, later))
            count *= 2
        return at.emit(flip, result) if reverse else result

    return translation


def _logsumexp(at: Reader, x: GlobalValKey, y: GlobalValKey) -> GlobalValKey:
    return analytic.logaddexp(at, x, y)


def _dot_general(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A contraction whose operands are first converted to the dtype of the result."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = equation.params["dimension_numbers"]
    op = DotGeneral(
        integers(lhs_contract), integers(rhs_contract), integers(lhs_batch), integers(rhs_batch)
    )
    dtype = as_dtype(equation.outvars[0].aval.dtype)
    return at.emit(op, *(elementwise.astype(at, x, dtype) for x in operands))


TABLE: dict[str, Translation] = {
    "argmax": _place(ArgMax),
    "argmin": _place(ArgMin),
    "cumlogsumexp": _running_by(_logsumexp),
    "cummax": _running_by(lambda at, x, y: at.emit(MAXIMUM, x, y)),
    "cummin": _running_by(lambda at, x, y: at.emit(MINIMUM, x, y)),
    "cumprod": _running(CumulativeProd),
    "cumsum": _running(CumulativeSum),
    "dot_general": _dot_general,
    "reduce": _reduce,
    "reduce_and": _reduction(ReduceAnd),
    "reduce_max": _reduction(ReduceMax),
    "reduce_min": _reduction(ReduceMin),
    "reduce_or": _reduction(ReduceOr),
    "reduce_prod": _reduction(ReduceProd),
    "reduce_sum": _reduction(ReduceSum),
}
