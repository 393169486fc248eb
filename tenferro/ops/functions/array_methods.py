"""Operators and methods of all tensors; formulas written with them."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Concatenate, NoReturn, ParamSpec, Self, cast

import numpy as np

from tenferro.core import Emitter, PrimitiveOp
from tenferro.errors import ConfigError, DTypeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DType,
    DTypeLike,
    Index,
    Order,
    Shape,
    TensorMeta,
    as_dtype,
)
from tenferro.ops.functions import (
    elementwise,
    indexing,
    logical,
    manipulation,
    products,
    reductions,
)
from tenferro.ops.functions.updates import At, apply_where

__all__ = ["ArrayOperators", "Expression", "apply", "expressions", "values_of"]


# What the array API standard and Python ask of arrays, beside operators and methods.

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the array API standard whose names `tenferro` has; the last one is followed."""


class ArrayProtocols:
    """Attributes and functions of Python for every kind of tensor, from its operators."""

    __slots__ = ()

    @property
    @abstractmethod
    def meta(self) -> TensorMeta:
        """Dtype and extents."""

    @abstractmethod
    def round(self, decimals: int = 0, out: None = None) -> Self:
        """The elements rounded to `decimals` decimals."""

    @abstractmethod
    def __floordiv__(self, other: ArrayLike) -> Self: ...

    @abstractmethod
    def __rfloordiv__(self, other: ArrayLike) -> Self: ...

    @abstractmethod
    def __mod__(self, other: ArrayLike) -> Self: ...

    @abstractmethod
    def __rmod__(self, other: ArrayLike) -> Self: ...

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module `tenferro`, for libraries that compute with arrays of any library.

        Raises:
            ConfigError: there is no such version of the standard here.
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ConfigError(
                f"__array_namespace__: version {api_version!r} of the array API is not here; use "
                f"one of {', '.join(VERSIONS)}"
            )
        return sys.modules["tenferro"]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.meta.dtype.itemsize

    @property
    def nbytes(self) -> Dim:
        """Bytes of all elements."""
        total: Dim = self.itemsize
        for extent in self.meta.exact_shape("nbytes", "shape"):
            total = total * extent
        return total

    def copy(self) -> Self:
        """The array itself: it cannot be changed."""
        return self

    def block_until_ready(self) -> Self:
        """The array, once it is computed."""
        return self

    def __round__(self, ndigits: int | None = None) -> Self:
        return self.round(0 if ndigits is None else ndigits)

    def __divmod__(self, other: ArrayLike) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: ArrayLike) -> tuple[Self, Self]:
        return self.__rfloordiv__(other), self.__rmod__(other)


# Python's operators and the methods of arrays, for every kind of tensor.

P = ParamSpec("P")


