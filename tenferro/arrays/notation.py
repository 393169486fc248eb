"""Values of an emitter with the operators of arrays, for formulas of derivative rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

from tenferro.arrays.operators import ArrayOperators
from tenferro.chainrules import Emitter, PrimitiveOp
from tenferro.shape import Dim, TensorMeta


class Expression(ArrayOperators):
    """A value of an emitter. Operators and methods emit ops.

    >>> from tenferro.chainrules import KeyEmitter
    >>> from tenferro.ops import shape_context
    >>> from tenferro.shape import FLOAT64, fresh_input
    >>> at = KeyEmitter(shape_context())
    >>> x = Expression(at, fresh_input(TensorMeta.of(FLOAT64, (2, 3)), "x"))
    >>> (2 * x).H @ x
    Expression(f64[3,3])
    """

    __slots__ = ("emitter", "value")

    precedence = 3

    def __init__(self, emitter: Emitter[Any], value: Any) -> None:
        self.emitter = emitter
        self.value = value

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""
        meta: TensorMeta = self.emitter.ctx.meta(self.value)
        return meta

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The sizes, which must be exact."""
        return self.meta.exact_shape()

    @property
    def H(self) -> Self:  # noqa: N802  # the mathematical name
        """The adjoint: the conjugate with the last two axes exchanged."""
        return self.mT.conj() if self.dtype.kind == "c" else self.mT

    def emit_all(self, op: PrimitiveOp, *operands: Expression) -> tuple[Expression, ...]:
        """The outputs of an op on this value and others."""
        outputs = self.emitter.emit_all(op, self.value, *[operand.value for operand in operands])
        return tuple(Expression(self.emitter, output) for output in outputs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Always raises: an expression has no elements."""
        raise TypeError(f"{self} has no elements; write the formula with functions of tenferro")

    def _apply(self, function: Callable[..., Any], *operands: Any, **options: Any) -> Self:
        return apply(function, *operands, emitter=self.emitter, **options)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Expression({self.meta})"


def expressions(at: Emitter[Any], values: Sequence[Any]) -> list[Any]:
    """The values as expressions; None stays None."""
    return [None if value is None else Expression(at, value) for value in values]


def values_of(results: Sequence[Expression | None]) -> tuple[Any, ...]:
    """The values of expressions; None stays None."""
    return tuple(None if result is None else result.value for result in results)


def apply(
    function: Callable[..., Any],
    *operands: Any,
    emitter: Emitter[Any] | None = None,
    **options: Any,
) -> Any:
    """The result of an array function of expressions and numbers.

    At least one operand is an expression, unless the emitter is given.
    """
    at = emitter or next(each.emitter for each in operands if isinstance(each, Expression))
    values = [operand.value if isinstance(operand, Expression) else operand for operand in operands]
    result = function(at, *values, **options)
    if isinstance(result, tuple):
        return tuple(Expression(at, value) for value in result)
    return Expression(at, result)
