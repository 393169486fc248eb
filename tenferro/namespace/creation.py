"""New arrays: counters, grids and matrices of ones, under the array API standard's names."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import creation, is_number
from tenferro.dispatch import apply, apply_to_array, create
from tenferro.errors import ShapeError
from tenferro.namespace.elementwise import astype, pow
from tenferro.namespace.layout import asarray, ravel, zeros, zeros_like
from tenferro.shape import as_dtype, dim


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: object = None) -> Any:
    """start, start + step, … up to `stop`, which is left out; from 0 if only one is given.

    Sizes may be names in a traced program, with start and step integers.

    >>> arange(3)
    Tensor([0, 1, 2])
    >>> arange(1.0, 2.0, 0.25)
    Tensor([1.  , 1.25, 1.5 , 1.75])
    """
    first, last = (0, start) if stop is None else (start, stop)
    element, count = creation.steps(first, last, step, None if dtype is None else as_dtype(dtype))
    return create(creation.arange, first, shape=(count,), step=step, dtype=element)


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    *,
    endpoint: bool = True,
    dtype: object = None,
    axis: int = 0,
) -> Any:
    """`num` numbers evenly from `start` to `stop`, which is left out if not `endpoint`.

    Of arrays along a new axis.

    >>> linspace(0, 1, 5)
    Tensor([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    element = None if dtype is None else as_dtype(dtype)
    options = {"shape": (dim(num),), "endpoint": endpoint, "dtype": element, "axis": axis}
    if is_number(start) and is_number(stop):
        return create(creation.linspace, start, stop=stop, **options)
    return apply(creation.linspace, start, stop, **options)


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    *,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: object = None,
) -> Any:
    """The powers of `base` with the exponents of `linspace`.

    >>> logspace(0, 2, 3)
    Tensor([  1.,  10., 100.])
    """
    powers = pow(base, linspace(start, stop, num, endpoint=endpoint))
    return powers if dtype is None else astype(powers, dtype)


def eye(n_rows: Any, n_cols: Any = None, /, k: int = 0, dtype: object = "float64") -> Any:
    """The matrix with ones on diagonal `k`, zeros elsewhere.

    >>> eye(2)
    Tensor([[1., 0.],
            [0., 1.]])
    >>> eye(2, 3, k=1)
    Tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    shape = (dim(n_rows), dim(n_rows if n_cols is None else n_cols))
    return create(creation.eye, 1, shape=shape, k=k, dtype=as_dtype(dtype))


def identity(n: Any, dtype: object = "float64") -> Any:
    """The identity matrix.

    >>> identity(2)
    Tensor([[1., 0.],
            [0., 1.]])
    """
    return eye(n, dtype=dtype)


def tri(n_rows: Any, n_cols: Any = None, k: int = 0, dtype: object = "float64") -> Any:
    """The matrix with ones on and below diagonal `k`, zeros above.

    >>> tri(2)
    Tensor([[1., 0.],
            [1., 1.]])
    """
    shape = (dim(n_rows), dim(n_rows if n_cols is None else n_cols))
    return create(creation.tri, 1, shape=shape, k=k, dtype=as_dtype(dtype))


def diag(x: Any, k: int = 0) -> Any:
    """The matrix with the vector x on diagonal `k`; of a matrix, that diagonal.

    >>> diag([1, 2])
    Tensor([[1, 0],
            [0, 2]])
    >>> diag([[1, 2], [3, 4]])
    Tensor([1, 4])
    """
    return apply_to_array(creation.diag, x, k=k)


def diagflat(x: Any, k: int = 0) -> Any:
    """The matrix with the elements of x, in a row, on diagonal `k`.

    >>> diagflat([[1], [2]])
    Tensor([[1, 0],
            [0, 2]])
    """
    return diag(ravel(x), k)


def meshgrid(*arrays: Any, indexing: str = "xy") -> Any:
    """For each vector an array over the grid of all, that varies along its own axis alone.

    The first two axes are exchanged unless `indexing` is "ij".

    >>> meshgrid([1, 2], [3, 4])[0]
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


def empty(shape: Any, dtype: object = "float64") -> Any:
    """A new array of zeros: nothing is left open.

    >>> empty(2)
    Tensor([0., 0.])
    """
    return zeros(shape, dtype=dtype)


def empty_like(x: Any, dtype: object = None) -> Any:
    """Zeros of the shape of x: nothing is left open.

    >>> empty_like([1, 2])
    Tensor([0, 0])
    """
    return zeros_like(x, dtype=dtype)
