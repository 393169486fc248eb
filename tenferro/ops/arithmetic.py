"""Sums, products and quotients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import (
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    add_terms,
    chain,
    each_active,
    multilinear,
)
from tenferro.exec_ir import Array, Conjugation, payload
from tenferro.ops.broadcast_reduce import full, repeated, uniform
from tenferro.ops.elementwise import Elementwise, is_value
from tenferro.shape import Dim, DType, is_complex, is_inexact, is_integer

Constants = Sequence[Array | None]


@payload
class Add(Elementwise, name="add"):
    """x + y."""

    n_inputs = 2
    commutative = True
    conjugation = Conjugation.ZERO_SIGNS
    componentwise = True

    def numpy(self, x: Array, y: Array) -> Array:
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

    def numpy(self, x: Array, y: Array) -> Array:
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

    def numpy(self, x: Array, y: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array, y: Array) -> Array:
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


def _join_factors(at: Emitter[V], outer: Array, value: V) -> V | None:
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


def _integer(value: Array) -> int:
    """The value if it is an integer of at most 2**53, else 0."""
    number = complex(value)
    exact = number.imag == 0 and number.real.is_integer() and abs(number.real) <= 2**53
    return int(number.real) if exact else 0


def _largest(dtype: DType) -> int:
    """A bound up to which a dtype holds every integer; such a product of factors is exact."""
    return 2 ** min(31, np.finfo(dtype).nmant + 1) if is_inexact(dtype) else 2**31


def _truncated(x: Array, y: Array) -> Array:
    """Integer quotient rounded toward zero; 0 where the divisor is 0."""
    divisor = np.where(y == 0, 1, y).astype(y.dtype)
    quotient = np.floor_divide(x, divisor)
    inexact = quotient * divisor != x
    correction = (inexact & ((x < 0) != (divisor < 0))).astype(x.dtype)
    return np.where(y == 0, 0, quotient + correction).astype(x.dtype)
