"""Systems solved by factors that users hold: `lu_factor`, `lu_solve` and the like.

Derivatives go through the factors. `solve`, `det` and `inv` share one factorization by themselves,
and their derivatives are cheaper.
"""

from __future__ import annotations

from math import nan
from typing import Any, NamedTuple, cast

import numpy as np

from tenferro import dispatch
from tenferro.arrays import (
    Expression,
    Operand,
    apply,
    elementwise,
    named,
    promote,
    rearrange,
    sorting,
)
from tenferro.chainrules import Emitter, V
from tenferro.errors import ConfigError, ShapeError
from tenferro.families import linalg as families
from tenferro.families.linalg import PivotsToPermutation, picked_rows, rows, triangular_solve
from tenferro.family import Extension
from tenferro.linalg.factorizations import cholesky
from tenferro.linalg.operands import matrix, same_batch, square, systems, type_of
from tenferro.linalg.solving import transposition
from tenferro.runtime import Tensor
from tenferro.shape import TensorMeta, assume_equal, canonical
from tenferro.traced import TracedTensor
from tenferro.typing import AnyTensor, ArrayLike


class LUFactorResult(NamedTuple):
    """L below the diagonal and U on and above it, and LAPACK's pivots."""

    lu: AnyTensor
    piv: AnyTensor


def lu_factor(a: ArrayLike) -> LUFactorResult:
    """The packed LU factors of square matrices and LAPACK's pivots, for `lu_solve`.

    Row i was exchanged with row piv[i], in order of i.

    Args:
        a: matrices, of shape [..., m, n].

    Raises:
        ShapeError: a has fewer than two axes.
        DTypeError: a is of half precision.

    >>> tn.linalg.lu_solve(tn.linalg.lu_factor([[2.0, 1.0], [1.0, 3.0]]), [3.0, 4.0])
    Tensor([1., 1.])
    """
    return LUFactorResult(*cast(tuple[Any, Any], dispatch.apply(_lu_factor, a)))


@named("lu_factor")
def _lu_factor(at: Emitter[V], a: Operand[V]) -> tuple[V, V]:
    packed, pivots, _ = families.lu(Expression(at, matrix(at, "lu_factor", a)))
    return packed.value, pivots.value


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike], b: ArrayLike, trans: int | str = 0
) -> AnyTensor:
    """The solution x of op(a) x = b, by the factors of a.

    Args:
        lu_and_piv: what `lu_factor` returns for square a.
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        trans: op(a) is a for 0 or "N", aᵀ for 1 or "T", aᴴ for 2 or "C".

    Pivots outside of 0 … n - 1 raise an error. Where they are traced, and so not known, the
    solution is NaN for each matrix with such a pivot.

    Raises:
        ShapeError: a is not square, b does not have its number of rows, or there are not as many
            pivots.
        DTypeError: an operand is of half precision, or pivots are not int32.
        ConfigError: `trans` is none of these, or a pivot is out of range.

    >>> tn.linalg.lu_solve(tn.linalg.lu_factor([[0.0, 2.0], [1.0, 0.0]]), [3.0, 4.0], trans=1)
    Tensor([2., 3.])
    """
    op = transposition("lu_solve", trans)
    packed, pivots = _pair("lu_solve", "lu_and_piv", lu_and_piv)
    known = not isinstance(pivots, TracedTensor)
    if known:
        _check_pivots(packed, pivots)
    return dispatch.apply(_lu_solve, packed, pivots, b, trans=op, in_range=known)


def _check_pivots(packed: ArrayLike, pivots: ArrayLike) -> None:
    """Raise ConfigError if a pivot is no row. Other mistakes are found when the op is emitted."""
    places = pivots.numpy() if isinstance(pivots, Tensor) else np.asarray(pivots)
    if places.dtype.kind not in "iu" or not places.size or not places.ndim:
        return
    wrong = places[(places < 0) | (places >= places.shape[-1])]
    if wrong.size:
        raise ConfigError(
            f"lu_solve: pivots {type_of(pivots)} of {type_of(packed)} must be from 0 to "
            f"{places.shape[-1] - 1}, got {wrong[0]}; pass what lu_factor returns"
        )


