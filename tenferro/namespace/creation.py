"""New arrays: from values, of one number, ranges, grids and matrices of ones."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tenferro.arrays import creation, elementwise, filling, is_number
from tenferro.dispatch import apply, create
from tenferro.eager import EagerTensor
from tenferro.errors import ShapeError, TracingError
from tenferro.namespace.joining import stack
from tenferro.runtime import Tensor
from tenferro.shape import as_dtype, dim
from tenferro.traced import TracedTensor, is_tracing
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike, Shape, Size

Bound = float | Size | np.integer | np.floating


def asarray(value: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """The value as a tensor.

    The value is an array, nested lists of numbers, or an object with `__array__` or `__dlpack__`. A
    list with traced values becomes a traced array, a list with eager tensors an eager one.

    >>> tn.asarray([[1, 2], [3, 4]], dtype="float32")
    Tensor([[1., 2.],
            [3., 4.]], dtype=float32)
    """
    if isinstance(value, list | tuple) and _any_recorded(value):
        value = stack([asarray(item) for item in value])
    array = value if isinstance(value, Tensor | TracedTensor) else None
    if array is None:
        return Tensor(value, dtype)
    return array if dtype is None or array.dtype == as_dtype(dtype) else array.astype(dtype)


def _any_recorded(values: list[ArrayLike] | tuple[ArrayLike, ...]) -> bool:
    return any(
        isinstance(item, TracedTensor | EagerTensor)
        or (isinstance(item, list | tuple) and _any_recorded(item))
        for item in values
    )


def full(shape: Shape, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """A new array whose every element is `fill_value`; sizes may be names in a traced program.

    >>> tn.full((2,), 7)
    Tensor([7, 7])
    """
    _check_named("full", *(shape if isinstance(shape, tuple | list) else (shape,)))
    element = None if dtype is None else as_dtype(dtype)
    return create(filling.filled, fill_value, shape=shape, dtype=element)


def zeros(shape: Shape, dtype: DTypeLike | None = "float64") -> AnyTensor:
    """A new array of zeros.

    >>> tn.zeros(2)
    Tensor([0., 0.])
    """
    return full(shape, 0, dtype=as_dtype(dtype))


def ones(shape: Shape, dtype: DTypeLike | None = "float64") -> AnyTensor:
    """A new array of ones.

    >>> tn.ones(2)
    Tensor([1., 1.])
    """
    return full(shape, 1, dtype=as_dtype(dtype))


def empty(shape: Shape, dtype: DTypeLike | None = "float64") -> AnyTensor:
    """A new array; its elements are zeros, never uninitialized.

    >>> tn.empty(2)
    Tensor([0., 0.])
    """
    return zeros(shape, dtype=dtype)


def arange(
    start: Bound, stop: Bound | None = None, step: Bound = 1, dtype: DTypeLike | None = None
) -> AnyTensor:
    """start, start + step, … up to `stop`, which is excluded; `arange(stop)` starts from 0.

    In a traced program bounds may be named sizes, if start and step are integers.

    >>> tn.arange(3)
    Tensor([0, 1, 2])
    >>> tn.arange(1.0, 2.0, 0.25)
    Tensor([1.  , 1.25, 1.5 , 1.75])
    """
    _check_named("arange", start, stop, step)
    first, last = (0, start) if stop is None else (start, stop)
    element, count = creation.steps(first, last, step, None if dtype is None else as_dtype(dtype))
    return create(creation.arange, first, shape=(count,), step=step, dtype=element)


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    *,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> AnyTensor:
    """`num` evenly spaced numbers from `start` to `stop`, which is excluded if not `endpoint`.

    If start or stop is an array, the numbers are along a new axis `axis`.

    >>> tn.linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    _check_named("linspace", num)
    element = None if dtype is None else as_dtype(dtype)
    shape = (dim(num),)
    if is_number(start) and is_number(stop):
        return create(
            creation.linspace,
            start,
            stop=stop,
            shape=shape,
            endpoint=endpoint,
            dtype=element,
            axis=axis,
        )
    return apply(
        creation.linspace, start, stop, shape=shape, endpoint=endpoint, dtype=element, axis=axis
    )


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
    powers = apply(elementwise.pow, base, linspace(start, stop, num, endpoint=endpoint))
    return powers if dtype is None else powers.astype(dtype)


def eye(
    n_rows: Size, n_cols: Size | None = None, /, k: int = 0, dtype: DTypeLike | None = "float64"
) -> AnyTensor:
    """The matrix with ones on diagonal `k` and zeros elsewhere.

    >>> tn.eye(2)
    Tensor([[1., 0.],
            [0., 1.]])
    >>> tn.eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    _check_named("eye", n_rows, n_cols)
    shape = (dim(n_rows), dim(n_rows if n_cols is None else n_cols))
    return create(creation.eye, 1, shape=shape, k=k, dtype=as_dtype(dtype))


def identity(n: Size, dtype: DTypeLike | None = "float64") -> AnyTensor:
    """The identity matrix.

    >>> tn.identity(2)
    Tensor([[1., 0.],
            [0., 1.]])
    """
    return eye(n, dtype=dtype)


def tri(
    n_rows: Size, n_cols: Size | None = None, k: int = 0, dtype: DTypeLike | None = "float64"
) -> AnyTensor:
    """The matrix with ones on and below diagonal `k` and zeros above it.

    >>> tn.tri(2)
    Tensor([[1., 0.],
            [1., 1.]])
    """
    _check_named("tri", n_rows, n_cols)
    shape = (dim(n_rows), dim(n_rows if n_cols is None else n_cols))
    return create(creation.tri, 1, shape=shape, k=k, dtype=as_dtype(dtype))


def _check_named(name: str, *sizes: object) -> None:
    """Raise TracingError if a size is a name, and no function is traced whose inputs define it."""
    for size in sizes:
        if isinstance(size, str) and not is_tracing():
            raise TracingError(
                f"{name}: the size {size!r} has a number only in a function that is traced; pass "
                "a number, or the size of a value, such as x.shape[0]"
            )


def meshgrid(*arrays: ArrayLike, indexing: Literal["xy", "ij"] = "xy") -> list[AnyTensor]:
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
    return [
        apply(creation.on_grid, vector, axis=axis, shape=shape)
        for vector, axis in zip(vectors, axes, strict=True)
    ]
