"""Element types, their groups and limits; what a value is; NumPy's options for printing."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tenferro.config import dtype_rules
from tenferro.errors import DTypeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    DType,
    DTypeLike,
    as_dtype,
    common_dtype,
    dtype_kind,
    float_limits,
    is_inexact,
    is_integer,
    is_storage,
    promoted_dtype,
    short_name,
)
from tenferro.numpy.creation import asarray
from tenferro.ops.functions import ArrayOperators, is_number
from tenferro.runtime import Tensor
from tenferro.transforms import TracedTensor

__all__ = [
    "Array",
    "array_repr",
    "array_str",
    "bfloat16",
    "bool",
    "bool_",
    "can_cast",
    "cdouble",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "e",
    "euler_gamma",
    "finfo",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "get_printoptions",
    "iinfo",
    "inexact",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "nan",
    "ndarray",
    "newaxis",
    "number",
    "pi",
    "printoptions",
    "promote_types",
    "result_type",
    "set_printoptions",
    "signedinteger",
    "single",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]


# Element types under the names of the Python array API standard, which can be called.


class ElementType:
    """An element type. `tn.float32(3)` is an array of it; `x.dtype == tn.float32` compares.

    It stands for the NumPy dtype `dtype`, and is taken wherever a dtype is, by NumPy and JAX too.
    It equals that dtype, and all that NumPy takes for it, and has its attributes.

    >>> import numpy as np, tenferro as tn
    >>> tn.float32(3)
    Tensor(3., dtype=float32)
    >>> tn.float32 == np.dtype("float32") == tn.ones(2, dtype=tn.float32).dtype
    True
    """

    __slots__ = ("dtype",)

    dtype: DType

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    @property
    def __name__(self) -> str:
        return self.dtype.name

    def __call__(self, value: ArrayLike = 0) -> AnyTensor:
        """The value as an array of this element type."""
        return asarray(value, dtype=self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # protocols of other libraries, such as `__array_interface__`
            raise AttributeError(name)
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> builtins.bool:
        dtype = other.dtype if isinstance(other, ElementType) else other
        return dtype is not None and builtins.bool(self.dtype == dtype)  # None is NumPy's float64

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"tenferro.{self.dtype.name}"

    def __str__(self) -> str:
        return self.dtype.name

    def __reduce__(self) -> tuple[type[ElementType], tuple[DType]]:
        return ElementType, (self.dtype,)


bfloat16 = ElementType(as_dtype("bfloat16"))
bool = ElementType(as_dtype("bool"))
complex64 = ElementType(as_dtype("complex64"))
complex128 = ElementType(as_dtype("complex128"))
float8_e3m4 = ElementType(as_dtype("float8_e3m4"))
float8_e4m3 = ElementType(as_dtype("float8_e4m3"))
float8_e4m3b11fnuz = ElementType(as_dtype("float8_e4m3b11fnuz"))
float8_e4m3fn = ElementType(as_dtype("float8_e4m3fn"))
float8_e4m3fnuz = ElementType(as_dtype("float8_e4m3fnuz"))
float8_e5m2 = ElementType(as_dtype("float8_e5m2"))
float8_e5m2fnuz = ElementType(as_dtype("float8_e5m2fnuz"))
float16 = ElementType(as_dtype("float16"))
float32 = ElementType(as_dtype("float32"))
float64 = ElementType(as_dtype("float64"))
int8 = ElementType(as_dtype("int8"))
int16 = ElementType(as_dtype("int16"))
int32 = ElementType(as_dtype("int32"))
int64 = ElementType(as_dtype("int64"))
uint8 = ElementType(as_dtype("uint8"))
uint16 = ElementType(as_dtype("uint16"))
uint32 = ElementType(as_dtype("uint32"))
uint64 = ElementType(as_dtype("uint64"))


# Dtypes and their limits, under the names of the Python array API standard.


def result_type(*operands: ArrayLike | DTypeLike) -> DType:
    """The dtype that arrays, dtypes and Python numbers promote to; Python numbers are weak.

    >>> tn.result_type("float32", "int64")
    dtype('float64')
    """
    parts: list[Any] = [each if is_number(each) else _dtype_of(each) for each in operands]
    try:
        return promoted_dtype(*parts)
    except (TypeError, ValueError) as error:
        raise DTypeError(f"result_type: {error}") from None


def can_cast(from_: ArrayLike | DTypeLike, to: DTypeLike) -> builtins.bool:
    """Whether a dtype, or the dtype of an array, promotes to `to`.

    >>> tn.can_cast("int32", "float64")
    True
    """
    if is_number(from_):
        raise DTypeError(f"can_cast: takes an array or a dtype, got {from_!r}")
    source, target = _dtype_of(from_), as_dtype(to)
    try:
        return common_dtype(source, target) == target
    except TypeError:  # they have no common dtype
        return False


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> builtins.bool:
    """Whether a dtype is `kind`: a dtype, a kind such as "real floating", or a tuple of those.

    >>> tn.isdtype("float32", "real floating")
    True
    """
    element = as_dtype(dtype)
    return any(
        dtype_kind(element) in _KINDS[each]
        if isinstance(each, str) and each in _KINDS
        else element == as_dtype(each)
        for each in (kind if isinstance(kind, tuple) else (kind,))
    )


class FloatInfo:
    """NumPy's limits of a floating-point dtype, as Python's numbers, whose dtype is weak."""

    __slots__ = ("_limits",)

    dtype: DType
    """The dtype; of a complex dtype, that of its parts."""
    bits: int
    """Bits of a number."""
    eps: float
    """The difference between 1 and the next larger number."""
    max: float
    """The largest finite number."""
    min: float
    """The smallest finite number."""
    smallest_normal: float
    """The smallest positive number of full precision."""

    def __init__(self, dtype: DType) -> None:
        self._limits = float_limits(dtype)

    def __getattr__(self, name: str) -> Any:
        value = getattr(object.__getattribute__(self, "_limits"), name)
        return value.item() if isinstance(value, np.generic) else value

    def __repr__(self) -> str:
        return repr(self._limits)


def finfo(dtype: ArrayLike | DTypeLike) -> FloatInfo:
    """The limits of a floating-point dtype, or of the dtype of an array.

    >>> tn.finfo("float32").bits
    32
    """
    element = _dtype_of(dtype)
    if not (is_inexact(element) or is_storage(element)):
        raise DTypeError(f"finfo: {short_name(element)} is not a floating-point dtype")
    return FloatInfo(element)


def iinfo(dtype: ArrayLike | DTypeLike) -> np.iinfo[np.integer]:
    """NumPy's limits of an integer dtype, or of the dtype of an array.

    >>> tn.iinfo("int32").max
    2147483647
    """
    element = _dtype_of(dtype)
    if not is_integer(element):
        raise DTypeError(f"iinfo: {short_name(element)} is not an integer dtype")
    return np.iinfo(element)


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _dtype_of(operand: ArrayLike | DTypeLike) -> DType:
    """The dtype of an array, or of a name or type."""
    return as_dtype(operand.dtype if isinstance(operand, ArrayOperators | np.ndarray) else operand)


# Numbers, under the names of the Python array API standard.

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi

# NumPy's names of dtypes and of groups of dtypes.

bool_ = bool
int_ = int64
uint = uint64
float_ = float64
complex_ = complex128
single = float32
double = float64
csingle = complex64
cdouble = complex128

generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating


class extended(np.generic):  # noqa: N801  # JAX's name
    """The group of types that are no dtypes of NumPy, as `tn.dtypes.extended`."""


class prng_key(extended):  # noqa: N801  # JAX's name
    """The group of the types of keys of random numbers, as `tn.dtypes.prng_key`."""


dtype = np.dtype
if TYPE_CHECKING:
    Array: TypeAlias = AnyTensor
    ndarray: TypeAlias = AnyTensor
else:
    ndarray = Array = Tensor | TracedTensor
    """What arrays are, in a trace or not; for annotations and `isinstance`."""


euler_gamma = float(np.euler_gamma)


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """The dtype that arrays of two dtypes promote to.

    Python's `int`, `float` and `complex` are 64 bits wide; with `tn.config.promotion = "jax"` they
    are weak beside a dtype, as in JAX.

    >>> tn.promote_types("float32", "int64")
    dtype('float64')
    """
    if dtype_rules().promotion == "jax" and (a in _WEAK) != (b in _WEAK):
        a, b = (_WEAK[each] if each in _WEAK else as_dtype(each) for each in (a, b))
        return promoted_dtype(a, b)
    return promoted_dtype(as_dtype(a), as_dtype(b))


_WEAK: dict[Any, Any] = {builtins.int: 0, builtins.float: 0.0, builtins.complex: 0j}
"""Types of Python, and a number of each."""


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> builtins.bool:
    """Whether a dtype is another dtype, or belongs to a group such as `tn.floating`.

    >>> tn.issubdtype(tn.float32, tn.floating)
    True
    """
    own = getattr(arg1, "type", None)
    if isinstance(own, type) and issubclass(own, extended):  # groups of JAX have the same names
        groups = {each.__name__ for each in own.__mro__}
        return arg1 == arg2 or (isinstance(arg2, type) and arg2.__name__ in groups)
    try:
        if isinstance(arg2, type) and issubclass(np.floating, arg2) and _is_further_float(arg1):
            return True
        return builtins.bool(np.issubdtype(arg1, arg2))
    except TypeError:
        raise DTypeError(
            f"issubdtype: takes dtypes, or groups such as tn.floating, got {arg1!r} and {arg2!r}"
        ) from None


def _is_further_float(element: DTypeLike) -> builtins.bool:
    """Whether a dtype is floating-point, but in none of NumPy's groups."""
    if isinstance(element, type) and element.__module__ == "numpy":  # it may be a group
        return False
    try:
        dtype: DType = np.dtype(element)
    except TypeError:  # it is another group
        return False
    return dtype.kind not in "fc" and (is_inexact(dtype) or is_storage(dtype))


