"""The two kinds of symbols that sizes are made of, and sizes read from text."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass

from tenferro.errors import ShapeError
from tenferro.shape.algebra import Dim, DimExpr, floordiv, maximum, minimum, product, symbol
from tenferro.shape.dtype import dtype_of_short_name
from tenferro.shape.integers import dependence_of, integer_of, is_traced_value

_RESERVED = frozenset({"dim", "floordiv", "inf", "infj", "max", "min", "nan", "nanj"})


@dataclass(frozen=True, slots=True)
class SymDim:
    """A named size of a whole program; the extents of the inputs bind it.

    The name is an identifier that has no other meaning in the text of programs.
    """

    name: str

    def __post_init__(self) -> None:
        taken = self.name in _RESERVED or dtype_of_short_name(self.name) is not None
        if taken or not self.name.isidentifier():
            raise ShapeError(
                f"dim: {self.name!r} cannot be the name of a size; choose another name"
            )

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class InputDim:
    """The size of one axis of an operand, in the payload of the op that reads the operand."""

    input: int
    axis: int

    def __str__(self) -> str:
        return f"dim({self.input}, {self.axis})"


def dim(value: int | str | Dim) -> Dim:
    """A size from an integer or from text such as `"n"`, `"2*n + 1"`, `"floordiv(n, 2)"`.

    Raises:
        ShapeError: the text is not a size.

    >>> print(dim("2*n + 1"), dim("m*n - n*m"))
    2*n + 1 0
    """
    if not isinstance(value, str):
        if isinstance(value, DimExpr):
            return value
        number = integer_of(value)
        if number is None:
            if is_traced_value(value):
                raise ShapeError(
                    f"shape: {value!r} is a value of a trace, not a size; make the argument that "
                    "it is static (static_argnames), or take the size of an array, such as "
                    f"x.shape[0]{dependence_of(value)}"
                )
            raise ShapeError(
                f"shape: {value!r} is not a size; pass an integer, or a name for a symbolic size"
            )
        return number
    try:
        return dim_of_ast(ast.parse(value, mode="eval").body)
    except (SyntaxError, ValueError):
        raise ShapeError(
            f"dim: {value!r} is not a size; write a name, or sums and products of names"
        ) from None


def dim_of_ast(node: ast.expr) -> Dim:
    """The size that a Python expression denotes; raises ValueError if it denotes none."""
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return symbol(SymDim(name))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -dim_of_ast(operand)
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
            return product([dim_of_ast(base)] * exponent)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](dim_of_ast(left), dim_of_ast(right))
        case ast.Call(
            func=ast.Name(id="dim"),
            args=[ast.Constant(value=int(i)), ast.Constant(value=int(axis))],
        ):
            return symbol(InputDim(i, axis))
        case ast.Call(func=ast.Name(id="floordiv"), args=[a, b]):
            return floordiv(dim_of_ast(a), dim_of_ast(b))
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as args) if name in _CALLS:
            return functools.reduce(_CALLS[name], map(dim_of_ast, args))
        case _:
            raise ValueError("not a size")


_SIGNS: dict[type[ast.operator], Callable[[Dim, Dim], Dim]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: floordiv,
}
_CALLS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "min": minimum,
    "max": maximum,
}