def _pair(name: str, what: str, value: Any) -> Any:
    """The two parts of a factorization that a user holds.

    Raises:
        ConfigError: the value is no such pair.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ConfigError(f"{name}: {what} must be a pair, got {type(value).__name__}")
    return value


@named("lu_solve")
def _lu_solve(
    at: Emitter[V],
    packed: Operand[V],
    pivots: Operand[V],
    b: Operand[V],
    trans: str,
    in_range: bool,
) -> V:
    left, right, restore = systems(at, "lu_solve", packed, b, repeat=False)
    (exchanges,) = promote(at, (pivots,))
    (permutation,) = at.emit_all(Extension(PivotsToPermutation()), exchanges)
    _check_count(at, left, exchanges)
    column = rearrange.expand_dims(at, permutation, -1)
    given = [at.ctx.meta(value) for value in (left, right, exchanges)]
    left, right, column = same_batch(at, "lu_solve", left, right, column, given=given)
    a, x = Expression(at, left), Expression(at, right)
    places = Expression(at, rearrange.squeeze(at, column, -1))
    if trans == "n":
        half = triangular_solve(a, picked_rows(x, places), unit=True)
        result = triangular_solve(a, half, lower=False)
    else:
        half = triangular_solve(a, x, lower=False, trans=trans)
        half = triangular_solve(a, half, unit=True, trans=trans)
        result = picked_rows(half, apply(sorting.argsort, places))
    if not in_range:
        result = result * _nan_outside(Expression(at, exchanges)).astype(result.dtype)
    return restore(result.value)


def _check_count(at: Emitter[V], packed: V, pivots: V) -> None:
    """Raise ShapeError if there are certainly not as many pivots as rows."""
    left: TensorMeta = at.ctx.meta(packed)
    right: TensorMeta = at.ctx.meta(pivots)
    n, count = (meta.exact_shape("lu_solve")[-1] for meta in (left, right))
    if canonical(n, count) is None:
        raise ShapeError(f"lu_solve: lu {left} has {n} rows, but piv {right} has {count} pivots")
    assume_equal(n, count, f"lu_solve: lu {left} and piv {right}")


def _nan_outside(pivots: Expression) -> Expression:
    """1 for each matrix whose pivots are all in range, else NaN: [..., 1, 1]."""
    inside = (pivots >= 0) & (pivots < pivots.shape[-1])
    ones: Expression = apply(elementwise.where, inside.all(axis=-1), 1.0, nan)
    return rows(rows(ones))


class CholeskyFactorResult(NamedTuple):
    """A Cholesky factor, and whether it is the lower one."""

    c: AnyTensor
    lower: bool


def cho_factor(a: ArrayLike, lower: bool = False) -> CholeskyFactorResult:
    """The Cholesky factor of Hermitian positive definite matrices, for `cho_solve`.

    Args:
        a: matrices, of shape [..., n, n]; (a + aᴴ) / 2 is read.
        lower: the factor is L with L Lᴴ = a, else U with Uᴴ U = a.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.

    >>> tn.linalg.cho_solve(tn.linalg.cho_factor([[2.0, 1.0], [1.0, 3.0]]), [3.0, 4.0])
    Tensor([1., 1.])
    """
    return CholeskyFactorResult(dispatch.apply(_cho_factor, a, upper=not lower), bool(lower))


@named("cho_factor")
def _cho_factor(at: Emitter[V], a: Operand[V], upper: bool) -> V:
    return cholesky(at, square(at, "cho_factor", a), upper=upper)


def cho_solve(c_and_lower: tuple[ArrayLike, bool], b: ArrayLike) -> AnyTensor:
    """The solution x of a x = b, by the Cholesky factor of a.

    Args:
        c_and_lower: what `cho_factor` returns for a.
        b: right sides, of shape [..., n, k], or one vector of shape [n].

    Raises:
        ShapeError: the factor is not square, or b does not have its number of rows.
        DTypeError: an operand is of half precision.

    >>> lower = tn.linalg.cholesky([[4.0, 0.0], [0.0, 1.0]])
    >>> tn.linalg.cho_solve((lower, True), [4.0, 1.0])
    Tensor([1., 1.])
    """
    factor, lower = _pair("cho_solve", "c_and_lower", c_and_lower)
    return dispatch.apply(_cho_solve, factor, b, lower=_is_lower("cho_solve", lower))


def _is_lower(name: str, lower: object) -> bool:
    if getattr(lower, "ndim", 0):
        raise ConfigError(f"{name}: whether the factor is the lower one must be True or False")
    return bool(lower)


@named("cho_solve")
def _cho_solve(at: Emitter[V], factor: Operand[V], b: Operand[V], lower: bool) -> V:
    left, right, restore = systems(at, "cho_solve", factor, b)
    a, x = Expression(at, left), Expression(at, right)
    half = triangular_solve(a, x, lower=lower, trans="n" if lower else "c")
    return restore(triangular_solve(a, half, lower=lower, trans="c" if lower else "n").value)