def iscomplexobj(x: object) -> builtins.bool:
    """Whether the dtype of a value is complex.

    >>> tn.iscomplexobj(tn.array([1j]))
    True
    """
    return _kind(x) == "c"


def isrealobj(x: object) -> builtins.bool:
    """Whether the dtype of a value is not complex.

    >>> tn.isrealobj(tn.array([1.0]))
    True
    """
    return _kind(x) != "c"


def isscalar(element: object) -> builtins.bool:
    """Whether a value is a number, or an array without axes.

    >>> tn.isscalar(1.0), tn.isscalar([1.0])
    (True, False)
    """
    if is_number(element) or isinstance(element, np.generic):
        return True
    return hasattr(element, "dtype") and getattr(element, "ndim", 1) == 0


def iterable(y: object) -> builtins.bool:
    """Whether a value can be iterated over; an array without axes cannot.

    >>> tn.iterable([1]), tn.iterable(1)
    (True, False)
    """
    if isinstance(y, Tensor | TracedTensor):
        return y.ndim > 0
    return builtins.bool(np.iterable(y))


def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: builtins.bool | None = None,
) -> str:
    """The elements as NumPy's `repr` writes them.

    >>> tn.array_repr(tn.array([1, 2]))
    'array([1, 2])'
    """
    return np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)


def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: builtins.bool | None = None,
) -> str:
    """The elements as NumPy's `str` writes them.

    >>> tn.array_str(tn.array([1, 2]))
    '[1 2]'
    """
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


set_printoptions = np.set_printoptions  # they hold for tensors too
get_printoptions = np.get_printoptions
printoptions = np.printoptions


def _kind(x: Any) -> str:
    if x is None:
        return "O"
    return str(dtype_kind(x.dtype) if hasattr(x, "dtype") else dtype_kind(asarray(x).dtype))
