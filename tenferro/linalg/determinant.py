"""det, slogdet; derivatives that hold at singular matrices."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from tenferro.errors import ConfigError
from tenferro.families.linalg import determinant, identity, inverse
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.linalg.arguments import integer, square
from tenferro.ops.functions import apply, array_function, named

__all__ = ["SlogdetResult", "det", "matrix_power", "slogdet"]


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the natural logarithm of its modulus."""

    sign: AnyTensor
    logabsdet: AnyTensor


@array_function(module="tenferro.linalg")
def det(x: ArrayLike, /) -> AnyTensor:
    """The determinant of square matrices.

    Its derivatives are right for singular matrices too. For n > 6 they are NaN from the third order
    on where x is near a matrix that lacks more than four ranks.

    Args:
        x: matrices, of shape [..., n, n].

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.det([[2.0, 1.0], [1.0, 3.0]])
    Tensor(5.)
    >>> tn.grad(tn.linalg.det)(tn.asarray([[1.0, 2.0], [2.0, 4.0]]))
    Tensor([[ 4., -2.],
            [-2.,  1.]])
    """
    result: Any = determinant(square("det", x), "det")[0]
    return result


def slogdet(x: ArrayLike, /) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its modulus.

    The determinant is `sign * exp(logabsdet)`, also where it would overflow. Where x is singular
    they are 0 and -inf, and derivatives are infinite or NaN.

    Args:
        x: matrices, of shape [..., n, n].

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> sign, logabsdet = tn.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> sign, logabsdet
    (Tensor(-1.), Tensor(0.))
    """
    return SlogdetResult(*cast(tuple[Any, Any], apply(_slogdet, x)))


@named("slogdet")
def _slogdet(x: Any) -> tuple[Any, Any]:
    sign, logabsdet = determinant(square("slogdet", x), "slogdet")
    return sign, logabsdet


@array_function(module="tenferro.linalg")
def matrix_power(x: ArrayLike, n: int) -> AnyTensor:
    """The n-th power of square matrices, by repeated squaring; of the inverse for negative n.

    Args:
        x: matrices, of shape [..., n, n].
        n: an integer, not an array.

    Raises:
        ConfigError, TracingError: the exponent is not an integer.
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.matrix_power([[1.0, 1.0], [0.0, 1.0]], 5)
    Tensor([[1., 5.],
            [0., 1.]])
    """
    exponent = integer("matrix_power", "the exponent", n)
    if exponent is None:
        raise ConfigError(f"matrix_power: the exponent must be an integer, got {n!r}")
    n = exponent
    base = square("matrix_power", x)
    if n < 0:
        base, n = inverse(base), -n
    result: Any = None
    while n:
        if n % 2:
            result = base if result is None else result @ base
        n //= 2
        base = base @ base if n else base
    power: Any = identity(base) if result is None else result
    return power
