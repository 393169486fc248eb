"""Vector quantization: the nearest of some vectors.

>>> tn.scipy.cluster.vq.vq([[1.0, 2.0]], [[0.0, 0.0], [1.0, 1.0]])
(Tensor([1]), Tensor([1.]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenferro import numpy as tn
from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, dtype_kind
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import promoted

__all__ = ["vq"]


def vq(
    obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True
) -> tuple[AnyTensor, AnyTensor]:
    """The number of the nearest vector of the code book to each observation, and the distance.

    Args:
        obs: observations, of shape [m, n] or [m].
        code_book: vectors, of shape [k, n] or [k].
        check_finite: changes nothing.

    Raises:
        ShapeError: the shapes are not these.
        DTypeError: an operand is complex.

    >>> tn.scipy.cluster.vq.vq([0.0, 3.0], [1.0, 2.0])
    (Tensor([0, 1]), Tensor([1., 1.]))
    """
    x, codes = promoted("vq", obs, code_book, inexact=True)
    if dtype_kind(x.dtype) == "c":
        raise DTypeError(f"vq: takes real operands, got {x.meta}; pass their parts")
    if x.ndim != codes.ndim or x.ndim not in (1, 2):
        raise ShapeError(f"vq: takes obs [m, n] and code_book [k, n], got {x.meta}, {codes.meta}")
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    if x.shape[1] != codes.shape[1]:
        raise ShapeError(f"vq: obs {x.meta} and code_book {codes.meta} differ in the second axis")
    distances = tn.linalg.norm(x[:, None] - codes, axis=-1)
    return tn.argmin(distances, axis=-1), tn.min(distances, axis=-1)


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.cluster.vq", __all__)
