"""Rounding; integers are returned unchanged."""

from __future__ import annotations

import math

import numpy as np

from tenferro.arrays.elementwise import where
from tenferro.arrays.logical import isfinite
from tenferro.arrays.operands import Operand, called, convert, inexact_dtype, integers, promote
from tenferro.chainrules import Emitter, V
from tenferro.errors import DTypeError
from tenferro.ops import (
    CEIL,
    COMPLEX,
    DIV,
    FLOOR,
    IMAG,
    MUL,
    REAL,
    ROUND,
    SELECT,
    Compare,
    StdTensorOp,
    full_like,
    zeros_like,
)
from tenferro.shape import is_complex, is_inexact


def _rounded(at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V]) -> V:
    (value,) = promote(at, (x,))
    return called(at, name, op, value) if is_inexact(at.ctx.meta(value).dtype) else value


def floor(at: Emitter[V], x: Operand[V]) -> V:
    """The largest integer that is not above x. Its derivative is 0.

    >>> tn.floor([1.5, -1.5])
    Tensor([ 1., -2.])
    """
    return _rounded(at, "floor", FLOOR, x)


def ceil(at: Emitter[V], x: Operand[V]) -> V:
    """The smallest integer that is not below x. Its derivative is 0.

    >>> tn.ceil([1.5, -1.5])
    Tensor([ 2., -1.])
    """
    return _rounded(at, "ceil", CEIL, x)


def trunc(at: Emitter[V], x: Operand[V]) -> V:
    """x rounded toward zero. Its derivative is 0.

    >>> tn.trunc([1.5, -1.5])
    Tensor([ 1., -1.])
    """
    (value,) = promote(at, (x,))
    if not is_inexact(at.ctx.meta(value).dtype):
        return value
    down, up = (called(at, "trunc", op, value) for op in (FLOOR, CEIL))
    return at.emit(SELECT, at.emit(Compare("LT"), value, zeros_like(at, value)), up, down)


def round(at: Emitter[V], x: Operand[V], decimals: int = 0) -> V:
    """x rounded to `decimals` decimals, half to even. Its derivative is 0.

    >>> tn.round([0.5, 1.5, 2.5])
    Tensor([0., 2., 2.])
    >>> tn.round([1.234, 5.678], 1)
    Tensor([1.2, 5.7])
    """
    several = integers("round", "decimals", decimals)
    if len(several) != 1:
        raise DTypeError(f"round: decimals must be one integer, got {decimals!r}")
    (decimals,) = several
    (value,) = promote(at, (x,))
    dtype = at.ctx.meta(value).dtype
    if is_complex(dtype):
        parts = [round(at, at.emit(part, value), decimals) for part in (REAL, IMAG)]
        return at.emit(COMPLEX, *parts)
    if not is_inexact(dtype) and decimals >= 0:
        return value
    (wide,) = promote(at, (value,), inexact_dtype(at, (value,)))
    return convert(at, _to_decimals(at, wide, decimals), dtype)


def _to_decimals(at: Emitter[V], value: V, decimals: int) -> V:
    """Floating-point numbers, rounded to decimals; those without so many are unchanged."""
    if not decimals:
        return at.emit(ROUND, value)
    most = int(np.finfo(at.ctx.meta(value).dtype).maxexp * math.log10(2))
    if decimals > most:
        return value
    if decimals < -most:
        return where(at, isfinite(at, value), zeros_like(at, value), value)
    unit = full_like(at, 10.0 ** abs(decimals), value)
    scale, unscale = (MUL, DIV) if decimals > 0 else (DIV, MUL)
    scaled = at.emit(scale, value, unit)
    rounded = at.emit(unscale, at.emit(ROUND, scaled), unit)
    return where(at, isfinite(at, scaled), rounded, value) if decimals > 0 else rounded


def rint(at: Emitter[V], x: Operand[V]) -> V:
    """The nearest integer as a floating-point number, half to even.

    >>> tn.rint([0.5, 1.5])
    Tensor([0., 2.])
    """
    (value,) = promote(at, (x,), inexact_dtype(at, (x,)))
    return round(at, value)
