"""Primitives that act on each element."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.lax import RoundingMethod

from tenferro import lax, ops
from tenferro.core import GlobalValKey
from tenferro.ir import as_dtype, dtype_kind
from tenferro.ops.functions import analytic, elementwise, emit_function, logical
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, of_function, shape_of

_OPS: dict[str, ops.StdTensorOp] = {
    **{
        row.lax.removeprefix("bitwise_"): row()
        for row in ops.ALL_OPS
        if issubclass(row, ops.Elementwise) and row.lax is not None
    },
    **{name: ops.Special(name) for name in ("lgamma", "digamma", "polygamma", "zeta", "nextafter")},
    **{
        direction.lower(): ops.Compare(direction)
        for direction in ("EQ", "NE", "LT", "LE", "GT", "GE")
    },
    "add_any": ops.ADD,
    "bessel_i0e": ops.Special("i0e"),
    "bessel_i1e": ops.Special("i1e"),
    "igamma": ops.Special("gammainc"),
    "igammac": ops.Special("gammaincc"),
    "igamma_grad_a": ops.Special("gammainc_grad_a"),
    "regularized_incomplete_beta": ops.Special("betainc"),
    "stop_gradient": ops.STOP_GRADIENT,
}
"""Ops by the name of the primitive, which the function of `jax.lax` has that a row names."""

_IDENTITIES = (
    *("copy", "copy_p", "device_put", "layout_constraint", "optimization_barrier", "pvary"),
    *("relayout", "reshard", "shard_alike", "with_memory_space_constraint", "xla_metadata_value"),
)


def _op(op: ops.StdTensorOp) -> Translation:
    """The op on operands of the result's shape."""

    def translation(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
        shape = shape_of(equation)
        return at.emit(op, *(at.spread(x, shape) for x in operands))

    return translation


def _itself(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    return operands


def _before(direction: str) -> Translation:
    """A comparison in the order of IEEE 754, in which -0 is less than 0, and NaN the largest."""

    def translation(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
        shape = shape_of(equation)
        x, y = (at.spread(operand, shape) for operand in operands)
        if dtype_kind(at.ctx.meta(x).dtype) != "f":
            return at.emit(ops.Compare(direction), x, y)
        x, y = (x, y) if direction == "LT" else (y, x)  # x <= y is the opposite of y < x
        one = ops.full_like(at, 1, x)
        signed = at.emit(ops.Compare("LT"), at.emit(ops.DIV, one, x), at.emit(ops.DIV, one, y))
        zeros = at.emit(ops.AND, at.emit(ops.Compare("EQ"), x, y), signed)
        y_last = at.emit(
            ops.AND,
            emit_function(at, logical.isnan, y),
            at.emit(ops.NOT, emit_function(at, logical.isnan, x)),
        )
        less = at.emit(ops.OR, at.emit(ops.Compare("LT"), x, y), at.emit(ops.OR, y_last, zeros))
        return less if direction == "LT" else at.emit(ops.NOT, less)

    return translation


def _equal(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """Equality in the order of IEEE 754: neither is before the other."""
    x, y = operands
    after = [_before("LT")(at, equation, pair) for pair in ([x, y], [y, x])]
    first, second = (at.emit(ops.NOT, one) for one in after)  # type: ignore[arg-type]  # one result
    return at.emit(ops.AND, first, second)


def _select_n(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A choice among cases by a number; by a bool, the case for False is the first."""
    which, result, *cases = operands
    shape = shape_of(equation)
    if not cases:
        return result
    if dtype_kind(at.ctx.meta(which).dtype) == "b":
        return at.emit(ops.SELECT, at.spread(which, shape), cases[0], result)
    for number, case in enumerate(cases, 1):
        chosen = at.emit(ops.Compare("GE"), which, ops.full_like(at, number, which))
        result = at.emit(ops.SELECT, at.spread(chosen, shape), case, result)
    return result


def _pow(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A power; JAX allows an integer exponent with a float base, so that it is converted."""
    base, exponent = operands
    shape = shape_of(equation)
    converted = emit_function(at, elementwise.astype, exponent, dtype=at.ctx.meta(base).dtype)
    return at.emit(ops.POW, at.spread(base, shape), at.spread(converted, shape))


def _polynomial(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A polynomial by Horner's rule; the coefficients come after x, that of the constant first."""
    shape = shape_of(equation)
    x, *coefficients, result = (at.spread(operand, shape) for operand in operands)
    for coefficient in reversed(coefficients):
        result = at.emit(ops.ADD, at.emit(ops.MUL, result, x), coefficient)
    return result


def _round(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    if equation.params["rounding_method"] == RoundingMethod.TO_NEAREST_EVEN:
        return at.emit(ops.ROUND, *x)
    whole = emit_function(at, elementwise.trunc, x[0])
    rest = emit_function(at, elementwise.abs, emit_function(at, elementwise.subtract, x[0], whole))
    further = emit_function(at, elementwise.add, whole, emit_function(at, elementwise.sign, x[0]))
    is_half = at.emit(ops.Compare("GE"), rest, ops.full_like(at, 0.5, rest))
    return emit_function(at, elementwise.where, is_half, further, whole)


def _shift_right_arithmetic(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    """A shift that fills with the sign."""
    meta = at.ctx.meta(x[0])
    if dtype_kind(meta.dtype) != "i":
        raise at.refuse(equation, f"of {meta} has no counterpart")
    return _op(ops.SHIFT_RIGHT)(at, equation, x)  # type: ignore[return-value]  # one result


def _shift_right_logical(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    """A shift that fills with zeros, as that of unsigned integers does."""
    dtype, shape = at.ctx.meta(x[0]).dtype, shape_of(equation)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    operands = [
        at.spread(emit_function(at, elementwise.astype, operand, dtype=unsigned), shape)
        for operand in x
    ]
    shifted = at.emit(ops.SHIFT_RIGHT, *operands)
    return shifted if dtype == unsigned else at.emit(ops.Convert(dtype), shifted)


TABLE: dict[str, Translation] = {
    **{name: _op(op) for name, op in _OPS.items()},
    **dict.fromkeys(_IDENTITIES, _itself),
    "convert_element_type": lambda at, equation, x: emit_function(
        at, elementwise.astype, x[0], dtype=as_dtype(equation.params["new_dtype"])
    ),
    "exp2": lambda at, equation, x: emit_function(at, analytic.exp2, x[0]),
    "integer_pow": lambda at, equation, x: emit_function(
        at, elementwise.pow, x[0], int(equation.params["y"])
    ),
    "is_finite": lambda at, equation, x: emit_function(at, logical.isfinite, x[0]),
    "bitcast_convert_type": of_function(lambda p, x: lax.bitcast_convert_type(x, p["new_dtype"])),
    "dce_sink": lambda at, equation, x: [],
    "eq_to": _equal,
    "le_to": _before("LE"),
    "log2": lambda at, equation, x: emit_function(at, analytic.log2, x[0]),
    "lt_to": _before("LT"),
    "mulhi": of_function(lambda p, x, y: lax.mulhi(x, y)),
    "one_minus_square": of_function(lambda p, x: (1 + x) * (1 - x)),
    "polynomial": _polynomial,
    "pow": _pow,
    "reduce_precision": of_function(
        lambda p, x: lax.reduce_precision(x, p["exponent_bits"], p["mantissa_bits"])
    ),
    "round": _round,
    "select_n": _select_n,
    "shift_right_arithmetic": _shift_right_arithmetic,
    "shift_right_logical": _shift_right_logical,
    "square": lambda at, equation, x: at.emit(ops.MUL, x[0], x[0]),
    "tie": lambda at, equation, operands: operands[1],
    "zeros_like": lambda at, equation, x: ops.full_like(at, 0, x[0]),
}
