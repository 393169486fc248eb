"""Norms and condition numbers."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from tenferro.errors import AxisError, ConfigError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Axis,
    DType,
    in_single,
    number_of,
    refuse_traced,
)
from tenferro.linalg.arguments import (
    check_matrix,
    in_single_at_least,
    matrix,
    refuse_half,
    square,
)
from tenferro.linalg.gauge import Degeneracy
from tenferro.linalg.matrix_op import H
from tenferro.linalg.qr import Qr
from tenferro.linalg.subspaces import singular_blocks
from tenferro.linalg.svd import Svd
from tenferro.linalg.triangular_solve import triangular_solve
from tenferro.ops import ReduceNorm
from tenferro.ops.extension import Extension
from tenferro.ops.functions import (
    array_function,
    emit,
    emit_all,
    manipulation,
    products,
    promotion,
)
from tenferro.ops.functions.elementwise import where

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]

MATRIX_NORMS = ("fro", "nuc", inf, -inf, 1, -1, 2, -2)


@array_function(module="tenferro.linalg")
def vector_norm(
    x: ArrayLike,
    *,
    axis: Axis = None,
    keepdims: bool = False,
    ord: float = 2,
) -> AnyTensor:
    """The norm (Σ|x|^p)^(1/p) with p = `ord`.

    inf and -inf are the largest and the least modulus; 0 counts the elements that are not zero.
    Norms of 16-bit numbers are computed in float32 and rounded once.

    Args:
        x: an array.
        axis: the axes of a vector; all if None.
        keepdims: keep these axes with size 1.
        ord: p.

    >>> tn.linalg.vector_norm([3.0, -4.0])
    Tensor(5.)
    """
    value, dtype = in_single_at_least(x)
    return _rounded(_vector_norm(value, _order("vector_norm", ord), axis, keepdims), dtype)


@array_function(module="tenferro.linalg")
def matrix_norm(x: ArrayLike, *, keepdims: bool = False, ord: Any = "fro") -> AnyTensor:
    """A norm of each matrix.

    The gradient of the nuclear norm is UVᴴ, at equal singular values too, where its own derivatives
    are right as well. That of the spectral norm is the mean over the largest singular values, where
    several are equal. Both are NaN at singular values of 0 on which they depend.

    Args:
        x: matrices, of shape [..., m, n].
        keepdims: keep the last two axes with size 1.
        ord: "fro" (root of the sum of squares), "nuc" (sum of singular values), 2 and -2 (largest
            and least singular value), 1 and -1 (largest and least sum of moduli of a column), inf
            and -inf (of a row).

    Raises:
        ShapeError: x has fewer than two axes.
        DTypeError: x is of half precision, and the norm one of singular values.
        ConfigError: there is no such `ord`.

    >>> tn.linalg.matrix_norm([[3.0, 0.0], [0.0, -4.0]], ord="nuc")
    Tensor(7.)
    """
    a, dtype = in_single_at_least(x)
    check_matrix("matrix_norm", dtype, a.meta.exact_shape("matrix_norm", "x"))
    result = _matrix_norm("matrix_norm", a, _order("matrix_norm", ord), dtype)
    return manipulation.expand_dims(result, (-2, -1)) if keepdims else result


@array_function(module="tenferro.linalg")
def norm(
    x: ArrayLike,
    ord: Any = None,
    axis: Axis = None,
    keepdims: bool = False,
) -> AnyTensor:
    """The norm of vectors or matrices, as `numpy.linalg.norm`.

    Args:
        x: an array.
        ord: of `vector_norm` or `matrix_norm`; None is the root of the sum of squares.
        axis: one axis of vectors, or the two of matrices. If None, x is one vector or matrix; any
            array if `ord` is None too.
        keepdims: keep these axes with size 1.

    Raises:
        AxisError: x or `axis` has neither one nor two axes.
        DTypeError: x is of half precision, and the norm one of singular values.
        ConfigError: there is no such `ord`.

    >>> tn.linalg.norm([[3.0, 0.0], [0.0, -4.0]])
    Tensor(5.)
    """
    (a, dtype), ord = in_single_at_least(x), _order("norm", ord)
    if axis is None and ord is None:
        return _rounded(_vector_norm(a, 2, None, keepdims), dtype)
    axes = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1:
        result = _vector_norm(a, 2 if ord is None else ord, axes[0], keepdims)
        return _rounded(result, dtype)
    if len(axes) != 2:
        raise AxisError(f"norm: takes one axis or two, got {len(axes)} (of {a.meta})")
    first, second = (_from_front(a, each) for each in axes)
    if first == second:
        raise AxisError(f"norm: axes {axes} repeat")
    others = [i for i in range(a.ndim) if i not in (first, second)]
    a = manipulation.permute_dims(a, axes=(*others, first, second))
    result = _matrix_norm("norm", a, "fro" if ord is None else ord, dtype)
    return manipulation.expand_dims(result, (first, second)) if keepdims else result


@array_function(module="tenferro.linalg")
def cond(x: ArrayLike, p: Any = None) -> AnyTensor:
    """The condition number: the norm of x times that of its inverse.

    Args:
        x: matrices, of shape [..., m, n]; square ones, unless p is None, 2 or -2.
        p: `ord` of `matrix_norm`. None is 2: the quotient of the largest and the least singular
            value; -2 is its reciprocal.

    Raises:
        ShapeError: x is not square, but must be.
        DTypeError: x is of half precision.
        ConfigError: there is no such norm.

    >>> tn.linalg.cond([[4.0, 0.0], [0.0, 2.0]])
    Tensor(2.)
    """
    p = _order("cond", p)
    if p is None or p in (2, -2):
        a = matrix("cond", x)
        large, small = _spectral(a, largest=True), _spectral(a, largest=False)
        return small / large if p == -2 else large / small
    a = square("cond", x)
    r, q = emit_all(Extension(Qr()), a)
    inverse = triangular_solve(r, H(q), lower=False)
    result = _matrix_norm("cond", a, p, a.dtype) * _matrix_norm("cond", inverse, p, a.dtype)
    singular = (result != result) & (a == a).all(axis=(-2, -1))
    return where(singular, inf, result)


def _order(name: str, order: Any) -> Any:
    """What selects a norm: a number, a name, or None.

    Raises:
        ConfigError: it is something else.
        TracingError: it is traced.
    """
    refuse_traced(name, "ord", order)
    if getattr(order, "shape", None) == ():
        order = order.item()
    if order is None or isinstance(order, str | int | float):
        return order
    raise ConfigError(f"{name}: ord must be one real number or a name, got {order!r}")


def _vector_norm(a: AnyTensor, order: Any, axis: Axis, keepdims: bool) -> AnyTensor:
    name, order = order, number_of(order)
    if order is None:
        refuse_traced("vector_norm", "ord", name)
        raise ConfigError(f"vector_norm: ord must be a number, got {name!r}")
    axes = promotion.normal_axes("norm", axis, a.ndim)
    if order == 2:
        result = emit(ReduceNorm(axes), a)
        return manipulation.expand_dims(result, axes) if keepdims else result
    sizes = abs(a)
    if order == inf:
        return _largest(sizes, axis, keepdims)
    if order == -inf:
        return sizes.min(axis=axis, keepdims=keepdims)
    if order == 0:
        return (sizes != 0).astype(sizes.dtype).sum(axis=axis, keepdims=keepdims)
    if order == 1:
        return sizes.sum(axis=axis, keepdims=keepdims)
    return (sizes ** float(order)).sum(axis=axis, keepdims=keepdims) ** (1.0 / float(order))


def _matrix_norm(name: str, a: AnyTensor, order: Any, dtype: DType) -> AnyTensor:
    """A norm of matrices of `dtype`, of which `a` has the numbers in single precision or more."""
    order = order if isinstance(order, str) else number_of(order)
    if order not in MATRIX_NORMS:
        known = "'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        raise ConfigError(f"{name}: ord must be {known} for matrices, got {order!r}")
    if order in ("nuc", 2, -2) and in_single(dtype) != dtype:
        refuse_half(name, dtype)
    if order == "fro":
        return _rounded(_vector_norm(a, 2, (-2, -1), keepdims=False), dtype)
    if order == "nuc":
        return _nuclear(a)
    if order in (2, -2):
        return _spectral(a, largest=order == 2)
    sums = abs(a).sum(axis=-2 if order in (1, -1) else -1)
    return _rounded(_largest(sums, -1, False) if order > 0 else sums.min(axis=-1), dtype)


def _rounded(result: AnyTensor, dtype: DType) -> AnyTensor:
    """A norm of numbers of `dtype`, in that dtype if it has 16 bits."""
    return result if in_single(dtype) == dtype else result.astype(dtype)


def _nuclear(a: AnyTensor) -> AnyTensor:
    """The sum of singular values, by their block: equal values have derivatives of all orders.

    √x² at 0 has the value 0 and the derivative NaN; it is added where a singular value is zero.
    """
    s = emit_all(Extension(Svd()), a)[0]
    if s.shape[-1] == 0:
        return s.sum(axis=-1)
    _, block, _ = singular_blocks(a)
    total = products.trace(block, axis1=-2, axis2=-1).real
    tiny = float(np.finfo(s.dtype).eps ** 0.75)
    regular = s[..., -1] > s[..., 0] * tiny
    nothing = total * 0.0
    kink = where(regular, 1.0, nothing * nothing) ** 0.5
    return total + where(regular, 0.0, kink)


def _largest(x: AnyTensor, axis: Axis, keepdims: bool) -> AnyTensor:
    """The largest of numbers that are not negative; 0 if there are none."""
    axes = promotion.normal_axes("norm", axis, x.ndim)
    if any(x.shape[each] == 0 for each in axes):
        return x.sum(axis=axes, keepdims=keepdims)
    return x.max(axis=axes, keepdims=keepdims)


def _spectral(a: AnyTensor, largest: bool) -> AnyTensor:
    """The largest or least singular value: the mean of those that are equal to it."""
    s = emit_all(Extension(Svd()), a)[0]
    if s.shape[-1] == 0:
        return s.sum(axis=-1)
    same = Degeneracy().same(s)[..., 0 if largest else -1, :].astype(s.dtype)
    return (s * same).sum(axis=-1) / same.sum(axis=-1)


def _from_front(a: AnyTensor, axis: int) -> int:
    """An axis counted from the front."""
    if not -a.ndim <= axis < a.ndim:
        raise AxisError(f"norm: axis {axis} is out of range for {a.meta}")
    return axis % a.ndim
