"""New arrays: from values, of one number, ranges, grids and matrices of ones.

`device` is where a new array is: what `x.device` says of another one. None is the host, or in a
traced function where the program runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from tenferro.errors import DTypeError, ExchangeError, ShapeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    DimExpr,
    DTypeLike,
    Shape,
    Size,
    SupportsDLPack,
    as_dtype,
    dim,
)
from tenferro.ops.functions import apply, creation, elementwise, is_number, manipulation
from tenferro.runtime import Tensor
from tenferro.transforms import EagerTensor, TracedTensor, check_named, create, put_divided

__all__ = [
    "arange",
    "asarray",
    "astype",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "frombuffer",
    "fromiter",
    "fromstring",
    "full",
    "full_like",
    "identity",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tri",
    "zeros",
    "zeros_like",
]


Bound = float | Size | np.integer | np.floating
Device = Any
"""A name, an executor, or what JAX takes: a device or a sharding. None is where the value is."""


def asarray(
    value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device = None,
    copy: bool | None = None,
) -> AnyTensor:
    """The value as a tensor.

    The value is an array, nested lists of numbers, or an object with `__array__` or `__dlpack__`. A
    list with traced values or sizes becomes a traced array, a list with eager tensors an eager one.

    Args:
        value: what becomes a tensor.
        dtype: the element type; by default that of the value.
        device: where the tensor is; by default where the value is.
        copy: True for memory of its own. False for the memory of the value, which must not be
            changed from then on. None copies all but tensors and arrays of JAX.

    Raises:
        ExchangeError: `copy` is False, and a copy is needed.

    >>> tn.asarray([[1, 2], [3, 4]], dtype="float32")
    Tensor([[1., 2.],
            [3., 4.]], dtype=float32)
    """
    value = manipulation.from_entries(value)
    if copy is False:
        recorded = isinstance(value, TracedTensor | EagerTensor)
        shared: AnyTensor = value if recorded else Tensor.sharing(value)  # type: ignore[assignment]
        moved = device is not None and shared.device != device
        if moved or (dtype is not None and shared.dtype != as_dtype(dtype)):
            wanted = f"on {device}" if moved else f"of dtype {as_dtype(dtype)}"
            raise ExchangeError(
                f"asarray: {shared.meta} {wanted} is a copy; allow it, with copy=None"
            )
        return shared
    if isinstance(value, DimExpr):
        value = full((), value)
    if isinstance(value, TracedTensor) and value.weak is not None:
        value = elementwise.positive(value)  # an array, whose dtype is its own
    array = value if isinstance(value, Tensor | TracedTensor) else None
    if array is None:
        return on_device(Tensor(value, dtype), device)
    if dtype is not None and array.dtype != as_dtype(dtype):
        return on_device(array.astype(dtype), device)
    return on_device(array.copy() if copy else array, device)


def on_device(array: AnyTensor, device: Device) -> AnyTensor:
    """The array on a device, or divided among those of a mesh; where it is if None."""
    if device is None:
        return array
    return put_divided(array, device) if hasattr(device, "mesh") else array.to_device(device)


def from_dlpack(
    x: SupportsDLPack, /, *, device: Device = None, copy: bool | None = None
) -> AnyTensor:
    """The array of another library as a tensor, without a copy where that can be.

    The memory must not be changed from then on, unless `copy` is True.

    Raises:
        ExchangeError: `copy` is False, and a copy is needed.

    >>> tn.from_dlpack(np.array([1.0, 2.0]))
    Tensor([1., 2.])
    """
    if not hasattr(x, "__dlpack__"):
        raise DTypeError(f"from_dlpack: takes an array with __dlpack__, got {type(x).__name__}")
    if copy:
        return asarray(x, device=device, copy=True)
    try:
        return on_device(asarray(x, device=device if copy is False else None, copy=False), device)
    except ExchangeError:
        if copy is False:
            raise
        return asarray(x, device=device)


def full(
    shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None
) -> AnyTensor:
    """A new array whose every element is `fill_value`; sizes may be names in a traced program.

    >>> tn.full((2,), 7)
    Tensor([7, 7])
    """
    sizes = (shape,) if type(shape) is int else tuple(manipulation.sizes_of(shape))
    check_named("full", *sizes)
    element = None if dtype is None else as_dtype(dtype)
    return on_device(create(creation.filled, fill_value, shape=sizes, dtype=element), device)


def zeros(shape: Shape, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """A new array of zeros.

    >>> tn.zeros(2)
    Tensor([0., 0.])
    """
    return full(shape, 0, dtype=as_dtype(dtype), device=device)


def ones(shape: Shape, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """A new array of ones.

    >>> tn.ones(2)
    Tensor([1., 1.])
    """
    return full(shape, 1, dtype=as_dtype(dtype), device=device)


def empty(shape: Shape, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """A new array; its elements are zeros, never uninitialized.

    >>> tn.empty(2)
    Tensor([0., 0.])
    """
    return zeros(shape, dtype=dtype, device=device)


def arange(
    start: Bound,
    stop: Bound | None = None,
    step: Bound = 1,
    dtype: DTypeLike | None = None,
    *,
    device: Device = None,
) -> AnyTensor:
    """start, start + step, … up to `stop`, which is excluded; `arange(stop)` starts from 0.

    In a traced program bounds may be named sizes, if start and step are integers.

    >>> tn.arange(3)
    Tensor([0, 1, 2])
    >>> tn.arange(1.0, 2.0, 0.25)
    Tensor([1.  , 1.25, 1.5 , 1.75])
    """
    check_named("arange", start, stop, step)
    first, last = (0, start) if stop is None else (creation.bound(start), stop)
    by = creation.bound(step)
    element, count = creation.steps(first, last, by, None if dtype is None else as_dtype(dtype))
    array = create(creation.arange, first, shape=(count,), step=by, dtype=element)
    return on_device(array, device)


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    *,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Device = None,
) -> AnyTensor:
    """`num` evenly spaced numbers from `start` to `stop`, which is excluded if not `endpoint`.

    If start or stop is an array, the numbers are along a new axis `axis`.

    >>> tn.linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_named("linspace", num)
    element = None if dtype is None else as_dtype(dtype)
    shape = (dim(num),)
    options: dict[str, Any] = {"shape": shape, "endpoint": endpoint, "dtype": element, "axis": axis}
    if is_number(start) and is_number(stop):
        return on_device(create(creation.linspace, start, stop=stop, **options), device)
    return on_device(apply(creation.linspace, start, stop, **options), device)


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    *,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The powers of `base` whose exponents are `linspace(start, stop, num)`.

    >>> tn.logspace(0, 2, 3)
    Tensor([  1.,  10., 100.])
    """
    powers = elementwise.pow(base, linspace(start, stop, num, endpoint=endpoint))
    return powers if dtype is None else powers.astype(dtype)


def eye(
    n_rows: Size,
    n_cols: Size | None = None,
    /,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: Device = None,
) -> AnyTensor:
    """The matrix with ones on diagonal `k` and zeros elsewhere.

    >>> tn.eye(2)
    Tensor([[1., 0.],
            [0., 1.]])
    >>> tn.eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    check_named("eye", n_rows, n_cols)
    shape = (dim(n_rows), dim(n_rows if n_cols is None else n_cols))
    return on_device(create(creation.eye, 1, shape=shape, k=k, dtype=as_dtype(dtype)), device)


