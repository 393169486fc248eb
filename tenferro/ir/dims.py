"""Symbolic sizes: integer polynomials in normal form, and reading them.

An expression is a polynomial with integer coefficients over atoms. An atom is a leaf (a symbol of
any kind) or a call of floordiv, min or max. Sums and products are multiplied out and sorted, so
`n + m == m + n` and `2*n - n == n` hold by construction. There is no solver: relations that the
normal form does not show are unknown.

They may be numbers of Python or of NumPy, or arrays without axes.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Number
from typing import Any, ClassVar, NoReturn, Protocol, runtime_checkable

import numpy as np

from tenferro.errors import DTypeError, ExtentError, ShapeError, TenferroError, TracingError
from tenferro.ir.dtypes import dtype_of_short_name

__all__ = [
    "Atom",
    "Dim",
    "DimExpr",
    "InputDim",
    "Leaf",
    "SizeFunction",
    "SymDim",
    "at_most",
    "bind",
    "calls",
    "canonical",
    "dependence_of",
    "dim",
    "dim_of_ast",
    "floordiv",
    "grows",
    "integer_of",
    "is_traced_value",
    "leaves",
    "maximum",
    "minimum",
    "number_of",
    "product",
    "read_integer",
    "refuse_traced",
    "substitute",
    "sum_of",
    "symbol",
]


# Integer expressions in a normal form, so that equal sizes compare equal.


@runtime_checkable
class Leaf(Protocol):
    """A symbol: hashable, compared by value, with a text that no other leaf has.

    It may have an attribute `limit`: a size that it never exceeds.
    """

    def __str__(self) -> str: ...

    def __hash__(self) -> int: ...


class SizeFunction:
    """A call of floordiv, min or max; an atom of expressions."""

    __slots__ = ("args", "name", "text")

    def __init__(self, name: str, args: tuple[Dim, ...]) -> None:
        self.name = name
        self.args = args
        self.text = f"{name}({', '.join(str(arg) for arg in args)})"

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizeFunction) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


Atom = Leaf | SizeFunction
Monomial = tuple[Atom, ...]
SizeTerm = tuple[Monomial, int]


def _operators(name: str, exact: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator of sizes and integers, and the one for a right operand.

    Other operands give an array, which the function of the name computes.
    """

    def operator(self: DimExpr, other: Any) -> Any:
        if not isinstance(other, DimExpr | Integral):
            return self._computed(name, self, other)
        return exact(self, _plain(other))

    def reflected(self: DimExpr, other: Any) -> Any:
        if not isinstance(other, Integral):
            return self._computed(name, other, self)
        return exact(_plain(other), self)

    return operator, reflected


def _unordered(relation: str) -> Callable[[DimExpr, object], bool]:
    """An operator that refuses to order sizes; a tensor operand compares by its own operators."""

    def operator(self: DimExpr, other: object) -> bool:
        if not isinstance(other, DimExpr | Number):
            return NotImplemented  # type: ignore[no-any-return]  # as operators may
        raise TracingError(
            f"size {self} {relation} {other}: {self} has no value while tracing; give the argument "
            "a constant size, or compare outside the traced function"
        )

    return operator


