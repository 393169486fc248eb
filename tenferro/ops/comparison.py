"""Comparison, selection, and bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenferro.core import Emitter, JvpSite, Slots, TransposeSite, V, chain, each_active
from tenferro.errors import DTypeError
from tenferro.ir import (
    BOOL,
    Conjugation,
    NumpyArray,
    TensorMeta,
    is_complex,
    is_integer,
    payload,
    real_dtype,
)
from tenferro.ops.base import Inactive, StdTensorOp, check_same_shape, same_type, types
from tenferro.ops.broadcast import full, full_like, on_scalars, uniform, zeros_like
from tenferro.ops.elementwise import COMPLEX, DIV, IMAG, MUL, NEG, REAL, SUB, Elementwise

__all__ = [
    "ABS",
    "AND",
    "CLAMP",
    "MAXIMUM",
    "MINIMUM",
    "NOT",
    "OR",
    "REM",
    "SELECT",
    "SHIFT_LEFT",
    "SHIFT_RIGHT",
    "SIGN",
    "XOR",
    "Abs",
    "And",
    "Clamp",
    "Compare",
    "CotangentWhere",
    "Maximum",
    "Minimum",
    "Not",
    "Or",
    "Rem",
    "Select",
    "ShiftLeft",
    "ShiftRight",
    "Sign",
    "Xor",
]


# Comparison and selection, and the piecewise functions made of them.

_DIRECTIONS: dict[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
REAL_KINDS = "iuf"


@payload
class Compare(Inactive, name="compare"):
    """Comparison, `direction` one of EQ NE LT LE GT GE. Complex numbers have no order."""

    direction: str

    n_inputs = 2
    pointwise = True

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """bool, in the operands' shape."""
        if self.direction not in _DIRECTIONS:
            raise DTypeError(
                f"compare: direction {self.direction!r} is not one of {', '.join(_DIRECTIONS)}"
            )
        if self.direction not in ("EQ", "NE") and is_complex(metas[0].dtype):
            raise DTypeError(
                f"compare: {self.direction} orders its operands, and {types(metas)} have no order"
            )
        return same_type(self.name, metas, "biufc").with_dtype(BOOL)

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """NumPy's comparison for the direction."""
        return np.asarray(_DIRECTIONS[self.direction](x, y))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Compare constants at once, and repeated scalars as scalars."""
        x, y = (uniform(at, operand) for operand in operands)
        meta = at.ctx.meta(operands[0])
        if x is None or y is None or meta.dims is None:
            return on_scalars(at, self, operands)
        return full(at, self.numpy(x, y), meta.with_dtype(BOOL))


@payload
class Select(StdTensorOp, name="select"):
    """The second operand where `pred` is true, elsewhere the third."""

    n_inputs = 3
    pointwise = True
    conjugation = Conjugation.EXACT

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The type of the two choices."""
        pred, *choices = metas
        if pred.dtype != BOOL:
            raise DTypeError(f"select: the predicate must be bool, got {pred}")
        chosen = same_type(self.name, choices, "biufc")
        if pred.dims is None or pred.dims != chosen.dims:
            text = f"predicate {pred} and choices {chosen} must have equal shapes"
            check_same_shape(self.name, pred, chosen, text)
        return chosen

    def numpy(self, pred: NumpyArray, on_true: NumpyArray, on_false: NumpyArray) -> NumpyArray:
        """`numpy.where`."""
        return np.where(pred, on_true, on_false)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the selected operand."""
        _, on_true, on_false = at.tangent
        if on_true is None and on_false is None:
            return (None,)
        zero = zeros_like(at.emitter, at.out[0])
        return (
            at.emit(
                SELECT,
                at.primal[0],
                zero if on_true is None else on_true,
                zero if on_false is None else on_false,
            ),
        )

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent where the operand was selected, zero elsewhere."""
        pred = at.inputs[0]

        def zero(ct: V) -> V:
            return zeros_like(at.emitter, ct)

        return each_active(
            at,
            lambda ct: None,
            lambda ct: at.emit(SELECT, pred, ct, zero(ct)),
            lambda ct: at.emit(SELECT, pred, zero(ct), ct),
        )

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The selected operand, if the predicate is constant or both choices are one value."""
        pred, on_true, on_false = operands
        known = uniform(at, pred)
        if known is not None:
            return on_true if known else on_false
        return on_true if on_true == on_false else on_scalars(at, self, operands)


class Extremum(Elementwise):
    """Maximum and minimum: NaN wins; at ties each operand gets half of the derivative."""

    n_inputs = 2
    kinds = REAL_KINDS
    commutative = True

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Each tangent where its operand equals the result."""
        x, y = at.primal

        def weighted(operand: V, other_operand: V, tangent: V) -> V:
            half = at.emit(
                SELECT,
                _equal(at, other_operand),
                full_like(at.emitter, 0.5, operand),
                full_like(at.emitter, 1, operand),
            )
            weight = at.emit(SELECT, _equal(at, operand), half, zeros_like(at.emitter, operand))
            return at.emit(MUL, weight, tangent)

        return chain(at, lambda t: weighted(x, y, t), lambda t: weighted(y, x, t))


