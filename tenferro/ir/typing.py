"""The types of public signatures, which `tenferro.typing` names for users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    overload,
)

import numpy as np

from tenferro.ir.dims import Dim, DimExpr
from tenferro.ir.dtypes import DType
from tenferro.ir.types import TensorMeta

if TYPE_CHECKING:  # checkers read `tn.Array`, two classes for `isinstance`, as `AnyTensor`
    from typing import runtime_checkable as _checkable
else:

    def _checkable(protocol: type) -> type:
        return protocol


__all__ = [
    "AnyTensor",
    "Array",
    "ArrayLike",
    "ArrayMethods",
    "Axis",
    "DTypeLike",
    "Elements",
    "ElementsAt",
    "Index",
    "Integers",
    "NestedSequence",
    "Number",
    "Order",
    "PyTree",
    "Shape",
    "Size",
    "SupportsArray",
    "SupportsDLPack",
    "SupportsDType",
]


# The types of dtypes, shapes and axes, and of objects that other libraries' arrays are.

Number: TypeAlias = bool | int | float | complex
"""A Python number. Its dtype is weak: with an array, the dtype of the array wins."""

Axis: TypeAlias = int | Sequence[int] | None
"""One axis or several, negative ones counted from the end; each function defines None."""

Size: TypeAlias = int | str | DimExpr
"""The size of an axis: a number, or in a traced program text such as `"n"` or `"2*n + 1"`."""

Shape: TypeAlias = Size | Sequence[Size]
"""The size of each axis, or the size of a single axis."""


class SupportsDType(Protocol):
    """An object that stands for its `dtype`, such as `tn.float32` or `jax.numpy.float32`."""

    @property
    def dtype(self) -> DType:
        """Element type."""


DTypeLike: TypeAlias = DType | type[bool | int | float | complex | np.generic] | str | SupportsDType
"""An element type such as `tn.float32`, `np.float32` or `float`, or its name, such as `"f32"`."""

Integers: TypeAlias = int | Sequence[int] | np.integer | np.ndarray[Any, np.dtype[np.integer]]
"""One integer or several."""

Order: TypeAlias = Literal["C", "F"]
"""Order of elements: the last axis varies fastest (`"C"`) or the first (`"F"`)."""


class SupportsArray(Protocol):
    """An object that NumPy converts to an array, such as an array of another library.

    `tn.asarray` takes all of these; other functions take arrays of NumPy and JAX.
    """

    def __array__(self) -> np.ndarray[Any, Any]: ...


class SupportsDLPack(Protocol):
    """An object that exports its elements by the DLPack protocol."""

    def __dlpack__(self) -> object: ...


# The types of public signatures, for annotations of your own functions.

PyTree: TypeAlias = Any
"""A tree of arrays: an array; None; or a dict, list, tuple, named tuple or dataclass of trees."""

Operand_contra = TypeVar("Operand_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class NestedSequence(Protocol):
    """A list or tuple of arrays, numbers and further lists.

    `str` does not conform: `__contains__` of a list takes any object, that of `str` only text.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> ArrayLike: ...
    def __contains__(self, value: object, /) -> bool: ...

    @property
    def count(self) -> object:
        """A method that counts the items equal to a value."""