class DimExpr:
    """A size that is not a plain integer.

    Immutable. Arithmetic with integers and sizes gives sizes, and returns an `int` when the symbols
    cancel. With other numbers, and where the result is no integer, it gives an array that the
    program computes; `arithmetic` makes it.

    >>> from tenferro.shape import SymDim, dim
    >>> n, m = dim("n"), dim("m")
    >>> print((n + m) * 2 - m, (n + m) - m == n, n - n)
    m + 2*n True 0
    """

    __slots__ = ("_hash", "terms", "text")
    __array_ufunc__ = None  # numbers and arrays of NumPy leave their operators to a size

    arithmetic: ClassVar[Callable[[str, Any, Any], Any] | None] = None
    """Applies the array function of a name to a size and a number; set with the array functions."""

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self.text = _text(terms)
        self._hash = hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"dim({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimExpr) and self.text == other.text

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, DimExpr | Integral):
            return self._computed("add", self, other)
        return _normal([*self.terms, *_terms(_plain(other))])

    __radd__ = __add__

    def __pos__(self) -> Dim:
        return self

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Dim:
        return maximum(self, -self)

    __sub__, __rsub__ = _operators("subtract", lambda a, b: a + -1 * b)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, DimExpr | Integral):
            return self._computed("multiply", self, other)
        pairs = ((left, right) for left in self.terms for right in _terms(_plain(other)))
        return _normal([(_sorted((*a, *b)), c * d) for (a, c), (b, d) in pairs])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._computed("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._computed("divide", other, self)

    def __pow__(self, exponent: Any) -> Any:
        if not isinstance(exponent, Integral):
            return self._computed("pow", self, exponent)
        if exponent < 0:
            return self._computed("pow", self, float(exponent))
        return product([self] * int(exponent))

    def __rpow__(self, base: Any) -> Any:
        return self._computed("pow", base, self)

    __floordiv__, __rfloordiv__ = _operators("floor_divide", lambda a, b: floordiv(a, b))
    __mod__, __rmod__ = _operators("remainder", lambda a, b: a - b * (a // b))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def _computed(self, name: str, left: Any, right: Any) -> Any:
        """What an array function makes of a size and a number; other operands decide themselves."""
        other = right if left is self else left
        if DimExpr.arithmetic is None or not isinstance(other, Number | np.ndarray | DimExpr):
            return NotImplemented
        return DimExpr.arithmetic(name, left, right)

    def __bool__(self) -> bool:
        if not at_most(1, self) and not at_most(self, -1):
            self._refuse("bool()", "compare sizes outside the traced function, or use tn.cond")
        return True

    def __index__(self) -> int:
        self._refuse("range() or an integer", "use tn.scan or tn.fori_loop instead of a loop")

    def __int__(self) -> int:
        self._refuse("int()", "calculate with the size itself")

    def __float__(self) -> float:
        self._refuse("float()", "calculate with the size itself")

    def __complex__(self) -> complex:
        self._refuse("complex()", "calculate with the size itself")

    def _refuse(self, use: str, advice: str) -> NoReturn:
        raise TracingError(
            f"{use} of the size {self}: it has no value while tracing; {advice}, or give the "
            "argument a constant size"
        )

    __lt__, __le__, __gt__, __ge__ = map(_unordered, ("<", "<=", ">", ">="))

    def leaves(self) -> set[Leaf]:
        """The symbols of the expression, including those inside calls."""
        symbols: set[Leaf] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, SizeFunction):
                    symbols.update(leaf for arg in atom.args for leaf in leaves(arg))
                else:
                    symbols.add(atom)
        return symbols


Dim = int | DimExpr


def symbol(leaf: Leaf) -> DimExpr:
    """The expression that consists of `leaf`."""
    return DimExpr((((leaf,), 1),))


def leaves(value: Dim) -> set[Leaf]:
    """The symbols of a size."""
    return set() if isinstance(value, int) else value.leaves()


def calls(value: Dim) -> Iterator[SizeFunction]:
    """The calls in a size, also those inside calls."""
    for monomial, _ in () if isinstance(value, int) else value.terms:
        for atom in monomial:
            if isinstance(atom, SizeFunction):
                yield atom
                for arg in atom.args:
                    yield from calls(arg)


def floordiv(a: Dim, b: Dim) -> Dim:
    """a divided by b, rounded down.

    If b is an integer or a product of symbols, the terms of a that it divides are divided exactly;
    the call holds the other terms only.
    """
    if isinstance(b, int) and b == 0:
        raise ExtentError(f"size: {a} divided by a size that is 0")
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if isinstance(a, DimExpr) and len(_terms(b)) == 1 and _terms(b)[0][1] > 0:
        quotients = [_quotient(term, _terms(b)[0]) for term in a.terms]
        whole = [quotient for quotient in quotients if quotient is not None]
        if whole:
            rest = [t for t, q in zip(a.terms, quotients, strict=True) if q is None]
            return _normal(whole) + (floordiv(_normal(rest), b) if rest else 0)
    return 1 if a == b else symbol(SizeFunction("floordiv", (a, b)))


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller of two sizes."""
    return _extremum("min", a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger of two sizes."""
    return _extremum("max", a, b)


def at_most(a: Dim, b: Dim) -> bool:
    """Whether a <= b follows from the normal form, where all symbols are at least 0.

    >>> from tenferro.shape import dim
    >>> at_most(minimum(dim("n"), 3), dim("n")), at_most(dim("n"), dim("m"))
    (True, False)
    """
    if _is_natural(b - a):
        return True
    left, right = _lone_atom(a), _lone_atom(b)
    if isinstance(left, SizeFunction) and left.name == "max":
        return all(at_most(arg, b) for arg in left.args)
    if isinstance(right, SizeFunction) and right.name == "min":
        return all(at_most(a, arg) for arg in right.args)
    if isinstance(left, SizeFunction) and left.name == "min":
        return any(at_most(arg, b) for arg in left.args)
    if isinstance(right, SizeFunction) and right.name == "max":
        return any(at_most(a, arg) for arg in right.args)
    limit = getattr(left, "limit", None)
    return limit is not None and at_most(limit, b)


def _is_natural(value: Dim) -> bool:
    """Whether the normal form shows that a size is not negative."""
    if isinstance(value, int):
        return value >= 0
    return all(c > 0 and all(map(_is_natural_atom, atoms)) for atoms, c in value.terms)


def _is_natural_atom(atom: Atom) -> bool:
    if not isinstance(atom, SizeFunction):
        return True
    natural = [_is_natural(arg) for arg in atom.args]
    return any(natural) if atom.name == "max" else all(natural)


def canonical(a: Dim, b: Dim) -> Dim | None:
    """The simpler of two equal sizes; None if the two certainly differ.

    An integer is simpler than an expression; of two expressions the shorter one is simpler.

    >>> from tenferro.shape import dim
    >>> n = dim("n")
    >>> print(canonical(n, dim("m")), canonical(n, 3), canonical(n + 1, n))
    m 3 None
    """
    if a == b:
        return a
    if isinstance(a - b, int):
        return None
    return min(a, b, key=lambda size: (not isinstance(size, int), len(str(size)), str(size)))


def grows(value: Dim) -> bool:
    """Whether a size provably grows with each symbol, so that bounds of symbols give a bound."""
    if isinstance(value, int):
        return True
    atoms = [atom for monomial, _ in value.terms for atom in monomial]
    calls = [atom for atom in atoms if isinstance(atom, SizeFunction)]
    return all(coefficient > 0 for monomial, coefficient in value.terms if monomial) and all(
        grows(arg) and (call.name != "floordiv" or isinstance(call.args[1], int))
        for call in calls
        for arg in call.args
    )


def substitute(value: Dim, of: Callable[[Leaf], Dim]) -> Dim:
    """The size with each symbol `leaf` replaced by `of(leaf)`."""
    if isinstance(value, int):
        return value
    terms: list[Dim] = []
    for monomial, coefficient in value.terms:
        term: Dim = coefficient
        for atom in monomial:
            term = term * (_substituted(atom, of) if isinstance(atom, SizeFunction) else of(atom))
        terms.append(term)
    return sum_of(terms)


def bind(value: Dim, sizes: Mapping[Leaf, Dim]) -> Dim:
    """The size with the symbols in `sizes` replaced; other symbols stay."""
    return substitute(value, lambda leaf: sizes[leaf] if leaf in sizes else symbol(leaf))


def sum_of(values: Iterable[Dim]) -> Dim:
    """The sum of sizes; 0 if there are none. Faster than to add them one by one."""
    return _normal([term for value in values for term in _terms(value)])


def product(values: Iterable[Dim]) -> Dim:
    """The product of sizes; 1 if there are none."""
    total: Dim = 1
    for value in values:
        total = total * value
    return total


def _lone_atom(value: Dim) -> Atom | None:
    """The atom if the size consists of one atom, else None."""
    terms = _terms(value)
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        return None
    return terms[0][0][0]


def _quotient(term: SizeTerm, divisor: SizeTerm) -> SizeTerm | None:
    """The quotient of two terms; None if the divisor does not divide the term exactly."""
    (atoms, coefficient), (by, number) = term, divisor
    remaining = list(atoms)
    for atom in by:
        if atom not in remaining:
            return None
        remaining.remove(atom)
    return None if coefficient % number else (tuple(remaining), coefficient // number)


def _substituted(function: SizeFunction, of: Callable[[Leaf], Dim]) -> Dim:
    args = [substitute(arg, of) for arg in function.args]
    combine = {"floordiv": floordiv, "min": minimum, "max": maximum}[function.name]
    return functools.reduce(combine, args)


def _extremum(name: str, a: Dim, b: Dim) -> Dim:
    """The min or max of two sizes; nested calls are flattened and redundant members dropped."""
    members: list[Dim] = []
    for value in (*_operands(name, a), *_operands(name, b)):
        if any(_covers(name, member, value) for member in members):
            continue
        members = [member for member in members if not _covers(name, value, member)] + [value]
    if len(members) == 1:
        return members[0]
    return symbol(SizeFunction(name, tuple(sorted(members, key=str))))


def _operands(name: str, value: Dim) -> tuple[Dim, ...]:
    atom = _lone_atom(value)
    return atom.args if isinstance(atom, SizeFunction) and atom.name == name else (value,)


def _covers(name: str, a: Dim, b: Dim) -> bool:
    """Whether a is certainly the extremum of a and b."""
    return at_most(a, b) if name == "min" else at_most(b, a)


def _terms(value: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, DimExpr):
        return value.terms
    return (((), int(value)),) if value else ()


def _plain(value: Any) -> Dim:
    return value if isinstance(value, DimExpr) else int(value)


def _sorted(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=str))


def _normal(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    nonzero = {monomial: c for monomial, c in total.items() if c}
    if not nonzero:
        return 0
    if tuple(nonzero) == ((),):
        return nonzero[()]
    # Symbols before the constant, in the order of their text.
    ordered = sorted(
        nonzero.items(), key=lambda term: (not term[0], [str(atom) for atom in term[0]])
    )
    return DimExpr(tuple(ordered))


def _text(terms: tuple[tuple[Monomial, int], ...]) -> str:
    text = ""
    for monomial, coefficient in terms:
        factors = [str(atom) for atom in monomial]
        size = abs(coefficient)
        body = "*".join([str(size), *factors] if size != 1 or not factors else factors)
        if not text:
            text = body if coefficient > 0 else f"-{body}"
        else:
            text += f" + {body}" if coefficient > 0 else f" - {body}"
    return text


# Reading numbers that users pass as options: sizes, counts, offsets and axes.


def integer_of(value: object) -> int | None:
    """The integer that a value is; None if it is another thing, not known yet, or a bool.

    >>> import numpy as np
    >>> integer_of(np.uint8(3)), integer_of(np.array(3)), integer_of(3.0), integer_of(True)
    (3, 3, None, None)
    """
    if type(value) is int:
        return value
    value = _with_elements(value)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            return None
    elif getattr(value, "ndim", False) or getattr(dtype, "kind", None) not in ("i", "u"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # it may not be an index
    except (TypeError, TracingError):
        return None


def number_of(value: object) -> int | float | None:
    """The real number that a value is; None if it is another thing, not known yet, or a bool.

    >>> import numpy as np
    >>> number_of(np.array(0.5)), number_of(3), number_of(1j), number_of(True)
    (0.5, 3, None, None)
    """
    integer = integer_of(value)
    if integer is not None:
        return integer
    if isinstance(value, float):
        return value
    value = _with_elements(value)
    dtype: Any = getattr(value, "dtype", None)
    if dtype is None or getattr(value, "ndim", False) or getattr(dtype, "kind", None) != "f":
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # an array without axes
    except TracingError:
        return None


def _with_elements(value: object) -> object:
    """The elements of a traced value, None if it has none; other values unchanged."""
    return getattr(value, "elements", None) if is_traced_value(value) else value


def read_integer(
    name: str,
    field: str,
    value: object,
    error: type[TenferroError] = DTypeError,
    least: int | None = None,
) -> int:
    """The integer that users passed to the function `name` as `field`.

    Raises:
        TracingError: it is not known while tracing.
        TenferroError: it is not an integer, or below `least`; of the class `error`.
    """
    number = integer_of(value)
    if number is None or (least is not None and number < least):
        refuse_traced(name, field, value)
        if isinstance(value, DimExpr):
            raise TracingError(
                f"{name}: {field} must be a constant, got the named size {value}; give the "
                "argument a constant size"
            )
        what = "an integer" if least is None else f"an integer of at least {least}"
        raise error(f"{name}: {field} must be {what}, got {value!r}")
    return number


def refuse_traced(name: str, field: str, value: object) -> None:
    """Raise TracingError if the value of an option is traced, and its elements are not known."""
    if _with_elements(value) is None and value is not None:
        raise TracingError(
            f"{name}: {field} must be known while tracing, got {value!r}; make the argument static "
            "with static_argnames, or take the size of an array, such as x.shape[0]"
            f"{dependence_of(value)}"
        )


def dependence_of(value: object) -> str:
    """What errors add on a traced value: which arguments it depends on. Else nothing."""
    dependence = getattr(value, "dependence", None)
    return f"; {dependence}" if isinstance(dependence, str) else ""


def is_traced_value(value: object) -> bool:
    """Whether a value is of a trace, in which its elements may be known."""
    return hasattr(value, "scope")


# The two kinds of symbols that sizes are made of, and sizes read from text.

_RESERVED = frozenset({"dim", "floordiv", "inf", "infj", "max", "min", "nan", "nanj"})


@dataclass(frozen=True, slots=True)
class SymDim:
    """A named size of a whole program; the extents of the inputs bind it.

    The name is an identifier that has no other meaning in the text of programs.
    """

    name: str

    def __post_init__(self) -> None:
        reserved = self.name in _RESERVED or dtype_of_short_name(self.name) is not None
        if reserved or not self.name.isidentifier():
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
_CALLS: dict[str, Callable[[Dim, Dim], Dim]] = {"min": minimum, "max": maximum}
