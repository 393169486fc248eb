"""Operators and methods of all tensors; formulas written with them."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

import numpy as np

from tenferro.core import Emitter, PrimitiveOp, V
from tenferro.errors import ConfigError, DTypeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Index,
    Number,
    Order,
    Shape,
    TensorMeta,
    as_dtype,
    dtype_kind,
)
from tenferro.ops import Constant, StdTensorOp, load_named
from tenferro.ops.functions import (
    elementwise,
    indexing,
    logical,
    manipulation,
    products,
    reductions,
)
from tenferro.ops.functions.dispatch import (
    apply_method,
    emit_all,
    emitter_of_body,
    enter_kind,
    outside,
    refuse_out,
    run_body,
    with_optional,
)
from tenferro.ops.functions.named_methods import NamedMethods
from tenferro.ops.functions.promotion import is_number
from tenferro.ops.functions.updates import At

__all__ = [
    "ArrayOperators",
    "Expression",
    "OnValues",
    "OpFunction",
    "emit_function",
    "expressions",
    "values_of",
]


VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the array API standard whose names `tenferro` has; the last one is followed."""


# The bodies of array functions are attributes that their types do not show.
_elementwise: Any = elementwise
_logical: Any = logical
_manipulation: Any = manipulation
_products: Any = products
_reductions: Any = reductions


S = TypeVar("S", bound="ArrayOperators")


def _operators(function: Any) -> tuple[Callable[[S, ArrayLike], S], Callable[[S, ArrayLike], S]]:
    """An operator of two operands, and the one for a right operand."""
    body = function.body

    def operator(self: S, other: ArrayLike) -> S:
        return self._apply(body, (self, other), {}, True)

    def reflected(self: S, other: ArrayLike) -> S:
        return self._apply(body, (other, self), {}, True)

    return operator, reflected


@dataclass(frozen=True)
class Flags:
    """What `flags` of NumPy's arrays says of the memory, for arrays that cannot be changed.

    As in NumPy, `flags.c_contiguous`, `flags["C_CONTIGUOUS"]` and `flags["C"]` are one.
    """

    f_contiguous: bool
    c_contiguous: bool = True
    writeable: bool = False
    owndata: bool = False
    aligned: bool = True

    @property
    def contiguous(self) -> bool:
        """NumPy's other name of `c_contiguous`."""
        return self.c_contiguous

    @property
    def fortran(self) -> bool:
        """NumPy's other name of `f_contiguous`."""
        return self.f_contiguous

    def __getitem__(self, name: str) -> bool:
        name = _FLAGS.get(name, name)
        if not isinstance(name, str) or not name.isupper() or not hasattr(self, name.lower()):
            raise ConfigError(f"flags: there is no flag {name!r}")
        flag: bool = getattr(self, name.lower())
        return flag


_FLAGS = {
    "C": "C_CONTIGUOUS",
    "F": "F_CONTIGUOUS",
    "W": "WRITEABLE",
    "O": "OWNDATA",
    "A": "ALIGNED",
}


