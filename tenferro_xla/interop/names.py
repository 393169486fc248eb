"""Reading a jaxpr: the ops that compute it, for each primitive of JAX that has a counterpart.

The names and parameters of primitives are JAX's own and may change with its version. An equation
that is not understood is refused; the error names its primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from jax import lax

from tenferro.arrays import analytic, elementwise, logical, rounding
from tenferro.chainrules import PrimitiveOp
from tenferro.computegraph import GlobalValKey, op_key
from tenferro.errors import ExecutorError
from tenferro.ops import (
    ABS,
    ACOS,
    ACOSH,
    ADD,
    AND,
    ASIN,
    ASINH,
    ATAN,
    ATAN2,
    ATANH,
    CBRT,
    CEIL,
    CLAMP,
    COMPLEX,
    CONJ,
    COS,
    COSH,
    DIV,
    ERF,
    ERF_INV,
    ERFC,
    EXP,
    EXPM1,
    FLOOR,
    IMAG,
    LOG,
    LOG1P,
    LOGISTIC,
    MAXIMUM,
    MINIMUM,
    MUL,
    NEG,
    NOT,
    OR,
    POW,
    REAL,
    REM,
    ROUND,
    RSQRT,
    SELECT,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SIGN,
    SIN,
    SINH,
    SQRT,
    SUB,
    TAN,
    TANH,
    XOR,
    BroadcastInDim,
    Compare,
    Concatenate,
    Convert,
    CumulativeProd,
    CumulativeSum,
    DotGeneral,
    Iota,
    Pad,
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceSum,
    Reshape,
    Reverse,
    Slice,
    StdTensorOp,
    Transpose,
    full_like,
)
from tenferro.shape import annotate, as_dtype
from tenferro.traced import TraceEmitter, capture

Keys = Sequence[GlobalValKey]
Translation = Callable[[TraceEmitter, Any, list[GlobalValKey]], GlobalValKey]
"""From the emitter, the equation and its operands to its only result."""

_ELEMENTWISE: dict[str, StdTensorOp] = {
    "add": ADD,
    "add_any": ADD,
    "sub": SUB,
    "mul": MUL,
    "div": DIV,
    "rem": REM,
    "neg": NEG,
    "abs": ABS,
    "sign": SIGN,
    "max": MAXIMUM,
    "min": MINIMUM,
    "exp": EXP,
    "expm1": EXPM1,
    "log": LOG,
    "log1p": LOG1P,
    "sin": SIN,
    "cos": COS,
    "tan": TAN,
    "sinh": SINH,
    "cosh": COSH,
    "tanh": TANH,
    "asin": ASIN,
    "acos": ACOS,
    "atan": ATAN,
    "atan2": ATAN2,
    "asinh": ASINH,
    "acosh": ACOSH,
    "atanh": ATANH,
    "sqrt": SQRT,
    "rsqrt": RSQRT,
    "cbrt": CBRT,
    "erf": ERF,
    "erfc": ERFC,
    "erf_inv": ERF_INV,
    "logistic": LOGISTIC,
    "floor": FLOOR,
    "ceil": CEIL,
    "and": AND,
    "or": OR,
    "xor": XOR,
    "not": NOT,
    "shift_left": SHIFT_LEFT,
    "conj": CONJ,
    "real": REAL,
    "imag": IMAG,
    "complex": COMPLEX,
    "clamp": CLAMP,
    **{direction.lower(): Compare(direction) for direction in ("EQ", "NE", "LT", "LE", "GT", "GE")},
}

_REDUCTIONS: dict[str, Callable[[tuple[int, ...]], StdTensorOp]] = {
    "reduce_sum": ReduceSum,
    "reduce_prod": ReduceProd,
    "reduce_max": ReduceMax,
    "reduce_min": ReduceMin,
    "reduce_and": ReduceAnd,
    "reduce_or": ReduceOr,
}

_IDENTITIES = ("copy", "copy_p", "stop_gradient", "optimization_barrier")

_CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""Names of the parameter in which an equation of a call holds the called jaxpr."""