def identity(n: Size, dtype: DTypeLike | None = None) -> AnyTensor:
    """The identity matrix.

    >>> tn.identity(2)
    Tensor([[1., 0.],
            [0., 1.]])
    """
    return eye(n, dtype=dtype)


def tri(
    n_rows: Size, n_cols: Size | None = None, k: int = 0, dtype: DTypeLike | None = None
) -> AnyTensor:
    """The matrix with ones on and below diagonal `k` and zeros above it.

    >>> tn.tri(2)
    Tensor([[1., 0.],
            [1., 1.]])
    """
    check_named("tri", n_rows, n_cols)
    shape = (dim(n_rows), dim(n_rows if n_cols is None else n_cols))
    return create(creation.tri, 1, shape=shape, k=k, dtype=as_dtype(dtype))


# Arrays like other arrays: of their shape, in another dtype, or over their common grid.


def full_like(
    x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None
) -> AnyTensor:
    """An array of the shape of x whose every element is `fill_value`.

    >>> tn.full_like([1, 2], 9)
    Tensor([9, 9])
    """
    return on_device(apply(creation.full_like, x, fill_value, dtype=dtype), device)


def zeros_like(x: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """Zeros of the shape of x.

    >>> tn.zeros_like([1, 2])
    Tensor([0, 0])
    """
    return on_device(apply(creation.zeros_like, x, dtype=dtype), device)


def ones_like(x: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """Ones of the shape of x.

    >>> tn.ones_like([1, 2])
    Tensor([1, 1])
    """
    return on_device(apply(creation.ones_like, x, dtype=dtype), device)


def empty_like(x: ArrayLike, dtype: DTypeLike | None = None, *, device: Device = None) -> AnyTensor:
    """An array of the shape of x; its elements are zeros, never uninitialized.

    >>> tn.empty_like([1, 2])
    Tensor([0, 0])
    """
    return on_device(apply(creation.empty_like, x, dtype=dtype), device)


def astype(
    x: ArrayLike, dtype: DTypeLike, *, copy: bool = True, device: Device = None
) -> AnyTensor:
    """x in another dtype; the conversion may lose information.

    An array cannot be changed, so `copy` says only whether an equal dtype gives a new object.

    >>> tn.astype([1.7, -1.7], "int64")
    Tensor([ 1, -1])
    """
    element = as_dtype(dtype)
    same = not copy and getattr(x, "dtype", None) == element
    array = asarray(x) if same else apply(elementwise.astype, x, dtype=element)
    return on_device(array, device)


def meshgrid(*arrays: ArrayLike, indexing: Literal["xy", "ij"] = "xy") -> tuple[AnyTensor, ...]:
    """For each vector, an array over the common grid that varies along one axis of the grid.

    Vector i varies along axis i, except that "xy" exchanges the first two axes.

    >>> tn.meshgrid([1, 2], [3, 4])[0]
    Tensor([[1, 2],
            [1, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [asarray(array) for array in arrays]
    axes, shape = creation.grid([vector.meta for vector in vectors], indexing)
    return tuple(
        apply(creation.on_grid, vector, axis=axis, shape=shape)
        for vector, axis in zip(vectors, axes, strict=True)
    )


# Arrays from bytes, texts and iterators.


def frombuffer(
    buffer: Any, dtype: DTypeLike = "float64", count: int = -1, offset: int = 0
) -> AnyTensor:
    """A vector of the elements whose bytes a buffer holds, as `numpy.frombuffer`.

    >>> tn.frombuffer(bytes([1, 2]), "uint8")
    Tensor([1, 2], dtype=uint8)
    """
    try:
        return asarray(np.frombuffer(buffer, dtype, count, offset))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"frombuffer: {error}") from None


def fromstring(
    string: str, dtype: DTypeLike | None = None, count: int = -1, *, sep: str
) -> AnyTensor:
    """A vector of the numbers in a text, between which `sep` stands.

    >>> tn.fromstring("1 2", sep=" ")
    Tensor([1., 2.])
    """
    try:
        return asarray(np.array(string.split(sep)[: None if count < 0 else count], as_dtype(dtype)))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"fromstring: {error}") from None


def fromiter(iterable: Iterable[Any], dtype: DTypeLike, count: int = -1) -> AnyTensor:
    """A vector of the numbers that an iterator gives.

    >>> tn.fromiter(range(3), "int32")
    Tensor([0, 1, 2], dtype=int32)
    """
    try:
        return asarray(np.fromiter(iterable, dtype, count))
    except (TypeError, ValueError) as error:
        raise ShapeError(f"fromiter: {error}") from None
