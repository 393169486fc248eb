"""Reductions with a mask, an initial value, or both: `x.sum(where=mask, initial=1)`."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.arrays.elementwise import where
from tenferro.arrays.operands import (
    Operand,
    as_value,
    broadcast_to,
    fitting,
    normal_axes,
    promote,
)
from tenferro.arrays.reductions import countable, moment, reduce
from tenferro.chainrules import Emitter, V
from tenferro.errors import ShapeError
from tenferro.ops import (
    ADD,
    MUL,
    REDUCTIONS,
    Pad,
)
from tenferro.shape import BOOL, DType, TensorMeta
from tenferro.typing import Axis, DTypeLike

MOMENTS = ("mean", "var", "std")
"""Reductions that are NaN of no elements, and have no initial value."""


@dataclass(frozen=True)
class Masked:
    """The array function of a reduction with a mask, an initial value, or both.

    Its operands are the array and these. Caches treat equal instances as one function.

    Attributes:
        name: of the reduction, for errors too.
        masked: whether the second operand is a mask of the elements that count.
        starts: whether the last operand is the initial value.
    """

    name: str
    masked: bool
    starts: bool

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(
        self,
        at: Emitter[V],
        x: Operand[V],
        *others: Operand[V],
        axis: Axis,
        keepdims: bool,
        dtype: DTypeLike | None = None,
        correction: float | None = None,
        ddof: float = 0,
    ) -> V:
        """The reduction over `axis` (None: all). The last three are those of `MOMENTS`."""
        if self.name in MOMENTS:
            (value,) = promote(at, (x,))
            holds = _mask(at, self.name, others[0], at.ctx.meta(value))
            return moment(at, self.name, value, holds, axis, dtype, correction, ddof, keepdims)
        op, combine, neutral = REDUCTIONS[self.name]
        kind = BOOL if isinstance(neutral, bool) else None
        value = countable(at, x) if combine in (ADD, MUL) else promote(at, (x,), kind)[0]
        meta: TensorMeta = at.ctx.meta(value)
        start = self._start(at, others[-1], meta.dtype) if self.starts else None
        if self.masked:
            if neutral is None and start is None:
                raise ShapeError(
                    f"{self.name}: where= may leave no element; pass initial=, the value of none"
                )
            instead = start if neutral is None else as_value(at, neutral, meta.dtype)
            assert instead is not None
            value = where(at, _mask(at, self.name, others[0], meta), value, instead)
        if start is not None and neutral is None and meta.rank:
            value = _led(at, value, start, normal_axes(self.name, axis, meta.rank))
        result = reduce(at, self.name, op, value, axis, keepdims)
        if start is None:
            return result
        shape = at.ctx.meta(result).exact_shape(self.name, "result")
        return at.emit(combine, result, broadcast_to(at, start, shape))

    def _start(self, at: Emitter[V], initial: Operand[V], dtype: DType) -> V:
        """The initial value in the dtype of the reduction."""
        if isinstance(initial, float) and initial.is_integer() and dtype.kind in "iu":
            initial = int(initial)
        return fitting(at, self.name, initial, dtype)


def _mask(at: Emitter[V], name: str, mask: Operand[V], meta: TensorMeta) -> V:
    """A mask as bools of the shape of the array that it is for."""
    (holds,) = promote(at, (mask,), BOOL)
    return broadcast_to(at, holds, meta.exact_shape(name, "operand"), name)


def _led(at: Emitter[V], value: V, start: V, axes: tuple[int, ...]) -> V:
    """The array with the initial value before its elements along `axes`, which may have none."""
    rank = at.ctx.meta(value).rank
    none = (0,) * rank
    return at.emit(Pad(tuple(int(i in axes) for i in range(rank)), none, none), value, start)
