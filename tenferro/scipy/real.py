"""What the functions of this package do first with their operands."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.arrays import Operand, analytic, special
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply
from tenferro.errors import DTypeError
from tenferro.shape import is_complex
from tenferro.typing import AnyTensor, ArrayLike


def real(name: str, *operands: ArrayLike) -> tuple[AnyTensor, ...]:
    """The operands as floating-point values of one dtype and shape.

    Raises:
        DTypeError: an operand is complex, or not an array.
        ShapeError: the shapes do not broadcast.
    """
    return apply(_Real(name), *operands)  # type: ignore[return-value]  # a tuple, as the function's


def special_function(name: str, function: str, *operands: ArrayLike) -> AnyTensor:
    """A row of `tenferro.ops.SPECIAL_FUNCTIONS` on the operands."""
    return apply(_Special(name, function), *operands)


@dataclass(frozen=True)
class _Real:
    """Promotes and broadcasts operands, for the function `name`."""

    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, at: Emitter[V], *operands: Operand[V]) -> V:
        values = analytic.inexact(at, self.name, *operands)
        meta = at.ctx.meta(values[0])
        if is_complex(meta.dtype):
            raise DTypeError(f"{self.name}: takes real operands, got {meta}; pass real parts")
        return tuple(values)  # type: ignore[return-value]  # which `apply` returns as a tuple


@dataclass(frozen=True)
class _Special:
    """A special function under the name that users call."""

    name: str
    function: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, at: Emitter[V], *operands: Operand[V]) -> V:
        return special.special(at, self.name, self.function, *operands)
