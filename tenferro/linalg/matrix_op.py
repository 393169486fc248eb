"""What ops of matrices share: pieces of formulas, kernels over batches, kinds of ops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np

from tenferro.core import Batched, BatchSite, Emitter, GlobalValKey, KeyEmitter, V
from tenferro.families.composite import FamilyOp
from tenferro.ir import (
    Dim,
    DType,
    Exact,
    InputDim,
    NumpyArray,
    TensorMeta,
    is_complex,
    make_meta,
    symbol,
)
from tenferro.ops import (
    EmbedDiag,
    Gather,
    GatherDynamicSliceSizes,
    Pad,
    emit_graph,
    full,
    scalar,
    shape_context,
)
from tenferro.ops.extension import (
    Extension,
    ExtensionCache,
    ExtensionOp,
    ExtensionRuntime,
    family_id,
)
from tenferro.ops.functions import (
    Expression,
    apply,
    creation,
    elementwise,
    expressions,
    manipulation,
    products,
    repeated,
    run_body,
    values_of,
)

# Pieces of matrix formulas. ᴴ is the adjoint; a matrix is the last two axes of a value.


def sym(x: Expression) -> Expression:
    """The Hermitian part, (x + xᴴ) / 2."""
    return (x + x.H) * 0.5


def skew(x: Expression) -> Expression:
    """The skew-Hermitian part, (x − xᴴ) / 2."""
    return (x - x.H) * 0.5


def tril(x: Expression, k: int = 0) -> Expression:
    """The part on and below diagonal k."""
    return apply(manipulation.tril, x, k=k)


def triu(x: Expression, k: int = 0) -> Expression:
    """The part on and above diagonal k."""
    return apply(manipulation.triu, x, k=k)


def diagonal(x: Expression) -> Expression:
    """The main diagonals, along the last axis."""
    return apply(manipulation.diagonal, x, axis1=-2, axis2=-1)


def embedded(d: Expression) -> Expression:
    """The diagonal matrices with d, of shape [..., n], on their diagonals."""
    (result,) = d.emit_all(EmbedDiag(d.ndim - 1, d.ndim))
    return result


def real_part(x: Expression) -> Expression:
    """The real part, in the real dtype."""
    return apply(elementwise.real, x)


def real(x: Expression) -> Expression:
    """The real part, in the dtype of x."""
    return real_part(x).astype(x.dtype)


def tril0(x: Expression) -> Expression:
    """The lower triangle with half of the real part of the diagonal."""
    if not is_complex(x.dtype):
        return (tril(x) + tril(x, -1)) * 0.5
    return tril(x, -1) + embedded(real(diagonal(x)) * 0.5)


def mirrored(x: Expression) -> Expression:
    """The Hermitian matrix with the upper triangle of x and the real part of its diagonal."""
    upper = triu(x, 1)
    if not is_complex(x.dtype):
        return triu(x) + upper.H
    return upper + upper.H + embedded(real(diagonal(x)))


def columns(d: Expression) -> Expression:
    """d, of shape [..., n], as [..., 1, n]: it scales columns."""
    return apply(manipulation.expand_dims, d, axis=-2)


def rows(d: Expression) -> Expression:
    """d, of shape [..., n], as [..., n, 1]: it scales rows."""
    return apply(manipulation.expand_dims, d, axis=-1)


def trace(x: Expression) -> Expression:
    """The sums of the diagonals, without the last two axes."""
    return apply(products.trace, x, axis1=-2, axis2=-1)


def scaled(factor: Expression, x: Expression) -> Expression:
    """x, of shape [..., m, n], times one number for each matrix, of shape [...]."""
    return rows(rows(factor)) * x


def identity(like: Expression) -> Expression:
    """Identity matrices with the batch axes, rows and dtype of `like`."""
    extents = like.meta.extents
    n = like.shape[-2]
    one = run_body(like, creation.eye, (1,), {"shape": (n, n), "dtype": like.dtype})
    whole: Any = repeated("eye", one, (*extents[:-2], extents[-2], extents[-2]))
    return whole  # type: ignore[no-any-return]


def joined(x: Expression, y: Expression, axis: int = -1) -> Expression:
    """Both, one after the other along an axis."""
    return apply(manipulation.concat, x, y, axis=axis)


def padded(x: Expression, axis: int, before: Dim, after: Dim) -> Expression:
    """x with so many zeros before and after it along an axis; negative numbers cut off."""
    low: list[Dim] = [0] * x.ndim
    high: list[Dim] = [0] * x.ndim
    low[axis], high[axis] = before, after
    zero = Expression(x.emitter, x.emitter.emit(scalar(0, x.dtype)))
    (result,) = x.emit_all(Pad(tuple(low), tuple(high), (0,) * x.ndim), zero)
    return result


def picked_rows(x: Expression, places: Expression) -> Expression:
    """The rows of x, of shape [..., m, n], at integers of shape [..., k], all different."""
    rank = x.ndim
    columns = x.meta.extents[-1]
    known = isinstance(columns, Exact) and isinstance(columns.dim, int)
    size = columns.dim if known else symbol(InputDim(0, rank - 1))  # type: ignore[union-attr]
    batch = tuple(range(rank - 2))
    op = (Gather if known else GatherDynamicSliceSizes)(
        offset_dims=(rank - 1,),
        collapsed_slice_dims=(rank - 2,),
        start_index_map=(rank - 2,),
        index_vector_dim=rank - 1,
        slice_sizes=(*(1 for _ in batch), 1, size),
        operand_batching_dims=batch,
        start_indices_batching_dims=batch,
        unique=True,
    )
    (result,) = x.emit_all(op, places)
    return result


# Kinds of ops of linear algebra.

family = partial(family_id, namespace="tenferro-linalg", version=1)
"""Names a family of linear algebra."""


class ExpandedOp(FamilyOp):
    """An op with a formula, in which some inputs may be factors of others.

    The op is a function of the others: factors only save a factorization, and derivatives do not
    read their tangents. The formula reads the factors, and holds where they are those of the
    others. The kernel does not depend on them.
    """

    @abstractmethod
    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The outputs, each input being an `Expression`. No output is empty."""

    def expanded(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The ops of the formula; zeros if all outputs are empty."""
        types = self.infer_output_meta(input_dtypes, input_shapes)

        def outputs(keys: Sequence[GlobalValKey]) -> Sequence[GlobalValKey]:
            at = KeyEmitter(shape_context())
            if all(0 in shape for _, shape in types):
                return [full(at, 0, make_meta(dtype, tuple(shape))) for dtype, shape in types]
            return values_of(self.formula(*expressions(at, keys)))

        return emit_graph(builder, inputs, outputs)


class FactoredOp(FamilyOp):
    """An op of A, factors of it, and further inputs: a function of A, computed by the factors.

    Its derivatives are taken by the matrix, never by the factors. The kernel factors the matrix
    itself; runtimes and lowerings use the factors among the inputs.
    """

    @abstractmethod
    def by_factors(self, *arrays: Any) -> Sequence[Any]:
        """The outputs by the factors among the inputs."""

    @classmethod
    def runtime(cls) -> ExtensionRuntime:
        """Runs the family by the factors."""
        return FactoredRuntime(cls)


class FactoredRuntime:
    """Runs a family of such ops by the factors among the inputs."""

    def __init__(self, family: type[FactoredOp]) -> None:
        self.family_id = family.FAMILY_ID

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[NumpyArray], cache: ExtensionCache
    ) -> Sequence[Any]:
        """The outputs of the op."""
        assert isinstance(op, FactoredOp)
        return op.by_factors(*inputs)


class SystemOp(FamilyOp):
    """A system of equations, whose last input is the right side.

    Attributes:
        left: whether the matrix stands on the left of the unknown one.
    """

    left: bool = True

    def batch(self, at: BatchSite[V]) -> Batched[V]:
        """The op itself.

        If only the right side is batched, its entries become further columns, or rows where the
        matrix stands on the right of X: the matrix is factored once, and solved with once.
        """
        *matrix, right = at.inputs
        meta: TensorMeta = at.ctx.meta(right)
        if any(at.batched[:-1]) or meta.dims is None:
            return super().batch(at)
        b = Expression(at.emitter, right)
        axis = b.ndim - (1 if self.left else 2)  # of columns, or rows
        together: Expression = apply(manipulation.moveaxis, b, source=0, destination=axis - 1)
        shape = together.shape
        merged = (*shape[: axis - 1], shape[axis - 1] * shape[axis], *shape[axis + 1 :])
        (flat,) = at.emitter.emit_all(Extension(self), *matrix, together.reshape(merged).value)
        (x,) = expressions(at.emitter, [flat])
        result: Expression = apply(
            manipulation.moveaxis, x.reshape(shape), source=axis - 1, destination=0
        )
        return ((result.value, True),)


def hermitian(a: Any) -> Any:
    """The Hermitian matrix with the lower triangle of a."""
    return tril(a) + tril(a, -1).H


Kernel = Callable[..., Sequence[Any]]


@cache
def scipy_linalg() -> Any:
    """The module `scipy.linalg`, imported by the first kernel that needs it."""
    return EntryPoint("scipy_linalg", "scipy.linalg", "tenferro.kernels").load()


def over_batch(
    kernel: Kernel,
    arrays: Sequence[NumpyArray],
    ranks: Sequence[int],
    outputs: Sequence[NumpyArray],
) -> list[NumpyArray]:
    """Fill `outputs` with the results of `kernel` on each matrix of a batch.

    Where an input is not finite, or the kernel raises LinAlgError, inexact outputs are NaN and
    integer ones are left as they are.

    Args:
        kernel: takes one array for each input and returns one for each output.
        arrays: the inputs, of equal batch sizes.
        ranks: the number of axes of each input that are not batch axes.
        outputs: arrays to fill, with the same batch axes.
    """
    batch = arrays[0].shape[: arrays[0].ndim - ranks[0]]
    for index in np.ndindex(*batch):
        parts = [array[index] for array in arrays]
        results: Sequence[Any] | None = None
        if all(np.isfinite(part).all() for part in parts):
            try:
                results = kernel(*parts)
            except np.linalg.LinAlgError:
                results = None
        for number, output in enumerate(outputs):
            if results is not None:
                output[index] = results[number]
            elif output.dtype.kind in "fc":
                output[index] = np.nan
    return list(outputs)


def stacked(
    kernel: Kernel, arrays: Sequence[NumpyArray], outputs: Sequence[NumpyArray]
) -> list[NumpyArray]:
    """The results of a kernel of whole batches of matrices; matrix by matrix where it fails."""
    if all(np.isfinite(array).all() for array in arrays):
        try:
            results = kernel(*arrays)
        except np.linalg.LinAlgError:
            results = None
        if results is not None:
            return [
                np.asarray(result, dtype=output.dtype)
                for result, output in zip(results, outputs, strict=True)
            ]
    return over_batch(kernel, arrays, [2] * len(arrays), outputs)


def adjoint(x: NumpyArray) -> NumpyArray:
    """The conjugate transpose of each matrix."""
    return np.asarray(x.swapaxes(-1, -2).conj())


def hermitian_part(x: NumpyArray) -> NumpyArray:
    """(x + xᴴ) / 2."""
    return np.asarray((x + adjoint(x)) / 2)