_CALLERS = (
    *("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2"),
    *("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"),
)


class JaxprEmitter(TraceEmitter):
    """Records ops without a site in the user's program, which only JAX knows."""

    def emit(self, op: PrimitiveOp, *operands: GlobalValKey) -> GlobalValKey:
        """Output 0 of the op."""
        return annotate(op_key(op, operands))[0]


def translate(at: TraceEmitter, jaxpr: Any, consts: Sequence[Any], inputs: Keys) -> Keys:
    """The outputs of `jaxpr` for the given inputs. Calls are inlined, custom derivatives dropped.

    Raises:
        ExecutorError: a primitive has no counterpart; names the first.
    """
    values: dict[Any, GlobalValKey] = dict(zip(jaxpr.invars, inputs, strict=True))
    for variable, const in zip(jaxpr.constvars, consts, strict=True):
        values[variable] = capture(np.asarray(const))

    def read(atom: Any) -> GlobalValKey:
        if hasattr(atom, "val"):
            return capture(np.asarray(atom.val, dtype=atom.aval.dtype))
        return values[atom]

    for equation in jaxpr.eqns:
        results = _equation(at, equation, [read(atom) for atom in equation.invars])
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _equation(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> Keys:
    name = equation.primitive.name
    if name in _CALLERS:
        body = next(equation.params[key] for key in _CALLS if key in equation.params)
        return translate(at, getattr(body, "jaxpr", body), getattr(body, "consts", ()), operands)
    if name in _IDENTITIES:
        return operands
    if name in _ELEMENTWISE:
        shape = _integers(equation.outvars[0].aval.shape)
        return [at.emit(_ELEMENTWISE[name], *(_spread(at, x, shape) for x in operands))]
    if name in _REDUCTIONS:
        return [at.emit(_REDUCTIONS[name](_integers(equation.params["axes"])), *operands)]
    if name in _OTHERS:
        return [_OTHERS[name](at, equation, operands)]
    raise ExecutorError(
        f"from_jax: the JAX primitive {name!r} has no counterpart in tenferro.ops; "
        f"it is used in: {equation}"
    )


def _integers(values: Iterable[Any]) -> tuple[int, ...]:
    """Parameters as Python integers; some are NumPy's."""
    return tuple(int(value) for value in values)


def _spread(at: TraceEmitter, x: GlobalValKey, shape: tuple[int, ...]) -> GlobalValKey:
    """The operand repeated to `shape`: JAX allows operands that are scalars or have size 1."""
    meta = at.ctx.meta(x)
    return x if meta.dims == shape else at.emit(BroadcastInDim(shape, tuple(range(meta.rank))), x)


def _convert(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    dtype = as_dtype(equation.params["new_dtype"])
    (x,) = operands
    return x if at.ctx.meta(x).dtype == dtype else at.emit(Convert(dtype), x)


def _broadcast_in_dim(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    params = equation.params
    op = BroadcastInDim(_integers(params["shape"]), _integers(params["broadcast_dimensions"]))
    return at.emit(op, *x)


def _reshape(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    """Any primitive that keeps the order of elements is a reshape."""
    return at.emit(Reshape(_integers(equation.outvars[0].aval.shape)), *x)


def _transpose(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(Transpose(_integers(equation.params["permutation"])), *x)


def _slice(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    params = equation.params
    starts = _integers(params["start_indices"])
    strides = _integers(params["strides"] or (1,) * len(starts))
    return at.emit(Slice(starts, _integers(params["limit_indices"]), strides), *x)


def _pad(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    low, high, interior = (
        _integers(config[part] for config in equation.params["padding_config"]) for part in range(3)
    )
    return at.emit(Pad(low, high, interior), *operands)


def _concatenate(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(Concatenate(int(equation.params["dimension"])), *x)


def _stack(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    axis = int(equation.params["axis"])
    shape = list(equation.outvars[0].aval.shape)
    shape[axis] = 1
    return at.emit(Concatenate(axis), *(at.emit(Reshape(tuple(shape)), x) for x in operands))


def _rev(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(Reverse(_integers(equation.params["dimensions"])), *x)


def _dot_general(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A contraction whose operands are first converted to the dtype of the result."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = equation.params["dimension_numbers"]
    op = DotGeneral(
        _integers(lhs_contract), _integers(rhs_contract), _integers(lhs_batch), _integers(rhs_batch)
    )
    dtype = as_dtype(equation.outvars[0].aval.dtype)
    return at.emit(op, *(elementwise.astype(at, x, dtype) for x in operands))


def _select_n(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A choice between two cases by a bool; JAX lists the case for False first."""
    which, *cases = operands
    if len(cases) != 2 or at.ctx.meta(which).dtype.kind != "b":
        raise ExecutorError(
            f"from_jax: 'select_n' among {len(cases)} cases by {at.ctx.meta(which)} has no "
            "counterpart; only a choice of two by a bool has"
        )
    pred = _spread(at, which, _integers(equation.outvars[0].aval.shape))
    return at.emit(SELECT, pred, cases[1], cases[0])


def _integer_pow(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return elementwise.pow(at, x[0], int(equation.params["y"]))


def _square(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(MUL, x[0], x[0])


def _pow(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """A power; JAX allows an integer exponent with a float base, so that it is converted."""
    base, exponent = operands
    dtype = at.ctx.meta(base).dtype
    shape = _integers(equation.outvars[0].aval.shape)
    converted = elementwise.astype(at, exponent, dtype)
    return at.emit(POW, _spread(at, base, shape), _spread(at, converted, shape))


def _iota(at: TraceEmitter, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    params = equation.params
    shape, axis = _integers(params["shape"]), int(params["dimension"])
    counted = at.emit(Iota(as_dtype(params["dtype"]), shape[axis]))
    return at.emit(BroadcastInDim(shape, (axis,)), counted)


def _is_finite(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return logical.isfinite(at, x[0])


def _exp2(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return analytic.exp2(at, x[0])


def _round(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    if equation.params["rounding_method"] == lax.RoundingMethod.TO_NEAREST_EVEN:
        return at.emit(ROUND, *x)
    whole = rounding.trunc(at, x[0])
    rest = elementwise.abs(at, elementwise.subtract(at, x[0], whole))
    further = elementwise.add(at, whole, elementwise.sign(at, x[0]))
    is_half = at.emit(Compare("GE"), rest, full_like(at, 0.5, rest))
    return elementwise.where(at, is_half, further, whole)


def _scan(op: Callable[[int, bool], StdTensorOp]) -> Translation:
    def translation(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
        return at.emit(op(int(equation.params["axis"]), bool(equation.params["reverse"])), *x)

    return translation


def _shift_right(at: TraceEmitter, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    """A shift that fills with the sign for signed integers and with zeros for unsigned ones."""
    name = equation.primitive.name
    if (at.ctx.meta(x[0]).dtype.kind == "i") != (name == "shift_right_arithmetic"):
        raise ExecutorError(f"from_jax: {name!r} of {at.ctx.meta(x[0])} has no counterpart")
    shape = _integers(equation.outvars[0].aval.shape)
    return at.emit(SHIFT_RIGHT, *(_spread(at, operand, shape) for operand in x))


_OTHERS: dict[str, Translation] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "convert_element_type": _convert,
    "cumprod": _scan(CumulativeProd),
    "cumsum": _scan(CumulativeSum),
    "dot_general": _dot_general,
    "exp2": _exp2,
    "expand_dims": _reshape,
    "integer_pow": _integer_pow,
    "iota": _iota,
    "is_finite": _is_finite,
    "pad": _pad,
    "pow": _pow,
    "reshape": _reshape,
    "rev": _rev,
    "round": _round,
    "select_n": _select_n,
    "shift_right_arithmetic": _shift_right,
    "shift_right_logical": _shift_right,
    "slice": _slice,
    "square": _square,
    "squeeze": _reshape,
    "stack": _stack,
    "transpose": _transpose,
}