def _equal(at: JvpSite[V], operand: V) -> V:
    return at.emit(Compare("EQ"), operand, at.out[0])


@payload
class Maximum(Extremum, name="maximum"):
    """The larger of x and y."""

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.maximum`."""
        return np.maximum(x, y)


@payload
class Minimum(Extremum, name="minimum"):
    """The smaller of x and y."""

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.minimum`."""
        return np.minimum(x, y)


@payload
class Clamp(Elementwise, name="clamp"):
    """min(max(x, low), high), operands in the order low, x, high."""

    n_inputs = 3
    kinds = REAL_KINDS

    def numpy(self, low: NumpyArray, x: NumpyArray, high: NumpyArray) -> NumpyArray:
        """`minimum(maximum(x, low), high)`."""
        return np.minimum(np.maximum(x, low), high)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the operand that is strictly the result; of high if low exceeds it."""
        low, x, high = at.primal

        def where(a: V, b: V, tangent: V, direction: str = "GT") -> V:
            return at.emit(
                SELECT, at.emit(Compare(direction), a, b), tangent, zeros_like(at.emitter, tangent)
            )

        return chain(
            at,
            lambda t: where(low, x, where(high, low, t, "GE")),
            lambda t: where(x, low, where(high, x, t)),
            lambda t: where(at.emit(MAXIMUM, low, x), high, t),
        )


