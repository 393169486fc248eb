"""Bitwise operations; for bools they are logical operations."""

from __future__ import annotations

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V
from tenferro.exec_ir import Array, payload
from tenferro.ops.elementwise import Elementwise


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
    """The bits that exactly one operand has."""

    n_inputs = 2
    commutative = True

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.bitwise_xor`."""
        return np.bitwise_xor(x, y)


@payload
class Not(Bitwise, name="not"):
    """Every bit inverted; -1 - x for signed integers."""

    def numpy(self, x: Array) -> Array:
        """`numpy.bitwise_not`."""
        return np.bitwise_not(x)


class Shift(Bitwise):
    """The bits of x shifted by y; if y is negative or at least the bit width, all bits are lost."""

    n_inputs = 2
    kinds = "iu"


@payload
class ShiftLeft(Shift, name="shift_left"):
    """The bits of x shifted toward the higher bits by y places; zeros are shifted in."""

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.left_shift`."""
        return np.left_shift(x, y)


@payload
class ShiftRight(Shift, name="shift_right"):
    """The bits of x shifted toward the lower bits by y places; the sign is shifted in.

    For unsigned integers, zeros are shifted in.
    """

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.right_shift`."""
        return np.right_shift(x, y)


AND = And()
OR = Or()
XOR = Xor()
NOT = Not()
SHIFT_LEFT = ShiftLeft()
SHIFT_RIGHT = ShiftRight()
