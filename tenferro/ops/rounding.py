"""Rounding and the sign bit: piecewise constant functions, through which no tangent flows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import Emitter, JvpSite, Slots, V
from tenferro.exec_ir import Array, payload
from tenferro.ops.base import Inactive, check_kind
from tenferro.ops.broadcast_reduce import on_scalars
from tenferro.ops.elementwise import Elementwise
from tenferro.shape import BOOL, TensorMeta


class Rounding(Elementwise):
    """An integer near x, as a floating-point number. Infinities, NaN and -0.0 are unchanged."""

    kinds = "f"

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """A symbolic zero."""
        return (None,)


@payload
class Floor(Rounding, name="floor"):
    """The largest integer that is not above x."""

    def numpy(self, x: Array) -> Array:
        """`numpy.floor`."""
        return np.floor(x)


@payload
class Ceil(Rounding, name="ceil"):
    """The smallest integer that is not below x."""

    def numpy(self, x: Array) -> Array:
        """`numpy.ceil`."""
        return np.ceil(x)


@payload
class RoundNearestEven(Rounding, name="round_nearest_even"):
    """The nearest integer, half to even."""

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
        """`numpy.signbit`."""
        return np.signbit(x)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The sign bit of a repeated scalar is computed on the scalar."""
        return on_scalars(at, self, operands)


FLOOR = Floor()
CEIL = Ceil()
ROUND = RoundNearestEven()
SIGN_BIT = SignBit()