class ArrayOperators(NamedMethods):
    """Operators and methods of arrays, each an array function."""

    __slots__ = ()
    __array_priority__ = 1000  # operators with NumPy arrays call our methods

    if TYPE_CHECKING:

        def _apply(
            self,
            function: Callable[..., Any],
            operands: tuple[Any, ...],
            options: dict[str, Any],
            operator: bool,
        ) -> Self:
            """How tensors of the class are computed with; see `OperandKind.apply`."""

    @property
    @abstractmethod
    def meta(self) -> TensorMeta:
        """Dtype and extents."""

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
        return self._apply(_manipulation.permute_dims.body, (self,), {}, True)

    @property
    def mT(self) -> Self:  # noqa: N802
        """The last two axes exchanged."""
        return self._apply(_manipulation.matrix_transpose.body, (self,), {}, True)

    @property
    def real(self) -> Self:
        """Real part."""
        return self._apply(_elementwise.real.body, (self,), {}, True)

    @property
    def imag(self) -> Self:
        """Imaginary part."""
        return self._apply(_elementwise.imag.body, (self,), {}, True)

    def conj(self) -> Self:
        """Complex conjugate."""
        return self._apply(_elementwise.conj.body, (self,), {}, True)

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Self:
        """The values in another dtype; the conversion may lose information.

        An array cannot be changed, so `copy` says only whether an equal dtype gives a new object.
        """
        if not copy and self.dtype == as_dtype(dtype):
            return self
        return self._apply(elementwise.astype, (self,), {"dtype": as_dtype(dtype)}, True)

    def reshape(self, *shape: Shape, order: Order = "C") -> Self:
        """The elements in another shape; a size of -1 is inferred."""
        target = cast(Shape, shape[0] if len(shape) == 1 else shape)
        return self._apply(
            _manipulation.reshape.body, (self,), {"shape": target, "order": order}, True
        )

    def transpose(self, *axes: int | Sequence[int] | None) -> Self:
        """The axes in the order `axes`; reversed if there are none."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self._apply(
            _manipulation.permute_dims.body,
            (self,),
            {"axes": cast("Sequence[int]", order) or None},
            True,
        )

    def ravel(self, order: Order = "C") -> Self:
        """All elements along one axis."""
        return self._apply(_manipulation.ravel.body, (self,), {"order": order}, True)

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
        if dtype is out is initial is where is None:
            return self._apply(
                _reductions.sum.body, (self,), {"axis": axis, "keepdims": keepdims}, True
            )
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return self._reduced(reductions.sum, out, {"initial": initial, "where": where}, **options)

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
        if dtype is out is initial is where is None:
            return self._apply(
                _reductions.prod.body, (self,), {"axis": axis, "keepdims": keepdims}, True
            )
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return self._reduced(reductions.prod, out, {"initial": initial, "where": where}, **options)

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
        return self._reduced(reductions.mean, out, {"where": where}, **options)

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
            return self._apply(
                _reductions.max.body, (self,), {"axis": axis, "keepdims": keepdims}, True
            )
        return self._reduced(
            reductions.max, out, {"initial": initial, "where": where}, axis=axis, keepdims=keepdims
        )

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
            return self._apply(
                _reductions.min.body, (self,), {"axis": axis, "keepdims": keepdims}, True
            )
        return self._reduced(
            reductions.min, out, {"initial": initial, "where": where}, axis=axis, keepdims=keepdims
        )

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
            return self._apply(
                _reductions.any.body, (self,), {"axis": axis, "keepdims": keepdims}, True
            )
        return self._reduced(reductions.any, out, {"where": where}, axis=axis, keepdims=keepdims)

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
            return self._apply(
                _reductions.all.body, (self,), {"axis": axis, "keepdims": keepdims}, True
            )
        return self._reduced(reductions.all, out, {"where": where}, axis=axis, keepdims=keepdims)

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
        mean: ArrayLike | None = None,
    ) -> Self:
        """Mean of |x - mean|² over `axis`; `ddof`, or `correction`, lowers the divisor."""
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return self._reduced(
            reductions.var,
            out,
            {"where": where, "mean": mean},
            correction=correction,
            ddof=ddof,
            **options,
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
        mean: ArrayLike | None = None,
    ) -> Self:
        """Root of the variance over `axis`; options as of `var`."""
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims}
        return self._reduced(
            reductions.std,
            out,
            {"where": where, "mean": mean},
            correction=correction,
            ddof=ddof,
            **options,
        )

    def _reduced(
        self, function: Callable[..., Any], out: object, optional: dict[str, Any], **options: Any
    ) -> Self:
        """A reduction; of those elements where a mask holds, and of an initial value.

        The most used reductions without either do not come here: a call less on the quick path.
        """
        body: Any = getattr(function, "body", function)
        refuse_out(body.__name__, out)
        return self._apply(
            *with_optional(body, tuple(optional), (self,), {**options, **optional}), True
        )

    def cumsum(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Self:
        """Cumulative sums along `axis`; of the flattened array if None."""
        refuse_out("cumsum", out)
        return self._apply(_reductions.cumsum.body, (self,), {"axis": axis, "dtype": dtype}, True)

    def cumprod(
        self, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
    ) -> Self:
        """Cumulative products along `axis`; of the flattened array if None."""
        refuse_out("cumprod", out)
        return self._apply(_reductions.cumprod.body, (self,), {"axis": axis, "dtype": dtype}, True)

    def round(self, decimals: int = 0, out: None = None) -> Self:
        """The elements rounded to `decimals` decimals."""
        refuse_out("round", out)
        return self._apply(_elementwise.round.body, (self,), {"decimals": decimals}, True)

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """Two axes exchanged."""
        return self._apply(
            _manipulation.swapaxes.body, (self,), {"axis1": axis1, "axis2": axis2}, True
        )

    def squeeze(self, axis: Axis = None) -> Self:
        """The array without `axis`, of size 1; without all axes of size 1 if None."""
        return self._apply(_manipulation.squeeze.body, (self,), {"axis": axis}, True)

    def dot(
        self,
        b: ArrayLike,
        *,
        precision: object = None,
        preferred_element_type: DTypeLike | None = None,
    ) -> AnyTensor:
        """The product `numpy.dot` of the two arrays; options as of `tn.dot`."""
        options = {"precision": precision, "preferred_element_type": preferred_element_type}
        return apply_method(products.dot, self, b, **options)

    def clip(
        self, min: ArrayLike | None = None, max: ArrayLike | None = None, out: None = None
    ) -> AnyTensor:
        """The elements clamped between `min` and `max`, either of which may be absent."""
        refuse_out("clip", out)
        if min is not None and max is not None:
            return apply_method(elementwise.clamp, self, min, max)
        if max is not None:
            return apply_method(elementwise.minimum, self, max)
        return (
            cast(AnyTensor, self) if min is None else apply_method(elementwise.maximum, self, min)
        )

    def flatten(self, order: Order = "C") -> Self:
        """All elements along one axis; as `ravel`."""
        return self.ravel(order)

    def sort(
        self,
        axis: int | None = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = True,
        descending: bool = False,
    ) -> Self:
        """The elements along `axis` in order, as a new array; see `tn.sort`."""
        options = {"axis": axis, "kind": kind, "order": order, "descending": descending}
        return self._apply(_reductions.sort.body, (self,), options, True)

    def trace(self, offset: int = 0) -> Self:
        """The sum along a diagonal of the first two axes."""
        return self._apply(_products.trace.body, (self,), {"offset": offset}, True)

    @property
    def at(self) -> At:
        """Elements to change: `x.at[i].set(v)`, `x.at[i].add(v)`, … return a changed copy of x."""
        return At(cast(AnyTensor, self))

    def argmax(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Self:
        """The index of the largest element along `axis`; of the flattened array if None."""
        refuse_out("argmax", out)
        return self._apply(
            _reductions.argmax.body, (self,), {"axis": axis, "keepdims": keepdims}, True
        )

    def argmin(self, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Self:
        """The index of the smallest element along `axis`; of the flattened array if None."""
        refuse_out("argmin", out)
        return self._apply(
            _reductions.argmin.body, (self,), {"axis": axis, "keepdims": keepdims}, True
        )

    def argsort(
        self,
        axis: int | None = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = True,
        descending: bool = False,
    ) -> Self:
        """The indices that sort the elements along `axis`; see `tn.argsort`."""
        options = {"axis": axis, "kind": kind, "order": order, "descending": descending}
        return self._apply(_reductions.argsort.body, (self,), options, True)

    def __getitem__(self, indices: Index) -> Self:
        expression = indexing.parse(indices, self.meta)
        if not expression.arrays:
            return self._apply(indexing.index, (self,), {"items": expression.items}, True)
        picked: AnyTensor = apply_method(
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

    __add__, __radd__ = _operators(elementwise.add)
    __sub__, __rsub__ = _operators(elementwise.subtract)
    __mul__, __rmul__ = _operators(elementwise.multiply)
    __truediv__, __rtruediv__ = _operators(elementwise.divide)
    __floordiv__, __rfloordiv__ = _operators(elementwise.floor_divide)
    __mod__, __rmod__ = _operators(elementwise.remainder)
    __rpow__ = _operators(elementwise.pow)[1]
    __matmul__, __rmatmul__ = _operators(products.matmul)
    __and__, __rand__ = _operators(logical.bitwise_and)
    __or__, __ror__ = _operators(logical.bitwise_or)
    __xor__, __rxor__ = _operators(logical.bitwise_xor)
    __lshift__, __rlshift__ = _operators(logical.bitwise_left_shift)
    __rshift__, __rrshift__ = _operators(logical.bitwise_right_shift)
    __lt__, __gt__ = _operators(logical.less)[0], _operators(logical.greater)[0]
    __le__, __ge__ = _operators(logical.less_equal)[0], _operators(logical.greater_equal)[0]

    def __eq__(self, other: object) -> Self:  # type: ignore[override]  # arrays compare elementwise
        return self._apply(_logical.equal.body, (self, other), {}, True)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._apply(_logical.not_equal.body, (self, other), {}, True)

    def __contains__(self, item: object) -> bool:
        """Whether an element is equal to a number; `bool` of a traced array asks for values."""
        found: Any = self == item
        if not hasattr(found, "any"):
            raise DTypeError(f"in: {item!r} is not a number, and {self.meta} has nothing else")
        return bool(found.any())

    def __pow__(self, other: ArrayLike) -> Self:
        other = int(other) if isinstance(other, np.integer) else other
        return self._apply(_elementwise.pow.body, (self, other), {}, True)

    def __neg__(self) -> Self:
        return self._apply(_elementwise.negative.body, (self,), {}, True)

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._apply(_elementwise.abs.body, (self,), {}, True)

    def __invert__(self) -> Self:
        return self._apply(_logical.bitwise_invert.body, (self,), {}, True)

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

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any],
        options: dict[str, Any],
    ) -> Any:
        """What a function of NumPy makes of tensors: see `tenferro.numpy.protocols`."""
        if not all(issubclass(each, ArrayOperators | np.ndarray | np.generic) for each in types):
            return NotImplemented
        return load_named("tenferro.numpy.protocols").array_function(function, args, options)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """What a universal function of NumPy makes of tensors: see `tenferro.numpy.protocols`."""
        return load_named("tenferro.numpy.protocols").array_ufunc(ufunc, method, inputs, options)

    @property
    def flags(self) -> Flags:
        """`flags.writeable` is False, as of NumPy's arrays that are read-only: change `x.at`."""
        sizes = self.meta.static_shape
        flat = self.ndim <= 1 if sizes is None else 0 in sizes or sum(n != 1 for n in sizes) <= 1
        return Flags(f_contiguous=flat)

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

    __hash__ = None  # type: ignore[assignment]  # `==` is elementwise


