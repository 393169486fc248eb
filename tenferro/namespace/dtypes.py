"""Element types under the names of the Python array API standard, which can be called."""

from __future__ import annotations

import builtins
from typing import Any

from tenferro.namespace.creation import asarray
from tenferro.shape import DType, as_dtype
from tenferro.typing import AnyTensor, ArrayLike


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


bool = ElementType(as_dtype("bool"))
complex64 = ElementType(as_dtype("complex64"))
complex128 = ElementType(as_dtype("complex128"))
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
