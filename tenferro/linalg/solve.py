"""Systems of equations and inverses, of matrices and of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    NumpyArray,
    TensorMeta,
    canonical,
    product,
)
from tenferro.linalg.arguments import (
    check_dtype,
    check_equal_sizes,
    check_factored,
    check_matrix,
    check_same,
    floating,
    integer,
    square,
    systems,
)
from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.lu import inverse_of, lu_factors, packed_of, solved
from tenferro.linalg.matrix_op import FactoredOp, SystemOp, family, minus, sym
from tenferro.linalg.triangular_solve import (
    adjoint_solved,
    substituted,
    transposed,
    triangular_solve,
)
from tenferro.ops.extension import DTypes, Extension, FormulaSite, OutputTypes, Shapes, Terms
from tenferro.ops.functions import (
    array_function,
    common_batch,
    emit,
    emit_all,
    manipulation,
    normal_axis,
    repeated,
)

__all__ = ["inv", "solve", "tensorinv", "tensorsolve"]


@family(name="lu_solve")
@dataclass(frozen=True)
class LuSolve(FactoredOp, SystemOp):
    """X with op(A) X = B; infinities or NaN where A is singular.

    The inputs are A, its packed LU factors, its permutation, and B; for the kind `"pos"`, A, its
    Cholesky factor and B, and A stands for its Hermitian part.

    Attributes:
        trans: op(A) is A for `"n"`, Aᵀ for `"t"`, Aᴴ for `"c"`.
        kind: `"gen"`, or `"pos"` for positive definite A, with `trans="n"`.
    """

    trans: str = "n"
    kind: str = "gen"

    output_count = 1

    @property
    def input_count(self) -> int:
        """A, its factors, and B."""
        return 4 if self.kind == "gen" else 3

    @property
    def linear_from(self) -> int:  # type: ignore[override]  # it depends on the kind
        """B."""
        return self.input_count - 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype, batch, n = check_factored("solve", input_dtypes[:-1], input_shapes[:-1])
        check_dtype("solve", dtype, input_dtypes[-1])
        batch_b, rows, _ = check_matrix("solve", dtype, input_shapes[-1])
        check_same("solve", "the batch axes", len(batch), len(batch_b))
        check_equal_sizes("solve", "the sizes of A and B", (*batch, n), (*batch_b, rows))
        return [(dtype, tuple(input_shapes[-1]))]

    def kernel(self, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
        factors = packed_of(a) if self.kind == "gen" else Cholesky().kernel(a)
        return self.by_factors(a, *factors, rest[-1])

    def by_factors(self, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
        *factors, b = rest
        if self.kind == "gen":
            packed, permutation = factors
            return [solved(packed, permutation, b, self.trans)]
        (lower,) = factors
        half = substituted(lower, b, lower=True)
        return [substituted(lower, half, lower=True, trans="c")]

    def jvp(self, at: FormulaSite) -> Terms:
        """op(A)⁻¹(dB − op(dA) X), by the same factors."""
        (a, *factors, _), (x,) = at.operands, at.results
        da, right = at.tangents[0], at.tangents[-1]
        if da is None and right is None:
            return [None]
        if da is not None:
            right = minus(
                right, (sym(da) if self.kind == "pos" else transposed(da, self.trans)) @ x
            )
        return emit_all(Extension(self), a, *factors, right)

    def vjp(self, at: FormulaSite) -> Terms:
        """B̄ = op(A)⁻ᴴ X̄."""
        if self.kind == "pos":
            return emit_all(Extension(self), *at.operands[:-1], *at.cts)
        return adjoint_solved(self, self.trans, at)


@family(name="inverse")
@dataclass(frozen=True)
class Inverse(FactoredOp):
    """A⁻¹, of A, its packed LU factors and its permutation; infinities or NaN if A is singular."""

    input_count = 3
    output_count = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype, _, _ = check_factored("inv", input_dtypes, input_shapes)
        return [(dtype, tuple(input_shapes[0]))]

    def kernel(self, a: NumpyArray, *factors: NumpyArray) -> list[NumpyArray]:
        return [inverse_of(*packed_of(a))]

    def by_factors(
        self, a: NumpyArray, packed: NumpyArray, permutation: NumpyArray
    ) -> list[NumpyArray]:
        return [inverse_of(packed, permutation)]

    def jvp(self, at: FormulaSite) -> Terms:
        """−A⁻¹ dA A⁻¹: two products, which no further solution can be cheaper than."""
        (x,), da = at.results, at.tangents[0]
        return [None if da is None else -(x @ da @ x)]


def inverse(a: AnyTensor) -> AnyTensor:
    """A⁻¹, by the LU factors of A."""
    packed, _, permutation = lu_factors(a)
    return emit(Extension(Inverse()), a, packed, permutation)


ASSUMPTIONS = ("gen", "sym", "her", "pos", "upper triangular", "lower triangular")


@array_function(operands=2, module="tenferro.linalg")
def solve(a: ArrayLike, b: ArrayLike, *, assume_a: str = "gen") -> AnyTensor:
    """The solution x of a x = b; infinities or NaN where a is singular.

    One LU factorization is shared with the derivatives, and with `det`, `slogdet` and `inv` of the
    same array in one program.

    Args:
        a: matrices, of shape [..., n, n].
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        assume_a: what is known of a. `"gen"`: nothing. `"sym"`, `"her"`: a is (a + aᵀ) / 2 or
            (a + aᴴ) / 2, and gradients are symmetric or Hermitian. `"pos"`: also positive definite,
            else the solution is NaN. `"upper triangular"`, `"lower triangular"`: the other triangle
            is not read.

    Raises:
        ShapeError: a is not square, or b does not have its number of rows.
        DTypeError: an operand is of half precision.
        ConfigError: `assume_a` is none of these.

    >>> tn.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [3.0, 4.0])
    Tensor([1., 1.])
    """
    if assume_a not in ASSUMPTIONS:
        names = ", ".join(map(repr, ASSUMPTIONS))
        raise ConfigError(f"solve: assume_a must be one of {names}, got {assume_a!r}")
    if assume_a.endswith("triangular"):
        matrix, right, restore = systems("solve", a, b)
        return restore(triangular_solve(matrix, right, lower=assume_a.startswith("lower")))
    matrix, right, restore = systems("solve", a, b, repeat=False)
    if assume_a in ("sym", "her"):
        matrix = sym(matrix) if assume_a == "her" else (matrix + matrix.mT) * 0.5
    return restore(_solved(matrix, right, positive=assume_a == "pos"))


def _solved(a: AnyTensor, b: AnyTensor, positive: bool) -> AnyTensor:
    """The solution, by factors of A before it is repeated along batch axes of B.

    If A is one matrix, the batch of B becomes further columns.
    """
    if a.ndim == 2 and b.ndim > 2:
        columns = manipulation.moveaxis(b, source=-2, destination=0)
        flat = _solved(a, columns.reshape(columns.shape[0], -1), positive)
        return manipulation.moveaxis(flat.reshape(columns.shape), source=0, destination=-2)
    factors = emit_all(Extension(Cholesky()), a) if positive else lu_factors(a)[::2]
    batch = common_batch("solve", [a.meta, b.meta])
    operands = [(x, a.ndim - 2) for x in (a, *factors)] + [(b, b.ndim - 2)]
    return emit(
        Extension(LuSolve(kind="pos" if positive else "gen")),
        *[repeated("solve", x, (*batch, *x.meta.extents[rank:])) for x, rank in operands],
    )


@array_function(module="tenferro.linalg")
def inv(a: ArrayLike) -> AnyTensor:
    """The inverse of square matrices; infinities or NaN where `a` is singular.

    Args:
        a: matrices, of shape [..., n, n].

    Raises:
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision.

    >>> tn.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    Tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    return inverse(square("inv", a))