# Expressions: values of an emitter with the operators of arrays.


class Expression(ArrayOperators):
    """A value of an emitter. Operators, methods and array functions emit ops.

    Bodies of array functions and formulas of derivative rules compute on expressions. `weak` is a
    Python number of the value's kind if the value stands for a number, whose dtype yields to that
    of arrays; else None. `value` is None for an expression that only says where to compute.

    >>> from tenferro.core import KeyEmitter
    >>> from tenferro.ops import shape_context
    >>> from tenferro.shape import FLOAT64, fresh_input
    >>> at = KeyEmitter(shape_context())
    >>> x = Expression(at, fresh_input(TensorMeta.of(FLOAT64, (2, 3)), "x"))
    >>> (2 * x).H @ x
    Expression(f64[3,3])
    """

    __slots__ = ("_meta", "emitter", "value", "weak")

    def __init__(self, emitter: Emitter[Any], value: Any, weak: Number | None = None) -> None:
        self.emitter = emitter
        self.value = value
        self.weak = weak
        self._meta: TensorMeta | None = None

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""
        meta = self._meta
        if meta is None:
            meta = self._meta = self.emitter.ctx.meta(self.value)
        return meta

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The sizes, which must be exact."""
        return self.meta.exact_shape()

    @property
    def H(self) -> Self:  # noqa: N802  # the mathematical name
        """The adjoint: the conjugate with the last two axes exchanged."""
        return self.mT.conj() if dtype_kind(self.dtype) == "c" else self.mT

    def emit_all(self, op: PrimitiveOp, *operands: Expression) -> tuple[Expression, ...]:
        """The outputs of an op on this value and others."""
        outputs = self.emitter.emit_all(op, self.value, *[operand.value for operand in operands])
        return tuple(Expression(self.emitter, output) for output in outputs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Always raises: an expression has no elements."""
        raise TypeError(f"{self} has no elements; write the formula with functions of tenferro")

    def __repr__(self) -> str:
        return f"Expression({self.meta})"


