"""Blocks of eigenvectors and singular vectors, over an emitter."""

from __future__ import annotations

from tenferro.arrays import Expression, Operand, values_of
from tenferro.chainrules import Emitter, V
from tenferro.errors import ConfigError
from tenferro.families import linalg as families
from tenferro.linalg.operands import integer, matrix, square
from tenferro.shape import Dim, TensorMeta, minimum


def eigh_block(at: Emitter[V], x: Operand[V], k: int, *, largest: bool = False) -> tuple[V, V]:
    """V and B; see `tn.linalg.eigh_block`."""
    a = Expression(at, square(at, "eigh_block", x))
    k = count_of("eigh_block", k, a.meta.exact_shape("eigh_block", "x")[-1])
    return values_of(families.eigh_block(a, k, largest))


def svd_block(at: Emitter[V], x: Operand[V], k: int | None = None) -> tuple[V, V, V]:
    """U, B and Vᴴ; see `tn.linalg.svd_block`."""
    u, b, v = _svd_block(at, "svd_block", x, k)
    return values_of([u, b, v.H])


def low_rank(at: Emitter[V], x: Operand[V], k: int) -> V:
    """The nearest matrices of rank k in the Frobenius norm.

    Derivatives of all orders are exact where kept singular values are equal. They do not exist, and
    are NaN, where the singular values k and k + 1 are equal.

    Args:
        x: matrices, of shape [..., m, n].
        k: the rank.

    Raises:
        ConfigError: k is not an integer from 0 to min(m, n).

    >>> tn.linalg.low_rank([[3.0, 0.0], [0.0, 1.0]], 1)
    Tensor([[3., 0.],
            [0., 0.]])
    """
    u, b, v = _svd_block(at, "low_rank", x, k)
    return (u @ b @ v.H).value  # type: ignore[no-any-return]


def polar(at: Emitter[V], x: Operand[V], /, *, side: str = "right") -> tuple[V, V]:
    """The unitary and the positive factor; see `tn.linalg.polar`."""
    if side not in ("left", "right"):
        raise ConfigError(f"polar: side must be 'left' or 'right', got {side!r}")
    u, b, v = _svd_block(at, "polar", x, None)
    isometry = u @ v.H
    positive = u @ b @ u.H if side == "left" else v @ b @ v.H
    return isometry.value, positive.value


def _svd_block(at: Emitter[V], name: str, x: Operand[V], k: int | None) -> tuple[Expression, ...]:
    a = Expression(at, matrix(at, name, x))
    meta: TensorMeta = a.meta
    m, n = meta.exact_shape(name, "x")[-2:]
    if k is not None:
        k = count_of(name, k, minimum(m, n))
    return families.svd_block(a, k)


def count_of(name: str, k: object, limit: Dim) -> int:
    """A number of values, of at most a limit that may be symbolic.

    Raises:
        ConfigError: k is none.
        TracingError: k is a traced array.
    """
    count = integer(name, "k", k)
    if count is None or count < 0 or (isinstance(limit, int) and count > limit):
        raise ConfigError(f"{name}: k must be an integer from 0 to {limit}, got {k!r}")
    return count