@array_function(operands=2, module="tenferro.linalg")
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> AnyTensor:
    """The x with `tensordot(a, x, x.ndim) == b`, as in NumPy.

    Args:
        a: of shape b.shape + x.shape, in which both parts have equally many elements.
        b: the right side, of any shape.
        axes: axes of a that are moved to the end before.

    Raises:
        ShapeError: the shapes do not fit.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.tensorsolve(2.0 * tn.eye(4).reshape(2, 2, 2, 2), [[2.0, 4.0], [6.0, 8.0]])
    Tensor([[1., 2.],
            [3., 4.]])
    """
    lhs, rhs = floating("tensorsolve", a, b)
    left: TensorMeta = lhs.meta
    if axes is not None:
        last = [normal_axis("tensorsolve", axis, left.rank) for axis in axes]
        order = [axis for axis in range(left.rank) if axis not in last] + last
        lhs = manipulation.permute_dims(lhs, order)
        left = lhs.meta
    right: TensorMeta = rhs.meta
    rows = right.exact_shape("tensorsolve", "b")
    shape = left.exact_shape("tensorsolve", "a")
    if any(canonical(m, n) is None for m, n in zip(rows, shape, strict=False)):
        raise ShapeError(f"tensorsolve: lhs {left} must begin with the shape of rhs {right}")
    size, unknowns = product(rows), shape[right.rank :]
    if left.rank < right.rank or canonical(size, product(unknowns)) is None:
        raise ShapeError(
            f"tensorsolve: lhs {left} has {product(unknowns)} unknowns for {size} equations; "
            "they must be equally many"
        )
    flat = solve(manipulation.reshape(lhs, (size, size)), manipulation.reshape(rhs, (size,)))
    return manipulation.reshape(flat, unknowns)


@array_function(module="tenferro.linalg")
def tensorinv(a: ArrayLike, ind: int = 2) -> AnyTensor:
    """The inverse of the linear map `tensordot(a, x, a.ndim - ind)`, as in NumPy.

    Args:
        a: the first `ind` axes must have as many elements as the others.
        ind: the number of axes of the result of the map.

    Raises:
        ShapeError: the shapes do not fit.
        ConfigError: `ind` is not a positive integer.
        DTypeError: a is of half precision.

    >>> tn.linalg.tensorinv(2.0 * tn.eye(4).reshape(2, 2, 4)).shape
    (4, 2, 2)
    """
    count = integer("tensorinv", "ind", ind)
    if count is None or count < 1:
        raise ConfigError(f"tensorinv: ind must be a positive integer, got {ind!r}")
    ind = count
    (value,) = floating("tensorinv", a)
    meta: TensorMeta = value.meta
    shape = meta.exact_shape("tensorinv", "a")
    size, others = product(shape[:ind]), product(shape[ind:])
    if canonical(size, others) is None:
        raise ShapeError(
            f"tensorinv: the first {ind} axes of {meta} have {size} elements, the others {others}; "
            "they must be equally many"
        )
    result = inv(manipulation.reshape(value, (size, size)))
    return manipulation.reshape(result, (*shape[ind:], *shape[:ind]))
