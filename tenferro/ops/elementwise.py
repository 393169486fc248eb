"""Elementwise ops as rows: arithmetic, complex numbers and their parts, comparison, selection.

A row says in its class statement what the op is called, what it is in NumPy, and what in `jax.lax`;
then its derivative as a formula, and facts. `analytic` and `piecewise` have further rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from tenferro.core import Emitter, JvpSite, Slots, TransposeSite, V, jointly_linear
from tenferro.errors import DTypeError
from tenferro.ir import (
    BOOL,
    FLOAT32,
    Conjugation,
    Dim,
    DType,
    NumpyArray,
    TensorMeta,
    complex_dtype,
    dtype_kind,
    float_limits,
    is_complex,
    is_floating,
    is_inexact,
    is_integer,
    payload,
    real_dtype,
)
from tenferro.ops.base import StdTensorOp, check_same_shape, same_type, types
from tenferro.ops.broadcast import (
    STOP_GRADIENT,
    full,
    full_like,
    may_repeat,
    on_scalars,
    repeated,
    uniform,
    zeros_like,
)

__all__ = [
    "ABS",
    "ADD",
    "COMPLEX",
    "CONJ",
    "DIV",
    "IMAG",
    "MUL",
    "NEG",
    "REAL",
    "SELECT",
    "SIGN",
    "SUB",
    "Abs",
    "Add",
    "Compare",
    "Complex",
    "Conj",
    "Convert",
    "Div",
    "Elementwise",
    "Imag",
    "Mul",
    "Neg",
    "Real",
    "Select",
    "Sign",
    "Sub",
    "Term",
    "where",
]

Formula = Callable[..., "Term | None"]
Constants = Sequence[NumpyArray | None]


class Elementwise(StdTensorOp):
    """An elementwise op, whose operands have one type. It folds constants.

    A row is a subclass with a name and without payload, such as

        class Sin(Elementwise, name="sine", numpy=np.sin, lax="sin"):
            jvp = (lambda t, y, x: COS(x) * t,)

    Attributes:
        lax: the name of the function of `jax.lax` that computes it. Where none does, or not for all
            operands, `tenferro_xla.lowering.elementwise` says how.
        kinds: the NumPy dtype kinds that it takes.
        dtype_of: the dtype of the result from that of the operands; None if it is the same.
        jvp: for each operand a formula of (its tangent, the result, the operands): a term of the
            tangent of the result; None if no tangent flows. A formula sees result and operands, to
            take the form that keeps its digits at the ends of the range.
        vjp: for each operand that the op is linear in, a formula of (the cotangent of the result,
            the operands): its cotangent.
    """

    pointwise = True
    lax: ClassVar[str | None] = None
    kinds: ClassVar[str] = "iufc"
    dtype_of: ClassVar[Callable[[DType], DType] | None] = None
    jvp: Sequence[Formula | None] | None = None
    vjp: Sequence[Formula | None] | None = None

    def __init_subclass__(
        cls,
        name: str | None = None,
        numpy: Callable[..., Any] | None = None,
        lax: str | None = None,
        dtype_of: Callable[[DType], DType] | None = None,
    ) -> None:
        super().__init_subclass__(name=name)
        cls.lax = lax
        if numpy is not None:
            cls.numpy = staticmethod(numpy)  # type: ignore[method-assign]  # without `self`
        if dtype_of is not None:
            cls.dtype_of = staticmethod(dtype_of)
        if name is not None and "__annotations__" not in vars(cls):
            payload(cls)

    def __call__(self, *operands: Term | complex) -> Term:
        """The op on terms; numbers among them get the dtype and shape of the first term."""
        first, *others = operands
        if isinstance(first, Term):
            like, values = first, [first.value]
        else:
            like = next(operand for operand in others if isinstance(operand, Term))
            values = [like.number(first)]
        for x in others:
            values.append(x.value if isinstance(x, Term) else like.number(x))
        return Term(like.at, like.at.emit(self, *values))

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        first = metas[0]
        alike = metas[-1] is first and len(metas) < 3  # equal types are nearly always one object
        if not (alike and first.as_size is None and dtype_kind(first.dtype) in self.kinds):
            first = same_type(self.name, metas, self.kinds)
        dtype_of = type(self).dtype_of
        return first if dtype_of is None else first.with_dtype(dtype_of(first.dtype))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        if self.jvp is None:
            return super().linearize(at)
        values = [*map(Term, repeat(at), (*at.out, *at.primal))]
        total: V | None = None
        for formula, tangent in zip(self.jvp, at.tangent, strict=True):
            if formula is not None and tangent is not None:
                term = formula(Term(at, tangent), *values)
                if term is not None:
                    total = term.value if total is None else at.emit(ADD, total, term.value)
        return (total,)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        if self.vjp is None:
            return super().transpose_rule(at)
        if at.ct[0] is None:
            return (None,) * len(at.active)
        ct, operands = Term(at, at.ct[0]), [*map(Term, repeat(at), at.inputs)]
        cotangents: list[V | None] = []
        for formula, active in zip(self.vjp, at.active, strict=True):
            term = formula(ct, *operands) if active and formula is not None else None
            cotangents.append(None if term is None else term.value)
        return tuple(cotangents)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Fold constants and repeated scalars, order commutative operands, then `simplify`."""
        for operand in operands:
            producer = at.producer(operand)
            if producer is not None and producer[0].transparent:
                return self._fold_through(at, operands)
        if self.commutative and at.order(operands[0]) > at.order(operands[1]):
            return at.emit(self, operands[1], operands[0])
        return None

    def _fold_through(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """`fold` for operands with a producer that is `transparent`."""
        values: Constants = [None] * len(operands)
        if any(may_repeat(at, operand) for operand in operands):
            values = [uniform(at, operand) for operand in operands]
            if (value := self._on_repeated(at, operands, values)) is not None:
                return value
        if self.commutative and at.order(operands[0]) > at.order(operands[1]):
            return at.emit(self, operands[1], operands[0])
        return self.simplify(at, tuple(operands), values)

    def _on_repeated(self, at: Emitter[V], operands: Sequence[V], values: Constants) -> V | None:
        """The result if every operand is a constant or a repeated scalar, else None."""
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return on_scalars(at, self, operands)
        (meta,) = self.infer_all([at.ctx.meta(operand) for operand in operands])
        with np.errstate(all="ignore"):
            result = self.evaluate(known)[0]
        return None if meta.dims is None else full(at, result, meta)

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """A simpler value, or None. `values[i]` is the constant that fills operand i, or None.

        Called only if the producer of an operand is `transparent`.
        """
        return None


# Sums, products and quotients.


def is_value(constant: NumpyArray | None, number: complex) -> bool:
    """Whether a uniform constant is known and is `number`."""
    return constant is not None and bool(constant == number)


def negand(at: Emitter[V], value: V) -> V | None:
    """x, if `value` is -x."""
    producer = at.producer(value)
    return producer[1][0] if producer is not None and type(producer[0]) is Neg else None


def conj(at: Emitter[V], value: V) -> V:
    """The conjugate of a value; the value itself if its dtype is real."""
    return at.emit(CONJ, value) if is_complex(at.ctx.meta(value).dtype) else value


class Add(Elementwise, name="add", numpy=np.add, lax="add"):
    """x + y."""

    n_inputs = 2
    commutative = True
    conjugation = Conjugation.ZERO_SIGNS
    componentwise = True
    jvp = (lambda t, z, x, y: t, lambda t, z, x, y: t)
    vjp = (lambda ct, x, y: ct, lambda ct, x, y: ct)

    def repeat(self, emitter: Emitter[V], value: V, size: Dim) -> V:
        """A batch of `size` entries that are all `value`."""
        return repeated(emitter, value, size)

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


class Sub(Elementwise, name="subtract", numpy=np.subtract, lax="sub"):
    """x - y."""

    n_inputs = 2
    conjugation = Conjugation.ZERO_SIGNS
    componentwise = True
    jvp = (lambda t, z, x, y: t, lambda t, z, x, y: -t)
    vjp = (lambda ct, x, y: ct, lambda ct, x, y: -ct)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        dx, dy = at.tangent
        if dx is None or dy is None:
            return super().linearize(at)
        return (at.emit(SUB, dx, dy),)

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """x - 0 is x; x - (-y) is x + y."""
        x, y = operands
        if is_value(values[1], 0):
            return x
        negated = negand(at, y)
        return None if negated is None else at.emit(ADD, x, negated)


class Mul(Elementwise, name="multiply", numpy=np.multiply, lax="mul"):
    """x · y."""

    n_inputs = 2
    commutative = True
    conjugation = Conjugation.ZERO_SIGNS
    jvp = (lambda t, z, x, y: t * y, lambda t, z, x, y: x * t)
    vjp = (lambda ct, x, y: y.conj * ct, lambda ct, x, y: x.conj * ct)

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
    return 2 ** min(31, float_limits(dtype).nmant + 1) if is_inexact(dtype) else 2**31


class Neg(Elementwise, name="negate", numpy=np.negative, lax="neg"):
    """-x; for unsigned integers, modulo their range."""

    conjugation = Conjugation.EXACT
    componentwise = True
    transparent = True
    jvp = (lambda t, y, x: -t,)
    vjp = (lambda ct, x: -ct,)

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        return negand(at, operands[0])


def _quotient(x: NumpyArray, y: NumpyArray) -> NumpyArray:
    """`numpy.divide`; of integers the quotient rounded toward zero, 0 where the divisor is 0."""
    if not is_integer(x.dtype):
        return np.divide(x, y)
    divisor = np.where(y == 0, 1, y).astype(y.dtype)
    quotient = np.floor_divide(x, divisor)
    inexact = quotient * divisor != x
    correction = (inexact & ((x < 0) != (divisor < 0))).astype(x.dtype)
    return np.where(y == 0, 0, quotient + correction).astype(x.dtype)


class Div(Elementwise, name="divide", numpy=_quotient, lax="div"):
    """x / y; for integers rounded toward zero, and 0 where y is 0."""

    n_inputs = 2
    vjp = (lambda ct, x, y: ct / y.conj, None)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """(dx - out · dy)/y, which repeats in higher orders with `out` in the place of x."""
        _, y = at.primal
        dx, dy = at.tangent
        numerator = dx
        if dy is not None:
            scaled = at.emit(MUL, at.out[0], dy)
            numerator = at.emit(NEG, scaled) if dx is None else at.emit(SUB, dx, scaled)
        return (None if numerator is None else at.emit(DIV, numerator, y),)

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
DIV = Div()


# Complex numbers and their parts, and conversion between dtypes.


class Conj(Elementwise, name="conj", numpy=np.conjugate, lax="conj"):
    """Complex conjugate; the operand itself if its dtype is real."""

    transparent = True
    jvp = (lambda t, y, x: t.conj,)
    vjp = (lambda ct, x: ct.conj,)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        (x,) = operands
        return super().fold(at, operands) if is_complex(at.ctx.meta(x).dtype) else x

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        producer = at.producer(operands[0])
        return producer[1][0] if producer is not None and type(producer[0]) is Conj else None


class Real(Elementwise, name="real", numpy=np.real, lax="real", dtype_of=real_dtype):
    """Real part of a complex operand."""

    kinds = "c"
    conjugation = Conjugation.SAME
    jvp = (lambda t, y, x: REAL(t),)
    vjp = (lambda ct, x: COMPLEX(ct, 0),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        part = _part(at, operands[0], 0)
        return super().fold(at, operands) if part is None else part


class Imag(Elementwise, name="imag", numpy=np.imag, lax="imag", dtype_of=real_dtype):
    """Imaginary part of a complex operand."""

    kinds = "c"
    conjugation = Conjugation.NEGATED
    jvp = (lambda t, y, x: IMAG(t),)
    vjp = (lambda ct, x: COMPLEX(0, ct),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        part = _part(at, operands[0], 1)
        return super().fold(at, operands) if part is None else part


def _part(at: Emitter[V], x: V, number: int) -> V | None:
    producer = at.producer(x)
    return producer[1][number] if producer is not None and type(producer[0]) is Complex else None


def _from_parts(re: NumpyArray, im: NumpyArray) -> NumpyArray:
    """The parts, stored without arithmetic, which would turn infinities into NaN."""
    result = np.empty(re.shape, complex_dtype(re.dtype))
    result.real = re
    result.imag = im
    return result


class Complex(
    Elementwise, name="complex", numpy=_from_parts, lax="complex", dtype_of=complex_dtype
):
    """The complex number with the given real and imaginary parts."""

    n_inputs = 2
    kinds = "f"
    vjp = (lambda ct, re, im: REAL(ct), lambda ct, re, im: IMAG(ct))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return jointly_linear(at, self, lambda part: zeros_like(at.emitter, part))


@payload
class Convert(Elementwise, name="convert"):
    """The numbers in another dtype, changed as follows if they do not fit.

    Complex to real takes the real part. Float to integer truncates, saturates at the ends of the
    range, and maps NaN to 0. Conversion to bool is true for nonzero numbers.
    """

    dtype: DType

    own_precision = True

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        return metas[0].with_dtype(self.dtype)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`astype`, with defined results for the conversions that NumPy leaves undefined."""
        if is_complex(x.dtype) and dtype_kind(self.dtype) in "iuf":
            x = x.real
        if is_floating(x.dtype) and is_integer(self.dtype):
            return _saturate(x.astype(FLOAT32) if x.itemsize < 4 else x, self.dtype)
        return x.astype(self.dtype)

    @property
    def jvp(self) -> Sequence[Formula]:  # type: ignore[override]  # depends on the payload
        """Linear between inexact dtypes; inactive if either dtype is exact."""
        exact = not is_inexact(self.dtype)
        return (lambda t, y, x: self(t) if not exact and is_inexact(x.dtype) else None,)

    vjp = (lambda ct, x: Convert(x.dtype)(ct),)  # a real operand gets the real part

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        (x,) = operands
        return x if at.ctx.meta(x).dtype == self.dtype else super().fold(at, operands)


def _saturate(x: NumpyArray, dtype: DType) -> NumpyArray:
    info = np.iinfo(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0).astype(dtype)
        # As a float, the largest integer may round up out of range: compare instead of clipping.
        result = np.where(x >= float(info.max), info.max, result)
        return np.where(x <= float(info.min), info.min, result).astype(dtype)


CONJ = Conj()
REAL: Real = Real()
IMAG: Imag = Imag()
COMPLEX: Complex = Complex()


# Comparison and selection; sign and magnitude.

_DIRECTIONS: dict[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


@payload
class Compare(Elementwise, name="compare", dtype_of=lambda dtype: BOOL):
    """Comparison, `direction` one of EQ NE LT LE GT GE. Complex numbers have no order."""

    direction: str

    n_inputs = 2
    kinds = "biufc"
    jvp = (None, None)

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        if self.direction not in _DIRECTIONS:
            raise DTypeError(
                f"compare: direction {self.direction!r} is not one of {', '.join(_DIRECTIONS)}"
            )
        if self.direction not in ("EQ", "NE") and is_complex(metas[0].dtype):
            raise DTypeError(
                f"compare: {self.direction} orders its operands, and {types(metas)} have no order"
            )
        return super().infer(*metas)

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        return np.asarray(_DIRECTIONS[self.direction](x, y))


class Select(Elementwise, name="select", numpy=np.where, lax="select"):
    """The second operand where `pred` is true, elsewhere the third."""

    n_inputs = 3
    kinds = "biufcV"
    conjugation = Conjugation.EXACT
    vjp = (
        None,
        lambda ct, pred, x, y: where(pred, ct, 0),
        lambda ct, pred, x, y: where(pred, 0, ct),
    )

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        pred, *choices = metas
        if pred.dtype != BOOL:
            raise DTypeError(f"select: the predicate must be bool, got {pred}")
        chosen = same_type(self.name, choices, self.kinds)
        if pred.dims is None or pred.dims != chosen.dims:
            text = f"predicate {pred} and choices {chosen} must have equal shapes"
            check_same_shape(self.name, pred, chosen, text)
        return chosen

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        _, *tangents = at.tangent
        if tangents == [None, None]:
            return (None,)
        zero = zeros_like(at.emitter, at.out[0])
        return (at.emit(SELECT, at.primal[0], *[zero if t is None else t for t in tangents]),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The selected operand, if the predicate is constant or both choices are one value."""
        pred, on_true, on_false = operands
        known = uniform(at, pred)
        if known is not None:
            return on_true if known else on_false
        return on_true if on_true == on_false else on_scalars(at, self, operands)


def _turn(t: Term, s: Term, x: Term) -> Term | None:
    """i·s·Im(conj(s)·t)/|x|, the change of angle, and 0 at 0; nothing for real numbers."""
    if not is_complex(x.dtype):
        return None
    size, re, im = abs(x), REAL(s), IMAG(s)
    is_zero = size.equals(0)
    across = re * IMAG(t) - im * REAL(t)
    turn = where(is_zero, 0, across / where(is_zero, 1, size))
    return COMPLEX(-(im * turn), re * turn)


class Sign(Elementwise, name="sign", numpy=np.sign, lax="sign"):
    """-1, 0 or 1; for complex x, x/|x|, and 0 at 0."""

    jvp = (_turn,)


def _along(t: Term, y: Term, x: Term) -> Term:
    """Re(conj(sign x)·t), from the parts, without a conjugate."""
    sign = SIGN(x)
    if not is_complex(x.dtype):
        return sign * t
    return REAL(sign) * REAL(t) + IMAG(sign) * IMAG(t)


class Abs(Elementwise, name="abs", numpy=np.abs, lax="abs", dtype_of=real_dtype):
    """|x|, real for complex x. Its derivative at 0 is 0."""

    conjugation = Conjugation.SAME
    jvp = (_along,)


SELECT = Select()
SIGN = Sign()
ABS = Abs()


# Terms: the values of derivative rules, with operators.

Operator = Callable[["Term", "Term | complex"], "Term"]


def _operators(op: Elementwise) -> tuple[Operator, Operator]:
    """An operator of two operands, and the one for a right operand."""

    def operator(self: Term, other: Term | complex) -> Term:
        y = other.value if isinstance(other, Term) else self.number(other)
        return Term(self.at, self.at.emit(op, self.value, y))

    def reflected(self: Term, other: Term | complex) -> Term:
        y = other.value if isinstance(other, Term) else self.number(other)
        return Term(self.at, self.at.emit(op, y, self.value))

    return operator, reflected


class Term:
    """A value at the site of a derivative rule, with operators. Numbers get its dtype and shape."""

    __slots__ = ("at", "value")

    def __init__(self, at: JvpSite[Any] | TransposeSite[Any], value: Any) -> None:
        self.at = at
        self.value = value

    def number(self, number: complex) -> Any:
        """A number as a value of this dtype and shape."""
        return full_like(self.at.emitter, number, self.value)

    def like(self, number: complex) -> Term:
        """A number as a term of this dtype and shape."""
        return Term(self.at, self.number(number))

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        dtype: DType = self.at.ctx.meta(self.value).dtype
        return dtype

    @property
    def conj(self) -> Term:
        """The conjugate; the value itself if its dtype is real."""
        return Term(self.at, conj(self.at.emitter, self.value))

    @property
    def constant(self) -> Term:
        """The value, by which nothing is differentiated."""
        return Term(self.at, self.at.emit(STOP_GRADIENT, self.value))

    def __neg__(self) -> Term:
        return Term(self.at, self.at.emit(NEG, self.value))

    def __abs__(self) -> Term:
        return Term(self.at, self.at.emit(ABS, self.value))

    __add__, __radd__ = _operators(ADD)
    __sub__, __rsub__ = _operators(SUB)
    __mul__, __rmul__ = _operators(MUL)
    __truediv__, __rtruediv__ = _operators(DIV)
    equals, _ = _operators(Compare("EQ"))
    __lt__, _ = _operators(Compare("LT"))
    __le__, _ = _operators(Compare("LE"))
    __gt__, _ = _operators(Compare("GT"))
    __ge__, _ = _operators(Compare("GE"))


def where(predicate: Term, x: Term | complex, y: Term | complex) -> Term:
    """x where the predicate is true, elsewhere y; one of them is a term."""
    like = x if isinstance(x, Term) else y
    assert isinstance(like, Term), "numbers alone do not have a dtype"
    chosen = [each.value if isinstance(each, Term) else like.number(each) for each in (x, y)]
    return Term(like.at, like.at.emit(SELECT, predicate.value, *chosen))
