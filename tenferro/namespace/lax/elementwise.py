"""Functions of each element."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable

import numpy as np

from tenferro.arrays import Operand, analytic, elementwise, logical, repeated, rounding
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply
from tenferro.errors import DTypeError, GraphError, ShapeError
from tenferro.namespace.lax.operands import emit, lax_function, matched, same_dtype
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
    Compare,
    Convert,
    StdTensorOp,
    full_like,
)  # fmt: skip
from tenferro.shape import TensorMeta, as_dtype, read_integer
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike


class RoundingMethod(enum.Enum):
    """Where `round` takes a half."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _unary(name: str, op: StdTensorOp) -> Callable[[ArrayLike], AnyTensor]:
    def function(at: Emitter[V], x: Operand[V]) -> V:
        return emit(at, name, op, x)

    function.__name__, function.__doc__ = name, type(op).__doc__
    return lax_function(function)


def _binary(name: str, op: StdTensorOp) -> Callable[[ArrayLike, ArrayLike], AnyTensor]:
    def function(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
        return emit(at, name, op, x, y)

    function.__name__, function.__doc__ = name, type(op).__doc__
    return lax_function(function)


abs = _unary("abs", ABS)
neg = _unary("neg", NEG)
sign = _unary("sign", SIGN)
conj = _unary("conj", CONJ)
real = _unary("real", REAL)
imag = _unary("imag", IMAG)
exp = _unary("exp", EXP)
expm1 = _unary("expm1", EXPM1)
log = _unary("log", LOG)
log1p = _unary("log1p", LOG1P)
logistic = _unary("logistic", LOGISTIC)
sin = _unary("sin", SIN)
cos = _unary("cos", COS)
tan = _unary("tan", TAN)
asin = _unary("asin", ASIN)
acos = _unary("acos", ACOS)
atan = _unary("atan", ATAN)
sinh = _unary("sinh", SINH)
cosh = _unary("cosh", COSH)
tanh = _unary("tanh", TANH)
asinh = _unary("asinh", ASINH)
acosh = _unary("acosh", ACOSH)
atanh = _unary("atanh", ATANH)
sqrt = _unary("sqrt", SQRT)
rsqrt = _unary("rsqrt", RSQRT)
cbrt = _unary("cbrt", CBRT)
erf = _unary("erf", ERF)
erfc = _unary("erfc", ERFC)
erf_inv = _unary("erf_inv", ERF_INV)
floor = _unary("floor", FLOOR)
ceil = _unary("ceil", CEIL)
bitwise_not = _unary("bitwise_not", NOT)

add = _binary("add", ADD)
sub = _binary("sub", SUB)
mul = _binary("mul", MUL)
div = _binary("div", DIV)
rem = _binary("rem", REM)
max = _binary("max", MAXIMUM)
min = _binary("min", MINIMUM)
atan2 = _binary("atan2", ATAN2)
complex = _binary("complex", COMPLEX)
bitwise_and = _binary("bitwise_and", AND)
bitwise_or = _binary("bitwise_or", OR)
bitwise_xor = _binary("bitwise_xor", XOR)
shift_left = _binary("shift_left", SHIFT_LEFT)
eq = _binary("eq", Compare("EQ"))
ne = _binary("ne", Compare("NE"))
lt = _binary("lt", Compare("LT"))
le = _binary("le", Compare("LE"))
gt = _binary("gt", Compare("GT"))
ge = _binary("ge", Compare("GE"))


@lax_function
def square(at: Emitter[V], x: Operand[V]) -> V:
    """x times x.

    >>> tn.lax.square(np.array([2.0, 3.0]))
    Tensor([4., 9.])
    """
    (value,) = matched(at, "square", [x])
    return emit(at, "square", MUL, value, value)


@lax_function
def reciprocal(at: Emitter[V], x: Operand[V]) -> V:
    """1 / x.

    >>> tn.lax.reciprocal(np.array([2.0, 4.0]))
    Tensor([0.5 , 0.25])
    """
    return emit(at, "reciprocal", DIV, 1, x)


@lax_function
def exp2(at: Emitter[V], x: Operand[V]) -> V:
    """2 to the power of x.

    >>> tn.lax.exp2(np.array([3.0]))
    Tensor([8.])
    """
    return analytic.exp2(at, x)


@lax_function
def is_finite(at: Emitter[V], x: Operand[V]) -> V:
    """Whether each element is neither infinite nor NaN.

    >>> tn.lax.is_finite(np.array([1.0, np.inf]))
    Tensor([ True, False])
    """
    return logical.isfinite(at, x)


@lax_function
def round(
    at: Emitter[V],
    x: Operand[V],
    rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO,
) -> V:
    """The nearest integer; a half is taken away from zero, or to the even one.

    >>> tn.lax.round(np.array([0.5, 1.5, -0.5]))
    Tensor([ 1.,  2., -1.])
    """
    (value,) = matched(at, "round", [x])
    if RoundingMethod(rounding_method) is RoundingMethod.TO_NEAREST_EVEN:
        return emit(at, "round", ROUND, value)
    whole = rounding.trunc(at, value)
    rest = elementwise.abs(at, elementwise.subtract(at, value, whole))
    further = elementwise.add(at, whole, elementwise.sign(at, value))
    is_half = at.emit(Compare("GE"), rest, full_like(at, 0.5, rest))
    return elementwise.where(at, is_half, further, whole)


@lax_function
def pow(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x to the power of y, which may be an integer where x is not.

    >>> tn.lax.pow(np.array([2.0, 3.0]), 2)
    Tensor([4., 9.])
    """
    first, second = matched(at, "pow", [x, y])
    dtype = at.ctx.meta(first).dtype
    if dtype.kind in "fc" and at.ctx.meta(second).dtype.kind in "iu":
        second = elementwise.astype(at, second, dtype)
    return emit(at, "pow", POW, first, second)


@lax_function
def integer_pow(at: Emitter[V], x: Operand[V], y: int) -> V:
    """x to the power of a number.

    >>> tn.lax.integer_pow(np.array([2.0, 4.0]), -1)
    Tensor([0.5 , 0.25])
    """
    try:
        return elementwise.pow(at, x, operator.index(y))
    except TypeError:
        raise DTypeError(f"integer_pow: y must be an integer, got {y!r}; use pow") from None


@lax_function
def clamp(at: Emitter[V], min: Operand[V], x: Operand[V], max: Operand[V]) -> V:
    """x between two bounds, either of which may be a scalar.

    >>> tn.lax.clamp(0.0, np.array([-1.0, 0.5, 2.0]), 1.0)
    Tensor([0. , 0.5, 1. ])
    """
    return emit(at, "clamp", CLAMP, min, x, max)


@lax_function
def select(at: Emitter[V], pred: Operand[V], on_true: Operand[V], on_false: Operand[V]) -> V:
    """The elements of one array where `pred` is true and of the other where it is false.

    >>> tn.lax.select(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    Tensor([1, 4])
    """
    true, false = matched(at, "select", [on_true, on_false])
    return _chosen(at, "select", pred, true, false)


def _chosen(at: Emitter[V], name: str, pred: Operand[V], true: V, false: V) -> V:
    (which,) = same_dtype(at, name, [pred])
    meta: TensorMeta = at.ctx.meta(true)
    if not at.ctx.meta(which).rank and meta.rank:
        which = repeated(at, name, which, meta.extents)
    return at.emit(SELECT, which, true, false)


def select_n(which: ArrayLike, *cases: ArrayLike) -> AnyTensor:
    """The elements of that case whose number `which` is; False is 0, and True is 1.

    Args:
        which: bools or integers, of the shape of the cases, or a scalar.
        cases: arrays of one shape and dtype; two at most if `which` is of bools.

    Raises:
        GraphError: there is no case.
        ShapeError: there are more than two cases for bools.

    >>> tn.lax.select_n(np.array([0, 2]), np.array([1, 2]), np.array([3, 4]), np.array([5, 6]))
    Tensor([1, 6])
    """
    if not cases:
        raise GraphError("select_n: needs at least one case")
    return apply(_select_n, which, *cases)


def _select_n(at: Emitter[V], which: Operand[V], *cases: Operand[V]) -> V:
    result, *rest = matched(at, "select_n", cases)
    (number,) = same_dtype(at, "select_n", [which])
    meta: TensorMeta = at.ctx.meta(number)
    if meta.dtype.kind == "b":
        if len(rest) > 1:
            raise ShapeError(f"select_n: {meta} chooses among two cases, got {len(cases)}")
        return _chosen(at, "select_n", number, rest[0], result) if rest else result
    if meta.dtype.kind not in "iu":
        raise DTypeError(f"select_n: takes bools or integers to choose by, got {meta}")
    for place, case in enumerate(rest, 1):
        is_later = at.emit(Compare("GE"), number, full_like(at, place, number))
        result = _chosen(at, "select_n", is_later, case, result)
    return result


_select_n.__name__ = "select_n"


@lax_function
def shift_right_arithmetic(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x shifted to the right, filled with its sign.

    >>> tn.lax.shift_right_arithmetic(np.array([-4]), 1)
    Tensor([-2])
    """
    first, second = matched(at, "shift_right_arithmetic", [x, y])
    meta: TensorMeta = at.ctx.meta(first)
    if meta.dtype.kind == "u":
        raise DTypeError(f"shift_right_arithmetic: {meta} has no sign; use shift_right_logical")
    return emit(at, "shift_right_arithmetic", SHIFT_RIGHT, first, second)


@lax_function
def shift_right_logical(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x shifted to the right, filled with zeros.

    >>> tn.lax.shift_right_logical(np.array([-4], "int32"), 1)
    Tensor([2147483646], dtype=int32)
    """
    values = matched(at, "shift_right_logical", [x, y])
    meta: TensorMeta = at.ctx.meta(values[0])
    if meta.dtype.kind not in "iu":
        raise DTypeError(f"shift_right_logical: takes integers, got {meta}")
    unsigned = np.dtype(f"u{meta.dtype.itemsize}")
    operands = [elementwise.astype(at, value, unsigned) for value in values]
    shifted = emit(at, "shift_right_logical", SHIFT_RIGHT, *operands)
    return shifted if meta.dtype == unsigned else at.emit(Convert(meta.dtype), shifted)


@lax_function
def convert_element_type(at: Emitter[V], operand: Operand[V], new_dtype: DTypeLike) -> V:
    """The numbers in another dtype; numbers that do not fit are truncated or saturated.

    >>> tn.lax.convert_element_type(np.array([1.5]), "int64")
    Tensor([1])
    """
    (value,) = matched(at, "convert_element_type", [operand])
    return elementwise.astype(at, value, as_dtype(new_dtype))


_FORMATS = {(5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}


@lax_function
def reduce_precision(
    at: Emitter[V], operand: Operand[V], exponent_bits: int, mantissa_bits: int
) -> V:
    """The nearest numbers of a floating-point format of NumPy's, in the dtype of the operand.

    >>> tn.lax.reduce_precision(np.array([0.1]), 5, 10)
    Tensor([0.09997559])
    """
    (value,) = matched(at, "reduce_precision", [operand])
    exponent_bits = read_integer("reduce_precision", "exponent_bits", exponent_bits)
    mantissa_bits = read_integer("reduce_precision", "mantissa_bits", mantissa_bits)
    narrow = _FORMATS.get((exponent_bits, mantissa_bits))
    if narrow is None:
        raise DTypeError(
            f"reduce_precision: no dtype has {exponent_bits} and {mantissa_bits} bits; "
            f"those with one are {', '.join(map(str, _FORMATS))}"
        )
    dtype = at.ctx.meta(value).dtype
    return elementwise.astype(at, elementwise.astype(at, value, as_dtype(narrow)), dtype)