def _on_expressions(
    function: Callable[..., Any], operands: Sequence[Any], options: dict[str, Any], operator: bool
) -> Any:
    """What a function of expressions computes: its body, where the first expression is computed.

    Arrays among expressions are constants.
    """
    first = next(each for each in operands if type(each) is Expression)
    at = first.emitter
    expressions = [
        Expression(at, at.emit(Constant(each))) if isinstance(each, np.ndarray) else each
        for each in operands
    ]
    return run_body(first, function, expressions, options)


enter_kind(Expression, 3, _on_expressions)


def emit_function(
    at: Emitter[V], function: Callable[..., Any], /, *operands: V | Number, **options: Any
) -> V:
    """The value that a function of expressions makes of values of an emitter, and of numbers.

    A tuple of values if the function returns several.
    """
    expressions = [
        operand if is_number(operand) or isinstance(operand, DimExpr) else Expression(at, operand)
        for operand in operands
    ]
    result = run_body(Expression(at, None), function, expressions, options)
    if isinstance(result, tuple):
        return tuple([each.value for each in result])  # type: ignore[return-value]
    return result.value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class OnValues:
    """A function of an emitter and its values as a function of expressions.

    Caches treat equal instances as one function.
    """

    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.function.__name__

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """The results as expressions."""
        at = emitter_of_body() if not operands else operands[0].emitter
        with outside():
            result = self.function(at, *[operand.value for operand in operands], **options)
        if isinstance(result, tuple):
            return tuple([Expression(at, value) for value in result])
        return Expression(at, result)


@dataclass(frozen=True)
class OpFunction:
    """An op as an array function: it returns the output, or a tuple of several outputs.

    Caches treat equal instances as one function.
    """

    op: StdTensorOp

    @property
    def __name__(self) -> str:
        """The name of the op in errors."""
        return self.op.family or self.op.name

    def __call__(self, *operands: AnyTensor) -> AnyTensor | tuple[AnyTensor, ...]:
        """Emit the op."""
        outputs = emit_all(self.op, *operands)
        return outputs[0] if len(outputs) == 1 else outputs


def expressions(at: Emitter[Any], values: Sequence[Any]) -> list[Any]:
    """The values as expressions; None stays None."""
    return [None if value is None else Expression(at, value) for value in values]


def values_of(results: Sequence[Any]) -> tuple[Any, ...]:
    """The values of expressions; None stays None."""
    return tuple(None if result is None else result.value for result in results)