class ArrayOperators(ArrayProtocols):
    """Operators and methods of arrays, each an array function applied by the subclass."""

    __slots__ = ()
    __array_priority__ = 1000  # operators with NumPy arrays call our methods

    precedence: int = 0
    """If operands have several kinds, the one of highest precedence applies the array function."""

    @property
    @abstractmethod
    def meta(self) -> TensorMeta:
        """Dtype and extents."""

    @abstractmethod
    def _apply(
        self,
        function: Callable[Concatenate[Emitter[Any], P], Any],
        *operands: P.args,
        **options: P.kwargs,
    ) -> Self:
        """Apply an array function; NotImplemented if an operand has higher precedence."""

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.meta.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.meta.rank

    @property
    def T(self) -> Self:  # noqa: N802  # NumPy's name
        """The axes in reverse order."""
        return self._apply(manipulation.permute_dims, self)

    @property
    def mT(self) -> Self:  # noqa: N802
        """The last two axes exchanged."""
        return self._apply(manipulation.matrix_transpose, self)

    @property
    def real(self) -> Self:
        """Real part."""
        return self._apply(elementwise.real, self)

    @property
    def imag(self) -> Self:
        """Imaginary part."""
        return self._apply(elementwise.imag, self)

    def conj(self) -> Self:
        """Complex conjugate."""
        return self._apply(elementwise.conj, self)

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Self:
        """The values in another dtype; the conversion may lose information.

        An array cannot be changed, so `copy` says only whether an equal dtype gives a new object.
        """
        if not copy and self.dtype == as_dtype(dtype):
            return self
        return self._apply(elementwise.astype, self, dtype=as_dtype(dtype))

    def reshape(self, *shape: Shape, order: Order = "C") -> Self:
        """The elements in another shape; a size of -1 is inferred."""
        target = cast(Shape, shape[0] if len(shape) == 1 else shape)
        return self._apply(manipulation.reshape, self, shape=target, order=order)

    def transpose(self, *axes: int | Sequence[int] | None) -> Self:
        """The axes in the order `axes`; reversed if there are none."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self._apply(
            manipulation.permute_dims, self, axes=cast("Sequence[int]", order) or None
        )

    def ravel(self, order: Order = "C") -> Self:
        """All elements along one axis."""
        return self._apply(manipulation.ravel, self, order=order)

    def sum(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Self:
        """Sum over `axis`, computed in `dtype` if given; `initial` and `where` as of NumPy."""
        x = self if dtype is None else self.astype(dtype)
        if out is initial is where is None:
            return x._apply(reductions.sum, x, axis=axis, keepdims=keepdims)
        return x._reduced(reductions.sum, out, initial, where, axis=axis, keepdims=keepdims)

    def prod(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Self:
        """Product over `axis`, computed in `dtype` if given; options as of `sum`."""
        x = self if dtype is None else self.astype(dtype)
        if out is initial is where is None:
            return x._apply(reductions.prod, x, axis=axis, keepdims=keepdims)
        return x._reduced(reductions.prod, out, initial, where, axis=axis, keepdims=keepdims)

    def mean(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Self:
        """Mean over `axis`, computed in `dtype` if given, of the elements where a mask holds."""
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return self._reduced(reductions.mean, out, None, where, **options)

    def max(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Self:
        """Largest element over `axis`, and of `initial`; of those where a mask holds."""
        if out is initial is where is None:
            return self._apply(reductions.max, self, axis=axis, keepdims=keepdims)
        return self._reduced(reductions.max, out, initial, where, axis=axis, keepdims=keepdims)

    def min(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Self:
        """Smallest element over `axis`, and of `initial`; of those where a mask holds."""
        if out is initial is where is None:
            return self._apply(reductions.min, self, axis=axis, keepdims=keepdims)
        return self._reduced(reductions.min, out, initial, where, axis=axis, keepdims=keepdims)

    def any(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Self:
        """Whether any element over `axis` is nonzero; of those where a mask holds."""
        if out is where is None:
            return self._apply(reductions.any, self, axis=axis, keepdims=keepdims)
        return self._reduced(reductions.any, out, None, where, axis=axis, keepdims=keepdims)

    def all(
        self,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Self:
        """Whether all elements over `axis` are nonzero; of those where a mask holds."""
        if out is where is None:
            return self._apply(reductions.all, self, axis=axis, keepdims=keepdims)
        return self._reduced(reductions.all, out, None, where, axis=axis, keepdims=keepdims)

    def var(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        correction: float | None = None,
        mean: None = None,
    ) -> Self:
        """Mean of |x - mean|² over `axis`; `ddof`, or `correction`, lowers the divisor."""
        _refuse_mean("var", mean)
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return self._reduced(
            reductions.var, out, None, where, correction=correction, ddof=ddof, **options
        )

    def std(
        self,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        correction: float | None = None,
        mean: None = None,
    ) -> Self:
        """Root of the variance over `axis`; options as of `var`."""
        _refuse_mean("std", mean)
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return self._reduced(
            reductions.std, out, None, where, correction=correction, ddof=ddof, **options
        )

    def _reduced(
        self, function: Callable[..., Any], out: object, initial: Any, where: Any, **options: Any
    ) -> Self:
        """A reduction; of those elements where a mask holds, and of an initial value.

        The most used reductions without either do not come here: a call less on the quick path.
        """
        if out is None and initial is None and where is None:
            return self._apply(function, self, **options)
        name = function.__name__
        _check_new(name, out)
        others = [each for each in (where, initial) if each is not None]
        reduction = reductions.Masked(name, where is not None, initial is not None)
        return cast(Self, apply_where(reduction, self, *others, **options))

    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Self:
        """Cumulative sums along `axis`; of the flattened array if None."""
        _check_new("cumsum", out)
        return self._apply(reductions.cumsum, self, axis=axis, dtype=dtype)

    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Self:
        """Cumulative products along `axis`; of the flattened array if None."""
        _check_new("cumprod", out)
        return self._apply(reductions.cumprod, self, axis=axis, dtype=dtype)

    def round(self, decimals: int = 0, out: None = None) -> Self:
        """The elements rounded to `decimals` decimals."""
        _check_new("round", out)
        return self._apply(elementwise.round, self, decimals=decimals)

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Two axes exchanged."""
        return self._apply(manipulation.swapaxes, self, axis1=axis1, axis2=axis2)

    def squeeze(self, axis: Axis = None) -> Self:
        """The array without `axis`, of size 1; without all axes of size 1 if None."""
        return self._apply(manipulation.squeeze, self, axis=axis)

    def dot(self, other: ArrayLike) -> AnyTensor:
        """The product `numpy.dot` of the two arrays."""
        return apply_where(products.dot, self, other)

    def clip(
        self, min: ArrayLike | None = None, max: ArrayLike | None = None, out: None = None
    ) -> AnyTensor:
        """The elements clamped between `min` and `max`, either of which may be absent."""
        _check_new("clip", out)
        if min is not None and max is not None:
            return apply_where(elementwise.clamp, self, min, max)
        if max is not None:
            return apply_where(elementwise.minimum, self, max)
        return cast(AnyTensor, self) if min is None else apply_where(elementwise.maximum, self, min)

    def flatten(self, order: Order = "C") -> Self:
        """All elements along one axis; as `ravel`."""
        return self.ravel(order)

    def sort(self, axis: int = -1) -> Self:
        """The elements along `axis` in ascending order, as a new array."""
        return self._apply(reductions.sort, self, axis=axis)

    def trace(self, offset: int = 0) -> Self:
        """The sum along a diagonal of the first two axes."""
        return self._apply(products.trace, self, offset=offset)

    @property
    def at(self) -> At:
        """Elements to change: `x.at[i].set(v)`, `x.at[i].add(v)`, … return a changed copy of x."""
        return At(cast(AnyTensor, self))

    def argmax(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Self:
        """The index of the largest element along `axis`; of the flattened array if None."""
        _check_new("argmax", out)
        return self._apply(reductions.argmax, self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Self:
        """The index of the smallest element along `axis`; of the flattened array if None."""
        _check_new("argmin", out)
        return self._apply(reductions.argmin, self, axis=axis, keepdims=keepdims)

    def argsort(self, axis: int = -1) -> Self:
        """The indices that sort the elements along `axis`."""
        return self._apply(reductions.argsort, self, axis=axis)

    def __getitem__(self, indices: Index) -> Self:
        expression = indexing.parse(indices, self.meta)
        if not expression.arrays:
            return self._apply(indexing.index, self, items=expression.items)
        picked = apply_where(
            indexing.index,
            self,
            *expression.arrays,
            items=expression.items,
            counted=expression.counted,
        )
        return cast(Self, picked)

    def __setitem__(self, indices: Index, values: ArrayLike) -> None:
        raise DTypeError(
            f"x[...] = values: {self.meta} cannot be changed; make a changed copy with "
            "x = x.at[...].set(values)"
        )

    def __add__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.add, self, other)

    def __radd__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.add, other, self)

    def __sub__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.subtract, self, other)

    def __rsub__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.subtract, other, self)

    def __mul__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.multiply, self, other)

    def __rmul__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.multiply, other, self)

    def __truediv__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.divide, self, other)

    def __rtruediv__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.divide, other, self)

    def __floordiv__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.floor_divide, self, other)

    def __rfloordiv__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.floor_divide, other, self)

    def __mod__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.remainder, self, other)

    def __rmod__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.remainder, other, self)

    def __pow__(self, other: ArrayLike) -> Self:
        other = int(other) if isinstance(other, np.integer) else other
        return self._apply(elementwise.pow, self, other)

    def __rpow__(self, other: ArrayLike) -> Self:
        return self._apply(elementwise.pow, other, self)

    def __matmul__(self, other: ArrayLike) -> Self:
        return self._apply(products.matmul, self, other)

    def __rmatmul__(self, other: ArrayLike) -> Self:
        return self._apply(products.matmul, other, self)

    def __neg__(self) -> Self:
        return self._apply(elementwise.negative, self)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._apply(elementwise.abs, self)

    def __invert__(self) -> Self:
        return self._apply(logical.bitwise_invert, self)

    def __and__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_and, self, other)

    def __rand__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_and, other, self)

    def __or__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_or, self, other)

    def __ror__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_or, other, self)

    def __xor__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_xor, self, other)

    def __rxor__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_xor, other, self)

    def __lshift__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_left_shift, self, other)

    def __rlshift__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_left_shift, other, self)

    def __rshift__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_right_shift, self, other)

    def __rrshift__(self, other: ArrayLike) -> Self:
        return self._apply(logical.bitwise_right_shift, other, self)

    def __eq__(self, other: object) -> Self:  # type: ignore[override]  # arrays compare elementwise
        return self._apply(logical.equal, self, other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._apply(logical.not_equal, self, other)

    def __lt__(self, other: ArrayLike) -> Self:
        return self._apply(logical.less, self, other)

    def __le__(self, other: ArrayLike) -> Self:
        return self._apply(logical.less_equal, self, other)

    def __gt__(self, other: ArrayLike) -> Self:
        return self._apply(logical.greater, self, other)

    def __ge__(self, other: ArrayLike) -> Self:
        return self._apply(logical.greater_equal, self, other)

    __hash__ = None  # type: ignore[assignment]  # `==` is elementwise


def _check_new(name: str, out: object) -> None:
    """Refuse an array to write to: results are new arrays.

    Raises:
        DTypeError: there is one.
    """
    if out is not None:
        raise DTypeError(
            f"{name}: out= must be None: the result is a new array; arrays cannot be written to"
        )


def _refuse_mean(name: str, mean: object) -> None:
    """Refuse the mean that NumPy's variance takes.

    Raises:
        DTypeError: there is one.
    """
    if mean is not None:
        raise DTypeError(f"{name}: mean= is not taken: the mean is that of the array")


# Values of an emitter with the operators of arrays, for formulas of derivative rules.


class Expression(ArrayOperators):
    """A value of an emitter. Operators and methods emit ops.

    >>> from tenferro.core import KeyEmitter
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
        return apply(function, *operands, emitter=self.emitter, **options)  # type: ignore[return-value]

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
) -> Expression:
    """The result of an array function of expressions and numbers.

    At least one operand is an expression, unless the emitter is given.
    """
    at = emitter or next(each.emitter for each in operands if isinstance(each, Expression))
    values = [operand.value if isinstance(operand, Expression) else operand for operand in operands]
    result = function(at, *values, **options)
    if isinstance(result, tuple):
        return tuple(Expression(at, value) for value in result)  # type: ignore[return-value]
    return Expression(at, result)
