"""Arithmetic, conversion, rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.core import (
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    add_terms,
    chain,
    each_active,
    jointly_linear,
    multilinear,
)
from tenferro.ir import (
    BOOL,
    Conjugation,
    Dim,
    DType,
    NumpyArray,
    TensorMeta,
    complex_dtype,
    is_complex,
    is_inexact,
    is_integer,
    payload,
    real_dtype,
)
from tenferro.ops.base import Inactive, SameType, StdTensorOp, check_kind, same_type
from tenferro.ops.broadcast import full, may_repeat, on_scalars, repeated, uniform, zeros_like

__all__ = [
    "ADD",
    "CEIL",
    "COMPLEX",
    "CONJ",
    "DIV",
    "FLOOR",
    "IMAG",
    "MUL",
    "NEG",
    "REAL",
    "ROUND",
    "SIGN_BIT",
    "SUB",
    "Add",
    "Ceil",
    "Complex",
    "Conj",
    "Convert",
    "Div",
    "Elementwise",
    "Floor",
    "Imag",
    "Mul",
    "Neg",
    "Real",
    "RoundNearestEven",
    "SignBit",
    "Sub",
]


# Elementwise ops, whose operands and result have one type, and their constant folding.


class Elementwise(SameType):
    """An elementwise op. It folds constants; subclasses add identities in `simplify`."""

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Fold constants and repeated scalars, order commutative operands, then `simplify`."""
        for operand in operands:
            producer = at.producer(operand)
            if producer is not None and producer[0].seen_through:
                return self._fold_through(at, operands)
        if self.commutative and at.order(operands[0]) > at.order(operands[1]):
            return at.emit(self, operands[1], operands[0])
        return None

    def _fold_through(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """`fold` for operands with a producer that is `seen_through`."""
        values: Sequence[np.ndarray | None] = [None] * len(operands)
        if any(may_repeat(at, operand) for operand in operands):
            values = [uniform(at, operand) for operand in operands]
            if (repeated := self._on_repeated(at, operands, values)) is not None:
                return repeated
        if self.commutative and at.order(operands[0]) > at.order(operands[1]):
            return at.emit(self, operands[1], operands[0])
        return self.simplify(at, tuple(operands), values)

    def _on_repeated(
        self, at: Emitter[V], operands: Sequence[V], values: Sequence[np.ndarray | None]
    ) -> V | None:
        """The result if every operand is a constant or a repeated scalar, else None."""
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return on_scalars(at, self, operands)
        (meta,) = self.infer_all([at.ctx.meta(operand) for operand in operands])
        with np.errstate(all="ignore"):
            result = self.evaluate(known)[0]
        return None if meta.dims is None else full(at, result, meta)

    def simplify(
        self, at: Emitter[V], operands: tuple[V, ...], values: Sequence[np.ndarray | None]
    ) -> V | None:
        """A simpler value, or None. `values[i]` is the constant that fills operand i, or None.

        Called only if the producer of an operand is `seen_through`.
        """
        return None


def is_value(constant: np.ndarray | None, number: complex) -> bool:
    """Whether a uniform constant is known and is `number`."""
    return constant is not None and bool(constant == number)


# Sums, products and quotients.

Constants = Sequence[NumpyArray | None]


@payload
class Add(Elementwise, name="add"):
    """x + y."""

    n_inputs = 2
    commutative = True
    conjugation = Conjugation.ZERO_SIGNS
    componentwise = True

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.add`."""
        return np.add(x, y)

    def repeat(self, emitter: Emitter[V], value: V, size: Dim) -> V:
        """The value, repeated along a new first axis."""
        return repeated(emitter, value, size)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The sum of the tangents."""
        return (add_terms(at.emitter, at.tangent),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, for both operands."""
        return each_active(at, lambda ct: ct, lambda ct: ct)

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """x + 0 is x; x + (-y) is x - y."""
        x, y = operands
        if is_value(values[1], 0):
            return x
        if is_value(values[0], 0):
            return y
        if (negated := negand(at, y)) is not None:
            return at.emit(SUB, x, negated)
        if (negated := negand(at, x)) is not None:
            return at.emit(SUB, y, negated)
        return None


@payload
class Sub(Elementwise, name="subtract"):
    """x - y."""

    n_inputs = 2
    conjugation = Conjugation.ZERO_SIGNS
    componentwise = True

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.subtract`."""
        return np.subtract(x, y)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The difference of the tangents."""
        dx, dy = at.tangent
        if dx is not None and dy is not None:
            return (at.emit(SUB, dx, dy),)
        return chain(at, lambda t: t, lambda t: at.emit(NEG, t))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, and its negative."""
        return each_active(at, lambda ct: ct, lambda ct: at.emit(NEG, ct))

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """x - 0 is x; x - (-y) is x + y."""
        x, y = operands
        if is_value(values[1], 0):
            return x
        if (negated := negand(at, y)) is not None:
            return at.emit(ADD, x, negated)
        return None


@payload
class Mul(Elementwise, name="multiply"):
    """x · y."""

    n_inputs = 2
    commutative = True
    conjugation = Conjugation.ZERO_SIGNS

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.multiply`."""
        return np.multiply(x, y)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The product rule."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent times the conjugate of the other factor."""
        x, y = at.inputs
        return each_active(
            at,
            lambda ct: at.emit(MUL, conj(at.emitter, y), ct),
            lambda ct: at.emit(MUL, conj(at.emitter, x), ct),
        )

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """x · 1 is x; x · (-1) is -x; (-x) · y is -(x · y); integer factors are combined."""
        for value, factor in ((values[1], operands[0]), (values[0], operands[1])):
            if is_value(value, 1):
                return factor
            if is_value(value, -1):
                return at.emit(NEG, factor)
            if value is not None and (joined := _join_factors(at, value, factor)) is not None:
                return joined
        x, y = operands
        if (negated := negand(at, x)) is not None:
            return at.emit(NEG, at.emit(MUL, negated, y))
        if (negated := negand(at, y)) is not None:
            return at.emit(NEG, at.emit(MUL, x, negated))
        return None


@payload
class Neg(Elementwise, name="negate"):
    """-x; for unsigned integers, modulo their range."""

    conjugation = Conjugation.EXACT
    componentwise = True
    seen_through = True

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.negative`."""
        return np.negative(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The negative of the cotangent."""
        return each_active(at, lambda ct: at.emit(NEG, ct))

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """-(-x) is x."""
        return negand(at, operands[0])


@payload
class Conj(Elementwise, name="conj"):
    """Complex conjugate; the operand itself if its dtype is real."""

    kinds = "iufc"
    seen_through = True

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.conjugate`."""
        return np.conjugate(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear over the reals."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The conjugate of the cotangent."""
        return each_active(at, lambda ct: at.emit(CONJ, ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """conj(x) is x for real x."""
        (x,) = operands
        return super().fold(at, operands) if is_complex(at.ctx.meta(x).dtype) else x

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """conj(conj(x)) is x."""
        producer = at.producer(operands[0])
        return producer[1][0] if producer is not None and type(producer[0]) is Conj else None


@payload
class Div(Elementwise, name="divide"):
    """x / y; for integers rounded toward zero, and 0 where y is 0."""

    n_inputs = 2

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.divide`, or integer division rounded toward zero."""
        return _truncated(x, y) if is_integer(x.dtype) else np.divide(x, y)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """(dx - out · dy)/y, which repeats in higher orders with `out` in the place of x."""
        _, y = at.primal
        dx, dy = at.tangent
        numerator = dx
        if dy is not None:
            scaled = at.emit(MUL, at.out[0], dy)
            numerator = at.emit(NEG, scaled) if dx is None else at.emit(SUB, dx, scaled)
        return (None if numerator is None else at.emit(DIV, numerator, y),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent divided by the conjugate of the divisor, which is never active."""
        divisor = at.inputs[1]
        return each_active(
            at, lambda ct: at.emit(DIV, ct, conj(at.emitter, divisor)), lambda ct: None
        )

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """x / 1 is x; (-x) / y is -(x / y)."""
        x, y = operands
        if is_value(values[1], 1):
            return x
        negated = negand(at, x)
        # A negated integer may have wrapped around.
        if negated is not None and is_inexact(at.ctx.meta(x).dtype):
            return at.emit(NEG, at.emit(DIV, negated, y))
        return None


ADD = Add()
SUB = Sub()
MUL = Mul()
NEG = Neg()
CONJ = Conj()
DIV = Div()


def conj(at: Emitter[V], value: V) -> V:
    """The conjugate of a value; the value itself if its dtype is real."""
    return at.emit(CONJ, value) if is_complex(at.ctx.meta(value).dtype) else value


def negand(at: Emitter[V], value: V) -> V | None:
    """x, if `value` is -x."""
    producer = at.producer(value)
    return producer[1][0] if producer is not None and type(producer[0]) is Neg else None


def _join_factors(at: Emitter[V], outer: NumpyArray, value: V) -> V | None:
    """`outer · value` as one product, if `outer` and a factor of `value` are integers."""
    producer = at.producer(value)
    if producer is None or type(producer[0]) is not Mul:
        return None
    for factor, rest in (producer[1], producer[1][::-1]):
        inner = uniform(at, factor)
        if inner is not None and (joined := _integer(outer) * _integer(inner)):
            meta = at.ctx.meta(value)
            if abs(joined) <= _largest(meta.dtype) and meta.dims is not None:
                return at.emit(MUL, full(at, joined, meta), rest)
    return None


def _integer(value: NumpyArray) -> int:
    """The value if it is an integer of at most 2**53, else 0."""
    number = complex(value)
    exact = number.imag == 0 and number.real.is_integer() and abs(number.real) <= 2**53
    return int(number.real) if exact else 0


def _largest(dtype: DType) -> int:
    """A bound up to which a dtype holds every integer; such a product of factors is exact."""
    return 2 ** min(31, np.finfo(dtype).nmant + 1) if is_inexact(dtype) else 2**31


def _truncated(x: NumpyArray, y: NumpyArray) -> NumpyArray:
    """Integer quotient rounded toward zero; 0 where the divisor is 0."""
    divisor = np.where(y == 0, 1, y).astype(y.dtype)
    quotient = np.floor_divide(x, divisor)
    inexact = quotient * divisor != x
    correction = (inexact & ((x < 0) != (divisor < 0))).astype(x.dtype)
    return np.where(y == 0, 0, quotient + correction).astype(x.dtype)


# Conversion between dtypes, and between complex numbers and their parts.


@payload
class Convert(StdTensorOp, name="convert"):
    """The numbers in another dtype, changed as follows if they do not fit.

    Complex to real takes the real part. Float to integer truncates, saturates at the ends of the
    range, and maps NaN to 0. Conversion to bool is true for nonzero numbers.
    """

    dtype: DType

    pointwise = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's shape with `dtype`."""
        return x.with_dtype(self.dtype)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`astype`, with defined results for the conversions that NumPy leaves undefined."""
        if is_complex(x.dtype) and self.dtype.kind in "iuf":
            x = x.real
        if x.dtype.kind == "f" and is_integer(self.dtype):
            return _saturate(x, self.dtype)
        return x.astype(self.dtype)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear between inexact dtypes; inactive if either dtype is exact."""
        if not (is_inexact(self.dtype) and is_inexact(at.ctx.meta(at.primal[0]).dtype)):
            return (None,)
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent in the operand's dtype; a real operand gets the real part."""
        return each_active(at, lambda ct: at.emit(Convert(at.ctx.meta(at.inputs[0]).dtype), ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Drop a conversion to the same dtype; convert uniform values as scalars."""
        (x,) = operands
        meta = at.ctx.meta(x)
        if meta.dtype == self.dtype:
            return x
        value = uniform(at, x)
        if value is None or meta.dims is None:
            return on_scalars(at, self, operands)
        with np.errstate(all="ignore"):
            converted = self.numpy(value)
        return full(at, converted, self.infer(meta))


def _saturate(x: NumpyArray, dtype: DType) -> NumpyArray:
    info = np.iinfo(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0).astype(dtype)
        # As a float, the largest integer may round up out of range: compare instead of clipping.
        result = np.where(x >= float(info.max), info.max, result)
        return np.where(x <= float(info.min), info.min, result).astype(dtype)


@payload
class Real(StdTensorOp, name="real"):
    """Real part of a complex operand."""

    pointwise = True
    conjugation = Conjugation.SAME

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The parts' dtype."""
        check_kind(self.name, x, "c")
        return x.with_dtype(real_dtype(x.dtype))

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.real`."""
        return np.real(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear over the reals."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent as the real part."""
        return each_active(at, lambda ct: at.emit(COMPLEX, ct, zeros_like(at.emitter, ct)))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The real part of `complex(re, im)` is re."""
        producer = at.producer(operands[0])
        if producer is not None and type(producer[0]) is Complex:
            return producer[1][0]
        return on_scalars(at, self, operands)


@payload
class Imag(StdTensorOp, name="imag"):
    """Imaginary part of a complex operand."""

    pointwise = True
    conjugation = Conjugation.NEGATED

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The parts' dtype."""
        check_kind(self.name, x, "c")
        return x.with_dtype(real_dtype(x.dtype))

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.imag`."""
        return np.imag(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear over the reals."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent as the imaginary part."""
        return each_active(at, lambda ct: at.emit(COMPLEX, zeros_like(at.emitter, ct), ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The imaginary part of `complex(re, im)` is im."""
        producer = at.producer(operands[0])
        if producer is not None and type(producer[0]) is Complex:
            return producer[1][1]
        return on_scalars(at, self, operands)


@payload
class Complex(StdTensorOp, name="complex"):
    """The complex number with the given real and imaginary parts."""

    n_inputs = 2
    pointwise = True

    def infer(self, *parts: TensorMeta) -> TensorMeta:
        """The complex dtype of the parts."""
        meta = same_type(self.name, parts, "f")
        return meta.with_dtype(complex_dtype(meta.dtype))

    def numpy(self, re: NumpyArray, im: NumpyArray) -> NumpyArray:
        """The parts, stored without arithmetic, which would turn infinities into NaN."""
        result = np.empty(re.shape, complex_dtype(re.dtype))
        result.real = re
        result.imag = im
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in both parts together."""
        return jointly_linear(at, self, lambda part: zeros_like(at.emitter, part))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The parts of the cotangent."""
        return each_active(at, lambda ct: at.emit(REAL, ct), lambda ct: at.emit(IMAG, ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Combine repeated scalars as scalars."""
        return on_scalars(at, self, operands)


REAL = Real()
IMAG = Imag()
COMPLEX = Complex()


# Rounding and the sign bit: piecewise constant functions, through which no tangent flows.


class Rounding(Elementwise):
    """An integer near x, as a floating-point number. Infinities, NaN and -0.0 are unchanged."""

    kinds = "f"

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """A symbolic zero."""
        return (None,)


@payload
class Floor(Rounding, name="floor"):
    """The largest integer that is not above x."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.floor`."""
        return np.floor(x)


@payload
class Ceil(Rounding, name="ceil"):
    """The smallest integer that is not below x."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.ceil`."""
        return np.ceil(x)


@payload
class RoundNearestEven(Rounding, name="round_nearest_even"):
    """The nearest integer, half to even."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.rint`."""
        return np.rint(x)


@payload
class SignBit(Inactive, name="sign_bit"):
    """Whether the sign bit of a floating-point x is set, as for -0.0; NaN has a sign bit too."""

    pointwise = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """bool, in the operand's shape."""
        check_kind(self.name, x, "f")
        return x.with_dtype(BOOL)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.signbit`."""
        return np.signbit(x)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The sign bit of a repeated scalar is computed on the scalar."""
        return on_scalars(at, self, operands)


FLOOR = Floor()
CEIL = Ceil()
ROUND = RoundNearestEven()
SIGN_BIT = SignBit()
