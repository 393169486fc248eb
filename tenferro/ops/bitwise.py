"""Operations on bits; on bools they are the logical ones."""

from __future__ import annotations

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V
from tenferro.exec_ir import Array, payload
from tenferro.ops.elementwise import Elementwise


class Bitwise(Elementwise):
    """An op on the bits of integers, or on bools. No tangent flows."""

    kinds = "biu"

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """A symbolic zero."""
        return (None,)


@payload
class And(Bitwise, name="and"):
    """The bits that both operands have."""

    n_inputs = 2
    commutative = True

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.bitwise_and`."""
        return np.bitwise_and(x, y)


@payload
class Or(Bitwise, name="or"):
    """The bits that either operand has."""

    n_inputs = 2
    commutative = True

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.bitwise_or`."""
        return np.bitwise_or(x, y)


@payload
class Xor(Bitwise, name="xor"):
    """The bits that one operand has and the other has not."""

    n_inputs = 2
    commutative = True

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.bitwise_xor`."""
        return np.bitwise_xor(x, y)


@payload
class Not(Bitwise, name="not"):
    """Every bit turned; -1 - x for signed integers."""

    def numpy(self, x: Array) -> Array:
        """`numpy.bitwise_not`."""
        return np.bitwise_not(x)


class Shift(Bitwise):
    """Bits moved by y places; every bit leaves if y is negative, or as many as there are bits."""

    n_inputs = 2
    kinds = "iu"


@payload
class ShiftLeft(Shift, name="shift_left"):
    """Toward the higher bits; zeros come in."""

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.left_shift`."""
        return np.left_shift(x, y)


@payload
class ShiftRight(Shift, name="shift_right"):
    """Toward the lower bits; copies of the sign come in, zeros for unsigned integers."""

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.right_shift`."""
        return np.right_shift(x, y)


AND = And()
OR = Or()
XOR = Xor()
NOT = Not()
SHIFT_LEFT = ShiftLeft()
SHIFT_RIGHT = ShiftRight()
