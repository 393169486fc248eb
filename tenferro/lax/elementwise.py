"""One function per elementwise op of `jax.lax`.

They neither promote nor broadcast.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol

import numpy as np

from tenferro import ops
from tenferro.errors import DTypeError, GraphError, ShapeError, class_of
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    DTypeLike,
    TensorMeta,
    as_dtype,
    dtype_kind,
    integer_of,
    refuse_traced,
)
from tenferro.lax.arguments import LAX, lax_op, matched, same_dtype
from tenferro.numpy.creation import zeros_like
from tenferro.ops import StdTensorOp
from tenferro.ops.functions import (
    OpFunction,
    analytic,
    apply,
    array_function,
    elementwise,
    emit,
    full_like,
    is_number,
    logical,
    repeated,
)
from tenferro.runtime import Tensor

__all__ = [
    "RoundingMethod",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "assume_size",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clamp",
    "compare",
    "complex",
    "conj",
    "convert",
    "convert_element_type",
    "cos",
    "cosh",
    "cumulative_prod",
    "cumulative_sum",
    "digamma",
    "div",
    "dynamic_broadcast_in_dim",
    "dynamic_truncate",
    "embed_diag",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "extract_diag",
    "floor",
    "gamma_grad",
    "gamma_sample",
    "gather_dynamic_slice_sizes",
    "ge",
    "gt",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "imag",
    "integer_pow",
    "is_finite",
    "le",
    "lgamma",
    "linear_recurrence",
    "log",
    "log1p",
    "log2",
    "log_add_exp",
    "logistic",
    "lt",
    "max",
    "maximum",
    "min",
    "minimum",
    "mul",
    "ne",
    "neg",
    "nextafter",
    "one_minus_square",
    "pad_to_match",
    "polygamma",
    "polynomial",
    "pow",
    "random_gamma_grad",
    "real",
    "reciprocal",
    "rem",
    "reverse",
    "round",
    "round_nearest_even",
    "rsqrt",
    "scatter_reduce",
    "select",
    "select_n",
    "shape_of",
    "shift_left",
    "shift_right",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sign_bit",
    "sin",
    "sinh",
    "special",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
    "threefry2x32",
    "tril",
    "triu",
    "zeta",
]


# Functions of each element.


class RoundingMethod(enum.Enum):
    """Where `round` takes a half."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _unary(name: str, op: StdTensorOp, doc: str = "") -> Callable[[ArrayLike], AnyTensor]:
    def function(x: ArrayLike) -> AnyTensor:
        return lax_op(name, op, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or type(op).__doc__
    return array_function(module=LAX)(function)


class _Accurate(Protocol):
    """A function with the parameter `accuracy` of JAX."""

    def __call__(self, x: ArrayLike, *, accuracy: object = None) -> AnyTensor:
        """Its value."""


def _accurate(name: str, op: StdTensorOp) -> _Accurate:
    def function(x: ArrayLike, *, accuracy: object = None) -> AnyTensor:
        return lax_op(name, op, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{type(op).__doc__}\n\n    `accuracy` has no effect."
    return array_function(module=LAX)(function)


def _binary(name: str, op: StdTensorOp) -> Callable[[ArrayLike, ArrayLike], AnyTensor]:
    def function(x: ArrayLike, y: ArrayLike) -> AnyTensor:
        return lax_op(name, op, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = type(op).__doc__
    return array_function(operands=2, module=LAX)(function)


abs = _unary("abs", ops.ABS)
neg = _unary("neg", ops.NEG)
sign = _unary("sign", ops.SIGN)
conj = _unary("conj", ops.CONJ)
real = _unary("real", ops.REAL)
imag = _unary("imag", ops.IMAG)
exp = _accurate("exp", ops.EXP)
expm1 = _accurate("expm1", ops.EXPM1)
log = _accurate("log", ops.LOG)
log1p = _accurate("log1p", ops.LOG1P)
logistic = _accurate("logistic", ops.LOGISTIC)
sin = _accurate("sin", ops.SIN)
cos = _accurate("cos", ops.COS)
tan = _accurate("tan", ops.TAN)
asin = _unary("asin", ops.ASIN)
acos = _unary("acos", ops.ACOS)
atan = _unary("atan", ops.ATAN)
sinh = _unary("sinh", ops.SINH)
cosh = _unary("cosh", ops.COSH)
tanh = _accurate("tanh", ops.TANH)
asinh = _unary("asinh", ops.ASINH)
acosh = _unary("acosh", ops.ACOSH)
atanh = _unary("atanh", ops.ATANH)
sqrt = _accurate("sqrt", ops.SQRT)
rsqrt = _accurate("rsqrt", ops.RSQRT)
cbrt = _accurate("cbrt", ops.CBRT)
erf = _unary("erf", ops.ERF)
erfc = _unary("erfc", ops.ERFC)
erf_inv = _unary("erf_inv", ops.ERF_INV)
floor = _unary("floor", ops.FLOOR)
ceil = _unary("ceil", ops.CEIL)
bitwise_not = _unary("bitwise_not", ops.NOT)

add = _binary("add", ops.ADD)
sub = _binary("sub", ops.SUB)
div = _binary("div", ops.DIV)
rem = _binary("rem", ops.REM)
max = _binary("max", ops.MAXIMUM)
min = _binary("min", ops.MINIMUM)
atan2 = _binary("atan2", ops.ATAN2)
complex = _binary("complex", ops.COMPLEX)
bitwise_and = _binary("bitwise_and", ops.AND)
bitwise_or = _binary("bitwise_or", ops.OR)
bitwise_xor = _binary("bitwise_xor", ops.XOR)
shift_left = _binary("shift_left", ops.SHIFT_LEFT)
eq = _binary("eq", ops.Compare("EQ"))
ne = _binary("ne", ops.Compare("NE"))
lt = _binary("lt", ops.Compare("LT"))
le = _binary("le", ops.Compare("LE"))
gt = _binary("gt", ops.Compare("GT"))
ge = _binary("ge", ops.Compare("GE"))


@array_function(operands=2, module=LAX)
def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> AnyTensor:
    """x times y, computed in `out_dtype` if given.

    >>> tn.lax.mul(np.array([100], "int8"), np.array([2], "int8"), out_dtype="int32")
    Tensor([200], dtype=int32)
    """
    if out_dtype is None:
        return lax_op("mul", ops.MUL, x, y)
    left, right = (each.astype(out_dtype) for each in matched("mul", [x, y]))
    return lax_op("mul", ops.MUL, left, right)


@array_function(module=LAX)
def square(x: ArrayLike) -> AnyTensor:
    """x times x.

    >>> tn.lax.square(np.array([2.0, 3.0]))
    Tensor([4., 9.])
    """
    (value,) = matched("square", [x])
    return lax_op("square", ops.MUL, value, value)


@array_function(module=LAX)
def reciprocal(x: ArrayLike) -> AnyTensor:
    """1 / x.

    >>> tn.lax.reciprocal(np.array([2.0, 4.0]))
    Tensor([0.5 , 0.25])
    """
    return lax_op("reciprocal", ops.DIV, 1, x)


@array_function(module=LAX)
def one_minus_square(x: ArrayLike) -> AnyTensor:
    """1 - x², as (1 + x)(1 - x), which keeps its digits where x is close to 1.

    >>> tn.lax.one_minus_square(np.array([0.5, 1.0]))
    Tensor([0.75, 0.  ])
    """
    (value,) = matched("one_minus_square", [x])
    return (1 + value) * (1 - value)


def polynomial(
    x: ArrayLike, coeffs: Sequence[ArrayLike], *, unroll: int | None = None
) -> AnyTensor:
    """The sum of `coeffs[k]` · xᵏ by Horner's rule; 0 without coefficients.

    Args:
        coeffs: from the constant one on; numbers, or arrays of the shape of x.
        unroll: without effect: the terms are one after the other in the program.

    >>> tn.lax.polynomial(3.0, [1.0, 5.0, 2.0])
    Tensor(34.)
    """
    if not isinstance(coeffs, Iterable):
        raise DTypeError(f"polynomial: coeffs must be a sequence, got {class_of(coeffs)}")
    terms = list(coeffs)
    if len(terms) < 2:
        return add(zeros_like(x), terms[0]) if terms else zeros_like(x)
    *lower, value = terms
    for coefficient in reversed(lower):
        value = add(mul(value, x), coefficient)
    return value  # type: ignore[return-value]


@array_function(module=LAX)
def log2(x: ArrayLike, *, accuracy: object = None) -> AnyTensor:
    """The logarithm of x to the base 2.

    >>> tn.lax.log2(np.array([8.0]))
    Tensor([3.])
    """
    return analytic.log2(x)


@array_function(module=LAX)
def exp2(x: ArrayLike, *, accuracy: object = None) -> AnyTensor:
    """2 to the power of x.

    >>> tn.lax.exp2(np.array([3.0]))
    Tensor([8.])
    """
    return analytic.exp2(x)


@array_function(module=LAX)
def is_finite(x: ArrayLike) -> AnyTensor:
    """Whether each element is neither infinite nor NaN.

    >>> tn.lax.is_finite(np.array([1.0, np.inf]))
    Tensor([ True, False])
    """
    return logical.isfinite(x)


@array_function(module=LAX)
def round(
    x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO
) -> AnyTensor:
    """The nearest integer; a half is taken away from zero, or to the even one.

    >>> tn.lax.round(np.array([0.5, 1.5, -0.5]))
    Tensor([ 1.,  2., -1.])
    """
    (value,) = matched("round", [x])
    if RoundingMethod(rounding_method) is RoundingMethod.TO_NEAREST_EVEN:
        return lax_op("round", ops.ROUND, value)
    whole = elementwise.trunc(value)
    rest = elementwise.abs(elementwise.subtract(value, whole))
    further = elementwise.add(whole, elementwise.sign(value))
    is_half = emit(ops.Compare("GE"), rest, full_like(0.5, rest))
    return elementwise.where(is_half, further, whole)


@array_function(operands=2, module=LAX)
def pow(x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """x to the power of y, which may be an integer where x is not.

    >>> tn.lax.pow(np.array([2.0, 3.0]), 2)
    Tensor([4., 9.])
    """
    first, second = matched("pow", [x, y])
    dtype = first.meta.dtype
    if dtype_kind(dtype) in "fc" and dtype_kind(second.meta.dtype) in "iu":
        second = elementwise.astype(second, dtype)
    return lax_op("pow", ops.POW, first, second)


@array_function(module=LAX)
def integer_pow(x: ArrayLike, y: int) -> AnyTensor:
    """x to the power of a number.

    >>> tn.lax.integer_pow(np.array([2.0, 4.0]), -1)
    Tensor([0.5 , 0.25])
    """
    try:
        return elementwise.pow(x, operator.index(y))
    except TypeError:
        raise DTypeError(f"integer_pow: y must be an integer, got {y!r}; use pow") from None


@array_function(operands=3, module=LAX)
def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> AnyTensor:
    """x between two bounds, either of which may be a scalar.

    >>> tn.lax.clamp(0.0, np.array([-1.0, 0.5, 2.0]), 1.0)
    Tensor([0. , 0.5, 1. ])
    """
    return lax_op("clamp", ops.CLAMP, min, x, max)


@array_function(operands=3, module=LAX)
def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> AnyTensor:
    """The elements of one array where `pred` is true and of the other where it is false.

    >>> tn.lax.select(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    Tensor([1, 4])
    """
    true, false = matched("select", [on_true, on_false])
    return _chosen("select", pred, true, false)


def _chosen(name: str, pred: ArrayLike, true: AnyTensor, false: AnyTensor) -> AnyTensor:
    (which,) = same_dtype(name, [pred])
    meta: TensorMeta = true.meta
    if not which.meta.rank and meta.rank:
        which = repeated(name, which, meta.extents)
    return emit(ops.SELECT, which, true, false)


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


def _select_n(which: ArrayLike, *cases: ArrayLike) -> AnyTensor:
    result, *rest = matched("select_n", cases)
    (number,) = same_dtype("select_n", [which])
    meta: TensorMeta = number.meta
    if dtype_kind(meta.dtype) == "b":
        if len(rest) > 1:
            raise ShapeError(f"select_n: {meta} chooses among two cases, got {len(cases)}")
        return _chosen("select_n", number, rest[0], result) if rest else result
    if dtype_kind(meta.dtype) not in "iu":
        raise DTypeError(f"select_n: takes bools or integers to choose by, got {meta}")
    for place, case in enumerate(rest, 1):
        is_later = emit(ops.Compare("GE"), number, full_like(place, number))
        result = _chosen("select_n", is_later, case, result)
    return result


_select_n.__name__ = "select_n"


@array_function(operands=2, module=LAX)
def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """x shifted to the right, filled with its sign.

    >>> tn.lax.shift_right_arithmetic(np.array([-4]), 1)
    Tensor([-2])
    """
    first, second = matched("shift_right_arithmetic", [x, y])
    meta: TensorMeta = first.meta
    if dtype_kind(meta.dtype) == "u":
        raise DTypeError(f"shift_right_arithmetic: {meta} has no sign; use shift_right_logical")
    return lax_op("shift_right_arithmetic", ops.SHIFT_RIGHT, first, second)


@array_function(operands=2, module=LAX)
def shift_right_logical(x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """x shifted to the right, filled with zeros.

    >>> tn.lax.shift_right_logical(np.array([-4], "int32"), 1)
    Tensor([2147483646], dtype=int32)
    """
    values = matched("shift_right_logical", [x, y])
    meta: TensorMeta = values[0].meta
    if dtype_kind(meta.dtype) not in "iu":
        raise DTypeError(f"shift_right_logical: takes integers, got {meta}")
    unsigned = np.dtype(f"u{meta.dtype.itemsize}")
    operands = [elementwise.astype(value, unsigned) for value in values]
    shifted = lax_op("shift_right_logical", ops.SHIFT_RIGHT, *operands)
    return shifted if meta.dtype == unsigned else emit(ops.Convert(meta.dtype), shifted)


@array_function(module=LAX)
def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> AnyTensor:
    """The numbers in another dtype; numbers that do not fit are truncated or saturated.

    >>> tn.lax.convert_element_type(np.array([1.5]), "int64")
    Tensor([1])
    """
    (value,) = matched("convert_element_type", [operand])
    return elementwise.astype(value, as_dtype(new_dtype))


# `jax.lax`'s special functions of real numbers.


lgamma = _unary("lgamma", ops.Special("lgamma"), "The logarithm of |Γ(x)|.")
digamma = _unary("digamma", ops.Special("digamma"), "The derivative of log Γ.")
bessel_i0e = _unary("bessel_i0e", ops.Special("i0e"), "exp(−|x|) I₀(x).")
bessel_i1e = _unary("bessel_i1e", ops.Special("i1e"), "exp(−|x|) I₁(x).")


@array_function(operands=2, module=LAX)
def polygamma(m: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The derivative of order m of `digamma`."""
    return lax_op("polygamma", ops.Special("polygamma"), m, x)


@array_function(operands=2, module=LAX)
def zeta(x: ArrayLike, q: ArrayLike) -> AnyTensor:
    """The zeta function of Hurwitz."""
    return lax_op("zeta", ops.Special("zeta"), x, q)


@array_function(operands=2, module=LAX)
def igamma(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The lower incomplete gamma function, over Γ(a)."""
    return lax_op("igamma", ops.Special("gammainc"), a, x)


@array_function(operands=2, module=LAX)
def igammac(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The upper incomplete gamma function, over Γ(a)."""
    return lax_op("igammac", ops.Special("gammaincc"), a, x)


@array_function(operands=2, module=LAX)
def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The derivative of `igamma` by a."""
    return lax_op("igamma_grad_a", ops.Special("gammainc_grad_a"), a, x)


@array_function(operands=2, module=LAX)
def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The derivative by a of x, a number drawn from the gamma distribution of shape a."""
    return lax_op("random_gamma_grad", ops.GammaGrad(), a, x)


@array_function(operands=3, module=LAX)
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The regularized incomplete beta function."""
    return lax_op("betainc", ops.Special("betainc"), a, b, x)


@array_function(operands=2, module=LAX)
def nextafter(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The next number of the dtype after x1 in the direction of x2."""
    return lax_op("nextafter", ops.Special("nextafter"), x1, x2)


# Ops of the IR that `jax.lax` does not have, one to one: operands first, then the payload.

P = ParamSpec("P")


def _unary_op(kind: Callable[P, StdTensorOp]) -> Callable[Concatenate[ArrayLike, P], AnyTensor]:
    return _one_to_one(kind)


def _binary_op(
    kind: Callable[P, StdTensorOp],
) -> Callable[Concatenate[ArrayLike, ArrayLike, P], AnyTensor]:
    return _one_to_one(kind)


def _variadic(
    kind: Callable[P, StdTensorOp],
) -> Callable[Concatenate[Sequence[ArrayLike], P], AnyTensor]:
    """The function of an op of any number of operands, which are passed as one list."""
    return _one_to_one(kind)


def _one_to_one(op_class: Callable[P, StdTensorOp]) -> Callable[..., AnyTensor]:
    kind: Any = op_class  # a class, with more attributes than the callable type declares

    def function(*operands: ArrayLike, **payload: object) -> AnyTensor:
        operands, positional = _split(kind, operands)
        fields = [_field(kind.name, each) for each in positional]
        try:
            op = kind(*fields, **{key: _field(kind.name, each) for key, each in payload.items()})
        except TypeError as error:
            raise GraphError(f"{kind.name}: {error}") from None

        return apply(OpFunction(op), *[Tensor(x) if is_number(x) else x for x in operands])

    function.__name__ = function.__qualname__ = kind.name
    function.__doc__ = kind.__doc__
    return function


def _field(name: str, value: Any) -> Any:
    """A field of an op, in which integers of any kind are Python integers."""
    refuse_traced(name, "a field", value)
    if isinstance(value, tuple | list):
        return type(value)([_field(name, each) for each in value])
    number = integer_of(value)
    return value if number is None else number


def _split(
    kind: type[StdTensorOp], arguments: tuple[Any, ...]
) -> tuple[tuple[ArrayLike, ...], tuple[Any, ...]]:
    """Positional arguments as operands and payload; variadic operands are passed as one list."""
    if kind.n_inputs is not None:
        return arguments[: kind.n_inputs], arguments[kind.n_inputs :]
    if arguments and isinstance(arguments[0], list | tuple):
        return tuple(arguments[0]), arguments[1:]
    return arguments, ()


maximum = _binary_op(ops.Maximum)
minimum = _binary_op(ops.Minimum)
compare = _binary_op(ops.Compare)
reverse = _unary_op(ops.Reverse)
dynamic_broadcast_in_dim = _variadic(ops.DynamicBroadcastInDim)
extract_diag = _unary_op(ops.ExtractDiag)
embed_diag = _unary_op(ops.EmbedDiag)
tril = _unary_op(ops.Tril)
triu = _unary_op(ops.Triu)
assume_size = _unary_op(ops.AssumeSize)
shape_of = _unary_op(ops.ShapeOf)
dynamic_truncate = _binary_op(ops.DynamicTruncate)
pad_to_match = _binary_op(ops.PadToMatch)
log_add_exp = _binary_op(ops.LogAddExp)
round_nearest_even = _unary_op(ops.RoundNearestEven)
sign_bit = _unary_op(ops.SignBit)
shift_right = _binary_op(ops.ShiftRight)
cumulative_sum = _unary_op(ops.CumulativeSum)
cumulative_prod = _unary_op(ops.CumulativeProd)
linear_recurrence = _binary_op(ops.LinearRecurrence)
scatter_reduce = _variadic(ops.ScatterReduce)
gather_dynamic_slice_sizes = _variadic(ops.GatherDynamicSliceSizes)
special = _variadic(ops.Special)
threefry2x32 = _variadic(ops.Threefry2x32)
gamma_sample = _binary_op(ops.GammaSample)
gamma_grad = _binary_op(ops.GammaGrad)
_convert = _unary_op(ops.Convert)


def convert(x: ArrayLike, *, dtype: DTypeLike) -> AnyTensor:
    """The numbers in another dtype; numbers that do not fit are truncated or saturated.

    >>> tn.lax.convert([1.5], dtype="int64")
    Tensor([1])
    """
    return _convert(x, dtype=as_dtype(dtype))
