"""A sparse matrix: the value of a sparse Jacobian."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
import optree

from tenferro.core import Emitter, V
from tenferro.errors import ShapeError, counted
from tenferro.ir import NumpyArray, TensorMeta
from tenferro.ops import Constant, Reshape, Scatter, full, load_named, shape_of
from tenferro.ops.functions import apply
from tenferro.transforms.trees import register_class

__all__ = ["SparseMatrix"]


class Coordinates:
    """Where the values of a sparse matrix are; equal ones have equal places.

    Attributes:
        rows: the row of each value, not decreasing.
        columns: the column of each value, increasing within a row.
        shape: that of the dense array.
        split: the number of its axes that are rows.
        passes: how the values were computed.
    """

    __slots__ = ("columns", "passes", "rows", "shape", "split")

    def __init__(
        self, rows: NumpyArray, columns: NumpyArray, y: TensorMeta, x: TensorMeta, passes: str
    ) -> None:
        self.rows, self.columns, self.passes = rows, columns, passes
        self.shape, self.split = (*shape_of(y), *shape_of(x)), y.rank
        rows.flags.writeable = columns.flags.writeable = False

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return math.prod(self.shape[: self.split]), math.prod(self.shape[self.split :])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Coordinates)
            and (self.shape, self.split) == (other.shape, other.split)
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.split, self.rows.size))


class SparseMatrix:
    """A matrix of which only the values that may differ from zero are there.

    It is a tree with one leaf, `values`. So transforms take it and return it.

    Attributes:
        values: the values, `[k]`, in the order of rows and then columns.

    >>> import tenferro as tn
    >>> matrix = tn.jacobian(lambda x: x * x, sparsity="auto")(tn.Tensor([1.0, 2.0, 3.0]))
    >>> matrix
    SparseMatrix(f64[3,3], 3 values of 9, by forward 1)
    >>> matrix.rows, matrix.columns, matrix.values
    (array([0, 1, 2]), array([0, 1, 2]), Tensor([2., 4., 6.]))
    """

    __slots__ = ("_places", "values")

    __array_ufunc__ = None  # operators of NumPy arrays are refused, not taken for each element

    def __init__(self, values: Any, places: Coordinates) -> None:
        self.values, self._places = values, places

    @property
    def rows(self) -> NumpyArray:
        """The row of each value, a NumPy array."""
        return self._places.rows

    @property
    def columns(self) -> NumpyArray:
        """The column of each value, a NumPy array."""
        return self._places.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dense array: the axes of the result, then those of the argument."""
        return self._places.shape

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """The numbers of rows and columns: of elements of the result and of the argument."""
        return self._places.matrix_shape

    def todense(self) -> Any:
        """The dense array, of the kind of `values`.

        Under `vmap`, or if `values` has further axes in front, it has these too.

        >>> import tenferro as tn
        >>> tn.jacobian(lambda x: x * x, sparsity="auto")(tn.Tensor([1.0, 2.0])).todense()
        Tensor([[2., 0.],
                [0., 4.]])
        """
        flat = self.rows * self.matrix_shape[1] + self.columns
        return apply(_dense, self.values, places=flat, shape=self.shape)

    def to_scipy(self) -> Any:
        """The matrix as a `scipy.sparse.csr_array` of shape `matrix_shape`.

        Raises:
            ShapeError: `values` has further axes, as in a batch; convert one entry at a time.

        >>> import tenferro as tn
        >>> tn.jacobian(lambda x: x * x, sparsity="auto")(tn.Tensor([1.0, 2.0])).to_scipy().nnz
        2
        """
        values = np.asarray(self.values)
        if values.ndim != 1:
            raise ShapeError(
                f"to_scipy: the values have shape {values.shape}, not ({self.rows.size},); "
                "convert one matrix of the batch at a time"
            )
        csr_array: Any = load_named("scipy.sparse:csr_array")
        return csr_array((values, (self.rows, self.columns)), shape=self.matrix_shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Always raises: the zeros are not there."""
        raise TypeError(
            "SparseMatrix: a sparse matrix is not an array; matrix.todense() is, and "
            "matrix.to_scipy() multiplies"
        )

    def __repr__(self) -> str:
        meta = getattr(self.values, "meta", None)
        kind = "?" if meta is None else str(meta).partition("[")[0]
        shape = ",".join(map(str, self.shape))
        total = math.prod(self.shape)
        return (
            f"SparseMatrix({kind}[{shape}], {counted(self.rows.size, 'value')} of {total}, by "
            f"{self._places.passes})"
        )


def _dense(values: Any, *, places: NumpyArray, shape: tuple[int, ...]) -> Any:
    """The values, along their last axis, at their places in an array of zeros."""
    at = values.emitter
    return type(values)(at, filled(at, values.value, at.emit(Constant(places[:, None])), shape))


def filled(at: Emitter[V], values: V, places: V, shape: tuple[int, ...]) -> V:
    """Zeros, with values along their last axis written to `places`, `[k, 1]`, in C order."""
    meta: TensorMeta = at.ctx.meta(values)
    front = meta.exact_shape("todense")[:-1]
    zeros = full(at, 0, TensorMeta.of(meta.dtype, (*front, math.prod(shape))))
    rank = len(front)
    write = Scatter(tuple(range(rank)), (rank,), (rank,), 1, unique=True)
    return at.emit(Reshape((*front, *shape)), at.emit(write, zeros, places, values))


def _children(matrix: Any) -> tuple[tuple[Any], Coordinates, tuple[str]]:
    return (matrix.values,), matrix._places, ("values",)


def _rebuilt(places: Any, children: Iterable[Any]) -> Any:
    (values,) = children
    return SparseMatrix(values, places)


register_class(SparseMatrix, _children, _rebuilt, optree.GetAttrEntry)