class ArrayMethods(Protocol[Operand_contra, Result_co]):
    """The operators and methods that all kinds of array have.

    The other operand of an operator is `Operand_contra`; operators and methods return `Result_co`.
    """

    @property
    def dtype(self) -> DType:
        """Element type."""

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Size of each axis: a number, or while tracing also an expression of names."""

    @property
    def ndim(self) -> int:
        """Number of axes."""

    @property
    def size(self) -> Dim:
        """Number of elements."""

    @property
    def T(self) -> Result_co:  # noqa: N802  # NumPy's name
        """The axes in reverse order."""

    @property
    def mT(self) -> Result_co:  # noqa: N802
        """The last two axes exchanged."""

    def conj(self) -> Result_co:
        """Complex conjugate."""

    def astype(self, dtype: DTypeLike, /) -> Result_co:
        """The values in another dtype; the conversion may lose information."""

    @overload
    def reshape(self, size: int, /, *sizes: int) -> Result_co: ...
    @overload
    def reshape(self, shape: Sequence[int], /) -> Result_co: ...

    @overload
    def transpose(self, axes: Sequence[int], /) -> Result_co: ...
    @overload
    def transpose(self, *axes: int) -> Result_co: ...

    def ravel(self) -> Result_co:
        """All elements along one axis."""

    def flatten(self) -> Result_co:
        """All elements along one axis; as `ravel`."""

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Result_co:
        """Sum over `axis`."""

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Result_co:
        """Product over `axis`."""

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Result_co:
        """Mean over `axis`."""

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Result_co:
        """Largest element over `axis`."""

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Result_co:
        """Smallest element over `axis`."""

    def var(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Result_co:
        """Mean of |x - mean|² over `axis`; `ddof` lowers the divisor."""

    def std(self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> Result_co:
        """Root of the variance over `axis`."""

    @overload  # as NumPy's own types have it from 2.5 on
    def cumsum(self, axis: None = None) -> Result_co: ...
    @overload
    def cumsum(self, axis: int) -> Result_co: ...

    @overload
    def cumprod(self, axis: None = None) -> Result_co: ...
    @overload
    def cumprod(self, axis: int) -> Result_co: ...

    def argsort(self, axis: int = -1) -> Result_co:
        """The indices that sort the elements along `axis`."""

    def round(self, decimals: int = 0) -> Result_co:
        """The elements rounded to `decimals` decimals."""

    def swapaxes(self, axis1: int, axis2: int, /) -> Result_co:
        """Two axes exchanged."""

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Result_co:
        """The array without `axis`, of size 1; without all axes of size 1 if None."""

    def trace(self, offset: int = 0) -> Result_co:
        """The sum along a diagonal of the first two axes."""

    def dot(self, other: Operand_contra, /) -> Result_co:
        """The product `numpy.dot` of the two arrays."""

    def item(self) -> Any:
        """The only element, as the Python number that matches the dtype."""

    def tolist(self) -> Any:
        """The elements as Python numbers in lists, nested to a depth of `ndim`."""

    def __getitem__(self, indices: Index, /) -> Result_co: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Result_co]: ...
    def __array__(self) -> np.ndarray[Any, Any]: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __neg__(self) -> Result_co: ...
    def __pos__(self) -> Result_co: ...
    def __abs__(self) -> Result_co: ...
    def __add__(self, other: Operand_contra, /) -> Result_co: ...
    def __radd__(self, other: Operand_contra, /) -> Result_co: ...
    def __sub__(self, other: Operand_contra, /) -> Result_co: ...
    def __rsub__(self, other: Operand_contra, /) -> Result_co: ...
    def __mul__(self, other: Operand_contra, /) -> Result_co: ...
    def __rmul__(self, other: Operand_contra, /) -> Result_co: ...
    def __truediv__(self, other: Operand_contra, /) -> Result_co: ...
    def __rtruediv__(self, other: Operand_contra, /) -> Result_co: ...
    def __floordiv__(self, other: Operand_contra, /) -> Result_co: ...
    def __rfloordiv__(self, other: Operand_contra, /) -> Result_co: ...
    def __mod__(self, other: Operand_contra, /) -> Result_co: ...
    def __rmod__(self, other: Operand_contra, /) -> Result_co: ...
    def __pow__(self, other: Operand_contra, /) -> Result_co: ...
    def __rpow__(self, other: Operand_contra, /) -> Result_co: ...
    def __matmul__(self, other: Operand_contra, /) -> Result_co: ...
    def __rmatmul__(self, other: Operand_contra, /) -> Result_co: ...
    def __and__(self, other: Operand_contra, /) -> Result_co: ...
    def __rand__(self, other: Operand_contra, /) -> Result_co: ...
    def __or__(self, other: Operand_contra, /) -> Result_co: ...
    def __ror__(self, other: Operand_contra, /) -> Result_co: ...
    def __xor__(self, other: Operand_contra, /) -> Result_co: ...
    def __rxor__(self, other: Operand_contra, /) -> Result_co: ...
    def __lshift__(self, other: Operand_contra, /) -> Result_co: ...
    def __rlshift__(self, other: Operand_contra, /) -> Result_co: ...
    def __rshift__(self, other: Operand_contra, /) -> Result_co: ...
    def __rrshift__(self, other: Operand_contra, /) -> Result_co: ...
    def __eq__(self, other: object, /) -> Result_co: ...  # type: ignore[override]  # elementwise
    def __ne__(self, other: object, /) -> Result_co: ...  # type: ignore[override]
    def __lt__(self, other: Operand_contra, /) -> Result_co: ...
    def __le__(self, other: Operand_contra, /) -> Result_co: ...
    def __gt__(self, other: Operand_contra, /) -> Result_co: ...
    def __ge__(self, other: Operand_contra, /) -> Result_co: ...


# Operators take `Any`, since the operands of NumPy's operators depend on the dtype. Methods return
# a union: if they returned `Array`, checkers would compare its methods with all overloads of
# NumPy's for each dtype that these return; mypy takes ten seconds and pyright does not terminate.
class Array(ArrayMethods[Any, "AnyTensor | np.ndarray[Any, Any]"], Protocol):
    """An array of any of the four kinds: `Tensor`, `TracedTensor`, `EagerTensor` or NumPy's.

    It annotates parameters of functions that use methods and operators and also take NumPy arrays.
    """

    # From 2.5 on NumPy has an overload for each kind of `axis` and `keepdims`, so that a union fits
    # none of them. Some give a scalar of the array's own type.
    def sum(self, axis: Any = None, *, keepdims: Any = False) -> AnyTensor | np.ndarray[Any, Any]:
        """Sum over `axis`."""

    def prod(self, axis: Any = None, *, keepdims: Any = False) -> AnyTensor | np.ndarray[Any, Any]:
        """Product over `axis`."""

    def mean(self, axis: Any = None, *, keepdims: Any = False) -> AnyTensor | np.ndarray[Any, Any]:
        """Mean over `axis`."""

    def max(self, axis: Any = None, *, keepdims: Any = False) -> Any:
        """Largest element over `axis`."""

    def min(self, axis: Any = None, *, keepdims: Any = False) -> Any:
        """Smallest element over `axis`."""

    def var(self, axis: Any = None, *, ddof: float = 0, keepdims: Any = False) -> Any:
        """Mean of |x - mean|² over `axis`; `ddof` lowers the divisor."""

    def std(self, axis: Any = None, *, ddof: float = 0, keepdims: Any = False) -> Any:
        """Root of the variance over `axis`."""


@_checkable
class AnyTensor(ArrayMethods["ArrayLike", "AnyTensor"], Protocol):
    """A `Tensor`, `TracedTensor` or `EagerTensor`; the result of an array function.

    `isinstance(x, tn.Tensor)` tells a type checker that x is a concrete tensor.
    """

    @property
    def meta(self) -> TensorMeta:
        """Dtype and extents."""

    @property
    def real(self) -> AnyTensor:
        """Real part."""

    @property
    def imag(self) -> AnyTensor:
        """Imaginary part."""

    @property
    def at(self) -> ElementsAt:
        """Elements to change: `x.at[i].set(v)`, `x.at[i].add(v)`, … return a changed copy of x."""

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array; a traced tensor raises TracingError."""

    @property
    def device(self) -> str | None:
        """Where the elements are: `"host"` or a device's name; None for a traced tensor."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""

    @property
    def nbytes(self) -> Dim:
        """Bytes of all elements."""

    def to_device(self, device: Any, *, stream: None = None) -> AnyTensor:
        """The array on a device, named as `device` names it."""

    def copy(self) -> AnyTensor:
        """The array, of memory of its own if it has memory."""

    def block_until_ready(self) -> AnyTensor:
        """The array, once it is computed."""

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> AnyTensor:
        """The values in another dtype; the conversion may lose information."""

    def reshape(self, *shape: Shape, order: Order = "C") -> AnyTensor:
        """The elements in another shape; a size of -1 is inferred."""

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
        """Whether any element over `axis` is nonzero."""

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
        """Whether all elements over `axis` are nonzero."""

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
        """The index of the largest element along `axis`; of the flattened array if None."""

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
        """The index of the smallest element along `axis`; of the flattened array if None."""

    def sort(self, axis: int = -1) -> AnyTensor:
        """The elements along `axis` in ascending order, as a new array."""

    def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> AnyTensor:
        """The elements clamped between `min` and `max`, either of which may be absent."""

    def __index__(self) -> int: ...
    def __invert__(self) -> AnyTensor: ...


class ElementsAt(Protocol):
    """The type of `x.at`."""

    def __getitem__(self, indices: Index, /) -> Elements: ...


class Elements(Protocol):
    """The type of `x.at[...]`: some elements, to read or change. Methods return a new array."""

    def get(self, *, mode: str | None = None, fill_value: complex | None = None) -> AnyTensor:
        """The elements themselves, as `x[...]`."""

    def set(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with the elements replaced."""

    def add(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with values added to the elements."""

    def subtract(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with values subtracted from the elements."""

    def multiply(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with the elements multiplied by values."""

    def mul(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """As `multiply`."""

    def divide(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with the elements divided by values."""

    def power(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with the elements to the power of values."""

    def min(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with each element replaced by the smaller of it and the value; NaN wins."""

    def max(self, values: ArrayLike, /, *, mode: str | None = None) -> AnyTensor:
        """The array with each element replaced by the larger of it and the value; NaN wins."""

    def apply(
        self, ufunc: Callable[[AnyTensor], ArrayLike], /, *, mode: str | None = None
    ) -> AnyTensor:
        """The array with the elements replaced by what a function makes of them."""


ArrayLike: TypeAlias = Number | DimExpr | SupportsArray | SupportsDLPack | NestedSequence
"""The operands of array functions: arrays, numbers, symbolic sizes, lists and tuples of them."""

_Item: TypeAlias = (
    SupportsIndex | slice | EllipsisType | Sequence[int] | Sequence[Sequence[int]] | Array | None
)
Index: TypeAlias = _Item | tuple[_Item, ...]
"""The index of `x[...]`."""
