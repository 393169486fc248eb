"""New arrays: from values, of one number, ranges, grids and matrices of ones.

`device` is where a new array is: what `x.device` says of another one. None is the host, or in a
traced function where the program runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, overload

import numpy as np

from tenferro.config import dtype_rules
from tenferro.errors import ConfigError, DTypeError, ExchangeError, ShapeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    DimExpr,
    DTypeLike,
    Shape,
    Size,
    SupportsDLPack,
    TensorSpec,
    as_dtype,
    dim,
    is_traced_value,
    read_integer,
)
from tenferro.ops.functions import apply, creation, elementwise, is_number, manipulation
from tenferro.ops.functions.dispatch import KINDS
from tenferro.runtime import Tensor, narrowed
from tenferro.transforms import EagerTensor, TracedTensor, check_named, create, is_spec, put_divided

__all__ = [
    "arange",
    "array",
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


def array(
    object: ArrayLike,
    dtype: DTypeLike | None = None,
    copy: bool | None = None,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Device = None,
) -> AnyTensor:
    """The value as a tensor; as `asarray`, with at least `ndmin` axes, new ones in front.

    >>> tn.array([1, 2], ndmin=2)
    Tensor([[1, 2]])
    """
    made = asarray(object, dtype, order, copy=copy, device=device)
    least = read_integer("array", "ndmin", ndmin, ShapeError)
    return manipulation.expand_dims(made, tuple(range(max(least - made.ndim, 0))))


_ORDERS = (None, "C", "F", "A", "K")


def asarray(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Device = None,
) -> AnyTensor:
    """The value as a tensor.

    The value is an array, nested lists of numbers, or an object with `__array__` or `__dlpack__`. A
    list with traced values or sizes becomes a traced array, a list with eager tensors an eager one.

    Args:
        a: what becomes a tensor.
        dtype: the element type; by default that of the value.
        order: has no effect: elements are always in C order.
        device: where the tensor is; by default where the value is.
        copy: True for memory of its own. False for the memory of the value, which must not be
            changed from then on. None copies all but tensors and arrays of JAX.

    Raises:
        ExchangeError: `copy` is False, and a copy is needed.

    >>> tn.asarray([[1, 2], [3, 4]], dtype="float32")
    Tensor([[1., 2.],
            [3., 4.]], dtype=float32)
    """
    if order not in _ORDERS:
        raise ConfigError(f"asarray: order must be one of 'C', 'F', 'A', 'K', got {order!r}")
    a = manipulation.from_entries(a)
    if isinstance(a, DimExpr):
        a = full((), a)
    if not isinstance(a, Tensor | TracedTensor | EagerTensor) and type(a) in KINDS:
        return a  # type: ignore[return-value]  # keys, which are no numbers
    if copy is False:
        recorded = isinstance(a, TracedTensor | EagerTensor)
        shared: AnyTensor = a if recorded else Tensor.sharing(a)  # type: ignore[assignment]
        moved = device is not None and shared.device != device
        if moved or (dtype is not None and shared.dtype != as_dtype(dtype)):
            wanted = f"on {device}" if moved else f"of dtype {as_dtype(dtype)}"
            raise ExchangeError(
                f"asarray: {shared.meta} {wanted} is a copy; allow it, with copy=None"
            )
        return shared
    if isinstance(a, TracedTensor) and a.weak is not None:
        a = elementwise.positive(a)  # an array, whose dtype is its own
    known = a if isinstance(a, Tensor | TracedTensor) else None
    if known is None:
        if dtype is None and dtype_rules().narrows:
            a = narrowed(a)
        return on_device(Tensor(a, dtype), device)
    if dtype is not None and known.dtype != as_dtype(dtype):
        return on_device(known.astype(dtype), device)
    return on_device(known.copy() if copy else known, device)


def on_device(array: AnyTensor, device: Device) -> AnyTensor:
    """The array on a device, or divided among those of a mesh; where it is if None."""
    if device is None:
        return array
    is_divided = hasattr(device, "mesh") or is_spec(device)
    return put_divided(array, device) if is_divided else array.to_device(device)


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


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device = None,
) -> AnyTensor: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Device = None,
) -> tuple[AnyTensor, AnyTensor]: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device = None,
) -> AnyTensor | tuple[AnyTensor, AnyTensor]:
    """`num` evenly spaced numbers from `start` to `stop`, which is excluded if not `endpoint`.

    If start or stop is an array, the numbers are along a new axis `axis`. With `retstep`, a pair of
    them and of the distance between them.

    >>> tn.linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_named("linspace", num)
    element = None if dtype is None else as_dtype(dtype)
    shape = (dim(num),)
    options: dict[str, Any] = {"shape": shape, "endpoint": endpoint, "dtype": element, "axis": axis}
    if is_number(start) and is_number(stop):
        made: Any = create(creation.linspace, start, stop=stop, **options)
    else:
        made = apply(creation.linspace, start, stop, **options)
    made = on_device(made, device)
    if not retstep:
        return made  # type: ignore[no-any-return]
    intervals = shape[0] - 1 if endpoint else shape[0]
    apart = elementwise.subtract(stop, start)
    step = (
        elementwise.divide(apart, intervals) if intervals else elementwise.multiply(apart, math.nan)
    )
    return made, asarray(step)


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> AnyTensor:
    """The powers of `base` whose exponents are `linspace(start, stop, num, axis=axis)`.

    >>> tn.logspace(0, 2, 3)
    Tensor([  1.,  10., 100.])
    """
    wide = manipulation.like_the_others
    if getattr(base, "ndim", np.ndim(base) if isinstance(base, list | tuple) else 0):
        start, stop = (apply(wide, each, base) for each in (start, stop))
        base = manipulation.expand_dims(base, axis)
    powers = elementwise.pow(base, linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None else powers.astype(dtype)


def eye(
    N: Size,  # noqa: N803  # NumPy's names
    M: Size | None = None,  # noqa: N803
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
    check_named("eye", N, M)
    if is_traced_value(k):
        return on_device((_diagonals(N, M) == k).astype(dtype), device)
    shape = (dim(N), dim(N if M is None else M))
    return on_device(create(creation.eye, 1, shape=shape, k=k, dtype=as_dtype(dtype)), device)


def _diagonals(rows: Size, columns: Size | None) -> Any:
    """The number of the diagonal of each element of a matrix."""
    row: Any = arange(rows)
    column: Any = arange(rows if columns is None else columns)
    return column - row[:, None]


def identity(n: Size, dtype: DTypeLike | None = None) -> AnyTensor:
    """The identity matrix.

    >>> tn.identity(2)
    Tensor([[1., 0.],
            [0., 1.]])
    """
    return eye(n, dtype=dtype)


def tri(
    N: Size,  # noqa: N803
    M: Size | None = None,  # noqa: N803
    k: int = 0,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The matrix with ones on and below diagonal `k` and zeros above it.

    >>> tn.tri(2)
    Tensor([[1., 0.],
            [1., 1.]])
    """
    check_named("tri", N, M)
    if is_traced_value(k):
        return (_diagonals(N, M) <= k).astype(dtype)  # type: ignore[no-any-return]
    shape = (dim(N), dim(N if M is None else M))
    return create(creation.tri, 1, shape=shape, k=k, dtype=as_dtype(dtype))


# Arrays like other arrays: of their shape, in another dtype, or over their common grid.


def full_like(
    a: ArrayLike | TensorSpec,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Device = None,
) -> AnyTensor:
    """An array of the shape of `a`, or of `shape`, whose every element is `fill_value`.

    >>> tn.full_like([1, 2], 9)
    Tensor([9, 9])
    >>> tn.full_like([1, 2], 9, shape=(3,))
    Tensor([9, 9, 9])
    """
    if isinstance(a, TensorSpec):  # which has no elements
        sizes = a.shape if shape is None else shape
        return full(sizes, fill_value, a.dtype if dtype is None else dtype, device=device)
    if shape is not None:
        element = asarray(a).dtype if dtype is None else dtype
        return full(shape, fill_value, element, device=device)
    return on_device(apply(creation.full_like, a, fill_value, dtype=dtype), device)


def zeros_like(
    a: ArrayLike | TensorSpec,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Device = None,
) -> AnyTensor:
    """Zeros of the shape of `a`, or of `shape`.

    >>> tn.zeros_like([1, 2])
    Tensor([0, 0])
    """
    if shape is not None or isinstance(a, TensorSpec):
        return full_like(a, 0, dtype, shape, device=device)
    return on_device(apply(creation.zeros_like, a, dtype=dtype), device)


def ones_like(
    a: ArrayLike | TensorSpec,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Device = None,
) -> AnyTensor:
    """Ones of the shape of `a`, or of `shape`.

    >>> tn.ones_like([1, 2])
    Tensor([1, 1])
    """
    if shape is not None or isinstance(a, TensorSpec):
        return full_like(a, 1, dtype, shape, device=device)
    return on_device(apply(creation.ones_like, a, dtype=dtype), device)


def empty_like(
    prototype: ArrayLike | TensorSpec,
    dtype: DTypeLike | None = None,
    shape: Shape | None = None,
    *,
    device: Device = None,
) -> AnyTensor:
    """An array of the shape of `prototype`, or of `shape`; its elements are zeros.

    >>> tn.empty_like([1, 2])
    Tensor([0, 0])
    """
    if shape is not None or isinstance(prototype, TensorSpec):
        return full_like(prototype, 0, dtype, shape, device=device)
    return on_device(apply(creation.empty_like, prototype, dtype=dtype), device)


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


def meshgrid(
    *xi: ArrayLike,
    copy: bool = True,
    sparse: bool = False,
    indexing: Literal["xy", "ij"] = "xy",
) -> tuple[AnyTensor, ...]:
    """For each vector, an array over the common grid that varies along one axis of the grid.

    Vector i varies along axis i, except that "xy" exchanges the first two axes. With `sparse`, the
    other axes have size 1. Results are new arrays: `copy` has no effect.

    >>> tn.meshgrid([1, 2], [3, 4])[0]
    Tensor([[1, 2],
            [1, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [asarray(each) for each in xi]
    axes, shape = creation.grid([vector.meta for vector in vectors], indexing)

    def shape_of(along: int) -> list[Any]:
        if not sparse:
            return shape
        return [size if axis == along else 1 for axis, size in enumerate(shape)]

    return tuple(
        apply(creation.on_grid, vector, axis=axis, shape=shape_of(axis))
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
        return asarray(np.frombuffer(buffer, dtype, count, offset), dtype)
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
        return asarray(
            np.array(string.split(sep)[: None if count < 0 else count], as_dtype(dtype)), dtype
        )
    except (TypeError, ValueError) as error:
        raise ShapeError(f"fromstring: {error}") from None


def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1) -> AnyTensor:
    """A vector of the numbers that an iterator gives.

    >>> tn.fromiter(range(3), "int32")
    Tensor([0, 1, 2], dtype=int32)
    """
    try:
        return asarray(np.fromiter(iter, dtype, count), dtype)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"fromiter: {error}") from None
