"""What ops of matrices share: pieces of formulas, kernels over batches, kinds of ops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tenferro.core import Batched, BatchSite, Emitter, GlobalValKey, KeyEmitter, PrimitiveOp, V
from tenferro.ir import (
    FLOAT64,
    AnyTensor,
    Dim,
    DType,
    Exact,
    InputDim,
    NumpyArray,
    TensorMeta,
    dtype_kind,
    is_complex,
    make_meta,
    symbol,
)
from tenferro.ops import (
    EmbedDiag,
    Gather,
    GatherDynamicSliceSizes,
    Iota,
    Pad,
    emit_graph,
    full,
    load_named,
    scalar,
    shape_context,
)
from tenferro.ops.extension import (
    Extension,
    ExtensionCache,
    ExtensionOp,
    ExtensionRuntime,
    FamilyOp,
    family_id,
)
from tenferro.ops.functions import (
    apply,
    creation,
    emit,
    expressions,
    manipulation,
    products,
    repeated,
    run_body,
    values_of,
)
from tenferro.ops.functions.manipulation import tril, triu

# Pieces of matrix formulas. ᴴ is the adjoint; a matrix is the last two axes of a value.


def H(x: AnyTensor) -> AnyTensor:  # noqa: N802  # the mathematical name
    """The adjoint: the conjugate with the last two axes exchanged."""
    return x.mT.conj() if is_complex(x.dtype) else x.mT


def sym(x: AnyTensor) -> AnyTensor:
    """The Hermitian part, (x + xᴴ) / 2."""
    return (x + H(x)) * 0.5


def skew(x: AnyTensor) -> AnyTensor:
    """The skew-Hermitian part, (x − xᴴ) / 2."""
    return (x - H(x)) * 0.5


def plus(x: AnyTensor | None, y: AnyTensor | None) -> AnyTensor:
    """The sum of what there is; one of both is."""
    if x is None or y is None:
        result = y if x is None else x
        assert result is not None
        return result
    return x + y


def minus(x: AnyTensor | None, y: AnyTensor) -> AnyTensor:
    """x − y; −y if there is no x."""
    return -y if x is None else x - y


def diagonal(x: AnyTensor) -> AnyTensor:
    """The main diagonals, along the last axis."""
    return manipulation.diagonal(x, axis1=-2, axis2=-1)


def embedded(d: AnyTensor) -> AnyTensor:
    """The diagonal matrices with d, of shape [..., n], on their diagonals."""
    return emit(EmbedDiag(d.ndim - 1, d.ndim), d)


def real(x: AnyTensor) -> AnyTensor:
    """The real part, in the dtype of x."""
    return x.real.astype(x.dtype)


def tril0(x: AnyTensor) -> AnyTensor:
    """The lower triangle with half of the real part of the diagonal."""
    if not is_complex(x.dtype):
        return (tril(x) + tril(x, -1)) * 0.5
    return tril(x, -1) + embedded(real(diagonal(x)) * 0.5)


def mirrored(x: AnyTensor) -> AnyTensor:
    """The Hermitian matrix with the upper triangle of x and the real part of its diagonal."""
    upper = triu(x, 1)
    if not is_complex(x.dtype):
        return triu(x) + H(upper)
    return upper + H(upper) + embedded(real(diagonal(x)))


def columns(d: AnyTensor) -> AnyTensor:
    """d, of shape [..., n], as [..., 1, n]: it scales columns."""
    return manipulation.expand_dims(d, axis=-2)


def rows(d: AnyTensor) -> AnyTensor:
    """d, of shape [..., n], as [..., n, 1]: it scales rows."""
    return manipulation.expand_dims(d, axis=-1)


def trace(x: AnyTensor) -> AnyTensor:
    """The sums of the diagonals, without the last two axes."""
    return products.trace(x, axis1=-2, axis2=-1)


def scaled(factor: AnyTensor, x: AnyTensor) -> AnyTensor:
    """x, of shape [..., m, n], times one number for each matrix, of shape [...]."""
    return rows(rows(factor)) * x


def identity(like: AnyTensor) -> AnyTensor:
    """Identity matrices with the batch axes, rows and dtype of `like`."""
    extents = like.meta.extents
    n = like.shape[-2]
    one = run_body(like, creation.eye, (1,), {"shape": (n, n), "dtype": like.dtype})
    return repeated("eye", one, (*extents[:-2], extents[-2], extents[-2]))


def constant(like: AnyTensor, op: PrimitiveOp) -> AnyTensor:
    """The result of an op without operands, computed where `like` is."""
    result: AnyTensor = run_body(like, emit, (op,), {})
    return result


def zeros_like(like: AnyTensor) -> AnyTensor:
    """Zeros of a type, computed where `like` is."""
    return apply(creation.zeros_like, like)


def places(like: AnyTensor, size: Dim, dtype: DType = FLOAT64) -> AnyTensor:
    """0, 1, …, size − 1, computed where `like` is."""
    return constant(like, Iota(dtype, size))


def concatenated(x: AnyTensor, y: AnyTensor, axis: int = -1) -> AnyTensor:
    """Both, one after the other along an axis."""
    return manipulation.concat(x, y, axis=axis)


def padded(x: AnyTensor, axis: int, before: Dim, after: Dim) -> AnyTensor:
    """x with so many zeros before and after it along an axis; negative numbers cut off."""
    low: list[Dim] = [0] * x.ndim
    high: list[Dim] = [0] * x.ndim
    low[axis], high[axis] = before, after
    zero = constant(x, scalar(0, x.dtype))
    return emit(Pad(tuple(low), tuple(high), (0,) * x.ndim), x, zero)


def picked_rows(x: AnyTensor, places: AnyTensor) -> AnyTensor:
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
    return emit(op, x, places)


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
    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
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
        meta: TensorMeta = at.ctx.meta(at.inputs[-1])
        if any(at.batched[:-1]) or meta.dims is None:
            return super().batch(at)
        *factors, b = expressions(at.emitter, at.inputs)
        axis = b.ndim - (1 if self.left else 2)  # of columns, or rows
        together = manipulation.moveaxis(b, source=0, destination=axis - 1)
        shape = together.shape
        merged = (*shape[: axis - 1], shape[axis - 1] * shape[axis], *shape[axis + 1 :])
        x = emit(Extension(self), *factors, together.reshape(merged))
        result: Any = manipulation.moveaxis(x.reshape(shape), source=axis - 1, destination=0)
        return ((result.value, True),)


def hermitian(a: AnyTensor) -> AnyTensor:
    """The Hermitian matrix with the lower triangle of a."""
    return tril(a) + H(tril(a, -1))


Kernel = Callable[..., Sequence[Any]]


def scipy_linalg() -> Any:
    """The module `scipy.linalg`, imported by the first kernel that needs it."""
    return load_named("scipy.linalg")


def over_batch(
    kernel: Kernel, arrays: Sequence[NumpyArray], outputs: Sequence[NumpyArray]
) -> list[NumpyArray]:
    """Fill `outputs` with the results of `kernel` on each matrix of a batch.

    A matrix that fails gives NaN, others do not: where an input is not finite, or the kernel raises
    LinAlgError, inexact outputs are NaN and integer ones are left as they are.

    Args:
        kernel: takes one array for each input and returns one for each output.
        arrays: matrices, of equal batch sizes.
        outputs: arrays to fill, with the same batch axes.
    """
    for index in np.ndindex(*arrays[0].shape[:-2]):
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
            elif dtype_kind(output.dtype) in "fc":
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
    return over_batch(kernel, arrays, outputs)


def adjoint(x: NumpyArray) -> NumpyArray:
    """The conjugate transpose of each matrix."""
    return np.asarray(x.swapaxes(-1, -2).conj())


def hermitian_part(x: NumpyArray) -> NumpyArray:
    """(x + xᴴ) / 2."""
    return np.asarray((x + adjoint(x)) / 2)