@payload
class Sign(Elementwise, name="sign"):
    """-1, 0 or 1; for complex x, x/|x|, and 0 at 0."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.sign`."""
        return np.sign(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Zero for real x; for complex x i·s·Im(conj(s)·dx)/|x|, the change of angle; 0 at 0."""
        meta = at.ctx.meta(at.primal[0])
        tangent = at.tangent[0]
        if not is_complex(meta.dtype) or tangent is None:
            return (None,)
        s, size = at.out[0], at.emit(ABS, at.primal[0])
        re, im = at.emit(REAL, s), at.emit(IMAG, s)
        zero = full_like(at.emitter, 0, size)
        is_zero = at.emit(Compare("EQ"), size, zero)
        across = at.emit(
            SUB,
            at.emit(MUL, re, at.emit(IMAG, tangent)),
            at.emit(MUL, im, at.emit(REAL, tangent)),
        )
        divisor = at.emit(SELECT, is_zero, full_like(at.emitter, 1, size), size)
        turn = at.emit(SELECT, is_zero, zero, at.emit(DIV, across, divisor))
        return (at.emit(COMPLEX, at.emit(NEG, at.emit(MUL, im, turn)), at.emit(MUL, re, turn)),)


@payload
class Abs(Elementwise, name="abs"):
    """|x|, real for complex x. Its derivative at 0 is 0."""

    conjugation = Conjugation.SAME

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The operand's shape, with the real dtype."""
        meta = super().infer(*metas)
        return meta.with_dtype(real_dtype(meta.dtype))

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.abs`."""
        return np.abs(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Re(conj(sign x)·dx), computed from the parts, without a conjugate."""
        x = at.primal[0]
        sign = at.emit(SIGN, x)
        if not is_complex(at.ctx.meta(x).dtype):
            return chain(at, lambda t: at.emit(MUL, sign, t))

        def along(t: V) -> V:
            parts = [at.emit(MUL, at.emit(part, sign), at.emit(part, t)) for part in (REAL, IMAG)]
            return at.emitter.ctx.adder.add(at.emitter, *parts)

        return chain(at, along)


@payload
class Rem(Elementwise, name="remainder"):
    """x - y·trunc(x/y), with the sign of x; 0 where an integer y is 0.

    With `floor`, x - y·floor(x/y), with the sign of y, also of zeros.
    """

    floor: bool = False

    added_fields = ("floor",)

    n_inputs = 2
    kinds = REAL_KINDS

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.fmod`, or `numpy.remainder`."""
        rem = np.remainder if self.floor else np.fmod
        if is_integer(x.dtype):
            return np.where(y == 0, 0, rem(x, np.where(y == 0, 1, y))).astype(x.dtype)
        return rem(x, y)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx - trunc(x/y)·dy, or dx - floor(x/y)·dy."""
        x, y = at.primal

        def times_quotient(t: V) -> V:
            quotient = at.emit(DIV, at.emit(SUB, x, at.out[0]), y)
            return at.emit(NEG, at.emit(MUL, quotient, t))

        return chain(at, lambda t: t, times_quotient)


SELECT = Select()


@payload
class CotangentWhere(StdTensorOp, name="cotangent_where"):
    """The first operand, to which cotangents flow only where the second, a bool, is true.

    For values whose results are not read elsewhere: a zero cotangent times a coefficient that is
    infinite there would be NaN. It is linear, so that the value may be a tangent.
    """

    n_inputs = 2
    pointwise = True
    for_derivatives = True
    conjugation = Conjugation.EXACT

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        """The type of the first operand."""
        value, taken = metas
        if taken.dtype != BOOL:
            raise DTypeError(f"cotangent_where: the second operand must be bool, got {taken}")
        if value.dims is None or value.dims != taken.dims:
            text = f"value {value} and bools {taken} must have equal shapes"
            check_same_shape(self.name, value, taken, text)
        return value

    def numpy(self, value: NumpyArray, taken: NumpyArray) -> NumpyArray:
        """The value."""
        return value

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear in the value."""
        tangent = at.tangent[0]
        return (None if tangent is None else at.emit(self, tangent, at.primal[1]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent, and zero where it does not flow."""
        taken = at.inputs[1]
        return each_active(
            at,
            lambda ct: at.emit(SELECT, taken, ct, zeros_like(at.emitter, ct)),
            lambda ct: None,
        )


MAXIMUM = Maximum()
MINIMUM = Minimum()
CLAMP = Clamp()
SIGN = Sign()
ABS = Abs()
REM = Rem()


# Bitwise operations; for bools they are logical operations.


class Bitwise(Elementwise):
    """An op on the bits of integers, or on bools. No tangent flows through it."""

    kinds = "biu"

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """A symbolic zero."""
        return (None,)


@payload
class And(Bitwise, name="and"):
    """The bits that both operands have."""

    n_inputs = 2
    commutative = True

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.bitwise_and`."""
        return np.bitwise_and(x, y)


@payload
class Or(Bitwise, name="or"):
    """The bits that either operand has."""

    n_inputs = 2
    commutative = True

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.bitwise_or`."""
        return np.bitwise_or(x, y)


@payload
class Xor(Bitwise, name="xor"):
    """The bits that exactly one operand has."""

    n_inputs = 2
    commutative = True

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.bitwise_xor`."""
        return np.bitwise_xor(x, y)


@payload
class Not(Bitwise, name="not"):
    """Every bit inverted; -1 - x for signed integers."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.bitwise_not`."""
        return np.bitwise_not(x)


class Shift(Bitwise):
    """The bits of x shifted by y; if y is negative or at least the bit width, all bits are lost."""

    n_inputs = 2
    kinds = "iu"


@payload
class ShiftLeft(Shift, name="shift_left"):
    """The bits of x shifted toward the higher bits by y places; zeros are shifted in."""

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.left_shift`."""
        return np.left_shift(x, y)


@payload
class ShiftRight(Shift, name="shift_right"):
    """The bits of x shifted toward the lower bits by y places; the sign is shifted in.

    For unsigned integers, zeros are shifted in.
    """

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.right_shift`."""
        return np.right_shift(x, y)


AND = And()
OR = Or()
XOR = Xor()
NOT = Not()
SHIFT_LEFT = ShiftLeft()
SHIFT_RIGHT = ShiftRight()
